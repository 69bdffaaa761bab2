/* A state's way to a dict and back (io.h). Each call has two arms: put what is there, or get
 * it with the dict's checks. */
#include "state/io.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The state is only read when there is no dict to load from. */
ferry_status ferry_i_io_save(ferry_ctx *ctx, ferry_io_fn *fn, const void *state,
                             ferry_dict *dict)
{
    ferry_io io = {.ctx = ctx, .to = dict};

    fn(&io, (void *)state);
    return io.st;
}

ferry_status ferry_i_io_load(ferry_ctx *ctx, ferry_io_fn *fn, const ferry_dict *dict,
                             void *state)
{
    ferry_io io = {.ctx = ctx, .from = dict};

    fn(&io, state);
    return io.st;
}

const char *ferry_i_io_name(ferry_io *io, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(io->name, sizeof io->name, fmt, args);
    va_end(args);
    return io->name;
}

bool ferry_i_io_has(const ferry_io *io, const char *name, bool there)
{
    return io->from ? ferry_i_dict_has(io->from, name) : there;
}

bool ferry_i_io_loading(const ferry_io *io)
{
    return io->from && io->st == FERRY_OK;
}

void ferry_i_io_fail(ferry_io *io, ferry_status st)
{
    if (io->st == FERRY_OK) io->st = st == FERRY_ENOMEM ? ferry_i_nomem(io->ctx) : st;
}

/* n items of a tensor that is borrowed, into what is there or else new memory. */
static void *copy(ferry_io *io, int64_t n, size_t size, const void *from, void *to)
{
    if (io->st != FERRY_OK) return to;
    if (!to) to = ferry_i_calloc(n, size);
    if (!to)
        io->st = ferry_i_nomem(io->ctx);
    else if (n > 0)
        memcpy(to, from, (size_t)n * size);
    return to;
}

void ferry_i_io_ints(ferry_io *io, const char *name, int64_t n, int64_t *v)
{
    ferry_i_io_int_list(io, name, &n, &v);
}

void ferry_i_io_int_list(ferry_io *io, const char *name, int64_t *n, int64_t **a)
{
    const int64_t *data = NULL;

    if (io->st != FERRY_OK) return;
    if (io->to) {
        io->st = ferry_i_dict_put_ints(io->ctx, io->to, name, *n, *a);
    } else {
        io->st = ferry_i_dict_ints(io->ctx, io->from, name, n, &data);
        *a = copy(io, *n, sizeof *data, data, *a);
    }
}

void ferry_i_io_reals(ferry_io *io, const char *name, int64_t rows, int64_t cols,
                      double **a)
{
    ferry_i_io_grid(io, name, &rows, &cols, a);
}

void ferry_i_io_grid(ferry_io *io, const char *name, int64_t *rows, int64_t *cols,
                     double **a)
{
    const double *data = NULL;

    if (io->st != FERRY_OK) return;
    if (io->to) {
        io->st = ferry_i_dict_put_reals(io->ctx, io->to, name, *rows, *cols, *a);
    } else {
        io->st = ferry_i_dict_reals(io->ctx, io->from, name, rows, cols, &data);
        *a = copy(io, *rows * *cols, sizeof *data, data, *a);
    }
}

void ferry_i_io_places(ferry_io *io, const char *name, int64_t n, int64_t lo, int64_t hi,
                       int32_t **a)
{
    int64_t *wide = NULL;

    if (io->to) FERRY_IO_NEW(io, wide, n);
    for (int64_t i = 0; wide && i < n; i++)
        wide[i] = (*a)[i];
    ferry_i_io_int_list(io, name, &n, &wide);
    if (ferry_i_io_loading(io)) FERRY_IO_NEW(io, *a, n);
    for (int64_t i = 0; ferry_i_io_loading(io) && i < n; i++) {
        FERRY_IO_NEED(io, lo <= wide[i] && wide[i] < hi,
                      "tensor %s: entry %lld is %lld, not in [%lld, %lld)", name,
                      (long long)i, (long long)wide[i], (long long)lo, (long long)hi);
        (*a)[i] = (int32_t)wide[i];
    }
    ferry_i_free(wide);
}
