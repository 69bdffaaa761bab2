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

#include "core/ranks.h"
#include "learn/kernel.h"
#include "methods/mmltl/mmltl.h"

enum { MODE_FERRY, MODE_PAPER };
enum { AUTO, YES, NO };
enum { KERNEL_NONE, KERNEL_LINEAR, KERNEL_RBF };

/* As the options have it. mu is text, since it may be auto or inf. */
typedef struct mmltl_options {
    int mode, mmd, sylvester, kernel, shrink, centre, latent, scale, gate;
    const char *mu;
    double rho, g1, g2, tol, gamma, C, rank_tol;
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
    FERRY_OPT_YES_NO(mmltl_options, gate, "yes",
                     "mode ferry, mu auto, no kernel: where the domains' means do not "
                     "differ, cross-validation chooses between features and subspace"),
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
    FERRY_OPT_ONE_OF(mmltl_options, scale, FERRY_SCALE_CHOICES, "auto",
                     "scale features first; auto: none in mode paper, else standard"),
    RANKED_OPTS(mmltl_options),
};

/* ---- options ---- */

/* "auto" gives -1. inf stays INFINITY: only the exact solver has that limit. Everything
 * else must be a number, finite and not below 0. */
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

/* What cannot go together is refused before any data are read. */
static ferry_status mmltl_fits(ferry_ctx *ctx, const ferry_task *task, const void *options)
{
    ferry_status st = FERRY_OK;
    const mmltl_options *o = options;
    double mu;

    FERRY_TRY(read_mu(ctx, o, &mu));
    FERRY_NEED(ctx, o->kernel == KERNEL_NONE || !ferry_i_ranks_split(ctx), FERRY_ENEEDS,
               "mmltl: a kernel compares all rows with each other, which --engine mpi does "
               "not; kernel=none runs with it");
    FERRY_NEED(ctx, !isinf(mu) || o->mode == MODE_FERRY, FERRY_EINVAL,
               "mmltl: mu = inf has no sweeps: it goes with mode=ferry");
    FERRY_NEED(ctx, o->shrink == FERRY_SHRINK_NONE || o->kernel == KERNEL_NONE,
               FERRY_EINVAL, "mmltl: shrink is about features: it goes with kernel=none");
    FERRY_TRY(ferry_i_base_fits(ctx, task,
                                &(base_wants){.method = "mmltl", .train = TRAIN_SOURCE}));
done:
    return st;
}

/* The weight of the term: as told, or mu = rho sigma_1(G) / |delta|^2, which does not depend
 * on the unit of the features.
 *
 * In the U step mu |delta|^2 competes with the eigenvalues of V'V, which go up to about
 * sigma_1(G): rho is their ratio. X -> c X multiplies the effect of a fixed mu by c, so the
 * 30 of the paper means nothing without the unit of its features. delta = 0 needs no term:
 * mu = 0. */
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

/* One fit under way. Freed by free_work() at any point; the model's parts are elsewhere. */
typedef struct work {
    const mmltl_options *o;
    /* The source: features and labels, and the target's features. Where e has factors, those of both domains are as the
     * task has them: x_ij factor_j - shift_j is meant, and comes into the products (linear_subspace). */
    examples e;
    ferry_matrix *xt;
    ferry_mmltl_labels y; /* e's labels */
    int64_t g;            /* latent features */
    ferry_block *zs;      /* ns x g: those of the source */
    uint8_t *on;          /* labels that were collected from all ranks, or NULL */
    double *shift;        /* g: U'delta, how far the domains' means are apart there */
    bool stop;            /* progress said FINISH */
} work;

static void free_work(work *w)
{
    ferry_i_examples_clear(&w->e);
    ferry_i_matrix_free(w->xt);
    FERRY_FREE(w->zs, w->shift, w->on);
}

/* U and V of the problem by the mode's way. u, v: the start in mode paper (u random, as
 * published), the result in both. Not to converge is a warning, not an error: the subspace
 * may still serve. */
