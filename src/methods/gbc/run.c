/* GBC: boosting, one iteration after the other.
 *
 * In every iteration E and Et are computed once from the scores so far; then each source
 * gets a tree on its own z and c (the order of the sources does not matter):
 *   Newton leaves   f_i += nu G/H of the leaf,
 *   line search     a plain tree on z, f_i += nu rho tree;
 * then the weights from the losses (3.10). additive: one score of all sources, whose
 * residual the sources' trees fit in turn. */
#include <math.h>
#include <string.h>

#include "methods/gbc/gbc.h"

typedef struct run_view {
    ferry_tree_data d; /* rows whose scores are kept up */
    int64_t *rows;
    int64_t *instance; /* of each */
    int64_t *active;   /* which of them have a gradient */
    int64_t n_active;
    ferry_grower *grower;   /* over the active ones; NULL: there are none */
    ferry_columns *columns; /* of d; NULL: leaves are found row by row */
    double *z, *c;          /* n_active x k */
    int32_t *leaf;          /* d.n */
    ferry_tree **trees;     /* k, as they come */
} run_view;

void ferry_i_gbc_run_free(gbc_run *r)
{
    if (!r) return;
    const int64_t p = r->g.p;
    for (int64_t i = 0; r->view && i < p; i++) {
        run_view *v = &r->view[i];
        ferry_i_grower_free(v->grower);
        ferry_i_columns_free(v->columns);
        ferry_i_free(v->rows);
        ferry_i_free(v->instance);
        ferry_i_free(v->active);
        ferry_i_free(v->z);
        ferry_i_free(v->c);
        ferry_i_free(v->leaf);
        ferry_i_free(v->trees);
    }
    for (int64_t i = 0; i < p; i++) {
        if (r->f) ferry_i_free(r->f[i]);
        if (r->et) ferry_i_free(r->et[i]);
        if (r->has) ferry_i_free(r->has[i]);
    }
    ferry_i_free(r->view);
    ferry_i_free(r->f);
    ferry_i_free(r->et);
    ferry_i_free(r->has);
    ferry_i_free(r->w);
    ferry_i_free(r->wg);
    ferry_i_free(r->loss);
    ferry_i_free(r->graph_loss);
    ferry_i_free(r->any);
    ferry_i_free(r->e);
    ferry_i_free(r->sources);
    ferry_i_free(r->direction);
    ferry_i_gbc_pass_free(r->pass);
    ferry_i_gbc_forest_free(r->forest);
    ferry_i_free(r);
}

/* The sources as the formulas see them: one each, or one for all. */
static const gbc_problem *seen(const gbc_run *r)
{
    return r->o.additive ? &r->joint : &r->g;
}

static bool uses_graphs(const gbc_problem *g)
{
    return g->q > 0 && g->lambda1 > 0;
}

/* f0: mean of y, or log((n+ + 1/2) / (n- + 1/2)). */
static void base_scores(const gbc_problem *g, double *f0)
{
    double count = 0;

    memset(f0, 0, (size_t)g->k * sizeof *f0);
    for (int64_t x = 0; x < g->n; x++) {
        if (!g->labelled[x]) continue;
        count++;
        for (int64_t j = 0; j < g->k; j++)
            f0[j] += g->logistic ? g->y[x * g->k + j] > 0 : g->y[x * g->k + j];
    }
    for (int64_t j = 0; j < g->k; j++)
        f0[j] = g->logistic ? log((f0[j] + 0.5) / (count - f0[j] + 0.5))
                            : (count > 0 ? f0[j] / count : 0);
}

