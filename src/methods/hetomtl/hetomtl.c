/* hetomtl (mode paper: het.h; mode ferry: experts.h) and omtlmc (het.h). */
#include <math.h>
#include <string.h>

#include "methods/hetomtl/experts.h"
#include "methods/hetomtl/het.h"

enum { MODE_FERRY, MODE_PAPER };

#define HET_OPTS(T)                                                                        \
    FERRY_OPT(T, REAL, alpha, 1, 1e-12, 1e12, "CDSPP: weight of |P|^2"),                   \
        FERRY_OPT_ONE_OF(T, post, "none|l2|centred", "none",                               \
                         "what comes after the projection: unit length, after centring"),  \
        FERRY_OPT_ONE_OF(T, variant, "pa|pa1|pa2|printed", "pa1",                          \
                         "how large a step may be; printed: the paper's formula"),         \
        FERRY_OPT(T, REAL, C, 1, 1e-12, 1e12, "largest step of pa1 (pa2: 1 / (2 C))"),     \
        FERRY_OPT(T, REAL, beta1, 0.9, 1e-9, 1,                                            \
                  "a mistake leaves so much of a learner's weight"),                       \
        FERRY_OPT(T, REAL, beta2, 0.9, 1e-9, 1, "... and so much of a source's"),          \
        FERRY_OPT(T, REAL, horizon, 0, 0, 1e15,                                            \
                  "rounds to come: sets both betas as in the paper; 0: as set"),           \
        FERRY_OPT(T, INT, per_class, 0, 0, 1e9,                                            \
                  "rows of each class drawn from each source; 0: all")

static const ferry_opt omtlmc_opts[] = {HET_OPTS(het_options)};

static const ferry_opt hetomtl_opts[] = {
    FERRY_OPT_ONE_OF(het_options, mode, "ferry|paper", "ferry",
                     "four experts on the target, or the published algorithm"),
    FERRY_OPT(het_options, REAL, rate, 0.9, 1e-9, 1,
              "ferry: a mistake leaves so much of an expert's weight"),
    FERRY_OPT(het_options, REAL, share, 0.01, 0, 1,
              "ferry: part of the weight that is dealt out again after each label"),
    FERRY_OPT(het_options, INT, keep, 600, 0, 100000,
              "ferry: newest labelled rows kept to solve the class codes from"),
    FERRY_OPT(het_options, REAL, grow, 1.6, 1.0001, 1e9,
              "ferry: solve them again when there are so many times more labels"),
    HET_OPTS(het_options),
};

typedef struct hetomtl {
    int mode;
    int64_t d;
    double *fill;
    double *row; /* d: the row at hand without missing cells */
    /* paper: the row that was seen last, when nothing has been learned since: its scores
     * in s are those of now, and row is filled from it. */
    double *last;   /* d: its values */
    int32_t *index; /* d: its columns, when it is sparse */
    int64_t last_n; /* -1: there is none */
    bool last_sparse;
    /* paper, omtlmc */
    het h;
    het_scores s;
    /* ferry */
    experts e;
} hetomtl;

static void hetomtl_free(void *state)
{
    hetomtl *m = state;

    if (!m) return;
    ferry_i_free(m->fill);
    ferry_i_free(m->row);
    ferry_i_free(m->last);
    ferry_i_free(m->index);
    ferry_i_het_scores_clear(&m->s);
    ferry_i_het_clear(&m->h);
    ferry_i_experts_clear(&m->e);
    ferry_i_free(m);
}

static int64_t classes_of(const hetomtl *m)
{
    return m->mode == MODE_FERRY ? m->e.k : m->h.k;
}

/* x without missing cells, in room; of unit length for mode paper. */
static ferry_row fill(const hetomtl *m, const ferry_row *x, double *room)
{
    ferry_row out;

    ferry_i_row_filled(x, m->fill, room, &out);
    if (m->mode == MODE_PAPER) ferry_i_row_unit(out.n, room);
    return out;
}

/* ---- the stream ---- */

/* Room for the row at hand, and none seen yet. */
static ferry_status make_room(ferry_ctx *ctx, hetomtl *m)
{
    ferry_status st = FERRY_OK;

    m->last_n = -1;
    FERRY_NEW(ctx, m->row, m->d);
    FERRY_NEW(ctx, m->last, m->d);
    FERRY_NEW(ctx, m->index, m->d);
done:
    return st;
}

