/* The fleet's file (fleet.h). Factors are saved although they follow from the rows: a loaded
 * model must go on with the same bits. */
#include <math.h>
#include <string.h>

#include "methods/hetomtl/fleet.h"

/* ---- rows ---- */

/* s of n rows as a matrix. */
static ferry_status rows_matrix(ferry_ctx *ctx, const fleet *f, int64_t n, fleet_row **rows,
                                ferry_matrix **out)
{
    ferry_status st = FERRY_OK;
    ferry_matrix *x = NULL;
    int64_t nnz = 0;

    for (int64_t i = 0; i < n; i++)
        nnz += rows[i]->n;
    FERRY_TRY(f->sparse ? ferry_i_matrix_csr(ctx, n, f->d, nnz, &x)
                        : ferry_i_matrix_dense(ctx, n, f->d, &x));
    double *value = f->sparse ? x->value : x->dense;
    for (int64_t i = 0, at = 0; i < n; at += rows[i++]->n) {
        for (int64_t e = 0; e < rows[i]->n; e++)
            value[at + e] = (double)rows[i]->s[e];
        if (!f->sparse) continue;
        memcpy(x->index + at, rows[i]->index, (size_t)rows[i]->n * sizeof *x->index);
        x->start[i + 1] = at + rows[i]->n;
    }
    FERRY_MOVE(*out, x);
done:
    ferry_i_matrix_free(x);
    return st;
}

/* And back: *n counts what is complete. */
static ferry_status matrix_rows(ferry_ctx *ctx, const fleet *f, const ferry_matrix *x,
                                const double *sizes, const int32_t *cls, fleet_row **rows,
                                int64_t *n)
{
    ferry_status st = FERRY_OK;

    for (int64_t i = 0; i < x->rows; i++) {
        const ferry_row from = ferry_i_matrix_row(x, i);
        fleet_row *r = NULL;
        FERRY_TRY(ferry_i_fleet_row_new(ctx, f, from.n, NULL, &r));
        for (int64_t e = 0; e < from.n; e++) {
            r->s[e] = (float)fmin(fmax(from.value[e], -1), 1);
            if (f->sparse) r->index[e] = from.index[e];
        }
        r->size = fabs(sizes[2 * i]);
        r->u = fabs(sizes[2 * i + 1]);
        r->cls = cls[i];
        ferry_i_fleet_lengths(f, r);
        rows[(*n)++] = r;
    }
done:
    return st;
}

/* Tensors NAME, NAME.sizes and NAME.cls: n rows. */
static void rows_file(ferry_io *io, const fleet *f, const char *name, int64_t n,
                      fleet_row **rows, int64_t *got)
{
    ferry_matrix *x = NULL;
    double *sizes = NULL;
    int32_t *cls = NULL;

    if (io->to) {
        ferry_i_io_fail(io, rows_matrix(io->ctx, f, n, rows, &x));
        FERRY_IO_NEW(io, sizes, 2 * n);
        FERRY_IO_NEW(io, cls, n);
        for (int64_t i = 0; i < n && io->st == FERRY_OK; i++) {
            sizes[2 * i] = rows[i]->size;
            sizes[2 * i + 1] = rows[i]->u;
            cls[i] = rows[i]->cls;
        }
    }
    ferry_i_io_matrix(io, name, &x);
    FERRY_IO_NEED(io, x->rows == n && x->cols == f->d && !x->dense == f->sparse,
                  "tensor %s has %lld rows of %lld features", name, (long long)x->rows,
                  (long long)x->cols);
    ferry_i_io_reals(io, ferry_i_io_name(io, "%s.sizes", name), n, 2, &sizes);
    ferry_i_io_places(io, ferry_i_io_name(io, "%s.cls", name), n, 0, f->k, &cls);
    if (ferry_i_io_loading(io))
        ferry_i_io_fail(io, matrix_rows(io->ctx, f, x, sizes, cls, rows, got));
    ferry_i_matrix_free(x);
    FERRY_FREE(sizes, cls);
}

/* ---- a ridge ---- */

/* rows x m numbers at the beginning of memory that is there. */
static void numbers_file(ferry_io *io, const char *name, int64_t rows, int64_t m,
                         double *to)
{
    double *a = io->to ? to : NULL;

    ferry_i_io_reals(io, name, rows, m, &a);
    if (!ferry_i_io_loading(io)) return;
    memcpy(to, a, (size_t)(rows * m) * sizeof *a);
    ferry_i_free(a);
}

static void ridge_file(ferry_io *io, const fleet *f, const char *name, ferry_kridge *r)
{
    const int64_t m = r->m;
    int64_t form[] = {r->full, r->labels, r->since, r->pending};
    int32_t *cls = io->to ? r->wait_cls : NULL;

    ferry_i_io_ints(io, name, 4, form);
    FERRY_IO_NEED(io,
                  0 <= form[0] && form[0] <= 1 && form[0] == (f->n == m) && form[1] >= 0 &&
                      form[1] < INT64_MAX / 2 && form[2] >= 0 && form[2] <= form[1] &&
                      form[3] >= 0 && form[3] < r->block,
                  "tensor %s: %lld labels, %lld of them new, %lld waiting", name,
                  (long long)form[1], (long long)form[2], (long long)form[3]);
    if (ferry_i_io_loading(io)) {
        r->n = f->n;
        r->full = form[0] != 0;
        r->labels = form[1];
        r->since = form[2];
        r->pending = form[3];
        for (int64_t i = 0; i < f->n; i++)
            r->cls[i] = f->basis[i]->cls;
    }
    if (io->st != FERRY_OK) return;
    numbers_file(io, ferry_i_io_name(io, "%s.l", name), r->n, m, r->l);
    numbers_file(io, ferry_i_io_name(io, "%s.z", name), r->k, m, r->z);
    if (!r->full || io->st != FERRY_OK) return;
    numbers_file(io, ferry_i_io_name(io, "%s.a", name), m, m, r->a);
    numbers_file(io, ferry_i_io_name(io, "%s.r", name), r->k, m, r->r);
    numbers_file(io, ferry_i_io_name(io, "%s.wait", name), r->pending, m, r->wait);
    ferry_i_io_places(io, ferry_i_io_name(io, "%s.wait_cls", name), r->pending, 0, f->k,
                      &cls);
    if (!ferry_i_io_loading(io)) return;
    memcpy(r->wait_cls, cls, (size_t)r->pending * sizeof *cls);
    ferry_i_free(cls);
}

