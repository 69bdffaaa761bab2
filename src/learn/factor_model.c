/* What a tri-factorisation leaves for new rows (factor_model.h).
 *
 *   X ~ G H',  H = F A (columns x classes) of the target, G (rows x classes)
 *
 * Rows that were there at fit and still look the same keep the G they were given. For others G is found with H fixed,
 * by the updates of the factorisation. */
#include "learn/factor_model.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "learn/chain.h"

/* Least squares on the simplex has its answer in one step; multiplicative updates creep. */
enum { MOST_STEPS = 200 };

static const field factor_fields[] = {
    ARRAY(factor_state, CHOICE, loss, .lo = 0, .hi = NMTF_KL + 1),
    ARRAY(factor_state, CHOICE, norm, .lo = 0, .hi = NMTF_SIMPLEX + 1),
    FIELD_AS(factor_state, BLOCK, h, "H", .rows = WIDTH, .cols = CLASSES),
    FIELD_AS(factor_state, FLAG, named, "seen.named"),
    FIELD_AS(factor_state, INTS, key, "seen.key", .rows = SIZE(factor_state, rows)),
    FIELD_AS(factor_state, INTS, content, "seen.hash", .rows = SIZE(factor_state, rows)),
    FIELD_AS(factor_state, BLOCK, g, "seen.G", .rows = SIZE(factor_state, rows),
             .cols = CLASSES),
};

/* Steps of G begin above 0 and divide by H. */
static void factor_check(scope *s, const void *state)
{
    const factor_state *m = state;

    for (int64_t e = 0; e < m->h.n * m->h.k; e++)
        if (m->h.at[e] < 0) scope_fail(s, FERRY_EDATA, "tensor H has an entry below 0");
}
const table factor_table = {sizeof(factor_state), factor_fields, FERRY_COUNT(factor_fields),
                            factor_check, NULL};

ferry_stop why_stopped(const nmtf_found *found)
{
    if (found->finish) return FERRY_STOP_FINISH;
    return found->converged ? FERRY_STOP_TOL : FERRY_STOP_MAX_ITER;
}

const uint64_t *keys_of(scope *s, const problem *p, const uint8_t *keep)
{
    uint64_t *key = NEW(s, uint64_t, p->cols);
    int64_t n = 0;

    for (int64_t j = 0; j < p->cols; j++)
        if (keep[j]) key[n++] = p->column_key[j];
    return key;
}

/* ---- rows that were there at fit ---- */

typedef struct seen {
    int64_t key, content, row;
} seen;

