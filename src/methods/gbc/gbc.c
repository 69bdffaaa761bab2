/* gbc: gradient boosting consensus over several views, which may lack instances, and
 * graphs.
 *
 *   min over f_i   sum over labelled x  L(f_i(x), y_x)
 *                + lambda0 sum over unlabelled x in two views or more  L(f_i(x), E(x))
 *                + lambda1 sum over unlabelled x with neighbours  L(f_i(x), Et_i(x))
 *
 * for every view i by boosted trees, E and Et_i being computed again in every iteration
 * (formulas.h). The answer is sum_i w_i f_i / sum_i w_i over the views that have x.
 *
 * mode thesis: margin loss on E and Et, plain trees and a line search, weights from
 * training loss. mode ferry: soft targets, Newton leaves, labelled neighbours count with
 * their labels, weights by skill on held-out labels, lambda times |T|/|U|; average or one
 * additive score by cross-validation; graphs correct the answers too.
 *
 * Source: Shi, Heterogeneous Learning and Its Applications, thesis 2013, chapter 3. What
 * was changed and why: docs/methods/gbc.md. */
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "methods/baselines/gbdt.h"
#include "methods/gbc/gbc.h"

typedef enum mode { MODE_FERRY, MODE_THESIS } mode;
typedef enum tri { AUTO, FIRST, SECOND } tri;

typedef struct gbc_options {
    int mode;
    double lambda0, lambda1;
    int targets, step, clamp, weights, combine, correct;
    double strength;
    int64_t folds, patience;
    int tune;
    gbdt_growing grow;
} gbc_options;

static const ferry_opt gbc_opts[] = {
    FERRY_OPT_ONE_OF(gbc_options, mode, "ferry|thesis", "ferry",
                     "improved, or as published; sets what is auto below"),
    FERRY_OPT(
        gbc_options, REAL, lambda0, -1, -1, 1e9,
        "consensus of the views, times labelled / unlabelled, at most 1 in all; -1: 0 "
        "(0.1 when a tenth of the instances lack a view); thesis 0.3"),
    FERRY_OPT(gbc_options, REAL, lambda1, -1, -1, 1e9,
              "agreement of neighbours, likewise; -1: 0.3, but 0 for an average whose "
              "answers cross-validation may correct by graphs"),
    FERRY_OPT_ONE_OF(gbc_options, targets, "auto|soft|margin", "auto",
                     "classes: cross-entropy with s(E), or log(1 + exp(-E f)) (thesis)"),
    FERRY_OPT_ONE_OF(gbc_options, step, "auto|newton|line", "auto",
                     "Newton leaves, or plain trees and a line search (thesis)"),
    FERRY_OPT_ONE_OF(gbc_options, clamp, "auto|yes|no", "auto",
                     "labelled neighbours count with their labels (thesis: no)"),
    FERRY_OPT_ONE_OF(gbc_options, weights, GBC_RULES, "auto",
                     "of the views: by skill on held-out labels; by training loss with the "
                     "root or softmax rule (thesis: root); equal"),
    FERRY_OPT_ONE_OF(gbc_options, combine, "auto|average|additive", "auto",
                     "views are averaged, or add up to one score; auto: by "
                     "cross-validation (thesis: average)"),
    FERRY_OPT_ONE_OF(gbc_options, correct, GBC_CORRECTS, "auto",
                     "what graphs do to answers; auto: by cross-validation (thesis: no)"),
    FERRY_OPT(
        gbc_options, REAL, strength, -1, -1, 1e9,
        "of that: kappa of residual, share of the neighbours of smooth (up to 1); -1: 2, "
        "or by cross-validation"),
    FERRY_OPT(gbc_options, INT, folds, 3, 0, 100,
              "of cross-validation; 0: none, so nothing is chosen by it"),
    FERRY_OPT(gbc_options, INT, patience, 10, 1, 1e6,
              "stop after so many iterations without a better held-out loss"),
    FERRY_OPT_YES_NO(gbc_options, tune, "no",
                     "choose lambda0 and lambda1 by cross-validation"),
    GBDT_OPTS(gbc_options),
};

/* ---- what is to be learned ---- */

typedef struct job {
    const gbc_options *o;
    const ferry_domain *t;
    gbc_goal goal;
    gbc_problem g;
    double *y;
    uint8_t *labelled, *mask;
    ferry_matrix **graph;
    double unit; /* |T| / |U| */
    gbc_plan plan;
} job;

static void clear(job *j)
{
    ferry_i_free(j->y);
    ferry_i_free(j->labelled);
    ferry_i_free(j->mask);
    ferry_i_free(j->graph);
    ferry_i_gbc_plan_clear(&j->plan);
}

