/* The transpose of a sparse matrix whose rows are spread over processes (ops.h).
 *
 * Every process sends each of the others the entries of its columns, some at a time. Rows ascend from process to
 * process, so that how many entries of a column each process has is where they go. */
#include <math.h>

#include "core/ranks.h"
#include "linalg/ops.h"

/* An entry on its way to the process that has its column. */
typedef struct moved {
    int32_t row, column;
    double value;
} moved;

/* Entries that are under way at the same time, to all processes together and from all. */
enum { UNDER_WAY = 1 << 18 };

/* Where the entries for one process have got to: those of the rows here, in their order. */
typedef struct sent {
    int64_t row, at, n, all;
} sent;

typedef struct turning {
    matrix x;
    int64_t ranks, first, columns; /* columns of x that are rows here afterwards */
    int64_t *cut;                  /* ranks + 1: columns [cut[r], cut[r + 1]) go to r */
    int64_t *count; /* ranks x columns: entries of a column that a process has */
    int64_t *next;  /* ranks x columns: where the next of them goes */
    int64_t *left, *n_in, *n_out; /* ranks; left: entries that are still to come */
    sent *to;                     /* ranks */
    moved *buffer;                /* 2 x ranks x piece: out, in */
    int64_t piece;
    const void **out;
    void **in;
    ferry_matrix *xt;
} turning;

static turning turning_new(scope *s, matrix x, layout to, int64_t n)
{
    const int64_t ranks = scope_ctx(s)->ranks->size;
    int64_t from = 0, all = 0;
    void *firsts = NULL;
    turning t = {.x = x, .ranks = ranks, .first = to.first, .columns = n};

    t.piece = UNDER_WAY / ranks > 1024 ? UNDER_WAY / ranks : 1024;
    t.cut = NEW(s, int64_t, ranks + 1);
    scope_check(s, ferry_i_ranks_collect(scope_ctx(s), 1, sizeof t.first, &t.first, &from,
                                         &all, &firsts));
    scope_adopt(s, firsts);
    for (int64_t r = 0; r < ranks; r++)
        t.cut[r] = ((const int64_t *)firsts)[r];
    t.cut[ranks] = x.cols;
    t.count = NEW(s, int64_t, ranks * n);
    t.next = NEW(s, int64_t, ranks * n);
    t.left = NEW(s, int64_t, ranks);
    t.n_in = NEW(s, int64_t, ranks);
    t.n_out = NEW(s, int64_t, ranks);
    t.to = NEW(s, sent, ranks);
    t.buffer = NEW(s, moved, 2 * ranks * t.piece);
    t.out = NEW(s, const void *, ranks);
    t.in = NEW(s, void *, ranks);
    return t;
}

static void trade(scope *s, turning *t)
{
    scope_check(s, ferry_i_ranks_trade(scope_ctx(s), t->out, t->n_out, t->in, t->n_in));
}

/* How many entries of each column every process has. */
static void trade_counts(scope *s, turning *t)
{
    int64_t *mine = NEW(s, int64_t, t->x.cols);

    for (int64_t e = 0; e < t->x.m->nnz; e++)
        mine[t->x.m->index[e]]++;
    for (int64_t r = 0; r < t->ranks; r++) {
        t->out[r] = mine + t->cut[r];
        t->n_out[r] = (t->cut[r + 1] - t->cut[r]) * (int64_t)sizeof *mine;
        t->in[r] = t->count + r * t->columns;
        t->n_in[r] = t->columns * (int64_t)sizeof *mine;
        for (int64_t j = t->cut[r]; j < t->cut[r + 1]; j++)
            t->to[r].all += mine[j];
    }
    trade(s, t);
}

/* xt of the right shape, by the counts. */
static matrix make_rows(scope *s, layout to, turning *t)
{
    int64_t all = 0;

    for (int64_t i = 0; i < t->ranks * t->columns; i++)
        all += t->count[i];
    scope_check(s, ferry_i_matrix_csr(scope_ctx(s), t->columns, t->x.rows.n, all, &t->xt));
    t->xt->whole = to.n;
    matrix y = {to, t->columns, t->x.rows.n, t->xt};
    all = 0;
    for (int64_t j = 0; j < t->columns; j++) {
        for (int64_t r = 0; r < t->ranks; r++) {
            t->next[r * t->columns + j] = all;
            all += t->count[r * t->columns + j];
            t->left[r] += t->count[r * t->columns + j];
        }
        t->xt->start[j + 1] = all;
    }
    return y;
}

/* The next entries for process r, at most a piece of them; how many. */
static int64_t fill_piece(turning *t, int64_t r, moved *to)
{
    const ferry_matrix *x = t->x.m;
    sent *w = &t->to[r];
    int64_t n = 0;

    for (; w->row < x->rows && n < t->piece && w->n < w->all; w->row++) {
        for (; w->at < x->start[w->row + 1] && n < t->piece; w->at++) {
            const int32_t j = x->index[w->at];
            if (j < t->cut[r] || j >= t->cut[r + 1]) continue;
            to[n++] = (moved){(int32_t)(t->x.rows.first + w->row), j, x->value[w->at]};
            w->n++;
        }
        if (w->at < x->start[w->row + 1]) break; /* the rest of the row comes next */
    }
    return n;
}

static void place_piece(turning *t, int64_t r, int64_t n, const moved *from)
{
    int64_t *next = t->next + r * t->columns;

    for (int64_t e = 0; e < n; e++) {
        const int64_t at = next[from[e].column - t->first]++;
        t->xt->index[at] = from[e].row;
        t->xt->value[at] = from[e].value;
    }
}

static void trade_entries(scope *s, turning *t)
{
    double pieces = 0;

    for (int64_t r = 0; r < t->ranks; r++)
        pieces = fmax(pieces, ceil((double)t->to[r].all / (double)t->piece));
    for (pieces = most(s, t->x.rows, pieces); pieces > 0; pieces--) {
        for (int64_t r = 0; r < t->ranks; r++) {
            moved *out = t->buffer + r * t->piece, *in = out + t->ranks * t->piece;
            const int64_t come = t->left[r] < t->piece ? t->left[r] : t->piece;
            t->out[r] = out;
            t->n_out[r] = fill_piece(t, r, out) * (int64_t)sizeof *out;
            t->in[r] = in;
            t->n_in[r] = come * (int64_t)sizeof *in;
            t->left[r] -= come;
        }
        trade(s, t);
        for (int64_t r = 0; r < t->ranks; r++)
            place_piece(t, r, t->n_in[r] / (int64_t)sizeof(moved), t->in[r]);
    }
}

static void let_go(void *m)
{
    ferry_i_matrix_free(*(ferry_matrix **)m);
}

matrix transpose(scope *s, matrix x, layout to, int64_t n)
{
    ferry_matrix **made =
        NEW(s, ferry_matrix *, 1); /* s has it before anything is traded */

    scope_defer(s, let_go, made);
    if (!x.rows.spread) {
        scope_check(s, ferry_i_matrix_transpose(scope_ctx(s), x.m, made));
        return (matrix){to, x.cols, x.n, *made};
    }
    const int64_t mark = scope_mark(s);
    turning t = turning_new(s, x, to, n);
    trade_counts(s, &t);
    const matrix y = make_rows(s, to, &t);
    *made = t.xt;
    trade_entries(s, &t);
    scope_release(s, mark);
    return y;
}
