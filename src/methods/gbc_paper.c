/* gbc-paper: gradient boosting consensus as published (Shi, Heterogeneous Learning and Its Applications, PhD thesis 2013,
 * chapter 3). Letters as in the thesis:
 *
 *   n instances, p vector sources (views), q graphs, k scores an instance (classes one against the rest; 1 for two
 *   classes and for numbers)
 *   f_i(x)   scores of source i
 *   w, w_g   weights of the sources and of the graphs, each adding up to one
 *   E(x)     = sum_i w_i f_i(x) / sum_i w_i over the sources that have x                               (3.2)
 *   Et_i(x)  = sum_g w_g [sum_z A_g(x,z) f_i(z) / sum_z A_g(x,z)] / sum_g w_g over the z that i has    (3.3)
 *
 * Source i minimises, by boosted trees,
 *
 *   L_i = sum over labelled x  L(f_i(x), y_x)
 *       + lambda0 sum over unlabelled x in two views or more  L(f_i(x), E(x))
 *       + lambda1 sum over unlabelled x with neighbours       L(f_i(x), Et_i(x))
 *
 * with L(f, y) = (f - y)^2 or log(1 + exp(-y f)). Algorithm 1, in every iteration:
 *   1. E and Et from the scores so far, and the graphs' weights by how far neighbours are apart,
 *        l_g = sum_(a<b) A_ab sum_i w_i D(f_i(a), f_i(b)) / sum_(a<b) A_ab sum_i w_i                   (3.11)
 *   2. for each source a plain tree on z = -dL_i/df_i and a line search
 *   3. w by exp(-l_i / z) with the z that makes them add up to one                                    (3.10)
 * The answer is sum_i w_i f_i / sum_i w_i over the views that have x; an instance without features gets the mean of its
 * neighbours.
 *
 * Where the text leaves room: E and Et are divided by the weights that are there, so that sources may lack instances.
 * The gradient is per instance: the printed sums over x are an error. E and Et are computed once an iteration, not after
 * each source, so that the order of views does not matter. w_i is left out of z: it would cancel in the line search.
 * D is the squared difference of scores, or of probabilities: log(1 + exp(-f_a f_b)) would reward large scores, not
 * agreement. lambdas are times labelled / unlabelled: rows without labels outnumber the others. as_printed has sources one
 * after the other, each with E and Et of those before it, and the lambdas as they are given. */
#include <math.h>
#include <string.h>

#include "learn/boost.h"
#include "learn/graphs.h"
#include "model/seam.h"

enum { ROOT, SOFTMAX, EQUAL };

typedef struct paper_options {
    double lambda0, lambda1;
    int weights, as_printed;
    boost_settings grow;
} paper_options;

static const ferry_opt paper_opts[] = {
    FERRY_OPT(paper_options, REAL, lambda0, 0.3, 0, 1e9,
              "consensus of the views, times labelled / unlabelled, at most 1 in all"),
    FERRY_OPT(paper_options, REAL, lambda1, 0.3, 0, 1e9,
              "agreement of neighbours, likewise"),
    FERRY_OPT_ONE_OF(paper_options, weights, "root|softmax|equal", "root",
                     "of the views, by training loss"),
    FERRY_OPT_ONE_OF(paper_options, as_printed, "no|yes", "no",
                     "yes: views one after the other, and lambdas as they are given"),
    BOOST_OPTS(paper_options, grow),
};

typedef struct paper_state {
    outcome to;
    forest trees;
    int64_t views, graphs;
    double *w, *wg; /* views; graphs */
} paper_state;
static const field paper_fields[] = {
    ARRAY(paper_state, STRUCT, to, .of = &outcome_table),
    ARRAY(paper_state, STRUCT, trees, .of = &forest_table),
    ARRAY(paper_state, REALS, w, .rows = SIZE(paper_state, views)),
    ARRAY(paper_state, REALS, wg, .rows = SIZE(paper_state, graphs)),
};

static void paper_check(scope *s, const void *state)
{
    const paper_state *m = state;
    bool good = m->trees.views == m->views && m->trees.k == m->to.k && !m->trees.additive;

    for (int64_t i = 0; good && i < m->views; i++)
        good = m->w[i] >= 0;
    for (int64_t i = 0; good && i < m->graphs; i++)
        good = m->wg[i] >= 0;
    if (!good) scope_fail(s, FERRY_EDATA, "tensors w, wg: not weights of views and graphs");
}

