/* M-MLTL: multi-label transfer by a shared subspace and the maximum mean discrepancy.
 *
 * Source and target have the same features and labels but are distributed differently. A
 * subspace U is learned from how features go with labels in the source (G = Xs Ys', close
 * to U V') in which the means of the two domains are close (mu |U'delta|^2); then a RankSVM
 * on the latent features U'x of the source labels the target. The formulas are in mmltl.h.
 *
 *   mode paper   G as it is, random start, a given number of sweeps, mu as given
 *   mode ferry   G less the source's mean, mu = rho sigma_1(G) / |delta|^2, the minimum
 *                itself, latent features brought to mean 0 and deviation 1
 *
 * The defaults (features brought to one scale, rho = 15) were chosen on cuts of
 * Corel5k and scene like those of the study mmltl-table2: 16 runs of each.
 *
 * Uncentred, the first latent direction is the mean instance and swamps the others; without
 * rho, mu depends on the unit of the features; plain sweeps are far from the minimum after
 * hundreds of them; and the scales of the latent features run over sigma_1 .. sigma_m, of
 * which a RankSVM with C = 1 does not see the small ones.
 *
 * Jiang, Liu, Shu, Xu, Wu, Guo: Multi-label Transfer Learning via Maximum Mean Discrepancy,
 * Information and Control 2016. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "methods/mmltl/mmltl.h"
#include "methods/shared/ranked.h"

enum { MODE_FERRY, MODE_PAPER };
enum { AUTO, YES, NO };
enum { KERNEL_NONE, KERNEL_LINEAR, KERNEL_RBF };

typedef struct mmltl_options {
    int mode, mmd, sylvester, kernel, shrink, centre, latent, scale;
    const char *mu;
    double rho, g1, g2, tol, gamma, C;
    int64_t g, sweeps, max_iter, epochs;
} mmltl_options;

static const ferry_opt mmltl_opts[] = {
    FERRY_OPT_ONE_OF(mmltl_options, mode, "ferry|paper", "ferry",
                     "ferry: the minimum of a centred problem; paper: as printed"),
    FERRY_OPT_ONE_OF(mmltl_options, mmd, "on|off", "on",
                     "off: no term that brings the domains together (MLTL)"),
    FERRY_OPT(mmltl_options, REAL, rho, 15, 0, DBL_MAX,
              "mode ferry: strength of the term, whatever the unit of the features"),
    FERRY_OPT_STRING(mmltl_options, mu, "auto",
                     "its weight: a number, inf, or auto (ferry: from rho; paper: 30)"),
    FERRY_OPT(mmltl_options, INT, g, 0, 0, 1e6, "latent features; 0: as many as labels"),
    FERRY_OPT(mmltl_options, REAL, g1, 1, DBL_MIN, DBL_MAX, "weight of |U|^2"),
    FERRY_OPT(mmltl_options, REAL, g2, 1, DBL_MIN, DBL_MAX, "weight of |V|^2"),
    FERRY_OPT_ONE_OF(mmltl_options, centre, "auto|yes|no", "auto",
                     "take the source's mean off G; auto: in mode ferry"),
    FERRY_OPT_ONE_OF(
        mmltl_options, latent, "auto|zscore|plain", "auto",
        "scale latent features each, or all alike; auto: zscore in mode ferry"),
    FERRY_OPT_ONE_OF(mmltl_options, shrink, "none|js|soft", "none",
                     "shrink the difference of the means by its noise"),
    FERRY_OPT_ONE_OF(mmltl_options, kernel, "none|linear|rbf", "none",
                     "work in the space of a kernel"),
    FERRY_OPT(mmltl_options, REAL, gamma, 0, 0, DBL_MAX,
              "rbf: exp(-gamma |x - y|^2); 0: 1 / median of |x - y|^2"),
    FERRY_OPT(mmltl_options, INT, sweeps, 50, 1, 1e9, "mode paper: sweeps"),
    FERRY_OPT_ONE_OF(mmltl_options, sylvester, "exact|bartels-stewart", "exact",
                     "mode paper: how U is found; bartels-stewart is slow"),
    FERRY_OPT(mmltl_options, INT, max_iter, 1000, 1, 1e9, "mode ferry: most steps"),
    FERRY_OPT(mmltl_options, REAL, tol, 1e-10, 0, 1,
              "mode ferry: gradient at which to stop, relative to |G|"),
    FERRY_OPT_ONE_OF(mmltl_options, scale, "auto|none|standard|l2", "auto",
                     "scale features first; auto: none in mode paper, else standard"),
    RANKED_OPTS(mmltl_options),
};

/* latent(x) = (U'x - mean) o inv_sd, or with a kernel (coef' k(X, x) - mean) o inv_sd. */
typedef struct state {
    base b;
    int64_t g;
    ferry_block *u;   /* d x g; with a kernel n x g: what it is multiplied with */
    ferry_matrix *x;  /* the instances of the kernel, or NULL */
    double gamma;     /* of the kernel; 0: linear */
    double *mean;     /* g */
    double *inv_sd;   /* g */
    ferry_ranksvm *r; /* on the latent features */
} state;

