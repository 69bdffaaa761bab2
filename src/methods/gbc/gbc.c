/* gbc: gradient boosting consensus over several views, which may lack instances, and
 * graphs: options, fit, descriptor. The problem is in gbc.h, the iteration in solve.c.
 *
 * mode paper, as published: margin loss on E and Et, plain trees and a line search, weights
 * from training loss. mode ferry: soft targets, Newton leaves, labelled neighbours count
 * with their labels, weights by skill on held-out labels, lambda times |T|/|U|; average or
 * one additive score by cross-validation; graphs correct the answers too.
 *
 * Source: Shi, Heterogeneous Learning and Its Applications, thesis 2013, chapter 3. What
 * was changed and why: docs/methods/gbc.md. The data flow of a fit: open_job() makes arrays
 * of the task; make_plan() takes the options and asks cross-validation (tune.c) about the
 * rest; boost() iterates once more on all labels; keep_labels() stores what graphs need
 * when answers are given. */
#include <math.h>
#include <string.h>

#include "core/ranks.h"
#include "methods/gbc/gbc.h"

typedef enum mode { MODE_FERRY, MODE_PAPER } mode;
/* Of options that a mode decides: auto, or one of two. */
typedef enum tri { AUTO, FIRST, SECOND } tri;

/* Ints are places in the lists of gbc_opts. -1 in a number means: the mode decides. */
typedef struct gbc_options {
    int mode;
    double lambda0, lambda1;
    int targets, step, clamp, weights, combine, correct;
    double strength;
    int64_t folds, patience;
    int tune, learner;
    boosted_growing grow;
} gbc_options;
/* Values of `learner`. */
enum { LEARNER_AUTO, LEARNER_TREE, LEARNER_XGBOOST, LEARNER_LINEAR, LEARNER_HISTOGRAM };

static const ferry_opt gbc_opts[] = {
    FERRY_OPT_ONE_OF(gbc_options, mode, "ferry|paper,thesis", "ferry",
                     "improved, or as published; sets what is auto below"),
    FERRY_OPT(
        gbc_options, REAL, lambda0, -1, -1, 1e9,
        "consensus of the views, times labelled / unlabelled, at most 1 in all; -1: 0 "
        "(0.1 when a tenth of the instances lack a view); paper 0.3"),
    FERRY_OPT(gbc_options, REAL, lambda1, -1, -1, 1e9,
              "agreement of neighbours, likewise; -1: 0.3, but 0 for an average whose "
              "answers cross-validation may correct by graphs"),
    FERRY_OPT_ONE_OF(gbc_options, targets, "auto|soft|margin", "auto",
                     "classes: cross-entropy with s(E), or log(1 + exp(-E f)) (paper)"),
    FERRY_OPT_ONE_OF(gbc_options, step, "auto|newton|line", "auto",
                     "Newton leaves, or plain trees and a line search (paper)"),
    FERRY_OPT_ONE_OF(gbc_options, clamp, "auto|yes|no", "auto",
                     "labelled neighbours count with their labels (paper: no)"),
    FERRY_OPT_ONE_OF(gbc_options, weights, GBC_RULES, "auto",
                     "of the views: by skill on held-out labels; by training loss with the "
                     "root or softmax rule (paper: root); equal"),
    FERRY_OPT_ONE_OF(gbc_options, combine, "auto|average|additive", "auto",
                     "views are averaged, or add up to one score; auto: by "
                     "cross-validation (paper: average)"),
    FERRY_OPT_ONE_OF(gbc_options, correct, GBC_CORRECTS, "auto",
                     "what graphs do to answers; auto: by cross-validation (paper: no)"),
    FERRY_OPT(
        gbc_options, REAL, strength, -1, -1, 1e9,
        "of that: kappa of residual, share of the neighbours of smooth (up to 1); -1: 2, "
        "or by cross-validation"),
    FERRY_OPT(gbc_options, INT, folds, 3, 0, 100,
              "of cross-validation; 0: none, so nothing is chosen by it"),
    FERRY_OPT(gbc_options, INT, patience, 10, 1, 1e6,
              "stop after this many iterations without a better held-out loss"),
    FERRY_OPT_YES_NO(gbc_options, tune, "no",
                     "choose lambda0 and lambda1 by cross-validation"),
    FERRY_OPT_ONE_OF(
        gbc_options, learner, "auto|tree,exact|xgboost|linear|histogram", "auto",
        "boosted trees (xgboost, histogram: for large data), or linear scores over "
        "all views; auto: a mixture of trees, lines and labels that spread over the "
        "graphs, by cross-validation (paper, without it, or with an option of trees such "
        "as combine or lambda0: tree)"),
    BOOSTED_TREE_OPTS(gbc_options, grow),
};