static const table paper_table = {sizeof(paper_state), paper_fields,
                                  FERRY_COUNT(paper_fields), paper_check, NULL};

/* What the trees of an iteration see. */
typedef struct targets_now {
    const domain *t;
    int64_t k;
    bool logistic;
    double lambda0, lambda1;
    double *w, *wg, *graph_loss;
    block e;                 /* n x k: E */
    int32_t *sources;        /* n: how many have x */
    block *et;               /* views: Et_i, n x k */
    uint8_t **has;           /* views: whether x has a neighbour that counts */
    const uint8_t *labelled; /* n */
} targets_now;

static bool has_row(const domain *t, int64_t i, int64_t x)
{
    return !t->view[i].there || t->view[i].there[x];
}

/* ---- weights ---- */

/* l <- the losses over their mean, NaN (no labelled row) as the mean itself; the mean. */
static double fill(int64_t n, const double *loss, double *l)
{
    double mean = 0;
    int64_t known = 0;

    for (int64_t i = 0; i < n; i++)
        if (!isnan(loss[i])) {
            mean += loss[i];
            known++;
        }
    mean = known > 0 ? mean / (double)known : NAN;
    for (int64_t i = 0; i < n; i++)
        l[i] = mean > 0 ? (isnan(loss[i]) ? 1 : loss[i] / mean) : 0;
    return mean;
}

/* w to sum 1; equal when all are 0. */
static void to_one(int64_t n, double *w)
{
    double all = 0;

    for (int64_t i = 0; i < n; i++)
        all += w[i];
    for (int64_t i = 0; i < n; i++)
        w[i] = all > 0 ? w[i] / all : 1 / (double)n;
}

/* (3.10) with its constants left open, read literally: sum_i exp(-s l_i) falls from n to 0, one root s = 1/z, by
 * bisection. l = (1, 2) gives (.618, .382), the golden section. */
static void root_weights(int64_t n, const double *loss, double *w)
{
    double least = INFINITY, lo = 0, hi = 0;

    (void)fill(n, loss, w);
    for (int64_t i = 0; i < n; i++)
        least = fmin(least, w[i]);
    if (n == 1 || !(least > 0)) { /* exact zeros share all the weight */
        for (int64_t i = 0; i < n; i++)
            w[i] = n == 1 || !(w[i] > 0);
        to_one(n, w);
        return;
    }
    hi = log((double)n) / least; /* every term is at most 1/n: the root lies below */
    for (int step = 0; step < 2000; step++) {
        const double at = lo + (hi - lo) / 2;
        double all = 0;
        if (at <= lo || at >= hi) break; /* no number is left between the ends */
        for (int64_t i = 0; i < n; i++)
            all += exp(-at * w[i]);
        *(all > 1 ? &lo : &hi) = at;
    }
    for (int64_t i = 0; i < n; i++)
        w[i] = exp(-(lo + (hi - lo) / 2) * w[i]);
}

/* exp(-8 (l - min) / mean): sharper. */
static void softmax_weights(int64_t n, const double *loss, double *w)
{
    double least = INFINITY;
    const double mean = fill(n, loss, w);

    for (int64_t i = 0; i < n; i++)
        least = fmin(least, w[i]);
    for (int64_t i = 0; i < n; i++)
        w[i] = mean > 0 ? exp(-8 * (w[i] - least)) : 1;
    to_one(n, w);
}

/* ---- E and Et ---- */

/* E, for instances in two sources or more. */
static void find_consensus(targets_now *now, const block *f)
{
    const domain *t = now->t;

    for (int64_t x = 0; x < t->n; x++) {
        double all = 0, *e = ROW(now->e, x);
        memset(e, 0, (size_t)now->k * sizeof *e);
        for (int64_t i = 0; i < t->n_views; i++) {
            if (!has_row(t, i, x)) continue;
            all += now->w[i];
            for (int64_t j = 0; j < now->k; j++)
                e[j] += now->w[i] * ROW(f[i], x)[j];
        }
        for (int64_t j = 0; all > 0 && j < now->k; j++)
            e[j] /= all;
    }
}

