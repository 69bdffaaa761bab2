/* Coupled factors in tiles (linalg/packed.h): F moves, and what the step of A divides is
 * added up, in one pass over the features.
 *
 * H has c columns, so everything that a row of F needs is in a few numbers: its rows of P,
 * the small matrices A and K. A pass takes a tile at a time, makes Q from H = F A, moves F,
 * makes Q again and adds up. F, the largest of the factors, is read and written once where
 * the formulas read it five times.
 *
 * A tile is worked on in strips of VECS vectors: two classes are then eight sums, which fit
 * the registers of every instruction set.
 *
 * What is made here is compared to 1e-10, so multiplications and additions are fused. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "linalg/host/kernels/kernel.h"
#if defined(__AVX512F__) && defined(__OPTIMIZE__)
#include <immintrin.h>
#endif

enum { VECS = 4, STRIP = VECS * LANES, TILE = FERRY_TILE };
enum { MOST_CLASSES = FERRY_TILE_CLASSES, MOST = FERRY_TILE_VIEWS * FERRY_TILE_CLASSES };

typedef ferry_tiles tiles;

/* One number in all lanes. */
#define ALL(x) ((vec){0} + (x))

/* The numbers of a strip, c for each view (or for all: ps, qs). */
typedef struct strip {
    vec p[MOST][VECS], q[MOST][VECS], h[MOST][VECS];
    vec ps[MOST_CLASSES][VECS], qs[MOST_CLASSES][VECS];
} strip;

/* Rows of P, feature by feature, into lanes.
 * Slots without a feature get 0: their F is 0 and stays so, and they add nothing. */
INLINE void gather(const tiles *t, int64_t c, int64_t views, const int32_t *row, strip *z)
{
    for (int64_t v = 0; v < views; v++)
        for (int64_t k = 0; k < c; k++) {
            double *to = (double *)(void *)z->p[v * c + k];
            UNROLL for (int r = 0; r < STRIP; r++) to[r] =
                row[r] < 0 ? 0 : t->pv[v][row[r] * c + k];
        }
}

/* h += F A for part b.
 * a is the part of t->a that is wanted (A s, or A once F has moved); 3 c + 1 is its
 * stride. */
INLINE void product(const tiles *t, int64_t b, int64_t c, const double *f, const double *a,
                    vec h[][VECS])
{
    for (int64_t l = t->at[b]; l < t->at[b] + t->p[b]; l++)
        for (int64_t k = 0; k < c; k++)
            UNROLL for (int i = 0; i < VECS; i++) h[k][i] +=
                VEC_LOAD(f + l * TILE + i * LANES) * a[l * (3 * c + 1) + k];
}

/* H of every view, and Q = H K; `moved`: F has got what it was due.
 * K is symmetric: its column k is read, c numbers next to each other. Dead parts are
 * skipped; they are 0. */
INLINE void model(const tiles *t, int64_t c, int64_t views, bool moved, const double *f,
                  const uint8_t *dead, strip *z)
{
    const double *a = t->a + (moved ? 2 * c : 0);
    vec shared[MOST_CLASSES][VECS]; /* F1 A1 */

    for (int64_t k = 0; k < c; k++)
        UNROLL for (int i = 0; i < VECS; i++) shared[k][i] = ALL(0);
    if (!dead[0]) product(t, 0, c, f, a, shared);
    for (int64_t v = 0; v < views; v++) {
        vec(*h)[VECS] = z->h + v * c;
        for (int64_t k = 0; k < c; k++)
            UNROLL for (int i = 0; i < VECS; i++) h[k][i] = shared[k][i];
        for (int64_t b = 1 + 2 * v; b < 3 + 2 * v; b++)
            if (!dead[b]) product(t, b, c, f, a, h);
        for (int64_t k = 0; k < c; k++)
            UNROLL for (int i = 0; i < VECS; i++)
            {
                vec sum = h[0][i] * t->kv[v][k * c];
                for (int64_t l = 1; l < c; l++)
                    sum += h[l][i] * t->kv[v][l + k * c];
                z->q[v * c + k][i] = sum;
            }
    }
}

/* out <- sum_v w_v x_v.
 * For F1, whose numerator and denominator are sums over the views. */
