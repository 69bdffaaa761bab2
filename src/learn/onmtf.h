/* Masked non-negative tri-factorisation X ~ U B V' of ratings, mask M: F = |M o (X - U B V')|^2, U n x k, B k x l,
 * V m x l, by multiplicative updates with Xm = M o X and Xh = M o (U B V') of the newest factors,
 *
 *   U <- U o sqrt(Xm V B' / Xh V B')
 *   V <- V o sqrt(Xm'U B / Xh'U B)
 *   B <- B o sqrt(U'Xm V / U'Xh V)
 *
 * Sparse throughout: three passes over the ratings a sweep, each of which makes Xh at the ratings and multiplies with it
 * (and with Xm) at once. These are (3)-(5) of He et al., WSDM 2018, as they must read: the printed ones do not multiply,
 * since the mask does not commute with the trace, and the term of orthogonality is lost on the way. F then never grows,
 * but U is not orthogonal. */
#ifndef FERRY_ONMTF_H
#define FERRY_ONMTF_H

#include "learn/problem.h"

/* How U and V are updated: as above; with the Lagrange terms that keep columns orthogonal; or ONMTF's short form of them
 * (Ding et al., KDD 2006), which is right for full matrices and only for them. */
typedef enum onmtf_rule { RULE_PLAIN, RULE_ORTHOGONAL, RULE_DING } onmtf_rule;

/* All factors are non-negative. Ratings are all here. */
typedef struct onmtf {
    block u, v;
    small b;
    matrix h;     /* M o (U B V') after onmtf_error() */
    block vb, ub; /* V B' (m x k), U B (n x l) */
    block nu, du; /* n x k: numerator and denominator */
    block nv, dv; /* m x l */
    block cu, cv; /* n x k, m x l: further ones */
    block xu, hu; /* m x k: Xm'U, Xh'U */
    block hv;     /* n x l: Xh V */
    small kk, ll; /* k x k, l x l */
    small nb, db; /* k x l */
    double *norms;
} onmtf;
onmtf onmtf_new(scope *s, const ratings *x, int64_t k, int64_t l);
/* U, V and B in turn; ratio num / max(den, 1e-12). O(ratings (k + l) + (n + m) k l). */
void onmtf_sweep(scope *s, const ratings *x, onmtf_rule rule, onmtf *f);
/* F; leaves M o (U B V') in f->h. */
double onmtf_error(scope *s, const ratings *x, onmtf *f);
/* group[i] = argmax_c U_ic / |U_.c|, the lowest of equals: U, B and V have a free scale. */
void onmtf_groups(scope *s, block u, int32_t *group);

#endif
