/* The Open Inference Protocol, version 2: POST .../infer, tensors as JSON or as bytes behind
 * the JSON (its length then stands in the header Inference-Header-Content-Length). */
#include <math.h>
#include <string.h>

#include "core/json.h"
#include "server/serve.h"

/* ---- types ---- */

typedef enum tensor_type {
    T_BOOL,
    T_UINT8,
    T_UINT16,
    T_UINT32,
    T_UINT64,
    T_INT8,
    T_INT16,
    T_INT32,
    T_INT64,
    T_FP16,
    T_FP32,
    T_FP64,
    T_BYTES,
    T_NONE
} tensor_type;
static const struct {
    const char *name;
    int size; /* 0: it varies */
} types[] = {{"BOOL", 1}, {"UINT8", 1}, {"UINT16", 2}, {"UINT32", 4}, {"UINT64", 8},
             {"INT8", 1}, {"INT16", 2}, {"INT32", 4},  {"INT64", 8},  {"FP16", 2},
             {"FP32", 4}, {"FP64", 8},  {"BYTES", 0}};

static tensor_type type_of(const json_t *name)
{
    const char *text = json_string_value(name);
    int i = 0;

    while (text && i < T_NONE && strcmp(types[i].name, text) != 0)
        i++;
    return text ? (tensor_type)i : T_NONE;
}

static double half(uint16_t h)
{
    const int e = h >> 10 & 31;
    const double m = h & 1023, sign = h >> 15 ? -1 : 1;

    if (e == 31) return m > 0 ? (double)NAN : sign * (double)INFINITY;
    return sign * (e ? ldexp(1024 + m, e - 25) : ldexp(m, -24));
}

/* Number i of bytes that may lie anywhere. */
#define AT(T)                                                                              \
    do {                                                                                   \
        T value;                                                                           \
        memcpy(&value, bytes + i * (int64_t)sizeof value, sizeof value);                   \
        return (double)value;                                                              \
    } while (0)
static double number_at(tensor_type type, const char *bytes, int64_t i)
{
    uint16_t h = 0;

    switch (type) {
    case T_BOOL:
    case T_UINT8: AT(uint8_t);
    case T_UINT16: AT(uint16_t);
    case T_UINT32: AT(uint32_t);
    case T_UINT64: AT(uint64_t);
    case T_INT8: AT(int8_t);
    case T_INT16: AT(int16_t);
    case T_INT32: AT(int32_t);
    case T_INT64: AT(int64_t);
    case T_FP32: AT(float);
    case T_FP64: AT(double);
    case T_FP16: memcpy(&h, bytes + 2 * i, 2); return half(h);
    default: return NAN;
    }
}

/* ---- tensors that come in ---- */

typedef struct tensor_in {
    const char *name;
    tensor_type type;
    int64_t rows, cols; /* cols 0: of one dimension */
    const json_t *data; /* or bytes */
    const char *bytes;
    int64_t bytes_n;
} tensor_in;

