/* Where results may go. Asked before work that would be lost. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

/* The folder that path is in. New string. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? cli_join(path, "", "") : cli_join(".", "", "");

    if (slash) folder[slash == path ? 1 : slash - path] = 0;
    return folder;
}

int cli_can_write(const char *path)
{
    char *folder = folder_of(path);
    struct stat info;
    int code = EXIT_DONE;

    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        code = cli_usage("%s: is a folder, expected the name of a file to write", path);
    else if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
        code = EXIT_DONE; /* a pipe or device is written as it stands */
    else if (access(folder, W_OK | X_OK) != 0)
        code = cli_usage("%s: cannot write in %s: %s", path, folder, strerror(errno));
    free(folder);
    return code;
}

int cli_can_fill(const char *dir)
{
    char *at = cli_join(dir, "", "");
    struct stat info;
    int code = EXIT_DONE;

    /* Folders that are not there will be made: the first that is there decides. */
    while (stat(at, &info) != 0 && errno == ENOENT && strcmp(at, ".") != 0) {
        char *above = folder_of(at);
        free(at);
        at = above;
    }
    if (stat(at, &info) != 0)
        code = cli_usage("%s: cannot make this folder: %s", dir, strerror(errno));
    else if (!S_ISDIR(info.st_mode))
        code = cli_usage("%s: is there and is not a folder", at);
    else if (access(at, W_OK | X_OK) != 0)
        code = cli_usage("%s: cannot write in %s: %s", dir, at, strerror(errno));
    free(at);
    return code;
}
