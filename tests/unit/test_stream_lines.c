/* A stream that is kept in a folder: answers, late labels, restarts, and everything that
 * can be wrong with a line or a folder. */
#include "stream_case.h"

static const char *const story =
    "{\"id\":\"1\",\"x\":[1,0,0,1]}\n"
    "{\"id\":\"2\",\"x\":{\"i\":[3,1],\"v\":[0.5,2]},\"y\":\"b\"}\n"
    "{\"id\":3,\"x\":[0,null,1,0]}\n"
    "{\"id\":\"1\",\"y\":\"b\"}\n"
    "{\"x\":[1,1,1,1],\"y\":\"c\"}\n"
    "{\"x\":[0,0,0,0]}\n"
    "{\"id\":\"4\",\"x\":[5,4,3,2]}\n";

static void test_answers(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_stream *s = NULL;
    const char *a = NULL;

    remove_state("s");
    (void)make_model(ctx, "m.ferry", NULL);
    s = open_with(ctx, "m.ferry", "s", "sync=always scores=yes");
    assert_true(ferry_stream_due(s) < 0);
    a = answers_to(ctx, s, "{\"id\":\"q\",\"x\":[2,0,1,1]}\n");
    assert_has(a, "{\"id\":\"q\",\"prediction\":\"a\",\"score\":");
    assert_has(a, ",\"scores\":{\"a\":");
    assert_has(a, ",\"seq\":1,\"sync\":\"always\"}\n");
    a = answers_to(ctx, s, "{\"id\":\"q\",\"y\":\"a\"}\n");
    assert_string_equal(a,
                        "{\"id\":\"q\",\"learned\":\"a\",\"seq\":2,\"sync\":\"always\"}\n");
    a = answers_to(ctx, s, " { \"y\" : 1e0 , \"id\" : -7 , \"x\" : [ 1, 2 ,3,4 ] } \r\n");
    assert_has(a, "{\"id\":-7,\"prediction\":\"");
    assert_has(a, "\"learned\":\"1\",\"new_class\":true,\"seq\":3,");
    assert_null(strstr(a, "\"1\":")); /* it had no score yet */
    a = answers_to(ctx, s, "{\"x\":[1,2,3,4],\"y\":\"+1\"}\n");
    assert_has(a,
               "\"learned\":\"+1\",\"new_class\":true,\"seq\":4"); /* a text of its own */
    a = answers_to(ctx, s, "{}\n\n  \n{\"id\":\"z\",\"x\":[1,2,3,4]}\n{}\n");
    assert_has(a, "{\"waiting\":0,\"seq\":4,\"sync\":\"always\"}\n{\"id\":\"z\"");
    assert_has(a, "{\"waiting\":1,\"seq\":5,\"sync\":\"always\"}\n");
    assert_int_equal(ferry_stream_seq(s), 5);
    assert_ok(ctx, ferry_stream_close(ctx, s));
}

/* The class told is the one that predict tells for the same model. */
static void test_same_as_predict(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_domain *d = small_domain(ctx, "t", FERRY_TARGET, 4, 4, rows);
    ferry_model *m = NULL;
    ferry_prediction *p = NULL;
    ferry_stream *s = NULL;
    char line[128], want[64];

    remove_state("s");
    assert_ok(ctx, ferry_model_load(ctx, make_model(ctx, "m.ferry", NULL), NULL, &m));
    assert_ok(ctx, ferry_predict(ctx, m, d, &p));
    s = open_with(ctx, "m.ferry", "s", "sync=off");
    for (int i = 0; i < 4; i++) {
        (void)snprintf(line, sizeof line, "{\"x\":[%g,%g,%g,%g]}\n", rows[4 * i],
                       rows[4 * i + 1], rows[4 * i + 2], rows[4 * i + 3]);
        (void)snprintf(want, sizeof want, "{\"prediction\":\"%s\",", p->names[p->cls[i]]);
        assert_has(answers_to(ctx, s, line), want);
    }
    assert_ok(ctx, ferry_stream_close(ctx, s));
    /* The snapshot is a model, too. */
    ferry_model_free(m);
    assert_ok(ctx, ferry_model_load(ctx, tmp_path("s/snapshot.ferry"), "mpa", &m));
    ferry_prediction_free(p);
    ferry_model_free(m);
    ferry_domain_free(d);
}

