/* The reference engine: plain C, slow and obvious, the oracle that tests compare with.
 * Everything about a data matrix goes through at(), so dense and CSR are one code.
 *
 * Hardly any code is shared with the fast engines, and none is clever: an error would
 * have to be made twice, in two ways, to go unnoticed. One thread, sums in the order of
 * the formula. */
#include "linalg/ref/ref.h"

#include <assert.h>
#include <math.h>

/* Element (i, j); 0 where a CSR matrix stores nothing.
 * A linear search, so that not even the order of columns is relied upon. */
static double at(const ferry_matrix *x, int64_t i, int64_t j)
{
    if (x->dense) return x->dense[i * x->cols + j];
    for (int64_t e = x->start[i]; e < x->start[i + 1]; e++)
        if (x->index[e] == j) return x->value[e];
    return 0;
}

/* alpha * sum + beta * old, where beta 0 forgets the old value even if it is NaN. */
static double blend(double alpha, double sum, double beta, double old)
{
    return beta == 0 ? alpha * sum : alpha * sum + beta * old;
}

/* y_ic = alpha sum_j x_ij b_jc + beta y_ic. */
static void ref_mul(ferry_ctx *ctx, double alpha, const ferry_matrix *x,
                    const ferry_block *b, double beta, ferry_block *y)
{
    (void)ctx;
    assert(b->rows == x->cols && y->rows == x->rows && y->k == b->k);
    for (int64_t i = 0; i < x->rows; i++)
        for (int64_t c = 0; c < b->k; c++) {
            double sum = 0;
            for (int64_t j = 0; j < x->cols; j++)
                sum += at(x, i, j) * FERRY_ROW(b, j)[c];
            FERRY_ROW(y, i)[c] = blend(alpha, sum, beta, FERRY_ROW(y, i)[c]);
        }
}

/* y_jc = alpha sum_i x_ij b_ic + beta y_jc. */
static ferry_status ref_tmul(ferry_ctx *ctx, double alpha, const ferry_matrix *x,
                             const ferry_block *b, double beta, ferry_block *y)
{
    (void)ctx;
    assert(b->rows == x->rows && y->rows == x->cols && y->k == b->k);
    for (int64_t j = 0; j < x->cols; j++)
        for (int64_t c = 0; c < b->k; c++) {
            double sum = 0;
            for (int64_t i = 0; i < x->rows; i++)
                sum += at(x, i, j) * FERRY_ROW(b, i)[c];
            FERRY_ROW(y, j)[c] = blend(alpha, sum, beta, FERRY_ROW(y, j)[c]);
        }
    return FERRY_OK;
}

/* s_il = sum_j x_ij x_lj. */
static void ref_xxt(ferry_ctx *ctx, const ferry_matrix *x, ferry_small *s)
{
    (void)ctx;
    assert(s->rows == x->rows && s->cols == x->rows);
    for (int64_t i = 0; i < x->rows; i++)
        for (int64_t l = 0; l < x->rows; l++) {
            double sum = 0;
            for (int64_t j = 0; j < x->cols; j++)
                sum += at(x, i, j) * at(x, l, j);
            FERRY_AT(s, i, l) = sum;
        }
}

/* s_jl = sum_i x_ij x_il. */
static ferry_status ref_xtx(ferry_ctx *ctx, const ferry_matrix *x, ferry_small *s)
{
    (void)ctx;
    assert(s->rows == x->cols && s->cols == x->cols);
    for (int64_t j = 0; j < x->cols; j++)
        for (int64_t l = 0; l < x->cols; l++) {
            double sum = 0;
            for (int64_t i = 0; i < x->rows; i++)
                sum += at(x, i, j) * at(x, i, l);
            FERRY_AT(s, j, l) = sum;
        }
    return FERRY_OK;
}

