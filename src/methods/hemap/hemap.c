/* hemap: a source and a target whose features have nothing in common, in one space:
 * options, fit, descriptor. The problem is in hemap.h.
 *
 *   data     source and target prepared, labels and pairs by row, principal axes   (data.c)
 *   embed    mode ferry by known ties (solve.c), mode paper as published (paper.c)
 *   sample   source rows that mix with the target's, or that it is too risky   (sampling.c)
 *   gate     how much of the mapped prediction is believed                         (gate.c)
 *   learn    on the target's own features and on the places                       (parts.c)
 */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/ranks.h"
#include "methods/hemap/hemap.h"

static const ferry_opt hemap_opts[] = {
    FERRY_OPT_ONE_OF(hemap_options, mode, "ferry|paper|,linear|,nonlinear", "ferry",
                     "tie what is known to belong together, or as published"),
    FERRY_OPT_ONE_OF(hemap_options, variant, "linear|nonlinear", "linear",
                     "paper: Algorithm 3, or 4 with clusters"),
    FERRY_OPT(hemap_options, INT, k, 0, 0, 1e6,
              "dimensions of the space; 0: 15 for ferry, 1 for paper"),
    FERRY_OPT(hemap_options, REAL, beta, 1, 0, 1e6,
              "how alike the two sets should be; 2 makes B_T = B_S"),
    FERRY_OPT(hemap_options, REAL, theta, 0.5, 0, 1,
              "nonlinear: weight of features against clusters"),
    FERRY_OPT(hemap_options, INT, clusters, 2, 1, 1e6, "nonlinear: clusters of the target"),
    FERRY_OPT_YES_NO(hemap_options, exact, "no",
                     "paper: B_T'B_T = I and B_S'B_S = I, not only B'B = I"),
    FERRY_OPT_ONE_OF(hemap_options, solver, "cca|eig", "cca",
                     "ferry: regularised CCA, or the paper's matrix with known ties"),
    FERRY_OPT(hemap_options, REAL, ridge, 0.1, 1e-12, 1e6,
              "cca: added to the covariances, times their mean eigenvalue"),
    FERRY_OPT(hemap_options, INT, bins, 5, 2, 1e6, "regress: quantiles that are tied"),
    FERRY_OPT_SCALE(hemap_options),
    FERRY_OPT_ONE_OF(hemap_options, learner, "auto|knn|logreg|ridge", "auto",
                     "learner on the space; auto: knn for classes, ridge for numbers"),
    FERRY_OPT_ONE_OF(hemap_options, base, "auto|knn|logreg|ridge", "auto",
                     "learner on the target's own features; auto: logreg or ridge"),
    FERRY_OPT_AS(hemap_options, "neighbours", INT, learning.neighbours, 10, 1, 1e6,
                 "knn: neighbours that vote"),
    FERRY_OPT_AS(hemap_options, "lambda", REAL, learning.lambda, 1, 1e-12, 1e12,
                 "ridge: weight of |W|^2"),
    FERRY_OPT_AS(hemap_options, "C", REAL, learning.C, 3, 1e-9, 1e9,
                 "logreg: cost of errors against small weights"),
    FERRY_OPT_ONE_OF(hemap_options, rows, "both|source|target", "both",
                     "labelled rows that the learner on the space learns from"),
    FERRY_OPT(hemap_options, REAL, weight, 1, 1e-12, 1,
              "knn, ridge: weight of a source row; a target row has 1"),
    FERRY_OPT(hemap_options, REAL, gamma, -1, -1, 1,
              "share of the mapped prediction; -1: by cross-validation (paper: 1)"),
    FERRY_OPT(hemap_options, INT, folds, 5, 2, 1e6, "of that cross-validation"),
    FERRY_OPT(hemap_options, REAL, caution, 2, 0, 100,
              "standard errors by which transfer must win there"),
    FERRY_OPT_ONE_OF(
        hemap_options, sampling, "auto|yes|no", "auto",
        "learn only from source rows that mix with the target's; auto: in mode paper"),
    FERRY_OPT_ONE_OF(hemap_options, divergence, "corrected|printed", "corrected",
                     "sampling: which KL divergence tells the risk"),
    FERRY_OPT(hemap_options, REAL, risk, 0.5, 0, 1e6,
              "sampling: above this divergence the source is not used"),
    FERRY_OPT(hemap_options, REAL, kappa, 0.5, 0, 1e6,
              "sampling: centroids agree within this share of a cluster's radius"),
    FERRY_OPT(
        hemap_options, REAL, tau, 2, 1, 1e6,
        "sampling: shares of target and source in a cluster agree within this factor"),
    FERRY_OPT(hemap_options, INT, min_size, 5, 1, 1e9, "sampling: least rows of a cluster"),
    FERRY_OPT(hemap_options, INT, min_clusters, 8, 1, 1e9,
              "sampling: least number of clusters"),
    FERRY_OPT_ONE_OF(hemap_options, translate, "auto|yes|no", "auto",
                     "source labels; auto: in mode paper, or when the label sets differ"),
    FERRY_OPT_ONE_OF(hemap_options, select, "auto|yes|no", "auto",
                     "the old name of sampling"),
    FERRY_OPT_ONE_OF(hemap_options, bridge, "auto|yes|no", "auto",
                     "the old name of translate"),
};