static ferry_status open_job(ferry_ctx *ctx, const ferry_task *task, job *j)
{
    ferry_status st = FERRY_OK;
    const ferry_domain *t = NULL;
    int64_t labelled = 0, lacking = 0;

    FERRY_TRY(ferry_i_task_target(ctx, task, &t));
    const int64_t n = ferry_i_ids_count(t->ids), p = t->n_views, q = t->n_graphs;
    j->t = t;
    FERRY_TRY(ferry_i_gbc_goal_new(
        ctx, task->goal, task->names ? ferry_i_ids_count(task->names) : 1, n,
        t->labels->cls, t->labels->num, &j->goal, &j->y, &j->labelled));
    j->mask = ferry_i_calloc(p * n, sizeof *j->mask);
    j->graph = ferry_i_calloc(q, sizeof(ferry_matrix *));
    FERRY_HAVE(ctx, j->mask && j->graph);
    for (int64_t i = 0; i < p; i++)
        for (int64_t x = 0; x < n; x++) {
            j->mask[i * n + x] = t->views[i]->row_of[x] >= 0;
            lacking += t->views[i]->row_of[x] < 0;
        }
    for (int64_t x = 0; x < n; x++)
        labelled += j->labelled[x];
    for (int64_t i = 0; i < q; i++)
        j->graph[i] = t->graphs[i]->a;
    const bool thesis = j->o->mode == MODE_THESIS, many = 10 * lacking > p * n;
    j->unit = labelled < n ? (double)labelled / (double)(n - labelled) : 1;
    const double l0 = j->o->lambda0 >= 0 ? j->o->lambda0 : thesis ? 0.3 : many ? 0.1 : 0;
    const double l1 = j->o->lambda1 >= 0 ? j->o->lambda1 : 0.3; /* make_plan may drop it */
    j->g = (gbc_problem){.n = n,
                         .p = p,
                         .q = q,
                         .k = j->goal.k,
                         .mask = j->mask,
                         .labelled = j->labelled,
                         .y = j->y,
                         .graph = j->graph,
                         .logistic = task->goal == FERRY_CLASSIFY,
                         .soft = j->o->targets == AUTO ? !thesis : j->o->targets == FIRST,
                         .clamp = j->o->clamp == AUTO ? !thesis : j->o->clamp == FIRST,
                         .lambda0 = fmin(1, l0 * j->unit),
                         .lambda1 = q > 0 ? fmin(1, l1 * j->unit) : 0};
done:
    return st;
}

static ferry_status make_plan(ferry_ctx *ctx, job *j, bool *selected)
{
    ferry_status st = FERRY_OK;
    const gbc_options *o = j->o;
    const bool thesis = o->mode == MODE_THESIS;
    gbc_plan *p = &j->plan;
    gbc_rule rule = (gbc_rule)o->weights;
    int64_t labelled = 0;

    for (int64_t x = 0; x < j->g.n; x++)
        labelled += j->labelled[x];
    if (rule == GBC_RULE_AUTO) rule = thesis ? GBC_RULE_ROOT : GBC_RULE_SKILL;
    p->o = ferry_i_gbdt_settings(&o->grow, j->g.logistic);
    p->o.line = o->step == AUTO ? thesis : o->step == SECOND;
    p->o.all = p->o.line;
    p->o.weights = rule == GBC_RULE_ROOT      ? GBC_ROOT
                   : rule == GBC_RULE_SOFTMAX ? GBC_SOFTMAX
                                              : GBC_FIXED;
    if (p->o.line) { /* a plain tree: leaves are means, every row counts one */
        p->o.tree.reg = o->grow.reg >= 0 ? o->grow.reg : 0;
        p->o.tree.min_child = o->grow.min_child >= 0 ? o->grow.min_child : 1;
    }
    p->o.additive = o->combine == GBC_ADDITIVE && j->g.p > 1;
    p->lambda0 = j->g.lambda0;
    p->lambda1 = j->g.lambda1;
    p->trees = o->grow.trees;
    p->stretch = 1;
    p->average_loss = p->additive_loss = p->constant_loss = NAN;
    p->plain_loss = p->corrected_loss = NAN;
    p->correct = o->correct == GBC_CORRECT_AUTO ? GBC_CORRECT_NO : (gbc_correct)o->correct;
    p->strength = p->correct == GBC_CORRECT_SMOOTH ? 0.5 : 2;
    const gbc_select s = {.folds = o->folds,
                          .trees = o->grow.trees,
                          .patience = o->patience,
                          .rule = rule == GBC_RULE_EQUAL ? GBC_RULE_EQUAL : GBC_RULE_SKILL,
                          .combine = (gbc_combine)o->combine,
                          .correct = (gbc_correct)o->correct,
                          .tune = o->tune,
                          .unit = j->unit};
    *selected = (!thesis || o->tune) && o->folds >= 2 && labelled >= o->folds;
    if (*selected) FERRY_TRY(ferry_i_gbc_choose(ctx, &s, &j->goal, &j->g, j->t->views, p));
    if (*selected && !o->tune && o->lambda1 < 0 && !p->o.additive) p->lambda1 = 0;
    if (o->strength >= 0) p->strength = o->strength;
    if (p->correct == GBC_CORRECT_SMOOTH) p->strength = fmin(1, p->strength);
    j->g.lambda0 = p->lambda0;
    j->g.lambda1 = p->lambda1;
done:
    return st;
}

