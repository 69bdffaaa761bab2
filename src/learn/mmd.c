/* The steps of M-MLTL's alternation, the test of a minimum, and the minimum itself (mmd.h).
 *
 * Each step is the exact minimum of (7) in one factor with the other fixed. Nothing larger than d x g is ever made:
 * X M X' of the paper is delta delta', a matrix of rank one, which turns its d x d Sylvester equation into two g x g
 * systems (O(d m g + d g^2 + g^3) a step; at d = 2048, m = 10, g = 50 the U step is thousands of times faster than
 * Bartels and Stewart).
 *
 * The minimum. For any Z the cheapest U V' = Z costs 2 sqrt(g2) |A^1/2 Z|_*, A = g1 I + mu delta delta', so with g >= m
 * the problem is convex in Z: one minimum. U lies in the span of G and delta; with Q an orthonormal basis of it the
 * problem is solved for (Q'G, Q'delta) in m + 1 dimensions and U = Q Ur.
 *
 * Plain sweeps fit U V' at once but move the balance of |U| against |V| only slowly, since only g1 and g2, tiny against
 * sigma(G), drive it: thousands of rounds, and what the paper stops at after 50 depends on the random start. After each
 * we put it right. With A^1/2 U V' = L S R':
 *   U <- g2^1/4 A^-1/2 L S^1/2,   V <- g2^-1/4 R S^1/2
 * which leaves U V' alone and makes the last two terms of (7) as small as they can be. */
#include "learn/mmd.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* A block's bytes are those of its transpose as a small. */
static small transposed(block b)
{
    return (small){b.k, b.n, b.at};
}

/* Y <- alpha B S + beta Y, or B S' when trans. */
static void add_bmul(scope *s, double alpha, block b, small a, bool trans, double beta,
                     block y)
{
    const ferry_block in = block_ref(b);
    const ferry_small of = small_ref(a);
    ferry_block to = block_ref(y);

    ferry_e(scope_ctx(s))->bmul(scope_ctx(s), alpha, &in, &of, trans, beta, &to);
}

/* C <- op(A) op(B). */
static void small_mul(scope *s, bool ta, bool tb, small a, small b, small c)
{
    const ferry_small x = small_ref(a), y = small_ref(b);
    ferry_small to = small_ref(c);

    ferry_e(scope_ctx(s))->gemm(scope_ctx(s), ta, tb, 1, &x, &y, 0, &to);
}

/* a <- its Cholesky factor. Positive definite for g1, g2 > 0, unless these are lost in the rounding of what they are
 * added to. */
static void factor(scope *s, small a)
{
    ferry_small to = small_ref(a);
    const ferry_status st = ferry_e(scope_ctx(s))->chol(scope_ctx(s), &to);

    if (st == FERRY_ENUMERIC)
        scope_fail(
            s, FERRY_ENUMERIC,
            "%s: features are so large, or lie so far from 0, that g1 and g2 are lost in "
            "rounding: `scale: standard` brings them to one size",
            scope_ctx(s)->fitting ? scope_ctx(s)->fitting : "mmltl");
    scope_check(s, st);
}

/* x <- A^-1 x, of A = L L'. */
static void solve_factored(scope *s, small l, small x)
{
    const ferry_small a = small_ref(l);
    ferry_small to = small_ref(x);

    ferry_e(scope_ctx(s))->chol_solve(scope_ctx(s), &a, &to);
}

static void add_diagonal(small a, double x)
{
    for (int64_t i = 0; i < a.rows; i++)
        AT(a, i, i) += x;
}

static void copy_small(small from, small to)
{
    if (from.rows * from.cols > 0)
        memcpy(to.at, from.at, (size_t)(from.rows * from.cols) * sizeof *from.at);
}

/* G'delta and |delta|^2 do not change in a problem: they are made here, once. */
mmd_work mmd_work_new(scope *s, const mmd_problem *p, int64_t g)
{
    const int64_t d = p->g.n, m = p->g.k;
    const mmd_work w = {.k = small_new(s, g, g),
                        .shifted = small_new(s, g, g),
                        .gd = small_new(s, m, 1),
                        .z = small_new(s, g, 1),
                        .kz = small_new(s, g, 1),
                        .vt = small_new(s, g, m),
                        .vk = block_new(s, HERE(m), m, g),
                        .e = block_new(s, HERE(d), d, m),
                        .t = block_new(s, HERE(d), d, g),
                        .delta2 = square_sum(s, p->delta)};

    gram(s, p->g, p->delta, w.gd);
    return w;
}

