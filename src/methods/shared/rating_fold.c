/* Folding in: users and items that were not there at fit get their rows from a few
 * ratings, with everything that the model knows held fixed.
 *
 *   biases   a_i = sum_j (x_ij - mu - b_j) / (n_i + lambda), as at fit
 *   ridge    p_i = (sum_j q_j q_j' + lambda I)^-1 sum_j e_ij q_j,  e = x - mu - a - b
 *   soft     p(c | i) prop pi_c exp(-cost_c / (2 sigma2)), p_i = w Pu R; one step of the
 *            mean field with sigma2 and the shares of the groups as they are
 *   hard     u_n(i) = argmin_c sum_j (x_ij - others - lambda_n R_n[c, v_n(j)])^2, first
 *            for x alone, then source after source until none moves
 *
 * and the same for items. Users come first, by the items that were there at fit. */
#include <math.h>
#include <string.h>

#include "methods/shared/near.h"

/* Turns of the hard groups, at most. Each turn can only lower the squared error, so they
 * come to rest by themselves; the bound is on time. */
enum { ROUNDS = 20 };

/* ---- the larger model ---- */

/* Copy of `ids` with those of `more` that it lacks and that have a rating in x (a row
 * each) at its end. NULL: no memory. */
static ferry_ids *extended(const ferry_ids *ids, const ferry_ids *more,
                           const ferry_matrix *x)
{
    ferry_ids *out = ferry_i_ids_copy(ids);

    for (int64_t i = 0; out && i < ferry_i_ids_count(more); i++) {
        if (x->start[i + 1] == x->start[i] ||
            ferry_i_ids_add(out, ferry_i_ids_at(more, i), NULL) >= 0)
            continue;
        ferry_i_ids_free(out);
        out = NULL;
    }
    return out;
}

static void copy_reals(double *to, const double *from, int64_t n)
{
    if (n > 0) memcpy(to, from, (size_t)n * sizeof *to);
}

/* A copy of m with room for more users and items: theirs are the rows of the unknown
 * until they are folded in, so that whoever has no usable rating is rated as a stranger.
 * The model itself is not touched: predictions from it may be under way elsewhere. */
static ferry_status enlarge(ferry_ctx *ctx, const rating_model *m, ferry_ids *users,
                            ferry_ids *items, rating_model **out)
{
    ferry_status st = FERRY_OK;
    rating_model *t = NULL;
    int64_t *shape = ferry_i_calloc(2 * m->parts, sizeof *shape), group = 0;

    *out = NULL;
    t = ferry_i_calloc(1, sizeof *t);
    if (!shape || !t) {
        ferry_i_ids_free(users);
        ferry_i_ids_free(items);
    }
    FERRY_HAVE(ctx, shape && t);
    FERRY_TRY(ferry_i_rating_model_fill(ctx, users, items, m->rank, t));
    t->mu = m->mu;
    t->lo = m->lo;
    t->hi = m->hi;
    t->shrink_a = m->shrink_a;
    t->shrink_b = m->shrink_b;
    t->ridge = m->ridge;
    t->weighted = m->weighted;
    copy_reals(t->a, m->a, m->p->rows);
    copy_reals(t->b, m->b, m->q->rows);
    copy_reals(t->p0, m->p0, m->rank);
    copy_reals(t->q0, m->q0, m->rank);
    copy_reals(t->p->data, m->p->data, m->p->rows * m->rank);
    copy_reals(t->q->data, m->q->data, m->q->rows * m->rank);
    /* Strangers' rows until fold_rows() gets to them. */
    for (int64_t i = m->p->rows; i < t->p->rows; i++)
        copy_reals(FERRY_ROW(t->p, i), m->p0, m->rank);
    for (int64_t j = m->q->rows; j < t->q->rows; j++)
        copy_reals(FERRY_ROW(t->q, j), m->q0, m->rank);
    for (int64_t s = 0; s < m->parts; s++) {
        shape[s] = m->part[s].k;
        shape[m->parts + s] = m->part[s].l;
    }
    if (m->parts > 0)
        FERRY_TRY(ferry_i_rating_model_parts(ctx, t, m->parts, shape, shape + m->parts,
                                             m->pu != NULL));
    if (m->pu) copy_reals(t->pu->data, m->pu->data, m->pu->rows * m->pu->k);
    for (int64_t s = 0; s < m->parts; group += m->part[s++].k) {
        const rating_part *from = &m->part[s];
        copy_reals(t->part[s].r, from->r, from->k * from->l + from->k + from->l);
        t->part[s].weight = from->weight;
        t->part[s].sigma2 = from->sigma2;
        for (int64_t i = m->p->rows; m->pu && i < t->p->rows; i++)
            copy_reals(FERRY_ROW(t->pu, i) + group, from->pi_u, from->k);
    }
    if (m->near) FERRY_TRY(ferry_i_near_copy(ctx, m->near, &t->near));
    FERRY_MOVE(*out, t);
done:
    ferry_i_rating_model_free(t);
    ferry_i_free(shape);
    return st;
}

