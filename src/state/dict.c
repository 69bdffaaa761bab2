/* A dict: named tensors and texts in memory. Getters trust nothing, since a dict may come
 * from a file. */
#include "state/dict.h"

#include <math.h>
#include <string.h>

#include "state/dict_private.h"

/* As messages say it, in the order of dict_type. */
static const char *const type_name[DICT_TYPES] = {"real numbers", "64-bit integers",
                                                  "32-bit integers", "bytes"};

/* Bytes of one number of a type. */
size_t ferry_i_dict_width(dict_type type)
{
    static const size_t width[DICT_TYPES] = {8, 8, 4, 1};

    return width[type];
}

/* Names of tensors and keys of texts are kept apart, as a file keeps them apart. */
ferry_status ferry_i_dict_new(ferry_ctx *ctx, ferry_dict **out)
{
    ferry_status st = FERRY_OK;
    ferry_dict *dict = ferry_i_calloc(1, sizeof *dict);

    *out = NULL;
    FERRY_HAVE(ctx, dict);
    dict->names = ferry_i_ids_new();
    dict->keys = ferry_i_ids_new();
    FERRY_HAVE(ctx, dict->names && dict->keys);
    FERRY_MOVE(*out, dict);
done:
    ferry_i_dict_free(dict);
    return st;
}

/* Tensors read from a file own nothing: their data goes with `bytes`. */
void ferry_i_dict_free(ferry_dict *dict)
{
    if (!dict) return;
    for (int64_t i = 0; i < dict->n; i++)
        ferry_i_free(dict->tensor[i].owned);
    for (int64_t i = 0; i < dict->n_text; i++)
        ferry_i_free(dict->text[i]);
    FERRY_FREE(dict->tensor, dict->text);
    ferry_i_ids_free(dict->names);
    ferry_i_ids_free(dict->keys);
    FERRY_FREE(dict->bytes, dict);
}

/* ---- putting ---- */

/* The tensor's bytes stay where they are: owned by it, or inside the file that the dict
 * was read from. */
ferry_status ferry_i_dict_add(ferry_ctx *ctx, ferry_dict *dict, const char *name,
                              const dict_tensor *t)
{
    bool added = false;

    if (!FERRY_GROW(dict->tensor, dict->n, dict->cap)) return ferry_i_nomem(ctx);
    if (ferry_i_ids_add(dict->names, name, &added) < 0) return ferry_i_nomem(ctx);
    if (!added) return ferry_i_fail(ctx, FERRY_EDATA, "tensor '%s' is there twice", name);
    dict->tensor[dict->n++] = *t;
    return FERRY_OK;
}

/* Add a copy of data. */
static ferry_status put(ferry_ctx *ctx, ferry_dict *dict, const char *name, dict_tensor t,
                        const void *data)
{
    ferry_status st = FERRY_OK;
    const int64_t count = t.rows * t.cols;
    const size_t width = ferry_i_dict_width(t.type);

    FERRY_HAVE(ctx, t.owned = ferry_i_calloc(count, width));
    if (count > 0) memcpy(t.owned, data, (size_t)count * width);
    t.data = t.owned;
    FERRY_TRY(ferry_i_dict_add(ctx, dict, name, &t));
    t.owned = NULL;
done:
    ferry_i_free(t.owned);
    return st;
}

/* Always two dimensions, also for a vector (1 x n): getters then need one way to check. */
ferry_status ferry_i_dict_put_reals(ferry_ctx *ctx, ferry_dict *dict, const char *name,
                                    int64_t rows, int64_t cols, const double *data)
{
    return put(ctx, dict, name,
               (dict_tensor){.type = DICT_F64, .dims = 2, .rows = rows, .cols = cols},
               data);
}

/* One dimension; F64 tensors alone have two, which the file format relies on. */
static ferry_status put_vector(ferry_ctx *ctx, ferry_dict *dict, const char *name,
                               dict_type type, int64_t n, const void *data)
{
    return put(ctx, dict, name,
               (dict_tensor){.type = type, .dims = 1, .rows = n, .cols = 1}, data);
}