/* (U'U + g2 I) V' = U'G                                                              (9) */
void mmd_v_step(scope *s, const mmd_problem *p, const mmd_work *w, block u, block v)
{
    const small vt = transposed(v);

    gram(s, u, u, w->k);
    add_diagonal(w->k, p->g2);
    factor(s, w->k);
    gram(s, u, p->g, vt);
    solve_factored(s, w->k, vt);
}

/* (mu delta delta' + g1 I) U + U V'V = G V                                          (11)
 * Multiplied by delta' from the left it is an equation in z = U'delta alone:
 *   K = V'V + g1 I,   z = (K + mu |delta|^2 I)^-1 V'(G'delta)
 * and then U = (G V - mu delta z') K^-1 = G (V K^-1) - delta (mu K^-1 z)'. */
void mmd_u_step(scope *s, const mmd_problem *p, const mmd_work *w, block v, block u)
{
    /* K = V'V + g1 I, and K + mu |delta|^2 I. */
    gram(s, v, v, w->k);
    add_diagonal(w->k, p->g1);
    copy_small(w->k, w->shifted);
    add_diagonal(w->shifted, p->mu * w->delta2);
    factor(s, w->k);
    factor(s, w->shifted);

    /* z = U'delta, then K^-1 z and V K^-1 (whose bytes are K^-1 V'); v itself is left alone. */
    small_mul(s, false, false, transposed(v), w->gd, w->z);
    solve_factored(s, w->shifted, w->z);
    copy_small(w->z, w->kz);
    solve_factored(s, w->k, w->kz);
    copy(v, w->vk);
    solve_factored(s, w->k, transposed(w->vk));

    /* U = G (V K^-1) - delta (mu K^-1 z)'. */
    add_bmul(s, 1, p->g, transposed(w->vk), true, 0, u);
    add_bmul(s, -p->mu, p->delta, w->kz, true, 1, u);
}

/* A U + U B = C with A = mu delta delta' + g1 I (d x d), B = V'V, C = G V            (11)
 * O(d^3). A and B are symmetric, so that their Schur forms are diagonal: A = P a P', B = R b R', and
 * (P'U R)_ij = (P'C R)_ij / (a_i + b_j). The oracle that mmd_u_step() is compared with, and the option
 * bartels-stewart. */
void mmd_u_step_sylvester(scope *s, const mmd_problem *p, block v, block u)
{
    const int64_t mark = scope_mark(s), d = p->g.n, g = v.k;
    const small a = small_new(s, d, d), b = small_new(s, g, g);
    const small turned = small_new(s, g, d), x = small_new(s, g, d), ut = transposed(u);

    for (int64_t j = 0; j < d; j++)
        for (int64_t i = 0; i < d; i++)
            AT(a, i, j) = p->mu * p->delta.at[i] * p->delta.at[j];
    add_diagonal(a, p->g1);
    gram(s, v, v, b);
    const double *of_a = eigh(s, a), *of_b = eigh(s, b);
    add_bmul(s, 1, p->g, transposed(v), true, 0, u); /* C, whose bytes are C' */
    small_mul(s, true, false, b, ut, turned);        /* R'C' */
    small_mul(s, false, false, turned, a, x);        /* R'C'P = (P'C R)' */
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j < g; j++)
            AT(x, j, i) /= of_a[i] + of_b[j];
    small_mul(s, false, false, b, x, turned); /* U' = R x P' */
    small_mul(s, false, true, turned, a, ut);
    scope_release(s, mark);
}

/* E <- G - U V'. */
static void residual(scope *s, const mmd_problem *p, block u, block v, block e)
{
    copy(p->g, e);
    add_bmul(s, -1, u, transposed(v), false, 1, e);
}

/* |G - UV'|^2 + mu |U'delta|^2 + g1 |U|^2 + g2 |V|^2                                 (7) */
double mmd_objective(scope *s, const mmd_problem *p, const mmd_work *w, block u, block v)
{
    double z2 = 0;

    residual(s, p, u, v, w->e);
    gram(s, u, p->delta, w->z);
    for (int64_t i = 0; i < w->z.rows; i++)
        z2 += w->z.at[i] * w->z.at[i];
    return square_sum(s, w->e) + p->mu * z2 + p->g1 * square_sum(s, u) +
           p->g2 * square_sum(s, v);
}

/* The two partial gradients of (7), halved. Zero at a stationary point; with g >= m that is the minimum when no
 * direction is stuck at zero. */
double mmd_gradient(scope *s, const mmd_problem *p, const mmd_work *w, block u, block v)
{
    double of_v = 0;

    residual(s, p, u, v, w->e);
    add_bmul(s, -1, w->e, transposed(v), true, 0, w->t);
    axpby(s, p->g1, u, 1, w->t);
    gram(s, u, p->delta, w->z);
    add_bmul(s, p->mu, p->delta, w->z, true, 1, w->t);
    gram(s, u, w->e, w->vt);
    for (int64_t i = 0; i < v.n * v.k; i++) {
        const double r = p->g2 * v.at[i] - w->vt.at[i];
        of_v += r * r;
    }
    return fmax(sqrt(square_sum(s, w->t)), sqrt(of_v));
}

