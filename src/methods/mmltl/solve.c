/* M-MLTL: the paper's sweeps, and the minimum itself.
 *
 * For any Z the cheapest U V' = Z costs 2 sqrt(g2) |A^1/2 Z|_*, A = g1 I + mu delta delta',
 * so with g >= m the problem is convex in Z: one minimum. U lies in the span of G and
 * delta; with Q an orthonormal basis of it the problem is solved for (Q'G, Q'delta) in m +
 * 1 dimensions and U = Q Ur.
 *
 * Plain sweeps fit U V' at once but move the balance of |U| against |V| only slowly: after
 * each we put it right. With A^1/2 U V' = L S R':
 *   U <- g2^1/4 A^-1/2 L S^1/2,   V <- g2^-1/4 R S^1/2
 * which leaves U V' alone and makes the last two terms of (7) as small as they can be.
 *
 * Without the balance plain sweeps need thousands of rounds, since only g1 and g2, tiny
 * against sigma(G), drive it: what the paper stops at after 50 depends on the random
 * start. */
#include <float.h>
#include <math.h>

#include "methods/mmltl/mmltl.h"

/* kkt stays 0 and converged false: sweeps are counted, not judged. */
ferry_status ferry_i_mmltl_sweeps(ferry_ctx *ctx, const ferry_mmltl *p, bool sylvester,
                                  int64_t sweeps, ferry_block *u, ferry_block *v,
                                  ferry_mmltl_found *found)
{
    ferry_status st = FERRY_OK;
    ferry_mmltl_work *w = NULL;

    *found = (ferry_mmltl_found){0};
    FERRY_TRY(ferry_i_mmltl_work_new(ctx, p, u->k, &w));
    while (found->sweeps < sweeps && !found->finish) {
        FERRY_TRY(ferry_i_mmltl_v_step(ctx, p, w, u, v)); /* (9) */
        if (sylvester)
            FERRY_TRY(ferry_i_mmltl_u_step_sylvester(ctx, p, v, u)); /* (11) */
        else
            FERRY_TRY(ferry_i_mmltl_u_step(ctx, p, w, v, u));
        found->objective = ferry_i_mmltl_objective(ctx, p, w, u, v); /* (7) */
        found->sweeps++;
        FERRY_TRY(ferry_i_progress(ctx, "mmltl", found->sweeps, sweeps, found->objective,
                                   &found->finish));
    }
done:
    ferry_i_mmltl_work_free(w);
    return st;
}

/* ---- singular values of a block ---- */

/* On failure the caller clears what was made. */
ferry_status ferry_i_mmltl_parts_new(ferry_ctx *ctx, int64_t r, int64_t m,
                                     ferry_mmltl_parts *p)
{
    ferry_status st = FERRY_OK;

    *p = (ferry_mmltl_parts){.q = r < m ? r : m};
    FERRY_TRY(ferry_i_block_new(ctx, r, m, &p->z));
    FERRY_TRY(ferry_i_small_new(ctx, m, p->q, &p->r_));
    FERRY_TRY(ferry_i_small_new(ctx, r, p->q, &p->l_));
    FERRY_NEW(ctx, p->s, p->q);
done:
    return st;
}

void ferry_i_mmltl_parts_clear(ferry_mmltl_parts *p)
{
    FERRY_FREE(p->z, p->r_, p->l_, p->s);
}

/* The bytes of z are Z' as a small, so that the signs are fixed by R, which is V's side. */
ferry_status ferry_i_mmltl_split(ferry_ctx *ctx, ferry_mmltl_parts *p)
{
    ferry_small zt = {p->z->k, p->z->rows, p->z->data};

    FERRY_PASS(ferry_e(ctx)->svd(ctx, &zt, p->r_, p->s, p->l_));
    for (int64_t j = 0; j < p->q; j++)
        if (p->s[j] <= 4 * DBL_EPSILON * p->s[0]) p->s[j] = 0;
    return FERRY_OK;
}

