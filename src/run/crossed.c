/* The crossed variance of a gain over repeats and instances, and the randomisation test.
 *
 * D[r,i] is the difference of instance i in repeat r, d_r the mean of a repeat, c_i how often i was
 * scored, n instances, nt of them in a repeat, L labels in a hand (task/split.c), D hands in a deck:
 *
 *   b_i = mean_r D[r,i] - mean of d_r over the repeats that scored i
 *   vb  = max(sum b^2 / (n - 1), max |D|^2 / n)       one instance's worth at least
 *   se2 = sum (D - d_r - b_i)^2 / (cells - R - n + 1)
 *   sb2 = max(0, vb - se2 / harmonic mean of c)
 *   h_r = mean of b_i over what r scored,  a_r = d_r - h_r - mu      what rows, and what labels did
 *   sl2 = max(0, var(a) - se2 / nt)
 *   o   = mean over pairs of repeats of the share of visible labels that both have
 *   phi = share of the labels' effect that is a sum over labels (below),  k = phi o / (1 - phi o)
 *   C   = -cov(a, h) within 0 and sqrt(sl2 (1 / R + k) sb2 / n)
 *   Va  = var(a) / R + sl2 k + 2 C;   Vb = max(sb2, max |D|^2 / n) / n;   V = Va + Vb
 *   df by Satterthwaite: R - 1 for Va, n - 1 for Vb
 *
 * sl2 k is what other visible labels from new data would change besides: repeats that share labels
 * are no independent draws of them (Nadeau and Bengio's correction of repeated splits, for the repeats' share alone).
 * Only what is a sum over labels is shared with them: where two decks are complete, the variance
 * s_m^2 of their means (with its lower 80 % limit) against that within decks, s_w^2, says how much that is,
 * phi = 1 - D s_m^2 / s_w^2 over D L / n, since means of decks would be equal if it were all.
 * A row that lies badly misleads when it is visible and a hard question when it is not, so in
 * new data what labels and what rows do goes together (C > 0), and in repeats of one pool against each
 * other: what is visible is not scored.
 * With the same labels in every repeat k = C = 0, Va = s2 / R with the variance s2 of d_r, Vb = vb / n; where
 * a repeat also draws the order of the rows, Vb is that of sb2 all the same, since se2 is in Va.
 * Ratings of one user, or of one item, go together: Vb is then two-way cluster-robust (Cameron,
 * Gelbach and Miller 2011). */
#include <math.h>
#include <string.h>

#include "run/statistics.h"

/* ---- components ---- */

/* Means of the repeats, packed over those that scored anything; returns how many. */
static int64_t repeat_means(const ferry_differences *in, const double **row, double *mean,
                            int64_t *cells)
{
    int64_t n = 0;

    *cells = 0;
    for (int64_t r = 0; r < in->repeats; r++) {
        const double *d = in->diff + r * in->n;
        double sum = 0;
        int64_t count = 0;
        for (int64_t i = 0; i < in->n; i++)
            if (!isnan(d[i])) {
                sum += d[i];
                count++;
            }
        if (count == 0) continue;
        row[n] = d;
        mean[n++] = sum / (double)count;
        *cells += count;
    }
    return n;
}

/* effect[i] = b_i, NaN where never scored; the sum of 1 / c_i comes back. */
static double effects(const ferry_differences *in, int64_t repeats,
                      const double *const *row, const double *mean, double *effect,
                      int64_t *used)
{
    double inverse = 0;

    *used = 0;
    for (int64_t i = 0; i < in->n; i++) {
        double own = 0, all = 0;
        int64_t c = 0;
        for (int64_t r = 0; r < repeats; r++)
            if (!isnan(row[r][i])) {
                own += row[r][i];
                all += mean[r];
                c++;
            }
        effect[i] = c > 0 ? own / (double)c - all / (double)c : NAN;
        if (c == 0) continue;
        inverse += 1 / (double)c;
        ++*used;
    }
    return inverse;
}

