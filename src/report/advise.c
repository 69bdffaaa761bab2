/* Advice on a task before it is run: which methods fit and why the others do not, how long
 * they take, and how far the domains are apart.
 *
 * Time and memory are measured on the first split. A method that is not done within a
 * second is stopped at its next report of progress, and what is left is reckoned from how
 * far it had come. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/eval.h"
#include "methods/method.h"
#include "report/report.h"
#include "select/select.h"

/* ---- memory ---- */

/* Let the peak start again from now; false where the system does not allow it. */
static bool reset_peak(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "w");
    bool ok = file && fputs("5", file) >= 0;

    if (file && fclose(file) != 0) ok = false;
    return ok;
}

/* ---- time ---- */

typedef struct watch {
    double begin, limit; /* seconds */
    double share;        /* done when it was stopped; 0: not known */
    bool stopped;
    ferry_progress_fn outer;
    void *outer_user;
} watch;

static ferry_answer on_progress(void *user, const ferry_progress *p)
{
    watch *w = user;

    if (w->outer && w->outer(w->outer_user, p) == FERRY_CANCEL) return FERRY_CANCEL;
    if (ferry_i_clock() - w->begin < w->limit) return FERRY_GO;
    w->stopped = true;
    if (p->total > 0) w->share = (double)p->done / (double)p->total;
    return FERRY_CANCEL;
}

typedef struct cost {
    double seconds, bytes; /* NaN: not known */
    bool measured;
} cost;

/* Fit on the split, for a second at most. */
static ferry_status try_method(ferry_ctx *ctx, const ferry_task *split,
                               const ferry_method *m, const ferry_opts *opts, double limit,
                               cost *c)
{
    ferry_status st = FERRY_OK;
    watch w = {.begin = ferry_i_clock(), .limit = limit};
    ferry_model *model = NULL;
    const bool peak = reset_peak();
    const double before = (double)ferry_i_proc_bytes("/proc/self/status", "VmRSS");

    ferry_ctx own = ferry_i_child(ctx);
    w.outer = ctx->progress;
    w.outer_user = ctx->progress_user;
    ferry_ctx_set_progress(&own, on_progress, &w);
    st = ferry_i_join(ctx, &own, ferry_i_fit(&own, split, m, opts, &model, NULL));
    const double took = ferry_i_clock() - w.begin;
    const double after = (double)ferry_i_proc_bytes("/proc/self/status", "VmHWM");
    c->measured = st == FERRY_OK;
    c->seconds = st == FERRY_OK ? took : w.share > 0 ? took / w.share : NAN;
    c->bytes = peak && before >= 0 && after >= before ? after - before : NAN;
    if (st == FERRY_ECANCELLED && w.stopped) st = FERRY_OK;
    ferry_model_free(model);
    return st;
}

/* ---- methods ---- */

static ferry_status advise_method(ferry_ctx *ctx, const ferry_task *split,
                                  const ferry_method *m, const char *name,
                                  const ferry_opts *opts, double limit, json_t *list)
{
    static const char *const kinds[] = {"baseline", "transfer", "control"};
    ferry_status st = ferry_i_fits(ctx, split, m, opts);
    cost c = {NAN, NAN, false};
    char reason[sizeof ctx->message] = "";
    json_t *one = NULL;

    if (st == FERRY_OK) st = try_method(ctx, split, m, opts, limit, &c);
    if (st == FERRY_ENEEDS || st == FERRY_ENUMERIC) {
        memcpy(reason, ctx->message, sizeof reason);
        st = FERRY_OK;
    }
    FERRY_TRY(st);
    one = json_pack("{s:o, s:s, s:s, s:b, s:o, s:o, s:b, s:o}", "name",
                    ferry_i_json_text(name), "method", m->name, "kind", kinds[m->kind],
                    "fits", !reason[0], "reason",
                    reason[0] ? ferry_i_json_text(reason) : json_null(), "seconds",
                    ferry_i_report_real(c.seconds), "measured", c.measured, "bytes",
                    ferry_i_report_real(c.bytes));
    FERRY_HAVE(ctx, json_array_append_new(list, one) == 0);
done:
    return st;
}

/* The task's methods; without any, all that serve the goal. *others counts the rest. */
static ferry_status advise_methods(ferry_ctx *ctx, const ferry_task *task,
                                   const ferry_task *split, double limit, json_t *list,
                                   int64_t *others)
{
    ferry_status st = FERRY_OK;
    const ferry_method *m = NULL;

    *others = 0;
    for (int64_t i = 0; i < task->n_methods; i++) {
        FERRY_TRY(ferry_i_method_get(ctx, task->methods[i].method, &m));
        FERRY_TRY(advise_method(ctx, split, m, task->methods[i].as, task->methods[i].opts,
                                limit, list));
    }
    for (int64_t i = 0; task->n_methods == 0 && i < ferry_i_method_count(); i++) {
        m = ferry_i_method_at(i);
        if (m->goals & task->goal)
            FERRY_TRY(advise_method(ctx, split, m, m->name, NULL, limit, list));
        else
            ++*others;
    }
done:
    return st;
}

ferry_status ferry_advise(ferry_ctx *outer, const ferry_task *task, char **out)
{
    ferry_status st = FERRY_OK;
    ferry_ctx own = ferry_i_child(outer), *ctx = &own;
    ferry_task *split = NULL;
    json_t *methods = json_array(), *measures = NULL, *all = NULL;
    ferry_evaluate_settings s = {0};
    const ferry_domain *target = NULL;
    int64_t others = 0;
    char *text = NULL;

    *out = NULL;
    FERRY_HAVE(ctx, methods);
    FERRY_TRY(ferry_i_task_evaluate(ctx, task, &s));
    if (s.seed >= 0) ctx->seed = (uint64_t)s.seed;
    FERRY_TRY(ferry_i_task_split(ctx, task, 0, &split));
    FERRY_TRY(ferry_i_task_target(ctx, split, &target));
    FERRY_TRY(advise_methods(ctx, task, split, 1, methods, &others));
    FERRY_TRY(ferry_i_measures(ctx, split, &measures));
    all = json_pack("{s:s, s:o, s:s, s:o, s:I, s:I, s:o, s:O, s:I, s:O}", "ferry",
                    ferry_version(), "task", ferry_i_json_text(task->name), "goal",
                    ferry_goal_name(task->goal), "target", ferry_i_json_text(target->name),
                    "visible", (json_int_t)ferry_domain_labels(target), "repeats",
                    (json_int_t)s.repeats, "domains", ferry_i_run_domains(task), "methods",
                    methods, "of_other_goals", (json_int_t)others, "measures", measures);
    FERRY_HAVE(ctx, all);
    text = json_dumps(all, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
    *out = ferry_i_strdup(text);
    FERRY_HAVE(ctx, *out);
done:
    free(text);
    json_decref(all);
    json_decref(measures);
    json_decref(methods);
    ferry_task_free(split);
    return ferry_i_join(outer, ctx, st);
}
