/* CoCA: collective component analysis. One space for several views and graphs of the same
 * instances.
 *
 *   H (D x D):  a_j X_j'X_j + X_j'WX_j on the diagonal, b X_j'X_h beside it,
 *   Phi = (1/p) sum_j X_j U_j,  U: eigenvectors of the d algebraically largest eigenvalues.
 *
 * X_j are the views, centred and scaled, W = sum_t wt_t M_t the graphs. The text has three
 * matrices that differ in a_j and b (ferry_i_coca_form); its weights w_j act on the
 * diagonal alone (thesis), here by default on the views themselves (ferry): X_j <- sqrt(p
 * w_j) X_j. With graphs alone Phi are the eigenvectors of K W K, K = I - 11'/m (4.11).
 *
 * Source: Shi, Heterogeneous Learning and Its Applications, thesis 2013, chapter 4,
 * Algorithm 2. Where the text and the algebra differ, docs/methods/coca.md says so. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "learn/learn.h"
#include "methods/coca/coca.h"

typedef enum weighing { WEIGHTS_AUTO, WEIGHTS_EQUAL, WEIGHTS_LEARNED } weighing;

typedef struct coca_options {
    int64_t d;
    int form;
    double alpha;
    int scale, graphs, weights, weights_on, graph_weights;
    double graph_term;
    const char *pairs;
    int64_t links;
    int norm, balanced;
    int64_t smooth;
    int centre, missing, solver;
} coca_options;

static const ferry_opt coca_opts[] = {
    FERRY_OPT(coca_options, INT, d, 10, 1, 1e6, "dimensions of the embedding"),
    FERRY_OPT_ONE_OF(coca_options, form, "4.8|4.4|4.3", "4.8",
                     "which of the text's matrices, by equation"),
    FERRY_OPT(coca_options, REAL, alpha, 1, 0, 1e9, "weight of agreement between views"),
    COCA_OPT_SCALE(coca_options),
    FERRY_OPT_ONE_OF(coca_options, graphs, "sym|raw", "sym",
                     "graphs as D^-1/2 M D^-1/2, or as they are"),
    FERRY_OPT_ONE_OF(
        coca_options, weights, "auto|equal|qp", "auto",
        "of the views; qp: learned from links; auto: qp where there are links"),
    FERRY_OPT_ONE_OF(coca_options, weights_on, "ferry|thesis", "ferry",
                     "learned weights act on the views, or on the diagonal alone"),
    FERRY_OPT_ONE_OF(coca_options, graph_weights, "auto|equal|lift", "auto",
                     "lift: by how much more often edges join one class; auto: lift where "
                     "labels are seen"),
    FERRY_OPT(coca_options, REAL, graph_term, 1, 0, 1e9, "factor of the graphs' term"),
    FERRY_OPT_STRING(coca_options, pairs, "",
                     "file of links: id, id, 1 (same class) or -1; else from labels"),
    FERRY_OPT(coca_options, INT, links, 400, 2, 5000, "instances to take links from"),
    FERRY_OPT_ONE_OF(coca_options, norm, "cosine|none|frob", "cosine",
                     "how the qp makes views comparable"),
    FERRY_OPT_YES_NO(coca_options, balanced, "yes",
                     "in the qp both kinds of links count the same in all"),
    FERRY_OPT(coca_options, INT, smooth, 0, 0, 100,
              "steps of smoothing over the graphs: phi + W phi + .. + W^s phi"),
    FERRY_OPT_YES_NO(coca_options, centre, "yes", "with graphs alone: centre W"),
    COCA_OPT_MISSING(coca_options),
    COCA_OPT_SOLVER(coca_options),
};

static bool has_labels(const ferry_domain *t)
{
    for (int64_t i = 0; t->labels && i < t->labels->n; i++)
        if (ferry_i_labels_has(t->labels, i)) return true;
    return false;
}

static ferry_status coca_fits(ferry_ctx *ctx, const ferry_task *task, const void *options)
{
    ferry_status st = FERRY_OK;
    const coca_options *o = options;
    const ferry_domain *t = NULL;

    FERRY_TRY(ferry_i_task_target(ctx, task, &t));
    FERRY_TRY(ferry_i_coca_fits(ctx, "coca", t, o->d));
    FERRY_NEED(
        ctx, o->weights != WEIGHTS_LEARNED || o->pairs[0] || has_labels(t), FERRY_ENEEDS,
        "coca weights=qp needs labels of target '%s' that may be seen, or pairs", t->name);
    FERRY_NEED(ctx, o->graph_weights != WEIGHTS_LEARNED || has_labels(t), FERRY_ENEEDS,
               "coca graph_weights=lift needs labels of target '%s' that may be seen",
               t->name);
done:
    return st;
}

/* ---- weights ---- */

