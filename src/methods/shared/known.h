/* What a method that answers by neighbours keeps: the labels it knows, by instance id, and
 * the graphs, by name. For gbc and the baselines that use graphs. */
#ifndef FERRY_KNOWN_H
#define FERRY_KNOWN_H

#include "learn/outputs.h"
#include "methods/method.h"
#include "methods/shared/base.h"

/* All of it is owned. Zeroed is a valid state that knows nothing; clear takes it so. */
typedef struct known_labels {
    int64_t classes;   /* entries of an answer */
    ferry_ids *graphs; /* names; without any nothing else is kept */
    ferry_ids *ids;    /* labelled instances */
    double *truth;     /* ids x classes: their answers, as they should be */
    double *prior;     /* classes: the mean of those */
} known_labels;

/* Of the domain's labelled instances, with their scores y (n x k). */
ferry_status ferry_i_known_new(ferry_ctx *ctx, const ferry_domain *t,
                               const ferry_outputs *o, const double *y,
                               const uint8_t *labelled, known_labels *k);
void ferry_i_known_clear(known_labels *k);
/* at (n): the place of each instance of d among the known, or -1. */
void ferry_i_known_places(const known_labels *k, const ferry_domain *d, int64_t *at);
/* start (n x classes) <- truth where the label is known, else the prior. */
void ferry_i_known_start(const known_labels *k, int64_t n, const int64_t *at,
                         double *start);
/* The graphs that the domain has, with their shares of the weights wg (one a name; NULL:
 * equal), *q of them; graph and w (may be NULL) are new. A domain with one graph for a model with one
 * need not call it the same. */
ferry_status ferry_i_known_graphs(ferry_ctx *ctx, const known_labels *k, const double *wg,
                                  const ferry_domain *d, ferry_matrix ***graph, double **w,
                                  int64_t *q);
/* FERRY_ENEEDS unless the domain has all the graphs that a model was fitted with: without
 * one the answer would be another. */
ferry_status ferry_i_known_need(ferry_ctx *ctx, const char *method, const ferry_ids *graphs,
                                const ferry_domain *d);
/* Tensors "graphs", and where there are graphs "known" (ids) and "truth" (ids x classes).
 * The prior follows from these and is not saved. */
void ferry_i_known_file(ferry_io *io, int64_t classes, known_labels *k);
/* All of a classifier's preparation, classes and known labels, with graphs: for ica, sgc and correct-smooth. */
void ferry_i_known_base_file(ferry_io *io, base *b, ferry_outputs *o, known_labels *k);

#endif
