/* tar archives: ustar with prefix, GNU long names (type L), pax path and size (type x).
 * A header is 512 bytes: name 0..99, size 124..135, checksum 148..155, type 156, magic
 * 257..262, prefix 345..499; the member's bytes follow, padded to 512. */
#include <string.h>

#include "data/archive.h"

#define BLOCK 512

/* Octal, or base 256 when the first bit is set (GNU, sizes above 8 GiB). -1: neither. */
static int64_t number(const char *s, int n)
{
    int64_t x = 0;
    int i = 0;

    if ((unsigned char)s[0] & 0x80) {
        if ((unsigned char)s[0] != 0x80) return -1;
        for (i = 1; i < n; i++) {
            if (x > INT64_MAX >> 8) return -1;
            x = x << 8 | (unsigned char)s[i];
        }
        return x;
    }
    while (i < n && s[i] == ' ')
        i++;
    const int begin = i;
    for (; i < n && s[i] >= '0' && s[i] <= '7'; i++)
        x = x << 3 | (s[i] - '0'); /* at most 12 digits: 36 bits */
    if (i == begin || (i < n && s[i] != 0 && s[i] != ' ')) return -1;
    return x;
}

/* Sum of all bytes with the checksum field read as spaces; old tars summed signed bytes. */
static bool checksum_holds(const char *h)
{
    const int64_t want = number(h + 148, 8);
    int64_t plain = 0, with_sign = 0;

    for (int i = 0; i < BLOCK; i++) {
        const char c = i >= 148 && i < 156 ? ' ' : h[i];
        plain += (unsigned char)c;
        with_sign += (signed char)c;
    }
    return want >= 0 && (want == plain || want == with_sign);
}

static bool all_zero(const char *h)
{
    for (int i = 0; i < BLOCK; i++)
        if (h[i]) return false;
    return true;
}

bool ferry_i_is_tar(const char *bytes, int64_t n)
{
    return n >= BLOCK && !all_zero(bytes) && checksum_holds(bytes);
}

/* What the headers so far said about the next member. */
typedef struct pending {
    const char *name;
    int64_t len;  /* 0: none */
    int64_t size; /* -1: none */
} pending;

/* pax records: "LENGTH key=value\n", LENGTH counts the whole record. */
static bool read_pax(const char *s, int64_t n, pending *p)
{
    const char *end = s + n;

    while (s < end && *s) {
        int64_t len = 0;
        const char *key = ferry_i_parse_int(s, end, &len);
        if (!key || key >= end || *key != ' ' || len <= key - s + 1 || len > end - s)
            return false;
        const char *stop = s + len - 1; /* its newline */
        key++;
        const char *eq = memchr(key, '=', (size_t)(stop - key));
        if (!eq || *stop != '\n') return false;
        if (eq - key == 4 && memcmp(key, "path", 4) == 0) {
            p->name = eq + 1;
            p->len = stop - eq - 1;
        } else if (eq - key == 4 && memcmp(key, "size", 4) == 0) {
            if (ferry_i_parse_int(eq + 1, stop, &p->size) != stop || p->size < 0)
                return false;
        }
        s += len;
    }
    return true;
}

/* Name in the header itself: prefix/name. Returns its length. */
static int64_t header_name(const char *h, char *buf)
{
    const bool ustar = memcmp(h + 257, "ustar", 6) == 0; /* with the 0: not GNU's */
    const int64_t n_prefix = ustar ? (int64_t)strnlen(h + 345, 155) : 0;
    const int64_t n_name = (int64_t)strnlen(h, 100);
    char *s = buf;

    if (n_prefix > 0) {
        memcpy(s, h + 345, (size_t)n_prefix);
        s += n_prefix;
        *s++ = '/';
    }
    memcpy(s, h, (size_t)n_name);
    return s + n_name - buf;
}

/* Take in one header whose bytes [at, at + size) are there. */
static ferry_status one_member(ferry_ctx *ctx, ferry_archive *a, const char *h, int64_t at,
                               int64_t size, pending *p)
{
    ferry_status st = FERRY_OK;
    const ferry_member m = {.offset = at, .packed = size, .size = size};
    char buf[300];

    switch (h[156]) {
    case 'L':
        p->name = a->data + at;
        p->len = (int64_t)strnlen(p->name, (size_t)size);
        goto done; /* keeps what is pending */
    case 'x':
        FERRY_NEED(ctx, read_pax(a->data + at, size, p), FERRY_EDATA,
                   "%s: damaged tar: a pax header at byte %lld does not parse", a->path,
                   (long long)at);
        goto done;
    case 'K':
    case 'g': goto done;
    case 'S':
        FERRY_NEED(ctx, false, FERRY_EDATA, "%s: sparse tar members are not read", a->path);
        break;
    case 0:
    case '0':
    case '7':
        if (p->len == 0) {
            p->len = header_name(h, buf);
            p->name = buf;
        }
        /* old tars mark folders by a slash only */
        if (p->len > 0 && p->name[p->len - 1] != '/')
            FERRY_TRY(ferry_i_archive_add(ctx, a, p->name, p->len, &m));
        break;
    default: break; /* folders, links, devices */
    }
    *p = (pending){.size = -1};
done:
    return st;
}

ferry_status ferry_i_tar_list(ferry_ctx *ctx, ferry_archive *a)
{
    ferry_status st = FERRY_OK;
    int64_t at = 0;
    pending p = {.size = -1};

    for (;;) {
        const char *h = a->data + at;
        FERRY_NEED(ctx, a->data_size - at >= BLOCK, FERRY_EDATA,
                   "%s: truncated tar: no end mark after %lld files", a->path,
                   (long long)a->n);
        if (all_zero(h)) break;
        FERRY_NEED(ctx, checksum_holds(h), FERRY_EDATA,
                   "%s: damaged tar: wrong checksum in the header at byte %lld", a->path,
                   (long long)at);
        /* only files and extra headers have bytes; links may carry a size without any */
        const bool link = h[156] >= '1' && h[156] <= '6';
        const int64_t size = link ? 0 : p.size >= 0 ? p.size : number(h + 124, 12);
        FERRY_NEED(
            ctx, size >= 0 && size <= a->data_size - at - BLOCK, FERRY_EDATA,
            "%s: truncated tar: a member at byte %lld says %lld bytes, %lld are left",
            a->path, (long long)at, (long long)size,
            (long long)(a->data_size - at - BLOCK));
        FERRY_TRY(one_member(ctx, a, h, at + BLOCK, size, &p));
        at += BLOCK + (size + BLOCK - 1) / BLOCK * BLOCK;
        if (at > a->data_size) at = a->data_size;
    }
done:
    return st;
}
