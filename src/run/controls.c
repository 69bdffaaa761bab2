/* Question 2 of the verdict: is it the source? Methods in control tasks that keep everything but the
 * knowledge (task/control.c), on the first split, and what their numbers say.
 *
 * 1. Two draws of each control (where there are four or more, one of the later ones) for every transfer
 *    method. A method none of whose predictions changes does not use its source. The first control that
 *    changes them, in the order below, is the method's primary control.
 * 2. The end, unless some better method is above all its draws, or some worse one below all of its own.
 * 3. Otherwise K = 19 draws of the primary control for all methods, those that are no candidates among
 *    them: p = (1 + draws whose best is as good) / (K + 1), the best over methods that are each
 *    standardised over their K + 1 control tasks (crossed.c), so that looking at many methods costs no false
 *    claim. A method whose draws would take longer than a minute and than 2.4 times its repeats stays
 *    out: told by its time alone, before any of its draws is seen.
 *    The primary method, if it is a better one, is not held against the others' draws. What the source is worth to a method
 *    is its score less the mean of its draws, on the same split.
 * 4. Methods that pass high get the other controls up to 5 draws in all, and must beat each of them.
 *
 * `full`: K = 39, nobody stays out, no early end, 5 draws of each other control, and every source left
 * out in turn on all repeats.
 *
 * With `labelled: all` a split scores a fold alone, so a control task is scored on a whole cross-validation instead.
 *
 * Draw k of a control is the same control task for all methods. A job makes a control task and runs the methods that
 * want it, so jobs are independent and the numbers do not depend on how many run at once. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/pool.h"
#include "methods/method.h"
#include "run/run.h"

enum { NONE, QUICK, FULL };
enum { FIRST = 2, DRAWS = 19, FULL_DRAWS = 39, OTHERS = 5 };
static const double MINUTE = 60, SHARE = 2.4; /* what 19 draws may take */

static const ferry_control order[] = {FERRY_CONTROL_CLASSES,  FERRY_CONTROL_LABELS,
                                      FERRY_CONTROL_CODEBOOK, FERRY_CONTROL_NOISE,
                                      FERRY_CONTROL_GRAPH,    FERRY_CONTROL_BRIDGE};

static int64_t most_draws(const ferry_results *rs)
{
    return rs->level == FULL ? FULL_DRAWS : DRAWS;
}

/* ---- planning ---- */

/* Whether control `kind` belongs to the method on this task. */
static bool applies(const ferry_task *task, const ferry_method *m, ferry_control kind)
{
    if (kind == FERRY_CONTROL_CODEBOOK) return m->control != NULL;
    if (kind == FERRY_CONTROL_CLASSES && !m->names_classes) return false;
    return ferry_i_task_has_control(task, kind);
}

static ferry_status add_trial(ferry_ctx *ctx, ferry_entry *r, ferry_control kind,
                              const char *source, int64_t want, int64_t slots)
{
    ferry_status st = FERRY_OK;
    ferry_trial *t = &r->trial[r->n_trials++];

    *t = (ferry_trial){.kind = kind, .want = want};
    t->pub = (ferry_evidence){.size = sizeof t->pub,
                              .control = ferry_i_control_name(kind),
                              .source = ferry_i_strdup(source),
                              .repeats = 1,
                              .mean = NAN,
                              .gain = NAN,
                              .excess = NAN,
                              .low = NAN,
                              .high = NAN,
                              .p = NAN,
                              .p_holm = NAN};
    FERRY_NEW(ctx, t->metric, slots);
    FERRY_NEW(ctx, t->state, slots);
    FERRY_NEW(ctx, t->why, slots);
    t->slots = slots;
    if (source) FERRY_NEW(ctx, t->rows, slots);
    FERRY_HAVE(ctx, !source == !t->pub.source);
done:
    return st;
}

