/* Labels by instance id, for baselines on graphs. */
#include "methods/baselines/known.h"

#include <string.h>

void ferry_i_known_clear(known *k)
{
    ferry_i_ids_free(k->ids);
    ferry_i_ids_free(k->graphs);
    ferry_i_free(k->truth);
    ferry_i_free(k->prior);
    *k = (known){0};
}

/* The mean of the answers. */
static ferry_status count_prior(ferry_ctx *ctx, known *k)
{
    ferry_status st = FERRY_OK;
    const int64_t m = k->goal.classes, n = ferry_i_ids_count(k->ids);

    FERRY_NEW(ctx, k->prior, m);
    for (int64_t e = 0; e < n * m; e++)
        k->prior[e % m] += k->truth[e] / (double)n;
done:
    return st;
}

ferry_status ferry_i_known_new(ferry_ctx *ctx, const ferry_task *task, known *k)
{
    ferry_status st = FERRY_OK;
    const ferry_domain *t = NULL;
    double *y = NULL;
    uint8_t *labelled = NULL;
    int64_t at = 0, count = 0;

    *k = (known){0};
    FERRY_TRY(ferry_i_task_target(ctx, task, &t));
    const int64_t n = ferry_i_ids_count(t->ids);
    FERRY_TRY(ferry_i_gbc_goal_new(
        ctx, task->goal, task->names ? ferry_i_ids_count(task->names) : 1, n,
        t->labels->cls, t->labels->num, &k->goal, &y, &labelled));
    for (int64_t x = 0; x < n; x++)
        count += labelled[x];
    k->ids = ferry_i_ids_new();
    k->graphs = ferry_i_ids_new();
    FERRY_NEW(ctx, k->truth, count * k->goal.classes);
    FERRY_HAVE(ctx, k->ids && k->graphs);
    for (int64_t i = 0; i < t->n_graphs; i++)
        FERRY_HAVE(ctx, ferry_i_ids_add(k->graphs, t->graphs[i]->name, NULL) >= 0);
    for (int64_t x = 0; x < n; x++) {
        if (!labelled[x]) continue;
        FERRY_HAVE(ctx, ferry_i_ids_add(k->ids, ferry_i_ids_at(t->ids, x), NULL) >= 0);
        ferry_i_gbc_goal_truth(&k->goal, y + x * k->goal.k,
                               k->truth + at++ * k->goal.classes);
    }
    FERRY_TRY(count_prior(ctx, k));
done:
    ferry_i_free(y);
    ferry_i_free(labelled);
    return st;
}

void ferry_i_known_start(const known *k, const ferry_domain *d, double *start, int64_t *at)
{
    const int64_t n = ferry_i_ids_count(d->ids), m = k->goal.classes;

    for (int64_t x = 0; x < n; x++) {
        at[x] = ferry_i_domain_named(d)
                    ? ferry_i_ids_find(k->ids, ferry_i_ids_at(d->ids, x))
                    : -1;
        memcpy(start + x * m, at[x] < 0 ? k->prior : k->truth + at[x] * m,
               (size_t)m * sizeof *start);
    }
}

ferry_status ferry_i_known_graphs(ferry_ctx *ctx, const known *k, const ferry_domain *d,
                                  ferry_matrix ***graph, int64_t *q)
{
    ferry_status st = FERRY_OK;
    const int64_t names = ferry_i_ids_count(k->graphs);

    *q = 0;
    *graph = ferry_i_calloc(names, sizeof(ferry_matrix *));
    FERRY_HAVE(ctx, *graph);
    for (int64_t i = 0; i < names; i++)
        for (int64_t j = 0; j < d->n_graphs; j++)
            if (strcmp(ferry_i_ids_at(k->graphs, i), d->graphs[j]->name) == 0)
                (*graph)[(*q)++] = d->graphs[j]->a;
    if (*q == 0 && names == 1 && d->n_graphs == 1) (*graph)[(*q)++] = d->graphs[0]->a;
done:
    return st;
}

ferry_status ferry_i_known_save(ferry_ctx *ctx, const known *k, ferry_dict *dict)
{
    ferry_status st = FERRY_OK;

    FERRY_TRY(ferry_i_gbc_goal_save(ctx, &k->goal, dict));
    FERRY_TRY(ferry_i_dict_put_ids(ctx, dict, "known", k->ids));
    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "truth", ferry_i_ids_count(k->ids),
                                     k->goal.classes, k->truth));
    FERRY_TRY(ferry_i_dict_put_ids(ctx, dict, "graphs", k->graphs));
done:
    return st;
}

ferry_status ferry_i_known_load(ferry_ctx *ctx, const ferry_dict *dict, known *k)
{
    ferry_status st = FERRY_OK;
    const double *truth = NULL;

    *k = (known){0};
    FERRY_TRY(ferry_i_gbc_goal_load(ctx, dict, &k->goal));
    FERRY_TRY(ferry_i_dict_ids(ctx, dict, "known", &k->ids));
    FERRY_TRY(ferry_i_dict_ids(ctx, dict, "graphs", &k->graphs));
    int64_t n = ferry_i_ids_count(k->ids), m = k->goal.classes;
    FERRY_TRY(ferry_i_dict_reals(ctx, dict, "truth", &n, &m, &truth));
    FERRY_NEED(ctx, n > 0, FERRY_EDATA, "tensor known is empty");
    FERRY_NEW(ctx, k->truth, n * m);
    memcpy(k->truth, truth, (size_t)(n * m) * sizeof *truth);
    FERRY_TRY(count_prior(ctx, k));
done:
    return st;
}
