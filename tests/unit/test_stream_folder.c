/* The folder of a stream: crashes at any point, damage, strangers' files, a full disk. */
#include "stream_case.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <xxhash.h>

#include "stream/wal_bytes.h"

static const char *const lines = "{\"id\":\"1\",\"x\":[1,0,0,1]}\n"
                                 "{\"id\":\"2\",\"x\":[0,2,0,0.5],\"y\":\"b\"}\n"
                                 "{\"id\":\"1\",\"y\":\"b\"}\n"
                                 "{\"id\":\"3\",\"x\":{\"i\":[2],\"v\":[4]}}\n";

static ferry_stream *fresh(ferry_ctx *ctx, const char *settings)
{
    (void)make_model(ctx, "m.ferry", NULL);
    remove_state("s");
    return open_with(ctx, "m.ferry", "s", settings);
}

static ferry_status open_s(ferry_ctx *ctx, const char *model)
{
    ferry_stream *s = NULL;
    const ferry_status st =
        ferry_stream_open(ctx, tmp_path(model), tmp_path("s"), NULL, &s);

    assert_int_equal(!s, st != FERRY_OK);
    ferry_i_stream_free(s);
    return st;
}

/* A file of the state folder, whole. For free(). */
static char *file_of(const char *name, int64_t *n)
{
    struct stat info;
    char path[64];

    (void)snprintf(path, sizeof path, "s/%s", name);
    assert_int_equal(stat(tmp_path(path), &info), 0);
    *n = info.st_size;
    return slurp(tmp_path(path));
}

static void put_file(const char *name, const char *bytes, int64_t n)
{
    char path[64];

    (void)snprintf(path, sizeof path, "s/%s", name);
    (void)tmp_file(path, bytes, n);
}

static int64_t warned;
static char warning[512];
static void on_log(void *user, ferry_level level, const char *line)
{
    (void)user;
    (void)level;
    warned++;
    (void)snprintf(warning, sizeof warning, "%s", line);
}

/* The log cut at every byte of the last three records, of which nothing was acknowledged:
 * what was whole comes back to the same bits as a stream that had just those lines. When
 * they were, it is refused, also where the cut is between two records. */
static void test_truncated_log(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_stream *s = fresh(ctx, ""), *upto[5] = {0};
    int64_t end[5] = {0}, n = 0, n_head = 0;
    const char *at = lines;
    char *head = NULL;

    ferry_ctx_set_log(ctx, on_log, FERRY_WARN, NULL);
    for (int i = 0; i < 5; i++) {
        char name[8], one[128] = "";
        (void)snprintf(name, sizeof name, "u%d", i);
        remove_state(name);
        upto[i] = open_with(ctx, "m.ferry", name, "");
        (void)answers_to(ctx, upto[i], "{}\n"); /* the session's record */
        for (const char *l = lines; l < at;) {
            const char *next = strchr(l, '\n') + 1;
            memset(one, 0, sizeof one);
            memcpy(one, l, (size_t)(next - l));
            (void)answers_to(ctx, upto[i], one);
            l = next;
        }
        if (i == 4) break;
        const char *next = strchr(at, '\n') + 1;
        memset(one, 0, sizeof one);
        memcpy(one, at, (size_t)(next - at));
        (void)answers_to(ctx, s, one);
        if (i == 0) head = file_of("head", &n_head);
        at = next;
    }
    for (int i = 0; i < 5; i++)
        end[i] = upto[i]->log->size;
    assert_int_equal(s->log->size, end[4]);
    ferry_i_stream_free(s);
    char *log = file_of("log", &n);
    for (int64_t cut = end[1]; cut <= n; cut++) {
        int whole = 1;
        while (whole < 4 && end[whole + 1] <= cut)
            whole++;
        put_file("log", log, cut);
        if (cut < n)
            assert_fails(ctx, open_s(ctx, "m.ferry"), FERRY_EDATA, "ferry stream --repair");
        char *last = file_of("head", &n_head);
        put_file("head", head, n_head);
        warned = 0;
        s = open_with(ctx, "m.ferry", "s", "");
        assert_same_state(ctx, s, upto[whole]);
        assert_int_equal(warned, cut != end[whole]);
        if (warned) assert_has(warning, "s/log: dropped ");
        ferry_i_stream_free(s);
        put_file("head", last, n_head);
        free(last);
    }
    free(head);
    for (int i = 0; i < 5; i++)
        ferry_i_stream_free(upto[i]);
    free(log);
}

