/* CoCA: the graphs as one matrix, the matrix H as an operator, and its largest eigenvalues.
 *
 * H has D x D entries but a product with it needs none of them:
 *   t_j = X_j u_j,   s = sum_j t_j,   (H u)_j = X_j' ((a_j - b) t_j + b s + W t_j)
 * in 2 m D + p nnz(W) operations a vector.
 *
 * Derivation: (H u)_j = a_j X_j'X_j u_j + b sum_(h != j) X_j'X_h u_h + X_j'W X_j u_j, and
 * the sum over h != j is s - t_j. A view counts as f_j X_j. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "methods/coca/coca.h"

/* ---- graphs ---- */

/* Without sym all factors are 1 and W is the plain weighted sum. An isolated node keeps a
 * row of zeros. */
void ferry_i_coca_node_factors(const ferry_matrix *a, bool sym, double *f)
{
    for (int64_t i = 0; i < a->rows; i++) {
        double degree = 0;
        for (int64_t e = a->start[i]; e < a->start[i + 1]; e++)
            degree += a->value[e];
        f[i] = !sym ? 1 : degree > 0 ? 1 / sqrt(degree) : 0;
    }
}

/* Row i of all graphs, merged by column, goes behind the rows of w before it: the columns of
 * a row ascend in each graph, so the least of the next ones comes first. next: q places,
 * scratch. */
static void add_row(int64_t q, const ferry_matrix *const *m, const double *wt,
                    double *const *f, int64_t i, int64_t *next, ferry_matrix *w)
{
    int64_t n = w->start[i];

    for (int64_t t = 0; t < q; t++)
        next[t] = m[t]->start[i];
    for (;;) {
        int32_t j = INT32_MAX;
        double sum = 0;
        for (int64_t t = 0; t < q; t++)
            if (next[t] < m[t]->start[i + 1] && m[t]->index[next[t]] < j)
                j = m[t]->index[next[t]];
        if (j == INT32_MAX) break;
        for (int64_t t = 0; t < q; t++)
            if (next[t] < m[t]->start[i + 1] && m[t]->index[next[t]] == j)
                /* wt_t D^-1/2 M D^-1/2, entry by entry. */
                sum += wt[t] * (f[t][i] * f[t][j]) * m[t]->value[next[t]++];
        w->index[n] = j;
        w->value[n++] = sum;
    }
    w->start[i + 1] = n;
}

/* One pass over all rows, merging q sorted lists; room for the case that no edge is
 * shared. */
ferry_status ferry_i_coca_graphs(ferry_ctx *ctx, int64_t q, const ferry_matrix *const *m,
                                 const double *wt, bool sym, ferry_matrix **out)
{
    ferry_status st = FERRY_OK;
    const int64_t n = m[0]->rows;
    double **f = NULL;
    int64_t *next = NULL, nnz = 0;
    ferry_matrix *w = NULL;

    *out = NULL;
    FERRY_NEW(ctx, f, q);
    FERRY_NEW(ctx, next, q);
    for (int64_t t = 0; t < q; t++) {
        FERRY_NEW(ctx, f[t], n);
        ferry_i_coca_node_factors(m[t], sym, f[t]);
        nnz += m[t]->nnz;
    }
    FERRY_TRY(ferry_i_matrix_csr(ctx, n, n, nnz, &w));
    for (int64_t i = 0; i < n; i++)
        add_row(q, m, wt, f, i, next, w);
    w->nnz = w->start[n]; /* edges that graphs share are one */
    FERRY_MOVE(*out, w);
done:
    for (int64_t t = 0; f && t < q; t++)
        ferry_i_free(f[t]);
    FERRY_FREE(f, next);
    ferry_i_matrix_free(w);
    return st;
}

/* ---- H as an operator ---- */

void ferry_i_coca_form(coca_form form, int64_t p, const double *w, double alpha, double *a,
                       double *b)
{
    *b = form == COCA_43 ? 2 * alpha : alpha;
    for (int64_t j = 0; j < p; j++) {
        if (form == COCA_48) /* (4.8), what Algorithm 2 builds */
            a[j] = w[j];
        else if (form == COCA_44) /* (4.4), j = h kept in the consensus term */
            a[j] = w[j] + alpha;
        else /* (4.3) expanded exactly */
            a[j] = w[j] - 2 * alpha * (double)(p - 1);
    }
}

int64_t ferry_i_coca_size(const coca_problem *c)
{
    int64_t size = 0;

    for (int64_t j = 0; j < c->p; j++)
        size += c->x[j]->cols;
    return size;
}

