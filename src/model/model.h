/* Models: what a method learned and what is needed to show it new data in the same way. */
#ifndef FERRY_MODEL_INTERNAL_H
#define FERRY_MODEL_INTERNAL_H

#include "model/method.h"

/* All of it is owned but `method`, which is a constant of the program. Only the streaming
 * calls change a model (state, and names when a class is new). */
struct ferry_model {
    const ferry_method *method;
    ferry_opts *opts; /* every option of the method */
    void *options;    /* the method's options struct; texts point into opts */
    ferry_goal goal;
    ferry_ids *names;   /* classes or labels; NULL for numbers */
    ferry_view **views; /* the target's without rows: name, columns, features, how read */
    int64_t n_views;
    char *diagnostics;      /* JSON text */
    ferry_diagnostic *list; /* the same, flat */
    int64_t n_list;
    void *state; /* the method's */
    double
        *inputs; /* of the only view, 3 x columns: mean, standard deviation, share missing
                     * at fit; NULL: not known */
};

/* A model without state: options parsed, names copied (NULL: none). */
ferry_status ferry_i_model_new(ferry_ctx *ctx, const ferry_method *method,
                               const ferry_opts *opts, ferry_goal goal,
                               const ferry_ids *names, ferry_model **out);
/* Add a view without rows to the schema; all is copied. */
ferry_status ferry_i_model_add_view(ferry_ctx *ctx, ferry_model *m, const char *name,
                                    int64_t cols, const ferry_ids *features,
                                    const ferry_opts *read, const double *idf);
/* Views with more columns are not described: nobody could look at so many. */
#define FERRY_INPUTS_MOST 4096
/* Graphs that it asks for at prediction. */
int64_t ferry_i_model_graph_count(const ferry_model *model);
/* Whether a goal has classes or labels by name. */
bool ferry_i_goal_named(ferry_goal goal);

/* The same as ferry_model_save and ferry_model_load, to and from a dict. `what` begins
 * messages. */
ferry_status ferry_i_model_pack(ferry_ctx *ctx, const ferry_model *m, ferry_dict *dict);
/* method: the name that is expected, NULL: any. Every failure but of memory is
 * FERRY_EDATA. */
ferry_status ferry_i_model_unpack(ferry_ctx *ctx, const char *what, const ferry_dict *dict,
                                  const char *method, ferry_model **out);

/* New prediction: ids of the domain (rate: of the pairs), names, and the arrays that the
 * goal has, zeroed (embed: none). */
ferry_status ferry_i_prediction_new(ferry_ctx *ctx, ferry_goal goal, const ferry_ids *names,
                                    const ferry_domain *d, ferry_prediction **out);

/* Diagnostics as programs see them (diagnostics.c), flat; NULL: none. */
ferry_status ferry_i_diagnostics_list(ferry_ctx *ctx, const struct json_t *json,
                                      ferry_diagnostic **out, int64_t *n);
void ferry_i_diagnostics_free(int64_t n, ferry_diagnostic *list);
/* Give a model its diagnostics, in place of those it had: an object, which is copied. */
ferry_status ferry_i_model_set_diagnostics(ferry_ctx *ctx, ferry_model *m,
                                           const struct json_t *json);

#endif
