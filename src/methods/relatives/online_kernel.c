/* online-kernel: ridge regression on classes in a kernel's random features, exact after every label, slowly forgetting.
 *
 *   z = (x - mean) / sd of the rows learned so far
 *   phi = [3 sqrt(2 / D) cos(w'z + b), z / sqrt(d), 1],   w ~ N(0, 1 / d), b ~ U(0, 2 pi), drawn once
 *   k = P phi,  g = k / (f + phi'k),  B += g (e_y - 1/classes - B'phi)',  P = (P - g k') / f
 *
 * P begins as I. f = .998 forgets; where a column no longer varies P would grow without bound, so nothing is forgotten
 * while its trace is above 1e6 D. Rahimi and Recht, Random Features for Large-Scale Kernel Machines, NIPS 2007. */
#include <math.h>
#include <string.h>

#include "learn/learner.h"
#include "learn/online.h"
#include "learn/scale.h"
#include "model/seam.h"

enum {
    MOST_LINEAR = 500,
    AGAIN = 1000
}; /* columns beside the random features; rows after which P is made symmetric */
static const double LOUD = 3, MOST_TRACE = 1e6, TURN = 6.283185307179586;

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

typedef struct online_kernel {
    double forget;
    int64_t learned;
    int64_t random, linear,
        wide; /* D; columns that are features themselves; D + linear + 1 */
    moments z;
    block w;    /* D x d */
    double *b;  /* D */
    block p;    /* wide x wide */
    block beta; /* classes x wide */
} online_kernel;

static void online_kernel_check(scope *s, const void *state)
{
    const online_kernel *m = state;

    if (m->wide != m->random + m->linear + 1 || m->w.k != m->z.d ||
        (m->linear != 0 && m->linear != m->z.d))
        scope_fail(s, FERRY_EDATA, "tensor form: %lld features of %lld columns",
                   (long long)m->wide, (long long)m->z.d);
}

static const field online_kernel_fields[] = {
    FIELD_AS(online_kernel, INT, beta.n, "form:0", .lo = 0, .hi = INT32_MAX),
    FIELD_AS(online_kernel, INT, learned, "form:1", .lo = 0, .hi = 9e18),
    FIELD_AS(online_kernel, INT, random, "form:2", .lo = 1, .hi = 1e6),
    FIELD_AS(online_kernel, INT, linear, "form:3", .lo = 0, .hi = 1e6),
    FIELD_AS(online_kernel, INT, wide, "form:4", .lo = 1, .hi = 1e7),
    ARRAY(online_kernel, REAL, forget, .lo = 0.5, .hi = 1.5),
    FIELD_AS(online_kernel, STRUCT, z, "moments", .of = &moments_table),
    ARRAY(online_kernel, BLOCK, w, .rows = SIZE(online_kernel, random),
          .cols = SIZE(online_kernel, w.k)),
    ARRAY(online_kernel, REALS, b, .rows = SIZE(online_kernel, random)),
    ARRAY(online_kernel, BLOCK, p, .rows = SIZE(online_kernel, wide),
          .cols = SIZE(online_kernel, wide)),
    ARRAY(online_kernel, BLOCK, beta, .rows = CLASSES, .cols = SIZE(online_kernel, wide)),
};
static const table online_kernel_table = {sizeof(online_kernel), online_kernel_fields,
                                          FERRY_COUNT(online_kernel_fields),
                                          online_kernel_check, NULL};

static int64_t online_kernel_columns(const void *state)
{
    return ((const online_kernel *)state)->z.d;
}

typedef struct kernel_work {
    double *z, *phi, *k, *score;
} kernel_work;

static void *kernel_work_new(scope *s, const void *state, int64_t k, bool learns,
                             bool dense)
{
    const online_kernel *m = state;
    kernel_work *c = NEW(s, kernel_work, 1);

    (void)dense;
    c->z = NEW(s, double, m->z.d);
    c->phi = NEW(s, double, m->wide);
    c->k = learns ? NEW(s, double, m->wide) : NULL;
    c->score = NEW(s, double, k);
    return c;
}

static void kernel_features(const online_kernel *m, ferry_row x, double *z, double *phi)
{
    const double loud = LOUD * sqrt(2 / (double)m->random);

    moments_standardise(&m->z, x, z);
    row_scores(m->random, m->z.d, m->w.at, (ferry_row){m->z.d, NULL, z}, phi);
    for (int64_t j = 0; j < m->random; j++)
        phi[j] = loud * cos(phi[j] + m->b[j]);
    for (int64_t j = 0; j < m->linear; j++)
        phi[m->random + j] = z[j] / sqrt((double)m->z.d);
    phi[m->wide - 1] = 1;
}

