/* Delimited text: which columns are ids, labels and features, from the options and names.
 *
 * Options win over names; a column called id or label is one by itself. A name wins over a
 * number: with a header 0,1,2 label=1 is the column called 1. */
#include "data/delimited.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Column called word (n bytes) by name, number from 1, first or last; -1: none. */
static int64_t column_called(const table *t, const char *word, size_t n)
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
    const table *t = arg;

    return t->col[i].name;
}

/* The names are shown, since a
 * first line that is none (a comment, for instance) is seen at once that way. */
static _Noreturn void no_column(const table *t, const char *option, const char *word,
                                size_t n)
{
    char shown[100] = "", names[120] = "";
    const char *closest = NULL;
    size_t len = 0;

    memcpy(shown, word, n < sizeof shown ? n : sizeof shown - 1);
    if (t->header) closest = ferry_i_nearest(shown, t->cols, name_at, t);
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
    bad_at(t->s, t->from->path, 0, "no column %s (%s=) among its %lld%s%s%s%s%s", shown,
           option, (long long)t->cols, names, len >= 80 ? ", ..." : "",
           closest ? "; did you mean " : "", closest ? closest : "", closest ? "?" : "");
}

/* New data for an old view may lack its labels: then `last`, or a number, is a feature, as
 * its name shows, or, without names, that all columns but ids are features. */
static bool lacks_label(const table *t, int64_t j)
{
    int64_t ids = 0;

    if (!t->set->like) return false;
    if (t->col[j].name) return ferry_i_was_feature(t->set, t->col[j].name);
    for (int64_t k = 0; k < t->cols; k++)
        ids += t->col[k].role == COL_ID;
    return t->set->columns > 0 && t->cols - ids == t->set->columns;
}

/* Give the columns of a list "a,b,c" a role; how many. may_lack: data read for an
 * old view may come without its labels, and without the columns that were dropped then. */
static int64_t mark_list(table *t, const char *option, const char *list, role_of role,
                         bool may_lack)
{
    /* the list as one name first: also a name with a comma in it */
    const int64_t one = column_called(t, list, strlen(list));
    int64_t count = 0;

    if (one >= 0) {
        if (role == COL_LABEL && lacks_label(t, one)) return 0;
        t->col[one].role = role;
        return 1;
    }
    for (const char *s = list; *s;) {
        const size_t n = strcspn(s, ",");
        const int64_t j = column_called(t, s, n);
        /* a column that need not be there is passed over */
        if (j < 0 && !may_lack) no_column(t, option, s, n);
        if (j >= 0 && !(role == COL_LABEL && lacks_label(t, j))) {
            t->col[j].role = role;
            count++;
        }
        s += n;
        s += *s == ',';
    }
    return count;
}

/* "last:14" and "first:14". False: neither. A count of columns from one end, as files of
 * multi-label sets are described. */
static bool mark_range(table *t, const char *spec, int64_t *count)
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
        t->col[last ? t->cols - *count + k : k].role = COL_LABEL;
    return true;
}

/* Columns called label, and those called label:NAME, which make a set. The first column
 * called label wins, and label:NAME ones are then ordinary features: a file has labels of
 * one kind. */
static void find_labels(table *t, int64_t *count)
{
    for (int64_t j = 0; j < t->cols; j++)
        if (t->col[j].name && strcasecmp(t->col[j].name, "label") == 0 && *count == 0) {
            t->col[j].role = COL_LABEL;
            *count = 1;
        }
    for (int64_t j = 0; j < t->cols && (*count == 0 || t->sets); j++)
        if (t->col[j].name && strncmp(t->col[j].name, "label:", 6) == 0) {
            t->col[j].role = COL_LABEL;
            t->sets = true;
            (*count)++;
        }
}

/* Several columns are a set, whichever way they were named. label=none turns the names
 * off. How many. */
static int64_t mark_labels(table *t)
{
    const char *label = t->set->label;
    int64_t count = 0;

    if (!label[0]) {
        find_labels(t, &count);
    } else if (strcmp(label, "none") != 0) {
        if (mark_range(t, label, &count))
            t->sets = count > 0; /* also when it is one */
        else
            count = mark_list(t, "label", label, COL_LABEL,
                              t->set->like || t->set->label_elsewhere);
        if (count > 1) t->sets = true;
    }
    return count;
}

