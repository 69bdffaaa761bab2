/* Kernels over the rows of a matrix (kernel.h). With products at hand,
 *   |x - y|^2 = |x|^2 + |y|^2 - 2 x'y
 * so that everything rests on one matrix product; rounding may take it below 0, which is put right. */
#include "learn/kernel.h"

#include <math.h>
#include <string.h>

#include "learn/folds.h"

/* PIECE: rows of q whose kernel is held at once. SAMPLE: rows from which gamma is estimated. */
enum { PIECE = 256, SAMPLE = 500 };

/* |x_i|^2 over what is stored. */
static double row_norm2(matrix x, int64_t i)
{
    const ferry_row r = row_at(x, i);
    double total = 0;

    for (int64_t e = 0; e < r.n; e++)
        total += r.value[e] * r.value[e];
    return total;
}

/* k (x.n x c) <- kernel of all rows of x with rows [from, from + c) of q. t (d x c) takes those rows, one a column.
 * xx (x.n) are squared lengths, not read when gamma is 0. */
static void kernel_piece(scope *s, double gamma, matrix x, const double *xx, matrix q,
                         int64_t from, block t, block k)
{
    memset(t.at, 0, (size_t)(t.n * t.k) * sizeof *t.at);
    for (int64_t c = 0; c < t.k; c++) {
        const ferry_row r = row_at(q, from + c);
        for (int64_t e = 0; e < r.n; e++)
            ROW(t, r.index ? r.index[e] : e)[c] = r.value[e];
    }
    mul(s, x, t, k);
    for (int64_t c = 0; gamma > 0 && c < t.k; c++) {
        const double qq = row_norm2(q, from + c);
        for (int64_t i = 0; i < x.n; i++) {
            double *at = ROW(k, i) + c;
            *at = exp(-gamma * fmax(xx[i] + qq - 2 * *at, 0));
        }
    }
}

/* PIECE rows of q at a time: (n + d) PIECE numbers of memory, whatever q has. */
void kernel_mul(scope *s, double gamma, matrix x, matrix q, block b, block out)
{
    const int64_t mark = scope_mark(s);
    double *xx = NEW(s, double, x.n);
    block t = block_new(s, HERE(x.cols), x.cols, PIECE),
          k = block_new(s, HERE(x.n), x.n, PIECE);

    for (int64_t i = 0; i < x.n; i++)
        xx[i] = row_norm2(x, i);
    for (int64_t from = 0; from < q.n; from += PIECE) {
        t.k = k.k = q.n - from < PIECE ? q.n - from : PIECE;
        kernel_piece(s, gamma, x, xx, q, from, t, k);
        /* B'K' (k x c) has the bytes of K B, rows from .. from + c */
        gram(s, b, k, (small){b.k, k.k, ROW(out, from)});
    }
    scope_release(s, mark);
}

/* From X X' alone, in place: its diagonal holds the squared lengths and is put to 0 last. */
small squared_distances(scope *s, matrix x)
{
    const small d2 = small_new(s, x.n, x.n);
    const int64_t mark = scope_mark(s);
    ferry_small to = small_ref(d2);

    /* What is hardly sparse is multiplied faster as a dense matrix. */
    if (!x.m->dense && 20 * stored(x) > x.n * x.cols) x = to_dense(s, x);
    ferry_e(scope_ctx(s))->xxt(scope_ctx(s), x.m, &to);
    for (int64_t j = 0; j < d2.cols; j++)
        for (int64_t i = j + 1; i < d2.rows; i++)
            AT(d2, i, j) = AT(d2, j, i) =
                fmax(AT(d2, i, i) + AT(d2, j, j) - 2 * AT(d2, i, j), 0);
    for (int64_t i = 0; i < d2.rows; i++)
        AT(d2, i, i) = 0;
    scope_release(s, mark);
    return d2;
}

/* The median heuristic: the kernel of a typical pair is then exp(-1). Sorting all n (n - 1) / 2 distances is nothing
 * beside computing them. */
double kernel_gamma(scope *s, small d2)
{
    const int64_t mark = scope_mark(s), n = d2.rows * (d2.rows - 1) / 2;
    double *all = NEW(s, double, n);
    int64_t at = 0;

    for (int64_t j = 0; j < d2.cols; j++)
        for (int64_t i = j + 1; i < d2.rows; i++)
            all[at++] = AT(d2, i, j);
    const double middle = median(n, all);
    scope_release(s, mark);
    return middle > 0 ? 1 / middle : 1;
}

/* Rows at even steps, not at random: the same matrix always gives the same gamma. */
double kernel_gamma_of(scope *s, matrix x)
{
    const int64_t mark = scope_mark(s), n = x.n < SAMPLE ? x.n : SAMPLE;
    int64_t *rows = NEW(s, int64_t, n);

    for (int64_t i = 0; i < n; i++)
        rows[i] = i * x.n / n;
    const double gamma =
        kernel_gamma(s, squared_distances(s, take_rows(s, x, n, rows, false)));
    scope_release(s, mark);
    return gamma;
}
