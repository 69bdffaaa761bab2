/* Data: labels, views, graphs, ratings, domains; what one file holds; the seam between file
 * formats.
 *
 * Heavy parts (matrices, ids, edges) are shared by reference count, so that a split of a
 * task (with other labels hidden) costs only its labels. Everything is filled by its maker
 * and then not changed.
 */
#ifndef FERRY_DATA_INTERNAL_H
#define FERRY_DATA_INTERNAL_H

#include "ferry/domain.h"
#include "linalg/linalg.h"

/* ---- labels ---- */

/* What one instance's label is: one of several names, a real number, or a subset of
 * names. */
typedef enum ferry_label_kind {
    FERRY_LABEL_CLASS,
    FERRY_LABEL_NUMBER,
    FERRY_LABEL_SET
} ferry_label_kind;

/* Labels of n instances. CLASS: cls[i] is a place in names, -1 missing. NUMBER: num[i], NaN
 * missing; text[i] is a place in texts where the file wrote it otherwise than
 * ferry_i_name_real() does ("1.0", "+1"), else -1; text is NULL when none was. SET: on[i * m + k]
 * is 0 or 1 and known[i] is 0 where missing; m = count of names. */
typedef struct ferry_labels {
    ferry_label_kind kind;
    int64_t n;
    /* only the arrays of the kind are there, the others are NULL */
    int32_t *cls;
    double *num;
    int32_t *text;
    uint8_t *on, *known;
    ferry_ids *names; /* classes or labels; NULL for numbers */
    ferry_ids *texts; /* of numbers; NULL as text is */
} ferry_labels;

ferry_status
ferry_i_labels_new(ferry_ctx *ctx, ferry_label_kind kind, int64_t n, const ferry_ids *names,
                   ferry_labels **out); /* all missing; names copied (NULL: empty) */
/* Everything is new, the names too. */
ferry_status ferry_i_labels_copy(ferry_ctx *ctx, const ferry_labels *l, ferry_labels **out);
/* n labels, of which number at[i] (NULL: i) is l's number i and the rest is missing. */
ferry_status ferry_i_labels_spread(ferry_ctx *ctx, const ferry_labels *l, int64_t n,
                                   const int64_t *at, ferry_labels **out);
/* n labels that may be copied from l: its kind, names and texts, all missing. */
ferry_status ferry_i_labels_like(ferry_ctx *ctx, const ferry_labels *l, int64_t n,
                                 ferry_labels **out);
/* Label i of `to`, which is like `from`, becomes label j of `from`. */
void ferry_i_labels_put(ferry_labels *to, int64_t i, const ferry_labels *from, int64_t j);
/* Number i as n bytes of a file have it. false: no memory. */
bool ferry_i_labels_write(ferry_labels *l, int64_t i, double x, const char *s, int64_t n);
/* What a file says for number i: as it was written, else ferry_i_name_real(). Borrowed, or in buf
 * (32 bytes). */
const char *ferry_i_labels_number(const ferry_labels *l, int64_t i, char *buf);
/* NULL is fine, as for every _free below. */
void ferry_i_labels_free(ferry_labels *l);
bool ferry_i_labels_has(const ferry_labels *l, int64_t i); /* NULL l: false */
/* Make label i missing, its content wiped: a method must not find it by looking closer. */
void ferry_i_labels_hide(ferry_labels *l, int64_t i);
int64_t ferry_i_labels_m(const ferry_labels *l); /* count of names */
/* As another kind: numbers become classes named as they were written, class names that
 * all parse become numbers, classes become one-label sets, one-label sets classes.
 * FERRY_EDATA names the first that does not. */
ferry_status ferry_i_labels_as(ferry_ctx *ctx, const ferry_labels *l, ferry_label_kind kind,
                               ferry_labels **out);
/* Renumber classes or labels so that they index `names`, by text. A name that occurs but is not
 * there is FERRY_EDATA unless `drop`, which makes such classes missing and leaves such labels
 * out. */
ferry_status ferry_i_labels_rename(ferry_ctx *ctx, ferry_labels *l, const ferry_ids *names,
                                   bool drop);

/* Names of classes (label_texts.c). A text is a name as it stands; a number without a text, of
 * an array or of JSON, is named by these. Into buf (32 bytes); the length. Whole numbers as
 * digits, so that 1.0 of an array is "1" of a table; others by ferry_i_format_real(). */
