/* Lines of a stream: cut out of the bytes that come in, checked, put into the log, applied,
 * answered. A line that is wrong changes nothing and is answered with the reason. */
#include <stdio.h>
#include <string.h>

#include "stream/folder.h"

/* ---- one line ---- */

/* Take one line apart by the format of the stream; false with the reason in s->parsed. */
static bool parse(ferry_stream *s, const char *line, int64_t n)
{
    ferry_line *l = &s->parsed;

    ferry_i_line_clear(l);
    switch (s->set.format) {
    case FERRY_STREAM_NDJSON: return ferry_i_line_ndjson(l, line, n);
    case FERRY_STREAM_CSV: return ferry_i_line_csv(l, line, n, &s->header);
    default: return ferry_i_line_svmlight(l, line, n, s->base);
    }
}

static const double no_value;
static const int32_t no_index;

/* The line as the next record. */
static ferry_record record_of(const ferry_stream *s)
{
    const ferry_line *l = &s->parsed;
    ferry_record r = {.seq = s->worker->seq + 1,
                      .id = l->text.s + l->id,
                      .id_n = l->id_n,
                      .y = l->text.s + l->y,
                      .y_n = l->y_n,
                      .sparse = l->sparse,
                      .n = l->n,
                      .value = l->value,
                      .index = l->index};

    r.kind = l->retract   ? FERRY_RECORD_RETRACT
             : !l->has_x  ? FERRY_RECORD_LABEL
             : l->y_n > 0 ? FERRY_RECORD_BOTH
                          : FERRY_RECORD_OBSERVE;
    /* In svmlight an instance without features and a late label look alike. */
    if (s->set.format == FERRY_STREAM_SVMLIGHT && l->n == 0 && l->y_n > 0 && l->id_n > 0 &&
        ferry_i_queue_find(&s->worker->queue, r.id, r.id_n))
        r.kind = FERRY_RECORD_LABEL;
    if (r.kind == FERRY_RECORD_LABEL || r.kind == FERRY_RECORD_RETRACT) {
        r.sparse = false;
        r.value = NULL;
        r.n = 0;
    } else { /* without entries there is an x all the same */
        if (!r.value) r.value = &no_value;
        if (r.sparse && !r.index) r.index = &no_index;
    }
    return r;
}

/* In a log that versions share the label of an instance that waits has the instance's numbers
 * too: one to come learns from the label, and may not have seen the instance. */
static ferry_record with_numbers(const ferry_stream *s, const ferry_record *r)
{
    ferry_record full = *r;
    const ferry_waiting *w = s->serves > 0 && r->kind == FERRY_RECORD_LABEL
                                 ? ferry_i_queue_find(&s->worker->queue, r->id, r->id_n)
                                 : NULL;

    if (!w) return full;
    full.n = w->n;
    full.sparse = w->index != NULL;
    full.value = w->n > 0 ? w->value : &no_value;
    full.index = w->index;
    return full;
}

/* Whether an instance waits that is the same to the bit: its client had no answer. */
static const ferry_waiting *waits_already(const ferry_stream *s, const ferry_record *r)
{
    const ferry_waiting *w = r->kind == FERRY_RECORD_OBSERVE && r->id_n > 0
                                 ? ferry_i_queue_find(&s->worker->queue, r->id, r->id_n)
                                 : NULL;

    if (!w || w->n != r->n || !w->index != !r->sparse) return NULL;
    if (w->n > 0 && memcmp(w->value, r->value, (size_t)w->n * sizeof *w->value) != 0)
        return NULL;
    if (w->n > 0 && w->index &&
        memcmp(w->index, r->index, (size_t)w->n * sizeof *w->index) != 0)
        return NULL;
    return w;
}

