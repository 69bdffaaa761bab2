/* coca: collective component analysis. One space for several views and graphs of the same instances.
 *
 *   X_j (m x d_j)   view j of p, centred and balanced;   W = sum_t wt_t D^-1/2 M_t D^-1/2 of the graphs
 *   H (D x D)       a_j X_j'X_j + X_j'WX_j on the diagonal, b X_j'X_h beside it                    (4.8, 4.14)
 *   Phi = (1/p) sum_j X_j U_j,  U: eigenvectors of the d algebraically largest eigenvalues of H    (4.2)
 *
 * The trace of U'HU is the variance of the views' projections, plus how much they agree, plus how near instances lie
 * that are joined by edges (4.12). Algorithm 2 of the source, step by step:
 *
 *   weights    w_j of the views: by a QP where links are known, else equal for those that share something with another;
 *              wt_t of the graphs
 *   matrix     H from views, graphs and weights; never written out when large (learn/consensus.h)
 *   solve      its d largest eigenvalues: algebraically, since H is indefinite as soon as b > a_j
 *   embed      Phi; of graphs alone the eigenvectors of K W K, K = I - 11'/m                        (4.11)
 *
 * Against the text (coca-paper is as published): features and views are on one scale, which is worth more than all the
 * rest; graphs are symmetric; weights act on the views themselves, X_j <- sqrt(p w_j) X_j (on the diagonal, beside
 * alpha = 60, they are 0.3 % of the matrix); alpha = 1/p, which is joined PCA. Where links are known alpha = 1 with
 * learned weights, if those of half of the links are better by how often the nearest linked instance of the other half
 * is a must-link.
 *
 * Shi, Heterogeneous Learning and Its Applications, thesis, Chicago 2013, chapter 4, Algorithm 2. */
#include <math.h>
#include <string.h>

#include "learn/consensus.h"
#include "learn/linked.h"
#include "prepare/pairs.h"
#include "prepare/problem.h"

enum { AUTO, EQUAL, LEARNED, AGREE }; /* weights; graph_weights: LEARNED is the lift */
/* Between these d is chosen. On Cora's words in five groups and on three views of digits (mfeat fou, kar, mor) the
 * groups are found no better from 15 dimensions on, and worse below 10. */
enum { LEAST_D = 10, MOST_D = 20 };

typedef struct coca_options {
    int64_t d;
    double alpha;
    int balance, weights, graph_weights;
    double graph_term;
    const char *pairs;
    int64_t links, smooth;
    int missing;
} coca_options;

static const ferry_opt coca_opts[] = {
    FERRY_OPT(
        coca_options, INT, d, -1, -1, 1e6,
        "dimensions of the embedding; -1: those of positive eigenvalues, 10 to 20 of "
        "them, in joined PCA as many as hold 90 % of the variance (graphs alone: 10)"),
    FERRY_OPT(coca_options, REAL, alpha, -1, -1, 1e9,
              "weight of agreement between views; below 0: 1/p of p views, which is joined "
              "PCA, 1 with learned weights"),
    OPT_BALANCE(coca_options),
    FERRY_OPT_ONE_OF(
        coca_options, weights, "auto|equal|qp|agree", "auto",
        "of the views; qp: learned from links; agree: 0 for views that share nothing with "
        "another; auto: agree, or qp where nearest links say so"),
    FERRY_OPT_ONE_OF(coca_options, graph_weights, "auto|equal|lift", "auto",
                     "lift: by how much more often edges join one class; auto: lift where "
                     "labels are seen"),
    FERRY_OPT(coca_options, REAL, graph_term, -1, -1, 1e9,
              "factor of the graphs' term; below 0: 1 where weights are learned or "
              "graph_weights is given, else 0, which is joined PCA"),
    FERRY_OPT_PATH(coca_options, pairs,
                   "file of links: id, id, 1 (same class) or -1; else from labels"),
    FERRY_OPT(coca_options, INT, links, 400, 2, 5000, "instances to take links from"),
    FERRY_OPT(coca_options, INT, smooth, 0, 0, 100,
              "steps of smoothing over the graphs: phi + W phi + .. + W^s phi"),
    OPT_MISSING(coca_options),
};

typedef struct coca_state {
    placement at;
    int64_t smooth, graphs;
    double *wt; /* of the graphs, which smooth later */
} coca_state;
static const field coca_fields[] = {
    FIELD_AS(coca_state, STRUCT, at, "", .of = &placement_table),
    ARRAY(coca_state, INT, smooth, .lo = 0, .hi = 101),
    FIELD_AS(coca_state, REALS, wt, "graph_weights", .rows = SIZE(coca_state, graphs)),
};
static const table coca_table = TABLE(coca_state, coca_fields);

