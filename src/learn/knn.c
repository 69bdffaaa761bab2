/* knn: the k nearest examples vote (nearest.c finds them).
 *
 * A row of weight v stands for v rows: neighbours are taken from the nearest on until their weights add up to k, of the
 * last only what is left. A score is the share of the votes for a class or label, or the mean number. Neighbours that
 * are equally near come in the order of their keys, and classes with as many votes are told apart by how near their
 * neighbours are: neither the order of rows nor the names of classes decide.
 *
 * Cover and Hart, Nearest Neighbor Pattern Classification, IEEE IT 1967. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/folds.h"
#include "learn/learner.h"
#include "learn/nearest.h"

typedef struct knn_options {
    int64_t k;
    int distance, weights;
    double chosen; /* k by cross-validation, no option */
} knn_options;

static const ferry_opt knn_opts[] = {
    FERRY_OPT(knn_options, INT, k, 0, 0, 1e6,
              "neighbours that vote; 0: 5, or the best of 1, 5 and 15 by cross-validation "
              "on the target's labels, where every class has five of them"),
    FERRY_OPT_ONE_OF(knn_options, distance, "euclidean|cosine", "euclidean",
                     "what nearest means"),
    FERRY_OPT_ONE_OF(knn_options, weights, "uniform|distance", "uniform",
                     "votes count alike, or 1 / distance"),
};

typedef struct knn_state {
    int64_t n, cols, classes;
    int64_t k, reach; /* votes; rows whose weights surely reach k */
    int distance;
    bool nearer_counts_more;
    matrix x;
    int32_t *cls;   /* n; of these three the one of the goal */
    double *num;    /* n */
    uint8_t *on;    /* n x classes */
    double *weight; /* n; NULL: 1 */
    int64_t *order; /* n: of equally near rows; NULL: by number */
} knn_state;

static void knn_check(scope *s, const void *state)
{
    const knn_state *m = state;
    bool right = m->reach <= m->n && (m->cls || m->num || m->on);

    for (int64_t i = 0; right && m->weight && i < m->n; i++)
        right = m->weight[i] > 0;
    if (!right || (m->num && m->classes != 1))
        scope_fail(s, FERRY_EDATA, "its neighbours do not make sense");
}

static const field knn_fields[] = {
    VALUE(knn_state, INT, classes),
    ARRAY(knn_state, INT, k, .lo = 1, .hi = 1e9),
    ARRAY(knn_state, INT, reach, .lo = 1, .hi = 1e18),
    ARRAY(knn_state, CHOICE, distance, .lo = 0, .hi = FERRY_COSINE + 1),
    VALUE(knn_state, FLAG, nearer_counts_more),
    ARRAY(knn_state, MATRIX, x, .rows = SIZE(knn_state, n), .cols = SIZE(knn_state, cols)),
    ARRAY(knn_state, PLACES, cls, .rows = SIZE(knn_state, n), .optional = true,
          .below = SIZE(knn_state, classes)),
    ARRAY(knn_state, REALS, num, .rows = SIZE(knn_state, n), .optional = true),
    ARRAY(knn_state, FLAGS, on, .rows = SIZE(knn_state, n),
          .cols = SIZE(knn_state, classes), .optional = true),
    ARRAY(knn_state, REALS, weight, .rows = SIZE(knn_state, n), .optional = true),
    ARRAY(knn_state, INTS, order, .rows = SIZE(knn_state, n), .optional = true),
};
static const table knn_table = {sizeof(knn_state), knn_fields, FERRY_COUNT(knn_fields),
                                knn_check, NULL};

/* ---- learning: nothing but an order ---- */

/* Rows with a weight. */
static examples counted(scope *s, const examples *e)
{
    int64_t *rows = NEW(s, int64_t, e->x.n), n = 0;

    for (int64_t i = 0; i < e->x.n; i++)
        if (!e->weight || e->weight[i] > 0) rows[n++] = i;
    return n == e->x.n ? *e : take_examples(s, e, n, rows);
}

typedef struct ordered {
    uint64_t key;
    double number; /* of its label: how many have the class, the number itself */
    int64_t row;
} ordered;