/* Every bit of snapshot and log: a state is never opened that no run has had. */
static void test_flipped_bits(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_stream *s = fresh(ctx, "sync=always");
    static const char *const files[] = {"log", "snapshot.ferry", "head"};
    int64_t n = 0;

    (void)answers_to(ctx, s, lines);
    assert_ok(ctx, ferry_stream_close(ctx, s));
    s = open_with(ctx, "m.ferry", "s", "sync=always");
    (void)answers_to(ctx, s, "{\"id\":\"3\",\"y\":\"a\"}\n{\"x\":[1,1,1,1],\"y\":\"b\"}\n");
    ferry_i_stream_free(s);
    for (int f = 0; f < 3; f++) {
        char *bytes = file_of(files[f], &n);
        for (int64_t bit = 0; bit < 8 * n; bit += f == 0 ? 1 : 37) {
            bytes[bit / 8] = (char)(bytes[bit / 8] ^ (1 << bit % 8));
            put_file(files[f], bytes, n);
            /* The head has two places, and one of them is enough. */
            assert_int_equal(open_s(ctx, "m.ferry"), f == 2 ? FERRY_OK : FERRY_EDATA);
            bytes[bit / 8] = (char)(bytes[bit / 8] ^ (1 << bit % 8));
        }
        put_file(files[f], bytes, n);
        free(bytes);
    }
    assert_ok(ctx, open_s(ctx, "m.ferry"));
    put_file("head", "", 0);
    assert_fails(ctx, open_s(ctx, "m.ferry"), FERRY_EDATA, "s/head: is damaged");
    (void)unlink(tmp_path("s/head"));
    assert_fails(ctx, open_s(ctx, "m.ferry"), FERRY_EDATA, "s/head: is missing");
}

/* What is left when the power goes between the steps of a snapshot. */
static void test_crash_around_a_snapshot(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_stream *s = fresh(ctx, ""), *whole = NULL;
    int64_t n_log = 0, n_head = 0, n = 0;

    remove_state("w");
    whole = open_with(ctx, "m.ferry", "w", "");
    (void)answers_to(ctx, whole, lines);
    (void)answers_to(ctx, s, lines);
    char *log = file_of("log", &n_log), *head = file_of("head", &n_head);
    assert_ok(ctx, ferry_stream_close(ctx, s));
    char *fresh_log = file_of("log", &n);
    /* New snapshot, old log, and half of what was to be next. */
    put_file("log", log, n_log);
    put_file("log.new", "FERRY", 5);
    put_file("head.new", "FERRY", 5);
    put_file("snapshot.ferry.tmp.123", "half", 4);
    s = open_with(ctx, "m.ferry", "s", "");
    assert_same_state(ctx, s, whole);
    assert_int_equal(access(tmp_path("s/log.new"), F_OK), -1);
    assert_int_equal(access(tmp_path("s/head.new"), F_OK), -1);
    assert_int_equal(access(tmp_path("s/snapshot.ferry.tmp.123"), F_OK), -1);
    assert_int_equal(s->log->size, 56); /* the log began anew */
    (void)answers_to(ctx, s, "{\"id\":\"3\",\"y\":\"a\"}\n");
    (void)answers_to(ctx, whole, "{\"id\":\"3\",\"y\":\"a\"}\n");
    ferry_i_stream_free(s);
    s = open_with(ctx, "m.ferry", "s", "");
    assert_same_state(ctx, s, whole);
    ferry_i_stream_free(s);
    /* An old log that stops short of the snapshot is not what was left. */
    put_file("log", log, n_log - 8);
    put_file("head", head, n_head);
    assert_fails(ctx, open_s(ctx, "m.ferry"), FERRY_EDATA,
                 "where record 4 should be: it had been acknowledged");
    /* Without the snapshot, without the log, without either. */
    put_file("log", fresh_log, n);
    (void)unlink(tmp_path("s/snapshot.ferry"));
    assert_fails(ctx, open_s(ctx, "m.ferry"), FERRY_EDATA,
                 "snapshot.ferry: is missing, but the log begins after record 4");
    put_file("log", log, n_log);
    s = open_with(ctx, "m.ferry", "s", "");
    assert_int_equal(ferry_stream_seq(s), 4);
    assert_ok(ctx, ferry_stream_close(ctx, s));
    (void)unlink(tmp_path("s/log"));
    assert_fails(ctx, open_s(ctx, "m.ferry"), FERRY_EDATA,
                 "s/log: is missing, though there is a snapshot");
    free(fresh_log);
    free(head);
    free(log);
    ferry_i_stream_free(whole);
}

