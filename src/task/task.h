/* Tasks. */
#ifndef FERRY_TASK_INTERNAL_H
#define FERRY_TASK_INTERNAL_H

#include "core/ranks.h"
#include "data/data.h"
#include "ferry/method.h"
#include "ferry/task.h"

typedef struct ferry_evaluate_settings {
    int64_t repeats;
    int64_t seed;        /* < 0: the context's */
    const char *metrics; /* comma separated; "": those usual for the goal */
    int ties;            /* worst | mean | index */
    double arriving;     /* goal stream: share of the labels that come */
    int64_t delay;       /* ... so many rows later */
    int controls;        /* none | quick | full */
    int answer;          /* yes | single | no */
    int guard;           /* does nothing */
    int predictions;     /* kept: first | all */
    int splits;          /* kept: which labels were visible */
    double least;        /* difference that matters; < 0: a hundredth */
    const char *primary; /* a transfer method, or "" */
} ferry_evaluate_settings;
/* A metric that a task may name (run/metrics.c). */
typedef struct ferry_metric_info {
    const char *name;
    const char *help; /* its definition in a line */
    unsigned goals;   /* what it measures, one bit each (FERRY_CLASSIFY | ...) */
    int larger_is_better;
    int mean_of_rows; /* 1: a mean over what is scored, each instance or pair having its own value */
} ferry_metric_info;
const ferry_metric_info *ferry_i_metric_info_at(int64_t i); /* NULL past the last */

/* Give the context the seed of "evaluate:", where the task sets one. */
ferry_status ferry_i_task_use_seed(ferry_ctx *ctx, const ferry_task *task);
extern const ferry_opt ferry_i_evaluate_table[];
extern const int64_t ferry_i_evaluate_table_n;
extern const ferry_opt_table ferry_i_evaluate_options;
/* The settings of "evaluate:"; texts point into the task. */
ferry_status ferry_i_task_evaluate(ferry_ctx *ctx, const ferry_task *task,
                                   ferry_evaluate_settings *out);

/* What was chosen for the splits of a task with bridge: auto (select/choose.c). */
typedef struct ferry_choices ferry_choices;

struct ferry_task {
    char *name;
    ferry_goal goal;
    ferry_domain **domains;
    int64_t n_domains;
    ferry_task_method *methods;
    int64_t n_methods;
    ferry_opts *evaluate;
    /* Classes or labels of all domains in one numbering: numbers ascending if all are
     * numbers, else by strcmp. Every domain's labels index this. NULL for numbers. */
    ferry_ids *names;
    /* Where it was read from: absolute path, the text, and the settings that changed it;
     * NULL for a task that a program made. */
    char *file, *text;
    ferry_opts *sets;
    bool
        choose; /* bridge: auto: which intermediate domains are used is still to be chosen, split by split */
    char *
        chosen; /* a split's: {chosen, q, why} as JSON, for the diagnostics of what is fitted on it */
    ferry_choices *choices; /* of a task from a file */
    /* Made for one fit, and nobody looks at it after that: a method may let go of the ratings that it has taken. */
    bool passing;
};

/* A method's other algorithm was an option `mode` of it once: NAME with mode: paper is NAME-paper, with mode: ferry NAME
 * itself. Whether it still has that option; the method that a mode means, NULL: none. */
bool ferry_i_task_has_mode(const ferry_method_info *m);
const ferry_method_info *ferry_i_task_mode(const ferry_method_info *m, const char *mode);
/* NAME+source is NAME with train: both, NAME-source with train: source; NULL: the name is none of these. */
const ferry_method_info *ferry_i_task_pooled(const char *name, const char **train);
/* *real <- the method's name of today, *less (NULL: opts as they are) <- new options without `mode`. */
ferry_status ferry_i_task_spelling(ferry_ctx *ctx, const char *name, const ferry_opts *opts,
                                   const char **real, ferry_opts **less);

/* Bring all domains' labels to the goal's kind and one numbering. Classes are those that
 * occur. In a multi-label task names is what all domains with labels know; other labels
 * are left out, which is said once. Done by load and before any use. */
ferry_status ferry_i_task_resolve(ferry_ctx *ctx, ferry_task *task);
/* A resolved task with the same data (shared), without methods and evaluate settings. */
ferry_status ferry_i_task_resolved(ferry_ctx *ctx, const ferry_task *task,
                                   ferry_task **out);
