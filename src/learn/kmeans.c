/* k-means: Lloyd's algorithm from k-means++ starts, the best of several.
 *
 * Points are compared with all centres by their squared distance; ties go to the first
 * centre. Points are assigned in parallel, centres and sums are added up in the order of
 * the points, so the result does not depend on the number of threads. */
#include "learn/kmeans.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "learn/rows.h"

/* One start under way. */
typedef struct lloyd {
    const ferry_matrix *x;
    int64_t k;
    double *length2; /* n: |x_i|^2, for CSR */
    double *centre;  /* k x d */
    double *norm2;   /* k: |m|^2, for CSR */
    int64_t *count;  /* k */
    int32_t *group;  /* n */
    double *dist;    /* n: squared distance to the nearest centre */
} lloyd;

/* |x_i - m_c|^2: of CSR rows |x|^2 - 2 x'm + |m|^2, so that a row costs its entries. */
static double distance2(const lloyd *z, int64_t i, int64_t c)
{
    const ferry_matrix *x = z->x;
    const double *m = z->centre + c * x->cols;
    double sum = 0;

    for (int64_t j = 0; x->dense && j < x->cols; j++) {
        const double r = x->dense[i * x->cols + j] - m[j];
        sum += r * r;
    }
    if (x->dense) return sum;
    for (int64_t e = x->start[i]; e < x->start[i + 1]; e++)
        sum += x->value[e] * m[x->index[e]];
    return fmax(0, z->length2[i] - 2 * sum + z->norm2[c]);
}

/* |m_c|^2 after the centre has changed; only the formula for CSR rows wants it. */
static void measure(lloyd *z, int64_t c)
{
    const double *m = z->centre + c * z->x->cols;

    z->norm2[c] = 0;
    for (int64_t j = 0; !z->x->dense && j < z->x->cols; j++)
        z->norm2[c] += m[j] * m[j];
}

/* centre c += row i. */
static void add_row(lloyd *z, int64_t c, int64_t i)
{
    double *m = z->centre + c * z->x->cols;

    for (int64_t e = row_begin(z->x, i); e < row_end(z->x, i); e++)
        m[row_column(z->x, i, e)] += row_values(z->x)[e];
}

static double total(int64_t n, const double *a)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += a[i];
    return sum;
}

/* A point with chance proportional to its squared distance; any when all are 0.
 * The last point takes what rounding leaves. */
static int64_t draw(const lloyd *z, ferry_rng *rng)
{
    const int64_t n = z->x->rows;
    double left = ferry_i_rng_real(rng) * total(n, z->dist);
    int64_t i = 0;

    if (!(left > 0)) return (int64_t)ferry_i_rng_below(rng, (uint64_t)n);
    while (i < n - 1 && (left -= z->dist[i]) >= 0)
        i++;
    return i;
}

/* k-means++: every further centre far from those before it.
 * O(n) distances for each centre, since only those to the new one are computed. dist
 * holds the squared distance to the nearest so far. */
static void choose_centres(lloyd *z, ferry_rng *rng)
{
    const int64_t n = z->x->rows;

    memset(z->centre, 0, (size_t)(z->k * z->x->cols) * sizeof *z->centre);
    for (int64_t i = 0; i < n; i++)
        z->dist[i] = INFINITY;
    for (int64_t c = 0; c < z->k; c++) {
        const int64_t at =
            c == 0 ? (int64_t)ferry_i_rng_below(rng, (uint64_t)n) : draw(z, rng);
        add_row(z, c, at);
        measure(z, c);
        for (int64_t i = 0; i < n; i++)
            z->dist[i] = fmin(z->dist[i], distance2(z, i, c));
    }
}

/* Every point to its nearest centre; returns how many moved.
 * O(k nnz), the time of the whole. Each point is one thread's, so the result is the
 * same. */
