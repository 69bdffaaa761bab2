/* pca-joined: principal components of all views side by side, Z = [X_1 .. X_p], centred and balanced; the baseline that
 * CoCA is compared with (thesis, Eq. 4.20).
 *
 *   U: eigenvectors of the d largest eigenvalues of Z'Z,   Phi = Z U */
#include <math.h>
#include <string.h>

#include "learn/views.h"
#include "prepare/problem.h"

typedef struct pca_options {
    int64_t d;
    int balance, missing;
} pca_options;

static const ferry_opt pca_opts[] = {
    FERRY_OPT(pca_options, INT, d, -1, -1, 1e6,
              "dimensions of the embedding; -1: 10, or as many as the views span"),
    OPT_BALANCE(pca_options),
    OPT_MISSING(pca_options),
};

static void pca_fits(scope *s, const problem *shape, const void *options)
{
    const int64_t d = ((const pca_options *)options)->d;

    if (d == 0)
        scope_fail(s, FERRY_EINVAL, "pca-joined: d = 0, but it is -1 or at least 1");
    views_fit(s, "pca-joined", shape, d);
}

static void pca_fit_views(scope *s, scope *keep, const problem *p, const void *options,
                          void *state)
{
    const pca_options *o = options;
    const domain *t = target(p);
    const scaled_view *x = centred_views(s, t, balance_of(o->balance, p->unscaled));
    const int64_t cols = joined_columns(t->n_views, x);
    block phi;

    bool finish = progress(s, "pca-joined", 1, 2, NAN);
    if (cols == 0)
        scope_fail(s, FERRY_ENEEDS,
                   "pca-joined: the instances differ in no view: nothing to embed");
    if (o->d > cols)
        scope_fail(s, FERRY_ENEEDS,
                   "pca-joined: d = %lld, but the views span only %lld dimensions",
                   (long long)o->d, (long long)cols);
    const int64_t d = o->d > 0 ? o->d : cols < 10 ? cols : 10;
    double *values = NEW(s, double, d);
    const block u = joined_axes(s, "pca-joined", t->n_views, x, d, values);
    const embed_solution from = {
        .p = t->n_views, .x = x, .values = values, .u = u, .share = 1};
    *(embedding *)state = embedding_of(s, keep, &from, o->missing, &phi);
    warn_of_values(s, "pca-joined", positive_values(d, values), d);
    report_scatter(s, p, phi);
    finish = progress(s, "pca-joined", 2, 2, NAN) || finish;
    report_fit(s, 0, NAN, finish ? FERRY_STOP_FINISH : FERRY_STOP_DONE);
}

static block pca_embed(scope *s, const void *state, const domain *d)
{
    return embedding_apply(s, state, d);
}

const method method_pca_joined = {
    .name = "pca-joined",
    .summary = "principal components of all views of the target side by side",
    .reference = "Pearson, On Lines and Planes of Closest Fit, Philosophical Magazine 1901",
    .kind = FERRY_KIND_BASELINE,
    .goals = FERRY_EMBED,
    .needs = FERRY_NEED_TARGET_VIEW,
    .wants = {.as = VIEWS_APART, .domains = WANT_TARGET, .every = true},
    METHOD_OPTIONS(pca_opts, pca_options),
    .state = &embedding_table,
    .fits = pca_fits,
    .fit = pca_fit_views,
    .embed = pca_embed,
};
