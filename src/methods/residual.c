/* residual: transfer between tables with common columns. The source's answer is the start, or a feature, of what the
 * target's labels tell; several such experts are weighed by their errors on labels left out.
 *
 *   source   p0: ridge (classes: logistic) regression and boosted trees on the common columns of the source's rows; those within 2 % of
 *            the least squared error over 4 folds of the source are averaged. No label of the target is seen
 *   T        mean + GP(Z): the target alone. Z: its columns, standardised over all its rows
 *   R        p0 + GP(Z, constant, .1 slope of p0): source plus residual; with nothing to learn it is the source alone
 *   F        mean + GP(Z, slope 1 of p0): the source's answer as a feature of free sign and size
 *   P, W     boosted trees on rows of both, those of the target with weight 1, or up to 10
 *   Q        W plus GP on what it misses on labels left out (numbers)
 *   L        ridge regression on rows of both (numbers)
 *   G        boosted trees on the target alone (20 labels or more)
 *   N        logistic regression on the target alone (classes)
 *   gate     pseudo-BMA+: 200 Bayesian bootstraps of the labels' weights; in each the experts share by
 *            prior error^(-n/2), error the weighted squared one of labels left out; the mean over bootstraps
 *
 * Classes are indicators; a source that explains less than 2 % of its own is not used for them. Below 10 labels the blend
 * must be ahead of T by one standard error, or the target's own experts answer. The GPs average over kernels (learn/gp_average.h); out of fold they are closed form, trees and ridge by 5
 * folds. Yao, Vehtari, Simpson and Gelman, Using Stacking to Average Bayesian Predictive Distributions, 2018 (the gate). */
#include <math.h>
#include <string.h>

#include "learn/gp_average.h"
#include "learn/learner.h"
#include "prepare/problem.h"

enum {
    SOURCE_FOLDS = 4,
    FOLDS = 5,
    DRAWS = 200,
    MOST_SEEN = 2000,
    FEW = 10,
    TREES_FROM = 20
};
static const double USELESS = 0.02, NEARLY_BEST = 1.02, MOST_WEIGHT = 10, CLIP = 5;

typedef enum expert { T, R, F, P, W, Q, L, G, N, EXPERTS } expert;
static const char *const expert_names[EXPERTS] = {"target", "residual", "feature",
                                                  "pooled", "weighted", "corrected",
                                                  "ridge",  "trees",    "logistic"};
static const double prior_numbers[EXPERTS] = {2, 3, 2, 2, 1, 1, 1, 1, 0};
static const double prior_classes[EXPERTS] = {1, 1, 1, 1, 0, 0, 0, 0, 1};
static const double prior_alone[EXPERTS] = {[T] = 1, [G] = 1, [N] = 1};

typedef struct residual_options {
    int pooled;
} residual_options;
static const ferry_opt residual_opts[] = {
    FERRY_OPT_YES_NO(residual_options, pooled, "yes",
                     "also learn from the rows of both together: most of the time"),
};

/* A learner and how it reads rows: its columns, those of a table, filled and standardised. */
typedef struct member {
    int64_t d;
    double *mean,
        *scale; /* d: what a missing cell takes; what columns are divided by; NULL: rows as they are */
    learned m;
} member;
static const field member_fields[] = {
    ARRAY(member, INT, d, .lo = 0, .hi = 1e9),
    ARRAY(member, REALS, mean, .rows = SIZE(member, d), .optional = true),
    ARRAY(member, REALS, scale, .rows = SIZE(member, d), .optional = true),
    FIELD_AS(member, INT, m.k, "k", .lo = 1, .hi = 1e9),
    FIELD_AS(member, VARIANT, m, "learner", .among = &learners),
};
static void member_check(scope *s, const void *state)
{
    const member *b = state;

    if ((b->mean != NULL) != (b->scale != NULL) || !b->m.by ||
        (b->m.by->serves && !b->m.by->serves(b->m.state, b->d, b->m.k)))
        scope_fail(s, FERRY_EDATA, "a learner that does not fit its columns");
}
static const table member_table = {sizeof(member), member_fields,
                                   FERRY_COUNT(member_fields), member_check, NULL};