/* After every line of the story: a stream opened on the same files, whether they were left
 * as they were or closed with a snapshot, has the same bits as one that ran through. */
static void replay_after_each_line(ferry_ctx *ctx, const char *settings, bool close)
{
    ferry_stream *whole = NULL, *s = NULL;
    const char *line = story;

    (void)make_model(ctx, "m.ferry", settings);
    remove_state("whole");
    remove_state("s");
    whole = open_with(ctx, "m.ferry", "whole", "waiting=2");
    while (*line) {
        char one[128] = "";
        const char *end = strchr(line, '\n') + 1;
        memcpy(one, line, (size_t)(end - line));
        s = open_with(ctx, "m.ferry", "s", "waiting=2");
        assert_same_state(ctx, s, whole);
        (void)answers_to(ctx, s, one);
        (void)answers_to(ctx, whole, one);
        assert_same_state(ctx, s, whole);
        if (close)
            assert_ok(ctx, ferry_stream_close(ctx, s));
        else
            ferry_i_stream_free(s);
        line = end;
    }
    s = open_with(ctx, "m.ferry", "s", "waiting=2");
    assert_same_state(ctx, s, whole);
    assert_int_equal(ferry_stream_seq(s), 7);
    assert_int_equal(s->worker->queue.n, 2);
    assert_has(answers_to(ctx, s, "{\"id\":\"3\",\"y\":\"a\"}\n"), "\"learned\":\"a\"");
    ferry_i_stream_free(s);
    ferry_i_stream_free(whole);
}

static void test_replay(void **state)
{
    replay_after_each_line(*state, NULL, false);
    replay_after_each_line(*state, NULL, true);
    replay_after_each_line(*state, "scale=causal average=yes", false);
    replay_after_each_line(*state, "scale=causal average=yes", true);
}

/* Bytes may come in any pieces. */
static void test_pieces(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_stream *whole = NULL, *s = NULL;
    int64_t used = 0, n = 0;
    const char *text = NULL;

    (void)make_model(ctx, "m.ferry", NULL);
    remove_state("whole");
    whole = open_with(ctx, "m.ferry", "whole", "");
    (void)answers_to(ctx, whole, story);
    for (size_t piece = 1; piece < 80; piece += 6) {
        remove_state("s");
        s = open_with(ctx, "m.ferry", "s", "");
        for (size_t at = 0; at < strlen(story) - 1; at += piece) {
            const size_t left = strlen(story) - 1 - at; /* the last line without its end */
            assert_ok(ctx,
                      ferry_stream_feed(ctx, s, story + at,
                                        (int64_t)(left < piece ? left : piece), &used));
        }
        assert_ok(ctx, ferry_stream_feed(ctx, s, NULL, 0, &(int64_t){0}));
        assert_ok(ctx, ferry_stream_commit(ctx, s, 1, &text, &n));
        assert_same_state(ctx, s, whole);
        ferry_i_stream_free(s);
    }
    ferry_i_stream_free(whole);
}

