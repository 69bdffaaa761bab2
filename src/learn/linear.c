/* svm and logreg: support vector machines, logistic regression and support vector regression.
 *
 *   min_w  1/2 |w|^2 + C sum_i v_i c_i loss(y_i, w'x_i)
 *
 * with row weights v and the squared hinge max(0, 1 - y m)^2, the logistic log(1 + exp(-y m)) or the squared tube
 * max(0, |y - m| - p)^2: the problems that liblinear solves (Fan et al., LIBLINEAR: a library for large linear
 * classification, JMLR 2008), and its rule to stop. The bias is the weight of a constant feature, so it is
 * regularised as well, the less the larger that feature is. Several classes are trained one against the rest. linear_newton.c has the solver. */
#include "learn/linear.h"

#include <math.h>

static const field linear_fields[] = {
    ARRAY(linear_model, BLOCK, w, .rows = SIZE(linear_model, cols),
          .cols = SIZE(linear_model, k)),
    ARRAY(linear_model, REALS, b, .rows = SIZE(linear_model, k)),
    ARRAY(linear_model, FLAGS, seen, .rows = SIZE(linear_model, k)),
    ARRAY(linear_model, CHOICE, loss, .lo = 0, .hi = LOSS_TUBE + 1),
    VALUE(linear_model, FLAG, sets),
};
const table linear_table = TABLE(linear_model, linear_fields);

/* ---- learning ---- */

/* One fit: the problem's y and costs change from class to class. */
typedef struct job {
    const linear_options *o;
    const examples *e;
    double total; /* weight of all rows */
    newton p;
} job;

static double weight_of(const examples *e, int64_t i)
{
    return e->weight ? e->weight[i] : 1;
}

/* Train on p.y (+1 and -1, or numbers) with costs C on_weight and C off_weight, into column c of m. The tolerance is
 * relative to the rarer class, so that it counts as much as the other. */
static void train(scope *s, job *j, double on_weight, double off_weight, linear_model *m,
                  int64_t c)
{
    double on = 0;
    /* A tenth of liblinear's: engines agree, and n < d ends near the best. */
    double tol = 0.1 * j->o->eps;

    for (int64_t i = 0; i < j->p.x.n; i++) {
        const double v = weight_of(j->e, i);
        on += j->p.y[i] > 0 ? v : 0;
        j->p.c[i] = j->o->C * v * (j->p.y[i] > 0 ? on_weight : off_weight);
    }
    on = sum(s, j->p.x.rows, on);
    if (j->o->loss != LOSS_TUBE)
        tol *= fmin(1, fmax(1, fmin(on, j->total - on)) / j->total);
    newton_solve(s, &j->p, tol);
    for (int64_t f = 0; f < m->cols; f++)
        ROW(m->w, f)[c] = j->p.w[f];
    m->b[c] = j->o->bias * j->p.w[m->cols];
}

/* Two classes that occur: one problem, columns -w and w. Half of the work of one against the rest, and the same
 * boundary: the two problems mirror each other. Balanced weights are n / (2 n_c). */
static void fit_two(scope *s, job *j, const double *count, const int64_t *two,
                    linear_model *m)
{
    const int64_t a = two[0], b = two[1];
    const double half = 0.5 * j->total;
    const bool even = j->o->balanced;

    for (int64_t i = 0; i < j->p.x.n; i++)
        j->p.y[i] = j->e->y.cls[i] == b ? 1 : -1;
    train(s, j, even ? half / count[b] : 1, even ? half / count[a] : 1, m, b);
    for (int64_t f = 0; f < m->cols; f++)
        ROW(m->w, f)[a] = -ROW(m->w, f)[b];
    m->b[a] = -m->b[b];
}

/* Each class that occurs against the rest; as in liblinear, a class's weight n / (k n_c) goes to its own rows and the
 * rest keep 1. */
static void fit_rest(scope *s, job *j, const double *count, int64_t occur, linear_model *m)
{
    for (int64_t c = 0; c < m->k; c++) {
        if (count[c] == 0) continue;
        for (int64_t i = 0; i < j->p.x.n; i++)
            j->p.y[i] = j->e->y.cls[i] == c ? 1 : -1;
        train(s, j, j->o->balanced ? j->total / ((double)occur * count[c]) : 1, 1, m, c);
        (void)progress(s, "classes", c + 1, m->k, NAN); /* all are needed */
    }
}

/* One class that occurs: no training, all weights 0, and it wins since the others score -inf. */
static void fit_classes(scope *s, job *j, linear_model *m)
{
    double *count = NEW(s, double, m->k);
    int64_t occur = 0, last[2] = {0, 0}; /* the two highest classes that occur */

    for (int64_t i = 0; i < j->p.x.n; i++)
        count[j->e->y.cls[i]] += weight_of(j->e, i);
    sums(s, j->p.x.rows, m->k, count);
    for (int64_t c = 0; c < m->k; c++) {
        if (count[c] == 0) continue;
        m->seen[c] = 1;
        occur++;
        last[0] = last[1];
        last[1] = c;
    }
    if (occur == 2) fit_two(s, j, count, last, m);
    if (occur > 2) fit_rest(s, j, count, occur, m);
}