/* Rows of the view to follow, and those among them with a term in the objective. */
static ferry_status list_rows(ferry_ctx *ctx, const gbc_run *r, const ferry_view *view,
                              int64_t i, const uint8_t *follow, run_view *v)
{
    ferry_status st = FERRY_OK;
    const gbc_problem *g = seen(r);
    const int64_t s = r->o.additive ? 0 : i, rows = view->x->rows;

    FERRY_NEW(ctx, v->rows, rows);
    FERRY_NEW(ctx, v->instance, rows);
    FERRY_NEW(ctx, v->active, rows);
    v->d = (ferry_tree_data){view->x, ferry_i_tree_sparse(view->x), 0, v->rows};
    for (int64_t row = 0; row < rows; row++) {
        const int64_t x = view->instance[row], at = v->d.n;
        if (follow && !follow[x]) continue;
        v->rows[at] = row;
        v->instance[at] = x;
        v->d.n++;
        if (r->o.all || g->labelled[x] || (g->lambda0 > 0 && r->sources[x] >= 2) ||
            (uses_graphs(g) && r->has[s][x]))
            v->active[v->n_active++] = at;
    }
done:
    return st;
}

static ferry_status open_view(ferry_ctx *ctx, gbc_run *r, const ferry_view *view, int64_t i,
                              const uint8_t *follow)
{
    ferry_status st = FERRY_OK;
    run_view *v = &r->view[i];
    int64_t *rows = NULL;

    FERRY_TRY(list_rows(ctx, r, view, i, follow, v));
    v->z = ferry_i_calloc(v->n_active * r->g.k, sizeof *v->z);
    v->c = ferry_i_calloc(v->n_active * r->g.k, sizeof *v->c);
    v->leaf = ferry_i_calloc(v->d.n, sizeof *v->leaf);
    v->trees = ferry_i_calloc(r->g.k, sizeof(ferry_tree *));
    rows = ferry_i_calloc(v->n_active, sizeof *rows);
    FERRY_HAVE(ctx, v->z && v->c && v->leaf && v->trees && rows);
    for (int64_t a = 0; a < v->n_active; a++)
        rows[a] = v->rows[v->active[a]];
    const ferry_tree_data d = {view->x, v->d.sparse, v->n_active, rows};
    if (v->n_active > 0 && view->x->cols > 0)
        FERRY_TRY(ferry_i_grower_new(ctx, r->o.how, &r->o.tree, &d, r->g.k, &v->grower));
    if (v->grower && ferry_i_grower_boosts(v->grower) && view->x->dense)
        FERRY_TRY(ferry_i_columns_new(ctx, &v->d, &v->columns));
    r->forest->sparse[i] = v->d.sparse;
    r->forest->cols[i] = view->x->cols;
done:
    ferry_i_free(rows);
    return st;
}

static ferry_status make_room(ferry_ctx *ctx, gbc_run *r)
{
    ferry_status st = FERRY_OK;
    const int64_t n = r->g.n, k = r->g.k, p = r->g.p, q = r->g.q;
    bool ok = true;

    r->view = ferry_i_calloc(p, sizeof *r->view);
    r->f = ferry_i_calloc(p, sizeof *r->f);
    r->et = ferry_i_calloc(p, sizeof *r->et);
    r->has = ferry_i_calloc(p, sizeof *r->has);
    r->w = ferry_i_calloc(p, sizeof *r->w);
    r->wg = ferry_i_calloc(q, sizeof *r->wg);
    r->loss = ferry_i_calloc(p, sizeof *r->loss);
    r->graph_loss = ferry_i_calloc(q, sizeof *r->graph_loss);
    r->any = ferry_i_calloc(n, sizeof *r->any);
    r->sources = ferry_i_calloc(n, sizeof *r->sources);
    ok = r->view && r->f && r->et && r->has && r->w && r->wg && r->loss && r->graph_loss &&
         r->any && r->sources;
    for (int64_t i = 0; ok && i < seen(r)->p; i++) {
        ok = (r->f[i] = ferry_i_calloc(n * k, sizeof(double))) != NULL;
        if (ok && uses_graphs(&r->g))
            ok = (r->et[i] = ferry_i_calloc(n * k, sizeof(double))) &&
                 (r->has[i] = ferry_i_calloc(n, 1));
    }
    if (ok && r->g.lambda0 > 0) ok = (r->e = ferry_i_calloc(n * k, sizeof *r->e)) != NULL;
    if (ok && r->o.line)
        ok = (r->direction = ferry_i_calloc(n * k, sizeof *r->direction)) != NULL;
    FERRY_HAVE(ctx, ok);
done:
    return st;
}

