/* CoCA: the views of a domain, and from a solved problem to a model. */
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "methods/coca/coca.h"

enum { COMPRESS_MOST = 2000, SCATTER_MOST = 1000 };

void ferry_i_coca_free(void *state)
{
    coca_model *m = state;

    if (!m) return;
    for (int64_t j = 0; j < m->p; j++) {
        if (m->mean) ferry_i_free(m->mean[j]);
        if (m->scale) ferry_i_free(m->scale[j]);
        if (m->u) ferry_i_block_free(m->u[j]);
    }
    ferry_i_free(m->cols);
    ferry_i_free(m->mean);
    ferry_i_free(m->scale);
    ferry_i_free(m->u);
    ferry_i_free(m->slope);
    ferry_i_free(m->r2);
    ferry_i_ids_free(m->graphs);
    ferry_i_free(m->wt);
    ferry_i_ids_free(m->ids);
    ferry_i_block_free(m->phi);
    ferry_i_free(m);
}

/* Room for p views and d dimensions; the parts of each view come later. */
ferry_status ferry_i_coca_new(ferry_ctx *ctx, int64_t p, int64_t d, coca_model **out)
{
    ferry_status st = FERRY_OK;
    coca_model *m = ferry_i_calloc(1, sizeof *m);

    *out = NULL;
    FERRY_HAVE(ctx, m);
    m->p = p;
    m->d = d;
    m->cols = ferry_i_calloc(p, sizeof *m->cols);
    m->mean = ferry_i_calloc(p, sizeof *m->mean);
    m->scale = ferry_i_calloc(p, sizeof *m->scale);
    m->u = ferry_i_calloc(p, sizeof *m->u);
    m->slope = ferry_i_calloc(p * d, sizeof *m->slope);
    m->r2 = ferry_i_calloc(p * d, sizeof *m->r2);
    m->graphs = ferry_i_ids_new();
    FERRY_HAVE(ctx,
               m->cols && m->mean && m->scale && m->u && m->slope && m->r2 && m->graphs);
    *out = m;
    m = NULL;
done:
    ferry_i_coca_free(m);
    return st;
}

/* ---- views of a domain ---- */

void ferry_i_coca_views_free(int64_t n, coca_view **views)
{
    for (int64_t j = 0; views && j < n; j++)
        ferry_i_coca_view_free(views[j]);
    ferry_i_free(views);
}

ferry_status ferry_i_coca_views(ferry_ctx *ctx, const ferry_domain *d, coca_scaling scaling,
                                coca_view ***views)
{
    ferry_status st = FERRY_OK;
    const int64_t m = ferry_i_ids_count(d->ids);
    coca_view **x = ferry_i_calloc(d->n_views, sizeof *x);

    *views = NULL;
    FERRY_HAVE(ctx, x);
    for (int64_t j = 0; j < d->n_views; j++) {
        const ferry_view *v = d->views[j];
        FERRY_TRY(ferry_i_coca_view_new(ctx, v->x, m, v->row_of, &x[j]));
        st = ferry_i_coca_view_fit(ctx, x[j], scaling);
        if (st == FERRY_ENUMERIC) ferry_i_prefix(ctx, st, "view '%s'", v->name);
        FERRY_TRY(st);
        if (x[j]->cols > m && m <= COMPRESS_MOST)
            FERRY_TRY(ferry_i_coca_view_compress(ctx, x[j]));
        else if (!x[j]->x->dense)
            FERRY_TRY(ferry_i_coca_view_transpose(ctx, x[j]));
    }
    *views = x;
    x = NULL;
done:
    ferry_i_coca_views_free(d->n_views, x);
    return st;
}

/* Whether view j has two instances in common with another one. */
static bool shares(const ferry_domain *t, int64_t j)
{
    const ferry_view *v = t->views[j];

    for (int64_t h = 0; h < t->n_views; h++) {
        int64_t both = 0;
        for (int64_t i = 0; h != j && i < v->n_instances; i++)
            both += v->row_of[i] >= 0 && t->views[h]->row_of[i] >= 0;
        if (both >= 2) return true;
    }
    return false;
}

