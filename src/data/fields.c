/* Lines and fields of text files.
 *
 * For files that are read a line at a time (ratings, edges, LINQS, ARFF, Matrix Market); large
 * tables and svmlight files go by pieces and threads (lines.c). Fields are pointers into the
 * file: nothing is copied until it is known to be an id. */
#include "data/fields.h"

#include <math.h>
#include <string.h>
#include <strings.h>

/* ---- encoding ---- */

/* Latin-1 is the fallback because every byte string is valid Latin-1, so no file is refused
 * for its letters; a stray byte does not spoil the letters that are UTF-8, since what real
 * Latin-1 texts hold hardly ever is. A byte above 127 becomes two, hence n + high. */
static int64_t put_letter(const char *s, int64_t n, char *to, int64_t *m)
{
    const unsigned char c = (unsigned char)s[0];
    const int64_t k = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;

    if (k <= n && ferry_i_utf8_valid(s, k)) {
        memcpy(to + *m, s, (size_t)k);
        *m += k;
        return k;
    }
    *m += ferry_i_put_utf8(to + *m, c);
    return 1;
}

ferry_status ferry_i_utf8_open(ferry_ctx *ctx, const char *s, int64_t n, ferry_utf8 *out)
{
    int64_t high = 0, m = 0;

    *out = (ferry_utf8){.s = s, .n = n};
    if (ferry_i_utf8_valid(s, n)) return FERRY_OK;
    for (int64_t i = 0; i < n; i++)
        high += (s[i] & 0x80) != 0;
    if (!(out->owned = ferry_i_calloc(n + high, 1))) return ferry_i_nomem(ctx);
    for (int64_t i = 0; i < n;)
        i += put_letter(s + i, n - i, out->owned, &m);
    out->s = out->owned;
    out->n = m;
    return FERRY_OK;
}

void ferry_i_utf8_close(ferry_utf8 *u)
{
    ferry_i_free(u->owned);
    *u = (ferry_utf8){0};
}

/* ---- lines ---- */

const char *ferry_i_sep_line(const char *s, const char *end, char sep[2])
{
    const char *at = s;
    const bool quoted = at < end && *at == '"';

    at += quoted;
    if (end - at < 6 || strncasecmp(at, "sep=", 4) != 0) return s;
    const char named = at[4];
    at += 5;
    if (quoted && *at++ != '"') return s;
    if (at < end && *at == '\r') at++;
    if (at == end || *at != '\n' || !strchr("\t;,| ", named)) return s;
    sep[0] = named;
    return at + 1;
}

ferry_lines ferry_i_lines(const char *s, int64_t n)
{
    const char *end = s + n;
    char sep[2] = "";

    if (n >= 3 && memcmp(s, "\xef\xbb\xbf", 3) == 0) s += 3;
    const char *top = ferry_i_sep_line(s, end, sep);
    return (ferry_lines){.next = top, .end = end, .line = top != s};
}

/* \n and \r\n both end a line; a last line without an end is a line too. */
bool ferry_i_any_line(ferry_lines *l)
{
    if (l->next == l->end) return false;
    /* [s, e) is the line, next the begin of the one behind it */
    const char *nl = memchr(l->next, '\n', (size_t)(l->end - l->next));
    l->s = l->next;
    l->e = nl ? nl : l->end;
    l->next = nl ? nl + 1 : l->end;
    if (l->e > l->s && l->e[-1] == '\r') l->e--;
    l->line++;
    return true;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v';
}

/* strchr() would find the 0 that ends `comments`, so a zero byte is asked for first. */
bool ferry_i_full_line(ferry_lines *l, const char *comments)
{
    while (ferry_i_any_line(l)) {
        const char *s = l->s;
        while (s < l->e && is_space(*s))
            s++;
        if (s < l->e && (*s == 0 || !strchr(comments, *s))) return true;
    }
    return false;
}

/* ---- fields ---- */

/* A word for what is hard to type on a command line; anything else stands for itself. */
const char *ferry_i_sep_of(const char *name)
{
    static const char *const names[][2] = {{"tab", "\t"},      {"comma", ","},
                                           {"semicolon", ";"}, {"space", " "},
                                           {"pipe", "|"},      {"\\t", "\t"}};

    for (int64_t i = 0; i < FERRY_COUNT(names); i++)
        if (strcmp(name, names[i][0]) == 0) return names[i][1];
    return name;
}

