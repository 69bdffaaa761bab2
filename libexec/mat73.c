/* ferry-mat73: reads a MAT 7.3 file for the library, in a process of its own.
 *
 * MAT 7.3 is HDF5, and libhdf5 1.10 and matio 1.5 crash on damaged files. What they do wrong happens
 * here, where there is little memory and time, nothing to write to and nobody to hurt; the library
 * (src/data/mat73.c) believes nothing of what comes out.
 *
 *   ferry-mat73 BYTES SECONDS [NAME] < FILE
 *
 * BYTES and SECONDS limit address space and processor time. Out come the outlines of all variables, or
 * with NAME that one with its values, in the form that src/data/mat73.h describes. */
#define _GNU_SOURCE
#include <hdf5.h>
#include <matio.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "data/mat73.h"

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

int main(int argc, char **argv)
{
    if (argc < 3) return 2;
#ifndef __SANITIZE_ADDRESS__ /* which takes terabytes of address space */
    limit(RLIMIT_AS, strtoull(argv[1], NULL, 10));
#endif
    limit(RLIMIT_CPU, strtoull(argv[2], NULL, 10));
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_FSIZE, 0); /* nothing is written but the pipe */
    (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    mat_t *file = Mat_Open("/proc/self/fd/0", MAT_ACC_RDONLY);
    if (!file) return 1;
    put_int(MAT73_MAGIC);
    if (argc > 3) {
        put_var(Mat_VarRead(file, argv[3]), 1, 0);
    } else {
        for (matvar_t *v; (v = Mat_VarReadNextInfo(file));)
            put_var(v, 0, 0);
        put_int(MAT73_NOTHING);
    }
    put_int(MAT73_MAGIC);
    if (fflush(stdout) != 0) return 1;
    _Exit(0); /* what libraries would do on the way out helps nobody */
}
