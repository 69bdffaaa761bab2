/* The answer over the repeats of an evaluation (answer.h).
 *
 * In every repeat both policies choose by the labels that it shows, their members' predictions are blended, and the
 * blend is scored on what was hidden, as every method is. So what they got over repeats is what a deployer gets. Where
 * nothing is hidden, the numbers are cross-fitted on the visible labels (policy.h). Goals stream and embed have no labels
 * to validate on: there the best by score is named, and nothing is promised. */
#include "run/answer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "methods/method.h"
#include "model/blend.h"

static const double ENOUGH = .05; /* of the weight: members with less are not fitted */
static const double LEVEL = .95;
static const double MATTERS = .02; /* of a share, or of the error: less is not worth it */

void ferry_i_policy_runs_free(ferry_policy_runs *r)
{
    if (!r) return;
    for (int64_t i = 0; i < r->repeats; i++) {
        if (r->w_rows) ferry_i_free(r->w_rows[i]);
        if (r->t_rows) ferry_i_free(r->t_rows[i]);
    }
    FERRY_FREE((void *)r->w_rows, (void *)r->t_rows, r->w, r->t, r->validated, r);
}

static void free_members(int64_t n, const ferry_blend_member *m)
{
    for (int64_t i = 0; m && i < n; i++)
        ferry_i_free((char *)m[i].name);
    ferry_i_free((ferry_blend_member *)m);
}

void ferry_i_answer_free(ferry_recommendation *a)
{
    if (!a) return;
    free_members(a->members, a->member);
    free_members(a->without, a->member_without);
    FERRY_FREE((char *)a->head, (char *)a->use, (char *)a->expect, (char *)a->source,
               (char *)a->next, (char *)a->remark, (char *)a->metric, (double *)a->runs,
               (double *)a->runs_without, a);
}

const char *ferry_i_uses_name(ferry_uses uses)
{
    static const char *const names[] = {"target only", "pooled", "source only", "transfer",
                                        "control"};

    return uses >= FERRY_USES_TARGET_ONLY && uses <= FERRY_USES_CONTROL ? names[uses] : "";
}

const char *ferry_i_worth_name(ferry_worth worth)
{
    static const char *const names[] = {"unknown", "worth it", "not worth it", "open"};

    return worth >= FERRY_WORTH_UNKNOWN && worth <= FERRY_WORTH_OPEN ? names[worth] : "";
}

/* ---- what is deployed ---- */

typedef struct weighed {
    int64_t at;
    double weight;
} weighed;

