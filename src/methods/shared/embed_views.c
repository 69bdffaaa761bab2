/* Views over the instances of a domain: centred, balanced, compressed (embedding.h). */
#include <float.h>
#include <math.h>
#include <string.h>

#include "core/ranks.h"
#include "learn/rows.h"
#include "methods/shared/embedding.h"

enum { COMPRESS_MOST = 2000 }; /* instances: the m x m eigenproblem takes seconds there */

void ferry_i_embed_view_free(embed_view *v)
{
    if (!v) return;
    ferry_i_centred_clear(&v->c);
    FERRY_FREE(v->mean, v->q, v);
}

/* ---- centring and balancing ---- */

/* The old words ("frob", "feature+frob" ...) come after the kinds of ferry_scale in the
 * option's list, in the order of the table here. They still work in task files. */
void ferry_i_embed_scaling(int *scale, int *balance)
{
    static const int old[][2] = {{FERRY_SCALE_NONE, BALANCE_FROB},
                                 {FERRY_SCALE_STANDARD, BALANCE_FROB},
                                 {FERRY_SCALE_NONE, BALANCE_SPECTRAL},
                                 {FERRY_SCALE_STANDARD, BALANCE_SPECTRAL}};

    if (*scale > FERRY_SCALE_L2) {
        const int *both = old[*scale - FERRY_SCALE_L2 - 1];
        *scale = both[0];
        *balance = both[1];
    }
    if (*balance == BALANCE_AUTO)
        *balance = *scale == FERRY_SCALE_NONE ? BALANCE_NONE : BALANCE_FROB;
}

/* mean_j over the rows that are there; a cell that CSR does not store is 0, and a row that
 * is not there is 0, too.
 * A sum that overflows is reported by its feature, before it turns every product to NaN. */
static ferry_status fit_means(ferry_ctx *ctx, embed_view *v)
{
    ferry_status st = FERRY_OK;

    FERRY_TRY(ferry_e(ctx)->sums(ctx, v->c.x, FERRY_COLS, 1, v->mean));
    for (int64_t j = 0; j < v->cols; j++) {
        v->mean[j] = v->rows > 0 ? v->mean[j] / (double)v->rows : 0;
        FERRY_NEED(ctx, isfinite(v->mean[j]), FERRY_ENUMERIC,
                   "feature %lld: the values are too large to add up", (long long)(j + 1));
    }
done:
    return st;
}

/* x <- x - mean where it is dense and there; else mean becomes the shift. */
static ferry_status centre(ferry_ctx *ctx, embed_view *v)
{
    ferry_status st = FERRY_OK;
    const ferry_matrix *x = v->c.x;

    if (!x->dense) {
        FERRY_NEW(ctx, v->c.shift, v->cols);
        memcpy(v->c.shift, v->mean, (size_t)v->cols * sizeof *v->mean);
    }
    for (int64_t i = 0; x->dense && i < x->rows; i++)
        for (int64_t j = 0; ferry_i_centred_has(&v->c, i) && j < x->cols; j++)
            x->dense[i * x->cols + j] -= v->mean[j];
done:
    return st;
}

/* |X|_F^2, where a cell that is not stored is mean_j^2: = sum (x - mean)^2 over those that
 * are, and the rest counted by column. */
static ferry_status norm2(ferry_ctx *ctx, const embed_view *v, double *out)
{
    ferry_status st = FERRY_OK;
    const ferry_matrix *x = v->c.x;
    const double *value = row_values(x);
    double *stored = NULL;

    *out = 0;
    FERRY_NEW(ctx, stored, v->cols);
    for (int64_t e = 0; x->dense && e < x->nnz; e++)
        *out += value[e] * value[e];
    for (int64_t e = 0; !x->dense && e < x->nnz; e++) {
        const double c = value[e] - v->mean[x->index[e]];
        *out += c * c;
        stored[x->index[e]]++;
    }
    FERRY_TRY(ferry_i_sum_rows(ctx, x, 1, out));
    if (!x->dense) FERRY_TRY(ferry_i_sum_rows(ctx, x, v->cols, stored));
    for (int64_t j = 0; !x->dense && j < v->cols; j++)
        *out += ((double)v->rows - stored[j]) * v->mean[j] * v->mean[j];
done:
    ferry_i_free(stored);
    return st;
}

