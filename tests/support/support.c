#include "ferry_test.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "methods/method.h"
#include "task/task.h"

void t_ok(ferry_ctx *ctx, ferry_status st, const char *what, const char *file, int line)
{
    if (st == FERRY_OK) return;
    print_error("%s: %s (%s)\n", what, ferry_status_name(st), ferry_message(ctx));
    _fail(file, line);
}

void t_fails(ferry_ctx *ctx, ferry_status st, ferry_status want, const char *text,
             const char *what, const char *file, int line)
{
    if (st == want && strstr(ferry_message(ctx), text)) return;
    print_error("%s: got \"%s\" (%s), wanted \"%s\" with \"%s\"\n", what,
                ferry_status_name(st), ferry_message(ctx), ferry_status_name(want), text);
    _fail(file, line);
}

void t_close(double a, double b, double tol, const char *what, const char *file, int line)
{
    if (fabs(a - b) <= tol * (1 + fabs(b)) || (isnan(a) && isnan(b)) || a == b) return;
    print_error("%s = %.17g is not within %g of %.17g\n", what, a, tol, b);
    _fail(file, line);
}

int ctx_setup(void **state)
{
    ferry_ctx *ctx = NULL;

    if (ferry_ctx_new(&ctx) != FERRY_OK) return -1;
    *state = ctx;
    return 0;
}

int ctx_teardown(void **state)
{
    ferry_ctx_free(*state);
    return 0;
}

ferry_opts *opts_of(ferry_ctx *ctx, ...)
{
    ferry_opts *opts = NULL;
    va_list args;

    assert_ok(ctx, ferry_opts_new(ctx, &opts));
    va_start(args, ctx);
    for (const char *s = va_arg(args, const char *); s; s = va_arg(args, const char *)) {
        char key[128] = "";
        const char *eq = strchr(s, '=');
        assert_non_null(eq);
        memcpy(key, s, (size_t)(eq - s));
        assert_ok(ctx, ferry_opts_set(ctx, opts, key, eq + 1));
    }
    va_end(args);
    return opts;
}

static char tmp[512];

static void remove_tree(const char *path)
{
    DIR *dir = opendir(path);

    if (!dir) {
        (void)unlink(path);
        return;
    }
    for (struct dirent *e = readdir(dir); e; e = readdir(dir)) {
        char child[4096];
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        snprintf(child, sizeof child, "%s/%s", path, e->d_name);
        remove_tree(child);
    }
    closedir(dir);
    (void)rmdir(path);
}

/* What cannot be removed, such as a file that is still being written, fails the test. */
static void remove_tmp(void)
{
    struct stat info;

    remove_tree(tmp);
    if (stat(tmp, &info) != 0) return;
    print_error("%s was left behind\n", tmp);
    _exit(1);
}

const char *tmp_dir(void)
{
    if (!tmp[0]) {
        const char *under = getenv("TMPDIR");
        snprintf(tmp, sizeof tmp, "%s/ferry-test-XXXXXX", under ? under : "/tmp");
        assert_non_null(mkdtemp(tmp));
        atexit(remove_tmp);
    }
    return tmp;
}

const char *tmp_path(const char *name)
{
    static char path[8][4096];
    static int next;

    next = (next + 1) % 8;
    snprintf(path[next], sizeof path[next], "%s/%s", tmp_dir(), name);
    return path[next];
}

const char *tmp_file(const char *name, const char *bytes, int64_t n)
{
    const char *path = tmp_path(name);
    FILE *f = fopen(path, "wb");
    const size_t size = n < 0 ? strlen(bytes) : (size_t)n;

    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    fclose(f);
    return path;
}

char *slurp(const char *path)
{
    FILE *f = fopen(path, "rb");
    struct stat info;
    char *text = NULL;

    if (!f) return NULL;
    if (fstat(fileno(f), &info) == 0) {
        text = calloc((size_t)info.st_size + 1, 1);
        if (fread(text, 1, (size_t)info.st_size, f) != (size_t)info.st_size) text[0] = 0;
    }
    fclose(f);
    return text;
}

