/* Tables as MLflow sends them: columns by name where the model has names, else in order. A
 * column of words stands for the features "column=word" that reading a CSV file makes. */
#include <math.h>
#include <string.h>

#include "server/serve.h"

ferry_status ferry_i_columns_open(ferry_ctx *ctx, const serve_version *v,
                                  const json_t *names, int64_t n, serve_columns *c)
{
    ferry_status st = FERRY_OK;
    const int64_t cols = ferry_i_served_about(v->model).columns;
    int64_t found = 0;

    *c = (serve_columns){.n = n, .by_name = names && ferry_i_served_named(v->model)};
    FERRY_NEW(ctx, c->to, n);
    FERRY_NEW(ctx, c->name, n);
    for (int64_t j = 0; j < n; j++) {
        c->to[j] = (int32_t)j;
        if (!c->by_name) continue;
        c->name[j] = json_string_value(json_array_get(names, (size_t)j));
        FERRY_NEED(ctx, c->name[j], FERRY_EDATA, "column %lld has no name",
                   (long long)j + 1);
        c->to[j] = (int32_t)ferry_i_served_column(v->model, c->name[j]);
        const size_t len = strlen(c->name[j]);
        for (int64_t k = 0; c->to[j] < 0 && k < cols; k++) {
            const char *feature = ferry_i_served_feature(v->model, k);
            if (strncmp(feature, c->name[j], len) == 0 && feature[len] == '=')
                c->to[j] = (int32_t)(-2 - k); /* words; the first of its features */
        }
        found += c->to[j] != -1;
    }
    FERRY_NEED(ctx, c->by_name ? found > 0 : n == cols, FERRY_EDATA,
               c->by_name ? "none of the %lld columns is a feature of the model, which has "
                            "%lld"
                          : "expected rows of other length: %lld cells, the model has %lld "
                            "features",
               (long long)n, (long long)cols);
done:
    if (st != FERRY_OK) ferry_i_columns_close(c);
    return st;
}

void ferry_i_columns_close(serve_columns *c)
{
    FERRY_FREE(c->to, (void *)c->name);
    *c = (serve_columns){0};
}

/* The cell's word becomes a 1 among the features of its column. */
static void put_word(const ferry_model *m, const char *column, int64_t first,
                     const char *word, double *x)
{
    const size_t n = strlen(column);

    for (int64_t k = first; k < ferry_i_served_about(m).columns; k++) {
        const char *feature = ferry_i_served_feature(m, k);
        if (strncmp(feature, column, n) == 0 && feature[n] == '=')
            x[k] = strcmp(feature + n + 1, word) == 0;
    }
}

ferry_status ferry_i_columns_row(ferry_ctx *ctx, const serve_version *v,
                                 const serve_columns *c, const json_t *cells,
                                 serve_batch *b)
{
    ferry_status st = FERRY_OK;
    const int64_t row = b->n + 1;
    double *x = NULL;

    FERRY_NEED(ctx, json_is_array(cells) && (int64_t)json_array_size(cells) == c->n,
               FERRY_EDATA, "row %lld: expected a list of %lld cells", (long long)row,
               (long long)c->n);
    FERRY_TRY(ferry_i_batch_dense(ctx, b, &x));
    for (int64_t j = 0; j < b->cols; j++)
        x[j] = NAN;
    for (int64_t j = 0; j < c->n; j++) {
        const json_t *cell = json_array_get(cells, (size_t)j);
        if (c->to[j] == -1 || json_is_null(cell)) continue;
        if (c->to[j] < -1 && json_is_string(cell)) {
            put_word(v->model, c->name[j], -2 - c->to[j], json_string_value(cell), x);
            continue;
        }
        FERRY_NEED(ctx, c->to[j] >= 0 && (json_is_number(cell) || json_is_boolean(cell)),
                   FERRY_EDATA, "row %lld, cell %lld: expected a %s", (long long)row,
                   (long long)j + 1, c->to[j] < -1 ? "text" : "number or null");
        x[c->to[j]] = json_is_boolean(cell) ? json_is_true(cell) : json_number_value(cell);
        FERRY_NEED(ctx, fabs(x[c->to[j]]) <= 1e100, FERRY_EDATA,
                   "row %lld, cell %lld: expected at most 1e100", (long long)row,
                   (long long)j + 1);
    }
done:
    return st;
}
