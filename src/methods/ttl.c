/* TTL: transitive transfer learning. Sources and target share no feature; intermediate domains share some with each
 * side. Tan, Song, Zhong, Yang: Transitive Transfer Learning, KDD 2015. The coupled factorisation of the paper is
 * the method ttl-paper (ttl_paper.c); this one keeps the idea of the chain:
 *
 *   train = the sources, each with weight 1
 *   for each intermediate domain d in turn, then the target:
 *       propagate   G = softmax regression on `train`, through the features that both have
 *       refine      G = EM of a mixture within d, started at G: multinomials where all views are words, else
 *                   Gaussians of one variance on principal axes, if three checks hold
 *       weigh       w_d = split-half reliability: Cohen's kappa of the labels from two halves of d's features,
 *                   on the rows whose label is not known
 *       train       = train and (d, G, w_d)
 *
 * Everything labelled so far trains the next domain, so that a direct path and one over a bridge are one regression.
 * Known labels stay, and train their own domain too. Mixture or regression, what is left at the target is
 * softmax(x W + b): that is the model. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/chain.h"
#include "learn/pca.h"
#include "prepare/problem.h"

enum { FOLDS = 5, GAUSSIAN_STEPS = 50 };
enum { REFINE_AUTO, REFINE_YES, REFINE_NO };

typedef struct ttl_options {
    int refine, report;
    double C, beta, eta, tol, least_weight;
    int64_t steps;
} ttl_options;

static const ferry_opt ttl_opts[] = {
    FERRY_OPT(ttl_options, REAL, C, 0, 0, 1e9,
              "cost of errors of the regressions; 0: by cross-validation"),
    FERRY_OPT_ONE_OF(
        ttl_options, refine, "auto|yes|no", "auto",
        "EM from the propagated labels; auto: words always, other views if three checks hold"),
    FERRY_OPT_YES_NO(ttl_options, report, "yes",
                     "report the reliability of every domain; doubles the time"),
    FERRY_OPT(ttl_options, REAL, beta, 0, 0, 1e6,
              "weight of a word in EM; 0: 6, or 1 where that is more reliable"),
    FERRY_OPT(ttl_options, REAL, eta, 0.1, 1e-12, 1e6,
              "Dirichlet pseudo-counts, as a share of all counts"),
    FERRY_OPT(ttl_options, INT, steps, 30, 1, 1e9, "EM steps, at most"),
    FERRY_OPT(ttl_options, REAL, tol, 1e-3, 0, 1, "change of a label at which EM ends"),
    FERRY_OPT(ttl_options, REAL, least_weight, 0.05, 0, 1,
              "of an intermediate domain that shares features"),
};

/* What the two halves of a domain's features say: kappa before EM, after it, and of one with the other. */
typedef struct reliability {
    double before, after, crossed;
    int32_t *y; /* 4 n: the labels themselves, before and after; NULL: nobody asks */
} reliability;

typedef struct step { /* one domain of the chain */
    matrix x;
    block g;
    double w, C, beta;
    bool refined;
    reliability r;
    double stable, names,
        clusters; /* the checks of views that are no words; NaN: not made */
    int32_t
        *propagated; /* its labels before they were refined, where the chain is traced */
} step;

typedef struct chain {
    const ttl_options *o;
    const problem *p;
    step *at;    /* one for each domain */
    bool traced; /* the target's labels are asked for */
} chain;

/* ---- propagate ---- */

static classifier_options through_shared(const chain *h, double C)
{
    return (classifier_options){.C = C, .unit = h->p->unit};
}

/* Domain i from all before it and from its own known labels; g <- its labels. */
static classifier propagate(scope *s, const chain *h, int i, const uint8_t *within, block g)
{
    const domain *d = &h->p->d[i];
    training_set *e = NEW(s, training_set, i + 1);
    int64_t *rows = NEW(s, int64_t, d->x.n), k = 0;
    int32_t *y = NEW(s, int32_t, d->x.n);
    uint64_t *key = NEW(s, uint64_t, d->x.n);
    int n = 0;

    for (int j = 0; j < i; j++)
        if (h->at[j].w > 0)
            e[n++] = (training_set){h->at[j].x, h->at[j].g, h->at[j].w, h->p->d[j].key};
    for (int64_t r = 0; r < d->x.n; r++)
        if (d->known[r] >= 0) y[k] = d->known[r], key[k] = d->key[r], rows[k++] = r;
    if (d->labelled > 0) {
        const matrix own = take_rows(s, h->at[i].x, k, rows, false);
        e[n++] = (training_set){own, one_hot(s, own.rows, k, y, g.k), 1, key};
    }
    const classifier_options o = through_shared(h, h->at[i].C);
    const classifier m = classifier_fit(s, &o, n, e, h->at[i].x, within);
    classifier_scores(s, &m, h->at[i].x, g);
    clamp_rows(g, d->known);
    return m;
}

