/* GBC: the model; predicting with it, saving and loading it. */
#include <math.h>
#include <string.h>

#include "methods/gbc/gbc.h"

ferry_status ferry_i_gbc_model_new(ferry_ctx *ctx, gbc_model **out)
{
    ferry_status st = FERRY_OK;
    gbc_model *m = ferry_i_calloc(1, sizeof *m);

    *out = NULL;
    FERRY_HAVE(ctx, m);
    m->correct = GBC_CORRECT_NO;
    m->stretch = 1;
    m->graphs = ferry_i_ids_new();
    m->known = ferry_i_ids_new();
    FERRY_HAVE(ctx, m->graphs && m->known);
    *out = m;
    m = NULL;
done:
    ferry_i_gbc_model_free(m);
    return st;
}

void ferry_i_gbc_model_free(void *model)
{
    gbc_model *m = model;

    if (!m) return;
    ferry_i_gbc_forest_free(m->forest);
    ferry_i_ids_free(m->graphs);
    ferry_i_ids_free(m->known);
    ferry_i_free(m->w);
    ferry_i_free(m->wg);
    ferry_i_free(m->truth);
    ferry_i_free(m->residual);
    ferry_i_free(m);
}

ferry_status ferry_i_gbc_answers(ferry_ctx *ctx, const gbc_goal *goal,
                                 const gbc_forest *forest, const double *w, double stretch,
                                 int64_t n, ferry_view *const *views, double *answers,
                                 uint8_t *viewless)
{
    ferry_status st = FERRY_OK;
    const int64_t p = forest->p, k = forest->k, m = goal->classes;
    double **f = ferry_i_calloc(p, sizeof *f), *score = NULL;
    uint8_t *mask = ferry_i_calloc(p * n, sizeof *mask);
    bool ok = f && mask;

    for (int64_t i = 0; ok && i < (forest->additive ? 1 : p); i++)
        ok = (f[i] = ferry_i_calloc(n * k, sizeof(double))) != NULL;
    FERRY_NEW(ctx, score, n * k);
    FERRY_HAVE(ctx, ok);
    FERRY_TRY(ferry_i_gbc_forest_scores(ctx, forest, n, views, f, mask));
    const gbc_problem g = {.n = n, .p = p, .k = k, .mask = mask};
    if (!forest->additive) {
        ferry_i_gbc_average(&g, f, w, forest->f0, score, viewless);
        for (int64_t e = 0; e < n * k; e++)
            score[e] = forest->f0[e % k] + stretch * (score[e] - forest->f0[e % k]);
    } else {
        memcpy(score, f[0], (size_t)(n * k) * sizeof *score);
        memset(viewless, 0, (size_t)n);
        for (int64_t i = 0; i < p; i++)
            for (int64_t x = 0; x < n; x++)
                viewless[x] |= mask[i * n + x];
    }
    for (int64_t x = 0; x < n; x++) { /* until here it told who has a view */
        viewless[x] = !viewless[x];
        ferry_i_gbc_goal_answer(goal, score + x * k, answers + x * m);
    }
done:
    for (int64_t i = 0; f && i < p; i++)
        ferry_i_free(f[i]);
    ferry_i_free(f);
    ferry_i_free(mask);
    ferry_i_free(score);
    return st;
}

/* The model's graphs that the domain has, by name; how many. graph, wg: room for all. */
static int64_t find_graphs(const gbc_model *m, const ferry_domain *d, ferry_matrix **graph,
                           double *wg)
{
    int64_t q = 0;
    double sum = 0;

    for (int64_t t = 0; t < ferry_i_ids_count(m->graphs); t++)
        for (int64_t i = 0; i < d->n_graphs; i++) {
            if (strcmp(d->graphs[i]->name, ferry_i_ids_at(m->graphs, t)) != 0) continue;
            graph[q] = d->graphs[i]->a;
            sum += wg[q++] = m->wg[t];
        }
    for (int64_t t = 0; t < q; t++)
        wg[t] = sum > 0 ? wg[t] / sum : 1 / (double)q;
    return q;
}

