/* M-MLTL: the pieces of the method, one function per formula (mmltl.c has the method).
 *
 * In the paper's letters, samples are columns: Xs d x ns, Ys m x ns in {0, 1}, Xt d x nt.
 * Our matrices have one instance a row, so that Xs here is the paper's Xs'.
 *   G = Xs Ys'  (d x m)   how often each feature goes with each label
 *   delta = mean(Xs) - mean(Xt)  (d x 1)
 *   F(U, V) = |G - U V'|^2 + mu |U'delta|^2 + g1 |U|^2 + g2 |V|^2           (7)
 * with U d x g, V m x g. X M X' of (6) is delta delta', so neither is ever formed. */
#ifndef FERRY_MMLTL_H
#define FERRY_MMLTL_H

#include "learn/learn.h"
#include "linalg/linalg.h"

typedef struct ferry_mmltl {
    const ferry_block *g;     /* d x m */
    const ferry_block *delta; /* d x 1 */
    double mu, g1, g2;        /* mu >= 0, also INFINITY for solve; g1, g2 > 0 */
} ferry_mmltl;

/* ---- steps (mmltl_steps.c) ---- */

/* What the steps compute in; made once per problem and rank. */
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

/* ---- whole solutions (mmltl_solve.c) ---- */

/* The paper's algorithm from the U given: `sweeps` times V, then U. sylvester: by the
 * reference U step. Stops early when progress says FINISH; *done counts sweeps. */
ferry_status ferry_i_mmltl_sweeps(ferry_ctx *ctx, const ferry_mmltl *p, bool sylvester,
                                  int64_t sweeps, ferry_block *u, ferry_block *v,
                                  int64_t *done, double *objective, bool *finish);

typedef struct ferry_mmltl_found {
    int64_t sweeps;
    double kkt, objective; /* kkt: relative to |G| */
    bool converged, finish;
} ferry_mmltl_found;
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
/* Newton's method (mmltl_newton.c) on a problem as it is, mu |delta|^2 > 0, G not 0 and g
 * not below the rank. Stops unconverged when it gets no further. */
ferry_status ferry_i_mmltl_newton(ferry_ctx *ctx, const ferry_mmltl *p, ferry_mmltl_work *w,
                                  double tol, int64_t max_iter, ferry_block *u,
                                  ferry_block *v, ferry_mmltl_found *found);

/* Z (r x m) = L S R' for blocks, workspaces made once. */
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

/* ---- from data (mmltl_data.c) ---- */

typedef enum ferry_mmltl_shrink {
    FERRY_SHRINK_NONE,
    FERRY_SHRINK_JS,
    FERRY_SHRINK_SOFT
} ferry_mmltl_shrink;

/* G and delta. on: ns x m. centre: the source's mean is taken off first. */
ferry_status ferry_i_mmltl_relation(ferry_ctx *ctx, const ferry_matrix *xs, int64_t m,
                                    const uint8_t *on, const ferry_matrix *xt, bool centre,
                                    ferry_block **g, ferry_block **delta);
/* From G and delta of features as they are to those of (x - mean) o inv_sd. */
void ferry_i_mmltl_fold(const ferry_prep *prep, int64_t ns, int64_t m, const uint8_t *on,
                        bool centre, ferry_block *g, ferry_block *delta);
/* With v_j = var_s_j / ns + var_t_j / nt: js delta (1 - sum v / |delta|^2)_+, soft
 * delta_j (1 - v_j / delta_j^2)_+. */
ferry_status ferry_i_mmltl_shrink(ferry_ctx *ctx, ferry_mmltl_shrink how,
                                  const ferry_matrix *xs, const ferry_matrix *xt,
                                  ferry_block *delta);

/* A kernel: gamma > 0 exp(-gamma |x - y|^2), gamma 0 the product x'y. */
/* out (q->rows x k) <- K(q, x) b, by pieces: K itself is never whole. */
ferry_status ferry_i_mmltl_kernel_mul(ferry_ctx *ctx, double gamma, const ferry_matrix *x,
                                      const ferry_matrix *q, const ferry_block *b,
                                      ferry_block *out);
/* 1 / median of |x - y|^2 over pairs of (at most 500, evenly taken) rows; 1 when 0. */
ferry_status ferry_i_mmltl_gamma(ferry_ctx *ctx, const ferry_matrix *x, double *gamma);
/* The same problem in the space of the kernel. With x the ns source rows and then the
 * target's, C = [Es Ys' | 1_s/ns - 1_t/nt] (Es takes the source, less its mean when
 * centre), H = C'K C = E w E': gr and dr are G and delta in coordinates (r x m, r x 1), and
 * latent(x) = Ur' map' k(X, x) with map = C E w^-1/2 (n x r); kmap = K map. */
ferry_status ferry_i_mmltl_kernel(ferry_ctx *ctx, double gamma, const ferry_matrix *x,
                                  int64_t ns, int64_t m, const uint8_t *on, bool centre,
                                  ferry_block **gr, ferry_block **dr, ferry_block **map,
                                  ferry_block **kmap);

#endif
