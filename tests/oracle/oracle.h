/* Oracles: what the library computes fast, written down from the formulas alone. They are
 * slow, dense and obvious, share no step with the code that they judge, and live with the
 * tests because nothing else calls them. */
#ifndef FERRY_ORACLE_H
#define FERRY_ORACLE_H

#include "learn/mmd.h"
#include "learn/nmtf.h"

/* nmtf_plain.c: one iteration of the coupled tri-factorisation (learn/nmtf.h), entry by
 * entry, and L of the present state. Memory: every view dense. */
void oracle_nmtf_step(scope *s, nmtf *n, const nmtf_options *o);
double oracle_nmtf_objective(scope *s, nmtf *n, nmtf_loss loss);

/* mmltl_gap.c: |A^-1/2 (G - UV')|_2 - sqrt(g2), A = g1 I + mu delta delta': at most
 * rounding at the minimum over all ranks. */
double oracle_mmltl_gap(scope *s, const mmd_problem *p, block u, block v);

#endif
