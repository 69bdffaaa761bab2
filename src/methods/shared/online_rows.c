/* What the methods for streams share (online.h). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "learn/rows.h"
#include "methods/shared/online.h"

/* ---- one row ---- */

/* A CSR row has its columns in index; a dense one has none, and as many values as
 * columns. */
ferry_row ferry_i_matrix_row(const ferry_matrix *x, int64_t i)
{
    const int64_t from = row_begin(x, i);

    return (ferry_row){row_end(x, i) - from, x->dense ? NULL : x->index + from,
                       row_values(x) + from};
}

/* x / |x|; a row of zeros has no direction and stays. */
void ferry_i_row_unit(int64_t n, double *value)
{
    const ferry_row x = {n, NULL, value};
    double norm = sqrt(ferry_i_row_norm2(&x)), most = 0;

    if (!(norm > 1e-150 && norm < 1e150)) { /* squares under- or overflow: divide first */
        for (int64_t j = 0; j < n; j++)
            most = fmax(most, fabs(value[j]));
        if (most == 0) return;
        for (int64_t j = 0; j < n; j++)
            value[j] /= most;
        norm = sqrt(ferry_i_row_norm2(&x));
    }
    const double by = 1 / norm;
    for (int64_t j = 0; j < n; j++)
        value[j] *= by;
}

/* ---- running means and deviations ---- */

ferry_status ferry_i_moments_new(ferry_ctx *ctx, int64_t d, moments *m)
{
    ferry_status st = FERRY_OK;

    *m = (moments){.d = d};
    FERRY_NEW(ctx, m->mean, d);
    FERRY_NEW(ctx, m->m2, d);
done:
    return st;
}

void ferry_i_moments_clear(moments *m)
{
    FERRY_FREE(m->mean, m->m2);
    *m = (moments){0};
}

/* Welford's update, which does not lose digits where the mean is large: a cell that a
 * sparse row does not store is 0. */
void ferry_i_moments_add(moments *m, const ferry_row *x)
{
    const double n = (double)++m->n;
    double *restrict mean = m->mean, *restrict m2 = m->m2;
    int64_t e = 0;

    /* mean_n = mean + (v - mean) / n,  m2_n = m2 + (v - mean) (v - mean_n) */
    for (int64_t j = 0; j < m->d && !x->index; j++) {
        const double from = x->value[j] - mean[j];
        mean[j] += from / n;
        m2[j] += from * (x->value[j] - mean[j]);
    }
    for (int64_t j = 0; j < m->d && x->index; j++) {
        const double v = e < x->n && x->index[e] == j ? x->value[e++] : 0;
        const double from = v - mean[j];
        mean[j] += from / n;
        m2[j] += from * (v - mean[j]);
    }
}

/* A feature that hardly varies would blow up: its deviation counts as a tenth of the mean
 * deviation. */
void ferry_i_moments_z(const moments *m, const ferry_row *x, double *z)
{
    const double n = m->n > 0 ? (double)m->n : 1;
    double least = 0;
    int64_t e = 0;

    /* z doubles as room for the deviations sqrt(m2 / n) until the values take their
     * place. */
    for (int64_t j = 0; j < m->d; j++) {
        z[j] = sqrt(m->m2[j] / n);
        least += z[j];
    }
    least *= 0.1 / (double)(m->d > 0 ? m->d : 1);
    if (!(least > 0)) { /* nothing varies (yet) */
        memset(z, 0, (size_t)m->d * sizeof *z);
        return;
    }
    for (int64_t j = 0; j < m->d; j++) {
        double v = 0;
        if (!x->index)
            v = x->value[j];
        else if (e < x->n && x->index[e] == j)
            v = x->value[e++];
        z[j] = (v - m->mean[j]) / fmax(z[j], least);
    }
    ferry_i_row_unit(m->d, z);
}

/* ---- rows of a task and of a stream ---- */

