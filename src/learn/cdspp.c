/* CDSPP's eigenproblem (cdspp.h), exactly and without ever forming it.
 *
 * With Bs = Xs Ls Xs' + alpha I and Bt likewise, Ms Mt' pt = lambda Bs ps and Mt Ms' ps = lambda Bt pt, so the positive
 * eigenvalues are the singular values of Bs^-1/2 Ms Mt' Bt^-1/2, and all happens in the class sums:
 *
 *   Gs = Ms' Bs^-1 Ms = Ts' Ts,   Gt = Mt' Bt^-1 Mt = Tt' Tt,   Ts Tt' = U S V',
 *   Ps = Bs^-1 Ms Tt' V S^-1 / sqrt 2,   Pt = Bt^-1 Mt Ts' U S^-1 / sqrt 2.
 *
 * No root is inverted: a singular value of 0 is simply dropped. Each side needs B^-1 M and G alone, by a Cholesky
 * factorisation in samples (by_samples) or in features (by_features), whichever are fewer; then everything is as small
 * as the number of shared classes. At ds + dt = 6144, 1495 samples and 65 classes this is a hundred times faster than
 * the dense eigenproblem (tests/oracle/cdspp_dense.c), and equal to 1e-14. Samples that are spread over processes are
 * brought together where they are the fewer. */
#include "learn/cdspp_spaces.h"

#include <math.h>
#include <string.h>

enum { MOST = 16384 }; /* the largest matrix to factor: 2 GiB */

/* ---- one side ---- */

typedef struct side {
    matrix x; /* samples are rows: X' of the formulas */
    const int32_t *y;
    int64_t k;                 /* classes of both sides together */
    const double *own, *other; /* counts of the k classes here and on the other side */
    int64_t shared;            /* classes with samples on both sides: the columns of M */
    const int32_t *cls;        /* shared: which of the k they are */
    block bm;                  /* d x shared: B^-1 M */
    small g;                   /* shared x shared: M' B^-1 M */
} side;

static void gemm(scope *s, bool ta, bool tb, double alpha, small a, small b, double beta,
                 small c)
{
    const ferry_small fa = small_ref(a), fb = small_ref(b);
    ferry_small fc = small_ref(c);

    ferry_e(scope_ctx(s))->gemm(scope_ctx(s), ta, tb, alpha, &fa, &fb, beta, &fc);
}

/* v (n numbers, `step` apart) <- F v, F = L^1/2 for L = diag(own_k + other_k / 2) - Y Y'. In closed form, since L has in
 * each class the eigenvalue other_k / 2 for the vector of ones and own_k + other_k / 2 otherwise:
 *   (F v)_j = sqrt(a_k) v_j + (sqrt(o_k / 2) - sqrt(a_k)) mean_k(v).
 * That also holds where other_k = 0, when L is singular. total (k) is scratch. */
static void times_root(const side *s, double *v, int64_t step, double *total)
{
    memset(total, 0, (size_t)s->k * sizeof *total);
    for (int64_t j = 0; j < s->x.n; j++)
        total[s->y[j]] += v[j * step];
    for (int64_t j = 0; j < s->x.n; j++) {
        const double c = s->own[s->y[j]], o = 0.5 * s->other[s->y[j]];
        v[j * step] =
            sqrt(c + o) * v[j * step] + (sqrt(o) - sqrt(c + o)) * total[s->y[j]] / c;
    }
}

/* Gram Y, n x shared: sums of the columns of a class, of shared classes alone. */
static block class_columns(scope *s, const side *p, small gram)
{
    const int64_t n = gram.rows;
    const block out = block_new(s, HERE(n), n, p->shared);

    for (int64_t c = 0; c < p->shared; c++)
        for (int64_t j = 0; j < n; j++)
            for (int64_t i = 0; p->y[j] == p->cls[c] && i < n; i++)
                ROW(out, i)[c] += AT(gram, i, j);
    return out;
}

/* a <- alpha I + F a F. F works on columns and a is symmetric: F a is done column by column, the result transposed, and
 * done again. */
static void between_roots(scope *s, const side *p, double alpha, small a)
{
    double *total = NEW(s, double, p->k);
    const int64_t n = a.rows;

    for (int pass = 0; pass < 2; pass++) {
        for (int64_t j = 0; j < n; j++)
            times_root(p, a.at + j * n, 1, total);
        for (int64_t j = 0; j < n; j++)
            for (int64_t i = 0; i < j; i++) {
                const double t = AT(a, i, j);
                AT(a, i, j) = AT(a, j, i);
                AT(a, j, i) = t;
            }
    }
    for (int64_t j = 0; j < n; j++)
        AT(a, j, j) += alpha;
}

