/* pca-joined: principal components of all views side by side, Z = [X_1 .. X_p], centred and
 * scaled; the baseline that CoCA is compared with (thesis, Eq. 4.20).
 *
 *   U: eigenvectors of the d largest eigenvalues of Z'Z,   Phi = Z U
 *
 * Z is never put together: Z u = sum_j X_j u_j =: s and (Z'Z u)_j = X_j's. */
#include <math.h>

#include "methods/shared/embedding.h"

typedef struct pca_options {
    int64_t d;
    int scale, balance, missing, solver;
} pca_options;

static const ferry_opt pca_opts[] = {
    FERRY_OPT(pca_options, INT, d, 10, 1, 1e6, "dimensions of the embedding"),
    EMBED_OPT_SCALE(pca_options),
    EMBED_OPT_MISSING(pca_options),
    FERRY_EIGEN_OPT(pca_options),
};

static ferry_status pca_fits(ferry_ctx *ctx, const ferry_task *task, const void *options)
{
    const ferry_domain *t = NULL;

    FERRY_PASS(ferry_i_task_target(ctx, task, &t));
    return ferry_i_embed_fits(ctx, "pca-joined", t, ((const pca_options *)options)->d);
}

typedef struct joined {
    ferry_side_by_side z;
    int64_t done;
} joined;

/* y <- Z'Z u; there is nothing to keep before the end, so that only cancelling stops it. */
static ferry_status apply(ferry_ctx *ctx, void *arg, const ferry_block *u, ferry_block *y)
{
    joined *j = arg;
    bool finish = false;

    j->done += u->k;
    FERRY_PASS(ferry_i_progress(ctx, "pca-joined", j->done, 0, NAN, &finish));
    return ferry_i_sides_apply(ctx, &j->z, u, y);
}

static ferry_status pca_fit(ferry_ctx *ctx, const ferry_task *task, const void *options,
                            void **state, ferry_fit_info *rep)
{
    ferry_status st = FERRY_OK;
    const pca_options *o = options;
    int scale = o->scale, balance = o->balance;
    const ferry_domain *t = NULL;
    ferry_prepared *prepared = NULL;
    joined z = {0};
    embed_view **x = NULL;
    embedding *e = NULL;
    ferry_block *u = NULL, *phi = NULL;
    double *values = NULL;
    bool finish = false;

    /* Initialise: X_1 .. X_p. */
    *state = NULL;
    FERRY_TRY(ferry_i_task_target(ctx, task, &t));
    ferry_i_embed_scaling(&scale, &balance);
    FERRY_TRY(ferry_i_embed_views(ctx, "pca-joined", task, scale, (embed_balance)balance,
                                  &prepared, &x));
    z.z.m = x[0]->c.x->rows;
    z.z.p = t->n_views;
    FERRY_NEW(ctx, z.z.x, z.z.p);
    FERRY_TRY(ferry_i_progress(ctx, "pca-joined", 1, 2, NAN, &finish));

    /* Solve. */
    ferry_eigen_problem a = {
        .op = apply, .arg = &z, .solver = (ferry_eigen_solver)o->solver};
    for (int64_t j = 0; j < z.z.p; j++) {
        z.z.x[j] = &x[j]->c;
        a.n += x[j]->cols;
    }
    FERRY_NEED(ctx, o->d <= a.n, FERRY_ENEEDS,
               "pca-joined: d = %lld, but the views span only %lld dimensions",
               (long long)o->d, (long long)a.n);
    FERRY_NEW(ctx, values, o->d);
    FERRY_TRY(ferry_i_block_new(ctx, a.n, o->d, &u));
    FERRY_TRY(ferry_i_eigen_largest(ctx, &a, o->d, values, u));

    /* Result. */
    const embed_solution s = {
        .m = z.z.m, .p = z.z.p, .d = o->d, .x = x, .values = values, .u = u, .share = 1};
    FERRY_TRY(ferry_i_embedding_new(ctx, &s, &e, &phi));
    ferry_i_embed_warn(ctx, "pca-joined", ferry_i_embed_positive(o->d, values), o->d);
    e->missing = (embed_missing)o->missing;
    FERRY_MOVE(e->prepared, prepared);
    FERRY_TRY(ferry_i_progress(ctx, "pca-joined", 2, 2, NAN, &finish));
    FERRY_TRY(ferry_i_embed_scatter(ctx, t, phi));
    rep->stop = finish ? FERRY_STOP_FINISH : FERRY_STOP_DONE;
    FERRY_MOVE(*state, e);
done:
    ferry_i_embedding_free(e);
    FERRY_FREE(phi, u, values);
    ferry_i_embed_views_free(t ? t->n_views : 0, x);
    ferry_i_free(z.z.x);
    ferry_i_prepared_free(prepared);
    return st;
}

static ferry_status pca_transform(ferry_ctx *ctx, const void *state, const ferry_domain *d,
                                  ferry_prediction *p)
{
    ferry_status st = FERRY_OK;
    const embedding *e = state;
    ferry_block *phi = NULL;

    FERRY_TRY(ferry_i_block_new(ctx, p->n, e->d, &phi));
    FERRY_TRY(ferry_i_embedding_apply(ctx, e, d, phi));
    FERRY_TRY(ferry_i_embed_predict(ctx, phi, p));
done:
    ferry_i_free(phi);
    return st;
}

static void pca_file(ferry_io *io, void *state)
{
    ferry_i_embedding_file(io, state);
}

const ferry_method ferry_i_method_pca_joined = {
    .name = "pca-joined",
    .summary = "principal components of all views of the target side by side",
    .reference = "Pearson, On Lines and Planes of Closest Fit, Philosophical Magazine 1901",
    .kind = FERRY_KIND_BASELINE,
    .goals = FERRY_EMBED,
    .needs = FERRY_NEED_TARGET_VIEW,
    FERRY_OPTIONS(pca_opts, pca_options),
    .fits = pca_fits,
    .fit = pca_fit,
    .spreads = true,
    .transform = pca_transform,
    FERRY_STATE(embedding, pca_file, ferry_i_embedding_free),
};
