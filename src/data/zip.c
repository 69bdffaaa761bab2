/* zip archives: the central directory lists the members; stored and deflate are read,
 * zip64 too (NumPy writes it). Writing stores members as they are. */
#include <string.h>
#include <zlib.h>

#include "data/archive.h"

#define LOCAL 0x04034b50u
#define CENTRAL 0x02014b50u
#define END 0x06054b50u
#define END64 0x06064b50u
#define LOCATOR64 0x07064b50u
#define BIG 0xffffffffu

/* Little-endian numbers of n bytes. */
static uint64_t get(const char *s, int n)
{
    uint64_t x = 0;

    for (int i = n; i-- > 0;)
        x = x << 8 | (unsigned char)s[i];
    return x;
}

bool ferry_i_is_zip(const char *bytes, int64_t n)
{
    return n >= 22 && (get(bytes, 4) == LOCAL || get(bytes, 4) == END);
}

/* Where the end record stands, or -1. It is last but for a comment of < 64 KiB. */
static int64_t find_end(const ferry_archive *a)
{
    const int64_t lowest = a->data_size > 65557 ? a->data_size - 65557 : 0;

    for (int64_t at = a->data_size - 22; at >= lowest; at--) {
        const char *s = a->data + at;
        if (get(s, 4) == END && (int64_t)get(s + 20, 2) == a->data_size - at - 22)
            return at;
    }
    return -1;
}

/* zip64 puts what does not fit 32 bits into extra field 1, in this order. */
static bool zip64_extra(const char *s, int64_t n, uint64_t *size, uint64_t *packed,
                        uint64_t *offset)
{
    uint64_t *const want[] = {size, packed, offset};

    for (int64_t len; n >= 4; s += 4 + len, n -= 4 + len) {
        len = (int64_t)get(s + 2, 2);
        if (len > n - 4) return false;
        if (get(s, 2) != 1) continue;
        const char *p = s + 4, *end = p + len;
        for (int i = 0; i < 3; i++) {
            if (*want[i] != BIG) continue;
            if (end - p < 8) return false;
            *want[i] = get(p, 8);
            p += 8;
        }
        return true;
    }
    return *size != BIG && *packed != BIG && *offset != BIG;
}

/* One entry of the directory at s with `left` bytes; *next is where the next begins. */
static ferry_status one_entry(ferry_ctx *ctx, ferry_archive *a, const char *s, int64_t left,
                              const char **next)
{
    ferry_status st = FERRY_OK;
    const uint64_t whole = (uint64_t)a->data_size;

    FERRY_NEED(ctx, left >= 46 && get(s, 4) == CENTRAL, FERRY_EDATA,
               "%s: damaged zip: the directory breaks off after %lld files", a->path,
               (long long)a->n);
    const int64_t n_name = (int64_t)get(s + 28, 2), n_extra = (int64_t)get(s + 30, 2);
    const int64_t n_all = 46 + n_name + n_extra + (int64_t)get(s + 32, 2);
    uint64_t packed = get(s + 20, 4), size = get(s + 24, 4), offset = get(s + 42, 4);
    FERRY_NEED(ctx,
               n_all <= left &&
                   zip64_extra(s + 46 + n_name, n_extra, &size, &packed, &offset),
               FERRY_EDATA, "%s: damaged zip: the directory breaks off after %lld files",
               a->path, (long long)a->n);
    *next = s + n_all;
    if (n_name == 0 || s[46 + n_name - 1] == '/') goto done; /* a folder */
    FERRY_NEED(ctx, offset <= whole && whole - offset >= 30, FERRY_EDATA,
               "%s: truncated zip: member %.*s begins after the end", a->path, (int)n_name,
               s + 46);
    const char *local = a->data + offset;
    FERRY_NEED(ctx, get(local, 4) == LOCAL, FERRY_EDATA,
               "%s: damaged zip: no header where member %.*s should begin", a->path,
               (int)n_name, s + 46);
    offset += 30 + get(local + 26, 2) + get(local + 28, 2);
    FERRY_NEED(ctx, offset <= whole && packed <= whole - offset, FERRY_EDATA,
               "%s: truncated zip: member %.*s ends after the end", a->path, (int)n_name,
               s + 46);
    FERRY_NEED(ctx, (get(s + 8, 2) & 1) == 0, FERRY_EDATA, "%s: member %.*s is encrypted",
               a->path, (int)n_name, s + 46);
    const ferry_member m = {.offset = (int64_t)offset,
                            .packed = (int64_t)packed,
                            .size = (int64_t)size,
                            .method = (int)get(s + 10, 2),
                            .crc = (uint32_t)get(s + 16, 4)};
    FERRY_NEED(ctx, m.method == 0 || m.method == Z_DEFLATED, FERRY_EDATA,
               "%s: member %.*s uses zip method %d, expected 0 (stored) or 8 (deflate)",
               a->path, (int)n_name, s + 46, m.method);
    /* deflate cannot do better than 1032:1, so a larger claim is a lie */
    FERRY_NEED(
        ctx,
        m.method == 0 ? size == packed : size <= 1032 * (packed + 1) && size < whole << 11,
        FERRY_EDATA,
        "%s: damaged zip: member %.*s says %llu bytes packed and %llu unpacked", a->path,
        (int)n_name, s + 46, (unsigned long long)packed, (unsigned long long)size);
    FERRY_TRY(ferry_i_archive_add(ctx, a, s + 46, n_name, &m));
done:
    return st;
}

