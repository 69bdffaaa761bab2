/* Exact optimal transport by the simplex method on networks (Dantzig; strongly
 * feasible trees: Cunningham, A Network Simplex Method, Mathematical
 * Programming 1976).
 *
 * Rows have m units each and columns n, so that flows are whole numbers and
 * nothing is rounded. A tree joins rows, columns and a root; arcs go from rows
 * to columns or, with no flow, to the root. u_i + v_j = c_ij on its arcs. A
 * cell with c_ij < u_i + v_j enters: flow goes around the cycle that it closes,
 * until an arc that is emptied leaves. Of several the last one after the
 * cycle's highest node leaves, by which arcs without flow lead to the root, and
 * no tree comes twice. It begins with a greedy plan.
 *
 * Cells are looked at BLOCK rows at a time: the best of a block enters. */
#include "learn/transport.h"

#include <math.h>
#include <string.h>

#include "learn/learn.h"

enum { BLOCK = 8, LANES = 8 };
static const double EPS = 1e-13; /* times the largest cost: below it a gain is rounding */

/* Nodes: rows, columns, the root. Of each but the root the arc to its parent: a
 * row's leads to it, a column's comes from it. */
struct transport {
    int32_t n, m;
    bool begun;
    int32_t *parent, *first, *next, *before; /* children are a list */
    int32_t *depth;
    double *flow;
    double *at; /* u, then v */
    cell *plan;
    int64_t cells;
    int64_t look; /* the row where pricing goes on */
};

transport *transport_new(scope *s, int64_t n, int64_t m)
{
    const int64_t nodes = n + m + 1;
    transport *t = NEW(s, transport, 1);

    *t = (transport){.n = (int32_t)n,
                     .m = (int32_t)m,
                     .parent = NEW(s, int32_t, nodes),
                     .first = NEW(s, int32_t, nodes),
                     .next = NEW(s, int32_t, nodes),
                     .before = NEW(s, int32_t, nodes),
                     .depth = NEW(s, int32_t, nodes),
                     .flow = NEW(s, double, nodes),
                     .at = NEW(s, double, nodes),
                     .plan = NEW(s, cell, nodes)};
    for (int64_t v = 0; v < nodes; v++)
        t->parent[v] = t->first[v] = t->next[v] = t->before[v] = -1;
    return t;
}

/* ---- the tree ---- */

static void hang(transport *t, int32_t v, int32_t under, double flow)
{
    const int32_t old = t->first[under];

    t->parent[v] = under;
    t->before[v] = -1;
    t->next[v] = old;
    if (old >= 0) t->before[old] = v;
    t->first[under] = v;
    t->flow[v] = flow;
}

static void cut(transport *t, int32_t v)
{
    if (t->before[v] >= 0)
        t->next[t->before[v]] = t->next[v];
    else
        t->first[t->parent[v]] = t->next[v];
    if (t->next[v] >= 0) t->before[t->next[v]] = t->before[v];
}

/* The node after v in a walk over the tree below `top`, -1: none. */
static int32_t walk(const transport *t, int32_t v, int32_t top)
{
    if (t->first[v] >= 0) return t->first[v];
    while (v != top && t->next[v] < 0)
        v = t->parent[v];
    return v == top ? -1 : t->next[v];
}

/* u and v anew, for other costs. */
static void set_potentials(transport *t, const double *c)
{
    const int32_t n = t->n, m = t->m, root = n + m;

    for (int32_t v = walk(t, root, root); v >= 0; v = walk(t, v, root)) {
        const int32_t p = t->parent[v];
        if (p == root)
            t->at[v] = 0;
        else if (v < n)
            t->at[v] = c[(int64_t)v * m + (p - n)] - t->at[p];
        else
            t->at[v] = c[(int64_t)p * m + (v - n)] - t->at[p];
    }
}

/* ---- the greedy plan ---- */

typedef struct start {
    int64_t *begin, *fill; /* nodes + 1: cells of each node */
    const cell **of;
    const cell *cells;
    int64_t n;
} start;

/* Every row takes the cheapest columns that are left. It is a forest: each step
 * uses up a row or a column. */
static int64_t greedy(scope *s, transport *t, const double *c, cell *cells)
{
    const int64_t n = t->n, m = t->m;
    int32_t *left = NEW(s, int32_t, m);
    double *room = NEW(s, double, m);
    int64_t open = m, count = 0;

    for (int64_t j = 0; j < m; j++) {
        left[j] = (int32_t)j;
        room[j] = (double)n;
    }
    for (int64_t i = 0; i < n; i++) {
        double rest = (double)m;
        while (rest > 0) {
            int64_t best = 0;
            for (int64_t k = 1; k < open; k++)
                if (c[i * m + left[k]] < c[i * m + left[best]]) best = k;
            const int32_t j = left[best];
            const double f = fmin(rest, room[j]);
            cells[count++] = (cell){(int32_t)i, j, f};
            rest -= f;
            room[j] -= f;
            if (room[j] == 0) left[best] = left[--open];
        }
    }
    return count;
}

