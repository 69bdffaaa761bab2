/* What is most likely a mistake in a task that can be read: each would spoil the results
 * without a word. Nothing is changed; what leaves no doubt is refused, the rest is a
 * warning. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "task/task.h"

/* ---- names of classes ---- */

/* A class for sorting: names that differ only in case stand side by side, in the order of their numbers. */
typedef struct named_class {
    const char *name;
    int64_t k;
} named_class;

static int by_name(const void *a, const void *b)
{
    const named_class *x = a, *y = b;
    const int c = strcasecmp(x->name, y->name);

    return c ? c : (x->k > y->k) - (x->k < y->k);
}

static ferry_status sort_classes(ferry_ctx *ctx, const ferry_task *t, named_class **out)
{
    ferry_status st = FERRY_OK;
    const int64_t m = ferry_i_ids_count(t->names);

    FERRY_NEW(ctx, *out, m);
    for (int64_t k = 0; k < m; k++)
        (*out)[k] = (named_class){ferry_i_ids_at(t->names, k), k};
    if (m) qsort(*out, (size_t)m, sizeof **out, by_name);
done:
    return st;
}

/* Where the classes end whose names differ from that at i only in case. */
static int64_t end_of_alike(const named_class *c, int64_t m, int64_t i)
{
    int64_t end = i + 1;

    while (end < m && strcasecmp(c[i].name, c[end].name) == 0)
        end++;
    return end;
}

/* have[k]: class k of the task occurs in d. The labels are resolved. */
static ferry_status classes_of(ferry_ctx *ctx, const ferry_task *t, const ferry_domain *d,
                               bool **have, int64_t *n)
{
    ferry_status st = FERRY_OK;
    const ferry_labels *l = d->labels;
    const int64_t m = ferry_i_ids_count(t->names);
    const int64_t set = l && l->kind == FERRY_LABEL_SET ? ferry_i_labels_m(l) : 0;

    *n = 0;
    FERRY_NEW(ctx, *have, m);
    for (int64_t i = 0; l && i < l->n; i++) {
        if (l->kind == FERRY_LABEL_CLASS && l->cls[i] >= 0) (*have)[l->cls[i]] = true;
        for (int64_t k = 0; k < set; k++)
            (*have)[k] = (*have)[k] || l->on[i * set + k];
    }
    for (int64_t k = 0; k < m; k++)
        *n += (*have)[k];
done:
    return st;
}

/* "Yes" here and "yes" there, where neither has both: one class written in two ways. */
static ferry_status refuse_case(ferry_ctx *ctx, const named_class *c, int64_t m,
                                const ferry_domain *s, const bool *in_s,
                                const ferry_domain *g, const bool *in_g)
{
    ferry_status st = FERRY_OK;

    for (int64_t i = 0, end; i < m; i = end) {
        const char *x = NULL, *y = NULL; /* only in s, only in g */
        end = end_of_alike(c, m, i);
        for (int64_t j = i; j < end; j++) {
            if (!x && in_s[c[j].k] && !in_g[c[j].k]) x = c[j].name;
            if (!y && in_g[c[j].k] && !in_s[c[j].k]) y = c[j].name;
        }
        FERRY_NEED(ctx, !x || !y, FERRY_EDATA,
                   "class '%s' of '%s' and class '%s' of '%s' differ only in case: "
                   "write them alike",
                   x, s->name, y, g->name);
    }
done:
    return st;
}

/* A target of one class, or of numbers that hardly repeat: every answer is right, or none. in[k]: class k
 * occurs, m of them. */
static void warn_of_counts(ferry_ctx *ctx, const ferry_task *t, const ferry_domain *d,
                           const bool *in, int64_t m)
{
    const ferry_labels *l = d->labels;
    int64_t n = 0, numbers = 0;
    const char *name = "";
    double x;

    for (int64_t i = 0; l && l->kind == FERRY_LABEL_CLASS && i < l->n; i++)
        n += l->cls[i] >= 0;
    for (int64_t k = 0; k < ferry_i_ids_count(t->names); k++) {
        if (!in[k]) continue;
        name = ferry_i_ids_at(t->names, k);
        numbers += ferry_i_parse_real(name, name + strlen(name), &x) == name + strlen(name);
    }
    if (n > 1 && m == 1)
        ferry_i_warn_once(
            ctx, "target '%s': all %lld labels are '%s', so there is nothing to tell apart",
            d->name, (long long)n, name);
    if (n >= 20 && numbers == m && 2 * m > n)
        ferry_i_warn_once(
            ctx,
            "target '%s': %lld labels of %lld classes, all of them numbers; goal: regress predicts numbers",
            d->name, (long long)n, (long long)m);
}

