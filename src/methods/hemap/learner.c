/* The learners on an embedding (and on a target's own features): nearest neighbours,
 * logistic regression, ridge regression. Scores are shares of the classes or the number. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "methods/hemap/hemap.h"

void ferry_i_hemap_learner_free(hemap_learner *l)
{
    if (!l) return;
    ferry_i_linear_free(l->lin);
    ferry_i_free(l->w);
    ferry_i_matrix_free(l->x);
    ferry_i_free(l->cls);
    ferry_i_free(l->num);
    ferry_i_free(l->weight);
    ferry_i_free(l);
}

/* ---- learn ---- */

static ferry_status copy(ferry_ctx *ctx, int64_t n, size_t size, const void *from,
                         void *out)
{
    ferry_status st = FERRY_OK;
    void **to = out;

    if (!from) goto done;
    *to = ferry_i_calloc(n, size);
    FERRY_HAVE(ctx, *to);
    memcpy(*to, from, (size_t)n * size);
done:
    return st;
}

/* Keep the rows; neighbours are sought when asked. */
static ferry_status learn_knn(ferry_ctx *ctx, const hemap_examples *e, hemap_learner *l)
{
    ferry_status st = FERRY_OK;
    const int64_t n = e->x->rows;

    FERRY_TRY(ferry_i_matrix_stack(ctx, 1, &e->x, &l->x));
    FERRY_TRY(copy(ctx, n, sizeof *e->cls, e->cls, &l->cls));
    FERRY_TRY(copy(ctx, n, sizeof *e->num, e->num, &l->num));
    FERRY_TRY(copy(ctx, n, sizeof *e->weight, e->weight, &l->weight));
    if (l->neighbours > n) l->neighbours = n;
done:
    return st;
}

static ferry_status learn_ridge(ferry_ctx *ctx, double lambda, const hemap_examples *e,
                                hemap_learner *l)
{
    ferry_status st = FERRY_OK;
    ferry_block *y = NULL;

    FERRY_TRY(ferry_i_block_new(ctx, e->x->rows, l->k, &y));
    for (int64_t i = 0; i < y->rows; i++) {
        if (e->cls)
            FERRY_ROW(y, i)[e->cls[i]] = 1;
        else
            FERRY_ROW(y, i)[0] = e->num[i];
    }
    FERRY_TRY(ferry_i_hemap_ridge(ctx, e->x, y, e->weight, lambda, &l->w));
done:
    ferry_i_block_free(y);
    return st;
}

/* liblinear holds the constant term small like any weight, which with a few rows costs the
 * shares of the classes: so it is the weight of a feature that is large everywhere. */
static ferry_status learn_logreg(ferry_ctx *ctx, double C, const hemap_examples *e,
                                 hemap_learner *l)
{
    ferry_status st = FERRY_OK;
    const double large = 100;
    const ferry_linear_options o = {.kind = FERRY_LINEAR_LOGREG, .C = C, .eps = 1e-4};
    ferry_matrix *one = NULL, *x = NULL;
    ferry_rng rng;

    ferry_i_rng_for(ctx, &rng, "hemap logreg");
    FERRY_TRY(ferry_i_matrix_csr(ctx, e->x->rows, 1, e->x->rows, &one));
    for (int64_t i = 0; i < e->x->rows; i++) {
        one->start[i + 1] = i + 1;
        one->value[i] = large;
    }
    const ferry_matrix *const parts[] = {e->x, one};
    FERRY_TRY(ferry_i_matrix_join(ctx, 2, parts, &x));
    FERRY_TRY(ferry_i_linear_fit(ctx, &o, x, l->k, e->cls, NULL, &rng, &l->lin));
    /* k x (d + 2), the last 0, to k x (d + 1). */
    for (int64_t c = 0; c < l->k; c++) {
        memmove(l->lin->w + c * (l->d + 1), l->lin->w + c * (l->d + 2),
                (size_t)(l->d + 1) * sizeof *l->lin->w);
        l->lin->w[c * (l->d + 1) + l->d] *= large;
    }
    l->lin->d = l->d;
done:
    ferry_i_matrix_free(x);
    ferry_i_matrix_free(one);
    return st;
}

ferry_status ferry_i_hemap_learn(ferry_ctx *ctx, hemap_kind kind, int64_t k,
                                 const hemap_learning *o, const hemap_examples *e,
                                 hemap_learner **out)
{
    ferry_status st = FERRY_OK;
    hemap_learner *l = ferry_i_calloc(1, sizeof *l);

    *out = NULL;
    FERRY_HAVE(ctx, l);
    l->kind = kind;
    l->numbers = !e->cls;
    l->k = k;
    l->d = e->x->cols;
    l->neighbours = o->neighbours;
    if (kind == HEMAP_KNN)
        FERRY_TRY(learn_knn(ctx, e, l));
    else if (kind == HEMAP_LOGREG)
        FERRY_TRY(learn_logreg(ctx, o->C, e, l));
    else
        FERRY_TRY(learn_ridge(ctx, o->lambda, e, l));
    *out = l;
    l = NULL;
done:
    ferry_i_hemap_learner_free(l);
    return st;
}

