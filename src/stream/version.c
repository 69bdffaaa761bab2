/* Versions of a model name: they share one log, and each is a position in it and a snapshot.
 *
 * A version's file, N.ferry, is the version as of some record. From there on it takes the
 * records of the log in their order (ferry_i_worker_follow()): all of them once it follows,
 * labels alone while it replays what came before it, none when another serves in its place.
 * So what a version knows is a function of its file and the log, whoever died when.
 * docs/serve.md has the states; tests/cli/test_protocol.py tries every crash. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stream/folder.h"

char *ferry_i_version_path(const char *folder, int64_t version)
{
    return ferry_i_sprintf("%s/%lld.ferry", folder, (long long)version);
}

ferry_status ferry_i_version_load(ferry_ctx *ctx, const char *folder, int64_t version,
                                  int64_t remember, ferry_worker **out)
{
    ferry_status st = FERRY_OK;
    char *path = ferry_i_version_path(folder, version);
    ferry_dict *dict = NULL;
    ferry_worker *w = NULL;

    *out = NULL;
    FERRY_HAVE(ctx, path);
    if (access(path, F_OK) != 0 && errno == ENOENT) goto done;
    FERRY_TRY(ferry_i_dict_load(ctx, path, &dict));
    FERRY_NEW(ctx, w, 1);
    FERRY_TRY(ferry_i_snapshot_unpack(ctx, path, dict, w));
    FERRY_NEED(ctx, w->version == version, FERRY_EDATA, "%s: is of version %lld", path,
               (long long)w->version);
    if (remember >= 0) FERRY_HAVE(ctx, ferry_i_learned_resize(&w->learned, remember));
    FERRY_MOVE(*out, w);
done:
    ferry_i_worker_free(w);
    ferry_i_dict_free(dict);
    ferry_i_free(path);
    return st;
}

/* The first bytes of a file as a model: what is none need not be read, however large it is. */
static ferry_status begins_well(ferry_ctx *ctx, const char *path)
{
    ferry_status st = FERRY_OK;
    ferry_dict *dict = NULL;
    uint8_t head[16] = {0};
    uint64_t length = 0;
    struct stat info;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const ssize_t n = fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode)
                          ? pread(fd, head, sizeof head, 0)
                          : -1;

    for (int i = 7; i >= 0; i--)
        length = length << 8 | head[i];
    if (n == (ssize_t)sizeof head &&
        (head[8] != '{' || length > (uint64_t)info.st_size - 8)) {
        st = ferry_i_dict_parse(ctx, path, head, n, &dict);
        if (st == FERRY_OK) st = ferry_i_fail(ctx, FERRY_EDATA, "%s: is no model", path);
        ferry_i_dict_free(dict);
    }
    if (fd >= 0) (void)close(fd);
    return st;
}

ferry_status ferry_i_version_model(ferry_ctx *ctx, const char *path, ferry_hash *hash,
                                   ferry_model **out)
{
    ferry_status st = FERRY_OK;
    ferry_dict *dict = NULL;
    uint8_t *bytes = NULL;
    int64_t n = 0;

    FERRY_TRY(begins_well(ctx, path));
    FERRY_TRY(ferry_i_folder_read(ctx, path, &bytes, &n));
    FERRY_NEED(ctx, bytes, FERRY_EDATA, "%s: cannot read: %s", path, strerror(ENOENT));
    *hash = ferry_i_stream_hash(bytes, n);
    FERRY_TRY(ferry_i_dict_parse(ctx, path, bytes, n, &dict));
    FERRY_TRY(ferry_i_model_unpack(ctx, path, dict, NULL, out));
done:
    ferry_i_dict_free(dict);
    ferry_i_free(bytes);
    return st;
}

ferry_status ferry_i_version_save(ferry_ctx *ctx, const char *folder, const ferry_worker *w)
{
    ferry_status st = FERRY_OK;
    char *path = ferry_i_version_path(folder, w->version);
    ferry_dict *dict = NULL;

    FERRY_HAVE(ctx, path);
    FERRY_TRY(ferry_i_dict_new(ctx, &dict));
    FERRY_TRY(ferry_i_snapshot_pack(ctx, w, dict));
    FERRY_TRY(ferry_i_folder_save(ctx, dict, path));
    FERRY_TRY(ferry_i_sync_folder(ctx, folder));
done:
    ferry_i_dict_free(dict);
    ferry_i_free(path);
    return st;
}

