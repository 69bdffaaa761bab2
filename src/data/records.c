/* The record engine (records.h): pieces for threads and ranks.
 *
 * A file is cut at line ends into pieces of 256 KiB to 8 MiB: about eight a thread, so that
 * none waits long for the last, and each large enough to be worth handing out. A piece keeps
 * its own first error; the one of the earliest piece is reported, so that the message does not
 * depend on which thread was quicker. Ranks that read together cut the same pieces, whatever threads they have. */
#include "data/records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/ranks.h"
#include "data/archive.h"

/* shortest and longest piece, in bytes */
#define LONG_ENOUGH ((int64_t)1 << 18)
#define LONGEST ((int64_t)1 << 23)

/* ---- failures and memory ---- */

void bad_at(scope *s, const char *path, int64_t line, const char *fmt, ...)
{
    char text[768];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    (void)ferry_i_bad(scope_ctx(s), path, line, "%s", text);
    scope_check(s, FERRY_EDATA);
    abort();
}

void *have(scope *s, void *p)
{
    if (!p) scope_check(s, ferry_i_nomem(scope_ctx(s)));
    return p;
}

static void free_ids(void *ids)
{
    ferry_i_ids_free(ids);
}

ferry_ids *new_ids(scope *s)
{
    ferry_ids *ids = have(s, ferry_i_ids_new());

    scope_defer(s, free_ids, ids);
    return ids;
}

typedef struct sorted {
    ferry_ids *names;
    int32_t *order;
} sorted;

static void free_sorted(void *arg)
{
    sorted *of = arg;

    ferry_i_ids_free(of->names);
    ferry_i_free(of->order);
}

const ferry_ids *sorted_names(scope *s, const ferry_ids *names, const int32_t **order)
{
    sorted *to = NEW(s, sorted, 1);

    scope_defer(s, free_sorted, to);
    scope_check(s, ferry_i_names_sorted(scope_ctx(s), names, &to->names, &to->order));
    *order = to->order;
    return to->names;
}

int64_t add_id(scope *s, ferry_ids *ids, const char *text, int64_t n, bool *added)
{
    const int64_t at = ferry_i_ids_addn(ids, text, n, added);

    if (at < 0) scope_check(s, ferry_i_nomem(scope_ctx(s)));
    return at;
}

static void free_text(void *t)
{
    ferry_i_text_free(t);
}

ferry_text *new_text(scope *s)
{
    ferry_text *t = NEW(s, ferry_text, 1);

    scope_defer(s, free_text, t);
    return t;
}

const char *text_of(scope *s, const ferry_text *t)
{
    if (t->failed) have(s, NULL);
    return t->s ? t->s : "";
}

/* ---- open ---- */

static void close_input(void *in)
{
    ferry_i_input_close(in);
}

const ferry_input *open_input(scope *s, const char *path)
{
    ferry_input *in = NEW(s, ferry_input, 1);

    scope_check(s, ferry_i_input_open(scope_ctx(s), path, in));
    scope_defer(s, close_input, in);
    return in;
}

static void close_archive(void *tree)
{
    ferry_i_archive_free(tree);
}

ferry_archive *open_tree(scope *s, const char *path)
{
    ferry_archive *tree = NEW(s, ferry_archive, 1);
    ferry_input *in = NEW(s, ferry_input, 1);

    scope_defer(s, close_input, in);
    scope_defer(s, close_archive, tree);
    scope_check(s, ferry_i_tree_list(scope_ctx(s), path, (ferry_bring){0}, in, tree));
    return tree;
}

const char *as_utf8(scope *s, const char *text, int64_t *n)
{
    ferry_utf8 u = {0};

    scope_check(s, ferry_i_utf8_open(scope_ctx(s), text, *n, &u));
    if (u.owned) scope_adopt(s, u.owned);
    *n = u.n;
    return u.s;
}

void open_text(scope *s, unsigned open, source *from)
{
    ferry_ctx *ctx = scope_ctx(s);
    int64_t n = from->in->size;
    char *points = NULL;

    from->s = from->in->data;
    if (open & OPEN_TEXT) scope_check(s, ferry_i_check_text(ctx, from->in));
    if ((open & OPEN_ZEROS) && memchr(from->s, 0, (size_t)n))
        bad_at(s, from->path, 0, "has a zero byte, expected text");
    if (open & OPEN_UTF8) from->s = as_utf8(s, from->s, &n);
    if ((open & OPEN_DECIMAL) && from->set->decimal) {
        scope_check(s, ferry_i_decimal_points(ctx, from->set, from->s, n, &points));
        from->s = scope_adopt(s, points);
    }
    from->end = from->s + n;
}

/* ---- a sparse matrix that grows row by row ---- */

static void free_rows(void *rows)
{
    sparse_rows *r = rows;

    FERRY_FREE(r->start, r->index, r->value);
}

sparse_rows *new_rows(scope *s, int64_t rows)
{
    sparse_rows *r = NEW(s, sparse_rows, 1);

    r->s = s;
    scope_defer(s, free_rows, r);
    r->cap = rows + 1;
    r->start = have(s, ferry_i_calloc(r->cap, sizeof *r->start));
    return r;
}