/* A snapshot from before the log's beginning. */
static void test_old_snapshot(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_stream *s = fresh(ctx, "");
    int64_t n = 0;

    (void)answers_to(ctx, s, lines);
    assert_ok(ctx, ferry_stream_close(ctx, s));
    char *old = file_of("snapshot.ferry", &n);
    s = open_with(ctx, "m.ferry", "s", "");
    (void)answers_to(ctx, s, "{\"id\":\"3\",\"y\":\"a\"}\n");
    assert_ok(ctx, ferry_stream_close(ctx, s));
    put_file("snapshot.ferry", old, n);
    assert_fails(ctx, open_s(ctx, "m.ferry"), FERRY_EDATA,
                 "s/log: begins after record 5, but the snapshot ends with record 4");
    free(old);
}

static void test_wrong_models(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_stream *s = fresh(ctx, "");
    ferry_domain *d = small_domain(ctx, "t", FERRY_TARGET, 4, 4, rows);
    ferry_task *task = NULL;
    ferry_model *m = NULL;

    (void)answers_to(ctx, s, lines);
    ferry_i_stream_free(s);
    (void)make_model(ctx, "other.ferry", "C=0.5");
    assert_fails(ctx, open_s(ctx, "other.ferry"), FERRY_EDATA,
                 "s: holds the stream of another model than");
    s = open_with(ctx, "m.ferry", "s", "");
    assert_ok(ctx, ferry_stream_close(ctx, s));
    assert_fails(ctx, open_s(ctx, "other.ferry"), FERRY_EDATA, "another model");
    assert_fails(ctx, open_s(ctx, "none.ferry"), FERRY_EDATA, "none.ferry: cannot read");
    assert_fails(ctx, open_s(ctx, "s"), FERRY_EDATA, "is not a plain file");
    assert_fails(ctx, open_s(ctx, "s/log"), FERRY_EDATA, "not a Ferry model");
    small_classes(ctx, d, "abab");
    task = small_task(ctx, FERRY_CLASSIFY, NULL, d);
    m = fit_model(ctx, task, "svm", NULL);
    assert_ok(ctx, ferry_model_save(ctx, m, tmp_path("svm.ferry")));
    assert_fails(ctx, open_s(ctx, "svm.ferry"), FERRY_ENEEDS,
                 "svm.ferry: is a model of svm for the goal classify, which does not learn "
                 "from a stream");
    ferry_model_free(m);
    ferry_task_free(task);
}

static void test_one_at_a_time(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_stream *s = fresh(ctx, "");

    assert_fails(ctx, open_s(ctx, "m.ferry"), FERRY_EINVAL,
                 "s: is in use by another process");
    ferry_i_stream_free(s);
    assert_ok(ctx, open_s(ctx, "m.ferry"));
}

static void test_where_no_folder_can_be(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_stream *s = NULL;

    (void)make_model(ctx, "m.ferry", NULL);
    (void)tmp_file("plain", "x", 1);
    assert_fails(ctx,
                 ferry_stream_open(ctx, tmp_path("m.ferry"), tmp_path("plain"), NULL, &s),
                 FERRY_EIO, "plain");
    ferry_opts *opts = settings_of(ctx, "sync=never");
    assert_fails(ctx, ferry_stream_open(ctx, tmp_path("m.ferry"), tmp_path("s"), opts, &s),
                 FERRY_EINVAL, "sync");
    ferry_opts_free(opts);
    /* A folder below one that is not there yet. */
    assert_ok(ctx,
              ferry_stream_open(ctx, tmp_path("m.ferry"), tmp_path("d/e/s"), NULL, &s));
    ferry_i_stream_free(s);
}

/* ---- repairing ---- */

/* Where the records of s/log begin, sessions left out. */
static int64_t places(ferry_ctx *ctx, const char *log, int64_t n, int64_t at[])
{
    ferry_wal_scan scan;
    ferry_record r = {0};
    bool end = false;
    int64_t k = 0;

    assert_ok(ctx, ferry_i_wal_scan(ctx, "log", (const uint8_t *)log, n, &scan));
    for (at[0] = scan.at;; at[k] = scan.at) {
        assert_ok(ctx, ferry_i_wal_next(ctx, &scan, &r, &end));
        if (end) return k;
        k += r.kind != FERRY_RECORD_SESSION;
    }
}

