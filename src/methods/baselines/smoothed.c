/* sgc and correct-smooth: what a practitioner does first with features and a graph.
 *
 *   sgc              features smoothed over the graphs (learn/smooth.c), then logistic
 *                    regression
 *   correct-smooth   logistic regression on the features gives P; the errors on the known
 *                    labels spread over the graphs and are taken off, then the answers:
 *                      E(x) = (1 - a) e(x) + a mean of E over the neighbours,  e = truth - P
 *                      P(x) <- P(x) + (mean |e|_1) E(x) / |E(x)|_1
 *                      answer(x) = (1 - b) P(x) + b mean of the answers of the neighbours
 *                    with the truth for P where it is known
 *
 * Means over neighbours are those of learn/diffuse.h, every graph by its row sums; the paper
 * has D^-1/2 A D^-1/2 there. */
#include <math.h>
#include <string.h>

#include "learn/diffuse.h"
#include "methods/baselines/choice.h"
#include "methods/shared/boosted.h"
#include "methods/shared/known.h"
#include "methods/shared/learner_file.h"

typedef struct smoothed_options {
    int scale;
    double C, eps;
    int64_t steps;         /* sgc: of smoothing; 0: correct-smooth */
    double correct, share; /* correct-smooth: a and b */
} smoothed_options;

#define SMOOTHED_OPTS                                                                                  \
    FERRY_OPT_SCALE(smoothed_options),                                                                 \
        FERRY_OPT(                                                                                     \
            smoothed_options, REAL, C, 0, 0, 1e9,                                                      \
            "cost of errors against small weights; 0: 10, or the best of 1, 10 and 100 " CHOICE_HELP), \
        FERRY_OPT(smoothed_options, REAL, eps, 1e-2, 1e-12, 1, "stopping tolerance")

static const ferry_opt sgc_opts[] = {
    SMOOTHED_OPTS,
    FERRY_OPT(smoothed_options, INT, steps, 2, 1, 100,
              "of smoothing: how far away neighbours count"),
};

static const ferry_opt correct_smooth_opts[] = {
    SMOOTHED_OPTS,
    FERRY_OPT(smoothed_options, REAL, correct, 0.8, 0, 1,
              "share of the neighbours in the errors that are subtracted"),
    FERRY_OPT_AS(smoothed_options, "smooth", REAL, share, 0.8, 0, 1,
                 "share of the neighbours in the answers"),
};

enum { STEPS = 50 }; /* of spreading, at most */
#define CHANGE 1e-5

typedef struct state {
    base b;
    ferry_outputs outputs; /* of k */
    known_labels k;
    ferry_linear *model;
    int64_t steps;
    double real[3];   /* correct, smooth; sgc: factor of the smoothed features */
    double *residual; /* correct-smooth: known x classes */
} state;

static void smoothed_free(void *model)
{
    state *s = model;

    if (!s) return;
    ferry_i_linear_free(s->model);
    ferry_i_known_clear(&s->k);
    ferry_i_base_clear(&s->b);
    FERRY_FREE(s->residual, s);
}

/* The features of all instances of a domain (sgc: smoothed, with a row for everyone). */
typedef struct crowd {
    int64_t n, q;
    ferry_matrix *x;
    int64_t *instance, *at; /* of the rows; n: place among the known, -1: none */
    ferry_matrix **graph;
    double *w;
} crowd;

static void crowd_clear(crowd *c)
{
    ferry_i_matrix_free(c->x);
    FERRY_FREE(c->instance, c->at, c->graph, c->w);
}