double ferry_i_overlap(int64_t repeats, int64_t n, const uint8_t *seen)
{
    double pairs = 0, labels = 0;

    for (int64_t i = 0; i < n; i++) {
        double c = 0;
        for (int64_t r = 0; r < repeats; r++)
            c += seen[r * n + i] != 0;
        pairs += c * (c - 1);
        labels += c;
    }
    return repeats > 1 && labels > 0 ? pairs / ((double)(repeats - 1) * labels) : 0;
}

/* The 80 % point of chi-square, by Wilson and Hilferty. */
static double chi2_80(double nu)
{
    return nu * pow(1 - 2 / (9 * nu) + 0.8416212335729143 * sqrt(2 / (9 * nu)), 3);
}

double ferry_i_linear_share(int64_t repeats, const double *a, int64_t hands, double labels,
                            double n)
{
    const int64_t decks = hands > 0 ? repeats / hands : 0;
    double within = 0, sum = 0, square = 0;

    if (decks < 2 || hands < 2) return 1;
    for (int64_t m = 0; m < decks; m++) {
        const double mean = ferry_i_mean(hands, a + m * hands);
        for (int64_t j = 0; j < hands; j++)
            within += pow(a[m * hands + j] - mean, 2);
        sum += mean;
    }
    for (int64_t m = 0; m < decks; m++)
        square += pow(ferry_i_mean(hands, a + m * hands) - sum / (double)decks, 2);
    within /= (double)(decks * (hands - 1));
    if (!(within > 0)) return 1;
    const double between = square / chi2_80((double)(decks - 1)), d = (double)hands;
    return fmin(fmax((1 - d * between / within) / (d * labels / n), 0), 1);
}

static void components(const ferry_differences *in, int64_t cells, const double *const *row,
                       const double *mean, const double *effect, double inverse,
                       ferry_crossed *c)
{
    double most = 0, squares = 0, rest = 0;
    const double n = (double)c->n, s = ferry_i_std(c->repeats, mean);

    for (int64_t i = 0; i < in->n; i++) {
        if (isnan(effect[i])) continue;
        squares += effect[i] * effect[i];
        for (int64_t r = 0; r < c->repeats; r++) {
            if (isnan(row[r][i])) continue;
            const double e = row[r][i] - mean[r] - effect[i];
            most = fmax(most, fabs(row[r][i]));
            rest += e * e;
        }
    }
    const int64_t left = cells - c->repeats - c->n + 1;
    c->mu = ferry_i_mean(c->repeats, mean);
    c->scored = (double)cells / (double)c->repeats;
    c->vb = fmax(c->n > 1 ? squares / (n - 1) : 0, most * most / n);
    c->se2 = c->repeats > 1 && left > 0 ? rest / (double)left : 0;
    c->s2 = s * s;
    c->sb2 = fmax(c->vb - (c->repeats > 1 ? c->se2 * inverse / n : 0), 0);
    if (in->ordered || (!in->fixed && c->repeats > 1))
        c->vb = fmax(c->sb2, most * most / n);
}

/* a[r]: what the labels of a repeat did apart from the rows that they left to be scored; the covariance of the two. */
static double split_means(const ferry_differences *in, const double *const *row,
                          const double *mean, const double *effect, int64_t repeats,
                          double mu, double *a)
{
    const double n = (double)repeats;
    double sum[2] = {0, 0}, both = 0;

    for (int64_t r = 0; r < repeats; r++) {
        double h = 0, count = 0;
        for (int64_t i = 0; i < in->n; i++) {
            if (isnan(row[r][i])) continue;
            h += effect[i];
            count++;
        }
        h /= count;
        a[r] = mean[r] - h - mu; /* about 0, for the sums' sake */
        sum[0] += a[r];
        sum[1] += h;
        both += a[r] * h;
    }
    return (both - sum[0] * sum[1] / n) / (n - 1);
}

/* Labels that a repeat saw; of folds those that it hid. */
static double hand_size(const ferry_differences *in, double scored)
{
    double sum = 0;

    if (in->folds) return scored;
    for (int64_t i = 0; in->seen && i < in->repeats * in->n; i++)
        sum += in->seen[i] != 0;
    return sum / (double)in->repeats;
}