/* Room for a row, once the columns are known. */
static ferry_status make_room(ferry_ctx *ctx, online_input *in)
{
    in->d = in->prepared->frame[0].width;
    return ferry_i_scale_room_new(ctx, in->d, &in->room);
}

/* Only labelled rows: a learner of streams learns from nothing else. Sources without
 * labels are left out rather than refused (`taught`). */
ferry_status ferry_i_online_prepare(ferry_ctx *ctx, const char *method,
                                    const ferry_task *task, unsigned domains, int scale,
                                    online_input *in)
{
    const ferry_wants wants = {.method = method,
                               .domains = domains,
                               .layout = FERRY_APART,
                               .scale = scale,
                               .taught = (domains & FERRY_SOURCES) != 0,
                               .labelled = true};

    FERRY_PASS(ferry_i_prepare(ctx, task, &wants, &in->prepared));
    return make_room(ctx, in);
}

void ferry_i_online_clear(online_input *in)
{
    ferry_i_prepared_free(in->prepared);
    ferry_i_scale_room_clear(&in->room);
    in->prepared = NULL;
}

/* What the preparation does to a whole matrix, for one row and to the same bits. The
 * result lives in the room until the next call. */
ferry_row ferry_i_online_row(const online_input *in, const ferry_row *x,
                             const ferry_scale_room *room)
{
    return ferry_i_scaler_row(in->prepared->frame[0].scale, x, room ? room : &in->room);
}

/* The scaler and the columns from the file; room is made anew. */
void ferry_i_online_file(ferry_io *io, online_input *in)
{
    ferry_i_prepared_file(io, &in->prepared);
    FERRY_IO_NEED(io, in->prepared->n_frames == 1,
                  "tensor prepare: %lld views, a stream has one",
                  (long long)in->prepared->n_frames);
    if (ferry_i_io_loading(io)) ferry_i_io_fail(io, make_room(io->ctx, in));
}

/* Neither a file nor a caller is believed: a row of other columns would read beyond the
 * weights. */
ferry_status ferry_i_online_check(ferry_ctx *ctx, const ferry_row *x, int64_t d, int64_t k,
                                  int64_t have)
{
    ferry_status st = FERRY_OK;

    FERRY_NEED(ctx, x->index ? x->n == 0 || x->index[x->n - 1] < d : x->n == d, FERRY_EDATA,
               "a row does not have the %lld columns of the model", (long long)d);
    FERRY_NEED(ctx, k >= have, FERRY_EDATA,
               "the model has weights for %lld classes and names for %lld", (long long)have,
               (long long)k);
done:
    return st;
}

/* A stream brings one row at a time, with one set of columns: several views have no place
 * in it. */
ferry_status ferry_i_online_fits(ferry_ctx *ctx, const char *method, const ferry_task *task)
{
    ferry_status st = FERRY_OK;
    const ferry_domain *target = NULL;

    FERRY_TRY(ferry_i_task_target(ctx, task, &target));
    FERRY_NEED(ctx, target->n_views == 1, FERRY_ENEEDS,
               "%s needs just one view in the target; target '%s' has %lld", method,
               target->name, (long long)target->n_views);
done:
    return st;
}

/* ---- predicting ---- */

/* Fisher-Yates by the library's own generator: the same order on every platform. */
ferry_status ferry_i_online_order(ferry_ctx *ctx, ferry_rng *rng, int64_t n, int64_t **out)
{
    ferry_status st = FERRY_OK;

    FERRY_NEW(ctx, *out, n);
    for (int64_t i = 0; i < n; i++)
        (*out)[i] = i;
    ferry_i_rng_shuffle(rng, n, *out);
done:
    return st;
}

