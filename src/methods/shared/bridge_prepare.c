/* Preparing the values of one view: weights of words, lengths of instances, scales. */
#include "methods/shared/bridge_prepare.h"

#include <math.h>
#include <string.h>
#include <xxhash.h>

#include "learn/rows.h"

void ferry_i_looks_add(ttl_looks *l, const ferry_matrix *x)
{
    const double *v = row_values(x);

    l->cells += (double)x->rows * (double)x->cols;
    l->sparse = l->sparse || !x->dense;
    for (int64_t e = 0; e < x->nnz; e++) {
        if (isnan(v[e]) || v[e] == 0) continue;
        l->filled += 1;
        l->negative = l->negative || v[e] < 0;
        l->fraction = l->fraction || v[e] != floor(v[e]);
    }
}

/* A tenth: words fill 1 or 2 % of the cells of the data sets tried, histograms of visual
 * words 46 %. */
bool ferry_i_looks_wordlike(const ttl_looks *l)
{
    return !l->negative && l->filled <= 0.1 * l->cells;
}

ttl_scale ferry_i_looks_scale(const ttl_looks *l, ttl_scale wanted)
{
    if (wanted != TTL_AUTO) return wanted;
    if (l->negative) return TTL_STANDARD;
    if (ferry_i_looks_wordlike(l)) return l->fraction ? TTL_L2 : TTL_TFIDF;
    return l->sparse && l->fraction ? TTL_L2 : TTL_HELLINGER;
}

ferry_status ferry_i_to_csr(ferry_ctx *ctx, const ferry_matrix *x, bool full,
                            ferry_matrix **out)
{
    ferry_status st = FERRY_OK;
    const double *v = row_values(x);
    const bool all = full && x->dense;
    int64_t nnz = 0;

    *out = NULL;
    for (int64_t e = 0; e < x->nnz; e++)
        nnz += all || (!isnan(v[e]) && v[e] != 0);
    FERRY_TRY(ferry_i_matrix_csr(ctx, x->rows, x->cols, nnz, out));
    nnz = 0;
    for (int64_t i = 0; i < x->rows; i++) {
        for (int64_t e = row_begin(x, i); e < row_end(x, i); e++) {
            const double value = isnan(v[e]) ? 0 : v[e];
            if (!all && value == 0) continue;
            (*out)->index[nnz] = (int32_t)row_column(x, i, e);
            (*out)->value[nnz++] = value;
        }
        (*out)->start[i + 1] = nnz;
    }
done:
    return st;
}

/* idf = ln((1 + n) / (1 + df)) + 1, as for text files. */
static void measure_idf(int64_t n, ferry_matrix *const *x, ttl_space *s)
{
    double documents = 0;

    for (int64_t i = 0; i < n; i++) {
        if (!x[i]) continue;
        documents += (double)x[i]->rows;
        for (int64_t e = 0; e < x[i]->nnz; e++)
            s->factor[x[i]->index[e]] += x[i]->value[e] > 0;
    }
    for (int64_t j = 0; j < s->cols; j++)
        s->factor[j] = log((1 + documents) / (1 + s->factor[j])) + 1;
}

/* Mean and deviation of each column: over the rows that have it (dense: those that store
 * it), or over all rows, what is not stored being 0. A constant column keeps its scale. */
static void measure_standard(int64_t n, ferry_matrix *const *x, double *rows, ttl_space *s)
{
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; x[i] && !s->full && j < s->cols; j++)
            rows[j] += (double)x[i]->rows;
        for (int64_t e = 0; x[i] && e < x[i]->nnz; e++) {
            rows[x[i]->index[e]] += s->full;
            s->shift[x[i]->index[e]] += x[i]->value[e];
        }
    }
    for (int64_t j = 0; j < s->cols; j++) {
        s->shift[j] /= fmax(rows[j], 1);
        s->factor[j] = rows[j] * s->shift[j] * s->shift[j];
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t e = 0; x[i] && e < x[i]->nnz; e++) {
            const double mean = s->shift[x[i]->index[e]], d = x[i]->value[e] - mean;
            s->factor[x[i]->index[e]] += d * d - mean * mean;
        }
    for (int64_t j = 0; j < s->cols; j++) {
        const double sd = sqrt(fmax(s->factor[j], 0) / fmax(rows[j], 1));
        s->factor[j] = sd > 1e-7 * fabs(s->shift[j]) ? 1 / sd : 1;
    }
}

ferry_status ferry_i_space_measure(ferry_ctx *ctx, int64_t n, ferry_matrix *const *x,
                                   ttl_space *s)
{
    ferry_status st = FERRY_OK;
    double *rows = NULL;

    if (s->scale != TTL_TFIDF && s->scale != TTL_STANDARD) goto done;
    s->factor = ferry_i_calloc(s->cols, sizeof *s->factor);
    if (!s->factor) FERRY_TRY(ferry_i_nomem(ctx));
    if (s->scale == TTL_TFIDF) {
        measure_idf(n, x, s);
        goto done;
    }
    s->shift = ferry_i_calloc(s->cols, sizeof *s->shift);
    rows = ferry_i_calloc(s->cols, sizeof *rows);
    if (!s->shift || !rows) FERRY_TRY(ferry_i_nomem(ctx));
    measure_standard(n, x, rows, s);
    if (s->full) goto done;
    ferry_i_free(s->shift); /* a sparse view stays sparse */
    s->shift = NULL;
done:
    ferry_i_free(rows);
    return st;
}

void ferry_i_rows_to_length_1(ferry_matrix *x)
{
    for (int64_t i = 0; i < x->rows; i++) {
        double sum = 0;
        for (int64_t e = x->start[i]; e < x->start[i + 1]; e++)
            sum += x->value[e] * x->value[e];
        for (int64_t e = x->start[i]; sum > 0 && e < x->start[i + 1]; e++)
            x->value[e] /= sqrt(sum);
    }
}

static void histogram_roots(ferry_matrix *x)
{
    for (int64_t i = 0; i < x->rows; i++) {
        double sum = 0;
        for (int64_t e = x->start[i]; e < x->start[i + 1]; e++)
            sum += x->value[e];
        for (int64_t e = x->start[i]; sum > 0 && e < x->start[i + 1]; e++)
            x->value[e] = sqrt(fmax(x->value[e], 0) / sum);
    }
}

void ferry_i_space_apply(const ttl_space *s, ferry_matrix *x)
{
    for (int64_t e = 0; e < x->nnz; e++) {
        const int32_t j = x->index[e];
        if (s->scale == TTL_TFIDF) x->value[e] = x->value[e] > 0 ? 1 + log(x->value[e]) : 0;
        if (s->shift) x->value[e] -= s->shift[j];
        if (s->factor) x->value[e] *= s->factor[j];
        if (s->scale == TTL_TFIDF) x->value[e] = fmax(x->value[e], 0);
    }
    if (s->scale == TTL_HELLINGER) histogram_roots(x);
    if (s->scale == TTL_TFIDF || s->scale == TTL_L2) ferry_i_rows_to_length_1(x);
}

uint64_t ferry_i_row_hash(const ferry_matrix *x, int64_t i)
{
    const int64_t at = x->start[i], n = x->start[i + 1] - at;
    const uint64_t columns = XXH3_64bits(x->index + at, (size_t)n * sizeof *x->index);

    return XXH3_64bits_withSeed(x->value + at, (size_t)n * sizeof *x->value, columns);
}
