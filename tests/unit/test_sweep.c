/* Memory that runs out, everywhere: what each command does and each method's whole life (task file, fit,
 * save, load, predict, write), with one allocation after the other failing, jansson's included. Each time the
 * answer must be FERRY_ENOMEM, no block may stay behind and no file may look complete.
 *
 * A life with up to MOST allocations has every one fail; a longer one the first of every call site (the
 * last frames of the stack tell them apart), which FERRY_SWEEP=all turns into every one as well; "all 2/8" is
 * the third of eight processes that share them. FERRY_SWEEP=slice takes one in seven, for builds that are
 * slow. FERRY_SWEEP_COMMAND and FERRY_SWEEP_METHOD name one alone. */
#include <execinfo.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lives.h"
#include "show/show.h"
#include "select/select.h"
#include "stream/folder.h"

enum { MOST = 300, FRAMES = 9 };

/* ---- call sites ---- */

static int64_t n_sites;
static uint64_t sites[1 << 14];
static int64_t first[1 << 14]; /* the first allocation of each site */

static void note_site(int64_t number)
{
    void *at[FRAMES + 4];
    const int n = backtrace(at, FRAMES + 4);
    uint64_t h = 14695981039346656037u;

    for (int i = 3; i < n; i++)
        h = (h ^ (uint64_t)(uintptr_t)at[i]) * 1099511628211u;
    for (int64_t i = 0; i < n_sites; i++)
        if (sites[i] == h) return;
    if (n_sites == FERRY_COUNT(sites)) return;
    sites[n_sites] = h;
    first[n_sites++] = number;
}

/* ---- the sweep ---- */

static int64_t taken; /* allocations of the last deed */

typedef ferry_status (*deed)(ferry_ctx *ctx, const char *arg, const char *more);

static ferry_status once(deed body, const char *arg, const char *more, int64_t at,
                         char *why)
{
    ferry_ctx *ctx = NULL;
    ferry_status st = FERRY_OK;

    fail_allocation(at);
    st = ferry_ctx_new(&ctx);
    if (st == FERRY_OK) st = ferry_i_ctx_set_threads(ctx, 1);
    if (st == FERRY_OK) st = body(ctx, arg, more);
    (void)snprintf(why, 256, "%s", ferry_message(ctx));
    ferry_ctx_free(ctx);
    taken = allocations();
    fail_allocation(0);
    return st;
}

/* Returns how many allocations were made to fail; *wrong counts those that ended badly. */
static int64_t sweep(const char *name, deed body, const char *arg, const char *more,
                     int64_t *wrong)
{
    const char *told = getenv("FERRY_SWEEP");
    char why[256];
    int64_t tried = 0;
    int part = 0, parts = 1;

    n_sites = 0;
    (void)once(body, arg, more, 0, why); /* what is made once and kept */
    watch_allocations(note_site);
    const ferry_status st = once(body, arg, more, 0, why);
    watch_allocations(NULL);
    if (st != FERRY_OK) {
        print_error("%s %s: %s\n", name, more ? more : "", why);
        ++*wrong;
        return 0;
    }
    const int64_t total = taken;
    const bool all = total <= MOST || (told && strncmp(told, "all", 3) == 0);
    if (told && strcmp(told, "slice") == 0) parts = 7;
    if (told) (void)sscanf(told, "all %d/%d", &part, &parts);
    for (int64_t k = part; k < (all ? total : n_sites); k += parts) {
        const int64_t at = all ? k + 1 : first[k], before = live_blocks();
        const ferry_status got = once(body, arg, more, at, why);
        tried++;
        if (got == FERRY_ENOMEM && live_blocks() == before) continue;
        print_error("%s %s: allocation %lld of %lld failing: %s (%s), %lld blocks left\n",
                    name, more ? more : "", (long long)at, (long long)total,
                    ferry_status_name(got), why, (long long)(live_blocks() - before));
        ++*wrong;
    }
    if (told)
        print_message("%s %s: %lld of %lld allocations\n", name, more ? more : arg,
                      (long long)tried, (long long)total);
    return tried;
}

/* ---- deeds ---- */

/* Nothing here asks what a power cut leaves. */
static int no_sync(int fd)
{
    (void)fd;
    return 0;
}

static ferry_status do_life(ferry_ctx *ctx, const char *file, const char *method)
{
    return method_life(ctx, file, method, "sweep");
}

