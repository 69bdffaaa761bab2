/* The library's side of reading MAT 7.3 files: starts ferry-mat73 and takes what it sends, as matio's
 * variables (mat73.h has the form, libexec/mat73.c the other side).
 *
 * The program is started by posix_spawn, so nothing of the process around us is copied; it gets the
 * file as its standard input, a pipe as its output, and limits of memory and time. A length that it
 * sends is believed only as far as the limit of this input goes, and mat.c checks the variables like
 * those of any other file. That it ended well shows in the last number, not by its exit status, which a
 * program that ignores SIGCHLD never gets to see. */
#define _GNU_SOURCE /* dladdr, pipe2, secure_getenv */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "data/archive.h"
#include "data/mat.h"
#include "data/mat73.h"
#include "data/matio.h"

enum { PATIENCE = 60 }; /* seconds without a byte */

/* The program at work. left: bytes that may still come. bad: what came is not what was agreed, or there is
 * no memory for it. */
typedef struct reader {
    int fd;
    pid_t pid;
    int64_t left;
    bool bad, late, no_memory;
} reader;

/* ---- where it is ---- */

/* The program in a folder, or NULL. New string. */
static char *in_folder(const char *base, const char *folder)
{
    char *path = base ? ferry_i_sprintf("%s/%s/" MAT73_PROGRAM, base, folder)
                      : ferry_i_sprintf("%s/" MAT73_PROGRAM, folder);

    if (path && access(path, X_OK) == 0) return path;
    ferry_i_free(path);
    return NULL;
}

/* FERRY_LIBEXEC; else beside the library or program that this code is part of, as installed and as
 * built; else where it was to be installed. NULL: nowhere. */
static char *find_program(void)
{
    const char *given = secure_getenv("FERRY_LIBEXEC");
    static const char here = 0;
    Dl_info info = {0};
    char *path = NULL, *base = NULL;

    if (given && given[0]) return in_folder(NULL, given);
    if (dladdr(&here, &info) && info.dli_fname && strchr(info.dli_fname, '/'))
        base = ferry_i_path_dir(info.dli_fname);
    if (base) path = in_folder(base, FERRY_LIBEXEC_FROM_LIB);
    if (base && !path) path = in_folder(base, "libexec");
    if (!path && FERRY_LIBEXEC_DIR[0]) path = in_folder(NULL, FERRY_LIBEXEC_DIR);
    ferry_i_free(base);
    return path;
}

/* ---- starting and ending it ---- */

