/* Which request does what. A path may hold {model} and {version}; without a model it is the
 * only one, or the one called "default". */
#include <string.h>

#include "server/serve.h"

#define VERSIONS "/versions/{version}"
const serve_route ferry_i_serve_routes[] = {
    {"GET", "/v2/health/live", SERVE_ANYONE, ferry_i_serve_live, "live", false},
    {"GET", "/v2/health/ready", SERVE_ANYONE, ferry_i_serve_ready, "ready", false},
    {"GET", "/ping", SERVE_ANYONE, ferry_i_serve_ping, "ping", false},
    {"GET", "/health", SERVE_ANYONE, ferry_i_serve_ping, "ping", false},
    {"GET", "/", SERVE_READ, ferry_i_serve_page, "page", false},
    {"GET", "/serve.js", SERVE_READ, ferry_i_serve_script, "page", false},
    {"GET", "/serve.css", SERVE_READ, ferry_i_serve_style, "page", false},
    {"GET", "/stats", SERVE_READ, ferry_i_serve_stats, "stats", false},
    {"GET", "/metrics", SERVE_READ, ferry_i_serve_metrics, "metrics", false},
    {"GET", "/openapi.json", SERVE_READ, ferry_i_serve_openapi, "openapi", false},
    {"POST", "/predict", SERVE_READ, ferry_i_serve_predict, "predict", true},
    {"POST", "/learn", SERVE_LEARNER, ferry_i_serve_learn, "learn", true},
    {"POST", "/recommend", SERVE_READ, ferry_i_serve_recommend, "recommend", true},
    {"POST", "/invocations", SERVE_READ, ferry_i_serve_invocations, "invocations", true},
    {"POST", "/models/{model}/predict", SERVE_READ, ferry_i_serve_predict, "predict", true},
    {"POST", "/models/{model}/learn", SERVE_LEARNER, ferry_i_serve_learn, "learn", true},
    {"POST", "/models/{model}/recommend", SERVE_READ, ferry_i_serve_recommend, "recommend",
     true},
    {"POST", "/models/{model}/invocations", SERVE_READ, ferry_i_serve_invocations,
     "invocations", true},
    {"POST", "/models/{model}" VERSIONS "/predict", SERVE_READ, ferry_i_serve_predict,
     "predict", true},
    {"POST", "/models/{model}" VERSIONS "/learn", SERVE_LEARNER, ferry_i_serve_learn,
     "learn", true},
    {"POST", "/models/{model}" VERSIONS "/recommend", SERVE_READ, ferry_i_serve_recommend,
     "recommend", true},
    {"GET", "/v2", SERVE_READ, ferry_i_serve_v2_server, "metadata", false},
    {"GET", "/v2/models/{model}", SERVE_READ, ferry_i_serve_v2_model, "metadata", true},
    {"GET", "/v2/models/{model}/ready", SERVE_READ, ferry_i_serve_v2_ready, "metadata",
     true},
    {"GET", "/v2/models/{model}/config", SERVE_READ, ferry_i_serve_v2_config, "metadata",
     true},
    {"POST", "/v2/models/{model}/infer", SERVE_READ, ferry_i_serve_v2_infer, "infer", true},
    {"GET", "/v2/models/{model}" VERSIONS, SERVE_READ, ferry_i_serve_v2_model, "metadata",
     true},
    {"GET", "/v2/models/{model}" VERSIONS "/ready", SERVE_READ, ferry_i_serve_v2_ready,
     "metadata", true},
    {"GET", "/v2/models/{model}" VERSIONS "/config", SERVE_READ, ferry_i_serve_v2_config,
     "metadata", true},
    {"POST", "/v2/models/{model}" VERSIONS "/infer", SERVE_READ, ferry_i_serve_v2_infer,
     "infer", true},
    {"POST", "/v2/repository/index", SERVE_READ, ferry_i_serve_v2_index, "metadata", false},
    {"POST", "/admin/snapshot", SERVE_ADMIN, ferry_i_serve_snapshot, "admin", true},
    {"POST", "/models/{model}/admin/snapshot", SERVE_ADMIN, ferry_i_serve_snapshot, "admin",
     true},
    {"GET", "/admin/labels", SERVE_ADMIN, ferry_i_serve_labels, "admin", true},
    {"GET", "/models/{model}/admin/labels", SERVE_ADMIN, ferry_i_serve_labels, "admin",
     true},
    {"POST", "/admin/reload", SERVE_ADMIN, ferry_i_serve_reload_now, "admin", false},
};
const int64_t ferry_i_serve_n_routes = FERRY_COUNT(ferry_i_serve_routes);

/* What a path names: pointers into it. */
typedef struct named {
    const char *model, *version;
    int model_n, version_n;
} named;

static bool matches(const char *pattern, const char *path, named *out)
{
    *out = (named){.model = NULL};
    while (*pattern) {
        if (*pattern != '{') {
            if (*pattern++ != *path++) return false;
            continue;
        }
        const int n = (int)strcspn(path, "/");
        if (n == 0) return false;
        if (pattern[1] == 'm') {
            out->model = path;
            out->model_n = n;
        } else {
            out->version = path;
            out->version_n = n;
        }
        path += n;
        pattern = strchr(pattern, '}') + 1;
    }
    return *path == 0 || (path[0] == '/' && path[1] == 0);
}

static bool find_version(serve_request *r, const named *is)
{
    char name[256] = "";
    int64_t number = 0;

    if (is->model_n >= (int)sizeof name)
        return ferry_i_serve_error(r, 404, "there is no such model"), false;
    if (is->model) memcpy(name, is->model, (size_t)is->model_n);
    if (is->version && (ferry_i_parse_int(is->version, is->version + is->version_n,
                                          &number) != is->version + is->version_n ||
                        number < 1))
        return ferry_i_serve_error(r, 404, "version '%.*s': expected a whole number from 1",
                                   is->version_n, is->version),
               false;
    r->version = ferry_i_models_get(r->server, is->model ? name : NULL, number);
    r->exact = number > 0;
    if (r->version) return true;
    if (is->model)
        ferry_i_serve_error(r, 404, "there is no model '%s'%s", name,
                            number ? " of that version" : "");
    else
        ferry_i_serve_error(r, 404,
                            "there are several models, and none is called "
                            "'default': say which by /models/NAME%.60s",
                            r->url);
    return false;
}

const serve_route *ferry_i_serve_find(serve_request *r)
{
    const char *method = strcmp(r->method, "HEAD") == 0 ? "GET" : r->method;
    bool other = false;
    named is;

    for (int64_t i = 0; i < ferry_i_serve_n_routes; i++) {
        const serve_route *route = &ferry_i_serve_routes[i];
        if (!matches(route->path, r->url, &is)) continue;
        if (strcmp(route->method, method) == 0) return route;
        r->allow = route->method;
        other = true;
    }
    if (other)
        ferry_i_serve_error(r, 405, "expected %s", r->allow);
    else
        ferry_i_serve_error(r, 404,
                            "there is nothing at this path (GET /openapi.json "
                            "lists what there is)");
    return NULL;
}

/* After it is known that the client may: who may not is not told which models there are. */
bool ferry_i_serve_find_version(serve_request *r)
{
    named is;

    if (!r->route->of_model) return true;
    (void)matches(r->route->path, r->url, &is);
    return find_version(r, &is);
}