static void test_bad_lines(void **state)
{
    ferry_ctx *ctx = *state;
    static const char *const cases[][2] = {
        {"[1]", "expected an object in { } at byte 1, found '[1]'"},
        {"{\"x\":[1,2,3,4]", "the line ends too early: expected ',' or '}'"},
        {"{\"x\":[1,2,3,4]} x", "expected the end of the line at byte 17"},
        {"{\"x\":[1,2,3]}", "x has 3 numbers, the model's view 'x' has 4"},
        {"{\"x\":[1,2,3,4,5]}", "x has 5 numbers"},
        {"{\"x\":[]}", "x has 0 numbers"},
        {"{\"x\":[1,NaN,3,4]}", "expected a finite number at byte 9, found 'NaN,3,4]}'"},
        {"{\"x\":[1,-Infinity,3,4]}", "expected a finite number at byte 9"},
        {"{\"x\":[1,1e999,3,4]}", "expected a finite number at byte 9"},
        {"{\"id\":007,\"x\":[1,2,3,4]}",
         "expected a number without leading zeros at byte 7, found '007,\"x\":[1,2'"},
        {"{\"x\":[1,-02,3,4]}", "expected a number without leading zeros at byte 9"},
        {"{\"x\":[1,1e101,3,4]}", "feature 1 of x is 1e+101, expected at most 1e+100"},
        {"{\"x\":[1,\"2\",3,4]}", "expected a number at byte 9"},
        {"{\"x\":[1,+2,3,4]}", "expected a number at byte 9"},
        {"{\"x\":[1 2,3,4]}", "expected ',' or ']' at byte 9"},
        {"{\"x\":7}", "expected a list in [ ] at byte 6"},
        {"{\"x\":{\"i\":[0],\"v\":[1,2]}}", "x has 1 indices and 2 values"},
        {"{\"x\":{\"i\":[4],\"v\":[1]}}",
         "x has index 4, expected ascending ones from 0 to 3"},
        {"{\"x\":{\"i\":[-1],\"v\":[1]}}", "index -1 of x is not a whole number from 0 on"},
        {"{\"x\":{\"i\":[0.5],\"v\":[1]}}", "index 0.5 of x"},
        {"{\"x\":{\"i\":[1,1],\"v\":[1,2]}}", "x has index 1 twice"},
        {"{\"x\":{\"i\":[2,1,2],\"v\":[1,2,3]}}", "x has index 2 twice"},
        {"{\"x\":{\"i\":[1]}}", "x has 1 indices and 0 values"},
        {"{\"x\":{\"i\":[]}}", "x has no i or no v"},
        {"{\"x\":{\"i\":[1],\"w\":[2]}}", "x has key 'w', expected i and v once each"},
        {"{\"x\":{\"i\":[1],\"i\":[2]}}", "x has key 'i'"},
        {"{\"x\":{\"i\":[1],\"v\":[null]}}", "expected a number"},
        {"{\"x\":{\"i\" [1]}}", "expected ':'"},
        {"{\"x\":{\"i\":[1] \"v\":[1]}}", "expected ',' or '}'"},
        {"{\"id\":\"n\"}", "expected x, or y, or both"},
        {"{\"y\":\"a\"}", "expected the id of the instance that y is the label of"},
        {"{\"id\":\"n\",\"y\":null}", "expected x, or y, or both"},
        {"{\"id\":\"n\",\"y\":\"a\"}", "no instance 'n' waits for a label"},
        {"{\"id\":\"\",\"x\":[1,2,3,4]}", "id is empty"},
        {"{\"id\":null,\"x\":[1,2,3,4]}", "expected a text or a number"},
        {"{\"id\":true,\"x\":[1,2,3,4]}", "expected a text or a number"},
        {"{\"id\":\"a\\u0000b\",\"x\":[1,2,3,4]}", "id is not UTF-8 text"},
        {"{\"id\":\"\xff\",\"x\":[1,2,3,4]}", "id is not UTF-8 text"},
        {"{\"id\":\"a\tb\",\"x\":[1,2,3,4]}", "a control character written as"},
        {"{\"id\":\"a\\x\",\"x\":[1,2,3,4]}", "expected an escape such as"},
        {"{\"id\":\"a\\u12g4\",\"x\":[1,2,3,4]}", "expected four hexadecimal digits"},
        {"{\"id\":\"\\ud800\",\"x\":[1,2,3,4]}", "the second half of a character"},
        {"{\"id\":\"\\ud800\\u0041\",\"x\":[1,2,3,4]}", "the second half of a character"},
        {"{\"id\":\"open", "the line ends too early: expected the quote"},
        {"{\"id\":\"a\",\"id\":\"b\",\"x\":[1,2,3,4]}", "key 'id' is there twice"},
        {"{\"label\":\"a\",\"x\":[1,2,3,4]}",
         "unknown key 'label', expected id, x, y, seq or retract"},
        {"{id:1}", "expected a text in double quotes"},
        {"{\"id\" 1}", "expected ':'"},
        {"{\"seq\":0,\"x\":[1,2,3,4]}", "seq is 0, expected a whole number from 1 on"},
        {"{\"seq\":1.5,\"x\":[1,2,3,4]}", "seq is 1.5"},
        {"{\"seq\":7,\"x\":[1,2,3,4]}", "seq is 7, but the next one is 2"},
        {"{\"id\":\"w\",\"x\":[1,2,3,5]}", "id 'w' is taken: it waits for its label"},
        {"{\"id\":\"w\",\"x\":[1,2,3,4],\"y\":\"a\"}", "id 'w' is taken"},
    };
    ferry_stream *s = NULL;
    char line[256], where[32];

    (void)make_model(ctx, "m.ferry", NULL);
    remove_state("s");
    s = open_with(ctx, "m.ferry", "s", "");
    (void)answers_to(ctx, s, "{\"id\":\"w\",\"x\":[1,2,3,4]}\n");
    for (int64_t i = 0; i < FERRY_COUNT(cases); i++) {
        (void)snprintf(line, sizeof line, "%s\n", cases[i][0]);
        (void)snprintf(where, sizeof where, "\",\"line\":%d}\n", (int)i + 2);
        const char *a = answers_to(ctx, s, line);
        assert_has(a, "{\"error\":\"");
        if (!strchr(cases[i][1], '"')) assert_has(a, cases[i][1]);
        assert_has(a, where);
        assert_null(strchr(strchr(a, '\n') + 1, '\n')); /* just one */
    }
    /* the same row again is no mistake: its client had no answer */
    assert_has(answers_to(ctx, s, "{\"id\":\"w\",\"x\":[1,2,3,4]}\n"),
               ",\"repeated\":true,\"seq\":1,");
    assert_int_equal(ferry_stream_seq(s), 1);
    assert_int_equal(s->worker->queue.n, 1);
    ferry_i_stream_free(s);
}

