/* Regression trees by XGBoost's C API, with our own gradients and curvatures.
 *
 * Only this file knows XGBoost. The shared library is loaded when the first booster is
 * made: it and the C++ run time would otherwise add 4 ms to the start of every program that
 * links Ferry. Each call of grow makes a booster of its own over the same data, whose
 * histograms XGBoost keeps, so that the model to read back holds the new trees alone.
 *
 * XGBoost works in single precision: a row goes left when (float)x < condition. The same in
 * double precision is x <= the largest double that rounds to a float below the condition.
 * Leaves are left as they come; whoever wants them exact adds up z and c again. */
#include <float.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <xgboost/c_api.h>

#include "core/json.h"
#include "learn/rows.h"
#include "learn/trees.h"

/* ---- the library ---- */

/* The functions that are used, by their C API names; set once by load(). */
static struct {
    bool works;
    char why[FERRY_LOAD_WHY]; /* it could not be loaded */
    const char *(*last_error)(void);
    int (*config)(const char *);
    int (*from_dense)(const float *, bst_ulong, bst_ulong, float, DMatrixHandle *, int);
    int (*from_csr)(const char *, const char *, const char *, bst_ulong, const char *,
                    DMatrixHandle *);
    int (*free_data)(DMatrixHandle);
    int (*create)(const DMatrixHandle *, bst_ulong, BoosterHandle *);
    int (*set)(BoosterHandle, const char *, const char *);
    int (*boost)(BoosterHandle, DMatrixHandle, float *, float *, bst_ulong);
    int (*save)(BoosterHandle, const char *, bst_ulong *, const char **);
    int (*free)(BoosterHandle);
} xgb;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Debian's name first; the other is for systems that number it differently. */
static void load(void)
{
    static const ferry_symbol want[] = {
        {"XGBGetLastError", &xgb.last_error},
        {"XGBSetGlobalConfig", &xgb.config},
        {"XGDMatrixCreateFromMat_omp", &xgb.from_dense},
        {"XGDMatrixCreateFromCSR", &xgb.from_csr},
        {"XGDMatrixFree", &xgb.free_data},
        {"XGBoosterCreate", &xgb.create},
        {"XGBoosterSetParam", &xgb.set},
        {"XGBoosterBoostOneIter", &xgb.boost},
        {"XGBoosterSaveModelToBuffer", &xgb.save},
        {"XGBoosterFree", &xgb.free},
    };
    char other[FERRY_LOAD_WHY];

    xgb.works = ferry_i_load("libxgboost.so.0", want, FERRY_COUNT(want), xgb.why) ||
                ferry_i_load("libxgboost.so", want, FERRY_COUNT(want), other);
}

/* A call into the library: 0, or its last error. */
#define XGB(ctx, call)                                                                     \
    FERRY_NEED((ctx), (call) == 0, FERRY_ENUMERIC, "XGBoost: %.300s", xgb.last_error())

/* ---- the data ---- */

/* Data in XGBoost's form, and room for gradients; no model is kept between calls. */
struct ferry_booster {
    ferry_tree_options o;
    int64_t n, k, cols;
    DMatrixHandle data;
    float *grad, *hess; /* n x k */
};

/* Beyond FLT_MAX the conversion is undefined: such cells become the largest float. NaN
 * stays. */
float ferry_i_tree_float(double v)
{
    return v > FLT_MAX ? FLT_MAX : v < -FLT_MAX ? -FLT_MAX : (float)v;
}

/* Threads for n x cols cells: a tree over few is grown before they have met. The trees are
 * the same. */
static int threads_for(const ferry_ctx *ctx, int64_t n, int64_t cols)
{
    return n < 1 << 19 && cols < 1 << 19 && n * cols < 1 << 19 ? 1 : ctx->threads;
}

