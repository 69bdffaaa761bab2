/* GBC: lines instead of trees. One linear score over all views side by side, scaled by the
 * rule (learn/scale.h): logistic regression for classes, ridge for numbers, with the cost
 * chosen by cross-validation. With few rows and many weak features (words) a tree that
 * looks at three of them learns less than a line that looks at all.
 *
 * It is fitted in one go: steps of a linear learner add up to a line, and early stopping to
 * a penalty on it. Graphs have their say twice: features may be smoothed over them first
 * (learn/smooth.c), when that gains on held-out labels, and answers are corrected as those
 * of trees. */
#include <math.h>
#include <string.h>

#include "learn/diffuse.h"
#include "learn/learn.h"
#include "methods/gbc/gbc.h"

void ferry_i_gbc_side_clear(gbc_side *s)
{
    ferry_i_prepared_free(s->prepared);
    ferry_i_matrix_free(s->plain);
    ferry_i_matrix_free(s->smoothed);
    *s = (gbc_side){0};
}

ferry_status ferry_i_gbc_side_new(ferry_ctx *ctx, const ferry_task *task, gbc_side *s)
{
    ferry_status st = FERRY_OK;
    const ferry_wants w = {.method = "gbc",
                           .domains = FERRY_THE_TARGET,
                           .layout = FERRY_JOINED,
                           .scale = FERRY_SCALE_AUTO,
                           .every = true};

    FERRY_TRY(ferry_i_prepare(ctx, task, &w, &s->prepared));
    s->plain = ferry_i_matrix_ref(ferry_i_prepared_target(s->prepared)->x[0]);
    ferry_i_prepared_forget(s->prepared);
done:
    return st;
}

/* Two steps: neighbours, and theirs. */
ferry_status ferry_i_gbc_smooth(ferry_ctx *ctx, int64_t q, ferry_matrix *const *graph,
                                const double *wg, const ferry_matrix *x, double *factor,
                                ferry_matrix **out)
{
    ferry_status st = FERRY_OK;
    const ferry_smoothing how = {x->rows, q, graph, wg, 2};
    int64_t *instance = NULL;

    FERRY_NEW(ctx, instance, x->rows);
    for (int64_t i = 0; i < x->rows; i++)
        instance[i] = i;
    FERRY_TRY(ferry_i_smooth(ctx, &how, x, instance, factor, out));
done:
    ferry_i_free(instance);
    return st;
}

/* Ridge as a ferry_linear: one row, scores as they are. */
static ferry_status fit_ridge(ferry_ctx *ctx, const ferry_matrix *x, const double *y,
                              double C, ferry_linear **out)
{
    ferry_status st = FERRY_OK;
    ferry_block *target = NULL;
    ferry_linear *m = NULL;

    FERRY_TRY(ferry_i_block_new(ctx, x->rows, 1, &target));
    for (int64_t i = 0; i < x->rows; i++)
        FERRY_ROW(target, i)[0] = y[i];
    FERRY_NEW(ctx, m, 1);
    *m = (ferry_linear){.kind = FERRY_LINEAR_SVR, .k = 1, .d = x->cols};
    FERRY_NEW(ctx, m->seen, 1);
    m->seen[0] = 1;
    FERRY_TRY(ferry_i_ridge_fit(ctx, x, target, 10 / C, &m->w));
    FERRY_MOVE(*out, m);
done:
    ferry_i_linear_free(m);
    ferry_i_block_free(target);
    return st;
}

/* The class of a labelled instance. */
static int32_t class_of(const ferry_outputs *o, const double *y)
{
    int32_t c = 0;

    if (o->classes == 2) return y[0] > 0;
    while (c + 1 < o->k && !(y[c] > 0))
        c++;
    return c;
}

ferry_status ferry_i_gbc_linear_fit(ferry_ctx *ctx, const ferry_outputs *o,
                                    const gbc_problem *g, const int32_t *fold,
                                    int64_t out_of, const ferry_matrix *x, double C,
                                    ferry_linear **out)
{
    ferry_status st = FERRY_OK;
    const ferry_linear_options how = {
        .kind = FERRY_LINEAR_LOGREG, .C = C, .eps = 1e-2, .bias = true};
    int64_t *rows = NULL, n = 0;
    int32_t *cls = NULL;
    double *y = NULL;
    ferry_matrix *mine = NULL;

    FERRY_NEW(ctx, rows, g->n);
    FERRY_NEW(ctx, cls, g->n);
    FERRY_NEW(ctx, y, g->n);
    for (int64_t i = 0; i < g->n; i++) {
        if (!g->labelled[i] || (fold && fold[i] == out_of)) continue;
        cls[n] = class_of(o, g->y + i * g->k);
        y[n] = g->y[i * g->k];
        rows[n++] = i;
    }
    FERRY_TRY(ferry_i_matrix_take(ctx, x, n, rows, x->cols, NULL, &mine));
    if (o->numbers)
        FERRY_TRY(fit_ridge(ctx, mine, y, C, out));
    else
        FERRY_TRY(ferry_i_linear_fit(ctx, &how, mine, o->classes, cls, NULL, out));
done:
    ferry_i_matrix_free(mine);
    FERRY_FREE(rows, cls, y);
    return st;
}

/* A line with a small cost is right more often than it says: its probabilities are too much
 * alike, and stretch (a power) spreads them as it does the average of the trees. */
