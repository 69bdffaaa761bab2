/* clusters: k-means on all rows of the target, one group for each class, and every group
 * named by the most of the few visible labels in it. What anyone would try who has many rows
 * and few labels; a source is not looked at (kmeans-hop, a control, names the same groups by
 * the source).
 *
 *   class of x = name of the nearest centre,   name of a group = its most frequent label,
 *                                              or that of the nearest group that has one */
#include <math.h>
#include <string.h>

#include "methods/shared/base.h"

typedef struct clusters_options {
    int scale;
    int64_t restarts, iterations;
} clusters_options;

static const ferry_opt clusters_opts[] = {
    FERRY_OPT_SCALE(clusters_options),
    FERRY_OPT(clusters_options, INT, restarts, 10, 1, 10000,
              "k-means++ starts; the tightest groups win"),
    FERRY_OPT(clusters_options, INT, iterations, 100, 1, 100000, "of each start, at most"),
};

typedef struct clusters {
    base b;
    int64_t groups;
    double *centre; /* groups x columns */
    int32_t *name;  /* groups: the class of each */
} clusters;

static void clusters_free(void *state)
{
    clusters *s = state;

    if (!s) return;
    ferry_i_base_clear(&s->b);
    FERRY_FREE(s->centre, s->name, s);
}

static double distance2(int64_t d, const double *a, const double *b)
{
    double sum = 0;

    for (int64_t j = 0; j < d; j++)
        sum += (a[j] - b[j]) * (a[j] - b[j]);
    return sum;
}

/* Names by votes (groups x k), of equals the class that is more frequent overall. */
static void name_groups(clusters *s, int64_t d, const double *votes)
{
    const int64_t k = s->b.k;

    for (int64_t g = 0; g < s->groups; g++) {
        s->name[g] = -1;
        for (int32_t c = 0; c < k; c++) {
            const double v = votes[g * k + c];
            const int32_t best = s->name[g];
            if (v > 0 && (best < 0 || v > votes[g * k + best] ||
                          (v == votes[g * k + best] && s->b.prior[c] > s->b.prior[best])))
                s->name[g] = c;
        }
    }
    for (int64_t g = 0; g < s->groups; g++) {
        double least = INFINITY;
        int32_t name = -1;
        for (int64_t h = 0; h < s->groups; h++) {
            bool voted = false;
            for (int64_t c = 0; c < k; c++)
                voted = voted || votes[h * k + c] > 0;
            const double far = distance2(d, s->centre + g * d, s->centre + h * d);
            if (!voted || far >= least) continue;
            least = far;
            name = s->name[h];
        }
        if (s->name[g] < 0) s->name[g] = name;
    }
}

/* Shares of the visible classes, and how often each stands in each group. */
static ferry_status count_labels(ferry_ctx *ctx, const ferry_rows *r, const int32_t *group,
                                 clusters *s, double *votes)
{
    ferry_status st = FERRY_OK;

    FERRY_NEW(ctx, s->b.prior, s->b.k);
    for (int64_t i = 0; i < r->n; i++) {
        if (r->cls[i] < 0) continue;
        votes[group[i] * s->b.k + r->cls[i]] += 1;
        s->b.prior[r->cls[i]] += 1 / (double)r->labelled;
    }
done:
    return st;
}

static ferry_status clusters_fit(ferry_ctx *ctx, const ferry_task *task,
                                 const void *options, void **state, ferry_fit_info *rep)
{
    ferry_status st = FERRY_OK;
    const clusters_options *o = options;
    clusters *s = ferry_i_calloc(1, sizeof *s);
    ferry_block *centres = NULL;
    int32_t *group = NULL;
    double *votes = NULL;
    ferry_rng rng;
    const ferry_wants wants = {.method = "clusters",
                               .domains = FERRY_THE_TARGET,
                               .layout = FERRY_JOINED,
                               .scale = o->scale};

    *state = NULL;
    FERRY_HAVE(ctx, s);
    s->b = (base){.goal = task->goal, .k = ferry_i_ids_count(task->names)};
    FERRY_TRY(ferry_i_prepare(ctx, task, &wants, &s->b.prepared));
    const ferry_rows *r = ferry_i_prepared_target(s->b.prepared);
    const int64_t d = r->x[0]->cols;
    s->groups = s->b.k;
    FERRY_NEED(ctx, r->labelled > 0 && r->n >= s->groups, FERRY_ENEEDS,
               "clusters needs labelled instances with features, and as many instances as "
               "the %lld classes; target '%s' has %lld and %lld",
               (long long)s->groups, r->domain->name, (long long)r->labelled,
               (long long)r->n);
    FERRY_NEW(ctx, group, r->n);
    FERRY_NEW(ctx, votes, s->groups * s->b.k);
    FERRY_NEW(ctx, s->name, s->groups);
    FERRY_NEW(ctx, s->centre, s->groups * d);
    FERRY_TRY(ferry_i_block_new(ctx, s->groups, d, &centres));
    const ferry_kmeans_options how = {s->groups, o->restarts, o->iterations, "clusters"};
    ferry_i_rng_for(ctx, &rng, "clusters");
    FERRY_TRY(ferry_i_kmeans(ctx, r->x[0], &how, &rng, group, centres, &rep->objective));
    FERRY_TRY(count_labels(ctx, r, group, s, votes));
    for (int64_t g = 0; g < s->groups; g++)
        memcpy(s->centre + g * d, FERRY_ROW(centres, g), (size_t)d * sizeof *s->centre);
    name_groups(s, d, votes);
    ferry_i_prepared_forget(s->b.prepared);
    FERRY_MOVE(*state, s);
done:
    FERRY_FREE(centres, group, votes);
    clusters_free(s);
    return st;
}

