/* The four experts (experts.h). */
#include "methods/hetomtl/experts.h"

#include <math.h>
#include <string.h>

const char *const ferry_i_expert_names[EXPERTS] = {"pa", "average", "causal", "codes"};

/* Where the weights start and what is dealt out: a third to each kind of learner, pa and
 * average being one learner read in two ways. */
static const double prior[EXPERTS] = {1 / 6., 1 / 6., 1 / 3., 1 / 3.};

ferry_status ferry_i_experts_new(ferry_ctx *ctx, int64_t k, int64_t d, ferry_pa_kind kind,
                                 double C, experts *out)
{
    ferry_status st = FERRY_OK;

    *out = (experts){.d = d};
    for (int e = 0; e < EXPERTS; e++)
        out->w[e] = prior[e];
    FERRY_NEW(ctx, out->x, 2 * d);
    FERRY_NEW(ctx, out->f, 0);
    FERRY_TRY(ferry_i_pa_new(ctx, kind, C, 0, d, true, &out->pa));
    FERRY_TRY(ferry_i_pa_new(ctx, kind, C, 0, d, false, &out->causal));
    FERRY_TRY(ferry_i_moments_new(ctx, d, &out->z));
    FERRY_TRY(ferry_i_experts_classes(ctx, out, k));
done:
    return st;
}

void ferry_i_experts_clear(experts *e)
{
    ferry_i_pa_free(e->pa);
    ferry_i_pa_free(e->causal);
    ferry_i_moments_clear(&e->z);
    ferry_i_codes_clear(&e->codes);
    ferry_i_free(e->f);
    ferry_i_free(e->x);
    *e = (experts){0};
}

ferry_status ferry_i_experts_classes(ferry_ctx *ctx, experts *e, int64_t k)
{
    ferry_status st = FERRY_OK;
    double *f = NULL;

    if (k <= e->k) return FERRY_OK;
    f = ferry_i_realloc(e->f, EXPERTS * k, sizeof *f);
    FERRY_HAVE(ctx, f);
    e->f = f;
    FERRY_TRY(ferry_i_pa_classes(ctx, e->pa, k));
    FERRY_TRY(ferry_i_pa_classes(ctx, e->causal, k));
    if (e->codes.v) FERRY_TRY(ferry_i_codes_classes(ctx, &e->codes, k));
    e->k = k;
done:
    /* All score as many classes, also when one could not grow. */
    e->pa->k = e->causal->k = e->k;
    if (e->codes.v) e->codes.k = e->k;
    return st;
}

/* Centred, of unit length; zero stays. */
static void unit(int64_t k, double *f)
{
    double mean = 0;

    for (int64_t c = 0; c < k; c++)
        mean += f[c];
    mean /= (double)k;
    for (int64_t c = 0; c < k; c++)
        f[c] -= mean;
    ferry_i_row_unit(k, f);
}

/* x[0..n) <- raw of unit length, x[d..2d) <- raw scaled causally. */
static void prepare(const experts *e, const ferry_row *raw, double *x, ferry_row *l2,
                    ferry_row *z)
{
    memcpy(x, raw->value, (size_t)raw->n * sizeof *x);
    ferry_i_row_unit(raw->n, x);
    ferry_i_moments_z(&e->z, raw, x + e->d);
    *l2 = (ferry_row){raw->n, raw->index, x};
    *z = (ferry_row){e->d, NULL, x + e->d};
}

/* f (EXPERTS x k) <- the experts' own scores. */
static void ask(const experts *e, const ferry_row *l2, const ferry_row *z, double *f)
{
    const int64_t k = e->k;

    ferry_i_pa_scores(e->pa, l2, f);
    memcpy(f + EXPERT_AVERAGE * k, f, (size_t)k * sizeof *f);
    ferry_i_pa_average(e->pa, l2, f + EXPERT_AVERAGE * k);
    ferry_i_pa_scores(e->causal, z, f + EXPERT_CAUSAL * k);
    ferry_i_rows_dot(k, e->d, e->codes.v, l2, f + EXPERT_CODES * k);
}

void ferry_i_experts_look(const experts *e, const ferry_row *raw, const experts_room *room,
                          double *total)
{
    ferry_row l2, z;

    if (e->k == 0) return;
    prepare(e, raw, room->x, &l2, &z);
    ask(e, &l2, &z, room->f);
    memset(total, 0, (size_t)e->k * sizeof *total);
    for (int i = 0; i < EXPERTS; i++) {
        double *f = room->f + i * e->k;
        unit(e->k, f);
        for (int64_t c = 0; c < e->k; c++)
            total[c] += e->w[i] * f[c];
    }
}

void ferry_i_experts_watch(experts *e, const ferry_row *raw)
{
    ferry_i_moments_add(&e->z, raw);
}

