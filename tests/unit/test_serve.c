/* The parts of the server that need no connection: ids that were learned, times, tokens, loading a version. What a
 * client sees is in tests/cli/test_serve.py. */
#include <math.h>

#include "server/serve.h"
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
    const int32_t said = ferry_i_queue_find(&s->worker->queue, "w", 1)->answer;
    assert_ok(ctx, ferry_stream_close(ctx, s));
    s = open_with(ctx, "m.ferry", "s", "remember=2 waiting=5");
    assert_int_equal(ferry_i_queue_find(&s->worker->queue, "w", 1)->answer, said);
    assert_non_null(
        strstr(answers_to(ctx, s, "{\"id\":3,\"y\":\"a\"}\n"), "\"repeated\":true"));
    assert_non_null(
        strstr(answers_to(ctx, s, "{\"id\":2,\"x\":[1,0,0,1],\"y\":\"a\"}\n"), "repeated"));
    assert_non_null(strstr(answers_to(ctx, s, "{\"id\":1,\"y\":\"a\"}\n"), "no instance"));
    /* an id is free for another instance that waits, and its label counts */
    assert_null(strstr(answers_to(ctx, s, "{\"id\":3,\"x\":[1,0,0,1]}\n"), "repeated"));
    assert_null(strstr(answers_to(ctx, s, "{\"id\":3,\"y\":\"a\"}\n"), "repeated"));
    ferry_i_stream_free(s);
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
    pthread_mutex_init(&t.reading, NULL);
    const ferry_status st = ferry_i_tokens_read(ctx, path, 0, true, &t);
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
               {"ann read " SUM " 1 2\n", "'2': expected rate="},
               {"ann read " SUM " rows=\n", "'rows=': expected rate="},
               {"ann read " SUM " rows=-1\n", "'rows=-1': expected rate="},
               {"ann read " SUM " cows=1\n", "'cows=1': expected rate="},
               {"ann admin " SUM "\nbob read " SUM "\n",
                "2: the token of 'bob' is that of 'ann' above"}};
    ferry_ctx *ctx = *state;
    serve_tokens t = {.n = 0};
    char path[512];
    serve_who who;
    double wait = 0;

    (void)snprintf(path, sizeof path, "%s", tmp_path("tokens"));
    for (int64_t i = 0; i < FERRY_COUNT(bad); i++) {
        write_text(path, bad[i].text);
        assert_int_equal(read_tokens(ctx, path), FERRY_EDATA);
        assert_non_null(strstr(ferry_message(ctx), bad[i].says));
    }
    FILE *f = fopen(path, "wb"); /* what follows a zero byte is not left out in silence */
    assert_non_null(f);
    assert_int_equal(fwrite("#\0\n", 1, 3, f), 3);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(read_tokens(ctx, path), FERRY_EDATA);
    assert_non_null(strstr(ferry_message(ctx), "a zero byte"));
    write_text(path, "# who\nann read " SUM " 2\r\n");
    each_allocation_fails(ctx, read_tokens, path);
    pthread_mutex_init(&t.mutex, NULL);
    pthread_mutex_init(&t.reading, NULL);
    assert_ok(ctx, ferry_i_tokens_read(ctx, path, 0, true, &t));
    assert_int_equal(ferry_i_tokens_role(&t, NULL, true, &who, &wait), SERVE_ANYONE);
    assert_int_equal(ferry_i_tokens_role(&t, "Bearer alic", true, &who, &wait),
                     SERVE_ANYONE);
    assert_int_equal(ferry_i_tokens_role(&t, "Bearer alice", true, &who, &wait),
                     SERVE_READ);
    assert_string_equal(who.name, "ann");
    assert_true(wait == 0);
    assert_int_equal(ferry_i_tokens_role(&t, "Basic eDphbGljZQ==", true, &who, &wait),
                     SERVE_READ);
    assert_int_equal(ferry_i_tokens_role(&t, "Basic eDphbGljZQ==", false, &who, &wait),
                     SERVE_ANYONE);
    (void)ferry_i_tokens_role(&t, "Bearer alice", true, &who, &wait);
    assert_true(wait > 0 && wait <= 0.5); /* two a second, both are gone */
    /* what it used goes on counting when the file is written again; who is not in it is nobody */
    write_text(path, "# again\nann read " SUM " 2 rows=10 classes=3 waiting=4\n");
    assert_ok(ctx, ferry_i_tokens_read(ctx, path, 0, true, &t));
    assert_int_equal(ferry_i_tokens_role(&t, "Bearer alice", true, &who, &wait),
                     SERVE_READ);
    assert_true(wait > 0 && who.waiting == 4);
    assert_int_equal(ferry_i_tokens_classes(&t, &who, 0), 3);
    assert_int_equal(ferry_i_tokens_classes(&t, &who, 5), 0);
    t.token[0].requests.rate = 0;
    ferry_i_tokens_spend(&t, &who, 1000, 0, 0); /* 990 more than a second's */
    (void)ferry_i_tokens_role(&t, "Bearer alice", true, &who, &wait);
    assert_true(wait > 90 && wait < 100);
    write_text(path, "bob admin nonsense\nann read " SUM "\n");
    assert_int_equal(ferry_i_tokens_read(ctx, path, 0, false, &t), FERRY_EDATA);
    assert_int_equal(t.n, 1);
    write_text(path, "ann read " SUM "\nbob admin " SUM "\n"); /* one token: nobody's */
    assert_int_equal(ferry_i_tokens_read(ctx, path, 0, false, &t), FERRY_EDATA);
    assert_int_equal(ferry_i_tokens_role(&t, "Bearer alice", true, &who, &wait),
                     SERVE_ANYONE);
    write_text(path, "# nobody\n");
    assert_int_equal(ferry_i_tokens_read(ctx, path, 0, false, &t), FERRY_EDATA);
    assert_int_equal(ferry_i_tokens_role(&t, "Bearer alice", true, &who, &wait),
                     SERVE_ANYONE);
    ferry_i_free(t.token);
    (void)unlink(path);
}

