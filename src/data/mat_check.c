/* What a MAT file says about itself, checked before matio sees it, because matio 1.5.23
 * believes every length: an absurd one makes it take all memory or read beyond its buffers.
 *
 * MAT 5 is a chain of elements: a tag (type, bytes) and its body, padded to 8 bytes. A
 * variable (type 14, or packed by zlib in one of type 15) holds the elements flags,
 * dimensions, name and then what its class has, cells and structs again variables. Each
 * must lie in the one around it, and the numbers must be as many as the dimensions say.
 * MAT 7.3 is HDF5, which checks itself; only its signature is looked at.
 */
#include <string.h>
#include <zlib.h>

#include "data/archive.h"
#include "data/mat.h"

/* Types of elements (miINT8 ...), classes of arrays (mxCELL_CLASS ...) and limits, with the
 * numbers of the format's definition. DEEPEST bounds the recursion: nobody nests cells so
 * deep, and a file of nothing but nested tags must not use up the stack. */
enum { INT8 = 1, INT32 = 5, UINT32 = 6, MATRIX = 14, PACKED = 15, UTF8 = 16 };
enum { CELL = 1, STRUCT = 2, CHAR = 4, SPARSE = 5, DOUBLE = 6, UINT64 = 15 };
enum { COMPLEX = 0x0800, DEEPEST = 16, MOST_DIMS = 32 };

/* Bytes that are left of an element. */
typedef struct rest {
    const char *at;
    int64_t n;
    bool big;
} rest;

/* One element: its type and the n bytes of its body, which lie in the file's bytes or in
 * those unpacked. */
typedef struct element {
    uint32_t type;
    const char *body;
    int64_t n;
} element;

/* Four bytes as a number, in the file's byte order. */
static uint32_t u32(const char *s, bool big)
{
    const unsigned char *u = (const unsigned char *)s;

    return big ? (uint32_t)u[0] << 24 | (uint32_t)u[1] << 16 | (uint32_t)u[2] << 8 | u[3]
               : (uint32_t)u[3] << 24 | (uint32_t)u[2] << 16 | (uint32_t)u[1] << 8 | u[0];
}

/* Byte 126 holds the 16-bit number 'MI' in the writer's order, so a little-endian file
 * shows "IM". The version is the 16-bit number before it: 0x0100 is MAT 5, 0x0200 is MAT
 * 7.3. */
int ferry_i_mat_version(const char *s, int64_t n)
{
    if (n < 128) return 0;
    const bool little = memcmp(s + 126, "IM", 2) == 0, big = memcmp(s + 126, "MI", 2) == 0;
    if (!little && !big) return 0;
    const int major = s[big ? 124 : 125];
    return major == 1 ? 5 : major == 2 ? 7 : 0;
}

/* The next element, when it fits into what is left. Up to 4 bytes may stand in the tag. */
static bool next(rest *r, element *e)
{
    if (r->n < 8) return false;
    /* A short element has its length in the upper half of the type and its body in the tag.
     * A long one has zero there, since types are small. */
    const uint32_t word = u32(r->at, r->big);
    int64_t used = 8;
    e->type = word & 0xffff;
    e->n = word >> 16;
    e->body = r->at + 4;
    if (e->n > 4) return false;
    if (e->n == 0) {
        e->n = u32(r->at + 4, r->big);
        e->body = r->at + 8;
        if (e->n > r->n - 8) return false;
        used = 8 + (e->n + 7) / 8 * 8;
        if (used > r->n) used = r->n; /* the last one need not be padded */
    }
    r->at += used;
    r->n -= used;
    return true;
}

/* Bytes of one number of a type, 0 when it is no type of numbers. */
static int64_t width(uint32_t type)
{
    static const int8_t bytes[] = {0, 1, 1, 2, 2, 4, 4, 4, 0, 8, 0, 0, 8, 8, 0, 0, 1, 2, 4};

    return type < sizeof bytes ? bytes[type] : 0;
}

