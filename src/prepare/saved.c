/* What predicting needs, in the model's dict (prepare.h): "prepare" has a few numbers for
 * the whole and for each view; each view's arrays stand beside it. */
#include "prepare/prepare.h"

/* Places in the tensor "prepare": HEAD numbers for the whole, then FACTS for each view.
 * The flags SHIFTED (1: a shift, 2: a base), FACTORED and MAPPED say which arrays of the view are
 * there. */
enum { LAYOUT, MISSING, UNCENTRED, EVERY, HEAD };
enum { ALL_OF_IT = 1, ROOTS_OF_IT = 2 };     /* what is not centred */
enum { EVERY_INSTANCE = 1, DENSE_PATH = 2 }; /* in EVERY */
enum { A_SHIFT = 1, A_BASE = 2 };
enum { WIDTH, COLS, KIND, DENSE, COUNTS, SHIFTED, FACTORED, MAPPED, FACTS };

/* The numbers of the whole and of its views. Where a frame begins is not among them: it
 * follows from the columns of those before it. */
static int64_t *facts_of(scope *s, const ferry_prepared *p, int64_t n)
{
    int64_t *facts = NEW(s, int64_t, n);

    facts[LAYOUT] = p->wants.layout;
    facts[MISSING] = p->wants.missing;
    facts[UNCENTRED] = (p->wants.shift ? ALL_OF_IT : 0) |
                       (p->wants.positive != FERRY_ANY_SIGN ? ROOTS_OF_IT : 0);
    facts[EVERY] = (p->wants.every ? EVERY_INSTANCE : 0) | (p->wants.full ? DENSE_PATH : 0);
    for (int64_t v = 0; v < p->n_frames; v++) {
        const ferry_frame *f = &p->frame[v];
        int64_t *at = facts + HEAD + v * FACTS;
        at[WIDTH] = f->width;
        at[COLS] = f->cols;
        at[KIND] = f->scale->kind;
        at[DENSE] = f->scale->dense;
        at[COUNTS] = f->scale->counts;
        at[SHIFTED] = (f->scale->shift ? A_SHIFT : 0) | (f->scale->base ? A_BASE : 0);
        at[FACTORED] = f->scale->factor != NULL;
        at[MAPPED] = f->map != NULL;
    }
    return facts;
}

static void put_reals(scope *s, ferry_dict *to, const char *name, int64_t n,
                      const double *v)
{
    if (v) scope_check(s, ferry_i_dict_put_reals(scope_ctx(s), to, name, 1, n, v));
}

void prepared_save(scope *s, const ferry_prepared *p, const char *name, ferry_dict *to)
{
    const int64_t n = HEAD + p->n_frames * FACTS;
    const int64_t *facts = facts_of(s, p, n);

    scope_check(s, ferry_i_dict_put_ints(scope_ctx(s), to, name, n, facts));
    for (int64_t v = 0; v < p->n_frames; v++) {
        const ferry_frame *f = &p->frame[v];
        const ferry_scaler *by = f->scale;
        const long long i = (long long)v;
        put_reals(s, to, scope_text(s, "%s.fill.%lld", name, i), f->width, by->fill);
        put_reals(s, to, scope_text(s, "%s.shift.%lld", name, i), f->width, by->shift);
        put_reals(s, to, scope_text(s, "%s.base.%lld", name, i), f->width, by->base);
        put_reals(s, to, scope_text(s, "%s.factor.%lld", name, i), f->width, by->factor);
        if (!f->map) continue;
        int64_t *wide = NEW(s, int64_t, f->width);
        for (int64_t j = 0; j < f->width; j++)
            wide[j] = f->map[j];
        scope_check(s, ferry_i_dict_put_ints(scope_ctx(s), to,
                                             scope_text(s, "%s.columns.%lld", name, i),
                                             f->width, wide));
    }
}

/* ---- loading ---- */

/* Which arrays a kind has: shift and factor where it centres, factor for counts, none perhaps.
 * The scaler's code takes this for granted, so a file that breaks it would read NULL. */
static bool goes_together(const int64_t *at)
{
    const bool centred = at[KIND] == FERRY_SCALE_STANDARD ||
                         at[KIND] == FERRY_SCALE_ROOTS || at[KIND] == FERRY_SCALE_COMMON;
    const bool counts = at[KIND] == FERRY_SCALE_WORDS && at[COUNTS];
    const bool based = at[KIND] != FERRY_SCALE_WORDS && at[KIND] != FERRY_SCALE_ROOTS;

    return at[KIND] > FERRY_SCALE_AUTO && at[KIND] <= FERRY_SCALE_L2 &&
           (at[SHIFTED] & A_SHIFT) == (centred ? A_SHIFT : 0) &&
           (at[SHIFTED] & ~A_SHIFT) == (based ? at[SHIFTED] & A_BASE : 0) &&
           (at[KIND] == FERRY_SCALE_NONE || (at[FACTORED] != 0) == (centred || counts)) &&
           (counts || !at[COUNTS]);
}

