/* A subspace from how features go with labels, in which the means of two domains are close (M-MLTL's problem).
 *
 * In the paper's letters samples are columns: Xs d x ns, Ys m x ns in {0, 1}, Xt d x nt. Our matrices have one instance
 * a row, so that Xs here is the paper's Xs'.
 *   G = Xs Ys'  (d x m)   how often each feature goes with each label
 *   delta = mean(Xs) - mean(Xt)  (d x 1)
 *   F(U, V) = |G - U V'|^2 + mu |U'delta|^2 + g1 |U|^2 + g2 |V|^2           (7)
 * with U d x g, V m x g. X M X' of (6) is delta delta', so neither is ever formed.
 *
 * With g >= m the problem has one minimum: for any Z the cheapest U V' = Z costs 2 sqrt(g2) |A^1/2 Z|_*,
 * A = g1 I + mu delta delta', and |G - Z|^2 + that is convex in Z. g > m adds nothing but zero columns. mu = 0 has a
 * closed form, the thresholded SVD of G. */
#ifndef FERRY_MMD_H
#define FERRY_MMD_H

#include "linalg/ops.h"

typedef struct mmd_problem {
    block g;           /* d x m */
    block delta;       /* d x 1 */
    double mu, g1, g2; /* mu >= 0, also INFINITY for mmd_solve(); g1, g2 > 0 */
} mmd_problem;

/* ---- from data (mmd_data.c) ---- */

/* The labels of the source, ns x m in {0, 1}; centre: G is made of features less their mean. */
typedef struct mmd_labels {
    int64_t ns, m;
    const uint8_t *on;
    bool centre;
} mmd_labels;

/* G and delta of source features xs and target features xt (m NULL: delta is the source's mean); the weights are 0.
 * O(nnz m). */
mmd_problem mmd_relation(scope *s, matrix xs, const mmd_labels *y, matrix xt);

typedef enum mmd_shrinking {
    SHRINK_NONE,
    SHRINK_JS,  /* delta (1 - sum v / |delta|^2)_+: only mu changes by it */
    SHRINK_SOFT /* delta_j (1 - v_j / delta_j^2)_+: the direction, too */
} mmd_shrinking;
/* delta less its noise, v_j = var_s_j / ns + var_t_j / nt. */
void mmd_shrink(scope *s, mmd_shrinking how, matrix xs, matrix xt, block delta);

/* The same problem in the space of a kernel (learn/kernel.h). With x the ns source rows and then the target's,
 * C = [Es Ys' | 1_s/ns - 1_t/nt] (Es takes the source, less its mean when centre), H = C'K C = E w E': p has G and delta
 * in coordinates (r x m, r x 1), and latent(x) = Ur' map' k(X, x) with map = C E w^-1/2 (n x r); kmap = K map.
 * O(n^2 (d + m)). */
typedef struct mmd_kernel {
    mmd_problem p;
    block map, kmap;
} mmd_kernel;
mmd_kernel mmd_kernel_new(scope *s, double gamma, matrix x, const mmd_labels *y);

/* ---- steps (mmd.c) ---- */

/* What the steps compute in; made once per problem and g. O(d (m + g)) numbers. */
typedef struct mmd_work {
    small k, shifted; /* g x g */
    small gd;         /* m x 1: G'delta */
    small z, kz;      /* g x 1 */
    small vt;         /* g x m */
    block vk;         /* m x g */
    block e;          /* d x m: G - U V' */
    block t;          /* d x g */
    double delta2;    /* |delta|^2 */
} mmd_work;
mmd_work mmd_work_new(scope *s, const mmd_problem *p, int64_t g);

/* V from U by (9), a g x g Cholesky solve. */
void mmd_v_step(scope *s, const mmd_problem *p, const mmd_work *w, block u, block v);
/* U from V by (11), exactly, with two g x g Cholesky factors. */
void mmd_u_step(scope *s, const mmd_problem *p, const mmd_work *w, block v, block u);
/* The same as the paper says it: (11) as a d x d Sylvester equation (Bartels and Stewart). */
void mmd_u_step_sylvester(scope *s, const mmd_problem *p, block v, block u);
/* F(U, V). */
double mmd_objective(scope *s, const mmd_problem *p, const mmd_work *w, block u, block v);
/* How far from a minimum, the larger of |g1 U + mu delta delta'U - (G - UV')V| and |g2 V - (G - UV')'U|. */
double mmd_gradient(scope *s, const mmd_problem *p, const mmd_work *w, block u, block v);
/* Largest singular value of G, by which rho sets mu. */
double mmd_sigma(scope *s, block g);

/* ---- the minimum (mmd.c, mmd_newton.c) ---- */

typedef struct mmd_solver {
    double tol;       /* largest gradient, relative to |G| */
    int64_t max_iter; /* steps */
    bool plain;       /* by balanced sweeps alone: what tests compare with */
    const char *what; /* of progress */
} mmd_solver;
/* How a solution went. */
typedef struct mmd_found {
    int64_t sweeps;
    double kkt, objective; /* kkt: gradient relative to |G| */
    bool converged, finish;
} mmd_found;
/* The minimum, in the span of G and delta: by Newton's method where g does not cut the rank, else by balanced sweeps.
 * U d x g, V m x g for any g: columns by decreasing singular value, the largest |V| of a column positive, zero from the
 * rank on. mu = INFINITY: U'delta = 0. */
mmd_found mmd_solve(scope *s, const mmd_problem *p, const mmd_solver *how, block u,
                    block v);
/* Newton's method on a problem as it is, mu |delta|^2 > 0, G not 0 and g not below the rank. Stops unconverged when it
 * gets no further. */
mmd_found mmd_newton(scope *s, const mmd_problem *p, const mmd_work *w,
                     const mmd_solver *how, block u, block v);

/* Z (r x m) = L S R'; L r x q, R m x q, both with orthonormal columns. */
typedef struct mmd_parts {
    block z;           /* r x m; destroyed by mmd_split() */
    small right, left; /* m x q and r x q */
    double *sigma;     /* q = min(r, m), descending */
    int64_t q;
} mmd_parts;
mmd_parts mmd_parts_new(scope *s, int64_t r, int64_t m);
/* From z to the parts; singular values that are rounding become 0: their square roots would not be small. */
void mmd_split(scope *s, const mmd_parts *p);
/* U (r x g) <- su L (S - less)_+^1/2, V (m x g) <- sv R (S - less)_+^1/2; zero past the rank. */
void mmd_factors(const mmd_parts *p, double less, double su, double sv, block u, block v);

#endif
