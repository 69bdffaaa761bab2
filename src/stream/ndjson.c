/* A line of NDJSON: one object with id, x, y and seq. Read in one pass straight into the
 * line's arrays: a tree of JSON values would cost ten times as much as the learning. */
#include <math.h>
#include <string.h>

#include "data/fields.h"
#include "stream/stream.h"

typedef struct reader {
    const char *s, *end, *begin;
    ferry_line *l;
    ferry_text *text; /* of the last string or number, unescaped */
} reader;

/* "expected ... at byte N, found '...'": the place is what a user needs to find it in a
 * long line. */
static bool bad(reader *r, const char *expected)
{
    if (r->s == r->end)
        return ferry_i_line_bad(r->l, "the line ends too early: expected %s", expected);
    const ferry_field f = {r->s, r->end - r->s < 12 ? r->end - r->s : 12, 0};
    char show[44];
    return ferry_i_line_bad(r->l, "expected %s at byte %lld, found '%s'", expected,
                            (long long)(r->s - r->begin) + 1, ferry_i_field_show(&f, show));
}

/* White space; a line of a stream has no '\n', a request of `ferry serve` may. */
static void skip_space(reader *r)
{
    while (r->s < r->end &&
           (*r->s == ' ' || *r->s == '\t' || *r->s == '\r' || *r->s == '\n'))
        r->s++;
}

/* Skip white space and take c if it is next. */
static bool take(reader *r, char c)
{
    skip_space(r);
    if (r->s == r->end || *r->s != c) return false;
    r->s++;
    return true;
}

/* 0 .. 15, or -1. */
static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* The four digits after \u. */
static bool hex4(reader *r, uint32_t *out)
{
    *out = 0;
    for (int i = 0; i < 4; i++, r->s++) {
        const int digit = r->s < r->end ? hex_digit(*r->s) : -1;
        if (digit < 0) return bad(r, "four hexadecimal digits");
        *out = *out * 16 + (uint32_t)digit;
    }
    return true;
}

/* After \u: one code point, which may come as two halves. */
static bool code_point(reader *r, uint32_t *c)
{
    uint32_t low = 0;

    if (!hex4(r, c)) return false;
    if (*c < 0xd800 || *c > 0xdfff) return true;
    if (*c >= 0xdc00 || r->end - r->s < 2 || r->s[0] != '\\' || r->s[1] != 'u')
        return bad(r, "the second half of a character");
    r->s += 2;
    if (!hex4(r, &low)) return false;
    if (low < 0xdc00 || low > 0xdfff) return bad(r, "the second half of a character");
    *c = 0x10000 + ((*c - 0xd800) << 10) + (low - 0xdc00);
    return true;
}

/* What stands after a backslash, as UTF-8. */
static bool escape(reader *r)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *at = r->s < r->end ? memchr(from, *r->s, sizeof from - 1) : NULL;
    char utf8[4];
    uint32_t c = 0;

    if (at) {
        ferry_i_text_addn(r->text, &to[at - from], 1);
        r->s++;
        return true;
    }
    if (r->s == r->end || *r->s != 'u') return bad(r, "an escape such as \\n");
    r->s++;
    if (!code_point(r, &c)) return false;
    ferry_i_text_addn(r->text, utf8, ferry_i_put_utf8(utf8, c));
    return true;
}

/* A string, unescaped into text. */
static bool string(reader *r)
{
    r->text->len = 0;
    ferry_i_text_addn(r->text, "", 0);
    if (!take(r, '"')) return bad(r, "a text in double quotes");
    for (const char *from = r->s;; from = r->s) {
        while (r->s < r->end && *r->s != '"' && *r->s != '\\' &&
               (unsigned char)*r->s >= 0x20)
            r->s++;
        ferry_i_text_addn(r->text, from, r->s - from);
        if (r->s == r->end) return bad(r, "the quote that ends a text");
        if (*r->s == '"') break;
        if (*r->s != '\\')
            return bad(r, "a control character written as \\n, \\t or \\u....");
        r->s++;
        if (!escape(r)) return false;
    }
    r->s++;
    if (r->text->failed) r->l->no_memory = true;
    return !r->text->failed;
}

