/* gzip, xz and raw deflate, whole buffers at a time. Memory for the result grows with what
 * is really there, never with what a header claims. */
#include <lzma.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "data/archive.h"

#define GIB ((int64_t)1 << 30)
#define PIECE ((int64_t)1 << 30) /* zlib counts in 32 bits */

int64_t ferry_i_unpack_limit(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    const int64_t memory = pages > 0 && size > 0 ? (int64_t)pages * size : 64 * GIB;

    return memory < 64 * GIB ? memory : 64 * GIB;
}

bool ferry_i_is_gzip(const char *bytes, int64_t n)
{
    return n >= 3 && memcmp(bytes, "\x1f\x8b\x08", 3) == 0;
}

bool ferry_i_is_xz(const char *bytes, int64_t n)
{
    return n >= 6 && memcmp(bytes,
                            "\xfd"
                            "7zXZ\0",
                            6) == 0;
}

/* The result while it grows. */
typedef struct grown {
    char *p;
    int64_t n, cap, limit;
} grown;

/* Room for at least one more byte. */
static ferry_status make_room(ferry_ctx *ctx, const char *path, grown *g)
{
    ferry_status st = FERRY_OK;
    int64_t want = g->cap * 2;
    char *more = NULL;

    if (g->n < g->cap) goto done;
    FERRY_NEED(ctx, g->n < g->limit, FERRY_EDATA,
               "%s: unpacks to more than %lld bytes: refused", path, (long long)g->limit);
    if (want > g->limit) want = g->limit;
    more = ferry_i_realloc(g->p, want, 1);
    FERRY_HAVE(ctx, more);
    g->p = more;
    g->cap = want;
done:
    return st;
}

static void *z_alloc(void *user, unsigned n, unsigned size)
{
    (void)user;
    return ferry_i_calloc((int64_t)n, size);
}

static void *x_alloc(void *user, size_t n, size_t size)
{
    (void)user;
    return ferry_i_calloc((int64_t)n, size);
}

static void any_free(void *user, void *p)
{
    (void)user;
    ferry_i_free(p);
}

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

static ferry_status gunzip(ferry_ctx *ctx, const char *path, const char *bytes, int64_t n,
                           grown *g)
{
    ferry_status st = FERRY_OK;
    z_stream z = {.zalloc = z_alloc, .zfree = any_free};
    int64_t used = 0;
    bool open = false;

    FERRY_HAVE(ctx, inflateInit2(&z, 15 + 16) == Z_OK);
    open = true;
    for (;;) {
        FERRY_TRY(make_room(ctx, path, g));
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
            FERRY_NEED(ctx, ferry_i_is_gzip(bytes + used, n - used), FERRY_EDATA,
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

static ferry_status unxz(ferry_ctx *ctx, const char *path, const char *bytes, int64_t n,
                         grown *g)
{
    ferry_status st = FERRY_OK;
    const lzma_allocator alloc = {.alloc = x_alloc, .free = any_free};
    lzma_stream x = LZMA_STREAM_INIT;

    x.allocator = &alloc;
    FERRY_HAVE(ctx, lzma_stream_decoder(&x, GIB, LZMA_CONCATENATED) == LZMA_OK);
    x.next_in = (const uint8_t *)bytes;
    x.avail_in = (size_t)n;
    for (;;) {
        FERRY_TRY(make_room(ctx, path, g));
        x.next_out = (uint8_t *)g->p + g->n;
        x.avail_out = (size_t)(g->cap - g->n);
        const lzma_ret code = lzma_code(&x, LZMA_FINISH);
        g->n = g->cap - (int64_t)x.avail_out;
        if (code == LZMA_STREAM_END) break;
        FERRY_HAVE(ctx, code != LZMA_MEM_ERROR);
        FERRY_NEED(ctx, code != LZMA_MEMLIMIT_ERROR, FERRY_EDATA,
                   "%s: the xz data asks for a window above 1 GiB: refused", path);
        FERRY_NEED(ctx, code != LZMA_BUF_ERROR || x.avail_out == 0, FERRY_EDATA,
                   "%s: truncated: the xz data ends early", path);
        FERRY_NEED(ctx, code == LZMA_OK || code == LZMA_BUF_ERROR, FERRY_EDATA,
                   "%s: damaged xz data after %lld bytes", path,
                   (long long)(n - (int64_t)x.avail_in));
    }
done:
    lzma_end(&x);
    return st;
}

ferry_status ferry_i_unpack(ferry_ctx *ctx, const char *path, const char *bytes, int64_t n,
                            int64_t limit, char **out, int64_t *out_n)
{
    ferry_status st = FERRY_OK;
    grown g = {.cap = 4 * n < limit ? 4 * n : limit, .limit = limit};

    *out = NULL;
    *out_n = 0;
    g.p = ferry_i_realloc(NULL, g.cap, 1);
    FERRY_HAVE(ctx, g.p);
    if (ferry_i_is_gzip(bytes, n))
        FERRY_TRY(gunzip(ctx, path, bytes, n, &g));
    else
        FERRY_TRY(unxz(ctx, path, bytes, n, &g));
    *out = g.p;
    *out_n = g.n;
    g.p = NULL;
done:
    ferry_i_free(g.p);
    return st;
}

ferry_status ferry_i_inflate_raw(ferry_ctx *ctx, const char *path, const char *bytes,
                                 int64_t n, char *out, int64_t want)
{
    ferry_status st = FERRY_OK;
    z_stream z = {.zalloc = z_alloc, .zfree = any_free};
    int64_t used = 0, made = 0;
    int code = Z_OK;
    char spare; /* zlib wants somewhere to write, also when nothing is left */

    FERRY_HAVE(ctx, inflateInit2(&z, -15) == Z_OK);
    while (code == Z_OK) {
        z.next_in = (Bytef *)(uintptr_t)(bytes + used);
        z.avail_in = piece(n - used);
        z.next_out = (Bytef *)(made < want ? out + made : &spare);
        z.avail_out = made < want ? piece(want - made) : 1;
        const unsigned in = z.avail_in, room = z.avail_out;
        code = inflate(&z, Z_NO_FLUSH);
        used += in - z.avail_in;
        made += room - z.avail_out;
        if (made > want) break;
    }
    (void)inflateEnd(&z);
    FERRY_HAVE(ctx, code != Z_MEM_ERROR);
    FERRY_NEED(ctx, code == Z_STREAM_END && made == want, FERRY_EDATA,
               "%s: damaged: expected %lld bytes when unpacked, found %s%lld", path,
               (long long)want, made > want ? "more than " : "",
               (long long)(made > want ? want : made));
done:
    return st;
}