/* Texts of any kind come back as they were. */
static void test_texts(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_stream *s = NULL;
    char line[1200];

    (void)make_model(ctx, "m.ferry", NULL);
    remove_state("s");
    s = open_with(ctx, "m.ferry", "s", "");
    assert_has(answers_to(ctx, s,
                          "{\"id\":\"\\u00e9\\ud83d\\ude00\\\"\\\\\\/\\n\\u0001\","
                          "\"x\":[1,2,3,4]}\n"),
               "{\"id\":\"\xc3\xa9\xf0\x9f\x98\x80\\\"\\\\/\\u000a\\u0001\",");
    assert_has(answers_to(ctx, s,
                          "{\"id\":\"\xc3\xa9\xf0\x9f\x98\x80\\\"\\\\/\\n\\u0001\","
                          "\"y\":\"\\t\"}\n"),
               "\"learned\":\"\\u0009\",\"new_class\":true");
    /* Long ids: up to 1024 bytes. A message about one is still UTF-8. */
    memset(line, 0, sizeof line);
    strcpy(line, "{\"id\":\"");
    memset(line + 7, 'x', 1025);
    strcpy(line + 7 + 1025, "\",\"x\":[1,2,3,4]}\n");
    assert_has(answers_to(ctx, s, line), "id has 1025 bytes, at most 1024 are allowed");
    strcpy(line + 7 + 1024, "\",\"x\":[1,2,3,4]}\n");
    assert_has(answers_to(ctx, s, line), "\"prediction\"");
    /* An integer that no double holds stays as it is. */
    assert_has(answers_to(ctx, s, "{\"id\":12345678901234567891,\"x\":[1,2,3,4]}\n"),
               "{\"id\":12345678901234567891,");
    assert_has(answers_to(ctx, s, "{\"id\":\"12345678901234567891\",\"y\":\"a\"}\n"),
               "\"learned\":\"a\"");
    ferry_i_stream_free(s);
}

