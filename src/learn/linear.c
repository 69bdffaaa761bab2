/* Linear models: support vector machines, logistic regression and support vector regression
 * by liblinear (Fan et al., LIBLINEAR: a library for large linear classification, JMLR
 * 2008).
 *
 *   min_w  1/2 |w|^2 + C sum_i c_i loss(y_i, w'x_i)
 *
 * with the squared hinge max(0, 1 - y m)^2, the logistic log(1 + exp(-y m)) or the squared
 * tube max(0, |y - m| - p)^2. The bias is the weight of a constant feature 1, so it is
 * regularised as well. Several classes are trained one against the rest.
 *
 * liblinear draws from rand() and prints through one global hook, so training holds a
 * process-wide lock. glibc's rand() shares its state with random(): we switch to a state of
 * our own and back, so a program's own rand() sequence is not disturbed. The hook cannot be
 * asked for; it is put back to liblinear's default. liblinear's own memory does not come
 * from our allocator, and it does not survive running out of it.
 */
#define _DEFAULT_SOURCE /* initstate, setstate */
#include <limits.h>
#include <linear.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "learn/learn.h"
#include "learn/rows.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The data in liblinear's form. */
typedef struct job {
    /* borrowed, as is rng */
    const ferry_linear_options *o;
    ferry_rng *rng;
    /* rows, features without the bias */
    int64_t n, d;
    /* what liblinear is given: prob.x points into nodes, prob.y is set before each
     * training */
    struct problem prob;
    /* the entries of all rows, one row after the other */
    struct feature_node *nodes;
} job;

static void job_clear(job *j)
{
    FERRY_FREE(j->nodes, j->prob.x, j->prob.y);
}

/* Entries that are not 0, plus the bias and the end mark of each row. */
static int64_t count_nodes(const ferry_matrix *x)
{
    const double *v = row_values(x);
    int64_t n = 2 * x->rows;

    for (int64_t e = 0; e < x->nnz; e++)
        n += v[e] != 0;
    return n;
}

/* All of x in liblinear's nodes: 16 bytes an entry, columns from 1, each row ended by -1.
 * Made once and used for all classes: only prob.y changes between them. Zeros are left
 * out, in a dense x as well. */
static ferry_status job_init(ferry_ctx *ctx, job *j, const ferry_matrix *x)
{
    ferry_status st = FERRY_OK;
    const double *v = row_values(x);
    int64_t at = 0;

    FERRY_NEED(ctx, x->rows > 0, FERRY_ENEEDS, "no labelled instances to learn from");
    FERRY_NEED(ctx, x->rows < INT_MAX && x->cols < INT_MAX, FERRY_ENEEDS,
               "%lld instances with %lld features are more than liblinear can count",
               (long long)x->rows, (long long)x->cols);
    j->n = x->rows;
    j->d = x->cols;
    FERRY_NEW(ctx, j->nodes, count_nodes(x));
    FERRY_NEW(ctx, j->prob.x, x->rows);
    FERRY_NEW(ctx, j->prob.y, x->rows);
    j->prob.l = (int)x->rows;
    j->prob.n = (int)x->cols + (j->o->bias ? 1 : 0);
    j->prob.bias = j->o->bias ? 1 : -1;
    for (int64_t i = 0; i < x->rows; i++) {
        j->prob.x[i] = j->nodes + at;
        for (int64_t e = row_begin(x, i); e < row_end(x, i); e++) {
            if (v[e] == 0) continue;
            j->nodes[at++] = (struct feature_node){(int)row_column(x, i, e) + 1, v[e]};
        }
        if (j->o->bias) j->nodes[at++] = (struct feature_node){(int)x->cols + 1, 1};
        j->nodes[at++] = (struct feature_node){-1, 0};
    }
done:
    return st;
}

/* liblinear prints its progress unless it is given another hook. */
static void silent(const char *text)
{
    (void)text;
}

/* train() with a rand() of its own sequence and no output, one caller at a time.
 * srand() comes after initstate(), which seeds random() alone on systems where the two
 * are not one. */
