/* Alternating least squares, one half: every row of P solves a ridge system of its own,
 *
 *   (lambda_i I + sum_j q_j q_j') p_i = sum_j x_ij q_j   over the entries j of row i of X,
 *
 * lambda_i = lambda, or (weighted) lambda times the number of the row's entries.
 *
 * The rows of Q that a row needs are copied side by side, BATCH at a time, with their width
 * filled up to a multiple of four; then tiles of four rows of the sum are kept in registers
 * while the batch goes by. The system is solved by Cholesky's method, A = U'U, on the upper
 * triangle. Rows do not meet and nothing is fused, so the bits depend on neither the thread
 * count nor the instruction set. */
#include <math.h>
#include <string.h>

#include "linalg/host/kernels/kernel.h"

/* Groups of four columns in a tile, whose 4 x MOST quads are sums in registers. */
#if LANES == 2
enum { MOST = 1 };
#elif REGISTERS == 16
enum { MOST = 3 };
#else
enum { MOST = 5 };
#endif
enum { BATCH = FERRY_SYSTEMS_BATCH };

typedef ferry_systems systems;

/* Tile of A: rows c to c + 3, G groups of four columns from d on; += over n rows of b.
 * 4 G quads of sums stay in registers over the n rows: an entry costs G loads and 4 G
 * products. */
INLINE void tile(int G, int64_t n, const double *b, int64_t w, int64_t c, int64_t d,
                 double *a)
{
    quad s[4][MOST];

    UNROLL for (int r = 0; r < 4 * G; r++) s[r / G][r % G] =
        quad_load(a + (c + r / G) * w + d + r % G * 4);
    for (int64_t e = 0; e < n; e++) {
        const double *row = b + e * w;
        UNROLL for (int g = 0; g < G; g++)
        {
            const quad v = quad_load(row + d + 4 * g);
            UNROLL for (int r = 0; r < 4; r++) s[r][g] =
                quad_add(s[r][g], quad_times(row[c + r], v));
        }
    }
    UNROLL for (int r = 0; r < 4 * G; r++)
        quad_store(a + (c + r / G) * w + d + r % G * 4, s[r / G][r % G]);
}

/* A += B'B, the upper triangle in tiles (a little more than the triangle).
 * Tiles begin on the diagonal and go right; the last of a row of tiles is as wide as
 * what is left. */
INLINE void add_batch(int64_t n, const double *b, int64_t w, double *a)
{
    for (int64_t c = 0; c < w; c += 4) {
        for (int64_t d = c; d < w;) {
            const int64_t groups = (w - d) / 4;
            switch (groups < MOST ? groups : MOST) {
            case 1: tile(1, n, b, w, c, d, a); break;
#if LANES > 2
            case 2: tile(2, n, b, w, c, d, a); break;
            case 3: tile(3, n, b, w, c, d, a); break;
#endif
#if LANES > 2 && REGISTERS > 16
            case 4: tile(4, n, b, w, c, d, a); break;
            default: tile(5, n, b, w, c, d, a); break;
#endif
            }
            d += 4 * MOST;
        }
    }
}

/* A and y of row i.
 * A starts as lambda_i I, with 1 on the diagonal of the columns that fill w up: the
 * unknowns there are then 0 and touch nothing. */
INLINE void assemble(const systems *s, int64_t i, double *a, double *restrict y,
                     double *restrict b)
{
    const int64_t k = s->k, w = s->w, end = s->x->start[i + 1];
    const int64_t entries = end - s->x->start[i];
    const double lambda =
        s->weighted && entries > 0 ? s->lambda * (double)entries : s->lambda;

    memset(a, 0, (size_t)(w * w + w) * sizeof *a); /* y stands behind A */
    for (int64_t c = 0; c < w; c++)
        a[c * w + c] = c < k ? lambda : 1;
    for (int64_t e = s->x->start[i]; e < end; e += BATCH) {
        const int64_t n = end - e < BATCH ? end - e : BATCH;
        for (int64_t t = 0; t < n; t++) {
            const double *row = s->q + s->x->index[e + t] * k;
            const double x = s->x->value[e + t];
            if (e + t + 8 < end)
                __builtin_prefetch(s->q + s->x->index[e + t + 8] * k, 0, 3);
            for (int64_t c = 0; c < k; c++) {
                b[t * w + c] = row[c];
                y[c] += x * row[c];
            }
        }
        add_batch(n, b, w, a);
    }
}

/* y <- A^-1 y, A = U'U with the reciprocals of U's diagonal on it.
 * Row by row: u_c = a_c / sqrt(a_cc), then a_r -= u_cr u_c for the rows below; y goes
 * along as another column, which is the forward half. Then back substitution. */
INLINE void solve(int64_t w, double *restrict a, double *restrict y)
{
    for (int64_t c = 0; c < w; c++) {
        const double root = 1 / sqrt(a[c * w + c]);
        double *restrict u = a + c * w;
        const int64_t from = c & ~(int64_t)3; /* whole groups: what is below is not read */
        for (int64_t d = from; d < w; d++)
            u[d] *= root;
        u[c] = root;
        y[c] *= root;
        for (int64_t r = c + 1; r < w; r++) {
            const double f = u[r];
            double *restrict to = a + r * w;
            for (int64_t d = r & ~(int64_t)3; d < w; d++)
                to[d] -= f * u[d];
            y[r] -= f * y[c];
        }
    }
    for (int64_t c = w; c-- > 0;) {
        double sum = y[c];
        for (int64_t d = c + 1; d < w; d++)
            sum -= a[c * w + d] * y[d];
        y[c] = sum * a[c * w + c];
    }
}

