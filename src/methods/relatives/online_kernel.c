/* online-kernel: kernel ridge regression by random features, a row at a time (learn/online_kernel.h). */
#include <math.h>

#include "learn/online_kernel.h"
#include "learn/scale.h"
#include "model/seam.h"

enum { MOST_LINEAR = 500 }; /* columns that stand beside the random features */

typedef struct online_kernel_options {
    int64_t features;
    double forget;
} online_kernel_options;
static const ferry_opt online_kernel_opts[] = {
    FERRY_OPT(online_kernel_options, INT, features, 200, 1, 5000,
              "random features of the kernel"),
    FERRY_OPT(online_kernel_options, REAL, forget, 0.998, 0.5, 1,
              "weight of a row against the next; 1: nothing is forgotten"),
};

static int64_t online_kernel_columns(const void *state)
{
    return ((const online_kernel *)state)->z.d;
}

static void *kernel_work_new(scope *s, const void *state, int64_t k, bool learns,
                             bool dense)
{
    kernel_scratch *c = NEW(s, kernel_scratch, 1);

    (void)dense;
    *c = kernel_scratch_new(s, state, k, learns);
    return c;
}

static void online_kernel_look(const void *state, void *work, ferry_row x, double *score)
{
    online_kernel_scores(state, work, x, score);
}

static void kernel_learn_row(scope *s, scope *keep, void *state, void *work,
                             const stream_label *l)
{
    (void)s, (void)keep;
    online_kernel_learn(state, work, l->x, l->cls);
}

static void online_kernel_adapt(const void *options, wants *w)
{
    (void)options;
    w->scale = FERRY_SCALE_NONE;
}

static void online_kernel_fit(scope *s, scope *keep, const problem *p, const void *options,
                              void *state)
{
    const online_kernel_options *o = options;
    const domain *t = target(p);
    const int64_t *order = rows_by_key(s, t->n, t->key);
    online_kernel *m = state;
    bool finish = false;

    *m = online_kernel_new(s, keep, scope_rng(s, "online-kernel"), o->features, MOST_LINEAR,
                           o->forget, p->classes, t->x);
    const kernel_scratch work = kernel_scratch_new(s, m, p->classes, true);
    for (int64_t i = 0; i < t->n && !finish; i++) {
        online_kernel_learn(m, &work, row_at(t->x, order[i]), t->y.cls[order[i]]);
        if (i % 1024 == 1023) finish = progress(s, "online-kernel", i + 1, t->n, NAN);
    }
    report_real(s, "instances", (double)t->n);
    if (finish) report_fit(s, 0, NAN, FERRY_STOP_FINISH);
}

static const online online_kernel_online = {.classes = "form:0",
                                            .columns = online_kernel_columns,
                                            .scratch = kernel_work_new,
                                            .look = online_kernel_look,
                                            .learn = kernel_learn_row};
const method method_online_kernel = {
    .name = "online-kernel",
    .summary = "kernel ridge regression of the target by random features, for streams",
    .reference =
        "Rahimi and Recht, Random Features for Large-Scale Kernel Machines, NIPS 2007",
    .kind = FERRY_KIND_BASELINE,
    .goals = FERRY_STREAM,
    .needs = FERRY_NEED_TARGET_VIEW,
    .wants = {.as = STREAM, .domains = WANT_TARGET},
    METHOD_OPTIONS(online_kernel_opts, online_kernel_options),
    .state = &online_kernel_table,
    .whole = true,
    .adapt = online_kernel_adapt,
    .fit = online_kernel_fit,
    .online = &online_kernel_online,
};
