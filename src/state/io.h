/* A state's way to a dict and back, written once. A method describes what its state holds in
 * one function; the same calls put it into the dict when saving and check and fill it when
 * loading, so that the two cannot drift apart.
 *
 *   static void ridge_file(ferry_io *io, void *state)
 *   {
 *       ridge *m = state;
 *       int64_t form[] = {m->k, m->d};
 *       ferry_i_io_ints(io, "form", 2, form);
 *       FERRY_IO_NEED(io, form[0] > 0, "tensor form: %lld classes", (long long)form[0]);
 *       if (ferry_i_io_loading(io)) {
 *           m->k = form[0];
 *           m->d = form[1];
 *       }
 *       ferry_i_io_reals(io, "w", m->k, m->d + 1, &m->w);
 *   }
 *
 * The first failure stays in io->st and every later call does nothing; what was loaded by
 * then is freed by the method's free(). So only code that uses what was just loaded has
 * to ask, by ferry_i_io_loading(). Nothing is written to the state when saving: several
 * threads may save one model. */
#ifndef FERRY_MODEL_IO_H
#define FERRY_MODEL_IO_H

#include "state/dict.h"

typedef struct ferry_io {
    ferry_ctx *ctx;
    ferry_dict *to;         /* saving: what is put into; NULL when loading */
    const ferry_dict *from; /* loading: untrusted; NULL when saving */
    ferry_status st;
    char name[64]; /* of ferry_i_io_name() */
} ferry_io;

typedef void ferry_io_fn(ferry_io *io, void *state);
ferry_status ferry_i_io_save(ferry_ctx *ctx, ferry_io_fn *fn, const void *state,
                             ferry_dict *dict);
/* Into a zeroed state, which is the caller's to free also when it fails. */
ferry_status ferry_i_io_load(ferry_ctx *ctx, ferry_io_fn *fn, const ferry_dict *dict,
                             void *state);

/* A name made as printf does, good until the next. */
const char *ferry_i_io_name(ferry_io *io, const char *fmt, ...) FERRY_PRINTF(2, 3);
/* Whether the part that begins with tensor `name` is there: in the file, or, when saving,
 * as the caller says. */
bool ferry_i_io_has(const ferry_io *io, const char *name, bool there);
/* Whether something is being loaded, and well so far: then what was read may be used. */
bool ferry_i_io_loading(const ferry_io *io);
/* Loading: unless cond holds, that is the failure, and the text says it. cond may look into
 * all that was loaded before. */
#define FERRY_IO_NEED(io, cond, ...)                                                       \
    do {                                                                                   \
        if (ferry_i_io_loading(io) && !(cond))                                             \
            (io)->st = ferry_i_fail((io)->ctx, FERRY_EDATA, __VA_ARGS__);                  \
    } while (0)
/* *p <- n zeroed items, or fail. */
#define FERRY_IO_NEW(io, p, n)                                                             \
    do {                                                                                   \
        (p) = (io)->st == FERRY_OK ? ferry_i_calloc((n), sizeof *(p)) : NULL;              \
        if (!(p)) ferry_i_io_fail((io), FERRY_ENOMEM);                                     \
    } while (0)
/* The first failure stays; out of memory is said here. */
void ferry_i_io_fail(ferry_io *io, ferry_status st);

/* n numbers in memory that is there. */
void ferry_i_io_ints(ferry_io *io, const char *name, int64_t n, int64_t *v);
/* New memory when loading, of just this shape; reals are finite. */
void ferry_i_io_reals(ferry_io *io, const char *name, int64_t rows, int64_t cols,
                      double **a);
/* Numbers in [lo, hi), as 64-bit ones in the file. */
void ferry_i_io_places(ferry_io *io, const char *name, int64_t n, int64_t lo, int64_t hi,
                       int32_t **a);
/* Of this size, where -1 takes the file's and tells it. */
void ferry_i_io_int_list(ferry_io *io, const char *name, int64_t *n, int64_t **a);
void ferry_i_io_grid(ferry_io *io, const char *name, int64_t *rows, int64_t *cols,
                     double **a);

#endif
