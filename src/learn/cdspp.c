/* CDSPP's eigenproblem (cdspp.h), exactly and without ever forming it.
 *
 * With Bs = Xs Ls Xs' + alpha I and Bt likewise, Ms Mt' pt = lambda Bs ps and Mt Ms' ps
 * = lambda Bt pt, so the positive eigenvalues are the singular values of Bs^-1/2 Ms Mt'
 * Bt^-1/2, and all happens in the class sums:
 *
 *   Gs = Ms' Bs^-1 Ms = Ts' Ts,   Gt = Mt' Bt^-1 Mt = Tt' Tt,   Ts Tt' = U S V',
 *   Ps = Bs^-1 Ms Tt' V S^-1 / sqrt 2,   Pt = Bt^-1 Mt Ts' U S^-1 / sqrt 2.
 *
 * No root is inverted: a singular value of 0 is simply dropped. Each side needs B^-1 M
 * and G alone, by a Cholesky factorisation in samples (by_samples) or in features
 * (by_features), whichever are fewer; then everything is as small as the number of
 * shared classes. At ds + dt = 6144, 1495 samples and 65 classes this is a hundred times
 * faster than the dense eigenproblem (tests/oracle/cdspp_dense.c), and equal to 1e-14.
 * Samples that are spread over ranks are brought together where they are the fewer.
 */
#include "learn/cdspp.h"

#include <math.h>
#include <string.h>

#include "learn/rows.h"

/* Largest size of a matrix to factor: 2 GiB. */
enum { MOST = 16384 };

void ferry_i_cdspp_clear(cdspp *c)
{
    FERRY_FREE(c->lambda, c->ps, c->pt, c->cls, c->gs, c->gt, c->q, c->r);
    *c = (cdspp){0};
}

/* ---- one side ---- */

/* One side of the problem and what is made of it. */
typedef struct side {
    const ferry_matrix *x;
    const int32_t *y;
    /* classes of both sides together */
    int64_t k;
    const double *own, *other; /* counts of the k classes here and on the other side */
    /* classes with samples on both sides: the columns of M */
    int64_t shared;
    /* shared: which of the k they are; borrowed from the result */
    const int32_t *cls;
    ferry_block *bm; /* d x shared: B^-1 M */
    ferry_small *g;  /* shared x shared: M' B^-1 M */
} side;

/* v (n) <- F v, F = L^1/2 for L = diag(own_k + other_k / 2) - Y Y'. In closed form,
 * since L has in each class the eigenvalue other_k / 2 for the vector of ones and own_k
 * + other_k / 2 otherwise: (F v)_j = sqrt(a_k) v_j + (sqrt(o_k / 2) - sqrt(a_k))
 * mean_k(v). That also holds where other_k = 0, when L is singular. sum (k) is scratch.
 */
static void times_root(const side *s, double *v, double *sum)
{
    const int64_t n = s->x->rows;

    /* sums of v over the classes; mean_k(v) = sum_k / own_k */
    memset(sum, 0, (size_t)s->k * sizeof *sum);
    for (int64_t j = 0; j < n; j++)
        sum[s->y[j]] += v[j];
    for (int64_t j = 0; j < n; j++) {
        const double c = s->own[s->y[j]], o = 0.5 * s->other[s->y[j]];
        v[j] = sqrt(c + o) * v[j] + (sqrt(o) - sqrt(c + o)) * sum[s->y[j]] / c;
    }
}

/* g <- (g + g') / 2: equal but for rounding, and eigh wants it exact. */
static void symmetric(ferry_small *g)
{
    for (int64_t i = 0; i < g->rows; i++)
        for (int64_t j = 0; j < i; j++) {
            const double mean = 0.5 * (FERRY_AT(g, i, j) + FERRY_AT(g, j, i));
            FERRY_AT(g, i, j) = FERRY_AT(g, j, i) = mean;
        }
}

/* out (n x shared) <- Gram Y: sums of the columns of a class.
 * Only of shared classes. O(n^2) in all, since a sample has one class. */
static void class_columns(const side *s, const ferry_small *gram, ferry_small *out)
{
    const int64_t n = gram->rows;

    for (int64_t c = 0; c < s->shared; c++)
        for (int64_t j = 0; j < n; j++) {
            if (s->y[j] != s->cls[c]) continue;
            for (int64_t i = 0; i < n; i++)
                FERRY_AT(out, i, c) += FERRY_AT(gram, i, j);
        }
}

