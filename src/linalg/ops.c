/* Matrices and blocks as methods and learners see them (ops.h), over the engine. */
#include "linalg/ops.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "core/ranks.h"

layout rows_here(scope *s, int64_t n, int64_t *here)
{
    int64_t from = 0, to = n;

    ferry_i_ranks_part(scope_ctx(s), n, &from, &to);
    *here = to - from;
    return (layout){.n = n, .spread = ferry_i_ranks_split(scope_ctx(s)), .first = from};
}

bool rows_spread(const scope *s)
{
    return ferry_i_ranks_split(scope_ctx(s));
}

layout rows_by_work(scope *s, int64_t n, const double *work, int64_t *here)
{
    const int64_t size = rows_spread(s) ? scope_ctx(s)->ranks->size : 1,
                  rank = rows_spread(s) ? scope_ctx(s)->ranks->rank : 0;
    double all = 0, done = 0;
    int64_t from = 0, to = n, next = 1;

    for (int64_t i = 0; i < n; i++)
        all += work[i];
    for (int64_t i = 0; i < n; i++) {
        for (; next < size && done >= all * (double)next / (double)size; next++) {
            if (next == rank) from = i;
            if (next == rank + 1) to = i;
        }
        done += work[i];
    }
    if (next <= rank) from = n; /* more processes than rows */
    *here = to - from;
    return (layout){.n = n, .spread = rows_spread(s), .first = from};
}

int64_t bytes_sent(const scope *s)
{
    return rows_spread(s) ? scope_ctx(s)->ranks->sent : 0;
}

void report_bytes_sent(scope *s, int64_t since)
{
    if (!rows_spread(s)) return;
    const double sent = (double)(bytes_sent(s) - since);
    report_real(s, "mpi_ranks", (double)scope_ctx(s)->ranks->size);
    report_real(s, "bytes_sent", sum(s, (layout){.spread = true}, sent));
}

/* ---- making them ---- */

static void let_go(void *m)
{
    ferry_i_matrix_free(m);
}

static layout layout_of(scope *s, const ferry_matrix *m)
{
    layout rows = {.n = ferry_i_all_rows(m), .spread = m->whole != 0};

    scope_check(s, ferry_i_first_row(scope_ctx(s), m, &rows.first));
    return rows;
}

matrix matrix_borrow(scope *s, ferry_matrix *m)
{
    return (matrix){layout_of(s, m), m->rows, m->cols, m};
}

ferry_matrix *own_matrix(scope *s, ferry_matrix *m)
{
    scope_defer(s, let_go, m);
    return m;
}

matrix matrix_own(scope *s, ferry_matrix *m)
{
    return matrix_borrow(s, own_matrix(s, m));
}

/* Made by the engine's functions and not yet anybody's. */
static matrix made(scope *s, layout rows, ferry_matrix *m)
{
    scope_defer(s, let_go, m);
    m->whole = rows.spread ? rows.n : 0;
    return (matrix){rows, m->rows, m->cols, m};
}

matrix matrix_dense(scope *s, layout rows, int64_t n, int64_t cols)
{
    ferry_matrix *m = NULL;

    scope_check(s, ferry_i_matrix_dense(scope_ctx(s), n, cols, &m));
    return made(s, rows, m);
}

matrix matrix_of(scope *s, block b)
{
    const matrix x = matrix_dense(s, b.rows, b.n, b.k);

    if (b.n * b.k > 0) memcpy(x.m->dense, b.at, (size_t)(b.n * b.k) * sizeof *b.at);
    return x;
}

matrix with_values(scope *s, matrix x, const double *value)
{
    ferry_matrix *m = NULL;

    scope_check(s, ferry_i_matrix_like(scope_ctx(s), x.m, &m));
    const matrix y = made(s, x.rows, m);
    if (m->nnz > 0) memcpy(m->value, value, (size_t)m->nnz * sizeof *value);
    return y;
}

block block_new(scope *s, layout rows, int64_t n, int64_t k)
{
    return (block){rows, n, k, NEW(s, double, n *k)};
}

