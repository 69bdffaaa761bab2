/* The crossed variance of a gain over repeats and instances, and the randomisation test.
 *
 * D[r,i] is the difference of instance i in repeat r, d_r the mean of a repeat, c_i how often i was
 * scored, n instances, nt of them in a repeat, L visible labels:
 *
 *   b_i = mean_r D[r,i] - mean of d_r over the repeats that scored i
 *   vb  = max(sum b^2 / (n - 1), max |D|^2 / n)       one instance's worth at least
 *   se2 = sum (D - d_r - b_i)^2 / (cells - R - n + 1)
 *   sb2 = max(0, vb - se2 / harmonic mean of c)
 *   sa2 = max(0, s2 - se2 / nt - sb2 (1 - nt / n) / nt),      s2 the variance of d_r
 *   h_r = mean of b_i over what r scored,  a_r = d_r - h_r       what rows, and what labels did
 *   sl2 = max(0, var(a) - se2 / nt),  C = -cov(a, h) within 0 and sqrt(sl2 k sb2 / n)
 *   Va  = s2 / R + sl2 k,  k = L / nt or 0 when the split is fixed;  Vb = vb / n
 *   V   = Va + Vb + 2 C,        df by Satterthwaite: R - 1 for Va + 2 C, n - 1 for Vb
 *
 * sl2 k is what other visible labels from new data would change besides: the repeats drew theirs
 * from one pool (Nadeau and Bengio's correction of repeated splits, for the repeats' share alone).
 * A row that lies badly is a bad teacher when it is visible and a hard question when it is not, so in
 * new data what labels and what rows do goes together (C > 0), and in repeats of one pool against each
 * other: what is visible is not scored. sa2 takes the rows' share out as if there were no such thing
 * and comes out too small; with it and a correlation of .25, as first written, two equal learners of
 * 60 rows were told apart in 11 % of the pools.
 * Va and Vb both hold se2's part, which is small where a repeat only draws labels. In a stream it
 * also draws the order, which is most of the variance, and counting it twice made intervals that
 * never missed (200 of 200): Vb is then that of sb2, with the same floor.
 * Ratings of one user, or of one item, go together: Vb is then two-way cluster-robust (Cameron,
 * Gelbach and Miller 2011). */
#include <math.h>
#include <string.h>

#include "run/statistics.h"

/* ---- components ---- */