/* start has a place for one more than n, for the end of the last row. */
void begin_row(sparse_rows *r)
{
    if (!FERRY_GROW(r->start, r->n + 1, r->cap)) have(r->s, NULL);
    r->start[r->n++] = r->nnz;
}

void grow_entries(sparse_rows *r)
{
    int64_t cap = r->cap_entries;

    if (!FERRY_GROW(r->index, r->nnz, cap) || !FERRY_GROW(r->value, r->nnz, r->cap_entries))
        have(r->s, NULL);
}

/* The arrays grew with memory to spare; the matrix has its own of the exact size. */
void give_rows(sparse_rows *r, int64_t cols, ferry_matrix **out)
{
    r->start[r->n] = r->nnz;
    scope_check(r->s, ferry_i_matrix_csr(scope_ctx(r->s), r->n, cols, r->nnz, out));
    memcpy((*out)->start, r->start, (size_t)(r->n + 1) * sizeof *r->start);
    if (r->nnz == 0) return;
    memcpy((*out)->index, r->index, (size_t)r->nnz * sizeof *r->index);
    memcpy((*out)->value, r->value, (size_t)r->nnz * sizeof *r->value);
}

/* ---- pieces ---- */

static bool shared(const records *r)
{
    return r->pieces > 1 && ferry_i_ranks_split(scope_ctx(r->s));
}

/* Every piece but the last has at least `want` bytes, which bounds their number beforehand.
 * Quotes are not looked at: a schema that allows newlines in them moves the cuts. A file of one piece every rank
 * parses itself. */
void records_cut(records *r)
{
    const ferry_ctx *ctx = scope_ctx(r->s);
    const char *s = r->body;
    const int64_t each =
        ferry_i_ranks_split(ctx) ? 64 * ctx->ranks->size : 8 * ctx->threads;
    int64_t want = (r->end - s) / each + 1;

    if (want < LONG_ENOUGH) want = LONG_ENOUGH;
    if (want > LONGEST) want = LONGEST;
    r->piece = NEW(r->s, piece, (r->end - s) / want + 1);
    for (r->pieces = 0; s < r->end; r->pieces++) {
        /* cut behind the first newline at or after `want` bytes; the rest of a short file
         * is one piece */
        const char *stop =
            r->end - s > want ? memchr(s + want, '\n', (size_t)(r->end - s - want)) : NULL;
        stop = stop ? stop + 1 : r->end;
        r->piece[r->pieces].begin = s;
        r->piece[r->pieces].end = stop;
        s = stop;
    }
}

/* Kept in the piece, because a context's message must not be written by several threads. */
void piece_bad(piece *p, int64_t line, const char *fmt, ...)
{
    va_list args;

    /* the first error is the one to fix first */
    if (p->bad_line) return;
    p->bad_line = line;
    va_start(args, fmt);
    (void)vsnprintf(p->bad, sizeof p->bad, fmt, args);
    va_end(args);
}

/* Blocks of at most 240 bytes keep the counts within a byte, which lets the compiler compare and add whole vectors. */
static void piece_count(piece *p)
{
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
    /* the file's last line may lack its newline */
    p->rows = p->lines + (p->end[-1] != '\n');
}

/* What ranks found in their pieces, counts and errors, for all. Where a piece is in memory is its rank's own affair. */
static void share(records *r)
{
    if (!shared(r)) return;
    piece *all = COPY(r->s, r->piece, r->pieces);
    scope_check(r->s, ferry_i_ranks_gather(scope_ctx(r->s), r->pieces, sizeof *all, all));
    for (int64_t k = 0; k < r->pieces; k++) {
        all[k].begin = r->piece[k].begin;
        all[k].end = r->piece[k].end;
        r->piece[k] = all[k];
    }
    scope_drop(r->s, all);
}

/* Prefix sums over the counts that the threads found: from here each piece knows where its
 * rows go, and all can be filled at once. */
void records_count(records *r)
{
    const int threads = scope_ctx(r->s)->threads;
    int64_t line = ferry_i_line_of(r->text, r->body);

    r->from = 0;
    r->to = r->pieces;
    if (shared(r)) ferry_i_ranks_part(scope_ctx(r->s), r->pieces, &r->from, &r->to);
#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (int64_t k = r->from; k < r->to; k++)
        piece_count(&r->piece[k]);
    share(r);
    r->rows = r->entries = 0;
    for (int64_t k = 0; k < r->pieces; k++) {
        piece *p = &r->piece[k];
        p->line = line;
        p->row_at = r->rows;
        p->entry_at = r->entries;
        line += p->lines;
        r->rows += p->rows;
        r->entries += p->entries;
    }
}

void records_store(records *r, void *at, size_t size, bool by_entry)
{
    r->store[r->stores++] = (store){.at = at, .size = size, .by_entry = by_entry};
}

void records_spans(records *r, ferry_span *at, int64_t each)
{
    r->store[r->stores++] =
        (store){.at = at, .size = (size_t)each * sizeof *at, .each = each};
}

