/* Which domains a baseline learns from, and how their features line up with the
 * target's. */
#include <string.h>

#include "methods/baselines/base.h"

const char *ferry_i_train_name(ferry_train train)
{
    static const char *const names[] = {"auto", "source", "target", "both"};

    return names[train];
}

static bool has_labels(const ferry_domain *d)
{
    for (int64_t i = 0; d->labels && i < d->labels->n; i++)
        if (ferry_i_labels_has(d->labels, i)) return true;
    return false;
}

static int64_t count_features(const ferry_domain *d)
{
    int64_t n = 0;

    for (int64_t v = 0; v < d->n_views; v++)
        n += d->views[v]->x->cols;
    return n;
}

/* The view of d that stands for the target's view v: of the same name, or the only one
 * where the target has only one as well. */
static const ferry_view *counterpart(const ferry_domain *d, const ferry_domain *target,
                                     int64_t v)
{
    if (d->n_views == 1 && target->n_views == 1) return d->views[0];
    return ferry_i_domain_view(d, target->views[v]->name);
}

static ferry_status part_init(ferry_ctx *ctx, const plan *p, const ferry_domain *d,
                              plan_part *part)
{
    ferry_status st = FERRY_OK;
    const int64_t n = p->target->n_views;

    part->domain = d;
    FERRY_NEW(ctx, part->view, n);
    FERRY_NEW(ctx, part->map, n);
done:
    return st;
}

static void part_clear(plan_part *part, int64_t n_views)
{
    for (int64_t v = 0; part->map && v < n_views; v++)
        ferry_i_free(part->map[v]);
    ferry_i_free(part->map);
    ferry_i_free(part->view);
    *part = (plan_part){0};
}

/* Line the source's views up with the target's; *shared: features that both have. *unnamed:
 * some have no names, and their counts differ. */
static ferry_status align(ferry_ctx *ctx, const plan *p, plan_part *part, int64_t *shared,
                          bool *unnamed)
{
    ferry_status st = FERRY_OK;

    *shared = 0;
    for (int64_t v = 0; v < p->target->n_views; v++) {
        const ferry_view *view = counterpart(part->domain, p->target, v);
        int64_t n = 0;
        if (!view) continue;
        st = ferry_i_view_align(ctx, p->target->views[v], view, &part->map[v], &n);
        if (st == FERRY_ENEEDS) { /* nothing in common: another view may have */
            *unnamed = !view->features || !p->target->views[v]->features;
            st = FERRY_OK;
            continue;
        }
        FERRY_TRY(st);
        part->view[v] = view;
        *shared += n;
    }
done:
    return st;
}

static ferry_status add_target(ferry_ctx *ctx, plan *p)
{
    ferry_status st = FERRY_OK;
    plan_part *part = &p->part[p->n_parts];

    p->n_parts++;
    FERRY_TRY(part_init(ctx, p, p->target, part));
    for (int64_t v = 0; v < p->target->n_views; v++)
        part->view[v] = p->target->views[v];
done:
    return st;
}

/* Add the sources with labels that share features with the target. */
static ferry_status add_sources(ferry_ctx *ctx, plan *p)
{
    ferry_status st = FERRY_OK;
    const ferry_domain *d = NULL, *apart = NULL;
    int64_t labelled = 0, fit = 0, shared = 0;
    const long long have = count_features(p->target);
    bool unnamed = false;

    for (int64_t i = 0; (d = ferry_i_task_role(p->task, FERRY_SOURCE, i)); i++) {
        plan_part *part = &p->part[p->n_parts];
        if (!has_labels(d)) continue;
        labelled++;
        p->n_parts++;
        FERRY_TRY(part_init(ctx, p, d, part));
        if (p->features) FERRY_TRY(align(ctx, p, part, &shared, &unnamed));
        if (!p->features || shared > 0) {
            fit++;
            continue;
        }
        ferry_i_log(ctx, FERRY_INFO, "%s: source '%s' shares no features with target '%s'",
                    p->method, d->name, p->target->name);
        apart = d;
        part_clear(part, p->target->n_views);
        p->n_parts--;
    }
    FERRY_NEED(ctx, labelled > 0, FERRY_ENEEDS, "%s train=%s needs a source with labels",
               p->method, ferry_i_train_name(p->train));
    FERRY_NEED(ctx, fit > 0, FERRY_ENEEDS,
               "%s train=%s needs features that source '%s' (%lld) and target '%s' (%lld) "
               "share%s",
               p->method, ferry_i_train_name(p->train), apart->name,
               (long long)count_features(apart), p->target->name, have,
               unnamed ? "; without names the counts must be equal (for svmlight files set "
                         "features: to the number)"
                       : "");
done:
    return st;
}

ferry_status ferry_i_plan_make(ferry_ctx *ctx, const char *method, const ferry_task *task,
                               ferry_train train, bool features, plan *p)
{
    ferry_status st = FERRY_OK;
    bool seen = false;

    *p = (plan){.method = method, .task = task, .features = features};
    FERRY_TRY(ferry_i_task_target(ctx, task, &p->target));
    FERRY_NEED(ctx, !features || p->target->n_views > 0, FERRY_ENEEDS,
               "%s needs a view of target '%s'", method, p->target->name);
    seen = has_labels(p->target);
    p->train = train != TRAIN_AUTO ? train : seen ? TRAIN_TARGET : TRAIN_SOURCE;
    FERRY_NEW(ctx, p->part, ferry_i_task_count_role(task, FERRY_SOURCE) + 1);
    FERRY_NEED(ctx, seen || p->train == TRAIN_SOURCE, FERRY_ENEEDS,
               "%s train=%s needs labels of target '%s' that may be seen", method,
               ferry_i_train_name(p->train), p->target->name);
    if (p->train != TRAIN_SOURCE) FERRY_TRY(add_target(ctx, p));
    if (p->train != TRAIN_TARGET) FERRY_TRY(add_sources(ctx, p));
done:
    return st;
}

void ferry_i_plan_clear(plan *p)
{
    for (int64_t i = 0; i < p->n_parts; i++)
        part_clear(&p->part[i], p->target->n_views);
    ferry_i_free(p->part);
    *p = (plan){0};
}