/* Bias of a label that is on in all or none of the rows: the margin a support vector machine is content with, or the
 * log-odds of (on + 1/2) : (off + 1/2). */
static double constant_margin(int loss, double on, double off)
{
    if (loss == LOSS_LOGISTIC) return log((on + 0.5) / (off + 0.5));
    return on > 0 ? 1 : -1;
}

/* Label c as one two-class problem; weights n / (2 n_on) and n / (2 n_off) when balanced. */
static void fit_label(scope *s, job *j, int64_t c, linear_model *m)
{
    const double n = j->total;
    double on = 0;

    m->seen[c] = 1;
    for (int64_t i = 0; i < j->p.x.n; i++) {
        const bool is_on = j->e->y.on[i * m->k + c] != 0;
        on += is_on ? weight_of(j->e, i) : 0;
        j->p.y[i] = is_on ? 1 : -1;
    }
    on = sum(s, j->p.x.rows, on);
    if (on == 0 || on == n)
        m->b[c] = constant_margin(m->loss, on, n - on);
    else if (j->o->balanced)
        train(s, j, n / (2 * on), n / (2 * (n - on)), m, c);
    else
        train(s, j, 1, 1, m, c);
    (void)progress(s, "labels", c + 1, m->k, NAN);
}

static void fit_numbers(scope *s, job *j, linear_model *m)
{
    m->seen[0] = 1;
    for (int64_t i = 0; i < j->p.x.n; i++)
        j->p.y[i] = j->e->y.num[i];
    train(s, j, 1, 1, m, 0);
}

linear_model linear_fit(scope *s, scope *keep, const linear_options *o, const examples *e)
{
    const int64_t d = e->x.cols, k = e->y.k;
    job j = {o, e, total_weight(s, e), newton_new(s, e->x, o)};
    linear_model m = {d,
                      k,
                      o->loss,
                      e->y.on != NULL,
                      block_new(keep, HERE(d), d, k),
                      NEW(keep, double, k),
                      NEW(keep, uint8_t, k)};

    if (j.total == 0) scope_fail(s, FERRY_ENEEDS, "no labelled instances to learn from");
    if (e->y.num) fit_numbers(s, &j, &m);
    if (e->y.cls) fit_classes(s, &j, &m);
    for (int64_t c = 0; e->y.on && c < k; c++)
        fit_label(s, &j, c, &m);
    return m;
}

/* ---- scores ---- */

/* log(1 / (1 + exp(-m))) without overflow. */
static double log_sigmoid(double m)
{
    return m >= 0 ? -log1p(exp(-m)) : m - log1p(exp(m));
}

/* A class without rows is -inf before it is normalised, and so has probability 0. Logarithms, so that margins far
 * below 0 do not all become 0. Two classes have m and -m, whose sigmoids add up to 1 already. */
void linear_decide(bool logistic, bool sets, int64_t k, const uint8_t *seen, double *score)
{
    for (int64_t c = 0; c < k; c++) {
        if (!seen[c]) score[c] = -INFINITY;
        if (logistic) score[c] = log_sigmoid(score[c]);
        if (logistic && sets) score[c] = exp(score[c]);
    }
    if (logistic && !sets) (void)softmax_row(k, NULL, score);
}

void linear_scores(scope *s, const linear_model *m, matrix x, block out)
{
    mul(s, x, m->w, out);
    for (int64_t i = 0; i < out.n; i++) {
        double *score = ROW(out, i);
        for (int64_t c = 0; c < m->k; c++)
            score[c] += m->b[c];
        linear_decide(m->loss == LOSS_LOGISTIC, m->sets, m->k, m->seen, score);
    }
}

/* ---- the learners ---- */

#define FOLDS                                                                              \
    "by cross-validation on the target's labels, where every class has five of them"
#define LIBLINEAR                                                                          \
    "Fan et al., LIBLINEAR: A Library for Large Linear Classification, JMLR 2008"

static const ferry_opt svm_opts[] = {
    FERRY_OPT(
        svm_options, REAL, C, 0, 0, 1e9,
        "cost of errors against small weights; 0: 1, or the best of 0.1, 1 and 10 " FOLDS),
    FERRY_OPT(svm_options, REAL, eps, 1e-2, 1e-12, 1, "stopping tolerance"),
    FERRY_OPT(svm_options, REAL, tube, 0.1, 0, 1e9,
              "regress: errors up to so many deviations of the numbers cost nothing"),
    FERRY_OPT_YES_NO(svm_options, balanced, "no", "weigh classes by n / (k n_c)"),
};

