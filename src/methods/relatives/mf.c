/* mf: biased matrix factorisation by variational Bayes,
 *
 *   x_ij = mu + a_i + b_j + <p_i, q_j>,
 *
 * which learns all that would have to be tuned: the variances of noise, biases and factors (learn/vb.h), and how much
 * factors of each rank are worth on ratings held out (learn/mf.h).
 *
 * Lim and Teh, Variational Bayesian Approach to Movie Rating Prediction, KDD Cup 2007; the form of the model is that of
 * Koren, Bell and Volinsky, Matrix Factorization Techniques, Computer 2009. */
#include <math.h>

#include "learn/mf.h"
#include "model/seam.h"

typedef struct mf_options {
    int solver;
    int64_t rank, sweeps;
} mf_options;

enum { SOLVER_AUTO, SOLVER_VB, SOLVER_DIAGONAL };
/* Full covariances take (rank + 1)^2 / 2 steps a rating and a sweep: minutes from here on. */
enum { VB_MOST_RATINGS = 2000000 };

static const ferry_opt mf_opts[] = {
    FERRY_OPT_ONE_OF(mf_options, solver, "auto|vb|vb-diagonal", "auto",
                     "full covariances, or diagonal ones: faster; auto: vb up to 2 million "
                     "ratings, then vb-diagonal"),
    FERRY_OPT(mf_options, INT, rank, 0, 0, 1000,
              "columns of the two factors; 0: 5, 10 and 20 weighed (vb), else 20"),
    FERRY_OPT(mf_options, INT, sweeps, 0, 0, 1e6,
              "most sweeps over users and items; 0: 10 (vb), 6 (vb-diagonal)"),
};

static void mf_fit(scope *s, scope *keep, const problem *p, const void *options,
                   void *state)
{
    const mf_options *o = options;
    const ratings *r = target(p)->r;
    const bool diagonal = o->solver == SOLVER_DIAGONAL ||
                          (o->solver == SOLVER_AUTO && entries(s, r->x) > VB_MOST_RATINGS);
    const int64_t sweeps = o->sweeps > 0 ? o->sweeps : diagonal ? 6 : 10;
    rating_factors *m = state;
    bool finish = false;

    *m = diagonal
             ? mf_learn_diagonal(s, keep, r, o->rank > 0 ? o->rank : 20, sweeps, &finish)
             : mf_learn(s, keep, r, o->rank, sweeps, NULL, &finish);
    report_fit(s, sweeps, NAN, finish ? FERRY_STOP_FINISH : FERRY_STOP_MAX_ITER);
}

const method method_mf = {
    .name = "mf",
    .summary = "biased matrix factorisation of the target's ratings",
    .reference =
        "Lim and Teh, Variational Bayesian Approach to Movie Rating Prediction, KDD Cup 2007",
    .kind = FERRY_KIND_BASELINE,
    .goals = FERRY_RATE,
    .needs = FERRY_NEED_RATINGS,
    .wants = {.as = RATINGS},
    METHOD_OPTIONS(mf_opts, mf_options),
    .state = &rating_factors_table,
    .fit = mf_fit,
    .scores = factors_scores,
    .fold_in = factors_fold_in,
};
