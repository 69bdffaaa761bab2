/* Ratings: "user item value [time]" a line with any separator, header or not; or a wide
 * matrix with one user a row and one item a column, where blank cells are unknown.
 *
 * A pair without a value (blank, ?, NA) is a pair to be predicted. A pair that is rated
 * twice stands here twice; a domain keeps the last.
 *
 * Ranks that read together parse a part of the lines each; a wide matrix every rank reads whole.
 */
#include "data/triples.h"

#include <math.h>
#include <string.h>

/* A file being read: its text, and how a cell of it is taken. */
typedef struct table {
    scope *s;
    const source *from;
    const ferry_read_settings *set;
    ferry_ratings *r; /* users, items and the ratings among them */
    triples t;        /* separator, missing values; one rating a line */
    int64_t cap_user, cap_item, cap_value;
    uint8_t *drop; /* wide: columns to leave out */
} table;

/* ---- header ---- */

/* What a column holds. OTHER and TIME are passed over. */
typedef enum role { OTHER, USER, ITEM, RATING, TIME } role;

/* Whether word occurs anywhere in f, in whatever case: "userId" and "Customer_ID". */
static bool holds(const ferry_field *f, const char *word)
{
    const int64_t n = (int64_t)strlen(word);

    for (int64_t i = 0; i + n <= f->n; i++) {
        const ferry_field part = {f->s + i, n, 0};
        if (ferry_i_field_is(&part, word)) return true;
    }
    return false;
}

/* What a column's name says it is; RecBole writes the type behind a colon. */
static role role_of(ferry_field f)
{
    static const struct {
        const char *word;
        role is;
    } words[] = {
        {"rating", RATING}, {"score", RATING}, {"stars", RATING}, {"value", RATING},
        {"time", TIME},     {"date", TIME},    {"user", USER},    {"customer", USER},
        {"reviewer", USER}, {"item", ITEM},    {"movie", ITEM},   {"isbn", ITEM},
        {"product", ITEM},  {"book", ITEM},    {"song", ITEM},    {"track", ITEM},
        {"artist", ITEM},   {"asin", ITEM},    {"reader", USER},  {"viewer", USER},
        {"client", USER},   {"film", ITEM},    {"title", ITEM},   {"game", ITEM}};
    /* "user_id:token" of RecBole */
    const char *colon = memchr(f.s, ':', (size_t)f.n);

    if (colon) f.n = colon - f.s;
    for (int64_t i = 0; i < FERRY_COUNT(words); i++)
        if (holds(&f, words[i].word)) return words[i].is;
    return OTHER;
}

/* Columns of user, item and value by the names in a header; false when one is not named. */
static bool named_columns(const ferry_field *f, int64_t n, int64_t col[3])
{
    col[0] = col[1] = col[2] = -1;
    for (int64_t j = n; j-- > 0;) { /* the first of equals wins */
        const role r = role_of(f[j]);
        if (r == USER) col[0] = j;
        if (r == ITEM) col[1] = j;
        if (r == RATING) col[2] = j;
    }
    return col[0] >= 0 && col[1] >= 0 && col[2] >= 0;
}

/* Whether a field is such a name and nothing else: "user", "User-ID", "userid", "users",
 * but not "user1", which may well be a user. */
static bool is_name(ferry_field f)
{
    static const char *const words[] = {
        "user",    "customer", "reviewer", "item",  "movie",  "isbn",
        "product", "book",     "song",     "track", "artist", "asin",
        "reader",  "viewer",   "client",   "film",  "title",  "game"};
    static const char *const ends[] = {"", "s", "id", "_id", "-id", " id", "ids"};
    const char *colon = memchr(f.s, ':', (size_t)f.n);

    if (colon) f.n = colon - f.s;
    for (int64_t i = 0; i < FERRY_COUNT(words); i++) {
        const int64_t n = (int64_t)strlen(words[i]);
        const ferry_field word = {f.s, n, 0}, end = {f.s + n, f.n - n, 0};
        if (f.n < n || !ferry_i_field_is(&word, words[i])) continue;
        for (int64_t j = 0; j < FERRY_COUNT(ends); j++)
            if (ferry_i_field_is(&end, ends[j])) return true;
    }
    return false;
}