static void tell(ferry_ctx *ctx, const ferry_domain *d, int64_t n, const uint8_t *basis)
{
    int64_t count[3] = {0};

    if (d->asked > 0) n = d->asked;
    for (int64_t x = 0; x < n; x++)
        count[basis[x]]++;
    if (count[FERRY_BASIS_NEIGHBOURS] + count[FERRY_BASIS_BASE] > 0)
        ferry_i_log(
            ctx, FERRY_WARN,
            "gbc: of the %lld instances of '%s' %lld are in no view that counts: %lld "
            "get the mean of their neighbours, %lld the base score (column basis)",
            (long long)n, d->name,
            (long long)(count[FERRY_BASIS_NEIGHBOURS] + count[FERRY_BASIS_BASE]),
            (long long)count[FERRY_BASIS_NEIGHBOURS], (long long)count[FERRY_BASIS_BASE]);
}

ferry_status ferry_i_gbc_predict(ferry_ctx *ctx, const void *state, const ferry_domain *d,
                                 ferry_prediction *p)
{
    ferry_status st = FERRY_OK;
    const gbc_model *model = state;
    const int64_t n = p->n, m = model->goal.classes;
    const int64_t most = ferry_i_ids_count(model->graphs);
    double *answers = ferry_i_calloc(n * m, sizeof *answers);
    double *wg = ferry_i_calloc(most, sizeof *wg);
    ferry_matrix **graph = ferry_i_calloc(most, sizeof(ferry_matrix *));
    uint8_t *viewless = ferry_i_calloc(n, sizeof *viewless);
    int64_t *at = ferry_i_calloc(n, sizeof *at);

    FERRY_HAVE(ctx, answers && wg && graph && viewless && at);
    FERRY_TRY(ferry_i_gbc_goal_check(ctx, &model->goal, p));
    FERRY_NEED(ctx, d->n_views == model->forest->p, FERRY_EDATA,
               "the model has %lld views, domain '%s' %lld", (long long)model->forest->p,
               d->name, (long long)d->n_views);
    for (int64_t i = 0; i < d->n_views; i++)
        FERRY_NEED(ctx, d->views[i]->x->cols == model->forest->cols[i], FERRY_EDATA,
                   "view '%s' has %lld features, the model's %lld", d->views[i]->name,
                   (long long)d->views[i]->x->cols, (long long)model->forest->cols[i]);
    FERRY_NEW(ctx, p->basis, n);
    FERRY_TRY(ferry_i_gbc_answers(ctx, &model->goal, model->forest, model->w,
                                  model->stretch, n, d->views, answers, viewless));
    for (int64_t x = 0; x < n; x++)
        at[x] = ferry_i_domain_named(d)
                    ? ferry_i_ids_find(model->known, ferry_i_ids_at(d->ids, x))
                    : -1;
    const gbc_labels l = {at, model->truth, model->residual};
    const int64_t q = find_graphs(model, d, graph, wg);
    FERRY_TRY(ferry_i_gbc_correct(ctx, model->correct, model->strength, q, graph, wg, n, m,
                                  model->goal.goal == FERRY_CLASSIFY, &l, viewless, answers,
                                  p->basis));
    for (int64_t x = 0; x < n; x++)
        ferry_i_gbc_goal_decide(&model->goal, answers + x * m, x, p);
    tell(ctx, d, n, p->basis);
done:
    ferry_i_free(answers);
    ferry_i_free(wg);
    ferry_i_free(graph);
    ferry_i_free(viewless);
    ferry_i_free(at);
    return st;
}

/* ---- save and load ---- */

ferry_status ferry_i_gbc_save(ferry_ctx *ctx, const void *state, ferry_dict *dict)
{
    ferry_status st = FERRY_OK;
    const gbc_model *m = state;
    const int64_t known = ferry_i_ids_count(m->known), correct = m->correct;
    const int64_t q = ferry_i_ids_count(m->graphs);

    FERRY_TRY(ferry_i_gbc_goal_save(ctx, &m->goal, dict));
    FERRY_TRY(ferry_i_gbc_forest_save(ctx, m->forest, dict));
    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "weights", 1, m->forest->p, m->w));
    FERRY_TRY(ferry_i_dict_put_ints(ctx, dict, "correct", 1, &correct));
    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "stretch", 1, 1, &m->stretch));
    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "strength", 1, 1, &m->strength));
    FERRY_TRY(ferry_i_dict_put_ids(ctx, dict, "graphs", m->graphs));
    if (q == 0) goto done;
    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "graph_weights", 1, q, m->wg));
    FERRY_TRY(ferry_i_dict_put_ids(ctx, dict, "known", m->known));
    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "truth", known, m->goal.classes, m->truth));
    FERRY_TRY(
        ferry_i_dict_put_reals(ctx, dict, "residual", known, m->goal.classes, m->residual));
