/* same: of a domain in a task file: columns that are another domain's under other names. They get the other name, and
 * all that goes by names of columns follows: which views are the same, what methods share. */
#include <string.h>

#include "task/file.h"
#include "task/task.h"

/* Whether a feature is column `from`, or one of the values of this column ("from=red"); how much of it is the column's
 * name, 0: it is none. */
static size_t column_in(const char *feature, const char *from)
{
    const size_t n = strlen(from);

    return strncmp(feature, from, n) == 0 && (feature[n] == 0 || feature[n] == '=') ? n : 0;
}

/* The features of a view with column `from` called `to`; *found: how many there were. */
static ferry_status rename_column(const ferry_place *at, ferry_view *v, const char *from,
                                  const char *to, int64_t *found)
{
    ferry_status st = FERRY_OK;
    ferry_ids *names = NULL;
    char *name = NULL;
    const int64_t before = *found;

    for (int64_t i = 0; i < v->x->cols; i++)
        *found += column_in(ferry_i_ids_at(v->features, i), from) > 0;
    if (*found == before) return FERRY_OK;
    names = ferry_i_ids_new();
    FERRY_HAVE(at->y->ctx, names);
    for (int64_t i = 0; i < v->x->cols; i++) {
        const char *was = ferry_i_ids_at(v->features, i);
        const size_t n = column_in(was, from);
        bool added = false;
        ferry_i_free(name);
        name = n > 0 ? ferry_i_sprintf("%s%s", to, was + n) : ferry_i_strdup(was);
        FERRY_HAVE(at->y->ctx, name);
        FERRY_NEED(at->y->ctx, ferry_i_ids_add(names, name, &added) >= 0, FERRY_ENOMEM,
                   "out of memory");
        if (!added)
            FERRY_TRY(ferry_i_place_bad(at, "there is a column '%s' already", name));
    }
    ferry_i_ids_free(v->features);
    v->features = names;
    names = NULL;
done:
    ferry_i_ids_free(names);
    ferry_i_free(name);
    return st;
}

ferry_status ferry_i_parse_same(const ferry_place *p, ferry_domain *d)
{
    ferry_status st = FERRY_OK;
    ferry_place key, value;

    /* new instances of the target come with the names of its own table */
    if (d->role == FERRY_TARGET)
        FERRY_TRY(ferry_i_place_bad(p, "say it of the source or bridge: {its column: the "
                                       "target's}"));
    FERRY_TRY(ferry_i_place_mapping(p, "{COLUMN: COLUMN of the target}"));
    for (int64_t i = 0; ferry_i_place_pair(p, i, &key, &value); i++) {
        const char *from = NULL, *to = NULL;
        int64_t found = 0;
        FERRY_TRY(ferry_i_place_string(&key, "the name of a column", &from));
        FERRY_TRY(ferry_i_place_string(&value, "the name of a column", &to));
        for (int64_t v = 0; v < d->n_views; v++)
            if (ferry_i_view_has_names(d->views[v]))
                FERRY_TRY(rename_column(&key, d->views[v], from, to, &found));
        if (found == 0) FERRY_TRY(ferry_i_place_bad(&key, "there is no column '%s'", from));
    }
done:
    return st;
}
