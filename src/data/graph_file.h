/* Edges being gathered from a file; shared by the readers of edge lists and LINQS files. */
#ifndef FERRY_GRAPH_FILE_H
#define FERRY_GRAPH_FILE_H

#include "data/fields.h"

/* Ends are numbers among `nodes`. Direction is kept here and dropped by the domain. */
typedef struct ferry_edge {
    int32_t from, to;
    double weight;
} ferry_edge;

typedef struct ferry_edges {
    /* set it before the first edge; freed with the rest */
    ferry_ids *nodes;
    ferry_edge *e;
    int64_t n, cap;
    bool weighted; /* some weight is not 1 */
} ferry_edges;

/* Add one edge; nodes that are new get the next number. FERRY_EDATA beyond INT32_MAX
 * nodes. */
ferry_status ferry_i_edges_add(ferry_ctx *ctx, ferry_edges *g, const ferry_field *from,
                               const ferry_field *to, double weight);
/* Move what was gathered into d. */
ferry_status ferry_i_edges_give(ferry_ctx *ctx, ferry_edges *g, ferry_data *d);
void ferry_i_edges_free(ferry_edges *g);

#endif
