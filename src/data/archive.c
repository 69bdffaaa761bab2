/* Archives (tar, zip, 7z) and compressed streams (xz, bzip2, zstd) by libarchive.
 *
 * The whole input lies in memory, so libarchive is given it as one block; for members that are
 * stored as they are it then hands out pointers into that block, which are kept instead of
 * copies. Zip is read by its directory only: libarchive's other reader, which walks the members
 * from the front, would take a truncated zip for a smaller one. A tar has no directory and
 * libarchive takes a missing end mark for the end, so that is checked here. */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <locale.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>

#include "data/archive.h"

/* The few entry points of libarchive that are used, found at run time: the library works
 * without it, and only who opens an archive learns that it is missing. `works` and `why`
 * are written once, under pthread_once, and only read after that. */
static struct {
    bool works;
    char why[FERRY_LOAD_WHY];
    struct archive *(*new)(void);
    int (*free)(struct archive *);
    int (*tar)(struct archive *), (*zip)(struct archive *), (*seven)(struct archive *);
    int (*raw)(struct archive *), (*empty)(struct archive *);
    int (*xz)(struct archive *), (*bzip2)(struct archive *), (*zstd)(struct archive *);
    int (*open)(struct archive *, const void *, size_t);
    int (*next)(struct archive *, struct archive_entry **);
    int (*block)(struct archive *, const void **, size_t *, la_int64_t *);
    const char *(*error)(struct archive *), *(*version)(void);
    int (*number)(struct archive *); /* of the last error */
    int (*format)(struct archive *), (*filter)(struct archive *, int);
    const char *(*name)(struct archive_entry *), *(*name_utf8)(struct archive_entry *);
    la_int64_t (*size)(struct archive_entry *);
    const char *(*link)(struct archive_entry *);
    __LA_MODE_T (*type)(struct archive_entry *);
} lib;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* One missing symbol fails the whole load, so no pointer in `lib` is NULL where `works` is
 * true. */
static void load(void)
{
    static const ferry_symbol want[] = {
        {"archive_read_new", &lib.new},
        {"archive_read_free", &lib.free},
        {"archive_read_support_format_tar", &lib.tar},
        {"archive_read_support_format_zip_seekable", &lib.zip},
        {"archive_read_support_format_7zip", &lib.seven},
        {"archive_read_support_format_raw", &lib.raw},
        {"archive_read_support_format_empty", &lib.empty},
        {"archive_read_support_filter_xz", &lib.xz},
        {"archive_read_support_filter_bzip2", &lib.bzip2},
        {"archive_read_support_filter_zstd", &lib.zstd},
        {"archive_read_open_memory", &lib.open},
        {"archive_read_next_header", &lib.next},
        {"archive_read_data_block", &lib.block},
        {"archive_error_string", &lib.error},
        {"archive_errno", &lib.number},
        {"archive_version_string", &lib.version},
        {"archive_format", &lib.format},
        {"archive_filter_code", &lib.filter},
        {"archive_entry_pathname", &lib.name},
        {"archive_entry_pathname_utf8", &lib.name_utf8},
        {"archive_entry_size", &lib.size},
        {"archive_entry_hardlink", &lib.link},
        {"archive_entry_filetype", &lib.type},
    };

    lib.works = ferry_i_load("libarchive.so.13", want, FERRY_COUNT(want), lib.why);
}

const char *ferry_i_archive_version(void)
{
    (void)pthread_once(&once, load);
    return lib.works ? lib.version() : NULL;
}

/* A new reader with nothing allowed yet. `what` (xz, ...) is what needs the library. */
static ferry_status reader_new(ferry_ctx *ctx, const char *path, const char *what,
                               struct archive **out)
{
    ferry_status st = FERRY_OK;

    *out = NULL;
    (void)pthread_once(&once, load);
    FERRY_NEED(ctx, lib.works, FERRY_ENEEDS,
               "%s: reading %s needs the library libarchive (Debian: libarchive13): %s",
               path, what, lib.why);
    *out = lib.new();
    FERRY_HAVE(ctx, *out);
done:
    return st;
}

/* Why libarchive stopped. It has no text of its own where the bytes just end. */
static const char *reason(struct archive *a)
{
    const char *text = lib.error(a);

    return text ? text : "it ends early";
}

/* The bytes of the entry that was reached last. `want` is how many it is said to have: if the
 * first block is all of them and lies within `in`, *inside points there and g stays empty.
 * Holes of sparse members become zeros. What libarchive only warns of here (a checksum, a
 * length) is damage too. */
