/* CoCA: saving and loading a model. */
#include <stdio.h>
#include <string.h>

#include "methods/coca/coca.h"

static void part_name(char name[48], const char *part, int64_t j)
{
    (void)snprintf(name, 48, "%s.%lld", part, (long long)j);
}

static ferry_status save_view(ferry_ctx *ctx, const coca_model *m, int64_t j,
                              ferry_dict *dict)
{
    ferry_status st = FERRY_OK;
    char name[48];

    part_name(name, "mean", j);
    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, name, 1, m->cols[j], m->mean[j]));
    part_name(name, "scale", j);
    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, name, 1, m->cols[j], m->scale[j]));
    part_name(name, "u", j);
    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, name, m->cols[j], m->d, m->u[j]->data));
done:
    return st;
}

ferry_status ferry_i_coca_save(ferry_ctx *ctx, const void *state, ferry_dict *dict)
{
    ferry_status st = FERRY_OK;
    const coca_model *m = state;
    const int64_t sizes[] = {m->p, m->d, m->missing, m->smooth};

    FERRY_TRY(ferry_i_dict_put_ints(ctx, dict, "sizes", FERRY_COUNT(sizes), sizes));
    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "share", 1, 1, &m->share));
    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "slope", m->p, m->d, m->slope));
    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "r2", m->p, m->d, m->r2));
    for (int64_t j = 0; j < m->p; j++)
        FERRY_TRY(save_view(ctx, m, j, dict));
    FERRY_TRY(ferry_i_dict_put_ids(ctx, dict, "graphs", m->graphs));
    if (m->wt)
        FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "graph_weights", 1,
                                         ferry_i_ids_count(m->graphs), m->wt));
    if (!m->phi) goto done;
    FERRY_TRY(ferry_i_dict_put_ids(ctx, dict, "ids", m->ids));
    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "phi", m->phi->rows, m->d, m->phi->data));
done:
    return st;
}

/* A copy of the rows x cols tensor; -1 takes any and tells it. */
static ferry_status load_reals(ferry_ctx *ctx, const ferry_dict *dict, const char *name,
                               int64_t *rows, int64_t *cols, double **out)
{
    ferry_status st = FERRY_OK;
    const double *data = NULL;

    FERRY_TRY(ferry_i_dict_reals(ctx, dict, name, rows, cols, &data));
    FERRY_TRY(ferry_i_coca_copy(ctx, *rows * *cols, data, out));
done:
    return st;
}

static ferry_status load_view(ferry_ctx *ctx, const ferry_dict *dict, int64_t j,
                              coca_model *m)
{
    ferry_status st = FERRY_OK;
    int64_t rows = 1, cols = -1;
    char name[48];

    part_name(name, "mean", j);
    FERRY_TRY(load_reals(ctx, dict, name, &rows, &cols, &m->mean[j]));
    m->cols[j] = cols;
    part_name(name, "scale", j);
    FERRY_TRY(load_reals(ctx, dict, name, &rows, &cols, &m->scale[j]));
    for (int64_t i = 0; i < cols; i++)
        FERRY_NEED(ctx, m->scale[j][i] > 0, FERRY_EDATA, "tensor %s: entry %lld is %g",
                   name, (long long)i, m->scale[j][i]);
    part_name(name, "u", j);
    FERRY_TRY(ferry_i_dict_block(ctx, dict, name, cols, m->d, &m->u[j]));
done:
    return st;
}

static ferry_status load_graphs(ferry_ctx *ctx, const ferry_dict *dict, coca_model *m)
{
    ferry_status st = FERRY_OK;
    int64_t rows = 1, q = 0;

    ferry_i_ids_free(m->graphs);
    m->graphs = NULL;
    FERRY_TRY(ferry_i_dict_ids(ctx, dict, "graphs", &m->graphs));
    q = ferry_i_ids_count(m->graphs);
    if (q > 0) FERRY_TRY(load_reals(ctx, dict, "graph_weights", &rows, &q, &m->wt));
    if (m->p > 0) goto done;
    FERRY_TRY(ferry_i_dict_ids(ctx, dict, "ids", &m->ids));
    FERRY_TRY(
        ferry_i_dict_block(ctx, dict, "phi", ferry_i_ids_count(m->ids), m->d, &m->phi));
done:
    return st;
}

ferry_status ferry_i_coca_load(ferry_ctx *ctx, const ferry_dict *dict, void **state)
{
    ferry_status st = FERRY_OK;
    const int64_t *sizes = NULL;
    const double *share = NULL, *slope = NULL, *r2 = NULL;
    int64_t n = 4, one = 1;
    coca_model *m = NULL;

    *state = NULL;
    FERRY_TRY(ferry_i_dict_ints(ctx, dict, "sizes", &n, &sizes));
    FERRY_NEED(ctx,
               sizes[0] >= 0 && sizes[0] < 1 << 20 && sizes[1] > 0 && sizes[1] < 1 << 30 &&
                   sizes[2] >= 0 && sizes[2] <= COCA_MISSING_REGRESS && sizes[3] >= 0 &&
                   sizes[3] <= 100,
               FERRY_EDATA, "tensor sizes: %lld views, %lld dimensions, %lld, %lld",
               (long long)sizes[0], (long long)sizes[1], (long long)sizes[2],
               (long long)sizes[3]);
    int64_t p = sizes[0], d = sizes[1];
    FERRY_TRY(ferry_i_dict_reals(ctx, dict, "share", &one, &one, &share));
    FERRY_TRY(ferry_i_dict_reals(ctx, dict, "slope", &p, &d, &slope));
    FERRY_TRY(ferry_i_dict_reals(ctx, dict, "r2", &p, &d, &r2));
    FERRY_TRY(ferry_i_coca_new(ctx, p, d, &m));
    m->share = share[0];
    m->missing = (coca_missing)sizes[2];
    m->smooth = sizes[3];
    memcpy(m->slope, slope, (size_t)(p * d) * sizeof *slope);
    memcpy(m->r2, r2, (size_t)(p * d) * sizeof *r2);
    for (int64_t j = 0; j < p; j++)
        FERRY_TRY(load_view(ctx, dict, j, m));
    FERRY_TRY(load_graphs(ctx, dict, m));
    *state = m;
    m = NULL;
done:
    ferry_i_coca_free(m);
    return st;
}
