/* Filling a domain with labels, ratings, and what a file held. Inputs are copied, except
 * that the matrix of a file is shared, since it never changes. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "data/parts.h"

/* ---- labels ---- */

/* Where labels without ids belong: *use is NULL when they are the rows of the only view, in
 * order; else they are for the row numbers (*made, to be freed). Labels in the order of a
 * view's rows are the usual case. Where several views make that ambiguous, row numbers must
 * be the instances' very ids, all of them. */
static ferry_status without_ids(ferry_ctx *ctx, const ferry_domain *d, int64_t n,
                                ferry_ids **made)
{
    ferry_status st = FERRY_OK;
    const int64_t size = ferry_i_domain_id_count(d);

    *made = NULL;
    if (d->n_views == 1) {
        const int64_t rows = d->views[0]->x->rows;
        FERRY_NEED(ctx, n == rows, FERRY_EDATA,
                   "domain '%s': %lld labels without ids for the %lld rows of view '%s'%s",
                   d->name, (long long)n, (long long)rows, d->views[0]->name,
                   n == rows + 1
                       ? " (if the first line is a header: y: {file: FILE, header: yes})"
                       : "");
        return FERRY_OK;
    }
    FERRY_HAVE(ctx, *made = ferry_i_ids_numbers(n));
    for (int64_t i = 0; size > 0 && i < n; i++)
        FERRY_NEED(
            ctx, n == size && ferry_i_ids_find(d->ids, ferry_i_ids_at(*made, i)) >= 0,
            FERRY_EDATA,
            "domain '%s': %lld labels without ids, but its %lld instances have ids such "
            "as '%s'",
            d->name, (long long)n, (long long)size, ferry_i_domain_id_at(d, 0));
done:
    if (st != FERRY_OK) {
        ferry_i_ids_free(*made);
        *made = NULL;
    }
    return st;
}

/* Where the first line's id is the only unknown one: texts over texts look like labels. */
static const char *may_be_header(bool first)
{
    return first
               ? " (the first line; is it a header? then say y: {file: FILE, header: yes})"
               : "";
}

/* Labels by id, replacing those there are. ids NULL: the rows of the domain's only view in
 * order; with several views, or none, row numbers from 1. l is copied, spread over the
 * instances; those without a label are missing. d changes only when nothing can fail any
 * more. */
static ferry_status set_labels(ferry_ctx *ctx, ferry_domain *d, const ferry_ids *ids,
                               const ferry_labels *l)
{
    ferry_status st = FERRY_OK;
    ferry_growth g = {0};
    ferry_ids *made = NULL;
    ferry_labels *spread = NULL;
    int64_t *at = NULL;
    const int64_t before = ferry_i_domain_id_count(d);
    int64_t extra = 0;

    FERRY_TRY(ferry_i_domain_changeable(ctx, d));
    FERRY_NEED(ctx, !ids || ferry_i_ids_count(ids) == l->n, FERRY_EINVAL,
               "domain '%s': %lld ids for %lld labels", d->name,
               (long long)ferry_i_ids_count(ids), (long long)l->n);
    if (!ids) FERRY_TRY(without_ids(ctx, d, l->n, &made));
    if (ids || made) {
        FERRY_NEW(ctx, at, l->n);
        FERRY_TRY(ferry_i_growth_plan(ctx, d, ids ? ids : made, at, &g));
        FERRY_NEED(ctx, before == 0 || l->n == 0 || g.known > 0, FERRY_EDATA,
                   "domain '%s': none of the labels' ids ('%s', ...) is an instance ('%s', "
                   "...)",
                   d->name, ferry_i_ids_at(ids ? ids : made, 0),
                   ferry_i_domain_id_at(d, 0));
        extra = before > 0 ? l->n - g.known : 0;
    }
    /* without ids and with one view, row i's label goes to that row's instance */
    FERRY_TRY(ferry_i_labels_spread(ctx, l, ferry_i_growth_size(d, &g),
                                    at ? at : d->views[0]->instance, &spread));
    ferry_i_growth_apply(d, &g);
    ferry_i_labels_free(d->labels);
    d->labels = spread;
    d->labels_of_views = false;
    if (extra > 0) /* new instances stand last */
        ferry_i_log(
            ctx, FERRY_WARN,
            "domain '%s': %lld of %lld labels are for ids that it did not have (such "
            "as '%s'); it knows nothing else of them%s",
            d->name, (long long)extra, (long long)l->n,
            ferry_i_domain_id_at(d, ferry_i_domain_id_count(d) - 1),
            may_be_header(extra == 1 && at && at[0] == before));
done:
    ferry_i_growth_free(&g);
    ferry_i_ids_free(made);
    ferry_i_free(at);
    return st;
}

