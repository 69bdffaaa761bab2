/* lift: LIFT, features of its own for every label.
 *
 * For label k the instances with it and those without are clustered apart, each into
 * m_k = ceil(ratio min(|P_k|, |N_k|)) clusters; an instance is described by its distances
 * to the 2 m_k centres, and a linear SVM on those decides about the label.
 *
 * Zhang, Wu: LIFT: Multi-Label Learning with Label-Specific Features, IEEE TPAMI 2015. */
#include <float.h>
#include <math.h>

#include "learn/rows.h"
#include "methods/shared/ranked.h"

enum { MOST_CELLS = 100000000 }; /* of sparse features made dense for k-means */

typedef struct lift_options {
    int train, scale;
    double ratio, C, eps;
    int64_t max_iter;
} lift_options;

static const ferry_opt lift_opts[] = {
    BASE_OPT_TRAIN(lift_options),
    FERRY_OPT_SCALE(lift_options),
    FERRY_OPT(lift_options, REAL, ratio, 0.1, 1e-6, 1,
              "clusters for each instance of the rarer side"),
    FERRY_OPT(lift_options, INT, max_iter, 100, 1, 1e9, "steps of k-means"),
    FERRY_OPT(lift_options, REAL, C, 1, DBL_MIN, 1e9,
              "cost of errors against small weights"),
    FERRY_OPT(lift_options, REAL, eps, 1e-2, 1e-12, 1, "stopping tolerance of the SVMs"),
};

/* What decides about one label: score = w [scale distances; 1], on when above 0. Distances
 * are divided by their mean while learning (scale), so that C means the same in all units. */
typedef struct part {
    ferry_block *centres; /* c x d */
    double scale;
    double *w; /* c + 1 */
} part;

typedef struct state {
    base b;
    part *parts; /* k */
} state;

static void lift_free(void *model)
{
    state *s = model;

    if (!s) return;
    for (int64_t k = 0; s->parts && k < s->b.k; k++) {
        FERRY_FREE(s->parts[k].centres, s->parts[k].w);
    }
    ferry_i_free(s->parts);
    ferry_i_base_clear(&s->b);
    ferry_i_free(s);
}

/* Centres of the instances with label k (side 1) or without it, into c. k-means works on
 * dense points: a sparse side is written out, which fit has checked to be small enough. */
static ferry_status cluster(ferry_ctx *ctx, const lift_options *o, const examples *e,
                            int64_t m, int64_t k, int side, ferry_rng *rng, ferry_block *c)
{
    ferry_status st = FERRY_OK;
    int64_t *rows = ferry_i_calloc(e->n, sizeof *rows), n = 0;
    ferry_matrix *x = NULL, *full = NULL;
    int32_t *group = ferry_i_calloc(e->n, sizeof *group);

    FERRY_HAVE(ctx, rows && group);
    for (int64_t i = 0; i < e->n; i++)
        if ((e->on[i * m + k] != 0) == side) rows[n++] = i;
    FERRY_TRY(ferry_i_matrix_take(ctx, e->x, n, rows, e->x->cols, NULL, &x));
    if (!x->dense) FERRY_TRY(ferry_i_matrix_densify(ctx, x, &full)); /* fits checked */
    const ferry_kmeans_options how = {.k = c->rows, .restarts = 1, .max_iter = o->max_iter};
    FERRY_TRY(ferry_i_kmeans(ctx, full ? full : x, &how, rng, group, c, NULL));
done:
    ferry_i_matrix_free(full);
    ferry_i_matrix_free(x);
    FERRY_FREE(group, rows);
    return st;
}

