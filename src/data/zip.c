/* Writing a zip whose members are stored as they are: NPZ files.
 *
 *   local header, name, zip64 field, bytes     per member
 *   directory entry, name, zip64 field         per member
 *   zip64 end record, its locator, end record
 *
 * Sizes and places are always written in their 64-bit form, with 32-bit fields that say "look
 * there" (all ones): readers must know it anyway, as arrays may be of any size (NumPy and
 * libarchive do), and there is one layout instead of two. The date is fixed, so that the same
 * data gives the same bytes. */
#include <string.h>
#include <zlib.h>

#include "data/archive.h"

/* The signatures of APPNOTE.TXT, 4.3: "PK" and two bytes, as little-endian numbers. */
#define LOCAL 0x04034b50u
#define CENTRAL 0x02014b50u
#define END 0x06054b50u
#define END64 0x06064b50u
#define LOCATOR64 0x07064b50u
#define ELSEWHERE 0xffffffffu /* in the zip64 field or record */

/* x as n bytes, little-endian. */
static char *put(char *s, uint64_t x, int n)
{
    for (int i = 0; i < n; i++, x >>= 8)
        *s++ = (char)(x & 0xff);
    return s;
}

/* The part that local header and directory entry share: version .. length of the extra
 * fields, which is that of one zip64 field with `numbers` numbers. */
static char *put_common(char *s, uint32_t crc, uint64_t n_name, int numbers)
{
    s = put(put(s, 45, 2), 0x0800, 2); /* needs version 4.5: zip64; names are UTF-8 */
    s = put(s, 0, 2);                  /* stored */
    s = put(put(s, 0, 2), 0x21, 2);    /* 1980-01-01 */
    s = put(s, crc, 4);                /* of the bytes */
    s = put(s, ELSEWHERE, 4);          /* packed size */
    s = put(put(s, ELSEWHERE, 4), n_name, 2); /* size */
    return put(s, 4 + 8 * (uint64_t)numbers, 2);
}

/* The local header goes out at once, the directory's entry is kept in memory until the end
 * (some 100 bytes a member). The checksum is taken before a byte is written, so no header
 * has to be patched and `out` may be a pipe. */
void ferry_i_zip_add(ferry_zip_out *z, const char *name, const void *head, int64_t n_head,
                     const void *body, int64_t n_body)
{
    const uint64_t n_name = strlen(name), size = (uint64_t)(n_head + n_body);
    uLong crc = 0;
    char h[96], *s = h;

    /* crc32_z takes sizes beyond 4 GiB, crc32 does not */
    if (n_head > 0) crc = crc32_z(crc, head, (size_t)n_head);
    if (n_body > 0) crc = crc32_z(crc, body, (size_t)n_body);
    s = put_common(put(s, LOCAL, 4), (uint32_t)crc, n_name, 2);
    ferry_i_out_write(z->out, h, s - h);
    ferry_i_out_write(z->out, name, (int64_t)n_name);
    /* zip64 field: id 1, 16 bytes: size, packed size */
    s = put(put(put(put(h, 1, 2), 16, 2), size, 8), size, 8);
    ferry_i_out_write(z->out, h, s - h);
    ferry_i_out_write(z->out, head, n_head);
    ferry_i_out_write(z->out, body, n_body);

    s = put_common(put(put(h, CENTRAL, 4), 45, 2), (uint32_t)crc, n_name, 3);
    s = put(put(put(put(s, 0, 2), 0, 2), 0, 2), 0, 4); /* comment, disk, attributes */
    s = put(s, ELSEWHERE, 4);                          /* where its local header stands */
    ferry_i_text_addn(&z->directory, h, s - h);
    ferry_i_text_addn(&z->directory, name, (int64_t)n_name);
    /* zip64 field: id 1, 24 bytes: size, packed size, place of the local header */
    s = put(put(put(put(h, 1, 2), 24, 2), size, 8), size, 8);
    s = put(s, (uint64_t)z->at, 8);
    ferry_i_text_addn(&z->directory, h, s - h);
    /* local header 30, its zip64 field 20 */
    z->at += 30 + (int64_t)n_name + 20 + (int64_t)size;
    z->n++;
}

/* Directory and the three records that end a zip64 file. 44 is the length of the rest of
 * the 64-bit record; the locator says where that record stands. */
ferry_status ferry_i_zip_end(ferry_ctx *ctx, ferry_zip_out *z)
{
    ferry_status st = FERRY_OK;
    const uint64_t n = (uint64_t)z->n, at = (uint64_t)z->at;
    const uint64_t size = (uint64_t)z->directory.len;
    char h[128], *s = h;

    FERRY_HAVE(ctx, !z->directory.failed);
    ferry_i_out_write(z->out, z->directory.s, z->directory.len);
    s = put(put(put(put(s, END64, 4), 44, 8), 45, 2), 45, 2);
    s = put(put(put(put(put(s, 0, 8), n, 8), n, 8), size, 8), at, 8);
    s = put(put(put(put(s, LOCATOR64, 4), 0, 4), at + size, 8), 1, 4);
    s = put(put(put(put(s, END, 4), 0, 4), 0xffff, 2), 0xffff, 2);
    s = put(put(put(s, ELSEWHERE, 4), ELSEWHERE, 4), 0, 2);
    ferry_i_out_write(z->out, h, s - h);
done:
    ferry_i_text_free(&z->directory);
    return st;
}
