/* place's model (place.h): principal axes, predictions, the file.
 *
 * File: form (classes, neighbours), width, group, the preparation, axes.*, rows, answers. */
#include <math.h>
#include <string.h>

#include "learn/eigen.h"
#include "learn/learn.h"
#include "learn/pa.h"
#include "methods/place/place.h"

/* ---- principal axes ---- */

void ferry_i_placing_axes_clear(place_axes *a)
{
    ferry_i_block_free(a->u);
    ferry_i_free(a->shift);
    *a = (place_axes){0};
}

/* The views of some rows, each less its part of `shift` (NULL: 0). x[v] is views + v. */
typedef struct joined {
    ferry_side_by_side z;
    int64_t cols;
    ferry_centred *views;
} joined;

static void joined_clear(joined *a)
{
    for (int64_t v = 0; a->views && v < a->z.p; v++)
        ferry_i_centred_clear(&a->views[v]);
    FERRY_FREE(a->views, a->z.x);
}

static ferry_status join(ferry_ctx *ctx, const ferry_rows *r, const double *shift,
                         joined *a)
{
    ferry_status st = FERRY_OK;

    a->z.m = r->n;
    a->z.p = r->n_x;
    FERRY_NEW(ctx, a->views, a->z.p);
    FERRY_NEW(ctx, a->z.x, a->z.p);
    for (int64_t v = 0; v < a->z.p; v++) {
        ferry_centred *c = &a->views[v];
        a->z.x[v] = c;
        c->x = ferry_i_matrix_ref(r->x[v]);
        FERRY_NEW(ctx, c->shift, c->x->cols);
        for (int64_t j = 0; shift && j < c->x->cols; j++)
            c->shift[j] = shift[a->cols + j];
        a->cols += c->x->cols;
        if (!r->there || !r->there[v]) continue;
        FERRY_NEW(ctx, c->present, r->n);
        for (int64_t i = 0; i < r->n; i++)
            c->present[i] = r->there[v][i];
    }
done:
    return st;
}

/* Means of the columns over the rows that are there. */
static ferry_status means(ferry_ctx *ctx, const joined *a, double *shift)
{
    ferry_status st = FERRY_OK;

    for (int64_t v = 0, at = 0; v < a->z.p; at += a->views[v++].x->cols) {
        double n = 0;
        for (int64_t i = 0; i < a->z.m; i++)
            n += ferry_i_centred_has(&a->views[v], i);
        FERRY_TRY(ferry_e(ctx)->sums(ctx, a->views[v].x, FERRY_COLS, 1, shift + at));
        for (int64_t j = 0; n > 0 && j < a->views[v].x->cols; j++)
            shift[at + j] /= n;
        memcpy(a->views[v].shift, shift + at, (size_t)a->views[v].x->cols * sizeof *shift);
    }
done:
    return st;
}

/* Axes whose variance is no more than rounding are left out: they would be noise of length
 * 1 after whitening. */
ferry_status ferry_i_placing_axes(ferry_ctx *ctx, const ferry_rows *r, place_axes *a)
{
    ferry_status st = FERRY_OK;
    joined z = {0};
    double *values = NULL, sum = 0;
    ferry_block *u = NULL;
    int64_t most = PLACE_AXES;

    FERRY_TRY(join(ctx, r, NULL, &z));
    a->cols = z.cols;
    FERRY_NEW(ctx, a->shift, z.cols);
    FERRY_TRY(means(ctx, &z, a->shift));
    most = most < z.cols ? most : z.cols;
    most = most < r->n ? most : r->n;
    FERRY_NEW(ctx, values, most);
    FERRY_TRY(ferry_i_block_new(ctx, z.cols, most, &u));
    const ferry_eigen_problem e = {z.cols, ferry_i_sides_apply, &z.z, FERRY_EIGEN_AUTO};
    FERRY_TRY(ferry_i_eigen_largest(ctx, &e, most, values, u));
    for (; a->q < most && values[a->q] > 1e-10 * values[0]; a->q++)
        sum += values[a->q];
    FERRY_NEED(ctx, a->q > 0 && sum > 0, FERRY_EDATA,
               "place: the rows of '%s' are all the same", r->domain->name);
    a->factor = sqrt((double)r->n / sum);
    FERRY_TRY(ferry_i_block_new(ctx, z.cols, a->q, &a->u));
    for (int64_t i = 0; i < z.cols; i++)
        memcpy(FERRY_ROW(a->u, i), FERRY_ROW(u, i), (size_t)a->q * sizeof *u->data);
done:
    joined_clear(&z);
    ferry_i_free(values);
    ferry_i_block_free(u);
    return st;
}

ferry_status ferry_i_placing_project(ferry_ctx *ctx, const ferry_rows *r,
                                     const place_axes *a, ferry_block **out)
{
    ferry_status st = FERRY_OK;
    joined z = {0};
    ferry_block *t = NULL;

    FERRY_TRY(join(ctx, r, a->shift, &z));
    FERRY_TRY(ferry_i_block_new(ctx, r->n, a->q, &t));
    FERRY_TRY(ferry_i_sides_mul(ctx, &z.z, a->u, t));
    for (int64_t e = 0; e < t->rows * t->k; e++)
        t->data[e] *= a->factor;
    FERRY_MOVE(*out, t);
done:
    joined_clear(&z);
    ferry_i_block_free(t);
    return st;
}

/* ---- predictions ---- */

