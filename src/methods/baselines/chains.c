/* chains: classifier chains. A logistic regression for every label that sees the features and, as further ones, the labels
 * that come before it in a random order; several chains with orders of their own, and the mean of their probabilities.
 *
 * While learning the labels before are the true ones, at prediction those that the chain has given (0 or 1).
 * C = 1 is the default of logreg; nothing was tuned. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "methods/shared/ranked.h"

typedef struct chains_options {
    int train, scale;
    int64_t chains;
    double C, eps;
} chains_options;

static const ferry_opt chains_opts[] = {
    BASE_OPT_TRAIN(chains_options),
    FERRY_OPT_SCALE(chains_options),
    FERRY_OPT(chains_options, INT, chains, 0, 0, 1000,
              "chains; 0: 10, or fewer where they would be more than 200 regressions"),
    FERRY_OPT(chains_options, REAL, C, 1, DBL_MIN, 1e9,
              "cost of errors against small weights"),
    FERRY_OPT(chains_options, REAL, eps, 1e-2, DBL_MIN, 1, "stopping tolerance"),
};

/* A row of w: d weights of features, k of the labels before by their place in the chain (0 from
 * its own place on), the constant. */
typedef struct state {
    base b;
    int64_t chains, d;
    int32_t *order; /* chains x k */
    double *w;      /* (chains k) x (d + k + 1), by place in the chain */
} state;

static void chains_free(void *model)
{
    state *s = model;

    if (!s) return;
    ferry_i_base_clear(&s->b);
    FERRY_FREE(s->order, s->w, s);
}

static ferry_status chains_fits(ferry_ctx *ctx, const ferry_task *task, const void *options)
{
    const chains_options *o = options;

    return ferry_i_base_fits(ctx, task,
                             &(base_wants){.method = "chains", .train = o->train});
}

/* ---- learning ---- */

/* The labels at places 0 .. n - 1 of a chain as columns. */
static ferry_status before(ferry_ctx *ctx, const examples *e, int64_t k,
                           const int32_t *order, int64_t n, ferry_matrix **out)
{
    FERRY_PASS(ferry_i_matrix_dense(ctx, e->n, n, out));
    for (int64_t i = 0; i < e->n; i++)
        for (int64_t j = 0; j < n; j++)
            (*out)->dense[i * n + j] = e->on[i * k + order[j]];
    return FERRY_OK;
}

/* The regression at place `at`. A label that is never or always on has a constant score. */
static ferry_status fit_place(ferry_ctx *ctx, const chains_options *o, const examples *e,
                              const state *s, const int32_t *order, int64_t at, double *w)
{
    ferry_status st = FERRY_OK;
    const ferry_linear_options how = {
        .kind = FERRY_LINEAR_LOGREG, .C = o->C, .eps = o->eps, .bias = true};
    const int64_t k = s->b.k;
    ferry_matrix *part[2] = {NULL, NULL}, *joined = NULL;
    ferry_linear *m = NULL;
    uint8_t *on = NULL;

    FERRY_NEW(ctx, on, e->n);
    for (int64_t i = 0; i < e->n; i++)
        on[i] = e->on[i * k + order[at]];
    if (at > 0) {
        part[0] = ferry_i_matrix_ref(e->x);
        FERRY_TRY(before(ctx, e, k, order, at, &part[1]));
        FERRY_TRY(ferry_i_matrix_beside(ctx, e->x->dense != NULL, 2, part, &joined));
    }
    FERRY_TRY(ferry_i_linear_fit_sets(ctx, &how, joined ? joined : e->x, 1, on, &m));
    memcpy(w, m->w, (size_t)(s->d + at) * sizeof *w);
    w[s->d + k] = m->w[s->d + at];
done:
    ferry_i_matrix_free(part[0]);
    ferry_i_matrix_free(part[1]);
    ferry_i_matrix_free(joined);
    ferry_i_linear_free(m);
    ferry_i_free(on);
    return st;
}

