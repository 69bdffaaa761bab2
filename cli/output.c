/* Where results may go. Asked before work that would be lost. */
#define _XOPEN_SOURCE 700 /* realpath */
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

/* Whether this program stands in the folder: replacing it would take the ground away. */
static bool stands_in(const char *dir)
{
    char *place = realpath(dir, NULL), *here = realpath(".", NULL);
    const size_t n = place ? strlen(place) : 0;
    const bool yes = place && here && strncmp(place, here, n) == 0 &&
                     (here[n] == '/' || here[n] == 0 || n == 1);

    free(place);
    free(here);
    return yes;
}

int cli_can_replace(const cli *c, const char *dir, const char *task)
{
    char *file = cli_join(dir, "/results.json", "");
    ferry_results *there = NULL;
    int code = cli_can_fill(dir);

    if (code == EXIT_DONE && stands_in(dir))
        code =
            cli_usage("%s: is the folder you are in, or has it in it; results are put in "
                      "place as one folder: name another",
                      dir);
    if (code == EXIT_DONE && access(dir, F_OK) == 0) {
        char *place = realpath(dir, NULL), *above = folder_of(place ? place : dir);
        if (access(above, W_OK | X_OK) != 0)
            code = cli_usage("%s: cannot write in %s: %s", dir, above, strerror(errno));
        free(above);
        free(place);
    }
    if (code != EXIT_DONE || c->value[KEY_FORCE] || access(file, F_OK) != 0) goto done;
    if (ferry_results_load(c->ctx, dir, &there) != FERRY_OK)
        code =
            cli_usage("%s: has a results.json that is not Ferry's; --force replaces it, -o "
                      "names another folder",
                      dir);
    else if (strcmp(ferry_results_info(there)->task, task) != 0)
        code =
            cli_usage("%s: has the results of task '%s', not '%s'; --force replaces them, "
                      "-o names another folder",
                      dir, ferry_results_info(there)->task, task);
done:
    ferry_results_free(there);
    free(file);
    return code;
}
