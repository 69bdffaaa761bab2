/* Linear models beside liblinear, on the same problems at the same tolerance (bench/linear.sh):
 * processor time of both, and how far each stays above the best value known.
 *
 * A line each: problem, our ms, liblinear's ms, our value / best - 1, liblinear's. */
#include <linear.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ferry/ferry.h"
#include "plain_linear.h"

enum { TIMES = 3 };

static double cpu(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void check(ferry_ctx *ctx, ferry_status st)
{
    if (st == FERRY_OK) return;
    (void)fprintf(stderr, "bench_linear: %s\n", ferry_message(ctx));
    exit(1);
}

/* n rows with `per` entries of 0 < value < 1, columns the more frequent the lower; of length 1 as text
 * is. Classes by a hidden direction, a tenth of them wrong. */
static ferry_matrix *rows_of(ferry_ctx *ctx, int64_t n, int64_t d, int64_t per,
                             ferry_rng *rng, int32_t *cls, double *y)
{
    ferry_matrix *x = NULL;
    double *hidden = calloc((size_t)d, sizeof *hidden);

    check(ctx, ferry_i_matrix_csr(ctx, n, d, n * per, &x));
    for (int64_t j = 0; j < d; j++)
        hidden[j] = ferry_i_rng_normal(rng);
    for (int64_t i = 0, e = 0; i < n; i++) {
        double sum = 0, square = 0;
        const int64_t first = e;
        for (int64_t k = 0; k < per; k++, e++) { /* ascending: one in each of `per` bands */
            const double u = ferry_i_rng_real(rng);
            const int64_t lo = d * k / per, hi = d * (k + 1) / per;
            x->index[e] = (int32_t)(lo + (int64_t)(u * u * (double)(hi - lo)));
            x->value[e] = 0.1 + ferry_i_rng_real(rng);
            square += x->value[e] * x->value[e];
        }
        x->start[i + 1] = e;
        for (e = first; e < first + per; e++) {
            x->value[e] /= sqrt(square);
            sum += x->value[e] * hidden[x->index[e]];
        }
        cls[i] = (sum > 0) != (ferry_i_rng_real(rng) < 0.1);
        y[i] = sum;
    }
    free(hidden);
    return x;
}

static double value_at(ferry_linear_kind kind, double C, const ferry_matrix *x,
                       const double *y, const double *w)
{
    double sum = 0;

    for (int64_t j = 0; j <= x->cols; j++)
        sum += 0.5 * w[j] * w[j];
    for (int64_t i = 0; i < x->rows; i++) {
        double m = w[x->cols];
        for (int64_t e = x->start[i]; e < x->start[i + 1]; e++)
            m += x->value[e] * w[x->index[e]];
        const double hinge = fmax(0, 1 - y[i] * m), tube = fmax(0, fabs(y[i] - m) - 0.1);
        sum += C * (kind == FERRY_LINEAR_SVM   ? hinge * hinge
                    : kind == FERRY_LINEAR_SVR ? tube * tube
                                               : log1p(exp(-y[i] * m)));
    }
    return sum;
}

static void silent(const char *text)
{
    (void)text;
}

/* Seconds of liblinear, its copy of the data included: a caller has to make it. */
static double theirs(const ferry_linear_options *o, const ferry_matrix *x, double *y,
                     double *w)
{
    const double begin = cpu();
    struct feature_node *node = malloc((size_t)(x->nnz + 2 * x->rows) * sizeof *node),
                        *at = node;
    struct feature_node **row = malloc((size_t)x->rows * sizeof *row);
    const struct problem prob = {
        .l = (int)x->rows, .n = (int)x->cols + 1, .y = y, .x = row, .bias = 1};
    const struct parameter param = {.solver_type = o->kind == FERRY_LINEAR_LOGREG ? L2R_LR
                                                   : o->kind == FERRY_LINEAR_SVR
                                                       ? L2R_L2LOSS_SVR
                                                   : x->rows < x->cols ? L2R_L2LOSS_SVC_DUAL
                                                                       : L2R_L2LOSS_SVC,
                                    .C = o->C,
                                    .eps = o->eps,
                                    .p = o->p};

    for (int64_t i = 0; i < x->rows; i++) {
        row[i] = at;
        for (int64_t e = x->start[i]; e < x->start[i + 1]; e++)
            *at++ = (struct feature_node){x->index[e] + 1, x->value[e]};
        *at++ = (struct feature_node){(int)x->cols + 1, 1};
        *at++ = (struct feature_node){-1, 0};
    }
    struct model *m = train(&prob, &param);
    const double took = cpu() - begin;
    memcpy(w, m->w, (size_t)(x->cols + 1) * sizeof *w);
    free_and_destroy_model(&m);
    free(node);
    free(row);
    return took;
}

static double ours(ferry_ctx *ctx, const ferry_linear_options *o, const ferry_matrix *x,
                   const int32_t *cls, const double *y, double *w)
{
    const bool numbers = o->kind == FERRY_LINEAR_SVR;
    ferry_linear *m = NULL;
    const double begin = cpu();

    check(ctx, plain_linear_fit(ctx, o, x, numbers ? 1 : 2, cls, y, &m));
    const double took = cpu() - begin;
    memcpy(w, m->w + (numbers ? 0 : x->cols + 1), (size_t)(x->cols + 1) * sizeof *w);
    plain_linear_free(m);
    return took;
}

static void compare(ferry_ctx *ctx, ferry_linear_kind kind, double C, int64_t n, int64_t d,
                    int64_t per)
{
    static const char *const names[] = {"svm", "logreg", "svr"};
    const ferry_linear_options o = {
        .kind = kind, .C = C, .eps = 1e-2, .p = 0.1, .bias = true};
    ferry_linear_options tight = o;
    int32_t *cls = calloc((size_t)n, sizeof *cls);
    double *y = calloc((size_t)n, sizeof *y), *w = calloc((size_t)d + 1, sizeof *w);
    double a = 1e9, b = 1e9, at_a = 0, at_b = 0;
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 1, 0);
    ferry_matrix *x = rows_of(ctx, n, d, per, &rng, cls, y);
    for (int64_t i = 0; kind != FERRY_LINEAR_SVR && i < n; i++)
        y[i] = 2 * cls[i] - 1;
    for (int i = 0; i < TIMES; i++) {
        a = fmin(a, ours(ctx, &o, x, cls, y, w));
        at_a = value_at(kind, C, x, y, w);
        b = fmin(b, theirs(&o, x, y, w));
        at_b = value_at(kind, C, x, y, w);
    }
    tight.eps = 1e-7;
    (void)ours(ctx, &tight, x, cls, y, w);
    const double best = value_at(kind, C, x, y, w);
    printf("%s C=%g %lldx%lld(%lld) %.3f %.3f %.2e %.2e\n", names[kind], C, (long long)n,
           (long long)d, (long long)per, 1e3 * a, 1e3 * b, at_a / best - 1,
           at_b / best - 1);
    ferry_i_matrix_free(x);
    free(cls);
    free(y);
    free(w);
}

int main(void)
{
    const int64_t shapes[][3] = {
        {100, 2000, 50}, {20000, 5000, 60}, {5000, 30000, 80}, {5000, 40, 40}};
    ferry_ctx *ctx = NULL;

    if (ferry_ctx_new(&ctx) != FERRY_OK) return 1;
    set_print_string_function(silent);
    for (int s = 0; s < 4; s++)
        for (ferry_linear_kind kind = FERRY_LINEAR_SVM; kind <= FERRY_LINEAR_SVR; kind++)
            for (double C = 1; C <= 100; C *= 100)
                compare(ctx, kind, C, shapes[s][0], shapes[s][1], shapes[s][2]);
    ferry_ctx_free(ctx);
    return 0;
}
