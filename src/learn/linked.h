/* How much views and graphs of the same instances count, by links between instances, by labels, or by what views share
 * (linked.c). For coca (thesis, section 4.4.4). */
#ifndef FERRY_LINKED_H
#define FERRY_LINKED_H

#include "learn/views.h"

/* Links between n of the instances: C (n x n) is 1 (must), -1 (cannot) or 0       (4.15) */
typedef struct links {
    int64_t n, must, cannot; /* entries of C that are 1, -1 */
    int64_t *row;            /* n, among the rows of all processes */
    double *c;
} links;
/* A link as a file has it: two rows, and above or below 0. */
typedef struct linked_pair {
    int64_t a, b;
    double w;
} linked_pair;
/* From labels, or pairs; of at most `most` instances. */
links links_of_labels(scope *s, const domain *d, int64_t most);
links links_of_pairs(scope *s, const domain *d, int64_t n, const linked_pair *p,
                     int64_t most);
/* Those among one half of the instances and among the other: to learn from, and to judge by. */
void links_halves(scope *s, const links *l, links *a, links *b);
static inline bool links_of_both_kinds(const links *l)
{
    return l->must > 0 && l->cannot > 0;
}

/* How the QP makes views comparable: the rows of Phi_k to unit length; not at all, as published. */
typedef enum view_norm { NORM_COSINE, NORM_PLAIN } view_norm;
/* K (p x p) and v (p) of the QP (4.19) from the views' own embeddings phi of the linked instances (n x any). balanced:
 * must-links together count as much as cannot-links. O(p^2 n^2). */
small links_qp(scope *s, const links *l, int64_t p, const block *phi, view_norm norm,
               bool balanced, double *v);
/* Weights of the p views, from the d principal components of each. */
double *weigh_views(scope *s, int64_t p, const scaled_view *x, int64_t d, const links *l,
                    view_norm norm, bool balanced);
/* Without links: equal weights of the views that share something with another one by their d principal components or
 * have fewer than 100 rows, 0 for the others; equal ones when none shares anything. */
double *views_that_agree(scope *s, int64_t p, const scaled_view *x, int64_t d);
/* Of the linked instances the share whose nearest linked one is a must-link. phi: rows as those of the views. */
double nearest_is_linked(scope *s, const links *l, block phi);

/* Of each graph: the share of edges within a class less the share among all pairs of labelled instances, at least 0;
 * brought to sum 1, equal where all are 0 or `lift` is not asked for. */
double *weigh_graphs(scope *s, const domain *d, int64_t classes, bool lift);
/* As published, by the QP of the views with E_t = 1 where graph t has an edge and -1 where it has none: the sparser graph
 * agrees with cannot-links. */
double *weigh_graphs_by_links(scope *s, const domain *d, const links *l);

#endif