/* E and Et of the scores as they are. */
static ferry_status targets(ferry_ctx *ctx, gbc_run *r)
{
    const double one = 1, *w = r->o.additive ? &one : r->w;

    if (r->g.lambda0 > 0) ferry_i_gbc_consensus(&r->g, r->f, w, r->e, r->sources);
    if (!uses_graphs(&r->g)) return FERRY_OK;
    return ferry_i_gbc_pass_run(ctx, r->pass, seen(r), r->f, w, r->graph_loss, r->wg, r->et,
                                r->has);
}

ferry_status ferry_i_gbc_run_new(ferry_ctx *ctx, const gbc_settings *o,
                                 const gbc_problem *g, ferry_view *const *views,
                                 const uint8_t *follow, const double *w, gbc_run **out)
{
    ferry_status st = FERRY_OK;
    gbc_run *r = ferry_i_calloc(1, sizeof *r);

    *out = NULL;
    FERRY_HAVE(ctx, r);
    r->o = *o;
    r->g = r->joint = *g;
    if (o->additive) r->g.lambda0 = 0; /* there is one score: nothing to agree on */
    r->joint.lambda0 = 0;
    r->joint.p = 1;
    FERRY_TRY(make_room(ctx, r));
    r->joint.mask = r->any;
    for (int64_t i = 0; i < g->p; i++)
        for (int64_t x = 0; x < g->n; x++) {
            r->any[x] |= g->mask[i * g->n + x];
            r->sources[x] += g->mask[i * g->n + x] != 0;
        }
    FERRY_TRY(ferry_i_gbc_forest_new(ctx, g->p, g->k, &r->forest));
    r->forest->logistic = g->logistic;
    r->forest->additive = o->additive;
    base_scores(g, r->forest->f0);
    for (int64_t i = 0; i < seen(r)->p; i++)
        for (int64_t x = 0; x < g->n; x++)
            memcpy(r->f[i] + x * g->k, r->forest->f0, (size_t)g->k * sizeof(double));
    for (int64_t i = 0; i < g->p; i++)
        r->w[i] = w ? w[i] : 1 / (double)g->p;
    if (uses_graphs(&r->g)) FERRY_TRY(ferry_i_gbc_pass_new(ctx, seen(r), &r->pass));
    FERRY_TRY(targets(ctx, r)); /* tells who has neighbours */
    for (int64_t i = 0; i < g->p; i++)
        FERRY_TRY(open_view(ctx, r, views[i], i, follow));
    *out = r;
    r = NULL;
done:
    ferry_i_gbc_run_free(r);
    return st;
}

/* z and c of the active rows of view i. */
static void gradients(const ferry_ctx *ctx, gbc_run *r, int64_t i)
{
    const gbc_problem *g = seen(r);
    run_view *v = &r->view[i];
    const int64_t s = r->o.additive ? 0 : i, k = g->k, n = v->n_active;
    const double *f = r->f[s];
    const int threads = n < 4096 ? 1 : ctx->threads;

#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t a = 0; a < n; a++) {
        const int64_t x = v->instance[v->active[a]];
        for (int64_t j = 0; j < k; j++)
            ferry_i_gbc_gradient_at(g, x, j, f[x * k + j], r->e, r->sources, r->et[s],
                                    r->has[s], &v->z[a * k + j], &v->c[a * k + j]);
    }
}

/* Leaves from the sums of z and c in double precision: G / (H + reg). */
static ferry_status refit(ferry_ctx *ctx, const gbc_run *r, const run_view *v, int64_t j,
                          ferry_tree *t)
{
    ferry_status st = FERRY_OK;
    double *sums = ferry_i_calloc(2 * t->n, sizeof *sums);

    FERRY_HAVE(ctx, sums);
    for (int64_t a = 0; a < v->n_active; a++) {
        const int32_t leaf = v->leaf[v->active[a]];
        sums[2 * leaf] += v->z[a * r->g.k + j];
        sums[2 * leaf + 1] += r->o.line ? 1 : v->c[a * r->g.k + j];
    }
    for (int64_t e = 0; e < t->n; e++) {
        const double h = sums[2 * e + 1] + r->o.tree.reg;
        if (t->node[e].feature < 0) t->node[e].value = h > 0 ? sums[2 * e] / h : 0;
    }
done:
    ferry_i_free(sums);
    return st;
}

