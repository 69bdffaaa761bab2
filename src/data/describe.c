/* What a file holds, as JSON: what `ferry inspect` prints.
 *
 * Everything that decides what a method will see: shape, how full, missing cells, range, labels
 * and how often each occurs. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/data.h"

/* Texts from files may not be UTF-8, which JSON must be: other bytes count as Latin-1. */
static json_t *text(const char *s)
{
    json_t *value = json_string(s);
    ferry_text t = {0};

    if (value) return value;
    for (char one[4]; *s; s++)
        ferry_i_text_addn(&t, one, ferry_i_put_utf8(one, (unsigned char)*s));
    value = json_string(t.s && !t.failed ? t.s : "(not UTF-8)");
    ferry_i_text_free(&t);
    return value;
}

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
    put(o, key, isfinite(value) ? json_real(value) : json_null());
}

static const char *kind_name(ferry_data_kind kind)
{
    static const char *const names[] = {"view", "labels", "graph", "ratings", "listing"};

    return names[kind];
}

/* ---- matrix ---- */

typedef struct summary {
    int64_t missing, nonzero, empty_rows;
    double lo, hi;
} summary;

static summary summarise(const ferry_matrix *x)
{
    summary s = {.lo = INFINITY, .hi = -INFINITY};

    for (int64_t i = 0; i < x->rows; i++) {
        const int64_t from = x->dense ? i * x->cols : x->start[i];
        const int64_t to = x->dense ? from + x->cols : x->start[i + 1];
        int64_t here = 0;
        for (int64_t e = from; e < to; e++) {
            const double v = x->dense ? x->dense[e] : x->value[e];
            s.missing += isnan(v);
            here += v != 0 && !isnan(v);
            if (v < s.lo) s.lo = v;
            if (v > s.hi) s.hi = v;
        }
        s.nonzero += here;
        s.empty_rows += here == 0;
    }
    if (!x->dense && x->nnz < x->rows * x->cols) { /* cells that are not stored are 0 */
        if (s.lo > 0) s.lo = 0;
        if (s.hi < 0) s.hi = 0;
    }
    return s;
}

static int64_t matrix_bytes(const ferry_matrix *x)
{
    if (x->dense) return x->nnz * (int64_t)sizeof(double);
    return x->nnz * 12 + (x->rows + 1) * 8;
}

/* The first few names of many. */
static json_t *some(const ferry_ids *ids)
{
    json_t *list = json_array();

    for (int64_t i = 0; i < ferry_i_ids_count(ids) && i < 5; i++)
        (void)json_array_append_new(list, text(ferry_i_ids_at(ids, i)));
    return list;
}

static void describe_matrix(json_t *o, const ferry_data *d)
{
    const ferry_matrix *x = d->x;
    const summary s = summarise(x);
    const double cells = (double)x->rows * (double)x->cols;

    put_int(o, "rows", x->rows);
    put_int(o, "columns", x->cols);
    put(o, "storage", json_string(x->dense ? "dense" : "sparse"));
    put_int(o, "nonzeros", s.nonzero);
    put_real(o, "density", cells > 0 ? (double)s.nonzero / cells : 0);
    put_int(o, "missing", s.missing);
    put_int(o, "empty_rows", s.empty_rows);
    put_real(o, "min", s.lo);
    put_real(o, "max", s.hi);
    put(o, "features", d->features ? some(d->features) : json_null());
}

/* ---- labels ---- */

/* False: no memory. */
static bool describe_classes(json_t *o, const ferry_labels *l)
{
    const int64_t m = ferry_i_labels_m(l);
    int64_t *count = ferry_i_calloc(m, sizeof *count);
    json_t *counts = json_object();

    for (int64_t i = 0; count && i < l->n; i++)
        if (l->cls[i] >= 0) count[l->cls[i]]++;
    for (int64_t k = 0; count && k < m; k++) {
        json_t *name = text(ferry_i_ids_at(l->names, k));
        if (name) put_int(counts, json_string_value(name), count[k]);
        json_decref(name);
    }
    const bool fine = count != NULL;
    put(o, "classes", json_integer(m));
    put(o, "counts", counts);
    ferry_i_free(count);
    return fine;
}

