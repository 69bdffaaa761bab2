/* The log of a model name, which versions share: segments, readers, following, taking over, damage. What a server makes of it is in
 * tests/cli/test_serve.py, every crash in test_protocol.py. */
#include "stream_case.h"

#define ROW "[1,0,0,1]"

/* All files of a folder of versions, and the folder. */
static void remove_shared(const char *name)
{
    char path[128];

    for (int i = 0; i < 100; i++) {
        (void)snprintf(path, sizeof path, "%s/log.%d", name, i);
        (void)unlink(tmp_path(path));
    }
    remove_state(name);
}

static ferry_worker *worker_of(ferry_ctx *ctx, const char *model, int64_t version)
{
    ferry_worker *w = ferry_i_calloc(1, sizeof *w);
    ferry_model *m = NULL;
    const char *path = tmp_path(model);
    char *bytes = slurp(path);
    struct stat info;

    assert_int_equal(stat(path, &info), 0);
    assert_ok(ctx, ferry_model_load(ctx, path, NULL, &m));
    assert_ok(ctx, ferry_i_worker_open(ctx, path, m,
                                       ferry_i_stream_hash(bytes, info.st_size), w));
    assert_true(ferry_i_learned_resize(&w->learned, 50));
    w->version = version;
    w->following = FERRY_LEFT;
    free(bytes);
    return w;
}

/* Keep so many labels. */
static ferry_stream *open_shared(ferry_ctx *ctx, int64_t keep)
{
    ferry_opts *opts = settings_of(ctx, "remember=50 waiting=20 sync=off");
    ferry_stream *s = NULL;

    assert_ok(ctx, ferry_i_shared_open(ctx, tmp_path("n"), opts, keep, &s));
    ferry_opts_free(opts);
    s->seconds = 1e9;
    if (!s->log) {
        (void)make_model(ctx, "m.ferry", NULL);
        assert_ok(ctx, ferry_i_shared_begin(ctx, s, worker_of(ctx, "m.ferry", 1)));
    }
    return s;
}

static void label(ferry_ctx *ctx, ferry_stream *s, int i)
{
    char line[128];

    (void)snprintf(line, sizeof line, "{\"id\":%d,\"x\":[%d,0,1,%d],\"y\":\"%s\"}\n", i,
                   i % 3, i % 2, i % 2 ? "a" : "b");
    assert_has(answers_to(ctx, s, line), "learned");
}

static int64_t count_records(ferry_ctx *ctx, int64_t after, int64_t until)
{
    ferry_reader d;
    ferry_record r;
    int64_t serves = 0, n = 0;
    bool end = false;

    assert_ok(ctx, ferry_i_reader_open(ctx, tmp_path("n"), after, &d));
    assert_ok(ctx, ferry_i_reader_until(ctx, &d, until));
    for (;; n++) {
        assert_ok(ctx, ferry_i_reader_next(ctx, &d, &r, &serves, &end));
        if (end) break;
        if (r.kind == FERRY_RECORD_SESSION)
            n--;
        else
            assert_int_equal(r.seq, after + n + 1);
    }
    ferry_i_reader_close(&d);
    return n;
}

static void test_segments(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_stream *s = open_shared(ctx, 6);
    ferry_reader d;

    for (int i = 1; i <= 10; i++) {
        label(ctx, s, i);
        if (i % 3 == 0) assert_ok(ctx, ferry_i_stream_snapshot(ctx, s));
    }
    /* segments of 3: those with the last 6 labels before the newest stay */
    assert_int_equal(s->segments, 2);
    assert_int_equal(s->segment[0].after, 3);
    assert_int_equal(s->segment[0].labels, 3);
    assert_int_equal(count_records(ctx, 3, 10), 7);
    assert_int_equal(count_records(ctx, 5, 8), 3);
    assert_int_equal(count_records(ctx, 10, 10), 0);
    assert_fails(ctx, ferry_i_reader_open(ctx, tmp_path("n"), 2, &d), FERRY_EDATA,
                 "no longer has record 3");
    /* one that is behind keeps them */
    s->needed = 4;
    assert_ok(ctx, ferry_i_stream_snapshot(ctx, s));
    label(ctx, s, 11);
    assert_ok(ctx, ferry_i_stream_snapshot(ctx, s));
    assert_int_equal(s->segment[0].after, 3);
    s->needed = INT64_MAX;
    label(ctx, s, 12);
    assert_ok(ctx, ferry_i_stream_snapshot(ctx, s));
    assert_int_equal(s->segment[0].after, 6);
    ferry_i_stream_free(s);
    /* killed between two renames: the newest has its name again */
    assert_int_equal(rename(tmp_path("n/log"), tmp_path("n/log.12")), 0);
    s = open_shared(ctx, 6);
    assert_int_equal(s->worker->seq, 12);
    assert_int_equal(s->segment[0].after, 6);
    assert_int_equal(s->segment[0].labels, 3);
    label(ctx, s, 13);
    ferry_i_stream_free(s);
    remove_shared("n");
}

