/* The model that methods for goal rate end in: predict, save, load. */
#include <math.h>
#include <string.h>

#include "methods/ratings/ratings.h"

ferry_status ferry_i_rating_target(ferry_ctx *ctx, const char *method,
                                   const ferry_task *task, const ferry_ratings **out)
{
    ferry_status st = FERRY_OK;
    const ferry_domain *d = NULL;
    int64_t e = 0;

    FERRY_TRY(ferry_i_task_target(ctx, task, &d));
    while (d->ratings && e < d->ratings->n && isnan(d->ratings->value[e]))
        e++;
    FERRY_NEED(ctx, d->ratings && e < d->ratings->n, FERRY_ENEEDS,
               "%s needs some ratings of the target; target '%s' has none that it may see",
               method, d->name);
    *out = d->ratings;
done:
    return st;
}

/* ---- making ---- */

void ferry_i_rating_model_free(void *state)
{
    rating_model *m = state;

    if (!m) return;
    ferry_i_ids_free(m->users);
    ferry_i_ids_free(m->items);
    ferry_i_free(m->a);
    ferry_i_free(m->b);
    ferry_i_block_free(m->p);
    ferry_i_block_free(m->q);
    ferry_i_free(m->p0);
    ferry_i_free(m->q0);
    ferry_i_free(m);
}

/* All but the numbers; takes the ids over. */
static ferry_status make(ferry_ctx *ctx, ferry_ids *users, ferry_ids *items, int64_t rank,
                         rating_model **out)
{
    ferry_status st = FERRY_OK;
    rating_model *m = ferry_i_calloc(1, sizeof *m);

    *out = NULL;
    if (!m) {
        ferry_i_ids_free(users);
        ferry_i_ids_free(items);
        return ferry_i_nomem(ctx, "a model of ratings");
    }
    m->users = users;
    m->items = items;
    m->rank = rank;
    FERRY_NEED(ctx, users && items, FERRY_ENOMEM, "no memory for users and items");
    m->a = ferry_i_calloc(ferry_i_ids_count(users), sizeof *m->a);
    m->b = ferry_i_calloc(ferry_i_ids_count(items), sizeof *m->b);
    m->p0 = ferry_i_calloc(rank, sizeof *m->p0);
    m->q0 = ferry_i_calloc(rank, sizeof *m->q0);
    FERRY_NEED(ctx, m->a && m->b && m->p0 && m->q0, FERRY_ENOMEM,
               "no memory for a model of ratings");
    FERRY_TRY(ferry_i_block_new(ctx, ferry_i_ids_count(users), rank, &m->p));
    FERRY_TRY(ferry_i_block_new(ctx, ferry_i_ids_count(items), rank, &m->q));
    *out = m;
    m = NULL;
done:
    ferry_i_rating_model_free(m);
    return st;
}

ferry_status ferry_i_rating_model_new(ferry_ctx *ctx, const ferry_ratings *r, int64_t rank,
                                      rating_model **out)
{
    const ferry_status st =
        make(ctx, ferry_i_ids_copy(r->users), ferry_i_ids_copy(r->items), rank, out);

    if (st != FERRY_OK) return st;
    (*out)->lo = r->lo;
    (*out)->hi = r->hi;
    return st;
}

/* ---- predicting ---- */

double ferry_i_rating_at(const rating_model *m, int64_t user, int64_t item)
{
    const double *p = user < 0 ? m->p0 : FERRY_ROW(m->p, user);
    const double *q = item < 0 ? m->q0 : FERRY_ROW(m->q, item);
    double x = m->mu + (user < 0 ? 0 : m->a[user]) + (item < 0 ? 0 : m->b[item]);

    for (int64_t c = 0; c < m->rank; c++)
        x += p[c] * q[c];
    return fmin(fmax(x, m->lo), m->hi);
}

/* Where each of `ids` stands in `known`, -1: not. New array. */
static int64_t *places(const ferry_ids *ids, const ferry_ids *known)
{
    const int64_t n = ferry_i_ids_count(ids);
    int64_t *at = ferry_i_calloc(n, sizeof *at);

    for (int64_t i = 0; at && i < n; i++)
        at[i] = ferry_i_ids_find(known, ferry_i_ids_at(ids, i));
    return at;
}

