/* Mode paper: Algorithms 3 (linear) and 4 (nonlinear) on a task. The algorithms want sets
 * of equal size whose rows correspond, which no task has:
 *
 *   rows      known pairs first, the others in random order (a file's order may tell the
 *             labels); the smaller set is filled up by rows drawn again
 *   clusters  nonlinear: C_T by k-means, C_S by the source's labels
 *   solve     B_T, B_S (spectral.c)
 *   places    of a row the mean over its copies, columns to mean 0 and deviation 1
 *
 * The text says that the order of instances does not matter. It does: T'S = sum_i t_i s_i'
 * pairs row i with row i, and with a random order each eigenvector is nearly a component of
 * one set alone. If both files are sorted by class, the order leaks the labels of all rows,
 * hence the shuffle. */
#include <math.h>
#include <string.h>

#include "methods/hemap/hemap.h"

/* Order of n rows: those of the pairs, the others shuffled, then drawn again up to
 * `total`. `order` has room for `total`; `first` are the rows of the pairs. A row drawn
 * again is tied to a second row of the other set. */
static ferry_status order_rows(ferry_ctx *ctx, int64_t n, int64_t pairs,
                               const int64_t *first, int64_t total, ferry_rng *rng,
                               int64_t *order)
{
    ferry_status st = FERRY_OK;
    uint8_t *used = ferry_i_calloc(n, sizeof *used);
    int64_t at = 0;

    FERRY_HAVE(ctx, used);
    for (; at < pairs; at++) {
        order[at] = first[at];
        used[first[at]] = 1;
    }
    for (int64_t i = 0; i < n; i++)
        if (!used[i]) order[at++] = i;
    ferry_i_rng_shuffle(rng, at - pairs, order + pairs);
    for (; at < total; at++)
        order[at] = (int64_t)ferry_i_rng_below(rng, (uint64_t)n);
done:
    ferry_i_free(used);
    return st;
}

/* Rows that an order must have: all of them, and the pairs' as often as they occur. `used`
 * is scratch of n. A row in several pairs stands in the order once for each. */
static int64_t least_rows(int64_t n, int64_t pairs, const int64_t *first, uint8_t *used)
{
    int64_t more = 0;

    memset(used, 0, (size_t)n);
    for (int64_t i = 0; i < pairs; i++) {
        more += used[first[i]];
        used[first[i]] = 1;
    }
    return n + more;
}

/* Orders of equal length n for both sets; new arrays of the caller's, also after a
 * failure. */
static ferry_status choose_order(ferry_ctx *ctx, const hemap_data *d, int64_t **ot,
                                 int64_t **os, int64_t *n)
{
    ferry_status st = FERRY_OK;
    const int64_t nt = d->t->rows, ns = d->s->rows;
    uint8_t *used = ferry_i_calloc(nt > ns ? nt : ns, sizeof *used);
    int64_t a = 0, b = 0;
    ferry_rng rng;

    FERRY_HAVE(ctx, used);
    a = least_rows(nt, d->n_pairs, d->pt, used);
    b = least_rows(ns, d->n_pairs, d->ps, used);
    *n = a > b ? a : b;
    FERRY_NEW(ctx, *ot, *n);
    FERRY_NEW(ctx, *os, *n);
    ferry_i_rng_for(ctx, &rng, "hemap rows");
    FERRY_TRY(order_rows(ctx, nt, d->n_pairs, d->pt, *n, &rng, *ot));
    FERRY_TRY(order_rows(ctx, ns, d->n_pairs, d->ps, *n, &rng, *os));
done:
    ferry_i_free(used);
    return st;
}

/* 0/1 matrix of the groups of the rows in their order (-1: a row of zeros). */
static ferry_status partition(ferry_ctx *ctx, int64_t n, const int64_t *order,
                              const int32_t *group, int64_t g, ferry_matrix **out)
{
    FERRY_PASS(ferry_i_matrix_dense(ctx, n, g, out));
    for (int64_t i = 0; i < n; i++)
        if (group[order[i]] >= 0) (*out)->dense[i * g + group[order[i]]] = 1;
    return FERRY_OK;
}

/* C_T by k-means of the target. Rows are clustered once; copies take the cluster
 * of their row. */
