/* Kernel regression on soft labels with a gate (gp.h). With k(x, y) = exp(-|x - y|^2 / s),
 * s the median of |x - y|^2 over the bridge, and z = 2 g - 1:
 *
 *   m(x) = zbar + k(x, P) (K_PP + 1.0 I)^-1 (z - zbar)
 *   f(x) = a m(x) + tau k(x, L) B^-1 (y - a m_L),  B = tau K_LL + 0.3 I
 *
 * where a and tau are those of a small grid with the least mean squared leave-one-out
 * residual [B^-1 (y - a m_L)]_i / [B^-1]_ii. a = 0 forgets the bridge. */
#include "methods/shared/gp.h"

#include <math.h>
#include <string.h>

#include "learn/kernel.h"

/* Noise variances on the scale of the kernel, where k(x, x) = 1: soft labels that came
 * over a bridge are noisier than labels of the target itself. */
#define NOISE_BRIDGE 1.0
#define NOISE_TARGET 0.3
enum { MOST = 20000 }; /* instances: their kernel is 3.2 GB then */

void ferry_i_gp_free(ttl_gp *m)
{
    if (!m) return;
    ferry_i_free(m->zbar);
    ferry_i_matrix_free(m->p);
    ferry_i_matrix_free(m->l);
    FERRY_FREE(m->alpha, m->beta, m);
}

/* s <- factor exp(-gamma s) + ridge I, of squared distances s. */
static void to_kernel(double gamma, double factor, double ridge, ferry_small *s)
{
    for (int64_t e = 0; e < s->rows * s->cols; e++)
        s->data[e] = factor * exp(-gamma * s->data[e]);
    for (int64_t i = 0; i < s->rows; i++)
        FERRY_AT(s, i, i) += ridge;
}

/* The bridge's part: gamma by the median distance, alpha = (K_PP + 1.0 I)^-1 (z - zbar). */
static ferry_status fit_bridge(ferry_ctx *ctx, const ferry_block *g, ttl_gp *m)
{
    ferry_status st = FERRY_OK;
    const int64_t n = m->p->rows, c = g->k;
    ferry_small *k = NULL, *z = NULL;

    FERRY_TRY(ferry_i_small_new(ctx, n, n, &k));
    FERRY_TRY(ferry_i_small_new(ctx, n, c, &z));
    FERRY_TRY(ferry_i_kernel_distances(ctx, m->p, k));
    FERRY_TRY(ferry_i_kernel_gamma(ctx, k, &m->gamma));
    to_kernel(m->gamma, 1, NOISE_BRIDGE, k);
    FERRY_TRY(ferry_e(ctx)->chol(ctx, k));
    /* z = 2 g - 1 is in -1 .. 1. Without its mean taken off, the regression would fall to
     * 0, an even vote, far from the bridge; so it falls to zbar, the shares of the
     * classes there. */
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < c; j++) {
            FERRY_AT(z, i, j) = 2 * FERRY_ROW(g, i)[j] - 1;
            m->zbar[j] += FERRY_AT(z, i, j) / (double)n;
        }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < c; j++)
            FERRY_AT(z, i, j) -= m->zbar[j];
    ferry_e(ctx)->chol_solve(ctx, k, z);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < c; j++)
            FERRY_ROW(m->alpha, i)[j] = FERRY_AT(z, i, j);
done:
    FERRY_FREE(k, z);
    return st;
}

/* m(x) = zbar + k(x, P) alpha for every row of x. */
static ferry_status bridge_mean(ferry_ctx *ctx, const ttl_gp *m, const ferry_matrix *x,
                                ferry_block *f)
{
    FERRY_PASS(ferry_i_kernel_mul(ctx, m->gamma, m->p, x, m->alpha, f));
    for (int64_t i = 0; i < f->rows; i++)
        for (int64_t j = 0; j < f->k; j++)
            FERRY_ROW(f, i)[j] += m->zbar[j];
    return FERRY_OK;
}

/* Squared distances (kept over the grid), B and its factor, B^-1, the residual, and m at
 * L. */
typedef struct gate_work {
    ferry_small *d2, *b, *inv, *r; /* nl x nl, nl x nl, nl x nl, nl x c */
    ferry_block *m_l;              /* nl x c */
} gate_work;

