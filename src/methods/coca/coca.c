/* CoCA: collective component analysis. One space for several views and graphs of the same
 * instances (the problem and its letters: coca.h).
 *
 *   H (D x D):  a_j X_j'X_j + X_j'WX_j on the diagonal, b X_j'X_h beside it,
 *   Phi = (1/p) sum_j X_j U_j,  U: eigenvectors of the d algebraically largest eigenvalues.
 *
 * Algorithm 2 of the source, step by step:
 *   weights    w_j of the views by a QP where links are known, else 1/p; wt_t of the graphs
 *   matrix     H from views, graphs and weights (4.8, 4.14); never written out when large
 *   solve      its d largest eigenvalues: algebraically, since H is indefinite as soon as
 *              b > a_j
 *   embed      Phi by (4.2); of graphs alone the eigenvectors of K W K, K = I - 11'/m
 *
 *   mode paper   features only centred, graphs as they are, alpha = 60, learned weights on
 *                the diagonal blocks alone, the QP on embeddings as they are
 *   mode ferry   features and views on one scale (worth more than all the rest), symmetric
 *                graphs, weights on the views themselves, X_j <- sqrt(p w_j) X_j (on the
 *                diagonal, beside alpha = 60, they are 0.3 % of the matrix); alpha = 1/p,
 *                which is joined PCA, of the views that share something with another; where
 *                links are known alpha = 1 with learned weights, if those of half of the
 *                links are better by how often the nearest linked instance of the other
 *                half is a must-link
 *
 * Source: Shi, Heterogeneous Learning and Its Applications, thesis 2013, chapter 4,
 * Algorithm 2. Where the text and the algebra differ, docs/methods/coca.md says so. */
#include <math.h>
#include <string.h>

#include "core/ranks.h"
#include "methods/coca/coca.h"

/* Choices of weights and graph_weights; lift is WEIGHTS_LEARNED too. */
typedef enum weighing {
    WEIGHTS_AUTO,
    WEIGHTS_EQUAL,
    WEIGHTS_LEARNED,
    WEIGHTS_AGREE
} weighing;
enum { MODE_FERRY, MODE_PAPER };
enum { AUTO }; /* the first choice of each option that the mode decides */
enum { GRAPHS_SYM = 1, GRAPHS_RAW };
enum { ON_VIEWS = 1, ON_DIAGONAL };
enum { YES = 1, NO };
/* Between these d is chosen. On Cora's words in five groups and on three views of digits (mfeat
 * fou, kar, mor) the groups are found no better from 15 dimensions on, and worse below 10. */
enum { LEAST_D = 10, MOST_D = 20 };

/* As the options have it; strings are the caller's. by_mode() fills in what is auto. */
typedef struct coca_options {
    int mode;
    int64_t d;
    int form;
    double alpha;
    int scale, balance, graphs, weights, weights_on, graph_weights;
    double graph_term;
    const char *pairs;
    int64_t links;
    int norm, balanced;
    int64_t smooth;
    int centre, missing, solver;
} coca_options;

