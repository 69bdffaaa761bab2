/* Delimited text: CSV, TSV and tables with other separators. See delimited.h for the parts;
 * this file turns the parsed table into a data object. */
#include <math.h>
#include <string.h>

#include "data/delimited.h"

#define MANY_VALUES 1000 /* a column of texts with more different ones is no category */
#define SOME_VALUES 30   /* nor is one with more than these that hardly ever repeat */

void ferry_i_table_free(ferry_table *t)
{
    for (int64_t j = 0; t->col && j < t->cols; j++)
        ferry_i_free(t->col[j].name);
    ferry_i_free(t->col);
    ferry_i_free(t->piece);
    ferry_i_free(t->text);
    ferry_i_matrix_free(t->x);
}

static ferry_span cell_of(const ferry_table *t, int64_t row, int64_t j)
{
    return t->text[row * t->texts + t->col[j].slot];
}

/* Line of an instance. Only needed for messages, so it is found by counting. */
static int64_t line_of_row(const ferry_table *t, int64_t row)
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

static char *column_name(const ferry_table *t, int64_t j)
{
    return t->col[j].name ? ferry_i_strdup(t->col[j].name)
                          : ferry_i_sprintf("column %lld", (long long)j + 1);
}

/* ---- ids and labels
 * ---------------------------------------------------------------------------- */

static ferry_status build_ids(ferry_ctx *ctx, const ferry_table *t, int64_t j,
                              ferry_data *d)
{
    ferry_status st = FERRY_OK;

    d->ids = ferry_i_ids_new();
    FERRY_NEED(ctx, d->ids, FERRY_ENOMEM, "%s: no memory for its ids", t->in->path);
    for (int64_t i = 0; i < t->rows; i++) {
        const ferry_span f = cell_of(t, i, j);
        bool added = false;
        if (f.n == 0) {
            st = ferry_i_bad(ctx, t->in->path, line_of_row(t, i),
                             "expected an id in column %lld", (long long)j + 1);
            goto done;
        }
        FERRY_NEED(ctx, ferry_i_field_add(d->ids, f, &added) >= 0, FERRY_ENOMEM,
                   "%s: no memory for its ids", t->in->path);
        if (added) continue;
        st =
            ferry_i_bad(ctx, t->in->path, line_of_row(t, i),
                        "id %.*s is there twice (column %lld; id=none if these are no ids)",
                        (int)(f.n < 100 ? f.n : 100), f.s, (long long)j + 1);
        goto done;
    }
done:
    return st;
}

/* Labels of one column. Quoted texts are undone first, through `names`. */
static ferry_status build_label(ferry_ctx *ctx, const ferry_table *t, int64_t j,
                                ferry_data *d)
{
    ferry_status st = FERRY_OK;
    ferry_span *text = ferry_i_calloc(t->rows, sizeof *text);
    ferry_ids *names = ferry_i_ids_new();

    FERRY_NEED(ctx, text && names, FERRY_ENOMEM, "%s: no memory for its labels",
               t->in->path);
    for (int pass = 0; pass < 2; pass++) { /* ids may move while they are added */
        for (int64_t i = 0; i < t->rows; i++) {
            text[i] = cell_of(t, i, j);
            if (!text[i].s || *text[i].s != '"') continue;
            const int64_t k = ferry_i_field_add(names, text[i], NULL);
            FERRY_NEED(ctx, k >= 0, FERRY_ENOMEM, "%s: no memory for its labels",
                       t->in->path);
            if (pass == 0) continue;
            text[i].s = ferry_i_ids_at(names, k);
            text[i].n = (int64_t)strlen(text[i].s);
        }
    }
    FERRY_TRY(ferry_i_labels_of_texts(ctx, t->in->path, t->rows, text, &d->labels));
done:
    ferry_i_free(text);
    ferry_i_ids_free(names);
    return st;
}