/* Checks shared by the public setters; *out are the ids, or NULL. */
static ferry_status label_ids(ferry_ctx *ctx, const ferry_domain *d, int64_t n,
                              const char *const *ids, const void *values, ferry_ids **out)
{
    char what[256];

    *out = NULL;
    if (n < 0 || (!values && n > 0))
        return ferry_i_fail(ctx, FERRY_EINVAL, "domain '%s': no labels given", d->name);
    snprintf(what, sizeof what, "domain '%s', labels: ids", d->name);
    if (ids) FERRY_PASS(ferry_i_ids_unique(ctx, what, n, ids, out));
    return FERRY_OK;
}

/* Classes are numbered as they come; NULL is a missing label. */
ferry_status ferry_domain_set_classes(ferry_ctx *ctx, ferry_domain *d, int64_t n,
                                      const char *const *ids, const char *const *labels)
{
    FERRY_ARGS(ctx, d, n == 0 ? "" : (const void *)labels);

    ferry_status st = FERRY_OK;
    ferry_ids *set = NULL;
    ferry_labels *l = NULL;

    FERRY_TRY(label_ids(ctx, d, n, ids, labels, &set));
    FERRY_TRY(ferry_i_labels_new(ctx, FERRY_LABEL_CLASS, n, NULL, &l));
    for (int64_t i = 0; i < n; i++) {
        if (!labels[i]) continue;
        const int64_t k = ferry_i_ids_add(l->names, labels[i], NULL);
        FERRY_HAVE(ctx, k >= 0 && k < INT32_MAX);
        l->cls[i] = (int32_t)k;
    }
    FERRY_TRY(set_labels(ctx, d, set, l));
done:
    ferry_i_labels_free(l);
    ferry_i_ids_free(set);
    return st;
}

/* NaN is a missing label; infinity is refused, no loss could be finite with it. */
ferry_status ferry_domain_set_numbers(ferry_ctx *ctx, ferry_domain *d, int64_t n,
                                      const char *const *ids, const double *values)
{
    FERRY_ARGS(ctx, d, n == 0 ? "" : (const void *)values);

    ferry_status st = FERRY_OK;
    ferry_ids *set = NULL;
    ferry_labels *l = NULL;

    FERRY_TRY(label_ids(ctx, d, n, ids, values, &set));
    FERRY_TRY(ferry_i_labels_new(ctx, FERRY_LABEL_NUMBER, n, NULL, &l));
    for (int64_t i = 0; i < n; i++) {
        FERRY_NEED(ctx, !isinf(values[i]), FERRY_EDATA,
                   "domain '%s': label %lld is %g, expected a finite number", d->name,
                   (long long)i + 1, values[i]);
        l->num[i] = values[i];
    }
    FERRY_TRY(set_labels(ctx, d, set, l));
done:
    ferry_i_labels_free(l);
    ferry_i_ids_free(set);
    return st;
}

