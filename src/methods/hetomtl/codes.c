/* Class codes, solved again as labels accumulate (hetomtl.h has the formulas).
 *
 * A row is kept sparse or dense, at unit length. Offline rows stay for good; of the stream
 * the newest `keep` are in a ring. V (k x d) is solved from all of them at 10 labels, then
 * whenever their number has grown by `grow`: n labels cost about log n solutions. */
#include "methods/hetomtl/hetomtl.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Labels to have before the first solution. */
enum { FIRST = 10 };

/* The matrix goes, the place stays. */
static void row_free(codes_row *r)
{
    ferry_i_matrix_free(r->x);
    r->x = NULL;
}

/* A copy, sparse or dense as the others. Explicit zeros are left out of a sparse row. */
static ferry_status row_new(ferry_ctx *ctx, const codes *c, const ferry_row *x, int32_t cls,
                            codes_row *out)
{
    ferry_status st = FERRY_OK;
    int64_t n = 0;

    *out = (codes_row){NULL, cls};
    FERRY_TRY(c->sparse ? ferry_i_matrix_csr(ctx, 1, c->d, x->n, &out->x)
                        : ferry_i_matrix_dense(ctx, 1, c->d, &out->x));
    for (int64_t e = 0; e < x->n; e++) {
        const int32_t j = x->index ? x->index[e] : (int32_t)e;
        if (!c->sparse) {
            out->x->dense[j] = x->value[e];
        } else if (x->value[e] != 0) {
            out->x->index[n] = j;
            out->x->value[n++] = x->value[e];
        }
    }
    if (c->sparse) out->x->nnz = out->x->start[1] = n;
done:
    return st;
}

/* No row, V = 0: every class scores the same until the first solution. keep = 0 is allowed:
 * then only the offline rows ever count. */
ferry_status ferry_i_codes_new(ferry_ctx *ctx, int64_t k, int64_t d, bool sparse,
                               int64_t keep, double grow, codes *out)
{
    ferry_status st = FERRY_OK;

    *out = (codes){.d = d, .sparse = sparse, .keep = keep, .grow = grow, .next = FIRST};
    out->alpha = 1;
    FERRY_NEW(ctx, out->ring, keep);
    FERRY_NEW(ctx, out->v, 0);
    FERRY_NEW(ctx, out->o, 0);
    FERRY_TRY(ferry_i_codes_classes(ctx, out, k));
done:
    return st;
}

/* Places of the ring that were never filled hold NULL. */
void ferry_i_codes_clear(codes *c)
{
    for (int64_t i = 0; c->offline && i < c->n_offline; i++)
        row_free(&c->offline[i]);
    for (int64_t i = 0; c->ring && i < c->keep; i++)
        row_free(&c->ring[i]);
    FERRY_FREE(c->offline, c->ring, c->o, c->v);
    *c = (codes){0};
}

/* A class that is new scores 0 until labels of it are solved for. k only grows: classes are
 * numbered as they are met. */
ferry_status ferry_i_codes_classes(ferry_ctx *ctx, codes *c, int64_t k)
{
    ferry_status st = FERRY_OK;
    double *more = NULL;

    if (k <= c->k) return FERRY_OK;
    FERRY_HAVE(ctx, more = ferry_i_realloc(c->v, k * c->d, sizeof *more));
    c->v = more;
    FERRY_HAVE(ctx, more = ferry_i_realloc(c->o, k, sizeof *more));
    c->o = more;
    memset(c->v + c->k * c->d, 0, (size_t)((k - c->k) * c->d) * sizeof *c->v);
    memset(c->o + c->k, 0, (size_t)(k - c->k) * sizeof *c->o);
    c->k = k;
done:
    return st;
}

/* c->n_offline counts only after the copy is made, so a failure leaves the rows as they
 * were. */
ferry_status ferry_i_codes_offline(ferry_ctx *ctx, codes *c, const ferry_row *x,
                                   int32_t cls)
{
    ferry_status st = FERRY_OK;
    codes_row *more = ferry_i_realloc(c->offline, c->n_offline + 1, sizeof *more);

    FERRY_HAVE(ctx, more);
    c->offline = more;
    FERRY_TRY(row_new(ctx, c, x, cls, &c->offline[c->n_offline]));
    c->n_offline++;
    c->labels++;
done:
    return st;
}