block block_like(scope *s, block b)
{
    return block_new(s, b.rows, b.n, b.k);
}

block block_copy(scope *s, block b)
{
    const block to = block_like(s, b);

    copy(b, to);
    return to;
}

small small_new(scope *s, int64_t rows, int64_t cols)
{
    return (small){rows, cols, NEW(s, double, rows *cols)};
}

block block_part(block whole, layout rows, int64_t n)
{
    assert(!whole.rows.spread && !rows.number);
    return (block){rows, n, whole.k, whole.at + rows.first * whole.k};
}

/* ---- rows of all processes ---- */

static bool in_order(layout rows, int64_t n)
{
    for (int64_t i = 0; rows.number && i < n; i++)
        if (rows.number[i] != rows.first + i) return false;
    return true;
}

/* By rank, and then, where numbers say so, in their order. Whether it is so anywhere decides for all. */
void *replicate_items(scope *s, layout rows, int64_t n, size_t size, const void *mine)
{
    ferry_ctx *ctx = scope_ctx(s);
    int64_t from = 0, all = 0;
    void *items = NULL, *numbers = NULL;

    if (!rows.spread) return scope_copy(s, mine, n, size);
    scope_check(s, ferry_i_ranks_collect(ctx, n, size, mine, &from, &all, &items));
    scope_adopt(s, items);
    if (most(s, rows, !in_order(rows, n)) == 0) return items;
    int64_t *number = NEW(s, int64_t, n);
    for (int64_t i = 0; i < n; i++)
        number[i] = rows.number ? rows.number[i] : rows.first + i;
    scope_check(
        s, ferry_i_ranks_collect(ctx, n, sizeof *number, number, &from, &all, &numbers));
    scope_adopt(s, numbers);
    char *to = scope_new(s, all, size);
    for (int64_t i = 0; i < all; i++)
        memcpy(to + (size_t)((const int64_t *)numbers)[i] * size,
               (const char *)items + (size_t)i * size, size);
    return to;
}

block replicate(scope *s, block b)
{
    if (!b.rows.spread) return b;
    return (block){HERE(b.rows.n), b.rows.n, b.k,
                   replicate_items(s, b.rows, b.n, (size_t)b.k * sizeof *b.at, b.at)};
}

matrix replicate_rows(scope *s, matrix x)
{
    ferry_matrix *m = NULL;

    if (!x.rows.spread) return x;
    assert(in_order(x.rows, x.n));
    scope_check(s, ferry_i_matrix_collect(scope_ctx(s), x.m, &m));
    return made(s, HERE(x.rows.n), m);
}

void share_rows(scope *s, block part, block whole)
{
    const int64_t mark = scope_mark(s);

    if (part.rows.spread) copy(replicate(s, part), whole);
    scope_release(s, mark);
}

/* ---- rows and columns of data ---- */

void drop_values(matrix x)
{
    assert(!x.m->dense && !x.m->borrowed);
    if (x.m->copied) ferry_i_card_forget(x.m);
    x.m->lasting = x.m->copied = false;
    ferry_i_free(x.m->value);
    x.m->value = NULL;
}

matrix take_rows(scope *s, matrix x, int64_t n, const int64_t *rows, bool unit)
{
    ferry_ctx *ctx = scope_ctx(s);
    layout to = x.rows;
    ferry_matrix *m = NULL;
    int64_t *all = NULL;

    if (n < 0) {
        rows = all = NEW(s, int64_t, x.n);
        for (int64_t i = 0; i < x.n; i++)
            all[i] = i;
    }
    scope_check(s, ferry_i_matrix_take(ctx, x.m, n < 0 ? x.n : n, rows, x.cols, NULL, &m));
    if (all) scope_drop(s, all);
    if (n >= 0) to = (layout){.n = n, .spread = x.rows.spread};
    const matrix y = made(s, to, m);
    if (unit) ferry_i_rows_to_unit(m);
    if (n < 0 || !to.spread) return y;
    scope_check(s, ferry_i_ranks_count(ctx, &to.n));
    scope_check(s, ferry_i_ranks_before(ctx, n, &to.first));
    m->whole = to.n;
    return (matrix){to, n, x.cols, m};
}

