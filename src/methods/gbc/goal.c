/* GBC: classes and numbers as scores, and back. */
#include <math.h>
#include <string.h>

#include "methods/gbc/gbc.h"

/* Mean and standard deviation of the numbers that are there. */
static void measure(int64_t n, const double *num, gbc_goal *g)
{
    double sum = 0, squares = 0, count = 0;

    for (int64_t i = 0; i < n; i++)
        if (!isnan(num[i])) {
            sum += num[i];
            count++;
        }
    g->mean = count > 0 ? sum / count : 0;
    for (int64_t i = 0; i < n; i++)
        if (!isnan(num[i])) squares += (num[i] - g->mean) * (num[i] - g->mean);
    g->sd = count > 0 && squares > 0 ? sqrt(squares / count) : 1;
}

ferry_status ferry_i_gbc_goal_new(ferry_ctx *ctx, ferry_goal goal, int64_t classes,
                                  int64_t n, const int32_t *cls, const double *num,
                                  gbc_goal *out, double **y, uint8_t **labelled)
{
    ferry_status st = FERRY_OK;
    const bool numbers = goal == FERRY_REGRESS;
    gbc_goal g = {goal, numbers ? 1 : classes, numbers || classes <= 2 ? 1 : classes, 0, 1};

    FERRY_NEW(ctx, *y, n * g.k);
    FERRY_NEW(ctx, *labelled, n);
    if (numbers) measure(n, num, &g);
    FERRY_NEED(ctx, isfinite(g.mean) && isfinite(g.sd), FERRY_ENUMERIC,
               "the numbers to predict are too large to add up");
    for (int64_t i = 0; i < n; i++) {
        (*labelled)[i] = (numbers && !isnan(num[i])) || (!numbers && cls[i] >= 0);
        if (!(*labelled)[i]) continue;
        if (numbers) (*y)[i] = (num[i] - g.mean) / g.sd;
        for (int64_t j = 0; !numbers && j < g.k; j++)
            (*y)[i * g.k + j] = cls[i] == (g.k == 1 ? 1 : j) ? 1 : -1;
    }
    *out = g;
done:
    return st;
}

void ferry_i_gbc_goal_answer(const gbc_goal *g, const double *f, double *out)
{
    double sum = 0;

    if (g->goal == FERRY_REGRESS) {
        out[0] = f[0];
    } else if (g->k == 1) {
        if (g->classes > 1) out[1] = ferry_i_gbc_sigmoid(f[0]);
        out[0] = g->classes > 1 ? 1 - out[1] : 1;
    } else {
        for (int64_t j = 0; j < g->k; j++)
            sum += out[j] = ferry_i_gbc_sigmoid(f[j]);
        for (int64_t j = 0; j < g->k; j++)
            out[j] /= sum;
    }
}

void ferry_i_gbc_goal_truth(const gbc_goal *g, const double *y, double *out)
{
    if (g->goal == FERRY_REGRESS)
        out[0] = y[0];
    else if (g->k == 1)
        for (int64_t j = 0; j < g->classes; j++)
            out[j] = j == (y[0] > 0 ? 1 : 0);
    else
        for (int64_t j = 0; j < g->k; j++)
            out[j] = y[j] > 0;
}

void ferry_i_gbc_goal_decide(const gbc_goal *g, const double *answer, int64_t i,
                             ferry_prediction *p)
{
    if (g->goal == FERRY_REGRESS) {
        p->value[i] = g->mean + g->sd * answer[0];
        return;
    }
    memcpy(p->score + i * g->classes, answer, (size_t)g->classes * sizeof *answer);
    p->cls[i] = 0;
    for (int64_t j = 1; j < g->classes; j++)
        if (answer[j] > answer[p->cls[i]]) p->cls[i] = (int32_t)j;
}

ferry_status ferry_i_gbc_goal_check(ferry_ctx *ctx, const gbc_goal *g,
                                    const ferry_prediction *p)
{
    ferry_status st = FERRY_OK;

    FERRY_NEED(ctx, p->goal == g->goal && (g->goal == FERRY_REGRESS || p->k == g->classes),
               FERRY_EDATA, "the model has %lld classes, not %lld", (long long)g->classes,
               (long long)p->k);
done:
    return st;
}

ferry_status ferry_i_gbc_goal_save(ferry_ctx *ctx, const gbc_goal *g, ferry_dict *dict)
{
    ferry_status st = FERRY_OK;
    const int64_t sizes[] = {g->goal, g->classes};
    const double scale[] = {g->mean, g->sd};

    FERRY_TRY(ferry_i_dict_put_ints(ctx, dict, "target.sizes", 2, sizes));
    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "target.scale", 1, 2, scale));
done:
    return st;
}

ferry_status ferry_i_gbc_goal_load(ferry_ctx *ctx, const ferry_dict *dict, gbc_goal *g)
{
    ferry_status st = FERRY_OK;
    const int64_t *sizes = NULL;
    const double *scale = NULL;
    int64_t one = 1, two = 2;

    FERRY_TRY(ferry_i_dict_ints(ctx, dict, "target.sizes", &two, &sizes));
    FERRY_TRY(ferry_i_dict_reals(ctx, dict, "target.scale", &one, &two, &scale));
    const bool numbers = sizes[0] == FERRY_REGRESS;
    FERRY_NEED(ctx,
               (numbers || sizes[0] == FERRY_CLASSIFY) && sizes[1] > 0 &&
                   sizes[1] < 1 << 24 && (!numbers || sizes[1] == 1),
               FERRY_EDATA, "tensor target.sizes: goal %lld, %lld classes",
               (long long)sizes[0], (long long)sizes[1]);
    *g = (gbc_goal){(ferry_goal)sizes[0], sizes[1], numbers || sizes[1] <= 2 ? 1 : sizes[1],
                    scale[0], scale[1]};
done:
    return st;
}
