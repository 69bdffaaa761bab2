/* The reference engine on packed data (linalg/packed.h): one feature, one entry after the
 * other.
 *
 * Everything is looked up anew for every number: what the packed layouts say is read
 * straight from packed.h's definitions, with none of the shortcuts that they are made
 * for. */
#include "linalg/ref/ref.h"

#include <math.h>
#include <string.h>

/* ---- tiles ---- */

/* Column l of F for slot r of tile i. */
static double *tile_at(const ferry_tiles *t, int64_t i, int64_t r, int64_t l)
{
    return t->f + (i * t->width + l) * FERRY_TILE + r;
}

/* H of view v, class k, of a slot: over F1 and the view's own two parts.
 * moved: F has been multiplied by what its columns were due, so plain A is right;
 * before, A s. */
static double tile_h(const ferry_tiles *t, int64_t i, int64_t r, int64_t v, int64_t k,
                     bool moved)
{
    const int64_t parts[3] = {0, 1 + 2 * v, 2 + 2 * v};
    double sum = 0;

    for (int j = 0; j < 3; j++)
        for (int64_t l = t->at[parts[j]]; l < t->at[parts[j]] + t->p[parts[j]]; l++)
            sum += *tile_at(t, i, r, l) *
                   t->a[l * (3 * t->c + 1) + (moved ? 2 * t->c : 0) + k];
    return sum;
}

/* p, q (c) <- P and Q of view v for a slot; v < 0: their weighted sums over the views. */
static void tile_pq(const ferry_tiles *t, int64_t i, int64_t r, int64_t v, bool moved,
                    double *p, double *q)
{
    const int64_t c = t->c, row = t->row[i * FERRY_TILE + r];

    for (int64_t k = 0; k < c; k++)
        p[k] = q[k] = 0;
    for (int64_t u = v < 0 ? 0 : v; u < (v < 0 ? t->n_views : v + 1); u++)
        for (int64_t k = 0; k < c; k++) {
            const double w = v < 0 ? t->w[u] : 1;
            p[k] += w * t->pv[u][row * c + k];
            for (int64_t l = 0; l < c; l++)
                q[k] += w * tile_h(t, i, r, u, l, moved) * t->kv[u][l + k * c];
        }
}

/* <P, H> and <Q, H> of a slot before it moves. */
static void tile_losses(const ferry_tiles *t, int64_t i, int64_t r)
{
    double p[FERRY_TILE_CLASSES], q[FERRY_TILE_CLASSES];

    for (int64_t v = 0; v < t->n_views; v++) {
        tile_pq(t, i, r, v, false, p, q);
        for (int64_t k = 0; k < t->c; k++) {
            t->sums[0] += t->w[v] * p[k] * tile_h(t, i, r, v, k, false);
            t->sums[1] += t->w[v] * q[k] * tile_h(t, i, r, v, k, false);
        }
    }
}

/* next (width) <- F (P A' / Q A')^e of a slot; all from the F that there is.
 * (b - 1) / 2 is the view of part b; part 0 is F1, which meets the sums over the views. */
static void tile_next(const ferry_tiles *t, int64_t i, int64_t r, double *next)
{
    const int64_t c = t->c;
    double p[FERRY_TILE_CLASSES], q[FERRY_TILE_CLASSES];

    for (int64_t b = 0; b < t->n_parts; b++) {
        tile_pq(t, i, r, b == 0 ? -1 : (b - 1) / 2, false, p, q);
        for (int64_t l = t->at[b]; l < t->at[b] + t->p[b]; l++) {
            const double *a = t->a + l * (3 * c + 1);
            double up = 0, down = 0;
            for (int64_t k = 0; k < c; k++) {
                up += p[k] * a[k];
                down += q[k] * a[c + k];
            }
            up /= fmax(down, a[3 * c]);
            next[l] = *tile_at(t, i, r, l) * (t->root ? sqrt(up) : up);
            if (next[l] < t->tiny) next[l] = 0;
        }
    }
}

/* F'P, F'Q and the columns' sums of a slot that has moved. */
static void tile_sums(const ferry_tiles *t, int64_t i, int64_t r)
{
    double p[FERRY_TILE_CLASSES], q[FERRY_TILE_CLASSES];

    for (int64_t b = 0; b < t->n_parts; b++) {
        tile_pq(t, i, r, b == 0 ? -1 : (b - 1) / 2, true, p, q);
        for (int64_t l = t->at[b]; l < t->at[b] + t->p[b]; l++) {
            double *sum = t->sums + 2 + l * (2 * t->c + 1), f = *tile_at(t, i, r, l);
            for (int64_t k = 0; k < t->c; k++) {
                sum[k] += f * p[k];
                sum[t->c + k] += f * q[k];
            }
            sum[2 * t->c] += f;
        }
    }
}

/* A slot (a feature) at a time: losses, the move of all its columns from the same Q,
 * then the sums with the new F. Dead parts are 0 and need no special care. */
void ferry_i_ref_tiles_step(ferry_ctx *ctx, const ferry_tiles *t)
{
    (void)ctx;
    memset(t->sums, 0, (size_t)ferry_i_tiles_sums(t) * sizeof *t->sums);
    for (int64_t i = 0; i < t->n; i++)
        for (int64_t r = 0; r < FERRY_TILE; r++) {
            double *next = t->sums + ferry_i_tiles_sums(t); /* there is room for it */
            if (t->row[i * FERRY_TILE + r] < 0) continue;
            tile_losses(t, i, r);
            tile_next(t, i, r, next);
            for (int64_t l = 0; l < t->width; l++)
                *tile_at(t, i, r, l) = next[l];
            tile_sums(t, i, r);
        }
}

