/* Delimited text: separator, and whether the first line is a header.
 *
 * Guesses look at the first SAMPLE lines only and are made for the whole file: a separator is
 * the one that gives the same number of fields on every line (on most, where none does), and
 * the first line is a header when it looks unlike what stands below it. Each can be overruled
 * by an option, and `ferry inspect` shows what was taken. */
#include "data/delimited.h"

#include <math.h>
#include <string.h>
#include <strings.h>

/* in the order of the option's words "auto|yes|no" */
enum { HEADER_AUTO = 0, HEADER_YES = 1, HEADER_NO = 2 };
#define SAMPLE 200 /* lines that guesses look at */

/* ---- separator ---- */

/* n_sep = 0 stands for runs of blanks, which have no fixed length. */
static void set_separator(table *t, const char *text)
{
    const bool blanks = strcmp(text, " ") == 0;

    memset(t->sep, 0, sizeof t->sep);
    strncpy(t->sep, text, sizeof t->sep - 1);
    t->n_sep = blanks ? 0 : (int)strlen(t->sep);
}

/* Fields of one record; 0 when it does not parse. */
static int64_t fields_of(const table *t, cursor *c, bool *full)
{
    int64_t n = 0;
    bool last = false;
    ferry_span f = {0};

    while (!last) {
        if (!next_field(t, c, &f, &last)) return 0;
        n++;
    }
    *full = f.n > 0;
    next_line(c);
    return n;
}

/* Whether the line at c holds names over lines of one field more, as R writes tables with names of
 * rows. A number is no name unless it is quoted, or the user says that the line is a header: a
 * line of data may be cut short, or say how many follow. A separator too many at the end of each
 * line looks alike, but for the blank field behind it. */
static bool over_row_names(const table *t, cursor c)
{
    int64_t n = 0, below = 0;
    bool last = false, full = false;
    double v = 0;

    for (; !last; n++) {
        ferry_span f = {0};
        if (!next_field(t, &c, &f, &last)) return false;
        const bool quoted = t->quotes && is_quoted(f);
        if (t->set->header != HEADER_YES && !quoted && read_cell(t, f, &v) != CELL_TEXT)
            return false;
    }
    next_line(&c);
    for (skip_blank_lines(&c); c.s < c.end && below < 3; skip_blank_lines(&c), below++)
        if (fields_of(t, &c, &full) != n + 1 || !full) return false;
    return n >= 2 && below > 0;
}

/* How many of the first lines have as many fields as the first one (more than one); -1 when
 * the separator does not occur there. A line that does not parse ends the look: what
 * follows an open quote means nothing. */
static int agreement(const table *t, int64_t *fields, int *lines)
{
    cursor c = {t->top, t->end, 1};
    int agree = 0;
    bool full = false;

    *lines = 0;
    *fields = 0;
    for (skip_blank_lines(&c); c.s < c.end && *lines < SAMPLE; skip_blank_lines(&c)) {
        const cursor here = c;
        const int64_t n = fields_of(t, &c, &full);
        if (*lines == 0) *fields = n + over_row_names(t, here);
        agree += n == *fields || *lines == 0;
        (*lines)++;
        if (n == 0) break;
    }
    return *fields > 1 ? agree : -1;
}

/* Whether all lines but the first, two and more, have the same number of fields, and all have several:
 * the first is cut, or says how many follow. */
static bool all_but_first(const table *t)
{
    cursor c = {t->top, t->end, 1};
    int64_t fields = 0, lines = 0;
    bool full = false;

    for (skip_blank_lines(&c); c.s < c.end && lines < SAMPLE;
         skip_blank_lines(&c), lines++) {
        const int64_t n = fields_of(t, &c, &full);
        if (lines == 1) fields = n;
        if (n < 2 || (lines > 1 && n != fields)) return false;
    }
    return lines > 2;
}

