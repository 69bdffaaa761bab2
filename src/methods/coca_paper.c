/* coca-paper: collective component analysis as published.
 *
 *   X_j (m x d_j)   view j of p, features only centred;   W = sum_t wt_t M_t, graphs as they are
 *   H (D x D)       a_j X_j'X_j + X_j'WX_j on the diagonal, b X_j'X_h beside it
 *   Phi = (1/p) sum_j X_j U_j,  U: eigenvectors of the d algebraically largest eigenvalues of H    (4.2)
 *
 * The text has three matrices that are not the same (Lemma 1 drops a term); they differ in a_j and b:
 *   4.8  a_j = w_j                      b = alpha      what Algorithm 2 builds
 *   4.4  a_j = w_j + alpha              b = alpha      j = h kept in the consensus term
 *   4.3  a_j = w_j - 2 alpha (p - 1)    b = 2 alpha    expanded exactly
 * 4.3 with a large alpha finds directions of small variance in which the views agree trivially: it is there to compare.
 *
 * Algorithm 2: weights w_j of the views by the QP (4.19) on embeddings as they are where links are known, else 1/p, on
 * the diagonal blocks alone; wt_t of the graphs (the lift: absent edges as cannot-links would reward sparse graphs);
 * alpha = 60; of graphs alone the eigenvectors of K W K, K = I - 11'/m (4.11).
 *
 * Shi, Heterogeneous Learning and Its Applications, thesis, Chicago 2013, chapter 4, Algorithm 2. */
#include <math.h>

#include "learn/consensus.h"
#include "learn/linked.h"
#include "prepare/pairs.h"
#include "prepare/problem.h"

enum { AUTO, EQUAL, LEARNED, BY_LINKS }; /* graph_weights: LEARNED is the lift */
enum { FORM_48, FORM_44, FORM_43 };

typedef struct paper_options {
    int64_t d;
    int form;
    double alpha;
    int balance, weights, graph_weights;
    double graph_term;
    const char *pairs;
    int64_t links;
    int missing;
} paper_options;

static const ferry_opt paper_opts[] = {
    FERRY_OPT(paper_options, INT, d, 10, 1, 1e6, "dimensions of the embedding"),
    FERRY_OPT_ONE_OF(paper_options, form, "4.8|4.4|4.3", "4.8",
                     "which of the text's matrices, by equation"),
    FERRY_OPT(paper_options, REAL, alpha, 60, 0, 1e9, "weight of agreement between views"),
    OPT_BALANCE(paper_options),
    FERRY_OPT_ONE_OF(
        paper_options, weights, "auto|equal|qp", "auto",
        "of the views; qp: learned from links; auto: qp where there are links"),
    FERRY_OPT_ONE_OF(paper_options, graph_weights, "auto|equal|lift|qp", "auto",
                     "lift: by how much more often edges join one class; qp: as published, "
                     "absent edges are cannot-links; auto: lift where labels are seen"),
    FERRY_OPT(paper_options, REAL, graph_term, 1, 0, 1e9, "factor of the graphs' term"),
    FERRY_OPT_PATH(paper_options, pairs,
                   "file of links: id, id, 1 (same class) or -1; else from labels"),
    FERRY_OPT(paper_options, INT, links, 400, 2, 5000, "instances to take links from"),
    OPT_MISSING(paper_options),
};

static void paper_fits(scope *s, const problem *shape, const void *options)
{
    const paper_options *o = options;
    const domain *t = target(shape);

    views_fit(s, "coca-paper", shape, o->d);
    if (o->weights == LEARNED && !o->pairs[0] && t->labelled == 0)
        scope_fail(
            s, FERRY_ENEEDS,
            "coca-paper weights=qp needs labels of target '%s' that may be seen, or pairs",
            t->name);
    if (o->graph_weights == LEARNED && t->labelled == 0)
        scope_fail(
            s, FERRY_ENEEDS,
            "coca-paper graph_weights=lift needs labels of target '%s' that may be seen",
            t->name);
}

static links known_links(scope *s, const paper_options *o, const domain *t)
{
    return o->pairs[0] ? links_of_file(s, o->pairs, t, o->links)
                       : links_of_labels(s, t, o->links);
}

static void need_both(scope *s, const char *option, const links *l)
{
    if (!links_of_both_kinds(l))
        scope_fail(s, FERRY_ENEEDS,
                   "coca-paper %s=qp needs links of both kinds; there are %lld within a "
                   "class and %lld between classes",
                   option, (long long)l->must / 2, (long long)l->cannot / 2);
}

