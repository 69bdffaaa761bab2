/* mf: biased matrix factorisation.
 *
 *   x_ij = mu + a_i + b_j + <p_i, q_j>
 *
 * By variational Bayes, which learns all that would have to be tuned (mf_vb.c), or with
 * mu, a, b as in bias and P, Q on what remains, E:
 *   min sum (e_ij - <p_i, q_j>)^2 + lambda (|P|^2 + |Q|^2)
 * by alternating least squares, where with Q fixed every user solves one small ridge
 * system and the objective never grows; or by stochastic gradient descent (sgd.c). */
#include <math.h>

#include "core/ranks.h"
#include "methods/baselines/sgd.h"
#include "methods/shared/mf_vb.h"

typedef struct mf_options {
    int solver, ridge;
    int64_t rank, sweeps;
    double lambda, bias, tol, rate;
} mf_options;

enum { SOLVER_AUTO, SOLVER_VB, SOLVER_DIAGONAL, SOLVER_ALS, SOLVER_SGD };
/* Variational Bayes takes (rank + 1)^2 / 2 steps a rating and a sweep: minutes from here on. */
enum { VB_MOST_RATINGS = 2000000 };
enum { RIDGE_ROW, RIDGE_RATING };

static const ferry_opt mf_opts[] = {
    FERRY_OPT_ONE_OF(
        mf_options, solver, "auto|vb|vb-diagonal|als|sgd", "auto",
        "variational Bayes (with diagonal covariances: faster), alternating "
        "least squares or stochastic gradient descent; auto: vb up to 2 million "
        "ratings, then vb-diagonal"),
    FERRY_OPT(mf_options, INT, rank, 0, 0, 1000,
              "columns of the two factors; 0: 5, 10 and 20 weighed (vb), else 20"),
    FERRY_OPT(mf_options, INT, sweeps, 0, 0, 1e6,
              "most sweeps over users and items; 0: 10 (vb), 6 (vb-diagonal), else 20"),
    FERRY_OPT_ONE_OF(
        mf_options, ridge, "row|rating", "row",
        "als, sgd: lambda for each user and item, or for each of their ratings"),
    FERRY_OPT(mf_options, REAL, lambda, 16, 1e-9, 1e9,
              "als, sgd: ridge weight of the factors"),
    FERRY_OPT(mf_options, REAL, bias, 5, 0, 1e9,
              "als, sgd: ratings of size 0 that shrink a bias"),
    FERRY_OPT(mf_options, REAL, tol, 1e-4, 0, 1,
              "als, sgd: relative drop of the objective to stop at"),
    FERRY_OPT(mf_options, REAL, rate, 0.1, 1e-9, 1,
              "sgd: size of the first sweep's steps; that of sweep t is rate / sqrt(t)"),
};

/* ---- alternating least squares ----
 *
 * With Q fixed every user solves (sum_j q_j q_j' + lambda I) p_i = sum_j e_ij q_j, a
 * system of rank x rank; users are independent, so the engine's ridge_rows takes them in
 * threads. O(ratings rank^2 + (users + items) rank^3) a sweep. */

/* |P|^2, or every row as often as it has ratings; p has x's rows. */
static double penalty(ferry_ctx *ctx, bool weighted, const ferry_matrix *x,
                      const ferry_block *p)
{
    double sum = 0;

    if (!weighted) return ferry_e(ctx)->dot(ctx, p, p);
    for (int64_t i = 0; i < p->rows; i++) {
        const double *row = FERRY_ROW(p, i);
        double squares = 0;
        for (int64_t c = 0; c < p->k; c++)
            squares += row[c] * row[c];
        sum += squares * (double)(x->start[i + 1] - x->start[i]);
    }
    return sum;
}

/* This rank's rows of a block that has all. */
static ferry_block rows_of(const ferry_block *all, int64_t first, int64_t rows)
{
    return (ferry_block){rows, all->k, all->data + first * all->k};
}

static ferry_status share(ferry_ctx *ctx, const observed *e, bool items, ferry_block *all)
{
    return ferry_i_observed_share(ctx, e, items, (size_t)all->k * sizeof *all->data,
                                  all->data);
}

/* The objective after the items' half comes with it:
 *   |E|^2 - sum_j <q_j, y_j> + lambda |P|^2,  y_j = sum_i e_ij p_i. */
