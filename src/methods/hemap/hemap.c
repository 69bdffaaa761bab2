/* hemap: map source and target, whose features have nothing in common, into one space.
 *
 * mode ferry (default): what is known ties the two sets (row pairs, classes, quantiles of a
 * number; cross.c), regularised CCA gives each instance a place from its own features
 * (space.c), a learner on the places may learn from the source (parts.c), and
 * cross-validation on the labelled target rows decides how much of it is believed (gate.c).
 *
 * modes linear and nonlinear: Algorithms 3 and 4 of the thesis (spectral.c, thesis.c) with
 * cluster-based selection (select.c) and output bridging (bridge.c). There row i of one set
 * is tied to row i of the other, and the result depends on the order of the rows.
 */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "methods/hemap/fit.h"

static const ferry_opt hemap_opts[] = {
    FERRY_OPT_ONE_OF(hemap_options, mode, "ferry|linear|nonlinear", "ferry",
                     "tie what is known to belong together, or the thesis's algorithms"),
    FERRY_OPT(hemap_options, INT, k, 0, 0, 1e6,
              "dimensions of the space; 0: 15 for ferry, 1 for the thesis's modes"),
    FERRY_OPT(hemap_options, REAL, beta, 1, 0, 1e6,
              "how alike the two sets should be; 2 makes B_T = B_S"),
    FERRY_OPT(hemap_options, REAL, theta, 0.5, 0, 1,
              "nonlinear: weight of features against clusters"),
    FERRY_OPT(hemap_options, INT, clusters, 2, 1, 1e6, "nonlinear: clusters of the target"),
    FERRY_OPT_YES_NO(hemap_options, exact, "no",
                     "thesis: B_T'B_T = I and B_S'B_S = I, not only B'B = I"),
    FERRY_OPT_ONE_OF(hemap_options, solver, "cca|eig", "cca",
                     "ferry: regularised CCA, or the thesis's matrix with known ties"),
    FERRY_OPT(hemap_options, REAL, ridge, 0.1, 1e-12, 1e6,
              "cca: added to the covariances, times their mean eigenvalue"),
    FERRY_OPT(hemap_options, INT, bins, 5, 2, 1e6, "regress: quantiles that are tied"),
    FERRY_OPT_ONE_OF(hemap_options, scale, "auto|none|standard|l2", "auto",
                     "scale features; auto: standard when dense, l2 when sparse"),
    FERRY_OPT_ONE_OF(hemap_options, learner, "auto|knn|logreg|ridge", "auto",
                     "learner on the space; auto: knn for classes, ridge for numbers"),
    FERRY_OPT_ONE_OF(hemap_options, base, "auto|knn|logreg|ridge", "auto",
                     "learner on the target's own features; auto: logreg or ridge"),
    FERRY_OPT_AS(hemap_options, "neighbours", INT, learning.neighbours, 10, 1, 1e6,
                 "knn: neighbours that vote"),
    FERRY_OPT_AS(hemap_options, "lambda", REAL, learning.lambda, 10, 1e-12, 1e12,
                 "ridge: weight of |W|^2"),
    FERRY_OPT_AS(hemap_options, "C", REAL, learning.C, 0.1, 1e-9, 1e9,
                 "logreg: cost of errors against small weights"),
    FERRY_OPT_ONE_OF(hemap_options, rows, "both|source|target", "both",
                     "labelled rows that the learner on the space learns from"),
    FERRY_OPT(hemap_options, REAL, weight, 1, 1e-12, 1,
              "knn, ridge: weight of a source row; a target row has 1"),
    FERRY_OPT(hemap_options, REAL, gamma, -1, -1, 1,
              "share of the mapped prediction; -1: by cross-validation (thesis: 1)"),
    FERRY_OPT(hemap_options, INT, folds, 5, 2, 1e6, "of that cross-validation"),
    FERRY_OPT(hemap_options, REAL, caution, 2, 0, 100,
              "standard errors by which transfer must win there"),
    FERRY_OPT_ONE_OF(
        hemap_options, select, "auto|yes|no", "auto",
        "learn only from source rows that mix with the target's; auto: thesis"),
    FERRY_OPT_ONE_OF(hemap_options, divergence, "corrected|printed", "corrected",
                     "select: which KL divergence tells the risk"),
    FERRY_OPT(hemap_options, REAL, risk, 0.5, 0, 1e6,
              "select: above this divergence the source is not used"),
    FERRY_OPT(hemap_options, REAL, kappa, 0.5, 0, 1e6,
              "select: centroids agree within this share of a cluster's radius"),
    FERRY_OPT(hemap_options, REAL, tau, 2, 1, 1e6,
              "select: shares of target and source in a cluster agree within this factor"),
    FERRY_OPT(hemap_options, INT, min_size, 5, 1, 1e9, "select: least rows of a cluster"),
    FERRY_OPT(hemap_options, INT, min_clusters, 8, 1, 1e9,
              "select: clusters that are made in any case"),
    FERRY_OPT_ONE_OF(hemap_options, bridge, "auto|yes|no", "auto",
                     "translate source labels; auto: thesis, or when the sets differ"),
};