static struct model *locked_train(const struct problem *prob, const struct parameter *param,
                                  unsigned seed)
{
    struct model *m = NULL;
    char state[128];
    char *before = NULL;

    pthread_mutex_lock(&lock);
    before = initstate(seed, state, sizeof state);
    srand(seed);
    set_print_string_function(silent);
    m = train(prob, param);
    set_print_string_function(NULL);
    setstate(before);
    pthread_mutex_unlock(&lock);
    return m;
}

/* The squared hinge has both a dual and a primal solver with the same minimum. */
static int solver(const job *j)
{
    switch (j->o->kind) {
    case FERRY_LINEAR_SVR: return L2R_L2LOSS_SVR;
    case FERRY_LINEAR_LOGREG: return L2R_LR;
    default: break;
    }
    /* The dual has n unknowns, the primal d. */
    return j->n < j->d ? L2R_L2LOSS_SVC_DUAL : L2R_L2LOSS_SVC;
}

/* Train on prob.y (+1 and -1, or numbers) with costs C on_weight and C off_weight; w <- d
 * weights and the bias.
 * liblinear orders classes by their first instance, but swaps +1 and -1 where -1 comes
 * first: w is always that of +1. */
static ferry_status train_one(ferry_ctx *ctx, job *j, double on_weight, double off_weight,
                              double *w)
{
    ferry_status st = FERRY_OK;
    int labels[] = {1, -1};
    double weights[] = {on_weight, off_weight};
    struct parameter param = {.solver_type = solver(j), .C = j->o->C, .eps = j->o->eps};
    struct model *m = NULL;
    const unsigned seed = (unsigned)(ferry_i_rng_u64(j->rng) >> 32);

    param.p = j->o->p;
    if (j->o->kind != FERRY_LINEAR_SVR) {
        param.nr_weight = 2;
        param.weight_label = labels;
        param.weight = weights;
    }
    m = locked_train(&j->prob, &param, seed);
    for (int64_t f = 0; f < j->d + (j->o->bias ? 1 : 0); f++) {
        FERRY_NEED(ctx, isfinite(m->w[f]), FERRY_ENUMERIC,
                   "liblinear gave a weight that is not finite; scale the features");
        w[f] = m->w[f];
    }
done:
    free_and_destroy_model(&m);
    return st;
}

/* *out is set before anything can fail: the caller frees it. */
static ferry_status linear_new(ferry_ctx *ctx, const ferry_linear_options *o, int64_t k,
                               int64_t d, ferry_linear **out)
{
    ferry_status st = FERRY_OK;
    ferry_linear *m = ferry_i_calloc(1, sizeof *m);

    *out = m;
    FERRY_HAVE(ctx, m);
    m->kind = o->kind;
    m->k = k;
    m->d = d;
    m->seen = ferry_i_calloc(k, sizeof *m->seen);
    /* The product k (d + 1) fits: both are below 2^31. */
    FERRY_NEW(ctx, m->w, k * (d + 1));
    FERRY_HAVE(ctx, m->seen);
done:
    return st;
}

/* Two classes that occur, a < b: one problem, rows -w and w.
 * Half of the work of one against the rest, and the same boundary: the two problems
 * mirror each other. Balanced weights are n / (2 n_c). */
static ferry_status fit_two(ferry_ctx *ctx, job *j, const int32_t *y, const int64_t *count,
                            int64_t a, int64_t b, ferry_linear *m)
{
    ferry_status st = FERRY_OK;
    const double half = 0.5 * (double)j->n;
    const bool even = j->o->balanced;
    double *wa = m->w + a * (m->d + 1), *wb = m->w + b * (m->d + 1);

    for (int64_t i = 0; i < j->n; i++)
        j->prob.y[i] = y[i] == b ? 1 : -1;
    FERRY_TRY(train_one(ctx, j, even ? half / (double)count[b] : 1,
                        even ? half / (double)count[a] : 1, wb));
    for (int64_t f = 0; f <= m->d; f++)
        wa[f] = -wb[f];
done:
    return st;
}

/* Each class that occurs against the rest; as usual with liblinear, a class's weight
 * n / (k n_c) goes to its own instances and the rest keep 1. */
