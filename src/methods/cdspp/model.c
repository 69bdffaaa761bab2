/* cdspp's model (cdspp.h): predictions, embeddings, the file.
 *
 * File: form (goal, classes), the preparation, source.p, target.p, and learner.* for
 * classify. */
#include <math.h>
#include <string.h>

#include "learn/pa.h"
#include "methods/cdspp/cdspp.h"
#include "methods/shared/learner_file.h"

void ferry_i_cdspp_free(void *state)
{
    cdspp_model *m = state;

    if (!m) return;
    ferry_i_prepared_free(m->prepared);
    FERRY_FREE(m->ps, m->pt);
    ferry_i_learner_free(m->learner);
    ferry_i_free(m);
}

/* A new dense matrix; O(nnz rank). */
ferry_status ferry_i_cdspp_project(ferry_ctx *ctx, const ferry_matrix *x,
                                   const ferry_block *p, ferry_matrix **z)
{
    FERRY_PASS(ferry_i_matrix_dense(ctx, x->rows, p->k, z));
    (*z)->whole = x->whole;
    ferry_block b = {x->rows, p->k, (*z)->dense};
    ferry_e(ctx)->mul(ctx, 1, x, p, 0, &b);
    return FERRY_OK;
}

/* Target rows only. An instance without features gets no class (-1). */
ferry_status ferry_i_cdspp_predict(ferry_ctx *ctx, const void *state, const ferry_domain *d,
                                   ferry_prediction *p)
{
    ferry_status st = FERRY_OK;
    const cdspp_model *m = state;
    ferry_rows rows = {0};
    ferry_matrix *z = NULL;
    ferry_block *scores = NULL;

    FERRY_TRY(ferry_i_prepare_rows(ctx, m->prepared, d, &rows));
    FERRY_NEED(ctx, p->cls && p->k == m->k && m->learner, FERRY_EDATA,
               "the model has %lld classes, not %lld", (long long)m->k, (long long)p->k);
    FERRY_TRY(ferry_i_cdspp_project(ctx, rows.x[0], m->pt, &z));
    FERRY_TRY(ferry_i_block_new(ctx, rows.n, m->k, &scores));
    FERRY_TRY(ferry_i_learner_scores(ctx, m->learner, z, scores));
    for (int64_t i = 0; i < p->n; i++)
        p->cls[i] = -1; /* nothing is known of it */
    for (int64_t r = 0; r < rows.n; r++) {
        const int64_t i = rows.instance[r];
        memcpy(p->score + i * p->k, FERRY_ROW(scores, r), (size_t)p->k * sizeof *p->score);
        p->cls[i] = ferry_i_argmax(p->k, FERRY_ROW(scores, r));
    }
done:
    ferry_i_matrix_free(z);
    ferry_i_free(scores);
    ferry_i_rows_clear(&rows);
    return st;
}

/* Rows of the target's view, or else of the source's. NaN for instances that have neither.
 * The target's view comes first in the preparation, the source's second (goal embed
 * only). */
ferry_status ferry_i_cdspp_transform(ferry_ctx *ctx, const void *state,
                                     const ferry_domain *d, ferry_prediction *p)
{
    ferry_status st = FERRY_OK;
    const cdspp_model *m = state;
    const ferry_block *by[] = {m->pt, m->ps};
    ferry_rows rows = {0};
    ferry_matrix *z[2] = {NULL, NULL};

    p->k = m->pt->k;
    FERRY_NEW(ctx, p->score, p->n * p->k);
    for (int64_t e = 0; e < p->n * p->k; e++)
        p->score[e] = NAN;
    FERRY_TRY(ferry_i_prepare_rows(ctx, m->prepared, d, &rows));
    for (int64_t v = 0; v < rows.n_x && v < 2; v++)
        FERRY_TRY(ferry_i_cdspp_project(ctx, rows.x[v], by[v], &z[v]));
    for (int64_t r = 0; r < rows.n; r++) {
        /* The row has no target view: then the source's projection is its place. */
        const int v = rows.there[0] && !rows.there[0][r];
        memcpy(p->score + rows.instance[r] * p->k, z[v]->dense + r * p->k,
               (size_t)p->k * sizeof *p->score);
    }
done:
    ferry_i_matrix_free(z[0]);
    ferry_i_matrix_free(z[1]);
    ferry_i_rows_clear(&rows);
    return st;
}

/* ---- save and load ---- */

/* Both projections are saved, also for classify, which uses Pt alone: they are what was
 * learned. Sizes of views, projections and learner are checked against each other: view v
 * of new data, when there is one, has as many columns as its P rows. */
void ferry_i_cdspp_file(ferry_io *io, void *state)
{
    cdspp_model *m = state;
    int64_t form[] = {m->goal, m->k};

    ferry_i_io_ints(io, "form", 2, form);
    FERRY_IO_NEED(io, (form[0] == FERRY_CLASSIFY || form[0] == FERRY_EMBED) && form[1] >= 1,
                  "tensor form: goal %lld, %lld classes", (long long)form[0],
                  (long long)form[1]);
    if (ferry_i_io_loading(io)) {
        m->goal = (ferry_goal)form[0];
        m->k = form[1];
    }
    ferry_i_prepared_file(io, &m->prepared);
    FERRY_IO_NEED(io, m->prepared->n_frames == (m->goal == FERRY_EMBED ? 2 : 1),
                  "the model has %lld views", (long long)m->prepared->n_frames);
    if (io->st != FERRY_OK) return;
    const ferry_frame *frame = m->prepared->frame;
    ferry_i_io_block(io, "target.p", frame[0].cols, -1, &m->pt);
    if (io->st != FERRY_OK) return;
    ferry_i_io_block(io, "source.p", m->goal == FERRY_EMBED ? frame[1].cols : -1, m->pt->k,
                     &m->ps);
    if (m->goal != FERRY_CLASSIFY) return;
    ferry_i_learner_file(io, "learner", &m->learner);
    FERRY_IO_NEED(io, m->learner->k == m->k && m->learner->d == m->pt->k,
                  "the learner has %lld classes and %lld features, the model %lld and %lld",
                  (long long)m->learner->k, (long long)m->learner->d, (long long)m->k,
                  (long long)m->pt->k);
}
