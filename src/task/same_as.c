/* same_as: DOMAIN.VIEW | none of a view, in a task file or by call: what the user says a view is, which
 * no rule overrules (src/prepare/links.h). */
#include <string.h>

#include "data/parts.h"
#include "task/file.h"

/* Whether text is "DOMAIN.VIEW" of this view. Both names may have dots of their own. */
static bool is_called(const char *text, const ferry_domain *d, const ferry_view *v)
{
    const size_t n = strlen(d->name);

    return strncmp(text, d->name, n) == 0 && text[n] == '.' &&
           strcmp(text + n + 1, v->name) == 0;
}

/* The domain of the view that text names, or NULL. */
static const ferry_domain *owner(const ferry_task *task, const char *text)
{
    for (int64_t i = 0; i < task->n_domains; i++)
        for (int64_t v = 0; v < task->domains[i]->n_views; v++)
            if (is_called(text, task->domains[i], task->domains[i]->views[v]))
                return task->domains[i];
    return NULL;
}

/* "a.x, a.y, b.x": the views of the domains but d. */
static void list_others(const ferry_task *task, const ferry_domain *d, ferry_text *t)
{
    for (int64_t i = 0; i < task->n_domains; i++)
        for (int64_t v = 0; v < task->domains[i]->n_views; v++)
            if (task->domains[i] != d)
                ferry_i_text_addf(t, "%s%s.%s", t->len ? ", " : "", task->domains[i]->name,
                                  task->domains[i]->views[v]->name);
}

/* Fails with `wrong` where text is not what a view of d may be. */
static ferry_status set_same_as(ferry_ctx *ctx, const ferry_task *task,
                                const ferry_domain *d, ferry_view *v, const char *text,
                                ferry_status wrong)
{
    ferry_status st = FERRY_OK;
    const ferry_domain *other = strcmp(text, "none") == 0 ? NULL : owner(task, text);
    char *copy = ferry_i_strdup(text);
    ferry_text list = {0};

    FERRY_HAVE(ctx, copy);
    list_others(task, d, &list);
    FERRY_HAVE(ctx, !list.failed);
    FERRY_NEED(ctx, other != d, wrong, "'%s' is a view of the same domain", text);
    FERRY_NEED(ctx, other || strcmp(text, "none") == 0, wrong,
               "expected DOMAIN.VIEW or none, not '%s'; there are %s", text,
               list.s ? list.s : "no other views");
    ferry_i_free(v->same_as);
    FERRY_MOVE(v->same_as, copy);
done:
    ferry_i_free(copy);
    ferry_i_text_free(&list);
    return st;
}

static ferry_status parse_same_as(const ferry_place *p, const ferry_task *task,
                                  const ferry_domain *d, ferry_view *v)
{
    const char *text = NULL;

    FERRY_PASS(ferry_i_place_string(p, "DOMAIN.VIEW or none", &text));
    const ferry_status st = set_same_as(p->y->ctx, task, d, v, text, FERRY_EDATA);
    return st == FERRY_EDATA ? ferry_i_place_prefix(p, st) : st;
}

/* Once all domains are there, so that the view it names can be looked for. */
ferry_status ferry_task_set_same_as(ferry_ctx *ctx, ferry_task *task, const char *domain,
                                    const char *view, const char *same_as)
{
    FERRY_ARGS(ctx, task, domain, view, same_as);

    ferry_domain *d = NULL;

    for (int64_t i = 0; i < task->n_domains; i++)
        if (strcmp(task->domains[i]->name, domain) == 0) d = task->domains[i];
    if (!d)
        return ferry_i_fail(ctx, FERRY_EINVAL, "task '%s' has no domain '%s'", task->name,
                            domain);
    FERRY_PASS(ferry_i_domain_changeable(ctx, d));
    for (int64_t v = 0; v < d->n_views; v++) {
        if (strcmp(d->views[v]->name, view) != 0) continue;
        const ferry_status st =
            set_same_as(ctx, task, d, d->views[v], same_as, FERRY_EINVAL);
        return st == FERRY_EINVAL
                   ? ferry_i_prefix(ctx, st, "domain '%s', view '%s': same_as", domain,
                                    view)
                   : st;
    }
    return ferry_i_fail(ctx, FERRY_EINVAL, "domain '%s' has no view '%s'", domain, view);
}

ferry_status ferry_i_parse_same_as(const ferry_place *domain, const ferry_task *task,
                                   ferry_domain *d)
{
    ferry_place views, view, at;

    if (ferry_i_place_get(domain, "same_as", &at)) /* with x: the only view */
        FERRY_PASS(parse_same_as(&at, task, d, d->views[0]));
    if (!ferry_i_place_get(domain, "views", &views)) return FERRY_OK;
    for (int64_t i = 0; ferry_i_place_item(&views, i, &view); i++)
        if (ferry_i_place_get(&view, "same_as", &at))
            FERRY_PASS(parse_same_as(&at, task, d, d->views[i]));
    return FERRY_OK;
}
