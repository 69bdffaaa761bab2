/* The matrix of collective component analysis (consensus.c): views and graphs of the same instances in one
 * eigenproblem. Letters as in the thesis, with rows for instances:
 *
 *   X_j   m x d_j   view j, centred and scaled (p of them, D columns in all)
 *   W     m x m     sum_t wt_t M_t of the graphs
 *   H     D x D     blocks a_j X_j'X_j + X_j'WX_j on the diagonal, b X_j'X_h beside it */
#ifndef FERRY_CONSENSUS_H
#define FERRY_CONSENSUS_H

#include "learn/views.h"

/* W, each graph first D^-1/2 M D^-1/2 when sym, as one CSR matrix; n graphs, at least one. */
matrix merge_graphs(scope *s, int n, const graph *g, const double *wt, bool sym);

/* Everything is borrowed. */
typedef struct consensus {
    int64_t p;
    const scaled_view *x;
    const double *f; /* p: view j counts as f_j X_j; NULL: 1 */
    const double *a; /* p */
    double b;
    matrix w; /* W; m NULL: no graphs */
    int q;    /* the graphs that W was made of, where they are at hand: */
    const graph *g;
    const double *wt;
    bool sym;
    const char *name;   /* for progress; NULL: none */
    bool products_only; /* H is never written out */
} consensus;

/* H for products with one vector (linalg/packed.h); NULL: it does not suit (a dense view, more than 8 of them). */
struct ferry_consensus *consensus_pack(scope *s, const consensus *c);
int64_t consensus_size(const consensus *c); /* D, after compression */
small consensus_matrix(scope *s, const consensus *c);
/* U, D x d: eigenvectors of the d algebraically largest eigenvalues, which go to `values`, descending. A product with H
 * costs 2 m D + p nnz(W) operations, and H is not written out beyond 1500 columns. products (may be NULL): how many. */
block consensus_solve(scope *s, const consensus *c, int64_t d, double *values,
                      int64_t *products);
/* Graphs alone (4.11): m x d, of K W K, K = I - 11'/m; rows as those of W. */
block consensus_relational(scope *s, matrix w, int64_t d, double *values);

#endif
