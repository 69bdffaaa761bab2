/* The part of the model that all baselines have: predicting with it, saving and loading
 * it. */
#include <stdio.h>
#include <string.h>

#include "methods/baselines/base.h"

void ferry_i_base_clear(base *b)
{
    ferry_i_prep_free(b->prep);
    ferry_i_space_free(b->space);
    ferry_i_free(b->prior);
    *b = (base){0};
}

/* ---- predict ---- */

ferry_status ferry_i_base_query_raw(ferry_ctx *ctx, const base *b, const ferry_domain *d,
                                    ferry_matrix **x, int64_t **instance)
{
    ferry_status st = FERRY_OK;
    const space *s = b->space;
    const int64_t n = ferry_i_ids_count(d->ids);
    plan_part part = {.domain = d};
    int64_t rows = 0;

    *x = NULL;
    *instance = NULL;
    FERRY_NEED(ctx, d->n_views == s->n_views, FERRY_EDATA,
               "the model has %lld views, domain '%s' %lld", (long long)s->n_views, d->name,
               (long long)d->n_views);
    for (int64_t v = 0; v < s->n_views; v++)
        FERRY_NEED(ctx, d->views[v]->x->cols == s->width[v], FERRY_EDATA,
                   "view '%s' has %lld features, the model's %lld", d->views[v]->name,
                   (long long)d->views[v]->x->cols, (long long)s->width[v]);
    part.view = (const ferry_view **)d->views;
    part.map = ferry_i_calloc(s->n_views, sizeof *part.map); /* columns as they are */
    FERRY_NEW(ctx, *instance, n);
    FERRY_HAVE(ctx, part.map);
    for (int64_t i = 0; i < n; i++)
        if (ferry_i_part_covers(s, &part, i)) (*instance)[rows++] = i;
    FERRY_TRY(ferry_i_space_rows(ctx, s, &part, rows, *instance, x));
done:
    ferry_i_free(part.map);
    return st;
}

ferry_status ferry_i_base_query(ferry_ctx *ctx, const base *b, const ferry_domain *d,
                                ferry_matrix **x, int64_t **instance)
{
    ferry_status st = FERRY_OK;
    ferry_matrix *raw = NULL;

    *x = NULL;
    FERRY_TRY(ferry_i_base_query_raw(ctx, b, d, &raw, instance));
    FERRY_TRY(ferry_i_prep_apply(ctx, b->prep, raw, x));
done:
    ferry_i_matrix_free(raw);
    return st;
}

/* Decide instance i from its k scores. */
static void decide(const base *b, const double *score, double least, int64_t i,
                   ferry_prediction *p)
{
    if (b->goal == FERRY_REGRESS) {
        p->value[i] = score[0];
        return;
    }
    memcpy(p->score + i * b->k, score, (size_t)b->k * sizeof *score);
    if (b->goal == FERRY_CLASSIFY) p->cls[i] = 0;
    for (int64_t c = 0; c < b->k; c++) {
        if (b->goal == FERRY_MULTILABEL)
            p->set[i * b->k + c] = score[c] > least;
        else if (score[c] > score[p->cls[i]])
            p->cls[i] = (int32_t)c;
    }
}

ferry_status ferry_i_base_predict_prior(ferry_ctx *ctx, const base *b, ferry_prediction *p)
{
    ferry_status st = FERRY_OK;

    FERRY_NEED(ctx, p->goal == b->goal && (b->goal == FERRY_REGRESS || p->k == b->k),
               FERRY_EDATA, "the model has %lld classes, not %lld", (long long)b->k,
               (long long)p->k);
    for (int64_t i = 0; i < p->n; i++)
        decide(b, b->prior, 0.5, i, p);
done:
    return st;
}

void ferry_i_base_predict_scores(const base *b, const ferry_block *scores,
                                 const int64_t *instance, double least, ferry_prediction *p)
{
    for (int64_t i = 0; i < scores->rows; i++)
        decide(b, FERRY_ROW(scores, i), least, instance[i], p);
}

