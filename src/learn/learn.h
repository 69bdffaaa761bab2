/* Learners that methods share. Each works on plain matrices and labels; none knows about
 * tasks. */
#ifndef FERRY_LEARN_H
#define FERRY_LEARN_H

#include "data/data.h"

/* ---- linear models ---- */

typedef enum ferry_linear_kind {
    FERRY_LINEAR_SVM,    /* L2-regularised squared hinge */
    FERRY_LINEAR_LOGREG, /* L2-regularised logistic regression */
    FERRY_LINEAR_SVR     /* L2-regularised squared epsilon-insensitive */
} ferry_linear_kind;

/* Settings of a fit; borrowed while it runs. */
typedef struct ferry_linear_options {
    ferry_linear_kind kind;
    double C, eps, p; /* cost, stopping tolerance, width of the SVR tube */
    /* with a constant term, regularised like a weight */
    bool bias;
    bool balanced; /* class weights n / (k n_c) */
} ferry_linear_options;

/* W: k x (d + 1), one row per class or label (last entry the bias); two classes that occur
 * are two rows, -w and w. Regression has one row. */
typedef struct ferry_linear {
    ferry_linear_kind kind;
    bool sets; /* rows are labels that do not exclude each other */
    int64_t k, d;
    double *w;
    uint8_t *seen; /* k; 0: a class without instances, which scores -inf and never wins */
} ferry_linear;

/* One against the rest. y[i] in 0..k-1 for classes; SVR takes target instead (k = 1). When
 * only one class occurs it always wins. x must be finite. Nothing is drawn. */
ferry_status ferry_i_linear_fit(ferry_ctx *ctx, const ferry_linear_options *o,
                                const ferry_matrix *x, int64_t k, const int32_t *y,
                                const double *target, ferry_linear **out);
/* Label sets, on[i * k + j] 0 or 1. A label that is never or always on has constant
 * scores. */
ferry_status ferry_i_linear_fit_sets(ferry_ctx *ctx, const ferry_linear_options *o,
                                     const ferry_matrix *x, int64_t k, const uint8_t *on,
                                     ferry_linear **out);
/* scores n x k (block rows = x->rows, k = model->k): margins; for LOGREG probabilities
 * (classes: one against the rest, normalised). */
ferry_status ferry_i_linear_scores(ferry_ctx *ctx, const ferry_linear *m,
                                   const ferry_matrix *x, ferry_block *scores);
void ferry_i_linear_free(ferry_linear *m);

/* ---- logistic regression on soft labels ---- */

/* min over V, b of 1/2 |V|^2 + C sum_i sum_k a_ik (- log softmax(V x_i + b)_k), where a_ik
 * >= 0 (n x c) says how much instance i speaks for class k. The constants are not
 * penalised; two classes have one weight vector. Stops when the gradient is tol times the
 * first one. w: c x (d + 1), new, last the constant; of two classes the first row is 0. */
ferry_status ferry_i_softmax_fit(ferry_ctx *ctx, double C, double tol,
                                 const ferry_matrix *x, const ferry_block *a, double **w);
/* scores (n x c) <- softmax(V x + b). */
ferry_status ferry_i_softmax_scores(ferry_ctx *ctx, const ferry_matrix *x, int64_t c,
                                    const double *w, ferry_block *scores);
/* A cost for it, by cross-validation on the likeliest labels (cost.c): one of .3, 1, 3, 10
 * and 30; 1 for fewer than 30 rows. 15 fits on at most 667 rows. `number`: of each row, where
 * the rows of x are not in the order that one process would have them; else NULL. */
ferry_status ferry_i_softmax_cost(ferry_ctx *ctx, const ferry_matrix *x,
                                  const ferry_block *a, const int64_t *number, double *C);

/* ---- ridge regression ---- */

/* min |Y - X W' - 1 b'|^2 + lambda |W|^2, several targets at once (Y: n x k). Solved on the
 * smaller side (d x d or n x n) by Cholesky; FERRY_ENEEDS when even that is too large. w: k
 * x (d + 1), last the intercept. */
