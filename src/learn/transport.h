/* Optimal transport between n rows and m columns of equal masses, exactly
 * (transport.c). */
#ifndef FERRY_TRANSPORT_H
#define FERRY_TRANSPORT_H

#include "learn/learner.h"

/* Tree solutions; between calls it stays where it is, so that costs that change
 * little take little. */
typedef struct transport transport;
transport *transport_new(scope *s, int64_t n, int64_t m);
/* The least of sum_ij c_ij t_ij over t >= 0 with rows that sum to 1 / n and
 * columns to 1 / m; c is n x m, row after row, finite. */
double transport_solve(scope *s, transport *t, const double *c);
/* The plan: its cells (n + m - 1 at most). */
typedef struct cell {
    int32_t row, column;
    double share;
} cell;
int64_t transport_plan(const transport *t, const cell **cells);

/* ---- what domains say to each other by it ---- */

/* Rows of a domain in the order of their keys: with a label, and if `all`
 * others, up to `most`; evenly taken. */
int64_t *transport_rows(scope *s, const domain *d, bool all, int64_t most, int64_t *n);
/* As they are meant: what centring still takes off is off. Dense. */
block transport_values(scope *s, const view *v, int64_t n, const int64_t *rows);

/* A model: rows of the target with the shares that came to them; a new row has
 * those of the nearest. */
typedef struct transported {
    int64_t rows;
    matrix x;    /* rows x columns of the target's view */
    block share; /* rows x classes */
} transported;
extern const table transported_table;
/* cells: a plan of n rows of the source with classes cls to the target's rows;
 * labels of the target stay. */
void transported_fit(scope *s, scope *keep, const problem *p, int64_t n_cells,
                     const cell *cells, const int32_t *cls, int64_t n, const int64_t *rows,
                     transported *to);
void transported_scores(scope *s, const void *state, const domain *d, block out);

#endif