static int64_t assign(lloyd *z, int threads)
{
    int64_t moved = 0;

#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : moved)
    for (int64_t i = 0; i < z->x->rows; i++) {
        double best = INFINITY;
        int32_t to = 0;
        for (int64_t c = 0; c < z->k; c++) {
            const double r = distance2(z, i, c);
            if (r < best) {
                best = r;
                to = (int32_t)c;
            }
        }
        moved += z->group[i] != to;
        z->group[i] = to;
        z->dist[i] = best;
    }
    return moved;
}

/* Give an empty group the point that is farthest from its centre, alone in no group.
 * There is such a point, since k <= n: an empty group means that another has two. */
static void refill(lloyd *z, int64_t c)
{
    int64_t far = -1;

    for (int64_t i = 0; i < z->x->rows; i++)
        if (z->count[z->group[i]] > 1 && (far < 0 || z->dist[i] > z->dist[far])) far = i;
    z->count[z->group[far]]--;
    z->group[far] = (int32_t)c;
    z->dist[far] = 0;
    z->count[c] = 1;
}

/* Centres are the means of their groups.
 * Sums in the order of the points, in one thread: O(nnz), little beside assign(). */
static void update(lloyd *z)
{
    const int64_t n = z->x->rows, d = z->x->cols;

    memset(z->count, 0, (size_t)z->k * sizeof *z->count);
    for (int64_t i = 0; i < n; i++)
        z->count[z->group[i]]++;
    for (int64_t c = 0; c < z->k; c++)
        if (z->count[c] == 0) refill(z, c);
    memset(z->centre, 0, (size_t)(z->k * d) * sizeof *z->centre);
    for (int64_t i = 0; i < n; i++)
        add_row(z, z->group[i], i);
    for (int64_t c = 0; c < z->k; c++) {
        for (int64_t j = 0; j < d; j++)
            z->centre[c * d + j] /= (double)z->count[c];
        measure(z, c);
    }
}

/* The sum of squared distances where it ends, or after max_iter rounds.
 * Each round lowers the sum or ends, as no assignment comes twice but for rounding;
 * max_iter is the guard. Distances are measured again at the end: where max_iter ended
 * it the centres have moved since. */
static double run(lloyd *z, int64_t max_iter, int threads, ferry_rng *rng)
{
    choose_centres(z, rng);
    memset(z->group, 0xff, (size_t)z->x->rows * sizeof *z->group); /* -1: none yet */
    for (int64_t t = 0; t < max_iter && assign(z, threads) > 0; t++)
        update(z);
    for (int64_t i = 0; i < z->x->rows; i++)
        z->dist[i] = distance2(z, i, z->group[i]);
    return total(z->x->rows, z->dist);
}

/* The best start so far is copied out; one whose sum is not finite counts only when it is the first. */
double kmeans(scope *s, matrix x, const kmeans_options *o, ferry_rng *rng, int32_t *group,
              const block *centres)
{
    const int64_t mark = scope_mark(s), n = x.n, d = x.cols, k = o->k;
    lloyd z = {.x = x.m,
               .k = k,
               .length2 = NEW(s, double, n),
               .centre = NEW(s, double, k *d),
               .norm2 = NEW(s, double, k),
               .count = NEW(s, int64_t, k),
               .group = NEW(s, int32_t, n),
               .dist = NEW(s, double, n)};
    double best = INFINITY;
    bool finish = false;

    assert(1 <= k && k <= n && o->restarts > 0 && o->max_iter > 0);
    assert(!centres || (centres->n == k && centres->k == d));
    if (!x.m->dense)
        scope_check(
            s, ferry_e(scope_ctx(s))->sums(scope_ctx(s), x.m, FERRY_ROWS, 2, z.length2));
    for (int64_t r = 0; r < o->restarts && !finish; r++) {
        const double total2 = run(&z, o->max_iter, scope_ctx(s)->threads, rng);
        if (o->what) finish = progress(s, o->what, r + 1, o->restarts, total2);
        if (!(total2 < best) && r > 0) continue;
        best = total2;
        memcpy(group, z.group, (size_t)n * sizeof *group);
        if (centres) memcpy(centres->at, z.centre, (size_t)(k * d) * sizeof *z.centre);
    }
    scope_release(s, mark);
    return best;
}
