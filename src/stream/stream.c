/* A stream that is kept in a folder: committing and snapshots. open.c opens it. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "stream/folder.h"

#define T stream_settings
const ferry_opt ferry_i_stream_table[] = {
    FERRY_OPT_ONE_OF(T, sync, "always|batch|off", "batch",
                     "when answers go out: after a sync of each, of up to 64 or 50 ms, or "
                     "without one"),
    FERRY_OPT_ONE_OF(T, format, "ndjson|csv|svmlight", "ndjson",
                     "how the lines are written"),
    FERRY_OPT(T, INT, waiting, 1000, 0, 1e7,
              "instances that may wait for a label; the oldest is forgotten first"),
    FERRY_OPT(T, INT, snapshot, 10000, 1, 1e12,
              "records from one snapshot to the next (fewer when they are large)"),
    FERRY_OPT(T, INT, remember, 0, 0, 1e7,
              "ids whose label was learned that are remembered: the same one again is "
              "answered as repeated and not learned twice"),
    FERRY_OPT_YES_NO(T, scores, "no", "answer with the scores of all classes"),
};
const int64_t ferry_i_stream_table_n = FERRY_COUNT(ferry_i_stream_table);
const ferry_opt_table ferry_i_stream_options = {ferry_i_stream_table,
                                                FERRY_COUNT(ferry_i_stream_table)};
#undef T

/* ---- snapshots ---- */

/* How this process computes: other kernels may give other last bits. */
void ferry_i_stream_kernels(const ferry_ctx *ctx, char *text, size_t size)
{
    (void)snprintf(text, size, "%s %s %d", ferry_i_ctx_engine(ctx), ferry_i_blas_core(),
                   ctx->threads);
}

/* A session record: how many may wait from here on, and the kernels. */
ferry_status ferry_i_stream_session(ferry_ctx *ctx, ferry_stream *s)
{
    ferry_outcome none;
    char text[128];

    ferry_i_stream_kernels(ctx, text, sizeof text);
    const ferry_record r = {.kind = FERRY_RECORD_SESSION,
                            .seq = s->worker->seq,
                            .id = "",
                            .y = text,
                            .y_n = (int64_t)strlen(text),
                            .n = s->set.waiting};
    FERRY_PASS(ferry_i_wal_add(ctx, s->log, &r));
    return ferry_i_worker_apply(ctx, s->worker, &r, &none);
}

/* Segments that nobody needs: neither a version that follows from far behind, nor one to come
 * that replays the last labels. */
static void drop_segments(ferry_stream *s)
{
    int64_t labels = 0, bytes = 0, end = s->log->base.after, first = s->segments;

    while (first > 0 && (end > s->needed || (labels < s->keep && bytes < 2 * LOG_MOST))) {
        first--;
        labels += s->segment[first].labels;
        bytes += s->segment[first].bytes;
        end = s->segment[first].after;
    }
    for (int64_t i = 0; i < first; i++) {
        char *name = ferry_i_segment_name(s->segment[i].after);
        char *path = name ? ferry_i_path_join(s->folder, name) : NULL;
        if (path) (void)unlink(path);
        FERRY_FREE(name, path);
    }
    s->segments -= first;
    memmove(s->segment, s->segment + first, (size_t)s->segments * sizeof *s->segment);
}

/* The log begins anew after what the snapshot has. */
ferry_status ferry_i_stream_new_log(ferry_ctx *ctx, ferry_stream *s)
{
    ferry_status st = FERRY_OK;
    const ferry_wal *old = s->serves > 0 ? s->log : NULL;
    const ferry_wal_base base = {s->worker->hash, s->worker->seq, s->serves,
                                 old ? old->last_chain : 0};
    ferry_segment was = {.after = old ? old->base.after : 0,
                         .bytes = old ? old->size : 0,
                         .labels = s->labels};
    char *keep = NULL;
    ferry_wal *log = NULL;

    if (old)
        FERRY_HAVE(ctx, FERRY_GROW(s->segment, s->segments, s->segment_cap) &&
                            (keep = ferry_i_segment_name(was.after)));
    st = ferry_i_wal_create(ctx, s->folder, &base, keep, &s->head, &log);
    if (log) {
        ferry_i_wal_free(s->log);
        s->log = log;
        if (old) s->segment[s->segments++] = was;
        s->labels = 0;
        s->broken = s->broken || st != FERRY_OK;
    }
    FERRY_TRY(st);
    if (old) drop_segments(s);
    s->snapshot_records = s->set.snapshot;
    s->snapshot_bytes = LOG_MOST;
done:
    ferry_i_free(keep);
    return st;
}