/* "Yes" and "yes" in one domain: two classes as they stand, one most likely as they are meant. */
static void warn_of_case(ferry_ctx *ctx, const named_class *c, int64_t m,
                         const ferry_domain *d, const bool *in)
{
    const char *last = NULL; /* the one before that occurs in d */

    for (int64_t i = 0; i < m; i++) {
        if (!in[c[i].k]) continue;
        if (last && strcasecmp(last, c[i].name) == 0) {
            ferry_i_warn_once(
                ctx,
                "'%s' and '%s' of '%s' count as two classes, though they differ only in case: if "
                "they are one, write them alike",
                last, c[i].name, d->name);
            return;
        }
        last = c[i].name;
    }
}

/* ---- one number in two spellings ---- */

/* A class that is a number; the names of equal ones stand side by side. */
typedef struct number_class {
    double value;
    int64_t k;
} number_class;

static int by_value(const void *a, const void *b)
{
    const number_class *x = a, *y = b;

    if (x->value != y->value) return x->value < y->value ? -1 : 1;
    return (x->k > y->k) - (x->k < y->k);
}

/* The classes that are numbers, ascending. */
static ferry_status number_classes(ferry_ctx *ctx, const ferry_task *t, number_class **out,
                                   int64_t *n)
{
    ferry_status st = FERRY_OK;
    const int64_t m = ferry_i_ids_count(t->names);

    *n = 0;
    FERRY_NEW(ctx, *out, m);
    for (int64_t k = 0; k < m; k++) {
        const char *name = ferry_i_ids_at(t->names, k), *end = name + strlen(name);
        double x = 0;
        if (ferry_i_parse_real(name, end, &x) == end) (*out)[(*n)++] = (number_class){x, k};
    }
    if (*n) qsort(*out, (size_t)*n, sizeof **out, by_value);
done:
    return st;
}

/* Two classes that are one number: where they occur, and what to write. */
static void say_spelling(ferry_ctx *ctx, const ferry_task *t, int64_t a, int64_t b,
                         bool *const *in, double value)
{
    const char *x = ferry_i_ids_at(t->names, a), *y = ferry_i_ids_at(t->names, b);
    const ferry_domain *has_x = NULL, *has_y = NULL;
    char name[32];

    (void)ferry_i_name_real(name, value);
    for (int64_t i = 0; i < t->n_domains; i++) {
        const ferry_domain *d = t->domains[i];
        if (in[i][a] && in[i][b]) {
            has_x = has_y = d;
            break;
        }
        if (in[i][a] && !has_x) has_x = d;
        if (in[i][b] && !has_y) has_y = d;
    }
    if (!has_x || !has_y) return;
    if (has_x == has_y)
        ferry_i_warn_once(
            ctx,
            "'%s' and '%s' of '%s' count as two classes, though they are the same "
            "number: if they are one, write '%s' for both",
            x, y, has_x->name, name);
    else
        ferry_i_warn_once(
            ctx,
            "class '%s' of '%s' and class '%s' of '%s' count as two classes, "
            "though they are the same number: if they are one, write '%s' in both",
            x, has_x->name, y, has_y->name, name);
}

/* Said once, of the first such number: whoever writes labels in two ways does it for all. *said
 * may be NULL. */