/* Means of the repeats, packed over those that scored anything; returns how many. */
static int64_t repeat_means(const ferry_crossing *in, const double **row, double *mean,
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
static double effects(const ferry_crossing *in, int64_t repeats, const double *const *row,
                      const double *mean, double *effect, int64_t *used)
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

static void components(const ferry_crossing *in, int64_t cells, const double *const *row,
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
    c->sa2 = fmax(c->s2 - c->se2 / c->scored - c->sb2 * (1 - c->scored / n) / c->scored, 0);
    if (in->ordered) c->vb = fmax(c->sb2, most * most / n);
    c->k = in->fixed || in->repeats == 1 ? 0 : in->visible / c->scored;
}

/* The part of the labels, apart from the rows they left to be scored, and its correlation with theirs. */
static void label_part(const ferry_crossing *in, const double *const *row,
                       const double *mean, const double *effect, ferry_crossed *c)
{
    double sum[2] = {0, 0}, square = 0, both = 0;
    const double n = (double)c->repeats;

    if (!(c->k > 0) || c->repeats < 2) return;
    for (int64_t r = 0; r < c->repeats; r++) {
        double h = 0, count = 0;
        for (int64_t i = 0; i < in->n; i++) {
            if (isnan(row[r][i])) continue;
            h += effect[i];
            count++;
        }
        h /= count;
        const double a = mean[r] - h - c->mu; /* about 0, for the sums' sake */
        sum[0] += a;
        sum[1] += h;
        square += a * a;
        both += a * h;
    }
    c->sl2 = fmax((square - sum[0] * sum[0] / n) / (n - 1) - c->se2 / c->scored, 0);
    const double most = sqrt(c->sl2 * c->k * c->sb2 / (double)c->n);
    const double against = -(both - sum[0] * sum[1] / n) / (n - 1);
    c->rho = most > 0 ? fmin(fmax(against / most, 0), 1) : 0;
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
static ferry_status row_variance(ferry_ctx *ctx, const ferry_crossing *in,
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
    const double r = (double)c->repeats, va = c->s2 / r + c->sl2 * c->k;
    /* what goes together was estimated from the repeats, too: it is as uncertain as va */
    const double own = va + 2 * c->rho * sqrt(c->sl2 * c->k * c->sb2 / (double)c->n);
    const double v = own + rows;
    const double parts = (r > 1 ? own * own / (r - 1) : 0) + rows * rows / rows_df;

    c->se = sqrt(v);
    c->df = NAN;
    c->low = c->high = c->bound = c->mu;
    c->p_better = c->p_worse = 1;
    if (!(v > 0)) return;
    c->df = parts > 0 ? v * v / parts : INFINITY;
    if (!(c->df > 0)) { /* one instance, user or item: nothing can be told */
        c->low = -INFINITY;
        c->high = INFINITY;
        c->bound = c->mu > 0 ? c->low : c->high;
        return;
    }
    const double half = ferry_i_student_t(0.05, c->df) * c->se;
    c->low = c->mu - half;
    c->high = c->mu + half;
    c->bound = c->mu - (c->mu > 0 ? 1 : -1) * ferry_i_student_t(0.1, c->df) * c->se;
    c->p_better = ferry_i_student_above(c->mu / c->se, c->df);
    c->p_worse = ferry_i_student_above(-c->mu / c->se, c->df);
}

ferry_status ferry_i_crossed(ferry_ctx *ctx, const ferry_crossing *in, ferry_crossed *out)
{
    ferry_status st = FERRY_OK;
    const double **row = NULL;
    double *mean = NULL, *effect = NULL, rows = 0, df = 0;
    int64_t cells = 0;

    *out = (ferry_crossed){.mu = NAN,
                           .se = NAN,
                           .df = NAN,
                           .low = NAN,
                           .high = NAN,
                           .bound = NAN,
                           .p_better = 1,
                           .p_worse = 1};
    FERRY_NEW(ctx, row, in->repeats);
    FERRY_NEW(ctx, mean, in->repeats);
    FERRY_NEW(ctx, effect, in->n);
    out->repeats = repeat_means(in, row, mean, &cells);
    if (out->repeats == 0) goto done;
    const double inverse = effects(in, out->repeats, row, mean, effect, &out->n);
    components(in, cells, row, mean, effect, inverse, out);
    label_part(in, row, mean, effect, out);
    FERRY_TRY(row_variance(ctx, in, effect, out, &rows, &df));
    conclude(rows, df, out);
done:
    ferry_i_free((void *)row);
    ferry_i_free(mean);
    ferry_i_free(effect);
    return st;
}

/* ---- what would be needed ---- */

/* V with other repeats and rows. */
static double variance_with(const ferry_crossed *c, double repeats, double n)
{
    const double labels = c->k * c->scored, scored = c->k > 0 ? n - labels : n;
    const double k = c->k > 0 ? labels / scored : 0;

    return c->sa2 / repeats + c->sl2 * k + c->sb2 / n + c->se2 / (repeats * scored) +
           2 * c->rho * sqrt(c->sl2 * k * c->sb2 / n);
}

void ferry_i_crossed_needed(const ferry_crossed *c, double level, int64_t *repeats,
                            int64_t *rows)
{
    const double z = ferry_i_student_t(2 * level, 30), gain = fabs(c->mu);
    enum { MOST = 1000, TIMES = 100 };

    *repeats = *rows = 0;
    if (!(gain > 0)) return;
    for (int64_t r = c->repeats; r <= MOST;) {
        if (gain > z * sqrt(variance_with(c, (double)r, (double)c->n))) {
            *repeats = r;
            return;
        }
        const int64_t more = (int64_t)ceil((double)r * 1.1);
        r = more > r + 1 ? more : r + 1;
    }
    for (int64_t n = c->n; n <= TIMES * c->n; n = (int64_t)ceil((double)n * 1.1))
        if (gain > z * sqrt(variance_with(c, (double)c->repeats, (double)n))) {
            *rows = n;
            return;
        }
}

/* ---- the randomisation test ---- */

/* z[k], k = 0 the real world, of a method over its draws + 1 worlds; false: they are all equal. */
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