static const ferry_opt coca_opts[] = {
    FERRY_OPT_ONE_OF(coca_options, mode, "ferry|paper", "ferry",
                     "ferry: views on one scale, weights on views; paper: as published"),
    FERRY_OPT(
        coca_options, INT, d, -1, -1, 1e6,
        "dimensions of the embedding; -1: those of positive eigenvalues, 10 to 20 of them, in "
        "joined PCA as many as hold 90 % of the variance (paper, and graphs alone: 10)"),
    FERRY_OPT_ONE_OF(coca_options, form, "4.8|4.4|4.3", "4.8",
                     "which of the text's matrices, by equation"),
    FERRY_OPT(coca_options, REAL, alpha, -1, -1, 1e9,
              "weight of agreement between views; below 0: 1/p of p views, which is joined "
              "PCA, 1 with learned weights; in mode paper 60"),
    EMBED_OPT_SCALE(coca_options),
    FERRY_OPT_ONE_OF(coca_options, graphs, "auto|sym|raw", "auto",
                     "graphs as D^-1/2 M D^-1/2, or as they are; auto: sym, in mode paper "
                     "raw"),
    FERRY_OPT_ONE_OF(
        coca_options, weights, "auto|equal|qp|agree", "auto",
        "of the views; qp: learned from links; agree: 0 for views that share nothing with "
        "another; auto: agree, or qp where nearest links say so (paper: qp, or equal)"),
    FERRY_OPT_ONE_OF(coca_options, weights_on, "auto|views,ferry|diagonal,thesis", "auto",
                     "learned weights act on the views, or on the diagonal blocks alone; "
                     "auto: views, in mode paper diagonal"),
    FERRY_OPT_ONE_OF(coca_options, graph_weights, "auto|equal|lift", "auto",
                     "lift: by how much more often edges join one class; auto: lift where "
                     "labels are seen"),
    FERRY_OPT(coca_options, REAL, graph_term, 1, 0, 1e9, "factor of the graphs' term"),
    FERRY_OPT_STRING(coca_options, pairs, "",
                     "file of links: id, id, 1 (same class) or -1; else from labels"),
    FERRY_OPT(coca_options, INT, links, 400, 2, 5000, "instances to take links from"),
    FERRY_OPT_ONE_OF(coca_options, norm, "auto|cosine|none|frob", "auto",
                     "how the qp makes views comparable; auto: cosine, in mode paper none"),
    FERRY_OPT_ONE_OF(coca_options, balanced, "auto|yes,true,on,1|no,false,off,0", "auto",
                     "in the qp both kinds of links count the same in all; auto: yes, in "
                     "mode paper no"),
    FERRY_OPT(coca_options, INT, smooth, 0, 0, 100,
              "steps of smoothing over the graphs: phi + W phi + .. + W^s phi"),
    FERRY_OPT_YES_NO(coca_options, centre, "yes", "with graphs alone: centre W"),
    EMBED_OPT_MISSING(coca_options),
    FERRY_EIGEN_OPT(coca_options),
};

/* What the mode decides where the user has not. A copy: what the user gave stays as it is.
 * COCA_ norms count from 0, the option's list from auto, hence 1 + norm. */
static coca_options by_mode(const coca_options *given)
{
    coca_options o = *given;
    const bool paper = o.mode == MODE_PAPER;

    if (o.alpha < 0 && paper) o.alpha = 60;
    if (o.d < 0 && paper) o.d = LEAST_D;
    if (o.scale == FERRY_SCALE_AUTO && paper) o.scale = FERRY_SCALE_NONE;
    ferry_i_embed_scaling(&o.scale, &o.balance);
    if (o.graphs == AUTO) o.graphs = paper ? GRAPHS_RAW : GRAPHS_SYM;
    if (o.weights_on == AUTO) o.weights_on = paper ? ON_DIAGONAL : ON_VIEWS;
    if (o.norm == AUTO) o.norm = 1 + (paper ? COCA_PLAIN : COCA_COSINE);
    if (o.balanced == AUTO) o.balanced = paper ? NO : YES;
    return o;
}

/* Labels that are hidden for an evaluation do not count. */
static bool has_labels(const ferry_domain *t)
{
    for (int64_t i = 0; t->labels && i < t->labels->n; i++)
        if (ferry_i_labels_has(t->labels, i)) return true;
    return false;
}

/* Checked before any work: d as the mode has it; learned weights need links, and lift needs
 * classes. */
