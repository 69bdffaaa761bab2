/* ferry_evaluate(): the task's methods side by side on the same splits.
 *
 * Every repeat hides other target labels; every method learns from the same split and is
 * scored on what was hidden from it, never on what it saw. Random choices derive from
 * (seed, repeat, use), so a method's numbers do not depend on which others run.
 *
 * Repeat x method is a grid of cells that do not know of each other: they run side by side
 * (core/pool.h), and are taken into the results in the order of the grid, so that nothing depends on
 * which was done first. */
#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "core/pool.h"
#include "linalg/blas.h"
#include "methods/method.h"
#include "run/run.h"

/* A repeat under way: its split is made by the first of its cells and goes with the last. */
typedef struct repeat {
    ferry_task *split;
    int64_t left; /* cells still to come */
    bool begun, settled, failed;
} repeat;

/* A repeat of a method, as it is left for its turn to be taken into the results. */
typedef struct cell {
    bool done;
    char *reason; /* why it could not run, or NULL */
    ferry_prediction *p;
    json_t *diagnostics;
} cell;

/* One evaluation under way. */
typedef struct run {
    ferry_results *rs;
    const ferry_task *task;
    int64_t runnable;      /* methods that fit the first split, */
    int64_t *method;       /* their places */
    atomic_llong *broke;   /* runnable: from this repeat on it need not be tried */
    int64_t controls;      /* fits under controls */
    int answer;            /* yes | single | no */
    int64_t unscored;      /* metrics of a run that has nothing to score; 0: it has */
    repeat *repeats;       /* planned */
    pthread_mutex_t mutex; /* of repeats */
    pthread_cond_t made;
    cell *cells; /* planned x runnable */
    bool dealt;  /* other ranks have some of the cells */
    bool finish; /* the progress callback wants no more pieces */
} run;

/* ---- settings ---- */

static const char *metric_name(const void *arg, int64_t i)
{
    (void)arg;
    return ferry_i_metric_info_at(i)->name;
}

