/* Text: from documents to a sparse view. text.c finds the documents (text_files.c: those
 * that are wanted), text_tokens.c cuts them into words, text_counts.c counts these,
 * text_draw.c leaves documents out, text_build.c chooses the words and weighs them. */
#ifndef FERRY_TEXT_H
#define FERRY_TEXT_H

#include "data/records.h"

/* The stop words of that name: "english" (built in) or a file; NULL for "" and
 * "none". */
const ferry_ids *stop_words(scope *s, const char *name, bool lower);

/* How texts are cut into words: lower-cased if asked (letter by letter,
 * in any alphabet), in a buffer that lasts for the call. `spaces`: split at white space
 * only, else runs of letters (ASCII letters and everything above). min_len counts
 * characters. */
typedef struct word_rule {
    bool spaces, lower;
    int64_t min_len;
    void (*each)(void *arg, const char *word, int64_t n);
    void *arg;
    ferry_text *buffer; /* where lower: older than what is made meanwhile */
} word_rule;
/* Calls each for every word of a valid UTF-8 text. */
void each_word(scope *s, word_rule *w, const char *text, int64_t n);
/* What is left of a mail without its headers: the subject's text and the body, in t. Texts
 * that do not begin with a header are left whole. */
void ferry_i_strip_mail(const char *s, int64_t n, ferry_text *t);

/* Counts of words, document by document. */
typedef struct ferry_counts {
    ferry_ids *words; /* all seen, in order of appearance (or the given vocabulary) */
    int64_t docs;
    int64_t *start;        /* docs + 1: where each document's entries begin */
    int32_t *word, *count; /* entries */
    int64_t n;
    int64_t cap_start, cap_word, cap_count;
    int64_t *seen; /* per word: 1 + its entry in the document at hand, if >= start[docs] */
    int64_t cap_seen;
} ferry_counts;
/* Documents that are counted but not weighed: their words, ids and classes. */
typedef struct ferry_documents {
    ferry_counts counts;
    ferry_ids *ids;     /* NULL: none */
    ferry_ids *classes; /* distinct texts of the classes */
    int64_t *cls;       /* per document: place in classes, -1 missing */
    int64_t cap;        /* of cls */
    bool any_class;     /* some document has a class */
} ferry_documents;
ferry_documents *ferry_i_documents_new(void); /* NULL: no memory */
void ferry_i_documents_free(ferry_documents *d);

/* Counting, while documents are read. */
typedef struct counting {
    scope *s;
    const ferry_read_settings *set;
    const ferry_ids *stop; /* or NULL */
    ferry_counts *c;
    word_rule words;
    ferry_text *pair; /* bigrams: the word before, then the pair */
    int64_t before;   /* length of the word before, 0: none */
} counting;
/* Begin. With set->vocabulary only its words count, and words are those in its order. */
void counts_open(scope *s, const ferry_read_settings *set, const ferry_ids *stop,
                 ferry_counts *c, counting *k);
/* Count one document. */
void counts_add(counting *k, const char *text, int64_t n);

/* Views of n pieces that share their words; set: the settings of each. */
void text_views(scope *s, uint64_t seed, int64_t n, ferry_data *const *data,
                const ferry_read_settings *set);

/* Which documents of one piece stay, as the options duplicates and sample say
 * (text_draw.c). rows: ascending, n of them. */
typedef struct ferry_drawn {
    int64_t *rows, n;
} ferry_drawn;
void text_draw(scope *s, uint64_t seed, int64_t n, ferry_data *const *data,
               const ferry_read_settings *set, ferry_drawn *out);
/* The option part: whether it names part p (from 0) when the words are cut into *of parts.
 * *of is 1 and all are in when it is empty. Up to 64 parts. */
void text_part(scope *s, const char *path, const char *part, uint64_t *in, int64_t *of);

/* The option files (text_files.c): which members of a tree are read, and their classes. */
typedef struct file_choice {
    ferry_span class, pattern; /* class NULL: the usual one */
    int64_t found;
} file_choice;
typedef struct file_choices {
    file_choice *entry; /* none: all files */
    int64_t n;
} file_choices;
/* Parse the option; texts point into files. "" leaves it without entries. */
void choices_open(scope *s, const char *path, const char *files, file_choices *c);
/* The entry that the member's name fits, counted; NULL: none does. */
file_choice *choices_find(file_choices *c, const char *name);
/* Fails by an entry that fitted nothing. */
void choices_check(scope *s, const char *path, const file_choices *c);

#endif
