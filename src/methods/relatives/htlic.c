/* htlic: better features for the target from unlabelled pairs (Zhu, Chen, Lu, Pan, Xue, Yu
 * and Yang, Heterogeneous Transfer Learning for Image Classification, AAAI 2011; rebuilt
 * from the paper, not from its code).
 *
 * The bridge's instances have features that the target has (P, pictures) and features that
 * the source has (Q, tags). G = P'Q says which go together. G and the source's documents D
 * are factorised together, all factors >= 0,
 *
 *   min |G - U V'|^2 / |G|^2 + lambda |D - W V'|^2 / |D|^2
 *
 * by multiplicative updates. Row j of U describes the target's feature j in g latent ones,
 * so that x becomes x U. The latent features, with mean 0 and deviation 1 over the target,
 * stand beside the target's own for a support vector machine on the labelled instances of
 * the target. Labels of the source are not used. G is formed where it has at most four
 * million entries, else P'(Q V) and Q'(P U) stand in for it. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "methods/shared/linear_state.h"

enum { MOST_G = 4000000 };

typedef struct htlic_options {
    int64_t latent, iterations;
    int beside, scale, leaks;
    double lambda, C;
} htlic_options;

static const ferry_opt htlic_opts[] = {
    FERRY_OPT(htlic_options, INT, latent, 30, 1, 10000, "latent features"),
    FERRY_OPT(htlic_options, REAL, lambda, 1, 0, 1e9, "weight of the source's documents"),
    FERRY_OPT(htlic_options, INT, iterations, 100, 1, 1e6, "of the factorisation"),
    FERRY_OPT_YES_NO(htlic_options, beside, "yes",
                     "keep the target's own features beside the latent ones"),
    FERRY_OPT(htlic_options, REAL, C, 1, 1e-9, 1e9, "cost of errors of the classifier"),
    FERRY_OPT_SCALE(htlic_options),
    TTL_OPT_LEAKS(htlic_options),
};

/* The factorisation at work. */
typedef struct cmf {
    ferry_matrix *p, *q, *d; /* n x dt, n x ds, m x ds */
    ferry_matrix *g;         /* dt x ds, or NULL: too large */
    ferry_block *u, *v, *w;  /* dt x g, ds x g, m x g */
    ferry_block *above_u, *below_u, *above_v, *below_v, *above_w, *below_w, *n;
    ferry_small *gram, *gram2;
    double g2, d2; /* |G|^2, |D|^2 */
} cmf;

static void cmf_clear(cmf *f)
{
    ferry_block **const blocks[] = {&f->u,       &f->v,       &f->w,       &f->above_u,
                                    &f->below_u, &f->above_v, &f->below_v, &f->above_w,
                                    &f->below_w, &f->n};

    for (int64_t i = 0; i < FERRY_COUNT(blocks); i++)
        ferry_i_free(*blocks[i]);
    ferry_i_matrix_free(f->p);
    ferry_i_matrix_free(f->q);
    ferry_i_matrix_free(f->d);
    ferry_i_matrix_free(f->g);
    FERRY_FREE(f->gram, f->gram2);
}

/* G, if it is small, and |G|^2 = <P P', Q Q'>. */
static ferry_status make_g(ferry_ctx *ctx, cmf *f)
{
    ferry_status st = FERRY_OK;
    const int64_t dt = f->p->cols, ds = f->q->cols;
    ferry_small *a = NULL, *b = NULL;

    if (dt * ds <= MOST_G) {
        FERRY_TRY(ferry_i_matrix_dense(ctx, dt, ds, &f->g));
        for (int64_t i = 0; i < f->p->rows; i++)
            for (int64_t e = f->p->start[i]; e < f->p->start[i + 1]; e++)
                for (int64_t h = f->q->start[i]; h < f->q->start[i + 1]; h++)
                    f->g->dense[f->p->index[e] * ds + f->q->index[h]] +=
                        f->p->value[e] * f->q->value[h];
        f->g2 = ferry_i_matrix_norm2(f->g);
        goto done;
    }
    FERRY_TRY(ferry_i_small_new(ctx, f->p->rows, f->p->rows, &a));
    FERRY_TRY(ferry_i_small_new(ctx, f->p->rows, f->p->rows, &b));
    ferry_e(ctx)->xxt(ctx, f->p, a);
    ferry_e(ctx)->xxt(ctx, f->q, b);
    for (int64_t e = 0; e < f->p->rows * f->p->rows; e++)
        f->g2 += a->data[e] * b->data[e];
done:
    FERRY_FREE(a, b);
    return st;
}

