/* What can be told of a method without target labels: reverse validation, agreement over seeds, and
 * the guard's gate.
 *
 * Reverse validation: the target with its predicted labels becomes the source, the first source the
 * target, and the labels that are known there should come back. It says how consistent a method is, not
 * how right. The gate asks more: does the real source come back better than sources with shuffled
 * labels? */
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "core/pool.h"
#include "eval/guard.h"

enum { SEEDS = 3, SHUFFLED = FERRY_GUARD_SHUFFLED };

/* ---- one fit ---- */

/* Fit and predict; *p stays NULL when the method cannot. */
ferry_status ferry_i_guard_predict(ferry_ctx *ctx, const ferry_task *task,
                                   const ferry_entry *e, ferry_prediction **p)
{
    ferry_status st = FERRY_OK;
    ferry_model *model = NULL;
    const ferry_domain *target = NULL;

    *p = NULL;
    FERRY_TRY(ferry_i_task_target(ctx, task, &target));
    st = ferry_i_fit(ctx, task, e->how, e->opts, &model, NULL);
    if (st == FERRY_OK) st = ferry_predict(ctx, model, target, p);
    if (st == FERRY_ENEEDS || st == FERRY_ENUMERIC) st = FERRY_OK;
done:
    ferry_model_free(model);
    return st;
}

/* task with domain `at` (stolen) in place of its own. */
ferry_status ferry_i_guard_with(ferry_ctx *ctx, const ferry_task *task, int64_t at,
                                ferry_domain *d, ferry_task **out)
{
    ferry_status st = FERRY_OK;

    FERRY_TRY(ferry_i_task_resolved(ctx, task, out));
    ferry_domain_free((*out)->domains[at]);
    (*out)->domains[at] = d;
    d = NULL;
done:
    ferry_domain_free(d);
    return st;
}

int64_t ferry_i_guard_target(const ferry_task *task)
{
    int64_t i = 0;

    while (task->domains[i]->role != FERRY_TARGET)
        i++;
    return i;
}

/* ---- without labels ---- */

/* Labels of the target as predicted, in the task's numbering; NULL when there are none. */
static ferry_status predicted_labels(ferry_ctx *ctx, const ferry_task *task,
                                     const ferry_prediction *p, ferry_labels **out)
{
    ferry_status st = FERRY_OK;
    ferry_labels *l = NULL;

    *out = NULL;
    if (!p->cls && !p->value) return FERRY_OK;
    FERRY_TRY(ferry_i_labels_new(ctx, p->cls ? FERRY_LABEL_CLASS : FERRY_LABEL_NUMBER, p->n,
                                 p->cls ? task->names : NULL, &l));
    for (int64_t i = 0; i < p->n; i++) {
        if (p->cls && p->cls[i] >= 0)
            l->cls[i] = (int32_t)ferry_i_ids_find(task->names, p->names[p->cls[i]]);
        if (p->value) l->num[i] = p->value[i];
    }
    *out = l;
done:
    return st;
}

/* Share of the first source's labels (or minus the mean squared error) that come back. */
static ferry_status come_back(const ferry_domain *source, const ferry_prediction *p,
                              const ferry_ids *names, double *score)
{
    const ferry_labels *l = source->labels;
    double sum = 0, n = 0;

    for (int64_t i = 0; i < p->n; i++) {
        if (!ferry_i_labels_has(l, i)) continue;
        n++;
        if (p->cls)
            sum +=
                p->cls[i] >= 0 && ferry_i_ids_find(names, p->names[p->cls[i]]) == l->cls[i];
        else
            sum -= (p->value[i] - l->num[i]) * (p->value[i] - l->num[i]);
    }
    *score = n > 0 ? sum / n : NAN;
    return FERRY_OK;
}

