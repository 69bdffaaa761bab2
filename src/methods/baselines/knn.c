/* knn: the k nearest labelled instances vote. */
#include <math.h>
#include <string.h>

#include "methods/baselines/choice.h"

typedef struct knn_options {
    int train, scale;
    int64_t k;
    int distance, weights;
} knn_options;

static const ferry_opt knn_opts[] = {
    BASE_OPT_TRAIN(knn_options),
    FERRY_OPT_SCALE(knn_options),
    FERRY_OPT(knn_options, INT, k, 0, 0, 1e6,
              "neighbours that vote; 0: 5, or the best of 1, 5 and 15 " CHOICE_HELP),
    FERRY_OPT_ONE_OF(knn_options, distance, "euclidean|cosine", "euclidean",
                     "what nearest means"),
    FERRY_OPT_ONE_OF(knn_options, weights, "uniform|distance", "uniform",
                     "votes count alike, or 1 / distance"),
};

typedef struct knn_model {
    base b;
    examples e;
    int64_t k;
    ferry_distance distance;
    bool weighted;
} knn_model;

static void knn_free(void *state)
{
    knn_model *m = state;

    if (!m) return;
    ferry_i_examples_clear(&m->e);
    ferry_i_base_clear(&m->b);
    ferry_i_free(m);
}

/* Weight of the neighbour at distance d; where some are at 0, only those count. */
static double vote(const knn_model *m, double nearest, double d)
{
    if (!m->weighted) return 1;
    if (nearest == 0) return d == 0;
    /* Relative to the nearest, so that 1 / d cannot overflow. */
    return isinf(d) ? isinf(nearest) : nearest / d;
}

/* score <- shares of the votes for each class or label, or the mean number. */
static void poll(const knn_model *m, const int64_t *index, const double *dist,
                 double *score)
{
    double all = 0;

    for (int64_t r = 0; r < m->k; r++) {
        const int64_t i = index[r];
        const double w = vote(m, dist[0], dist[r]);
        all += w;
        if (m->b.goal == FERRY_CLASSIFY)
            score[m->e.cls[i]] += w;
        else if (m->b.goal == FERRY_REGRESS)
            score[0] += w * m->e.num[i];
        else
            for (int64_t c = 0; c < m->b.k; c++)
                score[c] += w * m->e.on[i * m->b.k + c];
    }
    for (int64_t c = 0; c < m->b.k; c++)
        score[c] /= all;
}

/* scores (rows of x by classes) <- what the neighbours say. */
static ferry_status ask(ferry_ctx *ctx, const knn_model *m, const ferry_matrix *x,
                        ferry_block *scores)
{
    ferry_status st = FERRY_OK;
    int64_t *index = NULL;
    double *dist = NULL;

    FERRY_NEW(ctx, index, x->rows * m->k);
    FERRY_NEW(ctx, dist, x->rows * m->k);
    FERRY_TRY(ferry_i_knn(ctx, m->e.x, x, m->k, m->distance, index, dist));
    memset(scores->data, 0, (size_t)(scores->rows * scores->k) * sizeof *scores->data);
    for (int64_t i = 0; i < x->rows; i++)
        poll(m, index + i * m->k, dist + i * m->k, FERRY_ROW(scores, i));
done:
    FERRY_FREE(index, dist);
    return st;
}

static ferry_status knn_scores(ferry_ctx *ctx, const void *how, double value, const base *b,
                               const examples *part, const ferry_matrix *x,
                               ferry_block *scores)
{
    knn_model m = *(const knn_model *)how; /* its distance and weights */

    m.b = *b;
    m.e = *part;
    m.k = (int64_t)value < part->n ? (int64_t)value : part->n;
    return ask(ctx, &m, x, scores);
}

