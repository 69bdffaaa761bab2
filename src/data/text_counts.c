/* Counting words, document by document.
 *
 * Words of all documents share one numbering; a document is a run of (word, count) entries.
 * Whether it had a word before is told by an array that holds, for each word, its last entry:
 * one from before the document's first is another document's. So nothing is cleared in
 * between, and a document costs O(its words). */

#include "data/text.h"

/* Choices of the option tokens, in its order. */
enum { WORDS, BIGRAMS, SPACES };

/* seen is filled for the words of a vocabulary at once; other words get theirs when they
 * are added. */
ferry_status ferry_i_counts_open(ferry_ctx *ctx, const ferry_read_settings *s,
                                 const ferry_ids *stop, ferry_counts *c)
{
    *c = (ferry_counts){.s = s, .stop = stop};
    c->words = s->vocabulary ? ferry_i_ids_copy(s->vocabulary) : ferry_i_ids_new();
    if (!c->words || !FERRY_GROW(c->start, 0, c->cap_start)) return ferry_i_nomem(ctx);
    c->start[0] = 0;
    for (int64_t i = 0; i < ferry_i_ids_count(c->words); i++) {
        if (!FERRY_GROW(c->seen, i, c->cap_seen)) return ferry_i_nomem(ctx);
        c->seen[i] = 0;
    }
    return FERRY_OK;
}

/* Frees what c owns; s and stop are lent. */
static void counts_close(ferry_counts *c)
{
    ferry_i_ids_free(c->words);
    FERRY_FREE(c->start, c->word, c->count, c->seen);
    ferry_i_text_free(&c->pair);
    *c = (ferry_counts){0};
}

/* ---- counting ---- */

/* One more of this word in the document at hand: O(length) on average. seen[w] is 1 + the
 * word's last entry, so seen[w] > start[docs] says that the entry is this document's. */
static ferry_status count_word(ferry_ctx *ctx, ferry_counts *c, const char *word, int64_t n)
{
    ferry_status st = FERRY_OK;
    bool added = false;
    int64_t w = 0;

    if (c->s->vocabulary) {
        w = ferry_i_ids_findn(c->words, word, n);
        if (w < 0) goto done; /* new words are dropped */
    } else {
        w = ferry_i_ids_addn(c->words, word, n, &added);
        FERRY_HAVE(ctx, w >= 0 && w < INT32_MAX);
        FERRY_HAVE(ctx, !added || FERRY_GROW(c->seen, w, c->cap_seen));
        if (added) c->seen[w] = 0;
    }
    if (c->seen[w] > c->start[c->docs]) {
        c->count[c->seen[w] - 1]++;
        goto done;
    }
    FERRY_HAVE(ctx, FERRY_GROW(c->word, c->n, c->cap_word) &&
                        FERRY_GROW(c->count, c->n, c->cap_count));
    c->word[c->n] = (int32_t)w;
    c->count[c->n++] = 1;
    c->seen[w] = c->n;
done:
    return st;
}

/* ferry_word_fn. Bigrams are pairs of words that stand together once stop words are gone;
 * the words themselves count as well. pair holds the word before: "a", then "a b", then
 * "b". */
static ferry_status one_word(ferry_ctx *ctx, void *arg, const char *word, int64_t n)
{
    ferry_counts *c = arg;

    if (c->stop && ferry_i_ids_findn(c->stop, word, n) >= 0) return FERRY_OK;
    FERRY_PASS(count_word(ctx, c, word, n));
    if (c->s->tokens != BIGRAMS) return FERRY_OK;
    if (c->before > 0) {
        ferry_i_text_addn(&c->pair, " ", 1);
        ferry_i_text_addn(&c->pair, word, n);
        if (c->pair.failed) return ferry_i_nomem(ctx);
        FERRY_PASS(count_word(ctx, c, c->pair.s, c->pair.len));
    }
    c->pair.len = 0;
    ferry_i_text_addn(&c->pair, word, n);
    if (c->pair.failed) return ferry_i_nomem(ctx);
    c->before = n;
    return FERRY_OK;
}

/* Each document is taken as UTF-8 or Latin-1 by itself, as collections of mail mix both. No
 * bigram reaches over the end of a document. */
ferry_status ferry_i_counts_add(ferry_ctx *ctx, ferry_counts *c, const char *s, int64_t n)
{
    ferry_status st = FERRY_OK;
    ferry_utf8 u = {0};
    ferry_text mail = {0};

    if (c->s->mail_headers == 1) {
        ferry_i_strip_mail(s, n, &mail);
        FERRY_HAVE(ctx, !mail.failed);
        s = mail.s ? mail.s : "";
        n = mail.len;
    }
    FERRY_TRY(ferry_i_utf8_open(ctx, s, n, &u));
    c->before = 0;
    FERRY_TRY(ferry_i_words(ctx, u.s, u.n, c->s->tokens == SPACES, c->s->lower,
                            c->s->min_len, one_word, c));
    FERRY_HAVE(ctx, FERRY_GROW(c->start, c->docs + 1, c->cap_start));
    c->start[++c->docs] = c->n;
done:
    ferry_i_utf8_close(&u);
    ferry_i_text_free(&mail);
    return st;
}

/* ---- documents ---- */

/* counts is still closed: ferry_i_counts_open() begins it. */
ferry_documents *ferry_i_documents_new(void)
{
    ferry_documents *d = ferry_i_calloc(1, sizeof *d);

    if (!d) return NULL;
    d->ids = ferry_i_ids_new();
    d->classes = ferry_i_ids_new();
    if (d->ids && d->classes) return d;
    ferry_i_documents_free(d);
    return NULL;
}

void ferry_i_documents_free(ferry_documents *d)
{
    if (!d) return;
    counts_close(&d->counts);
    ferry_i_ids_free(d->ids);
    ferry_i_ids_free(d->classes);
    FERRY_FREE(d->cls, d);
}
