/* M-MLTL: the pieces of the method, one function per formula (mmltl.c has the method).
 *
 * In the paper's letters, samples are columns: Xs d x ns, Ys m x ns in {0, 1}, Xt d x nt.
 * Our matrices have one instance a row, so that Xs here is the paper's Xs'.
 *   G = Xs Ys'  (d x m)   how often each feature goes with each label
 *   delta = mean(Xs) - mean(Xt)  (d x 1)
 *   F(U, V) = |G - U V'|^2 + mu |U'delta|^2 + g1 |U|^2 + g2 |V|^2           (7)
 * with U d x g, V m x g. X M X' of (6) is delta delta', so neither is ever formed.
 *
 * With g >= m the problem has one minimum: for any Z the cheapest U V' = Z costs 2 sqrt(g2)
 * |A^1/2 Z|_*, A = g1 I + mu delta delta', and |G - Z|^2 + that is convex in Z. g > m adds
 * nothing but zero columns. mu = 0 has a closed form, the thresholded SVD of G. */
#ifndef FERRY_MMLTL_H
#define FERRY_MMLTL_H

#include "methods/shared/ranked.h"

/* One problem; all borrowed. */
typedef struct ferry_mmltl {
    const ferry_block *g;     /* d x m */
    const ferry_block *delta; /* d x 1 */
    double mu, g1, g2;        /* mu >= 0, also INFINITY for solve; g1, g2 > 0 */
} ferry_mmltl;

/* ---- steps (steps.c) ---- */

/* What the steps compute in; made once per problem and rank. Shapes by g, m and d of the
 * problem; O(d (m + g)) numbers. */
typedef struct ferry_mmltl_work {
    ferry_small *k, *shifted; /* g x g */
    ferry_small *gd;          /* m x 1: G'delta */
    ferry_small *z, *kz;      /* g x 1 */
    ferry_small *vt;          /* g x m */
    ferry_block *vk;          /* m x g */
    ferry_block *e;           /* d x m: G - U V' */
    ferry_block *t;           /* d x g */
    double delta2;            /* |delta|^2 */
} ferry_mmltl_work;
ferry_status ferry_i_mmltl_work_new(ferry_ctx *ctx, const ferry_mmltl *p, int64_t rank,
                                    ferry_mmltl_work **out);
void ferry_i_mmltl_work_free(ferry_mmltl_work *w);

/* V from U by (9), a g x g Cholesky solve. */
ferry_status ferry_i_mmltl_v_step(ferry_ctx *ctx, const ferry_mmltl *p, ferry_mmltl_work *w,
                                  const ferry_block *u, ferry_block *v);
/* U from V by (11), exactly, with two g x g Cholesky factors. */
ferry_status ferry_i_mmltl_u_step(ferry_ctx *ctx, const ferry_mmltl *p, ferry_mmltl_work *w,
                                  const ferry_block *v, ferry_block *u);
/* The same as the paper says it: (11) as a d x d Sylvester equation (Bartels and Stewart).
 * Allocates; for comparison. */
ferry_status ferry_i_mmltl_u_step_sylvester(ferry_ctx *ctx, const ferry_mmltl *p,
                                            const ferry_block *v, ferry_block *u);
/* F(U, V). */
double ferry_i_mmltl_objective(ferry_ctx *ctx, const ferry_mmltl *p, ferry_mmltl_work *w,
                               const ferry_block *u, const ferry_block *v);
/* How far from a minimum: kkt[0] |g1 U + mu delta delta'U - (G - UV')V|, kkt[1]
 * |g2 V - (G - UV')'U|. */
void ferry_i_mmltl_kkt(ferry_ctx *ctx, const ferry_mmltl *p, ferry_mmltl_work *w,
                       const ferry_block *u, const ferry_block *v, double kkt[2]);

/* ---- whole solutions (solve.c) ---- */

/* How a solution went. */
typedef struct ferry_mmltl_found {
    int64_t sweeps;
    double kkt, objective; /* kkt: relative to |G| */
    bool converged, finish;
} ferry_mmltl_found;
/* The paper's algorithm from the U given: `sweeps` times V, then U. sylvester: by the
 * reference U step. Stops early when progress says FINISH. O(d m g + d g^2) a sweep. */
ferry_status ferry_i_mmltl_sweeps(ferry_ctx *ctx, const ferry_mmltl *p, bool sylvester,
                                  int64_t sweeps, ferry_block *u, ferry_block *v,
                                  ferry_mmltl_found *found);
/* The minimum, in the span of G and delta, until max(kkt) <= tol |G|: by Newton's method
 * where g does not cut the rank, else by balanced sweeps. U d x g, V m x g for any g:
 * columns by decreasing singular value, the largest |V| of a column positive, zero from the
 * rank on. mu = INFINITY: U'delta = 0. */
ferry_status ferry_i_mmltl_solve(ferry_ctx *ctx, const ferry_mmltl *p, double tol,
                                 int64_t max_iter, ferry_block *u, ferry_block *v,
                                 ferry_mmltl_found *found);
/* The same by balanced sweeps alone: what tests compare it with. */
ferry_status ferry_i_mmltl_solve_plain(ferry_ctx *ctx, const ferry_mmltl *p, double tol,
                                       int64_t max_iter, ferry_block *u, ferry_block *v,
                                       ferry_mmltl_found *found);
/* Newton's method (newton.c) on a problem as it is, mu |delta|^2 > 0, G not 0 and g
 * not below the rank. Stops unconverged when it gets no further. */
