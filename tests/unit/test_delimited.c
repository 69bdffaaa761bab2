#include "ferry_test.h"

#include <stdio.h>

#include "data/data.h"

static ferry_data *read_text(ferry_ctx *ctx, const char *text, const char *setting)
{
    ferry_data *d = NULL;
    ferry_opts *opts = opts_of(ctx, setting, NULL);

    assert_ok(ctx, ferry_read(ctx, tmp_file("t.csv", text, -1), opts, &d));
    assert_string_equal(d->format, "csv");
    ferry_opts_free(opts);
    return d;
}

static void refused(ferry_ctx *ctx, const char *text, const char *setting, const char *why)
{
    ferry_data *d = (ferry_data *)(uintptr_t)1;
    ferry_opts *opts = opts_of(ctx, setting, NULL);

    assert_fails(ctx, ferry_read(ctx, tmp_file("bad.csv", text, -1), opts, &d), FERRY_EDATA,
                 why);
    assert_null(d);
    ferry_opts_free(opts);
}

static double at(const ferry_data *d, int64_t i, int64_t j)
{
    if (d->x->dense) return d->x->dense[i * d->x->cols + j];
    for (int64_t e = d->x->start[i]; e < d->x->start[i + 1]; e++)
        if (d->x->index[e] == j) return d->x->value[e];
    return 0;
}

static const char *class_of(const ferry_data *d, int64_t i)
{
    return d->labels->cls[i] < 0 ? "?"
                                 : ferry_i_ids_at(d->labels->names, d->labels->cls[i]);
}

/* Names of the features with commas between. */
static void features_are(const ferry_data *d, const char *want)
{
    ferry_text t = {0};

    ferry_i_text_add(&t, "");
    for (int64_t j = 0; j < ferry_i_ids_count(d->features); j++)
        ferry_i_text_addf(&t, "%s%s", j ? "," : "", ferry_i_ids_at(d->features, j));
    assert_string_equal(t.s, want);
    ferry_i_text_free(&t);
}

/* The same table in every dress. */
static void test_separators(void **state)
{
    static const char *const texts[] = {
        "a,b,c\n1,2.5,3\n4,5,-6e2\n",
        "a\tb\tc\n1\t2.5\t3\n4\t5\t-6e2\n",
        "a;b;c\r\n1;2.5;3\r\n4;5;-6e2\r\n",
        "a|b|c\n1|2.5|3\n4|5|-6e2",
        "a::b::c\n1::2.5::3\n4::5::-6e2\n",
        "a b c\n  1  2.5 \t3\n4 5 -6e2  \n\n",
        "\xef\xbb\xbf\"a\",\"b\",\"c\"\n\"1\",\"2.5\",\"3\"\n\n4 , 5 , -6e2 \n",
    };
    ferry_ctx *ctx = *state;

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        ferry_data *d = read_text(ctx, texts[i], "header=auto");
        features_are(d, "a,b,c");
        assert_int_equal(d->x->rows, 2);
        assert_true(at(d, 0, 0) == 1 && at(d, 0, 1) == 2.5 && at(d, 0, 2) == 3);
        assert_true(at(d, 1, 0) == 4 && at(d, 1, 1) == 5 && at(d, 1, 2) == -600);
        ferry_data_free(d);
    }
}

static void test_given_separator(void **state)
{
    static const char *const settings[] = {"sep=comma", "sep=,",   "sep=semicolon",
                                           "sep=pipe",  "sep=tab", "sep=\\t",
                                           "sep=space", "sep=::",  "sep=<>"};
    static const char *const seps[] = {",", ",", ";", "|", "\t", "\t", " ", "::", "<>"};
    ferry_ctx *ctx = *state;
    char text[64];

    for (int i = 0; i < 9; i++) {
        snprintf(text, sizeof text, "1%s2\n3%s4\n", seps[i], seps[i]);
        ferry_data *d = read_text(ctx, text, settings[i]);
        assert_int_equal(d->x->cols, 2);
        assert_null(d->features);
        assert_true(at(d, 1, 1) == 4);
        ferry_data_free(d);
    }
    ferry_opts *bad = opts_of(ctx, "sep=\"", NULL);
    ferry_data *d = NULL;
    assert_fails(ctx, ferry_read(ctx, tmp_file("t.csv", "1\n", -1), bad, &d), FERRY_EINVAL,
                 "is not a separator");
    ferry_opts_free(bad);
}