int ferry_i_name_real(char *buf, double x);
/* Whether x, written so, is named so, as far as can be seen at a glance. */
bool ferry_i_is_named(const char *s, int64_t n, double x);
/* Whether two names are one number written in two ways ("1", "1.0"), and which. */
bool ferry_i_same_number(const char *a, const char *b, double *x);

/* ---- views, graphs, ratings ---- */

/* One table of features over some of the domain's instances. x is held by
 * reference count and may be shared with other views; the rest is the view's own. */
typedef struct ferry_view {
    char *name;
    ferry_matrix *x;     /* rows of the view; NaN = missing cell (dense only) */
    int64_t *row_of;     /* per domain instance: its row in x, -1 when the view lacks it */
    int64_t *instance;   /* per row of x: the domain instance */
    int64_t n_instances; /* length of row_of */
    ferry_ids *features; /* names, or NULL */
    bool has_missing;    /* some cell is NaN */
    ferry_opts *read;    /* reader options it was read with, or NULL */
    double *idf;         /* text: weight of each feature, or NULL */
    bool unwritten;      /* nobody chose the name: x: of a task file */
    char *same_as;       /* what the user says it is, "DOMAIN.VIEW" or "none"; or NULL */
} ferry_view;

/* Whether the features have names that say what they are: numbers from 1 or 0 do not. */
bool ferry_i_view_has_names(const ferry_view *v);

/* Symmetric adjacency over the domain's instances: CSR n x n with both directions stored,
 * no self-loops, repeated edges added up. */
typedef struct ferry_graph {
    char *name;
    ferry_matrix *a;
    bool
        choose; /* of nearest rows, with as many as the visible labels ask for (task/near.c) */
} ferry_graph;

/* n observed (user, item, value); NaN = to be predicted. lo, hi: range of the finite
 * values, or the one that was given. */
typedef struct ferry_ratings {
    int64_t n;
    int32_t *user, *item; /* places in users, items */
    double *value;
    ferry_ids *users, *items;
    double lo, hi;
    bool ranged; /* lo and hi were given */
    /* where pairs repeated: all as they were given, each by its place among the n; else NULL */
    int64_t lines, *line;
    struct ferry_ratings *
        of; /* whose arrays and ids they are where they are the same ones, kept alive; or NULL */
    struct ferry_held *held; /* the file that the arrays lie in, or NULL */
    _Atomic int refs;
} ferry_ratings;

/* Rows of two views known to be the same thing: instance ids left[i] of one domain,
 * right[i] of another. */
typedef struct ferry_pairs {
    int64_t n;
    char **left, **right;
    char *left_domain, *right_domain; /* names; NULL: the first source and the target */
} ferry_pairs;

void ferry_i_pairs_free(ferry_pairs *p);

/* Which labels of a target a method may see. How the labels to show are chosen: none, so
 * many, a share of them, so many of each class, those of certain instances, or all there are, scored by
 * cross-validation. */
typedef enum ferry_seen_kind {
    FERRY_SEEN_NONE,
    FERRY_SEEN_COUNT,
    FERRY_SEEN_FRACTION,
    FERRY_SEEN_PER_CLASS,
    FERRY_SEEN_IDS,
    FERRY_SEEN_ALL
} ferry_seen_kind;
/* The rule alone: which instances it picks is drawn anew for each repeat (task/split.c). */
typedef struct ferry_seen {
    ferry_seen_kind kind;
    /* COUNT, PER_CLASS: how many; FRACTION: the share, 0..1 */
    double value;
    int64_t classes; /* PER_CLASS: of so many classes; 0: of all */
    ferry_ids *ids;  /* FERRY_SEEN_IDS */
} ferry_seen;

/* The instances of one domain and all that is known of them. A domain is filled part by
 * part while it has one owner and no base, and is constant from then on. */
