/* What a file holds, in numbers: what `ferry inspect` prints.
 *
 * Everything that decides what a method will see: shape, how full, missing cells, range, labels
 * and how often each occurs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/scale.h"
#include "show/show.h"

enum {
    SOME = 5,       /* names shown of many */
    SCALE = 50,     /* more different ratings than this are no scale, and not counted */
    MANY = 1000000, /* columns, of which there may be SPARE to a value */
    SPARE = 16
};

/* What is borrowed, and what it lies in. */
typedef struct described {
    ferry_description pub; /* first: ferry_description_free() gets its address */
    ferry_arena arena;
} described;

/* A copy. Texts from files may not be UTF-8: then their bytes count as Latin-1. */
static const char *text(ferry_arena *p, const char *s)
{
    ferry_text t = {0};

    if (!s || ferry_i_utf8_valid(s, (int64_t)strlen(s))) return ferry_i_arena_text(p, s);
    for (char one[4]; *s; s++)
        ferry_i_text_addn(&t, one, ferry_i_put_utf8(one, (unsigned char)*s));
    const char *copy = t.failed ? NULL : ferry_i_arena_text(p, t.s);
    p->failed |= t.failed;
    ferry_i_text_free(&t);
    return copy;
}

/* Copies of the first n names; NULL for none. */
static const char *const *names(ferry_arena *p, const ferry_ids *ids, int64_t n)
{
    const char **list = ids ? ferry_i_arena_new(p, n, sizeof *list) : NULL;

    for (int64_t i = 0; list && i < n; i++)
        list[i] = text(p, ferry_i_ids_at(ids, i));
    return list;
}

static int64_t few(const ferry_ids *ids)
{
    const int64_t n = ids ? ferry_i_ids_count(ids) : 0;

    return n < SOME ? n : SOME;
}

static double finite_or_nan(double x)
{
    return isfinite(x) ? x : NAN;
}

/* ---- matrix ---- */

/* What one walk over a matrix finds. lo and hi are over cells that are not missing;
 * infinite where there is none. */
typedef struct summary {
    /* cells that are NaN; cells neither 0 nor NaN; rows without any of the latter */
    int64_t missing, nonzero, empty_rows;
    double lo, hi;
} summary;

/* O(stored cells). Comparisons with NaN are false, so missing cells leave lo and hi
 * alone. */
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

/* CSR: an entry is a 4-byte column and an 8-byte value; 8 bytes for the start of each
 * row. */
static int64_t matrix_bytes(const ferry_matrix *x)
{
    if (x->dense) return x->nnz * (int64_t)sizeof(double);
    return x->nnz * 12 + (x->rows + 1) * 8;
}

static void describe_matrix(described *o, const ferry_data *d)
{
    const ferry_matrix *x = d->x;
    const summary s = summarise(x);
    const double cells = (double)x->rows * (double)x->cols;

    o->pub.rows = x->rows;
    o->pub.columns = x->cols;
    o->pub.sparse = !x->dense;
    o->pub.nonzeros = s.nonzero;
    o->pub.density = cells > 0 ? (double)s.nonzero / cells : 0;
    o->pub.missing = s.missing;
    o->pub.empty_rows = s.empty_rows;
    o->pub.min = finite_or_nan(s.lo);
    o->pub.max = finite_or_nan(s.hi);
    o->pub.n_features = few(d->features);
    o->pub.features = names(&o->arena, d->features, o->pub.n_features);
}

/* What `scale: auto` makes of the view by itself: other domains that share it may tip the rule.
 * Values that nothing can be made of have no scale. Nor is one told of a view that all but a few of
 * its columns say nothing in: the rule's numbers for each column would be larger than the file by far. */
typedef struct asked {
    const ferry_matrix *x;
    ferry_scale kind;
    char why[128];
} asked;

static void ask_scale(scope *s, void *arg)
{
    asked *a = arg;
    const ferry_scale_part part = {.x = a->x};
    ferry_scale_facts f;

    a->kind = scaler_fit(s, s, FERRY_SCALE_AUTO, a->x->cols, 1, &part, &f)->kind;
    scale_why(a->kind, &f, sizeof a->why, a->why);
}