static void remember(hetomtl *m, const ferry_row *x)
{
    memcpy(m->last, x->value, (size_t)x->n * sizeof *m->last);
    if (x->index) memcpy(m->index, x->index, (size_t)x->n * sizeof *m->index);
    m->last_n = x->n;
    m->last_sparse = x->index != NULL;
}

/* Whether x, to the bit, was seen last. */
static bool is_last(const hetomtl *m, const ferry_row *x)
{
    return m->last_n == x->n && m->last_sparse == (x->index != NULL) &&
           memcmp(m->last, x->value, (size_t)x->n * sizeof *m->last) == 0 &&
           (!x->index || memcmp(m->index, x->index, (size_t)x->n * sizeof *m->index) == 0);
}

static bool watches(const void *state)
{
    return ((const hetomtl *)state)->mode == MODE_FERRY;
}

static int64_t votes_size(const void *state)
{
    const hetomtl *m = state;

    if (m->mode == MODE_FERRY) return EXPERTS;
    return m->h.rule == HET_MISTAKES ? 2 * m->h.n + 1 : 0;
}

static ferry_status see(ferry_ctx *ctx, void *state, const ferry_row *x, int64_t k,
                        double *score, int32_t *votes)
{
    ferry_status st = FERRY_OK;
    hetomtl *m = state;

    FERRY_TRY(ferry_i_online_check(ctx, x, m->d, k, classes_of(m)));
    const ferry_row in = fill(m, x, m->row);
    memset(score, 0, (size_t)k * sizeof *score);
    if (m->mode == MODE_FERRY) {
        ferry_i_experts_watch(&m->e, &in); /* x itself counts, as when its label comes */
        const experts_room room = {m->e.f, m->e.x};
        ferry_i_experts_look(&m->e, &in, &room, score);
        for (int i = 0; votes && i < EXPERTS; i++)
            votes[i] = ferry_i_argmax(m->e.k, m->e.f + i * m->e.k);
        goto done;
    }
    ferry_i_het_look(&m->h, &in, &m->s);
    remember(m, x);
    memcpy(score, m->s.total, (size_t)m->h.k * sizeof *score);
    if (votes && m->h.rule == HET_MISTAKES) ferry_i_het_votes(&m->h, &m->s, votes);
done:
    return st;
}

static ferry_status learn(ferry_ctx *ctx, void *state, const ferry_row *x, int32_t cls,
                          const int32_t *votes)
{
    ferry_status st = FERRY_OK;
    hetomtl *m = state;

    FERRY_TRY(ferry_i_online_check(ctx, x, m->d, 0, 0));
    if (m->mode == MODE_FERRY) {
        const ferry_row raw = fill(m, x, m->row);
        FERRY_TRY(ferry_i_experts_learn(ctx, &m->e, &raw, cls, votes));
        goto done;
    }
    const bool known = cls < m->h.k && is_last(m, x);
    const ferry_row in = known ? (ferry_row){x->n, x->index, m->row} : fill(m, x, m->row);
    m->last_n = -1;
    if (cls >= m->s.k)
        FERRY_TRY(ferry_i_het_scores_new(ctx, &m->h, (int64_t)cls + 1, &m->s));
    FERRY_TRY(ferry_i_het_classes(ctx, &m->h, (int64_t)cls + 1));
    if (!known)
        ferry_i_het_look(&m->h, &in, &m->s); /* the step is from the weights of now */
    (void)ferry_i_het_learn(&m->h, &in, cls, votes, &m->s);
done:
    return st;
}

/* What each learner counts in the whole: u_i alpha_i, and the rest for the target's. */
static int64_t parts(const void *state, const char **names, double *w)
{
    const hetomtl *m = state;
    double sources = 0;

    for (int64_t i = 0; w && m->mode == MODE_FERRY && i < EXPERTS; i++) {
        names[i] = ferry_i_expert_names[i];
        w[i] = m->e.w[i];
    }
    if (m->mode == MODE_FERRY) return EXPERTS;
    for (int64_t i = 0; w && i < m->h.n; i++) {
        names[1 + i] = m->h.source[i].name;
        w[1 + i] = ferry_i_het_u(&m->h, i) * ferry_i_het_alpha(&m->h, i);
        sources += w[1 + i];
    }
    if (w) {
        names[0] = "target";
        w[0] = 1 - sources;
    }
    return m->h.n + 1;
}