static void mmltl_free(void *model)
{
    state *s = model;

    if (!s) return;
    ferry_i_block_free(s->u);
    ferry_i_matrix_free(s->x);
    ferry_i_free(s->mean);
    ferry_i_free(s->inv_sd);
    ferry_i_ranksvm_free(s->r);
    ferry_i_base_clear(&s->b);
    ferry_i_free(s);
}

/* ---- options ---- */

/* "auto" gives -1. */
static ferry_status read_mu(ferry_ctx *ctx, const mmltl_options *o, double *mu)
{
    ferry_status st = FERRY_OK;
    const char *end = o->mu + strlen(o->mu);
    const bool word = strcmp(o->mu, "auto") == 0 || strcmp(o->mu, "inf") == 0;

    *mu = o->mu[0] == 'a' ? -1 : INFINITY;
    if (word) goto done;
    FERRY_NEED(ctx, ferry_i_parse_real(o->mu, end, mu) == end && *mu >= 0 && isfinite(*mu),
               FERRY_EINVAL, "mmltl: mu = %s is not a number from 0, auto or inf", o->mu);
done:
    return st;
}

static ferry_status mmltl_fits(ferry_ctx *ctx, const ferry_task *task, const void *options)
{
    ferry_status st = FERRY_OK;
    const mmltl_options *o = options;
    double mu;

    FERRY_TRY(read_mu(ctx, o, &mu));
    FERRY_NEED(ctx, !isinf(mu) || o->mode == MODE_FERRY, FERRY_EINVAL,
               "mmltl: mu = inf has no sweeps: it goes with mode=ferry");
    FERRY_NEED(ctx, o->shrink == FERRY_SHRINK_NONE || o->kernel == KERNEL_NONE,
               FERRY_EINVAL, "mmltl: shrink is about features: it goes with kernel=none");
    FERRY_TRY(ferry_i_base_fits(ctx, "mmltl", task, TRAIN_SOURCE, true));
done:
    return st;
}

/* The weight of the term. */
static ferry_status choose_mu(ferry_ctx *ctx, const mmltl_options *o, ferry_mmltl *p)
{
    ferry_status st = FERRY_OK;
    const double delta2 = ferry_e(ctx)->dot(ctx, p->delta, p->delta);
    double sigma = 0;

    FERRY_TRY(read_mu(ctx, o, &p->mu));
    FERRY_TRY(ferry_i_mmltl_sigma(ctx, p->g, &sigma));
    if (p->mu < 0 && o->mode == MODE_PAPER) p->mu = 30;
    if (p->mu < 0) p->mu = delta2 > 0 ? o->rho * sigma / delta2 : 0;
    if (o->mmd == 1) p->mu = 0;
    FERRY_NEED(ctx, isfinite(p->mu * delta2) || isinf(p->mu), FERRY_ENUMERIC,
               "mmltl: mu |delta|^2 is too large; mu = inf has that limit");
    ferry_i_diag_real(ctx, "sigma", sigma);
    ferry_i_diag_real(ctx, "delta", sqrt(delta2));
    if (isinf(p->mu))
        ferry_i_diag_text(ctx, "mu", "inf");
    else
        ferry_i_diag_real(ctx, "mu", p->mu);
done:
    return st;
}

