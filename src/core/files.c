/* Files: written whole or not at all.
 *
 * A reader, or a run after a crash, must never see half a model. So bytes go to a temporary
 * file in the same folder (renaming works only within a file system), are synced to the
 * disk, and the file is renamed over the old one, which POSIX does in one step. Errors are
 * kept and told once by commit, so that writers need not check every call. */
#define _XOPEN_SOURCE 700 /* realpath */
#define _DEFAULT_SOURCE   /* flock */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/json.h"

struct ferry_out {
    char *path;      /* for messages */
    char *final;     /* what is renamed to: path with symbolic links followed */
    char *temporary; /* NULL when path is a pipe or device: written as it stands */
    /* open until commit or abort */
    FILE *file;
    int error; /* errno of the first failure */
    /* a terminal: all that was written, until commit */
    char *screen;
    size_t screen_n;
};

/* Leaves the old file, if any, as it was. After a commit that has closed the file it only
 * frees memory. */
void ferry_i_out_abort(ferry_out *o)
{
    if (!o) return;
    if (o->file) {
        (void)fclose(o->file);
        if (o->temporary) (void)unlink(o->temporary);
    }
    free(o->screen); /* open_memstream's */
    FERRY_FREE(o->path, o->final, o->temporary, o);
}

/* Where the file really is, so that a symbolic link stays one. A link to nothing is
 * replaced. */
static char *follow(const char *path)
{
    char *real = realpath(path, NULL), *copy = ferry_i_strdup(real ? real : path);

    free(real); /* the C library's own */
    return copy;
}

/* Whether the temporary file `name` of process `pid` has no owner left: the process is gone
 * here, and nobody elsewhere (a shared folder) holds the lock that every writer takes. */
static bool left_behind(int folder, const char *name, const char *pid)
{
    char *end = NULL;
    const long id = strtol(pid, &end, 10);

    if (id <= 0 || *end || kill((pid_t)id, 0) == 0 || errno != ESRCH) return false;
    const int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    const bool nobody = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
    if (fd >= 0) (void)close(fd);
    return nobody;
}

/* Remove what killed runs left of this file: NAME.tmp.PID beside it. Nothing here is an error:
 * it is only tidiness, and takes no memory of ours. */
static void tidy(const char *final)
{
    char folder[4096];
    const char *slash = strrchr(final, '/'), *name = slash ? slash + 1 : final;
    const size_t n = strlen(name), m = slash ? (size_t)(slash - final) + 1 : 1;

    if (m >= sizeof folder) return;
    memcpy(folder, slash ? final : ".", m);
    folder[m] = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir))
        if (strncmp(e->d_name, name, n) == 0 && strncmp(e->d_name + n, ".tmp.", 5) == 0 &&
            left_behind(dirfd(dir), e->d_name, e->d_name + n + 5))
            (void)unlinkat(dirfd(dir), e->d_name, 0);
    if (dir) (void)closedir(dir);
}

/* The new file has the mode of the one it replaces from its first byte on, so that a file that
 * nobody else may read stays one; and its owner, where that is allowed. */
static FILE *open_temporary(const char *path, const struct stat *old)
{
    (void)unlink(path); /* of an earlier process of this number */
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                        old ? old->st_mode & 0777 : 0666);
    if (fd < 0) return NULL;
    (void)flock(fd, LOCK_EX | LOCK_NB);
    if (old) {
        (void)!fchown(fd, old->st_uid, old->st_gid);
        (void)fchmod(fd, old->st_mode & 07777);
    }
    FILE *file = fdopen(fd, "wb");
    if (!file) (void)close(fd);
    return file;
}

const char *ferry_i_unreadable(unsigned mode, int fd)
{
    return S_ISDIR(mode)    ? "is a folder, expected a file"
           : S_ISSOCK(mode) ? "is a socket, expected a file"
           : S_ISBLK(mode) || (S_ISCHR(mode) && (fd < 0 || !isatty(fd)))
               ? "is a device, expected a file"
               : NULL;
}

