/* svmlight / libsvm: label[,label...] [qid:N] index:value ... [# comment]
 *
 * Traps: indices begin at 1 by the format's definition, yet scikit-learn and others write them
 * from 0, so a file in which index 0 occurs is taken as counting from 0 (index_base says it
 * where it never occurs). They must ascend within a line. qid groups rows for ranking, which no
 * method here does: skipped. A line may lack the label; "a,b" is a set of labels. The number of
 * features is the largest index seen, which differs from file to file of one data set: the
 * header comment or the option `features` settles it.
 *
 * Read in two passes, both by threads over pieces of the file. The first counts newlines
 * and colons, which bounds rows and entries from above, so that the second can parse every
 * piece straight into its final place; what the bounds left over is closed up at the end.
 */
#include <math.h>
#include <string.h>

#include "data/svmlight.h"

/* so that index + 1, the number of columns, fits 32 bits */
#define MOST_INDEX (INT32_MAX - 1)

/* A file being read. The arrays are filled by all threads, each in its piece's places. */
typedef struct reading {
    const ferry_input *in;
    const ferry_read_settings *s;
    ferry_svm_header head;
    ferry_piece *piece;
    int64_t pieces;
    int base; /* subtracted from every index: 1, or 0 when known to begin at 0 */
    ferry_matrix *x;
    ferry_span *label, *id; /* per row; id NULL when no line has a comment */
} reading;

/* ---- first pass: counts ---- */

/* Blocks below 256 bytes, so that counts fit the byte lanes of a vector register. */
static void count(ferry_piece *p)
{
    /* 240 of 256: a block can hold nothing but newlines without overflow */
    for (const char *s = p->begin; s < p->end;) {
        const int n = p->end - s < 240 ? (int)(p->end - s) : 240;
        uint8_t lines = 0, colons = 0, hashes = 0;
        for (int i = 0; i < n; i++) {
            lines = (uint8_t)(lines + (s[i] == '\n'));
            colons = (uint8_t)(colons + (s[i] == ':'));
            hashes = (uint8_t)(hashes + (s[i] == '#'));
        }
        p->lines += lines;
        p->entries += colons;
        p->hashes += hashes;
        s += n;
    }
    /* a last line without its newline is one, too */
    p->rows = p->lines + (p->end[-1] != '\n');
}

/* ---- second pass: values ---- */

/* Where a thread stands in its piece. */
typedef struct cursor {
    const reading *r;
    ferry_piece *p;
    const char *s, *end;
    int64_t line, row, entry;
} cursor;

/* The cursor's steps. All stop at the end of the piece; a newline is no blank. */
static void skip_blanks(cursor *c)
{
    while (c->s < c->end && ferry_i_is_blank(*c->s))
        c->s++;
}

/* The end of the piece counts as a newline: the last line may lack its own. */
static bool at_line_end(const cursor *c)
{
    return c->s == c->end || *c->s == '\n';
}

/* A comment may begin right behind a token. */
static bool ends_token(const cursor *c)
{
    return at_line_end(c) || ferry_i_is_blank(*c->s) || *c->s == '#';
}

/* At most 20 bytes of the token at s, for a message. */
static int shown(const cursor *c, const char *s)
{
    int n = 0;

    while (n < 20 && s + n < c->end && !ferry_i_is_blank(s[n]) && s[n] != '\n')
        n++;
    return n;
}

/* The rest of the line after '#': an id when it is "# id:NAME". */
static void read_comment(cursor *c)
{
    const char *stop = memchr(c->s, '\n', (size_t)(c->end - c->s));

    if (!stop) stop = c->end;
    c->s++;
    skip_blanks(c);
    if (stop - c->s > 3 && memcmp(c->s, "id:", 3) == 0) {
        const char *from = c->s + 3, *to = stop;
        while (to > from && ferry_i_is_blank(to[-1]))
            to--;
        c->r->id[c->row] = (ferry_span){from, to - from};
    }
    c->s = stop;
}