static ferry_status plan_method(ferry_ctx *ctx, const ferry_task *task,
                                const ferry_results *rs, ferry_entry *r)
{
    ferry_status st = FERRY_OK;
    const int64_t sources = ferry_i_task_count_role(task, FERRY_SOURCE);
    int64_t controls = 0, twice = 0;

    FERRY_NEW(ctx, r->trial, FERRY_COUNT(order) + sources);
    for (int64_t k = 0; k < FERRY_COUNT(order); k++)
        controls += applies(task, r->how, order[k]);
    twice = controls <= 3 ? controls : OTHERS + 1 - controls; /* any may be the primary */
    for (int64_t k = 0; k < FERRY_COUNT(order); k++)
        if (applies(task, r->how, order[k]))
            FERRY_TRY(add_trial(ctx, r, order[k], NULL, r->n_trials < twice ? FIRST : 1,
                                most_draws(rs)));
    if (rs->level == FULL && applies(task, r->how, FERRY_CONTROL_WITHOUT))
        for (int64_t s = 0; s < sources; s++)
            FERRY_TRY(add_trial(ctx, r, FERRY_CONTROL_WITHOUT,
                                ferry_i_task_role(task, FERRY_SOURCE, s)->name, 0,
                                rs->run.planned));
done:
    return st;
}

ferry_transfers ferry_i_task_transfers(const ferry_task *task)
{
    const bool bridge = ferry_i_task_has_control(task, FERRY_CONTROL_BRIDGE);
    const bool graph = ferry_i_task_has_control(task, FERRY_CONTROL_GRAPH);

    if (ferry_i_task_count_role(task, FERRY_SOURCE) > 0) return FERRY_TRANSFERS_SOURCE;
    return bridge && graph ? FERRY_TRANSFERS_BOTH
           : bridge        ? FERRY_TRANSFERS_BRIDGE
           : graph         ? FERRY_TRANSFERS_GRAPH
                           : FERRY_TRANSFERS_NOTHING;
}

ferry_status ferry_i_controls_plan(ferry_ctx *ctx, const ferry_task *task,
                                   ferry_results *rs, int64_t *fits)
{
    ferry_status st = FERRY_OK;
    bool baseline = false;

    *fits = 0;
    for (int64_t i = 0; i < rs->n; i++)
        baseline = baseline || (!rs->result[i].pub.reason &&
                                rs->result[i].pub.kind == FERRY_KIND_BASELINE);
    if (rs->level == NONE || !baseline || rs->n_metrics == 0) return FERRY_OK;
    for (int64_t i = 0; i < rs->n; i++) {
        ferry_entry *r = &rs->result[i];
        if (!ferry_i_results_judged(r)) continue;
        FERRY_TRY(plan_method(ctx, task, rs, r));
        for (int64_t t = 0; t < r->n_trials; t++)
            *fits += r->trial[t].want;
    }
done:
    return st;
}

/* ---- one fit ---- */

/* How many splits a control task is scored on: the first, or all folds. */
static int64_t splits_of(const ferry_results *rs)
{
    const int64_t folds = rs->hands.folds ? rs->hands.hands : 1;
    const int64_t most = rs->run.repeats > 1 ? rs->run.repeats : 1;

    return folds < most ? folds : most;
}

/* ... and the method itself on these. */
static double own_score(const ferry_results *rs, const ferry_entry *r)
{
    return ferry_i_mean(splits_of(rs), r->metric);
}

static bool close_to(int64_t n, const double *a, const double *b)
{
    for (int64_t i = 0; i < n; i++) /* sums over shuffled rows differ in their last bits */
        if (a[i] != b[i] && !(fabs(a[i] - b[i]) <= 1e-9 * (1 + fabs(a[i])))) return false;
    return true;
}

/* Whether two predictions are the same for people: classes, numbers, sets; scores where the metric
 * reads them. */
