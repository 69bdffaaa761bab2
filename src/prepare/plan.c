/* Which domains, which views, which columns (prepare.h). No value is looked at here. */
#include <jansson.h>
#include <string.h>

#include "prepare/alike.h"
#include "prepare/plan.h"

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
    return (w->domains & FERRY_SOURCES) && (!w->labelled_sources || has_labels(d));
}

/* Whose rows are delivered. All domains have a place, wanted or not: links and scales are
 * learned from all of them. A source without labels is left out with a line in the log when
 * the method learns from labels. */
static bool *wanted_domains(scope *s, const ferry_task *task, const ferry_wants *w)
{
    const ferry_domain *d = NULL;
    bool *wanted = NEW(s, bool, task->n_domains);
    int64_t sources = 0, n = 0;

    scope_check(s, ferry_i_task_target(scope_ctx(s), task, &d));
    if (d->n_views == 0)
        scope_fail(s, FERRY_ENEEDS, "%s needs a view of target '%s'", w->method, d->name);
    for (int r = 0; r < 3; r++)
        for (int64_t i = 0; (d = ferry_i_task_role(task, in_order[r], i)); i++) {
            const bool is = wanted[n++] = is_wanted(w, d);
            if (is && d->n_views == 0 && w->layout != FERRY_JOINED)
                scope_fail(s, FERRY_ENEEDS, "%s needs a view of domain '%s'", w->method,
                           d->name);
            if (!is && (w->domains & FERRY_SOURCES) && d->role == FERRY_SOURCE)
                ferry_i_log(scope_ctx(s), FERRY_INFO,
                            "%s: source '%s' has no labels and is left out", w->method,
                            d->name);
            sources += is && d->role == FERRY_SOURCE;
        }
    if (sources == 0 && w->labelled_sources && (w->domains & FERRY_SOURCES))
        scope_fail(s, FERRY_ENEEDS, "%s needs a source with labels", w->method);
    return wanted;
}

/* The same links that every method gets. */
static ferry_links *links_of(scope *s, const ferry_task *task)
{
    const ferry_domain **domain = NEW(s, const ferry_domain *, task->n_domains), *d = NULL;
    int64_t n = 0;

    for (int r = 0; r < 3; r++)
        for (int64_t i = 0; (d = ferry_i_task_role(task, in_order[r], i)); i++)
            domain[n++] = d;
    return links_find(s, n, domain);
}

/* ---- links for people ---- */

typedef struct asked_links {
    const ferry_task *task;
    char **out;
} asked_links;

static void links_text(scope *s, void *arg)
{
    const asked_links *a = arg;
    const ferry_links *l = links_of(s, a->task);

    links_warn(s, l);
    *a->out = ferry_i_strdup(l->text);
    if (!*a->out) scope_check(s, ferry_i_nomem(scope_ctx(s)));
}

static ferry_status task_links(ferry_ctx *ctx, const ferry_task *task, char **out)
{
    FERRY_ARGS_OUT(ctx, out, out, task);

    return scope_run(ctx, links_text, &(asked_links){task, out});
}

static json_t *link_json(const ferry_links *l, const ferry_link *k)
{
    static const char *const by[] = {"same_as", "name", "features", "width"};
    const ferry_domain *d = l->domain[k->domain], *to = l->domain[k->to_domain];

    return json_pack("{s:s, s:s, s:{s:s, s:s}, s:s, s:I}", "domain", d->name, "view",
                     d->views[k->view]->name, "same_as", "domain", to->name, "view",
                     to->views[k->to_view]->name, "by", by[k->by], "columns",
                     (json_int_t)k->columns);
}

static void json_free(void *json)
{
    json_decref(json);
}

static void links_json(scope *s, void *arg)
{
    const asked_links *a = arg;
    const ferry_links *l = links_of(s, a->task);

    links_warn(s, l);
    json_t *all = json_array();
    if (!all) scope_check(s, ferry_i_nomem(scope_ctx(s)));
    scope_defer(s, json_free, all);
    for (int64_t i = 0; i < l->n_links; i++)
        if (json_array_append_new(all, link_json(l, &l->link[i])) != 0)
            scope_check(s, ferry_i_nomem(scope_ctx(s)));
    scope_check(s, ferry_i_json_dump(scope_ctx(s), all, 0, a->out));
}

