/* MAT 5 files, written: x (double, full or sparse), labels, label_names, ids and features.
 *
 * Every variable is one element: tag, flags, dimensions, name, data, each part padded to 8
 * bytes. Texts are cell arrays of character rows in UTF-16. A class that is missing is an
 * empty text, a label set that is missing a row of NaN, so what is written reads back
 * whole.
 */
#include <math.h>
#include <string.h>

#include "data/fields.h"
#include "data/mat.h"

enum { INT8 = 1, UINT16 = 4, INT32 = 5, UINT32 = 6, DOUBLE = 9, MATRIX = 14 };
enum { CELL = 1, CHAR = 4, SPARSE = 5, FULL_DOUBLE = 6 };
/* lengths are 32-bit numbers */
#define MOST 0xfffffff0LL /* bytes of an element */

/* n rounded up to a multiple of 8, on which all parts begin. */
static int64_t padded(int64_t n)
{
    return (n + 7) / 8 * 8;
}

/* Type and length. Always the long form, also for up to 4 bytes: every reader knows it. */
static void put_tag(ferry_out *o, uint32_t type, int64_t n)
{
    const uint32_t tag[2] = {type, (uint32_t)n};

    ferry_i_out_write(o, tag, sizeof tag);
}

static void put_pad(ferry_out *o, int64_t n)
{
    ferry_i_out_write(o, "\0\0\0\0\0\0\0", padded(n) - n);
}

/* Bytes of a matrix element behind its tag, without its data parts. */
static int64_t head_bytes(const char *name)
{
    return 16 + 16 + 8 + padded((int64_t)strlen(name));
}

/* Tag, flags, dimensions and name of a variable; its data parts follow. `bytes` counts all
 * behind the tag, which has to be known before the first part is written: the file is a
 * stream and nothing goes back. nzmax is for sparse ones, 0 elsewhere. */
static void put_head(ferry_out *o, const char *name, uint32_t class, int64_t nzmax,
                     int64_t rows, int64_t cols, int64_t bytes)
{
    const uint32_t flags[2] = {class, (uint32_t)nzmax};
    const int32_t dims[2] = {(int32_t)rows, (int32_t)cols};
    const int64_t len = (int64_t)strlen(name);

    put_tag(o, MATRIX, bytes);
    put_tag(o, UINT32, sizeof flags);
    ferry_i_out_write(o, flags, sizeof flags);
    put_tag(o, INT32, sizeof dims);
    ferry_i_out_write(o, dims, sizeof dims);
    put_tag(o, INT8, len);
    ferry_i_out_write(o, name, len);
    put_pad(o, len);
}

/* In doubles, because the product of the sizes may be beyond 64 bits. */
static ferry_status check_size(ferry_ctx *ctx, const char *name, int64_t rows, int64_t cols,
                               double bytes)
{
    ferry_status st = FERRY_OK;

    FERRY_NEED(ctx, rows <= INT32_MAX && cols <= INT32_MAX && bytes < (double)MOST,
               FERRY_EINVAL, "%s (%lld x %lld) is too large for MAT 5; write NPZ", name,
               (long long)rows, (long long)cols);
done:
    return st;
}

/* ---- numbers ---- */

/* rows x cols by row to MATLAB's order by column, through a buffer of one column: a second
 * copy of the whole matrix might not fit the memory. */
static ferry_status put_dense(ferry_ctx *ctx, ferry_out *o, const char *name, int64_t rows,
                              int64_t cols, const double *data)
{
    ferry_status st = FERRY_OK;
    double *column = ferry_i_calloc(rows, sizeof *column);
    const int64_t bytes = 8 * rows * cols;

    FERRY_HAVE(ctx, column);
    FERRY_TRY(check_size(ctx, name, rows, cols, 8.0 * (double)rows * (double)cols));
    put_head(o, name, FULL_DOUBLE, 0, rows, cols, head_bytes(name) + 8 + bytes);
    put_tag(o, DOUBLE, bytes);
    for (int64_t j = 0; j < cols; j++) {
        for (int64_t i = 0; i < rows; i++)
            column[i] = data[i * cols + j];
        ferry_i_out_write(o, column, 8 * rows);
    }
done:
    ferry_i_free(column);
    return st;
}

