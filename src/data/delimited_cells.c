/* Delimited text: fields, and all rows at once.
 *
 * Threads parse pieces of the file straight into the matrix. Pieces end at line ends;
 * where a field may be quoted and hold newlines, the ends are found by one pass over the
 * records first. A column taken for numbers that turns out to hold text is noted, and the
 * rows are parsed once more with it as text. Ranks that read together share the pieces (lines.h); the pass over the
 * records is made by each.
 */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "core/ranks.h"
#include "data/delimited.h"

/* Blanks that may stand around a field: a tab may be the separator. */
static bool is_padding(const ferry_table *t, char c)
{
    return c == ' ' || c == '\r' || (c == '\t' && t->sep[0] != '\t');
}

/* A line of blanks only is no record, wherever it stands. The cursor stops at the begin of
 * the line that has something in it, its blanks included. */
void ferry_i_skip_blank_lines(ferry_cursor *c)
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

void ferry_i_next_line(ferry_cursor *c)
{
    if (c->s < c->end) c->s++;
    c->line++;
}

/* Only for n_sep > 0. */
static bool at_separator(const ferry_table *t, const char *s, const char *end)
{
    return end - s >= t->n_sep && memcmp(s, t->sep, (size_t)t->n_sep) == 0;
}

/* c stands after a field's text: step over padding and the separator. False: other text. */
static bool end_field(const ferry_table *t, ferry_cursor *c, bool *last)
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
bool ferry_i_field(const ferry_table *t, ferry_cursor *c, ferry_span *out, bool *last)
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
bool ferry_i_number_cell(ferry_span f, double *value)
{
    if (ferry_i_parse_real(f.s, f.s + f.n, value) == f.s + f.n) return true;
    *value = INFINITY;
    if (f.n > 0 && (*f.s == '-' || *f.s == '+')) f = (ferry_span){f.s + 1, f.n - 1};
    return (f.n == 3 && strncasecmp(f.s, "inf", 3) == 0) ||
           (f.n == 8 && strncasecmp(f.s, "infinity", 8) == 0);
}

/* A quoted "NA" is a text and not missing, but quoted numbers are numbers: many programs
 * quote every cell. An empty cell is missing, quoted or not. */
ferry_cell ferry_i_cell(const ferry_table *t, ferry_span f, double *value)
{
    const bool quoted = f.n >= 2 && *f.s == '"' && t->quotes;

    if (quoted) f = (ferry_span){f.s + 1, f.n - 2};
    if (f.n == 0 || (!quoted && ferry_i_is_missing(f.s, f.n, t->s->missing)))
        return FERRY_CELL_MISSING;
    return ferry_i_number_cell(f, value) ? FERRY_CELL_NUMBER : FERRY_CELL_TEXT;
}

/* In place: the text without its doubled quotes is never longer. */
char *ferry_i_field_text(ferry_span f)
{
    if (f.n < 2 || *f.s != '"') return ferry_i_strndup(f.s, f.n);
    char *text = ferry_i_strndup(f.s + 1, f.n - 2), *to = text;
    for (const char *s = text; s && *s; s++) {
        *to++ = *s;
        if (*s == '"') s++;
    }
    if (text) *to = 0;
    return text;
}

/* Nearly no field has quotes inside, so a copy is made for those alone. */
int64_t ferry_i_field_add(ferry_ids *into, ferry_span f, bool *added)
{
    if (f.n < 2 || *f.s != '"') return ferry_i_ids_addn(into, f.s, f.n, added);
    if (!memchr(f.s + 1, '"', (size_t)f.n - 2))
        return ferry_i_ids_addn(into, f.s + 1, f.n - 2, added);
    char *text = ferry_i_field_text(f);
    const int64_t at = text ? ferry_i_ids_add(into, text, added) : -1;
    ferry_i_free(text);
    return at;
}

/* ---- rows ---- */