/* Two words over two numbers: a header, whatever the words are. */
static bool words_over_numbers(const table *t, ferry_lines below, const ferry_field *f,
                               int64_t n)
{
    ferry_field g[2];
    double x = 0;

    return n == 2 && ferry_i_full_line(&below, "#%") &&
           ferry_i_fields(below.s, below.e, t->t.sep, g, 2) == 2 &&
           ferry_i_field_real(&g[0], &x) && ferry_i_field_real(&g[1], &x) &&
           !ferry_i_field_real(&f[0], &x) && !ferry_i_field_real(&f[1], &x);
}

/* Columns of user and item where a header has these, perhaps times, and no rating: pairs to
 * be predicted. */
static bool pair_columns(const ferry_field *f, int64_t n, int64_t col[3])
{
    col[0] = col[1] = col[2] = -1;
    for (int64_t j = n; j-- > 0;) {
        const role r = role_of(f[j]);
        if (r == USER && is_name(f[j])) col[0] = j;
        if (r == ITEM && is_name(f[j])) col[1] = j;
        if (r == OTHER || r == RATING) return false;
    }
    return col[0] >= 0 && col[1] >= 0;
}

/* What a first cell of a header is called that stands over users. */
static bool over_users(const ferry_field *f)
{
    return f->n == 0 || role_of(*f) == USER || ferry_i_field_is(f, "id");
}

/* A header that begins with nothing, "user" or "id" and has no other such name: one column
 * for each item, however few they are. */
static bool wide_header(const ferry_field *f, int64_t n, int64_t names)
{
    bool wide = n > 2 && names == n - 1 && over_users(&f[0]);

    for (int64_t j = 1; wide && j < n; j++)
        wide = role_of(f[j]) == OTHER;
    return wide;
}

/* Neither missing nor a number. */
static bool is_word(const table *t, const ferry_field *f)
{
    double x = 0;

    return !triple_missing(&t->t, f) && !ferry_i_field_real(f, &x);
}

/* ---- one rating a line ---- */

static const triple_schema rating = {.comments = "#%",
                                     .ends = "a user and an item",
                                     .value = "a finite number as rating",
                                     .many = "users or items"};

/* t->t.col says which column is which, col[2] < 0 that there is no value and
 * every line is a pair to be predicted. All lines have the first one's number of
 * columns. */
static void read_lines(table *t, ferry_lines l, bool header)
{
    ferry_ratings *to = t->r;

    if (header) (void)ferry_i_full_line(&l, "#%");
    FERRY_FREE(to->user, to->item, to->value);
    to->user = to->item = NULL;
    to->value = NULL;
    t->t.ids[0] = &to->users;
    t->t.ids[1] = &to->items;
    t->t.end[0] = &to->user;
    t->t.end[1] = &to->item;
    t->t.value = &to->value;
    records r = {
        .s = t->s, .path = t->from->path, .text = t->from->s, .body = l.next, .end = l.end};
    triples_parse(&t->t, &r);
    triples_close(&t->t, &r);
    to->n = r.rows;
}

/* ---- a wide matrix ---- */

/* Mark the columns of the option drop, "a,b,3": by their name in the header, else by
 * number from 1. */
static void mark_dropped(table *t, const ferry_field *f, int64_t n, bool header)
{
    t->drop = NEW(t->s, uint8_t, n);
    for (const char *s = t->set->drop; *s;) {
        const size_t len = strcspn(s, ",");
        int64_t at = -1, number = 0;
        char word[100] = "";
        memcpy(word, s, len < sizeof word ? len : sizeof word - 1);
        for (int64_t j = 0; header && j < n && at < 0; j++)
            if (ferry_i_field_is(&f[j], word)) at = j;
        if (at < 0 && ferry_i_parse_int(s, s + len, &number) == s + len) at = number - 1;
        if (at < 0 || at >= n)
            bad_at(t->s, t->from->path, 0, "no column %s (drop=) among its %lld", word,
                   (long long)n);
        t->drop[at] = 1;
        s += len + (s[len] == ',');
    }
}