/* ---- one row ---- */

/* One user (or item) to fold in, from ratings x[0..n) of items (users) at other[]. */
typedef struct fold {
    rating_model *m;
    bool items; /* the row is an item's */
    int64_t row, n;
    const int32_t *other;
    double *x, *cost; /* x: the ratings, then what remains of them; cost: most groups */
} fold;

/* x <- x - mu - bias of the others, then the row's own bias, which goes off too. */
static void fold_bias(const fold *f)
{
    rating_model *m = f->m;
    const double shrink = f->items ? m->shrink_b : m->shrink_a;
    const double *others = f->items ? m->a : m->b;
    double sum = 0;

    for (int64_t e = 0; e < f->n; e++) {
        f->x[e] -= m->mu + others[f->other[e]];
        sum += f->x[e];
    }
    if (shrink < 0) return;       /* this model has no such bias */
    sum /= (double)f->n + shrink; /* sum_j (x_ij - mu - b_j) / (n_i + lambda) */
    (f->items ? m->b : m->a)[f->row] = sum;
    for (int64_t e = 0; e < f->n; e++)
        f->x[e] -= sum;
}

/* In logarithms, since costs of many ratings underflow. A share of 0 counts as 1e-300, so
 * that no group is impossible whatever the ratings say. */
void ferry_i_rating_posterior(int64_t n, const double *cost, const double *pi,
                              double sigma2, double *p)
{
    double top = -INFINITY, sum = 0;

    for (int64_t c = 0; c < n; c++) {
        p[c] = log(fmax(pi[c], 1e-300)) - cost[c] / (2 * sigma2);
        top = fmax(top, p[c]);
    }
    for (int64_t c = 0; c < n; c++)
        sum += p[c] = exp(p[c] - top); /* the largest is 1: no overflow */
    for (int64_t c = 0; c < n; c++)
        p[c] /= sum;
}

/* Part t, whose columns begin at `from` and whose user groups begin at `group`. The cost
 * of group c is sum_e E (x_e - R[c, d])^2 over the groups d of the other side, less the
 * |x|^2 that all groups have; the posterior of that is q of an item, and Pu of a user,
 * whose p is w Pu R. */
