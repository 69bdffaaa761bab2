/* Baselines on graphs: the labels they know, by instance id, and the graphs by name. */
#ifndef FERRY_KNOWN_H
#define FERRY_KNOWN_H

#include "methods/gbc/gbc.h"

typedef struct known {
    gbc_goal goal;
    ferry_ids *ids;    /* labelled instances */
    double *truth;     /* ids x classes: their answers */
    double *prior;     /* classes: the mean of those */
    ferry_ids *graphs; /* names */
} known;

ferry_status ferry_i_known_new(ferry_ctx *ctx, const ferry_task *task, known *k);
void ferry_i_known_clear(known *k);
/* start (n x classes) <- truth where the label is known, else the prior; at (n): the place
 * of each instance among the known, or -1. */
void ferry_i_known_start(const known *k, const ferry_domain *d, double *start, int64_t *at);
/* The graphs that the domain has, for ferry_i_free(); *q of them. A domain with one graph
 * for a model with one need not call it the same. */
ferry_status ferry_i_known_graphs(ferry_ctx *ctx, const known *k, const ferry_domain *d,
                                  ferry_matrix ***graph, int64_t *q);
ferry_status ferry_i_known_save(ferry_ctx *ctx, const known *k, ferry_dict *dict);
ferry_status ferry_i_known_load(ferry_ctx *ctx, const ferry_dict *dict, known *k);

#endif
