/* The offline part of modes experts and ferry (hetomtl.h): what the experts know before the stream
 * begins.
 *
 * CDSPP's projection of the target takes class counts alone from a source, so nothing else
 * of it is read here. */
#include <math.h>
#include <string.h>

#include "methods/hetomtl/hetomtl.h"

/* count[c] <- mean number of labelled rows of class c over the sources (per_class: at
 * most so many). All that the class codes, and so mode experts, take from a source. count
 * must be zero on entry; the mean keeps o_k on the scale of one source. */
static ferry_status count_sources(ferry_ctx *ctx, const ferry_task *task, int64_t per_class,
                                  int64_t k, double *count)
{
    ferry_status st = FERRY_OK;
    const double n = (double)ferry_i_task_count_role(task, FERRY_SOURCE);
    const double most = per_class > 0 ? (double)per_class : INFINITY;
    const ferry_domain *d = NULL;
    double *one = NULL;

    FERRY_NEW(ctx, one, k);
    for (int64_t s = 0; (d = ferry_i_task_role(task, FERRY_SOURCE, s)); s++) {
        memset(one, 0, (size_t)k * sizeof *one);
        for (int64_t i = 0; d->labels && i < d->labels->n; i++)
            if (ferry_i_labels_has(d->labels, i)) one[d->labels->cls[i]]++;
        for (int64_t c = 0; c < k; c++)
            count[c] += fmin(one[c], most) / n;
    }
done:
    ferry_i_free(one);
    return st;
}

/* The labelled rows in a random order; the running means know all of them first. At most
 * twice `keep` of them stay for the codes.
 *
 * One pass: passive-aggressive learners on shuffled rows do not need a second one, and
 * the order of a file may be that of its classes. */
static ferry_status learn_rows(ferry_ctx *ctx, const ferry_rows *r, int64_t keep,
                               experts *e, bool *finish)
{
    ferry_status st = FERRY_OK;
    int64_t *order = NULL;
    ferry_rng rng;

    ferry_i_rng_for(ctx, &rng, "hetomtl");
    FERRY_TRY(ferry_i_online_order(ctx, &rng, r->n, &order));
    for (int64_t i = 0; i < r->n; i++) {
        const ferry_row x = ferry_i_matrix_row(r->x[0], i);
        ferry_i_experts_watch_offline(e, &x);
    }
    for (int64_t i = 0; i < r->n && !*finish; i++) {
        const ferry_row x = ferry_i_matrix_row(r->x[0], order[i]);
        const ferry_row unit = ferry_i_experts_step_offline(e, &x, r->cls[order[i]]);
        if (i % 1024 == 1023)
            FERRY_TRY(ferry_i_progress(ctx, "hetomtl", i + 1, r->n, NAN, finish));
        /* At least one row is kept, so that the codes have something to solve from. */
        if (i >= 2 * keep && i >= 1) continue;
        FERRY_TRY(ferry_i_codes_offline(ctx, &e->codes, &unit, r->cls[order[i]]));
    }
done:
    ferry_i_free(order);
    return st;
}

/* Rows are filled and not scaled: the experts scale them each in its own way. k are the
 * classes of the task; the stream may bring more. The rows are forgotten at the end: what
 * is needed of them is copied. */
ferry_status ferry_i_hetomtl_solve(ferry_ctx *ctx, const ferry_task *task,
                                   const hetomtl_options *o, experts *e, bool *finish)
{
    ferry_status st = FERRY_OK;
    const int64_t k = ferry_i_ids_count(task->names);

    FERRY_TRY(ferry_i_online_prepare(ctx, "hetomtl", task, FERRY_THE_TARGET,
                                     FERRY_SCALE_NONE, &e->in));
    const ferry_rows *r = ferry_i_prepared_target(e->in.prepared);
    const bool sparse = !e->in.prepared->frame[0].scale->dense;
    FERRY_TRY(ferry_i_experts_new(ctx, k, o, e));
    FERRY_TRY(ferry_i_codes_new(ctx, k, e->d, sparse, o->keep, o->grow, &e->codes));
    FERRY_TRY(count_sources(ctx, task, o->hedge.per_class, k, e->codes.o));
    FERRY_TRY(learn_rows(ctx, r, o->keep, e, finish));
    FERRY_TRY(ferry_i_codes_solve(ctx, &e->codes, o->hedge.alpha));
    ferry_i_diag_real(ctx, "instances", (double)r->n);
    ferry_i_prepared_forget(e->in.prepared);
done:
    return st;
}

