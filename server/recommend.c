/* POST /recommend: {"users": ["u1", ...], "top": 10, "rated": false}, for models of ratings. */
#include <string.h>

#include "core/json.h"
#include "server/serve.h"

/* {"recommendations": [{"user": ..., "items": [{"item": ..., "value": ...}, ...]}, ...]} */
static void write_lists(ferry_text *t, const ferry_prediction *p)
{
    ferry_i_text_add(t, "{\"recommendations\":[");
    for (int64_t i = 0; i < p->n; i++) {
        const bool same = i > 0 && strcmp(p->ids[i], p->ids[i - 1]) == 0;
        if (!same) {
            ferry_i_text_add(t, i ? "]},{\"user\":" : "{\"user\":");
            ferry_i_text_json(t, p->ids[i], (int64_t)strlen(p->ids[i]));
            ferry_i_text_add(t, ",\"items\":[");
        }
        ferry_i_text_add(t, same ? ",{\"item\":" : "{\"item\":");
        ferry_i_text_json(t, p->items[i], (int64_t)strlen(p->items[i]));
        ferry_i_text_add(t, ",\"value\":");
        ferry_i_text_real(t, p->value[i]);
        ferry_i_text_addn(t, "}", 1);
    }
    ferry_i_text_add(t, p->n ? "]}]}\n" : "]}\n");
}

static ferry_status recommend(serve_request *r, serve_scratch *w)
{
    ferry_status st = FERRY_OK;
    json_error_t error;
    json_t *all = NULL;
    const char **user = NULL;

    if (!ferry_i_serve_values(r)) goto done;
    FERRY_TRY(ferry_i_json_parse(w->ctx, r->body.s, r->body.len, JSON_REJECT_DUPLICATES,
                                 &error, &all));
    const json_t *users = json_object_get(all, "users"), *top = json_object_get(all, "top"),
                 *rated = json_object_get(all, "rated");
    const int64_t n = (int64_t)json_array_size(users);
    FERRY_NEED(w->ctx, json_is_object(all), FERRY_EDATA, "expected a JSON object%s%s",
               all ? "" : ": ", all ? "" : error.text);
    FERRY_NEED(w->ctx, n > 0 && n <= 10000, FERRY_EDATA,
               "users: expected a list of 1 to 10000 texts");
    FERRY_NEED(w->ctx,
               (!top || (json_is_integer(top) && json_integer_value(top) >= 1 &&
                         json_integer_value(top) <= 10000)) &&
                   (!rated || json_is_boolean(rated)),
               FERRY_EDATA, "expected top from 1 to 10000, and rated true or false");
    FERRY_NEW(w->ctx, user, n);
    for (int64_t i = 0; i < n; i++) {
        user[i] = json_string_value(json_array_get(users, (size_t)i));
        FERRY_NEED(w->ctx, user[i], FERRY_EDATA, "user %lld is no text", (long long)i + 1);
    }
    const int64_t most = top ? json_integer_value(top) : 10;
    if (!ferry_i_serve_charge(r, n * most * ANSWER_BYTES)) goto done;
    ferry_i_batch_clear(w->batch, 0);
    FERRY_TRY(ferry_recommend(w->ctx, r->version->model, n, user, most, json_is_true(rated),
                              &w->batch->p[0]));
    write_lists(&r->out, w->batch->p[0]);
    r->status = 200;
done:
    ferry_i_free((void *)user);
    json_decref(all);
    return st;
}

void ferry_i_serve_recommend(serve_request *r)
{
    serve_scratch *w = ferry_i_serve_scratch(r->server);

    if (!w) {
        ferry_i_serve_error(r, 503, "out of memory");
        return;
    }
    pthread_rwlock_rdlock(&r->version->lock);
    const ferry_status st = recommend(r, w);
    pthread_rwlock_unlock(&r->version->lock);
    if (st == FERRY_ENEEDS)
        ferry_i_serve_error(r, 409, "%s", ferry_message(w->ctx));
    else if (st != FERRY_OK)
        ferry_i_serve_failed(r, w->ctx, st);
}