/* ---- save and load ---- */

/* Name of the tensor that holds the columns of view v. */
static void columns_name(char *name, size_t size, int64_t v)
{
    (void)snprintf(name, size, "space.columns.%lld", (long long)v);
}

static ferry_status save_columns(ferry_ctx *ctx, const space *s, int64_t v,
                                 ferry_dict *dict)
{
    ferry_status st = FERRY_OK;
    int64_t *wide = ferry_i_calloc(s->width[v], sizeof *wide);
    char name[48];

    FERRY_HAVE(ctx, wide);
    for (int64_t j = 0; j < s->width[v]; j++)
        wide[j] = s->local[v][j];
    columns_name(name, sizeof name, v);
    FERRY_TRY(ferry_i_dict_put_ints(ctx, dict, name, s->width[v], wide));
done:
    ferry_i_free(wide);
    return st;
}

static ferry_status save_space(ferry_ctx *ctx, const base *b, ferry_dict *dict)
{
    ferry_status st = FERRY_OK;
    const space *s = b->space;
    const ferry_prep *p = b->prep;
    const int64_t scale = p->scale;

    FERRY_TRY(ferry_i_dict_put_ints(ctx, dict, "space.width", s->n_views, s->width));
    FERRY_TRY(ferry_i_dict_put_ints(ctx, dict, "space.used", s->n_views, s->used));
    FERRY_TRY(ferry_i_dict_put_bytes(ctx, dict, "space.sparse", s->n_views, s->sparse));
    for (int64_t v = 0; v < s->n_views; v++)
        if (s->local[v]) FERRY_TRY(save_columns(ctx, s, v, dict));
    FERRY_TRY(ferry_i_dict_put_ints(ctx, dict, "prep.scale", 1, &scale));
    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "prep.fill", 1, p->d, p->fill));
    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "prep.mean", 1, p->d, p->mean));
    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "prep.inv_sd", 1, p->d, p->inv_sd));
done:
    return st;
}

ferry_status ferry_i_base_save(ferry_ctx *ctx, const base *b, ferry_dict *dict)
{
    ferry_status st = FERRY_OK;
    const int64_t goal = b->goal;

    FERRY_TRY(ferry_i_dict_put_ints(ctx, dict, "goal", 1, &goal));
    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "prior", 1, b->k, b->prior));
    if (b->space) FERRY_TRY(save_space(ctx, b, dict));
done:
    return st;
}

static ferry_status load_one(ferry_ctx *ctx, const ferry_dict *dict, const char *name,
                             int64_t *value)
{
    ferry_status st = FERRY_OK;
    const int64_t *data = NULL;
    int64_t n = 1;

    FERRY_TRY(ferry_i_dict_ints(ctx, dict, name, &n, &data));
    *value = data[0];
done:
    return st;
}

/* The columns of view v are numbered 0, 1, ... where they are used. */
static ferry_status load_columns(ferry_ctx *ctx, const ferry_dict *dict, int64_t v,
                                 space *s)
{
    ferry_status st = FERRY_OK;
    const int64_t *wide = NULL;
    int64_t n = s->width[v];
    int32_t next = 0;
    char name[48];

    columns_name(name, sizeof name, v);
    FERRY_NEED(ctx, s->used[v] == s->width[v] || ferry_i_dict_has(dict, name), FERRY_EDATA,
               "tensor %s is missing", name);
    if (!ferry_i_dict_has(dict, name)) goto done;
    FERRY_TRY(ferry_i_dict_ints(ctx, dict, name, &n, &wide));
    s->local[v] = ferry_i_calloc(n, sizeof **s->local);
    FERRY_HAVE(ctx, s->local[v]);
    for (int64_t j = 0; j < n; j++) {
        FERRY_NEED(ctx, wide[j] == -1 || wide[j] == next, FERRY_EDATA,
                   "tensor %s: entry %lld is %lld, not -1 or %d", name, (long long)j,
                   (long long)wide[j], (int)next);
        s->local[v][j] = (int32_t)wide[j];
        next += wide[j] >= 0;
    }
    FERRY_NEED(ctx, next == s->used[v], FERRY_EDATA,
               "tensor %s has %d columns, space.used %lld", name, (int)next,
               (long long)s->used[v]);
done:
    return st;
}