struct ferry_domain {
    char *name;
    ferry_role role;
    ferry_ids *ids; /* instances */
    ferry_view **views;
    int64_t n_views;
    ferry_graph **graphs;
    int64_t n_graphs;
    ferry_labels *labels; /* over ids, or NULL */
    bool labels_of_views; /* they came with views, so another view's may add to them */
    double *weight;       /* of the first n_weights instances, others 1; or NULL: all 1 */
    int64_t n_weights;
    ferry_ratings *ratings; /* or NULL */
    ferry_pairs *pairs;     /* or NULL */
    bool numbered; /* a view came without ids: instances are called by its row numbers */
    bool of_task;  /* so they have been called since the task was made */
    /* for domains that are made for a prediction: the instances to predict come first */
    int64_t asked; /* predictions are for so many instances, the others are there for what
                    * a model knows of them; 0: for all */
    ferry_seen seen;
    struct ferry_domain *base; /* owner of all but what differs from it, or NULL */
    _Atomic int refs;
};

/* Whether an id says which instance it is: numbers of rows that were read for themselves
 * do not, another file has them too. */
bool ferry_i_domain_named(const ferry_domain *d);
/* One more owner; ferry_domain_free() is one less. A domain with several owners does not
 * change any more. */
ferry_domain *ferry_i_domain_ref(ferry_domain *d);
/* A domain with other labels (stolen) or ratings (stolen), everything else shared with
 * d. */
ferry_status ferry_i_domain_with_labels(ferry_ctx *ctx, const ferry_domain *d,
                                        ferry_labels *labels, ferry_domain **out);
ferry_status ferry_i_domain_with_ratings(ferry_ctx *ctx, const ferry_domain *d,
                                         ferry_ratings *ratings, ferry_domain **out);
/* Likewise with other views or graphs (as many as d has, array and all stolen) or pairs. */
ferry_status ferry_i_domain_with_views(ferry_ctx *ctx, const ferry_domain *d,
                                       ferry_view **views, ferry_domain **out);
ferry_status ferry_i_domain_with_graphs(ferry_ctx *ctx, const ferry_domain *d,
                                        ferry_graph **graphs, ferry_domain **out);
ferry_status ferry_i_domain_with_pairs(ferry_ctx *ctx, const ferry_domain *d,
                                       ferry_pairs *pairs, ferry_domain **out);
/* xxHash of all the data, the same in every run: views, graphs, ratings and ids, not the
 * labels. */
int64_t ferry_i_domain_id_count(const ferry_domain *d); /* instances */
const char *ferry_i_domain_id_at(const ferry_domain *d, int64_t i);
uint64_t ferry_i_domain_hash(const ferry_domain *d);
/* How much an instance counts. */
static inline double ferry_i_weight_of(const ferry_domain *d, int64_t instance)
{
    return instance < d->n_weights ? d->weight[instance] : 1;
}
/* Likewise of the labels alone; 0 when there are none. */
uint64_t ferry_i_domain_labels_hash(const ferry_domain *d);
const ferry_view *ferry_i_domain_view(const ferry_domain *d,
                                      const char *name); /* NULL: not there */

ferry_status ferry_i_ratings_new(ferry_ctx *ctx, int64_t n, const ferry_ids *users,
                                 const ferry_ids *items,
                                 ferry_ratings **out); /* ids copied */
/* Arrays that lie in *held, which is taken over. Nothing writes to them. */
ferry_status ferry_i_ratings_borrowed(ferry_ctx *ctx, int64_t n, const int32_t *user,
                                      const int32_t *item, const double *value,
                                      const ferry_ids *users, const ferry_ids *items,
                                      struct ferry_held **held, ferry_ratings **out);
/* The same ratings, shared with r; only the range is its own. */
ferry_status ferry_i_ratings_share(ferry_ctx *ctx, const ferry_ratings *r,
                                   ferry_ratings **out);
/* Values of its own, to be changed; users, items and who rated what are shared with r. */
ferry_status ferry_i_ratings_copy(ferry_ctx *ctx, const ferry_ratings *r,
                                  ferry_ratings **out);
/* Of repeated (user, item) pairs keep the last, keep in `line` what was given, and set lo, hi unless
 * they were given (NaN when there is no value). */
ferry_status ferry_i_ratings_tidy(ferry_ctx *ctx, ferry_ratings *r);
/* Say how many were left out, to those who learn from ratings: who is asked answers all. */
void ferry_i_ratings_tell(ferry_ctx *ctx, const ferry_domain *d);
/* lo and hi from the values that are there, unless they were given. */
void ferry_i_ratings_range(ferry_ratings *r);
/* No entries any more; users, items and range stay. */
void ferry_i_ratings_forget(ferry_ratings *r);
void ferry_i_ratings_free(ferry_ratings *r); /* one owner less */

