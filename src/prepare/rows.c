/* Rows of one domain: features through the scalers, labels by goal (prepare.h). */
#include <math.h>
#include <string.h>

#include "core/ranks.h"
#include "learn/rows.h"
#include "learn/scale_cells.h"
#include "prepare/plan.h"

void ferry_i_rows_clear(ferry_rows *r)
{
    for (int64_t v = 0; v < r->n_x; v++) {
        if (r->x) ferry_i_matrix_free(r->x[v]);
        if (r->shift) ferry_i_free(r->shift[v]);
        if (r->there) ferry_i_free(r->there[v]);
    }
    FERRY_FREE(r->x, r->shift, r->factor, r->there, r->instance, r->has, r->cls, r->num,
               r->on);
    *r = (ferry_rows){0};
}

/* ---- which instances ---- */

/* Row of an instance in a view, -1 when it has none. */
static int64_t row_of(const ferry_view *v, int64_t instance)
{
    return v && instance < v->n_instances ? v->row_of[instance] : -1;
}

/* Whether any view has the instance. One without features has nothing to learn from,
 * unless the method asks for every instance. */
static bool covered(int64_t n, const ferry_lane *lane, int64_t instance)
{
    for (int64_t v = 0; v < n; v++)
        if (row_of(lane[v].view, instance) >= 0) return true;
    return false;
}

/* The rows of the result, in the order of the domain. PATH keeps all of them, with or
 * without features (prepare.h). */
static ferry_status list_instances(ferry_ctx *ctx, const ferry_prepared *p,
                                   const ferry_domain *d, int64_t n_lanes,
                                   const ferry_lane *lane, bool spread, ferry_rows *out)
{
    ferry_status st = FERRY_OK;
    int64_t from = 0, to = 0;
    const bool every = p->wants.every || p->wants.layout == FERRY_PATH;
    const int64_t n = ferry_i_ids_count(d->ids);

    FERRY_NEW(ctx, out->instance, n);
    for (int64_t i = 0; i < n; i++)
        if ((every || covered(n_lanes, lane, i)) &&
            (!p->wants.labelled || ferry_i_labels_has(d->labels, i)))
            out->instance[out->n++] = i;
    if (!spread || !ferry_i_ranks_split(ctx)) goto done;
    out->whole = out->n;
    ferry_i_ranks_part(ctx, out->n, &from, &to);
    out->n = to - from;
    memmove(out->instance, out->instance + from, (size_t)out->n * sizeof *out->instance);
done:
    return st;
}

/* ---- one view ---- */

/* rows[i] <- the view's row of each instance; *found: how many have one. In NULL `there`
 * stays when all have. */
static ferry_status find_rows(ferry_ctx *ctx, const ferry_view *v, const ferry_rows *r,
                              int64_t *rows, uint8_t **there)
{
    ferry_status st = FERRY_OK;
    int64_t found = 0;

    for (int64_t i = 0; i < r->n; i++) {
        rows[i] = row_of(v, r->instance[i]);
        found += rows[i] >= 0;
    }
    if (found == r->n) goto done;
    FERRY_NEW(ctx, *there, r->n);
    for (int64_t i = 0; i < r->n; i++)
        (*there)[i] = rows[i] >= 0;
done:
    return st;
}

/* Whether these are rows of x that follow each other. */
static bool is_slice(int64_t n, const int64_t *rows)
{
    for (int64_t i = 0; i < n; i++)
        if (rows[i] != rows[0] + i || rows[0] < 0) return false;
    return true;
}

/* Only the rows that are there, so that nothing is prepared in vain; rows[] then counts
 * within them. Of a slice, which a rank's rows mostly are, no copy is made; that it is not all is written down in the
 * matrix, so that it is never x itself. */
