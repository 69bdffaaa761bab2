/* MAT 5 and 7.3 files, read with matio.
 *
 * "file.mat#NAME" picks a variable, "file.mat#NAME{3}" the third element of a cell array
 * (and so on inside it). Without a name: the only matrix with the label vector (or matrix)
 * that fits it; else a listing. Rows are instances unless transpose says otherwise.
 *
 * Refused: complex numbers and more than two dimensions, which are no features; structs and
 * objects, whose fields have no order that could be numbered (save them as variables); shapes
 * that the file's bytes cannot hold, which are damage or an attack. MAT 4 has no signature to
 * tell it by. Matrices are stored by column, sparse ones as CSC: both are turned here.
 *
 * matio 1.5.23 trusts what the file says: the outline of a MAT 5 file is checked before matio sees it, a
 * MAT 7.3 file (HDF5, which crashes on damaged ones) is read by a program of its own (mat73.c), and the
 * shapes of both are checked against the data that is there before anything is used. Why it gives nothing, or
 * less, matio does not say: when memory ran out, malloc has left that in errno.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "data/archive.h"
#include "data/fields.h"
#include "data/mat.h"
#include "data/matio.h"

ferry_matio ferry_i_matio;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool loaded;
static char why[FERRY_LOAD_WHY];

static void load(void)
{
#define NAME(name) {"Mat_" #name, &ferry_i_matio.name},
    static const ferry_symbol want[] = {
        FERRY_MATIO(NAME){"H5get_libversion", &ferry_i_matio.hdf5_version}};
#undef NAME

    loaded = ferry_i_load(FERRY_MATIO_LIBRARY, want, FERRY_COUNT(want), why);
}

bool ferry_i_matio_load(void)
{
    (void)pthread_once(&once, load);
    return loaded;
}

ferry_status ferry_i_matio_ready(ferry_ctx *ctx, const char *path)
{
    if (ferry_i_matio_load()) return FERRY_OK;
    return ferry_i_fail(ctx, FERRY_ENEEDS,
                        "%s: reading MAT files needs the library matio: %s", path, why);
}

/* Held while matio runs: it may not be entered by two threads at once. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* A file being read. path is borrowed from the input, file is NULL until it is open, list
 * holds the variables in the file's order. */
typedef struct mat {
    const char *path;
    int64_t size, most;    /* of the file; what its numbers may take */
    const ferry_input *in; /* MAT 7.3: for its reader; file stays NULL then */
    ferry_mat_vars outline;
    mat_t *file;
    ferry_var_list list;
} mat;

/* ---- what a variable is ---- */

/* matio's name of a class, for listings and messages. The table is in the order of its enum
 * matio_classes; a number outside it comes from a damaged file. Logical is a flag beside
 * the class, not a class of its own. */
static const char *class_name(const matvar_t *v)
{
    static const char *const names[] = {"empty",  "cell",     "struct", "object", "char",
                                        "sparse", "double",   "single", "int8",   "uint8",
                                        "int16",  "uint16",   "int32",  "uint32", "int64",
                                        "uint64", "function", "opaque"};

    if (v->isLogical && v->class_type != MAT_C_SPARSE) return "logical";
    return v->class_type >= 0 && v->class_type < FERRY_COUNT(names) ? names[v->class_type]
                                                                    : "unknown";
}

/* Rows and columns; 0 where the outline lacks them. matio leaves dims NULL for what it
 * could not read, so both are asked through here and never through dims. */
static int64_t rows_of(const matvar_t *v)
{
    return v->rank >= 1 && v->dims ? (int64_t)v->dims[0] : 0;
}

static int64_t cols_of(const matvar_t *v)
{
    return v->rank >= 2 && v->dims ? (int64_t)v->dims[1] : 0;
}

/* Sparse and all full numeric classes: they are neighbours in matio's enum. */
static bool is_number(const matvar_t *v)
{
    return v->class_type >= MAT_C_SPARSE && v->class_type <= MAT_C_UINT64;
}

/* Elements of a cell array that are really there; 0 when it is none. */
static int64_t cells_of(const matvar_t *v)
{
    if (v->class_type != MAT_C_CELL || !v->data || v->rank != 2) return 0;
    const int64_t r = rows_of(v), c = cols_of(v);
    const int64_t have = (int64_t)(v->nbytes / sizeof(matvar_t *));
    return r > 0 && c > 0 && r <= have / c ? r * c : 0;
}

