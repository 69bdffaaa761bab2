/* The method seam: what a method is, and what the framework does for it. A method is one file: a table of options, a
 * state with its table, `fit` from a problem, `scores` of new rows. Memory and failures belong to the scope, rows to
 * their layouts, preparation and the model's file to the framework. */
#ifndef FERRY_SEAM_H
#define FERRY_SEAM_H

#include "learn/learner.h"
#include "learn/online.h"
#include "model/method.h"

/* How the rows and columns of a task lie in a problem. */
typedef enum arrangement {
    JOINED,      /* views side by side in the target's columns: one matrix a domain */
    VIEWS_APART, /* a matrix for each view of a domain, in its own columns */
    CHAIN, /* one numbering of all columns of all domains, all instances: what a domain lacks is 0 */
    NO_FEATURES, /* labels alone */
    STREAM, /* labelled rows, each domain in the columns of its only view; new rows come one by one (`online`) */
    RATINGS /* users and items by what their ratings are; no features */
} arrangement;

/* Whose rows are delivered. */
enum { WANT_SOURCES = 1, WANT_BRIDGES = 2, WANT_TARGET = 4 };

/* For methods that read values as amounts. */
typedef enum amounts {
    ANY_SIGN,
    PLAIN_ROOTS, /* roots are not centred */
    AMOUNTS      /* and nothing below 0 comes out unless it went in, or the user chose so */
} amounts;

/* The target's graphs. With them all its instances are rows, also those without features, and rows of new data that had
 * a label at fit have it again; where the target has no view the graphs are all there is. All processes answer together. */
typedef enum graph_wants {
    NO_GRAPHS,
    ALL_GRAPHS, /* new data must have those of the fit */
    ANY_GRAPHS  /* new data may lack some */
} graph_wants;

/* From a task to a problem, together with the user's common options. */
typedef struct wants {
    arrangement as;
    unsigned domains; /* WANT_ bits */
    bool
        trains; /* JOINED: the common option `train` says from which domains labelled rows come */
    bool unlabelled; /* trains: the target's rows without a label, too */
    /* JOINED: labelled rows of the sources, and all of the target without its labels */
    bool beside;
    bool raw;      /* beside: values may be as the task has them, see domain.factor */
    bool labelled; /* only rows with a label; of new data all */
    graph_wants graphs;
    bool missing;  /* NaN stays, for trees; dense: also what a domain lacks */
    bool unscaled; /* values as they are, whatever their unit: no option `scale` */
    bool shared;   /* JOINED: only columns that some source has, too */
    bool linked; /* JOINED: some source shares columns; the target keeps those of its own */
    bool every;  /* all instances, also those without features */
    bool
        keeps; /* rows become part of the model: nothing of them is borrowed from the task */
    bool
        pairs; /* of rows of the only source and the target, which then need no labels; rows must all be here */
    amounts sign;
    int scale; /* STREAM: a ferry_scale; elsewhere the common option `scale` says it */
    const char *scale_default; /* of that option; NULL: auto */
} wants;

/* Options that are the framework's: which of them a method has follows from what it wants. */
typedef struct common_options {
    int scale, train, leaks, bridge_labels;
} common_options;
typedef enum training {
    TRAIN_ON_AUTO,
    TRAIN_ON_SOURCE,
    TRAIN_ON_TARGET,
    TRAIN_ON_BOTH
} training;

/* Labels of the target on the way of a fit, for whoever asks whether they repeat (select). The arrays are the
 * caller's, for the n rows of the target. */
typedef struct label_trace {
    int32_t *propagated, *label; /* as they reached the target, and at last */
    int32_t *
        half; /* 4 n: propagated through either half of its features, refined from there; NULL: not asked for, nor
                    * is the rest */
    double source, bridge,
        target; /* kappas: the least of a source, of a bridge; the target's */
} label_trace;

/* A constant of the program; every pointer in it lives as long. Nothing outside a method knows its name: what others
 * want to know of it is a field here. */
typedef struct method {
    const char *name, *summary,
        *reference; /* reference: "Author, Title, Venue Year" or NULL */
    ferry_kind kind;
    unsigned goals; /* ferry_goal bits */
    unsigned needs; /* FERRY_NEED_ bits */
    wants wants;
    const ferry_opt *options;
    int64_t n_options;
    size_t options_size;
    const table *state;
    /* A learner on rows of the task: what the learner says is not said here again. With `fit`: the learner whose state
     * fit makes, which then answers. */
    const learner *by;
    bool whole; /* not where rows are spread over processes; the framework says so */
    bool
        basis; /* wants.graphs: predictions tell what each stands on: views, neighbours, or the base */
    bool asked; /* runs only where a task names it */
    /* It names classes that the target has no label of: its first control is a source whose class names are permuted. */
    bool names_classes;
    ferry_family family;
    bool pools, slow; /* as in model/method.h */
    /* Goal embed: new data may be rows of the sources, whose first views follow the target's in the model. */
    bool embeds_sources;
    /* a method of kind control that is this one but for its knowledge and takes the same options, by name; NULL: none */
    const char *control;
    /* What follows from options. NULL: nothing. */
    void (*adapt)(const void *options, wants *w);
    /* Options that do not go together, tasks that `needs` cannot describe: fails. The domains have names, numbers of
     * rows and the classes of their instances, no values. NULL: all go. */
    void (*fits)(scope *s, const problem *shape, const void *options);
    /* keep lives as long as the model; state is zeroed. */
    void (*fit)(scope *s, scope *keep, const problem *p, const void *options, void *state);
    /* The labels of a fit, without its model. NULL: it cannot tell them. */
    void (*trace)(scope *s, const problem *p, const void *options, label_trace *to);
    /* Rows of new data: out (n x classes, n x 1 for numbers) is zeroed; NaN: no answer. Threads share a state. */
    void (*scores)(scope *s, const void *state, const domain *d, block out);
    double least; /* label sets: scores above are on */
    /* Of each class 0, or the number of a group without a name that it stands for: rows of it are of no class, and
     * predictions have them as ?1, ?2, ... NULL: all classes have names. */
    const int32_t *(*groups)(const void *state);
    /* Label sets: which are on (labels), from the scores of a row. NULL: by least. */
    void (*decide)(const void *state, const double *score, uint8_t *on);
    /* Goal embed: n x dimensions, new; NaN: no place. NULL: it makes none. */
    block (*embed)(scope *s, const void *state, const domain *d);
    const online *online; /* STREAM, instead of scores() */
    /* RATINGS: a state that also knows r's new users and items; who was there keeps his numbers, and new ones follow.
     * r has the numbers of all; x: a row of each new user over the items that were there; xt: a row of each new item
     * over all users. `to` is zeroed. */
    void (*fold_in)(scope *s, scope *keep, const void *state, const ratings *r, void *to);
} method;
#define METHOD_OPTIONS(table, T)                                                           \
    .options = (table), .n_options = FERRY_COUNT(table), .options_size = sizeof(T)

#endif