static ferry_status describe_scale(ferry_ctx *ctx, described *o, const ferry_matrix *x)
{
    asked a = {.x = x};

    if (x->rows == 0 || x->cols == 0) return FERRY_OK;
    if (!x->dense && x->cols > MANY && x->cols / SPARE > x->start[x->rows]) return FERRY_OK;
    const ferry_status st = scope_run(ctx, ask_scale, &a);
    if (st == FERRY_ENUMERIC) return FERRY_OK;
    o->pub.scale = ferry_i_scale_name(a.kind);
    o->pub.scale_reason = text(&o->arena, a.why);
    return st;
}

/* ---- labels ---- */

/* How many instances have each class, or label of a set. */
static void count_labels(described *o, const ferry_labels *l)
{
    const int64_t m = ferry_i_labels_m(l);
    int64_t *count = ferry_i_arena_new(&o->arena, m, sizeof *count);

    o->pub.n_counts = m;
    o->pub.count_names = names(&o->arena, l->names, m);
    o->pub.counts = count;
    for (int64_t i = 0; count && i < l->n; i++) {
        if (l->kind == FERRY_LABEL_CLASS && l->cls[i] >= 0) count[l->cls[i]]++;
        for (int64_t k = 0; l->kind == FERRY_LABEL_SET && l->known[i] && k < m; k++)
            count[k] += l->on[i * m + k] != 0;
    }
}

static void describe_numbers(ferry_description *o, const ferry_labels *l)
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
    o->label_min = finite_or_nan(lo);
    o->label_max = finite_or_nan(hi);
    o->label_mean = mean;
    o->label_std = n > 1 ? sqrt(squares / (double)(n - 1)) : NAN;
}

static void describe_labels(described *o, const ferry_labels *l)
{
    static const char *const kinds[] = {"class", "number", "set"};
    int64_t known = 0, on = 0;

    for (int64_t i = 0; i < l->n; i++)
        known += ferry_i_labels_has(l, i);
    o->pub.label_kind = kinds[l->kind];
    o->pub.labels_known = known;
    o->pub.labels_missing = l->n - known;
    if (l->kind == FERRY_LABEL_NUMBER)
        describe_numbers(&o->pub, l);
    else
        count_labels(o, l);
    for (int64_t k = 0; o->pub.counts && k < o->pub.n_counts; k++)
        on += o->pub.counts[k];
    if (l->kind == FERRY_LABEL_SET)
        o->pub.cardinality = known > 0 ? (double)on / (double)known : 0;
}

/* Sizes of cls (4), num (8), or on and known (m + 1 bytes an instance). */
static int64_t label_bytes(const ferry_labels *l)
{
    if (!l) return 0;
    if (l->kind == FERRY_LABEL_CLASS) return l->n * 4;
    return l->kind == FERRY_LABEL_NUMBER ? l->n * 8 : l->n * (ferry_i_labels_m(l) + 1);
}

/* ---- graph, ratings, listing ---- */

static void describe_graph(ferry_description *o, const ferry_data *d)
{
    double lo = INFINITY, hi = -INFINITY;
    int64_t loops = 0;

    for (int64_t e = 0; e < d->edges; e++) {
        const double w = d->weight ? d->weight[e] : 1;
        loops += d->from[e] == d->to[e];
        if (w < lo) lo = w;
        if (w > hi) hi = w;
    }
    o->nodes = ferry_i_ids_count(d->nodes);
    o->edges = d->edges;
    o->self_links = loops;
    o->min = finite_or_nan(lo);
    o->max = finite_or_nan(hi);
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* How often each value occurs, when there are few different ones (a scale). */
static void histogram(described *o, const ferry_ratings *r)
{
    double *v = ferry_i_calloc(r->n, sizeof *v);
    const char **name = ferry_i_arena_new(&o->arena, SCALE, sizeof *name);
    int64_t *count = ferry_i_arena_new(&o->arena, SCALE, sizeof *count), n = 0, k = 0;

    for (int64_t e = 0; v && e < r->n; e++)
        if (!isnan(r->value[e])) v[n++] = r->value[e];
    if (v) qsort(v, (size_t)n, sizeof *v, by_size);
    for (int64_t e = 0, next; v && name && count && e < n; e = next, k++) {
        char key[32];
        /* v[e] .. v[next - 1] are equal */
        for (next = e; next < n && v[next] == v[e]; next++)
            continue;
        if (k == SCALE) break; /* not a scale */
        (void)ferry_i_format_real(key, v[e]);
        name[k] = ferry_i_arena_text(&o->arena, key);
        count[k] = next - e;
        o->pub.n_counts = next == n ? k + 1 : 0;
    }
    o->pub.count_names = name;
    o->pub.counts = count;
    o->arena.failed |= v == NULL;
    ferry_i_free(v);
}

static void describe_ratings(described *o, const ferry_ratings *r)
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
    o->pub.ratings = known;
    o->pub.to_predict = r->n - known;
    o->pub.users = ferry_i_ids_count(r->users);
    o->pub.items = ferry_i_ids_count(r->items);
    o->pub.density = cells > 0 ? (double)known / cells : 0;
    o->pub.min = finite_or_nan(r->lo);
    o->pub.max = finite_or_nan(r->hi);
    o->pub.mean = known > 0 ? sum / (double)known : NAN;
    histogram(o, r);
}

