/* GBC: the model; predicting with it, saving and loading it.
 *
 *   answer(x) = trees' average over the views that have x, then what the graphs say
 *
 * A graph of the model that the new data lack is left out; one instance that is in no view
 * is answered by its neighbours.
 *
 * Labels of instances that the model was fitted on count when new data link to them: the
 * ids tell which those are. */
#include "methods/gbc/gbc.h"

void ferry_i_gbc_model_free(void *model)
{
    gbc_model *m = model;

    if (!m) return;
    ferry_i_boosted_clear(&m->trees);
    ferry_i_known_clear(&m->k);
    FERRY_FREE(m->wg, m->residual, m);
}

/* Answers of the trees first, then what graphs make of them. p->basis is new and goes to
 * the caller with the prediction. `at` says of each new instance which label of the model
 * is its own: -1 for most. */
ferry_status ferry_i_gbc_predict(ferry_ctx *ctx, const void *state, const ferry_domain *d,
                                 ferry_prediction *p)
{
    ferry_status st = FERRY_OK;
    const gbc_model *model = state;
    const ferry_outputs *o = &model->trees.outputs;
    const int64_t n = p->n, m = o->classes;
    double *answers = NULL, *wg = NULL;
    ferry_matrix **graph = NULL;
    uint8_t *viewless = NULL;
    int64_t *at = NULL, q = 0;
    boosted_views v = {0};

    FERRY_TRY(ferry_i_outputs_check(ctx, o, p));
    FERRY_TRY(ferry_i_boosted_new_data(ctx, model->trees.prepared, d, &v));
    FERRY_NEW(ctx, answers, n * m);
    FERRY_NEW(ctx, viewless, n);
    FERRY_NEW(ctx, at, n);
    FERRY_NEW(ctx, p->basis, n);
    FERRY_TRY(ferry_i_boosted_answers(ctx, &model->trees, n, v.at, answers, viewless));
    ferry_i_known_places(&model->k, d, at);
    FERRY_TRY(ferry_i_known_graphs(ctx, &model->k, model->wg, d, &graph, &wg, &q));
    /* The model's graphs that the data lack are not in `graph`; wg was renormalised with
     * them. */
    const gbc_correction c = {.how = model->correct,
                              .strength = model->strength,
                              .q = q,
                              .graph = graph,
                              .wg = wg,
                              .n = n,
                              .m = m,
                              .classes = !o->numbers,
                              .at = at,
                              .truth = model->k.truth,
                              .residual = model->residual,
                              .viewless = viewless};
    FERRY_TRY(ferry_i_gbc_correct(ctx, &c, answers, p->basis));
    for (int64_t x = 0; x < n; x++)
        ferry_i_outputs_decide(o, answers + x * m, x, p);
    ferry_i_boosted_tell(ctx, "gbc", d, p);
done:
    ferry_i_boosted_views_clear(&v);
    FERRY_FREE(answers, wg, graph, viewless, at);
    return st;
}

/* Names of tensors: docs/model-file.md has the layout, this and the shared parts the names.
 * Weights below 0 or a strength beyond its range would pass every check of shapes. */
void ferry_i_gbc_file(ferry_io *io, void *state)
{
    gbc_model *m = state;
    int64_t correct = m->correct;

    ferry_i_boosted_file(io, true, &m->trees);
    ferry_i_io_ints(io, "correct", 1, &correct);
    ferry_i_io_numbers(io, "strength", 1, &m->strength);
    /* AUTO is no state of a model, and alpha of a mean is at most 1. */
    FERRY_IO_NEED(io,
                  correct >= GBC_CORRECT_NO && correct <= GBC_CORRECT_SMOOTH &&
                      m->strength >= 0 &&
                      (correct != GBC_CORRECT_SMOOTH || m->strength <= 1),
                  "tensor correct: %lld with strength %g", (long long)correct, m->strength);
    if (ferry_i_io_loading(io)) m->correct = (gbc_correct)correct;
    ferry_i_known_file(io, m->trees.outputs.classes, &m->k);
    const int64_t q = ferry_i_ids_count(m->k.graphs);
    if (q == 0) return; /* without graphs nothing stands on residuals */
    ferry_i_io_reals(io, "graph_weights", 1, q, &m->wg);
    ferry_i_io_reals(io, "residual", ferry_i_ids_count(m->k.ids), m->k.classes,
                     &m->residual);
    for (int64_t t = 0; t < q && ferry_i_io_loading(io); t++)
        FERRY_IO_NEED(io, m->wg[t] >= 0, "tensor graph_weights: entry %lld is %g",
                      (long long)t, m->wg[t]);
}
