/* Which views are the same thing (links.h).
 * Every pair of views of different domains is weighed; the links are taken from the
 * strongest to the weakest, like edges of a minimum spanning tree, and one that would put
 * two views of a domain into one group is passed over. Views are few, so all of it is
 * done plainly. */
#include "prepare/links.h"

#include <stdlib.h>
#include <string.h>

/* Evidence for a link, the strongest first. */
typedef enum evidence { SAID, NAME, FEATURES, WIDTH, NONE } evidence;

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
    evidence why;
    int64_t count; /* names of features that both have, or columns */
    double share;  /* of the smaller set */
} link;

typedef struct finding {
    int64_t n_nodes;
    node *node;
    int64_t n_links, cap_links;
    link *link;
    ferry_links *l;
    ferry_text text, apart;
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

/* The strongest evidence for views i and k, or NONE. Views of one name whose columns
 * cannot be lined up are noted in `apart`: it becomes the reason in "needs features that
 * ... share". */
static link weigh(finding *f, int64_t i, int64_t k)
{
    const node *a = &f->node[i], *b = &f->node[k];
    const bool chosen = !a->v->unwritten && !b->v->unwritten;
    const bool same = chosen && strcmp(a->v->name, b->v->name) == 0;
    link l = {.a = i, .b = k, .why = NONE, .share = 1, .count = a->v->x->cols};

    if (says(f, a, b) || says(f, b, a)) {
        l.why = SAID;
    } else if (a->v->same_as || b->v->same_as) {
        /* decided elsewhere */
    } else if (same && can_line_up(a, b)) {
        l.why = NAME;
    } else if (same) {
        ferry_i_text_addf(
            &f->apart, "%s%s.%s and %s.%s have one name, but %lld and %lld features%s",
            f->apart.len ? "; " : "", domain_name(f, a), a->v->name, domain_name(f, b),
            b->v->name, (long long)a->v->x->cols, (long long)b->v->x->cols,
            a->named == b->named ? " without names" : "");
    } else if (a->named && b->named) {
        const int64_t x = a->v->x->cols, y = b->v->x->cols, least = x < y ? x : y;
        l.count = common_names(a, b);
        /* Half of the smaller set: a vocabulary of 500 words inside one of 50000 is the
         * same kind. */
        l.share = (double)l.count / (double)least;
        if (l.count > 0 && 2 * l.count >= least) l.why = FEATURES;
    } else if (!a->named && !b->named && !chosen && a->v->x->cols == b->v->x->cols &&
               candidates(f, a) == 1 && candidates(f, b) == 1) {
        l.why = WIDTH;
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

/* A guess by width is the only link that is warned of: nothing in the data supports it. */
static void tell(ferry_ctx *ctx, finding *f, const link *l)
{
    /* the later domain first: "target.x = source.x" */
    const node *a = &f->node[l->b], *b = &f->node[l->a];

    ferry_i_text_addf(&f->text, "%s%s.%s = %s.%s ", f->text.len ? "; " : "",
                      domain_name(f, a), a->v->name, domain_name(f, b), b->v->name);
    if (l->why == SAID)
        ferry_i_text_add(&f->text, "as same_as says");
    else if (l->why == NAME)
        ferry_i_text_add(&f->text, "by name");
    else
        ferry_i_text_addf(&f->text, "by %lld %s", (long long)l->count,
                          l->why == FEATURES ? "feature names" : "columns without names");
    if (l->why == WIDTH)
        ferry_i_warn_once(
            ctx,
            "%s.%s and %s.%s are taken for the same %lld features, since nothing else is "
            "as wide; name the views, or say same_as: %s.%s or same_as: none",
            domain_name(f, b), b->v->name, domain_name(f, a), a->v->name,
            (long long)l->count, domain_name(f, b), b->v->name);
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
static ferry_status join_groups(ferry_ctx *ctx, finding *f)
{
    ferry_status st = FERRY_OK;

    for (int64_t i = 0; i < f->n_nodes; i++)
        for (int64_t k = i + 1; k < f->n_nodes; k++) {
            if (f->node[i].domain == f->node[k].domain) continue;
            const link l = weigh(f, i, k);
            if (l.why == NONE) continue;
            FERRY_HAVE(ctx, FERRY_GROW(f->link, f->n_links, f->cap_links));
            f->link[f->n_links++] = l;
        }
    if (f->n_links) qsort(f->link, (size_t)f->n_links, sizeof *f->link, by_strength);
    for (int64_t e = 0; e < f->n_links; e++) {
        const int64_t a = root(f, f->link[e].a), b = root(f, f->link[e].b);
        if (a == b || clash(f, a, b)) continue;
        f->node[a].parent = b; /* any tree will do: few views */
        tell(ctx, f, &f->link[e]);
    }
done:
    return st;
}

/* Groups numbered from the last domain's views on. */
static ferry_status number_groups(ferry_ctx *ctx, finding *f)
{
    ferry_status st = FERRY_OK;
    ferry_links *l = f->l;
    int32_t *number = NULL;

    FERRY_NEW(ctx, number, f->n_nodes);
    for (int64_t d = l->n - 1; d >= 0; d--)
        for (int64_t i = 0; i < f->n_nodes; i++) {
            const int64_t r = root(f, i);
            if (f->node[i].domain != d) continue;
            if (!number[r]) number[r] = (int32_t)++l->n_groups;
            l->group[d][f->node[i].view] = number[r] - 1;
        }
done:
    ferry_i_free(number);
    return st;
}

/* ---- all of it ---- */

/* Nodes domain after domain; group[d] has room for a number for each view of d. */
static ferry_status list_views(ferry_ctx *ctx, finding *f)
{
    ferry_status st = FERRY_OK;
    ferry_links *l = f->l;
    int64_t n = 0;

    FERRY_NEW(ctx, l->group, l->n);
    for (int64_t d = 0; d < l->n; d++) {
        FERRY_NEW(ctx, l->group[d], l->domain[d]->n_views);
        n += l->domain[d]->n_views;
    }
    FERRY_NEW(ctx, f->node, n);
    for (int64_t d = 0; d < l->n; d++)
        for (int64_t v = 0; v < l->domain[d]->n_views; v++) {
            const ferry_view *view = l->domain[d]->views[v];
            f->node[f->n_nodes] =
                (node){d, v, view, ferry_i_view_has_names(view), f->n_nodes};
            f->n_nodes++;
        }
done:
    return st;
}

/* Text that could not be built is out of memory, like everything else: no half sentence. */
ferry_status ferry_i_links_find(ferry_ctx *ctx, int64_t n,
                                const ferry_domain *const *domain, ferry_links **out)
{
    ferry_status st = FERRY_OK;
    finding f = {0};
    ferry_links *l = NULL;

    *out = NULL;
    FERRY_NEW(ctx, l, 1);
    f.l = l;
    FERRY_NEW(ctx, l->domain, n);
    l->n = n;
    /* The array is copied; the domains themselves must outlive the links. */
    if (n) memcpy(l->domain, domain, (size_t)n * sizeof *domain);
    FERRY_TRY(list_views(ctx, &f));
    FERRY_TRY(join_groups(ctx, &f));
    FERRY_TRY(number_groups(ctx, &f));
    FERRY_HAVE(ctx, !f.text.failed && !f.apart.failed); /* else their end may be missing */
    l->text = ferry_i_strdup(f.text.s ? f.text.s : "");
    l->apart = ferry_i_strdup(f.apart.s ? f.apart.s : "");
    FERRY_HAVE(ctx, l->text && l->apart);
    FERRY_MOVE(*out, l);
done:
    ferry_i_text_free(&f.text);
    ferry_i_text_free(&f.apart);
    FERRY_FREE(f.node, f.link);
    ferry_i_links_free(l);
    return st;
}

void ferry_i_links_free(ferry_links *l)
{
    if (!l) return;
    for (int64_t d = 0; l->group && d < l->n; d++)
        ferry_i_free(l->group[d]);
    FERRY_FREE(l->group, l->domain, l->text, l->apart, l);
}

const ferry_view *ferry_i_links_view(const ferry_links *l, int64_t d, int64_t g)
{
    for (int64_t v = 0; v < l->domain[d]->n_views; v++)
        if (l->group[d][v] == g) return l->domain[d]->views[v];
    return NULL;
}
