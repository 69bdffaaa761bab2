/* The model that methods for goal rate end in (ratings.h): making one, and predicting. */
#include <math.h>
#include <string.h>

#include "core/ranks.h"
#include "methods/shared/near.h"

/* ---- making ---- */

void ferry_i_rating_model_free(void *state)
{
    rating_model *m = state;

    if (!m) return;
    ferry_i_ids_free(m->users);
    ferry_i_ids_free(m->items);
    FERRY_FREE(m->a, m->b, m->p, m->q, m->p0, m->q0, m->start, m->item);
    for (int64_t s = 0; m->part && s < m->parts; s++)
        ferry_i_free(m->part[s].r); /* pi_u and pi_v stand behind it */
    FERRY_FREE(m->part, m->pu);
    ferry_i_near_free(m->near);
    ferry_i_free(m);
}

/* R, pi_u and pi_v of a part are one piece of memory, as they are one tensor in the
 * file. */
ferry_status ferry_i_rating_model_parts(ferry_ctx *ctx, rating_model *m, int64_t parts,
                                        const int64_t *k, const int64_t *l, bool soft)
{
    ferry_status st = FERRY_OK;
    int64_t groups = 0;

    FERRY_NEW(ctx, m->part, parts);
    m->parts = parts;
    for (int64_t s = 0; s < parts; s++) {
        rating_part *t = &m->part[s];
        t->k = k[s];
        t->l = l[s];
        FERRY_NEW(ctx, t->r, k[s] * l[s] + k[s] + l[s]);
        t->pi_u = t->r + k[s] * l[s];
        t->pi_v = t->pi_u + k[s];
        groups += k[s];
    }
    if (soft) FERRY_TRY(ferry_i_block_new(ctx, m->p->rows, groups, &m->pu));
done:
    return st;
}

/* The ids are m's from the beginning, so that the one that is there is freed with it. shrink
 * below 0 is the default: a method without biases then folds none in. */
ferry_status ferry_i_rating_model_fill(ferry_ctx *ctx, ferry_ids *users, ferry_ids *items,
                                       int64_t rank, rating_model *m)
{
    ferry_status st = FERRY_OK;

    *m = (rating_model){
        .users = users, .items = items, .rank = rank, .shrink_a = -1, .shrink_b = -1};
    FERRY_HAVE(ctx, users && items);
    FERRY_NEW(ctx, m->a, ferry_i_ids_count(users));
    FERRY_NEW(ctx, m->b, ferry_i_ids_count(items));
    FERRY_NEW(ctx, m->p0, rank);
    FERRY_NEW(ctx, m->q0, rank);
    FERRY_NEW(ctx, m->start, ferry_i_ids_count(users) + 1);
    FERRY_TRY(ferry_i_block_new(ctx, ferry_i_ids_count(users), rank, &m->p));
    FERRY_TRY(ferry_i_block_new(ctx, ferry_i_ids_count(items), rank, &m->q));
done:
    return st;
}

/* Rank 0, which saves the model, gets what the users of all ranks rated; for the others nobody has rated anything.
 * m->start has the users' counts behind it. */
static ferry_status gather_rated(ferry_ctx *ctx, const observed *o, rating_model *m)
{
    ferry_status st = FERRY_OK;
    const int ranks = ctx->ranks->size, rank = ctx->ranks->rank;
    const int64_t users = m->p->rows, width = sizeof(int32_t);
    const void **out = NULL;
    void **in = NULL;
    char *all = NULL; /* 32-bit numbers, in the second half of m->item */
    int64_t *n = NULL;

    FERRY_TRY(ferry_i_ranks_share(ctx, o->users, sizeof *m->start, m->start + 1));
    for (int64_t i = 0; i < users; i++)
        m->start[i + 1] += m->start[i];
    FERRY_NEW(ctx, out, ranks);
    FERRY_NEW(ctx, in, ranks);
    FERRY_NEW(ctx, n, 2 * ranks);
    FERRY_NEW(ctx, m->item, rank == 0 ? m->start[users] : 0);
    if (rank == 0) all = (char *)m->item + m->start[users] * width;
    for (int i = 0; i < ranks; i++) {
        const int64_t from = m->start[o->users[i]], to = m->start[o->users[i + 1]];
        out[i] = o->x->index;
        if (i == 0) n[i] = o->x->nnz * width;
        if (rank == 0) {
            in[i] = all + from * width;
            n[ranks + i] = (to - from) * width;
        }
    }
    FERRY_TRY(ferry_i_ranks_trade(ctx, out, n, in, n + ranks));
    if (rank > 0) memset(m->start, 0, (size_t)(users + 1) * sizeof *m->start);
    for (int64_t e = 0; e < m->start[users];
         e++) { /* none is overwritten before its turn */
        int32_t item = 0;
        memcpy(&item, all + e * width, sizeof item);
        m->item[e] = item;
    }
done:
    FERRY_FREE(out, in, n);
    return st;
}