/* The label token, unless the line begins with an index:value pair. */
static void read_label(cursor *c)
{
    const char *from = c->s;
    bool several = false;

    for (; !ends_token(c); c->s++) {
        if (*c->s == ':') { /* a pair: no label */
            c->s = from;
            c->r->label[c->row] = (ferry_span){from, 0};
            return;
        }
        several |= *c->s == ',';
    }
    c->p->several += several;
    c->p->labelled++;
    const bool missing = c->s - from == 1 && *from == '?';
    c->r->label[c->row] = (ferry_span){missing ? NULL : from, c->s - from};
}

/* One index:value at c->s; `last` is the index before it. False: an error was noted. */
static bool read_pair(cursor *c, int64_t *last)
{
    const char *from = c->s, *s = from;
    int64_t i = 0;
    double v = 0;

    /* index: stops as soon as it is too large, so it cannot overflow */
    for (; s < c->end && *s >= '0' && *s <= '9' && i <= MOST_INDEX; s++)
        i = 10 * i + (*s - '0');
    if (s == from || s == c->end || *s != ':' || i > MOST_INDEX) {
        if (i > MOST_INDEX)
            ferry_i_piece_bad(c->p, c->line, "index %.*s is above %d", shown(c, from), from,
                              MOST_INDEX);
        else
            ferry_i_piece_bad(c->p, c->line, "expected index:value, found '%.*s'",
                              shown(c, from), from);
        return false;
    }
    /* this also refuses an index that stands twice */
    if (i <= *last) {
        ferry_i_piece_bad(c->p, c->line,
                          "index %lld after %lld: indices must ascend within a line",
                          (long long)i, (long long)*last);
        return false;
    }
    c->s = ferry_i_parse_real(s + 1, c->end, &v);
    if (!c->s || !ends_token(c) || !isfinite(v)) {
        ferry_i_piece_bad(c->p, c->line,
                          "expected a finite number after %lld:, found '%.*s'",
                          (long long)i, shown(c, s + 1), s + 1);
        return false;
    }
    /* kept as written; the base is taken off what is stored */
    if (i < c->p->lowest) c->p->lowest = i;
    if (i > c->p->highest) c->p->highest = i;
    c->r->x->index[c->entry] = (int32_t)(i - c->r->base);
    c->r->x->value[c->entry++] = v;
    *last = i;
    return true;
}

/* The line at c->s, up to its newline. False: an error was noted. */
static bool read_line(cursor *c)
{
    const int64_t first = c->entry;
    int64_t last = -1;

    skip_blanks(c);
    if (at_line_end(c) || *c->s == '#') { /* no instance */
        while (!at_line_end(c))
            c->s++;
        return true;
    }
    read_label(c);
    for (skip_blanks(c); !at_line_end(c); skip_blanks(c)) {
        if (*c->s == '#') {
            read_comment(c);
        } else if (c->end - c->s > 4 && memcmp(c->s, "qid:", 4) == 0) {
            while (!ends_token(c))
                c->s++;
        } else if (!read_pair(c, &last)) {
            return false;
        }
    }
    c->r->x->start[++c->row] = c->entry - first; /* made into sums later */
    return true;
}

/* All lines of a piece, up to the first error, which is noted in the piece. No thread
 * writes outside its piece's rows and entries, so nothing is locked. */
static void parse(const reading *r, ferry_piece *p)
{
    cursor c = {.r = r,
                .p = p,
                .s = p->begin,
                .end = p->end,
                .line = p->line,
                .row = p->row_at,
                .entry = p->entry_at};

    p->lowest = INT64_MAX;
    p->highest = -1;
    while (c.s < c.end) {
        if (!read_line(&c)) return;
        c.s++;
        c.line++;
    }
    p->rows = c.row - p->row_at;
    p->entries = c.entry - p->entry_at;
}

/* ---- putting it together ---- */

