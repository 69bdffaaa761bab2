/* Features smoothed over graphs (Wu et al., Simplifying Graph Convolutional Networks, ICML
 * 2019): X <- S^steps X with
 *
 *   S = sum_g w_g D_g^-1/2 (A_g + s_g I) D_g^-1/2,   D_g: row sums of A_g + s_g I
 *
 * s_g, the weight of an instance for itself, is the graph's mean weight of an edge (1 in a
 * graph without weights), so that the unit of the weights does not matter. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/ranks.h"
#include "learn/crossing.h"
#include "learn/diffuse.h"

/* A row that is being added up; of CSR also which columns it has. */
typedef struct sum {
    double *value; /* cols */
    uint8_t *mark;
    int32_t *touched; /* n of them */
    int64_t n;
} sum;

static void add_row(const ferry_matrix *x, int64_t row, double a, sum *s)
{
    if (x->dense) {
        for (int64_t j = 0; j < x->cols; j++)
            s->value[j] += a * x->dense[row * x->cols + j];
        return;
    }
    for (int64_t e = x->start[row]; e < x->start[row + 1]; e++) {
        const int32_t j = x->index[e];
        if (!s->mark[j]) s->touched[s->n++] = j;
        s->mark[j] = 1;
        s->value[j] += a * x->value[e];
    }
}

/* inverse[g * n + x] <- D_g^-1/2, self[g] <- s_g. */
static void degrees(const ferry_smoothing *o, double *inverse, double *self)
{
    for (int64_t g = 0; g < o->q; g++) {
        const ferry_matrix *a = o->graph[g];
        double total = 0;
        for (int64_t e = 0; e < a->start[o->n]; e++)
            total += a->value[e];
        self[g] = total > 0 ? total / (double)a->start[o->n] : 1;
        for (int64_t x = 0; x < o->n; x++) {
            double degree = self[g];
            for (int64_t e = a->start[x]; e < a->start[x + 1]; e++)
                degree += a->value[e];
            inverse[g * o->n + x] = 1 / sqrt(degree);
        }
    }
}

/* s <- row x of S X; row_of: where an instance stands in X, or -1. */
static void smooth_row(const ferry_smoothing *o, const double *inverse, const double *self,
                       const ferry_matrix *from, const int64_t *row_of, int64_t x, sum *s)
{
    s->n = 0;
    for (int64_t g = 0; g < o->q; g++) {
        const ferry_matrix *a = o->graph[g];
        const double *d = inverse + g * o->n;
        if (!(o->w[g] > 0)) continue;
        if (row_of[x] >= 0) add_row(from, row_of[x], o->w[g] * self[g] * d[x] * d[x], s);
        for (int64_t e = a->start[x]; e < a->start[x + 1]; e++) {
            const int64_t v = a->index[e];
            if (row_of[v] >= 0)
                add_row(from, row_of[v], o->w[g] * a->value[e] * d[x] * d[v], s);
        }
    }
}

static int by_number(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

    return x < y ? -1 : x > y;
}

/* One step, of this rank's instances. CSR is gone through twice: how many cells, then the cells. */
static ferry_status step(ferry_ctx *ctx, const ferry_smoothing *o, const double *inverse,
                         const double *self, const ferry_matrix *from,
                         const int64_t *row_of, sum *s, ferry_matrix **out)
{
    const int64_t cols = from->cols;
    int64_t cells = 0, begin = 0, end = 0;

    ferry_i_ranks_part(ctx, o->n, &begin, &end);
    for (int64_t x = begin; !from->dense && x < end; x++) {
        smooth_row(o, inverse, self, from, row_of, x, s);
        cells += s->n;
        for (int64_t e = 0; e < s->n; e++) {
            s->mark[s->touched[e]] = 0;
            s->value[s->touched[e]] = 0;
        }
    }
    if (from->dense)
        FERRY_PASS(ferry_i_matrix_dense(ctx, end - begin, cols, out));
    else
        FERRY_PASS(ferry_i_matrix_csr(ctx, end - begin, cols, cells, out));
    cells = 0;
    for (int64_t x = begin; x < end; x++) {
        smooth_row(o, inverse, self, from, row_of, x, s);
        if (from->dense) {
            memcpy((*out)->dense + (x - begin) * cols, s->value,
                   (size_t)cols * sizeof *s->value);
            memset(s->value, 0, (size_t)cols * sizeof *s->value);
            continue;
        }
        if (s->n > 0) qsort(s->touched, (size_t)s->n, sizeof *s->touched, by_number);
        for (int64_t e = 0; e < s->n; e++, cells++) {
            const int32_t j = s->touched[e];
            (*out)->index[cells] = j;
            (*out)->value[cells] = s->value[j];
            s->mark[j] = 0;
            s->value[j] = 0;
        }
        (*out)->start[x - begin + 1] = cells;
    }
    return FERRY_OK;
}