static ferry_status drain(ferry_ctx *ctx, struct archive *a, const ferry_input *in,
                          const char *what, int64_t want, ferry_grown *g,
                          const char **inside)
{
    ferry_status st = FERRY_OK;
    const void *p = NULL;
    size_t n = 0;
    la_int64_t at = 0;

    *inside = NULL;
    for (int code = 0; (code = lib.block(a, &p, &n, &at)) != ARCHIVE_EOF;) {
        const uintptr_t from = (uintptr_t)in->data, s = (uintptr_t)p;
        if (code == ARCHIVE_OK && n == 0) continue;
        /* offsets never fall back, and nothing may follow bytes that were borrowed as the
         * whole */
        FERRY_NEED(ctx, code == ARCHIVE_OK && !*inside && at >= g->n, FERRY_EDATA,
                   "%s: damaged or truncated %s: %s", in->path, what, reason(a));
        if (at == 0 && g->n == 0 && (int64_t)n == want && s >= from &&
            s - from <= (uintptr_t)in->size - n) {
            *inside = p;
            continue;
        }
        FERRY_TRY(ferry_i_room(ctx, in->path, at - g->n + (int64_t)n, g));
        /* the hole of a sparse member, then the block behind it */
        memset(g->p + g->n, 0, (size_t)(at - g->n));
        memcpy(g->p + at, p, n);
        g->n = at + (int64_t)n;
    }
done:
    return st;
}

/* xz, bzip2 or zstd data into g, which holds at most g->limit bytes. All three filters are
 * allowed whatever `how` says: that is for the messages, libarchive goes by the magic
 * number. No size is known beforehand, so want = -1 and nothing is ever borrowed from the
 * input. */
ferry_status ferry_i_unfilter(ferry_ctx *ctx, const char *path, const char *how,
                              const char *bytes, int64_t n, ferry_grown *g)
{
    ferry_status st = FERRY_OK;
    const ferry_input in = {.data = bytes, .size = n, .path = (char *)(uintptr_t)path};
    struct archive *a = NULL;
    struct archive_entry *e = NULL;
    const char *inside = NULL;
    char what[32] = "";

    FERRY_TRY(reader_new(ctx, path, how, &a));
    (void)lib.xz(a), (void)lib.bzip2(a), (void)lib.zstd(a);
    /* "raw" takes any bytes as one nameless member, "empty" an input that unpacks to
     * nothing, which is no error: the first header is then ARCHIVE_EOF. */
    (void)lib.raw(a), (void)lib.empty(a);
    int code = lib.open(a, bytes, (size_t)n);
    if (code == ARCHIVE_OK) code = lib.next(a, &e);
    /* without a filter the "unpacked" bytes would be the packed ones */
    FERRY_NEED(ctx,
               code == ARCHIVE_EOF ||
                   (code == ARCHIVE_OK && lib.filter(a, 0) != ARCHIVE_FILTER_NONE),
               FERRY_EDATA, "%s: damaged or truncated %s data: %s", path, how, reason(a));
    strncat(strncat(what, how, 16), " data", 6);
    if (code == ARCHIVE_OK) FERRY_TRY(drain(ctx, a, &in, what, -1, g, &inside));
done:
    if (a) (void)lib.free(a);
    return st;
}

/* Whether an archive in which libarchive saw `seen` entries is all there. Tars end with 512
 * zero bytes at least; what was cut between two members does not. A zip's last record, which
 * may be followed by a comment, counts the entries (65535: a larger number stands elsewhere),
 * while libarchive stops without a word at an entry that it cannot make out. */
static bool is_whole(const ferry_input *in, bool tar, bool zip, int64_t seen)
{
    if (tar) {
        for (int64_t i = in->size - 512; i < in->size; i++)
            if (i < 0 || in->data[i]) return false;
    }
    /* from the back: the end record is 22 bytes and a comment of any length */
    for (int64_t at = in->size - 22; zip && at >= 0; at--) {
        const unsigned char *s = (const unsigned char *)in->data + at;
        if (memcmp(s, "PK\5\6", 4) != 0) continue;
        /* "total number of entries", two bytes, little end first */
        const int64_t count = s[10] | s[11] << 8;
        return count == 65535 || count == seen;
    }
    return true;
}

/* Take one entry over into `out`, with its bytes where `bring` asks for them. Folders,
 * links and devices are passed over: a link may lead out of the archive, and its target is
 * there as a file anyway. *left is what all members together may still unpack to; bytes
 * borrowed from the input cost nothing of it. */
