/* Fitting: find the method, check the task against what it needs, run it, keep what is
 * needed to predict.
 * All checks run before the method does, so that a method can take its needs for granted
 * and every refusal is one sentence of the same form: who needs what, and what this task
 * has. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "linalg/blas.h"
#include "linalg/columns.h"
#include "methods/frame.h"

/* ---- what a method needs ---- */

/* In the order of ferry_role. */
static const char *const role_name[] = {"source", "intermediate", "target"};

/* "source 'text' and target 'images'". */
static const char *describe(scope *s, const ferry_task *task)
{
    const int64_t n = task->n_domains;
    const char *all = n == 0 ? "no domain" : "";

    for (int64_t i = 0; i < n; i++)
        all = scope_text(s, "%s%s%s '%s'", all,
                         i == 0       ? ""
                         : i == n - 1 ? " and "
                                      : ", ",
                         role_name[task->domains[i]->role], task->domains[i]->name);
    return all;
}

/* Labels that may be seen: a split leaves a table of labels in which some are hidden. */
static bool has_labels(const ferry_domain *d)
{
    const int64_t n = d->labels ? d->labels->n : 0;
    int64_t i = 0;

    while (i < n && !ferry_i_labels_has(d->labels, i))
        i++;
    return i < n;
}

/* What need_everywhere() counts. */
static int64_t views_of(const ferry_domain *d)
{
    return d->n_views;
}

static int64_t ratings_of(const ferry_domain *d)
{
    return d->ratings ? d->ratings->n : 0;
}

/* Every domain has at least one (`one`: just one) of something. Intermediate domains count
 * only for methods that use them. */
static void need_everywhere(scope *s, const ferry_method *m, const ferry_task *task,
                            const char *what, int64_t (*count)(const ferry_domain *),
                            bool one)
{
    for (int64_t i = 0; i < task->n_domains; i++) {
        const ferry_domain *d = task->domains[i];
        if (d->role == FERRY_INTERMEDIATE && !(m->needs & FERRY_NEED_INTERMEDIATE))
            continue;
        if (count(d) == 0)
            scope_fail(s, FERRY_ENEEDS, "%s needs %s in every domain; %s '%s' has none",
                       m->name, what, role_name[d->role], d->name);
        if (one && count(d) != 1)
            scope_fail(s, FERRY_ENEEDS,
                       "%s needs just %s in every domain; %s '%s' has %lld", m->name, what,
                       role_name[d->role], d->name, (long long)count(d));
    }
}

/* Which domains there are. The sentence lists the whole task, since a role that is
 * missing is mostly a domain that was given another one. */
static void check_roles(scope *s, const ferry_method *m, const ferry_task *task)
{
    bool labelled = false;
    const ferry_domain *d;

    if ((m->needs & (FERRY_NEED_SOURCE | FERRY_NEED_SOURCE_LABELS)) &&
        ferry_i_task_count_role(task, FERRY_SOURCE) == 0)
        scope_fail(s, FERRY_ENEEDS, "%s needs a source domain; this task has %s", m->name,
                   describe(s, task));
    if ((m->needs & FERRY_NEED_INTERMEDIATE) &&
        ferry_i_task_count_role(task, FERRY_INTERMEDIATE) == 0)
        scope_fail(s, FERRY_ENEEDS, "%s needs an intermediate domain; this task has %s",
                   m->name, describe(s, task));
    for (int64_t i = 0; (d = ferry_i_task_role(task, FERRY_SOURCE, i)); i++)
        labelled = labelled || has_labels(d);
    if ((m->needs & FERRY_NEED_SOURCE_LABELS) && !labelled)
        scope_fail(
            s, FERRY_ENEEDS,
            "%s needs labels in a source domain; this task has %s without source labels",
            m->name, describe(s, task));
}

/* What the target itself must have. "That it may see": in an evaluation the labels may
 * all be hidden by the split, though the file has them. */
