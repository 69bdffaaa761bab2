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
    ferry_status st = FERRY_OK;

    FERRY_TRY(ferry_i_opts_copy(ctx, opts, out));
    for (int64_t i = 0; i < method->n_options; i++)
        if (!ferry_opts_get(*out, method->options[i].name))
            FERRY_TRY(
                ferry_opts_set(ctx, *out, method->options[i].name, method->options[i].def));
done:
    return st;
}

ferry_status ferry_i_model_new(ferry_ctx *ctx, const ferry_method *method,
                               const ferry_opts *opts, ferry_goal goal,
                               const ferry_ids *names, ferry_model **out)
{
    ferry_status st = FERRY_OK;
    ferry_model *m = ferry_i_calloc(1, sizeof *m);

    *out = NULL;
    FERRY_NEED(ctx, m, FERRY_ENOMEM, "no memory for a model");
    m->method = method;
    m->goal = goal;
    FERRY_TRY(all_options(ctx, method, opts, &m->opts));
    m->options = ferry_i_calloc((int64_t)method->options_size, 1);
    m->diagnostics = ferry_i_strdup("{}");
    if (names) m->names = ferry_i_ids_copy(names);
    FERRY_NEED(ctx, m->options && m->diagnostics && !names == !m->names, FERRY_ENOMEM,
               "no memory for a model");
    FERRY_TRY(ferry_i_opts_parse(ctx, method->name, method->options, method->n_options,
                                 m->opts, m->options));
    *out = m;
    m = NULL;
done:
    ferry_model_free(m);
    return st;
}

void ferry_model_free(ferry_model *m)
{
    if (!m) return;
    if (m->state) m->method->free(m->state);
    for (int64_t i = 0; i < m->n_views; i++)
        ferry_i_view_free(m->views[i]);
    ferry_i_free(m->views);
    ferry_i_ids_free(m->names);
    ferry_opts_free(m->opts);
    ferry_i_free(m->options);
    ferry_i_free(m->diagnostics);
    ferry_i_free(m);
}

ferry_status ferry_i_model_add_view(ferry_ctx *ctx, ferry_model *m, const char *name,
                                    int64_t cols, const ferry_ids *features,
                                    const ferry_opts *read, const double *idf)
{
    ferry_status st = FERRY_OK;
    ferry_matrix *none = NULL;
    ferry_view *v = NULL;
    ferry_view **more =
        ferry_i_realloc(m->views, m->n_views + 1, sizeof *more); /* few views: no slack */

    FERRY_NEED(ctx, more, FERRY_ENOMEM, "no memory for a model");
    m->views = more;
    FERRY_TRY(ferry_i_matrix_csr(ctx, 0, cols, 0, &none));
    FERRY_TRY(ferry_i_view_new(ctx, name, none, features, read, idf, &v));
    m->views[m->n_views++] = v;
done:
    ferry_i_matrix_free(none);
    return st;
}

const char *ferry_model_method(const ferry_model *model)
{
    return model->method->name;
}

ferry_goal ferry_model_goal(const ferry_model *model)
{
    return model->goal;
}

const char *ferry_model_diagnostics(const ferry_model *model)
{
    return model->diagnostics;
}

int64_t ferry_model_views(const ferry_model *model)
{
    return model->n_views;
}

const char *ferry_model_view_name(const ferry_model *model, int64_t i)
{
    return i >= 0 && i < model->n_views ? model->views[i]->name : NULL;
}

ferry_status ferry_model_read_view(ferry_ctx *ctx, const ferry_model *model,
                                   const char *view, const char *path,
                                   const ferry_opts *opts, ferry_data **out)
{
    ferry_status st = FERRY_OK;
    const ferry_view *v = NULL;

    *out = NULL;
    for (int64_t i = 0; i < model->n_views && !v; i++)
        if (!view || strcmp(model->views[i]->name, view) == 0) v = model->views[i];
    FERRY_NEED(ctx, view || model->n_views == 1, FERRY_EINVAL,
               "the model has %lld views: say which one to read %s as",
               (long long)model->n_views, path);
    FERRY_NEED(ctx, v, FERRY_EINVAL, "the model has no view '%s'", view);
    FERRY_TRY(ferry_i_read_like(ctx, path, v->read, v->features, v->idf, opts, out));
done:
    return st;
}