/* Old spellings of options as today's. Scripts that have them go on working; of
 * sampling and translate the new spelling wins where both are given. */
static hemap_options settings(const void *options)
{
    hemap_options o = *(const hemap_options *)options;

    if (o.mode >= MODE_LINEAR) {
        o.variant = o.mode == MODE_LINEAR ? VARIANT_LINEAR : VARIANT_NONLINEAR;
        o.mode = MODE_PAPER;
    }
    if (o.sampling == AUTO) o.sampling = o.select;
    if (o.translate == AUTO) o.translate = o.bridge;
    return o;
}

/* Whether any label of the domain may be seen. */
static bool any_label(const ferry_domain *d)
{
    for (int64_t i = 0; d->labels && i < d->labels->n; i++)
        if (ferry_i_labels_has(d->labels, i)) return true;
    return false;
}

/* One source; something that ties the sets; labels to learn from, unless it only embeds.
 * Learners are counted from 1 in the options (0 is auto), hence the + 1. */
static ferry_status hemap_fits(ferry_ctx *ctx, const ferry_task *task, const void *options)
{
    ferry_status st = FERRY_OK;
    const hemap_options *o = options;
    const ferry_domain *target = NULL, *source = ferry_i_task_role(task, FERRY_SOURCE, 0);

    FERRY_TRY(ferry_i_task_target(ctx, task, &target));
    FERRY_NEED(
        ctx,
        !ferry_i_ranks_split(ctx) ||
            (o->mode == MODE_FERRY && !target->pairs && !source->pairs),
        FERRY_ENEEDS,
        "hemap: mode=paper and pairs tie rows of different ranks, which --engine mpi does "
        "not; classes and quantiles run with it");
    FERRY_NEED(ctx, ferry_i_task_count_role(task, FERRY_SOURCE) == 1, FERRY_ENEEDS,
               "hemap maps one source; this task has %lld",
               (long long)ferry_i_task_count_role(task, FERRY_SOURCE));
    FERRY_NEED(ctx,
               o->mode != MODE_FERRY || target->pairs || source->pairs ||
                   (any_label(source) && any_label(target)),
               FERRY_ENEEDS,
               "hemap needs something that ties source '%s' to target '%s': pairs, or "
               "labels in both",
               source->name, target->name);
    FERRY_NEED(ctx, task->goal == FERRY_EMBED || any_label(target) || any_label(source),
               FERRY_ENEEDS, "hemap needs labels in source '%s' or target '%s'",
               source->name, target->name);
    FERRY_NEED(ctx,
               task->goal != FERRY_REGRESS || (o->learner != FERRY_LEARNER_LOGREG + 1 &&
                                               o->base != FERRY_LEARNER_LOGREG + 1),
               FERRY_ENEEDS, "hemap: logreg does not serve the goal regress");
done:
    return st;
}

