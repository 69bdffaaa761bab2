/* ttl, mode paper: the coupled factorisation of nmtf.h over a journey. The sources and the
 * first intermediate domain are one group, each domain and the next another; the answer is
 * G of the target. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/ranks.h"
#include "methods/ttl/ttl.h"

/* The factorisation and which columns of the bridge its groups have. */
typedef struct route {
    const ttl_bridge *b;
    int64_t n_groups, n_views;
    uint8_t **keep; /* n_groups x cols */
    ferry_nmtf_place *place;
    ferry_nmtf *n;
} route;

static void route_clear(route *r)
{
    for (int64_t g = 0; r->keep && g < r->n_groups; g++)
        ferry_i_free(r->keep[g]);
    for (int64_t v = 0; r->place && v < r->n_views; v++)
        ferry_i_matrix_free(r->place[v].x);
    FERRY_FREE(r->keep, r->place);
    ferry_i_nmtf_free(r->n);
}

/* First and last place of group g. */
static void members(const ttl_bridge *b, int64_t g, int64_t *from, int64_t *to)
{
    *from = g == 0 ? 0 : b->n_sources + g - 1;
    *to = b->n_sources + g;
}

/* Columns of the spaces that both sides of the group have. */
static ferry_status group_columns(ferry_ctx *ctx, const ttl_bridge *b, int64_t g,
                                  uint8_t **keep)
{
    ferry_status st = FERRY_OK;
    int64_t from, to, shared = 0;

    members(b, g, &from, &to);
    *keep = ferry_i_calloc(b->cols, sizeof **keep);
    if (!*keep) FERRY_TRY(ferry_i_nomem(ctx));
    for (int64_t s = 0; s < b->prepared->n_spaces; s++) {
        bool both = false;
        for (int64_t i = from; i < to; i++)
            both = both || (b->place[i].has[s] && b->place[to].has[s]);
        if (!both) continue;
        shared++;
        memset(*keep + b->prepared->space[s].begin, 1, (size_t)b->prepared->space[s].cols);
        FERRY_NEED(ctx, ferry_i_space_positive(&b->prepared->space[s]), FERRY_ENEEDS,
                   "ttl mode=paper needs features of 0 or more; view '%s' has some below "
                   "0 or is standardised",
                   b->prepared->space[s].name);
    }
    FERRY_NEED(ctx, shared > 0, FERRY_ENEEDS, "ttl: '%s' and '%s' have no view in common",
               b->place[to - 1].domain->name, b->place[to].domain->name);
done:
    return st;
}

/* The matrix of place i in group g; that of an earlier group again when it is the same. */
static ferry_status group_matrix(ferry_ctx *ctx, route *r, int64_t g, int64_t i,
                                 ferry_matrix **out)
{
    ferry_matrix *x = r->b->place[i].x;
    bool all = true;

    for (int64_t v = 0; v < r->n_views; v++)
        if (r->place[v].domain == i &&
            memcmp(r->keep[r->place[v].group], r->keep[g], (size_t)r->b->cols) == 0) {
            *out = ferry_i_matrix_ref(r->place[v].x);
            return FERRY_OK;
        }
    for (int64_t j = 0; j < r->b->cols; j++)
        all = all && r->keep[g][j];
    if (all) {
        *out = ferry_i_matrix_ref(x);
        return FERRY_OK;
    }
    return ferry_i_columns_cut(ctx, x, r->keep[g], false, out, NULL);
}

ferry_status ferry_i_ttl_weights(ferry_ctx *ctx, const char *text, int64_t n,
                                 const ferry_nmtf_place *place, double *w)
{
    const char *at = text, *end = text + strlen(text);

    for (int64_t v = 0; v < n; v++) {
        double norm2 = 1;
        if (strcmp(text, "norm") == 0) {
            norm2 = ferry_i_matrix_norm2(place[v].x);
            FERRY_PASS(ferry_i_sum_rows(ctx, place[v].x, 1, &norm2));
        }
        w[v] = norm2 > 0 ? 1 / norm2 : 1;
    }
    if (strcmp(text, "equal") == 0 || strcmp(text, "norm") == 0) return FERRY_OK;
    for (int64_t v = 0; v < n; v++) {
        const char *next = at ? ferry_i_parse_real(at, end, &w[v]) : NULL;
        const bool last = v == n - 1;
        if (!(next && w[v] > 0 && isfinite(w[v]) &&
              (last ? next == end : next < end && *next == ',')))
            return ferry_i_fail(
                ctx, FERRY_EINVAL,
                "ttl: weights = %s: expected equal, norm or %lld numbers above 0 with "
                "commas between, one for each view of each group",
                text, (long long)n);
        at = next + 1;
    }
    return FERRY_OK;
}