static void check_target(scope *s, const ferry_method *m, const ferry_domain *target)
{
    const unsigned needs = m->needs;

    if ((needs & FERRY_NEED_TARGET_LABELS) && !has_labels(target))
        scope_fail(
            s, FERRY_ENEEDS,
            "%s needs some labels in the target; target '%s' has none that it may see",
            m->name, target->name);
    if ((needs & FERRY_NEED_GRAPH) && target->n_graphs == 0)
        scope_fail(
            s, FERRY_ENEEDS,
            "%s needs a graph in the target; target '%s' has none (graphs: [{name: links, edges: FILE}], or knn: 10 for one of its nearest)",
            m->name, target->name);
    if ((needs & FERRY_NEED_TARGET_VIEW) && target->n_views == 0)
        scope_fail(s, FERRY_ENEEDS, "%s needs a view in the target; target '%s' has none",
                   m->name, target->name);
    if ((needs & FERRY_NEED_VIEW_OR_GRAPH) && target->n_views == 0 && target->n_graphs == 0)
        scope_fail(s, FERRY_ENEEDS,
                   "%s needs a view or a graph in the target; target '%s' has none",
                   m->name, target->name);
}

/* "svm does not run with --engine mpi; cdspp, logreg and ridge do". */
static void check_spreads(scope *s, const ferry_method *m)
{
    const char *those = "";
    int64_t left = 0;

    if (m->spreads || !rows_spread(s)) return;
    for (int64_t i = 0; i < ferry_i_method_count(); i++)
        left += ferry_i_method_at(i)->spreads;
    for (int64_t i = 0; i < ferry_i_method_count(); i++)
        if (ferry_i_method_at(i)->spreads)
            those = scope_text(s, "%s%s%s", those, ferry_i_method_at(i)->name,
                               --left > 1  ? ", "
                               : left == 1 ? " and "
                                           : "");
    scope_fail(s, FERRY_ENEEDS, "%s does not run with --engine mpi; %s do", m->name, those);
}

static void check_weights(scope *s, const ferry_method *m, const ferry_task *task)
{
    for (int64_t i = 0; i < task->n_domains && !m->weighs; i++)
        if (task->domains[i]->weight)
            scope_fail(s, FERRY_ENEEDS,
                       "%s takes no weights of instances; %s '%s' has some", m->name,
                       role_name[task->domains[i]->role], task->domains[i]->name);
}

/* Options are parsed.
 * The needs that are bits first, then the method's own fits(), which may rely on them. */
static void check_fits(scope *s, const ferry_method *m, ferry_split *split,
                       const void *options)
{
    const ferry_task *task = split->task;
    const ferry_domain *target = NULL;
    const unsigned views = FERRY_NEED_VIEW | FERRY_NEED_ONE_VIEW;

    if (!(m->goals & (unsigned)task->goal))
        scope_fail(s, FERRY_ENEEDS, "%s does not serve the goal %s", m->name,
                   ferry_goal_name(task->goal));
    check_spreads(s, m);
    check_weights(s, m, task);
    scope_check(s, ferry_i_task_target(scope_ctx(s), task, &target));
    check_roles(s, m, task);
    if (m->needs & views)
        need_everywhere(s, m, task, m->needs & FERRY_NEED_ONE_VIEW ? "one view" : "a view",
                        views_of, m->needs & FERRY_NEED_ONE_VIEW);
    if (m->needs & FERRY_NEED_RATINGS)
        need_everywhere(s, m, task, "ratings", ratings_of, false);
    check_target(s, m, target);
    if (m->needs & FERRY_NEED_PATH)
        prepare_fits(
            s, split,
            &(ferry_wants){.method = m->name,
                           .domains = FERRY_SOURCES | FERRY_BRIDGES | FERRY_THE_TARGET,
                           .layout = FERRY_PATH,
                           .labelled_sources = true});
    if (m->next) frame_fits(s, m->next, split, options);
    if (m->fits) scope_check(s, m->fits(scope_ctx(s), task, options));
}

static void free_task(void *task)
{
    ferry_task_free(task);
}

/* The task with all labels in one numbering, for s alone. */
static ferry_split *resolve(scope *s, const ferry_task *task)
{
    ferry_task *seen = NULL;

    scope_check(s, ferry_i_task_resolved(scope_ctx(s), task, &seen));
    scope_defer(s, free_task, seen);
    return split_of(s, seen);
}