/* on: n x m, row by row, any value but 0 is on. All rows count as known. */
ferry_status ferry_domain_set_labelsets(ferry_ctx *ctx, ferry_domain *d, int64_t n,
                                        const char *const *ids, int64_t m,
                                        const char *const *names, const uint8_t *on)
{
    FERRY_ARGS(ctx, d, n == 0 ? "" : (const void *)names, n == 0 ? "" : (const void *)on);

    ferry_status st = FERRY_OK;
    ferry_ids *set = NULL, *label_names = NULL;
    ferry_labels *l = NULL;

    FERRY_TRY(label_ids(ctx, d, n, ids, on, &set));
    FERRY_NEED(ctx, m >= 1 && names, FERRY_EINVAL,
               "domain '%s': label sets need the names of the labels", d->name);
    FERRY_TRY(ferry_i_ids_unique(ctx, "label names", m, names, &label_names));
    FERRY_TRY(ferry_i_labels_new(ctx, FERRY_LABEL_SET, n, label_names, &l));
    for (int64_t i = 0; i < n; i++)
        l->known[i] = 1;
    /* 0 or 1, whatever the caller's truth value is */
    for (int64_t e = 0; e < n * m; e++)
        l->on[e] = on[e] != 0;
    FERRY_TRY(set_labels(ctx, d, set, l));
done:
    ferry_i_labels_free(l);
    ferry_i_ids_free(label_names);
    ferry_i_ids_free(set);
    return st;
}

/* ---- weights ---- */

/* Where weight i belongs; FERRY_EDATA where nothing is there. */
static ferry_status weighed(ferry_ctx *ctx, const ferry_domain *d, const ferry_ids *set,
                            int64_t i, int64_t *at)
{
    *at = set ? ferry_i_ids_find(d->ids, ferry_i_ids_at(set, i)) : d->views[0]->instance[i];
    if (*at >= 0) return FERRY_OK;
    return ferry_i_fail(ctx, FERRY_EDATA,
                        "domain '%s': a weight for '%s', which is no instance", d->name,
                        ferry_i_ids_at(set, i));
}

ferry_status ferry_domain_set_weights(ferry_ctx *ctx, ferry_domain *d, int64_t n,
                                      const char *const *ids, const double *weights)
{
    FERRY_ARGS(ctx, d, n == 0 ? "" : (const void *)weights);

    ferry_status st = FERRY_OK;
    ferry_ids *set = NULL;
    double *weight = NULL, all = 0;
    const int64_t size = ferry_i_domain_id_count(d);

    FERRY_TRY(ferry_i_domain_changeable(ctx, d));
    FERRY_TRY(label_ids(ctx, d, n, ids, weights, &set));
    FERRY_NEED(ctx, ids || (d->n_views == 1 && d->views[0]->x->rows == n), FERRY_EDATA,
               "domain '%s': %lld weights without ids need one view with as many rows",
               d->name, (long long)n);
    FERRY_NEW(ctx, weight, size);
    for (int64_t i = 0; i < size; i++)
        weight[i] = 1;
    for (int64_t i = 0, at = 0; i < n; i++) {
        FERRY_NEED(ctx, isfinite(weights[i]) && weights[i] >= 0, FERRY_EDATA,
                   "domain '%s': weight %lld is %g, expected a number of 0 or more",
                   d->name, (long long)i + 1, weights[i]);
        FERRY_TRY(weighed(ctx, d, set, i, &at));
        weight[at] = weights[i];
    }
    for (int64_t i = 0; i < size; i++)
        all += weight[i];
    FERRY_NEED(ctx, all > 0, FERRY_EDATA, "domain '%s': all weights are zero", d->name);
    ferry_i_free(d->weight);
    d->n_weights = size;
    FERRY_MOVE(d->weight, weight);
done:
    ferry_i_free(weight);
    ferry_i_ids_free(set);
    return st;
}

/* ---- ratings ---- */

/* Ratings (stolen, also when the call fails). Of repeated pairs the last stays. NaN values stay: they are
 * the pairs to be predicted. */