/* A version that replays, inherits and follows knows what the one that serves does; when it serves, the other has left. */
static void test_taking_over(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_stream *s = open_shared(ctx, 1000), *plain = NULL;
    ferry_worker *w = worker_of(ctx, "m.ferry", 2), *old = s->worker;
    ferry_reader d;

    s->borrowed = true;
    label(ctx, s, 1);
    assert_has(answers_to(ctx, s, "{\"id\":\"w\",\"x\":" ROW "}\n"), "prediction");
    label(ctx, s, 2);
    assert_has(answers_to(ctx, s, "{\"id\":\"r\",\"x\":" ROW ",\"y\":\"a\"}\n"), "learned");
    assert_has(answers_to(ctx, s, "{\"id\":\"r\",\"retract\":true}\n"),
               "\"retracted\":true");
    assert_ok(ctx, ferry_i_stream_snapshot(ctx, s));
    label(ctx, s, 3);
    w->following = FERRY_REPLAYS;
    assert_ok(ctx, ferry_i_reader_open(ctx, tmp_path("n"), 0, &d));
    assert_ok(ctx, ferry_i_reader_retracted(ctx, &d, s->worker->seq));
    assert_ok(ctx,
              ferry_i_version_follow(ctx, &d, w, 2)); /* half of it, saved and loaded */
    assert_ok(ctx, ferry_i_version_save(ctx, tmp_path("n"), w));
    ferry_i_worker_free(w);
    assert_ok(ctx, ferry_i_version_load(ctx, tmp_path("n"), 2, 50, &w));
    assert_int_equal(w->seq, 2);
    assert_int_equal(w->following, FERRY_REPLAYS);
    assert_int_equal(w->queue.n, 0);
    assert_ok(ctx, ferry_i_version_follow(ctx, &d, w, s->worker->seq));
    assert_int_equal(w->learned.n, 3); /* 1, 2 and 3, not r */
    assert_ok(ctx, ferry_i_worker_inherit(ctx, w, old));
    assert_int_equal(w->queue.n, 1);
    assert_int_equal(w->queue.oldest->answer, old->queue.oldest->answer);
    assert_int_equal(w->following, FERRY_FOLLOWS);
    /* what comes then both take; the label has the numbers of what waited */
    assert_has(answers_to(ctx, s, "{\"id\":\"w\",\"y\":\"a\"}\n"), "learned");
    assert_fails(ctx, ferry_i_shared_serve(ctx, s, w), FERRY_EINVAL, "is at record 6");
    assert_false(s->broken);
    assert_ok(ctx, ferry_i_version_follow(ctx, &d, w, s->worker->seq));
    assert_int_equal(w->queue.n, 0);
    assert_ok(ctx, ferry_i_version_save(ctx, tmp_path("n"), w));
    assert_ok(ctx, ferry_i_shared_serve(ctx, s, w));
    assert_int_equal(old->following, FERRY_LEFT);
    assert_int_equal(s->serves, 2);
    label(ctx, s, 4);
    assert_int_equal(old->seq, 8);
    assert_int_equal(w->seq, 9);
    /* the same labels once, in their order */
    plain = open_with(ctx, "m.ferry", "p", "remember=50 waiting=20 sync=off");
    for (int i = 1; i <= 3; i++)
        label(ctx, plain, i);
    (void)answers_to(ctx, plain, "{\"id\":\"w\",\"x\":" ROW ",\"y\":\"a\"}\n");
    label(ctx, plain, 4);
    for (int i = 0; i < 3; i++) {
        const double x[] = {i, 1, 0, 2};
        const ferry_row row = {4, NULL, x};
        double a[2], b[2];
        int32_t cls = 0;
        assert_ok(ctx, ferry_model_see(ctx, w->model, &row, &cls, a, NULL));
        assert_ok(ctx, ferry_model_see(ctx, plain->worker->model, &row, &cls, b, NULL));
        assert_memory_equal(a, b, sizeof a);
    }
    ferry_i_stream_free(plain);
    remove_state("p");
    ferry_i_stream_free(s);
    ferry_i_reader_close(&d);
    ferry_i_worker_free(w);
    ferry_i_worker_free(old);
    /* the log says who serves, and the first one, following from its file, that it has left */
    s = open_shared(ctx, 1000);
    assert_int_equal(s->serves, 2);
    assert_int_equal(s->worker->seq, 9);
    assert_ok(ctx, ferry_i_version_load(ctx, tmp_path("n"), 1, 50, &w));
    assert_int_equal(w->following, FERRY_FOLLOWS);
    assert_ok(ctx, ferry_i_reader_open(ctx, tmp_path("n"), w->seq, &d));
    assert_ok(ctx, ferry_i_version_follow(ctx, &d, w, 9));
    assert_int_equal(w->following, FERRY_LEFT);
    assert_int_equal(w->seq, 8);
    ferry_i_reader_close(&d);
    ferry_i_worker_free(w);
    ferry_i_stream_free(s);
    remove_shared("n");
}