/* g <- labels of domain i by cross-validation on y (-1: none) through the columns of `within`. */
static void cross_validate(scope *s, const chain *h, int i, const int32_t *y,
                           const uint8_t *within, double C, block g)
{
    const matrix x = h->at[i].x;
    const uint64_t *row_key = h->p->d[i].key;
    const int32_t *fold = stratified_folds(s, x.rows, x.n, y, row_key, FOLDS);

    for (int f = 0; f < FOLDS; f++) {
        const int64_t mark = scope_mark(s);
        int64_t *in = NEW(s, int64_t, x.n), *out = NEW(s, int64_t, x.n), n_in = 0,
                n_out = 0;
        int32_t *y_in = NEW(s, int32_t, x.n);
        uint64_t *key = NEW(s, uint64_t, x.n);
        for (int64_t r = 0; r < x.n; r++)
            if (fold[r] == f)
                out[n_out++] = r;
            else if (fold[r] >= 0)
                y_in[n_in] = y[r], key[n_in] = row_key[r], in[n_in++] = r;
        const matrix in_x = take_rows(s, x, n_in, in, false),
                     test = take_rows(s, x, n_out, out, false);
        const training_set e = {in_x, one_hot(s, in_x.rows, n_in, y_in, g.k), 1, key};
        const classifier_options o = through_shared(h, C);
        const classifier m = classifier_fit(s, &o, 1, &e, test, within);
        const block scores = block_new(s, test.rows, n_out, g.k);
        classifier_scores(s, &m, test, scores);
        for (int64_t r = 0; r < n_out; r++)
            memcpy(ROW(g, out[r]), ROW(scores, r), (size_t)g.k * sizeof(double));
        scope_release(s, mark);
    }
}

/* ---- refine: EM from the labels G, known ones stay ---- */

/* G <- softmax(scores + b); the largest change. */
static double e_step(scope *s, const int32_t *known, const double *b, block scores, block g)
{
    for (int64_t i = 0; i < g.n; i++)
        (void)softmax_row(g.k, b, ROW(scores, i));
    if (known) clamp_rows(scores, known);
    const double moved = largest_change(s, scores, g);
    copy(scores, g);
    return moved;
}

/* Multinomials, MAP with Dirichlet pseudo-counts; each count is taken beta times:
 *   q_j = share of word j,  theta_jk = (X'G + eta sum(x) / c q_j) / its column sum,  pi_k = mean G_ik
 *   W_jk = beta log(theta_jk / q_j),  b_k = log pi_k */
static classifier em_words(scope *s, const chain *h, matrix x, const int32_t *known,
                           double beta, block g)
{
    const int64_t c = g.k;
    const block w = block_new(s, HERE(x.cols), x.cols, c), next = block_like(s, g);
    double *b = NEW(s, double, c), *sum = NEW(s, double, c), *q = mass(s, x, NULL),
           total = 0, moved = INFINITY;

    for (int64_t j = 0; j < x.cols; j++)
        total += q[j];
    for (int64_t j = 0; total > 0 && j < x.cols; j++)
        q[j] /= total;
    clamp_rows(g, known);
    index_columns(s, x);
    for (int64_t t = 0; x.rows.n > 0 && t < h->o->steps && !(moved < h->o->tol); t++) {
        tmul(s, x, g, w);
        for (int64_t j = 0; j < x.cols; j++)
            for (int64_t k = 0; k < c; k++)
                ROW(w, j)[k] += h->o->eta * total / (double)c * q[j];
        column_sums(s, w, sum);
        for (int64_t j = 0; j < x.cols; j++)
            for (int64_t k = 0; k < c; k++)
                ROW(w, j)[k] = q[j] > 0 ? beta * log(ROW(w, j)[k] / sum[k] / q[j]) : 0;
        column_sums(s, g, b);
        for (int64_t k = 0; k < c; k++)
            b[k] = fmax(log(b[k] / (double)x.rows.n), -1e300); /* a class may die out */
        mul(s, x, w, next);
        moved = e_step(s, known, b, next, g);
        (void)progress(s, "EM", t + 1, h->o->steps, NAN);
    }
    return (classifier){.w = w, .b = b};
}