/* A number as JSON writes it. */
static bool number(reader *r, double *x)
{
    skip_space(r);
    const char *digits = r->s < r->end && *r->s == '-' ? r->s + 1 : r->s;
    if (digits == r->end || *digits < '0' || *digits > '9')
        return bad(r, digits < r->end && (*digits == 'N' || *digits == 'I')
                          ? "a finite number"
                          : "a number");
    if (*digits == '0' && r->end - digits > 1 && digits[1] >= '0' && digits[1] <= '9')
        return bad(r, "a number without leading zeros");
    const char *after = ferry_i_parse_real(r->s, r->end, x);
    if (!after || !isfinite(*x)) return bad(r, "a finite number");
    r->s = after;
    return true;
}

/* Whether null comes next; takes it. */
static bool null(reader *r)
{
    skip_space(r);
    if (r->end - r->s < 4 || memcmp(r->s, "null", 4) != 0) return false;
    r->s += 4;
    return true;
}

/* "[" item "," ... "]" */
static bool list(reader *r, bool (*item)(reader *))
{
    if (!take(r, '[')) return bad(r, "a list in [ ]");
    if (take(r, ']')) return true;
    do {
        if (!item(r)) return false;
    } while (take(r, ','));
    return take(r, ']') || bad(r, "',' or ']'");
}

/* A number, or null for a missing cell. */
static bool value_item(reader *r)
{
    double x = NAN;

    return (null(r) || number(r, &x)) && ferry_i_line_number(r->l, x);
}

/* An entry of a sparse row; these are there, so null makes no sense. */
static bool entry_item(reader *r)
{
    double x = 0;

    return number(r, &x) && ferry_i_line_number(r->l, x);
}

/* An index from 0. */
static bool index_item(reader *r)
{
    double x = 0;

    if (!number(r, &x)) return false;
    if (x != floor(x) || x < 0 || x > INT32_MAX)
        return ferry_i_line_bad(r->l, "index %g of x is not a whole number from 0 on", x);
    return ferry_i_line_index(r->l, (int64_t)x);
}

/* {"i": [...], "v": [...]} */
static bool sparse(reader *r)
{
    bool has_i = false, has_v = false;

    if (!take(r, '{')) return bad(r, "a list of numbers, or {\"i\": [...], \"v\": [...]}");
    do {
        if (!string(r)) return false;
        const bool i = strcmp(r->text->s, "i") == 0, v = strcmp(r->text->s, "v") == 0;
        if ((!i && !v) || (i && has_i) || (v && has_v))
            return ferry_i_line_bad(r->l, "x has key '%s', expected i and v once each",
                                    r->text->s);
        if (!take(r, ':')) return bad(r, "':'");
        if (!list(r, i ? index_item : entry_item)) return false;
        has_i = has_i || i;
        has_v = has_v || v;
    } while (take(r, ','));
    if (!take(r, '}')) return bad(r, "',' or '}'");
    if (r->l->index_n != r->l->n)
        return ferry_i_line_bad(r->l, "x has %lld indices and %lld values",
                                (long long)r->l->index_n, (long long)r->l->n);
    if (!has_i || !has_v) return ferry_i_line_bad(r->l, "x has no i or no v");
    r->l->sparse = true;
    return ferry_i_line_sort(r->l);
}

/* A list for a dense row, an object for a sparse one. */
static bool read_x(reader *r)
{
    r->l->has_x = true;
    skip_space(r);
    if (r->s < r->end && *r->s == '{') return sparse(r);
    return list(r, value_item);
}

