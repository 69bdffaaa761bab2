/* States by their tables (table.h): save, load, copy, and room for new classes. */
#include "state/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- members, sizes, names ---- */

static void *member(const field *f, const void *state)
{
    return (char *)state + f->at;
}

static int64_t *size_member(field_size z, void *state)
{
    return (int64_t *)((char *)state + z.at);
}

static int64_t size_of(field_size z, state_sizes of, const void *state)
{
    switch (z.of) {
    case 'w': return of.width + z.plus;
    case 'c': return of.classes + z.plus;
    case 'n': return of.views + z.plus;
    case 'v':
        return of.element + z.plus < of.views ? of.view_width[of.element + z.plus] : -1;
    case 'm': return *size_member(z, (void *)state) + z.plus;
    default: return 1 + z.plus;
    }
}

static state_sizes in_element(state_sizes of, int64_t k)
{
    of.element = k;
    return of;
}

static bool is_scalar(const field *f)
{
    return f->kind <= FIELD_REAL;
}

/* Bytes of an item of an array, 0: it is none. */
static size_t item_size(const field *f)
{
    switch (f->kind) {
    case FIELD_FLAGS: return sizeof(uint8_t);
    case FIELD_PLACES: return sizeof(int32_t);
    case FIELD_INTS: return sizeof(int64_t);
    case FIELD_REALS:
    case FIELD_BLOCK:
    case FIELD_SMALL: return sizeof(double);
    default: return 0;
    }
}

/* Where the pointer to an array's items stands. */
static void **items(const field *f, const void *state)
{
    void *at = member(f, state);

    if (f->kind == FIELD_BLOCK) return (void **)&((block *)at)->at;
    if (f->kind == FIELD_SMALL) return (void **)&((small *)at)->at;
    return at;
}

static int64_t item_count(const field *f, state_sizes of, const void *state)
{
    return size_of(f->rows, of, state) * size_of(f->cols, of, state);
}

static const char *named(scope *s, const char *prefix, const char *name)
{
    return scope_text(s, "%s%s%s", prefix, *prefix && *name ? "." : "", name);
}

/* "form:2" -> "form", 2. */
static const char *base_name(scope *s, const char *prefix, const field *f, int64_t *entry)
{
    const char *colon = strchr(f->name, ':');

    *entry = colon ? atoi(colon + 1) : 0;
    return colon ? named(s, prefix, scope_text(s, "%.*s", (int)(colon - f->name), f->name))
                 : named(s, prefix, f->name);
}

static bool same_tensor(const field *a, const field *b)
{
    const size_t n = strcspn(a->name, ":");

    return is_scalar(a) && is_scalar(b) && n == strcspn(b->name, ":") &&
           strncmp(a->name, b->name, n) == 0;
}

/* Whether what an optional field stands for is there. */
static bool is_there(const field *f, const void *state)
{
    const void *at = member(f, state);

    switch (f->kind) {
    case FIELD_STRUCT:
        for (int64_t i = 0; i < f->of->n; i++)
            if (item_size(&f->of->field[i])) return *items(&f->of->field[i], at) != NULL;
        return true;
    case FIELD_MATRIX: return ((const matrix *)at)->m != NULL;
    case FIELD_VARIANT: return ((const variant *)at)->by != NULL;
    case FIELD_TEXT:
    case FIELD_IDS:
    case FIELD_LIST: return *(void *const *)at != NULL;
    default: return !item_size(f) || *items(f, state) != NULL;
    }
}

static bool in_file(scope *s, const field *f, const char *prefix, const ferry_dict *from)
{
    int64_t entry = 0;
    const char *name = base_name(s, prefix, f, &entry);

    switch (f->kind) {
    case FIELD_TEXT:
    case FIELD_VARIANT: return ferry_i_dict_text(from, name) != NULL;
    case FIELD_MATRIX:
        return ferry_i_dict_has(from, name) ||
               ferry_i_dict_has(from, scope_text(s, "%s.shape", name));
    case FIELD_STRUCT: return in_file(s, &f->of->field[0], name, from);
    case FIELD_LIST: return in_file(s, &f->of->field[0], scope_text(s, "%s.0", name), from);
    default: return ferry_i_dict_has(from, name);
    }
}

void *state_new(scope *keep, const table *t)
{
    return scope_new(keep, 1, t->size);
}