ferry_status ferry_i_ridge_fit(ferry_ctx *ctx, const ferry_matrix *x, const ferry_block *y,
                               double lambda, double **w);
/* The same with a weight for each row (NULL: 1), not all 0; X must then be dense. */
ferry_status ferry_i_ridge_fit_weighted(ferry_ctx *ctx, const ferry_matrix *x,
                                        const ferry_block *y, const double *weight,
                                        double lambda, double **w);
/* out (n x k) <- X W' + 1 b', w as above. */
ferry_status ferry_i_linear_apply(ferry_ctx *ctx, const ferry_matrix *x, int64_t k,
                                  const double *w, ferry_block *out);

/* ---- nearest neighbours ---- */

typedef enum ferry_distance { FERRY_EUCLIDEAN, FERRY_COSINE } ferry_distance;
/* For every row of q its k nearest rows of x: index (q->rows x k, -1 when x has fewer),
 * dist likewise (inf when x has fewer). Exact, by blocks of products; ties to the lower
 * row; the same bits with every engine. Cosine: 1 - cos, 1 when either row is zero. */
ferry_status ferry_i_knn(ferry_ctx *ctx, const ferry_matrix *x, const ferry_matrix *q,
                         int64_t k, ferry_distance distance, int64_t *index, double *dist);

/* Edges from[e], to[e] (each pair once) with weights in (0, 1] between every row of x and its k
 * nearest (neighbours.c); k < rows. All three are new, for the caller in any case. */
ferry_status ferry_i_near_edges(ferry_ctx *ctx, const ferry_matrix *x, int64_t k,
                                int64_t *n_edges, int64_t **from, int64_t **to,
                                double **weight);
/* The same in two steps. Rows of k + 1 entries, of which the first k are the nearest of each
 * row without itself; then the edges of the first k <= wide - 1 of them. */
ferry_status ferry_i_near_rows(ferry_ctx *ctx, const ferry_matrix *x, int64_t k,
                               int64_t **index, double **dist);
ferry_status ferry_i_near_join(ferry_ctx *ctx, int64_t n, int64_t wide, int64_t k,
                               const int64_t *index, const double *dist, int64_t *n_edges,
                               int64_t **from, int64_t **to, double **weight);
/* Of an edge of length d between rows whose k-th nearest are s and `other` away. */
double ferry_i_near_weight(double d, double s, double other);

/* ---- folds, numbers in order (folds.c) ---- */

/* fold[i] <- 0 .. folds - 1 for the rows with a class, dealt out class by class in the random order
 * of the stream `use`; -1 for cls[i] < 0. cls NULL: all rows alike. */
ferry_status ferry_i_folds(ferry_ctx *ctx, const char *use, int64_t n, const int32_t *cls,
                           int64_t folds, int32_t *fold);
int ferry_i_ascending(const void *a, const void *b); /* of doubles, for qsort */
/* The middle of n numbers, which it sorts; the mean of two when n is even, 0 when it is 0. */
double ferry_i_median(int64_t n, double *v);

/* ---- k-means ---- */

typedef struct ferry_kmeans_options {
    int64_t k, restarts, max_iter; /* groups; starts; rounds of each, at most */
    const char *what;              /* told to progress after each start; NULL: nothing */
} ferry_kmeans_options;

/* Lloyd's algorithm from k-means++ starts (Arthur and Vassilvitskii 2007); the best of
 * `restarts` by the sum of squared distances, which goes to *inertia (may be NULL). A group
 * that runs empty gets the point farthest from its centre. group: one of 0..k-1 per row of
 * x (dense or CSR), which must be finite; 1 <= k <= rows. centres (k x cols) may be NULL.
 * A round costs O(k nnz). The result does not depend on the number of threads. */
ferry_status ferry_i_kmeans(ferry_ctx *ctx, const ferry_matrix *x,
                            const ferry_kmeans_options *o, ferry_rng *rng, int32_t *group,
                            ferry_block *centres, double *inertia);

/* ---- quadratic programs on the simplex ---- */

