/* The context: engine, threads, seed, log, progress and the last error's message. */
#ifndef FERRY_CONTEXT_H
#define FERRY_CONTEXT_H

#include "ferry/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Belongs to one thread; two contexts in two threads share nothing. Opaque. */
typedef struct ferry_ctx ferry_ctx;

typedef enum ferry_level { FERRY_DEBUG = 0, FERRY_INFO = 1, FERRY_WARN = 2 } ferry_level;

/** Gets one line without a newline. */
typedef void (*ferry_log_fn)(void *user, ferry_level level, const char *line);

/** Where a long call stands. A field that is not known is 0 (total, steps) or NaN
 * (objective). */
typedef struct ferry_progress {
    const char *what;    /**< what is being done, such as "ttl" or "reading x.svm" */
    int64_t done, total; /**< iterations, bytes, ... of this piece */
    int64_t step, steps; /**< which piece of how many, when an evaluation runs several */
    double objective;    /**< objective of the running method */
} ferry_progress;

typedef enum ferry_answer {
    FERRY_GO = 0,     /**< go on */
    FERRY_FINISH = 1, /**< stop now and keep the result so far */
    FERRY_CANCEL = 2  /**< give it up: the call returns FERRY_ECANCELLED */
} ferry_answer;

typedef ferry_answer (*ferry_progress_fn)(void *user, const ferry_progress *p);

/** New context: engine "host", all cores, seed 1, no log, no progress. The environment variable FERRY_ENGINE names another
 * engine; where that is not there, ferry_message() says why, and it is host. */
FERRY_API ferry_status ferry_ctx_new(ferry_ctx **out);
/** Free a context. NULL is fine. Objects made with it stay valid. */
FERRY_API void ferry_ctx_free(ferry_ctx *ctx);

/** Sentence of the last error in this context, "" when there was none. Borrowed until the next
 * call. */
FERRY_API const char *ferry_message(const ferry_ctx *ctx);

/**
 * Set something by name; what is wrong with the name or the value is said in one sentence (FERRY_EINVAL).
 *
 * | key | value | |
 * | --- | --- | --- |
 * | engine | host, ref, mpi, cuda, auto | what computes (ferry_doctor() lists them); mpi: host with rows over the ranks of an MPI job (ferry/ranks.h); cuda: an NVIDIA card for large operations, FERRY_ENEEDS where there is none; auto: the card where one is there and pays, else host |
 * | threads | 0 .. 1024 | for our own loops and for BLAS; 0, the default: all cores |
 * | jobs | 0 .. 1024 | how many fits of an evaluation (and draws, folds, triples) run in parallel at most; 0, the default: as many as are worthwhile, by threads, cores and memory. The results are the same bits whatever it is. Callbacks still come on the thread that called, one at a time |
 * | seed | 0 .. 2^53 | every random choice derives from it; 1 |
 * | memory | bytes, 800M, 7.5G | the most that the process should use; 0, the default: what it has now and half of what is free. Fewer fits run in parallel if they are large. If a limit is set, arrays that do not fit into half of it are kept in unnamed files in TMPDIR or /var/tmp: slower, with the same results. Holds for the whole process, whichever context set it last; with ferry_set_allocator() it is left to that allocator |
 * | gpu_memory | bytes, 800M, 7.5G | the most of a card's memory that engine cuda takes; 0, the default: 80 % of what is free when it is opened. Holds for the whole process |
 * | max_input | bytes, 500M, 2G | the most that one input (a file, standard input, an archive's members together) may have, as it is or once unpacked; a larger one is refused with FERRY_EDATA. 0, the default: a compressed file may unpack to 100 times its size, or to 256 MiB if that is more, and nothing that is read into memory may take more than half of what is free |
 */
FERRY_API ferry_status ferry_ctx_set(ferry_ctx *ctx, const char *key, const char *value);
/** The value of a key; threads: as many as 0 stands for. NULL when there is no such key. Borrowed until the next call. */
FERRY_API const char *ferry_ctx_get(ferry_ctx *ctx, const char *key);
/** Lines of at least this level go to fn. NULL silences. */
FERRY_API void ferry_ctx_set_log(ferry_ctx *ctx, ferry_log_fn fn, ferry_level least,
                                 void *user);
/** fn is called once per outer iteration of anything long. NULL removes it. */
FERRY_API void ferry_ctx_set_progress(ferry_ctx *ctx, ferry_progress_fn fn, void *user);

/**
 * Runs what an entry `command` of a task's methods names, instead of the program of that name.
 * @param file    the entry's option `file`
 * @param folder  has the task, as docs/task-file.md says under "command"; predictions.csv is to be written into it
 * @return 0: it is there; below 0: not mine, run the program; above 0: failed, and the last line of error.txt in the folder
 *         says why
 */
typedef int (*ferry_run_fn)(void *user, const char *file, const char *folder);
/** fn comes on whichever thread runs the fit, on several at a time where fits run in parallel (`jobs`). NULL removes it. */
FERRY_API void ferry_ctx_set_run(ferry_ctx *ctx, ferry_run_fn fn, void *user);

/** Kernels that OpenBLAS runs ("Haswell"), and in *wanted (may be NULL) those that fit this CPU; "" when not known.
 * When the two differ, set OPENBLAS_CORETYPE to the wanted one before the program starts:
 * it is read when the library loads. */
FERRY_API const char *ferry_blas_core(const char **wanted);

/** What this installation is made of, and what is wrong with it. Texts that are not known are
 * "?", numbers -1. Later versions add fields at the end. */
typedef struct ferry_installation {
    size_t size; /**< of this struct in the library that runs */
    const char *version;
    const char *compiler;
    int64_t n_libraries;
    const char *const *libraries;        /**< n_libraries names */
    const char *const *library_versions; /**< n_libraries */
    int64_t n_engines;
    const char *const *engines;          /**< n_engines names */
    const char *const *engine_summaries; /**< n_engines, one line each */
    const uint8_t *engine_works;         /**< n_engines: 1 if it passed a small test */
    const char *engine;                  /**< the one that the context uses */
    const char *blas_core;               /**< see ferry_blas_core() */
    const char *blas_wanted;
    const char *isa; /**< instruction set of our own kernels */
    int64_t threads;
    int64_t cores;
    int64_t memory; /**< bytes */
    int64_t memory_available;
    const char *system; /**< such as "Linux" */
    const char *release;
    const char *architecture;
    const char *cpu;
    int64_t n_problems;
    const char *const *problems; /**< n_problems sentences */
    const char *json;            /**< the same as JSON text */
} ferry_installation;

/**
 * Look at this installation. Cost: a few milliseconds; every engine solves a small problem.
 * @param out  new, for ferry_installation_free(); NULL when the call fails
 */
FERRY_API ferry_status ferry_doctor(ferry_ctx *ctx, ferry_installation **out);
/** NULL is fine. */
FERRY_API void ferry_installation_free(ferry_installation *installation);

#ifdef __cplusplus
}
#endif

#endif
