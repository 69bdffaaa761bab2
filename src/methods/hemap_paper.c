/* hemap-paper: heterogeneous mapping as published.
 *
 * T (N x m) of the target and S (N x n) of the source get projections B_T, B_S (N x k) by
 *
 *   min  |T - B_T P_T|^2 + |S - B_S P_S|^2
 *        + beta/2 (|T - B_S P_T|^2 + |S - B_T P_S|^2),   B_T'B_T = B_S'B_S = I         (5.4)
 *
 * whose solution, with B'B = I for both constraints, B = [B_T; B_S], are the top k eigenvectors of a matrix A (5.8); the
 * nonlinear variant adds clusters C_T, C_S of the rows, weighted by theta (5.11, 5.15). A is never formed while there
 * are fewer features than rows:
 *
 *   A = F F',   F = [ a T  b S  g C_T  0     ]    a = sqrt2 theta,  b = beta / sqrt2,
 *                   [ b T  a S  0      g C_S ]    g = sqrt((1 - theta)(beta + 2 theta))
 *   F'F V = V L  (top k),   B = F V L^-1/2
 *
 * (theta = 1 is the linear problem.) With X = [T S C_T C_S] the Gram matrix F'F is X'X with one coefficient per pair of
 * parts, of size m + n + c_T + c_S whatever N. beta = 2 makes both halves of F equal: B_T = B_S for any data.
 *
 * Algorithms 3 (linear) and 4 (nonlinear) want sets of equal size whose rows correspond, which no task has:
 *
 *   rows      known pairs first, the others in random order (a file's order may tell the labels); the smaller set is
 *             filled up by rows drawn again
 *   clusters  nonlinear: C_T by k-means, C_S by the source's labels
 *   solve     B_T, B_S
 *   places    of a row the mean over its copies; the columns of B_T and of B_S are standardised, each set by itself: the
 *             relaxed constraint B'B = I leaves them at different scales (as_printed: they stay so)
 *   sample    source rows that lie among the target's, or none: too risky (learn/mixed_rows.c)
 *   learn     on the places of both, outputs translated (learn/common_space.c)
 *
 * The text says that the order of instances does not matter. It does: T'S = sum_i t_i s_i' ties row i to row i, and with
 * a random order each eigenvector is nearly a component of one set alone. There is no map for new rows: each gets the
 * place of the nearest that was there.
 *
 * Shi, Heterogeneous Learning and Its Applications, thesis, Chicago 2013, chapter 5; Shi, Liu, Fan, Yu and Zhu, Transfer
 * Learning on Heterogeneous Feature Spaces via Spectral Transformation, ICDM 2010. */
#include <math.h>
#include <string.h>

#include "learn/common_space.h"
#include "learn/eigs.h"
#include "learn/kmeans.h"
#include "learn/mixed_rows.h"
#include "learn/nearest.h"
#include "model/seam.h"

enum { LINEAR, NONLINEAR };
enum { DENSE_UP_TO = 600 }; /* beyond this size a few pairs come cheaper by Lanczos */

typedef struct paper_options {
    int variant, exact, as_printed, sampling, translate;
    int64_t k, clusters, bins;
    double beta, theta;
    space_options space;
    mixing mix;
} paper_options;

static const ferry_opt paper_opts[] = {
    FERRY_OPT_ONE_OF(paper_options, variant, "linear|nonlinear", "linear",
                     "Algorithm 3, or 4 with clusters"),
    FERRY_OPT(paper_options, INT, k, 1, 1, 1e6, "dimensions of the space"),
    FERRY_OPT(paper_options, REAL, beta, 1, 0, 1e6,
              "how alike the two sets should be; 2 makes B_T = B_S"),
    FERRY_OPT(paper_options, REAL, theta, 0.5, 0, 1,
              "nonlinear: weight of features against clusters"),
    FERRY_OPT(paper_options, INT, clusters, 2, 1, 1e6, "nonlinear: clusters of the target"),
    FERRY_OPT(paper_options, INT, bins, 5, 2, 1e6,
              "nonlinear, regress: clusters of the source, by quantiles"),
    FERRY_OPT_YES_NO(paper_options, exact, "no",
                     "B_T'B_T = I and B_S'B_S = I, not only B'B = I"),
    FERRY_OPT_YES_NO(paper_options, as_printed, "no",
                     "B_T and B_S as they are, not each standardised"),
    SPACE_OPTIONS(paper_options),
    FERRY_OPT_YES_NO(paper_options, sampling, "yes",
                     "learn only from source rows that mix with the target's"),
    MIXING_OPTIONS(paper_options),
    FERRY_OPT_YES_NO(paper_options, translate, "yes",
                     "source labels, by what a target learner calls their rows"),
};

