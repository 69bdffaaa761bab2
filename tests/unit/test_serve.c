/* The parts of the server that need no connection: ids that were learned, times, tokens, loading a version. What a
 * client sees is in tests/cli/test_serve.py. */
#include <math.h>

#include "serve/serve.h"
#include "stream_case.h"

/* The last `most` of a sequence with repeats, against a plain list. */
static void test_learned_ids(void **state)
{
    ferry_learned l = {0};
    int last[500], n = 0, most = 50;
    uint64_t x = 7;
    char id[16];

    (void)state;
    assert_false(ferry_i_learned_has(&l, "a", 1));
    assert_true(ferry_i_learned_resize(&l, most));
    for (int step = 0; step < 4000; step++) {
        x = x * 6364136223846793005ULL + 1442695040888963407ULL;
        const int key = (int)(x >> 33) % 120;
        const int64_t len = snprintf(id, sizeof id, "id-%d", key);
        int at = 0;
        while (at < n && last[at] != key)
            at++;
        assert_int_equal(ferry_i_learned_has(&l, id, len), at < n);
        ferry_i_learned_add(&l, ferry_i_learned_hash(id, len));
        if (at == n) { /* a repeat does not make it younger */
            last[n++] = key;
            if (n > most) memmove(last, last + 1, (size_t)--n * sizeof *last);
        }
        if (step != 1000 && step != 2500) continue;
        most = step == 1000 ? 20 : 80; /* the youngest stay */
        assert_true(ferry_i_learned_resize(&l, most));
        if (n > most) memmove(last, last + n - most, (size_t)most * sizeof *last);
        if (n > most) n = most;
    }
    FERRY_FREE(l.ring, l.slot);
}

static void test_remembered_in_a_snapshot(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_stream *s = NULL;

    (void)make_model(ctx, "m.ferry", NULL);
    s = open_with(ctx, "m.ferry", "s", "remember=2 waiting=5");
    (void)answers_to(
        ctx, s,
        "{\"id\":1,\"x\":[1,0,0,1],\"y\":\"a\"}\n{\"id\":\"w\",\"x\":[1,0,0,1]}\n"
        "{\"id\":2,\"x\":[1,0,0,1],\"y\":\"a\"}\n{\"id\":3,\"x\":[1,0,0,1],\"y\":\"a\"}\n");
    const int32_t said = ferry_i_queue_find(&s->worker.queue, "w", 1)->answer;
    assert_ok(ctx, ferry_stream_close(ctx, s));
    s = open_with(ctx, "m.ferry", "s", "remember=2 waiting=5");
    assert_int_equal(ferry_i_queue_find(&s->worker.queue, "w", 1)->answer, said);
    assert_non_null(
        strstr(answers_to(ctx, s, "{\"id\":3,\"y\":\"a\"}\n"), "\"repeated\":true"));
    assert_non_null(
        strstr(answers_to(ctx, s, "{\"id\":2,\"x\":[1,0,0,1],\"y\":\"a\"}\n"), "repeated"));
    assert_non_null(strstr(answers_to(ctx, s, "{\"id\":1,\"y\":\"a\"}\n"), "no instance"));
    /* an id is free for another instance that waits, and its label counts */
    assert_null(strstr(answers_to(ctx, s, "{\"id\":3,\"x\":[1,0,0,1]}\n"), "repeated"));
    assert_null(strstr(answers_to(ctx, s, "{\"id\":3,\"y\":\"a\"}\n"), "repeated"));
    ferry_stream_free(s);
    remove_state("s");
}

/* Every time lies in a class whose ends are around it. */
static void test_times(void **state)
{
    (void)state;
    for (double t = 1e-6; t < 100; t *= 1.3) {
        serve_times all = {0};
        int i = 0;
        ferry_i_times_add(&all, t);
        while (!all.count[i])
            i++;
        assert_true(t <= ferry_i_times_end(i) * (1 + 1e-9));
        assert_true(i == 0 || t >= ferry_i_times_end(i - 1) * (1 - 1e-9));
        assert_int_equal(all.n, 1);
    }
}

