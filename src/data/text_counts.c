/* Counting words, document by document.
 *
 * Words of all documents share one numbering; a document is a run of (word, count) entries.
 * Whether it had a word before shows in an array that holds, for each word, its last entry:
 * one from before the document's first is another document's. So nothing is cleared in
 * between, and a document costs O(its words). */

#include "data/text.h"

/* Choices of the option tokens, in its order. */
enum { WORDS, BIGRAMS, SPACES };

/* ---- counting ---- */

/* One more of this word in the document at hand: O(length) on average. seen[w] is 1 + the
 * word's last entry, so seen[w] > start[docs] says that the entry is this document's. */
static void count_word(const counting *k, const char *word, int64_t n)
{
    ferry_counts *c = k->c;
    bool added = false;
    int64_t w = 0;

    if (k->set->vocabulary) {
        w = ferry_i_ids_findn(c->words, word, n);
        if (w < 0) return; /* new words are dropped */
    } else {
        w = add_id(k->s, c->words, word, n, &added);
        if (w == INT32_MAX || (added && !FERRY_GROW(c->seen, w, c->cap_seen)))
            have(k->s, NULL);
        if (added) c->seen[w] = 0;
    }
    if (c->seen[w] > c->start[c->docs]) {
        c->count[c->seen[w] - 1]++;
        return;
    }
    if (!FERRY_GROW(c->word, c->n, c->cap_word) ||
        !FERRY_GROW(c->count, c->n, c->cap_count))
        have(k->s, NULL);
    c->word[c->n] = (int32_t)w;
    c->count[c->n++] = 1;
    c->seen[w] = c->n;
}

/* Bigrams are pairs of words that stand together once stop words are gone;
 * the words themselves count as well. pair holds the word before: "a", then "a b", then
 * "b". */
static void one_word(void *arg, const char *word, int64_t n)
{
    counting *k = arg;

    if (k->stop && ferry_i_ids_findn(k->stop, word, n) >= 0) return;
    count_word(k, word, n);
    if (k->set->tokens != BIGRAMS) return;
    if (k->before > 0) {
        ferry_i_text_addn(k->pair, " ", 1);
        ferry_i_text_addn(k->pair, word, n);
        count_word(k, text_of(k->s, k->pair), k->pair->len);
    }
    k->pair->len = 0;
    ferry_i_text_addn(k->pair, word, n);
    k->before = n;
}

/* seen is filled for the words of a vocabulary at once; other words get theirs when they
 * are added. */
void counts_open(scope *s, const ferry_read_settings *set, const ferry_ids *stop,
                 ferry_counts *c, counting *k)
{
    *k = (counting){.s = s,
                    .set = set,
                    .stop = stop,
                    .c = c,
                    .words = {.spaces = set->tokens == SPACES,
                              .lower = set->lower,
                              .min_len = set->min_len,
                              .each = one_word,
                              .arg = k,
                              .buffer = new_text(s)},
                    .pair = new_text(s)};
    c->words =
        have(s, set->vocabulary ? ferry_i_ids_copy(set->vocabulary) : ferry_i_ids_new());
    if (!FERRY_GROW(c->start, 0, c->cap_start)) have(s, NULL);
    c->start[0] = 0;
    for (int64_t i = 0; i < ferry_i_ids_count(c->words); i++) {
        if (!FERRY_GROW(c->seen, i, c->cap_seen)) have(s, NULL);
        c->seen[i] = 0;
    }
}

/* Each document is taken as UTF-8 or Latin-1 by itself, as collections of mail mix both. No
 * bigram reaches over the end of a document. */
void counts_add(counting *k, const char *text, int64_t n)
{
    ferry_counts *c = k->c;

    if (k->set->mail_headers == 1) {
        ferry_text *mail = new_text(k->s);
        ferry_i_strip_mail(text, n, mail);
        text = text_of(k->s, mail);
        n = mail->len;
    }
    text = as_utf8(k->s, text, &n);
    k->before = 0;
    each_word(k->s, &k->words, text, n);
    if (!FERRY_GROW(c->start, c->docs + 1, c->cap_start)) have(k->s, NULL);
    c->start[++c->docs] = c->n;
}

/* ---- documents ---- */

/* counts is still empty: counts_open() begins it. */
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
    ferry_i_ids_free(d->counts.words);
    FERRY_FREE(d->counts.start, d->counts.word, d->counts.count, d->counts.seen);
    ferry_i_ids_free(d->ids);
    ferry_i_ids_free(d->classes);
    FERRY_FREE(d->cls, d);
}