static void fold_soft_part(const fold *f, const rating_part *t, int64_t from, int64_t group)
{
    rating_model *m = f->m;
    const int64_t own = f->items ? t->l : t->k, other = f->items ? t->k : t->l;
    const int64_t step = f->items ? 1 : t->l, step_other = f->items ? t->l : 1;

    for (int64_t c = 0; c < own; c++)
        f->cost[c] = 0;
    for (int64_t e = 0; e < f->n; e++) {
        const double *share = f->items ? FERRY_ROW(m->pu, f->other[e]) + group
                                       : FERRY_ROW(m->q, f->other[e]) + from;
        for (int64_t c = 0; c < own; c++) {
            for (int64_t d = 0; d < other; d++) {
                const double r = t->r[c * step + d * step_other];
                /* (x - r)^2 = x^2 + r (r - 2 x), and x^2 is the same for every group c. */
                f->cost[c] += share[d] * r * (r - 2 * f->x[e]);
            }
        }
    }
    if (f->items) {
        ferry_i_rating_posterior(own, f->cost, t->pi_v, t->sigma2,
                                 FERRY_ROW(m->q, f->row) + from);
        return;
    }
    double *pu = FERRY_ROW(m->pu, f->row) + group;
    ferry_i_rating_posterior(own, f->cost, t->pi_u, t->sigma2, pu);
    for (int64_t d = 0; d < t->l; d++) {
        double sum = 0;
        for (int64_t c = 0; c < t->k; c++)
            sum += pu[c] * t->r[c * t->l + d];
        FERRY_ROW(m->p, f->row)[from + d] = t->weight * sum;
    }
}

static double dot(int64_t n, const double *p, const double *q)
{
    double sum = 0;

    for (int64_t c = 0; c < n; c++)
        sum += p[c] * q[c];
    return sum;
}

/* What group c of part t would give at entry e: lambda R[c, v(j)] for a user, and for an
 * item what the user's row already holds in column c.
 * A dot product with q serves because q is 1 in the item's group and 0 elsewhere. */
static double hard_value(const fold *f, const rating_part *t, int64_t from, int64_t c,
                         int64_t e)
{
    const double *q = NULL;

    if (f->items) return FERRY_ROW(f->m->p, f->other[e])[from + c];
    q = FERRY_ROW(f->m->q, f->other[e]) + from;
    return t->weight * dot(t->l, t->r + c * t->l, q);
}

/* The best group of part t for x less the other parts (alone: for x); whether it moved.
 */
static bool fold_hard_part(const fold *f, const rating_part *t, int64_t from, bool alone)
{
    rating_model *m = f->m;
    const int64_t groups = f->items ? t->l : t->k;
    double *row = f->items ? FERRY_ROW(m->q, f->row) : FERRY_ROW(m->p, f->row);
    const double scale = alone && t->weight != 0 ? 1 / t->weight : 1;
    int64_t best = 0;
    bool moved = false;

    if (t->weight == 0) return false;
    for (int64_t c = 0; c < groups; c++) {
        f->cost[c] = 0;
        for (int64_t e = 0; e < f->n; e++) {
            const double *other =
                f->items ? FERRY_ROW(m->p, f->other[e]) : FERRY_ROW(m->q, f->other[e]);
            /* What the other sources leave of this rating: x less (all parts - this
             * part). */
            const double rest = alone ? f->x[e]
                                      : f->x[e] - (dot(m->rank, row, other) -
                                                   dot(t->l, row + from, other + from));
            const double d = rest - scale * hard_value(f, t, from, c, e);
            f->cost[c] += d * d;
        }
        if (f->cost[c] < f->cost[best]) best = c;
    }
    /* An item's q is 1 in its group; a user's p is the row of its group in weight R. */
    for (int64_t d = 0; d < t->l; d++) {
        const double to = f->items ? d == best : t->weight * t->r[best * t->l + d];
        moved = moved || row[from + d] != to;
        row[from + d] = to;
    }
    return moved;
}

/* Soft groups need one step, since nothing else moves. Hard ones of several sources
 * depend on each other: round -1 fits each to x alone, then they take turns. */
static void fold_groups(const fold *f)
{
    const rating_model *m = f->m;
    bool moved = m->pu == NULL;

    for (int64_t round = -1; round < ROUNDS && (round < 1 || moved); round++) {
        moved = false;
        for (int64_t s = 0, from = 0, group = 0; s < m->parts; s++) {
            const rating_part *t = &m->part[s];
            if (m->pu)
                fold_soft_part(f, t, from, group);
            else if (fold_hard_part(f, t, from, round < 0))
                moved = true;
            from += t->l;
            group += t->k;
        }
        if (m->pu) break;
    }
}