/* Element i, by column; NULL where matio could not read it. i < cells_of(v) must hold. */
static const matvar_t *cell_at(const matvar_t *v, int64_t i)
{
    return ((matvar_t **)v->data)[i];
}

/* A cell array of texts. */
static bool is_cellstr(const matvar_t *v)
{
    const int64_t n = cells_of(v);

    for (int64_t i = 0; i < n; i++) {
        const matvar_t *c = cell_at(v, i);
        if (!c || (c->class_type != MAT_C_CHAR && c->class_type != MAT_C_EMPTY))
            return false;
    }
    return n > 0;
}

/* Adds v to the list with what its outline shows: the container's choice of x and labels is
 * made from this alone, before any value is read. A char matrix counts as one text a row, a
 * cell array of texts as one text an element; whatever is neither text nor flat numbers is
 * a container, which makes the choice impossible without a name. */
static ferry_status list_one(ferry_ctx *ctx, mat *m, const matvar_t *v)
{
    ferry_status st = FERRY_OK;
    ferry_text type = {0};
    const bool flat = v->rank == 2 && !v->isComplex, strings = is_cellstr(v);
    const bool text = flat && (v->class_type == MAT_C_CHAR || strings);

    ferry_i_text_addf(&type, "%s%s", v->isComplex ? "complex " : "", class_name(v));
    for (int i = 0; v->dims && i < v->rank; i++)
        ferry_i_text_addf(&type, "%s%zu", i ? " x " : " ", v->dims[i]);
    if (strings) ferry_i_text_add(&type, " of texts");
    FERRY_HAVE(ctx, !type.failed);
    const ferry_var_info info = {.name = v->name,
                                 .type = type.s,
                                 .rows = strings ? cells_of(v) : rows_of(v),
                                 .cols = text ? 1 : cols_of(v),
                                 .numeric = flat && is_number(v),
                                 .text = text,
                                 .container = !text && !(flat && is_number(v))};
    FERRY_HAVE(ctx, ferry_i_var_list_add(&m->list, &info));
done:
    ferry_i_text_free(&type);
    return st;
}

/* The outlines of all variables. VarReadNextInfo reads no values, so this costs little
 * even for files of gigabytes. */
static ferry_status list_all(ferry_ctx *ctx, mat *m)
{
    ferry_status st = FERRY_OK;
    matvar_t *v = NULL;

    if (m->in) FERRY_TRY(ferry_i_mat73(ctx, m->in, NULL, &m->outline));
    errno = 0;
    for (int64_t i = 0; i < m->outline.n; i++) {
        const matvar_t *o = m->outline.v[i];
        if (o->name && o->class_type != MAT_C_EMPTY) FERRY_TRY(list_one(ctx, m, o));
    }
    for (v = m->in ? NULL : ferry_i_matio.VarReadNextInfo(m->file); v;
         v = ferry_i_matio.VarReadNextInfo(m->file)) {
        if (v->name && v->class_type != MAT_C_EMPTY) FERRY_TRY(list_one(ctx, m, v));
        ferry_i_matio.VarFree(v);
        v = NULL;
    }
    FERRY_HAVE(ctx, errno != ENOMEM);
    FERRY_NEED(ctx, m->list.n > 0, FERRY_EDATA, "%s: holds no variable", m->path);
done:
    ferry_i_matio.VarFree(v);
    return st;
}

/* ---- values ---- */

/* Bytes of one item as it lies in memory; 0 for what is no item. The type of the data is
 * not the class of the variable: a char array may hold characters of 8, 16 or 32 bits. */
static int type_size(enum matio_types t)
{
    switch (t) {
    case MAT_T_INT8:
    case MAT_T_UINT8:
    case MAT_T_UTF8: return 1;
    case MAT_T_INT16:
    case MAT_T_UINT16:
    case MAT_T_UTF16: return 2;
    case MAT_T_INT32:
    case MAT_T_UINT32:
    case MAT_T_UTF32:
    case MAT_T_SINGLE: return 4;
    case MAT_T_INT64:
    case MAT_T_UINT64:
    case MAT_T_DOUBLE: return 8;
    default: return 0;
    }
}

/* Item i of data as a double. Whole numbers beyond 2^53 are rounded, as by MATLAB's
 * double(). */