/* ---- the whole ---- */

enum { K, SPARSE, M, N, N0, NEXT, RING, PAST, ALARMS, VOTES, FORM };

/* Loading: room for what the numbers say, which are checked first. */
static void make(ferry_io *io, fleet *f, const int64_t *form)
{
    FERRY_IO_NEED(io,
                  0 <= form[K] && form[K] <= INT32_MAX / FLEET && form[SPARSE] >= 0 &&
                      form[SPARSE] <= 1 && 2 <= form[M] && form[M] <= FLEET_BASIS &&
                      0 <= form[N] && form[N] <= form[M] && 0 <= form[N0] &&
                      form[N0] <= form[M] && 0 <= form[NEXT] && 0 <= form[RING] &&
                      form[RING] <= FLEET_NEW && 0 <= form[PAST] &&
                      form[PAST] <= FLEET_NEW && form[ALARMS] >= 0 && 3 <= form[VOTES] &&
                      form[VOTES] <= INT32_MAX / 2,
                  "tensor fleet: %lld classes, %lld of %lld rows", (long long)form[K],
                  (long long)form[N], (long long)form[M]);
    if (io->st != FERRY_OK) return;
    f->d = f->in.d;
    f->sparse = form[SPARSE] != 0;
    ferry_i_io_fail(io, ferry_i_fleet_new(io->ctx, form[K], form[M], f));
    f->n0 = form[N0];
    f->next = form[NEXT];
    f->n_past = form[PAST];
    f->alarms = form[ALARMS];
    f->votes = form[VOTES];
}

void ferry_i_fleet_file(ferry_io *io, fleet *f)
{
    int64_t form[FORM] = {f->k,    f->sparse, f->m,      f->n,      f->n0,
                          f->next, f->n_ring, f->n_past, f->alarms, f->votes};
    static const char *const ridges[] = {"fleet.ur", "fleet.sr", "fleet.qr", "fleet.s"};

    ferry_i_online_file(io, &f->in);
    ferry_i_io_ints(io, "fleet", FORM, form);
    if (ferry_i_io_loading(io)) make(io, f, form);
    if (io->st != FERRY_OK) return;
    ferry_i_io_numbers(io, "fleet.h", FLEET_MAPS, f->h);
    ferry_i_io_numbers(io, "fleet.w", FLEET, f->w);
    ferry_i_io_numbers(io, "fleet.hess", FLEET * FLEET, f->hess);
    ferry_i_io_ints(io, "fleet.past", FLEET_NEW, f->past);
    for (int i = 0; i < FLEET_MAPS; i++)
        FERRY_IO_NEED(io, f->h[i] > 0, "tensor fleet.h: entry %d is %g", i, f->h[i]);
    for (int i = 0; i < FLEET; i++)
        FERRY_IO_NEED(io, f->w[i] >= 0 && f->w[i] < 1e9, "tensor fleet.w: entry %d is %g",
                      i, f->w[i]);
    if (ferry_i_io_loading(io)) ferry_i_moments_clear(&f->z);
    ferry_i_moments_file(io, f->d, &f->z);
    numbers_file(io, "fleet.mean", 1, f->d, f->mean);
    numbers_file(io, "fleet.sd", 1, f->d, f->sd);
    for (int64_t j = 0; j < f->d && ferry_i_io_loading(io); j++)
        FERRY_IO_NEED(io, f->sd[j] > 0, "tensor fleet.sd: entry %lld is %g", (long long)j,
                      f->sd[j]);
    if (ferry_i_io_loading(io)) ferry_i_fleet_scaled(f);
    numbers_file(io, "fleet.sum", f->k, f->d, f->sum);
    for (int64_t c = 0; c < f->k && ferry_i_io_loading(io); c++)
        ferry_i_fleet_length(f, c);
    if (ferry_i_io_loading(io)) {
        ferry_i_pa_free(f->pa);
        f->pa = NULL;
    }
    ferry_i_pa_file(io, "fleet.pa", f->k, f->d, &f->pa);
    FERRY_IO_NEED(io, f->pa->u && f->pa->steps > 0, "tensor fleet.pa.u is missing");
    rows_file(io, f, "fleet.basis", form[N], f->basis, &f->n);
    rows_file(io, f, "fleet.ring", form[RING], f->ring, &f->n_ring);
    for (int e = 0; e < FLEET_RIDGES; e++)
        ridge_file(io, f, ridges[e], &f->ridge[e]);
    if (ferry_i_io_loading(io)) ferry_i_fleet_ring(f);
}
