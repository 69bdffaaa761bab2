/* Boosted trees as methods use them: fitting on labels alone, and answers (boosted.h). */
#include "methods/shared/boosted.h"

#include <math.h>
#include <string.h>

#include "core/ranks.h"

/* The defaults of min_child and reg are by the scale of the curvature: at most 1/4 a row
 * for the logistic loss, always 2 for the squared one. */
ferry_boosting_options ferry_i_boosted_options(const boosted_growing *o, bool logistic)
{
    /* h = p (1 - p) <= 1/4, against 2 for the squared loss: by the same count of rows
     * both defaults ask for about two rows' worth of curvature in a leaf. */
    const double min_child = logistic ? 0.5 : 4, reg = logistic ? 0.25 : 1;

    return (ferry_boosting_options){
        .rate = o->rate,
        .how = (ferry_growing)o->learner,
        .tree = {.depth = o->depth,
                 .min_leaf = o->min_leaf,
                 .min_child = o->min_child >= 0 ? o->min_child : min_child,
                 .reg = o->reg >= 0 ? o->reg : reg,
                 .bins = o->bins}};
}

void ferry_i_boosted_clear(boosted *m)
{
    ferry_i_forest_free(m->forest);
    ferry_i_prepared_free(m->prepared);
    ferry_i_free(m->w);
    *m = (boosted){0};
}

void ferry_i_boosted_views_clear(boosted_views *v)
{
    for (int64_t i = 0; v->view && i < v->n; i++) {
        ferry_i_matrix_free(v->view[i].x);
        ferry_i_free(v->view[i].instance);
    }
    FERRY_FREE(v->view, v->at);
    *v = (boosted_views){0};
}

/* Rows in which a view lacks the instance are taken out: they are not missing cells.
 * A tree sends a missing cell down the side that it learned for it, whereas an instance
 * that a view lacks must get no score of that view at all. Nothing is copied where no row
 * lacks. */
static ferry_status split_views(ferry_ctx *ctx, const ferry_rows *r, boosted_views *out)
{
    ferry_status st = FERRY_OK;
    int64_t *rows = NULL;

    out->n = r->n_x;
    FERRY_NEW(ctx, out->view, r->n_x);
    FERRY_NEW(ctx, out->at, r->n_x);
    FERRY_NEW(ctx, rows, r->n);
    for (int64_t v = 0; v < r->n_x; v++) {
        ferry_view *to = out->at[v] = &out->view[v];
        int64_t n = 0;
        FERRY_NEW(ctx, to->instance, r->n);
        for (int64_t i = 0; i < r->n; i++) {
            /* rows[] are places among the prepared rows, instance[] places in the domain.
             */
            if (r->there[v] && !r->there[v][i]) continue;
            to->instance[n] = r->instance[i];
            rows[n++] = i;
        }
        if (n == r->n)
            to->x = ferry_i_matrix_ref(r->x[v]);
        else
            FERRY_TRY(
                ferry_i_matrix_take(ctx, r->x[v], n, rows, r->x[v]->cols, NULL, &to->x));
    }
done:
    ferry_i_free(rows);
    return st;
}

/* No scaling: a split depends on the order of a feature's values alone. Missing cells
 * stay missing, since trees learn where to send them. The prepared rows are let go at
 * once: *out owns copies, or one more reference where a view has every row. */
ferry_status ferry_i_boosted_prepare(ferry_ctx *ctx, const char *method,
                                     const ferry_task *task, ferry_prepared **prepared,
                                     boosted_views *out)
{
    const ferry_wants w = {
        .method = method,
        .domains = FERRY_THE_TARGET,
        .layout = FERRY_APART,
        .scale = FERRY_SCALE_NONE,
        .every = true, /* so that ranks have the same part of each array by instance */
        .missing = true};

    FERRY_PASS(ferry_i_prepare(ctx, task, &w, prepared));
    FERRY_PASS(split_views(ctx, ferry_i_prepared_target(*prepared), out));
    ferry_i_prepared_forget(*prepared);
    return FERRY_OK;
}

