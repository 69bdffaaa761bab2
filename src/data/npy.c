/* NPY: one NumPy array (NEP 1, "A Simple File Format for NumPy Arrays").
 *
 * "\x93NUMPY", two version bytes, the length of the header (2 bytes in version 1, 4 after),
 * a Python dictionary such as {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }
 * and the items. Arrays of objects are pickles, which can run code: refused.
 *
 * The dictionary is not parsed as Python: NumPy writes its three keys in one form, so each
 * key is searched for and the value behind its colon is read. What does not fit is refused.
 */
#include "data/npy.h"

#include <stdio.h>
#include <string.h>

#include "data/fields.h"

/* ---- header ---- */

/* The value of a key in the dictionary: what follows its colon. NULL when not there. */
static const char *value_of(const char *s, const char *end, const char *key)
{
    const size_t n = strlen(key);

    for (; (size_t)(end - s) > n + 2; s++) {
        if ((*s != '\'' && *s != '"') || memcmp(s + 1, key, n) != 0 || s[n + 1] != *s)
            continue;
        for (s += n + 2; s < end && (*s == ' ' || *s == ':'); s++)
            ;
        return s < end ? s : NULL;
    }
    return NULL;
}

/* '<f8' and its like. */
static ferry_status parse_descr(ferry_ctx *ctx, const char *where, const char *s,
                                const char *end, ferry_npy *a)
{
    ferry_status st = FERRY_OK;
    int64_t size = 0;

    /* a list in place of a text is a record type: no single kind of number */
    FERRY_NEED(ctx, s && end - s > 5, FERRY_EDATA, "%s: no descr in its header", where);
    FERRY_NEED(ctx, *s == '\'' || *s == '"', FERRY_EDATA,
               "%s: an array of records, expected one of numbers or texts", where);
    const char quote = *s++;
    const char order = *s++;
    a->big = order == '>';
    a->kind = *s++;
    FERRY_NEED(ctx, a->kind != 'O', FERRY_EDATA,
               "%s: an array of Python objects, expected numbers or texts", where);
    const char *after = ferry_i_parse_int(s, end, &size);
    FERRY_NEED(ctx, after && after < end && *after == quote && strchr("<>|=", order),
               FERRY_EDATA, "%s: cannot read the type of its items", where);
    /* f2 and f16, complex, dates and the rest are refused: none is a plain feature */
    const bool sized = size == 1 || size == 2 || size == 4 || size == 8;
    const bool known = (a->kind == 'b' && size == 1) ||
                       ((a->kind == 'i' || a->kind == 'u') && sized) ||
                       (a->kind == 'f' && (size == 4 || size == 8)) ||
                       ((a->kind == 'U' || a->kind == 'S') && size >= 0 && size < 1 << 24);
    FERRY_NEED(ctx, known, FERRY_EDATA,
               "%s: items of type %c%lld, expected f4 f8 i1..i8 u1..u8 b1 S or U", where,
               a->kind, (long long)size);
    a->size = (int)size;
done:
    return st;
}

/* (), (3,) or (3, 4). */
static ferry_status parse_shape(ferry_ctx *ctx, const char *where, const char *s,
                                const char *end, ferry_npy *a)
{
    ferry_status st = FERRY_OK;
    int64_t dim[2] = {1, 1};

    FERRY_NEED(ctx, s && *s == '(', FERRY_EDATA, "%s: no shape in its header", where);
    for (s++;;) {
        int64_t x = 0;
        while (s < end && (*s == ' ' || *s == ','))
            s++;
        if (s < end && *s == ')') break;
        FERRY_NEED(ctx, a->dims < 2, FERRY_EDATA,
                   "%s: more than 2 dimensions, expected 1 or 2", where);
        s = ferry_i_parse_int(s, end, &x);
        FERRY_NEED(ctx, s && x >= 0, FERRY_EDATA, "%s: cannot read its shape", where);
        dim[a->dims++] = x;
    }
    a->rows = dim[0];
    a->cols = dim[1];
done:
    return st;
}

