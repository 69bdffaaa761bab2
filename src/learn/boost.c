/* Gradient boosting over views: the objective's derivatives and the iteration (boost.h).
 *
 * Only rows with a term in the objective (`active`) grow trees; leaves are then found for all rows whose scores are kept
 * up. */
#include "learn/boost.h"

#include <math.h>
#include <string.h>

enum { GRAIN = 4096 }; /* rows fewer than this are not worth a parallel region */

/* exp() of what is not above 0 only, so that it underflows instead of overflowing. */
double sigmoid(double f)
{
    return f >= 0 ? 1 / (1 + exp(-f)) : exp(f) / (1 + exp(f));
}

/* log(1 + exp(m)), without overflow */
static double softplus(double m)
{
    return m > 0 ? m + log1p(exp(-m)) : log1p(exp(m));
}

double boost_loss(bool logistic, double f, double y)
{
    if (!logistic) return (f - y) * (f - y);
    return (y > 0 ? y * softplus(-f) : 0) + (y < 1 ? (1 - y) * softplus(f) : 0);
}

static double weight_of(const boost_options *o, int64_t x)
{
    return o->weight ? o->weight[x] : 1;
}

static bool labelled(const boost_options *o, int64_t x)
{
    return !o->labelled || o->labelled[x];
}

static bool has_row(const view *v, int64_t x)
{
    return v->x.m && (!v->there || v->there[x]);
}

/* Whether any view that adds to score i has the row. */
static bool owns(const boost *b, int64_t i, int64_t x)
{
    bool any = false;

    for (int64_t v = 0; v < b->o.views; v++)
        any = any || ((b->o.additive || v == i) && has_row(&b->o.view[v], x));
    return any;
}

/* The mean, not the sum: else views with few labelled rows would look good. */
static double mean_loss(scope *s, const boost *b, int64_t i)
{
    const boost_options *o = &b->o;
    double all[2] = {0, 0};

    for (int64_t x = 0; x < o->n; x++) {
        if (!labelled(o, x) || !owns(b, i, x)) continue;
        all[1] += weight_of(o, x) * (double)o->k;
        for (int64_t j = 0; j < o->k; j++)
            all[0] += weight_of(o, x) *
                      boost_loss(o->logistic, ROW(b->f[i], x)[j], ROW(o->y, x)[j]);
    }
    sums(s, o->rows, 2, all);
    return all[1] > 0 ? all[0] / all[1] : NAN;
}

/* z and c of score j of row x when it is f, before weights. */
static void gradient(const boost_options *o, int64_t i, int64_t x, int64_t j, double f,
                     double *z, double *c)
{
    *z = *c = 0;
    if (!labelled(o, x)) {
        if (o->term) o->term(o->arg, i, x, j, f, z, c);
    } else if (o->logistic) { /* z = y - s(f), c = s(f) s(-f) */
        const double p = sigmoid(f);
        *z = ROW(o->y, x)[j] - p;
        *c = p * (1 - p);
    } else {
        *z = 2 * (ROW(o->y, x)[j] - f);
        *c = 2;
    }
}

/* ---- the line search ---- */

/* First and second derivative of -L(f + rho d) by rho: sum z d, and sum c d^2, whose sign is left off. */
static void along(scope *s, const boost *b, int64_t i, int64_t j, double rho,
                  double both[2])
{
    const boost_options *o = &b->o;

    both[0] = both[1] = 0;
    for (int64_t x = 0; x < o->n; x++) {
        const double d = b->direction[x];
        double z = 0, c = 0;
        if (!owns(b, i, x)) continue;
        gradient(o, i, x, j, ROW(b->f[i], x)[j] + rho * d, &z, &c);
        both[0] += weight_of(o, x) * z * d;
        both[1] += weight_of(o, x) * c * d * d;
    }
    sums(s, o->rows, 2, both);
}

/* Squared loss: rho = sum z d / sum c d^2. Logistic: the root of a function that falls; a Newton step that leaves the
 * bracket becomes a bisection. */
