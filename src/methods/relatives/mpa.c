/* mpa: multi-class passive-aggressive learning on the target's own rows (learn/pa.h), one
 * pass over the labelled ones and then as labels come. Takes nothing from a source: what
 * the transfer methods for streams have to beat.
 */
#include <math.h>
#include <string.h>

#include "methods/shared/online.h"

enum { SCALE_L2, SCALE_CAUSAL, SCALE_NONE };

typedef struct mpa_options {
    int variant, scale, average;
    double C;
    int64_t passes;
} mpa_options;

static const ferry_opt mpa_opts[] = {
    FERRY_OPT_ONE_OF(mpa_options, variant, "pa|pa1|pa2|printed", "pa1",
                     "how large a step may be; printed: the HetOMTL paper's formula"),
    FERRY_OPT(mpa_options, REAL, C, 1, 1e-12, 1e12,
              "pa1, printed: largest step; pa2: 1 / "
              "(2 C) is added to 2 x'x"),
    FERRY_OPT_ONE_OF(
        mpa_options, scale, "l2|causal|none", "l2",
        "rows to unit length; causal: first (x - mean) / sd of the rows so far"),
    FERRY_OPT_YES_NO(mpa_options, average, "no",
                     "predict with the average of the weights after each sample"),
    FERRY_OPT(mpa_options, INT, passes, 1, 1, 1000,
              "steps for each sample, each against another class if need be"),
};

typedef struct mpa {
    int64_t d, passes;
    int scale;
    double *fill;
    moments z; /* scale causal */
    ferry_pa *pa;
    double *room; /* d: a row */
    double *f;    /* pa->k: scores */
} mpa;

static void mpa_free(void *state)
{
    mpa *m = state;

    if (!m) return;
    ferry_i_free(m->fill);
    ferry_i_moments_clear(&m->z);
    ferry_i_pa_free(m->pa);
    ferry_i_free(m->room);
    ferry_i_free(m->f);
    ferry_i_free(m);
}

/* x as the learner wants it; its values stand in room (d numbers). */
static ferry_row prepare(const mpa *m, const ferry_row *x, double *room)
{
    ferry_row out, filled;

    ferry_i_row_filled(x, m->fill, room, &filled);
    out = filled;
    if (m->scale == SCALE_L2) ferry_i_row_unit(filled.n, room);
    if (m->scale == SCALE_CAUSAL) out = (ferry_row){m->d, NULL, room + m->d};
    if (m->scale == SCALE_CAUSAL) ferry_i_moments_z(&m->z, &filled, room + m->d);
    return out;
}

static void scores(const mpa *m, const ferry_row *x, double *f)
{
    ferry_i_pa_scores(m->pa, x, f);
    if (m->pa->u) ferry_i_pa_average(m->pa, x, f);
}

/* Room for a row (causal: as it is and as it is scaled) and for k scores. */
static ferry_status make_room(ferry_ctx *ctx, mpa *m, int64_t k)
{
    ferry_status st = FERRY_OK;
    double *f = NULL;

    if (!m->room) m->room = ferry_i_calloc(2 * m->d, sizeof *m->room);
    FERRY_HAVE(ctx, m->room);
    f = ferry_i_realloc(m->f, k, sizeof *f);
    FERRY_HAVE(ctx, f);
    m->f = f;
    FERRY_TRY(ferry_i_pa_classes(ctx, m->pa, k));
done:
    return st;
}

/* ---- the stream ---- */

static bool mpa_watches(const void *state)
{
    return ((const mpa *)state)->scale == SCALE_CAUSAL;
}

