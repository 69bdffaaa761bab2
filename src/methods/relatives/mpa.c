/* mpa: multi-class passive-aggressive learning on the target's own rows, one pass over the labelled ones in the order
 * of their keys and then as labels come. It takes nothing from a source: what the transfer methods for streams have to beat.
 *
 *   f = W x,  r = argmax over k != y of f_k,  l = max(0, 1 - f_y + f_r)
 *   l > 0:  W_y += tau x,  W_r -= tau x,  tau = min(C, l / 2x'x)     (PA-I; learn/online.h has the others)
 *   average:  predict by W - U / steps, U the sum of all changes, each times the number of rows before it
 *
 * Rows are of unit length by default, so that C means the same for all of them. causal: rows are (x - mean) / sd of all
 * rows seen so far, to unit length; then every row that is seen changes the state.
 *
 * Crammer, Dekel, Keshet, Shalev-Shwartz and Singer, Online Passive-Aggressive Algorithms, JMLR 2006. */
#include <math.h>

#include "learn/online.h"
#include "learn/scale.h"
#include "model/seam.h"

/* The choice after those of every method: an old name that means scale none, causal yes. */
enum { SCALE_CAUSAL = FERRY_SCALE_L2 + 1 };

typedef struct mpa_options {
    int variant, scale, causal, average;
    double C;
    int64_t passes;
} mpa_options;
static const ferry_opt mpa_opts[] = {
    FERRY_OPT_ONE_OF(mpa_options, variant, PA_KINDS, "pa1",
                     "how large a step may be; printed: the HetOMTL paper's formula"),
    FERRY_OPT(mpa_options, REAL, C, 1, 1e-12, 1e12,
              "pa1, printed: largest step; pa2: 1 / (2 C) is added to 2 x'x"),
    FERRY_OPT_ONE_OF(mpa_options, scale, FERRY_SCALE_CHOICES "|,causal", "l2",
                     FERRY_SCALE_HELP),
    FERRY_OPT_YES_NO(mpa_options, causal, "no",
                     "then (x - mean) / sd of the rows so far, to unit length"),
    FERRY_OPT_YES_NO(mpa_options, average, "no",
                     "predict with the average of the weights after each sample"),
    FERRY_OPT(mpa_options, INT, passes, 1, 1, 1000,
              "steps for each sample, each against another class if necessary"),
};

typedef struct mpa {
    int64_t causal, passes;
    moments z; /* causal: mean NULL without */
    pa pa;
} mpa;

static void mpa_check(scope *s, const void *state)
{
    const mpa *m = state;

    if (m->causal != (m->z.mean != NULL) || (m->causal && m->z.d != m->pa.w.k))
        scope_fail(s, FERRY_EDATA, "tensor moments: %lld columns, the weights have %lld",
                   (long long)m->z.d, (long long)m->pa.w.k);
}

static const field mpa_fields[] = {
    /* names as in files since 0.1 */
    FIELD_AS(mpa, INT, causal, "form:0", .lo = 0, .hi = 2),
    FIELD_AS(mpa, INT, passes, "form:1", .lo = 1, .hi = 9e18),
    FIELD_AS(mpa, STRUCT, z, "moments", .of = &moments_table, .optional = true),
    ARRAY(mpa, STRUCT, pa, .of = &pa_table),
};
static const table mpa_table = {sizeof(mpa), mpa_fields, FERRY_COUNT(mpa_fields), mpa_check,
                                NULL};

static int64_t mpa_columns(const void *state)
{
    return ((const mpa *)state)->pa.w.k;
}

typedef struct mpa_scratch {
    double *x; /* a row scaled causally */
    double *f; /* scores */
} mpa_scratch;

static void *mpa_scratch_new(scope *s, const void *state, int64_t k, bool learns,
                             bool dense)
{
    const mpa *m = state;
    mpa_scratch *c = NEW(s, mpa_scratch, 1);

    (void)learns, (void)dense;
    c->x = NEW(s, double, m->pa.w.k);
    c->f = NEW(s, double, k);
    return c;
}

static ferry_row input(const mpa *m, const mpa_scratch *c, ferry_row x)
{
    if (!m->causal) return x;
    moments_scale(&m->z, x, c->x);
    return (ferry_row){m->pa.w.k, NULL, c->x};
}

