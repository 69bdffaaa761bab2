/* The model of ttl: kept, asked, saved and loaded. */
#include <float.h>
#include <math.h>

#include "methods/ttl/ttl.h"

void ferry_i_ttl_free(void *model)
{
    ttl_state *s = model;

    if (!s) return;
    ferry_i_factors_clear(&s->f);
    ferry_i_mixture_clear(&s->mixture);
    ferry_i_carried_clear(&s->carried);
    ferry_i_free(s);
}

/* Mode ferry asks what it settled on, the mixture, or else the regression that carried the
 * labels; mode paper asks the factors. */
ferry_status ferry_i_ttl_predict(ferry_ctx *ctx, const void *model, const ferry_domain *d,
                                 ferry_prediction *p)
{
    ferry_status st = FERRY_OK;
    const ttl_state *s = model;
    ferry_matrix *x = NULL;
    ferry_block g = {p->n, p->k, p->score};

    FERRY_NEED(ctx, p->k == s->f.c, FERRY_EDATA, "the model has %lld classes, not %lld",
               (long long)s->f.c, (long long)p->k);
    if (s->mode == TTL_MODE_PAPER) {
        FERRY_TRY(ferry_i_factors_predict(ctx, &s->f, d, &g));
    } else {
        FERRY_TRY(ferry_i_bridge_rows(ctx, s->f.prepared, d, &x));
        if (s->lengths) ferry_i_rows_to_unit(x);
        if (s->mixture.l)
            ferry_i_mixture_apply(ctx, &s->mixture, x, &g);
        else
            FERRY_TRY(ferry_i_carried_apply(ctx, &s->carried, x, &g));
    }
    ferry_i_winners(&g, p->cls, NULL);
done:
    ferry_i_matrix_free(x);
    return st;
}

/* ---- save and load ---- */

enum { MODE, CLASSES, LENGTHS, FACTS };

/* A class that has died out has -inf in log pi, which is no number for a file. */
static void mixture_file(ferry_io *io, ttl_state *s)
{
    const int64_t c = s->f.c;
    double *pi = NULL;

    ferry_i_io_block(io, "mixture.l", ferry_i_prepared_width(s->f.prepared), c,
                     &s->mixture.l);
    if (io->st == FERRY_OK) FERRY_IO_NEW(io, pi, c);
    for (int64_t k = 0; io->to && pi && k < c; k++)
        pi[k] = fmax(s->mixture.log_pi[k], -DBL_MAX);
    ferry_i_io_reals(io, "mixture.log_pi", 1, c, &pi);
    if (ferry_i_io_loading(io)) {
        for (int64_t k = 0; k < c; k++)
            pi[k] = pi[k] > -1e300 ? pi[k] : -INFINITY;
        FERRY_MOVE(s->mixture.log_pi, pi);
    }
    ferry_i_free(pi);
}

void ferry_i_ttl_file(ferry_io *io, void *model)
{
    ttl_state *s = model;
    int64_t facts[FACTS] = {s->mode, s->f.c, s->lengths};

    ferry_i_io_ints(io, "ttl", FACTS, facts);
    FERRY_IO_NEED(io,
                  (facts[MODE] == TTL_MODE_FERRY || facts[MODE] == TTL_MODE_PAPER) &&
                      facts[CLASSES] >= 2 && facts[CLASSES] < INT32_MAX,
                  "tensor ttl: mode %lld, %lld classes", (long long)facts[MODE],
                  (long long)facts[CLASSES]);
    if (ferry_i_io_loading(io)) {
        s->mode = (int)facts[MODE];
        s->f.c = facts[CLASSES];
        s->lengths = facts[LENGTHS] != 0;
    }
    ferry_i_bridge_file(io, &s->f.prepared);
    if (io->st != FERRY_OK) return;
    if (s->mode == TTL_MODE_PAPER)
        ferry_i_factors_file(io, &s->f);
    else if (ferry_i_io_has(io, "mixture.l", s->mixture.l != NULL))
        mixture_file(io, s);
    else
        ferry_i_carried_file(io, s->f.c, ferry_i_prepared_width(s->f.prepared),
                             &s->carried);
}