static void describe_listing(described *o, const ferry_data *d)
{
    const char **name = ferry_i_arena_new(&o->arena, d->n_listing, sizeof *name);
    const char **type = ferry_i_arena_new(&o->arena, d->n_listing, sizeof *type);

    o->pub.n_members = d->n_listing;
    o->pub.members = name;
    o->pub.member_types = type;
    for (int64_t i = 0; name && type && i < d->n_listing; i++) {
        name[i] = text(&o->arena, d->listing[i].name);
        type[i] = text(&o->arena, d->listing[i].type);
    }
}

/* An estimate: the text with its end, a pointer to it, and its share of the hash table. */
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

/* Everything but path, format and kind. */
static void describe(described *o, const ferry_data *d)
{
    if (d->x) describe_matrix(o, d);
    if (d->kind == FERRY_DATA_VIEW || d->kind == FERRY_DATA_LABELS) {
        if (!d->x) o->pub.rows = d->labels ? d->labels->n : 0;
        o->pub.n_ids = few(d->ids);
        o->pub.ids = names(&o->arena, d->ids, o->pub.n_ids);
        if (d->labels) describe_labels(o, d->labels);
    }
    if (d->kind == FERRY_DATA_GRAPH) describe_graph(&o->pub, d);
    if (d->kind == FERRY_DATA_RATINGS) describe_ratings(o, d->ratings);
    if (d->kind == FERRY_DATA_LISTING) describe_listing(o, d);
    o->pub.memory_bytes = memory(d);
}

ferry_status ferry_data_describe(ferry_ctx *ctx, const ferry_data *data,
                                 ferry_description **out)
{
    FERRY_ARGS_OUT(ctx, out, out, data);

    static const char *const kinds[] = {"view", "labels", "graph", "ratings", "listing"};
    ferry_status st = FERRY_OK;
    described *o = NULL;
    char *json = NULL;

    FERRY_NEW(ctx, o, 1);
    o->pub = (ferry_description){.size = sizeof o->pub,
                                 .path = text(&o->arena, data->path),
                                 .format = data->format,
                                 .kind = kinds[data->kind],
                                 .columns = -1,
                                 .density = NAN,
                                 .min = NAN,
                                 .max = NAN,
                                 .mean = NAN,
                                 .label_min = NAN,
                                 .label_max = NAN,
                                 .label_mean = NAN,
                                 .label_std = NAN,
                                 .cardinality = NAN};
    describe(o, data);
    if (data->x) FERRY_TRY(describe_scale(ctx, o, data->x));
    FERRY_HAVE(ctx, !o->arena.failed);
    FERRY_TRY(ferry_i_description_json(ctx, &o->pub, &json));
    o->pub.json = text(&o->arena, json);
    FERRY_HAVE(ctx, !o->arena.failed);
    *out = &o->pub;
    o = NULL;
done:
    ferry_i_free(json);
    if (o) ferry_description_free(&o->pub);
    return st;
}

void ferry_description_free(ferry_description *description)
{
    described *o = (described *)description;

    if (!o) return;
    ferry_i_arena_free(&o->arena);
    ferry_i_free(o);
}
