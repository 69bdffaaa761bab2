/* From a solved eigenproblem to an embedding of new instances, also where views are
 * missing, and its file (embedding.h). */
#include "methods/shared/embedding.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#include "core/ranks.h"

/* Points of the scatter in a report: enough to see groups, few enough to draw and to
 * store. */
enum { SCATTER_MOST = 1000 };

void ferry_i_embedding_free(void *state)
{
    embedding *e = state;

    if (!e) return;
    for (int64_t j = 0; e->part && j < e->p; j++) {
        FERRY_FREE(e->part[j].mean, e->part[j].u, e->part[j].slope, e->part[j].r2);
    }
    ferry_i_free(e->part);
    ferry_i_prepared_free(e->prepared);
    ferry_i_free(e);
}

/* ---- from eigenvectors ---- */

/* Of each component c over the instances that the view has:
 *   slope_c = t_c'phi_c / |t_c|^2,   r2_c = (t_c'phi_c)^2 / (|t_c|^2 |phi_c|^2). */
static ferry_status regress(ferry_ctx *ctx, const embed_view *v, const ferry_block *t,
                            const ferry_block *phi, embed_part *part)
{
    for (int64_t c = 0; c < t->k; c++) {
        double sum[3] = {0, 0, 0};
        for (int64_t i = 0; i < t->rows; i++) {
            const double a = FERRY_ROW(t, i)[c], b = FERRY_ROW(phi, i)[c];
            if (!ferry_i_centred_has(&v->c, i)) continue;
            sum[0] += a * a;
            sum[1] += a * b;
            sum[2] += b * b;
        }
        FERRY_PASS(ferry_i_sum_rows(ctx, v->c.x, 3, sum));
        const double tt = sum[0], tp = sum[1], pp = sum[2];
        part->slope[c] = tt > 0 ? tp / tt : 0;
        part->r2[c] = tt > 0 && pp > 0 ? tp * tp / (tt * pp) : 0;
    }
    return FERRY_OK;
}

/* U_j for the d_j features as prepared: the view's factor and f_j times u_j, and Q_j in
 * front where the view was compressed. */
static void expand(ferry_ctx *ctx, const embed_view *v, double f, const ferry_block *uj,
                   ferry_block *u)
{
    f *= v->factor;
    if (!v->q) {
        ferry_e(ctx)->axpby(ctx, f, uj, 0, u);
        return;
    }
    const ferry_matrix q = ferry_i_block_matrix(v->q);
    ferry_e(ctx)->mul(ctx, f, &q, uj, 0, u);
}

/* t_j = f_j X_j u_j; uj: where U_j lies in the solution. */
static void project(ferry_ctx *ctx, const embed_solution *s, int64_t j,
                    const ferry_block *uj, ferry_block *t)
{
    ferry_i_centred_mul(ctx, &s->x[j]->c, uj, t);
    for (int64_t e = 0; s->f && e < t->rows * t->k; e++)
        t->data[e] *= s->f[j];
}

/* An eigenvector is one up to its sign. The entry of the whole U that is largest in size is
 * made positive: compression must not decide. */
static void fix_signs(embedding *e, ferry_block *phi)
{
    for (int64_t c = 0; c < e->d; c++) {
        double most = 0, sign = 1;
        for (int64_t j = 0; j < e->p; j++)
            for (int64_t i = 0; i < e->part[j].cols; i++) {
                const double x = FERRY_ROW(e->part[j].u, i)[c];
                if (fabs(x) <= most) continue;
                most = fabs(x);
                sign = x < 0 ? -1 : 1;
            }
        if (sign > 0) continue;
        for (int64_t j = 0; j < e->p; j++)
            for (int64_t i = 0; i < e->part[j].cols; i++)
                FERRY_ROW(e->part[j].u, i)[c] *= -1;
        for (int64_t i = 0; i < phi->rows; i++)
            FERRY_ROW(phi, i)[c] *= -1;
    }
}