matrix matrix_keep(scope *keep, matrix x)
{
    const bool theirs = x.m->borrowed || (x.m->pattern && x.m->pattern->borrowed);

    if (theirs) return take_rows(keep, x, -1, NULL, false);
    scope_defer(keep, let_go, ferry_i_matrix_ref(x.m));
    return x;
}

/* CSR keeps no entry of what is cut; a dense matrix stays dense. */
matrix take_columns(scope *s, matrix x, const uint8_t *keep, bool unit)
{
    const int64_t mark = scope_mark(s);
    int32_t *to = NEW(s, int32_t, x.cols);
    int64_t *rows = NEW(s, int64_t, x.n), cols = 0;
    ferry_matrix *m = NULL;

    for (int64_t j = 0; j < x.cols; j++)
        to[j] = keep[j] ? (int32_t)cols++ : -1;
    for (int64_t i = 0; i < x.n; i++)
        rows[i] = i;
    scope_check(s, ferry_i_matrix_take(scope_ctx(s), x.m, x.n, rows, cols, to, &m));
    scope_release(s, mark);
    if (unit) ferry_i_rows_to_unit(m);
    return made(s, x.rows, m);
}

matrix stack(scope *s, int64_t n, const matrix *part)
{
    const ferry_matrix **p = NEW(s, const ferry_matrix *, n);
    ferry_matrix *m = NULL;
    layout rows = {.n = 0};
    int64_t *number = NULL, at = 0;

    for (int64_t i = 0; i < n; i++) {
        p[i] = part[i].m;
        rows.spread = rows.spread || part[i].rows.spread;
    }
    scope_check(s, ferry_i_matrix_stack(scope_ctx(s), n, p, &m));
    if (rows.spread) rows.number = number = NEW(s, int64_t, m->rows);
    for (int64_t i = 0; i < n; rows.n += part[i++].rows.n)
        for (int64_t k = 0; number && k < part[i].n; k++)
            number[at++] = rows.n + (part[i].rows.number ? part[i].rows.number[k]
                                                         : part[i].rows.first + k);
    return made(s, rows, m);
}

matrix beside(scope *s, int64_t n, const matrix *part)
{
    const ferry_matrix **p = NEW(s, const ferry_matrix *, n);
    ferry_matrix *m = NULL;

    for (int64_t i = 0; i < n; i++)
        p[i] = part[i].m;
    scope_check(s, ferry_i_matrix_join(scope_ctx(s), n, p, &m));
    return made(s, part[0].rows, m);
}

matrix to_sparse(scope *s, matrix x)
{
    ferry_matrix *m = NULL;

    if (!x.m->dense) return x;
    scope_check(s, ferry_i_matrix_sparsify(scope_ctx(s), x.m, &m));
    return made(s, x.rows, m);
}

matrix to_dense(scope *s, matrix x)
{
    ferry_matrix *m = NULL;

    if (x.m->dense) return x;
    scope_check(s, ferry_i_matrix_densify(scope_ctx(s), x.m, &m));
    return made(s, x.rows, m);
}

ferry_row row_at(matrix x, int64_t i)
{
    if (x.m->dense) return (ferry_row){x.cols, NULL, x.m->dense + i * x.cols};
    const int64_t at = x.m->start[i];
    return (ferry_row){x.m->start[i + 1] - at, x.m->index + at, x.m->value + at};
}

bool row_is_empty(matrix x, int64_t i)
{
    const ferry_row r = row_at(x, i);

    for (int64_t e = 0; e < r.n; e++)
        if (r.value[e] != 0) return false;
    return true;
}

int64_t stored(matrix x)
{
    return x.m->nnz;
}

int64_t entries(scope *s, matrix x)
{
    return (int64_t)sum(s, x.rows, (double)x.m->nnz);
}