static double best_step(scope *s, const boost *b, int64_t i, int64_t j)
{
    double lo = 0, hi = 50, rho = 0, at[2];

    along(s, b, i, j, 0, at);
    if (!b->o.logistic) return at[1] > 0 ? at[0] / at[1] : 0;
    if (at[0] <= 0) return 0; /* it does not lead downhill */
    for (int step = 0; step < 200 && hi - lo > 1e-14 * hi; step++) {
        double next = at[1] > 0 ? rho + at[0] / at[1] : hi;
        if (!(next > lo && next < hi)) next = step == 0 ? hi : lo + (hi - lo) / 2;
        if (next == rho) break;
        rho = next;
        along(s, b, i, j, rho, at);
        *(at[0] > 0 ? &lo : &hi) = rho; /* the first derivative falls in rho */
        if (at[0] == 0) break;
    }
    return rho;
}

/* ---- the iteration ---- */

typedef struct boost_view {
    int64_t n, n_active;
    int64_t *rows;   /* n: those whose scores are kept up */
    int64_t *active; /* n_active, of these: which have a gradient */
    grower *grower;  /* over the active ones; NULL: there are none */
    block *zc;       /* k: n_active x 2 */
    int32_t *leaf;   /* n_active: where they end in the tree ... */
    int32_t *end;    /* ... n: and all */
    uint8_t *grown;  /* n: active */
} boost_view;

/* f0: what is best without any feature; the halves keep a class without rows finite. */
static void base_scores(scope *s, boost *b)
{
    const boost_options *o = &b->o;
    const int64_t k = o->k;
    double *v = NEW(s, double, k + 1);

    for (int64_t x = 0; x < o->n; x++) {
        if (!labelled(o, x)) continue;
        v[k] += weight_of(o, x);
        for (int64_t j = 0; j < k; j++)
            v[j] += weight_of(o, x) * ROW(o->y, x)[j];
    }
    sums(s, o->rows, k + 1, v);
    for (int64_t j = 0; j < k; j++)
        b->trees.f0[j] = o->logistic ? log((v[j] + 0.5) / (v[k] - v[j] + 0.5))
                                     : (v[k] > 0 ? v[j] / v[k] : 0);
}

/* Rows are listed by the first step: which have further terms may depend on what the caller sets up with the scores it
 * finds here. */
boost *boost_new(scope *s, const boost_options *o)
{
    boost *b = NEW(s, boost, 1);

    b->o = *o;
    b->owners = o->additive ? 1 : o->views;
    b->f = NEW(s, block, b->owners);
    b->loss = NEW(s, double, b->owners);
    if (o->line) b->direction = NEW(s, double, o->n);
    forest_new(s, o->views, o->k, &b->trees);
    b->trees.logistic = o->logistic;
    b->trees.additive = o->additive;
    base_scores(s, b);
    for (int64_t i = 0; i < b->owners; i++) {
        b->f[i] = block_new(s, o->rows, o->n, o->k);
        for (int64_t e = 0; e < o->n * o->k; e++)
            b->f[i].at[e] = b->trees.f0[e % o->k];
    }
    return b;
}

/* Which f the trees of view i add to. */
static int64_t owner(const boost *b, int64_t i)
{
    return b->o.additive ? 0 : i;
}

static bool counts(const boost *b, int64_t i, int64_t x)
{
    const boost_options *o = &b->o;

    if (weight_of(o, x) == 0) return false;
    return o->every || labelled(o, x) || (o->counts && o->counts(o->arg, owner(b, i), x));
}

/* Whether zeros are missing cells, by all rows that count and are there. */
static bool sparse_view(scope *s, const boost_options *o, const view *v)
{
    const int64_t mark = scope_mark(s);
    double *weight = NEW(s, double, o->n);

    for (int64_t x = 0; x < o->n; x++)
        weight[x] = has_row(v, x) ? weight_of(o, x) : 0;
    const bool sparse = tree_sparse(s, v->x, weight);
    scope_release(s, mark);
    return sparse;
}

