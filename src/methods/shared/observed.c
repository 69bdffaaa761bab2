/* Ratings as methods want them: sorted, and as a sparse matrix with its transpose. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "methods/shared/ratings.h"

/* Items x users, with the users of an item in the order of the file.
 * A counting sort by item, O(n + items): count, running sums, place. Values that are NaN
 * are hidden from the method and take no room; *out is new. */
static ferry_status by_item(ferry_ctx *ctx, const ferry_ratings *r, double f, double g,
                            ferry_matrix **out)
{
    ferry_status st = FERRY_OK;
    const int64_t items = ferry_i_ids_count(r->items);
    int64_t n = 0, *next = NULL;
    ferry_matrix *t = NULL;

    for (int64_t e = 0; e < r->n; e++)
        n += !isnan(r->value[e]);
    FERRY_TRY(ferry_i_matrix_csr(ctx, items, ferry_i_ids_count(r->users), n, &t));
    FERRY_NEW(ctx, next, items + 1);
    /* Count into the place after, sum up, then deal out: next[j] is where item j goes on.
     */
    for (int64_t e = 0; e < r->n; e++)
        if (!isnan(r->value[e])) t->start[r->item[e] + 1]++;
    for (int64_t j = 0; j < items; j++)
        t->start[j + 1] += t->start[j];
    memcpy(next, t->start, (size_t)items * sizeof *next);
    for (int64_t e = 0; e < r->n; e++) {
        if (isnan(r->value[e])) continue;
        const int64_t at = next[r->item[e]]++;
        t->index[at] = r->user[e];
        t->value[at] = f * r->value[e] + g;
    }
    FERRY_MOVE(*out, t);
done:
    ferry_i_free(next);
    ferry_i_matrix_free(t);
    return st;
}

/* Counting by item, then transposing, sorts the items of a user and the users of an item
 * in O(n), whatever order the file had. */
ferry_status ferry_i_observed_new(ferry_ctx *ctx, const ferry_ratings *r, double f,
                                  double g, observed *out)
{
    ferry_status st = FERRY_OK;
    ferry_matrix *t = NULL;

    *out = (observed){NULL, NULL};
    FERRY_TRY(by_item(ctx, r, f, g, &t));
    FERRY_TRY(ferry_i_matrix_transpose(ctx, t, &out->x)); /* items of a user now ascend */
    FERRY_TRY(ferry_i_matrix_transpose(ctx, out->x, &out->xt));
done:
    ferry_i_matrix_free(t);
    if (st != FERRY_OK) ferry_i_observed_clear(out);
    return st;
}

/* Residuals, weights or copies of the ratings in the same pattern: no sorting again. */
ferry_status ferry_i_observed_with(ferry_ctx *ctx, const observed *o, const double *value,
                                   observed *out)
{
    ferry_status st = FERRY_OK;

    *out = (observed){NULL, NULL};
    FERRY_TRY(ferry_i_matrix_like(ctx, o->x, &out->x));
    memcpy(out->x->value, value, (size_t)o->x->nnz * sizeof *value);
    FERRY_TRY(ferry_i_matrix_transpose(ctx, out->x, &out->xt));
done:
    if (st != FERRY_OK) ferry_i_observed_clear(out);
    return st;
}

/* Rows keep their order, so that no sorting is needed here either. */
ferry_status ferry_i_observed_part(ferry_ctx *ctx, const observed *o, const uint8_t *of,
                                   uint8_t without, observed *out)
{
    ferry_status st = FERRY_OK;
    const ferry_matrix *x = o->x;
    int64_t n = 0;

    *out = (observed){NULL, NULL};
    for (int64_t e = 0; e < x->nnz; e++)
        n += of[e] != without;
    FERRY_TRY(ferry_i_matrix_csr(ctx, x->rows, x->cols, n, &out->x));
    n = 0;
    for (int64_t i = 0; i < x->rows; i++) {
        for (int64_t e = x->start[i]; e < x->start[i + 1]; e++) {
            if (of[e] == without) continue;
            out->x->index[n] = x->index[e];
            out->x->value[n++] = x->value[e];
        }
        out->x->start[i + 1] = n;
    }
    FERRY_TRY(ferry_i_matrix_transpose(ctx, out->x, &out->xt));
done:
    if (st != FERRY_OK) ferry_i_observed_clear(out);
    return st;
}