static ferry_status do_inspect(ferry_ctx *ctx, const char *file, const char *more)
{
    ferry_status st = FERRY_OK;
    ferry_data *d = NULL;
    ferry_description *said = NULL;
    char *text = NULL;

    (void)more;
    FERRY_TRY(ferry_read(ctx, file[0] == '/' ? file : tmp_path(file), NULL, &d));
    FERRY_TRY(ferry_data_describe(ctx, d, &said));
    FERRY_TRY(ferry_i_description_json(ctx, said, &text));
done:
    ferry_string_free(text);
    ferry_description_free(said);
    ferry_data_free(d);
    return st;
}

static ferry_status do_convert(ferry_ctx *ctx, const char *from, const char *to)
{
    ferry_status st = FERRY_OK;
    ferry_data *d = NULL;
    const char *path = tmp_path(to);

    (void)unlink(path);
    FERRY_TRY(ferry_read(ctx, tmp_path(from), NULL, &d));
    st = ferry_write(ctx, d, path, NULL);
    FERRY_TRY(lives_gone(ctx, st, path));
done:
    ferry_data_free(d);
    return st;
}

/* run, with the answer or controls. */
static ferry_status do_run(ferry_ctx *ctx, const char *file, const char *set)
{
    ferry_status st = FERRY_OK;
    ferry_opts *sets = NULL;
    ferry_task *task = NULL;
    ferry_results *rs = NULL;

    FERRY_TRY(ferry_opts_new(ctx, &sets));
    FERRY_TRY(ferry_opts_set(ctx, sets, "evaluate.answer",
                             strcmp(set, "yes") == 0 ? "yes" : "no"));
    FERRY_TRY(ferry_opts_set(ctx, sets, "evaluate.controls",
                             strcmp(set, "yes") == 0 ? "none" : "quick"));
    FERRY_TRY(ferry_task_load(ctx, tmp_path(file), sets, &task));
    FERRY_TRY(ferry_evaluate(ctx, task, NULL, &rs));
    FERRY_TRY(ferry_results_save(ctx, rs, tmp_path("sweep.run")));
done:
    ferry_results_free(rs);
    ferry_task_free(task);
    ferry_opts_free(sets);
    return st;
}

/* run --resume: a folder keeps what is done. */
static ferry_status do_resume(ferry_ctx *ctx, const char *file, const char *more)
{
    ferry_status st = FERRY_OK;
    ferry_task *task = NULL;
    ferry_results *rs = NULL;

    (void)more;
    ferry_i_remove_tree(tmp_path("sweep.part"));
    FERRY_TRY(ferry_task_load(ctx, tmp_path(file), NULL, &task));
    FERRY_TRY(ferry_evaluate(ctx, task, tmp_path("sweep.part"), &rs));
done:
    ferry_results_free(rs);
    ferry_task_free(task);
    return st;
}

/* What reads the folder that do_run() left: `what` of it. */
static ferry_status do_results(ferry_ctx *ctx, const char *name, const char *what)
{
    ferry_status st = FERRY_OK;
    ferry_results *rs = NULL;
    ferry_task *again = NULL;
    char *text = NULL;
    const char *folder = tmp_path(name), *folders[] = {folder};

    if (strcmp(what, "rerun") == 0) {
        FERRY_TRY(ferry_task_rerun(ctx, folder, &again));
        goto done;
    }
    if (strcmp(what, "report") == 0) {
        const char *page = tmp_path("sweep.html");
        (void)unlink(page);
        st = ferry_report_write(ctx, 1, folders, page);
        FERRY_TRY(lives_gone(ctx, st, page));
        goto done;
    }
    FERRY_TRY(ferry_results_load(ctx, folder, &rs));
    const ferry_results *two[] = {rs, rs};
    if (strcmp(what, "explain") == 0) {
        FERRY_TRY(ferry_results_explain(ctx, rs, NULL, &text));
        ferry_string_free(text);
        FERRY_TRY(ferry_results_explain(ctx, rs, "majority", &text));
    } else if (strcmp(what, "json") == 0) {
        FERRY_TRY(ferry_results_table(ctx, rs, "json", &text));
    } else if (strcmp(what, "text") == 0) {
        FERRY_TRY(ferry_results_table(ctx, rs, NULL, &text));
    } else if (strcmp(what, "summary") == 0) {
        FERRY_TRY(ferry_summary_table(ctx, 2, two, NULL, &text));
        ferry_string_free(text);
        FERRY_TRY(ferry_summary_table(ctx, 2, two, "json", &text));
    } else {
        FERRY_TRY(ferry_results_table(ctx, rs, what, &text));
    }
done:
    ferry_string_free(text);
    ferry_results_free(rs);
    ferry_task_free(again);
    return st;
}