/* Rows of view i, and a grower over the active ones. A view without any, or without features, adds nothing, ever. */
static void open_view(scope *s, boost *b, int64_t i)
{
    const boost_options *o = &b->o;
    const view *v = &o->view[i];
    boost_view *to = &b->of[i];
    int64_t *rows = NEW(s, int64_t, o->n);

    to->rows = NEW(s, int64_t, o->n);
    to->active = NEW(s, int64_t, o->n);
    to->grown = NEW(s, uint8_t, o->n);
    b->trees.cols[i] = v->x.cols;
    for (int64_t x = 0; x < o->n; x++) {
        if ((o->follow && !o->follow[x]) || !has_row(v, x)) continue;
        if (counts(b, i, x)) {
            to->grown[to->n] = 1;
            to->active[to->n_active] = to->n;
            rows[to->n_active++] = x;
        }
        to->rows[to->n++] = x;
    }
    if (v->x.m) b->trees.sparse[i] = sparse_view(s, o, v);
    if (sum(s, o->rows, (double)to->n_active) == 0 || v->x.cols == 0) return;
    double *weight = o->weight ? NEW(s, double, to->n_active) : NULL;
    for (int64_t a = 0; weight && a < to->n_active; a++)
        weight[a] = o->weight[rows[a]];
    uint64_t *key = o->key ? NEW(s, uint64_t, to->n_active) : NULL;
    for (int64_t a = 0; key && a < to->n_active; a++)
        key[a] = o->key[rows[a]];
    const matrix x = to->n_active == v->x.n && !v->x.rows.spread
                         ? v->x
                         : take_rows(s, v->x, to->n_active, rows, false);
    to->grower = grower_new(s, &o->tree, x, b->trees.sparse[i], weight, key);
    to->end = NEW(s, int32_t, to->n);
    to->leaf = NEW(s, int32_t, to->n_active);
    to->zc = NEW(s, block, o->k);
    for (int64_t j = 0; j < o->k; j++)
        to->zc[j] = block_new(s, x.rows, to->n_active, 2);
}

/* z and c of the active rows of view i. A plain tree counts rows: c = 1 while it grows. Every row is computed by
 * itself, so threads do not change the bits. */
static void gradients(scope *s, boost *b, int64_t i)
{
    const boost_view *v = &b->of[i];
    const int64_t at = owner(b, i), n = v->n_active;
    const int threads = n < GRAIN ? 1 : scope_ctx(s)->threads;

#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t a = 0; a < n; a++) {
        const int64_t x = v->rows[v->active[a]];
        for (int64_t j = 0; j < b->o.k; j++) {
            double *zc = ROW(v->zc[j], a);
            gradient(&b->o, at, x, j, ROW(b->f[at], x)[j], &zc[0], &zc[1]);
            if (b->o.line) zc[1] = 1;
        }
    }
}

/* rho of the plain tree: over one score of one view, all others standing still. */
static double search(scope *s, boost *b, int64_t i, int64_t j, const tree *t)
{
    const boost_view *v = &b->of[i];

    memset(b->direction, 0, (size_t)b->o.n * sizeof *b->direction);
    for (int64_t a = 0; a < v->n; a++)
        b->direction[v->rows[a]] = t->node[v->end[a]].value;
    return best_step(s, b, owner(b, i), j);
}

/* end <- leaves of the rows that are followed: those that grew the tree are known, the others walk down. */
static void find_leaves(const boost *b, int64_t i, const tree *t)
{
    const boost_view *v = &b->of[i];

    for (int64_t a = 0; a < v->n_active; a++)
        v->end[v->active[a]] = v->leaf[a];
    for (int64_t a = 0; a < v->n; a++) {
        int32_t at = 0;
        if (v->grown[a]) continue;
        while (t->node[at].feature >= 0) {
            const tree_node *node = &t->node[at];
            const double x =
                tree_cell(b->o.view[i].x, b->trees.sparse[i], v->rows[a], node->feature);
            const bool left = isnan(x) ? node->missing_left : x <= node->threshold;
            at = left ? node->left : node->right;
        }
        v->end[a] = at;
    }
}

/* One iteration of view i: gradients, a tree for each score, and what they add. */
static void step_view(scope *s, boost *b, int64_t i)
{
    const boost_view *v = &b->of[i];
    const int64_t at = owner(b, i);

    if (v->grower) gradients(s, b, i);
    for (int64_t j = 0; j < b->o.k; j++) {
        if (!v->grower) {
            forest_add(s, &b->trees, NULL, 0);
            continue;
        }
        const tree *t = grow(s, v->grower, v->zc[j], v->leaf);
        find_leaves(b, i, t);
        const double step = b->o.rate * (b->o.line ? search(s, b, i, j, t) : 1);
        const int64_t first = b->trees.nodes;
        forest_add(s, &b->trees, t, step);
        for (int64_t a = 0; a < v->n; a++) {
            double *to = &ROW(b->f[at], v->rows[a])[j];
            *to += b->trees.value[first + v->end[a]];
            if (b->o.logistic) *to = fmin(fmax(*to, -MOST_SCORE), MOST_SCORE);
        }
    }
}

