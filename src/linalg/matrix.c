/* Data matrices: making, sharing, checking, the transposed index. Reshaping is in
 * reshape.c.
 *
 * Sharing: matrices are immutable after they are made, so they are counted (refs)
 * instead of copied, and _like shares its pattern with siblings with other values. */
#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "linalg/linalg.h"

/* BLAS and our column numbers count in 32 bits. */
static ferry_status check_shape(ferry_ctx *ctx, int64_t rows, int64_t cols)
{
    if (rows < 0 || cols < 0 || rows > INT32_MAX || cols > INT32_MAX)
        return ferry_i_fail(
            ctx, FERRY_EINVAL,
            "a %lld x %lld matrix is outside [0, 2147483647] rows or columns",
            (long long)rows, (long long)cols);
    return FERRY_OK;
}

/* refs = 1: the caller is the first owner. */
ferry_status ferry_i_matrix_dense(ferry_ctx *ctx, int64_t rows, int64_t cols,
                                  ferry_matrix **out)
{
    ferry_status st = FERRY_OK;
    ferry_matrix *x = NULL;

    *out = NULL;
    FERRY_TRY(check_shape(ctx, rows, cols));
    x = ferry_i_calloc(1, sizeof *x);
    if (x) {
        *x = (ferry_matrix){.rows = rows, .cols = cols, .nnz = rows * cols, .refs = 1};
        x->dense = ferry_i_calloc(x->nnz, sizeof *x->dense);
    }
    FERRY_HAVE(ctx, x && x->dense);
    FERRY_MOVE(*out, x);
done:
    ferry_i_matrix_free(x);
    return st;
}

/* The maker fills start[1..rows], index (ascending in a row) and value. */
ferry_status ferry_i_matrix_csr(ferry_ctx *ctx, int64_t rows, int64_t cols, int64_t nnz,
                                ferry_matrix **out)
{
    ferry_status st = FERRY_OK;
    ferry_matrix *x = NULL;

    *out = NULL;
    FERRY_TRY(check_shape(ctx, rows, cols));
    x = ferry_i_calloc(1, sizeof *x);
    if (x) {
        *x = (ferry_matrix){.rows = rows, .cols = cols, .nnz = nnz, .refs = 1};
        x->start = ferry_i_calloc(rows + 1, sizeof *x->start);
        x->index = ferry_i_calloc(nnz, sizeof *x->index);
        x->value = ferry_i_calloc(nnz, sizeof *x->value);
    }
    FERRY_HAVE(ctx, x && x->start && x->index && x->value);
    FERRY_MOVE(*out, x);
done:
    ferry_i_matrix_free(x);
    return st;
}

/* Values are not checked: NaN is a missing cell in a dense table. ld is the distance of
 * the caller's rows, which may be longer than ours. */
ferry_status ferry_i_matrix_from_array(ferry_ctx *ctx, const ferry_array *a,
                                       ferry_matrix **out)
{
    ferry_status st = FERRY_OK;

    *out = NULL;
    FERRY_NEED(ctx, a->ld >= a->cols, FERRY_EINVAL,
               "instances are %lld numbers apart but have %lld features", (long long)a->ld,
               (long long)a->cols);
    FERRY_TRY(ferry_i_matrix_dense(ctx, a->rows, a->cols, out));
    for (int64_t i = 0; i < a->rows && a->cols > 0; i++)
        memcpy((*out)->dense + i * a->cols, a->data + i * a->ld,
               (size_t)a->cols * sizeof *a->data);
done:
    return st;
}

/* Row i of the caller's arrays: starts in order, indices ascending and in range, values
 * finite. */
static ferry_status check_sparse_row(ferry_ctx *ctx, const ferry_sparse *s, int64_t i)
{
    ferry_status st = FERRY_OK;

    for (int64_t e = s->start[i]; e < s->start[i + 1]; e++) {
        FERRY_NEED(ctx, s->index[e] >= 0 && s->index[e] < s->cols, FERRY_EINVAL,
                   "instance %lld: feature index %d is outside [0, %lld)", (long long)i,
                   (int)s->index[e], (long long)s->cols);
        FERRY_NEED(ctx, e == s->start[i] || s->index[e] > s->index[e - 1], FERRY_EINVAL,
                   "instance %lld: feature index %d follows %d, but they must ascend",
                   (long long)i, (int)s->index[e], (int)s->index[e - 1]);
        FERRY_NEED(ctx, isfinite(s->value[e]), FERRY_EINVAL,
                   "instance %lld: the value of feature index %d is not finite",
                   (long long)i, (int)s->index[e]);
    }
done:
    return st;
}

