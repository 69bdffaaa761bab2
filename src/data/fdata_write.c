/* FDATA, written: a header of all arrays, then the arrays (fdata.c). */
#include "data/fdata.h"

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
    array at[11];
    int n;
    int64_t shape[2];
    double range[2];
    ferry_text ids, features, names; /* of ratings: users, items */
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

static void list_ratings(const ferry_ratings *r, list *l)
{
    l->range[0] = r->lo;
    l->range[1] = r->hi;
    add(l, "ratings.value", F64, 1, r->n, 1, r->value);
    if (r->ranged) add(l, "ratings.range", F64, 1, 2, 1, l->range);
    add(l, "ratings.user", I32, 1, r->n, 1, r->user);
    add(l, "ratings.item", I32, 1, r->n, 1, r->item);
    add_texts(l, "ratings.users", r->users, &l->ids);
    add_texts(l, "ratings.items", r->items, &l->features);
}

static void list_view(const ferry_data *data, list *l)
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
    if (y && y->text) add(l, "labels.text", I32, 1, y->n, 1, y->text);
    if (y && y->on) add(l, "labels.set", U8, 2, y->n, ferry_i_labels_m(y), y->on);
    if (y && y->on) add(l, "labels.known", U8, 1, y->n, 1, y->known);
    add_texts(l, "ids", data->ids, &l->ids);
    add_texts(l, "features", data->features, &l->features);
    if (y) add_texts(l, "labels.names", y->text ? y->texts : y->names, &l->names);
}

static int64_t bytes_of(const array *a)
{
    return a->side[0] * a->side[1] * types[a->t].width;
}

/* Padded, so that the data begins at a multiple of 64 bytes. */
static void print_header(const list *l, ferry_text *t)
{
    int64_t at = 0;

    ferry_i_text_addf(t, FDATA_OURS ",\"ferry.version\":\"%s\"}", ferry_version());
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

ferry_status ferry_i_fdata_write(ferry_ctx *ctx, const ferry_data *data, const char *path,
                                 const ferry_opts *opts)
{
    ferry_status st = FERRY_OK;
    ferry_text head = {0};
    ferry_out *o = NULL;
    list l = {.n = 0};

    (void)opts;
    FERRY_NEED(ctx, data->x || data->ratings, FERRY_EINVAL,
               "%s: format fdata holds a view or ratings", path);
    if (data->x)
        list_view(data, &l);
    else
        list_ratings(data->ratings, &l);
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
