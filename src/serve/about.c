/* What the server says about itself: health, its interface, looking at the folder again. */
#include <string.h>

#include "serve/serve.h"

extern const char ferry_i_serve_api[]; /* openapi.json, made by CMake */

void ferry_i_serve_live(serve_request *r)
{
    ferry_i_serve_json(r, json_pack("{s:b}", "live", 1));
}

void ferry_i_serve_ready(serve_request *r)
{
    const bool ready = !r->server->stopping;

    ferry_i_serve_json(r, json_pack("{s:b}", "ready", ready));
    if (!ready) r->status = 503;
}

void ferry_i_serve_openapi(serve_request *r)
{
    ferry_i_text_add(&r->out, ferry_i_serve_api);
    r->status = 200;
}

/* Now, and wait for it: whoever asks wants to know that it is done. */
void ferry_i_serve_reload_now(serve_request *r)
{
    serve_scratch *w = ferry_i_serve_scratch(r->server);
    ferry_status st = w ? ferry_i_models_scan(w->ctx, r->server, false) : FERRY_ENOMEM;

    if (st == FERRY_OK && r->server->set.tokens[0])
        st = ferry_i_tokens_read(w->ctx, r->server->set.tokens, (double)r->server->set.rate,
                                 &r->server->tokens);
    if (!w)
        ferry_i_serve_error(r, 503, "out of memory");
    else if (st != FERRY_OK)
        ferry_i_serve_failed(r, w->ctx, st);
    else
        ferry_i_serve_v2_index(r);
}
