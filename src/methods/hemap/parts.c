/* What HeMap learns: one learner on the target's own features, one on the embedding that
 * may learn from the source; and outputs that differ, from the source's labels v to the
 * target's y (thesis 5.4.3):
 *
 *   p(y|v) = mean of p(y|s) over the source rows s with label v, by a target learner  (5.20)
 *   p(y|x) = sum_v p(v|x) p(y|v)                                                      (5.19)
 *
 * and for numbers the line y = a + c v through the same predictions.
 *
 * For numbers the text points to another work; the line is ours. */
#include <math.h>
#include <string.h>

#include "methods/hemap/hemap.h"

/* O(n kv): labels are few. Rows of label -1 count nowhere. */
void ferry_i_hemap_outputs(const ferry_block *pys, const int32_t *v, ferry_block *out)
{
    const int64_t ky = out->k;

    memset(out->data, 0, (size_t)(out->rows * ky) * sizeof *out->data);
    for (int64_t label = 0; label < out->rows; label++) {
        double *p = FERRY_ROW(out, label);
        int64_t n = 0;
        for (int64_t i = 0; i < pys->rows; i++) {
            if (v[i] != label) continue;
            n++;
            for (int64_t y = 0; y < ky; y++)
                p[y] += FERRY_ROW(pys, i)[y];
        }
        for (int64_t y = 0; y < ky; y++)
            p[y] = n > 0 ? p[y] / (double)n : 1 / (double)ky;
    }
}

/* pyx must not be pvx: it is cleared first. */
void ferry_i_hemap_translate(const ferry_block *pvx, const ferry_block *pyv,
                             ferry_block *pyx)
{
    memset(pyx->data, 0, (size_t)(pyx->rows * pyx->k) * sizeof *pyx->data);
    for (int64_t i = 0; i < pvx->rows; i++)
        for (int64_t v = 0; v < pvx->k; v++)
            for (int64_t y = 0; y < pyx->k; y++)
                FERRY_ROW(pyx, i)[y] += FERRY_ROW(pvx, i)[v] * FERRY_ROW(pyv, v)[y];
}

/* Means first, then the sums around them: no cancellation where v is far from 0. The
 * running mean is what a division at the end would give, without a large sum. */
void ferry_i_hemap_line(int64_t n, const double *v, const ferry_block *y, double *a,
                        double *c)
{
    double mv = 0, my = 0, vv = 0, vy = 0, count = 0;

    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(v[i])) continue;
        count++;
        mv += (v[i] - mv) / count;
        my += (FERRY_ROW(y, i)[0] - my) / count;
    }
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(v[i])) continue;
        vv += (v[i] - mv) * (v[i] - mv);
        vy += (v[i] - mv) * (FERRY_ROW(y, i)[0] - my);
    }
    *c = vv > 0 ? vy / vv : 0;
    *a = my - *c * mv;
}

void ferry_i_hemap_parts_clear(hemap_parts *p)
{
    ferry_i_learner_free(p->own);
    ferry_i_learner_free(p->mapped);
    ferry_i_free(p->pyv);
    *p = (hemap_parts){0};
}

/* auto: neighbours for classes on the embedding and logistic regression on own features;
 * ridge for numbers. */
static ferry_learner_kind kind_of(const hemap_data *d, int choice,
                                  ferry_learner_kind classes)
{
    if (choice > 0) return (ferry_learner_kind)(choice - 1);
    return d->yn ? FERRY_LEARNER_RIDGE : classes;
}

/* Rows to learn from: labels and weights; the features are gathered by whoever asks. cls or
 * num is NULL, by the goal. */
typedef struct rows {
    int64_t n;
    int32_t *cls;
    double *num, *weight;
} rows;

/* Room for all labelled rows of both sets. Weights start at 0 and are set with each row. */
static ferry_status rows_new(ferry_ctx *ctx, const hemap_data *d, rows *r)
{
    const int64_t most = d->n_labelled + d->n_taught;

    r->weight = ferry_i_calloc(most, sizeof *r->weight);
    if (d->yc)
        r->cls = ferry_i_calloc(most, sizeof *r->cls);
    else
        r->num = ferry_i_calloc(most, sizeof *r->num);
    return r->weight && (r->cls || r->num) ? FERRY_OK : ferry_i_nomem(ctx);
}

static void rows_clear(rows *r)
{
    FERRY_FREE(r->cls, r->num, r->weight);
}

/* Whether a target row has a label that may be used (`known` hides those of a fold), a
 * source row one that sampling keeps. */
static bool is_known(const hemap_data *d, const uint8_t *known, int64_t i)
{
    return (d->yc ? d->yc[i] >= 0 : !isnan(d->yn[i])) && (!known || known[i]);
}

static bool is_taught(const hemap_data *d, const uint8_t *keep, int64_t i)
{
    return (d->vc ? d->vc[i] >= 0 : !isnan(d->vn[i])) && (!keep || keep[i]);
}