static bool same_prediction(const ferry_results *rs, const ferry_prediction *a,
                            const ferry_prediction *b)
{
    const bool scores = rs->run.goal & (FERRY_EMBED | FERRY_MULTILABEL) ||
                        ferry_i_metric_reads_scores(rs->metrics[0]);

    if (a->n != b->n || !a->cls != !b->cls || !a->value != !b->value || !a->set != !b->set)
        return false;
    for (int64_t i = 0; a->cls && i < a->n; i++) {
        const int32_t x = a->cls[i], y = b->cls[i];
        if ((x < 0) != (y < 0)) return false;
        if (x < 0 || (!a->names && x == y)) continue;
        if (!a->names || !b->names || strcmp(a->names[x], b->names[y]) != 0) return false;
    }
    if (a->value && !close_to(a->n, a->value, b->value)) return false;
    if (a->set && (a->k != b->k || memcmp(a->set, b->set, (size_t)(a->n * a->k)) != 0))
        return false;
    if (!scores || !a->score || !b->score) return true;
    return a->k == b->k && close_to(a->n * a->k, a->score, b->score);
}

/* Fit, predict, score in a control task; what concerns only this trial is kept in its slot. */
static ferry_status run_trial(ferry_ctx *ctx, const ferry_results *rs, const ferry_entry *r,
                              const ferry_task *split, int64_t draw, int64_t repeat,
                              ferry_trial *t, bool *same)
{
    ferry_status st = FERRY_OK;
    ferry_ctx own = ferry_i_child(ctx);
    const ferry_method *m = r->how;
    const int64_t slot = t->pub.source ? repeat : draw;
    double *score = NULL;
    ferry_run_cell c = {.opts = r->opts, .split = split, .mask = rs->scored[repeat]};
    char name[96];

    (void)snprintf(name, sizeof name, "%lld-c%lld-%lld-%lld", (long long)(r - rs->result),
                   (long long)(t - r->trial), (long long)draw, (long long)repeat);
    own.log =
        NULL; /* what a method says of a control task reads like a word about the data */
    FERRY_NEW(ctx, score, rs->n_metrics);
    if (t->kind == FERRY_CONTROL_CODEBOOK) { /* it draws its chance inside the fit */
        FERRY_TRY(ferry_i_method_get(ctx, m->control, &m));
        own.seed += (uint64_t)draw;
    }
    c.how = m;
    st = ferry_i_cell_run(&own, rs, name, &c);
    if (st == FERRY_OK)
        st = ferry_i_score(&own, rs, c.split, c.answer, rs->scored[repeat],
                           rs->count[repeat], score, t->rows ? &t->rows[repeat] : NULL);
    (void)ferry_i_join(ctx, &own, st);
    if (ferry_i_skips(st)) {
        st = FERRY_OK;
        FERRY_HAVE(ctx, t->why[slot] = ferry_i_strdup(ferry_message(ctx)));
        goto done;
    }
    FERRY_TRY(st);
    if (repeat == 0) *same = same_prediction(rs, r->kept[0].given, c.answer);
    if (t->pub.source) {
        t->metric[slot] = score[0];
        t->state[slot] = FERRY_TRIAL_CHANGED;
        if (repeat == 0 && *same) t->state[slot] = FERRY_TRIAL_SAME;
        goto done;
    }
    const double splits = (double)splits_of(rs);
    t->metric[slot] = (repeat == 0 ? 0 : t->metric[slot]) + score[0] / splits;
    if (repeat + 1 == splits_of(rs)) /* complete */
        t->state[slot] = *same ? FERRY_TRIAL_SAME : FERRY_TRIAL_CHANGED;
done:
    ferry_i_cell_clear(&c);
    ferry_i_free(score);
    return st;
}

/* ---- control tasks ---- */

/* A control task: draw of a control, or source `draw` left out, on split `repeat`. */
typedef struct control_task {
    ferry_control kind;
    int64_t draw, repeat;
} control_task;