static void test_quotes(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_data *d = read_text(ctx,
                              "id,x,label\n"
                              "\"a,b\",1,\"two\nlines\"\n"
                              "\"say \"\"hi\"\"\",2,plain\n"
                              " \"c\" , \"3\" ,\"NA\"\n"
                              "5\" pipe,4,\"\"\n",
                              "header=auto");

    assert_int_equal(d->x->rows, 4);
    assert_string_equal(ferry_i_ids_at(d->ids, 0), "a,b");
    assert_string_equal(ferry_i_ids_at(d->ids, 1), "say \"hi\"");
    assert_string_equal(ferry_i_ids_at(d->ids, 2), "c");
    assert_string_equal(ferry_i_ids_at(d->ids, 3), "5\" pipe");
    assert_true(at(d, 2, 0) == 3);
    assert_string_equal(class_of(d, 0), "two\nlines");
    assert_string_equal(class_of(d, 1), "plain");
    assert_string_equal(class_of(d, 2), "NA"); /* quoted: a name */
    assert_string_equal(class_of(d, 3), "?");  /* nothing */
    ferry_data_free(d);
    refused(ctx, "a,b\n1,\"2\n3,4\n", "header=auto", "bad.csv:2: a quote is not closed");
    refused(ctx, "\"a,b\n1,2\n", "sep=comma", "bad.csv:1: a quote is not closed");
    refused(ctx, "a,b\n1,2\n3,\"4\"x\n", "header=auto",
            "bad.csv:3: a quote is not closed, or text");
}

static void test_headers(void **state)
{
    static const struct {
        const char *text;
        int header;
    } cases[] = {
        {"1,2\n3,4\n", 0},
        {"x,2\n3,4\n", 1},        /* a name over numbers */
        {"a,b\nc,d\nc,d\n", 1},   /* never comes again */
        {"a,b\nc,d\na,e\n", 0},   /* comes again */
        {"a,a\nc,d\nc,d\n", 0},   /* names differ */
        {"id,v\nc,d\nid,d\n", 1}, /* known name */
        {"A1 6 x\nA2 7 y\nA1 8 x\n", 0},
        {"0,1,2,3,4,5\n9,9,9,9,9,9\n", 1},
        {"1,2,3,4,5,7\n9,9,9,9,9,9\n", 1}, /* the last was added */
        {"2,3,4,5,6\n9,9,9,9,9\n", 0},
        {"0,1,2\n9,9,9\n", 0},
        {",b\n1,2\n", 1},
        {"a,b\n,\n", 1}, /* over nothing */
    };
    ferry_ctx *ctx = *state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ferry_data *d = read_text(ctx, cases[i].text, "id=none");
        int64_t lines = 0;
        for (const char *s = cases[i].text; *s; s++)
            lines += *s == '\n';
        assert_int_equal(d->x->rows, lines - cases[i].header);
        ferry_data_free(d);
    }
    ferry_data *d = read_text(ctx, ",b\n1,2\n", "header=yes");
    features_are(d, "b"); /* names of rows, as R and pandas write them */
    ferry_data_free(d);
    d = read_text(ctx, "a,\n1,2\n", "header=yes");
    features_are(d, "a,column 2");
    ferry_data_free(d);
    d = read_text(ctx, "x,2\n3,4\n", "header=no");
    features_are(d, "column 1=3,column 1=x,column 2");
    ferry_data_free(d);
    d = read_text(ctx, "a,b,a,a,a (2)\n1,2,3,4,5\n", "header=auto");
    features_are(d, "a,b,a (2),a (3),a (2) (2)");
    ferry_data_free(d);
    d = read_text(ctx, "a,b,a,b,a\n1,2,3,4,5\n",
                  "header=auto"); /* each counts for itself */
    features_are(d, "a,b,a (2),b (2),a (3)");
    ferry_data_free(d);
    for (int i = 0; i < 3; i++) { /* ... and is found by the name that it got */
        d = read_text(ctx, "a,b,a,b,a\n1,2,3,4,5\n",
                      (const char *[]){"label=b (2)", "id=b (2)", "drop=b (2)"}[i]);
        features_are(d, "a,b,a (2),a (3)");
        assert_int_equal(d->labels != NULL, i == 0);
        assert_int_equal(d->ids != NULL, i == 1);
        ferry_data_free(d);
    }
    refused(ctx, "a,b\n", "header=yes", "no instances");
}

static void keep_message(void *user, ferry_level level, const char *line)
{
    (void)level;
    snprintf(user, 300, "%s", line);
}

/* A slip in a column of numbers is shown with its line, whether its values can be
 * categories or not. */