/* A snapshot replaces the log: once it stands under its name, a log that begins after it
 * is enough to come back. The order matters. The log is durable first, so that it never
 * ends before the snapshot; the snapshot is complete and its name durable before the log
 * begins anew. Whatever moment the power goes at, one pair of files that fit together is
 * there. */
ferry_status ferry_i_stream_snapshot(ferry_ctx *ctx, ferry_stream *s)
{
    ferry_status st = FERRY_OK;
    ferry_dict *dict = NULL;

    /* The log must never end before the snapshot; otherwise it was synced already. */
    if (s->log && s->set.sync == SYNC_OFF) FERRY_TRY(ferry_i_wal_flush(ctx, s->log, true));
    if (s->serves > 0) {
        FERRY_TRY(ferry_i_version_save(ctx, s->folder, s->worker));
        if (s->log &&
            s->log->last == s->log->base.after) { /* a new one would be as empty */
            s->snapshot_records = s->log->records + s->set.snapshot;
            goto done;
        }
        FERRY_TRY(ferry_i_stream_new_log(ctx, s));
        goto done;
    }
    FERRY_TRY(ferry_i_dict_new(ctx, &dict));
    FERRY_TRY(ferry_i_snapshot_pack(ctx, s->worker, dict));
    FERRY_TRY(ferry_i_folder_save(ctx, dict, s->snapshot));
    FERRY_TRY(ferry_i_sync_folder(ctx, s->folder));
    FERRY_TRY(ferry_i_stream_new_log(ctx, s));
done:
    ferry_i_dict_free(dict);
    return st;
}

/* Replaying costs about as much as the work did: a bound on the log bounds the time to
 * come back. */
static bool wants_snapshot(const ferry_stream *s)
{
    return s->log->records >= s->snapshot_records || s->log->size >= s->snapshot_bytes;
}

/* A snapshot when the log has grown enough. Without one nothing is lost: try again
 * later. */
static ferry_status maybe_snapshot(ferry_ctx *ctx, ferry_stream *s)
{
    ferry_status st = FERRY_OK;

    if (!wants_snapshot(s)) goto done;
    st = ferry_i_stream_snapshot(ctx, s);
    if (st == FERRY_OK) st = ferry_i_stream_session(ctx, s);
    if (st == FERRY_OK || s->broken) goto done;
    st = FERRY_OK;
    ferry_i_log(ctx, FERRY_WARN, "no snapshot after record %lld: %s (the log goes on)",
                (long long)s->worker->seq, ferry_message(ctx));
    s->snapshot_records = s->log->records + s->set.snapshot;
    s->snapshot_bytes = s->log->size + LOG_MOST;
done:
    return st;
}

/* ---- working ---- */

/* Enough for a batch. */
static bool is_full(const ferry_stream *s)
{
    return s->now.n >= BATCH_LINES || s->log->used >= BATCH_BYTES;
}

/* How long the oldest answer may still wait. An answer goes out only when its record is
 * durable; waiting a little lets many records share one sync, which costs milliseconds. */
double ferry_stream_due(const ferry_stream *s)
{
    if (!s) return 0;
    const stream_answers *first = s->flying.n > 0 ? &s->flying : &s->now;

    if (first->n == 0) return -1;
    if (s->now.n > 0 && s->set.sync == SYNC_ALWAYS) return 0;
    /* While the batch before is being synced this one may grow. */
    if (is_full(s) && (!ferry_i_wal_busy(s->log) || s->now.n >= BATCH_MOST ||
                       s->log->used >= BATCH_BYTES))
        return 0;
    const double left = first->since + s->seconds - ferry_i_clock();
    return left > 0 ? left : 0;
}

