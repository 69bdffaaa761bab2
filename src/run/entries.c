/* The methods of a task that names none, and what they learn from. */
#include <string.h>

#include "methods/method.h"
#include "run/run.h"

static bool has_option(const ferry_method *m, const char *name)
{
    for (int64_t i = 0; i < m->n_options; i++)
        if (strcmp(m->options[i].name, name) == 0) return true;
    return false;
}

bool ferry_i_shows_labels(const ferry_task *split)
{
    for (int64_t i = 0; i < split->n_domains; i++)
        if (split->domains[i]->role == FERRY_TARGET &&
            ferry_domain_labels(split->domains[i]) > 0)
            return true;
    return false;
}

ferry_uses ferry_i_uses(const ferry_method *m, ferry_kind kind, const ferry_opts *opts,
                        bool labels)
{
    const char *train =
        has_option(m, "train") && opts ? ferry_opts_get(opts, "train") : NULL;

    if (kind == FERRY_KIND_CONTROL) return FERRY_USES_CONTROL;
    if (kind == FERRY_KIND_TRANSFER) return FERRY_USES_TRANSFER;
    if (train && strcmp(train, "both") == 0) return FERRY_USES_POOLED;
    if (train && strcmp(train, "source") == 0) return FERRY_USES_SOURCE_ONLY;
    if (!labels && has_option(m, "train") && (!train || strcmp(train, "auto") == 0))
        return FERRY_USES_SOURCE_ONLY;
    return FERRY_USES_TARGET_ONLY;
}

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
    d->name = ferry_i_sprintf("%s%s", m->name,
                              !train                       ? ""
                              : strcmp(train, "both") == 0 ? "+source"
                                                           : "-source");
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
    static const char *const train[] = {"source", "both"};
    ferry_status st = FERRY_OK;
    ferry_default probe = {0};
    int64_t one = 0;

    if (!m->pools) goto done;
    /* with both: some label of the target shows, and some feature is shared */
    FERRY_TRY(add(ctx, &probe, &one, m, "both"));
    st = ferry_i_fits(ctx, split, m, probe.opts);
    for (int64_t i = 0; st == FERRY_OK && i < FERRY_COUNT(train); i++)
        st = add(ctx, list, n, m, train[i]);
    if (ferry_i_skips(st)) st = FERRY_OK;
done:
    ferry_i_free(probe.name);
    ferry_opts_free(probe.opts);
    return st;
}

ferry_status ferry_i_defaults(ferry_ctx *ctx, const ferry_task *split, ferry_default **out,
                              int64_t *n)
{
    ferry_status st = FERRY_OK;
    const bool labels = ferry_i_shows_labels(split);

    *n = 0;
    FERRY_NEW(ctx, *out, 3 * ferry_i_method_count());
    for (int64_t i = 0; i < ferry_i_method_count(); i++) {
        const ferry_method *m = ferry_i_method_at(i);
        if (!(m->goals & (unsigned)split->goal) || m->asked) continue;
        /* without a label of the target a learner has nothing but the source, and its name says so */
        FERRY_TRY(
            add(ctx, *out, n, m, !labels && has_option(m, "train") ? "source" : NULL));
        FERRY_TRY(add_pooled(ctx, split, *out, n, m));
    }
done:
    return st;
}