static void test_text_among_numbers(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_text few = {0}, many = {0};
    char seen[300] = "";

    ferry_i_text_add(&few, "a,b\n");
    ferry_i_text_add(&many, "a,b\n");
    for (int i = 0; i < 300; i++) {
        ferry_i_text_addf(&few, "%d,1\n", i % 7);
        ferry_i_text_addf(&many, "%d.5,1\n", i);
    }
    ferry_i_text_add(&few, "oops,1\n");
    ferry_i_text_add(&many, "oops,1\n");
    refused(ctx, many.s, "header=auto",
            "bad.csv:302: column 1: expected a number, found 'oops'");
    refused(ctx, "a;b\n1;2\n-2,25;3\n", "header=auto",
            "bad.csv:3: column 1: '-2,25': expected a decimal point, found a comma "
            "(decimal: comma reads such numbers)");
    ferry_ctx_set_log(ctx, keep_message, FERRY_WARN, seen);
    ferry_data *d = read_text(ctx, few.s, "header=auto");
    assert_int_equal(d->x->cols, 9);
    assert_non_null(strstr(seen, "t.csv:302: column 1 holds 'oops' among numbers: its 8 "));
    ferry_data_free(d);
    d = read_text(ctx, "a;b\n1,5;2\n1,x;3\n", "header=auto"); /* words, not numbers */
    features_are(d, "a=1,5,a=1,x,b");
    ferry_data_free(d);
    seen[0] = 0;
    d = read_text(ctx, few.s, "missing=oops");
    assert_int_equal(d->x->cols, 2);
    assert_string_equal(seen, "");
    ferry_data_free(d);
    ferry_ctx_set_log(ctx, NULL, FERRY_WARN, NULL);
    ferry_i_text_free(&few);
    ferry_i_text_free(&many);
}

static void test_missing_cells(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_data *d = read_text(ctx,
                              "a,b,c,d,e,f,g,h\n"
                              "1,1,1,1,1,1,1,1\n"
                              ",NA,NaN,nan,?,null,-9,NULL\n",
                              "missing=-9");

    for (int64_t j = 0; j < 8; j++)
        assert_true(at(d, 0, j) == 1 && isnan(at(d, 1, j)));
    ferry_data_free(d);
    d = read_text(ctx, "a,b\n,1\n,2\n", "header=auto"); /* a column of nothing */
    assert_true(isnan(at(d, 0, 0)) && at(d, 1, 1) == 2);
    ferry_data_free(d);
}

static void test_ids_and_labels(void **state)
{
    ferry_ctx *ctx = *state;
    const char *named = "key,x,y,kind\nk1,1,2,A\nk2,3,4,B\n", *bare = "7,1,2,0\n8,3,4,1\n";
    static const char *const wants[][3] = {
        {"label=kind", "key=k1,key=k2,x,y", "A"},
        {"label=last", "key=k1,key=k2,x,y", "A"},
        {"label=4", "key=k1,key=k2,x,y", "A"},
        {"label=first", "x,y,kind=A,kind=B", "k1"},
        {"label=key", "x,y,kind=A,kind=B", "k1"},
        {"label=2", "key=k1,key=k2,y,kind=A,kind=B", "1"}};

    for (int i = 0; i < 6; i++) {
        ferry_data *d = read_text(ctx, named, wants[i][0]);
        features_are(d, wants[i][1]);
        assert_string_equal(class_of(d, 0), wants[i][2]);
        ferry_data_free(d);
    }
    ferry_opts *both = opts_of(ctx, "id=key", "label=kind", "drop=y", NULL);
    ferry_data *d = NULL;
    assert_ok(ctx, ferry_read(ctx, tmp_file("t.csv", named, -1), both, &d));
    assert_string_equal(ferry_i_ids_at(d->ids, 1), "k2");
    features_are(d, "x");
    ferry_data_free(d);
    ferry_opts_free(both);
    d = read_text(ctx, bare, "id=first");
    assert_string_equal(ferry_i_ids_at(d->ids, 1), "8");
    assert_int_equal(d->x->cols, 3);
    ferry_data_free(d);
    d = read_text(ctx, "ID,Label,x\n7,yes,1\n8,no,2\n", "header=auto"); /* by themselves */
    assert_string_equal(ferry_i_ids_at(d->ids, 0), "7");
    assert_string_equal(class_of(d, 0), "yes");
    ferry_data_free(d);
    d = read_text(ctx, "id,label,x\n7,3,1\n7,4,2\n", "id=none");
    assert_null(d->ids);
    assert_int_equal(d->x->cols, 2);
    ferry_data_free(d);
    d = read_text(ctx, "id,label,x\n7,3,1\n8,4,2\n", "label=none");
    assert_null(d->labels);
    assert_int_equal(d->x->cols, 2);
    ferry_data_free(d);
    refused(
        ctx, named, "label=kin",
        "bad.csv: no column kin (label=) among its 4: key, x, y, kind; did you mean kind?");
    refused(ctx, named, "id=5", "no column 5 (id=) among its 4");
    refused(ctx, bare, "drop=1,9", "no column 9 (drop=) among its 4");
    refused(ctx, named, "drop=1,2,3,4", "no column is left for features");
    refused(ctx, "id,x\na,1\nb,2\n\na,3\n", "header=auto",
            "bad.csv:5: id a is there twice");
    refused(ctx, "id,x\na,1\n,2\n", "header=auto", "bad.csv:3: expected an id in column 1");
}

