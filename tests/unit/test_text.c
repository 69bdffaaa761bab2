/* Text: words, vocabulary, weights, lines and files. */
#include "ferry_test.h"

#include <stdio.h>
#include <sys/stat.h>

#include "data/text.h"

static ferry_data *read_with(ferry_ctx *ctx, const char *path, const char *a, const char *b,
                             const char *c)
{
    ferry_opts *opts =
        opts_of(ctx, "format=text", a, a ? b : NULL, a && b ? c : NULL, NULL);
    ferry_data *d = NULL;

    assert_ok(ctx, ferry_read(ctx, path, opts, &d));
    assert_string_equal(d->format, "text");
    ferry_opts_free(opts);
    return d;
}

static ferry_data *read_lines(ferry_ctx *ctx, const char *text, const char *a,
                              const char *b)
{
    return read_with(ctx, tmp_file("t.txt", text, -1), a, b, NULL);
}

static double cell(const ferry_data *d, int64_t i, const char *word)
{
    const int64_t j = ferry_i_ids_find(d->features, word);

    for (int64_t e = d->x->start[i]; e < d->x->start[i + 1]; e++)
        if (d->x->index[e] == j) return d->x->value[e];
    return 0;
}

static const char *class_of(const ferry_data *d, int64_t i)
{
    return ferry_i_ids_at(d->labels->names, d->labels->cls[i]);
}

/* The words as one line. */
static void check_words(const ferry_data *d, const char *want)
{
    ferry_text t = {0};

    for (int64_t j = 0; j < ferry_i_ids_count(d->features); j++)
        ferry_i_text_addf(&t, "%s%s", j ? "|" : "", ferry_i_ids_at(d->features, j));
    assert_string_equal(t.s, want);
    ferry_i_text_free(&t);
}

static void test_words(void **state)
{
    ferry_ctx *ctx = *state;
    const char *text = "The cat, the CAT2 d'Arc a\n\n\xc3\x89t\xc3\xa9 \xc3\x9c"
                       "ber x\n";
    ferry_data *d = read_lines(ctx, text, "max_empty=0.5", NULL);

    assert_int_equal(d->x->rows, 3); /* the blank line is one without words */
    assert_null(d->ids);
    assert_null(d->labels);
    check_words(d, "arc|cat|the|\xc3\xa9t\xc3\xa9|\xc3\xbc"
                   "ber");
    assert_close(cell(d, 0, "cat"), 2, 0);
    assert_close(cell(d, 0, "the"), 2, 0);
    ferry_data_free(d);

    d = read_with(ctx, tmp_file("t.txt", text, -1), "lower=no", "min_len=1", "max_empty=1");
    check_words(d, "Arc|CAT|The|a|cat|d|the|x|\xc3\x89t\xc3\xa9|\xc3\x9c"
                   "ber");
    ferry_data_free(d);
    d = read_lines(ctx, "a-b c.\n", "tokens=spaces", "min_len=1");
    check_words(d, "a-b|c.");
    ferry_data_free(d);
    d = read_lines(ctx, "one two three\ntwo one\n", "tokens=bigrams", NULL);
    check_words(d, "one|one two|three|two|two one|two three");
    ferry_data_free(d);
    /* Greek, Cyrillic; a letter whose small form is longer; an accent as a mark of its own */
    d = read_lines(ctx,
                   "\u039b\u039f\u0393\u039f\u03a3 \u041c\u041e\u0421\u041a\u0412\u0410 "
                   "\u043c\u043e\u0441\u043a\u0432\u0430 \u023a\u023a E\u0301TE\u0301\n",
                   NULL, NULL);
    check_words(d, "e\u0301te\u0301|\u03bb\u03bf\u03b3\u03bf\u03c3|"
                   "\u043c\u043e\u0441\u043a\u0432\u0430|\u2c65\u2c65");
    assert_close(cell(d, 0, "\u043c\u043e\u0441\u043a\u0432\u0430"), 2, 0);
    ferry_data_free(d);
    d = read_lines(ctx, "caf\xe9 caf\xe9\n", NULL, NULL); /* Latin-1 */
    check_words(d, "caf\xc3\xa9");
    ferry_data_free(d);
}