/* r <- B^-1 (y - a m_L), inv <- B^-1. */
static ferry_status gate_solve(ferry_ctx *ctx, const ttl_gp *m, const int32_t *y, double a,
                               double tau, gate_work *w)
{
    const int64_t n = w->b->rows;

    memcpy(w->b->data, w->d2->data, (size_t)(n * n) * sizeof(double));
    to_kernel(m->gamma, tau, NOISE_TARGET, w->b);
    FERRY_PASS(ferry_e(ctx)->chol(ctx, w->b));
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++)
            FERRY_AT(w->inv, i, j) = (double)(i == j);
        for (int64_t j = 0; j < w->r->cols; j++)
            /* y is +1 in the column of its class, -1 in the others: one regression per
             * class. */
            FERRY_AT(w->r, i, j) = (y[i] == j ? 1 : -1) - a * FERRY_ROW(w->m_l, i)[j];
    }
    ferry_e(ctx)->chol_solve(ctx, w->b, w->inv);
    ferry_e(ctx)->chol_solve(ctx, w->b, w->r);
    return FERRY_OK;
}

/* Mean square of what each labelled instance would be missed by if it were left out: no
 * refitting, since the residual without instance i is r_i / [B^-1]_ii. */
static double left_out(const gate_work *w)
{
    double sum = 0;

    for (int64_t i = 0; i < w->r->rows; i++)
        for (int64_t j = 0; j < w->r->cols; j++) {
            const double r = FERRY_AT(w->r, i, j) / FERRY_AT(w->inv, i, i);
            sum += r * r;
        }
    return sum / (double)(w->r->rows * w->r->cols);
}

/* a and tau by the left-out residuals over a small grid, then beta. {0, 1} is the choice to
 * forget the bridge. */
static ferry_status fit_gate(ferry_ctx *ctx, const int32_t *y, ttl_gp *m)
{
    ferry_status st = FERRY_OK;
    static const double grid[][2] = {{0.5, 0.1}, {0.5, 0.3}, {0.5, 1}, {1, 0.1}, {1, 0.3},
                                     {1, 1},     {2, 0.1},   {2, 0.3}, {2, 1},   {0, 1}};
    const int64_t n = m->l->rows, c = m->alpha->k;
    gate_work w = {0};
    double least = INFINITY, tau = 1;

    FERRY_TRY(ferry_i_small_new(ctx, n, n, &w.d2));
    FERRY_TRY(ferry_i_small_new(ctx, n, n, &w.b));
    FERRY_TRY(ferry_i_small_new(ctx, n, n, &w.inv));
    FERRY_TRY(ferry_i_small_new(ctx, n, c, &w.r));
    FERRY_TRY(ferry_i_block_new(ctx, n, c, &w.m_l));
    FERRY_TRY(ferry_i_block_new(ctx, n, c, &m->beta));
    FERRY_TRY(ferry_i_kernel_distances(ctx, m->l, w.d2));
    FERRY_TRY(bridge_mean(ctx, m, m->l, w.m_l));
    for (int64_t t = 0; t < FERRY_COUNT(grid); t++) {
        FERRY_TRY(gate_solve(ctx, m, y, grid[t][0], grid[t][1], &w));
        if (!(left_out(&w) < least)) continue;
        least = left_out(&w);
        m->a = grid[t][0];
        tau = grid[t][1];
    }
    /* Once more with the best pair: its B^-1 (y - a m_L) was overwritten by later tries.
     * The factor tau of k(x, L) goes into beta. */
    FERRY_TRY(gate_solve(ctx, m, y, m->a, tau, &w));
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < c; j++)
            FERRY_ROW(m->beta, i)[j] = tau * FERRY_AT(w.r, i, j);
    ferry_i_diag_real(ctx, "gate_a", m->a);
    ferry_i_diag_real(ctx, "gate_tau", tau);
done:
    FERRY_FREE(w.d2, w.b, w.inv, w.r, w.m_l);
    return st;
}

/* A model that refers to p and l (one owner more each), a = 1: the bridge alone. *out may
 * be half made when it fails; ferry_i_gp_free takes it so. */