/* What instances show their neighbours: for each source 1 or 0 whether it has them, then its scores; the leading 1
 * makes the degree come out of the same sum. probabilities: s(f) instead. */
static block shown(scope *s, const targets_now *now, const block *f, bool probabilities)
{
    const domain *t = now->t;
    const int64_t wide = 1 + now->k;
    const block b = block_new(s, t->rows, t->n, t->n_views * wide);

    for (int64_t x = 0; x < t->n; x++)
        for (int64_t i = 0; i < t->n_views; i++) {
            double *to = ROW(b, x) + i * wide;
            if (!has_row(t, i, x)) continue;
            to[0] = 1;
            for (int64_t j = 0; j < now->k; j++)
                to[1 + j] = probabilities ? sigmoid(ROW(f[i], x)[j]) : ROW(f[i], x)[j];
        }
    return b;
}

/* l_g, from P and A P: |p_a - p_b|^2 over all edges is sum_a p_a^2 (A 1)_a - p_a (A p)_a. NaN: no edge counts. */
static double graph_loss(scope *s, const targets_now *now, block p, block ap)
{
    const int64_t wide = 1 + now->k;
    double all[2] = {0, 0};

    for (int64_t x = 0; x < p.n; x++)
        for (int64_t i = 0; i < now->t->n_views; i++) {
            const double *own = ROW(p, x) + i * wide, *of = ROW(ap, x) + i * wide;
            double apart = 0;
            for (int64_t j = 1; j < wide; j++)
                apart += own[j] * own[j] * of[0] - own[j] * of[j];
            all[0] += now->w[i] * apart / (double)now->k;
            all[1] += now->w[i] * own[0] * of[0] / 2;
        }
    sums(s, p.rows, 2, all);
    return all[1] > 0 ? fmax(0, all[0] / all[1]) : NAN;
}

/* Et_i and who has one, from the sums of all graphs. */
static void find_means(targets_now *now, const block *af, const uint8_t *labelled)
{
    const domain *t = now->t;
    const int64_t k = now->k;

    for (int64_t i = 0; i < t->n_views; i++)
        for (int64_t x = 0; x < t->n; x++) {
            double all = 0, *to = ROW(now->et[i], x);
            memset(to, 0, (size_t)k * sizeof *to);
            for (int g = 0; !labelled[x] && has_row(t, i, x) && g < t->n_graphs; g++) {
                const double *of = ROW(af[g], x) + i * (1 + k);
                if (!(of[0] > 0)) continue;
                all += now->wg[g];
                for (int64_t j = 0; j < k; j++)
                    to[j] += now->wg[g] * of[1 + j] / of[0];
            }
            now->has[i][x] = all > 0;
            for (int64_t j = 0; all > 0 && j < k; j++)
                to[j] /= all;
        }
}

static void find_neighbours(scope *s, targets_now *now, const block *f,
                            const uint8_t *labelled)
{
    const int64_t mark = scope_mark(s);
    const int q = now->t->n_graphs;
    const block show = shown(s, now, f, false),
                apart = now->logistic ? shown(s, now, f, true) : show;
    block *af = NEW(s, block, q), ap = block_like(s, apart);

    for (int g = 0; g < q; g++) {
        af[g] = block_like(s, show);
        mul(s, now->t->graph[g].a, show, af[g]);
        if (now->logistic) mul(s, now->t->graph[g].a, apart, ap);
        now->graph_loss[g] = graph_loss(s, now, apart, now->logistic ? ap : af[g]);
    }
    root_weights(q, now->graph_loss, now->wg);
    find_means(now, af, labelled);
    scope_release(s, mark);
}

/* ---- the further terms of L_i ---- */

static bool has_consensus(const targets_now *now, int64_t x)
{
    return now->lambda0 > 0 && now->sources[x] >= 2;
}

static bool counts(const void *arg, int64_t i, int64_t x)
{
    const targets_now *now = arg;

    return has_consensus(now, x) || (now->lambda1 > 0 && now->has[i][x]);
}