/* Views that add to scores of their own do not see each other within an iteration, but for `before`. When they are
 * additive each sees what those before it have added. */
void boost_step(scope *s, boost *b)
{
    if (!b->of) {
        b->of = NEW(s, boost_view, b->o.views);
        for (int64_t i = 0; i < b->o.views; i++)
            open_view(s, b, i);
    }
    for (int64_t i = 0; i < b->o.views; i++) {
        if (b->o.before) b->o.before(s, b->o.arg, b->f, i);
        step_view(s, b, i);
    }
    for (int64_t i = 0; i < b->owners; i++)
        b->loss[i] = mean_loss(s, b, i);
}

/* The defaults of min_child and reg are by the scale of the curvature: at most 1/4 a row for the logistic loss, always 2
 * for the squared one; both ask for about two rows' worth of it in a leaf. */
void boost_set(const boost_settings *o, bool logistic, boost_options *to)
{
    to->rate = o->rate;
    to->tree = (tree_options){.depth = o->depth,
                              .min_leaf = o->min_leaf,
                              .min_child = logistic ? 0.5 : 4,
                              .reg = o->reg >= 0 ? o->reg
                                     : logistic  ? 0.25
                                                 : 1,
                              .bins = o->bins};
}

/* ---- labels as scores ---- */

static const field outcome_fields[] = {
    VALUE(outcome, FLAG, numbers),
    ARRAY(outcome, INT, classes, .lo = 1, .hi = 1 << 24),
    ARRAY(outcome, INT, k, .lo = 1, .hi = 1 << 24),
    VALUE(outcome, REAL, mean),
    VALUE(outcome, REAL, sd),
};

static void check_outcome(scope *s, const void *state)
{
    const outcome *o = state;

    if (o->k != outcome_scores(o->numbers, o->classes) || (o->numbers && o->classes != 1))
        scope_fail(s, FERRY_EDATA, "tensor k: %lld scores of %lld classes", (long long)o->k,
                   (long long)o->classes);
}

const table outcome_table = {sizeof(outcome), outcome_fields, FERRY_COUNT(outcome_fields),
                             check_outcome, NULL};

int64_t outcome_scores(bool numbers, int64_t classes)
{
    return numbers || classes <= 2 ? 1 : classes;
}

/* Mean and standard deviation of the numbers that are there, in two passes: the squares are of differences, so large
 * numbers close together keep their digits. A constant target has sd 1. */
static void measure(scope *s, layout rows, int64_t n, const double *num,
                    const double *weight, outcome *o)
{
    double all[2] = {0, 0}, squares = 0;

    for (int64_t i = 0; i < n; i++)
        if (!isnan(num[i])) {
            all[0] += (weight ? weight[i] : 1) * num[i];
            all[1] += weight ? weight[i] : 1;
        }
    sums(s, rows, 2, all);
    o->mean = all[1] > 0 ? all[0] / all[1] : 0;
    for (int64_t i = 0; i < n; i++)
        if (!isnan(num[i]))
            squares += (weight ? weight[i] : 1) * (num[i] - o->mean) * (num[i] - o->mean);
    squares = sum(s, rows, squares);
    o->sd = all[1] > 0 && squares > 0 ? sqrt(squares / all[1]) : 1;
    if (!isfinite(o->mean) || !isfinite(o->sd))
        scope_fail(s, FERRY_ENUMERIC, "the numbers to predict are too large to add up");
}

/* A row that speaks q_c for class c, q in all, is one of weight q that says q_c / q. */
static void soft_row(const outcome *o, const double *q, double *weight, double *y)
{
    double all = 0;

    for (int64_t c = 0; c < o->classes; c++)
        all += q[c];
    *weight *= all;
    for (int64_t j = 0; all > 0 && j < o->k; j++)
        y[j] = q[o->k == 1 ? (o->classes > 1 ? 1 : 0) : j] / all;
}

