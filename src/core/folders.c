/* Folders replaced as one: whoever looks sees the old content or the new, never a mixture.
 *
 * A folder is filled beside its place and renamed into it. What was there moves aside first, so a
 * program that is killed between the two renames leaves it in OLD, and the next one puts it back. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/core.h"

/* What is called `name` in the open folder `at`; needs no memory of ours, so it cannot fail for want of
 * it. */
static void remove_at(int at, const char *name)
{
    const int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    struct dirent *entry = NULL;

    while (dir && (entry = readdir(dir))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        if (unlinkat(fd, entry->d_name, 0) != 0) remove_at(fd, entry->d_name);
    }
    if (dir) (void)closedir(dir); /* and fd with it */
    (void)unlinkat(at, name, AT_REMOVEDIR);
}

void ferry_i_remove_tree(const char *path)
{
    remove_at(AT_FDCWD, path);
}

/* Whether a list that ends in NULL has it. */
static bool listed(const char *const *names, const char *name)
{
    for (; *names; names++)
        if (strcmp(*names, name) == 0) return true;
    return false;
}

/* Move what is not ours from one folder to another that lacks it. */
static ferry_status move_rest(ferry_ctx *ctx, const char *from, const char *to,
                              const char *const *ours)
{
    ferry_status st = FERRY_OK;
    DIR *dir = opendir(from);
    struct dirent *entry = NULL;
    struct stat info;
    char *a = NULL, *b = NULL;

    while (dir && (entry = readdir(dir))) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || listed(ours, name))
            continue;
        FERRY_HAVE(ctx, a = ferry_i_sprintf("%s/%s", from, name));
        FERRY_HAVE(ctx, b = ferry_i_sprintf("%s/%s", to, name));
        if (lstat(b, &info) != 0)
            FERRY_NEED(ctx, rename(a, b) == 0, FERRY_EIO, "%s: cannot move to %s: %s", a,
                       to, strerror(errno));
        FERRY_FREE(a, b);
        a = b = NULL;
    }
done:
    if (dir) (void)closedir(dir);
    FERRY_FREE(a, b);
    return st;
}

ferry_status ferry_i_folder_finish(ferry_ctx *ctx, const char *dir, const char *old,
                                   const char *const *ours)
{
    ferry_status st = FERRY_OK;
    struct stat info;

    if (lstat(old, &info) != 0) goto done; /* nobody was killed here */
    if (lstat(dir, &info) != 0) {
        FERRY_NEED(ctx, rename(old, dir) == 0, FERRY_EIO, "%s: cannot put back from %s: %s",
                   dir, old, strerror(errno));
        goto done;
    }
    FERRY_TRY(move_rest(ctx, old, dir, ours));
    ferry_i_remove_tree(old);
done:
    return st;
}

ferry_status ferry_i_folder_replace(ferry_ctx *ctx, const char *from, const char *dir,
                                    const char *old, const char *const *ours)
{
    ferry_status st = FERRY_OK;
    struct stat info;

    FERRY_NEED(ctx, lstat(dir, &info) != 0 || S_ISDIR(info.st_mode), FERRY_EIO,
               "%s: exists and is not a folder", dir);
    FERRY_NEED(ctx, rename(dir, old) == 0 || errno == ENOENT, FERRY_EIO,
               "%s: cannot replace: %s", dir, strerror(errno));
    if (rename(from, dir) != 0) {
        st = ferry_i_fail(ctx, FERRY_EIO, "%s: cannot rename to %s: %s", from, dir,
                          strerror(errno));
        (void)rename(old, dir);
        goto done;
    }
    FERRY_TRY(ferry_i_folder_finish(ctx, dir, old, ours));
done:
    return st;
}