typedef struct paper_state {
    int64_t n, dims;
    matrix rows;    /* of the target */
    int64_t *order; /* n: of equally near ones, by their keys */
    block z;        /* n x dims: their places */
    space_model by;
} paper_state;
static const field paper_fields[] = {
    ARRAY(paper_state, MATRIX, rows, .rows = SIZE(paper_state, n), .cols = OF_VIEW(0)),
    ARRAY(paper_state, INTS, order, .rows = SIZE(paper_state, n),
          .below = SIZE(paper_state, n)),
    ARRAY(paper_state, BLOCK, z, .rows = SIZE(paper_state, n),
          .cols = SIZE(paper_state, dims)),
    FIELD_AS(paper_state, STRUCT, by, "", .of = &space_table),
};
static const table paper_table = TABLE(paper_state, paper_fields);

/* ---- (5.4), (5.11): the spectral problem ---- */

typedef struct hemap_problem {
    matrix t, s;        /* equal rows; ft T and fs S are meant */
    matrix ct, cs;      /* 0/1 partitions; m NULL: none */
    double beta, theta; /* linear: theta = 1 */
    double ft, fs;
} hemap_problem;

/* Top pairs of A. A pair whose value is below 1e-12 of the first does not exist: its value and columns are 0. */
typedef struct projections {
    int64_t rank;
    double *value; /* k, descending */
    block bt, bs;  /* N x k */
} projections;

/* The parts of X in the order of their columns. */
enum { T_, S_, CT_, CS_, PARTS };

static int parts_of(const hemap_problem *p, matrix *part)
{
    part[T_] = p->t;
    part[S_] = p->s;
    part[CT_] = p->ct;
    part[CS_] = p->cs;
    return p->ct.m && p->cs.m ? PARTS : CT_;
}

/* Coefficient of a part in the upper (half 0) and lower half of F. */
static double factor_of(const hemap_problem *p, int part, int half)
{
    const double a = sqrt(2) * p->theta, b = p->beta / sqrt(2);
    const double g = sqrt((1 - p->theta) * (p->beta + 2 * p->theta));

    switch (part) {
    case T_: return p->ft * (half == 0 ? a : b);
    case S_: return p->fs * (half == 0 ? b : a);
    case CT_: return half == 0 ? g : 0;
    default: return half == 0 ? 0 : g;
    }
}

/* m + n + c_T + c_S. */
static int64_t columns_of(const hemap_problem *p)
{
    matrix part[PARTS];
    const int n = parts_of(p, part);
    int64_t q = 0;

    for (int i = 0; i < n; i++)
        q += part[i].cols;
    return q;
}

/* A, 2N x 2N: each part X_i adds f_i f_i' (x) X_i X_i', f_i its two coefficients. For few rows. */
static small matrix_a(scope *s, const hemap_problem *p)
{
    const int64_t n = p->t.n;
    matrix part[PARTS];
    const int parts = parts_of(p, part);
    const small a = small_new(s, 2 * n, 2 * n);

    for (int i = 0; i < parts; i++) {
        const double f[] = {factor_of(p, i, 0), factor_of(p, i, 1)};
        const int64_t mark = scope_mark(s);
        const small xx = outer(s, part[i], NULL);
        for (int64_t c = 0; c < 2 * n; c++)
            for (int64_t r = 0; r < 2 * n; r++)
                AT(a, r, c) += f[r >= n] * f[c >= n] * AT(xx, r % n, c % n);
        scope_release(s, mark);
    }
    return a;
}

/* F'F: X'X, every block of it times the product of its coefficients, summed over both halves. */
static small matrix_ff(scope *s, const hemap_problem *p)
{
    matrix part[PARTS];
    const int parts = parts_of(p, part);
    const small g = cross(s, beside(s, parts, part), NULL, NULL);

    for (int64_t c = 0, col = 0; c < parts; col += part[c++].cols)
        for (int64_t r = 0, row = 0; r < parts; row += part[r++].cols) {
            const double f = factor_of(p, (int)r, 0) * factor_of(p, (int)c, 0) +
                             factor_of(p, (int)r, 1) * factor_of(p, (int)c, 1);
            for (int64_t j = 0; j < part[c].cols; j++)
                for (int64_t i = 0; i < part[r].cols; i++)
                    AT(g, row + i, col + j) *= f;
        }
    return g;
}

