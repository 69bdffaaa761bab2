/* gibbs: collective classification by Gibbs sampling. The local model of ica, but classes are drawn from what it says,
 * and the answer is the mean over many draws, not the state at which a greedy pass stands still.
 *
 *   start    logistic regression on the features alone gives every instance its most probable class
 *   model    logistic regression on [features, share of each class among the neighbours in each graph]
 *   sweep    for each instance in turn: p(c) with the classes as they stand, y ~ p (known ones stay)
 *   answer   the mean of p over `samples` sweeps, after `burn_in` that do not count
 *
 * The published algorithm counts the drawn classes; the mean of their probabilities estimates the same with less
 * variance. Instances are visited in the order of what the model says of them at the start, then of their keys, and a
 * draw goes through the classes in the order in which they first occur by key: neither rows nor names decide, nor the
 * numbers by which graphs call instances without ids.
 *
 * Sen et al., Collective Classification in Network Data, AI Magazine 2008, algorithm 2. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/collective.h"
#include "learn/linear.h"
#include "model/seam.h"

typedef struct gibbs_options {
    double C, eps;
    int64_t burn_in, samples;
} gibbs_options;

static const ferry_opt gibbs_opts[] = {
    FERRY_OPT(gibbs_options, REAL, C, 1, 1e-9, 1e9, "cost of errors against small weights"),
    FERRY_OPT(gibbs_options, REAL, eps, 1e-2, 1e-12, 1, "stopping tolerance"),
    FERRY_OPT(gibbs_options, INT, burn_in, 20, 0, 1e6, "sweeps that do not count"),
    FERRY_OPT(gibbs_options, INT, samples, 100, 1, 1e6, "sweeps whose mean is the answer"),
};

typedef struct gibbs_state {
    int64_t burn_in, samples, seed, k;
    int64_t *order; /* k: classes as they first occur by key */
    learned first, model;
} gibbs_state;
static const field gibbs_fields[] = {
    ARRAY(gibbs_state, INT, burn_in, .lo = 0, .hi = 1000001),
    ARRAY(gibbs_state, INT, samples, .lo = 1, .hi = 1000001),
    ARRAY(gibbs_state, INT, seed, .lo = 0, .hi = 0x1p53),
    ARRAY(gibbs_state, INTS, order, .rows = SIZE(gibbs_state, k),
          .below = SIZE(gibbs_state, k)),
    ARRAY(gibbs_state, VARIANT, first, .among = &learners),
    ARRAY(gibbs_state, VARIANT, model, .among = &learners),
};
static const table gibbs_table = TABLE(gibbs_state, gibbs_fields);

static int64_t *classes_by_key(scope *s, scope *keep, const domain *t, int64_t k)
{
    const int64_t *row = rows_by_key(s, t->n, t->key);
    int64_t *order = NEW(keep, int64_t, k), n = 0;
    uint8_t *seen = NEW(s, uint8_t, k);

    for (int64_t i = 0; i < t->n; i++) {
        const int32_t c = t->known[row[i]];
        if (c < 0 || seen[c]) continue;
        seen[c] = 1;
        order[n++] = c;
    }
    for (int64_t c = 0; c < k; c++)
        if (!seen[c]) order[n++] = c;
    return order;
}

static void gibbs_fit(scope *s, scope *keep, const problem *p, const void *options,
                      void *state)
{
    const gibbs_options *o = options;
    const domain *t = target(p);
    gibbs_state *m = state;
    int32_t *cls = COPY(s, t->known, t->n);

    m->burn_in = o->burn_in;
    m->samples = o->samples;
    m->seed = (int64_t)(ferry_i_rng_u64(scope_rng(s, "gibbs")) >> 11);
    m->k = p->classes;
    m->order = classes_by_key(s, keep, t, m->k);
    m->first = local_model(s, keep, t, t->x, o->C, o->eps);
    (void)assign_classes(s, t, answer(s, &m->first, t->x), cls);
    m->model = local_model(s, keep, t, with_neighbours(s, t, m->k, cls), o->C, o->eps);
}

/* ---- sampling ---- */

typedef struct chain {
    const gibbs_state *m;
    const linear_model *model;
    const domain *d;
    const int64_t *visit; /* n: rows in the order of visiting_order() */
    block margin;         /* of the features alone */
    int32_t *cls;
    double *share, *p; /* graphs k; k */
    ferry_rng rng;
} chain;

/* p(c) of one instance, its neighbours being of the classes cls: the features' margins are known, the shares add to
 * them. */
static void conditional(chain *z, int64_t i)
{
    const int64_t k = z->margin.k, shares = z->d->n_graphs * k;
    const block w = z->model->w;

    neighbour_share(z->d, i, k, z->cls, z->share);
    memcpy(z->p, ROW(z->margin, i), (size_t)k * sizeof(double));
    for (int64_t j = 0; j < shares; j++)
        for (int64_t c = 0; z->share[j] != 0 && c < k; c++)
            z->p[c] += z->share[j] * ROW(w, w.n - shares + j)[c];
    linear_decide(true, false, k, z->model->seen, z->p);
}