/* out_e = sum_l b_il c_jl at the stored entries e = (i, j). */
static void ref_sddmm(ferry_ctx *ctx, const ferry_matrix *x, const ferry_block *b,
                      const ferry_block *c, double *out)
{
    int64_t e = 0;

    (void)ctx;
    assert(b->rows == x->rows && c->rows == x->cols && b->k == c->k);
    for (int64_t i = 0; i < x->rows; i++) {
        const int64_t entries = x->dense ? x->cols : x->start[i + 1] - x->start[i];
        for (int64_t m = 0; m < entries; m++, e++) {
            const int64_t j = x->dense ? m : x->index[e];
            double sum = 0;
            for (int64_t l = 0; l < b->k; l++)
                sum += FERRY_ROW(b, i)[l] * FERRY_ROW(c, j)[l];
            out[e] = sum;
        }
    }
}

/* n_il = sum_j x_ij c_jl, d_il = sum_j h_ij c_jl, h_ij = sum_l a_il c_jl. */
static void ref_masked(ferry_ctx *ctx, const ferry_matrix *x, const ferry_block *a,
                       const ferry_block *c, ferry_block *n, ferry_block *d)
{
    (void)ctx;
    assert(!x->dense && a->rows == x->rows && c->rows == x->cols && a->k == c->k);
    for (int64_t i = 0; i < x->rows; i++) {
        for (int64_t l = 0; l < c->k; l++) {
            if (n) FERRY_ROW(n, i)[l] = 0;
            FERRY_ROW(d, i)[l] = 0;
        }
        for (int64_t e = x->start[i]; e < x->start[i + 1]; e++) {
            const double *row = FERRY_ROW(c, x->index[e]);
            double h = 0;
            for (int64_t l = 0; l < c->k; l++)
                h += FERRY_ROW(a, i)[l] * row[l];
            for (int64_t l = 0; l < c->k; l++) {
                if (n) FERRY_ROW(n, i)[l] += x->value[e] * row[l];
                FERRY_ROW(d, i)[l] += h * row[l];
            }
        }
    }
}

/* For each row its matrix lambda_i I + sum_j q_j q_j' entry by entry, then Cholesky.
 * y is kept in p while the system is solved, for gain = <p, y>. A row without entries
 * has y = 0 and so p = 0. */
static ferry_status ref_ridge_rows(ferry_ctx *ctx, const ferry_matrix *x,
                                   const ferry_block *q, double lambda, bool weighted,
                                   ferry_block *p, double *gain)
{
    ferry_status st = FERRY_OK;
    ferry_small *a = NULL, *y = NULL;

    assert(!x->dense && q->rows == x->cols && p->rows == x->rows && p->k == q->k);
    FERRY_TRY(ferry_i_small_new(ctx, q->k, q->k, &a));
    FERRY_TRY(ferry_i_small_new(ctx, q->k, 1, &y));
    for (int64_t i = 0; i < x->rows; i++) {
        const int64_t n = x->start[i + 1] - x->start[i];
        if (gain) gain[i] = 0;
        for (int64_t c = 0; c < q->k; c++) {
            double sum = 0;
            for (int64_t d = 0; d < q->k; d++)
                FERRY_AT(a, c, d) = c != d              ? 0
                                    : weighted && n > 0 ? lambda * (double)n
                                                        : lambda;
            for (int64_t e = x->start[i]; e < x->start[i + 1]; e++) {
                const double *row = FERRY_ROW(q, x->index[e]);
                for (int64_t d = 0; d < q->k; d++)
                    FERRY_AT(a, c, d) += row[c] * row[d];
                sum += x->value[e] * row[c];
            }
            y->data[c] = FERRY_ROW(p, i)[c] = sum;
        }
        FERRY_TRY(ferry_i_ref_chol(ctx, a));
        ferry_i_ref_chol_solve(ctx, a, y);
        for (int64_t c = 0; c < q->k; c++) {
            if (gain) gain[i] += y->data[c] * FERRY_ROW(p, i)[c];
            FERRY_ROW(p, i)[c] = y->data[c];
        }
    }
done:
    ferry_i_small_free(a);
    ferry_i_small_free(y);
    return st;
}