/* By the eigenvalues of G'G, m x m. The square loses half the digits of small values; only
 * the largest is wanted. */
ferry_status ferry_i_mmltl_sigma(ferry_ctx *ctx, const ferry_block *g, double *sigma)
{
    ferry_status st = FERRY_OK;
    ferry_small *s = NULL;
    double *w = NULL;

    *sigma = 0;
    FERRY_TRY(ferry_i_small_new(ctx, g->k, g->k, &s));
    FERRY_NEW(ctx, w, g->k);
    ferry_e(ctx)->gram(ctx, g, g, s);
    FERRY_TRY(ferry_e(ctx)->eigh(ctx, s, w));
    if (g->k > 0 && w[g->k - 1] > 0) *sigma = sqrt(w[g->k - 1]);
done:
    FERRY_FREE(w, s);
    return st;
}

/* ---- the reduced problem ---- */

/* A^power U in place: g1^power U + (a^power - g1^power) dhat dhat'U. A has two eigenvalues,
 * a along delta and g1 elsewhere, so any power is a rank-one change: O(d g). */
static void scale_by_a(const ferry_mmltl *p, double delta2, double power, ferry_block *u)
{
    const double a = p->g1 + p->mu * delta2, low = pow(p->g1, power);
    const double extra = delta2 > 0 ? (pow(a, power) - low) / delta2 : 0;

    for (int64_t j = 0; j < u->k; j++) {
        double along = 0;
        for (int64_t i = 0; i < u->rows; i++)
            along += p->delta->data[i] * FERRY_ROW(u, i)[j];
        for (int64_t i = 0; i < u->rows; i++) {
            double *x = FERRY_ROW(u, i) + j;
            *x = low * *x + extra * along * p->delta->data[i];
        }
    }
}

/* q descends, so the columns do. Columns past the rank are exact zeros, not rounding. */
void ferry_i_mmltl_spread(const ferry_mmltl_parts *q, double less, double su, double sv,
                          ferry_block *u, ferry_block *v)
{
    for (int64_t j = 0; j < u->k; j++) {
        const double root = j < q->q && q->s[j] > less ? sqrt(q->s[j] - less) : 0;
        for (int64_t i = 0; i < u->rows; i++)
            FERRY_ROW(u, i)[j] = root > 0 ? su * root * FERRY_AT(q->l_, i, j) : 0;
        for (int64_t i = 0; i < v->rows; i++)
            FERRY_ROW(v, i)[j] = root > 0 ? sv * root * FERRY_AT(q->r_, i, j) : 0;
    }
}

/* A^1/2 U V' = L S R':  U <- g2^1/4 A^-1/2 L S^1/2,  V <- g2^-1/4 R S^1/2. Leaves U V' as
 * it is. O(r m g + r m^2). */
static ferry_status balance(ferry_ctx *ctx, const ferry_mmltl *p, double delta2,
                            ferry_mmltl_parts *q, ferry_block *u, ferry_block *v)
{
    const ferry_small vt = {v->k, v->rows, v->data};

    scale_by_a(p, delta2, 0.5, u);
    ferry_e(ctx)->bmul(ctx, 1, u, &vt, false, 0, q->z);
    FERRY_PASS(ferry_i_mmltl_split(ctx, q));
    ferry_i_mmltl_spread(q, 0, pow(p->g2, 0.25), pow(p->g2, -0.25), u, v);
    scale_by_a(p, delta2, -0.5, u);
    return FERRY_OK;
}

/* The minimum for mu = 0: G = P S R' with every singular value less sqrt(g1 g2). Where a
 * start for mu > 0 is wanted, `keep` of each value stays, since a direction that is zero
 * remains so. tau = sqrt(g1 g2); ratio splits the singular value between U and V as the
 * weights want it. */
