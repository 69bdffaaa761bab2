/* Compressed files and archives made by hand, so that tests can break them. */
#ifndef FERRY_TEST_ARCHIVES_H
#define FERRY_TEST_ARCHIVES_H

#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

typedef struct bytes {
    char *s;
    int64_t n;
} bytes;

static inline void add_bytes(bytes *b, const void *s, int64_t n)
{
    b->s = realloc(b->s, (size_t)(b->n + n + 1));
    if (n > 0) memcpy(b->s + b->n, s, (size_t)n);
    b->n += n;
    b->s[b->n] = 0;
}

static inline bytes gzip_of(const char *s, int64_t n)
{
    z_stream z = {0};
    bytes b = {malloc((size_t)n + 1000), 0};

    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (Bytef *)(uintptr_t)s;
    z.avail_in = (unsigned)n;
    z.next_out = (Bytef *)b.s;
    z.avail_out = (unsigned)n + 1000;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    b.n = (int64_t)z.total_out;
    deflateEnd(&z);
    return b;
}

static inline bytes xz_of(const char *s, int64_t n)
{
    size_t out = 0;
    bytes b = {malloc((size_t)n + 1000), 0};

    assert_int_equal(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC32, NULL, (const uint8_t *)s,
                                             (size_t)n, (uint8_t *)b.s, &out,
                                             (size_t)n + 1000),
                     LZMA_OK);
    b.n = (int64_t)out;
    return b;
}

/* The checksum of a tar header of 512 bytes. */
static inline void tar_sum(char *h)
{
    unsigned sum = 0;

    memset(h + 148, ' ', 8);
    for (int i = 0; i < 512; i++)
        sum += (unsigned char)h[i];
    snprintf(h + 148, 8, "%06o", sum);
}

static inline void tar_add(bytes *b, char type, const char *name, const char *data,
                           int64_t n)
{
    char h[512] = "", zeros[512] = "";

    strncpy(h, name, 100);
    memcpy(h + 100, "0000644", 7);
    snprintf(h + 124, 12, "%011llo", (unsigned long long)n);
    h[156] = type;
    memcpy(h + 257, "ustar\00000", 8);
    tar_sum(h);
    add_bytes(b, h, 512);
    add_bytes(b, data, n);
    add_bytes(b, zeros, (512 - n % 512) % 512);
}

static inline void tar_end(bytes *b)
{
    char zeros[1024] = "";

    add_bytes(b, zeros, 1024);
}

static inline void put_le(bytes *b, uint64_t x, int n)
{
    char s[8];

    for (int i = 0; i < n; i++, x >>= 8)
        s[i] = (char)(x & 0xff);
    add_bytes(b, s, n);
}

/* A zip of one member, deflated; `size` and `crc` as claimed in the directory. */
static inline bytes zip_of(const char *name, const char *s, int64_t n, int64_t size,
                           uint32_t crc, int method)
{
    z_stream z = {0};
    bytes b = {0}, packed = {malloc((size_t)n + 1000), 0};

    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (Bytef *)(uintptr_t)s;
    z.avail_in = (unsigned)n;
    z.next_out = (Bytef *)packed.s;
    z.avail_out = (unsigned)n + 1000;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    packed.n = (int64_t)z.total_out;
    deflateEnd(&z);
    for (int part = 0; part < 2; part++) { /* local header, then directory entry */
        const int64_t len = (int64_t)strlen(name);
        put_le(&b, part ? 0x02014b50 : 0x04034b50, 4);
        if (part) put_le(&b, 20, 2);
        put_le(&b, 20, 2);
        put_le(&b, 0, 2);
        put_le(&b, (uint64_t)method, 2);
        put_le(&b, 0, 4);
        put_le(&b, crc, 4);
        put_le(&b, (uint64_t)packed.n, 4);
        put_le(&b, (uint64_t)size, 4);
        put_le(&b, (uint64_t)len, 2);
        put_le(&b, 0, 2);
        if (part) {
            put_le(&b, 0, 8);
            put_le(&b, 0, 2);
            put_le(&b, 0, 4);
        }
        add_bytes(&b, name, len);
        if (!part) add_bytes(&b, packed.s, packed.n);
    }
    const int64_t at = 30 + (int64_t)strlen(name) + packed.n;
    put_le(&b, 0x06054b50, 4);
    put_le(&b, 0, 4);
    put_le(&b, 1, 2);
    put_le(&b, 1, 2);
    put_le(&b, (uint64_t)(b.n - 12 - at), 4);
    put_le(&b, (uint64_t)at, 4);
    put_le(&b, 0, 2);
    free(packed.s);
    return b;
}

#endif