/* The averaged weights are steadier than the last ones; only predictions use them, steps are always from W itself. */
static void mpa_look(const void *state, void *scratch, ferry_row x, double *score)
{
    const mpa *m = state;
    const ferry_row in = input(m, scratch, x);

    pa_scores(&m->pa, in, score);
    if (m->pa.averages) pa_average(&m->pa, in, score);
}

/* Running means move with every row that is seen, label or not. */
static bool mpa_watches(const void *state)
{
    return ((const mpa *)state)->causal;
}

static void mpa_see(void *state, void *scratch, ferry_row x, double *score, int32_t *votes)
{
    mpa *m = state;

    (void)votes;
    if (m->causal) moments_add(&m->z, x);
    mpa_look(m, scratch, x, score);
}

/* Up to `passes` steps: one may put another class first. The means know the row since it was seen. */
static void mpa_learn(scope *s, scope *keep, void *state, void *scratch,
                      const stream_label *l)
{
    mpa *m = state;
    mpa_scratch *c = scratch;
    const ferry_row in = input(m, c, l->x);
    const double xx = row_norm2(in);

    (void)s, (void)keep;
    for (int64_t i = 0; i < m->passes; i++) {
        pa_scores(&m->pa, in, c->f);
        if (pa_learn(&m->pa, in, xx, l->cls, c->f).loss == 0) break;
    }
}

static void mpa_adapt(const void *options, wants *w)
{
    const mpa_options *o = options;

    w->scale = o->scale == SCALE_CAUSAL ? FERRY_SCALE_NONE : o->scale;
}

/* Every class of the task begins with weights of 0, labelled rows or not. */
static void mpa_fit(scope *s, scope *keep, const problem *p, const void *options,
                    void *state)
{
    const mpa_options *o = options;
    const domain *t = target(p);
    const int64_t d = p->width;
    const row_pass pass = row_pass_new(s, t->n, t->key, p->classes, t->y.cls);
    bool finish = false;
    mpa *m = state;

    *m = (mpa){.causal = o->causal || o->scale == SCALE_CAUSAL, .passes = o->passes};
    m->pa = pa_new(keep, (pa_kind)o->variant, o->C, p->classes, d, o->average);
    if (m->causal) m->z = moments_new(keep, d);
    void *scratch = mpa_scratch_new(s, m, p->classes, true, true);
    /* The running means know all rows first: the first ones would be scaled by those of next to nothing. */
    for (int64_t i = 0; m->causal && i < t->n; i++)
        moments_add(&m->z, row_at(t->x, pass.row[i]));
    for (int64_t i = 0; i < t->n && !finish; i++) {
        const int64_t at = pass.row[i];
        const stream_label l = {row_at(t->x, at), pass.number[t->y.cls[at]], NULL, false};
        mpa_learn(s, keep, m, scratch, &l);
        if (i % 4096 == 4095) finish = progress(s, "mpa", i + 1, t->n, NAN);
    }
    pa_renumber(s, &m->pa, pass.number);
    report_real(s, "instances", (double)t->n);
    if (finish) report_fit(s, 0, NAN, FERRY_STOP_FINISH);
}

static const online mpa_online = {.classes = "pa:1",
                                  .columns = mpa_columns,
                                  .watches = mpa_watches,
                                  .scratch = mpa_scratch_new,
                                  .look = mpa_look,
                                  .see = mpa_see,
                                  .learn = mpa_learn};
const method method_mpa = {
    .name = "mpa",
    .summary = "passive-aggressive classifier of the target, for streams",
    .reference = "Crammer, Dekel, Keshet, Shalev-Shwartz and Singer, Online "
                 "Passive-Aggressive Algorithms, JMLR 2006",
    .kind = FERRY_KIND_BASELINE,
    .goals = FERRY_CLASSIFY | FERRY_STREAM,
    .needs = FERRY_NEED_TARGET_VIEW,
    .wants = {.as = STREAM, .domains = WANT_TARGET},
    METHOD_OPTIONS(mpa_opts, mpa_options),
    .state = &mpa_table,
    .whole = true,
    .adapt = mpa_adapt,
    .fit = mpa_fit,
    .online = &mpa_online,
};