/* First place of sep in [s, e), or NULL. memchr for the first byte, since the separator is
 * rare in comparison to text. */
static const char *find(const char *s, const char *e, const char *sep, size_t n)
{
    for (; (size_t)(e - s) >= n; s++) {
        s = memchr(s, sep[0], (size_t)(e - s));
        if (!s || (size_t)(e - s) < n) return NULL;
        if (memcmp(s, sep, n) == 0) return s;
    }
    return NULL;
}

/* From one line, in the order of how unlikely each is to be part of a field. Separators
 * inside double quotes do not count. */
const char *ferry_i_sep_guess(const char *s, const char *e)
{
    static const char *const seps[] = {"::", "\t", ";", ",", "|"};

    for (int64_t i = 0; i < FERRY_COUNT(seps); i++) {
        const size_t n = strlen(seps[i]);
        bool quoted = false;
        for (const char *p = s; (size_t)(e - p) >= n; p++) {
            if (*p == '"') quoted = !quoted;
            if (!quoted && memcmp(p, seps[i], n) == 0) return seps[i];
        }
    }
    return " ";
}

/* Drop white space, then one pair of quotes, around [s, e). Doubled quotes inside stay:
 * ferry_i_field_id() undoes them when the text is kept. */
static ferry_field trimmed(const char *s, const char *e)
{
    while (s < e && is_space(*s))
        s++;
    while (e > s && is_space(e[-1]))
        e--;
    if (e - s >= 2 && *s == '"' && e[-1] == '"') return (ferry_field){s + 1, e - s - 2, *s};
    return (ferry_field){s, e - s, 0};
}

/* End of the field at s: the next separator that is not inside double quotes. With quotes
 * around a field the search begins behind the closing one. */
static const char *field_end(const char *s, const char *e, const char *sep, size_t n)
{
    const char *p = s;

    while (p < e && *p == ' ' && sep[0] != ' ')
        p++;
    if (p < e && *p == '"') {
        for (p++; p < e; p++) {
            if (*p != '"') continue;
            if (p + 1 < e && p[1] == '"')
                p++;
            else
                break;
        }
        s = p < e ? p + 1 : s; /* an open quote is a plain character */
    }
    if (sep[0] == ' ' && n == 1) {
        while (s < e && !is_space(*s))
            s++;
        return s;
    }
    const char *at = find(s, e, sep, n);
    return at ? at : e;
}

/* With white space as separator, runs count as one and none at the ends gives a field; with
 * any other, an empty field is a field. max = 0 only counts (f may be NULL then). */
int64_t ferry_i_fields(const char *s, const char *e, const char *sep, ferry_field *f,
                       int64_t max)
{
    const size_t n = strlen(sep);
    const bool white = n == 1 && sep[0] == ' ';
    int64_t count = 0;

    while (white && s < e && is_space(*s))
        s++;
    if (white && s == e) return 0;
    for (;;) {
        const char *end = field_end(s, e, sep, n);
        if (count < max) f[count] = trimmed(s, end);
        count++;
        if (end == e) return count;
        s = end + n;
        while (white && s < e && is_space(*s))
            s++;
        /* blanks at the end of the line are no field */
        if (white && s == e) return count;
    }
}

/* ASCII only, and `word` must be in lower case. */
bool ferry_i_field_is(const ferry_field *f, const char *word)
{
    for (int64_t i = 0; i < f->n; i++) {
        const char c = f->s[i];
        const char lower = c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
        if (word[i] == 0 || lower != word[i]) return false;
    }
    return word[f->n] == 0;
}

bool ferry_i_decimal_comma(const char *s, int64_t n)
{
    int64_t i = 0, before = 0, after = 0;

    if (n > 0 && (s[0] == '-' || s[0] == '+')) i++;
    for (; i < n && s[i] >= '0' && s[i] <= '9'; i++)
        before++;
    /* behind the digits exactly one comma, then digits to the end */
    if (i == n || s[i++] != ',') return false;
    for (; i < n && s[i] >= '0' && s[i] <= '9'; i++)
        after++;
    return i == n && before > 0 && after > 0;
}

