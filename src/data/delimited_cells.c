/* Delimited text: fields, and all rows at once.
 *
 * Threads parse pieces of the file straight into the matrix. Pieces end at line ends;
 * where a field may be quoted and hold newlines, the ends are found by one pass over the
 * records first. A column taken for numbers that turns out to hold text is marked, and the
 * rows are parsed once more with it as text. Ranks that read together share the pieces; the pass over the
 * records is made by each.
 */
#include "data/delimited.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "core/ranks.h"

/* Blanks that may stand around a field: a tab may be the separator. */
static bool is_padding(const table *t, char c)
{
    return c == ' ' || c == '\r' || (c == '\t' && t->sep[0] != '\t');
}

/* A line of blanks only is no record, wherever it stands. The cursor stops at the begin of
 * the line that has something in it, its blanks included. */
void skip_blank_lines(cursor *c)
{
    while (c->s < c->end) {
        const char *s = c->s;
        while (s < c->end && ferry_i_is_blank(*s))
            s++;
        if (s < c->end && *s != '\n') return;
        c->line++;
        c->s = s < c->end ? s + 1 : s;
    }
}

void next_line(cursor *c)
{
    if (c->s < c->end) c->s++;
    c->line++;
}

/* Only for n_sep > 0. */
static bool at_separator(const table *t, const char *s, const char *end)
{
    return end - s >= t->n_sep && memcmp(s, t->sep, (size_t)t->n_sep) == 0;
}

/* c stands after a field's text: step over padding and the separator. False: other text. */
static bool end_field(const table *t, cursor *c, bool *last)
{
    while (c->s < c->end && is_padding(t, *c->s))
        c->s++;
    *last = c->s == c->end || *c->s == '\n';
    if (*last || t->n_sep == 0) return true;
    if (!at_separator(t, c->s, c->end)) return false;
    c->s += t->n_sep;
    return true;
}

/* The closing quote of the one at s, or NULL; counts newlines. RFC 4180: inside quotes ""
 * stands for one quote, and separators and newlines are text. */
static const char *closing_quote(const char *s, const char *end, int64_t *line)
{
    for (s++; s < end; s++) {
        if (*s == '\n') (*line)++;
        if (*s != '"') continue;
        if (s + 1 == end || s[1] != '"') return s;
        s++; /* a doubled one stands for itself */
    }
    return NULL;
}

/* Three loops for the three kinds of separator, so that the usual one (a single byte)
 * compares bytes and nothing else. A quote counts only as the first byte of a field. */
bool next_field(const table *t, cursor *c, ferry_span *out, bool *last)
{
    while (c->s < c->end && is_padding(t, *c->s))
        c->s++;
    const char *from = c->s;
    if (t->quotes && from < c->end && *from == '"') {
        const char *close = closing_quote(from, c->end, &c->line);
        if (!close) return false;
        c->s = close + 1;
        *out = (ferry_span){from, c->s - from};
        /* between blanks a closing quote must be followed by one */
        if (t->n_sep == 0 && c->s < c->end && !ferry_i_is_blank(*c->s) && *c->s != '\n')
            return false;
        return end_field(t, c, last);
    }
    const char *s = from;
    if (t->n_sep == 0) {
        while (s < c->end && *s != '\n' && !ferry_i_is_blank(*s))
            s++;
    } else if (t->n_sep == 1) {
        while (s < c->end && *s != '\n' && *s != t->sep[0])
            s++;
    } else {
        while (s < c->end && *s != '\n' && !at_separator(t, s, c->end))
            s++;
    }
    c->s = s;
    /* c->s stands at the separator; the blanks before it are not the field's */
    while (s > from && ferry_i_is_blank(s[-1]))
        s--;
    *out = (ferry_span){from, s - from};
    return end_field(t, c, last);
}

/* Words for infinity count as numbers, so that one among numbers is refused and does not
 * turn the column into categories. */
bool is_number(ferry_span f, double *value)
{
    if (ferry_i_parse_real(f.s, f.s + f.n, value) == f.s + f.n) return true;
    *value = INFINITY;
    if (f.n > 0 && (*f.s == '-' || *f.s == '+')) f = (ferry_span){f.s + 1, f.n - 1};
    return (f.n == 3 && strncasecmp(f.s, "inf", 3) == 0) ||
           (f.n == 8 && strncasecmp(f.s, "infinity", 8) == 0);
}

/* A quoted "NA" is a text and not missing, but quoted numbers are numbers: many programs
 * quote every cell. An empty cell is missing, quoted or not. */
cell read_cell(const table *t, ferry_span f, double *value)
{
    const bool quoted = f.n >= 2 && *f.s == '"' && t->quotes;

    if (quoted) f = (ferry_span){f.s + 1, f.n - 2};
    if (f.n == 0 || (!quoted && ferry_i_is_missing(f.s, f.n, t->set->missing)))
        return CELL_MISSING;
    return is_number(f, value) ? CELL_NUMBER : CELL_TEXT;
}