/* w (4.19), or 1/p. */
static const double *view_weights(scope *s, const paper_options *o, const domain *t,
                                  const scaled_view *x)
{
    const int p = t->n_views;
    double *w = NEW(s, double, p);
    links l = {0};

    for (int j = 0; j < p; j++)
        w[j] = 1 / (double)p;
    if (o->weights != EQUAL) l = known_links(s, o, t);
    if (o->weights == LEARNED) need_both(s, "weights", &l);
    if (p == 1 || !links_of_both_kinds(&l)) return w;
    return weigh_views(s, p, x, o->d, &l, NORM_PLAIN, false);
}

static placement fit_views(scope *s, scope *keep, const problem *p, const paper_options *o,
                           matrix w_graphs, const double *scaled)
{
    const domain *t = target(p);
    const int n = t->n_views;
    const scaled_view *x = centred_views(s, t, balance_of(o->balance, p->unscaled));
    const double *w = view_weights(s, o, t, x);
    const char **name = NEW(s, const char *, n);
    double *a = NEW(s, double, n), *values = NEW(s, double, o->d);
    int64_t products = 0;
    block phi;

    for (int j = 0; j < n; j++) {
        name[j] = t->view[j].name;
        a[j] = o->form == FORM_48   ? w[j]
               : o->form == FORM_44 ? w[j] + o->alpha
                                    : w[j] - 2 * o->alpha * (double)(n - 1);
    }
    report_named(s, "weights", n, name, w);
    report_real(s, "alpha", o->alpha);
    const consensus c = {.name = "coca-paper",
                         .p = n,
                         .x = x,
                         .a = a,
                         .b = o->form == FORM_43 ? 2 * o->alpha : o->alpha,
                         .w = w_graphs,
                         .q = t->n_graphs,
                         .g = t->graph,
                         .wt = scaled};
    if (o->d > consensus_size(&c))
        scope_fail(s, FERRY_ENEEDS,
                   "coca-paper: d = %lld, but the views span only %lld dimensions",
                   (long long)o->d, (long long)consensus_size(&c));
    const block u = consensus_solve(s, &c, o->d, values, &products);
    const embed_solution from = {
        .p = n, .x = x, .values = values, .u = u, .share = 1 / (double)n};
    const placement m = {.e = embedding_of(s, keep, &from, o->missing, &phi)};
    warn_of_values(s, "coca-paper", positive_values(o->d, values), o->d);
    report_real(s, "products", (double)products);
    report_scatter(s, p, phi);
    return m;
}

static const double *graph_weights(scope *s, const paper_options *o, const problem *p)
{
    const domain *t = target(p);

    if (o->graph_weights != BY_LINKS)
        return weigh_graphs(s, t, p->classes, o->graph_weights != EQUAL);
    const links l = known_links(s, o, t);
    need_both(s, "graph_weights", &l);
    return weigh_graphs_by_links(s, t, &l);
}

static void paper_fit(scope *s, scope *keep, const problem *p, const void *options,
                      void *state)
{
    const paper_options *o = options;
    const domain *t = target(p);
    const char **name = NEW(s, const char *, t->n_graphs);
    double *scaled = NEW(s, double, t->n_graphs);
    matrix w_graphs = {.m = NULL};

    if (t->n_graphs > 0) {
        const double *wt = graph_weights(s, o, p);
        for (int g = 0; g < t->n_graphs; g++) {
            name[g] = t->graph[g].name;
            scaled[g] = wt[g] * (t->n_views > 0 ? o->graph_term : 1);
        }
        w_graphs = merge_graphs(s, t->n_graphs, t->graph, scaled, false);
        report_named(s, "graph_weights", t->n_graphs, name, wt);
    }
    (void)progress(s, "coca-paper", 1, 2, NAN);
    if (t->n_views > 0) {
        *(placement *)state = fit_views(s, keep, p, o, w_graphs, scaled);
    } else {
        double *values = NEW(s, double, o->d);
        const block phi = consensus_relational(s, w_graphs, o->d, values);
        report_reals(s, "eigenvalues", o->d, values);
        report_scatter(s, p, phi);
        *(placement *)state = placement_of_rows(s, keep, t, phi);
    }
    (void)progress(s, "coca-paper", 2, 2, NAN);
}

static block paper_embed(scope *s, const void *state, const domain *d)
{
    return placement_embed(s, "coca-paper", state, d);
}

const method method_coca_paper = {
    .name = "coca-paper",
    .summary = "collective component analysis as published",
    .reference =
        "Shi, Heterogeneous Learning and Its Applications, thesis, Chicago 2013, ch. 4",
    .kind = FERRY_KIND_TRANSFER,
    .asked = true,
    .goals = FERRY_EMBED,
    .needs = FERRY_NEED_VIEW_OR_GRAPH,
    .wants = {.as = VIEWS_APART,
              .domains = WANT_TARGET,
              .graphs = ANY_GRAPHS,
              .scale_default = "none"},
    METHOD_OPTIONS(paper_opts, paper_options),
    .state = &placement_table,
    .fits = paper_fits,
    .fit = paper_fit,
    .embed = paper_embed,
};