typedef struct control_tasks {
    const ferry_task *task; /* resolved */
    ferry_results *rs;
    control_task *at;
    int64_t n;
} control_tasks;

/* The trial of a method that wants to run in this control task, or NULL. */
static ferry_trial *wanted(const ferry_entry *r, const control_task *w)
{
    int64_t source = 0;

    for (int64_t i = 0; i < r->n_trials && !r->pub.reason; i++) {
        ferry_trial *t = &r->trial[i];
        if (t->kind != w->kind || (t->pub.source && source++ != w->draw)) continue;
        const int64_t slot = t->pub.source ? w->repeat : w->draw;
        return slot >= t->done && slot < t->want && !t->pub.reason ? t : NULL;
    }
    return NULL;
}

static ferry_status run_world(ferry_ctx *ctx, void *arg, int64_t i)
{
    ferry_status st = FERRY_OK;
    const control_tasks *d = arg;
    const control_task *w = &d->at[i];
    ferry_task *changed = NULL, *split = NULL;
    bool finish = false, *same = NULL;
    const int64_t last =
        w->kind == FERRY_CONTROL_WITHOUT ? w->repeat : splits_of(d->rs) - 1;

    FERRY_NEW(ctx, same, d->rs->n);
    FERRY_TRY(ferry_i_task_control(ctx, d->task, w->kind, w->draw, &changed));
    for (int64_t r = w->repeat; r <= last && !finish; r++) {
        ctx->repeat = (uint64_t)r;
        FERRY_TRY(ferry_i_split_chosen(ctx, changed, d->task, r, &split));
        for (int64_t k = 0; k < d->rs->n && !finish; k++) {
            ferry_trial *t = wanted(&d->rs->result[k], w);
            if (!t || (!t->pub.source && t->why[w->draw])) continue;
            FERRY_TRY(
                ferry_i_progress(ctx, ferry_i_control_name(w->kind), 0, 0, NAN, &finish));
            if (!finish)
                FERRY_TRY(run_trial(ctx, d->rs, &d->rs->result[k], split, w->draw, r, t,
                                    &same[k]));
        }
        ferry_task_free(split);
        split = NULL;
    }
done:
    ferry_task_free(split);
    ferry_task_free(changed);
    ferry_i_free(same);
    return st;
}

/* What the trials of a control task left, to other ranks or from one. */
static ferry_status pack_draw(ferry_ctx *ctx, void *arg, int64_t i, ferry_buffer *p)
{
    const control_tasks *d = arg;
    const control_task *w = &d->at[i];

    (void)ctx;
    for (int64_t k = 0; k < d->rs->n; k++) {
        ferry_trial *t = wanted(&d->rs->result[k], w);
        if (!t) continue;
        const int64_t slot = t->pub.source ? w->repeat : w->draw;
        int64_t count = d->rs->count[w->repeat];
        FERRY_PACK(p, t->metric[slot]);
        FERRY_PACK(p, t->state[slot]);
        ferry_i_buffer_text(p, &t->why[slot]);
        if (t->rows)
            ferry_i_buffer_array(p, (void **)&t->rows[w->repeat], &count, sizeof **t->rows);
    }
    return FERRY_OK;
}

/* So much of a trial is complete, from the first slot on; a failure ends it. */
static void add_up(ferry_results *rs)
{
    for (int64_t i = 0; i < rs->n; i++)
        for (int64_t k = 0; k < rs->result[i].n_trials; k++) {
            ferry_trial *t = &rs->result[i].trial[k];
            while (t->done < t->want && t->state[t->done] != FERRY_TRIAL_NOT_RUN)
                t->done++;
            if (t->done < t->want && !t->pub.reason)
                FERRY_MOVE(t->pub.reason, t->why[t->done]);
        }
}

