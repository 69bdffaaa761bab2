/* htlic: better features for the target from unlabelled pairs (Zhu, Chen, Lu, Pan, Xue, Yu and Yang, Heterogeneous
 * Transfer Learning for Image Classification, AAAI 2011; rebuilt from the paper, not from its code).
 *
 * The bridge's instances have features that the target has (P, pictures) and features that the source has (Q, tags).
 * G = P'Q says which go together. G and the source's documents D are factorised together, all factors >= 0,
 *
 *   min |G - U V'|^2 / |G|^2 + lambda |D - W V'|^2 / |D|^2
 *
 * by multiplicative updates. Row j of U describes the target's feature j in g latent ones, so that x becomes x U. The
 * latent features, with mean 0 and deviation 1 over the target, stand beside the target's own for a support vector
 * machine on the labelled instances of the target. Labels of the source are not used. G is formed where it has at most
 * four million entries, else P'(Q V) and Q'(P U) stand in for it. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "learn/chain.h"
#include "learn/factor_model.h"
#include "learn/linear.h"
#include "prepare/problem.h"

enum { MOST_G = 4000000 };

typedef struct htlic_options {
    int64_t latent, iterations;
    int beside;
    double lambda, C;
} htlic_options;

static const ferry_opt htlic_opts[] = {
    FERRY_OPT(htlic_options, INT, latent, 30, 1, 10000, "latent features"),
    FERRY_OPT(htlic_options, REAL, lambda, 1, 0, 1e9, "weight of the source's documents"),
    FERRY_OPT(htlic_options, INT, iterations, 100, 1, 1e6, "of the factorisation"),
    FERRY_OPT_YES_NO(htlic_options, beside, "yes",
                     "keep the target's own features beside the latent ones"),
    FERRY_OPT(htlic_options, REAL, C, 1, 1e-9, 1e9, "cost of errors of the classifier"),
};

/* ---- the factorisation ---- */

typedef struct factor { /* one of U, V, W with what its update divides */
    block at, above, below;
} factor;

typedef struct cmf {
    matrix p, q, d; /* n x dt, n x ds, m x ds */
    matrix g;       /* dt x ds; m NULL: too large */
    factor u, v, w; /* dt x g, ds x g, m x g */
    double g2, d2;  /* |G|^2, |D|^2 */
} cmf;

/* G, if it is small, and |G|^2 = <P P', Q Q'>. */
static void make_g(scope *s, cmf *f)
{
    const int64_t dt = f->p.cols, ds = f->q.cols;

    if (dt * ds <= MOST_G) {
        f->g = matrix_dense(s, HERE(dt), dt, ds);
        for (int64_t i = 0; i < f->p.n; i++) {
            const ferry_row p = row_at(f->p, i), q = row_at(f->q, i);
            for (int64_t e = 0; e < p.n; e++)
                row_add(q, p.value[e], f->g.m->dense + (p.index ? p.index[e] : e) * ds);
        }
        f->g2 = norm2(s, f->g);
        return;
    }
    const small a = outer(s, f->p, NULL), b = outer(s, f->q, NULL);
    for (int64_t e = 0; e < a.rows * a.cols; e++)
        f->g2 += a.at[e] * b.at[e];
    scope_drop(s, a.at);
    scope_drop(s, b.at);
}

/* to <- G V, G'U. */
static void g_times(scope *s, const cmf *f, block v, block to)
{
    if (f->g.m) {
        mul(s, f->g, v, to);
        return;
    }
    const block n = block_new(s, f->q.rows, f->q.n, v.k);
    mul(s, f->q, v, n);
    tmul(s, f->p, n, to);
    scope_drop(s, n.at);
}

static void gt_times(scope *s, const cmf *f, block u, block to)
{
    if (f->g.m) {
        tmul(s, f->g, u, to);
        return;
    }
    const block n = block_new(s, f->p.rows, f->p.n, u.k);
    mul(s, f->p, u, n);
    tmul(s, f->q, n, to);
    scope_drop(s, n.at);
}

/* Uniform in [0.1, 1) by the keys of rows. */
static factor factor_new(scope *s, int64_t n, int64_t k, const uint64_t *key,
                         ferry_rng *rng)
{
    const factor f = {block_new(s, HERE(n), n, k), block_new(s, HERE(n), n, k),
                      block_new(s, HERE(n), n, k)};

    fill_by_key(rng, key, 0.1, 1, f.at);
    return f;
}

/* F <- F o above / (F gram). */
static void update(scope *s, const factor *f, small gram)
{
    ferry_block at = block_ref(f->at);
    const ferry_block above = block_ref(f->above), below = block_ref(f->below);

    bmul(s, f->at, gram, f->below);
    ferry_e(scope_ctx(s))->mulup(scope_ctx(s), &at, &above, &below, 1, 1e-16, 1e-100);
}

/* U <- U o (G V) / (U V'V), W likewise with D, then
 * V <- V o (a G'U + b D'W) / (V (a U'U + b W'W)),  a = 1/|G|^2, b = lambda/|D|^2. */
