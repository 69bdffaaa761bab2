/* M-MLTL: is there anything to undo, and if not, is the subspace worth it?
 *
 * Where source and target come from one distribution the mean term can only cost, and the m latent
 * features, too, hold less than the features themselves (emotions in two random halves: ranking loss .189,
 * without the term .181, a RankSVM on the features .160). So:
 *
 *   shift    |mean(Xs) - mean(Xt)|^2 against 99 random divisions of the rows, at most 1500 of either
 *            side; a shift is what is larger than all of them (p = .01)
 *   choice   without one, 5 folds of the source decide by the ranking loss between the features and the
 *            subspace without the term */
#include <string.h>

#include "methods/mmltl/mmltl.h"

enum { DRAWS = 99, AT_ONCE = 20, FOLDS = 5, MOST_ROWS = 1500 };

/* ---- the shift ---- */

/* Which rows of one side are in the first group of division c: order holds all rows, the first ns of it are. */
static void fill_division(const int64_t *order, int64_t ns, int64_t c, ferry_block *s,
                          ferry_block *t)
{
    for (int64_t i = 0; i < ns; i++) {
        const int64_t row = order[i];
        if (row < s->rows)
            FERRY_ROW(s, row)[c] = 1;
        else
            FERRY_ROW(t, row - s->rows)[c] = 1;
    }
}

/* far[c] <- squared distance of the groups' means for n divisions, from the sums of the first groups. */
static void distances(const ferry_block *sum, const double *total, double ns, double nt,
                      int64_t n, double *far)
{
    for (int64_t c = 0; c < n; c++)
        far[c] = 0;
    for (int64_t j = 0; j < sum->rows; j++)
        for (int64_t c = 0; c < n; c++) {
            const double a = FERRY_ROW(sum, j)[c];
            const double gap = a / ns - (total[j] - a) / nt;
            far[c] += gap * gap;
        }
}

/* MOST_ROWS of x, those of all ranks, drawn by the name; NULL where x has no more. */
static ferry_status some_rows(ferry_ctx *ctx, const char *name, const ferry_matrix *x,
                              ferry_matrix **out)
{
    ferry_status st = FERRY_OK;
    const int64_t rows = ferry_i_all_rows(x);
    int64_t *order = NULL;
    ferry_rng rng;

    *out = NULL;
    if (rows <= MOST_ROWS) {
        if (x->whole) FERRY_TRY(ferry_i_matrix_collect(ctx, x, out));
        goto done;
    }
    FERRY_NEW(ctx, order, rows);
    for (int64_t i = 0; i < rows; i++)
        order[i] = i;
    ferry_i_rng_for(ctx, &rng, name);
    ferry_i_rng_shuffle(&rng, rows, order);
    FERRY_TRY(ferry_i_matrix_pick(ctx, x, MOST_ROWS, order, out));
done:
    ferry_i_free(order);
    return st;
}

/* O(99 nnz) of the rows drawn: like one product with 99 labels. */
static ferry_status shift_of(ferry_ctx *ctx, const ferry_matrix *xs, const ferry_matrix *xt,
                             double *p)
{
    ferry_status st = FERRY_OK;
    const int64_t n = xs->rows + xt->rows, d = xs->cols;
    ferry_block *s = NULL, *t = NULL, *sum = NULL;
    int64_t *order = NULL, above = 0;
    double *total = NULL, *more = NULL, far[AT_ONCE], own = 0;
    ferry_rng rng;

    *p = 1;
    if (xs->rows == 0 || xt->rows == 0) goto done;
    FERRY_NEW(ctx, order, n);
    FERRY_NEW(ctx, total, d);
    FERRY_NEW(ctx, more, d);
    FERRY_TRY(ferry_i_block_new(ctx, xs->rows, AT_ONCE, &s));
    FERRY_TRY(ferry_i_block_new(ctx, xt->rows, AT_ONCE, &t));
    FERRY_TRY(ferry_i_block_new(ctx, d, AT_ONCE, &sum));
    FERRY_TRY(ferry_e(ctx)->sums(ctx, xs, FERRY_COLS, 1, total));
    FERRY_TRY(ferry_e(ctx)->sums(ctx, xt, FERRY_COLS, 1, more));
    for (int64_t j = 0; j < d; j++)
        total[j] += more[j];
    for (int64_t i = 0; i < n; i++)
        order[i] = i;
    ferry_i_rng_for(ctx, &rng, "mmltl.shift");
    for (int64_t at = 0; at <= DRAWS; at += AT_ONCE) { /* the first is as they are */
        memset(s->data, 0, (size_t)(s->rows * s->k) * sizeof *s->data);
        memset(t->data, 0, (size_t)(t->rows * t->k) * sizeof *t->data);
        for (int64_t c = 0; c < AT_ONCE; c++) {
            if (at + c > 0) ferry_i_rng_shuffle(&rng, n, order);
            fill_division(order, xs->rows, c, s, t);
        }
        FERRY_TRY(ferry_e(ctx)->tmul(ctx, 1, xs, s, 0, sum));
        FERRY_TRY(ferry_e(ctx)->tmul(ctx, 1, xt, t, 1, sum));
        distances(sum, total, (double)xs->rows, (double)xt->rows, AT_ONCE, far);
        if (at == 0) own = far[0];
        for (int64_t c = at == 0; c < AT_ONCE && at + c <= DRAWS; c++)
            above += far[c] >= own;
    }
    *p = (double)(above + 1) / (DRAWS + 1);
done:
    FERRY_FREE(order, total, more, s, t, sum);
    return st;
}