/* Number of the name in a cell; of `number` where there is none. */
static int64_t name_id(table *t, ferry_ids *ids, const ferry_field *f, int64_t number,
                       bool *added)
{
    char text[32];

    const int64_t at =
        f ? ferry_i_field_id(ids, f, added)
          : ferry_i_ids_addn(ids, text, ferry_i_format_real(text, (double)number), added);
    if (at < 0) have(t->s, NULL);
    return at;
}

/* Items from the header's cells, or 1, 2, ...; blank and repeated names are refused. */
static void name_items(table *t, const ferry_field *f, int64_t n, int64_t skip, bool header,
                       int64_t line)
{
    char show[44];
    bool added = false;

    for (int64_t j = skip; j < n; j++) {
        if (t->drop[j]) continue;
        if (header && f[j].n == 0)
            bad_at(t->s, t->from->path, line, "column %lld: expected an item's name",
                   (long long)(j + 1));
        (void)name_id(t, t->r->items, header ? &f[j] : NULL, j - skip + 1, &added);
        if (!added)
            bad_at(t->s, t->from->path, line, "item \"%s\" has two columns",
                   ferry_i_field_show(&f[j], show));
    }
}

/* The cells of one user. A blank cell is unknown and gives no rating at all: in a wide
 * matrix nearly all cells are blank, and they cannot all be meant as questions. */
static void add_row(table *t, const ferry_field *f, int64_t n, int64_t skip, int64_t user,
                    int64_t line)
{
    ferry_ratings *r = t->r;
    int64_t item = 0;
    char show[44];

    for (int64_t j = skip; j < n; j++) {
        double value = NAN;
        if (t->drop[j]) continue;
        const int64_t at = item++;
        if (triple_missing(&t->t, &f[j])) continue;
        if (!ferry_i_field_real(&f[j], &value))
            bad_at(t->s, t->from->path, line,
                   "column %lld: expected a finite number or a blank, found \"%s\"%s",
                   (long long)(j + 1), ferry_i_field_show(&f[j], show),
                   ferry_i_decimal_comma(f[j].s, f[j].n)
                       ? " (decimal: comma reads such numbers)"
                       : " (drop= leaves a column out)");
        if (user > INT32_MAX || at > INT32_MAX)
            bad_at(t->s, t->from->path, 0, "more than %d users or items", INT32_MAX);
        if (!FERRY_GROW(r->user, r->n, t->cap_user) ||
            !FERRY_GROW(r->item, r->n, t->cap_item) ||
            !FERRY_GROW(r->value, r->n, t->cap_value))
            have(t->s, NULL);
        r->user[r->n] = (int32_t)user;
        r->item[r->n] = (int32_t)at;
        r->value[r->n++] = value;
    }
}

/* A column whose values lie farther from all others than these span ("age" beside ratings of
 * 1 to 5) is hardly an item. Of a column without values lo is above hi. */
static void warn_of_other_columns(const table *t)
{
    const ferry_ratings *r = t->r;
    const int64_t n = ferry_i_ids_count(r->items);
    double *lo = NEW(t->s, double, n), *hi = NEW(t->s, double, n);

    for (int64_t i = 0; i < n; i++) {
        lo[i] = INFINITY;
        hi[i] = -INFINITY;
    }
    for (int64_t e = 0; e < r->n; e++) {
        lo[r->item[e]] = fmin(lo[r->item[e]], r->value[e]);
        hi[r->item[e]] = fmax(hi[r->item[e]], r->value[e]);
    }
    for (int64_t i = 0; i < n && n > 2 && n <= 10000; i++) {
        double least = INFINITY, most = -INFINITY;
        for (int64_t j = 0; j < n; j++) {
            if (j == i) continue;
            least = fmin(least, lo[j]);
            most = fmax(most, hi[j]);
        }
        if (lo[i] > hi[i] || fmax(lo[i] - most, least - hi[i]) <= most - least) continue;
        ferry_i_log(
            scope_ctx(t->s), FERRY_WARN,
            "%s: column %s has values from %g to %g, all others from %g to %g: if it is no "
            "item, say drop: %s",
            t->from->path, ferry_i_ids_at(r->items, i), lo[i], hi[i], least, most,
            ferry_i_ids_at(r->items, i));
        break;
    }
}