/* a <- alpha I + F a F, F = L^1/2. F works on columns, a is symmetric: F a is done column
 * by column, the result transposed, and done again. */
static void between_roots(const side *s, double alpha, ferry_small *a, double *sum)
{
    const int64_t n = a->rows;

    for (int pass = 0; pass < 2; pass++) {
        for (int64_t j = 0; j < n; j++)
            times_root(s, a->data + j * n, sum);
        for (int64_t j = 0; j < n; j++)
            for (int64_t i = 0; i < j; i++) {
                const double t = FERRY_AT(a, i, j);
                FERRY_AT(a, i, j) = FERRY_AT(a, j, i);
                FERRY_AT(a, j, i) = t;
            }
    }
    for (int64_t j = 0; j < n; j++)
        FERRY_AT(a, j, j) += alpha;
}

/* n <= d. With F = L^1/2 and F 1_k = sqrt(o_k / 2) 1_k the push-through identity gives
 *   B^-1 M = X E,   E = F (alpha I + F X'X F)^-1 Y diag(sqrt(2 / o_k)),   G = (X'X Y)'E.
 */
static ferry_status by_samples(ferry_ctx *ctx, side *s, double alpha)
{
    ferry_status st = FERRY_OK;
    const int64_t n = s->x->rows;
    ferry_small *a = NULL, *e = NULL, *xxy = NULL;
    ferry_block *eb = NULL;
    double *sum = ferry_i_calloc(s->k, sizeof *sum);

    FERRY_HAVE(ctx, sum);
    FERRY_TRY(ferry_i_small_new(ctx, n, n, &a));
    FERRY_TRY(ferry_i_small_new(ctx, n, s->shared, &e));
    FERRY_TRY(ferry_i_small_new(ctx, n, s->shared, &xxy));
    FERRY_TRY(ferry_i_block_new(ctx, n, s->shared, &eb));
    /* a <- X'X (samples are rows here); xxy <- X'X Y before a is changed */
    ferry_e(ctx)->xxt(ctx, s->x, a);
    class_columns(s, a, xxy);
    between_roots(s, alpha, a, sum);
    for (int64_t c = 0; c < s->shared; c++)
        for (int64_t j = 0; j < n; j++)
            if (s->y[j] == s->cls[c])
                /* Y diag(sqrt(2 / o_k)): o_k > 0 for a shared class */
                FERRY_AT(e, j, c) = sqrt(2 / s->other[s->cls[c]]);
    /* e <- F (alpha I + F X'X F)^-1 e; positive definite, since alpha > 0 */
    FERRY_TRY(ferry_e(ctx)->chol(ctx, a));
    ferry_e(ctx)->chol_solve(ctx, a, e);
    for (int64_t c = 0; c < s->shared; c++)
        times_root(s, e->data + c * n, sum);
    /* G = M'X E = (X'X Y)'E */
    ferry_e(ctx)->gemm(ctx, true, false, 1, xxy, e, 0, s->g);
    for (int64_t j = 0; j < n; j++)
        for (int64_t c = 0; c < s->shared; c++)
            FERRY_ROW(eb, j)[c] = FERRY_AT(e, j, c);
    /* B^-1 M = X E, d x shared, X being x transposed */
    FERRY_TRY(ferry_e(ctx)->tmul(ctx, 1, s->x, eb, 0, s->bm));
done:
    FERRY_FREE(sum, a, e, xxy, eb);
    return st;
}

/* M = X Y (d x k): class sums. */
static ferry_status class_sums(ferry_ctx *ctx, const side *s, ferry_block **out)
{
    FERRY_PASS(ferry_i_block_new(ctx, s->x->cols, s->k, out));
    for (int64_t i = 0; i < s->x->rows; i++)
        for (int64_t e = row_begin(s->x, i); e < row_end(s->x, i); e++)
            FERRY_ROW(*out, row_column(s->x, i, e))[s->y[i]] += row_values(s->x)[e];
    return ferry_i_sum_rows(ctx, s->x, (*out)->rows * s->k, (*out)->data);
}

/* X diag(a)^1/2: each sample times sqrt(c_k + o_k / 2), so that xtx gives X diag(a) X'.
 */