static ferry_status diag_named(ferry_ctx *ctx, const char *name, const ferry_domain *t,
                               bool views, const double *w)
{
    const int64_t n = views ? t->n_views : t->n_graphs;
    const char **keys = ferry_i_calloc(n, sizeof *keys);

    if (!keys) return ferry_i_nomem(ctx);
    for (int64_t i = 0; i < n; i++)
        keys[i] = views ? t->views[i]->name : t->graphs[i]->name;
    ferry_i_diag_named(ctx, name, n, keys, w);
    ferry_i_free(keys);
    return FERRY_OK;
}

/* w: equal, or from the links where there are both kinds. */
static ferry_status view_weights(ferry_ctx *ctx, const coca_options *o,
                                 const ferry_domain *t, coca_view *const *x, double *w)
{
    ferry_status st = FERRY_OK;
    const int64_t p = t->n_views;
    coca_links l = {0};

    for (int64_t j = 0; j < p; j++)
        w[j] = 1 / (double)p;
    if (o->weights == WEIGHTS_EQUAL) goto done;
    if (o->pairs[0])
        FERRY_TRY(ferry_i_coca_links_file(ctx, t, o->pairs, o->links, &l));
    else
        FERRY_TRY(ferry_i_coca_links_labels(ctx, t, o->links, &l));
    FERRY_NEED(ctx, o->weights != WEIGHTS_LEARNED || (l.must > 0 && l.cannot > 0),
               FERRY_ENEEDS,
               "coca weights=qp needs links of both kinds; there are %lld within a class "
               "and %lld between classes",
               (long long)l.must / 2, (long long)l.cannot / 2);
    if (l.must == 0 || l.cannot == 0 || p == 1) goto done;
    FERRY_TRY(ferry_i_coca_learn_weights(ctx, p, x, o->d, (coca_solver)o->solver, &l,
                                         (coca_norm)o->norm, o->balanced, w));
done:
    ferry_i_coca_links_clear(&l);
    return st;
}

/* wt: equal, or the lift of each graph; they sum to 1. */
static ferry_status graph_weights(ferry_ctx *ctx, const coca_options *o,
                                  const ferry_domain *t, double *wt)
{
    ferry_status st = FERRY_OK;
    const int64_t q = t->n_graphs, k = ferry_i_labels_m(t->labels);
    int64_t *count = ferry_i_calloc(k, sizeof *count);
    double sum = 0;

    FERRY_HAVE(ctx, count);
    for (int64_t g = 0; o->graph_weights != WEIGHTS_EQUAL && has_labels(t) && g < q; g++)
        sum += wt[g] = ferry_i_coca_lift(t->graphs[g]->a, k, t->labels->cls, count);
    for (int64_t g = 0; g < q; g++)
        wt[g] = sum > 0 ? wt[g] / sum : 1 / (double)q;
done:
    ferry_i_free(count);
    return st;
}

/* ---- fitting ---- */

