/* CoCA: the model at work on a domain, and its file.
 *
 * A model of views embeds any instance by its features (shared/embedding.c); a model of
 * graphs alone knows only the instances that it learned from. */
#include <string.h>

#include "methods/coca/coca.h"

void ferry_i_coca_free(void *state)
{
    coca_model *m = state;

    if (!m) return;
    ferry_i_embedding_free(m->e);
    ferry_i_ids_free(m->ids);
    ferry_i_block_free(m->phi);
    ferry_i_ids_free(m->graphs);
    FERRY_FREE(m->wt, m);
}

/* ---- embedding a domain ---- */

/* Graphs alone: the instances that the model has seen. An unknown id is an error: it has no
 * features, and the eigenvectors say nothing of it. */
static ferry_status embed_known(ferry_ctx *ctx, const coca_model *m, const ferry_domain *d,
                                ferry_block *phi)
{
    ferry_status st = FERRY_OK;

    for (int64_t i = 0; i < phi->rows; i++) {
        const char *id = ferry_i_ids_at(d->ids, i);
        const int64_t at = ferry_i_ids_find(m->ids, id);
        FERRY_NEED(ctx, at >= 0, FERRY_ENEEDS,
                   "coca learned from graphs alone and embeds the instances it learned "
                   "from; '%s' of domain '%s' is not one of them",
                   id, d->name);
        memcpy(FERRY_ROW(phi, i), FERRY_ROW(m->phi, at), (size_t)phi->k * sizeof(double));
    }
done:
    return st;
}

/* phi <- sum_{s = 0}^{smooth} W^s phi, W = sum_t wt_t D^-1/2 M_t D^-1/2 over the graphs
 * that the domain has. Always symmetric degrees here, so that powers of W stay bounded
 * (spectral norm 1 at most). Graphs that the model does not know are passed over; without
 * any phi stays. */
static ferry_status smooth(ferry_ctx *ctx, const coca_model *m, const ferry_domain *d,
                           ferry_block *phi)
{
    ferry_status st = FERRY_OK;
    const ferry_matrix **a = NULL;
    double *wt = NULL;
    ferry_matrix *w = NULL;
    ferry_block *from = NULL, *to = NULL;
    int64_t q = 0;

    FERRY_NEW(ctx, a, d->n_graphs);
    FERRY_NEW(ctx, wt, d->n_graphs);
    for (int64_t t = 0; t < d->n_graphs; t++) {
        const int64_t at = ferry_i_ids_find(m->graphs, d->graphs[t]->name);
        if (at < 0) continue;
        a[q] = d->graphs[t]->a;
        wt[q++] = m->wt[at];
    }
    if (q == 0) goto done;
    FERRY_TRY(ferry_i_coca_graphs(ctx, q, a, wt, true, &w));
    FERRY_TRY(ferry_i_block_new(ctx, phi->rows, phi->k, &from));
    FERRY_TRY(ferry_i_block_new(ctx, phi->rows, phi->k, &to));
    ferry_i_block_copy(phi, from);
    for (int64_t s = 0; s < m->smooth; s++) {
        ferry_block *spare = from;
        ferry_e(ctx)->mul(ctx, 1, w, from, 0, to); /* W^s phi */
        ferry_e(ctx)->axpby(ctx, 1, to, 1, phi);
        from = to;
        to = spare;
    }
done:
    FERRY_FREE(a, wt);
    ferry_i_matrix_free(w);
    ferry_i_block_free(from);
    ferry_i_block_free(to);
    return st;
}

/* phi is the workspace; the prediction gets a copy in its own layout. */
ferry_status ferry_i_coca_transform(ferry_ctx *ctx, const void *state,
                                    const ferry_domain *d, ferry_prediction *p)
{
    ferry_status st = FERRY_OK;
    const coca_model *m = state;
    ferry_block *phi = NULL;

    FERRY_TRY(ferry_i_block_new(ctx, p->n, m->e ? m->e->d : m->phi->k, &phi));
    if (m->e)
        FERRY_TRY(ferry_i_embedding_apply(ctx, m->e, d, phi));
    else
        FERRY_TRY(embed_known(ctx, m, d, phi));
    if (m->smooth > 0) FERRY_TRY(smooth(ctx, m, d, phi));
    FERRY_TRY(ferry_i_embed_predict(ctx, phi, p));
done:
    ferry_i_block_free(phi);
    return st;
}

/* ---- save and load ---- */

/* graph_weights are saved also without smoothing: which graphs counted is part of what was
 * learned. */
ferry_status ferry_i_coca_save(ferry_ctx *ctx, const void *state, ferry_dict *dict)
{
    ferry_status st = FERRY_OK;
    const coca_model *m = state;

    FERRY_TRY(ferry_i_dict_put_ints(ctx, dict, "smooth", 1, &m->smooth));
    FERRY_TRY(ferry_i_dict_put_ids(ctx, dict, "graphs", m->graphs));
    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "graph_weights", 1,
                                     ferry_i_ids_count(m->graphs), m->wt));
    if (m->e) {
        FERRY_TRY(ferry_i_embedding_save(ctx, m->e, dict));
    } else {
        FERRY_TRY(ferry_i_dict_put_ids(ctx, dict, "ids", m->ids));
        FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "phi", m->phi->rows, m->phi->k,
                                         m->phi->data));
    }
done:
    return st;
}

/* As many rows as ids; the number of columns is the file's. */
static ferry_status load_known(ferry_ctx *ctx, const ferry_dict *dict, coca_model *m)
{
    ferry_status st = FERRY_OK;
    const double *phi = NULL;
    int64_t rows, d = -1;

    FERRY_TRY(ferry_i_dict_ids(ctx, dict, "ids", &m->ids));
    rows = ferry_i_ids_count(m->ids);
    FERRY_TRY(ferry_i_dict_reals(ctx, dict, "phi", &rows, &d, &phi));
    FERRY_TRY(ferry_i_dict_block(ctx, dict, "phi", rows, d, &m->phi));
done:
    return st;
}

/* The tensor phi tells a model of graphs alone. Everything is freed when a part is
 * missing. */
ferry_status ferry_i_coca_load(ferry_ctx *ctx, const ferry_dict *dict, void **state)
{
    ferry_status st = FERRY_OK;
    const int64_t *steps = NULL;
    int64_t one = 1;
    coca_model *m = NULL;

    *state = NULL;
    FERRY_NEW(ctx, m, 1);
    FERRY_TRY(ferry_i_dict_ints(ctx, dict, "smooth", &one, &steps));
    FERRY_NEED(ctx, steps[0] >= 0 && steps[0] <= 100, FERRY_EDATA,
               "tensor smooth: %lld is outside [0, 100]", (long long)steps[0]);
    m->smooth = steps[0];
    FERRY_TRY(ferry_i_dict_ids(ctx, dict, "graphs", &m->graphs));
    FERRY_TRY(ferry_i_dict_reals_copy(ctx, dict, "graph_weights", 1,
                                      ferry_i_ids_count(m->graphs), &m->wt));
    if (ferry_i_dict_has(dict, "phi"))
        FERRY_TRY(load_known(ctx, dict, m));
    else
        FERRY_TRY(ferry_i_embedding_load(ctx, dict, &m->e));
    FERRY_MOVE(*state, m);
done:
    ferry_i_coca_free(m);
    return st;
}
