/* The features of a baseline: columns of the target's views, side by side. */
#include <math.h>
#include <string.h>

#include "learn/rows.h"
#include "methods/baselines/base.h"

ferry_status ferry_i_space_new(ferry_ctx *ctx, int64_t n_views, space **out)
{
    ferry_status st = FERRY_OK;
    space *s = ferry_i_calloc(1, sizeof *s);

    *out = s;
    FERRY_HAVE(ctx, s);
    s->n_views = n_views;
    FERRY_NEW(ctx, s->width, n_views);
    FERRY_NEW(ctx, s->used, n_views);
    FERRY_NEW(ctx, s->sparse, n_views);
    FERRY_NEW(ctx, s->local, n_views);
done:
    return st;
}

void ferry_i_space_free(space *s)
{
    if (!s) return;
    for (int64_t v = 0; s->local && v < s->n_views; v++)
        ferry_i_free(s->local[v]);
    ferry_i_free(s->local);
    ferry_i_free(s->sparse);
    ferry_i_free(s->used);
    ferry_i_free(s->width);
    ferry_i_free(s);
}

int64_t ferry_i_space_width(const space *s)
{
    int64_t n = 0;

    for (int64_t v = 0; v < s->n_views; v++)
        n += s->used[v];
    return n;
}

/* Number the columns of view v that some source has. */
static ferry_status shared_columns(ferry_ctx *ctx, const plan *p, int64_t v, space *s)
{
    ferry_status st = FERRY_OK;
    int32_t *local = ferry_i_calloc(s->width[v], sizeof *local);
    int32_t n = 0;

    s->local[v] = local;
    FERRY_HAVE(ctx, local);
    for (int64_t i = 0; i < p->n_parts; i++) {
        const plan_part *part = &p->part[i];
        if (part->domain == p->target || !part->view[v]) continue;
        for (int64_t j = 0; j < part->view[v]->x->cols; j++)
            if (part->map[v][j] >= 0) local[part->map[v][j]] = 1;
    }
    for (int64_t j = 0; j < s->width[v]; j++)
        local[j] = local[j] ? n++ : -1;
    s->used[v] = n;
    if (n < s->width[v]) goto done;
    ferry_i_free(local); /* all stay */
    s->local[v] = NULL;
done:
    return st;
}

ferry_status ferry_i_space_from_plan(ferry_ctx *ctx, const plan *p, space **out)
{
    ferry_status st = FERRY_OK;

    FERRY_TRY(ferry_i_space_new(ctx, p->target->n_views, out));
    for (int64_t v = 0; v < p->target->n_views; v++) {
        const ferry_matrix *x = p->target->views[v]->x;
        (*out)->width[v] = (*out)->used[v] = x->cols;
        (*out)->sparse[v] = x->dense == NULL;
        if (p->train != TRAIN_TARGET) FERRY_TRY(shared_columns(ctx, p, v, *out));
    }
done:
    return st;
}

/* Row of an instance in a view, -1 when it has none. */
static int64_t row_of(const ferry_view *view, int64_t instance)
{
    return view && instance < view->n_instances ? view->row_of[instance] : -1;
}

bool ferry_i_part_covers(const space *s, const plan_part *part, int64_t instance)
{
    for (int64_t v = 0; v < s->n_views; v++)
        if (row_of(part->view[v], instance) >= 0) return true;
    return false;
}

/* Where the columns of the part's view go among the used ones; *all: each to its own
 * number.
 */
static ferry_status column_map(ferry_ctx *ctx, const space *s, const plan_part *part,
                               int64_t v, int32_t **map, bool *all)
{
    ferry_status st = FERRY_OK;
    const int64_t cols = part->view[v]->x->cols;

    *all = cols == s->used[v];
    FERRY_NEW(ctx, *map, cols);
    for (int64_t j = 0; j < cols; j++) {
        const int32_t column = part->map[v] ? part->map[v][j] : (int32_t)j;
        (*map)[j] = column >= 0 && s->local[v] ? s->local[v][column] : column;
        *all = *all && (*map)[j] == j;
    }
done:
    return st;
}

/* Cells of a dense matrix that its view does not have become NaN. */
static void mark_missing(ferry_matrix *x, const int64_t *rows, const uint8_t *has_column)
{
    for (int64_t i = 0; i < x->rows; i++)
        for (int64_t j = 0; j < x->cols; j++)
            if (!rows || rows[i] < 0 || !has_column[j]) x->dense[i * x->cols + j] = NAN;
}

/* Which of the used columns the map reaches. New. */
static uint8_t *reached(const int32_t *map, int64_t cols, int64_t used)
{
    uint8_t *has = ferry_i_calloc(used, sizeof *has);

    for (int64_t j = 0; has && j < cols; j++)
        if (map[j] >= 0) has[map[j]] = 1;
    return has;
}

