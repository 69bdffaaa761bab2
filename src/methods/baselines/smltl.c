/* smltl: S-MLTL, multi-label transfer with sparse representation, rebuilt from its abstract.
 *
 * The label matrix, Y (n x m) with rows and columns divided by the square roots of their sums, is L S R': its left
 * singular vectors are responses that hold the labels and how they go together. Each is regressed on the features by an
 * elastic net, which picks few of them; the fitted responses X B are the latent features of a RankSVM. The domains
 * share B.
 *
 * Han, Wu, Zhuang, He: Multi-Label Transfer Learning with Sparse Representation, IEEE Trans. Circuits and Systems for
 * Video Technology 2010. */
#include <math.h>

#include "learn/elastic.h"
#include "methods/shared/rank.h"
#include "model/seam.h"

typedef struct smltl_options {
    double lambda, alpha, tol, C, rank_tol;
    int64_t max_iter, epochs;
} smltl_options;

static const ferry_opt smltl_opts[] = {
    FERRY_OPT(smltl_options, REAL, lambda, 0.2, 0, 1,
              "strength of the elastic net, as a share of what leaves no feature"),
    FERRY_OPT(smltl_options, REAL, alpha, 0.5, 1e-6, 1,
              "share of |b|_1 in it, against |b|^2 / 2"),
    FERRY_OPT(smltl_options, INT, max_iter, 1000, 1, 1e9, "passes over the features"),
    FERRY_OPT(smltl_options, REAL, tol, 1e-6, 0, 1, "relative change to stop at"),
    RANK_OPTIONS(smltl_options),
};

/* Labels over the square roots of the sums of their row and column. */
static block normalised(scope *s, const examples *e)
{
    const block y = targets(s, e);
    double *column = NEW(s, double, y.k);

    column_sums(s, y, column);
    for (int64_t i = 0; i < y.n; i++) {
        double row = 0;
        for (int64_t k = 0; k < y.k; k++)
            row += ROW(y, i)[k];
        for (int64_t k = 0; k < y.k; k++)
            if (ROW(y, i)[k] > 0) ROW(y, i)[k] = 1 / sqrt(row) / sqrt(column[k]);
    }
    return y;
}

/* The left singular vectors L = Y R S^-1, largest first, times sqrt(n). */
static block responses(scope *s, block y)
{
    const int64_t m = y.k;
    const small r = small_new(s, m, m);
    int64_t g = 0;

    gram(s, y, y, r);
    const double *w = eigh(s, r);
    while (g < m && w[m - 1 - g] > 1e-10 * w[m - 1])
        g++;
    const small turn = small_new(s, m, g);
    for (int64_t j = 0; j < g; j++)
        for (int64_t k = 0; k < m; k++)
            AT(turn, k, j) = AT(r, k, m - 1 - j) * sqrt((double)y.n / w[m - 1 - j]);
    const block l = block_new(s, y.rows, y.n, g);
    bmul(s, y, turn, l);
    return l;
}

/* How many features the regressions use: what the elastic net is there for. */
static void report_used(scope *s, block u)
{
    int64_t used = 0;

    for (int64_t j = 0; j < u.n; j++) {
        bool any = false;
        for (int64_t c = 0; c < u.k; c++)
            any = any || ROW(u, j)[c] != 0;
        used += any;
    }
    report_real(s, "features_used", (double)used);
}

static void smltl_fit(scope *s, scope *keep, const problem *p, const void *options,
                      void *state)
{
    const smltl_options *o = options;
    const ranker_options how = RANK_SETTINGS(o);
    ranked *m = state;
    examples e = training_examples(s, p);
    const block l = responses(s, normalised(s, &e));
    const elastic_options net = {o->lambda, o->alpha, o->tol, o->max_iter};
    const block u = m->u = block_new(keep, HERE(p->cols), p->cols, l.k),
                z = block_new(s, e.x.rows, e.x.n, l.k);

    copy(elastic_fit(s, e.x, l, &net), u);
    report_used(s, u);
    mul(s, e.x, u, z);
    e.x = matrix_of(s, z);
    ranked_fit(s, keep, &how, &e, NULL, false, m);
}

const method method_smltl = {
    .name = "smltl",
    .summary = "label sets through few features that an elastic net picks",
    .reference = "Han et al., Multi-Label Transfer Learning with Sparse Representation, "
                 "IEEE TCSVT 2010",
    .kind = FERRY_KIND_BASELINE,
    .goals = FERRY_MULTILABEL,
    .needs = FERRY_NEED_TARGET_VIEW,
    .wants = {.as = JOINED, .trains = true},
    METHOD_OPTIONS(smltl_opts, smltl_options),
    .state = &ranked_table,
    .whole = true,
    .fit = smltl_fit,
    .scores = ranked_scores,
    .decide = ranked_decide,
};