static int32_t draw(chain *z)
{
    const int64_t k = z->margin.k;
    double u = ferry_i_rng_real(&z->rng);
    int64_t last = z->m->order[0];

    for (int64_t j = 0; j < k; j++) {
        const int64_t c = z->m->order[j];
        if (z->p[c] <= 0) continue;
        last = c;
        if ((u -= z->p[c]) < 0) break;
    }
    return (int32_t)last;
}

typedef struct visited {
    const double *p; /* k: at the start, classes in the order in which they are drawn */
    int64_t k, row;
    uint64_t key;
} visited;

static int by_start(const void *a, const void *b)
{
    const visited *x = a, *y = b;

    for (int64_t c = 0; c < x->k; c++)
        if (x->p[c] != y->p[c]) return x->p[c] < y->p[c] ? -1 : 1;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static const int64_t *visiting_order(scope *s, chain *z)
{
    const int64_t n = z->d->n, k = z->margin.k;
    int64_t *visit = NEW(s, int64_t, n);
    const int64_t mark = scope_mark(s);
    double *p = NEW(s, double, n *k);
    visited *all = NEW(s, visited, n);

    for (int64_t i = 0; i < n; i++) {
        conditional(z, i);
        for (int64_t c = 0; c < k; c++)
            p[i * k + c] = z->p[z->m->order[c]];
        all[i] = (visited){p + i * k, k, i, z->d->key ? z->d->key[i] : 0};
    }
    if (n > 0) qsort(all, (size_t)n, sizeof *all, by_start);
    for (int64_t i = 0; i < n; i++)
        visit[i] = all[i].row;
    scope_release(s, mark);
    return visit;
}

/* out += share of what the model says of every instance; those of known class are not drawn. */
static void sweep(chain *z, double share, block out)
{
    for (int64_t v = 0; v < z->d->n; v++) {
        const int64_t i = z->visit[v];
        conditional(z, i);
        for (int64_t c = 0; c < out.k; c++)
            ROW(out, i)[c] += share * z->p[c];
        if (z->d->known[i] < 0 && !(z->d->there && !z->d->there[i])) z->cls[i] = draw(z);
    }
}

/* Margins of the features: the model with no neighbour known. */
static block feature_margins(scope *s, const linear_model *l, const domain *d, int64_t k)
{
    const int64_t cols = l->w.n - d->n_graphs * k;
    const block margin = block_new(s, d->rows, d->n, k);

    mul(s, d->x, (block){HERE(cols), cols, k, l->w.at}, margin);
    for (int64_t i = 0; i < d->n; i++)
        for (int64_t c = 0; c < k; c++)
            ROW(margin, i)[c] += l->b[c];
    return margin;
}

static void gibbs_scores(scope *s, const void *state, const domain *d, block out)
{
    const gibbs_state *m = state;
    const int64_t k = out.k, sweeps = m->burn_in + m->samples;
    chain z = {.m = m,
               .model = m->model.state,
               .d = d,
               .cls = COPY(s, d->known, d->n),
               .share = NEW(s, double, d->n_graphs *k),
               .p = NEW(s, double, k)};

    if (m->k != k || m->model.by != learner_find("logreg") ||
        !m->model.by->serves(z.model, d->x.cols + d->n_graphs * k, k))
        scope_fail(s, FERRY_EDATA, "gibbs: the model is not of these columns and graphs");
    ferry_i_rng_seed(&z.rng, (uint64_t)m->seed, 0);
    learned_scores(s, &m->first, d->x, out);
    (void)assign_classes(s, d, out, z.cls);
    z.margin = feature_margins(s, z.model, d, k);
    z.visit = visiting_order(s, &z);
    memset(out.at, 0, (size_t)(out.n * k) * sizeof(double));
    for (int64_t t = 0; t < sweeps; t++) {
        sweep(&z, t < m->burn_in ? 0 : 1 / (double)m->samples, out);
        (void)progress(s, "gibbs", t + 1, sweeps, NAN);
    }
    prior_where_nothing(d, out);
}

const method method_gibbs = {
    .name = "gibbs",
    .summary = "collective classification by Gibbs sampling: features and neighbours",
    .reference = "Sen et al., Collective Classification in Network Data, AI Magazine 2008",
    .kind = FERRY_KIND_BASELINE,
    .goals = FERRY_CLASSIFY,
    .needs = FERRY_NEED_TARGET_VIEW | FERRY_NEED_GRAPH | FERRY_NEED_TARGET_LABELS,
    .wants = {.as = JOINED, .domains = WANT_TARGET, .graphs = ALL_GRAPHS},
    METHOD_OPTIONS(gibbs_opts, gibbs_options),
    .state = &gibbs_table,
    .asked = true, /* ica has the same model and is the default */
    .whole = true,
    .fit = gibbs_fit,
    .scores = gibbs_scores,
};