done:
    return st;
}

static ferry_status load_graphs(ferry_ctx *ctx, const ferry_dict *dict, gbc_model *m)
{
    ferry_status st = FERRY_OK;

    ferry_i_ids_free(m->graphs);
    m->graphs = NULL;
    FERRY_TRY(ferry_i_dict_ids(ctx, dict, "graphs", &m->graphs));
    const int64_t q = ferry_i_ids_count(m->graphs);
    if (q == 0) goto done;
    FERRY_TRY(ferry_i_dict_reals_copy(ctx, dict, "graph_weights", 1, q, &m->wg));
    for (int64_t t = 0; t < q; t++)
        FERRY_NEED(ctx, m->wg[t] >= 0, FERRY_EDATA,
                   "tensor graph_weights: entry %lld is %g", (long long)t, m->wg[t]);
    ferry_i_ids_free(m->known);
    m->known = NULL;
    FERRY_TRY(ferry_i_dict_ids(ctx, dict, "known", &m->known));
    const int64_t known = ferry_i_ids_count(m->known);
    FERRY_TRY(
        ferry_i_dict_reals_copy(ctx, dict, "truth", known, m->goal.classes, &m->truth));
    FERRY_TRY(ferry_i_dict_reals_copy(ctx, dict, "residual", known, m->goal.classes,
                                      &m->residual));
done:
    return st;
}

ferry_status ferry_i_gbc_load(ferry_ctx *ctx, const ferry_dict *dict, void **state)
{
    ferry_status st = FERRY_OK;
    gbc_model *m = NULL;
    const int64_t *correct = NULL;
    const double *strength = NULL, *stretch = NULL;
    int64_t one = 1;

    *state = NULL;
    FERRY_TRY(ferry_i_gbc_model_new(ctx, &m));
    FERRY_TRY(ferry_i_gbc_goal_load(ctx, dict, &m->goal));
    FERRY_TRY(ferry_i_gbc_forest_load(ctx, dict, &m->forest));
    FERRY_NEED(ctx, m->forest->k == m->goal.k, FERRY_EDATA,
               "tensor forest.sizes: %lld scores, not %lld", (long long)m->forest->k,
               (long long)m->goal.k);
    FERRY_TRY(ferry_i_dict_reals_copy(ctx, dict, "weights", 1, m->forest->p, &m->w));
    for (int64_t i = 0; i < m->forest->p; i++)
        FERRY_NEED(ctx, m->w[i] >= 0, FERRY_EDATA, "tensor weights: entry %lld is %g",
                   (long long)i, m->w[i]);
    FERRY_TRY(ferry_i_dict_ints(ctx, dict, "correct", &one, &correct));
    FERRY_TRY(ferry_i_dict_reals(ctx, dict, "strength", &one, &one, &strength));
    FERRY_TRY(ferry_i_dict_reals(ctx, dict, "stretch", &one, &one, &stretch));
    m->stretch = stretch[0];
    FERRY_NEED(ctx,
               correct[0] >= GBC_CORRECT_NO && correct[0] <= GBC_CORRECT_SMOOTH &&
                   strength[0] >= 0 &&
                   (correct[0] != GBC_CORRECT_SMOOTH || strength[0] <= 1),
               FERRY_EDATA, "tensor correct: %lld with strength %g", (long long)correct[0],
               strength[0]);
    m->correct = (gbc_correct)correct[0];
    m->strength = strength[0];
    FERRY_TRY(load_graphs(ctx, dict, m));
    *state = m;
    m = NULL;
done:
    ferry_i_gbc_model_free(m);
    return st;
}