static ferry_status take_present(ferry_ctx *ctx, ferry_matrix *x, const ferry_rows *r,
                                 int64_t *rows, ferry_matrix **out)
{
    ferry_status st = FERRY_OK;
    const int64_t n = r->n, first = n > 0 ? rows[0] : 0;
    int64_t *from = NULL, m = 0;

    if (n == x->rows && is_slice(n, rows) && !r->whole) {
        *out = ferry_i_matrix_ref(x);
        goto done;
    }
    if (is_slice(n, rows)) {
        for (int64_t i = 0; i < n; i++)
            rows[i] = i;
        FERRY_TRY(ferry_i_matrix_slice(ctx, x, first, n, out));
        goto done;
    }
    FERRY_NEW(ctx, from, n);
    for (int64_t i = 0; i < n; i++) {
        if (rows[i] < 0) continue;
        from[m] = rows[i];
        rows[i] = m++;
    }
    FERRY_TRY(ferry_i_matrix_take(ctx, x, m, from, x->cols, NULL, out));
done:
    ferry_i_free(from);
    return st;
}

/* Whether the result has the view's columns as they are: then no copy is needed. */
static bool keeps_columns(const ferry_lane *l)
{
    for (int64_t j = 0; l->to && j < l->view->x->cols; j++)
        if (l->to[j] != j) return false;
    return l->view->x->cols == l->cols;
}

/* Cells of a dense matrix that the domain does not have become NaN. */
static ferry_status mark_missing(ferry_ctx *ctx, const ferry_lane *l, const uint8_t *there,
                                 ferry_matrix *x)
{
    ferry_status st = FERRY_OK;
    uint8_t *has = NULL;

    FERRY_NEW(ctx, has, l->cols);
    for (int64_t j = 0; l->view && j < l->view->x->cols; j++)
        if (!l->to || l->to[j] >= 0) has[l->to ? l->to[j] : j] = 1;
    for (int64_t i = 0; i < x->rows; i++)
        for (int64_t j = 0; j < x->cols; j++)
            if (!has[j] || (there && !there[i])) x->dense[i * x->cols + j] = NAN;
done:
    ferry_i_free(has);
    return st;
}

/* Whether the centring is left to the method. */
static bool is_uncentred(const ferry_prepared *p, const ferry_scaler *s)
{
    return p->wants.shift ||
           (p->wants.positive != FERRY_ANY_SIGN && s && s->kind == FERRY_SCALE_ROOTS);
}

enum {
    FAR = 1000
}; /* deviations that a column's mean may lie from 0, or products would lose too many digits */

/* Whether the values of the view may stay as they are: all of its rows and columns are there, and no more is to be done
 * than what products can take into account. Dense or CSR plays no part. */
static bool can_lend(const ferry_prepared *p, const ferry_lane *l, const ferry_matrix *raw,
                     const ferry_rows *r, const uint8_t *there)
{
    const ferry_scaler *s = l->scale;
    const ferry_scale_part part = {raw, l->map};
    const double root = sqrt((double)raw->cols);

    if (!p->wants.lend || p->n_frames != 1 || p->wants.missing || r->whole || there ||
        !s->dense || (s->kind != FERRY_SCALE_STANDARD && s->kind != FERRY_SCALE_COMMON) ||
        !ferry_i_part_plain(&part, s->d) || !keeps_columns(l))
        return false;
    for (int64_t j = 0; j < s->d; j++)
        if (fabs(s->shift[j] * s->factor[j]) * root > FAR) return false;
    return true;
}