static ferry_status read_tensor(ferry_ctx *ctx, const json_t *json, const char **rest,
                                int64_t *rest_n, tensor_in *t)
{
    ferry_status st = FERRY_OK;
    const json_t *shape = json_object_get(json, "shape");
    const json_t *size =
        json_object_get(json_object_get(json, "parameters"), "binary_data_size");
    const size_t dims = json_array_size(shape);

    *t = (tensor_in){json_string_value(json_object_get(json, "name")),
                     type_of(json_object_get(json, "datatype")),
                     0,
                     0,
                     json_object_get(json, "data"),
                     NULL,
                     0};
    FERRY_NEED(ctx, t->name && t->type != T_NONE && (dims == 1 || dims == 2), FERRY_EDATA,
               "an input needs a name, a datatype such as FP64, and a shape of 1 or 2 "
               "dimensions");
    t->rows = json_integer_value(json_array_get(shape, 0));
    t->cols = dims == 2 ? json_integer_value(json_array_get(shape, 1)) : 0;
    FERRY_NEED(ctx,
               t->rows >= 0 && t->rows <= 1 << 24 && t->cols >= (dims == 2) &&
                   t->cols <= INT32_MAX,
               FERRY_EDATA, "input '%s': the shape is too large, or negative", t->name);
    const int64_t cells = t->rows * (t->cols ? t->cols : 1);
    FERRY_NEED(ctx, !t->data != !size, FERRY_EDATA,
               "input '%s': expected data, or binary_data_size", t->name);
    if (t->data) {
        const int64_t have = (int64_t)json_array_size(t->data);
        FERRY_NEED(ctx, json_is_array(t->data), FERRY_EDATA, "input '%s': data is no list",
                   t->name);
        FERRY_NEED(ctx, have == cells || have == t->rows, FERRY_EDATA,
                   "input '%s': a list of %lld does not fill its shape", t->name,
                   (long long)have);
        goto done;
    }
    t->bytes_n = json_integer_value(size);
    FERRY_NEED(ctx, t->bytes_n >= 0 && t->bytes_n <= *rest_n, FERRY_EDATA,
               "input '%s': binary_data_size is %lld, but %lld bytes are left", t->name,
               (long long)t->bytes_n, (long long)*rest_n);
    FERRY_NEED(ctx,
               types[t->type].size == 0 ? t->bytes_n / 4 >= cells
                                        : t->bytes_n == cells * types[t->type].size,
               FERRY_EDATA, "input '%s': %lld bytes do not fill its shape", t->name,
               (long long)t->bytes_n);
    t->bytes = *rest;
    *rest += t->bytes_n;
    *rest_n -= t->bytes_n;
done:
    return st;
}

/* The numbers of a JSON list, nested or flat, one after the other; null is missing. */
static ferry_status fill(ferry_ctx *ctx, const json_t *list, const char *name, int depth,
                         int64_t n, double *x, int64_t *at)
{
    ferry_status st = FERRY_OK;
    const json_t *v = NULL;
    size_t i = 0;

    json_array_foreach(list, i, v)
    {
        if (json_is_array(v) && depth < 2) {
            FERRY_TRY(fill(ctx, v, name, depth + 1, n, x, at));
            continue;
        }
        FERRY_NEED(ctx, json_is_number(v) || json_is_null(v) || json_is_boolean(v),
                   FERRY_EDATA, "input '%s': expected numbers", name);
        FERRY_NEED(ctx, *at < n, FERRY_EDATA, "input '%s': has more data than its shape",
                   name);
        x[(*at)++] = json_is_null(v)      ? (double)NAN
                     : json_is_boolean(v) ? json_is_true(v)
                                          : json_number_value(v);
    }
done:
    return st;
}

static ferry_status add_x(ferry_ctx *ctx, const tensor_in *t, serve_batch *b)
{
    ferry_status st = FERRY_OK;
    const int64_t rows = t->cols ? t->rows : 1, n = rows * b->cols;
    int64_t at = 0;
    double *row = NULL;

    FERRY_NEED(ctx, strcmp(t->name, "x") == 0, FERRY_EDATA,
               "unexpected input '%s', expected 'x'", t->name);
    FERRY_NEED(ctx, (t->cols ? t->cols : t->rows) == b->cols && t->type != T_BYTES,
               FERRY_EDATA, "input 'x': expected numbers of shape [n, %lld]",
               (long long)b->cols);
    for (int64_t i = 0; i < rows; i++)
        FERRY_TRY(ferry_i_batch_dense(ctx, b, &row));
    if (t->data)
        FERRY_TRY(fill(ctx, t->data, t->name, 1, n, b->x, &at));
    else
        for (; at < n; at++)
            b->x[at] = number_at(t->type, t->bytes, at);
    FERRY_NEED(ctx, at == n, FERRY_EDATA, "input 'x': has %lld numbers, its shape %lld",
               (long long)at, (long long)n);
    for (at = 0; at < n; at++)
        FERRY_NEED(ctx, isnan(b->x[at]) || fabs(b->x[at]) <= 1e100, FERRY_EDATA,
                   "input 'x': expected numbers of at most 1e100, or NaN");
done:
    return st;
}

