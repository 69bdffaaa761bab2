/* online-logreg: softmax regression, a step for each label (learn/online_logreg.h). What somebody writes who has a
 * stream and no source. */
#include <math.h>

#include "learn/online_logreg.h"
#include "learn/scale.h"
#include "model/seam.h"

typedef struct online_logreg_options {
    double eta;
} online_logreg_options;
static const ferry_opt online_logreg_opts[] = {
    FERRY_OPT(online_logreg_options, REAL, eta, 0.3, 1e-9, 1e9, "size of the steps"),
};

static int64_t online_logreg_columns(const void *state)
{
    return ((const online_logreg *)state)->z.d;
}

static void *logreg_work_new(scope *s, const void *state, int64_t k, bool learns,
                             bool dense)
{
    logreg_scratch *c = NEW(s, logreg_scratch, 1);

    (void)learns, (void)dense;
    *c = logreg_scratch_new(s, state, k);
    return c;
}

static void online_logreg_look(const void *state, void *work, ferry_row x, double *score)
{
    online_logreg_scores(state, work, x, score);
}

static void logreg_learn_row(scope *s, scope *keep, void *state, void *work,
                             const stream_label *l)
{
    (void)s, (void)keep;
    online_logreg_learn(state, work, l->x, l->cls);
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
    const int64_t *order = rows_by_key(s, t->n, t->key);
    online_logreg *m = state;
    bool finish = false;

    *m = online_logreg_new(keep, ((const online_logreg_options *)options)->eta, p->classes,
                           p->width);
    const logreg_scratch work = logreg_scratch_new(s, m, p->classes);
    for (int64_t i = 0; i < t->n && !finish; i++) {
        online_logreg_learn(m, &work, row_at(t->x, order[i]), t->y.cls[order[i]]);
        if (i % 4096 == 4095) finish = progress(s, "online-logreg", i + 1, t->n, NAN);
    }
    report_real(s, "instances", (double)t->n);
    if (finish) report_fit(s, 0, NAN, FERRY_STOP_FINISH);
}

static const online online_logreg_online = {.classes = "form:0",
                                            .columns = online_logreg_columns,
                                            .scratch = logreg_work_new,
                                            .look = online_logreg_look,
                                            .learn = logreg_learn_row};
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