/* Gaussians of one variance v on the principal axes z that hold 90 % of the variance:
 *   mu_k = sum G_ik z_i / n_k,  v = (sum |z|^2 - sum n_k |mu_k|^2) / (n q)
 *   W = V mu / v,  b_k = log pi_k - |mu_k|^2 / 2v - mean'W_k: linear in x, as with words */
static classifier em_gaussian(scope *s, const pca *a, const int32_t *known, block g)
{
    const int64_t c = g.k, q = a->z.k;
    const double n = (double)g.rows.n, length = square_sum(s, a->z);
    const block next = block_like(s, g), w = block_new(s, a->v.rows, a->v.n, c);
    const small mu = small_new(s, q, c);
    double *b = NEW(s, double, c), moved = INFINITY;

    if (known) clamp_rows(g, known);
    for (int64_t t = 0; n > 0 && t < GAUSSIAN_STEPS && moved >= 1e-3; t++) {
        double v = length;
        gram(s, a->z, g, mu);
        column_sums(s, g, b);
        for (int64_t k = 0; k < c; k++) {
            b[k] = fmax(b[k], 1e-9);
            for (int64_t j = 0; j < q; j++) {
                AT(mu, j, k) /= b[k];
                v -= b[k] * AT(mu, j, k) * AT(mu, j, k);
            }
        }
        v = fmax(v / n / (double)q, 1e-12);
        for (int64_t k = 0; k < c; k++) {
            b[k] = log(b[k] / n);
            for (int64_t j = 0; j < q; j++) {
                b[k] -= 0.5 * AT(mu, j, k) * AT(mu, j, k) / v;
                AT(mu, j, k) /= v;
            }
        }
        bmul(s, a->z, mu, next);
        moved = e_step(s, known, b, next, g);
        (void)progress(s, "EM", t + 1, GAUSSIAN_STEPS, NAN);
    }
    bmul(s, a->v, mu, w);
    for (int64_t k = 0; k < c; k++)
        for (int64_t j = 0; j < w.n; j++)
            b[k] -= a->mean[j] * ROW(w, j)[k];
    return (classifier){.w = w, .b = b};
}

/* Few rows say little about many axes. */
static pca principal_axes(scope *s, matrix x)
{
    return pca_fit(s, x, x.rows.n / 4, 0.9);
}

/* On the columns of keep; the model is on all. */
static classifier em_rows(scope *s, matrix x, const uint8_t *keep, const int32_t *known,
                          block g)
{
    const classifier m = {.w = block_new(s, HERE(x.cols), x.cols, g.k),
                          .b = NEW(s, double, g.k)};
    const int64_t mark = scope_mark(s);
    const pca a = principal_axes(s, take_columns(s, x, keep, false));
    const classifier own = em_gaussian(s, &a, known, g);

    memcpy(m.b, own.b, (size_t)g.k * sizeof(double));
    for (int64_t j = 0, k = 0; j < x.cols; j++)
        if (keep[j]) memcpy(ROW(m.w, j), ROW(own.w, k++), (size_t)g.k * sizeof(double));
    scope_release(s, mark);
    return m;
}

/* ---- split-half reliability ---- */

typedef struct ranked {
    double mass;
    uint64_t key;
    int64_t column;
} ranked;

static int in_order(const void *a, const void *b)
{
    const ranked *x = a, *y = b;

    if (x->mass != y->mass) return x->mass < y->mass ? 1 : -1;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return x->column < y->column ? -1 : 1;
}