/* A line that names its own number is taken once, however often it comes. */
static void test_once_only(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_stream *s = NULL;
    const char *const lines = "{\"seq\":1,\"id\":\"a\",\"x\":[1,2,3,4]}\n"
                              "{\"seq\":2,\"x\":[1,2,3,4],\"y\":\"b\"}\n"
                              "{\"seq\":3,\"id\":\"a\",\"y\":\"a\"}\n";

    (void)make_model(ctx, "m.ferry", NULL);
    remove_state("s");
    s = open_with(ctx, "m.ferry", "s", "");
    (void)answers_to(ctx, s, lines);
    assert_int_equal(ferry_stream_seq(s), 3);
    ferry_i_stream_free(s);
    s = open_with(ctx, "m.ferry", "s", "");
    assert_string_equal(answers_to(ctx, s, lines),
                        "{\"id\":\"a\",\"repeated\":true,\"seq\":1,\"sync\":\"batch\"}\n"
                        "{\"repeated\":true,\"seq\":2,\"sync\":\"batch\"}\n"
                        "{\"id\":\"a\",\"repeated\":true,\"seq\":3,\"sync\":\"batch\"}\n");
    assert_int_equal(ferry_stream_seq(s), 3);
    ferry_i_stream_free(s);
}

/* Only so many wait; the bound may change with a restart and holds in a replay. */
static void test_waiting_is_bounded(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_stream *s = NULL;
    char line[128];

    (void)make_model(ctx, "m.ferry", NULL);
    remove_state("s");
    s = open_with(ctx, "m.ferry", "s", "waiting=3");
    for (int i = 1; i <= 5; i++) {
        (void)snprintf(line, sizeof line, "{\"id\":\"i%d\",\"x\":[1,2,3,4]}\n", i);
        const char *a = answers_to(ctx, s, line);
        if (i == 4) assert_has(a, "\"forgot\":\"i1\"");
        if (i < 4) assert_null(strstr(a, "forgot"));
    }
    assert_has(answers_to(ctx, s, "{\"id\":\"i2\",\"y\":\"a\"}\n"),
               "no instance 'i2' waits");
    ferry_i_stream_free(s);
    s = open_with(ctx, "m.ferry", "s", "waiting=100");
    assert_int_equal(s->worker->queue.n, 3);
    assert_has(answers_to(ctx, s, "{\"id\":\"i6\",\"x\":[1,2,3,4]}\n"), "\"seq\":6");
    ferry_i_stream_free(s);
    s = open_with(ctx, "m.ferry", "s", "waiting=2");
    assert_int_equal(s->worker->queue.n, 2);
    assert_string_equal(s->worker->queue.oldest->id, "i5");
    (void)answers_to(ctx, s, "{}\n");
    ferry_i_stream_free(s);
    s = open_with(ctx, "m.ferry", "s", "waiting=0");
    assert_int_equal(s->worker->queue.n, 0);
    assert_has(answers_to(ctx, s, "{\"id\":\"i7\",\"x\":[1,2,3,4]}\n"), "\"seq\":7");
    assert_has(answers_to(ctx, s, "{\"id\":\"i7\",\"y\":\"a\"}\n"),
               "no instance 'i7' waits");
    ferry_i_stream_free(s);
}

/* When a commit is due: at once, after 64 lines, or after some time. */
static void test_when_due(void **state)
{
    ferry_ctx *ctx = *state;
    const char *line = "{\"x\":[1,2,3,4]}\n";
    char *many = calloc(200, strlen(line) + 1);
    ferry_stream *s = NULL;
    int64_t used = 0, n = 0;
    const char *text = NULL;

    for (int i = 0; i < 200; i++)
        strcat(many, line);
    (void)make_model(ctx, "m.ferry", NULL);
    remove_state("s");
    s = open_with(ctx, "m.ferry", "s", "");
    assert_ok(ctx, ferry_stream_feed(ctx, s, many, 16, &used));
    assert_true(ferry_stream_due(s) > 0);
    s->seconds = 0; /* as if its time had come */
    assert_true(ferry_stream_due(s) == 0);
    assert_ok(ctx, ferry_stream_feed(ctx, s, many, 16, &used));
    assert_int_equal(used, 0);
    s->seconds = 1e9;
    assert_ok(ctx, ferry_stream_commit(ctx, s, 1, &text, &n));
    assert_true(ferry_stream_due(s) < 0);
    assert_ok(ctx, ferry_stream_feed(ctx, s, many, (int64_t)strlen(many), &used));
    assert_int_equal(used, 64 * strlen(line));
    ferry_i_stream_free(s);
    s = open_with(ctx, "m.ferry", "s", "sync=always");
    assert_ok(ctx, ferry_stream_feed(ctx, s, many, (int64_t)strlen(many), &used));
    assert_int_equal(used, strlen(line));
    ferry_i_stream_free(s);
    free(many);
}