/* ---- save ---- */

static int64_t as_int(const field *f, const void *state)
{
    const void *at = member(f, state);

    return f->kind == FIELD_FLAG  ? *(const bool *)at
           : f->kind == FIELD_INT ? *(const int64_t *)at
                                  : *(const int *)at;
}

/* All scalars that stand in one tensor, when the first of them comes. */
static void save_scalars(scope *s, const table *t, const void *state, const char *prefix,
                         int64_t first, ferry_dict *to)
{
    const field *f = &t->field[first];
    int64_t n = 0, entry = 0;

    for (int64_t i = 0; i < t->n; i++) {
        if (!same_tensor(f, &t->field[i])) continue;
        if (i < first) return;
        (void)base_name(s, prefix, &t->field[i], &entry);
        n = entry + 1 > n ? entry + 1 : n;
    }
    int64_t *ints = NEW(s, int64_t, n);
    double *reals = NEW(s, double, n);
    for (int64_t i = first; i < t->n; i++) {
        if (!same_tensor(f, &t->field[i])) continue;
        (void)base_name(s, prefix, &t->field[i], &entry);
        if (f->kind == FIELD_REAL)
            reals[entry] = *(const double *)member(&t->field[i], state);
        else
            ints[entry] = as_int(&t->field[i], state);
    }
    const char *name = base_name(s, prefix, f, &entry);
    scope_check(s, f->kind == FIELD_REAL
                       ? ferry_i_dict_put_reals(scope_ctx(s), to, name, 1, n, reals)
                       : ferry_i_dict_put_ints(scope_ctx(s), to, name, n, ints));
}

/* A vector is one row; what has two sizes is as they say. */
static ferry_status save_items(scope *s, const field *f, const void *state, state_sizes of,
                               const char *name, ferry_dict *to)
{
    ferry_ctx *ctx = scope_ctx(s);
    const void *v = *items(f, state);
    const int64_t rows = size_of(f->rows, of, state), cols = size_of(f->cols, of, state),
                  n = rows * cols;

    switch (f->kind) {
    case FIELD_FLAGS: return ferry_i_dict_put_bytes(ctx, to, name, n, v);
    case FIELD_INTS: return ferry_i_dict_put_ints(ctx, to, name, n, v);
    case FIELD_PLACES: {
        int64_t *wide = NEW(s, int64_t, n);
        for (int64_t i = 0; i < n; i++)
            wide[i] = ((const int32_t *)v)[i];
        return ferry_i_dict_put_ints(ctx, to, name, n, wide);
    }
    case FIELD_REALS:
        return f->cols.of ? ferry_i_dict_put_reals(ctx, to, name, rows, cols, v)
                          : ferry_i_dict_put_reals(ctx, to, name, 1, n, v);
    default: return ferry_i_dict_put_reals(ctx, to, name, rows, cols, v);
    }
}

static void save_variant(scope *s, const field *f, const variant *v, state_sizes of,
                         const char *name, ferry_dict *to)
{
    const char *kind = f->among->name(v->by);

    scope_check(s, ferry_i_dict_put_text(scope_ctx(s), to, name, kind));
    state_save(s, f->among->table(v->by), v->state, of, name, to);
}

static void save_field(scope *s, const table *t, const void *state, state_sizes of,
                       const char *prefix, int64_t i, ferry_dict *to)
{
    ferry_ctx *ctx = scope_ctx(s);
    const field *f = &t->field[i];
    const char *name = named(s, prefix, f->name);
    const void *at = member(f, state);

    if (f->optional && !is_there(f, state)) return;
    if (is_scalar(f)) {
        save_scalars(s, t, state, prefix, i, to);
        return;
    }
    switch (f->kind) {
    case FIELD_TEXT:
        scope_check(s, ferry_i_dict_put_text(ctx, to, name, *(char *const *)at));
        return;
    case FIELD_IDS:
        scope_check(s, ferry_i_dict_put_ids(ctx, to, name, *(ferry_ids *const *)at));
        return;
    case FIELD_MATRIX:
        scope_check(s, ferry_i_dict_put_matrix(ctx, to, name, ((const matrix *)at)->m));
        return;
    case FIELD_ARRAY:
        scope_check(
            s, ferry_i_dict_put_reals(ctx, to, name, 1, size_of(f->rows, of, state), at));
        return;
    case FIELD_STRUCT: state_save(s, f->of, at, of, name, to); return;
    case FIELD_LIST:
        for (int64_t k = 0; k < size_of(f->rows, of, state); k++)
            state_save(s, f->of, *(char *const *)at + (size_t)k * f->of->size,
                       in_element(of, k), scope_text(s, "%s.%lld", name, (long long)k), to);
        return;
    case FIELD_VARIANT: save_variant(s, f, at, of, name, to); return;
    default: scope_check(s, save_items(s, f, state, of, name, to));
    }
}

