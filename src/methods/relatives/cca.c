/* cca, kcca: a common space from pairs by canonical correlations, and one learner in it. What a method that is given pairs
 * has to beat.
 *
 * The pairs are rows of the source and the target that are the same thing (`pairs:`), or the instances of intermediate
 * domains that have features of both sides. With X and Y the two sides of the n pairs less their means (kcca: their
 * images under exp(-gamma |x - y|^2), 1 / gamma `width` times the median of |x - y|^2), in their principal axes, where
 * L_X = X'X / n and L_Y = Y'Y / n are diagonal,
 *
 *   U diag(corr) W' = svd((L_Y + r_Y)^-1/2 (Y'X / n) (L_X + r_X)^-1/2),  r: `ridge` times the mean eigenvalue
 *
 * A side's row x goes to (L + r)^-1/2 U on its axes, each dimension with deviation corr over the pairs. The labelled
 * rows of the sources, and of the target, train a learner there.
 *
 * Hotelling, Relations between Two Sets of Variates, Biometrika 1936; Hardoon, Szedmak and Shawe-Taylor, Canonical
 * Correlation Analysis: An Overview with Application to Learning Methods, Neural Computation 2004. */
#include <math.h>
#include <string.h>

#include "learn/cca.h"
#include "learn/chain.h"
#include "learn/kernel.h"
#include "learn/pca.h"
#include "prepare/problem.h"

/* Of the smaller side of an eigenproblem; pairs of a kernel, evenly taken. */
enum { LARGEST = 8000, MOST_PAIRS = 2000 };
enum { KNN, LOGREG, RIDGE, SVM };

typedef struct cca_options {
    int64_t k, neighbours;
    double ridge, width, C, lambda;
    int learner, rows;
} cca_options;

#define CCA_OPTIONS                                                                        \
    FERRY_OPT(cca_options, INT, k, 30, 1, 1e6, "dimensions of the space, at most"),        \
        FERRY_OPT(cca_options, REAL, ridge, 0.1, 1e-12, 1e6,                               \
                  "added to the covariances, times their mean eigenvalue"),                \
        FERRY_OPT_ONE_OF(cca_options, learner, "knn|logreg|ridge|svm", "logreg",           \
                         "learner in the space"),                                          \
        FERRY_OPT(cca_options, INT, neighbours, 10, 1, 1e6, "knn: neighbours that vote"),  \
        FERRY_OPT(cca_options, REAL, C, 3, 1e-9, 1e9, "logreg, svm: cost of errors"),      \
        FERRY_OPT(cca_options, REAL, lambda, 1, 1e-12, 1e12, "ridge: weight of |W|^2"),    \
        FERRY_OPT_ONE_OF(cca_options, rows, "both|source", "both",                         \
                         "labelled rows that it learns from")

static const ferry_opt cca_opts[] = {CCA_OPTIONS};
static const ferry_opt kcca_opts[] = {
    CCA_OPTIONS,
    FERRY_OPT(cca_options, REAL, width, 1, 1e-6, 1e6,
              "of the kernel, times the median squared distance of the pairs"),
};

/* z = X a + b on the target's columns, or of the kernel with the rows x. */
typedef struct cca_state {
    int64_t dims, pairs;
    double gamma;
    matrix x;
    block a;
    double *b; /* dims */
    learned by;
} cca_state;
static const field cca_fields[] = {
    ARRAY(cca_state, BLOCK, a, .rows = WIDTH, .cols = SIZE(cca_state, dims)),
    ARRAY(cca_state, REALS, b, .rows = SIZE(cca_state, dims)),
    ARRAY(cca_state, VARIANT, by, .among = &learners),
};
static const field kcca_fields[] = {
    VALUE(cca_state, REAL, gamma),
    ARRAY(cca_state, MATRIX, x, .rows = SIZE(cca_state, pairs), .cols = WIDTH),
    ARRAY(cca_state, BLOCK, a, .rows = SIZE(cca_state, pairs),
          .cols = SIZE(cca_state, dims)),
    ARRAY(cca_state, REALS, b, .rows = SIZE(cca_state, dims)),
    ARRAY(cca_state, VARIANT, by, .among = &learners),
};
static void cca_check(scope *s, const void *state)
{
    const cca_state *m = state;

    if (!m->by.by) scope_fail(s, FERRY_EDATA, "the learner in the space is missing");
}
static void kcca_check(scope *s, const void *state)
{
    cca_check(s, state);
    if (!(((const cca_state *)state)->gamma > 0))
        scope_fail(s, FERRY_EDATA, "gamma is %g", ((const cca_state *)state)->gamma);
}
static const table cca_table = {sizeof(cca_state), cca_fields, FERRY_COUNT(cca_fields),
                                cca_check, NULL};