static double item(const void *data, enum matio_types t, int64_t i)
{
    switch (t) {
    case MAT_T_INT8: return ((const int8_t *)data)[i];
    case MAT_T_UTF8:
    case MAT_T_UINT8: return ((const uint8_t *)data)[i];
    case MAT_T_INT16: return ((const int16_t *)data)[i];
    case MAT_T_UTF16:
    case MAT_T_UINT16: return ((const uint16_t *)data)[i];
    case MAT_T_INT32: return ((const int32_t *)data)[i];
    case MAT_T_UTF32:
    case MAT_T_UINT32: return ((const uint32_t *)data)[i];
    case MAT_T_SINGLE: return ((const float *)data)[i];
    case MAT_T_INT64: return (double)((const int64_t *)data)[i];
    case MAT_T_UINT64: return (double)((const uint64_t *)data)[i];
    default: return ((const double *)data)[i];
    }
}

/* The shape must be one that the file can hold: zlib packs at most about 1032 to 1. */
static ferry_status check_shape(ferry_ctx *ctx, const mat *m, const char *where,
                                const matvar_t *v)
{
    ferry_status st = FERRY_OK;
    const int64_t r = rows_of(v), c = cols_of(v), most = m->size * 1100;

    FERRY_NEED(ctx, !v->isComplex, FERRY_EDATA, "%s: complex numbers, expected real ones",
               where);
    FERRY_NEED(ctx, is_number(v) || v->class_type == MAT_C_CHAR || is_cellstr(v),
               FERRY_EDATA, "%s: a %s, expected numbers or texts%s", where, class_name(v),
               v->class_type == MAT_C_CELL ? " (pick an element with {i})" : "");
    FERRY_NEED(ctx, v->rank == 2, FERRY_EDATA, "%s: %d dimensions, expected 2", where,
               v->rank);
    FERRY_NEED(ctx, r > 0 && c > 0, FERRY_EDATA, "%s: is empty (%lld x %lld)", where,
               (long long)r, (long long)c);
    const bool fits =
        v->class_type == MAT_C_SPARSE ? r <= most && c <= most : r <= most / c;
    FERRY_NEED(ctx, fits && r <= INT32_MAX && c <= INT32_MAX, FERRY_EDATA,
               "%s: %lld x %lld is more than the file can hold", where, (long long)r,
               (long long)c);
    /* numbers of a byte become numbers of eight */
    if (v->class_type == MAT_C_SPARSE ? r > m->most / 8 || c > m->most / 8
                                      : r > m->most / 8 / c)
        FERRY_TRY(ferry_i_too_large(ctx, where, "has", m->most));
done:
    return st;
}

static uint64_t bits_of(const void *v, int64_t i)
{
    return ((const uint64_t *)((const matvar_t *)v)->data)[i];
}

/* r x c by column into r x c by row. The bytes that are there are counted first: the
 * outline may promise more than matio could read. */
static ferry_status take_dense(ferry_ctx *ctx, const char *where, const matvar_t *v,
                               ferry_var *out)
{
    ferry_status st = FERRY_OK;
    const int64_t r = rows_of(v), c = cols_of(v);
    const int size = type_size(v->data_type);

    FERRY_NEED(ctx, v->data && size > 0 && (int64_t)v->nbytes / size >= r * c, FERRY_EDATA,
               "%s: %zu bytes of data for %lld x %lld numbers", where, v->nbytes,
               (long long)r, (long long)c);
    FERRY_TRY(ferry_i_matrix_dense(ctx, r, c, &out->x));
    for (int64_t i = 0; i < r; i++)
        for (int64_t j = 0; j < c; j++)
            out->x->dense[i * c + j] = item(v->data, v->data_type, j * r + i);
    if (v->data_type == MAT_T_INT64 || v->data_type == MAT_T_UINT64)
        FERRY_TRY(ferry_i_var_digits(ctx, out, v->data_type == MAT_T_INT64, bits_of, v));
done:
    return st;
}

