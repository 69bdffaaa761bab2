/* GBC: the model; predicting with it, saving and loading it.
 *
 *   answer(x) = sum over the parts of share x what it says, after what the graphs say
 *
 * A graph of the model that the new data lack is left out; one instance that is in no view
 * is answered by its neighbours.
 *
 * Labels of instances that the model was fitted on count when new data link to them: the
 * ids tell which those are. */
#include <stdio.h>
#include <string.h>

#include "methods/gbc/gbc.h"
#include "methods/shared/learner_file.h"

void ferry_i_gbc_model_free(void *model)
{
    gbc_model *m = model;

    if (!m) return;
    ferry_i_boosted_clear(&m->trees);
    ferry_i_prepared_free(m->side);
    for (int64_t k = 0; k < GBC_KINDS; k++) {
        ferry_i_linear_free(m->line[k]);
        ferry_i_free(m->residual[k]);
    }
    ferry_i_gbc_near_clear(&m->near);
    ferry_i_known_clear(&m->k);
    FERRY_FREE(m->wg, m);
}

/* New data as the parts see them. */
typedef struct asked {
    const gbc_model *m;
    const ferry_domain *d;
    int64_t n, q;
    ferry_matrix **graph;
    double *wg;
    uint8_t *viewless;  /* n: no view at all; trees: none that counts */
    ferry_rows side;    /* views side by side */
    ferry_matrix *near; /* those smoothed */
} asked;

static void asked_clear(asked *a)
{
    ferry_i_matrix_free(a->near);
    ferry_i_rows_clear(&a->side);
    FERRY_FREE(a->viewless, a->wg, a->graph);
}

/* Smoothed features; without a graph of the model's an instance has only its own. */
static ferry_status smooth_side(ferry_ctx *ctx, asked *a)
{
    ferry_status st = FERRY_OK;
    const ferry_matrix *x = a->side.x[0];
    double factor = a->m->factor;
    int64_t *rows = NULL;

    if (a->near) goto done;
    if (a->q > 0) {
        FERRY_TRY(ferry_i_gbc_smooth(ctx, a->q, a->graph, a->wg, x, &factor, &a->near));
        goto done;
    }
    FERRY_NEW(ctx, rows, x->rows);
    for (int64_t i = 0; i < x->rows; i++)
        rows[i] = i;
    FERRY_TRY(ferry_i_matrix_take(ctx, x, x->rows, rows, x->cols, NULL, &a->near));
    a->near->whole = x->whole;
    const int64_t cells = x->dense ? x->rows * x->cols : x->start[x->rows];
    double *value = x->dense ? a->near->dense : a->near->value;
    for (int64_t e = 0; e < cells; e++)
        value[e] *= factor;
done:
    ferry_i_free(rows);
    return st;
}

/* What part k says, before graphs correct it. */
static ferry_status part_answers(ferry_ctx *ctx, asked *a, int64_t k, double *answers)
{
    ferry_status st = FERRY_OK;
    const gbc_model *m = a->m;
    boosted_views v = {0};

    for (int64_t i = 0; i < a->n; i++) {
        a->viewless[i] = 1;
        for (int64_t e = 0; e < a->d->n_views; e++)
            if (a->d->views[e]->row_of[i] >= 0) a->viewless[i] = 0;
        if (k == GBC_LABELS)
            memcpy(answers + i * m->k.classes, m->k.prior,
                   (size_t)m->k.classes * sizeof *answers);
    }
    if (k == GBC_TREES) {
        FERRY_TRY(ferry_i_boosted_new_data(ctx, m->trees.prepared, a->d, &v));
        FERRY_TRY(
            ferry_i_boosted_answers(ctx, &m->trees, a->n, v.at, answers, a->viewless));
    } else if (k != GBC_LABELS) {
        if (!a->side.x) FERRY_TRY(ferry_i_prepare_part(ctx, m->side, a->d, &a->side));
        if (k == GBC_NEAR) {
            st = ferry_i_gbc_near_answers(ctx, &m->near, m->trees.outputs.classes, a->d,
                                          a->side.x[0], a->viewless, answers);
            goto done;
        }
        if (m->part[k].smoothed) FERRY_TRY(smooth_side(ctx, a));
        FERRY_TRY(ferry_i_gbc_line_answers(ctx, m->line[k], m->part[k].stretch,
                                           m->part[k].smoothed ? a->near : a->side.x[0],
                                           answers));
    }
done:
    ferry_i_boosted_views_clear(&v);
    return st;
}