ferry_status ferry_i_rating_predict(ferry_ctx *ctx, const void *state,
                                    const ferry_domain *d, ferry_prediction *p)
{
    ferry_status st = FERRY_OK;
    const rating_model *m = state;
    const ferry_ratings *r = d->ratings;
    int64_t *user = places(r->users, m->users), *item = places(r->items, m->items);

    FERRY_NEED(ctx, user && item, FERRY_ENOMEM, "no memory for users and items");
    for (int64_t e = 0; e < r->n; e++)
        p->value[e] = ferry_i_rating_at(m, user[r->user[e]], item[r->item[e]]);
done:
    ferry_i_free(user);
    ferry_i_free(item);
    return st;
}

/* ---- files ---- */

ferry_status ferry_i_rating_save(ferry_ctx *ctx, const void *state, ferry_bag *bag)
{
    ferry_status st = FERRY_OK;
    const rating_model *m = state;
    const double scale[] = {m->mu, m->lo, m->hi};

    FERRY_TRY(ferry_i_bag_put_ids(ctx, bag, "users", m->users));
    FERRY_TRY(ferry_i_bag_put_ids(ctx, bag, "items", m->items));
    FERRY_TRY(ferry_i_bag_put_reals(ctx, bag, "scale", 1, 3, scale));
    FERRY_TRY(ferry_i_bag_put_reals(ctx, bag, "a", 1, m->p->rows, m->a));
    FERRY_TRY(ferry_i_bag_put_reals(ctx, bag, "b", 1, m->q->rows, m->b));
    FERRY_TRY(ferry_i_bag_put_reals(ctx, bag, "p0", 1, m->rank, m->p0));
    FERRY_TRY(ferry_i_bag_put_reals(ctx, bag, "q0", 1, m->rank, m->q0));
    FERRY_TRY(ferry_i_bag_put_reals(ctx, bag, "p", m->p->rows, m->rank, m->p->data));
    FERRY_TRY(ferry_i_bag_put_reals(ctx, bag, "q", m->q->rows, m->rank, m->q->data));
done:
    return st;
}

static ferry_status load_reals(ferry_ctx *ctx, const ferry_bag *bag, const char *name,
                               int64_t rows, int64_t cols, double *to)
{
    const double *data = NULL;
    const ferry_status st = ferry_i_bag_reals(ctx, bag, name, &rows, &cols, &data);

    if (st == FERRY_OK && rows * cols > 0)
        memcpy(to, data, (size_t)(rows * cols) * sizeof *to);
    return st;
}

ferry_status ferry_i_rating_load(ferry_ctx *ctx, const ferry_bag *bag, void **state)
{
    ferry_status st = FERRY_OK;
    ferry_ids *users = NULL, *items = NULL;
    rating_model *m = NULL;
    int64_t one = 1, rank = -1;
    const double *unused = NULL;
    double scale[3];

    *state = NULL;
    FERRY_TRY(load_reals(ctx, bag, "scale", 1, 3, scale));
    FERRY_NEED(ctx, scale[1] <= scale[2], FERRY_EDATA,
               "tensor scale: ratings from %g to %g", scale[1], scale[2]);
    FERRY_TRY(ferry_i_bag_reals(ctx, bag, "p0", &one, &rank, &unused));
    FERRY_TRY(ferry_i_bag_ids(ctx, bag, "users", &users));
    FERRY_TRY(ferry_i_bag_ids(ctx, bag, "items", &items));
    st = make(ctx, users, items, rank, &m);
    users = items = NULL;
    if (st != FERRY_OK) goto done;
    m->mu = scale[0];
    m->lo = scale[1];
    m->hi = scale[2];
    FERRY_TRY(load_reals(ctx, bag, "a", 1, m->p->rows, m->a));
    FERRY_TRY(load_reals(ctx, bag, "b", 1, m->q->rows, m->b));
    FERRY_TRY(load_reals(ctx, bag, "p0", 1, rank, m->p0));
    FERRY_TRY(load_reals(ctx, bag, "q0", 1, rank, m->q0));
    FERRY_TRY(load_reals(ctx, bag, "p", m->p->rows, rank, m->p->data));
    FERRY_TRY(load_reals(ctx, bag, "q", m->q->rows, rank, m->q->data));
    *state = m;
    m = NULL;
done:
    ferry_i_rating_model_free(m);
    ferry_i_ids_free(users);
    ferry_i_ids_free(items);
    return st;
}