static ferry_status route_init(ferry_ctx *ctx, const ttl_options *o, route *r)
{
    ferry_status st = FERRY_OK;
    const ttl_bridge *b = r->b;
    double *w = NULL;
    int64_t from, to;

    r->keep = ferry_i_calloc(b->n_places, sizeof *r->keep);
    r->place = ferry_i_calloc(2 * b->n_places, sizeof *r->place);
    if (!r->keep || !r->place) FERRY_TRY(ferry_i_nomem(ctx));
    for (int64_t g = 0; g < b->n_places - b->n_sources; g++) {
        r->n_groups++;
        FERRY_TRY(group_columns(ctx, b, g, &r->keep[g]));
        members(b, g, &from, &to);
        for (int64_t i = from; i <= to; i++) {
            ferry_matrix *x = NULL;
            FERRY_TRY(group_matrix(ctx, r, g, i, &x));
            r->place[r->n_views++] = (ferry_nmtf_place){x, g, i, 1};
        }
    }
    w = ferry_i_calloc(r->n_views, sizeof *w);
    if (!w) FERRY_TRY(ferry_i_nomem(ctx));
    FERRY_TRY(ferry_i_ttl_weights(ctx, o->weights, r->n_views, r->place, w));
    for (int64_t v = 0; v < r->n_views; v++)
        r->place[v].w = w[v];
    FERRY_TRY(ferry_i_nmtf_new(ctx, b->c, o->p1, 0, o->p2, r->n_views, r->place, &r->n));
    for (int64_t i = 0; i < b->n_places; i++)
        FERRY_TRY(ferry_i_nmtf_know(ctx, r->n, i, b->place[i].known));
done:
    ferry_i_free(w);
    return st;
}

/* ---- starts ---- */

/* Numbers for the instances of all ranks, of which those that are here are kept. */
static ferry_status random_labels(ferry_ctx *ctx, const ttl_place *p, ferry_rng *rng,
                                  ferry_block *g)
{
    int64_t first = 0;

    FERRY_PASS(ferry_i_first_row(ctx, p->x, &first));
    for (int64_t i = 0; i < p->all; i++)
        for (int64_t k = 0; k < g->k; k++) {
            const double u = ferry_i_rng_real(rng);
            if (i >= first && i < first + g->rows) FERRY_ROW(g, i - first)[k] = u;
        }
    return FERRY_OK;
}

static ferry_status start(ferry_ctx *ctx, const ttl_options *o, route *r)
{
    ferry_status st = FERRY_OK;
    const ttl_bridge *b = r->b;
    ferry_block **g = ferry_i_calloc(b->n_places, sizeof(ferry_block *));
    ferry_rng rng;

    if (!g) FERRY_TRY(ferry_i_nomem(ctx));
    ferry_i_rng_for(ctx, &rng, "ttl");
    FERRY_TRY(ferry_i_nmtf_random(ctx, r->n, &rng));
    if (o->start == TTL_START_UNIFORM) goto done;
    if (o->start == TTL_START_HOP)
        FERRY_TRY(ferry_i_chain(ctx, b, o->C, false, false, b->n_places - 1, g, NULL));
    for (int64_t i = 0; i < b->n_places; i++) {
        if (!g[i]) {
            FERRY_TRY(ferry_i_block_new(ctx, b->place[i].n, b->c, &g[i]));
            FERRY_TRY(random_labels(ctx, &b->place[i], &rng, g[i]));
        }
        ferry_i_nmtf_start(r->n, i, g[i], o->floor);
    }
done:
    for (int64_t i = 0; g && i < b->n_places; i++)
        ferry_i_free(g[i]);
    ferry_i_free(g);
    return st;
}

/* ---- the factors as named tensors ---- */

/* Where the numbers of tensor t are: blocks one row after the other, smalls one column. */
typedef struct factor {
    char name[24];
    int64_t rows, cols;
    double *data;
    bool by_column;
    const ferry_matrix *x; /* whose rows its rows belong to; NULL: they do not */
} factor;

