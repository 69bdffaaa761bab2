/* Parts of ratings, biases, and the model of biases and factors (ratings.h). */
#include "learn/ratings.h"

#include <math.h>
#include <string.h>

/* ---- parts of ratings ---- */

static ratings like(const ratings *r, matrix x, matrix xt)
{
    ratings to = *r;

    to.x = x;
    to.xt = xt;
    return to;
}

ratings with_ratings(scope *s, const ratings *r, const double *value)
{
    const matrix x = with_values(s, r->x, value);

    return like(r, x, transpose(s, x, r->xt.rows, r->xt.n));
}

ratings ratings_without(scope *s, const ratings *r, const uint8_t *fold, uint8_t without)
{
    const ferry_matrix *x = r->x.m;
    ferry_matrix *m = NULL;
    int64_t n = 0;

    for (int64_t e = 0; e < x->nnz; e++)
        n += fold[e] != without;
    scope_check(s, ferry_i_matrix_csr(scope_ctx(s), x->rows, x->cols, n, &m));
    m->whole = x->whole;
    matrix part = matrix_own(s, m);
    part.rows = r->x.rows;
    n = 0;
    for (int64_t i = 0; i < x->rows; i++) {
        for (int64_t e = x->start[i]; e < x->start[i + 1]; e++) {
            if (fold[e] == without) continue;
            m->index[n] = x->index[e];
            m->value[n++] = x->value[e];
        }
        m->start[i + 1] = n;
    }
    return like(r, part, transpose(s, part, r->xt.rows, r->xt.n));
}

ratings ratings_whole(scope *s, const ratings *r)
{
    if (!r->x.rows.spread) return *r;
    const matrix x = replicate_rows(s, r->x);
    return like(r, x, transpose(s, x, HERE(r->items), r->items));
}

/* Of a matrix whose rows have biases `own`. */
static matrix less_biases(scope *s, matrix x, double mu, const double *own,
                          const double *other)
{
    const matrix e = with_values(s, x, x.m->value);

    own += x.rows.first;
    for (int64_t i = 0; i < x.n; i++)
        for (int64_t at = x.m->start[i]; at < x.m->start[i + 1]; at++)
            e.m->value[at] = x.m->value[at] - mu - own[i] - other[x.m->index[at]];
    return e;
}

ratings residuals(scope *s, const ratings *r, double mu, const double *a, const double *b)
{
    return like(r, less_biases(s, r->x, mu, a, b), less_biases(s, r->xt, mu, b, a));
}

void drop_ratings(const ratings *r)
{
    drop_values(r->x);
    drop_values(r->xt);
}

int64_t ratings_before(scope *s, const ratings *r)
{
    const int64_t mark = scope_mark(s);
    const block count = block_new(s, r->x.rows, r->x.n, 1);
    int64_t before = 0;

    for (int64_t i = 0; i < r->x.n; i++)
        count.at[i] = (double)row_at(r->x, i).n;
    const block all = replicate(s, count);
    for (int64_t i = 0; i < r->x.rows.first; i++)
        before += (int64_t)all.at[i];
    scope_release(s, mark);
    return before;
}

double mean_rating(scope *s, const ratings *r)
{
    const double n = (double)entries(s, r->x);
    double all = 0;

    for (int64_t e = 0; e < r->x.m->nnz; e++)
        all += r->x.m->value[e];
    const double mu = n > 0 ? sum(s, r->x.rows, all) / n : sum(s, r->x.rows, 0);
    if (!isfinite(mu)) scope_fail(s, FERRY_EDATA, "the ratings are too large to add up");
    return mu;
}

/* ---- biases ---- */

void shrunken_means(scope *s, matrix x, double mu, const double *other, double lambda,
                    double *to)
{
    const block all = {HERE(x.rows.n), x.rows.n, 1, to};
    const block here = block_part(all, x.rows, x.n);

    for (int64_t i = 0; i < x.n; i++) {
        const ferry_row r = row_at(x, i);
        double rest = 0;
        for (int64_t e = 0; e < r.n; e++)
            rest += r.value[e] - mu - other[r.index[e]];
        here.at[i] = r.n > 0 ? rest / ((double)r.n + lambda) : 0;
    }
    share_rows(s, here, all);
}