typedef struct residual_state {
    int64_t d, k;
    double *mean, *scale; /* d: Z */
    double weight[EXPERTS];
    int64_t sources, trees, gps;
    member *source;           /* p0: their mean */
    member *tree;             /* P, W, L, G: those that weigh */
    gp_average *gp;           /* T, R, F, Q: likewise */
    int64_t *tree_of, *gp_of; /* which expert each is */
} residual_state;
static const field residual_fields[] = {
    FIELD_AS(residual_state, INT, d, "columns", .lo = 0, .hi = 1e9),
    FIELD_AS(residual_state, INT, k, "answers", .lo = 1, .hi = 1e9),
    ARRAY(residual_state, REALS, mean, .rows = SIZE(residual_state, d)),
    ARRAY(residual_state, REALS, scale, .rows = SIZE(residual_state, d)),
    ARRAY(residual_state, ARRAY, weight, .rows = CONSTANT(EXPERTS)),
    ARRAY(residual_state, INT, sources, .lo = 0, .hi = 100),
    ARRAY(residual_state, INT, trees, .lo = 0, .hi = EXPERTS + 1),
    ARRAY(residual_state, INT, gps, .lo = 0, .hi = EXPERTS + 1),
    ARRAY(residual_state, LIST, source, .rows = SIZE(residual_state, sources),
          .of = &member_table),
    ARRAY(residual_state, LIST, tree, .rows = SIZE(residual_state, trees),
          .of = &member_table),
    ARRAY(residual_state, LIST, gp, .rows = SIZE(residual_state, gps),
          .of = &gp_average_table),
    ARRAY(residual_state, INTS, tree_of, .rows = SIZE(residual_state, trees), .lo = 0,
          .hi = EXPERTS),
    ARRAY(residual_state, INTS, gp_of, .rows = SIZE(residual_state, gps), .lo = 0,
          .hi = EXPERTS),
};

static int64_t count_varying(int64_t d, const double *scale)
{
    int64_t n = 0;

    for (int64_t j = 0; j < d; j++)
        n += scale[j] > 0;
    return n;
}

/* Q corrects W, and experts come once. */
static int64_t find(int64_t n, const int64_t *of, expert e)
{
    for (int64_t i = 0; i < n; i++)
        if (of[i] == (int64_t)e) return i;
    return -1;
}

static void residual_check(scope *s, const void *state)
{
    const residual_state *m = state;
    const bool corrects = find(m->gps, m->gp_of, Q) >= 0;
    const int64_t wide = count_varying(m->d, m->scale);

    for (int64_t i = 0; i < m->gps; i++)
        if (m->gp[i].c != m->k || m->gp[i].d != wide)
            scope_fail(s, FERRY_EDATA,
                       "gp.%lld: %lld columns and %lld answers, not %lld and %lld",
                       (long long)i, (long long)m->gp[i].d, (long long)m->gp[i].c,
                       (long long)wide, (long long)m->k);
    for (int64_t i = 0; i < m->trees + m->sources; i++) {
        const member *b = i < m->trees ? &m->tree[i] : &m->source[i - m->trees];
        if (b->m.k != m->k || b->d != m->d)
            scope_fail(s, FERRY_EDATA,
                       "a learner of %lld columns and %lld answers, not %lld and %lld",
                       (long long)b->d, (long long)b->m.k, (long long)m->d,
                       (long long)m->k);
    }
    if (corrects && find(m->trees, m->tree_of, W) < 0)
        scope_fail(s, FERRY_EDATA, "what the last expert corrects is missing");
    if (m->sources == 0 &&
        (find(m->gps, m->gp_of, R) >= 0 || find(m->gps, m->gp_of, F) >= 0))
        scope_fail(s, FERRY_EDATA, "experts of a source without one");
}
static const table residual_table = {sizeof(residual_state), residual_fields,
                                     FERRY_COUNT(residual_fields), residual_check, NULL};

/* ---- columns ---- */

