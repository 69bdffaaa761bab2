/* The files inside an archive or folder tree, in the order of their names. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "data/archive.h"

static bool ends_with(const char *s, const char *tail)
{
    const size_t n = strlen(s), m = strlen(tail);

    return n > m && strcmp(s + n - m, tail) == 0;
}

bool ferry_i_is_archive(const char *path)
{
    static const char *const tails[] = {".tar",    ".tar.gz", ".tgz",
                                        ".tar.xz", ".txz",    ".zip"};

    for (int i = 0; i < FERRY_COUNT(tails); i++)
        if (ends_with(path, tails[i])) return true;
    return false;
}

/* Files whose name begins with a point are not data (.DS_Store, ._x in __MACOSX). */
static bool is_hidden(const char *name, int64_t len)
{
    while (len > 0 && name[len - 1] != '/')
        len--;
    return name[len] == '.';
}

ferry_status ferry_i_archive_add(ferry_ctx *ctx, ferry_archive *a, const char *name,
                                 int64_t len, const ferry_member *m)
{
    ferry_status st = FERRY_OK;

    while (len > 2 && name[0] == '.' && name[1] == '/') {
        name += 2;
        len -= 2;
    }
    if (is_hidden(name, len)) goto done;
    FERRY_HAVE(ctx, FERRY_GROW(a->members, a->n, a->cap));
    a->members[a->n] = *m;
    a->members[a->n].name = ferry_i_strndup(name, len);
    FERRY_HAVE(ctx, a->members[a->n].name);
    a->n++;
done:
    return st;
}

void ferry_i_archive_free(ferry_archive *a)
{
    for (int64_t i = 0; i < a->n; i++)
        ferry_i_free(a->members[i].name);
    ferry_i_free(a->members);
    *a = (ferry_archive){0};
}

static int by_name(const void *a, const void *b)
{
    const ferry_member *x = a, *y = b;
    const int order = strcmp(x->name, y->name);

    return order ? order : (x->offset > y->offset) - (x->offset < y->offset);
}

ferry_status ferry_i_archive_list(ferry_ctx *ctx, const ferry_input *in, ferry_archive *out)
{
    ferry_status st = FERRY_OK;

    *out = (ferry_archive){.data = in->data, .data_size = in->size, .path = in->path};
    out->zip = ferry_i_is_zip(in->data, in->size);
    FERRY_NEED(ctx, out->zip || ferry_i_is_tar(in->data, in->size), FERRY_EDATA,
               "%s: expected a tar or zip archive", in->path);
    if (out->zip)
        FERRY_TRY(ferry_i_zip_list(ctx, out));
    else
        FERRY_TRY(ferry_i_tar_list(ctx, out));
    if (out->n > 1) qsort(out->members, (size_t)out->n, sizeof *out->members, by_name);
done:
    return st;
}

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

ferry_status ferry_i_archive_bytes(ferry_ctx *ctx, const ferry_archive *a,
                                   const ferry_member *m, const char **bytes, void **owned)
{
    ferry_status st = FERRY_OK;
    char *made = NULL;

    *owned = NULL;
    *bytes = a->data + m->offset;
    if (!a->zip) goto done;
    if (m->method != 0) {
        FERRY_NEED(ctx, m->size <= ferry_i_unpack_limit(), FERRY_EDATA,
                   "%s: member %s unpacks to %lld bytes: refused", a->path, m->name,
                   (long long)m->size);
        made = ferry_i_realloc(NULL, m->size, 1);
        FERRY_HAVE(ctx, made);
        st = ferry_i_inflate_raw(ctx, m->name, *bytes, m->packed, made, m->size);
        if (st != FERRY_OK) {
            st = ferry_i_prefix(ctx, st, "%s", a->path);
            goto done;
        }
        *bytes = made;
    }
    FERRY_NEED(ctx, (uint32_t)crc32_z(0, (const Bytef *)*bytes, (size_t)m->size) == m->crc,
               FERRY_EDATA, "%s: damaged zip: wrong checksum of member %s", a->path,
               m->name);
    *owned = made;
    made = NULL;
done:
    ferry_i_free(made);
    return st;
}

