#include "small_task.h"

#include <stdio.h>

void small_view(ferry_ctx *ctx, ferry_domain *d, const char *name, int64_t n, int64_t cols,
                const double *x, const char *const *ids, const char *const *features,
                bool sparse)
{
    const ferry_array a = {n, cols, cols, x};
    int64_t *start = calloc((size_t)n + 1, sizeof *start), nnz = 0;
    int32_t *index = calloc((size_t)(n * cols) + 1, sizeof *index);
    double *value = calloc((size_t)(n * cols) + 1, sizeof *value);

    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < cols; j++) {
            if (x[i * cols + j] == 0) continue;
            index[nnz] = (int32_t)j;
            value[nnz++] = x[i * cols + j];
        }
        start[i + 1] = nnz;
    }
    if (sparse) {
        const ferry_sparse s = {n, cols, start, index, value, NULL};
        assert_ok(ctx, ferry_domain_add_sparse(ctx, d, name, &s, ids, features, NULL));
    } else {
        assert_ok(ctx, ferry_domain_add_dense(ctx, d, name, &a, ids, features, NULL));
    }
    free(value);
    free(index);
    free(start);
}

ferry_domain *small_domain(ferry_ctx *ctx, const char *name, ferry_role role, int64_t n,
                           int64_t cols, const double *x)
{
    ferry_domain *d = NULL;

    assert_ok(ctx, ferry_domain_new(ctx, name, role, &d));
    if (x) small_view(ctx, d, "x", n, cols, x, NULL, NULL, false);
    return d;
}

void small_classes(ferry_ctx *ctx, ferry_domain *d, const char *letters)
{
    static char names[256][2];
    const char *labels[256] = {0};
    const int64_t n = (int64_t)strlen(letters);

    assert_true(n <= 256);
    for (int64_t i = 0; i < n; i++) {
        const unsigned char c = (unsigned char)letters[i];
        names[c][0] = letters[i];
        labels[i] = c == '?' ? NULL : names[c];
    }
    assert_ok(ctx, ferry_domain_set_classes(ctx, d, n, NULL, labels));
}

void small_ratings(ferry_ctx *ctx, ferry_domain *d, int64_t n, const int *user,
                   const int *item, const double *value)
{
    char(*names)[2][16] = calloc((size_t)n + 1, sizeof *names);
    const char **users = calloc((size_t)n + 1, sizeof *users);
    const char **items = calloc((size_t)n + 1, sizeof *items);

    for (int64_t e = 0; e < n; e++) {
        (void)snprintf(names[e][0], sizeof names[e][0], "u%d", user[e]);
        (void)snprintf(names[e][1], sizeof names[e][1], "i%d", item[e]);
        users[e] = names[e][0];
        items[e] = names[e][1];
    }
    assert_ok(ctx, ferry_domain_set_ratings(ctx, d, n, users, items, value));
    free(items);
    free(users);
    free(names);
}

ferry_task *small_task(ferry_ctx *ctx, ferry_goal goal, ferry_domain *source,
                       ferry_domain *target)
{
    ferry_task *task = NULL;

    assert_ok(ctx, ferry_task_new(ctx, "small", goal, &task));
    if (source) assert_ok(ctx, ferry_task_add_domain(ctx, task, source));
    assert_ok(ctx, ferry_task_add_domain(ctx, task, target));
    return task;
}

ferry_opts *settings_of(ferry_ctx *ctx, const char *settings)
{
    ferry_opts *opts = NULL;
    char key[64], value[64];
    int used = 0;

    assert_ok(ctx, ferry_opts_new(ctx, &opts));
    for (const char *s = settings;
         s && sscanf(s, " %63[^=]=%63s%n", key, value, &used) == 2; s += used)
        assert_ok(ctx, ferry_opts_set(ctx, opts, key, value));
    return opts;
}

ferry_model *fit_model(ferry_ctx *ctx, const ferry_task *task, const char *method,
                       const char *settings)
{
    ferry_opts *opts = settings_of(ctx, settings);
    ferry_model *m = NULL;

    assert_ok(ctx, ferry_fit(ctx, task, method, opts, &m, NULL));
    ferry_opts_free(opts);
    return m;
}

ferry_prediction *fit_predict(ferry_ctx *ctx, const ferry_task *task, const char *method,
                              const char *settings, const ferry_domain *d)
{
    ferry_model *m = fit_model(ctx, task, method, settings);
    ferry_prediction *p = NULL;

    assert_ok(ctx, ferry_predict(ctx, m, d, &p));
    ferry_model_free(m);
    return p;
}
