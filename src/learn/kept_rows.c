/* Rows that are kept as floats (kept_rows.h). */
#include "learn/kept_rows.h"

#include <math.h>
#include <string.h>

#include "linalg/ridges.h"

row_asked row_asked_new(scope *s, const row_maps *f, int64_t most)
{
    row_asked c = {.rows = NEW(s, const float *, most),
                   .dots = NEW(s, double, 3 * most),
                   .value = NEW(s, double, 2 * f->d)};

    c.row.s = NEW(s, float, f->d);
    if (f->sparse) c.row.index = NEW(s, int32_t, f->d);
    for (int i = 0; i < MAPS; i++)
        c.asked[i] = NEW(s, float, f->d);
    return c;
}

static double signed_sqrt(double v)
{
    return v < 0 ? -sqrt(-v) : sqrt(v);
}

static double mean_of(const row_maps *f, int64_t j)
{
    return f->sparse ? 0 : f->mean[j];
}

/* q and `one` of a row from its s, size and u. */
void find_lengths(const row_maps *f, kept_row *r)
{
    double q = 0;

    for (int64_t e = 0; e < r->n; e++) {
        const int64_t j = r->index ? r->index[e] : e;
        const double z = (double)r->s[e] * r->size - mean_of(f, j);
        q += z * z * f->by[j];
    }
    r->one[0] = r->one[1] = r->size > 0;
    r->one[2] = q > 0;
    r->q = q > 0 ? 1 / sqrt(q) : 0;
}

/* The row at work <- x. One whose squares are too small to be added up counts as one of zeros. */
void map_row(const row_maps *f, ferry_row x, row_asked *c)
{
    kept_row *r = &c->row;
    double norm = 0, all = 0;

    for (int64_t e = 0; e < x.n; e++) {
        norm += x.value[e] * x.value[e];
        all += fabs(x.value[e]);
    }
    norm = sqrt(norm);
    r->size = norm > 0 ? sqrt(all) : 0;
    r->u = norm > 0 ? all / norm : 0;
    const double by = norm > 0 ? 1 / r->size : 0;
    r->n = f->sparse ? 0 : f->d;
    if (!f->sparse && x.index) memset(r->s, 0, (size_t)f->d * sizeof *r->s);
    for (int64_t e = 0; e < x.n; e++) {
        const float s = (float)(signed_sqrt(x.value[e]) * by);
        if (!f->sparse) {
            r->s[x.index ? x.index[e] : e] = s;
        } else if (s != 0) {
            r->index[r->n] = (int32_t)(x.index ? x.index[e] : e);
            r->s[r->n++] = s;
        }
    }
    find_lengths(f, r);
}

/* One piece of memory, so that it is there or is not. */
static kept_row *row_new(scope *keep, const row_maps *f, int64_t n)
{
    const size_t s = (size_t)n * sizeof(float),
                 index = f->sparse ? (size_t)n * sizeof(int32_t) : 0;
    kept_row *r = scope_new(keep, 1, sizeof *r + s + index);

    r->users = 1;
    r->n = n;
    r->s = (float *)(r + 1);
    r->index = f->sparse ? (int32_t *)(r->s + n) : NULL;
    return r;
}

kept_row *keep_row(scope *keep, const row_maps *f, const kept_row *from, int32_t cls)
{
    kept_row *r = row_new(keep, f, from->n);
    kept_row own = *r;

    memcpy(own.s, from->s, (size_t)from->n * sizeof *own.s);
    if (f->sparse) memcpy(own.index, from->index, (size_t)from->n * sizeof *own.index);
    *r = *from;
    r->users = 1;
    r->s = own.s;
    r->index = own.index;
    r->cls = cls;
    return r;
}

void drop_row(scope *keep, kept_row *r)
{
    if (--r->users == 0) scope_drop(keep, r);
}

/* Products of row r: ask for it, then for its u, s and q with n others, or its s alone, and forget it. */
void ask_for(const row_maps *f, const kept_row *r, row_asked *c)
{
    double size = 0, mean = 0, *w = c->value;

    for (int64_t e = 0; e < r->n; e++) {
        const int64_t j = r->index ? r->index[e] : e;
        w[e] = ((double)r->s[e] * r->size - mean_of(f, j)) * f->by[j];
        size += w[e] * w[e];
        mean += w[e] * mean_of(f, j);
    }
    c->w_size = sqrt(size);
    c->w_mean = mean;
    const double by = size > 0 ? 1 / c->w_size : 0;
    for (int64_t e = 0; e < r->n; e++) {
        const int64_t j = r->index ? r->index[e] : e;
        const double s = (double)r->s[e];
        c->asked[0][j] = (float)(r->u * s * fabs(s));
        c->asked[1][j] = r->s[e];
        c->asked[2][j] = (float)(w[e] * by);
    }
}

void forget(const row_maps *f, const kept_row *r, row_asked *c)
{
    for (int i = 0; f->sparse && i < MAPS; i++)
        for (int64_t e = 0; e < r->n; e++)
            c->asked[i][r->index[e]] = 0;
}

