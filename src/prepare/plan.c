/* Which domains, which views, which columns (prepare.h). No value is looked at here. */
#include <string.h>

#include "prepare/plan.h"

void ferry_i_prepare_plan_clear(ferry_plan *plan)
{
    for (int64_t d = 0; plan->map && d < plan->n; d++) {
        for (int64_t v = 0; plan->map[d] && v < plan->domain[d]->n_views; v++)
            ferry_i_free(plan->map[d][v]);
        ferry_i_free(plan->map[d]);
    }
    for (int64_t s = 0; plan->used && s < plan->n_spaces; s++)
        ferry_i_free(plan->used[s]);
    FERRY_FREE(plan->used, plan->map, plan->wanted, plan->domain);
    *plan = (ferry_plan){0};
}

/* ---- domains ---- */

/* Sources, bridges, target, whatever order the task has them in. */
static const ferry_role in_order[] = {FERRY_SOURCE, FERRY_INTERMEDIATE, FERRY_TARGET};

static bool has_labels(const ferry_domain *d)
{
    for (int64_t i = 0; d->labels && i < d->labels->n; i++)
        if (ferry_i_labels_has(d->labels, i)) return true;
    return false;
}

/* Whether rows of d are delivered, as far as its role and labels say. */
static bool is_wanted(const ferry_wants *w, const ferry_domain *d)
{
    if (d->role == FERRY_TARGET) return w->domains & FERRY_THE_TARGET;
    if (d->role == FERRY_INTERMEDIATE) return w->domains & FERRY_BRIDGES;
    return (w->domains & FERRY_SOURCES) && (!w->taught || has_labels(d));
}

/* All domains are listed, wanted or not: links and scales are learned from all of them. A
 * source without labels is left out with a line in the log when the method needs
 * teachers. */
static ferry_status list_domains(ferry_ctx *ctx, const ferry_task *task,
                                 const ferry_wants *w, ferry_plan *plan)
{
    ferry_status st = FERRY_OK;
    const ferry_domain *d = NULL;
    int64_t sources = 0;

    FERRY_TRY(ferry_i_task_target(ctx, task, &d));
    FERRY_NEED(ctx, d->n_views > 0, FERRY_ENEEDS, "%s needs a view of target '%s'",
               w->method, d->name);
    FERRY_NEW(ctx, plan->domain, task->n_domains);
    FERRY_NEW(ctx, plan->wanted, task->n_domains);
    for (int r = 0; r < 3; r++)
        for (int64_t i = 0; (d = ferry_i_task_role(task, in_order[r], i)); i++) {
            const bool wanted = is_wanted(w, d);
            FERRY_NEED(ctx, !wanted || d->n_views > 0 || w->layout == FERRY_JOINED,
                       FERRY_ENEEDS, "%s needs a view of domain '%s'", w->method, d->name);
            if (!wanted && (w->domains & FERRY_SOURCES) && d->role == FERRY_SOURCE)
                ferry_i_log(ctx, FERRY_INFO,
                            "%s: source '%s' has no labels and is left out", w->method,
                            d->name);
            sources += wanted && d->role == FERRY_SOURCE;
            plan->wanted[plan->n] = wanted;
            plan->domain[plan->n++] = d;
        }
    FERRY_NEED(ctx, sources > 0 || !w->taught || !(w->domains & FERRY_SOURCES),
               FERRY_ENEEDS, "%s needs a source with labels", w->method);
done:
    return st;
}

/* The same links that every method gets. */
ferry_status ferry_task_links(ferry_ctx *ctx, const ferry_task *task, char **out)
{
    FERRY_ARGS_OUT(ctx, out, out, task);

    ferry_status st = FERRY_OK;
    const ferry_domain **domain = NULL, *d = NULL;
    ferry_links *links = NULL;
    int64_t n = 0;

    *out = NULL;
    FERRY_NEW(ctx, domain, task->n_domains);
    for (int r = 0; r < 3; r++)
        for (int64_t i = 0; (d = ferry_i_task_role(task, in_order[r], i)); i++)
            domain[n++] = d;
    FERRY_TRY(ferry_i_links_find(ctx, n, domain, &links));
    FERRY_MOVE(*out, links->text);
done:
    ferry_i_links_free(links);
    ferry_i_free(domain);
    return st;
}

/* ---- columns ---- */

/* Whether no name of one view is a name of the other, though they are equally wide. */
static bool renamed(const ferry_view *v, const ferry_view *w)
{
    if (v == w || v->x->cols != w->x->cols) return false;
    for (int64_t j = 0; j < v->x->cols; j++)
        if (ferry_i_ids_find(w->features, ferry_i_ids_at(v->features, j)) >= 0)
            return false;
    return true;
}

/* Features of space g have names only if all its views have some: else they stand by
 * number, and names that some have are there for people. A view that same_as puts there
 * although all its names differ stands by number, too: what else could it mean. */