/* Reverse validation: NaN when the method cannot be turned round. */
static ferry_status reverse(ferry_ctx *ctx, const ferry_task *split, const ferry_entry *e,
                            const ferry_prediction *first, double *score)
{
    ferry_status st = FERRY_OK;
    const int64_t place = ferry_i_guard_target(split);
    const ferry_domain *target = split->domains[place];
    const ferry_domain *source = ferry_i_task_role(split, FERRY_SOURCE, 0);
    ferry_task *turned = NULL;
    ferry_domain *from = NULL, *to = NULL;
    ferry_labels *labels = NULL, *none = NULL;
    ferry_prediction *p = NULL;

    *score = NAN;
    if (!source || !source->labels) return FERRY_OK;
    FERRY_TRY(predicted_labels(ctx, split, first, &labels));
    if (!labels) goto done;
    st = ferry_i_domain_with_labels(ctx, target, labels, &from);
    labels = NULL; /* taken, also when the call fails */
    FERRY_TRY(st);
    from->role = FERRY_SOURCE;
    FERRY_TRY(ferry_i_labels_new(ctx, source->labels->kind, source->labels->n,
                                 source->labels->names, &none));
    st = ferry_i_domain_with_labels(ctx, source, none, &to);
    none = NULL;
    FERRY_TRY(st);
    to->role = FERRY_TARGET;
    FERRY_TRY(ferry_task_new(ctx, split->name, split->goal, &turned));
    for (int64_t i = 0; i < split->n_domains; i++) {
        ferry_domain *d = split->domains[i];
        FERRY_TRY(ferry_task_add_domain(ctx, turned,
                                        ferry_i_domain_ref(d == target   ? from
                                                           : d == source ? to
                                                                         : d)));
    }
    FERRY_TRY(ferry_i_guard_predict(ctx, turned, e, &p));
    if (p && (p->cls || p->value)) FERRY_TRY(come_back(source, p, split->names, score));
done:
    ferry_prediction_free(p);
    ferry_task_free(turned);
    ferry_domain_free(from);
    ferry_domain_free(to);
    ferry_i_labels_free(labels);
    return st;
}

/* Share of instances whose class two predictions agree on. */
static double agreement(const ferry_prediction *a, const ferry_prediction *b)
{
    int64_t same = 0;

    if (!a->cls || !b->cls || a->n != b->n || a->n == 0) return NAN;
    for (int64_t i = 0; i < a->n; i++)
        same += a->cls[i] == b->cls[i];
    return (double)same / (double)a->n;
}

/* Larger is better. Reverse validation where it works, plus a tenth of the agreement over
 * seeds, which tells apart what comes back equally well; minus 1 where it does not work. */
ferry_status ferry_i_guard_label_free(ferry_ctx *ctx, const ferry_results *rs,
                                      const ferry_task *split, double *score)
{
    ferry_status st = FERRY_OK;
    ferry_prediction *p = NULL, *other = NULL;
    bool finish = false;

    for (int64_t i = 0; i < rs->n; i++) {
        const ferry_entry *e = &rs->result[i];
        double back = NAN, sum = 0;
        score[i] = NAN;
        if (e->pub.reason || e->pub.kind == FERRY_KIND_CONTROL) continue;
        FERRY_TRY(ferry_i_progress(ctx, "guard", i, rs->n, NAN, &finish));
        FERRY_TRY(ferry_i_guard_predict(ctx, split, e, &p));
        if (!p) continue;
        FERRY_TRY(reverse(ctx, split, e, p, &back));
        for (int s = 1; s < SEEDS; s++) {
            ferry_ctx reseeded = ferry_i_child(ctx);
            reseeded.seed += (uint64_t)s;
            FERRY_TRY(ferry_i_join(ctx, &reseeded,
                                   ferry_i_guard_predict(&reseeded, split, e, &other)));
            const double same = other ? agreement(p, other) : 0;
            sum += isnan(same) ? 0 : same / (SEEDS - 1);
            ferry_prediction_free(other);
            other = NULL;
        }
        score[i] = (isnan(back) ? -1 : back) + 0.1 * sum;
        ferry_prediction_free(p);
        p = NULL;
    }
done:
    ferry_prediction_free(p);
    ferry_prediction_free(other);
    return st;
}

