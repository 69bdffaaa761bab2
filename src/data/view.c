/* Views: a feature matrix over some of a domain's instances; how two views line up.
 *
 * row_of and instance translate between the domain's numbering and the matrix's rows in both
 * directions, so that a view may lack instances and have its rows in any order without its
 * matrix (which may be gigabytes, and shared) ever being copied. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "data/parts.h"

/* One walk over the cells: *missing says whether some dense cell is NaN; the first cell
 * that is infinite, or NaN in a sparse matrix (where absent means 0), is named in the
 * message. */
static ferry_status check_cells(ferry_ctx *ctx, const ferry_matrix *x, bool *missing)
{
    const double *cell = x->dense ? x->dense : x->value;
    int64_t bad = -1;

    *missing = false;
    for (int64_t e = 0; e < x->nnz && bad < 0; e++) {
        if (isfinite(cell[e])) continue;
        if (isnan(cell[e]) && x->dense)
            *missing = true;
        else
            bad = e;
    }
    if (bad < 0) return FERRY_OK;
    int64_t row = 0;
    if (x->dense)
        row = bad / x->cols;
    else
        while (x->start[row + 1] <= bad)
            row++;
    return ferry_i_fail(
        ctx, FERRY_EDATA, "row %lld, feature %lld is %g, expected a finite number",
        (long long)row + 1, (long long)(x->dense ? bad % x->cols : x->index[bad]) + 1,
        cell[bad]);
}

/* The matrix gets one more owner and is not copied. */
ferry_status ferry_i_view_new(ferry_ctx *ctx, const char *name, ferry_matrix *x,
                              const ferry_ids *features, const ferry_opts *read,
                              const double *idf, ferry_view **out)
{
    ferry_status st = FERRY_OK;
    ferry_view *v = ferry_i_calloc(1, sizeof *v);

    *out = NULL;
    FERRY_HAVE(ctx, v);
    v->x = ferry_i_matrix_ref(x);
    FERRY_TRY(check_cells(ctx, x, &v->has_missing));
    v->name = ferry_i_strdup(name);
    if (features) v->features = ferry_i_ids_copy(features);
    if (idf) v->idf = ferry_i_calloc(x->cols, sizeof *idf);
    FERRY_HAVE(ctx, v->name && !features == !v->features && !idf == !v->idf);
    if (idf) memcpy(v->idf, idf, (size_t)x->cols * sizeof *idf);
    if (read) FERRY_TRY(ferry_i_opts_copy(ctx, read, &v->read));
    FERRY_MOVE(*out, v);
done:
    ferry_i_view_free(v);
    return st;
}

void ferry_i_view_free(ferry_view *v)
{
    if (!v) return;
    ferry_i_matrix_free(v->x);
    ferry_i_ids_free(v->features);
    ferry_opts_free(v->read);
    FERRY_FREE(v->name, v->row_of, v->instance, v->idf, v->same_as, v);
}

/* Some files number their columns in the header, as pandas does: "1", "2", ... or "0", "1",
 * ... are no names to line up by. */
bool ferry_i_view_has_names(const ferry_view *v)
{
    const bool from_0 =
        v->features && v->x->cols > 0 && strcmp(ferry_i_ids_at(v->features, 0), "0") == 0;
    char number[24];

    for (int64_t j = 0; v->features && j < v->x->cols; j++) {
        (void)snprintf(number, sizeof number, "%lld", (long long)j + !from_0);
        if (strcmp(ferry_i_ids_at(v->features, j), number) != 0) return true;
    }
    return false;
}

/* O(b's features). Names are compared exactly. The map may leave columns of either side
 * without a partner, *shared says how many have one. */
ferry_status ferry_i_view_align(ferry_ctx *ctx, const ferry_view *a, const ferry_view *b,
                                int32_t **map, int64_t *shared)
{
    ferry_status st = FERRY_OK;
    const bool named = a->features && b->features;
    int32_t *to = NULL;
    int64_t count = 0;

    *map = NULL;
    *shared = 0;
    FERRY_NEED(ctx, named || a->x->cols == b->x->cols, FERRY_ENEEDS,
               "view '%s' has %lld features and view '%s' has %lld; without names on both "
               "sides they line up only when the counts are equal",
               a->name, (long long)a->x->cols, b->name, (long long)b->x->cols);
    /* to[j]: the column of a that is feature j of b */
    FERRY_NEW(ctx, to, b->x->cols);
    for (int64_t j = 0; j < b->x->cols; j++) {
        to[j] = named
                    ? (int32_t)ferry_i_ids_find(a->features, ferry_i_ids_at(b->features, j))
                    : (int32_t)j;
        count += to[j] >= 0;
    }
    FERRY_NEED(
        ctx, count > 0, FERRY_ENEEDS,
        "views '%s' (%lld features) and '%s' (%lld features) have no feature in common",
        a->name, (long long)a->x->cols, b->name, (long long)b->x->cols);
    *map = to;
    *shared = count;
    to = NULL;
done:
    ferry_i_free(to);
    return st;
}