static void test_label_sets(void **state)
{
    ferry_ctx *ctx = *state;
    static const uint8_t on[] = {1, 0, 0, 1, 0, 0};
    static const char *const settings[] = {"label=last:2", "label=p,q", "label=2,3"};

    for (int i = 0; i < 3; i++) {
        ferry_data *d = read_text(ctx, "x,p,q\n1,1,0\n2,-1,1\n3,?,?\n", settings[i]);
        assert_int_equal(d->labels->kind, FERRY_LABEL_SET);
        assert_string_equal(ferry_i_ids_at(d->labels->names, 1), "q");
        assert_memory_equal(d->labels->on, on, sizeof on);
        assert_int_equal(d->labels->known[1], 1);
        assert_int_equal(d->labels->known[2], 0);
        assert_int_equal(d->x->cols, 1);
        ferry_data_free(d);
    }
    ferry_data *d = read_text(ctx, "1,0,5\n0,1,6\n", "label=first:2");
    assert_string_equal(ferry_i_ids_at(d->labels->names, 1), "column 2");
    ferry_data_free(d);
    d = read_text(ctx, "label:a,x,label:b\n1,5,0\n0,6,1\n", "header=auto");
    assert_string_equal(ferry_i_ids_at(d->labels->names, 1), "b");
    assert_int_equal(d->x->cols, 1);
    ferry_data_free(d);
    refused(ctx, "x,p,q\n1,1,0\n2,1,2\n", "label=last:2",
            "bad.csv:3: column 3: expected 0 or 1, or true or false, for a label");
    refused(ctx, "x,p,q\n1,1,0\n2,1,?\n", "label=last:2",
            "bad.csv:3: column 3: some labels of a set are missing");
    refused(ctx, "x,p\n1,1\n2,yes\n", "label=last:1",
            "bad.csv:3: column 2: expected 0 or 1");
    refused(ctx, "x,label:p,p\n1,1,1\n", "label=label:p,p",
            "two label columns are called p");
    refused(ctx, "x,p\n1,1\n", "label=last:3", "no column last:3");
}

static void log_line(void *user, ferry_level level, const char *line)
{
    (void)level;
    snprintf(user, 200, "%s", line);
}

static void test_categories(void **state)
{
    ferry_ctx *ctx = *state;
    char line[200] = "";

    ferry_ctx_set_log(ctx, log_line, FERRY_INFO, line);
    ferry_data *d =
        read_text(ctx, "size,colour\n1,red\n2,\"blue\"\n3,?\n4,red\n", "header=auto");
    features_are(d, "size,colour=blue,colour=red");
    static const double want[] = {1, 0, 1, 2, 1, 0, 3, 0, 0, 4, 0, 1};
    assert_memory_equal(d->x->dense, want, sizeof want);
    assert_non_null(strstr(line, "1 columns of text become 2 features"));
    assert_non_null(strstr(line, "1 missing"));
    ferry_data_free(d);
}

/* Text that first shows far below the sample: the column changes its mind. */
static void test_late_text(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_text t = {0};

    ferry_i_text_add(&t, "a,b\n");
    for (int i = 0; i < 1000; i++)
        ferry_i_text_addf(&t, "%d,%s\n", i, i == 900 ? "x" : "7");
    ferry_data *d = read_text(ctx, t.s, "header=auto");
    features_are(d, "a,b=7,b=x");
    assert_true(at(d, 900, 2) == 1 && at(d, 900, 1) == 0 && at(d, 1, 1) == 1);
    ferry_data_free(d);
    ferry_i_text_free(&t);
}

/* Wide categories are kept sparse. */
static void test_wide_categories(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_text t = {0};

    ferry_i_text_add(&t, "a,b\n");
    for (int i = 0; i < 900; i++)
        ferry_i_text_addf(&t, "%d,w%03d\n", i % 5, i % 300);
    ferry_data *d = read_text(ctx, t.s, "header=auto");
    assert_null(d->x->dense);
    assert_int_equal(d->x->cols, 301);
    assert_true(at(d, 303, 0) == 3 && at(d, 303, 4) == 1 && at(d, 303, 5) == 0);
    ferry_data_free(d);
    ferry_i_text_free(&t);
}

static void test_free_text_is_refused(void **state)
{
    ferry_text t = {0}, u = {0};

    ferry_i_text_add(&t, "a,title,note\n");
    for (int i = 0; i < 100; i++) {
        ferry_i_text_addf(&t, "%d,title %d,note %d\n", i, i, i / 2 + i % 2);
        ferry_i_text_addf(&u, "%d;t%d\n", i, i);
    }
    refused(*state, t.s, "header=auto",
            "bad.csv: too many different texts in 2 columns to be categories, such as "
            "'title 54': leave out with drop=title,note");
    refused(*state, u.s, "header=auto",
            "in 1 column to be categories, such as 't54': leave out with drop=2");
    ferry_i_text_free(&t);
    ferry_i_text_free(&u);
}