static ferry_status chains_fit(ferry_ctx *ctx, const ferry_task *task, const void *options,
                               void **out, ferry_fit_info *rep)
{
    ferry_status st = FERRY_OK;
    const chains_options *o = options;
    examples e = {0};
    state *s = NULL;
    int64_t *all = NULL;
    ferry_rng rng;
    bool finish = false;

    *out = NULL;
    FERRY_NEW(ctx, s, 1);
    FERRY_TRY(ferry_i_base_fit(
        ctx, task, &(base_wants){.method = "chains", .train = o->train, .scale = o->scale},
        &s->b, &e));
    const int64_t k = s->b.k, fit = 200 / k;
    const int64_t chains = o->chains > 0 ? o->chains : fit < 1 ? 1 : fit > 10 ? 10 : fit;
    s->d = e.x->cols;
    FERRY_NEW(ctx, s->order, chains * k);
    FERRY_NEW(ctx, s->w, chains * k * (s->d + k + 1));
    FERRY_NEW(ctx, all, k);
    ferry_i_rng_for(ctx, &rng, "chains");
    for (; s->chains < chains && !finish; s->chains++) {
        int32_t *order = s->order + s->chains * k;
        for (int64_t j = 0; j < k; j++)
            all[j] = j;
        ferry_i_rng_shuffle(&rng, k, all);
        for (int64_t j = 0; j < k; j++)
            order[j] = (int32_t)all[j];
        for (int64_t j = 0; j < k; j++)
            FERRY_TRY(fit_place(ctx, o, &e, s, order, j,
                                s->w + (s->chains * k + j) * (s->d + k + 1)));
        FERRY_TRY(ferry_i_progress(ctx, "chains", s->chains + 1, chains, NAN, &finish));
    }
    ferry_i_diag_real(ctx, "chains", (double)s->chains);
    rep->iters = s->chains;
    FERRY_MOVE(*out, s);
done:
    ferry_i_free(all);
    ferry_i_examples_clear(&e);
    chains_free(s);
    return st;
}

/* ---- prediction ---- */

/* One instance along one chain: f (k) holds what its features say at each place; given (k) is room for
 * the labels before. Adds the probabilities to score. */
static void follow(const state *s, const double *w, const int32_t *order, const double *f,
                   double *given, double *score)
{
    const int64_t k = s->b.k, width = s->d + k + 1;

    for (int64_t j = 0; j < k; j++) {
        double sum = f[j];
        for (int64_t h = 0; h < j; h++)
            sum += w[j * width + s->d + h] * given[h];
        given[j] = sum > 0;
        score[order[j]] += 1 / (1 + exp(-sum)) / (double)s->chains;
    }
}

static ferry_status chains_predict(ferry_ctx *ctx, const void *model, const ferry_domain *d,
                                   ferry_prediction *p)
{
    ferry_status st = FERRY_OK;
    const state *s = model;
    const int64_t k = s->b.k, width = s->d + k + 1;
    ferry_matrix *x = NULL;
    ferry_block *scores = NULL, *f = NULL;
    int64_t *instance = NULL;
    double *w = NULL, *given = NULL;

    FERRY_TRY(ferry_i_base_predict_prior(ctx, &s->b, p));
    FERRY_TRY(ferry_i_base_query(ctx, &s->b, d, &x, &instance));
    FERRY_TRY(ferry_i_block_new(ctx, x->rows, k, &scores));
    FERRY_TRY(ferry_i_block_new(ctx, x->rows, k, &f));
    FERRY_NEW(ctx, w, k * (s->d + 1));
    FERRY_NEW(ctx, given, k);
    for (int64_t c = 0; c < s->chains; c++) {
        const double *from = s->w + c * k * width;
        for (int64_t j = 0; j < k; j++) { /* the features' part of the chain */
            memcpy(w + j * (s->d + 1), from + j * width, (size_t)s->d * sizeof *w);
            w[j * (s->d + 1) + s->d] = from[j * width + s->d + k];
        }
        FERRY_TRY(ferry_i_linear_apply(ctx, x, k, w, f));
        for (int64_t i = 0; i < x->rows; i++)
            follow(s, from, s->order + c * k, FERRY_ROW(f, i), given, FERRY_ROW(scores, i));
    }
    ferry_i_base_predict_scores(&s->b, scores, instance, 0.5, p);
done:
    FERRY_FREE(instance, w, given, f, scores);
    ferry_i_matrix_free(x);
    return st;
}

/* ---- save and load ---- */

static void chains_file(ferry_io *io, void *model)
{
    state *s = model;
    int64_t chains = s->chains;

    ferry_i_ranked_base(io, &s->b);
    ferry_i_io_ints(io, "chains", 1, &chains);
    FERRY_IO_NEED(io, chains >= 1 && chains <= 1000, "tensor chains is %lld",
                  (long long)chains);
    if (io->st != FERRY_OK) return;
    const int64_t k = s->b.k, d = ferry_i_base_width(&s->b);
    if (ferry_i_io_loading(io)) {
        s->chains = chains;
        s->d = d;
    }
    ferry_i_io_places(io, "order", chains * k, 0, k, &s->order);
    ferry_i_io_reals(io, "w", chains * k, d + k + 1, &s->w);
}

const ferry_method ferry_i_method_chains = {
    .name = "chains",
    .summary = "logistic regressions, each of which sees the labels before it in a chain",
    .reference = "Read, Pfahringer, Holmes and Frank, Classifier Chains for Multi-label "
                 "Classification, Machine Learning 2011",
    .kind = FERRY_KIND_BASELINE,
    .goals = FERRY_MULTILABEL,
    .needs = FERRY_NEED_TARGET_VIEW,
    FERRY_OPTIONS(chains_opts, chains_options),
    .fits = chains_fits,
    .fit = chains_fit,
    .predict = chains_predict,
    FERRY_STATE(state, chains_file, chains_free),
};