/* ---- diagnostics ---- */

static void named(ferry_ctx *ctx, const char *name, const ferry_domain *t, bool graphs,
                  const double *values)
{
    const int64_t n = graphs ? t->n_graphs : t->n_views;
    json_t *all = json_object();

    for (int64_t i = 0; i < n; i++)
        json_object_set_new(all, graphs ? t->graphs[i]->name : t->views[i]->name,
                            isfinite(values[i]) ? json_real(values[i]) : json_null());
    ferry_i_diag_json(ctx, name, all);
}

typedef struct ranked {
    double gain;
    int64_t feature;
} ranked;

static int by_gain(const void *a, const void *b)
{
    const ranked *x = a, *y = b;

    if (x->gain != y->gain) return x->gain > y->gain ? -1 : 1;
    return x->feature < y->feature ? -1 : x->feature > y->feature;
}

/* Share of the gain of view i's splits, the ten largest; *total: all the gain. */
static json_t *importance(const gbc_forest *f, const ferry_view *v, int64_t i, ranked *all,
                          double *total)
{
    json_t *out = json_object();
    char number[24];

    *total = 0;
    for (int64_t j = 0; j < f->cols[i]; j++)
        all[j] = (ranked){0, j};
    for (int64_t t = 0; t < f->n; t++)
        for (int64_t j = 0; j < f->k; j++) {
            const ferry_tree *tree = *gbc_tree(f, t, i, j);
            for (int64_t e = 0; tree && e < tree->n; e++) {
                if (tree->node[e].feature < 0) continue;
                all[tree->node[e].feature].gain += tree->node[e].gain;
                *total += tree->node[e].gain;
            }
        }
    qsort(all, (size_t)f->cols[i], sizeof *all, by_gain);
    for (int64_t j = 0; j < f->cols[i] && j < 10 && all[j].gain > 0; j++) {
        (void)snprintf(number, sizeof number, "%lld", (long long)all[j].feature + 1);
        json_object_set_new(
            out, v->features ? ferry_i_ids_at(v->features, all[j].feature) : number,
            json_real(all[j].gain / *total));
    }
    return out;
}

static ferry_status explain_features(ferry_ctx *ctx, const job *j, const gbc_forest *f)
{
    ferry_status st = FERRY_OK;
    json_t *all = json_object(), *shares = json_object();
    int64_t most = 0;
    ranked *room = NULL;
    double sum = 0, *total = ferry_i_calloc(f->p, sizeof *total);

    for (int64_t i = 0; i < f->p; i++)
        most = f->cols[i] > most ? f->cols[i] : most;
    FERRY_NEW(ctx, room, most);
    FERRY_HAVE(ctx, total);
    for (int64_t i = 0; i < f->p; i++) {
        json_object_set_new(all, j->t->views[i]->name,
                            importance(f, j->t->views[i], i, room, &total[i]));
        sum += total[i];
    }
    for (int64_t i = 0; i < f->p; i++)
        json_object_set_new(shares, j->t->views[i]->name,
                            json_real(sum > 0 ? total[i] / sum : 0));
    ferry_i_diag_json(ctx, "importance", json_incref(all));
    ferry_i_diag_json(ctx, "gain_share", json_incref(shares));
done:
    json_decref(all);
    json_decref(shares);
    ferry_i_free(room);
    ferry_i_free(total);
    return st;
}

/* One more piece of a text of `size` bytes that has n; how many it has then. */
static size_t add(char *text, size_t size, size_t n, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    n += (size_t)vsnprintf(text + n, size - n, fmt, args);
    va_end(args);
    return n < size ? n : size - 1;
}

