/* hetomtl: rows of a target arrive one by one and want a class at once; labels follow late or never. Six experts on the
 * target's rows, mixed by logistic regression, and two learners of standardised rows beside them, with a detector of
 * drift.
 *
 * Maps of a row x: r = sign(x) sqrt|x|; u = x / |x|; s = r / |r|; q = unit((r - mean) / max(sd, a tenth of the average
 * sd)), over all rows seen, refreshed when their number has doubled, frozen once the basis is full (learn/kept_rows.h).
 *
 *   ur sr qr  ridge with kernel exp(-|a - b|^2 / h) on u, s, q; h the median squared distance of the offline rows
 *             (learn/kridge.h: exact up to `basis` labels, then bounded)
 *   s         ridge with kernel a'b + 0.1 on s
 *   ncm       cosine of s to the sum of each class
 *   pavg      averaged passive-aggressive learning on u
 *
 * Their scores are mixed (learn/mixer.h). A second mixer joins the mixture with softmax and kernel regression of
 * standardised rows (learn/partners.h), where rows are dense and have at most BESIDE columns. A late label uses the
 * scores from when the row was seen (votes).
 *
 * Drift: a detector outside the mix, sr on the newest 100 labels alone. Once the mixture's mistakes among them have
 * surely become more from some label on (two rates explain them by 8 units of log likelihood better than one), the
 * detector learns from what came since alone, and only that counts: older labels may hold no longer. When the mixture
 * has made at least 10 mistakes more than the detector, and three deviations of a fair coin more, everything begins
 * again from the rows after the change. Both are judged by what they say when the label comes: with late labels what
 * they said earlier would show a change too late.
 *
 * The method as published is hetomtl-paper. What its projection takes from a source are class counts alone (Pt spans the
 * same space for every source with these counts, a source of noise included), so nothing of the sources is read here.
 * Better than the published method on each of ten streams (docs/methods/hetomtl.md). */
#include <math.h>
#include <string.h>

#include "learn/folds.h"
#include "learn/kept_rows.h"
#include "learn/kridge.h"
#include "learn/mixer.h"
#include "learn/partners.h"
#include "learn/scale.h"
#include "model/seam.h"

enum { UR, SR, QR, S, NCM, PAVG, EXPERTS };
enum { SCORES = EXPERTS + PARTS };
enum { RIDGES = 4 };
enum { BASIS_MOST = 5000, BASIS = 600, MEDIAN_ROWS = 200 };
enum { NEWEST = 100 };  /* labels that the detector learns from */
enum { LEAST = 10 };    /* labels to begin again from, and mistakes more */
enum { SURE = 8 };      /* units of log likelihood that mistakes have become more */
enum { BOTH = 2 };      /* see `past` */
enum { MORE = 8 };      /* classes beyond those of the fit whose scores votes can hold */
enum { BESIDE = 2048 }; /* columns up to which the partners take part */
static const char *const expert_names[] = {"ur",  "sr",   "qr",     "s",
                                           "ncm", "pavg", "logreg", "kernel"};
static const int map_of[RIDGES] = {0, 1, 2, 1};

typedef struct hetomtl_options {
    int64_t basis;
} hetomtl_options;
static const ferry_opt hetomtl_opts[] = {
    FERRY_OPT(hetomtl_options, INT, basis, 0, 0, BASIS_MOST,
              "labels up to which ridges are exact, and the size of their basis "
              "afterwards; 0: 600, fewer above 2048 dense features"),
};

/* ---- the state ---- */

typedef struct hetomtl {
    int64_t k, m, n, n0; /* classes; basis: rows at most, rows, first ones */
    row_maps maps;
    moments z;        /* of r, over all rows seen */
    int64_t next;     /* refresh mean and sd when so many rows were seen */
    kept_row **basis; /* m */
    kridge ridge[RIDGES];
    double h[MAPS]; /* bandwidths */
    block sum;      /* classes x d: sums of s */
    pa pa;
    double w[EXPERTS], hess[EXPERTS * EXPERTS];
    partners *beside; /* NULL: a model of 0.2, sparse or wide rows */
    int64_t joins;    /* whether they are there, for the file */
    int64_t votes;    /* numbers that see() leaves */
    /* the detector */
    kept_row **ring; /* NEWEST: newest labels, the oldest first */
    int64_t n_ring, n_past, alarms;
    int64_t *past; /* NEWEST: mixture wrong - detector wrong, BOTH where both are */
    filed_rows basis_file, ring_file;
} hetomtl;

/* A row at work, what was found of it, and what follows from the state. */
typedef struct row_scratch {
    row_asked a;
    double *gram;   /* MAPS x m: products with the basis */
    double *near;   /* NEWEST: products of s with the newest rows */
    double *l;      /* RIDGES x m, as kridge_scores() leaves it */
    double *f;      /* SCORES x k: of experts, then of parts */
    double *length; /* k: how long the sums of s are */
    partners_scratch beside;
    /* of the stream alone */
    kridge_scratch ridge;     /* its work is NEWEST x NEWEST at least */
    double *warm;             /* RIDGES m + SCORES + 1 numbers a class */
    double *young, *alpha;    /* kernels of the ring, sr's; k x NEWEST coefficients */
    double nlogn[NEWEST + 1]; /* n log n */
} row_scratch;