static int by_weight(const void *a, const void *b)
{
    const weighed *x = a, *y = b;

    if (x->weight != y->weight) return x->weight > y->weight ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

/* Those with enough of w; the heaviest alone when one is asked for. */
static chosen take(scope *s, const validation *v, const double *w, bool single)
{
    weighed *order = NEW(s, weighed, v->e.candidates);
    chosen c = {.place = NEW(s, int64_t, v->e.candidates),
                .weight = NEW(s, double, v->e.candidates),
                .scale = NEW(s, double, v->e.candidates)};
    double sum = 0;

    for (int64_t j = 0; j < v->e.candidates; j++)
        order[j] = (weighed){j, w[j]};
    qsort(order, (size_t)v->e.candidates, sizeof *order, by_weight);
    for (int64_t j = 0; j < v->e.candidates; j++) {
        const weighed o = order[j];
        if (o.weight <= 0 || (c.n > 0 && (single || o.weight < ENOUGH))) break;
        c.place[c.n] = v->place[o.at];
        c.scale[c.n] = v->scale[o.at];
        c.weight[c.n++] = o.weight;
        sum += o.weight;
    }
    for (int64_t j = 0; j < c.n; j++)
        c.weight[j] /= sum;
    return c;
}

/* No label can be hidden: by what is known of families. Ways without a source, if there are such; without any label of
 * the target it is the source that knows something. */
static void choose_blindly(scope *s, const ferry_results *rs, choice *c, bool single)
{
    validation *v = &c->v;
    ferry_family *family = NEW(s, ferry_family, rs->n);
    bool *own = NEW(s, bool, rs->n), *may = NEW(s, bool, rs->n), any = false;
    int64_t n = 0;

    v->place = NEW(s, int64_t, rs->n);
    v->scale = NEW(s, double, rs->n);
    for (int64_t i = 0; i < rs->n; i++) {
        if (!validate_may(&rs->result[i])) continue;
        const bool alone = rs->result[i].pub.uses == FERRY_USES_TARGET_ONLY;
        family[n] = validate_family(&rs->result[i]);
        own[n] = alone && family[n] != FERRY_FAMILY_CONSTANT;
        may[n] = v->visible == 0 ? !alone : own[n];
        any = any || may[n];
        v->place[n++] = i;
    }
    double *w = NEW(s, double, n), *t = NEW(s, double, n);
    v->e.candidates = n;
    policy_prior(s, n, family, own, rs->run.goal == FERRY_CLASSIFY, t);
    policy_prior(s, n, family, any ? may : NULL, rs->run.goal == FERRY_CLASSIFY, w);
    c->p = (policies){
        .w = w, .t = t, .why = any && v->visible > 0 ? POLICY_NO_LEAD : POLICY_USES_SOURCE};
    c->w = take(s, v, w, single);
    c->t = take(s, v, t, single);
}

choice answer_choose(scope *s, const ferry_results *rs, const ferry_task *split,
                     bool single)
{
    choice c = {.v = validate(s, rs, split)};

    single = single || rs->run.goal == FERRY_RATE; /* recommending asks one model */
    c.by_labels = c.v.folds > 0 && c.v.e.candidates > 0;
    if (!c.by_labels) {
        choose_blindly(s, rs, &c, single);
        return c;
    }
    c.p = policy_weights(s, &c.v.e, -1);
    c.w = take(s, &c.v, c.p.w, single);
    c.t = take(s, &c.v, c.p.t, single);
    return c;
}

/* ---- its score ---- */

typedef struct work {
    const ferry_task *task;
    ferry_results *rs;
    bool single, hidden;
    ferry_recommendation *a;
    ferry_policy_runs *runs;
    ferry_task *split; /* of the repeat under way */
    const chosen *of;  /* whose members are predicting */
    ferry_run_cell *cell;
    bool *missing; /* could not */
    int64_t cells; /* how many of both: of->n, which a failure leaves behind */
    ferry_crossed difference;
} work;

/* The cell of the evaluation itself once more: from its file, or fitted again. */
static void predict_member(scope *s, void *arg, int64_t j)
{
    work *w = arg;
    const int64_t place = w->of->place[j];
    const ferry_entry *e = &w->rs->result[place];
    const int64_t repeat = (int64_t)scope_ctx(s)->repeat;
    char name[64];

    w->cell[j] = (ferry_run_cell){
        .how = e->how, .opts = e->opts, .split = w->split, .mask = w->rs->scored[repeat]};
    (void)snprintf(name, sizeof name, "%lld-%lld", (long long)place, (long long)repeat);
    const ferry_status st = ferry_i_cell_run(scope_ctx(s), w->rs, name, &w->cell[j]);
    w->missing[j] = ferry_i_skips(st);
    if (!w->missing[j]) scope_check(s, st);
}

static void clear_cells(void *arg)
{
    work *w = arg;

    for (int64_t j = 0; j < w->cells; j++)
        ferry_i_cell_clear(&w->cell[j]);
    w->cells = 0;
}

static void free_prediction(void *p)
{
    ferry_prediction_free(p);
}

/* The policy's prediction in the repeat under way; NULL: no member could. */
static ferry_prediction *blend(scope *s, work *w, const chosen *of)
{
    ferry_ctx *ctx = scope_ctx(s);
    ferry_blended *parts = NEW(s, ferry_blended, of->n);
    const ferry_domain *target = NULL;
    ferry_prediction *p = NULL;
    int64_t n = 0;

    w->cell = NEW(s, ferry_run_cell, of->n);
    w->missing = NEW(s, bool, of->n);
    w->of = of;
    w->cells = of->n;
    scope_defer(s, clear_cells, w);
    scope_jobs(s, of->n, predict_member, NULL, w);
    for (int64_t j = 0; j < of->n; j++)
        if (!w->missing[j])
            parts[n++] = (ferry_blended){w->cell[j].answer, of->weight[j], of->scale[j]};
    if (n == 0) return NULL;
    scope_check(s, ferry_i_task_target(ctx, w->split, &target));
    scope_check(s,
                ferry_i_prediction_new(ctx, w->rs->run.goal, w->split->names, target, &p));
    scope_defer(s, free_prediction, p);
    scope_check(s, ferry_i_blend(ctx, n, parts, p));
    return p;
}

/* The deciding metric of a policy in repeat r, and what rows add to it. */
static void score(scope *s, work *w, const chosen *of, int64_t r, double *metric,
                  double **rows)
{
    const int64_t mark = scope_mark(s);
    const ferry_results *rs = w->rs;
    double *all = NEW(s, double, rs->n_metrics);
    const ferry_prediction *p = of->n > 0 ? blend(s, w, of) : NULL;

    *metric = NAN;
    if (p) {
        scope_check(s, ferry_i_score(scope_ctx(s), rs, w->split, p, rs->scored[r],
                                     rs->count[r], all, rows));
        *metric = all[0];
    }
    scope_release(s, mark);
}

static bool same_choice(const chosen *a, const chosen *b)
{
    bool same = a->n == b->n;

    for (int64_t j = 0; same && j < a->n; j++)
        same = a->place[j] == b->place[j] && a->weight[j] == b->weight[j];
    return same;
}

/* ---- over the repeats ---- */

static void keep_validated(const work *w, const choice *c, int64_t r)
{
    const held_out *e = &c->v.e;
    double *to = w->runs->validated + r * w->rs->n;

    for (int64_t i = 0; i < w->rs->n; i++)
        to[i] = NAN;
    for (int64_t j = 0; c->by_labels && j < e->candidates; j++)
        to[c->v.place[j]] = 1 - ferry_i_mean(e->n, e->error + j * e->n);
}

static void free_split(void *arg)
{
    work *w = arg;

    ferry_task_free(w->split);
    w->split = NULL;
}

static void one_repeat(scope *s, work *w, int64_t r)
{
    const int64_t mark = scope_mark(s);
    ferry_ctx *ctx = scope_ctx(s);
    ferry_policy_runs *k = w->runs;

    ctx->repeat = (uint64_t)r;
    scope_defer(s, free_split, w);
    scope_check(s, ferry_i_split_chosen(ctx, w->task, w->task, r, &w->split));
    const choice c = answer_choose(s, w->rs, w->split, w->single);
    keep_validated(w, &c, r);
    if (r == 0 && !w->rs->hands.folds) answer_members(s, w->rs, &c, w->a);
    if (!w->hidden && r == 0 && !w->rs->hands.folds) answer_promise(s, &c, w->a);
    if (w->hidden) {
        score(s, w, &c.w, r, &k->w[r], &k->w_rows[r]);
        if (!same_choice(&c.w, &c.t))
            score(s, w, &c.t, r, &k->t[r], &k->t_rows[r]);
        else {
            k->t[r] = k->w[r];
            if (k->w_rows[r]) {
                k->t_rows[r] = ferry_i_calloc(w->rs->count[r], sizeof **k->t_rows);
                if (!k->t_rows[r]) scope_check(s, ferry_i_nomem(ctx));
                memcpy(k->t_rows[r], k->w_rows[r],
                       (size_t)w->rs->count[r] * sizeof **k->t_rows);
            }
        }
    }
    scope_release(s, mark);
}

/* Mean and interval for new data of this kind; b NULL: of a alone. The one place where the answer asks how sure a number
 * is that was measured on hidden labels. */
static ferry_crossed cross(scope *s, const work *w, double *const *a, double *const *b)
{
    ferry_ctx *ctx = scope_ctx(s);
    const ferry_results *rs = w->rs;
    double **zero = NEW(s, double *, rs->run.repeats);
    ferry_crossed c = {0};

    for (int64_t r = 0; r < rs->run.repeats; r++)
        zero[r] = NEW(s, double, rs->count[r]);
    scope_check(s, ferry_i_results_cross(ctx, rs, a, b ? b : zero, &c));
    return c;
}

/* Whether the difference, with its interval, is one that matters. */
static ferry_worth judge_worth(double worth, double low, double high, double matters)
{
    if (!isfinite(low) || !isfinite(high)) return FERRY_WORTH_UNKNOWN;
    if (low > 0) return FERRY_WORTH_IT;
    if (high <= matters || (worth == 0 && high == 0)) return FERRY_NOT_WORTH_IT;
    return FERRY_WORTH_OPEN;
}

static double matters_of(const ferry_results *rs, const ferry_recommendation *a)
{
    const bool share =
        rs->n_metrics > 0 ? ferry_i_metric_is_share(rs->metrics[0]) : a->larger_is_better;

    return fmax(rs->run.least, share ? MATTERS : MATTERS * fabs(a->value_without));
}

/* The end of an interval of a share is one, too. */
static double within(const ferry_results *rs, double x)
{
    const ferry_metric *m = rs->metrics[0];
    const double least = strcmp(m->info.name, "r2") == 0 ? -INFINITY : 0;

    return ferry_i_metric_is_share(m) ? fmin(fmax(x, least), 1) : x;
}

/* From what the policies got on hidden labels. */
static void conclude_hidden(scope *s, work *w)
{
    ferry_recommendation *a = w->a;
    const ferry_results *rs = w->rs;
    const ferry_policy_runs *k = w->runs;
    const double sign = ferry_i_results_sign(rs);
    const int64_t n = rs->run.repeats;
    int64_t rows = 0;

    a->value = ferry_i_mean(n, k->w);
    a->value_without = ferry_i_mean(n, k->t);
    const ferry_crossed own = cross(s, w, k->w_rows, NULL);
    const ferry_crossed other = cross(s, w, k->t_rows, NULL);
    w->difference = cross(s, w, k->w_rows, k->t_rows);
    const ferry_crossed *d = &w->difference;
    if (own.n > 0 && isfinite(own.low)) {
        a->low = within(rs, a->value - fabs(own.mu - own.low));
        a->high = within(rs, a->value + fabs(own.high - own.mu));
    }
    if (other.n > 0 && isfinite(other.low)) {
        a->low_without = within(rs, a->value_without - fabs(other.mu - other.low));
        a->high_without = within(rs, a->value_without + fabs(other.high - other.mu));
    }
    a->worth = sign * (a->value - a->value_without);
    if (d->n > 0 && isfinite(d->low)) {
        a->worth_low = a->worth - (d->mu - d->low);
        a->worth_high = a->worth + (d->high - d->mu);
    } else if (d->n > 0 && d->se == 0)
        a->worth_low = a->worth_high = a->worth;
    a->verdict = judge_worth(a->worth, a->worth_low, a->worth_high, matters_of(rs, a));
    if (a->verdict != FERRY_WORTH_OPEN || d->n == 0) return;
    ferry_i_crossed_needed(d, (1 - LEVEL) / 2, &a->needed_repeats, &rows);
    if (rows > d->n) a->needed_labels = rows - d->n;
}

static double *copy_runs(scope *s, int64_t n, const double *x)
{
    double *to = ferry_i_calloc(n, sizeof *to);

    if (!to) scope_check(s, ferry_i_nomem(scope_ctx(s)));
    memcpy(to, x, (size_t)n * sizeof *to);
    return to;
}

/* ---- goals without labels to validate on ---- */

/* The best by score: of all ways, or of those without a source; -1: none. */
static int64_t best_of(const ferry_results *rs, bool source)
{
    const double sign = ferry_i_results_sign(rs);
    int64_t best = -1;

    for (int64_t i = 0; rs->n_metrics > 0 && i < rs->n; i++) {
        const ferry_entry *e = &rs->result[i];
        if (!validate_may(e) || (!source && e->pub.uses != FERRY_USES_TARGET_ONLY))
            continue;
        const double x = sign * ferry_i_result_mean(rs, e, 0);
        if (isfinite(x) &&
            (best < 0 || x > sign * ferry_i_result_mean(rs, &rs->result[best], 0)))
            best = i;
    }
    return best;
}

static void take_best(scope *s, int64_t place, chosen *to)
{
    to->place = NEW(s, int64_t, 1);
    to->weight = NEW(s, double, 1);
    to->n = place >= 0;
    to->place[0] = place;
    to->weight[0] = 1;
}

static void rank_only(scope *s, work *w)
{
    ferry_recommendation *a = w->a;
    ferry_results *rs = w->rs;
    const int64_t best = best_of(rs, true), own = best_of(rs, false);
    choice c = {0};

    take_best(s, best, &c.w);
    take_best(s, own, &c.t);
    answer_members(s, rs, &c, a);
    a->calibrated = 0;
    if (best >= 0) a->value = ferry_i_result_mean(rs, &rs->result[best], 0);
    if (own < 0 || best < 0) return;
    a->value_without = ferry_i_result_mean(rs, &rs->result[own], 0);
    a->worth = ferry_i_results_sign(rs) * (a->value - a->value_without);
    a->verdict = FERRY_WORTH_OPEN;
    if (rs->result[best].pub.uses == FERRY_USES_TARGET_ONLY)
        a->verdict = FERRY_NOT_WORTH_IT;
    if (best == own || !rs->result[best].rows || !rs->result[own].rows) return;
    const ferry_crossed d = cross(s, w, rs->result[best].rows, rs->result[own].rows);
    if (d.n == 0 || !isfinite(d.low)) return;
    a->worth_low = d.low;
    a->worth_high = d.high;
}

/* ---- all of it ---- */

static void *owned(scope *s, int64_t n, size_t size)
{
    void *p = ferry_i_calloc(n, size);

    if (!p) scope_check(s, ferry_i_nomem(scope_ctx(s)));
    return p;
}

static const ferry_blend_member *list_members(scope *s, const ferry_results *rs,
                                              const chosen *c, int64_t *n)
{
    ferry_blend_member *m = owned(s, c->n, sizeof *m);

    *n = 0;
    for (int64_t j = 0; j < c->n; j++) {
        const ferry_result *r = &rs->result[c->place[j]].pub;
        m[j] =
            (ferry_blend_member){sizeof *m, ferry_i_strdup(r->name), r->uses, c->weight[j]};
        if (!m[j].name) {
            free_members(j, m);
            scope_check(s, ferry_i_nomem(scope_ctx(s)));
        }
    }
    *n = c->n;
    return m;
}

void answer_members(scope *s, const ferry_results *rs, const choice *c,
                    ferry_recommendation *a)
{
    const ferry_metric *metric = rs->n_metrics > 0 ? rs->metrics[0] : NULL;

    a->member = list_members(s, rs, &c->w, &a->members);
    a->member_without = list_members(s, rs, &c->t, &a->without);
    a->labels = c->v.visible;
    a->share = c->p.omega;
    a->level = LEVEL;
    a->calibrated = (rs->run.goal == FERRY_CLASSIFY || rs->run.goal == FERRY_REGRESS);
    a->metric = metric ? ferry_i_strdup(metric->info.name) : NULL;
    if (metric && !a->metric) scope_check(s, ferry_i_nomem(scope_ctx(s)));
    a->larger_is_better = metric && metric->info.larger_is_better;
}

/* An error between 0 and 1 (numbers: of their variance) in units of the metric: accuracy, rmse, or the share of a set's
 * labels that are wrong. */
static double in_units(const held_out *e, double error)
{
    if (e->classes) return 1 - error;
    const double squares = fmax(0, error) * e->variance;
    return e->sets ? fmin(squares, 1) : sqrt(squares);
}

static ferry_status remark_names(scope *s, const choice *c, ferry_recommendation *a)
{
    names_found found;

    if (!policy_names(s, &c->v.e, c->v.fold, &found) || found.p >= .01) return FERRY_OK;
    a->remark = ferry_i_sprintf(
        "The source's classes look renamed: with other names %lld of %lld labels would be "
        "right instead of %lld.",
        (long long)found.exchanged, (long long)c->v.e.n, (long long)found.given);
    return a->remark ? FERRY_OK : ferry_i_nomem(scope_ctx(s));
}

/* How many more would show a worth of this size in 8 of 10 cases: intervals shrink as the root of their number. 0: more than
 * 100 times as many. */
static int64_t labels_to_tell(const ferry_recommendation *a, int64_t n)
{
    const double z = ferry_i_student_t(1 - a->level, INFINITY);
    const double power = 1 + ferry_i_student_t(2 * .2, INFINITY) / z;
    const double half = (a->worth_high - a->worth_low) / 2;
    const double all = (double)n * pow(power * half / a->worth, 2);

    if (!(all <= 100 * (double)n)) return 0;
    return all > (double)n ? (int64_t)ceil(all) - n : 1;
}

void answer_promise(scope *s, const choice *c, ferry_recommendation *a)
{
    const held_out *e = &c->v.e;
    const int64_t mark = scope_mark(s);

    a->validated = 1;
    ferry_i_free((char *)a->metric);
    a->metric = ferry_i_strdup(e->classes ? "accuracy" : e->sets ? "hamming" : "rmse");
    if (!a->metric) scope_check(s, ferry_i_nomem(scope_ctx(s)));
    a->larger_is_better = e->classes;
    if (!c->by_labels) return;
    const promise p = policy_promise(s, e, &c->p, LEVEL);
    const double sign = e->classes ? 1 : -1;
    a->value = in_units(e, p.w.at);
    a->low = in_units(e, e->classes ? p.w.high : p.w.low);
    a->high = in_units(e, e->classes ? p.w.low : p.w.high);
    a->value_without = in_units(e, p.t.at);
    a->low_without = in_units(e, e->classes ? p.t.high : p.t.low);
    a->high_without = in_units(e, e->classes ? p.t.low : p.t.high);
    a->worth = sign * (a->value - a->value_without);
    const double
        scale = /* of numbers: an error's derivative, so that intervals are of rmse */
        e->classes ? 1
        : e->sets  ? e->variance
                   : .5 * e->variance / fmax(a->value_without, 1e-300);
    a->worth_low = a->worth - scale * (p.difference.high - p.difference.at);
    a->worth_high = a->worth + scale * (p.difference.at - p.difference.low);
    a->verdict = c->p.why == POLICY_NO_SOURCE
                     ? FERRY_WORTH_UNKNOWN
                     : judge_worth(a->worth, a->worth_low, a->worth_high,
                                   e->classes ? MATTERS : MATTERS * a->value_without);
    if (a->verdict == FERRY_WORTH_OPEN) a->needed_labels = labels_to_tell(a, e->n);
    if (e->classes) scope_check(s, remark_names(s, c, a));
    scope_release(s, mark);
}

/* The numbers of a model of all labels, where repeats were a cross-validation on them: what a repeat's policies get is what
 * four of five labels give. */
static void deploy(scope *s, work *w)
{
    ferry_ctx *ctx = scope_ctx(s);

    ctx->repeat = 0; /* as in ferry_fit_answer(): what is told here is what that fits */
    scope_defer(s, free_split, w);
    scope_check(s, ferry_i_task_split(ctx, w->task, FERRY_DEPLOYED, &w->split));
    scope_check(s, ferry_i_task_bridges(ctx, w->task, 0, w->split));
    const choice c = answer_choose(s, w->rs, w->split, w->single);
    answer_members(s, w->rs, &c, w->a);
    answer_promise(s, &c, w->a);
}

static void run_policies(scope *s, work *w)
{
    ferry_policy_runs *k = w->runs;
    const int64_t n = w->rs->run.repeats;

    k->repeats = n;
    k->w_rows = owned(s, n, sizeof *k->w_rows);
    k->t_rows = owned(s, n, sizeof *k->t_rows);
    k->w = owned(s, n, sizeof *k->w);
    k->t = owned(s, n, sizeof *k->t);
    k->validated = owned(s, n * w->rs->n, sizeof *k->validated);
    for (int64_t r = 0; r < n; r++)
        one_repeat(s, w, r);
    if (w->rs->hands.folds) deploy(s, w);
    if (!w->hidden) return;
    if (!w->rs->hands.folds) conclude_hidden(s, w);
    w->a->repeats = n;
    w->a->runs = copy_runs(s, n, k->w);
    w->a->runs_without = copy_runs(s, n, k->t);
}

static void body(scope *s, void *arg)
{
    work *w = arg;
    const ferry_goal goal = w->rs->run.goal;

    if (goal == FERRY_STREAM || goal == FERRY_EMBED)
        rank_only(s, w);
    else
        run_policies(s, w);
}

ferry_status ferry_i_answer_run(ferry_ctx *ctx, const ferry_task *task, ferry_results *rs,
                                bool single, bool hidden)
{
    ferry_status st = FERRY_OK;
    work w = {.task = task, .rs = rs, .single = single, .hidden = hidden};

    FERRY_NEW(ctx, w.a, 1);
    *w.a = (ferry_recommendation){.size = sizeof *w.a,
                                  .value = NAN,
                                  .low = NAN,
                                  .high = NAN,
                                  .value_without = NAN,
                                  .low_without = NAN,
                                  .high_without = NAN,
                                  .worth = NAN,
                                  .worth_low = NAN,
                                  .worth_high = NAN};
    FERRY_NEW(ctx, w.runs, 1);
    FERRY_TRY(scope_run(ctx, body, &w));
    FERRY_MOVE(rs->policy, w.runs);
    FERRY_MOVE(rs->answer, w.a);
done:
    ferry_i_policy_runs_free(w.runs);
    ferry_i_answer_free(w.a);
    return st;
}
