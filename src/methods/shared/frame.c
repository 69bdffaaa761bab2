/* The target's columns alone: what a model needs to read new data as it read the target. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "methods/shared/bridge_prepare.h"

void ferry_i_frame_free(ttl_frame *f)
{
    if (!f) return;
    for (int64_t v = 0; f->view && v < f->n_views; v++) {
        ferry_i_free(f->view[v].name);
        ferry_i_free(f->view[v].shift);
        ferry_i_free(f->view[v].factor);
    }
    ferry_i_free(f->view);
    ferry_i_free(f);
}

static ferry_status frame_alloc(ferry_ctx *ctx, int64_t n, ttl_frame **out)
{
    ttl_frame *f = ferry_i_calloc(1, sizeof *f);

    *out = f;
    if (f) f->view = ferry_i_calloc(n, sizeof *f->view);
    if (!f || !f->view) return ferry_i_nomem(ctx);
    f->n_views = n;
    return FERRY_OK;
}

/* The first n of `from` (NULL: none), new. */
static ferry_status copy_reals(ferry_ctx *ctx, int64_t n, const double *from, double **to)
{
    *to = NULL;
    if (!from) return FERRY_OK;
    *to = ferry_i_calloc(n, sizeof **to);
    if (!*to) return ferry_i_nomem(ctx);
    memcpy(*to, from, (size_t)n * sizeof **to);
    return FERRY_OK;
}

ferry_status ferry_i_frame_new(ferry_ctx *ctx, const ttl_bridge *b, ttl_frame **out)
{
    ferry_status st = FERRY_OK;
    ttl_frame *f = NULL;

    *out = NULL;
    FERRY_TRY(frame_alloc(ctx, b->n_target, &f));
    for (int64_t v = 0; v < f->n_views; v++) {
        const ttl_space *s = &b->space[v];
        f->view[v] = (ttl_space){.begin = f->cols,
                                 .cols = b->target_width[v],
                                 .scale = s->scale,
                                 .full = s->full,
                                 .wordlike = s->wordlike,
                                 .negative = s->negative};
        f->cols += f->view[v].cols;
        FERRY_TRY(copy_reals(ctx, f->view[v].cols, s->shift, &f->view[v].shift));
        FERRY_TRY(copy_reals(ctx, f->view[v].cols, s->factor, &f->view[v].factor));
    }
    *out = f;
    f = NULL;
done:
    ferry_i_frame_free(f);
    return st;
}

int64_t ferry_i_frame_column(const ttl_frame *f, const ttl_bridge *b, int64_t j)
{
    int64_t v = f->n_views - 1;

    while (v > 0 && f->view[v].begin > j)
        v--;
    return b->space[v].begin + j - f->view[v].begin;
}

ferry_status ferry_i_frame_rows(ferry_ctx *ctx, const ttl_frame *f, const ferry_domain *d,
                                ferry_matrix **out)
{
    ferry_status st = FERRY_OK;
    const int64_t n = ferry_i_ids_count(d->ids);
    ferry_matrix **part = ferry_i_calloc(f->n_views, sizeof(ferry_matrix *)), *csr = NULL;
    int64_t *rows = ferry_i_calloc(n, sizeof *rows);

    *out = NULL;
    if (!part || !rows) FERRY_TRY(ferry_i_nomem(ctx));
    FERRY_NEED(ctx, d->n_views == f->n_views, FERRY_EDATA,
               "the model has %lld views, domain '%s' %lld", (long long)f->n_views, d->name,
               (long long)d->n_views);
    for (int64_t v = 0; v < f->n_views; v++) {
        const ferry_view *view = d->views[v];
        FERRY_NEED(ctx, view->x->cols == f->view[v].cols, FERRY_EDATA,
                   "view '%s' has %lld features, the model's %lld", view->name,
                   (long long)view->x->cols, (long long)f->view[v].cols);
        for (int64_t i = 0; i < n; i++)
            rows[i] = i < view->n_instances ? view->row_of[i] : -1;
        FERRY_TRY(ferry_i_to_csr(ctx, view->x, f->view[v].full, &csr));
        FERRY_TRY(ferry_i_matrix_take(ctx, csr, n, rows, csr->cols, NULL, &part[v]));
        ferry_i_matrix_free(csr);
        csr = NULL;
        ferry_i_space_apply(&f->view[v], part[v]);
    }
    FERRY_TRY(ferry_i_matrix_join(ctx, f->n_views, (const ferry_matrix *const *)part, out));
done:
    for (int64_t v = 0; part && v < f->n_views; v++)
        ferry_i_matrix_free(part[v]);
    ferry_i_free(part);
    ferry_i_free(rows);
    ferry_i_matrix_free(csr);
    return st;
}