/* The next element holds `count` numbers. UTF-8 may take more bytes than characters. */
static bool numbers(rest *r, int64_t count)
{
    element e;

    if (count == 0 && r->n == 0) return true;
    if (!next(r, &e) || width(e.type) == 0) return false;
    return e.type == UTF8 ? e.n >= count : e.n / width(e.type) == count;
}

/* The dimensions; *count is their product. */
static bool dimensions(rest *r, int64_t *cols, int64_t *count)
{
    element e;

    if (!next(r, &e) || e.type != INT32 || e.n % 4 || e.n < 8 || e.n > 4 * MOST_DIMS)
        return false;
    *count = 1;
    for (int64_t i = 0; i < e.n; i += 4) {
        const int64_t d = (int32_t)u32(e.body + i, r->big);
        if (d < 0 || (d > 0 && *count > INT64_MAX / d)) return false;
        *count *= d;
        if (i == 4) *cols = d;
    }
    return true;
}

/* Row indices, column offsets, values (twice when complex). There must be an offset for
 * each column and one more. More indices than values are allowed: nzmax counts capacity, not
 * entries. */
static bool is_sparse(rest *r, int64_t cols, bool complex)
{
    element row, start, value;

    /* MATLAB writes signed indices, matio unsigned ones */
    if (!next(r, &row) || (row.type != INT32 && row.type != UINT32)) return false;
    if (!next(r, &start) || (start.type != INT32 && start.type != UINT32)) return false;
    if (start.n / 4 != cols + 1) return false;
    for (int part = 0; part <= complex; part++)
        if (!next(r, &value) || width(value.type) == 0 ||
            value.n / width(value.type) > row.n / 4)
            return false;
    return true;
}

static bool is_variable(rest r, int depth);

/* `count` variables one after the other: a cell array's elements or a struct's fields. Each
 * takes a tag of 8 bytes at least, which bounds count by the bytes before the loop
 * begins. */
static bool variables(rest *r, int64_t count, int depth)
{
    element e;

    if (count > r->n / 8) return false;
    for (int64_t i = 0; i < count; i++) {
        if (!next(r, &e) || e.type != MATRIX) return false;
        if (!is_variable((rest){e.body, e.n, r->big}, depth + 1)) return false;
    }
    return true;
}

/* Field names lie in one block, `each` bytes for every name; then come all fields of the
 * first element, all of the second, and so on. */
static bool is_struct(rest *r, int64_t count, int depth)
{
    element len, names;

    if (!next(r, &len) || len.type != INT32 || len.n != 4) return false;
    const int64_t each = (int32_t)u32(len.body, r->big);
    if (!next(r, &names) || names.type != INT8 || each < 1 || names.n % each) return false;
    const int64_t fields = names.n / each;
    return (fields == 0 || count <= INT64_MAX / fields) &&
           variables(r, fields * count, depth);
}

/* The body of an element of type MATRIX. An empty one is an empty cell. */
static bool is_variable(rest r, int depth)
{
    element flags, name;
    int64_t cols = 0, count = 0;

    if (r.n == 0) return depth > 0;
    if (depth > DEEPEST || !next(&r, &flags) || flags.type != UINT32 || flags.n != 8)
        return false;
    if (!dimensions(&r, &cols, &count)) return false;
    if (!next(&r, &name) || name.type != INT8 || name.n > 4096) return false;
    const uint32_t word = u32(flags.body, r.big), class = word & 0xff;
    const bool complex = word & COMPLEX;
    switch (class) {
    case CELL: return variables(&r, count, depth);
    case STRUCT: return is_struct(&r, count, depth);
    case SPARSE: return is_sparse(&r, cols, complex);
    case CHAR: return numbers(&r, count);
    default:
        return class >= DOUBLE && class <= UINT64 && numbers(&r, count) &&
               (!complex || numbers(&r, count));
    }
}

