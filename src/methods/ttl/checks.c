/* Whether the labels of a domain settle, and how (trip.h).
 *
 * Words always do (docs/methods/ttl.md); the halves of the features choose between two
 * strengths. Other views settle where their rows crowd (dense.c), which is right where classes
 * are clusters and ruinous where they are not. Three checks that use no label of the domain,
 * all of which must hold:
 *
 *   stable   kappa of the labels settled in two random halves of the features >= 0.9
 *   clusters fid x stable > kappa of the labels carried through the two halves. fid: on the
 *            domain that taught this one, take its labels by cross-validation, settle them,
 *            once as they are and once with 30 % of them wrong; the smaller kappa with its
 *            own labels. Settling must find the classes where these are known
 *   names    kappa of the settled labels with argmax(log G - column means of log G) >=
 *            max(0.25, 4 / sqrt n): carried labels freed of what they think is frequent
 *            still call the clusters by these names
 *
 * That the settled halves agree with each other says nothing by itself: two halves find the same
 * clusters even where these are not the classes. And nothing here can see a start that is worse
 * than chance: settling makes it worse. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "methods/ttl/trip.h"

static const double STABLE = 0.9, FLIPPED = 0.3, NAMES = 0.25;

/* How often a word counts in a domain of n instances: sharp labels need many. */
static double usual_beta(const trip *t, int64_t n)
{
    const double beta = t->o->beta > 0 ? t->o->beta : 6;

    return fmin(beta, fmax(fmin(1, beta), beta * (double)n / 800));
}

static ttl_settle_options settle_options(const trip *t, double beta)
{
    return (ttl_settle_options){.beta = beta,
                                .eta = t->o->eta,
                                .iterations = t->o->settle_steps,
                                .tol = t->o->settle_tol};
}

/* ---- views that are not words ---- */

/* Settle the rows of x in the columns of keep from g; m (NULL: not wanted) on all columns. */
static ferry_status settle_round(ferry_ctx *ctx, const ferry_matrix *x, const uint8_t *keep,
                                 const int32_t *known, ferry_block *g, ttl_mixture *m)
{
    ferry_status st = FERRY_OK;
    ferry_matrix *cut = NULL;
    int64_t *kept = NULL;
    ttl_axes a = {0};
    ttl_mixture own = {0};

    FERRY_TRY(ferry_i_columns_cut(ctx, x, keep, false, &cut, &kept));
    FERRY_TRY(ferry_i_axes(ctx, cut, &a));
    FERRY_TRY(ferry_i_settle_dense(ctx, &a, known, g, m ? &own : NULL));
    if (!m) goto done;
    FERRY_TRY(ferry_i_block_new(ctx, x->cols, g->k, &m->l));
    for (int64_t j = 0; j < cut->cols; j++)
        memcpy(FERRY_ROW(m->l, kept[j]), FERRY_ROW(own.l, j),
               (size_t)g->k * sizeof(double));
    FERRY_MOVE(m->log_pi, own.log_pi);
done:
    ferry_i_matrix_free(cut);
    ferry_i_free(kept);
    ferry_i_axes_clear(&a);
    ferry_i_mixture_clear(&own);
    return st;
}

typedef struct ranked {
    uint64_t key;
    int64_t column;
} ranked;

static int by_key(const void *a, const void *b)
{
    const ranked *x = a, *y = b;

    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return (x->column > y->column) - (x->column < y->column);
}

/* half[j] <- 1 or 2 for the used columns, 0 for others, by chance: in the order of a hash of
 * what features are called. */
static ferry_status random_halves(ferry_ctx *ctx, const trip *t, int64_t i, uint8_t *half)
{
    ferry_status st = FERRY_OK;
    uint8_t *used = NULL;
    ranked *all = NULL;
    int64_t n = 0;
    char buf[256];

    FERRY_NEW(ctx, all, t->b->cols);
    FERRY_TRY(ferry_i_bridge_used(ctx, t->b, i, &used));
    for (int64_t j = 0; j < t->b->cols; j++) {
        const char *name = ferry_i_bridge_column(t->b, j, buf, sizeof buf);
        if (used[j]) all[n++] = (ranked){XXH3_64bits(name, strlen(name)), j};
    }
    if (n > 0) qsort(all, (size_t)n, sizeof *all, by_key);
    for (int64_t j = 0; j < n; j++)
        half[all[j].column] = j % 2 == 0 ? 1 : 2;
done:
    FERRY_FREE(used, all);
    return st;
}

/* What settling makes of labels that are known: the smaller kappa with y of cross-validated
 * labels of place j that settled, as they are and with some of them wrong. */
