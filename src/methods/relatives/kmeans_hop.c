/* kmeans-hop: a control for methods that go over a bridge. The target is grouped by k-means without looking at
 * anything else, one group per class, and all that comes over the bridge is which group is which class: the naming that
 * most of a chain of logistic regressions' soft labels agree with. Where it does as well as a method, the classes are
 * the clusters of the target, and the bridge brings no more than their names. */
#include <math.h>
#include <string.h>

#include "learn/chain.h"
#include "learn/kmeans.h"
#include "prepare/problem.h"

enum { MOST_CLASSES = 16 };

typedef struct kmeans_hop_options {
    int64_t restarts, iterations;
    double C;
} kmeans_hop_options;

static const ferry_opt kmeans_hop_opts[] = {
    FERRY_OPT(kmeans_hop_options, INT, restarts, 10, 1, 10000,
              "k-means++ starts; the tightest groups win"),
    FERRY_OPT(kmeans_hop_options, INT, iterations, 100, 1, 100000,
              "of each start, at most"),
    FERRY_OPT(kmeans_hop_options, REAL, C, 0, 0, 1e9,
              "cost of errors of a classifier; 0: the best of .3, 1, 3, 10 and 30 by "
              "cross-validation on the labels that train it"),
};

typedef struct kmeans_hop_state {
    block centres; /* classes x width, in the order of the classes */
} kmeans_hop_state;
static const field kmeans_hop_fields[] = {
    ARRAY(kmeans_hop_state, BLOCK, centres, .rows = CLASSES, .cols = WIDTH),
};
static const table kmeans_hop_table = TABLE(kmeans_hop_state, kmeans_hop_fields);

/* ---- groups ---- */

/* group[i] of each row of the target; centres has room for one a row. k-means++ draws rows: they stand in the order of
 * their keys, whatever file they came from. */
static int32_t *find_groups(scope *s, const problem *p, const kmeans_hop_options *o,
                            block centres)
{
    const domain *t = target(p);
    const kmeans_options how = {p->classes, o->restarts, o->iterations, "kmeans-hop"};
    const int64_t *rows = rows_by_key(s, t->n, t->key);
    int32_t *sorted = NEW(s, int32_t, t->n), *group = NEW(s, int32_t, t->n);
    const matrix x = target_columns(s, p, t->x, t->n, rows, NULL);
    const double inertia = kmeans(s, x, &how, scope_rng(s, "kmeans-hop"), sorted, &centres);

    for (int64_t i = 0; i < t->n; i++)
        group[rows[i]] = sorted[i];
    report_fit(s, 0, inertia, FERRY_STOP_DONE);
    return group;
}

/* ---- naming ---- */

/* name[k]: the class of group k, no class twice, so that the sum of votes is largest: dynamic programming over sets of
 * classes. */
static void name_groups(scope *s, small votes, int32_t *name)
{
    const int64_t c = votes.rows, sets = (int64_t)1 << c;
    double *best = NEW(s, double, sets);
    int8_t *last = NEW(s, int8_t, sets);

    for (int64_t set = 1; set < sets; set++) {
        int64_t k = -1; /* the group that comes with as many classes */
        for (int64_t bit = 0; bit < c; bit++)
            k += set >> bit & 1;
        best[set] = -INFINITY;
        for (int64_t y = 0; y < c; y++) {
            if (!(set >> y & 1)) continue;
            const double all = best[set ^ ((int64_t)1 << y)] + AT(votes, k, y);
            if (all <= best[set]) continue;
            best[set] = all;
            last[set] = (int8_t)y;
        }
    }
    for (int64_t set = sets - 1, k = c - 1; k >= 0; k--) {
        name[k] = last[set];
        set ^= (int64_t)1 << name[k];
    }
}

/* Of the groups, by the votes of a chain. */
static int32_t *find_names(scope *s, const problem *p, double C, const int32_t *group)
{
    const classifier_options by = {.C = C, .unit = p->unit};
    const small votes = small_new(s, p->classes, p->classes);
    int32_t *name = NEW(s, int32_t, p->classes);
    block *g = NEW(s, block, p->n);
    double all = 0, right = 0;

    chain_labels(s, &by, p, false, p->n - 1, g, NULL);
    const block mine = g[p->n - 1];
    for (int64_t i = 0; i < mine.n; i++)
        for (int64_t y = 0; y < mine.k; y++) {
            AT(votes, group[i], y) += ROW(mine, i)[y];
            all += ROW(mine, i)[y];
        }
    name_groups(s, votes, name);
    for (int64_t k = 0; k < p->classes; k++)
        right += AT(votes, k, name[k]);
    report_real(s, "agreement", right / fmax(all, 1));
    return name;
}

/* ---- all of it ---- */

static void kmeans_hop_fit(scope *s, scope *keep, const problem *p, const void *options,
                           void *state)
{
    const kmeans_hop_options *o = options;
    kmeans_hop_state *m = state;
    const block found = block_new(s, HERE(p->classes), p->classes, p->width);

    if (p->classes > MOST_CLASSES)
        scope_fail(s, FERRY_ENEEDS,
                   "kmeans-hop names groups of at most %d classes, not %lld",
                   (int)MOST_CLASSES, (long long)p->classes);
    if (target(p)->n < p->classes)
        scope_fail(s, FERRY_ENEEDS,
                   "kmeans-hop: %lld instances of the target for %lld groups",
                   (long long)target(p)->n, (long long)p->classes);
    const int32_t *group = find_groups(s, p, o, found);
    const int32_t *name = find_names(s, p, o->C, group);
    m->centres = block_new(keep, HERE(p->classes), p->classes, p->width);
    for (int64_t k = 0; k < p->classes; k++)
        memcpy(ROW(m->centres, name[k]), ROW(found, k), (size_t)p->width * sizeof(double));
}

/* -|x - m_k|^2 = 2 x'm_k - |x|^2 - |m_k|^2: a product of the rows with the centres, one a column. */
static void kmeans_hop_scores(scope *s, const void *state, const domain *d, block out)
{
    const kmeans_hop_state *m = state;
    const block turned = block_new(s, HERE(d->x.cols), d->x.cols, out.k);
    double *norm = NEW(s, double, out.k);

    for (int64_t k = 0; k < out.k; k++)
        for (int64_t j = 0; j < d->x.cols; j++) {
            const double v = ROW(m->centres, k)[j];
            ROW(turned, j)[k] = v;
            norm[k] += v * v;
        }
    mul(s, d->x, turned, out);
    for (int64_t i = 0; i < out.n; i++) {
        const ferry_row r = row_at(d->x, i);
        double length = 0;
        for (int64_t e = 0; e < r.n; e++)
            length += r.value[e] * r.value[e];
        for (int64_t k = 0; k < out.k; k++)
            ROW(out, i)[k] = fmin(0, 2 * ROW(out, i)[k] - length - norm[k]);
    }
}

const method method_kmeans_hop = {
    .name = "kmeans-hop",
    .summary =
        "clusters of the target, named by a chain of classifiers: what names alone do",
    .kind = FERRY_KIND_CONTROL,
    .goals = FERRY_CLASSIFY,
    .needs = FERRY_NEED_SOURCE_LABELS | FERRY_NEED_TARGET_VIEW | FERRY_NEED_PATH,
    .wants = {.as = CHAIN, .domains = WANT_SOURCES | WANT_BRIDGES | WANT_TARGET},
    METHOD_OPTIONS(kmeans_hop_opts, kmeans_hop_options),
    .state = &kmeans_hop_table,
    .whole = true,
    .fit = kmeans_hop_fit,
    .scores = kmeans_hop_scores,
};