static const ferry_online online = {
    .watches = watches, .votes = votes_size, .see = see, .learn = learn, .parts = parts};

/* ---- fit ---- */

/* Mean number of labelled rows of each class over the sources (per_class: at most so many).
 * All that mode ferry takes from them. */
static void count_sources(const ferry_task *task, const het_options *o, int64_t k,
                          double *count, double *one)
{
    const int64_t n = ferry_i_task_count_role(task, FERRY_SOURCE);
    const ferry_domain *d = NULL;

    for (int64_t s = 0; (d = ferry_i_task_role(task, FERRY_SOURCE, s)); s++) {
        memset(one, 0, (size_t)k * sizeof *one);
        for (int64_t i = 0; d->labels && i < d->labels->n; i++)
            if (ferry_i_labels_has(d->labels, i)) one[d->labels->cls[i]]++;
        for (int64_t c = 0; c < k; c++)
            count[c] += (o->per_class > 0 ? fmin(one[c], (double)o->per_class) : one[c]) /
                        (double)n;
    }
}

/* The labelled rows in a random order; the running means know all of them first. At most
 * twice `keep` of them stay for the codes. */
static ferry_status fit_experts(ferry_ctx *ctx, const ferry_task *task,
                                const het_options *o, const online_rows *r, hetomtl *m,
                                bool *finish)
{
    ferry_status st = FERRY_OK;
    experts *e = &m->e;
    const int64_t k = ferry_i_ids_count(task->names);
    int64_t *order = ferry_i_calloc(r->n, sizeof *order);
    double *one = ferry_i_calloc(k, sizeof *one);
    ferry_rng rng;

    FERRY_HAVE(ctx, order && one);
    FERRY_TRY(ferry_i_experts_new(ctx, k, m->d, (ferry_pa_kind)o->variant, o->C, e));
    e->rate = o->rate;
    e->share = o->share;
    FERRY_TRY(ferry_i_codes_new(ctx, k, m->d, !r->x->dense, o->keep, o->grow, &e->codes));
    count_sources(task, o, k, e->codes.o, one);
    ferry_i_rng_for(ctx, &rng, "hetomtl");
    for (int64_t i = 0; i < r->n; i++)
        order[i] = i;
    ferry_i_rng_shuffle(&rng, r->n, order);
    for (int64_t i = 0; i < r->n; i++) {
        const ferry_row x = ferry_i_matrix_row(r->x, r->row[i]);
        const ferry_row in = fill(m, &x, m->row);
        ferry_i_experts_watch(e, &in);
    }
    for (int64_t i = 0; i < r->n && !*finish; i++) {
        const ferry_row x = ferry_i_matrix_row(r->x, r->row[order[i]]);
        ferry_row in = fill(m, &x, m->row);
        ferry_i_experts_step(e, &in, r->cls[order[i]]);
        if (i % 1024 == 1023)
            FERRY_TRY(ferry_i_progress(ctx, "hetomtl", i + 1, r->n, NAN, finish));
        if (i >= 2 * o->keep && i >= 1) continue;
        ferry_i_row_unit(in.n, m->row);
        FERRY_TRY(ferry_i_codes_offline(ctx, &e->codes, &in, r->cls[order[i]]));
    }
    FERRY_TRY(ferry_i_codes_solve(ctx, &e->codes, o->alpha));
done:
    ferry_i_free(order);
    ferry_i_free(one);
    return st;
}

static ferry_status fit(ferry_ctx *ctx, const char *method, het_rule rule, int mode,
                        const ferry_task *task, const het_options *o, void **state,
                        ferry_report *rep)
{
    ferry_status st = FERRY_OK;
    const ferry_domain *target = NULL;
    online_rows r = {0};
    ferry_matrix *x = NULL;
    bool finish = false;
    hetomtl *m = ferry_i_calloc(1, sizeof *m);

    *state = NULL;
    FERRY_HAVE(ctx, m);
    FERRY_TRY(ferry_i_task_target(ctx, task, &target));
    FERRY_TRY(ferry_i_online_rows(ctx, target, &r));
    m->mode = mode;
    m->d = r.d;
    FERRY_TRY(ferry_i_online_fill(ctx, &r, &m->fill));
    FERRY_TRY(make_room(ctx, m));
    if (mode == MODE_FERRY) {
        FERRY_TRY(fit_experts(ctx, task, o, &r, m, &finish));
    } else {
        FERRY_TRY(ferry_i_het_rows(ctx, &r, m->fill, &x));
        FERRY_TRY(ferry_i_het_fit(ctx, method, rule, task, o, x, r.cls, &m->h));
        FERRY_TRY(ferry_i_het_scores_new(ctx, &m->h, m->h.k, &m->s));
        ferry_i_diag_real(ctx, "sources", (double)m->h.n);
    }
    ferry_i_diag_real(ctx, "instances", (double)r.n);
    if (finish) rep->stop = FERRY_STOP_FINISH;
    *state = m;
    m = NULL;
done:
    ferry_i_matrix_free(x);
    ferry_i_online_rows_clear(&r);
    hetomtl_free(m);
    return st;
}

