/* pca-joined: principal components of all views side by side, Z = [X_1 .. X_p]; the
 * baseline that CoCA is compared with. The eigenvectors of Z'Z are those of CoCA's matrix
 * (4.8) with alpha = w_j = 1/p and no graph, times p: the same code computes them. */
#include <math.h>

#include "methods/coca/coca.h"

typedef struct pca_options {
    int64_t d;
    int scale, missing, solver;
} pca_options;

static const ferry_opt pca_opts[] = {
    FERRY_OPT(pca_options, INT, d, 10, 1, 1e6, "dimensions of the embedding"),
    COCA_OPT_SCALE(pca_options),
    COCA_OPT_MISSING(pca_options),
    COCA_OPT_SOLVER(pca_options),
};

static ferry_status pca_fits(ferry_ctx *ctx, const ferry_task *task, const void *options)
{
    ferry_status st = FERRY_OK;
    const ferry_domain *t = NULL;

    FERRY_TRY(ferry_i_task_target(ctx, task, &t));
    FERRY_TRY(ferry_i_coca_fits(ctx, "pca-joined", t, ((const pca_options *)options)->d));
done:
    return st;
}

static ferry_status pca_fit(ferry_ctx *ctx, const ferry_task *task, const void *options,
                            void **state, ferry_report *rep)
{
    ferry_status st = FERRY_OK;
    const pca_options *o = options;
    const ferry_domain *t = NULL;
    coca_view **x = NULL;
    coca_model *m = NULL;
    ferry_block *phi = NULL;
    double *a = NULL;
    bool finish = false;

    *state = NULL;
    FERRY_TRY(ferry_i_task_target(ctx, task, &t));
    FERRY_NEW(ctx, a, t->n_views);
    for (int64_t j = 0; j < t->n_views; j++)
        a[j] = 1;
    FERRY_TRY(ferry_i_coca_views(ctx, t, (coca_scaling)o->scale, &x));
    FERRY_TRY(ferry_i_progress(ctx, "pca-joined", 1, 2, NAN, &finish));
    const coca_problem c = {.name = "pca-joined",
                            .m = ferry_i_ids_count(t->ids),
                            .p = t->n_views,
                            .x = x,
                            .a = a,
                            .b = 1,
                            .solver = (coca_solver)o->solver};
    FERRY_TRY(ferry_i_coca_fit(ctx, "pca-joined", &c, o->d, 1, &m, &phi));
    m->missing = (coca_missing)o->missing;
    FERRY_TRY(ferry_i_progress(ctx, "pca-joined", 2, 2, NAN, &finish));
    ferry_i_coca_scatter(ctx, t, phi);
    rep->stop = finish ? FERRY_STOP_FINISH : FERRY_STOP_DONE;
    *state = m;
    m = NULL;
done:
    ferry_i_coca_free(m);
    ferry_i_block_free(phi);
    if (t) ferry_i_coca_views_free(t->n_views, x);
    ferry_i_free(a);
    return st;
}

const ferry_method ferry_i_method_pca_joined = {
    .name = "pca-joined",
    .summary = "principal components of all views of the target side by side",
    .reference = "Pearson, On Lines and Planes of Closest Fit, Philosophical Magazine 1901",
    .kind = FERRY_KIND_BASELINE,
    .goals = FERRY_EMBED,
    .needs = FERRY_NEED_TARGET_VIEW,
    .options = pca_opts,
    .n_options = FERRY_COUNT(pca_opts),
    .options_size = sizeof(pca_options),
    .fits = pca_fits,
    .fit = pca_fit,
    .transform = ferry_i_coca_transform,
    .save = ferry_i_coca_save,
    .load = ferry_i_coca_load,
    .free = ferry_i_coca_free,
};