/* NaN is declared to be the missing value. XGBoost copies: v is gone afterwards. */
static ferry_status load_dense(ferry_ctx *ctx, const ferry_tree_data *d, ferry_booster *b)
{
    ferry_status st = FERRY_OK;
    const int64_t cols = d->x->cols;
    float *v = ferry_i_calloc(d->n * cols, sizeof *v);

    FERRY_HAVE(ctx, v);
    for (int64_t i = 0; i < d->n; i++) {
        const double *row = d->x->dense + (d->rows ? d->rows[i] : i) * cols;
        for (int64_t j = 0; j < cols; j++)
            v[i * cols + j] = ferry_i_tree_float(row[j]);
    }
    XGB(ctx, xgb.from_dense(v, (bst_ulong)d->n, (bst_ulong)cols, NAN, &b->data,
                            threads_for(ctx, d->n, cols)));
done:
    ferry_i_free(v);
    return st;
}

/* An array as XGBoost takes it since 1.5, which 1.7 and 3.x both do: NumPy's array interface as JSON. */
static void put_array(char text[160], const void *data, const char *type, int64_t n)
{
    (void)snprintf(text, 160,
                   "{\"data\": [%llu, true], \"shape\": [%lld], \"typestr\": \"<%s\", "
                   "\"version\": 3}",
                   (unsigned long long)(uintptr_t)data, (long long)n, type);
}

/* Zeros and NaN are left out, which is how XGBoost is told that a cell is missing. */
static ferry_status load_sparse(ferry_ctx *ctx, const ferry_tree_data *d, ferry_booster *b)
{
    ferry_status st = FERRY_OK;
    const ferry_matrix *x = d->x;
    const double *v = row_values(x);
    int64_t nnz = 0;
    size_t *start = ferry_i_calloc(d->n + 1, sizeof *start);
    unsigned *index = NULL;
    float *value = NULL;
    char array[3][160];

    for (int64_t i = 0; i < d->n; i++) {
        const int64_t row = d->rows ? d->rows[i] : i;
        for (int64_t e = row_begin(x, row); e < row_end(x, row); e++)
            nnz += v[e] != 0 && !isnan(v[e]);
    }
    FERRY_NEW(ctx, index, nnz);
    FERRY_NEW(ctx, value, nnz);
    FERRY_HAVE(ctx, start);
    nnz = 0;
    for (int64_t i = 0; i < d->n; i++) {
        const int64_t row = d->rows ? d->rows[i] : i;
        for (int64_t e = row_begin(x, row); e < row_end(x, row); e++) {
            if (v[e] == 0 || isnan(v[e])) continue;
            index[nnz] = (unsigned)row_column(x, row, e);
            value[nnz++] = ferry_i_tree_float(v[e]);
        }
        start[i + 1] = (size_t)nnz;
    }
    put_array(array[0], start, "u8", d->n + 1);
    put_array(array[1], index, "u4", nnz);
    put_array(array[2], value, "f4", nnz);
    XGB(ctx, xgb.from_csr(array[0], array[1], array[2], (bst_ulong)x->cols,
                          "{\"missing\": NaN}", &b->data));
done:
    FERRY_FREE(value, index, start);
    return st;
}

/* Counts are checked against what the C API can take (int, and the array of n k
 * gradients). */
ferry_status ferry_i_booster_new(ferry_ctx *ctx, const ferry_tree_options *o,
                                 const ferry_tree_data *d, int64_t k, ferry_booster **out)
{
    ferry_status st = FERRY_OK;
    ferry_booster *b = NULL;

    *out = NULL;
    (void)pthread_once(&once, load);
    FERRY_NEED(ctx, xgb.works, FERRY_ENEEDS,
               "boosted trees need the XGBoost library (Debian: libxgboost0): %s", xgb.why);
    FERRY_NEED(ctx, d->n > 0 && d->n * k < INT_MAX && d->x->cols < INT_MAX, FERRY_ENEEDS,
               "%lld instances with %lld scores and %lld features are not what XGBoost can "
               "count",
               (long long)d->n, (long long)k, (long long)d->x->cols);
    FERRY_NEW(ctx, b, 1);
    b->o = *o;
    b->n = d->n;
    b->k = k;
    b->cols = d->x->cols;
    FERRY_NEW(ctx, b->grad, d->n * k);
    FERRY_NEW(ctx, b->hess, d->n * k);
    XGB(ctx, xgb.config("{\"verbosity\": 0}"));
    if (d->sparse || !d->x->dense)
        FERRY_TRY(load_sparse(ctx, d, b));
    else
        FERRY_TRY(load_dense(ctx, d, b));
    FERRY_MOVE(*out, b);
done:
    ferry_i_booster_free(b);
    return st;
}

