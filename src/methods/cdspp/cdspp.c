/* cdspp: options, fit, descriptor (cdspp.h has the problem).
 *
 * Rows without a label are not prepared at all: CDSPP uses labelled rows of both domains
 * and nothing else. Defaults: unit rows (l2), ridge with a small lambda on the projected
 * rows. */
#include "methods/cdspp/cdspp.h"

#include <math.h>
#include <string.h>

#include "core/ranks.h"

/* As the options have it. */
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
    FERRY_OPT_ONE_OF(cdspp_options, scale, FERRY_SCALE_CHOICES, "l2", FERRY_SCALE_HELP),
    FERRY_OPT_ONE_OF(cdspp_options, learner, "knn|logreg|ridge", "ridge",
                     "classify: learner on the projected rows of both domains"),
    FERRY_OPT_AS(cdspp_options, "neighbours", INT, learning.neighbours, 10, 1, 1e6,
                 "knn: neighbours that vote"),
    FERRY_OPT_AS(cdspp_options, "C", REAL, learning.C, 1000, 1e-9, 1e9,
                 "logreg: cost of errors against small weights"),
    FERRY_OPT_AS(cdspp_options, "lambda", REAL, learning.lambda, 0.01, 1e-12, 1e12,
                 "ridge: weight of |W|^2"),
};

/* Everything else that it needs is said by the descriptor. Several sources: hetomtl mode
 * paper has one projection each. */
static ferry_status cdspp_fits(ferry_ctx *ctx, const ferry_task *task, const void *options)
{
    ferry_status st = FERRY_OK;
    const cdspp_options *o = options;

    FERRY_NEED(ctx, o->learner != FERRY_LEARNER_KNN || !ferry_i_ranks_split(ctx),
               FERRY_ENEEDS,
               "cdspp: learner=knn compares all rows with each other, which --engine mpi "
               "does not; "
               "logreg and ridge run with it");
    FERRY_NEED(ctx, ferry_i_task_count_role(task, FERRY_SOURCE) == 1, FERRY_ENEEDS,
               "cdspp projects one source; this task has %lld",
               (long long)ferry_i_task_count_role(task, FERRY_SOURCE));
done:
    return st;
}

/* The projections of both domains' labelled rows. m->ps and m->pt take the projections
 * over. Rank 0 is an error of the data: the classes that both domains have span everything,
 * and without one there is no space. */
static ferry_status solve(ferry_ctx *ctx, const cdspp_options *o, const ferry_rows *s,
                          const ferry_rows *t, cdspp_model *m)
{
    ferry_status st = FERRY_OK;
    const cdspp_problem p = {{s->x[0], s->cls}, {t->x[0], t->cls}, m->k, o->alpha};
    cdspp c = {0};

    FERRY_TRY(ferry_i_cdspp(ctx, &p, o->dims, &c));
    FERRY_NEED(ctx, c.rank > 0, FERRY_ENEEDS,
               "cdspp: source '%s' and target '%s' have no class in common",
               s->domain->name, t->domain->name);
    if (o->dims > c.rank)
        ferry_i_log(ctx, FERRY_WARN,
                    "cdspp: there are %lld dimensions, not %lld: %lld classes are in both "
                    "domains",
                    (long long)c.rank, (long long)o->dims, (long long)c.shared);
    ferry_i_diag_real(ctx, "dimensions", (double)c.rank);
    ferry_i_diag_reals(ctx, "eigenvalues", c.rank, c.lambda);
    m->ps = c.ps;
    m->pt = c.pt;
    c.ps = c.pt = NULL;
done:
    ferry_i_cdspp_clear(&c);
    return st;
}

/* The learner, on the projected rows of both. Source rows go through Ps, target rows
 * through Pt; after that they are rows of one set. Each counts the same, however many there
 * are of either kind. */
static ferry_status learn(ferry_ctx *ctx, const cdspp_options *o, const ferry_rows *s,
                          const ferry_rows *t, cdspp_model *m)
{
    ferry_status st = FERRY_OK;
    ferry_matrix *zs = NULL, *zt = NULL, *z = NULL;
    int32_t *cls = NULL;

    FERRY_NEW(ctx, cls, s->n + t->n);
    memcpy(cls, s->cls, (size_t)s->n * sizeof *cls);
    memcpy(cls + s->n, t->cls, (size_t)t->n * sizeof *cls);
    FERRY_TRY(ferry_i_cdspp_project(ctx, s->x[0], m->ps, &zs));
    FERRY_TRY(ferry_i_cdspp_project(ctx, t->x[0], m->pt, &zt));
    FERRY_TRY(ferry_i_matrix_stack(ctx, 2, (const ferry_matrix *const[]){zs, zt}, &z));
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

/* Prepare both domains' labelled rows, solve, and train the learner if there are classes
 * to be told.
 *
 * There is nothing to iterate: one generalised eigenproblem, O(n d m + m^3) a side with
 * m = min(n, d) of the labelled rows. */
static ferry_status cdspp_fit(ferry_ctx *ctx, const ferry_task *task, const void *options,
                              void **state, ferry_fit_info *rep)
{
    ferry_status st = FERRY_OK;
    const cdspp_options *o = options;
    const ferry_wants wants = {.method = "cdspp",
                               .domains = FERRY_SOURCES | FERRY_THE_TARGET,
                               .layout = FERRY_APART,
                               .scale = o->scale,
                               .labelled = true,
                               .embeds = task->goal == FERRY_EMBED};
    bool finish = false;
    cdspp_model *m = NULL;

    *state = NULL;
    FERRY_NEW(ctx, m, 1);
    m->goal = task->goal;
    m->k = ferry_i_ids_count(task->names);
    FERRY_TRY(ferry_i_prepare(ctx, task, &wants, &m->prepared));
    const ferry_rows *s = &m->prepared->rows[0], *t = ferry_i_prepared_target(m->prepared);
    FERRY_TRY(solve(ctx, o, s, t, m));
    FERRY_TRY(ferry_i_progress(ctx, "cdspp", 1, 1, NAN, &finish));
    if (m->goal == FERRY_CLASSIFY) FERRY_TRY(learn(ctx, o, s, t, m));
    ferry_i_prepared_forget(m->prepared);
    if (finish) rep->stop = FERRY_STOP_FINISH;
    FERRY_MOVE(*state, m);
done:
    ferry_i_cdspp_free(m);
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
    FERRY_OPTIONS(cdspp_opts, cdspp_options),
    .embeds_sources = true,
    .fits = cdspp_fits,
    .fit = cdspp_fit,
    .spreads = true,
    .predict = ferry_i_cdspp_predict,
    .transform = ferry_i_cdspp_transform,
    FERRY_STATE(cdspp_model, ferry_i_cdspp_file, ferry_i_cdspp_free),
};