/* lambda L(f, e): z = 2 lambda (e - f), c = 2 lambda; or z = lambda e s(-e f), c = lambda e^2 s(e f) s(-e f). */
static void add_term(const targets_now *now, double lambda, double f, double e, double *z,
                     double *c)
{
    const double p = now->logistic ? sigmoid(e * f) : 0;

    *z += now->logistic ? lambda * e * (1 - p) : 2 * lambda * (e - f);
    *c += now->logistic ? lambda * e * e * p * (1 - p) : 2 * lambda;
}

static void term(const void *arg, int64_t i, int64_t x, int64_t j, double f, double *z,
                 double *c)
{
    const targets_now *now = arg;

    *z = *c = 0;
    if (has_consensus(now, x)) add_term(now, now->lambda0, f, ROW(now->e, x)[j], z, c);
    if (now->lambda1 > 0 && now->has[i][x])
        add_term(now, now->lambda1, f, ROW(now->et[i], x)[j], z, c);
}

/* ---- Algorithm 1 ---- */

static targets_now *begin(scope *s, const domain *t, const outcome *to,
                          const paper_options *o)
{
    targets_now *now = NEW(s, targets_now, 1);
    const double unlabelled = (double)(t->rows.n - t->labelled);
    const double unit = unlabelled > 0 ? (double)t->labelled / unlabelled : 1;
    const double l0 = o->as_printed ? o->lambda0 : fmin(1, o->lambda0 * unit),
                 l1 = o->as_printed ? o->lambda1 : fmin(1, o->lambda1 * unit);

    *now = (targets_now){.t = t,
                         .k = to->k,
                         .logistic = !to->numbers,
                         .lambda0 = l0,
                         .lambda1 = t->n_graphs > 0 ? l1 : 0,
                         .w = NEW(s, double, t->n_views),
                         .wg = NEW(s, double, t->n_graphs),
                         .graph_loss = NEW(s, double, t->n_graphs),
                         .e = block_new(s, t->rows, t->n, to->k),
                         .sources = NEW(s, int32_t, t->n),
                         .et = NEW(s, block, t->n_views),
                         .has = NEW(s, uint8_t *, t->n_views)};
    for (int64_t i = 0; i < t->n_views; i++) {
        now->w[i] = 1 / (double)t->n_views;
        now->et[i] = block_new(s, t->rows, t->n, to->k);
        now->has[i] = NEW(s, uint8_t, t->n);
        for (int64_t x = 0; x < t->n; x++)
            now->sources[x] += has_row(t, i, x);
    }
    for (int g = 0; g < t->n_graphs; g++)
        now->wg[g] = 1 / (double)t->n_graphs;
    return now;
}

static void look(scope *s, targets_now *now, const block *f)
{
    if (now->lambda0 > 0) find_consensus(now, f);
    if (now->lambda1 > 0) find_neighbours(s, now, f, now->labelled);
}

/* as_printed: a source sees what those before it have just learned. */
static void look_again(scope *s, void *arg, const block *f, int64_t i)
{
    if (i > 0) look(s, arg, f);
}

static void step(scope *s, targets_now *now, boost *b, int weights)
{
    look(s, now, b->f);
    boost_step(s, b);
    if (weights == ROOT) root_weights(b->o.views, b->loss, now->w);
    if (weights == SOFTMAX) softmax_weights(b->o.views, b->loss, now->w);
}

static void report_model(scope *s, const domain *t, const targets_now *now)
{
    const char **name = NEW(s, const char *, t->n_views + t->n_graphs);

    for (int i = 0; i < t->n_views; i++)
        name[i] = t->view[i].name;
    report_named(s, "weights", t->n_views, name, now->w);
    for (int g = 0; g < t->n_graphs; g++)
        name[g] = t->graph[g].name;
    if (t->n_graphs > 0) report_named(s, "graph_weights", t->n_graphs, name, now->wg);
    report_real(s, "lambda0", now->lambda0);
    report_real(s, "lambda1", now->lambda1);
}