ferry_status ferry_i_dict_put_ints(ferry_ctx *ctx, ferry_dict *dict, const char *name,
                                   int64_t n, const int64_t *data)
{
    return put_vector(ctx, dict, name, DICT_I64, n, data);
}

ferry_status ferry_i_dict_put_bytes(ferry_ctx *ctx, ferry_dict *dict, const char *name,
                                    int64_t n, const uint8_t *data)
{
    return put_vector(ctx, dict, name, DICT_U8, n, data);
}

/* A text becomes metadata of the file, readable without any of the tensors. */
ferry_status ferry_i_dict_put_text(ferry_ctx *ctx, ferry_dict *dict, const char *name,
                                   const char *text)
{
    ferry_status st = FERRY_OK;
    bool added = false;
    char *copy = ferry_i_strdup(text);

    FERRY_HAVE(ctx, copy && FERRY_GROW(dict->text, dict->n_text, dict->cap_text));
    FERRY_HAVE(ctx, ferry_i_ids_add(dict->keys, name, &added) >= 0);
    FERRY_NEED(ctx, added, FERRY_EDATA, "text '%s' is there twice", name);
    dict->text[dict->n_text++] = copy;
    copy = NULL;
done:
    ferry_i_free(copy);
    return st;
}

/* Thousands of names as one tensor: as JSON they would make the header large. */
ferry_status ferry_i_dict_put_ids(ferry_ctx *ctx, ferry_dict *dict, const char *name,
                                  const ferry_ids *ids)
{
    ferry_status st = FERRY_OK;
    ferry_text t = {0};

    ferry_i_ids_print(ids, &t);
    FERRY_HAVE(ctx, !t.failed);
    FERRY_TRY(ferry_i_dict_put_bytes(ctx, dict, name, t.len, (const uint8_t *)t.s));
done:
    ferry_i_text_free(&t);
    return st;
}

/* The parts of a sparse matrix: NAME.shape, NAME.start, NAME.index, NAME.value. */
enum { PART_SHAPE, PART_START, PART_INDEX, PART_VALUE, PARTS };

/* The four names of a sparse matrix's parts; free_parts also when this fails. */
static ferry_status part_names(ferry_ctx *ctx, const char *name, char *part[PARTS])
{
    static const char *const suffix[PARTS] = {"shape", "start", "index", "value"};

    for (int i = 0; i < PARTS; i++) {
        part[i] = ferry_i_sprintf("%s.%s", name, suffix[i]);
        if (!part[i]) return ferry_i_nomem(ctx);
    }
    return FERRY_OK;
}

static void free_parts(char *part[PARTS])
{
    for (int i = 0; i < PARTS; i++)
        ferry_i_free(part[i]);
}

/* Dense under its own name, CSR as four tensors: nothing sparse is ever written dense. */
ferry_status ferry_i_dict_put_matrix(ferry_ctx *ctx, ferry_dict *dict, const char *name,
                                     const ferry_matrix *x)
{
    ferry_status st = FERRY_OK;
    char *part[PARTS] = {NULL};
    const int64_t shape[2] = {x->rows, x->cols};

    if (x->dense)
        return ferry_i_dict_put_reals(ctx, dict, name, x->rows, x->cols, x->dense);
    FERRY_TRY(part_names(ctx, name, part));
    FERRY_TRY(ferry_i_dict_put_ints(ctx, dict, part[PART_SHAPE], 2, shape));
    FERRY_TRY(ferry_i_dict_put_ints(ctx, dict, part[PART_START], x->rows + 1, x->start));
    FERRY_TRY(put_vector(ctx, dict, part[PART_INDEX], DICT_I32, x->nnz, x->index));
    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, part[PART_VALUE], x->nnz, 1, x->value));
done:
    free_parts(part);
    return st;
}

/* ---- getting ---- */

bool ferry_i_dict_has(const ferry_dict *dict, const char *name)
{
    return ferry_i_ids_find(dict->names, name) >= 0;
}

/* Type and shape must be as the method expects them: after this its arithmetic on sizes is
 * safe. -1 takes what is there and tells it. */
