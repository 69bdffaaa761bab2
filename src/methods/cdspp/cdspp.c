/* cdspp: a space for a source and a target without common features in which the classes of
 * both fall together (cdspp.h), and a classifier on it. */
#include "learn/cdspp.h"

#include <math.h>
#include <string.h>

#include "methods/shared/learner_file.h"
#include "methods/shared/online.h"

typedef struct cdspp_options {
    double alpha;
    int64_t dims;
    int scale, learner;
    ferry_learning learning;
} cdspp_options;

static const ferry_opt cdspp_opts[] = {
    FERRY_OPT(cdspp_options, REAL, alpha, 1, 1e-12, 1e12,
              "weight of |P|^2 against samples of a class lying together"),
    FERRY_OPT(cdspp_options, INT, dims, 0, 0, 1e6,
              "dimensions; 0: all there are, at most one per class"),
    FERRY_OPT_ONE_OF(cdspp_options, scale, "l2|standard|none", "l2",
                     "scale the features of each domain"),
    FERRY_OPT_ONE_OF(cdspp_options, learner, "knn|logreg|ridge", "ridge",
                     "classify: learner on the projected rows of both domains"),
    FERRY_OPT_AS(cdspp_options, "neighbours", INT, learning.neighbours, 10, 1, 1e6,
                 "knn: neighbours that vote"),
    FERRY_OPT_AS(cdspp_options, "C", REAL, learning.C, 1000, 1e-9, 1e9,
                 "logreg: cost of errors against small weights"),
    FERRY_OPT_AS(cdspp_options, "lambda", REAL, learning.lambda, 0.01, 1e-12, 1e12,
                 "ridge: weight of |W|^2"),
};

/* One domain's part: how its rows are prepared and where they go. */
typedef struct half {
    ferry_prep *prep;
    ferry_block *p; /* d x rank */
} half;

typedef struct cdspp_model {
    ferry_goal goal;
    int64_t k;
    half s, t;
    ferry_learner *learner; /* goal classify */
} cdspp_model;

static void cdspp_free(void *state)
{
    cdspp_model *m = state;

    if (!m) return;
    ferry_i_prep_free(m->s.prep);
    ferry_i_prep_free(m->t.prep);
    ferry_i_block_free(m->s.p);
    ferry_i_block_free(m->t.p);
    ferry_i_learner_free(m->learner);
    ferry_i_free(m);
}

/* z (rows x rank) <- the rows of x where they go. */
static ferry_status project(ferry_ctx *ctx, const half *h, const ferry_matrix *raw,
                            ferry_matrix **z)
{
    ferry_status st = FERRY_OK;
    ferry_matrix *x = NULL;

    FERRY_TRY(ferry_i_prep_apply(ctx, h->prep, raw, &x));
    FERRY_TRY(ferry_i_matrix_dense(ctx, x->rows, h->p->k, z));
    ferry_block b = {x->rows, h->p->k, (*z)->dense};
    ferry_e(ctx)->mul(ctx, 1, x, h->p, 0, &b);
done:
    ferry_i_matrix_free(x);
    return st;
}

/* ---- fit ---- */

static ferry_status cdspp_fits(ferry_ctx *ctx, const ferry_task *task, const void *options)
{
    ferry_status st = FERRY_OK;

    (void)options;
    FERRY_NEED(ctx, ferry_i_task_count_role(task, FERRY_SOURCE) == 1, FERRY_ENEEDS,
               "cdspp projects one source; this task has %lld",
               (long long)ferry_i_task_count_role(task, FERRY_SOURCE));
done:
    return st;
}

/* The labelled rows of a domain as they are, and prepared. */
typedef struct rows {
    online_rows r;
    ferry_matrix *raw, *x;
} rows;

static void rows_clear(rows *r)
{
    ferry_i_online_rows_clear(&r->r);
    ferry_i_matrix_free(r->raw);
    ferry_i_matrix_free(r->x);
}