/* All answers, returned; with errors in place of those that were not kept. */
static ferry_status hand_out(ferry_ctx *ctx, ferry_stream *s, ferry_status st)
{
    char why[512];

    s->broken = s->broken || st != FERRY_OK;
    (void)snprintf(why, sizeof why, "not acknowledged: %s", ferry_message(ctx));
    ferry_i_answers_hand_out(s, &s->flying, s->broken ? why : NULL);
    ferry_i_answers_hand_out(s, &s->now, s->broken ? why : NULL);
    return st;
}

/* What is returned, as the caller gets it. */
static ferry_status give(ferry_ctx *ctx, ferry_stream *s, ferry_status st,
                         const char **answers, int64_t *n)
{
    if (s->returned.text.failed) { /* better no answer than a wrong one */
        ferry_i_answers_free(&s->returned);
        if (st == FERRY_OK) st = ferry_i_nomem(ctx);
        s->broken = true;
    }
    *answers = s->returned.text.len > 0 ? s->returned.text.s : "";
    *n = s->returned.text.len;
    return st;
}

/* Write, sync, then answer: nothing is acknowledged that could still be lost. After a
 * failure the memory may be ahead of the log, so the stream is broken: every answer that
 * promised something turns into an error, and only a fresh start from the folder goes on. */
static ferry_status commit(ferry_ctx *ctx, ferry_stream *s, const char **answers,
                           int64_t *n)
{
    ferry_status st = FERRY_OK;

    ferry_i_answers_clear(&s->returned);
    if (!s->broken) {
        st = ferry_i_wal_flush(ctx, s->log, s->set.sync != SYNC_OFF);
        if (st == FERRY_OK) st = maybe_snapshot(ctx, s);
    }
    return give(ctx, s, hand_out(ctx, s, st), answers, n);
}

/* Two batches at once: while one is being synced by another thread, the next is worked on.
 * The answers of the first go out when the second is handed over, that is, when the first
 * is known to be durable. Falls back to a plain commit for small batches and before a
 * snapshot, which needs the log at rest. */
ferry_status ferry_stream_commit(ferry_ctx *ctx, ferry_stream *s, int wait,
                                 const char **answers, int64_t *n)
{
    FERRY_ARGS(ctx, s, answers, n);

    ferry_status st = FERRY_OK;

    if (wait || s->broken || s->set.sync != SYNC_BATCH || !is_full(s) || wants_snapshot(s))
        return commit(ctx, s, answers, n);
    ferry_i_answers_clear(&s->returned);
    st = ferry_i_wal_begin(ctx, s->log);
    if (st != FERRY_OK) {
        st = hand_out(ctx, s, st);
    } else {
        const stream_answers empty = s->flying;
        ferry_i_answers_hand_out(s, &s->flying, NULL);
        s->flying = s->now;
        s->now = empty;
        ferry_i_answers_clear(&s->now);
    }
    return give(ctx, s, st, answers, n);
}

int64_t ferry_stream_seq(const ferry_stream *s)
{
    if (!s) return 0;
    return s->worker->seq;
}

/* A clean end writes a snapshot, so that the next start need not replay anything. */
ferry_status ferry_stream_close(ferry_ctx *ctx, ferry_stream *s)
{
    FERRY_ARGS(ctx, s);

    ferry_status st = FERRY_OK;

    if (!s->broken) {
        FERRY_TRY(ferry_i_wal_flush(ctx, s->log, s->set.sync != SYNC_OFF));
        FERRY_TRY(ferry_i_stream_snapshot(ctx, s));
    }
done:
    ferry_i_stream_free(s);
    return st;
}

/* Close the lock last: while it is held nobody else sees half of this. */
void ferry_i_stream_free(ferry_stream *s)
{
    if (!s) return;
    ferry_i_wal_free(s->log);
    ferry_i_head_close(&s->head);
    if (!s->borrowed) ferry_i_worker_free(s->worker);
    ferry_i_free(s->segment);
    ferry_i_text_free(&s->part);
    ferry_i_line_free(&s->parsed);
    ferry_i_header_free(&s->header);
    ferry_i_answers_free(&s->now);
    ferry_i_answers_free(&s->flying);
    ferry_i_answers_free(&s->returned);
    FERRY_FREE(s->folder, s->snapshot);
    if (s->lock >= 0) (void)close(s->lock);
    ferry_i_free(s);
}