/* to <- G V. */
static ferry_status g_times(ferry_ctx *ctx, cmf *f, const ferry_block *v, ferry_block *to)
{
    if (f->g) {
        ferry_e(ctx)->mul(ctx, 1, f->g, v, 0, to);
        return FERRY_OK;
    }
    ferry_e(ctx)->mul(ctx, 1, f->q, v, 0, f->n);
    return ferry_e(ctx)->tmul(ctx, 1, f->p, f->n, 0, to);
}

/* to <- alpha G'U. */
static ferry_status gt_times(ferry_ctx *ctx, cmf *f, double alpha, const ferry_block *u,
                             ferry_block *to)
{
    if (f->g) return ferry_e(ctx)->tmul(ctx, alpha, f->g, u, 0, to);
    ferry_e(ctx)->mul(ctx, 1, f->p, u, 0, f->n);
    return ferry_e(ctx)->tmul(ctx, alpha, f->q, f->n, 0, to);
}

static ferry_status cmf_new(ferry_ctx *ctx, int64_t g, cmf *f)
{
    const int64_t dt = f->p->cols, ds = f->q->cols, m = f->d->rows;
    ferry_rng rng;

    FERRY_PASS(ferry_i_matrix_index(ctx, f->p));
    FERRY_PASS(ferry_i_matrix_index(ctx, f->q));
    FERRY_PASS(ferry_i_matrix_index(ctx, f->d));
    FERRY_PASS(ferry_i_block_new(ctx, dt, g, &f->u));
    FERRY_PASS(ferry_i_block_new(ctx, dt, g, &f->above_u));
    FERRY_PASS(ferry_i_block_new(ctx, dt, g, &f->below_u));
    FERRY_PASS(ferry_i_block_new(ctx, ds, g, &f->v));
    FERRY_PASS(ferry_i_block_new(ctx, ds, g, &f->above_v));
    FERRY_PASS(ferry_i_block_new(ctx, ds, g, &f->below_v));
    FERRY_PASS(ferry_i_block_new(ctx, m, g, &f->w));
    FERRY_PASS(ferry_i_block_new(ctx, m, g, &f->above_w));
    FERRY_PASS(ferry_i_block_new(ctx, m, g, &f->below_w));
    FERRY_PASS(ferry_i_block_new(ctx, f->p->rows, g, &f->n));
    FERRY_PASS(ferry_i_small_new(ctx, g, g, &f->gram));
    FERRY_PASS(ferry_i_small_new(ctx, g, g, &f->gram2));
    FERRY_PASS(make_g(ctx, f));
    f->d2 = ferry_i_matrix_norm2(f->d);
    ferry_i_rng_for(ctx, &rng, "htlic");
    ferry_i_fill_uniform(f->u, &rng, 0.1, 1);
    ferry_i_fill_uniform(f->v, &rng, 0.1, 1);
    ferry_i_fill_uniform(f->w, &rng, 0.1, 1);
    return FERRY_OK;
}

/* U <- U o (G V) / (U V'V), W likewise with D, then
 * V <- V o (a G'U + b D'W) / (V (a U'U + b W'W)),  a = 1/|G|^2, b = lambda/|D|^2. */
static ferry_status cmf_step(ferry_ctx *ctx, cmf *f, double lambda)
{
    const ferry_engine *e = ferry_e(ctx);
    const double a = 1 / fmax(f->g2, DBL_MIN), b = lambda / fmax(f->d2, DBL_MIN);

    e->gram(ctx, f->v, f->v, f->gram);
    FERRY_PASS(g_times(ctx, f, f->v, f->above_u));
    e->bmul(ctx, 1, f->u, f->gram, false, 0, f->below_u);
    e->mulup(ctx, f->u, f->above_u, f->below_u, 1, 1e-16, 1e-100);
    e->mul(ctx, 1, f->d, f->v, 0, f->above_w);
    e->bmul(ctx, 1, f->w, f->gram, false, 0, f->below_w);
    e->mulup(ctx, f->w, f->above_w, f->below_w, 1, 1e-16, 1e-100);

    e->gram(ctx, f->u, f->u, f->gram);
    e->gram(ctx, f->w, f->w, f->gram2);
    for (int64_t i = 0; i < f->gram->rows * f->gram->cols; i++)
        f->gram->data[i] = a * f->gram->data[i] + b * f->gram2->data[i];
    FERRY_PASS(gt_times(ctx, f, a, f->u, f->above_v));
    FERRY_PASS(e->tmul(ctx, b, f->d, f->w, 1, f->above_v));
    e->bmul(ctx, 1, f->v, f->gram, false, 0, f->below_v);
    e->mulup(ctx, f->v, f->above_v, f->below_v, 1, 1e-16, 1e-100);
    return FERRY_OK;
}