/* ---- solving ---- */

/* The problem: all rows that are kept and one more (or NULL), oldest first. `row` borrows
 * the matrices; everything else is the problem's. */
typedef struct problem {
    int64_t n, k;
    const ferry_matrix **row; /* n of one row each */
    int64_t *cls;             /* n */
    ferry_matrix *x;
    ferry_small *gram, *m, *inv; /* n x n */
    ferry_small *my;             /* n x k: M^-1 Y */
    double *count, *other;       /* k */
} problem;

/* Also of one that was used for its row list alone (rows_of). */
static void problem_clear(problem *p)
{
    FERRY_FREE(p->row, p->cls);
    ferry_i_matrix_free(p->x);
    ferry_i_small_free(p->gram);
    ferry_i_small_free(p->m);
    ferry_i_small_free(p->inv);
    ferry_i_small_free(p->my);
    FERRY_FREE(p->count, p->other);
}

static void add(problem *p, const codes_row *r)
{
    p->row[p->n] = r->x;
    p->cls[p->n++] = r->cls;
}

/* All that solving for any alpha needs: the Gram matrix is made once for the whole grid.
 * Cost O(n^2 d), by far the largest part where d is large. other[k] = count[k] where no
 * source has the class. */
static ferry_status problem_new(ferry_ctx *ctx, const codes *c, const codes_row *newest,
                                problem *p)
{
    ferry_status st = FERRY_OK;
    const int64_t most = c->n_offline + c->n_ring + 1;

    *p = (problem){.k = c->k};
    FERRY_NEW(ctx, p->row, most);
    FERRY_NEW(ctx, p->cls, most);
    FERRY_NEW(ctx, p->count, p->k);
    FERRY_NEW(ctx, p->other, p->k);
    for (int64_t i = 0; i < c->n_offline; i++)
        add(p, &c->offline[i]);
    /* the newest takes the place of the oldest */
    for (int64_t i = newest && c->n_ring == c->keep; i < c->n_ring; i++)
        add(p, &c->ring[(c->first + i) % c->keep]);
    if (newest && c->keep > 0) add(p, newest);
    for (int64_t i = 0; i < p->n; i++)
        p->count[p->cls[i]]++;
    for (int64_t k = 0; k < p->k; k++)
        p->other[k] = c->o[k] > 0 ? c->o[k] : p->count[k];
    FERRY_TRY(ferry_i_matrix_stack(ctx, p->n, p->row, &p->x));
    FERRY_TRY(ferry_i_small_new(ctx, p->n, p->n, &p->gram));
    FERRY_TRY(ferry_i_small_new(ctx, p->n, p->n, &p->m));
    FERRY_TRY(ferry_i_small_new(ctx, p->n, p->n, &p->inv));
    FERRY_TRY(ferry_i_small_new(ctx, p->n, p->k, &p->my));
    ferry_e(ctx)->xxt(ctx, p->x, p->gram);
done:
    return st;
}

/* m <- the Cholesky factor of M = X X' + alpha L^-1, where L^-1_ij = [i = j] / b_k + 2 /
 * (b_k o_k) for i and j of one class k, b_k = c_k + o_k / 2.
 *
 * That is the inverse of the structure matrix L of CDSPP by Sherman and Morrison: L is
 * diagonal plus one rank for each class. Class by class, so O(n^2). */
static ferry_status factor(ferry_ctx *ctx, problem *p, double alpha)
{
    for (int64_t j = 0; j < p->n; j++)
        for (int64_t i = 0; i < p->n; i++) {
            const int64_t k = p->cls[j];
            const double b = p->count[k] + 0.5 * p->other[k];
            double add = p->cls[i] == k ? 2 / (b * p->other[k]) : 0;
            if (i == j) add += 1 / b;
            FERRY_AT(p->m, i, j) = FERRY_AT(p->gram, i, j) + alpha * add;
        }
    return ferry_e(ctx)->chol(ctx, p->m);
}