static ferry_status cluster_target(ferry_ctx *ctx, const hemap_data *d, int64_t n,
                                   const int64_t *order, ferry_matrix **out)
{
    ferry_status st = FERRY_OK;
    const int64_t rows = d->t->rows, g = d->o->clusters < rows ? d->o->clusters : rows;
    ferry_matrix *x = NULL;
    int32_t *group = ferry_i_calloc(rows, sizeof *group);
    ferry_rng rng;

    FERRY_HAVE(ctx, group);
    FERRY_NEED(ctx, d->t->dense || (double)rows * (double)d->t->cols <= 1e8, FERRY_ENEEDS,
               "hemap variant=nonlinear clusters dense features; %lld x %lld is too large",
               (long long)rows, (long long)d->t->cols);
    FERRY_TRY(ferry_i_matrix_densify(ctx, d->t, &x));
    const ferry_kmeans_options how = {.k = g, .restarts = 10, .max_iter = 100};
    ferry_i_rng_for(ctx, &rng, "hemap clusters");
    FERRY_TRY(ferry_i_kmeans(ctx, x, &how, &rng, group, NULL, NULL));
    FERRY_TRY(partition(ctx, n, order, group, g, out));
done:
    ferry_i_matrix_free(x);
    ferry_i_free(group);
    return st;
}

/* C_S by the source's labels: classes, or quantiles of a number. Rows without a label are
 * rows of zeros: they are in no cluster. */
static ferry_status cluster_source(ferry_ctx *ctx, const hemap_data *d, int64_t n,
                                   const int64_t *order, ferry_matrix **out)
{
    ferry_status st = FERRY_OK;
    int32_t *group = NULL;
    int64_t g = d->k;

    if (d->vc) return partition(ctx, n, order, d->vc, g, out);
    FERRY_NEW(ctx, group, d->s->rows);
    g = d->o->bins < d->n_taught ? d->o->bins : d->n_taught;
    FERRY_TRY(ferry_i_hemap_quantiles(ctx, d->s->rows, d->vn, g, group));
    FERRY_TRY(partition(ctx, n, order, group, g > 0 ? g : 1, out));
done:
    ferry_i_free(group);
    return st;
}

/* z <- mean over the copies of each row, columns to mean 0 and deviation 1.
 *
 * B_T and B_S of the relaxed constraint B'B = I come at different scales; columns of unit
 * deviation make distances between the sets mean something. z starts as zeros; every row
 * has at least one copy. */
static ferry_status place(ferry_ctx *ctx, const ferry_block *b, int64_t k,
                          const int64_t *order, ferry_block *z)
{
    ferry_status st = FERRY_OK;
    double *count = ferry_i_calloc(z->rows, sizeof *count);

    FERRY_HAVE(ctx, count);
    for (int64_t i = 0; i < b->rows; i++) {
        count[order[i]]++;
        for (int64_t j = 0; j < k; j++)
            FERRY_ROW(z, order[i])[j] += FERRY_ROW(b, i)[j];
    }
    for (int64_t j = 0; j < k; j++) {
        double mean = 0, square = 0;
        for (int64_t i = 0; i < z->rows; i++) {
            FERRY_ROW(z, i)[j] /= count[i];
            mean += FERRY_ROW(z, i)[j] / (double)z->rows;
        }
        for (int64_t i = 0; i < z->rows; i++) {
            const double x = FERRY_ROW(z, i)[j] -= mean;
            square += x * x / (double)z->rows;
        }
        for (int64_t i = 0; i < z->rows; i++)
            FERRY_ROW(z, i)[j] = square > 0 ? FERRY_ROW(z, i)[j] / sqrt(square) : 0;
    }
done:
    ferry_i_free(count);
    return st;
}

/* Where the target's rows are, and which they are: the map for new rows. The preparation
 * owns the features: a reference is enough. */
static ferry_status set_space(ferry_ctx *ctx, const hemap_data *d, hemap_embedding *e)
{
    e->space.k = e->zt->k;
    e->space.rows = ferry_i_matrix_ref(d->prepared->rows[d->prepared->n_rows - 1].x[0]);
    FERRY_PASS(ferry_i_matrix_dense(ctx, e->zt->rows, e->zt->k, &e->space.z));
    memcpy(e->space.z->dense, e->zt->data,
           (size_t)(e->zt->rows * e->zt->k) * sizeof *e->zt->data);
    return FERRY_OK;
}