/* By the eigenvalues of G'G, m x m. The square loses half the digits of small values; only the largest is wanted. */
double mmd_sigma(scope *s, block g)
{
    const int64_t mark = scope_mark(s);
    const small a = small_new(s, g.k, g.k);

    gram(s, g, g, a);
    const double *w = eigh(s, a), largest = g.k > 0 ? w[g.k - 1] : 0;
    scope_release(s, mark);
    return largest > 0 ? sqrt(largest) : 0;
}

/* ---- singular values of a block ---- */

mmd_parts mmd_parts_new(scope *s, int64_t r, int64_t m)
{
    const int64_t q = r < m ? r : m;

    return (mmd_parts){.z = block_new(s, HERE(r), r, m),
                       .right = small_new(s, m, q),
                       .left = small_new(s, r, q),
                       .sigma = NEW(s, double, q),
                       .q = q};
}

/* The bytes of z are Z' as a small, so that the signs are fixed by R, which is V's side. */
void mmd_split(scope *s, const mmd_parts *p)
{
    ferry_small zt = small_ref(transposed(p->z)), right = small_ref(p->right),
                left = small_ref(p->left);

    scope_check(s, ferry_e(scope_ctx(s))->svd(scope_ctx(s), &zt, &right, p->sigma, &left));
    for (int64_t j = 0; j < p->q; j++)
        if (p->sigma[j] <= 4 * DBL_EPSILON * p->sigma[0]) p->sigma[j] = 0;
}

/* sigma descends, so the columns do. Columns past the rank are exact zeros, not rounding. */
void mmd_factors(const mmd_parts *p, double less, double su, double sv, block u, block v)
{
    for (int64_t j = 0; j < u.k; j++) {
        const double over = j < p->q ? p->sigma[j] - less : 0,
                     half = over > 0 ? sqrt(over) : 0;
        for (int64_t i = 0; i < u.n; i++)
            ROW(u, i)[j] = half > 0 ? su * half * AT(p->left, i, j) : 0;
        for (int64_t i = 0; i < v.n; i++)
            ROW(v, i)[j] = half > 0 ? sv * half * AT(p->right, i, j) : 0;
    }
}

/* ---- the reduced problem ---- */

/* A^power U in place: g1^power U + (a^power - g1^power) dhat dhat'U. A has two eigenvalues, a along delta and g1
 * elsewhere, so any power is a rank-one change: O(d g). */
static void scale_by_a(const mmd_problem *p, double delta2, double power, block u)
{
    const double a = p->g1 + p->mu * delta2, low = pow(p->g1, power);
    const double extra = delta2 > 0 ? (pow(a, power) - low) / delta2 : 0;

    for (int64_t j = 0; j < u.k; j++) {
        double along = 0;
        for (int64_t i = 0; i < u.n; i++)
            along += p->delta.at[i] * ROW(u, i)[j];
        for (int64_t i = 0; i < u.n; i++) {
            double *x = ROW(u, i) + j;
            *x = low * *x + extra * along * p->delta.at[i];
        }
    }
}

/* A^1/2 U V' = L S R':  U <- g2^1/4 A^-1/2 L S^1/2,  V <- g2^-1/4 R S^1/2. Leaves U V' as it is. O(r m g + r m^2). */
static void balance(scope *s, const mmd_problem *p, double delta2, const mmd_parts *q,
                    block u, block v)
{
    scale_by_a(p, delta2, 0.5, u);
    add_bmul(s, 1, u, transposed(v), false, 0, q->z);
    mmd_split(s, q);
    mmd_factors(q, 0, pow(p->g2, 0.25), pow(p->g2, -0.25), u, v);
    scale_by_a(p, delta2, -0.5, u);
}

/* The minimum for mu = 0: G = P S R' with every singular value less tau = sqrt(g1 g2). Where a start for mu > 0 is
 * wanted, `keep` of each value stays, since a direction that is zero remains so. ratio splits the singular value between
 * U and V as the weights want it. */
static void threshold(scope *s, const mmd_problem *p, double keep, const mmd_parts *q,
                      block u, block v)
{
    const double tau = sqrt(p->g1 * p->g2), ratio = pow(p->g2 / p->g1, 0.25);

    copy(p->g, q->z);
    mmd_split(s, q);
    for (int64_t j = 0; j < q->q; j++)
        q->sigma[j] = fmax(q->sigma[j] - tau, keep * q->sigma[j]);
    mmd_factors(q, 0, ratio, 1 / ratio, u, v);
}

