/* A description of data as JSON: what `ferry inspect --json` prints. Keys stand only where the kind
 * of data has them; JSON has no NaN, so what is not known is null. */
#include <jansson.h>
#include <string.h>

#include "show/show.h"

static void put(json_t *o, const char *key, json_t *value)
{
    (void)json_object_set_new(o, key, value); /* checked as a whole by the caller */
}

static void put_int(json_t *o, const char *key, int64_t value)
{
    put(o, key, json_integer(value));
}

static void put_real(json_t *o, const char *key, double value)
{
    put(o, key, ferry_i_json_real(value));
}

static json_t *list(int64_t n, const char *const *names)
{
    json_t *all = names ? json_array() : json_null();

    for (int64_t i = 0; names && i < n; i++)
        (void)json_array_append_new(all, json_string(names[i]));
    return all;
}

static json_t *counts(const ferry_description *d)
{
    json_t *o = json_object();

    for (int64_t i = 0; i < d->n_counts; i++)
        put_int(o, d->count_names[i], d->counts[i]);
    return o;
}

static void put_matrix(json_t *o, const ferry_description *d)
{
    put_int(o, "columns", d->columns);
    put(o, "storage", json_string(d->sparse ? "sparse" : "dense"));
    put_int(o, "nonzeros", d->nonzeros);
    put_real(o, "density", d->density);
    put_int(o, "missing", d->missing);
    put_int(o, "empty_rows", d->empty_rows);
    put_real(o, "min", d->min);
    put_real(o, "max", d->max);
    put(o, "features", list(d->n_features, d->features));
    put(o, "scale", d->scale ? json_string(d->scale) : json_null());
    put(o, "scale_reason", d->scale ? json_string(d->scale_reason) : json_null());
}

static json_t *labels(const ferry_description *d)
{
    json_t *o = json_object();

    put(o, "kind", json_string(d->label_kind));
    put_int(o, "known", d->labels_known);
    put_int(o, "missing", d->labels_missing);
    if (strcmp(d->label_kind, "number") == 0) {
        put_real(o, "min", d->label_min);
        put_real(o, "max", d->label_max);
        put_real(o, "mean", d->label_mean);
        put_real(o, "std", d->label_std);
        return o;
    }
    if (strcmp(d->label_kind, "set") ==
        0) { /* density: cardinality as a share of all labels */
        put_int(o, "labels", d->n_counts);
        put_real(o, "cardinality", d->cardinality);
        put_real(o, "density", d->n_counts > 0 ? d->cardinality / (double)d->n_counts : 0);
    } else {
        put_int(o, "classes", d->n_counts);
    }
    put(o, "counts", counts(d));
    return o;
}

static void put_graph(json_t *o, const ferry_description *d)
{
    put_int(o, "nodes", d->nodes);
    put_int(o, "edges", d->edges);
    put_int(o, "self_links", d->self_links);
    put_real(o, "min", d->min);
    put_real(o, "max", d->max);
}

static void put_ratings(json_t *o, const ferry_description *d)
{
    put_int(o, "ratings", d->ratings);
    put_int(o, "to_predict", d->to_predict);
    put_int(o, "users", d->users);
    put_int(o, "items", d->items);
    put_real(o, "density", d->density);
    put_real(o, "min", d->min);
    put_real(o, "max", d->max);
    put_real(o, "mean", d->mean);
    put(o, "histogram", counts(d));
}

static json_t *members(const ferry_description *d)
{
    json_t *all = json_array();

    for (int64_t i = 0; i < d->n_members; i++)
        (void)json_array_append_new(all, json_pack("{s:s, s:s}", "name", d->members[i],
                                                   "type", d->member_types[i]));
    return all;
}

static json_t *describe(const ferry_description *d)
{
    const bool view = strcmp(d->kind, "view") == 0 || strcmp(d->kind, "labels") == 0;
    json_t *o = json_object();

    put(o, "path", json_string(d->path));
    put(o, "format", json_string(d->format));
    put(o, "kind", json_string(d->kind));
    if (view || d->columns >= 0) put_int(o, "rows", d->rows);
    if (d->columns >= 0) put_matrix(o, d);
    if (view) {
        put(o, "ids", list(d->n_ids, d->ids));
        put(o, "labels", d->label_kind ? labels(d) : json_null());
    }
    if (strcmp(d->kind, "graph") == 0) put_graph(o, d);
    if (strcmp(d->kind, "ratings") == 0) put_ratings(o, d);
    if (strcmp(d->kind, "listing") == 0) put(o, "members", members(d));
    put_int(o, "memory_bytes", d->memory_bytes);
    return o;
}

ferry_status ferry_i_description_json(ferry_ctx *ctx, const ferry_description *description,
                                      char **out)
{
    ferry_status st = FERRY_OK;
    json_t *o = describe(description);

    FERRY_TRY(ferry_i_json_dump(ctx, o, JSON_INDENT(2) | JSON_REAL_PRECISION(15), out));
done:
    json_decref(o);
    return st;
}
