/* Classifiers through the features that domains share (chain.h).
 *
 *   min over V, b   1/2 |V|^2 + C sum_i w_i sum_k G_ik (- log softmax(V x_i + b)_k)
 *
 * over the rows of all training sets, cut to the columns that they share with the next domain. */
#include "learn/chain.h"

#include <math.h>
#include <string.h>

#include "learn/linear.h"
#include "learn/softmax.h"

enum { LEAST = 1000 }; /* what a row says with a weight of 1/1000 or less is left out */

/* On the likeliest classes; classes that are nobody's never win. */
static void fit_svm(scope *s, matrix x, block a, double C, linear *to)
{
    const linear_options o = {.loss = LOSS_HINGE, .C = C, .eps = 1e-3, .bias = 1};
    const examples e = {.x = x,
                        .y = {.goal = FERRY_CLASSIFY, .k = a.k, .cls = argmax(s, a)}};
    const linear_model m = linear_fit(s, s, &o, &e);

    *to = (linear){C, m.w, m.b};
    for (int64_t k = 0; k < a.k; k++)
        if (!m.seen[k]) to->b[k] = -1e300;
}

/* m->keep <- the columns that count. */
static void shared_columns(scope *s, int n, const training_set *e, matrix x,
                           const uint8_t *within, classifier *m)
{
    uint8_t *trained = NEW(s, uint8_t, x.cols);

    for (int t = 0; t < n; t++) {
        if (e[t].w <= 0) continue;
        const uint8_t *used = columns_used(s, e[t].x);
        for (int64_t j = 0; j < x.cols; j++)
            trained[j] |= used[j];
    }
    for (int64_t j = 0; j < x.cols; j++)
        m->shared += m->keep[j] = m->keep[j] && trained[j] && (!within || within[j]);
}

/* The rows that have a shared column, on top of each other; a_ik = w G_ik. */
static matrix gather(scope *s, int n, const training_set *e, const uint8_t *keep, bool unit,
                     block *a, uint64_t **key)
{
    matrix *part = NEW(s, matrix, n);
    int64_t **rows = NEW(s, int64_t *, n), at = 0;
    const int64_t c = e[0].g.k;

    for (int t = 0; t < n; t++) {
        const matrix cut = take_columns(s, e[t].x, keep, unit);
        int64_t k = 0;
        rows[t] = NEW(s, int64_t, cut.n);
        for (int64_t i = 0; e[t].w > 0 && i < cut.n; i++)
            if (!row_is_empty(cut, i)) rows[t][k++] = i;
        part[t] = take_rows(s, cut, k, rows[t], false);
    }
    const matrix all = stack(s, n, part);
    *a = block_new(s, all.rows, all.n, c);
    *key = NEW(s, uint64_t, all.n);
    for (int t = 0; t < n; t++)
        for (int64_t i = 0; i < part[t].n; i++, at++) {
            (*key)[at] = e[t].key[rows[t][i]];
            for (int64_t k = 0; k < c; k++) {
                const double v = e[t].w * ROW(e[t].g, rows[t][i])[k];
                ROW(*a, at)[k] = LEAST * v > 1 ? v : 0;
            }
        }
    return all;
}

classifier classifier_fit(scope *s, const classifier_options *o, int n,
                          const training_set *e, matrix x, const uint8_t *within)
{
    const int64_t cols = x.cols, c = n > 0 ? e[0].g.k : 0;
    classifier m = {.keep = columns_used(s, x),
                    .svm = o->svm,
                    .unit = o->unit,
                    .w = block_new(s, HERE(cols), cols, c),
                    .b = NEW(s, double, c)};
    const int64_t mark =
        scope_mark(s); /* what is made from here on is not needed afterwards */
    block a = {.at = NULL};
    uint64_t *key = NULL;
    matrix all = {.n = 0};
    linear l;

    shared_columns(s, n, e, x, within, &m);
    if (m.shared > 0) all = gather(s, n, e, m.keep, o->unit, &a, &key);
    if (all.rows.n == 0) {
        scope_release(s, mark);
        return (classifier){.svm = o->svm, .unit = o->unit};
    }
    if (o->svm)
        fit_svm(s, all, a, o->C > 0 ? o->C : 1, &l);
    else
        l = softmax_regression(s, all, a, key, o->C, 1e-6);
    m.C = l.C;
    memcpy(m.b, l.b, (size_t)c * sizeof(double));
    for (int64_t j = 0, k = 0; j < cols; j++)
        if (m.keep[j]) memcpy(ROW(m.w, j), ROW(l.w, k++), (size_t)c * sizeof(double));
    scope_release(s, mark);
    return m;
}

