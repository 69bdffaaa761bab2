/* Streams in an evaluation: the rows whose labels were hidden come one after the other; the
 * model answers, and some of the labels come later. */
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "learn/rows.h"
#include "methods/method.h"
#include "run/run.h"

int64_t ferry_i_curve_rows(int64_t n, int64_t j)
{
    return (n * (j + 1) + FERRY_CURVE - 1) / FERRY_CURVE;
}

void ferry_i_curve_at(const ferry_results *rs, const ferry_entry *r, int64_t j,
                      double *mean, double *std)
{
    double sum = 0, squares = 0;

    for (int64_t i = 0; i < rs->run.repeats; i++)
        sum += r->curve[i * FERRY_CURVE + j];
    *mean = sum / (double)rs->run.repeats;
    for (int64_t i = 0; i < rs->run.repeats; i++)
        squares += pow(r->curve[i * FERRY_CURVE + j] - *mean, 2);
    *std = rs->run.repeats > 1 ? sqrt(squares / (double)(rs->run.repeats - 1)) : 0;
}

/* One stream under way. */
typedef struct stream {
    const ferry_results *rs;
    ferry_model *model;
    const ferry_view *view;
    int64_t n;      /* rows to come */
    int64_t *order; /* n: instances */
    uint8_t *comes; /* n: whether the label does */
    int32_t *cls;   /* per instance of the target: the answer */
    int32_t *vote;  /* n x vote */
    int64_t votes;
} stream;

static void stream_clear(stream *s)
{
    FERRY_FREE(s->order, s->comes, s->cls, s->vote);
}

static ferry_status begin(ferry_ctx *ctx, const ferry_domain *target, const uint8_t *mask,
                          stream *s)
{
    ferry_status st = FERRY_OK;
    const int64_t all = ferry_i_ids_count(target->ids);
    ferry_rng rng;

    s->view = target->views[0];
    s->votes = ferry_i_model_vote_count(s->model);
    FERRY_NEW(ctx, s->order, all);
    FERRY_NEW(ctx, s->comes, all);
    FERRY_NEW(ctx, s->cls, all);
    FERRY_NEW(ctx, s->vote, all * s->votes);
    for (int64_t i = 0; i < all; i++) {
        s->cls[i] = -1;
        if (mask[i]) s->order[s->n++] = i;
    }
    ferry_i_rng_for(ctx, &rng, "stream");
    ferry_i_rng_shuffle(&rng, s->n, s->order);
    ferry_i_rng_for(ctx, &rng, "arriving");
    for (int64_t t = 0; t < s->n; t++)
        s->comes[t] = ferry_i_rng_real(&rng) < s->rs->run.arriving;
done:
    return st;
}

static ferry_row row_of(const stream *s, int64_t t)
{
    const ferry_matrix *x = s->view->x;
    const int64_t r = s->view->row_of[s->order[t]], from = row_begin(x, r);

    return (ferry_row){row_end(x, r) - from, x->dense ? NULL : x->index + from,
                       row_values(x) + from};
}

static const char *label_of(const stream *s, int64_t t)
{
    const ferry_labels *truth = s->rs->truth;

    return ferry_i_ids_at(truth->names, truth->cls[s->order[t]]);
}

/* The label of round t, if it comes. Nothing is learned of a row that the view lacks. */
static ferry_status learn(ferry_ctx *ctx, stream *s, int64_t t)
{
    ferry_status st = FERRY_OK;

    if (t < 0 || !s->comes[t] || s->view->row_of[s->order[t]] < 0) return FERRY_OK;
    const ferry_row x = row_of(s, t);
    FERRY_TRY(ferry_model_learn(ctx, s->model, &x, label_of(s, t), s->vote + t * s->votes));
done:
    return st;
}

static ferry_status see(ferry_ctx *ctx, stream *s, int64_t t, int64_t *mistakes)
{
    ferry_status st = FERRY_OK;
    int32_t *cls = &s->cls[s->order[t]];

    if (s->view->row_of[s->order[t]] >= 0) {
        const ferry_row x = row_of(s, t);
        FERRY_TRY(ferry_model_see(ctx, s->model, &x, cls, NULL, s->vote + t * s->votes));
    }
    /* By number: a class that the model has not met yet has no name there. */
    *mistakes +=
        *cls < 0 || strcmp(ferry_model_class_at(s->model, *cls), label_of(s, t)) != 0;
done:
    return st;
}

