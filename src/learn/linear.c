/* Linear models: support vector machines, logistic regression and support vector regression.
 *
 *   min_w  1/2 |w|^2 + C sum_i c_i loss(y_i, w'x_i)
 *
 * with the squared hinge max(0, 1 - y m)^2, the logistic log(1 + exp(-y m)) or the squared
 * tube max(0, |y - m| - p)^2: the problems that liblinear solves (Fan et al., LIBLINEAR: a library
 * for large linear classification, JMLR 2008), and its rule to stop. The bias is the weight of a
 * constant feature 1, so it is regularised as well. Several classes are trained one against the
 * rest. linear_newton.c has the solver.
 */
#include <math.h>
#include <string.h>

#include "learn/learn.h"
#include "learn/linear_newton.h"

/* One fit: the settings, and the problem whose y and costs change from class to class. */
typedef struct job {
    const ferry_linear_options *o; /* borrowed */
    ferry_newton p;
} job;

static ferry_status job_init(ferry_ctx *ctx, job *j, const ferry_matrix *x)
{
    ferry_status st = FERRY_OK;

    FERRY_NEED(ctx, ferry_i_all_rows(x) > 0, FERRY_ENEEDS,
               "no labelled instances to learn from");
    FERRY_TRY(ferry_i_newton_new(ctx, x, j->o->bias, &j->p));
    j->p.kind = j->o->kind;
    j->p.tube = j->o->p;
done:
    return st;
}

/* Train on p.y (+1 and -1, or numbers) with costs C on_weight and C off_weight; w <- d weights and
 * the bias. The tolerance is relative to the rarer class, so that it counts as much as the other. */
static ferry_status train_one(ferry_ctx *ctx, job *j, double on_weight, double off_weight,
                              double *w)
{
    ferry_status st = FERRY_OK;
    const double n = (double)ferry_i_all_rows(j->p.x);
    double on = 0;
    /* A tenth of liblinear's: engines agree, and n < d ends near the best. */
    double tol = 0.1 * j->o->eps;

    for (int64_t i = 0; i < j->p.x->rows; i++) {
        on += j->p.y[i] > 0;
        j->p.c[i] = j->o->C * (j->p.y[i] > 0 ? on_weight : off_weight);
    }
    FERRY_TRY(ferry_i_sum_rows(ctx, j->p.x, 1, &on));
    if (j->o->kind != FERRY_LINEAR_SVR) tol *= fmax(1, fmin(on, n - on)) / n;
    FERRY_TRY(ferry_i_newton_solve(ctx, &j->p, tol));
    memcpy(w, j->p.w, (size_t)(j->p.x->cols + 1) * sizeof *w);
done:
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
static ferry_status fit_two(ferry_ctx *ctx, job *j, const int32_t *y, const double *count,
                            int64_t a, int64_t b, ferry_linear *m)
{
    ferry_status st = FERRY_OK;
    const double half = 0.5 * (double)ferry_i_all_rows(j->p.x);
    const bool even = j->o->balanced;
    double *wa = m->w + a * (m->d + 1), *wb = m->w + b * (m->d + 1);

    for (int64_t i = 0; i < j->p.x->rows; i++)
        j->p.y[i] = y[i] == b ? 1 : -1;
    FERRY_TRY(
        train_one(ctx, j, even ? half / count[b] : 1, even ? half / count[a] : 1, wb));
    for (int64_t f = 0; f <= m->d; f++)
        wa[f] = -wb[f];
done:
    return st;
}

/* Each class that occurs against the rest; as in liblinear, a class's weight
 * n / (k n_c) goes to its own instances and the rest keep 1. */
static ferry_status fit_rest(ferry_ctx *ctx, job *j, const int32_t *y, const double *count,
                             int64_t occur, ferry_linear *m)
{
    ferry_status st = FERRY_OK;
    bool finish = false;

    for (int64_t c = 0; c < m->k; c++) {
        const double even = (double)ferry_i_all_rows(j->p.x) / ((double)occur * count[c]);
        if (count[c] == 0) continue;
        for (int64_t i = 0; i < j->p.x->rows; i++)
            j->p.y[i] = y[i] == c ? 1 : -1;
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
    double *count = ferry_i_calloc(m->k, sizeof *count);
    int64_t occur = 0, last[2] = {0, 0}; /* the two highest classes that occur */

    FERRY_HAVE(ctx, count);
    for (int64_t i = 0; i < j->p.x->rows; i++)
        count[y[i]]++;
    FERRY_TRY(ferry_i_sum_rows(ctx, j->p.x, m->k, count));
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

/* The caller owns *out. */
ferry_status ferry_i_linear_fit(ferry_ctx *ctx, const ferry_linear_options *o,
                                const ferry_matrix *x, int64_t k, const int32_t *y,
                                const double *target, ferry_linear **out)
{
    ferry_status st = FERRY_OK;
    ferry_linear *m = NULL;
    job j = {.o = o};

    *out = NULL;
    FERRY_TRY(job_init(ctx, &j, x));
    FERRY_TRY(linear_new(ctx, o, k, x->cols, &m));
    if (o->kind == FERRY_LINEAR_SVR) {
        m->seen[0] = 1;
        for (int64_t i = 0; i < x->rows; i++)
            j.p.y[i] = target[i];
        FERRY_TRY(train_one(ctx, &j, 1, 1, m->w));
    } else {
        FERRY_TRY(fit_classes(ctx, &j, y, m));
    }
    FERRY_MOVE(*out, m);
done:
    ferry_i_newton_free(&j.p);
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
    const double n = (double)ferry_i_all_rows(j->p.x);
    double with = 0;

    m->seen[c] = 1;
    for (int64_t i = 0; i < j->p.x->rows; i++) {
        with += on[i * m->k + c];
        j->p.y[i] = on[i * m->k + c] ? 1 : -1;
    }
    FERRY_TRY(ferry_i_sum_rows(ctx, j->p.x, 1, &with));
    if (with == 0 || with == n)
        w[m->d] = constant_margin(m->kind, with, n - with);
    else if (j->o->balanced)
        FERRY_TRY(train_one(ctx, j, n / (2 * with), n / (2 * (n - with)), w));
    else
        FERRY_TRY(train_one(ctx, j, 1, 1, w));
done:
    return st;
}

/* k independent problems over the same rows. */
ferry_status ferry_i_linear_fit_sets(ferry_ctx *ctx, const ferry_linear_options *o,
                                     const ferry_matrix *x, int64_t k, const uint8_t *on,
                                     ferry_linear **out)
{
    ferry_status st = FERRY_OK;
    ferry_linear *m = NULL;
    job j = {.o = o};
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
    ferry_i_newton_free(&j.p);
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
    ferry_i_free(b);
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
