/* Models: making, freeing, asking. */
#include "model/model.h"

#include <string.h>

#include "data/parts.h"

bool ferry_i_goal_named(ferry_goal goal)
{
    return goal == FERRY_CLASSIFY || goal == FERRY_MULTILABEL || goal == FERRY_STREAM;
}

/* The settings with the defaults of those not given, so that a saved model says what it was
 * made with even when a later version has other defaults. */
static ferry_status all_options(ferry_ctx *ctx, const ferry_method *method,
                                const ferry_opts *opts, ferry_opts **out)
{
    FERRY_PASS(ferry_i_opts_copy(ctx, opts, out));
    for (int64_t i = 0; i < method->n_options; i++)
        if (!ferry_opts_get(*out, method->options[i].name))
            FERRY_PASS(
                ferry_opts_set(ctx, *out, method->options[i].name, method->options[i].def));
    return FERRY_OK;
}

/* Options are parsed here, also for a model from a file: a file that sets one out of range
 * is refused. */
ferry_status ferry_i_model_new(ferry_ctx *ctx, const ferry_method *method,
                               const ferry_opts *opts, ferry_goal goal,
                               const ferry_ids *names, ferry_model **out)
{
    ferry_status st = FERRY_OK;
    ferry_model *m = ferry_i_calloc(1, sizeof *m);

    *out = NULL;
    FERRY_HAVE(ctx, m);
    m->method = method;
    m->goal = goal;
    FERRY_TRY(all_options(ctx, method, opts, &m->opts));
    m->options = ferry_i_calloc((int64_t)method->options_size, 1);
    m->diagnostics = ferry_i_strdup("{}");
    if (names) m->names = ferry_i_ids_copy(names);
    FERRY_HAVE(ctx, m->options && m->diagnostics && !names == !m->names);
    FERRY_TRY(ferry_i_opts_parse(ctx, method->name, method->options, method->n_options,
                                 m->opts, m->options));
    FERRY_MOVE(*out, m);
done:
    ferry_model_free(m);
    return st;
}

/* The state is freed by its method; a model that failed half way has none. */
void ferry_model_free(ferry_model *m)
{
    if (!m) return;
    if (m->state) m->method->free(m->state);
    for (int64_t i = 0; i < m->n_views; i++)
        ferry_i_view_free(m->views[i]);
    ferry_i_free(m->views);
    ferry_i_ids_free(m->names);
    ferry_opts_free(m->opts);
    FERRY_FREE(m->options, m->diagnostics, m->inputs);
    ferry_i_diagnostics_free(m->n_list, m->list);
    ferry_i_free(m);
}

/* A view without rows keeps what is needed to read new data in the same way: columns,
 * names, how text was counted and weighed. */
ferry_status ferry_i_model_add_view(ferry_ctx *ctx, ferry_model *m, const char *name,
                                    int64_t cols, const ferry_ids *features,
                                    const ferry_opts *read, const double *idf)
{
    ferry_status st = FERRY_OK;
    ferry_matrix *none = NULL;
    ferry_view *v = NULL;
    ferry_view **more =
        ferry_i_realloc(m->views, m->n_views + 1, sizeof *more); /* few views: no slack */

    FERRY_HAVE(ctx, more);
    m->views = more;
    FERRY_TRY(ferry_i_matrix_csr(ctx, 0, cols, 0, &none));
    FERRY_TRY(ferry_i_view_new(ctx, name, none, features, read, idf, &v));
    m->views[m->n_views++] = v;
done:
    ferry_i_matrix_free(none);
    return st;
}

const char *ferry_model_view_at(const ferry_model *model, int64_t i)
{
    if (!model) return NULL;
    return i >= 0 && i < model->n_views ? model->views[i]->name : NULL;
}

/* The model knows how its view was read, so a user need not say it again; options given
 * here come on top. */