static void step(scope *s, const cmf *f, double lambda)
{
    const int64_t mark = scope_mark(s), k = f->u.at.k;
    const double a = 1 / fmax(f->g2, DBL_MIN), b = lambda / fmax(f->d2, DBL_MIN);
    const small vv = small_new(s, k, k), uu = small_new(s, k, k), ww = small_new(s, k, k);
    const block dw = block_like(s, f->v.at);

    gram(s, f->v.at, f->v.at, vv);
    g_times(s, f, f->v.at, f->u.above);
    update(s, &f->u, vv);
    mul(s, f->d, f->v.at, f->w.above);
    update(s, &f->w, vv);

    gram(s, f->u.at, f->u.at, uu);
    gram(s, f->w.at, f->w.at, ww);
    for (int64_t e = 0; e < k * k; e++)
        uu.at[e] = a * uu.at[e] + b * ww.at[e];
    gt_times(s, f, f->u.at, f->v.above);
    tmul(s, f->d, f->w.at, dw);
    axpby(s, b, dw, a, f->v.above);
    update(s, &f->v, uu);
    scope_release(s, mark);
}

static double small_dot(small a, small b)
{
    double all = 0;

    for (int64_t e = 0; e < a.rows * a.cols; e++)
        all += a.at[e] * b.at[e];
    return all;
}

/* The two terms of the objective, weighted. */
static double objective(scope *s, const cmf *f, double lambda)
{
    const int64_t mark = scope_mark(s), k = f->u.at.k;
    const small vv = small_new(s, k, k), other = small_new(s, k, k);

    gram(s, f->v.at, f->v.at, vv);
    g_times(s, f, f->v.at, f->u.above);
    gram(s, f->u.at, f->u.at, other);
    const double of_g = f->g2 - 2 * inner(s, f->u.above, f->u.at) + small_dot(vv, other);
    mul(s, f->d, f->v.at, f->w.above);
    gram(s, f->w.at, f->w.at, other);
    const double of_d = f->d2 - 2 * inner(s, f->w.above, f->w.at) + small_dot(vv, other);
    scope_release(s, mark);
    return of_g / fmax(f->g2, DBL_MIN) + lambda * of_d / fmax(f->d2, DBL_MIN);
}

/* P, Q, D and the start; *pictures: the columns of P. */
static cmf couple(scope *s, const problem *p, int64_t latent, uint8_t **pictures)
{
    const int bridge = p->n_sources, last = p->n - 1;
    ferry_rng *rng = scope_rng(s, "htlic");
    int64_t dt = 0, ds = 0;
    cmf f = {.g2 = 0};

    *pictures = columns_of_both(s, p->d[bridge].x, p->d[last].x, &dt);
    const uint8_t *tags = columns_of_both(s, p->d[bridge].x, p->d[0].x, &ds);
    if (dt == 0 || ds == 0)
        scope_fail(
            s, FERRY_ENEEDS,
            "htlic needs an intermediate domain ('%s') that shares features with the "
            "source and with the target",
            p->d[bridge].name);
    need_amounts(s, p, p->d[bridge].x, *pictures);
    need_amounts(s, p, p->d[bridge].x, tags);
    need_amounts(s, p, p->d[0].x, tags);
    f.p = take_columns(s, p->d[bridge].x, *pictures, false);
    f.q = take_columns(s, p->d[bridge].x, tags, false);
    f.d = take_columns(s, p->d[0].x, tags, false);
    index_columns(s, f.p);
    index_columns(s, f.q);
    index_columns(s, f.d);
    make_g(s, &f);
    f.d2 = norm2(s, f.d);
    f.u = factor_new(s, dt, latent, keys_of(s, p, *pictures), rng);
    f.v = factor_new(s, ds, latent, keys_of(s, p, tags), rng);
    f.w = factor_new(s, f.d.n, latent, p->d[0].key, rng);
    return f;
}

/* U on all columns: 0 where the factorisation had none. */
static block factorise(scope *s, const problem *p, const htlic_options *o)
{
    const block wide = block_new(s, HERE(p->cols), p->cols, o->latent);
    const int64_t mark = scope_mark(s);
    uint8_t *pictures = NULL;
    const cmf f = couple(s, p, o->latent, &pictures);
    double now = NAN;
    bool finish = false;
    int64_t t = 0;

    while (t < o->iterations && !finish) {
        step(s, &f, o->lambda);
        t++;
        if (t % 10 != 0 && t < o->iterations) continue;
        now = objective(s, &f, o->lambda);
        finish = progress(s, "htlic", t, o->iterations, now);
    }
    report_fit(s, t, now, finish ? FERRY_STOP_FINISH : FERRY_STOP_MAX_ITER);
    for (int64_t j = 0, row = 0; j < p->cols; j++)
        if (pictures[j])
            memcpy(ROW(wide, j), ROW(f.u.at, row++), (size_t)o->latent * sizeof(double));
    scope_release(s, mark);
    return wide;
}