/* Means and deviations of the cells that are there; 0: the column is constant, or has no cell. */
static void column_scale(scope *s, block x, double **mean, double **scale)
{
    *mean = NEW(s, double, x.k);
    *scale = NEW(s, double, x.k);
    for (int64_t j = 0; j < x.k; j++) {
        double sum = 0, square = 0, n = 0;
        for (int64_t i = 0; i < x.n; i++)
            if (!isnan(ROW(x, i)[j])) {
                sum += ROW(x, i)[j];
                n++;
            }
        (*mean)[j] = n > 0 ? sum / n : 0;
        for (int64_t i = 0; i < x.n; i++)
            if (!isnan(ROW(x, i)[j])) {
                const double e = ROW(x, i)[j] - (*mean)[j];
                square += e * e;
            }
        /* a missing cell takes the mean and counts */
        const double sd = x.n > 0 ? sqrt(square / (double)x.n) : 0;
        (*scale)[j] = sd > 1e-12 * fmax(1, fabs((*mean)[j])) ? sd : 0;
    }
}

/* (x - mean) / scale within +-clip; missing cells and constant columns are 0. */
static block standardised(scope *s, block x, const double *mean, const double *scale,
                          double clip)
{
    const block z = block_like(s, x);

    for (int64_t i = 0; i < x.n; i++)
        for (int64_t j = 0; j < x.k; j++) {
            const double v = ROW(x, i)[j];
            if (!isnan(v) && scale[j] > 0)
                ROW(z, i)[j] = fmin(fmax((v - mean[j]) / scale[j], -clip), clip);
        }
    return z;
}

/* Z: columns that vary, since kernels count them. */
static block varying(scope *s, block x, const double *mean, const double *scale)
{
    const block all = standardised(s, x, mean, scale, CLIP);
    const block z = block_new(s, HERE(x.n), x.n, count_varying(x.k, scale));

    for (int64_t i = 0; i < x.n; i++)
        for (int64_t j = 0, at = 0; j < x.k; j++)
            if (scale[j] > 0) ROW(z, i)[at++] = ROW(all, i)[j];
    return z;
}

static matrix member_rows(scope *s, const member *b, block x)
{
    return matrix_of(s, b->mean ? standardised(s, x, b->mean, b->scale, CLIP + 1) : x);
}

/* Scores as numbers, or as probabilities that add up to 1. */
static block member_scores(scope *s, const member *b, block x)
{
    const block p = answer(s, &b->m, member_rows(s, b, x));

    for (int64_t i = 0; p.k > 1 && i < p.n; i++) {
        double sum = 0;
        for (int64_t k = 0; k < p.k; k++)
            sum += ROW(p, i)[k] = fmax(ROW(p, i)[k], 0);
        for (int64_t k = 0; k < p.k; k++)
            ROW(p, i)[k] = sum > 0 ? ROW(p, i)[k] / sum : 1 / (double)p.k;
    }
    return p;
}

/* ---- rows ---- */

/* Labelled rows: columns as they are, answers (numbers or indicators), keys. */
typedef struct table_rows {
    block x, y;
    labels of;
    const uint64_t *key;
} table_rows;

static block dense_rows(scope *s, matrix x, int64_t n, const int64_t *rows)
{
    const matrix d = to_dense(s, x);
    const block out = block_new(s, HERE(n), n, x.cols);

    for (int64_t i = 0; i < n; i++)
        memcpy(ROW(out, i), d.m->dense + rows[i] * x.cols, (size_t)x.cols * sizeof(double));
    return out;
}

static bool has_label(const domain *d, int64_t i)
{
    return d->y.cls ? d->y.cls[i] >= 0 : !isnan(d->y.num[i]);
}

/* Labelled rows of a domain in the order of their keys; at most `most`, evenly taken. */
static int64_t *labelled_in_order(scope *s, const domain *d, int64_t most, int64_t *n)
{
    int64_t *rows = rows_by_key(s, d->n, d->key), count = 0;

    for (int64_t i = 0; i < d->n; i++)
        if (has_label(d, rows[i])) rows[count++] = rows[i];
    *n = count < most ? count : most;
    for (int64_t i = 0; i < *n; i++)
        rows[i] = rows[i * count / *n];
    return rows;
}