static const table kcca_table = {sizeof(cca_state), kcca_fields, FERRY_COUNT(kcca_fields),
                                 kcca_check, NULL};

/* ---- pairs ---- */

enum { SOURCE, TARGET };
typedef struct paired {
    int64_t n;
    uint8_t *keep[2]; /* columns of either side that pairs have */
    matrix x[2];      /* n x all columns, row by row the same thing */
} paired;

static bool has_any(matrix x, int64_t i, const uint8_t *columns)
{
    const ferry_row r = row_at(x, i);

    for (int64_t e = 0; e < r.n; e++)
        if (r.value[e] != 0 && columns[r.index ? r.index[e] : e]) return true;
    return false;
}

/* Columns that domain `of` has, among those of all sources, or of the target. */
static uint8_t *side_columns(scope *s, const problem *p, int of, int side, int64_t *n)
{
    uint8_t *keep = NEW(s, uint8_t, p->cols);
    const int from = side == SOURCE ? 0 : p->n - 1,
              to = side == SOURCE ? p->n_sources : p->n;

    *n = 0;
    for (int64_t j = 0; j < p->cols; j++) {
        for (int i = from; i < to; i++)
            keep[j] = keep[j] || (p->has[i][j] && p->has[of][j]);
        *n += keep[j];
    }
    return keep;
}

static paired given_pairs(scope *s, const problem *p)
{
    const int64_t n = p->n_pairs;
    const domain *t = target(p);
    uint64_t *key = NEW(s, uint64_t, n);
    int64_t *at[2] = {NEW(s, int64_t, n), NEW(s, int64_t, n)}, cols = 0;
    paired to = {.n = n};

    for (int64_t i = 0; i < n; i++)
        key[i] = t->key[p->in_target[i]] ^ (p->d[0].key[p->in_source[i]] << 1);
    const int64_t *order = rows_by_key(s, n, key);
    for (int64_t i = 0; i < n; i++) {
        at[SOURCE][i] = p->in_source[order[i]];
        at[TARGET][i] = p->in_target[order[i]];
    }
    to.keep[SOURCE] = side_columns(s, p, 0, SOURCE, &cols);
    to.keep[TARGET] = side_columns(s, p, p->n - 1, TARGET, &cols);
    to.x[SOURCE] = take_rows(s, p->d[0].x, n, at[SOURCE], false);
    to.x[TARGET] = take_rows(s, t->x, n, at[TARGET], false);
    return to;
}

/* Instances of intermediate domains with features of both sides. */
static paired bridge_pairs(scope *s, const problem *p)
{
    paired to = {.keep = {NEW(s, uint8_t, p->cols), NEW(s, uint8_t, p->cols)}};
    matrix *part = NEW(s, matrix, p->n);
    int64_t parts = 0;

    for (int i = p->n_sources; i < p->n - 1; i++) {
        const domain *d = &p->d[i];
        int64_t *rows = rows_by_key(s, d->n, d->key), n = 0, cols[2];
        uint8_t *keep[2];
        for (int side = SOURCE; side <= TARGET; side++)
            keep[side] = side_columns(s, p, i, side, &cols[side]);
        if (cols[SOURCE] == 0 || cols[TARGET] == 0) continue;
        for (int64_t r = 0; r < d->n; r++)
            if (has_any(d->x, rows[r], keep[SOURCE]) &&
                has_any(d->x, rows[r], keep[TARGET]))
                rows[n++] = rows[r];
        if (n == 0) continue;
        for (int side = SOURCE; side <= TARGET; side++)
            for (int64_t j = 0; j < p->cols; j++)
                to.keep[side][j] |= keep[side][j];
        part[parts++] = take_rows(s, d->x, n, rows, false);
        to.n += n;
    }
    if (parts > 0) to.x[SOURCE] = to.x[TARGET] = stack(s, parts, part);
    return to;
}