/* Texts of a tensor: in JSON, or each with its length in 4 bytes before it. */
static ferry_status read_texts(ferry_ctx *ctx, const tensor_in *t, ferry_arena *memory,
                               const char ***out)
{
    ferry_status st = FERRY_OK;
    const int64_t n = t->rows * (t->cols ? t->cols : 1);
    const char *at = t->bytes, *end = at + t->bytes_n;
    const char **text = ferry_i_arena_new(memory, n, sizeof *text);

    FERRY_HAVE(ctx, text);
    FERRY_NEED(ctx, t->type == T_BYTES, FERRY_EDATA, "input '%s': expected BYTES", t->name);
    for (int64_t i = 0; i < n; i++) {
        uint32_t size = 0;
        if (t->data) {
            text[i] = json_string_value(json_array_get(t->data, (size_t)i));
        } else if (end - at >= 4) {
            memcpy(&size, at, 4);
            if (end - at - 4 >= (int64_t)size) {
                char *copy = ferry_i_arena_new(memory, (int64_t)size + 1, 1);
                FERRY_HAVE(ctx, copy);
                memcpy(copy, at + 4, size);
                if (ferry_i_utf8_valid(copy, size) && !memchr(copy, 0, size))
                    text[i] = copy;
                at += 4 + size;
            }
        }
        FERRY_NEED(ctx, text[i], FERRY_EDATA, "input '%s': text %lld is not there", t->name,
                   (long long)i + 1);
    }
    *out = text;
done:
    return st;
}

static ferry_status rate(ferry_ctx *ctx, serve_version *v, const tensor_in *t, int64_t n,
                         ferry_prediction **out)
{
    ferry_status st = FERRY_OK;
    const char **name[2] = {NULL, NULL};
    ferry_arena memory = {0};
    ferry_domain *d = NULL;

    FERRY_NEED(ctx, n == 2 && t[0].rows == t[1].rows && t[0].cols <= 1 && t[1].cols <= 1,
               FERRY_EDATA, "expected the inputs 'user' and 'item' of the same length");
    for (int i = 0; i < 2; i++) {
        const int which = strcmp(t[i].name, "item") == 0;
        FERRY_NEED(ctx, (which || strcmp(t[i].name, "user") == 0) && !name[which],
                   FERRY_EDATA, "unexpected input '%s', expected 'user' and 'item'",
                   t[i].name);
        FERRY_TRY(read_texts(ctx, &t[i], &memory, &name[which]));
    }
    double *none = ferry_i_arena_new(&memory, t[0].rows, sizeof *none);
    FERRY_HAVE(ctx, none);
    for (int64_t i = 0; i < t[0].rows; i++)
        none[i] = NAN;
    FERRY_TRY(ferry_domain_new(ctx, "request", FERRY_TARGET, &d));
    FERRY_TRY(ferry_domain_set_ratings(ctx, d, t[0].rows, name[0], name[1], none));
    FERRY_TRY(ferry_predict(ctx, v->model, d, out));
    v->rows += t[0].rows;
    v->server->rows += t[0].rows;
done:
    ferry_i_arena_free(&memory);
    ferry_domain_free(d);
    return st;
}

/* ---- tensors that go out ---- */

typedef struct answer {
    const json_t *request;
    const ferry_prediction *p;
    json_t *outputs;
    ferry_text bytes; /* of the binary ones */
} answer;

