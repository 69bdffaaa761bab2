/* Sets of sources for the studies of GBC and CoCA: made from small files that look like the
 * distributed ones, written and read back. */
#include <stdio.h>
#include <sys/stat.h>

#include "ferry_test.h"

#include "archives.h"
#include "reproduce/lab.h"
#include "reproduce/sources.h"

static ferry_lab lab_here(void)
{
    return (ferry_lab){.data = (char *)(uintptr_t)tmp_dir(),
                       .folder = (char *)(uintptr_t)tmp_dir()};
}

static void folder(const char *name)
{
    (void)mkdir(tmp_path(name), 0777);
}

/* ---- digits ---- */

/* 24 digits of two classes; view v has v + 1 features, the first is 100 v + the row. */
static void make_digits(void)
{
    static const char *const names[] = {"fac", "fou", "kar", "pix", "zer", "mor"};
    char name[64];

    folder("mfeat");
    for (int v = 0; v < 6; v++) {
        ferry_text t = {0};
        for (int j = 0; j <= v + 1; j++)
            ferry_i_text_addf(&t, "%d%s", j, j <= v ? "," : "\n");
        for (int i = 0; i < 24; i++) {
            ferry_i_text_addf(&t, "%d", 100 * v + i);
            for (int j = 1; j <= v; j++)
                ferry_i_text_addf(&t, ",%d", i * j % 7);
            ferry_i_text_addf(&t, ",%d\n", i / 12);
        }
        snprintf(name, sizeof name, "mfeat/mfeat-%s.csv", names[v]);
        tmp_file(name, t.s, t.len);
        ferry_i_text_free(&t);
    }
}

static void test_digits(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_lab lab = lab_here();
    ferry_sources *s = NULL;

    make_digits();
    assert_ok(ctx, ferry_i_sources_digits(ctx, &lab, 11, false, &s));
    assert_int_equal(s->n, 22);
    assert_int_equal(s->n_views, 6);
    assert_int_equal(s->n_graphs, 0);
    assert_close(s->view[2].x->dense[11 * 3], 212, 0); /* row 11 is left out */
    assert_int_equal(s->labels->cls[10], 0);
    assert_int_equal(s->labels->cls[11], 1);
    ferry_i_sources_free(s);
    assert_ok(ctx, ferry_i_sources_digits(ctx, &lab, 12, true, &s));
    assert_int_equal(s->n_views, 5);
    assert_int_equal(s->n_graphs, 2);
    for (int g = 0; g < 2; g++) {
        assert_int_equal(s->graph[g].n, 24 * 10);
        for (int64_t e = 0; e < s->graph[g].n; e++)
            assert_int_not_equal(s->graph[g].ends[2 * e], s->graph[g].ends[2 * e + 1]);
    }
    assert_memory_not_equal(s->graph[0].ends, s->graph[1].ends, 480 * sizeof(int64_t));
    ferry_i_sources_free(s);
    tmp_file("mfeat/mfeat-zer.csv", "0,1\n1,0\n2,1\n", -1);
    assert_fails(ctx, ferry_i_sources_digits(ctx, &lab, 12, true, &s), FERRY_EDATA,
                 "mfeat-zer.csv: expected as many digits as in the other files");
    tmp_file("mfeat/mfeat-fac.csv", "f1,class\n0,\n1,\n2,\n", -1); /* no class at all */
    assert_fails(ctx, ferry_i_sources_digits(ctx, &lab, 12, true, &s), FERRY_EDATA,
                 "mfeat-fac.csv: expected a class in the last column");
    assert_null(s);
}

/* Of half of the instances two of five views are left out; the task reads what is there. */
static void test_incomplete(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_lab lab = lab_here();
    ferry_sources *s = NULL;
    ferry_task *task = NULL;
    int64_t rows = 0;

    make_digits();
    assert_ok(ctx, ferry_i_sources_digits(ctx, &lab, 12, true, &s));
    assert_ok(ctx, ferry_i_sources_write(ctx, &lab, s, "part", 0.5));
    const ferry_sources_task t = {.file = "part.yaml",
                                  .folder = "part",
                                  .goal = "classify",
                                  .labelled = "0.5",
                                  .methods = "  - gbc\n",
                                  .metric = "error",
                                  .views = ~0u,
                                  .graphs = 2,
                                  .repeats = 1};
    assert_ok(ctx, ferry_i_sources_task(ctx, &lab, s, &t));
    assert_ok(ctx, ferry_task_load(ctx, tmp_path("part.yaml"), NULL, &task));
    const ferry_domain *d = ferry_task_domain(task, 0);
    assert_int_equal(ferry_domain_size(d), 24);
    assert_int_equal(d->n_views, 5);
    assert_int_equal(d->n_graphs, 1);
    assert_string_equal(d->graphs[0]->name, "noisy");
    for (int64_t v = 0; v < 5; v++) {
        const ferry_view *view = d->views[v];
        rows += view->x->rows;
        for (int64_t r = 0; r < view->x->rows; r++) { /* the id tells what the row holds */
            const int i = atoi(ferry_domain_id(d, view->instance[r])) - 1;
            assert_close(view->x->dense[r * view->x->cols], 100.0 * (double)v + i, 0);
        }
    }
    assert_int_equal(rows, 5 * 24 - 12 * 2);
    ferry_task_free(task);
    ferry_i_sources_free(s);
}