static ferry_status take(ferry_ctx *ctx, const ferry_domain *d, int scale, half *h, rows *r)
{
    static const ferry_prep_kind scales[] = {FERRY_PREP_L2, FERRY_PREP_STANDARD,
                                         FERRY_PREP_NONE};
    ferry_status st = FERRY_OK;
    const ferry_matrix *all = d->views[0]->x;

    FERRY_TRY(ferry_i_online_rows(ctx, d, &r->r));
    FERRY_TRY(ferry_i_prep_fit(ctx, all, scales[scale], &h->prep));
    FERRY_TRY(ferry_i_matrix_take(ctx, all, r->r.n, r->r.row, all->cols, NULL, &r->raw));
    FERRY_TRY(ferry_i_prep_apply(ctx, h->prep, r->raw, &r->x));
done:
    return st;
}

/* The learner, on the projected rows of both. */
static ferry_status learn(ferry_ctx *ctx, const cdspp_options *o, const rows *s,
                          const rows *t, cdspp_model *m)
{
    ferry_status st = FERRY_OK;
    const int64_t n = s->r.n + t->r.n;
    ferry_matrix *zs = NULL, *zt = NULL, *z = NULL;
    int32_t *cls = ferry_i_calloc(n, sizeof *cls);

    FERRY_HAVE(ctx, cls);
    FERRY_TRY(project(ctx, &m->s, s->raw, &zs));
    FERRY_TRY(project(ctx, &m->t, t->raw, &zt));
    const ferry_matrix *const both[] = {zs, zt};
    FERRY_TRY(ferry_i_matrix_stack(ctx, 2, both, &z));
    memcpy(cls, s->r.cls, (size_t)s->r.n * sizeof *cls);
    memcpy(cls + s->r.n, t->r.cls, (size_t)t->r.n * sizeof *cls);
    const ferry_examples e = {.x = z, .cls = cls};
    FERRY_TRY(ferry_i_learner_fit(ctx, (ferry_learner_kind)o->learner, m->k, &o->learning,
                                  &e, &m->learner));
done:
    ferry_i_matrix_free(zs);
    ferry_i_matrix_free(zt);
    ferry_i_matrix_free(z);
    ferry_i_free(cls);
    return st;
}

static ferry_status cdspp_fit(ferry_ctx *ctx, const ferry_task *task, const void *options,
                              void **state, ferry_report *rep)
{
    ferry_status st = FERRY_OK;
    const cdspp_options *o = options;
    const ferry_domain *source = ferry_i_task_role(task, FERRY_SOURCE, 0), *target = NULL;
    rows s = {0}, t = {0};
    cdspp c = {0};
    bool finish = false;
    cdspp_model *m = ferry_i_calloc(1, sizeof *m);

    *state = NULL;
    FERRY_HAVE(ctx, m);
    m->goal = task->goal;
    m->k = ferry_i_ids_count(task->names);
    FERRY_TRY(ferry_i_task_target(ctx, task, &target));
    FERRY_TRY(take(ctx, source, o->scale, &m->s, &s));
    FERRY_TRY(take(ctx, target, o->scale, &m->t, &t));
    const cdspp_problem p = {{s.x, s.r.cls}, {t.x, t.r.cls}, m->k, o->alpha};
    FERRY_TRY(ferry_i_cdspp(ctx, &p, o->dims, &c));
    FERRY_NEED(ctx, c.rank > 0, FERRY_ENEEDS,
               "cdspp: source '%s' and target '%s' have no class in common", source->name,
               target->name);
    if (o->dims > c.rank)
        ferry_i_log(ctx, FERRY_WARN,
                    "cdspp: there are %lld dimensions, not %lld: %lld classes are in both "
                    "domains",
                    (long long)c.rank, (long long)o->dims, (long long)c.shared);
    ferry_i_diag_real(ctx, "dimensions", (double)c.rank);
    ferry_i_diag_reals(ctx, "eigenvalues", c.rank, c.lambda);
    FERRY_TRY(ferry_i_progress(ctx, "cdspp", 1, 1, NAN, &finish));
    m->s.p = c.ps;
    m->t.p = c.pt;
    c.ps = c.pt = NULL;
    if (m->goal == FERRY_CLASSIFY) FERRY_TRY(learn(ctx, o, &s, &t, m));
    if (finish) rep->stop = FERRY_STOP_FINISH;
    *state = m;
    m = NULL;
done:
    ferry_i_cdspp_clear(&c);
    rows_clear(&s);
    rows_clear(&t);
    cdspp_free(m);
    return st;
}