/* Names of the label columns of a set, in their order. */
static ferry_status set_names(ferry_ctx *ctx, const ferry_table *t, ferry_ids **out)
{
    ferry_status st = FERRY_OK;
    char *name = NULL;

    *out = ferry_i_ids_new();
    FERRY_NEED(ctx, *out, FERRY_ENOMEM, "%s: no memory for its labels", t->in->path);
    for (int64_t j = 0; j < t->cols; j++) {
        bool added = false;
        if (t->col[j].role != FERRY_COL_LABEL) continue;
        name = column_name(t, j);
        FERRY_NEED(ctx, name, FERRY_ENOMEM, "%s: no memory for its labels", t->in->path);
        const char *from = strncmp(name, "label:", 6) == 0 ? name + 6 : name;
        FERRY_NEED(ctx, ferry_i_ids_add(*out, from, &added) >= 0, FERRY_ENOMEM,
                   "%s: no memory for its labels", t->in->path);
        FERRY_NEED(ctx, added, FERRY_EDATA, "%s: two label columns are called %s",
                   t->in->path, from);
        ferry_i_free(name);
        name = NULL;
    }
done:
    ferry_i_free(name);
    return st;
}

/* One cell of a set: 0 or -1 is off, 1 is on, 2 is missing; -1: something else. */
static int on_or_off(const ferry_table *t, ferry_span f)
{
    double v = 0;

    if (!f.s) return 2;
    if (ferry_i_cell(t, f, &v) != FERRY_CELL_NUMBER) return -1;
    return v == 1 ? 1 : v == 0 || v == -1 ? 0 : -1;
}

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
            const int on = on_or_off(t, cell_of(t, i, j));
            missing += on == 2;
            d->labels->on[i * m + k++] = on == 1;
            if (on >= 0 && (missing == 0 || missing == k)) continue;
            st = ferry_i_bad(ctx, t->in->path, line_of_row(t, i),
                             on < 0 ? "column %lld: expected 0 or 1 for a label"
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

/* ---- features
 * --------------------------------------------------------------------------------- */

/* The values of a column of texts: place[i] is the value of row i, -1 missing. */
typedef struct category {
    ferry_ids *values; /* in order */
    int32_t *place;
} category;

/* Whether n different texts are more than categories have. */
static bool too_many(const ferry_table *t, int64_t n)
{
    return n > MANY_VALUES || (n > SOME_VALUES && 2 * n > t->rows);
}

static ferry_status read_category(ferry_ctx *ctx, const ferry_table *t, int64_t j,
                                  category *c)
{
    ferry_status st = FERRY_OK;
    ferry_ids *seen = ferry_i_ids_new();
    int32_t *order = NULL;

    c->place = ferry_i_calloc(t->rows, sizeof *c->place);
    FERRY_NEED(ctx, seen && c->place, FERRY_ENOMEM, "%s: no memory for its categories",
               t->in->path);
    for (int64_t i = 0; i < t->rows; i++) {
        const ferry_span f = cell_of(t, i, j);
        const int64_t k = f.s ? ferry_i_field_add(seen, f, NULL) : -1;
        FERRY_NEED(ctx, k >= 0 || !f.s, FERRY_ENOMEM, "%s: no memory for its categories",
                   t->in->path);
        c->place[i] = (int32_t)k;
    }
    FERRY_TRY(ferry_i_names_sorted(ctx, seen, &c->values, &order));
    for (int64_t i = 0; i < t->rows; i++)
        if (c->place[i] >= 0) c->place[i] = order[c->place[i]];
done:
    ferry_i_ids_free(seen);
    ferry_i_free(order);
    return st;
}

/* The first row of column j that holds text where nearly all others are numbers (a slip,
 * most likely); -1: none. */
static int64_t odd_text(const ferry_table *t, int64_t j)
{
    int64_t numbers = 0, texts = 0, first = -1;
    double v;

    for (int64_t i = 0; i < t->rows; i++) {
        const ferry_span f = cell_of(t, i, j);
        if (!f.s) continue;
        if (ferry_i_cell(t, f, &v) == FERRY_CELL_NUMBER) {
            numbers++;
        } else if (texts++ == 0) {
            first = i;
        }
    }
    return numbers >= 9 * texts ? first : -1;
}

/* "1,5" or "-0,25": digits, one comma, digits. */
static bool is_decimal_comma(ferry_span f)
{
    int64_t i = 0, before = 0, after = 0;

    if (f.n > 0 && (f.s[0] == '-' || f.s[0] == '+')) i++;
    for (; i < f.n && f.s[i] >= '0' && f.s[i] <= '9'; i++)
        before++;
    if (i == f.n || f.s[i++] != ',') return false;
    for (; i < f.n && f.s[i] >= '0' && f.s[i] <= '9'; i++)
        after++;
    return i == f.n && before > 0 && after > 0;
}

/* Numbers as they are written in many countries would become categories without a word. */
static ferry_status refuse_decimal_commas(ferry_ctx *ctx, const ferry_table *t, int64_t j)
{
    int64_t row = -1;
    double v;

    for (int64_t i = 0; i < t->rows; i++) {
        const ferry_span f = cell_of(t, i, j);
        if (!f.s || ferry_i_cell(t, f, &v) == FERRY_CELL_NUMBER) continue;
        if (!is_decimal_comma(f)) return FERRY_OK;
        if (row < 0) row = i;
    }
    if (row < 0) return FERRY_OK;
    const ferry_span f = cell_of(t, row, j);
    return ferry_i_bad(ctx, t->in->path, line_of_row(t, row),
                       "column %lld: '%.*s': expected a decimal point, found a comma",
                       (long long)j + 1, (int)(f.n < 30 ? f.n : 30), f.s);
}

/* Text in a column of numbers makes all of its values categories, or is refused when these
 * are too many. Either way it is shown. */
static ferry_status report_odd_text(ferry_ctx *ctx, const ferry_table *t, int64_t j,
                                    const category *c)
{
    const int64_t row = odd_text(t, j), n = ferry_i_ids_count(c->values);

    if (row < 0) return FERRY_OK;
    const ferry_span f = cell_of(t, row, j);
    const int shown = (int)(f.n < 30 ? f.n : 30);
    const int64_t line = line_of_row(t, row);
    if (too_many(t, n))
        return ferry_i_bad(ctx, t->in->path, line,
                           "column %lld: expected a number, found '%.*s'", (long long)j + 1,
                           shown, f.s);
    ferry_i_log(ctx, FERRY_WARN,
                "%s:%lld: column %lld holds '%.*s' among numbers: its %lld values are "
                "taken as categories (if it stands for a missing cell give missing=%.*s)",
                t->in->path, (long long)line, (long long)j + 1, shown, f.s, (long long)n,
                shown, f.s);
    return FERRY_OK;
}

/* Columns of free text are no features. All of them are named at once. */
static ferry_status refuse_free_text(ferry_ctx *ctx, const ferry_table *t,
                                     const category *c)
{
    ferry_text list = {0};
    int64_t bad = 0;
    ferry_status st = FERRY_OK;

    for (int64_t j = 0; j < t->cols; j++) {
        const int64_t n = ferry_i_ids_count(c[j].values);
        if (!too_many(t, n)) continue;
        ferry_i_text_add(&list, bad++ ? "," : "");
        if (t->col[j].name)
            ferry_i_text_add(&list, t->col[j].name);
        else
            ferry_i_text_addf(&list, "%lld", (long long)j + 1);
    }
    FERRY_NEED(ctx, !list.failed, FERRY_ENOMEM, "%s: no memory for its categories",
               t->in->path);
    FERRY_NEED(
        ctx, bad == 0, FERRY_EDATA,
        "%s: too many different texts in %lld column%s to be categories: leave out with "
        "drop=%s (or use one as id= or label=)",
        t->in->path, (long long)bad, bad > 1 ? "s" : "", list.s);
done:
    ferry_i_text_free(&list);
    return st;
}

/* Add a feature's name. One that is there already becomes "name (2)" and so on: some
 * programs write headers that repeat. */
static ferry_status add_name(ferry_ctx *ctx, const ferry_table *t, const char *name,
                             ferry_ids *names, int64_t *repeated)
{
    ferry_status st = FERRY_OK;
    char *other = NULL;
    bool added = false;

    FERRY_NEED(ctx, ferry_i_ids_add(names, name, &added) >= 0, FERRY_ENOMEM,
               "%s: no memory for its header", t->in->path);
    for (int64_t k = *repeated + 2; !added; k++) {
        ferry_i_free(other);
        other = ferry_i_sprintf("%s (%lld)", name, (long long)k);
        FERRY_NEED(ctx, other && ferry_i_ids_add(names, other, &added) >= 0, FERRY_ENOMEM,
                   "%s: no memory for its header", t->in->path);
    }
    if (!other) goto done;
    if (++*repeated == 1)
        ferry_i_log(ctx, FERRY_WARN,
                    "%s:%lld: the name %s is there twice; the later one is called %s, and "
                    "others that repeat likewise",
                    t->in->path, (long long)ferry_i_line_of(t->begin, t->body) - 1, name,
                    other);
done:
    ferry_i_free(other);
    return st;
}

/* Names of all features; NULL stays when there are neither names nor categories. */
static ferry_status name_features(ferry_ctx *ctx, const ferry_table *t, const category *c,
                                  ferry_ids **out)
{
    ferry_status st = FERRY_OK;
    char *name = NULL, *full = NULL;
    int64_t repeated = 0;

    *out = ferry_i_ids_new();
    FERRY_NEED(ctx, *out, FERRY_ENOMEM, "%s: no memory for its header", t->in->path);
    for (int64_t j = 0; j < t->cols; j++) {
        const ferry_role_of role = t->col[j].role;
        if (role != FERRY_COL_NUMBER && role != FERRY_COL_CATEGORY) continue;
        name = column_name(t, j);
        const int64_t n = role == FERRY_COL_NUMBER ? 1 : ferry_i_ids_count(c[j].values);
        for (int64_t k = 0; k < n; k++) {
            full = role == FERRY_COL_NUMBER || !name
                       ? ferry_i_strdup(name)
                       : ferry_i_sprintf("%s=%s", name, ferry_i_ids_at(c[j].values, k));
            FERRY_NEED(ctx, full, FERRY_ENOMEM, "%s: no memory for its header",
                       t->in->path);
            FERRY_TRY(add_name(ctx, t, full, *out, &repeated));
            ferry_i_free(full);
            full = NULL;
        }
        ferry_i_free(name);
        name = NULL;
    }
done:
    ferry_i_free(name);
    ferry_i_free(full);
    return st;
}

/* Where the features of a category begin, or the one feature of a number goes. */
static int64_t place_columns(const ferry_table *t, const category *c, int64_t *first)
{
    int64_t at = 0;

    for (int64_t j = 0; j < t->cols; j++) {
        first[j] = at;
        if (t->col[j].role == FERRY_COL_NUMBER) at++;
        if (t->col[j].role == FERRY_COL_CATEGORY) at += ferry_i_ids_count(c[j].values);
    }
    return at;
}

/* Row i of the expanded table: calls for every cell that is not zero. Returns how many;
 * index and value may be NULL to count only. */
static int64_t expand_row(const ferry_table *t, const category *c, const int64_t *first,
                          int64_t i, int32_t *index, double *value)
{
    int64_t n = 0;

    for (int64_t j = 0; j < t->cols; j++) {
        double v = 0;
        int64_t at = first[j];
        if (t->col[j].role == FERRY_COL_NUMBER) {
            v = t->x->dense[i * t->numbers + t->col[j].slot];
        } else if (t->col[j].role == FERRY_COL_CATEGORY && c[j].place[i] >= 0) {
            at += c[j].place[i];
            v = 1;
        }
        if (v == 0) continue;
        if (index) {
            index[n] = (int32_t)at;
            value[n] = v;
        }
        n++;
    }
    return n;
}

/* Numbers as they are and one column for every value of a category: dense, unless the table
 * is wide and nearly all zero and no number is missing. */
static ferry_status expand(ferry_ctx *ctx, const ferry_table *t, const category *c,
                           ferry_matrix **out)
{
    ferry_status st = FERRY_OK;
    int64_t *first = ferry_i_calloc(t->cols, sizeof *first);
    int32_t *index = ferry_i_calloc(t->cols, sizeof *index);
    double *value = ferry_i_calloc(t->cols, sizeof *value);
    bool missing = false;

    FERRY_NEED(ctx, first && index && value, FERRY_ENOMEM, "%s: no memory for its columns",
               t->in->path);
    const int64_t wide = place_columns(t, c, first);
    FERRY_NEED(ctx, wide < INT32_MAX, FERRY_EDATA, "%s: more than %d features", t->in->path,
               INT32_MAX - 1);
    for (int64_t e = 0; t->x && e < t->x->nnz && !missing; e++)
        missing = isnan(t->x->dense[e]);
    if (missing || wide < 200 || wide < 4 * t->cols) {
        FERRY_TRY(ferry_i_matrix_dense(ctx, t->rows, wide, out));
        for (int64_t i = 0; i < t->rows; i++) {
            const int64_t n = expand_row(t, c, first, i, index, value);
            for (int64_t e = 0; e < n; e++)
                (*out)->dense[i * wide + index[e]] = value[e];
        }
        goto done;
    }
    int64_t total = 0;
    for (int64_t i = 0; i < t->rows; i++)
        total += expand_row(t, c, first, i, NULL, NULL);
    FERRY_TRY(ferry_i_matrix_csr(ctx, t->rows, wide, total, out));
    for (int64_t i = 0; i < t->rows; i++) {
        const int64_t at = (*out)->start[i];
        (*out)->start[i + 1] =
            at + expand_row(t, c, first, i, (*out)->index + at, (*out)->value + at);
    }
done:
    ferry_i_free(first);
    ferry_i_free(index);
    ferry_i_free(value);
    return st;
}

static ferry_status build_features(ferry_ctx *ctx, ferry_table *t, ferry_data *d)
{
    ferry_status st = FERRY_OK;
    category *c = ferry_i_calloc(t->cols, sizeof *c);
    int64_t categories = 0, missing = 0;

    FERRY_NEED(ctx, c, FERRY_ENOMEM, "%s: no memory for its columns", t->in->path);
    for (int64_t j = 0; j < t->cols; j++) {
        if (t->col[j].role != FERRY_COL_CATEGORY) continue;
        categories++;
        FERRY_TRY(read_category(ctx, t, j, &c[j]));
        FERRY_TRY(refuse_decimal_commas(ctx, t, j));
        if (!t->s->like) FERRY_TRY(report_odd_text(ctx, t, j, &c[j]));
        for (int64_t i = 0; i < t->rows; i++)
            missing += c[j].place[i] < 0;
    }
    if (!t->s->like) FERRY_TRY(refuse_free_text(ctx, t, c));
    if (t->header || categories > 0) FERRY_TRY(name_features(ctx, t, c, &d->features));
    if (categories == 0) {
        d->x = t->x;
        t->x = NULL;
        goto done;
    }
    FERRY_TRY(expand(ctx, t, c, &d->x));
    ferry_i_log(ctx, FERRY_INFO,
                "%s: %lld columns of text become %lld features, one for each value (%lld "
                "missing: all 0)",
                t->in->path, (long long)categories, (long long)(d->x->cols - t->numbers),
                (long long)missing);
done:
    for (int64_t j = 0; c && j < t->cols; j++) {
        ferry_i_ids_free(c[j].values);
        ferry_i_free(c[j].place);
    }
    ferry_i_free(c);
    return st;
}

ferry_status ferry_i_table_build(ferry_ctx *ctx, ferry_table *t, ferry_data *d)
{
    ferry_status st = FERRY_OK;

    for (int64_t j = 0; j < t->cols; j++)
        if (t->col[j].role == FERRY_COL_ID) FERRY_TRY(build_ids(ctx, t, j, d));
    if (t->sets) FERRY_TRY(build_sets(ctx, t, d));
    for (int64_t j = 0; j < t->cols && !t->sets; j++)
        if (t->col[j].role == FERRY_COL_LABEL) FERRY_TRY(build_label(ctx, t, j, d));
    if (t->as == FERRY_DATA_VIEW) FERRY_TRY(build_features(ctx, t, d));
done:
    return st;
}

/* ---- the format
 * ------------------------------------------------------------------------------- */

static void start_table(ferry_table *t, const char *data, int64_t size)
{
    const bool bom = size >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0;

    t->begin = data + (bom ? 3 : 0);
    t->end = data + size;
    t->quotes = memchr(data, '"', (size_t)size) != NULL;
}

static ferry_status delimited_read(ferry_ctx *ctx, const ferry_input *in,
                                   const char *member, const ferry_read_settings *s,
                                   ferry_data_kind as, ferry_data **out)
{
    ferry_status st = FERRY_OK;
    ferry_table t = {.in = in, .s = s, .as = as};
    ferry_data *d = NULL;

    (void)member;
    *out = NULL;
    FERRY_TRY(ferry_i_check_text(ctx, in));
    start_table(&t, in->data, in->size);
    const char *end = s->missing + strlen(s->missing);
    double number;
    t.plain_numbers =
        ferry_i_parse_real(s->missing, end, &number) != end || end == s->missing;
    FERRY_TRY(ferry_i_table_layout(ctx, &t));
    FERRY_TRY(ferry_i_table_roles(ctx, &t));
    FERRY_TRY(ferry_i_table_load(ctx, &t));
    d = ferry_i_data_new("csv", in->path, as);
    FERRY_NEED(ctx, d, FERRY_ENOMEM, "%s: no memory to read it", in->path);
    FERRY_TRY(ferry_i_table_build(ctx, &t, d));
    *out = d;
    d = NULL;
done:
    ferry_data_free(d);
    ferry_i_table_free(&t);
    return st;
}

/* The same number of fields on every line; surer when most cells are numbers. */
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
    ferry_cursor c = {t.begin, t.end, 1};
    for (int line = 0; line < 100 && c.s < c.end; line++) {
        bool last = false;
        ferry_span f;
        ferry_i_skip_blank_lines(&c);
        for (; !last && ferry_i_field(&t, &c, &f, &last); cells++)
            numbers += ferry_i_cell(&t, f, &v) == FERRY_CELL_NUMBER;
        if (!last) return 0;
        ferry_i_next_line(&c);
    }
    const bool mostly = 2 * numbers > cells;
    if (fields > 1) return mostly ? 60 : t.n_sep == 0 ? 10 : 40;
    return numbers == cells ? 30 : 0;
}

const ferry_format ferry_i_format_delimited = {
    .info = {.name = "csv",
             .extensions = ".csv .tsv .tab .txt .dat .data",
             .summary = "CSV, TSV and other delimited tables",
             .writes = 1},
    .kinds = 1u << FERRY_DATA_VIEW | 1u << FERRY_DATA_LABELS,
    .sniff = delimited_sniff,
    .read = delimited_read,
    .write = ferry_i_delimited_write,
};