/* Each half step is the exact minimum given the other half, so the objective never grows. */
void fit_biases(scope *s, const ratings *r, double mu, double lambda, int64_t sweeps,
                double *a, double *b)
{
    for (int64_t t = 0; t < sweeps; t++) {
        shrunken_means(s, r->xt, mu, a, lambda, b);
        shrunken_means(s, r->x, mu, b, lambda, a);
    }
}

/* ---- the model ---- */

static const field factors_fields[] = {
    ARRAY(rating_factors, REALS, a, .rows = WIDTH),
    ARRAY(rating_factors, REALS, b, .rows = CLASSES),
    ARRAY(rating_factors, BLOCK, p, .rows = WIDTH, .cols = SIZE(rating_factors, rank)),
    ARRAY(rating_factors, BLOCK, q, .rows = CLASSES, .cols = SIZE(rating_factors, rank)),
    VALUE(rating_factors, REAL, mu),
    FIELD_AS(rating_factors, REAL, shrink_a, "fold:0"),
    FIELD_AS(rating_factors, REAL, shrink_b, "fold:1"),
    FIELD_AS(rating_factors, REAL, ridge, "fold:2"),
    VALUE(rating_factors, FLAG, weighted),
};
const table rating_factors_table = TABLE(rating_factors, factors_fields);

rating_factors factors_new(scope *keep, const ratings *r, int64_t rank)
{
    return (rating_factors){.rank = rank,
                            .a = NEW(keep, double, r->users),
                            .b = NEW(keep, double, r->items),
                            .p = block_new(keep, HERE(r->users), r->users, rank),
                            .q = block_new(keep, HERE(r->items), r->items, rank),
                            .shrink_a = -1,
                            .shrink_b = -1};
}

double factor_rating(const rating_factors *m, int64_t user, int64_t item)
{
    double x = m->mu + (user < 0 ? 0 : m->a[user]) + (item < 0 ? 0 : m->b[item]);

    if (user < 0 || item < 0) return x;
    const double *p = ROW(m->p, user), *q = ROW(m->q, item);
    for (int64_t c = 0; c < m->rank; c++)
        x += p[c] * q[c];
    return x;
}

void factors_scores(scope *s, const void *state, const domain *d, block out)
{
    (void)s;
    for (int64_t e = 0; e < d->r->n; e++)
        out.at[e] = factor_rating(state, d->r->user[e], d->r->item[e]);
}

/* ---- who comes later ---- */

/* Rows from `first` on, whose ratings are x: bias `own`, then factors, given those of the other side. */
static void fold_rows(scope *s, const rating_factors *m, matrix x, int64_t first,
                      double shrink, double *own, const double *other, block rows,
                      block factors)
{
    const matrix e = with_values(s, x, x.m->value);

    for (int64_t i = 0; i < x.n; i++) {
        const int64_t from = x.m->start[i], to = x.m->start[i + 1];
        double bias = 0;
        for (int64_t at = from; at < to; at++) {
            e.m->value[at] -= m->mu + other[x.m->index[at]];
            bias += e.m->value[at];
        }
        if (shrink < 0 || from == to) continue;
        bias /= (double)(to - from) + shrink;
        own[first + i] = bias;
        for (int64_t at = from; at < to; at++)
            e.m->value[at] -= bias;
    }
    if (m->ridge > 0 && m->rank > 0 && x.n > 0)
        ridge_rows(s, e, factors, m->ridge, m->weighted,
                   (block){HERE(x.n), x.n, m->rank, ROW(rows, first)}, NULL);
}

void factors_fold_in(scope *s, scope *keep, const void *state, const ratings *r, void *to)
{
    const rating_factors *m = state;
    rating_factors *more = to;

    *more = factors_new(keep, r, m->rank);
    more->mu = m->mu;
    more->shrink_a = m->shrink_a;
    more->shrink_b = m->shrink_b;
    more->ridge = m->ridge;
    more->weighted = m->weighted;
    memcpy(more->a, m->a, (size_t)m->p.n * sizeof *m->a);
    memcpy(more->b, m->b, (size_t)m->q.n * sizeof *m->b);
    copy(m->p, more->p);
    copy(m->q, more->q);
    fold_rows(s, m, r->x, m->p.n, m->shrink_a, more->a, m->b, more->p, m->q);
    fold_rows(s, m, r->xt, m->q.n, m->shrink_b, more->b, more->a, more->q, more->p);
}
