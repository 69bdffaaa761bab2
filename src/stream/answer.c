/* Answers: one JSON object a line. */
#include <math.h>
#include <string.h>

#include "stream/folder.h"

static const char *const sync_name[] = {"always", "batch", "off"};

/* One more answer begins. */
static ferry_status begin(ferry_ctx *ctx, ferry_stream *s, bool kept)
{
    stream_answers *a = &s->now;

    if (!FERRY_GROW(a->answer, a->n, a->cap)) return ferry_i_nomem(ctx);
    if (a->n == 0) a->since = ferry_i_clock();
    a->answer[a->n++] = (stream_answer){s->line, a->text.len, s->owner, kept};
    return FERRY_OK;
}

/* Close the object and the line. */
static ferry_status finish(ferry_ctx *ctx, ferry_text *t)
{
    ferry_i_text_addn(t, "}\n", 2);
    return t->failed ? ferry_i_nomem(ctx) : FERRY_OK;
}

/* Shortest text that reads back as the same double. */
static void add_real(ferry_text *t, double x)
{
    char buf[32];

    if (isfinite(x))
        ferry_i_text_addn(t, buf, ferry_i_format_real(buf, x));
    else
        ferry_i_text_add(t, "null"); /* JSON has no other word for it */
}

/* As it was written: a number stays a number, so that a client finds its own id again. */
static void add_id(ferry_text *t, const ferry_line *l)
{
    const char *id = l->text.s + l->id;

    ferry_i_text_add(t, "\"id\":");
    if (l->id_is_number)
        ferry_i_text_addn(t, id, l->id_n);
    else
        ferry_i_text_json(t, id, l->id_n);
    ferry_i_text_add(t, ",");
}

/* The class by name, or null where there is none. */
static void add_class(ferry_text *t, const ferry_model *m, const char *key, int64_t cls)
{
    const char *name = ferry_model_class_at(m, cls);

    ferry_i_text_addf(t, "\"%s\":", key);
    if (name)
        ferry_i_text_json(t, name, (int64_t)strlen(name));
    else
        ferry_i_text_add(t, "null");
    ferry_i_text_add(t, ",");
}

/* Scores were made before the label, so a class that is new has none. */
static void add_scores(ferry_text *t, const ferry_worker *w, int64_t k)
{
    ferry_i_text_add(t, "\"scores\":{");
    for (int64_t i = 0; i < k; i++) {
        const char *name = ferry_model_class_at(w->model, i);
        if (i > 0) ferry_i_text_add(t, ",");
        ferry_i_text_json(t, name, (int64_t)strlen(name));
        ferry_i_text_add(t, ":");
        add_real(t, w->score[i]);
    }
    ferry_i_text_add(t, "},");
}

/* What the answer promises: the record's number and how it was made durable. */
static void add_seq(ferry_text *t, const ferry_stream *s, int64_t seq)
{
    ferry_i_text_addf(t, "\"seq\":%lld,\"sync\":\"%s\"", (long long)seq,
                      sync_name[s->set.sync]);
}

/* One object with what happened: the prediction (made before the label was learned), what
 * was learned, whose turn to be forgotten it was, and the record's number. */
ferry_status ferry_i_answer_record(ferry_ctx *ctx, ferry_stream *s, const ferry_record *r,
                                   const ferry_outcome *o)
{
    ferry_text *t = &s->now.text;
    const ferry_model *m = s->worker->model;

    FERRY_PASS(begin(ctx, s, true));
    ferry_i_text_add(t, "{");
    if (r->id_n > 0) add_id(t, &s->parsed);
    if (o->retracted) ferry_i_text_add(t, "\"retracted\":true,");
    if (r->kind == FERRY_RECORD_OBSERVE || r->kind == FERRY_RECORD_BOTH) {
        add_class(t, m, "prediction", o->answer);
        if (o->answer >= 0) {
            ferry_i_text_add(t, "\"score\":");
            add_real(t, s->worker->score[o->answer]);
            ferry_i_text_add(t, ",");
        }
        if (s->set.scores)
            add_scores(t, s->worker, ferry_i_model_class_count(m) - o->new_class);
    }
    if (r->y_n > 0) {
        add_class(t, m, "learned", o->label);
        if (o->new_class) ferry_i_text_add(t, "\"new_class\":true,");
    }
    if (o->forgot) {
        ferry_i_text_add(t, "\"forgot\":");
        ferry_i_text_json(t, o->forgot, (int64_t)strlen(o->forgot));
        ferry_i_text_add(t, ",");
    }
    add_seq(t, s, r->seq);
    return finish(ctx, &s->now.text);
}