static ferry_status threshold(ferry_ctx *ctx, const ferry_mmltl *p, double keep,
                              ferry_mmltl_parts *q, ferry_block *u, ferry_block *v)
{
    const double tau = sqrt(p->g1 * p->g2), ratio = pow(p->g2 / p->g1, 0.25);

    ferry_i_block_copy(p->g, q->z);
    FERRY_PASS(ferry_i_mmltl_split(ctx, q));
    for (int64_t j = 0; j < q->q; j++)
        q->s[j] = fmax(q->s[j] - tau, keep * q->s[j]);
    ferry_i_mmltl_spread(q, 0, ratio, 1 / ratio, u, v);
    return FERRY_OK;
}

/* Take the part along delta out of G. In place; nothing to do where delta is 0. */
static void project(ferry_block *g, const ferry_block *delta, double delta2)
{
    for (int64_t j = 0; delta2 > 0 && j < g->k; j++) {
        double along = 0;
        for (int64_t i = 0; i < g->rows; i++)
            along += delta->data[i] * FERRY_ROW(g, i)[j];
        for (int64_t i = 0; i < g->rows; i++)
            FERRY_ROW(g, i)[j] -= along / delta2 * delta->data[i];
    }
}

/* The minimum of a problem of few dimensions, straight away: in closed form without a mean
 * term, by Newton's method unless g cuts the rank, else by balanced sweeps.
 *
 * kkt is relative to |G|, as tol is. p is reduced already (few rows); u and v may have more
 * columns than the rank. Without a mean term the closed form is the answer and no sweep is
 * made. */
static ferry_status solve_small(ferry_ctx *ctx, const ferry_mmltl *p, bool newton,
                                double tol, int64_t max_iter, ferry_block *u,
                                ferry_block *v, ferry_mmltl_found *found)
{
    ferry_status st = FERRY_OK;
    ferry_mmltl_work *w = NULL;
    ferry_mmltl_parts q = {0};
    double kkt[2], delta2, scale;

    *found = (ferry_mmltl_found){.converged = true};
    FERRY_TRY(ferry_i_mmltl_parts_new(ctx, p->g->rows, p->g->k, &q));
    FERRY_TRY(ferry_i_mmltl_work_new(ctx, p, u->k, &w));
    delta2 = w->delta2;
    scale = sqrt(ferry_e(ctx)->dot(ctx, p->g, p->g));
    const bool term = scale > 0 && p->mu * delta2 > 0;
    if (term && newton && u->k >= q.q) {
        FERRY_TRY(ferry_i_mmltl_newton(ctx, p, w, tol, max_iter, u, v, found));
        goto done;
    }
    FERRY_TRY(threshold(ctx, p, term ? 0.01 : 0, &q, u, v));
    found->objective = ferry_i_mmltl_objective(ctx, p, w, u, v);
    found->converged = !term;
    while (!found->converged && !found->finish && found->sweeps < max_iter) {
        FERRY_TRY(ferry_i_mmltl_v_step(ctx, p, w, u, v));
        FERRY_TRY(ferry_i_mmltl_u_step(ctx, p, w, v, u));
        FERRY_TRY(balance(ctx, p, delta2, &q, u, v));
        ferry_i_mmltl_kkt(ctx, p, w, u, v, kkt);
        found->kkt = fmax(kkt[0], kkt[1]) / scale;
        found->objective = ferry_i_mmltl_objective(ctx, p, w, u, v);
        found->converged = found->kkt <= tol;
        found->sweeps++;
        FERRY_TRY(ferry_i_progress(ctx, "mmltl", found->sweeps, max_iter, found->objective,
                                   &found->finish));
    }
done:
    ferry_i_mmltl_work_free(w);
    ferry_i_mmltl_parts_clear(&q);
    return st;
}

/* ---- down to the span of G and delta, and back ---- */

/* [delta, G] = Q R: Q d x (m + 1), gr and dr its coordinates. A column that the others
 * already span gets some direction of Q that nothing uses. delta comes first in the QR, so
 * that dr has one entry that is not 0: its direction is exact. */
