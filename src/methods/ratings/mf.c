/* mf: biased matrix factorisation.
 *
 *   x_ij = mu + a_i + b_j + <p_i, q_j>
 *
 * mu, a, b as in bias; P, Q on what remains, E:
 *   min sum (e_ij - <p_i, q_j>)^2 + lambda (|P|^2 + |Q|^2)
 * by alternating least squares: with Q fixed every user solves one small ridge system. The
 * objective never grows. */
#include <math.h>

#include "methods/ratings/ratings.h"

typedef struct mf_options {
    int64_t rank, sweeps;
    double lambda, bias, tol;
} mf_options;

static const ferry_opt mf_opts[] = {
    FERRY_OPT(mf_options, INT, rank, 20, 1, 1000, "columns of the two factors"),
    FERRY_OPT(mf_options, REAL, lambda, 16, 1e-9, 1e9, "ridge weight of the factors"),
    FERRY_OPT(mf_options, REAL, bias, 5, 0, 1e9, "ratings of size 0 that shrink a bias"),
    FERRY_OPT(mf_options, INT, sweeps, 20, 1, 1e6, "most sweeps over users and items"),
    FERRY_OPT(mf_options, REAL, tol, 1e-4, 0, 1,
              "relative drop of the objective to stop at"),
};

/* ---- one half of a sweep ---- */

/* Room of one thread: A, the right-hand side, and zeros. */
static int64_t room(int64_t k)
{
    return k * k + 2 * k;
}

/* A += sum of v v' (upper triangle), y += sum of x v for the rows v of q at four entries:
 * four at once, so that A is read and written a quarter as often. */
static void add_four(int64_t k, const double *const row[4], const double *x,
                     double *restrict a, double *restrict y)
{
    const double *p = row[0], *q = row[1], *r = row[2], *s = row[3];

    for (int64_t c = 0; c < k; c++) {
        const double f = p[c], g = q[c], h = r[c], i = s[c];
        for (int64_t d = c; d < k; d++)
            a[c * k + d] += f * p[d] + g * q[d] + h * r[d] + i * s[d];
        y[c] += x[0] * f + x[1] * g + x[2] * h + x[3] * i;
    }
}

/* A (k x k, upper triangle, row after row) and y of one row; A <- lambda I + sum q q'.
 * `zero` has k zeros: they stand for the entries that the last four lack. */
static void normal_equations(const ferry_matrix *x, int64_t i, const ferry_block *q,
                             double lambda, const double *zero, double *a, double *y)
{
    const int64_t k = q->k, end = x->start[i + 1];

    for (int64_t c = 0; c < k * k; c++)
        a[c] = 0;
    for (int64_t c = 0; c < k; c++) {
        a[c * k + c] = lambda;
        y[c] = 0;
    }
    for (int64_t e = x->start[i]; e < end; e += 4) {
        const double *row[4] = {zero, zero, zero, zero};
        double value[4] = {0, 0, 0, 0};
        for (int64_t n = 0; n < 4 && e + n < end; n++) {
            row[n] = FERRY_ROW(q, x->index[e + n]);
            value[n] = x->value[e + n];
        }
        add_four(k, row, value, a, y);
    }
}

/* y <- A^-1 y for the positive definite A given by its upper triangle: A = U'U. */
static void solve_upper(int64_t k, double *a, double *y)
{
    for (int64_t c = 0; c < k; c++) {
        const double root = 1 / sqrt(a[c * k + c]);
        for (int64_t d = c; d < k; d++)
            a[c * k + d] *= root;
        y[c] *= root;
        for (int64_t r = c + 1; r < k; r++) {
            const double f = a[c * k + r];
            for (int64_t d = r; d < k; d++)
                a[r * k + d] -= f * a[c * k + d];
            y[r] -= f * y[c];
        }
    }
    for (int64_t c = k; c-- > 0;) {
        for (int64_t d = c + 1; d < k; d++)
            y[c] -= a[c * k + d] * y[d];
        y[c] /= a[c * k + c];
    }
}

ferry_status ferry_i_als_half(ferry_ctx *ctx, const ferry_matrix *x, const ferry_block *q,
                              double lambda, ferry_block *p)
{
    ferry_status st = FERRY_OK;
    const int64_t k = q->k;
    const int threads = x->nnz * k < 100000 ? 1 : ctx->threads;
    double *space = ferry_i_calloc(threads * room(k), sizeof *space);

    FERRY_NEED(ctx, space, FERRY_ENOMEM, "no memory for %d systems of size %lld", threads,
               (long long)k);
    /* Thread t takes rows t, t + threads, ...: rows do not meet, so the bits stay. */
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int t = 0; t < threads; t++) {
        double *a = space + t * room(k), *y = a + k * k;
        for (int64_t i = t; i < x->rows; i += threads) {
            normal_equations(x, i, q, lambda, y + k, a, y);
            solve_upper(k, a, y);
            for (int64_t c = 0; c < k; c++)
                FERRY_ROW(p, i)[c] = y[c];
        }
    }
