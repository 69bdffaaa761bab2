/* Leaving out documents (the options duplicates and sample) and words (the option part).
 *
 * Documents go before words are chosen, duplicates before samples are drawn, and all draws
 * come from streams of the given seed that do not depend on the repeat of an evaluation:
 * all repeats work with the same data. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "data/text.h"

/* ---- duplicates ---- */

/* A document's words and their counts, in whatever order they came. Two sums of 64 bits:
 * that different documents meet in both is not to be expected. */
typedef struct mark {
    uint64_t a, b;
} mark;

/* A sum does not depend on the order of its terms, and words come in the order in which
 * they appear. The count is the hash's seed, so that "a a b" and "a b b" differ. */
static mark mark_of(const ferry_counts *c, int64_t i)
{
    mark m = {0, 0};

    for (int64_t e = c->start[i]; e < c->start[i + 1]; e++) {
        const char *word = ferry_i_ids_at(c->words, c->word[e]);
        const size_t n = strlen(word);
        m.a += XXH3_64bits_withSeed(word, n, (uint64_t)c->count[e]);
        m.b += XXH3_64bits_withSeed(word, n, ~(uint64_t)c->count[e]);
    }
    return m;
}

/* Of documents with the same words the first stays, also across pieces. Documents without
 * words are left alone. */
static void drop_duplicates(scope *s, int64_t n, ferry_data *const *data, ferry_drawn *d)
{
    ferry_ids *seen = new_ids(s);
    char text[40];

    for (int64_t p = 0; p < n; p++) {
        const ferry_counts *c = &data[p]->documents->counts;
        int64_t kept = 0;
        for (int64_t r = 0; r < d[p].n; r++) {
            const int64_t i = d[p].rows[r];
            bool added = true;
            if (c->start[i] < c->start[i + 1]) {
                const mark m = mark_of(c, i);
                const int len = snprintf(text, sizeof text, "%llx %llx",
                                         (unsigned long long)m.a, (unsigned long long)m.b);
                (void)add_id(s, seen, text, len, &added);
            }
            if (added) d[p].rows[kept++] = i;
        }
        if (kept < d[p].n)
            ferry_i_log(scope_ctx(s), FERRY_INFO,
                        "%s: %lld of %lld documents are duplicates", data[p]->path,
                        (long long)(d[p].n - kept), (long long)d[p].n);
        d[p].n = kept;
    }
}

/* ---- sample ---- */

/* Ascending row numbers. */
static int by_number(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Of the rows of class cls (-1: of all rows) let `most` stay, drawn by rng. */
static void draw(scope *s, const ferry_documents *docs, int64_t cls, int64_t most,
                 ferry_rng *rng, ferry_drawn *d)
{
    int64_t *pick = NEW(s, int64_t, d->n), n = 0, kept = 0;

    for (int64_t r = 0; r < d->n; r++)
        if (cls < 0 || docs->cls[d->rows[r]] == cls)
            pick[n++] = d->rows[r];
        else
            d->rows[kept++] = d->rows[r];
    /* the first `most` of a random order are a sample without repetition */
    ferry_i_rng_shuffle(rng, n, pick);
    for (int64_t r = 0; r < n && r < most; r++)
        d->rows[kept++] = pick[r];
    d->n = kept;
    if (kept > 1) qsort(d->rows, (size_t)kept, sizeof *d->rows, by_number);
    scope_drop(s, pick);
}

/* N, or CLASS=N,CLASS=N. */
static void sample(scope *s, const ferry_data *data, const char *spec, ferry_rng *rng,
                   ferry_drawn *d)
{
    const ferry_documents *docs = data->documents;

    for (const char *at = spec, *e = NULL; *at; at = *e ? e + 1 : e) {
        e = strchr(at, ',');
        if (!e) e = at + strlen(at);
        const char *eq = memchr(at, '=', (size_t)(e - at)), *from = eq ? eq + 1 : at;
        int64_t most = 0, cls = -1;
        if (ferry_i_parse_int(from, e, &most) != e || most <= 0 ||
            (!eq && (at != spec || *e != 0)))
            scope_fail(s, FERRY_EINVAL,
                       "%s: sample = \"%s\": expected N or CLASS=N,CLASS=N", data->path,
                       spec);
        if (eq) cls = ferry_i_ids_findn(docs->classes, at, eq - at);
        if (eq && cls < 0)
            bad_at(s, data->path, 0, "sample: no document has the class '%.*s'",
                   (int)(eq - at), at);
        draw(s, docs, cls, most, rng, d);
    }
}

/* A stream for each piece, so that a sample of one does not change with the size of
 * another. */
void text_draw(scope *s, uint64_t seed, int64_t n, ferry_data *const *data,
               const ferry_read_settings *set, ferry_drawn *out)
{
    ferry_ctx seeded = *scope_ctx(s); /* for its streams only */
    ferry_rng rng;
    char use[40];

    seeded.seed = seed;
    seeded.repeat = 0;
    for (int64_t p = 0; p < n; p++) {
        const int64_t docs = data[p]->documents->counts.docs;
        out[p].rows = NEW(s, int64_t, docs);
        for (out[p].n = 0; out[p].n < docs; out[p].n++)
            out[p].rows[out[p].n] = out[p].n;
    }
    if (set[0].like) return; /* new documents are all wanted */
    if (set[0].duplicates) drop_duplicates(s, n, data, out);
    for (int64_t p = 0; p < n; p++) {
        (void)snprintf(use, sizeof use, "text sample %lld", (long long)p);
        ferry_i_rng_for(&seeded, &rng, use);
        sample(s, data[p], set[p].sample, &rng, &out[p]);
    }
}

/* ---- part ---- */

/* "1+3/4" sets the bits 0 and 2 of *in and *of to 4. */
void text_part(scope *s, const char *path, const char *part, uint64_t *in, int64_t *of)
{
    const char *end = part + strlen(part), *slash = strchr(part, '/'), *at = part;
    bool good =
        slash && ferry_i_parse_int(slash + 1, end, of) == end && *of >= 1 && *of <= 64;

    *in = 0;
    if (!part[0]) {
        *in = *of = 1;
        return;
    }
    while (good && at) {
        int64_t p = 0;
        at = ferry_i_parse_int(at, slash, &p);
        good = at && (at == slash || *at == '+') && p >= 1 && p <= *of;
        if (good) *in |= (uint64_t)1 << (p - 1);
        at = good && at < slash ? at + 1 : NULL;
    }
    if (!good || !*in)
        scope_fail(
            s, FERRY_EINVAL,
            "%s: part = \"%s\": expected such as 1/2 (the first of two parts) or 1+2/3",
            path, part);
}