/* How far the stream is: a client that lost its connection asks this and goes on after it. */
ferry_status ferry_i_answer_far(ferry_ctx *ctx, ferry_stream *s)
{
    FERRY_PASS(begin(ctx, s, true));
    ferry_i_text_addf(&s->now.text, "{\"waiting\":%lld,", (long long)s->worker->queue.n);
    add_seq(&s->now.text, s, s->worker->seq);
    return finish(ctx, &s->now.text);
}

/* A line with a number that was taken already: the client sends again what it had no
 * answer for. It is not learned twice. */
ferry_status ferry_i_answer_again(ferry_ctx *ctx, ferry_stream *s)
{
    FERRY_PASS(begin(ctx, s, true));
    ferry_i_text_add(&s->now.text, "{");
    if (s->parsed.id_n > 0) add_id(&s->now.text, &s->parsed);
    ferry_i_text_add(&s->now.text, "\"repeated\":true,");
    add_seq(&s->now.text, s, s->parsed.seq > 0 ? s->parsed.seq : s->worker->seq);
    return finish(ctx, &s->now.text);
}

/* The same row under the same id: what was said to it, and no second record. */
ferry_status ferry_i_answer_waits(ferry_ctx *ctx, ferry_stream *s, const ferry_waiting *w)
{
    FERRY_PASS(begin(ctx, s, true));
    ferry_i_text_add(&s->now.text, "{");
    add_id(&s->now.text, &s->parsed);
    add_class(&s->now.text, s->worker->model, "prediction", w->answer);
    ferry_i_text_add(&s->now.text, "\"repeated\":true,");
    add_seq(&s->now.text, s, s->worker->seq);
    return finish(ctx, &s->now.text);
}

/* Begins an error object; the caller may add to it. */
static void add_error(ferry_text *t, const char *why, int64_t line)
{
    ferry_i_text_add(t, "{\"error\":");
    ferry_i_text_json(t, why, (int64_t)strlen(why));
    ferry_i_text_addf(t, ",\"line\":%lld", (long long)line);
}

ferry_status ferry_i_answer_bad(ferry_ctx *ctx, ferry_stream *s, const char *why)
{
    FERRY_PASS(begin(ctx, s, false));
    add_error(&s->now.text, why, s->line);
    return finish(ctx, &s->now.text);
}

/* Where answer i ends. */
int64_t ferry_i_answers_end(const stream_answers *a, int64_t i)
{
    return i + 1 < a->n ? a->answer[i + 1].at : a->text.len;
}

/* With a reason, each answer that promised something becomes an error with its line
 * number; answers about bad lines promise nothing and stay. */
void ferry_i_answers_hand_out(ferry_stream *s, stream_answers *a, const char *why)
{
    stream_answers *to = &s->returned;
    ferry_text *t = &to->text;

    for (int64_t i = 0; i < a->n; i++) {
        const stream_answer *one = &a->answer[i];
        if (!FERRY_GROW(to->answer, to->n, to->cap)) {
            t->failed = true;
            break;
        }
        to->answer[to->n] = *one;
        to->answer[to->n++].at = t->len;
        if (why && one->kept) {
            add_error(t, why, one->line);
            ferry_i_text_addn(t, "}\n", 2);
        } else {
            ferry_i_text_addn(t, a->text.s + one->at, ferry_i_answers_end(a, i) - one->at);
        }
    }
    ferry_i_answers_clear(a);
}

void ferry_i_answers_clear(stream_answers *a)
{
    a->text.len = 0;
    a->n = 0;
}

void ferry_i_answers_free(stream_answers *a)
{
    ferry_i_text_free(&a->text);
    ferry_i_free(a->answer);
    *a = (stream_answers){.n = 0};
}