/* my <- M^-1 Y. Y is one-hot. `m` must hold the factor. */
static void codes_of(ferry_ctx *ctx, problem *p)
{
    memset(p->my->data, 0, (size_t)(p->n * p->k) * sizeof *p->my->data);
    for (int64_t i = 0; i < p->n; i++)
        FERRY_AT(p->my, i, p->cls[i]) = 1;
    ferry_e(ctx)->chol_solve(ctx, p->m, p->my);
}

/* Rows whose class is not the best when they are left out: with H = X X' M^-1,
 * f_-i = (H Y)_i - H_ii (M^-1 Y)_i / (M^-1)_ii. Exact, from one inverse: no row
 * is really left out. (The textbook residual would leak the row's own label.) O(n^3). */
static ferry_status left_out(ferry_ctx *ctx, problem *p, double alpha, int64_t *mistakes)
{
    ferry_status st = FERRY_OK;
    const int64_t n = p->n;
    ferry_small *hy = NULL;

    *mistakes = 0;
    FERRY_TRY(ferry_i_small_new(ctx, n, p->k, &hy));
    FERRY_TRY(factor(ctx, p, alpha));
    codes_of(ctx, p);
    memset(p->inv->data, 0, (size_t)(n * n) * sizeof *p->inv->data);
    for (int64_t i = 0; i < n; i++)
        FERRY_AT(p->inv, i, i) = 1;
    ferry_e(ctx)->chol_solve(ctx, p->m, p->inv);
    ferry_e(ctx)->gemm(ctx, false, false, 1, p->gram, p->my, 0, hy);
    for (int64_t i = 0; i < n; i++) {
        double h = 0, best = -INFINITY;
        int64_t cls = 0;
        for (int64_t j = 0; j < n; j++)
            /* H_ii = sum_j (X X')_ij (M^-1)_ji. */
            h += FERRY_AT(p->gram, j, i) * FERRY_AT(p->inv, j, i);
        h /= FERRY_AT(p->inv, i, i);
        for (int64_t k = 0; k < p->k; k++) {
            const double f = FERRY_AT(hy, i, k) - h * FERRY_AT(p->my, i, k);
            if (f > best) cls = k;
            if (f > best) best = f;
        }
        *mistakes += cls != p->cls[i];
    }
done:
    ferry_i_small_free(hy);
    return st;
}

/* *alpha (0: the one with the fewest mistakes, the first of equals) and V.
 *
 * V = (M^-1 Y)' X, by one product with X'. A new array of the caller's. The alphas reach
 * from hardly any to heavy smoothing in steps of ten; *alpha as given is taken without a
 * look. */
static ferry_status solve(ferry_ctx *ctx, const codes *c, const codes_row *newest,
                          double *alpha, double **v)
{
    static const double grid[] = {0.1, 1, 10, 100, 1000};
    ferry_status st = FERRY_OK;
    const bool choose = *alpha == 0;
    int64_t least = INT64_MAX;
    bool finish = false;
    ferry_block *y = NULL, *t = NULL;
    problem p = {0};

    *v = NULL;
    FERRY_TRY(problem_new(ctx, c, newest, &p));
    for (int64_t i = 0; choose && i < FERRY_COUNT(grid); i++) {
        int64_t mistakes = 0;
        FERRY_TRY(left_out(ctx, &p, grid[i], &mistakes));
        FERRY_TRY(ferry_i_progress(ctx, "codes", i + 1, FERRY_COUNT(grid), NAN, &finish));
        if (mistakes >= least) continue;
        least = mistakes;
        *alpha = grid[i];
    }
    FERRY_TRY(factor(ctx, &p, *alpha));
    codes_of(ctx, &p);
    FERRY_TRY(ferry_i_block_new(ctx, p.n, p.k, &y));
    FERRY_TRY(ferry_i_block_new(ctx, c->d, p.k, &t));
    for (int64_t i = 0; i < p.n; i++)
        for (int64_t k = 0; k < p.k; k++)
            FERRY_ROW(y, i)[k] = FERRY_AT(p.my, i, k);
    FERRY_TRY(ferry_e(ctx)->tmul(ctx, 1, p.x, y, 0, t));
    FERRY_NEW(ctx, *v, p.k * c->d);
    for (int64_t j = 0; j < c->d; j++)
        for (int64_t k = 0; k < p.k; k++)
            (*v)[k * c->d + j] = FERRY_ROW(t, j)[k];
done:
    ferry_i_block_free(y);
    ferry_i_block_free(t);
    problem_clear(&p);
    return st;
}

