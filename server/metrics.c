/* Numbers for Prometheus: GET /metrics, in its text format. */
#include <math.h>
#include <string.h>

#include "server/serve.h"

/* Class of a latency: quarter octaves from 16 us. */
void ferry_i_times_add(serve_times *t, double seconds)
{
    const double x = 4 * log2(seconds / 16e-6);
    const int i = !(x > 0) ? 0 : x >= SERVE_CLASSES - 1 ? SERVE_CLASSES - 1 : (int)x + 1;

    t->count[i]++;
    t->n++;
    t->micros += (uint64_t)(1e6 * seconds);
}

double ferry_i_times_end(int i)
{
    return 16e-6 * exp2(i / 4.0);
}

static void head(ferry_text *t, const char *name, const char *kind, const char *help)
{
    ferry_i_text_addf(t, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind);
}

static void one(ferry_text *t, const char *name, const char *kind, const char *help,
                double x)
{
    head(t, name, kind, help);
    ferry_i_text_addf(t, "%s %.17g\n", name, x);
}

/* The first route of that name; several paths share one. */
static bool is_first(int64_t i)
{
    for (int64_t j = 0; j < i; j++)
        if (strcmp(ferry_i_serve_routes[j].name, ferry_i_serve_routes[i].name) == 0)
            return false;
    return true;
}

static void add_requests(ferry_text *t, const ferry_server *s)
{
    head(t, "ferry_requests_total", "counter",
         "Requests by route and class of the status.");
    for (int64_t i = 0; i < ferry_i_serve_n_routes; i++) {
        if (!is_first(i)) continue;
        for (int c = 2; c < 6; c++) {
            int64_t n = 0;
            for (int64_t j = i; j < ferry_i_serve_n_routes; j++)
                if (strcmp(ferry_i_serve_routes[j].name, ferry_i_serve_routes[i].name) == 0)
                    n += s->answers[j][c];
            ferry_i_text_addf(t,
                              "ferry_requests_total{route=\"%s\",status=\"%dxx\"} %lld\n",
                              ferry_i_serve_routes[i].name, c, (long long)n);
        }
    }
}

/* Every fourth class, an octave, is enough for a graph. */
static void add_times(ferry_text *t, const ferry_server *s)
{
    static const char *const name = "ferry_request_seconds";

    head(t, name, "histogram", "Time from the request's head to its answer.");
    for (int64_t i = 0; i < ferry_i_serve_n_routes; i++) {
        const char *route = ferry_i_serve_routes[i].name;
        uint64_t count[SERVE_CLASSES] = {0}, sum = 0, n = 0, so_far = 0;
        if (!is_first(i)) continue;
        for (int64_t j = i; j < ferry_i_serve_n_routes; j++) {
            if (strcmp(ferry_i_serve_routes[j].name, route) != 0) continue;
            for (int c = 0; c < SERVE_CLASSES; c++)
                count[c] += s->times[j].count[c];
            n += s->times[j].n;
            sum += s->times[j].micros;
        }
        if (n == 0) continue;
        for (int c = 0; c < SERVE_CLASSES - 1; c++) {
            so_far += count[c];
            if (c % 4 == 0)
                ferry_i_text_addf(t, "%s_bucket{route=\"%s\",le=\"%.6g\"} %llu\n", name,
                                  route, ferry_i_times_end(c), (unsigned long long)so_far);
        }
        so_far += count[SERVE_CLASSES - 1];
        ferry_i_text_addf(t,
                          "%s_bucket{route=\"%s\",le=\"+Inf\"} %llu\n%s_sum{route=\"%s\"} "
                          "%.6f\n%s_count{route=\"%s\"} %llu\n",
                          name, route, (unsigned long long)so_far, name, route,
                          1e-6 * (double)sum, name, route, (unsigned long long)so_far);
    }
}

typedef double version_number(const serve_version *v);
static double rows_of(const serve_version *v)
{
    return (double)v->rows;
}
static double learned_of(const serve_version *v)
{
    return (double)v->learned;
}
static double waiting_of(const serve_version *v)
{
    return (double)v->waiting;
}
static double jobs_of(const serve_version *v)
{
    return v->writer && ferry_i_writer_serves(v->writer, v) ? (double)v->writer->jobs : 0;
}
static double mistakes_of(const serve_version *v)
{
    return (double)v->scores.mistakes;
}
static double scored_of(const serve_version *v)
{
    return (double)v->scores.labels;
}

static void add_models(ferry_text *t, ferry_server *s)
{
    static const struct {
        const char *name, *kind, *help;
        version_number *value;
    } numbers[] = {
        {"ferry_rows_total", "counter", "Rows that were predicted for.", rows_of},
        {"ferry_labels_total", "counter", "Labels that were learned.", learned_of},
        {"ferry_scored_total", "counter", "Labels whose answer is known.", scored_of},
        {"ferry_mistakes_total", "counter", "Of these, answers that were wrong.",
         mistakes_of},
        {"ferry_waiting", "gauge", "Instances that wait for a label.", waiting_of},
        {"ferry_queue", "gauge", "Requests that wait for the writer.", jobs_of},
    };

    pthread_rwlock_rdlock(&s->models.lock);
    for (int64_t k = 0; k < FERRY_COUNT(numbers); k++) {
        head(t, numbers[k].name, numbers[k].kind, numbers[k].help);
        for (int64_t i = 0; i < s->models.n; i++)
            for (int64_t j = 0; j < s->models.model[i].n; j++) {
                serve_version *v = s->models.model[i].version[j];
                pthread_rwlock_rdlock(&v->lock);
                const double value = numbers[k].value(v);
                pthread_rwlock_unlock(&v->lock);
                ferry_i_text_addf(t,
                                  "%s{model=\"%s\",version=\"%lld\",shadow=\"%s\"} %.17g\n",
                                  numbers[k].name, v->name, (long long)v->number,
                                  v->shadow ? "yes" : "no", value);
            }
    }
    pthread_rwlock_unlock(&s->models.lock);
}

void ferry_i_serve_metrics(serve_request *r)
{
    ferry_server *s = r->server;
    ferry_text *t = &r->out;

    add_requests(t, s);
    add_times(t, s);
    add_models(t, s);
    one(t, "ferry_errors_total", "counter", "Answers of 400 and above.", (double)s->errors);
    one(t, "ferry_refused_total", "counter", "Requests without a fitting token.",
        (double)s->refused);
    one(t, "ferry_too_many_total", "counter", "Requests that were put off (429).",
        (double)s->too_many);
    one(t, "ferry_connections", "gauge", "Open connections.",
        (double)ferry_i_http_connections(s->http));
    one(t, "ferry_body_bytes", "gauge", "Bytes of requests in memory.", (double)s->charged);
    one(t, "process_start_time_seconds", "gauge", "When the server started.", s->started);
    r->status = 200;
    r->type = "text/plain; version=0.0.4; charset=utf-8";
}