/* Room for one view's part; the mean is copied. */
static ferry_status new_part(ferry_ctx *ctx, const embed_view *v, int64_t d,
                             embed_part *part)
{
    ferry_status st = FERRY_OK;

    part->cols = v->features;
    FERRY_NEW(ctx, part->mean, v->features);
    memcpy(part->mean, v->mean, (size_t)v->features * sizeof *v->mean);
    FERRY_TRY(ferry_i_block_new(ctx, v->features, d, &part->u));
    FERRY_NEW(ctx, part->slope, d);
    FERRY_NEW(ctx, part->r2, d);
done:
    return st;
}

/* 1e-10 of the largest is rounding: an eigenvalue below it is 0 in exact numbers. */
int64_t ferry_i_embed_positive(int64_t d, const double *values)
{
    int64_t positive = 0;

    while (positive < d && values[positive] > 1e-10 * values[0] && values[positive] > 0)
        positive++;
    return positive;
}

void ferry_i_embed_warn(ferry_ctx *ctx, const char *method, int64_t positive, int64_t d)
{
    if (positive < d)
        ferry_i_log(ctx, FERRY_WARN,
                    "%s: only %lld of d = %lld eigenvalues are positive: the other "
                    "components carry nothing",
                    method, (long long)positive, (long long)d);
}

/* Two passes over the views, each with the products t_j again: O(p) products more than
 * keeping all t_j, but only one m x d block beside Phi whatever p is. */
ferry_status ferry_i_embedding_new(ferry_ctx *ctx, const embed_solution *s, embedding **out,
                                   ferry_block **phi)
{
    ferry_status st = FERRY_OK;
    ferry_block *t = NULL, *z = NULL;
    embedding *e = NULL;

    *out = NULL;
    if (phi) *phi = NULL;
    FERRY_NEW(ctx, e, 1);
    e->p = s->p;
    e->d = s->d;
    e->share = s->share;
    FERRY_NEW(ctx, e->part, s->p);
    FERRY_TRY(ferry_i_block_new(ctx, s->m, s->d, &t));
    FERRY_TRY(ferry_i_block_new(ctx, s->m, s->d, &z));
    for (int pass = 0; pass < 2; pass++) /* the regressions need the whole of Phi */
        for (int64_t j = 0, at = 0; j < s->p; at += s->x[j++]->cols) {
            const embed_view *v = s->x[j];
            const ferry_block uj = {v->cols, s->d, s->u->data + at * s->d};
            embed_part *part = &e->part[j];
            project(ctx, s, j, &uj, t);
            if (pass == 0) {
                ferry_e(ctx)->axpby(ctx, s->share, t, 1, z); /* Phi += share t_j */
                continue;
            }
            /* U_j for features as prepared, and how well t_j alone explains each column
             * of Phi. */
            FERRY_TRY(new_part(ctx, v, s->d, part));
            expand(ctx, v, s->f ? s->f[j] : 1, &uj, part->u);
            FERRY_TRY(regress(ctx, v, t, z, part));
        }
    fix_signs(e, z);
    ferry_i_diag_reals(ctx, "eigenvalues", s->d, s->values);
    FERRY_MOVE(*out, e);
    if (phi) {
        FERRY_MOVE(*phi, z);
    }
done:
    ferry_i_embedding_free(e);
    FERRY_FREE(z, t);
    return st;
}

/* ---- new instances ---- */

/* What is gathered over the views for n instances. */
typedef struct gathered {
    ferry_block *sum;       /* n x d: sum of t_j */
    ferry_block *num, *den; /* n x d: of the weighted regressions */
    int64_t *have;          /* n: views that the instance has */
} gathered;