static ferry_status reduce(ferry_ctx *ctx, const ferry_mmltl *p, ferry_small **q,
                           ferry_block **gr, ferry_block **dr)
{
    ferry_status st = FERRY_OK;
    const int64_t d = p->g->rows, m = p->g->k;
    ferry_small *r = NULL;

    FERRY_TRY(ferry_i_small_new(ctx, d, m + 1, q));
    FERRY_TRY(ferry_i_small_new(ctx, m + 1, m + 1, &r));
    FERRY_TRY(ferry_i_block_new(ctx, m + 1, m, gr));
    FERRY_TRY(ferry_i_block_new(ctx, m + 1, 1, dr));
    for (int64_t i = 0; i < d; i++) {
        FERRY_AT(*q, i, (int64_t)0) = p->delta->data[i];
        for (int64_t j = 0; j < m; j++)
            FERRY_AT(*q, i, j + 1) = FERRY_ROW(p->g, i)[j];
    }
    FERRY_TRY(ferry_e(ctx)->qr(ctx, *q, r));
    for (int64_t i = 0; i <= m; i++) {
        (*dr)->data[i] = FERRY_AT(r, i, (int64_t)0);
        for (int64_t j = 0; j < m; j++)
            FERRY_ROW(*gr, i)[j] = FERRY_AT(r, i, j + 1);
    }
done:
    ferry_i_free(r);
    return st;
}

/* U <- Q Ur. The block's bytes are U' as a small. O(d m g), once. */
static void expand(ferry_ctx *ctx, const ferry_small *q, const ferry_block *ur,
                   ferry_block *u)
{
    const ferry_small urt = {ur->k, ur->rows, ur->data};
    ferry_small ut = {u->k, u->rows, u->data};

    ferry_e(ctx)->gemm(ctx, false, true, 1, &urt, q, 0, &ut);
}

/* Q'G and Q'delta in m + 1 dimensions, their minimum, and U = Q Ur. Reduction pays only
 * where d > m + 1; else the problem is small as it is. */
static ferry_status solve_by(ferry_ctx *ctx, const ferry_mmltl *p, bool newton, double tol,
                             int64_t max_iter, ferry_block *u, ferry_block *v,
                             ferry_mmltl_found *found)
{
    ferry_status st = FERRY_OK;
    const int64_t d = p->g->rows, m = p->g->k;
    ferry_small *q = NULL;
    ferry_block *gr = NULL, *dr = NULL, *ur = NULL;
    ferry_mmltl reduced = *p;

    if (d > m + 1) {
        FERRY_TRY(reduce(ctx, p, &q, &gr, &dr));
        FERRY_TRY(ferry_i_block_new(ctx, m + 1, u->k, &ur));
    } else { /* as it is: a copy, since mu = inf changes G */
        FERRY_TRY(ferry_i_block_new(ctx, d, m, &gr));
        FERRY_TRY(ferry_i_block_new(ctx, d, 1, &dr));
        ferry_i_block_copy(p->g, gr);
        ferry_i_block_copy(p->delta, dr);
    }
    reduced.g = gr;
    reduced.delta = dr;
    if (isinf(p->mu)) { /* the same as mu = 0 without the direction of delta */
        project(gr, dr, ferry_e(ctx)->dot(ctx, dr, dr));
        reduced.mu = 0;
    }
    FERRY_TRY(solve_small(ctx, &reduced, newton, tol, max_iter, q ? ur : u, v, found));
    if (q) expand(ctx, q, ur, u);
done:
    FERRY_FREE(q, gr, dr, ur);
    return st;
}

ferry_status ferry_i_mmltl_solve(ferry_ctx *ctx, const ferry_mmltl *p, double tol,
                                 int64_t max_iter, ferry_block *u, ferry_block *v,
                                 ferry_mmltl_found *found)
{
    return solve_by(ctx, p, true, tol, max_iter, u, v, found);
}

ferry_status ferry_i_mmltl_solve_plain(ferry_ctx *ctx, const ferry_mmltl *p, double tol,
                                       int64_t max_iter, ferry_block *u, ferry_block *v,
                                       ferry_mmltl_found *found)
{
    return solve_by(ctx, p, false, tol, max_iter, u, v, found);
}