static void coca_fits(scope *s, const problem *shape, const void *options)
{
    const coca_options *o = options;
    const domain *t = target(shape);

    if (o->d == 0) scope_fail(s, FERRY_EINVAL, "coca: d = 0, but it is -1 or at least 1");
    views_fit(s, "coca", shape, o->d < 0 ? 1 : o->d);
    if (o->weights == LEARNED && !o->pairs[0] && t->labelled == 0)
        scope_fail(s, FERRY_ENEEDS,
                   "coca weights=qp needs labels of target '%s' that may be seen, or pairs",
                   t->name);
    if (o->graph_weights == LEARNED && t->labelled == 0)
        scope_fail(s, FERRY_ENEEDS,
                   "coca graph_weights=lift needs labels of target '%s' that may be seen",
                   t->name);
}

/* One fit under way. */
typedef struct work {
    const coca_options *o;
    const problem *p;
    const domain *t;
    const scaled_view *x;
    matrix graph;     /* W; m NULL: none */
    double *wt;       /* of graphs: shares, and ... */
    double *scaled;   /* ... times graph_term */
    int64_t positive; /* eigenvalues of the last solve */
} work;

/* ---- weights: steps 13 to 25 ---- */

static void report_view_weights(scope *s, const domain *t, const double *w)
{
    const char **name = NEW(s, const char *, t->n_views);

    for (int j = 0; j < t->n_views; j++)
        name[j] = t->view[j].name;
    report_named(s, "weights", t->n_views, name, w);
}

/* The links that weights may be learned from; none where nobody asks. */
static links find_links(scope *s, const work *z)
{
    const coca_options *o = z->o;
    links l = {0};

    if (o->weights == EQUAL || o->weights == AGREE) return l;
    l = o->pairs[0] ? links_of_file(s, o->pairs, z->t, o->links)
                    : links_of_labels(s, z->t, o->links);
    if (o->weights == LEARNED && !links_of_both_kinds(&l))
        scope_fail(
            s, FERRY_ENEEDS,
            "coca weights=qp needs links of both kinds; there are %lld within a class "
            "and %lld between classes",
            (long long)l.must / 2, (long long)l.cannot / 2);
    return l;
}

/* w: from the links (NULL: not), or by agreement, or equal. Agreement goes by few components: with many small ones even
 * neighbours look unrelated. */
static const double *view_weights(scope *s, const work *z, const links *l)
{
    const int p = z->t->n_views;
    double *w = NEW(s, double, p);

    if (p > 1 && l)
        return weigh_views(s, p, z->x, z->o->d < 0 ? LEAST_D : z->o->d, l, NORM_COSINE,
                           true);
    if (p > 2 && (z->o->weights == AGREE || z->o->weights == AUTO))
        return views_that_agree(s, p, z->x, LEAST_D);
    for (int j = 0; j < p; j++)
        w[j] = 1 / (double)p;
    return w;
}

/* W with the graphs' weights. graph_term scales the graphs against the views; of graphs alone a factor changes nothing
 * and is left out. */
static void fit_graphs(scope *s, work *z)
{
    const domain *t = z->t;
    const char **name = NEW(s, const char *, t->n_graphs);

    if (t->n_graphs == 0) return;
    z->wt = weigh_graphs(s, t, z->p->classes, z->o->graph_weights != EQUAL);
    z->scaled = NEW(s, double, t->n_graphs);
    for (int g = 0; g < t->n_graphs; g++) {
        name[g] = t->graph[g].name;
        z->scaled[g] =
            z->wt[g] * (t->n_views > 0 && z->o->graph_term >= 0 ? z->o->graph_term : 1);
    }
    z->graph = merge_graphs(s, t->n_graphs, t->graph, z->scaled, true);
    report_named(s, "graph_weights", t->n_graphs, name, z->wt);
}

/* ---- from H to the embedding: steps 26 to 29 ---- */

/* How large the d largest eigenvalues may sum to: W's are at most the sum of the graphs' weights. */
static double most_of(const consensus *c)
{
    double graphs = 0, all = 0;

    for (int64_t g = 0; g < c->q; g++)
        graphs += fabs(c->wt[g]);
    for (int64_t j = 0; j < c->p; j++)
        all += (c->a[j] + graphs) * c->f[j] * c->f[j] * c->x[j].norm2;
    return all;
}

/* The fewest dimensions, LEAST_D at least, with 90 % of what the views bring to H's trace: sum_j a_j f_j^2 |X_j|_F^2. In
 * joined PCA that is their variance; otherwise some of H's eigenvalues are negative, and the positive ones sum to more
 * than the trace. Only positive ones are taken, or one where there are none. In joined PCA of words, where MOST_D hold
 * less than half of what there may be, more than LEAST_D bring more noise than groups. */