/* What who sends it may have no more of; false with the reason in the line. */
static bool may(ferry_stream *s, const ferry_record *r)
{
    const bool labelled = r->kind == FERRY_RECORD_LABEL || r->kind == FERRY_RECORD_BOTH;
    const bool is_new =
        labelled && ferry_i_ids_findn(s->worker->model->names, r->y, r->y_n) < 0;
    const bool waits = r->kind == FERRY_RECORD_OBSERVE && r->id_n > 0;

    if (is_new && s->may_be_new == 0)
        return ferry_i_line_bad(&s->parsed, "y would be a new class, and no more may come");
    if (waits && s->may_wait == 0)
        return ferry_i_line_bad(&s->parsed,
                                "no more of your instances may wait for a label");
    if (is_new && s->may_be_new > 0) s->may_be_new--;
    if (waits && s->may_wait > 0) s->may_wait--;
    return true;
}

/* Log, apply, answer. The progress callback cannot stop a step half way. */
static ferry_status keep(ferry_ctx *ctx, ferry_stream *s, const ferry_record *r)
{
    ferry_status st = FERRY_OK;
    const ferry_progress_fn progress = ctx->progress;
    const ferry_record full = with_numbers(s, r);
    ferry_outcome o = {0};

    s->broken = true; /* until log, memory and answer agree again */
    FERRY_TRY(ferry_i_wal_add(ctx, s->log, &full));
    s->labels += full.y_n > 0;
    ctx->progress = NULL;
    st = ferry_i_worker_apply(ctx, s->worker, r, &o);
    ctx->progress = progress;
    FERRY_TRY(st);
    if (r->kind == FERRY_RECORD_OBSERVE && r->id_n > 0 && s->worker->queue.newest)
        s->worker->queue.newest->tag = s->tag;
    if (s->watch) s->watch(s->watcher, r, &o);
    FERRY_TRY(ferry_i_answer_record(ctx, s, r, &o));
    s->broken = false;
done:
    ferry_i_outcome_free(&o);
    return st;
}

/* Only spaces and tabs: such lines are passed over, as a trailing empty line is common. */
static bool is_blank(const char *s, int64_t n)
{
    while (n > 0 && (*s == ' ' || *s == '\t')) {
        s++;
        n--;
    }
    return n == 0;
}

/* A line that could be read: what it asks for. */
static ferry_status act(ferry_ctx *ctx, ferry_stream *s)
{
    const ferry_line *l = &s->parsed;
    const int64_t next = s->worker->seq + 1;
    char why[256];

    if (l->empty) return ferry_i_answer_far(ctx, s);
    if (l->seq > 0 && l->seq < next) return ferry_i_answer_again(ctx, s);
    if (l->seq > next) {
        (void)ferry_i_line_bad(&s->parsed, "seq is %lld, but the next one is %lld",
                               (long long)l->seq, (long long)next);
        return ferry_i_answer_bad(ctx, s, l->why);
    }
    const ferry_record r = record_of(s);
    if (r.y_n > 0 && ferry_i_learned_has(&s->worker->learned, r.id, r.id_n) &&
        !ferry_i_queue_find(&s->worker->queue, r.id, r.id_n))
        return ferry_i_answer_again(ctx, s);
    if (l->retract && s->serves == 0) {
        (void)ferry_i_line_bad(&s->parsed,
                               "a stream of its own has nothing to retract for");
        return ferry_i_answer_bad(ctx, s, l->why);
    }
    if (s->only && (s->only == ONLY_LABELS) != (r.y_n > 0 || l->retract)) {
        (void)ferry_i_line_bad(&s->parsed, s->only == ONLY_LABELS
                                               ? "expected y, the label"
                                               : "expected x without y, the label");
        return ferry_i_answer_bad(ctx, s, l->why);
    }
    const ferry_waiting *same = waits_already(s, &r);
    if (same) return ferry_i_answer_waits(ctx, s, same);
    if (!ferry_i_worker_fits(s->worker, &r, why, sizeof why))
        (void)ferry_i_line_bad(&s->parsed, "%s", why);
    else if (may(s, &r))
        return keep(ctx, s, &r);
    return ferry_i_answer_bad(ctx, s, l->why);
}

/* A line that cannot be read is no failure of the stream: its answer says so, and the next
 * line is taken. */
