/* The steps of F and A with squares (nmtf_step.c) in one pass over the features.
 *
 * H has c columns, so everything that a row of F needs is in a few numbers: its rows of P,
 * the small matrices A and K = G'G. A pass takes a tile of TILE features at a time, makes Q
 * from H = F A, moves F, makes Q again and adds up what the step of A divides. F, the
 * largest of the factors, is read and written once where the formulas read it five times.
 *
 * While this runs F lives in tiles: all blocks of a group side by side, a column's TILE
 * numbers next to each other, so that a lane is a feature and nothing is added across
 * lanes. Features are sorted by the views that have them: F2 and Fa of a view are 0 after
 * the first step where it has no entry, for ever, and then such tiles are left out.
 *
 * f sqrt(u / d) = f u / sqrt(u d), and an inverse root is an estimate and a few
 * multiplications: a division and a square root would take twice as long as all the rest.
 * The columns of F that normalisation has left to be divided by their sums (`pending`) are
 * multiplied into A instead: f s sqrt(u / d) = f sqrt(u s / (d / s)).
 *
 * Tiles are taken in pieces that do not depend on the number of threads, and the sums of
 * the pieces are added in order: so the bits do not depend on it either. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/nmtf.h"

/* Everything in one function, so that it is compiled for the CPU as a whole. */
#define INLINE static inline __attribute__((always_inline))

typedef double v8 __attribute__((vector_size(64)));
typedef int64_t i8 __attribute__((vector_size(64)));
typedef double u8 __attribute__((vector_size(64), aligned(8), may_alias)); /* in memory */
enum { LANES = 8, VECS = 4, TILE = LANES * VECS };
enum { MOST_PIECES = 64, PIECE = 64 /* tiles */ };
enum { MOST_VIEWS = 16, MOST_CLASSES = 16, MOST = MOST_VIEWS * MOST_CLASSES };
enum { MOST_PARTS = 1 + 2 * MOST_VIEWS };
enum isa { PLAIN, AVX2, AVX512 };

/* A block of F: F1 (view -1), or Fa or F2 of a view. */
typedef struct part {
    ferry_block *f;
    ferry_small *a;
    double *sums;      /* of the columns, for later */
    const double *due; /* what the columns are still to be multiplied by; NULL: nothing */
    int64_t view;      /* -1, or which of the group's */
    int64_t at, p;     /* columns of the tiles */
    double w;          /* of its sums in the step of A */
} part;

struct ferry_nmtf_tiles {
    int64_t n, width, n_parts, n_views; /* tiles; columns */
    int64_t pieces;
    int32_t *row;    /* n x TILE: feature, or -1 */
    uint32_t *views; /* n: which views have one of them, a bit each */
    uint8_t *dead;   /* n x n_parts: all 0, and so for ever */
    double *f;       /* n x width x TILE, in lines of the cache */
    double *a;       /* width x (3 c + 1), see load_a */
    double *sums;    /* pieces x (2 + width x (2 c + 1)) x LANES */
    double *room[2]; /* f and sums before they were aligned */
};

typedef struct rows_job {
    const ferry_nmtf_tiles *t;
    int64_t c;
    bool root;
    part part[MOST_PARTS];
    const double *p[MOST_VIEWS]; /* m x c */
    double *h[MOST_VIEWS];
    const double *k[MOST_VIEWS]; /* c x c, symmetric */
    double w[MOST_VIEWS];
} rows_job;

#define LOAD(x) (*(const u8 *)(const void *)(x))
#define STORE(to, x) (*(u8 *)(void *)(to) = (x))
#define ALL(x) ((v8){x, x, x, x, x, x, x, x})
/* Per lane: yes where the test holds. */
#define CHOOSE(test, yes, no) ((v8)(((test) & (i8)(yes)) | (~(test) & (i8)(no))))

/* ---- a tile: TILE features in VECS vectors ---- */