static ferry_status hetomtl_fit(ferry_ctx *ctx, const ferry_task *task, const void *options,
                                void **state, ferry_report *rep)
{
    const het_options *o = options;

    return fit(ctx, "hetomtl", HET_MISTAKES, o->mode, task, o, state, rep);
}

static ferry_status omtlmc_fit(ferry_ctx *ctx, const ferry_task *task, const void *options,
                               void **state, ferry_report *rep)
{
    return fit(ctx, "omtlmc", HET_LOSSES, MODE_PAPER, task, options, state, rep);
}

/* Some row of the target has a label, a source too, and all have one view. */
static ferry_status paper_fits(ferry_ctx *ctx, const char *method, const ferry_task *task)
{
    ferry_status st = FERRY_OK;
    const ferry_domain *d = NULL;
    int64_t labelled = 0;

    for (int64_t i = 0; (d = ferry_i_task_role(task, FERRY_SOURCE, i)); i++) {
        FERRY_NEED(ctx, d->n_views == 1, FERRY_ENEEDS,
                   "%s needs just one view in a source; source '%s' has %lld", method,
                   d->name, (long long)d->n_views);
        labelled += ferry_domain_labels(d);
    }
    FERRY_NEED(ctx, labelled > 0, FERRY_ENEEDS, "%s needs a source with labels", method);
    FERRY_TRY(ferry_i_task_target(ctx, task, &d));
    FERRY_NEED(ctx, ferry_domain_labels(d) > 0, FERRY_ENEEDS,
               "%s needs some labels in the target to begin with; target '%s' has none",
               method, d->name);
done:
    return st;
}

static ferry_status hetomtl_fits(ferry_ctx *ctx, const ferry_task *task,
                                 const void *options)
{
    ferry_status st = FERRY_OK;

    FERRY_TRY(ferry_i_online_fits(ctx, "hetomtl", task));
    if (((const het_options *)options)->mode == MODE_PAPER)
        FERRY_TRY(paper_fits(ctx, "hetomtl mode=paper", task));
done:
    return st;
}

static ferry_status omtlmc_fits(ferry_ctx *ctx, const ferry_task *task, const void *options)
{
    ferry_status st = FERRY_OK;

    (void)options;
    FERRY_TRY(ferry_i_online_fits(ctx, "omtlmc", task));
    FERRY_TRY(paper_fits(ctx, "omtlmc", task));
done:
    return st;
}

/* ---- predict ---- */

typedef struct look_room {
    double *row;
    het_scores s;
    experts_room e;
} look_room;

static void look(const void *state, const ferry_row *x, void *room, double *score)
{
    const hetomtl *m = state;
    look_room *r = room;
    const ferry_row in = fill(m, x, r->row);

    if (m->mode == MODE_FERRY) {
        ferry_i_experts_look(&m->e, &in, &r->e, score);
        return;
    }
    ferry_i_het_look(&m->h, &in, &r->s);
    memcpy(score, r->s.total, (size_t)m->h.k * sizeof *score);
}

