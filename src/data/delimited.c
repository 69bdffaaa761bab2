/* Delimited text: CSV, TSV and tables with other separators. See delimited.h for the parts;
 * this file turns the parsed table into a data object, its features are made in
 * delimited_features.c. */
#include <string.h>
#include <strings.h>

#include "data/delimited.h"
#include "data/fields.h"

/* After the features were built x may be the data's already: it was moved out and is NULL
 * here. */
static void table_free(ferry_table *t)
{
    for (int64_t j = 0; t->col && j < t->cols; j++)
        ferry_i_free(t->col[j].name);
    FERRY_FREE(t->col, t->piece, t->text);
    ferry_i_matrix_free(t->x);
}

ferry_span ferry_i_table_cell(const ferry_table *t, int64_t row, int64_t j)
{
    return t->text[row * t->texts + t->col[j].slot];
}

/* Counts records, not newlines: blank lines are none, and a quoted field may span
 * several. */
int64_t ferry_i_table_line(const ferry_table *t, int64_t row)
{
    ferry_cursor c = {t->body, t->end, ferry_i_line_of(t->begin, t->body)};

    for (int64_t i = 0;; i++) {
        bool last = false;
        ferry_span f;
        ferry_i_skip_blank_lines(&c);
        if (i == row) return c.line;
        while (!last && ferry_i_field(t, &c, &f, &last))
            continue;
        ferry_i_next_line(&c);
    }
}

char *ferry_i_column_name(const ferry_table *t, int64_t j)
{
    return t->col[j].name ? ferry_i_strdup(t->col[j].name)
                          : ferry_i_sprintf("column %lld", (long long)j + 1);
}

/* ---- ids and labels ---- */

/* Ids must be there and differ, since views are joined by them. The message says how to go
 * on when the column only happens to be called id. */
static ferry_status build_ids(ferry_ctx *ctx, const ferry_table *t, int64_t j,
                              ferry_data *d)
{
    ferry_status st = FERRY_OK;

    FERRY_HAVE(ctx, d->ids = ferry_i_ids_new());
    for (int64_t i = 0; i < t->rows; i++) {
        const ferry_span f = ferry_i_table_cell(t, i, j);
        bool added = false;
        FERRY_NEED_AT(ctx, f.n != 0, t->in->path, ferry_i_table_line(t, i),
                      "expected an id in column %lld", (long long)j + 1);
        FERRY_HAVE(ctx, ferry_i_field_add(d->ids, f, &added) >= 0);
        if (added) continue;
        st =
            ferry_i_bad(ctx, t->in->path, ferry_i_table_line(t, i),
                        "id %.*s is there twice (column %lld; id=none if these are no ids)",
                        (int)(f.n < 100 ? f.n : 100), f.s, (long long)j + 1);
        goto done;
    }
done:
    return st;
}

/* Labels of one column. Quoted texts are undone first, through `names`. Two passes over the
 * same texts: the first puts every unquoted text into `names`, after which nothing moves
 * any more; the second lends pointers into it. Whether the labels are classes or numbers is
 * for ferry_i_labels_of_texts() to say. */
static ferry_status build_label(ferry_ctx *ctx, const ferry_table *t, int64_t j,
                                ferry_data *d)
{
    ferry_status st = FERRY_OK;
    ferry_span *text = ferry_i_calloc(t->rows, sizeof *text);
    ferry_ids *names = ferry_i_ids_new();

    FERRY_HAVE(ctx, text && names);
    /* cells without quotes are used as they stand in the file */
    for (int pass = 0; pass < 2; pass++) { /* ids may move while they are added */
        for (int64_t i = 0; i < t->rows; i++) {
            text[i] = ferry_i_table_cell(t, i, j);
            if (!text[i].s || *text[i].s != '"') continue;
            const int64_t k = ferry_i_field_add(names, text[i], NULL);
            FERRY_HAVE(ctx, k >= 0);
            if (pass == 0) continue;
            text[i].s = ferry_i_ids_at(names, k);
            text[i].n = (int64_t)strlen(text[i].s);
        }
    }
    FERRY_TRY(ferry_i_labels_of_texts(ctx, t->rows, text, &d->labels));
done:
    ferry_i_free(text);
    ferry_i_ids_free(names);
    return st;
}

/* Names of the label columns of a set, in their order. The prefix "label:" is what the
 * writer puts before them, and is no part of the name. */