/* The numbers of a tile, c for each view (or for all: ps, qs). */
typedef struct tile_work {
    v8 p[MOST][VECS], q[MOST][VECS], h[MOST][VECS];
    v8 ps[MOST_CLASSES][VECS], qs[MOST_CLASSES][VECS];
} tile_work;

INLINE void gather(const rows_job *j, int64_t c, int64_t views, const int32_t *row,
                   tile_work *z)
{
    for (int64_t v = 0; v < views; v++)
        for (int64_t k = 0; k < c; k++)
            for (int64_t i = 0; i < VECS; i++) {
                const int32_t *r = row + i * LANES;
#define AT(l) (r[l] < 0 ? 0 : j->p[v][r[l] * c + k])
                z->p[v * c + k][i] =
                    (v8){AT(0), AT(1), AT(2), AT(3), AT(4), AT(5), AT(6), AT(7)};
#undef AT
            }
}

/* h += F A for one part. */
INLINE void product(const part *b, int64_t c, const double *f, const double *a,
                    v8 h[][VECS])
{
    for (int64_t l = b->at; l < b->at + b->p; l++)
        for (int64_t k = 0; k < c; k++)
            for (int64_t i = 0; i < VECS; i++)
                h[k][i] += LOAD(f + l * TILE + i * LANES) * a[l * (3 * c + 1) + k];
}

/* H of every view, and Q = H K; `moved`: F has got what it was due. */
INLINE void model(const rows_job *j, int64_t c, int64_t views, bool moved, const double *f,
                  const uint8_t *dead, tile_work *z)
{
    const ferry_nmtf_tiles *t = j->t;
    const double *a = t->a + (moved ? 2 * c : 0);
    v8 shared[MOST_CLASSES][VECS]; /* F1 A1 */

    for (int64_t k = 0; k < c; k++)
        for (int64_t i = 0; i < VECS; i++)
            shared[k][i] = ALL(0);
    if (!dead[0]) product(&j->part[0], c, f, a, shared);
    for (int64_t v = 0; v < views; v++) {
        v8(*h)[VECS] = z->h + v * c;
        for (int64_t k = 0; k < c; k++)
            for (int64_t i = 0; i < VECS; i++)
                h[k][i] = shared[k][i];
        for (int64_t b = 1 + 2 * v; b < 3 + 2 * v; b++)
            if (!dead[b]) product(&j->part[b], c, f, a, h);
        for (int64_t k = 0; k < c; k++)
            for (int64_t i = 0; i < VECS; i++) {
                v8 sum = h[0][i] * j->k[v][k * c];
                for (int64_t l = 1; l < c; l++)
                    sum += h[l][i] * j->k[v][l + k * c];
                z->q[v * c + k][i] = sum;
            }
    }
}

/* out <- sum_v w_v x_v. */
INLINE void weigh(const rows_job *j, int64_t c, int64_t views, v8 x[][VECS], v8 out[][VECS])
{
    for (int64_t k = 0; k < c; k++)
        for (int64_t i = 0; i < VECS; i++) {
            v8 sum = x[k][i] * j->w[0];
            for (int64_t v = 1; v < views; v++)
                sum += x[v * c + k][i] * j->w[v];
            out[k][i] = sum;
        }
}

/* y <- about 1 / sqrt(x) for normal x > 0: to 14 bits where the CPU has that, else to 21.
 * (Vectors go in and out by address: passing them would be up to the target.) */
INLINE void root_estimate(enum isa isa, const v8 *x, v8 *y)
{
#if defined(__x86_64__) && defined(__OPTIMIZE__)
    if (isa == AVX512) {
        __asm__("vrsqrt14pd %1, %0" : "=v"(*y) : "v"(*x));
        return;
    }
#endif
    const v8 g =
        (v8)(0x5fe6eb50c7b537a9 - ((i8)*x >> 1)); /* to 5 bits: half the exponent */
    const v8 h = 1 - *x * g * g;

    (void)isa;
    *y = g + g * h * (0.5 + h * (0.375 + h * 0.3125));
}

