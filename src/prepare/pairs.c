/* Links between instances from a file, and pairs of rows of a task (pairs.h). */
#include "prepare/pairs.h"

#include <string.h>

static void free_data(void *data)
{
    ferry_data_free(data);
}

/* A file in any format of graphs; its weights are the links. */
links links_of_file(scope *s, const char *path, const domain *d, int64_t most)
{
    ferry_data *data = NULL;

    scope_check(s, ferry_i_read_as(scope_ctx(s), path, NULL, FERRY_DATA_GRAPH, &data));
    scope_defer(s, free_data, data);
    linked_pair *p = NEW(s, linked_pair, data->edges);
    for (int64_t e = 0; e < data->edges; e++) {
        const int32_t end[] = {data->from[e], data->to[e]};
        int64_t at[2];
        p[e].w = data->weight ? data->weight[e] : 1;
        if (p[e].w == 0)
            scope_fail(s, FERRY_EDATA,
                       "%s: pair %lld has 0, expected 1 (the same class) or -1 (another)",
                       data->path, (long long)e + 1);
        for (int k = 0; k < 2; k++) {
            const char *id = ferry_i_ids_at(data->nodes, end[k]);
            at[k] = ferry_i_ids_find(d->ids, id);
            if (at[k] < 0)
                scope_fail(s, FERRY_EDATA, "%s: '%s' is no instance of '%s'", data->path,
                           id, d->name);
        }
        p[e].a = at[0];
        p[e].b = at[1];
    }
    return links_of_pairs(s, d, data->edges, p, most);
}

/* ---- pairs ---- */

const ferry_pairs *task_pairs(const ferry_task *task)
{
    const ferry_domain *source = ferry_i_task_role(task, FERRY_SOURCE, 0),
                       *to = ferry_i_task_role(task, FERRY_TARGET, 0);

    return to && to->pairs ? to->pairs : source ? source->pairs : NULL;
}

/* Row of an instance, -1 when it has no features. Rows are in the order of the domain's instances. */
static int64_t row_of(const domain *d, const char *id)
{
    const int64_t at = ferry_i_ids_find(d->ids, id);
    int64_t lo = 0, hi = d->n;

    while (lo < hi) {
        const int64_t mid = lo + (hi - lo) / 2;
        if (d->instance[mid] < at)
            lo = mid + 1;
        else
            hi = mid;
    }
    return at >= 0 && lo < d->n && d->instance[lo] == at ? lo : -1;
}

void put_pairs(scope *s, const ferry_task *task, const char *method, problem *p)
{
    const ferry_pairs *from = task_pairs(task);
    const domain *source = &p->d[0], *to = target(p);

    if (!from) return;
    const bool turned = from->left_domain && strcmp(from->left_domain, to->name) == 0;
    if (from->left_domain &&
        (strcmp(turned ? from->right_domain : from->left_domain, source->name) != 0 ||
         strcmp(turned ? from->left_domain : from->right_domain, to->name) != 0))
        scope_fail(s, FERRY_ENEEDS,
                   "%s needs pairs of source '%s' and target '%s'; these are of '%s' and "
                   "'%s'",
                   method, source->name, to->name, from->left_domain, from->right_domain);
    int64_t *in_source = NEW(s, int64_t, from->n), *in_target = NEW(s, int64_t, from->n);
    for (int64_t i = 0; i < from->n; i++) {
        const int64_t a = row_of(source, turned ? from->right[i] : from->left[i]);
        const int64_t b = row_of(to, turned ? from->left[i] : from->right[i]);
        if (a < 0 || b < 0) continue;
        in_source[p->n_pairs] = a;
        in_target[p->n_pairs++] = b;
    }
    if (p->n_pairs == 0)
        scope_fail(s, FERRY_ENEEDS,
                   "%s: none of the %lld pairs has features in both source '%s' and target "
                   "'%s'",
                   method, (long long)from->n, source->name, to->name);
    p->paired = true;
    p->in_source = in_source;
    p->in_target = in_target;
}
