/* Transfer methods under controls: the same method, options and splits, on a task that
 * keeps everything but the knowledge (task/control.c). verdict.c says what the numbers
 * mean.
 *
 * quick: noise, shuffled labels (goal rate: the method's own control), 3 draws
 * of each on the first 2 repeats; when only one of them applies, 6 draws. Without a source:
 * what else the task has, likewise. full: every control, 8 draws, all repeats. */
#include <math.h>

#include "eval/eval.h"
#include "methods/method.h"

enum { NONE, QUICK, FULL };
enum { QUICK_REPEATS = 2, QUICK_DRAWS = 3, DRAWS = 8 };

/* ---- which ---- */

/* Whether control `kind` belongs to the method on this task. */
static bool applies(const ferry_task *task, const ferry_method *m, ferry_control kind)
{
    if (kind == FERRY_CONTROL_CODEBOOK) return m->control != NULL;
    return ferry_i_task_has_control(task, kind);
}

/* As many as there are at this level; kinds gets them. */
static int64_t choose(const ferry_task *task, const ferry_method *m, int level,
                      ferry_control *kinds)
{
    int64_t n = 0;

    for (ferry_control k = 0; k < FERRY_N_CONTROLS; k++) {
        const bool quick = k <= FERRY_CONTROL_CODEBOOK;
        const bool rest = k < FERRY_CONTROL_WITHOUT; /* quick, where nothing else is */
        if ((level == FULL || quick || (rest && n == 0)) && applies(task, m, k))
            kinds[n++] = k;
    }
    return n;
}

static ferry_status add_trial(ferry_ctx *ctx, ferry_entry *r, ferry_control kind,
                              const char *source, int64_t draws, int64_t repeats)
{
    ferry_status st = FERRY_OK;
    ferry_trial *t = &r->trial[r->n_trials++];

    *t = (ferry_trial){.kind = kind};
    t->pub = (ferry_evidence){.size = sizeof t->pub,
                              .control = ferry_i_control_name(kind),
                              .source = ferry_i_strdup(source),
                              .draws = draws,
                              .repeats = repeats,
                              .mean = NAN,
                              .gain = NAN,
                              .excess = NAN,
                              .low = NAN,
                              .high = NAN,
                              .p = NAN,
                              .p_holm = NAN};
    FERRY_NEW(ctx, t->metric, draws * repeats);
    FERRY_HAVE(ctx, !source == !t->pub.source);
done:
    return st;
}

static ferry_status plan_method(ferry_ctx *ctx, const ferry_task *task,
                                const ferry_results *rs, ferry_entry *r)
{
    ferry_status st = FERRY_OK;
    const int64_t sources = ferry_i_task_count_role(task, FERRY_SOURCE);
    ferry_control kinds[FERRY_N_CONTROLS];
    const int64_t n = choose(task, r->how, rs->level, kinds);
    const bool quick = rs->level == QUICK;
    const int64_t repeats =
        quick && rs->run.planned > QUICK_REPEATS ? QUICK_REPEATS : rs->run.planned;

    FERRY_NEW(ctx, r->trial, n + sources);
    for (int64_t i = 0; i < n; i++) {
        if (kinds[i] == FERRY_CONTROL_WITHOUT) {
            for (int64_t s = 0; s < sources; s++)
                FERRY_TRY(add_trial(ctx, r, kinds[i],
                                    ferry_i_task_role(task, FERRY_SOURCE, s)->name, 1,
                                    repeats));
            continue;
        }
        FERRY_TRY(add_trial(ctx, r, kinds[i], NULL,
                            !quick  ? DRAWS
                            : n > 1 ? QUICK_DRAWS
                                    : 2 * QUICK_DRAWS,
                            repeats));
    }
done:
    return st;
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
        if (r->pub.reason || r->pub.kind != FERRY_KIND_TRANSFER) continue;
        FERRY_TRY(plan_method(ctx, task, rs, r));
        for (int64_t t = 0; t < r->n_trials; t++)
            *fits += r->trial[t].pub.draws * r->trial[t].pub.repeats;
    }
done:
    return st;
}

/* ---- running ---- */

/* What one run needs besides the method. */
typedef struct piece {
    const ferry_task *task; /* resolved */
    ferry_task *split;
    uint8_t *mask;
    int64_t count;
    double *score;
} piece;