/* A cell of a column of numbers that the quick way did not take. False: stop here. Missing
 * is NaN. Text in a column that was thought numeric is noted for all threads to see; the
 * cell's value does not matter, because the whole table will be parsed again. Threads only
 * ever write 1 there, and it is read after the parallel loop. */
static bool slow_number(ferry_table *t, ferry_piece *p, const ferry_cursor *c, int64_t col,
                        ferry_span f, double *out)
{
    switch (ferry_i_cell(t, f, out)) {
    case FERRY_CELL_MISSING: *out = NAN; return true;
    case FERRY_CELL_NUMBER:
        if (isfinite(*out)) return true;
        ferry_i_piece_bad(p, c->line, "column %lld: '%.*s' is not a finite number",
                          (long long)col + 1, (int)(f.n < 30 ? f.n : 30), f.s);
        return false;
    case FERRY_CELL_TEXT: break;
    }
    if (t->col[col].must_be_number) {
        ferry_i_piece_bad(p, c->line, "column %lld: expected a number, found '%.*s'",
                          (long long)col + 1, (int)(f.n < 30 ? f.n : 30), f.s);
        return false;
    }
#pragma omp atomic write
    t->col[col].found_text = 1;
    *out = NAN;
    return true;
}

/* Count the fields from column `col` on, for the message. Count on to the end of the
 * record, so that the message gives both numbers. */
static void wrong_count(const ferry_table *t, ferry_piece *p, ferry_cursor c, int64_t line,
                        int64_t found, bool last)
{
    ferry_span f;

    while (!last && ferry_i_field(t, &c, &f, &last))
        found++;
    ferry_i_piece_bad(p, line, "expected %lld fields, found %lld", (long long)t->cols,
                      (long long)found);
}

/* A number followed at once by the separator or the end of the line: nearly every cell.
 * Anything else, such as quotes, blanks before a comma or a separator of several bytes, is
 * left to ferry_i_field(): false leaves the cursor where it was. */