/* ---- the subspace ---- */

/* U and V of the problem by the mode's way. */
static ferry_status factor(ferry_ctx *ctx, const mmltl_options *o, const ferry_mmltl *p,
                           ferry_block *u, ferry_block *v, bool *finish)
{
    ferry_status st = FERRY_OK;
    ferry_mmltl_found found = {0};
    ferry_rng rng;

    if (o->mode == MODE_PAPER) {
        ferry_i_rng_for(ctx, &rng, "mmltl");
        ferry_i_fill_normal(u, &rng);
        FERRY_TRY(ferry_i_mmltl_sweeps(ctx, p, o->sylvester == 1, o->sweeps, u, v,
                                       &found.sweeps, &found.objective, &found.finish));
    } else {
        FERRY_TRY(ferry_i_mmltl_solve(ctx, p, o->tol, o->max_iter, u, v, &found));
        ferry_i_diag_real(ctx, "gradient", found.kkt);
        if (!found.converged && !found.finish)
            ferry_i_log(ctx, FERRY_WARN,
                        "mmltl: after %lld steps the gradient is %.1e of |G|, not %.1e",
                        (long long)found.sweeps, found.kkt, o->tol);
    }
    ferry_i_diag_real(ctx, "sweeps", (double)found.sweeps);
    ferry_i_diag_real(ctx, "fit_objective", found.objective);
    *finish = found.finish;
done:
    return st;
}

/* shift_j <- U_j'delta: how far the domains' means are apart in the latent features. */
static void shift_of(const ferry_block *u, const ferry_block *delta, double *shift)
{
    for (int64_t i = 0; i < u->rows; i++)
        for (int64_t j = 0; j < u->k; j++)
            shift[j] += FERRY_ROW(u, i)[j] * delta->data[i];
}

/* zs <- X U, or with prep ((X - mean) o inv_sd) U without writing the prepared X. */
static ferry_status latent_of(ferry_ctx *ctx, const ferry_prep *prep, const ferry_matrix *x,
                              const ferry_block *u, ferry_block *zs)
{
    ferry_status st = FERRY_OK;
    ferry_block *w = NULL;
    double *shift = ferry_i_calloc(u->k, sizeof *shift);

    FERRY_HAVE(ctx, shift);
    if (!prep) {
        ferry_e(ctx)->mul(ctx, 1, x, u, 0, zs);
        goto done;
    }
    FERRY_TRY(ferry_i_block_new(ctx, u->rows, u->k, &w));
    ferry_i_block_copy(u, w);
    ferry_e(ctx)->bscale(ctx, w, FERRY_ROWS, prep->inv_sd);
    for (int64_t i = 0; i < w->rows; i++)
        for (int64_t j = 0; j < w->k; j++)
            shift[j] += prep->mean[i] * FERRY_ROW(w, i)[j];
    ferry_e(ctx)->mul(ctx, 1, x, w, 0, zs);
    for (int64_t i = 0; i < zs->rows; i++)
        for (int64_t j = 0; j < zs->k; j++)
            FERRY_ROW(zs, i)[j] -= shift[j];
done:
    ferry_i_block_free(w);
    ferry_i_free(shift);
    return st;
}

