/* Pieces of a text file for threads, and small questions about text.
 *
 * A file is cut at line ends into pieces of 256 KiB to 8 MiB: about eight a thread, so that
 * none waits long for the last, and each large enough to be worth handing out. A piece keeps
 * its own first error; the one of the earliest piece is reported, so that the message does not
 * depend on which thread was quicker. Ranks that read together cut the same pieces, whatever threads they have. */
#include <stdio.h>
#include <string.h>

#include "core/ranks.h"
#include "data/lines.h"

/* shortest and longest piece, in bytes */
#define LONG_ENOUGH ((int64_t)1 << 18)
#define LONGEST ((int64_t)1 << 23)

/* Every piece but the last has at least `want` bytes, which bounds their number beforehand.
 * Quotes are not looked at: a reader that allows newlines in them mends the cuts. */
ferry_status ferry_i_pieces(ferry_ctx *ctx, const char *s, const char *end,
                            ferry_piece **out, int64_t *n)
{
    ferry_status st = FERRY_OK;
    ferry_piece *p = NULL;
    const int64_t each =
        ferry_i_ranks_split(ctx) ? 64 * ctx->ranks->size : 8 * ctx->threads;
    int64_t count = 0, want = (end - s) / each + 1;

    if (want < LONG_ENOUGH) want = LONG_ENOUGH;
    if (want > LONGEST) want = LONGEST;
    *out = NULL;
    *n = 0;
    FERRY_NEW(ctx, p, (end - s) / want + 1);
    while (s < end) {
        /* cut behind the first newline at or after `want` bytes; the rest of a short file
         * is one piece */
        const char *stop =
            end - s > want ? memchr(s + want, '\n', (size_t)(end - s - want)) : NULL;
        stop = stop ? stop + 1 : end;
        p[count].begin = s;
        p[count++].end = stop;
        s = stop;
    }
    *out = p;
    *n = count;
done:
    return st;
}

/* Prefix sums over the counts that the threads found: from here each piece knows where its
 * rows go, and all can be filled at once. */
void ferry_i_pieces_place(ferry_piece *p, int64_t n, int64_t first_line, int64_t *rows,
                          int64_t *entries)
{
    *rows = *entries = 0;
    for (int64_t i = 0; i < n; i++) {
        p[i].line = first_line;
        p[i].row_at = *rows;
        p[i].entry_at = *entries;
        first_line += p[i].lines;
        *rows += p[i].rows;
        *entries += p[i].entries;
    }
}

/* Kept in the piece, because a context's message must not be written by several threads. */
void ferry_i_piece_bad(ferry_piece *p, int64_t line, const char *fmt, ...)
{
    va_list args;

    /* the first error is the one to fix first */
    if (p->bad_line) return;
    p->bad_line = line;
    va_start(args, fmt);
    vsnprintf(p->bad, sizeof p->bad, fmt, args);
    va_end(args);
}

ferry_status ferry_i_pieces_check(ferry_ctx *ctx, const char *path, const ferry_piece *p,
                                  int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (p[i].bad_line) return ferry_i_bad(ctx, path, p[i].bad_line, "%s", p[i].bad);
    return FERRY_OK;
}

/* ---- ranks that read together ---- */

static bool shared(const ferry_ctx *ctx, int64_t n)
{
    return n > 1 && ferry_i_ranks_split(ctx);
}

void ferry_i_pieces_mine(const ferry_ctx *ctx, int64_t n, int64_t *from, int64_t *to)
{
    *from = 0;
    *to = n;
    if (shared(ctx, n)) ferry_i_ranks_part(ctx, n, from, to);
}

/* Where a piece is in memory is its rank's own affair. */
ferry_status ferry_i_pieces_share(ferry_ctx *ctx, ferry_piece *p, int64_t n)
{
    ferry_status st = FERRY_OK;
    ferry_piece *all = NULL;

    if (!shared(ctx, n)) return st;
    FERRY_NEW(ctx, all, n);
    memcpy(all, p, (size_t)n * sizeof *p);
    FERRY_TRY(ferry_i_ranks_gather(ctx, n, sizeof *p, all));
    for (int64_t k = 0; k < n; k++) {
        all[k].begin = p[k].begin;
        all[k].end = p[k].end;
        p[k] = all[k];
    }
done:
    ferry_i_free(all);
    return st;
}

