/* Gradient boosting over views: the objective's derivatives and the iteration (boosting.h).
 *
 * Only rows with a term in the objective (`active`) grow trees; leaves are then found for
 * all rows whose scores are kept up. Trees may come from XGBoost in single precision: their
 * leaves are computed again in double precision.
 * Without that, losses would differ between the two ways of growing. */
#include "learn/boosting.h"

#include <math.h>
#include <string.h>

#include "core/ranks.h"
#include "learn/outputs.h"

/* Rows fewer than this are not worth a parallel region. */
enum { GRAIN = 4096 };

/* The objective. */

double ferry_i_loss(bool logistic, double f, double y)
{
    const double m = -y * f;

    if (!logistic) return (f - y) * (f - y);
    return m > 0 ? m + log1p(exp(-m)) : log1p(exp(m)); /* log(1 + exp(m)), no overflow */
}

/* The mean, not the sum: else sources with few labelled rows would look good. */
double ferry_i_objective_loss(const ferry_objective *g, int64_t i, const double *f)
{
    double sum = 0;
    int64_t count = 0;

    for (int64_t x = 0; x < g->n; x++) {
        if (!g->labelled[x] || !g->mask[i * g->n + x]) continue;
        count++;
        for (int64_t j = 0; j < g->k; j++)
            sum += ferry_i_loss(g->logistic, f[x * g->k + j], g->y[x * g->k + j]);
    }
    return count > 0 ? sum / (double)(count * g->k) : NAN;
}

void ferry_i_objective_gradient(const ferry_objective *g, int64_t i, int64_t x, int64_t j,
                                double f, double *z, double *c)
{
    /* 0 stands in for a label that is not there; such a row takes the other branch */
    const double y = g->labelled[x] ? g->y[x * g->k + j] : 0;

    *z = *c = 0;
    if (!g->labelled[x]) {
        if (g->term) g->term(g->arg, i, x, j, f, z, c);
    } else if (g->logistic) { /* z = y s(-y f), c = s(f) s(-f) */
        const double s = ferry_i_sigmoid(y * f);
        *z = y * (1 - s);
        *c = s * (1 - s);
    } else {
        *z = 2 * (y - f);
        *c = 2;
    }
}

/* First and second derivative of -L(f + rho d) by rho, what instance x adds to both.
 * By the chain rule: first = sum z d, second = -sum c d^2, of which the sign is left off
 * here. */
static void along_one(const ferry_objective *g, int64_t i, int64_t x, const double *f,
                      const double *d, double rho, double both[2])
{
    both[0] = both[1] = 0;
    for (int64_t j = 0; g->mask[i * g->n + x] && j < g->k; j++) {
        const int64_t at = x * g->k + j;
        double z = 0, c = 0;
        ferry_i_objective_gradient(g, i, x, j, f[at] + rho * d[at], &z, &c);
        both[0] += z * d[at];
        both[1] += c * d[at] * d[at];
    }
}

/* The sum over all instances. Every rank has what its own add; all add up all of it, in the order of one process. */
static ferry_status along(ferry_ctx *ctx, const ferry_objective *g, int64_t i,
                          const double *f, const double *d, double rho, double *first,
                          double *second)
{
    ferry_status st = FERRY_OK;
    const bool spread = ferry_i_ranks_split(ctx);
    double *terms = NULL, one[2];
    int64_t begin = 0, end = 0;

    *first = *second = 0;
    ferry_i_ranks_part(ctx, g->n, &begin, &end);
    if (spread) FERRY_NEW(ctx, terms, 2 * g->n);
    for (int64_t x = begin; spread && x < end; x++)
        along_one(g, i, x, f, d, rho, terms + 2 * x);
    if (spread) FERRY_TRY(ferry_i_ranks_gather(ctx, g->n, 2 * sizeof *terms, terms));
    for (int64_t x = 0; x < g->n; x++) {
        if (!spread) along_one(g, i, x, f, d, rho, one);
        *first += spread ? terms[2 * x] : one[0];
        *second += spread ? terms[2 * x + 1] : one[1];
    }
done:
    ferry_i_free(terms);
    return st;
}

/* Squared loss: rho = sum z d / sum c d^2. Logistic: the root of a function that falls; a
 * Newton step that leaves the bracket becomes a bisection. */
