/* online-logreg: softmax regression on standardised rows, a step for each label that comes. What somebody writes who has
 * a stream and no source, and follows a rule that drifts, since AdaGrad's steps are large where gradients are new.
 *
 *   z = ((x - mean) / sd of the rows learned so far, 1),  p = softmax(W z)
 *   g = (p - e_y) z',  G += g^2,  W -= eta g / sqrt(G + 0.01)
 *
 * An answer uses what was learned before its row; learning a row counts it into mean and sd first.
 * Duchi, Hazan and Singer, Adaptive Subgradient Methods, JMLR 2011. */
#include <math.h>
#include <string.h>

#include "learn/learner.h"
#include "learn/online.h"
#include "learn/scale.h"
#include "model/seam.h"

static const double FIRST = 0.01;

typedef struct online_logreg_options {
    double eta;
} online_logreg_options;
static const ferry_opt online_logreg_opts[] = {
    FERRY_OPT(online_logreg_options, REAL, eta, 0.3, 1e-9, 1e9, "size of the steps"),
};

typedef struct online_logreg {
    double eta;
    moments z;
    block w,
        g; /* classes x (columns + 1): weights, the constant last; sums of squared gradients */
} online_logreg;

static void online_logreg_check(scope *s, const void *state)
{
    const online_logreg *m = state;

    if (m->w.k != m->z.d + 1)
        scope_fail(s, FERRY_EDATA,
                   "tensor w: %lld columns, of features and a constant there are %lld",
                   (long long)m->w.k, (long long)m->z.d + 1);
    for (int64_t e = 0; e < m->g.n * m->g.k; e++)
        if (m->g.at[e] < 0) /* a step would be NaN */
            scope_fail(s, FERRY_EDATA, "tensor g: entry %lld is %g", (long long)e,
                       m->g.at[e]);
}

static const field online_logreg_fields[] = {
    FIELD_AS(online_logreg, INT, w.n, "form:0", .lo = 0, .hi = INT32_MAX),
    FIELD_AS(online_logreg, INT, w.k, "form:1", .lo = 1, .hi = INT32_MAX),
    ARRAY(online_logreg, REAL, eta, .lo = 0, .hi = 1e10),
    FIELD_AS(online_logreg, STRUCT, z, "moments", .of = &moments_table),
    ARRAY(online_logreg, BLOCK, w, .rows = CLASSES, .cols = SIZE(online_logreg, w.k)),
    ARRAY(online_logreg, BLOCK, g, .rows = CLASSES, .cols = SIZE(online_logreg, w.k)),
};
static const table online_logreg_table = {sizeof(online_logreg), online_logreg_fields,
                                          FERRY_COUNT(online_logreg_fields),
                                          online_logreg_check, NULL};

static int64_t online_logreg_columns(const void *state)
{
    return ((const online_logreg *)state)->z.d;
}

typedef struct logreg_work {
    double *z, *p; /* a row with its constant; probabilities */
} logreg_work;

static void *logreg_work_new(scope *s, const void *state, int64_t k, bool learns,
                             bool dense)
{
    const online_logreg *m = state;
    logreg_work *c = NEW(s, logreg_work, 1);

    (void)learns, (void)dense;
    c->z = NEW(s, double, m->w.k);
    c->p = NEW(s, double, k);
    return c;
}

/* p <- softmax(W z). */
static void probabilities(const online_logreg *m, ferry_row x, double *z, double *p)
{
    moments_standardise(&m->z, x, z);
    z[m->z.d] = 1;
    row_scores(m->w.n, m->w.k, m->w.at, (ferry_row){m->w.k, NULL, z}, p);
    if (m->w.n > 0) (void)softmax_row(m->w.n, NULL, p);
}

static void online_logreg_look(const void *state, void *work, ferry_row x, double *score)
{
    probabilities(state, x, ((logreg_work *)work)->z, score);
}

static void online_logreg_learn(scope *s, scope *keep, void *state, void *work,
                                const stream_label *l)
{
    online_logreg *m = state;
    const logreg_work *c = work;

    (void)s, (void)keep;
    moments_add(&m->z, l->x);
    probabilities(m, l->x, c->z, c->p);
    c->p[l->cls] -= 1;
    for (int64_t k = 0; k < m->w.n; k++)
        for (int64_t j = 0; j < m->w.k; j++) {
            const double g = c->p[k] * c->z[j];
            ROW(m->g, k)[j] += g * g;
            ROW(m->w, k)[j] -= m->eta * g / sqrt(ROW(m->g, k)[j] + FIRST);
        }
}

static void online_logreg_adapt(const void *options, wants *w)
{
    (void)options;
    w->scale = FERRY_SCALE_NONE;
}

static void online_logreg_fit(scope *s, scope *keep, const problem *p, const void *options,
                              void *state)
{
    const domain *t = target(p);
    const int64_t d = p->width, *order = rows_by_key(s, t->n, t->key);
    online_logreg *m = state;
    bool finish = false;

    *m = (online_logreg){.eta = ((const online_logreg_options *)options)->eta,
                         .z = moments_new(keep, d),
                         .w = block_new(keep, HERE(p->classes), p->classes, d + 1),
                         .g = block_new(keep, HERE(p->classes), p->classes, d + 1)};
    void *work = logreg_work_new(s, m, p->classes, true, true);
    for (int64_t i = 0; i < t->n && !finish; i++) {
        const stream_label l = {row_at(t->x, order[i]), t->y.cls[order[i]], NULL, false};
        online_logreg_learn(s, keep, m, work, &l);
        if (i % 4096 == 4095) finish = progress(s, "online-logreg", i + 1, t->n, NAN);
    }
    report_real(s, "instances", (double)t->n);
    if (finish) report_fit(s, 0, NAN, FERRY_STOP_FINISH);
}

static const online online_logreg_online = {.classes = "form:0",
                                            .columns = online_logreg_columns,
                                            .scratch = logreg_work_new,
                                            .look = online_logreg_look,
                                            .learn = online_logreg_learn};
const method method_online_logreg = {
    .name = "online-logreg",
    .summary = "softmax regression of the target by AdaGrad, for streams",
    .reference =
        "Duchi, Hazan and Singer, Adaptive Subgradient Methods for Online Learning "
        "and Stochastic Optimization, JMLR 2011",
    .kind = FERRY_KIND_BASELINE,
    .goals = FERRY_STREAM,
    .needs = FERRY_NEED_TARGET_VIEW,
    .wants = {.as = STREAM, .domains = WANT_TARGET},
    METHOD_OPTIONS(online_logreg_opts, online_logreg_options),
    .state = &online_logreg_table,
    .whole = true,
    .adapt = online_logreg_adapt,
    .fit = online_logreg_fit,
    .online = &online_logreg_online,
};
