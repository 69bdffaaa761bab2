/* hop: a chain of classifiers. The sources train a classifier that labels the first intermediate domain, which trains
 * the next, until the target; each sees the features that both sides share. What a method that goes over a bridge has
 * to beat.
 *
 * learner gp replaces the last classifier by kernel regression on the soft labels of the last intermediate domain, and
 * gate lets the labelled rows of the target correct it or overrule it. With k(x, y) = exp(-gamma |x - y|^2), 1 / gamma
 * the median of |x - y|^2 over the rows P of that domain, and z = 2 g - 1:
 *
 *   m(x) = zbar + k(x, P) (K_PP + 1.0 I)^-1 (z - zbar)
 *   f(x) = a m(x) + tau k(x, L) B^-1 (y - a m_L),  B = tau K_LL + 0.3 I
 *
 * where a and tau are those of a small grid with the least mean squared leave-one-out residual
 * [B^-1 (y - a m_L)]_i / [B^-1]_ii. a = 0 forgets the bridge. Otherwise labels of the target are not used. */
#include <math.h>
#include <string.h>

#include "learn/chain.h"
#include "learn/kernel.h"
#include "prepare/problem.h"

/* Noise variances on the scale of the kernel, where k(x, x) = 1: soft labels that came over a bridge are noisier than
 * labels of the target itself. */
#define NOISE_BRIDGE 1.0
#define NOISE_TARGET 0.3
enum { MOST = 20000 }; /* rows: their kernel is 3.2 GB then */
enum { LOGREG, SVM, GP };
enum { TARGETS_AUTO, SOFT, HARD };

typedef struct hop_options {
    int learner, targets, gate;
    double C;
} hop_options;

static const ferry_opt hop_opts[] = {
    FERRY_OPT_ONE_OF(hop_options, learner, "logreg|svm|gp", "logreg",
                     "classifier of each step; gp: kernel regression for the last"),
    FERRY_OPT_ONE_OF(hop_options, targets, "auto|soft|hard", "auto",
                     "pass probabilities on, or classes; auto: classes with svm"),
    FERRY_OPT(hop_options, REAL, C, 0, 0, 1e9,
              "cost of errors of a classifier; 0: the best of .3, 1, 3, 10 and 30 by "
              "cross-validation on the labels that train it"),
    FERRY_OPT_YES_NO(hop_options, gate, "no",
                     "gp: let labels of the target correct the bridge or overrule it"),
};

/* Either the last classifier, on the target's columns, or kernel regression on rows that the model keeps. */
typedef struct hop_state {
    classifier_state linear; /* keep NULL: kernel regression */
    double gamma, a;
    double *zbar; /* classes */
    int64_t rows, labelled;
    matrix p, l;       /* of the bridge; of the target, with a label */
    block alpha, beta; /* rows x classes, labelled x classes */
} hop_state;
static const field hop_fields[] = {
    ARRAY(hop_state, STRUCT, linear, .of = &classifier_table, .optional = true),
    FIELD_AS(hop_state, REAL, gamma, "gp:0"),
    FIELD_AS(hop_state, REAL, a, "gp:1"),
    ARRAY(hop_state, REALS, zbar, .rows = CLASSES, .optional = true),
    ARRAY(hop_state, MATRIX, p, .rows = SIZE(hop_state, rows), .cols = WIDTH,
          .optional = true),
    ARRAY(hop_state, BLOCK, alpha, .rows = SIZE(hop_state, rows), .cols = CLASSES,
          .optional = true),
    ARRAY(hop_state, MATRIX, l, .rows = SIZE(hop_state, labelled), .cols = WIDTH,
          .optional = true),
    ARRAY(hop_state, BLOCK, beta, .rows = SIZE(hop_state, labelled), .cols = CLASSES,
          .optional = true),
};

/* A file has all of one of the two. */
static void hop_check(scope *s, const void *state)
{
    const hop_state *m = state;
    const bool kernel = m->p.m && m->alpha.at && m->zbar;

    if ((m->linear.keep != NULL) == kernel || (m->l.m != NULL) != (m->beta.at != NULL) ||
        (kernel && !(m->gamma > 0)))
        scope_fail(s, FERRY_EDATA, "neither a classifier nor a kernel regression");
}
static const table hop_table = {sizeof(hop_state), hop_fields, FERRY_COUNT(hop_fields),
                                hop_check, NULL};

/* ---- the last step by kernel regression ---- */

/* Rows of a domain that count: with features in keep and, `labelled`, a known class; in the target's columns. */
static matrix kernel_rows(scope *s, scope *keep_in, const problem *p, const domain *d,
                          const uint8_t *keep, bool labelled, int64_t *n, int64_t **rows)
{
    *rows = NEW(s, int64_t, d->n);
    *n = 0;
    for (int64_t i = 0; i < d->n; i++) {
        const ferry_row r = row_at(d->x, i);
        bool any = false;
        for (int64_t e = 0; e < r.n; e++)
            any = any || (r.value[e] != 0 && keep[r.index ? r.index[e] : e]);
        if (any && (!labelled || d->known[i] >= 0)) (*rows)[(*n)++] = i;
    }
    const matrix x = target_columns(s, p, d->x, *n, *rows, keep);
    return matrix_own(keep_in, ferry_i_matrix_ref(x.m));
}

