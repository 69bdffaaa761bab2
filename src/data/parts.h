/* What the files about domains share among themselves: making, growing and freeing the
 * parts of a domain. */
#ifndef FERRY_PARTS_H
#define FERRY_PARTS_H

#include "data/data.h"

/* The n ids as a set; `what` begins the messages. FERRY_EINVAL for a NULL, FERRY_EDATA for
 * one that repeats. */
ferry_status ferry_i_ids_unique(ferry_ctx *ctx, const char *what, int64_t n,
                                const char *const *ids, ferry_ids **out);

/* A view without its places (row_of, instance). x is shared; features, read and idf (each
 * may be NULL) are copied. FERRY_EDATA when a cell is infinite, or NaN in a sparse x. */
ferry_status ferry_i_view_new(ferry_ctx *ctx, const char *name, ferry_matrix *x,
                              const ferry_ids *features, const ferry_opts *read,
                              const double *idf, ferry_view **out);
/* NULL is fine. The matrix goes when its last owner does. */
void ferry_i_view_free(ferry_view *v);

/* Edges between n instances; from and to are instances, or -1 for an edge to leave out.
 * Counts the self-loops. FERRY_EDATA when a weight is negative or not finite. */
ferry_status ferry_i_graph_new(ferry_ctx *ctx, const char *name, int64_t n, int64_t edges,
                               const int64_t *from, const int64_t *to, const double *weight,
                               int64_t *loops, ferry_graph **out);
/* The same edges among n instances, at least as many as there are. */
ferry_status ferry_i_graph_widen(ferry_ctx *ctx, const ferry_matrix *a, int64_t n,
                                 ferry_matrix **out);
void ferry_i_graph_free(ferry_graph *g);

/* What a domain becomes when instances are added. It is made whole first and put in place
 * after everything else has gone well, so a call that fails leaves the domain as it was. */
typedef struct ferry_growth {
    ferry_ids *ids; /* NULL: no instance is new */
    /* per view: the row of every instance, longer by the new ones */
    int64_t **row_of;
    /* per graph: its adjacency, widened to the new number of instances */
    ferry_matrix **a;
    /* missing for the new instances; NULL: the domain has none */
    ferry_labels *labels;
    int64_t known; /* how many of the ids were instances before */
    /* lengths of row_of and a */
    int64_t n_views, n_graphs;
} ferry_growth;

/* Find the instance of every id: at[i], new ones behind the old ones. */
ferry_status ferry_i_growth_plan(ferry_ctx *ctx, const ferry_domain *d,
                                 const ferry_ids *ids, int64_t *at, ferry_growth *g);
/* Number of instances once it is in place. */
int64_t ferry_i_growth_size(const ferry_domain *d, const ferry_growth *g);
/* Put it in place; nothing can fail here. d takes over what g holds, g is still to be
 * freed. */
void ferry_i_growth_apply(ferry_domain *d, ferry_growth *g);
void ferry_i_growth_free(ferry_growth *g);

/* FERRY_EINVAL when others share d already. */
ferry_status ferry_i_domain_changeable(ferry_ctx *ctx, const ferry_domain *d);

/* Make v a part of d, or free it. ids (one per row; NULL: row numbers from 1) are joined
 * with the instances there are. */
ferry_status ferry_i_domain_add_view(ferry_ctx *ctx, ferry_domain *d, const ferry_ids *ids,
                                     ferry_view *v);
/* Add edges between nodes by number; from and to are overwritten. Nodes that are no
 * instances are left out with a warning, unless d has no instance yet. */
ferry_status ferry_i_domain_add_edges(ferry_ctx *ctx, ferry_domain *d, const char *name,
                                      const ferry_ids *nodes, int64_t edges, int64_t *from,
                                      int64_t *to, const double *weight);

#endif