static bool is_named(const ferry_links *l, int64_t g)
{
    const ferry_view *v = NULL, *w = NULL;

    for (int64_t d = 0; d < l->n; d++)
        if ((v = ferry_i_links_view(l, d, g)) && !ferry_i_view_has_names(v)) return false;
    for (int64_t d = 0; d < l->n; d++)
        for (int64_t e = 0; (v = ferry_i_links_view(l, d, g)) && v->same_as && e < l->n;
             e++)
            if ((w = ferry_i_links_view(l, e, g)) && renamed(v, w)) return false;
    return true;
}

/* Add a view's columns to its space; map[j] is where they stand there. */
static ferry_status add_columns(ferry_ctx *ctx, const ferry_view *v, bool named,
                                ferry_space *s, int32_t *map)
{
    ferry_status st = FERRY_OK;
    const int64_t cols = v->x->cols;

    if (!s->name) s->name = v->name;
    if (named && !s->features) {
        FERRY_HAVE(ctx, s->features = ferry_i_ids_new());
    }
    for (int64_t j = 0; j < cols; j++) {
        const int64_t at =
            named ? ferry_i_ids_add(s->features, ferry_i_ids_at(v->features, j), NULL) : j;
        FERRY_HAVE(ctx, at >= 0);
        map[j] = (int32_t)at;
    }
    /* By name the space grows by what is new; by number it is as wide as its widest view.
     * Names that only some views have are kept for people, if they are as many as the
     * columns. */
    if (named) s->cols = ferry_i_ids_count(s->features);
    if (!named && cols > s->cols) s->cols = cols;
    if (!named && !s->features && v->features && cols == s->cols) {
        FERRY_HAVE(ctx, s->features = ferry_i_ids_copy(v->features));
    }
done:
    return st;
}

/* From the target back to the first source, so that the target's columns are the first of
 * its spaces. */
static ferry_status number_columns(ferry_ctx *ctx, ferry_prepared *p, ferry_plan *plan)
{
    ferry_status st = FERRY_OK;
    const ferry_links *l = p->links;

    FERRY_NEW(ctx, p->space, l->n_groups);
    p->n_spaces = l->n_groups;
    FERRY_NEW(ctx, plan->map, plan->n);
    for (int64_t d = plan->n - 1; d >= 0; d--) {
        const ferry_domain *domain = plan->domain[d];
        FERRY_NEW(ctx, plan->map[d], domain->n_views);
        for (int64_t v = 0; v < domain->n_views; v++) {
            const int64_t g = l->group[d][v];
            FERRY_NEW(ctx, plan->map[d][v], domain->views[v]->x->cols);
            FERRY_TRY(add_columns(ctx, domain->views[v], is_named(l, g), &p->space[g],
                                  plan->map[d][v]));
        }
    }
    for (int64_t s = 0; s < p->n_spaces; s++) {
        p->space[s].begin = p->cols;
        p->cols += p->space[s].cols;
    }
    FERRY_NEED(ctx, p->cols < INT32_MAX, FERRY_ENEEDS, "%s: %lld features are too many",
               p->wants.method, (long long)p->cols);
done:
    return st;
}

/* ---- columns that a source shares with the target ---- */

static int64_t count_features(const ferry_domain *d)
{
    int64_t n = 0;

    for (int64_t v = 0; v < d->n_views; v++)
        n += d->views[v]->x->cols;
    return n;
}

/* The target's columns that domain d has; marked in `used` (may be NULL).
 * The target's columns come first in a space, so a column is the target's if its number
 * is below the width of the target's view. */
static int64_t share(const ferry_prepared *p, const ferry_plan *plan, int64_t d,
                     uint8_t **used)
{
    const ferry_domain *target = plan->domain[plan->n - 1], *domain = plan->domain[d];
    int64_t n = 0;

    for (int64_t v = 0; v < domain->n_views; v++) {
        const int64_t g = p->links->group[d][v];
        if (g >= target->n_views) continue;
        for (int64_t j = 0; j < domain->views[v]->x->cols; j++) {
            const int32_t at = plan->map[d][v][j];
            if (at >= target->views[g]->x->cols) continue;
            n++;
            if (used) used[g][at] = 1;
        }
    }
    return n;
}

/* What to write where two domains have nothing in common: same_as between views that are
 * equally wide, if there are such; else how views are linked at all. New. */
static char *line_to_add(const ferry_domain *a, const ferry_domain *b)
{
    for (int64_t v = 0; v < b->n_views; v++)
        for (int64_t u = 0; u < a->n_views; u++)
            if (a->views[u]->x->cols == b->views[v]->x->cols)
                return ferry_i_sprintf("if view '%s' of '%s' has the %lld features of view "
                                       "'%s' of '%s', add same_as: %s.%s to it",
                                       b->views[v]->name, b->name,
                                       (long long)b->views[v]->x->cols, a->views[u]->name,
                                       a->name, a->name, a->views[u]->name);
    return ferry_i_sprintf("if a view of '%s' has features of '%s', give both the same "
                           "names of features, or add same_as: %s.%s to it",
                           b->name, a->name, a->name,
                           a->n_views ? a->views[0]->name : "VIEW");
}

