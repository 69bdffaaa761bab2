/* The record engine on files of several pieces: threads, gaps between pieces, and which mistake is reported. */
#include "ferry_test.h"

#include <stdio.h>
#include <string.h>

#include "data/data.h"

enum { LINES = 90000 }; /* about 1.5 MB: several pieces of 256 KiB */

/* A format's lines; every 97th is followed by a blank line, every 89th by a comment where there are some. */
typedef struct form {
    const char *format, *head, *line, *comment, *bad, *message;
    ferry_data_kind as;
} form;

static const form forms[] = {
    {"csv", "id,x,y\n", "r%d,%d,0.25\n", "", "r0,1\n", "expected 3 fields, found 2",
     FERRY_DATA_VIEW},
    {"svmlight", "", "1 1:%d 7:%d\n", "# no instance\n", "1 x:1\n",
     "expected index:value, found 'x:1'", FERRY_DATA_VIEW},
    {"edges", "from\tto\tweight\n", "n%d\tm%d\t0.5\n", "# no edge\n", "a\tb\tc\n",
     "expected a finite number as weight, found \"c\"", FERRY_DATA_GRAPH},
    {"ratings", "user,item,rating\n", "u%d,i%d,3\n", "# no rating\n", "u,,3\n",
     "expected a user and an item", FERRY_DATA_RATINGS},
    {"mtx", "%%MatrixMarket matrix coordinate real general\n90000 90000 90000\n",
     "%d %d 0.125\n", "% no entry\n", "0 1 2\n", "row \"0\", expected 1 .. 90000",
     FERRY_DATA_VIEW},
};

/* The lines of a form, with its bad one behind lines `bad` and LINES - 10 (0: nowhere); *at is the first one's number. */
static const char *write_form(const form *f, int bad, int64_t *at)
{
    ferry_text t = {0};
    int64_t line = 1;
    static char path[4096];

    *at = 0;
    ferry_i_text_add(&t, f->head);
    for (const char *s = f->head; *s; s++)
        line += *s == '\n';
    for (int i = 1; i <= LINES; i++, line++) {
        char text[64];
        (void)snprintf(text, sizeof text, f->line, i, i);
        ferry_i_text_add(&t, text);
        if (i % 97 == 0) {
            ferry_i_text_add(&t, "\n");
            line++;
        }
        if (i % 89 == 0 && f->comment[0]) {
            ferry_i_text_add(&t, f->comment);
            line++;
        }
        if (bad > 0 && (i == bad || i == LINES - 10)) {
            ferry_i_text_add(&t, f->bad);
            line++;
            if (i == bad) *at = line;
        }
    }
    assert_false(t.failed);
    strcpy(path, tmp_file("many", t.s, t.len));
    ferry_i_text_free(&t);
    return path;
}

static ferry_status read_form(ferry_ctx *ctx, const form *f, const char *path, int threads,
                              ferry_data **out)
{
    char format[40];

    (void)snprintf(format, sizeof format, "format=%s", f->format);
    ferry_opts *opts = opts_of(ctx, format, NULL);
    assert_ok(ctx, ferry_i_ctx_set_threads(ctx, threads));
    const ferry_status st = ferry_i_read_as(ctx, path, opts, f->as, out);
    ferry_opts_free(opts);
    return st;
}

/* Row, edge or rating i is the one of line i + 1. */
static void check_form(const ferry_data *d, const form *f)
{
    const ferry_ratings *r = d->ratings;
    char name[32];

    for (int64_t i = 0; i < LINES; i++) {
        (void)snprintf(name, sizeof name, "%lld", (long long)i + 1);
        if (strcmp(f->format, "csv") == 0) {
            assert_string_equal(ferry_i_ids_at(d->ids, i) + 1, name);
            assert_true(d->x->dense[2 * i] == (double)(i + 1) &&
                        d->x->dense[2 * i + 1] == 0.25);
        } else if (strcmp(f->format, "svmlight") == 0) {
            assert_true(d->x->start[i + 1] == 2 * i + 2 && d->x->index[2 * i + 1] == 6);
            assert_true(d->x->value[2 * i] == (double)(i + 1));
        } else if (strcmp(f->format, "mtx") == 0) {
            assert_true(d->x->start[i + 1] == i + 1 && d->x->index[i] == i &&
                        d->x->value[i] == 0.125);
        } else if (r) {
            assert_string_equal(ferry_i_ids_at(r->users, r->user[i]) + 1, name);
            assert_true(r->item[i] == i && r->value[i] == 3);
        } else {
            assert_string_equal(ferry_i_ids_at(d->nodes, d->to[i]) + 1, name);
            assert_true(d->from[i] == 2 * i && d->weight[i] == 0.5);
        }
    }
    assert_int_equal(d->x ? d->x->rows : r ? r->n : d->edges, LINES);
}

static void test_pieces(void **state)
{
    for (int64_t k = 0; k < FERRY_COUNT(forms); k++) {
        int64_t none = 0;
        const char *path = write_form(&forms[k], 0, &none);
        for (int threads = 1; threads <= 4; threads += 3) {
            ferry_data *d = NULL;
            assert_ok(*state, read_form(*state, &forms[k], path, threads, &d));
            check_form(d, &forms[k]);
            ferry_data_free(d);
        }
    }
}

/* Of mistakes in two pieces the first is reported, however many threads read. */
static void test_first_mistake(void **state)
{
    for (int64_t k = 0; k < FERRY_COUNT(forms); k++) {
        int64_t line = 0;
        const char *path = write_form(&forms[k], LINES / 2, &line);
        char want[200];
        (void)snprintf(want, sizeof want, ":%lld: %s", (long long)line, forms[k].message);
        for (int threads = 1; threads <= 4; threads += 3) {
            ferry_data *d = NULL;
            assert_fails(*state, read_form(*state, &forms[k], path, threads, &d),
                         FERRY_EDATA, want);
        }
    }
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)
    const struct CMUnitTest tests[] = {T(test_pieces), T(test_first_mistake)};
    return cmocka_run_group_tests_name("records", tests, NULL, NULL);
}