static const ferry_opt logreg_opts[] = {
    FERRY_OPT(
        logreg_options, REAL, C, 0, 0, 1e9,
        "cost of errors against small weights; 0: 10 for classes, or the best of 1, 10 and 100 " FOLDS
        "; 1 for label sets"),
    FERRY_OPT(logreg_options, REAL, eps, 1e-2, 1e-12, 1, "stopping tolerance"),
    FERRY_OPT_YES_NO(logreg_options, balanced, "no", "weigh classes by n / (k n_c)"),
};

/* With the cost that the user gave, or (0) one around `usual`. */
static void fit_with(scope *s, scope *keep, const learner *by, const void *options,
                     linear_options *o, double usual, const examples *e, void *state)
{
    /* both structs of options begin with C */
    if (o->C == 0)
        o->C = choose(s, by, options, 0, 3,
                      (const double[]){usual, 0.1 * usual, 10 * usual}, e);
    *(linear_model *)state = linear_fit(s, keep, o, e);
    report_real(s, "C", o->C);
}

extern const learner learner_svm, learner_logreg;

/* e with numbers less their mean, since the solver holds the constant small like any weight, in deviations of theirs, so
 * that their unit does not decide what the tube takes. */
static examples standardise(scope *s, const examples *e, double *mean, double *deviation)
{
    const double total = total_weight(s, e);
    double *num = NEW(s, double, e->x.n), all = 0, largest = 0;
    examples to = *e;

    for (int64_t i = 0; i < e->x.n; i++)
        all += weight_of(e, i) * e->y.num[i];
    *mean = sum(s, e->x.rows, all) / total;
    for (int64_t i = 0; i < e->x.n; i++) {
        num[i] = e->y.num[i] - *mean;
        largest = fmax(largest, fabs(num[i]));
    }
    largest = most(s, e->x.rows, largest);
    all = 0;
    for (int64_t i = 0; i < e->x.n && largest > 0; i++)
        all += weight_of(e, i) * (num[i] / largest) * (num[i] / largest);
    all = sum(s, e->x.rows, all);
    *deviation = all > 0 ? largest * sqrt(all / total) : 1;
    for (int64_t i = 0; i < e->x.n; i++)
        num[i] /= *deviation;
    to.y.num = num;
    return to;
}

static void svm_fit(scope *s, scope *keep, const examples *e, const void *options,
                    void *state)
{
    const svm_options *o = options;
    linear_model *m = state;
    linear_options l = {.loss = e->y.num ? LOSS_TUBE : LOSS_HINGE,
                        .C = o->C,
                        .eps = o->eps,
                        .tube = o->tube,
                        .bias = 1,
                        .balanced = o->balanced};
    double mean = 0, deviation = 1;
    const examples of = e->y.num ? standardise(s, e, &mean, &deviation) : *e;

    fit_with(s, keep, &learner_svm, options, &l, 1, &of, state);
    for (int64_t j = 0; e->y.num && j < m->cols; j++)
        m->w.at[j] *= deviation;
    if (e->y.num) m->b[0] = m->b[0] * deviation + mean;
}

/* The usual C is what did best on 21 families of data scaled by auto, with few labels; label sets are as many separate
 * problems, each with more to learn from. */
static void logreg_fit(scope *s, scope *keep, const examples *e, const void *options,
                       void *state)
{
    const logreg_options *o = options;
    linear_options l = {.loss = LOSS_LOGISTIC,
                        .C = o->C,
                        .eps = o->eps,
                        .bias = o->constant > 0 ? o->constant : 1,
                        .balanced = o->balanced};

    fit_with(s, keep, &learner_logreg, options, &l, e->y.on ? 1 : 10, e, state);
}

static void scores(scope *s, const void *state, matrix x, block out)
{
    linear_scores(s, state, x, out);
}

static bool serves(const void *state, int64_t cols, int64_t k)
{
    const linear_model *m = state;

    return m->cols == cols && m->k == k;
}

static const block *weights(const void *state)
{
    return &((const linear_model *)state)->w;
}

const learner learner_svm = {
    .name = "svm",
    .summary = "linear support vector machine, one against the rest; regression by SVR",
    .reference = LIBLINEAR,
    .takes = LEARN_CLASSES | LEARN_SETS | LEARN_NUMBERS | LEARN_WEIGHTS | LEARN_SPREAD,
    LEARNER_OPTIONS(svm_opts, svm_options),
    .state = &linear_table,
    .fit = svm_fit,
    .scores = scores,
    .serves = serves,
    .least = 0,
    .margins = true,
    .linear = weights,
};

const learner learner_logreg = {
    .name = "logreg",
    .summary = "logistic regression, one against the rest",
    .reference = LIBLINEAR,
    .takes = LEARN_CLASSES | LEARN_SETS | LEARN_WEIGHTS | LEARN_SPREAD,
    LEARNER_OPTIONS(logreg_opts, logreg_options),
    .state = &linear_table,
    .fit = logreg_fit,
    .scores = scores,
    .serves = serves,
    .least = 0.5,
    .linear = weights,
};
