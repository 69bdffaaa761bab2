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
#include "learn/ranksvm.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The weights while they are learned: feature by feature, the labels padded to fours, so
 * that a stored entry of x meets its weights side by side. With a mean mu to take off,
 * W = w - c mu', which leaves w as sparse as the rows that made it. */
typedef struct trainer {
    const ferry_ctx *ctx; /* its engine has the loops that take the time */
    matrix x;
    const double *mean;
    int64_t m, wide; /* labels, and padded */
    double scale, mean2;
    double gap;     /* that the steps of this epoch have found */
    int64_t *order; /* n: the instances as the epoch takes them */
    ferry_rng rng;
    double *w, *bias, *c, *w_mean; /* d x wide, aligned; wide each: biases, c, w mu */
    double *x_mean, *norm2;        /* n each: x_i'mu, |scaled and extended x_i|^2 */
    double *s, *add;               /* wide each: scores, sum of da */
    double *s_no, *add_no;         /* the same of the labels that an instance lacks */
    int64_t *start;                /* n + 1: pairs of instance i */
    double *a;                     /* pairs */
    int32_t *label,
        *n_yes; /* n x m: an instance's labels, then the others; n: how many it has */
} trainer;

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
    const int64_t n = t->x.n;
    double total = 0;

    for (int64_t j = 0; t->mean && j < t->x.cols; j++)
        t->mean2 += t->mean[j] * t->mean[j];
    for (int64_t i = 0; i < n; i++) {
        const ferry_row r = row_at(t->x, i);
        double square = 0, along = 0;
        for (int64_t e = 0; e < r.n; e++) {
            square += r.value[e] * r.value[e];
            if (t->mean) along += r.value[e] * t->mean[r.index ? r.index[e] : e];
        }
        t->x_mean[i] = along;
        t->norm2[i] = fmax(square - 2 * along + t->mean2, 0);
        total += t->norm2[i] / (double)n;
    }
    t->scale = scale && total > 0 ? 1 / sqrt(total) : 1;
    for (int64_t i = 0; i < n; i++)
        t->norm2[i] = t->scale * t->scale * t->norm2[i] + 1;
}

/* All memory of a fit: the dual has one number for each pair of a label that an instance has
 * and one that it lacks, and that is what grows (n m^2 / 4 at worst). */
static trainer trainer_new(scope *s, matrix x, const double *mean, int64_t m,
                           const uint8_t *on, const ranker_options *o)
{
    const int64_t wide = (m + 3) / 4 * 4, n = x.n;
    trainer t = {.ctx = scope_ctx(s), .x = x, .mean = mean, .m = m, .wide = wide};
    double *w = NEW(s, double, x.cols *wide + 8), *vectors = NEW(s, double, 7 * wide);

    t.w = w + (64 - (uintptr_t)w % 64) % 64 / sizeof *w; /* a line of the cache begins */
    double **part[] = {&t.bias, &t.c, &t.w_mean, &t.s, &t.add, &t.s_no, &t.add_no};
    for (int64_t i = 0; i < FERRY_COUNT(part); i++)
        *part[i] = vectors + i * wide;
    t.x_mean = NEW(s, double, n);
    t.norm2 = NEW(s, double, n);
    t.start = NEW(s, int64_t, n + 1);
    t.label = NEW(s, int32_t, n * m);
    t.n_yes = NEW(s, int32_t, n);
    t.order = NEW(s, int64_t, n);
    ferry_i_rng_seed(&t.rng, 1, 0); /* always the same orders: no seed changes the result */
    for (int64_t i = 0; i < n; i++) {
        const int64_t count = count_on(on + i * m, m);
        int32_t *yes = t.label + i * m, *no = yes + count;
        for (int64_t q = 0; q < m; q++) {
            const int32_t k = o->label ? o->label[q] : (int32_t)q;
            *(on[i * m + k] ? yes++ : no++) = k;
        }
        t.n_yes[i] = (int32_t)count;
        t.order[i] = o->order ? o->order[i] : i;
        /* |Y_i| |N_i| pairs; none for an instance with no or all labels */
        t.start[i + 1] = t.start[i] + count * (m - count);
    }
    t.a = NEW(s, double, t.start[n]);
    measure(&t, o->scale);
    return t;
}