/* The part of the labels. */
static void label_part(const ferry_differences *in, const double *const *row,
                       const double *mean, const double *effect, double *a,
                       ferry_crossed *c)
{
    const double n = (double)c->n, repeats = (double)c->repeats;

    c->folds = in->folds;
    c->labels = hand_size(in, c->scored);
    c->va = c->s2 / repeats;
    if (in->fixed || c->repeats < 2) return;
    const double cov = split_means(in, row, mean, effect, c->repeats, c->mu, a);
    const double own = pow(ferry_i_std(c->repeats, a), 2);
    double o = in->seen ? ferry_i_overlap(in->repeats, in->n, in->seen) : 0;
    if (o > 0 && c->repeats == in->repeats)
        o *= ferry_i_linear_share(c->repeats, a, in->hands, c->labels, n);
    o = fmin(o, 0.99);
    c->k = o / (1 - o);
    c->sl2 = fmax(own - c->se2 / c->scored, 0);
    c->c = fmin(fmax(-cov, 0), sqrt(c->sl2 * (1 / repeats + c->k) * c->sb2 / n));
    c->va = own / repeats + c->sl2 * c->k + 2 * c->c;
}

/* ---- variance ---- */

/* Variance of the mean effect with clusters; their number less one in *df. */
static ferry_status clustered(ferry_ctx *ctx, int64_t n, const double *effect,
                              const int32_t *cluster, double *variance, double *df)
{
    ferry_status st = FERRY_OK;
    double *sum = NULL, mean = 0, used = 0, clusters = 0, total = 0;
    uint8_t *met = NULL;
    int64_t most = 0;

    for (int64_t i = 0; i < n; i++) {
        if (cluster[i] > most) most = cluster[i];
        if (isnan(effect[i])) continue;
        mean += effect[i];
        used++;
    }
    FERRY_NEW(ctx, sum, most + 1);
    FERRY_NEW(ctx, met, most + 1);
    for (int64_t i = 0; i < n; i++) {
        if (isnan(effect[i])) continue;
        sum[cluster[i]] += effect[i] - mean / used;
        clusters += !met[cluster[i]];
        met[cluster[i]] = 1;
    }
    for (int64_t k = 0; k <= most; k++)
        total += sum[k] * sum[k];
    *df = clusters - 1;
    *variance = clusters > 1 ? total / (used * used) * clusters / (clusters - 1) : 0;
done:
    ferry_i_free(sum);
    ferry_i_free(met);
    return st;
}

/* The variance that rows bring, and its degrees of freedom. */
static ferry_status row_variance(ferry_ctx *ctx, const ferry_differences *in,
                                 const double *effect, const ferry_crossed *c, double *v,
                                 double *df)
{
    ferry_status st = FERRY_OK;
    const double cell = c->vb / (double)c->n;
    double one = 0, other = 0, left = 0;

    *v = cell;
    *df = (double)(c->n - 1);
    if (!in->cluster[0]) goto done;
    FERRY_TRY(clustered(ctx, in->n, effect, in->cluster[0], &one, df));
    *v = one;
    if (!in->cluster[1]) goto done;
    FERRY_TRY(clustered(ctx, in->n, effect, in->cluster[1], &other, &left));
    *v = fmax(fmax(one + other - cell, cell), fmax(one, other));
    *df = fmin(*df, left);
done:
    return st;
}

/* Standard error, interval and p-values. */
static void conclude(double rows, double rows_df, ferry_crossed *c)
{
    const double r = (double)c->repeats, own = c->va, v = own + rows;
    const double parts = (r > 1 ? own * own / (r - 1) : 0) + rows * rows / rows_df;

    c->v = v;
    c->vr = rows;
    c->se = sqrt(v);
    c->df = NAN;
    c->low = c->high = c->bound = c->mu;
    c->most = fabs(c->mu);
    c->p_better = c->p_worse = 1;
    if (!(v > 0)) return;
    c->df = parts > 0 ? v * v / parts : INFINITY;
    if (!(c->df > 0)) { /* one instance, user or item: nothing can be told */
        c->low = -INFINITY;
        c->high = c->most = INFINITY;
        c->bound = c->mu > 0 ? c->low : c->high;
        return;
    }
    const double half = ferry_i_student_t(0.05, c->df) * c->se;
    const double less = ferry_i_student_t(0.1, c->df) * c->se;
    c->low = c->mu - half;
    c->high = c->mu + half;
    c->bound = c->mu - (c->mu > 0 ? less : -less);
    c->most = fmax(fabs(c->mu - less), fabs(c->mu + less));
    c->p_better = ferry_i_student_above(c->mu / c->se, c->df);
    c->p_worse = ferry_i_student_above(-c->mu / c->se, c->df);
}

