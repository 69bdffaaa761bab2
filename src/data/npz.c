/* NPZ: NumPy arrays in a zip, each a member NAME.npy.
 *
 * "file.npz#NAME" picks one. Without a name: x (or the only matrix) with labels (or y), ids
 * and features beside it; or the parts of a scipy.sparse matrix (data, indices, indptr,
 * shape, format), as save_npz writes them, with the same company; else a listing.
 * What we write reads back whole: label_names keeps the names of classes and label sets, a
 * class "" or a row of NaN is a missing label.
 */
#include <math.h>
#include <string.h>

#include "data/archive.h"
#include "data/fields.h"
#include "data/npy.h"

typedef struct npz {
    const char *path;
    ferry_archive zip;
    ferry_var_list list; /* same order as zip's members */
    bool sparse;         /* it holds a sparse matrix, which is the last entry of list */
} npz;

/* The members that a scipy.sparse matrix is kept in. */
enum { DATA, INDICES, INDPTR, SHAPE, FORMAT, N_PARTS };
static const char *const part_names[] = {"data.npy", "indices.npy", "indptr.npy",
                                         "shape.npy", "format.npy"};

/* A member of the archive opened as an array. */
static ferry_status open_member(ferry_ctx *ctx, const npz *z, const ferry_member *m,
                                ferry_npy *a)
{
    ferry_status st = FERRY_OK;
    char *where = ferry_i_sprintf("%s#%.*s", z->path, (int)strcspn(m->name, "\n"), m->name);

    /* a name may hold a newline, at which the message cuts it */
    FERRY_HAVE(ctx, where);
    FERRY_TRY(ferry_i_npy_open(ctx, where, m->bytes, m->size, a));
done:
    ferry_i_free(where);
    return st;
}

/* ---- what there is ---- */

/* A member that holds a part of the sparse matrix, and so is nothing by itself. */
static bool is_part(const npz *z, const char *name)
{
    for (int k = 0; z->sparse && k < N_PARTS; k++)
        if (strcmp(name, part_names[k]) == 0) return true;
    return false;
}

/* Adds a member under its name without .npy. What is no array is listed too, as a
 * container: then the file has something that cannot be understood, and nothing is
 * guessed. */
static ferry_status list_member(ferry_ctx *ctx, npz *z, const ferry_member *m)
{
    ferry_status st = FERRY_OK;
    ferry_npy a = {0};
    char *type = NULL, *name = NULL;
    const size_t n = strlen(m->name);
    const bool array = n > 4 && ferry_i_ends_with(m->name, ".npy");

    st = array ? open_member(ctx, z, m, &a) : FERRY_EDATA;
    if (st != FERRY_OK && st != FERRY_EDATA) goto done;
    const bool fine =
        st == FERRY_OK; /* what cannot be read is listed, and refused by name */
    st = FERRY_OK;
    name = array ? ferry_i_strndup(m->name, (int64_t)n - 4) : ferry_i_strdup(m->name);
    type = fine ? ferry_i_npy_type(&a) : ferry_i_strdup("not an array that can be read");
    FERRY_HAVE(ctx, name && type);
    const bool text = a.kind == 'U' || a.kind == 'S';
    const ferry_var_info info = {.name = name,
                                 .type = type,
                                 .rows = a.rows,
                                 .cols = a.cols,
                                 .numeric =
                                     fine && !text && a.dims > 0 && !is_part(z, m->name),
                                 .text = fine && text && a.dims == 1,
                                 .container = !fine};
    FERRY_HAVE(ctx, ferry_i_var_list_add(&z->list, &info));
done:
    FERRY_FREE(name, type);
    return st;
}

/* ---- scipy.sparse ---- */

/* A scipy.sparse matrix, opened: its parts still as bytes. */
typedef struct sparse {
    ferry_npy part[N_PARTS];
    /* columns are compressed, else rows */
    bool csc;
    int64_t rows, cols, nnz;
    int64_t major, minor; /* rows and cols of what is compressed */
} sparse;

/* Indices and offsets: scipy writes int32 or int64 by size, others unsigned. */
static bool whole_vector(const ferry_npy *a)
{
    return (a->kind == 'i' || a->kind == 'u') && a->dims == 1;
}

