/* Oracles: what the library computes fast, written down from the formulas alone. They are
 * slow, dense and obvious, share no step with the code that they judge, and live with the
 * tests because nothing else calls them. */
#ifndef FERRY_ORACLE_H
#define FERRY_ORACLE_H

#include "learn/nmtf.h"
#include "learn/trees.h"
#include "methods/gbc/gbc.h"
#include "methods/mmltl/mmltl.h"

/* nmtf_plain.c: one iteration of the coupled tri-factorisation (learn/nmtf.h), entry by
 * entry, and L of the present state. Memory: every view dense. */
ferry_status oracle_nmtf_step(ferry_ctx *ctx, ferry_nmtf *n, const ferry_nmtf_options *o);
ferry_status oracle_nmtf_objective(ferry_ctx *ctx, const ferry_nmtf *n,
                                   ferry_nmtf_loss loss, double *objective);

/* gbc_plain.c. et <- Et_i (logistic and soft: of probabilities), 0 where has[x] is 0. */
void oracle_gbc_neighbours(const gbc_problem *g, int64_t i, const double *f,
                           const double *wg, double *et, uint8_t *has);
/* Mean disagreement over the edges of every graph; NaN without edges. */
void oracle_gbc_graph_loss(const gbc_problem *g, double *const *f, const double *w,
                           double *loss);

/* mmltl_gap.c: |A^-1/2 (G - UV')|_2 - sqrt(g2), A = g1 I + mu delta delta': at most
 * rounding at the minimum over all ranks. */
ferry_status oracle_mmltl_gap(ferry_ctx *ctx, const ferry_mmltl *p, const ferry_block *u,
                              const ferry_block *v, double *gap);

/* tree_plain.c: the tree that at every node takes the split of largest gain among all
 * thresholds in the middle between two values of the data, the first of equals. A row with
 * c = 0 counts for nothing but the thresholds. */
ferry_status oracle_tree(ferry_ctx *ctx, const ferry_tree_options *o,
                         const ferry_tree_data *d, const double *z, const double *c,
                         ferry_tree **out);

#endif
