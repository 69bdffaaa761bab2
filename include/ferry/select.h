/* Selection: which intermediate domain, or chain of them, to go by. */
#ifndef FERRY_SELECT_H
#define FERRY_SELECT_H

#include <stdbool.h>

#include "ferry/task.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Candidates in order. Opaque. */
typedef struct ferry_selection ferry_selection;

/** A way from a source (by trial: from all sources) to the target: a bridge (n = 1), a chain, or
 * no bridge at all (n = 0, by trial only). Belongs to the selection. */
typedef struct ferry_way {
    const char *source, *target; /**< names; of several sources all, with " + " */
    int64_t n;                   /**< intermediate domains, 0 .. 3 */
    const char *domain[3];       /**< in the order of the chain */
    /* by trial */
    double q;            /**< how well the target's labels repeat: about 0 (chance) to 1 */
    double q_sd;         /**< how much of q is the luck of the halves that were drawn */
    double source_kappa; /**< ttl's own: the least of the sources, */
    double bridge_reliability; /**< the least of the bridges, */
    double reliability;        /**< the target's */
    int64_t hits;     /**< of the labels that the target shows, how many it got right */
    bool reached;     /**< each domain shares features with the next */
    bool below;       /**< q is no more than chance gives so few rows */
    bool tied;        /**< not told apart from the first */
    bool recommended; /**< part of the advice */
    /* by the paper's model */
    double probability; /**< that it helps; of a chain: the product over its triples */
    double feature[6];  /**< of a bridge: complexity of S, I, T; A-distance S-I, S-T, I-T */
    int64_t
        leaks; /**< by trial: rows of its bridges that are the target's own and were left out;
                    * a bridge of which nothing is left is not reached */
    const char *reason; /**< by trial: why it could not be tried, or NULL */
} ferry_way;

/**
 * Rank the ways from the task's sources to its target: each intermediate domain, none, chains of the best.
 *
 * By trial, the default: fits ttl for every way and asks how well the labels that it gives the target repeat on halves
 * of the features and of the instances. Uses no label of the target but to rank, and only those that the task shows.
 * About seven fits a way; ways run side by side.
 *
 * By the paper's model: every triple (S, I, T) of the task's domains but the target, with labels in S and T, is labelled
 * by whether propagating labels from S to T gets better by having I as well; a logistic model of six measures (a
 * selector) learns it and ranks the intermediate domains for every source, and the chains of them.
 *
 * @param opts  by: trial or paper. By trial the settings of ferry_options("trial"); by paper longest (1 .. 3: domains of
 * a chain at most), selector: a file to take it from instead of learning it, save: a file to write it to, and the
 * settings of ferry_options("train"). NULL means the defaults
 * @return FERRY_ENEEDS when the task has no source, no candidate, another goal than classify, or (paper) too few domains
 * or labels; FERRY_EDATA when all triples are labelled alike
 */
FERRY_API ferry_status ferry_select(ferry_ctx *ctx, const ferry_task *task,
                                    const ferry_opts *opts, ferry_selection **out);
/** In order: by trial all ways by falling q (with labels, by q and labels); by the paper's model bridges first,
 * then chains of 2, then of 3, each by falling probability. */
FERRY_API const ferry_way *ferry_selection_at(const ferry_selection *selection, int64_t i);
/** As text. New string.
 * @param format  NULL: a table for people, with how far it can be trusted; "json" */
FERRY_API ferry_status ferry_selection_table(ferry_ctx *ctx,
                                             const ferry_selection *selection,
                                             const char *format, char **out);
FERRY_API void ferry_selection_free(ferry_selection *selection);

#ifdef __cplusplus
}
#endif

#endif