/* A row that was seen counts for the means and deviations. */
static void count_row(hetomtl *f, const kept_row *r, double *value)
{
    for (int64_t e = 0; e < r->n; e++)
        value[e] = (double)r->s[e] * r->size;
    moments_add(&f->z, (ferry_row){r->n, r->index, value});
}

/* ---- scores ---- */

/* k(a, b) of ridge e from their product and squared lengths. */
static double kernel(const hetomtl *f, int e, double product, double one, double other)
{
    if (e == S) return product + 0.1;
    return exp(-fmax(one + other - 2 * product, 0) / f->h[e]);
}

/* Kernels of the row at work to the basis, and what the ridges say; and how near the newest rows are. */
static void ask_ridges(const hetomtl *f, row_scratch *c)
{
    ask_for(&f->maps, &c->a.row, &c->a);
    products(&f->maps, &c->a.row, &c->a, f->n, f->basis, f->m, c->gram);
    if (c->young) near_rows(&f->maps, &c->a, f->n_ring, f->ring, c->near);
    forget(&f->maps, &c->a.row, &c->a);
    for (int e = 0; e < RIDGES; e++) {
        const int i = map_of[e];
        double *l = c->l + e * f->m;
        for (int64_t j = 0; j < f->n; j++)
            l[j] =
                kernel(f, e, c->gram[i * f->m + j], c->a.row.one[i], f->basis[j]->one[i]);
        kridge_scores(&f->ridge[e], l, l, c->f + e * f->k);
    }
}

/* From the experts' scores (EXPERTS x k) those of the parts, right after them. */
static void ask_parts(const hetomtl *f, const row_scratch *c, ferry_row x, double *scores)
{
    if (!f->beside) return;
    mixer_scores(EXPERTS, f->k, f->w, scores, scores + EXPERTS * f->k);
    partners_ask(f->beside, &c->beside, f->k, x, scores + EXPERTS * f->k);
}

/* What all of them say together. */
static void join(const hetomtl *f, const double *scores, double *total)
{
    if (f->beside)
        partners_join(f->beside, f->k, scores + EXPERTS * f->k, total);
    else
        mixer_scores(EXPERTS, f->k, f->w, scores, total);
}

/* c->f <- all scores of x, which is the row at work, centred and of unit length. */
static void ask(const hetomtl *f, row_scratch *c, ferry_row x)
{
    const int64_t k = f->k;
    double *ncm = c->f + NCM * k, *pavg = c->f + PAVG * k;

    ask_ridges(f, c);
    const ferry_row u = wide_row(&c->a.row, true, c->a.value);
    const ferry_row s = wide_row(&c->a.row, false, c->a.value + f->maps.d);
    row_scores(k, f->maps.d, f->sum.at, s, ncm);
    for (int64_t y = 0; y < k; y++)
        ncm[y] = c->length[y] > 1e-12 ? ncm[y] / c->length[y] : 0;
    pa_scores(&f->pa, u, pavg);
    pa_average(&f->pa, u, pavg);
    for (int e = 0; e < EXPERTS; e++)
        mixer_centre(k, c->f + e * k);
    ask_parts(f, c, x, c->f);
}

static void hetomtl_look(const void *state, void *scratch, ferry_row x, double *score)
{
    const hetomtl *f = state;

    map_row(&f->maps, x, &((row_scratch *)scratch)->a);
    if (f->k == 0) return;
    ask(f, scratch, x);
    join(f, ((row_scratch *)scratch)->f, score);
}

/* What the detector says of the row at work; -1: nothing yet. */
static int32_t detector_says(const hetomtl *f, const row_scratch *c)
{
    double to[NEWEST], best = 0;
    int32_t says = -1;

    for (int64_t i = 0; i < f->n_ring; i++)
        to[i] = kernel(f, SR, c->near[i], 1, 1);
    for (int64_t y = 0; y < f->k && f->n_ring > 0; y++) {
        double all = 0;
        for (int64_t i = 0; i < f->n_ring; i++)
            all += to[i] * c->alpha[y * NEWEST + i];
        if (says < 0 || all > best) {
            best = all;
            says = (int32_t)y;
        }
    }
    return says;
}

/* ---- a row is seen ---- */

static int64_t hetomtl_votes(const void *state)
{
    return ((const hetomtl *)state)->votes;
}

static int scores_kept(const hetomtl *f)
{
    return f->beside ? SCORES : EXPERTS;
}

/* Votes: what the mixture and the detector said, of how many classes, and all scores as floats, as long as there are
 * places for the classes. All of them go into a log. */
static void leave_votes(const hetomtl *f, const row_scratch *c, const double *total,
                        int32_t *votes)
{
    const int64_t most = (f->votes - 3) / scores_kept(f);

    memset(votes, 0, (size_t)f->votes * sizeof *votes);
    votes[0] = row_argmax(f->k, total);
    votes[1] = detector_says(f, c);
    votes[2] = f->k <= most ? (int32_t)f->k : -1;
    for (int e = 0; e < scores_kept(f) && votes[2] > 0; e++)
        for (int64_t y = 0; y < f->k; y++) {
            const float v = (float)c->f[e * f->k + y];
            memcpy(&votes[3 + e * most + y], &v, sizeof v);
        }
}

