/* Scaling: doing to rows what was learned (scale.h).
 *
 * The same cells in the same order as in scale.c, so that dense and CSR inputs give the
 * same bits; whether the result is dense is the scaler's choice alone. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "learn/scale_cells.h"
#include "linalg/columns.h"

/* ---- cells ---- */

typedef struct applying {
    /* what was learned; borrowed */
    const ferry_scaler *s;
    /* whose rows; borrowed */
    const ferry_scale_part *part;
    ferry_scale_how how;
    const double *shift; /* NULL: none is taken off here */
    /* CSR: columns of the matrix that have a base, ascending */
    int64_t n_far;
    const int32_t *far;
    /* room for the cells of one row */
    ferry_cell *row;
} applying;

/* t(x) of every cell of the row (scale.h); missing ones filled first, unless they stay. */
static void transform(const applying *a, int64_t m)
{
    const ferry_scaler *s = a->s;
    double sum = 0;

    for (int64_t e = 0; e < m; e++) {
        ferry_cell *c = &a->row[e];
        if (isnan(c->v) && !a->how.missing) c->v = s->fill[c->j];
        /* counts that are new to the model may be fractions: none falls below 0 */
        if (s->counts && c->v != 0) c->v = fmax(c->v > 0 ? 1 + log(c->v) : 0, 0);
        if (s->kind == FERRY_SCALE_ROOTS && !isnan(c->v)) sum += c->v = fmax(c->v, 0);
    }
    for (int64_t e = 0; sum > 0 && e < m; e++)
        a->row[e].v = sqrt(a->row[e].v / sum);
}

/* (t - shift_j) factor_j, leaving out what there is not. */
static double scaled(const applying *a, int32_t j, double t)
{
    if (a->shift) t -= a->shift[j];
    return a->s->factor ? t * a->s->factor[j] : t;
}

/* Kinds whose rows are brought to length 1 at the end. */
static bool has_lengths(const ferry_scaler *s)
{
    return s->kind == FERRY_SCALE_WORDS || s->kind == FERRY_SCALE_L2;
}

/* A dense row of all columns whose cells do not depend on each other. */
static bool is_whole(const applying *a)
{
    return a->part->x->dense && ferry_i_part_plain(a->part, a->s->d) && !a->s->counts &&
           a->s->kind != FERRY_SCALE_ROOTS;
}

/* A row of cells that do not depend on each other, in one pass but for the length. */
static void fill_whole(const applying *a, const double *x, int64_t n, double *to)
{
    const double *fill = a->how.missing ? NULL : a->s->fill;
    double sum = 0;

    ferry_i_row_fill(n, x, fill, a->shift, a->s->factor, to,
                     has_lengths(a->s) ? &sum : NULL);
    if (has_lengths(a->s)) ferry_i_row_to_unit(sum, to, NULL, n);
}

/* Every cell first gets what a 0 becomes, -shift_j factor_j, then the cells that are not
 * 0 their own. Columns that map to -1 stay 0. */
static void fill_dense(const applying *a, ferry_matrix *y)
{
    const ferry_matrix *x = a->part->x;
    const int32_t *map = a->part->map;
    const bool whole = is_whole(a);

    for (int64_t i = 0; whole && i < y->rows; i++)
        fill_whole(a, x->dense + i * x->cols, y->cols, y->dense + i * y->cols);
    for (int64_t i = 0; !whole && i < y->rows; i++) {
        double *to = y->dense + i * y->cols;
        const int64_t m = ferry_i_row_cells(a->part, i, a->row);
        transform(a, m);
        for (int64_t j = 0; a->shift && j < y->cols; j++)
            if (!map || map[j] >= 0) to[j] = scaled(a, map ? map[j] : (int32_t)j, 0);
        for (int64_t e = 0; e < m; e++)
            to[a->row[e].from] = scaled(a, a->row[e].j, a->row[e].v);
    }
    if (!whole && has_lengths(a->s)) ferry_i_rows_to_unit(y);
}

/* The cells of row i that are missing or not 0, and those in columns far from 0, where 0 is a value
 * like any other; merged from the back. */
static int64_t cells_of(const applying *a, int64_t i)
{
    const int32_t *map = a->part->map;
    ferry_cell *row = a->row;
    int64_t m = ferry_i_row_cells(a->part, i, row), absent = 0;

    for (int64_t k = 0, e = 0; k < a->n_far; k++) {
        while (e < m && row[e].from < a->far[k])
            e++;
        absent += e == m || row[e].from != a->far[k];
    }
    for (int64_t k = a->n_far - 1, e = m - 1, to = m + absent; k >= 0 && to > e + 1;) {
        if (e >= 0 && row[e].from >= a->far[k]) {
            k -= row[e].from == a->far[k];
            row[--to] = row[e--];
        } else {
            row[--to] = (ferry_cell){map ? map[a->far[k]] : a->far[k], a->far[k], 0};
            k--;
        }
    }
    return m + absent;
}

/* The cells of row i that are not 0 once prepared; written to y when it is given.
 * Where the next row begins. Called twice for each row, to count and to write: so
 * nothing has to be kept in between. */
static int64_t csr_row(const applying *a, int64_t i, int64_t at, ferry_matrix *y)
{
    const int64_t m = cells_of(a, i);

    transform(a, m);
    for (int64_t e = 0; e < m; e++) {
        const double v = scaled(a, a->row[e].j, a->row[e].v);
        if (v == 0) continue;
        if (y && !y->pattern) y->index[at] = a->row[e].from;
        if (y) y->value[at] = v;
        at++;
    }
    return at;
}

/* Zeros that come out (a factor of 0, a count of 1 / e or less) are not stored. As many
 * entries as x has are the entries of x: it shares its pattern, which is never written to
 * (it may be the caller's). Not if we were the only ones to keep it alive. */
