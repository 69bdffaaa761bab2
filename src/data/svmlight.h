/* Parts of the svmlight format: its header lines, labels and writer.
 *
 * The format itself has no place for names, so our writer puts what a file would lose into
 * comment lines at its head, each only where needed:
 *   # ferry columns: N               when the last features have no value anywhere
 *   # ferry features: NAME NAME ...
 *   # ferry labels: NAME NAME ...    the labels are sets, these are all there are
 * and "# id:NAME" at the end of each instance's line. Separators in names are %XX.
 */
#ifndef FERRY_SVMLIGHT_H
#define FERRY_SVMLIGHT_H

#include "data/lines.h"

/* Choices of the option index_base, in its order. AUTO: 1, unless index 0 or a comment of
 * scikit-learn's says otherwise. */
enum { FERRY_BASE_AUTO = 0, FERRY_BASE_ZERO = 1, FERRY_BASE_ONE = 2 };

typedef struct ferry_svm_header {
    int64_t columns; /* 0: not said */
    /* names; NULL: no such line */
    ferry_ids *features, *labels;
    bool zero_based, one_based; /* as scikit-learn's writer says */
} ferry_svm_header;

/* Read the comment lines at the head of the file. h is zero before, and to be freed also
 * after a failure. Comments of others are passed over. */
ferry_status ferry_i_svm_header_read(ferry_ctx *ctx, const ferry_input *in,
                                     ferry_svm_header *h);
void ferry_i_svm_header_free(ferry_svm_header *h);
/* Labels of n instances from their texts ("a,b", "" for none, s NULL for missing). *out is
 * NULL when no line has any. */
ferry_status ferry_i_svm_labels(ferry_ctx *ctx, const ferry_input *in,
                                const ferry_svm_header *h, int64_t n,
                                const ferry_span *text, int64_t several, int64_t labelled,
                                ferry_labels **out);
/* Write a view. FERRY_EINVAL when it has no columns or a missing cell. */
ferry_status ferry_i_svm_write(ferry_ctx *ctx, const ferry_data *data, const char *path,
                               const ferry_opts *opts);

#endif