/* What is to be learned, and how. */
typedef struct job {
    const gbc_options *o;
    const ferry_domain *t;
    ferry_outputs outputs;
    gbc_problem g;
    double *y;
    uint8_t *labelled, *mask;
    ferry_matrix **graph;
    ferry_prepared *prepared;
    boosted_views views;
    gbc_side side;
    gbc_nearest near;
    int64_t n_labelled;
    double unit; /* |T| / |U| */
    gbc_plan plan;
} job;

/* Also after a failure half way: what was not made is NULL. */
static void clear(job *j)
{
    FERRY_FREE(j->y, j->labelled, j->mask, j->graph);
    ferry_i_prepared_free(j->prepared);
    ferry_i_boosted_views_clear(&j->views);
    ferry_i_gbc_side_clear(&j->side);
    ferry_i_gbc_nearest_clear(&j->near);
    ferry_i_gbc_plan_clear(&j->plan);
}

/* The task as a gbc_problem. Arrays are the job's own; matrices of views and graphs stay
 * with the task. Fails where the task has no target. */
static ferry_status open_job(ferry_ctx *ctx, const ferry_task *task, job *j)
{
    ferry_status st = FERRY_OK;
    const gbc_options *o = j->o;
    const bool paper = o->mode == MODE_PAPER;
    int64_t lacking = 0;

    FERRY_TRY(ferry_i_task_target(ctx, task, &j->t));
    const ferry_domain *t = j->t;
    const int64_t n = ferry_i_ids_count(t->ids), p = t->n_views, q = t->n_graphs;
    FERRY_TRY(ferry_i_boosted_labels(ctx, task, t, &j->outputs, &j->y, &j->labelled));
    FERRY_NEW(ctx, j->mask, p * n);
    FERRY_NEW(ctx, j->graph, q);
    FERRY_TRY(ferry_i_boosted_prepare(ctx, "gbc", task, &j->prepared, &j->views));
    ferry_i_boosted_mask(&j->views, n, j->mask);
    for (int64_t i = 0; i < p; i++)
        FERRY_TRY(ferry_i_ranks_gather(ctx, n, sizeof *j->mask, j->mask + i * n));
    /* Complete views gain nothing from consensus; where more than a tenth of the entries
     * is missing a little of it is kept. */
    for (int64_t e = 0; e < p * n; e++)
        lacking += !j->mask[e];
    for (int64_t x = 0; x < n; x++)
        j->n_labelled += j->labelled[x];
    for (int64_t i = 0; i < q; i++)
        j->graph[i] = t->graphs[i]->a;
    /* Unlabelled rows outnumber labelled ones; without the unit they would be inertia. */
    j->unit = j->n_labelled < n ? (double)j->n_labelled / (double)(n - j->n_labelled) : 1;
    const double usual = paper ? 0.3 : 10 * lacking > p * n ? 0.1 : 0;
    const double l0 = o->lambda0 >= 0 ? o->lambda0 : usual;
    const double l1 = o->lambda1 >= 0 ? o->lambda1 : 0.3; /* make_plan may drop it */
    j->g = (gbc_problem){.n = n,
                         .p = p,
                         .q = q,
                         .k = j->outputs.k,
                         .mask = j->mask,
                         .labelled = j->labelled,
                         .y = j->y,
                         .graph = j->graph,
                         .logistic = !j->outputs.numbers,
                         .soft = o->targets == AUTO ? !paper : o->targets == FIRST,
                         .clamp = o->clamp == AUTO ? !paper : o->clamp == FIRST,
                         /* Beyond 1 an unlabelled instance would count more than a labelled
                          * one. */
                         .lambda0 = fmin(1, l0 * j->unit),
                         .lambda1 = q > 0 ? fmin(1, l1 * j->unit) : 0};
done:
    return st;
}

/* The plan as the options have it, before cross-validation. Losses are NaN until somebody
 * measures them. One view has nothing to add up: additive needs two. */
