/* Delimited text: which columns are ids, labels and features, from the options and names.
 *
 * Options win over names; a column called id or label is one by itself. A name wins over a
 * number: with a header 0,1,2 label=1 is the column called 1. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "data/delimited.h"

/* Column called word (n bytes) by name, number from 1, first or last; -1: none. */
static int64_t column_called(const ferry_table *t, const char *word, size_t n)
{
    int64_t j = 0;

    for (j = 0; j < t->cols; j++)
        if (t->col[j].name && strlen(t->col[j].name) == n &&
            memcmp(t->col[j].name, word, n) == 0)
            return j;
    if (n == 5 && memcmp(word, "first", 5) == 0) return 0;
    if (n == 4 && memcmp(word, "last", 4) == 0) return t->cols - 1;
    if (ferry_i_parse_int(word, word + n, &j) == word + n && j >= 1 && j <= t->cols)
        return j - 1;
    return -1;
}

/* For ferry_i_nearest(), which suggests a name. Only asked with a header, so no name is
 * NULL. */
static const char *name_at(const void *arg, int64_t i)
{
    const ferry_table *t = arg;

    return t->col[i].name;
}

/* Always an error, which is why callers go on as if it did not return. The names are shown, since a
 * first line that is none (a comment, say) is seen at once that way. */
