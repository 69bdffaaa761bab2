/* What each scored instance adds to a metric that is no mean over rows: its pseudo-value
 *
 *   n M - (n - 1) M_-i,     shifted so that the mean over the instances is M,
 *
 * with M_-i the metric without it (Tukey's jackknife). The common ones come from counts in O(n) or
 * O(n log n). Any other metric is computed again without each row, or, from BLOCKS rows on, without
 * each of BLOCKS blocks; what a block differs by is then its rows', times the root of their number,
 * so that the variance of the mean is the blocks'. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "run/run.h"

enum { BLOCKS = 400 };

/* Move numbers so that their mean is `mean`. */
static void shift(int64_t n, double mean, double *x)
{
    const double by = mean - ferry_i_mean(n, x);

    for (int64_t i = 0; i < n; i++)
        x[i] += by;
}

/* `without` holds M_-i on entry; what is not defined without a row does not depend on it. */
static void to_pseudo(int64_t n, double full, double *without)
{
    for (int64_t i = 0; i < n; i++) {
        const double m = isfinite(without[i]) ? without[i] : full;
        without[i] = (double)n * full - (double)(n - 1) * m;
    }
    shift(n, full, without);
}

/* ---- classes ---- */

typedef struct tally {
    double truth, predicted, both;
} tally;

/* One class's part of macro-F1 or (found) balanced accuracy; NaN: it does not count. */
static double class_part(tally c, bool found)
{
    const double of = found ? c.truth : c.truth + c.predicted;

    return of > 0 ? (found ? 1 : 2) * c.both / of : NAN;
}

/* The mean over classes with class c replaced: *sum and *count are changed by what differs. */
static void replace(tally before, tally after, bool found, double *sum, double *count)
{
    const double x = class_part(before, found), y = class_part(after, found);

    *sum += (isnan(y) ? 0 : y) - (isnan(x) ? 0 : x);
    *count += !isnan(y) - !isnan(x);
}

static ferry_status class_rows(ferry_ctx *ctx, const ferry_scored *s, bool found,
                               double *without)
{
    ferry_status st = FERRY_OK;
    tally *c = NULL;
    double sum = 0, count = 0;

    FERRY_NEW(ctx, c, s->k);
    for (int64_t i = 0; i < s->n; i++) {
        const int32_t t = s->truth_cls[i], p = s->cls[i];
        c[t].truth++;
        if (p < 0 || p >= s->k) continue;
        c[p].predicted++;
        c[t].both += p == t;
    }
    for (int64_t k = 0; k < s->k; k++)
        replace((tally){0}, c[k], found, &sum, &count);
    for (int64_t i = 0; i < s->n; i++) {
        const int32_t t = s->truth_cls[i], p = s->cls[i];
        tally less = c[t];
        double own_sum = sum, own_count = count;
        less.truth--;
        less.predicted -= p == t;
        less.both -= p == t;
        replace(c[t], less, found, &own_sum, &own_count);
        if (p != t && p >= 0 && p < s->k) {
            less = c[p];
            less.predicted--;
            replace(c[p], less, found, &own_sum, &own_count);
        }
        without[i] = own_count > 0 ? own_sum / own_count : NAN;
    }
done:
    ferry_i_free(c);
    return st;
}

static ferry_status f1_rows(ferry_ctx *ctx, const ferry_scored *s, double *without)
{
    return class_rows(ctx, s, false, without);
}

static ferry_status balanced_rows(ferry_ctx *ctx, const ferry_scored *s, double *without)
{
    return class_rows(ctx, s, true, without);
}

/* ---- clusters ---- */

typedef struct keyed {
    uint64_t key;
    int64_t at;
} keyed;

static int by_key(const void *a, const void *b)
{
    const keyed *x = a, *y = b;

    return (x->key > y->key) - (x->key < y->key);
}

static double xlogx(double x)
{
    return x > 0 ? x * log(x) : 0;
}

/* Of n keys: size[i] of i's group; the sum of m log m over the groups comes back. */
static double group_sizes(int64_t n, keyed *key, double *size)
{
    double sum = 0;

    qsort(key, (size_t)n, sizeof *key, by_key);
    for (int64_t i = 0, j = 0; i < n; i = j) {
        while (j < n && key[j].key == key[i].key)
            j++;
        for (int64_t l = i; l < j; l++)
            size[key[l].at] = (double)(j - i);
        sum += xlogx((double)(j - i));
    }
    return sum;
}

/* Entropies without a row: H = log m - (sum of g log g) / m over m = n - 1 rows, where the sum
 * changes in the row's own group. */
