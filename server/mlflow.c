/* MLflow's scoring protocol: POST /invocations with dataframe_split, dataframe_records,
 * instances or inputs, or CSV; GET /ping. The answer is {"predictions": [...]}. */
#include <string.h>

#include "core/json.h"
#include "data/fields.h"
#include "server/serve.h"

void ferry_i_serve_ping(serve_request *r)
{
    r->status = r->server->stopping ? 503 : 200;
    r->type = "application/json";
    ferry_i_text_addn(&r->out, "\n", 1);
}

/* {"columns": [...], "data": [[...], ...]}; columns NULL: without names. */
static ferry_status add_split(ferry_ctx *ctx, serve_version *v, const json_t *columns,
                              const json_t *data, serve_batch *b)
{
    ferry_status st = FERRY_OK;
    serve_columns c = {0};
    const json_t *row = NULL;
    size_t i = 0;

    FERRY_NEED(ctx, json_is_array(data) && (!columns || json_is_array(columns)),
               FERRY_EDATA, "expected a list of rows, and of columns");
    const json_t *first = columns ? columns : json_array_get(data, 0);
    FERRY_TRY(ferry_i_columns_open(ctx, v, columns,
                                   first ? (int64_t)json_array_size(first) : b->cols, &c));
    json_array_foreach(data, i, row) FERRY_TRY(ferry_i_columns_row(ctx, v, &c, row, b));
done:
    ferry_i_columns_close(&c);
    return st;
}

/* [{"column": cell, ...}, ...]: the columns are those of the first. */
static ferry_status add_records(ferry_ctx *ctx, serve_version *v, const json_t *records,
                                serve_batch *b)
{
    ferry_status st = FERRY_OK;
    json_t *columns = json_array(), *data = json_array(), *record = NULL, *cell = NULL;
    const char *key = NULL;
    size_t i = 0, j = 0;

    FERRY_NEED(ctx, json_is_array(records), FERRY_EDATA, "expected a list of records");
    json_object_foreach(json_array_get(records, 0), key, cell)(void)
        json_array_append_new(columns, json_string(key));
    json_array_foreach(records, i, record)
    {
        json_t *row = json_array(), *name = NULL;
        FERRY_HAVE(ctx, json_array_append_new(data, row) == 0);
        FERRY_NEED(ctx, json_is_object(record), FERRY_EDATA, "record %zu is no object",
                   i + 1);
        json_array_foreach(columns, j, name)
        {
            cell = json_object_get(record, json_string_value(name));
            (void)json_array_append_new(row, cell ? json_incref(cell) : json_null());
        }
    }
    FERRY_HAVE(ctx, !ferry_i_memory_lost());
    FERRY_TRY(add_split(ctx, v, columns, data, b));
done:
    json_decref(columns);
    json_decref(data);
    return st;
}

static ferry_status add_json(ferry_ctx *ctx, serve_version *v, const json_t *all,
                             serve_batch *b)
{
    ferry_status st = FERRY_OK;
    const json_t *split = json_object_get(all, "dataframe_split"),
                 *records = json_object_get(all, "dataframe_records"),
                 *rows = json_object_get(all, "instances");

    if (!rows) rows = json_object_get(all, "inputs");
    FERRY_NEED(ctx, !!split + !!records + !!rows == 1, FERRY_EDATA,
               "expected one of dataframe_split, dataframe_records, instances and inputs");
    if (split)
        FERRY_TRY(add_split(ctx, v, json_object_get(split, "columns"),
                            json_object_get(split, "data"), b));
    else if (records || json_is_object(json_array_get(rows, 0)))
        FERRY_TRY(add_records(ctx, v, records ? records : rows, b));
    else
        FERRY_TRY(add_split(ctx, v, NULL, rows, b));
done:
    return st;
}

/* A cell of CSV: a number where it is one, nothing where it is empty. */
static json_t *csv_cell(const ferry_field *f)
{
    double x = 0;

    if (f->n == 0) return json_null();
    if (ferry_i_parse_real(f->s, f->s + f->n, &x) == f->s + f->n) return json_real(x);
    return json_stringn(f->s, (size_t)f->n);
}