/* Those of n domains on top of each other. */
static table_rows rows_of(scope *s, int n, const domain *d, int64_t k, int64_t most)
{
    int64_t **rows = NEW(s, int64_t *, n), *count = NEW(s, int64_t, n), all = 0, at = 0;

    for (int i = 0; i < n; i++) {
        rows[i] = labelled_in_order(s, &d[i], most, &count[i]);
        all += count[i];
    }
    int32_t *cls = NEW(s, int32_t, all);
    double *num = NEW(s, double, all);
    uint64_t *key = NEW(s, uint64_t, all);
    table_rows t = {.x = block_new(s, HERE(all), all, d[0].x.cols),
                    .y = block_new(s, HERE(all), all, k),
                    .of = {.goal = d[0].y.goal, .k = k},
                    .key = key};
    for (int i = 0; i < n; i++) {
        const block x = dense_rows(s, d[i].x, count[i], rows[i]);
        memcpy(ROW(t.x, at), x.at, (size_t)(x.n * x.k) * sizeof(double));
        for (int64_t r = 0; r < count[i]; r++, at++) {
            const int64_t from = rows[i][r];
            key[at] = d[i].key[from];
            if (d[i].y.cls) {
                cls[at] = d[i].y.cls[from];
                ROW(t.y, at)[cls[at]] = 1;
            } else
                num[at] = ROW(t.y, at)[0] = d[i].y.num[from];
        }
    }
    if (d[0].y.cls)
        t.of.cls = cls;
    else
        t.of.num = num;
    return t;
}

/* Source rows first; weight of those of the target. */
static examples examples_of(scope *s, const table_rows *a, const table_rows *b,
                            double weight, const member *how)
{
    examples part[2], all;
    int n = 0;

    if (a)
        part[n++] = (examples){.x = member_rows(s, how, a->x), .y = a->of, .key = a->key};
    if (b)
        part[n++] = (examples){.x = member_rows(s, how, b->x), .y = b->of, .key = b->key};
    all = n > 1 ? stack_examples(s, 2, part) : part[0];
    if (!a || !b) return all;
    all.sources = a->x.n;
    if (weight != 1) {
        double *w = NEW(s, double, all.x.n);
        for (int64_t i = 0; i < all.x.n; i++)
            w[i] = i < all.sources ? 1 : weight;
        all.weight = w;
    }
    return all;
}

/* ---- learners ---- */

static const learner *linear_learner(const labels *y)
{
    return learner_find(y->cls ? "logreg" : "ridge");
}

static void *tree_options(scope *s, const learner *l, bool small_)
{
    void *o = learner_defaults(s, l);

    learner_set(l, o, "trees", small_ ? 80 : 150);
    learner_set(l, o, "depth", small_ ? 3 : 4);
    return o;
}

/* A learner fitted on rows of a and b, with predictions of b's rows (a's where there is no b) out of `folds` folds. */
static member fit_member(scope *s, const learner *by, const void *options,
                         const table_rows *a, const table_rows *b, double weight,
                         bool linear, int folds, block *left)
{
    const table_rows *main_rows = b ? b : a;
    member how = {.d = main_rows->x.k};

    if (linear) {
        const block both[] = {a ? a->x : b->x, b ? b->x : a->x};
        block all = both[0];
        if (a && b) {
            all =
                block_new(s, HERE(both[0].n + both[1].n), both[0].n + both[1].n, both[0].k);
            memcpy(all.at, both[0].at, (size_t)(both[0].n * all.k) * sizeof(double));
            memcpy(ROW(all, both[0].n), both[1].at,
                   (size_t)(both[1].n * all.k) * sizeof(double));
        }
        column_scale(s, all, &how.mean, &how.scale);
    }
    const examples e = examples_of(s, a, b, weight, &how);
    const block p = cross_predict(s, by, options, &e, folds);
    *left = block_new(s, HERE(main_rows->x.n), main_rows->x.n, p.k);
    memcpy(left->at, ROW(p, e.sources), (size_t)(left->n * left->k) * sizeof(double));
    how.m = learn(s, s, by, options, &e);
    return how;
}

static double square_error(block a, block b)
{
    double sum = 0;

    for (int64_t e = 0; e < a.n * a.k; e++)
        sum += (a.at[e] - b.at[e]) * (a.at[e] - b.at[e]);
    return sum / (double)(a.n > 0 ? a.n * a.k : 1);
}

static double variance_of(block y)
{
    double all = 0, size = 0;

    for (int64_t k = 0; k < y.k; k++) {
        double mean = 0;
        for (int64_t i = 0; i < y.n; i++)
            mean += ROW(y, i)[k] / (double)y.n;
        for (int64_t i = 0; i < y.n; i++)
            all += (ROW(y, i)[k] - mean) * (ROW(y, i)[k] - mean) / (double)(y.n * y.k);
        size += mean * mean / (double)y.k;
    }
    all = fmax(all,
               1e-24 * size); /* what is left of equal numbers is rounding, in any unit */
    return all > 0 ? all : 1;
}

