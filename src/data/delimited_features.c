/* Delimited text: the features. Columns of numbers stay as they are, a column of texts
 * becomes one feature for each of its values; what looks like a mistake is shown or refused. */
#include "data/delimited.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#define MANY_VALUES 1000 /* a column of texts with more different ones is no category */
#define SOME_VALUES 30   /* nor is one with more than these that hardly ever repeat */

/* The values of a column of texts: place[i] is the value of row i, -1 missing. */
typedef struct category {
    const ferry_ids *values; /* in order */
    int32_t *place;
} category;

/* Whether n different texts are more than categories have. More than 1000, or more than 30
 * of which most occur once: names or comments, say. */
static bool too_many(const table *t, int64_t n)
{
    return n > MANY_VALUES || (n > SOME_VALUES && 2 * n > t->rows);
}

/* Values are sorted (as numbers if all are, else by bytes), so that shuffled rows give the
 * same columns. `seen` numbers them as they come, `order` maps that to their place. */
static void read_category(const table *t, int64_t j, category *c)
{
    ferry_ids *seen = new_ids(t->s);
    const int32_t *order = NULL;

    c->place = NEW(t->s, int32_t, t->rows);
    for (int64_t i = 0; i < t->rows; i++) {
        const ferry_span f = table_cell(t, i, j);
        c->place[i] = f.s ? (int32_t)add_field(t->s, seen, f, NULL) : -1;
    }
    /* from the order of appearance to the sorted one */
    c->values = sorted_names(t->s, seen, &order);
    for (int64_t i = 0; i < t->rows; i++)
        if (c->place[i] >= 0) c->place[i] = order[c->place[i]];
}

/* The first row of column j that holds text where others are numbers, at least `least` for each
 * text (a mistake, most likely, or a word for missing); -1: none. */
