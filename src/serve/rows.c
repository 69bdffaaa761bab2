/* POST /predict: one JSON object, a list of them, or one a line; each is a row as `ferry
 * stream` takes it. The answers come in the form of the request. A row that is wrong is
 * answered by its error, the others as usual; a single one by the error alone. */
#include <math.h>
#include <string.h>

#include "core/json.h"
#include "serve/serve.h"

/* ---- the body, taken apart ---- */

static bool add_row(serve_request *r, int64_t at, int64_t n)
{
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

/* Read `rows` rows from number `from` on. *waits: one has an id, and the model could learn its
 * label later. */
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

/* As many rows at a time as fit the budget should the model make them dense, which those of a
 * few bytes and thousands of columns may be. false: all of them are the writer's to answer, or
 * the error is in r. */
static bool predict_rows(serve_request *r, serve_scratch *w, bool *waits)
{
    serve_version *v = r->version;
    serve_batch *b = w->batch;
    const int64_t fit = b->most / (8 * (b->cols > 0 ? b->cols : 1)),
                  most = fit > 1 ? fit : 1;

    for (int64_t from = 0; from < r->rows; from += most) {
        const int64_t rows = r->rows - from < most ? r->rows - from : most;
        ferry_i_batch_clear(b, b->cols);
        const bool read = read_rows(r, w, from, rows, waits);
        *waits = *waits && read && v->folder;
        if (!read) return false;
        if (*waits) return false;
        const ferry_status st = ferry_i_batch_predict(w->ctx, v, b);
        if (st != FERRY_OK) return ferry_i_serve_failed(r, w->ctx, st), false;
        if (r->form == SERVE_ONE && b->count[SERVE_BAD] > 0)
            return ferry_i_serve_error(r, 400, "%.*s", (int)b->item[0].text_n, b->texts.s),
                   false;
        for (int64_t i = 0; i < rows; i++)
            write_row(r, b, from, i);
    }
    return true;
}

void ferry_i_serve_predict(serve_request *r)
{
    serve_scratch *w = ferry_i_serve_scratch(r->server);
    const char *scores = ferry_i_serve_query(r, "scores");
    serve_version *v = r->version;
    bool waits = false;

    if (!ferry_i_serve_rows(r)) return;
    if (!w) {
        ferry_i_serve_error(r, 503, "out of memory");
        return;
    }
    r->wants_scores = scores && strcmp(scores, "0") != 0 && strcmp(scores, "no") != 0;
    pthread_rwlock_rdlock(&v->lock);
    ferry_i_batch_clear(w->batch, ferry_model_columns(v->model));
    if (v->model->goal == FERRY_RATE) {
        predict_ratings(r, w);
        pthread_rwlock_unlock(&v->lock);
        return;
    }
    const bool answered = predict_rows(r, w, &waits);
    pthread_rwlock_unlock(&v->lock);
    if (answered) {
        ferry_i_serve_rows_end(r);
    } else if (waits) {
        r->out.len = 0; /* of rows before the first one with an id */
        ferry_i_serve_submit(r, SERVE_OBSERVE);
    }
}