void ferry_i_experts_step(experts *e, const ferry_row *raw, int32_t y)
{
    ferry_row l2, z;

    prepare(e, raw, e->x, &l2, &z);
    ferry_i_pa_scores(e->pa, &l2, e->f);
    (void)ferry_i_pa_learn(e->pa, &l2, ferry_i_row_norm2(&l2), y, e->f);
    ferry_i_pa_scores(e->causal, &z, e->f);
    (void)ferry_i_pa_learn(e->causal, &z, ferry_i_row_norm2(&z), y, e->f);
}

/* The hedge. */
static void weigh(experts *e, int32_t y, const int32_t *votes)
{
    double sum = 0;

    for (int i = 0; i < EXPERTS; i++) {
        if (votes[i] != y) e->w[i] *= e->rate;
        sum += e->w[i];
    }
    for (int i = 0; i < EXPERTS; i++)
        e->w[i] = (1 - e->share) * (e->w[i] / sum) + e->share * prior[i];
}

ferry_status ferry_i_experts_learn(ferry_ctx *ctx, experts *e, const ferry_row *raw,
                                   int32_t y, const int32_t *votes)
{
    ferry_status st = FERRY_OK;
    int32_t said[EXPERTS];
    codes_step step = {.v = NULL};
    ferry_row l2, z;

    FERRY_TRY(ferry_i_experts_classes(ctx, e, (int64_t)y + 1));
    prepare(e, raw, e->x, &l2, &z);
    FERRY_TRY(ferry_i_codes_prepare(ctx, &e->codes, &l2, y, &step));
    if (!votes) { /* each by its scores of now */
        ask(e, &l2, &z, e->f);
        for (int i = 0; i < EXPERTS; i++)
            said[i] = ferry_i_argmax(e->k, e->f + i * e->k);
        votes = said;
    }
    weigh(e, y, votes);
    ferry_i_codes_commit(&e->codes, &step);
    ferry_i_experts_step(e, raw, y);
done:
    return st;
}

/* ---- save and load ---- */

ferry_status ferry_i_experts_save(ferry_ctx *ctx, const experts *e, ferry_dict *dict)
{
    ferry_status st = FERRY_OK;
    const double how[] = {e->rate, e->share};

    FERRY_TRY(ferry_i_dict_put_ints(ctx, dict, "experts", 1, &e->k));
    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "experts.w", 1, EXPERTS, e->w));
    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "experts.how", 1, 2, how));
    FERRY_TRY(ferry_i_pa_save(ctx, e->pa, "pa", dict));
    FERRY_TRY(ferry_i_pa_save(ctx, e->causal, "causal", dict));
    FERRY_TRY(ferry_i_moments_save(ctx, &e->z, dict));
    FERRY_TRY(ferry_i_codes_save(ctx, &e->codes, dict));
done:
    return st;
}

ferry_status ferry_i_experts_load(ferry_ctx *ctx, const ferry_dict *dict, int64_t d,
                                  experts *e)
{
    ferry_status st = FERRY_OK;
    const int64_t *k = NULL;
    const double *w = NULL, *how = NULL;
    int64_t one = 1, two = 2, four = EXPERTS;

    *e = (experts){.d = d};
    FERRY_TRY(ferry_i_dict_ints(ctx, dict, "experts", &one, &k));
    FERRY_TRY(ferry_i_dict_reals(ctx, dict, "experts.w", &one, &four, &w));
    FERRY_TRY(ferry_i_dict_reals(ctx, dict, "experts.how", &one, &two, &how));
    FERRY_NEED(ctx,
               0 <= *k && *k <= INT32_MAX / EXPERTS && how[0] > 0 && how[0] <= 1 &&
                   how[1] >= 0 && how[1] <= 1,
               FERRY_EDATA, "tensor experts: %lld classes, rate %g, share %g",
               (long long)*k, how[0], how[1]);
    for (int i = 0; i < EXPERTS; i++)
        FERRY_NEED(ctx, w[i] >= 0 && w[i] <= 1, /* 0: it has lost for good */ FERRY_EDATA,
                   "tensor experts.w: entry %d is %g", i, w[i]);
    memcpy(e->w, w, sizeof e->w);
    e->rate = how[0];
    e->share = how[1];
    FERRY_TRY(ferry_i_pa_load(ctx, dict, "pa", *k, d, &e->pa));
    FERRY_NEED(ctx, e->pa->u, FERRY_EDATA, "tensor pa.u is missing");
    FERRY_TRY(ferry_i_pa_load(ctx, dict, "causal", *k, d, &e->causal));
    FERRY_TRY(ferry_i_moments_load(ctx, dict, d, &e->z));
    FERRY_TRY(ferry_i_codes_load(ctx, dict, *k, d, &e->codes));
    FERRY_NEW(ctx, e->x, 2 * d);
    FERRY_NEW(ctx, e->f, EXPERTS * *k);
    e->k = *k;
done:
    if (st != FERRY_OK) ferry_i_experts_clear(e);
    return st;
}