/* ---- scores ---- */

static void vote(const hemap_learner *l, const int64_t *index, double *score)
{
    double all = 0;

    for (int64_t r = 0; r < l->neighbours; r++) {
        const int64_t i = index[r];
        const double w = l->weight ? l->weight[i] : 1;
        all += w;
        if (l->numbers)
            score[0] += w * l->num[i];
        else
            score[l->cls[i]] += w;
    }
    for (int64_t c = 0; c < l->k && all > 0; c++)
        score[c] /= all;
}

static ferry_status knn_scores(ferry_ctx *ctx, const hemap_learner *l,
                               const ferry_matrix *x, ferry_block *scores)
{
    ferry_status st = FERRY_OK;
    int64_t *index = ferry_i_calloc(x->rows * l->neighbours, sizeof *index);
    double *dist = ferry_i_calloc(x->rows * l->neighbours, sizeof *dist);

    FERRY_HAVE(ctx, index && dist);
    FERRY_TRY(ferry_i_knn(ctx, l->x, x, l->neighbours, FERRY_EUCLIDEAN, index, dist));
    memset(scores->data, 0, (size_t)(scores->rows * scores->k) * sizeof *scores->data);
    for (int64_t i = 0; i < x->rows; i++)
        vote(l, index + i * l->neighbours, FERRY_ROW(scores, i));
done:
    ferry_i_free(dist);
    ferry_i_free(index);
    return st;
}

ferry_status ferry_i_hemap_scores(ferry_ctx *ctx, const hemap_learner *l,
                                  const ferry_matrix *x, ferry_block *scores)
{
    if (l->kind == HEMAP_KNN) return knn_scores(ctx, l, x, scores);
    if (l->kind == HEMAP_LOGREG) return ferry_i_linear_scores(ctx, l->lin, x, scores);
    return ferry_i_linear_apply(ctx, x, l->k, l->w, scores);
}

/* ---- save and load ---- */

typedef char tensor_name[64];

static const char *named(tensor_name name, const char *prefix, const char *part)
{
    (void)snprintf(name, sizeof(tensor_name), "%s.%s", prefix, part);
    return name;
}

static ferry_status save_rows(ferry_ctx *ctx, const hemap_learner *l, const char *prefix,
                              ferry_dict *dict)
{
    ferry_status st = FERRY_OK;
    const int64_t n = l->x->rows;
    int64_t *wide = NULL;
    tensor_name name;

    FERRY_TRY(ferry_i_dict_put_matrix(ctx, dict, named(name, prefix, "x"), l->x));
    if (l->weight)
        FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, named(name, prefix, "weight"), 1, n,
                                         l->weight));
    if (l->numbers) {
        FERRY_TRY(
            ferry_i_dict_put_reals(ctx, dict, named(name, prefix, "labels"), 1, n, l->num));
        goto done;
    }
    FERRY_NEW(ctx, wide, n);
    for (int64_t i = 0; i < n; i++)
        wide[i] = l->cls[i];
    FERRY_TRY(ferry_i_dict_put_ints(ctx, dict, named(name, prefix, "labels"), n, wide));
done:
    ferry_i_free(wide);
    return st;
}

ferry_status ferry_i_hemap_learner_save(ferry_ctx *ctx, const hemap_learner *l,
                                        const char *prefix, ferry_dict *dict)
{
    ferry_status st = FERRY_OK;
    const int64_t form[] = {l->kind, l->numbers, l->k, l->d, l->neighbours};
    tensor_name name;

    FERRY_TRY(ferry_i_dict_put_ints(ctx, dict, named(name, prefix, "form"), 5, form));
    if (l->kind == HEMAP_KNN)
        FERRY_TRY(save_rows(ctx, l, prefix, dict));
    else
        FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, named(name, prefix, "w"), l->k,
                                         l->d + 1, l->lin ? l->lin->w : l->w));
    if (l->lin)
        FERRY_TRY(ferry_i_dict_put_bytes(ctx, dict, named(name, prefix, "seen"), l->k,
                                         l->lin->seen));
done:
    return st;
}

