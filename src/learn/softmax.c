/* Logistic regression on soft labels.
 *
 *   min over V, b   1/2 |V|^2 + C sum_i sum_k a_ik (- log softmax(V x_i + b)_k)
 *
 * a_ik >= 0 says how much row i speaks for class k; the constants b are free. Two classes have one weight vector, of
 * the second class against the first. Newton steps, each from conjugate gradients on the Hessian-vector product
 *   V + C X' (s o (P o Z - P (P o Z) 1)),  Z = X V,  s_i = sum_k a_ik,
 * to a tolerance that tightens with the gradient, and halved until the objective falls enough (Nocedal and Wright,
 * Numerical Optimization, algorithm 7.1). The problem is convex, so this ends at the minimum.
 *
 * The cost C, where nobody says it: by 3 folds of at most 1000 rows, drawn and dealt by their keys, so that no file's
 * order decides; of equals the smallest, which trusts the rows least. For features whose mean squared length is 1
 * (learn/scale.h) the best value lay between .3 and 30 on all data tried. */
#include "learn/softmax.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_STEPS = 100, MOST_CG = 250, MOST_HALVINGS = 30 };
enum { FOLDS = 3, MOST_ROWS = 1000, LEAST_ROWS = 30 };
static const double costs[] = {0.3, 1, 3, 10, 30};

typedef struct regression {
    matrix x;
    block a; /* n x c */
    double C;
    int64_t c, kk; /* classes; weight vectors: 1 when c = 2 */
    block z, p,
        t;     /* n x kk: margins; probabilities (c = 2: of the second class); scratch */
    double *s; /* n: sums of a */
} regression;

/* Weights and constants together: the gradient and the steps have this shape. */
typedef struct point {
    block v;   /* d x kk */
    double *b; /* kk */
} point;

static point point_new(scope *s, const regression *q)
{
    return (point){block_new(s, HERE(q->x.cols), q->x.cols, q->kk), NEW(s, double, q->kk)};
}

static double dot(scope *s, const point *a, const point *b)
{
    double all = inner(s, a->v, b->v);

    for (int64_t k = 0; k < a->v.k; k++)
        all += a->b[k] * b->b[k];
    return all;
}

/* y <- alpha x + beta y. */
static void combine(scope *s, double alpha, const point *x, double beta, point *y)
{
    axpby(s, alpha, x->v, beta, y->v);
    for (int64_t k = 0; k < y->v.k; k++)
        y->b[k] = alpha * x->b[k] + (beta == 0 ? 0 : beta * y->b[k]);
}

/* z <- X V + 1 b'. */
static void linear_part(scope *s, const regression *q, const point *w, block z)
{
    mul(s, q->x, w->v, z);
    for (int64_t i = 0; i < z.n; i++)
        for (int64_t k = 0; k < q->kk; k++)
            ROW(z, i)[k] += w->b[k];
}

/* log(1 + exp(m)) without overflow. */
static double softplus(double m)
{
    return m > 0 ? m + log1p(exp(-m)) : log1p(exp(m));
}

/* Probabilities of one row from its margins; the loss of the row.
 * c = 2: a_0 log(1 + e^z) + a_1 log(1 + e^-z). Else sum_k a_k (log sum_l e^z_l - z_k), with the largest z taken off
 * first. */
static double row_loss(const regression *q, const double *z, const double *a, double *p)
{
    double top = 0, all = 0, loss = 0;

    if (q->c == 2) {
        p[0] = 1 / (1 + exp(-z[0]));
        return a[0] * softplus(z[0]) + a[1] * softplus(-z[0]);
    }
    for (int64_t k = 0; k < q->c; k++)
        top = k == 0 || z[k] > top ? z[k] : top;
    for (int64_t k = 0; k < q->c; k++)
        all += p[k] = exp(z[k] - top);
    for (int64_t k = 0; k < q->c; k++) {
        loss += a[k] * (log(all) - (z[k] - top));
        p[k] /= all;
    }
    return loss;
}

/* The objective at w; fills z and p. */
static double objective(scope *s, const regression *q, const point *w)
{
    double loss = 0;

    linear_part(s, q, w, q->z);
    for (int64_t i = 0; i < q->x.n; i++)
        loss += row_loss(q, ROW(q->z, i), ROW(q->a, i), ROW(q->p, i));
    return 0.5 * square_sum(s, w->v) + q->C * sum(s, q->x.rows, loss);
}

/* out <- C [X 1]'t (+ v for the weights; the constants have no penalty). */
static void back(scope *s, const regression *q, const point *v, point *out)
{
    tmul(s, q->x, q->t, out->v);
    axpby(s, 1, v->v, q->C, out->v);
    column_sums(s, q->t, out->b);
    for (int64_t k = 0; k < q->kk; k++)
        out->b[k] *= q->C;
}