static int64_t list_factors(const ferry_nmtf *n, factor *f)
{
    int64_t at = 0;

#define BLOCK(what, i, m)                                                                  \
    do {                                                                                   \
        f[at] = (factor){.rows = (m)->rows, .cols = (m)->k, .data = (m)->data};            \
        (void)snprintf(f[at++].name, sizeof f->name, what ".%d", (int)(i));                \
    } while (0)
#define SMALL(what, i, m)                                                                  \
    do {                                                                                   \
        f[at] = (factor){.rows = (m)->rows, .cols = (m)->cols, .data = (m)->data};         \
        f[at].by_column = true;                                                            \
        (void)snprintf(f[at++].name, sizeof f->name, what ".%d", (int)(i));                \
    } while (0)
    for (int64_t g = 0; g < n->n_groups; g++) {
        BLOCK("F1", g, n->group[g].f1);
        SMALL("A1", g, n->group[g].a1);
    }
    for (int64_t v = 0; v < n->n_views; v++) {
        BLOCK("F2", v, n->view[v].f2);
        SMALL("A2", v, n->view[v].a2);
    }
    for (int64_t d = 0; d < n->n_domains; d++) {
        BLOCK("G", d, n->domain[d].g);
        f[at - 1].x = n->domain[d].x;
    }
#undef BLOCK
#undef SMALL
    return at;
}

static int64_t most_factors(const ferry_nmtf *n)
{
    return 2 * n->n_groups + 2 * n->n_views + n->n_domains;
}

static double *factor_at(const factor *f, int64_t i, int64_t j)
{
    return f->data + (f->by_column ? i + j * f->rows : i * f->cols + j);
}

static ferry_status keep_factors(ferry_ctx *ctx, const ferry_nmtf *n, factors *s)
{
    ferry_status st = FERRY_OK;
    factor *f = ferry_i_calloc(most_factors(n), sizeof *f);
    void *all = NULL;

    s->tensor = ferry_i_calloc(most_factors(n), sizeof *s->tensor);
    if (!f || !s->tensor) FERRY_TRY(ferry_i_nomem(ctx));
    s->n_tensors = list_factors(n, f);
    for (int64_t t = 0; t < s->n_tensors; t++) {
        factor_tensor *to = &s->tensor[t];
        if (f[t].x) { /* rows of all ranks */
            ferry_i_free(all);
            all = NULL;
            FERRY_TRY(ferry_i_rows_collect(ctx, f[t].x, (size_t)f[t].cols * sizeof(double),
                                           f[t].data, &all));
            f[t].data = all;
            f[t].rows = ferry_i_all_rows(f[t].x);
        }
        memcpy(to->name, f[t].name, sizeof to->name);
        to->rows = f[t].rows;
        to->cols = f[t].cols;
        to->data = ferry_i_calloc(to->rows * to->cols, sizeof *to->data);
        if (!to->data) FERRY_TRY(ferry_i_nomem(ctx));
        for (int64_t i = 0; i < to->rows; i++)
            for (int64_t j = 0; j < to->cols; j++)
                to->data[i * to->cols + j] = *factor_at(&f[t], i, j);
    }
done:
    FERRY_FREE(f, all);
    return st;
}

static ferry_status start_from(ferry_ctx *ctx, const ttl_options *o, const factors *init,
                               ferry_nmtf *n)
{
    ferry_status st = FERRY_OK;
    factor *f = ferry_i_calloc(most_factors(n), sizeof *f);
    int64_t count;

    if (!f) FERRY_TRY(ferry_i_nomem(ctx));
    count = list_factors(n, f);
    for (int64_t t = 0; t < count; t++) {
        const factor_tensor *from = NULL;
        for (int64_t u = 0; u < init->n_tensors; u++)
            if (strcmp(init->tensor[u].name, f[t].name) == 0) from = &init->tensor[u];
        FERRY_NEED(ctx, from, FERRY_EDATA, "%s: has no factor %s", o->init, f[t].name);
        const int64_t rows = f[t].x ? ferry_i_all_rows(f[t].x) : f[t].rows;
        int64_t first = 0; /* of the rows that are here */
        FERRY_NEED(ctx, from->rows == rows && from->cols == f[t].cols, FERRY_EDATA,
                   "%s: factor %s is %lld x %lld, expected %lld x %lld", o->init, f[t].name,
                   (long long)from->rows, (long long)from->cols, (long long)rows,
                   (long long)f[t].cols);
        if (f[t].x) FERRY_TRY(ferry_i_first_row(ctx, f[t].x, &first));
        for (int64_t i = 0; i < f[t].rows; i++)
            for (int64_t j = 0; j < from->cols; j++) {
                const double value = from->data[(first + i) * from->cols + j];
                FERRY_NEED(ctx, value >= 0, FERRY_EDATA,
                           "%s: factor %s has an entry below 0", o->init, f[t].name);
                *factor_at(&f[t], i, j) = value;
            }
    }
done:
    ferry_i_free(f);
    return st;
}

