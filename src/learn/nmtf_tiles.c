/* The steps of F and A with squares (nmtf_step.c) by the engine's tiles (linalg/packed.h).
 *
 * While this runs F lives in tiles: all blocks of a group side by side. Features are sorted
 * by the views that have them: F2 and Fa of a view are 0 after the first step where it has
 * no entry, for ever, and then such tiles are left out. The columns of F that normalisation
 * has left to be divided by their sums (`pending`) are multiplied into A instead. */
#include <math.h>
#include <stdlib.h>

#include "learn/nmtf.h"

enum { TILE = FERRY_TILE, MOST_PIECES = 64, PIECE = 64 /* tiles */ };

/* A block of F: F1 first, then Fa and F2 of every view of the group in turn. */
typedef struct part {
    /* where its numbers are while it is not in tiles */
    block f;
    /* the A that it meets; that of Fa is shared by all views of the group */
    small a;
    double *sums;      /* of the columns, for later */
    const double *due; /* what the columns are still to be multiplied by; NULL: nothing */
    double w;          /* of its sums in the step of A */
} part;

/* Of one group; made by its first step and kept. */
struct nmtf_tiles {
    ferry_tiles t;
    part part[FERRY_TILE_PARTS];
};

/* n zeros that begin with a line of the cache. */
static double *in_lines(scope *s, int64_t n)
{
    double *at = NEW(s, double, n + 8);

    return at + (8 - (uintptr_t)at / sizeof(double) % 8) % 8;
}

/* Another block of columns, behind those there are. */
static part *add_part(nmtf_tiles *z, block f, small a, double *of_columns)
{
    const int64_t b = z->t.n_parts++;

    z->part[b] = (part){f, a, of_columns, NULL, 1};
    z->t.at[b] = z->t.width;
    z->t.p[b] = f.k;
    z->t.width += f.k;
    return &z->part[b];
}

/* What stands where, and what it is due now.
 * Called before every use: the arrays of P, H and K stay where they are, but what is due
 * changes with every normalisation. Part 0 is F1; view v has 1 + 2 v (Fa) and 2 + 2 v
 * (F2). */
static void list_parts(nmtf *n, int64_t g, nmtf_tiles *z)
{
    nmtf_group *gr = &n->group[g];
    ferry_tiles *t = &z->t;

    t->n_parts = t->n_views = t->width = 0;
    part *b = add_part(z, gr->f1, gr->a1, gr->f1_sums);
    if (n->pending) b->due = gr->f1_sums;
    for (int64_t i = 0; i < n->n_views; i++) {
        nmtf_view *v = &n->view[i];
        if (v->group != g) continue;
        b = add_part(z, v->fa, gr->aa, v->fa_sums);
        b->w = v->w;
        if (n->pending && v->fa_scaled) b->due = v->fa_sums;
        b = add_part(z, v->f2, v->a2, v->f2_sums);
        if (n->pending) b->due = v->f2_sums;
        t->pv[t->n_views] = v->p.at;
        t->hv[t->n_views] = v->h.at;
        t->kv[t->n_views] = n->domain[v->domain].k.at;
        t->w[t->n_views++] = v->w;
    }
}