/* A row per user, a column per item. Without ids users are called 1, 2, ... in order. */
static void read_wide(table *t, ferry_lines l, bool header, bool ids)
{
    const int64_t width = t->t.width, skip = ids ? 1 : 0;
    ferry_field *f = NEW(t->s, ferry_field, width);
    char show[44];

    for (bool first = true; ferry_i_full_line(&l, "#%"); first = false) {
        const int64_t n = ferry_i_fields(l.s, l.e, t->t.sep, f, width);
        bool added = false;
        if (n != width)
            bad_at(t->s, t->from->path, l.line, "expected %lld columns, found %lld",
                   (long long)width, (long long)n);
        /* the first line has the items' names, or shows how many there are to be
         * numbered */
        if (first) mark_dropped(t, f, n, header);
        if (first) name_items(t, f, n, skip, header, l.line);
        if (first && header) continue;
        if (ids && f[0].n == 0)
            bad_at(t->s, t->from->path, l.line, "column 1: expected a user");
        /* without a column of ids, the user's name is the row's number */
        const int64_t user = name_id(t, t->r->users, ids ? &f[0] : NULL,
                                     ferry_i_ids_count(t->r->users) + 1, &added);
        if (!added)
            bad_at(t->s, t->from->path, l.line, "user \"%s\" has two rows",
                   ferry_i_field_show(&f[0], show));
        add_row(t, f, n, skip, user, l.line);
    }
    warn_of_other_columns(t);
}

/* A matrix that was filled up with zeros, or a log in which 0 says "no opinion": a fifth and more of all
 * values, below a scale that begins at 1. */
static void warn_of_zeros(const table *t)
{
    double least = INFINITY, most = -INFINITY;
    int64_t zeros = 0;

    for (int64_t e = 0; e < t->r->n; e++) {
        const double v = t->r->value[e];
        zeros += v == 0;
        if (v == 0 || isnan(v)) continue;
        least = fmin(least, v);
        most = fmax(most, v);
    }
    if (5 * zeros >= t->r->n && zeros > 0 && least >= 1 && most >= 3)
        ferry_i_log(
            scope_ctx(t->s), FERRY_WARN,
            "%s: %lld of %lld ratings are 0, the others %g to %g: if 0 stands for no "
            "rating, say missing: 0",
            t->from->path, (long long)zeros, (long long)t->r->n, least, most);
}

/* ---- which of the two ---- */

/* Whether the first cell of every line behind l is a word; 200 lines are enough. One odd cell among ratings
 * does not make them users. */
static bool words_below(const table *t, ferry_lines l)
{
    int lines = 0;

    for (; lines < 200 && ferry_i_full_line(&l, "#%"); lines++) {
        ferry_field f = {0};
        if (ferry_i_fields(l.s, l.e, t->t.sep, &f, 1) == 0 ||
            ferry_i_decimal_comma(f.s, f.n) || !is_word(t, &f))
            return false;
    }
    return lines > 0;
}