/* One fit under way. */
typedef struct work {
    const coca_options *o;
    const ferry_domain *t;
    coca_view **x;
    double *w, *wt, *f, *a, b; /* weights of views and graphs; the problem's factors */
    ferry_matrix *graph;       /* W = sum_t scaled_t m_t */
    const ferry_matrix **m;
    double *scaled;
    bool finish;
} work;

static void free_work(work *z)
{
    if (z->t) ferry_i_coca_views_free(z->t->n_views, z->x);
    ferry_i_free(z->w);
    ferry_i_free(z->wt);
    ferry_i_free(z->f);
    ferry_i_free(z->a);
    ferry_i_free(z->m);
    ferry_i_free(z->scaled);
    ferry_i_matrix_free(z->graph);
}

/* W with the graphs' weights. */
static ferry_status fit_graphs(ferry_ctx *ctx, work *z)
{
    ferry_status st = FERRY_OK;
    const ferry_domain *t = z->t;
    const int64_t q = t->n_graphs;

    FERRY_NEW(ctx, z->m, q);
    FERRY_NEW(ctx, z->scaled, q);
    FERRY_NEW(ctx, z->wt, q);
    if (q == 0) goto done;
    FERRY_TRY(graph_weights(ctx, z->o, t, z->wt));
    for (int64_t g = 0; g < q; g++) {
        z->m[g] = t->graphs[g]->a;
        z->scaled[g] = z->wt[g] * (t->n_views > 0 ? z->o->graph_term : 1);
    }
    FERRY_TRY(ferry_i_coca_graphs(ctx, q, z->m, z->scaled, z->o->graphs == 0, &z->graph));
    FERRY_TRY(diag_named(ctx, "graph_weights", t, false, z->wt));
done:
    return st;
}

/* f_j, a_j and b: learned weights on the views (sqrt(p w_j), diagonal 1/p) or as in the
 * text. */
static ferry_status fit_factors(ferry_ctx *ctx, work *z)
{
    ferry_status st = FERRY_OK;
    const int64_t p = z->t->n_views;
    const bool on_views = z->o->weights_on == 0;

    FERRY_NEW(ctx, z->w, p);
    FERRY_NEW(ctx, z->f, p);
    FERRY_NEW(ctx, z->a, p);
    FERRY_TRY(view_weights(ctx, z->o, z->t, z->x, z->w));
    FERRY_TRY(diag_named(ctx, "weights", z->t, true, z->w));
    for (int64_t j = 0; j < p; j++) {
        z->f[j] = on_views ? sqrt((double)p * z->w[j]) : 1;
        if (on_views) z->w[j] = 1 / (double)p;
    }
    ferry_i_coca_form((coca_form)z->o->form, p, z->w, z->o->alpha, z->a, &z->b);
done:
    return st;
}

static ferry_status keep_graphs(ferry_ctx *ctx, const work *z, coca_model *m)
{
    ferry_status st = FERRY_OK;

    m->missing = (coca_missing)z->o->missing;
    m->smooth = z->o->smooth;
    for (int64_t g = 0; g < z->t->n_graphs; g++)
        FERRY_HAVE(ctx, ferry_i_ids_add(m->graphs, z->t->graphs[g]->name, NULL) >= 0);
    FERRY_TRY(ferry_i_coca_copy(ctx, z->t->n_graphs, z->wt, &m->wt));
done:
    return st;
}

