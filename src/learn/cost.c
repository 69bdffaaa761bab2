/* The cost of errors of a logistic regression where nobody says it: by cross-validation.
 *
 * Of {.3, 1, 3, 10, 30} that which predicts the labels of left-out rows best, by 3 folds of at
 * most 1000 rows; of equals the smallest, which trusts the rows least. For features whose
 * mean squared length is 1 (learn/scale.h) the best value lies in this range on all data
 * tried, and differs enough between data to be worth 15 small fits. A few rows tell
 * nothing: below 30 of them it is 1.
 *
 * Rows are drawn and dealt to the folds, class by class, in the order of a hash of what they
 * hold: the order of rows in a file plays no part. */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "learn/learn.h"
#include "learn/rows.h"

enum { FOLDS = 3, MOST_ROWS = 1000, LEAST_ROWS = 30 };
static const double costs[] = {0.3, 1, 3, 10, 30};

typedef struct dealt {
    uint64_t hash;
    int64_t row;
    int32_t y, fold;
} dealt;

static int by_hash(const void *a, const void *b)
{
    const dealt *x = a, *y = b;

    if (x->hash != y->hash) return x->hash < y->hash ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* Of values as floats: scaling that was learned from rows in another order may differ in the
 * last digit of a double. */
static uint64_t row_hash(const ferry_matrix *x, int64_t i)
{
    const double *v = row_values(x);
    uint64_t h = 0;

    for (int64_t e = row_begin(x, i); e < row_end(x, i); e++) {
        const struct {
            float value;
            int32_t column;
        } cell = {(float)v[e], (int32_t)row_column(x, i, e)};
        if (cell.value != 0) h = XXH3_64bits_withSeed(&cell, sizeof cell, h);
    }
    return h;
}

static int32_t likeliest(const ferry_block *a, int64_t i)
{
    const double *row = FERRY_ROW(a, i);
    int32_t best = 0;

    for (int32_t k = 1; k < a->k; k++)
        if (row[k] > row[best]) best = k;
    return best;
}

static ferry_status deal(ferry_ctx *ctx, const ferry_matrix *x, const ferry_block *a,
                         dealt **out)
{
    ferry_status st = FERRY_OK;
    dealt *d = NULL;
    int32_t *next = NULL;

    FERRY_NEW(ctx, d, x->rows);
    FERRY_NEW(ctx, next, a->k);
    for (int64_t i = 0; i < x->rows; i++)
        d[i] = (dealt){row_hash(x, i), i, likeliest(a, i), 0};
    qsort(d, (size_t)x->rows, sizeof *d, by_hash);
    for (int64_t i = 0; i < x->rows; i++)
        d[i].fold = next[d[i].y]++ % FOLDS;
    FERRY_MOVE(*out, d);
done:
    FERRY_FREE(d, next);
    return st;
}

/* The rows outside fold f to learn from, those inside to be predicted. */
typedef struct fold {
    ferry_matrix *in, *out;
    ferry_block *a, *scores;
    int32_t *y;
} fold;

static void fold_clear(fold *f)
{
    ferry_i_matrix_free(f->in);
    ferry_i_matrix_free(f->out);
    FERRY_FREE(f->a, f->scores, f->y);
}

static ferry_status fold_new(ferry_ctx *ctx, const ferry_matrix *x, const ferry_block *a,
                             int64_t n, const dealt *d, int32_t f, fold *out)
{
    ferry_status st = FERRY_OK;
    int64_t *rows = NULL, n_in = 0, n_out = 0;

    FERRY_NEW(ctx, rows, n); /* inside from the front, outside from the back */
    FERRY_NEW(ctx, out->y, n);
    for (int64_t i = 0; i < n; i++)
        if (d[i].fold == f) {
            out->y[n_out] = d[i].y;
            rows[n_out++] = d[i].row;
        }
    FERRY_TRY(ferry_i_matrix_take(ctx, x, n_out, rows, x->cols, NULL, &out->out));
    for (int64_t i = 0; i < n; i++)
        if (d[i].fold != f) rows[n_in++] = d[i].row;
    FERRY_TRY(ferry_i_matrix_take(ctx, x, n_in, rows, x->cols, NULL, &out->in));
    FERRY_TRY(ferry_i_matrix_index(ctx, out->in));
    FERRY_TRY(ferry_i_block_new(ctx, n_in, a->k, &out->a));
    FERRY_TRY(ferry_i_block_new(ctx, n_out, a->k, &out->scores));
    for (int64_t i = 0; i < n_in; i++)
        memcpy(FERRY_ROW(out->a, i), FERRY_ROW(a, rows[i]), (size_t)a->k * sizeof(double));
done:
    ferry_i_free(rows);
    return st;
}

ferry_status ferry_i_softmax_cost(ferry_ctx *ctx, const ferry_matrix *x,
                                  const ferry_block *a, double *C)
{
    ferry_status st = FERRY_OK;
    const int64_t n = x->rows < MOST_ROWS ? x->rows : MOST_ROWS;
    int64_t right[FERRY_COUNT(costs)] = {0}, best = 0;
    dealt *d = NULL;
    fold f = {0};
    double *w = NULL;

    *C = 1;
    if (n < LEAST_ROWS) return FERRY_OK;
    FERRY_TRY(deal(ctx, x, a, &d));
    for (int32_t k = 0; k < FOLDS; k++) {
        fold_clear(&f);
        f = (fold){0};
        FERRY_TRY(fold_new(ctx, x, a, n, d, k, &f));
        for (int64_t c = 0; c < FERRY_COUNT(costs) && f.out->rows > 0; c++) {
            ferry_i_free(w);
            w = NULL;
            FERRY_TRY(ferry_i_softmax_fit(ctx, costs[c], 1e-4, f.in, f.a, &w));
            FERRY_TRY(ferry_i_softmax_scores(ctx, f.out, a->k, w, f.scores));
            for (int64_t i = 0; i < f.out->rows; i++)
                right[c] += likeliest(f.scores, i) == f.y[i];
        }
    }
    for (int64_t c = 1; c < FERRY_COUNT(costs); c++)
        if (right[c] > right[best]) best = c;
    *C = costs[best];
done:
    fold_clear(&f);
    FERRY_FREE(d, w);
    return st;
}