static void test_bad_files(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_data *d = NULL;

    refused(ctx, "", "header=auto", "bad.csv: empty file");
    refused(ctx, "\n \r\n\n", "header=auto", "no instances");
    refused(ctx, "a,b\n1,2\n3\n", "header=auto", "bad.csv:3: expected 2 fields, found 1");
    refused(ctx, "a,b\n1,2\n3,4,5,6\n", "header=auto",
            "bad.csv:3: expected 2 fields, found 4");
    refused(ctx, "a,b\n1,2\n3,4\n5,6,\n", "header=auto",
            "bad.csv:4: expected 2 fields, found 3");
    refused(ctx, "a b\n1 2\n1 2\n3 4 5\n", "header=auto",
            "bad.csv:4: expected 2 fields, found 3");
    refused(ctx, "a,b\n1,2\n3,1e999\n", "header=auto",
            "bad.csv:3: column 2: '1e999' is not a finite number");
    refused(ctx, "a,b\n1,2\n3,-inf\n", "header=auto",
            "bad.csv:3: column 2: '-inf' is not a finite");
    refused(ctx, "a,b\n1,2\n3,Infinity\n", "header=auto", "'Infinity' is not a finite");
    refused(ctx, "\"a\",b\n\"x\ny\",2\nz,\"\n\n1\"\n1\n", "header=auto",
            "bad.csv:7: expected 2 fields, found 1");
    assert_fails(ctx, ferry_read(ctx, tmp_file("z.csv", "1,2\n3,\0004\n", 9), NULL, &d),
                 FERRY_EDATA, "z.csv:2: a zero byte: expected text");
}

/* Of many wrong lines the first is named, whatever the threads do. */
static void test_large_file(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_text t = {0};
    ferry_data *d = NULL;

    for (int i = 0; i < 100000; i++)
        ferry_i_text_addf(&t, "%d,%d.25,\"q%d\"\n%s", i, i, i % 3, i % 10 ? "" : "\n");
    const char *path = tmp_file("large.csv", t.s, t.len);
    for (int threads = 1; threads <= 3; threads++) {
        assert_ok(ctx, ferry_i_ctx_set_threads(ctx, threads));
        assert_ok(ctx, ferry_read(ctx, path, NULL, &d));
        assert_int_equal(d->x->rows, 100000);
        for (int64_t i = 0; i < 100000; i += 991) {
            assert_true(at(d, i, 0) == (double)i && at(d, i, 1) == (double)i + 0.25);
            assert_true(at(d, i, 2 + i % 3) == 1);
        }
        ferry_data_free(d);
    }
    strstr(t.s, "\n77777,")[6] = ';';
    strstr(t.s, "\n88888,")[6] = ';';
    path = tmp_file("large.csv", t.s, t.len);
    for (int threads = 1; threads <= 3; threads++) {
        assert_ok(ctx, ferry_i_ctx_set_threads(ctx, threads));
        assert_fails(ctx, ferry_read(ctx, path, NULL, &d), FERRY_EDATA,
                     "large.csv:85556: expected 3 fields, found 2");
    }
    ferry_i_text_free(&t);
}

/* Newlines in quotes across the ends of pieces. */
static void test_large_quoted(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_text t = {0};
    ferry_data *d = NULL;

    ferry_i_text_add(&t, "id,x\n");
    for (int i = 0; i < 3000; i++) {
        ferry_i_text_addf(&t, "\"%d", i);
        for (int k = 0; k < 100; k++)
            ferry_i_text_add(&t, "a,b\n");
        ferry_i_text_addf(&t, "\",%d\n", i);
    }
    assert_ok(ctx, ferry_i_ctx_set_threads(ctx, 4));
    assert_ok(ctx, ferry_read(ctx, tmp_file("q.csv", t.s, t.len), NULL, &d));
    assert_int_equal(d->x->rows, 3000);
    assert_true(at(d, 2999, 0) == 2999);
    assert_int_equal(strlen(ferry_i_ids_at(d->ids, 7)), 401);
    ferry_data_free(d);
    ferry_i_text_free(&t);
}

static ferry_data *labels_of(ferry_ctx *ctx, const char *text, const char *setting)
{
    ferry_data *d = NULL;
    ferry_opts *opts = opts_of(ctx, setting, NULL);

    assert_ok(ctx, ferry_i_read_as(ctx, tmp_file("l.txt", text, -1), opts,
                                   FERRY_DATA_LABELS, &d));
    assert_int_equal(d->kind, FERRY_DATA_LABELS);
    ferry_opts_free(opts);
    return d;
}

