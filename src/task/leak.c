/* Labels that are hidden and stand elsewhere all the same: in a feature, or in a source that holds the
 * target's own instances. What is then learned is to look them up, so the scores mean nothing. Warnings
 * only: nothing is changed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "task/task.h"

/* ---- a feature that is the label ---- */

/* What the label of instance i is as a number: NaN where it has none or is no number. */
static double label_value(const ferry_task *t, const ferry_labels *l, int64_t i)
{
    double x = NAN;

    if (l->kind == FERRY_LABEL_NUMBER) return l->num[i];
    if (l->kind != FERRY_LABEL_CLASS || l->cls[i] < 0) return NAN;
    const char *name = ferry_i_ids_at(t->names, l->cls[i]), *end = name + strlen(name);
    return ferry_i_parse_real(name, end, &x) == end ? x : NAN;
}

/* Whether column j of v is the label of every instance that has both; `cls`: whether it is
 * 1 for that class and 0 for the others. At least ten must differ among each other. */
static bool is_label(const ferry_task *t, const ferry_domain *d, const ferry_view *v,
                     int64_t j, int64_t cls)
{
    const ferry_labels *l = d->labels;
    double first = NAN;
    int64_t n = 0;
    bool varies = false;

    for (int64_t r = 0; r < v->x->rows; r++) {
        const int64_t i = v->instance[r];
        if (!ferry_i_labels_has(l, i)) continue;
        const double y = cls < 0 ? label_value(t, l, i) : (double)(l->cls[i] == cls);
        if (v->x->dense[r * v->x->cols + j] != y) return false;
        if (n++ == 0) first = y;
        varies = varies || y != first;
    }
    return n >= 10 && varies;
}

/* The class that a feature "column=class" is named after, or -1. */
static int64_t class_named(const ferry_task *t, const ferry_domain *d, const char *feature)
{
    const char *s = feature ? strrchr(feature, '=') : NULL;

    return s && d->labels->kind == FERRY_LABEL_CLASS ? ferry_i_ids_find(t->names, s + 1)
                                                     : -1;
}

/* Labels from y: that also stand in a column of x:. One look at a row rules most columns
 * out. */
static void warn_of_label(ferry_ctx *ctx, const ferry_task *t, const ferry_domain *d)
{
    for (int64_t i = 0; d->labels && i < d->n_views; i++) {
        const ferry_view *v = d->views[i];
        for (int64_t j = 0; v->x->dense && j < v->x->cols; j++) {
            const char *name = v->features ? ferry_i_ids_at(v->features, j) : NULL;
            const int64_t cls = class_named(t, d, name);
            if (d->labels->kind == FERRY_LABEL_SET || !is_label(t, d, v, j, cls)) continue;
            const char *end = name && cls >= 0 ? strrchr(name, '=') : NULL;
            ferry_i_warn_once(
                ctx,
                "domain '%s', view '%s': feature %lld (%s) is the label itself; "
                "leave its column out (drop: %.*s)",
                d->name, v->name, (long long)j + 1, name ? name : "no name",
                end ? (int)(end - name) : 60, name ? name : "NUMBER");
            return;
        }
    }
}

/* ---- the target's instances in a source ---- */

