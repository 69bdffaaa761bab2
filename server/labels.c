/* GET /admin/labels: the labels that the log of a model still has, with their rows, as lines that
 * /learn takes; labels that were taken back are followed by the line that did. Made from the
 * log's files while it is sent: nothing else holds labels. */
#include <string.h>

#include "server/serve.h"

typedef struct serve_labels {
    ferry_ctx *ctx;
    serve_version *version; /* its writer keeps the log as long as this reads it */
    ferry_reader reader;
    ferry_text text; /* lines that were not sent yet, from `at` on */
    int64_t at;
} serve_labels;

static void free_labels(void *labels)
{
    serve_labels *l = labels;

    if (!l) return;
    if (l->version) l->version->writer->readers--;
    ferry_i_version_free(l->version);
    ferry_i_reader_close(&l->reader);
    ferry_i_text_free(&l->text);
    ferry_ctx_free(l->ctx);
    ferry_i_free(l);
}

static void add_numbers(ferry_text *t, const ferry_record *r)
{
    ferry_i_text_add(t, r->sparse ? "\"x\":{\"i\":[" : "\"x\":[");
    for (int64_t e = 0; r->sparse && e < r->n; e++)
        ferry_i_text_addf(t, e ? ",%d" : "%d", r->index[e]);
    if (r->sparse) ferry_i_text_add(t, "],\"v\":[");
    for (int64_t e = 0; e < r->n; e++) {
        if (e) ferry_i_text_addn(t, ",", 1);
        ferry_i_text_real(t, r->value[e]);
    }
    ferry_i_text_add(t, r->sparse ? "]}," : "],");
}

static void add_record(ferry_text *t, const ferry_record *r)
{
    const bool label = r->y_n > 0 && r->kind != FERRY_RECORD_SESSION && r->value;

    if (!label && r->kind != FERRY_RECORD_RETRACT) return;
    ferry_i_text_add(t, "{");
    if (r->id_n > 0) {
        ferry_i_text_add(t, "\"id\":");
        ferry_i_text_json(t, r->id, r->id_n);
        ferry_i_text_add(t, ",");
    }
    if (label) {
        add_numbers(t, r);
        ferry_i_text_add(t, "\"y\":");
        ferry_i_text_json(t, r->y, r->y_n);
        ferry_i_text_add(t, "}\n");
    } else {
        ferry_i_text_add(t, "\"retract\":true}\n");
    }
}

/* More lines; *end: there are none. */
static ferry_status read_more(serve_labels *l, bool *end)
{
    ferry_record r;
    int64_t serves = 0;

    l->text.len = l->at = 0;
    for (*end = false; !*end && l->text.len < 1 << 15;) {
        FERRY_PASS(ferry_i_reader_next(l->ctx, &l->reader, &r, &serves, end));
        if (!*end) add_record(&l->text, &r);
    }
    return l->text.failed ? ferry_i_nomem(l->ctx) : FERRY_OK;
}

static int64_t next_bytes(void *labels, char *to, int64_t most)
{
    serve_labels *l = labels;
    bool end = false;

    if (l->at == l->text.len && read_more(l, &end) != FERRY_OK) {
        ferry_i_serve_log(l->version->server, FERRY_WARN, "labels: %s",
                          ferry_message(l->ctx));
        return -1;
    }
    const int64_t left = l->text.len - l->at;
    const int64_t n = left < most ? left : most;
    if (n > 0) memcpy(to, l->text.s + l->at, (size_t)n);
    l->at += n;
    return n;
}

static ferry_status open_labels(serve_request *r, serve_labels *l)
{
    serve_writer *w = r->version->writer;

    l->reader.fd = -1;
    FERRY_PASS(ferry_i_serve_context(r->server, &l->ctx));
    w->readers++; /* before it asks what there is: nothing goes from here on */
    l->version = ferry_i_version_ref(r->version);
    const int64_t last = w->durable;
    FERRY_PASS(ferry_i_reader_open(l->ctx, w->folder, w->oldest, &l->reader));
    return ferry_i_reader_until(l->ctx, &l->reader, last);
}

void ferry_i_serve_labels(serve_request *r)
{
    serve_labels *l = NULL;

    if (!r->version->learns) {
        ferry_i_serve_error(r, 409, "model '%s' does not learn here", r->version->name);
        return;
    }
    l = ferry_i_calloc(1, sizeof *l);
    const ferry_status st = l ? open_labels(r, l) : FERRY_ENOMEM;
    if (st == FERRY_OK) {
        r->status = 200;
        r->type = "application/x-ndjson";
        r->source = (http_source){next_bytes, free_labels, l};
        return;
    }
    ferry_i_serve_error(r, 503, "%s",
                        l && l->ctx ? ferry_message(l->ctx) : "out of memory");
    free_labels(l);
}