static ferry_status als_sweep(ferry_ctx *ctx, const mf_options *opt, const observed *e,
                              double squares, double *gain, rating_model *m, double *f)
{
    ferry_status st = FERRY_OK;
    const ferry_engine *engine = ferry_e(ctx);
    const bool weighted = opt->ridge == RIDGE_RATING;
    ferry_block p = rows_of(m->p, ferry_i_observed_user(ctx, e), e->x->rows),
                q = rows_of(m->q, ferry_i_observed_item(ctx, e), e->xt->rows);

    FERRY_TRY(engine->ridge_rows(ctx, e->x, m->q, opt->lambda, weighted, &p, NULL));
    FERRY_TRY(share(ctx, e, false, m->p));
    FERRY_TRY(engine->ridge_rows(ctx, e->xt, m->p, opt->lambda, weighted, &q, gain));
    FERRY_TRY(share(ctx, e, true, m->q));
    *f = squares + opt->lambda * penalty(ctx, weighted, e->x, &p);
    for (int64_t j = 0; j < q.rows; j++)
        *f -= gain[j];
    FERRY_TRY(ferry_i_observed_sum(ctx, e, 1, f));
done:
    return st;
}

/* ---- stochastic gradient descent ---- */

/* It works in units of the deviation s of E, so that the size of its steps fits any
 * scale:
 *   E = s E',  P = sqrt(s) P',  Q = sqrt(s) Q',  lambda = s lambda'.
 * The objective of E by <P', N> = sum of e h' and <P', D> = sum of h'^2, h' = <p', q'>.
 */
static double objective(ferry_ctx *ctx, const mf_options *opt, const observed *e,
                        double squares, double s, const rating_model *m, ferry_block *n,
                        ferry_block *d)
{
    const ferry_engine *engine = ferry_e(ctx);
    const bool weighted = opt->ridge == RIDGE_RATING;

    engine->masked(ctx, e->x, m->p, m->q, n, d);
    return squares - 2 * s * engine->dot(ctx, m->p, n) + s * s * engine->dot(ctx, m->p, d) +
           opt->lambda * s *
               (penalty(ctx, weighted, e->x, m->p) + penalty(ctx, weighted, e->xt, m->q));
}

static void scale(ferry_block *b, double f)
{
    for (int64_t i = 0; i < b->rows * b->k; i++)
        b->data[i] *= f;
}

/* ---- sweeps ---- */

/* What the solvers need besides the model. */
typedef struct work {
    double squares, s;  /* |E|^2, deviation */
    double *gain;       /* als: one per item */
    sgd order;          /* sgd */
    ferry_block *n, *d; /* sgd: users x rank */
} work;

static void work_clear(work *w)
{
    ferry_i_free(w->gain);
    ferry_i_sgd_clear(&w->order);
    ferry_i_block_free(w->n);
    ferry_i_block_free(w->d);
}

/* Workspace and start: als begins with Q, sgd with both, small. */
static ferry_status work_new(ferry_ctx *ctx, const mf_options *opt, const observed *e,
                             rating_model *m, work *w)
{
    ferry_status st = FERRY_OK;
    ferry_rng rng;

    ferry_i_rng_for(ctx, &rng, "mf");
    ferry_i_fill_normal(m->q, &rng);
    w->squares = ferry_i_matrix_norm2(e->x); /* of this rank's ratings */
    w->s = w->squares > 0 ? sqrt(w->squares / (double)e->x->nnz) : 1;
    if (opt->solver == SOLVER_ALS) {
        FERRY_NEW(ctx, w->gain, m->q->rows);
        goto done;
    }
    ferry_i_fill_normal(m->p, &rng);
    scale(m->p, 0.1);
    scale(m->q, 0.1);
    FERRY_TRY(ferry_i_sgd_new(ctx, e->x, w->s, &rng, &w->order));
    FERRY_TRY(ferry_i_block_new(ctx, m->p->rows, m->p->k, &w->n));
    FERRY_TRY(ferry_i_block_new(ctx, m->p->rows, m->p->k, &w->d));
done:
    return st;
}

/* Until the objective falls by less than tol relative. That of als comes with its sweep;
 * sgd passes over the ratings once more for it. */
static ferry_status sweeps(ferry_ctx *ctx, const mf_options *opt, const observed *e,
                           rating_model *m, ferry_fit_info *rep)
{
    ferry_status st = FERRY_OK;
    work w = {.gain = NULL};
    double before = INFINITY;
    bool finish = false;

    FERRY_TRY(work_new(ctx, opt, e, m, &w));
    rep->stop = FERRY_STOP_MAX_ITER;
    while (rep->iters < opt->sweeps && rep->stop == FERRY_STOP_MAX_ITER) {
        rep->iters++;
        if (opt->solver == SOLVER_ALS) {
            FERRY_TRY(als_sweep(ctx, opt, e, w.squares, w.gain, m, &rep->objective));
        } else {
            ferry_i_sgd_sweep(ctx, &w.order, e, opt->lambda / w.s,
                              opt->ridge == RIDGE_RATING,
                              opt->rate / sqrt((double)rep->iters), m->p, m->q);
            rep->objective = objective(ctx, opt, e, w.squares, w.s, m, w.n, w.d);
        }
        FERRY_NEED(ctx, isfinite(rep->objective), FERRY_ENUMERIC,
                   "mf: the objective is no number any more%s",
                   opt->solver == SOLVER_SGD ? "; a smaller `rate` may help" : "");
        if (before - rep->objective < opt->tol * before) rep->stop = FERRY_STOP_TOL;
        before = rep->objective;
        FERRY_TRY(
            ferry_i_progress(ctx, "mf", rep->iters, opt->sweeps, rep->objective, &finish));
        if (finish) rep->stop = FERRY_STOP_FINISH;
    }
    if (opt->solver == SOLVER_SGD) {
        scale(m->p, sqrt(w.s));
        scale(m->q, sqrt(w.s));
    }
done:
    work_clear(&w);
    return st;
}

