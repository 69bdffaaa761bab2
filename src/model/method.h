/* The method seam: what a method is, as seen by whoever fits, keeps, loads or asks one.
 *
 * A method is one constant descriptor: words for people, a table of options, and functions on
 * a state that only the method looks into. It stands here, below the methods, because a model
 * holds its method's descriptor: saving, loading and freeing go through it. The list of all
 * methods is in methods/registry.c. */
#ifndef FERRY_MODEL_METHOD_H
#define FERRY_MODEL_METHOD_H

#include "data/data.h"
#include "ferry/stream.h"
#include "state/io.h"
#include "task/task.h"

struct method;

/* What a method needs of a task; checked before fit, with one sentence about what is
 * missing. */
enum {
    FERRY_NEED_SOURCE = 1,          /* at least one source */
    FERRY_NEED_SOURCE_LABELS = 2,   /* ... with labels */
    FERRY_NEED_INTERMEDIATE = 4,    /* at least one intermediate domain */
    FERRY_NEED_TARGET_LABELS = 8,   /* some target labels that may be seen */
    FERRY_NEED_VIEW = 16,           /* every domain it uses has a view */
    FERRY_NEED_ONE_VIEW = 32,       /* ... and only one */
    FERRY_NEED_GRAPH = 64,          /* the target has a graph */
    FERRY_NEED_RATINGS = 128,       /* every domain it uses has ratings */
    FERRY_NEED_TARGET_VIEW = 256,   /* the target has a view */
    FERRY_NEED_VIEW_OR_GRAPH = 512, /* the target has a view or a graph */
    FERRY_NEED_PATH = 1024          /* features lead from a labelled domain to the target */
};

/* What a method is like: what is known of others of its family is known of it (run/policy.h). Those from
 * FERRY_FAMILY_POOLED on see a source. */
typedef enum ferry_family {
    FERRY_FAMILY_NONE, /* transfer methods: joint; of others nothing is known */
    FERRY_FAMILY_LINEAR,
    FERRY_FAMILY_SEMI, /* also learns from rows without a label */
    FERRY_FAMILY_CLUSTERS,
    FERRY_FAMILY_LOCAL,
    FERRY_FAMILY_TREES,
    FERRY_FAMILY_CONSTANT,
    FERRY_FAMILY_POOLED, /* a learner that is given rows of the source, too, */
    FERRY_FAMILY_SOURCE, /* ... or these alone */
    FERRY_FAMILY_PATH,   /* labels go over a path of domains, */
    FERRY_FAMILY_JOINT,  /* ... or domains have a space in common */
    FERRY_FAMILIES
} ferry_family;

/* A constant of the program; every pointer in it lives as long. Functions get the state
 * that fit() or load() made and are never called without one. predict, transform,
 * fold_in, top and saving take it as const: they may run in several threads at once, each
 * with its own context. */
typedef struct ferry_method {
    const struct method
        *next; /* the method itself (seam.h); NULL: it is not moved there yet */
    const char *name, *summary,
        *reference; /* reference: "Author, Title, Venue Year" or NULL */
    ferry_kind kind;
    unsigned goals; /* ferry_goal bits */
    unsigned needs; /* FERRY_NEED_ bits */
    const ferry_opt *options;
    int64_t n_options;
    size_t options_size;
    /* A method of kind control that is this one but for its knowledge and takes the same
     * options, by name; NULL: none. The evaluation judges this one against it. */
    const char *control;
    bool asked; /* runs only where a task names it */
    bool timed; /* fit() says its seconds: others are what we do around it */
    ferry_family family;
    bool pools;  /* a baseline that is also tried on sources, alone and with the target */
    bool weighs; /* takes weights of instances */
    bool slow;   /* takes ten times as long as most: the answer asks it last */
    /* It names classes that the target has no label of: its first control is a source whose
     * class names are permuted. */
    bool names_classes;
    /* fit() also works where every rank has its own rows (--engine mpi): sums over rows are ferry_i_sum_rows(), and
     * predict() asks nothing of an instance but its own features, unless all ranks are to answer `together`. */
    bool spreads, together;
    /* Goal embed: transform() also takes rows of the sources. The model then has their
     * first views after the target's, named DOMAIN.VIEW. */
    bool embeds_sources;
    /* More than `needs` can say; may be NULL. FERRY_ENEEDS and a sentence when the task
     * does not fit. */
    ferry_status (*fits)(ferry_ctx *ctx, const ferry_task *task, const void *options);
    /* Ranges of options were checked; the task was resolved and fits. *rep starts zeroed but
     * for the objective, which is NaN; the caller sets the seconds. */
    ferry_status (*fit)(ferry_ctx *ctx, const ferry_task *task, const void *options,
                        void **state, ferry_fit_info *rep);
    /* Fill p->cls/score, value, set or (transform) the embedding for every instance of d
     * (for rate: every rating pair). p->n, k, names, ids are set and the arrays of the goal
     * allocated; features are aligned by the caller: the domain's views stand in the order
     * and columns of the target's at fit; a view that is absent has no rows. Labels and
     * rating values are hidden. The state may come from a file whose other parts say
     * something else: check p->k and the views' columns against it (FERRY_EDATA). cls -1
     * and value NaN mean no answer. */
    ferry_status (*predict)(ferry_ctx *ctx, const void *state, const ferry_domain *d,
                            ferry_prediction *p);
    /* Goal embed. NULL: none. p->score is not allocated: set p->k and allocate it. */
    ferry_status (*transform)(ferry_ctx *ctx, const void *state, const ferry_domain *d,
                              ferry_prediction *p);
    /* Goal rate. A state that also knows the users and items of d's ratings which were not
     * there at fit. NULL: cannot. */
    ferry_status (*fold_in)(ferry_ctx *ctx, const void *state, const ferry_domain *d,
                            void **out);
    /* Goal rate. The n best items of each of the users (NULL: all) with their ratings, best
     * first; `rated`: also those that the user rated. NULL: cannot. */
    ferry_status (*top)(ferry_ctx *ctx, const void *state, const ferry_ids *users,
                        int64_t n, bool rated, ferry_ratings **out);
    /* Names of the graphs that predict() uses where a domain has them, and ids of the
     * instances whose labels it knows as neighbours. Borrowed. NULL: none. */
    const ferry_ids *(*graphs)(const void *state);
    const ferry_ids *(*known)(const void *state);
    /* The state's way to a file and back; NULL: cannot be saved. Names of tensors and texts
     * must not begin with "ferry.". A file is untrusted: every size and index is checked.
     * free also takes a state of state_size zeroes of which only a part was loaded. */
    ferry_io_fn *file;
    size_t state_size;
    void (*free)(void *state);
} ferry_method;

/* Members of a descriptor: the table of options and the struct they fill; the struct of the
 * state, what saves and loads it and what frees it. */
#define FERRY_OPTIONS(table, T)                                                            \
    .options = (table), .n_options = FERRY_COUNT(table), .options_size = sizeof(T)
#define FERRY_STATE(T, file_, free_)                                                       \
    .file = (file_), .state_size = sizeof(T), .free = (free_)

ferry_status ferry_i_method_save(ferry_ctx *ctx, const ferry_method *method,
                                 const void *state, ferry_dict *dict);
ferry_status ferry_i_method_load(ferry_ctx *ctx, const ferry_method *method,
                                 const ferry_dict *dict, void **state);

/* The method of that name, NULL: unknown. Defined by the registry, above: a model's file names
 * its method, and this is how loading finds it. */
const ferry_method *ferry_i_method_find(const char *name);

#endif