/* ---- papers ---- */

/* 12 papers of two classes. Word 0 tells the class, word 1 is in every second paper, word 2
 * in all but one, word 3 in four papers only. Each cites the next; 0 cites itself and one
 * that is not there; a citation stands twice. */
static void make_papers(bool packed)
{
    bytes content = {0}, cites = {0}, tar = {0};
    char line[80];

    for (int i = 0; i < 12; i++) {
        const int n = snprintf(line, sizeof line, "p%d\t%d\t%d\t%d\t%d\t%s\n", i, i < 6,
                               i % 2, i != 3, i < 4, i < 6 ? "AI" : "DB");
        add_bytes(&content, line, n);
        if (i > 0) {
            const int m = snprintf(line, sizeof line, "p%d\tp%d\n", i, i - 1);
            add_bytes(&cites, line, m);
        }
    }
    static const char more[] = "p0\tp0\np0\tnowhere\np0\tp1\n";
    add_bytes(&cites, more, (int64_t)strlen(more));
    folder("linqs");
    if (!packed) { /* as ferry fetch leaves them */
        folder("linqs/citeseer");
        tmp_file("linqs/citeseer/citeseer.content", content.s, content.n);
        tmp_file("linqs/citeseer/citeseer.cites", cites.s, cites.n);
        (void)remove(tmp_path("linqs/citeseer.tgz"));
        free(content.s);
        free(cites.s);
        return;
    }
    tar_add(&tar, '0', "citeseer/citeseer.content", content.s, content.n);
    tar_add(&tar, '0', "citeseer/citeseer.cites", cites.s, cites.n);
    tar_end(&tar);
    bytes gz = gzip_of(tar.s, tar.n);
    tmp_file("linqs/citeseer.tgz", gz.s, gz.n);
    free(gz.s);
    free(tar.s);
    free(content.s);
    free(cites.s);
}

static void test_words(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_lab lab = lab_here();
    ferry_sources *s = NULL;
    int64_t cols = 0;

    make_papers(true);
    assert_ok(ctx, ferry_i_sources_words(ctx, &lab, true, &s));
    assert_int_equal(s->n, 12);
    assert_int_equal(s->n_views, 8); /* five groups, noise, two graphs as columns */
    for (int v = 0; v < 5; v++)
        cols += s->view[v].x->cols;
    assert_int_equal(cols, 3); /* the word of four papers is left out */
    for (int v = 0; v < 5; v++) {
        if (s->view[v].x->cols == 0) continue;
        assert_int_equal(s->view[v].x->nnz, 6); /* the first is the word that tells most */
        assert_int_equal(s->view[v].x->start[6], 6);
        break;
    }
    assert_int_equal(s->view[5].x->cols, 400);
    assert_in_range(s->view[5].x->nnz, 12 * 200 - 200, 12 * 200 + 200);
    assert_int_equal(s->graph[0].n, 11); /* each pair once, no loops, none to nowhere */
    assert_int_equal(s->graph[1].n, 11);
    const ferry_matrix *a = s->view[6].x; /* a chain */
    assert_int_equal(a->cols, 12);
    assert_int_equal(a->nnz, 22);
    assert_int_equal(a->start[1], 1);
    assert_int_equal(a->index[0], 1);
    assert_int_equal(a->index[a->start[5]], 4);
    assert_int_equal(a->index[a->start[5] + 1], 6);
    ferry_i_sources_free(s);
}

static void test_papers(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_lab lab = lab_here();
    ferry_sources *s = NULL;
    double off = 0;

    make_papers(true);
    assert_ok(ctx, ferry_i_sources_papers(ctx, &lab, 0, &s));
    assert_int_equal(s->n, 12);
    const ferry_matrix *words = s->view[0].x, *noisy = s->view[1].x;
    assert_int_equal(words->cols, 106);
    assert_close(words->dense[0], 1, 0); /* word 2 is the commonest */
    assert_close(words->dense[3 * 106], 0, 0);
    for (int64_t i = 0; i < 12 * 106; i++)
        off += pow(noisy->dense[i] - words->dense[i], 2) / (12 * 106);
    assert_close(off, 1, 0.1); /* variance 1, of 1272 draws */
    assert_int_equal(s->graph[0].n, 11);
    assert_int_equal(s->graph[1].n, 10); /* of a chain: two steps apart */
    for (int64_t e = 0; e < 10; e++)
        assert_int_equal(labs(s->graph[1].ends[2 * e] - s->graph[1].ends[2 * e + 1]), 2);
    ferry_i_sources_free(s);
    make_papers(false);
    assert_ok(ctx, ferry_i_sources_papers(ctx, &lab, 5, &s));
    assert_int_equal(s->n, 5);
    assert_int_equal(s->labels->n, 5);
    for (int64_t e = 0; e < 2 * s->graph[0].n; e++)
        assert_in_range(s->graph[0].ends[e], 0, 4);
    ferry_i_sources_free(s);
}