static ferry_status get(ferry_ctx *ctx, const ferry_dict *dict, const char *name,
                        dict_type type, int64_t *rows, int64_t *cols, const void **data)
{
    ferry_status st = FERRY_OK;
    const int64_t at = ferry_i_ids_find(dict->names, name);

    *data = NULL;
    FERRY_NEED(ctx, at >= 0, FERRY_EDATA, "tensor '%s' is missing", name);
    const dict_tensor *t = &dict->tensor[at];
    FERRY_NEED(ctx, t->type == type, FERRY_EDATA, "tensor '%s' holds %s, expected %s", name,
               type_name[t->type], type_name[type]);
    if (*rows < 0) *rows = t->rows;
    if (*cols < 0) *cols = t->cols;
    FERRY_NEED(ctx, t->rows == *rows && t->cols == *cols, FERRY_EDATA,
               "tensor '%s' has shape %lld x %lld, expected %lld x %lld", name,
               (long long)t->rows, (long long)t->cols, (long long)*rows, (long long)*cols);
    *data = t->data;
done:
    return st;
}

/* For data in which NaN is a missing cell; everything learned goes through reals instead.
 */
ferry_status ferry_i_dict_reals_any(ferry_ctx *ctx, const ferry_dict *dict,
                                    const char *name, int64_t *rows, int64_t *cols,
                                    const double **data)
{
    const void *p = NULL;
    const ferry_status st = get(ctx, dict, name, DICT_F64, rows, cols, &p);

    *data = p;
    return st;
}

/* A NaN in weights would spread through every prediction without a word; so it is found at
 * loading. */
ferry_status ferry_i_dict_reals(ferry_ctx *ctx, const ferry_dict *dict, const char *name,
                                int64_t *rows, int64_t *cols, const double **data)
{
    ferry_status st = FERRY_OK;

    FERRY_TRY(ferry_i_dict_reals_any(ctx, dict, name, rows, cols, data));
    for (int64_t i = 0; i < *rows * *cols; i++)
        FERRY_NEED(ctx, isfinite((*data)[i]), FERRY_EDATA,
                   "tensor '%s' has %g at place %lld, expected finite numbers", name,
                   (*data)[i], (long long)i);
done:
    if (st != FERRY_OK) *data = NULL;
    return st;
}

ferry_status ferry_i_dict_ints(ferry_ctx *ctx, const ferry_dict *dict, const char *name,
                               int64_t *n, const int64_t **data)
{
    const void *p = NULL;
    int64_t one = 1;
    const ferry_status st = get(ctx, dict, name, DICT_I64, n, &one, &p);

    *data = p;
    return st;
}

ferry_status ferry_i_dict_bytes(ferry_ctx *ctx, const ferry_dict *dict, const char *name,
                                int64_t *n, const uint8_t **data)
{
    const void *p = NULL;
    int64_t one = 1;
    const ferry_status st = get(ctx, dict, name, DICT_U8, n, &one, &p);

    *data = p;
    return st;
}

/* Texts come from metadata, which read_metadata has checked to be strings. */
const char *ferry_i_dict_text(const ferry_dict *dict, const char *name)
{
    const int64_t at = ferry_i_ids_find(dict->keys, name);

    return at < 0 ? NULL : dict->text[at];
}

/* Texts one after the other, each ended by 0; the same twice would make two numbers for
 * one name. */
ferry_status ferry_i_dict_ids(ferry_ctx *ctx, const ferry_dict *dict, const char *name,
                              ferry_ids **out)
{
    const uint8_t *bytes = NULL;
    int64_t n = -1;

    *out = NULL;
    FERRY_PASS(ferry_i_dict_bytes(ctx, dict, name, &n, &bytes));
    return ferry_i_ids_parse(ctx, name, bytes, n, out);
}