/* dot (rows x groups) <- 2 x'm_g - |m_g|^2: -|x - m_g|^2 but for |x|^2, which is the same
 * for all. */
static ferry_status nearness(ferry_ctx *ctx, const clusters *s, const ferry_matrix *x,
                             ferry_block *dot)
{
    ferry_status st = FERRY_OK;
    ferry_block *turned = NULL;

    FERRY_TRY(ferry_i_block_new(ctx, x->cols, s->groups, &turned));
    for (int64_t g = 0; g < s->groups; g++)
        for (int64_t j = 0; j < x->cols; j++)
            FERRY_ROW(turned, j)[g] = s->centre[g * x->cols + j];
    ferry_e(ctx)->mul(ctx, 2, x, turned, 0, dot);
    for (int64_t g = 0; g < s->groups; g++) {
        double norm2 = 0;
        for (int64_t j = 0; j < x->cols; j++)
            norm2 += FERRY_ROW(turned, j)[g] * FERRY_ROW(turned, j)[g];
        for (int64_t i = 0; i < x->rows; i++)
            FERRY_ROW(dot, i)[g] -= norm2;
    }
done:
    ferry_i_free(turned);
    return st;
}

/* The score of a class is that of its nearest group; -inf where no group has its name. */
static ferry_status clusters_predict(ferry_ctx *ctx, const void *state,
                                     const ferry_domain *d, ferry_prediction *p)
{
    ferry_status st = FERRY_OK;
    const clusters *s = state;
    ferry_matrix *x = NULL;
    ferry_block *dot = NULL, *scores = NULL;
    int64_t *instance = NULL;

    FERRY_TRY(ferry_i_base_predict_prior(ctx, &s->b, p));
    FERRY_TRY(ferry_i_base_query(ctx, &s->b, d, &x, &instance));
    FERRY_TRY(ferry_i_block_new(ctx, x->rows, s->groups, &dot));
    FERRY_TRY(ferry_i_block_new(ctx, x->rows, s->b.k, &scores));
    FERRY_TRY(nearness(ctx, s, x, dot));
    for (int64_t i = 0; i < x->rows; i++) {
        double *to = FERRY_ROW(scores, i);
        for (int64_t c = 0; c < s->b.k; c++)
            to[c] = -INFINITY;
        for (int64_t g = 0; g < s->groups; g++)
            to[s->name[g]] = fmax(to[s->name[g]], FERRY_ROW(dot, i)[g]);
    }
    ferry_i_base_predict_scores(&s->b, scores, instance, 0, p);
done:
    ferry_i_matrix_free(x);
    FERRY_FREE(dot, scores, instance);
    return st;
}

static void clusters_file(ferry_io *io, void *state)
{
    clusters *s = state;

    ferry_i_base_file(io, true, &s->b);
    if (io->st != FERRY_OK) return;
    int64_t groups = io->to ? s->groups : -1, cols = ferry_i_base_width(&s->b);
    ferry_i_io_grid(io, "centres", &groups, &cols, &s->centre);
    FERRY_IO_NEED(io, groups > 0, "tensor centres is empty");
    ferry_i_io_places(io, "names", groups, 0, s->b.k, &s->name);
    if (ferry_i_io_loading(io)) s->groups = groups;
}

const ferry_method ferry_i_method_clusters = {
    .name = "clusters",
    .summary = "clusters of the target, named by its few visible labels",
    .kind = FERRY_KIND_BASELINE,
    .goals = FERRY_CLASSIFY,
    .needs = FERRY_NEED_TARGET_VIEW | FERRY_NEED_TARGET_LABELS,
    FERRY_OPTIONS(clusters_opts, clusters_options),
    .fit = clusters_fit,
    .predict = clusters_predict,
    FERRY_STATE(clusters, clusters_file, clusters_free),
};