/* f <- f (up / down)^1/2: with y = (1 - h)^1/2 / sqrt(x) the series of (1 - h)^-1/2 ends
 * after h^3, since h^4 < 2^-53. */
INLINE void times_root(enum isa isa, const v8 *up, const v8 *down, v8 *f)
{
    v8 x = *up * *down + DBL_MIN, y, h, z; /* never 0, and up = 0 stays 0 */

    root_estimate(isa, &x, &y);
    h = 1 - x * y * y;
    z = *f * *up * y;
    *f = z + z * h * (0.5 + h * (0.375 + h * 0.3125));
}

/* f <- f (P A' / Q A')^e for one part; adds to its sums F'P and the columns of F. */
INLINE void move(const rows_job *j, enum isa isa, int64_t c, const part *b, v8 p[][VECS],
                 v8 q[][VECS], double *f, double *sums)
{
    const int64_t stride = 2 * c + 1;
    const v8 tiny = ALL(FERRY_NMTF_TINY);

    for (int64_t l = b->at; l < b->at + b->p; l++) {
        const double *a = j->t->a + l * (3 * c + 1), *low = a + c, floor = a[3 * c];
        double *sum = sums + l * stride * LANES;
        v8 next[VECS], column;
        for (int64_t i = 0; i < VECS; i++) {
            v8 up = p[0][i] * a[0], down = q[0][i] * low[0];
            for (int64_t k = 1; k < c; k++) {
                up += p[k][i] * a[k];
                down += q[k][i] * low[k];
            }
            down = CHOOSE(down > floor, down, ALL(floor));
            next[i] = LOAD(f + l * TILE + i * LANES);
            if (j->root)
                times_root(isa, &up, &down, &next[i]);
            else
                next[i] *= up / down;
            next[i] = CHOOSE(next[i] < tiny, ALL(0), next[i]);
            __builtin_prefetch(f + (j->t->width + l) * TILE + i * LANES); /* next tile's */
            STORE(f + l * TILE + i * LANES, next[i]);
        }
        column = LOAD(sum + 2 * c * LANES);
        for (int64_t i = 0; i < VECS; i++)
            column += next[i];
        STORE(sum + 2 * c * LANES, column);
        for (int64_t k = 0; k < c; k++) {
            v8 s = LOAD(sum + k * LANES);
            for (int64_t i = 0; i < VECS; i++)
                s += p[k][i] * next[i];
            STORE(sum + k * LANES, s);
        }
    }
}

/* Adds F'Q of one part. */
INLINE void add_below(int64_t c, const part *b, v8 q[][VECS], const double *f, double *sums)
{
    for (int64_t l = b->at; l < b->at + b->p; l++) {
        double *sum = sums + (l * (2 * c + 1) + c) * LANES;
        for (int64_t k = 0; k < c; k++) {
            v8 s = LOAD(sum + k * LANES);
            for (int64_t i = 0; i < VECS; i++)
                s += q[k][i] * LOAD(f + l * TILE + i * LANES);
            STORE(sum + k * LANES, s);
        }
    }
}

/* Move F of a tile and add up. sums: over the views w <P, H> and w <Q, H> before, then what
 * move() and add_below() make, LANES each. */