/* The known target rows; `at` (room for all labels) tells which. A weight of 1 each. Called
 * before add_source(), so that target rows come first. */
static void add_target(const hemap_data *d, const uint8_t *known, rows *r, int64_t *at)
{
    for (int64_t l = 0; l < d->n_labelled; l++) {
        const int64_t i = d->labelled[l];
        if (!is_known(d, known, i)) continue;
        at[r->n] = i;
        r->weight[r->n] = 1;
        if (d->yc)
            r->cls[r->n++] = d->yc[i];
        else
            r->num[r->n++] = d->yn[i];
    }
}

/* The labelled source rows; a number v becomes a + c v. Their weight is the option's: below
 * 1 a source row counts less than a target row. */
static void add_source(const hemap_data *d, const uint8_t *keep, double a, double c,
                       rows *r, int64_t *at)
{
    for (int64_t i = 0; i < d->ns; i++) {
        if (!is_taught(d, keep, i)) continue;
        at[r->n] = i;
        r->weight[r->n] = d->o->weight;
        if (d->vc)
            r->cls[r->n++] = d->vc[i];
        else
            r->num[r->n++] = a + c * d->vn[i];
    }
}

/* Rows at[0..n) of a block, then rows at[n..all) of another. Target places first, source
 * places behind them, as the labels stand in `rows`. */
static ferry_status gather(ferry_ctx *ctx, const ferry_block *x, const ferry_block *y,
                           int64_t n, int64_t all, const int64_t *at, ferry_matrix **out)
{
    const int64_t k = x->k;

    FERRY_PASS(ferry_i_matrix_dense(ctx, all, k, out));
    for (int64_t i = 0; i < all; i++)
        memcpy((*out)->dense + i * k, FERRY_ROW(i < n ? x : y, at[i]),
               (size_t)k * sizeof *x->data);
    return FERRY_OK;
}

/* The target alone: what gamma = 0 answers, and what transfer has to beat. Without a label
 * it leaves p->own NULL. */
ferry_status ferry_i_hemap_learn_own(ferry_ctx *ctx, const hemap_data *d,
                                     const uint8_t *known, hemap_parts *p)
{
    ferry_status st = FERRY_OK;
    int64_t *at = NULL;
    ferry_matrix *x = NULL;
    rows r = {0};

    FERRY_TRY(rows_new(ctx, d, &r));
    FERRY_NEW(ctx, at, d->n_labelled);
    add_target(d, known, &r, at);
    if (r.n == 0) goto done;
    FERRY_TRY(ferry_i_matrix_pick(ctx, d->t, r.n, at, &x));
    const ferry_examples e = {.x = x, .cls = r.cls, .num = r.num};
    FERRY_TRY(ferry_i_learner_fit(ctx, kind_of(d, d->o->base, FERRY_LEARNER_LOGREG), d->k,
                                  &d->o->learning, &e, &p->own));
done:
    ferry_i_matrix_free(x);
    ferry_i_free(at);
    rows_clear(&r);
    return st;
}

/* A learner from the known target rows' places, asked about all of the source's: p(y|s). By
 * the learner of the embedding, trained on the target alone: the source's own labels must
 * have no say in what they mean. */
static ferry_status ask_source(ferry_ctx *ctx, const hemap_data *d, const uint8_t *known,
                               const hemap_embedding *e, ferry_block **pys)
{
    ferry_status st = FERRY_OK;
    int64_t *at = NULL;
    ferry_matrix *x = NULL, *q = NULL;
    ferry_learner *l = NULL;
    rows r = {0};

    FERRY_TRY(rows_new(ctx, d, &r));
    FERRY_NEW(ctx, at, d->n_labelled);
    add_target(d, known, &r, at);
    FERRY_TRY(gather(ctx, e->zt, NULL, r.n, r.n, at, &x));
    const ferry_examples ex = {.x = x, .cls = r.cls, .num = r.num};
    FERRY_TRY(ferry_i_learner_fit(ctx, kind_of(d, d->o->learner, FERRY_LEARNER_KNN), d->k,
                                  &d->o->learning, &ex, &l));
    FERRY_TRY(ferry_i_matrix_dense(ctx, e->zs->rows, e->zs->k, &q));
    memcpy(q->dense, e->zs->data, (size_t)(e->zs->rows * e->zs->k) * sizeof *q->dense);
    FERRY_TRY(ferry_i_block_new(ctx, q->rows, d->k, pys));
    FERRY_TRY(ferry_i_learner_scores(ctx, l, q, *pys));
done:
    ferry_i_learner_free(l);
    ferry_i_matrix_free(q);
    ferry_i_matrix_free(x);
    ferry_i_free(at);
    rows_clear(&r);
    return st;
}

/* (5.20) for classes, a line for numbers. The learner on the embedding is then about labels
 * 0..k-1 of the source and k..2k-1 of the target, and p(y|v) of the latter is 1 for y = v.
 * Without known target rows labels stay as they are. v, num: labels of the source rows that
 * sampling keeps; -1 and NaN for the others. */
