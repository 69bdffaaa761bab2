/* Text: from documents to a sparse view. text.c finds the documents, text_tokens.c cuts
 * them into words, text_build.c counts and weighs them. */
#ifndef FERRY_TEXT_H
#define FERRY_TEXT_H

#include "data/fields.h"

/* The stop words of that name: "english" (built in) or a file; NULL in *out for "" and
 * "none". */
ferry_status ferry_i_stop_words(ferry_ctx *ctx, const char *name, bool lower,
                                ferry_ids **out);

/* Calls each for every word of a valid UTF-8 text, lower-cased if asked (ASCII and Latin-1
 * letters), in a buffer that lasts for the call. `spaces`: split at white space only, else
 * runs of letters (ASCII letters and everything above). min_len counts characters. */
typedef ferry_status (*ferry_word_fn)(ferry_ctx *ctx, void *arg, const char *word,
                                      int64_t n);
ferry_status ferry_i_words(ferry_ctx *ctx, const char *s, int64_t n, bool spaces,
                           bool lower, int64_t min_len, ferry_word_fn each, void *arg);
/* What is left of a mail without its headers: the subject's text and the body, in t. Texts
 * that do not begin with a header are left whole. */
void ferry_i_strip_mail(const char *s, int64_t n, ferry_text *t);

/* Counts of words, document by document. */
typedef struct ferry_counts {
    const ferry_read_settings *s;
    ferry_ids *words;      /* all seen, in order of appearance (or the given vocabulary) */
    const ferry_ids *stop; /* or NULL */
    int64_t docs;
    int64_t *start;        /* docs + 1: where each document's entries begin */
    int32_t *word, *count; /* entries */
    int64_t n;
    int64_t cap_start, cap_word, cap_count;
    int64_t *seen; /* per word: 1 + its entry in the document at hand, if >= start[docs] */
    int64_t cap_seen;
    ferry_text pair; /* bigrams: the word before, then the pair */
    int64_t before;  /* length of the word before, 0: none */
} ferry_counts;
ferry_status ferry_i_counts_open(ferry_ctx *ctx, const ferry_read_settings *s,
                                 const ferry_ids *stop, ferry_counts *c);
void ferry_i_counts_close(ferry_counts *c);
/* Count one document. */
ferry_status ferry_i_counts_add(ferry_ctx *ctx, ferry_counts *c, const char *path,
                                const char *s, int64_t n);
/* Choose the vocabulary, weigh, and fill x, features, idf and empty_rows of d. */
ferry_status ferry_i_counts_give(ferry_ctx *ctx, ferry_counts *c, ferry_data *d);

#endif