/* ---- the classifier ---- */

/* x U of the rows of the target, standardised: (x U - mean) scale. */
static block latent_rows(scope *s, matrix x, block u, double *mean, double *scale)
{
    const block l = block_new(s, x.rows, x.n, u.k);
    const double n = (double)x.n;

    mul(s, x, u, l);
    for (int64_t k = 0; k < u.k; k++) {
        double all = 0, square = 0;
        for (int64_t i = 0; i < l.n; i++)
            all += ROW(l, i)[k];
        mean[k] = all / n;
        for (int64_t i = 0; i < l.n; i++)
            square += pow(ROW(l, i)[k] - mean[k], 2);
        scale[k] = square > 0 ? 1 / sqrt(square / n * (double)u.k) : 0;
        for (int64_t i = 0; i < l.n; i++)
            ROW(l, i)[k] = (ROW(l, i)[k] - mean[k]) * scale[k];
    }
    return l;
}

/* The labelled rows: latent features, own ones behind them if wanted. */
static examples training_rows(scope *s, const domain *t, block l, bool own)
{
    examples e = labelled_rows(s, t);
    const block some = block_new(s, e.x.rows, e.x.n, l.k);
    int64_t n = 0;

    for (int64_t i = 0; i < t->n; i++)
        if (t->known[i] >= 0)
            memcpy(ROW(some, n++), ROW(l, i), (size_t)l.k * sizeof(double));
    const matrix latent = matrix_of(s, some);
    const matrix parts[] = {e.x.m->dense ? latent : to_sparse(s, latent), e.x};
    e.x = own ? beside(s, 2, parts) : latent;
    return e;
}

/* Weights on latent and own features as weights on features. */
static classifier unfold(scope *s, const linear_model *m, block u, const double *mean,
                         const double *scale, bool own)
{
    const int64_t g = u.k;
    classifier c = {.keep = NEW(s, uint8_t, u.n),
                    .shared = u.n,
                    .svm = true,
                    .w = block_new(s, HERE(u.n), u.n, m->k),
                    .b = NEW(s, double, m->k)};

    memset(c.keep, 1, (size_t)u.n);
    for (int64_t k = 0; k < m->k; k++) {
        c.b[k] = m->seen[k] ? m->b[k] : -1e300;
        for (int64_t q = 0; q < g; q++)
            c.b[k] -= mean[q] * scale[q] * ROW(m->w, q)[k];
        for (int64_t j = 0; j < u.n; j++) {
            double *to = &ROW(c.w, j)[k];
            *to = own ? ROW(m->w, g + j)[k] : 0;
            for (int64_t q = 0; q < g; q++)
                *to += ROW(u, j)[q] * scale[q] * ROW(m->w, q)[k];
        }
    }
    return c;
}

/* ---- all of it ---- */

static void htlic_fits(scope *s, const problem *shape, const void *options)
{
    const int bridges = shape->n - shape->n_sources - 1;

    (void)options;
    if (bridges != 1)
        scope_fail(s, FERRY_ENEEDS, "htlic needs exactly one intermediate domain, not %d",
                   bridges);
}

static void htlic_fit(scope *s, scope *keep, const problem *p, const void *options,
                      void *state)
{
    const htlic_options *o = options;
    const linear_options how = {.loss = LOSS_HINGE, .C = o->C, .eps = 1e-3, .bias = true};
    double *mean = NEW(s, double, o->latent), *scale = NEW(s, double, o->latent);
    const block u = factorise(s, p, o);
    const block l = latent_rows(s, target(p)->x, u, mean, scale);
    const examples e = training_rows(s, target(p), l, o->beside);
    const linear_model m = linear_fit(s, s, &how, &e);
    const classifier c = unfold(s, &m, u, mean, scale, o->beside);

    classifier_keep(keep, p, &c, state);
}

const method method_htlic = {
    .name = "htlic",
    .summary =
        "latent features of the target from a bridge's pairs, for an SVM on its labels",
    .reference = "Zhu, Chen, Lu, Pan, Xue, Yu, Yang, Heterogeneous Transfer Learning for "
                 "Image Classification, AAAI 2011",
    .kind = FERRY_KIND_TRANSFER,
    .family = FERRY_FAMILY_PATH,
    .goals = FERRY_CLASSIFY,
    .needs = FERRY_NEED_SOURCE | FERRY_NEED_INTERMEDIATE | FERRY_NEED_TARGET_LABELS |
             FERRY_NEED_VIEW | FERRY_NEED_PATH,
    .wants = {.as = CHAIN,
              .domains = WANT_SOURCES | WANT_BRIDGES | WANT_TARGET,
              .sign = AMOUNTS},
    METHOD_OPTIONS(htlic_opts, htlic_options),
    .state = &classifier_table,
    .whole = true,
    .fits = htlic_fits,
    .fit = htlic_fit,
    .scores = classifier_answer,
};
