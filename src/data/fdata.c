/* FDATA: a view, or ratings, as arrays in a file; a view's are used where they lie, by a map of it.
 *
 * What does not fit in memory is read by the kernel, page by page, when it is asked for, and nothing is parsed a second
 * time. The layout is that of safetensors: 8 bytes with the length of the header, little-endian; the header, JSON, {"NAME":
 * {"dtype", "shape", "data_offsets"}, ...}, padded with spaces; the arrays, the widest types first, so that all are
 * aligned. Any program that writes safetensors can make one. The names:
 *
 *   x                                   F64 instances x features; NaN: missing; or, as CSR,
 *   x.shape, x.start, x.index, x.value  I64 (2), I64 (instances + 1), I32, F64
 *   ids, features                       U8: texts, each ended by a zero byte
 *   labels.class                        I32 (instances): places in labels.names, -1: missing
 *   labels.number                       F64 (instances), NaN: missing
 *   labels.set, labels.known            U8 (instances x names) of 0 and 1; U8 (instances), 0: missing
 *   labels.names                        U8: texts
 *   labels.text                         I32: of numbers, places in labels.names; -1: none
 *   ratings.user, .item, .value         I32, I32, F64 (NaN: to be predicted), as long as each other
 *   ratings.users, .items               U8: texts, which .user and .item are places in
 *   ratings.range                       F64 (2): least and greatest, if they were given
 *
 * Everything is checked when the file is opened (one pass over the indices and values); from then on it is
 * taken to stay as it is, as any map is. */
#include <math.h>
#include <string.h>

#include "core/json.h"
#include "data/fdata.h"

typedef struct opened {
    const char *data; /* what follows the header */
    int64_t n;
    json_t *root;
} opened;

/* Number i of a list of n, or -1. */
static int64_t item(const json_t *list, int i, int n)
{
    const json_t *v =
        json_array_size(list) == (size_t)n ? json_array_get(list, (size_t)i) : NULL;

    return json_is_integer(v) ? (int64_t)json_integer_value(v) : -1;
}

/* Whether an array of these sides takes just so many bytes; an empty one may not claim sides out of all
 * proportion to the file, either. */
static bool fills(const opened *f, const int64_t side[2], int64_t width, int64_t bytes)
{
    if (side[0] > f->n + 1048576 || side[1] > f->n + 1048576) return false;
    if (side[0] == 0 || side[1] == 0) return bytes == 0;
    return side[0] <= bytes / width / side[1] && side[0] * side[1] * width == bytes;
}

/* The array of that name, in the file; NULL when there is none. */
static ferry_status find(ferry_ctx *ctx, const opened *f, const char *name, type t,
                         int dims, int64_t side[2], const void **out)
{
    ferry_status st = FERRY_OK;
    const json_t *o = json_object_get(f->root, name);
    const json_t *shape = json_object_get(o, "shape"),
                 *place = json_object_get(o, "data_offsets");
    const char *found = json_string_value(json_object_get(o, "dtype"));
    const int64_t at = item(place, 0, 2), end = item(place, 1, 2);

    *out = NULL;
    side[0] = side[1] = 1;
    if (!o) goto done;
    FERRY_NEED(ctx, found && strcmp(found, types[t].name) == 0, FERRY_EDATA,
               "tensor '%s' has type %.20s, expected %s", name, found ? found : "none",
               types[t].name);
    for (int k = 0; k < dims; k++)
        FERRY_NEED(ctx, (side[k] = item(shape, k, dims)) >= 0, FERRY_EDATA,
                   "tensor '%s' has no shape of %d numbers", name, dims);
    FERRY_NEED(ctx, at >= 0 && end >= at && fills(f, side, types[t].width, end - at),
               FERRY_EDATA, "tensor '%s' has shape %lld x %lld and %lld bytes", name,
               (long long)side[0], (long long)side[1], (long long)(end - at));
    FERRY_NEED(ctx, end <= f->n, FERRY_EDATA,
               "is truncated: tensor '%s' ends at byte %lld of the data, which has %lld",
               name, (long long)end, (long long)f->n);
    FERRY_NEED(ctx, (uintptr_t)(f->data + at) % (uintptr_t)types[t].width == 0, FERRY_EDATA,
               "tensor '%s' does not begin at a multiple of %lld bytes", name,
               (long long)types[t].width);
    *out = f->data + at;
done:
    return st;
}