static void test_document_frequency(void **state)
{
    ferry_ctx *ctx = *state;
    const char *text = "aa bb cc\naa bb\naa dd\naa\n";
    ferry_data *d = read_lines(ctx, text, "min_df=2", NULL);

    check_words(d, "aa|bb");
    ferry_data_free(d);
    d = read_lines(ctx, text, "max_df=0.9", "max_empty=1");
    check_words(d, "bb|cc|dd");
    assert_int_equal(d->empty_rows, 1);
    ferry_data_free(d);
    d = read_with(ctx, tmp_file("t.txt", text, -1), "min_df=0.5", "max_df=3",
                  "max_empty=1");
    check_words(d, "bb");
    assert_int_equal(d->empty_rows, 2);
    ferry_data_free(d);
}

static void test_weights(void **state)
{
    ferry_ctx *ctx = *state;
    const char *text = "aa aa bb\nbb cc\n";
    const double idf = log(3.0 / 2.0) + 1;
    ferry_data *d = read_lines(ctx, text, "weight=binary", NULL);

    assert_close(cell(d, 0, "aa"), 1, 0);
    assert_null(d->idf);
    ferry_data_free(d);
    d = read_lines(ctx, text, "weight=tf", NULL);
    assert_close(cell(d, 0, "aa"), 1 + log(2), 1e-15);
    ferry_data_free(d);
    d = read_lines(ctx, text, "weight=tfidf", NULL);
    assert_close(d->idf[0], idf, 1e-15);
    assert_close(d->idf[1], 1, 1e-15);
    assert_close(cell(d, 0, "aa"), (1 + log(2)) * idf, 1e-15);
    assert_close(cell(d, 1, "cc"), idf, 1e-15);
    ferry_data_free(d);
    d = read_lines(ctx, text, "norm=l1", NULL);
    assert_close(cell(d, 0, "aa"), 2.0 / 3, 1e-15);
    ferry_data_free(d);
    d = read_lines(ctx, text, "norm=l2", NULL);
    assert_close(cell(d, 0, "bb"), 1 / sqrt(5), 1e-15);
    ferry_data_free(d);
}

static void test_stop_words(void **state)
{
    ferry_ctx *ctx = *state;
    char option[300];
    ferry_data *d =
        read_lines(ctx, "The cat and the dog aren't here\n", "stop_words=english", NULL);

    check_words(d, "cat|dog");
    ferry_data_free(d);
    snprintf(option, sizeof option, "stop_words=%s",
             tmp_file("stop", "# not these\nCat\tdog\n", -1));
    d = read_lines(ctx, "The cat and the dog\n", option, NULL);
    check_words(d, "and|the");
    ferry_data_free(d);
    d = read_lines(ctx, "The cat\n", "stop_words=none", NULL);
    check_words(d, "cat|the");
    ferry_data_free(d);
}

static void test_mail(void **state)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"From: me\nSubject: Re: a title\n goes on\nX-To: you\n\nbody: text\n",
         " Re: a title\n goes on\nbody: text\n"},
        {"just text\n\nmore\n", "just text\n\nmore\n"},
        {"From: me\nsubject:x", "x\n"},
        /* tabs for newlines, as some copies of 20 Newsgroups have them */
        {"From: me\tSubject: it\tLines: 2\t\tbody here\tmore", " it\nbody here\nmore"},
        {"", NULL},
    };

    (void)state;
    for (int64_t i = 0; i < FERRY_COUNT(cases); i++) {
        ferry_text t = {0};
        ferry_i_strip_mail(cases[i].text, (int64_t)strlen(cases[i].text), &t);
        assert_string_equal(t.s ? t.s : "", cases[i].want ? cases[i].want : "");
        ferry_i_text_free(&t);
    }
}