/* zs <- the latent features by U alone; prep: x and xt are still to be prepared. */
static ferry_status linear_subspace(ferry_ctx *ctx, const mmltl_options *o, bool centre,
                                    const examples *e, const ferry_matrix *xt,
                                    const ferry_prep *prep, state *s, ferry_block *zs,
                                    double *shift, bool *finish)
{
    ferry_status st = FERRY_OK;
    ferry_block *g = NULL, *delta = NULL, *whole = NULL, *v = NULL;
    ferry_mmltl p = {.g1 = o->g1, .g2 = o->g2};

    FERRY_TRY(ferry_i_mmltl_relation(ctx, e->x, s->b.k, e->on, xt, centre, &g, &delta));
    if (prep) ferry_i_mmltl_fold(prep, e->n, s->b.k, e->on, centre, g, delta);
    FERRY_TRY(ferry_i_block_new(ctx, delta->rows, 1, &whole));
    ferry_i_block_copy(delta, whole);
    FERRY_TRY(ferry_i_mmltl_shrink(ctx, (ferry_mmltl_shrink)o->shrink, e->x, xt, delta));
    p.g = g;
    p.delta = delta;
    FERRY_TRY(choose_mu(ctx, o, &p));
    FERRY_TRY(ferry_i_block_new(ctx, g->rows, s->g, &s->u));
    FERRY_TRY(ferry_i_block_new(ctx, g->k, s->g, &v));
    FERRY_TRY(factor(ctx, o, &p, s->u, v, finish));
    FERRY_TRY(latent_of(ctx, prep, e->x, s->u, zs));
    shift_of(s->u, whole, shift);
done:
    ferry_i_block_free(g);
    ferry_i_block_free(delta);
    ferry_i_block_free(whole);
    ferry_i_block_free(v);
    return st;
}

/* The same through a kernel over all instances. */
static ferry_status kernel_subspace(ferry_ctx *ctx, const mmltl_options *o, bool centre,
                                    const examples *e, ferry_matrix *xt, state *s,
                                    ferry_block *zs, double *shift, bool *finish)
{
    ferry_status st = FERRY_OK;
    ferry_matrix *part[] = {ferry_i_matrix_ref(e->x), ferry_i_matrix_ref(xt)};
    ferry_block *gr = NULL, *dr = NULL, *map = NULL, *kmap = NULL, *u = NULL, *v = NULL;
    ferry_mmltl p = {.g1 = o->g1, .g2 = o->g2};

    FERRY_TRY(ferry_i_space_combine(ctx, true, 2, part, &s->x));
    s->gamma = o->kernel == KERNEL_RBF ? o->gamma : 0;
    if (o->kernel == KERNEL_RBF && s->gamma == 0)
        FERRY_TRY(ferry_i_mmltl_gamma(ctx, s->x, &s->gamma));
    ferry_i_diag_real(ctx, "gamma", s->gamma);
    FERRY_TRY(ferry_i_mmltl_kernel(ctx, s->gamma, s->x, e->x->rows, s->b.k, e->on, centre,
                                   &gr, &dr, &map, &kmap));
    p.g = gr;
    p.delta = dr;
    FERRY_TRY(choose_mu(ctx, o, &p));
    FERRY_TRY(ferry_i_block_new(ctx, gr->rows, s->g, &u));
    FERRY_TRY(ferry_i_block_new(ctx, gr->k, s->g, &v));
    FERRY_TRY(factor(ctx, o, &p, u, v, finish));
    FERRY_TRY(ferry_i_block_new(ctx, map->rows, s->g, &s->u));
    {
        const ferry_small ut = {u->k, u->rows, u->data};
        const ferry_block ks = {zs->rows, kmap->k, kmap->data};
        ferry_e(ctx)->bmul(ctx, 1, map, &ut, true, 0, s->u);
        ferry_e(ctx)->bmul(ctx, 1, &ks, &ut, true, 0, zs);
        shift_of(u, dr, shift);
    }
done:
    for (int i = 0; i < 2; i++)
        ferry_i_matrix_free(part[i]);
    ferry_i_block_free(gr);
    ferry_i_block_free(dr);
    ferry_i_block_free(map);
    ferry_i_block_free(kmap);
    ferry_i_block_free(u);
    ferry_i_block_free(v);
    return st;
}

/* ---- the latent features ---- */

/* z <- (z - mean) o inv_sd. */
static void standardise(const state *s, ferry_block *z)
{
    for (int64_t i = 0; i < z->rows; i++)
        for (int64_t j = 0; j < z->k; j++)
            FERRY_ROW(z, i)[j] = (FERRY_ROW(z, i)[j] - s->mean[j]) * s->inv_sd[j];
}

