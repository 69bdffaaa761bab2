/* The cost of errors of a logistic regression where nobody says it: by cross-validation.
 *
 * Of {.3, 1, 3, 10, 30} that which predicts the labels of left-out rows best, by 3 folds of at
 * most 1000 rows; of equals the smallest, which trusts the rows least. For features whose
 * mean squared length is 1 (learn/scale.h) the best value lies in this range on all data
 * tried, and differs enough between data to be worth 15 small fits. A few rows tell
 * nothing: below 30 of them it is 1.
 *
 * Rows are drawn and dealt to the folds, class by class, in the order of a hash of what they
 * hold: the order of rows in a file plays no part, nor does which rank has them. */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "core/ranks.h"
#include "learn/learn.h"
#include "learn/rows.h"

enum { FOLDS = 3, MOST_ROWS = 1000, LEAST_ROWS = 30 };
static const double costs[] = {0.3, 1, 3, 10, 30};

typedef struct dealt {
    uint64_t hash;
    int64_t number, row; /* among the rows of all ranks; where it is here */
    int32_t y, fold;
} dealt;

static int by_hash(const void *a, const void *b)
{
    const dealt *x = a, *y = b;

    if (x->hash != y->hash) return x->hash < y->hash ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
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

/* What there is to draw from: the rows in the order of their hashes. */
typedef struct drawn {
    const ferry_matrix *x;
    const ferry_block *a;
    int64_t n;
    dealt *d;
    ferry_matrix *own_x; /* rows that other ranks have drawn too */
    ferry_block *own_a;
} drawn;

static void drawn_clear(drawn *w)
{
    ferry_i_matrix_free(w->own_x);
    FERRY_FREE(w->d, w->own_a);
}

/* The first n of every rank's rows, which the first n of all are among, for all ranks. */
static ferry_status collect(ferry_ctx *ctx, drawn *w)
{
    ferry_status st = FERRY_OK;
    ferry_matrix *x = NULL;
    ferry_block *a = NULL;
    int64_t *rows = NULL;
    void *all = NULL;

    FERRY_NEW(ctx, rows, w->n);
    for (int64_t i = 0; i < w->n; i++)
        rows[i] = w->d[i].row;
    FERRY_TRY(ferry_i_matrix_take(ctx, w->x, w->n, rows, w->x->cols, NULL, &x));
    FERRY_TRY(ferry_i_rows_like(ctx, w->x, x));
    FERRY_TRY(ferry_i_block_new(ctx, w->n, w->a->k, &a));
    for (int64_t i = 0; i < w->n; i++)
        memcpy(FERRY_ROW(a, i), FERRY_ROW(w->a, rows[i]), (size_t)a->k * sizeof(double));
    FERRY_TRY(ferry_i_rows_collect(ctx, x, sizeof *w->d, w->d, &all));
    FERRY_TRY(ferry_i_matrix_collect(ctx, x, &w->own_x));
    FERRY_TRY(ferry_i_block_collect(ctx, x, a, &w->own_a));
    w->n = w->own_x->rows;
    w->x = w->own_x;
    w->a = w->own_a;
    ferry_i_free(w->d);
    FERRY_MOVE(w->d, all);
    for (int64_t i = 0; i < w->n; i++)
        w->d[i].row = i;
    qsort(w->d, (size_t)w->n, sizeof *w->d, by_hash);
done:
    ferry_i_matrix_free(x);
    FERRY_FREE(a, rows, all);
    return st;
}

/* At most `most` rows, dealt to the folds. `out` is cleared by the caller in any case. */
static ferry_status deal(ferry_ctx *ctx, const ferry_matrix *x, const ferry_block *a,
                         const int64_t *number, int64_t most, drawn *out)
{
    ferry_status st = FERRY_OK;
    int32_t *next = NULL;

    *out = (drawn){.x = x, .a = a, .n = x->rows};
    FERRY_NEW(ctx, out->d, x->rows);
    FERRY_NEW(ctx, next, a->k);
    for (int64_t i = 0; i < x->rows; i++)
        out->d[i] = (dealt){row_hash(x, i), number ? number[i] : i, i, likeliest(a, i), 0};
    if (x->rows > 0) qsort(out->d, (size_t)x->rows, sizeof *out->d, by_hash);
    if (out->n > most) out->n = most;
    if (x->whole) FERRY_TRY(collect(ctx, out));
    if (out->n > most) out->n = most;
    for (int64_t i = 0; i < out->n; i++)
        out->d[i].fold = next[out->d[i].y]++ % FOLDS;
done:
    ferry_i_free(next);
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

static ferry_status fold_new(ferry_ctx *ctx, const drawn *w, int32_t f, fold *out)
{
    ferry_status st = FERRY_OK;
    const ferry_matrix *x = w->x;
    const ferry_block *a = w->a;
    int64_t *rows = NULL, n_in = 0, n_out = 0;

    FERRY_NEW(ctx, rows, w->n);
    FERRY_NEW(ctx, out->y, w->n);
    for (int64_t i = 0; i < w->n; i++)
        if (w->d[i].fold == f) {
            out->y[n_out] = w->d[i].y;
            rows[n_out++] = w->d[i].row;
        }
    FERRY_TRY(ferry_i_matrix_take(ctx, x, n_out, rows, x->cols, NULL, &out->out));
    for (int64_t i = 0; i < w->n; i++)
        if (w->d[i].fold != f) rows[n_in++] = w->d[i].row;
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

/* right[c] <- rows that costs[c] gets right. Of `size` ranks, which all have all that was drawn, each takes its share
 * of the fits. */
static ferry_status try_costs(ferry_ctx *ctx, const drawn *w, int64_t rank, int64_t size,
                              double *right)
{
    ferry_status st = FERRY_OK;
    fold f = {0};
    double *weights = NULL;

    for (int32_t k = 0; k < FOLDS; k++) {
        fold_clear(&f);
        f = (fold){0};
        FERRY_TRY(fold_new(ctx, w, k, &f));
        for (int64_t c = 0; c < FERRY_COUNT(costs) && f.out->rows > 0; c++) {
            if ((k * FERRY_COUNT(costs) + c) % size != rank) continue;
            ferry_i_free(weights);
            weights = NULL;
            FERRY_TRY(ferry_i_softmax_fit(ctx, costs[c], 1e-4, f.in, f.a, &weights));
            FERRY_TRY(ferry_i_softmax_scores(ctx, f.out, w->a->k, weights, f.scores));
            for (int64_t i = 0; i < f.out->rows; i++)
                right[c] += likeliest(f.scores, i) == f.y[i];
        }
    }
done:
    fold_clear(&f);
    ferry_i_free(weights);
    return st;
}

ferry_status ferry_i_softmax_cost(ferry_ctx *ctx, const ferry_matrix *x,
                                  const ferry_block *a, const int64_t *number, double *C)
{
    ferry_status st = FERRY_OK;
    ferry_ctx own = *ctx;
    double right[FERRY_COUNT(costs)] = {0};
    int64_t best = 0;
    drawn w = {0};

    *C = 1;
    if (ferry_i_all_rows(x) < LEAST_ROWS) return FERRY_OK;
    FERRY_TRY(deal(ctx, x, a, number, MOST_ROWS, &w));
    if (x->whole) { /* a rank is by itself here */
        own.ranks = NULL;
        st = try_costs(&own, &w, ctx->ranks->rank, ctx->ranks->size, right);
        FERRY_TRY(ferry_i_join(ctx, &own, st));
    } else {
        FERRY_TRY(try_costs(ctx, &w, 0, 1, right));
    }
    FERRY_TRY(ferry_i_sum_rows(ctx, x, FERRY_COUNT(costs), right));
    for (int64_t c = 1; c < FERRY_COUNT(costs); c++)
        if (right[c] > right[best]) best = c;
    *C = costs[best];
done:
    drawn_clear(&w);
    return st;
}