static ferry_status load_space(ferry_ctx *ctx, const ferry_dict *dict, base *b)
{
    ferry_status st = FERRY_OK;
    const int64_t *width = NULL, *used = NULL;
    const uint8_t *sparse = NULL;
    int64_t n = -1;

    FERRY_TRY(ferry_i_dict_ints(ctx, dict, "space.width", &n, &width));
    FERRY_TRY(ferry_i_dict_ints(ctx, dict, "space.used", &n, &used));
    FERRY_TRY(ferry_i_dict_bytes(ctx, dict, "space.sparse", &n, &sparse));
    FERRY_NEED(ctx, n > 0, FERRY_EDATA, "tensor space.width is empty");
    FERRY_TRY(ferry_i_space_new(ctx, n, &b->space));
    for (int64_t v = 0; v < n; v++) {
        FERRY_NEED(ctx, 0 <= used[v] && used[v] <= width[v] && width[v] <= INT32_MAX,
                   FERRY_EDATA, "tensor space.used: entry %lld is %lld of %lld",
                   (long long)v, (long long)used[v], (long long)width[v]);
        b->space->width[v] = width[v];
        b->space->used[v] = used[v];
        b->space->sparse[v] = sparse[v] != 0;
        FERRY_TRY(load_columns(ctx, dict, v, b->space));
    }
done:
    return st;
}

static ferry_status load_prep(ferry_ctx *ctx, const ferry_dict *dict, base *b)
{
    ferry_status st = FERRY_OK;
    int64_t scale = 0;
    ferry_prep *p = ferry_i_calloc(1, sizeof *p);

    b->prep = p;
    FERRY_HAVE(ctx, p);
    FERRY_TRY(load_one(ctx, dict, "prep.scale", &scale));
    FERRY_NEED(ctx, 0 <= scale && scale <= FERRY_PREP_KEEP, FERRY_EDATA,
               "tensor prep.scale: %lld is no way to scale", (long long)scale);
    p->scale = (ferry_prep_kind)scale;
    p->d = ferry_i_space_width(b->space);
    FERRY_TRY(ferry_i_dict_reals_copy(ctx, dict, "prep.fill", 1, p->d, &p->fill));
    FERRY_TRY(ferry_i_dict_reals_copy(ctx, dict, "prep.mean", 1, p->d, &p->mean));
    FERRY_TRY(ferry_i_dict_reals_copy(ctx, dict, "prep.inv_sd", 1, p->d, &p->inv_sd));
done:
    return st;
}

ferry_status ferry_i_base_load(ferry_ctx *ctx, const ferry_dict *dict, base *b)
{
    ferry_status st = FERRY_OK;
    const double *prior = NULL;
    int64_t goal = 0, rows = 1, k = -1;

    *b = (base){0};
    FERRY_TRY(load_one(ctx, dict, "goal", &goal));
    FERRY_TRY(ferry_i_dict_reals(ctx, dict, "prior", &rows, &k, &prior));
    FERRY_NEED(ctx,
               goal == FERRY_CLASSIFY || goal == FERRY_MULTILABEL ||
                   (goal == FERRY_REGRESS && k == 1),
               FERRY_EDATA, "tensor goal: %lld does not go with %lld classes",
               (long long)goal, (long long)k);
    FERRY_NEED(ctx, k > 0, FERRY_EDATA, "tensor prior is empty");
    b->goal = (ferry_goal)goal;
    b->k = k;
    FERRY_TRY(ferry_i_dict_reals_copy(ctx, dict, "prior", 1, k, &b->prior));
    if (!ferry_i_dict_has(dict, "space.width")) goto done;
    FERRY_TRY(load_space(ctx, dict, b));
    FERRY_TRY(load_prep(ctx, dict, b));
done:
    return st;
}