static ferry_status task_links_json(ferry_ctx *ctx, const ferry_task *task, char **out)
{
    FERRY_ARGS_OUT(ctx, out, out, task);

    return scope_run(ctx, links_json, &(asked_links){task, out});
}

/* ---- columns that may be the same ---- */

/* to: {"mealpct": "lnchpct"}, as `same:` of d takes it. */
static void add_alike(scope *s, const ferry_view *v, const ferry_view *w, json_t *to)
{
    const int64_t mark = scope_mark(s);
    int64_t n = 0;
    const alike *c = alike_columns(s, v, w, &n);

    for (int64_t i = 0; i < n; i++)
        if (json_object_set_new(to, ferry_i_ids_at(v->features, c[i].a),
                                json_string(ferry_i_ids_at(w->features, c[i].b))) != 0)
            scope_check(s, ferry_i_nomem(scope_ctx(s)));
    scope_release(s, mark);
}

static void same_json(scope *s, void *arg)
{
    const asked_links *a = arg;
    const ferry_domain *t = ferry_i_task_role(a->task, FERRY_TARGET, 0), *d = NULL;
    json_t *all = json_object();

    if (!all) scope_check(s, ferry_i_nomem(scope_ctx(s)));
    scope_defer(s, json_free, all);
    for (int r = 0; t && r < 2; r++)
        for (int64_t i = 0; (d = ferry_i_task_role(a->task, in_order[r], i)); i++) {
            json_t *of = json_object();
            if (json_object_set_new(all, d->name, of) != 0) /* takes it, also then */
                scope_check(s, ferry_i_nomem(scope_ctx(s)));
            for (int64_t v = 0; v < d->n_views; v++)
                for (int64_t w = 0; w < t->n_views; w++)
                    add_alike(s, d->views[v], t->views[w], of);
            if (json_object_size(of) == 0) (void)json_object_del(all, d->name);
        }
    scope_check(s, ferry_i_json_dump(scope_ctx(s), all, 0, a->out));
}

static ferry_status task_same_json(ferry_ctx *ctx, const ferry_task *task, char **out)
{
    FERRY_ARGS_OUT(ctx, out, out, task);

    return scope_run(ctx, same_json, &(asked_links){task, out});
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
        if ((v = links_view(l, d, g)) && !ferry_i_view_has_names(v)) return false;
    for (int64_t d = 0; d < l->n; d++)
        for (int64_t e = 0; (v = links_view(l, d, g)) && v->same_as && e < l->n; e++)
            if ((w = links_view(l, e, g)) && renamed(v, w)) return false;
    return true;
}

static void free_ids(void *ids)
{
    ferry_i_ids_free(ids);
}

static ferry_ids *own_ids(scope *s, ferry_ids *ids)
{
    if (!ids) scope_check(s, ferry_i_nomem(scope_ctx(s)));
    scope_defer(s, free_ids, ids);
    return ids;
}

/* Add a view's columns to its space; map[j] is where they stand there. */
static void add_columns(scope *s, const ferry_view *v, bool named, ferry_space *to,
                        int32_t *map)
{
    const int64_t cols = v->x->cols;

    if (!to->name) to->name = v->name;
    if (named && !to->features) to->features = own_ids(s, ferry_i_ids_new());
    for (int64_t j = 0; j < cols; j++) {
        const int64_t at =
            named ? ferry_i_ids_add(to->features, ferry_i_ids_at(v->features, j), NULL) : j;
        if (at < 0) scope_check(s, ferry_i_nomem(scope_ctx(s)));
        map[j] = (int32_t)at;
    }
    /* By name the space grows by what is new; by number it is as wide as its widest view.
     * Names that only some views have are kept for people, if they are as many as the
     * columns. */
    if (named) to->cols = ferry_i_ids_count(to->features);
    if (!named && cols > to->cols) to->cols = cols;
    if (!named && !to->features && v->features && cols == to->cols)
        to->features = own_ids(s, ferry_i_ids_copy(v->features));
}

