/* One version of a model: its file, and where it learns its state. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "serve/serve.h"

serve_version *ferry_i_version_ref(serve_version *v)
{
    if (v) v->refs++;
    return v;
}

void ferry_i_version_free(serve_version *v)
{
    if (!v || --v->refs > 0) return;
    ferry_stream_free(v->stream);
    ferry_model_free(v->own);
    ferry_i_version_free(v->beside);
    if (v->labels) (void)fclose(v->labels);
    pthread_rwlock_destroy(&v->lock);
    pthread_mutex_destroy(&v->mutex);
    pthread_cond_destroy(&v->wake);
    pthread_cond_destroy(&v->idle);
    ferry_ctx_free(v->ctx);
    FERRY_FREE(v->name, v->path, v->folder, v->labels_path, v->drift.mean, v->drift.missing,
               v);
}

/* Writers come first: a stream of predictions shall not keep labels waiting. */
static ferry_status new_version(ferry_ctx *ctx, ferry_server *s, const char *name,
                                int64_t number, bool shadow, const char *path,
                                serve_version **out)
{
    ferry_status st = FERRY_OK;
    serve_version *v = NULL;
    pthread_rwlockattr_t kind;

    FERRY_NEW(ctx, v, 1);
    *v = (serve_version){
        .server = s, .number = number, .shadow = shadow, .refs = 1, .replayed = -1};
    v->last = &v->first;
    v->open_end = &v->open;
    v->mistake = -1;
    pthread_rwlockattr_init(&kind);
    pthread_rwlockattr_setkind_np(&kind, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&v->lock, &kind);
    pthread_rwlockattr_destroy(&kind);
    pthread_mutex_init(&v->mutex, NULL);
    pthread_cond_init(&v->wake, NULL);
    pthread_cond_init(&v->idle, NULL);
    v->name = ferry_i_strdup(name);
    v->path = ferry_i_strdup(path);
    FERRY_HAVE(ctx, v->name && v->path && ferry_i_serve_context(s, &v->ctx) == FERRY_OK);
    FERRY_MOVE(*out, v);
done:
    ferry_i_version_free(v);
    return st;
}

static ferry_status set_number(ferry_ctx *ctx, ferry_opts *opts, const char *key, int64_t n)
{
    char text[32];

    (void)snprintf(text, sizeof text, "%lld", (long long)n);
    return ferry_opts_set(ctx, opts, key, text);
}

ferry_status ferry_i_version_stream(ferry_ctx *ctx, serve_version *v, ferry_stream **out)
{
    static const char *const sync[] = {"always", "batch", "off"};
    ferry_status st = FERRY_OK;
    const serve_settings *set = &v->server->set;
    ferry_opts *opts = NULL;

    FERRY_TRY(ferry_opts_new(ctx, &opts));
    FERRY_TRY(ferry_opts_set(ctx, opts, "sync", sync[set->sync]));
    FERRY_TRY(set_number(ctx, opts, "waiting", set->waiting));
    FERRY_TRY(set_number(ctx, opts, "remember", set->remember));
    FERRY_TRY(set_number(ctx, opts, "snapshot", set->snapshot));
    FERRY_TRY(ferry_stream_open(ctx, v->path, v->folder, opts, out));
    (*out)->watch = ferry_i_version_watch;
    (*out)->watcher = v;
    v->seq = (*out)->worker.seq;
    v->waiting = (*out)->worker.queue.n;
done:
    ferry_opts_free(opts);
    return st;
}

/* STATE/NAME/VERSION, with the labels of all versions beside it. */
static ferry_status open_state(ferry_ctx *ctx, serve_version *v)
{
    const char *state = v->server->set.state;

    v->folder = ferry_i_sprintf("%s/%s/%lld", state, v->name, (long long)v->number);
    v->labels_path = ferry_i_sprintf("%s/%s/labels.ndjson", state, v->name);
    if (!v->folder || !v->labels_path) return ferry_i_nomem(ctx);
    ferry_model_free(v->own);
    v->own = NULL;
    FERRY_PASS(ferry_i_version_stream(ctx, v, &v->stream));
    v->model = v->stream->worker.model;
    return FERRY_OK;
}

