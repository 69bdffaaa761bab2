/* Memory that runs out, everywhere: what each command does and each method's whole life (task file, fit,
 * save, load, predict, write), with one allocation after the other failing, jansson's included. Each time the
 * answer must be FERRY_ENOMEM, no block may stay behind and no file may look complete.
 *
 * A life with up to MOST allocations has every one fail; a longer one the first of every call site (the
 * last frames of the stack tell them apart), which FERRY_SWEEP=all turns into every one as well. */
#include <execinfo.h>
#include <stdio.h>
#include <unistd.h>

#include "lives.h"

enum { MOST = 300, FRAMES = 9 };

/* ---- the allocator ---- */

static int64_t count, fail_at, live, n_sites, n_first;
static uint64_t sites[1 << 14];
static int64_t first[1 << 14]; /* the first allocation of each site */
static bool mapping;

static void note_site(void)
{
    void *at[FRAMES + 3];
    const int n = backtrace(at, FRAMES + 3);
    uint64_t h = 14695981039346656037u;

    for (int i = 2; i < n; i++)
        h = (h ^ (uint64_t)(uintptr_t)at[i]) * 1099511628211u;
    for (int64_t i = 0; i < n_sites; i++)
        if (sites[i] == h) return;
    if (n_sites == FERRY_COUNT(sites)) return;
    sites[n_sites++] = h;
    first[n_first++] = count;
}

static bool fails(void)
{
    count++;
    if (mapping) note_site();
    return count == fail_at;
}

static void *hook_calloc(size_t n, size_t size)
{
    if (fails()) return NULL;
    live++;
    return calloc(n, size);
}

static void *hook_realloc(void *p, size_t size)
{
    if (fails()) return NULL;
    live += !p;
    return realloc(p, size);
}

static void hook_free(void *p)
{
    live -= p != NULL;
    free(p);
}

/* ---- the sweep ---- */

typedef ferry_status (*deed)(ferry_ctx *ctx, const char *arg, const char *more);

static ferry_status once(deed body, const char *arg, const char *more, int64_t at,
                         char *why)
{
    ferry_ctx *ctx = NULL;
    ferry_status st = FERRY_OK;

    count = 0;
    fail_at = at;
    st = ferry_ctx_new(&ctx);
    if (st == FERRY_OK) st = ferry_ctx_set_threads(ctx, 1);
    if (st == FERRY_OK) st = body(ctx, arg, more);
    (void)snprintf(why, 256, "%s", ferry_message(ctx));
    ferry_ctx_free(ctx);
    fail_at = 0;
    return st;
}

/* Returns how many allocations were made to fail; *wrong counts those that ended badly. */
static int64_t sweep(const char *name, deed body, const char *arg, const char *more,
                     int64_t *wrong)
{
    const char *told = getenv("FERRY_SWEEP");
    char why[256];
    int64_t tried = 0;

    n_sites = n_first = 0;
    (void)once(body, arg, more, 0, why); /* what is made once and kept */
    mapping = true;
    const ferry_status st = once(body, arg, more, 0, why);
    mapping = false;
    if (st != FERRY_OK) {
        print_error("%s %s: %s\n", name, more ? more : "", why);
        ++*wrong;
        return 0;
    }
    const int64_t total = count;
    const bool all = total <= MOST || (told && strcmp(told, "all") == 0);
    for (int64_t k = 0; k < (all ? total : n_first); k++) {
        const int64_t at = all ? k + 1 : first[k], before = live;
        const ferry_status got = once(body, arg, more, at, why);
        tried++;
        if (got == FERRY_ENOMEM && live == before) continue;
        print_error("%s %s: allocation %lld of %lld failing: %s (%s), %lld blocks left\n",
                    name, more ? more : "", (long long)at, (long long)total,
                    ferry_status_name(got), why, (long long)(live - before));
        ++*wrong;
    }
    return tried;
}

/* ---- deeds ---- */

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
    FERRY_TRY(ferry_description_json(ctx, said, &text));
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