/* ---- fits ---- */

static bool any_label(const ferry_domain *d)
{
    for (int64_t i = 0; d->labels && i < d->labels->n; i++)
        if (ferry_i_labels_has(d->labels, i)) return true;
    return false;
}

static ferry_status hemap_fits(ferry_ctx *ctx, const ferry_task *task, const void *options)
{
    ferry_status st = FERRY_OK;
    const hemap_options *o = options;
    const ferry_domain *target = NULL, *source = ferry_i_task_role(task, FERRY_SOURCE, 0);

    FERRY_TRY(ferry_i_task_target(ctx, task, &target));
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

/* ---- what is told ---- */

/* The first two dimensions of up to 500 rows, evenly chosen: [[z1, z2], ...]. */
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

static void tell_embedding(ferry_ctx *ctx, const hemap_data *d, const hemap_embedding *e)
{
    static const char *const modes[] = {"ferry", "linear", "nonlinear"};
    const bool ferry = d->o->mode == MODE_FERRY;
    const char *by = d->n_pairs > 0 ? "row pairs"
                     : !ferry       ? "row order"
                     : d->yn        ? "quantiles"
                                    : "classes";

    ferry_i_diag_text(ctx, "mode", modes[d->o->mode]);
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

static void tell_selection(ferry_ctx *ctx, const hemap_selected *s, int64_t rows)
{
    static const char *const keys[] = {"clusters", "kept", "kl", "kl_printed"};
    const double values[] = {(double)s->clusters, (double)s->kept / (double)rows, s->kl,
                             s->kl_printed};

    ferry_i_diag_named(ctx, "selection", 4, keys, values);
}

static void tell_gate(ferry_ctx *ctx, const hemap_gate *gate)
{
    ferry_i_diag_real(ctx, "gamma", gate->gamma);
    if (gate->folds > 0) ferry_i_diag_reals(ctx, "gate_loss", HEMAP_GAMMAS, gate->loss);
}

/* The source is not used: a result, not an error. */
static void refuse(ferry_ctx *ctx, hemap_gate *gate, const char *fmt, double a, double b)
{
    char why[256];

    (void)snprintf(why, sizeof why, fmt, a, b);
    gate->gamma = 0;
    ferry_i_diag_text(ctx, "refused", why);
    ferry_i_diag_text(ctx, "note", why);
    ferry_i_log(ctx, FERRY_INFO, "hemap: %s", why);
}

/* ---- fit ---- */

static ferry_status model_new(ferry_ctx *ctx, hemap_data *d, hemap_model **out)
{
    ferry_status st = FERRY_OK;
    hemap_model *m = ferry_i_calloc(1, sizeof *m);
    const int64_t n = d->n_labelled > 0 ? d->n_labelled : d->n_taught;

    *out = m;
    FERRY_HAVE(ctx, m);
    m->goal = d->goal;
    m->k = d->k;
    m->d = d->raw->cols;
    FERRY_NEW(ctx, m->prior, d->k > 0 ? d->k : 1);
    /* Of the target's labels, or of the source's where there are none. */
    for (int64_t i = 0; i < (d->n_labelled > 0 ? d->t->rows : d->s->rows); i++) {
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

/* Which source rows to learn from, or that it is too risky. */
static ferry_status select_rows(ferry_ctx *ctx, const hemap_data *d,
                                const hemap_embedding *e, hemap_selected *s,
                                hemap_gate *gate)
{
    ferry_status st = FERRY_OK;
    const hemap_options *o = d->o;
    const hemap_selecting how = {.kappa = o->kappa,
                                 .min_size = o->min_size,
                                 .tau = o->tau,
                                 .min_clusters = o->min_clusters,
                                 .risk = o->risk,
                                 .printed = o->divergence == 1};

    if (o->select == NO || (o->select == AUTO && o->mode == MODE_FERRY)) goto done;
    FERRY_TRY(ferry_i_hemap_select(ctx, e->zt, e->zs, &how, s));
    tell_selection(ctx, s, d->s->rows);
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

/* gamma, once the embedding is there: as set, by cross-validation, or 0 after a refusal. */
static ferry_status set_gate(ferry_ctx *ctx, const hemap_data *d, const hemap_embedding *e,
                             const hemap_selected *s, hemap_gate *gate)
{
    ferry_status st = FERRY_OK;
    const hemap_options *o = d->o;

    if (s->risky || e->ties == 0) goto done;
    if (o->gamma >= 0)
        gate->gamma = o->gamma;
    else if (o->mode != MODE_FERRY)
        gate->gamma = 1;
    else
        FERRY_TRY(ferry_i_hemap_choose(ctx, d, e, s->keep, gate));
    if (d->n_labelled == 0) gate->gamma = 1;
done:
    return st;
}

/* Learn what predicts. */
static ferry_status learn(ferry_ctx *ctx, const hemap_data *d, const hemap_embedding *e,
                          hemap_gate *gate, hemap_model *m)
{
    ferry_status st = FERRY_OK;
    hemap_selected s = {0};

    if (e->ties == 0)
        refuse(ctx, gate,
               "nothing ties the source to the target (no pairs, and no two classes that "
               "both have); not used",
               0, 0);
    else
        FERRY_TRY(select_rows(ctx, d, e, &s, gate));
    FERRY_TRY(set_gate(ctx, d, e, &s, gate));
    FERRY_TRY(ferry_i_hemap_learn_own(ctx, d, NULL, &m->parts));
    if (gate->gamma > 0)
        FERRY_TRY(ferry_i_hemap_learn_mapped(ctx, d, NULL, e, s.keep, &m->parts));
    m->gamma = m->parts.mapped ? gate->gamma : 0;
    gate->gamma = m->gamma;
    if (d->differ && d->yn && m->parts.mapped) {
        const double line[] = {m->parts.a, m->parts.c};
        ferry_i_diag_reals(ctx, "bridge", 2, line);
    }
    tell_gate(ctx, gate);
    if (m->gamma == 0 && gate->folds > 0)
        ferry_i_diag_text(ctx, "note",
                          "gamma = 0: nothing was taken from the source (no gain on the "
                          "labelled target instances)");
done:
    ferry_i_hemap_selected_clear(&s);
    return st;
}

static ferry_status hemap_fit(ferry_ctx *ctx, const ferry_task *task, const void *options,
                              void **state, ferry_report *rep)
{
    ferry_status st = FERRY_OK;
    hemap_data d = {0};
    hemap_embedding e = {0};
    hemap_gate gate = {0};
    hemap_model *m = NULL;

    *state = NULL;
    FERRY_TRY(ferry_i_hemap_data_new(ctx, task, options, &d));
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
    m->prep = d.prep_t;
    d.prep_t = NULL;
    rep->stop = gate.finish ? FERRY_STOP_FINISH : FERRY_STOP_DONE;
    rep->objective = e.objective;
    *state = m;
    m = NULL;
done:
    ferry_i_hemap_free(m);
    ferry_i_hemap_embedding_clear(&e);
    ferry_i_hemap_data_clear(&d);
    return st;
}

/* ---- predict ---- */

static ferry_status check_view(ferry_ctx *ctx, const hemap_model *m, const ferry_domain *d)
{
    ferry_status st = FERRY_OK;

    FERRY_NEED(ctx, d->n_views == 1, FERRY_EDATA, "hemap has one view, domain '%s' %lld",
               d->name, (long long)d->n_views);
    FERRY_NEED(ctx, d->views[0]->x->cols == m->d, FERRY_EDATA,
               "view '%s' has %lld features, the model's %lld", d->views[0]->name,
               (long long)d->views[0]->x->cols, (long long)m->d);
done:
    return st;
}

/* Places of the rows of d's view. */
static ferry_status place_rows(ferry_ctx *ctx, const hemap_model *m, const ferry_domain *d,
                               ferry_matrix **z)
{
    ferry_status st = FERRY_OK;
    ferry_matrix *x = NULL;

    FERRY_TRY(ferry_i_prep_apply(ctx, m->prep, d->views[0]->x, &x));
    FERRY_TRY(ferry_i_hemap_place(ctx, &m->space, x, z));
done:
    ferry_i_matrix_free(x);
    return st;
}

/* (1 - gamma) own + gamma mapped for the rows of d's view. */
static ferry_status mix(ferry_ctx *ctx, const hemap_model *m, const ferry_domain *d,
                        ferry_block **out)
{
    ferry_status st = FERRY_OK;
    const int64_t n = d->views[0]->x->rows;
    ferry_block *mapped = NULL;
    ferry_matrix *z = NULL;

    FERRY_TRY(ferry_i_block_new(ctx, n, m->k, out));
    FERRY_TRY(ferry_i_block_new(ctx, n, m->k, &mapped));
    FERRY_TRY(ferry_i_hemap_own_scores(ctx, &m->parts, d->views[0]->x, *out));
    if (m->gamma == 0) goto done;
    FERRY_TRY(place_rows(ctx, m, d, &z));
    FERRY_TRY(ferry_i_hemap_mapped_scores(ctx, &m->parts, z, mapped));
    ferry_e(ctx)->axpby(ctx, m->gamma, mapped, 1 - m->gamma, *out);
done:
    ferry_i_matrix_free(z);
    ferry_i_block_free(mapped);
    return st;
}

static void decide(const hemap_model *m, const double *score, int64_t i,
                   ferry_prediction *p)
{
    if (m->goal == FERRY_REGRESS) {
        p->value[i] = score[0];
        return;
    }
    memcpy(p->score + i * m->k, score, (size_t)m->k * sizeof *score);
    p->cls[i] = 0;
    for (int64_t c = 1; c < m->k; c++)
        if (score[c] > score[p->cls[i]]) p->cls[i] = (int32_t)c;
}

static ferry_status hemap_predict(ferry_ctx *ctx, const void *state, const ferry_domain *d,
                                  ferry_prediction *p)
{
    ferry_status st = FERRY_OK;
    const hemap_model *m = state;
    ferry_block *scores = NULL;

    FERRY_TRY(check_view(ctx, m, d));
    FERRY_NEED(ctx, p->goal == m->goal && (m->goal == FERRY_REGRESS || p->k == m->k),
               FERRY_EDATA, "the model has %lld classes, not %lld", (long long)m->k,
               (long long)p->k);
    for (int64_t i = 0; i < p->n; i++)
        decide(m, m->prior, i, p);
    if (!m->parts.own && m->gamma == 0) goto done; /* refused, and no labels of its own */
    FERRY_TRY(mix(ctx, m, d, &scores));
    for (int64_t i = 0; i < scores->rows; i++)
        decide(m, FERRY_ROW(scores, i), d->views[0]->instance[i], p);
done:
    ferry_i_block_free(scores);
    return st;
}

/* An instance without features has no place: the origin, which is the mean. */
static ferry_status hemap_transform(ferry_ctx *ctx, const void *state,
                                    const ferry_domain *d, ferry_prediction *p)
{
    ferry_status st = FERRY_OK;
    const hemap_model *m = state;
    ferry_matrix *z = NULL;

    FERRY_TRY(check_view(ctx, m, d));
    FERRY_TRY(place_rows(ctx, m, d, &z));
    p->k = m->space.k;
    FERRY_NEW(ctx, p->score, p->n * p->k);
    for (int64_t i = 0; i < z->rows; i++)
        memcpy(p->score + d->views[0]->instance[i] * p->k, z->dense + i * p->k,
               (size_t)p->k * sizeof *p->score);
done:
    ferry_i_matrix_free(z);
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
    .options = hemap_opts,
    .n_options = FERRY_COUNT(hemap_opts),
    .options_size = sizeof(hemap_options),
    .fits = hemap_fits,
    .fit = hemap_fit,
    .predict = hemap_predict,
    .transform = hemap_transform,
    .save = ferry_i_hemap_save,
    .load = ferry_i_hemap_load,
    .free = ferry_i_hemap_free,
};