static void repair_s(ferry_ctx *ctx, int64_t last, int64_t gone)
{
    ferry_repaired r;

    assert_ok(ctx, ferry_stream_repair(ctx, tmp_path("m.ferry"), tmp_path("s"), &r));
    assert_int_equal(r.damaged, 1);
    assert_int_equal(r.last, last);
    assert_int_equal(r.lost, gone);
    assert_ok(ctx, ferry_stream_repair(ctx, tmp_path("m.ferry"), tmp_path("s"), &r));
    assert_int_equal(r.damaged, 0);
    ferry_stream *s = open_with(ctx, "m.ferry", "s", "");
    assert_int_equal(ferry_stream_seq(s), last);
    ferry_i_stream_free(s);
}

/* Each record damaged in turn: the others are kept, but for a label whose instance is gone.
 * What comes out is what a stream without these lines has, but for the numbers. */
static void test_repair(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_repaired r;
    int64_t n = 0, n_head = 0, n_kept = 0, at[8];
    ferry_stream *s = fresh(ctx, "");

    (void)answers_to(ctx, s, lines);
    ferry_i_stream_free(s);
    assert_ok(ctx, ferry_stream_repair(ctx, tmp_path("m.ferry"), tmp_path("s"), &r));
    assert_int_equal(r.damaged + r.lost, 0);
    assert_int_equal(r.last, 4);
    char *log = file_of("log", &n), *head = file_of("head", &n_head);
    assert_int_equal(places(ctx, log, n, at), 4);
    for (int64_t i = 0; i < 4; i++) {
        remove_state("s");
        s = open_with(ctx, "m.ferry", "s", "");
        ferry_i_stream_free(s);
        log[at[i] + 50] ^= 1;
        put_file("log", log, n);
        put_file("head", head, n_head);
        assert_fails(ctx, open_s(ctx, "m.ferry"), FERRY_EDATA, "had been acknowledged");
        repair_s(ctx, i == 3 ? 3 : 4, i == 0 ? 2 : 1); /* 3 is the label of 1 */
        char *kept = file_of("log.damaged", &n_kept);
        assert_int_equal(n_kept, n);
        assert_memory_equal(kept, log, (size_t)n);
        free(kept);
        log[at[i] + 50] ^= 1;
    }
    /* The header; nothing at all; no head; the wrong model; a snapshot. */
    for (int way = 0; way < 3; way++) {
        (void)unlink(tmp_path("s/snapshot.ferry"));
        put_file("head", head, n_head);
        log[20] ^= 1;
        put_file("log", log, n);
        log[20] ^= 1;
        if (way == 1) (void)unlink(tmp_path("s/log"));
        if (way == 2) put_file("log", log, n), (void)unlink(tmp_path("s/head"));
        assert_int_equal(open_s(ctx, "m.ferry"), FERRY_EDATA);
        repair_s(ctx, way == 1 ? 0 : 4, way == 1 ? 4 : 0);
    }
    (void)unlink(
        tmp_path("s/log.damaged.2")); /* a second one did not overwrite the first */
    (void)make_model(ctx, "other.ferry", "C=0.5");
    assert_fails(ctx, ferry_stream_repair(ctx, tmp_path("other.ferry"), tmp_path("s"), &r),
                 FERRY_EDATA, "another model");
    assert_fails(ctx, ferry_stream_repair(ctx, tmp_path("m.ferry"), tmp_path("no"), &r),
                 FERRY_EDATA, "no: holds no stream");
    put_file("snapshot.ferry", "x", 1);
    assert_int_equal(ferry_stream_repair(ctx, tmp_path("m.ferry"), tmp_path("s"), &r),
                     FERRY_EDATA);
    free(head);
    free(log);
}