/* A version with other columns takes none of the rows, and follows all the same. */
static void test_other_columns(void **state)
{
    static const double wide[] = {1, 0, 0, 1, 5, 0, 1, 1, 0, 6};
    ferry_ctx *ctx = *state;
    ferry_stream *s = open_shared(ctx, 1000);
    ferry_domain *domain = small_domain(ctx, "t", FERRY_TARGET, 2, 5, wide);
    ferry_task *task = NULL;
    ferry_model *m = NULL;
    ferry_reader d;

    small_classes(ctx, domain, "ab");
    task = small_task(ctx, FERRY_CLASSIFY, NULL, domain);
    m = fit_model(ctx, task, "mpa", NULL);
    assert_ok(ctx, ferry_model_save(ctx, m, tmp_path("wide.ferry")));
    ferry_model_free(m);
    ferry_task_free(task);
    ferry_worker *w = worker_of(ctx, "wide.ferry", 2);
    (void)answers_to(ctx, s, "{\"id\":\"w\",\"x\":" ROW "}\n");
    label(ctx, s, 1);
    assert_ok(ctx, ferry_i_reader_open(ctx, tmp_path("n"), 0, &d));
    for (int mode = FERRY_FOLLOWS; mode <= FERRY_REPLAYS; mode++) {
        w->following = (ferry_following)mode;
        ferry_i_reader_close(&d);
        w->seq = 0;
        assert_ok(ctx, ferry_i_reader_open(ctx, tmp_path("n"), 0, &d));
        assert_ok(ctx, ferry_i_version_follow(ctx, &d, w, 2));
        assert_int_equal(w->seq, 2);
        assert_int_equal(w->learned.n + w->queue.n, 0);
    }
    assert_ok(ctx, ferry_i_worker_inherit(ctx, w, s->worker));
    assert_int_equal(w->queue.n, 0);
    assert_int_equal(w->learned.n, 1); /* an id is the name's, not the version's */
    ferry_i_reader_close(&d);
    ferry_i_worker_free(w);
    ferry_i_stream_free(s);
    remove_shared("n");
}

static void flip(const char *path, int64_t at)
{
    FILE *f = fopen(path, "r+b");

    assert_non_null(f);
    assert_int_equal(fseek(f, at, at < 0 ? SEEK_END : SEEK_SET), 0);
    const int byte = fgetc(f);
    assert_int_equal(fseek(f, -1, SEEK_CUR), 0);
    (void)fputc(byte ^ 4, f);
    (void)fclose(f);
}

static void assert_refused(ferry_ctx *ctx, const char *says)
{
    ferry_stream *s = NULL;

    assert_fails(ctx, ferry_i_shared_open(ctx, tmp_path("n"), NULL, 10, &s), FERRY_EDATA,
                 says);
    assert_null(s);
}

