/* One version of a model: its file, and what it has learned since. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "server/serve.h"

serve_version *ferry_i_version_ref(serve_version *v)
{
    if (v) v->refs++;
    return v;
}

void ferry_i_version_free(serve_version *v)
{
    if (!v || --v->refs > 0) return;
    ferry_i_worker_free(v->worker);
    ferry_model_free(v->own);
    pthread_rwlock_destroy(&v->lock);
    pthread_mutex_destroy(&v->mutex);
    FERRY_FREE(v->name, v->path, v->drift.mean, v->drift.missing, v);
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
    *v = (serve_version){.server = s, .number = number, .shadow = shadow, .refs = 1};
    v->mistake = -1;
    v->fresh = true;
    pthread_rwlockattr_init(&kind);
    pthread_rwlockattr_setkind_np(&kind, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&v->lock, &kind);
    pthread_rwlockattr_destroy(&kind);
    pthread_mutex_init(&v->mutex, NULL);
    v->name = ferry_i_strdup(name);
    v->path = ferry_i_strdup(path);
    FERRY_HAVE(ctx, v->name && v->path);
    FERRY_MOVE(*out, v);
done:
    ferry_i_version_free(v);
    return st;
}

/* One question whose answer nobody reads: what it needs is loaded and was found to work. */
static ferry_status warm(ferry_ctx *ctx, serve_version *v)
{
    ferry_status st = FERRY_OK;
    serve_batch *b = NULL;

    if (ferry_i_served_about(v->model).goal == FERRY_RATE) goto done;
    FERRY_NEED(ctx, ferry_i_served_about(v->model).views == 1, FERRY_ENEEDS,
               "%s: has %lld views; a server takes models of one view, or of ratings",
               v->path, (long long)ferry_i_served_about(v->model).views);
    FERRY_NEW(ctx, b, 1);
    ferry_i_batch_clear(b, ferry_i_served_about(v->model).columns);
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
static ferry_status watch_inputs(ferry_ctx *ctx, serve_version *v, const ferry_model *model)
{
    ferry_status st = FERRY_OK;
    const int64_t cols =
        ferry_i_served_inputs(model) ? ferry_i_served_about(model).columns : 0;

    FERRY_NEW(ctx, v->drift.mean, cols);
    FERRY_NEW(ctx, v->drift.missing, cols);
    v->drift.cols = cols;
done:
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
    FERRY_TRY(ferry_i_version_model(ctx, path, &v->hash, &v->own));
    v->model = v->own;
    FERRY_TRY(warm(ctx, v));
    FERRY_TRY(watch_inputs(ctx, v, v->model));
    v->learns = s->set.state[0] && ferry_i_served_about(v->model).streams &&
                ferry_i_served_about(v->model).views == 1;
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

ferry_status ferry_i_version_revive(ferry_ctx *ctx, serve_writer *w,
                                    const ferry_stream *stream, serve_version **out)
{
    ferry_status st = FERRY_OK;
    serve_version *v = NULL;

    FERRY_TRY(
        new_version(ctx, w->server, w->name, stream->serves, false, stream->snapshot, &v));
    FERRY_TRY(watch_inputs(ctx, v, stream->worker->model));
    v->hash = stream->worker->hash;
    v->writer = w;
    v->learns = true;
    v->size = -1;
    FERRY_MOVE(*out, v);
done:
    ferry_i_version_free(v);
    return st;
}

void ferry_i_version_set(serve_version *v, ferry_worker *worker)
{
    pthread_rwlock_wrlock(&v->lock);
    ferry_worker *old = v->worker;
    ferry_model *own = v->own;
    v->worker = worker;
    v->model = worker->model;
    v->own = NULL;
    pthread_rwlock_unlock(&v->lock);
    if (old != worker) ferry_i_worker_free(old);
    ferry_model_free(own);
}

/* Of a model of its own: the version's answers whoever asks meanwhile. */
ferry_status ferry_i_version_worker(ferry_ctx *ctx, const serve_version *v,
                                    ferry_worker **out)
{
    ferry_status st = FERRY_OK;
    ferry_worker *w = NULL;
    ferry_model *model = NULL;
    ferry_hash hash;

    *out = NULL;
    FERRY_NEW(ctx, w, 1);
    FERRY_TRY(ferry_i_version_model(ctx, v->path, &hash, &model));
    FERRY_TRY(ferry_i_worker_open(ctx, v->path, model, hash, w));
    FERRY_NEED(ctx, memcmp(&hash, &v->hash, sizeof hash) == 0, FERRY_EDATA,
               "%s: changed while it was read", v->path);
    FERRY_HAVE(ctx, ferry_i_learned_resize(&w->learned, v->server->set.remember));
    w->version = v->number;
    w->following = FERRY_LEFT;
    FERRY_MOVE(*out, w);
done:
    ferry_i_worker_free(w);
    return st;
}
