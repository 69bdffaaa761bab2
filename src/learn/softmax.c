/* Logistic regression on soft labels.
 *
 *   min over V, b   1/2 |V|^2 + C sum_i sum_k a_ik (- log softmax(V x_i + b)_k)
 *
 * a_ik >= 0 says how much instance i speaks for class k; the constants b are free. Two
 * classes have one weight vector, of the second class against the first. Newton steps, each
 * from conjugate gradients on the Hessian-vector product
 *   V + C X' (s o (P o Z - P (P o Z) 1)),  Z = X V,  s_i = sum_k a_ik,
 * to a tolerance that tightens with the gradient, and halved until the objective falls
 * enough (Nocedal and Wright, Numerical Optimization, algorithm 7.1). The problem is
 * convex, so this ends at the minimum. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "learn/learn.h"

enum { MOST_STEPS = 100, MOST_CG = 250, MOST_HALVINGS = 30 };

typedef struct problem {
    const ferry_matrix *x;
    const ferry_block *a; /* n x c */
    double C;
    int64_t c, kk;      /* classes; weight vectors: 1 when c = 2 */
    ferry_block *z, *p; /* n x kk: margins; probabilities (c = 2: of the second class) */
    ferry_block *t;     /* n x kk */
    double *s;          /* n: sums of a */
} problem;

/* Weights and constants together: the gradient and the steps have this shape. */
typedef struct point {
    ferry_block *v; /* d x kk */
    double *b;      /* kk */
} point;

/* All zero; the caller clears p, also after a failure. */
static ferry_status point_new(ferry_ctx *ctx, int64_t d, int64_t kk, point *p)
{
    ferry_status st = FERRY_OK;

    FERRY_TRY(ferry_i_block_new(ctx, d, kk, &p->v));
    FERRY_NEW(ctx, p->b, kk);
done:
    return st;
}

static void point_clear(point *p)
{
    FERRY_FREE(p->v, p->b);
}

/* <a, b> over weights and constants. */
static double dot(ferry_ctx *ctx, const point *a, const point *b)
{
    double sum = ferry_e(ctx)->dot(ctx, a->v, b->v);

    for (int64_t k = 0; k < a->v->k; k++)
        sum += a->b[k] * b->b[k];
    return sum;
}

/* y <- alpha x + beta y. */
static void combine(ferry_ctx *ctx, double alpha, const point *x, double beta, point *y)
{
    ferry_e(ctx)->axpby(ctx, alpha, x->v, beta, y->v);
    for (int64_t k = 0; k < y->v->k; k++)
        y->b[k] = alpha * x->b[k] + (beta == 0 ? 0 : beta * y->b[k]);
}

/* z <- X V + 1 b'. */
static void margins(ferry_ctx *ctx, const problem *q, const point *w, ferry_block *z)
{
    ferry_e(ctx)->mul(ctx, 1, q->x, w->v, 0, z);
    for (int64_t i = 0; i < z->rows; i++)
        for (int64_t k = 0; k < q->kk; k++)
            FERRY_ROW(z, i)[k] += w->b[k];
}

/* log(1 + exp(m)) without overflow. */
static double softplus(double m)
{
    return m > 0 ? m + log1p(exp(-m)) : log1p(exp(m));
}

/* Probabilities of one row from its margins; the loss of the row.
 * c = 2: a_0 log(1 + e^z) + a_1 log(1 + e^-z). Else sum_k a_k (log sum_l e^z_l - z_k),
 * with the largest z taken off first. */
static double row_loss(const problem *q, const double *z, const double *a, double *p)
{
    double most = 0, sum = 0, loss = 0;

    if (q->c == 2) {
        p[0] = 1 / (1 + exp(-z[0]));
        return a[0] * softplus(z[0]) + a[1] * softplus(-z[0]);
    }
    for (int64_t k = 0; k < q->c; k++)
        most = k == 0 || z[k] > most ? z[k] : most;
    for (int64_t k = 0; k < q->c; k++)
        sum += p[k] = exp(z[k] - most);
    for (int64_t k = 0; k < q->c; k++) {
        loss += a[k] * (log(sum) - (z[k] - most));
        p[k] /= sum;
    }
    return loss;
}