/* Add what each part counts now, and after how many rows. */
static void add_weights(const stream *s, int64_t rows, json_t *weights)
{
    const char *names[64];
    double w[64];
    json_t *list = NULL;
    const int64_t n = ferry_i_model_parts(s->model, NULL, NULL);

    if (!weights || n == 0 || n > 64) return;
    (void)ferry_i_model_parts(s->model, names, w);
    for (int64_t i = -1; i < n; i++) {
        const char *name = i < 0 ? "rows" : names[i];
        list = json_object_get(weights, name);
        if (!list) json_object_set_new(weights, name, json_array());
        json_array_append_new(json_object_get(weights, name),
                              i < 0 ? json_integer((json_int_t)rows) : json_real(w[i]));
    }
}

/* The mistakes that were made, beside what the model tells of them. */
static void add_mistakes(const stream *s, int64_t made, json_t *told)
{
    const char *names[16];
    double w[16];
    json_t *list = NULL;
    const int64_t n = ferry_i_model_counts(s->model, NULL, NULL);

    if (!told || n == 0 || n > FERRY_COUNT(w)) return;
    (void)ferry_i_model_counts(s->model, names, w);
    list = json_pack("{s:I}", "made", (json_int_t)made);
    for (int64_t i = 0; i < n; i++)
        json_object_set_new(list, names[i], ferry_i_json_real(w[i]));
    json_object_set_new(told, "mistakes", list);
}

static ferry_status run(ferry_ctx *ctx, stream *s, double *curve, json_t *told)
{
    ferry_status st = FERRY_OK;
    int64_t mistakes = 0, point = 0;
    json_t *weights = told ? json_object() : NULL;
    bool finish = false; /* the stream goes to its end; the evaluation stops then */

    for (int64_t t = 0; t < s->n; t++) {
        FERRY_TRY(see(ctx, s, t, &mistakes));
        FERRY_TRY(learn(ctx, s, t - s->rs->run.delay));
        if (t % 1024 == 1023)
            FERRY_TRY(
                ferry_i_progress(ctx, s->model->method->name, t + 1, s->n, NAN, &finish));
        if (t + 1 >= ferry_i_curve_rows(s->n, point)) add_weights(s, t + 1, weights);
        for (; point < FERRY_CURVE && t + 1 >= ferry_i_curve_rows(s->n, point); point++)
            if (curve) curve[point] = (double)mistakes / (double)(t + 1);
    }
    if (json_object_size(weights) > 0) json_object_set(told, "weights", weights);
    add_mistakes(s, mistakes, told);
done:
    json_decref(weights);
    return st;
}

ferry_status ferry_i_answer(ferry_ctx *ctx, const ferry_results *rs, ferry_model *model,
                            const ferry_domain *target, const uint8_t *mask, double *curve,
                            json_t **told, ferry_prediction **out)
{
    ferry_status st = FERRY_OK;
    stream s = {.rs = rs, .model = model};
    json_t *w = told ? json_object() : NULL;

    *out = NULL;
    if (rs->run.goal != FERRY_STREAM) {
        json_decref(w);
        return ferry_predict(ctx, model, target, out);
    }
    FERRY_NEED(ctx, ferry_i_model_streams(model), FERRY_ENEEDS,
               "%s does not learn from a stream", model->method->name);
    FERRY_TRY(begin(ctx, target, mask, &s));
    FERRY_TRY(run(ctx, &s, curve, w));
    FERRY_TRY(ferry_i_prediction_new(ctx, rs->run.goal, model->names, target, out));
    for (int64_t i = 0; i < (*out)->n; i++)
        (*out)->cls[i] = s.cls[i];
    if (w && json_object_size(w) > 0) *told = json_incref(w);
done:
    json_decref(w);
    stream_clear(&s);
    return st;
}
