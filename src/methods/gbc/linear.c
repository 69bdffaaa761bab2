/* GBC: lines beside trees. One linear score over all views side by side, scaled by the rule
 * (learn/scale.h): logistic regression for classes, ridge for numbers, with the cost chosen
 * by cross-validation. With few rows and many weak features (words) a tree that looks at
 * three of them learns less than a line that looks at all.
 *
 * It is fitted in one go: steps of a linear learner add up to a line, and early stopping to
 * a penalty on it. Graphs have their say twice: features may be smoothed over them first
 * (learn/smooth.c), and answers are corrected as those of trees. Instances without labels
 * have theirs by self-training, as in semi-svm: what a line is surest of teaches it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/ranks.h"
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
    const ferry_smoothing how = {ferry_i_all_rows(x), q, graph, wg, 2};
    int64_t *instance = NULL;

    FERRY_NEW(ctx, instance, x->rows);
    for (int64_t i = 0; i < x->rows; i++)
        instance[i] = i;
    FERRY_TRY(ferry_i_smooth(ctx, &how, x, instance, factor, out));
    (*out)->whole = x->whole;
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

/* One fit on the instances with used[i] >= 0: their class, or any number. */
static ferry_status fit_once(ferry_ctx *ctx, const gbc_line *l, const int32_t *used,
                             ferry_linear **out)
{
    ferry_status st = FERRY_OK;
    const gbc_problem *g = l->g;
    const ferry_linear_options how = {
        .kind = FERRY_LINEAR_LOGREG, .C = l->C, .eps = 1e-2, .bias = true};
    int64_t *rows = NULL, n = 0, begin = 0, end = 0;
    int32_t *cls = NULL;
    double *y = NULL;
    ferry_matrix *mine = NULL;

    ferry_i_ranks_part(ctx, g->n, &begin, &end);

    FERRY_NEW(ctx, rows, g->n);
    FERRY_NEW(ctx, cls, g->n);
    FERRY_NEW(ctx, y, g->n);
    for (int64_t i = begin; i < end; i++) {
        if (used[i] < 0) continue;
        cls[n] = used[i];
        y[n] = g->y[i * g->k];
        rows[n++] = i - begin;
    }
    FERRY_TRY(ferry_i_matrix_take(ctx, l->x, n, rows, l->x->cols, NULL, &mine));
    FERRY_TRY(ferry_i_rows_like(ctx, l->x, mine));
    if (l->o->numbers)
        FERRY_TRY(fit_ridge(ctx, mine, y, l->C, out));
    else
        FERRY_TRY(ferry_i_linear_fit(ctx, &how, mine, l->o->classes, cls, NULL, out));
done:
    ferry_i_matrix_free(mine);
    FERRY_FREE(rows, cls, y);
    return st;
}

/* An instance, and by how much its class leads. */
typedef struct sure {
    double margin;
    int64_t i;
} sure;

/* Equal ones by place, so that the order is always the same. */
static int surest_first(const void *a, const void *b)
{
    const sure *x = a, *y = b;

    if (x->margin != y->margin) return x->margin > y->margin ? -1 : 1;
    return x->i < y->i ? -1 : x->i > y->i;
}

/* quota[c] more instances that have features get class c in `used`: the surest. */
static void teach(const gbc_problem *g, int64_t k, const double *scores,
                  const int64_t *quota, sure *list, int32_t *used)
{
    for (int32_t c = 0; c < k; c++) {
        int64_t n = 0;
        for (int64_t i = 0; i < g->n; i++) {
            const double *s = scores + i * k;
            double next = -INFINITY;
            bool seen = false;
            for (int64_t v = 0; v < g->p; v++)
                seen = seen || g->mask[v * g->n + i];
            for (int64_t j = 0; j < k; j++)
                if (j != c) next = fmax(next, s[j]);
            if (seen && used[i] < 0 && s[c] > next) list[n++] = (sure){s[c] - next, i};
        }
        if (n > 1) qsort(list, (size_t)n, sizeof *list, surest_first);
        for (int64_t i = 0; i < n && i < quota[c]; i++)
            used[list[i].i] = c;
    }
}

