/* Which views are the same thing (links.h).
 * Every pair of views of different domains is weighed; the links are taken from the
 * strongest to the weakest, like edges of a minimum spanning tree, and one that would put
 * two views of a domain into one group is passed over. Views are few, so all of it is
 * done plainly. */
#include "prepare/links.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A view, with the domain and place it came from; parent is itself for the root of a
 * group. */
typedef struct node {
    int64_t domain, view;
    const ferry_view *v;
    bool named;     /* its features have names */
    int64_t parent; /* union-find */
} node;

typedef struct link {
    int64_t a, b; /* nodes, a < b */
    ferry_link_by why;
    int64_t count; /* names of features that both have, or columns */
    double share;  /* of the smaller set */
} link;

typedef struct finding {
    int64_t n_nodes;
    node *node;
    int64_t n_links;
    link *link;
    ferry_links *l;
} finding;

static const char *domain_name(const finding *f, const node *x)
{
    return f->l->domain[x->domain]->name;
}

/* ---- evidence for one pair ---- */

/* Whether x says that it is the view y.
 * same_as is "DOMAIN.VIEW". Compared piece by piece, since either name may contain a dot.
 */
static bool says(const finding *f, const node *x, const node *y)
{
    const char *to = x->v->same_as, *name = domain_name(f, y);
    const size_t n = strlen(name);

    return to && strncmp(to, name, n) == 0 && to[n] == '.' &&
           strcmp(to + n + 1, y->v->name) == 0;
}

/* Columns can be lined up: by names, or by number where that leaves no doubt. A sparse file
 * knows only the last feature that occurs in it, so a narrower one just lacks the rest. */
static bool can_line_up(const node *a, const node *b)
{
    const ferry_matrix *x = a->v->x, *y = b->v->x;

    if ((a->named && b->named) || x->cols == y->cols) return true;
    return !a->named && !b->named && !(x->cols < y->cols ? x : y)->dense;
}

/* How many of the names of one are those of the other.
 * One look-up for each name of a; names within a view are distinct. */
static int64_t common_names(const node *a, const node *b)
{
    const ferry_ids *x = a->v->features, *y = b->v->features;
    int64_t n = 0;

    for (int64_t j = 0; j < ferry_i_ids_count(x); j++)
        n += ferry_i_ids_find(y, ferry_i_ids_at(x, j)) >= 0;
    return n;
}

/* Views of x's domain that rule (3) could take for it: unnamed, as wide, not decided. */
static int64_t candidates(const finding *f, const node *x)
{
    int64_t n = 0;

    for (int64_t i = 0; i < f->n_nodes; i++) {
        const node *y = &f->node[i];
        n += y->domain == x->domain && !y->named && !y->v->same_as &&
             y->v->x->cols == x->v->x->cols;
    }
    return n;
}

/* One more sentence behind others. */
static char *joined(scope *s, const char *before, const char *more)
{
    return scope_text(s, "%s%s%s", before, before[0] ? "; " : "", more);
}

/* The strongest evidence for views i and k, or nothing. Views of one name whose columns
 * cannot be lined up are named in `apart`: it becomes the reason in "needs features that
 * ... share". */
static link weigh(scope *s, finding *f, int64_t i, int64_t k)
{
    const node *a = &f->node[i], *b = &f->node[k];
    const bool chosen = !a->v->unwritten && !b->v->unwritten;
    const bool same = chosen && strcmp(a->v->name, b->v->name) == 0;
    link l = {.a = i, .b = k, .why = FERRY_BY_NOTHING, .share = 1, .count = a->v->x->cols};

    if (says(f, a, b) || says(f, b, a)) {
        l.why = FERRY_BY_SAME_AS;
    } else if (a->v->same_as || b->v->same_as) {
        /* decided elsewhere */
    } else if (same && can_line_up(a, b)) {
        l.why = FERRY_BY_NAME;
    } else if (same) {
        f->l->apart = joined(
            s, f->l->apart,
            scope_text(s, "%s.%s and %s.%s have one name, but %lld and %lld features%s",
                       domain_name(f, a), a->v->name, domain_name(f, b), b->v->name,
                       (long long)a->v->x->cols, (long long)b->v->x->cols,
                       a->named == b->named ? " without names" : ""));
    } else if (a->named && b->named) {
        const int64_t x = a->v->x->cols, y = b->v->x->cols, least = x < y ? x : y;
        l.count = common_names(a, b);
        /* Half of the smaller set: a vocabulary of 500 words inside one of 50000 is the
         * same kind. */
        l.share = (double)l.count / (double)least;
        if (l.count > 0 && 2 * l.count >= least) l.why = FERRY_BY_FEATURES;
    } else if (!a->named && !b->named && !chosen && a->v->x->cols == b->v->x->cols &&
               candidates(f, a) == 1 && candidates(f, b) == 1) {
        l.why = FERRY_BY_WIDTH;
    }
    return l;
}