static ferry_status no_column(ferry_ctx *ctx, const ferry_table *t, const char *option,
                              const char *word, size_t n)
{
    char shown[100] = "", names[120] = "";
    const char *near = NULL;
    size_t len = 0;

    memcpy(shown, word, n < sizeof shown ? n : sizeof shown - 1);
    if (t->header) near = ferry_i_nearest(shown, t->cols, name_at, t);
    for (int64_t j = 0; t->header && j < t->cols && len < 80; j++)
        len += (size_t)snprintf(names + len, sizeof names - len, "%s%.30s", j ? ", " : ": ",
                                t->col[j].name);
    if (!t->header) {
        const char *nl = memchr(t->body, '\n', (size_t)(t->end - t->body));
        const int64_t line =
            (nl ? nl - (nl > t->body && nl[-1] == '\r') : t->end) - t->body;
        (void)snprintf(names, sizeof names, "; its first line, '%.*s', is no header",
                       (int)(line < 60 ? line : 60), t->body);
    }
    return ferry_i_bad(ctx, t->in->path, 0, "no column %s (%s=) among its %lld%s%s%s%s%s",
                       shown, option, (long long)t->cols, names, len >= 80 ? ", ..." : "",
                       near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

/* New data for an old view may lack its labels: then `last`, or a number, is a feature, as
 * its name tells, or, without names, that all columns but ids are features. */
static bool lacks_label(const ferry_table *t, int64_t j)
{
    int64_t ids = 0;

    if (!t->s->like) return false;
    if (t->col[j].name) return ferry_i_was_feature(t->s, t->col[j].name);
    for (int64_t k = 0; k < t->cols; k++)
        ids += t->col[k].role == FERRY_COL_ID;
    return t->s->columns > 0 && t->cols - ids == t->s->columns;
}

/* Give the columns of a list "a,b,c" a role. *count: how many. may_lack: data read for an
 * old view may come without its labels, and without the columns that were dropped then. */
static ferry_status mark_list(ferry_ctx *ctx, ferry_table *t, const char *option,
                              const char *list, ferry_role_of role, bool may_lack,
                              int64_t *count)
{
    /* the list as one name first */
    const int64_t whole = column_called(t, list, strlen(list));

    *count = 0;
    if (whole >= 0) { /* also a name with a comma in it */
        if (role == FERRY_COL_LABEL && lacks_label(t, whole)) return FERRY_OK;
        t->col[whole].role = role;
        *count = 1;
        return FERRY_OK;
    }
    for (const char *s = list; *s;) {
        const size_t n = strcspn(s, ",");
        const int64_t j = column_called(t, s, n);
        /* a column that need not be there is passed over */
        if (j < 0 && !may_lack) FERRY_PASS(no_column(ctx, t, option, s, n));
        if (j >= 0 && !(role == FERRY_COL_LABEL && lacks_label(t, j))) {
            t->col[j].role = role;
            (*count)++;
        }
        s += n;
        s += *s == ',';
    }
    return FERRY_OK;
}

/* "last:14" and "first:14". False: neither. A count of columns from one end, as files of
 * multi-label sets are described. */
static bool mark_range(ferry_table *t, const char *spec, int64_t *count)
{
    const bool last = strncmp(spec, "last:", 5) == 0;
    const char *n = strchr(spec, ':'), *end = spec + strlen(spec);

    if ((!last && strncmp(spec, "first:", 6) != 0) ||
        ferry_i_parse_int(n + 1, end, count) != end || *count < 1 || *count > t->cols)
        return false;
    if (lacks_label(t, last ? t->cols - 1 : 0)) {
        *count = 0;
        return true;
    }
    for (int64_t k = 0; k < *count; k++)
        t->col[last ? t->cols - *count + k : k].role = FERRY_COL_LABEL;
    return true;
}

/* Columns called label, and those called label:NAME, which make a set. The first column
 * called label wins, and label:NAME ones are then ordinary features: a file has labels of
 * one kind. */
static void find_labels(ferry_table *t, int64_t *count)
{
    for (int64_t j = 0; j < t->cols; j++)
        if (t->col[j].name && strcasecmp(t->col[j].name, "label") == 0 && *count == 0) {
            t->col[j].role = FERRY_COL_LABEL;
            *count = 1;
        }
    for (int64_t j = 0; j < t->cols && (*count == 0 || t->sets); j++)
        if (t->col[j].name && strncmp(t->col[j].name, "label:", 6) == 0) {
            t->col[j].role = FERRY_COL_LABEL;
            t->sets = true;
            (*count)++;
        }
}

/* Several columns are a set, whichever way they were named. label=none turns the names
 * off. */
static ferry_status mark_labels(ferry_ctx *ctx, ferry_table *t, int64_t *count)
{
    const char *label = t->s->label;

    *count = 0;
    if (label[0] && strcmp(label, "none") != 0) {
        if (mark_range(t, label, count))
            t->sets = *count > 0; /* also when it is one */
        else
            FERRY_PASS(
                mark_list(ctx, t, "label", label, FERRY_COL_LABEL, t->s->like, count));
        if (*count > 1) t->sets = true;
    } else if (!label[0]) {
        find_labels(t, count);
    }
    return FERRY_OK;
}

/* The option, else the first column called id, else a first one without a name. id=none turns that off. */
static ferry_status mark_ids(ferry_ctx *ctx, ferry_table *t, int64_t *count)
{
    const char *id = t->s->id;

    *count = 0;
    if (id[0] && strcmp(id, "none") != 0) {
        const int64_t j = column_called(t, id, strlen(id));
        if (j < 0) FERRY_PASS(no_column(ctx, t, "id", id, strlen(id)));
        t->col[j].role = FERRY_COL_ID;
        *count = 1;
    }
    /* a first column without a name holds names of rows, as R and pandas write them */
    if (!id[0] && t->cols > 1 && t->col[0].unnamed &&
        !ferry_i_was_feature(t->s, t->col[0].name)) {
        t->col[0].role = FERRY_COL_ID;
        *count = 1;
    }
    for (int64_t j = 0; j < t->cols && !id[0]; j++)
        if (t->col[j].name && strcasecmp(t->col[j].name, "id") == 0) {
            if (*count) t->col[0].role = FERRY_COL_DROP; /* row numbers beside ids */
            t->col[j].role = FERRY_COL_ID;
            *count = 1;
            break;
        }
    return FERRY_OK;
}

/* Read for labels: one label a line, or id and label. Other columns are left out. Two
 * columns without an id are id and label in that order, unless the option id says
 * otherwise. With label= given the rest is left out whatever it is. */
static ferry_status labels_only(ferry_ctx *ctx, ferry_table *t, int64_t ids, int64_t labels)
{
    ferry_status st = FERRY_OK;

    if (labels == 0) {
        FERRY_NEED(ctx, t->cols - ids == 1 || (t->cols == 2 && ids == 0), FERRY_EDATA,
                   "%s: expected one label a line or id and label, found %lld columns; say "
                   "which with label=",
                   t->in->path, (long long)t->cols);
        const bool pair = t->cols == 2 && ids == 0 && !t->s->id[0];
        if (pair) t->col[0].role = FERRY_COL_ID;
        for (int64_t j = 0; j < t->cols; j++)
            if (t->col[j].role != FERRY_COL_ID) t->col[j].role = FERRY_COL_LABEL;
    }
    for (int64_t j = 0; j < t->cols; j++)
        if (t->col[j].role == FERRY_COL_NUMBER || t->col[j].role == FERRY_COL_CATEGORY)
            t->col[j].role = FERRY_COL_DROP;
done:
    return st;
}

/* What stands before an = in the features: names of columns that were categories. Every =
 * in a feature's name may be the one that was put there: column and value may both hold
 * one. So all prefixes are taken, and a column matches if its whole name is one of them. */
static ferry_status category_names(ferry_ctx *ctx, const ferry_table *t, ferry_ids *names)
{
    const ferry_ids *v = t->s->vocabulary;

    for (int64_t k = 0; k < ferry_i_ids_count(v); k++) {
        const char *f = ferry_i_ids_at(v, k);
        for (const char *s = strchr(f, '='); s; s = strchr(s + 1, '='))
            if (ferry_i_ids_addn(names, f, s - f, NULL) < 0) return ferry_i_nomem(ctx);
    }
    return FERRY_OK;
}

/* Columns stay what they were when the view was read first. For new data of a view that was
 * read before. A column of numbers must be one again (text in it is refused, not made
 * categories), and one of categories stays one even where this file's values all happen to
 * be numbers. Columns that the view did not have keep their guess. */
static ferry_status as_before(ferry_ctx *ctx, ferry_table *t)
{
    ferry_status st = FERRY_OK;
    const ferry_ids *v = t->s->vocabulary;
    ferry_ids *categories = ferry_i_ids_new();

    FERRY_HAVE(ctx, categories);
    if (v) FERRY_TRY(category_names(ctx, t, categories));
    for (int64_t j = 0; j < t->cols && v; j++) {
        ferry_column *c = &t->col[j];
        if (!c->name || (c->role != FERRY_COL_NUMBER && c->role != FERRY_COL_CATEGORY))
            continue;
        if (ferry_i_ids_find(v, c->name) >= 0) {
            c->role = FERRY_COL_NUMBER;
            c->must_be_number = true;
        } else if (ferry_i_ids_find(categories, c->name) >= 0) {
            c->role = FERRY_COL_CATEGORY;
        }
    }
done:
    ferry_i_ids_free(categories);
    return st;
}

/* Ids first, then labels, then drop: where options overlap the later one has the column. */
ferry_status ferry_i_table_roles(ferry_ctx *ctx, ferry_table *t)
{
    int64_t ids = 0, labels = 0, dropped = 0, left = 0;

    FERRY_PASS(mark_ids(ctx, t, &ids));
    FERRY_PASS(mark_labels(ctx, t, &labels));
    if (t->s->drop[0])
        FERRY_PASS(
            mark_list(ctx, t, "drop", t->s->drop, FERRY_COL_DROP, t->s->like, &dropped));
    if (t->as == FERRY_DATA_LABELS) {
        FERRY_PASS(labels_only(ctx, t, ids, labels));
        return FERRY_OK;
    }
    FERRY_PASS(as_before(ctx, t));
    for (int64_t j = 0; j < t->cols; j++)
        left += t->col[j].role == FERRY_COL_NUMBER || t->col[j].role == FERRY_COL_CATEGORY;
    return left > 0 ? FERRY_OK
                    : ferry_i_fail(ctx, FERRY_EDATA, "%s: no column is left for features",
                                   t->in->path);
}