/* Labels of d as the goal wants them, in its own numbering; NULL when there are none or the
 * goal has no use for them. */
ferry_status ferry_i_task_labels(ferry_ctx *ctx, ferry_goal goal, const ferry_domain *d,
                                 ferry_labels **out);

/* Mistakes that can be read: classes that differ only in case (FERRY_EDATA), and warnings of
 * classes that source and target do not share, of sets of labels taken for classes, of
 * features that are the label. The task is resolved. */
ferry_status ferry_i_task_check(ferry_ctx *ctx, const ferry_task *task);
/* Its part that warns of classes that are one number written in two ways; *said (NULL is fine):
 * there are such. */
ferry_status ferry_i_task_spellings(ferry_ctx *ctx, const ferry_task *task, bool *said);
/* Its part that looks for hidden labels: in features, and in sources that hold the target's instances. */
ferry_status ferry_i_task_leaks(ferry_ctx *ctx, const ferry_task *task,
                                const ferry_domain *target);
/* FERRY_ENEEDS unless some domain of a split shows a label. */
ferry_status ferry_i_task_trainable(ferry_ctx *ctx, const ferry_task *split);

/* Domains of a role, in order: the i-th, or NULL past the end. */
const ferry_domain *ferry_i_task_role(const ferry_task *task, ferry_role role, int64_t i);
int64_t ferry_i_task_count_role(const ferry_task *task, ferry_role role);
/* The one target: FERRY_ENEEDS when there is none or several. */
ferry_status ferry_i_task_target(ferry_ctx *ctx, const ferry_task *task,
                                 const ferry_domain **out);

/* How labels are dealt to repeats: a deck of so many hands that share none, and then the next. folds: a repeat hides its
 * hand and sees all others. */
typedef struct ferry_hands {
    int64_t hands;
    bool folds;
} ferry_hands;

enum { FERRY_DEPLOYED = -1 };
/* The task as a method may see it in repeat r: target labels (ratings) outside the sample
 * are hidden. The sample is drawn from rng stream "split" of the repeat's deck. Heavy data is shared
 * with `task`. FERRY_DEPLOYED: as it is when a model is made to be used: the first repeat, or with all
 * labels there are with `labelled: all`. */
ferry_status ferry_i_task_split(ferry_ctx *ctx, const ferry_task *task, int64_t r,
                                ferry_task **out);
ferry_status ferry_i_task_split_hands(ferry_ctx *ctx, const ferry_task *task, int64_t r,
                                      ferry_hands *hands, ferry_task **out);
/* Whether methods may see all labels that the target has, and are scored by cross-validation on them. */
bool ferry_i_shows_all(ferry_goal goal, const ferry_domain *d);
/* bridge: auto (select/choose.c): keep in the split those of its intermediate domains that a trial on what it shows
 * recommends. The task that it is a split of (or of a control of it) has the methods, and remembers the choice. Nothing
 * happens to other tasks, or twice. */
ferry_status ferry_i_task_bridges(ferry_ctx *ctx, const ferry_task *origin, int64_t repeat,
                                  ferry_task *split);
/* The split of a repeat, with the bridges that are chosen for it; origin: `task`, or what it is a control of, whose
 * choice it then has. */
ferry_status ferry_i_split_chosen(ferry_ctx *ctx, const ferry_task *task,
                                  const ferry_task *origin, int64_t repeat,
                                  ferry_task **out);
/* One choice, of the split that a seed gives for a repeat. Texts are owned. */
typedef struct ferry_choice {
    uint64_t seed;
    int64_t repeat;
    char *
        told; /* {chosen, q, why}: names of the intermediate domains that stay, in the order to take them */
    char *name, *why; /* "film and book"; what spoke for them */
} ferry_choice;
void ferry_i_choice_clear(ferry_choice *c);
ferry_status ferry_i_choice_apply(ferry_ctx *ctx, const ferry_choice *c, ferry_task *split);
ferry_status ferry_i_choice_recall(ferry_ctx *ctx, ferry_choices *of, int64_t repeat,
                                   ferry_task *split, bool *known);