/* Rounds and share are those of semi-svm. */
static ferry_status fit_again(ferry_ctx *ctx, const gbc_line *l, int32_t *used,
                              ferry_linear **m)
{
    enum { ROUNDS = 5 };
    ferry_status st = FERRY_OK;
    const int64_t n = l->g->n, k = l->o->classes;
    double *scores = NULL;
    int64_t *quota = NULL, known = 0;
    sure *list = NULL;

    FERRY_NEW(ctx, quota, k);
    FERRY_NEW(ctx, list, n);
    FERRY_NEW(ctx, scores, n * k);
    for (int64_t i = 0; i < n; i++)
        if (used[i] >= 0) {
            quota[used[i]]++;
            known++;
        }
    for (int64_t c = 0; c < k; c++)
        quota[c] =
            (int64_t)ceil(0.1 * (double)(n - known) * (double)quota[c] / (double)known);
    for (int t = 0; t < ROUNDS; t++) {
        FERRY_TRY(ferry_i_gbc_line_answers(ctx, *m, 1, l->x, scores));
        teach(l->g, k, scores, quota, list, used);
        ferry_i_linear_free(*m);
        *m = NULL;
        FERRY_TRY(fit_once(ctx, l, used, m));
    }
done:
    FERRY_FREE(quota, list, scores);
    return st;
}

ferry_status ferry_i_gbc_line_fit(ferry_ctx *ctx, const gbc_line *l, ferry_linear **out)
{
    ferry_status st = FERRY_OK;
    const gbc_problem *g = l->g;
    int32_t *used = NULL;

    FERRY_NEW(ctx, used, g->n);
    for (int64_t i = 0; i < g->n; i++)
        used[i] = !g->labelled[i] || (l->fold && l->fold[i] == l->out_of) ? -1
                  : l->o->numbers                                         ? 0
                                  : class_of(l->o, g->y + i * g->k);
    FERRY_TRY(fit_once(ctx, l, used, out));
    if (l->self) FERRY_TRY(fit_again(ctx, l, used, out));
done:
    ferry_i_free(used);
    return st;
}

void ferry_i_gbc_power(int64_t n, int64_t m, double power, double *answers)
{
    for (int64_t i = 0; power != 1 && i < n; i++) {
        double sum = 0, *p = answers + i * m;
        for (int64_t j = 0; j < m; j++)
            sum += p[j] = pow(p[j], power);
        for (int64_t j = 0; sum > 0 && j < m; j++)
            p[j] /= sum;
    }
}

ferry_status ferry_i_gbc_line_answers(ferry_ctx *ctx, const ferry_linear *m, double stretch,
                                      const ferry_matrix *x, double *answers)
{
    ferry_status st = FERRY_OK;
    const int64_t n = ferry_i_all_rows(x);
    int64_t begin = 0, end = 0;
    ferry_block *scores = NULL;

    FERRY_TRY(ferry_i_block_new(ctx, x->rows, m->k, &scores));
    FERRY_TRY(ferry_i_linear_scores(ctx, m, x, scores));
    ferry_i_ranks_part(ctx, n, &begin, &end);
    for (int64_t i = begin; i < end; i++)
        memcpy(answers + i * m->k, FERRY_ROW(scores, i - begin),
               (size_t)m->k * sizeof *answers);
    FERRY_TRY(ferry_i_ranks_gather(ctx, n, (size_t)m->k * sizeof *answers, answers));
    ferry_i_gbc_power(n, m->k, stretch, answers);
done:
    ferry_i_block_free(scores);
    return st;
}

/* a <- the answers of the folds' lines, with the stretch of the least held-out loss, which
 * goes to the part: a line with a small cost is right more often than it says, and graphs
 * would mix its answers with labels that are sure. */
