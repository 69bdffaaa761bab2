/* The files of a stream's folder: reading them, who may, and what a dead process left. */
#define _DEFAULT_SOURCE /* flock */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stream/folder.h"

#define PIECE ((int64_t)64 << 20)

/* A whole file; *bytes is NULL when there is none. */
ferry_status ferry_i_folder_read(ferry_ctx *ctx, const char *path, uint8_t **bytes,
                                 int64_t *n)
{
    ferry_status st = FERRY_OK;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat info;
    int64_t got = 0;
    bool finish = false;

    *bytes = NULL;
    if (fd < 0 && errno == ENOENT) return FERRY_OK;
    FERRY_NEED(ctx, fd >= 0 && fstat(fd, &info) == 0, FERRY_EIO, "%s: cannot read: %s",
               path, strerror(errno));
    FERRY_NEED(ctx, S_ISREG(info.st_mode), FERRY_EDATA, "%s: is not a plain file", path);
    FERRY_HAVE(ctx, *bytes = ferry_i_calloc(info.st_size, 1));
    while (got < info.st_size) {
        const int64_t left = info.st_size - got;
        if (got > 0) /* of a large one: it can be cancelled */
            FERRY_TRY(ferry_i_progress(ctx, "reading", got, info.st_size, NAN, &finish));
        const ssize_t some = read(fd, *bytes + got, (size_t)(left < PIECE ? left : PIECE));
        if (some < 0 && errno == EINTR) continue;
        FERRY_NEED(ctx, some > 0, FERRY_EIO, "%s: cannot read: %s", path,
                   some < 0 ? strerror(errno) : "it became shorter");
        got += some;
    }
    *n = got;
done:
    if (fd >= 0) (void)close(fd);
    if (st != FERRY_OK) {
        ferry_i_free(*bytes);
        *bytes = NULL;
    }
    return st;
}

ferry_status ferry_i_folder_make(ferry_ctx *ctx, const char *folder)
{
    const bool fresh = access(folder, F_OK) != 0;

    FERRY_PASS(ferry_i_mkdirs(ctx, folder));
    if (fresh) (void)chmod(folder, 0700);
    return FERRY_OK;
}

ferry_status ferry_i_folder_save(ferry_ctx *ctx, const ferry_dict *dict, const char *path)
{
    const bool fresh = access(path, F_OK) != 0;

    FERRY_PASS(ferry_i_dict_save(ctx, dict, path));
    if (fresh) (void)chmod(path, 0600); /* until then its folder hides it */
    return FERRY_OK;
}

/* One process at a time. The lock goes with the process, however it ends. */
ferry_status ferry_i_folder_lock(ferry_ctx *ctx, ferry_stream *s)
{
    ferry_status st = FERRY_OK;
    char *path = ferry_i_path_join(s->folder, "lock");

    FERRY_HAVE(ctx, path);
    s->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    FERRY_NEED(ctx, s->lock >= 0, FERRY_EIO, "%s: cannot write: %s", path, strerror(errno));
    FERRY_NEED(ctx, flock(s->lock, LOCK_EX | LOCK_NB) == 0, FERRY_EINVAL,
               errno == EWOULDBLOCK ? "%s: is in use by another process"
                                    : "%s: cannot be locked",
               s->folder);
done:
    ferry_i_free(path);
    return st;
}

/* What a process that died while it wrote has left. */
void ferry_i_folder_clean(const ferry_stream *s)
{
    DIR *dir = opendir(s->folder);

    for (struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir)) {
        if (strcmp(e->d_name, "log.new") != 0 && strcmp(e->d_name, "head.new") != 0 &&
            !strstr(e->d_name, ".ferry.tmp.") &&
            !(strncmp(e->d_name, "log.damaged", 11) == 0 && strstr(e->d_name, ".tmp.")))
            continue;
        char *path = ferry_i_path_join(s->folder, e->d_name);
        if (path) (void)unlink(path);
        ferry_i_free(path);
    }
    if (dir) (void)closedir(dir);
}

/* Make the names of a new folder, and of those above it that were made with it, durable.
 * Where that cannot be done there is nothing better to do. */
ferry_status ferry_i_folder_sync_above(ferry_ctx *ctx, const char *folder)
{
    char *at = ferry_i_strdup(folder);

    while (at && strcmp(at, "/") != 0 && strcmp(at, ".") != 0) {
        char *above = ferry_i_path_dir(at);
        if (above) (void)ferry_i_sync_folder(ctx, above);
        ferry_i_free(at);
        at = above;
    }
    if (!at) return ferry_i_nomem(ctx);
    ferry_i_free(at);
    return FERRY_OK;
}