static void test_columns(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_data *d =
        read_lines(ctx, "pos\tgood film\nneg\tbad film\npos\tgreat\n", NULL, NULL);

    assert_string_equal(class_of(d, 1), "neg");
    assert_null(d->ids);
    assert_int_equal(d->x->rows, 3);
    ferry_data_free(d);
    d = read_lines(ctx, "d1\tpos\tgood film\nd2\tneg\tbad film\n", NULL, NULL);
    assert_string_equal(ferry_i_ids_at(d->ids, 1), "d2");
    assert_string_equal(class_of(d, 1), "neg");
    check_words(d, "bad|film|good");
    ferry_data_free(d);
    d = read_lines(ctx, "d1\tgood film\nd2\tbad film\n", NULL, NULL);
    assert_string_equal(ferry_i_ids_at(d->ids, 0), "d1");
    assert_null(d->labels);
    ferry_data_free(d);
    d = read_lines(ctx, "pos\tgood film\npos\tfilm\n", "label=none", "id=none");
    check_words(d, "film|good|pos");
    ferry_data_free(d);
    d = read_lines(ctx, "aa\tx\tgood\nbb\tx\tbad\n", "label=first", NULL);
    assert_string_equal(class_of(d, 1), "bb");
    ferry_data_free(d);
    d = read_lines(ctx, "aa\tx\tgood\nbb\ty\tbad\n", "id=2", NULL);
    assert_string_equal(ferry_i_ids_at(d->ids, 1), "y");
    assert_null(d->labels);
    ferry_data_free(d);
}

/* A small folder tree; returns its path. */
static const char *make_tree(void)
{
    (void)mkdir(tmp_path("tree"), 0777);
    (void)mkdir(tmp_path("tree/sports"), 0777);
    (void)mkdir(tmp_path("tree/space"), 0777);
    tmp_file("tree/sports/1", "ball game", -1);
    tmp_file("tree/sports/2", "ball", -1);
    tmp_file("tree/sports/3", "game game", -1);
    tmp_file("tree/space/1", "orbit moon", -1);
    tmp_file("tree/space/2", "moon 7", -1);
    tmp_file("tree/space/3", "9", -1);
    return tmp_path("tree");
}

static void test_folder(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_data *d = NULL;
    ferry_opts *opts = opts_of(ctx, "max_empty=0.2", NULL);

    assert_ok(ctx, ferry_read(ctx, make_tree(), opts, &d)); /* seen by itself */
    ferry_opts_free(opts);
    assert_string_equal(d->format, "text");
    assert_int_equal(d->x->rows, 6);
    assert_string_equal(ferry_i_ids_at(d->ids, 0), "space/1");
    assert_string_equal(class_of(d, 0), "space");
    assert_string_equal(class_of(d, 5), "sports");
    check_words(d, "ball|game|moon|orbit");
    assert_int_equal(d->empty_rows, 1);
    ferry_data_free(d);
    d = read_with(ctx, tmp_path("tree"), "label=none", "max_empty=1", NULL);
    assert_null(d->labels);
    ferry_data_free(d);
    d = read_with(ctx, tmp_path("tree/space/1"), "documents=files", "label=none", NULL);
    assert_int_equal(d->x->rows, 1);
    ferry_data_free(d);
}

/* The ids as one line. */
static void check_ids(const ferry_data *d, const char *want)
{
    ferry_text t = {0};

    for (int64_t i = 0; i < ferry_i_ids_count(d->ids); i++)
        ferry_i_text_addf(&t, "%s%s", i ? "|" : "", ferry_i_ids_at(d->ids, i));
    assert_string_equal(t.s, want);
    ferry_i_text_free(&t);
}