/* From the target back to the first source, so that the target's columns are the first of
 * its spaces. */
ferry_lineup *lineup_find(scope *s, const ferry_task *task)
{
    ferry_lineup *to = NEW(s, ferry_lineup, 1);
    const ferry_links *l = to->links = links_of(s, task);

    to->n = l->n;
    to->domain = l->domain;
    to->n_spaces = l->n_groups;
    to->space = NEW(s, ferry_space, l->n_groups);
    to->map = NEW(s, int32_t **, to->n);
    for (int64_t d = to->n - 1; d >= 0; d--) {
        const ferry_domain *domain = to->domain[d];
        to->map[d] = NEW(s, int32_t *, domain->n_views);
        for (int64_t v = 0; v < domain->n_views; v++) {
            const int64_t g = l->group[d][v];
            to->map[d][v] = NEW(s, int32_t, domain->views[v]->x->cols);
            add_columns(s, domain->views[v], is_named(l, g), &to->space[g], to->map[d][v]);
        }
    }
    for (int64_t g = 0; g < to->n_spaces; g++) {
        to->space[g].begin = to->cols;
        to->cols += to->space[g].cols;
    }
    return to;
}

/* ---- columns that a source shares with the target ---- */

static int64_t count_features(const ferry_domain *d)
{
    int64_t n = 0;

    for (int64_t v = 0; v < d->n_views; v++)
        n += d->views[v]->x->cols;
    return n;
}

/* The target's columns that domain d has, marked in `used`.
 * The target's columns come first in a space, so a column is the target's if its number
 * is below the width of the target's view. */
static int64_t mark_shared(const ferry_lineup *l, int64_t d, uint8_t **used)
{
    const ferry_domain *target = l->domain[l->n - 1], *domain = l->domain[d];
    int64_t n = 0;

    for (int64_t v = 0; v < domain->n_views; v++) {
        const int64_t g = l->links->group[d][v];
        if (g >= target->n_views) continue;
        for (int64_t j = 0; j < domain->views[v]->x->cols; j++) {
            const int32_t at = l->map[d][v][j];
            if (at >= target->views[g]->x->cols) continue;
            n++;
            used[g][at] = 1;
        }
    }
    return n;
}

/* What to write where two domains have nothing in common: same_as between views that are
 * equally wide, if there are such; else how views are linked at all. */
static const char *line_to_add(scope *s, const ferry_lineup *l, int64_t of, int64_t to)
{
    const ferry_domain *a = l->domain[of], *b = l->domain[to];

    if (l->links->apart[0]) return l->links->apart;
    for (int64_t v = 0; v < b->n_views; v++)
        for (int64_t u = 0; u < a->n_views; u++)
            if (a->views[u]->x->cols == b->views[v]->x->cols)
                return scope_text(s,
                                  "if view '%s' of '%s' has the %lld features of view "
                                  "'%s' of '%s', add same_as: %s.%s to it",
                                  b->views[v]->name, b->name,
                                  (long long)b->views[v]->x->cols, a->views[u]->name,
                                  a->name, a->name, a->views[u]->name);
    return scope_text(s,
                      "if a view of '%s' has features of '%s', give both the same "
                      "names of features, or add same_as: %s.%s to it",
                      b->name, a->name, a->name, a->n_views ? a->views[0]->name : "VIEW");
}

/* Leave out the sources that share nothing, and mark what the others share. */
static void shared_columns(scope *s, const ferry_wants *w, ferry_plan *plan)
{
    const ferry_lineup *l = plan->of;
    const ferry_domain *target = l->domain[l->n - 1];
    int64_t fit = 0, other = -1;

    /* The target's views are groups 0, 1, ...: the first spaces, in their order. */
    plan->used = NEW(s, uint8_t *, target->n_views);
    for (int64_t g = 0; g < target->n_views; g++)
        plan->used[g] = NEW(s, uint8_t, l->space[g].cols);
    for (int64_t d = 0; d < l->n - 1; d++) {
        if (!plan->wanted[d] || l->domain[d]->role != FERRY_SOURCE) continue;
        if (mark_shared(l, d, plan->used) > 0) {
            fit++;
            continue;
        }
        ferry_i_log(scope_ctx(s), FERRY_INFO,
                    "%s: source '%s' shares no features with target '%s'", w->method,
                    l->domain[d]->name, target->name);
        other = d;
        plan->wanted[d] = false;
    }
    /* `other` is -1 where no source was wanted: then there is nothing to share with. */
    if (fit > 0 || other < 0) return;
    scope_fail(s, FERRY_ENEEDS,
               "%s needs features that source '%s' (%lld) and target '%s' (%lld) share; %s",
               w->method, l->domain[other]->name,
               (long long)count_features(l->domain[other]), target->name,
               (long long)count_features(target), line_to_add(s, l, other, l->n - 1));
}

