/* Rows of one domain: features through the scalers, labels by goal (prepare.h). */
#include <math.h>
#include <string.h>

#include "learn/rows.h"
#include "learn/scale_cells.h"
#include "prepare/plan.h"

/* ---- which instances ---- */

/* Row of an instance in a view, -1 when it has none. */
static int64_t row_of(const ferry_view *v, int64_t instance)
{
    return v && instance < v->n_instances ? v->row_of[instance] : -1;
}

/* Whether any view has the instance. One without features has nothing to learn from,
 * unless the method asks for every instance. */
static bool covered(int64_t n, const column_map *by, int64_t instance)
{
    for (int64_t v = 0; v < n; v++)
        if (row_of(by[v].view, instance) >= 0) return true;
    return false;
}

/* The rows of the result, in the order of the domain. PATH keeps all of them, with or
 * without features (prepare.h). */
static void list_instances(scope *keep, const ferry_prepared *p, const ferry_domain *d,
                           int64_t n_maps, const column_map *by, bool spread,
                           ferry_rows *out)
{
    const bool every = p->wants.every || p->wants.layout == FERRY_PATH;
    const int64_t n = ferry_i_ids_count(d->ids);

    out->instance = NEW(keep, int64_t, n);
    for (int64_t i = 0; i < n; i++)
        if ((every || covered(n_maps, by, i)) &&
            (!p->wants.labelled || ferry_i_labels_has(d->labels, i)))
            out->instance[out->n++] = i;
    out->of = HERE(out->n);
    if (!spread) return;
    out->of = rows_here(keep, out->n, &out->n);
    out->instance += out->of.first;
}

/* ---- one view ---- */

