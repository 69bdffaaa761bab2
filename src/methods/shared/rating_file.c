/* Saving and loading the model of ratings.
 * Users and items are lists of ids, the model's arrays one tensor each, "fold" the
 * numbers that folding in needs. Nothing in the file says which method made it: the form
 * is one for all of them. */
#include <stdio.h>
#include <string.h>

#include "methods/shared/ratings.h"

/* Of users or items in a codebook: far beyond any use, and k * l still fits 64 bits. */
enum { MOST_GROUPS = 1000000 };

/* "parts" has the shapes, "part.S" R and the shares of the groups behind it. */
static ferry_status save_parts(ferry_ctx *ctx, const rating_model *m, ferry_dict *dict)
{
    ferry_status st = FERRY_OK;
    int64_t *shape = ferry_i_calloc(2 * m->parts, sizeof *shape);
    char name[64];

    FERRY_HAVE(ctx, shape);
    for (int64_t s = 0; s < m->parts; s++) {
        const rating_part *t = &m->part[s];
        const double numbers[] = {t->weight, t->sigma2};
        shape[s] = t->k;
        shape[m->parts + s] = t->l;
        (void)snprintf(name, sizeof name, "part.%lld", (long long)s);
        FERRY_TRY(
            ferry_i_dict_put_reals(ctx, dict, name, 1, t->k * t->l + t->k + t->l, t->r));
        (void)snprintf(name, sizeof name, "part.%lld.weight", (long long)s);
        FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, name, 1, 2, numbers));
    }
    FERRY_TRY(ferry_i_dict_put_ints(ctx, dict, "parts", 2 * m->parts, shape));
    if (m->pu)
        FERRY_TRY(
            ferry_i_dict_put_reals(ctx, dict, "pu", m->pu->rows, m->pu->k, m->pu->data));
done:
    ferry_i_free(shape);
    return st;
}

/* p and q have users x rank and items x rank numbers; rank is told by "p0" and may be 0. */
ferry_status ferry_i_rating_save(ferry_ctx *ctx, const void *state, ferry_dict *dict)
{
    ferry_status st = FERRY_OK;
    const rating_model *m = state;
    const double scale[] = {m->mu, m->lo, m->hi};
    const double fold[] = {m->shrink_a, m->shrink_b, m->ridge, m->weighted};

    FERRY_TRY(ferry_i_dict_put_ids(ctx, dict, "users", m->users));
    FERRY_TRY(ferry_i_dict_put_ids(ctx, dict, "items", m->items));
    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "scale", 1, 3, scale));
    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "a", 1, m->p->rows, m->a));
    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "b", 1, m->q->rows, m->b));
    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "p0", 1, m->rank, m->p0));
    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "q0", 1, m->rank, m->q0));
    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "p", m->p->rows, m->rank, m->p->data));
    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "q", m->q->rows, m->rank, m->q->data));
    FERRY_TRY(ferry_i_dict_put_ints(ctx, dict, "rated.start", m->p->rows + 1, m->start));
    FERRY_TRY(
        ferry_i_dict_put_ints(ctx, dict, "rated.item", m->start[m->p->rows], m->item));
    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "fold", 1, 4, fold));
    FERRY_TRY(save_parts(ctx, m, dict));
done:
    return st;
}

/* Just this shape, into memory that is there. */
static ferry_status load_reals(ferry_ctx *ctx, const ferry_dict *dict, const char *name,
                               int64_t rows, int64_t cols, double *to)
{
    const double *data = NULL;
    const ferry_status st = ferry_i_dict_reals(ctx, dict, name, &rows, &cols, &data);

    if (st == FERRY_OK && rows * cols > 0)
        memcpy(to, data, (size_t)(rows * cols) * sizeof *to);
    return st;
}

/* What each user rated: places ascend, items exist. */
static ferry_status load_rated(ferry_ctx *ctx, const ferry_dict *dict, rating_model *m)
{
    ferry_status st = FERRY_OK;
    int64_t users = m->p->rows + 1, n = -1;
    const int64_t *start = NULL, *item = NULL;
    bool fine = true;

    FERRY_TRY(ferry_i_dict_ints(ctx, dict, "rated.start", &users, &start));
    FERRY_TRY(ferry_i_dict_ints(ctx, dict, "rated.item", &n, &item));
    /* After these three checks item[start[i] .. start[i + 1]) is safe for every user. */
    fine = start[0] == 0 && start[users - 1] == n;
    for (int64_t i = 0; fine && i + 1 < users; i++)
        fine = start[i] <= start[i + 1];
    for (int64_t e = 0; fine && e < n; e++)
        fine = item[e] >= 0 && item[e] < m->q->rows;
    FERRY_NEED(ctx, fine, FERRY_EDATA,
               "tensors rated.start and rated.item: expected what each of %lld users rated "
               "of %lld items",
               (long long)(users - 1), (long long)m->q->rows);
    FERRY_NEW(ctx, m->item, n);
    memcpy(m->start, start, (size_t)users * sizeof *start);
    if (n > 0) memcpy(m->item, item, (size_t)n * sizeof *item);
done:
    return st;
}