/* ---- the way from a source to the target ---- */

static int64_t root(const int64_t *parent, int64_t d)
{
    while (parent[d] != d)
        d = parent[d];
    return d;
}

/* A parent for each domain: those that have columns in common, directly or by way of others,
 * have one root. Each column joins its domain to the first that had it. */
static int64_t *join_domains(scope *s, const ferry_plan *plan)
{
    const ferry_lineup *l = plan->of;
    int64_t *parent = NEW(s, int64_t, l->n), *first = NEW(s, int64_t, l->cols);

    for (int64_t d = 0; d < l->n; d++) {
        parent[d] = d;
        for (int64_t v = 0; plan->wanted[d] && v < l->domain[d]->n_views; v++)
            for (int64_t j = 0; j < l->domain[d]->views[v]->x->cols; j++) {
                int64_t *f =
                    &first[l->space[l->links->group[d][v]].begin + l->map[d][v][j]];
                if (*f == 0) *f = d + 1;
                parent[root(parent, d)] = root(parent, *f - 1);
            }
    }
    return parent;
}

/* PATH: some domain with labels leads to the target. A domain that does not is where the
 * sentence points: the last one, since the target's side of a chain is looked at first. */
static void need_path(scope *s, const ferry_wants *w, const ferry_plan *plan)
{
    const ferry_lineup *l = plan->of;
    const int64_t t = l->n - 1;
    const int64_t *parent = join_domains(s, plan);
    int64_t off = -1, next = t;

    for (int64_t d = 0; d < t; d++) {
        if (!plan->wanted[d]) continue;
        const bool leads = root(parent, d) == root(parent, t);
        if (leads && has_labels(l->domain[d])) return;
        if (leads)
            next = d; /* a bridge that ends in the air */
        else
            off = d;
    }
    if (off < 0) return; /* nobody has labels: said elsewhere */
    scope_fail(s, FERRY_ENEEDS,
               "%s needs features that lead from a source to target '%s'; '%s' "
               "shares none with '%s': %s",
               w->method, l->domain[t]->name, l->domain[off]->name, l->domain[next]->name,
               line_to_add(s, l, off, next));
}

/* Domains, then where their columns stand, then (shared) which of the target's columns some
 * source has. */
ferry_plan plan_make(scope *s, ferry_split *split, const ferry_wants *w)
{
    ferry_plan plan = {.wanted = wanted_domains(s, split->task, w)};

    plan.of = split_lineup(s, split);
    links_warn(s, plan.of->links);
    if (plan.of->cols >= INT32_MAX)
        scope_fail(s, FERRY_ENEEDS, "%s: %lld features are too many", w->method,
                   (long long)plan.of->cols);
    if (w->shared) shared_columns(s, w, &plan);
    if (w->layout == FERRY_PATH && w->labelled_sources)
        need_path(s, w, &plan); /* else by pairs */
    return plan;
}

ferry_status ferry_task_links(ferry_ctx *ctx, const ferry_task *task, const char *format,
                              char **out)
{
    FERRY_ARGS_OUT(ctx, out, out, task);

    if (!format) return task_links(ctx, task, out);
    if (strcmp(format, "json") == 0) return task_links_json(ctx, task, out);
    if (strcmp(format, "same") == 0) return task_same_json(ctx, task, out);
    return ferry_i_fail(ctx, FERRY_EINVAL, "unknown format %s (json, same)", format);
}