static void describe_numbers(json_t *o, const ferry_labels *l)
{
    double lo = INFINITY, hi = -INFINITY, sum = 0, squares = 0;
    int64_t n = 0;

    for (int64_t i = 0; i < l->n; i++) {
        if (isnan(l->num[i])) continue;
        if (l->num[i] < lo) lo = l->num[i];
        if (l->num[i] > hi) hi = l->num[i];
        sum += l->num[i];
        n++;
    }
    const double mean = n > 0 ? sum / (double)n : NAN;
    for (int64_t i = 0; i < l->n; i++)
        if (!isnan(l->num[i])) squares += (l->num[i] - mean) * (l->num[i] - mean);
    put_real(o, "min", lo);
    put_real(o, "max", hi);
    put_real(o, "mean", mean);
    put_real(o, "std", n > 1 ? sqrt(squares / (double)(n - 1)) : NAN);
}

/* cardinality: labels an instance; density: that as a share of all labels. */
static void describe_sets(json_t *o, const ferry_labels *l)
{
    const int64_t m = ferry_i_labels_m(l);
    json_t *counts = json_object();
    int64_t known = 0, total = 0;

    for (int64_t i = 0; i < l->n; i++)
        known += l->known[i] != 0;
    for (int64_t k = 0; k < m; k++) {
        json_t *name = text(ferry_i_ids_at(l->names, k));
        int64_t on = 0;
        for (int64_t i = 0; i < l->n; i++)
            on += l->known[i] && l->on[i * m + k];
        total += on;
        if (name) put_int(counts, json_string_value(name), on);
        json_decref(name);
    }
    const double each = known > 0 ? (double)total / (double)known : 0;
    put_int(o, "labels", m);
    put_real(o, "cardinality", each);
    put_real(o, "density", m > 0 ? each / (double)m : 0);
    put(o, "counts", counts);
}

static json_t *describe_labels(const ferry_labels *l, bool *fine)
{
    static const char *const kinds[] = {"class", "number", "set"};
    json_t *o = json_object();
    int64_t known = 0;

    for (int64_t i = 0; i < l->n; i++)
        known += ferry_i_labels_has(l, i);
    put(o, "kind", json_string(kinds[l->kind]));
    put_int(o, "known", known);
    put_int(o, "missing", l->n - known);
    if (l->kind == FERRY_LABEL_CLASS) *fine &= describe_classes(o, l);
    if (l->kind == FERRY_LABEL_NUMBER) describe_numbers(o, l);
    if (l->kind == FERRY_LABEL_SET) describe_sets(o, l);
    return o;
}

static int64_t label_bytes(const ferry_labels *l)
{
    if (!l) return 0;
    if (l->kind == FERRY_LABEL_CLASS) return l->n * 4;
    return l->kind == FERRY_LABEL_NUMBER ? l->n * 8 : l->n * (ferry_i_labels_m(l) + 1);
}

/* ---- graph, ratings, listing ---- */