/* The objective at w; fills z and p. */
static double objective(ferry_ctx *ctx, const problem *q, const point *w)
{
    double loss = 0;

    margins(ctx, q, w, q->z);
    for (int64_t i = 0; i < q->x->rows; i++)
        loss += row_loss(q, FERRY_ROW(q->z, i), FERRY_ROW(q->a, i), FERRY_ROW(q->p, i));
    /* a failure shows in the next product */
    (void)ferry_i_sum_rows(ctx, q->x, 1, &loss);
    return 0.5 * ferry_e(ctx)->dot(ctx, w->v, w->v) + q->C * loss;
}

/* out <- C [X 1]'t (+ v for the weights).
 * The penalty's part is v itself; the constants have none. */
static ferry_status back(ferry_ctx *ctx, const problem *q, const point *v, point *out)
{
    ferry_e(ctx)->axpby(ctx, 1, v->v, 0, out->v);
    FERRY_PASS(ferry_e(ctx)->tmul(ctx, q->C, q->x, q->t, 1, out->v));
    ferry_e(ctx)->bsums(ctx, q->t, FERRY_COLS, 1, out->b);
    FERRY_PASS(ferry_i_sum_rows(ctx, q->x, q->kk, out->b));
    for (int64_t k = 0; k < q->kk; k++)
        out->b[k] *= q->C;
    return FERRY_OK;
}

/* g <- V + C X'(s o P - A), from the probabilities in p. */
static ferry_status gradient(ferry_ctx *ctx, const problem *q, const point *w, point *g)
{
    for (int64_t i = 0; i < q->x->rows; i++)
        for (int64_t k = 0; k < q->kk; k++)
            FERRY_ROW(q->t, i)
    [k] = q->s[i] * FERRY_ROW(q->p, i)[k] - FERRY_ROW(q->a, i)[q->c == 2 ? 1 : k];
    return back(ctx, q, w, g);
}

/* out <- Hessian times v, at the probabilities in p.
 * H v = v + C X'(s o (diag(P) - P P') Z) row by row, Z = X v: two products with X. z is
 * overwritten; p stays, so many products can follow one gradient. */
static ferry_status hessian(ferry_ctx *ctx, const problem *q, const point *v, point *out)
{
    margins(ctx, q, v, q->z);
    for (int64_t i = 0; i < q->x->rows; i++) {
        const double *p = FERRY_ROW(q->p, i), *z = FERRY_ROW(q->z, i);
        double *t = FERRY_ROW(q->t, i), mean = 0;
        if (q->c == 2) {
            t[0] = q->s[i] * p[0] * (1 - p[0]) * z[0];
            continue;
        }
        for (int64_t k = 0; k < q->c; k++)
            mean += p[k] * z[k];
        for (int64_t k = 0; k < q->c; k++)
            t[k] = q->s[i] * p[k] * (z[k] - mean);
    }
    return back(ctx, q, v, out);
}

/* step <- about -H^-1 g; r, d, hd are room.
 * Conjugate gradients on H step = -g. Stopping at min(1/2, sqrt |g|) |g| gives
 * superlinear convergence with few products while the gradient is large. */
static ferry_status newton_step(ferry_ctx *ctx, const problem *q, const point *g,
                                double g_norm, point *step, point *r, point *d, point *hd)
{
    const double goal = fmin(0.5, sqrt(g_norm)) * g_norm;
    double rr = g_norm * g_norm;

    combine(ctx, 0, g, 0, step);
    combine(ctx, -1, g, 0, r);
    combine(ctx, -1, g, 0, d);
    for (int it = 0; it < MOST_CG && sqrt(rr) > goal; it++) {
        double bend, alpha, next;
        FERRY_PASS(hessian(ctx, q, d, hd));
        bend = dot(ctx, d, hd);
        /* H is positive semidefinite; 0 along d means that rounding has taken over */
        if (!(bend > 0)) break;
        alpha = rr / bend;
        combine(ctx, alpha, d, 1, step);
        combine(ctx, -alpha, hd, 1, r);
        next = dot(ctx, r, r);
        combine(ctx, 1, r, next / rr, d);
        rr = next;
    }
    return FERRY_OK;
}

/* w <- w + t step with t = 1, 1/2, ... until the objective falls enough.
 * Armijo's rule with 1e-4. `round` lets steps through whose gain is lost in the rounding
 * of the objective. False: none of them helps, w is as before. */
