/* What scaling, links and preparing make, in a scope that lasts for one test: functions that run in a scope, as tests
 * call them. */
#ifndef FERRY_TEST_KEPT_H
#define FERRY_TEST_KEPT_H

#include "ferry_test.h"
#include "prepare/prepare.h"

static scope *kept;

static inline int kept_setup(void **state)
{
    if (ctx_setup(state) != 0) return -1;
    kept = scope_open(*state);
    return kept ? 0 : -1;
}

static inline int kept_teardown(void **state)
{
    scope_close(kept);
    return ctx_teardown(state);
}

#define KEPT_TEST(name) cmocka_unit_test_setup_teardown(name, kept_setup, kept_teardown)

/* ---- scaling ---- */

typedef struct kept_scaling {
    ferry_scale wanted;
    int64_t d, n;
    const ferry_scale_part *part;
    ferry_scaler **out;
    ferry_scale_facts *facts;
    const ferry_scaler *by;
    ferry_scale_how how;
    ferry_matrix **y;
} kept_scaling;

static inline void kept_fit_body(scope *s, void *arg)
{
    const kept_scaling *a = arg;

    scope_bind(kept, s);
    *a->out = scaler_fit(s, kept, a->wanted, a->d, a->n, a->part, a->facts);
}

static inline ferry_status fit_scaler(ferry_ctx *ctx, ferry_scale wanted, int64_t d,
                                      int64_t n, const ferry_scale_part *part,
                                      ferry_scaler **out, ferry_scale_facts *facts)
{
    kept_scaling a = {
        .wanted = wanted, .d = d, .n = n, .part = part, .out = out, .facts = facts};

    *out = NULL;
    return scope_run(ctx, kept_fit_body, &a);
}

static inline void kept_apply_body(scope *s, void *arg)
{
    const kept_scaling *a = arg;

    *a->y = ferry_i_matrix_ref(scaler_apply(s, a->by, a->part, a->how));
}

/* *y is to be freed. */
static inline ferry_status apply_scaler(ferry_ctx *ctx, const ferry_scaler *by,
                                        const ferry_scale_part *part, ferry_scale_how how,
                                        ferry_matrix **y)
{
    return scope_run(ctx, kept_apply_body,
                     &(kept_scaling){.by = by, .part = part, .how = how, .y = y});
}

typedef struct kept_row {
    int64_t d;
    ferry_scale_room to;
} kept_row;

static inline void kept_row_body(scope *s, void *arg)
{
    kept_row *a = arg;

    scope_bind(kept, s);
    a->to = scale_room(kept, a->d);
}

/* For rows of d columns. */
static inline ferry_scale_room kept_room(ferry_ctx *ctx, int64_t d)
{
    kept_row a = {.d = d};

    assert_ok(ctx, scope_run(ctx, kept_row_body, &a));
    return a.to;
}

/* ---- preparing ---- */

static inline void kept_keep_body(scope *s, void *arg)
{
    const ferry_prepared **p = arg;

    scope_bind(kept, s);
    *p = prepared_keep(kept, *p);
}

/* What a model keeps of it. */
static inline const ferry_prepared *kept_prepared(ferry_ctx *ctx, const ferry_prepared *p)
{
    assert_ok(ctx, scope_run(ctx, kept_keep_body, &p));
    return p;
}

typedef struct kept_preparing {
    int64_t n;
    const ferry_domain *const *domain;
    const ferry_links **links;
    const ferry_task *task;
    const ferry_wants *w;
    const ferry_prepared *p;
    ferry_prepared **out;
    ferry_rows *rows;
    ferry_dict *dict;
} kept_preparing;

static inline void kept_links_body(scope *s, void *arg)
{
    const kept_preparing *a = arg;

    scope_bind(kept, s);
    *a->links = links_find(kept, a->n, a->domain);
    links_warn(s, *a->links);
}

static inline ferry_status find_links(ferry_ctx *ctx, int64_t n,
                                      const ferry_domain *const *domain,
                                      const ferry_links **out)
{
    return scope_run(ctx, kept_links_body,
                     &(kept_preparing){.n = n, .domain = domain, .links = out});
}

static inline void kept_fits_body(scope *s, void *arg)
{
    const kept_preparing *a = arg;

    prepare_fits(s, split_of(s, a->task), a->w);
}

static inline ferry_status fits_prepared(ferry_ctx *ctx, const ferry_task *task,
                                         const ferry_wants *w)
{
    return scope_run(ctx, kept_fits_body, &(kept_preparing){.task = task, .w = w});
}

static inline void kept_prepare_body(scope *s, void *arg)
{
    const kept_preparing *a = arg;

    scope_bind(kept, s);
    *a->out = prepare(s, split_of(kept, a->task), a->w);
}

static inline ferry_status make_prepared(ferry_ctx *ctx, const ferry_task *task,
                                         const ferry_wants *w, ferry_prepared **out)
{
    return scope_run(ctx, kept_prepare_body,
                     &(kept_preparing){.task = task, .w = w, .out = out});
}

static inline void kept_rows_body(scope *s, void *arg)
{
    const kept_preparing *a = arg;

    scope_bind(kept, s);
    *a->rows = prepare_rows(kept, a->p, a->domain[0], false, false);
}

static inline ferry_status make_rows(ferry_ctx *ctx, const ferry_prepared *p,
                                     const ferry_domain *d, ferry_rows *out)
{
    return scope_run(ctx, kept_rows_body,
                     &(kept_preparing){.p = p, .domain = &d, .rows = out});
}

static inline void kept_file_body(scope *s, void *arg)
{
    const kept_preparing *a = arg;

    scope_bind(kept, s);
    if (a->p)
        prepared_save(s, a->p, "prepare", a->dict);
    else
        *a->out = prepared_load(s, kept, "prepare", a->dict);
}

static inline ferry_status save_prepared(ferry_ctx *ctx, const ferry_prepared *p,
                                         ferry_dict *to)
{
    return scope_run(ctx, kept_file_body, &(kept_preparing){.p = p, .dict = to});
}

static inline ferry_status load_prepared(ferry_ctx *ctx, ferry_dict *from,
                                         ferry_prepared **out)
{
    return scope_run(ctx, kept_file_body, &(kept_preparing){.out = out, .dict = from});
}

#endif