/* ---- one fit ---- */

typedef struct fitting {
    const ferry_task *task;
    const ferry_method *how;
    const ferry_opts *opts;
    ferry_model *m; /* under way: freed by s */
    ferry_model *done;
    ferry_fit_info info;
} fitting;

static void free_model(void *arg)
{
    fitting *f = arg;

    ferry_model_free(f->m);
    f->m = NULL;
}

/* A model without a state: options parsed and checked the one way. */
static void new_model(scope *s, fitting *f, const ferry_task *task)
{
    scope_check(s, ferry_i_model_new(scope_ctx(s), f->how, f->opts, task->goal,
                                     ferry_i_goal_named(task->goal) ? task->names : NULL,
                                     &f->m));
}

static void fits_body(scope *s, void *arg)
{
    fitting *f = arg;

    scope_defer(s, free_model, f);
    ferry_split *split = resolve(s, f->task);
    new_model(s, f, split->task);
    check_fits(s, f->how, split, f->m->options);
}

ferry_status ferry_i_fits(ferry_ctx *ctx, const ferry_task *task, const ferry_method *how,
                          const ferry_opts *opts)
{
    const char *outer = ctx->fitting;
    const ferry_status st =
        scope_run(ctx, fits_body, &(fitting){.task = task, .how = how, .opts = opts});

    ctx->fitting = outer;
    return st;
}

/* A name as task files may write it: the method, and the options that are left (NULL: as they were). */
typedef struct naming {
    const char *name;
    const ferry_opts *opts;
    const ferry_method *how;
} naming;

static void free_opts(void *opts)
{
    ferry_opts_free(opts);
}

static void find_method(scope *s, naming *n)
{
    ferry_opts *less = NULL;

    scope_check(s, ferry_i_task_spelling(scope_ctx(s), n->name, n->opts, &n->name, &less));
    if (less) scope_defer(s, free_opts, less);
    if (less) n->opts = less;
    scope_check(s, ferry_i_method_get(scope_ctx(s), n->name, &n->how));
}

typedef struct asking {
    naming n;
    const ferry_task *task;
    ferry_model **out;
    ferry_fit_info *info;
} asking;

/* ---- what a model keeps of the data ---- */

/* Rows [from, from + n) of a sparse view: sums, then squares about the mean less those of a 0, which are all counted
 * afterwards. */
static void add_sparse(const ferry_matrix *x, int64_t from, int64_t n, int pass,
                       double *mean, double *std, double *missing)
{
    for (int64_t e = x->start[from]; e < x->start[from + n]; e++) {
        const int64_t j = x->index[e];
        const double v = x->value[e];
        if (isnan(v))
            missing[j] += pass == 0;
        else if (pass == 0)
            mean[j] += v;
        else
            std[j] += (v - mean[j]) * (v - mean[j]) - mean[j] * mean[j];
    }
}

/* Mean, standard deviation and missing share of every column, for who watches a model at work.
 * In a sparse view what is not stored is 0. */
static void describe_inputs(scope *s, const ferry_matrix *x, ferry_model *m)
{
    const int64_t cols = x->cols, n = x->rows;
    int64_t here = 0;

    if (cols > FERRY_INPUTS_MOST || n == 0) return;
    if (!(m->inputs = ferry_i_calloc(3 * cols, sizeof *m->inputs)))
        scope_check(s, ferry_i_nomem(scope_ctx(s)));
    double *mean = m->inputs, *std = mean + cols, *missing = std + cols;
    const layout rows = rows_here(s, n, &here);
    double *more = NEW(s, double, 4 * cols); /* dense: not 0, lowest, highest, neither */
    const ferry_columns c = {cols, mean, more + cols, more + 2 * cols, missing,
                             more, mean, std,         more + 3 * cols};
    for (int pass = 0; pass < 2; pass++) { /* sums, then squares about the mean */
        if (x->dense)
            (pass == 0 ? ferry_i_column_sums : ferry_i_column_squares)(
                &c, here, cols, x->dense + rows.first * cols);
        else
            add_sparse(x, rows.first, here, pass, mean, std, missing);
        for (int64_t j = 0; x->dense && j < cols; j++) {
            if (pass == 0) /* from how many are not 0 to how many are */
                more[j] = (double)here - missing[j] - more[j];
            else /* the squares are of what is not 0 */
                std[j] += more[j] * mean[j] * mean[j];
        }
        sums(s, rows, cols, pass == 0 ? mean : std);
        if (pass == 0) sums(s, rows, cols, missing);
        for (int64_t j = 0; j < cols; j++) {
            const double known = (double)n - missing[j];
            if (pass == 0)
                mean[j] = known > 0 ? mean[j] / known : 0;
            else
                std[j] =
                    known > 0
                        ? sqrt(fmax(std[j] / known + (x->dense ? 0 : mean[j] * mean[j]), 0))
                        : 0;
        }
    }
    for (int64_t j = 0; j < cols; j++)
        missing[j] /= (double)n;
}

