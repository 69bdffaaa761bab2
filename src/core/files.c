/* Files: written whole or not at all.
 *
 * A reader, or a run after a crash, must never see half a model. So bytes go to a temporary
 * file in the same folder (renaming works only within a file system), are synced to the
 * disk, and the file is renamed over the old one, which POSIX does in one step. Errors are
 * kept and told once by commit, so that writers need not check every call. */
#define _XOPEN_SOURCE 700 /* realpath */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/core.h"

struct ferry_out {
    char *path;      /* for messages */
    char *final;     /* what is renamed to: path with symbolic links followed */
    char *temporary; /* NULL when path is a pipe or device: written as it stands */
    /* open until commit or abort */
    FILE *file;
    int error; /* errno of the first failure */
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
    }
    /* Renaming over /dev/null or a pipe would put a plain file in its place. */
    o->file = fopen(o->temporary ? o->temporary : path, "wb");
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

/* fsync before rename: otherwise the new name may reach the disk before the bytes, and a
 * power cut leaves an empty file in place of the old one. */
ferry_status ferry_i_out_commit(ferry_ctx *ctx, ferry_out *o)
{
    ferry_status st = FERRY_OK;

    if (!o->error && fflush(o->file) != 0) o->error = errno;
    if (!o->error && o->temporary && fsync(fileno(o->file)) != 0) o->error = errno;
    FERRY_NEED(ctx, !o->error, FERRY_EIO, "%s: cannot write: %s", o->path,
               strerror(o->error));
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