uint8_t *columns_used(scope *s, matrix x)
{
    uint8_t *used = NEW(s, uint8_t, x.cols);

    for (int64_t i = 0; i < x.n; i++) {
        const ferry_row r = row_at(x, i);
        for (int64_t e = 0; e < r.n; e++)
            if (r.value[e] != 0) used[r.index ? r.index[e] : e] = 1;
    }
    scope_check(s, ferry_i_any_rows(scope_ctx(s), x.m, x.cols, used));
    return used;
}

/* ---- products ---- */

void mul(scope *s, matrix x, block b, block out)
{
    const int64_t mark = scope_mark(s);
    const ferry_block in = block_ref(replicate(s, b));
    ferry_block y = block_ref(out);

    assert(out.n == x.n);
    if (in.rows != x.cols ||
        out.k != b.k) /* parts of an untrusted model that do not go together */
        scope_fail(s, FERRY_EDATA, "a part of the model is %lld x %lld, not %lld x %lld",
                   (long long)in.rows, (long long)b.k, (long long)x.cols, (long long)out.k);
    ferry_e(scope_ctx(s))->mul(scope_ctx(s), 1, x.m, &in, 0, &y);
    scope_release(s, mark);
}

void index_columns(scope *s, matrix x)
{
    scope_check(s, ferry_i_matrix_index(scope_ctx(s), x.m));
}

void lasts(matrix x)
{
    __atomic_store_n(&x.m->lasting, true, __ATOMIC_RELAXED);
}

void tmul(scope *s, matrix x, block g, block out)
{
    const ferry_block in = block_ref(g);
    ferry_block y = block_ref(out);

    assert(g.n == x.n && out.n == x.cols && out.k == g.k);
    scope_check(s, ferry_e(scope_ctx(s))->tmul(scope_ctx(s), 1, x.m, &in, 0, &y));
}

void gram(scope *s, block a, block b, small out)
{
    const ferry_block x = block_ref(a), y = block_ref(b);
    ferry_small z = small_ref(out);

    ferry_e(scope_ctx(s))->gram(scope_ctx(s), &x, &y, &z);
    sums(s, a.rows, out.rows * out.cols, out.at);
}

void bmul(scope *s, block a, small b, block out)
{
    const ferry_block x = block_ref(a);
    const ferry_small y = small_ref(b);
    ferry_block z = block_ref(out);

    ferry_e(scope_ctx(s))->bmul(scope_ctx(s), 1, &x, &y, false, 0, &z);
}

void bmul_t(scope *s, block a, small b, block out)
{
    const ferry_block x = block_ref(a);
    const ferry_small y = small_ref(b);
    ferry_block z = block_ref(out);

    ferry_e(scope_ctx(s))->bmul(scope_ctx(s), 1, &x, &y, true, 0, &z);
}

void axpby(scope *s, double alpha, block a, double beta, block b)
{
    const ferry_block x = block_ref(a);
    ferry_block y = block_ref(b);

    ferry_e(scope_ctx(s))->axpby(scope_ctx(s), alpha, &x, beta, &y);
}

void scale_columns(scope *s, block b, const double *by)
{
    ferry_block x = block_ref(b);

    ferry_e(scope_ctx(s))->bscale(scope_ctx(s), &x, FERRY_COLS, by);
}

/* ---- centred products ----
 *
 * A dense X is centred first, since the differences lose digits where means are large; of a large one that is done
 * piece by piece, so that no copy of it is made. A sparse X is centred in the formulas alone:
 *   (X - 1 m')'D(X - 1 m') = X'DX - v m' - m v' + (1'D1) m m',  v = X'D1 */

enum { PIECE = 1 << 20 }; /* cells: 8 MiB */

/* Rows of a piece: at least twice the columns, so that adding up is little beside the products. */
static int64_t piece_rows(matrix x)
{
    const int64_t few = PIECE / (x.cols > 0 ? x.cols : 1);

    return few > 2 * x.cols ? few : 2 * x.cols;
}

