/* smltl: S-MLTL, multi-label transfer with sparse representation, rebuilt from its
 * abstract.
 *
 * The label matrix, Y (n x m) with rows and columns divided by the roots of their sums, is
 * L S R': its left singular vectors are responses that hold the labels and how they go
 * together. Each is regressed on the features by an elastic net, which picks few of them;
 * the fitted responses X B are the latent features of a RankSVM. The domains share B.
 *
 * Han, Wu, Zhuang, He: Multi-Label Transfer Learning with Sparse Representation, IEEE
 * Trans. Circuits and Systems for Video Technology 2010. */
#include <math.h>

#include "methods/shared/ranked.h"

typedef struct smltl_options {
    int train, scale;
    double lambda, alpha, tol, C, rank_tol;
    int64_t max_iter, epochs;
} smltl_options;

static const ferry_opt smltl_opts[] = {
    BASE_OPT_TRAIN(smltl_options),
    FERRY_OPT_SCALE(smltl_options),
    FERRY_OPT(smltl_options, REAL, lambda, 0.2, 0, 1,
              "strength of the elastic net, as a share of what leaves no feature"),
    FERRY_OPT(smltl_options, REAL, alpha, 0.5, 1e-6, 1,
              "share of |b|_1 in it, against |b|^2 / 2"),
    FERRY_OPT(smltl_options, INT, max_iter, 1000, 1, 1e9, "passes over the features"),
    FERRY_OPT(smltl_options, REAL, tol, 1e-6, 0, 1, "relative change to stop at"),
    RANKED_OPTS(smltl_options),
};

/* y <- labels over the roots of the sums of their row and column. */
static void normalise(int64_t n, int64_t m, const uint8_t *on, ferry_block *y)
{
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        for (int64_t k = 0; k < m; k++)
            sum += on[i * m + k];
        for (int64_t k = 0; k < m; k++)
            FERRY_ROW(y, i)[k] = on[i * m + k] ? 1 / sqrt(sum) : 0;
    }
    for (int64_t k = 0; k < m; k++) {
        double sum = 0;
        for (int64_t i = 0; i < n; i++)
            sum += on[i * m + k];
        for (int64_t i = 0; sum > 0 && i < n; i++)
            FERRY_ROW(y, i)[k] /= sqrt(sum);
    }
}

/* The left singular vectors L = Y R S^-1, largest first, times sqrt(n). */
static ferry_status responses(ferry_ctx *ctx, const ferry_block *y, ferry_block **out)
{
    ferry_status st = FERRY_OK;
    const int64_t m = y->k;
    ferry_small *s = NULL, *turn = NULL;
    double *w = ferry_i_calloc(m, sizeof *w);
    int64_t g = 0;

    FERRY_HAVE(ctx, w);
    FERRY_TRY(ferry_i_small_new(ctx, m, m, &s));
    ferry_e(ctx)->gram(ctx, y, y, s);
    FERRY_TRY(ferry_e(ctx)->eigh(ctx, s, w));
    while (g < m && w[m - 1 - g] > 1e-10 * w[m - 1])
        g++;
    FERRY_TRY(ferry_i_small_new(ctx, m, g, &turn));
    for (int64_t j = 0; j < g; j++)
        for (int64_t k = 0; k < m; k++)
            FERRY_AT(turn, k, j) =
                FERRY_AT(s, k, m - 1 - j) * sqrt((double)y->rows / w[m - 1 - j]);
    FERRY_TRY(ferry_i_block_new(ctx, y->rows, g, out));
    ferry_e(ctx)->bmul(ctx, 1, y, turn, false, 0, *out);
done:
    FERRY_FREE(turn, s, w);
    return st;
}

static ferry_status smltl_fits(ferry_ctx *ctx, const ferry_task *task, const void *options)
{
    const smltl_options *o = options;

    return ferry_i_base_fits(ctx, task,
                             &(base_wants){.method = "smltl", .train = o->train});
}

/* How many features the regressions use: what the elastic net is there for. */
static void tell(ferry_ctx *ctx, const ferry_block *u)
{
    int64_t used = 0;

    for (int64_t j = 0; j < u->rows; j++) {
        bool any = false;
        for (int64_t c = 0; c < u->k; c++)
            any = any || FERRY_ROW(u, j)[c] != 0;
        used += any;
    }
    ferry_i_diag_real(ctx, "features_used", (double)used);
}

static ferry_status smltl_fit(ferry_ctx *ctx, const ferry_task *task, const void *options,
                              void **out, ferry_fit_info *rep)
{
    ferry_status st = FERRY_OK;
    const smltl_options *o = options;
    const ferry_ranksvm_options learner = RANKED_LEARNER(o);
    examples e = {0};
    ferry_block *y = NULL, *l = NULL, *z = NULL;
    ferry_matrix zm;
    ranked *s = NULL;

    *out = NULL;
    FERRY_NEW(ctx, s, 1);
    FERRY_TRY(ferry_i_base_fit(
        ctx, task, &(base_wants){.method = "smltl", .train = o->train, .scale = o->scale},
        &s->b, &e));
    FERRY_TRY(ferry_i_block_new(ctx, e.n, s->b.k, &y));
    normalise(e.n, s->b.k, e.on, y);
    FERRY_TRY(responses(ctx, y, &l));
    FERRY_TRY(ferry_i_block_new(ctx, e.x->cols, l->k, &s->u));
    FERRY_TRY(
        ferry_i_elastic_fit(ctx, e.x, l, o->lambda, o->alpha, o->max_iter, o->tol, s->u));
    tell(ctx, s->u);
    FERRY_TRY(ferry_i_block_new(ctx, e.n, l->k, &z));
    ferry_e(ctx)->mul(ctx, 1, e.x, s->u, 0, z);
    zm = ferry_i_block_matrix(z);
    FERRY_TRY(ferry_i_ranked_fit(ctx, &learner, &zm, NULL, e.on, false, s, rep));
    FERRY_MOVE(*out, s);
done:
    FERRY_FREE(z, l, y);
    ferry_i_examples_clear(&e);
    ferry_i_ranked_free(s);
    return st;
}

const ferry_method ferry_i_method_smltl = {
    .name = "smltl",
    .summary = "label sets through few features that an elastic net picks",
    .reference = "Han et al., Multi-Label Transfer Learning with Sparse Representation, "
                 "IEEE TCSVT 2010",
    .kind = FERRY_KIND_BASELINE,
    .goals = FERRY_MULTILABEL,
    .needs = FERRY_NEED_TARGET_VIEW,
    FERRY_OPTIONS(smltl_opts, smltl_options),
    .fits = smltl_fits,
    .fit = smltl_fit,
    .predict = ferry_i_ranked_predict,
    FERRY_STATE(ranked, ferry_i_ranked_file, ferry_i_ranked_free),
};