/* dots (n x 3) <- b's, (b |b|)'u, b'w; all: else the first alone. */
static void dots(const row_maps *f, row_asked *c, bool all, int64_t n,
                 kept_row *const *others)
{
    const ferry_asked a = {f->d, c->asked[1], all ? c->asked[0] : NULL, c->asked[2]};

    for (int64_t j = 0; j < n; j++)
        c->rows[j] = others[j]->s;
    if (!f->sparse) {
        ferry_i_asked_dots(&a, n, c->rows, c->dots);
        return;
    }
    for (int64_t j = 0; j < n; j++) {
        const kept_row *b = others[j];
        double *to = c->dots + 3 * j;
        to[0] = to[1] = to[2] = 0;
        for (int64_t e = 0; e < b->n; e++) {
            const int64_t at = b->index[e];
            to[0] += (double)(b->s[e] * a.s[at]);
            to[1] += (double)(b->s[e] * fabsf(b->s[e]) * c->asked[0][at]);
            to[2] += (double)(b->s[e] * a.w[at]);
        }
    }
}

/* out: u, s and q, m apart. */
void products(const row_maps *f, const kept_row *r, row_asked *c, int64_t n,
              kept_row *const *others, int64_t ld, double *out)
{
    dots(f, c, true, n, others);
    for (int64_t j = 0; j < n; j++) {
        const kept_row *b = others[j];
        const double *of = c->dots + 3 * j;
        out[j] = b->u * of[1];
        out[ld + j] = of[0];
        out[2 * ld + j] = r->q * b->q * (c->w_size * b->size * of[2] - c->w_mean);
    }
}

void near_rows(const row_maps *f, row_asked *c, int64_t n, kept_row *const *others,
               double *out)
{
    dots(f, c, false, n, others);
    for (int64_t j = 0; j < n; j++)
        out[j] = c->dots[3 * j];
}

/* u (or s) of a row as doubles. */
ferry_row wide_row(const kept_row *r, bool u, double *value)
{
    for (int64_t e = 0; e < r->n; e++) {
        const double s = (double)r->s[e];
        value[e] = u ? r->u * s * fabs(s) : s;
    }
    return (ferry_row){r->n, r->index, value};
}

ferry_row given_row(const kept_row *r, double *value)
{
    for (int64_t e = 0; e < r->n; e++)
        value[e] = r->size * r->size * (double)r->s[e] * fabs((double)r->s[e]);
    return (ferry_row){r->n, r->index, value};
}

void pack_rows(scope *s, const row_maps *f, int64_t n, kept_row *const *rows,
               filed_rows *to)
{
    int64_t entries_of_all = 0, at = 0;
    ferry_matrix *x = NULL;

    for (int64_t i = 0; i < n; i++)
        entries_of_all += rows[i]->n;
    scope_check(s, f->sparse ? ferry_i_matrix_csr(scope_ctx(s), n, f->d, entries_of_all, &x)
                             : ferry_i_matrix_dense(scope_ctx(s), n, f->d, &x));
    *to = (filed_rows){n, f->d, matrix_own(s, x), block_new(s, HERE(n), n, 2),
                       NEW(s, int32_t, n)};
    for (int64_t i = 0; i < n; i++) {
        const kept_row *r = rows[i];
        for (int64_t e = 0; e < r->n; e++)
            (f->sparse ? x->value : x->dense)[at + e] = (double)r->s[e];
        if (f->sparse && r->n > 0)
            memcpy(x->index + at, r->index, (size_t)r->n * sizeof *r->index);
        at += r->n;
        if (f->sparse) x->start[i + 1] = at;
        ROW(to->sizes, i)[0] = r->size;
        ROW(to->sizes, i)[1] = r->u;
        to->cls[i] = r->cls;
    }
}

/* And back. */
kept_row **unpack_rows(scope *keep, const row_maps *f, filed_rows *from, int64_t most)
{
    kept_row **rows = NEW(keep, kept_row *, most);

    for (int64_t i = 0; i < from->n; i++) {
        const ferry_row x = row_at(from->x, i);
        kept_row *r = rows[i] = row_new(keep, f, x.n);
        for (int64_t e = 0; e < x.n; e++) {
            r->s[e] = (float)fmin(fmax(x.value[e], -1), 1);
            if (f->sparse) r->index[e] = x.index[e];
        }
        r->size = fabs(ROW(from->sizes, i)[0]);
        r->u = fabs(ROW(from->sizes, i)[1]);
        r->cls = from->cls[i];
        find_lengths(f, r);
    }
    scope_drop(keep, from->sizes.at);
    scope_drop(keep, from->cls);
    *from = (filed_rows){0};
    return rows;
}

static const field rows_fields[] = {
    FIELD_AS(filed_rows, MATRIX, x, "", .rows = SIZE(filed_rows, n),
             .cols = SIZE(filed_rows, d), .passing = true),
    ARRAY(filed_rows, BLOCK, sizes, .rows = SIZE(filed_rows, n), .cols = CONSTANT(2)),
    ARRAY(filed_rows, PLACES, cls, .rows = SIZE(filed_rows, n), .lo = 0, .below = CLASSES),
};
const table kept_rows_table = TABLE(filed_rows, rows_fields);