/* t_j = (x_j - mean_j)'U_j of all rows; the rows that are not there add nothing. */
static ferry_status gather_view(ferry_ctx *ctx, const embed_part *part, ferry_matrix *x,
                                const uint8_t *there, gathered *g)
{
    ferry_status st = FERRY_OK;
    const int64_t n = g->sum->rows, d = g->sum->k;
    const ferry_centred c = {.x = x, .shift = part->mean};
    ferry_block *t = NULL;

    FERRY_TRY(ferry_i_block_new(ctx, n, d, &t));
    ferry_i_centred_mul(ctx, &c, part->u, t);
    for (int64_t i = 0; i < n; i++) {
        if (there && !there[i]) continue;
        g->have[i]++;
        for (int64_t k = 0; k < d; k++) {
            const double a = FERRY_ROW(t, i)[k];
            FERRY_ROW(g->sum, i)[k] += a;
            FERRY_ROW(g->num, i)[k] += part->r2[k] * part->slope[k] * a;
            FERRY_ROW(g->den, i)[k] += part->r2[k];
        }
    }
done:
    ferry_i_free(t);
    return st;
}

/* An instance with all its views, or one put at the mean of those it lacks, is share sum
 * t_j; else the regressions speak for it. */
static void combine(const embedding *e, const gathered *g, ferry_block *phi)
{
    for (int64_t i = 0; i < phi->rows; i++) {
        const bool half = 2 * g->have[i] <= e->p;
        const bool by_regression =
            g->have[i] < e->p &&
            (e->missing == MISSING_REGRESS || (e->missing == MISSING_AUTO && half));
        const double *num = FERRY_ROW(g->num, i), *den = FERRY_ROW(g->den, i);
        const double *sum = FERRY_ROW(g->sum, i);
        double *to = FERRY_ROW(phi, i);
        for (int64_t c = 0; c < e->d; c++)
            to[c] = !by_regression ? e->share * sum[c] : den[c] > 0 ? num[c] / den[c] : 0;
    }
}

/* Every view that the domain has adds its t_j; how they combine is decided by instance,
 * since each may lack other views. O(nnz d) and three blocks of n x d. */
ferry_status ferry_i_embedding_apply(ferry_ctx *ctx, const embedding *e,
                                     const ferry_domain *d, ferry_block *phi)
{
    ferry_status st = FERRY_OK;
    const int64_t n = phi->rows;
    gathered g = {0};
    ferry_rows r = {0};

    FERRY_TRY(ferry_i_prepare_rows(ctx, e->prepared, d, &r));
    FERRY_TRY(ferry_i_block_new(ctx, n, e->d, &g.sum));
    FERRY_TRY(ferry_i_block_new(ctx, n, e->d, &g.num));
    FERRY_TRY(ferry_i_block_new(ctx, n, e->d, &g.den));
    FERRY_NEW(ctx, g.have, n);
    for (int64_t j = 0; j < e->p; j++)
        FERRY_TRY(gather_view(ctx, &e->part[j], r.x[j], r.there[j], &g));
    combine(e, &g, phi);
done:
    FERRY_FREE(g.sum, g.num, g.den, g.have);
    ferry_i_rows_clear(&r);
    return st;
}

/* Coordinates are the scores of goal embed: p->k is the dimension, not a class count. */
ferry_status ferry_i_embed_predict(ferry_ctx *ctx, const ferry_block *phi,
                                   ferry_prediction *p)
{
    ferry_status st = FERRY_OK;

    p->k = phi->k;
    FERRY_NEW(ctx, p->score, p->n * p->k);
    memcpy(p->score, phi->data, (size_t)(p->n * p->k) * sizeof *p->score);
done:
    return st;
}

/* ---- save and load: tensors PART.j of view j ---- */

/* Slopes and r2 go along even where missing is "mean": the file has one form. v->cols is
 * already set by the preparation: a file with another width fails on its shape. */
static void part_file(ferry_io *io, int64_t j, int64_t d, embed_part *v)
{
    const long long at = (long long)j;

    ferry_i_io_reals(io, ferry_i_io_name(io, "mean.%lld", at), 1, v->cols, &v->mean);
    ferry_i_io_block(io, ferry_i_io_name(io, "u.%lld", at), v->cols, d, &v->u);
    ferry_i_io_reals(io, ferry_i_io_name(io, "slope.%lld", at), 1, d, &v->slope);
    ferry_i_io_reals(io, ferry_i_io_name(io, "r2.%lld", at), 1, d, &v->r2);
}