/* Where the dictionary is. */
static ferry_status find_header(ferry_ctx *ctx, const char *where, const char *bytes,
                                int64_t n, const char **head, int64_t *len)
{
    ferry_status st = FERRY_OK;
    const unsigned char *u = (const unsigned char *)bytes;

    FERRY_NEED(ctx, n >= 10 && memcmp(bytes, "\x93NUMPY", 6) == 0, FERRY_EDATA,
               "%s: is not a NumPy array", where);
    FERRY_NEED(ctx, u[6] >= 1 && u[6] <= 3, FERRY_EDATA,
               "%s: NPY version %d, expected 1 to 3", where, u[6]);
    /* version 2 has longer headers, version 3 allows UTF-8 in them; the rest is the same */
    const int wide = u[6] == 1 ? 2 : 4;
    *len = u[8] | u[9] << 8;
    if (wide == 4 && n >= 12) *len |= (int64_t)u[10] << 16 | (int64_t)u[11] << 24;
    *head = bytes + 8 + wide;
    FERRY_NEED(ctx, n >= 8 + wide && *len <= n - 8 - wide, FERRY_EDATA,
               "%s: truncated in its header", where);
done:
    return st;
}

/* Sizes are compared by division, so that a shape such as 2^40 x 2^40 cannot wrap round and
 * seem to fit. The second condition is for items of 0 bytes and empty shapes, which would
 * pass the first with any number of rows. */
ferry_status ferry_i_npy_open(ferry_ctx *ctx, const char *where, const char *bytes,
                              int64_t n, ferry_npy *out)
{
    ferry_status st = FERRY_OK;
    const char *head = NULL;
    int64_t len = 0;
    ferry_npy a = {0};

    FERRY_TRY(find_header(ctx, where, bytes, n, &head, &len));
    FERRY_TRY(parse_descr(ctx, where, value_of(head, head + len, "descr"), head + len, &a));
    FERRY_TRY(parse_shape(ctx, where, value_of(head, head + len, "shape"), head + len, &a));
    const char *order = value_of(head, head + len, "fortran_order");
    a.fortran = order && *order == 'T';
    a.data = head + len;
    const int64_t item = a.kind == 'U' ? 4 * (int64_t)a.size : a.size;
    const int64_t left = n - (a.data - bytes);
    const bool fits = item == 0 || a.cols == 0 ||
                      (a.rows <= left / a.cols && a.rows * a.cols <= left / item);
    FERRY_NEED(
        ctx, fits && a.rows <= left && a.cols <= left && a.cols <= INT32_MAX, FERRY_EDATA,
        "%s: truncated: %lld bytes of data for %lld x %lld items of %lld bytes", where,
        (long long)left, (long long)a.rows, (long long)a.cols, (long long)item);
    *out = a;
done:
    return st;
}

/* The names are NumPy's own dtype names, except "text" for both of its kinds of text. */
char *ferry_i_npy_type(const ferry_npy *a)
{
    const char *name = a->kind == 'f'   ? "float"
                       : a->kind == 'i' ? "int"
                       : a->kind == 'u' ? "uint"
                       : a->kind == 'b' ? "bool"
                                        : "text";
    const int bits = strchr("fiu", a->kind) ? 8 * a->size : 0;
    char type[32];

    snprintf(type, sizeof type, bits ? "%s%d" : "%s", name, bits);
    if (a->dims == 0) return ferry_i_strdup(type);
    if (a->dims == 1) return ferry_i_sprintf("%s %lld", type, (long long)a->rows);
    return ferry_i_sprintf("%s %lld x %lld", type, (long long)a->rows, (long long)a->cols);
}

/* ---- items ---- */

/* The bits of item i, least significant byte first whatever the file's order. */
static uint64_t bits_at(const ferry_npy *a, int64_t i)
{
    const unsigned char *s = (const unsigned char *)a->data + i * a->size;
    uint64_t x = 0;

    for (int k = 0; k < a->size; k++)
        x |= (uint64_t)s[a->big ? a->size - 1 - k : k] << (8 * k);
    return x;
}

/* Signed items of less than 8 bytes: moved up to the sign bit and back down, which copies
 * it. */
int64_t ferry_i_npy_int(const ferry_npy *a, int64_t i)
{
    const uint64_t x = bits_at(a, i);
    const int shift = 64 - 8 * a->size;

    return a->kind == 'i' ? (int64_t)(x << shift) >> shift : (int64_t)x;
}

/* Bits to a number through memcpy, since the bytes may lie at any address. Whole numbers
 * above 2^53 are rounded. */
static double real_at(const ferry_npy *a, int64_t i)
{
    const uint64_t x = bits_at(a, i);

    if (a->kind == 'f' && a->size == 8) {
        double d;
        memcpy(&d, &x, sizeof d);
        return d;
    }
    if (a->kind == 'f') {
        const uint32_t half = (uint32_t)x;
        float f;
        memcpy(&f, &half, sizeof f);
        return f;
    }
    if (a->kind == 'b') return x != 0;
    return a->kind == 'u' ? (double)x : (double)ferry_i_npy_int(a, i);
}