/* p0's members into m; how much of the source's own labels they explain. */
static double fit_source(scope *s, const table_rows *source, residual_state *m)
{
    const learner *by[] = {linear_learner(&source->of), learner_find("gbdt")};
    member made[2];
    double error[2], least = INFINITY;

    for (int i = 0; i < 2; i++) {
        block left;
        made[i] = fit_member(s, by[i], i == 1 ? tree_options(s, by[i], false) : NULL,
                             source, NULL, 1, i == 0, SOURCE_FOLDS, &left);
        error[i] = square_error(left, source->y);
        least = fmin(least, error[i]);
    }
    m->source = NEW(s, member, 2);
    for (int i = 0; i < 2; i++)
        if (error[i] <= NEARLY_BEST * least) m->source[m->sources++] = made[i];
    return 1 - least / variance_of(source->y);
}

static block source_scores(scope *s, const residual_state *m, block x)
{
    const block p = block_new(s, HERE(x.n), x.n, m->k);

    for (int64_t i = 0; i < m->sources; i++)
        axpby(s, 1 / (double)m->sources, member_scores(s, &m->source[i], x), 1, p);
    return p;
}

/* ---- the gate ---- */

/* w <- weights of the experts by what they say of n labels left out (left[e].at NULL: no such expert). draw: DRAWS x n
 * exponential numbers. */
static void gate(scope *s, const block *left, block y, const double *prior, int64_t draws,
                 const double *draw, double *w)
{
    double *error = NEW(s, double, EXPERTS *y.n), total = 0;

    memset(w, 0, EXPERTS * sizeof *w);
    for (int e = 0; e < EXPERTS; e++) {
        if (left[e].at) total += prior[e];
        for (int64_t i = 0; left[e].at && i < y.n; i++)
            for (int64_t k = 0; k < y.k; k++) {
                const double d = ROW(left[e], i)[k] - ROW(y, i)[k];
                error[e * y.n + i] += d * d;
            }
    }
    for (int64_t b = 0; b < draws; b++) {
        double log_w[EXPERTS], most = -INFINITY, sum = 0, mass = 0;
        for (int64_t i = 0; i < y.n; i++)
            mass += draw[b * y.n + i];
        for (int e = 0; e < EXPERTS; e++) {
            double mean = 0;
            log_w[e] = -INFINITY;
            if (!left[e].at || !(prior[e] > 0)) continue;
            for (int64_t i = 0; i < y.n; i++)
                mean += draw[b * y.n + i] / mass * error[e * y.n + i];
            log_w[e] = -.5 * (double)y.n * log(fmax(mean, 1e-300)) + log(prior[e] / total);
            most = fmax(most, log_w[e]);
        }
        for (int e = 0; e < EXPERTS; e++)
            sum += exp(log_w[e] - most);
        for (int e = 0; e < EXPERTS; e++)
            w[e] += exp(log_w[e] - most) / sum / (double)draws;
    }
}

/* Below FEW labels: whether the blend is ahead of T by a standard error. */
static bool clearly_ahead(scope *s, const block *left, block y, const double *w)
{
    const block mix = block_like(s, y);
    double sum = 0, squares = 0;
    const double n = (double)y.n;

    for (int e = 0; e < EXPERTS; e++)
        if (left[e].at) axpby(s, w[e], left[e], 1, mix);
    for (int64_t i = 0; i < y.n; i++) {
        double d = 0;
        for (int64_t k = 0; k < y.k; k++) {
            const double a = ROW(left[T], i)[k] - ROW(y, i)[k],
                         b = ROW(mix, i)[k] - ROW(y, i)[k];
            d += a * a - b * b;
        }
        sum += d;
        squares += d * d;
    }
    const double mean = sum / n;
    return n > 1 && mean > sqrt(fmax(0, squares / n - mean * mean) / (n - 1));
}

/* ---- experts ---- */

typedef struct fitting {
    const table_rows *source, *seen;
    block z, p0,
        all_p0; /* of the labelled rows: Z, the source's answers; those of all rows of the target */
    block left[EXPERTS];
    gp_average gp[EXPERTS];
    member tree[EXPERTS];
    int folds;
} fitting;

