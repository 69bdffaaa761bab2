/* POST /predict: one JSON object, a list of them, or one a line; each is a row as `ferry
 * stream` takes it. The answers come in the form of the request. A row that is wrong is
 * answered by its error, the others as usual; a single one by the error alone. */
#include <math.h>
#include <string.h>

#include "core/json.h"
#include "server/serve.h"

/* ---- the body, taken apart ---- */

static bool add_row(serve_request *r, int64_t at, int64_t n)
{
    if (r->rows % 4096 == 4095 &&
        !ferry_i_serve_charge(r, 4096 * 2 * (int64_t)sizeof *r->row))
        return false;
    if (!FERRY_GROW(r->row, r->rows, r->row_cap))
        return ferry_i_serve_error(r, 503, "out of memory"), false;
    r->row[r->rows++] = (serve_row){at, n};
    return true;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Lines that are not blank. */
static bool split_lines(serve_request *r)
{
    const char *s = r->body.s;

    for (int64_t at = 0, end; at < r->body.len; at = end + 1) {
        const char *stop = memchr(s + at, '\n', (size_t)(r->body.len - at));
        end = stop ? stop - s : r->body.len;
        int64_t from = at, to = end;
        while (from < to && is_space(s[from]))
            from++;
        if (from < to && !add_row(r, from, to - from)) return false;
    }
    return true;
}

/* Items of a list, by brackets and quotes; whether each is right its reader tells. */
static bool split_list(serve_request *r, int64_t at)
{
    const char *s = r->body.s;
    int64_t from = at + 1, depth = 0;
    bool text = false;

    for (int64_t i = at + 1; i < r->body.len; i++) {
        const char c = s[i];
        if (text) {
            if (c == '\\')
                i++;
            else if (c == '"')
                text = false;
        } else if (c == '"') {
            text = true;
        } else if (c == '[' || c == '{') {
            depth++;
        } else if (depth > 0 && (c == ']' || c == '}')) {
            depth--;
        } else if (depth == 0 && (c == ',' || c == ']')) {
            while (from < i && is_space(s[from]))
                from++;
            if ((from < i || c == ',' || r->rows > 0) && !add_row(r, from, i - from))
                return false;
            from = i + 1;
            if (c == ',') continue;
            while (from < r->body.len && is_space(s[from]))
                from++;
            if (from == r->body.len) return true;
            break;
        }
    }
    return ferry_i_serve_error(r, 400,
                               "the list has no end, or something stands behind it"),
           false;
}

bool ferry_i_serve_rows(serve_request *r)
{
    const char *type = ferry_i_serve_header(r, "Content-Type"), *s = r->body.s;
    const size_t n = type ? strcspn(type, "; ") : 0;
    int64_t at = 0, end = r->body.len;

    r->form = SERVE_LINES;
    if ((n == 20 && strncmp(type, "application/x-ndjson", n) == 0) ||
        (n == 18 && strncmp(type, "application/ndjson", n) == 0))
        return split_lines(r);
    if (type && !(n == 16 && strncmp(type, "application/json", n) == 0))
        return ferry_i_serve_error(r, 415,
                                   "Content-Type: expected application/json or "
                                   "application/x-ndjson"),
               false;
    while (at < end && is_space(s[at]))
        at++;
    r->form = at < end && s[at] == '[' ? SERVE_LIST : SERVE_ONE;
    if (r->form == SERVE_LIST) return split_list(r, at);
    if (at == end) return ferry_i_serve_error(r, 400, "the request is empty"), false;
    return add_row(r, at, end - at);
}

void ferry_i_serve_row_begin(serve_request *r, int64_t i)
{
    if (r->form == SERVE_LIST) ferry_i_text_addn(&r->out, i ? "," : "[", 1);
}

void ferry_i_serve_rows_end(serve_request *r)
{
    if (r->form == SERVE_LIST) ferry_i_text_add(&r->out, r->out.len > 0 ? "]\n" : "[]\n");
    r->status = 200;
    r->type = r->form == SERVE_LINES ? "application/x-ndjson" : "application/json";
}

/* ---- predicting ---- */

#define SLICE_BYTES ((int64_t)1 << 20)

/* The answer to row `from` + i of the request, or what is wrong with it. */
static void write_row(serve_request *r, const serve_batch *b, int64_t from, int64_t i)
{
    const serve_item *m = &b->item[i];
    const char *text = b->texts.s + m->text;
    ferry_text *t = &r->out;

    ferry_i_serve_row_begin(r, from + i);
    if (m->kind == SERVE_BAD) {
        ferry_i_text_add(t, "{\"error\":");
        ferry_i_text_json(t, text, m->text_n);
        ferry_i_text_addf(t, ",\"line\":%lld}", (long long)(from + i) + 1);
    } else {
        ferry_i_text_addn(t, "{", 1);
        if (m->text_n > 0) {
            ferry_i_text_add(t, "\"id\":");
            if (m->number)
                ferry_i_text_addn(t, text, m->text_n);
            else
                ferry_i_text_json(t, text, m->text_n);
            ferry_i_text_addn(t, ",", 1);
        }
        ferry_i_serve_answer(t, b->p[m->kind], m->at, r->wants_scores);
        ferry_i_text_addn(t, "}", 1);
    }
    if (r->form != SERVE_LIST) ferry_i_text_addn(t, "\n", 1);
}

/* Read `rows` rows from number `from` on. *waits: one has an id. */
static bool read_rows(serve_request *r, serve_scratch *w, int64_t from, int64_t rows,
                      bool *waits)
{
    ferry_line *l = &w->line;
    bool ok = true;

    for (int64_t i = from; ok && i < from + rows; i++) {
        ferry_i_line_clear(l);
        if (!ferry_i_line_ndjson(l, r->body.s + r->row[i].at, r->row[i].n))
            ok = !l->no_memory && ferry_i_batch_bad(w->batch, l->why);
        else if (l->y_n > 0 || !l->has_x)
            ok = ferry_i_batch_bad(w->batch, "expected x without y: labels go to /learn");
        else
            ok = ferry_i_batch_add(w->batch, r->version, l);
        *waits = *waits || l->id_n > 0;
    }
    if (!ok) ferry_i_serve_error(r, 503, "out of memory");
    return ok;
}

/* Pairs to rate: {"user": ..., "item": ...}. */
static ferry_status rate(serve_request *r, serve_scratch *w, json_t *rows)
{
    ferry_status st = FERRY_OK;
    const int64_t n = (int64_t)json_array_size(rows);
    const char **users = NULL, **items = NULL;
    double *none = NULL;
    ferry_domain *d = NULL;

    FERRY_NEW(w->ctx, users, n);
    FERRY_NEW(w->ctx, items, n);
    FERRY_NEW(w->ctx, none, n);
    for (int64_t i = 0; i < n; i++) {
        const json_t *row = json_array_get(rows, (size_t)i);
        users[i] = json_string_value(json_object_get(row, "user"));
        items[i] = json_string_value(json_object_get(row, "item"));
        none[i] = NAN;
        FERRY_NEED(w->ctx, users[i] && items[i] && json_object_size(row) == 2, FERRY_EDATA,
                   "row %lld: expected {\"user\": TEXT, \"item\": TEXT}", (long long)i + 1);
    }
    FERRY_TRY(ferry_domain_new(w->ctx, "request", FERRY_TARGET, &d));
    FERRY_TRY(ferry_domain_set_ratings(w->ctx, d, n, users, items, none));
    FERRY_TRY(ferry_predict(w->ctx, r->version->model, d, &w->batch->p[0]));
    r->version->rows += n;
    r->server->rows += n;
done:
    FERRY_FREE((void *)users, (void *)items, none);
    ferry_domain_free(d);
    return st;
}

static void predict_ratings(serve_request *r, serve_scratch *w)
{
    if (!ferry_i_serve_values(r)) return;

    json_t *rows = json_array();
    ferry_status st = FERRY_OK;

    for (int64_t i = 0; rows && i < r->rows; i++) {
        json_error_t error;
        json_t *row = NULL;
        st = ferry_i_json_parse(w->ctx, r->body.s + r->row[i].at, r->row[i].n,
                                JSON_REJECT_DUPLICATES, &error, &row);
        if (!row) {
            if (st != FERRY_OK)
                ferry_i_serve_failed(r, w->ctx, st);
            else
                ferry_i_serve_error(r, 400, "row %lld: %s", (long long)i + 1, error.text);
            json_decref(rows);
            return;
        }
        (void)json_array_append_new(rows, row);
    }
    st = rows ? rate(r, w, rows) : ferry_i_nomem(w->ctx);
    json_decref(rows);
    if (st != FERRY_OK) {
        ferry_i_serve_failed(r, w->ctx, st);
        return;
    }
    const ferry_prediction *p = w->batch->p[0];
    for (int64_t i = 0; i < p->n; i++) {
        ferry_i_serve_row_begin(r, i);
        ferry_i_text_add(&r->out, "{\"user\":");
        ferry_i_text_json(&r->out, p->ids[i], (int64_t)strlen(p->ids[i]));
        ferry_i_text_add(&r->out, ",\"item\":");
        ferry_i_text_json(&r->out, p->items[i], (int64_t)strlen(p->items[i]));
        ferry_i_text_addn(&r->out, ",", 1);
        ferry_i_serve_answer(&r->out, p, i, false);
        ferry_i_text_add(&r->out, r->form == SERVE_LIST ? "}" : "}\n");
    }
    ferry_i_serve_rows_end(r);
}

/* Bytes of the answer to one row, about. */
static int64_t answer_bytes(const serve_request *r)
{
    const ferry_model *m = r->version->model;
    int64_t n = 64;

    for (int64_t c = 0; r->wants_scores && ferry_model_class_at(m, c); c++)
        n += (int64_t)strlen(ferry_model_class_at(m, c)) + 24;
    return n;
}

/* Rows at a time, few enough that their numbers, scores and answers are little memory whatever
 * the model makes of them: rows of a few bytes may have thousands of columns or scores. */
static int64_t slice_rows(const serve_request *r)
{
    const ferry_model *m = r->version->model;
    const int64_t wide = ferry_i_served_about(m).columns + ferry_i_served_classes(m) + 8;
    const int64_t bytes = 8 * wide > answer_bytes(r) ? 8 * wide : answer_bytes(r);
    const int64_t fit = SLICE_BYTES / bytes;

    return fit >= 64 ? fit / 64 * 64 : fit > 1 ? fit : 1;
}

/* Predict for `rows` rows from number `from` on, under the version's lock. false: the rows are the
 * writer's to answer (*waits), or the error is in r. */
static bool predict_slice(serve_request *r, serve_scratch *w, int64_t from, int64_t rows,
                          bool *waits)
{
    serve_version *v = r->version;
    serve_batch *b = w->batch;
    /* who only reads leaves no trace */
    const bool may_wait = r->server->set.open || r->who.role >= SERVE_LEARNER;

    ferry_i_batch_clear(b, ferry_i_served_about(v->model).columns);
    const bool read = read_rows(r, w, from, rows, waits);
    *waits = *waits && read && v->learns && may_wait &&
             (!r->exact || ferry_i_writer_serves(v->writer, v));
    if (!read || *waits) return false;
    const ferry_status st = ferry_i_batch_predict(w->ctx, v, b);
    if (st != FERRY_OK) return ferry_i_serve_failed(r, w->ctx, st), false;
    if (r->form == SERVE_ONE && b->count[SERVE_BAD] > 0)
        return ferry_i_serve_error(r, 400, "%.*s", (int)b->item[0].text_n, b->texts.s),
               false;
    for (int64_t i = 0; i < rows; i++)
        write_row(r, b, from, i);
    return ferry_i_serve_grown(r);
}

static bool predict_rows(serve_request *r, serve_scratch *w, bool *waits)
{
    const int64_t most = slice_rows(r);

    for (int64_t from = 0; from < r->rows; from += most)
        if (!predict_slice(r, w, from, r->rows - from < most ? r->rows - from : most,
                           waits))
            return false;
    return true;
}

/* ---- answers that are larger than a slice's: made while they are sent ---- */

/* Whether no row has an id, which would have to wait: no key can be "id", also not by escapes. */
static bool without_ids(const serve_request *r)
{
    if (memchr(r->body.s, '\\', (size_t)r->body.len)) return false;
    for (const char *at = r->body.s; (at = strstr(at, "\"id\"")); at++)
        return false;
    return (int64_t)strlen(r->body.s) == r->body.len;
}

/* The answers to the next rows; what goes wrong now ends the connection. */
static bool next_slice(serve_request *r)
{
    serve_scratch *w = ferry_i_serve_scratch(r->server);
    serve_version *v = r->version;
    bool waits = false;

    r->out.len = r->sent = 0;
    if (!w) return false;
    (void)ferry_i_memory_lost();
    pthread_rwlock_rdlock(&v->lock);
    const int64_t most = slice_rows(r), left = r->rows - r->answered;
    const int64_t rows = left < most ? left : most;
    const bool ok = predict_slice(r, w, r->answered, rows, &waits);
    pthread_rwlock_unlock(&v->lock);
    r->answered += rows;
    if (r->answered == r->rows && r->form == SERVE_LIST) ferry_i_text_add(&r->out, "]\n");
    ferry_i_tokens_spend(&r->server->tokens, &r->who, 0, 0, r->out.len);
    return ok && !r->out.failed;
}

static int64_t read_answer(void *request, char *to, int64_t most)
{
    serve_request *r = request;

    if (r->sent == r->out.len && r->answered < r->rows && !next_slice(r)) {
        ferry_i_serve_log(r->server, FERRY_WARN, "%s: the answer ends too early", r->id);
        return -1;
    }
    const int64_t left = r->out.len - r->sent, n = left < most ? left : most;
    if (n > 0) memcpy(to, r->out.s + r->sent, (size_t)n);
    r->sent += n;
    return n;
}

static void nothing_to_free(void *request)
{
    (void)request; /* it ends with its connection's request */
}

/* Begin such an answer, with the memory that it will need; false: it is none. */
static bool streams(serve_request *r)
{
    if (r->form == SERVE_ONE || r->rows <= slice_rows(r) || !without_ids(r)) return false;
    if (!ferry_i_serve_charge(r, 2 * SLICE_BYTES)) return true; /* that is the answer */
    r->counted = 2 * SLICE_BYTES;
    ferry_i_serve_rows_end(r);
    r->out.len = 0;
    r->source = (http_source){read_answer, nothing_to_free, r};
    return true;
}

void ferry_i_serve_predict(serve_request *r)
{
    serve_scratch *w = ferry_i_serve_scratch(r->server);
    serve_version *v = r->version;
    bool waits = false;

    if (!ferry_i_serve_rows(r)) return;
    if (!w) {
        ferry_i_serve_error(r, 503, "out of memory");
        return;
    }
    r->wants_scores = ferry_i_serve_asks(r, "scores");
    pthread_rwlock_rdlock(&v->lock);
    ferry_i_batch_clear(w->batch, ferry_i_served_about(v->model).columns);
    if (ferry_i_served_about(v->model).goal == FERRY_RATE) {
        predict_ratings(r, w);
        pthread_rwlock_unlock(&v->lock);
        return;
    }
    const bool later = streams(r), answered = !later && predict_rows(r, w, &waits);
    pthread_rwlock_unlock(&v->lock);
    if (later) return;
    if (answered) {
        ferry_i_serve_rows_end(r);
    } else if (waits) {
        r->out.len = 0; /* of rows before the first one with an id */
        ferry_i_serve_submit(r, SERVE_OBSERVE);
    }
}