/* Mean squared length 1, as the rule of scaling leaves what was there before: neighbours
 * that differ cancel, and a cost that was right for the features would be too small. */
static ferry_status rescale(ferry_ctx *ctx, int64_t rows, ferry_matrix *x, double *factor)
{
    const int64_t cells = x->dense ? x->rows * x->cols : x->start[x->rows];
    double *value = x->dense ? x->dense : x->value;
    double norm = ferry_i_matrix_norm2(x);

    FERRY_PASS(ferry_i_ranks_sum(ctx, 1, &norm));
    if (*factor == 0) *factor = norm > 0 ? sqrt((double)rows / norm) : 1;
    for (int64_t e = 0; e < cells; e++)
        value[e] *= *factor;
    return FERRY_OK;
}

/* Over ranks the rows of neighbours come from theirs before a step: `from` is then a matrix of its own. */
static ferry_status one_step(ferry_ctx *ctx, const ferry_smoothing *o,
                             const double *inverse, const double *self, ferry_crossing *c,
                             const ferry_matrix *x, int64_t *row_of, sum *s,
                             ferry_matrix **out)
{
    ferry_status st = FERRY_OK;
    ferry_matrix *all = NULL;

    if (c) FERRY_TRY(ferry_i_cross_rows(ctx, c, x, &all, row_of));
    FERRY_TRY(step(ctx, o, inverse, self, c ? all : x, row_of, s, out));
done:
    ferry_i_matrix_free(all);
    return st;
}

ferry_status ferry_i_smooth(ferry_ctx *ctx, const ferry_smoothing *o, const ferry_matrix *x,
                            const int64_t *instance, double *factor, ferry_matrix **out)
{
    ferry_status st = FERRY_OK;
    double *inverse = NULL, *self = NULL;
    int64_t *row_of = NULL;
    ferry_matrix *next = NULL;
    ferry_crossing *c = NULL;
    sum s = {0};

    *out = NULL;
    FERRY_NEW(ctx, inverse, o->q * o->n);
    FERRY_NEW(ctx, self, o->q);
    FERRY_NEW(ctx, row_of, o->n);
    FERRY_NEW(ctx, s.value, x->cols);
    FERRY_NEW(ctx, s.mark, x->cols);
    FERRY_NEW(ctx, s.touched, x->cols);
    FERRY_TRY(ferry_i_crossing_new(ctx, o->n, o->q, o->graph, &c));
    degrees(o, inverse, self);
    for (int64_t i = 0; i < o->n; i++)
        row_of[i] = -1;
    for (int64_t i = 0; i < x->rows; i++)
        row_of[instance[i]] = i;
    for (int64_t t = 0; t < o->steps; t++) {
        FERRY_TRY(one_step(ctx, o, inverse, self, c, *out ? *out : x, row_of, &s, &next));
        ferry_i_matrix_free(*out);
        FERRY_MOVE(*out, next);
        for (int64_t i = 0; i < o->n; i++)
            row_of[i] = i;
    }
    FERRY_TRY(rescale(ctx, o->n, *out, factor));
done:
    if (st != FERRY_OK) {
        ferry_i_matrix_free(*out);
        *out = NULL;
    }
    ferry_i_matrix_free(next);
    ferry_i_crossing_free(c);
    FERRY_FREE(inverse, self, row_of, s.value, s.mark, s.touched);
    return st;
}