static void paper_fit(scope *s, scope *keep, const problem *p, const void *options,
                      void *state)
{
    const paper_options *o = options;
    const domain *t = target(p);
    paper_state *m = state;
    boost_options how = {.rows = t->rows,
                         .n = t->n,
                         .key = t->key,
                         .views = t->n_views,
                         .view = t->view,
                         .counts = counts,
                         .term = term,
                         .every = true,
                         .line = true};
    double objective = NAN;
    bool finish = false;

    m->to = outcome_of(s, t->rows, t->n, &t->y, &how.weight, &how.y, &how.labelled);
    targets_now *now = begin(s, t, &m->to, o);
    how.arg = now;
    now->labelled = how.labelled;
    if (o->as_printed) how.before = look_again;
    how.k = m->to.k;
    how.logistic = !m->to.numbers;
    boost_set(&o->grow, how.logistic, &how);
    how.tree.reg =
        fmax(0, o->grow.reg); /* a plain tree: leaves are means, every row counts one */
    how.tree.min_child = 1;
    boost *b = boost_new(s, &how);
    for (int64_t i = 0; i < o->grow.trees && !finish; i++) {
        step(s, now, b, o->weights);
        objective = 0;
        for (int64_t v = 0; v < how.views; v++)
            objective += isnan(b->loss[v]) ? 0 : now->w[v] * b->loss[v];
        finish = progress(s, "gbc-paper", i + 1, o->grow.trees, objective);
    }
    m->views = t->n_views;
    m->graphs = t->n_graphs;
    m->w = COPY(keep, now->w, m->views);
    m->wg = COPY(keep, now->wg, m->graphs);
    forest_copy(keep, &b->trees, b->trees.n, &m->trees);
    report_model(s, t, now);
    report_fit(s, b->trees.n, objective, finish ? FERRY_STOP_FINISH : FERRY_STOP_MAX_ITER);
}

/* ---- answers ---- */

/* Rows without features have the mean of their neighbours, where labels stand fast. */
static void paper_scores(scope *s, const void *state, const domain *d, block out)
{
    const paper_state *m = state;
    uint8_t *viewless = NEW(s, uint8_t, d->n);
    double *alpha = NEW(s, double, d->n), any = 0;
    const propagation how = {.n = d->n_graphs,
                             .g = d->graph,
                             .w = m->wg,
                             .alpha = alpha,
                             .max_iter = 50,
                             .tol = 1e-5};

    forest_serves(s, &m->trees, d);
    if (d->n_graphs != m->graphs)
        scope_fail(s, FERRY_EDATA, "tensor wg: %lld graphs, not %d", (long long)m->graphs,
                   d->n_graphs);
    boost_answers(s, &m->trees, &m->to, m->w, 1, d->view, out, viewless);
    for (int64_t x = 0; x < d->n; x++) {
        const bool known = d->known[x] >= 0 || (d->y.num && !isnan(d->y.num[x]));
        if (!viewless[x]) continue;
        any = 1;
        alpha[x] = !known;
        for (int64_t j = 0; known && j < out.k; j++)
            ROW(out, x)
        [j] = m->to.numbers ? (d->y.num[x] - m->to.mean) / m->to.sd : d->known[x] == j;
    }
    if (m->graphs > 0 && most(s, d->rows, any) > 0)
        copy(propagate(s, &how, out, NULL), out);
    outcome_rescale(&m->to, out);
}

static void paper_fits(scope *s, const problem *shape, const void *options)
{
    const domain *t = target(shape);

    (void)options;
    if (t->n_views + t->n_graphs < 2)
        scope_fail(s, FERRY_ENEEDS,
                   "gbc-paper needs several views, or a view and a graph; target '%s' has "
                   "one view (gbdt does that)",
                   t->name);
}

const method method_gbc_paper = {
    .name = "gbc-paper",
    .summary = "gradient boosting consensus over views that lack instances, as published",
    .reference = "Shi, Heterogeneous Learning and Its Applications, PhD thesis 2013, "
                 "chapter 3",
    .kind = FERRY_KIND_TRANSFER,
    .asked = true,
    .basis = true,
    .goals = FERRY_CLASSIFY | FERRY_REGRESS,
    .needs = FERRY_NEED_TARGET_VIEW | FERRY_NEED_TARGET_LABELS,
    .wants = {.as = VIEWS_APART,
              .domains = WANT_TARGET,
              .graphs = ANY_GRAPHS,
              .missing = true,
              .unscaled = true},
    METHOD_OPTIONS(paper_opts, paper_options),
    .state = &paper_table,
    .fits = paper_fits,
    .fit = paper_fit,
    .scores = paper_scores,
};