/* Predicting does not learn: rows of a file count for nothing, in whatever order. */
ferry_status ferry_i_online_predict(ferry_ctx *ctx, const online_looker *how,
                                    const ferry_domain *d, ferry_prediction *p)
{
    ferry_status st = FERRY_OK;
    const ferry_view *v = d->n_views > 0 ? d->views[0] : NULL;
    bool finish = false;

    FERRY_NEED(ctx, d->n_views == 1, FERRY_EDATA, "%s has one view, domain '%s' %lld",
               how->method, d->name, (long long)d->n_views);
    FERRY_NEED(ctx, v->x->cols == how->d, FERRY_EDATA,
               "view '%s' has %lld features, the model's %lld", v->name,
               (long long)v->x->cols, (long long)how->d);
    FERRY_NEED(ctx, p->cls && p->k >= how->k, FERRY_EDATA,
               "the model has weights for %lld classes and names for %lld",
               (long long)how->k, (long long)p->k);
    for (int64_t i = 0; i < p->n; i++) {
        const int64_t r = v->row_of[i];
        double *score = p->score + i * p->k;
        /* Progress is also where a user's cancel arrives; by row it would cost more than
         * a score. */
        if (i % 65536 == 65535)
            FERRY_TRY(ferry_i_progress(ctx, how->method, i, p->n, NAN, &finish));
        p->cls[i] = -1; /* nothing is known of it */
        if (r < 0) continue;
        const ferry_row x = ferry_i_matrix_row(v->x, r);
        how->look(how->state, &x, how->room, score);
        p->cls[i] = ferry_i_argmax(p->k, score);
    }
done:
    return st;
}

/* ---- save and load ---- */

/* A negative sum of squares would give NaN deviations: refused here, not found in scores.
 */
void ferry_i_moments_file(ferry_io *io, int64_t d, moments *m)
{
    int64_t n = m->n;

    if (io->from) m->d = d;
    ferry_i_io_ints(io, "moments.n", 1, &n);
    FERRY_IO_NEED(io, n >= 0, "tensor moments.n: %lld rows", (long long)n);
    if (ferry_i_io_loading(io)) m->n = n;
    ferry_i_io_reals(io, "moments.mean", 1, d, &m->mean);
    ferry_i_io_reals(io, "moments.m2", 1, d, &m->m2);
    for (int64_t j = 0; j < d && ferry_i_io_loading(io); j++)
        FERRY_IO_NEED(io, m->m2[j] >= 0, "tensor moments.m2: entry %lld is %g",
                      (long long)j, m->m2[j]);
}

/* "NAME" is kind, classes, steps and whether averages are kept; d is known to the caller.
 * Steps and classes of 0 or more, C above 0, weights finite (the dict checks that). */
void ferry_i_pa_file(ferry_io *io, const char *name, int64_t k, int64_t d, ferry_pa **pa)
{
    char own[64];

    (void)snprintf(own, sizeof own, "%s", name); /* it may stand where others are made */
    if (ferry_i_io_loading(io)) FERRY_IO_NEW(io, *pa, 1);
    if (io->st != FERRY_OK) return;
    ferry_pa *p = *pa;
    int64_t form[] = {p->kind, p->k, p->steps, p->u != NULL};
    double C = p->C;
    ferry_i_io_ints(io, own, 4, form);
    ferry_i_io_numbers(io, ferry_i_io_name(io, "%s.C", own), 1, &C);
    FERRY_IO_NEED(io,
                  0 <= form[0] && form[0] <= FERRY_PA_PRINTED && 0 <= form[1] &&
                      form[1] <= INT32_MAX && (k < 0 || form[1] == k) && 0 <= form[2] &&
                      C > 0,
                  "tensor %s: kind %lld, %lld classes, %lld steps, C = %g", own,
                  (long long)form[0], (long long)form[1], (long long)form[2], C);
    if (ferry_i_io_loading(io))
        *p = (ferry_pa){
            .kind = (ferry_pa_kind)form[0], .C = C, .k = form[1], .d = d, .steps = form[2]};
    ferry_i_io_reals(io, ferry_i_io_name(io, "%s.w", own), p->k, d, &p->w);
    if (form[3]) ferry_i_io_reals(io, ferry_i_io_name(io, "%s.u", own), p->k, d, &p->u);
}