static ferry_status set_names(ferry_ctx *ctx, const ferry_table *t, ferry_ids **out)
{
    ferry_status st = FERRY_OK;
    char *name = NULL;

    FERRY_HAVE(ctx, *out = ferry_i_ids_new());
    for (int64_t j = 0; j < t->cols; j++) {
        bool added = false;
        if (t->col[j].role != FERRY_COL_LABEL) continue;
        FERRY_HAVE(ctx, name = ferry_i_column_name(t, j));
        const char *from = strncmp(name, "label:", 6) == 0 ? name + 6 : name;
        FERRY_HAVE(ctx, ferry_i_ids_add(*out, from, &added) >= 0);
        FERRY_NEED(ctx, added, FERRY_EDATA, "%s: two label columns are called %s",
                   t->in->path, from);
        ferry_i_free(name);
        name = NULL;
    }
done:
    ferry_i_free(name);
    return st;
}

/* One cell of a set: 0 or -1 is off, 1 is on, 2 is missing; -1: something else. Files write
 * "off" as 0, as -1 or as False, so all are taken. */
static int on_or_off(const ferry_table *t, ferry_span f)
{
    double v = 0;

    if (!f.s) return 2;
    if (ferry_i_cell(t, f, &v) != FERRY_CELL_NUMBER)
        return f.n == 4 && strncasecmp(f.s, "true", 4) == 0    ? 1
               : f.n == 5 && strncasecmp(f.s, "false", 5) == 0 ? 0
                                                               : -1;
    return v == 1 ? 1 : v == 0 || v == -1 ? 0 : -1;
}

/* n x m cells of 0/1 from the m label columns. A set is known as a whole or missing as a
 * whole: methods have no notion of half a label set, so a row with some cells blank is
 * refused. */
static ferry_status build_sets(ferry_ctx *ctx, const ferry_table *t, ferry_data *d)
{
    ferry_status st = FERRY_OK;
    ferry_ids *names = NULL;

    FERRY_TRY(set_names(ctx, t, &names));
    const int64_t m = ferry_i_ids_count(names);
    FERRY_TRY(ferry_i_labels_new(ctx, FERRY_LABEL_SET, t->rows, names, &d->labels));
    for (int64_t i = 0; i < t->rows; i++) {
        int64_t k = 0, missing = 0;
        for (int64_t j = 0; j < t->cols; j++) {
            if (t->col[j].role != FERRY_COL_LABEL) continue;
            const int on = on_or_off(t, ferry_i_table_cell(t, i, j));
            missing += on == 2;
            d->labels->on[i * m + k++] = on == 1;
            /* all k cells so far are there, or all are missing */
            if (on >= 0 && (missing == 0 || missing == k)) continue;
            st = ferry_i_bad(
                ctx, t->in->path, ferry_i_table_line(t, i),
                on < 0 ? "column %lld: expected 0 or 1, or true or false, for a label"
                       : "column %lld: some labels of a set are missing",
                (long long)j + 1);
            goto done;
        }
        d->labels->known[i] = missing == 0;
    }
done:
    ferry_i_ids_free(names);
    return st;
}

/* From the table to d: ids, labels, then (only for a view) features. */
static ferry_status build(ferry_ctx *ctx, ferry_table *t, ferry_data *d)
{
    for (int64_t j = 0; j < t->cols; j++)
        if (t->col[j].role == FERRY_COL_ID) FERRY_PASS(build_ids(ctx, t, j, d));
    if (t->sets) FERRY_PASS(build_sets(ctx, t, d));
    /* at most one column here: several are a set */
    for (int64_t j = 0; j < t->cols && !t->sets; j++)
        if (t->col[j].role == FERRY_COL_LABEL) FERRY_PASS(build_label(ctx, t, j, d));
    if (t->as == FERRY_DATA_VIEW) FERRY_PASS(ferry_i_table_features(ctx, t, d));
    return FERRY_OK;
}

/* ---- the format ---- */

/* The text without a byte order mark and Excel's "sep=;". One look for a quote in the whole file decides
 * whether the slower paths for quoted fields are needed at all. */
static void start_table(ferry_table *t, const char *data, int64_t size)
{
    const bool bom = size >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0;

    t->begin = data + (bom ? 3 : 0);
    t->end = data + size;
    t->top = ferry_i_sep_line(t->begin, t->end, t->told);
    t->quotes = memchr(data, '"', (size_t)size) != NULL;
}

