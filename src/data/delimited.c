/* Delimited text: CSV, TSV and tables with other separators. See delimited.h for the parts;
 * this file turns the parsed table into ids and labels; its features are made in
 * delimited_features.c. */
#include "data/delimited.h"

#include <string.h>
#include <strings.h>

/* Counts records, not newlines: blank lines are none, and a quoted field may span
 * several. */
int64_t table_line(const table *t, int64_t row)
{
    cursor c = {t->body, t->end, ferry_i_line_of(t->begin, t->body)};

    for (int64_t i = 0;; i++) {
        bool last = false;
        ferry_span f;
        skip_blank_lines(&c);
        if (i == row) return c.line;
        while (!last && next_field(t, &c, &f, &last))
            continue;
        next_line(&c);
    }
}

const char *table_name(const table *t, int64_t j)
{
    return t->col[j].name ? t->col[j].name
                          : scope_text(t->s, "column %lld", (long long)j + 1);
}

/* ---- ids and labels ---- */

/* Ids must be there and differ, since views are joined by them. The message says how to go
 * on when the column only happens to be called id. */
static void build_ids(const table *t, int64_t j)
{
    t->d->ids = have(t->s, ferry_i_ids_new());
    for (int64_t i = 0; i < t->rows; i++) {
        const ferry_span f = table_cell(t, i, j);
        bool added = false;
        if (f.n == 0)
            bad_at(t->s, t->from->path, table_line(t, i), "expected an id in column %lld",
                   (long long)j + 1);
        (void)add_field(t->s, t->d->ids, f, &added);
        if (!added)
            bad_at(t->s, t->from->path, table_line(t, i),
                   "id %.*s is there twice (column %lld; id=none if these are no ids)",
                   (int)(f.n < 100 ? f.n : 100), f.s, (long long)j + 1);
    }
}

/* Labels of one column. Quoted texts are undone first, through `names`. Two passes over the
 * same texts: the first puts every unquoted text into `names`, after which nothing moves
 * any more; the second takes pointers into it. Whether the labels are classes or numbers is
 * for ferry_i_labels_of_texts() to decide. */
static void build_label(const table *t, int64_t j)
{
    const int64_t mark = scope_mark(t->s);
    ferry_span *text = NEW(t->s, ferry_span, t->rows);
    ferry_ids *names = new_ids(t->s);

    /* cells without quotes are used as they stand in the file */
    for (int pass = 0; pass < 2; pass++) { /* ids may move while they are added */
        for (int64_t i = 0; i < t->rows; i++) {
            text[i] = table_cell(t, i, j);
            if (!text[i].s || *text[i].s != '"') continue;
            const int64_t k = add_field(t->s, names, text[i], NULL);
            if (pass == 0) continue;
            text[i].s = ferry_i_ids_at(names, k);
            text[i].n = (int64_t)strlen(text[i].s);
        }
    }
    scope_check(t->s,
                ferry_i_labels_of_texts(scope_ctx(t->s), t->rows, text, &t->d->labels));
    scope_release(t->s, mark);
}

/* Names of the label columns of a set, in their order. The prefix "label:" is what the
 * writer puts before them, and is no part of the name. */
static ferry_ids *set_names(const table *t)
{
    ferry_ids *names = new_ids(t->s);

    for (int64_t j = 0; j < t->cols; j++) {
        bool added = false;
        if (t->col[j].role != COL_LABEL) continue;
        const char *name = table_name(t, j);
        if (strncmp(name, "label:", 6) == 0) name += 6;
        (void)add_id(t->s, names, name, (int64_t)strlen(name), &added);
        if (!added) bad_at(t->s, t->from->path, 0, "two label columns are called %s", name);
    }
    return names;
}

/* One cell of a set: 0 or -1 is off, 1 is on, 2 is missing; -1: something else. Files write
 * "off" as 0, as -1 or as False, so all are taken. */
static int on_or_off(const table *t, ferry_span f)
{
    double v = 0;

    if (!f.s) return 2;
    if (read_cell(t, f, &v) != CELL_NUMBER)
        return f.n == 4 && strncasecmp(f.s, "true", 4) == 0    ? 1
               : f.n == 5 && strncasecmp(f.s, "false", 5) == 0 ? 0
                                                               : -1;
    return v == 1 ? 1 : v == 0 || v == -1 ? 0 : -1;
}

/* n x m cells of 0/1 from the m label columns. A set is known as a whole or missing as a
 * whole: methods have no notion of half a label set, so a row with some cells blank is
 * refused. */
static void build_sets(const table *t)
{
    const ferry_ids *names = set_names(t);
    const int64_t m = ferry_i_ids_count(names);

    scope_check(t->s, ferry_i_labels_new(scope_ctx(t->s), FERRY_LABEL_SET, t->rows, names,
                                         &t->d->labels));
    for (int64_t i = 0; i < t->rows; i++) {
        int64_t k = 0, missing = 0;
        for (int64_t j = 0; j < t->cols; j++) {
            if (t->col[j].role != COL_LABEL) continue;
            const int on = on_or_off(t, table_cell(t, i, j));
            missing += on == 2;
            t->d->labels->on[i * m + k++] = on == 1;
            /* all k cells so far are there, or all are missing */
            if (on < 0 || (missing != 0 && missing != k))
                bad_at(t->s, t->from->path, table_line(t, i),
                       on < 0
                           ? "column %lld: expected 0 or 1, or true or false, for a label"
                           : "column %lld: some labels of a set are missing",
                       (long long)j + 1);
        }
        t->d->labels->known[i] = missing == 0;
    }
}

