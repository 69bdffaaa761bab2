/* FDATA: a view as arrays that are used where they lie in the file, by a map of it.
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
 *
 * Everything is checked when the file is opened (one pass over the indices and values); from then on it is
 * taken to stay as it is, as any map is. */
#include <stdio.h>
#include <string.h>

#include "core/json.h"
#include "data/archive.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "these files are little-endian and are used in place: this machine needs a swap here"
#endif

/* what our own begin with; readers of safetensors refuse longer headers */
#define OURS "{\"__metadata__\":{\"ferry.data\":\"1\""
#define HEADER_MAX ((int64_t)100000000)

typedef enum type { F64, I64, I32, U8 } type;
static const struct {
    const char *name;
    int64_t width;
} types[] = {{"F64", 8}, {"I64", 8}, {"I32", 4}, {"U8", 1}};

/* ---- reading ---- */

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
    FERRY_NEED(ctx, len <= (uint64_t)HEADER_MAX, FERRY_EDATA,
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
    ferry_status st = FERRY_OK;
    const void *x = NULL;
    int64_t side[2];

    FERRY_TRY(find(ctx, f, "x", F64, 2, side, &x));
    if (x) {
        const ferry_array a = {side[0], side[1], side[1], (double *)(uintptr_t)x};
        FERRY_TRY(ferry_i_matrix_borrow_array(ctx, &a, out));
    } else {
        FERRY_TRY(read_csr(ctx, f, out));
    }
done:
    return st;
}