/* ---- mode ferry ---- */

/* 600, as the learner was measured with; about as many numbers for wide dense rows. */
static int64_t basis_size(const hetomtl_options *o, const fleet *f)
{
    if (o->basis > 0) return o->basis > 2 ? o->basis : 2;
    const int64_t wide = f->sparse ? 600 : 600 * 2048 / (f->d > 0 ? f->d : 1);
    return wide > 600 ? 600 : wide > FLEET_NEW ? wide : FLEET_NEW;
}

/* One labelled row of the offline part as one of the fleet's. */
static ferry_status fleet_row_of(ferry_ctx *ctx, fleet *f, const ferry_row *x, int32_t cls,
                                 fleet_row **out)
{
    ferry_status st = FERRY_OK;
    const fleet_row *r = &f->room.row;

    ferry_i_fleet_map(f, x, &f->room);
    FERRY_TRY(ferry_i_fleet_row_new(ctx, f, r->n, r, out));
    (*out)->cls = cls;
done:
    return st;
}

/* In a random order, since a file's may be that of its classes: the first ones begin the
 * basis, those that do not fit are learned after it. */
static ferry_status fleet_rows_of(ferry_ctx *ctx, const ferry_rows *r, fleet *f,
                                  bool *finish)
{
    ferry_status st = FERRY_OK;
    int64_t *order = NULL;
    fleet_row *row = NULL;
    ferry_rng rng;

    ferry_i_rng_for(ctx, &rng, "hetomtl");
    FERRY_TRY(ferry_i_online_order(ctx, &rng, r->n, &order));
    for (int64_t i = 0; i < r->n && i < f->m; i++) {
        const ferry_row x = ferry_i_matrix_row(r->x[0], order[i]);
        FERRY_TRY(fleet_row_of(ctx, f, &x, r->cls[order[i]], &f->basis[i]));
        f->n0 = ++f->n;
    }
    ferry_i_fleet_start(f, true);
    for (int64_t i = r->n > FLEET_NEW ? r->n - FLEET_NEW : 0; i < f->n; i++)
        ferry_i_fleet_newest(f, f->basis[i], NULL);
    for (int64_t i = f->n; i < r->n && !*finish; i++) {
        const ferry_row x = ferry_i_matrix_row(r->x[0], order[i]);
        FERRY_TRY(fleet_row_of(ctx, f, &x, r->cls[order[i]], &row));
        ferry_i_fleet_ask(f, &f->room);
        ferry_i_fleet_add(f, &f->room, row);
        ferry_i_fleet_linear(f, row, f->room.value, row->cls);
        f->pa->steps = 1;
        ferry_i_fleet_watch(f, row, f->room.value);
        if (i >= r->n - FLEET_NEW) ferry_i_fleet_newest(f, row, f->room.near);
        ferry_i_fleet_drop(row);
        row = NULL;
        if (i % 256 == 255)
            FERRY_TRY(ferry_i_progress(ctx, "hetomtl", i + 1, r->n, NAN, finish));
    }
done:
    ferry_i_fleet_drop(row);
    ferry_i_free(order);
    return st;
}

ferry_status ferry_i_hetomtl_fleet(ferry_ctx *ctx, const ferry_task *task,
                                   const hetomtl_options *o, fleet *f, bool *finish)
{
    ferry_status st = FERRY_OK;
    const int64_t k = ferry_i_ids_count(task->names);

    FERRY_TRY(ferry_i_online_prepare(ctx, "hetomtl", task, FERRY_THE_TARGET,
                                     FERRY_SCALE_NONE, &f->in));
    const ferry_rows *r = ferry_i_prepared_target(f->in.prepared);
    f->sparse = !f->in.prepared->frame[0].scale->dense;
    f->d = f->in.d;
    FERRY_TRY(ferry_i_fleet_new(ctx, k, basis_size(o, f), f));
    FERRY_TRY(fleet_rows_of(ctx, r, f, finish));
    ferry_i_diag_real(ctx, "instances", (double)r->n);
    ferry_i_diag_real(ctx, "basis", (double)f->m);
    ferry_i_prepared_forget(f->in.prepared);
done:
    return st;
}