ferry_status ferry_i_crossed(ferry_ctx *ctx, const ferry_differences *in,
                             ferry_crossed *out)
{
    ferry_status st = FERRY_OK;
    const double **row = NULL;
    double *mean = NULL, *effect = NULL, *a = NULL, rows = 0, df = 0;
    int64_t cells = 0;

    *out = (ferry_crossed){.mu = NAN,
                           .se = NAN,
                           .df = NAN,
                           .low = NAN,
                           .high = NAN,
                           .bound = NAN,
                           .most = NAN,
                           .p_better = 1,
                           .p_worse = 1};
    FERRY_NEW(ctx, row, in->repeats);
    FERRY_NEW(ctx, mean, in->repeats);
    FERRY_NEW(ctx, effect, in->n);
    FERRY_NEW(ctx, a, in->repeats);
    out->repeats = repeat_means(in, row, mean, &cells);
    if (out->repeats == 0) goto done;
    const double inverse = effects(in, out->repeats, row, mean, effect, &out->n);
    components(in, cells, row, mean, effect, inverse, out);
    label_part(in, row, mean, effect, a, out);
    FERRY_TRY(row_variance(ctx, in, effect, out, &rows, &df));
    conclude(rows, df, out);
    if (in->effect) memcpy(in->effect, effect, (size_t)in->n * sizeof *effect);
    for (int64_t r = 0; in->mean && r < in->repeats; r++)
        in->mean[r] = NAN;
    for (int64_t k = 0; in->mean && k < out->repeats; k++)
        in->mean[(row[k] - in->diff) / in->n] = mean[k];
done:
    ferry_i_free((void *)row);
    FERRY_FREE(mean, effect, a);
    return st;
}

/* ---- what would be needed ---- */

/* V with other repeats and rows: within a deck labels are independent draws, and more decks than one tell nothing new of
 * them. */
static double variance_with(const ferry_crossed *c, double repeats, double n)
{
    const double few = fmax(c->labels, 1), old = (double)c->n;
    const double hands = c->folds ? fmax(1, floor(old / few)) : fmax(1, floor(n / few));
    const double scored = c->folds ? n * c->scored / old : fmax(n - c->labels, 1);
    const double labels = c->sl2 / (repeats <= hands ? repeats : hands);

    return labels + c->sb2 / n + c->se2 / (repeats * scored) + 2 * c->c * old / n;
}

void ferry_i_crossed_needed(const ferry_crossed *c, double level, int64_t *repeats,
                            int64_t *rows)
{
    enum { MOST = 200, TIMES = 100, DF = 30 };
    static const double lost = 0.2; /* 1 - power */
    const double z = ferry_i_student_t(2 * level, DF) + ferry_i_student_t(2 * lost, DF);
    const double gain = fabs(c->mu);

    *repeats = *rows = 0;
    if (!(gain > 0)) return;
    for (int64_t r = c->repeats + 1; r <= MOST;) {
        if (gain > z * sqrt(variance_with(c, (double)r, (double)c->n))) {
            *repeats = r;
            return;
        }
        const int64_t more = (int64_t)ceil((double)r * 1.1);
        r = more > r + 1 ? more : r + 1;
    }
    for (int64_t n = c->n + 1; n <= TIMES * c->n; n = (int64_t)ceil((double)n * 1.1))
        if (gain > z * sqrt(variance_with(c, (double)c->repeats, (double)n))) {
            *rows = n;
            return;
        }
}

