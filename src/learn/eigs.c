/* The largest eigenvalues of a symmetric operator (eigs.h). Lanczos needs some dozens of products; a small problem is
 * cheaper, and safer where eigenvalues are close together, as one dense decomposition. */
#include "learn/eigs.h"

#include <assert.h>
#include <string.h>

/* Up to DENSE columns the whole decomposition is cheaper than the products that Lanczos takes (measured with 10 to 20
 * vectors wanted). Products take PANEL vectors at once, so that what an operator keeps of each instance stays small. */
enum { DENSE = 1500, PANEL = 64 };

bool eigen_is_dense(int64_t n)
{
    return n <= DENSE;
}

small operator_matrix(scope *s, int64_t n, multiply *by, void *arg)
{
    const small h = small_new(s, n, n);

    for (int64_t at = 0; at < n; at += PANEL) {
        const int64_t mark = scope_mark(s), k = n - at < PANEL ? n - at : PANEL;
        const block e = block_new(s, HERE(n), n, k), ae = block_like(s, e);
        for (int64_t l = 0; l < k; l++)
            ROW(e, at + l)[l] = 1;
        by(s, arg, e, ae);
        for (int64_t i = 0; i < n; i++)
            for (int64_t l = 0; l < k; l++)
                AT(h, i, at + l) = ROW(ae, i)[l];
        scope_release(s, mark);
    }
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < j; i++) /* symmetric but for rounding */
            AT(h, i, j) = AT(h, j, i) = (AT(h, i, j) + AT(h, j, i)) / 2;
    return h;
}

typedef struct product {
    multiply *by;
    void *arg;
    block u, y;
} product;

static void multiply_body(scope *s, void *arg)
{
    const product *p = arg;

    p->by(s, p->arg, p->u, p->y);
}

/* The engine calls it: failures end here. */
static ferry_status multiply_run(ferry_ctx *ctx, void *arg, const ferry_block *u,
                                 ferry_block *y)
{
    const product *p = arg;
    product one = {p->by,
                   p->arg,
                   {HERE(u->rows), u->rows, u->k, u->data},
                   {HERE(y->rows), y->rows, y->k, y->data}};

    return scope_run(ctx, multiply_body, &one);
}

/* 1e-10 is Lanczos' bound of a residual, relative to its eigenvalue. */
block largest_by_products(scope *s, int64_t n, multiply *by, void *arg, int64_t d,
                          double *values)
{
    const block u = block_new(s, HERE(n), n, d);
    ferry_block to = block_ref(u);
    product p = {.by = by, .arg = arg};

    scope_check(s, ferry_e(scope_ctx(s))
                       ->eigs(scope_ctx(s), n, multiply_run, &p, d, 1e-10, values, &to));
    return u;
}

block largest_eigen(scope *s, int64_t n, multiply *by, void *arg, int64_t d, double *values)
{
    assert(d <= n);
    if (!eigen_is_dense(n)) return largest_by_products(s, n, by, arg, d, values);
    const block u = block_new(s, HERE(n), n, d);
    const int64_t mark = scope_mark(s);
    const small h = operator_matrix(s, n, by, arg);
    const double *w = eigh(s, h);
    for (int64_t c = 0; c < d; c++) {
        values[c] = w[n - 1 - c];
        for (int64_t i = 0; i < n; i++)
            ROW(u, i)[c] = AT(h, i, n - 1 - c);
    }
    scope_release(s, mark);
    return u;
}
