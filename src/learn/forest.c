/* Trees as a model: cells, walking down, forests (tree.h). */
#include "learn/tree.h"

#include <math.h>
#include <string.h>

bool tree_sparse(scope *s, matrix x, const double *weight)
{
    double count[] = {0, 0, 0}; /* cells, zeros, rows that no such matrix has */

    if (!x.m->dense) return true;
    for (int64_t i = 0; i < x.n; i++) {
        const double w = weight ? weight[i] : 1, *row = x.m->dense + i * x.cols;
        if (w == 0) continue;
        count[0] += w * (double)x.cols;
        for (int64_t j = 0; j < x.cols; j++) {
            count[1] += row[j] == 0 ? w : 0;
            count[2] += !(row[j] >= 0); /* NaN, too */
        }
    }
    sums(s, x.rows, 3, count);
    return count[2] == 0 && count[0] > 0 && 2 * count[1] >= count[0];
}

double tree_cell(matrix x, bool sparse, int64_t i, int64_t j)
{
    const ferry_matrix *m = x.m;
    double v = 0;

    if (m->dense) {
        v = m->dense[i * m->cols + j];
    } else {
        const int64_t e = ferry_i_matrix_seek(m, i, j);
        if (e < m->start[i + 1] && m->index[e] == j) v = m->value[e];
    }
    return v == 0 && (sparse || !m->dense) ? NAN : v;
}

/* ---- forests ---- */

static const field forest_fields[] = {
    VALUE(forest, INT, n),
    VALUE(forest, FLAG, logistic),
    VALUE(forest, FLAG, additive),
    FIELD_AS(forest, REALS, f0, "base", .rows = SIZE(forest, k)),
    ARRAY(forest, FLAGS, sparse, .rows = SIZE(forest, views)),
    FIELD_AS(forest, INTS, cols, "columns", .rows = SIZE(forest, views)),
    ARRAY(forest, INTS, first, .rows = SIZE_PLUS(forest, trees, 1)),
    ARRAY(forest, PLACES, feature, .rows = SIZE(forest, nodes)),
    ARRAY(forest, PLACES, left, .rows = SIZE(forest, nodes)),
    ARRAY(forest, PLACES, right, .rows = SIZE(forest, nodes)),
    ARRAY(forest, FLAGS, missing_left, .rows = SIZE(forest, nodes)),
    ARRAY(forest, REALS, threshold, .rows = SIZE(forest, nodes)),
    ARRAY(forest, REALS, value, .rows = SIZE(forest, nodes)),
    ARRAY(forest, REALS, gain, .rows = SIZE(forest, nodes)),
};

/* Children come after their parent within their tree, so that every walk down ends. */
static void check_tree(scope *s, const forest *f, int64_t e)
{
    const int64_t first = f->first[e], n = f->first[e + 1] - first;
    const int64_t cols = f->cols[e / f->k % f->views];

    for (int64_t i = 0; i < n; i++) {
        const int64_t at = first + i;
        if (f->feature[at] == -1) continue;
        if (!(f->feature[at] >= 0 && f->feature[at] < cols && f->left[at] > i &&
              f->left[at] < n && f->right[at] > i && f->right[at] < n))
            scope_fail(s, FERRY_EDATA, "tensor feature: node %lld is not of a tree",
                       (long long)at);
    }
}

static void check_forest(scope *s, const void *state)
{
    const forest *f = state;
    int64_t at = 0;

    if (f->views < 1 || f->k < 1 || f->n < 0 || f->trees % (f->views * f->k) != 0 ||
        f->trees / (f->views * f->k) != f->n)
        scope_fail(
            s, FERRY_EDATA,
            "tensor first: %lld trees of %lld views, %lld scores and %lld iterations",
            (long long)f->trees, (long long)f->views, (long long)f->k, (long long)f->n);
    for (int64_t e = 0; e <= f->trees; e++) {
        if (f->first[e] < at || f->first[e] > f->nodes || (e == 0 && f->first[e] != 0))
            scope_fail(s, FERRY_EDATA, "tensor first: tree %lld begins at node %lld",
                       (long long)e, (long long)f->first[e]);
        at = f->first[e];
    }
    for (int64_t e = 0; e < f->trees; e++)
        check_tree(s, f, e);
}

const table forest_table = {sizeof(forest), forest_fields, FERRY_COUNT(forest_fields),
                            check_forest, NULL};