/* The header, and where the data begins. */
static ferry_status open_header(ferry_ctx *ctx, const char *bytes, int64_t n, opened *f)
{
    ferry_status st = FERRY_OK;
    json_error_t error = {.text = ""};
    uint64_t len = 0;

    FERRY_NEED(ctx, n > 9 && bytes[8] == '{', FERRY_EDATA,
               "does not begin with a safetensors header");
    memcpy(&len, bytes, sizeof len);
    FERRY_NEED(ctx, len <= (uint64_t)FDATA_HEADER_MAX, FERRY_EDATA,
               "does not begin with a safetensors header");
    FERRY_NEED(ctx, (int64_t)len <= n - 8, FERRY_EDATA,
               "is truncated: has %lld bytes, the header alone ends at byte %lld",
               (long long)n, (long long)len + 8);
    FERRY_TRY(ferry_i_json_parse(ctx, bytes + 8, (int64_t)len, JSON_REJECT_DUPLICATES,
                                 &error, &f->root));
    FERRY_NEED(ctx, json_is_object(f->root), FERRY_EDATA, "its header is not JSON (%s)",
               error.text);
    const char *version = json_string_value(
        json_object_get(json_object_get(f->root, "__metadata__"), "ferry.data"));
    FERRY_NEED(ctx, !version || strcmp(version, "1") == 0, FERRY_EDATA,
               "has version %.20s of the format, this is ferry %s, which reads version 1",
               version, ferry_version());
    f->data = bytes + 8 + len;
    f->n = n - 8 - (int64_t)len;
done:
    return st;
}

/* x.shape, x.start, x.index and x.value; only the starts are copied. */
static ferry_status read_csr(ferry_ctx *ctx, const opened *f, ferry_matrix **out)
{
    ferry_status st = FERRY_OK;
    const void *shape = NULL, *start = NULL, *index = NULL, *value = NULL;
    int64_t two[2], starts[2], indices[2], values[2], *own = NULL;

    FERRY_TRY(find(ctx, f, "x.shape", I64, 1, two, &shape));
    FERRY_TRY(find(ctx, f, "x.start", I64, 1, starts, &start));
    FERRY_TRY(find(ctx, f, "x.index", I32, 1, indices, &index));
    FERRY_TRY(find(ctx, f, "x.value", F64, 1, values, &value));
    FERRY_NEED(
        ctx, shape && start && index && value && two[0] == 2, FERRY_EDATA,
        "has no view: neither a tensor 'x' (F64, instances x features) nor x.shape, x.start, "
        "x.index and x.value");
    const int64_t *side = shape;
    FERRY_NEED(ctx,
               side[0] >= 0 && side[1] >= 0 && starts[0] - 1 == side[0] &&
                   indices[0] == values[0],
               FERRY_EDATA,
               "a sparse view of %lld instances has %lld starts, %lld indices, %lld values",
               (long long)side[0], (long long)starts[0], (long long)indices[0],
               (long long)values[0]);
    FERRY_NEW(ctx, own, starts[0]);
    memcpy(own, start, (size_t)starts[0] * sizeof *own);
    FERRY_NEED(ctx, own[side[0]] == values[0], FERRY_EDATA,
               "the last row ends at entry %lld, but there are %lld",
               (long long)own[side[0]], (long long)values[0]);
    st = ferry_i_matrix_borrow_sparse(ctx, side[0], side[1], own, index, value, out);
    own = NULL; /* gone, whatever the outcome */
done:
    ferry_i_free(own);
    return st;
}