static ferry_matrix *make_csr(scope *s, const applying *a)
{
    const ferry_matrix *x = a->part->x;
    ferry_matrix *to = NULL;
    int64_t nnz = 0;

    for (int64_t i = 0; i < x->rows; i++)
        nnz = csr_row(a, i, nnz, NULL);
    const bool kept = __atomic_load_n(&x->refs, __ATOMIC_RELAXED) > 1 || x->pattern;
    scope_check(s,
                !x->dense && nnz == x->nnz && kept && !a->how.own && a->n_far == 0
                    ? ferry_i_matrix_like(scope_ctx(s), (ferry_matrix *)(uintptr_t)x, &to)
                    : ferry_i_matrix_csr(scope_ctx(s), x->rows, x->cols, nnz, &to));
    for (int64_t i = 0; i < x->rows; i++) {
        const int64_t end = csr_row(a, i, to->start[i], to);
        if (!to->pattern) to->start[i + 1] = end;
    }
    if (has_lengths(a->s)) ferry_i_rows_to_unit(to);
    return to;
}

static ferry_matrix *make_dense(scope *s, const applying *a)
{
    ferry_matrix *to = NULL;

    scope_check(
        s, ferry_i_matrix_dense(scope_ctx(s), a->part->x->rows, a->part->x->cols, &to));
    fill_dense(a, to);
    return to;
}

/* Whether x is as it should be: unscaled, stored as wanted, complete, and (CSR) without
 * zeros that are stored. */
static bool nothing_to_do(const applying *a)
{
    const ferry_matrix *x = a->part->x;
    const double *v = row_values(x);

    if (a->s->kind != FERRY_SCALE_NONE || a->s->base || a->s->factor) return false;
    if (a->s->dense != (x->dense != NULL)) return false;
    if (a->how.own && (x->borrowed || x->pattern)) return false;
    for (int64_t j = 0; a->part->map && j < x->cols; j++)
        if (a->part->map[j] < 0) return false;
    for (int64_t at = 0; at < x->nnz;
         at += 4096) { /* counted without branches, and given up early */
        const int64_t to = x->nnz - at < 4096 ? x->nnz : at + 4096;
        int64_t missing = 0, zeros = 0;
        for (int64_t e = at; e < to; e++) {
            missing += isnan(v[e]) ? 1 : 0;
            zeros += v[e] == 0;
        }
        if ((missing > 0 && !a->how.missing) || (zeros > 0 && !x->dense)) return false;
    }
    return true;
}

/* The columns of the matrix that have a base. */
static void find_far(scope *s, applying *a)
{
    const int32_t *map = a->part->map;

    a->shift = a->s->base;
    if (!a->s->base) return;
    int32_t *far = NEW(s, int32_t, a->part->x->cols);
    for (int64_t j = 0; j < a->part->x->cols; j++) {
        const int64_t at = map ? map[j] : j;
        if (at >= 0 && a->s->base[at] != 0) far[a->n_far++] = (int32_t)j;
    }
    a->far = far;
}

/* NaN may stay only where how.missing says so. */
ferry_matrix *scaler_apply(scope *s, const ferry_scaler *by, const ferry_scale_part *part,
                           ferry_scale_how how)
{
    applying a = {.s = by, .part = part, .how = how};
    const int64_t mark = scope_mark(s);
    ferry_matrix *to = NULL;

    assert(part->map || part->x->cols == by->d);
    /* only the count of owners changes; the matrix stays as it is */
    if (nothing_to_do(&a))
        return own_matrix(s, ferry_i_matrix_ref((ferry_matrix *)(uintptr_t)part->x));
    a.row = NEW(s, ferry_cell, part->x->cols);
    if (by->dense)
        a.shift = how.uncentred || !by->shift ? by->base : by->shift;
    else
        find_far(s, &a);
    to = by->dense ? make_dense(s, &a) : make_csr(s, &a);
    scope_release(s, mark);
    return own_matrix(s, to);
}

/* ---- one row ---- */

ferry_scale_room scale_room(scope *s, int64_t d)
{
    return (ferry_scale_room){NEW(s, double, d), NEW(s, int32_t, d), NEW(s, ferry_cell, d)};
}

/* The row poses as a matrix of one row on the stack, so that there is one code for both. */
ferry_row scaler_row(const ferry_scaler *s, const ferry_row *x,
                     const ferry_scale_room *room)
{
    /* x as a matrix of one row; nothing is written to it */
    double *value = (double *)(uintptr_t)x->value;
    int64_t from[] = {0, x->n}, to[] = {0, 0};
    const ferry_matrix in = {.rows = 1,
                             .cols = s->d,
                             .nnz = x->n,
                             .dense = x->index ? NULL : value,
                             .start = from,
                             .index = (int32_t *)(uintptr_t)x->index,
                             .value = value};
    ferry_matrix out = {.rows = 1, .cols = s->d, .dense = s->dense ? room->value : NULL};
    const ferry_scale_part part = {.x = &in};
    const applying a = {
        .s = s, .part = &part, .shift = s->shift ? s->shift : s->base, .row = room->cell};
    applying sparse = a;

    if (s->dense) {
        if (!is_whole(&a)) memset(room->value, 0, (size_t)s->d * sizeof *room->value);
        fill_dense(&a, &out);
        return (ferry_row){s->d, NULL, room->value};
    }
    sparse.shift = s->base;
    sparse.n_far = s->n_far;
    sparse.far = s->far;
    out.start = to;
    out.index = room->index;
    out.value = room->value;
    out.nnz = to[1] = csr_row(&sparse, 0, 0, &out);
    if (has_lengths(s)) ferry_i_rows_to_unit(&out);
    return (ferry_row){out.nnz, room->index, room->value};
}