/* Everything is checked before anything is used: later code indexes by these numbers without looking. */
static ferry_status check_sparse(ferry_ctx *ctx, const ferry_sparse *s)
{
    ferry_status st = FERRY_OK;

    FERRY_TRY(check_shape(ctx, s->rows, s->cols));
    FERRY_NEED(ctx, s->start[0] == 0, FERRY_EINVAL, "start[0] = %lld, but must be 0",
               (long long)s->start[0]);
    for (int64_t i = 0; i < s->rows; i++) /* all starts first: entries are read by them */
        FERRY_NEED(ctx, s->start[i + 1] >= s->start[i], FERRY_EINVAL,
                   "start[%lld] = %lld is below start[%lld] = %lld", (long long)(i + 1),
                   (long long)s->start[i + 1], (long long)i, (long long)s->start[i]);
    FERRY_NEED(ctx, s->start[s->rows] == 0 || (s->index && s->value), FERRY_EINVAL,
               "a sparse array of %lld entries without index or value",
               (long long)s->start[s->rows]);
    for (int64_t i = 0; i < s->rows; i++)
        FERRY_TRY(check_sparse_row(ctx, s, i));
done:
    return st;
}

ferry_status ferry_i_matrix_from_sparse(ferry_ctx *ctx, const ferry_sparse *s,
                                        ferry_matrix **out)
{
    ferry_status st = FERRY_OK;

    *out = NULL;
    FERRY_TRY(check_sparse(ctx, s));
    const int64_t nnz = s->start[s->rows];
    FERRY_TRY(ferry_i_matrix_csr(ctx, s->rows, s->cols, nnz, out));
    memcpy((*out)->start, s->start, (size_t)(s->rows + 1) * sizeof *s->start);
    if (nnz > 0) {
        memcpy((*out)->index, s->index, (size_t)nnz * sizeof *s->index);
        memcpy((*out)->value, s->value, (size_t)nnz * sizeof *s->value);
    }
done:
    return st;
}

/* Rows with gaps would need a stride in every product: those are copied instead. */
ferry_status ferry_i_matrix_borrow_array(ferry_ctx *ctx, const ferry_array *a,
                                         ferry_matrix **out)
{
    ferry_status st = FERRY_OK;
    ferry_matrix *x = NULL;

    *out = NULL;
    FERRY_NEED(
        ctx, a->ld == a->cols || a->rows <= 1, FERRY_EINVAL,
        "instances are %lld numbers apart but have %lld features: only an array without "
        "gaps can be borrowed",
        (long long)a->ld, (long long)a->cols);
    FERRY_TRY(check_shape(ctx, a->rows, a->cols));
    FERRY_NEW(ctx, x, 1);
    *x = (ferry_matrix){.rows = a->rows,
                        .cols = a->cols,
                        .nnz = a->rows * a->cols,
                        .dense = (double *)a->data, /* never written to: borrowed */
                        .refs = 1,
                        .borrowed = true};
    *out = x;
done:
    return st;
}

ferry_status ferry_i_matrix_borrow_sparse(ferry_ctx *ctx, int64_t rows, int64_t cols,
                                          int64_t *start, const int32_t *index,
                                          const double *value, ferry_matrix **out)
{
    ferry_status st = FERRY_OK;
    const ferry_sparse s = {rows, cols, start, index, value, NULL};
    ferry_matrix *x = NULL;

    *out = NULL;
    FERRY_TRY(check_sparse(ctx, &s));
    FERRY_NEW(ctx, x, 1);
    *x = (ferry_matrix){.rows = rows,
                        .cols = cols,
                        .nnz = start[rows],
                        .index = (int32_t *)index,
                        .value = (double *)value,
                        .refs = 1,
                        .borrowed = true};
    FERRY_MOVE(x->start, start);
    *out = x;
done:
    ferry_i_free(start);
    return st;
}

/* start and index are borrowed from the base of the family, whose owner count rises: a chain of
 * siblings never keeps more than one pattern alive. */
ferry_status ferry_i_matrix_like(ferry_ctx *ctx, ferry_matrix *x, ferry_matrix **out)
{
    ferry_matrix *base = x->pattern ? x->pattern : x;
    ferry_matrix *y = ferry_i_calloc(1, sizeof *y);

    assert(!x->dense);
    *out = NULL;
    if (!y) return ferry_i_nomem(ctx);
    *y = (ferry_matrix){
        .rows = x->rows, .cols = x->cols, .nnz = x->nnz, .refs = 1, .whole = x->whole};
    y->start = base->start;
    y->index = base->index;
    y->pattern = ferry_i_matrix_ref(base);
    y->value = ferry_i_calloc(x->nnz, sizeof *y->value);
    if (!y->value) {
        ferry_i_matrix_free(y);
        return ferry_i_nomem(ctx);
    }
    *out = y;
    return FERRY_OK;
}

/* The entries of CSR x by column, a counting sort: start (cols + 1, zeroed), index and value
 * become CSR of X'. Rows come out ascending. O(nnz + cols). */
static void sort_by_column(const ferry_matrix *x, int64_t *start, int32_t *index,
                           double *value)
{
    for (int64_t e = 0; e < x->nnz; e++)
        start[x->index[e] + 1]++;
    for (int64_t j = 0; j < x->cols; j++)
        start[j + 1] += start[j];
    for (int64_t i = 0; i < x->rows; i++)
        for (int64_t e = x->start[i]; e < x->start[i + 1]; e++) {
            const int64_t at = start[x->index[e]]++; /* runs to the start of the next */
            index[at] = (int32_t)i;
            value[at] = x->value[e];
        }
    memmove(start + 1, start, (size_t)x->cols * sizeof *start);
    start[0] = 0;
}