/* Compressed columns: first as the CSR of the transpose, then turned. */
static ferry_status take_sparse(ferry_ctx *ctx, const char *where, const matvar_t *v,
                                ferry_var *out)
{
    ferry_status st = FERRY_OK;
    const mat_sparse_t *s = v->data;
    const int64_t r = rows_of(v), c = cols_of(v);

    FERRY_NEED(ctx, s && s->jc && s->njc == c + 1 && type_size(v->data_type) > 0,
               FERRY_EDATA, "%s: a sparse matrix without its column offsets", where);
    /* the last offset is the number of entries; ndata may count capacity beyond it */
    const int64_t nnz = s->jc[c];
    FERRY_NEED(ctx, nnz == 0 || (s->ir && s->data && nnz <= s->nir && nnz <= s->ndata),
               FERRY_EDATA, "%s: %lld entries promised, %u indices and %u values there",
               where, (long long)nnz, s->nir, s->ndata);
    /* CSC of an r x c matrix has the very arrays of CSR of its c x r transpose */
    FERRY_TRY(ferry_i_matrix_csr(ctx, c, r, nnz, &out->x));
    for (int64_t j = 0; j < c; j++) {
        FERRY_NEED(ctx, s->jc[j] <= s->jc[j + 1] && s->jc[j + 1] <= nnz, FERRY_EDATA,
                   "%s: column %lld has a wrong offset", where, (long long)(j + 1));
        out->x->start[j + 1] = s->jc[j + 1];
    }
    FERRY_NEED(ctx, s->jc[0] == 0, FERRY_EDATA, "%s: column 1 has a wrong offset", where);
    for (int64_t e = 0; e < nnz; e++) {
        FERRY_NEED(ctx, s->ir[e] < r, FERRY_EDATA, "%s: entry %lld is in row %lld of %lld",
                   where, (long long)(e + 1), (long long)s->ir[e] + 1, (long long)r);
        out->x->index[e] = (int32_t)s->ir[e];
        out->x->value[e] = item(s->data, v->data_type, e);
    }
    /* MATLAB sorts rows within a column, other writers need not */
    FERRY_TRY(ferry_i_var_sort(ctx, where, out));
    FERRY_TRY(ferry_i_var_transpose(ctx, out));
done:
    return st;
}

/* Row i of a char matrix as UTF-8, without the blanks that pad it; *cut: there is more behind a
 * zero. NULL: no memory. */
static char *char_row(const matvar_t *v, int64_t i, bool *cut)
{
    const int64_t r = rows_of(v), size = type_size(v->data_type);
    int64_t c = cols_of(v), n = 0;
    char *raw = NULL, *text = NULL;
    bool ended = false;

    if (size == 1 && r == 1) c = (int64_t)v->nbytes; /* UTF-8: more bytes than characters */
    raw = ferry_i_calloc(4 * c + 1, 1);
    for (int64_t j = 0; raw && j < c; j++) {
        uint32_t x = (uint32_t)item(v->data, v->data_type, j * r + i);
        if (x >= 0xd800 && x < 0xdc00 && size == 2 && j + 1 < c) { /* a surrogate pair */
            const uint32_t low = (uint32_t)item(v->data, v->data_type, (j + 1) * r + i);
            x = 0x10000 + ((x & 0x3ff) << 10) + (low & 0x3ff);
            j++;
        }
        /* a zero ends the text, as in C; zeros and blanks behind it are padding */
        *cut = *cut || (ended && x != 0 && x != ' ');
        ended = ended || x == 0;
        if (ended) continue;
        n += size == 1 ? (raw[n] = (char)x, 1) : ferry_i_put_utf8(raw + n, x);
    }
    while (n > 0 && raw && raw[n - 1] == ' ')
        n--;
    /* old files hold the system's 8-bit code, of which Latin-1 is the likely one */
    if (raw && size == 1 && !ferry_i_utf8_valid(raw, n)) {
        text = ferry_i_calloc(2 * n + 1, 1);
        for (int64_t j = 0, k = 0; text && j < n; j++)
            k += ferry_i_put_utf8(text + k, (unsigned char)raw[j]);
        ferry_i_free(raw);
        return text;
    }
    if (raw) raw[n] = 0;
    return raw;
}

/* Whether char_row() may read all of v: two dimensions, items of up to four bytes, and as
 * many of them as the shape says. An empty text has no data and fits. */
static bool char_fits(const matvar_t *v)
{
    const int64_t r = rows_of(v), c = cols_of(v), size = type_size(v->data_type);

    if (v->rank != 2 || r < 0 || c < 0) return false;
    if (r == 0 || c == 0) return true;
    return v->data && size > 0 && size < 8 && r <= (int64_t)v->nbytes / size / c;
}

