/* Delimited text: the features. Columns of numbers stay as they are, a column of texts
 * becomes one feature for each of its values; what looks like a slip is shown or refused.
 */
#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "data/delimited.h"
#include "data/fields.h"

#define MANY_VALUES 1000 /* a column of texts with more different ones is no category */
#define SOME_VALUES 30   /* nor is one with more than these that hardly ever repeat */

/* The values of a column of texts: place[i] is the value of row i, -1 missing. */
typedef struct category {
    ferry_ids *values; /* in order */
    int32_t *place;
} category;

/* Whether n different texts are more than categories have. More than 1000, or more than 30
 * of which most occur once: names or comments, say. */
static bool too_many(const ferry_table *t, int64_t n)
{
    return n > MANY_VALUES || (n > SOME_VALUES && 2 * n > t->rows);
}

/* Values are sorted (as numbers if all are, else by bytes), so that shuffled rows give the
 * same columns. `seen` numbers them as they come, `order` maps that to their place. */
static ferry_status read_category(ferry_ctx *ctx, const ferry_table *t, int64_t j,
                                  category *c)
{
    ferry_status st = FERRY_OK;
    ferry_ids *seen = ferry_i_ids_new();
    int32_t *order = NULL;

    FERRY_NEW(ctx, c->place, t->rows);
    FERRY_HAVE(ctx, seen);
    for (int64_t i = 0; i < t->rows; i++) {
        const ferry_span f = ferry_i_table_cell(t, i, j);
        const int64_t k = f.s ? ferry_i_field_add(seen, f, NULL) : -1;
        FERRY_HAVE(ctx, k >= 0 || !f.s);
        c->place[i] = (int32_t)k;
    }
    /* from the order of appearance to the sorted one */
    FERRY_TRY(ferry_i_names_sorted(ctx, seen, &c->values, &order));
    for (int64_t i = 0; i < t->rows; i++)
        if (c->place[i] >= 0) c->place[i] = order[c->place[i]];
done:
    ferry_i_ids_free(seen);
    ferry_i_free(order);
    return st;
}

/* The first row of column j that holds text where others are numbers, at least `least` for each
 * text (a slip, most likely, or a word for missing); -1: none. */
static int64_t odd_text(const ferry_table *t, int64_t j, int64_t least)
{
    /* missing cells speak for neither */
    int64_t numbers = 0, texts = 0, first = -1;
    double v;

    for (int64_t i = 0; i < t->rows; i++) {
        const ferry_span f = ferry_i_table_cell(t, i, j);
        if (!f.s) continue;
        if (ferry_i_cell(t, f, &v) == FERRY_CELL_NUMBER) {
            numbers++;
        } else if (texts++ == 0) {
            first = i;
        }
    }
    return numbers >= least * texts ? first : -1;
}

/* "1,5", in quotes or not. */
static bool is_decimal_comma(ferry_span f)
{
    const bool quoted = f.n > 2 && f.s[0] == '"' && f.s[f.n - 1] == '"';

    return ferry_i_decimal_comma(f.s + quoted, f.n - 2 * quoted);
}

/* Numbers as they are written in many countries would become categories without a word.
 * Only when every text of the column has this form: one other text makes it a category. */
static ferry_status refuse_decimal_commas(ferry_ctx *ctx, const ferry_table *t, int64_t j)
{
    int64_t row = -1;
    double v;
    bool thousands = true; /* three digits behind every comma */

    for (int64_t i = 0; i < t->rows; i++) {
        const ferry_span f = ferry_i_table_cell(t, i, j);
        if (!f.s || ferry_i_cell(t, f, &v) == FERRY_CELL_NUMBER) continue;
        if (!is_decimal_comma(f)) return FERRY_OK;
        const char *comma = memchr(f.s, ',', (size_t)f.n);
        thousands &= f.s + f.n - comma == 4 + (f.s[0] == '"');
        if (row < 0) row = i;
    }
    if (row < 0) return FERRY_OK;
    const ferry_span f = ferry_i_table_cell(t, row, j);
    return ferry_i_bad(
        ctx, t->in->path, ferry_i_table_line(t, row),
        "column %lld: '%.*s': expected a decimal point, found a comma (decimal: "
        "comma reads such numbers%s)",
        (long long)j + 1, (int)(f.n < 30 ? f.n : 30), f.s,
        thousands ? "; if it separates thousands, take it out" : "");
}