ferry_status ferry_i_objective_line(ferry_ctx *ctx, const ferry_objective *g, int64_t i,
                                    const double *f, const double *d, double *best)
{
    double lo = 0, hi = 50, rho = 0, first = 0, second = 0;

    *best = 0;
    FERRY_PASS(along(ctx, g, i, f, d, 0, &first, &second));
    /* quadratic in rho: one Newton step is exact */
    if (!g->logistic) {
        *best = second > 0 ? first / second : 0;
        return FERRY_OK;
    }
    /* d does not lead downhill: no step */
    if (first <= 0) return FERRY_OK;
    for (int step = 0; step < 200 && hi - lo > 1e-14 * hi; step++) {
        /* Newton's step for the root of `first`, kept inside [lo, hi] */
        double next = second > 0 ? rho + first / second : hi;
        if (!(next > lo && next < hi)) next = step == 0 ? hi : lo + (hi - lo) / 2;
        if (next == rho) break;
        rho = next;
        FERRY_PASS(along(ctx, g, i, f, d, rho, &first, &second));
        /* `first` falls in rho: its sign tells on which side of the root rho is */
        *(first > 0 ? &lo : &hi) = rho;
        if (first == 0) break;
    }
    *best = rho;
    return FERRY_OK;
}

/* The iteration. */

typedef struct boosted_view {
    ferry_tree_data d; /* rows whose scores are kept up */
    int64_t *rows;     /* ... in the view */
    int64_t *instance; /* ... their instances */
    int64_t *active;   /* which of them have a gradient */
    int64_t n_active;
    ferry_grower *grower;   /* over the active ones; NULL: there are none */
    ferry_columns *columns; /* of d; NULL: leaves are found row by row */
    double *z, *c;          /* n_active x k */
    int32_t *leaf;          /* d.n */
    ferry_tree **trees;     /* k, as they come */
} boosted_view;

void ferry_i_boosting_free(ferry_boosting *b)
{
    if (!b) return;
    for (int64_t i = 0; b->row && i < b->views; i++) {
        boosted_view *v = &b->row[i];
        ferry_i_grower_free(v->grower);
        ferry_i_columns_free(v->columns);
        FERRY_FREE(v->rows, v->instance, v->active, v->z, v->c, v->leaf, v->trees);
    }
    for (int64_t i = 0; b->f && i < b->g.p; i++)
        ferry_i_free(b->f[i]);
    FERRY_FREE(b->row, b->f, b->loss, b->direction);
    ferry_i_forest_free(b->forest);
    ferry_i_free(b);
}

/* f0: what is best without any feature; the halves keep a class without instances finite.
 * Squared loss: the mean of y. Logistic: log((n+ + 1/2) / (n- + 1/2)), at which the
 * gradient is all but 0. */
