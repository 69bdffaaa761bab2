/* Fuzz the readers of a stream's lines: the same bytes as NDJSON, CSV and svmlight. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/fields.h"
#include "fuzz.h"
#include "stream/stream.h"

static void check(const ferry_line *l, bool good)
{
    if (!good) {
        if (!l->why[0] || !ferry_i_utf8_valid(l->why, (int64_t)strlen(l->why))) abort();
        return;
    }
    if (l->id_n < 0 || l->y_n < 0 || l->id + l->id_n > l->text.len ||
        l->y + l->y_n > l->text.len)
        abort();
    if (l->sparse && l->index_n != l->n) abort();
    for (int64_t e = 0; e < l->n; e++) {
        if (isinf(l->value[e]) || (l->sparse && isnan(l->value[e]))) abort();
        if (l->sparse && e > 0 && l->index[e] <= l->index[e - 1]) abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static const char head[] = "id,y,a,b,c";
    ferry_ctx *ctx = fuzz_ctx();
    ferry_matrix *x = NULL;
    ferry_line l = {0};
    ferry_header h = {0};
    char *copy = malloc(n + 1); /* of just these bytes, so that reading past them is seen */

    if (!copy || ferry_i_matrix_csr(ctx, 0, 3, 0, &x) != FERRY_OK) abort();
    const ferry_view view = {.x = x};
    memcpy(copy, bytes, n);
    check(&l, ferry_i_line_ndjson(&l, copy, (int64_t)n));
    ferry_i_line_clear(&l);
    check(&l, ferry_i_line_svmlight(&l, copy, (int64_t)n, 1));
    ferry_i_line_clear(&l);
    if (ferry_i_header_read(ctx, &view, head, sizeof head - 1, &h) != FERRY_OK) abort();
    check(&l, ferry_i_line_csv(&l, copy, (int64_t)n, &h));
    ferry_i_header_free(&h);
    fuzz_check(ctx, ferry_i_header_read(ctx, &view, copy, (int64_t)n, &h));
    ferry_i_header_free(&h);
    ferry_i_line_free(&l);
    ferry_i_matrix_free(x);
    free(copy);
    return 0;
}
