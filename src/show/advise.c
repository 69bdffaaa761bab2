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

#include "methods/method.h"
#include "run/run.h"
#include "select/select.h"
#include "show/show.h"

#define PATIENCE 1.0 /* seconds that a method is given */

/* What is borrowed, and what it lies in. */
typedef struct found {
    ferry_advice pub;  /* first: the calls get its address */
    ferry_arena arena; /* texts and arrays */
    ferry_advice_method *method;
    ferry_advice_domain *domain;
    int64_t n_methods, cap, n_domains;
    json_t *domains; /* with hashes, as the record of a run has them */
} found;

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

/* What prepare says that the method uses is kept in `text`, all else goes where it went. */
typedef struct listener {
    const ferry_ctx *outer;
    ferry_text *text;
} listener;

static void on_log(void *user, ferry_level level, const char *line)
{
    const listener *l = user;
    const char *uses = level == FERRY_INFO ? strstr(line, ": uses ") : NULL;
    char views[1024];

    if (uses) { /* what a method asks for again, perhaps with labels of its own, is no news */
        (void)snprintf(views, sizeof views, "%s", uses += 7);
        views[strcspn(views, ";")] = 0;
        if (!l->text->s || !strstr(l->text->s, views))
            ferry_i_text_addf(l->text, "%s%s", l->text->s ? "; " : "", uses);
    }
    if (l->outer->log && level >= l->outer->log_least)
        l->outer->log(l->outer->log_user, level, line);
}

