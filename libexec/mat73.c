/* ferry-mat73: reads a MAT 7.3 file for the library, in a process of its own.
 *
 * MAT 7.3 is HDF5, and libhdf5 1.10 and matio 1.5 crash on damaged files. What they do wrong happens
 * here, where there is little memory and time, nothing to write to and nobody to hurt; the library
 * (src/data/mat73.c) believes nothing of what comes out.
 *
 *   ferry-mat73 BYTES SECONDS [NAME] < FILE
 *
 * BYTES and SECONDS limit address space and processor time. Out come the outlines of all variables, or
 * with NAME that one with its values, in the form that src/data/mat73.h describes.
 *
 * HDF5 1.10 does not compare how many bytes are stored with how many the shape needs: it then hands out
 * what lies behind them in memory. So the pieces of a variable are measured before matio reads it, and what
 * leads out of the file (external storage, virtual data sets) is refused. */
#define _GNU_SOURCE
#include <errno.h>
#include <hdf5.h>
#include <matio.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <zlib.h>

#include "data/mat73.h"

#define INPUT "/proc/self/fd/0"

static void limit(int what, unsigned long long most)
{
    const struct rlimit r = {most, most};

    (void)setrlimit(what, &r);
}

static void put(const void *p, size_t n)
{
    if (n > 0 && fwrite(p, 1, n, stdout) != n) exit(1);
}

static void put_int(int64_t x)
{
    put(&x, sizeof x);
}

static void put_bytes(const void *p, size_t n)
{
    put_int(p ? (int64_t)n : -1);
    if (p) put(p, n);
}

static void put_var(const matvar_t *v, int values, int depth);

/* Elements of a cell array; there must be as many as the array of pointers has room for. */
static void put_cells(const matvar_t *v, int values, int depth)
{
    int64_t n = v->rank > 0 && v->dims ? 1 : 0;

    for (int i = 0; i < v->rank && v->dims; i++) {
        if (v->dims[i] > (size_t)INT32_MAX) exit(1);
        n *= (int64_t)v->dims[i];
        if (n > INT32_MAX) exit(1);
    }
    if (!v->data || (size_t)n > v->nbytes / sizeof(matvar_t *)) n = 0;
    put_int(n);
    for (int64_t i = 0; i < n; i++)
        put_var(((matvar_t **)v->data)[i], values, depth + 1);
}

static void put_sparse(const mat_sparse_t *s, size_t width)
{
    put_bytes(s->ir, (size_t)s->nir * sizeof *s->ir);
    put_bytes(s->jc, (size_t)s->njc * sizeof *s->jc);
    put_bytes(s->data, (size_t)s->ndata * width);
}

static void put_var(const matvar_t *v, int values, int depth)
{
    put_int(v ? MAT73_VARIABLE : MAT73_NOTHING);
    if (!v) return;
    if (depth > MAT73_DEEPEST) exit(1);
    put_bytes(v->name, v->name ? strlen(v->name) : 0);
    put_int(v->class_type);
    put_int(v->data_type);
    put_int(v->isComplex != 0);
    put_int(v->isLogical != 0);
    put_int(v->dims ? v->rank : 0);
    for (int i = 0; v->dims && i < v->rank; i++)
        put_int((int64_t)v->dims[i]);
    if (v->class_type == MAT_C_CELL) {
        put_cells(v, values, depth);
    } else if (values && v->class_type == MAT_C_SPARSE && v->data && !v->isComplex) {
        put_int(MAT73_SPARSE);
        put_sparse(v->data, Mat_SizeOf(v->data_type));
    } else if (values && v->data && !v->isComplex && v->class_type != MAT_C_STRUCT) {
        put_int(MAT73_DENSE);
        put_bytes(v->data, v->nbytes);
    } else {
        put_int(MAT73_NOTHING);
    }
}

/* ---- whether the bytes are there ---- */

