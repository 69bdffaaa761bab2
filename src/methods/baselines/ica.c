/* ica: iterative classification. A linear model on the features and on the classes among
 * the neighbours; those that are not known are predicted, again and again. What graphs give
 * without anything but a plain learner.
 *
 *   start    logistic regression on the features alone says a first class of every instance
 *   model    logistic regression on [features, share of each class among the neighbours]
 *   repeat   shares from the classes as they stand (known ones stay), then classes from the
 *            model, until none changes
 */
#include <math.h>
#include <string.h>

#include "methods/shared/base.h"
#include "methods/shared/boosted.h"
#include "methods/shared/known.h"
#include "methods/shared/learner_file.h"

typedef struct ica_options {
    int scale;
    double C, eps;
    int64_t max_iter;
} ica_options;

static const ferry_opt ica_opts[] = {
    FERRY_OPT_SCALE(ica_options),
    FERRY_OPT(ica_options, REAL, C, 1, 1e-9, 1e9, "cost of errors against small weights"),
    FERRY_OPT(ica_options, REAL, eps, 1e-2, 1e-12, 1, "stopping tolerance"),
    FERRY_OPT(ica_options, INT, max_iter, 20, 1, 1e6, "rounds of prediction, at most"),
};

typedef struct state {
    base b;
    ferry_outputs outputs; /* of k */
    known_labels k;
    ferry_linear *first, *model;
    int64_t max_iter;
} state;

static void ica_free(void *model)
{
    state *s = model;

    if (!s) return;
    ferry_i_linear_free(s->first);
    ferry_i_linear_free(s->model);
    ferry_i_known_clear(&s->k);
    ferry_i_base_clear(&s->b);
    ferry_i_free(s);
}

/* The instances of a domain with features, and their classes as they stand. */
typedef struct crowd {
    int64_t n, rows, q, m;
    ferry_matrix *x;   /* rows of instances with features */
    int64_t *instance; /* of each */
    ferry_matrix **graph;
    int32_t *cls;  /* n: class of an instance, -1: not known */
    int64_t *at;   /* n: place among the known, -1: none */
    double *start; /* n x m, scratch */
    ferry_block *scores;
} crowd;

static void crowd_clear(crowd *c)
{
    ferry_i_matrix_free(c->x);
    FERRY_FREE(c->instance, c->graph, c->cls, c->at, c->start, c->scores);
}

/* Features through the baseline's preparation, graphs by name, known classes by id. */
static ferry_status crowd_new(ferry_ctx *ctx, const state *s, const ferry_domain *d,
                              crowd *c)
{
    ferry_status st = FERRY_OK;

    c->n = ferry_i_ids_count(d->ids);
    c->m = s->b.k;
    FERRY_TRY(ferry_i_base_query(ctx, &s->b, d, &c->x, &c->instance));
    c->rows = c->x->rows;
    FERRY_TRY(ferry_i_known_need(ctx, "ica", s->k.graphs, d));
    FERRY_TRY(ferry_i_known_graphs(ctx, &s->k, NULL, d, &c->graph, NULL, &c->q));
    FERRY_NEW(ctx, c->cls, c->n);
    FERRY_NEW(ctx, c->at, c->n);
    FERRY_NEW(ctx, c->start, c->n * c->m);
    FERRY_TRY(ferry_i_block_new(ctx, c->rows, c->m, &c->scores));
    ferry_i_known_places(&s->k, d, c->at);
    ferry_i_known_start(&s->k, c->n, c->at, c->start);
    for (int64_t x = 0; x < c->n; x++) {
        c->cls[x] = -1;
        for (int64_t j = 0; c->at[x] >= 0 && j < c->m; j++)
            if (c->start[x * c->m + j] > 0.5) c->cls[x] = (int32_t)j;
    }
done:
    return st;
}