static ferry_status start(ferry_ctx *ctx, const ferry_input *in, const char *name,
                          reader *r)
{
    ferry_status st = FERRY_OK;
    char *program = find_program(), memory[32], seconds[32];
    char *argv[] = {(char *)MAT73_PROGRAM, memory, seconds, (char *)(uintptr_t)name, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    sigset_t none, all;
    int pipe_fd[2] = {-1, -1};

    FERRY_NEED(ctx, program, FERRY_ENEEDS,
               "%s: MAT 7.3 files are read by the program " MAT73_PROGRAM
               ", which is not installed (FERRY_LIBEXEC names its folder)",
               in->path);
    (void)snprintf(memory, sizeof memory, "%lld", (long long)(2 * r->left + (512LL << 20)));
    (void)snprintf(seconds, sizeof seconds, "%lld",
                   (long long)(PATIENCE + in->size / 10000000));
    FERRY_NEED(ctx, pipe2(pipe_fd, O_CLOEXEC) == 0, FERRY_EIO, "%s: cannot read: %s",
               in->path, strerror(errno));
    (void)sigemptyset(&none), (void)sigfillset(&all);
    FERRY_HAVE(ctx, posix_spawn_file_actions_init(&files) == 0);
    FERRY_HAVE(ctx, posix_spawnattr_init(&how) == 0);
    (void)posix_spawnattr_setsigmask(&how, &none);
    (void)posix_spawnattr_setsigdefault(&how, &all);
    (void)posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    int code = posix_spawn_file_actions_addopen(&files, 0, in->path, O_RDONLY, 0);
    if (!code) code = posix_spawn_file_actions_adddup2(&files, pipe_fd[1], 1);
    if (!code) code = posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
    if (!code) code = posix_spawn(&r->pid, program, &files, &how, argv, environ);
    (void)posix_spawn_file_actions_destroy(&files);
    (void)posix_spawnattr_destroy(&how);
    if (code) r->pid = 0;
    FERRY_NEED(ctx, code != ENOMEM, FERRY_ENOMEM, "%s: no memory to start %s", in->path,
               program);
    FERRY_NEED(ctx, code == 0, FERRY_EIO, "%s: cannot start %s: %s", in->path, program,
               strerror(code));
    r->fd = pipe_fd[0];
    pipe_fd[0] = -1;
done:
    for (int i = 0; i < 2; i++)
        if (pipe_fd[i] >= 0) (void)close(pipe_fd[i]);
    ferry_i_free(program);
    return st;
}

/* It has sent all, and ends by itself, or is not wanted any more. */
static void stop(reader *r, bool done)
{
    if (r->fd >= 0) (void)close(r->fd);
    if (r->pid <= 0) return;
    if (!done) (void)kill(r->pid, SIGKILL);
    while (waitpid(r->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
}

/* ---- what it sends ---- */

/* n bytes, or false: it ended, is silent for too long, or would send too much. */
static bool take(reader *r, void *to, int64_t n)
{
    char *at = to;

    if (r->bad || n < 0 || n > r->left) return !(r->bad = true);
    r->left -= n;
    while (n > 0) {
        struct pollfd ready = {.fd = r->fd, .events = POLLIN};
        const int some = poll(&ready, 1, PATIENCE * 1000);
        if (some < 0 && errno == EINTR) continue;
        const ssize_t got = some > 0 ? read(r->fd, at, (size_t)n) : 0;
        if (got < 0 && errno == EINTR) continue;
        r->late = some == 0;
        if (got <= 0) return !(r->bad = true);
        at += got;
        n -= got;
    }
    return true;
}

static int64_t take_int(reader *r)
{
    int64_t x = 0;

    (void)take(r, &x, sizeof x);
    return r->bad ? -1 : x;
}

/* p; NULL ends it all, for want of memory. */
static void *got(reader *r, void *p)
{
    if (!p) r->bad = r->no_memory = true;
    return p;
}

/* Memory of matio's kind, with a 0 behind; *n: its size. NULL: none was sent, or bad. */
static void *take_bytes(reader *r, int64_t *n)
{
    const int64_t size = take_int(r);
    char *p = NULL;

    *n = 0;
    if (r->bad || size < 0) return NULL;
    if (size <= r->left) p = got(r, malloc((size_t)size + 1));
    if (!p || !take(r, p, size)) {
        r->bad = true;
        free(p);
        return NULL;
    }
    p[size] = 0;
    *n = size;
    return p;
}

static matvar_t *take_var(reader *r, int depth);

static void take_cells(reader *r, matvar_t *v, int depth)
{
    const int64_t n = take_int(r);
    int64_t shape = v->rank > 0;

    for (int i = 0; i < v->rank; i++)
        shape = v->dims[i] <= INT32_MAX && shape <= INT32_MAX ? shape * (int64_t)v->dims[i]
                                                              : -1;
    /* Mat_VarFree goes by the shape; an element takes 8 bytes at least */
    if (r->bad || n < 0 || (n > 0 && n != shape) || n > r->left / 8) {
        r->bad = true;
        return;
    }
    if (n == 0) return;
    matvar_t **cell = got(r, calloc((size_t)n, sizeof(matvar_t *)));
    if (!cell) return;
    v->data = cell;
    v->nbytes = (size_t)n * sizeof(matvar_t *);
    v->data_size = (int)sizeof(matvar_t *);
    for (int64_t i = 0; i < n && !r->bad; i++)
        cell[i] = take_var(r, depth + 1);
}

static void take_sparse(reader *r, matvar_t *v)
{
    mat_sparse_t *s = v->data = got(r, calloc(1, sizeof *s));
    int64_t n = 0;
    const size_t width = ferry_i_matio.SizeOf(v->data_type);

    r->bad = r->bad || width == 0;
    if (r->bad) return;
    v->nbytes = sizeof *s;
    s->ir = take_bytes(r, &n);
    s->nzmax = s->nir = (mat_uint32_t)(n / (int64_t)sizeof *s->ir);
    s->jc = take_bytes(r, &n);
    s->njc = (mat_uint32_t)(n / (int64_t)sizeof *s->jc);
    s->data = take_bytes(r, &n);
    s->ndata = (mat_uint32_t)(n / (int64_t)width);
}

/* NULL: nothing was sent, or bad. For VarFree(). */
static matvar_t *take_var(reader *r, int depth)
{
    const int64_t tag = take_int(r);
    int64_t n = 0;

    if (tag == MAT73_NOTHING && !r->bad) return NULL;
    r->bad = r->bad || tag != MAT73_VARIABLE || depth > MAT73_DEEPEST;
    matvar_t *v = r->bad ? NULL : got(r, ferry_i_matio.VarCalloc());
    if (!v) return NULL;
    v->name = take_bytes(r, &n);
    if (v->name && strlen(v->name) != (size_t)n) r->bad = true;
    const int64_t class = take_int(r), type = take_int(r);
    v->isComplex = (int)(take_int(r) != 0);
    v->isLogical = (int)(take_int(r) != 0);
    const int64_t rank = take_int(r);
    if (r->bad || class < MAT_C_EMPTY || class > MAT_C_OPAQUE || type < 0 || type > 64 ||
        rank < 0 || rank > 32) {
        r->bad = true;
        return v;
    }
    v->data_type = (enum matio_types)type;
    v->dims = got(r, calloc((size_t)rank + 1, sizeof *v->dims));
    for (int64_t i = 0; v->dims && i < rank; i++) {
        v->dims[i] = (size_t)take_int(r);
        if (v->dims[i] > (size_t)INT64_MAX) r->bad = true;
    }
    if (r->bad) return v;
    v->rank = (int)rank;
    v->class_type = (enum matio_classes) class; /* from here on freeing goes by it */
    if (class == MAT_C_CELL) {
        take_cells(r, v, depth);
        return v;
    }
    const int64_t kind = take_int(r);
    if (kind == MAT73_SPARSE && class == MAT_C_SPARSE) {
        take_sparse(r, v);
    } else if (kind == MAT73_DENSE && class != MAT_C_SPARSE && class != MAT_C_STRUCT) {
        v->data = take_bytes(r, &n);
        v->nbytes = (size_t)n;
        v->data_size = (int)ferry_i_matio.SizeOf(v->data_type);
    } else if (kind != MAT73_NOTHING) {
        r->bad = true;
    }
    return v;
}

/* With a name: that variable with its values in v[0], or none. Without: the outlines of all. */
ferry_status ferry_i_mat73(ferry_ctx *ctx, const ferry_input *in, const char *name,
                           ferry_mat_vars *out)
{
    ferry_status st = FERRY_OK;
    reader r = {.fd = -1, .left = ferry_i_input_limit(ctx, in->size)};

    *out = (ferry_mat_vars){0};
    FERRY_TRY(start(ctx, in, name, &r));
    if (take_int(&r) != MAT73_MAGIC) r.bad = true;
    while (!r.bad) {
        matvar_t *v = take_var(&r, 0);
        if (!v) break;
        if (!FERRY_GROW(out->v, out->n, out->cap)) {
            ferry_i_matio.VarFree(v);
            FERRY_HAVE(ctx, false);
        }
        out->v[out->n++] = v;
        if (name) break;
    }
    if (take_int(&r) != MAT73_MAGIC) r.bad = true;
    FERRY_HAVE(ctx, !r.no_memory);
    FERRY_NEED(ctx, !r.bad, FERRY_EDATA, "%s: cannot be read as a MAT 7.3 file: %s",
               in->path,
               r.late ? "reading it takes too long"
                      : "it is damaged, or larger than --max-input and free memory allow");
done:
    stop(&r, st == FERRY_OK);
    if (st != FERRY_OK) ferry_i_mat_vars_free(out);
    return st;
}

void ferry_i_mat_vars_free(ferry_mat_vars *vars)
{
    for (int64_t i = 0; i < vars->n; i++)
        ferry_i_matio.VarFree(vars->v[i]);
    ferry_i_free(vars->v);
    *vars = (ferry_mat_vars){0};
}
