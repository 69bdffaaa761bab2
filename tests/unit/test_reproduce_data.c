/* Studies' own data: Corel5k's files and how they are cut, Book-Crossing's dense part, the
 * streams of Office-Caltech. */
#include <stdio.h>

#include "data/data.h"
#include "ferry_test.h"
#include "reproduce/hetomtl.h"
#include "reproduce/mindtl.h"
#include "reproduce/mmltl.h"

/* A study that does one of the checks below, and has a table and a claim as it must. */
static ferry_status (*check)(ferry_ctx *, ferry_lab *);

static ferry_status run_check(ferry_ctx *ctx, ferry_lab *lab)
{
    ferry_status st = FERRY_OK;

    FERRY_TRY(check(ctx, lab));
    FERRY_TRY(ferry_i_lab_cell(ctx, lab, "r", "c", ferry_i_score_of(1, (double[]){1}), 1));
    FERRY_TRY(ferry_i_lab_claim(ctx, lab, true, "it ran"));
done:
    return st;
}

static ferry_status run_as_study(ferry_ctx *ctx, const char *data, const char *needs,
                                 ferry_status (*what)(ferry_ctx *, ferry_lab *))
{
    const ferry_study study = {.name = "toy-data1",
                               .paper = "none",
                               .shows = "table 1: its data",
                               .needs = needs,
                               .protocol = "None.",
                               .run = run_check};
    char folder[512];
    ferry_reproduction *r = NULL;

    check = what;
    snprintf(folder, sizeof folder, "%s", tmp_path("out"));
    const ferry_reproduce_settings s = {.data = data, .folder = folder, .quick = 1};
    const ferry_status st = ferry_i_reproduce(ctx, &study, &s, &r);
    ferry_reproduction_free(r);
    return st;
}

/* ---- Corel5k ---- */

enum { PICTURES = 40, BINS = 3, LABELS = 4, CDS = 10 };

/* Rows of 16-bit numbers led by their length; `at` gives the numbers. */
static void write_hvecs(const char *name, int rows, int width, int (*at)(int, int))
{
    static char bytes[4096];
    int n = 0;

    for (int i = 0; i < rows; i++)
        for (int j = -1; j < width; j++) {
            const int v = j < 0 ? width : at(i, j);
            bytes[n++] = (char)(v & 255);
            bytes[n++] = (char)(v >> 8);
        }
    tmp_file(name, bytes, n);
}

/* Counts beyond 255 need both bytes. */
static int bin_of(int i, int j)
{
    return 100 * i + 7 * j;
}

/* Every picture has label 0; label 3 occurs on no picture. */
static int label_of(int i, int k)
{
    return k == 0 || (k == 1 && i % 2 == 0) || (k == 2 && i % 4 == 0);
}

/* `list`: how many names the list has. Returns the data folder. */
static const char *write_corel(int list)
{
    ferry_text names = {0};
    static char data[512];

    snprintf(data, sizeof data, "%s", tmp_path("data"));
    (void)ferry_i_mkdirs(NULL, tmp_path("data/corel5k"));
    write_hvecs("data/corel5k/corel5k_test_DenseHue.hvecs", PICTURES, BINS, bin_of);
    write_hvecs("data/corel5k/corel5k_test_annot.hvecs", PICTURES, LABELS, label_of);
    for (int i = 0; i < list; i++)
        ferry_i_text_addf(&names, "%d000/%d\n", 1 + i % CDS, i);
    tmp_file("data/corel5k/corel5k_test_list.txt", names.s, -1);
    tmp_file("data/corel5k/corel5k_dictionary.txt", "sky\nse\"a\ntree\nnever", -1);
    ferry_i_text_free(&names);
    return data;
}

static ferry_status read_corel(ferry_ctx *ctx, ferry_lab *lab)
{
    ferry_status st = FERRY_OK;
    mmltl_pictures p = {0};
    double sum = 0, squares = 0;

    FERRY_TRY(ferry_i_mmltl_corel(ctx, lab, "DenseHue", false, &p));
    assert_int_equal(p.n, PICTURES);
    assert_int_equal(p.d, BINS);
    assert_int_equal(p.m, LABELS);
    assert_close(p.x[39 * BINS + 2], 3914, 0);
    assert_int_equal(p.y[4 * LABELS + 2], 1);
    assert_int_equal(p.y[5 * LABELS + 2], 0);
    assert_string_equal(ferry_i_ids_at(p.groups, p.group[23]), "4000");
    assert_string_equal(ferry_i_ids_at(p.labels, 3), "never");
    for (int i = 0; i < PICTURES; i++) {
        sum += p.z[i];
        squares += p.z[i] * p.z[i];
    }
    assert_close(sum, 0, 1e-9);
    assert_close(squares / PICTURES, 1, 1e-9);
    /* counts grow with i, so the first component does too, up to its sign */
    for (int i = 1; i < PICTURES; i++)
        assert_true((p.z[i] - p.z[i - 1]) * (p.z[1] - p.z[0]) > 0);
done:
    ferry_i_mmltl_free(&p);
    return st;
}