/* s <- W [scale (x_i - mean); 1].
 * With W = w - c mu' (the mean not in w): W (x - mu) = w x - w mu - c (mu'x - mu'mu). w
 * mu is w_mean, mu'x_i is x_mean[i], so the row stays sparse. Padding gives scores
 * nobody reads. */
static void scores_of(const trainer *t, int64_t i, double *s)
{
    const ferry_row r = row_at(t->x, i);

    ferry_e(t->ctx)->row_mul(t->ctx, r.n, r.value, r.index, t->w, t->wide, s);
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
    const ferry_row r = row_at(t->x, i);

    for (int64_t k = 0; k < t->wide; k++) {
        t->bias[k] += t->add[k];
        t->add[k] *= t->scale;
        if (!t->mean) continue;
        t->c[k] += t->add[k];
        t->w_mean[k] += t->add[k] * t->x_mean[i];
    }
    ferry_e(t->ctx)->row_add(t->ctx, r.n, r.value, r.index, t->w, t->wide, t->add);
}

/* All pairs of instance i.
 * The scores are computed once and then kept up through the pairs: a step on (k, l)
 * moves s_k and s_l by da |x_i|^2 and no other score. The scores of the labels that are
 * off lie side by side (s_no), which is what the engine's loop over them wants. */
static void step(trainer *t, int64_t i, double C)
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

/* W as the model keeps it: label by label, mean worked in. */
static block weights_of(scope *keep, const trainer *t)
{
    const int64_t d = t->x.cols;
    const block w = block_new(keep, HERE(t->m), t->m, d + 1);

    for (int64_t k = 0; k < t->m; k++) {
        for (int64_t j = 0; j < d; j++)
            ROW(w, k)[j] = t->w[j * t->wide + k] - (t->mean ? t->c[k] * t->mean[j] : 0);
        ROW(w, k)[d] = t->bias[k];
    }
    return w;
}

/* Value of the primal problem for scores f.
 * 1/2 |W|^2 + C sum_i loss_i / (|Y_i| |N_i|), in O(pairs): reported, not used to stop. */