static ferry_status answer_line(ferry_ctx *ctx, ferry_stream *s, const char *line,
                                int64_t n)
{
    if (parse(s, line, n)) return act(ctx, s);
    if (s->parsed.no_memory) return ferry_i_nomem(ctx);
    return ferry_i_answer_bad(ctx, s, s->parsed.why);
}

ferry_status ferry_i_stream_row(ferry_ctx *ctx, ferry_stream *s, const char *line,
                                int64_t n)
{
    s->line++;
    return answer_line(ctx, s, line, n);
}

/* One line: counted, a CSV stream's first line as its header, everything else answered. */
ferry_status ferry_i_stream_take(ferry_ctx *ctx, ferry_stream *s, const char *line,
                                 int64_t n)
{
    s->line++;
    if (n > 0 && line[n - 1] == '\r') n--;
    if (is_blank(line, n)) return FERRY_OK;
    if (s->set.format == FERRY_STREAM_CSV && s->header.n == 0)
        return ferry_i_header_read(ctx, s->worker->model->views[0], line, n, &s->header);
    return answer_line(ctx, s, line, n);
}

/* ---- bytes to lines ---- */

/* The line that `part` began ends here with n more bytes; or, without any, these are it. */
static ferry_status line_ends(ferry_ctx *ctx, ferry_stream *s, const char *bytes, int64_t n)
{
    ferry_status st = FERRY_OK;

    if (s->too_long || s->part.len + n > LINE_MOST) {
        char why[64];
        s->line++;
        (void)snprintf(why, sizeof why, "the line has more than %lld bytes",
                       (long long)LINE_MOST);
        FERRY_TRY(ferry_i_answer_bad(ctx, s, why));
    } else if (s->part.len == 0) {
        FERRY_TRY(ferry_i_stream_take(ctx, s, bytes, n));
    } else {
        ferry_i_text_addn(&s->part, bytes, n);
        FERRY_HAVE(ctx, !s->part.failed);
        FERRY_TRY(ferry_i_stream_take(ctx, s, s->part.s, s->part.len));
    }
done:
    s->too_long = false;
    s->part.len = 0;
    if (s->part.cap > 1 << 20) ferry_i_text_free(&s->part); /* one huge line is no reason */
    return st;
}

/* Bytes of a line whose end has not come yet. */
static ferry_status line_goes_on(ferry_ctx *ctx, ferry_stream *s, const char *bytes,
                                 int64_t n)
{
    s->too_long = s->too_long || s->part.len + n > LINE_MOST;
    if (s->too_long) {
        ferry_i_text_free(&s->part);
        return FERRY_OK;
    }
    ferry_i_text_addn(&s->part, bytes, n);
    return s->part.failed ? ferry_i_nomem(ctx) : FERRY_OK;
}

/* It may lack its line end. */
static ferry_status last_line(ferry_ctx *ctx, ferry_stream *s)
{
    if (s->broken || (s->part.len == 0 && !s->too_long)) return FERRY_OK;
    return line_ends(ctx, s, "", 0);
}

/* Cut lines out of the bytes, which may end anywhere. Stops when a commit is due, so that
 * the caller's loop decides how long answers wait; what was not used is given again. */
ferry_status ferry_stream_feed(ferry_ctx *ctx, ferry_stream *s, const char *bytes,
                               int64_t n, int64_t *used)
{
    FERRY_ARGS(ctx, s, used);

    ferry_status st = FERRY_OK;

    *used = 0;
    if (!bytes) return last_line(ctx, s);
    FERRY_NEED(ctx, !s->broken, FERRY_EIO,
               "%s: the stream has failed and must be opened again", s->folder);
    while (*used < n && ferry_stream_due(s) != 0) {
        const char *from = bytes + *used, *end = memchr(from, '\n', (size_t)(n - *used));
        if (!end) {
            FERRY_TRY(line_goes_on(ctx, s, from, n - *used));
            *used = n;
            break;
        }
        *used += end - from + 1;
        FERRY_TRY(line_ends(ctx, s, from, end - from));
    }
done:
    return st;
}