/* The first two dimensions of up to 500 rows, evenly chosen: [[z1, z2], ...]. For a picture
 * only: it is not kept in the model. With one dimension the second is 0. */
static json_t *scatter(const ferry_block *z)
{
    const int64_t most = 500, n = z->rows < most ? z->rows : most;
    json_t *points = json_array();

    for (int64_t i = 0; i < n; i++) {
        const double *p = FERRY_ROW(z, i * z->rows / n);
        json_array_append_new(points, json_pack("[f,f]", p[0], z->k > 1 ? p[1] : 0.0));
    }
    return points;
}

/* What ties the sets, how strong each dimension is, and a picture of both sets. */
static void tell_embedding(ferry_ctx *ctx, const hemap_data *d, const hemap_embedding *e)
{
    static const char *const variants[] = {"linear", "nonlinear"};
    const bool ferry = d->o->mode == MODE_FERRY;
    const char *by = d->n_pairs > 0 ? "row pairs"
                     : !ferry       ? "row order"
                     : d->yn        ? "quantiles"
                                    : "classes";

    ferry_i_diag_text(ctx, "mode", ferry ? "ferry" : "paper");
    if (!ferry) ferry_i_diag_text(ctx, "variant", variants[d->o->variant]);
    ferry_i_diag_text(ctx, "tied_by", e->ties > 0 ? by : "nothing");
    ferry_i_diag_real(ctx, "ties", (double)(d->n_pairs > 0 ? d->n_pairs : e->ties));
    if (e->ties == 0) return;
    ferry_i_diag_real(ctx, "dimensions", (double)e->zt->k);
    ferry_i_diag_reals(ctx, ferry && d->o->solver == 0 ? "correlations" : "eigenvalues",
                       e->zt->k, e->strength);
    ferry_i_diag_json(
        ctx, "scatter",
        json_pack("{s:o,s:o}", "target", scatter(e->zt), "source", scatter(e->zs)));
    if (ferry) return;
    ferry_i_diag_text(ctx, "note",
                      d->n_pairs > 0
                          ? "rows beyond the pairs are tied by a random order, which "
                            "decides the result"
                          : "row i of the source is tied to row i of the target: that "
                            "pairing, here random, decides the result");
}

/* Shares of rows kept, and both divergences: they are told even when the choice was not
 * theirs. */
static void tell_sample(ferry_ctx *ctx, const hemap_sample *s, int64_t rows)
{
    static const char *const keys[] = {"clusters", "kept", "kl", "kl_printed"};
    const double values[] = {(double)s->clusters, (double)s->kept / (double)rows, s->kl,
                             s->kl_printed};

    ferry_i_diag_named(ctx, "selection", 4, keys, values);
}

/* Losses only where there was a cross-validation. */
static void tell_gate(ferry_ctx *ctx, const hemap_gate *gate)
{
    ferry_i_diag_real(ctx, "gamma", gate->gamma);
    if (gate->folds > 0) ferry_i_diag_reals(ctx, "gate_loss", HEMAP_GAMMAS, gate->loss);
}

/* The source is not used: a result, not an error. gamma = 0 sends every answer to the
 * target's own learner; `fmt` takes up to two numbers. */
static void refuse(ferry_ctx *ctx, hemap_gate *gate, const char *fmt, double a, double b)
{
    char why[256];

    (void)snprintf(why, sizeof why, fmt, a, b);
    gate->gamma = 0;
    ferry_i_diag_text(ctx, "refused", why);
    ferry_i_diag_text(ctx, "note", why);
    ferry_i_log(ctx, FERRY_INFO, "hemap: %s", why);
}

