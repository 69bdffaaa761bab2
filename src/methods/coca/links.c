/* CoCA: must-links and cannot-links between some instances, from the labels that may be
 * seen or from a file, and the weights of the views that follow from them. */
#include <math.h>
#include <string.h>

#include "learn/learn.h"
#include "methods/coca/coca.h"

void ferry_i_coca_links_clear(coca_links *l)
{
    ferry_i_free(l->instance);
    ferry_i_free(l->c);
    *l = (coca_links){0};
}

static ferry_status room_for(ferry_ctx *ctx, int64_t most, coca_links *l)
{
    l->instance = ferry_i_calloc(most, sizeof *l->instance);
    l->c = ferry_i_calloc(most * most, sizeof *l->c);
    return l->instance && l->c ? FERRY_OK : ferry_i_nomem(ctx);
}

static void count_links(coca_links *l)
{
    for (int64_t e = 0; e < l->n * l->n; e++) {
        l->must += l->c[e] > 0;
        l->cannot += l->c[e] < 0;
    }
}

/* At most `most` of the labelled instances, drawn; C = 1 within a class, -1 between. */
ferry_status ferry_i_coca_links_labels(ferry_ctx *ctx, const ferry_domain *t, int64_t most,
                                       coca_links *l)
{
    ferry_status st = FERRY_OK;
    const int64_t m = t->labels ? t->labels->n : 0;
    int64_t *at = ferry_i_calloc(m, sizeof *at), n = 0;
    ferry_rng rng;

    *l = (coca_links){0};
    FERRY_HAVE(ctx, at);
    for (int64_t i = 0; i < m; i++)
        if (ferry_i_labels_has(t->labels, i)) at[n++] = i;
    ferry_i_rng_for(ctx, &rng, "coca links");
    if (n > most) ferry_i_rng_shuffle(&rng, n, at);
    l->n = n < most ? n : most;
    FERRY_TRY(room_for(ctx, l->n, l));
    memcpy(l->instance, at, (size_t)l->n * sizeof *at);
    for (int64_t i = 0; i < l->n; i++)
        for (int64_t j = 0; j < l->n; j++) {
            const bool same = t->labels->cls[at[i]] == t->labels->cls[at[j]];
            if (i != j) l->c[i * l->n + j] = same ? 1 : -1;
        }
    count_links(l);
done:
    ferry_i_free(at);
    return st;
}

/* Number of the linked instance, a new one if need be; -1: there are `most` already. */
static int64_t place_of(coca_links *l, int64_t *place, int64_t instance, int64_t most)
{
    if (place[instance] == 0 && l->n < most) {
        l->instance[l->n++] = instance;
        place[instance] = l->n;
    }
    return place[instance] - 1;
}

/* Put the links of the file into C, whose rows have `most` entries. */
static ferry_status add_links(ferry_ctx *ctx, const ferry_domain *t, const ferry_data *data,
                              int64_t most, coca_links *l)
{
    ferry_status st = FERRY_OK;
    int64_t *place = ferry_i_calloc(ferry_i_ids_count(t->ids), sizeof *place), left = 0;

    FERRY_HAVE(ctx, place);
    for (int64_t e = 0; e < data->edges; e++) {
        const char *id[2] = {ferry_i_ids_at(data->nodes, data->from[e]),
                             ferry_i_ids_at(data->nodes, data->to[e])};
        const double w = data->weight ? data->weight[e] : 1;
        int64_t at[2];
        FERRY_NEED(ctx, w != 0, FERRY_EDATA,
                   "%s: pair %lld has 0, expected 1 (the same class) or -1 (another)",
                   data->path, (long long)e + 1);
        for (int s = 0; s < 2; s++) {
            at[s] = ferry_i_ids_find(t->ids, id[s]);
            FERRY_NEED(ctx, at[s] >= 0, FERRY_EDATA, "%s: '%s' is no instance of '%s'",
                       data->path, id[s], t->name);
        }
        const int64_t i = place_of(l, place, at[0], most);
        const int64_t j = place_of(l, place, at[1], most);
        if (i < 0 || j < 0) left++;
        if (i < 0 || j < 0 || i == j) continue;
        l->c[i * most + j] = l->c[j * most + i] = w > 0 ? 1 : -1;
    }
    if (left > 0)
        ferry_i_log(ctx, FERRY_WARN,
                    "coca: %lld of %lld pairs are left out: links = %lld instances",
                    (long long)left, (long long)data->edges, (long long)most);
done:
    ferry_i_free(place);
    return st;
}