static void times_matrix(scope *s, void *arg, block u, block y)
{
    mul(s, *(const matrix *)arg, u, y);
}

/* The k largest eigenpairs of a symmetric matrix, which is overwritten: n x k. */
static block largest(scope *s, small a, int64_t k, double *value)
{
    const int64_t n = a.rows;

    if (n > DENSE_UP_TO && k <= n / 10) {
        ferry_matrix as = {
            .rows = n, .cols = n, .nnz = n * n, .dense = a.at, .refs = 1}; /* symmetric */
        matrix x = {HERE(n), n, n, &as};
        return largest_by_products(s, n, times_matrix, &x, k, value);
    }
    const double *w = eigh(s, a);
    const block v = block_new(s, HERE(n), n, k);
    for (int64_t j = 0; j < k; j++) {
        value[j] = w[n - 1 - j];
        for (int64_t i = 0; i < n; i++)
            ROW(v, i)[j] = AT(a, i, n - 1 - j);
    }
    return v;
}

/* Rows [at, at + n) of v. */
static block slice(block v, int64_t at, int64_t n)
{
    return (block){HERE(n), n, v.k, ROW(v, at)};
}

/* bt, bs <- the halves of F V. */
static void times_f(scope *s, const hemap_problem *p, block v, block bt, block bs)
{
    matrix part[PARTS];
    const int parts = parts_of(p, part);
    const block xv = block_like(s, bt);

    for (int64_t i = 0, at = 0; i < parts; at += part[i++].cols) {
        mul(s, part[i], slice(v, at, part[i].cols), xv);
        axpby(s, factor_of(p, (int)i, 0), xv, i > 0, bt);
        axpby(s, factor_of(p, (int)i, 1), xv, i > 0, bs);
    }
}

/* F'B: what belongs to the parts lies one below the other. */
static block times_f_transposed(scope *s, const hemap_problem *p, block bt, block bs)
{
    matrix part[PARTS];
    const int parts = parts_of(p, part);
    const block v = block_new(s, HERE(columns_of(p)), columns_of(p), bt.k);
    const block half = block_like(s, bt);

    for (int64_t i = 0, at = 0; i < parts; at += part[i++].cols) {
        copy(bt, half);
        axpby(s, factor_of(p, (int)i, 1), bs, factor_of(p, (int)i, 0), half);
        tmul(s, part[i], half, slice(v, at, part[i].cols));
    }
    return v;
}

static bool exists(const double *value, int64_t j)
{
    return value[j] > 0 && value[j] >= 1e-12 * value[0];
}

/* On the smaller side of F: B = F V L^-1/2, or A's own vectors where it is the smaller matrix. O(N q^2 + q^3), q columns
 * of F, or O(N^2 q + N^3). */
static projections spectral(scope *s, const hemap_problem *p, int64_t k)
{
    const int64_t n = p->t.n, q = columns_of(p), have = q < 2 * n ? q : 2 * n,
                  some = k < have ? k : have;
    const bool by_rows = q > 2 * n;
    projections out = {.value = NEW(s, double, k),
                       .bt = block_new(s, HERE(n), n, k),
                       .bs = block_new(s, HERE(n), n, k)};
    const int64_t mark = scope_mark(s);
    const block v = largest(s, by_rows ? matrix_a(s, p) : matrix_ff(s, p), some, out.value);
    const block bt = block_new(s, HERE(n), n, some), bs = block_like(s, bt);

    if (by_rows) {
        copy(slice(v, 0, n), bt);
        copy(slice(v, n, n), bs);
    } else {
        times_f(s, p, v, bt, bs);
    }
    for (int64_t j = 0; j < some; j++) {
        if (!exists(out.value, j)) {
            out.value[j] = 0;
            continue;
        }
        out.rank++;
        const double f = by_rows ? 1 : 1 / sqrt(out.value[j]);
        for (int64_t i = 0; i < n; i++) {
            ROW(out.bt, i)[j] = f * ROW(bt, i)[j];
            ROW(out.bs, i)[j] = f * ROW(bs, i)[j];
        }
    }
    scope_release(s, mark);
    return out;
}