/* run, with guard and controls; then the folder, the report and the folder loaded again. */
static ferry_status do_run(ferry_ctx *ctx, const char *file, const char *set)
{
    ferry_status st = FERRY_OK;
    ferry_opts *sets = NULL;
    ferry_task *task = NULL, *again = NULL;
    ferry_results *rs = NULL, *back = NULL;
    char *text = NULL;
    const char *folder = tmp_path("sweep.run"), *folders[] = {folder};

    FERRY_TRY(ferry_opts_new(ctx, &sets));
    FERRY_TRY(ferry_opts_set(ctx, sets, "evaluate.guard", set));
    FERRY_TRY(ferry_opts_set(ctx, sets, "evaluate.controls",
                             strcmp(set, "yes") == 0 ? "none" : "quick"));
    FERRY_TRY(ferry_task_load(ctx, tmp_path(file), sets, &task));
    FERRY_TRY(ferry_evaluate(ctx, task, &rs));
    FERRY_TRY(ferry_results_table(ctx, rs, &text));
    FERRY_TRY(ferry_results_save(ctx, rs, folder));
    FERRY_TRY(ferry_results_load(ctx, folder, &back));
    FERRY_TRY(ferry_report_write(ctx, 1, folders, tmp_path("sweep.html")));
    FERRY_TRY(ferry_task_rerun(ctx, folder, &again));
done:
    ferry_string_free(text);
    ferry_results_free(back);
    ferry_results_free(rs);
    ferry_task_free(again);
    ferry_task_free(task);
    ferry_opts_free(sets);
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
    FERRY_TRY(ferry_advice_json(ctx, a, &text));
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
    FERRY_TRY(ferry_installation_json(ctx, f, &text));
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

static void test_commands(void **state)
{
    int64_t wrong = 0, tried = 0;
    char why[1024];

    (void)state;
    lives_make();
    tried += sweep("inspect", do_inspect, "s.csv", NULL, &wrong);
    tried += sweep("inspect", do_inspect, "e.tsv", NULL, &wrong);
    for (int i = 0; i < 4; i++) {
        static const char *const to[] = {"c.npz", "c.mat", "c.svm", "c.arff"};
        tried += sweep("convert", do_convert, "s.csv", to[i], &wrong);
        assert_int_equal(once(do_convert, "s.csv", to[i], 0, why), FERRY_OK);
        tried += sweep("inspect", do_inspect, to[i], NULL, &wrong);
    }
    tried += sweep("run", do_run, "pair.yaml", "no", &wrong);
    tried += sweep("run --guard", do_run, "pair.yaml", "yes", &wrong);
    tried += sweep("advise", do_advise, "pair.yaml", NULL, &wrong);
    tried += sweep("doctor", do_doctor, "", NULL, &wrong);
    for (int64_t i = 0; i < ferry_generator_count(); i++)
        tried += sweep("gen", do_generate, ferry_generator_at(i)->name, NULL, &wrong);
    print_message("%lld allocations made to fail\n", (long long)tried);
    assert_int_equal(wrong, 0);
}

static void test_methods(void **state)
{
    ferry_ctx *ctx = *state;
    int64_t wrong = 0, tried = 0, methods = 0;

    lives_make();
    for (int64_t m = 0; m < ferry_method_count(); m++) {
        const char *method = ferry_method_at(m)->name, *only = getenv("FERRY_SWEEP_METHOD");
        bool done = false;
        if (only && strcmp(only, method) != 0) continue;
        for (int i = 0; i < lives_n && !done; i++) {
            ferry_task *task = NULL;
            assert_ok(ctx, ferry_task_load(ctx, lives_path(lives_tasks[i]), NULL, &task));
            done = ferry_method_fits(ctx, method, task, NULL) == FERRY_OK;
            ferry_task_free(task);
            if (done && do_life(ctx, lives_tasks[i], method) != FERRY_OK) {
                done = false; /* such as features that must not be below 0 */
                continue;
            }
            if (done)
                tried += sweep(lives_tasks[i], do_life, lives_tasks[i], method, &wrong);
        }
        if (!done) print_message("%s: not swept (%s)\n", method, ferry_message(ctx));
        methods += done;
    }
    print_message("%lld methods, %lld allocations made to fail\n", (long long)methods,
                  (long long)tried);
    assert_int_equal(wrong, 0);
    if (!getenv("FERRY_SWEEP_METHOD")) assert_true(methods > ferry_method_count() * 3 / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_commands, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_methods, ctx_setup, ctx_teardown),
    };
    void *at[4];

    (void)backtrace(at, 4); /* loads its library before anything counts */
    ferry_set_allocator(hook_calloc, hook_realloc, hook_free);
    return cmocka_run_group_tests_name("sweep", tests, NULL, NULL);
}
