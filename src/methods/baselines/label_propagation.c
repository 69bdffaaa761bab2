/* label-propagation: labels spread over the target's graphs; features are not looked at.
 *
 *   P(x) = label of x                                                where it is known
 *   P(x) = (1 - alpha) prior + alpha mean of P over the neighbours of x          else
 *
 * by repeated substitution (learn/diffuse.h) over all graphs with equal weight, when asked:
 * the model is nothing but the labels it knows.
 */
#include "learn/diffuse.h"
#include "methods/shared/boosted.h"
#include "methods/shared/known.h"

typedef struct propagation_options {
    double alpha;
    int64_t max_iter;
    double tol;
} propagation_options;

static const ferry_opt propagation_opts[] = {
    FERRY_OPT(propagation_options, REAL, alpha, 0.99, 0, 1,
              "share of the neighbours, against the prior"),
    FERRY_OPT(propagation_options, INT, max_iter, 200, 1, 1e6, "steps, at most"),
    FERRY_OPT(propagation_options, REAL, tol, 1e-5, 0, 1, "change to stop at"),
};

typedef struct state {
    ferry_outputs outputs;
    known_labels k;
    propagation_options o;
} state;

static void propagation_free(void *model)
{
    state *s = model;

    if (!s) return;
    ferry_i_known_clear(&s->k);
    ferry_i_free(s);
}

/* Nothing is learned: labels and names are kept. */
static ferry_status propagation_fit(ferry_ctx *ctx, const ferry_task *task,
                                    const void *options, void **out, ferry_fit_info *rep)
{
    ferry_status st = FERRY_OK;
    const ferry_domain *t = NULL;
    state *s = NULL;
    double *y = NULL;
    uint8_t *labelled = NULL;

    (void)rep;
    *out = NULL;
    FERRY_NEW(ctx, s, 1);
    s->o = *(const propagation_options *)options;
    FERRY_TRY(ferry_i_task_target(ctx, task, &t));
    FERRY_TRY(ferry_i_boosted_labels(ctx, task, t, &s->outputs, &y, &labelled));
    FERRY_TRY(ferry_i_known_new(ctx, t, &s->outputs, y, labelled, &s->k));
    FERRY_MOVE(*out, s);
done:
    FERRY_FREE(y, labelled);
    propagation_free(s);
    return st;
}

/* Costs max_iter passes over the edges, at most. */
static ferry_status propagation_predict(ferry_ctx *ctx, const void *model,
                                        const ferry_domain *d, ferry_prediction *p)
{
    ferry_status st = FERRY_OK;
    const state *s = model;
    const int64_t n = p->n, m = s->outputs.classes;
    double *start = NULL, *answers = NULL, *alpha = NULL, *w = NULL;
    int64_t *at = NULL, q = 0;
    ferry_matrix **graph = NULL;

    FERRY_TRY(ferry_i_outputs_check(ctx, &s->outputs, p));
    FERRY_TRY(ferry_i_known_need(ctx, "label-propagation", s->k.graphs, d));
    FERRY_TRY(ferry_i_known_graphs(ctx, &s->k, NULL, d, &graph, &w, &q));
    FERRY_NEW(ctx, start, n * m);
    FERRY_NEW(ctx, answers, n * m);
    FERRY_NEW(ctx, alpha, n);
    FERRY_NEW(ctx, at, n);
    ferry_i_known_places(&s->k, d, at);
    ferry_i_known_start(&s->k, n, at, start);
    for (int64_t x = 0; x < n; x++)
        alpha[x] = at[x] < 0 ? s->o.alpha : 0; /* a label stands fast */
    const ferry_diffusion how = {q, graph, w, n, m, start, alpha, s->o.max_iter, s->o.tol};
    FERRY_TRY(ferry_i_diffuse(ctx, &how, answers, NULL));
    for (int64_t x = 0; x < n; x++)
        ferry_i_outputs_decide(&s->outputs, answers + x * m, x, p);
done:
    FERRY_FREE(start, answers, alpha, at, w, graph);
    return st;
}

static void propagation_file(ferry_io *io, void *model)
{
    state *s = model;
    double reals[] = {s->o.alpha, s->o.tol};
    int64_t steps = s->o.max_iter;

    ferry_i_outputs_file(io, &s->outputs);
    ferry_i_known_file(io, s->outputs.classes, &s->k);
    FERRY_IO_NEED(io, s->k.prior, "tensor graphs is empty");
    ferry_i_io_numbers(io, "alpha_tol", 2, reals);
    ferry_i_io_ints(io, "max_iter", 1, &steps);
    FERRY_IO_NEED(io, reals[0] >= 0 && reals[0] <= 1 && steps > 0 && steps <= 1000000,
                  "tensor alpha_tol: %g, and %lld steps", reals[0], (long long)steps);
    if (ferry_i_io_loading(io)) s->o = (propagation_options){reals[0], steps, reals[1]};
}

/* For ferry predict: which graphs to ask for, whose labels are known to neighbours. */
static const ferry_ids *propagation_graphs(const void *model)
{
    return ((const state *)model)->k.graphs;
}

static const ferry_ids *propagation_known(const void *model)
{
    return ((const state *)model)->k.ids;
}

const ferry_method ferry_i_method_label_propagation = {
    .name = "label-propagation",
    .summary = "labels spread over the target's graphs, without features",
    .reference = "Zhu, Ghahramani and Lafferty, Semi-Supervised Learning Using Gaussian "
                 "Fields and Harmonic Functions, ICML 2003",
    .kind = FERRY_KIND_BASELINE,
    .spreads = true,
    .together = true,
    .goals = FERRY_CLASSIFY | FERRY_REGRESS,
    .needs = FERRY_NEED_GRAPH | FERRY_NEED_TARGET_LABELS,
    FERRY_OPTIONS(propagation_opts, propagation_options),
    .fit = propagation_fit,
    .predict = propagation_predict,
    .graphs = propagation_graphs,
    .known = propagation_known,
    FERRY_STATE(state, propagation_file, propagation_free),
};
