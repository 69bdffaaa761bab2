/* What a server tells about a model: see served.h. */
#include "show/served.h"

#include <math.h>

#include "methods/method.h"
#include "run/statistics.h"
#include "show/page/page.h"

ferry_model_info ferry_i_served_about(const ferry_model *m)
{
    return (ferry_model_info){.method = m->method->name,
                              .goal = m->goal,
                              .views = m->n_views,
                              .columns = ferry_i_model_columns(m),
                              .streams = ferry_i_model_streams(m)};
}

int64_t ferry_i_served_classes(const ferry_model *m)
{
    return ferry_i_model_class_count(m);
}

const char *ferry_i_served_view(const ferry_model *m)
{
    return m->views[0]->name;
}

bool ferry_i_served_named(const ferry_model *m)
{
    return ferry_i_view_has_names(m->views[0]);
}

const char *ferry_i_served_feature(const ferry_model *m, int64_t j)
{
    const ferry_ids *names = m->views[0]->features;

    return names ? ferry_i_ids_at(names, j) : NULL;
}

int64_t ferry_i_served_column(const ferry_model *m, const char *name)
{
    return ferry_i_ids_find(m->views[0]->features, name);
}

const double *ferry_i_served_inputs(const ferry_model *m)
{
    return m->inputs;
}

int64_t ferry_i_served_experts(const ferry_model *m, const char **name, double *weight)
{
    return ferry_i_model_parts(m, name, weight);
}

ferry_served_mean ferry_i_served_mean(int64_t n, const int8_t *value)
{
    double *diff = ferry_i_calloc(n, sizeof *diff);
    ferry_crossed c = {.mu = NAN, .low = NAN, .high = NAN};
    ferry_ctx *ctx = NULL;

    for (int64_t i = 0; diff && i < n; i++)
        diff[i] = value[i];
    const ferry_differences in = {.repeats = 1, .n = n, .diff = diff, .fixed = true};
    if (diff && n > 1 && ferry_ctx_new(&ctx) == FERRY_OK)
        (void)ferry_i_crossed(ctx, &in, &c);
    ferry_ctx_free(ctx);
    ferry_i_free(diff);
    return (ferry_served_mean){c.mu, c.low, c.high};
}

const char *ferry_i_served_vega(void)
{
    return ferry_i_page_vega;
}

const char *ferry_i_served_plots(void)
{
    return ferry_i_page_plots;
}

const char *ferry_i_served_style(void)
{
    return ferry_i_page_style;
}
