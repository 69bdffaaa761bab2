/* The files inside an archive or folder tree, in the order of their names.
 *
 * A folder is treated as an archive that happens to be unpacked, so that a data set gives
 * the same rows in both forms; the order by name (by bytes) does not depend on the file
 * system. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "data/archive.h"

/* By name alone: whether a .gz holds one file or a tar does not show in its first bytes. */
bool ferry_i_is_archive(const char *path)
{
    static const char *const tails[] = {".tar",  ".tar.gz", ".tgz",     ".tar.xz",
                                        ".txz",  ".tbz2",   ".tar.bz2", ".tar.zst",
                                        ".tzst", ".zip",    ".7z"};

    for (int i = 0; i < FERRY_COUNT(tails); i++)
        if (strlen(path) > strlen(tails[i]) && ferry_i_ends_with(path, tails[i]))
            return true;
    return false;
}

/* In any case of letters: DATA.GZ is one as well. */
int64_t ferry_i_unpacked_len(const char *path)
{
    static const char *const tails[] = {".gz", ".xz", ".bz2", ".zst"};
    const size_t n = strlen(path);

    for (int i = 0; i < FERRY_COUNT(tails); i++) {
        const size_t m = strlen(tails[i]);
        if (n > m && strcasecmp(path + n - m, tails[i]) == 0) return (int64_t)(n - m);
    }
    return (int64_t)n;
}

/* Files whose name begins with a point are not data (.DS_Store, ._x in __MACOSX). */
ferry_status ferry_i_archive_add(ferry_ctx *ctx, ferry_archive *a, const char *name,
                                 ferry_member m)
{
    ferry_status st = FERRY_OK;
    const char *slash = strrchr(name, '/');

    if ((slash ? slash[1] : name[0]) != '.') {
        m.order = a->n;
        m.name = ferry_i_strdup(name);
        FERRY_HAVE(ctx, m.name && FERRY_GROW(a->members, a->n, a->cap));
        a->members[a->n++] = m;
        m = (ferry_member){0};
    }
done:
    FERRY_FREE(m.name, m.owned);
    return st;
}

void ferry_i_archive_free(ferry_archive *a)
{
    for (int64_t i = 0; i < a->n; i++)
        FERRY_FREE(a->members[i].name, a->members[i].owned);
    ferry_i_free(a->members);
    *a = (ferry_archive){0};
}

/* qsort is not stable: equal names (a tar may replace a file by a later one) keep their
 * order by `order`. */
static int by_name(const void *a, const void *b)
{
    const ferry_member *x = a, *y = b;
    const int order = strcmp(x->name, y->name);

    return order ? order : (x->order > y->order) - (x->order < y->order);
}

void ferry_i_archive_sort(ferry_archive *a)
{
    if (a->n > 1) qsort(a->members, (size_t)a->n, sizeof *a->members, by_name);
}

/* Binary search for the first that is not less: members are sorted. */
const ferry_member *ferry_i_archive_find(const ferry_archive *a, const char *name)
{
    int64_t lo = 0, hi = a->n;

    while (lo < hi) {
        const int64_t mid = lo + (hi - lo) / 2;
        if (strcmp(a->members[mid].name, name) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < a->n && strcmp(a->members[lo].name, name) == 0 ? &a->members[lo] : NULL;
}

char *ferry_i_archive_path(const ferry_archive *a, const ferry_member *m)
{
    return ferry_i_sprintf("%s%c%s", a->path, a->folder ? '/' : '#', m->name);
}

/* Collect the files under root/sub (sub "" at the top). Links to folders are not followed:
 * they could lead round in circles. */
static ferry_status walk(ferry_ctx *ctx, const char *root, const char *sub,
                         ferry_archive *a)
{
    ferry_status st = FERRY_OK;
    char *dir = ferry_i_path_join(root, sub), *name = NULL, *full = NULL;
    DIR *d = NULL;

    FERRY_HAVE(ctx, dir);
    d = opendir(dir);
    FERRY_NEED(ctx, d, FERRY_EDATA, "%s: cannot read: %s", dir, strerror(errno));
    for (struct dirent *e = readdir(d); e; e = readdir(d)) {
        /* info: the entry itself; real: what a link leads to */
        struct stat info, real;
        if (e->d_name[0] == '.') continue;
        name = ferry_i_path_join(sub, e->d_name);
        full = name ? ferry_i_path_join(root, name) : NULL;
        FERRY_HAVE(ctx, full);
        if (lstat(full, &info) == 0 && stat(full, &real) == 0) {
            if (S_ISDIR(info.st_mode)) FERRY_TRY(walk(ctx, root, name, a));
            if (S_ISREG(real.st_mode))
                FERRY_TRY(ferry_i_archive_add(ctx, a, name, (ferry_member){0}));
        }
        FERRY_FREE(name, full);
        name = full = NULL;
    }
done:
    if (d) (void)closedir(d);
    FERRY_FREE(dir, name, full);
    return st;
}

/* For a folder `in` stays empty: its members have names only and are opened one by one. */
ferry_status ferry_i_tree_list(ferry_ctx *ctx, const char *path, ferry_bring bring,
                               ferry_input *in, ferry_archive *out)
{
    struct stat info;

    *in = (ferry_input){0};
    *out = (ferry_archive){.path = path};
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
        out->folder = true;
        FERRY_PASS(walk(ctx, path, "", out));
        ferry_i_archive_sort(out);
    } else {
        FERRY_PASS(ferry_i_input_file(ctx, path, in));
        FERRY_PASS(ferry_i_archive_list(ctx, in, bring, out));
    }
    return FERRY_OK;
}

/* Members of an archive are all unpacked at once (formats such as .tar.gz have no way to
 * reach one alone); files of a folder are opened one at a time. */
ferry_status ferry_i_each_member(ferry_ctx *ctx, const char *path, ferry_member_fn each,
                                 void *arg)
{
    ferry_status st = FERRY_OK;
    ferry_archive a = {0};
    ferry_input in = {0}, file = {0};
    char *full = NULL;

    FERRY_TRY(ferry_i_tree_list(ctx, path, (ferry_bring){.all = true}, &in, &a));
    for (int64_t i = 0; i < a.n; i++) {
        const ferry_member *m = &a.members[i];
        if (!a.folder) {
            FERRY_TRY(each(ctx, arg, m->name, m->bytes, m->size));
            continue;
        }
        FERRY_HAVE(ctx, full = ferry_i_archive_path(&a, m));
        FERRY_TRY(ferry_i_input_file(ctx, full, &file));
        FERRY_TRY(each(ctx, arg, m->name, file.data, file.size));
        ferry_i_input_close(&file);
        ferry_i_free(full);
        full = NULL;
    }
done:
    ferry_i_input_close(&file);
    ferry_i_free(full);
    ferry_i_archive_free(&a);
    ferry_i_input_close(&in);
    return st;
}
