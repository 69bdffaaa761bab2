/* The logistic model of the six measures, and how well it does where it was not trained.
 * Triples are few (hundreds to thousands) and features six, so everything is computed
 * with the reference solver on one thread: the same selector to the bit on every machine
 * setting. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "select/select.h"

/* STEPS of Newton at most; the check draws DRAWS balanced samples and cuts each
 * into FOLDS. */
enum { D = SELECT_FEATURES, P = SELECT_FEATURES + 1, STEPS = 50, DRAWS = 10, FOLDS = 10 };
/* A little ridge on the standardised weights: where a fold can be told apart without error
 * the likelihood has no maximum. */
#define RIDGE 1e-3

static double sigmoid(double z)
{
    return 1 / (1 + exp(-z));
}

static double linear(const double *beta, const double *c)
{
    double z = beta[0];

    for (int j = 0; j < D; j++)
        z += beta[j + 1] * c[j];
    return z;
}

/* Equation (3): how likely the triple with measures c is a positive one. */
double ferry_i_select_f(const select_model *m, const double *c)
{
    double z[D];

    for (int j = 0; j < D; j++)
        z[j] = (c[j] - m->mean[j]) / m->sd[j];
    return sigmoid(linear(m->beta, z));
}

/* Mean and deviation of the features; a constant one is not scaled. */
static void standardise(int64_t n, const double *c, select_model *m)
{
    for (int j = 0; j < D; j++) {
        double sum = 0, square = 0;
        for (int64_t i = 0; i < n; i++)
            sum += c[i * D + j];
        m->mean[j] = sum / (double)n;
        for (int64_t i = 0; i < n; i++)
            square += pow(c[i * D + j] - m->mean[j], 2);
        m->sd[j] = sqrt(square / (double)n);
        if (!(m->sd[j] > 1e-12)) m->sd[j] = 1;
    }
}

/* Newton's method on - L(beta) / n + RIDGE / 2 |beta|^2 (not on the constant); (4). */
ferry_status ferry_i_select_fit(ferry_ctx *ctx, int64_t n, const double *c,
                                const uint8_t *y, select_model *m)
{
    ferry_status st = FERRY_OK;
    ferry_small *h = NULL, *g = NULL;

    *m = (select_model){{0}, {0}, {0}};
    standardise(n, c, m);
    FERRY_TRY(ferry_i_small_new(ctx, P, P, &h));
    FERRY_TRY(ferry_i_small_new(ctx, P, 1, &g));
    for (int step = 0; step < STEPS; step++) {
        double most = 0;
        memset(h->data, 0, sizeof(double) * P * P);
        memset(g->data, 0, sizeof(double) * P);
        for (int64_t i = 0; i < n; i++) {
            /* g = sum (y - p) z / n is the gradient, h = sum p (1 - p) z z' / n the
             * curvature, z with a leading 1 for the constant. */
            double z[P] = {1};
            for (int j = 0; j < D; j++)
                z[j + 1] = (c[i * D + j] - m->mean[j]) / m->sd[j];
            const double p = sigmoid(linear(m->beta, z + 1));
            for (int a = 0; a < P; a++) {
                g->data[a] += (y[i] - p) * z[a] / (double)n;
                for (int b = 0; b < P; b++)
                    FERRY_AT(h, a, b) += p * (1 - p) * z[a] * z[b] / (double)n;
            }
        }
        for (int a = 0; a < P; a++) {
            g->data[a] -= a > 0 ? RIDGE * m->beta[a] : 0;
            /* The constant has no ridge; 1e-9 keeps the system solvable where all p are 0
             * or 1. */
            FERRY_AT(h, a, a) += a > 0 ? RIDGE : 1e-9;
        }
        /* the plain solver: the same bits for every number of threads */
        FERRY_TRY(ferry_i_engine_ref.solve(ctx, h, g));
        for (int a = 0; a < P; a++)
            most = fmax(most, fabs(g->data[a]));
        /* A long step may overshoot where the likelihood is flat. */
        for (int a = 0; a < P; a++)
            m->beta[a] += g->data[a] * fmin(1, 4 / fmax(most, 4));
        if (most < 1e-10) break;
    }
done:
    ferry_i_small_free(h);
    ferry_i_small_free(g);
    return st;
}

/* ---- checks ---- */

/* Fit on the listed rows where fold differs from f, count the right answers where it does
 * not. c, y, train_c, train_y as below. */
static ferry_status one_fold(ferry_ctx *ctx, int64_t n, const int64_t *rows, int64_t f,
                             const double *c, const uint8_t *y, double *train_c,
                             uint8_t *train_y, int64_t *right)
{
    ferry_status st = FERRY_OK;
    select_model m;
    int64_t k = 0;

    for (int64_t i = 0; i < n; i++) {
        if (i % FOLDS == f) continue;
        memcpy(train_c + k * D, c + rows[i] * D, sizeof(double) * D);
        train_y[k++] = y[rows[i]];
    }
    FERRY_TRY(ferry_i_select_fit(ctx, k, train_c, train_y, &m));
    for (int64_t i = f; i < n; i += FOLDS)
        *right += (ferry_i_select_f(&m, c + rows[i] * D) > 0.5) == y[rows[i]];
done:
    return st;
}