ferry_answer cancel_at_once(void *user, const ferry_progress *p)
{
    (void)user;
    (void)p;
    return FERRY_CANCEL;
}

const char *data_dir(const char *file)
{
    const char *dir = getenv("FERRY_DATA");
    const int n = (int)strcspn(file, "#");
    char path[4096];

    /* where ferry fetch puts them, or beside the project: whichever has this one */
    (void)snprintf(path, sizeof path, "data/%.*s", n, file);
    if (!dir) dir = access(path, R_OK) == 0 ? "data" : "../shared/data";
    (void)snprintf(path, sizeof path, "%s/%.*s", dir, n, file);
    if (access(path, R_OK) == 0) return dir;
    print_message("skipped: no %s (set FERRY_DATA)\n", path);
    return NULL;
}

const char *golden_dir(void)
{
    static char path[4096];
    const char *dir = getenv("FERRY_DATA");

    (void)snprintf(path, sizeof path, "%s/../golden", dir ? dir : "../shared/data");
    if (access(path, R_OK) == 0) return path;
    print_message("skipped: no golden cases at %s\n", path);
    return NULL;
}

static int64_t count, fail_at, live;
static bool and_on;
static void (*watch)(int64_t n);

static bool fails(void)
{
    int64_t at;
#pragma omp atomic capture
    at = ++count;
    if (watch) watch(at);
    return fail_at > 0 && (and_on ? at >= fail_at : at == fail_at);
}

static void *hook_calloc(size_t n, size_t size)
{
    if (fails()) return NULL;
#pragma omp atomic
    live++;
    return calloc(n, size);
}

static void *hook_realloc(void *p, size_t size)
{
    if (fails()) return NULL;
    if (!p) {
#pragma omp atomic
        live++;
    }
    return realloc(p, size);
}

static void hook_free(void *p)
{
#pragma omp atomic
    live -= p != NULL;
    free(p);
}

void fail_allocation(int64_t n)
{
    ferry_set_allocator(hook_calloc, hook_realloc, hook_free);
    count = 0;
    fail_at = n;
    and_on = false;
}

void fail_allocations_from(int64_t n)
{
    fail_allocation(n);
    and_on = true;
}

void watch_allocations(void (*seen)(int64_t n))
{
    watch = seen;
}

int64_t allocations(void)
{
    return count;
}

int64_t live_blocks(void)
{
    return live;
}

void each_allocation_fails(ferry_ctx *ctx, ferry_status (*body)(ferry_ctx *, void *),
                           void *arg)
{
    for (int64_t n = 1;; n++) {
        fail_allocation(n);
        const int64_t before = live;
        const ferry_status st = body(ctx, arg);
        const bool reached = count >= n;
        fail_allocation(0);
        if (live != before) {
            print_error("allocation %lld failing leaves %lld blocks\n", (long long)n,
                        (long long)(live - before));
            fail();
        }
        if (!reached) {
            assert_int_equal(st, FERRY_OK);
            return;
        }
        if (st != FERRY_ENOMEM) {
            print_error("allocation %lld failing gives \"%s\" (%s)\n", (long long)n,
                        ferry_status_name(st), ferry_message(ctx));
            fail();
        }
    }
}

ferry_status method_fits(ferry_ctx *ctx, const char *name, const ferry_task *task,
                         const ferry_opts *opts)
{
    ferry_status st = FERRY_OK;
    const ferry_method *how = NULL;
    ferry_opts *less = NULL;

    FERRY_TRY(ferry_i_task_spelling(ctx, name, opts, &name, &less));
    FERRY_TRY(ferry_i_method_get(ctx, name, &how));
    FERRY_TRY(ferry_i_fits(ctx, task, how, less ? less : opts));
done:
    ferry_opts_free(less);
    return st;
}