static void fit_gp(scope *s, fitting *f, expert e, block p, block all, bool offset,
                   double slope)
{
    const int64_t n = f->seen->y.n;

    f->left[e] = block_new(s, HERE(n), n, f->seen->y.k);
    f->gp[e] = gp_fit(s, (gp_rows){f->z, p}, f->seen->y, all, offset, slope, f->left[e]);
}

static void fit_trees(scope *s, fitting *f, expert e, bool pooled, double weight)
{
    const bool linear = e == L || e == N;
    const learner *by = linear ? linear_learner(&f->seen->of) : learner_find("gbdt");
    const void *o = linear ? NULL : tree_options(s, by, e == G);

    f->tree[e] = fit_member(s, by, o, pooled ? f->source : NULL, f->seen, weight, linear,
                            f->folds, &f->left[e]);
}

/* W corrected by a GP of what it misses on labels left out; elsewhere the whole of W. */
static void fit_corrected(scope *s, fitting *f, block x_all, const uint8_t *labelled)
{
    block all = member_scores(s, &f->tree[W], x_all);

    for (int64_t i = 0, at = 0; i < all.n; i++)
        if (labelled[i])
            memcpy(ROW(all, i), ROW(f->left[W], at++), (size_t)all.k * sizeof(double));
    fit_gp(s, f, Q, f->left[W], all, true, .1);
}

static void keep_experts(scope *s, const fitting *f, residual_state *m)
{
    m->gp = NEW(s, gp_average, EXPERTS);
    m->tree = NEW(s, member, EXPERTS);
    m->gp_of = NEW(s, int64_t, EXPERTS);
    m->tree_of = NEW(s, int64_t, EXPERTS);
    for (int e = 0; e < EXPERTS; e++) {
        const bool needed = m->weight[e] > 0 || (e == W && m->weight[Q] > 0);
        if (!f->left[e].at || !needed) continue;
        if (f->gp[e].alpha.at) {
            m->gp_of[m->gps] = e;
            m->gp[m->gps++] = f->gp[e];
        } else {
            m->tree_of[m->trees] = e;
            m->tree[m->trees++] = f->tree[e];
        }
    }
}

/* All of them that the labels and the source allow. */
static void fit_experts(scope *s, fitting *f, bool pooled, bool use, block x_all,
                        const uint8_t *labelled)
{
    const int64_t n = f->seen->y.n;
    const bool numbers = !f->seen->of.cls;
    const double ns = use ? (double)f->source->y.n : 0;

    fit_gp(s, f, T, (block){.at = NULL}, (block){.at = NULL}, false, 0);
    if (n >= TREES_FROM && (numbers || !use)) fit_trees(s, f, G, false, 1);
    if (!numbers && n > 1) fit_trees(s, f, N, false, 1);
    if (!use) return;
    fit_gp(s, f, R, f->p0, f->all_p0, true, .1);
    fit_gp(s, f, F, f->p0, f->all_p0, false, 1);
    if (!pooled || n < 2) return;
    fit_trees(s, f, P, true, 1);
    if (!numbers) return;
    fit_trees(s, f, W, true, fmin(fmax(1, .25 * ns / (double)n), MOST_WEIGHT));
    fit_corrected(s, f, x_all, labelled);
    fit_trees(s, f, L, true, 1);
}

static void weigh(scope *s, const fitting *f, bool use, residual_state *m)
{
    const bool numbers = !f->seen->of.cls;
    const double *prior = !use ? prior_alone : numbers ? prior_numbers : prior_classes;
    const int64_t n = f->seen->y.n;
    double *draw = NEW(s, double, DRAWS *n);
    ferry_rng *rng = scope_rng(s, "residual");

    for (int64_t i = 0; i < DRAWS * n; i++)
        draw[i] = -log(1 - ferry_i_rng_real(rng));
    gate(s, f->left, f->seen->y, prior, DRAWS, draw, m->weight);
    if (!use || n >= FEW || clearly_ahead(s, f->left, f->seen->y, m->weight)) return;
    gate(s, f->left, f->seen->y, prior_alone, DRAWS, draw, m->weight);
}