/* A folder of before there were heads: its log is read and converted. */
static void test_old_format(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_stream *s = fresh(ctx, ""), *whole = NULL;
    int64_t n = 0;

    remove_state("w");
    whole = open_with(ctx, "m.ferry", "w", "");
    (void)answers_to(ctx, whole, lines);
    (void)answers_to(ctx, s, lines);
    ferry_i_stream_free(s);
    char *log = file_of("log", &n);
    wal_header h;
    memcpy(&h, log, sizeof h);
    h.version = 1;
    h.check = XXH3_64bits(&h, offsetof(wal_header, check));
    memcpy(log, &h, sizeof h);
    for (int64_t at = sizeof h; at < n;) { /* `before` was how far it had been synced */
        wal_head r;
        memcpy(&r, log + at, sizeof r);
        r.before = sizeof h;
        memcpy(log + at, &r, sizeof r);
        const int64_t all = (int64_t)sizeof r + r.size;
        r.check = ferry_i_wal_check((const uint8_t *)log + at, all, h.nonce);
        memcpy(log + at, &r, sizeof r);
        at += all;
    }
    /* A record in its middle is damaged: refused, as in a new one. */
    log[sizeof h + 150] ^= 4;
    put_file("log", log, n);
    (void)unlink(tmp_path("s/head"));
    assert_fails(ctx, open_s(ctx, "m.ferry"), FERRY_EDATA, "it is followed by record");
    log[sizeof h + 150] ^= 4;
    put_file("log", log, n);
    s = open_with(ctx, "m.ferry", "s", "");
    assert_same_state(ctx, s, whole);
    (void)answers_to(ctx, s, "{\"id\":\"3\",\"y\":\"a\"}\n");
    (void)answers_to(ctx, whole, "{\"id\":\"3\",\"y\":\"a\"}\n");
    ferry_i_stream_free(s);
    s = open_with(ctx, "m.ferry", "s", "");
    assert_same_state(ctx, s, whole);
    ferry_i_stream_free(s);
    ferry_i_stream_free(whole);
    free(log);
    log = file_of("log", &n);
    assert_int_equal(log[8], 2);
    free(log);
}

/* With sync off an end that never reached the disk is told, not refused; a hole before
 * records that did is. */
static void test_off(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_stream *s = fresh(ctx, "sync=off");
    int64_t n = 0, at[8];

    ferry_ctx_set_log(ctx, on_log, FERRY_WARN, NULL);
    (void)answers_to(ctx, s, lines);
    ferry_i_stream_free(s);
    char *log = file_of("log", &n);
    assert_int_equal(places(ctx, log, n, at), 4);
    put_file("log", log, at[2]);
    memset(log + at[1], 0, 64);
    s = open_with(ctx, "m.ferry", "s", "sync=off");
    assert_int_equal(ferry_stream_seq(s), 2);
    assert_has(warning, "records 3 to 4 were answered with --sync off");
    ferry_i_stream_free(s);
    s = fresh(ctx, "sync=off");
    (void)answers_to(ctx, s, lines);
    ferry_i_stream_free(s);
    put_file("log", log, n);
    assert_fails(ctx, open_s(ctx, "m.ferry"), FERRY_EDATA,
                 "where record 2 should be: it is followed by record 3");
    repair_s(ctx, 4, 1);
    free(log);
}

/* ---- snapshots by size ---- */

static void test_snapshots_bound_the_log(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_stream *s = fresh(ctx, "snapshot=10 sync=always"), *whole = NULL;
    int64_t most = 0;
    char line[128];

    remove_state("w");
    whole = open_with(ctx, "m.ferry", "w", "");
    for (int i = 0; i < 100; i++) {
        (void)snprintf(line, sizeof line, "{\"x\":[%d,1,%d,0],\"y\":\"%s\"}\n", i % 7,
                       i % 3, i % 2 ? "a" : "b");
        (void)answers_to(ctx, s, line);
        (void)answers_to(ctx, whole, line);
        if (s->log->records > most) most = s->log->records;
        if (i % 17 != 16) continue;
        ferry_i_stream_free(s);
        s = open_with(ctx, "m.ferry", "s", "snapshot=10 sync=always");
        s->worker->most = whole->worker->most;
        assert_same_state(ctx, s, whole);
    }
    assert_true(most <= 11);
    ferry_i_stream_free(s);
    ferry_i_stream_free(whole);
}