static ferry_status read_x(ferry_ctx *ctx, const opened *f, ferry_matrix **out)
{
    const void *x = NULL;
    int64_t side[2];

    FERRY_PASS(find(ctx, f, "x", F64, 2, side, &x));
    if (x) {
        const ferry_array a = {side[0], side[1], side[1], (double *)(uintptr_t)x};
        FERRY_PASS(ferry_i_matrix_borrow_array(ctx, &a, out));
    } else {
        FERRY_PASS(read_csr(ctx, f, out));
    }
    return FERRY_OK;
}

static ferry_status read_texts(ferry_ctx *ctx, const opened *f, const char *name,
                               ferry_ids **out)
{
    const void *bytes = NULL;
    int64_t side[2];

    FERRY_PASS(find(ctx, f, name, U8, 1, side, &bytes));
    if (bytes && !ferry_i_utf8_valid(bytes, side[0]))
        return ferry_i_fail(ctx, FERRY_EDATA, "tensor '%s' is not UTF-8", name);
    if (bytes) FERRY_PASS(ferry_i_ids_parse(ctx, name, bytes, side[0], out));
    return FERRY_OK;
}

/* Which of the three kinds there is, if any; its array and sides. */
static ferry_status find_labels(ferry_ctx *ctx, const opened *f, ferry_label_kind *kind,
                                int64_t side[2], const void **out)
{
    static const char *const name[] = {[FERRY_LABEL_CLASS] = "labels.class",
                                       [FERRY_LABEL_NUMBER] = "labels.number",
                                       [FERRY_LABEL_SET] = "labels.set"};
    static const type of[] = {
        [FERRY_LABEL_CLASS] = I32, [FERRY_LABEL_NUMBER] = F64, [FERRY_LABEL_SET] = U8};

    *out = NULL;
    for (int k = 0; k <= FERRY_LABEL_SET && !*out; k++) {
        *kind = (ferry_label_kind)k;
        FERRY_PASS(find(ctx, f, name[k], of[k], k == FERRY_LABEL_SET ? 2 : 1, side, out));
    }
    return FERRY_OK;
}

/* Texts of numbers, where there are any: text[i] is a place in `texts`, -1: none. */
static ferry_status take_number_texts(ferry_ctx *ctx, const opened *f,
                                      const ferry_ids *texts, ferry_labels *l)
{
    ferry_status st = FERRY_OK;
    const void *v = NULL;
    int64_t side[2];

    FERRY_TRY(find(ctx, f, "labels.text", I32, 1, side, &v));
    if (!v || !l->num) goto done;
    FERRY_NEED(ctx, side[0] == l->n, FERRY_EDATA, "%lld labels but %lld texts of them",
               (long long)l->n, (long long)side[0]);
    const int32_t *text = v;
    for (int64_t i = 0; i < l->n; i++) {
        double x = 0;
        if (text[i] == -1) continue;
        FERRY_NEED(ctx, text[i] >= 0 && text[i] < ferry_i_ids_count(texts), FERRY_EDATA,
                   "labels.text of instance %lld is %d, but there are %lld names",
                   (long long)i, (int)text[i], (long long)ferry_i_ids_count(texts));
        const char *s = ferry_i_ids_at(texts, text[i]), *end = s + strlen(s);
        FERRY_NEED(ctx, ferry_i_parse_real(s, end, &x) == end && x == l->num[i],
                   FERRY_EDATA, "label of instance %lld is %g, but its text \"%.40s\"",
                   (long long)i, l->num[i], s);
        FERRY_HAVE(ctx, ferry_i_labels_write(l, i, x, s, end - s));
    }
done:
    return st;
}