/* Columns of the source that have no cell take no part: NaN everywhere. */
static bool shares_columns(block x)
{
    for (int64_t e = 0; e < x.n * x.k; e++)
        if (!isnan(x.at[e])) return true;
    return false;
}

static void residual_fit(scope *s, scope *keep, const problem *p, const void *options,
                         void *state)
{
    const domain *t = target(p);
    const int64_t k = p->classes > 1 ? p->classes : 1;
    const table_rows source = rows_of(s, p->n_sources, p->d, k, INT64_MAX);
    const table_rows seen = rows_of(s, 1, t, k, MOST_SEEN);
    int64_t *all = NEW(s, int64_t, t->n), n = 0;
    uint8_t *labelled = NEW(s, uint8_t, t->n);
    residual_state m = {.d = t->x.cols, .k = k};
    fitting f = {.source = &source,
                 .seen = &seen,
                 .folds = seen.y.n < FOLDS ? (int)(seen.y.n > 2 ? seen.y.n : 2) : FOLDS};

    if (source.y.n == 0 || !shares_columns(source.x))
        scope_fail(s, FERRY_ENEEDS, "residual needs columns that a source and '%s' share",
                   t->name);
    const int64_t *first = labelled_in_order(s, t, MOST_SEEN, &n);
    uint8_t *taken = NEW(s, uint8_t, t->n);
    for (int64_t i = 0; i < n; i++) {
        all[i] = first[i];
        labelled[i] = taken[first[i]] = 1;
    }
    for (int64_t i = 0, at = n; i < t->n; i++)
        if (!taken[i]) all[at++] = i;
    const block x_all = dense_rows(s, t->x, t->n, all);
    column_scale(s, x_all, &m.mean, &m.scale);
    const double explained = fit_source(s, &source, &m);
    const bool use = seen.of.num || explained >= USELESS;
    report_real(s, "source_r2", explained);
    f.z = varying(s, seen.x, m.mean, m.scale);
    f.p0 = source_scores(s, &m, seen.x);
    f.all_p0 = source_scores(s, &m, x_all);
    if (seen.y.n > 0) {
        fit_experts(s, &f, ((const residual_options *)options)->pooled, use, x_all,
                    labelled);
        weigh(s, &f, use, &m);
    }
    report_named(s, "experts", EXPERTS, expert_names, m.weight);
    keep_experts(s, &f, &m);
    memcpy(state,
           state_copy(s, keep, &residual_table, &m,
                      (state_sizes){.width = p->width, .classes = p->classes}),
           sizeof m);
}

/* Without a label of the target the source answers alone. */
static void residual_scores(scope *s, const void *state, const domain *d, block out)
{
    const residual_state *m = state;
    int64_t *rows = NEW(s, int64_t, d->n);

    for (int64_t i = 0; i < d->n; i++)
        rows[i] = i;
    const block x = dense_rows(s, d->x, d->n, rows);
    const block z = varying(s, x, m->mean, m->scale);
    const block p0 = source_scores(s, m, x);
    const int64_t w = find(m->trees, m->tree_of, W);
    if (m->gps + m->trees == 0) copy(p0, out);
    for (int64_t i = 0; i < m->gps; i++) {
        const block p = m->gp_of[i] == Q ? member_scores(s, &m->tree[w], x) : p0;
        axpby(s, m->weight[m->gp_of[i]], gp_scores(s, &m->gp[i], (gp_rows){z, p}), 1, out);
    }
    for (int64_t i = 0; i < m->trees; i++)
        axpby(s, m->weight[m->tree_of[i]], member_scores(s, &m->tree[i], x), 1, out);
}

const method method_residual = {
    .name = "residual",
    .summary =
        "tables with common columns: the source's answer and what the target adds to it",
    .kind = FERRY_KIND_TRANSFER,
    .goals = FERRY_CLASSIFY | FERRY_REGRESS,
    .needs = FERRY_NEED_SOURCE_LABELS | FERRY_NEED_TARGET_VIEW,
    .wants = {.as = JOINED,
              .domains = WANT_SOURCES | WANT_TARGET,
              .linked = true,
              .missing = true,
              .unscaled = true},
    METHOD_OPTIONS(residual_opts, residual_options),
    .state = &residual_table,
    .whole = true,
    .fit = residual_fit,
    .scores = residual_scores,
};
