/* Hard groups of users and items (groups.h). */
#include "learn/groups.h"

#include <math.h>
#include <string.h>

/* ---- block means ---- */

/* S and N (both k x l): sums and counts of the blocks. */
static void block_sums(matrix x, const grouping *g, double *s, double *n)
{
    for (int64_t i = 0; i < x.n; i++) {
        const ferry_row r = row_at(x, i);
        for (int64_t e = 0; e < r.n; e++) {
            const int64_t at = g->u[i] * g->l + g->v[r.index[e]];
            s[at] += r.value[e];
            n[at]++;
        }
    }
}

/* The shrunken mean of `count` entries `stride` apart. beta ratings of `mean` are added to
 * it; nothing at all gives `mean`. */
static double line_mean(int64_t count, int64_t stride, const double *s, const double *n,
                        double beta, double mean)
{
    double all = beta * mean, weight = beta;

    for (int64_t i = 0; i < count; i++) {
        all += s[i * stride];
        weight += n[i * stride];
    }
    return weight > 0 ? all / weight : mean;
}

/* Given the groups, the block means are the R of least squares. With k = l = 20 many
 * blocks have few ratings or none: beta ratings of P stand in for what is not known. Where beta is 0 a block without
 * ratings takes P, never 0 or NaN, which would be read as a rating. */
void block_means(scope *s, matrix x, const grouping *g, double beta)
{
    const int64_t k = g->k, l = g->l, mark = scope_mark(s);
    double *in = NEW(s, double, k *l), *n = NEW(s, double, k *l), *row = NEW(s, double, k),
           *col = NEW(s, double, l);

    block_sums(x, g, in, n);
    const double mean = line_mean(k * l, 1, in, n, 0, 0); /* of all, not shrunken */
    for (int64_t c = 0; c < k; c++)
        row[c] = line_mean(l, 1, in + c * l, n + c * l, beta, mean);
    for (int64_t d = 0; d < l; d++)
        col[d] = line_mean(k, l, in + d, n + d, beta, mean);
    for (int64_t i = 0; i < k * l; i++) {
        const double p = row[i / l] + col[i % l] - mean;
        g->r[i] = n[i] + beta > 0 ? (in[i] + beta * p) / (n[i] + beta) : p;
    }
    scope_release(s, mark);
}

/* F = sum over the ratings of (x_ij - R[u(i), v(j)])^2. */
static double squared_error(matrix x, const grouping *g)
{
    double f = 0;

    for (int64_t i = 0; i < x.n; i++) {
        const ferry_row r = row_at(x, i);
        for (int64_t e = 0; e < r.n; e++) {
            const double d = r.value[e] - g->r[g->u[i] * g->l + g->v[r.index[e]]];
            f += d * d;
        }
    }
    return f;
}

/* Each of the four half steps can only lower F, and there are finitely many groups: it
 * ends. The means are taken again before the columns move, which saves sweeps. */
double two_way_kmeans(scope *s, const ratings *x, const grouping *g, int64_t sweeps)
{
    const int64_t n = x->x.n, m = x->x.cols, mark = scope_mark(s);
    int32_t *u = NEW(s, int32_t, n), *v = NEW(s, int32_t, m);
    const double one = 1;
    assigning a = {.n = 1, .g = g, .lambda = &one};

    for (int64_t t = 0; t < sweeps; t++) {
        memcpy(u, g->u, (size_t)n * sizeof *u);
        memcpy(v, g->v, (size_t)m * sizeof *v);
        for (int items = 0; items < 2; items++) {
            a.items = items;
            block_means(s, x->x, g, 0);
            assign_groups(s, x, &a);
        }
        if (memcmp(u, g->u, (size_t)n * sizeof *u) == 0 &&
            memcmp(v, g->v, (size_t)m * sizeof *v) == 0)
            break; /* nothing moved */
    }
    block_means(s, x->x, g, 0);
    scope_release(s, mark);
    return squared_error(x->x, g);
}

/* ---- assignment ---- */

double grouped_rating(int64_t n, const grouping *g, const double *lambda, int64_t skip,
                      int64_t i, int64_t j)
{
    double x = 0;

    for (int64_t at = 0; at < n; at++)
        if (at != skip) x += lambda[at] * g[at].r[g[at].u[i] * g[at].l + g[at].v[j]];
    return x;
}