/* Groups of users and items are as many as the columns of p and q say; soft groups have a
 * variance above 0, hard ones none. */
static ferry_status load_parts(ferry_ctx *ctx, const ferry_dict *dict, rating_model *m)
{
    ferry_status st = FERRY_OK;
    int64_t n = -1, groups = 0, rank = 0;
    const int64_t *shape = NULL;
    bool soft = ferry_i_dict_has(dict, "pu"), fine = true;
    char name[64];

    FERRY_TRY(ferry_i_dict_ints(ctx, dict, "parts", &n, &shape));
    /* shape is all k, then all l. The l add up to the columns of p and q, the k to those
     * of pu. */
    for (int64_t s = 0; fine && s < n / 2; s++) {
        const int64_t k = shape[s], l = shape[n / 2 + s];
        fine = k > 0 && k <= MOST_GROUPS && l > 0 && l <= MOST_GROUPS;
        if (!fine) break;
        groups += k;
        rank += l;
    }
    FERRY_NEED(ctx, fine && n % 2 == 0 && (n == 0 || rank == m->rank), FERRY_EDATA,
               "tensor parts: expected groups of users and items for %lld columns",
               (long long)m->rank);
    if (n == 0) goto done;
    FERRY_TRY(ferry_i_rating_model_parts(ctx, m, n / 2, shape, shape + n / 2, soft));
    for (int64_t s = 0; s < m->parts; s++) {
        rating_part *t = &m->part[s];
        double numbers[2];
        (void)snprintf(name, sizeof name, "part.%lld", (long long)s);
        FERRY_TRY(load_reals(ctx, dict, name, 1, t->k * t->l + t->k + t->l, t->r));
        (void)snprintf(name, sizeof name, "part.%lld.weight", (long long)s);
        FERRY_TRY(load_reals(ctx, dict, name, 1, 2, numbers));
        t->weight = numbers[0];
        t->sigma2 = numbers[1];
        FERRY_NEED(ctx, soft ? t->sigma2 > 0 : t->sigma2 == 0, FERRY_EDATA,
                   "tensor %s: a variance of %g", name, t->sigma2);
    }
    if (soft) FERRY_TRY(load_reals(ctx, dict, "pu", m->pu->rows, groups, m->pu->data));
done:
    return st;
}

/* Rank first, since everything else is as wide as that. */
ferry_status ferry_i_rating_load(ferry_ctx *ctx, const ferry_dict *dict, void **state)
{
    ferry_status st = FERRY_OK;
    ferry_ids *users = NULL, *items = NULL;
    rating_model *m = NULL;
    int64_t one = 1, rank = -1;
    const double *unused = NULL;
    double scale[3], fold[4];

    *state = NULL;
    FERRY_TRY(load_reals(ctx, dict, "scale", 1, 3, scale));
    FERRY_NEED(ctx, scale[1] <= scale[2], FERRY_EDATA,
               "tensor scale: ratings from %g to %g", scale[1], scale[2]);
    FERRY_TRY(ferry_i_dict_reals(ctx, dict, "p0", &one, &rank, &unused));
    FERRY_TRY(ferry_i_dict_ids(ctx, dict, "users", &users));
    FERRY_TRY(ferry_i_dict_ids(ctx, dict, "items", &items));
    /* It takes the ids over even when it fails, so they must not be freed here again. */
    st = ferry_i_rating_model_make(ctx, users, items, rank, &m);
    users = items = NULL;
    if (st != FERRY_OK) goto done;
    m->mu = scale[0];
    m->lo = scale[1];
    m->hi = scale[2];
    FERRY_TRY(load_reals(ctx, dict, "a", 1, m->p->rows, m->a));
    FERRY_TRY(load_reals(ctx, dict, "b", 1, m->q->rows, m->b));
    FERRY_TRY(load_reals(ctx, dict, "p0", 1, rank, m->p0));
    FERRY_TRY(load_reals(ctx, dict, "q0", 1, rank, m->q0));
    FERRY_TRY(load_reals(ctx, dict, "p", m->p->rows, rank, m->p->data));
    FERRY_TRY(load_reals(ctx, dict, "q", m->q->rows, rank, m->q->data));
    FERRY_TRY(load_reals(ctx, dict, "fold", 1, 4, fold));
    m->shrink_a = fold[0];
    m->shrink_b = fold[1];
    m->ridge = fold[2];
    m->weighted = fold[3] != 0;
    FERRY_TRY(load_rated(ctx, dict, m));
    FERRY_TRY(load_parts(ctx, dict, m));
    FERRY_MOVE(*state, m);
done:
    ferry_i_rating_model_free(m);
    ferry_i_ids_free(users);
    ferry_i_ids_free(items);
    return st;
}
