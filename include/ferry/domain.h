/* Domains: a named bundle of views, graphs, ratings and labels over instances with ids. */
#ifndef FERRY_DOMAIN_H
#define FERRY_DOMAIN_H

#include "ferry/data.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum ferry_role {
    FERRY_SOURCE = 0,
    FERRY_INTERMEDIATE = 1,
    FERRY_TARGET = 2
} ferry_role;

/** Opaque. */
typedef struct ferry_domain ferry_domain;

FERRY_API ferry_status ferry_domain_new(ferry_ctx *ctx, const char *name, ferry_role role,
                                        ferry_domain **out);
FERRY_API void ferry_domain_free(ferry_domain *domain);
FERRY_API const char *ferry_domain_name(const ferry_domain *domain);
/** Number of instances with a label (of a domain with ratings: pairs with a value). */
FERRY_API int64_t ferry_domain_labels(const ferry_domain *domain);

/** Write a view as ferry_write() writes a file: rows with their ids, names of features and
 * the labels that the domain has for them. view NULL: the only one. Cost: one pass over it.
 * @return FERRY_EINVAL when there is no such view, or the format cannot hold it */
FERRY_API ferry_status ferry_domain_write(ferry_ctx *ctx, const ferry_domain *domain,
                                          const char *view, const char *path,
                                          const ferry_opts *opts);

/**
 * Add instances, of which nothing else is known yet: predictions come in the order in which instances
 * were added first, and an instance that no edge names is one nevertheless.
 *
 * @param ids  n of them, unique; those that are there already stay where they are. NULL: the row
 *             numbers from 1
 */
FERRY_API ferry_status ferry_domain_add_instances(ferry_ctx *ctx, ferry_domain *domain,
                                                  int64_t n, const char *const *ids);

/**
 * Add a view. Instances are joined by id with those of earlier views; views need not cover
 * all of them.
 *
 * @param name      name of the view, unique in the domain
 * @param x         NaN is a missing cell (dense only), Inf is refused
 * @param ids       one per row, unique; NULL: the row numbers from 1
 * @param features  one name per column, or NULL
 * @param borrow    NULL: x is copied. Else the view reads the caller's numbers until the domain and all that was made of
 *                  it (tasks, splits) are freed: of a dense array, which needs ld = cols, all; of a sparse one index and
 *                  value (starts, 8 bytes a row, are copied)
 */
FERRY_API ferry_status ferry_domain_add_dense(ferry_ctx *ctx, ferry_domain *domain,
                                              const char *name, const ferry_array *x,
                                              const char *const *ids,
                                              const char *const *features,
                                              const ferry_borrow *borrow);
FERRY_API ferry_status ferry_domain_add_sparse(ferry_ctx *ctx, ferry_domain *domain,
                                               const char *name, const ferry_sparse *x,
                                               const char *const *ids,
                                               const char *const *features,
                                               const ferry_borrow *borrow);
/** Add what a file held: a view, a graph, labels or ratings. Copied. The labels that come
 * with a view are taken unless some were set; those of several views add up, and
 * FERRY_EDATA says that two of them differ. */
FERRY_API ferry_status ferry_domain_add_data(ferry_ctx *ctx, ferry_domain *domain,
                                             const char *name, const ferry_data *data);
/** Add an undirected graph: edge e joins from[e] and to[e] with weight[e] >= 0 (NULL: 1).
 * Repeated edges add up. Edges of an instance with itself, and edges that name ids which
 * are no instances, are left out with one warning each; in a domain that is still empty the
 * ids become its instances. */
FERRY_API ferry_status ferry_domain_add_graph(ferry_ctx *ctx, ferry_domain *domain,
                                              const char *name, int64_t edges,
                                              const char *const *from,
                                              const char *const *to, const double *weight);

/** Class labels of n instances by id; a NULL label is missing. Names are compared as texts: "1"
 * and "1.0" are two classes. ids NULL: the rows of the domain's only view in order, n of them;
 * with several views or none, row numbers from 1. */
FERRY_API ferry_status ferry_domain_set_classes(ferry_ctx *ctx, ferry_domain *domain,
                                                int64_t n, const char *const *ids,
                                                const char *const *labels);
/** Numbers to predict; NaN is missing. Where a goal wants classes they are called by their digits
 * if whole (1.0 is "1"), else by the shortest text that reads back. */
FERRY_API ferry_status ferry_domain_set_numbers(ferry_ctx *ctx, ferry_domain *domain,
                                                int64_t n, const char *const *ids,
                                                const double *values);
/** Label sets: on[i * m + k] is 1 when instance i has label k; names has m entries. */
FERRY_API ferry_status ferry_domain_set_labelsets(ferry_ctx *ctx, ferry_domain *domain,
                                                  int64_t n, const char *const *ids,
                                                  int64_t m, const char *const *names,
                                                  const uint8_t *on);
/** How much instances count in a fit: weight 2 is the instance twice, 0 is none; others count 1. It replaces
 * earlier weights. ids NULL: the rows of the domain's only view in order, n of them. What learners alone do
 * (`svm`, `logreg`, `ridge`, `knn`, `gbdt`, ...) takes them; other methods refuse a task with weights
 * (FERRY_ENEEDS). An evaluation's scores count every instance once.
 * @return FERRY_EDATA where a weight is below 0 or not finite, all are 0, or an id is no instance */
FERRY_API ferry_status ferry_domain_set_weights(ferry_ctx *ctx, ferry_domain *domain,
                                                int64_t n, const char *const *ids,
                                                const double *weights);
/** Observed ratings of users for items; a NaN value is a pair to be predicted. */
FERRY_API ferry_status ferry_domain_set_ratings(ferry_ctx *ctx, ferry_domain *domain,
                                                int64_t n, const char *const *users,
                                                const char *const *items,
                                                const double *values);
/** Which labels of a target a method may see: "all" (an evaluation scores by repeated cross-validation on them; what a task
 * file means that does not say), "none" (the default here), "25", "0.1", "per_class:3"
 * (of every class), "per_class:3,classes:7" (of 7 classes, drawn anew in each repeat; the
 * others have none) or "ids:FILE". */
FERRY_API ferry_status ferry_domain_set_labelled(ferry_ctx *ctx, ferry_domain *domain,
                                                 const char *spec);

#ifdef __cplusplus
}
#endif

#endif