/* Text i: UTF-32 or bytes (Latin-1 where not ASCII), padded with zeros. *cut: there is more
 * behind a zero. */
static char *text_at(const ferry_npy *a, int64_t i, bool *cut)
{
    const unsigned char *s =
        (const unsigned char *)a->data + i * a->size * (a->kind == 'U' ? 4 : 1);
    char *text = ferry_i_calloc(4 * (int64_t)a->size + 1, 1);
    int64_t n = 0;
    bool ended = false;

    for (int k = 0; text && k < a->size; k++) {
        const unsigned char *u = s + 4 * k;
        const uint32_t c =
            a->kind == 'S' ? s[k]
            : a->big
                ? (uint32_t)u[0] << 24 | (uint32_t)u[1] << 16 | (uint32_t)u[2] << 8 | u[3]
                : (uint32_t)u[3] << 24 | (uint32_t)u[2] << 16 | (uint32_t)u[1] << 8 | u[0];
        *cut = *cut || (ended && c != 0);
        ended = ended || c == 0;
        if (!ended) n += ferry_i_put_utf8(text + n, c);
    }
    return text;
}

/* A matrix of texts comes out row by row; the order of fortran arrays is not turned, since
 * texts are labels or names in one dimension. */
static ferry_status read_texts(ferry_ctx *ctx, const ferry_npy *a, ferry_var *out)
{
    ferry_status st = FERRY_OK;
    const int64_t n = a->rows * a->cols;
    bool cut = false;

    FERRY_NEW(ctx, out->text, n);
    out->n_text = n;
    for (int64_t i = 0; i < n; i++) {
        out->text[i] = text_at(a, i, &cut);
        FERRY_HAVE(ctx, out->text[i]);
        FERRY_NEED(ctx, !cut, FERRY_EDATA, "text %lld, \"%.40s\", goes on behind a zero",
                   (long long)(i + 1), out->text[i]);
    }
done:
    return st;
}

static uint64_t bits_of(const void *a, int64_t i)
{
    return bits_at(a, i);
}

/* Every item goes through real_at(), whatever its type: one loop for all of them. */
ferry_status ferry_i_npy_read(ferry_ctx *ctx, const ferry_npy *a, ferry_var *out)
{
    ferry_status st = FERRY_OK;

    *out = (ferry_var){0};
    if (a->kind == 'U' || a->kind == 'S') {
        FERRY_TRY(read_texts(ctx, a, out));
        goto done;
    }
    FERRY_TRY(ferry_i_matrix_dense(ctx, a->rows, a->cols, &out->x));
    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t j = 0; j < a->cols; j++)
            out->x->dense[i * a->cols + j] =
                real_at(a, a->fortran ? j * a->rows + i : i * a->cols + j);
    if (a->size == 8 && (a->kind == 'i' || a->kind == 'u'))
        FERRY_TRY(ferry_i_var_digits(ctx, out, a->kind == 'i', bits_of, a));
done:
    if (st != FERRY_OK) ferry_i_var_free(out);
    return st;
}

/* ---- the format ---- */

/* With rows over ranks an array of doubles stays in the file: a rank looks at its own rows alone. Otherwise it is copied,
 * since programs write over such files. */
static ferry_status borrow(ferry_ctx *ctx, const ferry_input *in, const ferry_npy *a,
                           ferry_var *out)
{
    ferry_status st = FERRY_OK;
    const int64_t at = a->data - in->data;
    ferry_held *held = NULL;

    FERRY_TRY(ferry_i_input_hold(ctx, in, &held));
    const ferry_array x = {a->rows, a->cols, a->cols,
                           (double *)(uintptr_t)(held->data + at)};
    FERRY_TRY(ferry_i_matrix_borrow_array(ctx, &x, &out->x));
    out->x->release = ferry_i_held_free;
    FERRY_MOVE(out->x->keeper, held);
done:
    ferry_i_held_free(held);
    return st;
}

/* Whether the bytes are a matrix as they stand. */
static bool is_plain(const ferry_input *in, const ferry_npy *a)
{
    const double one = 1;

    return a->kind == 'f' && a->size == 8 && !a->fortran && a->dims == 2 && !a->big &&
           ((const char *)&one)[7] != 0 && (a->data - in->data) % 8 == 0;
}