ferry_status ferry_i_read_whole(ferry_ctx *ctx, const char *path, const char *expected,
                                char **out, int64_t *n)
{
    ferry_status st = FERRY_OK;
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    struct stat info;
    char *bytes = NULL;

    *out = NULL;
    *n = 0;
    FERRY_NEED(ctx, fd >= 0, FERRY_EDATA, "%s: cannot read: %s", path, strerror(errno));
    FERRY_NEED(ctx, fstat(fd, &info) == 0, FERRY_EIO, "%s: cannot read: %s", path,
               strerror(errno));
    FERRY_NEED(ctx, S_ISREG(info.st_mode), FERRY_EDATA, "%s: is %s, expected %s", path,
               S_ISDIR(info.st_mode) ? "a folder" : "not a plain file", expected);
    FERRY_HAVE(ctx, bytes = ferry_i_calloc((int64_t)info.st_size + 1, 1));
    while (*n < (int64_t)info.st_size) {
        const ssize_t got = read(fd, bytes + *n, (size_t)((int64_t)info.st_size - *n));
        if (got < 0 && errno == EINTR) continue;
        FERRY_NEED(ctx, got >= 0, FERRY_EIO, "%s: cannot read: %s", path, strerror(errno));
        if (got == 0) break; /* it became shorter: the reader will tell */
        *n += got;
    }
    FERRY_MOVE(*out, bytes);
done:
    if (fd >= 0) (void)close(fd);
    ferry_i_free(bytes);
    return st;
}

static bool is_terminal(const char *path)
{
    const int fd = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    const bool yes = fd >= 0 && isatty(fd);

    if (fd >= 0) (void)close(fd);
    return yes;
}

/* The process id in the temporary name keeps two programs that write one file apart: the
 * last to commit wins, and neither's file is a mixture. */
ferry_status ferry_i_out_open(ferry_ctx *ctx, const char *path, ferry_out **out)
{
    ferry_status st = FERRY_OK;
    ferry_out *o = NULL;
    struct stat info;
    const bool there = stat(path, &info) == 0;

    *out = NULL;
    FERRY_NEED(ctx, !there || !S_ISDIR(info.st_mode), FERRY_EIO,
               "%s: is a folder, expected the name of a file to write", path);
    FERRY_NEW(ctx, o, 1);
    FERRY_HAVE(ctx, o->path = ferry_i_strdup(path));
    if (!there || S_ISREG(info.st_mode)) {
        o->final = follow(path);
        FERRY_HAVE(ctx, o->final);
        o->temporary = ferry_i_sprintf("%s.tmp.%ld", o->final, (long)getpid());
        FERRY_HAVE(ctx, o->temporary);
        tidy(o->final);
    }
    /* Renaming over /dev/null or a pipe would put a plain file in its place. */
    if (o->temporary)
        o->file = open_temporary(o->temporary, there ? &info : NULL);
    else if (S_ISCHR(info.st_mode) && is_terminal(path))
        o->file = open_memstream(&o->screen, &o->screen_n);
    else
        o->file = fopen(path, "wb");
    FERRY_NEED(ctx, o->file, FERRY_EIO, "%s: cannot write: %s", path, strerror(errno));
    FERRY_MOVE(*out, o);
done:
    ferry_i_out_abort(o);
    return st;
}

/* After the first error nothing more is written. errno may be 0 when the C library's buffer
 * failed earlier, so EIO stands in for it. */
void ferry_i_out_write(ferry_out *o, const void *bytes, int64_t n)
{
    if (o->error || n == 0) return;
    if (fwrite(bytes, 1, (size_t)n, o->file) != (size_t)n) o->error = errno ? errno : EIO;
}

void ferry_i_out_printf(ferry_out *o, const char *fmt, ...)
{
    va_list args;

    if (o->error) return;
    va_start(args, fmt);
    if (vfprintf(o->file, fmt, args) < 0) o->error = errno ? errno : EIO;
    va_end(args);
}

/* prefix is part of the cell, so that a caller need not join the two in memory. A quote is
 * doubled inside quotes. */
