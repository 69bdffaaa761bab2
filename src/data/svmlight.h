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

#include "data/records.h"

/* Choices of the option index_base, in its order. AUTO: 1, unless index 0 or a comment of
 * scikit-learn's says otherwise. */
enum { BASE_AUTO = 0, BASE_ZERO = 1, BASE_ONE = 2 };

/* Names are NULL where there is no such line; the features belong to the data. */
typedef struct svm_header {
    int64_t columns; /* 0: not given */
    ferry_ids **features, *labels;
    bool zero_based, one_based; /* as scikit-learn's writer says */
} svm_header;

/* Read the comment lines at the head of the file. Comments of others are passed over. */
void svm_header_read(scope *s, const source *from, svm_header *h);
/* Labels of n instances from their texts ("a,b", "" for none, s NULL for missing). *out stays
 * NULL when no line has any. */
void svm_labels(scope *s, const source *from, const svm_header *h, const records *r,
                const ferry_span *text, ferry_labels **out);
/* Write a view. FERRY_EINVAL when it has no columns or a missing cell. */
ferry_status ferry_i_svm_write(ferry_ctx *ctx, const ferry_data *data, const char *path,
                               const ferry_opts *opts);

#endif