/* Workspace of the operator for k vectors at once. */
typedef struct product {
    const coca_problem *c;
    int64_t k, ld, done;
    ferry_block *t, *wt; /* m x ld: t_1 .. t_p side by side (p k columns), and W times it */
    ferry_block *s;      /* m x k: sum of the t_j */
    ferry_block *r;      /* m x k */
    ferry_consensus *packed; /* for one vector, or NULL */
} product;

/* Also of a product of which nothing was made. */
static void free_product(product *o)
{
    ferry_i_block_free(o->t);
    ferry_i_block_free(o->wt);
    ferry_i_block_free(o->s);
    ferry_i_block_free(o->r);
}

/* The eigensolver asks for blocks of different widths: workspace is made anew only when the
 * width changes. */
static ferry_status size_product(ferry_ctx *ctx, product *o, int64_t k)
{
    ferry_status st = FERRY_OK;
    const coca_problem *c = o->c;

    if (o->k == k) return FERRY_OK;
    free_product(o);
    *o = (product){.c = c, .done = o->done, .packed = o->packed};
    /* Rows of whole cache lines: the products with W are then faster by a quarter. */
    o->ld = c->w && c->p * k > 4 ? (c->p * k + 7) / 8 * 8 : c->p * k;
    FERRY_TRY(ferry_i_block_new(ctx, c->m, o->ld, &o->t));
    if (c->w) FERRY_TRY(ferry_i_block_new(ctx, c->m, o->ld, &o->wt));
    FERRY_TRY(ferry_i_block_new(ctx, c->m, k, &o->s));
    FERRY_TRY(ferry_i_block_new(ctx, c->m, k, &o->r));
    o->k = k;
done:
    return st;
}

/* t_j = f_j X_j u_j, s = sum_j t_j. All t_j stand side by side, so that W is multiplied
 * with all of them in one pass over its edges. */
static void forward(ferry_ctx *ctx, product *o, const ferry_block *u)
{
    const coca_problem *c = o->c;
    const int64_t k = u->k, ld = o->ld;

    memset(o->s->data, 0, (size_t)(c->m * k) * sizeof(double));
    for (int64_t j = 0, at = 0; j < c->p; at += c->x[j++]->cols) {
        const ferry_block uj = {c->x[j]->cols, k, u->data + at * k};
        const double f = c->f ? c->f[j] : 1;
        ferry_i_centred_mul(ctx, &c->x[j]->c, &uj, o->r);
#pragma omp parallel for num_threads(ctx->threads) schedule(static)
        for (int64_t i = 0; i < c->m; i++)
            for (int64_t l = 0; l < k; l++) {
                const double t = f * o->r->data[i * k + l];
                o->t->data[i * ld + j * k + l] = t;
                o->s->data[i * k + l] += t;
            }
    }
}

/* wt <- W t: edges may lead to any rank's instances, so all t_j are brought together. */
static ferry_status times_graphs(ferry_ctx *ctx, product *o)
{
    ferry_status st = FERRY_OK;
    const ferry_matrix *x = o->c->x[0]->c.x;
    ferry_block *all = NULL;

    if (x->whole) FERRY_TRY(ferry_i_block_collect(ctx, x, o->t, &all));
    ferry_e(ctx)->mul(ctx, 1, o->c->w, all ? all : o->t, 0, o->wt);
done:
    ferry_i_block_free(all);
    return st;
}

/* (H u)_j = f_j X_j' ((a_j - b) t_j + b s + W t_j). r is what stands in the brackets; own =
 * a_j - b, since s contains t_j. */
static ferry_status backward(ferry_ctx *ctx, product *o, ferry_block *y)
{
    ferry_status st = FERRY_OK;
    const coca_problem *c = o->c;
    const int64_t k = y->k, ld = o->ld;

    if (c->w) FERRY_TRY(times_graphs(ctx, o));
    for (int64_t j = 0, at = 0; j < c->p; at += c->x[j++]->cols) {
        ferry_block yj = {c->x[j]->cols, k, y->data + at * k};
        const double f = c->f ? c->f[j] : 1, own = c->a[j] - c->b;
#pragma omp parallel for num_threads(ctx->threads) schedule(static)
        for (int64_t i = 0; i < c->m; i++)
            for (int64_t l = 0; l < k; l++) {
                const int64_t e = i * ld + j * k + l;
                const double wt = c->w ? o->wt->data[e] : 0;
                o->r->data[i * k + l] =
                    f * (own * o->t->data[e] + c->b * o->s->data[i * k + l] + wt);
            }
        FERRY_TRY(ferry_i_centred_tmul(ctx, &c->x[j]->c, o->r, &yj));
    }
done:
    return st;
}