/* b <- the nearest matrix with orthonormal columns: U V' of its singular vectors. A block's bytes are its transpose,
 * column-major. */
static void polar(scope *s, block b)
{
    ferry_ctx *ctx = scope_ctx(s);
    const int64_t mark = scope_mark(s), r = b.k < b.n ? b.k : b.n;
    ferry_small all = {.rows = b.k, .cols = b.n, .data = b.at};
    ferry_small u = small_ref(small_new(s, b.k, r)), v = small_ref(small_new(s, b.n, r));
    double *value = NEW(s, double, r);

    scope_check(s, ferry_e(ctx)->svd(ctx, &all, &u, value, &v));
    ferry_e(ctx)->gemm(ctx, false, true, 1, &u, &v, 0, &all);
    scope_release(s, mark);
}

/* The constraint as it stands, B_T'B_T = I and B_S'B_S = I, by polar steps on each half from where bt and bs stand
 * (k <= N); tr(B'AB). With the other half fixed it is at least linear in one half (A is positive semidefinite), and
 * a linear function of an orthonormal B_T is largest at the polar factor of its gradient, the upper half of A B: each
 * half step makes it grow, and the test of its growth ends the loop. */
static double exactly(scope *s, const hemap_problem *p, int64_t max_iter, double tol,
                      block bt, block bs)
{
    const block at = block_like(s, bt), as = block_like(s, bs);
    double trace = 0, before = -1;

    polar(s, bt);
    polar(s, bs);
    for (int64_t i = 0; i < max_iter; i++) {
        const int64_t mark = scope_mark(s);
        for (int half = 0; half < 2; half++) {
            times_f(s, p, times_f_transposed(s, p, bt, bs), at, as);
            copy(half == 0 ? at : as, half == 0 ? bt : bs);
            polar(s, half == 0 ? bt : bs);
        }
        trace = square_sum(s, times_f_transposed(s, p, bt, bs));
        scope_release(s, mark);
        if (trace - before <= tol * trace) break;
        before = trace;
    }
    return trace;
}

/* With P_T, P_S at their best only tr(B'AB) of G depends on B:
 *
 *   G = (theta + beta/2)(|T|^2 + |S|^2) + (1 - theta)(|C_T|^2 + |C_S|^2) - tr(B'AB) / (2 theta + beta)
 *
 * the text leaves out the trace in (5.9) and the constant of the clusters. */
static double objective(scope *s, const hemap_problem *p, double trace)
{
    double g = (p->theta + p->beta / 2) *
               (p->ft * p->ft * norm2(s, p->t) + p->fs * p->fs * norm2(s, p->s));

    if (p->ct.m && p->cs.m) g += (1 - p->theta) * (norm2(s, p->ct) + norm2(s, p->cs));
    return g - trace / (2 * p->theta + p->beta);
}

/* ---- rows that correspond ---- */

/* The task as the algorithm wants it: row i of one order is tied to row i of the other. */
typedef struct ordered {
    int64_t n, *t, *s;
} ordered;

/* n rows: those of the pairs, the others shuffled, then drawn again up to `total`. A row drawn again is tied to a
 * second row of the other set. */
static int64_t *order_rows(scope *s, const domain *d, int64_t pairs, const int64_t *first,
                           int64_t total, ferry_rng *rng)
{
    int64_t *order = NEW(s, int64_t, total), at = 0;
    const int64_t mark = scope_mark(s), *by_key = rows_by_key(s, d->n, d->key);
    uint8_t *used = NEW(s, uint8_t, d->n);

    for (; at < pairs; at++) {
        order[at] = first[at];
        used[first[at]] = 1;
    }
    for (int64_t i = 0; i < d->n; i++)
        if (!used[by_key[i]]) order[at++] = by_key[i];
    shuffle(rng, at - pairs, order + pairs);
    for (; at < total; at++)
        order[at] = by_key[ferry_i_rng_below(rng, (uint64_t)d->n)];
    scope_release(s, mark);
    return order;
}

/* Rows that an order must have: all of them, and those in several pairs once for each. */
static int64_t least_rows(scope *s, int64_t n, int64_t pairs, const int64_t *first)
{
    uint8_t *used = NEW(s, uint8_t, n);
    int64_t more = 0;

    for (int64_t i = 0; i < pairs; i++) {
        more += used[first[i]];
        used[first[i]] = 1;
    }
    return n + more;
}