/* out (n x c) <- distances of the rows of x to the centres, by |x|^2 - 2 x'c + |c|^2. */
static ferry_status distances(ferry_ctx *ctx, const ferry_matrix *x,
                              const ferry_block *centres, ferry_block *out)
{
    ferry_status st = FERRY_OK;
    const double *v = row_values(x);
    ferry_block *t = NULL;
    double *cc = ferry_i_calloc(centres->rows, sizeof *cc);

    FERRY_HAVE(ctx, cc);
    FERRY_TRY(ferry_i_block_new(ctx, x->cols, centres->rows, &t));
    for (int64_t c = 0; c < centres->rows; c++)
        for (int64_t j = 0; j < x->cols; j++) {
            const double at = FERRY_ROW(centres, c)[j];
            FERRY_ROW(t, j)[c] = at;
            cc[c] += at * at;
        }
    ferry_e(ctx)->mul(ctx, -2, x, t, 0, out);
    for (int64_t i = 0; i < x->rows; i++) {
        double xx = 0;
        for (int64_t e = row_begin(x, i); e < row_end(x, i); e++)
            xx += v[e] * v[e];
        for (int64_t c = 0; c < centres->rows; c++)
            FERRY_ROW(out, i)[c] = sqrt(fmax(FERRY_ROW(out, i)[c] + xx + cc[c], 0));
    }
done:
    FERRY_FREE(t, cc);
    return st;
}

/* The features that label has of its own: distances to its centres, times its scale. */
static ferry_status describe(ferry_ctx *ctx, const part *p, const ferry_matrix *x,
                             ferry_block **out)
{
    FERRY_PASS(ferry_i_block_new(ctx, x->rows, p->centres->rows, out));
    FERRY_PASS(distances(ctx, x, p->centres, *out));
    for (int64_t i = 0; i < (*out)->rows * (*out)->k; i++)
        (*out)->data[i] *= p->scale;
    return FERRY_OK;
}

/* Clusters of both sides, distances to them, a linear SVM on those. A label that is never or
 * always on has no clusters, and its score is a constant. */
static ferry_status fit_part(ferry_ctx *ctx, const lift_options *o, const examples *e,
                             int64_t m, int64_t k, ferry_rng *rng, part *p)
{
    ferry_status st = FERRY_OK;
    const ferry_linear_options l = {
        .kind = FERRY_LINEAR_SVM, .C = o->C, .eps = o->eps, .bias = true};
    uint8_t *on = ferry_i_calloc(e->n, sizeof *on);
    ferry_block *z = NULL;
    ferry_linear *svm = NULL;
    ferry_matrix zm;
    int64_t yes = 0, fewer, c;
    double sum = 0;

    FERRY_HAVE(ctx, on);
    for (int64_t i = 0; i < e->n; i++)
        yes += on[i] = e->on[i * m + k] != 0;
    fewer = yes < e->n - yes ? yes : e->n - yes;
    c = (int64_t)ceil(o->ratio * (double)fewer); /* m_k = ceil(ratio min(|P_k|, |N_k|)) */
    FERRY_TRY(ferry_i_block_new(ctx, 2 * c, e->x->cols, &p->centres));
    for (int side = 0; c > 0 && side < 2; side++) {
        ferry_block half = {c, e->x->cols, FERRY_ROW(p->centres, side * c)};
        FERRY_TRY(cluster(ctx, o, e, m, k, side, rng, &half));
    }
    p->scale = 1;
    FERRY_TRY(describe(ctx, p, e->x, &z));
    for (int64_t i = 0; i < z->rows * z->k; i++)
        sum += z->data[i];
    if (sum > 0) p->scale = (double)(z->rows * z->k) / sum;
    for (int64_t i = 0; i < z->rows * z->k; i++)
        z->data[i] *= p->scale;
    zm = ferry_i_block_matrix(z);
    FERRY_TRY(ferry_i_linear_fit_sets(ctx, &l, &zm, 1, on, &svm));
    FERRY_MOVE(p->w, svm->w);
done:
    ferry_i_linear_free(svm);
    FERRY_FREE(z, on);
    return st;
}

static ferry_status lift_fits(ferry_ctx *ctx, const ferry_task *task, const void *options)
{
    const lift_options *o = options;

    return ferry_i_base_fits(ctx, task, &(base_wants){.method = "lift", .train = o->train});
}

