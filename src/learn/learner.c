/* One of three plain learners behind one face (learner.h): nearest neighbours that vote,
 * logistic regression, ridge regression on class indicators or numbers. For methods whose
 * own work is to place instances in a space, and which then need some learner there.
 * Nothing is scaled here: that has happened (learn/scale.h) or is the space's own matter.
 * Scores of all three are comparable within a kind only. */
#include <string.h>

#include "learn/learner.h"

void ferry_i_learner_free(ferry_learner *l)
{
    if (!l) return;
    ferry_i_linear_free(l->lin);
    ferry_i_free(l->w);
    ferry_i_matrix_free(l->x);
    FERRY_FREE(l->cls, l->num, l->weight, l);
}

/* ---- learn ---- */

/* *out <- a copy of n elements, or NULL for NULL.
 * `out` is the address of a pointer of any type. */
static ferry_status copy(ferry_ctx *ctx, int64_t n, size_t size, const void *from,
                         void *out)
{
    void **to = out;

    if (!from) return FERRY_OK;
    if (!(*to = ferry_i_calloc(n, size))) return ferry_i_nomem(ctx);
    memcpy(*to, from, (size_t)n * size);
    return FERRY_OK;
}

/* Keep the rows; neighbours are sought when asked.
 * Rows are copied, since the caller's matrix need not outlive the fit. Fewer rows than
 * neighbours: all of them vote. */
static ferry_status learn_knn(ferry_ctx *ctx, const ferry_examples *e, ferry_learner *l)
{
    const int64_t n = e->x->rows;

    FERRY_PASS(ferry_i_matrix_stack(ctx, 1, &e->x, &l->x));
    FERRY_PASS(copy(ctx, n, sizeof *e->cls, e->cls, &l->cls));
    FERRY_PASS(copy(ctx, n, sizeof *e->num, e->num, &l->num));
    FERRY_PASS(copy(ctx, n, sizeof *e->weight, e->weight, &l->weight));
    if (l->neighbours > n) l->neighbours = n;
    return FERRY_OK;
}

/* Indicators of the classes, or the numbers, as several targets at once.
 * Scores are then the values of the k regressions; the largest is the class. */
static ferry_status learn_ridge(ferry_ctx *ctx, double lambda, const ferry_examples *e,
                                ferry_learner *l)
{
    ferry_status st = FERRY_OK;
    ferry_block *y = NULL;

    FERRY_TRY(ferry_i_block_new(ctx, e->x->rows, l->k, &y));
    for (int64_t i = 0; i < y->rows; i++) {
        if (e->cls)
            FERRY_ROW(y, i)[e->cls[i]] = 1;
        else
            FERRY_ROW(y, i)[0] = e->num[i];
    }
    FERRY_TRY(ferry_i_ridge_fit_weighted(ctx, e->x, y, e->weight, lambda, &l->w));
done:
    ferry_i_free(y);
    return st;
}

/* The linear model holds the constant term small like any weight, which with a few rows costs the
 * shares of the classes: so it is the weight of a feature that is large everywhere.
 * With [x, 100] v'x + 100 u = v'x + b has b = 100 u, whose price u^2 / 2 is 10^-4 of b^2
 * / 2: in effect free. */
static ferry_status learn_logreg(ferry_ctx *ctx, double C, const ferry_examples *e,
                                 ferry_learner *l)
{
    ferry_status st = FERRY_OK;
    const double large = 100;
    const ferry_linear_options o = {.kind = FERRY_LINEAR_LOGREG, .C = C, .eps = 1e-4};
    ferry_matrix *one = NULL, *x = NULL;

    /* A name of its own: the draws do not depend on what else the method has drawn. */
    FERRY_TRY(ferry_i_matrix_csr(ctx, e->x->rows, 1, e->x->rows, &one));
    for (int64_t i = 0; i < e->x->rows; i++) {
        /* index is 0 everywhere, as allocated: the only column */
        one->start[i + 1] = i + 1;
        one->value[i] = large;
    }
    const ferry_matrix *const parts[] = {e->x, one};
    FERRY_TRY(ferry_i_matrix_join(ctx, 2, parts, &x));
    FERRY_TRY(ferry_i_linear_fit(ctx, &o, x, l->k, e->cls, NULL, &l->lin));
    /* k x (d + 2), the last 0, to k x (d + 1).
     * In place from the first row on, so that none is overwritten before it has moved; u
     * becomes b = 100 u. */
    for (int64_t c = 0; c < l->k; c++) {
        memmove(l->lin->w + c * (l->d + 1), l->lin->w + c * (l->d + 2),
                (size_t)(l->d + 1) * sizeof *l->lin->w);
        l->lin->w[c * (l->d + 1) + l->d] *= large;
    }
    l->lin->d = l->d;
done:
    ferry_i_matrix_free(x);
    ferry_i_matrix_free(one);
    return st;
}