/* "views number 0.62, colour 0.38; graphs cites 1.00; ..." for the table. */
static void note(ferry_ctx *ctx, const job *j, const gbc_model *m)
{
    static const char *const corrects[] = {"", "", "residual", "smooth"};
    const ferry_domain *t = j->t;
    char text[640];
    size_t n = 0;

    if (m->forest->additive) n = add(text, sizeof text, n, "views add up to one score");
    for (int64_t i = 0; !m->forest->additive && i < t->n_views; i++)
        n = add(text, sizeof text, n, "%s%s %.2f", i ? ", " : "weights of views ",
                t->views[i]->name, m->w[i]);
    for (int64_t i = 0; i < t->n_graphs && i < 8; i++)
        n = add(text, sizeof text, n, "%s%s %.2f", i ? ", " : "; of graphs ",
                t->graphs[i]->name, m->wg[i]);
    n = add(text, sizeof text, n, "; %lld trees a view", (long long)m->forest->n);
    if (m->correct > GBC_CORRECT_NO)
        (void)add(text, sizeof text, n, "; answers corrected by %s %.1f",
                  corrects[m->correct], m->strength);
    ferry_i_diag_text(ctx, "note", text);
}

static ferry_status explain(ferry_ctx *ctx, const job *j, const gbc_model *m, bool selected)
{
    static const char *const corrects[] = {"auto", "no", "residual", "smooth"};
    const gbc_plan *p = &j->plan;

    named(ctx, "weights", j->t, false, m->w);
    if (j->g.q > 0) named(ctx, "graph_weights", j->t, true, m->wg);
    if (selected) {
        named(ctx, "held_out_loss", j->t, false, p->view_loss);
        ferry_i_diag_real(ctx, "constant_loss", p->constant_loss);
        ferry_i_diag_real(ctx, "average_loss", p->average_loss);
        ferry_i_diag_real(ctx, "additive_loss", p->additive_loss);
        ferry_i_diag_real(ctx, "answer_loss", p->plain_loss);
        ferry_i_diag_real(ctx, "corrected_loss", p->corrected_loss);
    }
    ferry_i_diag_text(ctx, "combine", m->forest->additive ? "additive" : "average");
    ferry_i_diag_text(ctx, "correct", corrects[m->correct]);
    ferry_i_diag_real(ctx, "strength", m->strength);
    ferry_i_diag_real(ctx, "stretch", m->stretch);
    ferry_i_diag_real(ctx, "lambda0", j->g.lambda0);
    ferry_i_diag_real(ctx, "lambda1", j->g.lambda1);
    ferry_i_diag_real(ctx, "trees", (double)m->forest->n);
    note(ctx, j, m);
    return explain_features(ctx, j, m->forest);
}

/* ---- fit ---- */

static ferry_status boost(ferry_ctx *ctx, const job *j, gbc_model *m, ferry_report *rep)
{
    ferry_status st = FERRY_OK;
    const gbc_plan *p = &j->plan;
    gbc_run *r = NULL;
    bool finish = false;

    FERRY_TRY(ferry_i_gbc_run_new(ctx, &p->o, &j->g, j->t->views, NULL, p->w, &r));
    rep->stop = p->trees < j->o->grow.trees ? FERRY_STOP_TOL : FERRY_STOP_MAX_ITER;
    for (int64_t t = 0; t < p->trees && !finish; t++) {
        FERRY_TRY(ferry_i_gbc_run_step(ctx, r));
        rep->iters++;
        rep->objective = 0;
        for (int64_t i = 0; i < (p->o.additive ? 1 : j->g.p); i++)
            if (!isnan(r->loss[i]))
                rep->objective += (p->o.additive ? 1 : r->w[i]) * r->loss[i];
        FERRY_TRY(ferry_i_progress(ctx, "gbc", t + 1, p->trees, rep->objective, &finish));
    }
    if (finish) rep->stop = FERRY_STOP_FINISH;
    m->forest = r->forest;
    m->w = r->w;
    r->forest = NULL;
    r->w = NULL;
    if (j->g.q > 0 && j->g.lambda1 > 0) {
        m->wg = r->wg;
        r->wg = NULL;
    }
done:
    ferry_i_gbc_run_free(r);
    return st;
}

