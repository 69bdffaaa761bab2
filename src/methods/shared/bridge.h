/* A task as a journey: sources, the intermediate domains in the order of the task, the
 * target. All features stand side by side in one numbering (FERRY_PATH of src/prepare), so
 * that "what two domains share" is a matter of columns; what a domain does not have is 0
 * there. */
#ifndef FERRY_TTL_BRIDGE_H
#define FERRY_TTL_BRIDGE_H

#include "learn/learn.h"
#include "methods/method.h"
#include "prepare/prepare.h"

#define TTL_OPT_LEAKS(T)                                                                   \
    FERRY_OPT_ONE_OF(T, leaks, "drop|keep", "drop",                                        \
                     "bridges of several views: instances that are also in the target")

#define TTL_OPT_LABELS(T)                                                                  \
    FERRY_OPT_ONE_OF(T, bridge_labels, "use|hide", "use",                                  \
                     "labels that intermediate domains have; hide: as if they had none")

#define TTL_OPT_COST(T)                                                                    \
    FERRY_OPT(T, REAL, C, 0, 0, 1e9,                                                       \
              "cost of errors of a classifier; 0: the best of .3, 1, 3, 10 and 30 by "     \
              "cross-validation on the labels that teach it")

/* One domain; all of it is lent by the prepared rows. */
typedef struct ttl_place {
    const ferry_domain *domain;
    int64_t n;               /* rows that are here, */
    int64_t all;             /* ... and of all ranks; the same without ranks */
    const int64_t *instance; /* n: places in the domain */
    ferry_matrix *x;         /* CSR n x cols, prepared */
    int32_t *known;          /* n: class or -1 */
    int64_t labelled;        /* how many are known, of all */
    const uint8_t *has;      /* per space: whether the domain has a view there */
} ttl_place;

typedef struct ttl_bridge {
    const char *method; /* for messages */
    int64_t c;          /* classes */
    int64_t n_sources, n_places;
    ttl_place *place; /* sources, intermediates, target */
    int64_t cols;
    ferry_prepared *prepared;
    int64_t leaks; /* instances that were dropped */
    char *notes;   /* what the user should know about the result */
} ttl_bridge;

/* One more sentence for the diagnostic "note", which stands under the table of results. */
void ferry_i_bridge_note(ferry_ctx *ctx, const ttl_bridge *b, const char *fmt, ...)
    FERRY_PRINTF(3, 4);

/* What the options above say, as they are numbered there. */
typedef struct ttl_reading {
    int scale, leaks, bridge_labels;
    ferry_positive positive; /* the method reads values as amounts */
} ttl_reading;
enum { TTL_LABELS_USE, TTL_LABELS_HIDE };

ferry_status ferry_i_bridge_new(ferry_ctx *ctx, const char *method, const ferry_task *task,
                                ttl_reading how, ttl_bridge **out);
void ferry_i_bridge_free(ttl_bridge *b);
const ttl_place *ferry_i_bridge_target(const ttl_bridge *b);
/* What the model needs to read new data, now the caller's: the rows are gone after it. */
ferry_prepared *ferry_i_bridge_release(ttl_bridge *b);
/* All instances of d in the target's columns, as predict gets them (CSR). */
ferry_status ferry_i_bridge_rows(ferry_ctx *ctx, const ferry_prepared *p,
                                 const ferry_domain *d, ferry_matrix **out);
/* The preparation of a path, and the tensor "classes": 2 or more. */
void ferry_i_bridge_file(ferry_io *io, ferry_prepared **p);
void ferry_i_bridge_classes(ferry_io *io, int64_t *c);

/* Whether rows may be brought to length 1 once columns are cut: not where values are
 * centred or left as they are. */
bool ferry_i_bridge_lengths(const ttl_bridge *b);
/* Whether a view is like words (0 or more, mostly 0); holds amounts, none below 0. */
bool ferry_i_space_wordlike(const ferry_space *s);
bool ferry_i_space_positive(const ferry_space *s);
/* used[j] <- whether column j has an entry in CSR x, or had it already. */
ferry_status ferry_i_columns_used(ferry_ctx *ctx, const ferry_matrix *x, uint8_t *used);
/* used[j] (cols, new) <- whether column j has an entry in place i. */
ferry_status ferry_i_bridge_used(ferry_ctx *ctx, const ttl_bridge *b, int64_t i,
                                 uint8_t **used);
/* Name of column j for people: the feature's, or its view and number, in buf. */
const char *ferry_i_bridge_column(const ttl_bridge *b, int64_t j, char *buf, size_t size);
/* x (on all columns) on the target's, those of keep (NULL: all); rows NULL: all. */
ferry_status ferry_i_bridge_on_target(ferry_ctx *ctx, const ttl_bridge *b,
                                      const ferry_matrix *x, const uint8_t *keep, int64_t n,
                                      const int64_t *rows, ferry_matrix **out);
/* One number for what row i of CSR x holds. */
uint64_t ferry_i_row_hash(const ferry_matrix *x, int64_t i);

/* Diagnostic `key`: for each of the k groups of scores (score[j * k + g] for column j) the
 * names of the columns that score highest, {"group": ["name", ...]}; groups are called by
 * names (NULL: 1, 2, ...). Columns of score 0 or less are never named. */
void ferry_i_bridge_tell_top(ferry_ctx *ctx, const char *key, const ttl_bridge *b,
                             const ferry_ids *names, int64_t k, const double *score);

/* ---- cutting columns ---- */

/* CSR x with the columns where keep is not 0, renumbered; l2: rows to length 1 after that.
 * kept (may be NULL) gets the old number of each new column: new memory. */
ferry_status ferry_i_columns_cut(ferry_ctx *ctx, const ferry_matrix *x, const uint8_t *keep,
                                 bool l2, ferry_matrix **out, int64_t **kept);
/* Weights w (c x (cut + 1)) on cut columns as weights on all `cols` columns (0 elsewhere),
 * in place of w. */
ferry_status ferry_i_columns_spread(ferry_ctx *ctx, int64_t c, int64_t cols, int64_t cut,
                                    const int64_t *kept, double **w);

#endif