char *field_text(scope *s, ferry_span f)
{
    const bool quoted = is_quoted(f);
    const char *end = f.s + f.n - quoted;
    char *text = NEW(s, char, f.n + 1), *to = text;

    for (const char *from = f.s + quoted; from < end; from++) {
        *to++ = *from;
        if (quoted && *from == '"') from++;
    }
    return text;
}

/* Nearly no field has quotes inside, so a copy is made for those alone. */
int64_t add_field(scope *s, ferry_ids *into, ferry_span f, bool *added)
{
    if (!is_quoted(f)) return add_id(s, into, f.s, f.n, added);
    if (!memchr(f.s + 1, '"', (size_t)f.n - 2))
        return add_id(s, into, f.s + 1, f.n - 2, added);
    char *text = field_text(s, f);
    const int64_t at = add_id(s, into, text, (int64_t)strlen(text), added);
    scope_drop(s, text);
    return at;
}

/* ---- rows ---- */

/* A cell of a column of numbers that the quick way did not take. False: stop here. Missing
 * is NaN. Text in a column that was thought numeric is marked for all threads to see; the
 * cell's value does not matter, because the whole table will be parsed again. Threads only
 * ever write 1 there, and it is read after the parallel loop. */
static bool slow_number(table *t, piece *p, const cursor *c, int64_t col, ferry_span f,
                        double *out)
{
    switch (read_cell(t, f, out)) {
    case CELL_MISSING: *out = NAN; return true;
    case CELL_NUMBER:
        if (isfinite(*out)) return true;
        piece_bad(p, c->line, "column %lld: '%.*s' is not a finite number",
                  (long long)col + 1, SHOWN(f));
        return false;
    case CELL_TEXT: break;
    }
    if (t->col[col].must_be_number) {
        piece_bad(p, c->line, "column %lld: expected a number, found '%.*s'",
                  (long long)col + 1, SHOWN(f));
        return false;
    }
#pragma omp atomic write
    t->col[col].found_text = 1;
    *out = NAN;
    return true;
}

/* Count the fields from column `col` on, for the message. Count on to the end of the
 * record, so that the message gives both numbers. */
static void wrong_count(const table *t, piece *p, cursor c, int64_t line, int64_t found,
                        bool last)
{
    ferry_span f;

    while (!last && next_field(t, &c, &f, &last))
        found++;
    piece_bad(p, line, "expected %lld fields, found %lld", (long long)t->cols,
              (long long)found);
}

/* A number followed at once by the separator or the end of the line: nearly every cell.
 * Anything else, such as quotes, blanks before a comma or a separator of several bytes, is
 * left to next_field(): false leaves the cursor where it was. */
static bool quick_number(const table *t, cursor *c, double *out, bool *last)
{
    const char *s = c->s;
    double v;

    while (s < c->end && *s == ' ')
        s++;
    s = ferry_i_parse_real(s, c->end, &v);
    /* NaN and infinity fail the comparison too: the slow path separates missing from wrong */
    if (!s || !(fabs(v) <= 1.7976931348623157e308)) return false;
    if (t->n_sep == 0)
        while (s < c->end && (*s == ' ' || *s == '\t' || *s == '\r'))
            s++;
    if (s < c->end && t->n_sep == 1 && *s == t->sep[0]) {
        *last = false;
        c->s = s + 1;
    } else if (t->n_sep == 0 && s < c->end && *s != '\n' && ferry_i_is_blank(s[-1])) {
        *last = false;
        c->s = s;
    } else if (s == c->end || *s == '\n') {
        *last = true;
        c->s = s;
    } else {
        return false;
    }
    *out = v;
    return true;
}

/* One instance into row `row`. False: the piece has an error. */
static bool read_row(table *t, piece *p, cursor *c, int64_t row)
{
    const int64_t line = c->line;
    double *num = t->x ? t->x + row * t->numbers : NULL;
    ferry_span *text = t->text + row * t->texts;
    bool last = false;

    for (int64_t j = 0; j < t->cols; j++) {
        const column *col = &t->col[j];
        ferry_span f;
        if (last) {
            wrong_count(t, p, *c, line, j, last);
            return false;
        }
        if (col->role == COL_NUMBER && t->plain_numbers &&
            quick_number(t, c, &num[col->slot], &last))
            continue;
        if (!next_field(t, c, &f, &last)) {
            piece_bad(p, line, "column %lld: text after a closing quote", (long long)j + 1);
            return false;
        }
        if (col->role == COL_NUMBER) {
            if (!slow_number(t, p, c, j, f, &num[col->slot])) return false;
        } else if (col->role != COL_DROP) {
            double v;
            /* ids may be called anything */
            const bool missing = col->role != COL_ID && read_cell(t, f, &v) == CELL_MISSING;
            text[col->slot] = missing ? (ferry_span){NULL, 0} : f;
        }
    }
    if (!last) wrong_count(t, p, *c, line, t->cols, last);
    return last;
}