/* Who only multiplies by X' wants ferry_i_matrix_index() instead. */
ferry_status ferry_i_matrix_transpose(ferry_ctx *ctx, const ferry_matrix *x,
                                      ferry_matrix **out)
{
    ferry_status st = FERRY_OK;

    assert(!x->dense);
    FERRY_TRY(ferry_i_matrix_csr(ctx, x->cols, x->rows, x->nnz, out));
    sort_by_column(x, (*out)->start, (*out)->index, (*out)->value);
done:
    return st;
}

/* Cells of an evaluation share the data's matrices, and two may want the index at the same time: both
 * make it, the first to be done publishes it. t_start goes last, and whoever finds it there
 * (ferry_i_matrix_indexed()) sees the rest. A failure leaves the matrix as it was. */
ferry_status ferry_i_matrix_index(ferry_ctx *ctx, ferry_matrix *x)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    ferry_status st = FERRY_OK;
    int64_t *start = NULL;
    int32_t *index = NULL;
    double *value = NULL;

    __atomic_store_n(&x->lasting, true, __ATOMIC_RELAXED);
    if (x->dense || ferry_i_matrix_indexed(x)) return FERRY_OK;
    FERRY_NEW(ctx, start, x->cols + 1);
    FERRY_NEW(ctx, index, x->nnz);
    FERRY_NEW(ctx, value, x->nnz);
    sort_by_column(x, start, index, value);
    (void)pthread_mutex_lock(&lock);
    if (!x->t_start) {
        FERRY_MOVE(x->t_index, index);
        FERRY_MOVE(x->t_value, value);
        __atomic_store_n(&x->t_start, start, __ATOMIC_RELEASE);
        start = NULL;
    }
    (void)pthread_mutex_unlock(&lock);
done:
    FERRY_FREE(start, index, value);
    return st;
}

static void let_go(void *keeper)
{
    ferry_i_matrix_free(keeper);
}

ferry_status ferry_i_matrix_slice(ferry_ctx *ctx, ferry_matrix *x, int64_t from, int64_t n,
                                  ferry_matrix **out)
{
    ferry_status st = FERRY_OK;
    ferry_matrix *y = NULL;

    *out = NULL;
    assert(from >= 0 && n >= 0 && from + n <= x->rows);
    FERRY_NEW(ctx, y, 1);
    *y = (ferry_matrix){.rows = n, .cols = x->cols, .nnz = n * x->cols, .refs = 1};
    if (x->dense) {
        y->dense = x->dense + from * x->cols;
    } else {
        FERRY_NEW(ctx, y->start, n + 1);
        for (int64_t i = 0; i <= n; i++)
            y->start[i] = x->start[from + i] - x->start[from];
        y->nnz = y->start[n];
        y->index = x->index + x->start[from];
        y->value = x->value + x->start[from];
    }
    y->borrowed = true;
    y->release = let_go;
    y->keeper = ferry_i_matrix_ref(x);
    FERRY_MOVE(*out, y);
done:
    ferry_i_free(y); /* nothing of it is there yet */
    return st;
}

/* Contexts in several threads may share a matrix, so owners are counted atomically. */
ferry_matrix *ferry_i_matrix_ref(ferry_matrix *x)
{
    if (x) (void)__atomic_add_fetch(&x->refs, 1, __ATOMIC_RELAXED);
    return x;
}

/* The last owner's release sees all that other threads did with the matrix (acquire and
 * release). A sibling frees its values and gives up its share of the pattern. */
void ferry_i_matrix_free(ferry_matrix *x)
{
    if (!x || __atomic_sub_fetch(&x->refs, 1, __ATOMIC_ACQ_REL) > 0) return;
    if (x->copied) ferry_i_card_forget(x);
    if (!x->borrowed) FERRY_FREE(x->dense, x->value);
    if (!x->pattern) ferry_i_free(x->start);
    if (!x->pattern && !x->borrowed) ferry_i_free(x->index);
    if (x->release) x->release(x->keeper);
    FERRY_FREE(x->t_start, x->t_index, x->t_value);
    ferry_i_matrix_free(x->pattern);
    ferry_i_free(x);
}

/* In order, one thread: the same bits always. */
double ferry_i_matrix_norm2(const ferry_matrix *x)
{
    const double *v = x->dense ? x->dense : x->value;
    double sum = 0;

    for (int64_t e = 0; e < x->nnz; e++)
        sum += v[e] * v[e];
    return sum;
}

int64_t ferry_i_matrix_seek(const ferry_matrix *x, int64_t i, int64_t j)
{
    int64_t lo = x->start[i], hi = x->start[i + 1];

    while (lo < hi) {
        const int64_t mid = lo + (hi - lo) / 2;
        if (x->index[mid] < j)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}