void classifier_scores(scope *s, const classifier *m, matrix x, block g)
{
    const int64_t mark = scope_mark(s);

    for (int64_t e = 0; !m->w.at && e < g.n * g.k; e++)
        g.at[e] = 1 / (double)g.k;
    if (!m->w.at) return;
    const matrix cut = take_columns(s, x, m->keep, m->unit);
    const block v = block_new(s, HERE(cut.cols), cut.cols, g.k);
    for (int64_t j = 0, k = 0; j < x.cols; j++)
        if (m->keep[j]) memcpy(ROW(v, k++), ROW(m->w, j), (size_t)g.k * sizeof(double));
    mul(s, cut, v, g);
    for (int64_t i = 0; i < g.n; i++)
        if (m->svm)
            for (int64_t k = 0; k < g.k; k++)
                ROW(g, i)[k] += m->b[k];
        else
            (void)softmax_row(g.k, m->b, ROW(g, i));
    scope_release(s, mark);
}

uint8_t *columns_of_both(scope *s, matrix a, matrix b, int64_t *n)
{
    uint8_t *both = columns_used(s, a);
    const uint8_t *other = columns_used(s, b);
    int64_t count = 0;

    for (int64_t j = 0; j < a.cols; j++)
        count += both[j] = both[j] && other[j];
    if (n) *n = count;
    return both;
}

static const field classifier_fields[] = {
    VALUE(classifier_state, FLAG, svm),
    VALUE(classifier_state, FLAG, unit),
    ARRAY(classifier_state, FLAGS, keep, .rows = WIDTH),
    ARRAY(classifier_state, BLOCK, w, .rows = WIDTH, .cols = CLASSES),
    ARRAY(classifier_state, REALS, b, .rows = CLASSES),
};
const table classifier_table = TABLE(classifier_state, classifier_fields);

/* Nothing was shared where no column is kept: all classes are equally likely. */
void classifier_keep(scope *keep, const problem *p, const classifier *c,
                     classifier_state *m)
{
    m->svm = c->svm;
    m->unit = c->unit;
    m->keep = NEW(keep, uint8_t, p->width);
    m->w = block_new(keep, HERE(p->width), p->width, p->classes);
    m->b = NEW(keep, double, p->classes);
    if (!c->w.at) return;
    memcpy(m->b, c->b, (size_t)p->classes * sizeof *m->b);
    for (int64_t j = 0; j < p->width; j++) {
        const int64_t from = p->target_column[j];
        m->keep[j] = !c->keep || c->keep[from];
        memcpy(ROW(m->w, j), ROW(c->w, from), (size_t)p->classes * sizeof(double));
    }
}

void classifier_answer(scope *s, const void *state, const domain *d, block out)
{
    const classifier_state *m = state;
    const classifier c = {
        .keep = m->keep, .svm = m->svm, .unit = m->unit, .w = m->w, .b = m->b};

    classifier_scores(s, &c, d->x, out);
}

matrix target_columns(scope *s, const problem *p, matrix x, int64_t n, const int64_t *rows,
                      const uint8_t *keep)
{
    int32_t *to = NEW(s, int32_t, p->cols);
    int64_t *all = NEW(s, int64_t, x.n);
    ferry_matrix *m = NULL;

    memset(to, 0xff, (size_t)p->cols * sizeof *to); /* -1 */
    for (int64_t j = 0; j < p->width; j++)
        if (!keep || keep[p->target_column[j]]) to[p->target_column[j]] = (int32_t)j;
    for (int64_t i = 0; i < x.n; i++)
        all[i] = i;
    scope_check(s, ferry_i_matrix_take(scope_ctx(s), x.m, n < 0 ? x.n : n,
                                       n < 0 ? all : rows, p->width, to, &m));
    return matrix_own(s, m);
}

classifier chain_step(scope *s, const classifier_options *o, const problem *p, int i,
                      const block *g)
{
    const bool first = i == p->n_sources;
    const int n = first ? p->n_sources : 1, from = first ? 0 : i - 1;
    training_set *e = NEW(s, training_set, n);

    for (int t = 0; t < n; t++)
        e[t] = (training_set){p->d[from + t].x, g[from + t], 1, p->d[from + t].key};
    const classifier m = classifier_fit(s, o, n, e, p->d[i].x, NULL);
    if (m.shared == 0)
        warn(s, "'%s' shares no feature with '%s': its labels are a guess", p->d[i].name,
             p->d[i - 1].name);
    return m;
}

void chain_labels(scope *s, const classifier_options *o, const problem *p, bool hard,
                  int upto, block *g, double *shared)
{
    for (int i = 0; i <= upto; i++) {
        g[i] = block_new(s, p->d[i].rows, p->d[i].n, p->classes);
        const int64_t mark = scope_mark(s);
        if (i >= p->n_sources) {
            const classifier m = chain_step(s, o, p, i, g);
            classifier_scores(s, &m, p->d[i].x, g[i]);
            if (hard && m.shared > 0) clamp_rows(g[i], argmax(s, g[i]));
            if (shared) shared[i] = (double)m.shared;
        }
        clamp_rows(g[i], p->d[i].known);
        scope_release(s, mark);
    }
}