/* How features of view b line up with those of view a. map (b's columns; new memory for
 * ferry_i_free) gives a's column or -1. By name when both have names, else by number when
 * the counts agree. *shared: how many. FERRY_ENEEDS with a plain sentence when nothing
 * lines up. */
ferry_status ferry_i_view_align(ferry_ctx *ctx, const ferry_view *a, const ferry_view *b,
                                int32_t **map, int64_t *shared);

/* ---- what one file holds ---- */

/* What one file holds, and so which fields of ferry_data are set. */
typedef enum ferry_data_kind {
    FERRY_DATA_VIEW,    /* x, with ids, features, labels where the file has them */
    FERRY_DATA_LABELS,  /* labels only */
    FERRY_DATA_GRAPH,   /* from, to, weight */
    FERRY_DATA_RATINGS, /* ratings */
    FERRY_DATA_LISTING  /* a container: the variables or members inside */
} ferry_data_kind;

/* What FILE#NAME can name; texts for people. Both strings are its own. */
typedef struct ferry_listing_entry {
    char *name, *type; /* "text_fea", "uint8 6000 x 1000" */
} ferry_listing_entry;

/* What a reader made of one file. Only the fields of its kind are set, the others are NULL
 * or 0; all belong to it and go with ferry_data_free(). */
struct ferry_data {
    ferry_data_kind kind;
    const char *format; /* static name */
    char *path;
    ferry_matrix *x;
    ferry_ids *ids;       /* per row, or NULL: row numbers from 1 */
    ferry_ids *features;  /* per column, or NULL */
    ferry_labels *labels; /* per row, or NULL */
    double *idf;          /* text */
    ferry_opts *read;   /* options it was read with; readers may add what they found out */
    int64_t empty_rows; /* text: documents without a word left */
    struct ferry_documents *documents; /* text that is not weighed yet (text.h), or NULL */
    /* graph */
    int64_t edges;
    ferry_ids *nodes;
    /* edges long; places in nodes. As the file has them: repeats, loops and both
     * directions */
    int32_t *from, *to;
    double *weight; /* NULL: all 1 */
    ferry_ratings *ratings;
    ferry_listing_entry *listing;
    int64_t n_listing;
};
ferry_data *ferry_i_data_new(const char *format, const char *path,
                             ferry_data_kind kind); /* NULL: memory */
/* Leave out the labels in data (ids and labels) whose ids d does not have, with a warning;
 * none when all of them are unknown, which adding them will refuse. */
ferry_status ferry_i_data_known_labels(ferry_ctx *ctx, const ferry_domain *d,
                                       ferry_data *data);
/* Read for use as labels or edges or ratings, whatever the file looks like (`as` decides
 * between, say, a CSV as a view and a CSV as edges). */
ferry_status ferry_i_read_as(ferry_ctx *ctx, const char *path, const ferry_opts *opts,
                             ferry_data_kind as, ferry_data **out);
/* A view of a domain that has several: this file may lack the column that label= names. */
ferry_status ferry_i_read_one_of(ferry_ctx *ctx, const char *path, const ferry_opts *opts,
                                 ferry_data **out);
/* Read new text (or any file) as it was read for a view: same options, same features, same
 * idf. */
ferry_status ferry_i_read_like(ferry_ctx *ctx, const char *path, const ferry_opts *read,
                               const ferry_ids *features, const double *idf,
                               int64_t columns, const ferry_opts *more, ferry_data **out);

/* Read text without choosing its words yet (data->documents), and make views of n such
 * pieces that share their words: the vocabulary, the document frequencies and the random
 * draws (from `seed`) are those of all pieces together. What concerns the vocabulary is
 * taken from the first piece's options. */
ferry_status ferry_i_read_raw_text(ferry_ctx *ctx, const char *path, const ferry_opts *opts,
                                   ferry_data **out);
ferry_status ferry_i_text_weigh(ferry_ctx *ctx, uint64_t seed, int64_t n,
                                ferry_data *const *data);

/* ---- file formats ---- */

