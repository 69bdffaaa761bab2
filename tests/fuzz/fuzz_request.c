/* Fuzz what the server makes of a request that may be sent: bodies of all forms to a small model, lines of a file of tokens,
 * what an Authorization header shows. The first byte says which. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "server/serve.h"

/* A server without threads and sockets, and a model of 4 features and 2 classes. */
static serve_version *small_version(ferry_ctx *ctx)
{
    static const double x[] = {1, 0, 0, 1, 0, 1, 1, 0, 2, 0, 1, 1, 0, 3, 1, 0};
    static const char *const classes[] = {"a", "b", "a", "b"};
    static serve_version *v;
    const ferry_array rows = {4, 4, 4, x};
    ferry_domain *d = NULL;
    ferry_task *task = NULL;
    ferry_model *m = NULL;
    ferry_server *s = NULL;

    if (v) return v;
    s = calloc(1, sizeof *s);
    if (!s || pthread_key_create(&s->scratch, NULL)) abort();
    s->set.state = "";
    s->set.body = s->set.memory = 1 << 22;
    pthread_mutex_init(&s->mutex, NULL);
    if (ferry_domain_new(ctx, "t", FERRY_TARGET, &d) ||
        ferry_domain_add_dense(ctx, d, "x", &rows, NULL, NULL, NULL) ||
        ferry_domain_set_classes(ctx, d, 4, NULL, classes) ||
        ferry_task_new(ctx, "t", FERRY_CLASSIFY, &task) ||
        ferry_task_add_domain(ctx, task, d) ||
        ferry_fit(ctx, task, "mpa", NULL, &m, NULL) ||
        ferry_model_save(ctx, m, fuzz_path("m.ferry")) ||
        ferry_i_version_open(ctx, s, "m", 1, false, fuzz_path("m.ferry"), &v))
        abort();
    ferry_model_free(m);
    ferry_task_free(task);
    return v;
}

typedef struct kind {
    void (*run)(serve_request *r);
    const char *type, *query;
    bool binary;
} kind;
static const kind kinds[] = {
    {ferry_i_serve_predict, "application/json", "", false},
    {ferry_i_serve_predict, "application/json; charset=utf-8", "scores=1", false},
    {ferry_i_serve_predict, "application/x-ndjson", "scores=0", false},
    {ferry_i_serve_invocations, "application/json", "", false},
    {ferry_i_serve_invocations, "text/csv", "", false},
    {ferry_i_serve_v2_infer, "application/json", "", false},
    {ferry_i_serve_v2_infer, "application/octet-stream", "", true},
    {ferry_i_serve_recommend, "application/json", "", false},
    {ferry_i_serve_learn, "application/json", "", false},
};

/* An answer of JSON is JSON, with a status that the page of the interface has. */
static void check(const serve_request *r)
{
    const char *from = r->out.s, *end = from + r->out.len;
    json_error_t error;

    if (r->status != 200 && r->status != 400 && r->status != 409 && r->status != 413 &&
        r->status != 415)
        abort();
    if (r->json_length > 0) end = from + r->json_length;
    for (const char *stop = end; from < end; from = stop + 1) {
        stop = strcmp(r->type, "application/x-ndjson") == 0
                   ? memchr(from, '\n', (size_t)(end - from))
                   : end;
        if (!stop) abort();
        json_t *json = json_loadb(from, (size_t)(stop - from),
                                  JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL, &error);
        if (!json) abort();
        json_decref(json);
    }
}

static void request(const kind *k, const uint8_t *bytes, size_t n)
{
    serve_version *v = small_version(fuzz_ctx());
    http_head *h = calloc(1, sizeof *h);
    char number[24];
    serve_request r = {.server = v->server, .method = "POST", .url = "/", .version = v};

    if (!h) abort();
    h->query = k->query;
    h->field[h->fields++] = (http_field){"Content-Type", k->type};
    if (k->binary) { /* the first two bytes say where the tensors begin */
        const unsigned at = n > 1 ? bytes[0] + 256U * bytes[1] : 0;
        (void)snprintf(number, sizeof number, "%u", at);
        h->field[h->fields++] = (http_field){"Inference-Header-Content-Length", number};
        bytes += n > 1 ? 2 : 0;
        n -= n > 1 ? 2 : 0;
    }
    r.head = h;
    r.type = "application/json";
    r.who.waiting = -1;
    ferry_i_text_addn(&r.body, (const char *)bytes, (int64_t)n);
    if (n == 0) ferry_i_text_add(&r.body, "");
    k->run(&r);
    for (int64_t i = 0; i < r.rows; i++)
        if (r.row[i].at < 0 || r.row[i].n < 0 || r.row[i].at + r.row[i].n > r.body.len)
            abort();
    check(&r);
    r.server->charged -= r.charged;
    ferry_i_text_free(&r.body);
    ferry_i_text_free(&r.out);
    FERRY_FREE(r.row);
    free(h);
}

static void tokens(const uint8_t *bytes, size_t n)
{
    static const char sum[] =
        "ann learn 2bd806c97f0e00af1a1fc3328fa763a9269723c8db8fac4f93af71db186d6e90 ";
    char *text = calloc(n + sizeof sum, 1), *header = calloc(n + 1, 1);
    serve_tokens t = {.n = 0};
    serve_who who;
    double wait = 0;

    if (!text || !header) abort();
    memcpy(text, sum, sizeof sum - 1);
    memcpy(text + sizeof sum - 1, bytes, n);
    memcpy(header, bytes, n);
    pthread_mutex_init(&t.mutex, NULL);
    fuzz_check(fuzz_ctx(), ferry_i_tokens_parse(fuzz_ctx(), "tokens", text, 0, false, &t));
    const serve_role role = ferry_i_tokens_role(&t, header, true, &who, &wait);
    if (role != SERVE_ANYONE && (!who.name[0] || t.n == 0)) abort();
    if (!(wait >= 0)) abort();
    (void)ferry_i_tokens_role(&t, "Bearer alice", true, &who, &wait);
    ferry_i_tokens_spend(&t, &who, 100, 1000, 1000);
    if (ferry_i_tokens_classes(&t, &who, 1) < -1) abort();
    ferry_i_free(t.token);
    free(text);
    free(header);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    if (n == 0) return 0;
    const size_t which = (bytes[0] - '0') & 15;
    if (which < FERRY_COUNT(kinds))
        request(&kinds[which], bytes + 1, n - 1);
    else
        tokens(bytes + 1, n - 1);
    return 0;
}