/* A file with one array: what it is for follows from `as` and its type. */
static ferry_status read_npy(ferry_ctx *ctx, const ferry_input *in, const char *member,
                             const ferry_read_settings *s, ferry_data_kind as,
                             ferry_data **out)
{
    ferry_status st = FERRY_OK;
    ferry_npy a = {0};
    ferry_var v = {0};
    ferry_data *d = NULL;

    (void)member;
    *out = NULL;
    FERRY_TRY(ferry_i_npy_open(ctx, in->path, in->data, in->size, &a));
    if (ctx->ranks && strcmp(ferry_i_ctx_engine(ctx), "mpi") == 0 &&
        as == FERRY_DATA_VIEW && is_plain(in, &a))
        FERRY_TRY(borrow(ctx, in, &a, &v));
    else
        FERRY_TRY(ferry_i_npy_read(ctx, &a, &v));
    FERRY_TRY(ferry_i_var_alone(ctx, in->path, "npy", &v, s, as, &d));
    FERRY_MOVE(*out, d);
done:
    ferry_data_free(d);
    ferry_i_var_free(&v);
    return st;
}

static int sniff_npy(const char *head, int64_t n)
{
    return n >= 6 && memcmp(head, "\x93NUMPY", 6) == 0 ? 100 : 0;
}

/* Version 1: a length below 65536 always suffices for two dimensions. Padding to 64 bytes
 * is what the format asks for, so that the items can be mapped into memory aligned. */
int64_t ferry_i_npy_header(char *buf, const char *descr, int64_t rows, int64_t cols)
{
    char shape[64];

    if (rows < 0)
        strcpy(shape, "()");
    else if (cols < 0)
        snprintf(shape, sizeof shape, "(%lld,)", (long long)rows);
    else
        snprintf(shape, sizeof shape, "(%lld, %lld)", (long long)rows, (long long)cols);
    int n =
        snprintf(buf + 10, 200, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }",
                 descr, shape);
    while ((10 + n + 1) % 64 != 0)
        buf[10 + n++] = ' '; /* data begins at a multiple of 64 */
    buf[10 + n++] = '\n';
    memcpy(buf, "\x93NUMPY\x01\x00", 8);
    buf[8] = (char)(n & 255);
    buf[9] = (char)(n >> 8);
    return 10 + n;
}

/* Always a dense '<f8'; a sparse matrix is spread row by row through one buffer, so it
 * costs no second copy in memory, though the file may be large. NPZ keeps it sparse. */
static ferry_status write_npy(ferry_ctx *ctx, const ferry_data *data, const char *path,
                              const ferry_opts *opts)
{
    ferry_status st = FERRY_OK;
    ferry_out *o = NULL;
    double *row = NULL;
    char head[256];

    (void)opts;
    FERRY_NEED(ctx, data->kind == FERRY_DATA_VIEW && data->x, FERRY_EINVAL,
               "%s: an NPY file holds a matrix only", path);
    /* row: one row spread out, used when x is sparse */
    const ferry_matrix *x = data->x;
    FERRY_NEW(ctx, row, x->cols);
    /* the matrix is still worth writing: only a warning */
    if (data->labels || data->ids || data->features)
        ferry_i_log(ctx, FERRY_WARN,
                    "%s: an NPY file holds no ids, names or labels; NPZ does", path);
    FERRY_TRY(ferry_i_out_open(ctx, path, &o));
    ferry_i_out_write(o, head, ferry_i_npy_header(head, "<f8", x->rows, x->cols));
    for (int64_t i = 0; i < x->rows; i++) {
        if (!x->dense) {
            memset(row, 0, (size_t)x->cols * sizeof *row);
            for (int64_t e = x->start[i]; e < x->start[i + 1]; e++)
                row[x->index[e]] = x->value[e];
        }
        ferry_i_out_write(o, x->dense ? x->dense + i * x->cols : row,
                          x->cols * (int64_t)sizeof *row);
    }
    st = ferry_i_out_commit(ctx, o);
done:
    ferry_i_free(row);
    return st;
}

const ferry_format ferry_i_format_npy = {
    .info = {.name = "npy",
             .extensions = ".npy",
             .summary = "one NumPy array: a matrix, labels or texts",
             .writes = 1},
    .kinds = 1u << FERRY_DATA_VIEW | 1u << FERRY_DATA_LABELS,
    .options = "transpose",
    .sniff = sniff_npy,
    .read = read_npy,
    .write = write_npy,
};