static void start_plan(const job *j, gbc_rule rule, gbc_plan *p)
{
    const gbc_options *o = j->o;
    ferry_boosting_options *grow = &p->o.grow;

    *grow = ferry_i_boosted_options(&o->grow, j->g.logistic);
    if (o->learner == LEARNER_XGBOOST) grow->how = FERRY_GROW_XGBOOST;
    if (o->learner == LEARNER_HISTOGRAM) grow->how = FERRY_GROW_HISTOGRAM;
    grow->line = o->step == AUTO ? o->mode == MODE_PAPER : o->step == SECOND;
    grow->all = grow->line;
    if (grow->line) { /* a plain tree: leaves are means, every row counts one */
        grow->tree.reg = o->grow.reg >= 0 ? o->grow.reg : 0;
        grow->tree.min_child = o->grow.min_child >= 0 ? o->grow.min_child : 1;
    }
    grow->additive = o->combine == GBC_ADDITIVE && j->g.p > 1;
    /* In skill and equal weights the training loss has no say: they are fixed before the
     * last run. */
    p->o.weights = rule == GBC_RULE_ROOT      ? GBC_ROOT
                   : rule == GBC_RULE_SOFTMAX ? GBC_SOFTMAX
                                              : GBC_FIXED;
    p->lambda0 = j->g.lambda0;
    p->lambda1 = j->g.lambda1;
    p->trees = o->grow.trees;
    p->stretch = 1;
    p->average_loss = p->additive_loss = p->constant_loss = p->loss = NAN;
    for (int64_t k = 0; k < GBC_KINDS; k++) {
        gbc_part *part = &p->part[k];
        *part = (gbc_part){.power = 1, .C = 10, .stretch = 1, .loss = NAN};
        part->correct =
            o->correct == GBC_CORRECT_AUTO ? GBC_CORRECT_NO : (gbc_correct)o->correct;
        part->strength = o->strength >= 0                      ? o->strength
                         : part->correct == GBC_CORRECT_SMOOTH ? 0.5
                                                               : 2;
        if (part->correct == GBC_CORRECT_SMOOTH) part->strength = fmin(1, part->strength);
    }
    p->part[o->learner == LEARNER_LINEAR ? GBC_LINE : GBC_TREES].share = 1;
}

/* Whether the user asked for something that only trees have. */
static bool of_trees(const gbc_options *o)
{
    return o->tune || o->lambda0 >= 0 || o->lambda1 >= 0 || o->targets || o->step ||
           o->clamp || o->weights || o->combine;
}

/* What cross-validation is asked; `lines`: whether there is more than trees. */
static gbc_tuning tuning_of(job *j, gbc_rule rule, bool lines)
{
    const gbc_options *o = j->o;

    return (gbc_tuning){.learner = o->learner == LEARNER_LINEAR ? GBC_LINEAR
                                   : lines                      ? GBC_LEARNER_AUTO
                                                                : GBC_TREE,
                        .side = &j->side,
                        .near = &j->near,
                        .folds = o->folds,
                        .trees = o->grow.trees,
                        .patience = o->patience,
                        .rule = rule == GBC_RULE_EQUAL ? rule : GBC_RULE_SKILL,
                        .combine = (gbc_combine)o->combine,
                        .correct = (gbc_correct)o->correct,
                        .strength = o->strength,
                        .lambdas = o->tune,
                        .unit = j->unit,
                        .outputs = &j->outputs,
                        .g = &j->g,
                        .views = j->views.at};
}

/* *tuned: cross-validation had its say. Cross-validation decides what is auto, number of
 * trees included. In mode paper it runs only when lambdas are to be tuned. With fewer labels
 * than folds nothing is chosen. */
static ferry_status make_plan(ferry_ctx *ctx, const ferry_task *task, job *j, bool *tuned)
{
    ferry_status st = FERRY_OK;
    const gbc_options *o = j->o;
    const bool paper = o->mode == MODE_PAPER;
    gbc_plan *p = &j->plan;
    gbc_rule rule = (gbc_rule)o->weights;

    if (rule == GBC_RULE_AUTO) rule = paper ? GBC_RULE_ROOT : GBC_RULE_SKILL;
    start_plan(j, rule, p);
    *tuned = (!paper || o->tune) && o->folds >= 2 && j->n_labelled >= o->folds;
    const bool lines = o->learner == LEARNER_LINEAR ||
                       (o->learner == LEARNER_AUTO && *tuned && !paper && !of_trees(o));
    if (lines) FERRY_TRY(ferry_i_gbc_side_new(ctx, task, &j->side));
    const gbc_tuning s = tuning_of(j, rule, lines);
    if (*tuned) FERRY_TRY(ferry_i_gbc_tune(ctx, &s, p));
    /* Cross-validation has asked whether graphs correct the answers; then they do not
     * pull the trees as well. An additive score keeps the pull. */
    if (*tuned && !o->tune && o->lambda1 < 0 && !p->o.grow.additive) p->lambda1 = 0;
    j->g.lambda0 = p->lambda0;
    j->g.lambda1 = p->lambda1;
done:
    return st;
}

