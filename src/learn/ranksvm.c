/* RankSVM: score every label so that an instance's own labels come before the others.
 *
 *   min  1/2 sum_k |w_k|^2
 *        + C sum_i 1/(|Y_i||N_i|) sum_{k in Y_i, l in N_i} max(0, 1 - (w_k - w_l)x_i)
 *
 * Y_i are the labels of instance i, N_i the others, x_i ends in a constant 1 (so the bias
 * is regularised). Dual coordinate descent: one a_ikl in [0, C/(|Y_i||N_i|)] per pair, and
 * with s = W x_i known a step is a <- clip(a - (s_k - s_l - 1) / (2|x_i|^2)),  s_k += da
 * |x_i|^2,  s_l -= da |x_i|^2. W changes once per instance, so an epoch costs O(m nnz(X) +
 * pairs). Pairs go by k, then l; instances in the order of the rows or, better, in a new one for
 * each epoch: in one order W always leans towards the instances that come last, and ten times as
 * many epochs are needed (2500 pictures of Corel5k on 50 latent features, distance from the
 * minimum: 4e-4 of it after 100 epochs by rows, after 5 shuffled).
 *
 * When to stop: with g = s_k - s_l - 1 the duality gap is the sum over pairs of a g + most
 * max(0, -g), none of which is below 0, and 0 where a step changes nothing. Each step adds what
 * it finds: the sum over an epoch costs nothing and is close to the gap itself when epochs are
 * shuffled (up to 20 times smaller when not). At W = 0 the gap is C for each instance that has
 * pairs; relative to that it says how much the mean loss of an instance may still fall.
 *
 * How many labels: t_i is the best threshold of f(x_i), and t(x) is fitted to them by least
 * squares on [f(x), 1], the shortest solution, since the w_k add up to 0 and so do the f_k.
 *
 * Elisseeff and Weston, A Kernel Method for Multi-Labelled Classification, NIPS 2001.
 *
 * The dual of the problem has a_ikl >= 0 for each pair and w_k = sum over pairs of +-
 * a_ikl x_i, so w is kept up by adding a row of x whenever the a of its pairs have
 * changed. */
#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/learn.h"
#include "learn/rows.h"

/* The weights while they are learned: feature by feature, the labels padded to fours, so
 * that a stored entry of x meets its weights side by side. With a mean mu to take off,
 * W = w - c mu', which leaves w as sparse as the rows that made it. */
typedef struct trainer {
    const ferry_ctx *ctx; /* its engine has the loops that take the time */
    const ferry_matrix *x;
    const double *mean;
    int64_t m, wide; /* labels, and padded */
    double scale, mean2;
    double gap;     /* that the steps of this epoch have found */
    int64_t *order; /* n: the instances as the epoch takes them */
    ferry_rng rng;
    double *w, *bias, *c, *w_mean; /* d x wide; wide each: biases, c, w mu */
    double *w_room;         /* where w lies, at the beginning of a line of the cache */
    double *x_mean, *norm2; /* n each: x_i'mu, |scaled and extended x_i|^2 */
    double *s, *add;        /* wide each: scores, sum of da */
    double *s_no, *add_no;  /* the same of the labels that an instance lacks */
    int64_t *start;         /* n + 1: pairs of instance i */
    double *a;              /* pairs */
    int32_t *label,
        *n_yes; /* n x m: an instance's labels, then the others; n: how many it has */
} trainer;

/* Row i of x: its entries, and their columns when it is sparse.
 * Borrowed from x; the number of entries. */
static int64_t row_of(const ferry_matrix *x, int64_t i, const double **v,
                      const int32_t **index)
{
    const int64_t from = row_begin(x, i);

    *v = row_values(x) + from;
    *index = x->dense ? NULL : x->index + from;
    return row_end(x, i) - from;
}

static void trainer_clear(trainer *t)
{
    FERRY_FREE(t->w_room, t->bias, t->x_mean, t->start, t->a, t->label, t->n_yes, t->order);
}

/* How many of the m labels are on. */
static int64_t count_on(const uint8_t *on, int64_t m)
{
    int64_t count = 0;

    for (int64_t k = 0; k < m; k++)
        count += on[k] != 0;
    return count;
}

/* Lengths of the rows less the mean, and from them the scale.
 * |x - mu|^2 = |x|^2 - 2 x'mu + |mu|^2, so that a sparse row costs its entries; rounding
 * may take it below 0. The 1 at the end is the constant feature of the bias. */
