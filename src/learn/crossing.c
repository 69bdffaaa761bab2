/* Neighbours' values over ranks, by lists that are made once (crossing.h). */
#include "learn/crossing.h"

#include <string.h>

#include "core/ranks.h"

struct ferry_crossing {
    int64_t n, begin, end; /* instances, and this rank's of them */
    int64_t ranks;
    int64_t *give, *take;     /* how many to, from each rank */
    int64_t *gives, *takes;   /* which instances, rank after rank */
    int64_t n_gives, n_takes; /* of all ranks */
    const void **out;
    void **in;
    int64_t *n_out, *n_in; /* bytes */
};

void ferry_i_crossing_free(ferry_crossing *c)
{
    if (!c) return;
    FERRY_FREE(c->give, c->take, c->gives, c->takes, c->out, c->in, c->n_out, c->n_in, c);
}

/* n_out[r] items of `each` bytes to rank r, n_in[r] from there; both lists rank after rank. */
static ferry_status trade(ferry_ctx *ctx, ferry_crossing *c, const int64_t *n_out,
                          const void *out, const int64_t *n_in, void *in, size_t each)
{
    const char *from = out;
    char *to = in;

    for (int64_t r = 0; r < c->ranks; r++) {
        c->out[r] = from;
        c->in[r] = to;
        from += c->n_out[r] = n_out[r] * (int64_t)each;
        to += c->n_in[r] = n_in[r] * (int64_t)each;
    }
    return ferry_i_ranks_trade(ctx, c->out, c->n_out, c->in, c->n_in);
}

/* The neighbours of this rank's instances that are other ranks', in their order, and so rank after rank. */
static ferry_status list_neighbours(ferry_ctx *ctx, int64_t q, ferry_matrix *const *graph,
                                    const int64_t *cut, ferry_crossing *c)
{
    ferry_status st = FERRY_OK;
    uint8_t *wanted = NULL;
    int64_t at = 0;

    FERRY_NEW(ctx, wanted, c->n);
    for (int64_t g = 0; g < q; g++)
        for (int64_t e = graph[g]->start[c->begin]; e < graph[g]->start[c->end]; e++)
            wanted[graph[g]->index[e]] = 1;
    memset(wanted + c->begin, 0, (size_t)(c->end - c->begin));
    for (int64_t r = 0; r < c->ranks; r++) {
        for (int64_t x = cut[r]; x < cut[r + 1]; x++)
            c->take[r] += wanted[x];
        c->n_takes += c->take[r];
    }
    FERRY_NEW(ctx, c->takes, c->n_takes);
    for (int64_t x = 0; x < c->n; x++)
        if (wanted[x]) c->takes[at++] = x;
done:
    ferry_i_free(wanted);
    return st;
}

ferry_status ferry_i_crossing_new(ferry_ctx *ctx, int64_t n, int64_t q,
                                  ferry_matrix *const *graph, ferry_crossing **out)
{
    ferry_status st = FERRY_OK;
    ferry_crossing *c = NULL;
    int64_t *cut = NULL, *one = NULL, *begins = NULL;

    *out = NULL;
    if (!ferry_i_ranks_split(ctx)) goto done;
    const int64_t ranks = ctx->ranks->size;
    FERRY_NEW(ctx, c, 1);
    c->n = n;
    c->ranks = ranks;
    ferry_i_ranks_part(ctx, n, &c->begin, &c->end);
    FERRY_NEW(ctx, cut, ranks + 1);
    FERRY_NEW(ctx, one, ranks);
    FERRY_NEW(ctx, begins, ranks);
    FERRY_NEW(ctx, c->give, ranks);
    FERRY_NEW(ctx, c->take, ranks);
    FERRY_NEW(ctx, c->out, ranks);
    FERRY_NEW(ctx, c->in, ranks);
    FERRY_NEW(ctx, c->n_out, ranks);
    FERRY_NEW(ctx, c->n_in, ranks);
    for (int64_t r = 0; r < ranks; r++) {
        one[r] = 1;
        begins[r] = c->begin;
    }
    FERRY_TRY(trade(ctx, c, one, begins, one, cut, sizeof *cut));
    cut[ranks] = n;
    FERRY_TRY(list_neighbours(ctx, q, graph, cut, c));
    FERRY_TRY(trade(ctx, c, one, c->take, one, c->give, sizeof *c->give));
    for (int64_t r = 0; r < ranks; r++)
        c->n_gives += c->give[r];
    FERRY_NEW(ctx, c->gives, c->n_gives);
    FERRY_TRY(trade(ctx, c, c->take, c->takes, c->give, c->gives, sizeof *c->gives));
    FERRY_MOVE(*out, c);
done:
    ferry_i_crossing_free(c);
    FERRY_FREE(cut, one, begins);
    return st;
}