/* No snapshot can be written: the log goes on and nothing is lost. */
static void test_snapshot_fails(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_stream *s = fresh(ctx, "snapshot=3 sync=always");
    char name[64];

    ferry_ctx_set_log(ctx, on_log, FERRY_WARN, NULL);
    (void)snprintf(name, sizeof name, "s/snapshot.ferry.tmp.%ld", (long)getpid());
    assert_int_equal(mkdir(tmp_path(name), 0777), 0);
    warned = 0;
    (void)answers_to(ctx, s, lines);
    assert_int_equal(warned, 1);
    assert_has(warning, "no snapshot after record 2: ");
    assert_fails(ctx, ferry_stream_close(ctx, s), FERRY_EIO,
                 "snapshot.ferry: cannot write");
    (void)rmdir(tmp_path(name));
    s = open_with(ctx, "m.ferry", "s", "");
    assert_int_equal(ferry_stream_seq(s), 4);
    ferry_i_stream_free(s);
}

/* ---- a disk that fails ---- */

static int fail_sync_in;
static bool write_fails;

static int sync_call(int fd)
{
    if (fail_sync_in == 0 || --fail_sync_in > 0) return no_sync(fd);
    errno = EIO;
    return -1;
}

static ssize_t write_call(int fd, const void *bytes, size_t n)
{
    if (!write_fails) return write(fd, bytes, n);
    errno = ENOSPC;
    return -1;
}

/* What could not be made durable is not acknowledged, is not there after a restart, and the
 * stream refuses to go on. Answers to wrong lines stay as they are. */
static void test_failing_disk(void **state)
{
    ferry_ctx *ctx = *state;
    const ferry_wal_calls before = ferry_i_wal_calls;
    const char *more =
        "{\"x\":[1,1,1,1],\"y\":\"a\"}\nwrong\n{\"id\":\"9\",\"x\":[1,1,1,1]}\n{}\n";
    const char *text = NULL;
    int64_t n = 0, used = 0;

    for (int way = 0; way < 2; way++) {
        ferry_stream *s = fresh(ctx, "");
        (void)answers_to(ctx, s, lines);
        ferry_i_wal_calls = (ferry_wal_calls){write_call, sync_call};
        write_fails = way == 0;
        fail_sync_in = way;
        assert_ok(ctx, ferry_stream_feed(ctx, s, more, (int64_t)strlen(more), &used));
        assert_int_equal(used, strlen(more));
        assert_fails(ctx, ferry_stream_commit(ctx, s, 1, &text, &n), FERRY_EIO,
                     way ? "s/log: cannot sync" : "s/log: cannot write");
        ferry_i_wal_calls = before;
        assert_int_equal(n, strlen(text));
        assert_has(text, "{\"error\":\"not acknowledged: ");
        assert_has(text,
                   "\"line\":5}\n{\"error\":\"expected an object in { } at byte 1, found "
                   "'wrong'\",\"line\":6}\n{\"error\":\"not acknowledged: ");
        assert_null(strstr(text, "seq"));
        assert_fails(ctx, ferry_stream_feed(ctx, s, more, 3, &used), FERRY_EIO,
                     "must be opened again");
        assert_ok(ctx, ferry_stream_feed(ctx, s, NULL, 0, &(int64_t){0}));
        assert_ok(ctx, ferry_stream_close(ctx, s)); /* but makes no snapshot */
        assert_int_equal(access(tmp_path("s/snapshot.ferry"), F_OK), -1);
        s = open_with(ctx, "m.ferry", "s", "");
        assert_int_equal(ferry_stream_seq(s), 4);
        ferry_i_stream_free(s);
    }
}

/* The folder cannot be synced when the new log is in place already: stop, since what comes
 * next might be lost with it. */
static void test_failing_rotation(void **state)
{
    ferry_ctx *ctx = *state;
    const ferry_wal_calls before = ferry_i_wal_calls;
    const char *text = NULL;
    int64_t n = 0, used = 0;

    for (int k = 1; k <= 5; k++) { /* log, head, folder of the snapshot, new log, folder */
        ferry_stream *s = fresh(ctx, "snapshot=2");
        ferry_i_wal_calls.sync = sync_call;
        fail_sync_in = k;
        assert_ok(ctx, ferry_stream_feed(ctx, s, lines, (int64_t)strlen(lines), &used));
        const ferry_status st = ferry_stream_commit(ctx, s, 1, &text, &n);
        ferry_i_wal_calls = before;
        fail_sync_in = 0;
        assert_int_equal(st, k == 1 || k == 2 || k == 5 ? FERRY_EIO : FERRY_OK);
        if (st == FERRY_OK) (void)answers_to(ctx, s, "{\"id\":\"3\",\"y\":\"a\"}\n");
        ferry_i_stream_free(s);
        s = open_with(ctx, "m.ferry", "s", "");
        assert_int_equal(ferry_stream_seq(s), k == 1 ? 0 : st == FERRY_OK ? 5 : 4);
        ferry_i_stream_free(s);
    }
}