/* Whether it is asked for, and as bytes. */
static bool wanted(const answer *a, const char *name, bool *binary)
{
    const json_t *list = json_object_get(a->request, "outputs"), *o = NULL;
    size_t i = 0;

    *binary = json_is_true(
        json_object_get(json_object_get(a->request, "parameters"), "binary_data_output"));
    if (json_array_size(list) == 0) return true;
    json_array_foreach(list, i, o)
    {
        const char *asked = json_string_value(json_object_get(o, "name"));
        const json_t *b = json_object_get(json_object_get(o, "parameters"), "binary_data");
        if (!asked || strcmp(asked, name) != 0) continue;
        if (b) *binary = json_is_true(b);
        return true;
    }
    return false;
}

/* n numbers (or texts) of shape [rows] or [rows, cols]. */
static void put(answer *a, const char *name, tensor_type type, int64_t cols,
                const void *data)
{
    const int64_t n = a->p->n * (cols ? cols : 1), from = a->bytes.len;
    const double *x = data;
    const uint8_t *on = data;
    const char *const *text = data;
    bool binary = false;

    if (!wanted(a, name, &binary)) return;
    json_t *list = binary ? NULL : json_array();
    for (int64_t i = 0; i < n; i++) {
        const uint32_t size = type == T_BYTES ? (uint32_t)strlen(text[i]) : 0;
        if (!binary) {
            (void)json_array_append_new(list, type == T_BYTES  ? json_string(text[i])
                                              : type == T_BOOL ? json_boolean(on[i])
                                                               : ferry_i_json_real(x[i]));
        } else if (type == T_BYTES) {
            ferry_i_text_addn(&a->bytes, (const char *)&size, 4);
            ferry_i_text_addn(&a->bytes, text[i], size);
        }
    }
    if (binary && type != T_BYTES) ferry_i_text_addn(&a->bytes, data, n * types[type].size);
    json_t *o = json_pack("{s:s, s:s, s:[I]}", "name", name, "datatype", types[type].name,
                          "shape", (json_int_t)a->p->n);
    if (cols) (void)json_array_append_new(json_object_get(o, "shape"), json_integer(cols));
    if (binary)
        (void)json_object_set_new(
            o, "parameters",
            json_pack("{s:I}", "binary_data_size", (json_int_t)(a->bytes.len - from)));
    else
        (void)json_object_set_new(o, "data", list);
    (void)json_array_append_new(a->outputs, o);
}

static ferry_status put_all(ferry_ctx *ctx, answer *a)
{
    ferry_status st = FERRY_OK;
    const ferry_prediction *p = a->p;
    const char **label = NULL;

    if (p->goal == FERRY_EMBED) {
        put(a, "embedding", T_FP64, p->k, p->score);
    } else if (p->value) {
        put(a, "value", T_FP64, 0, p->value);
    } else {
        FERRY_NEW(ctx, label, p->n);
        for (int64_t i = 0; p->cls && i < p->n; i++)
            label[i] = p->cls[i] >= 0 ? p->names[p->cls[i]] : "";
        if (p->set)
            put(a, "set", T_BOOL, p->k, p->set);
        else
            put(a, "label", T_BYTES, 0, label);
        put(a, "score", T_FP64, p->k, p->score);
    }
    const size_t asked = json_array_size(json_object_get(a->request, "outputs"));
    FERRY_NEED(ctx, asked == 0 || asked == json_array_size(a->outputs), FERRY_EDATA,
               "an output was asked for that the model does not have");
    FERRY_HAVE(ctx, !a->bytes.failed && !ferry_i_memory_lost());
done:
    ferry_i_free((void *)label);
    return st;
}

/* ---- the request ---- */