/* Twice the size, where it is too small. */
static void make_capacity(scope *s, forest *f, int64_t more)
{
    if (f->trees == f->most_trees) {
        f->most_trees = f->most_trees ? 2 * f->most_trees : 64;
        f->first = scope_grow(s, f->first, f->most_trees + 1, sizeof *f->first);
    }
    if (f->nodes + more <= f->capacity) return;
    f->capacity = 2 * f->capacity + more + 256;
    f->feature = scope_grow(s, f->feature, f->capacity, sizeof *f->feature);
    f->left = scope_grow(s, f->left, f->capacity, sizeof *f->left);
    f->right = scope_grow(s, f->right, f->capacity, sizeof *f->right);
    f->missing_left = scope_grow(s, f->missing_left, f->capacity, sizeof *f->missing_left);
    f->threshold = scope_grow(s, f->threshold, f->capacity, sizeof *f->threshold);
    f->value = scope_grow(s, f->value, f->capacity, sizeof *f->value);
    f->gain = scope_grow(s, f->gain, f->capacity, sizeof *f->gain);
}

void forest_new(scope *s, int64_t views, int64_t k, forest *f)
{
    *f = (forest){.views = views, .k = k};
    f->f0 = NEW(s, double, k);
    f->sparse = NEW(s, uint8_t, views);
    f->cols = NEW(s, int64_t, views);
    f->first = NEW(s, int64_t, 1);
    make_capacity(s, f, 1); /* here, so that they live as long as f, whoever adds trees */
}

void forest_add(scope *s, forest *f, const tree *t, double step)
{
    make_capacity(s, f, t ? t->n : 0);
    for (int64_t i = 0; t && i < t->n; i++) {
        const tree_node *from = &t->node[i];
        const int64_t at = f->nodes++;
        f->feature[at] = from->feature;
        f->left[at] = from->left;
        f->right[at] = from->right;
        f->missing_left[at] = from->missing_left;
        f->threshold[at] = from->threshold;
        f->value[at] = from->value * step;
        f->gain[at] = from->gain;
    }
    f->first[++f->trees] = f->nodes;
    f->n = f->trees / (f->views * f->k);
}

void forest_copy(scope *keep, const forest *f, int64_t n, forest *to)
{
    const int64_t trees = (n < f->n ? n : f->n) * f->views * f->k, nodes = f->first[trees];

    *to = *f;
    to->n = n < f->n ? n : f->n;
    to->trees = trees;
    to->nodes = nodes;
    to->f0 = COPY(keep, f->f0, f->k);
    to->sparse = COPY(keep, f->sparse, f->views);
    to->cols = COPY(keep, f->cols, f->views);
    to->first = COPY(keep, f->first, trees + 1);
    to->feature = COPY(keep, f->feature, nodes);
    to->left = COPY(keep, f->left, nodes);
    to->right = COPY(keep, f->right, nodes);
    to->missing_left = COPY(keep, f->missing_left, nodes);
    to->threshold = COPY(keep, f->threshold, nodes);
    to->value = COPY(keep, f->value, nodes);
    to->gain = COPY(keep, f->gain, nodes);
    to->capacity = nodes;
    to->most_trees = trees;
}

int64_t forest_leaf(const forest *f, int64_t e, const view *v, bool sparse, int64_t i)
{
    const int64_t first = f->first[e];
    int64_t at = first;

    while (f->feature[at] >= 0) {
        const double x = tree_cell(v->x, sparse, i, f->feature[at]);
        const bool left = isnan(x) ? f->missing_left[at] : x <= f->threshold[at];
        at = first + (left ? f->left[at] : f->right[at]);
    }
    return at;
}

/* All trees of one view over one row. Scores are clamped after every tree, not once at the end: clamping does not
 * commute with adding. */
static void add_trees(const forest *f, int64_t t, int64_t i, const view *v, int64_t row,
                      double *to)
{
    for (int64_t j = 0; j < f->k; j++) {
        const int64_t e = (t * f->views + i) * f->k + j;
        if (f->first[e] == f->first[e + 1]) continue;
        to[j] += f->value[forest_leaf(f, e, v, f->sparse[i], row)];
        if (f->logistic) to[j] = fmin(fmax(to[j], -MOST_SCORE), MOST_SCORE);
    }
}

/* Rows do not meet, so threads do not change the result; few rows are not worth a team. */
void forest_scores(scope *s, const forest *f, const view *x, const block *out)
{
    const int64_t n = out[0].n;
    const int threads = n * f->trees < 1 << 16 ? 1 : scope_ctx(s)->threads;

#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t r = 0; r < n; r++) {
        for (int64_t i = 0; i < (f->additive ? 1 : f->views); i++)
            memcpy(ROW(out[i], r), f->f0, (size_t)f->k * sizeof(double));
        for (int64_t t = 0; t < f->n; t++)
            for (int64_t i = 0; i < f->views; i++)
                if (x[i].x.m && (!x[i].there || x[i].there[r]))
                    add_trees(f, t, i, &x[i], r, ROW(out[f->additive ? 0 : i], r));
    }
}

void forest_serves(scope *s, const forest *f, const domain *d)
{
    bool fits = f->views == d->n_views;

    for (int64_t i = 0; fits && i < f->views; i++)
        fits = !d->view[i].x.m || d->view[i].x.cols == f->cols[i];
    if (!fits) scope_fail(s, FERRY_EDATA, "tensor trees.columns: not those of the views");
}