/* The readers' option table fills this. One struct for all formats, because the options are one
 * table for users: `ferry inspect --set label=last` must work before anybody knows which format
 * the file has, and a format reads the fields that concern it. */
typedef struct ferry_read_settings {
    const char *format; /* "" : by extension, then content */
    int header;         /* auto | yes | no */
    const char
        *sep;       /* "" : guessed; tab, comma, semicolon, space, pipe, "::" or any text */
    const char *id; /* "" ; column name, number from 1, first, last, none */
    const char
        *label; /* likewise; several label columns: "last:14" or "first:14" or a,b,c */
    const char *missing; /* text of a missing cell besides the usual ones */
    int decimal;         /* point | comma */
    const char *range;   /* ratings: "" as found, or "1..5" */
    const char *scale;   /* ... by its old name */
    const char
        *labels_xml;  /* Mulan XML beside an ARFF; "" looks for the same name with .xml */
    int transpose;    /* yes: the file has features x instances (usual in MAT files) */
    int64_t features; /* svmlight: number of features, 0: from the data */
    int index_base;   /* svmlight: auto | zero | one */
    /* text */
    int documents;      /* auto | lines | files */
    const char *files;  /* "": all; [CLASS=]NAME,... */
    const char *sample; /* "": all; N or CLASS=N,... */
    int duplicates;     /* keep | drop */
    int tokens; /* words | bigrams (words and word pairs) | spaces (split at white space
                   only) */
    int lower;  /* lower case */
    int64_t min_len;
    double min_df, max_df;  /* count when >= 1, share below 1 */
    const char *stop_words; /* file, "english", or "" */
    int weight;             /* counts | binary | tf | tfidf */
    int norm;               /* none | l1 | l2 */
    int mail_headers;       /* keep | strip (the subject stays) */
    const char *part;       /* "": all words; 1/2, 1+2/3 */
    double max_empty;       /* share */
    const char *drop;       /* columns to leave out: names or numbers, a,b,c */
    /* Not in the table: set by ferry_i_read_like() when new data must map as before (text:
     * words that are not in it are dropped). */
    bool like;                   /* reading new data for a view that was read before */
    const ferry_ids *vocabulary; /* its feature names, or NULL */
    const double *idf;           /* text: their weights, or NULL */
    int64_t columns;             /* how many features it has; 0: not known */
    bool raw;                    /* text: only count; ferry_i_text_weigh() makes the view */
    bool label_elsewhere; /* the column label= may be in another view of the domain */
} ferry_read_settings;
/* The option table that fills the struct (formats.c); ferry_options() gives it. */
extern const ferry_opt ferry_i_read_table[];
extern const int64_t ferry_i_read_table_n;
extern const ferry_opt_table ferry_i_read_options;
/* Whether a column of new data was a feature (or a category among them) before: such a one
 * is never the label that this file may lack. */
bool ferry_i_was_feature(const ferry_read_settings *s, const char *name);

/* One source of bytes: a plain or compressed file, or a member of an archive, read whole or
 * mapped. */
typedef struct ferry_input {
    const char *data; /* not ended by 0 */
    int64_t size;
    char *path;  /* for messages, "file" or "file#member" */
    void *owned; /* how to release it */
    int64_t owned_size;
    /* what release() in input.c has to do: unmap, free, let go of a share, or nothing */
    int how;
} ferry_input;
/* Open "file", "file#member" or "-" (standard input), unpacked if it is compressed.
 * FERRY_EDATA when it is not there, is a folder or is damaged. After a failure *in is
 * closed already. */
ferry_status ferry_i_input_open(ferry_ctx *ctx, const char *path, ferry_input *in);
/* Releases the bytes however they were come by, and zeroes *in. A zeroed input is fine. */
void ferry_i_input_close(ferry_input *in);
/* The bytes for as long as somebody reads them, whatever happens to the input: its map where it has one and they
 * begin at a multiple of 8, else a copy. */
typedef struct ferry_held {
    const char *data;
    int64_t size;
    void *map; /* NULL: data is a copy of our own */
    int64_t map_size;
} ferry_held;
ferry_status ferry_i_input_hold(ferry_ctx *ctx, const ferry_input *in, ferry_held **out);
void ferry_i_held_free(void *held); /* a ferry_release_fn */
/* From now on keep the file that was unpacked last, so that several who read one archive
 * unpack it once; false: forget it, and keep none. */
