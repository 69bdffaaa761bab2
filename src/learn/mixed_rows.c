/* Which source rows to learn from: bisecting clustering of both projected sets together, and the source rows of the
 * clusters in which the two are mixed.
 *
 * A cluster C with a target and b source rows is done when the target's centroid in it is the cluster's, within kappa of
 * its radius; the root of centred data always is, so at least min_clusters are made first. A split that leaves a part
 * below min_size is not made. The source rows of a done cluster are kept when (a/|T|) / (b/|S|) is within a factor of
 * tau of 1. The divergence of the two sets over the clusters decides whether it is all too risky.
 *
 * Bisecting k-means; the start is deterministic (start()), so no random number decides what is kept.
 * Shi, Heterogeneous Learning and Its Applications, thesis, Chicago 2013, 5.4.3. */
#include "learn/mixed_rows.h"

#include <math.h>
#include <string.h>

/* KL_c = 2/|T| sum a^2/(a+b) log(a/b) + log(|S|/|T|)   (5.17, 5.18). No divergence: it is
 * not 0 for equal sets unless |T| = |S|. a of 0 adds nothing: a^2 log a goes to 0. Kept for
 * comparison with the text. */
double kl_printed(int64_t g, const int64_t *a, const int64_t *b, double smooth)
{
    double u = 0, nt = 0, ns = 0;

    for (int64_t c = 0; c < g; c++) {
        const double ac = (double)a[c], bc = (double)b[c];
        nt += ac;
        ns += bc;
        if (ac > 0) u += ac * ac / (ac + bc) * log((ac + smooth) / (bc + smooth));
    }
    return 2 / nt * u + log(ns / nt);
}

/* KL = sum a/|T| log((a/|T|) / (b/|S|)). 0 when both sets have the same
 * shares everywhere (smooth 0); smooth keeps it finite. */
double kl_corrected(int64_t g, const int64_t *a, const int64_t *b, double smooth)
{
    double u = 0, nt = 0, ns = 0;

    for (int64_t c = 0; c < g; c++) {
        nt += (double)a[c];
        ns += (double)b[c];
    }
    for (int64_t c = 0; c < g; c++)
        if (a[c] > 0)
            u += (double)a[c] / nt *
                 log(((double)a[c] + smooth) / nt * ns / ((double)b[c] + smooth));
    return u;
}

/* Both sets on top of each other, and where each row is. */
typedef struct mixture {
    block x;
    int64_t nt; /* the first rows are the target's */
    int32_t *cluster;
    int64_t *rows, *next; /* rows of the cluster at hand; clusters to look at */
    uint8_t *side;
    double *centre;     /* 2 x k: of the two parts */
    double *mean, *own; /* k: of the cluster, of its target rows */
} mixture;

/* All memory, none while clusters are split. */
static mixture mixture_of(scope *s, block bt, block bs)
{
    const int64_t n = bt.n + bs.n, k = bt.k;
    const mixture m = {.x = block_new(s, HERE(n), n, k),
                       .nt = bt.n,
                       .cluster = NEW(s, int32_t, n),
                       .rows = NEW(s, int64_t, n),
                       .next = NEW(s, int64_t, 2 * n),
                       .side = NEW(s, uint8_t, n),
                       .centre = NEW(s, double, 2 * k),
                       .mean = NEW(s, double, k),
                       .own = NEW(s, double, k)};

    copy(bt, (block){HERE(bt.n), bt.n, k, m.x.at});
    copy(bs, (block){HERE(bs.n), bs.n, k, ROW(m.x, bt.n)});
    return m;
}

/* The rows of cluster c, their mean, and that of the target's; *a: how many those are.
 * Looks at all rows: O(N k) a cluster, cheap beside the split. */
static int64_t gather(mixture *m, int64_t c, int64_t *a)
{
    const int64_t k = m->x.k;
    int64_t n = 0;

    *a = 0;
    memset(m->mean, 0, (size_t)k * sizeof *m->mean);
    memset(m->own, 0, (size_t)k * sizeof *m->own);
    for (int64_t i = 0; i < m->x.n; i++) {
        if (m->cluster[i] != c) continue;
        m->rows[n++] = i;
        *a += i < m->nt;
        for (int64_t j = 0; j < k; j++) {
            m->mean[j] += ROW(m->x, i)[j];
            if (i < m->nt) m->own[j] += ROW(m->x, i)[j];
        }
    }
    for (int64_t j = 0; j < k; j++) {
        if (n > 0) m->mean[j] /= (double)n;
        if (*a > 0) m->own[j] /= (double)*a;
    }
    return n;
}

/* |x - y|^2. */
static double distance2(int64_t k, const double *x, const double *y)
{
    double d = 0;

    for (int64_t j = 0; j < k; j++)
        d += (x[j] - y[j]) * (x[j] - y[j]);
    return d;
}

/* Whether the target's centroid is the cluster's (5.17's constraint), within kappa
 * radii. The radius is the root mean squared distance from the cluster's mean. A cluster
 * without target rows never agrees. */
static bool agrees(const mixture *m, int64_t n, int64_t a, double kappa)
{
    const int64_t k = m->x.k;
    double r2 = 0;

    for (int64_t i = 0; i < n; i++)
        r2 += distance2(k, ROW(m->x, m->rows[i]), m->mean);
    return a > 0 && distance2(k, m->own, m->mean) <= kappa * kappa * r2 / (double)n;
}