INLINE void tile_step(const rows_job *j, enum isa isa, int64_t c, int64_t views, int64_t at,
                      double *sums)
{
    const ferry_nmtf_tiles *t = j->t;
    double *f = t->f + at * t->width * TILE, *ours = sums + 2 * LANES;
    uint8_t *dead = t->dead + at * t->n_parts;
    v8 ph = LOAD(sums), qh = LOAD(sums + LANES);
    tile_work z;

    gather(j, c, views, t->row + at * TILE, &z);
    model(j, c, views, false, f, dead, &z);
    for (int64_t v = 0; v < views; v++)
        for (int64_t k = v * c; k < (v + 1) * c; k++)
            for (int64_t i = 0; i < VECS; i++) {
                ph += z.p[k][i] * z.h[k][i] * j->w[v];
                qh += z.q[k][i] * z.h[k][i] * j->w[v];
            }
    STORE(sums, ph);
    STORE(sums + LANES, qh);
    weigh(j, c, views, z.p, z.ps);
    weigh(j, c, views, z.q, z.qs);
    if (!dead[0]) move(j, isa, c, &j->part[0], z.ps, z.qs, f, ours);
    for (int64_t b = 1; b < 1 + 2 * views; b++) {
        const int64_t v = (b - 1) / 2;
        if (dead[b]) continue;
        move(j, isa, c, &j->part[b], z.p + v * c, z.q + v * c, f, ours);
        dead[b] = !(t->views[at] >> v & 1);
    }
    dead[0] = dead[0] || t->views[at] == 0;
    model(j, c, views, true, f, dead, &z);
    weigh(j, c, views, z.q, z.qs);
    if (!dead[0]) add_below(c, &j->part[0], z.qs, f, ours);
    for (int64_t b = 1; b < 1 + 2 * views; b++)
        if (!dead[b]) add_below(c, &j->part[b], z.q + (b - 1) / 2 * c, f, ours);
}

/* H of a tile to where it belongs. */
INLINE void tile_model(const rows_job *j, int64_t c, int64_t views, int64_t at)
{
    const ferry_nmtf_tiles *t = j->t;
    const int32_t *row = t->row + at * TILE;
    tile_work z;

    model(j, c, views, true, t->f + at * t->width * TILE, t->dead + at * t->n_parts, &z);
    for (int64_t v = 0; v < views; v++)
        for (int64_t k = 0; k < c; k++)
            for (int64_t r = 0; r < TILE; r++)
                if (row[r] >= 0)
                    j->h[v][row[r] * c + k] = z.h[v * c + k][r / LANES][r % LANES];
}

/* Two classes, two views to a group: the usual case gets its own code. */
/* clang-format off */
#define COMPILE_FOR(name, isa, target)                                                     \
    target static void step_##name(const rows_job *j, int64_t from, int64_t to,            \
                                   double *sums)                                           \
    {                                                                                      \
        for (int64_t t = from; t < to; t++)                                                \
            if (j->c == 2 && j->t->n_views == 2)                                           \
                tile_step(j, isa, 2, 2, t, sums);                                          \
            else                                                                           \
                tile_step(j, isa, j->c, j->t->n_views, t, sums);                           \
    }                                                                                      \
    target static void model_##name(const rows_job *j, int64_t from, int64_t to)           \
    {                                                                                      \
        for (int64_t t = from; t < to; t++)                                                \
            if (j->c == 2 && j->t->n_views == 2)                                           \
                tile_model(j, 2, 2, t);                                                    \
            else                                                                           \
                tile_model(j, j->c, j->t->n_views, t);                                     \
    }
/* clang-format on */
#define NO_TARGET
typedef void step_fn(const rows_job *j, int64_t from, int64_t to, double *sums);
typedef void model_fn(const rows_job *j, int64_t from, int64_t to);
COMPILE_FOR(plain, PLAIN, NO_TARGET)
#if defined(__x86_64__)
COMPILE_FOR(avx2, AVX2, __attribute__((target("avx2,fma"))))
COMPILE_FOR(avx512, AVX512, __attribute__((target("avx512f,avx512vl,avx512dq,fma"))))
static step_fn *const steps[] = {step_plain, step_avx2, step_avx512};
static model_fn *const models[] = {model_plain, model_avx2, model_avx512};
#else
static step_fn *const steps[] = {step_plain};
static model_fn *const models[] = {model_plain};
#endif

static enum isa best_isa(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq"))
        return AVX512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return AVX2;
#endif
    return PLAIN;
}

