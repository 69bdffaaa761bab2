/* A user's program, built against the installed library: learns from six points and
 * predicts two. */
#include <ferry/ferry.h>
#include <stdio.h>
#include <string.h>

#define CHECK(call)                                                                        \
    do {                                                                                   \
        if ((call) != FERRY_OK) {                                                          \
            fprintf(stderr, "%s\n", ferry_message(ctx));                                   \
            return 1;                                                                      \
        }                                                                                  \
    } while (0)

int main(void)
{
    const double x[] = {0, 0, 0, 1, 1, 0, 5, 5, 5, 6, 6, 5, 0.5, 0.5, 5.5, 5.5};
    const char *const y[] = {"low", "low", "low", "high", "high", "high", NULL, NULL};
    const ferry_array a = {.rows = 8, .cols = 2, .ld = 2, .data = x};
    ferry_ctx *ctx = NULL;
    ferry_domain *target = NULL;
    ferry_task *task = NULL;
    ferry_model *model = NULL;
    ferry_prediction *p = NULL;

    if (ferry_ctx_new(&ctx) != FERRY_OK) return 1;
    CHECK(ferry_domain_new(ctx, "points", FERRY_TARGET, &target));
    CHECK(ferry_domain_add_dense(ctx, target, "x", &a, NULL, NULL, NULL));
    CHECK(ferry_domain_set_classes(ctx, target, 8, NULL, y));
    CHECK(ferry_task_new(ctx, "installed", FERRY_CLASSIFY, &task));
    CHECK(ferry_task_add_domain(ctx, task, target));
    CHECK(ferry_fit(ctx, task, "svm", NULL, &model, NULL));
    CHECK(ferry_predict(ctx, model, target, &p));
    printf("ferry %s: %s %s\n", ferry_version(), p->names[p->cls[6]], p->names[p->cls[7]]);
    const int right =
        strcmp(p->names[p->cls[6]], "low") == 0 && strcmp(p->names[p->cls[7]], "high") == 0;
    ferry_prediction_free(p);
    ferry_model_free(model);
    ferry_task_free(task);
    ferry_ctx_free(ctx);
    return right ? 0 : 1;
}