/* Words between anything that may end a field; a comma does not, or there would be none. */
ferry_status ferry_i_decimal_points(ferry_ctx *ctx, const ferry_read_settings *set,
                                    const char *s, int64_t n, char **out)
{
    static const char ends[] = ";\t| \"\r\n";
    ferry_lines l = ferry_i_lines(s, n);
    char *text = NULL;

    if (!(text = ferry_i_strndup(s, n))) return ferry_i_nomem(ctx);
    (void)ferry_i_full_line(&l, "");
    const char *sep = set->sep[0] ? ferry_i_sep_of(set->sep)
                      : l.s       ? ferry_i_sep_guess(l.s, l.e)
                                  : ",";
    for (int64_t i = 0, j = 0; i < n; i = j + 1) {
        for (j = i; j < n && !strchr(ends, text[j]); j++)
            continue;
        const bool quoted = i > 0 && text[i - 1] == '"' && j < n && text[j] == '"';
        if ((quoted || strcmp(sep, ",") != 0) && ferry_i_decimal_comma(text + i, j - i))
            *(char *)memchr(text + i, ',', (size_t)(j - i)) = '.';
    }
    FERRY_MOVE(*out, text);
    return FERRY_OK;
}

bool ferry_i_field_real(const ferry_field *f, double *x)
{
    const char *end = f->s + f->n;

    return f->n > 0 && ferry_i_parse_real(f->s, end, x) == end && isfinite(*x);
}

bool ferry_i_field_int(const ferry_field *f, int64_t *x)
{
    const char *end = f->s + f->n;

    return f->n > 0 && ferry_i_parse_int(f->s, end, x) == end;
}

/* A field without quotes inside goes in as it is: no copy. */
int64_t ferry_i_field_id(ferry_ids *ids, const ferry_field *f, bool *added)
{
    ferry_text t = {0};

    if (!f->quote || !memchr(f->s, f->quote, (size_t)f->n))
        return ferry_i_ids_addn(ids, f->s, f->n, added);
    for (int64_t i = 0; i < f->n; i++) {
        ferry_i_text_addn(&t, f->s + i, 1);
        if (f->s[i] == f->quote && i + 1 < f->n && f->s[i + 1] == f->quote) i++;
    }
    const int64_t at = t.failed ? -1 : ferry_i_ids_addn(ids, t.s, t.len, added);
    ferry_i_text_free(&t);
    return at;
}

/* Cut between characters, never inside one, and without control bytes: messages end up on
 * terminals. */
const char *ferry_i_field_show(const ferry_field *f, char buf[44])
{
    int64_t n = f->n < 40 ? f->n : 40;

    while (n < f->n && n > 0 && (f->s[n] & 0xc0) == 0x80)
        n--; /* whole characters */
    for (int64_t i = 0; i < n; i++)
        buf[i] = (unsigned char)f->s[i] < ' ' || f->s[i] == 127 ? '?' : f->s[i];
    strcpy(buf + n, f->n > 40 ? "..." : "");
    return buf;
}

/* Empty texts are quoted as well: bare they would vanish between two separators; control characters, because
 * bare they look like binary data. */
void ferry_i_out_field(ferry_out *o, const char *text, char sep)
{
    const char risky[] = {sep, '"', '#', '%', 0};
    const int64_t n = (int64_t)strlen(text);
    bool control = false;

    for (int64_t i = 0; i < n; i++)
        control = control || (unsigned char)text[i] < ' ' || text[i] == 127;
    if (n > 0 && !control && !strpbrk(text, risky) && !is_space(text[0]) &&
        !is_space(text[n - 1])) {
        ferry_i_out_write(o, text, n);
        return;
    }
    ferry_i_out_write(o, "\"", 1);
    for (int64_t i = 0; i < n; i++)
        ferry_i_out_write(o, text[i] == '"' ? "\"\"" : text + i, text[i] == '"' ? 2 : 1);
    ferry_i_out_write(o, "\"", 1);
}