static int by_key(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* One number for what row r says: a sum over its cells, so that the order of columns does not matter.
 * 0: nothing but zeros. */
static uint64_t row_key(const ferry_matrix *x, const uint64_t *column, int64_t r)
{
    const int64_t begin = x->dense ? r * x->cols : x->start[r];
    const int64_t end = x->dense ? begin + x->cols : x->start[r + 1];
    uint64_t key = 0;

    for (int64_t i = begin; i < end; i++) {
        const double v = x->dense ? x->dense[i] : x->value[i];
        const int64_t j = x->dense ? i - begin : x->index[i];
        if (v != 0 && !isnan(v)) key += XXH3_64bits_withSeed(&v, sizeof v, column[j]);
    }
    return key;
}

static uint64_t label_key(const ferry_labels *l, int64_t i)
{
    const int64_t m = l->kind == FERRY_LABEL_SET ? ferry_i_labels_m(l) : 0;

    if (m > 0) return XXH3_64bits(l->on + i * m, (size_t)m);
    return l->kind == FERRY_LABEL_CLASS ? XXH3_64bits(l->cls + i, sizeof *l->cls)
                                        : XXH3_64bits(l->num + i, sizeof *l->num);
}

/* A number for each row of v that has features and a label, made of both, sorted. Columns are known by
 * their names, else by their numbers. */
static ferry_status keys_of(ferry_ctx *ctx, const ferry_domain *d, const ferry_view *v,
                            uint64_t **out, int64_t *n)
{
    ferry_status st = FERRY_OK;
    const bool named = ferry_i_view_has_names(v);
    uint64_t *column = NULL;

    *n = 0;
    FERRY_NEW(ctx, *out, v->x->rows);
    FERRY_NEW(ctx, column, v->x->cols);
    for (int64_t j = 0; j < v->x->cols; j++) {
        const char *name = named ? ferry_i_ids_at(v->features, j) : NULL;
        column[j] = name ? XXH3_64bits(name, strlen(name)) : (uint64_t)j + 1;
    }
    for (int64_t r = 0; r < v->x->rows; r++) {
        const uint64_t key = row_key(v->x, column, r);
        if (key && ferry_i_labels_has(d->labels, v->instance[r]))
            (*out)[(*n)++] = key ^ label_key(d->labels, v->instance[r]);
    }
    if (*n) qsort(*out, (size_t)*n, sizeof **out, by_key);
done:
    ferry_i_free(column);
    return st;
}

/* How many of n sorted keys are there more than once. */
static int64_t count_twins(const uint64_t *key, int64_t n)
{
    int64_t twins = 0;

    for (int64_t i = 0; i < n; i++)
        twins += (i > 0 && key[i] == key[i - 1]) || (i + 1 < n && key[i] == key[i + 1]);
    return twins;
}

/* Rows of the target, with their labels, that are in a source as well. Some are by chance where rows hold
 * little. Then they also come again within the target (`within`), if that is large, and a row of the
 * source finds another like it there: a row of the target that has nothing to do with the source is found
 * there about as often, so twice that share is asked for. */
static ferry_status compare_rows(ferry_ctx *ctx, const ferry_domain *target,
                                 const ferry_view *tv, int64_t n, const uint64_t *key,
                                 const ferry_domain *d, const ferry_view *v)
{
    ferry_status st = FERRY_OK;
    uint64_t *have = NULL;
    int64_t n_have = 0, both = 0, within = 0, twins = 0;

    if (v->x->cols != tv->x->cols &&
        !(ferry_i_view_has_names(v) && ferry_i_view_has_names(tv)))
        goto done;
    FERRY_TRY(keys_of(ctx, d, v, &have, &n_have));
    for (int64_t i = 0; i < n; i++) {
        within += i > 0 && key[i] == key[i - 1];
        both += n_have && bsearch(&key[i], have, (size_t)n_have, sizeof *have, by_key);
    }
    twins = count_twins(have, n_have);
    if (both >= 5 && both > 2 * within && 20 * both >= n &&
        (double)both * (double)n_have > 2 * (double)twins * (double)n)
        ferry_i_warn_once(
            ctx,
            "'%s' holds %lld of the %lld labelled instances of target '%s', with their labels (may be a leak): "
            "what is hidden can be looked up there; leave them out of '%s'",
            d->name, (long long)both, (long long)n, target->name, d->name);
done:
    ferry_i_free(have);
    return st;
}

/* A view of the target against those of all others that have labels. */
static ferry_status compare_view(ferry_ctx *ctx, const ferry_task *t,
                                 const ferry_domain *target, const ferry_view *tv)
{
    ferry_status st = FERRY_OK;
    uint64_t *key = NULL;
    int64_t n = 0;

    for (int64_t i = 0; i < t->n_domains; i++) {
        const ferry_domain *d = t->domains[i];
        if (d == target || !d->labels || d->n_views == 0) continue;
        if (!key) FERRY_TRY(keys_of(ctx, target, tv, &key, &n));
        for (int64_t a = 0; a < d->n_views; a++)
            FERRY_TRY(compare_rows(ctx, target, tv, n, key, d, d->views[a]));
    }
done:
    ferry_i_free(key);
    return st;
}

/* ---- all of it ---- */

ferry_status ferry_i_task_leaks(ferry_ctx *ctx, const ferry_task *t,
                                const ferry_domain *target)
{
    ferry_status st = FERRY_OK;

    for (int64_t i = 0; i < t->n_domains; i++)
        warn_of_label(ctx, t, t->domains[i]);
    if (!target || !target->labels || t->goal == FERRY_EMBED) return st;
    for (int64_t b = 0; b < target->n_views; b++)
        FERRY_TRY(compare_view(ctx, t, target, target->views[b]));
done:
    return st;
}