/* Tab and semicolon are asked before the comma, which may be a decimal comma or part of a
 * text; blanks come last, since texts hold them too. The first that splits all lines alike
 * wins; else the one that splits most (more than half), and the result 0 says that it is
 * not sure, as does one that splits all but the first alike: that line is refused then, where
 * another separator would make one column of it all. A file that names its own (Excel's sep=) is
 * believed. */
int64_t guess_separator(table *t)
{
    static const char *const all[] = {"\t", ";", ",", "|", "::", " "};
    int best = 0, most = -1;

    for (int k = 0; k < (t->named[0] ? 1 : FERRY_COUNT(all)); k++) {
        int64_t fields = 0;
        int lines = 0;
        set_separator(t, t->named[0] ? t->named : all[k]);
        const int agree = agreement(t, &fields, &lines);
        if (agree > 0 && agree == lines) return fields;
        /* not certain: keep the best that more than half of the lines agree on */
        if (agree > most && 2 * agree > lines) {
            most = agree;
            best = k;
        }
    }
    for (int k = 0; k < FERRY_COUNT(all) && most < 0 && !t->named[0]; k++) {
        set_separator(t, all[k]);
        if (all_but_first(t)) return 0;
    }
    set_separator(t, t->named[0] ? t->named : most >= 0 ? all[best] : ",");
    return 0;
}

/* A file of labels alone may have no separator at all. */
static void choose_separator(table *t)
{
    const char *sep = t->set->sep;

    if (strlen(sep) >= sizeof t->sep || strpbrk(sep, "\"\n"))
        scope_fail(t->s, FERRY_EINVAL, "reader: sep = %s is not a separator", sep);
    if (sep[0]) {
        set_separator(t, ferry_i_sep_of(sep));
    } else if (guess_separator(t) == 0 && t->from->as == FERRY_DATA_LABELS) {
        set_separator(t, "\n"); /* one label a line, whatever is in it */
    }
}

/* ---- header ---- */

/* What the lines below the first say about a column. Counts are of cells in the sample, one
 * struct a column. */
typedef struct glance {
    ferry_span first;
    cell first_is;
    double first_value;
    bool first_quoted;
    int64_t numbers, texts, blanks, quoted, same_as_first;
} glance;

/* By bytes: "1" and "1.0" differ here. */
static bool span_equal(ferry_span a, ferry_span b)
{
    return a.n == b.n && memcmp(a.s, b.s, (size_t)a.n) == 0;
}

/* In any case of letters, and also in quotes. */
static bool span_is(ferry_span f, const char *word)
{
    if (is_quoted(f)) f = (ferry_span){f.s + 1, f.n - 2};
    return (int64_t)strlen(word) == f.n && strncasecmp(f.s, word, (size_t)f.n) == 0;
}

/* Look at the sample. Lines with another number of fields are left to the real reading. */
static void look(const table *t, glance *g, cursor c)
{
    for (int line = 0; line <= SAMPLE; line++) {
        bool last = false;
        skip_blank_lines(&c);
        if (c.s >= c.end) return;
        for (int64_t j = line == 0 && t->row_names ? 1 : 0; !last; j++) {
            ferry_span f;
            double v = 0;
            if (!next_field(t, &c, &f, &last)) return;
            if (j >= t->cols) continue;
            const cell is = read_cell(t, f, &v);
            if (line == 0) {
                g[j].first = f;
                g[j].first_is = is;
                g[j].first_value = v;
                g[j].first_quoted = t->quotes && is_quoted(f);
                continue;
            }
            g[j].numbers += is == CELL_NUMBER;
            g[j].texts += is == CELL_TEXT;
            g[j].blanks += is == CELL_MISSING;
            g[j].quoted += is_quoted(f);
            g[j].same_as_first += span_equal(f, g[j].first);
        }
        next_line(&c);
    }
}

/* Names of columns differ. Beyond 1000 columns the O(n^2) comparison is not worth its
 * time. */
