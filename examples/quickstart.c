/* Quick start: build a task in memory, fit a method, predict.
 *
 * Six flowers measured by hand have a name, two new ones have none. Everything here is the
 * public API:
 *
 *     cc quickstart.c $(pkg-config --cflags --libs ferry) && ./a.out */
#include <ferry/ferry.h>
#include <stdio.h>

/* Every call returns FERRY_OK or leaves a sentence in the context. */
#define TRY(call)                                                                          \
    do {                                                                                   \
        if ((call) != FERRY_OK) goto done;                                                 \
    } while (0)

int main(void)
{
    /* One instance after the other: petal length and width in cm. */
    static const double petals[] = {1.4, 0.2, 1.3, 0.2, 1.5, 0.3, 4.7, 1.4,
                                    4.5, 1.5, 4.9, 1.5, 1.6, 0.2, 4.4, 1.3};
    static const char *const ids[] = {"s1", "s2", "s3", "v1", "v2", "v3", "new1", "new2"};
    static const char *const names[] = {"setosa",     "setosa",     "setosa", "versicolor",
                                        "versicolor", "versicolor", NULL,     NULL};
    const ferry_array x = {.rows = 8, .cols = 2, .ld = 2, .data = petals};
    ferry_ctx *ctx = NULL;
    ferry_domain *flowers = NULL;
    ferry_task *task = NULL;
    ferry_model *model = NULL;
    ferry_prediction *p = NULL;
    int failed = 1;

    if (ferry_ctx_new(&ctx) != FERRY_OK) return 1;

    /* The target: a view, and labels where they are known (NULL: not known). */
    TRY(ferry_domain_new(ctx, "flowers", FERRY_TARGET, &flowers));
    TRY(ferry_domain_add_dense(ctx, flowers, "petal", &x, ids, NULL, NULL));
    TRY(ferry_domain_set_classes(ctx, flowers, 8, ids, names));
    TRY(ferry_task_new(ctx, "quickstart", FERRY_CLASSIFY, &task));
    TRY(ferry_task_add_domain(ctx, task, flowers)); /* the task frees it from now on */

    /* Learn from all the labels there are, then name every flower. */
    TRY(ferry_fit(ctx, task, "svm", NULL, &model, NULL));
    TRY(ferry_predict(ctx, model, flowers, &p));
    for (int64_t i = 0; i < p->n; i++)
        if (!names[i]) printf("%s: %s\n", p->ids[i], p->names[p->cls[i]]);
    failed = 0;
done:
    if (failed) fprintf(stderr, "%s\n", ferry_message(ctx));
    if (!task) ferry_domain_free(flowers);
    ferry_prediction_free(p);
    ferry_model_free(model);
    ferry_task_free(task);
    ferry_ctx_free(ctx);
    return failed;
}