static void base_scores(const ferry_objective *g, double *f0)
{
    double count = 0;

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

/* Rows are not listed yet: which instances have further terms may depend on things that
 * the caller sets up with the scores it finds here. So they are listed by the first
 * step. */
ferry_status ferry_i_boosting_new(ferry_ctx *ctx, const ferry_boosting_options *o,
                                  const ferry_objective *g, int64_t views,
                                  ferry_view *const *view, const uint8_t *follow,
                                  ferry_boosting **out)
{
    ferry_status st = FERRY_OK;
    ferry_boosting *b = NULL;

    *out = NULL;
    FERRY_NEW(ctx, b, 1);
    *b = (ferry_boosting){.o = *o, .g = *g, .views = views, .view = view, .follow = follow};
    FERRY_NEW(ctx, b->f, g->p);
    FERRY_NEW(ctx, b->loss, g->p);
    if (o->line) FERRY_NEW(ctx, b->direction, g->n * g->k);
    FERRY_TRY(ferry_i_forest_new(ctx, views, g->k, &b->forest));
    b->forest->logistic = g->logistic;
    b->forest->additive = o->additive;
    base_scores(g, b->forest->f0);
    for (int64_t i = 0; i < g->p; i++) {
        FERRY_NEW(ctx, b->f[i], g->n * g->k);
        for (int64_t e = 0; e < g->n * g->k; e++)
            b->f[i][e] = b->forest->f0[e % g->k];
    }
    FERRY_MOVE(*out, b);
done:
    ferry_i_boosting_free(b);
    return st;
}

/* Which f the trees of view i add to. */
static int64_t score_of(const ferry_boosting *b, int64_t i)
{
    return b->o.additive ? 0 : i;
}

/* Rows of the view to follow, and those among them with a term in the objective.
 * Three lists over the rows of a view: all (in the view), those followed (d), and of
 * these the active ones, as positions in d. `all` makes every followed row active, for
 * the thresholds that its values add. */
static ferry_status list_rows(ferry_ctx *ctx, const ferry_boosting *b, int64_t i,
                              boosted_view *v)
{
    ferry_status st = FERRY_OK;
    const ferry_objective *g = &b->g;
    const ferry_view *view = b->view[i];
    const int64_t rows = view->x->rows;

    FERRY_NEW(ctx, v->rows, rows);
    FERRY_NEW(ctx, v->instance, rows);
    FERRY_NEW(ctx, v->active, rows);
    v->d = (ferry_tree_data){view->x, false, 0, v->rows};
    FERRY_TRY(ferry_i_trees_sparse(ctx, view->x, &v->d.sparse));
    for (int64_t row = 0; row < rows; row++) {
        const int64_t x = view->instance[row], at = v->d.n;
        if (b->follow && !b->follow[x]) continue;
        v->rows[at] = row;
        v->instance[at] = x;
        v->d.n++;
        if (b->o.all || g->labelled[x] ||
            (g->counts && g->counts(g->arg, score_of(b, i), x)))
            v->active[v->n_active++] = at;
    }
done:
    return st;
}

/* Rows, scratch and a grower over the active rows of view i.
 * A view without active rows or features gets no grower and adds nothing, ever. */
static ferry_status open_view(ferry_ctx *ctx, ferry_boosting *b, int64_t i)
{
    ferry_status st = FERRY_OK;
    const ferry_matrix *x = b->view[i]->x;
    boosted_view *v = &b->row[i];
    const int64_t k = b->g.k;
    int64_t *rows = NULL;

    FERRY_TRY(list_rows(ctx, b, i, v));
    FERRY_NEW(ctx, v->z, v->n_active * k);
    FERRY_NEW(ctx, v->c, v->n_active * k);
    FERRY_NEW(ctx, v->leaf, v->d.n);
    FERRY_NEW(ctx, v->trees, k);
    FERRY_NEW(ctx, rows, v->n_active);
    for (int64_t a = 0; a < v->n_active; a++)
        rows[a] = v->rows[v->active[a]];
    const ferry_tree_data d = {x, v->d.sparse, v->n_active, rows};
    int64_t active = v->n_active; /* of all ranks */
    FERRY_TRY(ferry_i_ranks_count(ctx, &active));
    if (active > 0 && x->cols > 0)
        FERRY_TRY(ferry_i_grower_new(ctx, b->o.how, &b->o.tree, &d, k, &v->grower));
    /* trees of XGBoost are in single precision, and only those may be walked in floats */
    if (v->grower && ferry_i_grower_boosts(v->grower) && x->dense)
        FERRY_TRY(ferry_i_columns_new(ctx, &v->d, &v->columns));
    b->forest->sparse[i] = v->d.sparse;
    b->forest->cols[i] = x->cols;
done:
    ferry_i_free(rows);
    return st;
}

/* z and c of the active rows of view i. A plain tree counts rows: c = 1 while it grows.
 * Every row is computed by itself, so threads do not change the bits. */
static void gradients(const ferry_ctx *ctx, ferry_boosting *b, int64_t i)
{
    const boosted_view *v = &b->row[i];
    const int64_t s = score_of(b, i), k = b->g.k, n = v->n_active;
    const int threads = n < GRAIN ? 1 : ctx->threads;

#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t a = 0; a < n; a++) {
        const int64_t x = v->instance[v->active[a]];
        for (int64_t j = 0; j < k; j++) {
            double *c = &v->c[a * k + j];
            ferry_i_objective_gradient(&b->g, s, x, j, b->f[s][x * k + j], &v->z[a * k + j],
                                       c);
            if (b->o.line) *c = 1;
        }
    }
}

/* Leaves of XGBoost from the sums of z and c in double precision: G / (H + reg).
 * In the order of the rows, as our own trees have them. */
static ferry_status refit(ferry_ctx *ctx, const ferry_boosting *b, const boosted_view *v,
                          int64_t j, ferry_tree *t)
{
    ferry_status st = FERRY_OK;
    double *sums = NULL;

    FERRY_NEW(ctx, sums, 2 * t->n);
    for (int64_t a = 0; a < v->n_active; a++) {
        const int32_t leaf = v->leaf[v->active[a]];
        sums[2 * leaf] += v->z[a * b->g.k + j];
        sums[2 * leaf + 1] += v->c[a * b->g.k + j];
    }
    for (int64_t e = 0; e < t->n; e++) {
        const double h = sums[2 * e + 1] + b->o.tree.reg;
        if (t->node[e].feature < 0) t->node[e].value = h > 0 ? sums[2 * e] / h : 0;
    }
done:
    ferry_i_free(sums);
    return st;
}

/* rho of the plain tree, whose scores go to the direction.
 * The line search is over one score of one view, all others standing still: the
 * direction is 0 there. */
static ferry_status search(ferry_ctx *ctx, ferry_boosting *b, int64_t i, int64_t j,
                           const ferry_tree *t, double *rho)
{
    const boosted_view *v = &b->row[i];
    const int64_t k = b->g.k, s = score_of(b, i);

    memset(b->direction, 0, (size_t)(b->g.n * k) * sizeof *b->direction);
    for (int64_t a = 0; a < v->d.n; a++)
        b->direction[v->instance[a] * k + j] = t->node[v->leaf[a]].value;
    return ferry_i_objective_line(ctx, &b->g, s, b->f[s], b->direction, rho);
}

