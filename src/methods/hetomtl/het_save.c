/* The two-level hedge to and from a file. All shapes are checked against each other. */
#include <stdio.h>
#include <string.h>

#include "methods/hetomtl/het.h"

/* "NAME.I" */
static const char *numbered(char buf[48], const char *name, int64_t i)
{
    (void)snprintf(buf, 48, "%s.%lld", name, (long long)i);
    return buf;
}

static ferry_status save_source(ferry_ctx *ctx, const het *h, int64_t i, ferry_dict *dict)
{
    ferry_status st = FERRY_OK;
    const het_source *s = &h->source[i];
    const int64_t form[] = {s->group, s->rank, s->ms, s->mt, s->mi};
    const int64_t codes = h->group[s->group].s;
    char buf[48];

    FERRY_TRY(ferry_i_dict_put_ints(ctx, dict, numbered(buf, "source", i),
                                    FERRY_COUNT(form), form));
    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, numbered(buf, "source.r", i), s->rank,
                                     codes, s->r));
    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, numbered(buf, "source.mu", i), 1, s->rank,
                                     s->mu));
    FERRY_TRY(ferry_i_pa_save(ctx, s->ws, numbered(buf, "source.ws", i), dict));
    if (s->wt) FERRY_TRY(ferry_i_pa_save(ctx, s->wt, numbered(buf, "source.wt", i), dict));
done:
    return st;
}

ferry_status ferry_i_het_save(ferry_ctx *ctx, const het *h, ferry_dict *dict)
{
    ferry_status st = FERRY_OK;
    const int64_t form[] = {h->rule, h->post, h->k, h->n, h->n_groups};
    const double beta[] = {h->beta1, h->beta2};
    ferry_ids *names = ferry_i_ids_new();
    char buf[48];

    FERRY_HAVE(ctx, names);
    for (int64_t i = 0; i < h->n; i++)
        FERRY_HAVE(ctx, ferry_i_ids_add(names, h->source[i].name, NULL) >= 0);
    FERRY_TRY(ferry_i_dict_put_ints(ctx, dict, "het", FERRY_COUNT(form), form));
    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "beta", 1, 2, beta));
    FERRY_TRY(ferry_i_dict_put_ids(ctx, dict, "sources", names));
    for (int64_t g = 0; g < h->n_groups; g++)
        FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, numbered(buf, "codes", g),
                                         h->group[g].s, h->d, h->group[g].q));
    for (int64_t i = 0; i < h->n; i++)
        FERRY_TRY(save_source(ctx, h, i, dict));
    if (h->wt) FERRY_TRY(ferry_i_pa_save(ctx, h->wt, "pa", dict));
done:
    ferry_i_ids_free(names);
    return st;
}

static ferry_status load_groups(ferry_ctx *ctx, const ferry_dict *dict, het *h)
{
    ferry_status st = FERRY_OK;
    const double *q = NULL;
    char buf[48];

    FERRY_NEW(ctx, h->group, h->n_groups);
    for (int64_t g = 0; g < h->n_groups; g++) {
        int64_t s = -1, d = h->d;
        FERRY_TRY(ferry_i_dict_reals(ctx, dict, numbered(buf, "codes", g), &s, &d, &q));
        FERRY_TRY(ferry_i_dict_reals_copy(ctx, dict, buf, s, d, &h->group[g].q));
        h->group[g].s = s;
    }
done:
    return st;
}

static ferry_status load_source(ferry_ctx *ctx, const ferry_dict *dict, het *h, int64_t i)
{
    ferry_status st = FERRY_OK;
    het_source *s = &h->source[i];
    const int64_t *form = NULL;
    int64_t five = 5;
    char buf[48];

    FERRY_TRY(ferry_i_dict_ints(ctx, dict, numbered(buf, "source", i), &five, &form));
    FERRY_NEED(ctx,
               0 <= form[0] && form[0] < h->n_groups && 1 <= form[1] &&
                   form[1] <= INT32_MAX && form[2] >= 0 && form[3] >= 0 && form[4] >= 0,
               FERRY_EDATA, "tensor %s: codes %lld, rank %lld, mistakes %lld %lld %lld",
               buf, (long long)form[0], (long long)form[1], (long long)form[2],
               (long long)form[3], (long long)form[4]);
    s->group = form[0];
    s->rank = form[1];
    s->ms = form[2];
    s->mt = form[3];
    s->mi = form[4];
    FERRY_TRY(ferry_i_dict_reals_copy(ctx, dict, numbered(buf, "source.r", i), s->rank,
                                      h->group[s->group].s, &s->r));
    FERRY_TRY(ferry_i_dict_reals_copy(ctx, dict, numbered(buf, "source.mu", i), 1, s->rank,
                                      &s->mu));
    FERRY_TRY(
        ferry_i_pa_load(ctx, dict, numbered(buf, "source.ws", i), h->k, s->rank, &s->ws));
    if (h->rule == HET_LOSSES)
        FERRY_TRY(ferry_i_pa_load(ctx, dict, numbered(buf, "source.wt", i), h->k, s->rank,
                                  &s->wt));
done:
    return st;
}

ferry_status ferry_i_het_load(ferry_ctx *ctx, const ferry_dict *dict, int64_t d, het *h)
{
    ferry_status st = FERRY_OK;
    const int64_t *form = NULL;
    const double *beta = NULL;
    int64_t five = 5, one = 1, two = 2;
    ferry_ids *names = NULL;

    *h = (het){.d = d};
    FERRY_TRY(ferry_i_dict_ints(ctx, dict, "het", &five, &form));
    FERRY_TRY(ferry_i_dict_reals(ctx, dict, "beta", &one, &two, &beta));
    FERRY_TRY(ferry_i_dict_ids(ctx, dict, "sources", &names));
    FERRY_NEED(ctx,
               0 <= form[0] && form[0] <= HET_LOSSES && 0 <= form[1] &&
                   form[1] <= HET_POST_CENTRED && 1 <= form[2] && form[2] <= INT32_MAX &&
                   form[3] == ferry_i_ids_count(names) && 1 <= form[3] && 1 <= form[4] &&
                   form[4] <= form[3] && beta[0] > 0 && beta[0] <= 1 && beta[1] > 0 &&
                   beta[1] <= 1,
               FERRY_EDATA, "tensor het: %lld classes, %lld sources, beta %g %g",
               (long long)form[2], (long long)form[3], beta[0], beta[1]);
    h->rule = (het_rule)form[0];
    h->post = (het_post)form[1];
    h->k = form[2];
    h->n_groups = form[4];
    h->beta1 = beta[0];
    h->beta2 = beta[1];
    FERRY_TRY(load_groups(ctx, dict, h));
    FERRY_NEW(ctx, h->source, form[3]);
    h->n = form[3];
    for (int64_t i = 0; i < h->n; i++) {
        h->source[i].name = ferry_i_strdup(ferry_i_ids_at(names, i));
        FERRY_HAVE(ctx, h->source[i].name);
        FERRY_TRY(load_source(ctx, dict, h, i));
    }
    if (h->rule == HET_MISTAKES)
        FERRY_TRY(ferry_i_pa_load(ctx, dict, "pa", h->k, d, &h->wt));
done:
    ferry_i_ids_free(names);
    if (st != FERRY_OK) ferry_i_het_clear(h);
    return st;
}
