/* A domain's view as a file: what a task read (text weighed, vocabularies divided, files
 * joined) for other programs. */
#include <string.h>

#include "data/data.h"

/* Labels of the view's rows. */
static ferry_status labels_of_rows(ferry_ctx *ctx, const ferry_labels *all,
                                   const ferry_view *v, ferry_labels **out)
{
    ferry_labels *l = NULL;
    const int64_t m = ferry_i_labels_m(all);

    FERRY_PASS(ferry_i_labels_new(ctx, all->kind, v->x->rows, all->names, &l));
    for (int64_t i = 0; i < v->x->rows; i++) {
        /* row i of the view is instance `at` of the domain */
        const int64_t at = v->instance[i];
        if (l->cls) l->cls[i] = all->cls[at];
        if (l->num) l->num[i] = all->num[at];
        if (l->on) {
            l->known[i] = all->known[at];
            memcpy(l->on + i * m, all->on + at * m, (size_t)m);
        }
    }
    *out = l;
    return FERRY_OK;
}

/* view NULL: the only one. The rows are the view's, with the domain's ids and labels for
 * them; instances that this view lacks are not written. x is shared, not copied. */
ferry_status ferry_domain_write(ferry_ctx *ctx, const ferry_domain *d, const char *view,
                                const char *path, const ferry_opts *opts)
{
    FERRY_ARGS(ctx, d, path);

    ferry_status st = FERRY_OK;
    const ferry_view *v = view              ? ferry_i_domain_view(d, view)
                          : d->n_views == 1 ? d->views[0]
                                            : NULL;
    ferry_data *data = ferry_i_data_new("domain", path, FERRY_DATA_VIEW);

    FERRY_NEED(ctx, v, FERRY_EINVAL, "domain '%s' has %lld views%s%s", d->name,
               (long long)d->n_views, view ? " and none called " : ": which?",
               view ? view : "");
    FERRY_HAVE(ctx, data);
    data->x = ferry_i_matrix_ref(v->x);
    FERRY_HAVE(ctx, data->ids = ferry_i_ids_new());
    for (int64_t i = 0; i < v->x->rows; i++) {
        const char *id = ferry_i_ids_at(d->ids, v->instance[i]);
        FERRY_HAVE(ctx, ferry_i_ids_add(data->ids, id, NULL) >= 0);
    }
    if (v->features) data->features = ferry_i_ids_copy(v->features);
    FERRY_HAVE(ctx, data->features || !v->features);
    if (d->labels) FERRY_TRY(labels_of_rows(ctx, d->labels, v, &data->labels));
    FERRY_TRY(ferry_write(ctx, data, path, opts));
done:
    ferry_data_free(data);
    return st;
}