/* Pieces used less than their room: move them together, and sum the row starts. */
static void close_up(reading *r)
{
    ferry_matrix *x = r->x;
    int64_t rows = 0, entries = 0;

    for (int64_t k = 0; k < r->pieces; k++) {
        const ferry_piece *p = &r->piece[k];
        if (entries != p->entry_at && p->entries > 0) {
            memmove(x->index + entries, x->index + p->entry_at,
                    (size_t)p->entries * sizeof *x->index);
            memmove(x->value + entries, x->value + p->entry_at,
                    (size_t)p->entries * sizeof *x->value);
        }
        for (int64_t i = 0; i < p->rows; i++) {
            x->start[rows + i + 1] = x->start[rows + i] + x->start[p->row_at + i + 1];
            r->label[rows + i] = r->label[p->row_at + i];
            if (r->id) r->id[rows + i] = r->id[p->row_at + i];
        }
        rows += p->rows;
        entries += p->entries;
    }
    x->rows = rows;
    x->nnz = entries;
}

/* The first index turned out to be 0: undo the subtraction. */
static void from_zero(const ferry_ctx *ctx, ferry_matrix *x)
{
#pragma omp parallel for num_threads(ctx->threads)
    for (int64_t e = 0; e < x->nnz; e++)
        x->index[e]++;
}

/* Leave out columns from `cols` on; they are last in their rows. */
static void cut_columns(ferry_matrix *x, int64_t cols)
{
    int64_t at = 0, e = 0;

    for (int64_t i = 0; i < x->rows; i++) {
        const int64_t stop = x->start[i + 1];
        for (; e < stop; e++) {
            if (x->index[e] >= cols) continue;
            x->index[at] = x->index[e];
            x->value[at++] = x->value[e];
        }
        x->start[i + 1] = at;
    }
    x->nnz = at;
}

/* Base and number of columns, from what was seen, the header and the options. */
static ferry_status settle_columns(ferry_ctx *ctx, reading *r)
{
    ferry_status st = FERRY_OK;
    ferry_matrix *x = r->x;
    int64_t lowest = INT64_MAX, highest = -1, want = r->s->features;

    for (int64_t k = 0; k < r->pieces; k++) {
        if (r->piece[k].lowest < lowest) lowest = r->piece[k].lowest;
        if (r->piece[k].highest > highest) highest = r->piece[k].highest;
    }
    /* index 0 was stored as -1 */
    if (lowest == 0 && r->base == 1) {
        FERRY_NEED(ctx, r->s->index_base == FERRY_BASE_AUTO && !r->head.one_based,
                   FERRY_EDATA, "%s: index 0, expected indices from 1", r->in->path);
        from_zero(ctx, x);
        r->base = 0;
    }
    x->cols = highest - r->base + 1;
    if (highest < 0) x->cols = 0;
    /* the option wins over the file's own header */
    if (want == 0) want = r->head.columns;
    if (want > 0 && x->cols > want) {
        FERRY_NEED(ctx, r->s->like, FERRY_EDATA,
                   "%s: index %lld, expected at most %lld features", r->in->path,
                   (long long)highest, (long long)want);
        ferry_i_log(ctx, FERRY_INFO, "%s: features above %lld are not known and left out",
                    r->in->path, (long long)want);
        cut_columns(x, want);
    }
    if (want > 0) x->cols = want;
done:
    return st;
}

/* Ids for all instances or for none: numbers given to the others could meet real ids. */
static ferry_status collect_ids(ferry_ctx *ctx, const reading *r, ferry_data *d)
{
    ferry_status st = FERRY_OK;
    int64_t with = 0;

    for (int64_t i = 0; r->id && i < r->x->rows; i++)
        with += r->id[i].s != NULL;
    if (with == 0) goto done;
    FERRY_HAVE(ctx, d->ids = ferry_i_ids_new());
    for (int64_t i = 0; i < r->x->rows; i++) {
        const ferry_span id = r->id[i];
        const char *at = id.s ? id.s : r->label[i].s;
        bool added = true;
        FERRY_NEED_AT(ctx, id.s, r->in->path, at ? ferry_i_line_of(r->in->data, at) : 0,
                      "instance %lld has no # id: as others have", (long long)i + 1);
        FERRY_HAVE(ctx, ferry_i_decode(d->ids, id.s, id.n, &added) >= 0);
        if (added) continue;
        st = ferry_i_bad(ctx, r->in->path, ferry_i_line_of(r->in->data, at),
                         "id %.*s is there twice", (int)(id.n < 100 ? id.n : 100), id.s);
        goto done;
    }
done:
    return st;
}

