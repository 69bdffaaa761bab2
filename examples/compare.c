/* Compare methods: which one is best on this task, and how sure is that?
 *
 * An old and a new thermometer. The old one (source) has many labelled readings, the new
 * one (target) reads higher and only a few of its readings may be seen. ferry_evaluate()
 * hides the others, lets every method learn, scores it on what was hidden, and repeats
 * that. */
#include <ferry/ferry.h>
#include <math.h>
#include <stdio.h>

enum { N = 80 };

#define TRY(call)                                                                          \
    do {                                                                                   \
        if ((call) != FERRY_OK) goto done;                                                 \
    } while (0)

/* Readings of two days in turn; "warm" ones are above 20 degrees, and the instrument adds
 * its offset. Gives the domain to the task. */
static ferry_status add_readings(ferry_ctx *ctx, ferry_task *task, const char *name,
                                 ferry_role role, double offset, const char *labelled)
{
    double readings[N * 2];
    const char *labels[N];
    const ferry_array x = {.rows = N, .cols = 2, .ld = 2, .data = readings};
    ferry_domain *domain = NULL;
    ferry_status st;

    for (int i = 0; i < N; i++) {
        const double truth = 20 + 5 * sin(i * 1.7) + (i % 2 ? 0.3 : -0.3);
        readings[2 * i] = truth + offset + sin(i * 3.1);
        readings[2 * i + 1] = truth + offset + cos(i * 5.3);
        labels[i] = truth > 20 ? "warm" : "cold";
    }
    st = ferry_domain_new(ctx, name, role, &domain);
    if (st == FERRY_OK) st = ferry_domain_add_dense(ctx, domain, "x", &x, NULL, NULL, NULL);
    if (st == FERRY_OK) st = ferry_domain_set_classes(ctx, domain, N, NULL, labels);
    if (st == FERRY_OK) st = ferry_domain_set_labelled(ctx, domain, labelled);
    if (st == FERRY_OK) return ferry_task_add_domain(ctx, task, domain);
    ferry_domain_free(domain);
    return st;
}

int main(void)
{
    ferry_ctx *ctx = NULL;
    ferry_task *task = NULL;
    ferry_opts *opts = NULL;
    ferry_results *results = NULL;
    char *table = NULL;
    int failed = 1;

    if (ferry_ctx_new(&ctx) != FERRY_OK) return 1;
    TRY(ferry_task_new(ctx, "thermometers", FERRY_CLASSIFY, &task));
    TRY(add_readings(ctx, task, "old", FERRY_SOURCE, 0, "none"));
    TRY(add_readings(ctx, task, "new", FERRY_TARGET, 3, "6"));

    /* The same method with different settings, and what both have to beat. */
    TRY(ferry_opts_new(ctx, &opts));
    TRY(ferry_opts_set(ctx, opts, "train", "source"));
    TRY(ferry_task_add_method(ctx, task, "svm", NULL, opts));
    TRY(ferry_opts_set(ctx, opts, "train", "target"));
    TRY(ferry_task_add_method(ctx, task, "svm", NULL, opts));
    TRY(ferry_task_add_method(ctx, task, "majority", NULL, NULL));

    TRY(ferry_evaluate(ctx, task, NULL, &results));
    TRY(ferry_results_table(ctx, results, NULL, &table));
    fputs(table, stdout);

    /* Or number by number: here the share that each method got right in the first repeat. */
    for (int64_t i = 0; ferry_results_at(results, i); i++) {
        const ferry_result *r = ferry_results_at(results, i);
        if (!r->reason) printf("%s: %.3f\n", r->name, r->runs[0]);
    }
    failed = 0;
done:
    if (failed) fprintf(stderr, "%s\n", ferry_message(ctx));
    ferry_string_free(table);
    ferry_results_free(results);
    ferry_opts_free(opts);
    ferry_task_free(task);
    ferry_ctx_free(ctx);
    return failed;
}
