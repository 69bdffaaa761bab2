/* Reading speed. Usage:
 *   readers gen-svm FILE MEGABYTES | readers gen-csv FILE MEGABYTES
 *   readers read FILE THREADS REPEATS     best time in seconds
 *   readers show FILE [key=value ...]     what ferry inspect prints
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ferry/ferry.h"

static uint64_t state = 1;

static uint64_t draw(void) /* xorshift64*, only for made-up numbers */
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * 2685821657736338717u;
}

static double unit(void)
{
    return (double)(draw() >> 11) * 0x1p-53;
}

/* About 100 of 50000 features a line, values of six digits. */
static void svm_line(FILE *f)
{
    int64_t index = 0;

    fprintf(f, "%d", draw() & 1 ? 1 : -1);
    for (int k = 0; k < 100; k++) {
        index += 1 + (int64_t)(draw() % 999);
        fprintf(f, " %lld:%.6g", (long long)index, unit());
    }
    fprintf(f, "\n");
}

/* 50 columns: most with 15 digits as programs write them, some whole. */
static void csv_line(FILE *f)
{
    for (int k = 0; k < 50; k++) {
        if (k % 5 == 0)
            fprintf(f, "%s%d", k ? "," : "", (int)(draw() % 1000));
        else
            fprintf(f, ",%.15g", 20 * unit() - 10);
    }
    fprintf(f, "\n");
}

static int generate(const char *path, double megabytes, int svm)
{
    FILE *f = fopen(path, "w");

    if (!f) {
        perror(path);
        return 1;
    }
    while ((double)ftell(f) < megabytes * 1e6)
        svm ? svm_line(f) : csv_line(f);
    return fclose(f) != 0;
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int complain(ferry_ctx *ctx)
{
    fprintf(stderr, "readers: %s\n", ferry_message(ctx));
    ferry_ctx_free(ctx);
    return 1;
}

static int time_read(const char *path, const char *threads, int repeats)
{
    ferry_ctx *ctx = NULL;
    ferry_data *d = NULL;
    double best = 1e30;

    if (ferry_ctx_new(&ctx) != FERRY_OK) return 1;
    if (ferry_ctx_set(ctx, "threads", threads) != FERRY_OK) return complain(ctx);
    for (int r = 0; r < repeats; r++) {
        const double from = now();
        if (ferry_read(ctx, path, NULL, &d) != FERRY_OK) return complain(ctx);
        if (now() - from < best) best = now() - from;
        ferry_data_free(d);
    }
    printf("%.3f\n", best);
    ferry_ctx_free(ctx);
    return 0;
}

static void print_log(void *user, ferry_level level, const char *line)
{
    (void)user, (void)level;
    fprintf(stderr, "%s\n", line);
}

static int show(const char *path, int n, char **settings)
{
    ferry_ctx *ctx = NULL;
    ferry_opts *opts = NULL;
    ferry_data *d = NULL;
    ferry_description *said = NULL;
    char *text = NULL;

    if (ferry_ctx_new(&ctx) != FERRY_OK) return 1;
    ferry_ctx_set_log(ctx, print_log, FERRY_INFO, NULL);
    if (ferry_opts_new(ctx, &opts) != FERRY_OK) return complain(ctx);
    for (int i = 0; i < n; i++) {
        char *eq = strchr(settings[i], '=');
        if (!eq) continue;
        *eq = 0;
        if (ferry_opts_set(ctx, opts, settings[i], eq + 1) != FERRY_OK)
            return complain(ctx);
    }
    if (ferry_read(ctx, path, opts, &d) != FERRY_OK) return complain(ctx);
    if (ferry_data_describe(ctx, d, &said) != FERRY_OK) return complain(ctx);
    puts(said->json);
    ferry_description_free(said);
    ferry_data_free(d);
    ferry_opts_free(opts);
    ferry_ctx_free(ctx);
    return 0;
}

int main(int n, char **arg)
{
    if (n == 4 && strcmp(arg[1], "gen-svm") == 0) return generate(arg[2], atof(arg[3]), 1);
    if (n == 4 && strcmp(arg[1], "gen-csv") == 0) return generate(arg[2], atof(arg[3]), 0);
    if (n == 5 && strcmp(arg[1], "read") == 0)
        return time_read(arg[2], arg[3], atoi(arg[4]));
    if (n >= 3 && strcmp(arg[1], "show") == 0) return show(arg[2], n - 3, arg + 3);
    fprintf(stderr, "usage: readers gen-svm|gen-csv FILE MB | read FILE THREADS REPEATS | "
                    "show FILE [key=value]\n");
    return 2;
}