static ferry_status add_csv(ferry_ctx *ctx, serve_version *v, const char *text, int64_t n,
                            serve_batch *b)
{
    ferry_status st = FERRY_OK;
    ferry_lines l = ferry_i_lines(text, n);
    ferry_field *f = NULL;
    json_t *columns = NULL, *data = json_array();
    int64_t cells = 0;

    while (ferry_i_any_line(&l)) {
        const int64_t have = ferry_i_fields(l.s, l.e, ",", f, cells);
        const char *at = l.s;
        while (at < l.e && ferry_i_is_blank(*at))
            at++;
        if (columns && cells > 1 && at == l.e) continue; /* a blank line */
        if (!columns) {
            FERRY_NEW(ctx, f, cells = have);
            (void)ferry_i_fields(l.s, l.e, ",", f, cells);
        }
        FERRY_NEED(ctx, have == cells, FERRY_EDATA,
                   "line %lld: expected %lld cells, got %lld", (long long)l.line,
                   (long long)cells, (long long)have);
        json_t *row = json_array();
        FERRY_HAVE(ctx, row);
        for (int64_t j = 0; j < cells; j++)
            (void)json_array_append_new(
                row, columns ? csv_cell(&f[j]) : json_stringn(f[j].s, (size_t)f[j].n));
        if (columns)
            (void)json_array_append_new(data, row);
        else
            columns = row;
    }
    FERRY_HAVE(ctx, !ferry_i_memory_lost());
    FERRY_NEED(ctx, columns, FERRY_EDATA, "the request is empty");
    FERRY_TRY(add_split(ctx, v, columns, data, b));
done:
    json_decref(columns);
    json_decref(data);
    ferry_i_free(f);
    return st;
}

/* The value alone, as MLflow's clients expect it. */
static void write_value(ferry_text *t, const ferry_prediction *p, int64_t at)
{
    ferry_text whole = {0};

    if (p->cls && p->cls[at] >= 0) {
        const char *name = p->names[p->cls[at]];
        ferry_i_text_json(t, name, (int64_t)strlen(name));
        return;
    }
    ferry_i_serve_answer(&whole, p, at, false);
    const char *value = whole.failed ? NULL : strchr(whole.s, ':');
    if (value) ferry_i_text_add(t, value + 1);
    t->failed = t->failed || whole.failed;
    ferry_i_text_free(&whole);
}

static ferry_status invoke(serve_request *r, serve_scratch *w)
{
    ferry_status st = FERRY_OK;
    const char *type = ferry_i_serve_header(r, "Content-Type");
    serve_version *v = r->version;
    json_t *all = NULL;
    json_error_t error;

    FERRY_NEED(w->ctx, ferry_i_served_about(v->model).goal != FERRY_RATE, FERRY_ENEEDS,
               "a model of ratings answers at /predict and /recommend");
    if (!ferry_i_serve_values(r)) goto done;
    ferry_i_batch_clear(w->batch, ferry_i_served_about(v->model).columns);
    if (type && strncmp(type, "text/csv", 8) == 0) {
        FERRY_TRY(add_csv(w->ctx, v, r->body.s, r->body.len, w->batch));
    } else {
        FERRY_TRY(ferry_i_json_parse(w->ctx, r->body.s, r->body.len, JSON_REJECT_DUPLICATES,
                                     &error, &all));
        FERRY_NEED(w->ctx, json_is_object(all), FERRY_EDATA, "expected a JSON object%s%s",
                   all ? "" : ": ", all ? "" : error.text);
        FERRY_TRY(add_json(w->ctx, v, all, w->batch));
    }
    FERRY_TRY(ferry_i_batch_predict(w->ctx, v, w->batch));
    ferry_i_text_add(&r->out, "{\"predictions\":[");
    for (int64_t i = 0; i < w->batch->n; i++) {
        if (i) ferry_i_text_addn(&r->out, ",", 1);
        write_value(&r->out, w->batch->p[SERVE_DENSE], i);
        if (!ferry_i_serve_grown(r)) goto done;
    }
    ferry_i_text_add(&r->out, "]}\n");
    r->status = 200;
done:
    json_decref(all);
    return st;
}

void ferry_i_serve_invocations(serve_request *r)
{
    const char *type = ferry_i_serve_header(r, "Content-Type");
    serve_scratch *w = ferry_i_serve_scratch(r->server);

    if (type && strncmp(type, "application/json", 16) != 0 &&
        strncmp(type, "text/csv", 8) != 0) {
        ferry_i_serve_error(r, 415, "Content-Type: expected application/json or text/csv");
    } else if (!w) {
        ferry_i_serve_error(r, 503, "out of memory");
    } else {
        pthread_rwlock_rdlock(&r->version->lock);
        const ferry_status st = invoke(r, w);
        pthread_rwlock_unlock(&r->version->lock);
        if (st != FERRY_OK) ferry_i_serve_failed(r, w->ctx, st);
    }
}