/* Mean and deviation of the source's latent features; a constant one is only shifted. */
static void measure(const ferry_block *zs, state *s)
{
    const double n = zs->rows > 0 ? (double)zs->rows : 1;

    memset(s->mean, 0, (size_t)s->g * sizeof *s->mean);
    memset(s->inv_sd, 0, (size_t)s->g * sizeof *s->inv_sd);
    for (int64_t i = 0; i < zs->rows; i++)
        for (int64_t j = 0; j < zs->k; j++)
            s->mean[j] += FERRY_ROW(zs, i)[j] / n;
    for (int64_t i = 0; i < zs->rows; i++)
        for (int64_t j = 0; j < zs->k; j++) {
            const double c = FERRY_ROW(zs, i)[j] - s->mean[j];
            s->inv_sd[j] += c * c / n;
        }
    for (int64_t j = 0; j < zs->k; j++) {
        const double var = s->inv_sd[j];
        const bool varies = sqrt(var) > 1e-13 * fabs(s->mean[j]) && var > DBL_MIN;
        s->inv_sd[j] = varies ? 1 / sqrt(var) : 1;
    }
}

/* How far the domains' means are apart in the latent space, in deviations of the source. */
static void tell_shift(ferry_ctx *ctx, const state *s, const double *shift)
{
    double sum = 0;

    for (int64_t j = 0; j < s->g; j++)
        sum += shift[j] * s->inv_sd[j] * (shift[j] * s->inv_sd[j]);
    ferry_i_diag_real(ctx, "latent_shift", sqrt(sum));
}

static ferry_status new_state(ferry_ctx *ctx, state **out)
{
    *out = ferry_i_calloc(1, sizeof **out);
    return *out ? FERRY_OK : ferry_i_nomem(ctx);
}

static ferry_status new_scaling(ferry_ctx *ctx, state *s)
{
    ferry_status st = FERRY_OK;

    FERRY_NEW(ctx, s->mean, s->g);
    FERRY_NEW(ctx, s->inv_sd, s->g);
done:
    return st;
}

/* rho = 15 was chosen for standardised features: auto must not mean what it does for the
 * baselines, which look at the values. */
static ferry_scaling scaling_of(const mmltl_options *o)
{
    if (o->scale != SCALE_AUTO) return (ferry_scaling)o->scale;
    return o->mode == MODE_FERRY ? SCALE_STANDARD : SCALE_NONE;
}

/* Whether the scaling of the features can be worked into products with them: dense, nothing
 * missing, a column at a time, and means that are not so large that little is left. */
static bool folds(const mmltl_options *o, const ferry_prep *p, const ferry_matrix *xs,
                  const ferry_matrix *xt)
{
    const int64_t cells = xt->dense ? xt->rows * xt->cols : 0;
    int missing = 0;

    if (o->kernel != KERNEL_NONE || o->shrink != FERRY_SHRINK_NONE) return false;
    if (!xs->dense || !xt->dense || p->missing || p->scale == FERRY_SCALE_L2) return false;
    for (int64_t j = 0; j < p->d; j++)
        if (!(fabs(p->mean[j]) * p->inv_sd[j] < 1e4)) return false;
    for (int64_t e = 0; e < cells; e++)
        missing |= isnan(xt->dense[e]);
    return !missing;
}

/* x <- the prepared x. */
static ferry_status prepare(ferry_ctx *ctx, const ferry_prep *p, ferry_matrix **x)
{
    ferry_matrix *raw = *x;
    const ferry_status st = ferry_i_prep_apply(ctx, p, raw, x);

    ferry_i_matrix_free(raw);
    return st;
}

