/* Self-training: learn from the labels, label the instances that the model is surest of (in
 * the proportions of the classes among the labels), learn again. What was labelled once
 * stays: a wrong label is never taken back, which is what a method that uses instances
 * without labels has to do better. */
#include "methods/baselines/self_training.h"

#include <math.h>
#include <stdlib.h>

#include "methods/shared/base.h"

/* An instance, and by how much its class leads. */
typedef struct sure {
    double margin;
    int64_t instance;
} sure;

/* By margin; equal ones by place, so that the order is always the same. */
static int surest_first(const void *a, const void *b)
{
    const sure *x = a, *y = b;

    if (x->margin != y->margin) return x->margin > y->margin ? -1 : 1;
    return x->instance < y->instance ? -1 : x->instance > y->instance;
}

/* An instance without features is answered by the prior: no ground for a label. */
static bool has_view(const ferry_domain *d, int64_t x)
{
    for (int64_t i = 0; i < d->n_views; i++)
        if (d->views[i]->row_of[x] >= 0) return true;
    return false;
}

/* How far the largest score is above the next. */
static double margin(const ferry_prediction *p, int64_t x)
{
    double next = -INFINITY;
    const double *s = p->score + x * p->k;

    for (int64_t j = 0; j < p->k; j++)
        if (j != p->cls[x] && s[j] > next) next = s[j];
    return isfinite(next) ? s[p->cls[x]] - next : 0;
}

/* Give labels to quota[c] instances that are predicted to be c. */
static ferry_status add_labels(ferry_ctx *ctx, const ferry_domain *d,
                               const ferry_prediction *p, const int64_t *quota,
                               ferry_labels *labels, int64_t *added)
{
    ferry_status st = FERRY_OK;
    sure *list = ferry_i_calloc(p->n, sizeof *list);

    *added = 0;
    FERRY_HAVE(ctx, list);
    for (int64_t c = 0; c < p->k; c++) {
        int64_t n = 0;
        for (int64_t x = 0; x < p->n; x++)
            if (p->cls[x] == c && labels->cls[x] < 0 && has_view(d, x))
                list[n++] = (sure){margin(p, x), x};
        qsort(list, (size_t)n, sizeof *list, surest_first);
        for (int64_t i = 0; i < n && i < quota[c]; i++)
            labels->cls[list[i].instance] = (int32_t)c;
        *added += n < quota[c] ? n : quota[c];
    }
done:
    ferry_i_free(list);
    return st;
}

/* Labels of each class to give in every round. */
static ferry_status quotas(ferry_ctx *ctx, const ferry_labels *l, int64_t k, double share,
                           int64_t **out)
{
    int64_t *quota = ferry_i_calloc(k, sizeof *quota), known = 0;

    *out = quota;
    if (!quota) return ferry_i_nomem(ctx);
    for (int64_t x = 0; x < l->n; x++)
        if (l->cls[x] >= 0) {
            quota[l->cls[x]]++;
            known++;
        }
    for (int64_t c = 0; known > 0 && c < k; c++)
        quota[c] = (int64_t)ceil(share * (double)(l->n - known) * (double)quota[c] /
                                 (double)known);
    return FERRY_OK;
}

/* The task with other labels of the target; everything else is shared. */
typedef struct relabelled {
    ferry_task task;
    ferry_domain *target;
} relabelled;

static void relabelled_clear(relabelled *r)
{
    ferry_i_free(r->task.domains);
    ferry_domain_free(r->target);
    r->task.domains = NULL;
    r->target = NULL;
}

/* A task is read-only and shared by all methods: only domains and labels are copied. */
static ferry_status relabel(ferry_ctx *ctx, const ferry_task *task, const ferry_domain *d,
                            const ferry_labels *labels, relabelled *r)
{
    ferry_labels *copy = NULL;

    *r = (relabelled){.task = *task};
    r->task.domains = ferry_i_calloc(task->n_domains, sizeof(ferry_domain *));
    if (!r->task.domains) return ferry_i_nomem(ctx);
    FERRY_PASS(ferry_i_labels_copy(ctx, labels, &copy));
    FERRY_PASS(ferry_i_domain_with_labels(ctx, d, copy, &r->target));
    for (int64_t i = 0; i < task->n_domains; i++)
        r->task.domains[i] = task->domains[i] == d ? r->target : task->domains[i];
    return FERRY_OK;
}

/* Fit, predict, add labels; the last fit has all of them. Stops when no instance is left. */
ferry_status ferry_i_self_train(ferry_ctx *ctx, const ferry_method *learner,
                                const ferry_task *task, const void *options,
                                const self_training *o, void **state, ferry_fit_info *rep)
{
    ferry_status st = FERRY_OK;
    const ferry_domain *d = NULL;
    ferry_labels *labels = NULL;
    relabelled now = {.target = NULL};
    int64_t *quota = NULL, added = 1, all = 0;
    void *model = NULL;
    bool finish = false;

    *state = NULL;
    FERRY_TRY(ferry_i_task_target(ctx, task, &d));
    FERRY_TRY(ferry_i_labels_copy(ctx, d->labels, &labels));
    FERRY_TRY(quotas(ctx, labels, ferry_i_ids_count(task->names), o->share, &quota));
    for (int64_t t = 0; t <= o->rounds && added > 0 && !finish; t++) {
        ferry_prediction *p = NULL;
        ferry_fit_info r = {.objective = NAN};
        learner->free(model);
        model = NULL;
        relabelled_clear(&now);
        FERRY_TRY(relabel(ctx, task, d, labels, &now));
        FERRY_TRY(learner->fit(ctx, &now.task, options, &model, &r));
        rep->iters++;
        FERRY_TRY(
            ferry_i_progress(ctx, "self-training", t + 1, o->rounds + 1, NAN, &finish));
        if (t == o->rounds || finish) break;
        st = ferry_i_prediction_new(ctx, task->goal, task->names, d, &p);
        if (st == FERRY_OK) st = learner->predict(ctx, model, d, p);
        if (st == FERRY_OK) st = add_labels(ctx, d, p, quota, labels, &added);
        ferry_prediction_free(p);
        FERRY_TRY(st);
        all += added;
    }
    ferry_i_diag_real(ctx, "added", (double)all);
    FERRY_MOVE(*state, model);
done:
    learner->free(model);
    relabelled_clear(&now);
    ferry_i_labels_free(labels);
    ferry_i_free(quota);
    return st;
}

ferry_status ferry_i_self_training_fits(ferry_ctx *ctx, const ferry_task *task,
                                        const void *options)
{
    (void)options;
    return ferry_i_base_fits(
        ctx, task, &(base_wants){.method = "self-training", .train = TRAIN_TARGET});
}