/* Rows [from, to).
 * z keeps y from before the solve, for gain_i = <p_i, y_i>. */
INLINE void rows(const systems *s, int64_t from, int64_t to, double *space)
{
    const int64_t k = s->k, w = s->w;
    double *a = space, *y = a + w * w, *z = y + w, *b = z + w;

    for (int64_t i = from; i < to; i++) {
        double gain = 0;
        assemble(s, i, a, y, b);
        memcpy(z, y, (size_t)w * sizeof *z);
        solve(w, a, y);
        for (int64_t c = 0; c < k; c++) {
            s->p[i * k + c] = y[c];
            gain += y[c] * z[c];
        }
        if (s->gain) s->gain[i] = gain;
    }
}

void KERNEL(ridge_rows)(const systems *s, int64_t from, int64_t to, double *space)
{
    if (s->k == 20) { /* the usual width, known to the compiler */
        systems t = *s;
        t.k = t.w = 20;
        rows(&t, from, to, space);
    } else {
        rows(s, from, to, space);
    }
}

/* ---- variational Bayes (linalg/vb_rows.h): the same sums with a column of ones ---- */

/* M, c and the squares of row i; var adds up the other side's variances. */
INLINE double vb_assemble(const ferry_vb_half *v, int64_t i, double *a, double *restrict y,
                          double *restrict b, double *restrict var)
{
    const int64_t d = v->d, w = v->w, end = v->x->start[i + 1];
    const double by = 1 / v->sd;
    double squares = 0;

    memset(a, 0, (size_t)(w * w + w) * sizeof *a);
    memset(var, 0, (size_t)w * sizeof *var);
    for (int64_t e = v->x->start[i]; e < end; e += BATCH) {
        const int64_t n = end - e < BATCH ? end - e : BATCH;
        for (int64_t r = 0; r < n; r++) {
            const int64_t j = v->x->index[e + r];
            const double *row = v->y + j * d, *of = v->var + j * d;
            const double t = (v->x->value[e + r] - v->mu) * by - row[0];
            if (e + r + 8 < end) {
                const int64_t ahead = v->x->index[e + r + 8] * d;
                __builtin_prefetch(v->y + ahead, 0, 3);
                __builtin_prefetch(v->var + ahead, 0, 3);
            }
            squares += t * t;
            for (int64_t c = 0; c < d; c++) {
                b[r * w + c] = row[c];
                var[c] += of[c];
            }
            b[r * w] = 1;
            for (int64_t c = 0; c < d; c++)
                y[c] += t * b[r * w + c];
        }
        add_batch(n, b, w, a);
    }
    for (int64_t c = 0; c < w; c++)
        a[c * w + c] += c < d ? v->ridge[c] + (c > 0 ? var[c] : 0) : 1;
    return squares + var[0];
}

/* cov <- diag(A^-1) from the factor that solve() leaves: U^-1 row by row from below, its rows
 * squared. */
INLINE void inverse_diagonal(int64_t w, const double *restrict u, double *restrict v,
                             double *restrict cov)
{
    for (int64_t c = w; c-- > 0;) {
        double *restrict row = v + c * w, sum = 0;
        for (int64_t d = 0; d < w; d++)
            row[d] = 0;
        for (int64_t r = c + 1; r < w; r++)
            for (int64_t d = r & ~(int64_t)3; d < w; d++)
                row[d] -= u[c * w + r] * v[r * w + d];
        for (int64_t d = c & ~(int64_t)3; d < w; d++)
            row[d] *= u[c * w + c];
        row[c] = u[c * w + c];
        for (int64_t d = c & ~(int64_t)3; d < w; d++)
            sum += row[d] * row[d];
        cov[c] = sum;
    }
}

INLINE void vb_rows(const ferry_vb_half *v, int64_t from, int64_t to, double *space)
{
    const int64_t d = v->d, w = v->w;
    double *a = space, *y = a + w * w, *c = y + w, *b = c + w, *inverse = b + BATCH * w,
           *var = inverse + w * w;

    memset(b, 0, (size_t)(BATCH * w) * sizeof *b); /* the columns that fill w up */
    for (int64_t i = from; i < to; i++) {
        double *z = v->z + i * d, *cov = v->cov + i * d;
        double sse = vb_assemble(v, i, a, y, b, var) + v->s2 * (double)d;
        memcpy(c, y, (size_t)w * sizeof *c);
        solve(w, a, y);
        inverse_diagonal(w, a, inverse, var);
        for (int64_t j = 0; j < d; j++) {
            z[j] = y[j];
            cov[j] = v->s2 * var[j];
            sse -= y[j] * c[j] + v->ridge[j] * (y[j] * y[j] + cov[j]);
        }
        v->sse[i] = sse;
    }
}

void KERNEL(vb_half)(const ferry_vb_half *v, int64_t from, int64_t to, double *space)
{
    if (v->d == 21) { /* rank 20, known to the compiler */
        ferry_vb_half t = *v;
        t.d = 21;
        t.w = 24;
        vb_rows(&t, from, to, space);
    } else {
        vb_rows(v, from, to, space);
    }
}