ferry_status ferry_i_zip_list(ferry_ctx *ctx, ferry_archive *a)
{
    ferry_status st = FERRY_OK;
    const int64_t end = find_end(a);

    FERRY_NEED(ctx, end >= 0, FERRY_EDATA, "%s: truncated zip: no directory at its end",
               a->path);
    const char *s = a->data + end;
    uint64_t count = get(s + 10, 2), size = get(s + 12, 4), at = get(s + 16, 4);
    int64_t stop = end;
    if ((count == 0xffff || size == BIG || at == BIG) && end >= 20 + 56 &&
        get(s - 20, 4) == LOCATOR64) {
        const uint64_t big = get(s - 12, 8);
        FERRY_NEED(ctx, big <= (uint64_t)end - 76 && get(a->data + big, 4) == END64,
                   FERRY_EDATA, "%s: damaged zip: no zip64 directory where it should be",
                   a->path);
        count = get(a->data + big + 32, 8);
        size = get(a->data + big + 40, 8);
        at = get(a->data + big + 48, 8);
        stop = (int64_t)big;
    }
    FERRY_NEED(ctx, at <= (uint64_t)stop && size <= (uint64_t)stop - at, FERRY_EDATA,
               "%s: truncated zip: its directory lies outside the file", a->path);
    const char *entry = a->data + at, *last = entry + size;
    for (uint64_t i = 0; i < count; i++)
        FERRY_TRY(one_entry(ctx, a, entry, last - entry, &entry));
done:
    return st;
}

static char *put(char *s, uint64_t x, int n)
{
    for (int i = 0; i < n; i++, x >>= 8)
        *s++ = (char)(x & 0xff);
    return s;
}

static uint32_t crc_of(uint32_t crc, const void *bytes, int64_t n)
{
    return (uint32_t)crc32_z(crc, bytes, (size_t)n);
}

/* The part that local header and directory entry share: version .. extra length. */
static char *put_common(char *s, uint32_t crc, uint64_t size, uint64_t n_name,
                        uint64_t extra)
{
    const uint64_t shown = size < BIG ? size : BIG;

    s = put(s, 45, 2);              /* needs 4.5: zip64 */
    s = put(s, 0x0800, 2);          /* names are UTF-8 */
    s = put(s, 0, 2);               /* stored */
    s = put(put(s, 0, 2), 0x21, 2); /* 1980-01-01: same bytes every time */
    s = put(s, crc, 4);
    s = put(put(s, shown, 4), shown, 4);
    return put(put(s, n_name, 2), extra, 2);
}

void ferry_i_zip_add(ferry_zip_out *z, const char *name, const void *head, int64_t n_head,
                     const void *body, int64_t n_body)
{
    const uint64_t n_name = strlen(name), size = (uint64_t)(n_head + n_body);
    const uint64_t at = (uint64_t)z->at;
    uint32_t crc = 0;
    char h[96], *s = h;

    if (n_head > 0) crc = crc_of(crc, head, n_head);
    if (n_body > 0) crc = crc_of(crc, body, n_body);
    s = put_common(put(s, LOCAL, 4), crc, size, n_name, 20);
    ferry_i_out_write(z->out, h, s - h);
    ferry_i_out_write(z->out, name, (int64_t)n_name);
    s = put(put(put(put(h, 1, 2), 16, 2), size, 8), size, 8);
    ferry_i_out_write(z->out, h, s - h);
    ferry_i_out_write(z->out, head, n_head);
    ferry_i_out_write(z->out, body, n_body);
    z->at += 30 + (int64_t)n_name + 20 + (int64_t)size;

    s = put(put(h, CENTRAL, 4), 45, 2);
    const bool big = size >= BIG || at >= BIG;
    s = put_common(s, crc, big ? (uint64_t)INT64_MAX : size, n_name, big ? 28 : 0);
    s = put(put(put(put(s, 0, 2), 0, 2), 0, 2), 0, 4); /* comment, disk, attributes */
    s = put(s, big ? BIG : at, 4);
    ferry_i_text_addn(&z->directory, h, s - h);
    ferry_i_text_addn(&z->directory, name, (int64_t)n_name);
    if (big) {
        s = put(put(put(put(put(h, 1, 2), 24, 2), size, 8), size, 8), at, 8);
        ferry_i_text_addn(&z->directory, h, s - h);
    }
    z->n++;
}

ferry_status ferry_i_zip_end(ferry_ctx *ctx, ferry_zip_out *z)
{
    ferry_status st = FERRY_OK;
    const uint64_t n = (uint64_t)z->n, at = (uint64_t)z->at;
    const uint64_t size = (uint64_t)z->directory.len;
    char h[128], *s = h;

    FERRY_HAVE(ctx, !z->directory.failed);
    ferry_i_out_write(z->out, z->directory.s, z->directory.len);
    if (at >= BIG || size >= BIG || n >= 0xffff) {
        s = put(put(put(put(s, END64, 4), 44, 8), 45, 2), 45, 2);
        s = put(put(put(put(s, 0, 8), n, 8), n, 8), size, 8);
        s = put(s, at, 8);
        s = put(put(put(put(s, LOCATOR64, 4), 0, 4), at + size, 8), 1, 4);
    }
    s = put(put(s, END, 4), 0, 4);
    s = put(put(s, n < 0xffff ? n : 0xffff, 2), n < 0xffff ? n : 0xffff, 2);
    s = put(put(s, size < BIG ? size : BIG, 4), at < BIG ? at : BIG, 4);
    s = put(s, 0, 2);
    ferry_i_out_write(z->out, h, s - h);
done:
    ferry_i_text_free(&z->directory);
    return st;
}