/* The graphs' names and the labels, for answers that stand on them. */
static ferry_status keep_labels(ferry_ctx *ctx, job *j, gbc_model *m)
{
    ferry_status st = FERRY_OK;
    const int64_t n = j->g.n, c = j->goal.classes;
    double *answers = NULL;
    uint8_t *viewless = NULL;

    if (j->g.q == 0) goto done;
    for (int64_t i = 0; i < j->g.q; i++)
        FERRY_HAVE(ctx, ferry_i_ids_add(m->graphs, j->t->graphs[i]->name, NULL) >= 0);
    if (!m->wg) {
        FERRY_NEW(ctx, m->wg, j->g.q);
        for (int64_t i = 0; i < j->g.q; i++)
            m->wg[i] = j->plan.held ? j->plan.wg[i] : 1 / (double)j->g.q;
    }
    for (int64_t x = 0; x < n; x++)
        if (j->labelled[x])
            FERRY_HAVE(ctx,
                       ferry_i_ids_add(m->known, ferry_i_ids_at(j->t->ids, x), NULL) >= 0);
    const int64_t known = ferry_i_ids_count(m->known);
    FERRY_NEW(ctx, m->truth, known * c);
    FERRY_NEW(ctx, m->residual, known * c);
    if (!j->plan.held) { /* no cross-validation: residuals of the fit itself */
        answers = ferry_i_calloc(n * c, sizeof *answers);
        viewless = ferry_i_calloc(n, 1);
        FERRY_HAVE(ctx, answers && viewless);
        FERRY_TRY(ferry_i_gbc_answers(ctx, &j->goal, m->forest, m->w, m->stretch, n,
                                      j->t->views, answers, viewless));
    }
    const double *from = j->plan.held ? j->plan.held : answers;
    for (int64_t x = 0, at = 0; x < n; x++) {
        if (!j->labelled[x]) continue;
        ferry_i_gbc_goal_truth(&j->goal, j->y + x * j->goal.k, m->truth + at * c);
        for (int64_t i = 0; i < c; i++)
            m->residual[at * c + i] = m->truth[at * c + i] - from[x * c + i];
        at++;
    }
done:
    ferry_i_free(answers);
    ferry_i_free(viewless);
    return st;
}

static ferry_status gbc_fit(ferry_ctx *ctx, const ferry_task *task, const void *options,
                            void **state, ferry_report *rep)
{
    ferry_status st = FERRY_OK;
    gbc_model *m = NULL;
    job j = {.o = options};
    bool selected = false;

    *state = NULL;
    FERRY_TRY(open_job(ctx, task, &j));
    FERRY_TRY(ferry_i_gbc_model_new(ctx, &m));
    m->goal = j.goal;
    FERRY_TRY(make_plan(ctx, &j, &selected));
    FERRY_TRY(boost(ctx, &j, m, rep));
    m->correct = j.plan.correct;
    m->stretch = j.plan.stretch;
    m->strength = j.plan.strength;
    FERRY_TRY(keep_labels(ctx, &j, m));
    FERRY_TRY(explain(ctx, &j, m, selected));
    *state = m;
    m = NULL;
done:
    ferry_i_gbc_model_free(m);
    clear(&j);
    return st;
}

static ferry_status gbc_fits(ferry_ctx *ctx, const ferry_task *task, const void *options)
{
    ferry_status st = FERRY_OK;
    const ferry_domain *t = NULL;

    (void)options;
    FERRY_TRY(ferry_i_task_target(ctx, task, &t));
    FERRY_NEED(ctx, t->n_views + t->n_graphs >= 2, FERRY_ENEEDS,
               "gbc needs several views, or a view and a graph; target '%s' has one view "
               "(gbdt does that)",
               t->name);
done:
    return st;
}

static const ferry_ids *gbc_graphs(const void *state)
{
    return ((const gbc_model *)state)->graphs;
}

static const ferry_ids *gbc_known(const void *state)
{
    return ((const gbc_model *)state)->known;
}

const ferry_method ferry_i_method_gbc = {
    .name = "gbc",
    .summary = "gradient boosting consensus over views that lack instances, and graphs",
    .reference = "Shi, Heterogeneous Learning and Its Applications, PhD thesis 2013, "
                 "chapter 3",
    .kind = FERRY_KIND_TRANSFER,
    .goals = FERRY_CLASSIFY | FERRY_REGRESS,
    .needs = FERRY_NEED_TARGET_VIEW | FERRY_NEED_TARGET_LABELS,
    .options = gbc_opts,
    .n_options = FERRY_COUNT(gbc_opts),
    .options_size = sizeof(gbc_options),
    .fits = gbc_fits,
    .fit = gbc_fit,
    .predict = ferry_i_gbc_predict,
    .graphs = gbc_graphs,
    .known = gbc_known,
    .save = ferry_i_gbc_save,
    .load = ferry_i_gbc_load,
    .free = ferry_i_gbc_model_free,
};
