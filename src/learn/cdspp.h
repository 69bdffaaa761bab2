/* CDSPP: cross-domain structure preserving projection (Wang and Breckon, Cross-domain
 * structure preserving projection for heterogeneous domain adaptation, Pattern Recognition
 * 2022; the letters are those of the HetOMTL-CDSPP paper of 2023).
 *
 * Xs (ds x ns) and Xt (dt x nt) are labelled samples in columns, Ys and Yt their classes
 * as 0 and 1, cs_k and ct_k the class counts, Ms = Xs Ys and Mt = Xt Yt class sums. P =
 * [Ps; Pt] are the leading solutions of
 *
 *   A P = (B + alpha I) P Lambda,   P'(B + alpha I) P = I,
 *   A = [0, Ms Mt'; Mt Ms', 0],  B = blockdiag(Xs Ls Xs', Xt Lt Xt'),
 *   Ls = diag(cs_k + ct_k / 2) - Ys Ys',  Lt = diag(ct_k + cs_k / 2) - Yt Yt'.
 *
 * A draws samples of one class together across the domains, B holds them together within
 * each, alpha keeps P small. A has rank at most twice the number of classes that both have,
 * and at most that many eigenvalues are positive: the dimensions there are.
 */
#ifndef FERRY_LEARN_CDSPP_H
#define FERRY_LEARN_CDSPP_H

#include "linalg/linalg.h"

/* One domain, labelled; borrowed. */
typedef struct cdspp_side {
    const ferry_matrix *x; /* samples in rows: n x d; finite */
    const int32_t *y;      /* n, in 0..k-1 */
} cdspp_side;

/* s and t need not have the same features, nor the same classes among the k. */
typedef struct cdspp_problem {
    cdspp_side s, t;
    /* classes of both together */
    int64_t k;
    double alpha; /* > 0 */
} cdspp_problem;

#endif