/* The fields hide whether it is users or items that move. */
typedef struct moving {
    const assigning *a;
    matrix x;
    int64_t k, l;           /* groups of the rows, of the columns */
    int64_t step_c, step_d; /* R_cd is r[c * step_c + d * step_d] */
    const double *r;
    const int32_t *other; /* groups of the columns */
    double weight;
    int32_t *group;
} moving;

/* The best group of row i: cost_c = sum_d (N_d r - 2 S_d) r, r = lambda R_cd; without the constant |e|^2 of the row,
 * which all groups share. s and n are scratch of l entries each. */
static void assign_row(const moving *m, int64_t i, double *s, double *n)
{
    const assigning *a = m->a;
    const ferry_row x = row_at(m->x, i);
    const int64_t row = m->x.rows.first + i;
    double least = INFINITY;

    for (int64_t d = 0; d < m->l; d++)
        s[d] = n[d] = 0;
    for (int64_t e = 0; e < x.n; e++) {
        const int64_t j = x.index[e], d = m->other[j];
        double value = x.value[e];
        if (a->joint && a->n > 1)
            value -= grouped_rating(a->n, a->g, a->lambda, a->at, a->items ? j : row,
                                    a->items ? row : j);
        s[d] += value;
        n[d]++;
    }
    for (int64_t c = 0; c < m->k; c++) {
        double cost = 0;
        for (int64_t d = 0; d < m->l; d++) {
            const double r = m->weight * m->r[c * m->step_c + d * m->step_d];
            cost += (n[d] * r - 2 * s[d]) * r;
        }
        if (cost < least) {
            least = cost;
            m->group[row] = (int32_t)c;
        }
    }
}

static void fill_cold(scope *s, const moving *m)
{
    double *size = NEW(s, double, m->k);
    int32_t *group = m->group + m->x.rows.first, largest = 0;

    for (int64_t i = 0; i < m->x.n; i++)
        if (row_at(m->x, i).n > 0) size[group[i]]++;
    sums(s, m->x.rows, m->k, size);
    for (int32_t c = 1; c < m->k; c++)
        if (size[c] > size[largest]) largest = c;
    for (int64_t i = 0; i < m->x.n; i++)
        if (row_at(m->x, i).n == 0) group[i] = largest;
}

/* Rows are independent: threads take every t-th one, and the bits do not depend on how
 * many there are. Other groupings are read while this one's groups are written: their rows are not touched. One of
 * weight 0 keeps its groups, which no cost tells apart. */
void assign_groups(scope *s, const ratings *x, const assigning *a)
{
    const grouping *g = &a->g[a->at];
    const int64_t mark = scope_mark(s);
    const moving m = {a,
                      a->items ? x->xt : x->x,
                      a->items ? g->l : g->k,
                      a->items ? g->k : g->l,
                      a->items ? 1 : g->l,
                      a->items ? g->l : 1,
                      g->r,
                      a->items ? g->u : g->v,
                      a->joint ? a->lambda[a->at] : 1,
                      a->items ? g->v : g->u};
    const int threads = stored(m.x) < 20000 ? 1 : scope_ctx(s)->threads;

    if (m.weight == 0) return;
    double *space = NEW(s, double, threads * 2 * m.l);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int t = 0; t < threads; t++) {
        double *own = space + t * 2 * m.l;
        for (int64_t i = t; i < m.x.n; i += threads)
            if (m.x.m->start[i + 1] > m.x.m->start[i]) assign_row(&m, i, own, own + m.l);
    }
    if (a->fill) fill_cold(s, &m);
    if (m.x.rows.spread)
        memcpy(
            m.group,
            replicate_items(s, m.x.rows, m.x.n, sizeof *m.group, m.group + m.x.rows.first),
            (size_t)m.x.rows.n * sizeof *m.group);
    scope_release(s, mark);
}

int32_t largest_group(scope *s, int64_t n, const int32_t *group, int64_t k)
{
    const int64_t mark = scope_mark(s);
    int64_t *size = NEW(s, int64_t, k);
    int32_t largest = 0;

    for (int64_t i = 0; i < n; i++)
        size[group[i]]++;
    for (int32_t c = 1; c < k; c++)
        if (size[c] > size[largest]) largest = c;
    scope_release(s, mark);
    return largest;
}