/* Fit, predict, score under the control; what concerns only this trial is kept with it. */
static ferry_status run_trial(ferry_ctx *ctx, const ferry_results *rs,
                              const ferry_method *m, const ferry_opts *opts, piece *p,
                              int64_t draw, int64_t repeat, ferry_trial *t)
{
    ferry_status st = FERRY_OK;
    ferry_ctx own = ferry_i_child(ctx);
    ferry_model *model = NULL;
    ferry_prediction *prediction = NULL;
    const ferry_domain *target = NULL;

    FERRY_TRY(ferry_i_task_target(ctx, p->split, &target));
    /* The method's own control draws its chance inside the fit. */
    if (t->kind == FERRY_CONTROL_CODEBOOK) own.seed += (uint64_t)draw;
    st = ferry_i_fit(&own, p->split, m, opts, &model, NULL);
    if (st == FERRY_OK)
        st = ferry_i_answer(&own, rs, model, target, p->mask, NULL, NULL, &prediction);
    (void)ferry_i_join(ctx, &own, st);
    if (st == FERRY_ENEEDS || st == FERRY_ENUMERIC) {
        FERRY_HAVE(ctx, t->pub.reason = ferry_i_strdup(ferry_message(ctx)));
        st = FERRY_OK;
        goto done;
    }
    FERRY_TRY(st);
    FERRY_TRY(ferry_i_score(ctx, rs, prediction, p->mask, p->count, p->score));
    t->metric[draw * t->pub.repeats + repeat] = p->score[0];
    t->done++;
done:
    ferry_prediction_free(prediction);
    ferry_model_free(model);
    return st;
}

/* Draw `draw` of control `kind` for all methods that have it, on split `repeat`. */
static ferry_status run_methods(ferry_ctx *ctx, ferry_results *rs, piece *p,
                                ferry_control kind, int64_t draw, int64_t repeat,
                                bool *finish)
{
    ferry_status st = FERRY_OK;
    char *what = NULL;

    for (int64_t i = 0; i < rs->n; i++) {
        ferry_entry *r = &rs->result[i];
        int64_t source = 0;
        for (int64_t j = 0; j < r->n_trials && !r->pub.reason; j++) {
            ferry_trial *t = &r->trial[j];
            const ferry_method *m = r->how;
            if (t->kind != kind || (t->pub.source && source++ != draw)) continue;
            const int64_t own = t->pub.source ? 0 : draw;
            if (own >= t->pub.draws || repeat >= t->pub.repeats) continue;
            ctx->step++;
            if (t->pub.reason) continue;
            if (kind == FERRY_CONTROL_CODEBOOK)
                FERRY_TRY(ferry_i_method_get(ctx, m->control, &m));
            what = ferry_i_sprintf("%s, %s", r->pub.name, ferry_i_control_name(kind));
            FERRY_HAVE(ctx, what);
            FERRY_TRY(ferry_i_progress(ctx, what, 0, 0, NAN, finish));
            ferry_i_free(what);
            what = NULL;
            if (*finish) goto done;
            FERRY_TRY(run_trial(ctx, rs, m, r->opts, p, own, repeat, t));
        }
    }
done:
    ferry_i_free(what);
    return st;
}

/* Most draws and repeats that any method has of a control. */
static void extent(const ferry_results *rs, ferry_control kind, int64_t *draws,
                   int64_t *repeats)
{
    *draws = *repeats = 0;
    for (int64_t i = 0; i < rs->n; i++) {
        int64_t n = 0;
        for (int64_t j = 0; j < rs->result[i].n_trials; j++) {
            const ferry_trial *t = &rs->result[i].trial[j];
            if (t->kind != kind) continue;
            n += t->pub.draws; /* leave-one-out: one for each source */
            if (n > *draws) *draws = n;
            if (t->pub.repeats > *repeats) *repeats = t->pub.repeats;
        }
    }
}

static ferry_status run_kind(ferry_ctx *ctx, ferry_results *rs, piece *p,
                             ferry_control kind, bool *finish)
{
    ferry_status st = FERRY_OK;
    ferry_task *changed = NULL;
    int64_t draws = 0, repeats = 0;

    extent(rs, kind, &draws, &repeats);
    for (int64_t d = 0; d < draws && !*finish; d++) {
        FERRY_TRY(ferry_i_task_control(ctx, p->task, kind, d, &changed));
        for (int64_t r = 0; r < repeats && !*finish; r++) {
            ctx->repeat = (uint64_t)r;
            FERRY_TRY(ferry_i_task_split(ctx, changed, r, &p->split));
            FERRY_TRY(ferry_i_score_mask(ctx, rs, p->split, p->mask, &p->count));
            FERRY_TRY(run_methods(ctx, rs, p, kind, d, r, finish));
            ferry_task_free(p->split);
            p->split = NULL;
        }
        ferry_task_free(changed);
        changed = NULL;
    }
done:
    ferry_task_free(changed);
    return st;
}

ferry_status ferry_i_controls_run(ferry_ctx *ctx, const ferry_task *task, ferry_results *rs,
                                  bool *finish)
{
    ferry_status st = FERRY_OK;
    ferry_task *resolved = NULL;
    piece p = {0};

    FERRY_TRY(ferry_i_task_resolved(ctx, task, &resolved));
    p.task = resolved;
    FERRY_TRY(ferry_i_score_new_mask(ctx, rs, &p.mask));
    FERRY_NEW(ctx, p.score, rs->n_metrics);
    for (ferry_control k = 0; k < FERRY_N_CONTROLS && !*finish; k++)
        FERRY_TRY(run_kind(ctx, rs, &p, k, finish));
done:
    ferry_task_free(p.split);
    ferry_task_free(resolved);
    FERRY_FREE(p.mask, p.score);
    return st;
}