static ferry_status coca_fits(ferry_ctx *ctx, const ferry_task *task, const void *options)
{
    ferry_status st = FERRY_OK;
    const coca_options o = by_mode(options);
    const ferry_domain *t = NULL;

    FERRY_TRY(ferry_i_task_target(ctx, task, &t));
    FERRY_NEED(ctx, o.d != 0, FERRY_EINVAL, "coca: d = 0, but it is -1 or at least 1");
    FERRY_NEED(
        ctx,
        !ferry_i_ranks_split(ctx) ||
            (t->n_views > 0 && (o.smooth == 0 || t->n_graphs == 0)),
        FERRY_ENEEDS,
        "coca: graphs alone, and smooth, join instances of all ranks, which --engine mpi "
        "does not; views with graphs and smooth=0 run with it");
    FERRY_TRY(ferry_i_embed_fits(ctx, "coca", t, o.d < 0 ? 1 : o.d));
    FERRY_NEED(
        ctx, o.weights != WEIGHTS_LEARNED || o.pairs[0] || has_labels(t), FERRY_ENEEDS,
        "coca weights=qp needs labels of target '%s' that may be seen, or pairs", t->name);
    FERRY_NEED(ctx, o.graph_weights != WEIGHTS_LEARNED || has_labels(t), FERRY_ENEEDS,
               "coca graph_weights=lift needs labels of target '%s' that may be seen",
               t->name);
done:
    return st;
}

/* ---- weights: steps 13 to 25 ---- */

/* Diagnostics by the names of views or graphs. */
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

/* The links that weights may be learned from; none where nobody asks. C is (most x most)
 * dense, which `links` bounds. */
static ferry_status find_links(ferry_ctx *ctx, const coca_options *o, const ferry_domain *t,
                               coca_links *l)
{
    ferry_status st = FERRY_OK;

    if (o->weights == WEIGHTS_EQUAL || o->weights == WEIGHTS_AGREE) goto done;
    if (o->pairs[0])
        FERRY_TRY(ferry_i_coca_links_file(ctx, t, o->pairs, o->links, l));
    else
        FERRY_TRY(ferry_i_coca_links_labels(ctx, t, o->links, l));
    FERRY_NEED(ctx, o->weights != WEIGHTS_LEARNED || (l->must > 0 && l->cannot > 0),
               FERRY_ENEEDS,
               "coca weights=qp needs links of both kinds; there are %lld within a class "
               "and %lld between classes",
               (long long)l->must / 2, (long long)l->cannot / 2);
done:
    return st;
}

/* w: from the links (NULL: not), or by agreement, or equal. */
static ferry_status view_weights(ferry_ctx *ctx, const coca_options *o, int64_t p,
                                 embed_view *const *x, const coca_links *l, double *w)
{
    ferry_status st = FERRY_OK;
    coca_weighing z = {.p = p,
                       .d = o->d < 0 ? LEAST_D : o->d,
                       .x = x,
                       .solver = (ferry_eigen_solver)o->solver,
                       .norm = (coca_norm)(o->norm - 1),
                       .balanced = o->balanced == YES};
    const bool agree = o->weights == WEIGHTS_AGREE ||
                       (o->weights == WEIGHTS_AUTO && o->mode != MODE_PAPER);

    for (int64_t j = 0; j < p; j++)
        w[j] = 1 / (double)p;
    if (p == 1) goto done;
    if (l) FERRY_TRY(ferry_i_coca_weigh(ctx, &z, l, w));
    z.d = LEAST_D; /* few: with many small components even kin look like strangers */
    if (!l && agree && p > 2) FERRY_TRY(ferry_i_coca_agree(ctx, &z, w));
done:
    return st;
}

/* wt: equal, or the lift of each graph; they sum to 1. A graph whose edges join classes no
 * more often than chance gets 0; if all do, they are equal. */
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

/* One fit under way. m and scaled are by graph; f and a by view. prepared moves to the
 * model. */
typedef struct work {
    coca_options o;
    const ferry_domain *t;
    ferry_prepared *prepared;
    embed_view **x;
    double *w, *wt, *f, *a, b; /* weights of views and graphs; the problem's factors */
    ferry_matrix *graph;       /* W = sum_t scaled_t m_t */
    const ferry_matrix **m;
    double *scaled;
    int64_t positive; /* eigenvalues of the last solve */
    bool finish;
} work;