/* Every control task that some method wants. */
static ferry_status run_round(ferry_ctx *ctx, const ferry_task *task, ferry_results *rs,
                              bool *finish)
{
    ferry_status st = FERRY_OK;
    control_tasks d = {.task = task, .rs = rs};
    int64_t most = most_draws(rs);

    if (*finish) return FERRY_OK;
    const int64_t sources = ferry_i_task_count_role(task, FERRY_SOURCE);
    if (sources > most) most = sources;
    FERRY_NEW(ctx, d.at, FERRY_N_CONTROLS * most * rs->run.repeats);
    for (ferry_control kind = 0; kind < FERRY_N_CONTROLS; kind++)
        for (int64_t draw = 0; draw < most; draw++)
            for (int64_t r = 0; r < rs->run.repeats; r++) {
                bool any = false;
                d.at[d.n] = (control_task){kind, draw, r};
                if (kind != FERRY_CONTROL_WITHOUT && r > 0) break;
                for (int64_t i = 0; i < rs->n; i++)
                    any = any || wanted(&rs->result[i], &d.at[d.n]);
                d.n += any;
            }
    ctx->step = 0;
    ctx->steps = d.n;
    st = ferry_i_pool_run(
        ctx, &(ferry_jobs){.n = d.n, .run = run_world, .arg = &d, .pack = pack_draw},
        finish);
    add_up(rs); /* also of a round that was stopped */
done:
    ferry_i_free(d.at);
    return st;
}

/* ---- what the draws say ---- */

static void measure_trial(const ferry_results *rs, const ferry_entry *r, ferry_trial *t)
{
    const double sign = ferry_i_results_sign(rs), own = sign * own_score(rs, r);
    bool changed = false;

    t->pub.draws = t->done;
    if (t->done == 0) return;
    t->pub.runs = t->metric;
    t->pub.mean = ferry_i_mean(t->done, t->metric);
    t->pub.gain = own - sign * t->pub.mean;
    t->pub.as_good = t->pub.as_bad = 0;
    for (int64_t k = 0; k < t->done; k++) {
        changed = changed || t->state[k] == FERRY_TRIAL_CHANGED;
        t->pub.as_good += sign * t->metric[k] >= own - 1e-12;
        t->pub.as_bad += sign * t->metric[k] <= own + 1e-12;
    }
    t->pub.same = !changed;
}

/* Of the controls: the first that changes predictions, and how many draws do as well or as badly. */
static void measure(const ferry_results *rs, ferry_entry *r)
{
    int64_t ran = 0;

    r->primary = -1;
    r->pub.control_draws = r->pub.as_good = r->pub.as_bad = 0;
    r->beats_others = true;
    for (int64_t i = 0; i < r->n_trials; i++) {
        ferry_trial *t = &r->trial[i];
        if (t->pub.source) continue;
        measure_trial(rs, r, t);
        ran += t->done;
        if (t->done == 0 || t->pub.same) continue;
        if (r->primary < 0 && !t->pub.reason) r->primary = i;
        t->pub.primary = r->primary == i;
        r->pub.control_draws += t->done;
        r->pub.as_good += t->pub.as_good;
        r->pub.as_bad += t->pub.as_bad;
        if (!t->pub.primary && t->pub.as_good > 0) r->beats_others = false;
    }
    r->unused =
        rs->transfers == FERRY_TRANSFERS_NOTHING || (ran > 0 && r->pub.control_draws == 0);
}

/* Seconds of a fit, as seen in the repeats. */
static double fit_seconds(const ferry_results *rs, const ferry_entry *r)
{
    return ferry_i_mean(rs->run.repeats, r->seconds) * (double)splits_of(rs);
}

/* Too dear for the default: known before its draws are seen. */
static bool left_out(const ferry_results *rs, const ferry_entry *r)
{
    const double one = fit_seconds(rs, r);

    return rs->level == QUICK &&
           DRAWS * one >
               fmax(MINUTE, SHARE * (double)rs->run.repeats * one / (double)splits_of(rs));
}