/* ---- one side ---- */

typedef struct side {
    pca of;         /* linear */
    matrix x;       /* kernel: the pairs' rows ... */
    double gamma;   /* 0: linear */
    double *middle; /* ... and the mean of each one's kernel with all */
    block y;        /* n x q: the pairs on their axes */
    double *l;      /* q: variances there, descending */
    double ridge;
    /* the map: z = x a + b */
    block a;
    double *b;
} side;

static side linear_side(scope *s, const char *name, matrix x, double ridge)
{
    const int64_t smaller = x.n < x.cols ? x.n : x.cols;
    double all = 0;

    if (smaller > LARGEST)
        scope_fail(s, FERRY_ENEEDS,
                   "%s can take %d pairs or features; these are %lld x %lld", name,
                   (int)LARGEST, (long long)x.n, (long long)x.cols);
    side to = {.of = pca_all(s, x)};
    to.y = to.of.z;
    to.l = to.of.value;
    for (int64_t j = 0; j < to.y.k; j++)
        all += to.l[j] /= (double)x.n;
    to.ridge = to.y.k > 0 ? ridge * all / (double)to.y.k : 0;
    return to;
}

/* K less the means of its rows and columns = Y Y'. */
static side kernel_side(scope *s, matrix x, const cca_options *o)
{
    const small k = squared_distances(s, x);
    const int64_t n = x.n;
    side to = {.x = x, .middle = NEW(s, double, n)};
    double all = 0, trace = 0;
    int64_t q = 0;

    to.gamma = kernel_gamma(s, k) / o->width;
    for (int64_t e = 0; e < n * n; e++)
        k.at[e] = exp(-to.gamma * k.at[e]);
    for (int64_t j = 0; j < n; j++) {
        for (int64_t i = 0; i < n; i++)
            to.middle[j] += AT(k, i, j) / (double)n;
        all += to.middle[j] / (double)n;
    }
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++)
            AT(k, i, j) += all - to.middle[i] - to.middle[j];
    for (int64_t j = 0; j < n; j++)
        trace += AT(k, j, j);
    const double *w = eigh(s, k);
    while (q < n && w[n - 1 - q] > 1e-10 * w[n - 1])
        q++;
    to.y = block_new(s, HERE(n), n, q);
    to.l = NEW(s, double, q);
    for (int64_t j = 0; j < q; j++) {
        to.l[j] = w[n - 1 - j] / (double)n;
        for (int64_t i = 0; i < n; i++)
            ROW(to.y, i)[j] = AT(k, i, n - 1 - j) * sqrt(w[n - 1 - j]);
    }
    to.ridge = o->ridge * trace / (double)n / (double)n;
    return to;
}

/* The map of the first k columns of w, with deviations corr over the pairs. */
static void set_map(scope *s, side *of, small w, int64_t k, const double *corr)
{
    const int64_t q = of->y.k;

    w.cols = k;
    for (int64_t j = 0; j < k; j++) {
        double variance = 0;
        for (int64_t i = 0; i < q; i++)
            variance += of->l[i] * AT(w, i, j) * AT(w, i, j);
        for (int64_t i = 0; i < q; i++)
            AT(w, i, j) *= variance > 0 ? corr[j] / sqrt(variance) : 0;
    }
    of->b = NEW(s, double, k);
    const double *mean = of->gamma > 0 ? of->middle : of->of.mean;
    if (of->gamma > 0) {
        for (int64_t j = 0; j < k; j++)
            for (int64_t i = 0; i < q; i++)
                AT(w, i, j) /= of->l[i] * (double)of->y.n;
        of->a = block_new(s, HERE(of->y.n), of->y.n, k);
        bmul(s, of->y, w, of->a);
    } else {
        of->a = block_new(s, HERE(of->of.v.n), of->of.v.n, k);
        bmul(s, of->of.v, w, of->a);
    }
    for (int64_t i = 0; i < of->a.n; i++)
        for (int64_t j = 0; j < k; j++)
            of->b[j] -= mean[i] * ROW(of->a, i)[j];
}