/* ---- the tiles of a group ---- */

void ferry_i_nmtf_tiles_free(ferry_nmtf_tiles *t)
{
    if (!t) return;
    ferry_i_free(t->row);
    ferry_i_free(t->views);
    ferry_i_free(t->dead);
    ferry_i_free(t->a);
    ferry_i_free(t->room[0]);
    ferry_i_free(t->room[1]);
    ferry_i_free(t);
}

/* n zeros that begin with a line of the cache, in new memory. */
static double *in_lines(int64_t n, double **room)
{
    *room = ferry_i_calloc(n + LANES, sizeof **room);
    if (!*room) return NULL;
    return *room + (LANES - (uintptr_t)*room / sizeof(double) % LANES) % LANES;
}

static part *add_part(rows_job *j, int64_t view, ferry_block *f, ferry_small *a,
                      double *sums, int64_t *at, int64_t *n)
{
    part *b = &j->part[(*n)++];

    *b = (part){f, a, sums, NULL, view, *at, f->k, 1};
    *at += f->k;
    return b;
}

/* What stands where: also what tiles are made from. */
static int64_t parts_of(ferry_nmtf *n, int64_t g, rows_job *j, int64_t *n_parts,
                        int64_t *n_views)
{
    ferry_nmtf_group *gr = &n->group[g];
    int64_t width = 0;
    part *b;

    *n_parts = *n_views = 0;
    b = add_part(j, -1, gr->f1, gr->a1, gr->f1_sums, &width, n_parts);
    if (n->pending) b->due = gr->f1_sums;
    for (int64_t i = 0; i < n->n_views; i++) {
        ferry_nmtf_view *v = &n->view[i];
        if (v->group != g) continue;
        b = add_part(j, *n_views, v->fa, gr->aa, v->fa_sums, &width, n_parts);
        b->w = v->w;
        if (n->pending && v->fa_scaled) b->due = v->fa_sums;
        b = add_part(j, *n_views, v->f2, v->a2, v->f2_sums, &width, n_parts);
        if (n->pending) b->due = v->f2_sums;
        j->p[*n_views] = v->p->data;
        j->h[*n_views] = v->h->data;
        j->k[*n_views] = n->domain[v->domain].k->data;
        j->w[*n_views] = v->w;
        (*n_views)++;
    }
    return width;
}