/* Iterate on all labels. The plan's weights start it (NULL: equal). Fewer trees than asked
 * means that cross-validation stopped, hence STOP_TOL. The forest, the weights and the
 * preparation move to the model. */
static ferry_status boost(ferry_ctx *ctx, job *j, gbc_model *m, ferry_fit_info *rep)
{
    ferry_status st = FERRY_OK;
    const gbc_plan *p = &j->plan;
    gbc_run *r = NULL;
    bool finish = false;

    FERRY_TRY(ferry_i_gbc_run_new(ctx, &p->o, &j->g, j->views.at, NULL, p->w, &r));
    rep->stop = p->trees < j->o->grow.trees ? FERRY_STOP_TOL : FERRY_STOP_MAX_ITER;
    for (int64_t t = 0; t < p->trees && !finish; t++) {
        FERRY_TRY(ferry_i_gbc_run_step(ctx, r));
        rep->iters++;
        /* An additive run has one source, whose loss is the loss. */
        rep->objective = 0; /* sum_i w_i l_i */
        for (int64_t i = 0; i < r->g.p; i++)
            if (!isnan(r->b->loss[i]))
                rep->objective += (p->o.grow.additive ? 1 : r->w[i]) * r->b->loss[i];
        FERRY_TRY(ferry_i_progress(ctx, "gbc", t + 1, p->trees, rep->objective, &finish));
    }
    if (finish) rep->stop = FERRY_STOP_FINISH;
    m->trees = (boosted){j->outputs, r->b->forest, r->w, p->stretch, j->prepared};
    j->prepared = NULL;
    r->b->forest = NULL;
    r->w = NULL;
    /* The weights that corrections were judged with stay; else those of the training. */
    if (r->pass && !p->held[GBC_TREES]) {
        FERRY_MOVE(m->wg, r->wg);
    }
done:
    ferry_i_gbc_run_free(r);
    return st;
}

/* The lines that have a share, on all labels; the preparation moves to the model. */
static ferry_status fit_lines(ferry_ctx *ctx, job *j, gbc_model *m)
{
    ferry_status st = FERRY_OK;

    for (int64_t k = GBC_LINE; k <= GBC_SELF; k++) {
        const gbc_part *part = &j->plan.part[k];
        const gbc_line l = {.o = &j->outputs,
                            .g = &j->g,
                            .x = part->smoothed ? j->side.smoothed : j->side.plain,
                            .C = part->C,
                            .self = k == GBC_SELF};
        if (!(part->share > 0)) continue;
        FERRY_TRY(ferry_i_gbc_line_fit(ctx, &l, &m->line[k]));
        if (part->smoothed) m->factor = j->side.factor;
        if (!m->side) FERRY_MOVE(m->side, j->side.prepared);
    }
done:
    return st;
}

/* What part k answers to the instances of the fit, where nothing was held out. */
static ferry_status own_answers(ferry_ctx *ctx, const job *j, const gbc_model *m, int64_t k,
                                double *answers)
{
    ferry_status st = FERRY_OK;
    uint8_t *viewless = NULL;

    FERRY_NEW(ctx, viewless, j->g.n);
    if (m->line[k])
        FERRY_TRY(ferry_i_gbc_line_answers(ctx, m->line[k], 1, j->side.plain, answers));
    else
        FERRY_TRY(ferry_i_boosted_answers(ctx, &m->trees, j->g.n, j->views.at, answers,
                                          viewless));
done:
    ferry_i_free(viewless);
    return st;
}

/* The graphs' names and weights and the labels, for answers that stand on them. Residuals
 * are of held-out answers, or of the fit itself where nothing was cross-validated. A label
 * in the fit makes its own residual too small; held-out ones are honest. They are |T| x
 * classes, in the order of the labelled instances, which is that of m->k.truth. */