/* ---- predict and transform ---- */

static ferry_status check_view(ferry_ctx *ctx, const ferry_domain *d, int64_t i,
                               const half *h)
{
    ferry_status st = FERRY_OK;

    FERRY_NEED(ctx, i < d->n_views && d->views[i]->x->cols == h->prep->d, FERRY_EDATA,
               "domain '%s' does not have the views of the model", d->name);
done:
    return st;
}

static ferry_status cdspp_predict(ferry_ctx *ctx, const void *state, const ferry_domain *d,
                                  ferry_prediction *p)
{
    ferry_status st = FERRY_OK;
    const cdspp_model *m = state;
    ferry_matrix *z = NULL;
    ferry_block *scores = NULL;

    FERRY_TRY(check_view(ctx, d, 0, &m->t));
    FERRY_NEED(ctx, p->cls && p->k == m->k && m->learner, FERRY_EDATA,
               "the model has %lld classes, not %lld", (long long)m->k, (long long)p->k);
    FERRY_TRY(project(ctx, &m->t, d->views[0]->x, &z));
    FERRY_TRY(ferry_i_block_new(ctx, z->rows, m->k, &scores));
    FERRY_TRY(ferry_i_learner_scores(ctx, m->learner, z, scores));
    for (int64_t i = 0; i < p->n; i++) {
        const int64_t r = d->views[0]->row_of[i];
        p->cls[i] = -1; /* nothing is known of it */
        if (r < 0) continue;
        memcpy(p->score + i * p->k, FERRY_ROW(scores, r), (size_t)p->k * sizeof *p->score);
        p->cls[i] = ferry_i_argmax(p->k, FERRY_ROW(scores, r));
    }
done:
    ferry_i_matrix_free(z);
    ferry_i_block_free(scores);
    return st;
}

/* Rows of the target's view, or else of the source's. */
static ferry_status cdspp_transform(ferry_ctx *ctx, const void *state,
                                    const ferry_domain *d, ferry_prediction *p)
{
    ferry_status st = FERRY_OK;
    const cdspp_model *m = state;
    const half *halves[] = {&m->t, &m->s};
    ferry_matrix *z[2] = {NULL, NULL};

    p->k = m->t.p->k;
    FERRY_NEW(ctx, p->score, p->n * p->k);
    for (int64_t v = 0; v < 2; v++) {
        FERRY_TRY(check_view(ctx, d, v, halves[v]));
        FERRY_TRY(project(ctx, halves[v], d->views[v]->x, &z[v]));
    }
    for (int64_t i = 0; i < p->n; i++) {
        const int64_t v = d->views[0]->row_of[i] >= 0 ? 0 : 1, r = d->views[v]->row_of[i];
        for (int64_t c = 0; c < p->k; c++)
            p->score[i * p->k + c] = r < 0 ? NAN : z[v]->dense[r * p->k + c];
    }
done:
    ferry_i_matrix_free(z[0]);
    ferry_i_matrix_free(z[1]);
    return st;
}

/* ---- save and load ---- */

static ferry_status save_half(ferry_ctx *ctx, const half *h, const char *prep,
                              const char *p, ferry_dict *dict)
{
    ferry_status st = FERRY_OK;

    FERRY_TRY(ferry_i_prep_save(ctx, h->prep, prep, dict));
    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, p, h->p->rows, h->p->k, h->p->data));