/* The two terms of the objective, weighted. */
static ferry_status cmf_objective(ferry_ctx *ctx, cmf *f, double lambda, double *out)
{
    const ferry_engine *e = ferry_e(ctx);
    double gu = 0, dw = 0, uv = 0, wv = 0;

    FERRY_PASS(g_times(ctx, f, f->v, f->above_u));
    gu = e->dot(ctx, f->above_u, f->u);
    e->mul(ctx, 1, f->d, f->v, 0, f->above_w);
    dw = e->dot(ctx, f->above_w, f->w);
    e->gram(ctx, f->v, f->v, f->gram);
    e->gram(ctx, f->u, f->u, f->gram2);
    for (int64_t i = 0; i < f->gram->rows * f->gram->cols; i++)
        uv += f->gram->data[i] * f->gram2->data[i];
    e->gram(ctx, f->w, f->w, f->gram2);
    for (int64_t i = 0; i < f->gram->rows * f->gram->cols; i++)
        wv += f->gram->data[i] * f->gram2->data[i];
    *out = (f->g2 - 2 * gu + uv) / fmax(f->g2, DBL_MIN) +
           lambda * (f->d2 - 2 * dw + wv) / fmax(f->d2, DBL_MIN);
    return FERRY_OK;
}

/* ---- the data ---- */

/* Columns that two places use: both[j]. */
static ferry_status both_use(ferry_ctx *ctx, const ttl_bridge *b, int64_t i, int64_t j,
                             uint8_t **both, int64_t *n)
{
    ferry_status st = FERRY_OK;
    uint8_t *other = NULL;

    *n = 0;
    FERRY_TRY(ferry_i_bridge_used(ctx, b, i, both));
    FERRY_TRY(ferry_i_bridge_used(ctx, b, j, &other));
    for (int64_t c = 0; c < b->cols; c++) {
        (*both)[c] = (*both)[c] && other[c];
        *n += (*both)[c];
    }
done:
    ferry_i_free(other);
    return st;
}

static ferry_status check_signs(ferry_ctx *ctx, const ferry_matrix *x)
{
    ferry_status st = FERRY_OK;

    for (int64_t e = 0; e < x->nnz; e++)
        FERRY_NEED(ctx, x->value[e] >= 0, FERRY_ENEEDS,
                   "htlic factorises features that are not below 0; one is %g",
                   x->value[e]);
done:
    return st;
}

static ferry_status factorise(ferry_ctx *ctx, const htlic_options *o, const ttl_bridge *b,
                              cmf *f, int64_t **kept, ferry_fit_info *rep)
{
    ferry_status st = FERRY_OK;
    const int64_t bridge = b->n_sources, last = b->n_places - 1;
    uint8_t *pictures = NULL, *tags = NULL;
    int64_t dt = 0, ds = 0;
    bool finish = false;

    FERRY_TRY(both_use(ctx, b, bridge, last, &pictures, &dt));
    FERRY_TRY(both_use(ctx, b, bridge, 0, &tags, &ds));
    FERRY_NEED(
        ctx, dt > 0 && ds > 0, FERRY_ENEEDS,
        "htlic needs an intermediate domain ('%s') that shares features with the source "
        "and with the target",
        b->place[bridge].domain->name);
    FERRY_TRY(ferry_i_columns_cut(ctx, b->place[bridge].x, pictures, false, &f->p, kept));
    FERRY_TRY(ferry_i_columns_cut(ctx, b->place[bridge].x, tags, false, &f->q, NULL));
    FERRY_TRY(ferry_i_columns_cut(ctx, b->place[0].x, tags, false, &f->d, NULL));
    FERRY_TRY(check_signs(ctx, f->p));
    FERRY_TRY(check_signs(ctx, f->q));
    FERRY_TRY(check_signs(ctx, f->d));
    FERRY_TRY(cmf_new(ctx, o->latent, f));
    for (rep->iters = 0; rep->iters < o->iterations && !finish; rep->iters++) {
        FERRY_TRY(cmf_step(ctx, f, o->lambda));
        if (rep->iters % 10 != 9 && rep->iters + 1 < o->iterations) continue;
        FERRY_TRY(cmf_objective(ctx, f, o->lambda, &rep->objective));
        FERRY_TRY(ferry_i_progress(ctx, "htlic", rep->iters + 1, o->iterations,
                                   rep->objective, &finish));
    }
    rep->stop = finish ? FERRY_STOP_FINISH : FERRY_STOP_MAX_ITER;
done:
    FERRY_FREE(pictures, tags);
    return st;
}