static void free_work(work *z)
{
    if (z->t) ferry_i_embed_views_free(z->t->n_views, z->x);
    ferry_i_prepared_free(z->prepared);
    FERRY_FREE(z->w, z->wt, z->f, z->a, z->m, z->scaled);
    ferry_i_matrix_free(z->graph);
}

/* The rows of W that belong to the instances of this rank. */
static ferry_status own_rows(ferry_ctx *ctx, ferry_matrix **w)
{
    ferry_status st = FERRY_OK;
    ferry_matrix *own = NULL;
    int64_t from = 0, to = 0;

    ferry_i_ranks_part(ctx, (*w)->rows, &from, &to);
    FERRY_TRY(ferry_i_matrix_slice(ctx, *w, from, to - from, &own));
    ferry_i_matrix_free(*w);
    *w = own;
done:
    return st;
}

/* W with the graphs' weights. graph_term scales the graphs against the views; of graphs
 * alone a factor changes nothing and is left out. */
static ferry_status fit_graphs(ferry_ctx *ctx, work *z)
{
    ferry_status st = FERRY_OK;
    const ferry_domain *t = z->t;
    const int64_t q = t->n_graphs;

    FERRY_NEW(ctx, z->m, q);
    FERRY_NEW(ctx, z->scaled, q);
    FERRY_NEW(ctx, z->wt, q);
    if (q == 0) goto done;
    FERRY_TRY(graph_weights(ctx, &z->o, t, z->wt));
    for (int64_t g = 0; g < q; g++) {
        z->m[g] = t->graphs[g]->a;
        z->scaled[g] = z->wt[g] * (t->n_views > 0 ? z->o.graph_term : 1);
    }
    FERRY_TRY(
        ferry_i_coca_graphs(ctx, q, z->m, z->scaled, z->o.graphs == GRAPHS_SYM, &z->graph));
    if (ferry_i_ranks_split(ctx)) FERRY_TRY(own_rows(ctx, &z->graph));
    FERRY_TRY(diag_named(ctx, "graph_weights", t, false, z->wt));
done:
    return st;
}

/* f_j, a_j and b. Weights on the views: f_j = sqrt(p w_j), so that every block X_j'X_h
 * carries p sqrt(w_j w_h), and the diagonal has 1/p; as published: f_j = 1, w_j in a_j.
 * On the views, one of weight 0 drops out of H altogether (f_j = 0). */
static ferry_status fit_factors(ferry_ctx *ctx, work *z, const coca_links *l)
{
    ferry_status st = FERRY_OK;
    const int64_t p = z->t->n_views;
    const bool on_views = z->o.weights_on == ON_VIEWS;
    const double alpha = z->o.alpha >= 0 ? z->o.alpha : l ? 1 : 1 / (double)p;

    FERRY_TRY(view_weights(ctx, &z->o, p, z->x, l, z->w));
    FERRY_TRY(diag_named(ctx, "weights", z->t, true, z->w));
    ferry_i_diag_real(ctx, "alpha", alpha);
    for (int64_t j = 0; j < p; j++) {
        z->f[j] = on_views ? sqrt((double)p * z->w[j]) : 1;
        /* The weights act through f now: in a_j they would count twice. */
        if (on_views) z->w[j] = 1 / (double)p;
    }
    ferry_i_coca_form((coca_form)z->o.form, p, z->w, alpha, z->a, &z->b);
done:
    return st;
}

/* The fewest dimensions, LEAST_D at least, with 90 % of what the views bring to H's
 * trace: sum_j a_j f_j^2 |X_j|_F^2. In joined PCA that is their variance; otherwise some of
 * H's eigenvalues are negative, and the positive ones sum to more than the trace. Only
 * positive ones are taken, or one where there are none. */