/* ---- CSV and svmlight ---- */

static void test_csv(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_stream *s = NULL, *other = NULL;
    const char *a = NULL;

    (void)make_model(ctx, "m.ferry", NULL);
    remove_state("s");
    remove_state("o");
    s = open_with(ctx, "m.ferry", "s", "format=csv");
    a = answers_to(ctx, s,
                   "\xef\xbb\xbfid,y,p,q,r,s\r\n"
                   "1,,1,0,0,1\n2,b,0,2,0,0.5\n3,,0,?,1,0\n"
                   "\"say \"\"1\"\"\",,1,1,1,1\n1,b,,,,\n\n,c,1,1,1,1\n"
                   "1,2,3\n4,,1,x,3,4\n,,,,,\n5,a,nan,2,3,4\n\"say \"\"1\"\"\",a,,,,\n");
    assert_has(a, "{\"id\":\"1\",\"prediction\":\"");
    assert_has(a, "{\"id\":\"1\",\"learned\":\"b\",\"seq\":5,");
    assert_has(a, "\"learned\":\"c\",\"new_class\":true,\"seq\":6,");
    assert_has(a, "{\"error\":\"3 cells, the first line has 6\",\"line\":9}");
    assert_has(a, "{\"error\":\"'x' is not a finite number\",\"line\":10}");
    assert_has(a, "{\"error\":\"expected features, or an id and its label\",\"line\":11}");
    assert_has(a, "{\"error\":\"'nan' is not a finite number\",\"line\":12}");
    assert_has(a, "{\"id\":\"say \\\"1\\\"\",\"learned\":\"a\",\"seq\":7,");
    /* The same in JSON gives the same state. */
    other = open_with(ctx, "m.ferry", "o", "");
    (void)answers_to(
        ctx, other,
        "{\"id\":1,\"x\":[1,0,0,1]}\n{\"id\":2,\"x\":[0,2,0,0.5],\"y\":\"b\"}\n"
        "{\"id\":3,\"x\":[0,null,1,0]}\n"
        "{\"id\":\"say \\\"1\\\"\",\"x\":[1,1,1,1]}\n{\"id\":\"1\",\"y\":\"b\"}\n"
        "{\"x\":[1,1,1,1],\"y\":\"c\"}\n{\"id\":\"say \\\"1\\\"\",\"y\":\"a\"}\n");
    assert_same_state(ctx, s, other);
    ferry_i_stream_free(other);
    ferry_i_stream_free(s);
}