/* out_i = sum_j x_ij^power, or out_j = sum_i. */
static ferry_status ref_sums(ferry_ctx *ctx, const ferry_matrix *x, ferry_axis axis,
                             int power, double *out)
{
    const int64_t n = axis == FERRY_ROWS ? x->rows : x->cols;

    (void)ctx;
    assert(power == 1 || power == 2);
    for (int64_t i = 0; i < n; i++)
        out[i] = 0;
    for (int64_t i = 0; i < x->rows; i++)
        for (int64_t j = 0; j < x->cols; j++) {
            const double v = at(x, i, j);
            out[axis == FERRY_ROWS ? i : j] += power == 1 ? v : v * v;
        }
    return FERRY_OK;
}

/* s_pq = sum_i b_ip c_iq. */
static void ref_gram(ferry_ctx *ctx, const ferry_block *b, const ferry_block *c,
                     ferry_small *s)
{
    (void)ctx;
    assert(b->rows == c->rows && s->rows == b->k && s->cols == c->k);
    for (int64_t p = 0; p < b->k; p++)
        for (int64_t q = 0; q < c->k; q++) {
            double sum = 0;
            for (int64_t i = 0; i < b->rows; i++)
                sum += FERRY_ROW(b, i)[p] * FERRY_ROW(c, i)[q];
            FERRY_AT(s, p, q) = sum;
        }
}

/* y_iq = alpha sum_p b_ip s_pq + beta y_iq, or s_qp. */
static void ref_bmul(ferry_ctx *ctx, double alpha, const ferry_block *b,
                     const ferry_small *s, bool trans, double beta, ferry_block *y)
{
    (void)ctx;
    assert(b->k == (trans ? s->cols : s->rows) && y->rows == b->rows);
    assert(y->k == (trans ? s->rows : s->cols));
    for (int64_t i = 0; i < b->rows; i++)
        for (int64_t q = 0; q < y->k; q++) {
            double sum = 0;
            for (int64_t p = 0; p < b->k; p++)
                sum += FERRY_ROW(b, i)[p] * (trans ? FERRY_AT(s, q, p) : FERRY_AT(s, p, q));
            FERRY_ROW(y, i)[q] = blend(alpha, sum, beta, FERRY_ROW(y, i)[q]);
        }
}

/* b = b (n / max(d, floor))^exponent, then 0 below tiny. */
static void ref_mulup(ferry_ctx *ctx, ferry_block *b, const ferry_block *n,
                      const ferry_block *d, double exponent, double floor, double tiny)
{
    (void)ctx;
    assert(exponent == 0.5 || exponent == 1);
    for (int64_t e = 0; e < b->rows * b->k; e++) {
        const double ratio = n->data[e] / fmax(d->data[e], floor);
        b->data[e] *= exponent == 1 ? ratio : sqrt(fmax(ratio, 0));
        if (b->data[e] < tiny) b->data[e] = 0;
    }
}

/* out_i = sum_j b_ij^power, or out_j = sum_i. */
static void ref_bsums(ferry_ctx *ctx, const ferry_block *b, ferry_axis axis, int power,
                      double *out)
{
    const int64_t n = axis == FERRY_ROWS ? b->rows : b->k;

    (void)ctx;
    assert(power == 1 || power == 2);
    for (int64_t i = 0; i < n; i++)
        out[i] = 0;
    for (int64_t i = 0; i < b->rows; i++)
        for (int64_t j = 0; j < b->k; j++) {
            const double v = FERRY_ROW(b, i)[j];
            out[axis == FERRY_ROWS ? i : j] += power == 1 ? v : v * v;
        }
}

/* b_ij = f_i b_ij, or f_j b_ij. */
static void ref_bscale(ferry_ctx *ctx, ferry_block *b, ferry_axis axis, const double *f)
{
    (void)ctx;
    for (int64_t i = 0; i < b->rows; i++)
        for (int64_t j = 0; j < b->k; j++)
            FERRY_ROW(b, i)[j] *= f[axis == FERRY_ROWS ? i : j];
}