/* factor exp(-gamma d2) + ridge I. */
static small kernel_of(scope *s, small d2, double gamma, double factor, double ridge)
{
    const small k = small_new(s, d2.rows, d2.cols);

    for (int64_t e = 0; e < d2.rows * d2.cols; e++)
        k.at[e] = factor * exp(-gamma * d2.at[e]);
    for (int64_t i = 0; i < k.rows; i++)
        AT(k, i, i) += ridge;
    if (!cholesky(s, k)) scope_fail(s, FERRY_ENUMERIC, "hop: the kernel is singular");
    return k;
}

/* alpha = (K_PP + 1.0 I)^-1 (z - zbar). Without its mean taken off, the regression would fall to 0, an even vote, far
 * from the bridge; so it falls to zbar, the shares of the classes there. */
static void fit_bridge(scope *s, scope *keep, block g, const int64_t *rows, hop_state *m)
{
    const int64_t n = m->p.n, c = g.k;
    const small d2 = squared_distances(s, m->p);

    m->gamma = kernel_gamma(s, d2);
    m->zbar = NEW(keep, double, c);
    m->alpha = block_new(keep, HERE(n), n, c);
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < c; k++) {
            ROW(m->alpha, i)[k] = 2 * ROW(g, rows[i])[k] - 1;
            m->zbar[k] += ROW(m->alpha, i)[k] / (double)n;
        }
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < c; k++)
            ROW(m->alpha, i)[k] -= m->zbar[k];
    cholesky_solve(s, kernel_of(s, d2, m->gamma, 1, NOISE_BRIDGE), m->alpha);
}

/* f <- m(x). */
static void bridge_mean(scope *s, const hop_state *m, matrix x, block f)
{
    kernel_mul(s, m->gamma, m->p, x, m->alpha, f);
    for (int64_t i = 0; i < f.n; i++)
        for (int64_t k = 0; k < f.k; k++)
            ROW(f, i)[k] += m->zbar[k];
}

/* r <- B^-1 (y - a m_L), y being 1 in the column of its class and -1 in the others. The mean square of what each row
 * would be missed by if it were left out: no refitting, since that is r_i / [B^-1]_ii. */
static double gate_residuals(scope *s, const hop_state *m, small d2, const int32_t *y,
                             double a, double tau, block m_l, block r)
{
    const int64_t mark = scope_mark(s), n = r.n, c = r.k;
    const small b = kernel_of(s, d2, m->gamma, tau, NOISE_TARGET);
    const block inverse = block_new(s, HERE(n), n, n);
    double all = 0;

    for (int64_t i = 0; i < n; i++) {
        ROW(inverse, i)[i] = 1;
        for (int64_t k = 0; k < c; k++)
            ROW(r, i)[k] = (y[i] == k ? 1 : -1) - a * ROW(m_l, i)[k];
    }
    cholesky_solve(s, b, inverse);
    cholesky_solve(s, b, r);
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < c; k++) {
            const double missed = ROW(r, i)[k] / ROW(inverse, i)[i];
            all += missed * missed;
        }
    scope_release(s, mark);
    return all / (double)(n * c);
}

/* a and tau by the residuals, {0, 1} being the choice to forget the bridge; then beta, with tau in it. */
static void fit_gate(scope *s, scope *keep, const int32_t *y, hop_state *m)
{
    static const double grid[][2] = {{0.5, 0.1}, {0.5, 0.3}, {0.5, 1}, {1, 0.1}, {1, 0.3},
                                     {1, 1},     {2, 0.1},   {2, 0.3}, {2, 1},   {0, 1}};
    const int64_t n = m->l.n, c = m->alpha.k;
    const small d2 = squared_distances(s, m->l);
    const block m_l = block_new(s, HERE(n), n, c);
    double least = INFINITY, tau = 1;

    m->beta = block_new(keep, HERE(n), n, c);
    bridge_mean(s, m, m->l, m_l);
    for (int64_t t = 0; t < FERRY_COUNT(grid); t++) {
        const double missed =
            gate_residuals(s, m, d2, y, grid[t][0], grid[t][1], m_l, m->beta);
        if (!(missed < least)) continue;
        least = missed;
        m->a = grid[t][0];
        tau = grid[t][1];
    }
    (void)gate_residuals(s, m, d2, y, m->a, tau, m_l, m->beta);
    for (int64_t e = 0; e < n * c; e++)
        m->beta.at[e] *= tau;
    report_real(s, "gate_a", m->a);
    report_real(s, "gate_tau", tau);
}