/* The sizes are bounded before anything is allocated by them. e->p is set only when the
 * parts are there, since freeing runs over p of them. */
void ferry_i_embedding_file(ferry_io *io, embedding *e)
{
    int64_t sizes[] = {e->p, e->d, e->missing};

    ferry_i_io_ints(io, "sizes", 3, sizes);
    FERRY_IO_NEED(io,
                  sizes[0] > 0 && sizes[0] < 1 << 20 && sizes[1] > 0 &&
                      sizes[1] < 1 << 30 && sizes[2] >= 0 && sizes[2] <= MISSING_REGRESS,
                  "tensor sizes: %lld views, %lld dimensions, %lld", (long long)sizes[0],
                  (long long)sizes[1], (long long)sizes[2]);
    ferry_i_io_numbers(io, "share", 1, &e->share);
    ferry_i_prepared_file(io, &e->prepared);
    /* Views apart and every instance delivered: that is how apply() indexes x and there. */
    FERRY_IO_NEED(io,
                  e->prepared->n_frames == sizes[0] &&
                      e->prepared->wants.layout == FERRY_APART && e->prepared->wants.every,
                  "tensor prepare: %lld views, expected %lld apart",
                  (long long)e->prepared->n_frames, (long long)sizes[0]);
    if (ferry_i_io_loading(io)) FERRY_IO_NEW(io, e->part, sizes[0]);
    if (ferry_i_io_loading(io)) {
        e->p = sizes[0];
        e->d = sizes[1];
        e->missing = (embed_missing)sizes[2];
        for (int64_t j = 0; j < e->p; j++)
            e->part[j].cols = e->prepared->frame[j].cols;
    }
    for (int64_t j = 0; j < e->p; j++)
        part_file(io, j, e->d, &e->part[j]);
}

/* ---- diagnostics ---- */

/* z (2 n of n numbered instances) <- every step-th of those that are here, 0 for others. */
static ferry_status scatter_points(ferry_ctx *ctx, const ferry_block *phi, int64_t step,
                                   int64_t n, double *z)
{
    int64_t first = 0;

    FERRY_PASS(ferry_i_ranks_before(ctx, phi->rows, &first));
    for (int64_t p = (first + step - 1) / step; p * step < first + phi->rows; p++) {
        const double *row = FERRY_ROW(phi, p * step - first);
        z[2 * p] = row[0];
        z[2 * p + 1] = phi->k > 1 ? row[1] : 0;
    }
    return ferry_i_ranks_sum(ctx, 2 * n, z);
}

/* Every step-th instance rather than a random draw: no stream of random numbers is
 * touched, and the same data give the same picture. json_pack takes the arrays over. */
ferry_status ferry_i_embed_scatter(ferry_ctx *ctx, const ferry_domain *t,
                                   const ferry_block *phi)
{
    ferry_status st = FERRY_OK;
    const int64_t all = ferry_i_ids_count(t->ids), step = 1 + (all - 1) / SCATTER_MOST,
                  n = (all + step - 1) / step;
    json_t *x = json_array(), *y = json_array(), *id = json_array(), *cls = json_array();
    double *z = NULL;

    FERRY_NEW(ctx, z, 2 * n);
    FERRY_TRY(scatter_points(ctx, phi, step, n, z));
    for (int64_t p = 0; p < n; p++) {
        const int64_t i = p * step;
        const bool known = ferry_i_labels_has(t->labels, i);
        json_array_append_new(x, json_real(z[2 * p]));
        json_array_append_new(y, json_real(z[2 * p + 1]));
        json_array_append_new(id, json_string(ferry_i_ids_at(t->ids, i)));
        json_array_append_new(
            cls, known ? json_string(ferry_i_ids_at(t->labels->names, t->labels->cls[i]))
                       : json_null());
    }
    ferry_i_diag_json(
        ctx, "scatter",
        json_pack("{s:O, s:O, s:O, s:O}", "id", id, "z1", x, "z2", y, "class", cls));
done:
    json_decref(x);
    json_decref(y);
    json_decref(id);
    json_decref(cls);
    ferry_i_free(z);
    return st;
}
