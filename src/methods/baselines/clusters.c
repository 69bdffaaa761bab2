/* clusters: k-means on all rows of the target, one group for each class, and every group named by the most of the few
 * visible labels in it. What anyone would try who has many rows and few labels; a source is not looked at (kmeans-hop,
 * a control, names the same groups by the source).
 *
 *   class of x = name of the nearest centre,   name of a group = its most frequent label,
 *                                              or that of the nearest group that has one */
#include <math.h>
#include <string.h>

#include "learn/kmeans.h"
#include "model/seam.h"

typedef struct clusters_options {
    int64_t restarts, iterations;
} clusters_options;

static const ferry_opt clusters_opts[] = {
    FERRY_OPT(clusters_options, INT, restarts, 10, 1, 10000,
              "k-means++ starts; the tightest groups win"),
    FERRY_OPT(clusters_options, INT, iterations, 100, 1, 100000, "of each start, at most"),
};

typedef struct clusters_state {
    int64_t groups;
    block centres; /* groups x columns */
    int32_t *name; /* groups: the class of each */
} clusters_state;
static const field clusters_fields[] = {
    ARRAY(clusters_state, BLOCK, centres, .rows = SIZE(clusters_state, groups),
          .cols = WIDTH),
    ARRAY(clusters_state, PLACES, name, .rows = SIZE(clusters_state, groups),
          .below = CLASSES),
};
static const table clusters_table = TABLE(clusters_state, clusters_fields);

static double distance2(block centres, int64_t g, int64_t h)
{
    double all = 0;

    for (int64_t j = 0; j < centres.k; j++) {
        const double d = ROW(centres, g)[j] - ROW(centres, h)[j];
        all += d * d;
    }
    return all;
}

/* By votes (groups x classes), of equals the class that is more frequent overall; -1: it has no labels. */
static int32_t name_of(const double *votes, int64_t k, const double *prior)
{
    int32_t best = -1;

    for (int32_t c = 0; c < k; c++)
        if (votes[c] > 0 && (best < 0 || votes[c] > votes[best] ||
                             (votes[c] == votes[best] && prior[c] > prior[best])))
            best = c;
    return best;
}

static void name_groups(scope *s, block votes, const double *prior, clusters_state *m)
{
    int32_t *voted = NEW(s, int32_t, m->groups);

    for (int64_t g = 0; g < m->groups; g++)
        voted[g] = name_of(ROW(votes, g), votes.k, prior);
    for (int64_t g = 0; g < m->groups; g++) {
        double least = INFINITY;
        m->name[g] = voted[g];
        for (int64_t h = 0; voted[g] < 0 && h < m->groups; h++) {
            const double far = distance2(m->centres, g, h);
            if (voted[h] < 0 || far >= least) continue;
            least = far;
            m->name[g] = voted[h];
        }
    }
}

/* Rows in the order of their keys: no file's order decides where k-means starts. */
static void clusters_fit(scope *s, scope *keep, const problem *p, const void *options,
                         void *state)
{
    const clusters_options *o = options;
    clusters_state *m = state;
    const domain *t = target(p);
    const int64_t groups = p->classes, *rows = rows_by_key(s, t->n, t->key);
    const kmeans_options how = {groups, o->restarts, o->iterations, "clusters"};

    if (t->labelled == 0 || t->n < groups)
        scope_fail(s, FERRY_ENEEDS,
                   "clusters needs labelled instances with features, and as many instances "
                   "as the %lld classes; target '%s' has %lld and %lld",
                   (long long)groups, t->name, (long long)t->labelled, (long long)t->n);
    *m = (clusters_state){groups, block_new(keep, HERE(groups), groups, p->cols),
                          NEW(keep, int32_t, groups)};
    const matrix x = take_rows(s, t->x, t->n, rows, false);
    const block votes = block_new(s, HERE(groups), groups, p->classes);
    int32_t *group = NEW(s, int32_t, t->n);
    const double inertia = kmeans(s, x, &how, scope_rng(s, "clusters"), group, &m->centres);
    for (int64_t i = 0; i < t->n; i++)
        if (t->known[rows[i]] >= 0) ROW(votes, group[i])[t->known[rows[i]]] += 1;
    name_groups(s, votes, t->prior, m);
    report_fit(s, 0, inertia, FERRY_STOP_DONE);
}

/* The score of a class is that of its nearest group, 2 x'm_g - |m_g|^2: -|x - m_g|^2 but for |x|^2, which is the same
 * for all; -inf where no group has its name. */
static void clusters_scores(scope *s, const void *state, const domain *d, block out)
{
    const clusters_state *m = state;
    const block turned = block_new(s, HERE(d->x.cols), d->x.cols, m->groups),
                dot = block_new(s, d->rows, d->n, m->groups);
    double *norm2 = NEW(s, double, m->groups);

    for (int64_t g = 0; g < m->groups; g++)
        for (int64_t j = 0; j < d->x.cols; j++) {
            const double v = ROW(m->centres, g)[j];
            ROW(turned, j)[g] = 2 * v;
            norm2[g] += v * v;
        }
    mul(s, d->x, turned, dot);
    for (int64_t i = 0; i < d->n; i++) {
        for (int64_t c = 0; c < out.k; c++)
            ROW(out, i)[c] = -INFINITY;
        for (int64_t g = 0; g < m->groups; g++) {
            double *to = &ROW(out, i)[m->name[g]];
            *to = fmax(*to, ROW(dot, i)[g] - norm2[g]);
        }
    }
}

const method method_clusters = {
    .name = "clusters",
    .summary = "clusters of the target, named by its few visible labels",
    .kind = FERRY_KIND_BASELINE,
    .family = FERRY_FAMILY_CLUSTERS,
    .goals = FERRY_CLASSIFY,
    .needs = FERRY_NEED_TARGET_VIEW | FERRY_NEED_TARGET_LABELS,
    .wants = {.as = JOINED, .domains = WANT_TARGET},
    METHOD_OPTIONS(clusters_opts, clusters_options),
    .state = &clusters_table,
    .whole = true,
    .fit = clusters_fit,
    .scores = clusters_scores,
};