/* ---- the classifier ---- */

/* Latent features of all instances of the target, standardised in place: x <- (x - mean)
 * f. */
static ferry_status latent_rows(ferry_ctx *ctx, const ferry_matrix *x, const cmf *f,
                                const int64_t *kept, ferry_block **l, double *mean,
                                double *factor)
{
    ferry_status st = FERRY_OK;
    const int64_t n = x->rows, g = f->u->k;
    ferry_block *wide = NULL;

    FERRY_TRY(ferry_i_block_new(ctx, x->cols, g, &wide));
    for (int64_t j = 0; j < f->u->rows; j++)
        memcpy(FERRY_ROW(wide, kept[j]), FERRY_ROW(f->u, j), (size_t)g * sizeof(double));
    FERRY_TRY(ferry_i_block_new(ctx, n, g, l));
    ferry_e(ctx)->mul(ctx, 1, x, wide, 0, *l);
    for (int64_t k = 0; k < g; k++) {
        double sum = 0, square = 0;
        for (int64_t i = 0; i < n; i++)
            sum += FERRY_ROW(*l, i)[k];
        mean[k] = sum / (double)n;
        for (int64_t i = 0; i < n; i++)
            square += pow(FERRY_ROW(*l, i)[k] - mean[k], 2);
        factor[k] = square > 0 ? 1 / sqrt(square / (double)n * (double)g) : 0;
        for (int64_t i = 0; i < n; i++)
            FERRY_ROW(*l, i)[k] = (FERRY_ROW(*l, i)[k] - mean[k]) * factor[k];
    }
done:
    ferry_i_free(wide);
    return st;
}

/* The labelled rows of the target: latent features, own ones behind them if wanted. */
static ferry_status lesson(ferry_ctx *ctx, const ttl_place *t, const ferry_block *l,
                           bool beside, ferry_matrix **out, int32_t *y)
{
    ferry_status st = FERRY_OK;
    int64_t *rows = ferry_i_calloc(t->n, sizeof *rows), n = 0;
    ferry_matrix *own = NULL, *latent = NULL;

    if (!rows) FERRY_TRY(ferry_i_nomem(ctx));
    for (int64_t i = 0; i < t->n; i++) {
        if (t->known[i] < 0) continue;
        y[n] = t->known[i];
        rows[n++] = i;
    }
    FERRY_TRY(ferry_i_matrix_csr(ctx, n, l->k, n * l->k, &latent));
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < l->k; k++) {
            latent->index[i * l->k + k] = (int32_t)k;
            latent->value[i * l->k + k] = FERRY_ROW(l, rows[i])[k];
        }
        latent->start[i + 1] = (i + 1) * l->k;
    }
    if (!beside) {
        FERRY_MOVE(*out, latent);
        goto done;
    }
    FERRY_TRY(ferry_i_matrix_take(ctx, t->x, n, rows, t->x->cols, NULL, &own));
    const ferry_matrix *parts[] = {latent, own};
    FERRY_TRY(ferry_i_matrix_join(ctx, 2, parts, out));
done:
    ferry_i_matrix_free(own);
    ferry_i_matrix_free(latent);
    ferry_i_free(rows);
    return st;
}