done:
    ferry_i_free(space);
    return st;
}

/* ---- the method ---- */

static double objective(ferry_ctx *ctx, const ferry_matrix *e, const rating_model *m,
                        double lambda, double *fitted)
{
    double sum =
        lambda * (ferry_e(ctx)->dot(ctx, m->p, m->p) + ferry_e(ctx)->dot(ctx, m->q, m->q));

    ferry_e(ctx)->sddmm(ctx, e, m->p, m->q, fitted);
    for (int64_t i = 0; i < e->nnz; i++)
        sum += (e->value[i] - fitted[i]) * (e->value[i] - fitted[i]);
    return sum;
}

static ferry_status sweeps(ferry_ctx *ctx, const mf_options *opt, const observed *e,
                           rating_model *m, ferry_report *rep)
{
    ferry_status st = FERRY_OK;
    double *fitted = ferry_i_calloc(e->x->nnz, sizeof *fitted), before = INFINITY;
    bool finish = false;

    FERRY_NEED(ctx, fitted, FERRY_ENOMEM, "mf: no memory for %lld ratings",
               (long long)e->x->nnz);
    rep->stop = FERRY_STOP_MAX_ITER;
    while (rep->iters < opt->sweeps && rep->stop == FERRY_STOP_MAX_ITER) {
        FERRY_TRY(ferry_i_als_half(ctx, e->x, m->q, opt->lambda, m->p));
        FERRY_TRY(ferry_i_als_half(ctx, e->xt, m->p, opt->lambda, m->q));
        rep->objective = objective(ctx, e->x, m, opt->lambda, fitted);
        rep->iters++;
        FERRY_NEED(ctx, isfinite(rep->objective), FERRY_ENUMERIC,
                   "mf: the objective is no number any more");
        if (before - rep->objective < opt->tol * before) rep->stop = FERRY_STOP_TOL;
        before = rep->objective;
        FERRY_TRY(
            ferry_i_progress(ctx, "mf", rep->iters, opt->sweeps, rep->objective, &finish));
        if (finish) rep->stop = FERRY_STOP_FINISH;
    }
done:
    ferry_i_free(fitted);
    return st;
}

static ferry_status mf_fits(ferry_ctx *ctx, const ferry_task *task, const void *options)
{
    const ferry_ratings *r = NULL;

    (void)options;
    return ferry_i_rating_target(ctx, "mf", task, &r);
}

static ferry_status mf_fit(ferry_ctx *ctx, const ferry_task *task, const void *options,
                           void **state, ferry_report *rep)
{
    ferry_status st = FERRY_OK;
    const mf_options *opt = options;
    const ferry_ratings *r = NULL;
    observed o = {NULL, NULL}, e = {NULL, NULL};
    rating_model *m = NULL;
    ferry_rng rng;

    *state = NULL;
    FERRY_TRY(ferry_i_rating_target(ctx, "mf", task, &r));
    FERRY_TRY(ferry_i_observed_new(ctx, r, 1, 0, &o));
    FERRY_TRY(ferry_i_rating_model_new(ctx, r, opt->rank, &m));
    FERRY_TRY(ferry_i_bias(ctx, &o, opt->bias, 10, &m->mu, m->a, m->b));
    ferry_i_bias_residuals(o.x, m->mu, m->a, m->b, o.x->value);
    FERRY_TRY(ferry_i_observed_with(ctx, &o, o.x->value, &e));
    ferry_i_rng_for(ctx, &rng, "mf");
    ferry_i_fill_normal(m->q, &rng);
    FERRY_TRY(sweeps(ctx, opt, &e, m, rep));
    m->shrink_a = m->shrink_b = opt->bias;
    m->ridge = opt->lambda;
    *state = m;
    m = NULL;
done:
    ferry_i_rating_model_free(m);
    ferry_i_observed_clear(&e);
    ferry_i_observed_clear(&o);
    return st;
}

const ferry_method ferry_i_method_mf = {
    .name = "mf",
    .summary = "biased matrix factorisation of the target's ratings",
    .reference = "Koren, Bell and Volinsky, Matrix Factorization Techniques, Computer 2009",
    .kind = FERRY_KIND_BASELINE,
    .goals = FERRY_RATE,
    .needs = FERRY_NEED_RATINGS,
    .options = mf_opts,
    .n_options = FERRY_COUNT(mf_opts),
    .options_size = sizeof(mf_options),
    .fits = mf_fits,
    .fit = mf_fit,
    FERRY_RATING_MODEL,
};