/* ---- who is primary ---- */

ferry_status ferry_i_primary_cells(ferry_ctx *ctx, int64_t repeats, int64_t n,
                                   int64_t methods, const double *cv, const uint8_t *seen,
                                   int32_t *cell)
{
    ferry_status st = FERRY_OK;
    double *sum = NULL;
    int64_t *lacks = NULL;

    FERRY_NEW(ctx, sum, methods);
    FERRY_NEW(ctx, lacks, methods);
    for (int64_t i = 0; i < n; i++) {
        int64_t left = 0;
        for (int64_t m = 0; m < methods; m++) {
            sum[m] = 0;
            lacks[m] = 0;
        }
        for (int64_t s = 0; s < repeats; s++) {
            left += !seen[s * n + i];
            for (int64_t m = 0; m < methods && !seen[s * n + i]; m++) {
                lacks[m] += isnan(cv[s * methods + m]);
                sum[m] += isnan(cv[s * methods + m]) ? 0 : cv[s * methods + m];
            }
        }
        for (int64_t r = 0; r < repeats; r++) {
            const bool own = !seen[r * n + i]; /* its scores are among the sums */
            double most = 0;
            int64_t least = 0;
            cell[r * n + i] = -1;
            for (int64_t m = 0; m < methods && left > own; m++) {
                const double x = cv[r * methods + m];
                const int64_t without = lacks[m] - (own && isnan(x));
                const double total = sum[m] - (own && !isnan(x) ? x : 0);
                if (cell[r * n + i] >= 0 &&
                    (without > least || (without == least && !(total > most + 1e-9))))
                    continue;
                cell[r * n + i] = (int32_t)m;
                most = total;
                least = without;
            }
        }
    }
done:
    ferry_i_free(sum);
    ferry_i_free(lacks);
    return st;
}

/* ---- made-up sources ---- */

double ferry_i_worth(double own, int64_t draws, const double *drawn, double *half)
{
    const double k = (double)draws;

    *half = NAN;
    if (draws < 2) return NAN;
    *half = ferry_i_student_t(0.05, k - 1) * ferry_i_std(draws, drawn) * sqrt(1 + 1 / k);
    return own - ferry_i_mean(draws, drawn);
}

/* ---- the randomisation test ---- */

/* z[k], k = 0 the task itself, of a method over it and its draws of a control; false: they are all equal. */
static bool standardise(int64_t methods, int64_t draws, double own, const double *drawn,
                        double side, double *z)
{
    z[0] = side * own;
    for (int64_t k = 0; k < draws; k++)
        z[k + 1] = side * drawn[k * methods];
    const double mean = ferry_i_mean(draws + 1, z), sd = ferry_i_std(draws + 1, z);
    for (int64_t k = 0; k <= draws; k++)
        z[k] = sd > 1e-12 ? (z[k] - mean) / sd : 0;
    return sd > 1e-12;
}

ferry_status ferry_i_max_t(ferry_ctx *ctx, int64_t methods, int64_t draws,
                           const double *own, const double *drawn, double side, double *p)
{
    ferry_status st = FERRY_OK;
    double *z = NULL, *best = NULL;

    FERRY_NEW(ctx, z, draws + 1);
    FERRY_NEW(ctx, best, draws + 1);
    for (int64_t k = 0; k <= draws; k++)
        best[k] = -INFINITY;
    for (int64_t m = 0; m < methods; m++) {
        (void)standardise(methods, draws, own[m], drawn + m, side, z);
        for (int64_t k = 1; k <= draws; k++)
            best[k] = fmax(best[k], z[k]);
    }
    for (int64_t m = 0; m < methods; m++) {
        int64_t as_good = 1;
        p[m] = 1;
        if (!standardise(methods, draws, own[m], drawn + m, side, z)) continue;
        for (int64_t k = 1; k <= draws; k++)
            as_good += best[k] >= z[0] - 1e-9;
        p[m] = (double)as_good / (double)(draws + 1);
    }
done:
    ferry_i_free(z);
    ferry_i_free(best);
    return st;
}