ferry_status ferry_i_mmltl_newton(ferry_ctx *ctx, const ferry_mmltl *p, ferry_mmltl_work *w,
                                  double tol, int64_t max_iter, ferry_block *u,
                                  ferry_block *v, ferry_mmltl_found *found);

/* Z (r x m) = L S R' for blocks, workspaces made once. Owned by the struct. L is r x q, R
 * is m x q, both with orthonormal columns. */
typedef struct ferry_mmltl_parts {
    ferry_block *z;       /* r x m; destroyed by split */
    ferry_small *r_, *l_; /* m x q and r x q */
    double *s;            /* q = min(r, m), descending */
    int64_t q;
} ferry_mmltl_parts;
ferry_status ferry_i_mmltl_parts_new(ferry_ctx *ctx, int64_t r, int64_t m,
                                     ferry_mmltl_parts *p);
void ferry_i_mmltl_parts_clear(ferry_mmltl_parts *p);
/* From z to the parts; singular values that are rounding become 0: their roots would not be
 * small. */
ferry_status ferry_i_mmltl_split(ferry_ctx *ctx, ferry_mmltl_parts *p);
/* U (r x g) <- su L (S - less)_+^1/2, V (m x g) <- sv R (S - less)_+^1/2; zero past the
 * rank. */
void ferry_i_mmltl_spread(const ferry_mmltl_parts *p, double less, double su, double sv,
                          ferry_block *u, ferry_block *v);
/* Largest singular value of G, by which rho sets mu. */
ferry_status ferry_i_mmltl_sigma(ferry_ctx *ctx, const ferry_block *g, double *sigma);

/* ---- from data (relation.c) ---- */

/* The labels of the source, ns x m in {0, 1}; centre: G is made of features less their
 * mean. */
typedef struct ferry_mmltl_labels {
    int64_t ns, m;
    const uint8_t *on;
    bool centre;
} ferry_mmltl_labels;

/* G and delta of source features xs and target features xt (NULL: delta is the source's mean).
 * O(nnz m). */
ferry_status ferry_i_mmltl_relation(ferry_ctx *ctx, const ferry_matrix *xs,
                                    const ferry_mmltl_labels *y, const ferry_matrix *xt,
                                    ferry_block **g, ferry_block **delta);

typedef enum ferry_mmltl_shrink {
    FERRY_SHRINK_NONE,
    FERRY_SHRINK_JS,  /* delta (1 - sum v / |delta|^2)_+: only mu changes by it */
    FERRY_SHRINK_SOFT /* delta_j (1 - v_j / delta_j^2)_+: the direction, too */
} ferry_mmltl_shrink;
/* delta less its noise, v_j = var_s_j / ns + var_t_j / nt. */
ferry_status ferry_i_mmltl_shrink(ferry_ctx *ctx, ferry_mmltl_shrink how,
                                  const ferry_matrix *xs, const ferry_matrix *xt,
                                  ferry_block *delta);

/* The same problem in the space of a kernel (learn/kernel.h). With x the ns source rows and
 * then the target's, C = [Es Ys' | 1_s/ns - 1_t/nt] (Es takes the source, less its mean when
 * centre), H = C'K C = E w E': g and delta are G and delta in coordinates (r x m, r x 1),
 * and latent(x) = Ur' map' k(X, x) with map = C E w^-1/2 (n x r); kmap = K map. O(n^2 (d +
 * m)). To be cleared in any case. */
typedef struct ferry_mmltl_kernel {
    ferry_block *g, *delta, *map, *kmap;
} ferry_mmltl_kernel;
ferry_status ferry_i_mmltl_kernel_new(ferry_ctx *ctx, double gamma, const ferry_matrix *x,
                                      const ferry_mmltl_labels *y, ferry_mmltl_kernel *out);
void ferry_i_mmltl_kernel_clear(ferry_mmltl_kernel *k);

/* ---- whether to transfer at all (gate.c) ---- */

/* How likely so large a distance of the means is without a shift, of 99 random divisions of the rows: (c + 1) / 100.
 * factor (may be NULL): what the features are still to be multiplied by. */
ferry_status ferry_i_mmltl_shift(ferry_ctx *ctx, const ferry_matrix *xs,
                                 const ferry_matrix *xt, const double *factor, double *p);
/* Ranking loss over 5 folds of the source: of a RankSVM on the features, and on the subspace
 * without the mean term. Of more than 1500 rows about as many are looked at. */
ferry_status ferry_i_mmltl_choose(ferry_ctx *ctx, const ferry_ranksvm_options *o,
                                  const ferry_matrix *x, const ferry_mmltl_labels *y,
                                  double loss[2]);
/* Mean and inverse deviation of latent features into s, whose two are zero on entry; a constant one is only shifted. */
void ferry_i_mmltl_measure(const ferry_block *zs, ranked *s);

/* ---- the model (model.c) ---- */

/* latent(x) = (U'x - mean) o inv_sd, or with a kernel (coef'k(X, x) - mean) o inv_sd; u of
 * the first part holds U (d x g) or coef (n x g). */
typedef struct ferry_mmltl_model {
    ranked r;        /* first: what methods share that end in a RankSVM */
    ferry_matrix *x; /* the instances of the kernel, or NULL */
    double gamma;    /* of the kernel */
} ferry_mmltl_model;
/* The functions of the descriptor (methods/method.h). */
ferry_status ferry_i_mmltl_predict(ferry_ctx *ctx, const void *model, const ferry_domain *d,
                                   ferry_prediction *p);
void ferry_i_mmltl_file(ferry_io *io, void *model);
void ferry_i_mmltl_model_free(void *model);

#endif