/* ---- films ---- */

/* 13 lines: twelve films, of which one has no score and one stands twice. */
static void make_films(void)
{
    ferry_text t = {0};

    ferry_i_text_add(&t,
                     "imdb_score,director_name,actor_1_name,actor_2_name,actor_3_name,"
                     "genres,plot_keywords,movie_title,movie_imdb_link,duration,color,"
                     "aspect_ratio,budget,content_rating,title_year,language,country\n");
    for (int i = 0; i < 13; i++) {
        const int film = i < 12 ? i : 0;
        if (film != 5) ferry_i_text_addf(&t, "%g", 5 + 0.1 * film);
        ferry_i_text_addf(&t, ",Dir %d,Lead %d,Second,,%s,%s,The Film No %c,tt%d,",
                          film / 4, film, film % 2 ? "Drama|Comedy" : "Drama",
                          film < 3 ? "rare" : "", 'a' + film, film);
        ferry_i_text_addf(&t, "%s,Color,1.85,,PG,%d,English,%s\n", film == 7 ? "" : "90",
                          1990 + film, film < 2 ? "Chad" : "USA");
    }
    folder("imdb");
    tmp_file("imdb/movie_metadata.csv", t.s, t.len);
    ferry_i_text_free(&t);
}

static const ferry_matrix *view_of(const ferry_sources *s, const char *name)
{
    for (int64_t v = 0; v < s->n_views; v++)
        if (strcmp(s->view[v].name, name) == 0) return s->view[v].x;
    fail_msg("no view %s", name);
    return NULL;
}

static void test_films(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_lab lab = lab_here();
    ferry_sources *s = NULL;
    int64_t missing = 0, comedies = 0;

    make_films();
    assert_ok(ctx, ferry_i_sources_films(ctx, &lab, 100, &s));
    assert_int_equal(s->n, 11);
    assert_int_equal(s->n_views, 6);
    const ferry_matrix *genres = view_of(s, "genres"), *technical = view_of(s, "technical");
    assert_int_equal(genres->cols, 2);
    assert_int_equal(view_of(s, "keywords")->cols, 0);    /* in fewer than five films */
    assert_int_equal(view_of(s, "title")->cols, 3);       /* the, film, no */
    assert_int_equal(view_of(s, "cast")->cols, 1);        /* Second */
    assert_int_equal(technical->cols, 3 + 1);             /* numbers, Color */
    assert_int_equal(view_of(s, "release")->cols, 1 + 3); /* year, PG, English, USA */
    for (int64_t i = 0; i < s->n; i++) {
        const int film = (int)lround(10 * (s->labels->num[i] - 5));
        const double *row = genres->dense + 2 * i;
        assert_close(row[0] + row[1], film % 2 ? 2 : 1, 0);
        comedies += film % 2;
        missing += isnan(technical->dense[4 * i]);
        assert_true(isnan(technical->dense[4 * i + 2])); /* no budget is known */
        assert_close(view_of(s, "release")->dense[4 * i], 1990 + film, 0);
    }
    assert_int_equal(comedies, 5); /* 1 3 7 9 11 */
    assert_int_equal(missing, 1);
    /* Directors of 4, 3 and 4 films; leads of one each; "Second" of all eleven. */
    assert_int_equal(s->graph[0].n, 6 + 3 + 6);
    assert_int_equal(s->graph[1].n, 0);
    assert_int_equal(s->graph[2].n, 55);
    ferry_i_sources_free(s);
    assert_ok(ctx, ferry_i_sources_films(ctx, &lab, 4, &s));
    assert_int_equal(s->n, 4);
    ferry_i_sources_free(s);
    tmp_file("imdb/movie_metadata.csv", "genres,imdb_score\nDrama,7\n", -1);
    assert_fails(ctx, ferry_i_sources_films(ctx, &lab, 4, &s), FERRY_EDATA,
                 "movie_metadata.csv:1: expected a column director_name");
    assert_null(s);
}

/* ---- memory ---- */

static ferry_status make_all(ferry_ctx *ctx, void *arg)
{
    ferry_status st = FERRY_OK;
    ferry_lab lab = lab_here();
    ferry_sources *s = NULL;

    (void)arg;
    FERRY_TRY(ferry_i_sources_papers(ctx, &lab, 0, &s));
    ferry_i_sources_free(s);
    FERRY_TRY(ferry_i_sources_films(ctx, &lab, 100, &s));
    FERRY_TRY(ferry_i_sources_write(ctx, &lab, s, "films", 0.5));
done:
    ferry_i_sources_free(s);
    return st;
}

static void test_memory(void **state)
{
    make_papers(true);
    make_films();
    each_allocation_fails(*state, make_all, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_digits, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_incomplete, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_words, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_papers, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_films, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_memory, ctx_setup, ctx_teardown),
    };
    return cmocka_run_group_tests_name("sources", tests, NULL, NULL);
}