static int64_t enough(const work *z, const double *values)
{
    double all = 0, sum = 0;
    int64_t d = 0;

    for (int64_t j = 0; j < z->t->n_views; j++)
        all += z->a[j] * z->f[j] * z->f[j] * z->x[j]->norm2;
    while (d < z->positive && (d < LEAST_D || sum < 0.9 * all))
        sum += values[d++];
    return d > 0 ? d : 1;
}

/* u <- its first d columns. */
static ferry_status first_columns(ferry_ctx *ctx, int64_t d, ferry_block **u)
{
    ferry_status st = FERRY_OK;
    ferry_block *few = NULL;

    FERRY_TRY(ferry_i_block_new(ctx, (*u)->rows, d, &few));
    for (int64_t i = 0; i < few->rows; i++)
        memcpy(FERRY_ROW(few, i), FERRY_ROW(*u, i), (size_t)d * sizeof(double));
    ferry_i_block_free(*u);
    *u = few;
done:
    return st;
}

/* From H to the embedding of the views: steps 26 to 29.
 *
 * c.w and the single graphs are two forms of the same: the packed product takes the graphs
 * one by one where that is fewer bytes. `products` tells the cost of the eigensolver. share
 * = 1/p is that of (4.2). */
static ferry_status solve(ferry_ctx *ctx, work *z, embedding **e, ferry_block **phi)
{
    ferry_status st = FERRY_OK;
    int64_t products = 0;
    const coca_problem c = {.name = "coca",
                            .products = &products,
                            .m = z->x[0]->c.x->rows,
                            .p = z->t->n_views,
                            .x = z->x,
                            .f = z->f,
                            .a = z->a,
                            .b = z->b,
                            .w = z->graph,
                            .q = z->t->n_graphs,
                            .graph = z->m,
                            .wt = z->scaled,
                            .sym = z->o.graphs == GRAPHS_SYM,
                            .solver = (ferry_eigen_solver)z->o.solver};
    const int64_t size = ferry_i_coca_size(&c), most = size < MOST_D ? size : MOST_D;
    int64_t d = z->o.d < 0 ? most : z->o.d;
    double *values = NULL;
    ferry_block *u = NULL;

    FERRY_NEED(ctx, d <= size, FERRY_ENEEDS,
               "coca: d = %lld, but the views span only %lld dimensions", (long long)d,
               (long long)size);
    FERRY_NEW(ctx, values, d);
    FERRY_TRY(ferry_i_block_new(ctx, size, d, &u));
    FERRY_TRY(ferry_i_coca_solve(ctx, &c, d, values, u));
    z->positive = ferry_i_embed_positive(d, values);
    if (z->o.d < 0) {
        d = enough(z, values);
        FERRY_TRY(first_columns(ctx, d, &u));
    }
    const embed_solution s = {.m = c.m,
                              .p = c.p,
                              .d = d,
                              .x = c.x,
                              .f = c.f,
                              .values = values,
                              .u = u,
                              .share = 1 / (double)c.p};
    FERRY_TRY(ferry_i_embedding_new(ctx, &s, e, phi));
    (*e)->missing = (embed_missing)z->o.missing;
    ferry_i_diag_real(ctx, "products", (double)products);
done:
    ferry_i_block_free(u);
    ferry_i_free(values);
    return st;
}

/* Weigh and solve once, with links or (NULL) without; an earlier try is given up. */
static ferry_status fit_once(ferry_ctx *ctx, work *z, const coca_links *l, coca_model *m,
                             ferry_block **phi)
{
    ferry_status st = FERRY_OK;

    ferry_i_embedding_free(m->e);
    ferry_i_block_free(*phi);
    m->e = NULL;
    *phi = NULL;
    FERRY_TRY(fit_factors(ctx, z, l));
    FERRY_TRY(solve(ctx, z, &m->e, phi));
done:
    return st;
}

static bool both_kinds(const coca_links *l)
{
    return l->must > 0 && l->cannot > 0;
}