static ferry_status crowd_new(ferry_ctx *ctx, const state *s, const ferry_domain *d,
                              double *factor, crowd *c)
{
    ferry_status st = FERRY_OK;
    ferry_matrix *x = NULL;

    c->n = ferry_i_ids_count(d->ids);
    FERRY_TRY(ferry_i_base_query(ctx, &s->b, d, &c->x, &c->instance));
    FERRY_TRY(ferry_i_known_need(ctx, s->steps ? "sgc" : "correct-smooth", s->k.graphs, d));
    FERRY_TRY(ferry_i_known_graphs(ctx, &s->k, NULL, d, &c->graph, &c->w, &c->q));
    FERRY_NEW(ctx, c->at, c->n);
    ferry_i_known_places(&s->k, d, c->at);
    if (s->steps == 0) goto done;
    const ferry_smoothing how = {c->n, c->q, c->graph, c->w, s->steps};
    FERRY_TRY(ferry_i_smooth(ctx, &how, c->x, c->instance, factor, &x));
    ferry_i_matrix_free(c->x);
    ferry_i_free(c->instance);
    c->instance = NULL;
    FERRY_MOVE(c->x, x);
    FERRY_NEW(ctx, c->instance, c->n);
    for (int64_t i = 0; i < c->n; i++)
        c->instance[i] = i;
done:
    return st;
}

/* probability (n x k) <- of everyone; the prior for those without features. */
static ferry_status probabilities(ferry_ctx *ctx, const state *s, const crowd *c,
                                  double *probability)
{
    ferry_status st = FERRY_OK;
    const int64_t k = s->b.k;
    ferry_block *scores = NULL;

    for (int64_t e = 0; e < c->n * k; e++)
        probability[e] = s->b.prior[e % k];
    FERRY_TRY(ferry_i_block_new(ctx, c->x->rows, k, &scores));
    FERRY_TRY(ferry_i_linear_scores(ctx, s->model, c->x, scores));
    for (int64_t i = 0; i < c->x->rows; i++)
        memcpy(probability + c->instance[i] * k, FERRY_ROW(scores, i),
               (size_t)k * sizeof *probability);
done:
    ferry_i_free(scores);
    return st;
}

/* Logistic regression on the rows whose class is known. */
static ferry_status learn(ferry_ctx *ctx, const smoothed_options *o, const crowd *c,
                          const double *truth, state *s)
{
    ferry_status st = FERRY_OK;
    ferry_linear_options l = {
        .kind = FERRY_LINEAR_LOGREG, .C = o->C, .eps = o->eps, .bias = true};
    examples e = {0};
    int64_t *rows = NULL;

    FERRY_NEW(ctx, rows, c->x->rows);
    FERRY_NEW(ctx, e.cls, c->x->rows);
    for (int64_t i = 0; i < c->x->rows; i++) {
        const int64_t at = c->at[c->instance[i]];
        if (at < 0) continue;
        for (int64_t j = 0; j < s->b.k; j++)
            if (truth[at * s->b.k + j] > 0.5) e.cls[e.n] = (int32_t)j;
        rows[e.n++] = i;
    }
    FERRY_TRY(ferry_i_matrix_take(ctx, c->x, e.n, rows, c->x->cols, NULL, &e.x));
    if (l.C == 0)
        FERRY_TRY(ferry_i_choose(ctx,
                                 &(choice){.method = "sgc", /* the same folds for both */
                                           .b = &s->b,
                                           .e = &e,
                                           .value = {10, 1, 100},
                                           .scores = ferry_i_choice_linear,
                                           .how = &l},
                                 &l.C));
    ferry_i_diag_real(ctx, "C", l.C);
    FERRY_TRY(ferry_i_linear_fit(ctx, &l, e.x, s->b.k, e.cls, NULL, &s->model));
done:
    ferry_i_free(rows);
    ferry_i_examples_clear(&e);
    return st;
}

/* The errors on the known labels, which predicting spreads. */
static ferry_status keep_errors(ferry_ctx *ctx, const crowd *c, state *s)
{
    ferry_status st = FERRY_OK;
    const int64_t k = s->b.k;
    double *p = NULL;

    FERRY_NEW(ctx, p, c->n * k);
    FERRY_TRY(probabilities(ctx, s, c, p));
    FERRY_NEW(ctx, s->residual, ferry_i_ids_count(s->k.ids) * k);
    for (int64_t x = 0; x < c->n; x++)
        for (int64_t j = 0; c->at[x] >= 0 && j < k; j++)
            s->residual[c->at[x] * k + j] = s->k.truth[c->at[x] * k + j] - p[x * k + j];
done:
    ferry_i_free(p);
    return st;
}

