/* Reproductions: tables and figures of the methods' papers, run again beside the paper's
 * numbers. */
#ifndef FERRY_REPRODUCE_H
#define FERRY_REPRODUCE_H

#include "ferry/context.h"

/** What can be run again. All texts are static. */
typedef struct ferry_study_info {
    const char *name;     /**< such as "ttl-table5" */
    const char *paper;    /**< authors, title, year */
    const char *shows;    /**< such as "table 5: accuracy on 20 Newsgroups" */
    const char *needs;    /**< files below the data folder, a line each; a|b: either */
    const char *protocol; /**< what is done, and how it differs from the paper's */
} ferry_study_info;

/** How many there are. */
FERRY_API int64_t ferry_study_count(void);
/** Number i, 0 .. count - 1. 1, or 0 past the end. */
FERRY_API int ferry_study_at(int64_t i, ferry_study_info *out);
/**
 * Whether a study's data is there.
 * @param missing  the first of its files that is not below `data`, NULL when all are; new
 * string
 * @return FERRY_EINVAL for a name that is none
 */
FERRY_API ferry_status ferry_study_missing(ferry_ctx *ctx, const char *name,
                                           const char *data, char **missing);

/** How to run one. */
typedef struct ferry_reproduce_settings {
    const char *data;   /**< folder of the data sets */
    const char *folder; /**< folder for prepared data, task files and study.json; made */
    int quick;          /**< 1: fewer rows, repeats and settings, about a minute */
    const char *build;  /**< what the program was built from, recorded; may be NULL */
} ferry_reproduce_settings;

/** What came out. Opaque. */
typedef struct ferry_reproduction ferry_reproduction;

/**
 * Run a study: prepare its data, evaluate its tasks, check the paper's claims, and write
 * study.json into the folder. Seed and threads are the context's.
 *
 * @param out  new object for ferry_reproduction_free(); NULL when the call fails
 * @return FERRY_EINVAL for a name that is none, FERRY_EDATA when its data is not there
 * (then nothing was written) or not what it should be (then there is no study.json)
 */
FERRY_API ferry_status ferry_reproduce(ferry_ctx *ctx, const char *name,
                                       const ferry_reproduce_settings *settings,
                                       ferry_reproduction **out);
/** Tables with the paper's numbers, claims, protocol and verdict for people. New string. */
FERRY_API ferry_status ferry_reproduction_table(ferry_ctx *ctx,
                                                const ferry_reproduction *reproduction,
                                                char **out);
/** The same as JSON text: what study.json has. New string. */
FERRY_API ferry_status ferry_reproduction_json(ferry_ctx *ctx,
                                               const ferry_reproduction *reproduction,
                                               char **out);
/** "order reproduced", "not reproduced: ..." or "partly reproduced: ...". Lent. */
FERRY_API const char *ferry_reproduction_verdict(const ferry_reproduction *reproduction);
FERRY_API void ferry_reproduction_free(ferry_reproduction *reproduction);

#endif