/* What n bytes inflate to, at most `most`; 0: they do not. */
static size_t inflated(const void *bytes, size_t n, size_t most)
{
    static unsigned char piece[1 << 16];
    z_stream z = {.next_in = (z_const Bytef *)(uintptr_t)bytes, .avail_in = (uInt)n};
    int code = n <= UINT32_MAX && inflateInit(&z) == Z_OK ? Z_OK : Z_MEM_ERROR;

    while (code == Z_OK && z.total_out <= most) {
        z.next_out = piece;
        z.avail_out = sizeof piece;
        code = inflate(&z, Z_NO_FLUSH);
    }
    const size_t out = code == Z_STREAM_END ? z.total_out : 0;
    (void)inflateEnd(&z);
    return out;
}

/* The chunk at these coordinates has `want` bytes once its filters are undone, or was never written. */
static bool chunk_there(hid_t data, hid_t how, const hsize_t *at, hsize_t want)
{
    hsize_t stored = 0;
    uint32_t skipped = 0;
    unsigned flags;

    if (H5Dget_chunk_storage_size(data, at, &stored) < 0) return false;
    if (stored == 0) return true;
    void *const bytes = malloc(stored), *packed = bytes;
    bool ok = bytes && H5Dread_chunk(data, H5P_DEFAULT, at, &skipped, bytes) >= 0;
    size_t n = stored;
    for (int i = H5Pget_nfilters(how) - 1; ok && i >= 0; i--) {
        size_t no_values = 0;
        if (skipped >> i & 1) continue;
        switch (H5Pget_filter2(how, (unsigned)i, &flags, &no_values, NULL, 0, NULL, NULL)) {
        case H5Z_FILTER_SHUFFLE: break;
        case H5Z_FILTER_FLETCHER32: /* four bytes at the end */
            ok = n > 4;
            n -= 4;
            break;
        case H5Z_FILTER_DEFLATE:
            n = packed ? inflated(packed, n, want + 4) : 0;
            packed = NULL; /* the bytes of a second one are not here */
            break;
        default: ok = false;
        }
    }
    free(bytes);
    return ok && n == want;
}

/* Without filters HDF5 tells no chunk's size but as it should be; their sum is as it is. Else one after the
 * other, in the order of an odometer. */
static bool chunks_there(hid_t data, hid_t how, hid_t space, const hsize_t *dims,
                         hsize_t size)
{
    hsize_t chunk[H5S_MAX_RANK], at[H5S_MAX_RANK] = {0}, want = size, n = 0;
    const int rank = H5Sget_simple_extent_ndims(space);

    if (H5Pget_chunk(how, H5S_MAX_RANK, chunk) != rank) return false;
    for (int i = 0; i < rank; i++) {
        if (dims[i] == 0) return true;
        if (chunk[i] == 0 || chunk[i] > UINT32_MAX / want) return false; /* HDF5's limit */
        want *= chunk[i];
    }
    if (H5Pget_nfilters(how) == 0)
        return H5Dget_num_chunks(data, space, &n) >= 0 &&
               H5Dget_storage_size(data) == n * want;
    for (int i = 0; i >= 0;) {
        if (!chunk_there(data, how, at, want)) return false;
        for (i = rank - 1; i >= 0 && (at[i] += chunk[i]) >= dims[i]; i--)
            at[i] = 0;
    }
    return true;
}

static bool data_there(hid_t data)
{
    const hid_t how = H5Dget_create_plist(data), space = H5Dget_space(data);
    const hid_t type = H5Dget_type(data);
    const H5D_layout_t layout = H5Pget_layout(how);
    hsize_t dims[H5S_MAX_RANK];
    const int rank = H5Sget_simple_extent_dims(space, dims, NULL);
    const hssize_t n = H5Sget_simple_extent_npoints(space);
    const size_t size = H5Tget_size(type);
    H5D_space_status_t has = H5D_SPACE_STATUS_ERROR;
    bool ok = false;

    if (rank < 0 || n < 0 || size == 0 || H5Pget_external_count(how) != 0) return false;
    if (layout == H5D_CHUNKED) {
        ok = chunks_there(data, how, space, dims, size);
    } else if (layout == H5D_CONTIGUOUS || layout == H5D_COMPACT) {
        ok = H5Dget_storage_size(data) / size >= (hsize_t)n;
        if (!ok) /* never written */
            ok = H5Dget_space_status(data, &has) >= 0 &&
                 has == H5D_SPACE_STATUS_NOT_ALLOCATED;
    }
    (void)H5Pclose(how), (void)H5Sclose(space), (void)H5Tclose(type);
    return ok;
}