/* Unpack the body of an element of type PACKED into g, up to its limit. */
static ferry_status unpack(ferry_ctx *ctx, const ferry_input *in, const element *e,
                           ferry_grown *g)
{
    ferry_status st = FERRY_OK;
    z_stream z = {.next_in = (Bytef *)e->body, .avail_in = (uInt)e->n};
    int code = inflateInit(&z);

    FERRY_HAVE(ctx, code == Z_OK);
    while (code == Z_OK) {
        FERRY_TRY(ferry_i_room(ctx, in->path, 1, g));
        /* zlib counts in 32 bits: at most 1 GiB a call */
        const int64_t space = g->cap - g->n < 1 << 30 ? g->cap - g->n : 1 << 30;
        z.next_out = (Bytef *)(g->p + g->n);
        z.avail_out = (uInt)space;
        code = inflate(&z, Z_NO_FLUSH);
        g->n += space - z.avail_out;
    }
    FERRY_HAVE(ctx, code != Z_MEM_ERROR);
    FERRY_NEED(ctx, code == Z_STREAM_END, FERRY_EDATA, "%s: a variable cannot be unpacked",
               in->path);
done:
    (void)inflateEnd(&z);
    return st;
}

/* Element i of the file, from 1: a variable, plain or packed. A packed one is unpacked only
 * to be looked at and freed again, so that memory holds one variable at a time; matio
 * unpacks it a second time when it is read. */
static ferry_status check_element(ferry_ctx *ctx, const ferry_input *in, const element *e,
                                  bool big, int64_t i, int64_t *left)
{
    ferry_status st = FERRY_OK;
    ferry_grown g = {.limit = *left};
    element inner = *e;

    FERRY_NEED(ctx, e->type == MATRIX || e->type == PACKED, FERRY_EDATA,
               "%s: element %lld has type %u, expected a variable (14 or 15)", in->path,
               (long long)i, e->type);
    if (e->type == PACKED) {
        FERRY_TRY(unpack(ctx, in, e, &g));
        *left -= g.n;
        rest r = {g.p, g.n, big};
        FERRY_NEED(ctx, next(&r, &inner) && inner.type == MATRIX, FERRY_EDATA,
                   "%s: element %lld holds no variable", in->path, (long long)i);
    }
    FERRY_NEED(ctx, is_variable((rest){inner.body, inner.n, big}, 0), FERRY_EDATA,
               "%s: variable %lld is damaged, or neither numbers, text, cell nor struct",
               in->path, (long long)i);
done:
    ferry_i_free(g.p);
    return st;
}

/* One pass over the file: O(bytes, unpacked). The elements of the outermost level always
 * have long tags, so they are read here and not by next(). */
ferry_status ferry_i_mat_check(ferry_ctx *ctx, const ferry_input *in)
{
    ferry_status st = FERRY_OK;
    const int version = ferry_i_mat_version(in->data, in->size);
    rest r = {in->data + 128, in->size - 128, version && in->data[126] == 'M'};
    int64_t left = ferry_i_input_limit(ctx, in->size); /* of all variables together */

    FERRY_NEED(ctx, version, FERRY_EDATA, "%s: is not a MAT 5 or 7.3 file", in->path);
    if (version == 7) {
        FERRY_NEED(ctx,
                   in->size > 520 && memcmp(in->data + 512, "\x89HDF\r\n\x1a\n", 8) == 0,
                   FERRY_EDATA, "%s: truncated MAT 7.3 file", in->path);
        goto done;
    }
    for (int64_t i = 1; r.n >= 8; i++) {
        element e = {.type = u32(r.at, r.big), .body = r.at + 8, .n = u32(r.at + 4, r.big)};
        FERRY_NEED(ctx, e.n <= r.n - 8, FERRY_EDATA,
                   "%s: truncated: element %lld has %lld bytes, %lld are left", in->path,
                   (long long)i, (long long)e.n, (long long)(r.n - 8));
        FERRY_TRY(check_element(ctx, in, &e, r.big, i, &left));
        r.at += 8 + e.n; /* variables are not padded */
        r.n -= 8 + e.n;
    }
done:
    return st;
}