static int by_key(const void *a, const void *b)
{
    const ordered *x = a, *y = b;

    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    if (x->number != y->number) return x->number > y->number ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* By key; rows of one key, which hold the same, with the label of the larger class first. */
static int64_t *order_of(scope *s, scope *keep, const examples *e, const double *count)
{
    int64_t *order = NEW(keep, int64_t, e->x.n);
    ordered *all = NEW(s, ordered, e->x.n);

    for (int64_t i = 0; i < e->x.n; i++) {
        const labels *y = &e->y;
        all[i] = (ordered){e->key[i],
                           y->cls   ? count[y->cls[i]]
                           : y->num ? y->num[i]
                                    : 0,
                           i};
        for (int64_t c = 0; y->on && c < y->k; c++)
            all[i].number += y->on[i * y->k + c] ? count[c] : 0;
    }
    qsort(all, (size_t)e->x.n, sizeof *all, by_key);
    for (int64_t r = 0; r < e->x.n; r++)
        order[all[r].row] = r;
    return order;
}

/* Weight of the examples of each class or label. */
static double *count_of(scope *s, const knn_state *m)
{
    double *count = NEW(s, double, m->classes);

    for (int64_t i = 0; i < m->n; i++) {
        const double v = m->weight ? m->weight[i] : 1;
        if (m->cls) count[m->cls[i]] += v;
        for (int64_t c = 0; m->on && c < m->classes; c++)
            count[c] += m->on[i * m->classes + c] ? v : 0;
    }
    return count;
}

/* Rows enough that the lightest of them weigh k; all, where there are not so many. */
static int64_t reach_of(scope *s, const knn_state *m)
{
    double *v = m->weight ? COPY(s, m->weight, m->n) : NULL, all = 0;
    int64_t n = 0;

    if (!v) return m->k < m->n ? m->k : m->n;
    qsort(v, (size_t)m->n, sizeof *v, ascending);
    while (n < m->n && all < (double)m->k)
        all += v[n++];
    return n;
}

extern const learner learner_knn;

static void knn_fit(scope *s, scope *keep, const examples *given, const void *options,
                    void *state)
{
    const knn_options *o = options;
    knn_state *m = state;
    const examples e = counted(s, given);
    double k = o->k > 0 ? (double)o->k : o->chosen;

    if (k == 0)
        k = choose(s, &learner_knn, options, offsetof(knn_options, chosen), 3,
                   (const double[]){5, 1, 15}, &e);
    *m = (knn_state){.n = e.x.n,
                     .cols = e.x.cols,
                     .classes = e.y.k,
                     .k = (int64_t)k,
                     .distance = o->distance,
                     .nearer_counts_more = o->weights == 1,
                     .x = matrix_keep(keep, e.x),
                     .cls = e.y.cls ? COPY(keep, e.y.cls, e.x.n) : NULL,
                     .num = e.y.num ? COPY(keep, e.y.num, e.x.n) : NULL,
                     .on = e.y.on ? COPY(keep, e.y.on, e.x.n * e.y.k) : NULL,
                     .weight = e.weight ? COPY(keep, e.weight, e.x.n) : NULL};
    m->reach = reach_of(s, m);
    if (e.key) m->order = order_of(s, keep, &e, count_of(s, m));
    report_real(s, "k", (double)(m->k < m->n ? m->k : m->n));
}

/* ---- votes ---- */

/* The neighbours of one row: which, how far, how many rows each stands for. */
typedef struct voters {
    int64_t n;
    const int64_t *index;
    const double *dist;
    double *count;
} voters;

/* How much a vote counts; where some neighbours are at distance 0, only those do. */
static double vote(const knn_state *m, double first, double d)
{
    if (!m->nearer_counts_more) return 1;
    if (first == 0) return d == 0;
    /* Relative to the nearest, so that 1 / d cannot overflow. */
    return isinf(d) ? isinf(first) : first / d;
}

/* What is said for a class among those that have as many votes. */
typedef struct claim {
    double sum, first; /* distances of its neighbours: all, the nearest */
    double examples;
    int64_t order; /* of its nearest neighbour */
} claim;

static claim claim_of(const knn_state *m, const voters *v, int32_t c, double count)
{
    claim of = {0, INFINITY, count, INT64_MAX};

    for (int64_t r = v->n - 1; r >= 0; r--) {
        const int64_t i = v->index[r];
        if (m->cls[i] != c || v->count[r] == 0) continue;
        of.sum += v->count[r] * v->dist[r];
        of.first = v->dist[r];
        of.order = m->order ? m->order[i] : i;
    }
    return of;
}

static bool stronger(claim a, claim b)
{
    if (a.sum != b.sum) return a.sum < b.sum;
    if (a.first != b.first) return a.first < b.first;
    if (a.examples != b.examples) return a.examples > b.examples;
    return a.order < b.order;
}

/* Of classes with as many votes one bit more for the one whose neighbours are nearer together, then whose first is,
 * then which has more examples. */
static void break_tie(const knn_state *m, const voters *v, const double *count,
                      double *score)
{
    double most = 0;
    int64_t best = -1, tied = 0;
    claim of = {0};

    for (int64_t c = 0; c < m->classes; c++)
        most = fmax(most, score[c]);
    const double least = most * (1 - 1e-12); /* weights are added up in any order */
    for (int64_t c = 0; c < m->classes; c++)
        tied += score[c] >= least;
    for (int64_t c = 0; tied > 1 && most > 0 && c < m->classes; c++) {
        if (score[c] < least) continue;
        const claim own = claim_of(m, v, (int32_t)c, count[c]);
        if (best >= 0 && !stronger(own, of)) continue;
        best = c;
        of = own;
    }
    if (best >= 0) score[best] = nextafter(most, INFINITY);
}

/* score <- shares of the votes for each class or label, or the mean number. */
static void poll(const knn_state *m, const voters *v, double *score)
{
    double all = 0, left = (double)m->k;

    for (int64_t r = 0; r < v->n; r++) {
        const int64_t i = v->index[r];
        v->count[r] = fmin(left, m->weight ? m->weight[i] : 1);
        left -= v->count[r];
        const double w = v->count[r] * vote(m, v->dist[0], v->dist[r]);
        all += w;
        if (m->cls) score[m->cls[i]] += w;
        if (m->num) score[0] += w * m->num[i];
        for (int64_t c = 0; m->on && c < m->classes; c++)
            score[c] += w * m->on[i * m->classes + c];
    }
    for (int64_t c = 0; c < m->classes; c++)
        score[c] /= all;
}

static void knn_scores(scope *s, const void *state, matrix x, block out)
{
    const knn_state *m = state;
    int64_t *index = NEW(s, int64_t, x.n * m->reach);
    double *dist = NEW(s, double, x.n * m->reach), *count = NEW(s, double, m->reach);
    const double *of_class = count_of(s, m);

    nearest(s, m->x, x, m->reach, (ferry_distance)m->distance, m->order, index, dist);
    memset(out.at, 0, (size_t)(out.n * out.k) * sizeof *out.at);
    for (int64_t i = 0; i < x.n; i++) {
        const voters v = {m->reach, index + i * m->reach, dist + i * m->reach, count};
        poll(m, &v, ROW(out, i));
        if (m->cls) break_tie(m, &v, of_class, ROW(out, i));
    }
}

static bool knn_serves(const void *state, int64_t cols, int64_t k)
{
    const knn_state *m = state;

    return m->cols == cols && m->classes == k;
}

const learner learner_knn = {
    .name = "knn",
    .summary = "the k nearest labelled instances vote",
    .reference = "Cover and Hart, Nearest Neighbor Pattern Classification, IEEE IT 1967",
    .takes = LEARN_CLASSES | LEARN_SETS | LEARN_NUMBERS | LEARN_WEIGHTS,
    LEARNER_OPTIONS(knn_opts, knn_options),
    .state = &knn_table,
    .fit = knn_fit,
    .scores = knn_scores,
    .serves = knn_serves,
    .least = 0.5,
};