static ferry_status set_ratings(ferry_ctx *ctx, ferry_domain *d, ferry_ratings *r)
{
    ferry_status st = FERRY_OK;

    FERRY_TRY(ferry_i_domain_changeable(ctx, d));
    for (int64_t e = 0; e < r->n; e++)
        FERRY_NEED(ctx, !isinf(r->value[e]), FERRY_EDATA,
                   "domain '%s': rating %lld is %g, expected a finite number", d->name,
                   (long long)e + 1, r->value[e]);
    FERRY_TRY(ferry_i_ratings_tidy(ctx, r));
    ferry_i_ratings_free(d->ratings);
    FERRY_MOVE(d->ratings, r);
done:
    ferry_i_ratings_free(r);
    return st;
}

/* Number of id among ids. */
static ferry_status number_id(ferry_ctx *ctx, const ferry_domain *d, ferry_ids *ids,
                              const char *id, int32_t *out)
{
    ferry_status st = FERRY_OK;
    int64_t at = -1;

    FERRY_NEED(ctx, id, FERRY_EINVAL, "domain '%s': a rating has a NULL id", d->name);
    at = ferry_i_ids_add(ids, id, NULL);
    FERRY_HAVE(ctx, at >= 0 && at < INT32_MAX);
    *out = (int32_t)at;
done:
    return st;
}

/* Users and items are numbered as they come, O(n). They are no instances: a domain's
 * ratings have ids of their own. */
ferry_status ferry_domain_set_ratings(ferry_ctx *ctx, ferry_domain *d, int64_t n,
                                      const char *const *users, const char *const *items,
                                      const double *values)
{
    FERRY_ARGS(ctx, d, n == 0 ? "" : (const void *)users,
               n == 0 ? "" : (const void *)items);

    ferry_status st = FERRY_OK;
    ferry_ratings *r = NULL;

    FERRY_NEED(ctx, n >= 0 && (n == 0 || (users && items && values)), FERRY_EINVAL,
               "domain '%s': no ratings given", d->name);
    FERRY_TRY(ferry_i_ratings_new(ctx, n, NULL, NULL, &r));
    for (int64_t e = 0; e < n; e++) {
        FERRY_TRY(number_id(ctx, d, r->users, users[e], &r->user[e]));
        FERRY_TRY(number_id(ctx, d, r->items, items[e], &r->item[e]));
        r->value[e] = values[e];
    }
    st = set_ratings(ctx, d, r);
    r = NULL;
done:
    ferry_i_ratings_free(r);
    return st;
}

/* ---- what a file held ---- */

/* Copies of two domains' labels that can be compared: of one kind, with the names of
 * both. Of two kinds the more general one is taken, since nothing is lost on the way there:
 * number -> class -> set. Numbers with texts go as classes. b's names come behind a's. */
static ferry_status alike(ferry_ctx *ctx, const ferry_labels *a, const ferry_labels *b,
                          ferry_labels **out_a, ferry_labels **out_b)
{
    ferry_status st = FERRY_OK;
    /* set if either is one; a number and a class meet as classes */
    const bool sets = a->kind == FERRY_LABEL_SET || b->kind == FERRY_LABEL_SET;
    const bool numbers = a->num && b->num && !a->text && !b->text;
    const ferry_label_kind kind = sets      ? FERRY_LABEL_SET
                                  : numbers ? FERRY_LABEL_NUMBER
                                            : FERRY_LABEL_CLASS;
    ferry_ids *names = NULL;

    FERRY_TRY(ferry_i_labels_as(ctx, a, kind, out_a));
    FERRY_TRY(ferry_i_labels_as(ctx, b, kind, out_b));
    if (kind == FERRY_LABEL_NUMBER) goto done;
    /* the union of both sides' names, and both numbered by it */
    FERRY_HAVE(ctx, names = ferry_i_ids_copy((*out_a)->names));
    for (int64_t k = 0; k < ferry_i_labels_m(*out_b); k++)
        FERRY_HAVE(ctx,
                   ferry_i_ids_add(names, ferry_i_ids_at((*out_b)->names, k), NULL) >= 0);
    FERRY_TRY(ferry_i_labels_rename(ctx, *out_a, names, false));
    FERRY_TRY(ferry_i_labels_rename(ctx, *out_b, names, false));
done:
    ferry_i_ids_free(names);
    return st;
}