static void test_corel(void **state)
{
    assert_ok(*state, run_as_study(*state, write_corel(PICTURES), "", read_corel));
}

static void test_broken_corel(void **state)
{
    ferry_ctx *ctx = *state;
    const char *data = write_corel(PICTURES - 1);

    assert_fails(ctx, run_as_study(ctx, data, "", read_corel), FERRY_EDATA,
                 "corel5k_test_list.txt: 39 names for 40 pictures and 40 label sets");
    write_corel(PICTURES);
    tmp_file("data/corel5k/corel5k_test_DenseHue.hvecs", "\3\0abcdef\3\0ab", 12);
    assert_fails(ctx, run_as_study(ctx, data, "", read_corel), FERRY_EDATA,
                 "corel5k_test_DenseHue.hvecs: 12 bytes are not rows of 3 16-bit numbers");
    tmp_file("data/corel5k/corel5k_test_DenseHue.hvecs", "\3\0abcdef\2\0abcdef", 16);
    assert_fails(ctx, run_as_study(ctx, data, "", read_corel), FERRY_EDATA,
                 "corel5k_test_DenseHue.hvecs: row 2 has 2 numbers, expected 3");
    tmp_file("data/corel5k/corel5k_test_DenseHue.hvecs", "", 0);
    assert_fails(ctx, run_as_study(ctx, data, "", read_corel), FERRY_EDATA,
                 "corel5k_test_DenseHue.hvecs");
    write_corel(PICTURES);
    tmp_file("data/corel5k/corel5k_dictionary.txt", "sky\n", -1);
    assert_fails(ctx, run_as_study(ctx, data, "", read_corel), FERRY_EDATA,
                 "corel5k_dictionary.txt: 1 words for 4 labels");
    assert_fails(ctx, run_as_study(ctx, data, "not/there.txt", read_corel), FERRY_EDATA,
                 "not/there.txt");
}

static ferry_status check_cuts(ferry_ctx *ctx, ferry_lab *lab)
{
    ferry_status st = FERRY_OK;
    mmltl_pictures p = {0};
    mmltl_cut c = {0};
    int side[CDS];

    FERRY_TRY(ferry_i_mmltl_corel(ctx, lab, "DenseHue", false, &p));
    for (int kind = NUISANCE; kind <= SORTED; kind++) {
        FERRY_TRY(ferry_i_mmltl_cut(ctx, lab, &p, (mmltl_kind)kind, 1, &c));
        assert_int_equal(c.n[0] + c.n[1], PICTURES); /* each has label 0 */
        assert_int_equal(c.n[0], PICTURES / 2);
        assert_int_equal(c.m, LABELS);
        assert_int_equal(c.label[0], 0); /* most frequent first */
        assert_int_equal(c.label[LABELS - 1], 3);
        for (int g = 0; g < CDS; g++)
            side[g] = -1;
        for (int s = 0; s < 2; s++)
            for (int64_t r = 0; r < c.n[s]; r++) { /* a CD is on one side */
                int *of = &side[p.group[c.row[s][r]]];
                assert_true(*of < 0 || *of == s);
                *of = s;
            }
        /* sorted: pictures 0..9 are one of each CD in rising order of the component */
        for (int g = 1; kind == SORTED && g < CDS; g++)
            assert_true((p.z[1] > p.z[0]) == (side[g] >= side[g - 1]) ||
                        side[g] == side[g - 1]);
        ferry_i_mmltl_cut_free(&c);
    }
done:
    ferry_i_mmltl_cut_free(&c);
    ferry_i_mmltl_free(&p);
    return st;
}

static void test_cuts(void **state)
{
    assert_ok(*state, run_as_study(*state, write_corel(PICTURES), "", check_cuts));
}

/* The files of a run: a target's histogram keeps its total when it is mixed. */
static ferry_status check_files(ferry_ctx *ctx, ferry_lab *lab)
{
    ferry_status st = FERRY_OK;
    mmltl_pictures p = {0};
    mmltl_cut c = {0};
    char *path[2] = {NULL, NULL};
    ferry_data *data = NULL;
    ferry_opts *opts = NULL;

    FERRY_TRY(ferry_i_mmltl_corel(ctx, lab, "DenseHue", false, &p));
    FERRY_TRY(ferry_i_mmltl_cut(ctx, lab, &p, NUISANCE, 0, &c));
    FERRY_TRY(ferry_i_mmltl_run(ctx, lab, &p, &c, 0, 5, "  - label-prior\n"));
    FERRY_TRY(ferry_i_lab_path(ctx, lab, "nuisance-0-a-5-source.csv", &path[0]));
    FERRY_TRY(ferry_i_lab_path(ctx, lab, "nuisance-0-b-target.csv", &path[1]));
    opts = opts_of(ctx, "label=last:4", NULL);
    for (int target = 0; target < 2; target++) {
        FERRY_TRY(ferry_read(ctx, path[target], opts, &data));
        assert_int_equal(data->x->rows, target ? c.n[1] : 5);
        assert_string_equal(ferry_i_ids_at(data->labels->names, 1), "se\"a");
        for (int64_t r = 0; r < data->x->rows; r++) {
            const int64_t i = c.row[target][r];
            double total = 0, mixed = 0, apart = 0;
            for (int j = 0; j < BINS; j++) {
                const double v = data->x->dense[r * BINS + j];
                total += p.x[i * BINS + j];
                mixed += v * v;
                apart = fmax(apart, fabs(v - sqrt(p.x[i * BINS + j])));
            }
            assert_close(mixed, total, 1e-4);
            assert_true(target ? apart > 1e-3 : apart < 1e-5);
            for (int k = 0; k < LABELS; k++)
                assert_int_equal(data->labels->on[r * LABELS + k],
                                 p.y[i * LABELS + c.label[k]]);
        }
        ferry_data_free(data);
        data = NULL;
    }
done:
    ferry_data_free(data);
    ferry_opts_free(opts);
    ferry_i_free(path[0]);
    ferry_i_free(path[1]);
    ferry_i_mmltl_cut_free(&c);
    ferry_i_mmltl_free(&p);
    return st;
}

