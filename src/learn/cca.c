/* Regularised canonical correlations (cca.h): one SVD of m x n. */
#include "learn/cca.h"

#include <math.h>

void cca_solve(scope *s, const double *lt, const double *ls, const double *r, small c,
               int64_t k, double *corr, small wt, small ws)
{
    ferry_ctx *ctx = scope_ctx(s);
    const int64_t m = c.rows, n = c.cols, q = m < n ? m : n, mark = scope_mark(s);
    const small u = small_new(s, m, q), v = small_new(s, n, q);
    double *value = NEW(s, double, q);
    ferry_small a = small_ref(c), fu = small_ref(u), fv = small_ref(v);

    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++)
            AT(c, i, j) /= sqrt((lt[i] + r[0]) * (ls[j] + r[1]));
    scope_check(s, ferry_e(ctx)->svd(ctx, &a, &fu, value, &fv));
    for (int64_t j = 0; j < k; j++) {
        corr[j] = value[j];
        for (int64_t i = 0; i < m; i++)
            AT(wt, i, j) = AT(u, i, j) / sqrt(lt[i] + r[0]);
        for (int64_t i = 0; i < n; i++)
            AT(ws, i, j) = AT(v, i, j) / sqrt(ls[i] + r[1]);
    }
    scope_release(s, mark);
}