/* What a part counts in the mixture. Labels alone say nothing where no graph spreads them. */
static double share_of(const gbc_model *m, int64_t k, int64_t graphs)
{
    const double labels = m->part[GBC_LABELS].share;

    if (graphs > 0 || !(labels > 0) || labels >= 1) return m->part[k].share;
    return k == GBC_LABELS ? 0 : m->part[k].share / (1 - labels);
}

/* Each part's answers, what graphs make of them, and their mixture. p->basis is new and goes
 * to the caller with the prediction. `at` says of each new instance which label of the model
 * is its own: -1 for most. */
ferry_status ferry_i_gbc_predict(ferry_ctx *ctx, const void *state, const ferry_domain *d,
                                 ferry_prediction *p)
{
    ferry_status st = FERRY_OK;
    const gbc_model *model = state;
    const ferry_outputs *o = &model->trees.outputs;
    const int64_t n = p->n, m = o->classes;
    double *answers = NULL, *sum = NULL;
    int64_t *at = NULL;
    asked a = {.m = model, .d = d, .n = n};

    FERRY_TRY(ferry_i_outputs_check(ctx, o, p));
    FERRY_NEW(ctx, answers, n * m);
    FERRY_NEW(ctx, sum, n * m);
    FERRY_NEW(ctx, a.viewless, n);
    FERRY_NEW(ctx, at, n);
    FERRY_NEW(ctx, p->basis, n);
    ferry_i_known_places(&model->k, d, at);
    /* The model's graphs that the data lack are not in `graph`; wg is renormalised. */
    FERRY_TRY(ferry_i_known_graphs(ctx, &model->k, model->wg, d, &a.graph, &a.wg, &a.q));
    for (int64_t k = 0; k < GBC_KINDS; k++) {
        const gbc_part *part = &model->part[k];
        const double share = share_of(model, k, a.q);
        if (!(share > 0)) continue;
        FERRY_TRY(part_answers(ctx, &a, k, answers));
        /* nearest rows were corrected in the fit, over a graph of their own */
        const gbc_correct how = k == GBC_NEAR ? GBC_CORRECT_NO : part->correct;
        const gbc_correction c = {.how = how,
                                  .strength = part->strength,
                                  .q = a.q,
                                  .graph = a.graph,
                                  .wg = a.wg,
                                  .n = n,
                                  .m = m,
                                  .classes = !o->numbers,
                                  .at = at,
                                  .truth = model->k.truth,
                                  .residual = model->residual[k],
                                  .viewless = a.viewless};
        FERRY_TRY(ferry_i_gbc_correct(ctx, &c, answers, p->basis));
        /* the power makes up for what graphs flatten: without them there is nothing of that */
        if (!o->numbers && (a.q > 0 || how == GBC_CORRECT_NO))
            ferry_i_gbc_power(n, m, part->power, answers);
        for (int64_t e = 0; e < n * m; e++)
            sum[e] += share * answers[e];
    }
    for (int64_t x = 0; x < n; x++)
        ferry_i_outputs_decide(o, sum + x * m, x, p);
    ferry_i_boosted_tell(ctx, "gbc", d, p);
done:
    asked_clear(&a);
    FERRY_FREE(answers, sum, at);
    return st;
}

/* Places in the tensor "parts", for each kind. */
enum { SHARE, CORRECT, STRENGTH, POWER, STRETCH, SMOOTHED, FACTS };

/* A model of before there were parts is trees alone. Ranges that would pass every check of
 * shapes: AUTO is no state of a model, and alpha of a mean is at most 1. */