static ferry_status fit_rest(ferry_ctx *ctx, job *j, const int32_t *y, const int64_t *count,
                             int64_t occur, ferry_linear *m)
{
    ferry_status st = FERRY_OK;
    bool finish = false;

    for (int64_t c = 0; c < m->k; c++) {
        const double even = (double)j->n / ((double)occur * (double)count[c]);
        if (count[c] == 0) continue;
        for (int64_t i = 0; i < j->n; i++)
            j->prob.y[i] = y[i] == c ? 1 : -1;
        FERRY_TRY(train_one(ctx, j, j->o->balanced ? even : 1, 1, m->w + c * (m->d + 1)));
        FERRY_TRY(ferry_i_progress(ctx, "classes", c + 1, m->k, NAN, &finish));
    }
done:
    return st;
}

/* One class that occurs: no training, all weights 0, and it wins since the others score
 * -inf. */
static ferry_status fit_classes(ferry_ctx *ctx, job *j, const int32_t *y, ferry_linear *m)
{
    ferry_status st = FERRY_OK;
    int64_t *count = ferry_i_calloc(m->k, sizeof *count);
    int64_t occur = 0, last[2] = {0, 0}; /* the two highest classes that occur */

    FERRY_HAVE(ctx, count);
    for (int64_t i = 0; i < j->n; i++)
        count[y[i]]++;
    for (int64_t c = 0; c < m->k; c++) {
        if (count[c] == 0) continue;
        m->seen[c] = 1;
        occur++;
        last[0] = last[1];
        last[1] = c;
    }
    if (occur == 2) FERRY_TRY(fit_two(ctx, j, y, count, last[0], last[1], m));
    if (occur > 2) FERRY_TRY(fit_rest(ctx, j, y, count, occur, m));
done:
    ferry_i_free(count);
    return st;
}

/* The caller owns *out. Draws one number from rng for each training. */
ferry_status ferry_i_linear_fit(ferry_ctx *ctx, const ferry_linear_options *o,
                                const ferry_matrix *x, int64_t k, const int32_t *y,
                                const double *target, ferry_rng *rng, ferry_linear **out)
{
    ferry_status st = FERRY_OK;
    ferry_linear *m = NULL;
    job j = {.o = o, .rng = rng};

    *out = NULL;
    FERRY_TRY(job_init(ctx, &j, x));
    FERRY_TRY(linear_new(ctx, o, k, x->cols, &m));
    if (o->kind == FERRY_LINEAR_SVR) {
        m->seen[0] = 1;
        for (int64_t i = 0; i < j.n; i++)
            j.prob.y[i] = target[i];
        FERRY_TRY(train_one(ctx, &j, 1, 1, m->w));
    } else {
        FERRY_TRY(fit_classes(ctx, &j, y, m));
    }
    FERRY_MOVE(*out, m);
done:
    job_clear(&j);
    ferry_i_linear_free(m);
    return st;
}

/* Bias of a label that is on in all or none of n instances: the margin a support vector
 * machine is content with, or the log-odds of (on + 1/2) : (off + 1/2). */
static double constant_margin(ferry_linear_kind kind, double on, double off)
{
    if (kind == FERRY_LINEAR_LOGREG) return log((on + 0.5) / (off + 0.5));
    return on > 0 ? 1 : -1;
}

/* Label c of all instances as one two-class problem; weights n / (2 n_on) and n / (2
 * n_off) when balanced. */
static ferry_status fit_label(ferry_ctx *ctx, job *j, const uint8_t *on, int64_t c,
                              ferry_linear *m)
{
    ferry_status st = FERRY_OK;
    double *w = m->w + c * (m->d + 1);
    const double n = (double)j->n;
    double with = 0;

    m->seen[c] = 1;
    for (int64_t i = 0; i < j->n; i++) {
        with += on[i * m->k + c];
        j->prob.y[i] = on[i * m->k + c] ? 1 : -1;
    }
    if (with == 0 || with == n)
        w[m->d] = constant_margin(m->kind, with, n - with);
    else if (j->o->balanced)
        FERRY_TRY(train_one(ctx, j, n / (2 * with), n / (2 * (n - with)), w));
    else
        FERRY_TRY(train_one(ctx, j, 1, 1, w));
done:
    return st;
}