static void test_as_labels(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_data *d = labels_of(ctx, "comp\nrec\nsci\n", "id=");

    assert_int_equal(d->labels->n, 3); /* the first is no header */
    assert_string_equal(class_of(d, 0), "comp");
    ferry_data_free(d);
    d = labels_of(ctx, "New York\nParis\nRio de Janeiro\n", "id=");
    assert_string_equal(class_of(d, 2), "Rio de Janeiro");
    ferry_data_free(d);
    d = labels_of(ctx, "label\n0.5\n1\n?\n", "id=");
    assert_int_equal(d->labels->n, 3);
    assert_true(d->labels->num[0] == 0.5 && isnan(d->labels->num[2]));
    ferry_data_free(d);
    d = labels_of(ctx, "a,3\nb,4\n", "id=");
    assert_string_equal(ferry_i_ids_at(d->ids, 1), "b");
    assert_string_equal(class_of(d, 1), "4");
    ferry_data_free(d);
    d = labels_of(ctx, "label,id\n3,a\n4,b\n", "id=");
    assert_string_equal(ferry_i_ids_at(d->ids, 1), "b");
    ferry_data_free(d);
    d = labels_of(ctx, "id,u,v\na,1,0\nb,1,1\n", "label=u,v");
    assert_int_equal(d->labels->kind, FERRY_LABEL_SET);
    ferry_data_free(d);
    assert_fails(ctx,
                 ferry_i_read_as(ctx, tmp_file("l.csv", "1,2,3\n4,5,6\n", -1), NULL,
                                 FERRY_DATA_LABELS, &d),
                 FERRY_EDATA, "expected one label a line or id and label, found 3 columns");
}

/* ---- writing ---- */

static void same_text(const ferry_ids *a, const ferry_ids *b)
{
    assert_int_equal(a != NULL, b != NULL);
    assert_int_equal(ferry_i_ids_count(a), ferry_i_ids_count(b));
    for (int64_t i = 0; i < ferry_i_ids_count(a); i++)
        assert_string_equal(ferry_i_ids_at(a, i), ferry_i_ids_at(b, i));
}

static void same_data(const ferry_data *a, const ferry_data *b)
{
    assert_int_equal(a->x->rows, b->x->rows);
    assert_int_equal(a->x->cols, b->x->cols);
    for (int64_t i = 0; i < a->x->rows; i++)
        for (int64_t j = 0; j < a->x->cols; j++)
            assert_true(at(a, i, j) == at(b, i, j) ||
                        (isnan(at(a, i, j)) && isnan(at(b, i, j))));
    same_text(a->ids, b->ids);
    same_text(a->features, b->features);
    assert_int_equal(a->labels != NULL, b->labels != NULL);
    if (!a->labels) return;
    assert_int_equal(a->labels->kind, b->labels->kind);
    same_text(a->labels->names, b->labels->names);
    const size_t n = (size_t)a->labels->n, m = (size_t)ferry_i_labels_m(a->labels);
    if (a->labels->cls) assert_memory_equal(a->labels->cls, b->labels->cls, n * 4);
    for (size_t i = 0; a->labels->num && i < n; i++)
        assert_true(a->labels->num[i] == b->labels->num[i] ||
                    (isnan(a->labels->num[i]) && isnan(b->labels->num[i])));
    if (a->labels->on) assert_memory_equal(a->labels->on, b->labels->on, n * m);
    if (a->labels->known) assert_memory_equal(a->labels->known, b->labels->known, n);
}

static void test_round_trips(void **state)
{
    static const char *const texts[] = {
        "a,b\n0.1,2\n,1e-300\n",
        "id,\"x,1\",y,label\n\"p\n\"\"q\"\"\",1,2,A\nr,3,4,\n\" s \",5,6,\"NA\"\n",
        "x,label\n1,2.0\n3,4.0\n5,\n",
        "x,label\n1,2\n3,4\n",
        "x,label\n1,0.25\n3,4\n",
        "x,\"label:a,b\",label:c\n1,1,0\n2,,\n3,0,0\n",
        "c,x\nred,1\nblue,2\n",
        "x\n1\n\"\"\n2\n",
        "inf,nan,-Infinity\n1,2,3\n4,5,6\n",
        "id,1,2e3,inf,label:inf\na,1,2,3,1\nb,4,5,6,0\n",
        "7,5\n1,2\n3,4\n",
        "id,x\n\"a\001\",1\n\"\002\003\177\",2\n'\004,3\n",
        "id,x\n\"a\"\"\001\"\"\002\",1\n\"\"\"\003\",2\n",
    };
    ferry_ctx *ctx = *state;

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        for (int tab = 0; tab < 2; tab++) {
            const char *path = tmp_path(tab ? "w.tsv" : "w.csv");
            ferry_data *a = read_text(ctx, texts[i], "header=yes"), *b = NULL;
            assert_ok(ctx, ferry_write(ctx, a, path, NULL));
            assert_ok(ctx, ferry_read(ctx, path, NULL, &b));
            same_data(a, b);
            ferry_data_free(a);
            ferry_data_free(b);
        }
    }
}

