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
#include "methods/shared/learner_file.h"

void ferry_i_gbc_model_free(void *model)
{
    gbc_model *m = model;

    if (!m) return;
    ferry_i_boosted_clear(&m->trees);
    ferry_i_linear_free(m->linear);
    ferry_i_known_clear(&m->k);
    FERRY_FREE(m->wg, m->residual, m);
}

/* Answers of the linear score, on smoothed features where it was learned on such: without a
 * graph of the model's an instance has only its own. */
static ferry_status linear_answers(ferry_ctx *ctx, const gbc_model *m,
                                   const ferry_domain *d, int64_t q,
                                   ferry_matrix *const *graph, const double *wg,
                                   double *answers, uint8_t *viewless)
{
    ferry_status st = FERRY_OK;
    ferry_matrix *x = NULL;
    ferry_rows r = {0};
    double factor = m->factor;

    FERRY_TRY(ferry_i_prepare_rows(ctx, m->trees.prepared, d, &r));
    for (int64_t i = 0; i < r.n; i++) {
        viewless[i] = 1;
        for (int64_t v = 0; v < d->n_views; v++)
            if (d->views[v]->row_of[i] >= 0) viewless[i] = 0;
    }
    if (factor > 0 && q > 0)
        FERRY_TRY(ferry_i_gbc_smooth(ctx, q, graph, wg, r.x[0], &factor, &x));
    FERRY_TRY(ferry_i_gbc_linear_answers(ctx, m->linear, m->trees.stretch, x ? x : r.x[0],
                                         answers));
done:
    ferry_i_matrix_free(x);
    ferry_i_rows_clear(&r);
    return st;
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
    FERRY_NEW(ctx, answers, n * m);
    FERRY_NEW(ctx, viewless, n);
    FERRY_NEW(ctx, at, n);
    FERRY_NEW(ctx, p->basis, n);
    ferry_i_known_places(&model->k, d, at);
    FERRY_TRY(ferry_i_known_graphs(ctx, &model->k, model->wg, d, &graph, &wg, &q));
    if (model->linear) {
        FERRY_TRY(linear_answers(ctx, model, d, q, graph, wg, answers, viewless));
    } else {
        FERRY_TRY(ferry_i_boosted_new_data(ctx, model->trees.prepared, d, &v));
        FERRY_TRY(ferry_i_boosted_answers(ctx, &model->trees, n, v.at, answers, viewless));
    }
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

static void linear_file(ferry_io *io, gbc_model *m)
{
    ferry_i_io_numbers(io, "linear.factor", 1, &m->factor);
    ferry_i_io_numbers(io, "stretch", 1, &m->trees.stretch);
    FERRY_IO_NEED(io, m->factor >= 0 && m->trees.stretch > 0,
                  "tensor linear.factor: %g, with stretch %g", m->factor, m->trees.stretch);
    ferry_i_outputs_file(io, &m->trees.outputs);
    ferry_i_prepared_file(io, &m->trees.prepared);
    if (io->st != FERRY_OK) return;
    FERRY_IO_NEED(io,
                  m->trees.prepared->wants.layout == FERRY_JOINED &&
                      m->trees.prepared->wants.every,
                  "tensor prepare: not of a linear score");
    if (io->st != FERRY_OK) return;
    ferry_i_linear_file(io, "linear.w", "linear.seen",
                        m->trees.outputs.numbers ? FERRY_LINEAR_SVR : FERRY_LINEAR_LOGREG,
                        m->trees.outputs.classes, ferry_i_prepared_width(m->trees.prepared),
                        &m->linear);
}

/* Names of tensors: docs/model-file.md has the layout, this and the shared parts the names.
 * Weights below 0 or a strength beyond its range would pass every check of shapes. */
void ferry_i_gbc_file(ferry_io *io, void *state)
{
    gbc_model *m = state;
    int64_t correct = m->correct;

    if (ferry_i_io_has(io, "linear.factor", m->linear))
        linear_file(io, m);
    else
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
