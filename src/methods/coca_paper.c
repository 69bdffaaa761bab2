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
 * alpha and d can be chosen, as section 4.5.6 advises: by cross-validation of a logistic regression on the embedding and
 * the labels that may be seen, alpha also by the error of k-means there. That error is divided by the scatter: alpha
 * changes the scale of Phi, and the plain one would only say which Phi is smallest.
 *
 * Shi, Heterogeneous Learning and Its Applications, thesis, Chicago 2013, chapter 4, Algorithm 2. */
#include <math.h>

#include "learn/consensus.h"
#include "learn/kmeans.h"
#include "learn/learner.h"
#include "learn/linked.h"
#include "prepare/pairs.h"
#include "prepare/problem.h"

enum { AUTO, EQUAL, LEARNED, BY_LINKS }; /* graph_weights: LEARNED is the lift */
enum { FORM_48, FORM_44, FORM_43 };
enum { BY_SETTING, BY_CV, BY_KMEANS };
enum { FOLDS = 5 };

typedef struct paper_options {
    int64_t d;
    int form;
    double alpha;
    int alpha_by, d_by;
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
    FERRY_OPT_ONE_OF(paper_options, alpha_by, "set|cv|kmeans", "set",
                     "alpha of 0, 1, 10, 30, 60, 75 and 100 by cross-validation on visible "
                     "labels, or by the relative error of k-means on the embedding"),
    FERRY_OPT_ONE_OF(paper_options, d_by, "set|cv", "set",
                     "cv: d of 2, 3, 5, 8, 10, 15, 20, 30 and 50 by cross-validation"),
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

static bool chooses(const paper_options *o)
{
    return o->alpha_by != BY_SETTING || o->d_by != BY_SETTING;
}

static void paper_fits(scope *s, const problem *shape, const void *options)
{
    const paper_options *o = options;
    const domain *t = target(shape);

    views_fit(s, "coca-paper", shape, o->d_by == BY_CV ? 1 : o->d);
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
    if ((o->alpha_by == BY_CV || o->d_by == BY_CV) &&
        (t->labelled < 2 || shape->classes < 2))
        scope_fail(
            s, FERRY_ENEEDS,
            "coca-paper: cross-validation needs labels of target '%s' that may be seen",
            t->name);
    if (chooses(o) && t->n_views == 0)
        scope_fail(
            s, FERRY_ENEEDS,
            "coca-paper: alpha_by and d_by choose for views; target '%s' has only graphs",
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

/* phi (may be NULL) <- the coordinates of the fit. */
static placement fit_views(scope *s, scope *keep, const problem *p, const paper_options *o,
                           matrix w_graphs, const double *scaled, block *coordinates)
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
    if (coordinates) *coordinates = phi;
    return m;
}

/* ---- alpha and d by what the embedding is worth ---- */

/* The share of labels that a logistic regression of the other folds gets wrong. */
static double error_of_folds(scope *s, const problem *p, block phi)
{
    domain on = *target(p);

    on.x = matrix_of(s, phi);
    examples e = labelled_rows(s, &on);
    e.y.goal = FERRY_CLASSIFY;
    const learner *by = learner_find("logreg");
    const block said = cross_predict(s, by, learner_defaults(s, by), &e, FOLDS);
    const int32_t *best = argmax(s, said);
    double wrong = 0;
    for (int64_t i = 0; i < e.x.n; i++)
        wrong += best[i] != e.y.cls[i];
    return sum(s, e.x.rows, wrong) / (double)on.labelled;
}

/* Squared distances to the centres of as many groups as classes, by those to the mean. */
static double error_of_groups(scope *s, const problem *p, block phi)
{
    const kmeans_options how = {
        .k = p->classes > 1 ? p->classes : 10, .restarts = 10, .max_iter = 100};
    const matrix x = replicate_rows(s, matrix_of(s, phi));
    const kmeans_options one = {.k = 1, .restarts = 1, .max_iter = 2};
    int32_t *group = NEW(s, int32_t, x.n);
    ferry_rng *rng = scope_rng(s, "coca groups");

    if (how.k > x.n) return 0;
    const double scatter = kmeans(s, x, &one, rng, group, NULL);
    return scatter > 0 ? kmeans(s, x, &how, rng, group, NULL) / scatter : 1;
}

static double error_of(scope *s, const problem *p, const paper_options *o, matrix w_graphs,
                       const double *scaled, bool groups)
{
    const int64_t mark = scope_mark(s);
    block phi;

    (void)fit_views(s, s, p, o, w_graphs, scaled, &phi);
    const double error = groups ? error_of_groups(s, p, phi) : error_of_folds(s, p, phi);
    scope_release(s, mark);
    return error;
}

/* The first of the best; d before alpha, which is chosen for that d. */
static void choose_parts(scope *s, const problem *p, matrix w_graphs, const double *scaled,
                         paper_options *o)
{
    static const double alphas[] = {0, 1, 10, 30, 60, 75, 100};
    static const int64_t dims[] = {2, 3, 5, 8, 10, 15, 20, 30, 50};
    const int64_t most =
        joined_columns(target(p)->n_views,
                       centred_views(s, target(p), balance_of(o->balance, p->unscaled)));
    double least = INFINITY, error[FERRY_COUNT(dims)];
    paper_options one = *o;
    int64_t n = 0;

    for (; o->d_by == BY_CV && n < FERRY_COUNT(dims) && dims[n] <= most; n++) {
        one.d = dims[n];
        error[n] = error_of(s, p, &one, w_graphs, scaled, false);
        if (error[n] < least) {
            least = error[n];
            o->d = dims[n];
        }
    }
    if (n > 0) report_reals(s, "d_errors", n, error);
    if (o->alpha_by == BY_SETTING) return;
    least = INFINITY;
    one.d = o->d;
    for (n = 0; n < FERRY_COUNT(alphas); n++) {
        one.alpha = alphas[n];
        error[n] = error_of(s, p, &one, w_graphs, scaled, o->alpha_by == BY_KMEANS);
        if (error[n] < least) {
            least = error[n];
            o->alpha = alphas[n];
        }
    }
    report_reals(s, "alpha_errors", n, error);
}

/* Weights of edges are compared with alpha and with other graphs as they are. */
static void warn_of_weights(scope *s, const graph *g)
{
    double sum_of[] = {0, 0};

    for (int64_t i = 0; i < g->a.n; i++) {
        const ferry_row r = row_at(g->a, i);
        for (int64_t e = 0; e < r.n; e++) {
            sum_of[0] += r.value[e];
            sum_of[1] += r.value[e] != 1 && r.value[e] != 0;
        }
    }
    sums(s, g->a.rows, 2, sum_of);
    if (sum_of[1] == 0) return;
    ferry_i_warn_once(
        scope_ctx(s),
        "coca-paper: weights of the edges of graph '%s' count as they are, as published (their mean is "
        "%.3g): in another unit the answer is another; weights of 1 have none",
        g->name, sum_of[0] / fmax((double)entries(s, g->a), 1));
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
    paper_options own = *(const paper_options *)options, *o = &own;
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
        for (int g = 0; g < t->n_graphs; g++)
            warn_of_weights(s, &t->graph[g]);
        w_graphs = merge_graphs(s, t->n_graphs, t->graph, scaled, false);
        report_named(s, "graph_weights", t->n_graphs, name, wt);
    }
    (void)progress(s, "coca-paper", 1, 2, NAN);
    if (t->n_views > 0) {
        if (chooses(o)) choose_parts(s, p, w_graphs, scaled, o);
        *(placement *)state = fit_views(s, keep, p, o, w_graphs, scaled, NULL);
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