/* ---- all new rows ---- */

/* New rows [first, end) of users (items), with their ratings as CSR whose row 0 is row
 * `first`; its values are used up. */
static ferry_status fold_rows(ferry_ctx *ctx, rating_model *m, bool items, int64_t first,
                              ferry_matrix *x)
{
    ferry_status st = FERRY_OK;
    ferry_block *own = items ? m->q : m->p, *rows = NULL;
    bool finish = false;
    int64_t most = 1;
    double *cost = NULL;

    for (int64_t s = 0; s < m->parts; s++)
        most = (int64_t)fmax((double)most, (double)(m->part[s].k + m->part[s].l));
    FERRY_NEW(ctx, cost, most);
    for (int64_t i = 0; i < x->rows; i++) {
        const int64_t e = x->start[i], n = x->start[i + 1] - e;
        const fold f = {m, items, first + i, n, x->index + e, x->value + e, cost};
        if (n == 0) continue; /* stays one of the unknown */
        fold_bias(&f);
        fold_groups(&f);
        if (i % 1000 == 0)
            FERRY_TRY(ferry_i_progress(ctx, "fold in", i, x->rows, NAN, &finish));
    }
    /* p_i = (Q'Q + lambda n_i^w I)^-1 Q'e_i for all new rows at once, where Q are the
     * rows of the others that i rated; w is 1 when `weighted`. */
    if (m->ridge > 0 && m->rank > 0) {
        FERRY_TRY(ferry_i_block_new(ctx, x->rows, m->rank, &rows));
        FERRY_TRY(ferry_e(ctx)->ridge_rows(ctx, x, items ? m->p : m->q, m->ridge,
                                           m->weighted, rows, NULL));
        copy_reals(FERRY_ROW(own, first), rows->data, x->rows * m->rank);
    }
done:
    FERRY_FREE(rows, cost);
    return st;
}

/* Which ratings the new rows are made from. */
typedef struct gathering {
    const ferry_matrix *x;      /* all that were given: users x items, or items x users */
    const int64_t *row, *other; /* where rows and columns of x stand in the model */
    int64_t first, rows;        /* new rows of the model: first, first + 1, ... */
    int64_t cols, others;       /* columns of the model, and those that may be used */
} gathering;

/* Their ratings as CSR, clipped to the range of the model. */
static ferry_status gather(ferry_ctx *ctx, const rating_model *m, const gathering *g,
                           ferry_matrix **out)
{
    ferry_status st = FERRY_OK;
    /* Entries may be fewer than x has: room for all of them, nnz set at the end. */
    const ferry_matrix *x = g->x;
    ferry_matrix *t = NULL;
    int64_t n = 0;

    FERRY_TRY(ferry_i_matrix_csr(ctx, g->rows, g->cols, x->nnz, &t));
    for (int64_t i = 0; i < x->rows; i++) {
        if (g->row[i] < g->first) continue; /* was there at fit, or is not used */
        for (int64_t e = x->start[i]; e < x->start[i + 1]; e++) {
            const int64_t j = g->other[x->index[e]];
            if (j < 0 || j >= g->others) continue;
            t->index[n] = (int32_t)j;
            t->value[n++] = fmin(fmax(x->value[e], m->lo), m->hi);
        }
        /* New rows come in the order of x, so every row begins where the one before it
         * ended. */
        t->start[g->row[i] - g->first + 1] = n;
    }
    t->nnz = n;
    FERRY_MOVE(*out, t);
done:
    ferry_i_matrix_free(t);
    return st;
}

/* What users rated: at fit, and the new ones in r (also items that are new themselves).
 */