ferry_status ferry_i_coca_links_file(ferry_ctx *ctx, const ferry_domain *t,
                                     const char *path, int64_t most, coca_links *l)
{
    ferry_status st = FERRY_OK;
    ferry_data *data = NULL;

    *l = (coca_links){0};
    FERRY_TRY(ferry_i_read_as(ctx, path, NULL, FERRY_DATA_GRAPH, &data));
    FERRY_TRY(room_for(ctx, most, l));
    FERRY_TRY(add_links(ctx, t, data, most, l));
    for (int64_t i = 0; i < l->n; i++) /* rows of most entries become rows of n */
        memmove(l->c + i * l->n, l->c + i * most, (size_t)l->n * sizeof *l->c);
    count_links(l);
done:
    ferry_data_free(data);
    return st;
}

/* Phi_k of the linked instances: view k by its own principal components, at most d. */
static ferry_status own_embedding(ferry_ctx *ctx, coca_view *v, int64_t d,
                                  coca_solver solver, const coca_links *l,
                                  ferry_block **out)
{
    ferry_status st = FERRY_OK;
    const double one = 1;
    const coca_problem c = {.m = v->x->rows,
                            .p = 1,
                            .x = &v,
                            .a = &one,
                            .b = 1,
                            .solver = v->cols > 1500 ? COCA_SOLVE_OPERATOR : solver};
    double *values = NULL;
    ferry_block *u = NULL, *phi = NULL;

    *out = NULL;
    if (d > v->cols) d = v->cols;
    FERRY_NEW(ctx, values, d);
    FERRY_TRY(ferry_i_block_new(ctx, v->cols, d, &u));
    FERRY_TRY(ferry_i_block_new(ctx, c.m, d, &phi));
    if (d > 0) FERRY_TRY(ferry_i_coca_solve(ctx, &c, d, values, u));
    if (d > 0) ferry_i_coca_mul(ctx, v, u, phi);
    FERRY_TRY(ferry_i_block_new(ctx, l->n, d, out));
    for (int64_t i = 0; i < l->n; i++)
        memcpy(FERRY_ROW(*out, i), FERRY_ROW(phi, l->instance[i]),
               (size_t)d * sizeof(double));
done:
    ferry_i_block_free(phi);
    ferry_i_block_free(u);
    ferry_i_free(values);
    return st;
}

ferry_status ferry_i_coca_learn_weights(ferry_ctx *ctx, int64_t p, coca_view *const *x,
                                        int64_t d, coca_solver solver, const coca_links *l,
                                        coca_norm norm, bool balanced, double *w)
{
    ferry_status st = FERRY_OK;
    ferry_block **phi = ferry_i_calloc(p, sizeof *phi);
    double *v = ferry_i_calloc(p, sizeof *v);
    ferry_small *k = NULL;

    FERRY_HAVE(ctx, phi && v);
    FERRY_TRY(ferry_i_small_new(ctx, p, p, &k));
    for (int64_t j = 0; j < p; j++)
        FERRY_TRY(own_embedding(ctx, x[j], d, solver, l, &phi[j]));
    FERRY_TRY(ferry_i_coca_qp(ctx, l->n, p, (const ferry_block *const *)phi, l->c, norm,
                              balanced, k, v));
    FERRY_TRY(ferry_i_simplex_qp(ctx, k, v, w, NULL));
done:
    for (int64_t j = 0; phi && j < p; j++)
        ferry_i_block_free(phi[j]);
    ferry_i_free(phi);
    ferry_i_free(v);
    ferry_i_small_free(k);
    return st;
}
