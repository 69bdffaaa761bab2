/* What the page shows: GET /stats. A number for each of the last ten minutes' seconds, and
 * how things stand now. */
#include <math.h>

#include "server/serve.h"

/* ---- drift ---- */

#define DRIFT_ROWS 1000 /* rows that the running means look back on */

/* Running means of the inputs. Of many rows at once those that come while another thread is
 * at it are passed over: a sample is enough. */
void ferry_i_drift_note(serve_version *v, int64_t n, int64_t cols, const double *x)
{
    serve_drift *d = &v->drift;

    if (d->cols != cols || n == 0 || pthread_mutex_trylock(&v->mutex) != 0) return;
    for (int64_t i = 0; i < n && i < 64; i++) {
        const double share = 1 / (double)(d->rows < DRIFT_ROWS ? ++d->rows : DRIFT_ROWS);
        for (int64_t j = 0; j < d->cols; j++) {
            const double now = x[i * cols + j];
            d->missing[j] += (isnan(now) - d->missing[j]) * share;
            if (!isnan(now)) d->mean[j] += (now - d->mean[j]) * share;
        }
    }
    pthread_mutex_unlock(&v->mutex);
}

/* ---- every second ---- */

/* The time that a share of the requests since the second before took at most. */
static double quantile(const uint64_t *count, uint64_t n, double share)
{
    uint64_t so_far = 0;

    for (int i = 0; n > 0 && i < SERVE_CLASSES; i++) {
        so_far += count[i];
        if ((double)so_far >= share * (double)n) return ferry_i_times_end(i);
    }
    return NAN;
}

static double share_of(const serve_scores *s, int64_t last)
{
    const int64_t n = s->n < last ? s->n : last;
    int64_t sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += s->ring[(s->next + SERVE_WINDOW - 1 - i) % SERVE_WINDOW];
    return n > 0 ? (double)sum / (double)n : (double)NAN;
}

/* The model that the curves are of: the one that serves, when none is named. */
static serve_version *shown(ferry_server *s)
{
    serve_version *v = ferry_i_models_get(s, NULL, 0);

    if (!v && s->models.n > 0) v = ferry_i_models_get(s, s->models.model[0].name, 0);
    return v;
}

static void sample_model(ferry_server *s, serve_version *v, serve_second *now)
{
    const char *name[SERVE_PARTS];
    double weight[SERVE_PARTS];

    now->waiting = v->waiting;
    pthread_rwlock_rdlock(&v->lock);
    now->mistakes = share_of(&v->scores, 1000);
    now->labels = v->scores.labels;
    const int64_t n = v->learns ? ferry_i_served_experts(v->model, NULL, NULL) : 0;
    if (n > 0 && n <= SERVE_PARTS) {
        (void)ferry_i_served_experts(v->model, name, weight);
        for (int64_t i = 0; i < n; i++) {
            (void)snprintf(s->part_name[i], sizeof s->part_name[i], "%s", name[i]);
            now->part[i] = weight[i];
        }
        s->parts = n;
    }
    pthread_rwlock_unlock(&v->lock);
}

void ferry_i_serve_sample(ferry_server *s)
{
    serve_second now = {.at = ferry_i_clock(), .mistakes = NAN};
    uint64_t count[SERVE_CLASSES], n = 0;
    serve_version *v = shown(s);
    static const serve_second none;

    if (v) sample_model(s, v, &now);
    ferry_i_version_free(v);
    pthread_mutex_lock(&s->mutex);
    for (int i = 0; i < SERVE_CLASSES; i++) {
        const uint64_t all = s->all.count[i];
        count[i] = all - s->before.count[i];
        s->before.count[i] = all;
        n += count[i];
    }
    now.p50 = quantile(count, n, 0.5);
    now.p90 = quantile(count, n, 0.9);
    now.p99 = quantile(count, n, 0.99);
    const serve_second *last =
        s->seconds > 0 ? &s->second[(s->seconds - 1) % SERVE_SECONDS] : &none;
    now.total_requests = s->requests;
    now.total_errors = s->errors;
    now.total_rows = s->rows;
    now.requests = now.total_requests - last->total_requests;
    now.errors = now.total_errors - last->total_errors;
    now.rows = now.total_rows - last->total_rows;
    s->second[s->seconds++ % SERVE_SECONDS] = now;
    pthread_mutex_unlock(&s->mutex);
}

/* ---- GET /stats ---- */

/* The times are those of a clock that does not jump, as the clock on the wall has them now. */
static json_t *seconds_json(ferry_server *s)
{
    json_t *list = json_array();
    const double shift = round(ferry_i_wall_clock() - ferry_i_clock());
    const int64_t n = s->seconds < SERVE_SECONDS ? s->seconds : SERVE_SECONDS;

    for (int64_t i = s->seconds - n; i < s->seconds; i++) {
        const serve_second *c = &s->second[i % SERVE_SECONDS];
        json_t *parts = json_array();
        for (int64_t j = 0; j < s->parts; j++)
            (void)json_array_append_new(parts, ferry_i_json_real(c->part[j]));
        (void)json_array_append_new(
            list,
            json_pack("{s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:I, s:I, s:o}", "at",
                      (json_int_t)(c->at + shift), "requests", (json_int_t)c->requests,
                      "errors", (json_int_t)c->errors, "rows", (json_int_t)c->rows, "p50",
                      ferry_i_json_real(c->p50), "p90", ferry_i_json_real(c->p90), "p99",
                      ferry_i_json_real(c->p99), "mistakes", ferry_i_json_real(c->mistakes),
                      "labels", (json_int_t)c->labels, "waiting", (json_int_t)c->waiting,
                      "weights", parts));
    }
    return list;
}

