/* svmlight / libsvm: label[,label...] [qid:N] index:value ... [# comment]
 *
 * Traps: indices begin at 1 by the format's definition, yet scikit-learn and others write them
 * from 0, so a file in which index 0 occurs is taken as counting from 0 (index_base gives it
 * where it never occurs). They must ascend within a line. qid groups rows for ranking, which no
 * method here does: skipped. A line may lack the label; "a,b" is a set of labels. The number of
 * features is the largest index seen, which differs from file to file of one data set: the
 * header comment or the option `features` decides it.
 *
 * Read in two passes, both by threads over pieces of the file. The first counts newlines
 * and colons, which bounds rows and entries from above, so that the second can parse every
 * piece straight into its final place; what the bounds left over is closed up at the end.
 */
#include "data/svmlight.h"

#include <math.h>
#include <string.h>

/* so that index + 1, the number of columns, fits 32 bits */
#define MOST_INDEX (INT32_MAX - 1)

/* A file being read. The arrays are filled by all threads, each in its piece's places. */
typedef struct reading {
    scope *s;
    const source *from;
    svm_header head;
    records r;
    int base; /* subtracted from every index: 1, or 0 when known to begin at 0 */
    ferry_matrix *x;
    ferry_span *label, *id; /* per row; id NULL when no line has a comment */
} reading;

/* ---- a piece ---- */