/* rows[i] <- the view's row of each instance; whether each has one, NULL: all have. */
static uint8_t *find_rows(scope *keep, const ferry_view *v, const ferry_rows *r,
                          int64_t *rows)
{
    int64_t found = 0;

    for (int64_t i = 0; i < r->n; i++) {
        rows[i] = row_of(v, r->instance[i]);
        found += rows[i] >= 0;
    }
    if (found == r->n) return NULL;
    uint8_t *there = NEW(keep, uint8_t, r->n);
    for (int64_t i = 0; i < r->n; i++)
        there[i] = rows[i] >= 0;
    return there;
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
static ferry_matrix *take_present(scope *s, ferry_matrix *x, const ferry_rows *r,
                                  int64_t *rows)
{
    const int64_t n = r->n, first = n > 0 ? rows[0] : 0;
    ferry_matrix *to = NULL;
    int64_t m = 0;

    if (n == x->rows && is_slice(n, rows) && !r->of.spread)
        return own_matrix(s, ferry_i_matrix_ref(x));
    if (is_slice(n, rows)) {
        for (int64_t i = 0; i < n; i++)
            rows[i] = i;
        scope_check(s, ferry_i_matrix_slice(scope_ctx(s), x, first, n, &to));
        return own_matrix(s, to);
    }
    int64_t *from = NEW(s, int64_t, n);
    for (int64_t i = 0; i < n; i++) {
        if (rows[i] < 0) continue;
        from[m] = rows[i];
        rows[i] = m++;
    }
    scope_check(s, ferry_i_matrix_take(scope_ctx(s), x, m, from, x->cols, NULL, &to));
    return own_matrix(s, to);
}

/* Whether the result has the view's columns as they are: then no copy is needed. */
static bool keeps_columns(const column_map *l)
{
    for (int64_t j = 0; l->to && j < l->view->x->cols; j++)
        if (l->to[j] != j) return false;
    return l->view->x->cols == l->cols;
}

/* Cells of a dense matrix that the domain does not have become NaN. */
static void mark_missing(scope *s, const column_map *l, const uint8_t *there,
                         ferry_matrix *x)
{
    uint8_t *has = NEW(s, uint8_t, l->cols);

    for (int64_t j = 0; l->view && j < l->view->x->cols; j++)
        if (!l->to || l->to[j] >= 0) has[l->to ? l->to[j] : j] = 1;
    for (int64_t i = 0; i < x->rows; i++)
        for (int64_t j = 0; j < x->cols; j++)
            if (!has[j] || (there && !there[i])) x->dense[i * x->cols + j] = NAN;
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
static bool can_borrow(const ferry_prepared *p, const column_map *l,
                       const ferry_matrix *raw, const ferry_rows *r, const uint8_t *there)
{
    const ferry_scaler *s = l->scale;
    const ferry_scale_part part = {.x = raw, .map = l->map};
    const double root = sqrt((double)raw->cols);

    if (s->base || !p->wants.borrow || p->n_frames != 1 || p->wants.missing ||
        r->of.spread || there || !s->dense ||
        (s->kind != FERRY_SCALE_STANDARD && s->kind != FERRY_SCALE_COMMON) ||
        !ferry_i_part_plain(&part, s->d) || !keeps_columns(l))
        return false;
    for (int64_t j = 0; j < s->d; j++)
        if (fabs(s->shift[j] * s->factor[j]) * root > FAR) return false;
    return true;
}

/* The scaled values of a view's rows that are there; raw: as they were. */
static ferry_matrix *scaled(scope *s, const ferry_prepared *p, const column_map *l,
                            ferry_matrix *x, bool raw)
{
    const ferry_scale_how how = {p->wants.missing, is_uncentred(p, l->scale),
                                 p->wants.keeps};
    const ferry_scale_part part = {.x = x, .map = l->map};
    /* as `none` has it: dense, what is missing filled, and no copy of what is so already */
    const ferry_scaler none = {
        .kind = FERRY_SCALE_NONE, .d = l->scale->d, .dense = true, .fill = l->scale->fill};

    /* the scale was learned from these very cells: no second look at them */
    if (raw && l->scale->complete && x->dense && !how.own) return x;
    return scaler_apply(s, raw ? &none : l->scale, &part, how);
}

static ferry_matrix *view_rows(scope *s, const ferry_prepared *p, const column_map *l,
                               const ferry_rows *r, int64_t *rows, const uint8_t *there,
                               bool *borrowed)
{
    ferry_matrix *x = take_present(s, l->view->x, r, rows), *to = NULL;

    /* the view keeps a slice's numbers anyway, so that its pattern may be borrowed on */
    if (x->keeper == l->view->x) (void)own_matrix(s, ferry_i_matrix_ref(x));
    *borrowed = can_borrow(p, l, x, r, there);
    x = scaled(s, p, l, x, *borrowed);
    if (!there && keeps_columns(l)) return ferry_i_matrix_ref(x);
    scope_check(s, ferry_i_matrix_take(scope_ctx(s), x, r->n, rows, l->cols, l->to, &to));
    return to;
}

/* The part of x that one view makes, and *there (find_rows()), in keep. */
static ferry_matrix *map_rows(scope *s, scope *keep, const ferry_prepared *p,
                              const column_map *l, const ferry_rows *r, uint8_t **there,
                              bool *borrowed)
{
    ferry_matrix *to = NULL;
    ferry_ctx *ctx = scope_ctx(s);
    int64_t *rows = NEW(s, int64_t, r->n);

    *there = find_rows(keep, l->view, r, rows);
    const int64_t mark = scope_mark(s);
    if (l->view)
        to = view_rows(s, p, l, r, rows, *there, borrowed);
    else if (l->scale && l->scale->dense)
        scope_check(s, ferry_i_matrix_dense(ctx, r->n, l->cols, &to));
    else
        scope_check(s, ferry_i_matrix_csr(ctx, r->n, l->cols, 0, &to));
    scope_release(s, mark);
    scope_drop(s, rows);
    (void)own_matrix(keep, to);
    /* a matrix that is shared with the view lacks nothing */
    if (p->wants.missing && to->dense && !(l->view && to == l->view->x))
        mark_missing(s, l, *there, to);
    return to;
}

/* What centring still takes off the columns of one map: where it was not applied all of it but
 * the base. `to` has room for l->cols. Whether there is any. */
static bool map_shift(const ferry_prepared *p, const column_map *l, bool borrowed,
                      double *to)
{
    const ferry_scaler *s = l->scale;

    if (!l->view || !s->shift || (s->dense && !is_uncentred(p, s) && !borrowed))
        return false;
    for (int64_t j = 0; j < l->view->x->cols; j++) {
        const int64_t from = l->map ? l->map[j] : j, at = l->to ? l->to[j] : j;
        /* Shift and factor are of raw values, but what is returned is for scaled ones. */
        const double base = from >= 0 && s->base ? s->base[from] : 0;
        if (from >= 0 && at >= 0) to[at] = (s->shift[from] - base) * s->factor[from];
    }
    return true;
}

/* ---- views side by side ---- */

/* NULL: nothing. */
static double *join_shifts(scope *keep, const ferry_prepared *p, int64_t n,
                           const column_map *by, bool borrowed)
{
    int64_t cols = 0, at = 0;
    bool any = false;

    for (int64_t v = 0; v < n; v++)
        cols += by[v].cols;
    double *shift = NEW(keep, double, cols);
    for (int64_t v = 0; v < n; at += by[v++].cols)
        any = map_shift(p, &by[v], borrowed, shift + at) || any;
    return any ? shift : NULL;
}

/* Whether columns beside each other are kept dense. */
static bool is_dense(const ferry_prepared *p, int64_t n, const column_map *by)
{
    int64_t cols = 0, there = 0;

    if (p->wants.layout != FERRY_PATH) return p->dense;
    for (int64_t v = 0; v < n; v++) {
        cols += by[v].cols;
        if (!by[v].view) continue;
        if (!p->wants.full || !by[v].scale->dense) return false;
        there += by[v].cols;
    }
    return 2 * there >= cols && there > 0;
}

typedef struct pieces {
    int64_t n;
    ferry_matrix **at;
} pieces;

static void free_pieces(void *arg)
{
    const pieces *p = arg;

    for (int64_t v = 0; v < p->n; v++)
        ferry_i_matrix_free(p->at[v]);
}

/* The views as pieces of x. `there` of the single views is dropped: a row of the whole
 * exists if any view has it. */
static void make_joined(scope *s, scope *keep, const ferry_prepared *p, int64_t n,
                        const column_map *by, ferry_rows *out)
{
    const int64_t mark = scope_mark(s);
    const bool dense = is_dense(p, n, by);
    pieces *all = NEW(s, pieces, 1);
    ferry_matrix *x = NULL;
    uint8_t *there = NULL;
    bool borrowed = false;

    *all = (pieces){n, NEW(s, ferry_matrix *, n)};
    scope_defer(s, free_pieces, all);
    for (int64_t v = 0; v < n; v++) {
        const int64_t scratch = scope_mark(s);
        x = map_rows(s, s, p, &by[v], out, &there, &borrowed);
        /* a view that the domain lacks, of words: columns of 0 */
        if (dense && !x->dense) x = matrix_dense(s, HERE(out->n), out->n, by[v].cols).m;
        all->at[v] = ferry_i_matrix_ref(x);
        scope_release(s, scratch);
    }
    scope_check(s, ferry_i_matrix_beside(scope_ctx(s), dense, n, all->at, &x));
    scope_release(s, mark);
    out->x[0] = own_matrix(keep, x);
    out->shift[0] = join_shifts(keep, p, n, by, borrowed);
    if (borrowed) out->factor = COPY(keep, by[0].scale->factor, by[0].cols);
}

ferry_rows rows_make(scope *s, scope *keep, const ferry_prepared *p, const ferry_domain *d,
                     int64_t n, const column_map *by, bool spread)
{
    const bool apart = p->wants.layout == FERRY_APART;
    ferry_rows r = {.domain = d, .n_x = apart ? n : 1};
    bool borrowed = false;

    r.x = NEW(keep, ferry_matrix *, r.n_x);
    r.shift = NEW(keep, double *, r.n_x);
    r.there = NEW(keep, uint8_t *, r.n_x);
    list_instances(keep, p, d, n, by, spread, &r);
    for (int64_t v = 0; apart && v < n; v++) {
        r.x[v] = map_rows(s, keep, p, &by[v], &r, &r.there[v], &borrowed);
        r.shift[v] = join_shifts(keep, p, 1, &by[v], false);
    }
    if (!apart) make_joined(s, keep, p, n, by, &r);
    for (int64_t v = 0; r.of.spread && v < r.n_x; v++)
        r.x[v]->whole = r.of.n;
    return r;
}

/* ---- labels ---- */

/* Hidden labels get the mark of their kind: -1, NaN, or 255 in every cell of the set. */
void rows_label(scope *keep, const ferry_prepared *p, ferry_rows *r)
{
    const ferry_labels *l = r->domain->labels;
    const bool numbers = p->goal == FERRY_REGRESS, sets = p->goal == FERRY_MULTILABEL;

    if (numbers)
        r->num = NEW(keep, double, r->n);
    else if (sets)
        r->on = NEW(keep, uint8_t, r->n * p->k);
    else
        r->cls = NEW(keep, int32_t, r->n);
    for (int64_t i = 0; i < r->n; i++) {
        const int64_t at = r->instance[i];
        /* A label that is hidden by a split counts as none: the method cannot tell the
         * two apart. So does one that weighs nothing. */
        const bool known =
            ferry_i_labels_has(l, at) && ferry_i_weight_of(r->domain, at) > 0;
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
    r->labelled = (int64_t)sum(keep, r->of, (double)r->labelled);
    if (!r->domain->weight) return;
    r->weight = NEW(keep, double, r->n);
    for (int64_t i = 0; i < r->n; i++)
        r->weight[i] = ferry_i_weight_of(r->domain, r->instance[i]);
}