void ferry_i_placing_free(void *state)
{
    place_model *m = state;

    if (!m) return;
    ferry_i_prepared_free(m->prepared);
    ferry_i_placing_axes_clear(&m->axes);
    ferry_i_block_free(m->z);
    ferry_i_block_free(m->answer);
    FERRY_FREE(m->group, m);
}

/* score (k) <- the answers of the nearest kept rows, weighted by exp(-d^2 / width); a kept
 * row itself (or a copy of one) gets its own answer. */
static void ask(const place_model *m, int64_t n, const int64_t *near, const double *dist,
                double *score)
{
    double total = 0;

    memset(score, 0, (size_t)m->k * sizeof *score);
    for (int64_t e = 0; e < n && near[e] >= 0; e++) {
        const double least = dist[0] * dist[0], d2 = dist[e] * dist[e];
        /* less the nearest: far away all weights would be 0 */
        const double w = exp(-(d2 - least) / m->width);
        for (int64_t c = 0; c < m->k; c++)
            score[c] += w * FERRY_ROW(m->answer, near[e])[c];
        total += w;
        if (least < 1e-18) break;
    }
    for (int64_t c = 0; c < m->k; c++)
        score[c] /= total;
}

/* A class without a name is no answer (cls -1) and told as its group. */
static void decide(const place_model *m, int64_t i, ferry_prediction *p)
{
    double *score = p->score + i * p->k;
    const int32_t c = ferry_i_argmax(p->k, score);

    p->cls[i] = m->group[c] > 0 ? -1 : c;
    if (p->group) p->group[i] = m->group[c];
    for (int64_t e = 0; e < p->k; e++)
        if (m->group[e] > 0) score[e] = 0;
}

/* O(n_new n q) for the nearest. */
ferry_status ferry_i_placing_predict(ferry_ctx *ctx, const void *state,
                                     const ferry_domain *d, ferry_prediction *p)
{
    ferry_status st = FERRY_OK;
    const place_model *m = state;
    const int64_t k = m->neighbours;
    ferry_rows rows = {0};
    ferry_block *z = NULL;
    int64_t *near = NULL;
    double *dist = NULL;
    bool groups = false;

    FERRY_TRY(ferry_i_prepare_rows(ctx, m->prepared, d, &rows));
    FERRY_NEED(ctx, p->cls && p->k == m->k, FERRY_EDATA,
               "the model has %lld classes, not %lld", (long long)m->k, (long long)p->k);
    for (int64_t c = 0; c < m->k; c++)
        groups = groups || m->group[c] > 0;
    if (groups) FERRY_NEW(ctx, p->group, p->n);
    FERRY_TRY(ferry_i_placing_project(ctx, &rows, &m->axes, &z));
    FERRY_NEW(ctx, near, rows.n * k);
    FERRY_NEW(ctx, dist, rows.n * k);
    const ferry_matrix kept = ferry_i_block_matrix(m->z), asked = ferry_i_block_matrix(z);
    FERRY_TRY(ferry_i_knn(ctx, &kept, &asked, k, FERRY_EUCLIDEAN, near, dist));
    for (int64_t i = 0; i < p->n; i++)
        p->cls[i] = -1; /* nothing is known of it */
    for (int64_t r = 0; r < rows.n; r++) {
        ask(m, k, near + r * k, dist + r * k, p->score + rows.instance[r] * p->k);
        decide(m, rows.instance[r], p);
    }
done:
    ferry_i_rows_clear(&rows);
    ferry_i_block_free(z);
    FERRY_FREE(near, dist);
    return st;
}

/* ---- the file ---- */

/* Columns of the views of new data side by side. */
static int64_t columns(const ferry_prepared *p)
{
    int64_t cols = 0;

    for (int64_t v = 0; v < p->n_frames; v++)
        cols += p->frame[v].cols;
    return cols;
}

void ferry_i_placing_file(ferry_io *io, void *state)
{
    place_model *m = state;
    place_axes *a = &m->axes;
    int64_t form[] = {m->k, m->neighbours};
    double sizes[] = {m->width, a->factor};

    ferry_i_io_ints(io, "form", 2, form);
    ferry_i_io_numbers(io, "sizes", 2, sizes);
    FERRY_IO_NEED(
        io, form[0] >= 1 && form[1] >= 1 && form[1] <= 1000 && sizes[0] > 0 && sizes[1] > 0,
        "tensor form: %lld classes, %lld neighbours, width %g", (long long)form[0],
        (long long)form[1], sizes[0]);
    if (ferry_i_io_loading(io)) {
        m->k = form[0];
        m->neighbours = form[1];
        m->width = sizes[0];
        a->factor = sizes[1];
    }
    ferry_i_prepared_file(io, &m->prepared);
    if (io->st != FERRY_OK) return;
    const int64_t cols = columns(m->prepared);
    ferry_i_io_reals(io, "axes.shift", 1, cols, &a->shift);
    ferry_i_io_block(io, "axes.u", cols, -1, &a->u);
    if (io->st != FERRY_OK) return;
    if (ferry_i_io_loading(io)) {
        a->cols = cols;
        a->q = a->u->k;
    }
    ferry_i_io_block(io, "rows", -1, a->u->k, &m->z);
    FERRY_IO_NEED(io, m->z->rows >= 1, "tensor rows is empty");
    if (io->st != FERRY_OK) return;
    ferry_i_io_block(io, "answers", m->z->rows, m->k, &m->answer);
    ferry_i_io_places(io, "group", m->k, 0, m->k + 1, &m->group);
}