INLINE void weigh(const tiles *t, int64_t c, int64_t views, vec x[][VECS], vec out[][VECS])
{
    for (int64_t k = 0; k < c; k++)
        UNROLL for (int i = 0; i < VECS; i++)
        {
            vec sum = x[k][i] * t->w[0];
            for (int64_t v = 1; v < views; v++)
                sum += x[v * c + k][i] * t->w[v];
            out[k][i] = sum;
        }
}

#if defined(__AVX512F__) && defined(__OPTIMIZE__)
/* f (up / down)^1/2 = f up / sqrt(up down), by an estimate of 14 bits and the series of (1 - h)^-1/2, which ends
 * after h^3, since h^4 < 2^-53: these CPUs take twice as long for a root and a division. */
INLINE vec times_root(vec up, vec down, vec f)
{
    const vec x = up * down + DBL_MIN; /* never 0, and up = 0 stays 0 */
    const vec y = (vec)_mm512_rsqrt14_pd((__m512d)x);
    const vec h = 1 - x * y * y, z = f * up * y;

    return z + z * h * (0.5 + h * (0.375 + h * 0.3125));
}
#else
INLINE vec times_root(vec up, vec down, vec f)
{
    const vec x = up / down;
    vec root;

    UNROLL for (int i = 0; i < LANES; i++) root[i] = sqrt(x[i]); /* one instruction */
    return f * root;
}
#endif

/* f <- f (P A' / Q A')^e for one part; adds to its sums F'P and the columns of F.
 * Loops over columns of F, for each all VECS vectors of the strip. F'P can be added at
 * once, as P does not change; F'Q has to wait for the new Q (add_below). */
INLINE void move(const tiles *t, int64_t b, int64_t c, vec p[][VECS], vec q[][VECS],
                 double *f, double *sums)
{
    const int64_t stride = 2 * c + 1;

    for (int64_t l = t->at[b]; l < t->at[b] + t->p[b]; l++) {
        const double *a = t->a + l * (3 * c + 1), *low = a + c, floor = a[3 * c];
        double *sum = sums + l * stride * LANES;
        vec next[VECS], column;
        UNROLL for (int i = 0; i < VECS; i++)
        {
            vec up = p[0][i] * a[0], down = q[0][i] * low[0];
            for (int64_t k = 1; k < c; k++) {
                up += p[k][i] * a[k];
                down += q[k][i] * low[k];
            }
            /* max(down, floor), chosen by bits: no branch */
            down = VEC_CHOOSE(down > ALL(floor), down, ALL(floor));
            next[i] = VEC_LOAD(f + l * TILE + i * LANES);
            if (t->root)
                next[i] = times_root(up, down, next[i]);
            else
                next[i] *= up / down;
            next[i] = VEC_CHOOSE(next[i] < ALL(t->tiny), ALL(0), next[i]);
            if (i * LANES % 8 == 0) /* the next tile's */
                __builtin_prefetch(f + (t->width + l) * TILE + i * LANES);
            VEC_STORE(f + l * TILE + i * LANES, next[i]);
        }
        /* sums are LANES numbers each and added across the lanes once, at the very end */
        column = VEC_LOAD(sum + 2 * c * LANES);
        UNROLL for (int i = 0; i < VECS; i++) column += next[i];
        VEC_STORE(sum + 2 * c * LANES, column);
        for (int64_t k = 0; k < c; k++) {
            vec s = VEC_LOAD(sum + k * LANES);
            UNROLL for (int i = 0; i < VECS; i++) s += p[k][i] * next[i];
            VEC_STORE(sum + k * LANES, s);
        }
    }
}

/* Adds F'Q of one part. */
INLINE void add_below(const tiles *t, int64_t b, int64_t c, vec q[][VECS], const double *f,
                      double *sums)
{
    for (int64_t l = t->at[b]; l < t->at[b] + t->p[b]; l++) {
        double *sum = sums + (l * (2 * c + 1) + c) * LANES;
        for (int64_t k = 0; k < c; k++) {
            vec s = VEC_LOAD(sum + k * LANES);
            UNROLL for (int i = 0; i < VECS; i++) s +=
                q[k][i] * VEC_LOAD(f + l * TILE + i * LANES);
            VEC_STORE(sum + k * LANES, s);
        }
    }
}

/* One strip of a tile, whose rows and numbers begin at row and f. dead, then: which parts
 * are 0 before and after. sums: LANES numbers each of what packed.h lists.
 * The order of the formulas: P; Q and the losses from the old F; F moves; Q of the new
 * F; F'Q. Everything but F and the sums lives in z, on the stack. */