static ferry_status fidelity_of(ferry_ctx *ctx, const trip *t, int64_t j, const int32_t *y,
                                const uint8_t *within, double C, double *fid)
{
    ferry_status st = FERRY_OK;
    const int64_t n = t->b->place[j].n, c = t->b->c;
    int64_t *rows = NULL, m = 0;
    int32_t *truth = NULL, *label = NULL;
    ferry_block *g = NULL, *start = NULL;
    ferry_matrix *x = NULL, *cut = NULL;
    ttl_axes a = {0};

    *fid = 0;
    FERRY_NEW(ctx, rows, n);
    FERRY_NEW(ctx, truth, n);
    FERRY_NEW(ctx, label, n);
    for (int64_t r = 0; r < n; r++)
        if (y[r] >= 0) truth[m] = y[r], rows[m++] = r;
    FERRY_TRY(ferry_i_trip_rows(ctx, t->at[j].x, m, rows, false, &x));
    if (ferry_i_all_rows(x) < 2) goto done;
    FERRY_TRY(ferry_i_block_new(ctx, n, c, &g));
    FERRY_TRY(ferry_i_block_new(ctx, m, c, &start));
    FERRY_TRY(ferry_i_trip_folds(ctx, t, j, y, within, C, g));
    FERRY_TRY(ferry_i_columns_cut(ctx, x, within, false, &cut, NULL));
    FERRY_TRY(ferry_i_axes(ctx, cut, &a));
    *fid = 1;
    for (int wrong = 0; wrong < 2; wrong++) {
        double kappa = 0;
        for (int64_t r = 0; r < m; r++)
            memcpy(FERRY_ROW(start, r), FERRY_ROW(g, rows[r]), (size_t)c * sizeof(double));
        ferry_i_winners(start, label, NULL);
        for (int64_t r = 0; wrong && r < m; r++) {
            const uint64_t h = ferry_i_trip_hash(t, j, rows[r]);
            const bool flip = (double)(h >> 11) * 0x1p-53 < FLIPPED;
            const int64_t to = label[r] + (flip ? 1 + (int64_t)(h % (uint64_t)(c - 1)) : 0);
            for (int64_t k = 0; k < c; k++)
                FERRY_ROW(start, r)[k] = (double)(k == to % c);
        }
        FERRY_TRY(ferry_i_settle_dense(ctx, &a, NULL, start, NULL));
        ferry_i_winners(start, label, NULL);
        FERRY_TRY(ferry_i_kappa(ctx, m, label, truth, c, &kappa));
        *fid = fmin(*fid, kappa);
    }
done:
    FERRY_FREE(rows, truth, label, g, start);
    ferry_i_matrix_free(x);
    ferry_i_matrix_free(cut);
    ferry_i_axes_clear(&a);
    return st;
}

/* The same of what taught place i: the domain before it that shares columns with it, with the
 * labels it got, else the sources, by their rows. */
static ferry_status fidelity(ferry_ctx *ctx, const trip *t, int64_t i, double *fid)
{
    ferry_status st = FERRY_OK;
    const ttl_bridge *b = t->b;
    uint8_t *used = NULL, *within = NULL;
    int32_t *y = NULL;
    double sum = 0, rows = 0;

    FERRY_TRY(ferry_i_bridge_used(ctx, b, i, &used));
    for (int64_t j = i - 1; j >= 0 && (rows == 0 || j < b->n_sources); j--) {
        const ttl_place *p = &b->place[j];
        bool any = false;
        double one = 0;
        FERRY_FREE(within, y);
        within = NULL;
        FERRY_TRY(ferry_i_bridge_used(ctx, b, j, &within));
        for (int64_t k = 0; k < b->cols; k++)
            any = (within[k] = within[k] && used[k]) || any;
        if (!any || (j >= b->n_sources && rows > 0)) continue;
        FERRY_NEW(ctx, y, p->n);
        ferry_i_winners(t->at[j].g, y, NULL);
        if (j < b->n_sources) memcpy(y, p->known, (size_t)p->n * sizeof *y);
        FERRY_TRY(fidelity_of(ctx, t, j, y, within, t->at[i].C, &one));
        sum += one * (double)p->all;
        rows += (double)p->all;
        if (j >= b->n_sources) break;
    }
    *fid = rows > 0 ? sum / rows : 0;
done:
    FERRY_FREE(used, within, y);
    return st;
}