/* The part of x that one view makes. */
static ferry_status lane_rows(ferry_ctx *ctx, const ferry_prepared *p, const ferry_lane *l,
                              const ferry_rows *r, uint8_t **there, bool *lent,
                              ferry_matrix **out)
{
    ferry_status st = FERRY_OK;
    const ferry_scale_how how = {p->wants.missing, is_uncentred(p, l->scale),
                                 p->wants.keeps};
    int64_t *rows = NULL;
    ferry_matrix *raw = NULL, *ready = NULL, *lends = NULL;

    FERRY_NEW(ctx, rows, r->n);
    FERRY_TRY(find_rows(ctx, l->view, r, rows, there));
    if (l->view) {
        FERRY_TRY(take_present(ctx, l->view->x, r, rows, &raw));
        /* the view keeps a slice's numbers anyway, so that it may lend its pattern on */
        if (raw->lender == l->view->x) lends = ferry_i_matrix_ref(raw);
        const ferry_scale_part part = {raw, l->map};
        *lent = can_lend(p, l, raw, r, *there);
        if (*lent && l->scale->complete && raw->dense && !how.own) {
            /* the scale was learned from these very cells: no second look at them */
            ready = ferry_i_matrix_ref(raw);
        } else if (
            *lent) { /* as `none` has it: dense, what is missing filled, and no copy of what is so already */
            const ferry_scaler none = {.kind = FERRY_SCALE_NONE,
                                       .d = l->scale->d,
                                       .dense = true,
                                       .fill = l->scale->fill};
            FERRY_TRY(ferry_i_scaler_apply(ctx, &none, &part, how, &ready));
        } else {
            FERRY_TRY(ferry_i_scaler_apply(ctx, l->scale, &part, how, &ready));
        }
        if (!*there && keeps_columns(l)) {
            FERRY_MOVE(*out, ready);
        } else {
            FERRY_TRY(ferry_i_matrix_take(ctx, ready, r->n, rows, l->cols, l->to, out));
        }
    } else if (l->scale && l->scale->dense) {
        FERRY_TRY(ferry_i_matrix_dense(ctx, r->n, l->cols, out));
    } else {
        FERRY_TRY(ferry_i_matrix_csr(ctx, r->n, l->cols, 0, out));
    }
    /* a matrix that is shared with the view lacks nothing */
    if (p->wants.missing && (*out)->dense && !(l->view && *out == l->view->x))
        FERRY_TRY(mark_missing(ctx, l, *there, *out));
done:
    ferry_i_matrix_free(ready);
    ferry_i_matrix_free(lends);
    ferry_i_matrix_free(raw);
    ferry_i_free(rows);
    return st;
}

/* What centring still takes off the columns of one lane: all of it where it was not
 * applied. `to` has room for l->cols. Whether there is any. */
static bool lane_shift(const ferry_prepared *p, const ferry_lane *l, bool lent, double *to)
{
    const ferry_scaler *s = l->scale;

    if (!l->view || !s->shift || (s->dense && !is_uncentred(p, s) && !lent)) return false;
    for (int64_t j = 0; j < l->view->x->cols; j++) {
        const int64_t from = l->map ? l->map[j] : j, at = l->to ? l->to[j] : j;
        /* Shift and factor are of raw values, but what is returned is for scaled ones. */
        if (from >= 0 && at >= 0) to[at] = s->shift[from] * s->factor[from];
    }
    return true;
}

/* ---- views side by side ---- */

static ferry_status join_shifts(ferry_ctx *ctx, const ferry_prepared *p, int64_t n,
                                const ferry_lane *lane, bool lent, double **out)
{
    ferry_status st = FERRY_OK;
    double *shift = NULL;
    int64_t cols = 0, at = 0;
    bool any = false;

    for (int64_t v = 0; v < n; v++)
        cols += lane[v].cols;
    FERRY_NEW(ctx, shift, cols);
    for (int64_t v = 0; v < n; at += lane[v++].cols)
        any = lane_shift(p, &lane[v], lent, shift + at) || any;
    if (any) {
        FERRY_MOVE(*out, shift);
    }
done:
    ferry_i_free(shift);
    return st;
}