/* Views that the new data lack have no rows; prepare has checked the columns. */
ferry_status ferry_i_boosted_new_data(ferry_ctx *ctx, const ferry_prepared *prepared,
                                      const ferry_domain *d, boosted_views *out)
{
    ferry_status st = FERRY_OK;
    ferry_rows r = {0};

    FERRY_TRY(ferry_i_prepare_part(ctx, prepared, d, &r));
    FERRY_TRY(split_views(ctx, &r, out));
done:
    ferry_i_rows_clear(&r);
    return st;
}

/* The views' row lists turned round: from "which instances has view i" to a byte for each
 * pair, which the inner loops of combining can test. */
void ferry_i_boosted_mask(const boosted_views *v, int64_t n, uint8_t *mask)
{
    memset(mask, 0, (size_t)(v->n * n));
    for (int64_t i = 0; i < v->n; i++)
        for (int64_t r = 0; r < v->view[i].x->rows; r++)
            mask[i * n + v->view[i].instance[r]] = 1;
}

/* ferry_i_outputs_new with the parts of a task: whether labels are numbers, how many
 * classes there are, and the labels of the n instances of t, those that are unknown
 * included. */
ferry_status ferry_i_boosted_labels(ferry_ctx *ctx, const ferry_task *task,
                                    const ferry_domain *t, ferry_outputs *out, double **y,
                                    uint8_t **labelled)
{
    return ferry_i_outputs_new(
        ctx, task->goal == FERRY_REGRESS, task->names ? ferry_i_ids_count(task->names) : 1,
        ferry_i_ids_count(t->ids), t->labels->cls, t->labels->num, out, y, labelled);
}

/* Initialise, iterate, result: the whole of gbdt, without cross-validation. */
ferry_status ferry_i_boosted_grow(ferry_ctx *ctx, const char *name,
                                  const boosted_growing *o, const ferry_objective *g,
                                  ferry_view *const *views, boosted *m, double *loss,
                                  ferry_fit_info *rep)
{
    ferry_status st = FERRY_OK;
    const ferry_boosting_options how = ferry_i_boosted_options(o, g->logistic);
    ferry_boosting *b = NULL;
    bool finish = false;

    FERRY_TRY(ferry_i_boosting_new(ctx, &how, g, g->p, views, g->labelled, &b));
    rep->stop = FERRY_STOP_MAX_ITER;
    for (int64_t t = 0; t < o->trees && !finish; t++) {
        FERRY_TRY(ferry_i_boosting_step(ctx, b));
        rep->iters++;
        /* The mean loss over the views; a view without a label has none (NaN) and adds 0.
         */
        rep->objective = 0;
        for (int64_t i = 0; i < g->p; i++)
            rep->objective += isnan(b->loss[i]) ? 0 : b->loss[i] / (double)g->p;
        FERRY_TRY(ferry_i_progress(ctx, name, t + 1, o->trees, rep->objective, &finish));
    }
    if (finish) rep->stop = FERRY_STOP_FINISH;
    memcpy(loss, b->loss, (size_t)g->p * sizeof *loss);
    m->stretch = 1;
    FERRY_MOVE(m->forest, b->forest);
done:
    ferry_i_boosting_free(b);
    return st;
}

/* score (n x k) of instance x from the views' scores f; whether any view counts. */
static bool combine(const boosted *m, double *const *f, const uint8_t *mask, int64_t n,
                    int64_t x, double *score)
{
    const int64_t p = m->forest->p, k = m->forest->k;
    const double *f0 = m->forest->f0;
    double sum = 0;
    bool any = false;

    memset(score, 0, (size_t)k * sizeof *score);
    for (int64_t i = 0; i < p; i++) {
        const double w = m->w ? m->w[i] : 1;
        if (!mask[i * n + x]) continue;
        any = true;
        sum += w;
        for (int64_t j = 0; j < k && !m->forest->additive; j++)
            score[j] += w * f[i][x * k + j];
    }
    /* f0 + stretch (weighted mean of the views' scores - f0): the mean of several views
     * is drawn to the base score, and stretch undoes that. One view alone, or the one
     * score of additive trees, needs neither. */
    for (int64_t j = 0; j < k; j++)
        if (m->forest->additive || p == 1)
            score[j] = f[0][x * k + j];
        else
            score[j] = sum > 0 ? f0[j] + m->stretch * (score[j] / sum - f0[j]) : f0[j];
    /* Weights may be 0, so that an instance can have views and yet none that counts. */
    return m->forest->additive ? any : sum > 0;
}