/* All rows of one piece, into the rows from p->row_at on. Pieces write to rows of their
 * own, so threads need no lock. */
static void parse(void *arg, piece *p)
{
    table *t = arg;
    cursor c = {p->begin, p->end, p->line};
    int64_t row = p->row_at;

    for (skip_blank_lines(&c); c.s < c.end; skip_blank_lines(&c)) {
        if (!read_row(t, p, &c, row)) return;
        next_line(&c);
        row++;
    }
    p->rows = row - p->row_at;
}

/* Move piece ends that lie inside a quoted field to the end of its record. A serial pass,
 * only for files with a quote in them. Whether a newline ends a record cannot be known from
 * the middle of a file, only by reading the quotes from the start. Pieces may become fewer,
 * when one record runs over several planned ends. */
static void move_cuts(const table *t, records *r)
{
    cursor c = {t->body, t->end, ferry_i_line_of(t->begin, t->body)};
    int64_t k = 0, kept = 0;
    const char *begin = t->body;

    while (c.s < c.end) {
        const int64_t line = c.line;
        bool last = false;
        ferry_span f;
        while (!last)
            if (!next_field(t, &c, &f, &last))
                bad_at(t->s, r->path, line, "a quote is not closed, or text follows it");
        next_line(&c);
        /* skip the planned ends that this record ran over */
        while (k < r->pieces && r->piece[k].end < c.s)
            k++;
        if (k < r->pieces && r->piece[k].end > c.s) continue;
        /* exactly at a planned end, or past it: a new piece begins here */
        r->piece[kept].begin = begin;
        r->piece[kept++].end = begin = c.s;
    }
    r->pieces = kept;
}

/* Parse all with the columns' present roles. Slots are given out anew each time, since a column that turned into
 * text moved from one store to the other. */
static void fill(table *t, records *r)
{
    t->numbers = t->texts = 0;
    for (int64_t j = 0; j < t->cols; j++)
        if (t->col[j].role != COL_DROP)
            t->col[j].slot = t->col[j].role == COL_NUMBER ? t->numbers++ : t->texts++;
    ferry_i_matrix_free(t->d->x);
    t->d->x = NULL;
    scope_drop(t->s, t->text);
    r->stores = 0;
    t->x = NULL;
    if (t->numbers > 0) {
        scope_check(t->s,
                    ferry_i_matrix_dense(scope_ctx(t->s), r->rows, t->numbers, &t->d->x));
        t->x = t->d->x->dense;
        records_store(r, t->x, (size_t)t->numbers * sizeof *t->x, false);
    }
    /* rows * texts * sizeof(ferry_span) must not overflow */
    if (t->texts > 0 && r->rows >= INT64_MAX / 64 / t->texts) have(t->s, NULL);
    t->text = NEW(t->s, ferry_span, r->rows * t->texts);
    records_spans(r, t->text, t->texts);
    records_parse(r, false, parse, t);
    records_check(r);
}

/* Columns of numbers in which any rank has met text turn into categories. False: there are none. */
static bool turn_columns(table *t)
{
    const int64_t mark = scope_mark(t->s);
    double *found = NEW(t->s, double, t->cols);
    bool turned = false;

    for (int64_t j = 0; j < t->cols; j++)
        found[j] = t->col[j].found_text;
    scope_check(t->s, ferry_i_ranks_most(scope_ctx(t->s), t->cols, found));
    for (int64_t j = 0; j < t->cols; j++) {
        if (!(found[j] > 0) || t->col[j].role != COL_NUMBER) continue;
        t->col[j].role = COL_CATEGORY;
        turned = true;
    }
    scope_release(t->s, mark);
    return turned;
}

/* The loop ends: each round turns at least one column
 * from number to text, and all that hold text are found in one round unless an error stops
 * it. Places are those of all lines; blank ones and newlines in quotes leave gaps. */
void table_load(table *t)
{
    records *r = &t->r;

    *r = (records){
        .s = t->s, .path = t->from->path, .text = t->begin, .body = t->body, .end = t->end};
    records_cut(r);
    if (t->quotes) move_cuts(t, r);
    records_count(r);
    do
        fill(t, r);
    while (turn_columns(t));
    records_close(r);
    t->rows = r->rows;
    if (t->x) {
        t->d->x->rows = t->rows;
        t->d->x->nnz = t->rows * t->numbers;
    }
    if (t->rows == 0)
        bad_at(t->s, r->path, 0, "no instances, only a header or blank lines");
}