/* Rows begin where they should and hold ascending columns. */
static ferry_status check_csr(ferry_ctx *ctx, const char *name, int64_t rows, int64_t cols,
                              int64_t nnz, const int64_t *start, const int32_t *index)
{
    ferry_status st = FERRY_OK;

    FERRY_NEED(ctx, start[0] == 0 && start[rows] == nnz, FERRY_EDATA,
               "matrix '%s' begins at %lld and ends at %lld, expected 0 and %lld", name,
               (long long)start[0], (long long)start[rows], (long long)nnz);
    for (int64_t i = 0; i < rows; i++)
        FERRY_NEED(ctx, start[i] <= start[i + 1], FERRY_EDATA,
                   "row %lld of matrix '%s' ends before it begins", (long long)i, name);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t e = start[i]; e < start[i + 1]; e++)
            FERRY_NEED(ctx,
                       index[e] >= 0 && index[e] < cols &&
                           (e == start[i] || index[e] > index[e - 1]),
                       FERRY_EDATA,
                       "row %lld of matrix '%s' has column %d, expected ascending "
                       "columns below %lld",
                       (long long)i, name, index[e], (long long)cols);
    }
done:
    return st;
}

/* Everything that code on CSR takes for granted is checked here, once. */
static ferry_status sparse_matrix(ferry_ctx *ctx, const ferry_dict *dict, const char *name,
                                  ferry_matrix **out)
{
    ferry_status st = FERRY_OK;
    char *part[PARTS] = {NULL};
    const int64_t *shape = NULL, *start = NULL;
    const void *index = NULL;
    const double *value = NULL;
    int64_t two = 2, nnz = -1, one = 1;

    FERRY_TRY(part_names(ctx, name, part));
    FERRY_TRY(ferry_i_dict_ints(ctx, dict, part[PART_SHAPE], &two, &shape));
    const int64_t rows = shape[0], cols = shape[1];
    FERRY_NEED(ctx, rows >= 0 && rows < INT64_MAX && cols >= 0 && cols <= INT32_MAX,
               FERRY_EDATA, "matrix '%s' has shape %lld x %lld", name, (long long)rows,
               (long long)cols);
    /* rows comes from the file, but the tensor must really have rows + 1 numbers: after
     * this get() the shape is backed by bytes, and allocating by it is safe. */
    int64_t starts = rows + 1;
    FERRY_TRY(ferry_i_dict_ints(ctx, dict, part[PART_START], &starts, &start));
    FERRY_TRY(ferry_i_dict_reals(ctx, dict, part[PART_VALUE], &nnz, &one, &value));
    FERRY_TRY(get(ctx, dict, part[PART_INDEX], DICT_I32, &nnz, &one, &index));
    FERRY_TRY(check_csr(ctx, name, rows, cols, nnz, start, index));
    FERRY_TRY(ferry_i_matrix_csr(ctx, rows, cols, nnz, out));
    memcpy((*out)->start, start, (size_t)starts * sizeof *start);
    if (nnz > 0) {
        memcpy((*out)->index, index, (size_t)nnz * sizeof(int32_t));
        memcpy((*out)->value, value, (size_t)nnz * sizeof *value);
    }
done:
    free_parts(part);
    return st;
}

/* Whichever of the two forms the file has. */
ferry_status ferry_i_dict_matrix(ferry_ctx *ctx, const ferry_dict *dict, const char *name,
                                 ferry_matrix **out)
{
    ferry_status st = FERRY_OK;
    const double *data = NULL;
    int64_t rows = -1, cols = -1;

    *out = NULL;
    if (!ferry_i_dict_has(dict, name)) return sparse_matrix(ctx, dict, name, out);
    FERRY_TRY(ferry_i_dict_reals_any(ctx, dict, name, &rows, &cols, &data));
    for (int64_t i = 0; i < rows * cols; i++) /* NaN is a missing cell */
        FERRY_NEED(ctx, !isinf(data[i]), FERRY_EDATA,
                   "matrix '%s' has an infinite number at row %lld", name,
                   (long long)(i / cols));
    FERRY_TRY(ferry_i_matrix_dense(ctx, rows, cols, out));
    if (rows * cols > 0) memcpy((*out)->dense, data, (size_t)(rows * cols) * sizeof *data);
done:
    return st;
}