/* Text in a column of numbers makes all of its values categories, or is refused when these
 * are too many. Either way it is shown. Not asked when new data is read for an old view:
 * what the column is was decided then. */
static ferry_status report_odd_text(ferry_ctx *ctx, const ferry_table *t, int64_t j,
                                    const category *c)
{
    const int64_t n = ferry_i_ids_count(c->values);
    const int64_t row = odd_text(t, j, too_many(t, n) ? 1 : 9);

    if (row < 0) return FERRY_OK;
    const ferry_span f = ferry_i_table_cell(t, row, j);
    const int shown = (int)(f.n < 30 ? f.n : 30);
    const int64_t line = ferry_i_table_line(t, row);
    if (too_many(t, n))
        return ferry_i_bad(
            ctx, t->in->path, line,
            "column %lld: expected a number, found '%.*s' (if it stands for a missing cell say missing: '%.*s')",
            (long long)j + 1, shown, f.s, shown, f.s);
    ferry_i_log(ctx, FERRY_WARN,
                "%s:%lld: column %lld holds '%.*s' among numbers: its %lld values are "
                "taken as categories (if it stands for a missing cell give missing=%.*s)",
                t->in->path, (long long)line, (long long)j + 1, shown, f.s, (long long)n,
                shown, f.s);
    return FERRY_OK;
}

/* "12 kg", "5%", "$3": a number with something before or behind it. */
static bool has_unit(const char *s)
{
    const size_t sign = strcspn(s, "0123456789"), n = strspn(s + sign, "0123456789.,"),
                 rest = strlen(s) - sign - n;

    for (size_t i = 0; i < sign; i++) /* p45 is a name */
        if (isalpha((unsigned char)s[i])) return false;
    return n > 0 && sign < 4 && sign + rest > (s[0] == '-') && rest < 8 &&
           !strpbrk(s + sign + n, "0123456789");
}

/* Whether a text is prose: four words or more. */
static bool has_words(const char *s)
{
    int blanks = 0;

    for (; *s; s++)
        blanks += s[0] == ' ' && isalpha((unsigned char)s[1]);
    return blanks >= 3;
}

/* Columns of free text are no features. All of them are named at once. */
static ferry_status refuse_free_text(ferry_ctx *ctx, const ferry_table *t,
                                     const category *c)
{
    ferry_text list = {0};
    int64_t bad = 0;
    ferry_status st = FERRY_OK;
    const char *one = "";

    for (int64_t j = 0; j < t->cols; j++) {
        const int64_t n = ferry_i_ids_count(c[j].values);
        if (!too_many(t, n)) continue;
        if (bad == 0) one = ferry_i_ids_at(c[j].values, n / 2);
        ferry_i_text_add(&list, bad++ ? "," : "");
        if (t->col[j].name)
            ferry_i_text_add(&list, t->col[j].name);
        else
            ferry_i_text_addf(&list, "%lld", (long long)j + 1);
    }
    FERRY_HAVE(ctx, !list.failed);
    FERRY_NEED(
        ctx, bad == 0, FERRY_EDATA,
        "%s: too many different texts in %lld column%s to be categories, such as '%.30s'%s: leave out with "
        "drop=%s (or use one as id= or label=%s)",
        t->in->path, (long long)bad, bad > 1 ? "s" : "", one,
        has_unit(one) ? " (units have to go)" : "", list.s,
        has_words(one)
            ? "; documents to learn from are lines of class<TAB>text, read by format: text"
            : "");
done:
    ferry_i_text_free(&list);
    return st;
}

/* Add a feature's name. One that is there already becomes "name (2)" and so on: some
 * programs write headers that repeat. The search for a free number starts behind those
 * given out so far, so a header of n equal names costs O(n), not O(n^2). */