void ferry_i_unpacked_keep(ferry_ctx *ctx, bool keep);
/* White space within a line; \r ends lines that come from Windows. */
static inline bool ferry_i_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}
/* FERRY_EDATA "path:line: text". line 0 leaves the line out. */
ferry_status ferry_i_bad(ferry_ctx *ctx, const char *path, int64_t line, const char *fmt,
                         ...) FERRY_PRINTF(4, 5);
/* Unless cond holds: that, and leave by `done:`. `line` is worked out only then, so it may be
 * a call that counts lines from the file's start. */
#define FERRY_NEED_AT(ctx, cond, path, line, ...)                                          \
    do {                                                                                   \
        if (!(cond)) {                                                                     \
            st = ferry_i_bad((ctx), (path), (line), __VA_ARGS__);                          \
            goto done;                                                                     \
        }                                                                                  \
    } while (0)

/* Calls `each` for every regular file of a folder tree or archive, sorted by name. bytes
 * are borrowed for the call; a status other than FERRY_OK ends the walk and is returned. */
typedef ferry_status (*ferry_member_fn)(ferry_ctx *ctx, void *arg, const char *name,
                                        const char *bytes, int64_t n);
ferry_status ferry_i_each_member(ferry_ctx *ctx, const char *path, ferry_member_fn each,
                                 void *arg);
/* Length of a path without a last .gz, .xz, .bz2 or .zst. */
int64_t ferry_i_unpacked_len(const char *path);
bool ferry_i_is_archive(const char *path); /* .tar .tar.gz .zip .7z ... */

struct ferry_archive; /* archive.h */
struct scope;         /* core/scope.h */
struct source;        /* records.h */
/* One file format: what it is called, how it is recognised, read and written. Adding one is
 * a file with such a table and a line in formats.c. */
typedef struct ferry_format {
    ferry_format_info info;
    unsigned kinds;      /* bits 1 << ferry_data_kind that it can give */
    const char *options; /* reader options that mean something to it, "sep id label" */
    /* 0..100: how sure the first bytes (uncompressed) look like it. NULL: never sniffed. */
    int (*sniff)(const char *head, int64_t n);
    /* Read from an opened input. in->data is NULL, only in->path is set, when the format
     * opens_itself, or when the path is a folder or an archive (see sniff_tree). `as` is
     * what is wanted; member is what follows # (only when `members`), else NULL. */
    ferry_status (*read)(ferry_ctx *ctx, const ferry_input *in, const char *member,
                         const ferry_read_settings *s, ferry_data_kind as,
                         ferry_data **out);
    /* Instead of read: a text format by the record engine (records.h). The bytes become text as `open` says; what is
     * found is put into d, which the caller frees. */
    unsigned open;
    void (*records)(struct scope *s, const struct source *from, ferry_data *d);
    /* read is given the path alone: the bytes are not loaded for it */
    bool opens_itself;
    bool members; /* holds variables: "file#name" */
    /* 0..100: how sure the files of a folder or archive look like it. NULL: reads neither
     * folders nor archives. */
    int (*sniff_tree)(const struct ferry_archive *tree);
    ferry_status (*write)(ferry_ctx *ctx, const ferry_data *data, const char *path,
                          const ferry_opts *opts); /* NULL: not written */
} ferry_format;
/* Whether an option means something to a format, by its name in ferry_data.format. That
 * there is no id or label ("none") means something to all. */
bool ferry_i_option_applies(const char *format, const ferry_setting *s);
/* FERRY_EINVAL unless all of them do: what is ignored without a word is a wrong answer. */
ferry_status ferry_i_options_apply(ferry_ctx *ctx, const ferry_data *d,
                                   const ferry_opts *opts);
/* The sentence about one that does not. */
ferry_status ferry_i_option_refuse(ferry_ctx *ctx, const char *path, const char *format,
                                   const char *option);
extern const ferry_format ferry_i_format_delimited, ferry_i_format_svmlight,
    ferry_i_format_mtx, ferry_i_format_npy, ferry_i_format_npz, ferry_i_format_mat,
    ferry_i_format_arff, ferry_i_format_linqs, ferry_i_format_ratings, ferry_i_format_edges,
    ferry_i_format_text, ferry_i_format_fdata;

#endif