/* The scores in them; classes that came later have none. */
static void read_votes(const hetomtl *f, const int32_t *votes, double *scores)
{
    const int64_t most = (f->votes - 3) / scores_kept(f);

    for (int e = 0; e < scores_kept(f); e++)
        for (int64_t y = 0; y < f->k; y++) {
            float v = 0;
            if (y < votes[2]) memcpy(&v, &votes[3 + e * most + y], sizeof v);
            scores[e * f->k + y] = (double)v;
        }
}

/* The running means change with every row, labelled or not. */
static bool hetomtl_watches(const void *state)
{
    (void)state;
    return true;
}

static void hetomtl_see(void *state, void *scratch, ferry_row x, double *score,
                        int32_t *votes)
{
    row_scratch *c = scratch;

    hetomtl_look(state, c, x, score);
    if (votes) leave_votes(state, c, score, votes);
    count_row(state, &c->a.row, c->a.value);
}

/* ---- the mixers, and the two linear experts ---- */

/* A step of both mixers from the scores of a row of class y. */
static void mix(hetomtl *f, const row_scratch *c, const double *scores, int32_t y)
{
    double *p = c->warm + SCORES * f->k;

    mixer_learn(EXPERTS, f->k, f->w, f->hess, scores, y, p);
    if (f->beside) partners_mix(f->beside, f->k, scores + EXPERTS * f->k, y, p);
}

static double sum_length(const hetomtl *f, int64_t y)
{
    return sqrt(row_norm2((ferry_row){f->maps.d, NULL, ROW(f->sum, y)}));
}

/* A step of ncm and pavg. */
static void learn_linear(hetomtl *f, row_scratch *c, const kept_row *r)
{
    double *to = ROW(f->sum, r->cls);

    for (int64_t e = 0; e < r->n; e++)
        to[r->index ? r->index[e] : e] += (double)r->s[e];
    c->length[r->cls] = sum_length(f, r->cls);
    const ferry_row u = wide_row(r, true, c->a.value);
    pa_scores(&f->pa, u, c->f);
    (void)pa_learn(&f->pa, u, row_norm2(u), r->cls, c->f);
}

/* Add the row at work, whose l is there, to the ridges; `row` becomes part of the basis. */
static void learn_ridges(hetomtl *f, const row_scratch *c, kept_row *row)
{
    for (int e = 0; e < RIDGES; e++) {
        const double one = row->one[map_of[e]];
        kridge_learn(&f->ridge[e], &c->ridge, c->l + e * f->m, e == S ? one + 0.1 : 1,
                     row->cls);
    }
    if (f->n == f->m) return;
    f->basis[f->n++] = row;
    row->users++;
}

/* ---- beginnings: nothing here fails, since a label may make it begin again ---- */

/* The median squared distance of the first rows, from products (rows m apart); 1 when they are all the same. */
static double bandwidth(const hetomtl *f, const double *product, double *d2)
{
    int64_t rows = f->n0 < f->n ? f->n0 : f->n, n = 0;

    if (rows > MEDIAN_ROWS) rows = MEDIAN_ROWS;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < i; j++)
            d2[n++] = fmax(2 - 2 * product[i * f->m + j], 0);
    const double middle = median(n, d2);
    return middle > 1e-9 ? middle : 1;
}

static void fit_ridge(hetomtl *f, row_scratch *c, int e)
{
    kridge *r = &f->ridge[e];
    const int map = map_of[e];
    double *l = r->l.at;

    if (e < MAPS) f->h[e] = bandwidth(f, l, c->ridge.work);
    for (int64_t i = 0; i < f->n; i++) {
        const kept_row *a = f->basis[i];
        r->cls[i] = a->cls;
        for (int64_t j = 0; j <= i; j++)
            l[i * f->m + j] = kernel(f, e, i == j ? a->one[map] : l[i * f->m + j],
                                     a->one[map], f->basis[j]->one[map]);
    }
    kridge_fit(r, &c->ridge, f->n);
}

/* Ridges `from` to `to`: the products of all pairs of rows first. */
static void fit_ridges(hetomtl *f, row_scratch *c, int from, int to)
{
    for (int64_t i = 0; i < f->n; i++) {
        ask_for(&f->maps, f->basis[i], &c->a);
        products(&f->maps, f->basis[i], &c->a, i, f->basis, f->m, c->gram);
        forget(&f->maps, f->basis[i], &c->a);
        for (int e = from; e < to; e++)
            memcpy(f->ridge[e].l.at + i * f->m, c->gram + map_of[e] * f->m,
                   (size_t)i * sizeof *c->gram);
    }
    for (int e = from; e < to; e++)
        fit_ridge(f, c, e);
}

static void set_by(hetomtl *f)
{
    for (int64_t j = 0; j < f->maps.d; j++)
        f->maps.by[j] = 1 / (f->maps.sd[j] * f->maps.sd[j]);
}