/* X'X u, or X X'u, which has the same largest eigenvalue; t is what is in between. */
typedef struct squared {
    const ferry_centred *c;
    bool wide;
} squared;

/* One application of the operator for Lanczos: two products with X, centred on the fly. */
static ferry_status apply_squared(ferry_ctx *ctx, void *arg, const ferry_block *u,
                                  ferry_block *y)
{
    ferry_status st = FERRY_OK;
    const squared *s = arg;
    ferry_block *t = NULL;

    FERRY_TRY(ferry_i_block_new(ctx, s->wide ? s->c->x->cols : s->c->x->rows, u->k, &t));
    if (s->wide) {
        FERRY_TRY(ferry_i_centred_tmul(ctx, s->c, u, t));
        ferry_i_centred_mul(ctx, s->c, t, y);
    } else {
        ferry_i_centred_mul(ctx, s->c, u, t);
        FERRY_TRY(ferry_i_centred_tmul(ctx, s->c, t, y));
    }
done:
    ferry_i_free(t);
    return st;
}

/* *out <- the largest eigenvalue of X'X (= squared largest singular value), by Lanczos on
 * whichever of X'X and X X' is smaller (of rows that are spread over ranks the first); neither is
 * formed. */
static ferry_status spectral2(ferry_ctx *ctx, const embed_view *v, double *out)
{
    ferry_status st = FERRY_OK;
    squared s = {.c = &v->c, .wide = v->cols > v->c.x->rows && !v->c.x->whole};
    const int64_t size = s.wide ? v->c.x->rows : v->cols;
    ferry_block *vector = NULL;

    *out = 0;
    if (size == 0 || v->rows == 0) goto done;
    FERRY_TRY(ferry_i_block_new(ctx, size, 1, &vector));
    FERRY_TRY(ferry_e(ctx)->eigs(ctx, size, apply_squared, &s, 1, 0, out, vector));
done:
    ferry_i_free(vector);
    return st;
}

/* Divide by sqrt(|X|^2 / m) in the norm asked for; a view that is all constant stays. */
static ferry_status balance_view(ferry_ctx *ctx, embed_balance balance, embed_view *v)
{
    double size2 = 0, most = 0;

    v->factor = 1;
    FERRY_PASS(norm2(ctx, v, &v->norm2));
    size2 = v->norm2;
    if (balance == BALANCE_NONE) return FERRY_OK;
    if (!isfinite(size2))
        return ferry_i_fail(ctx, FERRY_ENUMERIC, "a view's values are too large to scale");
    if (balance == BALANCE_SPECTRAL) FERRY_PASS(spectral2(ctx, v, &size2));
    for (int64_t j = 0; j < v->cols; j++)
        most = fmax(most, fabs(v->mean[j]));
    const double norm = sqrt(fmax(size2, 0) / (v->rows > 0 ? (double)v->rows : 1));
    /* A constant view has a deviation of rounding size, not of 0. */
    if (!(norm > DBL_MIN && norm > 1e-13 * most)) return FERRY_OK;
    v->factor = 1 / norm;
    v->norm2 /= norm * norm;
    for (int64_t e = 0; e < v->c.x->nnz; e++)
        row_values(v->c.x)[e] *= v->factor;
    for (int64_t j = 0; v->c.shift && j < v->cols; j++)
        v->c.shift[j] *= v->factor;
    return FERRY_OK;
}

/* A matrix whose cells may be changed: x itself when nobody else has it. */
static ferry_status own(ferry_ctx *ctx, ferry_matrix *x, ferry_matrix **out)
{
    ferry_status st = FERRY_OK;
    int64_t *rows = NULL;

    if (x->refs == 1 && !x->borrowed) { /* a sibling's values are its own */
        *out = ferry_i_matrix_ref(x);
        goto done;
    }
    FERRY_NEW(ctx, rows, x->rows);
    for (int64_t i = 0; i < x->rows; i++)
        rows[i] = i;
    FERRY_TRY(ferry_i_matrix_take(ctx, x, x->rows, rows, x->cols, NULL, out));
    (*out)->whole = x->whole;
done:
    ferry_i_free(rows);
    return st;
}

/* Copy if shared, mean, centre, balance, in this order: the factor is of the centred
 * view. */