static void test_files(void **state)
{
    ferry_ctx *ctx = *state;
    const char *tree = make_tree();
    ferry_data *d = read_with(ctx, tree, "files=sports", NULL, NULL);

    check_ids(d, "sports/1|sports/2|sports/3");
    ferry_data_free(d);
    d = read_with(ctx, tree, "files=moon=space/1,ball=sp*s", NULL, NULL);
    check_ids(d, "space/1|sports/1|sports/2|sports/3");
    assert_string_equal(class_of(d, 0), "moon");
    assert_string_equal(class_of(d, 3), "ball");
    ferry_data_free(d);
    d = read_with(ctx, tree, "files=moon=space/1,ball=sp*s", "label=none", NULL);
    assert_int_equal(d->x->rows, 4);
    assert_null(d->labels);
    ferry_data_free(d);
    d = read_with(ctx, tree, "files=s*s/*", NULL, NULL);
    assert_int_equal(d->x->rows, 3);
    ferry_data_free(d);

    (void)mkdir(tmp_path("reviews"), 0777);
    tmp_file("reviews/books.train", "1\tgood book\n0\tbad book\n", -1);
    tmp_file("reviews/books.test", "1\tfine book\n1\tfine plot\n", -1);
    tmp_file("reviews/dvd.test", "1\tfine film\n", -1);
    d = read_with(ctx, tmp_path("reviews"), "documents=lines", "files=books.*",
                  "label=first");
    check_ids(d, "books.test:1|books.test:2|books.train:1|books.train:2");
    assert_string_equal(class_of(d, 3), "0");
    check_words(d, "bad|book|fine|good|plot");
    ferry_data_free(d);
    d = read_with(ctx, tmp_path("reviews"), "documents=lines", "files=all=dvd.test",
                  "label=first");
    assert_string_equal(class_of(d, 0), "all"); /* the option's class, not the column's */
    ferry_data_free(d);
}

static void test_bad_files(void **state)
{
    static const struct {
        const char *option, *want;
    } cases[] = {
        {"files=sport", "files: no file or folder in it is called 'sport'"},
        {"files=sports/", "'sports/'"},
        {"files=space,,sports", "expected NAME or CLASS=NAME between the commas"},
        {"files==space", "expected NAME or CLASS=NAME"},
        {"files=a=", "expected NAME or CLASS=NAME"},
        {"files=space", "1 of 3 documents have no word left (such as space/3), expected at "
                        "most 2 %: look at mail_headers"},
        {"sample=space=1,orbit=2", "no document has the class 'orbit'"},
    };
    ferry_ctx *ctx = *state;
    ferry_data *d = NULL;

    for (int64_t i = 0; i < FERRY_COUNT(cases); i++) {
        ferry_opts *opts = opts_of(ctx, "format=text", cases[i].option, NULL);
        const ferry_status st = ferry_read(ctx, make_tree(), opts, &d);
        assert_true(st == FERRY_EDATA || st == FERRY_EINVAL);
        assert_non_null(strstr(ferry_message(ctx), cases[i].want));
        assert_null(d);
        ferry_opts_free(opts);
    }
    ferry_opts *opts = opts_of(ctx, "format=text", "documents=lines", "label=first", NULL);
    tmp_file("reviews/dvd.test", "1\tfine film\nno tab\n", -1);
    assert_fails(ctx, ferry_read(ctx, tmp_path("reviews"), opts, &d), FERRY_EDATA,
                 "reviews#dvd.test:2: expected 1 tab before the text");
    ferry_opts_free(opts);
}

