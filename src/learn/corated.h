/* What was rated together: seven features of a pair (i, j) that mean the same in every domain, made of the residuals e of
 * the biases M0 (vb.h, rank 0, n0 = 0; C, D: how often two items, two users were rated together, over
 * sqrt((n + 1)(n' + 1)), 0 on the diagonal; B: 1 where there is a rating):
 *
 *   1  z_j (1 - n_j / (n_j + s2 / vb)),  z = log(1 + n_j) less its mean over the ratings
 *   2  slope of user i on z, ridge s2 / .05, times z_j
 *   3  slope of user i on b, ridge s2 / .2, times b_j
 *   4  a_i b_j
 *   5  (E C) / (B C + .3)
 *   6  (D E) / (D B + .3)
 *   7  (E S) / (B |S| + .3),  S: correlation of the residuals of two items times
 *      n / (n + 10), n how often they were rated together
 *
 * A rating then is what a model gives and unit * <w, features>. C, D and S are never made as a whole: a row of them
 * stands for a moment, for an item or a user that is asked about. */
#ifndef FERRY_CORATED_H
#define FERRY_CORATED_H

#include "learn/vb.h"

enum { CORATED = 7 };
extern const char *const corated_names[CORATED];

typedef struct corated {
    double w[CORATED], unit;
    int64_t users, items; /* of the residuals: who comes later has none */
    matrix e,
        et; /* residuals in units of the ratings' deviation; et, and what follows, from e */
    double s2, vb, zbar;
    double *a, *b;             /* of M0: users, items */
    double *z;                 /* items */
    double *slope_z, *slope_b; /* users */
} corated;
extern const table corated_table;

/* M0 of r, whose ratings are all here, and what follows from it, in keep, which may be s. The weights are 0 and the unit
 * is the ratings' deviation. *mu (may be NULL): M0 is mu + unit (a + b). */
corated corated_new(scope *s, scope *keep, const ratings *r, double *mu);
corated corated_copy(scope *keep, const corated *from);
/* f (n x CORATED) <- those of the pairs; user or item -1, or beyond the residuals: never seen. All processes ask for the
 * same pairs; `here` (NULL: all) has which users and items each of them looks at. */
void corated_features(scope *s, const corated *m, const ratings *here, int64_t n,
                      const int64_t *user, const int64_t *item, double *f);
/* value[e] += unit <w, features> for all pairs. */
void corated_add(scope *s, const corated *m, int64_t n, const int64_t *user,
                 const int64_t *item, double *value);

#endif
