/* The library's solution of CDSPP on plain blocks, to compare it with the dense one (cdspp_dense.h). */
#include <string.h>

#include "cdspp_dense.h"
#include "learn/cdspp_spaces.h"

typedef struct asked {
    const cdspp_problem *p;
    int64_t dims;
    cdspp *out;
} asked;

static ferry_block *block_out(scope *s, block b)
{
    ferry_block *to = NULL;

    scope_check(s, ferry_i_block_new(scope_ctx(s), b.n, b.k, &to));
    if (b.n * b.k > 0) memcpy(to->data, b.at, (size_t)(b.n * b.k) * sizeof *b.at);
    return to;
}

static ferry_small *small_out(scope *s, small a)
{
    ferry_small *to = NULL;

    scope_check(s, ferry_i_small_new(scope_ctx(s), a.rows, a.cols, &to));
    if (a.rows * a.cols > 0)
        memcpy(to->data, a.at, (size_t)(a.rows * a.cols) * sizeof *a.at);
    return to;
}

static void solve_body(scope *s, void *arg)
{
    const asked *a = arg;
    const cdspp_spaces z = cdspp_solve(s, a->p, a->dims);
    cdspp *out = a->out;

    out->rank = z.rank;
    out->shared = z.shared;
    out->lambda = ferry_i_calloc(a->p->k, sizeof *out->lambda);
    out->cls = ferry_i_calloc(a->p->k, sizeof *out->cls);
    if (!out->lambda || !out->cls) scope_check(s, ferry_i_nomem(scope_ctx(s)));
    memcpy(out->lambda, z.lambda, (size_t)a->p->k * sizeof *z.lambda);
    memcpy(out->cls, z.cls, (size_t)a->p->k * sizeof *z.cls);
    if (z.shared == 0) return;
    out->ps = block_out(s, z.ps);
    out->pt = block_out(s, z.pt);
    out->q = block_out(s, z.q);
    out->gs = small_out(s, z.gs);
    out->gt = small_out(s, z.gt);
    out->r = small_out(s, z.r);
}

ferry_status plain_cdspp(ferry_ctx *ctx, const cdspp_problem *p, int64_t dims, cdspp *out)
{
    *out = (cdspp){0};
    const ferry_status st = scope_run(ctx, solve_body, &(asked){p, dims, out});
    if (st != FERRY_OK) plain_cdspp_clear(out);
    return st;
}

void plain_cdspp_clear(cdspp *c)
{
    FERRY_FREE(c->lambda, c->ps, c->pt, c->cls, c->gs, c->gt, c->q, c->r);
    *c = (cdspp){0};
}