/* ---- groups ---- */

/* Without path compression: trees of a handful of views. */
static int64_t root(const finding *f, int64_t i)
{
    while (f->node[i].parent != i)
        i = f->node[i].parent;
    return i;
}

/* Whether some domain has a view in both groups. */
static bool clash(const finding *f, int64_t a, int64_t b)
{
    for (int64_t i = 0; i < f->n_nodes; i++)
        for (int64_t k = 0; root(f, i) == a && k < f->n_nodes; k++)
            if (root(f, k) == b && f->node[i].domain == f->node[k].domain) return true;
    return false;
}

/* "target.x = source.x by name": the later domain first. */
static void describe(scope *s, finding *f, const link *l)
{
    const node *a = &f->node[l->b], *b = &f->node[l->a];
    const char *by =
        l->why == FERRY_BY_SAME_AS ? "as same_as says"
        : l->why == FERRY_BY_NAME
            ? "by name"
            : scope_text(s, "by %lld %s", (long long)l->count,
                         l->why == FERRY_BY_FEATURES ? "feature names"
                                                     : "columns without names");

    f->l->text = joined(s, f->l->text,
                        scope_text(s, "%s.%s = %s.%s %s", domain_name(f, a), a->v->name,
                                   domain_name(f, b), b->v->name, by));
}

/* A name of one of two views that the other has not. */
typedef struct lone_name {
    const char *name;
    bool of_b;
} lone_name;

static int by_lone_name(const void *a, const void *b)
{
    const lone_name *x = a, *y = b;
    const int c = strcasecmp(x->name, y->name);

    return c ? c : x->of_b - y->of_b;
}

enum { MOST_NAMES = 10000 };

/* "Height" here and "height" there, in views that are linked by their names: two columns, one most likely as they are meant. */
static void warn_of_case(scope *s, const ferry_link *k, const ferry_domain *d,
                         const ferry_domain *to)
{
    const ferry_view *view[] = {d->views[k->view], to->views[k->to_view]};
    const int64_t mark = scope_mark(s);
    int64_t n = 0;

    if (!view[0]->features || !view[1]->features || view[0]->x->cols > MOST_NAMES ||
        view[1]->x->cols > MOST_NAMES)
        return;
    lone_name *lone = NEW(s, lone_name, view[0]->x->cols + view[1]->x->cols);
    for (int b = 0; b < 2; b++)
        for (int64_t j = 0; j < ferry_i_ids_count(view[b]->features); j++) {
            const char *name = ferry_i_ids_at(view[b]->features, j);
            if (ferry_i_ids_find(view[!b]->features, name) < 0)
                lone[n++] = (lone_name){name, b};
        }
    if (n > 1) qsort(lone, (size_t)n, sizeof *lone, by_lone_name);
    for (int64_t i = 1; i < n; i++) {
        if (lone[i].of_b == lone[i - 1].of_b ||
            strcasecmp(lone[i].name, lone[i - 1].name) != 0)
            continue;
        ferry_i_warn_once(
            scope_ctx(s),
            "'%s' of %s.%s and '%s' of %s.%s count as two features, though they differ "
            "only in case: if they are one, write them alike",
            lone[i - 1].name, d->name, view[0]->name, lone[i].name, to->name,
            view[1]->name);
        break;
    }
    scope_release(s, mark);
}

void links_warn(scope *s, const ferry_links *l)
{
    for (int64_t i = 0; i < l->n_links; i++)
        warn_of_case(s, &l->link[i], l->domain[l->link[i].domain],
                     l->domain[l->link[i].to_domain]);
    for (int64_t i = 0; i < l->n_links; i++) {
        const ferry_link *k = &l->link[i];
        const ferry_domain *d = l->domain[k->domain], *to = l->domain[k->to_domain];
        if (k->by != FERRY_BY_WIDTH) continue;
        const ferry_view *a = d->views[k->view], *b = to->views[k->to_view];
        ferry_i_warn_once(
            scope_ctx(s),
            "%s.%s and %s.%s are taken for the same %lld features, since nothing else is "
            "as wide; name the views, or say same_as: %s.%s or same_as: none",
            to->name, b->name, d->name, a->name, (long long)b->x->cols, to->name, b->name);
    }
}