/* to <- sqrt(weight) (x - mean), n rows from row `from` on. */
static void centre_rows(matrix x, int64_t from, int64_t n, const double *mean,
                        const double *weight, double *to)
{
    for (int64_t i = 0; i < n; i++) {
        const double root = weight ? sqrt(weight[from + i]) : 1;
        const double *v = x.m->dense + (from + i) * x.cols;
        for (int64_t j = 0; j < x.cols; j++)
            to[i * x.cols + j] = root * (v[j] - (mean ? mean[j] : 0));
    }
}

static void add_xtx(scope *s, ferry_matrix *piece, ferry_small *part, small out)
{
    scope_check(s, ferry_e(scope_ctx(s))->xtx(scope_ctx(s), piece, part));
    for (int64_t e = 0; e < out.rows * out.cols; e++)
        out.at[e] += part->data[e];
}

/* A piece is never spread: the sum over processes is made once, at the end. */
static void cross_dense(scope *s, matrix x, const double *mean, const double *weight,
                        small out)
{
    const int64_t size = piece_rows(x), room = size < x.n ? size : x.n;
    const matrix piece = matrix_dense(s, HERE(room), room, x.cols);
    ferry_small part = small_ref(small_new(s, x.cols, x.cols));

    for (int64_t i = 0; i < x.n; i += size) {
        piece.m->rows = x.n - i < size ? x.n - i : size;
        piece.m->nnz = piece.m->rows * x.cols;
        centre_rows(x, i, piece.m->rows, mean, weight, piece.m->dense);
        add_xtx(s, piece.m, &part, out);
    }
    sums(s, x.rows, out.rows * out.cols, out.at);
}

static void cross_sparse(scope *s, matrix x, const double *mean, const double *weight,
                         small out)
{
    const double *v = mass(s, x, weight);
    double total = 0;
    ferry_small part = small_ref(out);
    matrix y = x;

    for (int64_t i = 0; i < x.n; i++)
        total += weight ? weight[i] : 1;
    total = sum(s, x.rows, total);
    if (weight) {
        double *value = NEW(s, double, x.m->nnz);
        for (int64_t i = 0; i < x.n; i++)
            for (int64_t e = x.m->start[i]; e < x.m->start[i + 1]; e++)
                value[e] = sqrt(weight[i]) * x.m->value[e];
        y = with_values(s, x, value);
    }
    scope_check(s, ferry_e(scope_ctx(s))->xtx(scope_ctx(s), y.m, &part));
    for (int64_t j = 0; mean && j < x.cols; j++)
        for (int64_t i = 0; i < x.cols; i++)
            AT(out, i, j) += total * mean[i] * mean[j] - v[i] * mean[j] - mean[i] * v[j];
}

small cross(scope *s, matrix x, const double *mean, const double *weight)
{
    const small out = small_new(s, x.cols, x.cols);
    const int64_t mark = scope_mark(s);

    const ferry_engine *e = ferry_e(scope_ctx(s));
    ferry_small whole = small_ref(out);

    if (e->cross && !x.rows.spread && e->cross(scope_ctx(s), x.m, mean, weight, &whole)) {
        /* in one step */
    } else if (x.m->dense && !mean && !weight && !x.rows.spread) { /* as it is */
        ferry_small to = small_ref(out);
        scope_check(s, ferry_e(scope_ctx(s))->xtx(scope_ctx(s), x.m, &to));
    } else if (x.m->dense) {
        cross_dense(s, x, mean, weight, out);
    } else {
        cross_sparse(s, x, mean, weight, out);
    }
    scope_release(s, mark);
    return out;
}