void ferry_i_gbc_stretch(int64_t n, int64_t m, double stretch, double *answers)
{
    for (int64_t i = 0; stretch != 1 && i < n; i++) {
        double sum = 0, *p = answers + i * m;
        for (int64_t j = 0; j < m; j++)
            sum += p[j] = pow(p[j], stretch);
        for (int64_t j = 0; sum > 0 && j < m; j++)
            p[j] /= sum;
    }
}

ferry_status ferry_i_gbc_linear_answers(ferry_ctx *ctx, const ferry_linear *m,
                                        double stretch, const ferry_matrix *x,
                                        double *answers)
{
    ferry_status st = FERRY_OK;
    ferry_block *scores = NULL;

    FERRY_TRY(ferry_i_block_new(ctx, x->rows, m->k, &scores));
    FERRY_TRY(ferry_i_linear_scores(ctx, m, x, scores));
    for (int64_t i = 0; i < x->rows; i++)
        memcpy(answers + i * m->k, FERRY_ROW(scores, i), (size_t)m->k * sizeof *answers);
    ferry_i_gbc_stretch(x->rows, m->k, stretch, answers);
done:
    ferry_i_block_free(scores);
    return st;
}

/* loss <- of the answers with the best stretch, which they then have, and *stretch is. */
static ferry_status best_stretch(ferry_ctx *ctx, gbc_answers *a, double *stretch,
                                 double *loss)
{
    static const double all[] = {1, 1.5, 2, 3, 4, 6};
    ferry_status st = FERRY_OK;
    const int64_t tries = a->s->outputs->numbers ? 1 : FERRY_COUNT(all);
    double *p = NULL;

    *loss = INFINITY;
    FERRY_NEW(ctx, p, a->n * a->m);
    for (int64_t t = 0; t < tries; t++) {
        double sum = 0, count = 0;
        for (int64_t i = 0; i < a->s->folds; i++) {
            memcpy(p, a->p[i], (size_t)(a->n * a->m) * sizeof *p);
            ferry_i_gbc_stretch(a->n, a->m, all[t], p);
            sum += ferry_i_gbc_held_loss(a, i, p, &count);
        }
        if (!(sum / count < *loss)) continue;
        *loss = sum / count;
        *stretch = all[t];
    }
    for (int64_t i = 0; i < a->s->folds; i++)
        ferry_i_gbc_stretch(a->n, a->m, *stretch, a->p[i]);
done:
    ferry_i_free(p);
    return st;
}

/* a <- the held-out answers of the best cost and stretch, which go to `way`. Costs `folds`
 * fits for each of the costs. */
static ferry_status best_line(ferry_ctx *ctx, const gbc_tuning *s, const int32_t *fold,
                              const ferry_matrix *x, gbc_answers *a, gbc_way *way)
{
    static const double costs[] = {10, 1, 0.1, 100};
    ferry_status st = FERRY_OK;
    gbc_answers now = {0};
    ferry_linear *m = NULL;
    double least = INFINITY, loss = 0, stretch = 1;

    for (int64_t c = 0; c < FERRY_COUNT(costs); c++) {
        FERRY_TRY(ferry_i_gbc_answers_new(ctx, s, fold, &now));
        for (int64_t i = 0; i < s->folds; i++) {
            FERRY_TRY(
                ferry_i_gbc_linear_fit(ctx, s->outputs, s->g, fold, i, x, costs[c], &m));
            FERRY_TRY(ferry_i_gbc_linear_answers(ctx, m, 1, x, now.p[i]));
            ferry_i_linear_free(m);
            m = NULL;
        }
        FERRY_TRY(best_stretch(ctx, &now, &stretch, &loss));
        FERRY_TRY(
            ferry_i_progress(ctx, "gbc: linear", c + 1, FERRY_COUNT(costs), NAN, NULL));
        if (loss < least) {
            least = loss;
            way->C = costs[c];
            way->stretch = stretch;
            ferry_i_gbc_answers_clear(a);
            *a = now;
            now = (gbc_answers){0};
        }
        ferry_i_gbc_answers_clear(&now);
    }
    FERRY_NEED(ctx, a->p, FERRY_ENUMERIC,
               "gbc: no linear score has a finite held-out loss");
done:
    ferry_i_linear_free(m);
    ferry_i_gbc_answers_clear(&now);
    return st;
}

/* Plain features, then features smoothed over the graphs as the plain ones weigh them. */
ferry_status ferry_i_gbc_try_linear(ferry_ctx *ctx, const gbc_tuning *s,
                                    const int32_t *fold, gbc_plan *p)
{
    ferry_status st = FERRY_OK;
    const gbc_problem *g = s->g;
    gbc_answers a = {0};
    gbc_way way = {.learner = GBC_LINEAR};
    double *wg = NULL;

    FERRY_NEW(ctx, wg, g->q);
    FERRY_TRY(best_line(ctx, s, fold, s->side->plain, &a, &way));
    FERRY_TRY(ferry_i_gbc_weigh_graphs(ctx, &a, wg));
    FERRY_TRY(ferry_i_gbc_consider(ctx, &a, wg, way, p));
    if (g->q == 0) goto done;
    way.smoothed = true;
    FERRY_TRY(ferry_i_gbc_smooth(ctx, g->q, g->graph, wg, s->side->plain, &s->side->factor,
                                 &s->side->smoothed));
    FERRY_TRY(best_line(ctx, s, fold, s->side->smoothed, &a, &way));
    FERRY_TRY(ferry_i_gbc_consider(ctx, &a, wg, way, p));
done:
    ferry_i_gbc_answers_clear(&a);
    ferry_i_free(wg);
    return st;
}
