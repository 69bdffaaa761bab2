/* What predicting needs, in the model's dict (prepare.h): "prepare" has a few numbers for
 * the whole and for each view; each view's arrays stand beside it. */
#include <stdio.h>

#include "prepare/prepare.h"

/* Places in the tensor "prepare": HEAD numbers for the whole, then FACTS for each view.
 * The flags SHIFTED, FACTORED and MAPPED say which arrays of the view are there. */
enum { LAYOUT, MISSING, UNCENTRED, EVERY, HEAD };
enum { ALL_OF_IT = 1, ROOTS_OF_IT = 2 }; /* what is not centred */
enum { WIDTH, COLS, KIND, DENSE, COUNTS, SHIFTED, FACTORED, MAPPED, FACTS };

/* "NAME.WHAT.V" */
static const char *name_of(char buf[48], const char *name, const char *what, int64_t v)
{
    (void)snprintf(buf, 48, "%s.%s.%lld", name, what, (long long)v);
    return buf;
}

/* The numbers of the whole and of its views. Where a frame begins is not among them: it
 * follows from the columns of those before it. */
static int64_t *facts_of(const ferry_prepared *p, int64_t n)
{
    int64_t *facts = ferry_i_calloc(n, sizeof *facts);

    if (!facts) return NULL;
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
    }
    return facts;
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

/* The widths of all views together stay below 2^31, since columns are 32-bit. */
static ferry_status new_frame(ferry_ctx *ctx, const int64_t *at, int64_t v, ferry_frame *f)
{
    ferry_status st = FERRY_OK;

    f->begin = v ? f[-1].begin + f[-1].cols : 0;
    FERRY_NEED(
        ctx,
        at[WIDTH] >= 0 && at[COLS] >= 0 && at[COLS] <= at[WIDTH] &&
            at[WIDTH] < INT32_MAX - f->begin && goes_together(at) &&
            (at[MAPPED] || at[COLS] == at[WIDTH]),
        FERRY_EDATA, "tensor prepare: view %lld has %lld of %lld features, scale %lld",
        (long long)v, (long long)at[COLS], (long long)at[WIDTH], (long long)at[KIND]);
    f->width = at[WIDTH];
    f->cols = at[COLS];
    FERRY_NEW(ctx, f->scale, 1);
    f->scale->kind = (ferry_scale)at[KIND];
    f->scale->d = f->width;
    f->scale->dense = at[DENSE] != 0;
    f->scale->counts = at[COUNTS] != 0;
done:
    return st;
}

/* n_frames counts a frame before it is filled, so that a failure frees what it has. */
static ferry_status from_facts(ferry_ctx *ctx, int64_t n, const int64_t *facts,
                               ferry_prepared *p)
{
    ferry_status st = FERRY_OK;

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
        p->n_frames++;
        FERRY_TRY(new_frame(ctx, facts + HEAD + v * FACTS, v, &p->frame[v]));
        p->dense = p->dense && p->frame[v].scale->dense;
    }
done:
    return st;
}

/* Arrays of `width` numbers each. The columns that are used are numbered 0, 1, ... in
 * order. */
static void frame_file(ferry_io *io, const char *name, const int64_t *at, int64_t v,
                       ferry_frame *f)
{
    ferry_scaler *s = f->scale;
    const int64_t d = f->width;
    int64_t next = 0;
    char buf[48];

    ferry_i_io_reals(io, name_of(buf, name, "fill", v), 1, d, &s->fill);
    if (at[SHIFTED]) ferry_i_io_reals(io, name_of(buf, name, "shift", v), 1, d, &s->shift);
    if (at[FACTORED])
        ferry_i_io_reals(io, name_of(buf, name, "factor", v), 1, d, &s->factor);
    if (!at[MAPPED]) return;
    ferry_i_io_places(io, name_of(buf, name, "columns", v), d, INT32_MIN, INT32_MAX,
                      &f->map);
    for (int64_t j = 0; j < d && ferry_i_io_loading(io); j++) {
        FERRY_IO_NEED(io, f->map[j] == -1 || f->map[j] == next,
                      "tensor %s: entry %lld is %d, not -1 or %lld", buf, (long long)j,
                      (int)f->map[j], (long long)next);
        next += f->map[j] >= 0;
    }
    FERRY_IO_NEED(io, next == f->cols, "tensor %s has %lld columns, prepare says %lld", buf,
                  (long long)next, (long long)f->cols);
}

void ferry_i_prepared_file_as(ferry_io *io, const char *name, ferry_prepared **prepared)
{
    int64_t n = io->to ? HEAD + (*prepared)->n_frames * FACTS : -1, *facts = NULL;

    if (io->to && !(facts = facts_of(*prepared, n))) ferry_i_io_fail(io, FERRY_ENOMEM);
    ferry_i_io_int_list(io, name, &n, &facts);
    if (ferry_i_io_loading(io)) FERRY_IO_NEW(io, *prepared, 1);
    if (ferry_i_io_loading(io))
        ferry_i_io_fail(io, from_facts(io->ctx, n, facts, *prepared));
    for (int64_t v = 0; io->st == FERRY_OK && v < (*prepared)->n_frames; v++)
        frame_file(io, name, facts + HEAD + v * FACTS, v, &(*prepared)->frame[v]);
    ferry_i_free(facts);
}

void ferry_i_prepared_file(ferry_io *io, ferry_prepared **prepared)
{
    ferry_i_prepared_file_as(io, "prepare", prepared);
}