/* `there` of the single views is dropped: a row of the whole exists if any view has it. */
static ferry_status make_joined(ferry_ctx *ctx, const ferry_prepared *p, int64_t n,
                                const ferry_lane *lane, ferry_rows *out)
{
    ferry_status st = FERRY_OK;
    ferry_matrix **piece = NULL;
    uint8_t *there = NULL;
    bool lent = false;

    FERRY_NEW(ctx, piece, n);
    for (int64_t v = 0; v < n; v++) {
        FERRY_TRY(lane_rows(ctx, p, &lane[v], out, &there, &lent, &piece[v]));
        ferry_i_free(there);
        there = NULL;
    }
    FERRY_TRY(ferry_i_matrix_beside(ctx, p->dense, n, piece, &out->x[0]));
    FERRY_TRY(join_shifts(ctx, p, n, lane, lent, &out->shift[0]));
    if (lent) {
        FERRY_NEW(ctx, out->factor, lane[0].cols);
        memcpy(out->factor, lane[0].scale->factor,
               (size_t)lane[0].cols * sizeof *out->factor);
    }
done:
    for (int64_t v = 0; piece && v < n; v++)
        ferry_i_matrix_free(piece[v]);
    FERRY_FREE(piece, there);
    return st;
}

/* out is cleared by the caller in any case; n_x is set first so that a half-made one can
 * be. */
ferry_status ferry_i_rows_make(ferry_ctx *ctx, const ferry_prepared *p,
                               const ferry_domain *d, int64_t n_lanes,
                               const ferry_lane *lane, bool spread, ferry_rows *out)
{
    ferry_status st = FERRY_OK;
    const bool apart = p->wants.layout == FERRY_APART;
    bool lent = false;

    *out = (ferry_rows){.domain = d, .n_x = apart ? n_lanes : 1};
    FERRY_NEW(ctx, out->x, out->n_x);
    FERRY_NEW(ctx, out->shift, out->n_x);
    FERRY_NEW(ctx, out->there, out->n_x);
    FERRY_TRY(list_instances(ctx, p, d, n_lanes, lane, spread, out));
    for (int64_t v = 0; apart && v < n_lanes; v++) {
        FERRY_TRY(lane_rows(ctx, p, &lane[v], out, &out->there[v], &lent, &out->x[v]));
        FERRY_TRY(join_shifts(ctx, p, 1, &lane[v], false, &out->shift[v]));
    }
    if (!apart) FERRY_TRY(make_joined(ctx, p, n_lanes, lane, out));
    for (int64_t v = 0; out->whole && v < out->n_x; v++)
        out->x[v]->whole = out->whole;
done:
    return st;
}

/* ---- labels ---- */

/* Hidden labels get the mark of their kind: -1, NaN, or 255 in every cell of the set. */
ferry_status ferry_i_rows_label(ferry_ctx *ctx, const ferry_prepared *p, ferry_rows *r)
{
    ferry_status st = FERRY_OK;
    const ferry_labels *l = r->domain->labels;
    const bool numbers = p->goal == FERRY_REGRESS, sets = p->goal == FERRY_MULTILABEL;

    if (numbers)
        FERRY_NEW(ctx, r->num, r->n);
    else if (sets)
        FERRY_NEW(ctx, r->on, r->n * p->k);
    else
        FERRY_NEW(ctx, r->cls, r->n);
    for (int64_t i = 0; i < r->n; i++) {
        const int64_t at = r->instance[i];
        const bool known = ferry_i_labels_has(l, at);
        /* A label that is hidden by a split counts as none: the method cannot tell the
         * two apart. */
        r->labelled += known;
        if (numbers)
            r->num[i] = known ? l->num[at] : NAN;
        else if (!sets)
            r->cls[i] = known ? l->cls[at] : -1;
        else if (known)
            memcpy(r->on + i * p->k, l->on + at * p->k, (size_t)p->k);
        else
            memset(r->on + i * p->k, 255, (size_t)p->k);
    }
    if (r->whole) FERRY_TRY(ferry_i_ranks_count(ctx, &r->labelled));
done:
    return st;
}