/* Whether two class names of one instance mean the same: also 1 and 1.0, which the goal may
 * turn into numbers. The first stays. */
static bool same_name(const char *a, const char *b)
{
    double x;

    return strcmp(a, b) == 0 || ferry_i_same_number(a, b, &x);
}

/* Label i of a and j of b, which are alike. */
static bool same_label(const ferry_labels *a, int64_t i, const ferry_labels *b, int64_t j)
{
    const int64_t m = ferry_i_labels_m(a);

    if (a->cls)
        return same_name(ferry_i_ids_at(a->names, a->cls[i]),
                         ferry_i_ids_at(b->names, b->cls[j]));
    if (a->num) return a->num[i] == b->num[j];
    return memcmp(a->on + i * m, b->on + j * m, (size_t)m) == 0;
}

/* A common file of labels often covers more than one domain. Labels that belong elsewhere
 * would otherwise become instances of which nothing is known. */
ferry_status ferry_i_data_known_labels(ferry_ctx *ctx, const ferry_domain *d,
                                       ferry_data *data)
{
    ferry_status st = FERRY_OK;
    const int64_t n = data->labels->n;
    ferry_ids *ids = ferry_i_ids_new();
    ferry_labels *l = NULL;
    const char *other = "";
    int64_t known = 0, k = 0;

    FERRY_HAVE(ctx, ids);
    for (int64_t i = 0; data->ids && i < n; i++)
        known += ferry_i_ids_find(d->ids, ferry_i_ids_at(data->ids, i)) >= 0;
    /* without ids none counts as known, and nothing is left out */
    if (known == 0 || known == n) goto done; /* adding them will show */
    FERRY_TRY(ferry_i_labels_like(ctx, data->labels, known, &l));
    for (int64_t i = 0; i < n; i++) {
        const char *id = ferry_i_ids_at(data->ids, i);
        if (ferry_i_ids_find(d->ids, id) < 0) {
            other = id;
            continue;
        }
        FERRY_HAVE(ctx, ferry_i_ids_add(ids, id, NULL) >= 0);
        ferry_i_labels_put(l, k++, data->labels, i);
    }
    ferry_i_log(
        ctx, FERRY_WARN,
        "domain '%s': %lld of %lld labels are for ids that are in none of its views "
        "(such as '%s') and were left out%s",
        d->name, (long long)(n - known), (long long)n, other,
        may_be_header(n - known == 1 && other == ferry_i_ids_at(data->ids, 0)));
    ferry_i_ids_free(data->ids);
    ferry_i_labels_free(data->labels);
    data->ids = ids;
    data->labels = l;
    ids = NULL;
    l = NULL;
done:
    ferry_i_ids_free(ids);
    ferry_i_labels_free(l);
    return st;
}

/* Labels that a further view's file has, row by row: they fill what is missing, and
 * must not say something else about an instance than the files before. O(rows). Both sides
 * are brought to one kind first. */
static ferry_status merge_labels(ferry_ctx *ctx, ferry_domain *d, const ferry_view *v,
                                 const ferry_labels *more)
{
    ferry_status st = FERRY_OK;
    ferry_labels *all = NULL, *l = NULL;

    FERRY_TRY(alike(ctx, d->labels, more, &all, &l));
    for (int64_t i = 0; i < l->n; i++) {
        const int64_t at = v->instance[i];
        /* a missing label contradicts nothing */
        if (!ferry_i_labels_has(l, i)) continue;
        FERRY_NEED(ctx, !ferry_i_labels_has(all, at) || same_label(all, at, l, i),
                   FERRY_EDATA,
                   "domain '%s': the file of view '%s' has another label for instance '%s' "
                   "than the views before it",
                   d->name, v->name, ferry_i_domain_id_at(d, at));
        if (!ferry_i_labels_has(all, at)) ferry_i_labels_put(all, at, l, i);
    }
    ferry_i_labels_free(d->labels);
    FERRY_MOVE(d->labels, all);
done:
    ferry_i_labels_free(all);
    ferry_i_labels_free(l);
    return st;
}