static ferry_status nmi_rows(ferry_ctx *ctx, const ferry_scored *s, double *without)
{
    ferry_status st = FERRY_OK;
    const double m = (double)(s->n - 1);
    keyed *key = NULL;
    double *size = NULL, sum[3];

    FERRY_NEW(ctx, key, s->n);
    FERRY_NEW(ctx, size, 3 * s->n);
    for (int side = 0; side < 3; side++) {
        for (int64_t i = 0; i < s->n; i++) {
            const uint64_t a = (uint32_t)s->truth_cls[i], b = (uint32_t)s->cls[i];
            key[i] = (keyed){side == 0 ? a : side == 1 ? b : a << 32 | b, i};
        }
        sum[side] = group_sizes(s->n, key, size + side * s->n);
    }
    for (int64_t i = 0; i < s->n && s->n > 1; i++) {
        double h[3];
        for (int side = 0; side < 3; side++) {
            const double g = size[side * s->n + i];
            h[side] = log(m) - (sum[side] - xlogx(g) + xlogx(g - 1)) / m;
        }
        const double mutual = h[0] + h[1] - h[2];
        without[i] = h[0] + h[1] < 1e-13 ? 1
                     : mutual < 1e-14    ? 0
                                         : fmin(1, 2 * mutual / (h[0] + h[1]));
    }
done:
    ferry_i_free(key);
    ferry_i_free(size);
    return st;
}

/* ---- numbers ---- */

static ferry_status rmse_rows(ferry_ctx *ctx, const ferry_scored *s, double *without)
{
    double sum = 0;

    (void)ctx;
    for (int64_t i = 0; i < s->n; i++)
        sum += (s->value[i] - s->truth[i]) * (s->value[i] - s->truth[i]);
    for (int64_t i = 0; i < s->n; i++) {
        const double e = s->value[i] - s->truth[i];
        without[i] = sqrt(fmax(0, sum - e * e) / (double)(s->n - 1));
    }
    return FERRY_OK;
}

/* ---- order ---- */

/* Of one class: right[i] is how many (positive, other) pairs that i is in are in the right order,
 * equals by half: its rank among all less that among its own side. x: scores, rank: scratch of 2n. */
static ferry_status right_pairs(ferry_ctx *ctx, const ferry_scored *s, int32_t cls,
                                const double *x, double *rank, double *right, double *found)
{
    ferry_status st = FERRY_OK;
    double *side = NULL;

    *found = 0;
    FERRY_NEW(ctx, side, s->n);
    FERRY_TRY(ferry_i_mean_ranks(ctx, s->n, x, rank));
    for (int positive = 0; positive < 2; positive++) {
        int64_t n = 0, k = 0;
        for (int64_t i = 0; i < s->n; i++)
            if ((s->truth_cls[i] == cls) == positive) side[n++] = x[i];
        FERRY_TRY(ferry_i_mean_ranks(ctx, n, side, rank + s->n));
        for (int64_t i = 0; i < s->n; i++) {
            if ((s->truth_cls[i] == cls) != positive) continue;
            const double below = rank[i] - rank[s->n + k++];
            right[i] = positive ? below : (double)(s->n - n) - below;
            if (positive) *found += below;
        }
    }
done:
    ferry_i_free(side);
    return st;
}

static ferry_status auc_rows(ferry_ctx *ctx, const ferry_scored *s, double *without)
{
    ferry_status st = FERRY_OK;
    double *x = NULL, *rank = NULL, *right = NULL, *classes = NULL, found = 0;

    FERRY_NEW(ctx, x, s->n);
    FERRY_NEW(ctx, rank, 2 * s->n);
    FERRY_NEW(ctx, right, s->n);
    FERRY_NEW(ctx, classes, s->n);
    memset(without, 0, (size_t)s->n * sizeof *without);
    for (int32_t c = s->k == 2; c < s->k; c++) {
        double p = 0;
        for (int64_t i = 0; i < s->n; i++) {
            const double *f = s->score + i * s->k;
            x[i] = s->k == 2 ? f[1] - f[0] : f[c];
            p += s->truth_cls[i] == c;
        }
        const double others = (double)s->n - p;
        if (p == 0 || others == 0) continue;
        FERRY_TRY(right_pairs(ctx, s, c, x, rank, right, &found));
        for (int64_t i = 0; i < s->n; i++) {
            const bool own = s->truth_cls[i] == c;
            const double pairs = (p - own) * (others - !own);
            if (pairs == 0) continue;
            without[i] += (found - right[i]) / pairs;
            classes[i]++;
        }
    }
    for (int64_t i = 0; i < s->n; i++)
        without[i] = classes[i] > 0 ? without[i] / classes[i] : NAN;
done:
    FERRY_FREE(x, rank, right, classes);
    return st;
}

/* ---- any metric ---- */

/* The parts of a row, moved from `from` to `to`. */
typedef struct copy {
    ferry_scored s;
    int32_t *truth_cls, *cls;
    int32_t *user, *item;
    double *truth, *value, *score;
    uint8_t *truth_set, *set;
} copy;