/* Scores of every view, then one score and one answer an instance. */
ferry_status ferry_i_boosted_answers(ferry_ctx *ctx, const boosted *m, int64_t n,
                                     ferry_view *const *views, double *answers,
                                     uint8_t *viewless)
{
    ferry_status st = FERRY_OK;
    const int64_t p = m->forest->p, k = m->forest->k, c = m->outputs.classes;
    int64_t begin = 0, end = 0;
    double **f = NULL, *score = NULL;
    uint8_t *mask = NULL;

    FERRY_NEW(ctx, f, p);
    FERRY_NEW(ctx, mask, p * n);
    FERRY_NEW(ctx, score, k);
    /* Additive trees of all views sum into one score, which stands in f[0]. */
    for (int64_t i = 0; i < (m->forest->additive ? 1 : p); i++)
        FERRY_NEW(ctx, f[i], n * k);
    FERRY_TRY(ferry_i_forest_scores(ctx, m->forest, n, views, f, mask));
    ferry_i_ranks_part(ctx, n, &begin, &end);
    for (int64_t x = begin; x < end; x++) {
        viewless[x] = !combine(m, f, mask, n, x, score);
        ferry_i_outputs_answer(&m->outputs, score, answers + x * c);
    }
    FERRY_TRY(ferry_i_ranks_gather(ctx, n, (size_t)c * sizeof *answers, answers));
    FERRY_TRY(ferry_i_ranks_gather(ctx, n, sizeof *viewless, viewless));
done:
    for (int64_t i = 0; f && i < p; i++)
        ferry_i_free(f[i]);
    FERRY_FREE(f, mask, score);
    return st;
}

/* Whoever predicts should know that some answers do not stand on features. */
void ferry_i_boosted_tell(ferry_ctx *ctx, const char *method, const ferry_domain *d,
                          const ferry_prediction *p)
{
    /* Only the instances that the caller asked about: the others came along as
     * neighbours. */
    const int64_t n = d->asked > 0 ? d->asked : p->n;
    int64_t count[3] = {0};

    for (int64_t x = 0; x < n; x++)
        count[p->basis[x]]++;
    if (count[FERRY_BASIS_VIEWS] == n) return;
    ferry_i_log(ctx, FERRY_WARN,
                "%s: of the %lld instances of '%s' %lld are in no view that counts: %lld "
                "get the mean of their neighbours, %lld the base score (column basis)",
                method, (long long)n, d->name, (long long)(n - count[FERRY_BASIS_VIEWS]),
                (long long)count[FERRY_BASIS_NEIGHBOURS],
                (long long)count[FERRY_BASIS_BASE]);
}

/* p has the arrays of its goal; ferry_i_outputs_check has compared their widths. */
void ferry_i_outputs_decide(const ferry_outputs *o, const double *answer, int64_t i,
                            ferry_prediction *p)
{
    if (o->numbers) {
        p->value[i] = o->mean + o->sd * answer[0];
        return;
    }
    memcpy(p->score + i * o->classes, answer, (size_t)o->classes * sizeof *answer);
    p->cls[i] = 0;
    for (int64_t j = 1; j < o->classes; j++)
        if (answer[j] > answer[p->cls[i]]) p->cls[i] = (int32_t)j;
}

/* The goal and the classes of a prediction against those of the model, before answers of
 * `classes` numbers are copied into its rows of k. */
ferry_status ferry_i_outputs_check(ferry_ctx *ctx, const ferry_outputs *o,
                                   const ferry_prediction *p)
{
    if (!(p->goal == (o->numbers ? FERRY_REGRESS : FERRY_CLASSIFY) &&
          (o->numbers || p->k == o->classes)))
        return ferry_i_fail(ctx, FERRY_EDATA, "the model has %lld classes, not %lld",
                            (long long)o->classes, (long long)p->k);
    return FERRY_OK;
}