/* What the other ranks have parsed, where they read with us. */
static ferry_status bring(ferry_ctx *ctx, const reading *r, int64_t rows, int64_t entries)
{
    const ferry_matrix *x = r->x;
    const ferry_piece *p = r->piece;
    const int64_t n = r->pieces;

    FERRY_PASS(ferry_i_pieces_bring(ctx, p, n, FERRY_BY_ROW, rows, sizeof *x->start,
                                    x->start + 1));
    FERRY_PASS(ferry_i_pieces_bring(ctx, p, n, FERRY_BY_ENTRY, entries, sizeof *x->index,
                                    x->index));
    FERRY_PASS(ferry_i_pieces_bring(ctx, p, n, FERRY_BY_ENTRY, entries, sizeof *x->value,
                                    x->value));
    FERRY_PASS(ferry_i_pieces_bring_spans(ctx, p, n, rows, 1, r->in->data, r->label));
    if (!r->id) return FERRY_OK;
    return ferry_i_pieces_bring_spans(ctx, p, n, rows, 1, r->in->data, r->id);
}

/* Both passes. */
static ferry_status load(ferry_ctx *ctx, reading *r)
{
    const ferry_input *in = r->in;
    int64_t rows = 0, entries = 0, hashes = 0, from = 0, to = 0;

    /* first pass: bounds */
    FERRY_PASS(ferry_i_pieces(ctx, in->data, in->data + in->size, &r->piece, &r->pieces));
    ferry_i_pieces_mine(ctx, r->pieces, &from, &to);
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic)
    for (int64_t k = from; k < to; k++)
        count(&r->piece[k]);
    FERRY_PASS(ferry_i_pieces_share(ctx, r->piece, r->pieces));
    for (int64_t k = 0; k < r->pieces; k++)
        hashes += r->piece[k].hashes;
    /* every piece gets its places; a colon or newline too many (comments, qid) leaves a
     * gap */
    ferry_i_pieces_place(r->piece, r->pieces, 1, &rows, &entries);
    FERRY_PASS(ferry_i_matrix_csr(ctx, rows, 0, entries, &r->x));
    r->label = ferry_i_calloc(rows, sizeof *r->label);
    if (hashes > 0) r->id = ferry_i_calloc(rows, sizeof *r->id);
    if (!r->label || (hashes > 0 && !r->id)) return ferry_i_nomem(ctx);
        /* second pass: values */
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic)
    for (int64_t k = from; k < to; k++)
        parse(r, &r->piece[k]);
    FERRY_PASS(ferry_i_pieces_share(ctx, r->piece, r->pieces));
    FERRY_PASS(ferry_i_pieces_check(ctx, in->path, r->piece, r->pieces));
    FERRY_PASS(bring(ctx, r, rows, entries));
    /* gaps closed, then the shape */
    close_up(r);
    if (r->x->rows <= 0)
        return ferry_i_fail(ctx, FERRY_EDATA, "%s: no instances", in->path);
    return settle_columns(ctx, r);
}

/* What new data must be read with to mean the same. */
static ferry_status remember(ferry_ctx *ctx, const reading *r, ferry_data *d)
{
    char n[32];

    FERRY_PASS(ferry_opts_new(ctx, &d->read));
    (void)ferry_i_format_real(n, (double)d->x->cols);
    FERRY_PASS(ferry_opts_set(ctx, d->read, "features", n));
    return ferry_opts_set(ctx, d->read, "index_base", r->base ? "one" : "zero");
}