/* Weights of the machine (c x (g [+ cols] + 1)) as weights on the target's features. */
static ferry_status unfold(ferry_ctx *ctx, const ferry_linear *m, const cmf *f,
                           const int64_t *kept, const double *mean, const double *factor,
                           int64_t cols, ttl_carried *out)
{
    const int64_t g = f->u->k, wide = cols + 1, own = m->d - g;

    out->w = ferry_i_calloc(m->k * wide, sizeof *out->w);
    out->keep = ferry_i_calloc(cols, sizeof *out->keep);
    if (!out->w || !out->keep) return ferry_i_nomem(ctx);
    memset(out->keep, 1, (size_t)cols);
    out->shared = cols;
    for (int64_t k = 0; k < m->k; k++) {
        const double *w = m->w + k * (m->d + 1);
        double *to = out->w + k * wide;
        for (int64_t j = 0; own > 0 && j < cols; j++)
            to[j] = w[g + j];
        for (int64_t j = 0; j < f->u->rows; j++)
            for (int64_t q = 0; q < g; q++)
                to[kept[j]] += FERRY_ROW(f->u, j)[q] * factor[q] * w[q];
        to[cols] = m->seen[k] ? w[m->d] : -1e300;
        for (int64_t q = 0; q < g; q++)
            to[cols] -= mean[q] * factor[q] * w[q];
    }
    return FERRY_OK;
}

static ferry_status htlic_fit(ferry_ctx *ctx, const ferry_task *task, const void *options,
                              void **out, ferry_fit_info *rep)
{
    ferry_status st = FERRY_OK;
    const htlic_options *o = options;
    const ferry_linear_options lo = {FERRY_LINEAR_SVM, o->C, 1e-3, 0, true, false};
    ttl_bridge *b = NULL;
    cmf f = {0};
    ferry_block *l = NULL;
    ferry_matrix *x = NULL;
    ferry_linear *m = NULL;
    ttl_carried carried = {0};
    int64_t *kept = NULL;
    int32_t *y = NULL;
    double *mean = ferry_i_calloc(o->latent, sizeof *mean);
    double *factor = ferry_i_calloc(o->latent, sizeof *factor);

    *out = NULL;
    if (!mean || !factor) FERRY_TRY(ferry_i_nomem(ctx));
    FERRY_TRY(ferry_i_bridge_new(
        ctx, "htlic", task,
        (ttl_reading){.scale = o->scale, .leaks = o->leaks, .positive = FERRY_POSITIVE},
        &b));
    const ttl_place *t = ferry_i_bridge_target(b);
    FERRY_NEED(ctx, b->n_places == b->n_sources + 2, FERRY_ENEEDS,
               "htlic needs exactly one intermediate domain, not %lld",
               (long long)(b->n_places - b->n_sources - 1));
    FERRY_TRY(factorise(ctx, o, b, &f, &kept, rep));
    FERRY_TRY(latent_rows(ctx, t->x, &f, kept, &l, mean, factor));
    y = ferry_i_calloc(t->n, sizeof *y);
    if (!y) FERRY_TRY(ferry_i_nomem(ctx));
    FERRY_TRY(lesson(ctx, t, l, o->beside, &x, y));
    FERRY_TRY(ferry_i_linear_fit(ctx, &lo, x, b->c, y, NULL, &m));
    carried = (ttl_carried){.c = b->c, .cols = b->cols, .svm = true};
    FERRY_TRY(unfold(ctx, m, &f, kept, mean, factor, b->cols, &carried));
    FERRY_TRY(ferry_i_ttl_linear_new(ctx, b, &carried, out));
done:
    cmf_clear(&f);
    ferry_i_matrix_free(x);
    ferry_i_linear_free(m);
    ferry_i_carried_clear(&carried);
    FERRY_FREE(l, kept, y, mean, factor);
    ferry_i_bridge_free(b);
    return st;
}

const ferry_method ferry_i_method_htlic = {
    .name = "htlic",
    .summary =
        "latent features of the target from a bridge's pairs, for an SVM on its labels",
    .reference = "Zhu, Chen, Lu, Pan, Xue, Yu, Yang, Heterogeneous Transfer Learning for "
                 "Image Classification, AAAI 2011",
    .kind = FERRY_KIND_TRANSFER,
    .goals = FERRY_CLASSIFY,
    .needs = FERRY_NEED_SOURCE | FERRY_NEED_INTERMEDIATE | FERRY_NEED_TARGET_LABELS |
             FERRY_NEED_VIEW | FERRY_NEED_PATH,
    FERRY_OPTIONS(htlic_opts, htlic_options),
    .fit = htlic_fit,
    .predict = ferry_i_ttl_linear_predict,
    FERRY_STATE(ttl_linear, ferry_i_ttl_linear_file, ferry_i_ttl_linear_free),
};
