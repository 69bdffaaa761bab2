/* Values of instances that are neighbours in graphs (graphs.h).
 *
 * Propagation is Jacobi's method: where all alpha_x < 1 a step multiplies the error by max alpha_x at most, since a mean
 * is a convex combination. Zhu, Ghahramani and Lafferty, Semi-supervised learning using Gaussian fields and harmonic
 * functions, ICML 2003, where alpha is 1 for instances without labels and 0 for those with.
 * Smoothing: Wu et al., Simplifying Graph Convolutional Networks, ICML 2019. */
#include "learn/graphs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double weight_of(const propagation *how, int g)
{
    return how->g[g].a.m ? how->w ? how->w[g] : 1 : 0;
}

/* share (n rows x graphs) <- what a sum over the neighbours is multiplied by: w_g / (degree sum_g w_g), 0 where there
 * are none. */
static block shares_of(scope *s, const propagation *how, block p0, uint8_t *reached)
{
    const block share = block_new(s, p0.rows, p0.n, how->n);

    for (int64_t x = 0; x < p0.n; x++) {
        double weight = 0;
        for (int g = 0; g < how->n; g++) {
            double degree = 0;
            if (!(weight_of(how, g) > 0)) continue;
            const ferry_row r = row_at(how->g[g].a, x);
            for (int64_t e = 0; e < r.n; e++)
                degree += r.value[e];
            if (!(degree > 0)) continue;
            weight += weight_of(how, g);
            ROW(share, x)[g] = weight_of(how, g) / degree;
        }
        for (int g = 0; weight > 0 && g < how->n; g++)
            ROW(share, x)[g] /= weight;
        if (reached) reached[x] = weight > 0;
    }
    return share;
}

/* next <- one substitution; t: scratch of its shape. */
static void substitute(scope *s, const propagation *how, block p0, block share, block p,
                       block t, block next)
{
    const int64_t mark = scope_mark(s);
    const block all = replicate(s, p);
    bool first = true;

    for (int g = 0; g < how->n; g++) {
        if (!(weight_of(how, g) > 0)) continue;
        mul(s, how->g[g].a, all, t);
        for (int64_t x = 0; x < p.n; x++)
            for (int64_t j = 0; j < p.k; j++) {
                const double mean = ROW(share, x)[g] * ROW(t, x)[j];
                ROW(next, x)[j] = first ? mean : ROW(next, x)[j] + mean;
            }
        first = false;
    }
    for (int64_t x = 0; x < p.n; x++) {
        double any = 0;
        for (int g = 0; g < how->n; g++)
            any += ROW(share, x)[g];
        const double a = any > 0 ? how->alpha[x] : 0;
        for (int64_t j = 0; j < p.k; j++)
            ROW(next, x)[j] = (1 - a) * ROW(p0, x)[j] + (a > 0 ? a * ROW(next, x)[j] : 0);
    }
    scope_release(s, mark);
}

block propagate(scope *s, const propagation *how, block p0, uint8_t *reached)
{
    const block share = shares_of(s, how, p0, reached), t = block_like(s, p0);
    block p = block_like(s, p0), next = block_like(s, p0);
    double change = INFINITY;

    copy(p0, p);
    for (int64_t i = 0; i < how->max_iter && change > how->tol; i++) {
        substitute(s, how, p0, share, p, t, next);
        change = largest_change(s, p, next);
        const block spare = p;
        p = next;
        next = spare;
        (void)progress(s, "propagate", i + 1, how->max_iter, NAN);
    }
    return p;
}

/* ---- smoothing ---- */

/* A row that is being added up; of CSR also which columns it has. */
typedef struct row_sum {
    double *value; /* cols */
    uint8_t *mark;
    int32_t *touched; /* n of them */
    int64_t n;
} row_sum;

static void add_row(matrix x, int64_t i, double a, row_sum *r)
{
    const ferry_row row = row_at(x, i);

    for (int64_t e = 0; e < row.n; e++) {
        const int64_t j = row.index ? row.index[e] : e;
        if (row.index && !r->mark[j]) r->touched[r->n++] = (int32_t)j;
        r->mark[j] = 1;
        r->value[j] += a * row.value[e];
    }
}

/* One graph: s_g, and D_g^-1/2 of all rows of all processes. */
typedef struct degrees {
    double self;
    const double *inverse;
} degrees;