/* q's means and deviations as they are now. */
static void freeze(hetomtl *f)
{
    const double n = f->z.n > 0 ? (double)f->z.n : 1;
    double least = 0;

    for (int64_t j = 0; j < f->maps.d; j++) {
        f->maps.mean[j] = f->z.mean[j];
        f->maps.sd[j] = sqrt(f->z.m2[j] / n);
        least += 0.1 * f->maps.sd[j] / (double)f->maps.d;
    }
    for (int64_t j = 0; j < f->maps.d; j++)
        f->maps.sd[j] = fmax(f->maps.sd[j], least > 0 ? least : 1);
    f->next = 2 * f->z.n;
    set_by(f);
    for (int64_t i = 0; i < f->n; i++)
        find_lengths(&f->maps, f->basis[i]);
}

/* ncm's scores of a row without that row. */
static void ncm_left_out(const hetomtl *f, const kept_row *r, double *value, double *out)
{
    double *v = value + f->maps.d;

    for (int64_t c = 0; c < f->k; c++) {
        double product = 0, norm = 0;
        memcpy(v, ROW(f->sum, c), (size_t)f->maps.d * sizeof *v);
        for (int64_t e = 0; e < r->n && c == r->cls; e++)
            v[r->index ? r->index[e] : e] -= (double)r->s[e];
        for (int64_t e = 0; e < r->n; e++)
            product += (double)r->s[e] * v[r->index ? r->index[e] : e];
        for (int64_t j = 0; j < f->maps.d; j++)
            norm += v[j] * v[j];
        norm = sqrt(norm);
        out[c] = norm > 1e-9 ? product / norm : 0;
    }
}

/* The mixers' first weights, over the rows' scores, each row left out; the two learners are asked before they learn the
 * row. pavg has no cheap way to do that and takes no part. Too few rows, or too many: the weights stay. */
static void warm_up(hetomtl *f, row_scratch *c)
{
    const int64_t k = f->k;
    const bool mixes = f->n >= 2 * k && f->n < f->m && k > 0;
    double *scores = c->warm, *out = c->warm + (SCORES + 1) * k;

    for (int e = 0; mixes && e < RIDGES; e++)
        kridge_leave_out(&f->ridge[e], &c->ridge, out + e * f->n * k);
    for (int64_t i = 0; i < f->n; i++) {
        kept_row *r = f->basis[i];
        for (int e = 0; mixes && e < RIDGES; e++)
            memcpy(scores + e * k, out + (e * f->n + i) * k, (size_t)k * sizeof *scores);
        if (mixes) {
            ncm_left_out(f, r, c->a.value, scores + NCM * k);
            memset(scores + PAVG * k, 0, (size_t)k * sizeof *scores);
            for (int e = 0; e < EXPERTS; e++)
                mixer_centre(k, scores + e * k);
            ask_parts(f, c, given_row(r, c->a.value), scores);
            mix(f, c, scores, r->cls);
        }
        if (f->beside)
            partners_learn(f->beside, &c->beside, given_row(r, c->a.value), r->cls);
    }
}

/* ---- the detector ---- */

/* Log likelihood of n trials of which k came true, at their own rate. */
static double likelihood(const row_scratch *c, int64_t n, int64_t k)
{
    return c->nlogn[k] + c->nlogn[n - k] - c->nlogn[n];
}

/* Of the newest labels, how many came after the mixture began to err more often: where two rates explain its mistakes
 * best. *gain: how much better than one rate does, in units of log; 0 and all labels where they have not become more. */
static int64_t changed_since(const hetomtl *f, const row_scratch *c, double *gain)
{
    int64_t wrong = 0, late = 0, since = f->n_past;

    *gain = 0;
    for (int64_t i = 0; i < f->n_past; i++)
        wrong += f->past[i] > 0;
    for (int64_t n = 1; n < f->n_past; n++) {
        const int64_t rest = f->n_past - n;
        late += f->past[rest] > 0;
        if (n < LEAST || late * rest <= (wrong - late) * n) continue;
        const double now = likelihood(c, n, late) + likelihood(c, rest, wrong - late) -
                           likelihood(c, f->n_past, wrong);
        if (now > *gain) {
            *gain = now;
            since = n;
        }
    }
    return since;
}

/* How many of the newest labels the detector learns from: all, or those since the mixture surely errs more often. */
static int64_t valid_labels(const hetomtl *f, const row_scratch *c)
{
    double gain = 0;
    const int64_t since = changed_since(f, c, &gain);

    return gain > SURE ? since : NEWEST;
}

/* (K + lambda I) alpha = Y over the newest rows that hold. */
static void fit_detector(const hetomtl *f, row_scratch *c)
{
    const int64_t since = valid_labels(f, c);
    const int64_t n = f->n_ring < since ? f->n_ring : since, old = f->n_ring - n;
    double *work = c->ridge.work;

    for (int64_t i = 0; i < n; i++) {
        double *row = work + i * NEWEST;
        memcpy(row, c->young + (old + i) * NEWEST + old, (size_t)(i + 1) * sizeof *row);
        row[i] += KRIDGE_LAMBDA;
    }
    lower_cholesky(n, NEWEST, work);
    if (f->k > 0) memset(c->alpha, 0, (size_t)(f->k * NEWEST) * sizeof *c->alpha);
    for (int64_t i = old; i < f->n_ring; i++)
        c->alpha[f->ring[i]->cls * NEWEST + i] = 1;
    ferry_i_lower_systems(n, NEWEST, work, f->k, NEWEST, c->alpha + old);
    for (int64_t y = 0; y < f->k; y++)
        lower_solve_t(n, NEWEST, work, c->alpha + y * NEWEST + old);
}