void state_save(scope *s, const table *t, const void *state, state_sizes of,
                const char *prefix, ferry_dict *to)
{
    for (int64_t i = 0; i < t->n; i++) {
        const int64_t mark = scope_mark(s);
        save_field(s, t, state, of, prefix, i, to);
        scope_release(s, mark);
    }
}

/* ---- load ---- */

typedef struct loading {
    scope *s, *keep;
    const ferry_dict *from;
    state_sizes of;
} loading;

static void *load(const loading *l, const table *t, const char *prefix, void *state);

/* A size that no field has given yet is what the tensor has. */
static void take_size(const loading *l, field_size z, void *state, const char *name,
                      int64_t is)
{
    if (z.of == 'm' && *size_member(z, state) < 0) *size_member(z, state) = is - z.plus;
    if (size_of(z, l->of, state) != is || is < 0)
        scope_fail(l->s, FERRY_EDATA, "tensor %s: %lld where %lld were expected", name,
                   (long long)is, (long long)size_of(z, l->of, state));
}

static void check_range(const loading *l, const field *f, const char *name, int64_t entry,
                        double v, double below)
{
    const bool bound = f->lo != 0 || below != 0;

    if (bound && !(v >= f->lo && v < below))
        scope_fail(l->s, FERRY_EDATA, "tensor %s: entry %lld is %g, not in [%g, %g)", name,
                   (long long)entry, v, f->lo, below);
}

static void load_scalar(const loading *l, const field *f, const char *prefix, void *state)
{
    ferry_ctx *ctx = scope_ctx(l->s);
    void *at = member(f, state);
    int64_t entry = 0, n = -1, rows = 1;
    const char *name = base_name(l->s, prefix, f, &entry);
    const int64_t *ints = NULL;
    const double *reals = NULL;

    scope_check(l->s, f->kind == FIELD_REAL
                          ? ferry_i_dict_reals(ctx, l->from, name, &rows, &n, &reals)
                          : ferry_i_dict_ints(ctx, l->from, name, &n, &ints));
    if (entry >= n)
        scope_fail(l->s, FERRY_EDATA, "tensor %s has %lld entries, not %lld", name,
                   (long long)n, (long long)entry + 1);
    check_range(l, f, name, entry, ints ? (double)ints[entry] : reals[entry], f->hi);
    if (f->kind == FIELD_REAL)
        *(double *)at = reals[entry];
    else if (f->kind == FIELD_INT)
        *(int64_t *)at = ints[entry];
    else if (f->kind == FIELD_FLAG)
        *(bool *)at = ints[entry] != 0;
    else
        *(int *)at = (int)ints[entry];
}

/* *items <- n of them from a tensor of whole numbers. */
static void load_ints(const loading *l, const field *f, const char *name, void *state)
{
    const int64_t *v = NULL;
    int64_t n = -1;

    scope_check(l->s, ferry_i_dict_ints(scope_ctx(l->s), l->from, name, &n, &v));
    if (f->cols.of)
        take_size(l, (field_size){'1', 0, 0}, state, name,
                  1 + n - item_count(f, l->of, state)); /* both sizes are known */
    else
        take_size(l, f->rows, state, name, n);
    const double below = f->below.of ? (double)size_of(f->below, l->of, state) : f->hi;
    void *to = *items(f, state) = scope_new(l->keep, n, item_size(f));
    for (int64_t i = 0; i < n; i++) {
        check_range(l, f, name, i, (double)v[i], below);
        if (f->kind == FIELD_INTS)
            ((int64_t *)to)[i] = v[i];
        else if (v[i] < INT32_MIN || v[i] > INT32_MAX)
            scope_fail(l->s, FERRY_EDATA, "tensor %s: entry %lld is %lld", name,
                       (long long)i, (long long)v[i]);
        else
            ((int32_t *)to)[i] = (int32_t)v[i];
    }
}