void ferry_i_booster_free(ferry_booster *b)
{
    if (!b) return;
    if (b->data) (void)xgb.free_data(b->data);
    FERRY_FREE(b->hess, b->grad, b);
}

/* ---- reading trees back ---- */

/* The largest double that rounds to a float below `condition`.
 * Halves round to even, so the middle between the two floats may go either way: it is
 * tried. */
static double below(float condition)
{
    const float under = nextafterf(condition, -INFINITY);
    const double middle = ((double)under + (double)condition) / 2;

    if (!(middle > -DBL_MAX)) return -DBL_MAX;
    return (float)middle < condition ? middle : nextafter(middle, -INFINITY);
}

/* One tree of the model's JSON: arrays of equal length.
 * Everything is checked, since it comes from another library: lengths, that children lie
 * behind their parent (or a walk might not end), and features. A leaf keeps its value in
 * the array of conditions. */
static ferry_status read_tree(ferry_ctx *ctx, const json_t *json, int64_t cols,
                              ferry_tree **out)
{
    const json_t *left = json_object_get(json, "left_children");
    const json_t *right = json_object_get(json, "right_children");
    const json_t *feature = json_object_get(json, "split_indices");
    const json_t *condition = json_object_get(json, "split_conditions");
    const json_t *missing = json_object_get(json, "default_left");
    const json_t *gain = json_object_get(json, "loss_changes");
    const size_t n = json_array_size(left);

    *out = NULL;
    if (n <= 0 || json_array_size(right) != n || json_array_size(feature) != n ||
        json_array_size(condition) != n || json_array_size(missing) != n ||
        json_array_size(gain) != n)
        return ferry_i_fail(ctx, FERRY_ENUMERIC,
                            "XGBoost: a tree is not what was expected");
    FERRY_PASS(ferry_i_tree_new(ctx, (int64_t)n, out));
    for (size_t i = 0; i < n; i++) {
        ferry_tree_node *node = &(*out)->node[i];
        const json_int_t l = json_integer_value(json_array_get(left, i));
        const json_int_t r = json_integer_value(json_array_get(right, i));
        const json_int_t f = json_integer_value(json_array_get(feature, i));
        const double at = json_number_value(json_array_get(condition, i));
        const json_t *side = json_array_get(missing, i); /* 0 or 1, or a boolean */
        if (l < 0) {
            node->value = at;
            continue;
        }
        if (!(l > (json_int_t)i && r > (json_int_t)i && l < (json_int_t)n &&
              r < (json_int_t)n && f >= 0 && f < cols))
            return ferry_i_fail(ctx, FERRY_ENUMERIC,
                                "XGBoost: a tree is not what was expected");
        node->left = (int32_t)l;
        node->right = (int32_t)r;
        node->feature = (int32_t)f;
        node->threshold = below((float)at);
        node->missing_left = json_is_true(side) || json_integer_value(side) != 0;
        node->gain = json_number_value(json_array_get(gain, i));
    }
    return FERRY_OK;
}

