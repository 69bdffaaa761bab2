/* Hard groups of users and items, and the rating pattern between them: x_ij ~ R[u(i), v(j)]. */
#ifndef FERRY_GROUPS_H
#define FERRY_GROUPS_H

#include "learn/problem.h"

/* R (k x l, one row after the other) with the groups of all users and items. */
typedef struct grouping {
    int64_t k, l;
    double *r;
    int32_t *u, *v;
} grouping;

/* R = (S + beta P) / (N + beta), with S and N the sum and number of a block's ratings; P_cd = row mean + column mean -
 * mean, both shrunken by beta. A block without ratings takes P. Ratings are all here. O(ratings). */
void block_means(scope *s, matrix x, const grouping *g, double beta);
/* Hard two-way k-means from the groups that are there: block means and nearest rows, then columns, at most `sweeps`
 * times or until nothing moves. Rows without ratings keep their group. The squared error F; R has no beta. */
double two_way_kmeans(scope *s, const ratings *x, const grouping *g, int64_t sweeps);

/* Which of several groupings are to be found anew, and how. */
typedef struct assigning {
    bool items;    /* columns; else rows */
    int64_t n, at; /* groupings; the one whose groups move */
    const grouping *g;
    const double *lambda; /* n */
    bool
        joint; /* what is fitted is x less the other groupings, each times its lambda; else x alone, lambda 1 */
    bool
        fill; /* rows without ratings go to the group that most of the others are in; else they stay */
} assigning;
/* u(i) = argmin_c sum_j (e_ij - lambda R[c, v(j)])^2 over the ratings of row i, the lowest of equals:
 *   cost_c = lambda^2 sum_d N_d R_cd^2 - 2 lambda sum_d S_d R_cd,
 * with N_d ratings of items in group d that sum up to S_d. O(ratings + users k l). */
void assign_groups(scope *s, const ratings *x, const assigning *a);
/* sum_n lambda_n R_n[u_n(i), v_n(j)], without grouping `skip` (-1: of all). */
double grouped_rating(int64_t n, const grouping *g, const double *lambda, int64_t skip,
                      int64_t i, int64_t j);
/* The group with the most members, the lowest of equals. */
int32_t largest_group(scope *s, int64_t n, const int32_t *group, int64_t k);

#endif
