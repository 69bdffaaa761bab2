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
    const nmtf_options *o;
    nmtf *n;
    plain *x, *h, *p, *q; /* one per view */
} board;

static plain make(scope *s, int64_t rows, int64_t cols)
{
    return (plain){rows, cols, NEW(s, double, rows *cols)};
}

static double block_at(block b, int64_t i, int64_t j)
{
    return ROW(b, i)[j];
}

/* H(j, k) of a view. */
static double model_at(const nmtf *n, const nmtf_view *v, int64_t j, int64_t k)
{
    const nmtf_group *g = &n->group[v->group];
    double sum = 0;

    for (int64_t l = 0; l < n->p1; l++)
        sum += block_at(g->f1, j, l) * AT(g->a1, l, k);
    for (int64_t l = 0; l < n->pa; l++)
        sum += block_at(v->fa, j, l) * AT(g->aa, l, k);
    for (int64_t l = 0; l < n->p2; l++)
        sum += block_at(v->f2, j, l) * AT(v->a2, l, k);
    return sum;
}

static void fill_x(const ferry_matrix *x, plain *to)
{
    for (int64_t i = 0; i < x->rows; i++)
        for (int64_t e = row_begin(x, i); e < row_end(x, i); e++)
            to->at[row_column(x, i, e) * to->cols + i] = row_values(x)[e];
}

static board board_of(scope *s, nmtf *n, const nmtf_options *o)
{
    board b = {.o = o, .n = n};

    b.x = NEW(s, plain, n->n_views);
    b.h = NEW(s, plain, n->n_views);
    b.p = NEW(s, plain, n->n_views);
    b.q = NEW(s, plain, n->n_views);
    for (int64_t v = 0; v < n->n_views; v++) {
        const ferry_matrix *x = n->view[v].x.m;
        b.x[v] = make(s, x->cols, x->rows);
        b.h[v] = make(s, x->cols, n->c);
        b.p[v] = make(s, x->cols, n->c);
        b.q[v] = make(s, x->cols, n->c);
        fill_x(x, &b.x[v]);
    }
    return b;
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
    const block g = b->n->domain[b->n->view[v].domain].g;
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
    const bool kl = b->o->loss == NMTF_KL;

    *up = kl ? x / fmax(y, NMTF_EPS) : x;
    *down = kl ? 1 : y;
}