static ferry_status smoothed_fit(ferry_ctx *ctx, const ferry_task *task,
                                 const void *options, void **out, ferry_fit_info *rep)
{
    ferry_status st = FERRY_OK;
    const smoothed_options *o = options;
    const char *name = o->steps ? "sgc" : "correct-smooth";
    const ferry_domain *t = NULL;
    state *s = NULL;
    examples e = {0};
    crowd c = {0};
    double *y = NULL;
    uint8_t *labelled = NULL;

    (void)rep;
    *out = NULL;
    FERRY_NEW(ctx, s, 1);
    s->steps = o->steps;
    s->real[0] = o->correct;
    s->real[1] = o->share;
    FERRY_TRY(ferry_i_task_target(ctx, task, &t));
    FERRY_TRY(ferry_i_base_fit(
        ctx, task, &(base_wants){.method = name, .train = TRAIN_TARGET, .scale = o->scale},
        &s->b, &e));
    FERRY_TRY(ferry_i_boosted_labels(ctx, task, t, &s->outputs, &y, &labelled));
    FERRY_TRY(ferry_i_known_new(ctx, t, &s->outputs, y, labelled, &s->k));
    FERRY_TRY(crowd_new(ctx, s, t, &s->real[2], &c));
    /* by place, not by id: ids that a reader made up are known nowhere else */
    for (int64_t x = 0, at = 0; x < c.n; x++)
        c.at[x] = labelled[x] ? at++ : -1;
    FERRY_TRY(learn(ctx, o, &c, s->k.truth, s));
    if (s->steps == 0) FERRY_TRY(keep_errors(ctx, &c, s));
    FERRY_MOVE(*out, s);
done:
    FERRY_FREE(y, labelled);
    crowd_clear(&c);
    ferry_i_examples_clear(&e);
    smoothed_free(s);
    return st;
}

static ferry_status smoothed_fits(ferry_ctx *ctx, const ferry_task *task,
                                  const void *options)
{
    const smoothed_options *o = options;

    return ferry_i_base_fits(ctx, task,
                             &(base_wants){.method = o->steps ? "sgc" : "correct-smooth",
                                           .train = TRAIN_TARGET});
}

static double length(const double *v, int64_t n)
{
    double sum = 0;

    for (int64_t j = 0; j < n; j++)
        sum += fabs(v[j]);
    return sum;
}

/* p (n x k) corrected and smoothed in place. */
static ferry_status correct_smooth(ferry_ctx *ctx, const state *s, const crowd *c,
                                   double *p)
{
    ferry_status st = FERRY_OK;
    const int64_t n = c->n, k = s->b.k, known = ferry_i_ids_count(s->k.ids);
    const double usual = length(s->residual, known * k) / (double)known;
    double *start = NULL, *error = NULL, *alpha = NULL;

    FERRY_NEW(ctx, start, n * k);
    FERRY_NEW(ctx, error, n * k);
    FERRY_NEW(ctx, alpha, n);
    ferry_diffusion how = {c->q, c->graph, c->w, n, k, start, alpha, STEPS, CHANGE};
    for (int64_t x = 0; x < n; x++) {
        alpha[x] = s->real[0];
        if (c->at[x] >= 0)
            memcpy(start + x * k, s->residual + c->at[x] * k, (size_t)k * sizeof *start);
    }
    FERRY_TRY(ferry_i_diffuse(ctx, &how, error, NULL));
    for (int64_t x = 0; x < n; x++) {
        const double far = length(error + x * k, k);
        alpha[x] = s->real[1];
        for (int64_t j = 0; j < k; j++) {
            const double e = far > 1e-3 * usual ? usual / far * error[x * k + j] : 0;
            start[x * k + j] =
                c->at[x] >= 0 ? s->k.truth[c->at[x] * k + j] : fmax(0, p[x * k + j] + e);
        }
    }
    FERRY_TRY(ferry_i_diffuse(ctx, &how, p, NULL));
done:
    FERRY_FREE(start, error, alpha);
    return st;
}