ferry_status ferry_i_cross(ferry_ctx *ctx, ferry_crossing *c, int64_t m, double *v)
{
    ferry_status st = FERRY_OK;
    double *sent = NULL, *got = NULL;

    if (!c) return st;
    FERRY_NEW(ctx, sent, c->n_gives * m);
    FERRY_NEW(ctx, got, c->n_takes * m);
    for (int64_t i = 0; i < c->n_gives; i++)
        memcpy(sent + i * m, v + c->gives[i] * m, (size_t)m * sizeof *v);
    FERRY_TRY(trade(ctx, c, c->give, sent, c->take, got, (size_t)m * sizeof *v));
    for (int64_t i = 0; i < c->n_takes; i++)
        memcpy(v + c->takes[i] * m, got + i * m, (size_t)m * sizeof *v);
done:
    FERRY_FREE(sent, got);
    return st;
}

/* ---- rows of a matrix ---- */

/* to[r] <- the sum of length over the rows of rank r's list. */
static void add_up(const ferry_crossing *c, const int64_t *rows, const int64_t *length,
                   int64_t *to)
{
    for (int64_t r = 0, at = 0; r < c->ranks; r++) {
        to[r] = 0;
        for (int64_t i = 0; i < rows[r]; i++)
            to[r] += length[at++];
    }
}

/* How long the rows are, then what they hold. x has those to send, out gets those that come behind its own. */
static ferry_status cross_csr(ferry_ctx *ctx, ferry_crossing *c, const ferry_matrix *x,
                              const ferry_matrix *sent, ferry_matrix **out)
{
    ferry_status st = FERRY_OK;
    int64_t *from = NULL, *to = NULL, *n_out = NULL, *n_in = NULL, more = 0;

    FERRY_NEW(ctx, from, c->n_gives);
    FERRY_NEW(ctx, to, c->n_takes);
    FERRY_NEW(ctx, n_out, c->ranks);
    FERRY_NEW(ctx, n_in, c->ranks);
    for (int64_t i = 0; i < c->n_gives; i++)
        from[i] = sent->start[i + 1] - sent->start[i];
    FERRY_TRY(trade(ctx, c, c->give, from, c->take, to, sizeof *to));
    add_up(c, c->give, from, n_out);
    add_up(c, c->take, to, n_in);
    for (int64_t r = 0; r < c->ranks; r++)
        more += n_in[r];
    FERRY_TRY(ferry_i_matrix_csr(ctx, x->rows + c->n_takes, x->cols, x->nnz + more, out));
    ferry_matrix *m = *out;
    memcpy(m->start, x->start, (size_t)(x->rows + 1) * sizeof *x->start);
    for (int64_t i = 0; i < c->n_takes; i++)
        m->start[x->rows + i + 1] = m->start[x->rows + i] + to[i];
    if (x->nnz > 0) {
        memcpy(m->index, x->index, (size_t)x->nnz * sizeof *x->index);
        memcpy(m->value, x->value, (size_t)x->nnz * sizeof *x->value);
    }
    FERRY_TRY(trade(ctx, c, n_out, sent->index, n_in, m->index + x->nnz, sizeof *m->index));
    FERRY_TRY(trade(ctx, c, n_out, sent->value, n_in, m->value + x->nnz, sizeof *m->value));
done:
    FERRY_FREE(from, to, n_out, n_in);
    return st;
}

ferry_status ferry_i_cross_rows(ferry_ctx *ctx, ferry_crossing *c, const ferry_matrix *x,
                                ferry_matrix **out, int64_t *row_of)
{
    ferry_status st = FERRY_OK;
    int64_t *mine = NULL;
    ferry_matrix *sent = NULL;

    *out = NULL;
    FERRY_NEW(ctx, mine, c->n_gives);
    for (int64_t i = 0; i < c->n_gives; i++)
        mine[i] = c->gives[i] - c->begin;
    FERRY_TRY(ferry_i_matrix_take(ctx, x, c->n_gives, mine, x->cols, NULL, &sent));
    if (x->dense) {
        FERRY_TRY(ferry_i_matrix_dense(ctx, x->rows + c->n_takes, x->cols, out));
        if (x->rows > 0)
            memcpy((*out)->dense, x->dense, (size_t)(x->rows * x->cols) * sizeof(double));
        FERRY_TRY(trade(ctx, c, c->give, sent->dense, c->take,
                        (*out)->dense + x->rows * x->cols,
                        (size_t)x->cols * sizeof(double)));
    } else {
        FERRY_TRY(cross_csr(ctx, c, x, sent, out));
    }
    for (int64_t i = 0; i < c->n; i++)
        row_of[i] = i >= c->begin && i < c->end ? i - c->begin : -1;
    for (int64_t i = 0; i < c->n_takes; i++)
        row_of[c->takes[i]] = x->rows + i;
done:
    ferry_i_matrix_free(sent);
    ferry_i_free(mine);
    return st;
}