static void measure(trainer *t, bool scale)
{
    const ferry_matrix *x = t->x;
    const double *v = row_values(x);
    double total = 0;

    for (int64_t j = 0; t->mean && j < x->cols; j++)
        t->mean2 += t->mean[j] * t->mean[j];
    for (int64_t i = 0; i < x->rows; i++) {
        double sum = 0, along = 0;
        for (int64_t e = row_begin(x, i); e < row_end(x, i); e++) {
            sum += v[e] * v[e];
            if (t->mean) along += v[e] * t->mean[row_column(x, i, e)];
        }
        t->x_mean[i] = along;
        t->norm2[i] = fmax(sum - 2 * along + t->mean2, 0);
        total += t->norm2[i] / (double)x->rows;
    }
    t->scale = scale && total > 0 ? 1 / sqrt(total) : 1;
    for (int64_t i = 0; i < x->rows; i++)
        t->norm2[i] = t->scale * t->scale * t->norm2[i] + 1;
}

/* All memory of a fit: the dual has one number for each pair of a label that an instance has
 * and one that it lacks, and that is what grows (n m^2 / 4 at worst). */
static ferry_status trainer_init(ferry_ctx *ctx, trainer *t, const ferry_matrix *x,
                                 const double *mean, int64_t m, const uint8_t *on,
                                 bool scale)
{
    ferry_status st = FERRY_OK;
    const int64_t wide = (m + 3) / 4 * 4, n = x->rows;

    *t = (trainer){.ctx = ctx, .x = x, .mean = mean, .m = m, .wide = wide};
    FERRY_NEW(ctx, t->w_room, x->cols * wide + 8);
    t->w = t->w_room + (64 - (uintptr_t)t->w_room % 64) % 64 / sizeof *t->w;
    FERRY_NEW(ctx, t->bias, 7 * wide);
    FERRY_NEW(ctx, t->x_mean, 2 * n);
    FERRY_NEW(ctx, t->start, n + 1);
    FERRY_NEW(ctx, t->label, n * m);
    FERRY_NEW(ctx, t->n_yes, n);
    FERRY_NEW(ctx, t->order, n);
    ferry_i_rng_seed(&t->rng, 1,
                     0); /* always the same orders: no seed changes the result */
    /* seven arrays of `wide` in one piece: bias, c, w_mean, s, add, s_no, add_no */
    t->c = t->bias + wide;
    t->w_mean = t->c + wide;
    t->s = t->w_mean + wide;
    t->add = t->s + wide;
    t->s_no = t->add + wide;
    t->add_no = t->s_no + wide;
    t->norm2 = t->x_mean + n;
    for (int64_t i = 0; i < n; i++) {
        const int64_t count = count_on(on + i * m, m);
        int32_t *yes = t->label + i * m, *no = yes + count;
        for (int64_t k = 0; k < m; k++)
            *(on[i * m + k] ? yes++ : no++) = (int32_t)k;
        t->n_yes[i] = (int32_t)count;
        t->order[i] = i;
        /* |Y_i| |N_i| pairs; none for an instance with no or all labels */
        t->start[i + 1] = t->start[i] + count * (m - count);
    }
    FERRY_NEW(ctx, t->a, t->start[n]);
    measure(t, scale);
done:
    return st;
}

/* s <- W [scale (x_i - mean); 1].
 * With W = w - c mu' (the mean not in w): W (x - mu) = w x - w mu - c (mu'x - mu'mu). w
 * mu is w_mean, mu'x_i is x_mean[i], so the row stays sparse. Padding gives scores
 * nobody reads. */
static void scores_of(const trainer *t, int64_t i, double *s)
{
    const double *v;
    const int32_t *index;
    const int64_t n = row_of(t->x, i, &v, &index);

    ferry_e(t->ctx)->row_mul(t->ctx, n, v, index, t->w, t->wide, s);
    for (int64_t k = 0; t->mean && k < t->wide; k++)
        s[k] -= t->w_mean[k] + t->c[k] * (t->x_mean[i] - t->mean2);
    for (int64_t k = 0; k < t->wide; k++)
        s[k] = t->scale * s[k] + t->bias[k];
}

/* W += add [scale (x_i - mean); 1]'.
 * w += scale add x_i' and c += scale add, which together are W += scale add (x_i - mu)';
 * w mu moves along by scale add (x_i'mu), so it is never computed anew. */
static void update(trainer *t, int64_t i)
{
    const double *v;
    const int32_t *index;
    const int64_t n = row_of(t->x, i, &v, &index);

    for (int64_t k = 0; k < t->wide; k++) {
        t->bias[k] += t->add[k];
        t->add[k] *= t->scale;
        if (!t->mean) continue;
        t->c[k] += t->add[k];
        t->w_mean[k] += t->add[k] * t->x_mean[i];
    }
    ferry_e(t->ctx)->row_add(t->ctx, n, v, index, t->w, t->wide, t->add);
}