/* l <- v (and known), every one of which must be what its kind can be. */
static ferry_status take_labels(ferry_ctx *ctx, const void *v, const uint8_t *known,
                                ferry_labels *l)
{
    ferry_status st = FERRY_OK;
    const int64_t m = ferry_i_labels_m(l);
    const int32_t *cls = v;
    const uint8_t *on = v;

    for (int64_t i = 0; i < l->n; i++) {
        if (l->kind == FERRY_LABEL_NUMBER) {
            l->num[i] = ((const double *)v)[i];
        } else if (l->kind == FERRY_LABEL_CLASS) {
            FERRY_NEED(ctx, cls[i] >= -1 && cls[i] < m, FERRY_EDATA,
                       "labels.class of instance %lld is %d, but there are %lld names",
                       (long long)i, (int)cls[i], (long long)m);
            l->cls[i] = cls[i];
        } else {
            l->known[i] = !known || known[i];
            for (int64_t c = i * m; l->known[i] && c < (i + 1) * m; c++) {
                FERRY_NEED(ctx, on[c] <= 1, FERRY_EDATA,
                           "labels.set of instance %lld has %d, expected 0 or 1",
                           (long long)i, on[c]);
                l->on[c] = on[c];
            }
        }
    }
done:
    return st;
}

static ferry_status read_labels(ferry_ctx *ctx, const opened *f, int64_t rows,
                                ferry_labels **out)
{
    ferry_status st = FERRY_OK;
    ferry_label_kind kind = FERRY_LABEL_CLASS;
    const void *v = NULL, *known = NULL;
    int64_t side[2], knowns[2];
    ferry_ids *names = NULL;

    FERRY_TRY(find_labels(ctx, f, &kind, side, &v));
    if (!v) goto done;
    FERRY_TRY(read_texts(ctx, f, "labels.names", &names));
    FERRY_TRY(find(ctx, f, "labels.known", U8, 1, knowns, &known));
    FERRY_NEED(ctx, side[0] == rows && (!known || knowns[0] == rows), FERRY_EDATA,
               "%lld instances but %lld labels", (long long)rows, (long long)side[0]);
    FERRY_NEED(ctx, kind != FERRY_LABEL_SET || side[1] == ferry_i_ids_count(names),
               FERRY_EDATA, "labels.set has %lld labels, but there are %lld names",
               (long long)side[1], (long long)ferry_i_ids_count(names));
    FERRY_TRY(ferry_i_labels_new(ctx, kind, rows, names, out));
    FERRY_TRY(take_labels(ctx, v, known, *out));
    FERRY_TRY(take_number_texts(ctx, f, names, *out));
done:
    ferry_i_ids_free(names);
    return st;
}

/* Users and items must be there, values within the range that is given. */
static ferry_status check_ratings(ferry_ctx *ctx, const double *range, ferry_ratings *r)
{
    ferry_status st = FERRY_OK;
    const int64_t users = ferry_i_ids_count(r->users), items = ferry_i_ids_count(r->items);

    for (int64_t e = 0; e < r->n; e++) {
        const int32_t i = r->user[e], j = r->item[e];
        FERRY_NEED(ctx, i >= 0 && i < users && j >= 0 && j < items, FERRY_EDATA,
                   "rating %lld is of user %d and item %d, but there are %lld and %lld",
                   (long long)e + 1, (int)i, (int)j, (long long)users, (long long)items);
        FERRY_NEED(ctx, !range || !(r->value[e] < range[0] || r->value[e] > range[1]),
                   FERRY_EDATA, "rating %lld is %g, but the range is %g..%g",
                   (long long)e + 1, r->value[e], range[0], range[1]);
    }
    r->ranged = range != NULL;
    if (range) r->lo = range[0];
    if (range) r->hi = range[1];
    ferry_i_ratings_range(r);
done:
    return st;
}