/* The option, else the first column called id, else a first one without a name. id=none turns that off.
 * How many: 0 or 1. */
static int64_t mark_ids(table *t)
{
    const char *id = t->set->id;

    if (id[0] && strcmp(id, "none") != 0) {
        const int64_t j = column_called(t, id, strlen(id));
        if (j < 0) no_column(t, "id", id, strlen(id));
        t->col[j].role = COL_ID;
        return 1;
    }
    if (id[0]) return 0;
    /* a first column without a name holds names of rows, as R and pandas write them */
    const bool unnamed =
        t->cols > 1 && t->col[0].unnamed && !ferry_i_was_feature(t->set, t->col[0].name);
    if (unnamed) t->col[0].role = COL_ID;
    for (int64_t j = 0; j < t->cols; j++)
        if (t->col[j].name && strcasecmp(t->col[j].name, "id") == 0) {
            if (unnamed) t->col[0].role = COL_DROP; /* row numbers beside ids */
            t->col[j].role = COL_ID;
            return 1;
        }
    return unnamed;
}

/* Read for labels: one label a line, or id and label. Other columns are left out. Two
 * columns without an id are id and label in that order, unless the option id says
 * otherwise. With label= given the rest is left out whatever it is. */
static void labels_only(table *t, int64_t ids, int64_t labels)
{
    if (labels == 0) {
        if (t->cols - ids != 1 && !(t->cols == 2 && ids == 0))
            bad_at(t->s, t->from->path, 0,
                   "expected one label a line or id and label, found %lld columns; say "
                   "which with label=",
                   (long long)t->cols);
        if (t->cols == 2 && ids == 0 && !t->set->id[0]) t->col[0].role = COL_ID;
        for (int64_t j = 0; j < t->cols; j++)
            if (t->col[j].role != COL_ID) t->col[j].role = COL_LABEL;
    }
    for (int64_t j = 0; j < t->cols; j++)
        if (is_feature(&t->col[j])) t->col[j].role = COL_DROP;
}

/* What stands before an = in the features: names of columns that were categories. Every =
 * in a feature's name may be the one that was put there: column and value may both hold
 * one. So all prefixes are taken, and a column matches if its whole name is one of them. */
static const ferry_ids *category_names(const table *t)
{
    const ferry_ids *v = t->set->vocabulary;
    ferry_ids *names = new_ids(t->s);

    for (int64_t k = 0; k < ferry_i_ids_count(v); k++) {
        const char *f = ferry_i_ids_at(v, k);
        for (const char *s = strchr(f, '='); s; s = strchr(s + 1, '='))
            (void)add_id(t->s, names, f, s - f, NULL);
    }
    return names;
}

/* Columns stay what they were when the view was read first. For new data of a view that was
 * read before. A column of numbers must be one again (text in it is refused, not made
 * categories), and one of categories stays one even where this file's values all happen to
 * be numbers. Columns that the view did not have keep their guess. */
static void as_before(table *t)
{
    const ferry_ids *v = t->set->vocabulary;
    const ferry_ids *categories = v ? category_names(t) : NULL;

    for (int64_t j = 0; j < t->cols && v; j++) {
        column *c = &t->col[j];
        if (!c->name || !is_feature(c)) continue;
        if (ferry_i_ids_find(v, c->name) >= 0) {
            c->role = COL_NUMBER;
            c->must_be_number = true;
        } else if (ferry_i_ids_find(categories, c->name) >= 0) {
            c->role = COL_CATEGORY;
        }
    }
}

/* Ids first, then labels, then drop: where options overlap the later one has the column. */
void table_roles(table *t)
{
    const int64_t ids = mark_ids(t), labels = mark_labels(t);
    int64_t left = 0;

    if (t->set->drop[0]) (void)mark_list(t, "drop", t->set->drop, COL_DROP, t->set->like);
    if (t->from->as == FERRY_DATA_LABELS) {
        labels_only(t, ids, labels);
        return;
    }
    as_before(t);
    for (int64_t j = 0; j < t->cols; j++)
        left += is_feature(&t->col[j]);
    if (left == 0) bad_at(t->s, t->from->path, 0, "no column is left for features");
}