static ferry_status weighted(ferry_ctx *ctx, const side *s, ferry_matrix **out)
{
    const ferry_matrix *x = s->x;

    if (x->dense)
        FERRY_PASS(ferry_i_matrix_dense(ctx, x->rows, x->cols, out));
    else
        FERRY_PASS(ferry_i_matrix_like(ctx, (ferry_matrix *)(uintptr_t)x, out));
    (*out)->whole = x->whole;
    for (int64_t i = 0; i < x->rows; i++) {
        const double w = sqrt(s->own[s->y[i]] + 0.5 * s->other[s->y[i]]);
        for (int64_t e = row_begin(x, i); e < row_end(x, i); e++)
            row_values(*out)[e] = w * row_values(x)[e];
    }
    return FERRY_OK;
}

/* B (d x d) <- X L X' + alpha I = X diag(a) X' - M M' + alpha I. M has all classes here,
 * also those that the other side lacks: they hold samples together too. */
static ferry_status make_b(ferry_ctx *ctx, const side *s, double alpha,
                           const ferry_block *m, ferry_small *b)
{
    ferry_status st = FERRY_OK;
    const ferry_small mt = {m->k, m->rows, m->data}; /* the same bytes, column-major */
    ferry_matrix *w = NULL;

    /* b <- X diag(a) X', then less M M', then + alpha I */
    FERRY_TRY(weighted(ctx, s, &w));
    FERRY_TRY(ferry_e(ctx)->xtx(ctx, w, b));
    ferry_e(ctx)->gemm(ctx, true, false, -1, &mt, &mt, 1, b);
    for (int64_t j = 0; j < b->rows; j++)
        FERRY_AT(b, j, j) += alpha;
done:
    ferry_i_matrix_free(w);
    return st;
}

/* n > d: B itself is the smaller matrix. B^-1 M and G = M' B^-1 M from its Cholesky
 * factor. */
static ferry_status by_features(ferry_ctx *ctx, side *s, double alpha)
{
    ferry_status st = FERRY_OK;
    const int64_t d = s->x->cols;
    ferry_block *m = NULL;
    ferry_small *b = NULL, *ms = NULL, *bm = NULL;

    FERRY_TRY(class_sums(ctx, s, &m));
    FERRY_TRY(ferry_i_small_new(ctx, d, d, &b));
    FERRY_TRY(ferry_i_small_new(ctx, d, s->shared, &ms));
    FERRY_TRY(ferry_i_small_new(ctx, d, s->shared, &bm));
    /* of all classes in M only the shared ones are right-hand sides */
    FERRY_TRY(make_b(ctx, s, alpha, m, b));
    for (int64_t c = 0; c < s->shared; c++)
        for (int64_t i = 0; i < d; i++)
            FERRY_AT(ms, i, c) = FERRY_AT(bm, i, c) = FERRY_ROW(m, i)[s->cls[c]];
    FERRY_TRY(ferry_e(ctx)->chol(ctx, b));
    ferry_e(ctx)->chol_solve(ctx, b, bm);
    ferry_e(ctx)->gemm(ctx, true, false, 1, ms, bm, 0, s->g);
    for (int64_t i = 0; i < d; i++)
        for (int64_t c = 0; c < s->shared; c++)
            FERRY_ROW(s->bm, i)[c] = FERRY_AT(bm, i, c);
done:
    FERRY_FREE(m, b, ms, bm);
    return st;
}

/* by_samples of the samples of all ranks, which are fewer than the features. */
static ferry_status by_all_samples(ferry_ctx *ctx, side *s, double alpha)
{
    ferry_status st = FERRY_OK;
    side all = *s;
    ferry_matrix *x = NULL;
    void *y = NULL;

    FERRY_TRY(ferry_i_matrix_collect(ctx, s->x, &x));
    FERRY_TRY(ferry_i_rows_collect(ctx, s->x, sizeof *s->y, s->y, &y));
    all.x = x;
    all.y = y;
    FERRY_TRY(by_samples(ctx, &all, alpha));
done:
    ferry_i_matrix_free(x);
    ferry_i_free(y);
    return st;
}

