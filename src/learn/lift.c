/* lift: LIFT, features of its own for every label.
 *
 * For label k the rows with it and those without are clustered apart, each into
 *   m_k = ceil(ratio min(|P_k|, |N_k|))
 * clusters; a row is described by its distances to the 2 m_k centres, and a linear SVM on those decides about the
 * label, or (learner=ranksvm, as M-MLTL's paper has it) one RankSVM puts an instance's labels before the others, each
 * label being scored on its own distances; what is on, a threshold decides that is fitted to the scores. Rows go to k-means in the order of their keys, so that no file's order decides where it starts.
 *
 * Zhang, Wu: LIFT: Multi-Label Learning with Label-Specific Features, IEEE TPAMI 2015. */
#include <float.h>
#include <math.h>

#include "learn/kmeans.h"
#include "learn/linear.h"
#include "learn/ranksvm.h"

enum { MOST_CELLS = 100000000 }; /* of sparse features made dense for k-means */

enum { BY_SVM, BY_RANKSVM };

typedef struct lift_options {
    int learner;
    double ratio, C, eps;
    int64_t max_iter;
} lift_options;

static const ferry_opt lift_opts[] = {
    FERRY_OPT_ONE_OF(lift_options, learner, "svm|ranksvm", "svm",
                     "what learns from the distances: an SVM for each label, or one "
                     "RankSVM for all"),
    FERRY_OPT(lift_options, REAL, ratio, 0.1, 1e-6, 1,
              "clusters for each instance of the rarer side"),
    FERRY_OPT(lift_options, INT, max_iter, 100, 1, 1e9, "steps of k-means"),
    FERRY_OPT(lift_options, REAL, C, 1, DBL_MIN, 1e9,
              "cost of errors against small weights"),
    FERRY_OPT(lift_options, REAL, eps, 1e-2, 1e-12, 1, "stopping tolerance of the SVMs"),
};

/* What decides about one label: score = w'(distances / their mean in training) + b, so that C means the same in all
 * units. */
typedef struct lift_part {
    int64_t n, cols;
    block centres; /* n x cols */
    double scale, b;
    double *w; /* n */
} lift_part;
static const field part_fields[] = {
    ARRAY(lift_part, BLOCK, centres, .rows = SIZE(lift_part, n),
          .cols = SIZE(lift_part, cols)),
    VALUE(lift_part, REAL, scale),
    VALUE(lift_part, REAL, b),
    ARRAY(lift_part, REALS, w, .rows = SIZE(lift_part, n)),
};
static const table part_table = TABLE(lift_part, part_fields);

typedef struct lift_state {
    int64_t k;
    lift_part *part; /* k */
    double
        *threshold; /* k + 1, of the scores and 1: what is taken off them; NULL: nothing */
} lift_state;
static const field lift_fields[] = {
    ARRAY(lift_state, LIST, part, .rows = SIZE(lift_state, k), .of = &part_table),
    ARRAY(lift_state, REALS, threshold, .rows = SIZE_PLUS(lift_state, k, 1),
          .optional = true),
};
static const table lift_table = TABLE(lift_state, lift_fields);

/* ---- features of a label ---- */

/* n x centres: scale times the distances, by |x|^2 - 2 x'c + |c|^2. */
static block describe(scope *s, const lift_part *p, matrix x)
{
    const block out = block_new(s, x.rows, x.n, p->n),
                t = block_new(s, HERE(x.cols), x.cols, p->n);
    double *cc = NEW(s, double, p->n);

    for (int64_t c = 0; c < p->n; c++)
        for (int64_t j = 0; j < x.cols; j++) {
            const double at = ROW(p->centres, c)[j];
            ROW(t, j)[c] = -2 * at;
            cc[c] += at * at;
        }
    mul(s, x, t, out);
    for (int64_t i = 0; i < x.n; i++) {
        const ferry_row r = row_at(x, i);
        double xx = 0;
        for (int64_t e = 0; e < r.n; e++)
            xx += r.value[e] * r.value[e];
        for (int64_t c = 0; c < p->n; c++)
            ROW(out, i)[c] = p->scale * sqrt(fmax(ROW(out, i)[c] + xx + cc[c], 0));
    }
    return out;
}