/* Fit on the split, for a second at most. */
static ferry_status try_method(ferry_ctx *ctx, const ferry_task *split,
                               const ferry_method *m, const ferry_opts *opts, double limit,
                               ferry_text *uses, ferry_advice_method *c)
{
    ferry_status st = FERRY_OK;
    watch w = {.begin = ferry_i_clock(), .limit = limit};
    ferry_model *model = NULL;
    const bool peak = reset_peak();
    const double before = (double)ferry_i_proc_bytes("/proc/self/status", "VmRSS");

    ferry_ctx own = ferry_i_child(ctx);
    listener hears = {ctx, uses};
    ferry_ctx_set_log(&own, on_log, FERRY_INFO, &hears);
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

/* What prepare does not see: graphs of the target, ratings. */
static void add_uses(const ferry_task *split, const ferry_method *m, ferry_text *uses)
{
    const char *between = uses->s ? "; graphs: " : "graphs: ";
    const bool graphs = m->graphs || (m->needs & FERRY_NEED_GRAPH);

    for (int64_t i = 0; i < split->n_domains; i++) {
        const ferry_domain *d = split->domains[i];
        for (int64_t j = 0; graphs && d->role == FERRY_TARGET && j < d->n_graphs; j++) {
            ferry_i_text_addf(uses, "%s%s.%s", between, d->name, d->graphs[j]->name);
            between = ", ";
        }
        if (!(m->needs & FERRY_NEED_RATINGS) || !d->ratings ||
            (d->role != FERRY_TARGET && !(m->needs & FERRY_NEED_SOURCE)))
            continue;
        ferry_i_text_addf(uses, "%s%s %lld", uses->s ? ", " : "ratings: ", d->name,
                          (long long)ferry_domain_labels(d));
    }
}

static ferry_status advise_method(ferry_ctx *ctx, const ferry_task *split,
                                  const ferry_method *m, const char *name,
                                  const ferry_opts *opts, found *f)
{
    ferry_status st = ferry_i_fits(ctx, split, m, opts);
    const bool mistaken = st == FERRY_EINVAL; /* the task itself */
    ferry_advice_method c = {.size = sizeof c,
                             .name = ferry_i_arena_text(&f->arena, name),
                             .method = m->name,
                             .kind = (ferry_kind)m->kind,
                             .seconds = NAN,
                             .bytes = NAN};
    ferry_text uses = {0};

    if (st == FERRY_OK) st = try_method(ctx, split, m, opts, PATIENCE, &uses, &c);
    if (st == FERRY_OK) add_uses(split, m, &uses);
    c.uses = ferry_i_arena_text(&f->arena, uses.s ? uses.s : "");
    if (ferry_i_skips(st) && !mistaken) {
        c.reason = ferry_i_arena_text(&f->arena, ctx->message);
        st = FERRY_OK;
    }
    FERRY_TRY(st);
    FERRY_HAVE(ctx, !uses.failed);
    FERRY_HAVE(ctx, FERRY_GROW(f->method, f->n_methods, f->cap));
    f->method[f->n_methods++] = c;
done:
    ferry_i_text_free(&uses);
    return st;
}

/* The task's methods; without any, all that serve the goal. The rest is counted. */
static ferry_status advise_methods(ferry_ctx *ctx, const ferry_task *task,
                                   const ferry_task *split, found *f)
{
    ferry_status st = FERRY_OK;
    ferry_default *list = NULL;
    int64_t n = 0;
    const ferry_method *m = NULL;

    for (int64_t i = 0; i < task->n_methods; i++) {
        FERRY_TRY(ferry_i_method_get(ctx, task->methods[i].method, &m));
        FERRY_TRY(
            advise_method(ctx, split, m, task->methods[i].as, task->methods[i].opts, f));
    }
    if (task->n_methods > 0) goto done;
    FERRY_TRY(ferry_i_defaults(ctx, split, &list, &n));
    for (int64_t i = 0; i < n; i++)
        FERRY_TRY(advise_method(ctx, split, list[i].method, list[i].name, list[i].opts, f));
    for (int64_t i = 0; i < ferry_i_method_count(); i++)
        f->pub.of_other_goals += !(ferry_i_method_at(i)->goals & (unsigned)task->goal);
done:
    ferry_i_defaults_free(list, n);
    return st;
}

/* ---- domains ---- */

/* What the domain has, as the task gives it: all labels, visible or not. */
static void fill_domain(found *f, const ferry_domain *d, ferry_advice_domain *o)
{
    const char **view = ferry_i_arena_new(&f->arena, d->n_views, sizeof *view);
    const char **graph = ferry_i_arena_new(&f->arena, d->n_graphs, sizeof *graph);
    int64_t *rows = ferry_i_arena_new(&f->arena, d->n_views, sizeof *rows);
    int64_t *features = ferry_i_arena_new(&f->arena, d->n_views, sizeof *features);
    int64_t *edges = ferry_i_arena_new(&f->arena, d->n_graphs, sizeof *edges);

    *o = (ferry_advice_domain){.size = sizeof *o,
                               .name = ferry_i_arena_text(&f->arena, d->name),
                               .role = d->role,
                               .instances = ferry_i_domain_id_count(d),
                               .labels = ferry_domain_labels(d),
                               .n_views = d->n_views,
                               .views = view,
                               .view_rows = rows,
                               .view_features = features,
                               .n_graphs = d->n_graphs,
                               .graphs = graph,
                               .graph_edges = edges,
                               .ratings = d->ratings ? d->ratings->n : 0,
                               .shared_features = -1,
                               .feature_overlap = NAN,
                               .id_overlap = NAN,
                               .label_overlap = NAN,
                               .a_distance = NAN,
                               .complexity = NAN};
    if (f->arena.failed) return; /* said by the caller */
    for (int64_t i = 0; i < d->n_views; i++) {
        view[i] = ferry_i_arena_text(&f->arena, d->views[i]->name);
        rows[i] = d->views[i]->x->rows;
        features[i] = d->views[i]->x->cols;
    }
    for (int64_t i = 0; i < d->n_graphs; i++) {
        graph[i] = ferry_i_arena_text(&f->arena, d->graphs[i]->name);
        edges[i] = d->graphs[i]->a->nnz / 2; /* each stands in both rows */
    }
}

/* Distances are measured with what a method would see: the split. */
static ferry_status advise_domains(ferry_ctx *ctx, const ferry_task *task,
                                   const ferry_task *split, const ferry_domain *target,
                                   found *f)
{
    ferry_status st = FERRY_OK;

    FERRY_HAVE(ctx, f->domains = ferry_i_run_domains(task));
    FERRY_NEW(ctx, f->domain, task->n_domains);
    f->n_domains = task->n_domains;
    for (int64_t i = 0; i < task->n_domains; i++) {
        ferry_advice_domain *o = &f->domain[i];
        select_measure m = {0};
        fill_domain(f, task->domains[i], o);
        if (split->domains[i] == target) continue;
        FERRY_TRY(ferry_i_measure(ctx, split->domains[i], target, &m));
        o->shared_features = m.shared_features;
        o->feature_overlap = m.feature_overlap;
        o->id_overlap = m.id_overlap;
        o->label_overlap = m.label_overlap;
        o->a_distance = m.a_distance;
        o->complexity = m.complexity;
    }
done:
    return st;
}

/* What this task can show at all, before anything is run: the chance that a gain of so many points, or
 * of so many hundredths of the baseline's error, passes question 1, at the level that Holm's rule leaves
 * for one of the transfer methods that fit. Rows: two methods differ on a fifth of them, which is a
 * variance of .2; that of the difference of two errors (of normal ones, by their own size, 1 - rho^2) is
 * the same where they correlate by .9. Ratings of one user go together, so theirs is the best case.
 * Labels: what other visible labels change falls with their number; .016 / L is what the repeats of
 * ferry gen's bridge tasks differ by (3 labels a class; not the tasks of docs/trust.md's tables). */
static void reckon_power(found *f)
{
    static const double effect[] = {0.02, 0.05, 0.1};
    ferry_advice *a = &f->pub;
    const double n = (double)a->scored, labels = fmax(1, (double)a->visible);
    const double repeats = 0.016 / labels, k = a->visible > 0 ? labels / n : 0;
    const double se = sqrt(0.2 / n + repeats * (1 / (double)a->repeats + k));
    double methods = 0;

    for (int64_t i = 0; i < f->n_methods; i++)
        methods += !f->method[i].reason && f->method[i].kind == FERRY_KIND_TRANSFER;
    const double level = 0.05 / fmax(1, methods);
    for (int i = 0; i < 3; i++)
        a->power[i] = n > 2 && a->goal != FERRY_EMBED
                          ? ferry_i_student_above(
                                ferry_i_student_t(2 * level, n - 1) - effect[i] / se, n - 1)
                          : NAN;
}

static void reckon_time(found *f)
{
    enum { CONTROLS = 24, FOLDS = 3 }; /* of 5 folds, with those that are dropped */
    const double repeats = (double)f->pub.repeats;

    for (int64_t i = 0; i < f->n_methods; i++) {
        const ferry_advice_method *m = &f->method[i];
        if (m->reason) continue;
        const double s = isnan(m->seconds) ? PATIENCE : m->seconds;
        f->pub.seconds_repeats += s * repeats;
        if (m->kind == FERRY_KIND_TRANSFER) f->pub.seconds_controls += s * CONTROLS;
        if (m->kind != FERRY_KIND_CONTROL) f->pub.seconds_answer += s * repeats * FOLDS;
    }
}

ferry_status ferry_advise(ferry_ctx *outer, const ferry_task *task, ferry_advice **out)
{
    FERRY_ARGS_OUT(outer, out, out, task);

    ferry_status st = FERRY_OK;
    ferry_ctx own = ferry_i_child(outer), *ctx = &own;
    ferry_task *split = NULL;
    ferry_evaluate_settings s = {0};
    const ferry_domain *target = NULL;
    found *f = NULL;
    char *links = NULL, *json = NULL;

    FERRY_NEW(ctx, f, 1);
    FERRY_TRY(ferry_i_task_evaluate(ctx, task, &s));
    if (s.seed >= 0) ctx->seed = (uint64_t)s.seed;
    FERRY_TRY(ferry_i_task_split(ctx, task, FERRY_DEPLOYED, &split));
    FERRY_TRY(ferry_i_task_target(ctx, split, &target));
    f->pub = (ferry_advice){.size = sizeof f->pub,
                            .task = ferry_i_arena_text(&f->arena, task->name),
                            .goal = task->goal,
                            .target = ferry_i_arena_text(&f->arena, target->name),
                            .visible = ferry_domain_labels(target),
                            .repeats = s.repeats};
    FERRY_TRY(ferry_task_links(ctx, task, NULL, &links));
    f->pub.links = ferry_i_arena_text(&f->arena, links);
    FERRY_TRY(advise_methods(ctx, task, split, f));
    FERRY_TRY(advise_domains(ctx, task, split, target, f));
    for (int64_t i = 0; i < f->n_domains; i++)
        if (f->domain[i].role == FERRY_TARGET)
            f->pub.scored = ferry_i_shows_all(task->goal, target)
                                ? f->pub.visible /* each once in a cross-validation */
                                : f->domain[i].labels - f->pub.visible;
    reckon_power(f);
    reckon_time(f);
    FERRY_TRY(ferry_i_advice_json(ctx, &f->pub, &json));
    f->pub.json = ferry_i_arena_text(&f->arena, json);
    FERRY_HAVE(ctx, !f->arena.failed);
    *out = &f->pub;
    f = NULL;
done:
    if (f) ferry_advice_free(&f->pub);
    FERRY_FREE(links, json);
    ferry_task_free(split);
    return ferry_i_join(outer, ctx, st);
}

const ferry_advice_method *ferry_advice_method_at(const ferry_advice *advice, int64_t i)
{
    if (!advice) return NULL;
    const found *f = (const found *)advice;

    return i >= 0 && i < f->n_methods ? &f->method[i] : NULL;
}

const ferry_advice_domain *ferry_advice_domain_at(const ferry_advice *advice, int64_t i)
{
    if (!advice) return NULL;
    const found *f = (const found *)advice;

    return i >= 0 && i < f->n_domains ? &f->domain[i] : NULL;
}

void ferry_advice_free(ferry_advice *advice)
{
    found *f = (found *)advice;

    if (!f) return;
    json_decref(f->domains);
    FERRY_FREE(f->method, f->domain);
    ferry_i_arena_free(&f->arena);
    ferry_i_free(f);
}

/* ---- as JSON ---- */

static json_t *methods_json(const found *f)
{
    static const char *const kinds[] = {"baseline", "transfer", "control"};
    json_t *list = json_array();

    for (int64_t i = 0; i < f->n_methods; i++) {
        const ferry_advice_method *m = &f->method[i];
        (void)json_array_append_new(
            list,
            json_pack("{s:o, s:s, s:s, s:b, s:o, s:o, s:b, s:o, s:o}", "name",
                      ferry_i_json_text(m->name), "method", m->method, "kind",
                      kinds[m->kind], "fits", !m->reason, "reason",
                      m->reason ? ferry_i_json_text(m->reason) : json_null(), "seconds",
                      ferry_i_json_real(m->seconds), "measured", m->measured, "bytes",
                      ferry_i_json_real(m->bytes), "uses", ferry_i_json_text(m->uses)));
    }
    return list;
}

static json_t *measures_json(const found *f)
{
    json_t *list = json_array();

    for (int64_t i = 0; i < f->n_domains; i++) {
        const ferry_advice_domain *d = &f->domain[i];
        const select_measure m = {d->complexity,      d->a_distance, d->shared_features,
                                  d->feature_overlap, d->id_overlap, d->label_overlap};
        if (d->shared_features >= 0)
            (void)json_array_append_new(list,
                                        ferry_i_measure_json(d->name, f->pub.target, &m));
    }
    return list;
}

ferry_status ferry_i_advice_json(ferry_ctx *ctx, const ferry_advice *a, char **out)
{
    ferry_status st = FERRY_OK;
    const found *f = (const found *)a;
    json_t *all = json_pack(
        "{s:s, s:o, s:s, s:o, s:I, s:I, s:O, s:o, s:I, s:o, s:o, s:I, s:o, s:{s:f, s:f, s:f}}",
        "ferry", ferry_version(), "task", ferry_i_json_text(a->task), "goal",
        ferry_goal_name(a->goal), "target", ferry_i_json_text(a->target), "visible",
        (json_int_t)a->visible, "repeats", (json_int_t)a->repeats, "domains", f->domains,
        "methods", methods_json(f), "of_other_goals", (json_int_t)a->of_other_goals,
        "measures", measures_json(f), "links", ferry_i_json_text(a->links), "scored",
        (json_int_t)a->scored, "power", ferry_i_report_reals(3, a->power), "seconds",
        "repeats", a->seconds_repeats, "controls", a->seconds_controls, "answer",
        a->seconds_answer);

    FERRY_TRY(ferry_i_json_dump(ctx, all, JSON_INDENT(2) | JSON_REAL_PRECISION(6), out));
done:
    json_decref(all);
    return st;
}