/* Open the parts and check them against each other. */
static ferry_status sparse_open(ferry_ctx *ctx, const npz *z, sparse *s)
{
    ferry_status st = FERRY_OK;
    ferry_npy *p = s->part;

    for (int k = 0; k < N_PARTS; k++)
        FERRY_TRY(open_member(ctx, z, ferry_i_archive_find(&z->zip, part_names[k]), &p[k]));
    /* "csr" as three bytes (Python 3's scipy) or as three UTF-32 characters (np.savez by
     * hand) */
    const int step = p[FORMAT].kind == 'U' ? 4 : 1;
    const bool text = (p[FORMAT].kind == 'U' || p[FORMAT].kind == 'S') && !p[FORMAT].big &&
                      p[FORMAT].size == 3 && p[FORMAT].rows == 1;
    const char *f = p[FORMAT].data;
    FERRY_NEED(ctx, text && f[0] == 'c' && f[step] == 's' && strchr("rc", f[2 * step]),
               FERRY_EDATA, "%s: expected a sparse matrix in csr or csc format", z->path);
    s->csc = f[2 * step] == 'c';
    FERRY_NEED(ctx,
               whole_vector(&p[INDICES]) && whole_vector(&p[INDPTR]) &&
                   whole_vector(&p[SHAPE]) && p[SHAPE].rows == 2 && p[DATA].dims == 1 &&
                   p[DATA].kind != 'U' && p[DATA].kind != 'S',
               FERRY_EDATA, "%s: the parts of its sparse matrix have the wrong types",
               z->path);
    /* shapes; indices fit 32 bits because minor does */
    s->rows = ferry_i_npy_int(&p[SHAPE], 0);
    s->cols = ferry_i_npy_int(&p[SHAPE], 1);
    s->major = s->csc ? s->cols : s->rows;
    s->minor = s->csc ? s->rows : s->cols;
    s->nnz = p[DATA].rows;
    FERRY_NEED(ctx,
               s->rows > 0 && s->cols > 0 && s->minor <= INT32_MAX &&
                   s->major <= INT32_MAX && p[INDPTR].rows == s->major + 1 &&
                   p[INDICES].rows == s->nnz,
               FERRY_EDATA,
               "%s: a sparse matrix of %lld x %lld has %lld offsets, %lld indices and %lld "
               "values",
               z->path, (long long)s->rows, (long long)s->cols, (long long)p[INDPTR].rows,
               (long long)p[INDICES].rows, (long long)s->nnz);
done:
    return st;
}

/* CSR as it is; CSC is read as the CSR of the transpose and turned. Offsets must begin at
 * 0, not descend and end at nnz; indices must lie inside. scipy does not promise sorted
 * indices. */
static ferry_status sparse_read(ferry_ctx *ctx, const npz *z, ferry_var *out)
{
    ferry_status st = FERRY_OK;
    sparse s = {0};
    ferry_var values = {0};

    FERRY_TRY(sparse_open(ctx, z, &s));
    FERRY_TRY(ferry_i_npy_read(ctx, &s.part[DATA], &values));
    FERRY_TRY(ferry_i_matrix_csr(ctx, s.major, s.minor, s.nnz, &out->x));
    /* offsets: 0 = start[0] <= ... <= start[major] = nnz */
    for (int64_t i = 0; i <= s.major; i++) {
        const int64_t at = ferry_i_npy_int(&s.part[INDPTR], i);
        const int64_t least = i == 0 ? 0 : out->x->start[i - 1];
        const int64_t most = i == 0 ? 0 : s.nnz;
        FERRY_NEED(ctx, at >= least && at <= most && (i < s.major || at == s.nnz),
                   FERRY_EDATA, "%s#indptr: entry %lld is %lld, expected %lld .. %lld",
                   z->path, (long long)(i + 1), (long long)at,
                   (long long)(i == s.major ? s.nnz : least), (long long)most);
        out->x->start[i] = at;
    }
    /* indices and values, each index inside the row */
    for (int64_t e = 0; e < s.nnz; e++) {
        const int64_t j = ferry_i_npy_int(&s.part[INDICES], e);
        FERRY_NEED(ctx, j >= 0 && j < s.minor, FERRY_EDATA,
                   "%s#indices: entry %lld is %lld, expected 0 .. %lld", z->path,
                   (long long)(e + 1), (long long)j, (long long)(s.minor - 1));
        out->x->index[e] = (int32_t)j;
        out->x->value[e] = values.x->dense[e];
    }
    FERRY_TRY(ferry_i_var_sort(ctx, z->path, out));
    if (s.csc) FERRY_TRY(ferry_i_var_transpose(ctx, out));
done:
    ferry_i_var_free(&values);
    if (st != FERRY_OK) ferry_i_var_free(out);
    return st;
}

/* The sparse matrix is called x, whatever the file is called: behind the members, so that
 * their places in list and archive stay the same. */
static ferry_status list_sparse(ferry_ctx *ctx, npz *z)
{
    ferry_status st = FERRY_OK;
    sparse s = {0};
    char *type = NULL;

    if (!z->sparse) goto done;
    FERRY_TRY(sparse_open(ctx, z, &s));
    type = ferry_i_sprintf("sparse %lld x %lld", (long long)s.rows, (long long)s.cols);
    FERRY_HAVE(ctx, type);
    const ferry_var_info info = {.name = (char *)(uintptr_t) "x",
                                 .type = type,
                                 .rows = s.rows,
                                 .cols = s.cols,
                                 .numeric = true};
    FERRY_HAVE(ctx, ferry_i_var_list_add(&z->list, &info));
done:
    ferry_i_free(type);
    return st;
}