static ferry_status mpa_see(ferry_ctx *ctx, void *state, const ferry_row *x, int64_t k,
                            double *score, int32_t *votes)
{
    ferry_status st = FERRY_OK;
    mpa *m = state;
    ferry_row filled;

    (void)votes;
    FERRY_TRY(ferry_i_online_check(ctx, x, m->d, k, m->pa->k));
    memset(score, 0, (size_t)k * sizeof *score);
    if (m->scale == SCALE_CAUSAL) { /* x itself counts, so that its label finds it so */
        ferry_i_row_filled(x, m->fill, m->room, &filled);
        ferry_i_moments_add(&m->z, &filled);
    }
    const ferry_row in = prepare(m, x, m->room);
    scores(m, &in, score);
done:
    return st;
}

static ferry_status mpa_learn(ferry_ctx *ctx, void *state, const ferry_row *x, int32_t cls,
                              const int32_t *votes)
{
    ferry_status st = FERRY_OK;
    mpa *m = state;

    (void)votes;
    FERRY_TRY(ferry_i_online_check(ctx, x, m->d, m->pa->k, 0));
    if (cls >= m->pa->k) FERRY_TRY(make_room(ctx, m, (int64_t)cls + 1));
    const ferry_row in = prepare(m, x, m->room);
    const double xx = ferry_i_row_norm2(&in);
    for (int64_t i = 0; i < m->passes; i++) {
        ferry_i_pa_scores(m->pa, &in, m->f);
        if (ferry_i_pa_learn(m->pa, &in, xx, cls, m->f).loss == 0) break;
    }
done:
    return st;
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
static ferry_status learn_rows(ferry_ctx *ctx, mpa *m, const online_rows *r, bool *finish)
{
    ferry_status st = FERRY_OK;
    int64_t *order = NULL;
    ferry_rng rng;

    ferry_i_rng_for(ctx, &rng, "mpa");
    FERRY_TRY(ferry_i_online_order(ctx, &rng, r->n, &order));
    for (int64_t i = 0; m->scale == SCALE_CAUSAL && i < r->n; i++) {
        const ferry_row x = ferry_i_matrix_row(r->x, r->row[i]);
        ferry_row filled;
        ferry_i_row_filled(&x, m->fill, m->room, &filled);
        ferry_i_moments_add(&m->z, &filled);
    }
    for (int64_t i = 0; i < r->n && !*finish; i++) {
        const ferry_row x = ferry_i_matrix_row(r->x, r->row[order[i]]);
        FERRY_TRY(mpa_learn(ctx, m, &x, r->cls[order[i]], NULL));
        if (i % 4096 == 4095)
            FERRY_TRY(ferry_i_progress(ctx, "mpa", i + 1, r->n, NAN, finish));
    }
done:
    ferry_i_free(order);
    return st;
}

static ferry_status mpa_fit(ferry_ctx *ctx, const ferry_task *task, const void *options,
                            void **state, ferry_report *rep)
{
    ferry_status st = FERRY_OK;
    const mpa_options *o = options;
    const ferry_domain *target = NULL;
    online_rows r = {0};
    mpa *m = ferry_i_calloc(1, sizeof *m);
    bool finish = false;

    *state = NULL;
    FERRY_HAVE(ctx, m);
    FERRY_TRY(ferry_i_task_target(ctx, task, &target));
    FERRY_TRY(ferry_i_online_rows(ctx, target, &r));
    m->d = r.d;
    m->scale = o->scale;
    m->passes = o->passes;
    FERRY_TRY(ferry_i_online_fill(ctx, &r, &m->fill));
    if (m->scale == SCALE_CAUSAL) FERRY_TRY(ferry_i_moments_new(ctx, m->d, &m->z));
    FERRY_TRY(
        ferry_i_pa_new(ctx, (ferry_pa_kind)o->variant, o->C, 0, m->d, o->average, &m->pa));
    FERRY_TRY(make_room(ctx, m, ferry_i_ids_count(task->names)));
    FERRY_TRY(learn_rows(ctx, m, &r, &finish));
    ferry_i_diag_real(ctx, "instances", (double)r.n);
    if (finish) rep->stop = FERRY_STOP_FINISH;
    *state = m;
    m = NULL;
done:
    ferry_i_online_rows_clear(&r);
    mpa_free(m);
    return st;
}

/* ---- predict ---- */

static void look(const void *state, const ferry_row *x, void *room, double *score)
{
    const mpa *m = state;
    const ferry_row in = prepare(m, x, room);

    scores(m, &in, score);
}

static ferry_status mpa_predict(ferry_ctx *ctx, const void *state, const ferry_domain *d,
                                ferry_prediction *p)
{
    ferry_status st = FERRY_OK;
    const mpa *m = state;
    double *room = ferry_i_calloc(2 * m->d, sizeof *room);
    const online_looker how = {"mpa", m->pa->k, m->d, look, m, room};

    FERRY_HAVE(ctx, room);
    FERRY_TRY(ferry_i_online_predict(ctx, &how, d, p));
done:
    ferry_i_free(room);
    return st;
}

/* ---- save and load ---- */

static ferry_status mpa_save(ferry_ctx *ctx, const void *state, ferry_dict *dict)
{
    ferry_status st = FERRY_OK;
    const mpa *m = state;
    const int64_t form[] = {m->scale, m->passes};

    FERRY_TRY(ferry_i_dict_put_ints(ctx, dict, "form", FERRY_COUNT(form), form));
    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "fill", 1, m->d, m->fill));
    if (m->scale == SCALE_CAUSAL) FERRY_TRY(ferry_i_moments_save(ctx, &m->z, dict));
    FERRY_TRY(ferry_i_pa_save(ctx, m->pa, "pa", dict));