/* They stay where they are; ids alone are copied. */
static ferry_status read_ratings(ferry_ctx *ctx, const opened *f, ferry_held **held,
                                 ferry_ratings **out)
{
    ferry_status st = FERRY_OK;
    const void *user = NULL, *item_of = NULL, *value = NULL, *range = NULL;
    int64_t n[2], m[2], values[2], two[2];
    ferry_ids *users = NULL, *items = NULL;

    FERRY_TRY(find(ctx, f, "ratings.user", I32, 1, n, &user));
    FERRY_TRY(find(ctx, f, "ratings.item", I32, 1, m, &item_of));
    FERRY_TRY(find(ctx, f, "ratings.value", F64, 1, values, &value));
    FERRY_TRY(find(ctx, f, "ratings.range", F64, 1, two, &range));
    FERRY_TRY(read_texts(ctx, f, "ratings.users", &users));
    FERRY_TRY(read_texts(ctx, f, "ratings.items", &items));
    FERRY_NEED(
        ctx, user && item_of && value && users && items, FERRY_EDATA,
        "has no ratings: it lacks one of ratings.user, .item, .value, .users, .items");
    FERRY_NEED(ctx, n[0] == values[0] && m[0] == values[0] && values[0] > 0, FERRY_EDATA,
               "%lld ratings of %lld users and %lld items", (long long)values[0],
               (long long)n[0], (long long)m[0]);
    const double *ends = range;
    FERRY_NEED(ctx,
               !range || (two[0] == 2 && isfinite(ends[0]) && isfinite(ends[1]) &&
                          ends[0] < ends[1]),
               FERRY_EDATA, "ratings.range: expected two numbers, the least first");
    FERRY_TRY(ferry_i_ratings_borrowed(ctx, values[0], user, item_of, value, users, items,
                                       held, out));
    FERRY_TRY(check_ratings(ctx, ends, *out));
done:
    ferry_i_ids_free(users);
    ferry_i_ids_free(items);
    return st;
}

/* The view keeps the map until its last owner lets go. */
static ferry_status read_view(ferry_ctx *ctx, const opened *f, ferry_held **held,
                              ferry_data *d)
{
    FERRY_PASS(read_x(ctx, f, &d->x));
    FERRY_PASS(read_texts(ctx, f, "ids", &d->ids));
    FERRY_PASS(read_texts(ctx, f, "features", &d->features));
    FERRY_PASS(read_labels(ctx, f, d->x->rows, &d->labels));
    d->x->release = ferry_i_held_free;
    FERRY_MOVE(d->x->keeper, *held);
    return FERRY_OK;
}

static ferry_status read_fdata(ferry_ctx *ctx, const ferry_input *in, const char *member,
                               const ferry_read_settings *s, ferry_data_kind as,
                               ferry_data **out)
{
    ferry_status st = FERRY_OK;
    ferry_held *held = NULL;
    ferry_data *d = NULL;
    opened f = {0};

    (void)member;
    (void)s;
    FERRY_TRY(ferry_i_input_hold(ctx, in, &held));
    FERRY_HAVE(ctx, d = ferry_i_data_new("fdata", in->path, as));
    FERRY_TRY(open_header(ctx, held->data, held->size, &f));
    /* whoever takes either gets the one that is there */
    if (as == FERRY_DATA_RATINGS || json_object_get(f.root, "ratings.value")) {
        d->kind = FERRY_DATA_RATINGS;
        FERRY_TRY(read_ratings(ctx, &f, &held, &d->ratings));
    } else {
        FERRY_TRY(read_view(ctx, &f, &held, d));
    }
    FERRY_MOVE(*out, d);
done:
    json_decref(f.root);
    ferry_data_free(d);
    ferry_i_held_free(held);
    if (st != FERRY_EDATA && st != FERRY_EINVAL) return st;
    return ferry_i_prefix(ctx, FERRY_EDATA, "%s", in->path);
}

static int sniff_fdata(const char *head, int64_t n)
{
    const int64_t len = sizeof FDATA_OURS - 1;

    return n >= 8 + len && memcmp(head + 8, FDATA_OURS, (size_t)len) == 0 ? 100 : 0;
}

const ferry_format ferry_i_format_fdata = {
    .info = {.name = "fdata",
             .extensions = ".fdata .safetensors",
             .summary =
                 "arrays that are used where they lie in the file, for data that does "
                 "not fit in memory",
             .writes = 1},
    .kinds = 1u << FERRY_DATA_VIEW | 1u << FERRY_DATA_RATINGS,
    .options = "",
    .sniff = sniff_fdata,
    .read = read_fdata,
    .write = ferry_i_fdata_write,
};