/* ---- reading ---- */

/* Number i of the list: a member, or the sparse matrix that stands last. */
static ferry_status read_var(ferry_ctx *ctx, void *arg, int64_t i, ferry_var *out)
{
    const npz *z = arg;
    ferry_npy a = {0};

    *out = (ferry_var){0};
    if (z->sparse && i == z->list.n - 1) return sparse_read(ctx, z, out);
    FERRY_PASS(open_member(ctx, z, &z->zip.members[i], &a));
    return ferry_i_npy_read(ctx, &a, out);
}

/* file.npz#NAME. */
static ferry_status read_named(ferry_ctx *ctx, npz *z, const char *member,
                               const ferry_read_settings *s, ferry_data_kind as,
                               ferry_data **out)
{
    ferry_status st = FERRY_OK;
    ferry_var v = {0};
    char *where = ferry_i_sprintf("%s#%s", z->path, member);

    FERRY_HAVE(ctx, where);
    const int64_t i = ferry_i_var_list_find(&z->list, member);
    FERRY_NEED(ctx, i >= 0, FERRY_EDATA, "%s: holds no array %s (its first is %s)", z->path,
               member, z->list.n > 0 ? z->list.v[0].name : "missing");
    FERRY_TRY(read_var(ctx, z, i, &v));
    FERRY_TRY(ferry_i_var_alone(ctx, where, "npz", &v, s, as, out));
done:
    ferry_i_free(where);
    ferry_i_var_free(&v);
    return st;
}

/* All members' bytes are brought along: NumPy stores arrays as they are by default, so they
 * cost nothing but their place in the file. */
static ferry_status read_npz(ferry_ctx *ctx, const ferry_input *in, const char *member,
                             const ferry_read_settings *s, ferry_data_kind as,
                             ferry_data **out)
{
    ferry_status st = FERRY_OK;
    npz z = {.path = in->path};
    const ferry_container all = {in->path, "npz", &z.list, read_var, &z, s->transpose};

    *out = NULL;
    FERRY_TRY(ferry_i_archive_list(ctx, in, (ferry_bring){.all = true}, &z.zip));
    /* all five parts or it is none: "data" alone is a name that anybody may use */
    z.sparse = true;
    for (int k = 0; k < N_PARTS; k++)
        z.sparse = z.sparse && ferry_i_archive_find(&z.zip, part_names[k]);
    for (int64_t i = 0; i < z.zip.n; i++)
        FERRY_TRY(list_member(ctx, &z, &z.zip.members[i]));
    FERRY_TRY(list_sparse(ctx, &z));
    FERRY_TRY(member ? read_named(ctx, &z, member, s, as, out)
                     : ferry_i_var_whole(ctx, &all, as, out));
done:
    ferry_i_var_list_free(&z.list);
    ferry_i_archive_free(&z.zip);
    return st;
}

static int sniff_npz(const char *head, int64_t n)
{
    /* a zip whose first member's name ends in .npy */
    if (n < 30 || memcmp(head, "PK\3\4", 4) != 0) return 0;
    const int64_t len = (unsigned char)head[26] | (unsigned char)head[27] << 8;
    return len > 4 && 30 + len <= n && memcmp(head + 30 + len - 4, ".npy", 4) == 0 ? 90 : 0;
}

/* ---- writing ---- */

