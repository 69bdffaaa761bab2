/* The iteration of nmtf_step.c from the formulas alone: every matrix dense, every product
 * three loops, the model H G' written out. Features x instances, as on paper. */
#include <math.h>
#include <string.h>

#include "learn/rows.h"
#include "oracle.h"

/* A plain matrix, one row after the other. */
typedef struct plain {
    int64_t rows, cols;
    double *at;
} plain;

/* Everything of one step, in full. */
typedef struct board {
    const ferry_nmtf_options *o;
    ferry_nmtf *n;
    plain *x, *h, *p, *q; /* one per view */
    bool failed;
} board;

static plain make(board *b, int64_t rows, int64_t cols)
{
    plain a = {rows, cols, ferry_i_calloc(rows * cols, sizeof(double))};

    b->failed = b->failed || !a.at;
    return a;
}

static double block_at(const ferry_block *b, int64_t i, int64_t j)
{
    return b->data[i * b->k + j];
}

/* H(j, k) of a view. */
static double model_at(const ferry_nmtf *n, const ferry_nmtf_view *v, int64_t j, int64_t k)
{
    const ferry_nmtf_group *g = &n->group[v->group];
    double sum = 0;

    for (int64_t l = 0; l < n->p1; l++)
        sum += block_at(g->f1, j, l) * FERRY_AT(g->a1, l, k);
    for (int64_t l = 0; l < n->pa; l++)
        sum += block_at(v->fa, j, l) * FERRY_AT(g->aa, l, k);
    for (int64_t l = 0; l < n->p2; l++)
        sum += block_at(v->f2, j, l) * FERRY_AT(v->a2, l, k);
    return sum;
}

static void fill_x(const ferry_matrix *x, plain *to)
{
    for (int64_t i = 0; i < x->rows; i++)
        for (int64_t e = row_begin(x, i); e < row_end(x, i); e++)
            to->at[row_column(x, i, e) * to->cols + i] = row_values(x)[e];
}

static void board_clear(board *b)
{
    for (int64_t v = 0; v < b->n->n_views; v++) {
        if (b->x) ferry_i_free(b->x[v].at);
        if (b->h) ferry_i_free(b->h[v].at);
        if (b->p) ferry_i_free(b->p[v].at);
        if (b->q) ferry_i_free(b->q[v].at);
    }
    ferry_i_free(b->x);
    ferry_i_free(b->h);
    ferry_i_free(b->p);
    ferry_i_free(b->q);
}

static ferry_status board_init(ferry_ctx *ctx, board *b)
{
    const ferry_nmtf *n = b->n;

    b->x = ferry_i_calloc(n->n_views, sizeof *b->x);
    b->h = ferry_i_calloc(n->n_views, sizeof *b->h);
    b->p = ferry_i_calloc(n->n_views, sizeof *b->p);
    b->q = ferry_i_calloc(n->n_views, sizeof *b->q);
    b->failed = !b->x || !b->h || !b->p || !b->q;
    for (int64_t v = 0; !b->failed && v < n->n_views; v++) {
        const ferry_matrix *x = n->view[v].x;
        b->x[v] = make(b, x->cols, x->rows);
        b->h[v] = make(b, x->cols, n->c);
        b->p[v] = make(b, x->cols, n->c);
        b->q[v] = make(b, x->cols, n->c);
        if (!b->failed) fill_x(x, &b->x[v]);
    }
    return b->failed ? ferry_i_nomem(ctx) : FERRY_OK;
}

static void fill_h(board *b, int64_t v)
{
    for (int64_t j = 0; j < b->h[v].rows; j++)
        for (int64_t k = 0; k < b->n->c; k++)
            b->h[v].at[j * b->n->c + k] = model_at(b->n, &b->n->view[v], j, k);
}

/* The model's value for feature j of instance i. */
static double guess(const board *b, int64_t v, int64_t j, int64_t i)
{
    const ferry_block *g = b->n->domain[b->n->view[v].domain].g;
    double y = 0;

    for (int64_t k = 0; k < b->n->c; k++)
        y += b->h[v].at[j * b->n->c + k] * block_at(g, i, k);
    return y;
}

/* What stands in the numerators and denominators for entry (j, i): x and y, or with the
 * divergence x / y and 1. */
static void weigh(const board *b, int64_t v, int64_t j, int64_t i, double *up, double *down)
{
    const double x = b->x[v].at[j * b->x[v].cols + i], y = guess(b, v, j, i);
    const bool kl = b->o->loss == FERRY_NMTF_KL;

    *up = kl ? x / fmax(y, FERRY_NMTF_EPS) : x;
    *down = kl ? 1 : y;
}