static ferry_status keep_labels(ferry_ctx *ctx, const job *j, gbc_model *m, bool tuned)
{
    ferry_status st = FERRY_OK;
    const int64_t n = j->g.n, q = j->g.q, c = j->outputs.classes;
    double *answers = NULL;

    FERRY_TRY(ferry_i_known_new(ctx, j->t, &j->outputs, j->y, j->labelled, &m->k));
    if (q == 0) goto done;
    if (!m->wg) {
        FERRY_NEW(ctx, m->wg, q);
        for (int64_t i = 0; i < q; i++)
            m->wg[i] = tuned ? j->plan.wg[i] : 1 / (double)q;
    }
    FERRY_NEW(ctx, answers, n * c);
    for (int64_t k = 0; k < GBC_NEAR; k++) { /* nearest rows have no graph of the task */
        const double *from = j->plan.held[k];
        if (!(m->part[k].share > 0) || m->part[k].correct != GBC_CORRECT_RESIDUAL) continue;
        if (!from) FERRY_TRY(own_answers(ctx, j, m, k, answers));
        if (!from) from = answers;
        FERRY_NEW(ctx, m->residual[k], j->n_labelled * c);
        for (int64_t x = 0, at = 0; x < n; x++)
            for (int64_t i = 0; j->labelled[x] && i < c; i++, at++)
                m->residual[k][at] = m->k.truth[at] - from[x * c + i];
    }
done:
    ferry_i_free(answers);
    return st;
}

/* Check the task, plan (options, then cross-validation), iterate, keep what answers need.
 * The model is NULL in *state until everything is in it, so a failure leaks nothing. */
static ferry_status gbc_fit(ferry_ctx *ctx, const ferry_task *task, const void *options,
                            void **state, ferry_fit_info *rep)
{
    ferry_status st = FERRY_OK;
    gbc_model *m = NULL;
    job j = {.o = options};
    bool tuned = false;

    *state = NULL;
    FERRY_NEW(ctx, m, 1);
    FERRY_TRY(open_job(ctx, task, &j));
    FERRY_TRY(make_plan(ctx, task, &j, &tuned));
    memcpy(m->part, j.plan.part, sizeof m->part);
    m->trees.outputs = j.outputs;
    rep->objective = NAN;
    if (m->part[GBC_TREES].share > 0) FERRY_TRY(boost(ctx, &j, m, rep));
    FERRY_TRY(fit_lines(ctx, &j, m));
    if (m->part[GBC_NEAR].share > 0) {
        const gbc_tuning s = tuning_of(&j, GBC_RULE_SKILL, true);
        FERRY_TRY(ferry_i_gbc_near_fit(ctx, &s, j.t, &j.plan, &m->near));
        if (!m->side) FERRY_MOVE(m->side, j.side.prepared);
    }
    FERRY_TRY(keep_labels(ctx, &j, m, tuned));
    FERRY_TRY(ferry_i_gbc_explain(ctx, j.t, m, &j.plan, tuned));
    FERRY_MOVE(*state, m);
done:
    ferry_i_gbc_model_free(m);
    clear(&j);
    return st;
}

/* One view and no graph is gbdt's case. */
static ferry_status gbc_fits(ferry_ctx *ctx, const ferry_task *task, const void *options)
{
    ferry_status st = FERRY_OK;
    const ferry_domain *t = NULL;
    const gbc_options *o = options;

    FERRY_TRY(ferry_i_task_target(ctx, task, &t));
    FERRY_NEED(ctx, t->n_views + t->n_graphs >= 2, FERRY_ENEEDS,
               "gbc needs several views, or a view and a graph; target '%s' has one view "
               "(gbdt does that)",
               t->name);
    FERRY_NEED(ctx, o->learner != LEARNER_XGBOOST || !ferry_i_ranks_split(ctx),
               FERRY_ENEEDS,
               "gbc: learner=xgboost does not run with --engine mpi; learner=histogram "
               "does");
done:
    return st;
}

/* For ferry predict: which graphs to ask for, whose labels are known to neighbours. */
static const ferry_ids *gbc_graphs(const void *state)
{
    return ((const gbc_model *)state)->k.graphs;
}

static const ferry_ids *gbc_known(const void *state)
{
    return ((const gbc_model *)state)->k.ids;
}

const ferry_method ferry_i_method_gbc = {
    .name = "gbc",
    .summary = "gradient boosting consensus over views that lack instances, and graphs",
    .reference = "Shi, Heterogeneous Learning and Its Applications, PhD thesis 2013, "
                 "chapter 3",
    .kind = FERRY_KIND_TRANSFER,
    .spreads = true,
    .together = true,
    .goals = FERRY_CLASSIFY | FERRY_REGRESS,
    .needs = FERRY_NEED_TARGET_VIEW | FERRY_NEED_TARGET_LABELS,
    FERRY_OPTIONS(gbc_opts, gbc_options),
    .fits = gbc_fits,
    .fit = gbc_fit,
    .predict = ferry_i_gbc_predict,
    .graphs = gbc_graphs,
    .known = gbc_known,
    FERRY_STATE(gbc_model, ferry_i_gbc_file, ferry_i_gbc_model_free),
};