static ferry_status predict(ferry_ctx *ctx, const void *state, const ferry_domain *d,
                            ferry_prediction *p)
{
    ferry_status st = FERRY_OK;
    const hetomtl *m = state;
    look_room r = {.row = ferry_i_calloc(m->d, sizeof *r.row)};

    FERRY_HAVE(ctx, r.row);
    if (m->mode == MODE_FERRY) {
        FERRY_NEW(ctx, r.e.f, EXPERTS * m->e.k);
        FERRY_NEW(ctx, r.e.x, 2 * m->d);
    } else {
        FERRY_TRY(ferry_i_het_scores_new(ctx, &m->h, m->h.k, &r.s));
    }
    FERRY_TRY(
        ferry_i_online_predict(ctx, "hetomtl", classes_of(m), m->d, d, look, m, &r, p));
done:
    ferry_i_free(r.row);
    ferry_i_free(r.e.f);
    ferry_i_free(r.e.x);
    ferry_i_het_scores_clear(&r.s);
    return st;
}

/* ---- save and load ---- */

static ferry_status save(ferry_ctx *ctx, const void *state, ferry_dict *dict)
{
    ferry_status st = FERRY_OK;
    const hetomtl *m = state;
    const int64_t mode = m->mode;

    FERRY_TRY(ferry_i_dict_put_ints(ctx, dict, "mode", 1, &mode));
    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "fill", 1, m->d, m->fill));
    FERRY_TRY(mode == MODE_FERRY ? ferry_i_experts_save(ctx, &m->e, dict)
                                 : ferry_i_het_save(ctx, &m->h, dict));
done:
    return st;
}

static ferry_status load(ferry_ctx *ctx, const ferry_dict *dict, void **state)
{
    ferry_status st = FERRY_OK;
    const int64_t *mode = NULL;
    const double *values = NULL;
    int64_t one = 1;
    hetomtl *m = ferry_i_calloc(1, sizeof *m);

    *state = NULL;
    FERRY_HAVE(ctx, m);
    FERRY_TRY(ferry_i_dict_ints(ctx, dict, "mode", &one, &mode));
    FERRY_NEED(ctx, *mode == MODE_FERRY || *mode == MODE_PAPER, FERRY_EDATA,
               "tensor mode: %lld", (long long)*mode);
    m->mode = (int)*mode;
    m->d = -1;
    FERRY_TRY(ferry_i_dict_reals(ctx, dict, "fill", &one, &m->d, &values));
    FERRY_TRY(ferry_i_dict_reals_copy(ctx, dict, "fill", 1, m->d, &m->fill));
    FERRY_TRY(make_room(ctx, m));
    if (m->mode == MODE_FERRY) {
        FERRY_TRY(ferry_i_experts_load(ctx, dict, m->d, &m->e));
    } else {
        FERRY_TRY(ferry_i_het_load(ctx, dict, m->d, &m->h));
        FERRY_TRY(ferry_i_het_scores_new(ctx, &m->h, m->h.k, &m->s));
    }
    *state = m;
    m = NULL;
done:
    hetomtl_free(m);
    return st;
}

const ferry_method ferry_i_method_hetomtl = {
    .name = "hetomtl",
    .summary = "online transfer from several sources; experts under a hedge",
    .reference = "HetOMTL-CDSPP: Heterogeneous Online Multi-Source Transfer Learning with "
                 "Cross-Domain Structure Preserving Projection, 2023",
    .kind = FERRY_KIND_TRANSFER,
    .goals = FERRY_CLASSIFY | FERRY_STREAM,
    .needs = FERRY_NEED_TARGET_VIEW,
    .options = hetomtl_opts,
    .n_options = FERRY_COUNT(hetomtl_opts),
    .options_size = sizeof(het_options),
    .fits = hetomtl_fits,
    .fit = hetomtl_fit,
    .predict = predict,
    .online = &online,
    .save = save,
    .load = load,
    .free = hetomtl_free,
};

const ferry_method ferry_i_method_omtlmc = {
    .name = "omtlmc",
    .summary = "OMTL-MC after CDSPP: online transfer, weights by losses",
    .reference = "OMTLMC-CDSPP, the comparison of HetOMTL-CDSPP, 2023 (reconstructed)",
    .kind = FERRY_KIND_TRANSFER,
    .goals = FERRY_CLASSIFY | FERRY_STREAM,
    .needs = FERRY_NEED_SOURCE_LABELS | FERRY_NEED_TARGET_LABELS | FERRY_NEED_TARGET_VIEW,
    .options = omtlmc_opts,
    .n_options = FERRY_COUNT(omtlmc_opts),
    .options_size = sizeof(het_options),
    .fits = omtlmc_fits,
    .fit = omtlmc_fit,
    .predict = predict,
    .online = &online,
    .save = save,
    .load = load,
    .free = hetomtl_free,
};