/* What only ratings have: users placed by ratings that the model has not seen, and the best items. */
static ferry_status do_recommend(ferry_ctx *ctx, const char *model, const char *more)
{
    static const char *const users[] = {"u1", "u9"};
    ferry_status st = FERRY_OK;
    ferry_model *m = NULL, *folded = NULL;
    ferry_data *d = NULL;
    ferry_domain *known = NULL;
    ferry_prediction *p = NULL;
    ferry_opts *opts = NULL;
    const char *csv = tmp_path("top.csv");

    (void)unlink(csv);
    FERRY_TRY(ferry_model_load(ctx, tmp_path(model), NULL, &m));
    FERRY_TRY(ferry_domain_new(ctx, "known", FERRY_TARGET, &known));
    FERRY_TRY(ferry_opts_new(ctx, &opts));
    FERRY_TRY(ferry_opts_set(ctx, opts, "format", "ratings"));
    FERRY_TRY(ferry_read(ctx, tmp_path(more), opts, &d));
    FERRY_TRY(ferry_domain_add_data(ctx, known, "ratings", d));
    FERRY_TRY(ferry_model_fold_in(ctx, m, known, &folded));
    FERRY_TRY(ferry_recommend(ctx, folded, 2, users, 2, 0, &p));
    st = ferry_prediction_write(ctx, p, csv);
    FERRY_TRY(lives_gone(ctx, st, csv));
done:
    ferry_prediction_free(p);
    ferry_domain_free(known);
    ferry_data_free(d);
    ferry_opts_free(opts);
    ferry_model_free(folded);
    ferry_model_free(m);
    return st;
}

static ferry_status do_answer(ferry_ctx *ctx, const char *file, const char *more)
{
    ferry_status st = FERRY_OK;
    ferry_task *task = NULL;
    ferry_model *model = NULL;

    (void)more;
    FERRY_TRY(ferry_task_load(ctx, tmp_path(file), NULL, &task));
    FERRY_TRY(ferry_fit_answer(ctx, task, 0, &model));
    FERRY_TRY(ferry_model_save(ctx, model, tmp_path("sweep.blend")));
    ferry_model_free(model);
    FERRY_TRY(ferry_model_load(ctx, tmp_path("sweep.blend"), NULL, &model));
done:
    ferry_model_free(model);
    ferry_task_free(task);
    return st;
}

static ferry_status do_select(ferry_ctx *ctx, const char *file, const char *more)
{
    ferry_status st = FERRY_OK;
    ferry_opts *own = NULL;
    ferry_task *task = NULL;
    ferry_selector *made = NULL, *back = NULL;
    ferry_selection *ways = NULL;
    char *text = NULL;
    const char *path = tmp_path("sweep.select");

    (void)more;
    (void)unlink(path);
    FERRY_TRY(ferry_opts_new(ctx, &own));
    FERRY_TRY(ferry_opts_set(ctx, own, "neighbours", "3"));
    FERRY_TRY(ferry_task_load(ctx, tmp_path(file), NULL, &task));
    FERRY_TRY(ferry_i_selector_train(ctx, task, own, &made));
    st = ferry_i_selector_save(ctx, made, path);
    FERRY_TRY(lives_gone(ctx, st, path));
    FERRY_TRY(ferry_i_selector_load(ctx, path, &back));
    FERRY_TRY(ferry_i_select(ctx, back, task, 2, &ways));
    FERRY_TRY(ferry_selection_table(ctx, ways, NULL, &text));
    ferry_string_free(text);
    FERRY_TRY(ferry_selection_table(ctx, ways, "json", &text));
done:
    ferry_string_free(text);
    ferry_selection_free(ways);
    ferry_i_selector_free(back);
    ferry_i_selector_free(made);
    ferry_task_free(task);
    ferry_opts_free(own);
    return st;
}

