/* Where results may go. Asked before work that would be lost. */
#define _XOPEN_SOURCE 700 /* realpath */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
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
    struct stat info, above;
    int code = EXIT_DONE;

    if (!path[0])
        code = cli_usage("-o: expected the name of a file to write, found nothing");
    else if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        code = cli_usage("%s: is a folder, expected the name of a file to write", path);
    else if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
        code = EXIT_DONE; /* a pipe or device is written as it stands */
    else if (stat(folder, &above) == 0 && !S_ISDIR(above.st_mode))
        code = cli_usage("%s: %s is a file, expected a folder", path, folder);
    else if (access(folder, W_OK | X_OK) != 0)
        code = cli_usage("%s: cannot write in %s: %s", path, folder, strerror(errno));
    free(folder);
    return code;
}

int cli_can_save(const char *path)
{
    uint8_t first[9] = {0};
    FILE *f = NULL;
    struct stat info;
    int code = cli_can_write(path);

    if (code != EXIT_DONE || stat(path, &info) != 0 || !S_ISREG(info.st_mode) ||
        info.st_size == 0 || !(f = fopen(path, "rb")))
        return code;
    /* as all that ferry saves: eight bytes, the length of a header, which is JSON */
    if (fread(first, 1, sizeof first, f) < sizeof first || first[8] != '{')
        code = cli_usage("%s: is there and is no Ferry model: name another file", path);
    (void)fclose(f);
    return code;
}

int cli_not_read(const char *path, const char *from)
{
    struct stat to, of;

    if (stat(path, &to) != 0 || !S_ISREG(to.st_mode) || stat(from, &of) != 0 ||
        to.st_dev != of.st_dev || to.st_ino != of.st_ino)
        return EXIT_DONE;
    return cli_usage("%s: is what this reads: name another file", path);
}

int cli_can_fill(const char *dir)
{
    char *at = cli_join(dir, "", "");
    struct stat info;
    int code = EXIT_DONE;

    if (!dir[0]) {
        free(at);
        return cli_usage("-o: expected the name of a folder, found nothing");
    }
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
