/* From text to words.
 *
 * A word is a run of letters, or of anything but white space (tokens = spaces). All bytes
 * above ASCII count as letters: in UTF-8 they are parts of characters, most of which are
 * letters. The price is that dashes and quotes beyond ASCII stick to the words beside them.
 * Case is Unicode's (core/unicode.c).
 *
 * Mail: a message is headers, an empty line and a body (RFC 5322). Headers give away the class
 * by themselves (newsgroup, organisation), so a fair test strips them; the subject is
 * text. */
#include <string.h>

#include "data/text.h"

static bool is_letter(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c >= 0x80;
}

/* All control characters count as white space, DEL too. */
static bool is_blank(unsigned char c)
{
    return c <= ' ' || c == 127;
}

/* Characters and not bytes: those that continue one (10xxxxxx) are not counted. */
static int64_t characters(const char *s, int64_t n)
{
    int64_t k = 0;

    for (int64_t i = 0; i < n; i++)
        k += (s[i] & 0xc0) != 0x80;
    return k;
}

/* Words that keep their case are handed over where they stand, without a copy. */
void each_word(scope *s, word_rule *w, const char *text, int64_t n)
{
    for (int64_t i = 0; i < n;) {
        const char *from = text + i;
        while (i < n && (w->spaces ? !is_blank((unsigned char)text[i])
                                   : is_letter((unsigned char)text[i])))
            i++;
        int64_t len = text + i - from;
        if (len == 0) i++; /* no word begins here */
        if (len == 0 || characters(from, len) < w->min_len) continue;
        if (w->lower) {
            ferry_text *to = w->buffer;
            while (2 * len > to->cap) /* a few letters grow */
                if (!ferry_i_grow((void **)&to->s, to->cap, &to->cap, 1)) have(s, NULL);
            len = ferry_i_utf8_lower(from, len, to->s);
            from = to->s;
        }
        w->each(w->arg, from, len);
    }
}

/* Length of a mail header's name at s ("Subject" of "Subject: ..."), or 0. */
static int64_t header_name(const char *s, const char *e)
{
    const char *p = s;

    while (p < e && ((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || *p == '-'))
        p++;
    return p < e && *p == ':' ? p - s : 0;
}

/* The lines of the subject and everything behind the first empty line, into t. A text whose
 * first line is no header is no mail and goes in whole. */
static void strip_lines(const char *s, int64_t n, ferry_text *t)
{
    ferry_lines l = ferry_i_lines(s, n);
    bool subject = false;

    if (!ferry_i_any_line(&l) || header_name(l.s, l.e) == 0) {
        ferry_i_text_addn(t, s, n);
        return;
    }
    do {
        if (l.e == l.s) break;
        const int64_t name = header_name(l.s, l.e);
        const ferry_field f = {l.s, name, 0};
        /* a line that begins with a blank continues the header above */
        if (*l.s != ' ' && *l.s != '\t') subject = ferry_i_field_is(&f, "subject");
        if (!subject) continue;
        const char *from = name > 0 ? l.s + name + 1 : l.s;
        ferry_i_text_addn(t, from, l.e - from);
        ferry_i_text_addn(t, "\n", 1);
    } while (ferry_i_any_line(&l));
    ferry_i_text_addn(t, l.next, l.end - l.next);
}

/* No memory shows in t->failed, as for every growing text. */
void ferry_i_strip_mail(const char *s, int64_t n, ferry_text *t)
{
    char *lines = NULL;

    /* Some copies of 20 Newsgroups have a tab for every newline. Split at newlines only,
     * the whole message would be one header. */
    if (n > 0 && !memchr(s, '\n', (size_t)n) && memchr(s, '\t', (size_t)n) &&
        header_name(s, s + n) > 0) {
        lines = ferry_i_strndup(s, n);
        if (!lines) {
            t->failed = true;
            return;
        }
        for (int64_t i = 0; i < n; i++)
            if (lines[i] == '\t') lines[i] = '\n';
        s = lines;
    }
    strip_lines(s, n, t);
    ferry_i_free(lines);
}