/* Row i of the ring's kernels from products with the rows before it. */
static void young_row(const hetomtl *f, row_scratch *c, int64_t i, const double *near)
{
    double *row = c->young + i * NEWEST;

    for (int64_t j = 0; j <= i; j++)
        row[j] = kernel(f, SR, i == j ? f->ring[i]->one[1] : near[j], 1, 1);
}

static const double *near_of(const hetomtl *f, row_scratch *c, const kept_row *r, int64_t n)
{
    ask_for(&f->maps, r, &c->a);
    near_rows(&f->maps, &c->a, n, f->ring, c->near);
    forget(&f->maps, r, &c->a);
    return c->near;
}

/* The kernels of the ring, and the detector's coefficients. */
static void fit_ring(const hetomtl *f, row_scratch *c)
{
    for (int64_t i = 0; i < f->n_ring; i++)
        young_row(f, c, i, near_of(f, c, f->ring[i], i));
    fit_detector(f, c);
}

/* r becomes the newest row. near: products of its s with the ring's rows, or NULL. */
static void add_newest(scope *keep, hetomtl *f, row_scratch *c, kept_row *r,
                       const double *near)
{
    if (!near) near = near_of(f, c, r, f->n_ring);
    if (f->n_ring == NEWEST) {
        near++;
        drop_row(keep, f->ring[0]);
        memmove(f->ring, f->ring + 1, (NEWEST - 1) * sizeof *f->ring);
        for (int64_t i = 1; i < NEWEST; i++)
            memmove(c->young + (i - 1) * NEWEST, c->young + i * NEWEST + 1,
                    (size_t)i * sizeof *c->young);
    } else {
        f->n_ring++;
    }
    f->ring[f->n_ring - 1] = r;
    r->users++;
    young_row(f, c, f->n_ring - 1, near);
    fit_detector(f, c);
}

/* One more pair of answers, of the mixture and of the detector. */
static void add_past(hetomtl *f, int32_t said, int32_t detector, int32_t y)
{
    if (f->n_past == NEWEST)
        memmove(f->past, f->past + 1, (NEWEST - 1) * sizeof *f->past);
    else
        f->n_past++;
    f->past[f->n_past - 1] =
        said != y && detector != y ? BOTH : (said != y) - (detector != y);
}

/* Whether it is time to begin again. */
static bool drifted(const hetomtl *f, const row_scratch *c)
{
    const int64_t since = valid_labels(f, c);
    int64_t lead = 0, apart = 0;

    for (int64_t i = f->n_past > since ? f->n_past - since : 0; i < f->n_past; i++) {
        if (f->past[i] == BOTH) continue;
        lead += f->past[i];
        apart += f->past[i] != 0;
    }
    return lead >= LEAST && (double)lead > 3 * sqrt((double)apart);
}

/* ---- the whole ---- */

/* Begin anew with the n <= m rows of the basis; count: means and deviations too. */
static void start(hetomtl *f, row_scratch *c, bool count)
{
    const size_t all = (size_t)(f->k * f->maps.d) * sizeof(double);

    for (int64_t i = 0; count && i < f->n; i++)
        count_row(f, f->basis[i], c->a.value);
    freeze(f);
    fit_ridges(f, c, 0, RIDGES);
    if (f->k > 0) {
        memset(f->sum.at, 0, all);
        memset(c->length, 0, (size_t)f->k * sizeof *c->length);
        memset(f->pa.w.at, 0, all);
        memset(f->pa.u.at, 0, all);
    }
    for (int64_t i = 0; i < f->n; i++) {
        f->pa.steps = 1; /* the average begins with the stream */
        learn_linear(f, c, f->basis[i]);
    }
    f->pa.steps = 1;
    mixer_begin(EXPERTS, 4. / EXPERTS, f->w, f->hess);
    if (f->beside) partners_clear(f->beside);
    f->n_past = 0;
    warm_up(f, c);
    fit_ring(f, c);
}

/* Begin anew with the rows after the change. */
static void start_again(scope *s, scope *keep, hetomtl *f, row_scratch *c)
{
    double gain = 0;
    const int64_t since = changed_since(f, c, &gain);
    const int64_t old = f->n_ring > since ? f->n_ring - since : 0;

    ferry_i_log(scope_ctx(s), FERRY_WARN,
                "hetomtl: the stream has changed: begins again from the newest %lld "
                "labels (time %lld)",
                (long long)since, (long long)++f->alarms);
    for (int64_t i = 0; i < old; i++)
        drop_row(keep, f->ring[i]);
    f->n_ring -= old;
    memmove(f->ring, f->ring + old, (size_t)f->n_ring * sizeof *f->ring);
    const int64_t n = f->n_ring < f->m ? f->n_ring : f->m;
    for (int64_t i = 0; i < f->n; i++)
        drop_row(keep, f->basis[i]);
    for (int64_t i = 0; i < n; i++) {
        f->basis[i] = f->ring[f->n_ring - n + i];
        f->basis[i]->users++;
    }
    f->n = f->n0 = n;
    moments_clear(&f->z);
    start(f, c, true);
}