static ferry_status add_name(ferry_ctx *ctx, const ferry_table *t, const char *name,
                             ferry_ids *names, int64_t *repeated)
{
    ferry_status st = FERRY_OK;
    char *other = NULL;
    bool added = false;

    FERRY_HAVE(ctx, ferry_i_ids_add(names, name, &added) >= 0);
    for (int64_t k = *repeated + 2; !added; k++) {
        ferry_i_free(other);
        other = ferry_i_sprintf("%s (%lld)", name, (long long)k);
        FERRY_HAVE(ctx, other && ferry_i_ids_add(names, other, &added) >= 0);
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

/* Names of all features; NULL stays when there are neither names nor categories. A number's
 * feature is called like its column, a category's "column=value"; as_before() in
 * delimited_roles.c takes these names apart again. */
static ferry_status name_features(ferry_ctx *ctx, const ferry_table *t, const category *c,
                                  ferry_ids **out)
{
    ferry_status st = FERRY_OK;
    char *name = NULL, *full = NULL;
    int64_t repeated = 0;

    FERRY_HAVE(ctx, *out = ferry_i_ids_new());
    for (int64_t j = 0; j < t->cols; j++) {
        const ferry_role_of role = t->col[j].role;
        if (role != FERRY_COL_NUMBER && role != FERRY_COL_CATEGORY) continue;
        name = ferry_i_column_name(t, j);
        const int64_t n = role == FERRY_COL_NUMBER ? 1 : ferry_i_ids_count(c[j].values);
        for (int64_t k = 0; k < n; k++) {
            full = role == FERRY_COL_NUMBER || !name
                       ? ferry_i_strdup(name)
                       : ferry_i_sprintf("%s=%s", name, ferry_i_ids_at(c[j].values, k));
            FERRY_HAVE(ctx, full);
            FERRY_TRY(add_name(ctx, t, full, *out, &repeated));
            ferry_i_free(full);
            full = NULL;
        }
        ferry_i_free(name);
        name = NULL;
    }
done:
    FERRY_FREE(name, full);
    return st;
}

/* Where the features of a category begin, or the one feature of a number goes. Returns how
 * many features there are in all. Columns that are none take no room. */
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
 * index and value may be NULL to count only. A missing category is 0 in all its columns; a
 * missing number is NaN, which is not 0 and so is stored. Indices ascend, as first[]
 * does. */
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

    FERRY_HAVE(ctx, first && index && value);
    /* columns of a sparse matrix are int32 */
    const int64_t wide = place_columns(t, c, first);
    FERRY_NEED(ctx, wide < INT32_MAX, FERRY_EDATA, "%s: more than %d features", t->in->path,
               INT32_MAX - 1);
    for (int64_t e = 0; t->x && e < t->x->nnz && !missing; e++)
        missing = isnan(t->x->dense[e]);
    /* Each column gives a row at most one cell that is not 0, so a row is at least 1 - cols
     * / wide zero: sparse only where that is 3/4 or more. NaN needs a dense matrix in any
     * case. */
    if (missing || wide < 200 || wide < 4 * t->cols) {
        FERRY_TRY(ferry_i_matrix_dense(ctx, t->rows, wide, out));
        for (int64_t i = 0; i < t->rows; i++) {
            const int64_t n = expand_row(t, c, first, i, index, value);
            for (int64_t e = 0; e < n; e++)
                (*out)->dense[i * wide + index[e]] = value[e];
        }
        goto done;
    }
    /* count, then fill: the matrix has its exact size */
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
    FERRY_FREE(first, index, value);
    return st;
}

/* Without categories x is what the threads filled, moved and not copied. The names stay
 * NULL without a header, so that such views line up by column number. */
ferry_status ferry_i_table_features(ferry_ctx *ctx, ferry_table *t, ferry_data *d)
{
    ferry_status st = FERRY_OK;
    category *c = ferry_i_calloc(t->cols, sizeof *c);
    int64_t categories = 0, missing = 0;

    FERRY_HAVE(ctx, c);
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
    if (!t->s->like) FERRY_TRY(ferry_i_table_slips(ctx, t));
    if (t->header || categories > 0) FERRY_TRY(name_features(ctx, t, c, &d->features));
    /* numbers only: x is ready */
    if (categories == 0) {
        FERRY_MOVE(d->x, t->x);
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