/* Spreadsheets write lines of separators alone below a table whose cells were cleared. Those at the end are left
 * out of a view with ids, in which they could be nothing else. Without ids, in a file of labels and in new
 * data for a model they are instances of which nothing is known: rows are counted there. */
static void drop_cleared(ferry_ctx *ctx, ferry_table *t)
{
    int64_t n = 0;
    bool ids = false;

    for (int64_t j = 0; j < t->cols; j++)
        ids = ids || t->col[j].role == FERRY_COL_ID;
    if (!ids || t->as != FERRY_DATA_VIEW || t->s->like || t->n_sep == 0) return;
    for (const char *s = t->end; s > t->top; s--) {
        if (s[-1] == '\n' && s < t->end) {
            n += *s != '\r' && *s != '\n';
            t->end = s;
        }
        if (s[-1] == 0 || (!strchr(t->sep, s[-1]) && !strchr("\r\n", s[-1]))) break;
    }
    if (n > 0)
        ferry_i_log(ctx, FERRY_WARN,
                    "%s: its last %lld line%s nothing but separators: left out",
                    t->in->path, (long long)n, n > 1 ? "s hold" : " holds");
}

/* Layout, roles, rows, data object. Numbers can be parsed on the quick path only if no
 * number stands for a missing cell: with missing=-999 every cell must be compared first. */
static ferry_status delimited_read(ferry_ctx *ctx, const ferry_input *in,
                                   const char *member, const ferry_read_settings *s,
                                   ferry_data_kind as, ferry_data **out)
{
    ferry_status st = FERRY_OK;
    ferry_table t = {.in = in, .s = s, .as = as};
    ferry_data *d = NULL;
    char *points = NULL;
    ferry_utf8 text = {0};

    (void)member;
    *out = NULL;
    FERRY_TRY(ferry_i_check_text(ctx, in));
    FERRY_TRY(ferry_i_utf8_open(ctx, in->data, in->size, &text));
    if (s->decimal) FERRY_TRY(ferry_i_decimal_points(ctx, s, text.s, text.n, &points));
    start_table(&t, points ? points : text.s, text.n);
    /* plain_numbers: none of the texts that mean a missing cell is a number */
    t.plain_numbers = true;
    for (const char *m = s->missing, *end = m; *m; m = end + (*end == ',')) {
        double number;
        end = m + strcspn(m, ",");
        t.plain_numbers &= ferry_i_parse_real(m, end, &number) != end;
    }
    FERRY_TRY(ferry_i_table_layout(ctx, &t));
    FERRY_TRY(ferry_i_table_roles(ctx, &t));
    drop_cleared(ctx, &t);
    FERRY_TRY(ferry_i_table_load(ctx, &t));
    FERRY_HAVE(ctx, d = ferry_i_data_new("csv", in->path, as));
    FERRY_TRY(build(ctx, &t, d));
    FERRY_MOVE(*out, d);
done:
    ferry_data_free(d);
    table_free(&t);
    ferry_i_free(points);
    ferry_i_utf8_close(&text);
    return st;
}

/* The same number of fields on every line; surer when most cells are numbers. Never surer
 * than 60: most text formats look like a table too, and those with a signature of their own
 * must win. Columns split by blanks may be prose, so they count least. */
static int delimited_sniff(const char *head, int64_t n)
{
    static const ferry_read_settings none = {.missing = ""};
    ferry_table t = {.s = &none};
    int64_t numbers = 0, cells = 0;
    double v;

    if (n == 0 || memchr(head, 0, (size_t)n)) return 0;
    while (n == 65536 && head[n - 1] != '\n') { /* the last line may be cut off */
        if (--n == 0) return 0;
    }
    start_table(&t, head, n);
    const int64_t fields = ferry_i_guess_separator(&t);
    ferry_cursor c = {t.top, t.end, 1};
    for (int line = 0; line < 100 && c.s < c.end; line++) {
        bool last = false;
        ferry_span f;
        ferry_i_skip_blank_lines(&c);
        for (; !last && ferry_i_field(&t, &c, &f, &last); cells++)
            numbers += ferry_i_cell(&t, f, &v) == FERRY_CELL_NUMBER;
        /* a record that does not parse: no table */
        if (!last) return 0;
        ferry_i_next_line(&c);
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
    .read = delimited_read,
    .write = ferry_i_delimited_write,
};
