/* CoCA: the model at work on a domain, and its file.
 *
 * A model of views embeds any instance by its features (shared/embedding.c); a model of
 * graphs alone knows only the instances that it learned from. */
#include <string.h>

#include "methods/coca/coca.h"
#include "methods/shared/known.h"

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
 * (spectral norm 1 at most). Graphs that the model does not know are passed over; all that it
 * knows must be there. */
static ferry_status smooth(ferry_ctx *ctx, const coca_model *m, const ferry_domain *d,
                           ferry_block *phi)
{
    ferry_status st = FERRY_OK;
    const ferry_matrix **a = NULL;
    double *wt = NULL;
    ferry_matrix *w = NULL;
    ferry_block *from = NULL, *to = NULL;
    int64_t q = 0;

    FERRY_TRY(ferry_i_known_need(ctx, "coca", m->graphs, d));
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

/* graph_weights are there also without smoothing: which graphs counted is part of what was
 * learned. The tensor phi tells a model of graphs alone: as many rows as ids. */
void ferry_i_coca_file(ferry_io *io, void *state)
{
    coca_model *m = state;
    int64_t smooth = m->smooth;

    ferry_i_io_ints(io, "smooth", 1, &smooth);
    FERRY_IO_NEED(io, smooth >= 0 && smooth <= 100,
                  "tensor smooth: %lld is outside [0, 100]", (long long)smooth);
    if (ferry_i_io_loading(io)) m->smooth = smooth;
    ferry_i_io_ids(io, "graphs", &m->graphs);
    ferry_i_io_reals(io, "graph_weights", 1, ferry_i_ids_count(m->graphs), &m->wt);
    if (ferry_i_io_has(io, "phi", !m->e)) {
        ferry_i_io_ids(io, "ids", &m->ids);
        ferry_i_io_block(io, "phi", ferry_i_ids_count(m->ids), -1, &m->phi);
        return;
    }
    if (ferry_i_io_loading(io)) FERRY_IO_NEW(io, m->e, 1);
    if (m->e) ferry_i_embedding_file(io, m->e);
}
