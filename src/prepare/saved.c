/* What predicting needs, in the model's dict (prepare.h): "prepare" has a few numbers for
 * the whole and for each view; each view's arrays stand beside it. */
#include <stdio.h>

#include "prepare/prepare.h"

/* Places in the tensor "prepare": HEAD numbers for the whole, then FACTS for each view.
 * The flags SHIFTED, FACTORED and MAPPED say which arrays of the view are there. */
enum { LAYOUT, MISSING, UNCENTRED, EVERY, HEAD };
enum { ALL_OF_IT = 1, ROOTS_OF_IT = 2 }; /* what is not centred */
enum { WIDTH, COLS, KIND, DENSE, COUNTS, SHIFTED, FACTORED, MAPPED, FACTS };

/* "prepare.WHAT.V" */
static const char *name_of(char buf[48], const char *what, int64_t v)
{
    (void)snprintf(buf, 48, "prepare.%s.%lld", what, (long long)v);
    return buf;
}

/* Arrays of `width` numbers each; the map as 64-bit integers, as all integers in a file. */
static ferry_status save_frame(ferry_ctx *ctx, const ferry_frame *f, int64_t v,
                               ferry_dict *dict)
{
    ferry_status st = FERRY_OK;
    const ferry_scaler *s = f->scale;
    int64_t *wide = NULL;
    char buf[48];

    FERRY_TRY(
        ferry_i_dict_put_reals(ctx, dict, name_of(buf, "fill", v), 1, f->width, s->fill));
    if (s->shift)
        FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, name_of(buf, "shift", v), 1, f->width,
                                         s->shift));
    if (s->factor)
        FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, name_of(buf, "factor", v), 1, f->width,
                                         s->factor));
    if (!f->map) goto done;
    FERRY_NEW(ctx, wide, f->width);
    for (int64_t j = 0; j < f->width; j++)
        wide[j] = f->map[j];
    FERRY_TRY(ferry_i_dict_put_ints(ctx, dict, name_of(buf, "columns", v), f->width, wide));
done:
    ferry_i_free(wide);
    return st;
}

/* Where a frame begins is not saved: it follows from the columns of those before it. */
ferry_status ferry_i_prepared_save(ferry_ctx *ctx, const ferry_prepared *p,
                                   ferry_dict *dict)
{
    ferry_status st = FERRY_OK;
    int64_t *facts = NULL;

    FERRY_NEW(ctx, facts, HEAD + p->n_frames * FACTS);
    facts[LAYOUT] = p->wants.layout;
    facts[MISSING] = p->wants.missing;
    facts[UNCENTRED] = (p->wants.shift ? ALL_OF_IT : 0) |
                       (p->wants.positive != FERRY_ANY_SIGN ? ROOTS_OF_IT : 0);
    facts[EVERY] = p->wants.every;
    for (int64_t v = 0; v < p->n_frames; v++) {
        const ferry_frame *f = &p->frame[v];
        int64_t *at = facts + HEAD + v * FACTS;
        at[WIDTH] = f->width;
        at[COLS] = f->cols;
        at[KIND] = f->scale->kind;
        at[DENSE] = f->scale->dense;
        at[COUNTS] = f->scale->counts;
        at[SHIFTED] = f->scale->shift != NULL;
        at[FACTORED] = f->scale->factor != NULL;
        at[MAPPED] = f->map != NULL;
        FERRY_TRY(save_frame(ctx, f, v, dict));
    }
    FERRY_TRY(
        ferry_i_dict_put_ints(ctx, dict, "prepare", HEAD + p->n_frames * FACTS, facts));
done:
    ferry_i_free(facts);
    return st;
}

/* The columns that are used are numbered 0, 1, ... in order. */
static ferry_status load_map(ferry_ctx *ctx, const ferry_dict *dict, int64_t v,
                             ferry_frame *f)
{
    ferry_status st = FERRY_OK;
    const int64_t *wide = NULL;
    int64_t n = f->width, next = 0;
    char name[48];

    FERRY_TRY(ferry_i_dict_ints(ctx, dict, name_of(name, "columns", v), &n, &wide));
    FERRY_NEW(ctx, f->map, n);
    for (int64_t j = 0; j < n; j++) {
        FERRY_NEED(ctx, wide[j] == -1 || wide[j] == next, FERRY_EDATA,
                   "tensor %s: entry %lld is %lld, not -1 or %lld", name, (long long)j,
                   (long long)wide[j], (long long)next);
        f->map[j] = (int32_t)wide[j];
        next += wide[j] >= 0;
    }
    FERRY_NEED(ctx, next == f->cols, FERRY_EDATA,
               "tensor %s has %lld columns, prepare says %lld", name, (long long)next,
               (long long)f->cols);
done:
    return st;
}