/* All pairs of instance i.
 * The scores are computed once and then kept up through the pairs: a step on (k, l)
 * moves s_k and s_l by da |x_i|^2 and no other score. The scores of the labels that are
 * off lie side by side (s_no), which is what the engine's loop over them wants. */
static void visit(trainer *t, int64_t i, double C)
{
    const double norm2 = t->norm2[i];
    const int64_t pairs = t->start[i + 1] - t->start[i];
    const double most = C / (double)pairs;
    double *a = t->a + t->start[i], *s_no = t->s_no, *add_no = t->add_no;
    const int64_t n_yes = t->n_yes[i], n_no = t->m - n_yes;
    const int32_t *yes = t->label + i * t->m, *no = yes + n_yes;
    bool moved = false;

    if (pairs == 0) return;
    scores_of(t, i, t->s);
    memset(t->add, 0, (size_t)t->wide * sizeof *t->add);
    for (int64_t q = 0; q < n_no; q++) {
        s_no[q] = t->s[no[q]];
        add_no[q] = 0;
    }
    for (int64_t p = 0; p < n_yes; p++) {
        const int32_t k = yes[p];
        /* label k against all that are off: a of these pairs, s_no and add_no move, the
         * sum of da comes back */
        const ferry_label_pairs pairs_of_k = {n_no, t->s[k], norm2, most};
        t->add[k] = ferry_e(t->ctx)->pair_steps(t->ctx, &pairs_of_k, a + p * n_no, s_no,
                                                add_no, &t->gap);
        moved = moved || t->add[k] != 0;
    }
    for (int64_t q = 0; q < n_no; q++) {
        t->add[no[q]] = add_no[q];
        moved = moved || add_no[q] != 0;
    }
    if (moved) update(t, i);
}

/* W as the model keeps it: label by label, mean worked in.
 * The caller's r owns w (m x (d + 1)) and room for the threshold. */
static ferry_status keep(ferry_ctx *ctx, const trainer *t, ferry_ranksvm *r)
{
    ferry_status st = FERRY_OK;
    const int64_t d = t->x->cols;

    r->m = t->m;
    r->d = d;
    r->scale = t->scale;
    FERRY_NEW(ctx, r->w, t->m * (d + 1));
    FERRY_NEW(ctx, r->threshold, t->m + 1);
    for (int64_t k = 0; k < t->m; k++) {
        for (int64_t j = 0; j < d; j++)
            r->w[k * (d + 1) + j] =
                t->w[j * t->wide + k] - (t->mean ? t->c[k] * t->mean[j] : 0);
        r->w[k * (d + 1) + d] = t->bias[k];
    }
done:
    return st;
}

/* Value of the primal problem for scores f.
 * 1/2 |W|^2 + C sum_i loss_i / (|Y_i| |N_i|), in O(pairs): reported, not used to stop. */
static double primal(const trainer *t, const ferry_ranksvm *r, const ferry_block *f,
                     double C)
{
    const int64_t m = r->m;
    double value = 0;

    for (int64_t e = 0; e < m * (r->d + 1); e++)
        value += r->w[e] * r->w[e] / 2;
    for (int64_t i = 0; i < f->rows; i++) {
        const double *s = FERRY_ROW(f, i);
        const int64_t n_yes = t->n_yes[i], n_no = m - n_yes;
        const int32_t *yes = t->label + i * m, *no = yes + n_yes;
        double loss = 0;
        for (int64_t q = 0; q < n_no; q++)
            t->s_no[q] = s[no[q]];
        for (int64_t p = 0; p < n_yes; p++)
            for (int64_t q = 0; q < n_no; q++) {
                const double miss = 1 - (s[yes[p]] - t->s_no[q]);
                loss += miss > 0 ? miss : 0;
            }
        if (loss > 0) value += C * loss / (double)(n_yes * n_no);
    }
    return value;
}

/* ---- how many labels ---- */

/* Pairs (score, label), by score.
 * Equal scores are never separated below, so their order does not matter. */