/* ---- save and load ---- */

enum { WIDTH, SCALE, FULL, SHIFTED, SCALED, FACTS };

static void tensor_name(char *name, size_t size, const char *what, int64_t v)
{
    (void)snprintf(name, size, "frame.%s.%lld", what, (long long)v);
}

ferry_status ferry_i_frame_save(ferry_ctx *ctx, const ttl_frame *f, ferry_dict *dict)
{
    ferry_status st = FERRY_OK;
    int64_t *facts = ferry_i_calloc(f->n_views * FACTS, sizeof *facts);
    char name[48];

    if (!facts) FERRY_TRY(ferry_i_nomem(ctx));
    for (int64_t v = 0; v < f->n_views; v++) {
        const ttl_space *s = &f->view[v];
        int64_t *at = facts + v * FACTS;
        at[WIDTH] = s->cols;
        at[SCALE] = s->scale;
        at[FULL] = s->full;
        at[SHIFTED] = s->shift != NULL;
        at[SCALED] = s->factor != NULL;
        tensor_name(name, sizeof name, "shift", v);
        if (s->shift)
            FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, name, 1, s->cols, s->shift));
        tensor_name(name, sizeof name, "factor", v);
        if (s->factor)
            FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, name, 1, s->cols, s->factor));
    }
    FERRY_TRY(ferry_i_dict_put_ints(ctx, dict, "frame", f->n_views * FACTS, facts));
done:
    ferry_i_free(facts);
    return st;
}

static ferry_status load_reals(ferry_ctx *ctx, const ferry_dict *dict, const char *what,
                               int64_t v, int64_t n, double **out)
{
    char name[48];

    tensor_name(name, sizeof name, what, v);
    return ferry_i_dict_reals_copy(ctx, dict, name, 1, n, out);
}

ferry_status ferry_i_frame_load(ferry_ctx *ctx, const ferry_dict *dict, ttl_frame **out)
{
    ferry_status st = FERRY_OK;
    const int64_t *facts = NULL;
    ttl_frame *f = NULL;
    int64_t n = -1;

    *out = NULL;
    FERRY_TRY(ferry_i_dict_ints(ctx, dict, "frame", &n, &facts));
    FERRY_NEED(ctx, n > 0 && n % FACTS == 0, FERRY_EDATA, "tensor frame has %lld entries",
               (long long)n);
    FERRY_TRY(frame_alloc(ctx, n / FACTS, &f));
    for (int64_t v = 0; v < f->n_views; v++) {
        const int64_t *at = facts + v * FACTS;
        ttl_space *s = &f->view[v];
        FERRY_NEED(ctx,
                   at[WIDTH] >= 0 && at[WIDTH] < INT32_MAX - f->cols &&
                       at[SCALE] > TTL_AUTO && at[SCALE] <= TTL_STANDARD,
                   FERRY_EDATA, "tensor frame: view %lld has %lld features, scale %lld",
                   (long long)v, (long long)at[WIDTH], (long long)at[SCALE]);
        s->begin = f->cols;
        s->cols = at[WIDTH];
        s->scale = (ttl_scale)at[SCALE];
        s->full = at[FULL] != 0;
        f->cols += s->cols;
        if (at[SHIFTED]) FERRY_TRY(load_reals(ctx, dict, "shift", v, s->cols, &s->shift));
        if (at[SCALED]) FERRY_TRY(load_reals(ctx, dict, "factor", v, s->cols, &s->factor));
    }
    *out = f;
    f = NULL;
done:
    ferry_i_frame_free(f);
    return st;
}