ferry_status ferry_i_embed_view_new(ferry_ctx *ctx, ferry_matrix *x, const uint8_t *there,
                                    embed_balance balance, embed_view **out)
{
    ferry_status st = FERRY_OK;
    embed_view *v = NULL;

    *out = NULL;
    FERRY_NEW(ctx, v, 1);
    FERRY_TRY(own(ctx, x, &v->c.x));
    v->cols = v->features = x->cols;
    v->rows = x->rows;
    FERRY_NEW(ctx, v->mean, x->cols);
    if (there) FERRY_NEW(ctx, v->c.present, x->rows);
    for (int64_t i = 0; there && i < x->rows; i++) {
        v->c.present[i] = there[i] != 0;
        v->rows -= there[i] == 0;
    }
    if (x->whole) FERRY_TRY(ferry_i_ranks_count(ctx, &v->rows));
    FERRY_TRY(fit_means(ctx, v));
    FERRY_TRY(centre(ctx, v));
    FERRY_TRY(balance_view(ctx, balance, v));
    FERRY_MOVE(*out, v);
done:
    ferry_i_matrix_free(x);
    ferry_i_embed_view_free(v);
    return st;
}

/* ---- compression ---- */

/* The rows of all ranks. */
static ferry_status all_rows(ferry_ctx *ctx, const ferry_centred *c, ferry_centred *out)
{
    ferry_status st = FERRY_OK;
    double *present = NULL;
    void *all = NULL;

    FERRY_TRY(ferry_i_matrix_collect(ctx, c->x, &out->x));
    FERRY_NEW(ctx, present, c->x->rows);
    for (int64_t i = 0; i < c->x->rows; i++)
        present[i] = ferry_i_centred_has(c, i);
    FERRY_TRY(ferry_i_rows_collect(ctx, c->x, sizeof *present, present, &all));
    FERRY_MOVE(out->present, all);
    if (c->shift) {
        FERRY_NEW(ctx, out->shift, c->x->cols);
        memcpy(out->shift, c->shift, (size_t)c->x->cols * sizeof *c->shift);
    }
done:
    FERRY_FREE(present, all);
    return st;
}

/* With X X' = V diag(l) V' and l > 0 kept: R = V sqrt(l), Q = X'V / sqrt(l), R Q' = X.
 * eigh gives eigenvalues ascending, so column m - 1 - c is the c-th largest. Below 1e-13
 * of the largest they are rounding; centring alone makes one of them 0. X X' takes the rows of
 * all ranks, which are few; of R and V a rank keeps its own. */
ferry_status ferry_i_embed_view_compress(ferry_ctx *ctx, embed_view *v)
{
    ferry_status st = FERRY_OK;
    const int64_t m = ferry_i_all_rows(v->c.x), here = v->c.x->rows;
    int64_t first = 0;
    ferry_centred all = {0};
    ferry_small *g = NULL;
    ferry_block *left = NULL;
    ferry_matrix *r = NULL;
    double *l = NULL;
    int64_t rank = 0;

    FERRY_NEW(ctx, l, m);
    FERRY_TRY(ferry_i_small_new(ctx, m, m, &g));
    FERRY_TRY(ferry_i_first_row(ctx, v->c.x, &first));
    if (v->c.x->whole) FERRY_TRY(all_rows(ctx, &v->c, &all));
    FERRY_TRY(ferry_i_centred_gram(ctx, all.x ? &all : &v->c, g));
    FERRY_TRY(ferry_e(ctx)->eigh(ctx, g, l));
    while (rank < m && l[m - 1 - rank] > 1e-13 * l[m - 1])
        rank++;
    FERRY_TRY(ferry_i_block_new(ctx, here, rank, &left));
    FERRY_TRY(ferry_i_matrix_dense(ctx, here, rank, &r));
    r->whole = v->c.x->whole;
    FERRY_TRY(ferry_i_block_new(ctx, v->cols, rank, &v->q));
    for (int64_t c = 0; c < rank; c++) {
        const double root = sqrt(l[m - 1 - c]);
        for (int64_t i = 0; i < here; i++) {
            FERRY_ROW(left, i)[c] = FERRY_AT(g, first + i, m - 1 - c) / root;
            r->dense[i * rank + c] = FERRY_AT(g, first + i, m - 1 - c) * root;
        }
    }
    FERRY_TRY(ferry_i_centred_tmul(ctx, &v->c, left, v->q));
    ferry_i_matrix_free(v->c.x);
    FERRY_MOVE(v->c.x, r);
    /* R has the centring in it. mean and factor stay: they are of the d_j features, and
     * new instances are embedded through them. */
    ferry_i_free(v->c.shift);
    v->c.shift = NULL;
    v->cols = rank;
done:
    ferry_i_centred_clear(&all);
    ferry_i_matrix_free(r);
    FERRY_FREE(left, g, l);
    return st;
}