/* One product with H for the eigensolver, k vectors at once. Single vectors go the packed
 * way where there is one. A FINISH of the callback is not heeded: half an eigenvector is of
 * no use. */
static ferry_status apply(ferry_ctx *ctx, void *arg, const ferry_block *x, ferry_block *y)
{
    ferry_status st = FERRY_OK;
    product *o = arg;
    bool finish = false; /* there is nothing to keep before the end */

    o->done += x->k;
    if (o->c->products) *o->c->products = o->done;
    if (o->c->name) FERRY_TRY(ferry_i_progress(ctx, o->c->name, o->done, 0, NAN, &finish));
    if (x->k == 1 && o->packed) {
        ferry_e(ctx)->consensus_mul(ctx, o->packed, x->data, y->data);
        goto done;
    }
    FERRY_TRY(size_product(ctx, o, x->k));
    forward(ctx, o, x);
    FERRY_TRY(backward(ctx, o, y));
done:
    return st;
}

/* ---- eigenvalues ---- */

static ferry_eigen_problem eigen_of(product *o)
{
    return (ferry_eigen_problem){
        .n = ferry_i_coca_size(o->c), .op = apply, .arg = o, .solver = o->c->solver};
}

ferry_status ferry_i_coca_matrix(ferry_ctx *ctx, const coca_problem *c, ferry_small **out)
{
    product o = {.c = c};
    const ferry_eigen_problem h = eigen_of(&o);
    const ferry_status st = ferry_i_eigen_matrix(ctx, &h, out);

    free_product(&o);
    return st;
}

/* Largest algebraically, not by modulus: H has large negative eigenvalues in forms 4.3 and
 * 4.8, of directions on which the views disagree. Packed only where H is not written
 * out. */
ferry_status ferry_i_coca_solve(ferry_ctx *ctx, const coca_problem *c, int64_t d,
                                double *values, ferry_block *u)
{
    ferry_status st = FERRY_OK;
    product o = {.c = c};
    const ferry_eigen_problem h = eigen_of(&o);

    assert(1 <= d && d <= h.n && u->rows == h.n && u->k == d);
    if (!ferry_i_eigen_dense(&h)) FERRY_TRY(ferry_i_coca_pack(ctx, c, &o.packed));
    FERRY_TRY(ferry_i_eigen_largest(ctx, &h, d, values, u));
done:
    ferry_i_coca_packed_free(o.packed);
    free_product(&o);
    return st;
}

/* ---- relational only ---- */

/* The operator's argument; t is scratch, made for the block at hand. */
typedef struct centred_graph {
    const ferry_matrix *w;
    bool centred;
    ferry_block *t;
} centred_graph;

/* Take the mean of every column away: K x. */
static void centre(ferry_block *x)
{
    for (int64_t l = 0; l < x->k; l++) {
        double mean = 0;
        for (int64_t i = 0; i < x->rows; i++)
            mean += FERRY_ROW(x, i)[l];
        mean /= (double)x->rows;
        for (int64_t i = 0; i < x->rows; i++)
            FERRY_ROW(x, i)[l] -= mean;
    }
}

/* y <- K W K x. Without K the first eigenvector is about the degrees, not about groups. K
 * twice keeps the operator symmetric. */
static ferry_status apply_graph(ferry_ctx *ctx, void *arg, const ferry_block *x,
                                ferry_block *y)
{
    ferry_status st = FERRY_OK;
    centred_graph *g = arg;

    if (!g->t || g->t->k != x->k) {
        ferry_i_block_free(g->t);
        g->t = NULL;
        FERRY_TRY(ferry_i_block_new(ctx, x->rows, x->k, &g->t));
    }
    ferry_i_block_copy(x, g->t);
    if (g->centred) centre(g->t);
    ferry_e(ctx)->mul(ctx, 1, g->w, g->t, 0, y);
    if (g->centred) centre(y);
done:
    return st;
}

ferry_status ferry_i_coca_relational(ferry_ctx *ctx, const ferry_matrix *w, bool centred,
                                     ferry_eigen_solver solver, int64_t d, double *values,
                                     ferry_block *phi)
{
    centred_graph g = {.w = w, .centred = centred};
    const ferry_eigen_problem kwk = {
        .n = w->rows, .op = apply_graph, .arg = &g, .solver = solver};
    const ferry_status st = ferry_i_eigen_largest(ctx, &kwk, d, values, phi);

    ferry_i_block_free(g.t);
    return st;
}
