/* Text: from documents to a sparse view. text.c finds the documents (text_files.c: those
 * that are wanted), text_tokens.c cuts them into words, text_counts.c counts these,
 * text_draw.c leaves documents out, text_build.c chooses the words and weighs them. */
#ifndef FERRY_TEXT_H
#define FERRY_TEXT_H

#include "data/fields.h"
#include "data/lines.h"

/* The stop words of that name: "english" (built in) or a file; NULL in *out for "" and
 * "none". */
ferry_status ferry_i_stop_words(ferry_ctx *ctx, const char *name, bool lower,
                                ferry_ids **out);

/* Calls each for every word of a valid UTF-8 text, lower-cased if asked (letter by letter,
 * in any alphabet), in a buffer that lasts for the call. `spaces`: split at white space
 * only, else runs of letters (ASCII letters and everything above). min_len counts
 * characters. What `each` returns other than FERRY_OK ends the walk and is returned. */
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
/* Begin counting. s and stop (NULL: no stop words) are lent and must live while documents
 * are added. With s->vocabulary only its words count, and words are those in its order. */
ferry_status ferry_i_counts_open(ferry_ctx *ctx, const ferry_read_settings *s,
                                 const ferry_ids *stop, ferry_counts *c);
/* Count one document. */
ferry_status ferry_i_counts_add(ferry_ctx *ctx, ferry_counts *c, const char *s, int64_t n);
/* Documents that are counted but not weighed: their words, ids and classes. */
typedef struct ferry_documents {
    ferry_counts counts;
    ferry_ids *ids;     /* NULL: none */
    ferry_ids *classes; /* distinct texts of the classes */
    int64_t *cls;       /* per document: place in classes, -1 missing */
    /* room of cls */
    int64_t cap;
    /* some document has a class */
    bool any_class;
} ferry_documents;
ferry_documents *ferry_i_documents_new(void); /* NULL: no memory */
void ferry_i_documents_free(ferry_documents *d);

/* Views of n pieces that share their words; s: the settings of each. */
ferry_status ferry_i_text_views(ferry_ctx *ctx, uint64_t seed, int64_t n,
                                ferry_data *const *data, const ferry_read_settings *s);

/* Which documents of one piece stay, as the options duplicates and sample say
 * (text_draw.c). rows: ascending, new memory; n of them. */
typedef struct ferry_drawn {
    int64_t *rows, n;
} ferry_drawn;
ferry_status ferry_i_text_draw(ferry_ctx *ctx, uint64_t seed, int64_t n,
                               ferry_data *const *data, const ferry_read_settings *s,
                               ferry_drawn *out);
/* The option part: whether it names part p (from 0) when the words are cut into *of parts.
 * *of is 1 and all are in when it is empty. Up to 64 parts. */
ferry_status ferry_i_text_part(ferry_ctx *ctx, const char *path, const char *part,
                               uint64_t *in, int64_t *of);

/* The option files (text_files.c): which members of a tree are read, and their classes. */
typedef struct ferry_file_choice {
    ferry_span class, pattern; /* class NULL: the usual one */
    int64_t found;
} ferry_file_choice;
typedef struct ferry_file_choices {
    ferry_file_choice *entry; /* none: all files */
    int64_t n, cap;
} ferry_file_choices;
/* Parse the option (c zeroed before; its texts point into files; c->entry is for
 * ferry_i_free). "" leaves it without entries. */
ferry_status ferry_i_choices_open(ferry_ctx *ctx, const char *path, const char *files,
                                  ferry_file_choices *c);
/* The entry that the member's name fits, counted; NULL: none does. */
ferry_file_choice *ferry_i_choices_find(ferry_file_choices *c, const char *name);
/* FERRY_EDATA names an entry that fitted nothing. */
ferry_status ferry_i_choices_check(ferry_ctx *ctx, const char *path,
                                   const ferry_file_choices *c);

#endif
