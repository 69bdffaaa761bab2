/* ferry gen: tasks to try things with. Temporary folders. */
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

#include "cli.h"

/* Remove a folder and all that is in it; symbolic links are not followed. */
static void remove_tree(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry = NULL;
    struct stat info;

    while (dir && (entry = readdir(dir))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        char *inner = cli_join(path, "/", entry->d_name);
        if (lstat(inner, &info) == 0 && S_ISDIR(info.st_mode))
            remove_tree(inner);
        else
            (void)unlink(inner);
        free(inner);
    }
    if (dir) (void)closedir(dir);
    (void)rmdir(path);
}

/* ferry.PID.XXXXXX of this user, whose process is gone and which nobody holds: in containers numbers of
 * processes repeat. */
static bool left_behind(int under, const char *name)
{
    char *end = NULL;
    const long pid = strncmp(name, "ferry.", 6) == 0 ? strtol(name + 6, &end, 10) : 0;
    struct stat info;

    if (pid <= 0 || *end != '.' || strlen(end) != 7) return false;
    if (kill((pid_t)pid, 0) == 0 || errno != ESRCH) return false;
    const int fd = openat(under, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    const bool nobody = fd >= 0 && fstat(fd, &info) == 0 && info.st_uid == geteuid() &&
                        flock(fd, LOCK_EX | LOCK_NB) == 0;
    if (fd >= 0) (void)close(fd);
    return nobody;
}

char *cli_temporary(void)
{
    const char *told = getenv("TMPDIR"), *under = told && told[0] ? told : "/tmp";
    DIR *dir = opendir(under);
    char name[64];

    for (struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir))
        if (left_behind(dirfd(dir), e->d_name)) cli_remove(cli_join(under, "/", e->d_name));
    if (dir) (void)closedir(dir);
    (void)snprintf(name, sizeof name, "ferry.%ld.XXXXXX", (long)getpid());
    char *path = cli_join(under, "/", name);
    if (mkdtemp(path)) { /* held until the process ends */
        (void)flock(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), LOCK_EX | LOCK_NB);
        return path;
    }
    cli_say("%s: cannot make a temporary folder: %s", path, strerror(errno));
    free(path);
    exit(EXIT_FAILED);
}

void cli_remove(char *folder)
{
    if (!folder) return;
    remove_tree(folder);
    free(folder);
}

int cli_gen(cli *c)
{
    const char *name = c->n_args > 0 ? c->args[0] : NULL;
    cli_table t = {.cols = 2};

    if (!name) {
        if (c->value[KEY_OUT] || ferry_opts_at(c->sets, 0))
            return cli_usage("gen: which generator? (ferry gen lists them)");
        for (int64_t i = 0; ferry_generator_at(i); i++) {
            cli_cell(&t, "%s", ferry_generator_at(i)->name);
            cli_cell(&t, "%s", ferry_generator_at(i)->summary);
        }
        cli_table_print(&t, stdout, 0);
        return EXIT_DONE;
    }
    const char *dir = c->value[KEY_OUT] ? c->value[KEY_OUT] : name;
    if (cli_can_fill(dir) != EXIT_DONE) return EXIT_USAGE;
    const ferry_status st = ferry_generate(c->ctx, name, c->sets, dir);
    if (st != FERRY_OK) return cli_failed(c, st);
    cli_note(c, "the task is in %s; next: %s run %s/task.yaml", dir, c->self, dir);
    return EXIT_DONE;
}