void ferry_i_observed_clear(observed *o)
{
    ferry_i_matrix_free(o->x);
    ferry_i_matrix_free(o->xt);
    *o = (observed){NULL, NULL};
}

/* ---- an order that the file does not decide ---- */

/* An id and where it stood, so that sorting remembers the old places. */
typedef struct named {
    const char *id;
    int32_t at;
} named;

static int by_id(const void *a, const void *b)
{
    return strcmp(((const named *)a)->id, ((const named *)b)->id);
}

/* The ids by their bytes (which no locale changes); place[i] is where the i-th goes. */
static ferry_status sort_ids(ferry_ctx *ctx, const ferry_ids *ids, ferry_ids **out,
                             int32_t **place)
{
    ferry_status st = FERRY_OK;
    const int64_t n = ferry_i_ids_count(ids);
    named *list = NULL;

    FERRY_NEW(ctx, list, n);
    FERRY_NEW(ctx, *place, n);
    FERRY_HAVE(ctx, *out = ferry_i_ids_new());
    for (int64_t i = 0; i < n; i++)
        list[i] = (named){ferry_i_ids_at(ids, i), (int32_t)i};
    qsort(list, (size_t)n, sizeof *list, by_id);
    for (int64_t i = 0; i < n; i++) {
        FERRY_HAVE(ctx, ferry_i_ids_add(*out, list[i].id, NULL) >= 0);
        (*place)[list[i].at] = (int32_t)i;
    }
done:
    ferry_i_free(list);
    return st;
}

/* The entries of x, row after row, into r.
 * r has room for at least as many, since x was made from its own entries; r->n becomes
 * the number of those that have a value. */
static void take_entries(const ferry_matrix *x, ferry_ratings *r)
{
    r->n = x->nnz;
    for (int64_t i = 0; i < x->rows; i++)
        for (int64_t e = x->start[i]; e < x->start[i + 1]; e++) {
            r->user[e] = (int32_t)i;
            r->item[e] = x->index[e];
            r->value[e] = x->value[e];
        }
}

/* New places for users and items by their ids, then the entries in the order of the
 * matrix. */
ferry_status ferry_i_ratings_sorted(ferry_ctx *ctx, const ferry_ratings *r,
                                    ferry_ratings **out)
{
    ferry_status st = FERRY_OK;
    ferry_ids *users = NULL, *items = NULL;
    int32_t *user = NULL, *item = NULL;
    observed x = {NULL, NULL};
    ferry_ratings *s = NULL;

    *out = NULL;
    FERRY_TRY(sort_ids(ctx, r->users, &users, &user));
    FERRY_TRY(sort_ids(ctx, r->items, &items, &item));
    FERRY_TRY(ferry_i_ratings_new(ctx, r->n, users, items, &s));
    s->lo = r->lo;
    s->hi = r->hi;
    s->ranged = r->ranged;
    for (int64_t e = 0; e < r->n; e++) {
        s->user[e] = user[r->user[e]];
        s->item[e] = item[r->item[e]];
        s->value[e] = r->value[e];
    }
    FERRY_TRY(ferry_i_observed_new(ctx, s, 1, 0, &x)); /* sorts, and passes over NaN */
    take_entries(x.x, s);
    FERRY_MOVE(*out, s);
done:
    ferry_i_observed_clear(&x);
    ferry_i_ratings_free(s);
    ferry_i_ids_free(users);
    ferry_i_ids_free(items);
    FERRY_FREE(user, item);
    return st;
}

/* ---- a task's target ---- */

/* A split hides values but leaves the pairs, so counting entries is not enough. */
ferry_status ferry_i_rating_fits(ferry_ctx *ctx, const char *method, const ferry_task *task)
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
done:
    return st;
}

/* Sorted and as a matrix, in the task's own units (f = 1, g = 0). Clear *out in any case.
 */
ferry_status ferry_i_rating_data(ferry_ctx *ctx, const ferry_task *task, rating_data *out)
{
    const ferry_domain *d = NULL;

    FERRY_PASS(ferry_i_task_target(ctx, task, &d));
    FERRY_PASS(ferry_i_ratings_sorted(ctx, d->ratings, &out->r));
    return ferry_i_observed_new(ctx, out->r, 1, 0, &out->x);
}

void ferry_i_rating_data_clear(rating_data *d)
{
    ferry_i_ratings_free(d->r);
    ferry_i_observed_clear(&d->x);
    d->r = NULL;
}