static double primal(const trainer *t, block w, block f, double C)
{
    const int64_t m = t->m;
    double value = 0;

    for (int64_t e = 0; e < w.n * w.k; e++)
        value += w.at[e] * w.at[e] / 2;
    for (int64_t i = 0; i < f.n; i++) {
        const double *s = ROW(f, i);
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
double best_threshold(int64_t m, const double *f, const uint8_t *y, double *scratch)
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
static void least_squares(scope *s, small f, small t, double *coef)
{
    ferry_ctx *ctx = scope_ctx(s);
    const ferry_engine *e = ferry_e(ctx);
    const int64_t n = f.rows, k = f.cols, r = n < k ? n : k;
    const bool tall = n > k;
    ferry_small of = small_ref(f), left = small_ref(t), out = {k, 1, coef};
    ferry_small square = small_ref(small_new(s, k, k)), qt = small_ref(small_new(s, k, 1));
    ferry_small u = small_ref(small_new(s, tall ? k : n, r)),
                v = small_ref(small_new(s, k, r)), ut = small_ref(small_new(s, r, 1));
    double *sigma = NEW(s, double, r);

    if (tall) { /* F = Q R, and only R is split */
        scope_check(s, e->qr(ctx, &of, &square));
        e->gemm(ctx, true, false, 1, &of, &left, 0, &qt);
    }
    scope_check(s, e->svd(ctx, tall ? &square : &of, &u, sigma, &v));
    e->gemm(ctx, true, false, 1, &u, tall ? &qt : &left, 0, &ut);
    for (int64_t j = 0; j < r; j++) {
        /* the usual cut: below it a singular value cannot be told from 0 */
        const double least = DBL_EPSILON * (double)(n > k ? n : k) * sigma[0];
        ut.data[j] = sigma[j] > least ? ut.data[j] / sigma[j] : 0;
    }
    e->gemm(ctx, false, false, 1, &v, &ut, 0, &out);
}

/* t(x) = sum_k theta_k f_k(x) + theta_m; n x (m + 1) numbers, by SVD. */
void fit_threshold(scope *s, block scores, const uint8_t *on, double *threshold)
{
    const int64_t mark = scope_mark(s), n = scores.n, m = scores.k;

    if (n == 0 || m == 0) return;
    const small f = small_new(s, n, m + 1), t = small_new(s, n, 1);
    double *scratch = NEW(s, double, 2 * m);
    for (int64_t i = 0; i < n; i++) {
        const double *row = ROW(scores, i);
        for (int64_t k = 0; k < m; k++)
            AT(f, i, k) = row[k];
        AT(f, i, m) = 1;
        t.at[i] = best_threshold(m, row, on + i * m, scratch);
    }
    least_squares(s, f, t, threshold);
    scope_release(s, mark);
}

/* An instance may get no label at all, or all: only the threshold decides. */
void ranker_decide(int64_t m, const double *threshold, const double *f, uint8_t *set)
{
    double t = threshold[m];

    for (int64_t k = 0; k < m; k++)
        t += threshold[k] * f[k];
    for (int64_t k = 0; k < m; k++)
        set[k] = f[k] > t;
}

/* ---- the learner ---- */

/* Scale and mean are worked into the weights once, so that sparse rows stay sparse.
 * f = W [scale (x - mean); 1] = (scale W) x + (bias - scale W mean). mean must be that of
 * the fit, or NULL as there. */
void ranker_scores(scope *s, const ranker *r, matrix x, const double *mean, block out)
{
    const int64_t mark = scope_mark(s), d = x.cols, m = r->w.n;
    const block w = block_new(s, HERE(d), d, m); /* scale worked in */
    double *bias = NEW(s, double, m);

    assert(r->w.k == d + 1 && out.k == m);
    for (int64_t k = 0; k < m; k++) {
        const double *from = ROW(r->w, k);
        bias[k] = from[d];
        for (int64_t j = 0; j < d; j++) {
            const double to = ROW(w, j)[k] = r->scale * from[j];
            if (mean) bias[k] -= to * mean[j];
        }
    }
    mul(s, x, w, out);
    for (int64_t i = 0; i < out.n; i++)
        for (int64_t k = 0; k < m; k++)
            ROW(out, i)[k] += bias[k];
    scope_release(s, mark);
}

/* One epoch; the gap that its steps found, relative to that of W = 0. 0: no pair moved. */
static double epoch(trainer *t, const ranker_options *o)
{
    const int64_t n = t->x.n;
    int64_t learn = 0; /* instances with pairs */

    if (o->shuffle) ferry_i_rng_shuffle(&t->rng, n, t->order);
    t->gap = 0;
    for (int64_t e = 0; e < n; e++) {
        const int64_t i = t->order[e];
        step(t, i, o->C);
        learn += t->start[i + 1] > t->start[i];
    }
    return learn > 0 ? t->gap / (o->C * (double)learn) : 0;
}

/* Epochs over all instances until the gap is o->tol or less, o->epochs of them, or progress says
 * so. The threshold and the objective come from the scores of the final weights, on the
 * training rows. Memory: one number for each pair, m weights for each feature. */
ranker ranker_fit(scope *s, scope *keep, const ranker_options *o, matrix x,
                  const double *mean, int64_t m, const uint8_t *on)
{
    ranker r = {.gap = INFINITY, .threshold = NEW(keep, double, m + 1)};
    trainer t = trainer_new(s, x, mean, m, on, o);

    while (r.epochs < o->epochs && r.gap > o->tol && !r.finish) {
        r.gap = epoch(&t, o);
        r.epochs++;
        r.finish = progress(s, "ranksvm", r.epochs, o->epochs, NAN);
    }
    r.scale = t.scale;
    r.w = weights_of(keep, &t);
    const block f = block_new(s, x.rows, x.n, m);
    ranker_scores(s, &r, x, mean, f);
    r.objective = primal(&t, r.w, f, o->C);
    fit_threshold(s, f, on, r.threshold);
    return r;
}

/* ---- features of their own for each label ---- */

/* As above, but that x_i of label k is z_ik: a step on (k, l) is a <- clip(a - (s_k - s_l - 1) / (|z_ik|^2 + |z_il|^2)),
 * s_k += da |z_ik|^2, s_l -= da |z_il|^2. */
typedef struct own_trainer {
    int64_t m;
    const int32_t *label; /* m: their order */
    const block *z;
    double *const *w, *b;
    double *s, *add,
        *norm2; /* m each: of the instance at hand; norm2 with the constant feature */
    double gap;
} own_trainer;

/* s and norm2 of instance i. */
static void own_scores(own_trainer *t, int64_t i)
{
    for (int64_t k = 0; k < t->m; k++) {
        const double *z = ROW(t->z[k], i);
        t->s[k] = t->b[k];
        t->norm2[k] = 1;
        t->add[k] = 0;
        for (int64_t j = 0; j < t->z[k].k; j++) {
            t->s[k] += t->w[k][j] * z[j];
            t->norm2[k] += z[j] * z[j];
        }
    }
}

/* All pairs of instance i; a: theirs, |Y_i| |N_i| = pairs of them. */
static void own_step(own_trainer *t, int64_t i, const uint8_t *on, int64_t pairs, double C,
                     double *a)
{
    const double most_a = C / (double)pairs;

    own_scores(t, i);
    for (int64_t p = 0; p < t->m; p++)
        for (int64_t q = 0; on[t->label[p]] && q < t->m; q++) {
            const int32_t k = t->label[p], l = t->label[q];
            if (on[l]) continue;
            const double g = t->s[k] - t->s[l] - 1;
            const double to = fmin(fmax(*a - g / (t->norm2[k] + t->norm2[l]), 0), most_a);
            const double da = to - *a;
            t->gap += *a * g + most_a * fmax(-g, 0);
            *a++ = to;
            t->s[k] += da * t->norm2[k];
            t->s[l] -= da * t->norm2[l];
            t->add[k] += da;
            t->add[l] -= da;
        }
    for (int64_t k = 0; k < t->m; k++) {
        t->b[k] += t->add[k];
        for (int64_t j = 0; t->add[k] != 0 && j < t->z[k].k; j++)
            t->w[k][j] += t->add[k] * ROW(t->z[k], i)[j];
    }
}

void ranker_fit_own(scope *s, const ranker_options *o, int64_t m, const block *z,
                    const uint8_t *on, double *const *w, double *b)
{
    const int64_t mark = scope_mark(s), n = m > 0 ? z[0].n : 0;
    own_trainer t = {.m = m,
                     .z = z,
                     .w = w,
                     .b = b,
                     .s = NEW(s, double, m),
                     .add = NEW(s, double, m),
                     .norm2 = NEW(s, double, m)};
    int64_t *order = NEW(s, int64_t, n), *start = NEW(s, int64_t, n + 1), learn = 0;
    int32_t *label = NEW(s, int32_t, m);
    double gap = INFINITY;
    bool finish = false;
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 1, 0);
    for (int64_t k = 0; k < m; k++)
        label[k] = o->label ? o->label[k] : (int32_t)k;
    t.label = label;
    for (int64_t i = 0; i < n; i++) {
        const int64_t yes = count_on(on + i * m, m);
        order[i] = o->order ? o->order[i] : i;
        start[i + 1] = start[i] + yes * (m - yes);
        learn += start[i + 1] > start[i];
    }
    double *a = NEW(s, double, start[n]);
    for (int64_t e = 0; e < o->epochs && gap > o->tol && learn > 0 && !finish; e++) {
        t.gap = 0;
        if (o->shuffle) shuffle(&rng, n, order);
        for (int64_t r = 0; r < n; r++) {
            const int64_t i = order[r], pairs = start[i + 1] - start[i];
            if (pairs > 0) own_step(&t, i, on + i * m, pairs, o->C, a + start[i]);
        }
        gap = t.gap / (o->C * (double)learn);
        finish = progress(s, "ranksvm", e + 1, o->epochs, NAN);
    }
    scope_release(s, mark);
}