/* In the end rank 0 has all before anybody goes on, so that what fails on every rank then is rank 0's to say. */
ferry_status ferry_i_pieces_bring(ferry_ctx *ctx, const ferry_piece *p, int64_t n,
                                  ferry_place_by by, int64_t all, size_t size, void *items)
{
    ferry_status st = FERRY_OK;
    int64_t *cut = NULL;
    double nothing = 0;

    if (!shared(ctx, n)) return st;
    const int ranks = ctx->ranks->size;
    FERRY_NEW(ctx, cut, ranks + 1);
    ferry_i_ranks_cuts(ctx, n, cut);
    for (int i = 0; i <= ranks; i++)
        cut[i] = cut[i] == n          ? all
                 : by == FERRY_BY_ROW ? p[cut[i]].row_at
                                      : p[cut[i]].entry_at;
    FERRY_TRY(ferry_i_ranks_share(ctx, cut, size, items));
    FERRY_TRY(ferry_i_ranks_sum(ctx, 1, &nothing));
done:
    ferry_i_free(cut);
    return st;
}

/* Texts travel as places in the file, from 1; 0 is a missing one. */
ferry_status ferry_i_pieces_bring_spans(ferry_ctx *ctx, const ferry_piece *p, int64_t n,
                                        int64_t rows, int64_t each, const char *text,
                                        ferry_span *spans)
{
    ferry_status st = FERRY_OK;
    int64_t from = 0, to = 0;

    if (!shared(ctx, n)) return st;
    ferry_i_pieces_mine(ctx, n, &from, &to);
    const int64_t first = from < n ? p[from].row_at : rows,
                  last = to < n ? p[to].row_at : rows;
    for (int64_t i = first * each; i < last * each; i++)
        if (spans[i].s) spans[i].s = (const char *)(uintptr_t)(spans[i].s - text + 1);
    FERRY_TRY(ferry_i_pieces_bring(ctx, p, n, FERRY_BY_ROW, rows,
                                   (size_t)each * sizeof *spans, spans));
    for (int64_t i = 0; i < rows * each; i++)
        if (spans[i].s) spans[i].s = text + (uintptr_t)spans[i].s - 1;
done:
    return st;
}

/* Rank 0's first, then those that rank 1 adds, and so on: in that order the file names them. */
ferry_status ferry_i_pieces_unite(ferry_ctx *ctx, int64_t n, ferry_ids **ids, int64_t **map)
{
    ferry_status st = FERRY_OK;
    ferry_text mine = {0};
    ferry_ids *united = NULL;
    char *all = NULL;
    int64_t from = 0, bytes = 0, own = 0;

    *map = NULL;
    if (!shared(ctx, n)) return st;
    ferry_i_ids_print(*ids, &mine);
    FERRY_HAVE(ctx, !mine.failed);
    FERRY_TRY(
        ferry_i_ranks_collect(ctx, mine.len, 1, mine.s, &from, &bytes, (void **)&all));
    FERRY_HAVE(ctx, united = ferry_i_ids_new());
    FERRY_NEW(ctx, *map, ferry_i_ids_count(*ids));
    for (int64_t at = 0; at < bytes; at += (int64_t)strlen(all + at) + 1) {
        const int64_t k = ferry_i_ids_add(united, all + at, NULL);
        FERRY_HAVE(ctx, k >= 0);
        if (at >= from && at < from + mine.len) (*map)[own++] = k;
    }
    ferry_i_ids_free(*ids);
    FERRY_MOVE(*ids, united);
done:
    ferry_i_ids_free(united);
    ferry_i_text_free(&mine);
    ferry_i_free(all);
    return st;
}

/* ---- text ---- */

/* By counting from the start: O(bytes), which only messages pay. */
int64_t ferry_i_line_of(const char *begin, const char *at)
{
    int64_t line = 1;

    for (const char *s = begin; s < at; s++)
        line += *s == '\n';
    return line;
}

ferry_status ferry_i_fit_lines(ferry_ctx *ctx, const char *path, const ferry_ids *names)
{
    ferry_status st = FERRY_OK;

    for (int64_t i = 0; names && i < ferry_i_ids_count(names); i++)
        FERRY_NEED(ctx, !strpbrk(ferry_i_ids_at(names, i), "\r\n"), FERRY_EINVAL,
                   "%s: '%.40s' has a line end, which this format cannot hold (csv can)",
                   path, ferry_i_ids_at(names, i));
done:
    return st;
}

