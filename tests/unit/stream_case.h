/* What the tests of streams share: a small model, folders, lines in and answers out. */
#ifndef STREAM_CASE_H
#define STREAM_CASE_H

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "small_task.h"
#include "stream/folder.h"

static const double rows[] = {1, 0, 0, 1, 0, 1, 1, 0, 2, 0, 1, 1, 0, 3, 1, 0};

/* A model of mpa with 4 features and the classes a and b, saved under a name. */
static inline const char *make_model(ferry_ctx *ctx, const char *name, const char *settings)
{
    ferry_domain *d = small_domain(ctx, "t", FERRY_TARGET, 4, 4, rows);
    ferry_task *task = NULL;
    ferry_model *m = NULL;
    const char *path = tmp_path(name);

    small_classes(ctx, d, "abab");
    task = small_task(ctx, FERRY_CLASSIFY, NULL, d);
    m = fit_model(ctx, task, "mpa", settings);
    assert_ok(ctx, ferry_model_save(ctx, m, path));
    ferry_model_free(m);
    ferry_task_free(task);
    return path;
}

static inline void remove_state(const char *name)
{
    static const char *const files[] = {"log",  "snapshot.ferry", "lock",    "1.ferry",
                                        "head", "log.damaged",    "log.new", "2.ferry"};
    char path[128];

    for (int64_t i = 0; i < FERRY_COUNT(files); i++) {
        (void)snprintf(path, sizeof path, "%s/%s", name, files[i]);
        (void)unlink(tmp_path(path));
    }
    (void)rmdir(tmp_path(name));
}

/* Tests need no disk: syncing is left out, but for what a test puts in its place. */
static int no_sync(int fd)
{
    (void)fd;
    return 0;
}

static int quick_setup(void **state)
{
    ferry_i_wal_calls.sync = no_sync;
    return ctx_setup(state);
}

static inline ferry_stream *open_with(ferry_ctx *ctx, const char *model, const char *state,
                                      const char *settings)
{
    ferry_opts *opts = settings_of(ctx, settings);
    ferry_stream *s = NULL;

    assert_ok(ctx, ferry_stream_open(ctx, tmp_path(model), tmp_path(state), opts, &s));
    ferry_opts_free(opts);
    s->seconds = 1e9; /* no test depends on the clock */
    return s;
}

/* Feed lines and commit; the answers. Lent until the next call. */
static inline const char *answers_to(ferry_ctx *ctx, ferry_stream *s, const char *lines)
{
    static char all[65536];
    int64_t n = (int64_t)strlen(lines), used = 0, got = 0;
    const char *text = NULL;

    all[0] = 0;
    while (n > 0) {
        assert_ok(ctx, ferry_stream_feed(ctx, s, lines, n, &used));
        lines += used;
        n -= used;
        assert_ok(ctx, ferry_stream_commit(ctx, s, 1, &text, &got));
        strncat(all, text, (size_t)got);
    }
    return all;
}

static inline void assert_has(const char *text, const char *part)
{
    if (strstr(text, part)) return;
    print_error("\"%s\" is not in \"%s\"\n", part, text);
    fail();
}

/* The state as bytes: what a snapshot of it would hold. */
static inline char *state_bytes(ferry_ctx *ctx, const ferry_stream *s, int64_t *n)
{
    ferry_dict *dict = NULL;
    struct stat info;
    const char *path = tmp_path("state.ferry");

    assert_ok(ctx, ferry_i_dict_new(ctx, &dict));
    assert_ok(ctx, ferry_i_snapshot_pack(ctx, s->worker, dict));
    assert_ok(ctx, ferry_i_dict_save(ctx, dict, path));
    ferry_i_dict_free(dict);
    assert_int_equal(stat(path, &info), 0);
    *n = info.st_size;
    return slurp(path);
}

static inline void assert_same_state(ferry_ctx *ctx, const ferry_stream *a,
                                     const ferry_stream *b)
{
    int64_t na = 0, nb = 0;
    char *x = state_bytes(ctx, a, &na), *y = state_bytes(ctx, b, &nb);

    assert_int_equal(na, nb);
    assert_memory_equal(x, y, (size_t)na);
    free(x);
    free(y);
}

#endif