static int64_t enough(const work *z, const consensus *c, bool joined, const double *values)
{
    double all = 0, part = 0, some = 0;
    int64_t d = 0, most = z->positive;

    for (int64_t j = 0; j < c->p; j++)
        all += c->a[j] * c->f[j] * c->f[j] * c->x[j].norm2;
    for (int64_t i = 0; i < z->positive; i++)
        some += values[i];
    if (joined && some < 0.5 * most_of(c) && most > LEAST_D) most = LEAST_D;
    while (d < most && (d < LEAST_D || part < 0.9 * all))
        part += values[d++];
    return d > 0 ? d : 1;
}

static block first_columns(scope *s, block u, int64_t d)
{
    const block few = block_new(s, u.rows, u.n, d);

    for (int64_t i = 0; i < u.n; i++)
        memcpy(ROW(few, i), ROW(u, i), (size_t)d * sizeof(double));
    return few;
}

static bool anything_differs(const consensus *c)
{
    for (int64_t j = 0; j < c->p; j++)
        if (c->x[j].norm2 > 0) return true;
    return false;
}

/* Weights on the views: f_j = sqrt(p w_j), so that every block X_j'X_h is multiplied by p sqrt(w_j w_h), and the
 * diagonal has a_j = 1/p; a view of weight 0 drops out of H altogether. */
static embedding fit_once(scope *s, scope *keep, work *z, const links *l, block *phi)
{
    const coca_options *o = z->o;
    const int p = z->t->n_views;
    const double alpha = o->alpha >= 0 ? o->alpha : l ? 1 : 1 / (double)p;
    const double *w = view_weights(s, z, l);
    double *f = NEW(s, double, p), *a = NEW(s, double, p);

    report_view_weights(s, z->t, w);
    report_real(s, "alpha", alpha);
    for (int j = 0; j < p; j++) {
        f[j] = sqrt((double)p * w[j]);
        a[j] = 1 / (double)p;
    }
    consensus c = {.name = "coca",
                   .p = p,
                   .x = z->x,
                   .f = f,
                   .a = a,
                   .b = alpha,
                   .w = z->graph,
                   .q = z->t->n_graphs,
                   .g = z->t->graph,
                   .wt = z->scaled,
                   .sym = true};
    if (!l && o->graph_term < 0 && o->graph_weights == AUTO) {
        c.w = (matrix){0}; /* nothing has shown that the graphs say the same as the views */
        c.q = 0;
    }
    report_real(s, "graph_term", c.q == 0 ? 0 : o->graph_term < 0 ? 1 : o->graph_term);
    const int64_t size = consensus_size(&c), most = size < MOST_D ? size : MOST_D;
    int64_t d = o->d < 0 ? most : o->d, products = 0;
    if (!anything_differs(&c))
        scope_fail(s, FERRY_ENEEDS,
                   "coca: the instances differ in no view: nothing to embed");
    if (d > size)
        scope_fail(s, FERRY_ENEEDS,
                   "coca: d = %lld, but the views span only %lld dimensions", (long long)d,
                   (long long)size);
    double *values = NEW(s, double, d);
    block u = consensus_solve(s, &c, d, values, &products);
    z->positive = positive_values(d, values);
    if (o->d < 0) u = first_columns(s, u, enough(z, &c, !l && o->alpha < 0, values));
    report_real(s, "products", (double)products);
    const embed_solution from = {
        .p = p, .x = z->x, .f = f, .values = values, .u = u, .share = 1 / (double)p};
    return embedding_of(s, keep, &from, o->missing, phi);
}

/* Joined PCA or learned weights, where nobody has said: weights learned from half of the linked instances must find
 * more of the others' nearest among them to be must-links, by two standard errors. On the links they were learned from
 * they would look better than they are. */
static bool learning_pays(scope *s, work *z, const links *l)
{
    double nearest[2]; /* joined PCA, learned */
    links half, rest;
    block phi;

    links_halves(s, l, &half, &rest);
    if (!links_of_both_kinds(&half) || !links_of_both_kinds(&rest)) return false;
    (void)fit_once(s, s, z, &half, &phi);
    nearest[1] = nearest_is_linked(s, &rest, phi);
    (void)fit_once(s, s, z, NULL, &phi);
    nearest[0] = nearest_is_linked(s, &rest, phi);
    report_reals(s, "nearest", 2, nearest);
    const double error =
        sqrt((nearest[0] * (1 - nearest[0]) + nearest[1] * (1 - nearest[1])) /
             fmax((double)rest.n, 1));
    return nearest[1] - nearest[0] > 2 * error;
}