/* half[j] <- 1 or 2 in turn: words by how frequent they are, other features by chance (a hash of their names). */
static uint8_t *halves(scope *s, const chain *h, int i)
{
    const problem *p = h->p;
    const bool words = p->d[i].words;
    const uint8_t *used = columns_used(s, p->d[i].x);
    const double *sum = mass(s, h->at[i].x, NULL);
    ranked *all = NEW(s, ranked, p->cols);
    uint8_t *half = NEW(s, uint8_t, p->cols);
    double most = 0;
    int64_t n = 0;

    for (int64_t j = 0; j < p->cols; j++)
        most = fmax(most, sum[j]);
    for (int64_t j = 0; j < p->cols; j++)
        if (words) /* sums that differ by rounding alone are equal */
            all[n++] = (ranked){most > 0 ? floor(sum[j] / most * 1e11 + 0.5) : 0, 0, j};
        else if (used[j])
            all[n++] = (ranked){0, p->column_key[j], j};
    if (n > 0) qsort(all, (size_t)n, sizeof *all, in_order);
    for (int64_t j = 0; j < n; j++)
        half[all[j].column] = j % 2 == 0 ? 1 : 2;
    return half;
}

/* kappa on the rows without a known label; 0 where that is within two deviations of chance and known rows were left out. */
static double agreement(scope *s, const domain *d, const int32_t *a, const int32_t *b,
                        int64_t c)
{
    int32_t *x = NEW(s, int32_t, d->x.n), *y = NEW(s, int32_t, d->x.n);
    int64_t n = 0;

    for (int64_t r = 0; r < d->x.n; r++)
        if (d->known[r] < 0) x[n] = a[r], y[n++] = b[r];
    const double kappa = cohen_kappa(s, d->rows, n, x, y, c);
    return d->labelled > 0 && kappa < 2 / sqrt((double)(d->x.rows.n - d->labelled)) ? 0
                                                                                    : kappa;
}

/* beta 0: labels are not refined. */
static reliability split_half(scope *s, const chain *h, int i, double beta)
{
    const domain *d = &h->p->d[i];
    const matrix x = h->at[i].x;
    const int64_t c = h->p->classes, n = d->x.n;
    int32_t *before[2] = {NULL, NULL}, *after[2] = {NULL, NULL};
    reliability r = {0};

    if (d->labelled == d->x.rows.n)
        return (reliability){1, 1, 1, NULL}; /* nothing to ask */
    if (h->traced) r.y = NEW(s, int32_t, 4 * n);
    const int64_t mark = scope_mark(s);
    const uint8_t *half = halves(s, h, i);
    for (int k = 0; k < 2; k++) {
        uint8_t *within = NEW(s, uint8_t, h->p->cols);
        const block g = block_like(s, h->at[i].g);
        for (int64_t j = 0; j < h->p->cols; j++)
            within[j] = half[j] == k + 1;
        (void)propagate(s, h, i, within, g);
        before[k] = argmax(s, g);
        if (beta > 0 && d->words)
            (void)em_words(s, h, take_columns(s, x, within, h->p->unit), d->known, beta, g);
        else if (beta > 0)
            (void)em_rows(s, x, within, d->known, g);
        after[k] = argmax(s, g);
        if (!r.y) continue;
        memcpy(r.y + k * n, before[k], (size_t)n * sizeof *r.y);
        memcpy(r.y + (2 + k) * n, after[k], (size_t)n * sizeof *r.y);
    }
    r.before = agreement(s, d, before[0], before[1], c);
    if (beta > 0) {
        r.after = agreement(s, d, after[0], after[1], c);
        r.crossed = 0.5 * (agreement(s, d, after[0], before[1], c) +
                           agreement(s, d, after[1], before[0], c));
    }
    scope_release(s, mark);
    return r;
}

/* ---- refine or not ---- */

/* Sharp labels need many rows. */
static double usual_beta(const ttl_options *o, int64_t n)
{
    const double beta = o->beta > 0 ? o->beta : 6;

    return fmin(beta, fmax(fmin(1, beta), beta * (double)n / 800));
}

/* Words are always refined. beta 1 suits topics, also of unequal classes, and would lose opinions: it is taken where
 * its halves agree better and the crossed agreement is not clearly worse. */
static classifier refine_words(scope *s, const chain *h, int i)
{
    const domain *d = &h->p->d[i];
    const bool target = i == h->p->n - 1;
    step *t = &h->at[i];

    t->beta = h->o->refine != REFINE_NO ? usual_beta(h->o, d->x.rows.n) : 0;
    const bool choose = h->o->beta == 0 && t->beta > 1;
    if (!target || h->o->report || choose) t->r = split_half(s, h, i, t->beta);
    if (choose) {
        const reliability mild = split_half(s, h, i, 1);
        const double chance = 2 / sqrt((double)(d->x.rows.n - d->labelled));
        if (mild.after > t->r.after && mild.crossed > t->r.crossed - chance)
            t->beta = 1, t->r = mild;
    }
    t->refined = t->beta > 0;
    return t->refined ? em_words(s, h, t->x, d->known, t->beta, t->g) : (classifier){0};
}