static ferry_status knn_fit(ferry_ctx *ctx, const ferry_task *task, const void *options,
                            void **state, ferry_fit_info *rep)
{
    ferry_status st = FERRY_OK;
    const knn_options *o = options;
    knn_model *m = NULL;

    *state = NULL;
    FERRY_NEW(ctx, m, 1);
    FERRY_TRY(ferry_i_base_fit(
        ctx, task,
        &(base_wants){.method = "knn", .train = o->train, .scale = o->scale, .keeps = true},
        &m->b, &m->e));
    m->distance = (ferry_distance)o->distance;
    m->weighted = o->weights == 1;
    double k = (double)o->k;
    if (o->k == 0)
        FERRY_TRY(ferry_i_choose(ctx,
                                 &(choice){.method = "knn",
                                           .b = &m->b,
                                           .e = &m->e,
                                           .value = {5, 1, 15},
                                           .scores = knn_scores,
                                           .how = m},
                                 &k));
    m->k = (int64_t)k < m->e.n ? (int64_t)k : m->e.n;
    ferry_i_diag_real(ctx, "k", (double)m->k);
    rep->objective = NAN;
    FERRY_MOVE(*state, m);
done:
    knn_free(m);
    return st;
}

static ferry_status knn_fits(ferry_ctx *ctx, const ferry_task *task, const void *options)
{
    const knn_options *o = options;

    return ferry_i_base_fits(ctx, task, &(base_wants){.method = "knn", .train = o->train});
}

static ferry_status knn_predict(ferry_ctx *ctx, const void *state, const ferry_domain *d,
                                ferry_prediction *p)
{
    ferry_status st = FERRY_OK;
    const knn_model *m = state;
    ferry_matrix *x = NULL;
    ferry_block *scores = NULL;
    int64_t *instance = NULL;

    FERRY_TRY(ferry_i_base_predict_prior(ctx, &m->b, p));
    FERRY_TRY(ferry_i_base_query(ctx, &m->b, d, &x, &instance));
    FERRY_TRY(ferry_i_block_new(ctx, x->rows, m->b.k, &scores));
    FERRY_TRY(ask(ctx, m, x, scores));
    ferry_i_base_predict_scores(&m->b, scores, instance, 0.5, p);
done:
    FERRY_FREE(scores, instance);
    ferry_i_matrix_free(x);
    return st;
}

static void labels_file(ferry_io *io, knn_model *m)
{
    if (m->b.goal == FERRY_REGRESS)
        ferry_i_io_reals(io, "labels", 1, m->e.n, &m->e.num);
    else if (m->b.goal == FERRY_MULTILABEL)
        ferry_i_io_flags(io, "labels", m->e.n * m->b.k, &m->e.on);
    else
        ferry_i_io_places(io, "labels", m->e.n, 0, m->b.k, &m->e.cls);
}

static void knn_file(ferry_io *io, void *state)
{
    knn_model *m = state;
    int64_t form[] = {m->k, m->distance, m->weighted};

    ferry_i_base_file(io, true, &m->b);
    ferry_i_io_ints(io, "form", 3, form);
    ferry_i_io_matrix(io, "x", &m->e.x);
    FERRY_IO_NEED(io, 1 <= form[0] && form[0] <= m->e.x->rows,
                  "tensor form: k = %lld is outside [1, %lld]", (long long)form[0],
                  (long long)m->e.x->rows);
    FERRY_IO_NEED(io, form[1] == FERRY_EUCLIDEAN || form[1] == FERRY_COSINE,
                  "tensor form: %lld is no distance", (long long)form[1]);
    FERRY_IO_NEED(io, m->e.x->cols == ferry_i_base_width(&m->b),
                  "tensor x has %lld columns, prepare %lld", (long long)m->e.x->cols,
                  (long long)ferry_i_base_width(&m->b));
    if (ferry_i_io_loading(io)) {
        m->e.n = m->e.x->rows;
        m->k = form[0];
        m->distance = (ferry_distance)form[1];
        m->weighted = form[2] != 0;
    }
    labels_file(io, m);
}

const ferry_method ferry_i_method_knn = {
    .name = "knn",
    .summary = "the k nearest labelled instances vote",
    .reference = "Cover and Hart, Nearest Neighbor Pattern Classification, IEEE IT 1967",
    .kind = FERRY_KIND_BASELINE,
    .goals = FERRY_CLASSIFY | FERRY_REGRESS | FERRY_MULTILABEL,
    .needs = FERRY_NEED_TARGET_VIEW,
    FERRY_OPTIONS(knn_opts, knn_options),
    .fits = knn_fits,
    .fit = knn_fit,
    .predict = knn_predict,
    FERRY_STATE(knn_model, knn_file, knn_free),
};