static ferry_status lift_fit(ferry_ctx *ctx, const ferry_task *task, const void *options,
                             void **out, ferry_fit_info *rep)
{
    ferry_status st = FERRY_OK;
    const lift_options *o = options;
    examples e = {0};
    state *s = NULL;
    ferry_rng rng;
    bool finish = false;

    *out = NULL;
    ferry_i_rng_for(ctx, &rng, "lift");
    FERRY_NEW(ctx, s, 1);
    FERRY_TRY(ferry_i_base_fit(
        ctx, task, &(base_wants){.method = "lift", .train = o->train, .scale = o->scale},
        &s->b, &e));
    FERRY_NEED(ctx, e.x->dense || e.x->cols * e.n <= MOST_CELLS, FERRY_ENEEDS,
               "lift: %lld instances x %lld sparse features are too many to cluster",
               (long long)e.n, (long long)e.x->cols);
    FERRY_NEW(ctx, s->parts, s->b.k);
    for (int64_t k = 0; k < s->b.k; k++) { /* each label is needed: FINISH has no meaning */
        FERRY_TRY(fit_part(ctx, o, &e, s->b.k, k, &rng, &s->parts[k]));
        FERRY_TRY(ferry_i_progress(ctx, "lift", k + 1, s->b.k, NAN, &finish));
    }
    rep->iters = s->b.k;
    FERRY_MOVE(*out, s);
done:
    ferry_i_examples_clear(&e);
    lift_free(s);
    return st;
}

static ferry_status lift_predict(ferry_ctx *ctx, const void *model, const ferry_domain *d,
                                 ferry_prediction *p)
{
    ferry_status st = FERRY_OK;
    const state *s = model;
    ferry_matrix *x = NULL;
    ferry_block *z = NULL;
    int64_t *instance = NULL;

    FERRY_TRY(ferry_i_base_predict_prior(ctx, &s->b, p));
    FERRY_TRY(ferry_i_base_query(ctx, &s->b, d, &x, &instance));
    for (int64_t k = 0; k < s->b.k; k++) {
        const part *q = &s->parts[k];
        const int64_t c = q->centres->rows;
        ferry_i_free(z);
        z = NULL;
        FERRY_TRY(describe(ctx, q, x, &z));
        for (int64_t i = 0; i < x->rows; i++) {
            double score = q->w[c];
            for (int64_t j = 0; j < c; j++)
                score += q->w[j] * FERRY_ROW(z, i)[j];
            p->score[instance[i] * s->b.k + k] = score;
            p->set[instance[i] * s->b.k + k] = score > 0;
        }
    }
done:
    FERRY_FREE(instance, z);
    ferry_i_matrix_free(x);
    return st;
}

/* ---- save and load: tensors centres.k and w.k of label k ---- */

static void lift_file(ferry_io *io, void *model)
{
    state *s = model;

    ferry_i_ranked_base(io, &s->b);
    if (ferry_i_io_loading(io)) FERRY_IO_NEW(io, s->parts, s->b.k);
    for (int64_t k = 0; k < s->b.k && io->st == FERRY_OK; k++) {
        const long long at = (long long)k;
        part *p = &s->parts[k];
        ferry_i_io_block(io, ferry_i_io_name(io, "centres.%lld", at), -1,
                         ferry_i_base_width(&s->b), &p->centres);
        if (io->st != FERRY_OK) return;
        ferry_i_io_reals(io, ferry_i_io_name(io, "w.%lld", at), 1, p->centres->rows + 1,
                         &p->w);
        ferry_i_io_numbers(io, ferry_i_io_name(io, "scale.%lld", at), 1, &p->scale);
    }
}

const ferry_method ferry_i_method_lift = {
    .name = "lift",
    .summary = "a linear SVM for every label on distances to clusters of its own",
    .reference = "Zhang and Wu, LIFT: Multi-Label Learning with Label-Specific Features, "
                 "IEEE TPAMI 2015",
    .kind = FERRY_KIND_BASELINE,
    .goals = FERRY_MULTILABEL,
    .needs = FERRY_NEED_TARGET_VIEW,
    FERRY_OPTIONS(lift_opts, lift_options),
    .fits = lift_fits,
    .fit = lift_fit,
    .predict = lift_predict,
    FERRY_STATE(state, lift_file, lift_free),
};
