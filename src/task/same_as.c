/* same_as: DOMAIN.VIEW | none of a view in a task file: what the user says a view is, which
 * no rule overrules (src/prepare/links.h). */
#include <string.h>

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

static ferry_status set_same_as(const ferry_place *p, const ferry_task *task,
                                const ferry_domain *d, ferry_view *v)
{
    ferry_status st = FERRY_OK;
    const ferry_domain *other = NULL;
    const char *text = NULL;
    ferry_text list = {0};

    FERRY_TRY(ferry_i_place_string(p, "DOMAIN.VIEW or none", &text));
    if (strcmp(text, "none") != 0) {
        other = owner(task, text);
        list_others(task, d, &list);
        if (other == d)
            st = ferry_i_place_bad(p, "'%s' is a view of the same domain", text);
        else if (!other)
            st =
                ferry_i_place_bad(p, "expected DOMAIN.VIEW or none, not '%s'; there are %s",
                                  text, list.s ? list.s : "no other views");
        FERRY_TRY(st);
    }
    v->same_as = ferry_i_strdup(text);
    FERRY_HAVE(p->y->ctx, v->same_as);
done:
    ferry_i_text_free(&list);
    return st;
}

ferry_status ferry_i_parse_same_as(const ferry_place *domain, const ferry_task *task,
                                   ferry_domain *d)
{
    ferry_place views, view, at;

    if (ferry_i_place_get(domain, "same_as", &at)) /* with x: the only view */
        FERRY_PASS(set_same_as(&at, task, d, d->views[0]));
    if (!ferry_i_place_get(domain, "views", &views)) return FERRY_OK;
    for (int64_t i = 0; ferry_i_place_item(&views, i, &view); i++)
        if (ferry_i_place_get(&view, "same_as", &at))
            FERRY_PASS(set_same_as(&at, task, d, d->views[i]));
    return FERRY_OK;
}
