/* mpa: multi-class passive-aggressive learning on the target's own rows (learn/pa.h has
 * the steps), one pass over the labelled ones and then as labels come. Takes nothing
 * from a source: what the transfer methods for streams have to beat, and hetomtl's
 * target learner.
 * With f = W x and r the best of the other classes, a row of class y and loss l = max(0,
 * 1 - f_y + f_r) moves W_y by tau x and W_r by -tau x, where pa1 (the default) has tau =
 * min(C, l / (2 x'x)): just far enough for a margin of 1, but never further than C. Rows
 * are of unit length by default, so that C means the same for all of them. */
#include <math.h>
#include <string.h>

#include "methods/shared/online.h"

/* The choice after those of every method: its old name is still taken, and means scale
 * none, causal yes. */
enum { SCALE_CAUSAL = FERRY_SCALE_L2 + 1 };

typedef struct mpa_options {
    int variant, scale, causal, average;
    double C;
    int64_t passes;
} mpa_options;

static const ferry_opt mpa_opts[] = {
    FERRY_OPT_ONE_OF(mpa_options, variant, "pa|pa1|pa2|printed", "pa1",
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

/* What is saved: passes, causal, the preparation, the moments (causal only) and the
 * learner; x and f are scratch. */
typedef struct mpa {
    int64_t passes;
    bool causal;
    online_input in;
    moments z; /* causal */
    ferry_pa *pa;
    double *x; /* d: a row scaled causally */
    double *f; /* pa->k: scores */
} mpa;

static void mpa_free(void *state)
{
    mpa *m = state;

    if (!m) return;
    ferry_i_online_clear(&m->in);
    ferry_i_moments_clear(&m->z);
    ferry_i_pa_free(m->pa);
    FERRY_FREE(m->x, m->f, m);
}

/* A prepared row as the learner wants it; x (d numbers) is room for that. */
static ferry_row input(const mpa *m, const ferry_row *row, double *x)
{
    if (!m->causal) return *row;
    ferry_i_moments_z(&m->z, row, x);
    return (ferry_row){m->in.d, NULL, x};
}

/* The averaged weights are steadier than the last ones; only predictions use them, while
 * steps are always from W itself. */
static void scores(const mpa *m, const ferry_row *x, double *f)
{
    ferry_i_pa_scores(m->pa, x, f);
    if (m->pa->u) ferry_i_pa_average(m->pa, x, f);
}

/* Room for a causal row and for k classes. */
static ferry_status make_room(ferry_ctx *ctx, mpa *m, int64_t k)
{
    ferry_status st = FERRY_OK;
    double *f = ferry_i_realloc(m->f, k, sizeof *f);

    FERRY_HAVE(ctx, f);
    m->f = f;
    if (!m->x) FERRY_NEW(ctx, m->x, m->in.d);
    FERRY_TRY(ferry_i_pa_classes(ctx, m->pa, k));
done:
    return st;
}

/* ---- the stream ---- */

/* Running means move with every row that is seen, label or not. */
static bool mpa_watches(const void *state)
{
    return ((const mpa *)state)->causal;
}

/* Answer a row; with running means it counts from now on, label or not. */
static ferry_status mpa_see(ferry_ctx *ctx, void *state, const ferry_row *x, int64_t k,
                            double *score, int32_t *votes)
{
    mpa *m = state;

    (void)votes;
    FERRY_PASS(ferry_i_online_check(ctx, x, m->in.d, k, m->pa->k));
    memset(score, 0, (size_t)k * sizeof *score);
    const ferry_row row = ferry_i_online_row(&m->in, x, NULL);
    if (m->causal)
        ferry_i_moments_add(&m->z, &row); /* it counts, as when its label comes */
    const ferry_row in = input(m, &row, m->x);
    scores(m, &in, score);
    return FERRY_OK;
}

/* Up to `passes` steps: one may put another class first. */
static void learn_row(mpa *m, const ferry_row *row, int32_t cls)
{
    const ferry_row in = input(m, row, m->x);
    const double xx = ferry_i_row_norm2(&in);

    for (int64_t i = 0; i < m->passes; i++) {
        ferry_i_pa_scores(m->pa, &in, m->f);
        if (ferry_i_pa_learn(m->pa, &in, xx, cls, m->f).loss == 0) break;
    }
}

/* Hear a label; a class that is new gets a weight row of zeros first.
 * The means are not updated here: see() has counted the row already. */
static ferry_status mpa_learn(ferry_ctx *ctx, void *state, const ferry_row *x, int32_t cls,
                              const int32_t *votes)
{
    mpa *m = state;

    (void)votes;
    FERRY_PASS(ferry_i_online_check(ctx, x, m->in.d, m->pa->k, 0));
    if (cls >= m->pa->k) FERRY_PASS(make_room(ctx, m, (int64_t)cls + 1));
    const ferry_row row = ferry_i_online_row(&m->in, x, NULL);
    learn_row(m, &row, cls);
    return FERRY_OK;
}

static const ferry_online mpa_online = {
    .watches = mpa_watches, .see = mpa_see, .learn = mpa_learn};

/* ---- fit ---- */

static ferry_status mpa_fits(ferry_ctx *ctx, const ferry_task *task, const void *options)
{
    (void)options;
    return ferry_i_online_fits(ctx, "mpa", task);
}

/* The labelled rows in a random order; the running means know all of them first. */
static ferry_status learn_rows(ferry_ctx *ctx, mpa *m, const ferry_rows *r, bool *finish)
{
    ferry_status st = FERRY_OK;
    int64_t *order = NULL;
    ferry_rng rng;

    ferry_i_rng_for(ctx, &rng, "mpa");
    FERRY_TRY(ferry_i_online_order(ctx, &rng, r->n, &order));
    /* Otherwise the first rows would be scaled by the means of next to nothing. */
    for (int64_t i = 0; m->causal && i < r->n; i++) {
        const ferry_row x = ferry_i_matrix_row(r->x[0], i);
        ferry_i_moments_add(&m->z, &x);
    }
    for (int64_t i = 0; i < r->n && !*finish; i++) {
        const ferry_row x = ferry_i_matrix_row(r->x[0], order[i]);
        learn_row(m, &x, r->cls[order[i]]);
        if (i % 4096 == 4095)
            FERRY_TRY(ferry_i_progress(ctx, "mpa", i + 1, r->n, NAN, finish));
    }
done:
    ferry_i_free(order);
    return st;
}

/* One pass over the labelled rows in a random order; every class of the task begins with
 * weights of 0, labelled rows or not. No objective is reported: none is minimised. */
static ferry_status mpa_fit(ferry_ctx *ctx, const ferry_task *task, const void *options,
                            void **state, ferry_fit_info *rep)
{
    ferry_status st = FERRY_OK;
    const mpa_options *o = options;
    /* The old word means: no scaling by the preparation, running means instead. */
    const bool old = o->scale == SCALE_CAUSAL;
    mpa *m = NULL;
    bool finish = false;

    *state = NULL;
    FERRY_NEW(ctx, m, 1);
    m->causal = o->causal || old;
    m->passes = o->passes;
    FERRY_TRY(ferry_i_online_prepare(ctx, "mpa", task, FERRY_THE_TARGET,
                                     old ? FERRY_SCALE_NONE : o->scale, &m->in));
    const ferry_rows *r = ferry_i_prepared_target(m->in.prepared);
    if (m->causal) FERRY_TRY(ferry_i_moments_new(ctx, m->in.d, &m->z));
    FERRY_TRY(ferry_i_pa_new(ctx, (ferry_pa_kind)o->variant, o->C, 0, m->in.d, o->average,
                             &m->pa));
    /* pa_new made a learner of no classes; this grows it as the stream grows it later. */
    FERRY_TRY(make_room(ctx, m, ferry_i_ids_count(task->names)));
    FERRY_TRY(learn_rows(ctx, m, r, &finish));
    ferry_i_diag_real(ctx, "instances", (double)r->n);
    ferry_i_prepared_forget(m->in.prepared);
    if (finish) rep->stop = FERRY_STOP_FINISH;
    FERRY_MOVE(*state, m);
done:
    mpa_free(m);
    return st;
}

/* ---- predict ---- */

/* Scratch of a prediction, which may not touch the model's own. */
typedef struct look_room {
    ferry_scale_room row;
    double *x;
} look_room;

/* The scores that see() would give, but a row that is predicted does not move the means. */
static void look(const void *state, const ferry_row *x, void *room, double *score)
{
    const mpa *m = state;
    const look_room *r = room;
    const ferry_row row = ferry_i_online_row(&m->in, x, &r->row), in = input(m, &row, r->x);

    scores(m, &in, score);
}

/* Row by row through look(), with scratch of its own; the state is only read. */
static ferry_status mpa_predict(ferry_ctx *ctx, const void *state, const ferry_domain *d,
                                ferry_prediction *p)
{
    ferry_status st = FERRY_OK;
    const mpa *m = state;
    look_room room = {.x = NULL};
    const online_looker how = {"mpa", m->pa->k, m->in.d, look, m, &room};

    FERRY_NEW(ctx, room.x, m->in.d);
    FERRY_TRY(ferry_i_scale_room_new(ctx, m->in.d, &room.row));
    FERRY_TRY(ferry_i_online_predict(ctx, &how, d, p));
done:
    ferry_i_scale_room_clear(&room.row);
    ferry_i_free(room.x);
    return st;
}

/* ---- save and load ---- */

/* The running means are state like the weights: without them a loaded model would scale
 * the next row as if it were the first. Any number of classes: the stream may have added
 * some since the fit. */
static void mpa_file(ferry_io *io, void *state)
{
    mpa *m = state;
    int64_t form[] = {m->causal, m->passes};

    ferry_i_io_ints(io, "form", 2, form);
    FERRY_IO_NEED(io, 0 <= form[0] && form[0] <= 1 && form[1] >= 1,
                  "tensor form: causal %lld, %lld passes", (long long)form[0],
                  (long long)form[1]);
    if (ferry_i_io_loading(io)) {
        m->causal = form[0] != 0;
        m->passes = form[1];
    }
    ferry_i_online_file(io, &m->in);
    if (m->causal) ferry_i_moments_file(io, m->in.d, &m->z);
    ferry_i_pa_file(io, "pa", -1, m->in.d, &m->pa);
    if (ferry_i_io_loading(io)) ferry_i_io_fail(io, make_room(io->ctx, m, m->pa->k));
}

const ferry_method ferry_i_method_mpa = {
    .name = "mpa",
    .summary = "passive-aggressive classifier of the target, for streams",
    .reference = "Crammer, Dekel, Keshet, Shalev-Shwartz and Singer, Online "
                 "Passive-Aggressive Algorithms, JMLR 2006",
    .kind = FERRY_KIND_BASELINE,
    .goals = FERRY_CLASSIFY | FERRY_STREAM,
    .needs = FERRY_NEED_TARGET_VIEW,
    FERRY_OPTIONS(mpa_opts, mpa_options),
    .fits = mpa_fits,
    .fit = mpa_fit,
    .predict = mpa_predict,
    .online = &mpa_online,
    FERRY_STATE(mpa, mpa_file, mpa_free),
};