/* select by trial: every way is fitted and asked. */
static ferry_status do_trial(ferry_ctx *ctx, const char *file, const char *more)
{
    ferry_status st = FERRY_OK;
    ferry_task *task = NULL;
    ferry_selection *ways = NULL;
    char *text = NULL;

    (void)more;
    FERRY_TRY(ferry_task_load(ctx, tmp_path(file), NULL, &task));
    FERRY_TRY(ferry_i_select_trial(ctx, task, NULL, &ways));
    FERRY_TRY(ferry_selection_table(ctx, ways, NULL, &text));
    ferry_string_free(text);
    FERRY_TRY(ferry_selection_table(ctx, ways, "json", &text));
done:
    ferry_string_free(text);
    ferry_selection_free(ways);
    ferry_task_free(task);
    return st;
}

/* A model as bytes, for bindings. */
static ferry_status do_memory(ferry_ctx *ctx, const char *model, const char *more)
{
    ferry_status st = FERRY_OK;
    ferry_model *m = NULL, *back = NULL;
    char *bytes = NULL;
    int64_t n = 0;

    (void)more;
    FERRY_TRY(ferry_model_load(ctx, tmp_path(model), NULL, &m));
    FERRY_TRY(ferry_model_to_memory(ctx, m, &bytes, &n));
    FERRY_TRY(ferry_model_from_memory(ctx, bytes, n, NULL, &back));
done:
    ferry_string_free(bytes);
    ferry_model_free(back);
    ferry_model_free(m);
    return st;
}

/* Open, lines in, answers out, close; opened again, and looked over by --repair. */
static ferry_status do_stream(ferry_ctx *ctx, const char *model, const char *more)
{
    static const char lines[] = "{\"id\": \"a\", \"x\": [1, 2, 3, 4]}\n"
                                "{\"id\": \"a\", \"y\": \"a\"}\n"
                                "{\"id\": \"b\", \"x\": [4, 3, 2, 1], \"y\": \"new\"}\n";
    ferry_status st = FERRY_OK;
    ferry_stream *s = NULL;
    ferry_repaired done_so;
    const char *out = NULL, *dir = tmp_path("sweep.state"), *from = tmp_path(model);
    int64_t used = 0, n = 0;

    (void)more;
    ferry_i_remove_tree(dir);
    for (int64_t turn = 0; turn < 2; turn++) {
        FERRY_TRY(ferry_stream_open(ctx, from, dir, NULL, &s));
        for (int64_t at = 0; at < (int64_t)sizeof lines - 1; at += used) {
            FERRY_TRY(ferry_stream_feed(ctx, s, lines + at, (int64_t)sizeof lines - 1 - at,
                                        &used));
            FERRY_TRY(ferry_stream_commit(ctx, s, 1, &out, &n));
        }
        FERRY_TRY(ferry_stream_feed(ctx, s, NULL, 0, &(int64_t){0}));
        FERRY_TRY(ferry_stream_commit(ctx, s, 1, &out, &n));
        ferry_stream *ended = s;
        s = NULL;
        FERRY_TRY(ferry_stream_close(ctx, ended));
    }
    FERRY_TRY(ferry_stream_repair(ctx, from, dir, &done_so));
done:
    ferry_i_stream_free(s);
    return st;
}

/* What is there with the right sum is not asked for again, so no server is needed (tests/cli/test_fetch.py
 * has one). */
static ferry_status do_fetch(ferry_ctx *ctx, const char *file, const char *name)
{
    ferry_status st = FERRY_OK;
    ferry_catalog *c = NULL;

    FERRY_TRY(ferry_catalog_load(ctx, tmp_path(file), &c));
    FERRY_TRY(ferry_fetch(ctx, c, name, tmp_path("fetched"), NULL));
done:
    ferry_catalog_free(c);
    return st;
}

/* convert TASK: a domain's views as files. */
static ferry_status do_domain(ferry_ctx *ctx, const char *file, const char *more)
{
    ferry_status st = FERRY_OK;
    ferry_task *task = NULL;

    (void)more;
    FERRY_TRY(ferry_task_load(ctx, tmp_path(file), NULL, &task));
    FERRY_TRY(ferry_domain_write(ctx, ferry_task_domain_at(task, 0), NULL,
                                 tmp_path("domain.csv"), NULL));
done:
    ferry_task_free(task);
    return st;
}