static bool search(ferry_ctx *ctx, const problem *q, const point *g, const point *step,
                   point *w, double *now)
{
    const double slope = dot(ctx, g, step), before = *now;
    const double round = 8 * DBL_EPSILON * fabs(before); /* near the minimum */
    double t = 1;

    combine(ctx, 1, step, 1, w);
    for (int halved = 0; halved < MOST_HALVINGS; halved++) {
        *now = objective(ctx, q, w);
        if (*now <= before + 1e-4 * t * slope + round) return true;
        combine(ctx, -t / 2, step, 1, w);
        t /= 2;
    }
    combine(ctx, -t, step, 1, w);
    *now = objective(ctx, q, w);
    return false;
}

/* Newton steps from w until the gradient is tol times the first, or none gets further. */
static ferry_status minimise(ferry_ctx *ctx, const problem *q, double tol, point *w)
{
    ferry_status st = FERRY_OK;
    point room[5] = {{0}};
    point *g = &room[0];
    double now, first = -1;
    bool finish = false;

    for (int i = 0; i < 5; i++)
        FERRY_TRY(point_new(ctx, q->x->cols, q->kk, &room[i]));
    now = objective(ctx, q, w);
    for (int it = 0; it < MOST_STEPS && !finish; it++) {
        double norm;
        FERRY_TRY(gradient(ctx, q, w, g));
        norm = sqrt(dot(ctx, g, g));
        if (first < 0) first = norm;
        FERRY_NEED(ctx, isfinite(norm) && isfinite(now), FERRY_ENUMERIC,
                   "logistic regression: not finite; scale the features");
        if (norm <= tol * first || norm == 0) break;
        FERRY_TRY(newton_step(ctx, q, g, norm, &room[1], &room[2], &room[3], &room[4]));
        if (!search(ctx, q, g, &room[1], w, &now)) break;
        FERRY_TRY(ferry_i_progress(ctx, "regression", it + 1, MOST_STEPS, NAN, &finish));
    }
done:
    for (int i = 0; i < 5; i++)
        point_clear(&room[i]);
    return st;
}

/* Starts at 0, where all classes have probability 1 / c. O(nnz c) a product with X. */
ferry_status ferry_i_softmax_fit(ferry_ctx *ctx, double C, double tol,
                                 const ferry_matrix *x, const ferry_block *a, double **out)
{
    ferry_status st = FERRY_OK;
    const int64_t n = x->rows, d = x->cols;
    problem q = {.x = x, .a = a, .C = C, .c = a->k, .kk = a->k == 2 ? 1 : a->k};
    point w = {0};
    double *all = NULL;

    *out = NULL;
    FERRY_TRY(ferry_i_block_new(ctx, n, q.kk, &q.z));
    FERRY_TRY(ferry_i_block_new(ctx, n, q.kk, &q.p));
    FERRY_TRY(ferry_i_block_new(ctx, n, q.kk, &q.t));
    FERRY_TRY(point_new(ctx, d, q.kk, &w));
    FERRY_NEW(ctx, q.s, n);
    FERRY_NEW(ctx, all, q.c * (d + 1));
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < q.c; k++)
            q.s[i] += FERRY_ROW(a, i)[k];
    FERRY_TRY(minimise(ctx, &q, tol, &w));
    for (int64_t k = 0; k < q.kk; k++) {
        double *row = all + (q.c == 2 ? 1 : k) * (d + 1);
        for (int64_t j = 0; j < d; j++)
            row[j] = FERRY_ROW(w.v, j)[k];
        row[d] = w.b[k];
    }
    FERRY_MOVE(*out, all);
done:
    FERRY_FREE(all, q.s, q.z, q.p, q.t);
    point_clear(&w);
    return st;
}

/* Rows less their largest entry, so that exp() does not overflow. With two classes the
 * first row of w is 0, which gives 1 / (1 + e^z) and its complement. */
ferry_status ferry_i_softmax_scores(ferry_ctx *ctx, const ferry_matrix *x, int64_t c,
                                    const double *w, ferry_block *scores)
{
    FERRY_PASS(ferry_i_linear_apply(ctx, x, c, w, scores));
    for (int64_t i = 0; i < scores->rows; i++) {
        double *z = FERRY_ROW(scores, i), most = z[0], sum = 0;
        for (int64_t k = 1; k < c; k++)
            most = fmax(most, z[k]);
        for (int64_t k = 0; k < c; k++)
            sum += z[k] = exp(z[k] - most);
        for (int64_t k = 0; k < c; k++)
            z[k] /= sum;
    }
    return FERRY_OK;
}