static void test_draw(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_text t = {0};
    ferry_data *d =
        read_lines(ctx, "a\tx\tone two\nb\ty\ttwo one\nc\ty\tone two\nd\tx\ttwo two\n",
                   "duplicates=drop", NULL);

    check_ids(d, "a|d"); /* the order of words does not matter, their count does */
    assert_string_equal(class_of(d, 1), "x");
    ferry_data_free(d);

    for (int i = 0; i < 100; i++)
        ferry_i_text_addf(&t, "d%d\t%s\tword%c%c\n", i, i % 4 ? "often" : "rarely",
                          'a' + i / 10, 'a' + i % 10);
    const char *path = tmp_file("many.txt", t.s, -1);
    ferry_i_text_free(&t);
    d = read_with(ctx, path, "sample=30", NULL, NULL);
    assert_int_equal(d->x->rows, 30);
    assert_int_equal(d->x->cols, 30);
    ferry_data *again = read_with(ctx, path, "sample=30", NULL, NULL);
    for (int64_t i = 0; i < 30; i++) {
        assert_string_equal(ferry_i_ids_at(d->ids, i), ferry_i_ids_at(again->ids, i));
        assert_true(i == 0 || atoi(ferry_i_ids_at(d->ids, i) + 1) >
                                  atoi(ferry_i_ids_at(d->ids, i - 1) + 1));
    }
    ferry_data_free(again);
    ctx->seed++;
    again = read_with(ctx, path, "sample=30", NULL, NULL);
    int64_t same = 0;
    for (int64_t i = 0; i < 30; i++)
        same += ferry_i_ids_find(d->ids, ferry_i_ids_at(again->ids, i)) >= 0;
    assert_true(same < 25);
    ferry_data_free(again);
    ferry_data_free(d);
    d = read_with(ctx, path, "sample=often=10,rarely=2", NULL, NULL);
    same = 0;
    for (int64_t i = 0; i < d->x->rows; i++)
        same += strcmp(class_of(d, i), "rarely") == 0;
    assert_int_equal(d->x->rows, 12);
    assert_int_equal(same, 2);
    ferry_data_free(d);
    d = read_with(ctx, path, "sample=1000", NULL, NULL);
    assert_int_equal(d->x->rows, 100);
    ferry_data_free(d);
}

/* Two pieces share words, frequencies and the cut into parts. */
static void test_share(void **state)
{
    ferry_ctx *ctx = *state;
    static const char *const names[] = {"p0.txt", "p1.txt"};
    ferry_data *d[2] = {NULL, NULL};
    int64_t both = 0;

    for (int i = 0; i < 2; i++) {
        ferry_opts *opts = opts_of(ctx, "weight=tfidf", "min_df=2", "max_empty=1",
                                   i ? "part=1/2" : "part=2/2", NULL);
        tmp_file(names[i], i ? "aa dd ee\nbb cc\n" : "aa bb cc\naa dd ff\n", -1);
        assert_ok(ctx, ferry_i_read_raw_text(ctx, tmp_path(names[i]), opts, &d[i]));
        assert_null(d[i]->x);
        ferry_opts_free(opts);
    }
    assert_ok(ctx, ferry_i_text_weigh(ctx, 7, 2, d));
    for (int i = 0; i < 2; i++) {
        assert_null(d[i]->documents);
        assert_int_equal(d[i]->x->cols, 2); /* aa bb cc dd are in two documents or more */
        for (int64_t j = 0; j < 2; j++) {
            const char *word = ferry_i_ids_at(d[i]->features, j);
            const int df = strcmp(word, "aa") == 0 ? 3 : 2;
            assert_non_null(strstr("aa bb cc dd", word));
            assert_close(d[i]->idf[j], log(5.0 / (1 + df)) + 1, 1e-15);
            both += ferry_i_ids_find(d[1 - i]->features, word) >= 0;
        }
    }
    assert_int_equal(both, 0);
    ferry_data_free(d[0]);
    ferry_data_free(d[1]);
}

static ferry_status share_body(ferry_ctx *ctx, void *arg)
{
    ferry_data *d[2] = {NULL, NULL};
    ferry_status st = FERRY_OK;

    for (int i = 0; st == FERRY_OK && i < 2; i++)
        st = ferry_i_read_raw_text(ctx, arg, NULL, &d[i]);
    if (st == FERRY_OK) st = ferry_i_text_weigh(ctx, 1, 2, d);
    ferry_data_free(d[0]);
    ferry_data_free(d[1]);
    return st;
}