#define SUM "2bd806c97f0e00af1a1fc3328fa763a9269723c8db8fac4f93af71db186d6e90" /* alice */

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    (void)fputs(text, f);
    (void)fclose(f);
}

static ferry_status read_tokens(ferry_ctx *ctx, void *path)
{
    serve_tokens t = {.n = 0};

    pthread_mutex_init(&t.mutex, NULL);
    const ferry_status st = ferry_i_tokens_read(ctx, path, 0, &t);
    ferry_i_free(t.token);
    return st;
}

static void test_tokens(void **state)
{
    static const struct {
        const char *text, *says;
    } bad[] = {{"", "no token"},
               {"ann read\n", "1: expected NAME ROLE"},
               {"# x\n\nann king " SUM "\n", "3: role 'king'"},
               {"ann read 00\n", "64 digits"},
               {"ann read " SUM " fast\n", "rate 'fast'"},
               {"ann read " SUM " 1 2\n", "expected NAME ROLE"}};
    ferry_ctx *ctx = *state;
    serve_tokens t = {.n = 0};
    char path[512], name[65];
    double wait = 0;

    (void)snprintf(path, sizeof path, "%s", tmp_path("tokens"));
    for (int64_t i = 0; i < FERRY_COUNT(bad); i++) {
        write_text(path, bad[i].text);
        assert_int_equal(read_tokens(ctx, path), FERRY_EDATA);
        assert_non_null(strstr(ferry_message(ctx), bad[i].says));
    }
    write_text(path, "# who\nann read " SUM " 2\r\n");
    each_allocation_fails(ctx, read_tokens, path);
    pthread_mutex_init(&t.mutex, NULL);
    assert_ok(ctx, ferry_i_tokens_read(ctx, path, 0, &t));
    assert_int_equal(ferry_i_tokens_role(&t, NULL, true, name, &wait), SERVE_ANYONE);
    assert_int_equal(ferry_i_tokens_role(&t, "Bearer alic", true, name, &wait),
                     SERVE_ANYONE);
    assert_int_equal(ferry_i_tokens_role(&t, "Bearer alice", true, name, &wait),
                     SERVE_READ);
    assert_string_equal(name, "ann");
    assert_true(wait == 0);
    assert_int_equal(ferry_i_tokens_role(&t, "Basic eDphbGljZQ==", true, name, &wait),
                     SERVE_READ);
    assert_int_equal(ferry_i_tokens_role(&t, "Basic eDphbGljZQ==", false, name, &wait),
                     SERVE_ANYONE);
    (void)ferry_i_tokens_role(&t, "Bearer alice", true, name, &wait);
    assert_true(wait > 0 && wait <= 0.5); /* two a second, both are gone */
    ferry_i_free(t.token);
    (void)unlink(path);
}

/* A version with its state, asked one question; no thread runs. */
static ferry_status open_version(ferry_ctx *ctx, void *server)
{
    ferry_server *s = server;
    serve_version *v = NULL;
    const ferry_status st =
        ferry_i_version_open(ctx, s, "m", 1, false, tmp_path("m.ferry"), &v);

    ferry_i_version_free(v);
    remove_state("state/m/1");
    (void)unlink(tmp_path("state/m/labels.ndjson"));
    (void)rmdir(tmp_path("state/m"));
    (void)rmdir(tmp_path("state"));
    return st;
}

static void test_loading_without_memory(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_server s = {.set = {.waiting = 10, .remember = 10, .snapshot = 100, .keep = 10}};
    char folder[512];

    (void)make_model(ctx, "m.ferry", NULL);
    (void)snprintf(folder, sizeof folder, "%s", tmp_path("state"));
    s.set.state = "";
    each_allocation_fails(ctx, open_version, &s);
    s.set.state = folder;
    s.set.sync = SYNC_OFF;
    each_allocation_fails(ctx, open_version, &s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_learned_ids, quick_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_remembered_in_a_snapshot, quick_setup,
                                        ctx_teardown),
        cmocka_unit_test_setup_teardown(test_times, quick_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_tokens, quick_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_loading_without_memory, quick_setup,
                                        ctx_teardown),
    };
    return cmocka_run_group_tests_name("serve", tests, NULL, NULL);
}
