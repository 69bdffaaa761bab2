/* The tasks that the studies of transitive transfer make: from an archive of messages to
 * small files, bridges with few labels and few words, grids of results. */
#include <stdio.h>
#include <sys/stat.h>

#include "ferry_test.h"

#include "archives.h"
#include "data/data.h"
#include "reproduce/ttl.h"

/* 20news-bydate in small: 30 messages of each folder. Every folder has words of its class
 * that are in all three domains, so that a chain of classifiers finds the way. */
static void make_news(void)
{
    static const struct {
        const char *folder, *word;
    } groups[] = {{"comp.graphics", "chip"},           {"talk.politics.guns", "vote"},
                  {"comp.os.ms-windows.misc", "chip"}, {"talk.politics.mideast", "vote"},
                  {"comp.windows.x", "chip"},          {"talk.politics.misc", "vote"}};
    char path[96], text[1024];
    bytes tar = {0};

    for (int64_t g = 0; g < FERRY_COUNT(groups); g++)
        for (int i = 0; i < 30; i++) {
            int n = snprintf(text, sizeof text, "Subject: message\n\n");
            for (char a = 'a'; a <= 'h'; a++) /* chipa .. chiph: halves are cut of them */
                n +=
                    snprintf(text + n, sizeof text - (size_t)n, "%s%c ", groups[g].word, a);
            (void)snprintf(text + n, sizeof text - (size_t)n, "\n");
            snprintf(path, sizeof path, "20news-bydate-train/%s/%d", groups[g].folder,
                     1000 + i);
            tar_add(&tar, '0', path, text, (int64_t)strlen(text));
        }
    tar_end(&tar);
    bytes packed = xz_of(tar.s, tar.n);
    (void)mkdir(tmp_path("data"), 0777);
    (void)mkdir(tmp_path("data/20newsgroups"), 0777);
    tmp_file("data/20newsgroups/20news-bydate.tar.xz", packed.s, packed.n);
    free(tar.s);
    free(packed.s);
}

static ferry_data *read_back(ferry_ctx *ctx, ferry_lab *lab, const char *name)
{
    char *path = NULL;
    ferry_data *d = NULL;

    assert_ok(ctx, ferry_i_lab_path(ctx, lab, name, &path));
    assert_ok(ctx, ferry_read(ctx, path, NULL, &d));
    ferry_i_free(path);
    return d;
}

static int64_t labels_in(const ferry_data *d)
{
    int64_t n = 0;

    for (int64_t i = 0; i < d->x->rows; i++)
        n += ferry_i_labels_has(d->labels, i);
    return n;
}

/* Words of a that b has too. */
static int64_t shared(const ferry_data *a, const ferry_data *b)
{
    int64_t n = 0;

    for (int64_t j = 0; j < ferry_i_ids_count(a->features); j++)
        n += ferry_i_ids_find(b->features, ferry_i_ids_at(a->features, j)) >= 0;
    return n;
}

static ferry_status probe(ferry_ctx *ctx, ferry_lab *lab)
{
    static const char *const rows[] = {"hop", "constant"}, *const columns[] = {"a", "b"};
    const ttl_news *task = &ferry_i_ttl_news[TTL_N_NEWS - 1];
    ttl_grid g = {rows, columns, 2, 2, 1, NULL};
    const double paper[4] = {10, 20, NAN, NAN};

    assert_string_equal(task->name, "comp-vs-talk");
    assert_ok(ctx, ferry_i_ttl_export(ctx, lab, task, 7));
    ferry_data *s = read_back(ctx, lab, "7-source.svm"),
               *b = read_back(ctx, lab, "7-bridge.svm"),
               *t = read_back(ctx, lab, "7-target.svm");
    assert_int_equal(s->x->rows, 60);
    assert_int_equal(labels_in(s), 60);
    assert_int_equal(labels_in(b), 60);
    assert_int_equal(shared(s, t), 0); /* different halves of the words */
    assert_int_equal(shared(s, b), ferry_i_ids_count(s->features));
    assert_int_equal(shared(t, b), ferry_i_ids_count(t->features));
    const int64_t words = ferry_i_ids_count(b->features);
    ferry_data_free(s);
    ferry_data_free(b);
    ferry_data_free(t);

    /* Nine labels, a quarter of the words gone; the same draw again gives the same file. */
    assert_ok(ctx, ferry_i_ttl_bridge(ctx, lab, 7, 9, 0.25, "few.svm"));
    assert_ok(ctx, ferry_i_ttl_bridge(ctx, lab, 7, 9, 0.25, "again.svm"));
    b = read_back(ctx, lab, "few.svm");
    assert_int_equal(labels_in(b), 9);
    assert_int_equal(ferry_i_ids_count(b->features), words - lround(0.25 * (double)words));
    ferry_data_free(b);
    char *one = slurp(tmp_path("probe/few.svm")), *two = slurp(tmp_path("probe/again.svm"));
    assert_string_equal(one, two);
    free(one);
    free(two);

    /* Without labels in the bridge the chain still finds the classes. */
    const char *methods = "  - hop: {}\n    as: hop\n  - majority: {}\n    as: constant\n";
    assert_ok(ctx, ferry_i_ttl_bridge(ctx, lab, 7, 0, 0, "none.svm"));
    assert_ok(ctx, ferry_i_ttl_small_task(ctx, lab, 7, "none.svm", methods, "small.yaml"));
    assert_ok(ctx, ferry_i_ttl_news_task(ctx, lab, task, methods, "raw-methods.yaml"));
    assert_ok(ctx, ferry_i_ttl_grid_new(ctx, &g));
    assert_ok(ctx, ferry_i_lab_run(ctx, lab, "small.yaml", NULL, 7));
    assert_ok(ctx, ferry_i_ttl_take(ctx, lab, &g, 0, 2, 0, 0));
    assert_ok(ctx, ferry_i_lab_run(ctx, lab, "raw-methods.yaml", NULL, 7));
    assert_ok(ctx, ferry_i_ttl_take(ctx, lab, &g, 0, 2, 1, 0));
    assert_close(ferry_i_ttl_mean(&g, 0, 0), 100, 1e-9);
    assert_close(ferry_i_ttl_mean(&g, 0, -1), 100, 1e-9); /* the raw task does as well */
    assert_close(ferry_i_ttl_mean(&g, 1, -1), 50, 1e-9);
    assert_ok(ctx, ferry_i_ttl_fill(ctx, lab, &g, paper, true));
    assert_close(ferry_i_lab_ours(lab, "hop", "mean"), 100, 1e-9);
    assert_close(ferry_i_lab_papers(lab, "hop", "mean"), 15, 1e-9);
    assert_true(isnan(ferry_i_lab_papers(lab, "constant", "mean")));
    ferry_i_ttl_grid_free(&g);
    return ferry_i_lab_claim(ctx, lab, true, "it is a probe");
}

static const ferry_study probe_study = {
    .name = "probe",
    .paper = "Nobody",
    .shows = "nothing",
    .needs = TTL_NEWS,
    .protocol = "None.",
    .run = probe,
};

static void test_tasks(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_reproduction *r = NULL;

    make_news();
    char *data = ferry_i_strdup(tmp_path("data"));
    const ferry_reproduce_settings s = {.data = data, .folder = tmp_path("probe")};
    assert_ok(ctx, ferry_i_reproduce(ctx, &probe_study, &s, &r));
    ferry_reproduction_free(r);
    ferry_i_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_tasks, ctx_setup, ctx_teardown),
    };
    return cmocka_run_group_tests_name("reproduce_ttl", tests, NULL, NULL);
}