/* Centres of the rows with label k (side 1) or without it. k-means works on dense points: a sparse side is written
 * out, which fit has checked to be small enough. */
static void cluster(scope *s, const lift_options *o, const examples *e, int64_t k, int side,
                    ferry_rng *rng, block centres)
{
    const int64_t mark = scope_mark(s), *order = rows_by_key(s, e->x.n, e->key);
    int64_t *rows = NEW(s, int64_t, e->x.n), n = 0;
    const kmeans_options how = {.k = centres.n, .restarts = 1, .max_iter = o->max_iter};

    for (int64_t i = 0; i < e->x.n; i++)
        if ((e->y.on[order[i] * e->y.k + k] != 0) == side) rows[n++] = order[i];
    const matrix x = to_dense(s, take_rows(s, e->x, n, rows, false));
    (void)kmeans(s, x, &how, rng, NEW(s, int32_t, n), &centres);
    scope_release(s, mark);
}

/* ---- learning ---- */

/* Clusters of both sides, and distances to them. A label that is never or always on has no clusters, and its score is a
 * constant. */
static block own_features(scope *s, scope *keep, const lift_options *o, const examples *e,
                          int64_t k, ferry_rng *rng, lift_part *p)
{
    const int64_t n = e->x.n, d = e->x.cols;
    double all = 0;
    int64_t yes = 0;

    for (int64_t i = 0; i < n; i++)
        yes += e->y.on[i * e->y.k + k] != 0;
    const int64_t c = (int64_t)ceil(o->ratio * (double)(yes < n - yes ? yes : n - yes));
    *p = (lift_part){.n = 2 * c,
                     .cols = d,
                     .centres = block_new(keep, HERE(2 * c), 2 * c, d),
                     .scale = 1,
                     .w = NEW(keep, double, 2 * c)};
    for (int side = 0; c > 0 && side < 2; side++)
        cluster(s, o, e, k, side, rng, (block){HERE(c), c, d, ROW(p->centres, side * c)});
    const block z = describe(s, p, e->x);
    /* mean distance 1; for the RankSVM mean squared length 1, so that no label counts by its number of clusters */
    for (int64_t i = 0; i < z.n * z.k; i++)
        all += o->learner == BY_SVM ? z.at[i] : z.at[i] * z.at[i];
    if (all > 0)
        p->scale =
            o->learner == BY_SVM ? (double)(z.n * z.k) / all : sqrt((double)z.n / all);
    for (int64_t i = 0; i < z.n * z.k; i++)
        z.at[i] *= p->scale;
    return z;
}

/* A linear SVM on the distances of label k. */
static void fit_svm(scope *s, const lift_options *o, const examples *e, int64_t k, block z,
                    lift_part *p)
{
    const linear_options svm = {.loss = LOSS_HINGE, .C = o->C, .eps = o->eps, .bias = 1};
    uint8_t *on = NEW(s, uint8_t, z.n);

    for (int64_t i = 0; i < z.n; i++)
        on[i] = e->y.on[i * e->y.k + k] != 0;
    const examples one = {.x = matrix_of(s, z),
                          .y = {.goal = FERRY_MULTILABEL, .k = 1, .on = on}};
    const linear_model m = linear_fit(s, s, &svm, &one);
    for (int64_t j = 0; j < p->n; j++)
        p->w[j] = m.w.at[j];
    p->b = m.b[0];
}

/* w_k'z_k + b_k of every label. */
static void part_scores(const lift_part *p, block z, int64_t k, block out)
{
    for (int64_t i = 0; i < z.n; i++) {
        double score = p->b;
        for (int64_t j = 0; j < p->n; j++)
            score += p->w[j] * ROW(z, i)[j];
        ROW(out, i)[k] = score;
    }
}