/* The mistakes of a shadow against those of the version that is shown, on the same labels:
 * the mean difference and its interval, as the verdict of an evaluation has them. */
static json_t *against_json(const serve_scores *s)
{
    const ferry_served_mean m = ferry_i_served_mean(s->n, s->ring);

    return json_pack("{s:I, s:o, s:o, s:o}", "labels", (json_int_t)s->n, "fewer_mistakes",
                     ferry_i_json_real(m.mean), "low", ferry_i_json_real(m.low), "high",
                     ferry_i_json_real(m.high));
}

/* The columns that moved most, in standard deviations of the training data. */
static json_t *drift_json(serve_version *v)
{
    enum { MOST = 10 };
    const ferry_model *m = v->model;
    const int64_t cols = ferry_i_served_about(m).columns;
    const double *then = ferry_i_served_inputs(m);
    json_t *list = json_array();
    int64_t best[MOST], n = 0;
    double by[MOST];

    pthread_mutex_lock(&v->mutex);
    const serve_drift *d = &v->drift;
    for (int64_t j = 0; then && d->rows > 0 && j < d->cols && j < cols; j++) {
        const double std = then[cols + j], moved = d->mean[j] - then[j];
        const double shift = moved == 0  ? 0
                             : std > 0   ? moved / std
                             : moved > 0 ? 1e9
                                         : -1e9;
        const double size = fabs(shift) + fabs(d->missing[j] - then[2 * cols + j]);
        int64_t at = n < MOST ? n++ : MOST;
        for (; at > 0 && size > by[at - 1]; at--)
            if (at < MOST) {
                by[at] = by[at - 1];
                best[at] = best[at - 1];
            }
        if (at == MOST) continue;
        by[at] = size;
        best[at] = j;
    }
    for (int64_t i = 0; i < n; i++) {
        const int64_t j = best[i];
        const double std = then[cols + j], moved = d->mean[j] - then[j];
        const char *name = ferry_i_served_feature(m, j);
        (void)json_array_append_new(
            list,
            json_pack("{s:o, s:f, s:f, s:f, s:o, s:f, s:f}", "feature",
                      name ? json_string(name) : json_sprintf("%lld", (long long)j + 1),
                      "mean", d->mean[j], "trained", then[j], "std", std, "shift",
                      moved == 0 ? json_real(0) : ferry_i_json_real(moved / std), "missing",
                      d->missing[j], "missing_trained", then[2 * cols + j]));
    }
    json_t *all = json_pack("{s:b, s:I, s:o}", "known", then != NULL, "rows",
                            (json_int_t)d->rows, "features", list);
    pthread_mutex_unlock(&v->mutex);
    return all;
}

static json_t *version_json(serve_version *v, bool current)
{
    json_t *all = json_pack(
        "{s:s, s:I, s:b, s:b, s:b, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:o}", "model",
        v->name, "version", (json_int_t)v->number, "current", current, "shadow", v->shadow,
        "learns", v->learns, "method", ferry_i_served_about(v->model).method, "goal",
        ferry_goal_name(ferry_i_served_about(v->model).goal), "rows", (json_int_t)v->rows,
        "learned", (json_int_t)v->learned, "waiting", (json_int_t)v->waiting, "labels",
        (json_int_t)v->scores.labels, "mistakes", (json_int_t)v->scores.mistakes,
        "mistake_rate", ferry_i_json_real(share_of(&v->scores, 1000)));

    if (current) (void)json_object_set_new(all, "drift", drift_json(v));
    if (v->shadow) (void)json_object_set_new(all, "against", against_json(&v->against));
    return all;
}

static json_t *versions_json(ferry_server *s)
{
    json_t *list = json_array();

    pthread_rwlock_rdlock(&s->models.lock);
    for (int64_t i = 0; i < s->models.n; i++)
        for (int64_t j = 0; j < s->models.model[i].n; j++) {
            serve_version *v = s->models.model[i].version[j];
            if (v->fresh) continue;
            pthread_rwlock_rdlock(&v->lock);
            (void)json_array_append_new(list,
                                        version_json(v, v == s->models.model[i].current));
            pthread_rwlock_unlock(&v->lock);
        }
    pthread_rwlock_unlock(&s->models.lock);
    return list;
}

static json_t *texts(int64_t n, const char *at, size_t step)
{
    json_t *list = json_array();

    for (int64_t i = 0; i < n; i++)
        (void)json_array_append_new(list, json_string(at + (size_t)i * step));
    return list;
}

void ferry_i_serve_stats(serve_request *r)
{
    ferry_server *s = r->server;
    json_t *versions = versions_json(s), *errors = json_array();

    pthread_mutex_lock(&s->mutex);
    for (int64_t i = s->n_last - 1; i >= 0 && i >= s->n_last - FERRY_COUNT(s->last); i--)
        (void)json_array_append_new(errors, json_string(s->last[i % FERRY_COUNT(s->last)]));
    json_t *all =
        json_pack("{s:s, s:f, s:I, s:I, s:I, s:o, s:o, s:o, s:o}", "ferry", ferry_version(),
                  "started", s->started, "requests", (json_int_t)s->requests, "errors",
                  (json_int_t)s->errors, "connections",
                  (json_int_t)ferry_i_http_connections(s->http), "versions", versions,
                  "parts", texts(s->parts, s->part_name[0], sizeof s->part_name[0]),
                  "seconds", seconds_json(s), "last_errors", errors);
    pthread_mutex_unlock(&s->mutex);
    ferry_i_serve_json(r, all);
}