static void test_damage(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_stream *s = open_shared(ctx, 1000);
    ferry_repaired repaired;

    for (int i = 1; i <= 9; i++) {
        label(ctx, s, i);
        if (i % 3 == 0 && i < 9) assert_ok(ctx, ferry_i_stream_snapshot(ctx, s));
    }
    assert_ok(ctx, ferry_i_wal_flush(ctx, s->log, true));
    ferry_i_stream_free(s);
    flip(tmp_path("n/log"), -20);
    assert_refused(ctx, "where record 9 should be");
    flip(tmp_path("n/log"), -20);
    flip(tmp_path("n/log"), 60); /* who serves */
    assert_refused(ctx, "header does not match");
    /* by the model of the version that serves */
    assert_ok(ctx, ferry_stream_repair(ctx, tmp_path("m.ferry"), tmp_path("n"), &repaired));
    assert_int_equal(repaired.damaged, 1);
    assert_int_equal(repaired.last, 9);
    assert_int_equal(repaired.lost, 0);
    s = open_shared(ctx, 1000);
    assert_int_equal(s->serves, 1);
    assert_int_equal(s->worker->learned.n, 9);
    label(ctx, s, 10);
    ferry_i_stream_free(s);
    assert_ok(ctx, ferry_stream_repair(ctx, tmp_path("m.ferry"), tmp_path("n"), &repaired));
    assert_int_equal(repaired.damaged, 0);
    assert_int_equal(unlink(tmp_path("n/1.ferry")), 0);
    assert_refused(ctx, "1.ferry: is missing, but version 1 serves");
    remove_shared("n");
    /* a segment before the newest: it is told, and the versions go on */
    s = open_shared(ctx, 1000);
    for (int i = 1; i <= 4; i++) {
        label(ctx, s, i);
        if (i < 4) assert_ok(ctx, ferry_i_stream_snapshot(ctx, s));
    }
    ferry_i_stream_free(s);
    flip(tmp_path("n/log.1"), -20);
    s = open_shared(ctx, 1000);
    assert_int_equal(s->segments, 1);
    assert_int_equal(s->segment[0].after, 2);
    assert_int_equal(s->worker->seq, 4);
    ferry_i_stream_free(s);
    /* the log of a stream of its own is not taken for it */
    remove_shared("n");
    s = open_with(ctx, "m.ferry", "n", "sync=off");
    label(ctx, s, 1);
    ferry_i_stream_free(s);
    assert_refused(ctx, "is the log of a stream");
    remove_shared("n");
}

/* Open, follow from the file of the version, write it. */
static ferry_status open_and_follow(ferry_ctx *ctx, void *unused)
{
    ferry_status st = FERRY_OK;
    ferry_stream *s = NULL;
    ferry_worker *w = NULL;
    ferry_reader d = {.fd = -1};

    (void)unused;
    FERRY_TRY(ferry_i_shared_open(ctx, tmp_path("n"), NULL, 10, &s));
    FERRY_TRY(ferry_i_version_load(ctx, tmp_path("n"), 1, 5, &w));
    FERRY_TRY(ferry_i_reader_open(ctx, tmp_path("n"), w->seq, &d));
    FERRY_TRY(ferry_i_reader_retracted(ctx, &d, 4));
    FERRY_TRY(ferry_i_version_follow(ctx, &d, w, 4));
    FERRY_TRY(ferry_i_worker_inherit(ctx, w, s->worker));
done:
    ferry_i_reader_close(&d);
    ferry_i_worker_free(w);
    ferry_i_stream_free(s);
    return st;
}

static void test_without_memory(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_stream *s = open_shared(ctx, 1000);

    label(ctx, s, 1);
    assert_ok(ctx, ferry_i_stream_snapshot(ctx, s));
    label(ctx, s, 2);
    (void)answers_to(ctx, s, "{\"id\":2,\"retract\":true}\n{\"id\":\"w\",\"x\":" ROW "}\n");
    ferry_i_stream_free(s);
    assert_ok(ctx, open_and_follow(ctx, NULL));
    each_allocation_fails(ctx, open_and_follow, NULL);
    remove_shared("n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_segments, quick_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_taking_over, quick_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_other_columns, quick_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_damage, quick_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_without_memory, quick_setup, ctx_teardown),
    };
    return cmocka_run_group_tests_name("stream_shared", tests, NULL, NULL);
}
