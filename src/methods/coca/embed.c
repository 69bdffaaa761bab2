/* CoCA: embedding the instances of a domain, new ones and those learned from, also where
 * views are missing. */
#include <string.h>

#include "methods/coca/coca.h"

/* What is gathered over the views for n instances. */
typedef struct gathered {
    ferry_block *sum;       /* n x d: sum of t_j */
    ferry_block *num, *den; /* n x d: of the weighted regressions */
    int64_t *have;          /* n: views that the instance has */
} gathered;

static void free_gathered(gathered *g)
{
    ferry_i_block_free(g->sum);
    ferry_i_block_free(g->num);
    ferry_i_block_free(g->den);
    ferry_i_free(g->have);
}

static ferry_status gather_view(ferry_ctx *ctx, const coca_model *m, int64_t j,
                                const ferry_view *v, int64_t n, gathered *g)
{
    ferry_status st = FERRY_OK;
    coca_view *x = NULL;
    ferry_block *t = NULL;

    FERRY_NEED(ctx, v->x->cols == m->cols[j], FERRY_EDATA,
               "view '%s' has %lld features, the model's %lld", v->name,
               (long long)v->x->cols, (long long)m->cols[j]);
    if (v->x->rows == 0) goto done;
    FERRY_TRY(ferry_i_coca_view_new(ctx, v->x, n, v->row_of, &x));
    ferry_i_coca_view_apply(x, m->mean[j], m->scale[j]);
    FERRY_TRY(ferry_i_block_new(ctx, n, m->d, &t));
    ferry_i_coca_mul(ctx, x, m->u[j], t);
    for (int64_t i = 0; i < n; i++) {
        if (v->row_of[i] < 0) continue;
        g->have[i]++;
        for (int64_t c = 0; c < m->d; c++) {
            const double r2 = m->r2[j * m->d + c], a = FERRY_ROW(t, i)[c];
            FERRY_ROW(g->sum, i)[c] += a;
            FERRY_ROW(g->num, i)[c] += r2 * m->slope[j * m->d + c] * a;
            FERRY_ROW(g->den, i)[c] += r2;
        }
    }
done:
    ferry_i_block_free(t);
    ferry_i_coca_view_free(x);
    return st;
}

static void combine(const coca_model *m, const gathered *g, ferry_block *phi)
{
    for (int64_t i = 0; i < phi->rows; i++) {
        const bool many = 2 * g->have[i] <= m->p;
        const bool by_regression =
            g->have[i] < m->p && (m->missing == COCA_MISSING_REGRESS ||
                                  (m->missing == COCA_MISSING_AUTO && many));
        for (int64_t c = 0; c < m->d; c++) {
            const double den = FERRY_ROW(g->den, i)[c];
            FERRY_ROW(phi, i)
            [c] = by_regression ? (den > 0 ? FERRY_ROW(g->num, i)[c] / den : 0)
                                : m->share * FERRY_ROW(g->sum, i)[c];
        }
    }
}

static ferry_status embed_views(ferry_ctx *ctx, const coca_model *m, const ferry_domain *d,
                                ferry_block *phi)
{
    ferry_status st = FERRY_OK;
    const int64_t n = phi->rows;
    gathered g = {0};

    FERRY_NEED(ctx, d->n_views == m->p, FERRY_EDATA,
               "the model has %lld views, domain '%s' %lld", (long long)m->p, d->name,
               (long long)d->n_views);
    FERRY_TRY(ferry_i_block_new(ctx, n, m->d, &g.sum));
    FERRY_TRY(ferry_i_block_new(ctx, n, m->d, &g.num));
    FERRY_TRY(ferry_i_block_new(ctx, n, m->d, &g.den));
    FERRY_NEW(ctx, g.have, n);
    for (int64_t j = 0; j < m->p; j++)
        FERRY_TRY(gather_view(ctx, m, j, d->views[j], n, &g));
    combine(m, &g, phi);
done:
    free_gathered(&g);
    return st;
}

/* Relational only: the instances that the model has seen. */
static ferry_status embed_known(ferry_ctx *ctx, const coca_model *m, const ferry_domain *d,
                                ferry_block *phi)
{
    ferry_status st = FERRY_OK;

    for (int64_t i = 0; i < phi->rows; i++) {
        const char *id = ferry_i_ids_at(d->ids, i);
        const int64_t at = ferry_i_ids_find(m->ids, id);
        FERRY_NEED(ctx, at >= 0, FERRY_ENEEDS,
                   "coca learned from graphs alone and embeds the instances it learned "
                   "from; '%s' of domain '%s' is not one of them",
                   id, d->name);
        memcpy(FERRY_ROW(phi, i), FERRY_ROW(m->phi, at), (size_t)m->d * sizeof(double));
    }
done:
    return st;
}

/* phi <- sum_{s = 0}^{smooth} W^s phi, W = sum_t wt_t D^-1/2 M_t D^-1/2 over the graphs
 * that the domain has. */
static ferry_status smooth(ferry_ctx *ctx, const coca_model *m, const ferry_domain *d,
                           ferry_block *phi)
{
    ferry_status st = FERRY_OK;
    const ferry_matrix **a = ferry_i_calloc(d->n_graphs, sizeof *a);
    double *wt = ferry_i_calloc(d->n_graphs, sizeof *wt);
    ferry_matrix *w = NULL;
    ferry_block *from = NULL, *to = NULL;
    int64_t q = 0;

    FERRY_HAVE(ctx, a && wt);
    for (int64_t t = 0; t < d->n_graphs; t++) {
        const int64_t at = ferry_i_ids_find(m->graphs, d->graphs[t]->name);
        if (at < 0) continue;
        a[q] = d->graphs[t]->a;
        wt[q++] = m->wt[at];
    }
    if (q == 0) goto done;
    FERRY_TRY(ferry_i_coca_graphs(ctx, q, a, wt, true, &w));
    FERRY_TRY(ferry_i_block_new(ctx, phi->rows, phi->k, &from));
    FERRY_TRY(ferry_i_block_new(ctx, phi->rows, phi->k, &to));
    ferry_i_block_copy(phi, from);
    for (int64_t s = 0; s < m->smooth; s++) {
        ferry_block *spare = from;
        ferry_e(ctx)->mul(ctx, 1, w, from, 0, to);
        ferry_e(ctx)->axpby(ctx, 1, to, 1, phi);
        from = to;
        to = spare;
    }
done:
    ferry_i_free(a);
    ferry_i_free(wt);
    ferry_i_matrix_free(w);
    ferry_i_block_free(from);
    ferry_i_block_free(to);
    return st;
}

ferry_status ferry_i_coca_transform(ferry_ctx *ctx, const void *state,
                                    const ferry_domain *d, ferry_prediction *p)
{
    ferry_status st = FERRY_OK;
    const coca_model *m = state;
    ferry_block *phi = NULL;

    FERRY_TRY(ferry_i_block_new(ctx, p->n, m->d, &phi));
    if (m->phi)
        FERRY_TRY(embed_known(ctx, m, d, phi));
    else
        FERRY_TRY(embed_views(ctx, m, d, phi));
    if (m->smooth > 0) FERRY_TRY(smooth(ctx, m, d, phi));
    p->k = m->d;
    FERRY_TRY(ferry_i_coca_copy(ctx, p->n * m->d, phi->data, &p->score));
done:
    ferry_i_block_free(phi);
    return st;
}