done:
    return st;
}

static ferry_status mpa_load(ferry_ctx *ctx, const ferry_dict *dict, void **state)
{
    ferry_status st = FERRY_OK;
    const int64_t *form = NULL;
    const double *fill = NULL;
    int64_t two = 2, one = 1;
    mpa *m = ferry_i_calloc(1, sizeof *m);

    *state = NULL;
    FERRY_HAVE(ctx, m);
    FERRY_TRY(ferry_i_dict_ints(ctx, dict, "form", &two, &form));
    FERRY_NEED(ctx, 0 <= form[0] && form[0] <= SCALE_NONE && form[1] >= 1, FERRY_EDATA,
               "tensor form: scale %lld, %lld passes", (long long)form[0],
               (long long)form[1]);
    m->scale = (int)form[0];
    m->passes = form[1];
    m->d = -1;
    FERRY_TRY(ferry_i_dict_reals(ctx, dict, "fill", &one, &m->d, &fill));
    FERRY_TRY(ferry_i_dict_reals_copy(ctx, dict, "fill", 1, m->d, &m->fill));
    if (m->scale == SCALE_CAUSAL) FERRY_TRY(ferry_i_moments_load(ctx, dict, m->d, &m->z));
    FERRY_TRY(ferry_i_pa_load(ctx, dict, "pa", -1, m->d, &m->pa));
    FERRY_TRY(make_room(ctx, m, m->pa->k));
    *state = m;
    m = NULL;
done:
    mpa_free(m);
    return st;
}

const ferry_method ferry_i_method_mpa = {
    .name = "mpa",
    .summary = "passive-aggressive classifier of the target, for streams",
    .reference = "Crammer, Dekel, Keshet, Shalev-Shwartz and Singer, Online "
                 "Passive-Aggressive Algorithms, JMLR 2006",
    .kind = FERRY_KIND_BASELINE,
    .goals = FERRY_CLASSIFY | FERRY_STREAM,
    .needs = FERRY_NEED_TARGET_VIEW,
    .options = mpa_opts,
    .n_options = FERRY_COUNT(mpa_opts),
    .options_size = sizeof(mpa_options),
    .fits = mpa_fits,
    .fit = mpa_fit,
    .predict = mpa_predict,
    .online = &mpa_online,
    .save = mpa_save,
    .load = mpa_load,
    .free = mpa_free,
};
