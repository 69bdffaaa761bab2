/* Models: what a method learned; predict, save, load. */
#ifndef FERRY_MODEL_H
#define FERRY_MODEL_H

#include "ferry/method.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What a method learned. Opaque; getters return what belongs to it. */
typedef struct ferry_model ferry_model;

typedef enum ferry_stop {
    FERRY_STOP_DONE = 0,     /**< nothing to iterate, or ran to its natural end */
    FERRY_STOP_TOL = 1,      /**< converged */
    FERRY_STOP_MAX_ITER = 2, /**< iteration limit reached */
    FERRY_STOP_FINISH = 3    /**< the progress callback said FERRY_FINISH */
} ferry_stop;

/** Where and why a fit stopped. The caller's: {.size = sizeof(ferry_fit_info)}. */
typedef struct ferry_fit_info {
    size_t size; /**< set by the caller */
    ferry_stop stop;
    int64_t iters;
    double objective; /**< NaN when the method has none */
    double seconds;
} ferry_fit_info;

/**
 * Learn from a task.
 *
 * @param ctx     engine, callbacks, last message; one per thread
 * @param task    domains and goal; borrowed for the call. Of a task from ferry_task_load() the
 * method sees the target labels that "labelled:" shows in the first repeat, as with `ferry fit`;
 * ferry_task_visible() makes a task for another repeat, or with all labels (FERRY_ALL_LABELS). Of
 * a task that a program made all labels may be used: hide what is to be scored.
 * @param method  a name from ferry_method_at()
 * @param opts    settings checked against the method's table; copied; NULL means the
 * defaults
 * @param out     new model for ferry_model_free(); NULL when the call fails
 * @param info    where and why it stopped, its size set by the caller; may be NULL
 * @return FERRY_OK, also when the iteration limit was reached (see info->stop);
 *         FERRY_EINVAL, FERRY_ENEEDS, FERRY_EDATA, FERRY_ENOMEM, FERRY_ECANCELLED
 */
FERRY_API ferry_status ferry_fit(ferry_ctx *ctx, const ferry_task *task, const char *method,
                                 const ferry_opts *opts, ferry_model **out,
                                 ferry_fit_info *info);

/** What an answer stands on. */
typedef enum ferry_basis {
    FERRY_BASIS_VIEWS = 0,      /**< the instance's own features */
    FERRY_BASIS_NEIGHBOURS = 1, /**< it has none: its neighbours in a graph */
    FERRY_BASIS_BASE = 2        /**< neither: what is usual among the labels */
} ferry_basis;

/** Predictions for n instances (or rating pairs). Fields that do not belong to the goal are
 * NULL or 0. */
typedef struct ferry_prediction {
    ferry_goal goal;
    int64_t n;    /**< instances, or rating pairs */
    int64_t k;    /**< classes, labels, or dimensions of an embedding */
    int32_t *cls; /**< n, place in names (classify) */
    double
        *score; /**< n x k, larger is likelier (classify, multilabel), or the embedding */
    double *value;  /**< n numbers (regress, rate) */
    uint8_t *set;   /**< n x k, 0 or 1 (multilabel) */
    char **names;   /**< k class or label names */
    char **ids;     /**< n; for ratings the user ids */
    char **items;   /**< n item ids (rate) */
    uint8_t *basis; /**< n ferry_basis, where a method tells; else NULL */
    int32_t *group; /**< n, where a method sets instances apart without a class (cls -1):
                         their group 1, 2, ..., 0 for all others; else NULL */
} ferry_prediction;

/**
 * Predict for every instance of a domain (goal rate: for every pair in its ratings, as often as
 * it was given unless the domain is in a task).
 * Features are matched by name where both sides have names, else by number. Methods that use graphs recognise
 * instances of the fit by id; row numbers, where the domain got no ids, are ids only if it is in a task.
 */
FERRY_API ferry_status ferry_predict(ferry_ctx *ctx, const ferry_model *model,
                                     const ferry_domain *domain, ferry_prediction **out);
/** Keep what was predicted for instances (or pairs) of that domain which have no label. */
FERRY_API void ferry_prediction_keep_blank(ferry_prediction *p, const ferry_domain *domain);
FERRY_API void ferry_prediction_free(ferry_prediction *p);
/** Write predictions as CSV (id, prediction, scores ...); an embedding to a path that ends
 * in .npz as arrays x and ids, in .npy as x alone. */
FERRY_API ferry_status ferry_prediction_write(ferry_ctx *ctx, const ferry_prediction *p,
                                              const char *path);

/**
 * Goal rate: learn about users and items that were not there at fit, from a few ratings and
 * without fitting again. A new user is placed by his ratings of items that the model knows,
 * then a new item by all its ratings; what the model knew stays as it was. Cost: the new
 * ratings only.
 *
 * @param ratings  domain with the ratings; those of pairs that the model knows on both
 * sides are not used
 * @param out      new model; `model` is not changed and may be freed
 * @return FERRY_OK, FERRY_ENEEDS for a model that has no ratings, FERRY_ENOMEM,
 *         FERRY_ECANCELLED
 */