/* Columns by name where the model has names, in any order. */
static void test_csv_by_name(void **state)
{
    ferry_ctx *ctx = *state;
    static const char *const features[] = {"one", "two", "three", "id"};
    static const char *const bad[][2] = {
        {"one,two,three\n", "names 3 features, the model has 4"},
        {"one,two,three,id,five\n", "column 'five' is no feature of the model"},
        {"one,two,two,id\n", "column 'two' is there twice"},
        {"y,class,one,two,three,id\n", "column 'class' is there twice"},
    };
    ferry_domain *d = NULL;
    ferry_task *task = NULL;
    ferry_model *m = NULL;
    ferry_stream *s = NULL;
    int64_t used = 0;

    assert_ok(ctx, ferry_domain_new(ctx, "t", FERRY_TARGET, &d));
    small_view(ctx, d, "x", 4, 4, rows, NULL, features, false);
    small_classes(ctx, d, "abab");
    task = small_task(ctx, FERRY_CLASSIFY, NULL, d);
    m = fit_model(ctx, task, "mpa", NULL);
    assert_ok(ctx, ferry_model_save(ctx, m, tmp_path("n.ferry")));
    ferry_model_free(m);
    ferry_task_free(task);
    remove_state("s");
    s = open_with(ctx, "n.ferry", "s", "format=csv");
    (void)answers_to(ctx, s, "id,three,Label,one,two\n4,3,a,1,2\n");
    assert_int_equal(ferry_stream_seq(s), 1);
    ferry_i_stream_free(s);
    remove_state("o");
    s = open_with(ctx, "n.ferry", "o", "");
    ferry_stream *same = open_with(ctx, "n.ferry", "s", "");
    (void)answers_to(ctx, s, "{\"x\":[1,2,3,4],\"y\":\"a\"}\n");
    assert_same_state(ctx, s, same);
    ferry_i_stream_free(same);
    ferry_i_stream_free(s);
    for (int64_t i = 0; i < FERRY_COUNT(bad); i++) {
        s = open_with(ctx, "n.ferry", "s", "format=csv");
        assert_fails(
            ctx, ferry_stream_feed(ctx, s, bad[i][0], (int64_t)strlen(bad[i][0]), &used),
            FERRY_EDATA, bad[i][1]);
        ferry_i_stream_free(s);
    }
    (void)make_model(ctx, "m.ferry", NULL);
    remove_state("o");
    s = open_with(ctx, "m.ferry", "o", "format=csv");
    assert_fails(ctx, ferry_stream_feed(ctx, s, "a,b,c,d,e\n", 10, &used), FERRY_EDATA,
                 "standard input:1: more than the 4 features that the model has");
    ferry_i_stream_free(s);
}

static void test_svmlight(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_stream *s = NULL, *other = NULL;
    const char *a = NULL;

    (void)make_model(ctx, "m.ferry", NULL);
    remove_state("s");
    remove_state("o");
    s = open_with(ctx, "m.ferry", "s", "format=svmlight");
    a = answers_to(ctx, s,
                   "1:1 4:1 # id:one\nb qid:3 4:0.5 2:2\n? 3:1 # a remark\n"
                   "b # id:one\na # id:new\n"
                   "a 0:1\na 5:1\na 1:x\na 1\n");
    assert_has(a, "{\"id\":\"one\",\"prediction\":\"");
    assert_has(a, "{\"id\":\"one\",\"learned\":\"b\",\"seq\":4,");
    assert_has(a, "\"learned\":\"a\",\"seq\":5,");
    assert_has(a, "{\"error\":\"index 0 is below 1, the model's first\",\"line\":6}");
    assert_has(a, "{\"error\":\"x has index 4, expected ascending ones from 0 to 3\"");
    assert_has(a, "{\"error\":\"expected index:value, found '1:x'\",\"line\":8}");
    assert_has(a, "{\"error\":\"expected index:value, found '1'\",\"line\":9}");
    other = open_with(ctx, "m.ferry", "o", "");
    (void)answers_to(ctx, other,
                     "{\"id\":\"one\",\"x\":{\"i\":[0,3],\"v\":[1,1]}}\n"
                     "{\"x\":{\"i\":[1,3],\"v\":[2,0.5]},\"y\":\"b\"}\n"
                     "{\"x\":{\"i\":[2],\"v\":[1]}}\n{\"id\":\"one\",\"y\":\"b\"}\n"
                     "{\"id\":\"new\",\"x\":{\"i\":[],\"v\":[]},\"y\":\"a\"}\n");
    assert_same_state(ctx, s, other);
    ferry_i_stream_free(other);
    ferry_i_stream_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_answers, quick_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_same_as_predict, quick_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_replay, quick_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_pieces, quick_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_bad_lines, quick_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_texts, quick_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_once_only, quick_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_waiting_is_bounded, quick_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_when_due, quick_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_csv, quick_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_csv_by_name, quick_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_svmlight, quick_setup, ctx_teardown),
    };
    return cmocka_run_group_tests_name("stream_lines", tests, NULL, NULL);
}