static void parts_file(ferry_io *io, gbc_model *m)
{
    double facts[GBC_KINDS][FACTS] = {{1, 0, 0, 1, 1, 0}};
    double total = 0;

    for (int64_t k = 0; io->to && k < GBC_KINDS; k++) {
        const gbc_part *p = &m->part[k];
        const double of[FACTS] = {p->share, p->correct, p->strength,
                                  p->power, p->stretch, p->smoothed};
        memcpy(facts[k], of, sizeof of);
    }
    if (ferry_i_io_has(io, "parts", true)) {
        ferry_i_io_numbers(io, "parts", GBC_NEAR * FACTS, facts[0]);
        if (ferry_i_io_has(io, "near.part", m->part[GBC_NEAR].share > 0))
            ferry_i_io_numbers(io, "near.part", FACTS, facts[GBC_NEAR]);
    } else {
        int64_t correct = 0;
        ferry_i_io_ints(io, "correct", 1, &correct);
        ferry_i_io_numbers(io, "strength", 1, &facts[0][STRENGTH]);
        facts[0][CORRECT] = (double)correct;
    }
    for (int64_t k = 0; ferry_i_io_loading(io) && k < GBC_KINDS; k++) {
        const double *f = facts[k];
        total += f[SHARE];
        if (f[SHARE] == 0) continue;
        FERRY_IO_NEED(io,
                      f[SHARE] > 0 && f[CORRECT] >= GBC_CORRECT_NO &&
                          f[CORRECT] <= GBC_CORRECT_SMOOTH && f[STRENGTH] >= 0 &&
                          (f[CORRECT] < GBC_CORRECT_SMOOTH || f[STRENGTH] <= 1) &&
                          f[POWER] > 0 && f[STRETCH] > 0,
                      "tensor parts: share %g, correct %g, strength %g, powers %g and %g",
                      f[SHARE], f[CORRECT], f[STRENGTH], f[POWER], f[STRETCH]);
        if (!ferry_i_io_loading(io)) return;
        m->part[k] = (gbc_part){.share = f[SHARE],
                                .correct = (gbc_correct)f[CORRECT],
                                .strength = f[STRENGTH],
                                .power = f[POWER],
                                .stretch = f[STRETCH],
                                .smoothed = f[SMOOTHED] != 0};
    }
    FERRY_IO_NEED(io, total > 0.99 && total < 1.01, "tensor parts: shares of %g", total);
}

/* The lines, and how the views are put side by side for them. */
static void lines_file(ferry_io *io, gbc_model *m)
{
    const ferry_outputs *o = &m->trees.outputs;
    char w[16];

    if (!(m->part[GBC_LINE].share + m->part[GBC_SMOOTHED].share + m->part[GBC_SELF].share +
              m->part[GBC_NEAR].share >
          0))
        return;
    ferry_i_io_numbers(io, "side.factor", 1, &m->factor);
    FERRY_IO_NEED(io, m->factor >= 0, "tensor side.factor: %g", m->factor);
    ferry_i_prepared_file_as(io, "side", &m->side);
    FERRY_IO_NEED(io, m->side->wants.layout == FERRY_JOINED && m->side->wants.every,
                  "tensor side: not of a linear score");
    for (int64_t k = GBC_LINE; io->st == FERRY_OK && k <= GBC_SELF; k++) {
        if (!(m->part[k].share > 0)) continue;
        (void)snprintf(w, sizeof w, "line.%d", (int)k);
        ferry_i_linear_file(io, w, ferry_i_io_name(io, "%s.seen", w),
                            o->numbers ? FERRY_LINEAR_SVR : FERRY_LINEAR_LOGREG, o->classes,
                            ferry_i_prepared_width(m->side), &m->line[k]);
    }
    if (io->st == FERRY_OK && m->part[GBC_NEAR].share > 0)
        ferry_i_gbc_near_file(io, o->classes, ferry_i_prepared_width(m->side), &m->near);
}

/* Names of tensors: docs/model-file.md has the layout, this and the shared parts the names. */
void ferry_i_gbc_file(ferry_io *io, void *state)
{
    gbc_model *m = state;

    parts_file(io, m);
    if (io->st != FERRY_OK) return;
    if (m->part[GBC_TREES].share > 0)
        ferry_i_boosted_file(io, true, &m->trees);
    else
        ferry_i_outputs_file(io, &m->trees.outputs);
    if (io->st == FERRY_OK) lines_file(io, m);
    ferry_i_known_file(io, m->trees.outputs.classes, &m->k);
    const int64_t q = ferry_i_ids_count(m->k.graphs);
    FERRY_IO_NEED(io, q > 0 || m->part[GBC_LABELS].share == 0,
                  "tensor graphs is empty, and parts stand on graphs");
    if (q == 0) return; /* without graphs nothing stands on residuals */
    ferry_i_io_reals(io, "graph_weights", 1, q, &m->wg);
    for (int64_t k = 0; k < GBC_NEAR; k++)
        if (m->part[k].share > 0 && m->part[k].correct == GBC_CORRECT_RESIDUAL)
            ferry_i_io_reals(io,
                             io->from && ferry_i_io_has(io, "residual", false)
                                 ? "residual"
                                 : ferry_i_io_name(io, "residual.%d", (int)k),
                             ferry_i_ids_count(m->k.ids), m->k.classes, &m->residual[k]);
    for (int64_t t = 0; t < q && ferry_i_io_loading(io); t++)
        FERRY_IO_NEED(io, m->wg[t] >= 0, "tensor graph_weights: entry %lld is %g",
                      (long long)t, m->wg[t]);
}
