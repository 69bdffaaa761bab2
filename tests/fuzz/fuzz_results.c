/* Fuzz the folder of a run: the bytes stand as results.json and as run.json, and the report is made of both. */
#include <stdio.h>
#include <sys/stat.h>

#include "ferry/evaluate.h"
#include "ferry/results.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    char dir[512], page[512];
    ferry_ctx *ctx = fuzz_ctx();
    ferry_results *rs = NULL;
    ferry_task *task = NULL;
    char *text = NULL;
    const char *folders[] = {dir};

    (void)snprintf(dir, sizeof dir, "%s", fuzz_path("run"));
    (void)snprintf(page, sizeof page, "%s", fuzz_path("report.html"));
    (void)mkdir(dir, 0777);
    fuzz_put("run/results.json", bytes, n);
    fuzz_put("run/run.json", bytes, n);
    fuzz_check(ctx, ferry_results_load(ctx, dir, &rs));
    if (rs) {
        fuzz_check(ctx, ferry_results_table(ctx, rs, NULL, &text));
        ferry_string_free(text);
        fuzz_check(ctx, ferry_results_table(ctx, rs, "json", &text));
        ferry_string_free(text);
        for (int64_t i = 0; ferry_results_at(rs, i); i++)
            (void)ferry_result_metric_at(ferry_results_at(rs, i), 0);
        fuzz_check(ctx, ferry_report_write(ctx, 1, folders, page));
    }
    ferry_results_free(rs);
    fuzz_check(ctx, ferry_task_rerun(ctx, dir, &task));
    ferry_task_free(task);
    return 0;
}