/* Look at the first line: how many columns, header or not, ids in front or not. */
static void read_table(table *t)
{
    const ferry_read_settings *set = t->set;
    const ferry_lines all = ferry_i_lines(t->from->s, t->from->end - t->from->s);
    ferry_lines l = all;
    int64_t *col = t->t.col, names = 0;

    if (!ferry_i_full_line(&l, "#%"))
        bad_at(t->s, t->from->path, 0, "is empty, expected ratings (user item value)");
    t->t.sep = set->sep[0] ? ferry_i_sep_of(set->sep) : ferry_i_sep_guess(l.s, l.e);
    const int64_t width = t->t.width = ferry_i_fields(l.s, l.e, t->t.sep, NULL, 0);
    ferry_field *f = NEW(t->s, ferry_field, width);
    (void)ferry_i_fields(l.s, l.e, t->t.sep, f, width);
    if (width < 2)
        bad_at(t->s, t->from->path, l.line,
               "expected user, item and rating, found one column");
    /* fields behind the first that are words: a row of data has numbers there */
    for (int64_t j = 1; j < width; j++)
        names += is_word(t, &f[j]);
    const bool named =
        set->header != 2 && (named_columns(f, width, col) || pair_columns(f, width, col));
    const bool wide = set->header != 2 && wide_header(f, width, names);
    /* up to four columns (user item value time) are triples unless a header says
     * otherwise */
    if (named || (width <= 4 && !wide)) {
        /* without a header the third column is a number: a word there is a name */
        const bool words =
            width > 2 ? is_word(t, &f[2]) : words_over_numbers(t, l, f, width);
        for (int64_t k = 0; k < 3 && !named; k++)
            col[k] = k < width ? k : -1;
        read_lines(t, all, set->header == 1 || named || (set->header == 0 && words));
        return;
    }
    const bool first = (role_of(f[0]) == USER && is_name(f[0])) ||
                       ferry_i_field_is(&f[0], "id"); /* items may be numbers */
    const bool header = set->header == 1 || (set->header == 0 && (names > 0 || first));
    const bool ids = strcmp(set->id, "first") == 0 || strcmp(set->id, "1") == 0 ||
                     (set->id[0] == 0 && (header ? over_users(&f[0]) || words_below(t, l)
                                                 : is_word(t, &f[0])));
    read_wide(t, all, header, ids);
}

/* ---- range ---- */

/* "1..5" */
static void parse_range(const table *t, const char *text, double *lo, double *hi)
{
    const char *dots = strstr(text, "..");
    const ferry_field least = {text, dots ? dots - text : 0, 0};
    const ferry_field most = {dots ? dots + 2 : text, dots ? (int64_t)strlen(dots + 2) : 0,
                              0};

    if (!(dots && ferry_i_field_real(&least, lo) && ferry_i_field_real(&most, hi) &&
          *lo < *hi))
        scope_fail(t->s, FERRY_EINVAL, "range \"%s\": expected LEAST..GREATEST, as 1..5",
                   text);
}

/* The range that the user gave, by its new name or its old one. Ratings beyond it are moved
 * to its ends and not refused: a few wrong lines should not stop a data set of millions. */
static void apply_range(const table *t)
{
    ferry_ratings *r = t->r;
    const char *range = t->set->range[0] ? t->set->range : t->set->scale;
    int64_t beyond = 0;

    if (range[0] == 0) return;
    parse_range(t, range, &r->lo, &r->hi);
    r->ranged = true;
    for (int64_t e = 0; e < r->n; e++) {
        const double x = r->value[e];
        if (isnan(x) || (x >= r->lo && x <= r->hi)) continue;
        r->value[e] = x < r->lo ? r->lo : r->hi;
        beyond++;
    }
    if (beyond > 0)
        ferry_i_log(scope_ctx(t->s), FERRY_WARN,
                    "%s: %lld of %lld ratings beyond the range %s were moved to its ends",
                    t->from->path, (long long)beyond, (long long)r->n, range);
}

/* Users and items are numbered as they come. If the text for missing is a number, cells are
 * compared with it by value. */