static ferry_status smoothed_predict(ferry_ctx *ctx, const void *model,
                                     const ferry_domain *d, ferry_prediction *p)
{
    ferry_status st = FERRY_OK;
    const state *s = model;
    double *answers = NULL, factor = s->real[2];
    crowd c = {0};

    FERRY_TRY(ferry_i_outputs_check(ctx, &s->outputs, p));
    FERRY_TRY(crowd_new(ctx, s, d, &factor, &c));
    FERRY_NEW(ctx, answers, c.n * s->b.k);
    FERRY_TRY(probabilities(ctx, s, &c, answers));
    if (s->steps == 0) FERRY_TRY(correct_smooth(ctx, s, &c, answers));
    for (int64_t x = 0; x < c.n; x++)
        ferry_i_outputs_decide(&s->outputs, answers + x * s->b.k, x, p);
done:
    ferry_i_free(answers);
    crowd_clear(&c);
    return st;
}

/* steps says which of the two it is; a file is a stranger's. */
static void smoothed_file(ferry_io *io, void *model)
{
    state *s = model;

    ferry_i_known_base_file(io, &s->b, &s->outputs, &s->k);
    ferry_i_io_ints(io, "steps", 1, &s->steps);
    ferry_i_io_numbers(io, "shares", 3, s->real);
    FERRY_IO_NEED(io,
                  s->steps >= 0 && s->steps <= 100 && s->real[0] >= 0 && s->real[0] <= 1 &&
                      s->real[1] >= 0 && s->real[1] <= 1 &&
                      (s->steps == 0 || s->real[2] > 0),
                  "tensor shares: %g, %g and %g", s->real[0], s->real[1], s->real[2]);
    if (io->st != FERRY_OK) return;
    ferry_i_linear_file(io, "model", "model.seen", FERRY_LINEAR_LOGREG, s->b.k,
                        ferry_i_base_width(&s->b), &s->model);
    if (s->steps == 0)
        ferry_i_io_reals(io, "residual", ferry_i_ids_count(s->k.ids), s->b.k, &s->residual);
}

/* For ferry predict: which graphs to ask for, whose labels are known to neighbours. */
static const ferry_ids *smoothed_graphs(const void *model)
{
    return ((const state *)model)->k.graphs;
}

static const ferry_ids *smoothed_known(const void *model)
{
    return ((const state *)model)->k.ids;
}

#define SMOOTHED                                                                           \
    .kind = FERRY_KIND_BASELINE, .goals = FERRY_CLASSIFY,                                  \
    .needs = FERRY_NEED_TARGET_VIEW | FERRY_NEED_GRAPH | FERRY_NEED_TARGET_LABELS,         \
    .fits = smoothed_fits, .fit = smoothed_fit, .predict = smoothed_predict,               \
    .graphs = smoothed_graphs, .known = smoothed_known,                                    \
    FERRY_STATE(state, smoothed_file, smoothed_free)

const ferry_method ferry_i_method_sgc = {
    .name = "sgc",
    .summary = "logistic regression on features that are smoothed over the target's graphs",
    .reference = "Wu et al., Simplifying Graph Convolutional Networks, ICML 2019",
    FERRY_OPTIONS(sgc_opts, smoothed_options),
    SMOOTHED,
};

const ferry_method ferry_i_method_correct_smooth = {
    .name = "correct-smooth",
    .summary = "logistic regression, whose errors and answers spread over the target's "
               "graphs",
    .reference = "Huang et al., Combining Label Propagation and Simple Models "
                 "Out-performs Graph Neural Networks, ICLR 2021",
    FERRY_OPTIONS(correct_smooth_opts, smoothed_options),
    SMOOTHED,
};