/* What EM makes of labels y that are right: the smaller kappa, of labels by cross-validation and of these with 30 % wrong. */
static double fidelity_of(scope *s, const chain *h, int j, const int32_t *y,
                          const uint8_t *within, double C)
{
    const domain *d = &h->p->d[j];
    const int64_t c = h->p->classes;
    const block g = block_like(s, h->at[j].g);
    int64_t *rows = NEW(s, int64_t, d->x.n), n = 0;
    int32_t *truth = NEW(s, int32_t, d->x.n);
    double least = 1;

    for (int64_t r = 0; r < d->x.n; r++)
        if (y[r] >= 0) truth[n] = y[r], rows[n++] = r;
    const matrix x = take_rows(s, h->at[j].x, n, rows, false);
    if (x.rows.n < 2) return 0;
    cross_validate(s, h, j, y, within, C, g);
    const pca a = principal_axes(s, take_columns(s, x, within, false));
    for (int wrong = 0; wrong < 2; wrong++) {
        const block start = block_new(s, x.rows, n, c);
        for (int64_t r = 0; r < n; r++)
            memcpy(ROW(start, r), ROW(g, rows[r]), (size_t)c * sizeof(double));
        const int32_t *label = argmax(s, start);
        for (int64_t r = 0; wrong && r < n; r++) {
            const uint64_t key = d->key[rows[r]];
            const bool flip = (double)(key >> 11) * 0x1p-53 < 0.3;
            const int64_t to =
                label[r] + (flip ? 1 + (int64_t)(key % (uint64_t)(c - 1)) : 0);
            for (int64_t k = 0; k < c; k++)
                ROW(start, r)[k] = (double)(k == to % c);
        }
        (void)em_gaussian(s, &a, NULL, start);
        least = fmin(least, cohen_kappa(s, d->rows, n, argmax(s, start), truth, c));
    }
    return least;
}

/* The same of what trained domain i: the last domain before it that shares columns, else the sources, by their rows. */
static double fidelity(scope *s, const chain *h, int i)
{
    const problem *p = h->p;
    const uint8_t *used = columns_used(s, p->d[i].x);
    double sum = 0, rows = 0;

    for (int j = i - 1; j >= 0 && (rows == 0 || j < p->n_sources); j--) {
        uint8_t *within = columns_used(s, p->d[j].x);
        bool any = false;
        for (int64_t k = 0; k < p->cols; k++)
            any = (within[k] = within[k] && used[k]) || any;
        if (!any) continue;
        const int64_t mark = scope_mark(s);
        const double n = (double)p->d[j].x.rows.n;
        const int32_t *y = j < p->n_sources ? p->d[j].known : argmax(s, h->at[j].g);
        sum += n * fidelity_of(s, h, j, y, within, h->at[i].C);
        rows += n;
        scope_release(s, mark);
        if (j >= p->n_sources) break;
    }
    return rows > 0 ? sum / rows : 0;
}

/* kappa of refined labels with the propagated ones, freed of what these think is frequent: argmax of log G less its
 * column means. */
static double names_kept(scope *s, block before, block after)
{
    const block log_g = block_like(s, before);
    double *mean = NEW(s, double, before.k);

    for (int64_t e = 0; e < before.n * before.k; e++)
        log_g.at[e] = log(fmax(before.at[e], 1e-12));
    column_sums(s, log_g, mean);
    for (int64_t e = 0; e < before.n * before.k; e++)
        log_g.at[e] -= mean[e % before.k] / (double)before.rows.n;
    return cohen_kappa(s, before.rows, before.n, argmax(s, after), argmax(s, log_g),
                       before.k);
}

/* EM is right where classes are clusters and ruinous where they are not. Three checks that use no label of the domain,
 * the dearest last:
 *   stable     the halves agree after EM: kappa >= 0.9
 *   names      propagated labels still call the clusters by these names: kappa >= max(0.25, 4 / sqrt n)
 *   clusters   EM finds the classes where they are known: fidelity x stable > agreement of the halves before EM
 * That refined halves agree says nothing by itself, and nothing here can see a start that is worse than chance. */
