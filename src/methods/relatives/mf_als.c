/* mf-als: biased matrix factorisation by alternating least squares,
 *
 *   x_ij = mu + a_i + b_j + <p_i, q_j>
 *
 * mu, a, b as in bias; then, with E what they leave,
 *
 *   min sum (e_ij - <p_i, q_j>)^2 + lambda (|P|^2 + |Q|^2)
 *
 * where with Q fixed every user solves (sum_j q_j q_j' + lambda I) p_i = sum_j e_ij q_j, and the items likewise: the
 * objective never grows. O(ratings rank^2 + (users + items) rank^3) a sweep. Biases first: a factor that had to learn
 * the level of a user would spend its ridge on it.
 *
 * Koren, Bell and Volinsky, Matrix Factorization Techniques, Computer 2009. */
#include <math.h>

#include "learn/ratings.h"
#include "model/seam.h"

typedef struct als_options {
    int ridge;
    int64_t rank, sweeps;
    double lambda, bias, tol;
} als_options;

enum { RIDGE_ROW, RIDGE_RATING };

static const ferry_opt als_opts[] = {
    FERRY_OPT(als_options, INT, rank, 20, 1, 1000, "columns of the two factors"),
    FERRY_OPT(als_options, INT, sweeps, 20, 1, 1e6, "most sweeps over users and items"),
    FERRY_OPT_ONE_OF(als_options, ridge, "row|rating", "row",
                     "lambda for each user and item, or for each of their ratings"),
    FERRY_OPT(als_options, REAL, lambda, 16, 1e-9, 1e9, "ridge weight of the factors"),
    FERRY_OPT(als_options, REAL, bias, 5, 0, 1e9, "ratings of size 0 that shrink a bias"),
    FERRY_OPT(als_options, REAL, tol, 1e-4, 0, 1,
              "relative drop of the objective to stop at"),
};

/* |P|^2 of the rows that are here, each as often as it has ratings where `weighted`. */
static double penalty(scope *s, bool weighted, matrix x, block p)
{
    double all = 0;

    if (!weighted) {
        const block here = {HERE(p.n), p.n, p.k, p.at};
        return square_sum(s, here);
    }
    for (int64_t i = 0; i < p.n; i++) {
        double squares = 0;
        for (int64_t c = 0; c < p.k; c++)
            squares += ROW(p, i)[c] * ROW(p, i)[c];
        all += squares * (double)row_at(x, i).n;
    }
    return all;
}

/* The objective after the items' half comes with it:
 *   |E|^2 - sum_j <q_j, y_j> + lambda |P|^2,  y_j = sum_i e_ij p_i. */
static double sweep(scope *s, const als_options *o, const ratings *e, double squares,
                    double *gain, rating_factors *m)
{
    const bool weighted = o->ridge == RIDGE_RATING;
    const block p = block_part(m->p, e->x.rows, e->x.n);
    const block q = block_part(m->q, e->xt.rows, e->xt.n);

    ridge_rows(s, e->x, m->q, o->lambda, weighted, p, NULL);
    share_rows(s, p, m->p);
    ridge_rows(s, e->xt, m->p, o->lambda, weighted, q, gain);
    share_rows(s, q, m->q);
    double f = squares + o->lambda * penalty(s, weighted, e->x, p);
    for (int64_t j = 0; j < q.n; j++)
        f -= gain[j];
    return sum(s, e->x.rows, f);
}

static void als_fit(scope *s, scope *keep, const problem *p, const void *options,
                    void *state)
{
    const als_options *o = options;
    const ratings *r = target(p)->r;
    rating_factors *m = state;
    double before = INFINITY, f = 0;
    int64_t t = 0;
    ferry_stop stop = FERRY_STOP_MAX_ITER;

    *m = factors_new(keep, r, o->rank);
    m->mu = mean_rating(s, r);
    m->shrink_a = m->shrink_b = o->bias;
    m->ridge = o->lambda;
    m->weighted = o->ridge == RIDGE_RATING;
    fit_biases(s, r, m->mu, o->bias, 10, m->a, m->b);
    const ratings e = residuals(s, r, m->mu, m->a, m->b);
    drop_ratings(r);
    lasts(e.x);
    lasts(e.xt);
    const double squares = ferry_i_matrix_norm2(e.x.m); /* of the ratings here */
    double *gain = NEW(s, double, e.xt.n);
    fill_normal(s, scope_rng(s, "mf"), m->q);
    while (t < o->sweeps && stop == FERRY_STOP_MAX_ITER) {
        f = sweep(s, o, &e, squares, gain, m);
        if (!isfinite(f))
            scope_fail(s, FERRY_ENUMERIC, "mf-als: the objective is no number any more");
        if (before - f < o->tol * before) stop = FERRY_STOP_TOL;
        before = f;
        if (progress(s, "mf-als", ++t, o->sweeps, f)) stop = FERRY_STOP_FINISH;
    }
    report_fit(s, t, f, stop);
}

const method method_mf_als = {
    .name = "mf-als",
    .summary = "biased matrix factorisation of the target's ratings by least squares",
    .reference = "Koren, Bell and Volinsky, Matrix Factorization Techniques, Computer 2009",
    .kind = FERRY_KIND_BASELINE,
    .asked = true,
    .goals = FERRY_RATE,
    .needs = FERRY_NEED_RATINGS,
    .wants = {.as = RATINGS},
    METHOD_OPTIONS(als_opts, als_options),
    .state = &rating_factors_table,
    .fit = als_fit,
    .scores = factors_scores,
    .fold_in = factors_fold_in,
};