/* What speaks for a class against the others, by H of the target; what a shared cluster is
 * about, by the columns of F1. */
static ferry_status tell_features(ferry_ctx *ctx, const ferry_task *task, const route *r)
{
    ferry_status st = FERRY_OK;
    const ttl_bridge *b = r->b;
    const ferry_nmtf_group *gr = &r->n->group[r->n_groups - 1];
    const ferry_block *h = r->n->view[r->n_views - 1].h;
    const int64_t p1 = r->n->p1, c = b->c;
    double *classes = ferry_i_calloc(b->cols * c, sizeof *classes);
    double *clusters = ferry_i_calloc(b->cols * p1, sizeof *clusters);

    if (!classes || !clusters) FERRY_TRY(ferry_i_nomem(ctx));
    for (int64_t j = 0, row = 0; j < b->cols; j++) {
        double sum = 0;
        if (!r->keep[r->n_groups - 1][j]) continue;
        for (int64_t k = 0; k < c; k++)
            sum += FERRY_ROW(h, row)[k];
        for (int64_t k = 0; k < c; k++)
            classes[j * c + k] =
                FERRY_ROW(h, row)[k] - (sum - FERRY_ROW(h, row)[k]) / (double)(c - 1);
        for (int64_t l = 0; l < p1; l++)
            clusters[j * p1 + l] = FERRY_ROW(gr->f1, row)[l];
        row++;
    }
    ferry_i_bridge_tell_top(ctx, "top_features", b, task->names, c, classes);
    ferry_i_bridge_tell_top(ctx, "top_clusters", b, NULL, p1, clusters);
done:
    FERRY_FREE(classes, clusters);
    return st;
}

/* Ties go to the first class and look like knowledge: say how many there are. */
static ferry_status tell_ties(ferry_ctx *ctx, const ttl_bridge *b, const factors *s)
{
    int32_t *cls = ferry_i_calloc(s->g->rows, sizeof *cls);
    int64_t ties = 0;

    if (!cls) return ferry_i_nomem(ctx);
    ferry_i_winners(s->g, cls, &ties);
    ferry_i_diag_real(ctx, "ties", (double)ties);
    if (50 * ties > s->g->rows)
        ferry_i_bridge_note(
            ctx, b,
            "%lld of %lld instances of the target could be in any class; they "
            "are put into the first",
            (long long)ties, (long long)s->g->rows);
    ferry_i_free(cls);
    return FERRY_OK;
}

ferry_status ferry_i_ttl_paper(ferry_ctx *ctx, const ttl_options *o, const ferry_task *task,
                               const ttl_bridge *b, const factors *init, factors *s,
                               ferry_fit_info *rep)
{
    ferry_status st = FERRY_OK;
    route r = {.b = b};
    const ferry_nmtf_options no = {.loss = (ferry_nmtf_loss)o->loss,
                                   .norm = (ferry_nmtf_norm)o->norm,
                                   .exponent = o->exponent == 0 ? 0.5 : 1,
                                   .warm = o->warm,
                                   .iterations = o->iterations,
                                   .tol = o->tol};
    ferry_nmtf_found found;
    double empty = 0;

    s->loss = no.loss;
    s->norm = no.norm;
    FERRY_TRY(route_init(ctx, o, &r));
    if (init)
        FERRY_TRY(start_from(ctx, o, init, r.n));
    else
        FERRY_TRY(start(ctx, o, &r));
    FERRY_TRY(ferry_i_nmtf_run(ctx, r.n, &no, "ttl", &found));
    empty = (double)r.n->empty;
    FERRY_TRY(ferry_i_ranks_sum(ctx, 1, &empty));
    FERRY_TRY(keep_factors(ctx, r.n, s));
    FERRY_TRY(ferry_i_factors_keep(ctx, b, r.keep[r.n_groups - 1],
                                   r.n->view[r.n_views - 1].h,
                                   r.n->domain[b->n_places - 1].g, s));
    FERRY_TRY(tell_features(ctx, task, &r));
    FERRY_TRY(tell_ties(ctx, b, s));
    ferry_i_diag_real(ctx, "final_objective", found.objective);
    ferry_i_diag_real(ctx, "iterations", (double)found.iterations);
    ferry_i_diag_real(ctx, "empty", empty);
    rep->iters = found.iterations;
    rep->objective = found.objective;
    rep->stop = found.finish      ? FERRY_STOP_FINISH
                : found.converged ? FERRY_STOP_TOL
                                  : FERRY_STOP_MAX_ITER;
done:
    route_clear(&r);
    return st;
}