/* rho of the plain tree, whose scores go to the direction. */
static double search(gbc_run *r, int64_t i, int64_t j, const ferry_tree *t)
{
    const gbc_problem *g = seen(r);
    const run_view *v = &r->view[i];
    const int64_t s = r->o.additive ? 0 : i;

    memset(r->direction, 0, (size_t)(g->n * g->k) * sizeof *r->direction);
    for (int64_t a = 0; a < v->d.n; a++)
        r->direction[v->instance[a] * g->k + j] = t->node[v->leaf[a]].value;
    return ferry_i_gbc_line(g, s, r->f[s], r->e, r->sources, r->et[s], r->has[s],
                            r->direction);
}

/* Take the new tree of view i and score j into the model and the scores. */
static ferry_status take(ferry_ctx *ctx, gbc_run *r, int64_t i, int64_t j)
{
    ferry_status st = FERRY_OK;
    run_view *v = &r->view[i];
    ferry_tree *t = v->trees[j];
    double *f = r->f[r->o.additive ? 0 : i], step = r->o.rate;

    if (v->columns)
        ferry_i_columns_leaves(ctx, v->columns, t, v->leaf);
    else
        ferry_i_tree_leaves(ctx, t, &v->d, v->leaf);
    FERRY_TRY(refit(ctx, r, v, j, t));
    if (r->o.line) step *= search(r, i, j, t);
    for (int64_t e = 0; e < t->n; e++)
        t->node[e].value *= step;
    for (int64_t a = 0; a < v->d.n; a++) {
        double *to = &f[v->instance[a] * r->g.k + j];
        *to += t->node[v->leaf[a]].value;
        if (r->g.logistic) *to = fmin(fmax(*to, -GBC_MOST_SCORE), GBC_MOST_SCORE);
    }
    *gbc_tree(r->forest, r->forest->n - 1, i, j) = t;
    v->trees[j] = NULL;
done:
    return st;
}

static ferry_status step_view(ferry_ctx *ctx, gbc_run *r, int64_t i)
{
    ferry_status st = FERRY_OK;
    run_view *v = &r->view[i];
    double *ones = NULL;

    if (!v->grower) goto done;
    gradients(ctx, r, i);
    if (r->o.line) {
        FERRY_NEW(ctx, ones, v->n_active * r->g.k);
        for (int64_t e = 0; e < v->n_active * r->g.k; e++)
            ones[e] = 1;
    }
    FERRY_TRY(ferry_i_grower_grow(ctx, v->grower, v->z, ones ? ones : v->c, v->trees));
    for (int64_t j = 0; j < r->g.k; j++)
        FERRY_TRY(take(ctx, r, i, j));
done:
    for (int64_t j = 0; v->trees && j < r->g.k; j++) {
        ferry_i_tree_free(v->trees[j]);
        v->trees[j] = NULL;
    }
    ferry_i_free(ones);
    return st;
}

ferry_status ferry_i_gbc_run_step(ferry_ctx *ctx, gbc_run *r)
{
    ferry_status st = FERRY_OK;

    if (r->forest->n > 0) FERRY_TRY(targets(ctx, r)); /* the first are from run_new */
    FERRY_TRY(ferry_i_gbc_forest_grow(ctx, r->forest));
    for (int64_t i = 0; i < r->g.p; i++)
        FERRY_TRY(step_view(ctx, r, i));
    for (int64_t i = 0; i < seen(r)->p; i++)
        r->loss[i] = ferry_i_gbc_source_loss(seen(r), i, r->f[i]);
    if (r->o.additive) goto done;
    if (r->o.weights == GBC_ROOT) ferry_i_gbc_root(r->g.p, r->loss, r->w);
    if (r->o.weights == GBC_SOFTMAX) ferry_i_gbc_softmax(r->g.p, r->loss, r->w);
done:
    return st;
}