/* kappa of labels of x's rows with those that G gives when all classes are thought equally frequent. */
static ferry_status names_kept(ferry_ctx *ctx, const ferry_matrix *x,
                               const ferry_block *carried, const ferry_block *settled,
                               double *kappa)
{
    ferry_status st = FERRY_OK;
    const int64_t n = carried->rows, c = carried->k;
    ferry_block *free_of = NULL;
    int32_t *y = NULL;
    double *mean = NULL;

    FERRY_NEW(ctx, mean, c);
    FERRY_NEW(ctx, y, 2 * n);
    FERRY_TRY(ferry_i_block_new(ctx, n, c, &free_of));
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < c; k++) {
            FERRY_ROW(free_of, i)[k] = log(fmax(FERRY_ROW(carried, i)[k], 1e-12));
            mean[k] += FERRY_ROW(free_of, i)[k] / (double)ferry_i_all_rows(x);
        }
    FERRY_TRY(ferry_i_sum_rows(ctx, x, c, mean));
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < c; k++)
            FERRY_ROW(free_of, i)[k] -= mean[k];
    ferry_i_winners(settled, y, NULL);
    ferry_i_winners(free_of, y + n, NULL);
    FERRY_TRY(ferry_i_kappa(ctx, n, y, y + n, c, kappa));
done:
    FERRY_FREE(mean, y, free_of);
    return st;
}

/* ---- the halves ---- */

/* The labels of place i from the columns of one half alone: carried, and settled from
 * there. */
static ferry_status half_labels(ferry_ctx *ctx, const trip *t, int64_t i, double beta,
                                const uint8_t *within, int32_t *carried, int32_t *settled)
{
    ferry_status st = FERRY_OK;
    const ttl_place *p = &t->b->place[i];
    const ttl_settle_options so = settle_options(t, beta);
    ttl_carried m = {0};
    ferry_matrix *x = NULL;
    ferry_block *g = NULL;

    FERRY_TRY(ferry_i_block_new(ctx, p->n, t->b->c, &g));
    FERRY_TRY(ferry_i_trip_carry(ctx, t, i, within, &m, g));
    ferry_i_winners(g, carried, NULL);
    if (beta == 0) goto done;
    if (!t->at[i].words) {
        FERRY_TRY(settle_round(ctx, t->at[i].x, within, p->known, g, NULL));
        ferry_i_winners(g, settled, NULL);
        goto done;
    }
    FERRY_TRY(ferry_i_columns_cut(ctx, t->at[i].x, within, ferry_i_bridge_lengths(t->b), &x,
                                  NULL));
    FERRY_TRY(ferry_i_settle(ctx, &so, x, p->known, g, NULL, NULL, NULL));
    ferry_i_winners(g, settled, NULL);
done:
    ferry_i_carried_clear(&m);
    ferry_i_matrix_free(x);
    ferry_i_free(g);
    return st;
}

/* Of `parts` labellings of p's n rows, one after the other, keep the rows without a known
 * label; returns how many these are. */
static int64_t unknown_rows(const ttl_place *p, int64_t parts, int32_t *y)
{
    int64_t to = 0;

    for (int64_t i = 0; i < parts * p->n; i++)
        if (p->known[i % p->n] < 0) y[to++] = y[i];
    return to / parts;
}

/* kappa of two labellings of the m rows of place i without a known label; 0 where it is within two
 * deviations of what chance gives so few rows, when known ones were left out. */
static ferry_status agreement(ferry_ctx *ctx, const trip *t, int64_t i, int64_t m,
                              const int32_t *a, const int32_t *b, double *kappa)
{
    const ttl_place *p = &t->b->place[i];
    const ferry_status st = ferry_i_kappa(ctx, m, a, b, t->b->c, kappa);

    if (p->labelled > 0 && *kappa < 2 / sqrt((double)(p->all - p->labelled))) *kappa = 0;
    return st;
}

/* How far the two halves of place i's features agree when settled with beta (0: not at
 * all). Where every label is known there is nothing to ask: they agree. */
static ferry_status split_halves(ferry_ctx *ctx, const trip *t, int64_t i, double beta,
                                 halves *out)
{
    ferry_status st = FERRY_OK;
    const ttl_place *p = &t->b->place[i];
    const int64_t n = p->n, cols = t->b->cols;
    const ferry_matrix *x = t->at[i].x;
    int32_t *y = ferry_i_calloc(4 * n, sizeof *y);
    uint8_t *half = ferry_i_calloc(2 * cols, sizeof *half), *within = half + cols;
    double one = 0, other = 0;

    *out = p->labelled == p->all ? (halves){.carried = 1, .settled = 1, .crossed = 1}
                                 : (halves){0};
    if (!y || !half) FERRY_TRY(ferry_i_nomem(ctx));
    if (p->labelled == p->all) goto done;
    if (t->at[i].words)
        FERRY_TRY(ferry_i_halves(ctx, 1, &x, cols, half));
    else
        FERRY_TRY(random_halves(ctx, t, i, half));
    for (int h = 0; h < 2; h++) {
        for (int64_t j = 0; j < cols; j++)
            within[j] = half[j] == h + 1;
        FERRY_TRY(half_labels(ctx, t, i, beta, within, y + h * n, y + (2 + h) * n));
    }
    const int64_t m = unknown_rows(p, 4, y);
    FERRY_TRY(agreement(ctx, t, i, m, y, y + m, &out->carried));
    if (beta == 0) goto done;
    FERRY_TRY(agreement(ctx, t, i, m, y + 2 * m, y + 3 * m, &out->settled));
    FERRY_TRY(agreement(ctx, t, i, m, y + 2 * m, y + m, &one));
    FERRY_TRY(agreement(ctx, t, i, m, y + 3 * m, y, &other));
    out->crossed = 0.5 * (one + other);
done:
    if (st == FERRY_OK) FERRY_MOVE(out->y, y);
    FERRY_FREE(y, half);
    return st;
}