static ferry_status read_texts(ferry_ctx *ctx, const opened *f, const char *name,
                               ferry_ids **out)
{
    ferry_status st = FERRY_OK;
    const void *bytes = NULL;
    int64_t side[2];

    FERRY_TRY(find(ctx, f, name, U8, 1, side, &bytes));
    if (bytes) FERRY_TRY(ferry_i_ids_parse(ctx, name, bytes, side[0], out));
done:
    return st;
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
    ferry_status st = FERRY_OK;

    *out = NULL;
    for (int k = 0; k <= FERRY_LABEL_SET && !*out; k++) {
        *kind = (ferry_label_kind)k;
        FERRY_TRY(find(ctx, f, name[k], of[k], k == FERRY_LABEL_SET ? 2 : 1, side, out));
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
done:
    ferry_i_ids_free(names);
    return st;
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
    (void)as;
    FERRY_TRY(ferry_i_input_hold(ctx, in, &held));
    FERRY_HAVE(ctx, d = ferry_i_data_new("fdata", in->path, FERRY_DATA_VIEW));
    FERRY_TRY(open_header(ctx, held->data, held->size, &f));
    FERRY_TRY(read_x(ctx, &f, &d->x));
    FERRY_TRY(read_texts(ctx, &f, "ids", &d->ids));
    FERRY_TRY(read_texts(ctx, &f, "features", &d->features));
    FERRY_TRY(read_labels(ctx, &f, d->x->rows, &d->labels));
    d->x->release = ferry_i_held_free; /* by the last owner of the matrix */
    FERRY_MOVE(d->x->lender, held);
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
    const int64_t len = sizeof OURS - 1;

    return n >= 8 + len && memcmp(head + 8, OURS, (size_t)len) == 0 ? 100 : 0;
}

/* ---- writing ---- */

/* An array to be written; those of no bytes too, so that an empty view is one. */
typedef struct array {
    const char *name;
    type t;
    int dims;
    int64_t side[2];
    const void *data;
} array;

/* All that there is, the widest types first. */
typedef struct list {
    array at[10];
    int n;
    int64_t shape[2];
    ferry_text ids, features, names;
} list;

static void add(list *l, const char *name, type t, int dims, int64_t rows, int64_t cols,
                const void *data)
{
    l->at[l->n++] = (array){name, t, dims, {rows, cols}, data};
}

static void add_texts(list *l, const char *name, const ferry_ids *ids, ferry_text *t)
{
    if (!ids) return;
    ferry_i_ids_print(ids, t);
    add(l, name, U8, 1, t->len, 1, t->s);
}

static void list_arrays(const ferry_data *data, list *l)
{
    const ferry_matrix *x = data->x;
    const ferry_labels *y = data->labels;

    l->shape[0] = x->rows;
    l->shape[1] = x->cols;
    if (x->dense) add(l, "x", F64, 2, x->rows, x->cols, x->dense);
    if (!x->dense) add(l, "x.value", F64, 1, x->nnz, 1, x->value);
    if (!x->dense) add(l, "x.start", I64, 1, x->rows + 1, 1, x->start);
    if (!x->dense) add(l, "x.shape", I64, 1, 2, 1, l->shape);
    if (y && y->num) add(l, "labels.number", F64, 1, y->n, 1, y->num);
    if (!x->dense) add(l, "x.index", I32, 1, x->nnz, 1, x->index);
    if (y && y->cls) add(l, "labels.class", I32, 1, y->n, 1, y->cls);
    if (y && y->on) add(l, "labels.set", U8, 2, y->n, ferry_i_labels_m(y), y->on);
    if (y && y->on) add(l, "labels.known", U8, 1, y->n, 1, y->known);
    add_texts(l, "ids", data->ids, &l->ids);
    add_texts(l, "features", data->features, &l->features);
    if (y) add_texts(l, "labels.names", y->names, &l->names);
}

static int64_t bytes_of(const array *a)
{
    return a->side[0] * a->side[1] * types[a->t].width;
}

/* Padded, so that the data begins at a multiple of 64 bytes. */
static void print_header(const list *l, ferry_text *t)
{
    int64_t at = 0;

    ferry_i_text_addf(t, OURS ",\"ferry.version\":\"%s\"}", ferry_version());
    for (int i = 0; i < l->n; i++) {
        const array *a = &l->at[i];
        ferry_i_text_addf(t, ",\"%s\":{\"dtype\":\"%s\",\"shape\":[%lld", a->name,
                          types[a->t].name, (long long)a->side[0]);
        if (a->dims == 2) ferry_i_text_addf(t, ",%lld", (long long)a->side[1]);
        ferry_i_text_addf(t, "],\"data_offsets\":[%lld,%lld]}", (long long)at,
                          (long long)(at + bytes_of(a)));
        at += bytes_of(a);
    }
    ferry_i_text_add(t, "}");
    while (!t->failed && (8 + t->len) % 64 != 0)
        ferry_i_text_add(t, " ");
}

static ferry_status write_fdata(ferry_ctx *ctx, const ferry_data *data, const char *path,
                                const ferry_opts *opts)
{
    ferry_status st = FERRY_OK;
    ferry_text head = {0};
    ferry_out *o = NULL;
    list l = {.n = 0};

    (void)opts;
    FERRY_NEED(ctx, data->kind == FERRY_DATA_VIEW && data->x, FERRY_EINVAL,
               "%s: format fdata holds a view only", path);
    list_arrays(data, &l);
    print_header(&l, &head);
    FERRY_HAVE(ctx, !head.failed && !l.ids.failed && !l.features.failed && !l.names.failed);
    FERRY_TRY(ferry_i_out_open(ctx, path, &o));
    ferry_i_out_write(o, &(uint64_t){(uint64_t)head.len}, 8);
    ferry_i_out_write(o, head.s, head.len);
    for (int i = 0; i < l.n; i++)
        if (bytes_of(&l.at[i]) > 0) ferry_i_out_write(o, l.at[i].data, bytes_of(&l.at[i]));
    st = ferry_i_out_commit(ctx, o);
done:
    ferry_i_text_free(&head);
    ferry_i_text_free(&l.ids);
    ferry_i_text_free(&l.features);
    ferry_i_text_free(&l.names);
    return st;
}

const ferry_format ferry_i_format_fdata = {
    .info = {.name = "fdata",
             .extensions = ".fdata .safetensors",
             .summary =
                 "arrays that are used where they lie in the file, for data that does "
                 "not fit in memory",
             .writes = 1},
    .kinds = 1u << FERRY_DATA_VIEW,
    .options = "",
    .sniff = sniff_fdata,
    .read = read_fdata,
    .write = write_fdata,
};