static bool all_differ(const glance *g, int64_t n)
{
    for (int64_t i = 0; i < n && n <= 1000; i++)
        for (int64_t j = 0; j < i; j++)
            if (span_equal(g[i].first, g[j].first)) return false;
    return true;
}

/* What columns beside numbered ones are called. */
static bool known_name(ferry_span f)
{
    static const char *const words[] = {"label",  "labels", "class", "classes",
                                        "target", "y",      "id"};

    for (int64_t i = 0; i < FERRY_COUNT(words); i++)
        if (span_is(f, words[i])) return true;
    return false;
}

/* Whether a text of column j comes again below the first line, as names of classes do. */
static bool text_repeats(const table *t, int64_t j)
{
    cursor c = {t->body, t->end, 1};
    ferry_span seen[SAMPLE];
    int n = 0;

    for (int line = 0; line <= SAMPLE; line++) {
        bool last = false;
        double v = 0;
        skip_blank_lines(&c);
        if (c.s >= c.end) return false;
        for (int64_t k = 0; !last; k++) {
            ferry_span f;
            if (!next_field(t, &c, &f, &last)) return false;
            if (k != j || line == 0 || read_cell(t, f, &v) != CELL_TEXT) continue;
            for (int i = 0; i < n; i++)
                if (span_equal(f, seen[i])) return true;
            seen[n++] = f;
        }
        next_line(&c);
    }
    return false;
}

/* Whether what stands beside the numbers of the first line are names: texts that do not come again,
 * all of them, and one is a usual name or stands over classes. Else the line is an instance, which
 * may have a text of its own, such as its id, or miss a cell. */
static bool names_beside(const table *t, const glance *g)
{
    bool sure = false;
    int looks = 0;

    for (int64_t j = 0; j < t->cols; j++) {
        if (g[j].first_is == CELL_NUMBER) continue;
        if (g[j].first_is != CELL_TEXT || g[j].texts == 0 || g[j].same_as_first > 0)
            return false;
        /* a column costs a look at the sample: a few are enough */
        sure = sure || known_name(g[j].first) || (looks++ < 16 && text_repeats(t, j));
    }
    return sure;
}

/* Names over numbers; or column numbers 0, 1, 2, ... as some programs write (the last,
 * added later, may break the row; or names stand beside them, as in 0,1,2,label over
 * classes); or names over nothing at all; or, where all is text, a column called id or
 * label. Any one of the signs is enough; a wrong "yes" loses an
 * instance, a wrong "no" turns every column of numbers into categories, which
 * delimited_features.c would then report. */
static bool looks_like_header(const table *t, const glance *g)
{
    bool over_numbers = false, all_text = true, counting = true, known = false;
    bool over_nothing = true;
    int64_t counted = 0;
    double start = NAN;

    for (int64_t j = 0; j < t->cols; j++) {
        /* a text over a column that is numbers below: a name; so is a number in quotes over
         * numbers without, as R and our writer quote names */
        const bool text = g[j].first_is == CELL_TEXT ||
                          (g[j].first_quoted && g[j].numbers > 0 && g[j].quoted == 0);
        over_numbers |= text && g[j].numbers > 0 && g[j].texts == 0;
        all_text &= text;
        /* every cell below is blank: only a header can be text here */
        over_nothing &= g[j].blanks > 0 && g[j].numbers + g[j].texts == 0;
        known |= span_is(g[j].first, "id") || span_is(g[j].first, "label");
        if (g[j].first_is != CELL_NUMBER) continue;
        if (counted == 0) start = g[j].first_value;
        const bool last = counted == t->cols - 1;
        counting &= last || g[j].first_value == (double)counted + start;
        counted++;
    }
    if (over_numbers) return true;
    /* 0, 1, 2, ... or 1, 2, 3, ...: any other run of numbers is more likely data */
    if (counting && (start == 0 || start == 1))
        if (counted < t->cols ? counted >= 3 && names_beside(t, g) : counted >= 5)
            return true;
    if (!all_text || !all_differ(g, t->cols)) return false;
    if (known || over_nothing) return true;
    /* all text: the first line is a header if its cells never come again while others do */
    int64_t rows = g[0].texts, again = 0;
    for (int64_t j = 0; j < t->cols; j++)
        again += g[j].same_as_first;
    return t->cols > 1 && rows > 1 && again == 0 && t->from->as != FERRY_DATA_LABELS;
}