/* bm = B^-1 M and g = M' B^-1 M of one side. O(n d min(n, d) + min(n, d)^3 / 3). */
static ferry_status solve_side(ferry_ctx *ctx, side *s, double alpha)
{
    ferry_status st = FERRY_OK;
    const int64_t n = ferry_i_all_rows(s->x), d = s->x->cols, least = n < d ? n : d;

    FERRY_NEED(
        ctx, least <= MOST, FERRY_ENEEDS,
        "cdspp: %lld labelled rows with %lld features: one of the two may be at most %d",
        (long long)n, (long long)d, (int)MOST);
    FERRY_TRY(ferry_i_block_new(ctx, d, s->shared, &s->bm));
    FERRY_TRY(ferry_i_small_new(ctx, s->shared, s->shared, &s->g));
    FERRY_TRY((n > d         ? by_features
               : s->x->whole ? by_all_samples
                             : by_samples)(ctx, s, alpha));
    symmetric(s->g);
done:
    return st;
}

/* ---- both sides ---- */

/* t <- T with G = T'T: rows sqrt(w_i) q_i' of the eigenvectors. Forming G squared the
 * condition number: eigenvalues below 1e-13 of the largest are rounding, whose roots
 * (1e-7) would look like real ones. */
static ferry_status root_of(ferry_ctx *ctx, const ferry_small *g, ferry_small *t)
{
    ferry_status st = FERRY_OK;
    const int64_t k = g->rows;
    ferry_small *q = NULL;
    double *w = ferry_i_calloc(k, sizeof *w);

    FERRY_HAVE(ctx, w);
    FERRY_TRY(ferry_i_small_new(ctx, k, k, &q));
    memcpy(q->data, g->data, (size_t)(k * k) * sizeof *q->data);
    FERRY_TRY(ferry_e(ctx)->eigh(ctx, q, w));
    for (int64_t i = 0; i < k; i++) {
        const double root = w[i] > 1e-13 * w[k - 1] ? sqrt(w[i]) : 0;
        for (int64_t j = 0; j < k; j++)
            FERRY_AT(t, i, j) = root * FERRY_AT(q, j, i);
    }
done:
    FERRY_FREE(w, q);
    return st;
}

/* to (k x rank) <- T' U diag(1 / (s sqrt 2)), the first rank columns of U.
 * U is orthonormal, so this is the step from singular vectors to solutions of the
 * eigenproblem: P'(B + alpha I) P = I splits into 1/2 from each side, hence sqrt 2. */
static void mix(ferry_ctx *ctx, const ferry_small *t, const ferry_small *u, const double *s,
                ferry_small *to)
{
    const ferry_small lead = {u->rows, to->cols, u->data};

    ferry_e(ctx)->gemm(ctx, true, false, 1, t, &lead, 0, to);
    for (int64_t c = 0; c < to->cols; c++)
        for (int64_t i = 0; i < to->rows; i++)
            FERRY_AT(to, i, c) /= s[c] * sqrt(2);
}

/* Turn column c of both so that the largest |entry| of pt's is positive.
 * Eigenvectors have no sign of their own; without this models would differ between
 * machines. r turns along, so that pt = q r stays true. */
static void turn(cdspp *out, int64_t c)
{
    if (!ferry_i_fix_sign(out->pt->rows, out->pt->data + c, out->pt->k)) return;
    for (int64_t i = 0; i < out->ps->rows; i++)
        FERRY_ROW(out->ps, i)[c] *= -1;
    for (int64_t i = 0; out->r && i < out->r->rows; i++)
        FERRY_AT(out->r, i, c) *= -1;
}

/* From Gs and Gt (shared x shared) to Ps and Pt: the one place where both sides meet.
 * O(shared^3), and O(d shared rank) for Ps and Pt, however many samples there are. */