static ferry_status open_labels(ferry_ctx *ctx, serve_version *v)
{
    if (!v->folder || v->shadow || v->server->set.keep == 0) return FERRY_OK;
    v->labels = fopen(v->labels_path, "ae");
    if (v->labels && fseek(v->labels, 0, SEEK_END) == 0) {
        v->labels_bytes = ftell(v->labels);
        return FERRY_OK;
    }
    return ferry_i_fail(ctx, FERRY_EIO, "%s: cannot write: %s", v->labels_path,
                        strerror(errno));
}

/* One question whose answer nobody reads: what it needs is loaded and was found to work. */
static ferry_status warm(ferry_ctx *ctx, serve_version *v)
{
    ferry_status st = FERRY_OK;
    serve_batch *b = NULL;

    if (v->model->goal == FERRY_RATE) goto done;
    FERRY_NEED(ctx, v->model->n_views == 1, FERRY_ENEEDS,
               "%s: has %lld views; a server takes models of one view, or of ratings",
               v->path, (long long)v->model->n_views);
    FERRY_NEW(ctx, b, 1);
    ferry_i_batch_clear(b, ferry_model_columns(v->model));
    double *x = NULL;
    FERRY_TRY(ferry_i_batch_dense(ctx, b, &x));
    memset(x, 0, (size_t)b->cols * sizeof *x);
    st = ferry_i_batch_predict(ctx, v, b);
    if (st != FERRY_OK) (void)ferry_i_prefix(ctx, st, "%s", v->path);
done:
    ferry_i_batch_free(b);
    v->server->rows -= v->rows;
    v->rows = 0;
    return st;
}

/* Room for running means, where the model knows what to compare them with. */
static ferry_status watch_inputs(ferry_ctx *ctx, serve_version *v)
{
    ferry_status st = FERRY_OK;
    const int64_t cols = v->model->inputs ? ferry_model_columns(v->model) : 0;

    FERRY_NEW(ctx, v->drift.mean, cols);
    FERRY_NEW(ctx, v->drift.missing, cols);
    v->drift.cols = cols;
done:
    return st;
}

/* Feed lines, and forget the answers. */
static ferry_status feed(ferry_ctx *ctx, ferry_stream *s, const char *text, int64_t n)
{
    ferry_status st = FERRY_OK;
    const char *answers = NULL;
    int64_t used = 0, some = 0;

    s->only = 0; /* the last request to a version that serves again may have set it */
    for (; n > 0 && st == FERRY_OK; text += used, n -= used) {
        FERRY_TRY(ferry_stream_feed(ctx, s, text, n, &used));
        FERRY_TRY(ferry_stream_turn(ctx, s, &answers, &some));
    }
    FERRY_TRY(ferry_stream_end(ctx, s)); /* a last line that a crash cut short */
    FERRY_TRY(ferry_stream_commit(ctx, s, &answers, &some));
done:
    return st;
}

/* Learn the whole lines of a file of kept labels from byte *at on, which goes behind them; the
 * last line may be half written. Labels that were not acknowledged and came again are in the
 * files twice, and learned once. Old ones say nothing about how the version does now. */
static ferry_status learn_kept(ferry_ctx *ctx, serve_version *v, const char *path,
                               int64_t *at)
{
    ferry_status st = FERRY_OK;
    uint8_t *bytes = NULL;
    int64_t n = 0;

    FERRY_TRY(ferry_i_folder_read(ctx, path, &bytes, &n));
    while (n > *at && bytes[n - 1] != '\n')
        n--;
    v->stream->watch = NULL;
    v->stream->kept = true;
    if (n > *at) {
        FERRY_TRY(feed(ctx, v->stream, (const char *)bytes + *at, n - *at));
        *at = n;
    }
done:
    v->stream->kept = false;
    v->stream->watch = ferry_i_version_watch;
    v->seq = v->stream->worker.seq;
    ferry_i_free(bytes);
    return st;
}

static uint64_t file_number(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 ? (uint64_t)info.st_ino : 0;
}

/* A version that has seen nothing yet learns the labels that earlier ones were given; what they
 * are given meanwhile it catches up with when it takes their place. The file may have become
 * the old one since. */