ferry_status ferry_model_read_view(ferry_ctx *ctx, const ferry_model *model,
                                   const char *view, const char *path,
                                   const ferry_opts *opts, ferry_data **out)
{
    FERRY_ARGS_OUT(ctx, out, out, model, path);

    const ferry_view *v = NULL;

    for (int64_t i = 0; i < model->n_views && !v; i++)
        if (!view || strcmp(model->views[i]->name, view) == 0) v = model->views[i];
    if (!view && model->n_views != 1)
        return ferry_i_fail(ctx, FERRY_EINVAL,
                            "the model has %lld views: say which one to read %s as",
                            (long long)model->n_views, path);
    if (!v) return ferry_i_fail(ctx, FERRY_EINVAL, "the model has no view '%s'", view);
    return ferry_i_read_like(ctx, path, v->read, v->features, v->idf, v->x->cols, opts,
                             out);
}

/* ---- graphs ---- */

/* Graphs that the model asks for at prediction. */
static const ferry_ids *graph_names(const ferry_model *m)
{
    return m->method->graphs && m->state ? m->method->graphs(m->state) : NULL;
}

int64_t ferry_i_model_graph_count(const ferry_model *model)
{
    const ferry_ids *names = graph_names(model);

    return names ? ferry_i_ids_count(names) : 0;
}

const char *ferry_model_graph_at(const ferry_model *model, int64_t i)
{
    if (!model) return NULL;
    return i >= 0 && i < ferry_i_model_graph_count(model)
               ? ferry_i_ids_at(graph_names(model), i)
               : NULL;
}

/* Nodes of the graph that the model knows and the domain does not become instances. */
static ferry_status add_known(ferry_ctx *ctx, const ferry_model *m, const ferry_ids *nodes,
                              ferry_domain *d)
{
    ferry_status st = FERRY_OK;
    const ferry_ids *known = m->method->known ? m->method->known(m->state) : NULL;
    ferry_ids *more = ferry_i_ids_new();
    ferry_growth g = {0};
    int64_t *at = NULL;

    FERRY_HAVE(ctx, more);
    for (int64_t i = 0; known && i < ferry_i_ids_count(nodes); i++) {
        const char *id = ferry_i_ids_at(nodes, i);
        if (ferry_i_ids_find(known, id) < 0 || ferry_i_ids_find(d->ids, id) >= 0) continue;
        FERRY_HAVE(ctx, ferry_i_ids_add(more, id, NULL) >= 0);
    }
    FERRY_NEW(ctx, at, ferry_i_ids_count(more));
    if (d->asked == 0) d->asked = ferry_i_domain_id_count(d);
    FERRY_TRY(ferry_i_growth_plan(ctx, d, more, at, &g));
    ferry_i_growth_apply(d, &g);
done:
    ferry_i_growth_free(&g);
    ferry_i_ids_free(more);
    ferry_i_free(at);
    return st;
}

/* Edges to instances whose labels the model knows are worth most, so those instances join
 * the domain; they are not predicted for. */
ferry_status ferry_model_read_graph(ferry_ctx *ctx, const ferry_model *model,
                                    const char *graph, const char *path,
                                    const ferry_opts *opts, ferry_domain *domain)
{
    FERRY_ARGS(ctx, model, graph, path, domain);

    ferry_status st = FERRY_OK;
    const ferry_ids *names = graph_names(model);
    const bool alone = model->n_views == 0 && ferry_i_domain_id_count(domain) == 0;
    ferry_data *data = NULL;

    FERRY_NEED(ctx, names && ferry_i_ids_find(names, graph) >= 0, FERRY_EINVAL,
               "the model has no graph '%s'", graph);
    FERRY_NEED(ctx, alone || ferry_i_domain_id_count(domain) > 0, FERRY_EINVAL,
               "graph '%s': the domain has no instances to predict for yet", graph);
    FERRY_NEED(ctx, alone || ferry_i_domain_named(domain), FERRY_EDATA,
               "graph '%s': the instances to predict for have no ids that its edges could "
               "name: expected an id column (id=NAME)",
               graph);
    FERRY_TRY(ferry_i_read_as(ctx, path, opts, FERRY_DATA_GRAPH, &data));
    if (!alone) FERRY_TRY(add_known(ctx, model, data->nodes, domain));
    st = ferry_domain_add_data(ctx, domain, graph, data);
    if (st == FERRY_EDATA) st = ferry_i_prefix(ctx, st, "%s", path);
done:
    ferry_data_free(data);
    return st;
}