static ferry_status add_rated(ferry_ctx *ctx, const rating_model *m, const ferry_ratings *r,
                              const int64_t *user, const int64_t *item, rating_model *t)
{
    ferry_status st = FERRY_OK;
    const int64_t before = m->p->rows;
    int64_t n = m->start[before];

    FERRY_NEW(ctx, t->item, n + r->n);
    memcpy(t->start, m->start, (size_t)(before + 1) * sizeof *t->start);
    if (n > 0) memcpy(t->item, m->item, (size_t)n * sizeof *t->item);
    for (int64_t e = 0; e < r->n; e++) { /* r is sorted as the new users are */
        if (user[r->user[e]] < before) continue;
        t->item[n++] = item[r->item[e]];
        t->start[user[r->user[e]] + 1] = n;
    }
done:
    return st;
}

/* Say what was done to ratings that did not fit. */
static void tell(ferry_ctx *ctx, const rating_model *m, const ferry_ratings *r,
                 const int64_t *user, const int64_t *item)
{
    int64_t beyond = 0, idle = 0;

    for (int64_t e = 0; e < r->n; e++) {
        beyond += r->value[e] < m->lo || r->value[e] > m->hi;
        idle += user[r->user[e]] < m->p->rows && item[r->item[e]] < m->q->rows;
    }
    if (beyond > 0)
        ferry_i_log(
            ctx, FERRY_WARN,
            "%lld of %lld ratings are beyond the model's range from %g to %g: taken "
            "as its ends",
            (long long)beyond, (long long)r->n, m->lo, m->hi);
    if (idle > 0)
        ferry_i_log(ctx, FERRY_WARN,
                    "%lld ratings are of users and items that were there at fit: not used",
                    (long long)idle);
}

/* Users by the items that the model knew, then items by all users, also the new ones.
 * Sorted first, as at fit: the order of the rows decides nothing here either. */
ferry_status ferry_i_rating_fold_in(ferry_ctx *ctx, const void *state,
                                    const ferry_domain *d, void **out)
{
    ferry_status st = FERRY_OK;
    const rating_model *m = state;
    int64_t *user = NULL, *item = NULL;
    ferry_ratings *r = NULL;
    observed o = {0};
    ferry_matrix *x = NULL;
    rating_model *t = NULL;

    *out = NULL;
    FERRY_TRY(ferry_i_ratings_sorted(ctx, d->ratings, &r));
    FERRY_TRY(ferry_i_observed_new(ctx, r, 1, 0, &o));
    /* enlarge takes the ids over, and NULL from extended() as no memory. */
    FERRY_TRY(enlarge(ctx, m, extended(m->users, r->users, o.x),
                      extended(m->items, r->items, o.xt), &t));
    user = ferry_i_rating_places(r->users, t->users);
    item = ferry_i_rating_places(r->items, t->items);
    FERRY_HAVE(ctx, user && item);
    FERRY_TRY(add_rated(ctx, m, r, user, item, t));
    /* New users, by the items that were there at fit: `others` stops at these, since new
     * items have no rows of their own yet. */
    const int64_t users = m->p->rows, items = m->q->rows;
    FERRY_TRY(gather(
        ctx, t, &(gathering){o.x, user, item, users, t->p->rows - users, t->q->rows, items},
        &x));
    FERRY_TRY(fold_rows(ctx, t, false, users, x));
    /* New items, by all users: the new ones have their rows by now. */
    ferry_i_matrix_free(x);
    x = NULL;
    FERRY_TRY(gather(
        ctx, t,
        &(gathering){o.xt, item, user, items, t->q->rows - items, t->p->rows, t->p->rows},
        &x));
    FERRY_TRY(fold_rows(ctx, t, true, items, x));
    tell(ctx, m, r, user, item);
    FERRY_MOVE(*out, t);
done:
    ferry_i_rating_model_free(t);
    ferry_i_observed_clear(&o);
    ferry_i_ratings_free(r);
    ferry_i_matrix_free(x);
    FERRY_FREE(user, item);
    return st;
}