/* Rows of a char matrix, or the elements of a cell array of texts. */
static ferry_status take_texts(ferry_ctx *ctx, const char *where, const matvar_t *v,
                               ferry_var *out)
{
    ferry_status st = FERRY_OK;
    const bool cells = v->class_type == MAT_C_CELL;
    const int64_t n = cells ? cells_of(v) : rows_of(v);
    bool cut = false;

    FERRY_NEW(ctx, out->text, n);
    out->n_text = n;
    for (int64_t i = 0; i < n; i++) {
        const matvar_t *c = cells ? cell_at(v, i) : v;
        const bool empty =
            c->class_type == MAT_C_EMPTY || rows_of(c) == 0 || cols_of(c) == 0;
        FERRY_NEED(ctx, empty || (char_fits(c) && (!cells || rows_of(c) == 1)), FERRY_EDATA,
                   "%s: text %lld is not a row of characters", where, (long long)(i + 1));
        out->text[i] = empty ? ferry_i_strdup("") : char_row(c, cells ? 0 : i, &cut);
        FERRY_HAVE(ctx, out->text[i]);
        FERRY_NEED(ctx, !cut, FERRY_EDATA,
                   "%s: text %lld, \"%.40s\", goes on behind a zero", where,
                   (long long)(i + 1), out->text[i]);
    }
done:
    return st;
}

/* Follow {i}{j} in `rest` from v. */
static ferry_status follow(ferry_ctx *ctx, const char *where, const matvar_t **v,
                           const char *rest)
{
    ferry_status st = FERRY_OK;

    while (*rest) {
        int64_t i = 0;
        const char *end = rest + strlen(rest);
        const char *after = *rest == '{' ? ferry_i_parse_int(rest + 1, end, &i) : NULL;
        FERRY_NEED(ctx, after && *after == '}', FERRY_EDATA, "%s: expected name{number}",
                   where);
        FERRY_NEED(ctx, (*v)->class_type == MAT_C_CELL, FERRY_EDATA,
                   "%s: %s, expected a cell array before {}", where, class_name(*v));
        const int64_t n = cells_of(*v);
        FERRY_NEED(ctx, i >= 1 && i <= n && cell_at(*v, i - 1), FERRY_EDATA,
                   "%s: has no element %lld, expected 1 .. %lld", where, (long long)i,
                   (long long)n);
        *v = cell_at(*v, i - 1);
        rest = after + 1;
    }
done:
    return st;
}

/* A variable of a MAT 7.3 file: its outline from those that were listed, or the values too. *out for
 * ferry_i_matio.VarFree() when values are wanted; else borrowed. */
static ferry_status fetch(ferry_ctx *ctx, const mat *m, const char *name, bool values,
                          matvar_t **out)
{
    ferry_status st = FERRY_OK;
    ferry_mat_vars one = {0};

    *out = NULL;
    for (int64_t i = 0; !values && i < m->outline.n; i++)
        if (m->outline.v[i]->name && strcmp(m->outline.v[i]->name, name) == 0)
            *out = m->outline.v[i];
    if (values) FERRY_TRY(ferry_i_mat73(ctx, m->in, name, &one));
    if (one.n > 0) FERRY_MOVE(*out, one.v[0]);
    one.n = 0;
done:
    ferry_i_mat_vars_free(&one);
    return st;
}

/* The variable's outline is read and checked first (VarReadInfo takes no memory for its
 * values), and again once the values are there, since {i} leads to another one. */
static ferry_status read_name(ferry_ctx *ctx, const mat *m, const char *name,
                              ferry_var *out)
{
    ferry_status st = FERRY_OK;
    const char *brace = strchr(name, '{');
    char *base = brace ? ferry_i_strndup(name, brace - name) : ferry_i_strdup(name);
    char *where = ferry_i_sprintf("%s#%s", m->path, name);
    matvar_t *whole = NULL, *borrowed = NULL;
    const matvar_t *v = NULL;

    *out = (ferry_var){0};
    FERRY_HAVE(ctx, base && where);
    FERRY_NEED(ctx, ferry_i_var_list_find(&m->list, base) >= 0, FERRY_EDATA,
               "%s: holds no variable '%s' (its first is %s)", m->path, base,
               m->list.v[0].name);
    /* outline first; a cell array's own shape shows nothing about the element that is
     * wanted */
    errno = 0;
    if (m->in)
        FERRY_TRY(fetch(ctx, m, base, false, &borrowed));
    else
        borrowed = whole = ferry_i_matio.VarReadInfo(m->file, base);
    FERRY_HAVE(ctx, errno != ENOMEM);
    FERRY_NEED(ctx, borrowed, FERRY_EDATA, "%s: cannot be read", where);
    if (borrowed->class_type != MAT_C_CELL) FERRY_TRY(check_shape(ctx, m, where, borrowed));
    ferry_i_matio.VarFree(whole);
    whole = NULL;
    if (m->in)
        FERRY_TRY(fetch(ctx, m, base, true, &whole));
    else
        whole = ferry_i_matio.VarRead(m->file, base);
    FERRY_HAVE(ctx, errno != ENOMEM);
    FERRY_NEED(ctx, whole, FERRY_EDATA, "%s: cannot be read", where);
    /* v walks into the cells of whole, which owns everything */
    v = whole;
    FERRY_TRY(follow(ctx, where, &v, brace ? brace : ""));
    FERRY_TRY(check_shape(ctx, m, where, v));
    if (v->class_type == MAT_C_SPARSE)
        FERRY_TRY(take_sparse(ctx, where, v, out));
    else if (is_number(v))
        FERRY_TRY(take_dense(ctx, where, v, out));
    else
        FERRY_TRY(take_texts(ctx, where, v, out));
done:
    if (st != FERRY_OK) ferry_i_var_free(out);
    ferry_i_matio.VarFree(whole);
    FERRY_FREE(base, where);
    return st;
}

