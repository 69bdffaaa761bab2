/* The model of a tri-factorisation (factors.h). */
#include "methods/shared/factors.h"

#include <stdio.h>
#include <string.h>

void ferry_i_factors_clear(factors *f)
{
    ferry_i_prepared_free(f->prepared);
    FERRY_FREE(f->h, f->g);
    ferry_i_ids_free(f->ids);
    for (int64_t t = 0; f->tensor && t < f->n_tensors; t++)
        ferry_i_free(f->tensor[t].data);
    FERRY_FREE(f->tensor, f->hash);
    *f = (factors){0};
}

/* H of the target on the target's columns; 0 where the factorisation had none. */
static ferry_status keep_h(ferry_ctx *ctx, const ttl_bridge *b, const uint8_t *keep,
                           const ferry_block *h, factors *f)
{
    ferry_status st = FERRY_OK;
    int64_t *at = NULL, next = 0; /* of a column of the bridge: its row of h, or -1 */

    FERRY_NEW(ctx, at, b->cols);
    for (int64_t j = 0; j < b->cols; j++)
        at[j] = keep[j] ? next++ : -1;
    FERRY_TRY(ferry_i_block_new(ctx, ferry_i_prepared_width(b->prepared), f->c, &f->h));
    for (int64_t j = 0; j < f->h->rows; j++) {
        const int64_t row = at[ferry_i_prepared_column(b->prepared, j)];
        for (int64_t k = 0; row >= 0 && k < f->c; k++)
            FERRY_ROW(f->h, j)[k] = FERRY_ROW(h, row)[k];
    }
done:
    ferry_i_free(at);
    return st;
}

ferry_status ferry_i_factors_keep(ferry_ctx *ctx, const ttl_bridge *b, const uint8_t *keep,
                                  const ferry_block *h, const ferry_block *g, factors *f)
{
    ferry_status st = FERRY_OK;
    const ttl_place *t = ferry_i_bridge_target(b);
    ferry_rows r = {0};
    int64_t *hash = NULL;
    void *all = NULL;

    FERRY_TRY(keep_h(ctx, b, keep, h, f));
    FERRY_TRY(ferry_i_prepare_part(ctx, b->prepared, t->domain, &r));
    FERRY_HAVE(ctx, f->ids = ferry_i_ids_copy(t->domain->ids));
    FERRY_NEW(ctx, hash, t->n);
    for (int64_t i = 0; i < t->n; i++)
        hash[i] = (int64_t)ferry_i_row_hash(r.x[0], i);
    FERRY_TRY(ferry_i_rows_collect(ctx, t->x, sizeof *hash, hash, &all));
    FERRY_MOVE(f->hash, all);
    FERRY_TRY(ferry_i_block_collect(ctx, t->x, g, &f->g));
done:
    ferry_i_rows_clear(&r);
    FERRY_FREE(hash, all);
    return st;
}

/* ---- predict ---- */

/* Least squares on the simplex has its answer in one step; multiplicative updates creep. */
enum { MOST_FOLD = 200 };

/* The factorisation of x alone with F and A fixed: one view, one domain, only G moves. */
static ferry_status fold(ferry_ctx *ctx, const factors *s, const ferry_matrix *x,
                         ferry_block *g)
{
    ferry_status st = FERRY_OK;
    const ferry_nmtf_options o = {.loss = s->loss, .norm = s->norm, .exponent = 1};
    ferry_nmtf_place place = {(ferry_matrix *)x, 0, 0, 1};
    ferry_nmtf *n = NULL;

    FERRY_TRY(ferry_i_nmtf_new(ctx, s->c, 1, 0, 0, 1, &place, &n));
    ferry_i_block_copy(s->h, n->view[0].h);
    for (int64_t e = 0; e < n->domain[0].n * s->c; e++)
        n->domain[0].g->data[e] = 1 / (double)s->c;
    if (s->loss == FERRY_NMTF_KL) FERRY_TRY(ferry_i_nmtf_divergence(ctx, n));
    for (int it = 0; it < (s->norm == FERRY_NMTF_SIMPLEX ? 1 : MOST_FOLD); it++)
        FERRY_TRY(ferry_i_nmtf_members(ctx, n, &o));
    ferry_i_nmtf_rows_to_1(n, &n->domain[0]);
    ferry_i_block_copy(n->domain[0].g, g);
done:
    ferry_i_nmtf_free(n);
    return st;
}