/* k independent problems over the same nodes. */
ferry_status ferry_i_linear_fit_sets(ferry_ctx *ctx, const ferry_linear_options *o,
                                     const ferry_matrix *x, int64_t k, const uint8_t *on,
                                     ferry_rng *rng, ferry_linear **out)
{
    ferry_status st = FERRY_OK;
    ferry_linear *m = NULL;
    job j = {.o = o, .rng = rng};
    bool finish = false;

    *out = NULL;
    FERRY_TRY(job_init(ctx, &j, x));
    FERRY_TRY(linear_new(ctx, o, k, x->cols, &m));
    m->sets = true;
    for (int64_t c = 0; c < k; c++) {
        FERRY_TRY(fit_label(ctx, &j, on, c, m));
        FERRY_TRY(ferry_i_progress(ctx, "labels", c + 1, k, NAN, &finish));
    }
    FERRY_MOVE(*out, m);
done:
    job_clear(&j);
    ferry_i_linear_free(m);
    return st;
}

/* W is turned into a block (d x k) for one product with X; the constants are added after
 * it, so that a sparse X needs no extra column. O(nnz k). */
ferry_status ferry_i_linear_apply(ferry_ctx *ctx, const ferry_matrix *x, int64_t k,
                                  const double *w, ferry_block *out)
{
    ferry_status st = FERRY_OK;
    const int64_t d = x->cols;
    ferry_block *b = NULL;

    FERRY_TRY(ferry_i_block_new(ctx, d, k, &b));
    for (int64_t f = 0; f < d; f++)
        for (int64_t c = 0; c < k; c++)
            FERRY_ROW(b, f)[c] = w[c * (d + 1) + f];
    ferry_e(ctx)->mul(ctx, 1, x, b, 0, out);
    for (int64_t i = 0; i < out->rows; i++)
        for (int64_t c = 0; c < k; c++)
            FERRY_ROW(out, i)[c] += w[c * (d + 1) + d];
done:
    ferry_i_block_free(b);
    return st;
}

/* log(1 / (1 + exp(-m))) without overflow. */
static double log_sigmoid(double m)
{
    return m >= 0 ? -log1p(exp(-m)) : m - log1p(exp(m));
}

/* p_c <- sigmoid(m_c) / sum of those over the classes, in logarithms so that margins far
 * below 0 do not all become 0. Two classes have m and -m, whose sum is 1 already. */
static void normalise(int64_t k, double *p)
{
    double most = -INFINITY, sum = 0;

    for (int64_t c = 0; c < k; c++) {
        p[c] = log_sigmoid(p[c]);
        most = fmax(most, p[c]);
    }
    for (int64_t c = 0; c < k; c++)
        sum += exp(p[c] - most);
    for (int64_t c = 0; c < k; c++)
        p[c] = exp(p[c] - most) / sum;
}

/* A class without instances is -inf before it is normalised, and so has probability 0. */
ferry_status ferry_i_linear_scores(ferry_ctx *ctx, const ferry_linear *m,
                                   const ferry_matrix *x, ferry_block *scores)
{
    ferry_status st = FERRY_OK;

    FERRY_TRY(ferry_i_linear_apply(ctx, x, m->k, m->w, scores));
    for (int64_t i = 0; i < scores->rows; i++) {
        double *s = FERRY_ROW(scores, i);
        for (int64_t c = 0; c < m->k; c++)
            if (!m->seen[c]) s[c] = -INFINITY;
        if (m->kind != FERRY_LINEAR_LOGREG) continue;
        if (!m->sets)
            normalise(m->k, s);
        else
            for (int64_t c = 0; c < m->k; c++)
                s[c] = exp(log_sigmoid(s[c]));
    }
done:
    return st;
}

void ferry_i_linear_free(ferry_linear *m)
{
    if (!m) return;
    FERRY_FREE(m->seen, m->w, m);
}