/* learner.gradient_booster.model.trees, one for each score in turn. */
static ferry_status read_trees(ferry_ctx *ctx, const ferry_booster *b, const char *text,
                               size_t length, ferry_tree **trees)
{
    ferry_status st = FERRY_OK;
    static const char *const path[] = {"learner", "gradient_booster", "model", "trees"};
    json_t *root = NULL;
    const json_t *all = NULL;

    FERRY_TRY(ferry_i_json_parse(ctx, text, (int64_t)length, 0, NULL, &root));
    all = root;
    for (int64_t i = 0; i < FERRY_COUNT(path); i++)
        all = json_object_get(all, path[i]);
    FERRY_NEED(ctx, (int64_t)json_array_size(all) == b->k, FERRY_ENUMERIC,
               "XGBoost: its model does not have the %lld trees expected", (long long)b->k);
    for (int64_t j = 0; j < b->k; j++)
        FERRY_TRY(read_tree(ctx, json_array_get(all, (size_t)j), b->cols, &trees[j]));
done:
    json_decref(root);
    return st;
}

/* ---- growing ---- */

/* reg is lambda, added to every sum of c as in our own trees. eta 1 and base_score 0:
 * what comes back is the bare step. The objective only fixes how many trees an iteration
 * has. */
static ferry_status set_parameters(ferry_ctx *ctx, const ferry_booster *b, BoosterHandle h)
{
    ferry_status st = FERRY_OK;
    char depth[24], bins[24], threads[24], classes[24], reg[40], child[40];
    const char *const set[][2] = {
        {"objective", b->k > 1 ? "multi:softprob" : "reg:squarederror"}, /* not used */
        {"num_class", classes},
        {"tree_method", "hist"},
        {"max_depth", depth},
        {"max_bin", bins},
        {"nthread", threads},
        {"lambda", reg},
        {"min_child_weight", child},
        {"alpha", "0"},
        {"gamma", "0"},
        {"eta", "1"},
        {"base_score", "0"},
        {"disable_default_eval_metric", "1"},
    };

    (void)snprintf(depth, sizeof depth, "%lld", (long long)b->o.depth);
    (void)snprintf(bins, sizeof bins, "%lld", (long long)b->o.bins);
    (void)snprintf(threads, sizeof threads, "%d", threads_for(ctx, b->n, b->cols));
    (void)snprintf(classes, sizeof classes, "%lld", b->k > 1 ? (long long)b->k : 0LL);
    (void)snprintf(reg, sizeof reg, "%.9g", b->o.reg);
    (void)snprintf(child, sizeof child, "%.9g", b->o.min_child);
    for (int64_t i = 0; i < FERRY_COUNT(set); i++)
        XGB(ctx, xgb.set(h, set[i][0], set[i][1]));
done:
    return st;
}

/* XGBoost's gradient is dL/df, ours is z = -dL/df. The model comes back as JSON, whose
 * form is documented. */
ferry_status ferry_i_booster_grow(ferry_ctx *ctx, ferry_booster *b, const double *z,
                                  const double *c, ferry_tree **trees)
{
    ferry_status st = FERRY_OK;
    const int64_t n = b->n * b->k;
    BoosterHandle h = NULL;
    const char *text = NULL;
    bst_ulong length = 0;

    memset(trees, 0, (size_t)b->k * sizeof(ferry_tree *));
    for (int64_t i = 0; i < n; i++) {
        b->grad[i] = ferry_i_tree_float(-z[i]);
        b->hess[i] = ferry_i_tree_float(c[i]);
    }
    XGB(ctx, xgb.create(&b->data, 1, &h));
    FERRY_TRY(set_parameters(ctx, b, h));
    XGB(ctx, xgb.boost(h, b->data, b->grad, b->hess, (bst_ulong)n));
    XGB(ctx, xgb.save(h, "{\"format\": \"json\"}", &length, &text));
    FERRY_TRY(read_trees(ctx, b, text, length, trees));
done:
    for (int64_t j = 0; st != FERRY_OK && j < b->k; j++) {
        ferry_i_tree_free(trees[j]);
        trees[j] = NULL;
    }
    if (h) (void)xgb.free(h);
    return st;
}