/* CSC is CSR of the transpose. Row indices are 4 bytes and so are offsets: nnz below 2^31
 * follows from the size check (12 bytes an entry, below 4 GiB). MATLAB wants nzmax >= 1. */
static ferry_status put_sparse(ferry_ctx *ctx, ferry_out *o, const char *name,
                               const ferry_matrix *x)
{
    ferry_status st = FERRY_OK;
    ferry_var t = {.x = ferry_i_matrix_ref((ferry_matrix *)(uintptr_t)x)};
    int32_t *jc = NULL;
    const int64_t nnz = x->nnz, n = x->cols + 1;

    FERRY_TRY(
        check_size(ctx, name, x->rows, x->cols, 12.0 * (double)nnz + 4.0 * (double)n));
    FERRY_TRY(ferry_i_var_transpose(ctx, &t)); /* MATLAB compresses columns */
    FERRY_NEW(ctx, jc, n);
    for (int64_t j = 0; j < n; j++)
        jc[j] = (int32_t)t.x->start[j];
    put_head(o, name, SPARSE, nnz > 0 ? nnz : 1, x->rows, x->cols,
             head_bytes(name) + 24 + padded(4 * nnz) + padded(4 * n) + 8 * nnz);
    put_tag(o, INT32, 4 * nnz);
    ferry_i_out_write(o, t.x->index, 4 * nnz);
    put_pad(o, 4 * nnz);
    put_tag(o, INT32, 4 * n);
    ferry_i_out_write(o, jc, 4 * n);
    put_pad(o, 4 * n);
    put_tag(o, DOUBLE, 8 * nnz);
    ferry_i_out_write(o, t.x->value, 8 * nnz);
done:
    ferry_i_free(jc);
    ferry_i_var_free(&t);
    return st;
}

/* ---- texts ---- */

/* UTF-16 units of a text (to NULL: only counted); points is scratch for its code points. */
static int64_t units(const char *s, uint32_t *points, uint16_t *to)
{
    const int64_t n = ferry_i_utf8_points(s, points);
    int64_t m = 0;

    for (int64_t i = 0; i < n; i++) {
        const uint32_t x = points[i];
        if (x < 0x10000) {
            if (to) to[m] = (uint16_t)x;
            m++;
        } else {
            if (to) to[m] = (uint16_t)(0xd800 + ((x - 0x10000) >> 10));
            if (to) to[m + 1] = (uint16_t)(0xdc00 + ((x - 0x10000) & 0x3ff));
            m += 2;
        }
    }
    return m;
}

static const char *id_at(const void *arg, int64_t i)
{
    return ferry_i_ids_at(arg, i);
}

/* Class of instance i by name, "" when it is missing. */
static const char *class_at(const void *arg, int64_t i)
{
    const ferry_labels *l = arg;

    return l->cls[i] < 0 ? "" : ferry_i_ids_at(l->names, l->cls[i]);
}

/* n texts as a cell array n x 1, `at` gives each. Cells are used and not a char matrix,
 * since its rows are padded with blanks: a text that ends in blanks would not come back.
 * Two passes: the length of the whole goes in front. */
static ferry_status put_texts(ferry_ctx *ctx, ferry_out *o, const char *name, int64_t n,
                              const char *(*at)(const void *, int64_t), const void *arg)
{
    ferry_status st = FERRY_OK;
    uint32_t *points = NULL;
    uint16_t *text = NULL;
    int64_t longest = 1, bytes = head_bytes(name);

    for (int64_t i = 0; i < n; i++) {
        const int64_t len = (int64_t)strlen(at(arg, i));
        if (len > longest) longest = len;
    }
    points = ferry_i_calloc(longest, sizeof *points);
    text = ferry_i_calloc(longest, sizeof *text); /* never more units than bytes */
    FERRY_HAVE(ctx, points && text);
    for (int64_t i = 0; i < n; i++)
        bytes += 8 + head_bytes("") + 8 + padded(2 * units(at(arg, i), points, NULL));
    FERRY_TRY(check_size(ctx, name, n, 1, (double)bytes));
    put_head(o, name, CELL, 0, n, 1, bytes);
    for (int64_t i = 0; i < n; i++) {
        const int64_t m = units(at(arg, i), points, text);
        put_head(o, "", CHAR, 0, m > 0 ? 1 : 0, m, head_bytes("") + 8 + padded(2 * m));
        put_tag(o, UINT16, 2 * m);
        ferry_i_out_write(o, text, 2 * m);
        put_pad(o, 2 * m);
    }
done:
    FERRY_FREE(points, text);
    return st;
}