/* Leave out the sources that share nothing, and note what the others share. */
static ferry_status shared_columns(ferry_ctx *ctx, ferry_prepared *p, ferry_plan *plan)
{
    ferry_status st = FERRY_OK;
    const ferry_domain *target = plan->domain[plan->n - 1], *other = NULL;
    int64_t fit = 0;
    char *add = NULL;

    /* The target's views are groups 0, 1, ...: the first spaces, in their order. */
    plan->n_spaces = target->n_views;
    FERRY_NEW(ctx, plan->used, plan->n_spaces);
    for (int64_t s = 0; s < plan->n_spaces; s++)
        FERRY_NEW(ctx, plan->used[s], p->space[s].cols);
    for (int64_t d = 0; d < plan->n - 1; d++) {
        if (!plan->wanted[d] || plan->domain[d]->role != FERRY_SOURCE) continue;
        if (share(p, plan, d, plan->used) > 0) {
            fit++;
            continue;
        }
        ferry_i_log(ctx, FERRY_INFO, "%s: source '%s' shares no features with target '%s'",
                    p->wants.method, plan->domain[d]->name, target->name);
        other = plan->domain[d];
        plan->wanted[d] = false;
    }
    /* `other` is NULL where no source was wanted: then there is nothing to share with. */
    if (fit > 0 || !other) goto done;
    add = p->links->apart[0] ? ferry_i_strdup(p->links->apart) : line_to_add(other, target);
    FERRY_HAVE(ctx, add);
    st = ferry_i_fail(
        ctx, FERRY_ENEEDS,
        "%s needs features that source '%s' (%lld) and target '%s' (%lld) share; %s",
        p->wants.method, other->name, (long long)count_features(other), target->name,
        (long long)count_features(target), add);
done:
    ferry_i_free(add);
    return st;
}

/* ---- the way from a source to the target ---- */

static int64_t root(const int64_t *parent, int64_t d)
{
    while (parent[d] != d)
        d = parent[d];
    return d;
}

/* parent[d] <- domains that have columns in common, directly or by way of others, have one
 * root. Each column joins its domain to the first that had it. */
static ferry_status join_domains(ferry_ctx *ctx, const ferry_prepared *p,
                                 const ferry_plan *plan, int64_t *parent)
{
    ferry_status st = FERRY_OK;
    int64_t *first = NULL;

    FERRY_NEW(ctx, first, p->cols);
    for (int64_t d = 0; d < plan->n; d++) {
        parent[d] = d;
        for (int64_t v = 0; plan->wanted[d] && v < plan->domain[d]->n_views; v++)
            for (int64_t j = 0; j < plan->domain[d]->views[v]->x->cols; j++) {
                int64_t *f =
                    &first[p->space[p->links->group[d][v]].begin + plan->map[d][v][j]];
                if (*f == 0) *f = d + 1;
                parent[root(parent, d)] = root(parent, *f - 1);
            }
    }
done:
    ferry_i_free(first);
    return st;
}

/* PATH: some domain with labels leads to the target. A domain that does not is where the
 * sentence points: the last one, since the target's side of a chain is looked at first. */
static ferry_status need_path(ferry_ctx *ctx, const ferry_prepared *p,
                              const ferry_plan *plan)
{
    ferry_status st = FERRY_OK;
    const int64_t t = plan->n - 1;
    int64_t *parent = NULL, off = -1, near = t;
    char *add = NULL;

    FERRY_NEW(ctx, parent, plan->n);
    FERRY_TRY(join_domains(ctx, p, plan, parent));
    for (int64_t d = 0; d < t; d++) {
        if (!plan->wanted[d]) continue;
        const bool leads = root(parent, d) == root(parent, t);
        if (leads && has_labels(plan->domain[d])) goto done;
        if (leads)
            near = d; /* a bridge that ends in the air */
        else
            off = d;
    }
    if (off < 0) goto done; /* nobody has labels: said elsewhere */
    add = p->links->apart[0] ? ferry_i_strdup(p->links->apart)
                             : line_to_add(plan->domain[off], plan->domain[near]);
    FERRY_HAVE(ctx, add);
    st = ferry_i_fail(ctx, FERRY_ENEEDS,
                      "%s needs features that lead from a source to target '%s'; '%s' "
                      "shares none with '%s': %s",
                      p->wants.method, plan->domain[t]->name, plan->domain[off]->name,
                      plan->domain[near]->name, add);
done:
    ferry_i_free(parent);
    ferry_i_free(add);
    return st;
}

/* Domains, then links between their views, then a number for every column, then (shared)
 * which of the target's columns some source has. */
ferry_status ferry_i_prepare_plan(ferry_ctx *ctx, const ferry_task *task, ferry_prepared *p,
                                  ferry_plan *plan)
{
    ferry_status st = FERRY_OK;

    *plan = (ferry_plan){0};
    FERRY_TRY(list_domains(ctx, task, &p->wants, plan));
    FERRY_TRY(ferry_i_links_find(ctx, plan->n, plan->domain, &p->links));
    FERRY_TRY(number_columns(ctx, p, plan));
    if (p->wants.shared) FERRY_TRY(shared_columns(ctx, p, plan));
    if (p->wants.layout == FERRY_PATH) FERRY_TRY(need_path(ctx, p, plan));
done:
    return st;
}