static void add_cell(start *b, int32_t node, const cell *e)
{
    b->of[b->begin[node] + b->fill[node]++] = e;
}

/* Every part of the forest hangs from the root by one of its rows. */
static void begin(scope *s, transport *t, const double *c)
{
    const int64_t mark = scope_mark(s);
    const int32_t n = t->n, root = n + t->m;
    cell *cells = NEW(s, cell, root + 1);
    const int64_t count = greedy(s, t, c, cells);
    start b = {NEW(s, int64_t, root + 2), NEW(s, int64_t, root + 1),
               NEW(s, const cell *, 2 * count), cells, count};
    int32_t *stack = NEW(s, int32_t, root + 1);

    for (int64_t e = 0; e < count; e++) {
        b.begin[cells[e].row + 1]++;
        b.begin[n + cells[e].column + 1]++;
    }
    for (int32_t v = 0; v < root; v++)
        b.begin[v + 1] += b.begin[v];
    for (int64_t e = 0; e < count; e++) {
        add_cell(&b, cells[e].row, &cells[e]);
        add_cell(&b, n + cells[e].column, &cells[e]);
    }
    for (int32_t i = 0; i < n; i++) {
        int32_t high = 0;
        if (t->parent[i] >= 0) continue;
        hang(t, i, root, 0);
        t->depth[i] = 1;
        for (stack[high++] = i; high > 0;) {
            const int32_t v = stack[--high];
            for (int64_t e = b.begin[v]; e < b.begin[v + 1]; e++) {
                const int32_t w = v < n ? n + b.of[e]->column : b.of[e]->row;
                if (t->parent[w] >= 0) continue;
                hang(t, w, v, b.of[e]->share);
                t->depth[w] = t->depth[v] + 1;
                stack[high++] = w;
            }
        }
    }
    scope_release(s, mark);
    t->begun = true;
}

/* ---- pivots ---- */

/* The least of c_j - v_j. */
static double row_least(int64_t m, const double *c, const double *v)
{
    double lane[LANES], least;
    int64_t j = 0;

    for (int k = 0; k < LANES; k++)
        lane[k] = INFINITY;
    for (; j + LANES <= m; j += LANES)
        for (int k = 0; k < LANES; k++) {
            const double x = c[j + k] - v[j + k];
            lane[k] = x < lane[k] ? x : lane[k];
        }
    for (least = INFINITY; j < m; j++)
        least = fmin(least, c[j] - v[j]);
    for (int k = 0; k < LANES; k++)
        least = fmin(least, lane[k]);
    return least;
}

/* A cell below its potentials by more than eps, the best of a block of rows;
 * false: there is none. */
static bool find_entering(transport *t, const double *c, double eps, int32_t *row,
                          int32_t *column)
{
    const int64_t m = t->m;
    const double *v = t->at + t->n;

    for (int64_t seen = 0; seen < t->n;) {
        double best = -eps, low = 0;
        int64_t at = -1;
        for (int b = 0; b < BLOCK && seen < t->n; b++, seen++) {
            const int64_t i = t->look;
            const double least = row_least(m, c + i * m, v);
            if (least - t->at[i] < best) {
                best = least - t->at[i];
                low = least;
                at = i;
            }
            t->look = i + 1 < t->n ? i + 1 : 0;
        }
        if (at < 0) continue;
        for (int64_t j = 0; j < m; j++)
            if (c[at * m + j] - v[j] == low) {
                *row = (int32_t)at;
                *column = (int32_t)j;
                return true;
            }
    }
    return false;
}

/* Where the ways up from a and b meet. */
static int32_t meet(const transport *t, int32_t a, int32_t b)
{
    while (a != b)
        if (t->depth[a] >= t->depth[b])
            a = t->parent[a];
        else
            b = t->parent[b];
    return a;
}

/* The arc of row i and column j with gain r < 0 enters. */
static void pivot(transport *t, int32_t i, int32_t j, double r)
{
    const int32_t n = t->n, column = n + j, join = meet(t, i, column);
    double delta = INFINITY;
    int32_t out = -1;
    bool of_row = true;

    /* Around the cycle: from the join down to the row, over the new arc, from the
   * column up. */
    for (int32_t v = i; v != join; v = t->parent[v])
        if (v < n && t->flow[v] < delta) {
            delta = t->flow[v];
            out = v;
        }
    for (int32_t v = column; v != join; v = t->parent[v])
        if (v >= n && t->flow[v] <= delta) {
            delta = t->flow[v];
            out = v;
            of_row = false;
        }
    if (delta > 0) {
        for (int32_t v = i; v != join; v = t->parent[v])
            t->flow[v] += v < n ? -delta : delta;
        for (int32_t v = column; v != join; v = t->parent[v])
            t->flow[v] += v < n ? delta : -delta;
    }
    /* What hung below the leaving arc hangs from the new one, the way between
   * them turned round. */
    const int32_t top = of_row ? i : column;
    int32_t v = top, under = of_row ? column : i;
    double flow = delta;
    for (;;) {
        const int32_t up = t->parent[v];
        const double old = t->flow[v];
        cut(t, v);
        hang(t, v, under, flow);
        if (v == out) break;
        under = v;
        flow = old;
        v = up;
    }
    const double more = of_row ? r : -r; /* of rows */
    for (v = top; v >= 0; v = walk(t, v, top)) {
        t->depth[v] = t->depth[t->parent[v]] + 1;
        t->at[v] += v < n ? more : -more;
    }
}

