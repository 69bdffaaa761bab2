/* One source of bytes: a plain file is mapped, a compressed one unpacked, a member of an
 * archive picked out. Formats are known by content, so a wrong extension does no harm.
 *
 * Mapping costs nothing until pages are touched and leaves the bytes to the page cache, so
 * several contexts that read one file share them. Pipes and standard input are read whole. A
 * task whose domains are members of one archive would unpack it once for each; between
 * ferry_i_unpacked_keep(true) and (false) the last unpacked file is kept, by device, inode,
 * size and time, and shared by reference count.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/archive.h"
#include "data/sqlite.h"

/* how an input's bytes are held, and so how they are released */
enum { NOTHING = 0, MAPPED = 1, HEAP = 2, SHARED = 3 };

/* ---- what was unpacked last, for those who open the same file next ---- */

/* One unpacked file. holders: the context, and each open input that shares it. A context
 * belongs to one thread, so the count need not be atomic. */
typedef struct ferry_unpacked {
    struct stat file; /* which it was, and in which state */
    char *bytes;
    int64_t n;
    int64_t holders;
} ferry_unpacked;

/* One holder less; the last frees it. NULL is fine. */
static void let_go(ferry_unpacked *u)
{
    if (!u || --u->holders > 0) return;
    FERRY_FREE(u->bytes, u);
}

/* Inputs that are open still hold their share; it goes when they are closed. */
void ferry_i_unpacked_keep(ferry_ctx *ctx, bool keep)
{
    ctx->keep_unpacked = keep;
    if (keep) return;
    let_go(ctx->unpacked);
    ctx->unpacked = NULL;
}

/* A file that was written anew between two reads differs in size or time and is unpacked
 * again. */
static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* ---- inputs ---- */

/* The path stays: it is wanted for messages. */
static void release(ferry_input *in)
{
    if (in->how == MAPPED) (void)munmap(in->owned, (size_t)in->owned_size);
    if (in->how == HEAP) ferry_i_free(in->owned);
    if (in->how == SHARED) let_go(in->owned);
    in->how = NOTHING;
    in->owned = NULL;
}

void ferry_i_input_close(ferry_input *in)
{
    release(in);
    ferry_i_free(in->path);
    *in = (ferry_input){0};
}

void ferry_i_held_free(void *p)
{
    ferry_held *held = p;

    if (!held) return;
    if (held->map)
        (void)munmap(held->map, (size_t)held->map_size);
    else
        ferry_i_free((void *)(uintptr_t)held->data);
    ferry_i_free(held);
}

/* The map changes hands; the input goes on lending it, but does not release it any more. */
ferry_status ferry_i_input_hold(ferry_ctx *ctx, const ferry_input *in, ferry_held **out)
{
    ferry_status st = FERRY_OK;
    ferry_held *held = NULL;
    char *copy = NULL;

    FERRY_NEW(ctx, held, 1);
    *held = (ferry_held){.data = in->data, .size = in->size};
    if (in->how == MAPPED && (uintptr_t)in->data % 8 == 0) {
        held->map = in->owned;
        held->map_size = in->owned_size;
        ((ferry_input *)(uintptr_t)in)->how = NOTHING;
    } else {
        FERRY_NEW(ctx, copy, in->size);
        memcpy(copy, in->data, (size_t)in->size);
        FERRY_MOVE(held->data, copy);
    }
    FERRY_MOVE(*out, held);
done:
    ferry_i_free(held);
    return st;
}

/* Whatever the bytes were, they are now these, on the heap. */
static void take_heap(ferry_input *in, char *bytes, int64_t n)
{
    release(in);
    in->owned = bytes;
    in->owned_size = n;
    in->how = HEAP;
    in->data = bytes;
    in->size = n;
}

/* The packed bytes that `in` held go; its share keeps the others. */
static void take_shared(ferry_input *in, ferry_unpacked *u)
{
    release(in);
    u->holders++;
    in->owned = u;
    in->how = SHARED;
    in->data = u->bytes;
    in->size = u->n;
}

/* The bytes of `in`, which are compressed, unpacked. */
static ferry_status unpack(ferry_ctx *ctx, ferry_input *in, char **bytes, int64_t *n)
{
    return ferry_i_unpack(ctx, in->path, in->data, in->size,
                          ferry_i_input_limit(ctx, in->size), bytes, n);
}