/* Positive definite, since alpha > 0, unless it is lost in rounding. */
static void factor(scope *s, small a, double alpha)
{
    if (!cholesky(s, a))
        scope_fail(s, FERRY_ENUMERIC, "cdspp: alpha = %g is too small for these features",
                   alpha);
}

/* n <= d. With F = L^1/2 and F 1_k = sqrt(o_k / 2) 1_k the push-through identity gives
 *   B^-1 M = X E,   E = F (alpha I + F X'X F)^-1 Y diag(sqrt(2 / o_k)),   G = (X'X Y)'E. */
static void by_samples(scope *s, const side *p, double alpha)
{
    const int64_t n = p->x.n;
    const small a = outer(s, p->x, NULL);
    const block xxy = class_columns(s, p, a), e = block_new(s, HERE(n), n, p->shared);
    double *total = NEW(s, double, p->k);

    between_roots(s, p, alpha, a);
    for (int64_t c = 0; c < p->shared; c++)
        for (int64_t j = 0; j < n; j++)
            if (p->y[j] == p->cls[c]) ROW(e, j)[c] = sqrt(2 / p->other[p->cls[c]]);
    factor(s, a, alpha);
    cholesky_solve(s, a, e);
    for (int64_t c = 0; c < p->shared; c++)
        times_root(p, e.at + c, p->shared, total);
    gram(s, xxy, e, p->g);
    tmul(s, p->x, e, p->bm);
}

/* M = X Y (d x k): class sums, of all classes: those that the other side lacks hold samples together, too. */
static block class_sums(scope *s, const side *p)
{
    const block m = block_new(s, HERE(p->x.cols), p->x.cols, p->k);

    for (int64_t i = 0; i < p->x.n; i++) {
        const ferry_row r = row_at(p->x, i);
        for (int64_t e = 0; e < r.n; e++)
            ROW(m, r.index ? r.index[e] : e)[p->y[i]] += r.value[e];
    }
    sums(s, p->x.rows, m.n * m.k, m.at);
    return m;
}

/* n > d: B = X L X' + alpha I = X diag(a) X' - M M' + alpha I itself is the smaller matrix. */
static void by_features(scope *s, const side *p, double alpha)
{
    const int64_t d = p->x.cols;
    const block m = class_sums(s, p), shared = block_like(s, p->bm);
    const small mt = {m.k, d, m.at}; /* the same bytes, column-major */
    double *weight = NEW(s, double, p->x.n);

    for (int64_t i = 0; i < p->x.n; i++)
        weight[i] = p->own[p->y[i]] + 0.5 * p->other[p->y[i]];
    const small b = cross(s, p->x, NULL, weight);
    gemm(s, true, false, -1, mt, mt, 1, b);
    for (int64_t j = 0; j < d; j++)
        AT(b, j, j) += alpha;
    for (int64_t i = 0; i < d; i++)
        for (int64_t c = 0; c < p->shared; c++)
            ROW(shared, i)[c] = ROW(p->bm, i)[c] = ROW(m, i)[p->cls[c]];
    factor(s, b, alpha);
    cholesky_solve(s, b, p->bm);
    gram(s, shared, p->bm, p->g);
}

/* bm = B^-1 M and g = M' B^-1 M of one side. O(n d min(n, d) + min(n, d)^3 / 3). */
static void solve_side(scope *s, double alpha, side *p)
{
    const int64_t n = p->x.rows.n, d = p->x.cols, least = n < d ? n : d;

    if (least > MOST)
        scope_fail(
            s, FERRY_ENEEDS,
            "cdspp: %lld labelled rows with %lld features: one of the two may be at most %d",
            (long long)n, (long long)d, (int)MOST);
    p->bm = block_new(s, HERE(d), d, p->shared);
    p->g = small_new(s, p->shared, p->shared);
    const int64_t mark = scope_mark(s);
    if (n > d) {
        by_features(s, p, alpha);
    } else {
        side all = *p;
        all.x = replicate_rows(s, p->x);
        all.y = replicate_items(s, p->x.rows, p->x.n, sizeof *p->y, p->y);
        by_samples(s, &all, alpha);
    }
    for (int64_t i = 0; i < p->g.rows;
         i++) /* equal but for rounding, and eigh wants it exact */
        for (int64_t j = 0; j < i; j++)
            AT(p->g, i, j) = AT(p->g, j, i) = 0.5 * (AT(p->g, i, j) + AT(p->g, j, i));
    scope_release(s, mark);
}

/* ---- both sides ---- */

/* T with G = T'T: rows sqrt(w_i) q_i' of the eigenvectors. Forming G squared the condition number: eigenvalues below
 * 1e-13 of the largest are rounding, whose roots (1e-7) would look like real ones. */