static void ratings_records(scope *s, const source *from, ferry_data *d)
{
    const char *missing = from->set->missing;
    const ferry_field hole = {missing, (int64_t)strlen(missing), 0};
    table t = {.s = s,
               .from = from,
               .set = from->set,
               .t = {.schema = &rating, .none = NAN, .missing = from->set}};

    if (!ferry_i_field_real(&hole, &t.t.hole)) t.t.hole = NAN;
    scope_check(s, ferry_i_ratings_new(scope_ctx(s), 0, NULL, NULL, &d->ratings));
    ferry_ratings *r = t.r = d->ratings;
    read_table(&t);
    if (r->n == 0) bad_at(s, from->path, 0, "holds no rating");
    warn_of_zeros(&t);
    /* the range that the values span */
    r->lo = INFINITY;
    r->hi = -INFINITY;
    for (int64_t i = 0; i < r->n; i++) {
        if (isnan(r->value[i])) continue;
        r->lo = fmin(r->lo, r->value[i]);
        r->hi = fmax(r->hi, r->value[i]);
    }
    if (r->lo > r->hi) r->lo = r->hi = NAN; /* only pairs to be predicted */
    apply_range(&t);
}

/* Sure when a header names user, item and rating; rather sure of three whole numbers and a
 * Unix time, the form of MovieLens' u.data. */
static int sniff_ratings(const char *head, int64_t n)
{
    ferry_lines l = ferry_i_lines(head, n);
    ferry_field f[8];
    int64_t col[3], lines = 0, number = 0;
    double x = 0;

    while (lines < 5 && ferry_i_full_line(&l, "#%")) {
        const char *sep = ferry_i_sep_guess(l.s, l.e);
        const int64_t k = ferry_i_fields(l.s, l.e, sep, f, 8);
        if (lines == 0 && k <= 8 && named_columns(f, k, col)) return 95;
        if (l.next == l.end && lines > 0) break; /* perhaps cut short */
        if (k != 4 || !ferry_i_field_int(&f[0], &number) || number < 0) return 0;
        if (!ferry_i_field_int(&f[1], &number) || number < 0) return 0;
        if (!ferry_i_field_real(&f[2], &x) || fabs(x) > 100) return 0;
        if (!ferry_i_field_int(&f[3], &number) || number < 100000000) return 0;
        lines++;
    }
    return lines > 0 ? 90 : 0;
}

/* Tab-separated with a header that named_columns() knows; a pair to be predicted has an
 * empty third field, which reads back as such. */
static ferry_status write_ratings(ferry_ctx *ctx, const ferry_data *data, const char *path,
                                  const ferry_opts *opts)
{
    const ferry_ratings *r = data->ratings;
    ferry_out *o = NULL;
    char number[32];

    (void)opts;
    if (data->kind != FERRY_DATA_RATINGS || !r)
        return ferry_i_fail(ctx, FERRY_EINVAL, "%s: the ratings format holds ratings only",
                            path);
    FERRY_PASS(ferry_i_fit_lines(ctx, path, r->users));
    FERRY_PASS(ferry_i_fit_lines(ctx, path, r->items));
    FERRY_PASS(ferry_i_out_open(ctx, path, &o));
    ferry_i_out_printf(o, "user\titem\trating\n");
    for (int64_t i = 0; i < r->n; i++) {
        ferry_i_out_field(o, ferry_i_ids_at(r->users, r->user[i]), '\t');
        ferry_i_out_write(o, "\t", 1);
        ferry_i_out_field(o, ferry_i_ids_at(r->items, r->item[i]), '\t');
        ferry_i_out_write(o, "\t", 1);
        if (!isnan(r->value[i]))
            ferry_i_out_write(o, number, ferry_i_format_real(number, r->value[i]));
        ferry_i_out_write(o, "\n", 1);
    }
    return ferry_i_out_commit(ctx, o);
}

const ferry_format ferry_i_format_ratings = {
    .info = {.name = "ratings",
             .extensions = ".ratings .inter .csv .tsv .txt .dat .data",
             .summary = "user, item, value [, time] a line with any separator, or a matrix",
             .writes = 1},
    .kinds = 1u << FERRY_DATA_RATINGS,
    .options = "header sep id drop missing decimal range scale",
    .sniff = sniff_ratings,
    .open = OPEN_TEXT | OPEN_UTF8 | OPEN_DECIMAL,
    .records = ratings_records,
    .write = write_ratings,
};
