/* What the server says about itself: health, its interface, looking at the folder again. */
#include <string.h>

#include "report/page/page.h"
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

/* The page is a shell; its script asks /stats. It names no model and holds nothing of one. */
void ferry_i_serve_page(serve_request *r)
{
    ferry_i_text_add(
        &r->out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n<title>Ferry</title>\n"
        "<link rel=\"icon\" href=\"data:,\">\n"
        "<link rel=\"stylesheet\" href=\"/serve.css\">\n</head>\n<body>\n<main></main>\n"
        "<noscript><p>This page is drawn by a script; /stats has its numbers.</p></noscript>\n"
        "<script src=\"/serve.js\"></script>\n</body>\n</html>\n");
    r->status = 200;
    r->type = "text/html; charset=utf-8";
}

void ferry_i_serve_script(serve_request *r)
{
    ferry_i_text_add(&r->out, ferry_i_page_vega);
    ferry_i_text_add(&r->out, ferry_i_page_plots);
    ferry_i_text_add(&r->out, ferry_i_page_serve);
    r->status = 200;
    r->type = "text/javascript; charset=utf-8";
}

void ferry_i_serve_style(serve_request *r)
{
    ferry_i_text_add(&r->out, ferry_i_page_style);
    ferry_i_text_add(&r->out, ferry_i_page_serve_style);
    r->status = 200;
    r->type = "text/css; charset=utf-8";
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