static ferry_status fit_vectors(ferry_ctx *ctx, work *z, coca_model **out,
                                ferry_block **phi)
{
    ferry_status st = FERRY_OK;
    int64_t products = 0;

    FERRY_TRY(ferry_i_coca_views(ctx, z->t, (coca_scaling)z->o->scale, &z->x));
    FERRY_TRY(ferry_i_progress(ctx, "coca", 1, 3, NAN, &z->finish));
    FERRY_TRY(fit_factors(ctx, z));
    FERRY_TRY(ferry_i_progress(ctx, "coca", 2, 3, NAN, &z->finish));
    const coca_problem c = {.name = "coca",
                            .products = &products,
                            .m = ferry_i_ids_count(z->t->ids),
                            .p = z->t->n_views,
                            .x = z->x,
                            .f = z->f,
                            .a = z->a,
                            .b = z->b,
                            .w = z->graph,
                            .q = z->t->n_graphs,
                            .graph = z->m,
                            .wt = z->scaled,
                            .sym = z->o->graphs == 0,
                            .solver = (coca_solver)z->o->solver};
    FERRY_TRY(ferry_i_coca_fit(ctx, "coca", &c, z->o->d, 1 / (double)c.p, out, phi));
    ferry_i_diag_real(ctx, "products", (double)products);
done:
    return st;
}

static ferry_status fit_relational(ferry_ctx *ctx, work *z, coca_model **out)
{
    ferry_status st = FERRY_OK;
    const int64_t d = z->o->d;
    double *values = ferry_i_calloc(d, sizeof *values);
    coca_model *m = NULL;

    FERRY_HAVE(ctx, values);
    FERRY_TRY(ferry_i_coca_new(ctx, 0, d, &m));
    m->share = 1;
    m->ids = ferry_i_ids_copy(z->t->ids);
    FERRY_HAVE(ctx, m->ids);
    FERRY_TRY(ferry_i_block_new(ctx, z->graph->rows, d, &m->phi));
    FERRY_TRY(ferry_i_coca_relational(ctx, z->graph, z->o->centre,
                                      (coca_solver)z->o->solver, d, values, m->phi));
    ferry_i_diag_reals(ctx, "eigenvalues", d, values);
    *out = m;
    m = NULL;
done:
    ferry_i_coca_free(m);
    ferry_i_free(values);
    return st;
}

static ferry_status coca_fit(ferry_ctx *ctx, const ferry_task *task, const void *options,
                             void **state, ferry_report *rep)
{
    ferry_status st = FERRY_OK;
    work z = {.o = options};
    coca_model *m = NULL;
    ferry_block *phi = NULL;

    *state = NULL;
    FERRY_TRY(ferry_i_task_target(ctx, task, &z.t));
    FERRY_TRY(ferry_i_progress(ctx, "coca", 0, 3, NAN, &z.finish));
    FERRY_TRY(fit_graphs(ctx, &z));
    if (z.t->n_views > 0)
        FERRY_TRY(fit_vectors(ctx, &z, &m, &phi));
    else
        FERRY_TRY(fit_relational(ctx, &z, &m));
    FERRY_TRY(keep_graphs(ctx, &z, m));
    FERRY_TRY(ferry_i_progress(ctx, "coca", 3, 3, NAN, &z.finish));
    ferry_i_coca_scatter(ctx, z.t, phi ? phi : m->phi);
    rep->stop = z.finish ? FERRY_STOP_FINISH : FERRY_STOP_DONE;
    *state = m;
    m = NULL;
done:
    ferry_i_coca_free(m);
    ferry_i_block_free(phi);
    free_work(&z);
    return st;
}

const ferry_method ferry_i_method_coca = {
    .name = "coca",
    .summary = "collective component analysis: one space for many views and graphs",
    .reference =
        "Shi, Heterogeneous Learning and Its Applications, thesis, Chicago 2013, ch. 4",
    .kind = FERRY_KIND_TRANSFER,
    .goals = FERRY_EMBED,
    .needs = FERRY_NEED_VIEW_OR_GRAPH,
    .options = coca_opts,
    .n_options = FERRY_COUNT(coca_opts),
    .options_size = sizeof(coca_options),
    .fits = coca_fits,
    .fit = coca_fit,
    .transform = ferry_i_coca_transform,
    .save = ferry_i_coca_save,
    .load = ferry_i_coca_load,
    .free = ferry_i_coca_free,
};