static ferry_status read_inputs(ferry_ctx *ctx, serve_version *v, const json_t *request,
                                const char *rest, int64_t rest_n, serve_batch *b)
{
    ferry_status st = FERRY_OK;
    const json_t *inputs = json_object_get(request, "inputs");
    const size_t n = json_array_size(inputs);
    tensor_in t[2];

    FERRY_NEED(ctx, n == 1 || n == 2, FERRY_EDATA, "expected inputs: a list of tensors");
    for (size_t i = 0; i < n; i++)
        FERRY_TRY(read_tensor(ctx, json_array_get(inputs, i), &rest, &rest_n, &t[i]));
    FERRY_NEED(ctx, rest_n == 0, FERRY_EDATA, "%lld bytes are behind the last input",
               (long long)rest_n);
    if (ferry_i_served_about(v->model).goal == FERRY_RATE) {
        FERRY_TRY(rate(ctx, v, t, (int64_t)n, &b->p[SERVE_DENSE]));
    } else {
        FERRY_NEED(ctx, n == 1, FERRY_EDATA, "expected one input, 'x'");
        FERRY_TRY(add_x(ctx, &t[0], b));
        FERRY_NEED(ctx, b->n > 0, FERRY_EDATA, "input 'x': has no rows");
        FERRY_TRY(ferry_i_batch_predict(ctx, v, b));
    }
done:
    return st;
}

static ferry_status infer(serve_request *r, serve_scratch *w)
{
    ferry_status st = FERRY_OK;
    const char *given = ferry_i_serve_header(r, "Inference-Header-Content-Length");
    int64_t n = r->body.len;
    json_t *request = NULL, *all = NULL;
    answer a = {.outputs = NULL};
    json_error_t error;

    if (given)
        FERRY_NEED(w->ctx,
                   ferry_i_parse_int(given, given + strlen(given), &n) ==
                           given + strlen(given) &&
                       n >= 0 && n <= r->body.len,
                   FERRY_EDATA, "Inference-Header-Content-Length: expected 0 to %lld",
                   (long long)r->body.len);
    if (!ferry_i_serve_values(r)) goto done;
    FERRY_TRY(
        ferry_i_json_parse(w->ctx, r->body.s, n, JSON_REJECT_DUPLICATES, &error, &request));
    FERRY_NEED(w->ctx, json_is_object(request), FERRY_EDATA, "expected a JSON object%s%s",
               request ? "" : ": ", request ? "" : error.text);
    ferry_i_batch_clear(w->batch, ferry_i_served_about(r->version->model).columns);
    FERRY_TRY(
        read_inputs(w->ctx, r->version, request, r->body.s + n, r->body.len - n, w->batch));
    a = (answer){
        .request = request, .p = w->batch->p[SERVE_DENSE], .outputs = json_array()};
    if (!ferry_i_serve_charge(r, a.p->n * (a.p->k + 1) * ANSWER_BYTES)) goto done;
    FERRY_TRY(put_all(w->ctx, &a));
    all = json_pack("{s:s, s:o, s:O}", "model_name", r->version->name, "model_version",
                    json_sprintf("%lld", (long long)r->version->number), "outputs",
                    a.outputs);
    if (json_object_get(request, "id"))
        (void)json_object_set(all, "id", json_object_get(request, "id"));
    ferry_i_serve_json(r, all);
    if (a.bytes.len > 0 && r->status == 200) {
        r->json_length = r->out.len;
        r->type = "application/octet-stream";
        ferry_i_text_addn(&r->out, a.bytes.s, a.bytes.len);
    }
done:
    json_decref(a.outputs);
    json_decref(request);
    ferry_i_text_free(&a.bytes);
    return st;
}

void ferry_i_serve_v2_infer(serve_request *r)
{
    serve_scratch *w = ferry_i_serve_scratch(r->server);

    if (!w) {
        ferry_i_serve_error(r, 503, "out of memory");
        return;
    }
    pthread_rwlock_rdlock(&r->version->lock);
    const ferry_status st = infer(r, w);
    pthread_rwlock_unlock(&r->version->lock);
    if (st != FERRY_OK) ferry_i_serve_failed(r, w->ctx, st);
}