double transport_solve(scope *s, transport *t, const double *c)
{
    const int64_t n = t->n, m = t->m, root = n + m;
    double largest = 0, cost = 0;
    int32_t i = 0, j = 0;

    for (int64_t e = 0; e < n * m; e++)
        largest = fmax(largest, fabs(c[e]));
    if (!(largest < INFINITY))
        scope_fail(s, FERRY_ENUMERIC, "transport: a cost is not finite");
    if (!t->begun) begin(s, t, c);
    set_potentials(t, c);
    while (find_entering(t, c, EPS * largest, &i, &j))
        pivot(t, i, j, c[i * m + j] - t->at[i] - t->at[n + j]);
    t->cells = 0;
    for (int32_t v = 0; v < root; v++) {
        const int32_t p = t->parent[v];
        if (p == root || t->flow[v] == 0) continue;
        const cell e = {v < n ? v : p, (int32_t)((v < n ? p : v) - n),
                        t->flow[v] / (double)n / (double)m};
        cost += e.share * c[e.row * m + e.column];
        t->plan[t->cells++] = e;
    }
    return cost;
}

int64_t transport_plan(const transport *t, const cell **cells)
{
    *cells = t->plan;
    return t->cells;
}

/* ---- domains ---- */

int64_t *transport_rows(scope *s, const domain *d, bool all, int64_t most, int64_t *n)
{
    const int64_t *order = rows_by_key(s, d->n, d->key);
    int64_t *rows = NEW(s, int64_t, d->n), *other = NEW(s, int64_t, d->n), others = 0,
            known = 0;

    for (int64_t r = 0; r < d->n; r++)
        if (d->known[order[r]] >= 0)
            rows[known++] = order[r];
        else if (all)
            other[others++] = order[r];
    *n = known < most ? known : most;
    for (int64_t r = 0; r < *n; r++)
        rows[r] = rows[r * known / *n];
    const int64_t room = most - *n < others ? most - *n : others;
    for (int64_t r = 0; r < room; r++)
        rows[(*n)++] = other[r * others / room];
    return rows;
}

block transport_values(scope *s, const view *v, int64_t n, const int64_t *rows)
{
    const block x = block_new(s, HERE(n), n, v->x.cols);

    for (int64_t i = 0; i < n; i++) {
        row_add(row_at(v->x, rows[i]), 1, ROW(x, i));
        for (int64_t j = 0; v->shift && (!v->there || v->there[rows[i]]) && j < x.k; j++)
            ROW(x, i)[j] -= v->shift[j];
    }
    return x;
}

static const field transported_fields[] = {
    ARRAY(transported, MATRIX, x, .rows = SIZE(transported, rows), .cols = OF_VIEW(0)),
    ARRAY(transported, BLOCK, share, .rows = SIZE(transported, rows), .cols = CLASSES),
};
static void transported_check(scope *s, const void *state)
{
    if (((const transported *)state)->rows < 1)
        scope_fail(s, FERRY_EDATA, "the model has no rows");
}
const table transported_table = {sizeof(transported), transported_fields,
                                 FERRY_COUNT(transported_fields), transported_check, NULL};

void transported_fit(scope *s, scope *keep, const problem *p, int64_t n_cells,
                     const cell *cells, const int32_t *cls, int64_t n, const int64_t *rows,
                     transported *to)
{
    const domain *t = target(p);
    int32_t *known = NEW(s, int32_t, n);

    to->rows = n;
    to->x = take_rows(keep, t->view[0].x, n, rows, false);
    to->share = block_new(keep, HERE(n), n, p->classes);
    for (int64_t e = 0; e < n_cells; e++)
        ROW(to->share, cells[e].column)
    [cls[cells[e].row]] += cells[e].share * (double)n;
    for (int64_t i = 0; i < n; i++)
        known[i] = t->known[rows[i]];
    clamp_rows(to->share, known);
}

void transported_scores(scope *s, const void *state, const domain *d, block out)
{
    const transported *m = state;
    int64_t *near = NEW(s, int64_t, d->n);
    double *far = NEW(s, double, d->n);

    scope_check(s, ferry_i_knn(scope_ctx(s), m->x.m, d->view[0].x.m, 1, FERRY_EUCLIDEAN,
                               near, far));
    for (int64_t i = 0; i < d->n; i++)
        memcpy(ROW(out, i), ROW(m->share, near[i]), (size_t)out.k * sizeof(double));
}