static ferry_status join(ferry_ctx *ctx, const side *s, const side *t, int64_t dims,
                         cdspp *out)
{
    ferry_status st = FERRY_OK;
    const int64_t k = s->shared;
    ferry_small *ts = NULL, *tt = NULL, *a = NULL, *u = NULL, *v = NULL, *rs = NULL;

    FERRY_TRY(ferry_i_small_new(ctx, k, k, &ts));
    FERRY_TRY(ferry_i_small_new(ctx, k, k, &tt));
    FERRY_TRY(ferry_i_small_new(ctx, k, k, &a));
    FERRY_TRY(ferry_i_small_new(ctx, k, k, &u));
    FERRY_TRY(ferry_i_small_new(ctx, k, k, &v));
    FERRY_TRY(root_of(ctx, s->g, ts));
    FERRY_TRY(root_of(ctx, t->g, tt));
    ferry_e(ctx)->gemm(ctx, false, true, 1, ts, tt, 0, a);
    /* Ts Tt' = U diag(lambda) V' */
    FERRY_TRY(ferry_e(ctx)->svd(ctx, a, u, out->lambda, v));
    /* singular values of rounding size are no dimensions */
    while (out->rank < k && out->lambda[out->rank] > 1e-12 * out->lambda[0])
        out->rank++;
    if (dims > 0 && out->rank > dims) out->rank = dims;
    FERRY_TRY(ferry_i_small_new(ctx, k, out->rank, &rs));
    FERRY_TRY(ferry_i_small_new(ctx, k, out->rank, &out->r));
    FERRY_TRY(ferry_i_block_new(ctx, s->x->cols, out->rank, &out->ps));
    FERRY_TRY(ferry_i_block_new(ctx, t->x->cols, out->rank, &out->pt));
    /* Ps = (Bs^-1 Ms) rs and Pt = (Bt^-1 Mt) r */
    mix(ctx, tt, v, out->lambda, rs);
    mix(ctx, ts, u, out->lambda, out->r);
    ferry_e(ctx)->bmul(ctx, 1, s->bm, rs, false, 0, out->ps);
    ferry_e(ctx)->bmul(ctx, 1, t->bm, out->r, false, 0, out->pt);
    for (int64_t c = 0; c < out->rank; c++)
        turn(out, c);
done:
    FERRY_FREE(ts, tt, a, u, v, rs);
    return st;
}

/* Counts of the classes on both sides, and those that both have: only these get columns
 * in M, while the others still count in L of their own side. */
static ferry_status count(ferry_ctx *ctx, const cdspp_problem *p, double **counts,
                          cdspp *out)
{
    ferry_status st = FERRY_OK;
    double *c = *counts = ferry_i_calloc(2 * p->k, sizeof *c);

    FERRY_NEW(ctx, out->cls, p->k);
    FERRY_NEW(ctx, out->lambda, p->k);
    FERRY_HAVE(ctx, c);
    for (int64_t i = 0; i < p->s.x->rows; i++)
        c[p->s.y[i]]++;
    for (int64_t i = 0; i < p->t.x->rows; i++)
        c[p->k + p->t.y[i]]++;
    FERRY_TRY(ferry_i_sum_rows(ctx, p->s.x, p->k, c));
    FERRY_TRY(ferry_i_sum_rows(ctx, p->t.x, p->k, c + p->k));
    for (int64_t k = 0; k < p->k; k++)
        if (c[k] > 0 && c[p->k + k] > 0) out->cls[out->shared++] = (int32_t)k;
done:
    return st;
}

/* Each side by itself, then the small part in which they meet. One side needs of the
 * other only how many samples of each class it has (Ls and Lt): the source's features
 * enter in join() alone, by a matrix of shared x shared numbers. */
ferry_status ferry_i_cdspp(ferry_ctx *ctx, const cdspp_problem *p, int64_t dims, cdspp *out)
{
    ferry_status st = FERRY_OK;
    double *counts = NULL;
    side s = {0}, t = {0};

    *out = (cdspp){0};
    FERRY_TRY(count(ctx, p, &counts, out));
    s = (side){.x = p->s.x, .y = p->s.y, .own = counts, .other = counts + p->k};
    t = (side){.x = p->t.x, .y = p->t.y, .own = counts + p->k, .other = counts};
    s.k = t.k = p->k;
    s.shared = t.shared = out->shared;
    s.cls = t.cls = out->cls;
    if (out->shared == 0) goto done;
    FERRY_TRY(solve_side(ctx, &s, p->alpha));
    FERRY_TRY(solve_side(ctx, &t, p->alpha));
    FERRY_TRY(join(ctx, &s, &t, dims, out));
    /* the result takes these over; Bs^-1 Ms is not kept */
    out->gs = s.g;
    out->gt = t.g;
    out->q = t.bm;
    s.g = t.g = NULL;
    t.bm = NULL;
done:
    FERRY_FREE(counts, s.bm, s.g, t.bm, t.g);
    if (st != FERRY_OK) ferry_i_cdspp_clear(out);
    return st;
}