static void kernel_scores(const online_kernel *m, const double *phi, double *score)
{
    row_scores(m->beta.n, m->wide, m->beta.at, (ferry_row){m->wide, NULL, phi}, score);
}

static void online_kernel_look(const void *state, void *work, ferry_row x, double *score)
{
    const kernel_work *c = work;

    kernel_features(state, x, c->z, c->phi);
    kernel_scores(state, c->phi, score);
}

/* P <- (P - g k') / f, g = k / (f + phi'k). */
static void update(online_kernel *m, const double *k, double below, double f)
{
    for (int64_t i = 0; i < m->wide; i++) {
        double *row = ROW(m->p, i);
        const double g = k[i] / below;
        for (int64_t j = 0; j < m->wide; j++)
            row[j] = (row[j] - g * k[j]) / f;
    }
    if (m->learned % AGAIN != 0) return;
    for (int64_t i = 0; i < m->wide; i++) /* rounding */
        for (int64_t j = 0; j < i; j++)
            ROW(m->p, i)[j] = ROW(m->p, j)[i] = (ROW(m->p, i)[j] + ROW(m->p, j)[i]) / 2;
}

static double forgetting(const online_kernel *m)
{
    double trace = 0;

    for (int64_t i = 0; i < m->wide; i++)
        trace += ROW(m->p, i)[i];
    return trace > MOST_TRACE * (double)m->random ? 1 : m->forget;
}

static void online_kernel_learn(scope *s, scope *keep, void *state, void *work,
                                const stream_label *l)
{
    online_kernel *m = state;
    const kernel_work *c = work;
    const double f = forgetting(m), share = 1 / (double)m->beta.n;

    (void)s, (void)keep;
    moments_add(&m->z, l->x);
    kernel_features(m, l->x, c->z, c->phi);
    const ferry_row phi = {m->wide, NULL, c->phi};
    row_scores(m->wide, m->wide, m->p.at, phi, c->k);
    const double below = f + row_dot(phi, c->k);
    kernel_scores(m, c->phi, c->score);
    for (int64_t y = 0; y < m->beta.n; y++) {
        const double miss = ((y == l->cls) - share - c->score[y]) / below;
        for (int64_t j = 0; j < m->wide; j++)
            ROW(m->beta, y)[j] += miss * c->k[j];
    }
    m->learned++;
    update(m, c->k, below, f);
}

static void online_kernel_adapt(const void *options, wants *w)
{
    (void)options;
    w->scale = FERRY_SCALE_NONE;
}

static online_kernel begin(scope *s, scope *keep, const problem *p,
                           const online_kernel_options *o)
{
    const int64_t d = p->width, linear = d <= MOST_LINEAR ? d : 0;
    const int64_t wide = o->features + linear + 1;
    ferry_rng *rng = scope_rng(s, "online-kernel");
    online_kernel m = {.forget = o->forget,
                       .random = o->features,
                       .linear = linear,
                       .wide = wide,
                       .z = moments_new(keep, d),
                       .w = block_new(keep, HERE(o->features), o->features, d),
                       .b = NEW(keep, double, o->features),
                       .p = block_new(keep, HERE(wide), wide, wide),
                       .beta = block_new(keep, HERE(p->classes), p->classes, wide)};

    fill_normal(s, rng, m.w);
    for (int64_t e = 0; e < m.w.n * m.w.k; e++)
        m.w.at[e] /= sqrt((double)d);
    for (int64_t j = 0; j < m.random; j++)
        m.b[j] = TURN * ferry_i_rng_real(rng);
    for (int64_t i = 0; i < wide; i++)
        ROW(m.p, i)[i] = 1;
    return m;
}

static void online_kernel_fit(scope *s, scope *keep, const problem *p, const void *options,
                              void *state)
{
    const domain *t = target(p);
    const int64_t *order = rows_by_key(s, t->n, t->key);
    online_kernel *m = state;
    bool finish = false;

    *m = begin(s, keep, p, options);
    void *work = kernel_work_new(s, m, p->classes, true, true);
    for (int64_t i = 0; i < t->n && !finish; i++) {
        const stream_label l = {row_at(t->x, order[i]), t->y.cls[order[i]], NULL, false};
        online_kernel_learn(s, keep, m, work, &l);
        if (i % 1024 == 1023) finish = progress(s, "online-kernel", i + 1, t->n, NAN);
    }
    report_real(s, "instances", (double)t->n);
    if (finish) report_fit(s, 0, NAN, FERRY_STOP_FINISH);
}

static const online online_kernel_online = {.classes = "form:0",
                                            .columns = online_kernel_columns,
                                            .scratch = kernel_work_new,
                                            .look = online_kernel_look,
                                            .learn = online_kernel_learn};
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