static degrees degrees_of(scope *s, matrix a)
{
    double total = 0, *inverse = NEW(s, double, a.n);

    for (int64_t x = 0; x < a.n; x++) {
        const ferry_row r = row_at(a, x);
        for (int64_t e = 0; e < r.n; e++)
            total += r.value[e];
    }
    total = sum(s, a.rows, total);
    const double self = total > 0 ? total / (double)entries(s, a) : 1;
    for (int64_t x = 0; x < a.n; x++) {
        const ferry_row r = row_at(a, x);
        double degree = self;
        for (int64_t e = 0; e < r.n; e++)
            degree += r.value[e];
        inverse[x] = 1 / sqrt(degree);
    }
    return (degrees){self, replicate_items(s, a.rows, a.n, sizeof *inverse, inverse)};
}

/* r <- row x (of those here, number `at` among all) of S X. */
static void smooth_row(int n, const graph *g, const degrees *d, matrix all, int64_t x,
                       int64_t at, row_sum *r)
{
    r->n = 0;
    for (int i = 0; i < n; i++) {
        const double *inverse = d[i].inverse;
        const ferry_row near = row_at(g[i].a, x);
        add_row(all, at, d[i].self * inverse[at] * inverse[at] / n, r);
        for (int64_t e = 0; e < near.n; e++) {
            const int64_t v = near.index[e];
            add_row(all, v, near.value[e] * inverse[at] * inverse[v] / n, r);
        }
    }
}

static int by_number(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

    return x < y ? -1 : x > y;
}

/* Row i of out, or (NULL) only how many cells it has; r is zero again. */
static int64_t put_row(row_sum *r, int64_t cols, int64_t i, ferry_matrix *out)
{
    if (out && out->dense) {
        memcpy(out->dense + i * cols, r->value, (size_t)cols * sizeof *r->value);
        memset(r->value, 0, (size_t)cols * sizeof *r->value);
        return 0;
    }
    int64_t at = out ? out->start[i] : 0;
    if (out && r->n > 0) qsort(r->touched, (size_t)r->n, sizeof *r->touched, by_number);
    for (int64_t e = 0; e < r->n; e++, at++) {
        const int32_t j = r->touched[e];
        if (out) {
            out->index[at] = j;
            out->value[at] = r->value[j];
        }
        r->mark[j] = 0;
        r->value[j] = 0;
    }
    if (out) out->start[i + 1] = at;
    return r->n;
}

/* Of CSR rows are added up twice: how many cells, then the cells. */
static ferry_matrix *smooth_step(scope *s, int n, const graph *g, const degrees *d,
                                 matrix x, row_sum *r)
{
    const matrix all = replicate_rows(s, x);
    ferry_matrix *out = NULL;
    int64_t cells = 0;

    for (int64_t i = 0; !x.m->dense && i < x.n; i++) {
        smooth_row(n, g, d, all, i, x.rows.first + i, r);
        cells += put_row(r, x.cols, i, NULL);
    }
    scope_check(s, x.m->dense ? ferry_i_matrix_dense(scope_ctx(s), x.n, x.cols, &out)
                              : ferry_i_matrix_csr(scope_ctx(s), x.n, x.cols, cells, &out));
    out->whole = x.rows.spread ? x.rows.n : 0;
    for (int64_t i = 0; i < x.n; i++) {
        smooth_row(n, g, d, all, i, x.rows.first + i, r);
        (void)put_row(r, x.cols, i, out);
    }
    return out;
}

static void free_at(void *slot)
{
    ferry_i_matrix_free(*(ferry_matrix **)slot);
}

matrix smooth_rows(scope *s, int n, const graph *g, int64_t steps, matrix x, double *factor)
{
    ferry_matrix **slot = NEW(s, ferry_matrix *, 1); /* one step's rows at a time */
    degrees *d = NEW(s, degrees, n);
    row_sum r = {NEW(s, double, x.cols), NEW(s, uint8_t, x.cols), NEW(s, int32_t, x.cols),
                 0};

    scope_defer(s, free_at, slot);
    for (int i = 0; i < n; i++)
        d[i] = degrees_of(s, g[i].a);
    for (int64_t t = 0; t < steps; t++) {
        const int64_t mark = scope_mark(s);
        ferry_matrix *next = smooth_step(s, n, g, d, x, &r);
        scope_release(s, mark);
        ferry_i_matrix_free(*slot);
        *slot = next;
        x = matrix_borrow(s, next);
    }
    if (*factor == 0) {
        const double norm = norm2(s, x);
        *factor = norm > 0 ? sqrt((double)x.rows.n / norm) : 1;
    }
    double *value = x.m->dense ? x.m->dense : x.m->value;
    for (int64_t e = 0; e < stored(x); e++)
        value[e] *= *factor;
    return x;
}