/* What ridges take once they are full is had before a row that may fill them. */
static void expect_row(scope *keep, hetomtl *f)
{
    for (int e = 0; e < RIDGES && f->n + 1 >= f->m; e++)
        kridge_expect(keep, &f->ridge[e]);
}

static void hetomtl_learn(scope *s, scope *keep, void *state, void *scratch,
                          const stream_label *l)
{
    hetomtl *f = state;
    row_scratch *c = scratch;

    expect_row(keep, f);
    if (!l->seen) map_row(&f->maps, l->x, &c->a);
    kept_row *row =
        keep_row(keep, &f->maps, &c->a.row, l->cls); /* the last that may fail */
    double *scores = c->warm, *total = c->warm + SCORES * f->k;
    if (!l->seen) ask(f, c, l->x);
    join(f, c->f, total);
    const int32_t said = row_argmax(f->k, total), detector = detector_says(f, c);
    if (l->votes && l->votes[2] >= 0)
        read_votes(f, l->votes, scores);
    else
        memcpy(scores, c->f, (size_t)(scores_kept(f) * f->k) * sizeof *scores);
    mix(f, c, scores, l->cls);
    if (f->beside) partners_learn(f->beside, &c->beside, l->x, l->cls);
    learn_ridges(f, c, row);
    learn_linear(f, c, row);
    if (f->z.n >= f->next && f->n < f->m) {
        freeze(f);
        fit_ridges(f, c, QR, QR + 1);
    }
    add_past(f, said, detector, l->cls);
    add_newest(keep, f, c, row, c->near);
    if (drifted(f, c)) {
        start_again(s, keep, f, c);
    } else if (f->n0 < 2 && f->n == 30) {
        f->n0 = f->n; /* began without labels: now there are rows to take bandwidths from */
        start(f, c, false);
    }
    drop_row(keep, row);
}

/* Regressions' weights, reported as shares. */
static int64_t hetomtl_parts(const void *state, const char **names, double *w)
{
    const hetomtl *f = state;
    const int64_t n = f->beside ? EXPERTS + PARTS - 1 : EXPERTS;
    double all = 0, share[PARTS] = {1};

    for (int e = 0; e < EXPERTS; e++)
        all += f->w[e];
    if (f->beside) partners_shares(f->beside, share);
    for (int e = 0; w && e < n; e++) {
        const double mine = all > 0 ? f->w[e % EXPERTS] / all : 1. / EXPERTS;
        names[e] = expert_names[e];
        w[e] = e < EXPERTS ? share[OTHERS] * mine : share[e - EXPERTS + LOGREG];
    }
    return n;
}

static int64_t hetomtl_columns(const void *state)
{
    return ((const hetomtl *)state)->maps.d;
}

static void *scratch_new(scope *s, const void *state, int64_t k, bool learns, bool dense)
{
    const hetomtl *f = state;
    const int64_t side = f->m > NEWEST ? f->m : NEWEST;
    row_scratch *c = NEW(s, row_scratch, 1);

    (void)dense; /* the state knows */
    c->a = row_asked_new(s, &f->maps, side);
    c->gram = NEW(s, double, MAPS * f->m);
    c->near = NEW(s, double, NEWEST);
    c->l = NEW(s, double, RIDGES * f->m);
    c->f = NEW(s, double, SCORES *k);
    if (f->beside) c->beside = partners_scratch_new(s, f->beside, k, learns);
    c->length = NEW(s, double, k);
    for (int64_t y = 0; y < f->k; y++)
        c->length[y] = sum_length(f, y);
    if (!learns) return c;
    c->ridge =
        (kridge_scratch){NEW(s, double, side *side), NEW(s, double, KRIDGE_BLOCK * f->m)};
    c->warm = NEW(s, double, k *(RIDGES * f->m + SCORES + 1));
    c->young = NEW(s, double, NEWEST *NEWEST);
    c->alpha = NEW(s, double, k *NEWEST);
    for (int i = 1; i <= NEWEST; i++)
        c->nlogn[i] = i * log(i);
    fit_ring(f, c);
    return c;
}

/* ---- the file: names as in 0.2. Factors are in it although they follow from the rows: a loaded model must go on with
 * the same bits ---- */

static void hetomtl_pack(scope *s, void *copy)
{
    hetomtl *f = copy;

    pack_rows(s, &f->maps, f->n, f->basis, &f->basis_file);
    pack_rows(s, &f->maps, f->n_ring, f->ring, &f->ring_file);
    for (int e = 0; e < RIDGES; e++)
        kridge_pack(&f->ridge[e]);
}