static ferry_status do_advise(ferry_ctx *ctx, const char *file, const char *more)
{
    ferry_status st = FERRY_OK;
    ferry_task *task = NULL;
    ferry_advice *a = NULL;
    char *text = NULL;

    (void)more;
    FERRY_TRY(ferry_task_load(ctx, tmp_path(file), NULL, &task));
    FERRY_TRY(ferry_advise(ctx, task, &a));
    FERRY_TRY(ferry_i_advice_json(ctx, a, &text));
done:
    ferry_string_free(text);
    ferry_advice_free(a);
    ferry_task_free(task);
    return st;
}

static ferry_status do_doctor(ferry_ctx *ctx, const char *arg, const char *more)
{
    ferry_status st = FERRY_OK;
    ferry_installation *f = NULL;
    ferry_catalog *c = NULL;
    char *text = NULL;

    (void)arg, (void)more;
    FERRY_TRY(ferry_doctor(ctx, &f));
    FERRY_TRY(ferry_i_installation_json(ctx, f, &text));
    FERRY_TRY(ferry_catalog_load(ctx, NULL, &c));
done:
    ferry_string_free(text);
    ferry_installation_free(f);
    ferry_catalog_free(c);
    return st;
}

static ferry_status do_generate(ferry_ctx *ctx, const char *name, const char *more)
{
    (void)more;
    ferry_i_remove_tree(tmp_path("gen"));
    return ferry_generate(ctx, name, NULL, tmp_path("gen"));
}

/* ---- tests ---- */

/* A catalog of one archive that lies in its place. */
static void make_catalog(void)
{
    ferry_sha256 sum;
    uint8_t is[32];
    char text[256], *hex = text + sprintf(text, "set toy a toy\nterms none\nbase "
                                                "http://127.0.0.1:1/\nunpack ");
    FILE *f = fopen("tests/fuzz/seeds/input/two.tar.gz", "rb");
    char bytes[4096];

    assert_non_null(f);
    const size_t n = fread(bytes, 1, sizeof bytes, f);
    assert_true(fclose(f) == 0 && n > 0 && n < sizeof bytes);
    ferry_i_sha256_begin(&sum);
    ferry_i_sha256_add(&sum, bytes, (int64_t)n);
    ferry_i_sha256_end(&sum, is);
    for (int i = 0; i < 32; i++)
        hex += sprintf(hex, "%02x", is[i]);
    (void)sprintf(hex, " - two.tar.gz\n");
    (void)tmp_file("catalog.txt", text, -1);
    assert_true(mkdir(tmp_path("fetched"), 0777) == 0);
    assert_true(mkdir(tmp_path("fetched/toy"), 0777) == 0);
    (void)tmp_file("fetched/toy/two.tar.gz", bytes, (int64_t)n);
}

/* What a command does, by its name, in an order in which each finds what it reads. Those made of others
 * stand beside them; help, version and methods ask nothing of the library that takes memory. */
static const struct {
    const char *command;
    deed body;
    const char *arg, *more;
} deeds[] = {
    {"inspect", do_inspect, "s.csv", NULL},
    {"inspect", do_inspect, "e.tsv", NULL},
    {"convert", do_convert, "s.csv", "c.npz"},
    {"convert", do_convert, "s.csv", "c.mat"},
    {"convert", do_convert, "s.csv", "c.svm"},
    {"convert", do_convert, "s.csv", "c.arff"},
    {"convert", do_domain, "pair.yaml", NULL},
    {"inspect", do_inspect, "c.npz", NULL},
    {"inspect", do_inspect, "c.mat", NULL},
    {"inspect", do_inspect, "c.svm", NULL},
    {"inspect", do_inspect, "c.arff", NULL},
    {"run", do_run, "pair.yaml", "yes"},
    {"run", do_run, "pair.yaml", "no"},
    {"run", do_resume, "pair.yaml", NULL},
    {"run", do_results, "sweep.run", "text"},
    {"run", do_results, "sweep.run", "json"},
    {"run", do_results, "sweep.run", "summary"},
    {"rerun", do_results, "sweep.run", "rerun"},
    {"explain", do_results, "sweep.run", "explain"},
    {"table", do_results, "sweep.run", "csv"},
    {"table", do_results, "sweep.run", "markdown"},
    {"table", do_results, "sweep.run", "latex"},
    {"report", do_results, "sweep.run", "report"},
    {"fit", do_answer, "pair.yaml", NULL},
    {"fit", do_life, "rate.yaml", "mf"},
    {"predict", do_recommend, "life-sweep.ferry", "r1.tsv"},
    {"fit", do_life, "stream.yaml", "mpa"},
    {"fit", do_memory, "life-sweep.ferry", NULL},
    {"stream", do_stream, "life-sweep.ferry", NULL},
    {"advise", do_advise, "pair.yaml", NULL},
    {"select", do_select, "chain.yaml", NULL},
    {"select", do_trial, "bridge.yaml", NULL},
    {"fetch", do_fetch, "catalog.txt", "toy"},
    {"doctor", do_doctor, "", NULL},
    {"gen", do_generate, NULL, NULL}, /* all of them, below */
    {"demo", NULL, NULL, NULL},       /* gen and run */
    {"answer", NULL, NULL, NULL},     /* inspect, run, fit and predict */
    {"reproduce", NULL, NULL, NULL},  /* run, many times */
    {"serve", NULL, NULL, NULL},      /* predict and stream, by HTTP */
    {"methods", NULL, NULL, NULL},
    {"help", NULL, NULL, NULL},
    {"version", NULL, NULL, NULL},
};