/* Whether and how sharply the words of place i settle, by the agreement of its halves. beta = 1
 * is taken where its halves agree better and the crossed agreement is not clearly worse: it
 * suits topics, also in unequal classes, and would lose opinions. */
static ferry_status settle_words(ferry_ctx *ctx, const trip *t, int64_t i, ttl_mixture *m)
{
    ferry_status st = FERRY_OK;
    const ttl_options *o = t->o;
    const ttl_place *p = &t->b->place[i];
    stop *s = &t->at[i];
    const bool last = i == t->b->n_places - 1;
    bool choose;
    halves mild = {0};

    s->beta = o->settle != TTL_SETTLE_NO ? usual_beta(t, p->all) : 0;
    choose = o->beta == 0 && s->beta > 1;
    if (!last || o->trust || choose) FERRY_TRY(split_halves(ctx, t, i, s->beta, &s->half));
    if (choose) FERRY_TRY(split_halves(ctx, t, i, 1, &mild));
    if (choose && mild.settled > s->half.settled &&
        mild.crossed > s->half.crossed - 2 / sqrt((double)(p->all - p->labelled))) {
        s->beta = 1;
        ferry_i_free(s->half.y);
        s->half = mild;
        mild.y = NULL;
    }
    s->settled = s->beta > 0;
    if (s->settled) {
        const ttl_settle_options so = settle_options(t, s->beta);
        FERRY_TRY(ferry_i_settle(ctx, &so, s->x, p->known, s->g, m, NULL, NULL));
    }
done:
    ferry_i_free(mild.y);
    return st;
}

/* The three checks, the dearest last; what settled becomes the labels if they hold. */
static ferry_status settle_others(ferry_ctx *ctx, const trip *t, int64_t i, ttl_mixture *m)
{
    ferry_status st = FERRY_OK;
    const ttl_options *o = t->o;
    const ttl_place *p = &t->b->place[i];
    stop *s = &t->at[i];
    const bool can = o->settle != TTL_SETTLE_NO && p->all > 0 && p->labelled < p->all,
               ask = o->settle == TTL_SETTLE_AUTO;
    ttl_mixture own = {0};
    ferry_block *g = NULL;
    uint8_t *used = NULL;

    FERRY_TRY(split_halves(ctx, t, i, can, &s->half));
    if (can) s->stable = s->half.settled;
    if (!can || (ask && s->stable < STABLE)) goto done;
    FERRY_TRY(ferry_i_block_new(ctx, p->n, t->b->c, &g));
    ferry_i_block_copy(s->g, g);
    FERRY_TRY(ferry_i_bridge_used(ctx, t->b, i, &used));
    FERRY_TRY(settle_round(ctx, s->x, used, p->known, g, &own));
    FERRY_TRY(names_kept(ctx, s->x, s->g, g, &s->names));
    s->settled = !ask || s->names >= fmax(NAMES, 4 / sqrt((double)p->all));
    if (ask && s->settled) {
        FERRY_TRY(fidelity(ctx, t, i, &s->fid));
        s->settled = s->fid * s->stable > s->half.carried;
    }
    if (!s->settled) goto done;
    ferry_i_block_copy(g, s->g);
    *m = own;
    own = (ttl_mixture){0};
done:
    ferry_i_mixture_clear(&own);
    FERRY_FREE(g, used);
    return st;
}

ferry_status ferry_i_trip_settle(ferry_ctx *ctx, const trip *t, int64_t i, ttl_mixture *m)
{
    stop *s = &t->at[i];

    s->stable = s->names = s->fid = NAN;
    s->words = true;
    for (int64_t v = 0; v < t->b->prepared->n_spaces; v++)
        if (t->b->place[i].has[v])
            s->words = s->words && ferry_i_space_wordlike(&t->b->prepared->space[v]);
    FERRY_PASS((s->words ? settle_words : settle_others)(ctx, t, i, m));
    if (!s->settled) s->half.settled = s->half.carried;
    return FERRY_OK;
}