static void keep_view(scope *s, ferry_model *m, const char *name, const ferry_view *v)
{
    scope_check(s, ferry_i_model_add_view(scope_ctx(s), m, name, v->x->cols, v->features,
                                          v->read, v->idf));
}

/* How the target's views look, without their rows; those of the sources where they can be
 * embedded too. */
static void keep_schema(scope *s, const ferry_task *task, ferry_model *m)
{
    const ferry_domain *target = NULL, *d = NULL;

    scope_check(s, ferry_i_task_target(scope_ctx(s), task, &target));
    for (int64_t i = 0; i < target->n_views; i++)
        keep_view(s, m, target->views[i]->name, target->views[i]);
    if (target->n_views == 1) describe_inputs(s, target->views[0]->x, m);
    if (!m->method->embeds_sources || m->goal != FERRY_EMBED) return;
    for (int64_t i = 0; (d = ferry_i_task_role(task, FERRY_SOURCE, i)); i++)
        keep_view(s, m, scope_text(s, "%s.%s", d->name, d->views[0]->name), d->views[0]);
}

/* ---- the fit itself ---- */

/* What a fit sets in the context: a method may fit others inside its own fit; each has its own diagnostics, and what the
 * inner one leaves does not get among the outer one's. */
typedef struct outside {
    ferry_ctx *ctx;
    json_t *diag, *own;
    ferry_fit_info *info;
    const char *fitting;
} outside;

static void put_back(void *arg)
{
    outside *o = arg;

    o->ctx->diag = o->diag;
    o->ctx->info = o->info;
    o->ctx->fitting = o->fitting;
    json_decref(o->own);
}

/* Run the method with diagnostics going to a fresh object, which becomes the model's. */
static void run_method(scope *s, ferry_split *split, fitting *f)
{
    ferry_ctx *ctx = scope_ctx(s);
    ferry_model *m = f->m;
    const double begin = ferry_i_clock();
    const int64_t sent = bytes_sent(s);
    outside *o = NEW(s, outside, 1);

    *o = (outside){ctx, ctx->diag, json_object(), ctx->info, ctx->fitting};
    scope_defer(s, put_back, o);
    if (!o->own) scope_check(s, ferry_i_nomem(ctx));
    ctx->diag = o->own;
    if (m->method->next) {
        ctx->fitting = m->method->name;
        ctx->info = &f->info;
        if (!(m->state = ferry_i_calloc(1, sizeof(fitted))))
            scope_check(s, ferry_i_nomem(ctx));
        frame_fit(s, m->method->next, split, m->options, m->state);
        ctx->fitting = o->fitting;
        ctx->info = o->info;
    } else {
        scope_check(s, m->method->fit(ctx, split->task, m->options, &m->state, &f->info));
    }
    report_bytes_sent(s, sent);
    if (split->task->chosen) {
        json_t *bridge = NULL;
        const char *told = split->task->chosen;
        scope_check(s,
                    ferry_i_json_parse(ctx, told, (int64_t)strlen(told), 0, NULL, &bridge));
        if (json_object_set_new(o->own, "bridge", bridge))
            scope_check(s, ferry_i_nomem(ctx));
    }
    if (!m->method->timed) f->info.seconds = ferry_i_clock() - begin;
    scope_check(s, ferry_i_model_set_diagnostics(ctx, m, o->own));
}

