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

/** One row, in the columns of the view that the model learned from. NaN is a missing cell.
 */
typedef struct ferry_row {
    int64_t n;            /**< entries of value (and index) */
    const int32_t *index; /**< their columns from 0, ascending; the others are 0. NULL:
                             value has one entry per column */
    const double *value;
} ferry_row;

/** 1 when the model's method can learn from a stream, else 0. */
FERRY_API int ferry_model_streams(const ferry_model *model);
/** 1 when seeing a row changes the model even when its label never comes: then a log of the
 * stream has to keep such rows too. */
FERRY_API int ferry_model_watches(const ferry_model *model);
/** Columns of the rows. */
FERRY_API int64_t ferry_model_columns(const ferry_model *model);
/** Classes known so far, and the name of number i (lent until the model learns). A stream
 * may add some; they come last and the numbers of the others stay. */
FERRY_API int64_t ferry_model_classes(const ferry_model *model);
FERRY_API const char *ferry_model_class(const ferry_model *model, int64_t i);
/** How many numbers ferry_model_see() leaves as a note. The same for the life of a model.
 */
FERRY_API int64_t ferry_model_note(const ferry_model *model);

/**
 * Predict for one row of a stream.
 *
 * @param cls    number of the class, -1 when none is known yet
 * @param score  ferry_model_classes() numbers, larger is likelier; may be NULL
 * @param note   ferry_model_note() numbers to be handed to ferry_model_learn() with the
 * row's label: what each part of the model said at this time; may be NULL
 * @return FERRY_EDATA for a row that does not fit the model, which then has not changed
 */
FERRY_API ferry_status ferry_model_see(ferry_ctx *ctx, ferry_model *model,
                                       const ferry_row *x, int32_t *cls, double *score,
                                       int32_t *note);
/**
 * Learn the label of a row that was seen.
 *
 * @param label  a class by name; one never met before becomes a class of the model
 * @param note   as ferry_model_see() left it; NULL: the model asks itself again, which may
 * weigh its parts differently when the label is late
 * @return FERRY_EDATA for a row or label that does not fit, FERRY_ENOMEM: the model goes on
 * as if the call had not been made
 */
FERRY_API ferry_status ferry_model_learn(ferry_ctx *ctx, ferry_model *model,
                                         const ferry_row *x, const char *label,
                                         const int32_t *note);

#endif