INLINE void strip_step(const tiles *t, int64_t c, int64_t views, const int32_t *row,
                       double *f, const uint8_t *dead, const uint8_t *then, double *sums)
{
    double *ours = sums + 2 * LANES;
    vec ph = VEC_LOAD(sums), qh = VEC_LOAD(sums + LANES);
    strip z;

    gather(t, c, views, row, &z);
    model(t, c, views, false, f, dead, &z);
    for (int64_t v = 0; v < views; v++)
        for (int64_t k = v * c; k < (v + 1) * c; k++)
            UNROLL for (int i = 0; i < VECS; i++)
            {
                ph += z.p[k][i] * z.h[k][i] * t->w[v];
                qh += z.q[k][i] * z.h[k][i] * t->w[v];
            }
    VEC_STORE(sums, ph);
    VEC_STORE(sums + LANES, qh);
    weigh(t, c, views, z.p, z.ps);
    weigh(t, c, views, z.q, z.qs);
    if (!dead[0]) move(t, 0, c, z.ps, z.qs, f, ours);
    for (int64_t b = 1; b < 1 + 2 * views; b++)
        if (!dead[b]) move(t, b, c, z.p + (b - 1) / 2 * c, z.q + (b - 1) / 2 * c, f, ours);
    model(t, c, views, true, f, then, &z);
    weigh(t, c, views, z.q, z.qs);
    if (!then[0]) add_below(t, 0, c, z.qs, f, ours);
    for (int64_t b = 1; b < 1 + 2 * views; b++)
        if (!then[b]) add_below(t, b, c, z.q + (b - 1) / 2 * c, f, ours);
}

/* The parts of a tile die together, when their view has none of the tile's features: P
 * is 0 there, so the first step makes F 0. */
INLINE void tile_step(const tiles *t, int64_t c, int64_t views, int64_t at, double *sums)
{
    uint8_t *dead = t->dead + at * t->n_parts, then[FERRY_TILE_PARTS];

    /* F2 and Fa of a view are 0 after the first step where it has no entry, for ever. */
    then[0] = dead[0] || t->has[at] == 0;
    for (int64_t b = 1; b < 1 + 2 * views; b++)
        then[b] = dead[b] || !(t->has[at] >> (b - 1) / 2 & 1);
    for (int64_t r = 0; r < TILE; r += STRIP)
        strip_step(t, c, views, t->row + at * TILE + r, t->f + at * t->width * TILE + r,
                   dead, then, sums);
    memcpy(dead, then, (size_t)t->n_parts);
}

/* Two classes, two views to a group: the usual case gets its own code.
 * Constants c and views let the compiler write the short loops out. In the end the lanes
 * of each sum are added, in place: number e is read at e LANES and written at e, which
 * lies before. */
void KERNEL(tiles_step)(const tiles *t, int64_t from, int64_t to, double *sums)
{
    const int64_t size = ferry_i_tiles_sums(t);

    memset(sums, 0, (size_t)(size * LANES) * sizeof *sums);
    for (int64_t at = from; at < to; at++)
        if (t->c == 2 && t->n_views == 2)
            tile_step(t, 2, 2, at, sums);
        else
            tile_step(t, t->c, t->n_views, at, sums);
    for (int64_t e = 0; e < size; e++)
        sums[e] = vec_sum(VEC_LOAD(sums + e * LANES));
}

/* H of every view from the F and A that there are; lanes go back to the features' rows. */
INLINE void tile_model(const tiles *t, int64_t c, int64_t views, int64_t at)
{
    strip z;

    for (int64_t r = 0; r < TILE; r += STRIP) {
        const int32_t *row = t->row + at * TILE + r;
        model(t, c, views, true, t->f + at * t->width * TILE + r, t->dead + at * t->n_parts,
              &z);
        const double *from = (const double *)(const void *)z.h[0];
        for (int64_t i = 0; i < STRIP; i++)
            for (int64_t v = 0; row[i] >= 0 && v < views; v++)
                for (int64_t k = 0; k < c; k++)
                    t->hv[v][row[i] * c + k] = from[(v * c + k) * STRIP + i];
    }
}

/* The same cases as tiles_step. */
void KERNEL(tiles_model)(const tiles *t, int64_t from, int64_t to)
{
    for (int64_t at = from; at < to; at++)
        if (t->c == 2 && t->n_views == 2)
            tile_model(t, 2, 2, at);
        else
            tile_model(t, t->c, t->n_views, at);
}