static classifier refine_rows(scope *s, const chain *h, int i)
{
    const domain *d = &h->p->d[i];
    step *t = &h->at[i];
    const bool can = h->o->refine != REFINE_NO && d->x.rows.n > 0 &&
                     d->labelled < d->x.rows.n,
               ask = h->o->refine == REFINE_AUTO;

    t->r = split_half(s, h, i, can);
    if (can) t->stable = t->r.after;
    if (!can || (ask && t->stable < 0.9)) return (classifier){0};
    const block g = block_like(s, t->g);
    copy(t->g, g);
    const classifier m = em_rows(s, t->x, columns_used(s, d->x), d->known, g);
    t->names = names_kept(s, t->g, g);
    t->refined = !ask || t->names >= fmax(0.25, 4 / sqrt((double)d->x.rows.n));
    if (ask && t->refined) {
        t->clusters = fidelity(s, h, i);
        t->refined = t->clusters * t->stable > t->r.before;
    }
    if (!t->refined) return (classifier){0};
    copy(g, t->g);
    return m;
}

/* ---- the report ---- */

static void warn_low(scope *s, const char *what, double kappa, const char *name, int64_t n,
                     const char *meaning)
{
    if (kappa < 4 / sqrt((double)(n > 0 ? n : 1)))
        warn(s, "%s %.2f of '%s' is no more than chance: %s", what, kappa, name, meaning);
}

/* kappa of cross-validation inside a source, on the features that the next domain has. */
static double source_kappa(scope *s, const chain *h, int i)
{
    const problem *p = h->p;
    const domain *d = &p->d[i];
    const uint8_t *within = columns_used(s, p->d[p->n_sources].x);
    const block g = block_like(s, h->at[i].g);
    int32_t *a = NEW(s, int32_t, d->x.n), *b = NEW(s, int32_t, d->x.n);
    int64_t n = 0;

    cross_validate(s, h, i, d->known, within, h->at[p->n_sources].C, g);
    const int32_t *y = argmax(s, g);
    for (int64_t r = 0; r < d->x.n; r++)
        if (d->known[r] >= 0) a[n] = y[r], b[n++] = d->known[r];
    return cohen_kappa(s, d->rows, n, a, b, p->classes);
}

/* It changes no prediction. */
static void report(scope *s, const chain *h)
{
    const problem *p = h->p;
    const int last = p->n - 1, first = p->n_sources;
    double *x = NEW(s, double, p->n), *before = NEW(s, double, p->n),
           *crossed = NEW(s, double, p->n);

    for (int i = 0; i < first; i++) {
        x[i] = source_kappa(s, h, i);
        warn_low(s, "source_kappa", x[i], p->d[i].name, p->d[i].labelled,
                 "its labels cannot be learned from the features that the next domain has");
    }
    for (int i = first; i <= last; i++) {
        x[i] = i < last ? h->at[i].w : h->at[i].r.after;
        before[i] = h->at[i].r.before;
        crossed[i] = h->at[i].r.crossed;
    }
    report_reals(s, "source_kappa", first, x);
    report_reals(s, "bridge_reliability", last - first, x + first);
    report_real(s, "reliability", x[last]);
    report_reals(s, "agreement_before", last - first + 1, before + first);
    report_reals(s, "agreement_crossed", last - first + 1, crossed + first);
    warn_low(s, "reliability", x[last], p->d[last].name,
             p->d[last].rows.n - p->d[last].labelled,
             "two halves of its features give labels that do not agree");
}

/* Whether the target was refined, and the numbers of its checks. */
static void report_refined(scope *s, const chain *h)
{
    const domain *d = target(h->p);
    const step *t = &h->at[h->p->n - 1];

    report_text(s, "refined", t->refined ? "yes" : "no");
    report_real(s, "beta", t->beta);
    if (d->words) return;
    report_real(s, "stable", t->stable);
    report_real(s, "names", t->names);
    report_real(s, "clusters", t->clusters);
    if (t->refined && h->o->report)
        warn(
            s,
            "'%s' was refined: its clusters were found without labels and are named by the "
            "propagated ones; were those worse than chance the result is worse still, and no "
            "check sees it",
            d->name);
}

