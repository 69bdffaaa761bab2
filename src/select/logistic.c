/* The logistic model of the six measures, and how well it does where it was not trained. Triples are few (hundreds to
 * thousands) and features six, so everything is computed with the reference solver on one thread: the same selector to
 * the bit on every machine setting. */
#include <math.h>
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
double select_f(const select_model *m, const double *c)
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
select_model select_fit(scope *s, int64_t n, const double *c, const uint8_t *y)
{
    const int64_t mark = scope_mark(s);
    ferry_small h = small_ref(small_new(s, P, P)), g = small_ref(small_new(s, P, 1));
    select_model m = {{0}, {0}, {0}};

    standardise(n, c, &m);
    for (int step = 0; step < STEPS; step++) {
        double most = 0;
        memset(h.data, 0, sizeof(double) * P * P);
        memset(g.data, 0, sizeof(double) * P);
        for (int64_t i = 0; i < n; i++) {
            /* g = sum (y - p) z / n is the gradient, h = sum p (1 - p) z z' / n the curvature, z with a leading 1 for
             * the constant. */
            double z[P] = {1};
            for (int j = 0; j < D; j++)
                z[j + 1] = (c[i * D + j] - m.mean[j]) / m.sd[j];
            const double p = sigmoid(linear(m.beta, z + 1));
            for (int a = 0; a < P; a++) {
                g.data[a] += (y[i] - p) * z[a] / (double)n;
                for (int b = 0; b < P; b++)
                    FERRY_AT(&h, a, b) += p * (1 - p) * z[a] * z[b] / (double)n;
            }
        }
        for (int a = 0; a < P; a++) {
            g.data[a] -= a > 0 ? RIDGE * m.beta[a] : 0;
            /* The constant has no ridge; 1e-9 keeps the system solvable where all p are 0 or 1. */
            FERRY_AT(&h, a, a) += a > 0 ? RIDGE : 1e-9;
        }
        /* the plain solver: the same bits for every number of threads */
        scope_check(s, ferry_i_engine_ref.solve(scope_ctx(s), &h, &g));
        for (int a = 0; a < P; a++)
            most = fmax(most, fabs(g.data[a]));
        /* A long step may overshoot where the likelihood is flat. */
        for (int a = 0; a < P; a++)
            m.beta[a] += g.data[a] * fmin(1, 4 / fmax(most, 4));
        if (most < 1e-10) break;
    }
    scope_release(s, mark);
    return m;
}

/* ---- checks ---- */

/* The triples to learn from, with room for those that a model is trained on. */
typedef struct triples {
    int64_t n;
    const double *c;
    const uint8_t *y;
    const int64_t *target;
    double *train_c;
    uint8_t *train_y;
    int64_t n_train;
} triples;

static void add_training(triples *t, int64_t i)
{
    memcpy(t->train_c + t->n_train * D, t->c + i * D, sizeof(double) * D);
    t->train_y[t->n_train++] = t->y[i];
}

/* Fit on the listed rows outside fold f, and how many answers are right inside. */
static int64_t one_fold(scope *s, triples *t, int64_t n, const int64_t *rows, int64_t f)
{
    int64_t right = 0;

    t->n_train = 0;
    for (int64_t i = 0; i < n; i++)
        if (i % FOLDS != f) add_training(t, rows[i]);
    const select_model m = select_fit(s, t->n_train, t->train_c, t->train_y);
    for (int64_t i = f; i < n; i += FOLDS)
        right += (select_f(&m, t->c + rows[i] * D) > 0.5) == t->y[rows[i]];
    return right;
}

/* As many of both labels, ten times drawn, ten folds each. */
static void balanced(scope *s, triples *t, select_trust *to)
{
    int64_t *rows = NEW(s, int64_t, 2 * t->n), ones = 0;
    double sum = 0, square = 0;
    ferry_rng *rng = scope_rng(s, "select check");

    for (int64_t i = 0; i < t->n; i++)
        ones += t->y[i];
    const int64_t few = ones < t->n - ones ? ones : t->n - ones;
    to->accuracy = to->accuracy_sd = NAN;
    /* A fold without a positive (or negative) triple tells nothing. */
    if (few < FOLDS) return;
    for (int draw = 0; draw < DRAWS; draw++) {
        int64_t right = 0;
        for (int label = 0; label < 2; label++) {
            int64_t *of = rows + label * few, m = 0;
            for (int64_t i = 0; i < t->n; i++)
                if (t->y[i] == label) of[m++] = i;
            /* Of each label the first `few` of a shuffled list. The next label's list overwrites what is beyond
             * them; rows has room for 2 n. */
            shuffle(rng, m, of);
        }
        shuffle(rng, 2 * few, rows);
        for (int64_t f = 0; f < FOLDS; f++)
            right += one_fold(s, t, 2 * few, rows, f);
        const double a = (double)right / (double)(2 * few);
        sum += a;
        square += a * a;
    }
    to->accuracy = sum / DRAWS;
    to->accuracy_sd = sqrt(fmax(0, square / DRAWS - to->accuracy * to->accuracy));
}

/* Share of pairs (a 1, a 0) of one target that the score orders rightly. */
static void count_pairs(const triples *t, const double *score, int64_t one, double *right,
                        double *pairs)
{
    for (int64_t i = 0; i < t->n; i++) {
        if (t->target[i] != one || !t->y[i]) continue;
        for (int64_t j = 0; j < t->n; j++) {
            if (t->target[j] != one || t->y[j]) continue;
            *pairs += 1;
            *right += score[i] > score[j] ? 1 : score[i] < score[j] ? 0 : 0.5;
        }
    }
}

/* Each target in turn is ranked by what the triples of the others say; those alike in all of them say nothing, and
 * the target is not judged. */
static double unseen(scope *s, triples *t)
{
    double *score = NEW(s, double, t->n), right = 0, pairs = 0;
    int64_t most = 0;

    for (int64_t i = 0; i < t->n; i++)
        most = t->target[i] > most ? t->target[i] : most;
    for (int64_t one = 0; one <= most; one++) {
        int64_t ones = 0;
        t->n_train = 0;
        for (int64_t i = 0; i < t->n; i++) {
            if (t->target[i] == one) continue;
            ones += t->y[i];
            add_training(t, i);
        }
        if (ones == 0 || ones == t->n_train) continue;
        const select_model m = select_fit(s, t->n_train, t->train_c, t->train_y);
        for (int64_t i = 0; i < t->n; i++)
            score[i] = select_f(&m, t->c + i * D);
        count_pairs(t, score, one, &right, &pairs);
    }
    return pairs > 0 ? right / pairs : NAN;
}

/* Two questions: does the model tell triples that it has not seen, and does its order hold for a target that it has not
 * seen? The second is what a user relies on. */
void select_check(scope *s, int64_t n, const double *c, const uint8_t *y,
                  const int64_t *target, select_trust *trust)
{
    triples t = {n, c, y, target, NEW(s, double, n *D), NEW(s, uint8_t, n), 0};

    balanced(s, &t, trust);
    trust->auc = unseen(s, &t);
}