/* The base is settled before parsing where it is known, so that indices need no second
 * walk; AUTO begins with 1 and is corrected when a 0 turned up. */
static ferry_status svmlight_read(ferry_ctx *ctx, const ferry_input *in, const char *member,
                                  const ferry_read_settings *s, ferry_data_kind as,
                                  ferry_data **out)
{
    ferry_status st = FERRY_OK;
    reading r = {.in = in, .s = s};
    ferry_data *d = NULL;
    int64_t several = 0, labelled = 0;

    (void)member;
    *out = NULL;
    FERRY_TRY(ferry_i_check_text(ctx, in));
    FERRY_TRY(ferry_i_svm_header_read(ctx, in, &r.head));
    r.base = s->index_base == FERRY_BASE_ZERO ||
                     (s->index_base == FERRY_BASE_AUTO && r.head.zero_based)
                 ? 0
                 : 1;
    FERRY_TRY(load(ctx, &r));
    FERRY_HAVE(ctx, d = ferry_i_data_new("svmlight", in->path, as));
    for (int64_t k = 0; k < r.pieces; k++) {
        several += r.piece[k].several;
        labelled += r.piece[k].labelled;
    }
    FERRY_TRY(collect_ids(ctx, &r, d));
    FERRY_TRY(ferry_i_svm_labels(ctx, in, &r.head, r.x->rows, r.label, several, labelled,
                                 &d->labels));
    FERRY_NEED(ctx, d->labels || as != FERRY_DATA_LABELS, FERRY_EDATA, "%s: has no labels",
               in->path);
    /* labels alone need no columns: a file of bare labels is fine for them */
    if (as == FERRY_DATA_VIEW) {
        FERRY_NEED(ctx, r.x->cols > 0, FERRY_EDATA,
                   "%s: expected index:value pairs, found none", in->path);
        FERRY_MOVE(d->x, r.x);
        FERRY_MOVE(d->features, r.head.features);
        FERRY_TRY(remember(ctx, &r, d));
    }
    FERRY_MOVE(*out, d);
done:
    ferry_data_free(d);
    ferry_i_svm_header_free(&r.head);
    ferry_i_matrix_free(r.x);
    FERRY_FREE(r.piece, r.label, r.id);
    return st;
}

/* One line that is nothing but a label and pairs is telling enough. */
static int svmlight_sniff(const char *head, int64_t n)
{
    const char *s = head, *end = head + n;
    int64_t pairs = 0, i;
    double v;

    while (s < end && *s == '#') {
        s = memchr(s, '\n', (size_t)(end - s));
        if (!s) return 0;
        s++;
    }
    if (s >= end) return 0;
    const char *stop = memchr(s, '\n', (size_t)(end - s));
    if (!stop) stop = end;
    for (int64_t word = 0; s < stop; word++) {
        while (s < stop && ferry_i_is_blank(*s))
            s++;
        if (s == stop || *s == '#') break;
        const char *p = ferry_i_parse_int(s, stop, &i), *q = NULL;
        if (p && p < stop && *p == ':') q = ferry_i_parse_real(p + 1, stop, &v);
        if (q && (q == stop || ferry_i_is_blank(*q)))
            pairs++;
        else if (word > 0 && !(stop - s > 4 && memcmp(s, "qid:", 4) == 0) &&
                 !(stop == end && pairs > 0)) /* cut off by the end of the head */
            return 0;
        while (s < stop && !ferry_i_is_blank(*s))
            s++;
    }
    return pairs > 0 ? 90 : 0;
}

const ferry_format ferry_i_format_svmlight = {
    .info = {.name = "svmlight",
             .extensions = ".svm .libsvm .svmlight",
             .summary = "svmlight / libsvm: label index:value ..., also multi-label",
             .writes = 1},
    .kinds = 1u << FERRY_DATA_VIEW | 1u << FERRY_DATA_LABELS,
    .options = "features index_base",
    .sniff = svmlight_sniff,
    .read = svmlight_read,
    .write = ferry_i_svm_write,
};