static bool all_there(hid_t object, int depth);

static herr_t member_there(hid_t group, const char *name, const H5L_info_t *info,
                           void *depth)
{
    const hid_t o =
        info->type == H5L_TYPE_EXTERNAL ? -1 : H5Oopen(group, name, H5P_DEFAULT);

    return all_there(o, *(int *)depth + 1) ? 0 : -1;
}

/* The elements of a cell array, which are references; one that leads nowhere is an empty element. */
static bool cells_there(hid_t data, int depth)
{
    const hid_t space = H5Dget_space(data);
    const hssize_t n = H5Sget_simple_extent_npoints(space);
    hobj_ref_t *const refs = calloc((size_t)n + 1, sizeof *refs);
    bool ok =
        refs && H5Dread(data, H5T_STD_REF_OBJ, H5S_ALL, H5S_ALL, H5P_DEFAULT, refs) >= 0;

    for (hssize_t i = 0; ok && i < n; i++) {
        const hid_t o = H5Rdereference2(data, H5P_DEFAULT, H5R_OBJECT, &refs[i]);
        ok = o < 0 || all_there(o, depth + 1);
    }
    free(refs);
    (void)H5Sclose(space);
    return ok;
}

/* Of a data set, a group of them (sparse, struct), or a cell array. Closes the object. */
static bool all_there(hid_t object, int depth)
{
    bool ok = object >= 0 && depth <= MAT73_DEEPEST;

    if (ok && H5Iget_type(object) == H5I_GROUP) {
        ok = H5Literate(object, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, member_there,
                        &depth) >= 0;
    } else if (ok && H5Iget_type(object) == H5I_DATASET) {
        const hid_t type = H5Dget_type(object);
        ok = data_there(object) &&
             (H5Tget_class(type) != H5T_REFERENCE || cells_there(object, depth));
        (void)H5Tclose(type);
    }
    if (object >= 0) (void)H5Oclose(object);
    return ok;
}

/* A variable that is not there is matio's to tell. */
static bool variable_there(const char *name)
{
    const hid_t file = H5Fopen(INPUT, H5F_ACC_RDONLY, H5P_DEFAULT);
    const hid_t object = file >= 0 ? H5Oopen(file, name, H5P_DEFAULT) : -1;
    const bool ok = object < 0 || all_there(object, 0);

    if (file >= 0) (void)H5Fclose(file);
    return ok;
}

/* Memory that ran out makes matio give less, without a word. */
static const matvar_t *whole(const matvar_t *v)
{
    if (errno == ENOMEM) exit(1);
    return v;
}

int main(int argc, char **argv)
{
    if (argc < 3) return 2;
    (void)H5Lunregister(H5L_TYPE_EXTERNAL); /* what leads to another file leads nowhere */
    errno = 0;
#ifndef __SANITIZE_ADDRESS__ /* which takes terabytes of address space */
    limit(RLIMIT_AS, strtoull(argv[1], NULL, 10));
#endif
    limit(RLIMIT_CPU, strtoull(argv[2], NULL, 10));
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_FSIZE, 0); /* nothing is written but the pipe */
    (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    if (argc > 3 && !variable_there(argv[3])) return 1;
    mat_t *file = Mat_Open(INPUT, MAT_ACC_RDONLY);
    if (!file) return 1;
    put_int(MAT73_MAGIC);
    if (argc > 3) {
        put_var(whole(Mat_VarRead(file, argv[3])), 1, 0);
    } else {
        for (const matvar_t *v; (v = whole(Mat_VarReadNextInfo(file)));)
            put_var(v, 0, 0);
        put_int(MAT73_NOTHING);
    }
    put_int(MAT73_MAGIC);
    if (fflush(stdout) != 0) return 1;
    _Exit(0); /* what libraries would do on the way out helps nobody */
}