static block place(scope *s, double gamma, matrix pairs, block a, const double *b, matrix x)
{
    const block z = block_new(s, x.rows, x.n, a.k);

    if (gamma > 0)
        kernel_mul(s, gamma, pairs, x, a, z);
    else
        mul(s, x, a, z);
    for (int64_t i = 0; i < z.n; i++)
        for (int64_t j = 0; j < z.k; j++)
            ROW(z, i)[j] += b[j];
    return z;
}

/* ---- all of it ---- */

/* Both maps; how many dimensions. */
static int64_t solve(scope *s, const char *name, const cca_options *o, side *x, side *y)
{
    const int64_t m = y->y.k, n = x->y.k, q = m < n ? m : n, most = o->k < q ? o->k : q;
    const small c = small_new(s, m, n), wt = small_new(s, m, most),
                ws = small_new(s, n, most);
    const double r[] = {y->ridge, x->ridge};
    double *corr = NEW(s, double, most + 1);
    int64_t k = 0;

    if (q > 0) {
        gram(s, y->y, x->y, c);
        for (int64_t e = 0; e < m * n; e++)
            c.at[e] /= (double)y->y.n;
        cca_solve(s, y->l, x->l, r, c, most, corr, wt, ws);
    }
    while (k < most && corr[k] > 0 && corr[k] >= 1e-10 * corr[0])
        k++;
    if (k == 0)
        scope_fail(s, FERRY_ENEEDS, "%s: the two sides of the pairs have nothing in common",
                   name);
    set_map(s, x, ws, k, corr);
    set_map(s, y, wt, k, corr);
    report_real(s, "dimensions", (double)k);
    report_reals(s, "correlations", k, corr);
    return k;
}

static learned train(scope *s, scope *keep, const cca_options *o, const problem *p,
                     const uint8_t *const *columns, const side *x, const side *y)
{
    static const char *const names[] = {"knn", "logreg", "ridge", "svm"};
    const learner *by = learner_find(names[o->learner]);
    void *with = learner_defaults(s, by);
    examples *e = NEW(s, examples, p->n);
    int64_t n = 0;

    learner_set(by, with, "k", (double)o->neighbours);
    learner_set(by, with, "C", o->C);
    learner_set(by, with, "lambda", o->lambda);
    for (int i = 0; i < p->n; i++) {
        const domain *d = &p->d[i];
        const bool last = i == p->n - 1;
        const side *at = last ? y : x;
        if (d->labelled == 0 || (!last && i >= p->n_sources) ||
            (last && o->rows == 1 /* source */))
            continue;
        examples of = labelled_rows(s, d);
        const matrix cut = take_columns(s, of.x, columns[last], false);
        of.x = matrix_of(s, place(s, at->gamma, at->x, at->a, at->b, cut));
        e[n++] = of;
    }
    const examples all = stack_examples(s, n, e);
    return learn(s, keep, by, with, &all);
}

/* In the columns of new data: x's columns are those of keep. */
static void keep_map(scope *s, scope *keep, const problem *p, const uint8_t *columns,
                     matrix pairs, const side *y, cca_state *m)
{
    int64_t *at = NEW(s, int64_t, p->cols), next = 0;

    m->gamma = y->gamma;
    m->dims = y->a.k;
    m->b = COPY(keep, y->b, m->dims);
    if (m->gamma > 0) {
        const matrix x = target_columns(s, p, pairs, -1, NULL, columns);
        m->x = matrix_own(keep, ferry_i_matrix_ref(x.m));
        m->pairs = m->x.n;
        m->a = block_copy(keep, y->a);
        return;
    }
    for (int64_t j = 0; j < p->cols; j++)
        at[j] = columns[j] ? next++ : -1;
    m->a = block_new(keep, HERE(p->width), p->width, m->dims);
    for (int64_t j = 0; j < p->width; j++)
        if (at[p->target_column[j]] >= 0)
            memcpy(ROW(m->a, j), ROW(y->a, at[p->target_column[j]]),
                   (size_t)m->dims * sizeof(double));
}