static ferry_status add_metric(ferry_ctx *ctx, ferry_results *rs, const char *name)
{
    ferry_status st = FERRY_OK;
    const ferry_metric *m = ferry_i_metric_find(name);
    const char *near =
        m ? NULL : ferry_i_nearest(name, ferry_i_metric_count(), metric_name, NULL);

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

/* names: separated by commas or spaces; "" takes those usual for the goal, or where whole
 * classes are hidden accuracy on all, on the others and on them. */
static ferry_status choose_metrics(ferry_ctx *ctx, const ferry_task *task,
                                   ferry_results *rs, const char *names)
{
    static const char *const hidden[] = {"accuracy", "seen-accuracy", "missing-accuracy"};
    ferry_status st = FERRY_OK;
    const ferry_domain *target = NULL;

    FERRY_NEW(ctx, rs->metrics, ferry_i_metric_count());
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
    if (!*names && rs->run.goal == FERRY_CLASSIFY)
        FERRY_TRY(ferry_i_task_target(ctx, task, &target));
    for (size_t i = 0; target && target->seen.classes > 0 && i < 3; i++)
        FERRY_TRY(add_metric(ctx, rs, hidden[i]));
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

    FERRY_TRY(ferry_i_blas_ready(ctx));
    FERRY_TRY(ferry_i_task_evaluate(ctx, task, &s));
    if (s.seed >= 0) ctx->seed = (uint64_t)s.seed;
    rs->run = (ferry_run_info){.size = sizeof rs->run,
                               .version = ferry_i_strdup(ferry_version()),
                               .task = ferry_i_strdup(task->name),
                               .goal = task->goal,
                               .seed = ctx->seed,
                               .planned = s.repeats,
                               .engine = ferry_i_strdup(ferry_i_ctx_engine(ctx)),
                               .blas_core = ferry_i_strdup(ferry_i_blas_core()),
                               .threads = ctx->threads,
                               .controls = levels[s.controls],
                               .best = -1,
                               .best_baseline = -1,
                               .arriving = s.arriving,
                               .delay = s.delay,
                               .least = s.least};
    rs->ties = (ferry_ties)s.ties;
    rs->level = s.controls;
    rs->transfers = ferry_i_task_transfers(task);
    rs->keep_all = s.predictions;
    rs->keep_splits = s.splits;
    u->answer = s.answer;
    if (s.guard)
        ferry_i_log(ctx, FERRY_WARN,
                    "guard does nothing any more: the answer is there without");
    FERRY_HAVE(ctx, rs->run.version && rs->run.task && rs->run.engine && rs->run.blas_core);
    FERRY_NEW(ctx, rs->scored, rs->run.planned);
    FERRY_NEW(ctx, rs->count, rs->run.planned);
    FERRY_TRY(choose_metrics(ctx, task, rs, s.metrics));
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

    const char *baseline = method->asked ? ferry_opts_get(opts, "baseline") : NULL;
    const ferry_kind kind =
        baseline && strcmp(baseline, "yes") == 0 ? FERRY_KIND_BASELINE : method->kind;

    FERRY_TRY(ferry_i_results_add(ctx, rs, name, method->name, kind, &r));
    r->how = method;
    r->opts = opts;
    r->pub.uses = ferry_i_uses(method, kind, opts, ferry_i_shows_labels(split));
    /* An unknown option or a bad value is a mistake in the task: everything stops. */
    st = ferry_i_fits(ctx, split, method, opts);
    if (ferry_i_skips(st) && st != FERRY_EINVAL)
        st = set_reason(ctx, r, ferry_message(ctx));
    FERRY_TRY(st);
    r->pub.unasked = r->pub.reason && rs->n_defaults > 0;
    u->runnable += !r->pub.reason;
    FERRY_TRY(all_options(ctx, method, opts, &r->pub.options));
done:
    return st;
}

/* The task's methods; when it names none, those by default. */
static ferry_status choose_methods(ferry_ctx *ctx, run *u, const ferry_task *task,
                                   const ferry_task *split, const ferry_method *extra)
{
    ferry_status st = FERRY_OK;

    if (task->n_methods == 0)
        FERRY_TRY(ferry_i_defaults(ctx, split, &u->rs->defaults, &u->rs->n_defaults));
    FERRY_NEW(ctx, u->rs->result, task->n_methods + u->rs->n_defaults);
    for (int64_t i = 0; i < u->rs->n_defaults; i++)
        FERRY_TRY(add_result(ctx, u, split, u->rs->defaults[i].method,
                             u->rs->defaults[i].name, u->rs->defaults[i].opts));
    for (int64_t i = 0; i < task->n_methods; i++) {
        const ferry_task_method *e = &task->methods[i];
        const ferry_method *m = extra;
        if (!m || strcmp(m->name, e->method) != 0)
            FERRY_TRY(ferry_i_method_get(ctx, e->method, &m));
        FERRY_TRY(add_result(ctx, u, split, m, e->as, e->opts));
    }
done:
    return st;
}

/* The method that the task names as primary. */
static ferry_status find_named(ferry_ctx *ctx, const ferry_task *task, ferry_results *rs)
{
    ferry_status st = FERRY_OK;
    ferry_evaluate_settings s = {0};

    FERRY_TRY(ferry_i_task_evaluate(ctx, task, &s));
    for (int64_t i = 0; i < rs->n; i++)
        if (strcmp(rs->result[i].pub.name, s.primary) == 0 &&
            rs->result[i].pub.kind == FERRY_KIND_TRANSFER)
            rs->named = i + 1;
    FERRY_NEED(ctx, !*s.primary || rs->named > 0, FERRY_EINVAL,
               "evaluate: primary = %s is no transfer method of this task", s.primary);
done:
    return st;
}

/* Whether a sentence begins with this name, as a word of its own: "knn needs", "knn: broke". */
static bool begins_with(const char *sentence, const char *name)
{
    const size_t n = strlen(name);

    return strncmp(sentence, name, n) == 0 && (sentence[n] == ':' || sentence[n] == ' ');
}

/* A reason without "repeat 1 of 2: " and the method's name, which most begin with. */
static const char *gist(const ferry_result *r)
{
    const char *s = strncmp(r->reason, "repeat ", 7) == 0 ? strstr(r->reason, ": ") : NULL;

    s = s ? s + 2 : r->reason;
    if (!begins_with(s, r->method)) return s;
    s += strlen(r->method);
    return s + (*s == ':') + 1;
}

/* The methods that have the reason of the first, and that reason; they are marked as told. */
static void add_reason(const ferry_results *rs, int64_t first, bool *told, ferry_text *why)
{
    const ferry_result *r = &rs->result[first].pub;
    ferry_text names = {0};
    int64_t n = 0;

    ferry_i_text_add(why, why->s ? "; " : "");
    for (int64_t i = first; i < rs->n; i++) {
        const ferry_result *other = &rs->result[i].pub;
        if (told[i] || strcmp(gist(r), gist(other)) != 0) continue;
        told[i] = true;
        ferry_i_text_addf(&names, "%s%s", n++ > 0 ? ", " : "", other->name);
    }
    const bool named = n == 1 && begins_with(r->reason, r->name);
    if (!named && names.s) ferry_i_text_addf(why, "%s: ", names.s);
    ferry_i_text_add(why, n > 1 ? gist(r) : r->reason);
    why->failed = why->failed || names.failed;
    ferry_i_text_free(&names);
}

/* When nothing ran there is nothing to show but the reasons. */
static ferry_status need_some(ferry_ctx *ctx, const ferry_results *rs)
{
    ferry_status st = FERRY_OK;
    ferry_text why = {0};
    bool *told = NULL;

    for (int64_t i = 0; i < rs->n; i++) {
        if (!rs->result[i].pub.reason) return FERRY_OK;
    }
    FERRY_NEW(ctx, told, rs->n);
    for (int64_t i = 0; i < rs->n; i++)
        if (!told[i]) add_reason(rs, i, told, &why);
    FERRY_HAVE(ctx, !why.failed);
    st = ferry_i_fail(ctx, FERRY_ENEEDS, "task '%s': no method could run: %s", rs->run.task,
                      why.s);
done:
    ferry_i_text_free(&why);
    ferry_i_free(told);
    return st;
}

/* ---- running ---- */

/* A fit, prediction or score that did not work: what concerns only this method is kept with it. */
static ferry_status keep_failure(ferry_ctx *ctx, const ferry_results *rs, cell *c,
                                 int64_t place, ferry_status code)
{
    if (!ferry_i_skips(code)) return code;
    c->reason = rs->run.planned > 1
                    ? ferry_i_sprintf("repeat %lld of %lld: %s", (long long)place + 1,
                                      (long long)rs->run.planned, ferry_message(ctx))
                    : ferry_i_strdup(ferry_message(ctx));
    return c->reason ? FERRY_OK : ferry_i_nomem(ctx);
}

/* What a repeat scores; made here, or come from another rank, whichever is first. */
static void set_scored(run *u, int64_t place, uint8_t **mask, int64_t count)
{
    (void)pthread_mutex_lock(&u->mutex);
    if (!u->rs->scored[place]) {
        FERRY_MOVE(u->rs->scored[place], *mask);
        u->rs->count[place] = count;
    }
    (void)pthread_mutex_unlock(&u->mutex);
}

/* The split of a repeat and what it scores. */
static ferry_status make_repeat(ferry_ctx *ctx, run *u, int64_t place)
{
    ferry_status st = FERRY_OK;
    repeat *r = &u->repeats[place];
    uint8_t *mask = NULL;
    int64_t count = 0;

    if (!r->split) FERRY_TRY(ferry_i_split_chosen(ctx, u->task, u->task, place, &r->split));
    FERRY_TRY(ferry_i_score_new_mask(ctx, u->rs, &mask));
    FERRY_TRY(ferry_i_score_mask(ctx, u->rs, r->split, mask, &count));
    set_scored(u, place, &mask, count);
done:
    ferry_i_free(mask);
    return st;
}

/* The repeat's first cell makes it, so that what is said meanwhile comes in its place in the log; the
 * others, which begin later, wait. Where another rank may have that cell, whichever is here first makes
 * it, and what others say is not said again. */
static ferry_status enter_repeat(ferry_ctx *ctx, run *u, int64_t place, bool leads)
{
    ferry_status st = FERRY_OK;
    repeat *r = &u->repeats[place];
    ferry_ctx own = ferry_i_child(ctx);

    (void)pthread_mutex_lock(&u->mutex);
    const bool first = u->dealt ? !r->begun : leads;
    r->begun = r->begun || first;
    (void)pthread_mutex_unlock(&u->mutex);
    if (!leads) own.log = NULL;
    if (first) st = ferry_i_join(ctx, &own, make_repeat(&own, u, place));
    (void)pthread_mutex_lock(&u->mutex);
    if (first) {
        r->settled = true;
        r->failed = st != FERRY_OK;
        pthread_cond_broadcast(&u->made);
    }
    while (!r->settled)
        pthread_cond_wait(&u->made, &u->mutex);
    const bool failed = r->failed;
    (void)pthread_mutex_unlock(&u->mutex);
    /* a failed first cell ends the evaluation, whatever the others say */
    return failed && !first ? FERRY_ECANCELLED : st;
}

static void leave_repeat(run *u, int64_t place)
{
    repeat *r = &u->repeats[place];

    (void)pthread_mutex_lock(&u->mutex);
    const bool last = --r->left == 0; /* never, where other ranks have some */
    (void)pthread_mutex_unlock(&u->mutex);
    if (!last) return;
    ferry_task_free(r->split);
    r->split = NULL;
}

/* Fit, predict, score. */
static ferry_status run_method(ferry_ctx *ctx, const run *u, ferry_entry *e, int64_t place,
                               cell *c)
{
    ferry_status st = FERRY_OK;
    const ferry_results *rs = u->rs;
    const repeat *r = &u->repeats[place];
    ferry_run_cell one = {
        .how = e->how, .opts = e->opts, .split = r->split, .mask = rs->scored[place]};
    double *score = NULL;
    char name[64];

    one.curve = e->curve ? e->curve + place * FERRY_CURVE : NULL;
    (void)snprintf(name, sizeof name, "%lld-%lld", (long long)(e - rs->result),
                   (long long)place);
    FERRY_NEW(ctx, score, rs->n_metrics);
    st = ferry_i_cell_run(ctx, rs, name, &one);
    e->seconds[place] = one.seconds;
    FERRY_MOVE(c->p, one.answer);
    FERRY_MOVE(c->diagnostics, one.diagnostics);
    if (st == FERRY_OK)
        st = ferry_i_score(ctx, rs, r->split, c->p, rs->scored[place], rs->count[place],
                           score, &e->rows[place]);
    if (st != FERRY_OK) {
        st = keep_failure(ctx, rs, c, place, st);
        goto done;
    }
    for (int64_t m = 0; m < rs->n_metrics; m++)
        e->metric[m * rs->run.planned + place] = score[m];
    if (place > 0 && !rs->keep_all) { /* nobody will ask for it */
        ferry_prediction_free(c->p);
        c->p = NULL;
    }
    c->done = true;
done:
    ferry_i_free(score);
    return st;
}

/* One cell: writes to its own places only. */
static ferry_status run_cell(ferry_ctx *ctx, void *arg, int64_t i)
{
    ferry_status st = FERRY_OK;
    run *u = arg;
    const int64_t place = i / u->runnable, m = i % u->runnable;
    ferry_entry *e = &u->rs->result[u->method[m]];
    bool finish = false;

    ctx->repeat = (uint64_t)place;
    FERRY_TRY(enter_repeat(ctx, u, place, m == 0));
    if (atomic_load(&u->broke[m]) < place) goto done;
    FERRY_TRY(ferry_i_progress(ctx, e->pub.name, 0, 0, NAN, &finish));
    if (finish) goto done;
    FERRY_TRY(run_method(ctx, u, e, place, &u->cells[i]));
    if (u->cells[i].reason) atomic_store(&u->broke[m], place);
done:
    leave_repeat(u, place);
    return st;
}

/* In the order of the grid: a method that failed in one repeat has no numbers from later ones, and
 * the last repeat's diagnostics are kept. */
static ferry_status join_cell(ferry_ctx *ctx, void *arg, int64_t i)
{
    ferry_status st = FERRY_OK;
    run *u = arg;
    ferry_results *rs = u->rs;
    const int64_t place = i / u->runnable, m = i % u->runnable;
    ferry_entry *e = &rs->result[u->method[m]];
    cell *c = &u->cells[i];

    if (i == 0) rs->rounds = rs->count[0];
    if (!e->pub.reason && c->reason) {
        FERRY_MOVE(e->pub.reason, c->reason);
    } else if (!e->pub.reason && c->done && e->done == place) {
        json_decref(e->diagnostics);
        FERRY_MOVE(e->diagnostics, c->diagnostics);
        if (c->p) FERRY_TRY(ferry_i_results_keep(ctx, rs, e, place, &c->p));
        e->done = place + 1;
    }
done:
    return st;
}

/* What a cell leaves, to other ranks or from one; with a repeat's first cell goes what it scores. */
static ferry_status pack_cell(ferry_ctx *ctx, void *arg, int64_t i, ferry_buffer *p)
{
    ferry_status st = FERRY_OK;
    run *u = arg;
    ferry_results *rs = u->rs;
    const int64_t place = i / u->runnable, m = i % u->runnable;
    ferry_entry *e = &rs->result[u->method[m]];
    cell *c = &u->cells[i];
    uint8_t *mask = NULL;
    int64_t count = p->writing ? rs->count[place] : 0;

    if (m == 0) {
        if (p->writing) mask = rs->scored[place];
        ferry_i_buffer_known(p, (void **)&mask, ferry_i_score_entries(rs), 1);
        FERRY_PACK(p, count);
        if (!p->writing && mask) set_scored(u, place, &mask, count);
        if (p->writing) mask = NULL;
    }
    FERRY_PACK(p, c->done);
    ferry_i_buffer_text(p, &c->reason);
    FERRY_PACK(p, e->seconds[place]);
    for (int64_t k = 0; k < rs->n_metrics; k++)
        FERRY_PACK(p, e->metric[k * rs->run.planned + place]);
    ferry_i_buffer_array(p, (void **)&e->rows[place], &count, sizeof **e->rows);
    if (e->curve)
        ferry_i_buffer_bytes(p, e->curve + place * FERRY_CURVE,
                             FERRY_CURVE * (int64_t)sizeof *e->curve);
    FERRY_TRY(ferry_i_diagnostics_pack(ctx, &c->diagnostics, p));
    FERRY_TRY(ferry_i_answer_pack(ctx, rs, u->task, &c->p, p));
done:
    ferry_i_free(mask);
    return st;
}

static ferry_status run_all(ferry_ctx *ctx, run *u, ferry_task **first)
{
    ferry_status st = FERRY_OK;
    const ferry_results *rs = u->rs;
    const int64_t n = rs->run.planned * u->runnable;

    FERRY_NEW(ctx, u->repeats, rs->run.planned);
    FERRY_NEW(ctx, u->cells, n);
    FERRY_NEW(ctx, u->broke, u->runnable);
    FERRY_NEW(ctx, u->method, u->runnable);
    u->dealt = ferry_i_ranks_dispatching(ctx);
    FERRY_MOVE(u->repeats[0].split, *first);
    for (int64_t r = 0; r < rs->run.planned; r++)
        u->repeats[r].left = u->dealt ? INT64_MAX : u->runnable;
    for (int64_t i = 0, m = 0; i < rs->n; i++)
        if (!rs->result[i].pub.reason) {
            atomic_init(&u->broke[m], rs->run.planned);
            u->method[m++] = i;
        }
    ctx->steps = n + u->controls;
    FERRY_TRY(ferry_i_pool_run(
        ctx,
        &(ferry_jobs){
            .n = n, .run = run_cell, .join = join_cell, .arg = u, .pack = pack_cell},
        &u->finish));
done:
    return st;
}

static void free_run(run *u)
{
    const ferry_results *rs = u->rs;
    const int64_t planned = rs ? rs->run.planned : 0;

    for (int64_t r = 0; u->repeats && r < planned; r++)
        ferry_task_free(u->repeats[r].split);
    for (int64_t i = 0; u->cells && i < planned * u->runnable; i++) {
        ferry_prediction_free(u->cells[i].p);
        json_decref(u->cells[i].diagnostics);
        ferry_i_free(u->cells[i].reason);
    }
    FERRY_FREE(u->repeats, u->cells, u->broke, u->method);
    (void)pthread_mutex_destroy(&u->mutex);
    (void)pthread_cond_destroy(&u->made);
}

/* About what a cell takes beside the data itself: a prepared copy, what the method makes of it and its
 * workspace. Four times the data is seldom less than it needs; too much only means fewer at once. */
static int64_t cell_bytes(const ferry_task *task)
{
    int64_t bytes = 0;

    for (int64_t i = 0; i < task->n_domains; i++) {
        const ferry_domain *d = task->domains[i];
        for (int64_t v = 0; v < d->n_views; v++)
            bytes += d->views[v]->x->nnz * (d->views[v]->x->dense ? 8 : 12);
        for (int64_t g = 0; g < d->n_graphs; g++)
            bytes += d->graphs[g]->a->nnz * 12;
        if (d->ratings) bytes += d->ratings->n * 24;
        bytes += ferry_i_domain_id_count(d) * 8;
    }
    return 4 * bytes;
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

/* A target that hides nothing: methods are fitted once and their predictions kept, the answer
 * is by what can be seen, and nothing is scored. */
static ferry_status allow_unscored(ferry_ctx *ctx, run *u, const ferry_task *split)
{
    ferry_status st = FERRY_OK;
    ferry_results *rs = u->rs;
    uint8_t *mask = NULL;
    int64_t count = 0;

    if (rs->n_metrics == 0 || rs->run.goal == FERRY_STREAM) goto done;
    FERRY_TRY(ferry_i_score_new_mask(ctx, rs, &mask));
    st = ferry_i_score_mask(ctx, rs, split, mask, &count);
    if (st != FERRY_EDATA) goto done;
    st = FERRY_OK;
    ferry_i_log(
        ctx, FERRY_WARN,
        "%s: nothing is scored; every method is fitted once and its predictions are "
        "kept, and cross-validation on what is visible says which to take",
        ferry_message(ctx));
    for (int64_t i = 0; i < rs->n; i++)
        for (int64_t m = 0; m < rs->n_metrics * rs->run.planned; m++)
            rs->result[i].metric[m] = NAN;
    u->unscored = rs->n_metrics;
    rs->n_metrics = 0;
    rs->run.planned = 1;
done:
    ferry_i_free(mask);
    return st;
}

/* The policies, where they are asked for. */
static ferry_status choose(ferry_ctx *ctx, const ferry_task *task, run *u)
{
    enum { YES, SINGLE, NO };
    ferry_results *rs = u->rs;

    if (u->answer == NO || rs->run.repeats == 0) return FERRY_OK;
    rs->n_metrics += u->unscored; /* there are folds to score on */
    const ferry_status st =
        ferry_i_answer_run(ctx, task, rs, u->answer == SINGLE, u->unscored == 0);
    rs->n_metrics -= u->unscored;
    ctx->repeat = 0;
    return st;
}

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
    ctx->repeat = 0;
    FERRY_TRY(ferry_i_task_split_hands(ctx, task, 0, &rs->hands, &split));
    FERRY_TRY(ferry_i_task_bridges(ctx, task, 0, split));
    FERRY_TRY(ferry_i_task_trainable(ctx, split));
    FERRY_TRY(choose_methods(ctx, u, task, split, extra));
    FERRY_TRY(find_named(ctx, task, rs));
    FERRY_TRY(ferry_i_task_target(ctx, split, &target));
    rs->run.visible = ferry_domain_labels(target);
    FERRY_TRY(need_some(ctx, rs));
    FERRY_TRY(ferry_i_score_truth(ctx, task, rs));
    if (rs->hands.folds) rs->run.visible = ferry_i_score_known_count(rs);
    rs->run.folds = rs->hands.folds ? rs->hands.hands : 0;
    if (rs->run.goal == FERRY_EMBED && !rs->truth)
        rs->n_metrics = 0; /* nothing to score by */
    FERRY_TRY(allow_unscored(ctx, u, split));
    FERRY_TRY(ferry_i_controls_plan(ctx, task, rs, &u->controls));
    ferry_i_pool_plan(ctx, rs->run.planned * u->runnable, cell_bytes(task));
    ended = run_all(ctx, u, &split);
    if (ended != FERRY_OK && ended != FERRY_ECANCELLED) FERRY_TRY(ended);
    memcpy(message, ctx->message, sizeof message);
    if (ended == FERRY_OK && !u->finish) FERRY_TRY(need_some(ctx, rs));
    FERRY_TRY(keep_complete(ctx, rs));
    if (ended == FERRY_OK && !u->finish) {
        ended = choose(ctx, task, u);
        if (ended != FERRY_OK && ended != FERRY_ECANCELLED) FERRY_TRY(ended);
        memcpy(message, ctx->message, sizeof message);
    }
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
    if (rs->run.repeats == 0 && ended == FERRY_OK)
        ended = ferry_i_fail(ctx, FERRY_ECANCELLED, "stopped before any method was done");
    else
        memcpy(ctx->message, message, sizeof message);
    FERRY_TRY(ferry_i_results_publish(ctx, rs));
    rs->run.bridge = ferry_i_choices_words(task);
    if (rs->answer) FERRY_TRY(ferry_i_answer_words(ctx, task, rs, rs->answer));
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
    run u = {.rs = ferry_i_calloc(1, sizeof *u.rs),
             .task = task,
             .mutex = PTHREAD_MUTEX_INITIALIZER,
             .made = PTHREAD_COND_INITIALIZER};

    *out = NULL;
    FERRY_HAVE(ctx, u.rs);
    const double started = ferry_i_wall_clock(), begin = ferry_i_clock();
    st = evaluate(ctx, task, extra, &u);
    /* What is complete is kept when the run was stopped. */
    if (st != FERRY_OK && (st != FERRY_ECANCELLED || u.rs->run.repeats == 0)) goto done;
    u.rs->record = ferry_i_run_record(ctx, task, u.rs, started, ferry_i_clock() - begin);
    FERRY_HAVE(ctx, u.rs->record && !ferry_i_memory_lost());
    *out = u.rs;
done:
    free_run(&u);
    if (!*out) ferry_results_free(u.rs);
    return ferry_i_join(outer, ctx, st);
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
    FERRY_TRY(ferry_i_task_split(ctx, task, FERRY_DEPLOYED, split));
    FERRY_TRY(ferry_i_task_bridges(ctx, task, 0, *split));
    FERRY_TRY(choose_methods(ctx, &u, task, *split, NULL));
    FERRY_TRY(need_some(ctx, u.rs));
    FERRY_TRY(ferry_i_score_truth(ctx, task, u.rs));
done:
    return st;
}