/* ---- the format ---- */

/* The text without a byte order mark and Excel's "sep=;". One look for a quote in the whole file decides
 * whether the slower paths for quoted fields are needed at all. */
static void start_table(table *t, const char *s, const char *end)
{
    const bool bom = end - s >= 3 && memcmp(s, "\xef\xbb\xbf", 3) == 0;

    t->begin = s + (bom ? 3 : 0);
    t->end = end;
    t->top = ferry_i_sep_line(t->begin, t->end, t->named);
    t->quotes = memchr(s, '"', (size_t)(end - s)) != NULL;
}

/* Spreadsheets write lines of separators alone below a table whose cells were cleared. Those at the end are left
 * out of a view with ids, in which they could be nothing else. Without ids, in a file of labels and in new
 * data for a model they are instances of which nothing is known: rows are counted there. */
static void drop_cleared(table *t)
{
    int64_t n = 0;
    bool ids = false;

    for (int64_t j = 0; j < t->cols; j++)
        ids = ids || t->col[j].role == COL_ID;
    if (!ids || t->from->as != FERRY_DATA_VIEW || t->set->like || t->n_sep == 0) return;
    for (const char *s = t->end; s > t->top; s--) {
        if (s[-1] == '\n' && s < t->end) {
            n += *s != '\r' && *s != '\n';
            t->end = s;
        }
        if (s[-1] == 0 || (!strchr(t->sep, s[-1]) && !strchr("\r\n", s[-1]))) break;
    }
    if (n > 0)
        ferry_i_log(scope_ctx(t->s), FERRY_WARN,
                    "%s: its last %lld line%s nothing but separators: left out",
                    t->from->path, (long long)n, n > 1 ? "s hold" : " holds");
}

/* None of the texts that mean a missing cell is a number. Else, with missing=-999, every cell must be compared
 * first, and the quick path is closed. */
static bool plain_numbers(const char *missing)
{
    for (const char *m = missing, *end = m; *m; m = end + (*end == ',')) {
        double number;
        end = m + strcspn(m, ",");
        if (ferry_i_parse_real(m, end, &number) == end) return false;
    }
    return true;
}

/* Layout, roles, rows; then ids, labels and (only for a view) features. */
static void delimited_records(scope *s, const source *from, ferry_data *d)
{
    table t = {.s = s, .from = from, .set = from->set, .d = d};

    start_table(&t, from->s, from->end);
    t.plain_numbers = plain_numbers(t.set->missing);
    table_layout(&t);
    table_roles(&t);
    drop_cleared(&t);
    table_load(&t);
    for (int64_t j = 0; j < t.cols; j++)
        if (t.col[j].role == COL_ID) build_ids(&t, j);
    if (t.sets) build_sets(&t);
    /* at most one column here: several are a set */
    for (int64_t j = 0; j < t.cols && !t.sets; j++)
        if (t.col[j].role == COL_LABEL) build_label(&t, j);
    if (from->as == FERRY_DATA_VIEW) table_features(&t);
}

/* The same number of fields on every line; surer when most cells are numbers. Never surer
 * than 60: most text formats look like a table too, and those with a signature of their own
 * must win. Columns split by blanks may be prose, so they count least. */
static int delimited_sniff(const char *head, int64_t n)
{
    static const ferry_read_settings none = {.missing = ""};
    table t = {.set = &none};
    int64_t numbers = 0, cells = 0;
    double v;

    if (n == 0 || memchr(head, 0, (size_t)n)) return 0;
    while (n == 65536 && head[n - 1] != '\n') { /* the last line may be cut off */
        if (--n == 0) return 0;
    }
    start_table(&t, head, head + n);
    const int64_t fields = guess_separator(&t);
    cursor c = {t.top, t.end, 1};
    for (int line = 0; line < 100 && c.s < c.end; line++) {
        bool last = false;
        ferry_span f;
        skip_blank_lines(&c);
        for (; !last && next_field(&t, &c, &f, &last); cells++)
            numbers += read_cell(&t, f, &v) == CELL_NUMBER;
        /* a record that does not parse: no table */
        if (!last) return 0;
        next_line(&c);
    }
    const bool mostly = 2 * numbers > cells;
    /* one column is a table only if it is all numbers */
    if (fields > 1) return mostly ? 60 : t.n_sep == 0 ? 10 : 40;
    return numbers == cells ? 30 : 0;
}

const ferry_format ferry_i_format_delimited = {
    .info = {.name = "csv",
             .extensions = ".csv .tsv .tab .txt .dat .data",
             .summary = "CSV, TSV and other delimited tables",
             .writes = 1},
    .kinds = 1u << FERRY_DATA_VIEW | 1u << FERRY_DATA_LABELS,
    .options = "header sep id label drop missing decimal",
    .sniff = delimited_sniff,
    .open = OPEN_TEXT | OPEN_UTF8 | OPEN_DECIMAL,
    .records = delimited_records,
    .write = ferry_i_delimited_write,
};