/* ---- folder trees ---- */

/* Collect the files under root/sub (sub "" at the top). Links to folders are not followed:
 * they could lead round in circles. Names that begin with a point are left out. */
static ferry_status walk(ferry_ctx *ctx, const char *root, const char *sub,
                         ferry_archive *a)
{
    ferry_status st = FERRY_OK;
    char *dir = ferry_i_path_join(root, sub), *name = NULL, *full = NULL;
    DIR *d = NULL;
    const ferry_member none = {0};

    FERRY_HAVE(ctx, dir);
    d = opendir(dir);
    FERRY_NEED(ctx, d, FERRY_EDATA, "%s: cannot read: %s", dir, strerror(errno));
    for (struct dirent *e = readdir(d); e; e = readdir(d)) {
        struct stat info, real;
        if (e->d_name[0] == '.') continue;
        name = ferry_i_path_join(sub, e->d_name);
        full = name ? ferry_i_path_join(root, name) : NULL;
        FERRY_HAVE(ctx, full);
        if (lstat(full, &info) == 0 && stat(full, &real) == 0) {
            if (S_ISDIR(info.st_mode)) FERRY_TRY(walk(ctx, root, name, a));
            if (S_ISREG(real.st_mode))
                FERRY_TRY(ferry_i_archive_add(ctx, a, name, (int64_t)strlen(name), &none));
        }
        ferry_i_free(name);
        ferry_i_free(full);
        name = full = NULL;
    }
done:
    if (d) (void)closedir(d);
    ferry_i_free(dir);
    ferry_i_free(name);
    ferry_i_free(full);
    return st;
}

ferry_status ferry_i_tree_list(ferry_ctx *ctx, const char *path, ferry_input *in,
                               ferry_archive *out)
{
    ferry_status st = FERRY_OK;
    struct stat info;

    *in = (ferry_input){0};
    *out = (ferry_archive){.path = path};
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
        FERRY_TRY(walk(ctx, path, "", out));
        if (out->n > 1) qsort(out->members, (size_t)out->n, sizeof *out->members, by_name);
    } else {
        FERRY_TRY(ferry_i_input_file(ctx, path, in));
        FERRY_TRY(ferry_i_archive_list(ctx, in, out));
    }
done:
    return st;
}

/* Member i of a tree, opened: in a folder through `file`, else from the archive itself. */
static ferry_status each_one(ferry_ctx *ctx, const char *path, const ferry_archive *a,
                             const ferry_member *m, ferry_member_fn each, void *arg)
{
    ferry_status st = FERRY_OK;
    ferry_input file = {0};
    const char *bytes = NULL;
    void *owned = NULL;
    char *full = NULL;

    if (a->data) {
        FERRY_TRY(ferry_i_archive_bytes(ctx, a, m, &bytes, &owned));
        FERRY_TRY(each(ctx, arg, m->name, bytes, m->size));
    } else {
        full = ferry_i_path_join(path, m->name);
        FERRY_HAVE(ctx, full);
        FERRY_TRY(ferry_i_input_file(ctx, full, &file));
        FERRY_TRY(each(ctx, arg, m->name, file.data, file.size));
    }
done:
    ferry_i_input_close(&file);
    ferry_i_free(owned);
    ferry_i_free(full);
    return st;
}

ferry_status ferry_i_each_member(ferry_ctx *ctx, const char *path, ferry_member_fn each,
                                 void *arg)
{
    ferry_status st = FERRY_OK;
    ferry_archive a = {0};
    ferry_input in = {0};

    FERRY_TRY(ferry_i_tree_list(ctx, path, &in, &a));
    for (int64_t i = 0; i < a.n; i++)
        FERRY_TRY(each_one(ctx, path, &a, &a.members[i], each, arg));
done:
    ferry_i_archive_free(&a);
    ferry_i_input_close(&in);
    return st;
}