enum { FERRY_SIMPLEX_MOST = 12 };
/* min w'Kw - 2v'w over w >= 0, sum w = 1, exactly. K symmetric, p x p. Up to
 * FERRY_SIMPLEX_MOST weights: of every support the point where the gradient is constant on
 * it, the best of those that lie in the simplex; K may be singular or indefinite. More of
 * them: by an active set, for which K must be positive semidefinite. objective may be NULL.
 * FERRY_ENUMERIC when K or v is not finite. */
ferry_status ferry_i_simplex_qp(ferry_ctx *ctx, const ferry_small *k, const double *v,
                                double *w, double *objective);
/* The second way, for any p. */
ferry_status ferry_i_simplex_active(ferry_ctx *ctx, const ferry_small *k, const double *v,
                                    double *w, double *objective);
/* ---- ranking labels (RankSVM) ---- */

typedef struct ferry_ranksvm_options {
    /* weight of the losses against 1/2 |W|^2; > 0 */
    double C;
    /* passes over all instances, at most */
    int64_t epochs;
    /* stop after an epoch whose steps found a duality gap of at most this, relative to that of
     * W = 0; 0: not before no pair moves */
    double tol;
    bool scale;   /* features times 1 / sqrt(mean squared length) first */
    bool shuffle; /* a new order of the instances for each epoch, else that of the rows */
} ferry_ranksvm_options;

/* Scores f = W [scale (x - mean); 1]; label k is on when f_k > threshold [f; 1]. */
typedef struct ferry_ranksvm {
    int64_t m, d;
    double scale;
    double *w;         /* m x (d + 1), last the bias */
    double *threshold; /* m + 1 */
    int64_t epochs;    /* passes made */
    double gap;        /* that the last one found, relative as in the options */
    double objective;  /* of the primal problem */
} ferry_ranksvm;

/* Labels on[i * m + k] 0 or 1. mean (d, or NULL) is taken off every instance, without
 * making a sparse x dense. Instances with no or all labels have no order to learn, only a
 * threshold. *finish when progress said so: the model is as far as it got. */
ferry_status ferry_i_ranksvm_fit(ferry_ctx *ctx, const ferry_ranksvm_options *o,
                                 const ferry_matrix *x, const double *mean, int64_t m,
                                 const uint8_t *on, ferry_ranksvm **out, bool *finish);
/* scores n x m. */
ferry_status ferry_i_ranksvm_scores(ferry_ctx *ctx, const ferry_ranksvm *r,
                                    const ferry_matrix *x, const double *mean,
                                    ferry_block *scores);
/* set[k] <- whether label k is on, given the m scores of one instance. */
void ferry_i_ranksvm_decide(const ferry_ranksvm *r, const double *f, uint8_t *set);
/* The threshold with the fewest errors: the middle between two scores, or 1 past the ends;
 * the lowest of equals. scratch: 2 m. */
double ferry_i_best_threshold(int64_t m, const double *f, const uint8_t *y,
                              double *scratch);
void ferry_i_ranksvm_free(ferry_ranksvm *r);

/* ---- elastic net ---- */

/* For each column y of Y (n x k):
 *   min 1/(2n) |y - X b - c|^2 + lambda (alpha |b|_1 + (1 - alpha)/2 |b|^2)
 * with lambda = `ratio` times the smallest that makes all b of y zero. By coordinate
 * descent on the d x d products of the features: FERRY_ENEEDS when d is too large for them.
 * b: d x k; the c are left out. */
ferry_status ferry_i_elastic_fit(ferry_ctx *ctx, const ferry_matrix *x,
                                 const ferry_block *y, double ratio, double alpha,
                                 int64_t max_iter, double tol, ferry_block *b);

/* ---- label propagation ---- */

/* The harmonic function on a symmetric graph of weights >= 0 (CSR, n x n): rows with
 * cls >= 0 keep their class, others become the weighted mean of their neighbours, f (n x
 * c), until no entry moves by tol. Rows that no known one reaches keep the shares of the
 * known classes. mass (c, or NULL): class mass normalisation to these shares, after which
 * rows do not sum to 1. The sweeps made. */
int64_t ferry_i_propagate(const ferry_matrix *w, int64_t c, const int32_t *cls,
                          int64_t max_iter, double tol, const double *mass, ferry_block *f);

#endif