/* Take the part along delta out of G. Nothing to do where delta is 0. */
static void project_out(block g, block delta, double delta2)
{
    for (int64_t j = 0; delta2 > 0 && j < g.k; j++) {
        double along = 0;
        for (int64_t i = 0; i < g.n; i++)
            along += delta.at[i] * ROW(g, i)[j];
        for (int64_t i = 0; i < g.n; i++)
            ROW(g, i)[j] -= along / delta2 * delta.at[i];
    }
}

/* The minimum of a problem of few dimensions, straight away: in closed form without a mean term, by Newton's method
 * unless g cuts the rank, else by balanced sweeps. u and v may have more columns than the rank. */
static mmd_found solve_small(scope *s, const mmd_problem *p, const mmd_solver *how, block u,
                             block v)
{
    const mmd_parts q = mmd_parts_new(s, p->g.n, p->g.k);
    const mmd_work w = mmd_work_new(s, p, u.k);
    const double scale = sqrt(square_sum(s, p->g));
    const bool term = scale > 0 && p->mu * w.delta2 > 0;
    mmd_found found = {.converged = !term};

    if (term && !how->plain && u.k >= q.q) return mmd_newton(s, p, &w, how, u, v);
    threshold(s, p, term ? 0.01 : 0, &q, u, v);
    found.objective = mmd_objective(s, p, &w, u, v);
    while (!found.converged && !found.finish && found.sweeps < how->max_iter) {
        mmd_v_step(s, p, &w, u, v);
        mmd_u_step(s, p, &w, v, u);
        balance(s, p, w.delta2, &q, u, v);
        found.kkt = mmd_gradient(s, p, &w, u, v) / scale;
        found.objective = mmd_objective(s, p, &w, u, v);
        found.converged = found.kkt <= how->tol;
        found.sweeps++;
        found.finish = progress(s, how->what, found.sweeps, how->max_iter, found.objective);
    }
    return found;
}

/* ---- down to the span of G and delta, and back ---- */

/* [delta, G] = Q R: Q d x (m + 1), and the problem in its coordinates. A column that the others already span gets some
 * direction of Q that nothing uses. delta comes first in the QR, so that its coordinates have one entry that is not 0:
 * its direction is exact. */
static small reduce(scope *s, const mmd_problem *p, mmd_problem *to)
{
    const int64_t d = p->g.n, m = p->g.k;
    const small q = small_new(s, d, m + 1), r = small_new(s, m + 1, m + 1);
    ferry_small of = small_ref(q), upper = small_ref(r);

    to->g = block_new(s, HERE(m + 1), m + 1, m);
    to->delta = block_new(s, HERE(m + 1), m + 1, 1);
    for (int64_t i = 0; i < d; i++) {
        AT(q, i, (int64_t)0) = p->delta.at[i];
        for (int64_t j = 0; j < m; j++)
            AT(q, i, j + 1) = ROW(p->g, i)[j];
    }
    scope_check(s, ferry_e(scope_ctx(s))->qr(scope_ctx(s), &of, &upper));
    for (int64_t i = 0; i <= m; i++) {
        to->delta.at[i] = AT(r, i, (int64_t)0);
        for (int64_t j = 0; j < m; j++)
            ROW(to->g, i)[j] = AT(r, i, j + 1);
    }
    return q;
}

/* Q'G and Q'delta in m + 1 dimensions, their minimum, and U = Q Ur. Reduction pays only where d > m + 1; else the
 * problem is small as it is. */
mmd_found mmd_solve(scope *s, const mmd_problem *p, const mmd_solver *how, block u, block v)
{
    const int64_t mark = scope_mark(s), m = p->g.k;
    const bool wide = p->g.n > m + 1;
    mmd_problem reduced = *p;
    small q = {0};

    if (wide) {
        q = reduce(s, p, &reduced);
    } else { /* as it is: a copy, since mu = inf changes G */
        reduced.g = block_copy(s, p->g);
        reduced.delta = block_copy(s, p->delta);
    }
    if (isinf(p->mu)) { /* the same as mu = 0 without the direction of delta */
        project_out(reduced.g, reduced.delta, square_sum(s, reduced.delta));
        reduced.mu = 0;
    }
    const block ur = wide ? block_new(s, HERE(m + 1), m + 1, u.k) : u;
    const mmd_found found = solve_small(s, &reduced, how, ur, v);
    /* U' = Ur' Q': a block's bytes are its transpose's. O(d m g), once. */
    if (wide) small_mul(s, false, true, transposed(ur), q, transposed(u));
    scope_release(s, mark);
    return found;
}