static void test_files(void **state)
{
    assert_ok(*state, run_as_study(*state, write_corel(PICTURES), "", check_files));
}

static ferry_status cuts_body(ferry_ctx *ctx, void *arg)
{
    return run_as_study(ctx, arg, "", check_cuts);
}

static void test_memory(void **state)
{
    static char data[512];

    snprintf(data, sizeof data, "%s", write_corel(PICTURES));
    each_allocation_fails(*state, cuts_body, data);
}

/* ---- Book-Crossing ---- */

/* Users u0..u7 rate books b0..b7 (8 each); of u8, who has 8 ratings too, six are of books
 * that nobody else rated: they go, and then u8's others. Zeros are no ratings. */
static const char *write_ratings(void)
{
    static char data[512];
    ferry_text t = {0};

    ferry_i_text_add(&t, "User-ID;ISBN;Book-Rating\n");
    for (int u = 0; u < 9; u++)
        for (int b = 0; b < 8; b++)
            ferry_i_text_addf(&t, "u%d;b%d;%d\n", u, u == 8 && b > 1 ? 100 + b : b,
                              u == 0 ? 10 : 1 + (u + b) % 9);
    ferry_i_text_add(&t, "u9;b1;0\n");
    snprintf(data, sizeof data, "%s", tmp_path("books"));
    (void)ferry_i_mkdirs(NULL, tmp_path("books/bookcrossing"));
    tmp_file("books/bookcrossing/BX-Book-Ratings_first100k.csv.gz", t.s, -1);
    ferry_i_text_free(&t);
    return data;
}

static ferry_status check_books(ferry_ctx *ctx, ferry_lab *lab)
{
    ferry_status st = FERRY_OK;
    char *path = NULL;
    ferry_data *data = NULL;

    FERRY_TRY(ferry_i_mindtl_books(ctx, lab));
    FERRY_TRY(ferry_i_lab_path(ctx, lab, "books.csv", &path));
    FERRY_TRY(ferry_i_read_as(ctx, path, NULL, FERRY_DATA_RATINGS, &data));
    assert_int_equal(data->ratings->n, 64);
    assert_int_equal(ferry_i_ids_count(data->ratings->users), 8);
    assert_int_equal(ferry_i_ids_find(data->ratings->users, "u8"), -1);
    assert_close(data->ratings->value[0], 5, 0);               /* 10 */
    assert_close(data->ratings->value[8], 1 + 4.0 / 9, 1e-12); /* 2 */
done:
    ferry_data_free(data);
    ferry_i_free(path);
    return st;
}

static void test_books(void **state)
{
    ferry_ctx *ctx = *state;
    const char *data = write_ratings();

    assert_ok(ctx, run_as_study(ctx, data, "", check_books));
    tmp_file("books/bookcrossing/BX-Book-Ratings_first100k.csv.gz",
             "User-ID;ISBN;Book-Rating\nu1;b1;5\n", -1);
    assert_fails(ctx, run_as_study(ctx, data, "", check_books), FERRY_EDATA,
                 "no user has 8 ratings of books that 3 users rated");
}

/* ---- Office-Caltech and the others ---- */

/* The lengths that the betas are reckoned from are those of the streams. */
static ferry_status check_streams(ferry_ctx *ctx, ferry_lab *lab)
{
    ferry_status st = FERRY_OK;

    for (int i = 0; i < HETOMTL_STREAMS; i++) {
        const hetomtl_stream *s = &ferry_i_hetomtl_streams[i];
        FERRY_TRY(ferry_i_hetomtl_run(ctx, lab, s, "  - mpa\n", 1));
        assert_int_equal(ferry_i_lab_results(lab)->rounds, s->rounds);
    }
done:
    return st;
}

static void test_streams(void **state)
{
    if (!data_dir()) skip();
    assert_ok(*state, run_as_study(*state, data_dir(), "", check_streams));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_corel, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_broken_corel, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_cuts, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_files, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_memory, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_books, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_streams, ctx_setup, ctx_teardown),
    };

    return cmocka_run_group_tests_name("reproduce_data", tests, NULL, NULL);
}