/* Scale, weigh, solve: the three parts that progress hears of. */
static bool fit_views(scope *s, scope *keep, work *z, coca_state *m)
{
    block phi;

    z->x = centred_views(s, z->t, balance_of(z->o->balance, z->p->unscaled));
    const links l = find_links(s, z);
    bool learn = links_of_both_kinds(&l) && z->t->n_views > 1;
    bool finish = progress(s, "coca", 1, 3, NAN);
    if (learn && z->o->weights == AUTO) {
        const int64_t mark = scope_mark(s);
        learn = learning_pays(s, z, &l);
        scope_release(s, mark);
    }
    m->at.e = fit_once(s, keep, z, learn ? &l : NULL, &phi);
    finish = progress(s, "coca", 2, 3, NAN) || finish;
    if (z->o->d > 0) warn_of_values(s, "coca", z->positive, z->o->d);
    report_scatter(s, z->p, phi);
    return finish;
}

/* Graphs alone: there is no projection to keep, only where the instances are; of a d that was not given those of
 * positive eigenvalues. */
static void fit_relational(scope *s, scope *keep, work *z, coca_state *m)
{
    const int64_t n = z->t->rows.n;
    int64_t d = z->o->d > 0 ? z->o->d : n > LEAST_D ? LEAST_D : n - 1;
    if (d < 1) scope_fail(s, FERRY_ENEEDS, "coca: one instance alone: nothing to embed");
    double *values = NEW(s, double, d);
    block phi = consensus_relational(s, z->graph, d, values);

    z->positive = positive_values(d, values);
    if (z->o->d < 0 && z->positive < d) {
        d = z->positive > 0 ? z->positive : 1;
        phi = first_columns(s, phi, d);
    }
    report_reals(s, "eigenvalues", d, values);
    report_scatter(s, z->p, phi);
    m->at = placement_of_rows(s, keep, z->t, phi);
}

static void coca_fit(scope *s, scope *keep, const problem *p, const void *options,
                     void *state)
{
    coca_state *m = state;
    work z = {.o = options, .p = p, .t = target(p)};
    bool finish = progress(s, "coca", 0, 3, NAN);

    fit_graphs(s, &z);
    if (z.t->n_views > 0)
        finish = fit_views(s, keep, &z, m) || finish;
    else
        fit_relational(s, keep, &z, m);
    m->smooth = z.o->smooth;
    m->graphs = z.t->n_graphs;
    m->wt = scope_copy(keep, z.wt, m->graphs, sizeof *z.wt);
    finish = progress(s, "coca", 3, 3, NAN) || finish;
    report_fit(s, 0, NAN, finish ? FERRY_STOP_FINISH : FERRY_STOP_DONE);
}

/* ---- embedding ---- */

/* phi + W phi + .. + W^smooth phi. Always symmetric degrees here, so that powers of W stay bounded (spectral norm 1 at
 * most). All graphs that the model knows must be there. */
static void smooth(scope *s, const coca_state *m, const domain *d, block phi)
{
    block from = block_copy(s, phi), to = block_like(s, phi);

    for (int g = 0; g < d->n_graphs; g++)
        if (!d->graph[g].a.m)
            scope_fail(s, FERRY_ENEEDS,
                       "coca learned from graph '%s', and predicting needs it, too: domain "
                       "'%s' lacks it (ferry predict takes %s=EDGES)",
                       d->graph[g].name, d->name, d->graph[g].name);
    if (d->n_graphs != m->graphs)
        scope_fail(s, FERRY_EDATA, "coca: the model has %lld graphs, not %d",
                   (long long)m->graphs, d->n_graphs);
    const matrix w = merge_graphs(s, d->n_graphs, d->graph, m->wt, true);
    for (int64_t t = 0; t < m->smooth; t++) {
        const block spare = from;
        mul(s, w, from, to);
        axpby(s, 1, to, 1, phi);
        from = to;
        to = spare;
    }
}

static block coca_embed(scope *s, const void *state, const domain *d)
{
    const coca_state *m = state;
    const block phi = placement_embed(s, "coca", &m->at, d);

    if (m->smooth > 0 && m->graphs > 0) smooth(s, m, d, phi);
    return phi;
}

const method method_coca = {
    .name = "coca",
    .summary = "collective component analysis: one space for many views and graphs",
    .reference =
        "Shi, Heterogeneous Learning and Its Applications, thesis, Chicago 2013, ch. 4",
    .kind = FERRY_KIND_TRANSFER,
    .goals = FERRY_EMBED,
    .needs = FERRY_NEED_VIEW_OR_GRAPH,
    .wants = {.as = VIEWS_APART, .domains = WANT_TARGET, .graphs = ANY_GRAPHS},
    METHOD_OPTIONS(coca_opts, coca_options),
    .state = &coca_table,
    .fits = coca_fits,
    .fit = coca_fit,
    .embed = coca_embed,
};