ferry_status ferry_i_mmltl_shift(ferry_ctx *ctx, const ferry_matrix *xs,
                                 const ferry_matrix *xt, double *p)
{
    ferry_status st = FERRY_OK;
    ferry_matrix *s = NULL, *t = NULL;

    FERRY_TRY(some_rows(ctx, "mmltl.shift.source", xs, &s));
    FERRY_TRY(some_rows(ctx, "mmltl.shift.target", xt, &t));
    FERRY_TRY(shift_of(ctx, s ? s : xs, t ? t : xt, p));
done:
    ferry_i_matrix_free(s);
    ferry_i_matrix_free(t);
    return st;
}

/* ---- the choice ---- */

/* A part of the source's rows. */
typedef struct fold {
    ferry_matrix *x;
    uint8_t *on;
    int64_t n;
} fold;

static void fold_clear(fold *f)
{
    ferry_i_matrix_free(f->x);
    ferry_i_free(f->on);
    *f = (fold){0};
}

/* The rows whose number is `which` (inside) or another one from 0 on (outside). */
static ferry_status fold_of(ferry_ctx *ctx, const ferry_matrix *x,
                            const ferry_mmltl_labels *y, const int32_t *number,
                            int32_t which, bool inside, fold *out)
{
    ferry_status st = FERRY_OK;
    int64_t *rows = NULL;

    FERRY_NEW(ctx, rows, x->rows);
    for (int64_t i = 0; i < x->rows; i++)
        if (number[i] >= 0 && (number[i] == which) == inside) rows[out->n++] = i;
    FERRY_NEW(ctx, out->on, out->n * y->m);
    for (int64_t i = 0; i < out->n; i++)
        memcpy(out->on + i * y->m, y->on + rows[i] * y->m, (size_t)y->m);
    FERRY_TRY(ferry_i_matrix_take(ctx, x, out->n, rows, x->cols, NULL, &out->x));
done:
    ferry_i_free(rows);
    return st;
}

/* Sum over rows of the share of pairs (own label, other) in the wrong order, ties by half; *n counts rows with both. */
static double wrong_pairs(const ferry_block *f, const uint8_t *on, int64_t *n)
{
    double sum = 0;

    for (int64_t i = 0; i < f->rows; i++) {
        const double *s = FERRY_ROW(f, i);
        const uint8_t *y = on + i * f->k;
        double wrong = 0, pairs = 0;
        for (int64_t a = 0; a < f->k; a++)
            for (int64_t b = 0; y[a] && b < f->k; b++) {
                if (y[b]) continue;
                wrong += s[a] < s[b] ? 1 : s[a] == s[b] ? 0.5 : 0;
                pairs++;
            }
        if (pairs == 0) continue;
        sum += wrong / pairs;
        ++*n;
    }
    return sum;
}