ferry_status ferry_i_task_spellings(ferry_ctx *ctx, const ferry_task *t, bool *said)
{
    ferry_status st = FERRY_OK;
    number_class *c = NULL;
    bool **in = NULL;
    int64_t n = 0, at = 0, count = 0;
    double x = 0;

    if (said) *said = false;
    if (!t->names) goto done;
    FERRY_TRY(number_classes(ctx, t, &c, &n));
    for (at = 0; at + 1 < n; at++)
        if (ferry_i_same_number(ferry_i_ids_at(t->names, c[at].k),
                                ferry_i_ids_at(t->names, c[at + 1].k), &x))
            break;
    if (at + 1 >= n) goto done;
    FERRY_NEW(ctx, in, t->n_domains);
    for (int64_t i = 0; i < t->n_domains; i++)
        FERRY_TRY(classes_of(ctx, t, t->domains[i], &in[i], &count));
    say_spelling(ctx, t, c[at].k, c[at + 1].k, in, x);
    if (said) *said = true;
done:
    for (int64_t i = 0; in && i < t->n_domains; i++)
        ferry_i_free(in[i]);
    FERRY_FREE(in, c);
    return st;
}

/* ---- what source and target share ---- */

static ferry_status check_classes(ferry_ctx *ctx, const ferry_task *t,
                                  const ferry_domain *target)
{
    ferry_status st = FERRY_OK;
    const int64_t m = ferry_i_ids_count(t->names);
    named_class *sorted = NULL;
    bool *in_s = NULL, *in_t = NULL;
    int64_t n_s = 0, n_t = 0;
    const ferry_domain *s = NULL;
    bool said = false;

    FERRY_TRY(ferry_i_task_spellings(ctx, t, &said));
    FERRY_TRY(sort_classes(ctx, t, &sorted));
    FERRY_TRY(classes_of(ctx, t, target, &in_t, &n_t));
    warn_of_counts(ctx, t, target, in_t, n_t);
    warn_of_case(ctx, sorted, m, target, in_t);
    for (int64_t i = 0; (s = ferry_i_task_role(t, FERRY_SOURCE, i)); i++) {
        int64_t both = 0, lone_s = -1, lone_t = -1;
        ferry_i_free(in_s);
        FERRY_TRY(classes_of(ctx, t, s, &in_s, &n_s));
        warn_of_case(ctx, sorted, m, s, in_s);
        if (n_s == 0 || n_t == 0) continue;
        FERRY_TRY(refuse_case(ctx, sorted, m, s, in_s, target, in_t));
        if (said) continue; /* which is why they share so little */
        for (int64_t k = m - 1; k >= 0; k--) {
            both += in_s[k] && in_t[k];
            if (in_s[k] && !in_t[k]) lone_s = k;
            if (in_t[k] && !in_s[k]) lone_t = k;
        }
        if (both > 0 && lone_s >= 0 && lone_t >= 0) /* such as 1, 2 here and 0, 1 there */
            ferry_i_warn_once(
                ctx,
                "source '%s' and target '%s' have %lld of their %lld and %lld classes in common: "
                "'%s' is only in the source, '%s' only in the target; if some mean the same, write "
                "them alike",
                s->name, target->name, (long long)both, (long long)n_s, (long long)n_t,
                ferry_i_ids_at(t->names, lone_s), ferry_i_ids_at(t->names, lone_t));
        if (both == 0)
            ferry_i_warn_once(
                ctx,
                "source '%s' and target '%s' have no class in common (%lld and "
                "%lld): what the source knows cannot be named in the target",
                s->name, target->name, (long long)n_s, (long long)n_t);
    }
done:
    FERRY_FREE(in_s, in_t, sorted);
    return st;
}

/* Classes such as "red|round", of which some part is a class or a part of another. */
static void warn_of_sets(ferry_ctx *ctx, const ferry_task *t)
{
    const int64_t m = ferry_i_ids_count(t->names);

    for (int64_t k = 0; k < m; k++) {
        const char *name = ferry_i_ids_at(t->names, k), *bar = strchr(name, '|');
        if (!bar || bar == name || !bar[1]) continue;
        ferry_i_warn_once(ctx,
                          "class '%s' looks like a set of labels, and each such set counts "
                          "as one class; goal: multilabel reads them as sets",
                          name);
        return;
    }
}

