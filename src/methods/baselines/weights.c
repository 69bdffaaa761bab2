/* Baselines whose model is one row of weights per class, label or number. */
#include "methods/baselines/weights.h"

#include "methods/shared/learner_file.h"

ferry_status ferry_i_weights_new(ferry_ctx *ctx, double least, weights **out)
{
    ferry_status st = FERRY_OK;

    FERRY_NEW(ctx, *out, 1);
    (*out)->least = least;
done:
    return st;
}

void ferry_i_weights_free(void *state)
{
    weights *w = state;

    if (!w) return;
    ferry_i_linear_free(w->m);
    ferry_i_base_clear(&w->b);
    ferry_i_free(w);
}

ferry_status ferry_i_weights_predict(ferry_ctx *ctx, const void *state,
                                     const ferry_domain *d, ferry_prediction *p)
{
    ferry_status st = FERRY_OK;
    const weights *w = state;
    ferry_matrix *x = NULL;
    ferry_block *scores = NULL;
    int64_t *instance = NULL;

    FERRY_TRY(ferry_i_base_predict_prior(ctx, &w->b, p));
    FERRY_TRY(ferry_i_base_query(ctx, &w->b, d, &x, &instance));
    FERRY_TRY(ferry_i_block_new(ctx, x->rows, w->b.k, &scores));
    FERRY_TRY(ferry_i_linear_scores(ctx, w->m, x, scores));
    ferry_i_base_predict_scores(&w->b, scores, instance, w->least, p);
done:
    FERRY_FREE(instance, scores);
    ferry_i_matrix_free(x);
    return st;
}

/* k rows of d weights and the bias, as the features say. */
void ferry_i_weights_file(ferry_io *io, void *state)
{
    weights *w = state;
    int64_t form[] = {w->m ? w->m->kind : 0, w->m ? w->m->sets : 0};

    ferry_i_io_numbers(io, "least", 1, &w->least);
    ferry_i_base_file(io, true, &w->b);
    ferry_i_io_ints(io, "form", 2, form);
    FERRY_IO_NEED(io, 0 <= form[0] && form[0] <= FERRY_LINEAR_SVR,
                  "tensor form: %lld is no kind of linear model", (long long)form[0]);
    if (io->st != FERRY_OK) return;
    ferry_i_linear_file(io, "w", "seen", (ferry_linear_kind)form[0], w->b.k,
                        ferry_i_base_width(&w->b), &w->m);
    if (ferry_i_io_loading(io)) w->m->sets = form[1] != 0;
}