/* First principal direction of the gathered rows and the deviation along it; the centres
 * stand one deviation to both sides of the mean. Deterministic. The sign of the eigenvector
 * only swaps the two sides. */
static void start(scope *s, mixture *m, int64_t n)
{
    const int64_t k = m->x.k, mark = scope_mark(s);
    const block xc = block_new(s, HERE(n), n, k);
    const small cov = small_new(s, k, k);

    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < k; j++)
            ROW(xc, i)[j] = ROW(m->x, m->rows[i])[j] - m->mean[j];
    gram(s, xc, xc, cov);
    const double *w = eigh(s, cov), sd = sqrt(fmax(w[k - 1], 0) / (double)n);
    for (int64_t j = 0; j < k; j++) {
        m->centre[j] = m->mean[j] - sd * AT(cov, j, k - 1);
        m->centre[k + j] = m->mean[j] + sd * AT(cov, j, k - 1);
    }
    scope_release(s, mark);
}

/* Each gathered row to its nearer centre (side 1 only if strictly nearer); *ones: how many
 * went there. Whether any row changed sides. */
static bool assign(mixture *m, int64_t n, int64_t *ones)
{
    const int64_t k = m->x.k;
    bool moved = false;

    *ones = 0;
    for (int64_t i = 0; i < n; i++) {
        const double *x = ROW(m->x, m->rows[i]);
        const uint8_t to =
            distance2(k, x, m->centre + k) < distance2(k, x, m->centre) ? 1 : 0;
        moved = moved || to != m->side[i];
        m->side[i] = to;
        *ones += to;
    }
    return moved;
}

/* Two means of the gathered rows; *ones: how many are on side 1. side starts at 2, so that
 * every row moves in the first round. Lloyd's steps, at most 100. A side that runs empty
 * keeps its centre. */
static void two_means(scope *s, mixture *m, int64_t n, int64_t *ones)
{
    const int64_t k = m->x.k;

    start(s, m, n);
    memset(m->side, 2, (size_t)n);
    for (int it = 0; it < 100 && assign(m, n, ones); it++)
        for (int64_t side = 0; side < 2; side++) {
            const int64_t count = side ? *ones : n - *ones;
            if (count == 0) continue;
            memset(m->centre + side * k, 0, (size_t)k * sizeof *m->centre);
            for (int64_t i = 0; i < n; i++)
                for (int64_t j = 0; j < k && m->side[i] == side; j++)
                    m->centre[side * k + j] += ROW(m->x, m->rows[i])[j];
            for (int64_t j = 0; j < k; j++)
                m->centre[side * k + j] /= (double)count;
        }
}

/* Breadth first; how many there are in the end; the part on side 0 keeps the cluster's number, the other gets a new
 * one. next needs 2 N places: every split adds two, and N - 1 splits leave single rows. */
static int64_t bisect(scope *s, mixture *m, const mixing *o)
{
    int64_t clusters = 1, end = 1, a = 0, ones = 0;

    m->next[0] = 0;
    for (int64_t at = 0; at < end; at++) {
        const int64_t c = m->next[at], n = gather(m, c, &a);
        if (n < 2 * o->min_size) continue;
        if (clusters >= o->min_clusters && agrees(m, n, a, o->kappa)) continue;
        two_means(s, m, n, &ones);
        if (ones < o->min_size || n - ones < o->min_size) continue;
        for (int64_t i = 0; i < n; i++)
            if (m->side[i]) m->cluster[m->rows[i]] = (int32_t)clusters;
        m->next[end++] = c;
        m->next[end++] = clusters++;
    }
    return clusters;
}

/* Whether target and source are in the cluster in like shares and in the same place. The
 * caller has made sure of source rows, so the ratio is finite. */
static bool mixes(const mixture *m, int64_t n, int64_t a, const mixing *o)
{
    const double nt = (double)m->nt, ns = (double)(m->x.n - m->nt);
    const double ratio = ((double)a / nt) / ((double)(n - a) / ns);

    return agrees(m, n, a, o->kappa) && ratio <= o->tau && ratio * o->tau >= 1;
}

/* Which source rows are kept, and how far the two sets are apart over the clusters. The
 * 1/2 added to both counts keeps the logarithm finite where a cluster lacks one of them. */
static void decide(scope *s, mixture *m, const mixing *o, mixed *out)
{
    int64_t *a = NEW(s, int64_t, out->clusters), *b = NEW(s, int64_t, out->clusters);

    for (int64_t c = 0; c < out->clusters; c++) {
        const int64_t n = gather(m, c, &a[c]);
        b[c] = n - a[c];
        if (b[c] == 0 || !mixes(m, n, a[c], o)) continue;
        out->kept += b[c];
        for (int64_t i = 0; i < n; i++)
            if (m->rows[i] >= m->nt) out->keep[m->rows[i] - m->nt] = 1;
    }
    out->kl_printed = kl_printed(out->clusters, a, b, 0.5);
    out->kl = kl_corrected(out->clusters, a, b, 0.5);
    out->risky =
        (o->divergence == 1 ? out->kl_printed : out->kl) > o->risk || out->kept == 0;
}

mixed mixed_rows(scope *s, block bt, block bs, const mixing *o)
{
    mixture m = mixture_of(s, bt, bs);
    mixed out = {.keep = NEW(s, uint8_t, bs.n)};

    out.clusters = bisect(s, &m, o);
    out.cluster_t = m.cluster;
    out.cluster_s = m.cluster + bt.n;
    decide(s, &m, o, &out);
    return out;
}