/* Sets of one label each: the target's classes, most likely, or one label column of several. */
static void warn_of_lone_labels(ferry_ctx *ctx, const ferry_domain *d)
{
    const ferry_labels *l = d->labels;
    const int64_t m = l && l->kind == FERRY_LABEL_SET ? ferry_i_labels_m(l) : 0;
    int64_t n = 0, on = 0;

    for (int64_t i = 0; m > 1 && i < l->n; i++) {
        int64_t row = 0;
        for (int64_t k = 0; l->known[i] && k < m; k++)
            row += l->on[i * m + k];
        if (l->known[i] && row != 1) return;
        n += l->known[i];
        on += row;
    }
    if (n > 1 && on == n)
        ferry_i_warn_once(
            ctx,
            "goal multilabel, but every instance of '%s' has exactly one label: goal: classify is for classes; "
            "label: a,b,c names several columns of 0 and 1, and a cell may hold a|b",
            d->name);
}

/* ---- features that say nothing ---- */

/* Whether two rows of x differ in a cell that both know; it stops at the first that does. */
static bool varies(const ferry_matrix *x)
{
    for (int64_t j = 0; x->dense && j < x->cols; j++) {
        double first = NAN;
        for (int64_t i = 0; i < x->rows; i++) {
            const double v = x->dense[i * x->cols + j];
            if (!isnan(v) && !isnan(first) && v != first) return true;
            if (isnan(first)) first = v;
        }
    }
    for (int64_t i = 1; !x->dense && i < x->rows; i++) {
        const int64_t n = x->start[1] - x->start[0], at = x->start[i];
        if (x->start[i + 1] - at != n) return true;
        for (int64_t e = 0; e < n; e++)
            if (x->index[x->start[0] + e] != x->index[at + e] ||
                x->value[x->start[0] + e] != x->value[at + e])
                return true;
    }
    return false;
}

/* Rows of which nothing tells one from another: every model of them is a guess. */
static void warn_of_features(ferry_ctx *ctx, const ferry_domain *d)
{
    int64_t views = 0;

    for (int64_t v = 0; v < d->n_views; v++) {
        const ferry_matrix *x = d->views[v]->x;
        if (x->whole || varies(x)) return; /* the rows of other ranks may vary */
        views += x->rows > 1;
    }
    if (views > 0 && d->n_graphs == 0)
        ferry_i_warn_once(
            ctx,
            "'%s': every feature is blank or the same in all rows, so that nothing "
            "tells them apart",
            d->name);
}

/* ---- all of it ---- */

ferry_status ferry_i_task_check(ferry_ctx *ctx, const ferry_task *t)
{
    const ferry_domain *target = ferry_i_task_role(t, FERRY_TARGET, 0);

    if (t->goal == FERRY_RATE) return FERRY_OK;
    for (int64_t i = 0; i < t->n_domains; i++)
        warn_of_features(ctx, t->domains[i]);
    if (t->names && target && t->goal != FERRY_EMBED)
        FERRY_PASS(check_classes(ctx, t, target));
    if (t->goal == FERRY_CLASSIFY || t->goal == FERRY_STREAM) warn_of_sets(ctx, t);
    if (t->goal == FERRY_MULTILABEL && target) warn_of_lone_labels(ctx, target);
    return ferry_i_task_leaks(ctx, t, target);
}

ferry_status ferry_i_task_trainable(ferry_ctx *ctx, const ferry_task *split)
{
    ferry_status st = FERRY_OK;
    const ferry_domain *target = NULL;
    int64_t n = 0;

    if (split->goal == FERRY_EMBED || split->goal == FERRY_STREAM) goto done;
    for (int64_t i = 0; i < split->n_domains; i++)
        n += ferry_domain_labels(split->domains[i]);
    FERRY_TRY(ferry_i_task_target(ctx, split, &target));
    FERRY_NEED(
        ctx, n > 0, FERRY_ENEEDS,
        "task '%s': nothing to learn from: target '%s' shows no %s (labelled: none) "
        "and no source has any; say how many a method may see, such as labelled: 20, "
        "or labelled: all for all there are",
        split->name, target->name, split->goal == FERRY_RATE ? "ratings" : "labels");
done:
    return st;
}