/* The model before anything is learned: sizes and prior. k is 1 for numbers. The prior
 * answers for instances without features, and for everybody after a refusal without target
 * labels. */
static ferry_status model_new(ferry_ctx *ctx, hemap_data *d, hemap_model **out)
{
    ferry_status st = FERRY_OK;
    hemap_model *m = ferry_i_calloc(1, sizeof *m);
    const int64_t n = d->n_labelled > 0 ? d->n_labelled : d->n_taught;

    *out = m;
    FERRY_HAVE(ctx, m);
    m->goal = d->goal;
    m->k = d->k;
    m->d = d->t->cols;
    FERRY_NEW(ctx, m->prior, d->k > 0 ? d->k : 1);
    /* Of the target's labels, or of the source's where there are none. */
    for (int64_t i = 0; i < (d->n_labelled > 0 ? d->nt : d->ns); i++) {
        if (d->goal == FERRY_REGRESS) {
            const double y = d->n_labelled > 0 ? d->yn[i] : d->vn[i];
            if (!isnan(y)) m->prior[0] += y / (double)n;
        } else {
            const int32_t c = d->n_labelled > 0 ? d->yc[i] : d->vc[i];
            if (c >= 0) m->prior[c] += 1 / (double)n;
        }
    }
done:
    return st;
}

/* Which source rows to learn from, or that it is too risky. In mode ferry the gate does
 * this work, by labels instead of shapes: a divergence of marginals does not see whether a
 * source is related (noise scores better than a real one). */
static ferry_status sample_rows(ferry_ctx *ctx, const hemap_data *d,
                                const hemap_embedding *e, hemap_sample *s, hemap_gate *gate)
{
    ferry_status st = FERRY_OK;
    const hemap_options *o = d->o;
    const hemap_sampling how = {.kappa = o->kappa,
                                .min_size = o->min_size,
                                .tau = o->tau,
                                .min_clusters = o->min_clusters,
                                .risk = o->risk,
                                .printed = o->divergence == 1};

    if (o->sampling == NO || (o->sampling == AUTO && o->mode == MODE_FERRY)) goto done;
    FERRY_TRY(ferry_i_hemap_choose_rows(ctx, e->zt, e->zs, &how, s));
    tell_sample(ctx, s, d->ns);
    if (!s->risky) goto done;
    if (s->kept == 0)
        refuse(ctx, gate, "too risky: no source rows mix with the target's; not used", 0,
               0);
    else
        refuse(ctx, gate,
               "too risky: source and target differ by %.3g, more than %.3g; not used",
               how.printed ? s->kl_printed : s->kl, how.risk);
done:
    return st;
}

/* gamma, once the embedding is there: as set, by cross-validation, or 0 after a refusal.
 * Without target labels there is no other answer than the mapped one. */
static ferry_status set_gate(ferry_ctx *ctx, const hemap_data *d, const hemap_embedding *e,
                             const hemap_sample *s, hemap_gate *gate)
{
    const hemap_options *o = d->o;

    if (s->risky || e->ties == 0) return FERRY_OK;
    if (o->gamma >= 0)
        gate->gamma = o->gamma;
    else if (o->mode != MODE_FERRY)
        gate->gamma = 1;
    else
        FERRY_PASS(ferry_i_hemap_choose(ctx, d, e, s->keep, gate));
    if (d->n_labelled == 0) gate->gamma = 1;
    return FERRY_OK;
}

/* Learn what predicts. The order matters: a refusal sets gamma = 0 before the gate is
 * asked, and the mapped learner is made only when it will be used. */