static ferry_status answer_folds(ferry_ctx *ctx, gbc_line l, gbc_answers *a, gbc_part *part)
{
    ferry_status st = FERRY_OK;
    ferry_linear *m = NULL;
    double *held = NULL;

    l.C = part->C;
    l.fold = a->fold;
    FERRY_NEW(ctx, held, a->n * a->m);
    for (l.out_of = 0; l.out_of < a->s->folds; l.out_of++) {
        FERRY_TRY(ferry_i_gbc_line_fit(ctx, &l, &m));
        FERRY_TRY(ferry_i_gbc_line_answers(ctx, m, 1, l.x, a->p[l.out_of]));
        ferry_i_linear_free(m);
        m = NULL;
    }
    ferry_i_gbc_held(a, held);
    part->loss = ferry_i_gbc_best_power(a, held, &part->stretch);
    for (int64_t i = 0; i < a->s->folds; i++)
        ferry_i_gbc_power(a->n, a->m, part->stretch, a->p[i]);
done:
    ferry_i_linear_free(m);
    ferry_i_free(held);
    return st;
}

/* a <- the held-out answers of the best cost and stretch, which go to `part`. Costs `folds`
 * fits for each of the costs. */
static ferry_status best_line(ferry_ctx *ctx, gbc_line l, const int32_t *fold,
                              const gbc_tuning *s, gbc_answers *a, gbc_part *part)
{
    static const double costs[] = {10, 1, 0.1, 100};
    ferry_status st = FERRY_OK;
    gbc_answers now = {0};
    double usual = INFINITY;

    part->loss = INFINITY;
    for (int64_t c = 0; c < FERRY_COUNT(costs); c++) {
        gbc_part one = *part;
        one.C = costs[c];
        FERRY_TRY(ferry_i_gbc_answers_new(ctx, s, fold, &now));
        FERRY_TRY(answer_folds(ctx, l, &now, &one));
        FERRY_TRY(
            ferry_i_progress(ctx, "gbc: linear", c + 1, FERRY_COUNT(costs), NAN, NULL));
        /* the usual cost, 10, unless another is better by a unit of likelihood */
        if (c == 0) usual = one.loss;
        if (one.loss < part->loss &&
            (c == 0 || ferry_i_gbc_gain(&now, usual, one.loss) >= 1)) {
            *part = one;
            ferry_i_gbc_answers_clear(a);
            *a = now;
            now = (gbc_answers){0};
        }
        ferry_i_gbc_answers_clear(&now);
    }
    FERRY_NEED(ctx, a->p, FERRY_ENUMERIC,
               "gbc: no linear score has a finite held-out loss");
done:
    ferry_i_gbc_answers_clear(&now);
    return st;
}

/* Plain features, features smoothed over the graphs as the plain ones weigh them (unless
 * the trees have), and the better of the two once more, self-trained. */
ferry_status ferry_i_gbc_try_lines(ferry_ctx *ctx, const gbc_tuning *s, const int32_t *fold,
                                   gbc_plan *p)
{
    ferry_status st = FERRY_OK;
    const gbc_problem *g = s->g;
    gbc_answers a = {0};
    gbc_line l = {.o = s->outputs, .g = g, .x = s->side->plain};
    gbc_part part = {.power = 1}, plain;

    FERRY_TRY(best_line(ctx, l, fold, s, &a, &part));
    plain = part;
    if (s->learner == GBC_LINEAR) FERRY_TRY(ferry_i_gbc_weigh_graphs(ctx, &a, p->wg));
    FERRY_TRY(ferry_i_gbc_consider(ctx, &a, GBC_LINE, part, p));
    if (g->q > 0) {
        FERRY_TRY(ferry_i_gbc_smooth(ctx, g->q, g->graph, p->wg, s->side->plain,
                                     &s->side->factor, &s->side->smoothed));
        l.x = s->side->smoothed;
        part.smoothed = true;
        FERRY_TRY(best_line(ctx, l, fold, s, &a, &part));
        FERRY_TRY(ferry_i_gbc_consider(ctx, &a, GBC_SMOOTHED, part, p));
    }
    if (s->outputs->numbers) goto done;
    if (!(p->part[GBC_SMOOTHED].loss < p->part[GBC_LINE].loss)) {
        part = plain;
        l.x = s->side->plain;
    }
    l.self = true;
    FERRY_TRY(answer_folds(ctx, l, &a, &part));
    FERRY_TRY(ferry_i_gbc_consider(ctx, &a, GBC_SELF, part, p));
done:
    ferry_i_gbc_answers_clear(&a);
    return st;
}