static void describe_graph(json_t *o, const ferry_data *d)
{
    double lo = INFINITY, hi = -INFINITY;
    int64_t loops = 0;

    for (int64_t e = 0; e < d->edges; e++) {
        const double w = d->weight ? d->weight[e] : 1;
        loops += d->from[e] == d->to[e];
        if (w < lo) lo = w;
        if (w > hi) hi = w;
    }
    put_int(o, "nodes", ferry_i_ids_count(d->nodes));
    put_int(o, "edges", d->edges);
    put_int(o, "self_links", loops);
    put_real(o, "min", lo);
    put_real(o, "max", hi);
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* How often each value occurs, when there are few different ones (a scale). */
static json_t *histogram(const ferry_ratings *r, bool *fine)
{
    double *v = ferry_i_calloc(r->n, sizeof *v);
    json_t *o = json_object();
    int64_t n = 0;

    for (int64_t e = 0; v && e < r->n; e++)
        if (!isnan(r->value[e])) v[n++] = r->value[e];
    if (v) qsort(v, (size_t)n, sizeof *v, by_size);
    for (int64_t e = 0, next; v && e < n; e = next) {
        char key[32];
        for (next = e; next < n && v[next] == v[e]; next++)
            continue;
        (void)ferry_i_format_real(key, v[e]);
        put_int(o, key, next - e);
        if (json_object_size(o) <= 50) continue;
        json_object_clear(o); /* not a scale */
        break;
    }
    *fine &= v != NULL;
    ferry_i_free(v);
    return o;
}

static void describe_ratings(json_t *o, const ferry_ratings *r, bool *fine)
{
    const double cells =
        (double)ferry_i_ids_count(r->users) * (double)ferry_i_ids_count(r->items);
    int64_t known = 0;
    double sum = 0;

    for (int64_t e = 0; e < r->n; e++) {
        if (isnan(r->value[e])) continue;
        known++;
        sum += r->value[e];
    }
    put_int(o, "ratings", known);
    put_int(o, "to_predict", r->n - known);
    put_int(o, "users", ferry_i_ids_count(r->users));
    put_int(o, "items", ferry_i_ids_count(r->items));
    put_real(o, "density", cells > 0 ? (double)known / cells : 0);
    put_real(o, "min", r->lo);
    put_real(o, "max", r->hi);
    put_real(o, "mean", known > 0 ? sum / (double)known : NAN);
    put(o, "histogram", histogram(r, fine));
}

static json_t *describe_listing(const ferry_data *d)
{
    json_t *list = json_array();

    for (int64_t i = 0; i < d->n_listing; i++) {
        json_t *o = json_object();
        put(o, "name", text(d->listing[i].name));
        put(o, "type", text(d->listing[i].type));
        (void)json_array_append_new(list, o);
    }
    return list;
}

static int64_t ids_bytes(const ferry_ids *ids)
{
    int64_t bytes = 0;

    for (int64_t i = 0; i < ferry_i_ids_count(ids); i++)
        bytes += (int64_t)strlen(ferry_i_ids_at(ids, i)) + 1 + 8 + 16;
    return bytes;
}

/* Bytes of the arrays and names. */
static int64_t memory(const ferry_data *d)
{
    int64_t bytes = ids_bytes(d->ids) + ids_bytes(d->features) + ids_bytes(d->nodes);

    if (d->x) bytes += matrix_bytes(d->x);
    bytes += label_bytes(d->labels) + d->edges * (d->weight ? 16 : 8);
    if (d->ratings)
        bytes += d->ratings->n * 16 + ids_bytes(d->ratings->users) +
                 ids_bytes(d->ratings->items);
    return bytes;
}

static json_t *describe(const ferry_data *d, bool *fine)
{
    json_t *o = json_object();

    put(o, "path", text(d->path));
    put(o, "format", json_string(d->format));
    put(o, "kind", json_string(kind_name(d->kind)));
    if (d->x) describe_matrix(o, d);
    if (d->kind == FERRY_DATA_VIEW || d->kind == FERRY_DATA_LABELS) {
        if (!d->x) put_int(o, "rows", d->labels ? d->labels->n : 0);
        put(o, "ids", d->ids ? some(d->ids) : json_null());
        put(o, "labels", d->labels ? describe_labels(d->labels, fine) : json_null());
    }
    if (d->kind == FERRY_DATA_GRAPH) describe_graph(o, d);
    if (d->kind == FERRY_DATA_RATINGS) describe_ratings(o, d->ratings, fine);
    if (d->kind == FERRY_DATA_LISTING) put(o, "members", describe_listing(d));
    put_int(o, "memory_bytes", memory(d));
    return o;
}

ferry_status ferry_data_describe(ferry_ctx *ctx, const ferry_data *data, char **out)
{
    ferry_status st = FERRY_OK;
    bool fine = true;
    json_t *o = describe(data, &fine);
    char *dump = NULL;

    *out = NULL;
    dump =
        o && fine
            ? json_dumps(o, JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(15))
            : NULL;
    FERRY_HAVE(ctx, dump);
    *out = ferry_i_strdup(dump); /* so that ferry_string_free() fits */
    FERRY_HAVE(ctx, *out);
done:
    json_decref(o);
    free(dump);
    return st;
}
