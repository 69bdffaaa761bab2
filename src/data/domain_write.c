/* A domain's view as a file: what a task read (text weighed, vocabularies divided, files
 * joined) for other programs. */
#include "data/data.h"

/* Labels of the view's rows: row i is instance v->instance[i] of the domain. */
static ferry_status labels_of_rows(ferry_ctx *ctx, const ferry_labels *all,
                                   const ferry_view *v, ferry_labels **out)
{
    FERRY_PASS(ferry_i_labels_like(ctx, all, v->x->rows, out));
    for (int64_t i = 0; i < v->x->rows; i++)
        ferry_i_labels_put(*out, i, all, v->instance[i]);
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
