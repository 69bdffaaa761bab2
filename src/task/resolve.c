/* Resolving a task: the labels of all its domains become of the goal's kind and index one
 * list of names. */
#include <string.h>

#include "data/lines.h"
#include "task/task.h"

/* The kind of label that a goal is about; false: none. */
static bool kind_of(ferry_goal goal, ferry_label_kind *kind)
{
    *kind = FERRY_LABEL_CLASS;
    if (goal == FERRY_REGRESS) *kind = FERRY_LABEL_NUMBER;
    if (goal == FERRY_MULTILABEL) *kind = FERRY_LABEL_SET;
    return goal != FERRY_RATE;
}

/* ---- names ---- */

/* Add the classes that occur, or all labels of label sets. */
static ferry_status add_names(ferry_ctx *ctx, const ferry_labels *l, ferry_ids *found)
{
    ferry_status st = FERRY_OK;

    if (l->kind == FERRY_LABEL_CLASS)
        for (int64_t i = 0; i < l->n; i++)
            FERRY_HAVE(ctx, l->cls[i] < 0 ||
                                ferry_i_ids_add(found, ferry_i_ids_at(l->names, l->cls[i]),
                                                NULL) >= 0);
    if (l->kind == FERRY_LABEL_SET)
        for (int64_t k = 0; k < ferry_i_labels_m(l); k++)
            FERRY_HAVE(ctx, ferry_i_ids_add(found, ferry_i_ids_at(l->names, k), NULL) >= 0);
done:
    return st;
}

/* Of the labels found keep those that every domain with labels has, and say so once. */
static ferry_status keep_shared(ferry_ctx *ctx, int64_t n, ferry_labels *const *labels,
                                ferry_ids **found)
{
    ferry_status st = FERRY_OK;
    ferry_ids *shared = ferry_i_ids_new();
    const int64_t all = ferry_i_ids_count(*found);

    FERRY_HAVE(ctx, shared);
    for (int64_t k = 0; k < all; k++) {
        const char *name = ferry_i_ids_at(*found, k);
        bool everywhere = true;
        for (int64_t i = 0; i < n; i++)
            if (labels[i] && ferry_i_ids_find(labels[i]->names, name) < 0)
                everywhere = false;
        FERRY_HAVE(ctx, !everywhere || ferry_i_ids_add(shared, name, NULL) >= 0);
    }
    FERRY_NEED(ctx, all == 0 || ferry_i_ids_count(shared) > 0, FERRY_EDATA,
               "goal multilabel: none of the %lld labels is known to all domains",
               (long long)all);
    if (ferry_i_ids_count(shared) < all)
        ferry_i_log(ctx, FERRY_WARN,
                    "goal multilabel: %lld of %lld labels are known to all domains and are "
                    "used",
                    (long long)ferry_i_ids_count(shared), (long long)all);
    ferry_i_ids_free(*found);
    FERRY_MOVE(*found, shared);
done:
    ferry_i_ids_free(shared);
    return st;
}

/* ---- labels ---- */

/* Labels as the goal wants them: numbers as classes, classes as sets of one, and so on,
 * where that loses nothing. For embeddings labels are only a yardstick: those that do not
 * fit are left out with a warning. */
ferry_status ferry_i_task_labels(ferry_ctx *ctx, ferry_goal goal, const ferry_domain *d,
                                 ferry_labels **out)
{
    ferry_status st = FERRY_OK;
    ferry_label_kind kind;

    *out = NULL;
    if (!d->labels || !kind_of(goal, &kind)) return FERRY_OK;
    st = ferry_i_labels_as(ctx, d->labels, kind, out);
    if (st == FERRY_EDATA && goal == FERRY_EMBED) { /* labels only score an embedding */
        ferry_i_log(ctx, FERRY_WARN, "domain '%s': %s; its labels are left out", d->name,
                    ferry_message(ctx));
        return FERRY_OK;
    }
    return st == FERRY_OK ? st
                          : ferry_i_prefix(ctx, st, "goal %s: domain '%s'",
                                           ferry_goal_name(goal), d->name);
}