/* One RankSVM over all labels, with the passes and the tolerance of the method ranksvm, and its threshold. */
static void fit_ranks(scope *s, scope *keep, const lift_options *o, const examples *e,
                      const block *z, lift_state *m)
{
    const ranker_options how = {.C = o->C,
                                .epochs = 100,
                                .tol = 1e-4,
                                .shuffle = true,
                                .order = rows_by_key(s, e->x.n, e->key),
                                .label = labels_by_rows(s, e)};
    const block f = block_new(s, e->x.rows, e->x.n, m->k);
    double **w = NEW(s, double *, m->k), *b = NEW(s, double, m->k);

    for (int64_t k = 0; k < m->k; k++)
        w[k] = m->part[k].w;
    ranker_fit_own(s, &how, m->k, z, e->y.on, w, b);
    for (int64_t k = 0; k < m->k; k++) {
        m->part[k].b = b[k];
        part_scores(&m->part[k], z[k], k, f);
    }
    m->threshold = NEW(keep, double, m->k + 1);
    fit_threshold(s, f, e->y.on, m->threshold);
}

static void lift_fit(scope *s, scope *keep, const examples *e, const void *options,
                     void *state)
{
    const lift_options *o = options;
    const bool ranks = o->learner == BY_RANKSVM;
    lift_state *m = state;
    block *z = NEW(s, block, e->y.k);
    const int32_t *label = labels_by_rows(s, e); /* draws go label by label */
    ferry_rng *rng = scope_rng(s, "lift");

    if (!e->x.m->dense && e->x.cols * e->x.n > MOST_CELLS)
        scope_fail(s, FERRY_ENEEDS,
                   "lift: %lld instances x %lld sparse features are too many to cluster",
                   (long long)e->x.n, (long long)e->x.cols);
    m->k = e->y.k;
    m->part = NEW(keep, lift_part, m->k);
    for (int64_t c = 0; c < m->k; c++) {
        const int64_t mark = scope_mark(s), k = label[c];
        z[k] = own_features(s, keep, o, e, k, rng, &m->part[k]);
        if (!ranks) fit_svm(s, o, e, k, z[k], &m->part[k]);
        if (keep != s && !ranks) scope_release(s, mark);
        (void)progress(s, "lift", c + 1, m->k, NAN); /* each label is needed */
    }
    if (ranks) fit_ranks(s, keep, o, e, z, m);
}

static void lift_scores(scope *s, const void *state, matrix x, block out)
{
    const lift_state *m = state;

    for (int64_t k = 0; k < m->k; k++) {
        const int64_t mark = scope_mark(s);
        part_scores(&m->part[k], describe(s, &m->part[k], x), k, out);
        scope_release(s, mark);
    }
    for (int64_t i = 0; m->threshold && i < x.n; i++) {
        double t = m->threshold[m->k];
        for (int64_t k = 0; k < m->k; k++)
            t += m->threshold[k] * ROW(out, i)[k];
        for (int64_t k = 0; k < m->k; k++)
            ROW(out, i)[k] -= t;
    }
}

static bool lift_serves(const void *state, int64_t cols, int64_t k)
{
    const lift_state *m = state;
    bool all = m->k == k;

    for (int64_t c = 0; c < m->k; c++)
        all = all && m->part[c].cols == cols;
    return all;
}

const learner learner_lift = {
    .name = "lift",
    .summary = "a linear SVM for every label on distances to clusters of its own",
    .reference = "Zhang and Wu, LIFT: Multi-Label Learning with Label-Specific Features, "
                 "IEEE TPAMI 2015",
    .takes = LEARN_SETS,
    LEARNER_OPTIONS(lift_opts, lift_options),
    .state = &lift_table,
    .fit = lift_fit,
    .scores = lift_scores,
    .serves = lift_serves,
    .least = 0,
};