static ferry_status replay(ferry_ctx *ctx, serve_version *v)
{
    ferry_status st = FERRY_OK;
    char *old = ferry_i_sprintf("%s.old", v->labels_path);
    const uint64_t now = file_number(v->labels_path);
    const bool first = v->replayed < 0;
    int64_t from = first ? 0 : v->replayed;

    FERRY_HAVE(ctx, old);
    if (first || (v->replayed_of && now != v->replayed_of)) {
        FERRY_TRY(learn_kept(ctx, v, old, &from));
        v->replayed = 0;
    }
    v->replayed_of = now;
    FERRY_TRY(learn_kept(ctx, v, v->labels_path, &v->replayed));
done:
    ferry_i_free(old);
    return st;
}

/* Instances that wait in the other version wait in this one too, with the answer that was
 * given, so that their labels are not lost with the change. */
ferry_status ferry_i_version_take_over(ferry_ctx *ctx, serve_version *to,
                                       serve_version *from)
{
    ferry_status st = FERRY_OK;
    ferry_text t = {0};

    pthread_rwlock_wrlock(&to->lock); /* its model answers whoever asks for it by number */
    if (to->stream && to->replayed >= 0) FERRY_TRY(replay(ctx, to));
    if (!to->stream || !from->stream) goto done;
    to->stream->watch = NULL;
    for (ferry_waiting *w = from->stream->worker.queue.oldest; w; w = w->newer) {
        const ferry_row x = {w->n, w->index, w->value};
        ferry_queue *queue = &to->stream->worker.queue;
        const int64_t id_n = (int64_t)strlen(w->id);
        if (ferry_i_queue_find(queue, w->id, id_n)) continue;
        t.len = 0;
        ferry_i_row_line(&t, w->id, id_n, &x, NULL);
        FERRY_HAVE(ctx, !t.failed);
        FERRY_TRY(feed(ctx, to->stream, t.s, t.len));
        ferry_waiting *now = ferry_i_queue_find(queue, w->id, id_n);
        const char *name = ferry_model_class_at(from->stream->worker.model, w->answer);
        if (now && name)
            now->answer = (int32_t)ferry_i_ids_find(to->stream->worker.model->names, name);
    }
done:
    if (to->stream) {
        to->stream->watch = ferry_i_version_watch;
        to->waiting = to->stream->worker.queue.n;
    }
    pthread_rwlock_unlock(&to->lock);
    ferry_i_text_free(&t);
    return st;
}

/* A file that changes while it is read is one that is still being written. */
ferry_status ferry_i_version_open(ferry_ctx *ctx, ferry_server *s, const char *name,
                                  int64_t number, bool shadow, const char *path,
                                  serve_version **out)
{
    ferry_status st = FERRY_OK;
    serve_version *v = NULL;
    struct stat before, after;

    *out = NULL;
    FERRY_NEED(ctx, stat(path, &before) == 0, FERRY_EDATA, "%s: cannot read: %s", path,
               strerror(errno));
    FERRY_TRY(new_version(ctx, s, name, number, shadow, path, &v));
    v->size = before.st_size;
    v->mtime = (int64_t)before.st_mtim.tv_sec * 1000000000 + before.st_mtim.tv_nsec;
    FERRY_TRY(ferry_model_load(ctx, path, NULL, &v->own));
    v->model = v->own;
    FERRY_TRY(warm(ctx, v));
    FERRY_TRY(watch_inputs(ctx, v));
    if (s->set.state[0] && ferry_model_streams(v->model)) FERRY_TRY(open_state(ctx, v));
    if (v->stream && s->set.replay && v->stream->worker.seq == 0) FERRY_TRY(replay(ctx, v));
    FERRY_TRY(open_labels(ctx, v));
    FERRY_NEED(ctx,
               stat(path, &after) == 0 && after.st_size == before.st_size &&
                   after.st_mtim.tv_sec == before.st_mtim.tv_sec &&
                   after.st_mtim.tv_nsec == before.st_mtim.tv_nsec,
               FERRY_EDATA, "%s: changed while it was read", path);
    FERRY_MOVE(*out, v);
done:
    ferry_i_version_free(v);
    return st;
}