/* Header and items as one member; they are not copied together. */
static void add_array(ferry_zip_out *z, const char *name, const char *descr, int64_t rows,
                      int64_t cols, const void *data, int64_t bytes)
{
    char head[256];

    ferry_i_zip_add(z, name, head, ferry_i_npy_header(head, descr, rows, cols), data,
                    bytes);
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

/* n texts as an array of the width of the longest. */
static ferry_status add_texts(ferry_ctx *ctx, ferry_zip_out *z, const char *name, int64_t n,
                              const char *(*at)(const void *, int64_t), const void *arg)
{
    ferry_status st = FERRY_OK;
    uint32_t *wide = NULL;
    int64_t width = 1;
    char descr[32] = "<U";

    for (int64_t i = 0; i < n; i++)
        if (ferry_i_utf8_points(at(arg, i), NULL) > width)
            width = ferry_i_utf8_points(at(arg, i), NULL);
    FERRY_HAVE(ctx, wide = ferry_i_calloc(n, (size_t)width * sizeof *wide));
    for (int64_t i = 0; i < n; i++)
        (void)ferry_i_utf8_points(at(arg, i), wide + i * width);
    (void)ferry_i_format_real(descr + 2, (double)width);
    add_array(z, name, descr, n, -1, wide, n * width * (int64_t)sizeof *wide);
done:
    ferry_i_free(wide);
    return st;
}

/* Sparse parts are named and typed as scipy.sparse.save_npz does. */
static void add_x(ferry_zip_out *z, const ferry_matrix *x)
{
    const int64_t shape[2] = {x->rows, x->cols};

    if (x->dense) {
        add_array(z, "x.npy", "<f8", x->rows, x->cols, x->dense, 8 * x->nnz);
        return;
    }
    add_array(z, "format.npy", "|S3", -1, -1, "csr", 3);
    add_array(z, "shape.npy", "<i8", 2, -1, shape, sizeof shape);
    add_array(z, "indptr.npy", "<i8", x->rows + 1, -1, x->start, 8 * (x->rows + 1));
    add_array(z, "indices.npy", "<i4", x->nnz, -1, x->index, 4 * x->nnz);
    add_array(z, "data.npy", "<f8", x->nnz, -1, x->value, 8 * x->nnz);
}

/* Label sets as 0/1; as numbers with rows of NaN when some are missing. */
static ferry_status add_sets(ferry_ctx *ctx, ferry_zip_out *z, const ferry_labels *l)
{
    ferry_status st = FERRY_OK;
    const int64_t m = ferry_i_labels_m(l);
    float *f = NULL;
    bool all = true;

    /* bytes suffice when all sets are known; NaN needs a float */
    for (int64_t i = 0; i < l->n; i++)
        all = all && l->known[i];
    if (all) {
        add_array(z, "labels.npy", "|u1", l->n, m, l->on, l->n * m);
        goto done;
    }
    FERRY_NEW(ctx, f, l->n * m);
    for (int64_t i = 0; i < l->n * m; i++)
        f[i] = l->known[i / m] ? l->on[i] : NAN;
    add_array(z, "labels.npy", "<f4", l->n, m, f, 4 * l->n * m);
done:
    ferry_i_free(f);
    return st;
}

/* Numbers as they are; classes as texts, "" for missing; sets as a matrix. label_names
 * keeps the order of classes and of a set's columns. */
static ferry_status add_labels(ferry_ctx *ctx, ferry_zip_out *z, const ferry_labels *l)
{
    if (l->kind == FERRY_LABEL_NUMBER)
        add_array(z, "labels.npy", "<f8", l->n, -1, l->num, 8 * l->n);
    if (l->kind == FERRY_LABEL_CLASS)
        FERRY_PASS(add_texts(ctx, z, "labels.npy", l->n, class_at, l));
    if (l->kind == FERRY_LABEL_SET) FERRY_PASS(add_sets(ctx, z, l));
    if (l->kind != FERRY_LABEL_NUMBER && ferry_i_labels_m(l) > 0)
        FERRY_PASS(
            add_texts(ctx, z, "label_names.npy", ferry_i_labels_m(l), id_at, l->names));
    return FERRY_OK;
}

/* The parts that data has, under the names by which ferry_i_var_whole() finds them
 * again. */
static ferry_status write_npz(ferry_ctx *ctx, const ferry_data *data, const char *path,
                              const ferry_opts *opts)
{
    ferry_status st = FERRY_OK;
    ferry_out *o = NULL;
    ferry_zip_out z = {0};

    (void)opts;
    FERRY_NEED(ctx, data->kind == FERRY_DATA_VIEW || data->kind == FERRY_DATA_LABELS,
               FERRY_EINVAL, "%s: an NPZ file holds features and labels only", path);
    FERRY_TRY(ferry_i_out_open(ctx, path, &o));
    z.out = o;
    if (data->x) add_x(&z, data->x);
    if (data->ids)
        FERRY_TRY(
            add_texts(ctx, &z, "ids.npy", ferry_i_ids_count(data->ids), id_at, data->ids));
    if (data->features)
        FERRY_TRY(add_texts(ctx, &z, "features.npy", ferry_i_ids_count(data->features),
                            id_at, data->features));
    if (data->labels) FERRY_TRY(add_labels(ctx, &z, data->labels));
    FERRY_TRY(ferry_i_zip_end(ctx, &z));
    st = ferry_i_out_commit(ctx, o);
    o = NULL;
done:
    ferry_i_text_free(&z.directory);
    ferry_i_out_abort(o);
    return st;
}

const ferry_format ferry_i_format_npz = {
    .info = {.name = "npz",
             .extensions = ".npz",
             .summary = "NumPy arrays by name, or a scipy.sparse matrix",
             .writes = 1},
    .kinds = 1u << FERRY_DATA_VIEW | 1u << FERRY_DATA_LABELS | 1u << FERRY_DATA_LISTING,
    .options = "transpose",
    .sniff = sniff_npz,
    .read = read_npz,
    .members = true,
    .write = write_npz,
};