static int in_order(const void *a, const void *b)
{
    const seen *x = a, *y = b;

    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    if (x->content != y->content) return x->content < y->content ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* Of what a row holds, dense or not. */
static int64_t content_of(ferry_row r)
{
    uint64_t all = 0;

    for (int64_t e = 0; e < r.n; e++) {
        const struct {
            double value;
            int64_t column;
        } cell = {r.value[e], r.index ? r.index[e] : e};
        if (cell.value != 0) all += XXH3_64bits(&cell, sizeof cell);
    }
    return (int64_t)all;
}

static void keep_rows(scope *s, scope *to, const problem *p, block g, factor_state *m)
{
    const domain *t = target(p);
    const int64_t mark = scope_mark(s);
    const matrix x = target_columns(s, p, t->x, -1, NULL, NULL);
    seen *mine = NEW(s, seen, t->n);

    for (int64_t i = 0; i < t->n; i++)
        mine[i] = (seen){t->named ? (int64_t)t->key[i] : 0, content_of(row_at(x, i)), 0};
    seen *all = replicate_items(s, t->rows, t->n, sizeof *mine, mine);
    const block every = replicate(s, g);
    m->rows = t->rows.n;
    m->named = t->named;
    for (int64_t i = 0; i < m->rows; i++)
        all[i].row = i;
    if (m->rows > 0) qsort(all, (size_t)m->rows, sizeof *all, in_order);
    m->key = NEW(to, int64_t, m->rows);
    m->content = NEW(to, int64_t, m->rows);
    m->g = block_new(to, HERE(m->rows), m->rows, g.k);
    for (int64_t i = 0; i < m->rows; i++) {
        m->key[i] = all[i].key;
        m->content[i] = all[i].content;
        memcpy(ROW(m->g, i), ROW(every, all[i].row), (size_t)g.k * sizeof(double));
    }
    scope_release(s, mark);
}

/* Where the rows of this key and content begin. */
static int64_t first_of(const factor_state *m, int64_t key, int64_t content)
{
    int64_t lo = 0, hi = m->rows;

    while (lo < hi) {
        const int64_t mid = lo + (hi - lo) / 2;
        if (m->key[mid] < key || (m->key[mid] == key && m->content[mid] < content))
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Rows without names that hold the same are told apart by nothing: the mean of theirs. */
static void recall(const factor_state *m, const domain *d, block out)
{
    for (int64_t i = 0; (d->named || !m->named) && i < d->n; i++) {
        const int64_t key = m->named ? (int64_t)d->key[i] : 0;
        const int64_t content = content_of(row_at(d->x, i));
        const int64_t first = first_of(m, key, content);
        int64_t end = first;
        while (end < m->rows && m->key[end] == key && m->content[end] == content)
            end++;
        for (int64_t k = 0; end > first && k < out.k; k++) {
            double all = 0;
            for (int64_t r = first; r < end; r++)
                all += ROW(m->g, r)[k];
            ROW(out, i)[k] = all / (double)(end - first);
        }
    }
}

/* ---- the model ---- */

void factor_model(scope *s, scope *to, const problem *p, const uint8_t *keep,
                  const nmtf_options *o, block h, block g, factor_state *m)
{
    int64_t *row = NEW(s, int64_t, p->cols), next = 0;

    for (int64_t j = 0; j < p->cols; j++)
        row[j] = keep[j] ? next++ : -1;
    m->loss = o->loss;
    m->norm = o->norm;
    m->h = block_new(to, HERE(p->width), p->width, h.k);
    for (int64_t j = 0; j < p->width; j++) {
        const int64_t from = row[p->target_column[j]];
        if (from >= 0) memcpy(ROW(m->h, j), ROW(h, from), (size_t)h.k * sizeof(double));
    }
    keep_rows(s, to, p, g, m);
}

/* The factorisation of d alone with F and A fixed: one view, one domain, only G moves. Columns that it did not have
 * (a view of the target alone) say nothing about G, and need not be non-negative. */
static void fold_in(scope *s, const factor_state *m, const domain *d, block out)
{
    const nmtf_options o = {
        .loss = (nmtf_loss)m->loss, .norm = (nmtf_norm)m->norm, .exponent = 1};
    uint8_t *used = NEW(s, uint8_t, d->x.cols);

    for (int64_t j = 0; j < d->x.cols; j++)
        for (int64_t k = 0; k < out.k; k++)
            used[j] |= ROW(m->h, j)[k] != 0;
    const matrix x = take_columns(s, d->x, used, false);
    nmtf *n = nmtf_new(s, out.k, 1, 0, 0, 1, &(nmtf_input){x, 0, 0, 1});
    for (int64_t j = 0, row = 0; j < d->x.cols; j++)
        if (used[j])
            memcpy(ROW(n->view[0].h, row++), ROW(m->h, j), (size_t)out.k * sizeof(double));
    const block g = n->domain[0].g;
    for (int64_t e = 0; e < g.n * g.k; e++)
        g.at[e] = 1 / (double)g.k;
    if (o.loss == NMTF_KL) nmtf_divergence(s, n);
    for (int t = 0; t < (o.norm == NMTF_SIMPLEX ? 1 : MOST_STEPS); t++)
        nmtf_members(s, n, &o);
    nmtf_rows_to_1(n, &n->domain[0]);
    copy(g, out);
}

void factor_scores(scope *s, const void *state, const domain *d, block out)
{
    const factor_state *m = state;

    fold_in(s, m, d, out);
    recall(m, d, out);
}