static ferry_status mmltl_fit(ferry_ctx *ctx, const ferry_task *task, const void *options,
                              void **out, ferry_report *rep)
{
    ferry_status st = FERRY_OK;
    const mmltl_options *o = options;
    const bool ferry = o->mode == MODE_FERRY;
    const bool centre = o->centre == AUTO ? ferry : o->centre == YES;
    const bool zscore = o->latent == AUTO ? ferry : o->latent == YES;
    const ferry_ranksvm_options learner = {.C = o->C, .epochs = o->epochs, .scale = true};
    const ferry_domain *target = NULL;
    examples e = {0};
    ferry_matrix *xt = NULL, zm;
    ferry_block *zs = NULL;
    double *shift = NULL;
    int64_t *instance = NULL;
    state *s = NULL;
    bool finish = false, stop = false;

    *out = NULL;
    FERRY_TRY(new_state(ctx, &s));
    FERRY_TRY(
        ferry_i_base_fit_raw(ctx, "mmltl", task, TRAIN_SOURCE, scaling_of(o), &s->b, &e));
    FERRY_TRY(ferry_i_task_target(ctx, task, &target));
    FERRY_TRY(ferry_i_base_query_raw(ctx, &s->b, target, &xt, &instance));
    const bool fold = folds(o, s->b.prep, e.x, xt);
    if (!fold) FERRY_TRY(prepare(ctx, s->b.prep, &e.x));
    if (!fold) FERRY_TRY(prepare(ctx, s->b.prep, &xt));
    s->g = o->g > 0 ? o->g : s->b.k;
    FERRY_NEW(ctx, shift, s->g);
    FERRY_TRY(ferry_i_block_new(ctx, e.n, s->g, &zs));
    FERRY_TRY(new_scaling(ctx, s));

    if (o->kernel == KERNEL_NONE)
        FERRY_TRY(linear_subspace(ctx, o, centre, &e, xt, fold ? s->b.prep : NULL, s, zs,
                                  shift, &stop));
    else
        FERRY_TRY(kernel_subspace(ctx, o, centre, &e, xt, s, zs, shift, &stop));

    measure(zs, s);
    tell_shift(ctx, s, shift);
    for (int64_t j = 0; !zscore && j < s->g; j++) {
        s->mean[j] = 0;
        s->inv_sd[j] = 1;
    }
    standardise(s, zs);
    zm = ferry_i_block_matrix(zs);
    FERRY_TRY(ferry_i_ranksvm_fit(ctx, &learner, &zm, NULL, s->b.k, e.on, &s->r, &finish));
    ferry_i_ranked_report(ctx, s->r, finish || stop, rep);
    *out = s;
    s = NULL;
done:
    ferry_i_free(instance);
    ferry_i_block_free(zs);
    ferry_i_free(shift);
    ferry_i_matrix_free(xt);
    ferry_i_examples_clear(&e);
    mmltl_free(s);
    return st;
}

/* ---- new instances ---- */

static ferry_status latent(ferry_ctx *ctx, const state *s, const ferry_matrix *x,
                           ferry_block **z)
{
    ferry_status st = FERRY_OK;

    FERRY_TRY(ferry_i_block_new(ctx, x->rows, s->g, z));
    if (s->x)
        FERRY_TRY(ferry_i_mmltl_kernel_mul(ctx, s->gamma, s->x, x, s->u, *z));
    else
        ferry_e(ctx)->mul(ctx, 1, x, s->u, 0, *z);
    standardise(s, *z);
done:
    return st;
}

static ferry_status mmltl_predict(ferry_ctx *ctx, const void *model, const ferry_domain *d,
                                  ferry_prediction *p)
{
    ferry_status st = FERRY_OK;
    const state *s = model;
    ferry_matrix *x = NULL, zm;
    ferry_block *z = NULL;
    int64_t *instance = NULL;

    FERRY_TRY(ferry_i_base_predict_prior(ctx, &s->b, p));
    FERRY_TRY(ferry_i_base_query(ctx, &s->b, d, &x, &instance));
    FERRY_TRY(latent(ctx, s, x, &z));
    zm = ferry_i_block_matrix(z);
    FERRY_TRY(ferry_i_ranked_predict(ctx, s->r, &zm, NULL, instance, p));
done:
    ferry_i_free(instance);
    ferry_i_block_free(z);
    ferry_i_matrix_free(x);
    return st;
}