static void fit_body(scope *s, void *arg)
{
    fitting *f = arg;

    scope_defer(s, free_model, f);
    scope_check(s, ferry_i_blas_ready(scope_ctx(s)));
    ferry_split *split = resolve(s, f->task);
    new_model(s, f, split->task);
    check_fits(s, f->how, split, f->m->options);
    keep_schema(s, split->task, f->m);
    run_method(s, split, f);
    f->done = f->m;
    f->m = NULL;
}

/* Resolve, check, keep what predicting needs, run. The task that the caller has is not
 * changed: what is resolved is a copy that shares the data. */
ferry_status ferry_i_fit(ferry_ctx *ctx, const ferry_task *task, const ferry_method *how,
                         const ferry_opts *opts, ferry_model **out, ferry_fit_info *rep)
{
    const char *fitting_now = ctx->fitting;
    fitting f = {.task = task, .how = how, .opts = opts, .info = {.objective = NAN}};
    const ferry_status st = scope_section(ctx, fit_body, &f);

    ctx->fitting = fitting_now;
    if (st != FERRY_OK) ferry_model_free(f.done); /* another process failed */
    *out = st == FERRY_OK ? f.done : NULL;
    if (st == FERRY_OK && rep) *rep = f.info;
    return st;
}

bool ferry_i_skips(ferry_status st)
{
    return st != FERRY_OK && st != FERRY_ENOMEM && st != FERRY_ECANCELLED &&
           st != FERRY_EIO;
}

/* ---- the public call ---- */

typedef struct called {
    ferry_ctx *ctx;
    const ferry_task *task;
    uint64_t seed;
    bool others; /* have been called */
} called;

static void put_seed_back(void *arg)
{
    const called *c = arg;

    c->ctx->seed = c->seed;
}

static void end_call(void *arg)
{
    const called *c = arg;

    if (c->others) ferry_i_task_call_end(c->ctx, c->task);
}

static void ferry_fit_body(scope *s, void *arg)
{
    asking *a = arg;
    ferry_ctx *ctx = scope_ctx(s);
    const ferry_task *task = a->task;
    called *c = NEW(s, called, 1);
    ferry_fit_info full = {0};

    *c = (called){ctx, task, ctx->seed, false};
    scope_defer(s, put_seed_back, c);
    find_method(s, &a->n);
    /* only there have other processes a part in it */
    if (strcmp(ferry_i_ctx_engine(ctx), "mpi") == 0) {
        const char *text = scope_text(s, "fit %s", a->n.name);
        scope_defer(s, end_call, c);
        c->others = true;
        scope_check(s, ferry_i_task_call(ctx, text, task, a->n.opts));
    }
    /* A task from a file says what a method may see of the target. */
    if (task->text) {
        ferry_task *seen = NULL;
        scope_check(s, ferry_i_task_use_seed(ctx, task));
        scope_check(s, ferry_i_task_split(ctx, task, FERRY_DEPLOYED, &seen));
        scope_defer(s, free_task, seen);
        scope_check(s, ferry_i_task_bridges(ctx, task, 0, seen));
        seen->passing = true;
        task = seen;
    }
    scope_check(s, ferry_i_fit(ctx, task, a->n.how, a->n.opts, a->out, &full));
    if (!a->info) return;
    full.size = a->info->size;
    *a->info = full;
}

/* info->size is the caller's sizeof, and stays: later versions add fields at the end. A program built for a later
 * library may have more fields than we fill, none fewer. */
ferry_status ferry_fit(ferry_ctx *ctx, const ferry_task *task, const char *name,
                       const ferry_opts *opts, ferry_model **out, ferry_fit_info *info)
{
    FERRY_ARGS_OUT(ctx, out, out, task, name);

    if (info && info->size < sizeof *info)
        return ferry_i_fail(
            ctx, FERRY_EINVAL,
            "ferry_fit: info.size is %zu, expected sizeof(ferry_fit_info), %zu", info->size,
            sizeof *info);
    return scope_run(ctx, ferry_fit_body,
                     &(asking){{.name = name, .opts = opts}, task, out, info});
}