/* Columns that a and b share: by name where both have names, else all of the narrower. */
static int64_t shared(const node *a, const node *b)
{
    const int64_t x = a->v->x->cols, y = b->v->x->cols;
    const int64_t named = a->named && b->named ? common_names(a, b) : 0;

    return named > 0 ? named : x < y ? x : y;
}

static void keep(finding *f, const link *l)
{
    const node *a = &f->node[l->b], *b = &f->node[l->a];

    f->l->link[f->l->n_links++] =
        (ferry_link){a->domain, a->view, b->domain, b->view, l->why, shared(a, b)};
}

/* A total order, so that qsort's instability cannot decide which views are linked. */
static int by_strength(const void *x, const void *y)
{
    const link *a = x, *b = y;

    if (a->why != b->why) return a->why < b->why ? -1 : 1;
    if (a->share != b->share) return a->share > b->share ? -1 : 1;
    if (a->b != b->b) return a->b > b->b ? -1 : 1; /* links of the target first */
    return (a->a > b->a) - (a->a < b->a);
}

/* O(V^2) pairs of views, each at most once through its feature names. */
static void join_groups(scope *s, finding *f)
{
    f->link = NEW(s, link, f->n_nodes * f->n_nodes / 2);
    for (int64_t i = 0; i < f->n_nodes; i++)
        for (int64_t k = i + 1; k < f->n_nodes; k++) {
            if (f->node[i].domain == f->node[k].domain) continue;
            const link l = weigh(s, f, i, k);
            if (l.why != FERRY_BY_NOTHING) f->link[f->n_links++] = l;
        }
    if (f->n_links) qsort(f->link, (size_t)f->n_links, sizeof *f->link, by_strength);
    f->l->link = NEW(s, ferry_link, f->n_links);
    for (int64_t e = 0; e < f->n_links; e++) {
        const int64_t a = root(f, f->link[e].a), b = root(f, f->link[e].b);
        if (a == b || clash(f, a, b)) continue;
        f->node[a].parent = b; /* any tree will do: few views */
        describe(s, f, &f->link[e]);
        keep(f, &f->link[e]);
    }
}

/* Groups numbered from the last domain's views on. */
static void number_groups(scope *s, finding *f)
{
    ferry_links *l = f->l;
    int32_t *number = NEW(s, int32_t, f->n_nodes);

    for (int64_t d = l->n - 1; d >= 0; d--)
        for (int64_t i = 0; i < f->n_nodes; i++) {
            const int64_t r = root(f, i);
            if (f->node[i].domain != d) continue;
            if (!number[r]) number[r] = (int32_t)++l->n_groups;
            l->group[d][f->node[i].view] = number[r] - 1;
        }
}

/* ---- all of it ---- */

/* Nodes domain after domain; group[d] has room for a number for each view of d. */
static void list_views(scope *s, finding *f)
{
    ferry_links *l = f->l;
    int64_t n = 0;

    l->group = NEW(s, int32_t *, l->n);
    for (int64_t d = 0; d < l->n; d++) {
        l->group[d] = NEW(s, int32_t, l->domain[d]->n_views);
        n += l->domain[d]->n_views;
    }
    f->node = NEW(s, node, n);
    for (int64_t d = 0; d < l->n; d++)
        for (int64_t v = 0; v < l->domain[d]->n_views; v++) {
            const ferry_view *view = l->domain[d]->views[v];
            f->node[f->n_nodes] =
                (node){d, v, view, ferry_i_view_has_names(view), f->n_nodes};
            f->n_nodes++;
        }
}

ferry_links *links_find(scope *s, int64_t n, const ferry_domain *const *domain)
{
    ferry_links *l = NEW(s, ferry_links, 1);
    finding f = {.l = l};

    l->domain = COPY(s, domain, n); /* the domains themselves must outlive the links */
    l->n = n;
    l->text = l->apart = "";
    list_views(s, &f);
    join_groups(s, &f);
    number_groups(s, &f);
    return l;
}

const ferry_view *links_view(const ferry_links *l, int64_t d, int64_t g)
{
    for (int64_t v = 0; v < l->domain[d]->n_views; v++)
        if (l->group[d][v] == g) return l->domain[d]->views[v];
    return NULL;
}