/* The same for a whole file, which is kept if that is wanted. Without a file (standard
 * input) there is nothing to know it again by, so nothing is kept. */
static ferry_status unpack_file(ferry_ctx *ctx, const struct stat *file, ferry_input *in)
{
    ferry_status st = FERRY_OK;
    ferry_unpacked *u = NULL;
    char *bytes = NULL;
    int64_t n = 0;

    if (!file || !ctx->keep_unpacked) {
        FERRY_TRY(unpack(ctx, in, &bytes, &n));
        take_heap(in, bytes, n);
        return st;
    }
    /* another file than the one kept, or none yet: unpack and keep this one instead */
    if (!ctx->unpacked || !same_file(&ctx->unpacked->file, file)) {
        FERRY_NEW(ctx, u, 1);
        u->file = *file;
        /* the context's own share */
        u->holders = 1;
        FERRY_TRY(unpack(ctx, in, &u->bytes, &u->n));
        let_go(ctx->unpacked);
        FERRY_MOVE(ctx->unpacked, u);
    }
    take_shared(in, ctx->unpacked);
done:
    let_go(u);
    return st;
}

/* Read to the end: pipes, standard input, and files that cannot be mapped. Memory doubles
 * as bytes arrive, up to the limit that unpacking has too: a pipe may never end. */
static ferry_status read_all(ferry_ctx *ctx, int fd, ferry_input *in)
{
    ferry_status st = FERRY_OK;
    int64_t n = 0, cap = 0;
    const int64_t limit = ferry_i_input_limit(ctx, -1);
    char *bytes = NULL;

    for (;;) {
        if (n == cap) {
            char *more = ferry_i_realloc(bytes, cap ? 2 * cap : 65536, 1);
            FERRY_HAVE(ctx, more);
            bytes = more;
            cap = cap ? 2 * cap : 65536;
        }
        const ssize_t got = read(fd, bytes + n, (size_t)(cap - n));
        /* a signal came first: nothing was read and nothing is wrong */
        if (got < 0 && errno == EINTR) continue;
        FERRY_NEED(ctx, got >= 0, FERRY_EIO, "%s: cannot read: %s", in->path,
                   strerror(errno));
        if (got == 0) break;
        n += got;
        if (n > limit) FERRY_TRY(ferry_i_too_large(ctx, in->path, "has", limit));
    }
    take_heap(in, bytes, n);
    bytes = NULL;
done:
    ferry_i_free(bytes);
    return st;
}

/* An empty file cannot be mapped, but is fine: no bytes. Some file systems refuse to map;
 * then it is read like a pipe. */
static ferry_status load(ferry_ctx *ctx, int fd, ferry_input *in)
{
    struct stat info;
    const bool known = fstat(fd, &info) == 0;
    const char *why = known ? ferry_i_unreadable(info.st_mode, fd) : NULL;

    if (why) return ferry_i_fail(ctx, FERRY_EDATA, "%s: %s", in->path, why);
    if (known && S_ISREG(info.st_mode)) {
        in->data = "";
        in->size = 0;
        if (info.st_size == 0) return FERRY_OK;
        if (ctx->max_input > 0 && (int64_t)info.st_size > ctx->max_input)
            return ferry_i_too_large(ctx, in->path, "has", ctx->max_input);
        /* private and read-only; whoever truncates the file meanwhile does harm, as with
         * any map */
        void *map = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (map != MAP_FAILED) {
            in->data = in->owned = map;
            in->size = in->owned_size = info.st_size;
            in->how = MAPPED;
            return FERRY_OK;
        }
    }
    return read_all(ctx, fd, in);
}

/* Whether it is compressed shows in the first bytes, whatever the name says. The file is
 * closed at once: a mapping does not need it. */