void records_parse(records *r, bool in_order, void (*parse)(void *arg, piece *p), void *arg)
{
    const int threads = scope_ctx(r->s)->threads;

    for (int64_t k = r->from;
         in_order && k < r->to && (k == r->from || !r->piece[k - 1].bad_line); k++)
        parse(arg, &r->piece[k]);
    if (!in_order) {
#pragma omp parallel for num_threads(threads) schedule(dynamic)
        for (int64_t k = r->from; k < r->to; k++)
            parse(arg, &r->piece[k]);
    }
    share(r);
}

void records_check(const records *r)
{
    for (int64_t k = 0; k < r->pieces; k++)
        if (r->piece[k].bad_line)
            bad_at(r->s, r->path, r->piece[k].bad_line, "%s", r->piece[k].bad);
}

/* ---- what ranks put into the places of their pieces, for all ---- */

/* In the end rank 0 has all before anybody goes on, so that what fails on every rank then is rank 0's to say. */
static void bring(const records *r, const store *b)
{
    ferry_ctx *ctx = scope_ctx(r->s);
    const int ranks = ctx->ranks->size;
    int64_t *cut = NEW(r->s, int64_t, ranks + 1);
    double nothing = 0;

    ferry_i_ranks_cuts(ctx, r->pieces, cut);
    for (int i = 0; i <= ranks; i++)
        cut[i] = cut[i] == r->pieces ? (b->by_entry ? r->entries : r->rows)
                 : b->by_entry       ? r->piece[cut[i]].entry_at
                                     : r->piece[cut[i]].row_at;
    scope_check(r->s, ferry_i_ranks_share(ctx, cut, b->size, b->at));
    scope_check(r->s, ferry_i_ranks_sum(ctx, 1, &nothing));
}

/* Texts go as places in the file, from 1; 0 is a missing one. */
static void bring_spans(const records *r, const store *b)
{
    ferry_span *spans = b->at;
    const int64_t first = r->from < r->pieces ? r->piece[r->from].row_at : r->rows,
                  last = r->to < r->pieces ? r->piece[r->to].row_at : r->rows;

    for (int64_t i = first * b->each; i < last * b->each; i++)
        if (spans[i].s) spans[i].s = (const char *)(uintptr_t)(spans[i].s - r->text + 1);
    bring(r, b);
    for (int64_t i = 0; i < r->rows * b->each; i++)
        if (spans[i].s) spans[i].s = r->text + (uintptr_t)spans[i].s - 1;
}

/* Pieces lie in order and only move to the front, so memmove is safe from first to last; nothing moves as long as no
 * gap lies before it. */
static void close_up(const records *r, const store *b)
{
    int64_t at = 0;

    for (int64_t k = 0; k < r->pieces; k++) {
        const piece *p = &r->piece[k];
        const int64_t from = b->by_entry ? p->entry_at : p->row_at,
                      n = b->by_entry ? p->entries : p->rows;
        if (at != from && n > 0)
            memmove((char *)b->at + (size_t)at * b->size,
                    (char *)b->at + (size_t)from * b->size, (size_t)n * b->size);
        at += n;
    }
}

void records_close(records *r)
{
    for (int i = 0; i < r->stores && shared(r); i++)
        if (r->store[i].size > 0) (r->store[i].each ? bring_spans : bring)(r, &r->store[i]);
    for (int i = 0; i < r->stores; i++)
        close_up(r, &r->store[i]);
    r->rows = r->entries = 0;
    for (int64_t k = 0; k < r->pieces; k++) {
        r->rows += r->piece[k].rows;
        r->entries += r->piece[k].entries;
    }
}

static void free_slot(void *slot)
{
    ferry_i_ids_free(*(ferry_ids **)slot);
}

/* Rank 0's first, then those that rank 1 adds, and so on: in that order the file names them. */
const int64_t *records_unite(records *r, ferry_ids **ids)
{
    scope *s = r->s;
    char *all = NULL;
    int64_t from = 0, bytes = 0, own = 0;

    if (!shared(r)) return NULL;
    int64_t *map = NEW(s, int64_t, ferry_i_ids_count(*ids));
    ferry_ids **united = NEW(s, ferry_ids *, 1);
    *united = have(s, ferry_i_ids_new());
    scope_defer(s, free_slot, united);
    const int64_t mark = scope_mark(s);
    ferry_text *mine = new_text(s);
    ferry_i_ids_print(*ids, mine);
    scope_check(s, ferry_i_ranks_collect(scope_ctx(s), mine->len, 1, text_of(s, mine),
                                         &from, &bytes, (void **)&all));
    scope_adopt(s, all);
    for (int64_t at = 0, n = 0; at < bytes; at += n + 1) {
        n = (int64_t)strlen(all + at);
        const int64_t k = add_id(s, *united, all + at, n, NULL);
        if (at >= from && at < from + mine->len) map[own++] = k;
    }
    scope_release(s, mark);
    ferry_ids *old = *ids; /* goes with s */
    *ids = *united;
    *united = old;
    return map;
}