/* ---- save and load ---- */

static ferry_status mmltl_save(ferry_ctx *ctx, const void *model, ferry_dict *dict)
{
    ferry_status st = FERRY_OK;
    const state *s = model;

    FERRY_TRY(ferry_i_base_save(ctx, &s->b, dict));
    FERRY_TRY(ferry_i_ranked_save(ctx, s->r, dict));
    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "u", s->u->rows, s->g, s->u->data));
    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "latent.mean", 1, s->g, s->mean));
    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "latent.inv_sd", 1, s->g, s->inv_sd));
    if (!s->x) goto done;
    FERRY_TRY(ferry_i_dict_put_matrix(ctx, dict, "kernel.x", s->x));
    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "kernel.gamma", 1, 1, &s->gamma));
done:
    return st;
}

static ferry_status load_kernel(ferry_ctx *ctx, const ferry_dict *dict, int64_t d, state *s)
{
    ferry_status st = FERRY_OK;
    const double *gamma = NULL;
    int64_t one = 1;

    FERRY_TRY(ferry_i_dict_reals(ctx, dict, "kernel.gamma", &one, &one, &gamma));
    FERRY_NEED(ctx, gamma[0] >= 0, FERRY_EDATA, "tensor kernel.gamma: %g is below 0",
               gamma[0]);
    s->gamma = gamma[0];
    FERRY_TRY(ferry_i_dict_matrix(ctx, dict, "kernel.x", &s->x));
    FERRY_NEED(ctx, s->x->cols == d, FERRY_EDATA,
               "tensor kernel.x has %lld columns, the model %lld features",
               (long long)s->x->cols, (long long)d);
done:
    return st;
}

static ferry_status mmltl_load(ferry_ctx *ctx, const ferry_dict *dict, void **out)
{
    ferry_status st = FERRY_OK;
    const double *u = NULL;
    int64_t d = 0, rows, one = 1;
    state *s = NULL;

    *out = NULL;
    FERRY_TRY(new_state(ctx, &s));
    FERRY_TRY(ferry_i_ranked_base_load(ctx, dict, &s->b, &d));
    if (ferry_i_dict_has(dict, "kernel.gamma")) FERRY_TRY(load_kernel(ctx, dict, d, s));
    rows = s->x ? s->x->rows : d;
    s->g = -1;
    FERRY_TRY(ferry_i_dict_reals(ctx, dict, "u", &rows, &s->g, &u));
    FERRY_TRY(ferry_i_block_new(ctx, rows, s->g, &s->u));
    if (rows * s->g > 0) memcpy(s->u->data, u, (size_t)(rows * s->g) * sizeof *u);
    FERRY_TRY(ferry_i_ranked_reals(ctx, dict, "latent.mean", &one, &s->g, &s->mean));
    FERRY_TRY(ferry_i_ranked_reals(ctx, dict, "latent.inv_sd", &one, &s->g, &s->inv_sd));
    FERRY_TRY(ferry_i_ranked_load(ctx, dict, s->b.k, s->g, &s->r));
    *out = s;
    s = NULL;
done:
    mmltl_free(s);
    return st;
}

const ferry_method ferry_i_method_mmltl = {
    .name = "mmltl",
    .summary = "label sets through a subspace in which the domains' means are close",
    .reference = "Jiang et al., Multi-label Transfer Learning via Maximum Mean "
                 "Discrepancy, Information and Control 2016",
    .kind = FERRY_KIND_TRANSFER,
    .goals = FERRY_MULTILABEL,
    .needs = FERRY_NEED_SOURCE_LABELS | FERRY_NEED_TARGET_VIEW,
    .options = mmltl_opts,
    .n_options = FERRY_COUNT(mmltl_opts),
    .options_size = sizeof(mmltl_options),
    .fits = mmltl_fits,
    .fit = mmltl_fit,
    .predict = mmltl_predict,
    .save = mmltl_save,
    .load = mmltl_load,
    .free = mmltl_free,
};