FERRY_API ferry_status ferry_model_fold_in(ferry_ctx *ctx, const ferry_model *model,
                                           const ferry_domain *ratings, ferry_model **out);

/**
 * Goal rate: the items that users would rate highest, best first; of equals the one that
 * came first at fit.
 *
 * @param n_users  how many users are asked about; 0 with users NULL: all that the model
 * knows
 * @param users    their ids, none twice; one that the model does not know gets what is
 * rated highest in general
 * @param top      items for each user, at least 1; fewer where there are no more
 * @param rated    not 0: also items that the user rated at fit (or at
 * ferry_model_fold_in())
 * @param out      pairs in ids and items with the rating in value, user after user
 */
FERRY_API ferry_status ferry_recommend(ferry_ctx *ctx, const ferry_model *model,
                                       int64_t n_users, const char *const *users,
                                       int64_t top, int rated, ferry_prediction **out);

/** Save as a .ferry file (safetensors layout), by a temporary name and rename. */
FERRY_API ferry_status ferry_model_save(ferry_ctx *ctx, const ferry_model *model,
                                        const char *path);
/**
 * Load a model.
 * @param method  refuse a model of any other method; NULL takes all
 */
FERRY_API ferry_status ferry_model_load(ferry_ctx *ctx, const char *path,
                                        const char *method, ferry_model **out);
/**
 * The same in memory: the bytes that the file would have, so that either can be read by the other.
 * @param out  new bytes for ferry_string_free(); NULL when the call fails
 * @param n    how many
 */
FERRY_API ferry_status ferry_model_to_memory(ferry_ctx *ctx, const ferry_model *model,
                                             char **out, int64_t *n);
/** Read a model from n bytes, which are copied. FERRY_EDATA when they are damaged. */
FERRY_API ferry_status ferry_model_from_memory(ferry_ctx *ctx, const char *bytes, int64_t n,
                                               const char *method, ferry_model **out);
/** A model in numbers. The caller's: {.size = sizeof(ferry_model_info)}. */
typedef struct ferry_model_info {
    size_t size; /**< set by the caller */
    const char *method;
    ferry_goal goal;
    int64_t views;   /**< of the target (ferry_model_view_at()) */
    int64_t graphs;  /**< that a prediction can use (ferry_model_graph_at()) */
    int64_t classes; /**< or labels, known so far (ferry_model_class_at()) */
    int64_t columns; /**< of the first view */
    const char *
        diagnostics; /**< of the fit as JSON text, nested; flat: ferry_model_diagnostic_at() */
    int streams;     /**< 1: it can learn from a stream (ferry/stream.h) */
    int watches; /**< 1: seeing a row changes it even when the label never comes: a log has to keep such rows too */
    int64_t
        votes; /**< how many numbers ferry_model_see() leaves; the same for the life of a model */
} ferry_model_info;

/** Fill *info. Texts belong to the model. */
FERRY_API void ferry_model_get_info(const ferry_model *model, ferry_model_info *info);
/** What a fit told about itself: numbers or texts by name (weights, traces, chosen parameters). */
typedef struct ferry_diagnostic {
    size_t size;              /**< of this struct in the library that runs */
    const char *name;         /**< parts of parts are joined by dots: "weights.source" */
    int64_t count;            /**< 1 for a single value */
    const double *numbers;    /**< count, NaN where one is not known; or NULL */
    const char *const *texts; /**< count; or NULL */
} ferry_diagnostic;

/** Diagnostic i of the fit, in its order; NULL past the last. Belongs to the model. */
FERRY_API const ferry_diagnostic *ferry_model_diagnostic_at(const ferry_model *model,
                                                            int64_t i);
/** Name of class or label i, of the target's view i; NULL past the last. Borrowed until the model learns: a stream may add
 * classes, which come last. */
FERRY_API const char *ferry_model_class_at(const ferry_model *model, int64_t i);
FERRY_API const char *ferry_model_view_at(const ferry_model *model, int64_t i);
/** Read a file as the view of that name: same format options, same vocabulary for text. */
FERRY_API ferry_status ferry_model_read_view(ferry_ctx *ctx, const ferry_model *model,
                                             const char *view, const char *path,
                                             const ferry_opts *opts, ferry_data **out);
/** Name of graph i that a prediction can use: instances that are to be predicted may be joined with each other and with
 * labelled instances from the fit. NULL past the last. */
FERRY_API const char *ferry_model_graph_at(const ferry_model *model, int64_t i);
/**
 * Read a file of edges as the model's graph of that name into a domain that has its views.
 * Instances whose labels the model knows become instances of the domain, but
 * ferry_predict() answers only for those that were there before. Edges with ids that are
 * neither are left out with one warning. Where the model has no views and the domain is empty, all that the edges join
 * are the instances to answer for.
 */
FERRY_API ferry_status ferry_model_read_graph(ferry_ctx *ctx, const ferry_model *model,
                                              const char *graph, const char *path,
                                              const ferry_opts *opts, ferry_domain *domain);
FERRY_API void ferry_model_free(ferry_model *model);

#ifdef __cplusplus
}
#endif

#endif