static void load_flags(const loading *l, const field *f, const char *name, void *state)
{
    const uint8_t *v = NULL;
    int64_t n = -1;

    scope_check(l->s, ferry_i_dict_bytes(scope_ctx(l->s), l->from, name, &n, &v));
    if (f->cols.of)
        take_size(l, (field_size){'1', 0, 0}, state, name,
                  1 + n - item_count(f, l->of, state));
    else
        take_size(l, f->rows, state, name, n);
    uint8_t *to = *items(f, state) = scope_new(l->keep, n, 1);
    for (int64_t i = 0; i < n; i++)
        to[i] = v[i] != 0;
}

static void load_reals(const loading *l, const field *f, const char *name, void *state)
{
    void *at = member(f, state);
    const bool vector = f->kind == FIELD_ARRAY || (f->kind == FIELD_REALS && !f->cols.of);
    int64_t rows = vector ? 1 : -1, cols = -1;
    const double *v = NULL;

    scope_check(l->s, ferry_i_dict_reals(scope_ctx(l->s), l->from, name, &rows, &cols, &v));
    take_size(l, f->rows, state, name, vector ? cols : rows);
    if (!vector) take_size(l, f->cols, state, name, cols);
    if (f->kind == FIELD_ARRAY) {
        memcpy(at, v, (size_t)cols * sizeof *v);
        return;
    }
    double *to = scope_copy(l->keep, v, rows * cols, sizeof *v);
    if (f->kind == FIELD_BLOCK)
        *(block *)at = (block){HERE(rows), rows, cols, to};
    else if (f->kind == FIELD_SMALL)
        *(small *)at = (small){rows, cols, to};
    else
        *(double **)at = to;
}

static void free_ids(void *ids)
{
    ferry_i_ids_free(ids);
}

static void load_matrix(const loading *l, const field *f, const char *name, void *state)
{
    ferry_matrix *m = NULL;

    scope_check(l->s, ferry_i_dict_matrix(scope_ctx(l->s), l->from, name, &m));
    *(matrix *)member(f, state) = matrix_own(f->passing ? l->s : l->keep, m);
    take_size(l, f->rows, state, name, m->rows);
    take_size(l, f->cols, state, name, m->cols);
}

static void load_ids(const loading *l, const field *f, const char *name, void *state)
{
    ferry_ids *ids = NULL;

    scope_check(l->s, ferry_i_dict_ids(scope_ctx(l->s), l->from, name, &ids));
    scope_defer(l->keep, free_ids, ids);
    *(ferry_ids **)member(f, state) = ids;
    take_size(l, f->rows, state, name, ferry_i_ids_count(ids));
}

/* As many as the member says, or as there are. */
static void load_list(const loading *l, const field *f, const char *name, void *state)
{
    int64_t n = size_of(f->rows, l->of, state);

    if (n < 0)
        for (n = 0; in_file(l->s, &f->of->field[0],
                            scope_text(l->s, "%s.%lld", name, (long long)n), l->from);)
            n++;
    take_size(l, f->rows, state, name, n);
    char *to = scope_new(l->keep, n, f->of->size);
    *(void **)member(f, state) = to;
    for (int64_t k = 0; k < n; k++) {
        const loading at = {l->s, l->keep, l->from, in_element(l->of, k)};
        (void)load(&at, f->of, scope_text(l->s, "%s.%lld", name, (long long)k),
                   to + (size_t)k * f->of->size);
    }
}

static void load_variant(const loading *l, const field *f, const char *name, void *state)
{
    const char *kind = ferry_i_dict_text(l->from, name);
    variant *v = member(f, state);

    if (!kind) scope_fail(l->s, FERRY_EDATA, "text '%s' is missing", name);
    v->by = f->among->find(kind);
    if (!v->by) scope_fail(l->s, FERRY_EDATA, "text '%s': unknown '%s'", name, kind);
    v->state = state_new(l->keep, f->among->table(v->by));
    (void)load(l, f->among->table(v->by), name, v->state);
}