/* When to solve again, after `labels` of them: the gaps grow, so that n labels are solved
 * for about log n times. Never before FIRST labels, and at least one label later. */
static int64_t after(const codes *c, int64_t labels)
{
    const double next = ceil(c->grow * (double)labels);

    if (next <= FIRST) return FIRST;
    if (next >= 0x1p62) return INT64_MAX;
    return next > (double)labels ? (int64_t)next : labels + 1;
}

/* At the end of the offline part; nothing to solve from leaves V as it is. alpha 0: chosen
 * by leaving out. */
ferry_status ferry_i_codes_solve(ferry_ctx *ctx, codes *c, double alpha)
{
    ferry_status st = FERRY_OK;
    double *v = NULL;

    if (c->n_offline + c->n_ring == 0) goto done;
    FERRY_TRY(solve(ctx, c, NULL, &alpha, &v));
    ferry_i_free(c->v);
    c->v = v;
    c->alpha = alpha;
    c->next = after(c, c->labels);
done:
    return st;
}

/* ---- the stream ---- */

/* What costs and can fail: a copy of the row, and the solution when it is time for one.
 * c is not changed. The step owns the row and, if it was solved, V. */
ferry_status ferry_i_codes_prepare(ferry_ctx *ctx, codes *c, const ferry_row *x,
                                   int32_t cls, codes_step *step)
{
    ferry_status st = FERRY_OK;

    *step = (codes_step){.alpha = 0};
    FERRY_TRY(row_new(ctx, c, x, cls, &step->row));
    if (c->labels + 1 >= c->next)
        FERRY_TRY(solve(ctx, c, &step->row, &step->alpha, &step->v));
done:
    if (st != FERRY_OK) ferry_i_codes_drop(step);
    return st;
}

/* NULL parts are fine: a step that was committed is empty. */
void ferry_i_codes_drop(codes_step *step)
{
    row_free(&step->row);
    ferry_i_free(step->v);
    *step = (codes_step){0};
}

/* What cannot fail: the new solution and the row take their places, the oldest row of a
 * full ring goes. The slot behind the newest is the oldest one's when the ring is full. */
void ferry_i_codes_commit(codes *c, codes_step *step)
{
    c->labels++;
    if (step->v) {
        ferry_i_free(c->v);
        c->v = step->v;
        c->alpha = step->alpha;
        c->next = after(c, c->labels);
    }
    step->v = NULL;
    if (c->keep > 0) {
        codes_row *to = &c->ring[(c->first + c->n_ring) % c->keep];
        row_free(to);
        *to = step->row;
        step->row = (codes_row){0};
        if (c->n_ring < c->keep)
            c->n_ring++;
        else
            c->first = (c->first + 1) % c->keep;
    }
    ferry_i_codes_drop(step);
}

/* ---- save and load ---- */

/* n rows, the first at `first` of a ring of n, as a matrix and classes. */
static ferry_status rows_of(ferry_ctx *ctx, const codes *c, const codes_row *rows,
                            int64_t n, int64_t first, problem *p)
{
    ferry_status st = FERRY_OK;

    FERRY_NEW(ctx, p->row, n);
    FERRY_NEW(ctx, p->cls, n);
    for (int64_t i = 0; i < n; i++)
        add(p, &rows[(first + i) % n]);
    if (n > 0)
        FERRY_TRY(ferry_i_matrix_stack(ctx, n, p->row, &p->x));
    else
        FERRY_TRY(c->sparse ? ferry_i_matrix_csr(ctx, 0, c->d, 0, &p->x)
                            : ferry_i_matrix_dense(ctx, 0, c->d, &p->x));
done:
    return st;
}

/* Loading: the rows of p. *n counts what is complete, so that clearing after a failure is
 * safe. */