static ordered order_both(scope *s, const problem *p)
{
    const domain *from = &p->d[0], *to = target(p);
    ferry_rng *rng = scope_rng(s, "hemap rows");
    const int64_t a = least_rows(s, to->n, p->n_pairs, p->in_target),
                  b = least_rows(s, from->n, p->n_pairs, p->in_source);
    ordered o = {.n = a > b ? a : b};

    o.t = order_rows(s, to, p->n_pairs, p->in_target, o.n, rng);
    o.s = order_rows(s, from, p->n_pairs, p->in_source, o.n, rng);
    return o;
}

/* ---- clusters ---- */

/* 0/1 matrix of the groups of the rows in their order; -1: a row of zeros. */
static matrix partition(scope *s, int64_t n, const int64_t *order, const int32_t *group,
                        int64_t g)
{
    const matrix c = matrix_dense(s, HERE(n), n, g);

    for (int64_t i = 0; i < n; i++)
        if (group[order[i]] >= 0) c.m->dense[i * g + group[order[i]]] = 1;
    return c;
}

/* C_T by k-means; copies take the cluster of their row. */
static matrix cluster_target(scope *s, const paper_options *o, const domain *d,
                             const ordered *of)
{
    const matrix x = d->view[0].x;
    const int64_t g = o->clusters < d->n ? o->clusters : d->n,
                  *by_key = rows_by_key(s, d->n, d->key);
    const kmeans_options how = {.k = g, .restarts = 10, .max_iter = 100};
    int32_t *group = NEW(s, int32_t, d->n), *found = NEW(s, int32_t, d->n);

    if (!x.m->dense && (double)x.n * (double)x.cols > 1e8)
        scope_fail(s, FERRY_ENEEDS,
                   "hemap-paper variant=nonlinear clusters dense features; %lld x %lld is "
                   "too large",
                   (long long)x.n, (long long)x.cols);
    const matrix rows = to_dense(s, take_rows(s, x, d->n, by_key, false));
    (void)kmeans(s, rows, &how, scope_rng(s, "hemap clusters"), found, NULL);
    for (int64_t i = 0; i < d->n; i++)
        group[by_key[i]] = found[i];
    return partition(s, of->n, of->t, group, g);
}

/* C_S by labels: classes, or quantiles of a number. Rows without a label are in no cluster. */
static matrix cluster_source(scope *s, const paper_options *o, const domain *d,
                             const ordered *of)
{
    const int64_t g = o->bins < d->labelled ? o->bins : d->labelled;

    if (!d->y.num) return partition(s, of->n, of->s, d->y.cls, d->y.k > 0 ? d->y.k : 1);
    return partition(s, of->n, of->s, quantile_groups(s, d->n, d->y.num, d->key, g),
                     g > 0 ? g : 1);
}

/* ---- places ---- */

/* z, which is zeroed, <- the mean over the copies of each row; standardised: columns to mean 0 and deviation 1. */
static void put_places(scope *s, block b, const int64_t *order, bool standardise, block z)
{
    const int64_t n = z.n, k = z.k;
    double *count = NEW(s, double, n);

    for (int64_t i = 0; i < b.n; i++) {
        count[order[i]]++;
        for (int64_t j = 0; j < k; j++)
            ROW(z, order[i])[j] += ROW(b, i)[j];
    }
    for (int64_t j = 0; j < k; j++) {
        double mean = 0, square = 0;
        for (int64_t i = 0; i < n; i++) {
            ROW(z, i)[j] /= count[i];
            mean += ROW(z, i)[j] / (double)n;
        }
        for (int64_t i = 0; standardise && i < n; i++) {
            const double x = ROW(z, i)[j] -= mean;
            square += x * x / (double)n;
        }
        for (int64_t i = 0; standardise && i < n; i++)
            ROW(z, i)[j] = square > 0 ? ROW(z, i)[j] / sqrt(square) : 0;
    }
}

/* Prepared features that were centred have rows of mean squared length 1; the published problem weighs them (theta)
 * against 0/1 clusters as columns of unit deviation, so they get that length back. Columns that do not vary are 0. */