/* A name that is there again becomes "name (2)" and so on: some programs write headers that repeat. A header
 * of n equal names costs O(n), since each name counts how often it came. */
static void make_unique(table *t, int64_t line)
{
    ferry_ids *names = new_ids(t->s);
    int64_t *count = NEW(t->s, int64_t, t->cols);
    bool warned = false;

    for (int64_t j = 0; j < t->cols; j++) {
        char *name = t->col[j].name, *other = NULL;
        bool added = false;
        const int64_t at = add_id(t->s, names, name, (int64_t)strlen(name), &added);
        if (added) continue;
        for (int64_t k = count[at] + 2; !added; k++) {
            scope_drop(t->s, other);
            other = scope_text(t->s, "%s (%lld)", name, (long long)k);
            (void)add_id(t->s, names, other, (int64_t)strlen(other), &added);
            count[at]++;
        }
        if (!warned)
            ferry_i_log(scope_ctx(t->s), FERRY_WARN,
                        "%s:%lld: the name %s is there twice; the later one is called %s, "
                        "and others that repeat likewise",
                        t->from->path, (long long)line, name, other);
        warned = true;
        t->col[j].name = other;
    }
}

/* Keep the names of the first line. */
static void take_names(table *t, const glance *g, int64_t line)
{
    for (int64_t j = 0; j < t->cols; j++) {
        t->col[j].name = g[j].first.n > 0
                             ? field_text(t->s, g[j].first)
                             : scope_text(t->s, "column %lld", (long long)j + 1);
        /* what pandas calls a column without a name when it writes a table that it has read */
        t->col[j].unnamed = g[j].first.n == 0 || span_is(g[j].first, "unnamed: 0");
    }
    make_unique(t, line);
}

/* The number of columns is the first line's; rows with another are refused when they are
 * read. The roles set here are a first guess from the sample (text or number). */
void table_layout(table *t)
{
    choose_separator(t);
    cursor c = {t->top, t->end, ferry_i_line_of(t->begin, t->top)};
    skip_blank_lines(&c);
    if (c.s == c.end)
        bad_at(t->s, t->from->path, 0, "no instances, only a header or blank lines");
    const cursor first = c;
    bool full = false;
    t->cols = fields_of(t, &c, &full);
    if (t->cols == 0)
        bad_at(t->s, t->from->path, first.line,
               "a quote is not closed, or text follows it");
    t->row_names = t->set->header != HEADER_NO && over_row_names(t, first);
    t->cols += t->row_names;
    t->col = NEW(t->s, column, t->cols);
    glance *g = NEW(t->s, glance, t->cols);
    g[0].first.s = ""; /* with row_names nothing stands there */
    /* what the first line looks like, and what stands below it */
    t->body = first.s;
    look(t, g, first);
    t->header = t->set->header == HEADER_YES || t->row_names ||
                (t->set->header == HEADER_AUTO && looks_like_header(t, g));
    for (int64_t j = 0; j < t->cols; j++) {
        /* text below the header, or in the first line where there is none */
        const bool text = g[j].texts > 0 || (!t->header && g[j].first_is == CELL_TEXT);
        t->col[j].role = text ? COL_CATEGORY : COL_NUMBER;
    }
    if (t->header) {
        take_names(t, g, first.line);
        /* c stands behind the first record, which was the header */
        t->body = c.s;
    }
    scope_drop(t->s, g);
}