void ferry_i_ref_tiles_model(ferry_ctx *ctx, const ferry_tiles *t)
{
    (void)ctx;
    for (int64_t i = 0; i < t->n * FERRY_TILE; i++)
        for (int64_t v = 0; t->row[i] >= 0 && v < t->n_views; v++)
            for (int64_t k = 0; k < t->c; k++)
                t->hv[v][t->row[i] * t->c + k] =
                    tile_h(t, i / FERRY_TILE, i % FERRY_TILE, v, k, true);
}

/* ---- consensus ---- */

/* Value and column of entry e of a pattern. */
static double entry(const ferry_pattern *x, int64_t e, int64_t *column)
{
    *column = x->narrow ? x->narrow[e] : x->wide[e];
    return x->value ? x->value[e] : 1;
}

/* What view j has at entry e: its column's factor, or (values kept) f times the value.
 * t_ij = sum_c x_ic factor_c u_c, less f shift'u where the view has the instance. */
static double t_of(const ferry_consensus *z, int64_t j, int64_t i, const double *u)
{
    const ferry_consensus_view *v = &z->view[j];
    double sum = 0, less = 0;
    int64_t c;

    for (int64_t e = v->x.start[i]; e < v->x.start[i + 1]; e++) {
        const double x = entry(&v->x, e, &c);
        sum += x * v->factor[c] * u[v->at + c];
    }
    for (c = 0; v->shift && c < v->cols; c++)
        less += v->f * v->shift[c] * u[v->at + c];
    return sum - (v->present ? v->present[i] * less : less);
}

/* r_j of instance i: (a_j - b) t_j + b s + W t_j. */
static double r_of(const ferry_consensus *z, int64_t j, int64_t i)
{
    double r = z->own[j] * FERRY_ROW(z->t, i)[j];
    int64_t l;

    for (int64_t v = 0; v < z->p; v++)
        r += z->b * FERRY_ROW(z->t, i)[v];
    for (int64_t g = 0; g < z->q; g++)
        for (int64_t e = z->graph[g].start[i]; e < z->graph[g].start[i + 1]; e++) {
            const double a = entry(&z->graph[g], e, &l);
            r += a * (z->node[g] ? z->node[g][i] * z->node[g][l] : 1) *
                 FERRY_ROW(z->t, l)[j];
        }
    return r;
}

/* y_j = X_j'r_j, all t before any r: W joins instances. */
void ferry_i_ref_consensus_mul(ferry_ctx *ctx, ferry_consensus *z, const double *u,
                               double *y)
{
    (void)ctx;
    memset(y, 0, (size_t)z->size * sizeof *y);
    for (int64_t i = 0; i < z->m; i++)
        for (int64_t j = 0; j < z->p; j++)
            FERRY_ROW(z->t, i)[j] = t_of(z, j, i, u);
    for (int64_t j = 0; j < z->p; j++)
        for (int64_t i = 0; i < z->m; i++) {
            const ferry_consensus_view *v = &z->view[j];
            const double r = r_of(z, j, i), here = v->present ? v->present[i] : 1;
            int64_t c;
            for (int64_t e = v->x.start[i]; e < v->x.start[i + 1]; e++) {
                const double x = entry(&v->x, e, &c);
                y[v->at + c] += x * v->factor[c] * r;
            }
            for (c = 0; v->shift && c < v->cols; c++)
                y[v->at + c] -= v->f * v->shift[c] * here * r;
        }
}

/* ---- rows and pairs ---- */

void ferry_i_ref_row_mul(const ferry_ctx *ctx, int64_t n, const double *v,
                         const int32_t *index, const double *w, int64_t wide, double *s)
{
    (void)ctx;
    for (int64_t c = 0; c < wide; c++) {
        s[c] = 0;
        for (int64_t e = 0; e < n; e++)
            s[c] += v[e] * w[(index ? index[e] : e) * wide + c];
    }
}

void ferry_i_ref_row_add(const ferry_ctx *ctx, int64_t n, const double *v,
                         const int32_t *index, double *w, int64_t wide, const double *add)
{
    (void)ctx;
    for (int64_t e = 0; e < n; e++)
        for (int64_t c = 0; c < wide; c++)
            w[(index ? index[e] : e) * wide + c] += v[e] * add[c];
}

/* The formula of linalg.h, pair after pair: each sees what those before it did to s and
 * s_q. */
double ferry_i_ref_pair_steps(const ferry_ctx *ctx, const ferry_label_pairs *p, double *a,
                              double *s, double *add, double *gap)
{
    double sum = 0, own = p->s;

    (void)ctx;
    for (int64_t q = 0; q < p->n; q++) {
        const double g = own - s[q] - 1;
        const double want = a[q] - g / (2 * p->norm2);
        const double da = fmin(fmax(want, 0), p->most) - a[q];
        if (da != 0) *gap += a[q] * g + p->most * fmax(0, -g);
        a[q] += da;
        own += da * p->norm2;
        s[q] -= da * p->norm2;
        sum += da;
        add[q] -= da;
    }
    return sum;
}