static ferry_status take_rows(ferry_ctx *ctx, const problem *p, const codes *c,
                              const char *name, codes_row *rows, int64_t *n)
{
    ferry_status st = FERRY_OK;

    for (int64_t i = 0; i < p->x->rows; i++) {
        FERRY_NEED(ctx, 0 <= p->cls[i] && p->cls[i] < c->k, FERRY_EDATA,
                   "tensor %s.cls: class %lld of %lld", name, (long long)p->cls[i],
                   (long long)c->k);
        rows[i].cls = (int32_t)p->cls[i];
        FERRY_TRY(ferry_i_matrix_take(ctx, p->x, 1, &i, c->d, NULL, &rows[i].x));
        *n = i + 1;
    }
done:
    return st;
}

/* A matrix NAME and classes NAME.cls, in the order of age, so that loading needs no
 * `first`. At most `most` rows; room is made for them where *rows is NULL. */
static void rows_file(ferry_io *io, const codes *c, const char *name, int64_t first,
                      int64_t most, codes_row **rows, int64_t *n)
{
    problem p = {.n = 0};

    if (io->to) ferry_i_io_fail(io, rows_of(io->ctx, c, *rows, *n, first, &p));
    ferry_i_io_matrix(io, name, &p.x);
    int64_t count = io->st == FERRY_OK ? p.x->rows : 0;
    ferry_i_io_int_list(io, ferry_i_io_name(io, "%s.cls", name), &count, &p.cls);
    FERRY_IO_NEED(io, p.x->cols == c->d && !p.x->dense == c->sparse && count <= most,
                  "tensor %s has %lld rows of %lld features", name, (long long)count,
                  (long long)p.x->cols);
    for (int64_t e = 0; ferry_i_io_loading(io) && e < p.x->nnz; e++)
        FERRY_IO_NEED(io, isfinite((p.x->dense ? p.x->dense : p.x->value)[e]),
                      "tensor %s: not finite", name);
    if (ferry_i_io_loading(io) && !*rows) FERRY_IO_NEW(io, *rows, count);
    if (ferry_i_io_loading(io))
        ferry_i_io_fail(io, take_rows(io->ctx, &p, c, name, *rows, n));
    problem_clear(&p);
}

/* v is saved although it could be solved for again: a loaded model must answer with the
 * same bits. The ring comes back with its oldest row at 0: it was saved in that order.
 * Everything is checked that a product or an index would trust. */
void ferry_i_codes_file(ferry_io *io, int64_t k, int64_t d, codes *c)
{
    int64_t form[] = {c->sparse, c->keep, c->labels, c->next};
    double how[] = {c->alpha, c->grow};

    ferry_i_io_ints(io, "codes", 4, form);
    ferry_i_io_numbers(io, "codes.how", 2, how);
    FERRY_IO_NEED(io,
                  0 <= form[0] && form[0] <= 1 && 0 <= form[1] && form[1] <= CODES_MOST &&
                      0 <= form[2] && form[2] < INT64_MAX / 2 && 0 <= form[3] &&
                      how[0] > 0 && how[1] > 1,
                  "tensor codes: keeps %lld rows, %lld labels, next %lld",
                  (long long)form[1], (long long)form[2], (long long)form[3]);
    if (ferry_i_io_loading(io)) {
        *c = (codes){.k = k,
                     .d = d,
                     .sparse = form[0] != 0,
                     .labels = form[2],
                     .next = form[3],
                     .alpha = how[0],
                     .grow = how[1]};
        FERRY_IO_NEW(io, c->ring, form[1]);
        if (c->ring) c->keep = form[1];
    }
    ferry_i_io_reals(io, "codes.o", 1, k, &c->o);
    for (int64_t i = 0; i < k && ferry_i_io_loading(io); i++)
        FERRY_IO_NEED(io, c->o[i] >= 0, "tensor codes.o: entry %lld is %g", (long long)i,
                      c->o[i]);
    ferry_i_io_reals(io, "codes.v", k, d, &c->v);
    rows_file(io, c, "codes.offline", 0, INT32_MAX, &c->offline, &c->n_offline);
    rows_file(io, c, "codes.ring", c->n_ring == c->keep ? c->first : 0, c->keep, &c->ring,
              &c->n_ring);
}
