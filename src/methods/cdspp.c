/* cdspp: cross-domain structure preserving projection. A source and a target without common features get one space in
 * which the classes of both fall together.
 *
 * Xs (ds x ns) and Xt (dt x nt) are the labelled samples in columns, Ys and Yt their classes as 0 and 1, cs and ct the
 * class counts. P = [Ps; Pt] are the leading solutions of
 *
 *   A P = (B + alpha I) P Lambda,   P'(B + alpha I) P = I,   with three terms:
 *
 *   A         [0, Xs Ys Yt' Xt'; ., 0]: draws samples of a class together across the domains
 *   B         blockdiag(Xs Ls Xs', Xt Lt Xt'), Ls = diag(cs_k + ct_k / 2) - Ys Ys', Lt = diag(ct_k + cs_k / 2) - Yt Yt':
 *             holds those of a class together, and to the other domain's, within each
 *   alpha I   keeps P small
 *
 * (learn/cdspp.c solves it exactly.) A row x of the source goes to Ps'x, one of the target to Pt'x. For the goal
 * classify a learner is trained on the projected rows of both.
 *
 * Wang and Breckon, Cross-Domain Structure Preserving Projection for Heterogeneous Domain Adaptation, Pattern
 * Recognition 2022. */
#include <math.h>
#include <string.h>

#include "learn/cdspp_spaces.h"
#include "model/seam.h"

enum { KNN, LOGREG, RIDGE };

typedef struct cdspp_options {
    double alpha;
    int64_t dims;
    int learner;
    int64_t neighbours;
    double C, lambda;
} cdspp_options;

static const ferry_opt cdspp_opts[] = {
    FERRY_OPT(cdspp_options, REAL, alpha, 1, 1e-12, 1e12,
              "weight of |P|^2 against samples of a class lying together"),
    FERRY_OPT(cdspp_options, INT, dims, 0, 0, 1e6,
              "dimensions; 0: all there are, at most one per class"),
    FERRY_OPT_ONE_OF(cdspp_options, learner, "knn|logreg|ridge", "ridge",
                     "classify: learner on the projected rows of both domains"),
    FERRY_OPT(cdspp_options, INT, neighbours, 10, 1, 1e6, "knn: neighbours that vote"),
    FERRY_OPT(cdspp_options, REAL, C, 1000, 1e-9, 1e9,
              "logreg: cost of errors against small weights"),
    FERRY_OPT(cdspp_options, REAL, lambda, 0.01, 1e-12, 1e12, "ridge: weight of |W|^2"),
};

typedef struct cdspp_state {
    int64_t ds, rank;
    block pt, ps;    /* dt x rank, ds x rank */
    learned learner; /* by NULL: goal embed */
} cdspp_state;
static const field cdspp_fields[] = {
    FIELD_AS(cdspp_state, BLOCK, pt, "target.p", .rows = OF_VIEW(0),
             .cols = SIZE(cdspp_state, rank)),
    FIELD_AS(cdspp_state, BLOCK, ps, "source.p", .rows = SIZE(cdspp_state, ds),
             .cols = SIZE(cdspp_state, rank)),
    ARRAY(cdspp_state, VARIANT, learner, .among = &learners, .optional = true),
};
static const table cdspp_table = TABLE(cdspp_state, cdspp_fields);

static void cdspp_fits(scope *s, const problem *shape, const void *options)
{
    const cdspp_options *o = options;

    if (shape->n_sources != 1)
        scope_fail(s, FERRY_ENEEDS, "cdspp projects one source; this task has %d",
                   shape->n_sources);
    if (o->learner == KNN && scope_ctx(s)->ranks && shape->goal == FERRY_CLASSIFY)
        scope_fail(s, FERRY_ENEEDS,
                   "cdspp: learner=knn compares all rows with each other, which --engine "
                   "mpi does not; logreg and ridge run with it");
}

/* The rows of one domain in the common space: Z = X P. */
static matrix project(scope *s, matrix x, block p)
{
    const block z = block_new(s, x.rows, x.n, p.k);

    mul(s, x, p, z);
    return matrix_of(s, z);
}