/* g <- V + C X'(s o P - A), from the probabilities in p. */
static void gradient(scope *s, const regression *q, const point *w, point *g)
{
    for (int64_t i = 0; i < q->x.n; i++)
        for (int64_t k = 0; k < q->kk; k++)
            ROW(q->t, i)[k] = q->s[i] * ROW(q->p, i)[k] - ROW(q->a, i)[q->c == 2 ? 1 : k];
    back(s, q, w, g);
}

/* out <- Hessian times v, at the probabilities in p, which stay; z is overwritten. */
static void hessian(scope *s, const regression *q, const point *v, point *out)
{
    linear_part(s, q, v, q->z);
    for (int64_t i = 0; i < q->x.n; i++) {
        const double *p = ROW(q->p, i), *z = ROW(q->z, i);
        double *t = ROW(q->t, i), mean = 0;
        if (q->c == 2) {
            t[0] = q->s[i] * p[0] * (1 - p[0]) * z[0];
            continue;
        }
        for (int64_t k = 0; k < q->c; k++)
            mean += p[k] * z[k];
        for (int64_t k = 0; k < q->c; k++)
            t[k] = q->s[i] * p[k] * (z[k] - mean);
    }
    back(s, q, v, out);
}

/* step <- about -H^-1 g by conjugate gradients. Stopping at min(1/2, sqrt |g|) |g| gives superlinear convergence with
 * few products while the gradient is large. */
static void newton_step(scope *s, const regression *q, const point *g, double g_norm,
                        point *step)
{
    const int64_t mark = scope_mark(s);
    const double goal = fmin(0.5, sqrt(g_norm)) * g_norm;
    point r = point_new(s, q), d = point_new(s, q), hd = point_new(s, q);
    double rr = g_norm * g_norm;

    combine(s, 0, g, 0, step);
    combine(s, -1, g, 0, &r);
    combine(s, -1, g, 0, &d);
    for (int it = 0; it < MOST_CG && sqrt(rr) > goal; it++) {
        hessian(s, q, &d, &hd);
        const double bend = dot(s, &d, &hd);
        /* H is positive semidefinite; 0 along d means that rounding has taken over */
        if (!(bend > 0)) break;
        combine(s, rr / bend, &d, 1, step);
        combine(s, -rr / bend, &hd, 1, &r);
        const double next = dot(s, &r, &r);
        combine(s, 1, &r, next / rr, &d);
        rr = next;
    }
    scope_release(s, mark);
}

/* w <- w + t step with t = 1, 1/2, ... until the objective falls enough (Armijo, 1e-4). `round` lets steps through
 * whose gain is lost in the rounding of the objective. False: none of them helps, w is as before. */
static bool search(scope *s, const regression *q, const point *g, const point *step,
                   point *w, double *now)
{
    const double slope = dot(s, g, step), before = *now;
    const double round = 8 * DBL_EPSILON * fabs(before);
    double t = 1;

    combine(s, 1, step, 1, w);
    for (int halved = 0; halved < MOST_HALVINGS; halved++) {
        *now = objective(s, q, w);
        if (*now <= before + 1e-4 * t * slope + round) return true;
        combine(s, -t / 2, step, 1, w);
        t /= 2;
    }
    combine(s, -t, step, 1, w);
    *now = objective(s, q, w);
    return false;
}

/* Newton steps from w until the gradient is tol times the first, or none gets further. */
static void minimise(scope *s, const regression *q, double tol, point *w)
{
    point g = point_new(s, q), step = point_new(s, q);
    double now = objective(s, q, w), first = -1;

    for (int it = 0; it < MOST_STEPS; it++) {
        gradient(s, q, w, &g);
        const double norm = sqrt(dot(s, &g, &g));
        if (first < 0) first = norm;
        if (!isfinite(norm) || !isfinite(now))
            scope_fail(s, FERRY_ENUMERIC,
                       "logistic regression: not finite; scale the features");
        if (norm <= tol * first || norm == 0) break;
        newton_step(s, q, &g, norm, &step);
        if (!search(s, q, &g, &step, w, &now) ||
            progress(s, "regression", it + 1, MOST_STEPS, NAN))
            break;
    }
}

/* Starts at 0, where all classes have probability 1 / c. */
linear softmax_regression(scope *s, matrix x, block a, const uint64_t *key, double C,
                          double tol)
{
    const int64_t c = a.k, kk = c == 2 ? 1 : c;
    linear m = {C > 0 ? C : softmax_cost(s, x, a, key),
                block_new(s, HERE(x.cols), x.cols, c), NEW(s, double, c)};
    const int64_t mark = scope_mark(s);
    const regression q = {x,
                          a,
                          m.C,
                          c,
                          kk,
                          block_new(s, x.rows, x.n, kk),
                          block_new(s, x.rows, x.n, kk),
                          block_new(s, x.rows, x.n, kk),
                          NEW(s, double, x.n)};
    point w = point_new(s, &q);

    for (int64_t i = 0; i < x.n; i++)
        for (int64_t k = 0; k < c; k++)
            q.s[i] += ROW(a, i)[k];
    index_columns(s, x);
    minimise(s, &q, tol, &w);
    for (int64_t k = 0; k < kk; k++) {
        const int64_t to = c == 2 ? 1 : k;
        for (int64_t j = 0; j < x.cols; j++)
            ROW(m.w, j)[to] = ROW(w.v, j)[k];
        m.b[to] = w.b[k];
    }
    scope_release(s, mark);
    return m;
}