static void test_like(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_data *d = read_lines(ctx, "aa aa bb\nbb cc\n", "weight=tfidf", "norm=l2"),
               *new = NULL;
    const char *path = tmp_file("new.txt", "zz cc aa\nzz\n", -1);

    assert_ok(ctx,
              ferry_i_read_like(ctx, path, d->read, d->features, d->idf, 0, NULL, &new));
    assert_int_equal(new->x->cols, 3);
    assert_int_equal(new->empty_rows, 1);
    check_words(new, "aa|bb|cc");
    assert_close(cell(new, 0, "aa"), sqrt(0.5), 1e-15);
    assert_close(cell(new, 0, "cc"), sqrt(0.5), 1e-15);
    for (int64_t j = 0; j < 3; j++)
        assert_close(new->idf[j], d->idf[j], 0);
    ferry_data_free(new);
    assert_fails(ctx,
                 ferry_i_read_like(ctx, path, d->read, d->features, NULL, 0, NULL, &new),
                 FERRY_EDATA, "without its weights");
    ferry_data_free(d);
}

static void test_broken(void **state)
{
    static const struct {
        const char *text, *option, *want;
        ferry_status st;
    } cases[] = {
        {"aa bb\n", "min_df=2", "no word is left of 2 in 1 documents", FERRY_EDATA},
        {"12 34\n", "lower=yes", "no word is left", FERRY_EDATA},
        {"\n \n", "lower=yes", "holds no document", FERRY_EDATA},
        {"a\tx\nb\n", "label=first", ":2: expected 1 tab before the text", FERRY_EDATA},
        {"a\tx\na\ty\n", "id=first", ":2: id \"a\" repeats", FERRY_EDATA},
        {"a\tx\n", "label=NAME", "expected first, 1, 2 or none", FERRY_EINVAL},
        {"a\tx\n", "stop_words=/nowhere/stop", "no such file", FERRY_EDATA},
        {"aa\n1\n", "lower=yes",
         "1 of 2 documents have no word left (such as number 2), expected at most 2 %",
         FERRY_EDATA},
        {"aa\n", "files=a", "wants a folder or archive", FERRY_EINVAL},
        {"aa\n", "sample=0", "sample = \"0\": expected N or CLASS=N", FERRY_EINVAL},
        {"aa\n", "sample=1,2", "expected N or CLASS=N", FERRY_EINVAL},
        {"aa\n", "sample=p=x", "expected N or CLASS=N", FERRY_EINVAL},
        {"aa\n", "sample=p=1", "sample: no document has the class 'p'", FERRY_EDATA},
        {"aa\n", "part=3/2", "part = \"3/2\": expected such as 1/2", FERRY_EINVAL},
        {"aa\n", "part=1+/2", "expected such as 1/2", FERRY_EINVAL},
        {"aa\n", "part=1-2/3", "expected such as 1/2", FERRY_EINVAL},
        {"aa\n", "part=/2", "expected such as 1/2", FERRY_EINVAL},
        {"aa\n", "part=1/65", "expected such as 1/2", FERRY_EINVAL},
        {"aa\n", "part=half", "expected such as 1/2", FERRY_EINVAL},
    };
    ferry_ctx *ctx = *state;
    ferry_data *d = NULL;

    for (int64_t i = 0; i < FERRY_COUNT(cases); i++) {
        ferry_opts *opts = opts_of(ctx, "format=text", cases[i].option, NULL);
        const char *path = tmp_file("bad.txt", cases[i].text, -1);
        assert_fails(ctx, ferry_read(ctx, path, opts, &d), cases[i].st, cases[i].want);
        assert_null(d);
        ferry_opts_free(opts);
    }
    ferry_opts *opts = opts_of(ctx, "format=text", "documents=lines", NULL);
    assert_fails(ctx, ferry_read(ctx, tmp_file("z.txt", "a\0b\n", 4), opts, &d),
                 FERRY_EDATA, "");
    ferry_opts_free(opts);
    opts = opts_of(ctx, "format=text", "id=1", "label=1", NULL);
    assert_fails(ctx, ferry_read(ctx, tmp_file("s.txt", "a\tb\n", -1), opts, &d),
                 FERRY_EINVAL, "both id and label");
    ferry_opts_free(opts);
    char option[300];
    snprintf(option, sizeof option, "stop_words=%s", tmp_file("stop", "#\n", -1));
    opts = opts_of(ctx, "format=text", option, NULL);
    assert_fails(ctx, ferry_read(ctx, tmp_path("s.txt"), opts, &d), FERRY_EDATA,
                 "expected stop words");
    ferry_opts_free(opts);
}