/* On the projected rows of both, each of which counts the same, however many there are of either kind. */
static learned train(scope *s, scope *keep, const cdspp_options *o, const problem *p,
                     const cdspp_state *m)
{
    static const char *const names[] = {"knn", "logreg", "ridge"};
    const learner *by = learner_find(names[o->learner]);
    void *with = learner_defaults(s, by);
    const domain *from = &p->d[0], *to = &p->d[1];
    const examples e[] = {
        {.x = project(s, from->view[0].x, m->ps), .y = from->y, .key = from->key},
        {.x = project(s, to->view[0].x, m->pt), .y = to->y, .key = to->key}};

    learner_set(by, with, "k", (double)o->neighbours);
    learner_set(by, with, "C", o->C);
    learner_set(by, with, "eps", 1e-4);
    learner_set(by, with, "lambda", o->lambda);
    const examples both = stack_examples(s, 2, e);
    return learn(s, keep, by, with, &both);
}

static void cdspp_fit(scope *s, scope *keep, const problem *p, const void *options,
                      void *state)
{
    const cdspp_options *o = options;
    const domain *from = &p->d[0], *to = &p->d[1];
    cdspp_state *m = state;
    const cdspp_problem both = {{from->view[0].x.m, from->known},
                                {to->view[0].x.m, to->known},
                                p->classes,
                                o->alpha};

    const cdspp_spaces z = cdspp_solve(s, &both, o->dims);
    if (z.rank == 0)
        scope_fail(s, FERRY_ENEEDS,
                   "cdspp: source '%s' and target '%s' have no class in common", from->name,
                   to->name);
    if (o->dims > z.rank)
        ferry_i_log(scope_ctx(s), FERRY_WARN,
                    "cdspp: there are %lld dimensions, not %lld: %lld classes are in both "
                    "domains",
                    (long long)z.rank, (long long)o->dims, (long long)z.shared);
    report_real(s, "dimensions", (double)z.rank);
    report_reals(s, "eigenvalues", z.rank, z.lambda);
    m->ds = z.ps.n;
    m->rank = z.rank;
    m->ps = block_copy(keep, z.ps);
    m->pt = block_copy(keep, z.pt);
    if (progress(s, "cdspp", 1, 1, NAN)) report_fit(s, 1, NAN, FERRY_STOP_FINISH);
    if (p->goal == FERRY_CLASSIFY) m->learner = train(s, keep, o, p, m);
}

static void cdspp_scores(scope *s, const void *state, const domain *d, block out)
{
    const cdspp_state *m = state;

    if (!m->learner.by) scope_fail(s, FERRY_EDATA, "cdspp: the model has no learner");
    learned_scores(s, &m->learner, project(s, d->view[0].x, m->pt), out);
}

/* By the target's view, or else by the source's. */
static block cdspp_embed(scope *s, const void *state, const domain *d)
{
    const cdspp_state *m = state;
    const block z = block_new(s, d->rows, d->n, m->rank);

    mul(s, d->view[0].x, m->pt, z);
    if (d->n_views < 2 || !d->view[0].there) return z;
    const block other = block_like(s, z);
    mul(s, d->view[1].x, m->ps, other);
    for (int64_t i = 0; i < z.n; i++)
        if (!d->view[0].there[i])
            memcpy(ROW(z, i), ROW(other, i), (size_t)z.k * sizeof(double));
    return z;
}

const method method_cdspp = {
    .name = "cdspp",
    .summary = "one space for a source and a target, by their classes",
    .reference = "Wang and Breckon, Cross-Domain Structure Preserving Projection for "
                 "Heterogeneous Domain Adaptation, Pattern Recognition 2022",
    .kind = FERRY_KIND_TRANSFER,
    .goals = FERRY_CLASSIFY | FERRY_EMBED,
    .needs = FERRY_NEED_SOURCE_LABELS | FERRY_NEED_TARGET_LABELS | FERRY_NEED_ONE_VIEW,
    .wants = {.as = VIEWS_APART,
              .domains = WANT_SOURCES | WANT_TARGET,
              .labelled = true,
              .scale_default = "l2"},
    METHOD_OPTIONS(cdspp_opts, cdspp_options),
    .state = &cdspp_table,
    .embeds_sources = true,
    .fits = cdspp_fits,
    .fit = cdspp_fit,
    .scores = cdspp_scores,
    .embed = cdspp_embed,
};