static bool quick_number(const ferry_table *t, ferry_cursor *c, double *out, bool *last)
{
    const char *s = c->s;
    double v;

    while (s < c->end && *s == ' ')
        s++;
    s = ferry_i_parse_real(s, c->end, &v);
    /* NaN and infinity fail the comparison too: the slow path tells missing from wrong */
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

/* One instance into row `row`. False: an error was noted. */
static bool read_row(ferry_table *t, ferry_piece *p, ferry_cursor *c, int64_t row)
{
    const int64_t line = c->line;
    double *num = t->x ? t->x->dense + row * t->numbers : NULL;
    ferry_span *text = t->text + row * t->texts;
    bool last = false;

    for (int64_t j = 0; j < t->cols; j++) {
        const ferry_column *col = &t->col[j];
        ferry_span f;
        if (last) {
            wrong_count(t, p, *c, line, j, last);
            return false;
        }
        if (col->role == FERRY_COL_NUMBER && t->plain_numbers &&
            quick_number(t, c, &num[col->slot], &last))
            continue;
        if (!ferry_i_field(t, c, &f, &last)) {
            ferry_i_piece_bad(p, line, "column %lld: text after a closing quote",
                              (long long)j + 1);
            return false;
        }
        if (col->role == FERRY_COL_NUMBER) {
            if (!slow_number(t, p, c, j, f, &num[col->slot])) return false;
        } else if (col->role != FERRY_COL_DROP) {
            double v;
            /* ids may be called anything */
            const bool missing =
                col->role != FERRY_COL_ID && ferry_i_cell(t, f, &v) == FERRY_CELL_MISSING;
            text[col->slot] = missing ? (ferry_span){NULL, 0} : f;
        }
    }
    if (!last) wrong_count(t, p, *c, line, t->cols, last);
    return last;
}

/* All rows of one piece, into the rows from p->row_at on. Pieces write to rows of their
 * own, so threads need no lock. */
static void parse(ferry_table *t, ferry_piece *p)
{
    ferry_cursor c = {p->begin, p->end, p->line};
    int64_t row = p->row_at;

    for (ferry_i_skip_blank_lines(&c); c.s < c.end; ferry_i_skip_blank_lines(&c)) {
        if (!read_row(t, p, &c, row)) return;
        ferry_i_next_line(&c);
        row++;
    }
    p->entries = row - p->row_at; /* rows that it has; p->rows is the room for them */
}

/* Upper bound for the rows of a piece: blank lines and newlines in quotes count too and
 * leave gaps. Blocks of at most 240 bytes keep the count within a byte, which lets the
 * compiler compare and add whole vectors. */
static void count_lines(ferry_piece *p)
{
    for (const char *s = p->begin; s < p->end;) {
        const int n = p->end - s < 240 ? (int)(p->end - s) : 240;
        uint8_t lines = 0;
        for (int i = 0; i < n; i++)
            lines = (uint8_t)(lines + (s[i] == '\n'));
        p->lines += lines;
        s += n;
    }
    /* the file's last line may lack its newline */
    p->rows = p->lines + (p->end[-1] != '\n');
}

/* Move piece ends that lie inside a quoted field to the end of its record. A serial pass,
 * only for files with a quote in them. Whether a newline ends a record cannot be known from
 * the middle of a file, only by reading the quotes from the start. Pieces may become fewer,
 * when one record runs over several planned ends. */
static ferry_status mend_pieces(ferry_ctx *ctx, ferry_table *t)
{
    ferry_status st = FERRY_OK;
    ferry_cursor c = {t->body, t->end, ferry_i_line_of(t->begin, t->body)};
    int64_t k = 0, kept = 0;
    const char *begin = t->body;

    while (c.s < c.end) {
        const int64_t line = c.line;
        bool last = false;
        ferry_span f;
        while (!last) {
            if (ferry_i_field(t, &c, &f, &last)) continue;
            st = ferry_i_bad(ctx, t->in->path, line,
                             "a quote is not closed, or text follows it");
            goto done;
        }
        ferry_i_next_line(&c);
        /* skip the planned ends that this record ran over */
        while (k < t->pieces && t->piece[k].end < c.s)
            k++;
        if (k < t->pieces && t->piece[k].end > c.s) continue;
        /* exactly at a planned end, or past it: a new piece begins here */
        t->piece[kept].begin = begin;
        t->piece[kept++].end = begin = c.s;
    }
    t->pieces = kept;
done:
    return st;
}

/* Close the gaps that blank lines and newlines in quotes left. Pieces lie in order and rows
 * only move to the front, so memmove is safe from first to last. */
static void close_up(ferry_table *t)
{
    int64_t rows = 0;

    for (int64_t k = 0; k < t->pieces; k++) {
        const ferry_piece *p = &t->piece[k];
        /* nothing moves as long as no gap lies before it */
        if (rows != p->row_at && p->entries > 0) {
            if (t->x)
                memmove(t->x->dense + rows * t->numbers,
                        t->x->dense + p->row_at * t->numbers,
                        (size_t)(p->entries * t->numbers) * sizeof(double));
            memmove(t->text + rows * t->texts, t->text + p->row_at * t->texts,
                    (size_t)(p->entries * t->texts) * sizeof *t->text);
        }
        rows += p->entries;
    }
    t->rows = rows;
    if (t->x) {
        t->x->rows = rows;
        t->x->nnz = rows * t->numbers;
    }
}

/* Parse all with the columns' present roles. Room for `room` rows (an upper bound) of
 * numbers and of texts. Slots are dealt out anew each time, since a column that turned into
 * text moved from one table to the other. */
static ferry_status fill(ferry_ctx *ctx, ferry_table *t, int64_t room)
{
    ferry_status st = FERRY_OK;
    int64_t from = 0, to = 0;

    t->numbers = t->texts = 0;
    for (int64_t j = 0; j < t->cols; j++)
        if (t->col[j].role != FERRY_COL_DROP)
            t->col[j].slot = t->col[j].role == FERRY_COL_NUMBER ? t->numbers++ : t->texts++;
    ferry_i_matrix_free(t->x);
    ferry_i_free(t->text);
    t->x = NULL;
    t->text = NULL;
    /* x and text are room x numbers and room x texts, row by row */
    if (t->numbers > 0) FERRY_TRY(ferry_i_matrix_dense(ctx, room, t->numbers, &t->x));
    /* room * texts * sizeof(ferry_span) must not overflow */
    FERRY_HAVE(ctx, t->texts == 0 || room < INT64_MAX / 64 / t->texts);
    FERRY_NEW(ctx, t->text, room * t->texts);
    ferry_i_pieces_mine(ctx, t->pieces, &from, &to);
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic)
    for (int64_t k = from; k < to; k++)
        parse(t, &t->piece[k]);
    FERRY_TRY(ferry_i_pieces_share(ctx, t->piece, t->pieces));
    FERRY_TRY(ferry_i_pieces_check(ctx, t->in->path, t->piece, t->pieces));
done:
    return st;
}