/* ---- answers and whose they are ---- */

static int lines_logged;
static void count_log(void *user, ferry_level level, const char *line)
{
    (void)user;
    (void)level;
    assert_non_null(strstr(line, "please report"));
    lines_logged++;
}

/* Two requests of two and one rows; answers as "owner.line" in the order in which they come. A request that does not
 * get one for each of its rows ends with 500; nobody gets another's. */
static void test_answers_have_owners(void **state)
{
    static const struct {
        const char *answers;
        unsigned first, second;
        int logged;
    } cases[] = {
        {"1.1 1.2 2.1", 200, 200, 0},     {"1.1 2.1 1.2", 200, 200, 0},
        {"1.1 2.1", 500, 200, 1},         {"2.1", 500, 200, 1},
        {"1.1 1.1 2.1", 500, 200, 1},     {"1.2 1.1 2.1", 500, 200, 1},
        {"1.1 1.2", 200, 500, 1},         {"1.1 1.2 1.2 2.1", 200, 200, 1},
        {"1.1 1.2 3.1 2.1", 200, 200, 1}, {"", 500, 500, 2},
        {"1.1 1.2 2.2", 200, 500, 1},     {"1.1 1.2 2.1 2.1", 200, 200, 1},
    };
    ferry_server *s = ferry_i_calloc(1, sizeof *s);

    (void)state;
    s->log = count_log;
    pthread_mutex_init(&s->mutex, NULL);
    pthread_mutex_init(&s->log_mutex, NULL);
    for (int64_t c = 0; c < FERRY_COUNT(cases); c++) {
        serve_writer v = {.server = s, .name = (char *)"m"};
        serve_request r[2];
        stream_answers a = {.n = 0};
        for (int i = 0; i < 2; i++) {
            r[i] = (serve_request){.server = s, .method = "POST", .url = "/learn"};
            r[i].rows = 2 - i;
            r[i].form = SERVE_LIST;
            r[i].job =
                (serve_job){.request = &r[i], .number = (uint64_t)i + 1, .taken = 2 - i};
        }
        v.open = &r[0].job;
        r[0].job.next = &r[1].job;
        v.open_end = &r[1].job.next;
        for (const char *at = cases[c].answers; *at; at += at[3] ? 4 : 3) {
            assert_true(FERRY_GROW(a.answer, a.n, a.cap));
            a.answer[a.n++] =
                (stream_answer){at[2] - '0', a.text.len, (uint64_t)(at[0] - '0'), true};
            ferry_i_text_addf(&a.text, "{\"to\":%.3s}\n", at);
        }
        lines_logged = 0;
        ferry_i_writer_give(&v, &a, true);
        assert_null(v.open);
        assert_ptr_equal(v.open_end, &v.open);
        assert_true(r[0].done && r[1].done);
        assert_int_equal(lines_logged, cases[c].logged);
        assert_int_equal(r[0].status, cases[c].first);
        assert_int_equal(r[1].status, cases[c].second);
        if (r[0].status == 200)
            assert_string_equal(r[0].out.s, "[{\"to\":1.1},{\"to\":1.2}]\n");
        if (r[1].status == 200) assert_string_equal(r[1].out.s, "[{\"to\":2.1}]\n");
        for (int i = 0; i < 2; i++)
            ferry_i_text_free(&r[i].out);
        ferry_i_answers_free(&a);
    }
    ferry_i_free(s);
}

/* A version that begins, or goes on with, the log of its name. */
static ferry_status open_version(ferry_ctx *ctx, void *server)
{
    ferry_server *s = server;
    ferry_status st = FERRY_OK, stopped = FERRY_OK;
    serve_version *v = NULL;

    FERRY_TRY(ferry_i_version_open(ctx, s, "m", 1, false, tmp_path("m.ferry"), &v));
    FERRY_TRY(ferry_i_models_add(ctx, s, v));
    if (v->learns) FERRY_TRY(ferry_i_writer_open(ctx, v->writer, v));
done:
    ferry_i_models_stop(ctx, s, &stopped);
    ferry_i_models_free(s);
    s->models = (serve_models){.lock = s->models.lock};
    return st == FERRY_OK ? stopped : st;
}

static void test_loading_without_memory(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_server *s = ferry_i_calloc(1, sizeof *s);
    char folder[512];

    s->set = (serve_settings){.waiting = 10, .remember = 10, .snapshot = 100, .keep = 10};
    pthread_rwlock_init(&s->models.lock, NULL);
    pthread_mutex_init(&s->log_mutex, NULL);
    (void)make_model(ctx, "m.ferry", NULL);
    (void)snprintf(folder, sizeof folder, "%s", tmp_path("state"));
    s->set.state = "";
    each_allocation_fails(ctx, open_version, s);
    s->set.state = folder;
    s->set.sync = SYNC_OFF;
    each_allocation_fails(ctx, open_version,
                          s); /* the first ones begin, the others go on */
    remove_state("state/m");
    (void)rmdir(tmp_path("state"));
    ferry_i_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_learned_ids, quick_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_remembered_in_a_snapshot, quick_setup,
                                        ctx_teardown),
        cmocka_unit_test_setup_teardown(test_times, quick_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_tokens, quick_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_answers_have_owners, quick_setup,
                                        ctx_teardown),
        cmocka_unit_test_setup_teardown(test_loading_without_memory, quick_setup,
                                        ctx_teardown),
    };
    return cmocka_run_group_tests_name("serve", tests, NULL, NULL);
}