/* Whether these are all rows of the view, in their order. */
static bool whole(const ferry_view *view, int64_t n, const int64_t *rows)
{
    for (int64_t i = 0; i < n; i++)
        if (rows[i] != i) return false;
    return n == view->x->rows;
}

/* The n instances in view v alone. */
static ferry_status view_rows(ferry_ctx *ctx, const space *s, const plan_part *part,
                              int64_t v, int64_t n, const int64_t *instance,
                              ferry_matrix **out)
{
    ferry_status st = FERRY_OK;
    const ferry_view *view = part->view[v];
    int64_t *rows = NULL;
    int32_t *map = NULL;
    uint8_t *has = NULL;
    bool all = false;

    if (!view && s->sparse[v]) return ferry_i_matrix_csr(ctx, n, s->used[v], 0, out);
    if (!view) {
        FERRY_TRY(ferry_i_matrix_dense(ctx, n, s->used[v], out));
        mark_missing(*out, NULL, NULL);
        goto done;
    }
    FERRY_NEW(ctx, rows, n);
    for (int64_t i = 0; i < n; i++)
        rows[i] = row_of(view, instance[i]);
    FERRY_TRY(column_map(ctx, s, part, v, &map, &all));
    if (all && whole(view, n, rows)) { /* matrices do not change: no copy */
        *out = ferry_i_matrix_ref(view->x);
        goto done;
    }
    FERRY_TRY(
        ferry_i_matrix_take(ctx, view->x, n, rows, s->used[v], all ? NULL : map, out));
    if (!(*out)->dense || s->sparse[v]) goto done;
    has = reached(map, view->x->cols, s->used[v]);
    FERRY_HAVE(ctx, has);
    mark_missing(*out, rows, has);
done:
    ferry_i_free(has);
    ferry_i_free(map);
    ferry_i_free(rows);
    return st;
}

/* A dense matrix in CSR, zeros left out: joining it with a sparse one must not make that
 * dense. */
static ferry_status to_csr(ferry_ctx *ctx, ferry_matrix **x)
{
    ferry_status st = FERRY_OK;
    const ferry_matrix *from = *x;
    ferry_matrix *to = NULL;
    int64_t nnz = 0;

    if (!from->dense) goto done;
    for (int64_t e = 0; e < from->rows * from->cols; e++)
        nnz += from->dense[e] != 0;
    FERRY_TRY(ferry_i_matrix_csr(ctx, from->rows, from->cols, nnz, &to));
    nnz = 0;
    for (int64_t i = 0; i < from->rows; i++) {
        for (int64_t e = row_begin(from, i); e < row_end(from, i); e++) {
            if (from->dense[e] == 0) continue;
            to->index[nnz] = (int32_t)row_column(from, i, e);
            to->value[nnz++] = from->dense[e];
        }
        to->start[i + 1] = nnz;
    }
    ferry_i_matrix_free(*x);
    *x = to;
done:
    return st;
}

ferry_status ferry_i_space_combine(ferry_ctx *ctx, bool stack, int64_t n,
                                   ferry_matrix **part, ferry_matrix **out)
{
    ferry_status st = FERRY_OK;
    bool sparse = false;

    *out = NULL;
    if (n == 1) {
        *out = part[0];
        part[0] = NULL;
        goto done;
    }
    for (int64_t i = 0; i < n; i++)
        sparse = sparse || !part[i]->dense;
    for (int64_t i = 0; sparse && i < n; i++)
        FERRY_TRY(to_csr(ctx, &part[i]));
    FERRY_TRY((stack ? ferry_i_matrix_stack : ferry_i_matrix_join)(
        ctx, n, (const ferry_matrix *const *)part, out));
done:
    return st;
}

ferry_status ferry_i_space_rows(ferry_ctx *ctx, const space *s, const plan_part *part,
                                int64_t n, const int64_t *instance, ferry_matrix **out)
{
    ferry_status st = FERRY_OK;
    ferry_matrix **piece = ferry_i_calloc(s->n_views, sizeof(ferry_matrix *));

    *out = NULL;
    FERRY_HAVE(ctx, piece);
    for (int64_t v = 0; v < s->n_views; v++)
        FERRY_TRY(view_rows(ctx, s, part, v, n, instance, &piece[v]));
    FERRY_TRY(ferry_i_space_combine(ctx, false, s->n_views, piece, out));
done:
    for (int64_t v = 0; piece && v < s->n_views; v++)
        ferry_i_matrix_free(piece[v]);
    ferry_i_free(piece);
    return st;
}