/* Columns in which any rank has met text. */
static ferry_status share_texts(ferry_ctx *ctx, ferry_table *t)
{
    ferry_status st = FERRY_OK;
    double *found = NULL;

    FERRY_NEW(ctx, found, t->cols);
    for (int64_t j = 0; j < t->cols; j++)
        found[j] = t->col[j].found_text;
    FERRY_TRY(ferry_i_ranks_most(ctx, t->cols, found));
    for (int64_t j = 0; j < t->cols; j++)
        t->col[j].found_text = found[j] > 0;
done:
    ferry_i_free(found);
    return st;
}

/* Rows that the other ranks have parsed, where they read with us. */
static ferry_status bring(ferry_ctx *ctx, const ferry_table *t, int64_t room)
{
    if (t->x)
        FERRY_PASS(ferry_i_pieces_bring(ctx, t->piece, t->pieces, FERRY_BY_ROW, room,
                                        (size_t)t->numbers * sizeof(double), t->x->dense));
    if (t->texts == 0) return FERRY_OK;
    return ferry_i_pieces_bring_spans(ctx, t->piece, t->pieces, room, t->texts, t->begin,
                                      t->text);
}

/* Cut, count, place, fill, close up. `again` ends: each round turns at least one column
 * from number to text, and all that hold text are found in one round unless an error stops
 * it. */
ferry_status ferry_i_table_load(ferry_ctx *ctx, ferry_table *t)
{
    ferry_status st = FERRY_OK;
    int64_t room = 0, none = 0, from = 0, to = 0;
    bool again = true;

    FERRY_TRY(ferry_i_pieces(ctx, t->body, t->end, &t->piece, &t->pieces));
    if (t->quotes) FERRY_TRY(mend_pieces(ctx, t));
    ferry_i_pieces_mine(ctx, t->pieces, &from, &to);
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic)
    for (int64_t k = from; k < to; k++)
        count_lines(&t->piece[k]);
    FERRY_TRY(ferry_i_pieces_share(ctx, t->piece, t->pieces));
    /* room: rows if no line were blank and no newline stood in quotes */
    ferry_i_pieces_place(t->piece, t->pieces, ferry_i_line_of(t->begin, t->body), &room,
                         &none);
    while (again) {
        FERRY_TRY(fill(ctx, t, room));
        FERRY_TRY(share_texts(ctx, t));
        again = false;
        for (int64_t j = 0; j < t->cols; j++) {
            if (!t->col[j].found_text || t->col[j].role != FERRY_COL_NUMBER) continue;
            t->col[j].role = FERRY_COL_CATEGORY;
            again = true;
        }
    }
    FERRY_TRY(bring(ctx, t, room));
    close_up(t);
    FERRY_NEED(ctx, t->rows > 0, FERRY_EDATA,
               "%s: no instances, only a header or blank lines", t->in->path);
done:
    return st;
}