/* A disk that another thread waits for: answers come one turn later, in order, and when
 * the disk fails none of them says that its line was kept. */
static void test_turns(void **state)
{
    ferry_ctx *ctx = *state;
    const ferry_wal_calls before = ferry_i_wal_calls;
    const char *text = NULL;
    int64_t n = 0, used = 0, seq = 0;
    char many[64 * 32] = "", want[64];

    for (int i = 0; i < 64; i++)
        strcat(many, "{\"x\":[1,2,3,4],\"y\":\"a\"}\n");
    ferry_stream *s = fresh(ctx, "");
    for (int turn = 0; turn < 5; turn++) {
        for (int64_t at = 0; at < (int64_t)strlen(many); at += used)
            assert_ok(ctx, ferry_stream_feed(ctx, s, many + at, (int64_t)strlen(many) - at,
                                             &used));
        assert_ok(ctx, ferry_stream_commit(ctx, s, 0, &text, &n));
        if (turn == 0) assert_int_equal(n, 0);
        if (turn > 0) {
            (void)snprintf(want, sizeof want, "\"seq\":%d,", 64 * turn - 63);
            assert_has(text, want);
        }
        for (const char *at = text; (at = strstr(at, "\"seq\":")); at++)
            assert_int_equal(atoi(at + 6), ++seq);
    }
    assert_int_equal(seq, 256);
    assert_true(ferry_stream_due(s) >= 0); /* answers wait */
    assert_ok(ctx, ferry_stream_feed(ctx, s, "{}\n", 3, &used));
    assert_ok(ctx, ferry_stream_commit(ctx, s, 0, &text, &n)); /* not full: a commit */
    assert_has(text, "\"seq\":320,");
    assert_has(text, "{\"waiting\":0,\"seq\":320,");
    assert_true(ferry_stream_due(s) < 0);
    /* The next sync fails while the batch after it is being taken. */
    ferry_i_wal_calls.sync = sync_call;
    fail_sync_in = 1;
    assert_ok(ctx, ferry_stream_feed(ctx, s, many, (int64_t)strlen(many), &used));
    assert_ok(ctx, ferry_stream_commit(ctx, s, 0, &text, &n));
    while (ferry_i_wal_busy(s->log))
        ;
    assert_ok(ctx, ferry_stream_feed(ctx, s, many, (int64_t)strlen(many), &used));
    assert_fails(ctx, ferry_stream_commit(ctx, s, 0, &text, &n), FERRY_EIO,
                 "log: cannot sync");
    ferry_i_wal_calls = before;
    assert_null(strstr(text, "seq"));
    for (used = 0; (text = strstr(text, "not acknowledged")); text++)
        used++;
    assert_int_equal(used, 128);
    ferry_i_stream_free(s);
    s = open_with(ctx, "m.ferry", "s", "");
    assert_int_equal(ferry_stream_seq(s), 320);
    ferry_i_stream_free(s);
}

/* ---- a process that is killed ---- */

/* A child that works until it is killed in the middle of something, again and again. */
static void test_killed(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_stream *s = fresh(ctx, "snapshot=7");
    char line[160];

    ferry_i_stream_free(s);
    for (int round = 0; round < 20; round++) {
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            ferry_stream *c = NULL;
            const char *text = NULL;
            int64_t n = 0, used = 0;
            if (ferry_stream_open(ctx, tmp_path("m.ferry"), tmp_path("s"), NULL, &c))
                _exit(3);
            c->set.snapshot = c->snapshot_records = 7;
            for (int i = 0; i < 100; i++) {
                const int64_t k = ferry_stream_seq(c) + 1;
                const int len = snprintf(
                    line, sizeof line,
                    "{\"seq\":%lld,\"x\":[%lld,1,%lld,0],\"y\":\"%s\"}\n", (long long)k,
                    (long long)(k % 7), (long long)(k % 3), k % 2 ? "a" : "b");
                if (ferry_stream_feed(ctx, c, line, len, &used)) _exit(3);
                if (i == round) (void)raise(SIGKILL);
                if (ferry_stream_commit(ctx, c, 1, &text, &n)) _exit(3);
            }
            _exit(4);
        }
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    }
    s = open_with(ctx, "m.ferry", "s", "");
    assert_int_equal(ferry_stream_seq(s), 19 * 20 / 2); /* 0 + 1 + ... + 19 acknowledged */
    ferry_stream *whole = NULL;
    remove_state("w");
    whole = open_with(ctx, "m.ferry", "w", "");
    for (long long k = 1; k <= 190; k++) {
        (void)snprintf(line, sizeof line, "{\"x\":[%lld,1,%lld,0],\"y\":\"%s\"}\n", k % 7,
                       k % 3, k % 2 ? "a" : "b");
        (void)answers_to(ctx, whole, line);
    }
    assert_same_state(ctx, s, whole);
    ferry_i_stream_free(whole);
    ferry_i_stream_free(s);
}