/* Which arrays a kind has: shift and factor where it centres, factor for counts.
 * The scaler's code takes this for granted, so a file that breaks it would read NULL. */
static bool goes_together(const int64_t *at)
{
    const bool centred = at[KIND] == FERRY_SCALE_STANDARD ||
                         at[KIND] == FERRY_SCALE_ROOTS || at[KIND] == FERRY_SCALE_COMMON;
    const bool counts = at[KIND] == FERRY_SCALE_WORDS && at[COUNTS];

    return at[KIND] > FERRY_SCALE_AUTO && at[KIND] <= FERRY_SCALE_L2 &&
           (at[SHIFTED] != 0) == centred && (at[FACTORED] != 0) == (centred || counts) &&
           (counts || !at[COUNTS]);
}

/* f->begin is set by the caller. The widths of all views together stay below 2^31, since
 * columns are 32-bit. */
static ferry_status load_frame(ferry_ctx *ctx, const ferry_dict *dict, const int64_t *at,
                               int64_t v, ferry_frame *f)
{
    ferry_status st = FERRY_OK;
    ferry_scaler *s = NULL;
    char buf[48];

    FERRY_NEED(
        ctx,
        at[WIDTH] >= 0 && at[COLS] >= 0 && at[COLS] <= at[WIDTH] &&
            at[WIDTH] < INT32_MAX - f->begin && goes_together(at) &&
            (at[MAPPED] || at[COLS] == at[WIDTH]),
        FERRY_EDATA, "tensor prepare: view %lld has %lld of %lld features, scale %lld",
        (long long)v, (long long)at[COLS], (long long)at[WIDTH], (long long)at[KIND]);
    f->width = at[WIDTH];
    f->cols = at[COLS];
    /* the tensor's size was checked against the file's: allocate nothing before */
    FERRY_NEW(ctx, s, 1);
    f->scale = s;
    s->kind = (ferry_scale)at[KIND];
    s->d = f->width;
    s->dense = at[DENSE] != 0;
    s->counts = at[COUNTS] != 0;
    FERRY_TRY(
        ferry_i_dict_reals_copy(ctx, dict, name_of(buf, "fill", v), 1, f->width, &s->fill));
    if (at[SHIFTED])
        FERRY_TRY(ferry_i_dict_reals_copy(ctx, dict, name_of(buf, "shift", v), 1, f->width,
                                          &s->shift));
    if (at[FACTORED])
        FERRY_TRY(ferry_i_dict_reals_copy(ctx, dict, name_of(buf, "factor", v), 1, f->width,
                                          &s->factor));
    if (at[MAPPED]) FERRY_TRY(load_map(ctx, dict, v, f));
done:
    return st;
}

/* n_frames counts a frame before it is filled, so that a failure frees what it has. */
ferry_status ferry_i_prepared_load(ferry_ctx *ctx, const ferry_dict *dict,
                                   ferry_prepared **out)
{
    ferry_status st = FERRY_OK;
    const int64_t *facts = NULL;
    int64_t n = -1;
    ferry_prepared *p = NULL;

    *out = NULL;
    FERRY_NEW(ctx, p, 1);
    FERRY_TRY(ferry_i_dict_ints(ctx, dict, "prepare", &n, &facts));
    FERRY_NEED(ctx, n > HEAD && (n - HEAD) % FACTS == 0, FERRY_EDATA,
               "tensor prepare has %lld entries", (long long)n);
    FERRY_NEED(ctx, facts[LAYOUT] >= 0 && facts[LAYOUT] <= FERRY_PATH, FERRY_EDATA,
               "tensor prepare: layout %lld", (long long)facts[LAYOUT]);
    p->wants = (ferry_wants){.method = "",
                             .layout = (ferry_layout)facts[LAYOUT],
                             .missing = facts[MISSING] != 0,
                             .shift = (facts[UNCENTRED] & ALL_OF_IT) != 0,
                             .every = facts[EVERY] != 0};
    if (facts[UNCENTRED] & ROOTS_OF_IT) p->wants.positive = FERRY_PLAIN_ROOTS;
    p->dense = p->wants.layout == FERRY_JOINED;
    FERRY_NEW(ctx, p->frame, (n - HEAD) / FACTS);
    for (int64_t v = 0; v < (n - HEAD) / FACTS; v++) {
        ferry_frame *f = &p->frame[v];
        f->begin = v ? f[-1].begin + f[-1].cols : 0;
        p->n_frames++;
        FERRY_TRY(load_frame(ctx, dict, facts + HEAD + v * FACTS, v, f));
        p->dense = p->dense && f->scale->dense;
    }
    FERRY_MOVE(*out, p);
done:
    ferry_i_prepared_free(p);
    return st;
}