/* A zero byte means a binary file, or UTF-16, which would parse as nonsense. */
ferry_status ferry_i_check_text(ferry_ctx *ctx, const ferry_input *in)
{
    const char *zero = memchr(in->data, 0, (size_t)in->size);
    const int64_t n = in->size < 65536 ? in->size : 65536;
    int64_t odd = 0;
    char quote =
        0; /* in which we are: what stands there was meant, as an id may be anything */

    const unsigned char *head = (const unsigned char *)in->data;
    const bool utf16 = in->size > 1 && (head[0] == 0xff || head[0] == 0xfe) &&
                       head[0] + head[1] == 0xff + 0xfe;

    if (zero)
        return ferry_i_bad(ctx, in->path, ferry_i_line_of(in->data, zero), "%s",
                           utf16 ? "UTF-16, as some programs export: save it as UTF-8"
                                 : "a zero byte: expected text");
    /* control characters beside tab, line ends and the like (7 .. 13, 26, 27) */
    for (int64_t i = 0; i < n; i++) {
        const unsigned char c = (unsigned char)in->data[i];
        if (quote == '\'' && c == '\\' && i + 1 < n) i++; /* what it protects */
        if (quote ? c == quote
                  : (c == '"' || c == '\'') &&
                        (i == 0 || strchr(" \t\n,;|:{\"", in->data[i - 1])))
            quote = quote ? 0 : (char)c;
        else if (!quote)
            odd += c < 7 || (c > 13 && c < 26) || (c > 27 && c < 32) || c == 127;
    }
    if (50 * odd > n)
        return ferry_i_bad(ctx, in->path, 0,
                           "%lld of its first %lld bytes are control characters: expected "
                           "text, found binary data",
                           (long long)odd, (long long)n);
    const char *cr = memchr(in->data, '\r', (size_t)in->size);
    if (cr && cr + 1 < in->data + in->size && !memchr(in->data, '\n', (size_t)in->size))
        return ferry_i_bad(ctx, in->path, 0,
                           "its lines end in CR alone, as on old Macs: expected LF or CR "
                           "LF (tr '\\r' '\\n' converts it)");
    return FERRY_OK;
}

/* Case matters, so that a category called "na" or "Null" stays one. No word is longer than
 * 4. `more` is one text, or several with commas between. */
bool ferry_i_is_missing(const char *s, int64_t n, const char *more)
{
    static const char *const words[] = {"NA", "NaN",  "nan",  "NAN", "N/A",
                                        "?",  "null", "NULL", "#N/A"};

    if (n == 0) return true;
    for (int i = 0; n <= 4 && i < FERRY_COUNT(words); i++)
        if (strncmp(words[i], s, (size_t)n) == 0 && words[i][n] == 0) return true;
    for (const char *end = more; *more; more = end + (*end == ',')) {
        end = more + strcspn(more, ",");
        if ((end - more == n && memcmp(more, s, (size_t)n) == 0) ||
            (strncmp(more, s, (size_t)n) == 0 && more[n] == 0)) /* has a comma itself */
            return true;
    }
    return false;
}

/* An empty name becomes a lone %, so that it still stands between two separators. */
void ferry_i_code(ferry_text *t, const char *name)
{
    if (!name[0]) ferry_i_text_add(t, "%");
    for (const char *s = name; *s; s++) {
        const unsigned char c = (unsigned char)*s;
        if (c <= ' ' || c == 127 || strchr("%,:#", *s))
            ferry_i_text_addf(t, "%%%02X", c);
        else
            ferry_i_text_addn(t, s, 1);
    }
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A % that begins no code stands for itself, but one that is all there is means the empty
 * name. */
int64_t ferry_i_decode(ferry_ids *names, const char *s, int64_t n, bool *added)
{
    ferry_text t = {0};
    int64_t at = -1;

    if (!memchr(s, '%', (size_t)n)) return ferry_i_ids_addn(names, s, n, added);
    ferry_i_text_addn(&t, "", 0);
    for (int64_t i = 0; i < n; i++) {
        if (s[i] == '%' && i + 2 < n && hex_digit(s[i + 1]) >= 0 &&
            hex_digit(s[i + 2]) >= 0) {
            const char c = (char)(16 * hex_digit(s[i + 1]) + hex_digit(s[i + 2]));
            ferry_i_text_addn(&t, &c, 1);
            i += 2;
        } else if (n > 1) {
            ferry_i_text_addn(&t, s + i, 1);
        }
    }
    if (!t.failed) at = ferry_i_ids_addn(names, t.s, t.len, added);
    ferry_i_text_free(&t);
    return at;
}