/* The commands that the generated page has are those above. */
static void test_all_commands(void **state)
{
    char *page = slurp("docs/command.md"), name[32];
    int64_t n = 0;

    (void)state;
    assert_non_null(page);
    for (const char *at = page; (at = strstr(at, "\n## ferry ")); at++, n++) {
        bool known = false;
        assert_int_equal(sscanf(at, "\n## ferry %31[a-z]", name), 1);
        for (int64_t i = 0; i < FERRY_COUNT(deeds); i++)
            known = known || strcmp(deeds[i].command, name) == 0;
        if (!known) fail_msg("ferry %s is not swept", name);
    }
    assert_true(n >= 20);
    free(page);
}

static void test_commands(void **state)
{
    int64_t wrong = 0, tried = 0;
    const char *only = getenv("FERRY_SWEEP_COMMAND");

    (void)state;
    lives_make();
    make_catalog();
    for (int64_t i = 0; i < FERRY_COUNT(deeds); i++) {
        char why[256];
        if (!deeds[i].arg) continue;
        if (!only || strcmp(only, deeds[i].command) == 0)
            tried +=
                sweep(deeds[i].command, deeds[i].body, deeds[i].arg, deeds[i].more, &wrong);
        /* once more in full, for those that come after */
        if (once(deeds[i].body, deeds[i].arg, deeds[i].more, 0, why) != FERRY_OK)
            fail_msg("%s %s: %s", deeds[i].command, deeds[i].arg, why);
    }
    for (int64_t i = 0; ferry_generator_at(i) && (!only || !strcmp(only, "gen")); i++)
        tried += sweep("gen", do_generate, ferry_generator_at(i)->name, NULL, &wrong);
    print_message("%lld allocations made to fail\n", (long long)tried);
    assert_int_equal(wrong, 0);
}

/* The first task that a method can live on, or NULL. */
static const char *task_for(ferry_ctx *ctx, const char *method)
{
    for (int64_t i = 0; i < lives_n; i++)
        if (do_life(ctx, lives_tasks[i], method) == FERRY_OK) return lives_tasks[i];
    return NULL;
}

/* Every method of the registry: one that no task of lives.c fits has to get one. */
static void test_methods(void **state)
{
    ferry_ctx *ctx = *state;
    int64_t wrong = 0, tried = 0, methods = 0;
    const char *only = getenv("FERRY_SWEEP_METHOD");

    lives_make();
    assert_ok(ctx, ferry_i_ctx_set_threads(ctx, 1));
    for (int64_t m = 0; ferry_method_at(m); m++) {
        const char *method = ferry_method_at(m)->name;
        if (only && strcmp(only, method) != 0) continue;
        const char *task = task_for(ctx, method);
        if (!task) fail_msg("%s has no task to live on (%s)", method, ferry_message(ctx));
        tried += sweep(task, do_life, task, method, &wrong);
        methods++;
    }
    print_message("%lld methods, %lld allocations made to fail\n", (long long)methods,
                  (long long)tried);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_commands),
        cmocka_unit_test_setup_teardown(test_commands, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_methods, ctx_setup, ctx_teardown),
    };
    void *at[4];

    (void)backtrace(at, 4); /* loads its library before anything counts */
    ferry_i_wal_calls.sync = no_sync;
    fail_allocation(0); /* jansson gets the allocator of the first context */
    return cmocka_run_group_tests_name("sweep", tests, NULL, NULL);
}