static void ready(scope *s, scope *keep, void *state)
{
    hetomtl *f = state;

    (void)s;
    f->maps.by = NEW(keep, double, f->maps.d);
    set_by(f);
    f->basis = unpack_rows(keep, &f->maps, &f->basis_file, f->m);
    f->ring = unpack_rows(keep, &f->maps, &f->ring_file, NEWEST);
    for (int e = 0; e < RIDGES; e++)
        for (int64_t i = 0; i < f->n; i++)
            f->ridge[e].cls[i] = f->basis[i]->cls;
}

static bool rows_fit(const hetomtl *f, const filed_rows *r, int64_t n)
{
    return r->n == n && r->d == f->maps.d &&
           (r->x.m->dense == NULL) == (f->maps.sparse != 0);
}

static void check(scope *s, const void *state)
{
    const hetomtl *f = state;
    bool good = f->n <= f->m && f->n0 <= f->m && f->z.d == f->maps.d &&
                f->sum.k == f->maps.d && f->pa.w.k == f->maps.d && f->pa.averages &&
                f->pa.steps > 0 && rows_fit(f, &f->basis_file, f->n) &&
                rows_fit(f, &f->ring_file, f->n_ring);

    for (int e = 0; e < RIDGES; e++)
        good = good && f->ridge[e].m == f->m && f->ridge[e].n == f->n;
    for (int i = 0; i < MAPS; i++)
        good = good && f->h[i] > 0;
    for (int e = 0; e < EXPERTS; e++)
        good = good && f->w[e] >= 0 && f->w[e] < 1e9;
    good = good && (f->joins != 0) == (f->beside != NULL) &&
           (!f->beside || partners_fit(f->beside, f->maps.d));
    for (int64_t j = 0; j < f->maps.d; j++)
        good = good && f->maps.sd[j] > 0;
    if (!good)
        scope_fail(s, FERRY_EDATA, "tensor fleet: %lld classes, %lld of %lld rows",
                   (long long)f->k, (long long)f->n, (long long)f->m);
}

#define RIDGE(e, name) FIELD_AS(hetomtl, STRUCT, ridge[e], name, .of = &kridge_table)
static const field hetomtl_fields[] = {
    FIELD_AS(hetomtl, INT, k, "fleet:0", .rows = CLASSES, .lo = 0, .hi = 3e8),
    FIELD_AS(hetomtl, INT, maps.sparse, "fleet:1", .lo = 0, .hi = 2),
    FIELD_AS(hetomtl, INT, m, "fleet:2", .lo = 2, .hi = BASIS_MOST + 1),
    FIELD_AS(hetomtl, INT, n, "fleet:3", .lo = 0, .hi = BASIS_MOST + 1),
    FIELD_AS(hetomtl, INT, n0, "fleet:4", .lo = 0, .hi = BASIS_MOST + 1),
    FIELD_AS(hetomtl, INT, next, "fleet:5", .lo = 0, .hi = 9e18),
    FIELD_AS(hetomtl, INT, n_ring, "fleet:6", .lo = 0, .hi = NEWEST + 1),
    FIELD_AS(hetomtl, INT, n_past, "fleet:7", .lo = 0, .hi = NEWEST + 1),
    FIELD_AS(hetomtl, INT, alarms, "fleet:8", .lo = 0, .hi = 9e18),
    FIELD_AS(hetomtl, INT, votes, "fleet:9", .lo = 3, .hi = 1e9),
    FIELD_AS(hetomtl, ARRAY, h, "fleet.h", .rows = CONSTANT(MAPS)),
    FIELD_AS(hetomtl, ARRAY, w, "fleet.w", .rows = CONSTANT(EXPERTS)),
    FIELD_AS(hetomtl, ARRAY, hess, "fleet.hess", .rows = CONSTANT(EXPERTS * EXPERTS)),
    FIELD_AS(hetomtl, INTS, past, "fleet.past", .rows = CONSTANT(NEWEST)),
    FIELD_AS(hetomtl, STRUCT, z, "moments", .of = &moments_table),
    FIELD_AS(hetomtl, REALS, maps.mean, "fleet.mean", .rows = SIZE(hetomtl, maps.d)),
    FIELD_AS(hetomtl, REALS, maps.sd, "fleet.sd", .rows = SIZE(hetomtl, maps.d)),
    FIELD_AS(hetomtl, BLOCK, sum, "fleet.sum", .rows = CLASSES,
             .cols = SIZE(hetomtl, maps.d)),
    FIELD_AS(hetomtl, STRUCT, pa, "fleet.pa", .of = &pa_table),
    FIELD_AS(hetomtl, INT, joins, "fleet.joins", .lo = 0, .hi = 2, .optional = true),
    FIELD_AS(hetomtl, LIST, beside, "fleet.beside", .optional = true,
             .of = &partners_table),
    FIELD_AS(hetomtl, STRUCT, basis_file, "fleet.basis", .of = &kept_rows_table),
    FIELD_AS(hetomtl, STRUCT, ring_file, "fleet.ring", .of = &kept_rows_table),
    RIDGE(UR, "fleet.ur"),
    RIDGE(SR, "fleet.sr"),
    RIDGE(QR, "fleet.qr"),
    RIDGE(S, "fleet.s"),
};
static const table hetomtl_table = {sizeof(hetomtl), hetomtl_fields,
                                    FERRY_COUNT(hetomtl_fields), check, ready};