static double unit_deviation(scope *s, const domain *d)
{
    const matrix x = d->view[0].x;
    const uint8_t *used = columns_used(s, x);
    double n = 0;

    for (int64_t j = 0; j < x.cols; j++)
        n += used[j];
    return d->view[0].centred ? sqrt(n) : 1;
}

/* Algorithm 3 or 4: the places of both sets. */
static void embed_both(scope *s, const paper_options *o, const problem *p, placed *from,
                       placed *to, double *g)
{
    const domain *ds = &p->d[0], *dt = target(p);
    const int64_t rows = dt->n + ds->n, most_k = o->k < rows ? o->k : rows;
    block zt = block_new(s, HERE(dt->n), dt->n, most_k),
          zs = block_new(s, HERE(ds->n), ds->n, most_k);
    const int64_t mark = scope_mark(s);
    const ordered of = order_both(s, p);
    hemap_problem a = {.t = take_rows(s, dt->view[0].x, of.n, of.t, false),
                       .s = take_rows(s, ds->view[0].x, of.n, of.s, false),
                       .beta = o->beta,
                       .theta = o->variant == NONLINEAR ? o->theta : 1,
                       .ft = unit_deviation(s, dt),
                       .fs = unit_deviation(s, ds)};
    double trace = 0;

    if (o->variant == NONLINEAR) {
        a.ct = cluster_target(s, o, dt, &of);
        a.cs = cluster_source(s, o, ds, &of);
    }
    const int64_t k = most_k < of.n ? most_k : of.n;
    const projections b = spectral(s, &a, k);
    if (b.rank == 0)
        scope_fail(s, FERRY_EDATA,
                   "hemap-paper: all features of source and target are constant");
    for (int64_t j = 0; j < b.rank; j++)
        trace += b.value[j]; /* of eigenvectors tr(B'AB) is the sum of their values */
    if (o->exact && b.rank == k) trace = exactly(s, &a, 500, 1e-10, b.bt, b.bs);
    *g = objective(s, &a, trace);
    report_real(s, "dimensions", (double)b.rank);
    report_reals(s, "eigenvalues", b.rank, b.value);
    zt.k = zs.k = b.rank;
    put_places(s, b.bt, of.t, !o->as_printed, zt);
    put_places(s, b.bs, of.s, !o->as_printed, zs);
    scope_release(s, mark);
    *to = placed_rows(s, dt, zt);
    *from = placed_rows(s, ds, zs);
}

static void report_ties(scope *s, const paper_options *o, const problem *p)
{
    static const char *const names[] = {"linear", "nonlinear"};

    report_text(s, "variant", names[o->variant]);
    report_text(s, "tied_by", p->n_pairs > 0 ? "row pairs" : "row order");
    if (p->n_pairs > 0) report_real(s, "ties", (double)p->n_pairs);
}

static void warn_of_order(scope *s, const problem *p)
{
    if (p->n_pairs > 0)
        warn(s, "rows beyond the pairs are tied by a random order, which decides the "
                "result");
    else
        warn(s, "row i of the source is tied to row i of the target: that pairing, here "
                "random, decides the result");
}

/* ---- learning ---- */

/* Hides the labels of source rows that do not mix with the target's. False: too risky, the source is not used. */
static bool sample(scope *s, const paper_options *o, placed *from, const placed *to)
{
    static const char *const keys[] = {"clusters", "kept", "kl", "kl_printed"};
    const mixed m = mixed_rows(s, to->z, from->z, &o->mix);
    const double values[] = {(double)m.clusters, (double)m.kept / (double)from->z.n, m.kl,
                             m.kl_printed};
    const char *why = NULL;

    report_named(s, "selection", 4, keys, values);
    from->y = known_labels_of(s, from->z.n, &from->y, m.keep);
    if (!m.risky) return true;
    if (m.kept == 0)
        why = "too risky: no source rows mix with the target's; not used";
    else
        why = scope_text(
            s, "too risky: source and target differ by %.3g, more than %.3g; not used",
            o->mix.divergence == 1 ? m.kl_printed : m.kl, o->mix.risk);
    report_text(s, "refused", why);
    warn(s, "%s", why);
    return false;
}

