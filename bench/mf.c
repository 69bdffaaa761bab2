/* mf or mf-als on ratings in a file: seconds of the processor for the fit, and the error on others.
 *
 * usage: bench_mf TRAIN TEST THREADS METHOD [KEY=VALUE ...]
 * Files hold 16 bytes a rating: two 32-bit numbers and a double. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ferry/ferry.h"

typedef struct triple {
    int32_t user, item;
    double value;
} triple;

static double seconds_used(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void must(ferry_ctx *ctx, ferry_status st)
{
    if (st == FERRY_OK) return;
    fprintf(stderr, "%s\n", ferry_message(ctx));
    exit(1);
}

static triple *read_all(const char *path, int64_t *n)
{
    FILE *f = fopen(path, "rb");
    triple *t = NULL;

    if (!f || fseek(f, 0, SEEK_END) != 0) exit(1);
    *n = ftell(f) / (int64_t)sizeof *t;
    rewind(f);
    t = malloc((size_t)*n * sizeof *t);
    if (!t || fread(t, sizeof *t, (size_t)*n, f) != (size_t)*n) exit(1);
    (void)fclose(f);
    return t;
}

static ferry_domain *domain(ferry_ctx *ctx, int64_t n, const triple *t)
{
    char(*names)[2][12] = malloc((size_t)n * sizeof *names);
    const char **users = malloc((size_t)n * sizeof *users);
    const char **items = malloc((size_t)n * sizeof *items);
    double *values = malloc((size_t)n * sizeof *values);
    ferry_domain *d = NULL;

    if (!names || !users || !items || !values) exit(1);
    for (int64_t e = 0; e < n; e++) {
        (void)snprintf(names[e][0], sizeof names[e][0], "%d", t[e].user);
        (void)snprintf(names[e][1], sizeof names[e][1], "%d", t[e].item);
        users[e] = names[e][0];
        items[e] = names[e][1];
        values[e] = t[e].value;
    }
    must(ctx, ferry_domain_new(ctx, "target", FERRY_TARGET, &d));
    must(ctx, ferry_domain_set_ratings(ctx, d, n, users, items, values));
    free(names);
    free(users);
    free(items);
    free(values);
    return d;
}

int main(int argc, char **argv)
{
    ferry_ctx *ctx = NULL;
    ferry_task *task = NULL;
    ferry_opts *opts = NULL;
    ferry_model *m = NULL;
    ferry_prediction *p = NULL;
    ferry_fit_info rep = {.size = sizeof rep};
    int64_t n = 0, tests = 0;
    double sum = 0;

    if (argc < 5 || ferry_ctx_new(&ctx) != FERRY_OK) return 1;
    must(ctx, ferry_ctx_set(ctx, "threads", argv[3]));
    triple *train = read_all(argv[1], &n), *test = read_all(argv[2], &tests);
    must(ctx, ferry_task_new(ctx, "bench", FERRY_RATE, &task));
    must(ctx, ferry_task_add_domain(ctx, task, domain(ctx, n, train)));
    must(ctx, ferry_opts_new(ctx, &opts));
    for (int i = 5; i < argc; i++) {
        char *equals = strchr(argv[i], '=');
        if (!equals) return 1;
        *equals = 0;
        must(ctx, ferry_opts_set(ctx, opts, argv[i], equals + 1));
    }
    const double start = seconds_used();
    must(ctx, ferry_fit(ctx, task, argv[4], opts, &m, &rep));
    const double seconds = seconds_used() - start;
    ferry_domain *asked = domain(ctx, tests, test);
    must(ctx, ferry_predict(ctx, m, asked, &p));
    for (int64_t e = 0; e < tests; e++)
        sum += (p->value[e] - test[e].value) * (p->value[e] - test[e].value);
    printf("%.3f %.5f %lld\n", seconds, sqrt(sum / (double)tests), (long long)rep.iters);
    ferry_prediction_free(p);
    ferry_domain_free(asked);
    ferry_model_free(m);
    ferry_opts_free(opts);
    ferry_task_free(task);
    ferry_ctx_free(ctx);
    free(train);
    free(test);
    return 0;
}