/* Sparse: XX' - a 1' - 1 a' + m'm,  a = X m. */
small outer(scope *s, matrix x, const double *mean)
{
    ferry_ctx *ctx = scope_ctx(s);
    const small out = small_new(s, x.n, x.n);
    const int64_t mark = scope_mark(s);
    ferry_small to = small_ref(out);

    assert(!x.rows.spread);
    if (x.m->dense && mean) {
        const matrix y = matrix_dense(s, x.rows, x.n, x.cols);
        centre_rows(x, 0, x.n, mean, NULL, y.m->dense);
        ferry_e(ctx)->xxt(ctx, y.m, &to);
    } else {
        ferry_e(ctx)->xxt(ctx, x.m, &to);
    }
    if (!x.m->dense && mean) {
        const block m = {HERE(x.cols), x.cols, 1, (double *)mean};
        const block a = block_new(s, x.rows, x.n, 1);
        const double mm = inner(s, m, m);
        mul(s, x, m, a);
        for (int64_t j = 0; j < x.n; j++)
            for (int64_t i = 0; i < x.n; i++)
                AT(out, i, j) += mm - a.at[i] - a.at[j];
    }
    scope_release(s, mark);
    return out;
}

/* ---- sums over all rows ---- */

void sums(scope *s, layout rows, int64_t n, double *v)
{
    if (rows.spread) scope_check(s, ferry_i_ranks_sum(scope_ctx(s), n, v));
}

double sum(scope *s, layout rows, double here)
{
    sums(s, rows, 1, &here);
    return here;
}

void mosts(scope *s, layout rows, int64_t n, double *v)
{
    if (rows.spread) scope_check(s, ferry_i_ranks_most(scope_ctx(s), n, v));
}

double most(scope *s, layout rows, double here)
{
    mosts(s, rows, 1, &here);
    return here;
}

void column_sums(scope *s, block g, double *out)
{
    const ferry_block x = block_ref(g);

    ferry_e(scope_ctx(s))->bsums(scope_ctx(s), &x, FERRY_COLS, 1, out);
    sums(s, g.rows, g.k, out);
}

double *mass(scope *s, matrix x, const double *weight)
{
    double *q = NEW(s, double, x.cols);

    if (!weight) {
        scope_check(s, ferry_e(scope_ctx(s))->sums(scope_ctx(s), x.m, FERRY_COLS, 1, q));
        return q;
    }
    for (int64_t i = 0; i < x.n; i++)
        row_add(row_at(x, i), weight[i], q);
    sums(s, x.rows, x.cols, q);
    return q;
}

double inner(scope *s, block a, block b)
{
    const ferry_block x = block_ref(a), y = block_ref(b);

    return sum(s, a.rows, ferry_e(scope_ctx(s))->dot(scope_ctx(s), &x, &y));
}

double square_sum(scope *s, block g)
{
    return inner(s, g, g);
}

double norm2(scope *s, matrix x)
{
    return sum(s, x.rows, ferry_i_matrix_norm2(x.m));
}

double largest_change(scope *s, block a, block b)
{
    double v = 0;

    for (int64_t e = 0; e < a.n * a.k; e++)
        v = fmax(v, fabs(a.at[e] - b.at[e]));
    return most(s, a.rows, v);
}

/* ---- small systems ---- */

/* A pivot that is nothing but the rounding of its diagonal entry is no pivot. */
bool cholesky(scope *s, small a)
{
    const int64_t mark = scope_mark(s);
    double *diagonal = NEW(s, double, a.rows);
    ferry_small z = small_ref(a);
    bool sound = true;

    for (int64_t i = 0; i < a.rows; i++)
        diagonal[i] = AT(a, i, i);
    const ferry_status st = ferry_e(scope_ctx(s))->chol(scope_ctx(s), &z);
    if (st != FERRY_OK && st != FERRY_ENUMERIC) scope_check(s, st);
    for (int64_t i = 0; st == FERRY_OK && i < a.rows; i++)
        sound =
            sound && AT(a, i, i) * AT(a, i, i) > (double)a.rows * DBL_EPSILON * diagonal[i];
    scope_release(s, mark);
    return st == FERRY_OK && sound;
}