/* [x, share of each class among the neighbours in each graph] */
static ferry_status with_neighbours(ferry_ctx *ctx, const state *s, const crowd *c,
                                    ferry_matrix **out)
{
    ferry_status st = FERRY_OK;
    const int64_t names = ferry_i_ids_count(s->k.graphs);
    ferry_matrix *parts[2] = {ferry_i_matrix_ref(c->x), NULL};

    FERRY_TRY(ferry_i_matrix_dense(ctx, c->rows, names * c->m, &parts[1]));
    for (int64_t i = 0; i < c->rows; i++)
        for (int64_t g = 0; g < c->q; g++) {
            const ferry_matrix *a = c->graph[g];
            const int64_t x = c->instance[i];
            double *to = parts[1]->dense + i * names * c->m + g * c->m, sum = 0;
            for (int64_t e = a->start[x]; e < a->start[x + 1]; e++) {
                const int32_t cls = c->cls[a->index[e]];
                if (cls < 0) continue;
                to[cls] += a->value[e];
                sum += a->value[e];
            }
            for (int64_t j = 0; sum > 0 && j < c->m; j++)
                to[j] /= sum;
        }
    FERRY_TRY(ferry_i_matrix_beside(ctx, parts[0]->dense != NULL, 2, parts, out));
done:
    ferry_i_matrix_free(parts[0]);
    ferry_i_matrix_free(parts[1]);
    return st;
}

/* Classes of the instances that are not known; how many changed. */
static ferry_status assign(ferry_ctx *ctx, const ferry_linear *model, const ferry_matrix *x,
                           crowd *c, int64_t *changed)
{
    *changed = 0;
    FERRY_PASS(ferry_i_linear_scores(ctx, model, x, c->scores));
    for (int64_t i = 0; i < c->rows; i++) {
        const double *score = FERRY_ROW(c->scores, i);
        int32_t *cls = &c->cls[c->instance[i]], best = 0;
        if (c->at[c->instance[i]] >= 0) continue;
        for (int64_t j = 1; j < c->m; j++)
            if (score[j] > score[best]) best = (int32_t)j;
        *changed += *cls != best;
        *cls = best;
    }
    return FERRY_OK;
}

/* Learn from the rows of x whose class is known. */
static ferry_status learn(ferry_ctx *ctx, const ica_options *o, const crowd *c,
                          const ferry_matrix *x, ferry_linear **out)
{
    ferry_status st = FERRY_OK;
    const ferry_linear_options l = {
        .kind = FERRY_LINEAR_LOGREG, .C = o->C, .eps = o->eps, .bias = true};
    int64_t *rows = ferry_i_calloc(c->rows, sizeof *rows), n = 0;
    int32_t *cls = ferry_i_calloc(c->rows, sizeof *cls);
    ferry_matrix *mine = NULL;

    FERRY_HAVE(ctx, rows && cls);
    for (int64_t i = 0; i < c->rows; i++) {
        if (c->at[c->instance[i]] < 0) continue;
        cls[n] = c->cls[c->instance[i]];
        rows[n++] = i;
    }
    FERRY_TRY(ferry_i_matrix_take(ctx, x, n, rows, x->cols, NULL, &mine));
    FERRY_TRY(ferry_i_linear_fit(ctx, &l, mine, c->m, cls, NULL, out));
done:
    FERRY_FREE(rows, cls);
    ferry_i_matrix_free(mine);
    return st;
}

/* The relational model is learned once, with first guesses for what is not known. */
static ferry_status ica_fit(ferry_ctx *ctx, const ferry_task *task, const void *options,
                            void **out, ferry_fit_info *rep)
{
    ferry_status st = FERRY_OK;
    const ica_options *o = options;
    const ferry_domain *t = NULL;
    state *s = ferry_i_calloc(1, sizeof *s);
    examples e = {0};
    crowd c = {0};
    ferry_matrix *x = NULL;
    int64_t changed = 0;
    double *y = NULL;
    uint8_t *labelled = NULL;

    (void)rep;
    *out = NULL;
    FERRY_HAVE(ctx, s);
    s->max_iter = o->max_iter;
    FERRY_TRY(ferry_i_task_target(ctx, task, &t));
    FERRY_TRY(ferry_i_base_fit(
        ctx, task, &(base_wants){.method = "ica", .train = TRAIN_TARGET, .scale = o->scale},
        &s->b, &e));
    FERRY_TRY(ferry_i_boosted_labels(ctx, task, t, &s->outputs, &y, &labelled));
    FERRY_TRY(ferry_i_known_new(ctx, t, &s->outputs, y, labelled, &s->k));
    FERRY_TRY(crowd_new(ctx, s, t, &c));
    FERRY_TRY(learn(ctx, o, &c, c.x, &s->first));
    FERRY_TRY(assign(ctx, s->first, c.x, &c, &changed));
    FERRY_TRY(with_neighbours(ctx, s, &c, &x));
    FERRY_TRY(learn(ctx, o, &c, x, &s->model));
    FERRY_MOVE(*out, s);
done:
    FERRY_FREE(y, labelled);
    ferry_i_matrix_free(x);
    crowd_clear(&c);
    ferry_i_examples_clear(&e);
    ica_free(s);
    return st;
}