void softmax_scores(scope *s, const linear *m, matrix x, block out)
{
    mul(s, x, m->w, out);
    for (int64_t i = 0; i < out.n; i++)
        (void)softmax_row(out.k, m->b, ROW(out, i));
}

/* ---- the cost ---- */

typedef struct drawn {
    uint64_t key;
    int64_t number, row; /* among all rows; where it is here */
} drawn;

static int by_key(const void *a, const void *b)
{
    const drawn *x = a, *y = b;

    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

/* The first rows of all by their keys, on all processes. */
static void draw(scope *s, matrix *x, block *a, uint64_t **key)
{
    const int64_t n = x->n;
    drawn *all = NEW(s, drawn, n);
    int64_t *rows = NEW(s, int64_t, n);

    for (int64_t i = 0; i < n; i++)
        all[i] =
            (drawn){(*key)[i], x->rows.number ? x->rows.number[i] : x->rows.first + i, i};
    if (n > 0) qsort(all, (size_t)n, sizeof *all, by_key);
    const int64_t few = n < MOST_ROWS ? n : MOST_ROWS;
    for (int64_t i = 0; i < few; i++)
        rows[i] = all[i].row;
    const matrix mine = take_rows(s, *x, few, rows, false);
    const block say = block_new(s, mine.rows, few, a->k);
    for (int64_t i = 0; i < few; i++)
        memcpy(ROW(say, i), ROW(*a, rows[i]), (size_t)a->k * sizeof(double));
    drawn *together = replicate_items(s, mine.rows, few, sizeof *all, all);
    *x = replicate_rows(s, mine);
    *a = replicate(s, say);
    for (int64_t i = 0; i < x->n; i++)
        together[i].row = i;
    if (x->n > 0) qsort(together, (size_t)x->n, sizeof *together, by_key);
    const int64_t m = x->n < MOST_ROWS ? x->n : MOST_ROWS;
    int64_t *first = NEW(s, int64_t, m);
    block kept = block_new(s, HERE(m), m, a->k);
    *key = NEW(s, uint64_t, m);
    for (int64_t i = 0; i < m; i++) {
        first[i] = together[i].row;
        (*key)[i] = together[i].key;
        memcpy(ROW(kept, i), ROW(*a, first[i]), (size_t)a->k * sizeof(double));
    }
    *x = take_rows(s, *x, m, first, false);
    *a = kept;
}

/* Rows of fold f, or all others, with what they say. */
static matrix part(scope *s, matrix x, block a, const int32_t *fold, int f, bool inside,
                   block *said)
{
    int64_t *rows = NEW(s, int64_t, x.n), n = 0;

    for (int64_t i = 0; i < x.n; i++)
        if ((fold[i] == f) == inside) rows[n++] = i;
    *said = block_new(s, HERE(n), n, a.k);
    for (int64_t i = 0; i < n; i++)
        memcpy(ROW(*said, i), ROW(a, rows[i]), (size_t)a.k * sizeof(double));
    return take_rows(s, x, n, rows, false);
}

double softmax_cost(scope *s, matrix x, block a, const uint64_t *given)
{
    const int64_t mark = scope_mark(s);
    double right[FERRY_COUNT(costs)] = {0};
    int64_t best = 0;

    if (x.rows.n < LEAST_ROWS) return 1;
    uint64_t *key = COPY(s, given, x.n);
    draw(s, &x, &a, &key);
    const int32_t *fold = stratified_folds(s, x.rows, x.n, argmax(s, a), key, FOLDS);
    for (int f = 0; f < FOLDS; f++) {
        block train_y, truth;
        const matrix in = part(s, x, a, fold, f, false, &train_y),
                     out = part(s, x, a, fold, f, true, &truth);
        const int32_t *y = argmax(s, truth);
        for (int64_t c = 0; c < FERRY_COUNT(costs) && out.n > 0; c++) {
            const int64_t inner_mark = scope_mark(s);
            const linear m = softmax_regression(s, in, train_y, NULL, costs[c], 1e-4);
            const block g = block_new(s, out.rows, out.n, a.k);
            softmax_scores(s, &m, out, g);
            const int32_t *said = argmax(s, g);
            for (int64_t i = 0; i < out.n; i++)
                right[c] += said[i] == y[i];
            scope_release(s, inner_mark);
        }
    }
    for (int64_t c = 1; c < FERRY_COUNT(costs); c++)
        if (right[c] > right[best]) best = c;
    scope_release(s, mark);
    return costs[best];
}