/* Blocks are row by row and LAPACK wants columns: copied there and back. */
void cholesky_solve(scope *s, small l, block b)
{
    const int64_t mark = scope_mark(s);
    const small t = small_new(s, b.n, b.k);
    const ferry_small a = small_ref(l);
    ferry_small x = small_ref(t);

    for (int64_t i = 0; i < b.n; i++)
        for (int64_t j = 0; j < b.k; j++)
            AT(t, i, j) = ROW(b, i)[j];
    ferry_e(scope_ctx(s))->chol_solve(scope_ctx(s), &a, &x);
    for (int64_t i = 0; i < b.n; i++)
        for (int64_t j = 0; j < b.k; j++)
            ROW(b, i)[j] = AT(t, i, j);
    scope_release(s, mark);
}

double *eigh(scope *s, small a)
{
    double *w = NEW(s, double, a.rows);
    ferry_small z = small_ref(a);

    scope_check(s, ferry_e(scope_ctx(s))->eigh(scope_ctx(s), &z, w));
    return w;
}

void ridge_rows(scope *s, matrix x, block q, double lambda, bool weighted, block p,
                double *gain)
{
    const ferry_block in = block_ref(q);
    ferry_block to = block_ref(p);

    scope_check(s, ferry_e(scope_ctx(s))
                       ->ridge_rows(scope_ctx(s), x.m, &in, lambda, weighted, &to, gain));
}

/* ---- the rest ---- */

void copy(block from, block to)
{
    if (from.at != to.at && from.n * from.k > 0)
        memcpy(to.at, from.at, (size_t)(from.n * from.k) * sizeof *from.at);
}

/* All rows' numbers are drawn; those of other processes are passed over. */
static void fill(scope *s, ferry_rng *rng, block b,
                 void (*draw)(ferry_block *, ferry_rng *, double, double), double lo,
                 double hi)
{
    const int64_t mark = scope_mark(s);
    ferry_block all = block_ref(b);

    if (b.rows.spread) all = block_ref(block_new(s, HERE(b.rows.n), b.rows.n, b.k));
    draw(&all, rng, lo, hi);
    for (int64_t i = 0; b.rows.spread && i < b.n; i++)
        memcpy(ROW(b, i),
               all.data + (b.rows.number ? b.rows.number[i] : b.rows.first + i) * b.k,
               (size_t)b.k * sizeof *b.at);
    scope_release(s, mark);
}

static void draw_normal(ferry_block *b, ferry_rng *rng, double lo, double hi)
{
    (void)lo, (void)hi;
    ferry_i_fill_normal(b, rng);
}

void fill_normal(scope *s, ferry_rng *rng, block b)
{
    fill(s, rng, b, draw_normal, 0, 0);
}

void fill_uniform(scope *s, ferry_rng *rng, double lo, double hi, block b)
{
    fill(s, rng, b, ferry_i_fill_uniform, lo, hi);
}

void fill_by_key(ferry_rng *rng, const uint64_t *key, double lo, double hi, block b)
{
    const uint64_t seed = ferry_i_rng_u64(rng);
    ferry_rng own;

    for (int64_t i = 0; i < b.n; i++) {
        ferry_i_rng_seed(&own, seed, key ? key[i] : (uint64_t)(b.rows.first + i));
        for (int64_t k = 0; k < b.k; k++)
            ROW(b, i)[k] = lo + (hi - lo) * ferry_i_rng_real(&own);
    }
}

void shuffle(ferry_rng *rng, int64_t n, int64_t *v)
{
    ferry_i_rng_shuffle(rng, n, v);
}

double row_dot(ferry_row x, const double *w)
{
    double f = 0;

    if (!x.index) {
        ferry_i_rows_dot(1, x.n, w, x.value, &f);
        return f;
    }
    for (int64_t e = 0; e < x.n; e++)
        f += w[x.index[e]] * x.value[e];
    return f;
}

void row_add(ferry_row x, double a, double *w)
{
    if (x.index)
        for (int64_t e = 0; e < x.n; e++)
            w[x.index[e]] += a * x.value[e];
    else
        for (int64_t j = 0; j < x.n; j++)
            w[j] += a * x.value[j];
}