/* A view and, with it, the labels that stood in its file. Labels that were set otherwise
 * win: then those of the file are not looked at. Labels of several views' files are
 * merged. */
static ferry_status add_view_data(ferry_ctx *ctx, ferry_domain *d, const char *name,
                                  const ferry_data *data)
{
    ferry_status st = FERRY_OK;
    ferry_ids *numbers = NULL;
    ferry_view *v = NULL;

    FERRY_NEED(ctx, name && name[0], FERRY_EINVAL, "domain '%s': a view needs a name",
               d->name);
    /* A line number is a poor id: one line more or less (a blank one) would shift all. */
    FERRY_NEED(
        ctx,
        data->ids || ferry_i_domain_id_count(d) == 0 ||
            data->x->rows == ferry_i_domain_id_count(d),
        FERRY_EDATA,
        "domain '%s', view '%s': %lld rows without ids for %lld instances: files are "
        "joined by row number only when the counts are equal; give ids",
        d->name, name, (long long)data->x->rows, (long long)ferry_i_domain_id_count(d));
    FERRY_TRY(
        ferry_i_view_new(ctx, name, data->x, data->features, data->read, data->idf, &v));
    FERRY_TRY(ferry_i_domain_add_view(ctx, d, data->ids, v));
    if (!data->labels) goto done;
    /* labels that the user set apart from the views stay as they are */
    if (d->labels) {
        if (d->labels_of_views)
            FERRY_TRY(merge_labels(ctx, d, d->views[d->n_views - 1], data->labels));
        goto done;
    }
    /* with several views set_labels() could not know whose rows are meant */
    if (!data->ids && d->n_views > 1) { /* joined as the rows were */
        FERRY_HAVE(ctx, numbers = ferry_i_ids_numbers(data->x->rows));
    }
    FERRY_TRY(set_labels(ctx, d, data->ids ? data->ids : numbers, data->labels));
    d->labels_of_views = true;
done:
    ferry_i_ids_free(numbers);
    return st;
}

/* Copies, because add_edges() overwrites node numbers by instances. */
static ferry_status add_graph_data(ferry_ctx *ctx, ferry_domain *d, const char *name,
                                   const ferry_data *data)
{
    ferry_status st = FERRY_OK;
    int64_t *from = ferry_i_calloc(data->edges, sizeof *from);
    int64_t *to = ferry_i_calloc(data->edges, sizeof *to);

    FERRY_HAVE(ctx, from && to);
    for (int64_t e = 0; e < data->edges; e++) {
        from[e] = data->from[e];
        to[e] = data->to[e];
    }
    FERRY_TRY(ferry_i_domain_add_edges(ctx, d, name, data->nodes, data->edges, from, to,
                                       data->weight));
done:
    FERRY_FREE(from, to);
    return st;
}

/* data stays the caller's and may be added to several domains. */
ferry_status ferry_domain_add_data(ferry_ctx *ctx, ferry_domain *d, const char *name,
                                   const ferry_data *data)
{
    FERRY_ARGS(ctx, d, data);

    ferry_status st = FERRY_OK;
    ferry_ratings *r = NULL;

    switch (data->kind) {
    case FERRY_DATA_VIEW: return add_view_data(ctx, d, name, data);
    case FERRY_DATA_GRAPH: return add_graph_data(ctx, d, name, data);
    case FERRY_DATA_LABELS: return set_labels(ctx, d, data->ids, data->labels);
    case FERRY_DATA_RATINGS:
        FERRY_TRY(ferry_i_ratings_share(ctx, data->ratings, &r));
        return set_ratings(ctx, d, r);
    case FERRY_DATA_LISTING: break;
    }
    FERRY_NEED(ctx, false, FERRY_EDATA,
               "%s: holds several variables; pick one by FILE#NAME", data->path);
done:
    return st;
}