/* ---- the format ---- */

static ferry_status read_var(ferry_ctx *ctx, void *arg, int64_t i, ferry_var *out)
{
    const mat *m = arg;

    return read_name(ctx, m, m->list.v[i].name, out);
}

/* Opens, lists and reads one variable (member given) or the whole. The lock is held by the
 * caller; the file is closed here whatever happens. */
static ferry_status read_open(ferry_ctx *ctx, mat *m, const char *member,
                              const ferry_read_settings *s, ferry_data_kind as,
                              ferry_data **out)
{
    ferry_status st = FERRY_OK;
    const ferry_container all = {m->path, "mat", &m->list, read_var, m, s->transpose};
    ferry_var v = {0};
    ferry_data *d = NULL;
    char *where = NULL;

    errno = 0;
    if (!m->in) m->file = ferry_i_matio.Open(m->path, MAT_ACC_RDONLY);
    FERRY_HAVE(ctx, errno != ENOMEM);
    FERRY_NEED(ctx, m->in || m->file, FERRY_EDATA, "%s: cannot be read as a MAT file",
               m->path);
    FERRY_TRY(list_all(ctx, m));
    if (member) {
        FERRY_HAVE(ctx, where = ferry_i_sprintf("%s#%s", m->path, member));
        FERRY_TRY(read_name(ctx, m, member, &v));
        FERRY_TRY(ferry_i_var_alone(ctx, where, "mat", &v, s, as, &d));
    } else {
        FERRY_TRY(ferry_i_var_whole(ctx, &all, as, &d));
    }
    FERRY_MOVE(*out, d);
done:
    ferry_data_free(d);
    ferry_i_var_free(&v);
    ferry_i_free(where);
    if (m->file) (void)ferry_i_matio.Close(m->file);
    return st;
}

/* The check comes before the lock, since it is our own code and may run in many threads; so may
 * reading by another program. */
static ferry_status read_mat(ferry_ctx *ctx, const ferry_input *in, const char *member,
                             const ferry_read_settings *s, ferry_data_kind as,
                             ferry_data **out)
{
    ferry_status st = FERRY_OK;
    const bool hdf = ferry_i_mat_version(in->data, in->size) == 7;
    mat m = {.path = in->path,
             .size = in->size,
             .most = ferry_i_input_limit(ctx, in->size),
             .in = hdf ? in : NULL};

    *out = NULL;
    FERRY_TRY(ferry_i_matio_ready(ctx, in->path));
    FERRY_TRY(ferry_i_mat_check(ctx, in));
    if (!hdf) pthread_mutex_lock(&lock);
    st = read_open(ctx, &m, member, s, as, out);
    if (!hdf) pthread_mutex_unlock(&lock);
done:
    ferry_i_var_list_free(&m.list);
    ferry_i_mat_vars_free(&m.outline);
    return st;
}

/* Both versions begin with "MATLAB" and have the version and byte order in byte 124 to
 * 127. */
static int sniff_mat(const char *head, int64_t n)
{
    return ferry_i_mat_version(head, n) && memcmp(head, "MATLAB", 6) == 0 ? 100 : 0;
}

const ferry_format ferry_i_format_mat = {
    .info = {.name = "mat",
             .extensions = ".mat",
             .summary = "MATLAB 5 and 7.3: matrices, sparse ones and texts by name",
             .writes = 1},
    .kinds = 1u << FERRY_DATA_VIEW | 1u << FERRY_DATA_LABELS | 1u << FERRY_DATA_LISTING,
    .options = "transpose",
    .sniff = sniff_mat,
    .read = read_mat,
    .members = true,
    .write = ferry_i_mat_write,
};