static ferry_status ica_fits(ferry_ctx *ctx, const ferry_task *task, const void *options)
{
    (void)options;
    return ferry_i_base_fits(ctx, task,
                             &(base_wants){.method = "ica", .train = TRAIN_TARGET});
}

/* Again and again until no class changes; max_iter ends cycles. */
static ferry_status ica_predict(ferry_ctx *ctx, const void *model, const ferry_domain *d,
                                ferry_prediction *p)
{
    ferry_status st = FERRY_OK;
    const state *s = model;
    ferry_matrix *x = NULL;
    int64_t changed = 1;
    crowd c = {0};

    FERRY_TRY(ferry_i_base_predict_prior(ctx, &s->b, p));
    FERRY_TRY(crowd_new(ctx, s, d, &c));
    FERRY_TRY(assign(ctx, s->first, c.x, &c, &changed));
    changed = 1;
    for (int64_t t = 0; t < s->max_iter && changed > 0; t++) {
        ferry_i_matrix_free(x);
        x = NULL;
        FERRY_TRY(with_neighbours(ctx, s, &c, &x));
        FERRY_TRY(assign(ctx, s->model, x, &c, &changed));
        FERRY_TRY(ferry_i_progress(ctx, "ica", t + 1, s->max_iter, NAN, NULL));
    }
    ferry_i_base_predict_scores(&s->b, c.scores, c.instance, 0.5, p);
done:
    ferry_i_matrix_free(x);
    crowd_clear(&c);
    return st;
}

/* ---- save and load ---- */

static void ica_file(ferry_io *io, void *model)
{
    state *s = model;

    ferry_i_known_base_file(io, &s->b, &s->outputs, &s->k);
    if (io->st != FERRY_OK) return;
    const int64_t k = s->b.k, d = ferry_i_base_width(&s->b);
    ferry_i_linear_file(io, "first", "first.seen", FERRY_LINEAR_LOGREG, k, d, &s->first);
    ferry_i_linear_file(io, "model", "model.seen", FERRY_LINEAR_LOGREG, k,
                        d + k * ferry_i_ids_count(s->k.graphs), &s->model);
    ferry_i_io_ints(io, "max_iter", 1, &s->max_iter);
}

/* For ferry predict: which graphs to ask for, whose labels are known to neighbours. */
static const ferry_ids *ica_graphs(const void *model)
{
    return ((const state *)model)->k.graphs;
}

static const ferry_ids *ica_known(const void *model)
{
    return ((const state *)model)->k.ids;
}

const ferry_method ferry_i_method_ica = {
    .name = "ica",
    .summary = "iterative classification: features and the classes among the neighbours",
    .reference = "Sen et al., Collective Classification in Network Data, AI Magazine 2008",
    .kind = FERRY_KIND_BASELINE,
    .goals = FERRY_CLASSIFY,
    .needs = FERRY_NEED_TARGET_VIEW | FERRY_NEED_GRAPH | FERRY_NEED_TARGET_LABELS,
    FERRY_OPTIONS(ica_opts, ica_options),
    .fits = ica_fits,
    .fit = ica_fit,
    .predict = ica_predict,
    .graphs = ica_graphs,
    .known = ica_known,
    FERRY_STATE(state, ica_file, ica_free),
};