/* Check nothing: ranges are the caller's options, labels its own. */
ferry_status ferry_i_learner_fit(ferry_ctx *ctx, ferry_learner_kind kind, int64_t k,
                                 const ferry_learning *o, const ferry_examples *e,
                                 ferry_learner **out)
{
    ferry_status st = FERRY_OK;
    ferry_learner *l = ferry_i_calloc(1, sizeof *l);

    *out = NULL;
    FERRY_HAVE(ctx, l);
    l->kind = kind;
    l->numbers = !e->cls;
    l->k = k;
    l->d = e->x->cols;
    l->neighbours = o->neighbours;
    if (kind == FERRY_LEARNER_KNN)
        FERRY_TRY(learn_knn(ctx, e, l));
    else if (kind == FERRY_LEARNER_LOGREG)
        FERRY_TRY(learn_logreg(ctx, o->C, e, l));
    else
        FERRY_TRY(learn_ridge(ctx, o->lambda, e, l));
    FERRY_MOVE(*out, l);
done:
    ferry_i_learner_free(l);
    return st;
}

/* ---- scores ---- */

/* Weighted shares of the neighbours' classes, or the mean of their numbers.
 * score (k) is 0 before. All weights 0 leaves it so: nobody has a say. */
static void vote(const ferry_learner *l, const int64_t *index, double *score)
{
    double all = 0;

    for (int64_t r = 0; r < l->neighbours; r++) {
        const int64_t i = index[r];
        const double w = l->weight ? l->weight[i] : 1;
        all += w;
        if (l->numbers)
            score[0] += w * l->num[i];
        else
            score[l->cls[i]] += w;
    }
    for (int64_t c = 0; c < l->k && all > 0; c++)
        score[c] /= all;
}

/* Exact search by blocks of products: rows x rows x features.
 * Ties of distance go to the lower row, so the answer does not depend on threads. */
static ferry_status knn_scores(ferry_ctx *ctx, const ferry_learner *l,
                               const ferry_matrix *x, ferry_block *scores)
{
    ferry_status st = FERRY_OK;
    int64_t *index = ferry_i_calloc(x->rows * l->neighbours, sizeof *index);
    double *dist = ferry_i_calloc(x->rows * l->neighbours, sizeof *dist);

    FERRY_HAVE(ctx, index && dist);
    FERRY_TRY(ferry_i_knn(ctx, l->x, x, l->neighbours, FERRY_EUCLIDEAN, index, dist));
    memset(scores->data, 0, (size_t)(scores->rows * scores->k) * sizeof *scores->data);
    for (int64_t i = 0; i < x->rows; i++)
        vote(l, index + i * l->neighbours, FERRY_ROW(scores, i));
done:
    FERRY_FREE(dist, index);
    return st;
}

/* x has the features of the fit (d); scores is x->rows x k and is overwritten. */
ferry_status ferry_i_learner_scores(ferry_ctx *ctx, const ferry_learner *l,
                                    const ferry_matrix *x, ferry_block *scores)
{
    if (l->kind == FERRY_LEARNER_KNN) return knn_scores(ctx, l, x, scores);
    if (l->kind == FERRY_LEARNER_LOGREG)
        return ferry_i_linear_scores(ctx, l->lin, x, scores);
    return ferry_i_linear_apply(ctx, x, l->k, l->w, scores);
}