/* ---- the method ---- */

static ferry_status mf_fits(ferry_ctx *ctx, const ferry_task *task, const void *options)
{
    const mf_options *o = options;

    if (o->solver == SOLVER_SGD && ferry_i_ranks_split(ctx))
        return ferry_i_fail(
            ctx, FERRY_ENEEDS,
            "mf: solver=sgd goes from rating to rating, which does not run with --engine mpi; als, vb and vb-diagonal do");
    return ferry_i_rating_fits(ctx, "mf", task);
}

/* Biases first, factors on what they leave: a factor that had to learn the level of a
 * user would spend its ridge on it. */
static ferry_status fit_ridge(ferry_ctx *ctx, rating_data *d, const mf_options *opt,
                              rating_model **out, ferry_fit_info *rep)
{
    ferry_status st = FERRY_OK;
    observed e = {0};
    rating_model *m = NULL;

    FERRY_TRY(ferry_i_rating_model_new(ctx, d->r, opt->rank, out));
    m = *out;
    FERRY_TRY(ferry_i_bias(ctx, &d->x, opt->bias, 10, &m->mu, m->a, m->b));
    ferry_i_bias_residuals(ctx, &d->x, m->mu, m->a, m->b, d->x.x->value);
    FERRY_TRY(ferry_i_observed_with(ctx, &d->x, d->x.x->value, &e));
    ferry_i_observed_forget(&d->x);
    FERRY_TRY(sweeps(ctx, opt, &e, m, rep));
    m->shrink_a = m->shrink_b = opt->bias;
    m->ridge = opt->lambda;
    m->weighted = opt->ridge == RIDGE_RATING;
done:
    ferry_i_observed_clear(&e);
    return st;
}

/* What the options leave to the solver. */
static mf_options settled(const mf_options *asked, int64_t ratings)
{
    mf_options o = *asked;

    if (o.solver == SOLVER_AUTO)
        o.solver = ratings > VB_MOST_RATINGS ? SOLVER_DIAGONAL : SOLVER_VB;
    if (o.rank == 0 && o.solver != SOLVER_VB) o.rank = 20;
    if (o.sweeps == 0)
        o.sweeps = o.solver == SOLVER_VB ? 10 : o.solver == SOLVER_DIAGONAL ? 6 : 20;
    return o;
}

static ferry_status mf_fit(ferry_ctx *ctx, const ferry_task *task, const void *options,
                           void **state, ferry_fit_info *rep)
{
    ferry_status st = FERRY_OK;
    rating_data d = {0};
    rating_model *m = NULL;

    *state = NULL;
    FERRY_TRY(ferry_i_rating_data(ctx, task, &d));
    const mf_options o = settled(options, ferry_i_observed_count(&d.x));
    FERRY_TRY(o.solver == SOLVER_VB
                  ? ferry_i_mf_vb(ctx, &d, o.rank, o.sweeps, &m, NULL, rep)
              : o.solver == SOLVER_DIAGONAL
                  ? ferry_i_mf_vb_diagonal(ctx, &d, o.rank, o.sweeps, &m, rep)
                  : fit_ridge(ctx, &d, &o, &m, rep));
    FERRY_TRY(ferry_i_rating_model_rated(ctx, &d.x, m));
    FERRY_MOVE(*state, m);
done:
    ferry_i_rating_model_free(m);
    ferry_i_rating_data_clear(&d);
    return st;
}

const ferry_method ferry_i_method_mf = {
    .name = "mf",
    .summary = "biased matrix factorisation of the target's ratings",
    .reference = "Koren, Bell and Volinsky, Matrix Factorization Techniques, Computer 2009",
    .kind = FERRY_KIND_BASELINE,
    .spreads = true,
    .goals = FERRY_RATE,
    .needs = FERRY_NEED_RATINGS,
    FERRY_OPTIONS(mf_opts, mf_options),
    .fits = mf_fits,
    .fit = mf_fit,
    FERRY_RATING_MODEL,
};