/* ---- memory ---- */

static ferry_status whole_life(ferry_ctx *ctx, void *arg)
{
    ferry_status st = FERRY_OK;
    ferry_stream *s = NULL;
    const char *text = NULL;
    int64_t n = 0, used = 0;
    const char *more = "{\"x\":{\"i\":[3,1],\"v\":[1,2]}}\n{}\nx\n"
                       "{\"seq\":1,\"x\":[1,2,3,4]}\n";
    const char *csv = "id,y,a,b,c,d\n\"a\"\"b\",,1,2,3,4\n\"a\"\"b\",\"new\"\"\",,,,\n";

    remove_state("s");
    FERRY_TRY(ferry_stream_open(ctx, tmp_path("m.ferry"), tmp_path("s"), NULL, &s));
    s->seconds = 1e9;
    FERRY_TRY(ferry_stream_feed(ctx, s, lines, (int64_t)strlen(lines) - 1, &used));
    FERRY_TRY(ferry_stream_feed(ctx, s, NULL, 0, &(int64_t){0}));
    FERRY_TRY(ferry_stream_feed(ctx, s, more, (int64_t)strlen(more), &used));
    s->set.format = FERRY_STREAM_CSV;
    s->set.scores = 1;
    FERRY_TRY(ferry_stream_feed(ctx, s, csv, (int64_t)strlen(csv), &used));
    FERRY_TRY(ferry_stream_commit(ctx, s, 1, &text, &n));
    if (arg) { /* with a snapshot, whose failing is an error only here */
        st = ferry_stream_close(ctx, s);
        s = NULL;
    }
done:
    ferry_i_stream_free(s);
    return st;
}

static ferry_status just_open(ferry_ctx *ctx, void *arg)
{
    (void)arg;
    return open_s(ctx, "m.ferry");
}

static void test_no_memory(void **state)
{
    ferry_ctx *ctx = *state;
    int with_snapshot = 1;

    (void)make_model(ctx, "m.ferry", NULL);
    each_allocation_fails(ctx, whole_life, NULL);
    each_allocation_fails(ctx, whole_life, &with_snapshot);
    /* Resuming from a snapshot and a log. */
    ferry_stream *s = fresh(ctx, "");
    (void)answers_to(ctx, s, lines);
    assert_ok(ctx, ferry_stream_close(ctx, s));
    s = open_with(ctx, "m.ferry", "s", "");
    (void)answers_to(ctx, s,
                     "{\"id\":\"3\",\"y\":\"a\"}\n{\"id\":\"5\",\"x\":[1,1,1,1]}\n");
    ferry_i_stream_free(s);
    each_allocation_fails(ctx, just_open, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_truncated_log, quick_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_flipped_bits, quick_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_crash_around_a_snapshot, quick_setup,
                                        ctx_teardown),
        cmocka_unit_test_setup_teardown(test_repair, quick_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_old_format, quick_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_off, quick_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_old_snapshot, quick_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_wrong_models, quick_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_one_at_a_time, quick_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_where_no_folder_can_be, quick_setup,
                                        ctx_teardown),
        cmocka_unit_test_setup_teardown(test_snapshots_bound_the_log, quick_setup,
                                        ctx_teardown),
        cmocka_unit_test_setup_teardown(test_snapshot_fails, quick_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_failing_disk, quick_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_failing_rotation, quick_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_turns, quick_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_killed, quick_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_no_memory, quick_setup, ctx_teardown),
    };
    return cmocka_run_group_tests_name("stream_folder", tests, NULL, NULL);
}