ferry_status ferry_i_coca_fits(ferry_ctx *ctx, const char *method, const ferry_domain *t,
                               int64_t d)
{
    ferry_status st = FERRY_OK;
    const int64_t m = ferry_i_ids_count(t->ids);
    int64_t size = 0;

    for (int64_t j = 0; j < t->n_views; j++) {
        const ferry_matrix *x = t->views[j]->x;
        size += x->cols < x->rows ? x->cols : x->rows;
        FERRY_NEED(ctx, t->n_views == 1 || shares(t, j), FERRY_ENEEDS,
                   "%s needs views with common ids; view '%s' of target '%s' shares fewer "
                   "than two instances with every other",
                   method, t->views[j]->name, t->name);
    }
    FERRY_NEED(ctx, t->n_views == 0 || d <= size, FERRY_ENEEDS,
               "%s: d = %lld, but the views of target '%s' have only %lld dimensions "
               "(features, or instances where those are fewer)",
               method, (long long)d, t->name, (long long)size);
    FERRY_NEED(ctx, t->n_views > 0 || d < m, FERRY_ENEEDS,
               "%s: d = %lld, but target '%s' has only %lld instances", method,
               (long long)d, t->name, (long long)m);
done:
    return st;
}

/* ---- from eigenvectors to a model ---- */

/* Slope and r2 of the regressions of phi_c on t_c over the instances that the view has. */
static void regress(const coca_view *v, const ferry_block *t, const ferry_block *phi,
                    double *slope, double *r2)
{
    for (int64_t c = 0; c < t->k; c++) {
        double tt = 0, tp = 0, pp = 0;
        for (int64_t i = 0; i < t->rows; i++) {
            const double a = FERRY_ROW(t, i)[c], b = FERRY_ROW(phi, i)[c];
            if (v->present && !(v->present[i] > 0)) continue;
            tt += a * a;
            tp += a * b;
            pp += b * b;
        }
        slope[c] = tt > 0 ? tp / tt : 0;
        r2[c] = tt > 0 && pp > 0 ? tp * tp / (tt * pp) : 0;
    }
}

/* U_j for the d_j features: Q_j u_j where the view was compressed, f_j multiplied in. */
static ferry_status expand(ferry_ctx *ctx, const coca_problem *c, int64_t j,
                           const ferry_block *uj, ferry_block **out)
{
    ferry_status st = FERRY_OK;
    const coca_view *v = c->x[j];
    const double f = c->f ? c->f[j] : 1;
    ferry_block *u = NULL;

    *out = NULL;
    FERRY_TRY(ferry_i_block_new(ctx, v->features, uj->k, &u));
    if (v->q) {
        const ferry_matrix q = {.rows = v->features,
                                .cols = v->cols,
                                .nnz = v->features * v->cols,
                                .dense = v->q->data,
                                .refs = 1};
        ferry_e(ctx)->mul(ctx, f, &q, uj, 0, u);
    } else {
        ferry_e(ctx)->axpby(ctx, f, uj, 0, u);
    }
    *out = u;
done:
    return st;
}

ferry_status ferry_i_coca_copy(ferry_ctx *ctx, int64_t n, const double *from, double **out)
{
    *out = ferry_i_calloc(n, sizeof **out);
    if (!*out) return ferry_i_nomem(ctx);
    memcpy(*out, from, (size_t)n * sizeof **out);
    return FERRY_OK;
}

/* The signs of the eigenvectors as those of the whole U (compression hides some of it). */
static void fix_signs(coca_model *m, ferry_block *phi)
{
    for (int64_t c = 0; c < m->d; c++) {
        double most = 0, sign = 1;
        for (int64_t j = 0; j < m->p; j++)
            for (int64_t i = 0; i < m->cols[j]; i++) {
                const double x = FERRY_ROW(m->u[j], i)[c];
                if (fabs(x) <= most) continue;
                most = fabs(x);
                sign = x < 0 ? -1 : 1;
            }
        if (sign > 0) continue;
        for (int64_t j = 0; j < m->p; j++)
            for (int64_t i = 0; i < m->cols[j]; i++)
                FERRY_ROW(m->u[j], i)[c] *= -1;
        for (int64_t i = 0; i < phi->rows; i++)
            FERRY_ROW(phi, i)[c] *= -1;
    }
}