static void fit(scope *s, scope *keep, const problem *p, const char *name, bool kernel,
                const cca_options *o, cca_state *m)
{
    paired pairs = p->paired ? given_pairs(s, p) : bridge_pairs(s, p);

    if (pairs.n < 2)
        scope_fail(s, FERRY_ENEEDS,
                   "%s needs pairs: rows of the source and target '%s' that are the same "
                   "thing (pairs:), or an intermediate domain with features of both; here "
                   "are %lld",
                   name, target(p)->name, (long long)pairs.n);
    if (kernel && pairs.n > MOST_PAIRS) {
        int64_t *rows = NEW(s, int64_t, MOST_PAIRS);
        for (int64_t i = 0; i < MOST_PAIRS; i++)
            rows[i] = i * pairs.n / MOST_PAIRS;
        for (int of = SOURCE; of <= TARGET; of++)
            pairs.x[of] = take_rows(s, pairs.x[of], MOST_PAIRS, rows, false);
        pairs.n = MOST_PAIRS;
    }
    side of[2];
    for (int at = SOURCE; at <= TARGET; at++) {
        const matrix x = take_columns(s, pairs.x[at], pairs.keep[at], false);
        of[at] = kernel ? kernel_side(s, x, o) : linear_side(s, name, x, o->ridge);
    }
    report_real(s, "pairs", (double)pairs.n);
    (void)solve(s, name, o, &of[SOURCE], &of[TARGET]);
    keep_map(s, keep, p, pairs.keep[TARGET], pairs.x[TARGET], &of[TARGET], m);
    m->by =
        train(s, keep, o, p, (const uint8_t *const *)pairs.keep, &of[SOURCE], &of[TARGET]);
    if (progress(s, name, 1, 1, NAN)) report_fit(s, 1, NAN, FERRY_STOP_FINISH);
}

static void cca_fit(scope *s, scope *keep, const problem *p, const void *options,
                    void *state)
{
    fit(s, keep, p, "cca", false, options, state);
}

static void kcca_fit(scope *s, scope *keep, const problem *p, const void *options,
                     void *state)
{
    fit(s, keep, p, "kcca", true, options, state);
}

static void cca_scores(scope *s, const void *state, const domain *d, block out)
{
    const cca_state *m = state;

    learned_scores(s, &m->by, matrix_of(s, place(s, m->gamma, m->x, m->a, m->b, d->x)),
                   out);
}

static void cca_fits(scope *s, const problem *shape, const void *options)
{
    (void)options;
    if (shape->paired && shape->n_sources != 1)
        scope_fail(s, FERRY_ENEEDS, "pairs are of one source; this task has %d",
                   shape->n_sources);
    if (!shape->paired && shape->n == shape->n_sources + 1)
        scope_fail(s, FERRY_ENEEDS,
                   "cca and kcca need pairs: rows of the source and target '%s' that are "
                   "the same thing (pairs:), or an intermediate domain with features of "
                   "both",
                   target(shape)->name);
}

#define CCA_METHOD                                                                         \
    .kind = FERRY_KIND_TRANSFER, .family = FERRY_FAMILY_JOINT, .goals = FERRY_CLASSIFY,    \
    .needs = FERRY_NEED_SOURCE_LABELS | FERRY_NEED_TARGET_VIEW,                            \
    .wants = {.as = CHAIN,                                                                 \
              .domains = WANT_SOURCES | WANT_BRIDGES | WANT_TARGET,                        \
              .pairs = true},                                                              \
    .asked = true, /* a comparison: hemap knows when not to */                             \
        .whole = true, .fits = cca_fits, .scores = cca_scores

const method method_cca = {
    .name = "cca",
    .summary = "a common space from pairs by canonical correlations, and a learner in it",
    .reference = "Hotelling, Relations between Two Sets of Variates, Biometrika 1936",
    CCA_METHOD,
    METHOD_OPTIONS(cca_opts, cca_options),
    .state = &cca_table,
    .fit = cca_fit,
};

const method method_kcca = {
    .name = "kcca",
    .summary = "a common space from pairs by kernel canonical correlations, and a learner",
    .reference = "Hardoon, Szedmak, Shawe-Taylor, Canonical Correlation Analysis: An "
                 "Overview with Application to Learning Methods, Neural Computation 2004",
    CCA_METHOD,
    METHOD_OPTIONS(kcca_opts, cca_options),
    .state = &kcca_table,
    .fit = kcca_fit,
};