static ferry_status translate_outputs(ferry_ctx *ctx, const hemap_data *d,
                                      const uint8_t *known, const hemap_embedding *e,
                                      const uint8_t *keep, hemap_parts *p)
{
    ferry_status st = FERRY_OK;
    ferry_block *pys = NULL;
    int32_t *v = NULL;
    double *num = NULL;
    bool any = false;

    p->a = 0;
    p->c = 1;
    for (int64_t l = 0; l < d->n_labelled && !any; l++)
        any = is_known(d, known, d->labelled[l]);
    if (!d->differ || !any || d->o->rows == ROWS_TARGET) goto done;
    FERRY_TRY(ask_source(ctx, d, known, e, &pys));
    FERRY_NEW(ctx, v, d->ns);
    FERRY_NEW(ctx, num, d->ns);
    for (int64_t i = 0; i < d->ns; i++) {
        const bool taught = is_taught(d, keep, i);
        v[i] = taught && d->vc ? d->vc[i] : -1;
        num[i] = taught && d->vn ? d->vn[i] : NAN;
    }
    if (d->yn) {
        ferry_i_hemap_line(d->ns, num, pys, &p->a, &p->c);
        goto done;
    }
    FERRY_TRY(ferry_i_block_new(ctx, 2 * d->k, d->k, &p->pyv));
    ferry_block upper = {.rows = d->k, .k = d->k, .data = p->pyv->data};
    ferry_i_hemap_outputs(pys, v, &upper);
    for (int64_t y = 0; y < d->k; y++)
        FERRY_ROW(p->pyv, d->k + y)[y] = 1;
done:
    FERRY_FREE(num, v, pys);
    return st;
}

/* On the places of both sets, the source's labels translated where they differ. Where
 * labels are translated, target rows have labels k..2k-1 in this learner, source rows
 * 0..k-1: a row near both kinds gets a share of each, and (5.19) turns the shares into
 * classes of the target. */
ferry_status ferry_i_hemap_learn_mapped(ferry_ctx *ctx, const hemap_data *d,
                                        const uint8_t *known, const hemap_embedding *e,
                                        const uint8_t *keep, hemap_parts *p)
{
    ferry_status st = FERRY_OK;
    int64_t *at = NULL, mine = 0;
    ferry_matrix *x = NULL;
    rows r = {0};

    FERRY_TRY(translate_outputs(ctx, d, known, e, keep, p));
    FERRY_TRY(rows_new(ctx, d, &r));
    FERRY_NEW(ctx, at, d->n_labelled + d->n_taught);
    if (d->o->rows != ROWS_SOURCE) add_target(d, known, &r, at);
    mine = r.n;
    for (int64_t i = 0; i < mine && p->pyv; i++)
        r.cls[i] += (int32_t)d->k;
    if (d->o->rows != ROWS_TARGET) add_source(d, keep, p->a, p->c, &r, at);
    if (r.n == 0) goto done;
    FERRY_TRY(gather(ctx, e->zt, e->zs, mine, r.n, at, &x));
    /* Equal weights go as none: logreg knows no others. */
    const bool even = d->o->weight == 1 || mine == 0 || mine == r.n;
    const ferry_examples ex = {
        .x = x, .cls = r.cls, .num = r.num, .weight = even ? NULL : r.weight};
    FERRY_TRY(ferry_i_learner_fit(ctx, kind_of(d, d->o->learner, FERRY_LEARNER_KNN),
                                  p->pyv ? p->pyv->rows : d->k, &d->o->learning, &ex,
                                  &p->mapped));
done:
    ferry_i_matrix_free(x);
    ferry_i_free(at);
    rows_clear(&r);
    return st;
}

ferry_status ferry_i_hemap_own_scores(ferry_ctx *ctx, const hemap_parts *p,
                                      const ferry_matrix *x, ferry_block *scores)
{
    return p->own ? ferry_i_learner_scores(ctx, p->own, x, scores) : FERRY_OK;
}

/* scores stays as it is where nothing was mapped: what stands there is the caller's. */
ferry_status ferry_i_hemap_mapped_scores(ferry_ctx *ctx, const hemap_parts *p,
                                         const ferry_matrix *z, ferry_block *scores)
{
    ferry_status st = FERRY_OK;
    ferry_block *pvx = NULL;

    if (!p->mapped) goto done;
    if (!p->pyv) return ferry_i_learner_scores(ctx, p->mapped, z, scores);
    FERRY_TRY(ferry_i_block_new(ctx, z->rows, p->mapped->k, &pvx));
    FERRY_TRY(ferry_i_learner_scores(ctx, p->mapped, z, pvx));
    ferry_i_hemap_translate(pvx, p->pyv, scores);
done:
    ferry_i_free(pvx);
    return st;
}