/* Keys are distinct: they end in the feature's number. */
static int by_key(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* key[i] <- views << 32 | feature, sorted; how many tiles of one set of views they fill.
 * A feature has a view where some row has an entry there; a dense view has all. A tile never mixes two sets of views, so that whole parts of it can be left out. */
static int64_t sort_features(scope *s, const nmtf *n, int64_t g, int64_t *key)
{
    const int64_t m = n->group[g].m;
    int64_t bit = 0, tiles = 0;

    for (int64_t r = 0; r < m; r++)
        key[r] = r;
    for (int64_t i = 0; i < n->n_views; i++) {
        const matrix x = n->view[i].x;
        if (n->view[i].group != g) continue;
        uint8_t *has = x.m->dense ? NULL : columns_used(s, x);
        for (int64_t r = 0; r < m; r++)
            if (!has || has[r]) key[r] |= INT64_C(1) << (32 + bit);
        bit++;
        scope_drop(s, has);
    }
    qsort(key, (size_t)m, sizeof *key, by_key);
    for (int64_t r = 0, last = 0; r < m; r = last, ++tiles)
        for (last = r; last < m && last < r + TILE && key[last] >> 32 == key[r] >> 32;)
            last++;
    return tiles;
}

/* Once a group. m x width numbers, padded where a set of views ends within a tile (row
 * -1). `pieces` depends on the size alone, so that sums do not depend on threads. */
void nmtf_tiles_new(scope *s, nmtf *n, int64_t g)
{
    const int64_t m = n->group[g].m;
    int64_t at = 0;

    if (n->group[g].tiles) return;
    nmtf_tiles *z = NEW(s, nmtf_tiles, 1);
    int64_t *key = NEW(s, int64_t, m);
    ferry_tiles *t = &z->t;
    t->c = n->c;
    t->tiny = NMTF_TINY;
    list_parts(n, g, z);
    t->n = sort_features(s, n, g, key);
    t->pieces = 1 + t->n / PIECE < MOST_PIECES ? 1 + t->n / PIECE : MOST_PIECES;
    t->row = NEW(s, int32_t, t->n * TILE);
    t->has = NEW(s, uint32_t, t->n);
    t->dead = NEW(s, uint8_t, t->n * t->n_parts);
    t->a = NEW(s, double, t->width *(3 * n->c + 1));
    t->f = in_lines(s, t->n * t->width * TILE);
    t->sums = in_lines(s, t->pieces * ferry_i_tiles_sums(t) * FERRY_TILE_ROOM);
    for (int64_t i = 0; i < t->n; i++) {
        t->has[i] = (uint32_t)(key[at] >> 32);
        for (int64_t r = 0; r < TILE; r++) {
            const bool more = at < m && (uint32_t)(key[at] >> 32) == t->has[i];
            t->row[i * TILE + r] = more ? (int32_t)(key[at++] & INT32_MAX) : -1;
        }
    }
    scope_drop(s, key);
    n->group[g].tiles = z;
}

/* F from the blocks to the tiles, or back; columns times what is due.
 * On the way in a part of a tile that is all 0 is marked dead: a multiplicative step
 * leaves it so for ever. On the way back due factors are applied and so are no longer
 * pending. */
static void move_f(const nmtf_tiles *z, bool back)
{
    const ferry_tiles *t = &z->t;

    for (int64_t i = 0; i < t->n; i++)
        for (int64_t b = 0; b < t->n_parts; b++) {
            const part *pt = &z->part[b];
            bool zero = true;
            for (int64_t r = 0; r < TILE; r++) {
                const int64_t row = t->row[i * TILE + r];
                double *tile = t->f + (i * t->width + t->at[b]) * TILE + r;
                for (int64_t l = 0; row >= 0 && l < t->p[b]; l++) {
                    double *value = ROW(pt->f, row) + l;
                    if (back)
                        *value = tile[l * TILE] * (pt->due ? pt->due[l] : 1);
                    else
                        tile[l * TILE] = *value;
                    zero = zero && tile[l * TILE] == 0;
                }
            }
            if (!back) t->dead[i * t->n_parts + b] = zero;
        }
}

/* F of all groups back to the blocks, up to date. */
void nmtf_untile(nmtf *n)
{
    for (int64_t g = 0; g < n->n_groups; g++) {
        list_parts(n, g, n->group[g].tiles);
        move_f(n->group[g].tiles, true);
    }
    n->tiled = n->pending = false;
}

/* The kernels have arrays of fixed size on the stack; beyond that step by step. */
bool nmtf_tiles_fit(const nmtf *n)
{
    bool fit = n->c <= FERRY_TILE_CLASSES && n->n_views <= FERRY_TILE_VIEWS;

    for (int64_t g = 0; g < n->n_groups; g++)
        fit = fit && n->group[g].m < INT32_MAX;
    return fit;
}

/* ---- the step ---- */

/* What the columns of F meet (see `a` of ferry_tiles).
 * s is what the column is due. (f s) A = f (A s); and moving f s by sqrt(u / d) is the
 * same as moving f by sqrt(u s / (d / s)), so the denominator's A is divided by s, and
 * its floor with it. With exponent 1, f s u / d = f (u s) / d: the denominator stays. */
static void load_a(const nmtf_tiles *z)
{
    const ferry_tiles *t = &z->t;
    const int64_t c = t->c;

    for (int64_t b = 0; b < t->n_parts; b++)
        for (int64_t l = 0; l < t->p[b]; l++) {
            const part *pt = &z->part[b];
            double *to = t->a + (t->at[b] + l) * (3 * c + 1);
            const double s = pt->due ? pt->due[l] : 1, low = t->root ? 1 / s : 1;
            for (int64_t k = 0; k < c; k++) {
                to[k] = AT(pt->a, l, k) * s;
                to[c + k] = AT(pt->a, l, k) * low;
                to[2 * c + k] = AT(pt->a, l, k);
            }
            to[3 * c] = NMTF_EPS * low;
        }
}

/* A <- A (F'P / F'Q)^e from the sums of parts from, from + 2, ... that share it.
 * Parts that share an A (the Fa of all views) stand two apart. The layout of `sums` is
 * that of packed.h: two numbers, then 2 c + 1 for each column. */
static void move_a(const nmtf_tiles *z, int64_t from, int64_t n_parts)
{
    const ferry_tiles *t = &z->t;
    const part *b = &z->part[from];

    for (int64_t l = 0; l < t->p[from]; l++)
        for (int64_t k = 0; k < t->c; k++) {
            double up = 0, down = 0, ratio, *a = &AT(b->a, l, k);
            for (int64_t v = 0; v < n_parts; v++) {
                const double *sum =
                    t->sums + 2 + (t->at[from + 2 * v] + l) * (2 * t->c + 1) + k;
                up += b[2 * v].w * sum[0];
                down += b[2 * v].w * sum[t->c];
            }
            ratio = up / fmax(down, NMTF_EPS);
            *a *= t->root ? sqrt(fmax(ratio, 0)) : ratio;
            if (*a < NMTF_TINY) *a = 0;
        }
}

/* The engine moves F and adds up; A, which is small, moves here; then H is made anew
 * from both, for G's step and the next Q. |X|^2 is what the engine's two sums lack of
 * the objective. */
void nmtf_tiles_step(scope *s, nmtf *n, const nmtf_options *o, int64_t g, double *objective)
{
    ferry_ctx *ctx = scope_ctx(s);
    nmtf_tiles *z = n->group[g].tiles;
    ferry_tiles *t = &z->t;

    t->root = o->exponent != 1;
    list_parts(n, g, z);
    if (!n->tiled) move_f(z, false);
    load_a(z);
    ferry_e(ctx)->tiles_step(ctx, t);
    move_a(z, 0, 1);          /* A1 */
    move_a(z, 1, t->n_views); /* Aa */
    for (int64_t v = 0; v < t->n_views; v++)
        move_a(z, 2 + 2 * v, 1); /* A2 */
    for (int64_t b = 0; b < t->n_parts; b++)
        for (int64_t l = 0; l < t->p[b]; l++)
            z->part[b].sums[l] = t->sums[1 + (t->at[b] + l + 1) * (2 * t->c + 1)];
    *objective += t->sums[1] - 2 * t->sums[0];
    for (int64_t i = 0; i < n->n_views; i++)
        if (n->view[i].group == g) *objective += n->view[i].w * n->view[i].norm2;
    /* A has moved; nothing is due any more that H would need (it takes the third part) */
    load_a(z);
    ferry_e(ctx)->tiles_model(ctx, t);
}