/* ---- the views of a domain ---- */

void ferry_i_embed_views_free(int64_t n, embed_view **views)
{
    for (int64_t j = 0; views && j < n; j++)
        ferry_i_embed_view_free(views[j]);
    ferry_i_free(views);
}

/* The matrices of the prepared rows are moved, not copied: a dense view of the target
 * exists once. What is left of the preparation serves new data. */
ferry_status ferry_i_embed_views(ferry_ctx *ctx, const char *method, const ferry_task *task,
                                 int scale, embed_balance balance,
                                 ferry_prepared **prepared, embed_view ***views)
{
    ferry_status st = FERRY_OK;
    const ferry_wants wants = {.method = method,
                               .domains = FERRY_THE_TARGET,
                               .layout = FERRY_APART,
                               .scale = scale,
                               .every = true};
    ferry_prepared *p = NULL;
    embed_view **x = NULL;
    int64_t n = 0;

    *views = NULL;
    *prepared = NULL;
    FERRY_TRY(ferry_i_prepare(ctx, task, &wants, &p));
    ferry_rows *r = &p->rows[0];
    n = r->n_x;
    FERRY_NEW(ctx, x, n);
    for (int64_t j = 0; j < n; j++) {
        ferry_matrix *mine = r->x[j];
        r->x[j] = NULL;
        st = ferry_i_embed_view_new(ctx, mine, r->there[j], balance, &x[j]);
        if (st == FERRY_ENUMERIC)
            ferry_i_prefix(ctx, st, "view '%s'", r->domain->views[j]->name);
        FERRY_TRY(st);
        const int64_t all = ferry_i_all_rows(x[j]->c.x);
        if (x[j]->cols > all && all <= COMPRESS_MOST)
            FERRY_TRY(ferry_i_embed_view_compress(ctx, x[j]));
        else if (!x[j]->c.x->dense) /* the solver multiplies by X_j' many times */
            FERRY_TRY(ferry_i_matrix_index(ctx, x[j]->c.x));
    }
    ferry_i_prepared_forget(p);
    *prepared = p;
    *views = x;
    p = NULL;
    x = NULL;
done:
    ferry_i_embed_views_free(n, x);
    ferry_i_prepared_free(p);
    return st;
}

/* Whether view j has two instances in common with another one. */
static bool shares(const ferry_domain *t, int64_t j)
{
    const ferry_view *v = t->views[j];

    for (int64_t h = 0; h < t->n_views; h++) {
        int64_t both = 0;
        for (int64_t i = 0; h != j && i < v->n_instances; i++)
            both += v->row_of[i] >= 0 && t->views[h]->row_of[i] >= 0;
        if (both >= 2) return true;
    }
    return false;
}

/* A view that shares fewer than two instances with every other has no correlation with
 * them, and its directions would be noise. d is at most the sum of the views' ranks; for
 * graphs (no views) it is below the number of instances. */
ferry_status ferry_i_embed_fits(ferry_ctx *ctx, const char *method, const ferry_domain *t,
                                int64_t d)
{
    ferry_status st = FERRY_OK;
    const int64_t m = ferry_i_ids_count(t->ids);
    int64_t size = 0;

    for (int64_t j = 0; j < t->n_views; j++) {
        const ferry_matrix *x = t->views[j]->x;
        size += x->cols < x->rows ? x->cols : x->rows;
        FERRY_NEED(ctx, t->n_views == 1 || shares(t, j), FERRY_ENEEDS,
                   "%s needs views with common ids; view '%s' of target '%s' shares fewer "
                   "than two instances with every other",
                   method, t->views[j]->name, t->name);
    }
    FERRY_NEED(ctx, t->n_views == 0 || d <= size, FERRY_ENEEDS,
               "%s: d = %lld, but the views of target '%s' have only %lld dimensions "
               "(features, or instances where those are fewer)",
               method, (long long)d, t->name, (long long)size);
    FERRY_NEED(ctx, t->n_views > 0 || d < m, FERRY_ENEEDS,
               "%s: d = %lld, but target '%s' has only %lld instances", method,
               (long long)d, t->name, (long long)m);
done:
    return st;
}