/* H, P and Q of the views of a group. */
static void fill_group(board *b, int64_t g)
{
    const ferry_nmtf *n = b->n;

    for (int64_t v = 0; v < n->n_views; v++) {
        const ferry_block *members = n->domain[n->view[v].domain].g;
        if (n->view[v].group != g) continue;
        fill_h(b, v);
        for (int64_t j = 0; j < b->p[v].rows; j++)
            for (int64_t k = 0; k < n->c; k++) {
                double p = 0, q = 0, up, down;
                for (int64_t i = 0; i < members->rows; i++) {
                    weigh(b, v, j, i, &up, &down);
                    p += up * block_at(members, i, k);
                    q += down * block_at(members, i, k);
                }
                b->p[v].at[j * n->c + k] = p;
                b->q[v].at[j * n->c + k] = q;
            }
    }
}

static double moved(const board *b, double z, double up, double down)
{
    const double ratio = up / fmax(down, FERRY_NMTF_EPS);
    const double next = z * (b->o->exponent == 1 ? ratio : sqrt(ratio));

    return next < FERRY_NMTF_TINY ? 0 : next;
}

/* F by the sums over its views (`only`: that view alone; else all of group g, weighted). */
static void step_f(board *b, int64_t g, int64_t only, const ferry_small *a, ferry_block *f)
{
    const ferry_nmtf *n = b->n;

    for (int64_t j = 0; j < f->rows; j++)
        for (int64_t l = 0; l < f->k; l++) {
            double up = 0, down = 0;
            for (int64_t v = 0; v < n->n_views; v++) {
                const double w = only >= 0 ? 1 : n->view[v].w;
                if (n->view[v].group != g || (only >= 0 && v != only)) continue;
                for (int64_t k = 0; k < n->c; k++) {
                    up += w * b->p[v].at[j * n->c + k] * FERRY_AT(a, l, k);
                    down += w * b->q[v].at[j * n->c + k] * FERRY_AT(a, l, k);
                }
            }
            f->data[j * f->k + l] = moved(b, f->data[j * f->k + l], up, down);
        }
}

/* A likewise; the F of view v is `shared`, or the view's own fa or f2. */
static void step_a(board *b, int64_t g, int64_t only, const ferry_block *shared, bool alike,
                   ferry_small *a)
{
    const ferry_nmtf *n = b->n;

    for (int64_t l = 0; l < a->rows; l++)
        for (int64_t k = 0; k < n->c; k++) {
            double up = 0, down = 0;
            for (int64_t v = 0; v < n->n_views; v++) {
                const ferry_nmtf_view *view = &n->view[v];
                const ferry_block *f = shared ? shared : alike ? view->fa : view->f2;
                const double w = only >= 0 ? 1 : view->w;
                if (view->group != g || (only >= 0 && v != only)) continue;
                for (int64_t j = 0; j < f->rows; j++) {
                    up += w * block_at(f, j, l) * b->p[v].at[j * n->c + k];
                    down += w * block_at(f, j, l) * b->q[v].at[j * n->c + k];
                }
            }
            FERRY_AT(a, l, k) = moved(b, FERRY_AT(a, l, k), up, down);
        }
}

/* Numerator and denominator of G(i, k). */
static void member_parts(board *b, int64_t d, int64_t i, int64_t k, double *above,
                         double *below)
{
    const ferry_nmtf *n = b->n;

    *above = *below = 0;
    for (int64_t v = 0; v < n->n_views; v++) {
        double up, down;
        if (n->view[v].domain != d) continue;
        for (int64_t j = 0; j < b->h[v].rows; j++) {
            weigh(b, v, j, i, &up, &down);
            *above += n->view[v].w * up * b->h[v].at[j * n->c + k];
            *below += n->view[v].w * down * b->h[v].at[j * n->c + k];
        }
    }
}

/* The sum of w H'H over the views of d. */
static void bends(const board *b, int64_t d, ferry_small *s)
{
    for (int64_t k = 0; k < b->n->c; k++)
        for (int64_t l = 0; l < b->n->c; l++) {
            FERRY_AT(s, k, l) = 0;
            for (int64_t v = 0; v < b->n->n_views; v++)
                for (int64_t j = 0; b->n->view[v].domain == d && j < b->h[v].rows; j++)
                    FERRY_AT(s, k, l) += b->n->view[v].w * b->h[v].at[j * b->n->c + k] *
                                         b->h[v].at[j * b->n->c + l];
        }
}

static ferry_status step_g(ferry_ctx *ctx, board *b, int64_t d, double *next)
{
    ferry_status st = FERRY_OK;
    ferry_nmtf *n = b->n;
    ferry_nmtf_domain *dom = &n->domain[d];
    double *above = next + n->c, below;

    bends(b, d, n->cc);
    for (int64_t i = 0; i < dom->n; i++) {
        for (int64_t k = 0; k < n->c; k++) {
            member_parts(b, d, i, k, &above[k], &below);
            next[k] = moved(b, block_at(dom->g, i, k), above[k], below);
        }
        if (b->o->norm == FERRY_NMTF_SIMPLEX)
            FERRY_TRY(ferry_i_nmtf_simplex_row(ctx, n->cc, above, next));
        for (int64_t k = 0; k < n->c; k++)
            FERRY_ROW(dom->g, i)
        [k] = dom->known[i] < 0 ? next[k] : (double)(k == dom->known[i]);
    }
done:
    return st;
}

