/* ferry_evaluate(): the task's methods side by side on the same splits.
 *
 * Every repeat hides other target labels; every method learns from the same split and is
 * scored on what was hidden from it, never on what it saw. Random choices derive from
 * (seed, repeat, use), so a method's numbers do not depend on which others run. */
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "eval/eval.h"
#include "methods/method.h"

/* One evaluation under way. */
typedef struct run {
    ferry_results *rs;
    int64_t runnable; /* methods that fit the first split */
    int64_t controls; /* fits under controls */
    bool guard;
    uint8_t *mask; /* what is scored in this repeat */
    int64_t count;
    double *score; /* n_metrics */
    bool finish;   /* the progress callback wants no more pieces */
} run;

/* ---- settings ---- */

static const char *metric_name(const void *arg, int64_t i)
{
    (void)arg;
    return ferry_metric_at(i)->name;
}

static ferry_status add_metric(ferry_ctx *ctx, ferry_results *rs, const char *name)
{
    ferry_status st = FERRY_OK;
    const ferry_metric *m = ferry_i_metric_find(name);
    const char *near =
        m ? NULL : ferry_i_nearest(name, ferry_metric_count(), metric_name, NULL);

    FERRY_NEED(ctx, m, FERRY_EINVAL, "evaluate: unknown metric '%s'%s%s%s", name,
               near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
    FERRY_NEED(ctx, m->info.goals & rs->run.goal, FERRY_EINVAL,
               "evaluate: metric %s does not belong to goal %s", name,
               ferry_goal_name(rs->run.goal));
    for (int64_t i = 0; i < rs->n_metrics; i++)
        if (rs->metrics[i] == m) goto done; /* named twice: once will do */
    rs->metrics[rs->n_metrics++] = m;
done:
    return st;
}

/* names: separated by commas or spaces; "" takes those usual for the goal. */
static ferry_status choose_metrics(ferry_ctx *ctx, ferry_results *rs, const char *names)
{
    ferry_status st = FERRY_OK;

    FERRY_NEW(ctx, rs->metrics, ferry_metric_count());
    for (const char *s = names; *s;) {
        char name[64];
        const size_t len = strcspn(s, ", ");
        FERRY_NEED(ctx, len < sizeof name, FERRY_EINVAL,
                   "evaluate: metrics = %s is not a list of metrics", names);
        memcpy(name, s, len);
        name[len] = 0;
        if (len > 0) FERRY_TRY(add_metric(ctx, rs, name));
        s += len + (s[len] != 0);
    }
    for (int64_t i = 0; rs->n_metrics == i && ferry_i_metric_usual(rs->run.goal, i); i++)
        rs->metrics[rs->n_metrics++] = ferry_i_metric_usual(rs->run.goal, i);
done:
    return st;
}

/* New results with the task's settings; the context's seed becomes that of the task. */
static ferry_status begin(ferry_ctx *ctx, const ferry_task *task, run *u, ferry_results *rs)
{
    static const char *const levels[] = {"none", "quick", "full"};
    ferry_status st = FERRY_OK;
    ferry_evaluate_settings s = {0};

    FERRY_TRY(ferry_i_task_evaluate(ctx, task, &s));
    if (s.seed >= 0) ctx->seed = (uint64_t)s.seed;
    rs->run = (ferry_run_info){.size = sizeof rs->run,
                               .version = ferry_i_strdup(ferry_version()),
                               .task = ferry_i_strdup(task->name),
                               .goal = task->goal,
                               .seed = ctx->seed,
                               .planned = s.repeats,
                               .engine = ferry_i_strdup(ferry_ctx_engine(ctx)),
                               .blas_core = ferry_i_strdup(ferry_blas_core()),
                               .threads = ctx->threads,
                               .controls = levels[s.controls],
                               .best = -1,
                               .best_baseline = -1,
                               .arriving = s.arriving,
                               .delay = s.delay,
                               .least = s.least};
    rs->ties = (ferry_ties)s.ties;
    rs->level = s.controls;
    rs->keep_all = s.predictions;
    u->guard = s.guard;
    FERRY_HAVE(ctx, rs->run.version && rs->run.task && rs->run.engine && rs->run.blas_core);
    FERRY_NEW(ctx, rs->scored, rs->run.planned);
    FERRY_NEW(ctx, rs->count, rs->run.planned);
    FERRY_TRY(choose_metrics(ctx, rs, s.metrics));
done:
    return st;
}

/* ---- which methods ---- */

static ferry_status set_reason(ferry_ctx *ctx, ferry_entry *r, const char *sentence)
{
    r->pub.reason = ferry_i_strdup(sentence);
    return r->pub.reason ? FERRY_OK : ferry_i_nomem(ctx);
}

/* Every option of the method with the value it takes under opts. */
static ferry_status all_options(ferry_ctx *ctx, const ferry_method *m,
                                const ferry_opts *opts, const ferry_opts **out)
{
    ferry_status st = FERRY_OK;
    ferry_opts *all = NULL;

    FERRY_TRY(ferry_opts_new(ctx, &all));
    *out = all;
    for (int64_t i = 0; i < m->n_options; i++) {
        const char *value = ferry_opts_get(opts, m->options[i].name);
        FERRY_TRY(ferry_opts_set(ctx, all, m->options[i].name,
                                 value ? value : m->options[i].def));
    }
done:
    return st;
}

/* Add a result. Its options are checked now, before anything runs; a method that does not
 * fit is kept with its sentence. */
static ferry_status add_result(ferry_ctx *ctx, run *u, const ferry_task *split,
                               const ferry_method *method, const char *name,
                               const ferry_opts *opts)
{
    ferry_status st = FERRY_OK;
    ferry_results *rs = u->rs;
    ferry_entry *r = NULL;

    FERRY_TRY(ferry_i_results_add(ctx, rs, name, method->name, method->kind, &r));
    r->how = method;
    r->opts = opts;
    /* An unknown option or a bad value is a mistake in the task: everything stops. */
    st = ferry_i_fits(ctx, split, method, opts);
    if (st == FERRY_ENEEDS) st = set_reason(ctx, r, ferry_message(ctx));
    FERRY_TRY(st);
    u->runnable += !r->pub.reason;
    FERRY_TRY(all_options(ctx, method, opts, &r->pub.options));
done:
    return st;
}

/* The task's methods; when it names none, every method that serves the goal. */
static ferry_status choose_methods(ferry_ctx *ctx, run *u, const ferry_task *task,
                                   const ferry_task *split, const ferry_method *extra)
{
    ferry_status st = FERRY_OK;
    const bool all = task->n_methods == 0;
    const int64_t n = all ? ferry_i_method_count() : task->n_methods;

    FERRY_NEW(ctx, u->rs->result, n);
    for (int64_t i = 0; i < n; i++) {
        const ferry_task_method *e = all ? NULL : &task->methods[i];
        const ferry_method *m = all ? ferry_i_method_at(i) : extra;
        if (e && (!m || strcmp(m->name, e->method) != 0))
            FERRY_TRY(ferry_i_method_get(ctx, e->method, &m));
        if (e)
            FERRY_TRY(add_result(ctx, u, split, m, e->as, e->opts));
        else if (m->goals & task->goal)
            FERRY_TRY(add_result(ctx, u, split, m, m->name, NULL));
    }
done:
    return st;
}

/* When nothing ran there is nothing to show but the reasons. */
static ferry_status need_some(ferry_ctx *ctx, const ferry_results *rs, ferry_status code)
{
    ferry_status st = FERRY_OK;
    ferry_text why = {0};

    for (int64_t i = 0; i < rs->n; i++) {
        if (!rs->result[i].pub.reason) return FERRY_OK;
    }
    for (int64_t i = 0; i < rs->n; i++)
        ferry_i_text_addf(&why, "%s%s: %s", i > 0 ? "; " : "", rs->result[i].pub.name,
                          rs->result[i].pub.reason);
    FERRY_HAVE(ctx, !why.failed);
    st = ferry_i_fail(ctx, code, "task '%s': no method could run: %s", rs->run.task, why.s);
done:
    ferry_i_text_free(&why);
    return st;
}

/* ---- running ---- */

/* A fit or prediction that did not work: what concerns only this method is kept with it. */
static ferry_status keep_failure(ferry_ctx *ctx, const ferry_results *rs, ferry_entry *r,
                                 int64_t repeat, ferry_status code)
{
    ferry_status st = code;
    char *text = NULL;

    if (code != FERRY_ENEEDS && code != FERRY_ENUMERIC) return code;
    text = rs->run.planned > 1
               ? ferry_i_sprintf("repeat %lld of %lld: %s", (long long)repeat + 1,
                                 (long long)rs->run.planned, ferry_message(ctx))
               : ferry_i_strdup(ferry_message(ctx));
    FERRY_HAVE(ctx, text);
    r->pub.reason = text;
    st = FERRY_OK;
done:
    return st;
}

/* What a repeat leaves besides its numbers: the last one's diagnostics, and predictions. */
static ferry_status keep_parts(ferry_ctx *ctx, const ferry_results *rs, ferry_entry *r,
                               int64_t repeat, const ferry_model *model, json_t *weights,
                               ferry_prediction **p)
{
    json_decref(r->diagnostics);
    r->diagnostics = json_loads(ferry_model_diagnostics(model), 0, NULL);
    if (weights) json_object_set(r->diagnostics, "weights", weights);
    if (repeat > 0 && !rs->keep_all) return FERRY_OK;
    return ferry_i_results_keep(ctx, rs, r, repeat, p);
}

static ferry_status run_one(ferry_ctx *ctx, run *u, const ferry_task *split, int64_t i,
                            int64_t repeat)
{
    ferry_status st = FERRY_OK;
    ferry_results *rs = u->rs;
    ferry_entry *r = &rs->result[i];
    ferry_model *model = NULL;
    ferry_prediction *p = NULL;
    const ferry_domain *target = NULL;
    ferry_fit_info rep = {0};
    json_t *weights = NULL;
    double *curve = r->curve ? r->curve + repeat * FERRY_CURVE : NULL;

    FERRY_TRY(ferry_i_task_target(ctx, split, &target));
    const double start = ferry_i_clock();
    st = ferry_i_fit(ctx, split, r->how, r->opts, &model, &rep);
    r->seconds[repeat] = ferry_i_clock() - start;
    if (st == FERRY_OK)
        st = ferry_i_answer(ctx, rs, model, target, u->mask, curve, &weights, &p);
    if (st != FERRY_OK) {
        st = keep_failure(ctx, rs, r, repeat, st);
        goto done;
    }
    FERRY_TRY(ferry_i_score(ctx, rs, p, u->mask, u->count, u->score, &r->rows[repeat]));
    for (int64_t m = 0; m < rs->n_metrics; m++)
        r->metric[m * rs->run.planned + repeat] = u->score[m];
    FERRY_TRY(keep_parts(ctx, rs, r, repeat, model, weights, &p));
    r->done = repeat + 1;
    if (rep.stop == FERRY_STOP_FINISH) u->finish = true;
done:
    json_decref(weights);
    ferry_prediction_free(p);
    ferry_model_free(model);
    return st;
}

/* All methods on one split. */
static ferry_status run_repeat(ferry_ctx *ctx, run *u, const ferry_task *split,
                               int64_t repeat)
{
    ferry_status st = FERRY_OK;
    ferry_results *rs = u->rs;
    int64_t piece = repeat * u->runnable;

    FERRY_TRY(ferry_i_score_mask(ctx, rs, split, u->mask, &u->count));
    FERRY_TRY(ferry_i_score_new_mask(ctx, rs, &rs->scored[repeat]));
    FERRY_TRY(ferry_i_score_mask(ctx, rs, split, rs->scored[repeat], &rs->count[repeat]));
    if (repeat == 0) rs->rounds = u->count;
    for (int64_t i = 0; i < rs->n; i++) {
        if (rs->result[i].pub.reason) continue;
        ctx->step = ++piece;
        FERRY_TRY(ferry_i_progress(ctx, rs->result[i].pub.name, 0, 0, NAN, &u->finish));
        if (u->finish) goto done;
        FERRY_TRY(run_one(ctx, u, split, i, repeat));
        if (u->finish) goto done;
    }
done:
    return st;
}

static ferry_status run_all(ferry_ctx *ctx, run *u, const ferry_task *task,
                            ferry_task **first)
{
    ferry_status st = FERRY_OK;
    ferry_task *split = *first;

    *first = NULL;
    ctx->steps = u->rs->run.planned * u->runnable + u->controls;
    for (int64_t repeat = 0; repeat < u->rs->run.planned && !u->finish; repeat++) {
        ctx->repeat = (uint64_t)repeat;
        if (!split) FERRY_TRY(ferry_i_task_split(ctx, task, repeat, &split));
        FERRY_TRY(run_repeat(ctx, u, split, repeat));
        ferry_task_free(split);
        split = NULL;
    }
done:
    ferry_task_free(split);
    return st;
}

/* Keep the repeats that every method completed. When stopped within the first one: the
 * methods that were done with it, the others say that they did not run. */
static ferry_status keep_complete(ferry_ctx *ctx, ferry_results *rs)
{
    ferry_status st = FERRY_OK;
    int64_t least = rs->run.planned, most = 0;

    for (int64_t i = 0; i < rs->n; i++) {
        const ferry_entry *r = &rs->result[i];
        if (r->pub.reason) continue;
        if (r->done < least) least = r->done;
        if (r->done > most) most = r->done;
    }
    rs->run.repeats = most == 0 ? 0 : least > 0 ? least : 1;
    for (int64_t i = 0; i < rs->n; i++) {
        ferry_entry *r = &rs->result[i];
        if (!r->pub.reason && r->done == 0)
            FERRY_TRY(set_reason(ctx, r, "not run: stopped before its turn"));
        if (r->done > rs->run.repeats) r->done = rs->run.repeats;
    }
done:
    return st;
}

/* ---- all of it ---- */

static ferry_status evaluate(ferry_ctx *ctx, const ferry_task *task,
                             const ferry_method *extra, run *u)
{
    ferry_status st = FERRY_OK;
    ferry_results *rs = u->rs;
    ferry_task *split = NULL;
    const ferry_domain *target = NULL;
    ferry_status ended = FERRY_OK;
    char message[sizeof ctx->message];

    FERRY_TRY(ferry_i_task_target(ctx, task, &target)); /* once, not for every method */
    FERRY_TRY(begin(ctx, task, u, rs));
    FERRY_NEW(ctx, u->score, rs->n_metrics);
    ctx->repeat = 0;
    FERRY_TRY(ferry_i_task_split(ctx, task, 0, &split));
    FERRY_TRY(choose_methods(ctx, u, task, split, extra));
    FERRY_TRY(ferry_i_task_target(ctx, split, &target));
    rs->run.visible = ferry_domain_labels(target);
    FERRY_TRY(need_some(ctx, rs, FERRY_ENEEDS));
    FERRY_TRY(ferry_i_score_truth(ctx, task, rs));
    if (rs->run.goal == FERRY_EMBED && !rs->truth)
        rs->n_metrics = 0; /* nothing to score by */
    FERRY_TRY(ferry_i_score_new_mask(ctx, rs, &u->mask));
    FERRY_TRY(ferry_i_controls_plan(ctx, task, rs, &u->controls));
    ended = run_all(ctx, u, task, &split);
    if (ended != FERRY_OK && ended != FERRY_ECANCELLED) FERRY_TRY(ended);
    memcpy(message, ctx->message, sizeof message);
    if (ended == FERRY_OK && !u->finish) FERRY_TRY(need_some(ctx, rs, FERRY_ENUMERIC));
    FERRY_TRY(keep_complete(ctx, rs));
    FERRY_TRY(ferry_i_results_compare(ctx, rs));
    if (ended == FERRY_OK && !u->finish) {
        ctx->repeat = 0;
        ended = ferry_i_controls_run(ctx, task, rs, &u->finish);
        if (ended != FERRY_OK && ended != FERRY_ECANCELLED) FERRY_TRY(ended);
        memcpy(message, ctx->message, sizeof message);
    }
    ctx->repeat = 0;
    FERRY_TRY(ferry_i_results_judge(ctx, rs));
    ferry_i_results_free_rows(rs);
    if (u->guard && ended == FERRY_OK && !u->finish && rs->n_metrics > 0 &&
        rs->run.goal != FERRY_EMBED && rs->run.goal != FERRY_STREAM) {
        ended = ferry_i_guard_run(ctx, task, rs);
        if (ended != FERRY_OK && ended != FERRY_ECANCELLED) FERRY_TRY(ended);
        memcpy(message, ctx->message, sizeof message);
        ctx->repeat = 0;
    }
    if (rs->run.repeats == 0 && ended == FERRY_OK)
        ended = ferry_i_fail(ctx, FERRY_ECANCELLED, "stopped before any method was done");
    else
        memcpy(ctx->message, message, sizeof message);
    FERRY_TRY(ferry_i_results_publish(ctx, rs));
    st = ended;
done:
    ferry_task_free(split);
    return st;
}

ferry_status ferry_i_evaluate(ferry_ctx *outer, const ferry_task *task,
                              const ferry_method *extra, ferry_results **out)
{
    ferry_status st = FERRY_OK;
    ferry_ctx own = ferry_i_child(outer), *ctx = &own;
    run u = {.rs = ferry_i_calloc(1, sizeof *u.rs)};

    *out = NULL;
    FERRY_HAVE(ctx, u.rs);
    const double started = ferry_i_wall_clock(), begin = ferry_i_clock();
    st = evaluate(ctx, task, extra, &u);
    /* What is complete is kept when the run was stopped. */
    if (st != FERRY_OK && (st != FERRY_ECANCELLED || u.rs->run.repeats == 0)) goto done;
    u.rs->record = ferry_i_run_record(ctx, task, u.rs, started, ferry_i_clock() - begin);
    FERRY_HAVE(ctx, u.rs->record);
    FERRY_MOVE(*out, u.rs);
done:
    ferry_results_free(u.rs);
    FERRY_FREE(u.mask, u.score);
    return ferry_i_join(outer, ctx, st);
}

ferry_status ferry_evaluate(ferry_ctx *ctx, const ferry_task *task, ferry_results **out)
{
    return ferry_i_evaluate(ctx, task, NULL, out);
}

/* ---- choosing without an evaluation ---- */

/* What `task` would run, with the split of the first repeat: nothing is run. */
ferry_status ferry_i_evaluate_begin(ferry_ctx *ctx, const ferry_task *task,
                                    ferry_results **out, ferry_task **split)
{
    ferry_status st = FERRY_OK;
    run u = {.rs = ferry_i_calloc(1, sizeof *u.rs)};

    *out = u.rs;
    FERRY_HAVE(ctx, u.rs);
    FERRY_TRY(begin(ctx, task, &u, u.rs));
    ctx->repeat = 0;
    FERRY_TRY(ferry_i_task_split(ctx, task, 0, split));
    FERRY_TRY(choose_methods(ctx, &u, task, *split, NULL));
    FERRY_TRY(need_some(ctx, u.rs, FERRY_ENEEDS));
    FERRY_TRY(ferry_i_score_truth(ctx, task, u.rs));
done:
    return st;
}