ferry_status ferry_i_choice_keep(ferry_ctx *ctx, ferry_choices *of, ferry_choice *c);
/* "film and book", of a repeat; NULL: nothing was chosen for it. */
const char *ferry_i_choice_name(const ferry_task *task, int64_t repeat);
/* What was chosen, in a sentence; NULL: nothing, or no memory. */
char *ferry_i_choices_words(const ferry_task *task);
ferry_status ferry_i_choices_new(ferry_ctx *ctx, ferry_choices **out);
void ferry_i_choices_free(ferry_choices *choices);
/* d with as many neighbours in graphs of `knn: auto` as its labels ask for (near.c); d itself,
 * once more, where there is nothing to choose. */
ferry_status ferry_i_domain_choose_near(ferry_ctx *ctx, ferry_domain *d,
                                        ferry_domain **out);
/* One target of a resolved task likewise. *out is d itself (one more owner) when it has
 * nothing to hide. */
ferry_status ferry_i_task_hide(ferry_ctx *ctx, ferry_goal goal, const ferry_domain *d,
                               int64_t r, ferry_hands *hands, ferry_domain **out);

/* Controls keep everything but the knowledge (control.c). */
typedef enum ferry_control {
    FERRY_CONTROL_NOISE,  /* features of the sources are noise; goal rate: their ratings */
    FERRY_CONTROL_LABELS, /* labels of the sources permuted */
    FERRY_CONTROL_CODEBOOK, /* the method's own control (ferry_method.control) */
    FERRY_CONTROL_BRIDGE,   /* rows of intermediate domains, or pairs, permuted */
    FERRY_CONTROL_GRAPH,    /* edges rewired, degrees kept */
    FERRY_CONTROL_WITHOUT,  /* one source left out */
    FERRY_CONTROL_CLASSES,  /* names of the sources' classes permuted */
    FERRY_N_CONTROLS
} ferry_control;
const char *ferry_i_control_name(ferry_control kind);  /* "noise-source" */
const char *ferry_i_control_plain(ferry_control kind); /* "a noise source" */
const char *ferry_i_control_help(ferry_control kind);
/* Whether the control changes anything in the task. */
bool ferry_i_task_has_control(const ferry_task *task, ferry_control kind);
/* The task under a control, draw 0, 1, ... (FERRY_CONTROL_WITHOUT: the source left out).
 * What does not change is shared. Methods and evaluate settings are not copied. */
ferry_status ferry_i_task_control(ferry_ctx *ctx, const ferry_task *task,
                                  ferry_control kind, int64_t draw, ferry_task **out);

/* ---- other ranks (core/ranks.h) ---- */

/* Rank 0 calls the others to do `verb` ("evaluate", "select", "train") with this task and opts (or NULL);
 * whatever it returns, call_end() comes after it. Nothing happens on a rank by itself. */
ferry_status ferry_i_task_call(ferry_ctx *ctx, const char *verb, const ferry_task *task,
                               const ferry_opts *opts);
void ferry_i_task_call_end(ferry_ctx *ctx, const ferry_task *task);
/* With --engine mpi every rank makes arrays of all ratings here: they are files (core/spill.h) until it ends. */
void ferry_i_task_whole(const ferry_ctx *ctx, bool begins);
/* Rank 0 is about to read the task that has this file, text and sets. With --engine mpi the others are called to read it
 * together; then, or else at once, it goes on. After FERRY_OK read_end() has the last word on what became of it. */
ferry_status ferry_i_task_read(ferry_ctx *ctx, const ferry_task *origin);
ferry_status ferry_i_task_read_end(ferry_ctx *ctx, ferry_status st);
/* What a rank was called to; the context gets rank 0's seed and engine. */
typedef struct ferry_called {
    char *verb, *part; /* part: as ctx->part */
    ferry_task *task;
    ferry_opts *opts;
    bool kept; /* the task is *read, unchanged: the next call may be about it, too */
    char *file, *text; /* of the task, until it is there */
    ferry_opts *sets;
} ferry_called;
/* read: the task that was read together before, or NULL; taken if it is the one. Without a task: it is to be read now, by
 * read_along() when all are ready, which leaves it NULL if that failed. */
ferry_status ferry_i_task_called(ferry_ctx *ctx, ferry_buffer *p, ferry_task **read,
                                 ferry_called *out);
void ferry_i_task_read_along(ferry_ctx *ctx, ferry_called *c);
void ferry_i_called_free(ferry_called *c);

/* Parse a task file's bytes; `path` is for messages, data files are relative to dir. */
ferry_status ferry_i_task_parse(ferry_ctx *ctx, const char *path, const char *dir,
                                const char *bytes, int64_t n, const ferry_opts *sets,
                                ferry_task **out);

#endif