/* Joined PCA or learned weights, where nobody has said: weights learned from half of the
 * linked instances must find more of the others' nearest among them to be must-links, by two
 * standard errors. On the links they were learned from they would look better than they are.
 * Joined PCA comes second and stays in m and phi, so that it is not solved again when it is
 * kept. */
static ferry_status choose(ferry_ctx *ctx, work *z, const coca_links *l, coca_model *m,
                           ferry_block **phi, bool *learn)
{
    ferry_status st = FERRY_OK;
    coca_links half = {0}, rest = {0};
    double nearest[2] = {0}; /* joined PCA, learned */

    FERRY_TRY(ferry_i_coca_links_halves(ctx, l, &half, &rest));
    const bool judge = both_kinds(&half) && both_kinds(&rest);
    if (judge) {
        FERRY_TRY(fit_once(ctx, z, &half, m, phi));
        FERRY_TRY(ferry_i_coca_nearest(ctx, &rest, z->x[0]->c.x, *phi, &nearest[1]));
    }
    FERRY_TRY(fit_once(ctx, z, NULL, m, phi));
    if (judge) {
        FERRY_TRY(ferry_i_coca_nearest(ctx, &rest, z->x[0]->c.x, *phi, &nearest[0]));
        ferry_i_diag_reals(ctx, "nearest", 2, nearest);
    }
    const double error =
        sqrt((nearest[0] * (1 - nearest[0]) + nearest[1] * (1 - nearest[1])) /
             fmax((double)rest.n, 1));
    *learn = judge && nearest[1] - nearest[0] > 2 * error;
done:
    ferry_i_coca_links_clear(&half);
    ferry_i_coca_links_clear(&rest);
    return st;
}

/* Scale, weigh, solve: the three parts that progress hears of. */
static ferry_status fit_views(ferry_ctx *ctx, const ferry_task *task, work *z,
                              coca_model *m)
{
    ferry_status st = FERRY_OK;
    const int64_t p = z->t->n_views;
    ferry_block *phi = NULL;
    coca_links l = {0};

    FERRY_NEW(ctx, z->w, p);
    FERRY_NEW(ctx, z->f, p);
    FERRY_NEW(ctx, z->a, p);
    FERRY_TRY(ferry_i_embed_views(ctx, "coca", task, z->o.scale,
                                  (embed_balance)z->o.balance, &z->prepared, &z->x));
    FERRY_TRY(find_links(ctx, &z->o, z->t, &l));
    bool learn = both_kinds(&l) && p > 1;
    FERRY_TRY(ferry_i_progress(ctx, "coca", 1, 3, NAN, &z->finish));
    if (learn && z->o.mode != MODE_PAPER && z->o.weights == WEIGHTS_AUTO)
        FERRY_TRY(choose(ctx, z, &l, m, &phi, &learn));
    if (learn || !phi) FERRY_TRY(fit_once(ctx, z, learn ? &l : NULL, m, &phi));
    FERRY_TRY(ferry_i_progress(ctx, "coca", 2, 3, NAN, &z->finish));
    /* Only here: it is of no interest for a solve that was given up. */
    if (z->o.d > 0) ferry_i_embed_warn(ctx, "coca", z->positive, z->o.d);
    FERRY_MOVE(m->e->prepared, z->prepared);
    FERRY_TRY(ferry_i_embed_scatter(ctx, z->t, phi));
done:
    ferry_i_coca_links_clear(&l);
    ferry_i_block_free(phi);
    return st;
}

/* Graphs alone: there is no projection to keep, only where the instances are. Phi = top d
 * eigenvectors of K W K (4.11); of a d that was not given those of positive eigenvalues. New
 * instances have no place: transform knows the ids it has seen. */