done:
    return st;
}

static ferry_status load_half(ferry_ctx *ctx, const ferry_dict *dict, const char *prep,
                              const char *p, int64_t *rank, half *h)
{
    ferry_status st = FERRY_OK;
    const double *data = NULL;
    int64_t d = -1;

    FERRY_TRY(ferry_i_dict_reals(ctx, dict, p, &d, rank, &data));
    FERRY_TRY(ferry_i_prep_load(ctx, dict, prep, d, &h->prep));
    FERRY_TRY(ferry_i_block_new(ctx, d, *rank, &h->p));
    memcpy(h->p->data, data, (size_t)(d * *rank) * sizeof *data);
done:
    return st;
}

static ferry_status cdspp_save(ferry_ctx *ctx, const void *state, ferry_dict *dict)
{
    ferry_status st = FERRY_OK;
    const cdspp_model *m = state;
    const int64_t form[] = {m->goal, m->k};

    FERRY_TRY(ferry_i_dict_put_ints(ctx, dict, "form", 2, form));
    FERRY_TRY(save_half(ctx, &m->s, "source.prep", "source.p", dict));
    FERRY_TRY(save_half(ctx, &m->t, "target.prep", "target.p", dict));
    if (m->learner) FERRY_TRY(ferry_i_learner_save(ctx, m->learner, "learner", dict));
done:
    return st;
}

static ferry_status cdspp_load(ferry_ctx *ctx, const ferry_dict *dict, void **state)
{
    ferry_status st = FERRY_OK;
    const int64_t *form = NULL;
    int64_t two = 2, rank = -1;
    cdspp_model *m = ferry_i_calloc(1, sizeof *m);

    *state = NULL;
    FERRY_HAVE(ctx, m);
    FERRY_TRY(ferry_i_dict_ints(ctx, dict, "form", &two, &form));
    FERRY_NEED(ctx, (form[0] == FERRY_CLASSIFY || form[0] == FERRY_EMBED) && form[1] >= 1,
               FERRY_EDATA, "tensor form: goal %lld, %lld classes", (long long)form[0],
               (long long)form[1]);
    m->goal = (ferry_goal)form[0];
    m->k = form[1];
    FERRY_TRY(load_half(ctx, dict, "source.prep", "source.p", &rank, &m->s));
    FERRY_TRY(load_half(ctx, dict, "target.prep", "target.p", &rank, &m->t));
    if (m->goal == FERRY_CLASSIFY) {
        FERRY_TRY(ferry_i_learner_load(ctx, dict, "learner", &m->learner));
        FERRY_NEED(
            ctx, m->learner->k == m->k && m->learner->d == rank, FERRY_EDATA,
            "the learner has %lld classes and %lld features, the model %lld and %lld",
            (long long)m->learner->k, (long long)m->learner->d, (long long)m->k,
            (long long)rank);
    }
    *state = m;
    m = NULL;
done:
    cdspp_free(m);
    return st;
}

const ferry_method ferry_i_method_cdspp = {
    .name = "cdspp",
    .summary = "one space for a source and a target, by their classes",
    .reference = "Wang and Breckon, Cross-Domain Structure Preserving Projection for "
                 "Heterogeneous Domain Adaptation, Pattern Recognition 2022",
    .kind = FERRY_KIND_TRANSFER,
    .goals = FERRY_CLASSIFY | FERRY_EMBED,
    .needs = FERRY_NEED_SOURCE_LABELS | FERRY_NEED_TARGET_LABELS | FERRY_NEED_ONE_VIEW,
    .options = cdspp_opts,
    .n_options = FERRY_COUNT(cdspp_opts),
    .options_size = sizeof(cdspp_options),
    .embeds_sources = true,
    .fits = cdspp_fits,
    .fit = cdspp_fit,
    .predict = cdspp_predict,
    .transform = cdspp_transform,
    .save = cdspp_save,
    .load = cdspp_load,
    .free = cdspp_free,
};