/* As many of both labels, ten times drawn, ten folds each. */
static ferry_status balanced(ferry_ctx *ctx, int64_t n, const double *c, const uint8_t *y,
                             double *train_c, uint8_t *train_y, int64_t *rows,
                             select_trust *t)
{
    ferry_status st = FERRY_OK;
    int64_t ones = 0, k = 0;
    double sum = 0, square = 0;
    ferry_rng rng;

    for (int64_t i = 0; i < n; i++)
        ones += y[i];
    const int64_t few = ones < n - ones ? ones : n - ones;
    t->accuracy = t->accuracy_sd = NAN;
    /* A fold without a positive (or negative) triple tells nothing: the accuracy stays
     * NaN. */
    if (few < FOLDS) goto done;
    ferry_i_rng_for(ctx, &rng, "select check");
    for (int draw = 0; draw < DRAWS; draw++) {
        int64_t right = 0;
        k = 0;
        for (int label = 0; label < 2; label++) {
            int64_t *of = rows + k, m = 0;
            for (int64_t i = 0; i < n; i++)
                if (y[i] == label) of[m++] = i;
            /* Of each label the first `few` of a shuffled list. The next label's list
             * overwrites what is beyond them; rows has room for 2 n. */
            ferry_i_rng_shuffle(&rng, m, of);
            k += few;
        }
        ferry_i_rng_shuffle(&rng, k, rows);
        for (int64_t f = 0; f < FOLDS; f++)
            FERRY_TRY(one_fold(ctx, k, rows, f, c, y, train_c, train_y, &right));
        const double a = (double)right / (double)k;
        sum += a;
        square += a * a;
    }
    t->accuracy = sum / DRAWS;
    t->accuracy_sd = sqrt(fmax(0, square / DRAWS - t->accuracy * t->accuracy));
done:
    return st;
}

/* Share of pairs (a 1, a 0) with the same target that the score orders rightly. */
static void count_pairs(int64_t n, const double *score, const uint8_t *y,
                        const int64_t *target, int64_t one, double *right, double *pairs)
{
    for (int64_t i = 0; i < n; i++) {
        if (target[i] != one || !y[i]) continue;
        for (int64_t j = 0; j < n; j++) {
            if (target[j] != one || y[j]) continue;
            *pairs += 1;
            *right += score[i] > score[j] ? 1 : score[i] < score[j] ? 0 : 0.5;
        }
    }
}

/* Each target in turn is ranked by what the triples of the others teach. */
static ferry_status unseen(ferry_ctx *ctx, int64_t n, const double *c, const uint8_t *y,
                           const int64_t *target, double *train_c, uint8_t *train_y,
                           select_trust *t)
{
    ferry_status st = FERRY_OK;
    double *score = ferry_i_calloc(n, sizeof *score), right = 0, pairs = 0;
    int64_t most = 0;

    t->auc = NAN;
    FERRY_HAVE(ctx, score);
    for (int64_t i = 0; i < n; i++)
        most = target[i] > most ? target[i] : most;
    for (int64_t one = 0; one <= most; one++) {
        select_model m;
        int64_t k = 0, ones = 0;
        for (int64_t i = 0; i < n; i++) {
            if (target[i] == one) continue;
            memcpy(train_c + k * D, c + i * D, sizeof(double) * D);
            ones += y[i];
            train_y[k++] = y[i];
        }
        /* The other targets' triples are all alike: nothing to learn from, so this one is
         * not judged. */
        if (ones == 0 || ones == k) continue;
        FERRY_TRY(ferry_i_select_fit(ctx, k, train_c, train_y, &m));
        for (int64_t i = 0; i < n; i++)
            score[i] = ferry_i_select_f(&m, c + i * D);
        count_pairs(n, score, y, target, one, &right, &pairs);
    }
    if (pairs > 0) t->auc = right / pairs;
done:
    ferry_i_free(score);
    return st;
}

/* Two questions: does the model tell triples that it has not seen, and does its order
 * hold for a target that it has not seen? The second is what a user relies on. */
ferry_status ferry_i_select_check(ferry_ctx *ctx, int64_t n, const double *c,
                                  const uint8_t *y, const int64_t *target,
                                  select_trust *trust)
{
    ferry_status st = FERRY_OK;
    double *train_c = ferry_i_calloc(n * D, sizeof *train_c);
    uint8_t *train_y = ferry_i_calloc(n, sizeof *train_y);
    int64_t *rows = ferry_i_calloc(2 * n, sizeof *rows);

    FERRY_HAVE(ctx, train_c && train_y && rows);
    FERRY_TRY(balanced(ctx, n, c, y, train_c, train_y, rows, trust));
    FERRY_TRY(unseen(ctx, n, c, y, target, train_c, train_y, trust));
done:
    FERRY_FREE(train_c, train_y, rows);
    return st;
}