static void put(copy *c, const ferry_scored *s, int64_t from, int64_t to)
{
    const int64_t width = s->dims > 0 ? s->dims : s->k;

    if (s->truth_cls) c->truth_cls[to] = s->truth_cls[from];
    if (s->cls) c->cls[to] = s->cls[from];
    if (s->user) c->user[to] = s->user[from];
    if (s->item) c->item[to] = s->item[from];
    if (s->truth) c->truth[to] = s->truth[from];
    if (s->value) c->value[to] = s->value[from];
    if (s->score)
        memcpy(c->score + to * width, s->score + from * width,
               (size_t)width * sizeof *c->score);
    if (!s->truth_set) return;
    memcpy(c->truth_set + to * s->k, s->truth_set + from * s->k, (size_t)s->k);
    memcpy(c->set + to * s->k, s->set + from * s->k, (size_t)s->k);
}

static ferry_status room_for(ferry_ctx *ctx, const ferry_scored *s, copy *c)
{
    ferry_status st = FERRY_OK;
    const int64_t width = s->dims > 0 ? s->dims : s->k;

    FERRY_NEW(ctx, c->truth_cls, s->truth_cls ? s->n : 1);
    FERRY_NEW(ctx, c->cls, s->cls ? s->n : 1);
    FERRY_NEW(ctx, c->user, s->user ? s->n : 1);
    FERRY_NEW(ctx, c->item, s->item ? s->n : 1);
    FERRY_NEW(ctx, c->truth, s->truth ? s->n : 1);
    FERRY_NEW(ctx, c->value, s->value ? s->n : 1);
    FERRY_NEW(ctx, c->score, s->score ? s->n * width : 1);
    FERRY_NEW(ctx, c->truth_set, s->truth_set ? s->n * s->k : 1);
    FERRY_NEW(ctx, c->set, s->set ? s->n * s->k : 1);
    c->s = *s;
    if (s->truth_cls) c->s.truth_cls = c->truth_cls;
    if (s->cls) c->s.cls = c->cls;
    if (s->user) c->s.user = c->user;
    if (s->item) c->s.item = c->item;
    if (s->truth) c->s.truth = c->truth;
    if (s->value) c->s.value = c->value;
    if (s->score) c->s.score = c->score;
    if (s->truth_set) c->s.truth_set = c->truth_set;
    if (s->set) c->s.set = c->set;
done:
    return st;
}

static void free_copy(copy *c)
{
    FERRY_FREE(c->truth_cls, c->cls, c->user, c->item, c->truth, c->value, c->score,
               c->truth_set, c->set);
}

/* The block of each scored row, the same in every repeat: by its place in the target. */
static void blocks_of(const ferry_scored *s, const uint8_t *mask, int64_t blocks,
                      int64_t *block)
{
    for (int64_t i = 0, to = 0; to < s->n; i++)
        if (!mask || mask[i]) {
            block[to] = blocks == s->n ? to : i % blocks;
            to++;
        }
}

static ferry_status any_rows(ferry_ctx *ctx, const ferry_metric *m, const ferry_scored *s,
                             const uint8_t *mask, double full, double *row)
{
    ferry_status st = FERRY_OK;
    const int64_t blocks = s->n < BLOCKS ? s->n : BLOCKS;
    double *without = NULL;
    int64_t *block = NULL;
    copy c = {0};

    FERRY_NEW(ctx, without, blocks);
    FERRY_NEW(ctx, block, s->n);
    FERRY_TRY(room_for(ctx, s, &c));
    blocks_of(s, mask, blocks, block);
    for (int64_t b = 0; b < blocks; b++) {
        c.s.n = 0;
        for (int64_t i = 0; i < s->n; i++)
            if (block[i] != b) put(&c, s, i, c.s.n++);
        without[b] = full;
        if (c.s.n > 0 && c.s.n < s->n)
            FERRY_TRY(ferry_i_metric_value(ctx, m, &c.s, NULL, &without[b]));
    }
    to_pseudo(blocks, full, without);
    const double root = sqrt((double)s->n / (double)blocks);
    for (int64_t i = 0; i < s->n; i++)
        row[i] = full + root * (without[block[i]] - full);
    shift(s->n, full, row);
done:
    free_copy(&c);
    FERRY_FREE(without, block);
    return st;
}

/* ---- all ---- */

ferry_status ferry_i_pseudo_rows(ferry_ctx *ctx, const ferry_metric *m,
                                 const ferry_scored *s, const uint8_t *mask, double full,
                                 double *row)
{
    static const struct {
        const char *name;
        ferry_status (*without)(ferry_ctx *ctx, const ferry_scored *s, double *without);
    } counted[] = {{"macro-f1", f1_rows},
                   {"balanced-accuracy", balanced_rows},
                   {"nmi", nmi_rows},
                   {"auc", auc_rows},
                   {"rmse", rmse_rows}};
    ferry_status st = FERRY_OK;

    for (int64_t i = 0; i < s->n; i++)
        row[i] = full;
    if (!isfinite(full)) goto done;
    for (int64_t i = 0; i < FERRY_COUNT(counted) && s->truth_set == NULL; i++)
        if (strcmp(counted[i].name, m->info.name) == 0) {
            FERRY_TRY(counted[i].without(ctx, s, row));
            to_pseudo(s->n, full, row);
            goto done;
        }
    FERRY_TRY(any_rows(ctx, m, s, mask, full, row));
done:
    return st;
}
