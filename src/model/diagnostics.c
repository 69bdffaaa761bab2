/* Diagnostics as a list of numbers and texts by name.
 *
 * A fit leaves them as JSON, which can nest: a weight for every source, importances of every
 * view. Programs get them flat. Parts of an object are named "weights.source", items of a list
 * that is neither all numbers nor all texts "importance.0"; null is NaN, true is 1. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "model/model.h"

/* The list so far; names and arrays of its entries are owned. */
typedef struct flat {
    ferry_diagnostic *d;
    int64_t n, cap;
} flat;

/* Numbers, null and true or false can stand in one array of doubles. */
static bool is_number(const json_t *v)
{
    return json_is_number(v) || json_is_null(v) || json_is_boolean(v);
}

static double number(const json_t *v)
{
    if (json_is_boolean(v)) return json_is_true(v);
    return json_is_number(v) ? json_number_value(v) : NAN;
}

/* Whether all of n items are numbers (texts: strings).
 * A value that is no array is one item, itself. An empty array is all numbers. */
static bool all_are(const json_t *v, int64_t n, bool texts)
{
    for (int64_t i = 0; i < n; i++) {
        const json_t *one = json_is_array(v) ? json_array_get(v, (size_t)i) : v;
        if (texts ? !json_is_string(one) : !is_number(one)) return false;
    }
    return true;
}

/* One entry of a value, or of n in an array.
 * False: no memory. What was added is in the list already, so freeing the list frees it. */
static bool add_plain(flat *f, const char *name, const json_t *v, int64_t n)
{
    double *numbers = NULL;
    char **texts = NULL;

    if (!FERRY_GROW(f->d, f->n, f->cap)) return false;
    ferry_diagnostic *d = &f->d[f->n++];
    *d = (ferry_diagnostic){.size = sizeof *d, .name = ferry_i_strdup(name), .count = n};
    if (all_are(v, n, false))
        d->numbers = numbers = ferry_i_calloc(n, sizeof *numbers);
    else
        d->texts = (const char *const *)(texts = ferry_i_calloc(n, sizeof *texts));
    bool ok = d->name && (numbers || texts);
    for (int64_t i = 0; ok && i < n; i++) {
        const json_t *one = json_is_array(v) ? json_array_get(v, (size_t)i) : v;
        if (numbers)
            numbers[i] = number(one);
        else
            ok = (texts[i] = ferry_i_strdup(json_string_value(one))) != NULL;
    }
    return ok;
}

/* Depth first, in the order of the JSON: entries of one object stay together. The name of
 * the whole is empty and adds no dot. */
static bool add(flat *f, const char *name, const json_t *v)
{
    const int64_t n = json_is_array(v) ? (int64_t)json_array_size(v) : 1;
    const char *key = NULL;
    json_t *part = NULL;
    bool ok = true;

    if (!json_is_object(v) && (all_are(v, n, false) || all_are(v, n, true)))
        return add_plain(f, name, v, n);
    for (int64_t i = 0; json_is_array(v) && ok && i < n; i++) {
        char *inner = ferry_i_sprintf("%s.%lld", name, (long long)i);
        ok = inner && add(f, inner, json_array_get(v, (size_t)i));
        ferry_i_free(inner);
    }
    json_object_foreach((json_t *)v, key, part)
    {
        char *inner = name[0] ? ferry_i_sprintf("%s.%s", name, key) : ferry_i_strdup(key);
        ok = ok && inner && add(f, inner, part);
        ferry_i_free(inner);
    }
    return ok;
}

/* *out (n of them) is freed by ferry_i_diagnostics_free; NULL and 0 where there are none.
 */
ferry_status ferry_i_diagnostics_list(ferry_ctx *ctx, const json_t *json,
                                      ferry_diagnostic **out, int64_t *n)
{
    flat f = {0};

    *out = NULL;
    *n = 0;
    if (!json || add(&f, "", json)) {
        *out = f.d;
        *n = f.n;
        return FERRY_OK;
    }
    ferry_i_diagnostics_free(f.n, f.d);
    return ferry_i_nomem(ctx);
}

/* Programs see const pointers; they were made here, so the casts take back what is ours. */
void ferry_i_diagnostics_free(int64_t n, ferry_diagnostic *list)
{
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; list[i].texts && k < list[i].count; k++)
            ferry_i_free((char *)list[i].texts[k]);
        FERRY_FREE((void *)list[i].texts, (double *)list[i].numbers, (char *)list[i].name);
    }
    ferry_i_free(list);
}

ferry_status ferry_i_model_set_diagnostics(ferry_ctx *ctx, ferry_model *m,
                                           const json_t *json)
{
    ferry_status st = FERRY_OK;
    char *text = NULL;
    ferry_diagnostic *list = NULL;
    int64_t n = 0;

    FERRY_TRY(ferry_i_json_dump(ctx, json, JSON_COMPACT, &text));
    FERRY_TRY(ferry_i_diagnostics_list(ctx, json, &list, &n));
    ferry_i_free(m->diagnostics);
    ferry_i_diagnostics_free(m->n_list, m->list);
    FERRY_MOVE(m->diagnostics, text);
    m->list = list;
    m->n_list = n;
done:
    ferry_i_free(text);
    return st;
}

const ferry_diagnostic *ferry_model_diagnostic_at(const ferry_model *model, int64_t i)
{
    if (!model) return NULL;
    return i >= 0 && i < model->n_list ? &model->list[i] : NULL;
}