/* Where a thread stands in its piece. */
typedef struct cursor {
    const reading *r;
    piece *p;
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

/* One index:value at c->s; `last` is the index before it. False: the piece has an error. */
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
            piece_bad(c->p, c->line, "index %.*s is above %d", shown(c, from), from,
                      MOST_INDEX);
        else
            piece_bad(c->p, c->line, "expected index:value, found '%.*s'", shown(c, from),
                      from);
        return false;
    }
    /* this also refuses an index that stands twice */
    if (i <= *last) {
        piece_bad(c->p, c->line, "index %lld after %lld: indices must ascend within a line",
                  (long long)i, (long long)*last);
        return false;
    }
    c->s = ferry_i_parse_real(s + 1, c->end, &v);
    if (!c->s || !ends_token(c) || !isfinite(v)) {
        piece_bad(c->p, c->line, "expected a finite number after %lld:, found '%.*s'",
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

/* The line at c->s, up to its newline. False: the piece has an error. */
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

/* All lines of a piece, up to the first error, which stays in the piece. No thread
 * writes outside its piece's rows and entries, so nothing is locked. */
static void parse(void *arg, piece *p)
{
    cursor c = {.r = arg,
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
static void find_columns(reading *r)
{
    const ferry_read_settings *set = r->from->set;
    ferry_matrix *x = r->x;
    int64_t lowest = INT64_MAX, highest = -1,
            want = set->features ? set->features : r->head.columns; /* the option wins */

    for (int64_t k = 0; k < r->r.pieces; k++) {
        if (r->r.piece[k].lowest < lowest) lowest = r->r.piece[k].lowest;
        if (r->r.piece[k].highest > highest) highest = r->r.piece[k].highest;
    }
    /* index 0 was stored as -1 */
    if (lowest == 0 && r->base == 1) {
        if (set->index_base != BASE_AUTO || r->head.one_based)
            bad_at(r->s, r->from->path, 0, "index 0, expected indices from 1");
        from_zero(scope_ctx(r->s), x);
        r->base = 0;
    }
    x->cols = highest < 0 ? 0 : highest - r->base + 1;
    if (want == 0) return;
    if (x->cols > want) {
        if (!set->like)
            bad_at(r->s, r->from->path, 0, "index %lld, expected at most %lld features",
                   (long long)highest, (long long)want);
        ferry_i_log(scope_ctx(r->s), FERRY_INFO,
                    "%s: features above %lld are not known and left out", r->from->path,
                    (long long)want);
        cut_columns(x, want);
    }
    x->cols = want;
}

/* Ids for all instances or for none: numbers given to the others could meet real ids. */
static void collect_ids(const reading *r, ferry_data *d)
{
    const char *text = r->from->s;
    int64_t with = 0;

    for (int64_t i = 0; r->id && i < r->x->rows; i++)
        with += r->id[i].s != NULL;
    if (with == 0) return;
    d->ids = have(r->s, ferry_i_ids_new());
    for (int64_t i = 0; i < r->x->rows; i++) {
        const ferry_span id = r->id[i];
        const char *at = id.s ? id.s : r->label[i].s;
        bool added = true;
        if (!id.s)
            bad_at(r->s, r->from->path, at ? ferry_i_line_of(text, at) : 0,
                   "instance %lld has no # id: as others have", (long long)i + 1);
        if (ferry_i_decode(d->ids, id.s, id.n, &added) < 0) have(r->s, NULL);
        if (!added)
            bad_at(r->s, r->from->path, ferry_i_line_of(text, at), "id %.*s is there twice",
                   (int)(id.n < 100 ? id.n : 100), id.s);
    }
}

/* A row's start is the number of its entries while pieces are read. A colon or newline too many (comments, qid) leaves
 * a gap until all is closed. */
static void load(reading *r, ferry_data *d)
{
    records *of = &r->r;
    int64_t hashes = 0;

    records_cut(of);
    records_count(of);
    for (int64_t k = 0; k < of->pieces; k++)
        hashes += of->piece[k].hashes;
    scope_check(r->s, ferry_i_matrix_csr(scope_ctx(r->s), of->rows, 0, of->entries, &d->x));
    r->x = d->x;
    r->label = NEW(r->s, ferry_span, of->rows);
    if (hashes > 0) r->id = NEW(r->s, ferry_span, of->rows);
    records_store(of, r->x->start + 1, sizeof *r->x->start, false);
    records_store(of, r->x->index, sizeof *r->x->index, true);
    records_store(of, r->x->value, sizeof *r->x->value, true);
    records_spans(of, r->label, 1);
    if (r->id) records_spans(of, r->id, 1);
    records_parse(of, false, parse, r);
    records_check(of);
    records_close(of);
    for (int64_t i = 0; i < of->rows; i++)
        r->x->start[i + 1] += r->x->start[i];
    r->x->rows = of->rows;
    r->x->nnz = of->entries;
    if (of->rows == 0) bad_at(r->s, r->from->path, 0, "no instances");
    find_columns(r);
}

/* What new data must be read with to mean the same. */
static void remember(const reading *r, ferry_data *d)
{
    ferry_ctx *ctx = scope_ctx(r->s);
    char n[32];

    scope_check(r->s, ferry_opts_new(ctx, &d->read));
    (void)ferry_i_format_real(n, (double)d->x->cols);
    scope_check(r->s, ferry_opts_set(ctx, d->read, "features", n));
    scope_check(r->s, ferry_opts_set(ctx, d->read, "index_base", r->base ? "one" : "zero"));
}

/* The base is known before parsing where somebody gives it, so that indices need no second
 * walk; AUTO begins with 1 and is corrected when a 0 turned up. */
static void svmlight_records(scope *s, const source *from, ferry_data *d)
{
    const int base = from->set->index_base;
    reading r = {.s = s,
                 .from = from,
                 .head = {.features = &d->features},
                 .r = {.s = s,
                       .path = from->path,
                       .text = from->s,
                       .body = from->s,
                       .end = from->end}};

    svm_header_read(s, from, &r.head);
    r.base = base == BASE_ZERO || (base == BASE_AUTO && r.head.zero_based) ? 0 : 1;
    load(&r, d);
    collect_ids(&r, d);
    svm_labels(s, from, &r.head, &r.r, r.label, &d->labels);
    if (from->as == FERRY_DATA_VIEW) {
        if (r.x->cols == 0)
            bad_at(s, from->path, 0, "expected index:value pairs, found none");
        remember(&r, d);
        return;
    }
    /* labels alone need no columns: a file of bare labels is fine for them */
    if (!d->labels) bad_at(s, from->path, 0, "has no labels");
    ferry_i_matrix_free(d->x);
    ferry_i_ids_free(d->features);
    d->x = NULL;
    d->features = NULL;
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
    .open = OPEN_TEXT,
    .records = svmlight_records,
    .write = ferry_i_svm_write,
};