/* A text or a number, as text. */
static bool name(reader *r, bool *is_number)
{
    char buf[32];
    double x = 0;

    skip_space(r);
    *is_number = r->s < r->end && *r->s != '"';
    if (!*is_number) return string(r);
    const char *from = r->s;
    if (!number(r, &x)) return bad(r, "a text or a number");
    r->text->len = 0;
    /* Whole numbers as they stand: they may have more digits than a double. Others by the name
     * that they have in arrays: 1.0 is "1". */
    if (x == 0 || memchr(from, '.', (size_t)(r->s - from)) ||
        memchr(from, 'e', (size_t)(r->s - from)) ||
        memchr(from, 'E', (size_t)(r->s - from)))
        ferry_i_text_addn(r->text, buf, ferry_i_name_real(buf, x));
    else
        ferry_i_text_addn(r->text, from, r->s - from);
    if (r->text->failed) r->l->no_memory = true;
    return !r->text->failed;
}

/* Texts and numbers both serve as ids; how it was written is kept for the answer. */
static bool read_id(reader *r)
{
    return name(r, &r->l->id_is_number) && ferry_i_line_id(r->l, r->text->s, r->text->len);
}

/* null is the same as no label. */
static bool read_y(reader *r)
{
    bool is_number = false;

    return null(r) ||
           (name(r, &is_number) && ferry_i_line_y(r->l, r->text->s, r->text->len));
}

/* Up to 2^53, the last whole number that JSON writers agree on. */
static bool read_seq(reader *r)
{
    double x = 0;

    if (!number(r, &x)) return false;
    if (x != floor(x) || x < 1 || x > 9007199254740992.0)
        return ferry_i_line_bad(r->l, "seq is %g, expected a whole number from 1 on", x);
    r->l->seq = (int64_t)x;
    return true;
}

static bool read_retract(reader *r)
{
    skip_space(r);
    if (r->end - r->s < 4 || memcmp(r->s, "true", 4) != 0) return bad(r, "true");
    r->s += 4;
    r->l->retract = true;
    return true;
}

static const struct {
    const char *key;
    bool (*read)(reader *);
} keys[] = {{"id", read_id},
            {"x", read_x},
            {"y", read_y},
            {"seq", read_seq},
            {"retract", read_retract}};

/* "key": value, each key at most once. An unknown key is refused: a misspelt one would be
 * lost in silence. */
static bool member(reader *r, unsigned *seen)
{
    int64_t k = 0;

    if (!string(r)) return false;
    while (k < FERRY_COUNT(keys) && strcmp(keys[k].key, r->text->s) != 0)
        k++;
    if (k == FERRY_COUNT(keys))
        return ferry_i_line_bad(r->l, "unknown key '%s', expected id, x, y, seq or retract",
                                r->text->s);
    if (*seen & (1u << k))
        return ferry_i_line_bad(r->l, "key '%s' is there twice", r->text->s);
    *seen |= 1u << k;
    return (take(r, ':') || bad(r, "':'")) && keys[k].read(r);
}

/* {} alone is a question: how far are you? */
static bool object(reader *r)
{
    unsigned seen = 0;

    if (!take(r, '{')) return bad(r, "an object in { }");
    if (take(r, '}')) {
        r->l->empty = true;
        return true;
    }
    do {
        if (!member(r, &seen)) return false;
    } while (take(r, ','));
    return take(r, '}') || bad(r, "',' or '}'");
}

/* The whole line; what must come together is checked at the end, when all keys are known. */
bool ferry_i_line_ndjson(ferry_line *l, const char *s, int64_t n)
{
    reader r = {.s = s, .begin = s, .end = s + n, .l = l, .text = &l->spare_text};

    if (!object(&r)) return false;
    skip_space(&r);
    if (r.s < r.end) return bad(&r, "the end of the line");
    if (l->empty) return true;
    if (l->retract && (l->has_x || l->y_n > 0 || l->id_n == 0))
        return ferry_i_line_bad(l, "expected an id beside retract, and no x or y");
    if (l->retract) return true;
    if (!l->has_x && l->y_n == 0) return ferry_i_line_bad(l, "expected x, or y, or both");
    if (!l->has_x && l->id_n == 0)
        return ferry_i_line_bad(l,
                                "expected the id of the instance that y is the label of");
    return true;
}
