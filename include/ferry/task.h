/* Tasks: domains, a goal, the methods to compare and how to evaluate them. */
#ifndef FERRY_TASK_H
#define FERRY_TASK_H

#include "ferry/domain.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum ferry_goal {
    FERRY_CLASSIFY = 1,
    FERRY_REGRESS = 2,
    FERRY_MULTILABEL = 4,
    FERRY_RATE = 8,
    FERRY_EMBED = 16,
    FERRY_STREAM = 32
} ferry_goal;

/** Opaque. */
typedef struct ferry_task ferry_task;

/** A method that a task compares. */
typedef struct ferry_task_method {
    const char *method;     /**< as in ferry_method_find() */
    const char *as;         /**< its name in the results, unique in the task */
    const ferry_opts *opts; /**< its settings, or NULL */
} ferry_task_method;

/** Name of a goal as in task files, such as "classify". */
FERRY_API const char *ferry_goal_name(ferry_goal goal);

FERRY_API ferry_status ferry_task_new(ferry_ctx *ctx, const char *name, ferry_goal goal,
                                      ferry_task **out);
/** Give a domain to the task, which frees it from now on (also when the call fails). */
FERRY_API ferry_status ferry_task_add_domain(ferry_ctx *ctx, ferry_task *task,
                                             ferry_domain *domain);
/** Say which features a view of a domain has: those of a view of another domain, "DOMAIN.VIEW", or of
 * none ("none"). No rule that links views (ferry_task_links()) overrules it. Domains come first. */
FERRY_API ferry_status ferry_task_set_same_as(ferry_ctx *ctx, ferry_task *task,
                                              const char *domain, const char *view,
                                              const char *same_as);
/** Add a method to compare. `as` is its name in the results; NULL makes one. Options are
 * copied. */
FERRY_API ferry_status ferry_task_add_method(ferry_ctx *ctx, ferry_task *task,
                                             const char *method, const char *as,
                                             const ferry_opts *opts);
/** Settings of "evaluate:": repeats, seed, metrics (comma separated), ties. */
FERRY_API ferry_status ferry_task_set_evaluate(ferry_ctx *ctx, ferry_task *task,
                                               const ferry_opts *opts);
/**
 * Read a task file and all the data it names.
 *
 * @param sets  "--set" settings by dotted path (evaluate.repeats, methods.svm.C,
 * domains.NAME.labelled); may be NULL
 * @return FERRY_EDATA with "file:line: key: what was expected"
 */
FERRY_API ferry_status ferry_task_load(ferry_ctx *ctx, const char *path,
                                       const ferry_opts *sets, ferry_task **out);
FERRY_API void ferry_task_free(ferry_task *task);

FERRY_API const char *ferry_task_name(const ferry_task *task);
FERRY_API const ferry_domain *ferry_task_domain_at(const ferry_task *task, int64_t i);
/** Entries under methods: in their order; 0: all methods that serve the goal. */
/** Entry i, NULL outside. Borrowed until the task changes. */
FERRY_API const ferry_task_method *ferry_task_method_at(const ferry_task *task, int64_t i);

/** For ferry_task_visible(): the task with every label of the target. */
#define FERRY_ALL_LABELS (-1)
/** ... as ferry_fit() sees a task from a file: what the first repeat shows, or with `labelled: all` every label. */
#define FERRY_AS_FITTED (-2)

/**
 * The task as a method may see it in a repeat of an evaluation: target labels (ratings)
 * outside the sample that "labelled:" draws are hidden. The draw depends on the seed (of
 * "evaluate:", else the context's) and the repeat (from 0; FERRY_ALL_LABELS: nothing is hidden; FERRY_AS_FITTED).
 * @param out  new task; the data itself is shared with `task`, not copied
 */
FERRY_API ferry_status ferry_task_visible(ferry_ctx *ctx, const ferry_task *task,
                                          int64_t repeat, ferry_task **out);

/**
 * Which views of which domains are taken for the same features, and why.
 * @param format  NULL: in words, "bridge.a = source.x by 60 feature names; ...", empty where no two are; "json": a list
 * of {"domain", "view", "same_as": {"domain", "view"}, "by": "same_as", "name", "features" or "width", "columns": how
 * many they share}; "same": columns that may be the target's under other names, by their values alone, {"DOMAIN":
 * {"its column": "the target's"}} as JSON. Nothing is joined for that: it is for people to say `same:` of (task file)
 * @param out     new string for ferry_string_free()
 */
FERRY_API ferry_status ferry_task_links(ferry_ctx *ctx, const ferry_task *task,
                                        const char *format, char **out);

#ifdef __cplusplus
}
#endif

#endif