outcome outcome_of(scope *s, layout rows, int64_t n, const labels *l, const double **weight,
                   block *y, const uint8_t **known)
{
    const bool numbers = l->goal == FERRY_REGRESS, soft = l->soft.at != NULL;
    outcome o = {.numbers = numbers, .classes = numbers ? 1 : l->k, .sd = 1};
    uint8_t *has = NEW(s, uint8_t, n);
    double *own = soft ? NEW(s, double, n) : NULL;

    o.k = outcome_scores(numbers, o.classes);
    *y = block_new(s, rows, n, o.k);
    if (numbers) measure(s, rows, n, l->num, *weight, &o);
    for (int64_t i = 0; i < n; i++) {
        double *to = ROW(*y, i);
        has[i] = soft || (numbers ? !isnan(l->num[i]) : l->cls[i] >= 0);
        if (soft) own[i] = *weight ? (*weight)[i] : 1;
        if (soft) soft_row(&o, ROW(l->soft, i), &own[i], to);
        if (!has[i] || soft) continue;
        if (numbers) to[0] = (l->num[i] - o.mean) / o.sd;
        for (int64_t j = 0; !numbers && j < o.k; j++)
            to[j] = l->cls[i] == (o.k == 1 ? 1 : j);
    }
    if (soft) *weight = own;
    *known = has;
    return o;
}

/* Scores against the rest are not one distribution, so they are brought to sum 1. A number stays scaled. */
void outcome_answer(const outcome *o, const double *f, double *answer)
{
    double sum_of = 0;

    if (o->numbers) {
        answer[0] = f[0];
    } else if (o->k == 1) { /* p(second) = s(f) */
        if (o->classes > 1) answer[1] = sigmoid(f[0]);
        answer[0] = o->classes > 1 ? 1 - answer[1] : 1;
    } else { /* p(j) = s(f_j) / sum_i s(f_i) */
        for (int64_t j = 0; j < o->k; j++)
            sum_of += answer[j] = sigmoid(f[j]);
        for (int64_t j = 0; j < o->k; j++)
            answer[j] /= sum_of;
    }
}

void outcome_truth(const outcome *o, const double *y, double *answer)
{
    for (int64_t j = 0; j < o->classes; j++)
        answer[j] = o->numbers || o->k > 1 ? y[j] : j == 1 ? y[0] : 1 - y[0];
}

void outcome_rescale(const outcome *o, block answers)
{
    for (int64_t i = 0; o->numbers && i < answers.n; i++)
        ROW(answers, i)[0] = o->mean + o->sd * ROW(answers, i)[0];
}

/* score (k) <- of row x from the views' scores; whether any view counts. */
static bool combine(const forest *f, const double *w, double stretch, const view *v,
                    const block *of, int64_t x, double *score)
{
    double all = 0;
    bool any = false;

    memset(score, 0, (size_t)f->k * sizeof *score);
    for (int64_t i = 0; i < f->views; i++) {
        const double one = w ? w[i] : 1;
        if (!has_row(&v[i], x)) continue;
        any = true;
        all += one;
        for (int64_t j = 0; j < f->k && !f->additive; j++)
            score[j] += one * ROW(of[i], x)[j];
    }
    for (int64_t j = 0; j < f->k; j++)
        if (f->additive || f->views == 1)
            score[j] = ROW(of[0], x)[j];
        else
            score[j] =
                all > 0 ? f->f0[j] + stretch * (score[j] / all - f->f0[j]) : f->f0[j];
    return f->additive ? any : all > 0; /* weights may be 0 */
}

void boost_answers(scope *s, const forest *f, const outcome *o, const double *w,
                   double stretch, const view *v, block answers, uint8_t *viewless)
{
    const int64_t mark = scope_mark(s);
    block *of = NEW(s, block, f->views);
    double *score = NEW(s, double, f->k);

    for (int64_t i = 0; i < (f->additive ? 1 : f->views); i++)
        of[i] = block_new(s, answers.rows, answers.n, f->k);
    forest_scores(s, f, v, of);
    for (int64_t x = 0; x < answers.n; x++) {
        const bool any = combine(f, w, stretch, v, of, x, score);
        outcome_answer(o, score, ROW(answers, x));
        if (viewless) viewless[x] = !any;
    }
    scope_release(s, mark);
}