static ferry_status factor(ferry_ctx *ctx, const mmltl_options *o, const ferry_mmltl *p,
                           ferry_block *u, ferry_block *v, bool *finish)
{
    ferry_status st = FERRY_OK;
    ferry_mmltl_found found = {0};
    ferry_rng rng;

    if (o->mode == MODE_PAPER) {
        ferry_i_rng_for(ctx, &rng, "mmltl");
        ferry_i_fill_normal(u, &rng);
        FERRY_TRY(ferry_i_mmltl_sweeps(ctx, p, o->sylvester == 1, o->sweeps, u, v, &found));
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

/* shift_j <- U_j'delta. shift must be zero on entry. */
static void shift_of(const ferry_block *u, const ferry_block *delta, double *shift)
{
    for (int64_t i = 0; i < u->rows; i++)
        for (int64_t j = 0; j < u->k; j++)
            shift[j] += FERRY_ROW(u, i)[j] * delta->data[i];
}

/* Whether the shift is the mean of just these rows of both domains, so that it says what the target's is: to as many
 * digits where the target has its share of them, else its own pass costs little. Mode paper computes as it always did. */
static bool knows_mean(const work *w, const ranked *s)
{
    return w->o->mode == MODE_FERRY && w->e.factor && w->e.x->rows <= 8 * w->xt->rows &&
           s->b.prepared->frame[0].scale->rows == w->e.x->rows + w->xt->rows;
}

/* G and delta of features that are as the task has them become those of x_ij factor_j - shift_j: G = factor o Xs'B -
 * shift 1'B with B the labels, of which centring leaves no sum. delta is a difference, so the shift is not in it; or, from
 * the source's mean alone (known), that mean less the shift, the mean of all n rows, times n / nt. */
static ferry_status rescale(ferry_ctx *ctx, const work *w, bool known, ferry_block *g,
                            ferry_block *delta)
{
    ferry_status st = FERRY_OK;
    const double *factor = w->e.factor, *shift = w->e.shift;
    const double times =
        known ? (double)(w->e.x->rows + w->xt->rows) / (double)w->xt->rows : 1;
    double *count = NULL;

    if (!factor) return st;
    FERRY_NEW(ctx, count, g->k);
    for (int64_t i = 0; !w->y.centre && i < w->y.ns; i++)
        for (int64_t k = 0; k < g->k; k++)
            count[k] += w->y.on[i * g->k + k];
    for (int64_t j = 0; j < g->rows; j++) {
        for (int64_t k = 0; k < g->k; k++)
            FERRY_ROW(g, j)[k] = factor[j] * FERRY_ROW(g, j)[k] - shift[j] * count[k];
        delta->data[j] *= factor[j];
        if (known) delta->data[j] = (delta->data[j] - shift[j]) * times;
    }
done:
    ferry_i_free(count);
    return st;
}

/* zs <- Xs U, where need be as xs (factor o U) - 1 (shift'U). */
static ferry_status project(ferry_ctx *ctx, const work *w, const ferry_block *u)
{
    ferry_status st = FERRY_OK;
    const examples *e = &w->e;
    ferry_block *scaled = NULL;
    double *less = NULL;

    if (!e->factor) {
        ferry_e(ctx)->mul(ctx, 1, e->x, u, 0, w->zs);
        return st;
    }
    FERRY_TRY(ferry_i_block_new(ctx, u->rows, u->k, &scaled));
    FERRY_NEW(ctx, less, u->k);
    for (int64_t j = 0; j < u->rows; j++)
        for (int64_t k = 0; k < u->k; k++) {
            FERRY_ROW(scaled, j)[k] = e->factor[j] * FERRY_ROW(u, j)[k];
            less[k] += e->shift[j] * FERRY_ROW(u, j)[k];
        }
    ferry_e(ctx)->mul(ctx, 1, e->x, scaled, 0, w->zs);
    for (int64_t i = 0; i < w->zs->rows; i++)
        for (int64_t k = 0; k < u->k; k++)
            FERRY_ROW(w->zs, i)[k] -= less[k];
done:
    FERRY_FREE(scaled, less);
    return st;
}

/* U by the features, zs = Xs U.
 *
 * g is d x m, delta d x 1. delta is shrunken for the problem only; the distance that is
 * told to the user (shift) is the whole one. */
static ferry_status linear_subspace(ferry_ctx *ctx, work *w, ranked *s)
{
    ferry_status st = FERRY_OK;
    const mmltl_options *o = w->o;
    const ferry_matrix *xs = w->e.x;
    const bool known = knows_mean(w, s);
    ferry_block *g = NULL, *delta = NULL, *whole = NULL, *v = NULL;
    ferry_mmltl p = {.g1 = o->g1, .g2 = o->g2};

    FERRY_TRY(ferry_i_mmltl_relation(ctx, xs, &w->y, known ? NULL : w->xt, &g, &delta));
    FERRY_TRY(rescale(ctx, w, known, g, delta));
    FERRY_TRY(ferry_i_block_new(ctx, delta->rows, 1, &whole));
    ferry_i_block_copy(delta, whole);
    FERRY_TRY(ferry_i_mmltl_shrink(ctx, (ferry_mmltl_shrink)o->shrink, xs, w->xt, delta));
    p.g = g;
    p.delta = delta;
    FERRY_TRY(choose_mu(ctx, o, &p));
    FERRY_TRY(ferry_i_block_new(ctx, g->rows, w->g, &s->u));
    FERRY_TRY(ferry_i_block_new(ctx, g->k, w->g, &v));
    FERRY_TRY(factor(ctx, o, &p, s->u, v, &w->stop));
    FERRY_TRY(project(ctx, w, s->u));
    shift_of(s->u, whole, w->shift);
done:
    FERRY_FREE(g, delta, whole, v);
    return st;
}

/* The same through a kernel over all instances: coef = map Ur, zs = K map Ur.
 *
 * map and kmap are n x r with r <= m + 1, so nothing of n x n is kept. The model keeps all
 * instances of both domains (m->x): latent(x) needs k(X, x). */
static ferry_status kernel_subspace(ferry_ctx *ctx, work *w, ferry_mmltl_model *m)
{
    ferry_status st = FERRY_OK;
    const mmltl_options *o = w->o;
    const ferry_matrix *part[] = {w->e.x, w->xt};
    ferry_block *u = NULL, *v = NULL;
    ferry_mmltl_kernel k = {0};

    FERRY_TRY(ferry_i_matrix_stack(ctx, 2, part, &m->x));
    m->gamma = o->kernel == KERNEL_RBF ? o->gamma : 0;
    if (o->kernel == KERNEL_RBF && m->gamma == 0)
        FERRY_TRY(ferry_i_kernel_gamma_of(ctx, m->x, &m->gamma));
    ferry_i_diag_real(ctx, "gamma", m->gamma);
    FERRY_TRY(ferry_i_mmltl_kernel_new(ctx, m->gamma, m->x, &w->y, &k));
    ferry_mmltl p = {.g = k.g, .delta = k.delta, .g1 = o->g1, .g2 = o->g2};
    FERRY_TRY(choose_mu(ctx, o, &p));
    FERRY_TRY(ferry_i_block_new(ctx, k.g->rows, w->g, &u));
    FERRY_TRY(ferry_i_block_new(ctx, k.g->k, w->g, &v));
    FERRY_TRY(factor(ctx, o, &p, u, v, &w->stop));
    FERRY_TRY(ferry_i_block_new(ctx, k.map->rows, w->g, &m->r.u));
    const ferry_small ut = {u->k, u->rows, u->data};
    const ferry_block ks = {w->zs->rows, k.kmap->k, k.kmap->data}; /* the source's rows */
    ferry_e(ctx)->bmul(ctx, 1, k.map, &ut, true, 0, m->r.u);
    ferry_e(ctx)->bmul(ctx, 1, &ks, &ut, true, 0, w->zs);
    shift_of(u, k.delta, w->shift);
done:
    ferry_i_mmltl_kernel_clear(&k);
    FERRY_FREE(u, v);
    return st;
}

/* ---- fitting ---- */

/* sqrt(var) above 1e-13 of the mean: below it the variance is rounding. */
void ferry_i_mmltl_measure(const ferry_block *zs, ranked *s)
{
    const double n = zs->rows > 0 ? (double)zs->rows : 1;

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

/* How far the domains' means are apart in the latent space, in deviations of the source.
 * What a user can judge the term by: near 0 means that the means fall together. */
static void tell_shift(ferry_ctx *ctx, const work *w, const ranked *s)
{
    double sum = 0;

    for (int64_t j = 0; j < w->g; j++)
        sum += w->shift[j] * s->inv_sd[j] * (w->shift[j] * s->inv_sd[j]);
    ferry_i_diag_real(ctx, "latent_shift", sqrt(sum));
}

/* rho = 15 was chosen for standardised features: auto must not mean what it does for the
 * baselines, which look at the values. */
static int scaling_of(const mmltl_options *o)
{
    if (o->scale != FERRY_SCALE_AUTO) return o->scale;
    return o->mode == MODE_FERRY ? FERRY_SCALE_STANDARD : FERRY_SCALE_NONE;
}

/* x, as the task has it, becomes a copy that is scaled as everywhere. */
static ferry_status finish_scaling(ferry_ctx *ctx, const base *b, ferry_matrix **x)
{
    ferry_status st = FERRY_OK;
    const ferry_scale_part part = {*x, NULL};
    ferry_matrix *y = NULL;

    FERRY_TRY(ferry_i_scaler_apply(ctx, b->prepared->frame[0].scale, &part,
                                   (ferry_scale_how){0}, &y));
    ferry_i_matrix_free(*x);
    *x = y;
done:
    return st;
}

/* Both domains' features as they are meant, written out. */
static ferry_status scale_both(ferry_ctx *ctx, const base *b, work *w)
{
    ferry_status st = FERRY_OK;

    if (!w->e.factor) return st;
    FERRY_TRY(finish_scaling(ctx, b, &w->xt));
    FERRY_TRY(finish_scaling(ctx, b, &w->e.x));
    FERRY_FREE(w->e.factor, w->e.shift);
    w->e.factor = w->e.shift = NULL;
done:
    return st;
}

/* The target's features. If one domain's are as the task has them and the other's are not, that one's are written out:
 * one scaler serves both, so that its factors do. */
static ferry_status take_target(ferry_ctx *ctx, const ferry_domain *target, const base *b,
                                work *w)
{
    ferry_status st = FERRY_OK;
    ferry_rows r = {0};

    FERRY_TRY((w->e.factor ? ferry_i_prepare_part_lent
                           : ferry_i_prepare_part)(ctx, b->prepared, target, &r));
    FERRY_MOVE(w->xt, r.x[0]);
    if (w->e.factor && !r.factor) {
        FERRY_TRY(finish_scaling(ctx, b, &w->e.x));
        FERRY_FREE(w->e.factor, w->e.shift);
        w->e.factor = w->e.shift = NULL;
    }
done:
    ferry_i_rows_clear(&r);
    return st;
}

/* Features and labels of the source, features of the target, room for the rest. begin()
 * owns nothing: what it makes belongs to *w or *s, also after a failure. */
static ferry_status begin(ferry_ctx *ctx, const ferry_task *task, work *w, ranked *s)
{
    ferry_status st = FERRY_OK;
    const mmltl_options *o = w->o;
    const bool ferry = o->mode == MODE_FERRY;
    const ferry_domain *target = NULL;
    const base_wants wants = {.method = "mmltl",
                              .train = TRAIN_SOURCE,
                              .scale = scaling_of(o),
                              .lend = o->kernel == KERNEL_NONE &&
                                      o->shrink == FERRY_SHRINK_NONE};

    FERRY_TRY(ferry_i_base_fit(ctx, task, &wants, &s->b, &w->e));
    FERRY_TRY(ferry_i_task_target(ctx, task, &target));
    FERRY_TRY(take_target(ctx, target, &s->b, w));
    w->y = (ferry_mmltl_labels){.ns = w->e.n,
                                .m = s->b.k,
                                .on = w->e.on,
                                .centre = o->centre == AUTO ? ferry : o->centre == YES};
    w->g = o->g > 0 ? o->g : s->b.k;
    FERRY_NEW(ctx, w->shift, w->g);
    FERRY_TRY(ferry_i_block_new(ctx, w->e.n, w->g, &w->zs));
    FERRY_NEW(ctx, s->mean, w->g);
    FERRY_NEW(ctx, s->inv_sd, w->g);
done:
    return st;
}

enum { LEAST_ROWS = 20 }; /* of either domain, for folds and a test to mean something */

/* What the gate says (gate.c): whether the features serve as they are (*plain), or the subspace without the
 * mean term (then the options in *o say so). */
static ferry_status ask_gate(ferry_ctx *ctx, const ferry_ranksvm_options *learner,
                             const base *b, work *w, mmltl_options *o, bool *plain)
{
    const char *how = "subspace, means brought together";
    double p = 0, loss[2] = {0};

    *plain = false;
    if (!o->gate || o->mode != MODE_FERRY || o->kernel != KERNEL_NONE || o->mmd == 1 ||
        strcmp(o->mu, "auto") != 0 || ferry_i_all_rows(w->e.x) < LEAST_ROWS ||
        ferry_i_all_rows(w->xt) < LEAST_ROWS)
        return FERRY_OK;
    FERRY_PASS(ferry_i_mmltl_shift(ctx, w->e.x, w->xt, w->e.factor, &p));
    ferry_i_diag_real(ctx, "shift_p", p);
    if (p > 0.01 && w->e.x->whole)
        return ferry_i_fail(
            ctx, FERRY_ENEEDS,
            "mmltl: the domains' means do not differ (p = %.2g), and a RankSVM on the "
            "features takes all rows in one place; --engine mpi runs with gate=no",
            p);
    if (p > 0.01) {
        /* a RankSVM on the features wants them themselves */
        FERRY_PASS(scale_both(ctx, b, w));
        FERRY_PASS(ferry_i_mmltl_choose(ctx, learner, w->e.x, &w->y, loss));
        ferry_i_diag_real(ctx, "cv_features", loss[0]);
        ferry_i_diag_real(ctx, "cv_subspace", loss[1]);
        *plain = loss[0] <= loss[1];
        o->mmd = 1;
        how = *plain ? "features" : "subspace";
    }
    ferry_i_diag_text(ctx, "uses", how);
    return FERRY_OK;
}

/* A RankSVM on the features: no subspace is kept. */
static ferry_status fit_plain(ferry_ctx *ctx, const ferry_ranksvm_options *learner,
                              const work *w, ranked *s, ferry_fit_info *rep)
{
    FERRY_FREE(s->mean, s->inv_sd);
    s->mean = s->inv_sd = NULL;
    return ferry_i_ranked_fit(ctx, learner, w->e.x, NULL, w->e.on, false, s, rep);
}

/* Latent features, which are few, and labels of all ranks' rows in place of those here. */
static ferry_status collect_latent(ferry_ctx *ctx, work *w)
{
    ferry_status st = FERRY_OK;
    ferry_block *all = NULL;
    void *on = NULL;

    FERRY_TRY(ferry_i_block_collect(ctx, w->e.x, w->zs, &all));
    FERRY_TRY(ferry_i_rows_collect(ctx, w->e.x, (size_t)w->y.m, w->e.on, &on));
    ferry_i_free(w->zs);
    FERRY_MOVE(w->zs, all);
    FERRY_MOVE(w->on, on);
done:
    FERRY_FREE(all, on);
    return st;
}

/* Data, subspace, latent features on one scale, RankSVM. The target's labels are not looked
 * at: it learns from the source's alone. */
static ferry_status mmltl_fit(ferry_ctx *ctx, const ferry_task *task, const void *options,
                              void **out, ferry_fit_info *rep)
{
    ferry_status st = FERRY_OK;
    mmltl_options own = *(const mmltl_options *)options, *o = &own;
    const bool zscore = o->latent == AUTO ? o->mode == MODE_FERRY : o->latent == YES;
    ferry_ranksvm_options learner = RANKED_LEARNER(o);
    work w = {.o = o};
    ferry_mmltl_model *m = NULL;
    bool plain = false;

    *out = NULL;
    if (o->mode == MODE_PAPER) { /* in the order of the rows, until no pair moves */
        learner.tol = 0;
        learner.shuffle = false;
    }
    FERRY_NEW(ctx, m, 1);
    FERRY_TRY(begin(ctx, task, &w, &m->r));
    FERRY_TRY(ask_gate(ctx, &learner, &m->r.b, &w, o, &plain));
    if (plain) {
        FERRY_TRY(fit_plain(ctx, &learner, &w, &m->r, rep));
        FERRY_MOVE(*out, m);
        goto done;
    }

    /* The subspace. */
    if (o->kernel == KERNEL_NONE)
        FERRY_TRY(linear_subspace(ctx, &w, &m->r));
    else
        FERRY_TRY(kernel_subspace(ctx, &w, m));

    /* Its features on one scale, and the RankSVM on them, which takes the rows of all ranks. */
    if (w.e.x->whole) FERRY_TRY(collect_latent(ctx, &w));
    ferry_i_mmltl_measure(w.zs, &m->r);
    tell_shift(ctx, &w, &m->r);
    /* latent = plain: measured for the diagnostics, but not applied. */
    for (int64_t j = 0; !zscore && j < w.g; j++) {
        m->r.mean[j] = 0;
        m->r.inv_sd[j] = 1;
    }
    ferry_i_ranked_standardise(&m->r, w.zs);
    const ferry_matrix z = ferry_i_block_matrix(w.zs);
    FERRY_TRY(ferry_i_ranked_fit(ctx, &learner, &z, NULL, w.on ? w.on : w.e.on, w.stop,
                                 &m->r, rep));
    FERRY_MOVE(*out, m);
done:
    free_work(&w);
    ferry_i_mmltl_model_free(m);
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
    FERRY_OPTIONS(mmltl_opts, mmltl_options),
    .fits = mmltl_fits,
    .fit = mmltl_fit,
    .spreads = true,
    .predict = ferry_i_mmltl_predict,
    FERRY_STATE(ferry_mmltl_model, ferry_i_mmltl_file, ferry_i_mmltl_model_free),
};
