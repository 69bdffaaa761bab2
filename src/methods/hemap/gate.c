/* How much of the mapped prediction to believe:
 *
 *   p = (1 - gamma) p_own + gamma p_mapped,   gamma in {0, 1/4, 1/2, 3/4, 1}
 *
 * by cross-validation on the labelled target rows. gamma = 0, no transfer, stays unless the
 * best other one gains more than `caution` standard errors of the gain, row by row: with a
 * few labels the least loss alone is noise, and picking it costs more than transfer brings.
 *
 * Why a gate at all: with nothing but labels to tie the sets, a regularised learner on the
 * target's own features was not beaten in the experiments; transfer must show its gain. */
#include <math.h>
#include <string.h>

#include "methods/hemap/hemap.h"

/* Fold of each labelled row, stratified, by place among the labelled rows (n_labelled). */
static ferry_status deal(ferry_ctx *ctx, const hemap_data *d, int64_t folds, int32_t *fold)
{
    ferry_status st = FERRY_OK;
    int32_t *cls = NULL;

    FERRY_NEW(ctx, cls, d->n_labelled);
    for (int64_t i = 0; !d->yn && i < d->n_labelled; i++)
        cls[i] = d->yc[d->labelled[i]];
    FERRY_TRY(ferry_i_folds(ctx, "hemap folds", d->n_labelled, cls, folds, fold));
done:
    ferry_i_free(cls);
    return st;
}

/* What all folds share, and what was said of each row by the fold that had not seen it. */
typedef struct trial {
    const hemap_data *d;
    const hemap_embedding *all; /* from all labels */
    const uint8_t *keep;
    int32_t *fold;             /* per labelled row */
    uint8_t *known;            /* per target row */
    ferry_block *own, *mapped; /* held-out scores per labelled row */
} trial;

/* Places of rows at[0..n). */
static ferry_status places(ferry_ctx *ctx, const ferry_block *z, int64_t n,
                           const int64_t *at, ferry_matrix **out)
{
    FERRY_PASS(ferry_i_matrix_dense(ctx, n, z->k, out));
    for (int64_t i = 0; i < n; i++)
        memcpy((*out)->dense + i * z->k, FERRY_ROW(z, at[i]),
               (size_t)z->k * sizeof *z->data);
    return FERRY_OK;
}

/* Learn without the rows at[0..n), ask about them. `known` (in t) hides the labels of these
 * rows from everything: the tie of the sets, both learners, and the translation of outputs.
 * own and mapped are n x k. */
static ferry_status hold_out(ferry_ctx *ctx, const trial *t, int64_t n, const int64_t *at,
                             ferry_block *own, ferry_block *mapped)
{
    ferry_status st = FERRY_OK;
    const hemap_data *d = t->d;
    hemap_embedding part = {0};
    const hemap_embedding *e = t->all;
    hemap_parts p = {0};
    ferry_matrix *x = NULL, *z = NULL;

    if (d->n_pairs == 0) { /* labels tie the sets: those held out must not */
        FERRY_TRY(ferry_i_hemap_embed(ctx, d, t->known, &part));
        e = &part;
    }
    FERRY_TRY(ferry_i_hemap_learn_own(ctx, d, t->known, &p));
    FERRY_TRY(ferry_i_matrix_pick(ctx, d->t, n, at, &x));
    FERRY_TRY(ferry_i_hemap_own_scores(ctx, &p, x, own));
    ferry_i_block_copy(own, mapped); /* where nothing ties the sets */
    if (e->ties == 0) goto done;
    FERRY_TRY(ferry_i_hemap_learn_mapped(ctx, d, t->known, e, t->keep, &p));
    FERRY_TRY(places(ctx, e->zt, n, at, &z));
    FERRY_TRY(ferry_i_hemap_mapped_scores(ctx, &p, z, mapped));
done:
    ferry_i_matrix_free(z);
    ferry_i_matrix_free(x);
    ferry_i_hemap_parts_clear(&p);
    ferry_i_hemap_embedding_clear(&part);
    return st;
}

/* Fold f: its rows are unknown, the others known. The fold's rows come in the order of the
 * labelled ones, so `row` walks along with l. */
static ferry_status run_fold(ferry_ctx *ctx, trial *t, int64_t f)
{
    ferry_status st = FERRY_OK;
    const hemap_data *d = t->d;
    int64_t *at = ferry_i_calloc(d->n_labelled, sizeof *at), n = 0, row = 0;
    ferry_block *own = NULL, *mapped = NULL;

    FERRY_HAVE(ctx, at);
    for (int64_t l = 0; l < d->n_labelled; l++) {
        t->known[d->labelled[l]] = t->fold[l] != f;
        if (t->fold[l] == f) at[n++] = d->labelled[l];
    }
    FERRY_TRY(ferry_i_block_new(ctx, n, d->k, &own));
    FERRY_TRY(ferry_i_block_new(ctx, n, d->k, &mapped));
    FERRY_TRY(hold_out(ctx, t, n, at, own, mapped));
    for (int64_t l = 0; l < d->n_labelled; l++) {
        if (t->fold[l] != f) continue;
        memcpy(FERRY_ROW(t->own, l), FERRY_ROW(own, row), (size_t)d->k * sizeof(double));
        memcpy(FERRY_ROW(t->mapped, l), FERRY_ROW(mapped, row++),
               (size_t)d->k * sizeof(double));
    }
done:
    FERRY_FREE(mapped, own, at);
    return st;
}

