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

enum { DRAWS = 99, TOGETHER = 250, FOLDS = 5, MOST_ROWS = 1500 };

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

static void clear(ferry_block *b)
{
    memset(b->data, 0, (size_t)(b->rows * b->k) * sizeof *b->data);
}

/* far[c] <- squared distance of the groups' means for n divisions, from the sums of the first groups; the last column of
 * `sum` is that of all rows. factor (may be NULL): what the features are still to be multiplied by. */
static void distances(const ferry_block *sum, const double *factor, double ns, double nt,
                      int64_t n, double *far)
{
    for (int64_t c = 0; c < n; c++)
        far[c] = 0;
    for (int64_t j = 0; j < sum->rows; j++) {
        const double by = factor ? factor[j] : 1, total = FERRY_ROW(sum, j)[n];
        for (int64_t c = 0; c < n; c++) {
            const double a = FERRY_ROW(sum, j)[c];
            const double gap = by * (a / ns - (total - a) / nt);
            far[c] += gap * gap;
        }
    }
}

/* Which rows to look at, at most MOST_ROWS drawn by the name: rows (new) of x, or of *own, which has those of all ranks. */
static ferry_status draw_rows(ferry_ctx *ctx, const char *name, const ferry_matrix *x,
                              ferry_matrix **own, int64_t **rows, int64_t *some)
{
    ferry_status st = FERRY_OK;
    const int64_t n = ferry_i_all_rows(x);
    ferry_rng rng;

    FERRY_NEW(ctx, *rows, n);
    for (int64_t i = 0; i < n; i++)
        (*rows)[i] = i;
    *some = n < MOST_ROWS ? n : MOST_ROWS;
    if (n > MOST_ROWS) {
        ferry_i_rng_for(ctx, &rng, name);
        ferry_i_rng_shuffle(&rng, n, *rows);
    }
    if (!x->whole) goto done;
    if (n > MOST_ROWS)
        FERRY_TRY(ferry_i_matrix_pick(ctx, x, MOST_ROWS, *rows, own));
    else
        FERRY_TRY(ferry_i_matrix_collect(ctx, x, own));
    for (int64_t i = 0; i < *some; i++)
        (*rows)[i] = i;
done:
    return st;
}

/* sum += X'in for the rows of x that are listed, a few at a time: a copy of all would cost more than the product. */
static ferry_status add_sums(ferry_ctx *ctx, const ferry_matrix *x, const int64_t *rows,
                             const ferry_block *in, ferry_block *sum)
{
    ferry_status st = FERRY_OK;
    ferry_matrix *part = NULL;

    for (int64_t at = 0; at < in->rows; at += TOGETHER) {
        const int64_t n = in->rows - at < TOGETHER ? in->rows - at : TOGETHER;
        const ferry_block b = {n, in->k, FERRY_ROW(in, at)};
        FERRY_TRY(ferry_i_matrix_take(ctx, x, n, rows + at, x->cols, NULL, &part));
        FERRY_TRY(ferry_e(ctx)->tmul(ctx, 1, part, &b, 1, sum));
        ferry_i_matrix_free(part);
        part = NULL;
    }
done:
    ferry_i_matrix_free(part);
    return st;
}

/* O(99 nnz) of the rows drawn: like one product with 99 labels. Where features are many the divisions go in groups, so
 * that their sums stay small. */
ferry_status ferry_i_mmltl_shift(ferry_ctx *ctx, const ferry_matrix *xs,
                                 const ferry_matrix *xt, const double *factor, double *p)
{
    ferry_status st = FERRY_OK;
    /* the first is as the rows are; after the last come all rows */
    enum { ALL = DRAWS + 1, SOME = 20, WIDE = 1 << 15 };
    const int64_t most = xs->cols > WIDE ? SOME : ALL;
    ferry_block *s = NULL, *t = NULL, *sum = NULL;
    ferry_matrix *own_s = NULL, *own_t = NULL;
    int64_t *order = NULL, *rows_s = NULL, *rows_t = NULL, ns = 0, nt = 0, above = 0;
    double far[ALL];
    ferry_rng rng;

    *p = 1;
    if (ferry_i_all_rows(xs) == 0 || ferry_i_all_rows(xt) == 0) goto done;
    FERRY_TRY(draw_rows(ctx, "mmltl.shift.source", xs, &own_s, &rows_s, &ns));
    FERRY_TRY(draw_rows(ctx, "mmltl.shift.target", xt, &own_t, &rows_t, &nt));
    FERRY_NEW(ctx, order, ns + nt);
    FERRY_TRY(ferry_i_block_new(ctx, ns, most + 1, &s));
    FERRY_TRY(ferry_i_block_new(ctx, nt, most + 1, &t));
    FERRY_TRY(ferry_i_block_new(ctx, xs->cols, most + 1, &sum));
    for (int64_t i = 0; i < ns + nt; i++)
        order[i] = i;
    ferry_i_rng_for(ctx, &rng, "mmltl.shift");
    for (int64_t from = 0; from < ALL; from += most) { /* most divides ALL */
        clear(s);
        clear(t);
        clear(sum);
        for (int64_t c = from; c < from + most; c++) {
            if (c > 0) ferry_i_rng_shuffle(&rng, ns + nt, order);
            fill_division(order, ns, c - from, s, t);
        }
        fill_division(order, ns + nt, most, s, t);
        FERRY_TRY(add_sums(ctx, own_s ? own_s : xs, rows_s, s, sum));
        FERRY_TRY(add_sums(ctx, own_t ? own_t : xt, rows_t, t, sum));
        distances(sum, factor, (double)ns, (double)nt, most, far + from);
    }
    for (int64_t c = 1; c < ALL; c++)
        above += far[c] >= far[0];
    *p = (double)(above + 1) / (DRAWS + 1);
done:
    ferry_i_matrix_free(own_s);
    ferry_i_matrix_free(own_t);
    FERRY_FREE(order, rows_s, rows_t, s, t, sum);
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