ferry_status ferry_i_rating_model_new(ferry_ctx *ctx, const ferry_ratings *r, int64_t rank,
                                      rating_model **out)
{
    ferry_status st = FERRY_OK;
    rating_model *m = NULL;

    *out = NULL;
    FERRY_NEW(ctx, m, 1);
    FERRY_TRY(ferry_i_rating_model_fill(ctx, ferry_i_ids_copy(r->users),
                                        ferry_i_ids_copy(r->items), rank, m));
    m->lo = r->lo;
    m->hi = r->hi;
    FERRY_MOVE(*out, m);
done:
    ferry_i_rating_model_free(m);
    return st;
}

/* What users rated is kept, so that `top` can leave it out. */
ferry_status ferry_i_rating_model_rated(ferry_ctx *ctx, observed *o, rating_model *m)
{
    ferry_status st = FERRY_OK;

    ferry_i_observed_forget(o);
    if (o->users) {
        int64_t *count = m->start + 1 + ferry_i_observed_user(ctx, o);
        for (int64_t i = 0; i < o->x->rows; i++)
            count[i] = o->x->start[i + 1] - o->x->start[i];
        return gather_rated(ctx, o, m);
    }
    memcpy(m->start, o->x->start, (size_t)(o->x->rows + 1) * sizeof *m->start);
    FERRY_NEW(ctx, m->item, o->x->nnz);
    for (int64_t e = 0; e < o->x->nnz; e++)
        m->item[e] = o->x->index[e];
done:
    return st;
}

/* ---- predicting ---- */

/* mu + a_i + b_j + <p_i, q_j>; who is not known has bias 0 and the row p0 or q0. */
double ferry_i_rating_raw(const rating_model *m, int64_t user, int64_t item)
{
    const double *p = user < 0 ? m->p0 : FERRY_ROW(m->p, user);
    const double *q = item < 0 ? m->q0 : FERRY_ROW(m->q, item);
    double x = m->mu + (user < 0 ? 0 : m->a[user]) + (item < 0 ? 0 : m->b[item]);

    for (int64_t c = 0; c < m->rank; c++)
        x += p[c] * q[c];
    return x;
}

double ferry_i_rating_at(const rating_model *m, int64_t user, int64_t item)
{
    return fmin(fmax(ferry_i_rating_raw(m, user, item), m->lo), m->hi);
}

ferry_status ferry_i_rating_pairs(ferry_ctx *ctx, const rating_model *m, int64_t n,
                                  const int64_t *user, const int64_t *item, double *value)
{
    for (int64_t e = 0; e < n; e++)
        value[e] = ferry_i_rating_raw(m, user[e], item[e]);
    return m->near ? ferry_i_near_add(ctx, m->near, n, user, item, value) : FERRY_OK;
}

/* New data has users and items in its own order, and some that the model never saw. */
int64_t *ferry_i_rating_places(const ferry_ids *ids, const ferry_ids *known)
{
    const int64_t n = ferry_i_ids_count(ids);
    int64_t *at = ferry_i_calloc(n, sizeof *at);

    for (int64_t i = 0; at && i < n; i++)
        at[i] = ferry_i_ids_find(known, ferry_i_ids_at(ids, i));
    return at;
}

/* O(pairs rank) and one look-up for each id, not for each pair. Clipping cannot make a
 * prediction worse: the true rating is within the range. */
ferry_status ferry_i_rating_predict(ferry_ctx *ctx, const void *state,
                                    const ferry_domain *d, ferry_prediction *p)
{
    ferry_status st = FERRY_OK;
    const rating_model *m = state;
    const ferry_ratings *r = d->ratings;
    int64_t *user = ferry_i_rating_places(r->users, m->users),
            *item = ferry_i_rating_places(r->items, m->items), *pair = NULL;
    int64_t unknown = 0, first = 0;

    FERRY_HAVE(ctx, user && item);
    for (int64_t e = 0; e < r->n; e++) {
        if (user[r->user[e]] >= 0 || item[r->item[e]] >= 0) continue;
        if (unknown++ == 0) first = e;
    }
    if (unknown > 0)
        ferry_i_log(ctx, FERRY_WARN,
                    "%lld of %lld pairs have neither a user nor an item that the model "
                    "knows, such as %s, %s: they get the mean%s",
                    (long long)unknown, (long long)r->n,
                    ferry_i_ids_at(r->users, r->user[first]),
                    ferry_i_ids_at(r->items, r->item[first]),
                    first == 0 && unknown < r->n
                        ? " (the first line; is it a header? then say header=yes)"
                        : "");
    FERRY_NEW(ctx, pair, 2 * r->n);
    for (int64_t e = 0; e < r->n; e++) {
        pair[e] = user[r->user[e]];
        pair[r->n + e] = item[r->item[e]];
    }
    FERRY_TRY(ferry_i_rating_pairs(ctx, m, r->n, pair, pair + r->n, p->value));
    for (int64_t e = 0; e < r->n; e++)
        p->value[e] = fmin(fmax(p->value[e], m->lo), m->hi);
done:
    FERRY_FREE(user, item, pair);
    return st;
}