/* H, P and Q of the views of a group. */
static void fill_group(board *b, int64_t g)
{
    const nmtf *n = b->n;

    for (int64_t v = 0; v < n->n_views; v++) {
        const block members = n->domain[n->view[v].domain].g;
        if (n->view[v].group != g) continue;
        fill_h(b, v);
        for (int64_t j = 0; j < b->p[v].rows; j++)
            for (int64_t k = 0; k < n->c; k++) {
                double p = 0, q = 0, up, down;
                for (int64_t i = 0; i < members.n; i++) {
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
    const double ratio = up / fmax(down, NMTF_EPS);
    const double next = z * (b->o->exponent == 1 ? ratio : sqrt(ratio));

    return next < NMTF_TINY ? 0 : next;
}

/* F by the sums over its views (`only`: that view alone; else all of group g, weighted). */
static void step_f(board *b, int64_t g, int64_t only, small a, block f)
{
    const nmtf *n = b->n;

    for (int64_t j = 0; j < f.n; j++)
        for (int64_t l = 0; l < f.k; l++) {
            double up = 0, down = 0;
            for (int64_t v = 0; v < n->n_views; v++) {
                const double w = only >= 0 ? 1 : n->view[v].w;
                if (n->view[v].group != g || (only >= 0 && v != only)) continue;
                for (int64_t k = 0; k < n->c; k++) {
                    up += w * b->p[v].at[j * n->c + k] * AT(a, l, k);
                    down += w * b->q[v].at[j * n->c + k] * AT(a, l, k);
                }
            }
            ROW(f, j)[l] = moved(b, ROW(f, j)[l], up, down);
        }
}

/* A likewise; the F of view v is `shared`, or the view's own fa or f2. */
static void step_a(board *b, int64_t g, int64_t only, const block *shared, bool alike,
                   small a)
{
    const nmtf *n = b->n;

    for (int64_t l = 0; l < a.rows; l++)
        for (int64_t k = 0; k < n->c; k++) {
            double up = 0, down = 0;
            for (int64_t v = 0; v < n->n_views; v++) {
                const nmtf_view *view = &n->view[v];
                const block f = shared ? *shared : alike ? view->fa : view->f2;
                const double w = only >= 0 ? 1 : view->w;
                if (view->group != g || (only >= 0 && v != only)) continue;
                for (int64_t j = 0; j < f.n; j++) {
                    up += w * block_at(f, j, l) * b->p[v].at[j * n->c + k];
                    down += w * block_at(f, j, l) * b->q[v].at[j * n->c + k];
                }
            }
            AT(a, l, k) = moved(b, AT(a, l, k), up, down);
        }
}

/* Numerator and denominator of G(i, k). */
static void member_parts(board *b, int64_t d, int64_t i, int64_t k, double *above,
                         double *below)
{
    const nmtf *n = b->n;

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
static void bends(const board *b, int64_t d, small to)
{
    for (int64_t k = 0; k < b->n->c; k++)
        for (int64_t l = 0; l < b->n->c; l++) {
            AT(to, k, l) = 0;
            for (int64_t v = 0; v < b->n->n_views; v++)
                for (int64_t j = 0; b->n->view[v].domain == d && j < b->h[v].rows; j++)
                    AT(to, k, l) += b->n->view[v].w * b->h[v].at[j * b->n->c + k] *
                                    b->h[v].at[j * b->n->c + l];
        }
}

static void step_g(scope *s, board *b, int64_t d, double *next)
{
    nmtf *n = b->n;
    nmtf_domain *dom = &n->domain[d];
    double *above = next + n->c, below;

    bends(b, d, n->cc);
    for (int64_t i = 0; i < dom->n; i++) {
        double *g = ROW(dom->g, i);
        for (int64_t k = 0; k < n->c; k++) {
            member_parts(b, d, i, k, &above[k], &below);
            next[k] = moved(b, g[k], above[k], below);
        }
        if (b->o->norm == NMTF_SIMPLEX) nmtf_simplex_row(s, n->cc, above, next);
        for (int64_t k = 0; k < n->c; k++)
            g[k] = dom->known[i] < 0 ? next[k] : (double)(k == dom->known[i]);
    }
}

static void column_to_1(block f, const small *a)
{
    for (int64_t l = 0; l < f.k; l++) {
        double all = 0;
        for (int64_t j = 0; j < f.n; j++)
            all += block_at(f, j, l);
        if (all <= NMTF_EPS) continue;
        for (int64_t j = 0; j < f.n; j++)
            ROW(f, j)[l] /= all;
        for (int64_t k = 0; a && k < a->cols; k++)
            AT(*a, l, k) *= all;
    }
}

static void normalise(board *b)
{
    nmtf *n = b->n;
    const bool absorb = b->o->norm != NMTF_PAPER;

    if (b->o->norm == NMTF_NONE) return;
    for (int64_t g = 0; g < n->n_groups; g++)
        column_to_1(n->group[g].f1, absorb ? &n->group[g].a1 : NULL);
    for (int64_t v = 0; v < n->n_views; v++) {
        if (!absorb) column_to_1(n->view[v].fa, NULL);
        column_to_1(n->view[v].f2, absorb ? &n->view[v].a2 : NULL);
    }
    for (int64_t d = 0; d < n->n_domains && b->o->norm != NMTF_SIMPLEX; d++)
        for (int64_t i = 0; !n->domain[d].fixed && i < n->domain[d].n; i++) {
            double *g = ROW(n->domain[d].g, i), sum = 0;
            for (int64_t k = 0; k < n->c; k++)
                sum += g[k];
            for (int64_t k = 0; k < n->c; k++)
                g[k] = sum <= NMTF_EPS ? 1 / (double)n->c : g[k] / sum;
        }
}

void oracle_nmtf_step(scope *s, nmtf *n, const nmtf_options *o)
{
    board b = board_of(s, n, o);
    const plain row = make(s, 2, n->c);

    for (int64_t g = 0; g < n->n_groups; g++) {
        nmtf_group *gr = &n->group[g];
        fill_group(&b, g);
        step_f(&b, g, -1, gr->a1, gr->f1);
        for (int64_t v = 0; v < n->n_views; v++) {
            if (n->view[v].group != g) continue;
            step_f(&b, g, v, gr->aa, n->view[v].fa);
            step_f(&b, g, v, n->view[v].a2, n->view[v].f2);
        }
        fill_group(&b, g);
        step_a(&b, g, -1, &gr->f1, false, gr->a1);
        step_a(&b, g, -1, NULL, true, gr->aa);
        for (int64_t v = 0; v < n->n_views; v++)
            if (n->view[v].group == g) step_a(&b, g, v, NULL, false, n->view[v].a2);
    }
    for (int64_t v = 0; v < n->n_views; v++)
        fill_h(&b, v);
    for (int64_t d = 0; d < n->n_domains; d++)
        if (!n->domain[d].fixed) step_g(s, &b, d, row.at);
    normalise(&b);
}

double oracle_nmtf_objective(scope *s, nmtf *n, nmtf_loss loss)
{
    board b = board_of(s, n, NULL);
    double objective = 0;

    for (int64_t v = 0; v < n->n_views; v++) {
        double sum = 0;
        fill_h(&b, v);
        for (int64_t j = 0; j < b.x[v].rows; j++)
            for (int64_t i = 0; i < b.x[v].cols; i++) {
                const double x = b.x[v].at[j * b.x[v].cols + i], y = guess(&b, v, j, i);
                if (loss == NMTF_SQUARED)
                    sum += (x - y) * (x - y);
                else
                    sum += (x > 0 ? x * log(x / fmax(y, NMTF_EPS)) : 0) - x + y;
            }
        objective += n->view[v].w * sum;
    }
    return objective;
}
