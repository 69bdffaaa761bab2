/* Fitting: find the method, check the task against what it needs, run it, keep what is
 * needed to predict.
 * All checks run before the method does, so that a method can take its needs for granted
 * and every refusal is one sentence of the same form: who needs what, and what this task
 * has. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/ranks.h"
#include "linalg/blas.h"
#include "linalg/columns.h"
#include "methods/method.h"
#include "prepare/prepare.h"

/* ---- what a method needs ---- */

/* In the order of ferry_role. */
static const char *const role_name[] = {"source", "intermediate", "target"};

/* "source 'text' and target 'images'". New string, NULL: no memory. */
static char *describe(const ferry_task *task)
{
    ferry_text t = {0};
    const int64_t n = task->n_domains;

    if (n == 0) ferry_i_text_add(&t, "no domain");
    for (int64_t i = 0; i < n; i++)
        ferry_i_text_addf(&t, "%s%s '%s'",
                          i == 0       ? ""
                          : i == n - 1 ? " and "
                                       : ", ",
                          role_name[task->domains[i]->role], task->domains[i]->name);
    if (t.failed) ferry_i_text_free(&t);
    return t.s;
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
static ferry_status need_everywhere(ferry_ctx *ctx, const ferry_method *m,
                                    const ferry_task *task, const char *what,
                                    int64_t (*count)(const ferry_domain *), bool one)
{
    ferry_status st = FERRY_OK;

    for (int64_t i = 0; i < task->n_domains; i++) {
        const ferry_domain *d = task->domains[i];
        if (d->role == FERRY_INTERMEDIATE && !(m->needs & FERRY_NEED_INTERMEDIATE))
            continue;
        FERRY_NEED(ctx, count(d) > 0, FERRY_ENEEDS,
                   "%s needs %s in every domain; %s '%s' has none", m->name, what,
                   role_name[d->role], d->name);
        FERRY_NEED(ctx, !one || count(d) == 1, FERRY_ENEEDS,
                   "%s needs just %s in every domain; %s '%s' has %lld", m->name, what,
                   role_name[d->role], d->name, (long long)count(d));
    }
done:
    return st;
}

/* Which domains there are. The sentence lists the whole task, since a role that is
 * missing is mostly a domain that was given another one. */
static ferry_status check_roles(ferry_ctx *ctx, const ferry_method *m,
                                const ferry_task *task)
{
    ferry_status st = FERRY_OK;
    char *have = describe(task);
    bool labelled = false;
    const ferry_domain *d;

    FERRY_HAVE(ctx, have);
    FERRY_NEED(ctx,
               !(m->needs & (FERRY_NEED_SOURCE | FERRY_NEED_SOURCE_LABELS)) ||
                   ferry_i_task_count_role(task, FERRY_SOURCE) > 0,
               FERRY_ENEEDS, "%s needs a source domain; this task has %s", m->name, have);
    FERRY_NEED(ctx,
               !(m->needs & FERRY_NEED_INTERMEDIATE) ||
                   ferry_i_task_count_role(task, FERRY_INTERMEDIATE) > 0,
               FERRY_ENEEDS, "%s needs an intermediate domain; this task has %s", m->name,
               have);
    for (int64_t i = 0; (d = ferry_i_task_role(task, FERRY_SOURCE, i)); i++)
        labelled = labelled || has_labels(d);
    FERRY_NEED(ctx, !(m->needs & FERRY_NEED_SOURCE_LABELS) || labelled, FERRY_ENEEDS,
               "%s needs labels in a source domain; this task has %s without source labels",
               m->name, have);
done:
    ferry_i_free(have);
    return st;
}

/* What the target itself must have. "That it may see": in an evaluation the labels may
 * all be hidden by the split, though the file has them. */
static ferry_status check_target(ferry_ctx *ctx, const ferry_method *m,
                                 const ferry_domain *target)
{
    ferry_status st = FERRY_OK;

    FERRY_NEED(ctx, !(m->needs & FERRY_NEED_TARGET_LABELS) || has_labels(target),
               FERRY_ENEEDS,
               "%s needs some labels in the target; target '%s' has none that it may see",
               m->name, target->name);
    FERRY_NEED(
        ctx, !(m->needs & FERRY_NEED_GRAPH) || target->n_graphs > 0, FERRY_ENEEDS,
        "%s needs a graph in the target; target '%s' has none (graphs: [{name: links, edges: FILE}], or knn: 10 for one of its nearest)",
        m->name, target->name);
    FERRY_NEED(ctx, !(m->needs & FERRY_NEED_TARGET_VIEW) || target->n_views > 0,
               FERRY_ENEEDS, "%s needs a view in the target; target '%s' has none", m->name,
               target->name);
    FERRY_NEED(ctx,
               !(m->needs & FERRY_NEED_VIEW_OR_GRAPH) || target->n_views > 0 ||
                   target->n_graphs > 0,
               FERRY_ENEEDS,
               "%s needs a view or a graph in the target; target '%s' has none", m->name,
               target->name);
done:
    return st;
}

/* "svm does not run with --engine mpi; cdspp, logreg and ridge do". */
static ferry_status check_spreads(ferry_ctx *ctx, const ferry_method *m)
{
    ferry_status st = FERRY_OK;
    ferry_text those = {0};
    int64_t left = 0;

    if (m->spreads || !ferry_i_ranks_split(ctx)) return FERRY_OK;
    for (int64_t i = 0; i < ferry_i_method_count(); i++)
        left += ferry_i_method_at(i)->spreads;
    for (int64_t i = 0; i < ferry_i_method_count(); i++)
        if (ferry_i_method_at(i)->spreads)
            ferry_i_text_addf(&those, "%s%s", ferry_i_method_at(i)->name,
                              --left > 1  ? ", "
                              : left == 1 ? " and "
                                          : "");
    FERRY_HAVE(ctx, !those.failed);
    st = ferry_i_fail(ctx, FERRY_ENEEDS, "%s does not run with --engine mpi; %s do",
                      m->name, those.s);
done:
    ferry_i_text_free(&those);
    return st;
}

/* The task is resolved, options are parsed.
 * The needs that are bits first, then the method's own fits(), which may rely on them. */
static ferry_status check_fits(ferry_ctx *ctx, const ferry_method *m,
                               const ferry_task *task, const void *options)
{
    ferry_status st = FERRY_OK;
    const ferry_domain *target = NULL;
    const unsigned views = FERRY_NEED_VIEW | FERRY_NEED_ONE_VIEW;

    FERRY_NEED(ctx, m->goals & (unsigned)task->goal, FERRY_ENEEDS,
               "%s does not serve the goal %s", m->name, ferry_goal_name(task->goal));
    FERRY_TRY(check_spreads(ctx, m));
    FERRY_TRY(ferry_i_task_target(ctx, task, &target));
    FERRY_TRY(check_roles(ctx, m, task));
    if (m->needs & views)
        FERRY_TRY(need_everywhere(ctx, m, task,
                                  m->needs & FERRY_NEED_ONE_VIEW ? "one view" : "a view",
                                  views_of, m->needs & FERRY_NEED_ONE_VIEW));
    if (m->needs & FERRY_NEED_RATINGS)
        FERRY_TRY(need_everywhere(ctx, m, task, "ratings", ratings_of, false));
    FERRY_TRY(check_target(ctx, m, target));
    if (m->needs & FERRY_NEED_PATH)
        FERRY_TRY(ferry_i_prepare_fits(
            ctx, task,
            &(ferry_wants){.method = m->name,
                           .domains = FERRY_SOURCES | FERRY_BRIDGES | FERRY_THE_TARGET,
                           .layout = FERRY_PATH,
                           .taught = true}));
    if (m->fits) FERRY_TRY(m->fits(ctx, task, options));
done:
    return st;
}

/* A model without a state is made only to have the options parsed and checked the one
 * way. */
ferry_status ferry_i_fits(ferry_ctx *ctx, const ferry_task *task,
                          const ferry_method *method, const ferry_opts *opts)
{
    ferry_status st = FERRY_OK;
    ferry_model *m = NULL;
    ferry_task *seen = NULL;

    FERRY_TRY(ferry_i_task_resolved(ctx, task, &seen));
    FERRY_TRY(ferry_i_model_new(ctx, method, opts, seen->goal, NULL, &m));
    FERRY_TRY(check_fits(ctx, method, seen, m->options));
done:
    ferry_model_free(m);
    ferry_task_free(seen);
    return st;
}

/* Nothing is fitted: cheap enough to ask for every method before a run. */
ferry_status ferry_method_fits(ferry_ctx *ctx, const char *name, const ferry_task *task,
                               const ferry_opts *opts)
{
    FERRY_ARGS(ctx, name, task);

    ferry_status st = FERRY_OK;
    const ferry_method *method = NULL;

    FERRY_TRY(ferry_i_method_get(ctx, name, &method));
    FERRY_TRY(ferry_i_fits(ctx, task, method, opts));
done:
    return st;
}

/* ---- fitting ---- */

/* Mean, standard deviation and missing share of every column, for who watches a model at work.
 * In a sparse view what is not stored is 0. */
static ferry_status describe_inputs(ferry_ctx *ctx, const ferry_matrix *x, ferry_model *m)
{
    ferry_status st = FERRY_OK;
    const int64_t cols = x->cols, n = x->rows;
    int64_t first = 0, last = 0; /* this rank's rows */
    double *mean = NULL, *std = NULL, *missing = NULL, *more = NULL;

    if (cols > FERRY_INPUTS_MOST || n == 0) goto done;
    FERRY_NEW(ctx, m->inputs, 3 * cols);
    mean = m->inputs;
    std = mean + cols;
    missing = std + cols;
    ferry_i_ranks_part(ctx, n, &first, &last);
    FERRY_NEW(ctx, more, 4 * cols); /* for dense views: not 0, lowest, highest, neither */
    const ferry_columns c = {cols, mean, more + cols, more + 2 * cols, missing,
                             more, mean, std,         more + 3 * cols};
    for (int pass = 0; pass < 2; pass++) { /* sums, then squares about the mean */
        if (x->dense)
            (pass == 0 ? ferry_i_column_sums : ferry_i_column_squares)(
                &c, last - first, cols, x->dense + first * cols);
        for (int64_t j = 0; x->dense && j < cols; j++) {
            if (pass == 0) /* from how many are not 0 to how many are */
                more[j] = (double)(last - first) - missing[j] - more[j];
            else /* the squares are of what is not 0 */
                std[j] += more[j] * mean[j] * mean[j];
        }
        for (int64_t i = first; !x->dense && i < last; i++)
            for (int64_t e = x->start[i]; e < x->start[i + 1]; e++) {
                const int64_t j = x->index[e];
                const double v = x->value[e];
                if (isnan(v))
                    missing[j] += pass == 0;
                else if (pass == 0)
                    mean[j] += v;
                else /* less than for a 0, which are all counted below */
                    std[j] += (v - mean[j]) * (v - mean[j]) - mean[j] * mean[j];
            }
        FERRY_TRY(ferry_i_ranks_sum(ctx, cols, pass == 0 ? mean : std));
        if (pass == 0) FERRY_TRY(ferry_i_ranks_sum(ctx, cols, missing));
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
done:
    ferry_i_free(more);
    return st;
}

/* How the target's views look, without their rows; those of the sources where they can be
 * embedded too. */
static ferry_status keep_schema(ferry_ctx *ctx, const ferry_task *task, ferry_model *m)
{
    ferry_status st = FERRY_OK;
    const ferry_domain *target = NULL, *s = NULL;
    char *name = NULL;

    FERRY_TRY(ferry_i_task_target(ctx, task, &target));
    for (int64_t i = 0; i < target->n_views; i++) {
        const ferry_view *v = target->views[i];
        FERRY_TRY(ferry_i_model_add_view(ctx, m, v->name, v->x->cols, v->features, v->read,
                                         v->idf));
    }
    if (target->n_views == 1) FERRY_TRY(describe_inputs(ctx, target->views[0]->x, m));
    if (!m->method->embeds_sources || m->goal != FERRY_EMBED) goto done;
    for (int64_t i = 0; (s = ferry_i_task_role(task, FERRY_SOURCE, i)); i++) {
        const ferry_view *v = s->views[0];
        ferry_i_free(name);
        FERRY_HAVE(ctx, name = ferry_i_sprintf("%s.%s", s->name, v->name));
        FERRY_TRY(
            ferry_i_model_add_view(ctx, m, name, v->x->cols, v->features, v->read, v->idf));
    }
done:
    ferry_i_free(name);
    return st;
}

/* Run the method with diagnostics going to a fresh object, which becomes the model's. */
static ferry_status run(ferry_ctx *ctx, const ferry_task *task, ferry_model *m,
                        ferry_fit_info *r)
{
    ferry_status st = FERRY_OK;
    /* A method may fit others inside its own fit; each has its own object, and what the
     * inner one leaves does not get among the outer one's. */
    json_t *outer = ctx->diag, *diag = json_object();
    const double begin = ferry_i_clock();
    double sent = ferry_i_ranks_split(ctx) ? -(double)ctx->ranks->sent : 0;

    FERRY_HAVE(ctx, diag);
    ctx->diag = diag;
    st = m->method->fit(ctx, task, m->options, &m->state, r);
    if (st == FERRY_OK && ferry_i_ranks_split(ctx)) {
        sent += (double)ctx->ranks->sent;
        st = ferry_i_ranks_sum(ctx, 1, &sent);
        ferry_i_diag_real(ctx, "mpi_ranks", (double)ctx->ranks->size);
        ferry_i_diag_real(ctx, "bytes_sent", sent);
    }
    ctx->diag = outer;
    r->seconds = ferry_i_clock() - begin;
    if (st != FERRY_OK) goto done;
    FERRY_TRY(ferry_i_model_set_diagnostics(ctx, m, diag));
done:
    json_decref(diag);
    return st;
}

/* Resolve, check, keep what predicting needs, run. The task that the caller has is not
 * changed: what is resolved is a copy that shares the data. */
ferry_status ferry_i_fit(ferry_ctx *ctx, const ferry_task *task, const ferry_method *method,
                         const ferry_opts *opts, ferry_model **out, ferry_fit_info *rep)
{
    ferry_status st = FERRY_OK;
    ferry_task *seen = NULL;
    ferry_model *m = NULL;
    ferry_fit_info r = {.objective = NAN};

    *out = NULL;
    FERRY_TRY(ferry_i_blas_ready(ctx));
    FERRY_TRY(ferry_i_task_resolved(ctx, task, &seen));
    FERRY_TRY(ferry_i_model_new(ctx, method, opts, seen->goal,
                                ferry_i_goal_named(seen->goal) ? seen->names : NULL, &m));
    FERRY_TRY(check_fits(ctx, method, seen, m->options));
    FERRY_TRY(keep_schema(ctx, seen, m));
    FERRY_TRY(run(ctx, seen, m, &r));
    if (rep) *rep = r;
done:
    st = ferry_i_ranks_agree(ctx, st);
    if (st == FERRY_OK) FERRY_MOVE(*out, m);
    ferry_model_free(m);
    ferry_task_free(seen);
    return st;
}

/* info->size is the caller's sizeof, and stays: later versions add fields at the end. */
ferry_status ferry_fit(ferry_ctx *ctx, const ferry_task *task, const char *method,
                       const ferry_opts *opts, ferry_model **out, ferry_fit_info *info)
{
    FERRY_ARGS_OUT(ctx, out, out, task, method);

    ferry_status st = FERRY_OK;
    const ferry_method *found = NULL;
    const size_t size = info ? info->size : 0;
    ferry_fit_info full = {0};
    const uint64_t seed = ctx->seed;
    ferry_task *seen = NULL;
    /* only there have other ranks a part in it */
    const bool spread = strcmp(ferry_ctx_engine(ctx), "mpi") == 0;
    char *called = NULL;

    /* A program built for a later library may have more fields than we fill, none fewer. */
    FERRY_NEED(ctx, !info || size >= sizeof full, FERRY_EINVAL,
               "ferry_fit: info.size is %zu, expected sizeof(ferry_fit_info), %zu", size,
               sizeof full);
    FERRY_TRY(ferry_i_method_get(ctx, method, &found));
    if (spread) {
        called = ferry_i_sprintf("fit %s", method);
        FERRY_HAVE(ctx, called);
        FERRY_TRY(ferry_i_task_call(ctx, called, task, opts));
    }
    /* A task from a file says what a method may see of the target. */
    if (task->text) {
        FERRY_TRY(ferry_task_seed(ctx, task, &ctx->seed));
        FERRY_TRY(ferry_task_visible(ctx, task, 0, &seen));
        seen->passing = true;
    }
    FERRY_TRY(ferry_i_fit(ctx, seen ? seen : task, found, opts, out, &full));
    full.size = size;
    if (info) *info = full;
done:
    if (called) ferry_i_task_call_end(ctx, task);
    ferry_i_free(called);
    ctx->seed = seed;
    ferry_task_free(seen);
    return st;
}
