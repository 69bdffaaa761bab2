/* Learning: what labels tell about the versions, and the requests that bring them. */
#include <string.h>

#include "server/serve.h"

/* ---- what labels tell ---- */

void ferry_i_scores_add(serve_scores *s, int value)
{
    s->labels++;
    s->mistakes += value > 0;
    s->ring[s->next] = (int8_t)value;
    s->next = (s->next + 1) % SERVE_WINDOW;
    if (s->n < SERVE_WINDOW) s->n++;
}

/* Whether a shadow that does not learn gets the row wrong; -1: it cannot tell. */
static int shadow_wrong(ferry_ctx *ctx, serve_version *shadow, const ferry_row *x,
                        const char *label)
{
    serve_batch *b = ferry_i_calloc(1, sizeof *b);
    ferry_line l = {.n = x->n, .value = (double *)x->value, .index = (int32_t *)x->index};
    int wrong = -1;

    if (!b) return wrong;
    l.sparse = x->index != NULL;
    b->cols = ferry_i_served_about(shadow->model).columns;
    if (ferry_i_batch_add(b, shadow, &l) &&
        ferry_i_batch_predict(ctx, shadow, b) == FERRY_OK && b->count[SERVE_BAD] == 0) {
        const ferry_prediction *p = b->p[l.sparse ? SERVE_SPARSE : SERVE_DENSE];
        if (p->cls) wrong = p->cls[0] < 0 || strcmp(p->names[p->cls[0]], label) != 0;
    }
    ferry_i_batch_free(b);
    return wrong;
}

/* Whether the answer that was given before the label was known is wrong; -1: there is no label,
 * or no answer. */
static int wrong(const ferry_outcome *o)
{
    const int32_t said = o->was ? o->was->answer : o->answer;

    if (o->label < 0 || (o->was && said < 0)) return -1;
    return said != o->label;
}

static void count(serve_version *v, const ferry_outcome *o)
{
    v->mistake = wrong(o);
    if (o->label >= 0) v->learned++;
    if (v->mistake >= 0) ferry_i_scores_add(&v->scores, v->mistake);
}

/* The shadow takes the same record, or is asked; then both have said what they think of the same
 * label. One that fails has to come back from its file. */
static void compare(serve_writer *w, const ferry_record *r, const ferry_row *x,
                    const char *label)
{
    serve_version *shadow = w->beside;
    ferry_outcome o = {.answer = -1, .label = -1};

    shadow->mistake = -1;
    if (shadow->worker) {
        pthread_rwlock_wrlock(&shadow->lock);
        const ferry_status st =
            ferry_i_worker_follow(w->ctx, shadow->worker, r, w->stream->serves, &o);
        if (st == FERRY_OK) count(shadow, &o);
        shadow->waiting = shadow->worker->queue.n;
        pthread_rwlock_unlock(&shadow->lock);
        ferry_i_outcome_free(&o);
        if (st != FERRY_OK) {
            ferry_i_serve_log(w->server, FERRY_WARN, "shadow %s: %s", shadow->path,
                              ferry_message(w->ctx));
            ferry_i_writer_feed(w, NULL);
            return;
        }
    } else if (label) {
        shadow->mistake = shadow_wrong(w->ctx, shadow, x, label);
    }
    pthread_rwlock_wrlock(&shadow->lock);
    if (shadow->mistake >= 0 && !shadow->worker)
        ferry_i_scores_add(&shadow->scores, shadow->mistake);
    if (w->serving->mistake >= 0 && shadow->mistake >= 0)
        ferry_i_scores_add(&shadow->against, w->serving->mistake - shadow->mistake);
    pthread_rwlock_unlock(&shadow->lock);
}

void ferry_i_writer_watch(void *writer, const ferry_record *r, const ferry_outcome *o)
{
    serve_writer *w = writer;
    serve_version *v = w->serving;
    const ferry_row x = o->was ? (ferry_row){o->was->n, o->was->index, o->was->value}
                               : (ferry_row){r->n, r->sparse ? r->index : NULL, r->value};

    if (r->kind == FERRY_RECORD_OBSERVE || r->kind == FERRY_RECORD_BOTH) {
        v->rows++;
        v->server->rows++;
        if (!x.index) ferry_i_drift_note(v, 1, x.n, x.value);
    }
    if (o->new_class) (void)ferry_i_tokens_classes(&w->server->tokens, w->who, 1);
    count(v, o);
    if (w->beside) compare(w, r, &x, ferry_model_class_at(v->model, o->label));
}

/* ---- requests ---- */

void ferry_i_serve_submit(serve_request *r, serve_deed deed)
{
    serve_version *v = r->version;

    if (!v->learns) {
        ferry_i_serve_error(r, 409, "model '%s' %s", v->name,
                            !ferry_i_served_about(v->model).streams
                                ? "cannot learn from labels"
                                : "learns only with a folder for its state");
        return;
    }
    r->job = (serve_job){.deed = deed, .request = r};
    if (ferry_i_writer_add(v->writer, &r->job)) return;
    r->retry = 1;
    ferry_i_serve_error(r, 429, "too many requests wait for their labels to be kept");
}

void ferry_i_serve_learn(serve_request *r)
{
    if (ferry_i_serve_rows(r)) ferry_i_serve_submit(r, SERVE_LEARN);
}

void ferry_i_serve_snapshot(serve_request *r)
{
    ferry_i_serve_submit(r, SERVE_SNAPSHOT);
}