static void load_field(const loading *l, const field *f, const char *prefix, void *state)
{
    const char *name = named(l->s, prefix, f->name);

    if (f->optional && !in_file(l->s, f, prefix, l->from)) return;
    if (is_scalar(f)) {
        load_scalar(l, f, prefix, state);
        return;
    }
    switch (f->kind) {
    case FIELD_TEXT: {
        const char *text = ferry_i_dict_text(l->from, name);
        if (!text) scope_fail(l->s, FERRY_EDATA, "text '%s' is missing", name);
        *(char **)member(f, state) = scope_text(l->keep, "%s", text);
        return;
    }
    case FIELD_FLAGS: load_flags(l, f, name, state); return;
    case FIELD_PLACES:
    case FIELD_INTS: load_ints(l, f, name, state); return;
    case FIELD_MATRIX: load_matrix(l, f, name, state); return;
    case FIELD_IDS: load_ids(l, f, name, state); return;
    case FIELD_STRUCT: (void)load(l, f->of, name, member(f, state)); return;
    case FIELD_LIST: load_list(l, f, name, state); return;
    case FIELD_VARIANT: load_variant(l, f, name, state); return;
    default: load_reals(l, f, name, state);
    }
}

/* f(z, state) for the state_sizes of all fields that are members. */
static void each_size_member(const table *t, void *state, int64_t from, int64_t to)
{
    for (int64_t i = 0; i < t->n; i++) {
        const field_size z[] = {t->field[i].rows, t->field[i].cols};
        for (int k = 0; k < 2; k++)
            if (z[k].of == 'm' && *size_member(z[k], state) == from)
                *size_member(z[k], state) = to;
    }
}

static void *load(const loading *l, const table *t, const char *prefix, void *state)
{
    each_size_member(t, state, 0, -1); /* not known yet */
    for (int64_t i = 0; i < t->n; i++)
        load_field(l, &t->field[i], prefix, state);
    each_size_member(t, state, -1, 0);
    if (t->check) t->check(l->s, state);
    if (t->ready) t->ready(l->s, l->keep, state);
    return state;
}

void *state_load(scope *s, scope *keep, const table *t, const char *prefix,
                 const ferry_dict *from, state_sizes of)
{
    return load(&(loading){s, keep, from, of}, t, prefix, state_new(keep, t));
}

/* ---- copy ---- */

static void copy_into(const loading *l, const table *t, void *state);

static void copy_matrix(const loading *l, matrix *x)
{
    ferry_matrix *own = NULL;
    int64_t *rows = NEW(l->s, int64_t, x->n);

    for (int64_t i = 0; i < x->n; i++)
        rows[i] = i;
    scope_check(
        l->s, ferry_i_matrix_take(scope_ctx(l->s), x->m, x->n, rows, x->cols, NULL, &own));
    *x = matrix_own(l->keep, own);
}

static void copy_field(const loading *l, const field *f, void *state)
{
    void *at = member(f, state);

    if (is_scalar(f) || !is_there(f, state)) return;
    if (item_size(f)) {
        *items(f, state) = scope_copy(l->keep, *items(f, state),
                                      item_count(f, l->of, state), item_size(f));
    } else if (f->kind == FIELD_TEXT) {
        *(char **)at = scope_text(l->keep, "%s", *(char **)at);
    } else if (f->kind == FIELD_MATRIX) {
        copy_matrix(l, at);
    } else if (f->kind == FIELD_IDS) {
        ferry_ids *ids = ferry_i_ids_copy(*(ferry_ids **)at);
        if (!ids) scope_check(l->s, ferry_i_nomem(scope_ctx(l->s)));
        scope_defer(l->keep, free_ids, ids);
        *(ferry_ids **)at = ids;
    } else if (f->kind == FIELD_STRUCT) {
        copy_into(l, f->of, at);
    } else if (f->kind == FIELD_LIST) {
        const int64_t n = size_of(f->rows, l->of, state);
        char *to = scope_copy(l->keep, *(void **)at, n, f->of->size);
        for (int64_t k = 0; k < n; k++) {
            const loading in = {l->s, l->keep, l->from, in_element(l->of, k)};
            copy_into(&in, f->of, to + (size_t)k * f->of->size);
        }
        *(void **)at = to;
    } else if (f->kind == FIELD_VARIANT) {
        variant *v = at;
        const table *t = f->among->table(v->by);
        v->state = scope_copy(l->keep, v->state, 1, t->size);
        copy_into(l, t, v->state);
    }
}