static ferry_status fit_relational(ferry_ctx *ctx, work *z, coca_model *m)
{
    ferry_status st = FERRY_OK;
    const int64_t n = ferry_i_ids_count(z->t->ids);
    int64_t d = z->o.d > 0 ? z->o.d : n > LEAST_D ? LEAST_D : n - 1;
    double *values = NULL;

    FERRY_NEW(ctx, values, d);
    FERRY_HAVE(ctx, m->ids = ferry_i_ids_copy(z->t->ids));
    FERRY_TRY(ferry_i_block_new(ctx, z->graph->rows, d, &m->phi));
    FERRY_TRY(ferry_i_coca_relational(ctx, z->graph, z->o.centre,
                                      (ferry_eigen_solver)z->o.solver, d, values, m->phi));
    z->positive = ferry_i_embed_positive(d, values);
    if (z->o.d < 0 && z->positive < d) {
        d = z->positive > 0 ? z->positive : 1;
        FERRY_TRY(first_columns(ctx, d, &m->phi));
    }
    ferry_i_diag_reals(ctx, "eigenvalues", d, values);
    FERRY_TRY(ferry_i_embed_scatter(ctx, z->t, m->phi));
done:
    ferry_i_free(values);
    return st;
}

/* What smooths later: the graphs by name, with their weights. Weights without graph_term:
 * smoothing needs shares. m->wt takes the array over. */
static ferry_status keep_graphs(ferry_ctx *ctx, work *z, coca_model *m)
{
    ferry_status st = FERRY_OK;

    m->smooth = z->o.smooth;
    FERRY_HAVE(ctx, m->graphs = ferry_i_ids_new());
    for (int64_t g = 0; g < z->t->n_graphs; g++)
        FERRY_HAVE(ctx, ferry_i_ids_add(m->graphs, z->t->graphs[g]->name, NULL) >= 0);
    FERRY_MOVE(m->wt, z->wt);
done:
    return st;
}

/* Options, graphs, views (or graphs alone), what is kept. The report has no objective: it
 * is solved at once. */
static ferry_status coca_fit(ferry_ctx *ctx, const ferry_task *task, const void *options,
                             void **state, ferry_fit_info *rep)
{
    ferry_status st = FERRY_OK;
    work z = {.o = by_mode(options)};
    coca_model *m = NULL;

    *state = NULL;
    FERRY_NEW(ctx, m, 1);
    FERRY_TRY(ferry_i_task_target(ctx, task, &z.t));
    FERRY_TRY(ferry_i_progress(ctx, "coca", 0, 3, NAN, &z.finish));
    FERRY_TRY(fit_graphs(ctx, &z));
    if (z.t->n_views > 0)
        FERRY_TRY(fit_views(ctx, task, &z, m));
    else
        FERRY_TRY(fit_relational(ctx, &z, m));
    FERRY_TRY(keep_graphs(ctx, &z, m));
    FERRY_TRY(ferry_i_progress(ctx, "coca", 3, 3, NAN, &z.finish));
    rep->stop = z.finish ? FERRY_STOP_FINISH : FERRY_STOP_DONE;
    FERRY_MOVE(*state, m);
done:
    ferry_i_coca_free(m);
    free_work(&z);
    return st;
}

/* For ferry predict: which graphs to ask for. */
static const ferry_ids *coca_graphs(const void *model)
{
    const coca_model *m = model;

    return m->smooth > 0 ? m->graphs : NULL;
}

const ferry_method ferry_i_method_coca = {
    .name = "coca",
    .summary = "collective component analysis: one space for many views and graphs",
    .reference =
        "Shi, Heterogeneous Learning and Its Applications, thesis, Chicago 2013, ch. 4",
    .kind = FERRY_KIND_TRANSFER,
    .goals = FERRY_EMBED,
    .needs = FERRY_NEED_VIEW_OR_GRAPH,
    FERRY_OPTIONS(coca_opts, coca_options),
    .fits = coca_fits,
    .fit = coca_fit,
    .spreads = true,
    .transform = ferry_i_coca_transform,
    .graphs = coca_graphs,
    FERRY_STATE(coca_model, ferry_i_coca_file, ferry_i_coca_free),
};