static int by_key(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* key[i] <- views << 32 | feature, sorted; how many tiles of one set of views they fill. */
static int64_t sort_features(const ferry_nmtf *n, int64_t g, int64_t *key)
{
    const int64_t m = n->group[g].m;
    int64_t bit = 0, tiles = 0;

    for (int64_t r = 0; r < m; r++)
        key[r] = r;
    for (int64_t i = 0; i < n->n_views; i++) {
        const ferry_matrix *x = n->view[i].x;
        if (n->view[i].group != g) continue;
        for (int64_t r = 0; r < m; r++)
            if (!x->t_start || x->t_start[r + 1] > x->t_start[r])
                key[r] |= INT64_C(1) << (32 + bit);
        bit++;
    }
    qsort(key, (size_t)m, sizeof *key, by_key);
    for (int64_t r = 0, last = 0; r < m; r = last, tiles++)
        for (last = r; last < m && last < r + TILE && key[last] >> 32 == key[r] >> 32;)
            last++;
    return tiles;
}

ferry_status ferry_i_nmtf_tiles_new(ferry_ctx *ctx, ferry_nmtf *n, int64_t g)
{
    ferry_status st = FERRY_OK;
    const int64_t m = n->group[g].m;
    ferry_nmtf_tiles *t = NULL;
    rows_job j;
    int64_t *key = NULL, at = 0;

    if (n->group[g].tiles) return st;
    t = ferry_i_calloc(1, sizeof *t);
    key = ferry_i_calloc(m, sizeof *key);
    if (!t || !key) FERRY_TRY(ferry_i_nomem(ctx));
    t->width = parts_of(n, g, &j, &t->n_parts, &t->n_views);
    t->n = sort_features(n, g, key);
    t->pieces = 1 + t->n / PIECE < MOST_PIECES ? 1 + t->n / PIECE : MOST_PIECES;
    t->row = ferry_i_calloc(t->n * TILE, sizeof *t->row);
    t->views = ferry_i_calloc(t->n, sizeof *t->views);
    t->dead = ferry_i_calloc(t->n * t->n_parts, sizeof *t->dead);
    t->f = in_lines(t->n * t->width * TILE, &t->room[0]);
    t->a = ferry_i_calloc(t->width * (3 * n->c + 1), sizeof *t->a);
    t->sums = in_lines(t->pieces * (2 + t->width * (2 * n->c + 1)) * LANES, &t->room[1]);
    if (!t->row || !t->views || !t->dead || !t->f || !t->a || !t->sums)
        FERRY_TRY(ferry_i_nomem(ctx));
    for (int64_t i = 0; i < t->n; i++) {
        t->views[i] = (uint32_t)(key[at] >> 32);
        for (int64_t r = 0; r < TILE; r++) {
            const bool more = at < m && (uint32_t)(key[at] >> 32) == t->views[i];
            t->row[i * TILE + r] = more ? (int32_t)(key[at++] & INT32_MAX) : -1;
        }
    }
    n->group[g].tiles = t;
    t = NULL;
done:
    ferry_i_nmtf_tiles_free(t);
    ferry_i_free(key);
    return st;
}

/* F from the blocks to the tiles, or back; columns times what is due. */
static void carry(const rows_job *j, bool back)
{
    const ferry_nmtf_tiles *t = j->t;

    for (int64_t i = 0; i < t->n; i++)
        for (int64_t b = 0; b < t->n_parts; b++) {
            const part *pt = &j->part[b];
            bool zero = true;
            for (int64_t r = 0; r < TILE; r++) {
                const int64_t row = t->row[i * TILE + r];
                double *tile = t->f + (i * t->width + pt->at) * TILE + r;
                for (int64_t l = 0; row >= 0 && l < pt->p; l++) {
                    double *block = FERRY_ROW(pt->f, row) + l;
                    if (back)
                        *block = tile[l * TILE] * (pt->due ? pt->due[l] : 1);
                    else
                        tile[l * TILE] = *block;
                    zero = zero && tile[l * TILE] == 0;
                }
            }
            if (!back) t->dead[i * t->n_parts + b] = zero;
        }
}

void ferry_i_nmtf_untile(ferry_nmtf *n)
{
    for (int64_t g = 0; g < n->n_groups; g++) {
        rows_job j = {.t = n->group[g].tiles, .c = n->c};
        int64_t parts, views;
        (void)parts_of(n, g, &j, &parts, &views);
        carry(&j, true);
    }
    n->tiled = n->pending = false;
}

bool ferry_i_nmtf_rows_fit(const ferry_nmtf *n)
{
    bool fit = n->c <= MOST_CLASSES && n->n_views <= MOST_VIEWS;

    for (int64_t g = 0; g < n->n_groups; g++)
        fit = fit && n->group[g].m < INT32_MAX;
    return fit;
}

/* ---- the step ---- */

/* What a column l of F is multiplied with, side by side: c numbers A s for H and the
 * numerators, A / s (exponent 1: A) for the denominators, A for H once F has moved; and the
 * floor of the denominators. s is what the column is due. */
static void load_a(const rows_job *j)
{
    const int64_t c = j->c;

    for (int64_t b = 0; b < j->t->n_parts; b++) {
        const part *pt = &j->part[b];
        for (int64_t l = 0; l < pt->p; l++) {
            double *to = j->t->a + (pt->at + l) * (3 * c + 1);
            const double s = pt->due ? pt->due[l] : 1, low = j->root ? 1 / s : 1;
            for (int64_t k = 0; k < c; k++) {
                to[k] = FERRY_AT(pt->a, l, k) * s;
                to[c + k] = FERRY_AT(pt->a, l, k) * low;
                to[2 * c + k] = FERRY_AT(pt->a, l, k);
            }
            to[3 * c] = FERRY_NMTF_EPS * low;
        }
    }
}

static int64_t cut(const ferry_nmtf_tiles *t, int64_t piece)
{
    return t->n / t->pieces * piece + t->n % t->pieces * piece / t->pieces;
}

/* The sums of all pieces, then of all lanes, in place of the first `size` numbers. */
static void add_up(int64_t pieces, int64_t size, double *sums)
{
    for (int64_t piece = 1; piece < pieces; piece++)
        for (int64_t e = 0; e < size * LANES; e++)
            sums[e] += sums[piece * size * LANES + e];
    for (int64_t e = 0; e < size; e++) {
        const double *s = sums + e * LANES;
        sums[e] = ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
    }
}

/* A <- A (F'P / F'Q)^e from the sums of parts from, from + 2, ... that share it. */
static void move_a(const rows_job *j, int64_t from, int64_t n_parts, const double *sums)
{
    const part *b = &j->part[from];
    const int64_t stride = 2 * j->c + 1;

    for (int64_t l = 0; l < b->p; l++)
        for (int64_t k = 0; k < j->c; k++) {
            double up = 0, down = 0, ratio, *a = &FERRY_AT(b->a, l, k);
            for (int64_t v = 0; v < n_parts; v++) {
                const double *sum = sums + (b[2 * v].at + l) * stride + k;
                up += b[2 * v].w * sum[0];
                down += b[2 * v].w * sum[j->c];
            }
            ratio = up / fmax(down, FERRY_NMTF_EPS);
            *a *= j->root ? sqrt(fmax(ratio, 0)) : ratio;
            if (*a < FERRY_NMTF_TINY) *a = 0;
        }
}

void ferry_i_nmtf_rows(ferry_ctx *ctx, ferry_nmtf *n, const ferry_nmtf_options *o,
                       int64_t g, double *objective)
{
    ferry_nmtf_tiles *t = n->group[g].tiles;
    const int best = (int)best_isa() - n->isa_less, isa = best > PLAIN ? best : PLAIN;
    const int64_t size = 2 + t->width * (2 * n->c + 1);
    const int threads = t->n * TILE * t->width > 100000 ? ctx->threads : 1;
    rows_job j = {.t = t, .c = n->c, .root = o->exponent != 1};
    const double *sums = t->sums + 2;

    (void)parts_of(n, g, &j, &t->n_parts, &t->n_views);
    if (!n->tiled) carry(&j, false);
    load_a(&j);
    memset(t->sums, 0, (size_t)(t->pieces * size * LANES) * sizeof *t->sums);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t piece = 0; piece < t->pieces; piece++)
        steps[isa](&j, cut(t, piece), cut(t, piece + 1), t->sums + piece * size * LANES);
    add_up(t->pieces, size, t->sums);
    move_a(&j, 0, 1, sums);
    move_a(&j, 1, t->n_views, sums);
    for (int64_t v = 0; v < t->n_views; v++)
        move_a(&j, 2 + 2 * v, 1, sums);
    for (int64_t b = 0; b < t->n_parts; b++)
        for (int64_t l = 0; l < j.part[b].p; l++)
            j.part[b].sums[l] = sums[(j.part[b].at + l + 1) * (2 * n->c + 1) - 1];
    if (objective) *objective += t->sums[1] - 2 * t->sums[0];
    for (int64_t i = 0; objective && i < n->n_views; i++)
        if (n->view[i].group == g) *objective += n->view[i].w * n->view[i].norm2;
    load_a(&j);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t piece = 0; piece < t->pieces; piece++)
        models[isa](&j, cut(t, piece), cut(t, piece + 1));
}