static void column_to_1(ferry_block *f, ferry_small *a, bool absorb)
{
    for (int64_t l = 0; l < f->k; l++) {
        double sum = 0;
        for (int64_t j = 0; j < f->rows; j++)
            sum += block_at(f, j, l);
        if (sum <= FERRY_NMTF_EPS) continue;
        for (int64_t j = 0; j < f->rows; j++)
            f->data[j * f->k + l] /= sum;
        for (int64_t k = 0; absorb && k < a->cols; k++)
            FERRY_AT(a, l, k) *= sum;
    }
}

static void normalise(board *b)
{
    ferry_nmtf *n = b->n;
    const bool absorb = b->o->norm != FERRY_NMTF_PAPER;

    if (b->o->norm == FERRY_NMTF_NONE) return;
    for (int64_t g = 0; g < n->n_groups; g++)
        column_to_1(n->group[g].f1, n->group[g].a1, absorb);
    for (int64_t v = 0; v < n->n_views; v++) {
        if (!absorb) column_to_1(n->view[v].fa, NULL, false);
        column_to_1(n->view[v].f2, n->view[v].a2, absorb);
    }
    for (int64_t d = 0; d < n->n_domains && b->o->norm != FERRY_NMTF_SIMPLEX; d++)
        for (int64_t i = 0; !n->domain[d].fixed && i < n->domain[d].n; i++) {
            double *g = FERRY_ROW(n->domain[d].g, i), sum = 0;
            for (int64_t k = 0; k < n->c; k++)
                sum += g[k];
            for (int64_t k = 0; k < n->c; k++)
                g[k] = sum <= FERRY_NMTF_EPS ? 1 / (double)n->c : g[k] / sum;
        }
}

ferry_status oracle_nmtf_step(ferry_ctx *ctx, ferry_nmtf *n, const ferry_nmtf_options *o)
{
    ferry_status st = FERRY_OK;
    board b = {.o = o, .n = n};
    plain row = {0};

    FERRY_TRY(board_init(ctx, &b));
    row = make(&b, 2, n->c);
    if (b.failed) FERRY_TRY(ferry_i_nomem(ctx));
    for (int64_t g = 0; g < n->n_groups; g++) {
        ferry_nmtf_group *gr = &n->group[g];
        fill_group(&b, g);
        step_f(&b, g, -1, gr->a1, gr->f1);
        for (int64_t v = 0; v < n->n_views; v++) {
            if (n->view[v].group != g) continue;
            step_f(&b, g, v, gr->aa, n->view[v].fa);
            step_f(&b, g, v, n->view[v].a2, n->view[v].f2);
        }
        fill_group(&b, g);
        step_a(&b, g, -1, gr->f1, false, gr->a1);
        step_a(&b, g, -1, NULL, true, gr->aa);
        for (int64_t v = 0; v < n->n_views; v++)
            if (n->view[v].group == g) step_a(&b, g, v, NULL, false, n->view[v].a2);
    }
    for (int64_t v = 0; v < n->n_views; v++)
        fill_h(&b, v);
    for (int64_t d = 0; d < n->n_domains; d++)
        if (!n->domain[d].fixed) FERRY_TRY(step_g(ctx, &b, d, row.at));
    normalise(&b);
done:
    ferry_i_free(row.at);
    board_clear(&b);
    return st;
}

ferry_status oracle_nmtf_objective(ferry_ctx *ctx, const ferry_nmtf *n,
                                   ferry_nmtf_loss loss, double *objective)
{
    ferry_status st = FERRY_OK;
    board b = {.n = (ferry_nmtf *)n}; /* only read */

    *objective = 0;
    FERRY_TRY(board_init(ctx, &b));
    for (int64_t v = 0; v < n->n_views; v++) {
        double sum = 0;
        fill_h(&b, v);
        for (int64_t j = 0; j < b.x[v].rows; j++)
            for (int64_t i = 0; i < b.x[v].cols; i++) {
                const double x = b.x[v].at[j * b.x[v].cols + i], y = guess(&b, v, j, i);
                if (loss == FERRY_NMTF_SQUARED)
                    sum += (x - y) * (x - y);
                else
                    sum += (x > 0 ? x * log(x / fmax(y, FERRY_NMTF_EPS)) : 0) - x + y;
            }
        *objective += n->view[v].w * sum;
    }
done:
    board_clear(&b);
    return st;
}