/* From sparse and back, and labels alone. */
static void test_writes_sparse_and_labels(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_data *d = NULL, *e = NULL;

    assert_ok(ctx,
              ferry_read(ctx, tmp_file("s.svm", "1 2:5\n2 1:1 3:2.5\n", -1), NULL, &d));
    assert_ok(ctx, ferry_write(ctx, d, tmp_path("s.csv"), NULL));
    char *text = slurp(tmp_path("s.csv"));
    assert_string_equal(text, "f1,f2,f3,label\n0,5,0,1\n1,0,2.5,2\n");
    free(text);
    ferry_data_free(d);
    d = labels_of(ctx, "a,3\nb,4\n", "id=");
    assert_ok(ctx, ferry_write(ctx, d, tmp_path("l.csv"), NULL));
    assert_ok(ctx, ferry_i_read_as(ctx, tmp_path("l.csv"), NULL, FERRY_DATA_LABELS, &e));
    same_text(d->ids, e->ids);
    assert_memory_equal(d->labels->cls, e->labels->cls, 8);
    ferry_data_free(d);
    ferry_data_free(e);
}

static void test_refuses_to_write(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_opts *space = opts_of(ctx, "sep=space", NULL),
               *tab = opts_of(ctx, "sep=tab", NULL);
    ferry_data *d = read_text(ctx, "label,x\n1,2\n3,4\n", "label=none");

    assert_fails(ctx, ferry_write(ctx, d, tmp_path("w.csv"), NULL), FERRY_EINVAL,
                 "a feature is called label, which csv keeps for itself");
    ferry_data_free(d);
    d = read_text(ctx, "y,x\n1,2\n3,4\n", "label=none");
    assert_fails(ctx, ferry_write(ctx, d, tmp_path("w.csv"), space), FERRY_EINVAL,
                 "written with sep=comma or sep=tab");
    assert_fails(ctx, ferry_write(ctx, d, tmp_path("no/w.csv"), NULL), FERRY_EIO,
                 "cannot write");
    assert_ok(ctx, ferry_write(ctx, d, tmp_path("w.csv"), tab));
    char *text = slurp(tmp_path("w.csv"));
    assert_string_equal(text, "y\tx\n1\t2\n3\t4\n");
    free(text);
    ferry_data_free(d);
    ferry_opts_free(space);
    ferry_opts_free(tab);
}

/* New data for an old view: columns stay numbers or categories as they were. */
static void test_read_like(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_data *d = read_text(ctx, "x,c,label\n1,5,A\n2,q,B\n", "label=label"), *e = NULL;

    features_are(d, "x,c=5,c=q");
    const char *path = tmp_file("new.csv", "x,c\n7,5\n8,6\n", -1); /* c all numbers now */
    assert_ok(ctx, ferry_i_read_like(ctx, path, d->read, d->features, NULL, 0, NULL, &e));
    features_are(e, "x,c=5,c=6");
    assert_null(e->labels);
    ferry_data_free(e);
    path = tmp_file("new.csv", "x,c\n7,5\nmany,6\n", -1);
    assert_fails(ctx, ferry_i_read_like(ctx, path, d->read, d->features, NULL, 0, NULL, &e),
                 FERRY_EDATA, "new.csv:3: column 1: expected a number, found 'many'");
    ferry_data_free(d);
}

static ferry_status read_and_write(ferry_ctx *ctx, void *arg)
{
    const char *const *paths = arg;
    ferry_data *d = NULL;
    ferry_status st = ferry_read(ctx, paths[0], NULL, &d);

    if (st == FERRY_OK) st = ferry_write(ctx, d, paths[1], NULL);
    ferry_data_free(d);
    return st;
}

static void test_no_memory(void **state)
{
    static const char *const texts[] = {
        "id,\"x\",label\n\"p\"\"q\",1,\"A\"\nr,3,B\n",
        "x,label:a,label:b\n1,1,0\n3,0,0\n",
        "c,x\nred,1\nblue,2\n",
        "c,x,c,c\nred,1,2,3\nblue,2,3,4\n",
        "1 2\n3 4\n",
    };

    assert_ok(*state, ferry_i_ctx_set_threads(*state, 1));
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *paths[] = {tmp_file("mem.csv", texts[i], -1), tmp_path("mem-out.csv")};
        each_allocation_fails(*state, read_and_write, paths);
    }
}

/* ---- real data ---- */

static ferry_data *real(ferry_ctx *ctx, const char *name, const char *a, const char *b)
{
    char path[4096];
    ferry_opts *opts = opts_of(ctx, a, b, NULL);
    ferry_data *d = NULL;

    snprintf(path, sizeof path, "%s/%s", data_dir(name), name);
    assert_ok(ctx, ferry_read(ctx, path, opts, &d));
    ferry_opts_free(opts);
    return d;
}

static int64_t of_class(const ferry_data *d, const char *name)
{
    const int64_t k = ferry_i_ids_find(d->labels->names, name);
    int64_t n = 0;

    for (int64_t i = 0; i < d->labels->n; i++)
        n += d->labels->cls[i] == k;
    return n;
}

