/* Streams: models that go on learning, one row at a time.
 *
 * A round is: see a row (an answer comes back), and some time later, or never, learn its
 * label. Rows may be seen while labels of earlier ones are still awaited. The state of a
 * model depends on nothing but the calls made on it and their order: the same calls on a
 * saved and loaded copy give the same bits.
 */
#ifndef FERRY_STREAM_H
#define FERRY_STREAM_H

#include "ferry/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/** One row, in the columns of the view that the model learned from. NaN is a missing
 * cell. */
typedef struct ferry_row {
    int64_t n;            /**< entries of value (and index) */
    const int32_t *index; /**< their columns from 0, ascending; the others are 0. NULL:
                             value has one entry per column */
    const double *value;
} ferry_row;

/**
 * Predict for one row of a stream.
 *
 * @param cls    number of the class, -1 when none is known yet
 * @param score  as many numbers as the model has classes, larger is likelier; may be NULL
 * @param votes   ferry_model_info.votes numbers to be handed to ferry_model_learn() with the
 * row's label: what each part of the model said at this time; may be NULL
 * @return FERRY_EDATA for a row that does not fit the model, which then has not changed
 */
FERRY_API ferry_status ferry_model_see(ferry_ctx *ctx, ferry_model *model,
                                       const ferry_row *x, int32_t *cls, double *score,
                                       int32_t *votes);
/**
 * Learn the label of a row that was seen.
 *
 * @param label  a class by name; one never met before becomes a class of the model
 * @param votes   as ferry_model_see() left it; NULL: the model asks itself again, which may
 * weigh its parts differently when the label is late
 * @return FERRY_EDATA for a row or label that does not fit, FERRY_ENOMEM: the model goes on
 * as if the call had not been made
 */
FERRY_API ferry_status ferry_model_learn(ferry_ctx *ctx, ferry_model *model,
                                         const ferry_row *x, const char *label,
                                         const int32_t *votes);
/**
 * Many rows, one after the other: each is seen and, where its label is known, learned before
 * the next. The same as the two calls above for every row, without their cost.
 *
 * @param x      the rows
 * @param n      how many names there are; x->rows numbers in label tell which one a row has,
 * negative: its label is not known
 * @param cls    x->rows numbers: the class that each row was taken for before its label was
 * learned; may be NULL
 * @return FERRY_EINVAL when x is not an array (data NULL, ld < cols, a negative size) or n is
 * negative, FERRY_EDATA for a row or label that does not fit: then none was learned.
 * FERRY_ENOMEM may come half way: rows before it were learned
 */
FERRY_API ferry_status ferry_model_learn_rows(ferry_ctx *ctx, ferry_model *model,
                                              const ferry_array *x, int64_t n,
                                              const char *const *names,
                                              const int32_t *label, int32_t *cls);

/* ---- a stream of lines, kept in a folder ---- */

/** A model at work on a stream. Opaque. */
typedef struct ferry_stream ferry_stream;

/**
 * Begin or resume a stream. What the folder holds is brought back to the same bits: the
 * last snapshot, then the log after it.
 *
 * @param model  path of the model that the stream began with
 * @param dir    folder for the state, made when it is not there; one stream at a time
 * @param opts   settings of ferry_options("stream"); NULL: the defaults
 * @param out    new stream for ferry_stream_close(); NULL when the call fails
 * @return FERRY_EDATA when the folder belongs to another model or its log is damaged where
 *         something had been acknowledged (see ferry_stream_repair()), FERRY_ENEEDS when
 *         the model cannot learn from a stream, FERRY_EINVAL when another process has the
 *         folder, FERRY_EIO when it cannot be written
 */
FERRY_API ferry_status ferry_stream_open(ferry_ctx *ctx, const char *model, const char *dir,
                                         const ferry_opts *opts, ferry_stream **out);

/** What ferry_stream_repair() found. */
typedef struct ferry_repaired {
    int damaged;  /**< 0: nothing was wrong, and nothing was changed */
    int64_t last; /**< number of the last record that the stream has */
    int64_t lost; /**< records that are gone: damaged, missing, or of no use without those
                     (the context's log tells which) */
} ferry_repaired;

/**
 * Salvage a stream that ferry_stream_open() refuses as damaged: every record of its log that
 * is whole and still fits is applied, a snapshot is made of that, and the log begins anew.
 * Numbers stay as they were. The damaged log is kept beside it as log.damaged.
 *
 * @return FERRY_EDATA when there is no stream, of another model, or the snapshot itself is
 *         damaged: that cannot be repaired
 */
FERRY_API ferry_status ferry_stream_repair(ferry_ctx *ctx, const char *model,
                                           const char *dir, ferry_repaired *out);

/**
 * Take bytes of the input: whole lines, parts of lines, many lines. Stops after a line
 * when a commit is due.
 *
 * @param bytes  n of them; NULL: the input has ended, the last line is taken even without its line end
 *
 * @param used  how many bytes were taken; give the rest again after ferry_stream_commit()
 * @return FERRY_OK also for lines that are wrong: their answer says so
 */
FERRY_API ferry_status ferry_stream_feed(ferry_ctx *ctx, ferry_stream *stream,
                                         const char *bytes, int64_t n, int64_t *used);

/** Seconds until the next commit is due: 0 is now; negative when no answer waits. */
FERRY_API double ferry_stream_due(const ferry_stream *stream);

/**
 * Make what was taken durable as the setting `sync` says, then return its answers, one line
 * each.
 *
 * @param wait     0, for input that keeps coming: does not wait for the disk. When a whole batch was taken it begins to
 * make that durable, and returns the answers of the batch before
 * @param answers  text to be passed on; borrowed until the next call. When the call fails, the
 * answers of lines that may not have been kept are errors
 * @param n        its length in bytes
 */
FERRY_API ferry_status ferry_stream_commit(ferry_ctx *ctx, ferry_stream *stream, int wait,
                                           const char **answers, int64_t *n);

/** Number of the last record: every instance and every label that was taken has one. */
FERRY_API int64_t ferry_stream_seq(const ferry_stream *stream);

/** End: a last snapshot of what was committed. Frees the stream in any case. Without this
 * call, or when it fails, nothing is lost either: the log has it. */
FERRY_API ferry_status ferry_stream_close(ferry_ctx *ctx, ferry_stream *stream);

#ifdef __cplusplus
}
#endif

#endif