void ferry_i_out_csv(ferry_out *o, const char *prefix, const char *text)
{
    if (!strpbrk(prefix, ",\"\r\n") && !strpbrk(text, ",\"\r\n")) {
        ferry_i_out_printf(o, "%s%s", prefix, text);
        return;
    }
    ferry_i_out_write(o, "\"", 1);
    for (int part = 0; part < 2; part++)
        for (const char *s = part == 0 ? prefix : text; *s; s++) {
            if (*s == '"') ferry_i_out_write(o, "\"", 1);
            ferry_i_out_write(o, s, 1);
        }
    ferry_i_out_write(o, "\"", 1);
}

/* What was written for a terminal, with nothing in it that a terminal obeys. */
static bool show(ferry_out *o)
{
    FILE *to = fclose(o->file) == 0 ? fopen(o->path, "wb") : NULL;
    bool fine = to != NULL;

    o->file = NULL;
    for (char *s = o->screen; fine && *s;) {
        const size_t n = strcspn(s, "\n\t");
        const char end = s[n];
        s[n] = 0;
        ferry_i_one_line(s);
        fine = fputs(s, to) >= 0 && (!end || fputc(end, to) != EOF);
        s += n + (end != 0);
    }
    return to && fclose(to) == 0 && fine;
}

/* fsync before rename: otherwise the new name may reach the disk before the bytes, and a
 * power cut leaves an empty file in place of the old one. */
ferry_status ferry_i_out_commit(ferry_ctx *ctx, ferry_out *o)
{
    ferry_status st = FERRY_OK;

    if (!o->error && fflush(o->file) != 0) o->error = errno;
    if (!o->error && o->temporary && fsync(fileno(o->file)) != 0) o->error = errno;
    FERRY_NEED(ctx, !o->error, FERRY_EIO, "%s: cannot write: %s", o->path,
               strerror(o->error));
    if (o->screen)
        FERRY_NEED(ctx, show(o), FERRY_EIO, "%s: cannot write: %s", o->path,
                   strerror(errno));
    if (!o->temporary) goto done;
    FERRY_NEED(ctx, rename(o->temporary, o->final) == 0, FERRY_EIO, "%s: cannot rename: %s",
               o->path, strerror(errno));
    (void)fclose(o->file);
    o->file = NULL;
done:
    ferry_i_out_abort(o);
    return st;
}

/* Like mkdir -p. Folders on the way may exist or be forbidden to look at, so only the last
 * one's result counts; that it is a folder and not a file is asked last. */
ferry_status ferry_i_mkdirs(ferry_ctx *ctx, const char *path)
{
    ferry_status st = FERRY_OK;
    struct stat info;
    char *copy = ferry_i_strdup(path);

    FERRY_HAVE(ctx, copy);
    for (char *s = copy + 1; copy[0] && *s; s++) {
        if (*s != '/') continue;
        *s = 0;
        (void)mkdir(copy, 0777); /* the last one tells */
        *s = '/';
    }
    FERRY_NEED(ctx, mkdir(copy, 0777) == 0 || errno == EEXIST, FERRY_EIO,
               "%s: cannot make folder: %s", path, strerror(errno));
    FERRY_NEED(ctx, stat(copy, &info) == 0 && S_ISDIR(info.st_mode), FERRY_EIO,
               "%s: exists and is not a folder", path);
done:
    ferry_i_free(copy);
    return st;
}

/* An absolute name stands for itself: task files may name data anywhere. */
char *ferry_i_path_join(const char *dir, const char *name)
{
    if (!dir || !dir[0] || name[0] == '/') return ferry_i_strdup(name);
    return ferry_i_sprintf("%s%s%s", dir, dir[strlen(dir) - 1] == '/' ? "" : "/", name);
}

char *ferry_i_path_dir(const char *path)
{
    const char *slash = strrchr(path, '/');

    if (!slash) return ferry_i_strdup(".");
    return slash == path ? ferry_i_strdup("/") : ferry_i_strndup(path, slash - path);
}
