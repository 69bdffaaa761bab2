/* Compressed files: which they are, and gzip itself.
 *
 * gzip stays with zlib, which MAT files need anyway: libarchive 3.6 does not compare a gzip
 * file's checksum, so a damaged file would be read without a word. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "data/archive.h"

#define GIB ((int64_t)1 << 30)
#define PIECE GIB /* zlib counts in 32 bits */

/* Memory that programs could still have, as the kernel estimates it (without it: all there is). */
static int64_t free_memory(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    long long kb = pages > 0 && size > 0 ? (long long)pages * (size / 1024) : 64LL << 20;
    FILE *file = fopen("/proc/meminfo", "re");
    char line[128];

    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %lld kB", &kb) == 1) break;
    if (file) (void)fclose(file);
    return (int64_t)kb * 1024;
}

/* Text packs 3 to 30 times, tables of mostly zeros 100 times; a bomb 1000 times. The parsed numbers
 * take a few times the bytes, hence half of what is free. */
int64_t ferry_i_input_limit(const ferry_ctx *ctx, int64_t packed)
{
    const int64_t share = free_memory() / 2;
    const int64_t times = packed > INT64_MAX / 100 ? INT64_MAX : 100 * packed;
    const int64_t limit = packed < 0 ? share : times > GIB / 4 ? times : GIB / 4;

    if (ctx->max_input > 0) return ctx->max_input;
    return limit < share ? limit : share;
}

ferry_status ferry_i_too_large(ferry_ctx *ctx, const char *path, const char *what,
                               int64_t limit)
{
    return ferry_i_fail(ctx, FERRY_EDATA,
                        "%s: %s more than %.4g MB: refused (--max-input allows more)", path,
                        what, (double)limit / 1e6);
}

/* By content and not by name: files are renamed. bzip2 shows in the block's magic too,
 * since "BZh" alone may begin a text. */
const char *ferry_i_packed(const char *bytes, int64_t n)
{
    static const struct {
        const char *name, *magic;
        int from, len;
    } kinds[] = {
        {"gzip", "\x1f\x8b\x08", 0, 3},     {"xz", "\xfd\x37zXZ\0", 0, 6},
        {"zstd", "\x28\xb5\x2f\xfd", 0, 4}, {"bzip2", "1AY&SY", 4, 6}, /* BZh9, then pi */
        {"bzip2", "\x17rE8P\x90", 4, 6}, /* nothing in it: the root of pi */
    };

    for (int i = 0; i < FERRY_COUNT(kinds); i++)
        if (n >= kinds[i].from + kinds[i].len &&
            memcmp(bytes + kinds[i].from, kinds[i].magic, (size_t)kinds[i].len) == 0 &&
            (kinds[i].from == 0 || memcmp(bytes, "BZh", 3) == 0))
            return kinds[i].name;
    return NULL;
}

/* Never more than the limit: the last step may be smaller than a doubling. */
ferry_status ferry_i_room(ferry_ctx *ctx, const char *path, int64_t more, ferry_grown *g)
{
    int64_t want = g->cap < 65536 ? 65536 : g->cap * 2;

    if (more <= g->cap - g->n) return FERRY_OK;
    if (more > g->limit - g->n) return ferry_i_too_large(ctx, path, "unpacks to", g->limit);
    if (want < g->n + more) want = g->n + more;
    if (want > g->limit) want = g->limit;
    char *p = ferry_i_realloc(g->p, want, 1);
    if (!p) return ferry_i_nomem(ctx);
    g->p = p;
    g->cap = want;
    return FERRY_OK;
}

/* zlib's memory through ours, so that tests can make it fail. */
static void *z_alloc(void *user, unsigned n, unsigned size)
{
    (void)user;
    return ferry_i_calloc((int64_t)n, size);
}

static void z_free(void *user, void *p)
{
    (void)user;
    ferry_i_free(p);
}

/* What zlib can be given at once. */
static unsigned piece(int64_t n)
{
    return (unsigned)(n < PIECE ? n : PIECE);
}

/* What a gzip file may end with: nothing, or zero bytes (tapes, blocks). */
static bool only_zeros(const char *s, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (s[i]) return false;
    return true;
}

/* A gzip file is one or several members, one after the other (RFC 1952, 2.2): after each
 * end the rest is looked at. Z_BUF_ERROR only says that space or input ran out; whether that
 * is an error shows in what is left. */
static ferry_status gunzip(ferry_ctx *ctx, const char *path, const char *bytes, int64_t n,
                           ferry_grown *g)
{
    ferry_status st = FERRY_OK;
    z_stream z = {.zalloc = z_alloc, .zfree = z_free};
    int64_t used = 0;
    bool open = false;

    FERRY_HAVE(ctx, inflateInit2(&z, 15 + 16) == Z_OK); /* 16: with gzip's head and sum */
    open = true;
    for (;;) {
        FERRY_TRY(ferry_i_room(ctx, path, 1, g));
        z.next_in = (Bytef *)(uintptr_t)(bytes + used);
        z.avail_in = piece(n - used);
        z.next_out = (Bytef *)(g->p + g->n);
        z.avail_out = piece(g->cap - g->n);
        const unsigned in = z.avail_in, out = z.avail_out;
        const int code = inflate(&z, Z_NO_FLUSH);
        used += in - z.avail_in;
        g->n += out - z.avail_out;
        if (code == Z_STREAM_END) {
            if (only_zeros(bytes + used, n - used)) break;
            const char *next = ferry_i_packed(bytes + used, n - used);
            FERRY_NEED(ctx, next && strcmp(next, "gzip") == 0, FERRY_EDATA,
                       "%s: bytes after the end of the gzip data", path);
            (void)inflateReset(&z); /* files joined with cat */
            continue;
        }
        FERRY_HAVE(ctx, code != Z_MEM_ERROR);
        FERRY_NEED(ctx, code == Z_OK || code == Z_BUF_ERROR, FERRY_EDATA,
                   "%s: damaged gzip data after %lld bytes", path, (long long)used);
        FERRY_NEED(ctx, used < n || z.avail_out == 0, FERRY_EDATA,
                   "%s: truncated: the gzip data ends early", path);
    }
done:
    if (open) (void)inflateEnd(&z);
    return st;
}

/* `how` is not NULL: the caller has asked ferry_i_packed() before. */
ferry_status ferry_i_unpack(ferry_ctx *ctx, const char *path, const char *bytes, int64_t n,
                            int64_t limit, char **out, int64_t *out_n)
{
    ferry_status st = FERRY_OK;
    ferry_grown g = {.limit = limit};
    const char *how = ferry_i_packed(bytes, n);

    *out = NULL;
    *out_n = 0;
    FERRY_TRY(ferry_i_room(ctx, path, n < limit / 4 ? 4 * n : 1, &g)); /* a usual ratio */
    if (strcmp(how, "gzip") == 0)
        FERRY_TRY(gunzip(ctx, path, bytes, n, &g));
    else
        FERRY_TRY(ferry_i_unfilter(ctx, path, how, bytes, n, &g));
    *out = g.p;
    *out_n = g.n;
    g.p = NULL;
done:
    ferry_i_free(g.p);
    return st;
}