static ferry_status learn(ferry_ctx *ctx, const hemap_data *d, const hemap_embedding *e,
                          hemap_gate *gate, hemap_model *m)
{
    ferry_status st = FERRY_OK;
    hemap_sample s = {0};

    if (e->ties == 0)
        refuse(ctx, gate,
               "nothing ties the source to the target (no pairs, and no two classes that "
               "both have); not used",
               0, 0);
    else
        FERRY_TRY(sample_rows(ctx, d, e, &s, gate));
    FERRY_TRY(set_gate(ctx, d, e, &s, gate));
    FERRY_TRY(ferry_i_hemap_learn_own(ctx, d, NULL, &m->parts));
    if (gate->gamma > 0)
        FERRY_TRY(ferry_i_hemap_learn_mapped(ctx, d, NULL, e, s.keep, &m->parts));
    m->gamma = m->parts.mapped ? gate->gamma : 0;
    gate->gamma = m->gamma;
    if (d->differ && d->yn && m->parts.mapped) {
        const double line[] = {m->parts.a, m->parts.c};
        ferry_i_diag_reals(ctx, "translation", 2, line);
    }
    tell_gate(ctx, gate);
    if (m->gamma == 0 && gate->folds > 0)
        ferry_i_diag_text(ctx, "note",
                          "gamma = 0: nothing was taken from the source (no gain on the "
                          "labelled target instances)");
done:
    ferry_i_hemap_sample_clear(&s);
    return st;
}

/* Data, embedding, what predicts, and the report. The space and the preparation move to the
 * model; labels and rows are forgotten. */
static ferry_status hemap_fit(ferry_ctx *ctx, const ferry_task *task, const void *options,
                              void **state, ferry_fit_info *rep)
{
    ferry_status st = FERRY_OK;
    const hemap_options o = settings(options);
    hemap_data d = {0};
    hemap_embedding e = {0};
    hemap_gate gate = {0};
    hemap_model *m = NULL;

    *state = NULL;
    FERRY_TRY(ferry_i_hemap_data_new(ctx, task, &o, &d));
    FERRY_TRY(model_new(ctx, &d, &m));
    FERRY_TRY(ferry_i_hemap_embed(ctx, &d, NULL, &e));
    tell_embedding(ctx, &d, &e);
    FERRY_NEED(ctx, e.ties > 0 || d.goal != FERRY_EMBED, FERRY_ENEEDS,
               "hemap: nothing ties the source to the target: no pairs, and no two classes "
               "that both have");
    if (d.goal != FERRY_EMBED) FERRY_TRY(learn(ctx, &d, &e, &gate, m));
    FERRY_TRY(ferry_i_progress(ctx, "hemap", 1, 1, e.objective, &gate.finish));
    m->space = e.space;
    e.space = (hemap_space){0};
    ferry_i_prepared_forget(d.prepared);
    FERRY_MOVE(m->prepared, d.prepared);
    rep->stop = gate.finish ? FERRY_STOP_FINISH : FERRY_STOP_DONE;
    rep->objective = e.objective;
    FERRY_MOVE(*state, m);
done:
    ferry_i_hemap_free(m);
    ferry_i_hemap_embedding_clear(&e);
    ferry_i_hemap_data_clear(&d);
    return st;
}

const ferry_method ferry_i_method_hemap = {
    .name = "hemap",
    .summary = "one space for a source and a target without common features, and a gate",
    .reference =
        "Shi et al., Transfer Learning on Heterogeneous Feature Spaces via Spectral "
        "Transformation, ICDM 2010",
    .kind = FERRY_KIND_TRANSFER,
    .goals = FERRY_CLASSIFY | FERRY_REGRESS | FERRY_EMBED,
    .needs = FERRY_NEED_SOURCE | FERRY_NEED_ONE_VIEW,
    FERRY_OPTIONS(hemap_opts, hemap_options),
    .fits = hemap_fits,
    .fit = hemap_fit,
    .spreads = true,
    .predict = ferry_i_hemap_predict,
    .transform = ferry_i_hemap_transform,
    FERRY_STATE(hemap_model, ferry_i_hemap_file, ferry_i_hemap_free),
};
