/* Three folds over the target's labelled rows (choice.h). */
#include "methods/baselines/choice.h"

#include "core/ranks.h"
#include "learn/learn.h"

enum { FOLDS = 3, LEAST = 5, VALUES = FERRY_COUNT(((choice *)0)->value) };

/* Of a value: how good it is, and how its rows differ from those of the first. */
typedef struct gain {
    double good, sum, squares;
} gain;

/* At least LEAST of every class; of numbers as many for each fold. */
static ferry_status enough(ferry_ctx *ctx, const base *b, const examples *e, bool *out)
{
    ferry_status st = FERRY_OK;
    int64_t n = e->n - e->sources;
    double *count = NULL;

    if (e->x->whole) FERRY_TRY(ferry_i_ranks_count(ctx, &n));
    *out = b->goal == FERRY_REGRESS ? n >= LEAST * FOLDS
                                    : b->goal == FERRY_CLASSIFY && n >= LEAST * b->k;
    if (!*out || b->goal == FERRY_REGRESS) goto done;
    FERRY_NEW(ctx, count, b->k);
    for (int64_t i = e->sources; i < e->n; i++)
        count[e->cls[i]]++;
    FERRY_TRY(ferry_i_sum_rows(ctx, e->x, b->k, count));
    for (int64_t c = 0; c < b->k; c++)
        *out = *out && count[c] >= LEAST;
done:
    ferry_i_free(count);
    return st;
}

/* The rows of fold f, or all others. `out` is cleared by the caller in any case. */
static ferry_status take(ferry_ctx *ctx, const examples *e, const int32_t *fold, int f,
                         bool inside, examples *out)
{
    ferry_status st = FERRY_OK;
    int64_t *row = NULL, n = 0;

    FERRY_NEW(ctx, row, e->n);
    for (int64_t i = 0; i < e->n; i++)
        if ((fold[i] == f) == inside) row[n++] = i;
    *out = (examples){.n = n, .sources = inside ? 0 : e->sources};
    FERRY_TRY(ferry_i_matrix_take(ctx, e->x, n, row, e->x->cols, NULL, &out->x));
    FERRY_TRY(ferry_i_rows_like(ctx, e->x, out->x));
    if (e->cls) FERRY_NEW(ctx, out->cls, n);
    if (e->num) FERRY_NEW(ctx, out->num, n);
    for (int64_t i = 0; i < n; i++) {
        if (e->cls) out->cls[i] = e->cls[row[i]];
        if (e->num) out->num[i] = e->num[row[i]];
    }
done:
    ferry_i_free(row);
    return st;
}

/* How good the scores are for each row of fold f; larger is better. */
static void judge(const base *b, const examples *test, const ferry_block *scores,
                  const int32_t *fold, int f, double *worth)
{
    for (int64_t i = 0, e = 0; i < test->n; i++, e++) {
        const double *s = FERRY_ROW(scores, i);
        int32_t best = 0;
        while (fold[e] != f)
            e++;
        for (int64_t c = 1; c < b->k; c++)
            if (s[c] > s[best]) best = (int32_t)c;
        worth[e] = test->cls ? best == test->cls[i]
                             : -(s[0] - test->num[i]) * (s[0] - test->num[i]);
    }
}

/* Whether a value is better than the usual one: of numbers by more than a standard error, since fifteen of them tell
 * little. (Made-up lines of 6 to 60 columns, seed 78: as good as the best of three on the mean, and where the usual
 * value is right it costs a third as much.) */
static bool is_better(const base *b, double n, const gain *g)
{
    return g->sum > 0 && (b->goal != FERRY_REGRESS ||
                          g->sum * g->sum * (n - 1) > n * g->squares - g->sum * g->sum);
}

/* What the rows of the target gain by another value than the usual one, over all ranks. */
static ferry_status add_gains(ferry_ctx *ctx, const examples *e, const double *worth,
                              double *rows, gain *g)
{
    *rows = (double)(e->n - e->sources);
    for (int64_t v = 0; v < VALUES; v++)
        for (int64_t i = e->sources; i < e->n; i++) {
            const double d = worth[v * e->n + i] - worth[i];
            g[v].good += worth[v * e->n + i];
            g[v].sum += d;
            g[v].squares += d * d;
        }
    const ferry_status st = ferry_i_sum_rows(ctx, e->x, 1, rows);
    return st == FERRY_OK ? ferry_i_sum_rows(ctx, e->x, 3 * VALUES, &g->good) : st;
}

/* Folds of the target's rows, those of all ranks dealt together. */
static ferry_status deal(ferry_ctx *ctx, const choice *c, int32_t *fold)
{
    ferry_status st = FERRY_OK;
    const examples *e = c->e;
    int64_t n = e->n - e->sources, from = 0, to = 0;
    int32_t *cls = NULL, *all = NULL;

    if (e->x->whole) FERRY_TRY(ferry_i_ranks_count(ctx, &n));
    FERRY_NEW(ctx, cls, n);
    FERRY_NEW(ctx, all, n);
    ferry_i_ranks_part(ctx, n, &from, &to);
    for (int64_t i = from; e->cls && i < to; i++)
        cls[i] = e->cls[e->sources + i - from];
    FERRY_TRY(ferry_i_ranks_gather(ctx, n, sizeof *cls, cls));
    FERRY_TRY(ferry_i_folds(ctx, c->method, n, e->cls ? cls : NULL, FOLDS, all));
    for (int64_t i = 0; i < e->n; i++) /* sources teach in every fold */
        fold[i] = i < e->sources ? -1 : all[from + i - e->sources];
done:
    FERRY_FREE(cls, all);
    return st;
}

ferry_status ferry_i_choose(ferry_ctx *ctx, const choice *c, double *out)
{
    ferry_status st = FERRY_OK;
    int32_t *fold = NULL;
    examples part = {0}, test = {0};
    ferry_block *scores = NULL;
    gain gains[VALUES] = {{0}};
    double *worth = NULL, rows = 0; /* values x rows; of all ranks */
    bool can = false;

    *out = c->value[0];
    FERRY_TRY(enough(ctx, c->b, c->e, &can));
    if (!can) goto done;
    FERRY_NEW(ctx, fold, c->e->n);
    FERRY_NEW(ctx, worth, c->e->n * VALUES);
    const examples *e = c->e;
    FERRY_TRY(deal(ctx, c, fold));
    for (int f = 0; f < FOLDS; f++) {
        ferry_i_examples_clear(&part);
        ferry_i_examples_clear(&test);
        ferry_i_free(scores);
        scores = NULL;
        FERRY_TRY(take(ctx, c->e, fold, f, false, &part));
        FERRY_TRY(take(ctx, c->e, fold, f, true, &test));
        FERRY_TRY(ferry_i_block_new(ctx, test.n, c->b->k, &scores));
        for (int64_t v = 0; v < VALUES; v++) {
            FERRY_TRY(c->scores(ctx, c->how, c->value[v], c->b, &part, test.x, scores));
            judge(c->b, &test, scores, fold, f, worth + v * e->n);
        }
    }
    FERRY_TRY(add_gains(ctx, e, worth, &rows, gains));
    for (int64_t v = 0, best = 0; v < VALUES; v++)
        if (gains[v].good > gains[best].good && is_better(c->b, rows, &gains[v])) {
            best = v;
            *out = c->value[v];
        }
done:
    ferry_i_examples_clear(&part);
    ferry_i_examples_clear(&test);
    FERRY_FREE(scores, fold, worth);
    return st;
}
