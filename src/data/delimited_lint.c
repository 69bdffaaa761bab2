/* Delimited text: columns of features that are most likely something else. Each would spoil every
 * result without a word, so it is named; nothing is changed. */
#include "data/delimited.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#define MOST_NAMED 8 /* columns that a warning names */

/* ---- labels and ids ---- */

/* How much of a name is its own: without the " (2)" of one that is there again. */
static size_t own_length(const char *name)
{
    const char *open = strrchr(name, '(');
    const size_t digits = open ? strspn(open + 1, "0123456789") : 0;

    return digits > 0 && strcmp(open + 1 + digits, ")") == 0 && open > name + 1 &&
                   open[-1] == ' '
               ? (size_t)(open - 1 - name)
               : strlen(name);
}

/* Whether a column's name says that it is a label or an id. */
static bool odd_name(const char *name)
{
    static const char *const words[] = {
        "class", "classes", "label",  "labels",   "target",     "targets", "outcome",
        "truth", "gt",      "id",     "ids",      "uid",        "uuid",    "index",
        "row",   "rowid",   "row_id", "rownames", "unnamed: 0", "key"};
    const size_t n = own_length(name);

    for (int64_t i = 0; i < FERRY_COUNT(words); i++)
        if (n == strlen(words[i]) && strncasecmp(name, words[i], n) == 0) return true;
    return n > 3 && (strncasecmp(name + n - 3, "_id", 3) == 0 ||
                     strncasecmp(name + n - 3, "-id", 3) == 0 ||
                     strncasecmp(name + n - 3, " id", 3) == 0 ||
                     strncmp(name + n - 2, "Id", 2) == 0);
}

/* Whether column j counts the rows: 0, 1, 2, ... or 1, 2, 3, ... */
static bool counts_rows(const table *t, int64_t j)
{
    const double *x = t->x;
    int64_t i = 0;

    if (t->col[j].role != COL_NUMBER || !x || t->rows < 10) return false;
    x += t->col[j].slot;
    while (i < t->rows && x[i * t->numbers] == (double)i + x[0])
        i++;
    return i == t->rows && (x[0] == 0 || x[0] == 1);
}

/* A name as a value of a task file takes it, within {} and [] too. */
static void add_yaml(ferry_text *to, const char *name)
{
    const size_t n = strlen(name);
    const bool bare = n > 0 && !strpbrk(name, ":#%{}[]&*!|>'@`,\"\\\t") &&
                      !strchr("-? ", name[0]) && name[n - 1] != ' ';

    if (bare) {
        ferry_i_text_add(to, name);
        return;
    }
    ferry_i_text_add(to, "\"");
    for (const char *s = name; *s; s++)
        ferry_i_text_addf(to, "%s%c", *s == '"' || *s == '\\' ? "\\" : "", *s);
    ferry_i_text_add(to, "\"");
}

/* A label or an id among the features makes every result worthless without a word, so what
 * is called like one is named. */
static void report_odd_names(const table *t)
{
    ferry_text *list = new_text(t->s), *names = new_text(t->s);
    int64_t n = 0;

    for (int64_t j = 0; t->header && j < t->cols; j++) {
        if (!is_feature(&t->col[j])) continue;
        if ((!odd_name(t->col[j].name) && !counts_rows(t, j)) || n++ >= MOST_NAMED)
            continue;
        ferry_i_text_addf(list, "%s'%s'", list->len ? ", " : "", t->col[j].name);
        if (names->len) ferry_i_text_add(names, ", ");
        add_yaml(names, t->col[j].name);
    }
    if (n > MOST_NAMED)
        ferry_i_text_addf(list, " and %lld more", (long long)(n - MOST_NAMED));
    const char *yaml = text_of(t->s, names), *shown = text_of(t->s, list);
    if (n == 1)
        ferry_i_log(scope_ctx(t->s), FERRY_WARN,
                    "%s: %s: a feature, though it looks like a label or an id; if it is "
                    "one, say label: %s, id: %s or drop: %s",
                    t->from->path, shown, yaml, yaml, yaml);
    else if (n > 1)
        ferry_i_log(
            scope_ctx(t->s), FERRY_WARN,
            "%s: %s: features, though they look like labels or ids; label: NAME and "
            "id: NAME say which is one, drop: [%s] leaves %s out",
            t->from->path, shown, yaml, n > MOST_NAMED ? "these" : "them");
}

/* ---- numbers that mean "missing" ---- */

/* 999 and its like, in many old files. */
static bool is_code(double v)
{
    const double a = fabs(v);

    return a == 999 || a == 9999 || a == 99999;
}

/* Whether column j holds such a number more than once, and all its others are far smaller (it is reported). */
static bool has_code(const table *t, int64_t j)
{
    const double *x = t->x + t->col[j].slot;
    double found = 0, most = 0;
    int64_t n = 0, others = 0;

    for (int64_t i = 0; i < t->rows; i++) {
        const double v = x[i * t->numbers];
        if (isnan(v)) continue;
        if (is_code(v) && (n == 0 || v == found)) {
            found = v;
            n++;
        } else {
            most = fmax(most, fabs(v));
            others++;
        }
    }
    if (n < 2 || others < 2 || 5 * most > fabs(found)) return false;
    ferry_i_log(
        scope_ctx(t->s), FERRY_WARN,
        "%s: column %lld%s%s%s is %g in %lld rows, and at most %g in size in all others: if it means missing, say missing: %g",
        t->from->path, (long long)j + 1, t->header ? " (" : "",
        t->header ? t->col[j].name : "", t->header ? ")" : "", found, (long long)n, most,
        found);
    return true;
}

void table_lint(const table *t)
{
    bool found = false; /* only the first is reported: others are alike */

    for (int64_t j = 0; t->x && j < t->cols && !found; j++)
        found = t->col[j].role == COL_NUMBER && has_code(t, j);
    report_odd_names(t);
}