/* Take the new tree of view i and score j into the forest and the scores.
 * The tree's owner becomes the forest, with the step multiplied into its leaves; scores
 * of followed rows move by their leaf and are clamped as ferry_i_forest_scores() will do
 * it. */
static ferry_status take(ferry_ctx *ctx, ferry_boosting *b, int64_t i, int64_t j)
{
    boosted_view *v = &b->row[i];
    ferry_tree *t = v->trees[j];
    double *f = b->f[score_of(b, i)], step = b->o.rate, rho = 1;

    if (v->columns)
        ferry_i_columns_leaves(ctx, v->columns, t, v->leaf);
    else
        ferry_i_tree_leaves(ctx, t, &v->d, v->leaf);
    if (ferry_i_grower_boosts(v->grower)) FERRY_PASS(refit(ctx, b, v, j, t));
    if (b->o.line) FERRY_PASS(search(ctx, b, i, j, t, &rho));
    step *= rho;
    for (int64_t e = 0; e < t->n; e++)
        t->node[e].value *= step;
    for (int64_t a = 0; a < v->d.n; a++) {
        double *to = &f[v->instance[a] * b->g.k + j];
        *to += t->node[v->leaf[a]].value;
        if (b->g.logistic) *to = fmin(fmax(*to, -FERRY_MOST_SCORE), FERRY_MOST_SCORE);
    }
    *ferry_i_forest_tree(b->forest, b->forest->n - 1, i, j) = t;
    v->trees[j] = NULL;
    return FERRY_OK;
}

/* One iteration of view i: gradients, a tree for each score, and what they add.
 * Trees that were not taken, after a failure, are freed. */
static ferry_status step_view(ferry_ctx *ctx, ferry_boosting *b, int64_t i)
{
    ferry_status st = FERRY_OK;
    boosted_view *v = &b->row[i];

    if (!v->grower) goto done;
    gradients(ctx, b, i);
    FERRY_TRY(ferry_i_grower_grow(ctx, v->grower, v->z, v->c, v->trees));
    for (int64_t j = 0; j < b->g.k; j++)
        FERRY_TRY(take(ctx, b, i, j));
done:
    for (int64_t j = 0; v->trees && j < b->g.k; j++) {
        ferry_i_tree_free(v->trees[j]);
        v->trees[j] = NULL;
    }
    return st;
}

/* Scores of instances with labels go to all ranks, whoever has their rows: losses are added up in one order. */
static ferry_status tell(ferry_ctx *ctx, ferry_boosting *b)
{
    ferry_status st = FERRY_OK;
    const uint8_t *told = b->told ? b->told : b->g.labelled;
    const int64_t n = b->g.n, k = b->g.k;
    int64_t begin = 0, end = 0, m = 0, from = 0, all = 0;
    double *mine = NULL, *theirs = NULL;

    if (!ferry_i_ranks_split(ctx)) goto done;
    ferry_i_ranks_part(ctx, n, &begin, &end);
    FERRY_NEW(ctx, mine, b->g.p * (end - begin) * k);
    for (int64_t x = begin; x < end; x++)
        for (int64_t i = 0; told[x] && i < b->g.p; i++, m++)
            memcpy(mine + m * k, b->f[i] + x * k, (size_t)k * sizeof *mine);
    FERRY_TRY(ferry_i_ranks_collect(ctx, m, (size_t)k * sizeof *mine, mine, &from, &all,
                                    (void **)&theirs));
    m = 0;
    for (int64_t x = 0; x < n; x++)
        for (int64_t i = 0; told[x] && i < b->g.p; i++, m++)
            memcpy(b->f[i] + x * k, theirs + m * k, (size_t)k * sizeof *mine);
done:
    FERRY_FREE(mine, theirs);
    return st;
}

/* Views that add to scores of their own do not see each other within an iteration, so
 * their order does not matter. When they are additive they share one score and each view
 * sees what those before it have added. */
ferry_status ferry_i_boosting_step(ferry_ctx *ctx, ferry_boosting *b)
{
    ferry_status st = FERRY_OK;

    if (!b->row) { /* only now do the further terms know who has one */
        FERRY_NEW(ctx, b->row, b->views);
        for (int64_t i = 0; i < b->views; i++)
            FERRY_TRY(open_view(ctx, b, i));
    }
    FERRY_TRY(ferry_i_forest_grow(ctx, b->forest));
    for (int64_t i = 0; i < b->views; i++)
        FERRY_TRY(step_view(ctx, b, i));
    FERRY_TRY(tell(ctx, b));
    for (int64_t i = 0; i < b->g.p; i++)
        b->loss[i] = ferry_i_objective_loss(&b->g, i, b->f[i]);
done:
    return st;
}