static ferry_status gp_new(ferry_ctx *ctx, int64_t c, ferry_matrix *p, ferry_matrix *l,
                           ttl_gp **out)
{
    ferry_status st = FERRY_OK;
    ttl_gp *m = NULL;

    *out = NULL;
    FERRY_NEW(ctx, m, 1);
    *out = m; /* the caller's in any case */
    m->a = 1;
    FERRY_NEW(ctx, m->zbar, c);
    m->p = ferry_i_matrix_ref(p);
    if (l) m->l = ferry_i_matrix_ref(l);
    FERRY_TRY(ferry_i_block_new(ctx, p->rows, c, &m->alpha));
done:
    return st;
}

/* O(P^3) for the bridge and O(L^3) for each of the grid's ten tries; refused above MOST
 * instances rather than left to run out of memory. */
ferry_status ferry_i_gp_fit(ferry_ctx *ctx, ferry_matrix *p, const ferry_block *g,
                            ferry_matrix *l, const int32_t *y, ttl_gp **out)
{
    ferry_status st = FERRY_OK;
    ttl_gp *m = NULL;

    *out = NULL;
    FERRY_NEED(ctx, p->rows <= MOST && (!l || l->rows <= MOST), FERRY_ENEEDS,
               "hop learner=gp: %lld instances are too many for a kernel of all pairs (at "
               "most %d); learner=logreg has no such limit",
               (long long)(l && l->rows > p->rows ? l->rows : p->rows), MOST);
    FERRY_TRY(gp_new(ctx, g->k, p, l, &m));
    FERRY_TRY(fit_bridge(ctx, g, m));
    if (l) FERRY_TRY(fit_gate(ctx, y, m));
    FERRY_MOVE(*out, m);
done:
    ferry_i_gp_free(m);
    return st;
}

/* The bridge's part, and the target's own where there were labels for a gate. */
ferry_status ferry_i_gp_apply(ferry_ctx *ctx, const ttl_gp *m, const ferry_matrix *x,
                              ferry_block *f)
{
    ferry_status st = FERRY_OK;
    ferry_block *own = NULL;

    FERRY_TRY(bridge_mean(ctx, m, x, f));
    if (!m->l) goto done;
    FERRY_TRY(ferry_i_block_new(ctx, f->rows, f->k, &own));
    FERRY_TRY(ferry_i_kernel_mul(ctx, m->gamma, m->l, x, m->beta, own));
    /* f = a m(x) + k(x, L) beta */
    ferry_e(ctx)->axpby(ctx, 1, own, m->a, f);
done:
    ferry_i_free(own);
    return st;
}

/* ---- save and load ---- */

/* A sparse matrix of `cols` columns and a block of as many rows. */
static void side_file(ferry_io *io, const char *name, const char *block, int64_t c,
                      int64_t cols, ferry_matrix **x, ferry_block **b)
{
    ferry_i_io_matrix(io, name, x);
    FERRY_IO_NEED(io, (*x)->cols == cols && !(*x)->dense,
                  "tensor %s has %lld columns, expected %lld of a sparse matrix", name,
                  (long long)(*x)->cols, (long long)cols);
    if (io->st == FERRY_OK) ferry_i_io_block(io, block, (*x)->rows, c, b);
}

/* The rows of both sides are saved with their features: a kernel method needs them all.
 * gamma at 0 or below would make a kernel of ones, or one that grows with the distance. */
void ferry_i_gp_file(ferry_io *io, int64_t c, int64_t cols, ttl_gp **gp)
{
    if (ferry_i_io_loading(io)) FERRY_IO_NEW(io, *gp, 1);
    if (io->st != FERRY_OK) return;
    ttl_gp *m = *gp;
    double facts[] = {m->gamma, m->a};
    ferry_i_io_numbers(io, "gp", 2, facts);
    FERRY_IO_NEED(io, facts[0] > 0, "tensor gp: gamma is %g", facts[0]);
    if (ferry_i_io_loading(io)) {
        m->gamma = facts[0];
        m->a = facts[1];
    }
    ferry_i_io_reals(io, "gp.mean", 1, c, &m->zbar);
    side_file(io, "gp.bridge", "gp.alpha", c, cols, &m->p, &m->alpha);
    if (ferry_i_io_has(io, "gp.labelled", m->l != NULL))
        side_file(io, "gp.labelled", "gp.beta", c, cols, &m->l, &m->beta);
}