static void learn_both(scope *s, scope *keep, const paper_options *o, const domain *t,
                       placed *from, placed *to, space_model *m)
{
    double line[2];

    if (t->labelled > 0) {
        domain own = *t;
        own.x = t->view[0].x;
        const examples e = labelled_rows(s, &own);
        m->own = learn_own(s, keep, &o->space, &e);
    }
    if ((!o->sampling || sample(s, o, from, to)) &&
        learn_mapped(s, keep, &o->space, from, to, o->translate, m, line)) {
        m->gamma = 1;
        if (o->translate && to->y.num) report_reals(s, "translation", 2, line);
    }
    report_real(s, "gamma", m->gamma);
}

static void paper_fit(scope *s, scope *keep, const problem *p, const void *options,
                      void *state)
{
    const paper_options *o = options;
    const domain *t = target(p);
    const int64_t *by_key = rows_by_key(s, t->n, t->key);
    paper_state *m = state;
    placed from, to;
    double g = NAN;

    if (p->d[0].n == 0 || t->n == 0)
        scope_fail(s, FERRY_ENEEDS,
                   "hemap-paper needs instances in source '%s' and target '%s'",
                   p->d[0].name, t->name);
    report_ties(s, o, p);
    embed_both(s, o, p, &from, &to, &g);
    report_places(s, &from, &to);
    m->n = t->n;
    m->dims = to.z.k;
    m->rows = matrix_keep(keep, t->view[0].x);
    m->order = NEW(keep, int64_t, m->n);
    for (int64_t i = 0; i < m->n; i++)
        m->order[by_key[i]] = i;
    m->z = block_copy(keep, to.z);
    if (p->goal != FERRY_EMBED) learn_both(s, keep, o, t, &from, &to, &m->by);
    if (p->goal == FERRY_EMBED || m->by.gamma > 0) warn_of_order(s, p);
    const bool finish = progress(s, "hemap-paper", 1, 1, g);
    report_fit(s, 1, g, finish ? FERRY_STOP_FINISH : FERRY_STOP_DONE);
}

/* ---- new rows ---- */

static block paper_embed(scope *s, const void *state, const domain *d)
{
    const paper_state *m = state;
    const block z = block_new(s, d->rows, d->n, m->dims);
    int64_t *index = NEW(s, int64_t, d->n);
    double *dist = NEW(s, double, d->n);

    nearest(s, m->rows, d->view[0].x, 1, FERRY_EUCLIDEAN, m->order, index, dist);
    for (int64_t i = 0; i < d->n; i++)
        memcpy(ROW(z, i), ROW(m->z, index[i]), (size_t)m->dims * sizeof(double));
    return z;
}

static void paper_scores(scope *s, const void *state, const domain *d, block out)
{
    const paper_state *m = state;
    const matrix none = {.m = NULL};
    const matrix z = m->by.gamma > 0 ? matrix_of(s, paper_embed(s, state, d)) : none;

    space_scores(s, &m->by, d, z, out);
}

static void paper_fits(scope *s, const problem *shape, const void *options)
{
    const paper_options *o = options;
    const domain *from = &shape->d[0], *to = target(shape);

    if (shape->n_sources != 1)
        scope_fail(s, FERRY_ENEEDS, "hemap-paper maps one source; this task has %d",
                   shape->n_sources);
    if (shape->goal != FERRY_EMBED && from->labelled == 0 && to->labelled == 0)
        scope_fail(s, FERRY_ENEEDS,
                   "hemap-paper needs labels in source '%s' or target '%s'", from->name,
                   to->name);
    space_fits(s, "hemap-paper", &o->space, shape->goal);
}

const method method_hemap_paper = {
    .name = "hemap-paper",
    .summary = "heterogeneous mapping as published",
    .reference =
        "Shi et al., Transfer Learning on Heterogeneous Feature Spaces via Spectral "
        "Transformation, ICDM 2010",
    .kind = FERRY_KIND_TRANSFER,
    .asked = true,
    .goals = FERRY_CLASSIFY | FERRY_REGRESS | FERRY_EMBED,
    .needs = FERRY_NEED_SOURCE | FERRY_NEED_ONE_VIEW,
    .wants = {.as = VIEWS_APART,
              .domains = WANT_SOURCES | WANT_TARGET,
              .pairs = true,
              .keeps = true},
    METHOD_OPTIONS(paper_opts, paper_options),
    .state = &paper_table,
    .whole = true,
    .fits = paper_fits,
    .fit = paper_fit,
    .scores = paper_scores,
    .embed = paper_embed,
};
