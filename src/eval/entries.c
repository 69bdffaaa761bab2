/* The methods of a task that names none. */
#include <string.h>

#include "eval/eval.h"
#include "methods/method.h"

void ferry_i_defaults_free(ferry_default *list, int64_t n)
{
    for (int64_t i = 0; list && i < n; i++) {
        ferry_i_free(list[i].name);
        ferry_opts_free(list[i].opts);
    }
    ferry_i_free(list);
}

/* One more; train NULL: with its defaults. */
static ferry_status add(ferry_ctx *ctx, ferry_default *list, int64_t *n,
                        const ferry_method *m, const char *train)
{
    ferry_status st = FERRY_OK;
    ferry_default *d = &list[(*n)++];

    d->method = m;
    d->name =
        train ? ferry_i_sprintf("%s train=%s", m->name, train) : ferry_i_strdup(m->name);
    FERRY_HAVE(ctx, d->name);
    if (!train) goto done;
    FERRY_TRY(ferry_opts_new(ctx, &d->opts));
    FERRY_TRY(ferry_opts_set(ctx, d->opts, "train", train));
done:
    return st;
}

/* A source with columns of the target can simply be pooled with it: whatever claims to
 * transfer has to beat that. Where the target shows no label, train=auto does so already. */
static ferry_status add_pooled(ferry_ctx *ctx, const ferry_task *split, ferry_default *list,
                               int64_t *n, const ferry_method *m)
{
    static const char *const pooled[] = {"svm", "logreg", "ridge", "gbdt"};
    static const char *const train[] = {"source", "both"};
    ferry_status st = FERRY_OK;
    bool one_of = false;
    ferry_default probe = {0};
    int64_t one = 0;

    for (int64_t i = 0; i < FERRY_COUNT(pooled); i++)
        one_of = one_of || strcmp(m->name, pooled[i]) == 0;
    if (!one_of) goto done;
    /* with both: some label of the target shows, and some feature is shared */
    FERRY_TRY(add(ctx, &probe, &one, m, "both"));
    st = ferry_i_fits(ctx, split, m, probe.opts);
    for (int64_t i = 0; st == FERRY_OK && i < FERRY_COUNT(train); i++)
        st = add(ctx, list, n, m, train[i]);
    if (st == FERRY_ENEEDS) st = FERRY_OK;
done:
    ferry_i_free(probe.name);
    ferry_opts_free(probe.opts);
    return st;
}

ferry_status ferry_i_defaults(ferry_ctx *ctx, const ferry_task *split, ferry_default **out,
                              int64_t *n)
{
    ferry_status st = FERRY_OK;

    *n = 0;
    FERRY_NEW(ctx, *out, 3 * ferry_i_method_count());
    for (int64_t i = 0; i < ferry_i_method_count(); i++) {
        const ferry_method *m = ferry_i_method_at(i);
        if (!(m->goals & (unsigned)split->goal) || m->asked) continue;
        FERRY_TRY(add(ctx, *out, n, m, NULL));
        FERRY_TRY(add_pooled(ctx, split, *out, n, m));
    }
done:
    return st;
}