static bool in_family(const ferry_results *rs, const ferry_entry *r)
{
    return ferry_i_results_judged(r) && r->primary >= 0 && !left_out(rs, r);
}

static void measure_all(ferry_results *rs)
{
    for (int64_t i = 0; i < rs->n; i++)
        if (ferry_i_results_judged(&rs->result[i])) measure(rs, &rs->result[i]);
}

/* Step 2. */
static bool goes_on(const ferry_results *rs)
{
    bool on = rs->level == FULL;

    for (int64_t i = 0; i < rs->n && !on; i++) {
        const ferry_entry *r = &rs->result[i];
        on = in_family(rs, r) &&
             ((r->better && r->pub.as_good == 0) || (r->worse && r->pub.as_bad == 0));
    }
    return on;
}

/* Step 3's p-values, over the methods whose draws are all there. */
/* What the source is worth to a method: itself against its draws, on the same splits. */
static void measure_worth(ferry_entry *r, double own, int64_t draws, const double *drawn)
{
    double half = NAN;

    r->pub.source_worth = ferry_i_worth(own, draws, drawn, &half);
    r->pub.source_worth_low = r->pub.source_worth - half;
    r->pub.source_worth_high = r->pub.source_worth + half;
}

static ferry_status test_family(ferry_ctx *ctx, ferry_results *rs)
{
    ferry_status st = FERRY_OK;
    const int64_t k = most_draws(rs);
    const double sign = ferry_i_results_sign(rs);
    double *own = NULL, *drawn = NULL, *p = NULL, *alone = NULL;
    ferry_entry **member = NULL;
    int64_t n = 0;

    FERRY_NEW(ctx, member, rs->n);
    for (int64_t i = 0; i < rs->n; i++) {
        ferry_entry *r = &rs->result[i];
        if (in_family(rs, r) && r->trial[r->primary].done == k) member[n++] = r;
    }
    FERRY_NEW(ctx, own, n);
    FERRY_NEW(ctx, p, n);
    FERRY_NEW(ctx, drawn, n * k);
    FERRY_NEW(ctx, alone, k);
    for (int64_t m = 0; m < n; m++) {
        own[m] = sign * own_score(rs, member[m]);
        for (int64_t d = 0; d < k; d++)
            drawn[d * n + m] = alone[d] =
                sign * member[m]->trial[member[m]->primary].metric[d];
        measure_worth(member[m], own[m], k, alone);
    }
    for (int side = -1; side <= 1; side += 2) {
        FERRY_TRY(ferry_i_max_t(ctx, n, k, own, drawn, side, p));
        for (int64_t m = 0; m < n; m++)
            *(side > 0 ? &member[m]->pub.p_high : &member[m]->pub.p_low) = p[m];
        for (int64_t m = 0; m < n && side > 0; m++) { /* it is a question of its own */
            if (!member[m]->primary_one || !member[m]->better) continue;
            for (int64_t d = 0; d < k; d++)
                alone[d] = drawn[d * n + m];
            FERRY_TRY(
                ferry_i_max_t(ctx, 1, k, &own[m], alone, side, &member[m]->pub.p_high));
        }
    }
done:
    FERRY_FREE(own, p, drawn, alone);
    ferry_i_free(member);
    return st;
}

/* Step 4: who passed high gets its other controls, 5 draws in all (full: of each); what went to
 * controls that change nothing is among them. */
static void want_others(const ferry_results *rs, ferry_entry *r)
{
    int64_t others = 0, left = OTHERS;

    if (!r->better || !(r->pub.p_high <= 0.05)) return;
    for (int64_t i = 0; i < r->n_trials; i++) {
        const ferry_trial *t = &r->trial[i];
        if (i == r->primary || t->pub.source) continue;
        others += !t->pub.same;
        left -= t->pub.same ? t->done : 0;
    }
    for (int64_t i = 0; i < r->n_trials; i++) {
        ferry_trial *t = &r->trial[i];
        if (i == r->primary || t->pub.source || t->pub.same) continue;
        const int64_t share = rs->level == FULL ? OTHERS : (left + others - 1) / others;
        if (share > t->want) t->want = share;
        left -= share;
        others--;
    }
}