/* Whether d's labels need no change. */
static bool is_resolved(const ferry_domain *d, ferry_goal goal, const ferry_ids *names)
{
    ferry_label_kind kind;

    if (!kind_of(goal, &kind)) return !d->labels;
    if (!d->labels) return true;
    if (d->labels->kind != kind || ferry_i_labels_m(d->labels) != ferry_i_ids_count(names))
        return false;
    for (int64_t k = 0; k < ferry_i_ids_count(names); k++)
        if (strcmp(ferry_i_ids_at(names, k), ferry_i_ids_at(d->labels->names, k)) != 0)
            return false;
    return true;
}

/* The domains with their new labels (which are taken), in place of the old ones. */
static ferry_status exchange(ferry_ctx *ctx, ferry_task *t, ferry_labels **labels,
                             const ferry_ids *names)
{
    ferry_status st = FERRY_OK;
    ferry_domain **now = ferry_i_calloc(t->n_domains, sizeof *now);

    FERRY_HAVE(ctx, now);
    for (int64_t i = 0; i < t->n_domains; i++) {
        if (is_resolved(t->domains[i], t->goal, names)) {
            now[i] = ferry_i_domain_ref(t->domains[i]);
            continue;
        }
        /* labels that are not shared are dropped; a class cannot be */
        if (labels[i])
            FERRY_TRY(
                ferry_i_labels_rename(ctx, labels[i], names, t->goal == FERRY_MULTILABEL));
        ferry_labels *l = labels[i];
        labels[i] = NULL;
        FERRY_TRY(ferry_i_domain_with_labels(ctx, t->domains[i], l, &now[i]));
    }
    for (int64_t i = 0; i < t->n_domains; i++) {
        ferry_domain *old = t->domains[i];
        t->domains[i] = now[i];
        now[i] = old;
    }
done:
    for (int64_t i = 0; now && i < t->n_domains; i++)
        ferry_domain_free(now[i]);
    ferry_i_free(now);
    return st;
}

/* First all names, then one order, then all labels by that order. In place, but the old
 * domains stay until every new one was made: a failure leaves the task as it was. */
ferry_status ferry_i_task_resolve(ferry_ctx *ctx, ferry_task *t)
{
    ferry_status st = FERRY_OK;
    ferry_labels **labels = ferry_i_calloc(t->n_domains, sizeof *labels);
    ferry_ids *found = ferry_i_ids_new(), *names = NULL;
    int32_t *order = NULL;

    FERRY_HAVE(ctx, labels && found);
    for (int64_t i = 0; i < t->n_domains; i++) {
        FERRY_TRY(ferry_i_task_labels(ctx, t->goal, t->domains[i], &labels[i]));
        if (labels[i]) FERRY_TRY(add_names(ctx, labels[i], found));
    }
    if (t->goal == FERRY_MULTILABEL)
        FERRY_TRY(keep_shared(ctx, t->n_domains, labels, &found));
    FERRY_TRY(ferry_i_names_sorted(ctx, found, &names, &order));
    FERRY_TRY(exchange(ctx, t, labels, names));
    ferry_i_ids_free(t->names);
    t->names = NULL;
    if (t->goal != FERRY_REGRESS && t->goal != FERRY_RATE) {
        FERRY_MOVE(t->names, names);
    }
done:
    for (int64_t i = 0; labels && i < t->n_domains; i++)
        ferry_i_labels_free(labels[i]);
    FERRY_FREE(labels, order);
    ferry_i_ids_free(found);
    ferry_i_ids_free(names);
    return st;
}

/* A task of its own over the same data (reference counts), so that the caller's stays as
 * the user wrote it. */
ferry_status ferry_i_task_resolved(ferry_ctx *ctx, const ferry_task *task, ferry_task **out)
{
    ferry_status st = FERRY_OK;
    ferry_task *t = NULL;

    *out = NULL;
    FERRY_TRY(ferry_task_new(ctx, task->name, task->goal, &t));
    for (int64_t i = 0; i < task->n_domains; i++)
        FERRY_TRY(ferry_task_add_domain(ctx, t, ferry_i_domain_ref(task->domains[i])));
    FERRY_TRY(ferry_i_task_resolve(ctx, t));
    if (!task->names)
        FERRY_TRY(ferry_i_task_spellings(ctx, t, NULL)); /* a program made it */
    t->passing = task->passing;
    t->choose = task->choose;
    if (task->chosen) FERRY_HAVE(ctx, t->chosen = ferry_i_strdup(task->chosen));
    FERRY_MOVE(*out, t);
done:
    ferry_task_free(t);
    return st;
}