typedef struct loading {
    scope *s, *keep;
    const char *name;
    const ferry_dict *from;
} loading;

static double *load_reals(const loading *l, const char *what, int64_t v, int64_t n)
{
    const char *name = scope_text(l->s, "%s.%s.%lld", l->name, what, (long long)v);
    const double *data = NULL;
    int64_t one = 1;

    scope_check(l->s, ferry_i_dict_reals(scope_ctx(l->s), l->from, name, &one, &n, &data));
    return COPY(l->keep, data, n);
}

/* The columns that are used are numbered 0, 1, ... in order. */
static int32_t *load_columns(const loading *l, int64_t v, const ferry_frame *f)
{
    const char *name = scope_text(l->s, "%s.columns.%lld", l->name, (long long)v);
    const int64_t *data = NULL;
    int64_t n = f->width, next = 0;

    scope_check(l->s, ferry_i_dict_ints(scope_ctx(l->s), l->from, name, &n, &data));
    int32_t *map = NEW(l->keep, int32_t, n);
    for (int64_t j = 0; j < n; j++) {
        if (data[j] != -1 && data[j] != next)
            scope_fail(l->s, FERRY_EDATA, "tensor %s: entry %lld is %lld, not -1 or %lld",
                       name, (long long)j, (long long)data[j], (long long)next);
        next += data[j] >= 0;
        map[j] = (int32_t)data[j];
    }
    if (next != f->cols)
        scope_fail(l->s, FERRY_EDATA, "tensor %s has %lld columns, prepare says %lld", name,
                   (long long)next, (long long)f->cols);
    return map;
}

/* The widths of all views together stay below 2^31, since columns are 32-bit. */
static void load_frame(const loading *l, const int64_t *at, int64_t v, ferry_frame *f)
{
    f->begin = v ? f[-1].begin + f[-1].cols : 0;
    if (at[WIDTH] < 0 || at[COLS] < 0 || at[COLS] > at[WIDTH] ||
        at[WIDTH] >= INT32_MAX - f->begin || !goes_together(at) ||
        (!at[MAPPED] && at[COLS] != at[WIDTH]))
        scope_fail(l->s, FERRY_EDATA,
                   "tensor prepare: view %lld has %lld of %lld features, scale %lld",
                   (long long)v, (long long)at[COLS], (long long)at[WIDTH],
                   (long long)at[KIND]);
    f->width = at[WIDTH];
    f->cols = at[COLS];
    ferry_scaler *by = f->scale = NEW(l->keep, ferry_scaler, 1);
    by->kind = (ferry_scale)at[KIND];
    by->d = f->width;
    by->dense = at[DENSE] != 0;
    by->counts = at[COUNTS] != 0;
    by->fill = load_reals(l, "fill", v, f->width);
    if (at[SHIFTED] & A_SHIFT) by->shift = load_reals(l, "shift", v, f->width);
    if (at[SHIFTED] & A_BASE) by->base = load_reals(l, "base", v, f->width);
    scaler_list_far(l->keep, by);
    if (at[FACTORED]) by->factor = load_reals(l, "factor", v, f->width);
    if (at[MAPPED]) f->map = load_columns(l, v, f);
}

ferry_prepared *prepared_load(scope *s, scope *keep, const char *name,
                              const ferry_dict *from)
{
    const loading l = {s, keep, name, from};
    ferry_prepared *p = NEW(keep, ferry_prepared, 1);
    const int64_t *facts = NULL;
    int64_t n = -1;

    scope_check(s, ferry_i_dict_ints(scope_ctx(s), from, name, &n, &facts));
    if (n <= HEAD || (n - HEAD) % FACTS != 0)
        scope_fail(s, FERRY_EDATA, "tensor prepare has %lld entries", (long long)n);
    if (facts[LAYOUT] < 0 || facts[LAYOUT] > FERRY_PATH)
        scope_fail(s, FERRY_EDATA, "tensor prepare: layout %lld", (long long)facts[LAYOUT]);
    p->wants = (ferry_wants){.method = "",
                             .layout = (ferry_layout)facts[LAYOUT],
                             .missing = facts[MISSING] != 0,
                             .shift = (facts[UNCENTRED] & ALL_OF_IT) != 0,
                             .every = (facts[EVERY] & EVERY_INSTANCE) != 0,
                             .full = (facts[EVERY] & DENSE_PATH) != 0};
    if (facts[UNCENTRED] & ROOTS_OF_IT) p->wants.positive = FERRY_PLAIN_ROOTS;
    p->dense = p->wants.layout == FERRY_JOINED;
    p->n_frames = (n - HEAD) / FACTS;
    p->frame = NEW(keep, ferry_frame, p->n_frames);
    for (int64_t v = 0; v < p->n_frames; v++) {
        load_frame(&l, facts + HEAD + v * FACTS, v, &p->frame[v]);
        p->dense = p->dense && p->frame[v].scale->dense;
    }
    return p;
}