/* One draw is as good: full's 39, of which the first 19 are these, may have one. */
static bool full_may_tell(const ferry_results *rs, const ferry_entry *r)
{
    const double two = 2.0 / (DRAWS + 1) + 1e-9, five = 0.05 + 1e-9;
    const double p = r->better && r->beats_others ? r->pub.p_high
                     : r->worse                   ? r->pub.p_low
                                                  : 1;

    return rs->level == QUICK && p > five && p < two;
}

/* How many draws are not there, and what they would take. */
static void tell_missing(const ferry_results *rs)
{
    for (int64_t i = 0; i < rs->n; i++) {
        ferry_entry *r = &rs->result[i];
        if (!ferry_i_results_judged(r) || r->primary < 0) continue;
        r->pub.needed_draws = (full_may_tell(rs, r) ? FULL_DRAWS : most_draws(rs)) -
                              r->trial[r->primary].done;
        r->pub.needed_seconds = (double)r->pub.needed_draws * fit_seconds(rs, r);
    }
}

/* Each source left out, on all repeats. */
static ferry_status test_sources(ferry_ctx *ctx, ferry_results *rs)
{
    ferry_status st = FERRY_OK;
    ferry_crossed c;

    for (int64_t i = 0; i < rs->n; i++)
        for (int64_t k = 0; k < rs->result[i].n_trials; k++) {
            ferry_trial *t = &rs->result[i].trial[k];
            if (!t->pub.source || t->pub.reason || t->done < rs->run.repeats) continue;
            FERRY_TRY(ferry_i_results_cross(ctx, rs, rs->result[i].rows, t->rows, &c));
            t->pub.draws = 1;
            t->pub.repeats = t->done;
            t->pub.runs = t->metric;
            t->pub.mean = ferry_i_mean(t->done, t->metric);
            t->pub.gain = c.mu;
            t->pub.low = c.low;
            t->pub.high = c.high;
            t->pub.p = fmin(1, 2 * fmin(c.p_better, c.p_worse));
        }
done:
    return st;
}

ferry_status ferry_i_controls_run(ferry_ctx *ctx, const ferry_task *task, ferry_results *rs,
                                  bool *finish)
{
    ferry_status st = FERRY_OK;
    ferry_task *resolved = NULL;

    FERRY_TRY(ferry_i_task_resolved(ctx, task, &resolved));
    FERRY_TRY(run_round(ctx, resolved, rs, finish));
    measure_all(rs);
    if (rs->n_metrics > 0) /* now that it is known who uses the source */
        FERRY_TRY(ferry_i_results_correct(ctx, rs));
    if (goes_on(rs)) {
        for (int64_t i = 0; i < rs->n; i++)
            if (in_family(rs, &rs->result[i]))
                rs->result[i].trial[rs->result[i].primary].want = most_draws(rs);
        FERRY_TRY(run_round(ctx, resolved, rs, finish));
        measure_all(rs);
        FERRY_TRY(test_family(ctx, rs));
        for (int64_t i = 0; i < rs->n; i++)
            want_others(rs, &rs->result[i]);
        for (int64_t i = 0; i < rs->n; i++)
            for (int64_t k = 0; k < rs->result[i].n_trials; k++)
                if (rs->result[i].trial[k].pub.source)
                    rs->result[i].trial[k].want = rs->run.repeats;
        FERRY_TRY(run_round(ctx, resolved, rs, finish));
        measure_all(rs);
        FERRY_TRY(test_sources(ctx, rs));
    }
    tell_missing(rs);
done:
    ferry_task_free(resolved);
    return st;
}