/* ---- labels ---- */

/* Sets as n x m of 0 and 1, a row of NaN where the set is not known. */
static ferry_status put_sets(ferry_ctx *ctx, ferry_out *o, const ferry_labels *l)
{
    ferry_status st = FERRY_OK;
    const int64_t m = ferry_i_labels_m(l);
    double *x = ferry_i_calloc(l->n * m, sizeof *x);

    FERRY_HAVE(ctx, x);
    for (int64_t i = 0; i < l->n * m; i++)
        x[i] = l->known[i / m] ? l->on[i] : NAN;
    FERRY_TRY(put_dense(ctx, o, "labels", l->n, m, x));
done:
    ferry_i_free(x);
    return st;
}

/* Classes go out as texts, which other programs understand without a table. label_names
 * keeps the order of the classes, and those that no instance has. */
static ferry_status put_labels(ferry_ctx *ctx, ferry_out *o, const ferry_labels *l)
{
    if (l->kind == FERRY_LABEL_NUMBER)
        FERRY_PASS(put_dense(ctx, o, "labels", l->n, 1, l->num));
    if (l->kind == FERRY_LABEL_CLASS)
        FERRY_PASS(put_texts(ctx, o, "labels", l->n, class_at, l));
    if (l->kind == FERRY_LABEL_SET) FERRY_PASS(put_sets(ctx, o, l));
    if (l->kind != FERRY_LABEL_NUMBER && ferry_i_labels_m(l) > 0)
        FERRY_PASS(put_texts(ctx, o, "label_names", ferry_i_labels_m(l), id_at, l->names));
    return FERRY_OK;
}

/* The head is 116 bytes of text, 8 of zeros, the version 0x0100 and the byte-order mark.
 * All numbers are written as this machine has them in memory; the mark says
 * little-endian. */
ferry_status ferry_i_mat_write(ferry_ctx *ctx, const ferry_data *data, const char *path,
                               const ferry_opts *opts)
{
    ferry_status st = FERRY_OK;
    ferry_out *o = NULL;
    char head[128];

    (void)opts;
    FERRY_NEED(ctx, data->kind == FERRY_DATA_VIEW || data->kind == FERRY_DATA_LABELS,
               FERRY_EINVAL, "%s: a MAT file holds features and labels only", path);
    FERRY_TRY(ferry_i_out_open(ctx, path, &o));
    memset(head, ' ', sizeof head);
    memcpy(head, "MATLAB 5.0 MAT-file, written by ferry", 37);
    memset(head + 116, 0, 8); /* no subsystem data */
    memcpy(head + 124, "\x00\x01IM", 4);
    ferry_i_out_write(o, head, sizeof head);
    /* names by which ferry_i_var_whole() finds the parts again */
    if (data->x && data->x->dense)
        FERRY_TRY(put_dense(ctx, o, "x", data->x->rows, data->x->cols, data->x->dense));
    else if (data->x)
        FERRY_TRY(put_sparse(ctx, o, "x", data->x));
    if (data->labels) FERRY_TRY(put_labels(ctx, o, data->labels));
    if (data->ids)
        FERRY_TRY(put_texts(ctx, o, "ids", ferry_i_ids_count(data->ids), id_at, data->ids));
    if (data->features)
        FERRY_TRY(put_texts(ctx, o, "features", ferry_i_ids_count(data->features), id_at,
                            data->features));
    st = ferry_i_out_commit(ctx, o);
    o = NULL;
done:
    ferry_i_out_abort(o);
    return st;
}