/* The struct's bytes are there: what they point to follows. */
static void copy_into(const loading *l, const table *t, void *state)
{
    for (int64_t i = 0; i < t->n; i++)
        copy_field(l, &t->field[i], state);
    if (t->ready) t->ready(l->s, l->keep, state);
}

void *state_copy(scope *s, scope *keep, const table *t, const void *state, state_sizes of)
{
    void *to = scope_copy(keep, state, 1, t->size);

    copy_into(&(loading){s, keep, NULL, of}, t, to);
    return to;
}

/* ---- room for new classes ---- */

/* New arrays in the order of the walk, made in the first one and put in place in the second. */
typedef struct growing {
    scope *s, *keep;
    state_sizes old, now;
    void **fresh;
    int64_t n, cap;
    bool install;
} growing;

static void *grown(const growing *g, const field *f, const void *state)
{
    const int64_t rows = size_of(f->rows, g->old, state),
                  cols = size_of(f->cols, g->old, state),
                  wide = size_of(f->cols, g->now, state);
    const size_t item = item_size(f);
    char *to = scope_new(g->keep, size_of(f->rows, g->now, state) * wide, item);
    const char *from = *items(f, state);

    for (int64_t i = 0; i < rows; i++)
        memcpy(to + (size_t)(i * wide) * item, from + (size_t)(i * cols) * item,
               (size_t)cols * item);
    return to;
}

static void put_in_place(const growing *g, const field *f, void *state, void *fresh)
{
    void *at = member(f, state);
    const int64_t rows = size_of(f->rows, g->now, state),
                  cols = size_of(f->cols, g->now, state);

    scope_drop(g->keep, *items(f, state));
    if (f->kind == FIELD_BLOCK)
        *(block *)at = (block){HERE(rows), rows, cols, fresh};
    else if (f->kind == FIELD_SMALL)
        *(small *)at = (small){rows, cols, fresh};
    else
        *(void **)at = fresh;
}

static void walk(growing *g, const table *t, void *state);

static void walk_list(growing *g, const field *f, void *state)
{
    const int64_t n = size_of(f->rows, g->old, state), outer = g->old.element;

    for (int64_t k = 0; k < n; k++) {
        g->old.element = g->now.element = k;
        walk(g, f->of, *(char **)member(f, state) + (size_t)k * f->of->size);
    }
    g->old.element = g->now.element = outer;
}

static void walk(growing *g, const table *t, void *state)
{
    for (int64_t i = 0; i < t->n; i++) {
        const field *f = &t->field[i];
        void *at = member(f, state);
        if (!is_there(f, state)) continue;
        if (f->kind == FIELD_STRUCT) walk(g, f->of, at);
        if (f->kind == FIELD_VARIANT)
            walk(g, f->among->table(((variant *)at)->by), ((variant *)at)->state);
        if (f->kind == FIELD_LIST) walk_list(g, f, state);
        if (g->install && f->kind == FIELD_INT && f->rows.of == 'c')
            *(int64_t *)at = g->now.classes;
        if (!item_size(f) || (f->rows.of != 'c' && f->cols.of != 'c')) continue;
        if (g->install) {
            put_in_place(g, f, state, g->fresh[g->n++]);
            continue;
        }
        if (g->n == g->cap) {
            g->cap = g->cap ? 2 * g->cap : 16;
            g->fresh = scope_grow(g->s, g->fresh, g->cap, sizeof *g->fresh);
        }
        g->fresh[g->n++] = grown(g, f, state);
    }
}

typedef struct wider {
    growing *g;
    const table *t;
    void *state;
} wider;

static void make_fresh(scope *s, void *arg)
{
    wider *w = arg;

    (void)s;
    walk(w->g, w->t, w->state);
}

void state_classes(scope *s, scope *keep, const table *t, void *state, state_sizes of,
                   int64_t classes)
{
    state_sizes now = of;
    now.classes = classes;
    growing g = {s, keep, of, now, NULL, 0, 0, false};

    if (classes <= of.classes) return;
    /* what a failure would leave in keep goes again */
    scope_check(s, scope_try(s, keep, make_fresh, &(wider){&g, t, state}));
    g.install = true;
    g.n = 0;
    walk(&g, t, state);
}