/* ---- fit ---- */

/* 600, as the learner was measured with; about as many numbers for wide dense rows. */
static int64_t basis_size(int64_t asked, const hetomtl *f)
{
    if (asked > 0) return asked > 2 ? asked : 2;
    const int64_t wide =
        f->maps.sparse ? BASIS : BASIS * 2048 / (f->maps.d > 0 ? f->maps.d : 1);
    return wide > BASIS ? BASIS : wide > NEWEST ? wide : NEWEST;
}

static void make(scope *s, scope *keep, const problem *p, int64_t basis, hetomtl *f)
{
    const int64_t k = p->classes, d = p->width;

    *f = (hetomtl){.k = k, .maps = {.sparse = !p->dense, .d = d}, .h = {1, 1, 1}};
    f->m = basis_size(basis, f);
    f->joins = p->dense && d <= BESIDE;
    if (f->joins) f->beside = partners_new(s, keep, k, target(p)->x);
    f->votes = 3 + scores_kept(f) * (k + MORE);
    f->z = moments_new(keep, d);
    f->maps.mean = NEW(keep, double, d);
    f->maps.sd = NEW(keep, double, d);
    f->maps.by = NEW(keep, double, d);
    f->basis = NEW(keep, kept_row *, f->m);
    f->ring = NEW(keep, kept_row *, NEWEST);
    f->past = NEW(keep, int64_t, NEWEST);
    for (int e = 0; e < RIDGES; e++)
        f->ridge[e] = kridge_new(keep, f->m, k);
    f->sum = block_new(keep, HERE(k), k, d);
    f->pa = pa_new(keep, PA1, 1, k, d, true);
}

static kept_row *offline_row(scope *keep, hetomtl *f, row_scratch *c, const domain *t,
                             int64_t i)
{
    map_row(&f->maps, row_at(t->x, i), &c->a);
    return keep_row(keep, &f->maps, &c->a.row, t->y.cls[i]);
}

/* In the order of their keys, since a file's may be that of its classes: the first ones begin the basis, those that do
 * not fit are learned after it. */
static void hetomtl_fit(scope *s, scope *keep, const problem *p, const void *options,
                        void *state)
{
    const domain *t = target(p);
    const int64_t *order = rows_by_key(s, t->n, t->key);
    hetomtl *f = state;
    bool finish = false;

    make(s, keep, p, ((const hetomtl_options *)options)->basis, f);
    row_scratch *c = scratch_new(s, f, f->k, true, p->dense);
    for (; f->n < t->n && f->n < f->m; f->n++)
        f->basis[f->n] = offline_row(keep, f, c, t, order[f->n]);
    f->n0 = f->n;
    expect_row(keep, f);
    start(f, c, true);
    for (int64_t i = t->n > NEWEST ? t->n - NEWEST : 0; i < f->n; i++)
        add_newest(keep, f, c, f->basis[i], NULL);
    for (int64_t i = f->n; i < t->n && !finish; i++) {
        kept_row *row = offline_row(keep, f, c, t, order[i]);
        ask(f, c, row_at(t->x, order[i]));
        learn_ridges(f, c, row);
        learn_linear(f, c, row);
        if (f->beside)
            partners_learn(f->beside, &c->beside, row_at(t->x, order[i]), row->cls);
        f->pa.steps = 1;
        count_row(f, row, c->a.value);
        if (i >= t->n - NEWEST) add_newest(keep, f, c, row, c->near);
        drop_row(keep, row);
        if (i % 256 == 255) finish = progress(s, "hetomtl", i + 1, t->n, NAN);
    }
    report_real(s, "instances", (double)t->n);
    report_real(s, "basis", (double)f->m);
    if (finish) report_fit(s, 0, NAN, FERRY_STOP_FINISH);
}

static const online hetomtl_online = {.classes = "fleet:0",
                                      .columns = hetomtl_columns,
                                      .watches = hetomtl_watches,
                                      .votes = hetomtl_votes,
                                      .scratch = scratch_new,
                                      .look = hetomtl_look,
                                      .see = hetomtl_see,
                                      .learn = hetomtl_learn,
                                      .parts = hetomtl_parts,
                                      .pack = hetomtl_pack};
const method method_hetomtl = {
    .name = "hetomtl",
    .summary = "online learning of a target's stream: eight experts, a detector of drift",
    .reference = "HetOMTL-CDSPP: Heterogeneous Online Multi-Source Transfer Learning with "
                 "Cross-Domain Structure Preserving Projection, 2023",
    .kind = FERRY_KIND_TRANSFER,
    .goals = FERRY_CLASSIFY | FERRY_STREAM,
    .needs = FERRY_NEED_TARGET_VIEW,
    .wants = {.as = STREAM, .domains = WANT_TARGET, .scale = FERRY_SCALE_NEAR},
    METHOD_OPTIONS(hetomtl_opts, hetomtl_options),
    .state = &hetomtl_table,
    .whole = true,
    .fit = hetomtl_fit,
    .online = &hetomtl_online,
};
