/* Observed ratings as a sparse matrix and its transpose. */
#include <math.h>
#include <string.h>

#include "methods/shared/ratings.h"

/* Items x users, with the users of an item in the order of the file. */
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
    *out = t;
    t = NULL;
done:
    ferry_i_free(next);
    ferry_i_matrix_free(t);
    return st;
}

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

void ferry_i_observed_clear(observed *o)
{
    ferry_i_matrix_free(o->x);
    ferry_i_matrix_free(o->xt);
    *o = (observed){NULL, NULL};
}