ferry_status ferry_i_version_find(ferry_ctx *ctx, const char *folder, ferry_hash model,
                                  int64_t *version)
{
    ferry_status st = FERRY_OK;
    DIR *dir = opendir(folder);
    ferry_worker *w = NULL;

    *version = 0;
    for (struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir)) {
        const char *end = strchr(e->d_name, '.');
        int64_t n = 0;
        if (!end || strcmp(end, ".ferry") != 0 ||
            ferry_i_parse_int(e->d_name, end, &n) != end || n < 1)
            continue;
        FERRY_TRY(ferry_i_version_load(ctx, folder, n, 0, &w));
        if (w && w->hash.high == model.high && w->hash.low == model.low && n > *version)
            *version = n;
        ferry_i_worker_free(w);
        w = NULL;
    }
done:
    if (dir) (void)closedir(dir);
    return st;
}

/* What a version wrote itself must fit it; what others wrote need not. */
ferry_status ferry_i_version_follow(ferry_ctx *ctx, ferry_reader *d, ferry_worker *w,
                                    int64_t until)
{
    ferry_status st = FERRY_OK;
    ferry_record r = {.kind = FERRY_RECORD_SESSION};
    int64_t serves = 0, n = 0;
    bool end = false, finish = false;
    char why[256];

    FERRY_TRY(ferry_i_reader_until(ctx, d, until));
    while (w->following != FERRY_LEFT) {
        ferry_outcome out = {0};
        FERRY_TRY(ferry_i_reader_next(ctx, d, &r, &serves, &end));
        if (end) break;
        const bool own = serves == w->version && r.kind != FERRY_RECORD_SESSION &&
                         r.kind != FERRY_RECORD_RETRACT;
        FERRY_NEED(ctx, !own || ferry_i_worker_fits(w, &r, why, sizeof why), FERRY_EDATA,
                   "%s: is damaged: record %lld does not fit: %s; " REPAIR_HINT, d->path,
                   (long long)r.seq, why);
        if (w->following == FERRY_REPLAYS && ferry_i_is_retracted(d, &r)) {
            w->seq = r.seq;
            continue;
        }
        st = ferry_i_worker_follow(ctx, w, &r, serves, &out);
        ferry_i_outcome_free(&out);
        FERRY_TRY(st);
        if (++n % 64 == 0)
            FERRY_TRY(
                ferry_i_progress(ctx, "following the log", r.seq, until, NAN, &finish));
    }
done:
    return st;
}

/* ---- the log ---- */

/* The version's file first: a log says who serves, and that one is there. */
ferry_status ferry_i_shared_begin(ferry_ctx *ctx, ferry_stream *s, ferry_worker *w)
{
    ferry_status st = FERRY_OK;

    s->worker = w;
    s->serves = w->version;
    ferry_i_free(s->snapshot);
    FERRY_HAVE(ctx, s->snapshot = ferry_i_version_path(s->folder, w->version));
    w->seq = 0;
    w->following = FERRY_FOLLOWS;
    FERRY_TRY(ferry_i_version_save(ctx, s->folder, w));
    if (s->head.fd < 0) FERRY_TRY(ferry_i_head_create(ctx, s->folder, &s->head));
    FERRY_TRY(ferry_i_stream_new_log(ctx, s));
    FERRY_TRY(ferry_i_stream_session(ctx, s));
done:
    return st;
}

ferry_status ferry_i_shared_serve(ferry_ctx *ctx, ferry_stream *s, ferry_worker *w)
{
    ferry_status st = FERRY_OK;
    const ferry_record r = {.kind = FERRY_RECORD_SERVE,
                            .seq = s->worker->seq + 1,
                            .id = "",
                            .y = "",
                            .n = w->version};
    const ferry_record most = {.kind = FERRY_RECORD_SESSION, .n = s->worker->most};
    char *path = ferry_i_version_path(s->folder, w->version);
    ferry_outcome none;

    FERRY_HAVE(ctx, path);
    FERRY_NEED(ctx, w->seq == s->worker->seq && w->following == FERRY_FOLLOWS, FERRY_EINVAL,
               "version %lld is at record %lld, not at %lld", (long long)w->version,
               (long long)w->seq, (long long)s->worker->seq);
    FERRY_TRY(ferry_i_worker_apply(ctx, w, &most, &none));
    s->broken = true; /* until it is known what the log says */
    FERRY_TRY(ferry_i_wal_add(ctx, s->log, &r));
    FERRY_TRY(ferry_i_wal_flush(ctx, s->log, s->set.sync != SYNC_OFF));
    FERRY_TRY(ferry_i_worker_follow(ctx, s->worker, &r, s->serves, &none));
    FERRY_TRY(ferry_i_worker_follow(ctx, w, &r, s->serves, &none));
    s->serves = w->version;
    s->worker = w;
    ferry_i_free(s->snapshot);
    FERRY_MOVE(s->snapshot, path);
    s->broken = false;
done:
    ferry_i_free(path);
    return st;
}