/* A RankSVM on z of one part, asked about z of the other. */
static ferry_status rank_fold(ferry_ctx *ctx, const ferry_ranksvm_options *o,
                              const ferry_matrix *z, const fold *train,
                              const ferry_matrix *asked, const fold *test, int64_t m,
                              double *loss, int64_t *n)
{
    ferry_status st = FERRY_OK;
    ferry_ranksvm *r = NULL;
    ferry_block *f = NULL;
    bool finish = false;

    FERRY_TRY(ferry_i_ranksvm_fit(ctx, o, z, NULL, m, train->on, &r, &finish));
    FERRY_TRY(ferry_i_block_new(ctx, test->n, m, &f));
    FERRY_TRY(ferry_i_ranksvm_scores(ctx, r, asked, NULL, f));
    *loss += wrong_pairs(f, test->on, n);
done:
    ferry_i_ranksvm_free(r);
    ferry_i_free(f);
    return st;
}

/* The subspace of one part without the mean term: latent features of both, each to mean 0 and deviation 1 by the first. */
static ferry_status project(ferry_ctx *ctx, const ferry_mmltl_labels *y, const fold *train,
                            const fold *test, ferry_block **z, ferry_block **asked)
{
    ferry_status st = FERRY_OK;
    const ferry_mmltl_labels part = {train->n, y->m, train->on, y->centre};
    ferry_block *g = NULL, *delta = NULL, *u = NULL, *v = NULL;
    ferry_mmltl_found found = {0};
    ranked s = {0};

    FERRY_TRY(ferry_i_mmltl_relation(ctx, train->x, &part, test->x, &g, &delta));
    FERRY_TRY(ferry_i_block_new(ctx, g->rows, y->m, &u));
    FERRY_TRY(ferry_i_block_new(ctx, y->m, y->m, &v));
    const ferry_mmltl p = {.g = g, .delta = delta, .g1 = 1, .g2 = 1};
    FERRY_TRY(ferry_i_mmltl_solve(ctx, &p, 1e-10, 1000, u, v, &found));
    FERRY_TRY(ferry_i_block_new(ctx, train->n, y->m, z));
    FERRY_TRY(ferry_i_block_new(ctx, test->n, y->m, asked));
    ferry_e(ctx)->mul(ctx, 1, train->x, u, 0, *z);
    ferry_e(ctx)->mul(ctx, 1, test->x, u, 0, *asked);
    FERRY_NEW(ctx, s.mean, y->m);
    FERRY_NEW(ctx, s.inv_sd, y->m);
    ferry_i_mmltl_measure(*z, &s);
    ferry_i_ranked_standardise(&s, *z);
    ferry_i_ranked_standardise(&s, *asked);
done:
    FERRY_FREE(s.mean, s.inv_sd, g, delta, u, v);
    return st;
}

ferry_status ferry_i_mmltl_choose(ferry_ctx *ctx, const ferry_ranksvm_options *o,
                                  const ferry_matrix *x, const ferry_mmltl_labels *y,
                                  double loss[2])
{
    ferry_status st = FERRY_OK;
    int32_t *number = NULL;
    fold train = {0}, test = {0};
    ferry_block *z = NULL, *asked = NULL;
    int64_t n[2] = {0, 0};

    loss[0] = loss[1] = 0;
    FERRY_NEW(ctx, number, x->rows);
    FERRY_TRY(ferry_i_folds(ctx, "mmltl.folds", x->rows, NULL,
                            FOLDS * ((x->rows + MOST_ROWS - 1) / MOST_ROWS), number));
    for (int64_t i = 0; i < x->rows; i++) /* of many rows those of the first folds */
        if (number[i] >= FOLDS) number[i] = -1;
    for (int32_t f = 0; f < FOLDS; f++) {
        FERRY_TRY(fold_of(ctx, x, y, number, f, false, &train));
        FERRY_TRY(fold_of(ctx, x, y, number, f, true, &test));
        if (test.n > 0 && train.n > 0) {
            FERRY_TRY(
                rank_fold(ctx, o, train.x, &train, test.x, &test, y->m, &loss[0], &n[0]));
            FERRY_TRY(project(ctx, y, &train, &test, &z, &asked));
            const ferry_matrix a = ferry_i_block_matrix(z), b = ferry_i_block_matrix(asked);
            FERRY_TRY(rank_fold(ctx, o, &a, &train, &b, &test, y->m, &loss[1], &n[1]));
        }
        FERRY_FREE(z, asked);
        z = asked = NULL;
        fold_clear(&train);
        fold_clear(&test);
    }
    for (int i = 0; i < 2; i++)
        loss[i] = n[i] > 0 ? loss[i] / (double)n[i] : 0;
done:
    fold_clear(&train);
    fold_clear(&test);
    FERRY_FREE(z, asked, number);
    return st;
}