static ferry_status one_entry(ferry_ctx *ctx, struct archive *a, struct archive_entry *e,
                              const ferry_input *in, ferry_bring bring, int64_t *left,
                              ferry_archive *out)
{
    ferry_status st = FERRY_OK;
    ferry_grown g = {.limit = *left};
    ferry_member m = {.size = lib.size(e)};
    char *what = NULL;
    const char *name = lib.name_utf8(e); /* NULL where the name is in no known alphabet */

    if (!name) name = lib.name(e);
    if (!S_ISREG(lib.type(e)) || lib.link(e)) goto done;
    FERRY_NEED(ctx, name && name[0], FERRY_EDATA, "%s: the name of file %lld is unreadable",
               in->path, (long long)out->n + 1);
    if (name[strlen(name) - 1] == '/') goto done; /* how old tars write folders */
    /* "./a" and "a" are the same file: tars made by "tar c ." write the former */
    while (name[0] == '.' && name[1] == '/' && name[2])
        name += 2;
    if (bring.all || (bring.only && strcmp(bring.only, name) == 0)) {
        FERRY_HAVE(ctx, what = ferry_i_sprintf("member %s", name));
        FERRY_TRY(drain(ctx, a, in, what, m.size, &g, &m.bytes));
        /* Nothing was borrowed: the member owns g.p from here, and its size is what arrived,
         * not what the header promised. */
        if (!m.bytes) {
            m.bytes = g.p ? g.p : "";
            /* an empty member has bytes "" and owns nothing */
            m.owned = g.p;
            m.size = g.n;
            *left -= g.n;
        }
    }
    g.p = NULL;
    FERRY_TRY(ferry_i_archive_add(ctx, out, name, m));
done:
    FERRY_FREE(what, g.p);
    return st;
}

/* Errors fall into three kinds. No format was recognised: this is no archive at all. A
 * header is bad after one was: damage, with the count of files so far as the place. All
 * entries were fine but the end mark is not there: a truncated copy (see is_whole). */
ferry_status ferry_i_archive_list(ferry_ctx *ctx, const ferry_input *in, ferry_bring bring,
                                  ferry_archive *out)
{
    ferry_status st = FERRY_OK;
    struct archive *a = NULL;
    struct archive_entry *e = NULL;
    int64_t left = ferry_i_input_limit(ctx, in->size), seen = 0;
    /* libarchive loses names that the locale cannot write, so it gets one that can: for this
     * thread and this call alone */
    const locale_t letters = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    const locale_t before = letters ? uselocale(letters) : (locale_t)0;

    *out = (ferry_archive){.path = in->path};
    FERRY_TRY(reader_new(ctx, in->path, "an archive", &a));
    (void)lib.tar(a), (void)lib.zip(a), (void)lib.seven(a);
    int code = lib.open(a, in->data, (size_t)in->size);
    FERRY_NEED(ctx, code == ARCHIVE_OK, FERRY_EDATA,
               "%s: expected a whole tar, zip or 7z archive: %s", in->path, reason(a));
    while ((code = lib.next(a, &e)) != ARCHIVE_EOF) {
        /* this warning is about a name in no known alphabet */
        if (code == ARCHIVE_WARN && lib.number(a) == EILSEQ) code = ARCHIVE_OK;
        FERRY_NEED(ctx, code == ARCHIVE_OK || lib.format(a), FERRY_EDATA,
                   "%s: expected a whole tar, zip or 7z archive: %s", in->path, reason(a));
        FERRY_NEED(ctx, code == ARCHIVE_OK, FERRY_EDATA,
                   "%s: damaged archive after %lld files: %s", in->path, (long long)out->n,
                   reason(a));
        FERRY_TRY(one_entry(ctx, a, e, in, bring, &left, out));
        seen++;
    }
    /* formats come in variants (ustar, pax, GNU tar); the mask leaves the family */
    const int kind = lib.format(a) & ARCHIVE_FORMAT_BASE_MASK;
    FERRY_NEED(
        ctx, is_whole(in, kind == ARCHIVE_FORMAT_TAR, kind == ARCHIVE_FORMAT_ZIP, seen),
        FERRY_EDATA, "%s: truncated or damaged archive: no end mark after %lld files",
        in->path, (long long)out->n);
    ferry_i_archive_sort(out);
done:
    if (a) (void)lib.free(a);
    if (letters) {
        (void)uselocale(before);
        freelocale(letters);
    }
    return st;
}