static void test_real_mfeat(void **state)
{
    static const struct {
        const char *name;
        int64_t cols;
        double lo, hi;
    } views[] = {{"fac", 216, 0, 1353},        {"fou", 76, 0.00017629, 0.79649},
                 {"kar", 64, -16.459, 17.049}, {"mor", 6, 0, 17572},
                 {"pix", 240, 0, 6},           {"zer", 47, 0.0010943, 777.86}};
    char name[64];

    if (!data_dir("mfeat/mfeat-zer.csv")) skip();
    for (int v = 0; v < 6; v++) {
        snprintf(name, sizeof name, "mfeat/mfeat-%s.csv", views[v].name);
        ferry_data *d = real(*state, name, "label=last", NULL);
        double lo = INFINITY, hi = -INFINITY;
        assert_int_equal(d->x->rows, 2000);
        assert_int_equal(d->x->cols, views[v].cols);
        for (int64_t e = 0; e < d->x->nnz; e++) {
            lo = fmin(lo, d->x->dense[e]);
            hi = fmax(hi, d->x->dense[e]);
        }
        assert_close(lo, views[v].lo, 1e-4);
        assert_close(hi, views[v].hi, 1e-5);
        assert_int_equal(ferry_i_labels_m(d->labels), 10);
        assert_int_equal(of_class(d, "0"), 200);
        assert_int_equal(of_class(d, "9"), 200);
        ferry_data_free(d);
    }
}

static void test_real_statlog(void **state)
{
    if (!data_dir("statlog/german.data")) skip();
    ferry_data *d = real(*state, "statlog/australian.dat", "label=last", NULL);
    assert_int_equal(d->x->rows, 690);
    assert_int_equal(d->x->cols, 14);
    assert_int_equal(of_class(d, "0"), 383);
    assert_int_equal(of_class(d, "1"), 307);
    ferry_data_free(d);
    d = real(*state, "statlog/german.data", "label=last", NULL);
    assert_int_equal(d->x->rows, 1000);
    assert_int_equal(d->x->cols, 7 + 54); /* 13 coded attributes with 54 codes in use */
    assert_int_equal(of_class(d, "1"), 700);
    ferry_data_free(d);
    d = real(*state, "statlog/german.data-numeric", "label=last", NULL);
    assert_int_equal(d->x->rows, 1000);
    assert_int_equal(d->x->cols, 24);
    assert_int_equal(of_class(d, "2"), 300);
    ferry_data_free(d);
}

static void test_real_concrete(void **state)
{
    if (!data_dir("concrete/slump_test.data")) skip();
    ferry_data *d = real(*state, "concrete/Concrete_Data.csv", "label=last", NULL);
    double sum = 0;
    assert_int_equal(d->x->rows, 1030);
    assert_int_equal(d->x->cols, 8);
    for (int64_t i = 0; i < 1030; i++)
        sum += d->labels->num[i];
    assert_close(sum / 1030, 35.818, 1e-4);
    ferry_data_free(d);
    d = real(*state, "concrete/slump_test.data", "label=last", "id=first");
    assert_int_equal(d->x->rows, 103);
    assert_int_equal(d->x->cols, 9);
    ferry_data_free(d);
}

/* Missing cells as SOURCE.md counts them. */
static void test_real_imdb(void **state)
{
    static const struct {
        const char *name;
        int64_t missing;
    } columns[] = {{"gross", 884},
                   {"budget", 492},
                   {"aspect_ratio", 329},
                   {"title_year", 108},
                   {"duration", 15}};
    double sum = 0;

    if (!data_dir("imdb/movie_metadata.csv")) skip();
    ferry_data *d = real(*state, "imdb/movie_metadata.csv", "label=imdb_score",
                         "drop=director_name,actor_2_name,actor_1_name,movie_title,"
                         "actor_3_name,plot_keywords,movie_imdb_link");
    assert_int_equal(d->x->rows, 5043);
    for (int c = 0; c < 5; c++) {
        const int64_t j = ferry_i_ids_find(d->features, columns[c].name);
        int64_t missing = 0;
        for (int64_t i = 0; i < 5043; i++)
            missing += isnan(at(d, i, j));
        assert_int_equal(missing, columns[c].missing);
    }
    for (int64_t i = 0; i < 5043; i++)
        sum += d->labels->num[i];
    assert_close(sum / 5043, 6.442, 1e-4);
    ferry_data_free(d);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)
    const struct CMUnitTest tests[] = {
        T(test_separators),
        T(test_given_separator),
        T(test_quotes),
        T(test_headers),
        T(test_text_among_numbers),
        T(test_missing_cells),
        T(test_ids_and_labels),
        T(test_label_sets),
        T(test_categories),
        T(test_late_text),
        T(test_wide_categories),
        T(test_free_text_is_refused),
        T(test_bad_files),
        T(test_large_file),
        T(test_large_quoted),
        T(test_as_labels),
        T(test_round_trips),
        T(test_writes_sparse_and_labels),
        T(test_refuses_to_write),
        T(test_read_like),
        T(test_no_memory),
        T(test_real_mfeat),
        T(test_real_statlog),
        T(test_real_concrete),
        T(test_real_imdb),
    };
    return cmocka_run_group_tests_name("delimited", tests, NULL, NULL);
}