/* Phi = share sum_j X_j U_j, and the parts of the model that belong to each view. */
static ferry_status keep_views(ferry_ctx *ctx, const coca_problem *c, const ferry_block *u,
                               coca_model *m, ferry_block *phi)
{
    ferry_status st = FERRY_OK;
    ferry_block *t = NULL;

    FERRY_TRY(ferry_i_block_new(ctx, c->m, m->d, &t));
    for (int pass = 0; pass < 2; pass++)
        for (int64_t j = 0, at = 0; j < c->p; at += c->x[j++]->cols) {
            const coca_view *v = c->x[j];
            const ferry_block uj = {v->cols, m->d, u->data + at * m->d};
            const double f = c->f ? c->f[j] : 1;
            ferry_i_coca_mul(ctx, v, &uj, t);
            for (int64_t e = 0; f != 1 && e < c->m * m->d; e++)
                t->data[e] *= f;
            if (pass == 0) {
                ferry_e(ctx)->axpby(ctx, m->share, t, 1, phi);
                continue;
            }
            regress(v, t, phi, m->slope + j * m->d, m->r2 + j * m->d);
            m->cols[j] = v->features;
            FERRY_TRY(ferry_i_coca_copy(ctx, v->features, v->mean, &m->mean[j]));
            FERRY_TRY(ferry_i_coca_copy(ctx, v->features, v->scale, &m->scale[j]));
            FERRY_TRY(expand(ctx, c, j, &uj, &m->u[j]));
        }
    fix_signs(m, phi);
done:
    ferry_i_block_free(t);
    return st;
}

/* Components past the positive eigenvalues say nothing, or less than nothing. */
static void warn_rank(ferry_ctx *ctx, const char *method, int64_t d, const double *values)
{
    int64_t positive = 0;

    while (positive < d && values[positive] > 1e-10 * values[0] && values[positive] > 0)
        positive++;
    if (positive < d)
        ferry_i_log(ctx, FERRY_WARN,
                    "%s: only %lld of d = %lld eigenvalues are positive: the other "
                    "components carry nothing",
                    method, (long long)positive, (long long)d);
}

ferry_status ferry_i_coca_fit(ferry_ctx *ctx, const char *method, const coca_problem *c,
                              int64_t d, double share, coca_model **out, ferry_block **phi)
{
    ferry_status st = FERRY_OK;
    const int64_t size = ferry_i_coca_size(c);
    double *values = ferry_i_calloc(d, sizeof *values);
    ferry_block *u = NULL, *z = NULL;
    coca_model *m = NULL;

    *out = NULL;
    if (phi) *phi = NULL;
    FERRY_HAVE(ctx, values);
    FERRY_NEED(ctx, d <= size, FERRY_ENEEDS,
               "%s: d = %lld, but the views span only %lld dimensions", method,
               (long long)d, (long long)size);
    FERRY_TRY(ferry_i_block_new(ctx, size, d, &u));
    FERRY_TRY(ferry_i_coca_solve(ctx, c, d, values, u));
    FERRY_TRY(ferry_i_coca_new(ctx, c->p, d, &m));
    m->share = share;
    FERRY_TRY(ferry_i_block_new(ctx, c->m, d, &z));
    FERRY_TRY(keep_views(ctx, c, u, m, z));
    warn_rank(ctx, method, d, values);
    ferry_i_diag_reals(ctx, "eigenvalues", d, values);
    *out = m;
    m = NULL;
    if (phi) {
        *phi = z;
        z = NULL;
    }
done:
    ferry_i_coca_free(m);
    ferry_i_block_free(z);
    ferry_i_block_free(u);
    ferry_i_free(values);
    return st;
}

/* ---- diagnostics ---- */

void ferry_i_coca_scatter(ferry_ctx *ctx, const ferry_domain *t, const ferry_block *phi)
{
    const int64_t step = 1 + (phi->rows - 1) / SCATTER_MOST;
    json_t *x = json_array(), *y = json_array(), *id = json_array(), *cls = json_array();

    for (int64_t i = 0; i < phi->rows; i += step) {
        const bool known = ferry_i_labels_has(t->labels, i);
        json_array_append_new(x, json_real(FERRY_ROW(phi, i)[0]));
        json_array_append_new(y, json_real(phi->k > 1 ? FERRY_ROW(phi, i)[1] : 0));
        json_array_append_new(id, json_string(ferry_i_ids_at(t->ids, i)));
        json_array_append_new(
            cls, known ? json_string(ferry_i_ids_at(t->labels->names, t->labels->cls[i]))
                       : json_null());
    }
    ferry_i_diag_json(
        ctx, "scatter",
        json_pack("{s:o, s:o, s:o, s:o}", "id", id, "z1", x, "z2", y, "class", cls));
}