static int by_score(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* By score; few labels, as there mostly are, without a call for each comparison. */
static void sort_pairs(int64_t m, double *pair)
{
    enum { FEW = 64 };

    if (m > FEW) {
        qsort(pair, (size_t)m, 2 * sizeof *pair, by_score);
        return;
    }
    for (int64_t k = 1; k < m; k++) {
        const double score = pair[2 * k], label = pair[2 * k + 1];
        int64_t at = k;
        for (; at > 0 && pair[2 * at - 2] > score; at--) {
            pair[2 * at] = pair[2 * at - 2];
            pair[2 * at + 1] = pair[2 * at - 1];
        }
        pair[2 * at] = score;
        pair[2 * at + 1] = label;
    }
}

/* Between two scores so that the fewest labels are on the wrong side, the lowest of equals; one
 * walk over the sorted scores, O(m log m). */
double ferry_i_best_threshold(int64_t m, const double *f, const uint8_t *y, double *scratch)
{
    int64_t errors = 0, least;
    double best;

    assert(m > 0);
    for (int64_t k = 0; k < m; k++) {
        scratch[2 * k] = f[k];
        scratch[2 * k + 1] = y[k] != 0;
        errors += !y[k]; /* below all scores every label is on */
    }
    sort_pairs(m, scratch);
    least = errors;
    best = scratch[0] - 1;
    for (int64_t k = 0; k < m; k++) {
        /* the threshold moves above score k: its label is now off, right or wrong */
        const bool last = k == m - 1;
        errors += scratch[2 * k + 1] != 0 ? 1 : -1;
        /* no threshold separates equal scores */
        if (!last && scratch[2 * k + 2] == scratch[2 * k]) continue;
        if (errors >= least) continue;
        least = errors;
        best = last ? scratch[2 * k] + 1 : (scratch[2 * k] + scratch[2 * k + 2]) / 2;
    }
    return best;
}

/* coef <- the shortest solution of least squares F coef = t; F (n x k) and t destroyed.
 * By the singular values, of which those of rounding size are left out: the
 * pseudo-inverse V S^+ U'. A tall F is brought to k x k by QR first, which keeps its
 * singular values. */
static ferry_status least_squares(ferry_ctx *ctx, ferry_small *f, ferry_small *t,
                                  double *coef)
{
    ferry_status st = FERRY_OK;
    const ferry_engine *e = ferry_e(ctx);
    const int64_t n = f->rows, k = f->cols, r = n < k ? n : k;
    ferry_small *square = NULL, *u = NULL, *v = NULL, *qt = NULL, *ut = NULL;
    ferry_small out = {k, 1, coef};
    double *s = ferry_i_calloc(r, sizeof *s);
    const bool tall = n > k;

    FERRY_HAVE(ctx, s);
    FERRY_TRY(ferry_i_small_new(ctx, k, k, &square));
    FERRY_TRY(ferry_i_small_new(ctx, k, 1, &qt));
    if (tall) { /* F = Q R, and only R is split */
        FERRY_TRY(e->qr(ctx, f, square));
        e->gemm(ctx, true, false, 1, f, t, 0, qt);
    }
    FERRY_TRY(ferry_i_small_new(ctx, tall ? k : n, r, &u));
    FERRY_TRY(ferry_i_small_new(ctx, k, r, &v));
    FERRY_TRY(ferry_i_small_new(ctx, r, 1, &ut));
    FERRY_TRY(e->svd(ctx, tall ? square : f, u, s, v));
    e->gemm(ctx, true, false, 1, u, tall ? qt : t, 0, ut);
    for (int64_t j = 0; j < r; j++) {
        /* the usual cut: below it a singular value cannot be told from 0 */
        const double least = DBL_EPSILON * (double)(n > k ? n : k) * s[0];
        ut->data[j] = s[j] > least ? ut->data[j] / s[j] : 0;
    }
    e->gemm(ctx, false, false, 1, v, ut, 0, &out);
done:
    FERRY_FREE(ut, v, u, qt, square, s);
    return st;
}

/* threshold <- least squares of the best thresholds on [scores, 1].
 * t(x) = sum_k theta_k f_k(x) + theta_m; n x (m + 1) numbers, by SVD. */
static ferry_status fit_threshold(ferry_ctx *ctx, const ferry_block *scores,
                                  const uint8_t *on, ferry_ranksvm *r)
{
    ferry_status st = FERRY_OK;
    const int64_t n = scores->rows, m = r->m;
    ferry_small *f = NULL, *t = NULL;
    double *scratch = ferry_i_calloc(2 * m, sizeof *scratch);

    FERRY_HAVE(ctx, scratch);
    if (n == 0 || m == 0) goto done;
    FERRY_TRY(ferry_i_small_new(ctx, n, m + 1, &f));
    FERRY_TRY(ferry_i_small_new(ctx, n, 1, &t));
    for (int64_t i = 0; i < n; i++) {
        const double *s = FERRY_ROW(scores, i);
        for (int64_t k = 0; k < m; k++)
            FERRY_AT(f, i, k) = s[k];
        FERRY_AT(f, i, m) = 1;
        t->data[i] = ferry_i_best_threshold(m, s, on + i * m, scratch);
    }
    FERRY_TRY(least_squares(ctx, f, t, r->threshold));
done:
    FERRY_FREE(t, f, scratch);
    return st;
}

/* An instance may get no label at all, or all: only the threshold decides. */
void ferry_i_ranksvm_decide(const ferry_ranksvm *r, const double *f, uint8_t *set)
{
    double t = r->threshold[r->m];

    for (int64_t k = 0; k < r->m; k++)
        t += r->threshold[k] * f[k];
    for (int64_t k = 0; k < r->m; k++)
        set[k] = f[k] > t;
}

/* ---- the learner ---- */

/* Scale and mean are worked into the weights once, so that sparse rows stay sparse.
 * f = W [scale (x - mean); 1] = (scale W) x + (bias - scale W mean). x is n x d; mean
 * must be that of the fit, or NULL as there. */
ferry_status ferry_i_ranksvm_scores(ferry_ctx *ctx, const ferry_ranksvm *r,
                                    const ferry_matrix *x, const double *mean,
                                    ferry_block *scores)
{
    ferry_status st = FERRY_OK;
    const int64_t d = r->d;
    double *w = ferry_i_calloc(r->m * (d + 1), sizeof *w); /* scale and mean worked in */

    assert(x->cols == d && scores->k == r->m);
    FERRY_HAVE(ctx, w);
    for (int64_t k = 0; k < r->m; k++) {
        double *to = w + k * (d + 1);
        const double *from = r->w + k * (d + 1);
        to[d] = from[d];
        for (int64_t j = 0; j < d; j++) {
            to[j] = r->scale * from[j];
            if (mean) to[d] -= to[j] * mean[j];
        }
    }
    FERRY_TRY(ferry_i_linear_apply(ctx, x, r->m, w, scores));
done:
    ferry_i_free(w);
    return st;
}

/* One epoch; the gap that its steps found, relative to that of W = 0. 0: no pair moved. */
static double epoch(trainer *t, const ferry_ranksvm_options *o)
{
    const int64_t n = t->x->rows;
    int64_t learn = 0; /* instances with pairs */

    if (o->shuffle) ferry_i_rng_shuffle(&t->rng, n, t->order);
    t->gap = 0;
    for (int64_t e = 0; e < n; e++) {
        const int64_t i = t->order[e];
        visit(t, i, o->C);
        learn += t->start[i + 1] > t->start[i];
    }
    return learn > 0 ? t->gap / (o->C * (double)learn) : 0;
}

/* Epochs over all instances until the gap is o->tol or less, o->epochs of them, or progress says
 * so. The threshold and the objective come from the scores of the final weights, on the
 * training rows. Memory: one number for each pair, m weights for each feature. */
ferry_status ferry_i_ranksvm_fit(ferry_ctx *ctx, const ferry_ranksvm_options *o,
                                 const ferry_matrix *x, const double *mean, int64_t m,
                                 const uint8_t *on, ferry_ranksvm **out, bool *finish)
{
    ferry_status st = FERRY_OK;
    trainer t = {0};
    ferry_ranksvm *r = NULL;
    ferry_block *f = NULL;

    *out = NULL;
    *finish = false;
    FERRY_NEW(ctx, r, 1);
    FERRY_TRY(trainer_init(ctx, &t, x, mean, m, on, o->scale));
    r->gap = INFINITY;
    while (r->epochs < o->epochs && r->gap > o->tol && !*finish) {
        r->gap = epoch(&t, o);
        r->epochs++;
        FERRY_TRY(ferry_i_progress(ctx, "ranksvm", r->epochs, o->epochs, NAN, finish));
    }
    FERRY_TRY(keep(ctx, &t, r));
    FERRY_TRY(ferry_i_block_new(ctx, x->rows, m, &f));
    FERRY_TRY(ferry_i_ranksvm_scores(ctx, r, x, mean, f));
    r->objective = primal(&t, r, f, o->C);
    FERRY_TRY(fit_threshold(ctx, f, on, r));
    FERRY_MOVE(*out, r);
done:
    ferry_i_free(f);
    trainer_clear(&t);
    ferry_i_ranksvm_free(r);
    return st;
}

void ferry_i_ranksvm_free(ferry_ranksvm *r)
{
    if (!r) return;
    FERRY_FREE(r->w, r->threshold, r);
}
