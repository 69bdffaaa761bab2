/* A stream: a model that goes on learning, in a folder that keeps what it learned.
 *
 * Started for the first time it fits a model on four flowers. Every time it asks about one
 * flower, learns its name, and says how many records the folder has. Kill it at any moment:
 * what it has acknowledged is there when it starts again.
 *
 *     cc stream.c $(pkg-config --cflags --libs ferry) && ./a.out FOLDER */
#include <ferry/ferry.h>
#include <stdio.h>
#include <string.h>

#define TRY(call)                                                                          \
    do {                                                                                   \
        if ((call) != FERRY_OK) goto done;                                                 \
    } while (0)

/* A model of petal length and width, unless there is one. */
static ferry_status make_model(ferry_ctx *ctx, const char *path)
{
    static const double petals[] = {1.4, 0.2, 1.3, 0.2, 4.7, 1.4, 4.5, 1.5};
    static const char *const names[] = {"setosa", "setosa", "versicolor", "versicolor"};
    const ferry_array x = {.rows = 4, .cols = 2, .ld = 2, .data = petals};
    ferry_domain *flowers = NULL;
    ferry_task *task = NULL;
    ferry_model *model = NULL;
    ferry_status st = ferry_model_load(ctx, path, "mpa", &model);

    if (st == FERRY_OK) goto done;
    TRY(st = ferry_domain_new(ctx, "flowers", FERRY_TARGET, &flowers));
    TRY(st = ferry_domain_add_dense(ctx, flowers, "petal", &x, NULL, NULL, NULL));
    TRY(st = ferry_domain_set_classes(ctx, flowers, 4, NULL, names));
    TRY(st = ferry_task_new(ctx, "flowers", FERRY_CLASSIFY, &task));
    TRY(st = ferry_task_add_domain(ctx, task, flowers));
    TRY(st = ferry_fit(ctx, task, "mpa", NULL, &model, NULL));
    TRY(st = ferry_model_save(ctx, model, path));
done:
    if (!task) ferry_domain_free(flowers);
    ferry_task_free(task);
    ferry_model_free(model);
    return st;
}

/* One line in, its answer out. */
static ferry_status ask(ferry_ctx *ctx, ferry_stream *stream, const char *line)
{
    const char *answers = "";
    int64_t used = 0, n = 0;
    ferry_status st = ferry_stream_feed(ctx, stream, line, (int64_t)strlen(line), &used);

    if (st == FERRY_OK) st = ferry_stream_commit(ctx, stream, 1, &answers, &n);
    printf("%.*s", (int)n, answers);
    return st;
}

int main(int argc, char **argv)
{
    const char *folder = argc > 1 ? argv[1] : "flowers";
    char path[4096];
    ferry_ctx *ctx = NULL;
    ferry_stream *stream = NULL;
    int failed = 1;

    if (ferry_ctx_new(&ctx) != FERRY_OK) return 1;
    (void)snprintf(path, sizeof path, "%s.ferry", folder);
    TRY(make_model(ctx, path));
    TRY(ferry_stream_open(ctx, path, folder, NULL, &stream));
    TRY(ask(ctx, stream, "{\"id\": \"new\", \"x\": [4.9, 1.5]}\n"));
    TRY(ask(ctx, stream, "{\"id\": \"new\", \"y\": \"virginica\"}\n"));
    printf("%lld records in the folder\n", (long long)ferry_stream_seq(stream));
    failed = 0;
done:
    if (failed) fprintf(stderr, "%s\n", ferry_message(ctx));
    /* A snapshot: the next start is quicker. Without it nothing would be lost. */
    if (stream && ferry_stream_close(ctx, stream) != FERRY_OK) failed = 1;
    ferry_ctx_free(ctx);
    return failed;
}