static ferry_status body(ferry_ctx *ctx, void *arg)
{
    ferry_opts *opts = NULL;
    ferry_data *d = NULL;
    static const char *const set[][2] = {{"format", "text"},     {"weight", "tfidf"},
                                         {"tokens", "bigrams"},  {"mail_headers", "strip"},
                                         {"stop_words", "none"}, {"norm", "l2"},
                                         {"max_empty", "1"},     {"duplicates", "drop"},
                                         {"sample", "8"},        {"part", "1+2/2"}};
    ferry_status st = ferry_opts_new(ctx, &opts);

    for (int64_t i = 0; st == FERRY_OK && i < FERRY_COUNT(set); i++)
        st = ferry_opts_set(ctx, opts, set[i][0], set[i][1]);
    if (st == FERRY_OK) st = ferry_read(ctx, arg, opts, &d);
    ferry_data_free(d);
    ferry_opts_free(opts);
    return st;
}

static void test_memory(void **state)
{
    char path[256];

    strcpy(path, tmp_file("m.txt", "d1\tA\tone two\nd2\tB\ttwo caf\xe9\n", -1));
    each_allocation_fails(*state, body, path);
    each_allocation_fails(*state, share_body, path);
    strcpy(path, make_tree());
    each_allocation_fails(*state, body, path);
}

static void test_newsgroups(void **state)
{
    ferry_ctx *ctx = *state;
    const char *dir = data_dir("20newsgroups/20news-bydate.tar.xz");
    char path[4096];
    ferry_data *d = NULL;

    if (!dir) skip();
    snprintf(path, sizeof path, "%s/20newsgroups/20news-bydate.tar.xz", dir);
    assert_ok(ctx, ferry_read(ctx, path, NULL, &d));
    assert_string_equal(d->format, "text");
    assert_int_equal(d->x->rows, 18846);
    assert_int_equal(ferry_i_labels_m(d->labels), 20);
    int64_t atheism = 0;
    for (int64_t i = 0; i < d->x->rows; i++)
        atheism += strcmp(class_of(d, i), "alt.atheism") == 0;
    assert_int_equal(atheism, 480 + 319);
    assert_int_equal(
        strncmp(ferry_i_ids_at(d->ids, 0), "20news-bydate-test/alt.atheism/", 31), 0);
    print_message("20 Newsgroups: %lld words, %lld entries\n", (long long)d->x->cols,
                  (long long)d->x->nnz);
    ferry_data_free(d);

    dir = data_dir("amazon_sentiment/fdu-mtl.tar.xz");
    if (!dir) return;
    snprintf(path, sizeof path,
             "%s/amazon_sentiment/fdu-mtl.tar.xz#fdu-mtl/books.task.train", dir);
    d = read_with(ctx, path, NULL, NULL, NULL);
    assert_int_equal(d->x->rows, 1600);
    int64_t positive = 0;
    for (int64_t i = 0; i < d->x->rows; i++)
        positive += strcmp(class_of(d, i), "1") == 0;
    assert_int_equal(positive, 798);
    ferry_data_free(d);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)
    const struct CMUnitTest tests[] = {
        T(test_words),      T(test_document_frequency),
        T(test_weights),    T(test_stop_words),
        T(test_mail),       T(test_columns),
        T(test_folder),     T(test_like),
        T(test_broken),     T(test_memory),
        T(test_newsgroups), T(test_files),
        T(test_bad_files),  T(test_draw),
        T(test_share),
    };
    return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
