/* Compressed files and archives made by hand, so that tests can break them. */
#ifndef FERRY_TEST_ARCHIVES_H
#define FERRY_TEST_ARCHIVES_H

#include <archive.h>
#include <archive_entry.h>
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

/* libarchive's writer into `room` bytes; NULL filter or format: none, a single file "raw". */
static inline bytes packed_with(const char *format, const char *filter, int n_files,
                                const char *const *names, const char *s, int64_t n)
{
    const size_t room = (size_t)n + 100000;
    size_t used = 0;
    bytes b = {malloc(room), 0};
    struct archive *a = archive_write_new();

    assert_int_equal(archive_write_set_format_by_name(a, format), ARCHIVE_OK);
    if (filter) assert_int_equal(archive_write_add_filter_by_name(a, filter), ARCHIVE_OK);
    (void)archive_write_set_bytes_in_last_block(a, 1);
    assert_int_equal(archive_write_open_memory(a, b.s, room, &used), ARCHIVE_OK);
    for (int i = 0; i < n_files; i++) {
        struct archive_entry *e = archive_entry_new();
        archive_entry_set_pathname(e, names[i]);
        archive_entry_set_filetype(e, AE_IFREG);
        archive_entry_set_perm(e, 0644);
        archive_entry_set_size(e, n);
        assert_int_equal(archive_write_header(a, e), ARCHIVE_OK);
        assert_int_equal(archive_write_data(a, s, (size_t)n), n);
        archive_entry_free(e);
    }
    assert_int_equal(archive_write_close(a), ARCHIVE_OK);
    archive_write_free(a);
    b.n = (int64_t)used;
    return b;
}

/* One file compressed by "xz", "bzip2" or "zstd". */
static inline bytes packed_of(const char *filter, const char *s, int64_t n)
{
    return packed_with("raw", filter, 1, (const char *const[]){"data"}, s, n);
}

static inline bytes xz_of(const char *s, int64_t n)
{
    return packed_of("xz", s, n);
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