/* From the domain before the target, with labels g. */
static void last_by_kernel(scope *s, scope *keep, const problem *p, bool gate, block g,
                           hop_state *m)
{
    const int from = p->n - 2;
    const domain *t = target(p);
    uint8_t *both = NEW(s, uint8_t, p->cols);
    int64_t *rows = NULL, *labelled = NULL, nl = 0;

    for (int64_t j = 0; j < p->cols; j++)
        both[j] = p->has[from][j] && p->has[p->n - 1][j];
    m->p = kernel_rows(s, keep, p, &p->d[from], both, false, &m->rows, &rows);
    if (m->rows == 0)
        scope_fail(s, FERRY_ENEEDS,
                   "hop learner=gp needs features that '%s' and '%s' share",
                   p->d[from].name, t->name);
    if (gate) m->l = kernel_rows(s, keep, p, t, both, true, &nl, &labelled);
    if (m->rows > MOST || nl > MOST)
        scope_fail(
            s, FERRY_ENEEDS,
            "hop learner=gp: %lld instances are too many for a kernel of all pairs (at "
            "most %d); learner=logreg has no such limit",
            (long long)(nl > m->rows ? nl : m->rows), MOST);
    m->a = 1;
    fit_bridge(s, keep, g, rows, m);
    if (nl == 0) {
        m->l = (matrix){.m = NULL};
        return;
    }
    m->labelled = nl;
    int32_t *y = NEW(s, int32_t, nl);
    for (int64_t i = 0; i < nl; i++)
        y[i] = t->known[labelled[i]];
    fit_gate(s, keep, y, m);
}

/* ---- all of it ---- */

static void hop_fits(scope *s, const problem *shape, const void *options)
{
    const hop_options *o = options;

    (void)shape;
    if (o->learner == SVM && o->targets == SOFT)
        scope_fail(s, FERRY_EINVAL,
                   "hop: learner=svm has no probabilities: it goes with targets=hard");
    if (o->gate && o->learner != GP)
        scope_fail(s, FERRY_EINVAL, "hop: gate=yes goes with learner=gp");
}

/* Of two classes a regression has weights of the second alone. */
static void report_weights(scope *s, const problem *p, const classifier *m)
{
    const int64_t c = p->classes;
    double *score = NEW(s, double, p->cols *c);

    for (int64_t j = 0; m->w.at && j < p->cols; j++)
        for (int64_t k = 0; k < c; k++)
            score[j * c + k] = c == 2 && k == 0 ? -ROW(m->w, j)[1] : ROW(m->w, j)[k];
    report_top_columns(s, p, "top_features", p->names, c, score);
}

static void hop_fit(scope *s, scope *keep, const problem *p, const void *options,
                    void *state)
{
    const hop_options *o = options;
    const bool svm = o->learner == SVM, hard = o->targets == HARD || svm;
    const classifier_options by = {o->C, svm, p->unit};
    const int last = p->n - 1;
    block *g = NEW(s, block, p->n);
    double *shared = NEW(s, double, p->n);
    hop_state *m = state;

    if (o->learner == GP && target(p)->rows.spread)
        scope_fail(
            s, FERRY_ENEEDS,
            "hop: learner=gp compares all rows with each other, which --engine mpi does "
            "not; logreg and svm run with it");
    chain_labels(s, &by, p, hard, last - 1, g, shared);
    if (o->learner == GP) {
        last_by_kernel(s, keep, p, o->gate, g[last - 1], m);
    } else {
        const classifier c = chain_step(s, &by, p, last, g);
        shared[last] = (double)c.shared;
        report_weights(s, p, &c);
        classifier_keep(keep, p, &c, &m->linear);
    }
    report_reals(s, "shared_features", last - p->n_sources + (o->learner != GP),
                 shared + p->n_sources);
}

static void hop_scores(scope *s, const void *state, const domain *d, block out)
{
    const hop_state *m = state;

    if (m->linear.keep) {
        classifier_answer(s, &m->linear, d, out);
        return;
    }
    bridge_mean(s, m, d->x, out);
    if (!m->l.m) return;
    const block own = block_like(s, out);
    kernel_mul(s, m->gamma, m->l, d->x, m->beta, own);
    axpby(s, 1, own, m->a, out);
}

const method method_hop = {
    .name = "hop",
    .summary = "a chain of classifiers over the bridge, each trained by the one before",
    .kind = FERRY_KIND_TRANSFER,
    .family = FERRY_FAMILY_PATH,
    .goals = FERRY_CLASSIFY,
    .needs = FERRY_NEED_SOURCE_LABELS | FERRY_NEED_TARGET_VIEW | FERRY_NEED_PATH,
    .wants = {.as = CHAIN, .domains = WANT_SOURCES | WANT_BRIDGES | WANT_TARGET},
    METHOD_OPTIONS(hop_opts, hop_options),
    .state = &hop_table,
    .fits = hop_fits,
    .fit = hop_fit,
    .scores = hop_scores,
};