static ferry_status load_labels(ferry_ctx *ctx, const ferry_dict *dict, const char *prefix,
                                hemap_learner *l)
{
    ferry_status st = FERRY_OK;
    const int64_t *wide = NULL;
    const double *num = NULL;
    int64_t n = l->x->rows, one = 1;
    tensor_name name;

    named(name, prefix, "labels");
    if (l->numbers) {
        FERRY_TRY(ferry_i_dict_reals(ctx, dict, name, &one, &n, &num));
        FERRY_TRY(copy(ctx, n, sizeof *num, num, &l->num));
        goto done;
    }
    FERRY_TRY(ferry_i_dict_ints(ctx, dict, name, &n, &wide));
    FERRY_NEW(ctx, l->cls, n);
    for (int64_t i = 0; i < n; i++) {
        FERRY_NEED(ctx, 0 <= wide[i] && wide[i] < l->k, FERRY_EDATA,
                   "tensor %s: entry %lld is %lld, not in [0, %lld)", name, (long long)i,
                   (long long)wide[i], (long long)l->k);
        l->cls[i] = (int32_t)wide[i];
    }
done:
    return st;
}

static ferry_status load_rows(ferry_ctx *ctx, const ferry_dict *dict, const char *prefix,
                              hemap_learner *l)
{
    ferry_status st = FERRY_OK;
    const double *weight = NULL;
    int64_t n = 0, one = 1;
    tensor_name name;

    FERRY_TRY(ferry_i_dict_matrix(ctx, dict, named(name, prefix, "x"), &l->x));
    n = l->x->rows;
    FERRY_NEED(ctx, l->x->cols == l->d && 1 <= l->neighbours && l->neighbours <= n,
               FERRY_EDATA, "tensor %s is %lld x %lld, which does not go with %s.form",
               name, (long long)n, (long long)l->x->cols, prefix);
    if (ferry_i_dict_has(dict, named(name, prefix, "weight"))) {
        FERRY_TRY(ferry_i_dict_reals(ctx, dict, name, &one, &n, &weight));
        FERRY_TRY(copy(ctx, n, sizeof *weight, weight, &l->weight));
    }
    FERRY_TRY(load_labels(ctx, dict, prefix, l));
done:
    return st;
}

static ferry_status load_weights(ferry_ctx *ctx, const ferry_dict *dict, const char *prefix,
                                 hemap_learner *l)
{
    ferry_status st = FERRY_OK;
    const double *w = NULL;
    const uint8_t *seen = NULL;
    int64_t k = l->k, d1 = l->d + 1;
    tensor_name name;

    FERRY_TRY(ferry_i_dict_reals(ctx, dict, named(name, prefix, "w"), &k, &d1, &w));
    if (l->kind == HEMAP_RIDGE) {
        FERRY_TRY(copy(ctx, k * d1, sizeof *w, w, &l->w));
        goto done;
    }
    FERRY_TRY(ferry_i_dict_bytes(ctx, dict, named(name, prefix, "seen"), &k, &seen));
    FERRY_NEW(ctx, l->lin, 1);
    l->lin->kind = FERRY_LINEAR_LOGREG;
    l->lin->k = k;
    l->lin->d = l->d;
    FERRY_TRY(copy(ctx, k * d1, sizeof *w, w, &l->lin->w));
    FERRY_TRY(copy(ctx, k, sizeof *seen, seen, &l->lin->seen));
done:
    return st;
}

ferry_status ferry_i_hemap_learner_load(ferry_ctx *ctx, const ferry_dict *dict,
                                        const char *prefix, hemap_learner **out)
{
    ferry_status st = FERRY_OK;
    const int64_t *form = NULL;
    int64_t five = 5;
    hemap_learner *l = NULL;
    tensor_name name;

    *out = NULL;
    FERRY_TRY(ferry_i_dict_ints(ctx, dict, named(name, prefix, "form"), &five, &form));
    FERRY_NEED(ctx,
               HEMAP_KNN <= form[0] && form[0] <= HEMAP_RIDGE && form[2] > 0 &&
                   form[3] > 0 && form[3] < INT32_MAX &&
                   (form[1] ? form[2] == 1 && form[0] != HEMAP_LOGREG : true),
               FERRY_EDATA, "tensor %s describes no learner", name);
    FERRY_NEW(ctx, l, 1);
    l->kind = (hemap_kind)form[0];
    l->numbers = form[1] != 0;
    l->k = form[2];
    l->d = form[3];
    l->neighbours = form[4];
    if (l->kind == HEMAP_KNN)
        FERRY_TRY(load_rows(ctx, dict, prefix, l));
    else
        FERRY_TRY(load_weights(ctx, dict, prefix, l));
    *out = l;
    l = NULL;
done:
    ferry_i_hemap_learner_free(l);
    return st;
}