/* How much each feature says in all about a class. */
static void report_features(scope *s, const chain *h, const classifier *m)
{
    const problem *p = h->p;
    const int64_t c = p->classes;
    const double *all = mass(s, h->at[p->n - 1].x, NULL);
    double *score = NEW(s, double, p->cols *c);

    for (int64_t j = 0; m->w.at && j < p->cols; j++)
        for (int64_t k = 0; k < c;
             k++) /* of two classes a regression has weights of the second alone */
            score[j * c + k] =
                all[j] * (c == 2 && k == 0 && m->keep ? -ROW(m->w, j)[1] : ROW(m->w, j)[k]);
    report_top_columns(s, p, "top_features", p->names, c, score);
}

/* ---- all of it ---- */

/* From the sources to the target; what is left there. */
static classifier run_chain(scope *s, const chain *h)
{
    const problem *p = h->p;
    classifier last = {0};

    for (int i = 0; i < p->n; i++) {
        step *t = &h->at[i];
        t->x = p->unit ? take_rows(s, p->d[i].x, -1, NULL, true) : p->d[i].x;
        t->g = one_hot(s, t->x.rows, t->x.n, p->d[i].known, p->classes);
        t->stable = t->names = t->clusters = NAN;
        t->C = h->o->C;
        if (i < p->n_sources) {
            t->w = 1;
            continue;
        }
        last = propagate(s, h, i, NULL, t->g);
        if (last.C > 0) t->C = last.C; /* its halves are learned alike */
        if (h->traced) t->propagated = argmax(s, t->g);
        if (last.shared == 0) {
            warn(s, "'%s' shares no feature with what came before: its labels are a guess",
                 p->d[i].name);
            continue;
        }
        const classifier em = p->d[i].words ? refine_words(s, h, i) : refine_rows(s, h, i);
        if (!t->refined) t->r.after = t->r.before;
        t->w = fmax(h->o->least_weight, t->r.after);
        if (t->refined) last = em;
        (void)progress(s, "ttl", i - p->n_sources + 1, p->n - p->n_sources, NAN);
    }
    last.unit = p->unit;
    return last;
}

static void ttl_fit(scope *s, scope *keep, const problem *p, const void *options,
                    void *state)
{
    const chain h = {.o = options, .p = p, .at = NEW(s, step, p->n)};
    const classifier last = run_chain(s, &h);

    if (h.o->report) report(s, &h);
    report_refined(s, &h);
    report_features(s, &h, &last);
    classifier_keep(keep, p, &last, state);
}

/* What was not refined counts as refined to where it was propagated. */
static void ttl_trace(scope *s, const problem *p, const void *options, label_trace *to)
{
    ttl_options o = *(const ttl_options *)options;
    const chain h = {.o = &o, .p = p, .at = NEW(s, step, p->n), .traced = true};
    const step *t = &h.at[p->n - 1];
    const int64_t n = target(p)->n;
    const size_t size = (size_t)n * sizeof *to->label;

    o.report = to->half != NULL;
    (void)run_chain(s, &h);
    memcpy(to->propagated, t->propagated, size);
    memcpy(to->label, argmax(s, t->g), size);
    if (!to->half || !t->r.y) return;
    memcpy(to->half, t->r.y, 4 * size);
    if (!t->refined) memcpy(to->half + 2 * n, t->r.y, 2 * size);
    to->target = t->r.after;
    to->source = to->bridge = 1;
    for (int i = 0; i < p->n_sources; i++)
        to->source = fmin(to->source, source_kappa(s, &h, i));
    for (int i = p->n_sources; i < p->n - 1; i++)
        to->bridge = fmin(to->bridge, h.at[i].w);
}

const method method_ttl = {
    .name = "ttl",
    .summary = "transitive transfer: labels go over intermediate domains to the target",
    .reference = "Tan, Song, Zhong, Yang, Transitive Transfer Learning, KDD 2015",
    .kind = FERRY_KIND_TRANSFER,
    .family = FERRY_FAMILY_PATH,
    .goals = FERRY_CLASSIFY,
    .needs = FERRY_NEED_SOURCE_LABELS | FERRY_NEED_TARGET_VIEW | FERRY_NEED_PATH,
    .wants = {.as = CHAIN, .domains = WANT_SOURCES | WANT_BRIDGES | WANT_TARGET},
    METHOD_OPTIONS(ttl_opts, ttl_options),
    .state = &classifier_table,
    .fit = ttl_fit,
    .trace = ttl_trace,
    .scores = classifier_answer,
};
