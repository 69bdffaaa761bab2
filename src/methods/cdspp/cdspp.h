/* CDSPP: cross-domain structure preserving projection (Wang and Breckon, Cross-Domain
 * Structure Preserving Projection for Heterogeneous Domain Adaptation, Pattern
 * Recognition 2022). A source and a target without common features get one space in
 * which the classes of both fall together,
 *
 *   A P = (B + alpha I) P Lambda,   P = [Ps; Pt],
 *
 * where A draws samples of a class together across the domains and B within each. A row
 * x of the source goes to Ps'x, one of the target to Pt'x. For the goal classify a
 * learner is trained on the projected rows of both.
 *
 * The method is its paper: there is no other mode. The problem in full and its exact
 * solution are learn/cdspp.h and .c, which hetomtl shares; cdspp.c has options, fit and
 * descriptor, model.c predictions, embeddings and the file. */
#ifndef FERRY_CDSPP_H
#define FERRY_CDSPP_H

#include "learn/cdspp.h"
#include "learn/learner.h"
#include "methods/method.h"
#include "prepare/prepare.h"

/* What is kept. Owns all its parts. */
typedef struct cdspp_model {
    ferry_goal goal;
    int64_t k;                /* classes */
    ferry_prepared *prepared; /* views: the target's; goal embed: and the source's */
    ferry_block *ps, *pt;     /* ds x rank, dt x rank */
    ferry_learner *learner;   /* goal classify */
} cdspp_model;

/* z (rows x rank) <- X P, the rows of prepared x where they go. */
ferry_status ferry_i_cdspp_project(ferry_ctx *ctx, const ferry_matrix *x,
                                   const ferry_block *p, ferry_matrix **z);

/* As the members of ferry_method of these names. */
void ferry_i_cdspp_free(void *state);
ferry_status ferry_i_cdspp_predict(ferry_ctx *ctx, const void *state, const ferry_domain *d,
                                   ferry_prediction *p);
ferry_status ferry_i_cdspp_transform(ferry_ctx *ctx, const void *state,
                                     const ferry_domain *d, ferry_prediction *p);
void ferry_i_cdspp_file(ferry_io *io, void *state);

#endif
