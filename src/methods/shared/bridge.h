/* A task as a journey: sources, the intermediate domains in the order of the task, the
 * target. All features stand side by side in one numbering, so that "what two domains
 * share" is a matter of columns; what a domain does not have is 0 there. */
#ifndef FERRY_TTL_BRIDGE_H
#define FERRY_TTL_BRIDGE_H

#include "learn/learn.h"
#include "methods/method.h"

/* How the values of a view are prepared, the same in all domains that have it. */
typedef enum ttl_scale {
    TTL_AUTO,      /* counts of words: tfidf; sparse: l2; 0 or more: hellinger; standard */
    TTL_NONE,      /* as they are */
    TTL_L2,        /* instances to length 1 */
    TTL_TFIDF,     /* (1 + ln count) idf over all domains, then l2 */
    TTL_HELLINGER, /* sqrt(x / sum): histograms */
    TTL_STANDARD   /* mean 0 (dense), deviation 1 */
} ttl_scale;
#define TTL_OPT_SCALE(T)                                                                   \
    FERRY_OPT_ONE_OF(T, scale, "auto|none|l2|tfidf|hellinger|standard", "auto",            \
                     "prepare each view; auto: tfidf for word counts, l2 if sparse, "      \
                     "hellinger if not below 0, else standard")
#define TTL_OPT_LEAKS(T)                                                                   \
    FERRY_OPT_ONE_OF(T, leaks, "drop|keep", "drop",                                        \
                     "bridges of several views: instances that are also in the target")

#define TTL_OPT_LABELS(T)                                                                  \
    FERRY_OPT_ONE_OF(T, bridge_labels, "use|hide", "use",                                  \
                     "labels that intermediate domains have; hide: as if they had none")

/* One kind of features: a view by name, over all domains that have it. Without views of
 * several names all are one. */
typedef struct ttl_space {
    char *name;
    int64_t begin, cols;    /* where its columns stand */
    ferry_ids *features;    /* names, or NULL */
    ttl_scale scale;        /* never auto */
    double *shift, *factor; /* cols: x -> (x - shift) factor; NULL where there is none */
    bool full;              /* dense everywhere: zeros are values like others */
    bool wordlike;          /* sparse and not below 0 */
    bool negative;          /* some value is below 0 */
} ttl_space;

typedef struct ttl_place {
    const ferry_domain *domain;
    int64_t n;
    int64_t *instance; /* n: places in the domain */
    ferry_matrix *x;   /* CSR n x cols, prepared */
    int32_t *known;    /* n: class or -1 */
    int64_t labelled;  /* how many are known */
    uint8_t *has;      /* per space: whether the domain has a view there */
} ttl_place;

typedef struct ttl_bridge {
    const char *method; /* for messages */
    int64_t c;          /* classes */
    int64_t n_sources, n_places;
    ttl_place *place; /* sources, intermediates, target */
    int64_t n_spaces, cols;
    ttl_space *space;      /* those of the target's views first, in their order */
    int64_t n_target;      /* how many those are */
    int64_t *target_width; /* ... and how many of their first columns the target has */
    int64_t leaks;         /* instances that were dropped */
    char *notes;           /* what the user should know about the result */
} ttl_bridge;

/* One more sentence for the diagnostic "note", which stands under the table of results. */
void ferry_i_bridge_note(ferry_ctx *ctx, const ttl_bridge *b, const char *fmt, ...)
    FERRY_PRINTF(3, 4);

/* What the options above say, as they are numbered there. */
typedef struct ttl_reading {
    int scale, leaks, bridge_labels;
} ttl_reading;
enum { TTL_LABELS_USE, TTL_LABELS_HIDE };

ferry_status ferry_i_bridge_new(ferry_ctx *ctx, const char *method, const ferry_task *task,
                                ttl_reading how, ttl_bridge **out);
void ferry_i_bridge_free(ttl_bridge *b);
const ttl_place *ferry_i_bridge_target(const ttl_bridge *b);
/* Cost of errors of a classifier for place i: C itself, or when that is 0, 10 where the
 * features that it shares with the places before are words and 1 where they are not. */
double ferry_i_bridge_cost(const ttl_bridge *b, int64_t i, double C);
#define TTL_OPT_COST(T)                                                                    \
    FERRY_OPT(T, REAL, C, 0, 0, 1e9,                                                       \
              "cost of errors of a classifier; 0: 10 for words, 1 for other features")
/* Whether rows may be brought to length 1 once columns are cut: not where views are
 * standardised or left as they are. */
bool ferry_i_bridge_lengths(const ttl_bridge *b);
/* used[j] (cols, new) <- whether column j has an entry in place i. */
ferry_status ferry_i_bridge_used(ferry_ctx *ctx, const ttl_bridge *b, int64_t i,
                                 uint8_t **used);
/* Name of column j for people: the feature's, or its view and number, in buf. */
const char *ferry_i_bridge_column(const ttl_bridge *b, int64_t j, char *buf, size_t size);

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

/* ---- the target's columns alone, for the model ---- */

/* The views of the target side by side, each with how it is prepared. */
typedef struct ttl_frame {
    int64_t n_views, cols;
    ttl_space *view; /* without features */
} ttl_frame;

ferry_status ferry_i_frame_new(ferry_ctx *ctx, const ttl_bridge *b, ttl_frame **out);
void ferry_i_frame_free(ttl_frame *f);
/* Column j of the frame in the bridge's numbering. */
int64_t ferry_i_frame_column(const ttl_frame *f, const ttl_bridge *b, int64_t j);
/* All instances of d, CSR n x cols, prepared. d's views are the frame's. */
ferry_status ferry_i_frame_rows(ferry_ctx *ctx, const ttl_frame *f, const ferry_domain *d,
                                ferry_matrix **out);
ferry_status ferry_i_frame_save(ferry_ctx *ctx, const ttl_frame *f, ferry_dict *dict);
ferry_status ferry_i_frame_load(ferry_ctx *ctx, const ferry_dict *dict, ttl_frame **out);

#endif