ferry_status ferry_i_input_file(ferry_ctx *ctx, const char *path, ferry_input *in)
{
    ferry_status st = FERRY_OK;
    const bool standard = strcmp(path, "-") == 0;
    int fd = -1;
    struct stat info;

    *in = (ferry_input){0};
    FERRY_HAVE(ctx, in->path = ferry_i_strdup(standard ? "standard input" : path));
    if (!standard) {
        FERRY_NEED(ctx, stat(path, &info) == 0, FERRY_EDATA, "%s: %s", path,
                   errno == ENOENT ? "no such file" : strerror(errno));
        const char *why = ferry_i_unreadable(info.st_mode, -1);
        FERRY_NEED(ctx, !why, FERRY_EDATA, "%s: %s", path, why);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        FERRY_NEED(ctx, fd >= 0, FERRY_EDATA, "%s: cannot read: %s", path, strerror(errno));
    }
    FERRY_TRY(load(ctx, standard ? STDIN_FILENO : fd, in));
    if (ferry_i_packed(in->data, in->size))
        FERRY_TRY(unpack_file(ctx, standard ? NULL : &info, in));
done:
    if (fd >= 0) (void)close(fd);
    if (st != FERRY_OK) ferry_i_input_close(in);
    return st;
}

/* Narrow an opened archive to one member. A stored member's bytes lie in the archive's,
 * which stay as they were; an unpacked one's replace them. A member may itself be
 * compressed (table.csv.gz in a tar): it is unpacked too. */
static ferry_status pick(ferry_ctx *ctx, ferry_input *in, const char *member)
{
    ferry_status st = FERRY_OK;
    ferry_archive a = {0};
    const ferry_member *m = NULL;

    FERRY_TRY(ferry_i_archive_list(ctx, in, (ferry_bring){.only = member}, &a));
    m = ferry_i_archive_find(&a, member);
    FERRY_NEED(ctx, m, FERRY_EDATA, "%s: no member %s among its %lld files", in->path,
               member, (long long)a.n);
    /* unpacked for us, or a part of the archive's own bytes, which `in` goes on holding */
    if (m->owned) {
        ((ferry_member *)(uintptr_t)m)->owned = NULL; /* it is the input's now */
        take_heap(in, (char *)(uintptr_t)m->bytes, m->size);
    } else {
        in->data = m->bytes;
        in->size = m->size;
    }
    /* a compressed member is unpacked once more */
    if (ferry_i_packed(in->data, in->size)) {
        char *more = NULL;
        int64_t n = 0;
        FERRY_TRY(unpack(ctx, in, &more, &n));
        take_heap(in, more, n);
    }
done:
    ferry_i_archive_free(&a);
    return st;
}

/* A '#' may belong to the file's own name, to the archive's or to the member's: what exists on
 * disk decides. Without any such file the last '#' counts, so that the message names the part
 * that a user would look for. */
ferry_status ferry_i_split_path(ferry_ctx *ctx, const char *path, char **base,
                                char **member)
{
    struct stat info;
    const char *at = NULL;

    *base = *member = NULL;
    if (stat(path, &info) != 0) {
        for (const char *s = strchr(path, '#'); s && s > path; s = strchr(s + 1, '#')) {
            char *head = ferry_i_strndup(path, s - path);
            if (!head) return ferry_i_nomem(ctx);
            const bool there = stat(head, &info) == 0;
            ferry_i_free(head);
            /* the last one tried stays if none exists */
            at = s;
            if (there) break;
        }
    }
    *base = at ? ferry_i_strndup(path, at - path) : ferry_i_strdup(path);
    *member = at ? ferry_i_strdup(at + 1) : NULL;
    if (!*base || (at && !*member)) {
        FERRY_FREE(*base, *member);
        *base = *member = NULL;
        return ferry_i_nomem(ctx);
    }
    return FERRY_OK;
}

/* The path in messages is the whole "file#member" as the user wrote it. */
ferry_status ferry_i_input_open(ferry_ctx *ctx, const char *path, ferry_input *in)
{
    ferry_status st = FERRY_OK;
    char *base = NULL, *member = NULL, *full = NULL;

    *in = (ferry_input){0};
    FERRY_TRY(ferry_i_split_path(ctx, path, &base, &member));
    FERRY_TRY(ferry_i_input_file(ctx, base, in));
    if (member && ferry_i_is_sqlite(in->data, in->size)) {
        char *rows = NULL;
        int64_t n = 0;
        FERRY_TRY(ferry_i_sqlite(ctx, path, base, member, &rows, &n));
        take_heap(in, rows, n);
    } else if (member) {
        FERRY_TRY(pick(ctx, in, member));
    }
    if (member) {
        FERRY_HAVE(ctx, full = ferry_i_strdup(path));
        ferry_i_free(in->path);
        in->path = full;
    }
done:
    FERRY_FREE(base, member);
    if (st != FERRY_OK) ferry_i_input_close(in);
    return st;
}