static void ref_axpby(ferry_ctx *ctx, double alpha, const ferry_block *b, double beta,
                      ferry_block *c)
{
    (void)ctx;
    assert(b->rows == c->rows && b->k == c->k);
    for (int64_t e = 0; e < b->rows * b->k; e++)
        c->data[e] = blend(alpha, b->data[e], beta, c->data[e]);
}

static double ref_dot(ferry_ctx *ctx, const ferry_block *b, const ferry_block *c)
{
    double sum = 0;

    (void)ctx;
    assert(b->rows == c->rows && b->k == c->k);
    for (int64_t e = 0; e < b->rows * b->k; e++)
        sum += b->data[e] * c->data[e];
    return sum;
}

/* The operator written out as a matrix, one column at a time, then all its eigenpairs.
 * O(n^3), n products. */
static ferry_status ref_eigs(ferry_ctx *ctx, int64_t n, ferry_operator op, void *arg,
                             int64_t k, double tol, double *values, ferry_block *vectors)
{
    ferry_status st = FERRY_OK;
    ferry_block *e = NULL, *column = NULL;
    ferry_small *a = NULL;
    double *w = NULL;

    (void)tol; /* always to machine precision */
    assert(k <= n && vectors->rows == n && vectors->k == k);
    FERRY_TRY(ferry_i_block_new(ctx, n, 1, &e));
    FERRY_TRY(ferry_i_block_new(ctx, n, 1, &column));
    FERRY_TRY(ferry_i_small_new(ctx, n, n, &a));
    FERRY_NEW(ctx, w, n);
    for (int64_t j = 0; j < n; j++) {
        e->data[j] = 1;
        FERRY_TRY(op(ctx, arg, e, column));
        e->data[j] = 0;
        for (int64_t i = 0; i < n; i++) { /* the symmetric part, which rounding may break */
            FERRY_AT(a, i, j) += column->data[i] / 2;
            FERRY_AT(a, j, i) += column->data[i] / 2;
        }
    }
    FERRY_TRY(ferry_i_ref_eigh(ctx, a, w));
    for (int64_t j = 0; j < k; j++) {
        values[j] = w[n - 1 - j];
        for (int64_t i = 0; i < n; i++)
            FERRY_ROW(vectors, i)[j] = FERRY_AT(a, i, n - 1 - j);
    }
done:
    ferry_i_free(w);
    ferry_i_small_free(a);
    ferry_i_block_free(column);
    ferry_i_block_free(e);
    return st;
}

const ferry_engine ferry_i_engine_ref = {
    .name = "ref",
    .summary = "plain C, slow and obvious: the oracle",
    .mul = ref_mul,
    .tmul = ref_tmul,
    .xxt = ref_xxt,
    .xtx = ref_xtx,
    .sddmm = ref_sddmm,
    .masked = ref_masked,
    .ridge_rows = ref_ridge_rows,
    .sums = ref_sums,
    .gram = ref_gram,
    .bmul = ref_bmul,
    .mulup = ref_mulup,
    .bsums = ref_bsums,
    .bscale = ref_bscale,
    .axpby = ref_axpby,
    .dot = ref_dot,
    .row_mul = ferry_i_ref_row_mul,
    .row_add = ferry_i_ref_row_add,
    .pair_steps = ferry_i_ref_pair_steps,
    .tiles_step = ferry_i_ref_tiles_step,
    .tiles_model = ferry_i_ref_tiles_model,
    .consensus_mul = ferry_i_ref_consensus_mul,
    .eigs = ref_eigs,
    .eigh = ferry_i_ref_eigh,
    .svd = ferry_i_ref_svd,
    .qr = ferry_i_ref_qr,
    .chol = ferry_i_ref_chol,
    .chol_solve = ferry_i_ref_chol_solve,
    .solve = ferry_i_ref_solve,
    .gemm = ferry_i_ref_gemm,
};