/* ---- the gate ---- */

typedef struct gate {
    const ferry_results *rs;
    const ferry_task *task; /* resolved, no target label to be seen */
    double best[SHUFFLED + 1];
} gate;

/* World 0 is the real one: the best reverse validation of the path methods. */
static ferry_status try_world(ferry_ctx *ctx, void *arg, int64_t i)
{
    gate *g = arg;
    ferry_status st = FERRY_OK;
    ferry_task *made = NULL, *world = NULL;
    ferry_prediction *p = NULL;

    g->best[i] = NAN;
    if (i > 0) { /* resolved: turning it round needs the numbering of classes */
        FERRY_TRY(ferry_i_task_control(ctx, g->task, FERRY_CONTROL_LABELS, i - 1, &made));
        FERRY_TRY(ferry_i_task_resolved(ctx, made, &world));
    }
    for (int64_t m = 0; m < g->rs->n; m++) {
        const ferry_entry *e = &g->rs->result[m];
        double back = NAN;
        if (e->pub.reason || !ferry_i_guard_path(e)) continue;
        FERRY_TRY(ferry_i_guard_predict(ctx, i > 0 ? world : g->task, e, &p));
        if (!p) continue;
        FERRY_TRY(reverse(ctx, i > 0 ? world : g->task, e, p, &back));
        if (!(back <= g->best[i])) g->best[i] = isnan(back) ? g->best[i] : back;
        ferry_prediction_free(p);
        p = NULL;
    }
done:
    ferry_prediction_free(p);
    ferry_task_free(world);
    ferry_task_free(made);
    return st;
}

static ferry_status carry_best(ferry_ctx *ctx, void *arg, int64_t i, ferry_parcel *p)
{
    gate *g = arg;

    (void)ctx;
    FERRY_CARRY(p, g->best[i]);
    return FERRY_OK;
}

/* The target without any label. */
static ferry_status hide_all(ferry_ctx *ctx, const ferry_task *task, ferry_task **out)
{
    ferry_status st = FERRY_OK;
    ferry_task *resolved = NULL;
    ferry_labels *none = NULL;
    ferry_domain *bare = NULL;

    FERRY_TRY(ferry_i_task_resolved(ctx, task, &resolved));
    const int64_t at = ferry_i_guard_target(resolved);
    const ferry_domain *d = resolved->domains[at];
    if (d->labels) {
        FERRY_TRY(ferry_i_labels_new(ctx, d->labels->kind, d->labels->n, d->labels->names,
                                     &none));
        st = ferry_i_domain_with_labels(ctx, d, none, &bare);
        none = NULL;
        FERRY_TRY(st);
        ferry_domain_free(resolved->domains[at]);
        resolved->domains[at] = bare;
    }
    FERRY_MOVE(*out, resolved);
done:
    ferry_task_free(resolved);
    return st;
}

ferry_status ferry_i_guard_gate(ferry_ctx *ctx, const ferry_results *rs,
                                const ferry_task *task, bool *open)
{
    ferry_status st = FERRY_OK;
    gate g = {.rs = rs};
    ferry_task *bare = NULL;
    bool any = false, finish = false;

    *open = false;
    for (int64_t m = 0; m < rs->n; m++)
        any = any || (!rs->result[m].pub.reason && ferry_i_guard_path(&rs->result[m]));
    if (!any || !ferry_i_task_has_control(task, FERRY_CONTROL_LABELS)) goto done;
    FERRY_TRY(hide_all(ctx, task, &bare));
    g.task = bare;
    FERRY_TRY(ferry_i_pool_run(
        ctx,
        &(ferry_jobs){.n = SHUFFLED + 1, .run = try_world, .arg = &g, .carry = carry_best},
        &finish));
    *open = !finish && isfinite(g.best[0]);
    for (int64_t i = 1; i <= SHUFFLED; i++)
        *open = *open && !(g.best[i] >= g.best[0]);
done:
    ferry_task_free(bare);
    return st;
}