/* Instances that were seen in fit and still look the same keep their classes. */
static void recall(const factors *s, const ferry_domain *d, const ferry_matrix *x,
                   ferry_block *g)
{
    for (int64_t i = 0; i < x->rows; i++) {
        const int64_t at = ferry_i_ids_find(s->ids, ferry_i_ids_at(d->ids, i));
        if (at < 0 || s->hash[at] != (int64_t)ferry_i_row_hash(x, i)) continue;
        memcpy(FERRY_ROW(g, i), FERRY_ROW(s->g, at), (size_t)s->c * sizeof(double));
    }
}

ferry_status ferry_i_factors_predict(ferry_ctx *ctx, const factors *f,
                                     const ferry_domain *d, ferry_block *g)
{
    ferry_status st = FERRY_OK;
    ferry_matrix *x = NULL;

    FERRY_TRY(ferry_i_bridge_rows(ctx, f->prepared, d, &x));
    FERRY_TRY(fold(ctx, f, x, g));
    recall(f, d, x, g);
done:
    ferry_i_matrix_free(x);
    return st;
}

/* ---- save and load ---- */

enum { LOSS, NORM, TENSORS, FACTS };

/* The factors' names stand in one text, in their order; each is a tensor of its own. */
static ferry_status put_names(ferry_ctx *ctx, const factors *s, ferry_dict *dict)
{
    ferry_status st = FERRY_OK;
    ferry_text names = {0};

    for (int64_t t = 0; t < s->n_tensors; t++)
        ferry_i_text_addf(&names, "%s%s", t ? " " : "", s->tensor[t].name);
    FERRY_HAVE(ctx, !names.failed);
    FERRY_TRY(ferry_i_dict_put_text(ctx, dict, "factors", names.s ? names.s : ""));
done:
    ferry_i_text_free(&names);
    return st;
}

/* Room for n factors, and their names. Sizes of -1 take the file's. */
static ferry_status get_names(ferry_ctx *ctx, const ferry_dict *dict, int64_t n, factors *s)
{
    ferry_status st = FERRY_OK;
    const char *names = ferry_i_dict_text(dict, "factors");
    int used = 0;

    FERRY_NEED(ctx, names, FERRY_EDATA, "text factors is missing");
    FERRY_NEW(ctx, s->tensor, n);
    for (; s->n_tensors < n; names += used) {
        factor_tensor *t = &s->tensor[s->n_tensors];
        FERRY_NEED(ctx, sscanf(names, "%23s%n", t->name, &used) == 1, FERRY_EDATA,
                   "text factors has %lld names, expected %lld", (long long)s->n_tensors,
                   (long long)n);
        t->rows = t->cols = -1;
        s->n_tensors++;
    }
done:
    return st;
}

void ferry_i_factors_file(ferry_io *io, factors *s)
{
    int64_t facts[FACTS] = {s->loss, s->norm, s->n_tensors}, n = 0;

    ferry_i_io_ints(io, "factorisation", FACTS, facts);
    FERRY_IO_NEED(io,
                  facts[LOSS] >= 0 && facts[LOSS] <= FERRY_NMTF_KL && facts[NORM] >= 0 &&
                      facts[NORM] <= FERRY_NMTF_SIMPLEX && facts[TENSORS] >= 0 &&
                      facts[TENSORS] < 100000,
                  "tensor factorisation: loss %lld, norm %lld, %lld factors",
                  (long long)facts[LOSS], (long long)facts[NORM],
                  (long long)facts[TENSORS]);
    if (ferry_i_io_loading(io)) {
        s->loss = (ferry_nmtf_loss)facts[LOSS];
        s->norm = (ferry_nmtf_norm)facts[NORM];
    }
    if (io->st != FERRY_OK) return;
    ferry_i_io_block(io, "H", ferry_i_prepared_width(s->prepared), s->c, &s->h);
    ferry_i_io_ids(io, "seen", &s->ids);
    n = ferry_i_ids_count(s->ids);
    ferry_i_io_int_list(io, "seen.hash", &n, &s->hash);
    ferry_i_io_block(io, "seen.G", n, s->c, &s->g);
    if (io->st == FERRY_OK)
        io->st = io->to ? put_names(io->ctx, s, io->to)
                        : get_names(io->ctx, io->from, facts[TENSORS], s);
    for (int64_t t = 0; t < s->n_tensors; t++)
        ferry_i_io_grid(io, s->tensor[t].name, &s->tensor[t].rows, &s->tensor[t].cols,
                        &s->tensor[t].data);
}