static small root_of(scope *s, small g)
{
    const int64_t k = g.rows;
    const small q = {k, k, COPY(s, g.at, k * k)}, t = small_new(s, k, k);
    const double *w = eigh(s, q);

    for (int64_t i = 0; i < k; i++) {
        const double root = w[i] > 1e-13 * w[k - 1] ? sqrt(w[i]) : 0;
        for (int64_t j = 0; j < k; j++)
            AT(t, i, j) = root * AT(q, j, i);
    }
    return t;
}

/* T' U diag(1 / (s sqrt 2)), k x rank. U is orthonormal, so this is the step from singular vectors to solutions of the
 * eigenproblem: P'(B + alpha I) P = I splits into 1/2 from each side, hence sqrt 2. */
static small mix(scope *s, small t, small u, const double *lambda, int64_t rank)
{
    const small to = small_new(s, t.rows, rank);

    gemm(s, true, false, 1, t, (small){u.rows, rank, u.at}, 0, to);
    for (int64_t c = 0; c < rank; c++)
        for (int64_t i = 0; i < to.rows; i++)
            AT(to, i, c) /= lambda[c] * sqrt(2);
    return to;
}

/* Turn column c of all so that the largest |entry| of pt's is positive: eigenvectors have no sign of their own, and
 * models would differ between machines. */
static void turn(cdspp_spaces *out, int64_t c)
{
    if (!ferry_i_fix_sign(out->pt.n, out->pt.at + c, out->pt.k)) return;
    for (int64_t i = 0; i < out->ps.n; i++)
        ROW(out->ps, i)[c] *= -1;
    for (int64_t i = 0; i < out->r.rows; i++)
        AT(out->r, i, c) *= -1;
}

/* From Gs and Gt (shared x shared) to Ps and Pt: the one place where both sides meet. O(shared^3), and O(d shared rank)
 * for Ps and Pt, however many samples there are. */
static void join(scope *s, const side *from, const side *to, int64_t dims,
                 cdspp_spaces *out)
{
    const int64_t k = from->shared;
    const small ts = root_of(s, from->g), tt = root_of(s, to->g), a = small_new(s, k, k),
                u = small_new(s, k, k), v = small_new(s, k, k);
    ferry_small fa = small_ref(a), fu = small_ref(u), fv = small_ref(v);

    gemm(s, false, true, 1, ts, tt, 0, a);
    scope_check(s, ferry_e(scope_ctx(s))->svd(scope_ctx(s), &fa, &fu, out->lambda, &fv));
    while (out->rank < k && out->lambda[out->rank] > 1e-12 * out->lambda[0])
        out->rank++; /* singular values of rounding size are no dimensions */
    if (dims > 0 && out->rank > dims) out->rank = dims;
    out->ps = block_new(s, from->bm.rows, from->bm.n, out->rank);
    out->pt = block_new(s, to->bm.rows, to->bm.n, out->rank);
    out->r = mix(s, ts, u, out->lambda, out->rank);
    bmul(s, from->bm, mix(s, tt, v, out->lambda, out->rank), out->ps);
    bmul(s, to->bm, out->r, out->pt);
    for (int64_t c = 0; c < out->rank; c++)
        turn(out, c);
}

static double *counts_of(scope *s, matrix x, const int32_t *y, int64_t k)
{
    double *c = NEW(s, double, k);

    for (int64_t i = 0; i < x.n; i++)
        c[y[i]]++;
    sums(s, x.rows, k, c);
    return c;
}

/* Each side by itself, then the small part in which they meet. One side needs of the other only how many samples of
 * each class it has (Ls and Lt): the source's features enter in join() alone, by a matrix of shared x shared numbers. */
cdspp_spaces cdspp_solve(scope *s, const cdspp_problem *p, int64_t dims)
{
    const matrix xs = matrix_borrow(s, (ferry_matrix *)p->s.x),
                 xt = matrix_borrow(s, (ferry_matrix *)p->t.x);
    const double *cs = counts_of(s, xs, p->s.y, p->k), *ct = counts_of(s, xt, p->t.y, p->k);
    cdspp_spaces out = {.lambda = NEW(s, double, p->k), .cls = NEW(s, int32_t, p->k)};

    for (int64_t k = 0; k < p->k; k++)
        if (cs[k] > 0 && ct[k] > 0) out.cls[out.shared++] = (int32_t)k;
    if (out.shared == 0) return out;
    side a = {.x = xs, .y = p->s.y, .k = p->k, .own = cs, .other = ct};
    side b = {.x = xt, .y = p->t.y, .k = p->k, .own = ct, .other = cs};
    a.shared = b.shared = out.shared;
    a.cls = b.cls = out.cls;
    solve_side(s, p->alpha, &a);
    solve_side(s, p->alpha, &b);
    join(s, &a, &b, dims, &out);
    out.gs = a.g;
    out.gt = b.g;
    out.q = b.bm;
    return out;
}