/* Solve, with bt and bs for the halves. tr(B'AB) of eigenvectors is the sum of their
 * eigenvalues; polar steps return their own. The exact constraint needs k directions that
 * exist, so a lower rank keeps the relaxed solution. */
static ferry_status solve(ferry_ctx *ctx, const hemap_data *d, const hemap_problem *p,
                          const int64_t *ot, const int64_t *os, hemap_embedding *e)
{
    ferry_status st = FERRY_OK;
    const int64_t n = p->t->rows;
    int64_t k = d->o->k > 0 ? d->o->k : 1, rank = 0;
    ferry_block *bt = NULL, *bs = NULL;
    double trace = 0;

    if (k > n) k = n;
    FERRY_NEW(ctx, e->strength, k);
    FERRY_TRY(ferry_i_block_new(ctx, n, k, &bt));
    FERRY_TRY(ferry_i_block_new(ctx, n, k, &bs));
    FERRY_TRY(ferry_i_hemap_spectral(ctx, p, k, e->strength, bt, bs, &rank));
    FERRY_NEED(ctx, rank > 0, FERRY_EDATA,
               "hemap: all features of source and target are constant");
    for (int64_t j = 0; j < rank; j++)
        trace += e->strength[j];
    if (d->o->exact && rank == k)
        FERRY_TRY(ferry_i_hemap_exact(ctx, p, 500, 1e-10, bt, bs, &trace));
    e->objective = ferry_i_hemap_objective(p, trace);
    FERRY_TRY(ferry_i_block_new(ctx, d->t->rows, rank, &e->zt));
    FERRY_TRY(ferry_i_block_new(ctx, d->s->rows, rank, &e->zs));
    FERRY_TRY(place(ctx, bt, rank, ot, e->zt));
    FERRY_TRY(place(ctx, bs, rank, os, e->zs));
    FERRY_TRY(set_space(ctx, d, e));
done:
    FERRY_FREE(bs, bt);
    return st;
}

/* Prepared features that were centred have rows of mean squared length 1; the published
 * problem weighs them (theta) against 0/1 clusters as columns of unit deviation, so they get
 * that length back. */
static void to_unit_deviation(const ferry_scaler *scale, ferry_matrix *x)
{
    const double f = scale->shift ? sqrt((double)x->cols) : 1;
    double *value = x->dense ? x->dense : x->value;

    for (int64_t e = 0; e < (x->dense ? x->rows * x->cols : x->nnz); e++)
        value[e] *= f;
}

/* The sets as the algorithm wants them, then solve(). All of the copies are freed here;
 * only places and the map stay. */
ferry_status ferry_i_hemap_embed_paper(ferry_ctx *ctx, const hemap_data *d,
                                       hemap_embedding *e)
{
    ferry_status st = FERRY_OK;
    const bool nonlinear = d->o->variant == VARIANT_NONLINEAR;
    int64_t *ot = NULL, *os = NULL, n = 0;
    ferry_matrix *t = NULL, *s = NULL, *ct = NULL, *cs = NULL;

    FERRY_TRY(choose_order(ctx, d, &ot, &os, &n));
    FERRY_TRY(ferry_i_matrix_take(ctx, d->t, n, ot, d->t->cols, NULL, &t));
    FERRY_TRY(ferry_i_matrix_take(ctx, d->s, n, os, d->s->cols, NULL, &s));
    const ferry_prepared *p =
        d->prepared; /* the only source comes first, the target last */
    to_unit_deviation(p->space[0].scale, t);
    to_unit_deviation(p->space[p->links->group[0][0]].scale, s);
    if (nonlinear) {
        FERRY_TRY(cluster_target(ctx, d, n, ot, &ct));
        FERRY_TRY(cluster_source(ctx, d, n, os, &cs));
    }
    const hemap_problem problem = {t, s, ct, cs, d->o->beta, nonlinear ? d->o->theta : 1};
    FERRY_TRY(solve(ctx, d, &problem, ot, os, e));
    e->ties = n;
done:
    ferry_i_matrix_free(cs);
    ferry_i_matrix_free(ct);
    ferry_i_matrix_free(s);
    ferry_i_matrix_free(t);
    FERRY_FREE(os, ot);
    return st;
}