static int64_t odd_text(const table *t, int64_t j, int64_t least)
{
    /* missing cells speak for neither */
    int64_t numbers = 0, texts = 0, first = -1;
    double v;

    for (int64_t i = 0; i < t->rows; i++) {
        const ferry_span f = table_cell(t, i, j);
        if (!f.s) continue;
        if (read_cell(t, f, &v) == CELL_NUMBER) {
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
static void refuse_decimal_commas(const table *t, int64_t j)
{
    int64_t row = -1;
    double v;
    bool thousands = true; /* three digits behind every comma */

    for (int64_t i = 0; i < t->rows; i++) {
        const ferry_span f = table_cell(t, i, j);
        if (!f.s || read_cell(t, f, &v) == CELL_NUMBER) continue;
        if (!is_decimal_comma(f)) return;
        const char *comma = memchr(f.s, ',', (size_t)f.n);
        thousands &= f.s + f.n - comma == 4 + (f.s[0] == '"');
        if (row < 0) row = i;
    }
    if (row < 0) return;
    const ferry_span f = table_cell(t, row, j);
    bad_at(t->s, t->from->path, table_line(t, row),
           "column %lld: '%.*s': expected a decimal point, found a comma (decimal: "
           "comma reads such numbers%s)",
           (long long)j + 1, SHOWN(f),
           thousands ? "; if it separates thousands, take it out" : "");
}

/* "2024-07-03", "3.7.2024" or "7/3/2024", and a time of day behind it. */
static bool is_date(const char *s)
{
    int digits[3] = {0};
    const char sep = s[strspn(s, "0123456789")];

    if (!sep || !strchr("-./", sep)) return false;
    for (int k = 0; k < 3; k++) {
        digits[k] = (int)strspn(s, "0123456789");
        s += digits[k];
        if (k < 2 && *s++ != sep) return false;
    }
    const int year = digits[0] == 4 ? 0 : 2;
    for (int k = 0; k < 3; k++)
        if (k == year ? digits[k] != 4 : digits[k] < 1 || digits[k] > 2) return false;
    return !*s || ((*s == 'T' || *s == ' ') && !s[1 + strspn(s + 1, "0123456789:.+-Z ")]);
}

/* A day is hardly ever seen again, so dates are neither categories nor, in this form, numbers. A column of them
 * is left out, with a word; new data for an old view keeps what was a feature. */
static bool leave_out_dates(table *t, int64_t j, category *c)
{
    const int64_t n = ferry_i_ids_count(c->values);

    for (int64_t k = 0; k < n; k++)
        if (!is_date(ferry_i_ids_at(c->values, k))) return false;
    if (n == 0 || ferry_i_was_feature(t->set, t->col[j].name)) return false;
    if (!t->set->like)
        ferry_i_log(
            scope_ctx(t->s), FERRY_WARN,
            "%s: column %s holds dates, such as '%s': left out (written as a number, "
            "of days say, it would be a feature)",
            t->from->path, table_name(t, j), ferry_i_ids_at(c->values, n / 2));
    t->col[j].role = COL_DROP;
    *c = (category){0};
    return true;
}

/* Text in a column of numbers makes all of its values categories, or is refused when these
 * are too many. Either way it is shown. Not asked when new data is read for an old view:
 * what the column is was decided then. */
static void report_odd_text(const table *t, int64_t j, const category *c)
{
    const int64_t n = ferry_i_ids_count(c->values);
    const int64_t row = odd_text(t, j, too_many(t, n) ? 1 : 9);

    if (row < 0) return;
    const ferry_span f = table_cell(t, row, j);
    const int64_t line = table_line(t, row);
    if (too_many(t, n))
        bad_at(
            t->s, t->from->path, line,
            "column %lld: expected a number, found '%.*s' (if it stands for a missing cell say missing: '%.*s')",
            (long long)j + 1, SHOWN(f), SHOWN(f));
    ferry_i_log(scope_ctx(t->s), FERRY_WARN,
                "%s:%lld: column %lld holds '%.*s' among numbers: its %lld values are "
                "taken as categories (if it stands for a missing cell give missing=%.*s)",
                t->from->path, (long long)line, (long long)j + 1, SHOWN(f), (long long)n,
                SHOWN(f));
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
static void refuse_free_text(const table *t, const category *c)
{
    ferry_text *list = new_text(t->s);
    int64_t bad = 0;
    const char *one = "";

    for (int64_t j = 0; j < t->cols; j++) {
        const int64_t n = ferry_i_ids_count(c[j].values);
        if (!too_many(t, n)) continue;
        if (bad == 0) one = ferry_i_ids_at(c[j].values, n / 2);
        ferry_i_text_add(list, bad++ ? "," : "");
        if (t->col[j].name)
            ferry_i_text_add(list, t->col[j].name);
        else
            ferry_i_text_addf(list, "%lld", (long long)j + 1);
    }
    const char *names = text_of(t->s, list);
    if (bad > 0)
        scope_fail(
            t->s, FERRY_EDATA,
            "%s: too many different texts in %lld column%s to be categories, such as '%.30s'%s: leave out with "
            "drop=%s (or use one as id= or label=%s)",
            t->from->path, (long long)bad, bad > 1 ? "s" : "", one,
            has_unit(one) ? " (units have to go)" : "", names,
            has_words(one)
                ? "; documents to learn from are lines of class<TAB>text, read by format: text"
                : "");
}

/* Add a feature's name. One that is there already becomes "name (2)" and so on: some
 * programs write headers that repeat. The search for a free number starts behind those
 * given out so far, so a header of n equal names costs O(n), not O(n^2). */
static void add_name(const table *t, const char *name, ferry_ids *names, int64_t *repeated)
{
    const char *other = name;
    bool added = false;

    (void)add_id(t->s, names, name, (int64_t)strlen(name), &added);
    for (int64_t k = *repeated + 2; !added; k++) {
        other = scope_text(t->s, "%s (%lld)", name, (long long)k);
        (void)add_id(t->s, names, other, (int64_t)strlen(other), &added);
    }
    if (other != name && ++*repeated == 1)
        ferry_i_log(scope_ctx(t->s), FERRY_WARN,
                    "%s:%lld: the name %s is there twice; the later one is called %s, and "
                    "others that repeat likewise",
                    t->from->path, (long long)ferry_i_line_of(t->begin, t->body) - 1, name,
                    other);
}

/* Names of all features. A number's
 * feature is called like its column, a category's "column=value"; as_before() in
 * delimited_roles.c takes these names apart again. */
static void name_features(const table *t, const category *c)
{
    ferry_ids *names = t->d->features = have(t->s, ferry_i_ids_new());
    int64_t repeated = 0;

    for (int64_t j = 0; j < t->cols; j++) {
        const int64_t mark = scope_mark(t->s);
        const char *name = is_feature(&t->col[j]) ? table_name(t, j) : NULL;
        if (t->col[j].role == COL_NUMBER) add_name(t, name, names, &repeated);
        for (int64_t k = 0; k < ferry_i_ids_count(c[j].values); k++)
            add_name(t, scope_text(t->s, "%s=%s", name, ferry_i_ids_at(c[j].values, k)),
                     names, &repeated);
        scope_release(t->s, mark);
    }
}

/* Where the features of a category begin, or the one feature of a number goes. Returns how
 * many features there are in all. Columns that are none take no place. */
static int64_t place_columns(const table *t, const category *c, int64_t *first)
{
    int64_t at = 0;

    for (int64_t j = 0; j < t->cols; j++) {
        first[j] = at;
        if (t->col[j].role == COL_NUMBER) at++;
        if (t->col[j].role == COL_CATEGORY) at += ferry_i_ids_count(c[j].values);
    }
    return at;
}

/* Row i of the expanded table: calls for every cell that is not zero. Returns how many;
 * index and value may be NULL to count only. A missing category is 0 in all its columns; a
 * missing number is NaN, which is not 0 and so is stored. Indices ascend, as first[]
 * does. */
static int64_t expand_row(const table *t, const category *c, const int64_t *first,
                          int64_t i, int32_t *index, double *value)
{
    int64_t n = 0;

    for (int64_t j = 0; j < t->cols; j++) {
        double v = 0;
        int64_t at = first[j];
        if (t->col[j].role == COL_NUMBER) {
            v = t->x[i * t->numbers + t->col[j].slot];
        } else if (t->col[j].role == COL_CATEGORY && c[j].place[i] >= 0) {
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
static void expand(const table *t, const category *c, ferry_matrix **out)
{
    int64_t *first = NEW(t->s, int64_t, t->cols), total = 0;
    int32_t *index = NEW(t->s, int32_t, t->cols);
    double *value = NEW(t->s, double, t->cols);
    bool missing = false;

    /* columns of a sparse matrix are int32 */
    const int64_t wide = place_columns(t, c, first);
    if (wide >= INT32_MAX)
        bad_at(t->s, t->from->path, 0, "more than %d features", INT32_MAX - 1);
    for (int64_t e = 0; e < t->rows * t->numbers && !missing; e++)
        missing = isnan(t->x[e]);
    /* Each column gives a row at most one cell that is not 0, so a row is at least 1 - cols
     * / wide zero: sparse only where that is 3/4 or more. NaN needs a dense matrix in any
     * case. */
    if (missing || wide < 200 || wide < 4 * t->cols) {
        scope_check(t->s, ferry_i_matrix_dense(scope_ctx(t->s), t->rows, wide, out));
        for (int64_t i = 0; i < t->rows; i++) {
            const int64_t n = expand_row(t, c, first, i, index, value);
            for (int64_t e = 0; e < n; e++)
                (*out)->dense[i * wide + index[e]] = value[e];
        }
        return;
    }
    /* count, then fill: the matrix has its exact size */
    for (int64_t i = 0; i < t->rows; i++)
        total += expand_row(t, c, first, i, NULL, NULL);
    scope_check(t->s, ferry_i_matrix_csr(scope_ctx(t->s), t->rows, wide, total, out));
    for (int64_t i = 0; i < t->rows; i++) {
        const int64_t at = (*out)->start[i];
        (*out)->start[i + 1] =
            at + expand_row(t, c, first, i, (*out)->index + at, (*out)->value + at);
    }
}

/* Without categories x is what the threads filled, not a copy. The names stay
 * NULL without a header, so that such views line up by column number. */
void table_features(table *t)
{
    category *c = NEW(t->s, category, t->cols);
    int64_t categories = 0, missing = 0, left = 0;
    ferry_matrix *x = NULL;

    for (int64_t j = 0; j < t->cols; j++) {
        if (t->col[j].role != COL_CATEGORY) continue;
        read_category(t, j, &c[j]);
        if (leave_out_dates(t, j, &c[j])) continue;
        categories++;
        refuse_decimal_commas(t, j);
        if (!t->set->like) report_odd_text(t, j, &c[j]);
        for (int64_t i = 0; i < t->rows; i++)
            missing += c[j].place[i] < 0;
    }
    for (int64_t j = 0; j < t->cols; j++)
        left += is_feature(&t->col[j]);
    if (left == 0) bad_at(t->s, t->from->path, 0, "no column is left for features");
    if (!t->set->like) refuse_free_text(t, c);
    if (!t->set->like) table_lint(t);
    if (t->header || categories > 0) name_features(t, c);
    if (categories == 0) return;
    expand(t, c, &x);
    ferry_i_matrix_free(t->d->x);
    t->d->x = x;
    ferry_i_log(scope_ctx(t->s), FERRY_INFO,
                "%s: %lld columns of text become %lld features, one for each value (%lld "
                "missing: all 0)",
                t->from->path, (long long)categories, (long long)(x->cols - t->numbers),
                (long long)missing);
}
