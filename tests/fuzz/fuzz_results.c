/* Fuzz the folder of a run: the bytes stand as results.json and as run.json, and the report is made of both. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "ferry/evaluate.h"
#include "ferry/results.h"
#include "fuzz.h"

static char dir[] = "/tmp/ferry-fuzz-XXXXXX";

static const char *path_of(const char *name)
{
    static char path[64];

    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static void put(const char *name, const void *bytes, size_t n)
{
    FILE *f = fopen(path_of(name), "wb");

    if (!f || fwrite(bytes, 1, n, f) != n || fclose(f) != 0) abort();
}

static void clean(void)
{
    (void)unlink(path_of("results.json"));
    (void)unlink(path_of("run.json"));
    (void)unlink(path_of("report.html"));
    (void)rmdir(dir);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static int ready;
    ferry_ctx *ctx = fuzz_ctx();
    ferry_results *rs = NULL;
    ferry_task *task = NULL;
    char *text = NULL;
    const char *folders[] = {dir};

    if (!ready++) {
        if (!mkdtemp(dir)) abort();
        (void)atexit(clean);
    }
    put("results.json", bytes, n);
    put("run.json", bytes, n);
    fuzz_check(ctx, ferry_results_load(ctx, dir, &rs));
    if (rs) {
        fuzz_check(ctx, ferry_results_table(ctx, rs, &text));
        ferry_string_free(text);
        fuzz_check(ctx, ferry_results_json(ctx, rs, &text));
        ferry_string_free(text);
        for (int64_t i = 0; i < ferry_results_count(rs); i++)
            (void)ferry_result_metric_at(ferry_results_at(rs, i), 0);
        fuzz_check(ctx, ferry_report_write(ctx, 1, folders, path_of("report.html")));
    }
    ferry_results_free(rs);
    fuzz_check(ctx, ferry_task_rerun(ctx, dir, &task));
    ferry_task_free(task);
    return 0;
}
