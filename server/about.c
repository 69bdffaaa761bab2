/* What the server says about itself: health, its interface, looking at the folder again. */
#include <string.h>

#include "server/serve.h"

/* openapi.json, page.js and page.css, embedded by CMake */
extern const char ferry_i_serve_api[], ferry_i_serve_page_script[],
    ferry_i_serve_page_style[];

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
    ferry_i_text_add(&r->out, ferry_i_served_vega());
    ferry_i_text_add(&r->out, ferry_i_served_plots());
    ferry_i_text_add(&r->out, ferry_i_serve_page_script);
    r->status = 200;
    r->type = "text/javascript; charset=utf-8";
}

void ferry_i_serve_style(serve_request *r)
{
    ferry_i_text_add(&r->out, ferry_i_served_style());
    ferry_i_text_add(&r->out, ferry_i_serve_page_style);
    r->status = 200;
    r->type = "text/css; charset=utf-8";
}

/* The next look at the models answers it: whoever asks wants to know that it is done. */
void ferry_i_serve_reload_now(serve_request *r)
{
    ferry_server *s = r->server;

    pthread_mutex_lock(&s->mutex);
    if (s->has_loader && !s->stopping) {
        r->next = s->reloads;
        s->reloads = r;
        r->suspended = true;
        s->reload = true;
        pthread_cond_signal(&s->load);
    }
    pthread_mutex_unlock(&s->mutex);
    if (!r->suspended) ferry_i_serve_error(r, 503, "the server is stopping");
}