/* Error (0 or 1) or squared error of labelled row l under gamma. */
static double loss_of(const trial *t, int64_t l, double gamma)
{
    const hemap_data *d = t->d;
    const double *own = FERRY_ROW(t->own, l), *mapped = FERRY_ROW(t->mapped, l);
    int64_t best = 0;
    double most = -INFINITY;

    /* Numbers: squared error of the mixture. */
    if (d->yn) {
        const double r = (1 - gamma) * own[0] + gamma * mapped[0] - d->yn[d->labelled[l]];
        return r * r;
    }
    for (int64_t c = 0; c < d->k; c++) {
        const double p = (1 - gamma) * own[c] + gamma * mapped[c];
        if (p > most) {
            most = p;
            best = c;
        }
    }
    return best != d->yc[d->labelled[l]];
}

/* Gain of gamma over 0 in standard errors; 0 when there is none.
 *
 * t = mean / (s.d. / sqrt(n)) of the paired differences, one a row: rows that are hard for
 * both sides cancel. With all differences equal the gain is sure (infinite). */
static double gain_of(const trial *t, double gamma)
{
    double sum = 0, square = 0, n = 0, mean, var;

    for (int64_t l = 0; l < t->d->n_labelled; l++) {
        const double g = loss_of(t, l, 0) - loss_of(t, l, gamma);
        sum += g;
        square += g * g;
        n++;
    }
    mean = sum / n;
    if (mean <= 0) return 0;
    var = (square / n - mean * mean) / (n - 1);
    return var > 0 ? mean / sqrt(var) : INFINITY;
}

/* The gamma of least loss, if it gains enough. All five losses are told to the user, also
 * those that were not chosen. */
static void decide(const trial *t, hemap_gate *gate)
{
    const int64_t n = t->d->n_labelled;
    int best = 0;

    for (int g = 0; g < HEMAP_GAMMAS; g++) {
        gate->loss[g] = 0;
        for (int64_t l = 0; l < n; l++)
            gate->loss[g] += loss_of(t, l, g / (HEMAP_GAMMAS - 1.0)) / (double)n;
        if (gate->loss[g] < gate->loss[best]) best = g; /* ties to the smaller gamma */
    }
    gate->gamma = best / (HEMAP_GAMMAS - 1.0);
    if (gain_of(t, gate->gamma) <= t->d->o->caution) gate->gamma = 0;
}

/* Workspace of all folds; what was made is freed by trial_clear() also after a failure. */
static ferry_status trial_new(ferry_ctx *ctx, trial *t)
{
    ferry_status st = FERRY_OK;
    const hemap_data *d = t->d;

    FERRY_NEW(ctx, t->fold, d->n_labelled);
    FERRY_NEW(ctx, t->known, d->nt);
    FERRY_TRY(ferry_i_block_new(ctx, d->n_labelled, d->k, &t->own));
    FERRY_TRY(ferry_i_block_new(ctx, d->n_labelled, d->k, &t->mapped));
done:
    return st;
}

static void trial_clear(trial *t)
{
    FERRY_FREE(t->fold, t->known, t->own, t->mapped);
}

/* Costs one embedding (where labels tie the sets) and two learners a fold. n = 0 believes
 * all of the mapped answer, n = 1 none of it: nothing can be cross-validated. */
ferry_status ferry_i_hemap_choose(ferry_ctx *ctx, const hemap_data *d,
                                  const hemap_embedding *e, const uint8_t *keep,
                                  hemap_gate *gate)
{
    ferry_status st = FERRY_OK;
    const int64_t n = d->n_labelled, folds = d->o->folds < n ? d->o->folds : n;
    trial t = {.d = d, .all = e, .keep = keep};

    *gate = (hemap_gate){0};
    if (n == 0) gate->gamma = 1; /* nothing of its own to learn from */
    if (n < 2) goto done;
    FERRY_TRY(trial_new(ctx, &t));
    FERRY_TRY(deal(ctx, d, folds, t.fold));
    for (int64_t f = 0; f < folds; f++) {
        FERRY_TRY(run_fold(ctx, &t, f));
        FERRY_TRY(ferry_i_progress(ctx, "hemap", f + 1, folds + 1, NAN, &gate->finish));
        if (gate->finish) goto done; /* undecided: no transfer */
    }
    gate->folds = folds;
    decide(&t, gate);
done:
    trial_clear(&t);
    return st;
}
