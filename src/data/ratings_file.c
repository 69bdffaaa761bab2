/* Ratings: "user item value [time]" a line with any separator, header or not; or a wide
 * matrix with one user a row and one item a column, where blank cells are unknown.
 *
 * A pair without a value (blank, ?, NA) is a pair to be predicted. A pair that is rated
 * twice stands here twice; a domain keeps the last.
 *
 * Ranks that read together (lines.h) parse a part of the lines each; a wide matrix every rank reads whole.
 */
#include <math.h>
#include <string.h>

#include "data/fields.h"
#include "data/lines.h"

/* One rating as read; value is NaN where it is to be predicted. */
typedef struct entry {
    int32_t user, item;
    double value;
} entry;

/* A file being read: what users and items were met so far, and the ratings among them. */
typedef struct table {
    const ferry_read_settings *s;
    const char *path, *sep;
    const char *begin; /* of the text */
    ferry_ids *users, *items;
    entry *e;
    int64_t n, cap;
    bool has_hole; /* the option "missing" is a number: */
    double hole;
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
           ferry_i_fields(below.s, below.e, t->sep, g, 2) == 2 &&
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

/* A header that begins with nothing, "user" or "id" and has no other such name: one column
 * for each item, however few they are. */
static bool wide_header(const ferry_field *f, int64_t n, int64_t names)
{
    bool wide = n > 2 && names == n - 1 &&
                (f[0].n == 0 || role_of(f[0]) == USER || ferry_i_field_is(&f[0], "id"));

    for (int64_t j = 1; wide && j < n; j++)
        wide = role_of(f[j]) == OTHER;
    return wide;
}

/* ---- cells ---- */

/* A number that stands for missing does so however it is written: 0 and 0.000. */
static bool is_missing(const table *t, const ferry_field *f)
{
    double x = 0;

    return ferry_i_is_missing(f->s, f->n, t->s->missing) ||
           (t->has_hole && ferry_i_field_real(f, &x) && x == t->hole);
}

/* What to do about a cell that is no number. */
static const char *remedy(const ferry_field *f, const char *other)
{
    return ferry_i_decimal_comma(f->s, f->n) ? " (decimal: comma reads such numbers)"
                                             : other;
}

/* The numbers of the last user and item. */
static ferry_status check_counts(ferry_ctx *ctx, const table *t, int64_t user, int64_t item)
{
    if (user > INT32_MAX || item > INT32_MAX)
        return ferry_i_bad(ctx, t->path, 0, "more than %d users or items", INT32_MAX);
    return FERRY_OK;
}

/* One rating. user or item < 0 says that an id found no memory. */
static ferry_status add(ferry_ctx *ctx, table *t, int64_t user, int64_t item, double value)
{
    if (user < 0 || item < 0 || !FERRY_GROW(t->e, t->n, t->cap)) return ferry_i_nomem(ctx);
    FERRY_PASS(check_counts(ctx, t, user, item));
    t->e[t->n++] = (entry){(int32_t)user, (int32_t)item, value};
    return FERRY_OK;
}

/* ---- one rating a line ---- */

/* "user item value": col says which column is which, col[2] < 0 that there is no value and
 * every line is a pair to be predicted. All lines have the first one's number of
 * columns. */
typedef struct shape {
    const int64_t *col;
    int64_t width;
    ferry_field *f; /* room for a line's */
} shape;

/* The lines of a piece, up to the first error, which is noted there; rows counts its ratings. */
static ferry_status read_piece(ferry_ctx *ctx, table *t, const shape *w, ferry_piece *p)
{
    ferry_lines l = {.next = p->begin, .end = p->end};
    char show[44];

    while (ferry_i_full_line(&l, "#%")) {
        const int64_t n = ferry_i_fields(l.s, l.e, t->sep, w->f, w->width);
        const ferry_field *u = &w->f[w->col[0]], *i = &w->f[w->col[1]],
                          *v = w->col[2] < 0 ? NULL : &w->f[w->col[2]];
        double value = NAN;
        if (n != w->width)
            ferry_i_piece_bad(p, ferry_i_line_of(t->begin, l.s),
                              "expected %lld columns, found %lld", (long long)w->width,
                              (long long)n);
        else if (u->n == 0 || i->n == 0)
            ferry_i_piece_bad(p, ferry_i_line_of(t->begin, l.s),
                              "expected a user and an item");
        else if (v && !is_missing(t, v) && !ferry_i_field_real(v, &value))
            ferry_i_piece_bad(p, ferry_i_line_of(t->begin, l.s),
                              "expected a finite number as rating, found \"%s\"%s",
                              ferry_i_field_show(v, show), remedy(v, ""));
        if (p->bad_line) break;
        FERRY_PASS(add(ctx, t, ferry_i_field_id(t->users, u, NULL),
                       ferry_i_field_id(t->items, i, NULL), value));
        p->rows++;
    }
    return FERRY_OK;
}

/* Where ranks read together: users, items and ratings of our pieces become those of all. */
static ferry_status unite(ferry_ctx *ctx, table *t, ferry_piece *p, int64_t n,
                          int64_t first)
{
    ferry_status st = FERRY_OK;
    int64_t *user = NULL, *item = NULL, all = 0, none = 0;
    entry *e = NULL;

    FERRY_TRY(ferry_i_pieces_unite(ctx, n, &t->users, &user));
    FERRY_TRY(ferry_i_pieces_unite(ctx, n, &t->items, &item));
    if (!user) goto done; /* all were ours */
    FERRY_TRY(check_counts(ctx, t, ferry_i_ids_count(t->users) - 1,
                           ferry_i_ids_count(t->items) - 1));
    ferry_i_pieces_place(p, n, 1, &all, &none);
    FERRY_NEW(ctx, e, all);
    entry *to = e + (first < n ? p[first].row_at : all);
    for (int64_t k = 0; k < t->n; k++)
        to[k] = (entry){(int32_t)user[t->e[k].user], (int32_t)item[t->e[k].item],
                        t->e[k].value};
    FERRY_TRY(ferry_i_pieces_bring(ctx, p, n, FERRY_BY_ROW, all, sizeof *e, e));
    ferry_i_free(t->e);
    FERRY_MOVE(t->e, e);
    t->n = t->cap = all;
done:
    FERRY_FREE(user, item, e);
    return st;
}

static ferry_status read_triples(ferry_ctx *ctx, table *t, ferry_lines l, bool header,
                                 const int64_t col[3], int64_t width)
{
    ferry_status st = FERRY_OK;
    shape w = {.col = col, .width = width};
    ferry_piece *p = NULL;
    int64_t n = 0, from = 0, to = 0;

    FERRY_NEW(ctx, w.f, width);
    if (header) (void)ferry_i_full_line(&l, "#%");
    FERRY_TRY(ferry_i_pieces(ctx, l.next, l.end, &p, &n));
    ferry_i_pieces_mine(ctx, n, &from, &to);
    for (int64_t k = from; k < to && (k == from || !p[k - 1].bad_line); k++)
        FERRY_TRY(read_piece(ctx, t, &w, &p[k]));
    FERRY_TRY(ferry_i_pieces_share(ctx, p, n));
    FERRY_TRY(ferry_i_pieces_check(ctx, t->path, p, n));
    FERRY_TRY(unite(ctx, t, p, n, from));
done:
    FERRY_FREE(w.f, p);
    return st;
}

/* ---- a wide matrix ---- */

/* Mark the columns of the option drop, "a,b,3": by their name in the header, else by
 * number from 1. */
static ferry_status mark_dropped(ferry_ctx *ctx, table *t, const ferry_field *f, int64_t n,
                                 bool header)
{
    ferry_status st = FERRY_OK;

    FERRY_NEW(ctx, t->drop, n);
    for (const char *s = t->s->drop; *s;) {
        const size_t len = strcspn(s, ",");
        int64_t at = -1, number = 0;
        char word[100] = "";
        memcpy(word, s, len < sizeof word ? len : sizeof word - 1);
        for (int64_t j = 0; header && j < n && at < 0; j++)
            if (ferry_i_field_is(&f[j], word)) at = j;
        if (at < 0 && ferry_i_parse_int(s, s + len, &number) == s + len) at = number - 1;
        FERRY_NEED(ctx, at >= 0 && at < n, FERRY_EDATA,
                   "%s: no column %s (drop=) among its %lld", t->path, word, (long long)n);
        t->drop[at] = 1;
        s += len + (s[len] == ',');
    }
done:
    return st;
}

/* Items from the header's cells, or 1, 2, ...; blank and repeated names are refused. */
static ferry_status name_items(ferry_ctx *ctx, table *t, const ferry_field *f, int64_t n,
                               int64_t skip, bool header, int64_t line)
{
    ferry_status st = FERRY_OK;
    char number[32], show[44];
    bool added = false;

    for (int64_t j = skip; j < n; j++) {
        if (t->drop[j]) continue;
        FERRY_NEED_AT(ctx, !header || f[j].n != 0, t->path, line,
                      "column %lld: expected an item's name", (long long)(j + 1));
        (void)ferry_i_format_real(number, (double)(j - skip + 1));
        const int64_t at = header ? ferry_i_field_id(t->items, &f[j], &added)
                                  : ferry_i_ids_add(t->items, number, &added);
        FERRY_HAVE(ctx, at >= 0);
        FERRY_NEED_AT(ctx, added, t->path, line, "item \"%s\" has two columns",
                      ferry_i_field_show(&f[j], show));
    }
done:
    return st;
}

/* The cells of one user. A blank cell is unknown and gives no rating at all: in a wide
 * matrix nearly all cells are blank, and they cannot all be meant as questions. */
static ferry_status add_row(ferry_ctx *ctx, table *t, const ferry_field *f, int64_t n,
                            int64_t skip, int64_t user, int64_t line)
{
    ferry_status st = FERRY_OK;
    int64_t item = 0;
    char show[44];

    for (int64_t j = skip; j < n; j++) {
        double value = NAN;
        if (t->drop[j]) continue;
        const int64_t at = item++;
        if (is_missing(t, &f[j])) continue;
        FERRY_NEED_AT(ctx, ferry_i_field_real(&f[j], &value), t->path, line,
                      "column %lld: expected a finite number or a blank, found \"%s\"%s",
                      (long long)(j + 1), ferry_i_field_show(&f[j], show),
                      remedy(&f[j], " (drop= leaves a column out)"));
        FERRY_TRY(add(ctx, t, user, at, value));
    }
done:
    return st;
}

/* A column whose values lie farther from all others than these span ("age" beside ratings of
 * 1 to 5) is hardly an item. Of a column without values lo is above hi. */
static ferry_status warn_of_strangers(ferry_ctx *ctx, const table *t)
{
    ferry_status st = FERRY_OK;
    const int64_t n = ferry_i_ids_count(t->items);
    double *lo = ferry_i_calloc(n, sizeof *lo), *hi = ferry_i_calloc(n, sizeof *hi);

    FERRY_HAVE(ctx, lo && hi);
    for (int64_t i = 0; i < n; i++) {
        lo[i] = INFINITY;
        hi[i] = -INFINITY;
    }
    for (int64_t e = 0; e < t->n; e++) {
        lo[t->e[e].item] = fmin(lo[t->e[e].item], t->e[e].value);
        hi[t->e[e].item] = fmax(hi[t->e[e].item], t->e[e].value);
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
            ctx, FERRY_WARN,
            "%s: column %s has values from %g to %g, all others from %g to %g: if it is no "
            "item, say drop: %s",
            t->path, ferry_i_ids_at(t->items, i), lo[i], hi[i], least, most,
            ferry_i_ids_at(t->items, i));
        break;
    }
done:
    FERRY_FREE(lo, hi);
    return st;
}

/* A row per user, a column per item. Without ids users are called 1, 2, ... in order. */
static ferry_status read_wide(ferry_ctx *ctx, table *t, ferry_lines l, bool header,
                              bool ids, int64_t width)
{
    ferry_status st = FERRY_OK;
    ferry_field *f = ferry_i_calloc(width, sizeof *f);
    const int64_t skip = ids ? 1 : 0;
    char number[32], show[44];
    bool added = false, first = true;

    FERRY_HAVE(ctx, f);
    while (ferry_i_full_line(&l, "#%")) {
        const int64_t n = ferry_i_fields(l.s, l.e, t->sep, f, width);
        FERRY_NEED_AT(ctx, n == width, t->path, l.line, "expected %lld columns, found %lld",
                      (long long)width, (long long)n);
        /* the first line has the items' names, or shows how many there are to be
         * numbered */
        if (first) FERRY_TRY(mark_dropped(ctx, t, f, n, header));
        if (first) FERRY_TRY(name_items(ctx, t, f, n, skip, header, l.line));
        if (!first || !header) {
            FERRY_NEED_AT(ctx, !ids || f[0].n != 0, t->path, l.line,
                          "column 1: expected a user");
            /* without a column of ids, the user's name is the row's number */
            (void)ferry_i_format_real(number, (double)(ferry_i_ids_count(t->users) + 1));
            const int64_t user = ids ? ferry_i_field_id(t->users, &f[0], &added)
                                     : ferry_i_ids_add(t->users, number, &added);
            FERRY_NEED_AT(ctx, added || user < 0, t->path, l.line,
                          "user \"%s\" has two rows", ferry_i_field_show(&f[0], show));
            FERRY_HAVE(ctx, user >= 0);
            FERRY_TRY(add_row(ctx, t, f, n, skip, user, l.line));
        }
        first = false;
    }
    FERRY_TRY(warn_of_strangers(ctx, t));
done:
    ferry_i_free(f);
    return st;
}

/* A matrix that was filled up with zeros, or a log in which 0 says "no opinion": a fifth and more of all
 * values, below a scale that begins at 1. */
static void warn_of_zeros(ferry_ctx *ctx, const table *t)
{
    double least = INFINITY, most = -INFINITY;
    int64_t zeros = 0;

    for (int64_t e = 0; e < t->n; e++) {
        const double v = t->e[e].value;
        zeros += v == 0;
        if (v == 0 || isnan(v)) continue;
        least = fmin(least, v);
        most = fmax(most, v);
    }
    if (5 * zeros >= t->n && zeros > 0 && least >= 1 && most >= 3)
        ferry_i_log(
            ctx, FERRY_WARN,
            "%s: %lld of %lld ratings are 0, the others %g to %g: if 0 stands for no "
            "rating, say missing: 0",
            t->path, (long long)zeros, (long long)t->n, least, most);
}

/* ---- which of the two ---- */

/* Whether the first cell of every line behind l is a word; 200 lines tell. One odd cell among ratings
 * does not make them users. */
static bool words_below(const table *t, ferry_lines l)
{
    int lines = 0;

    for (; lines < 200 && ferry_i_full_line(&l, "#%"); lines++) {
        ferry_field f = {0};
        double x = 0;
        if (ferry_i_fields(l.s, l.e, t->sep, &f, 1) == 0 || is_missing(t, &f) ||
            ferry_i_decimal_comma(f.s, f.n) || ferry_i_field_real(&f, &x))
            return false;
    }
    return lines > 0;
}

/* Look at the first line: how many columns, header or not, ids in front or not. */
static ferry_status read_table(ferry_ctx *ctx, table *t, const ferry_utf8 *u)
{
    ferry_status st = FERRY_OK;
    ferry_lines all = ferry_i_lines(u->s, u->n), l = all;
    ferry_field *f = NULL;
    int64_t col[3] = {0, 1, 2}, names = 0;
    double x = 0;

    t->begin = u->s;
    FERRY_NEED_AT(ctx, ferry_i_full_line(&l, "#%"), t->path, 0,
                  "is empty, expected ratings (user item value)");
    t->sep = t->s->sep[0] ? ferry_i_sep_of(t->s->sep) : ferry_i_sep_guess(l.s, l.e);
    const int64_t width = ferry_i_fields(l.s, l.e, t->sep, NULL, 0);
    FERRY_NEW(ctx, f, width);
    (void)ferry_i_fields(l.s, l.e, t->sep, f, width);
    FERRY_NEED_AT(ctx, width >= 2, t->path, l.line,
                  "expected user, item and rating, found one column");
    /* fields behind the first that are words: a row of data has numbers there */
    for (int64_t j = 1; j < width; j++)
        names += !is_missing(t, &f[j]) && !ferry_i_field_real(&f[j], &x);
    const bool named =
        t->s->header != 2 && (named_columns(f, width, col) || pair_columns(f, width, col));
    const bool wide = t->s->header != 2 && wide_header(f, width, names);
    /* up to four columns (user item value time) are triples unless a header says
     * otherwise */
    if (named || (width <= 4 && !wide)) {
        /* without a header the third column is a number: a word there is a name */
        const bool words = width > 2
                               ? !is_missing(t, &f[2]) && !ferry_i_field_real(&f[2], &x)
                               : words_over_numbers(t, l, f, width);
        if (!named) {
            col[0] = 0;
            col[1] = 1;
            col[2] = width > 2 ? 2 : -1;
        }
        const bool header = t->s->header == 1 || named || (t->s->header == 0 && words);
        FERRY_TRY(read_triples(ctx, t, all, header, col, width));
    } else {
        const bool first = (role_of(f[0]) == USER && is_name(f[0])) ||
                           ferry_i_field_is(&f[0], "id"); /* items may be numbers */
        const bool header =
            t->s->header == 1 || (t->s->header == 0 && (names > 0 || first));
        const bool ids =
            strcmp(t->s->id, "first") == 0 || strcmp(t->s->id, "1") == 0 ||
            (t->s->id[0] == 0 &&
             (header ? f[0].n == 0 || role_of(f[0]) == USER ||
                           ferry_i_field_is(&f[0], "id") || words_below(t, l)
                     : !is_missing(t, &f[0]) && !ferry_i_field_real(&f[0], &x)));
        FERRY_TRY(read_wide(ctx, t, all, header, ids, width));
    }
    if (t->n == 0) st = ferry_i_bad(ctx, t->path, 0, "holds no rating");
    warn_of_zeros(ctx, t);
done:
    ferry_i_free(f);
    return st;
}

/* ---- range ---- */

/* "1..5" */
static ferry_status parse_range(ferry_ctx *ctx, const char *text, double *lo, double *hi)
{
    const char *dots = strstr(text, "..");
    const ferry_field least = {text, dots ? dots - text : 0, 0};
    const ferry_field most = {dots ? dots + 2 : text, dots ? (int64_t)strlen(dots + 2) : 0,
                              0};

    if (!(dots && ferry_i_field_real(&least, lo) && ferry_i_field_real(&most, hi) &&
          *lo < *hi))
        return ferry_i_fail(ctx, FERRY_EINVAL,
                            "range \"%s\": expected LEAST..GREATEST, as 1..5", text);
    return FERRY_OK;
}

/* The range that the user gave, by its new name or its old one. Ratings beyond it are moved
 * to its ends and not refused: a few wrong lines should not stop a data set of millions. */
static ferry_status apply_range(ferry_ctx *ctx, const table *t, ferry_ratings *r)
{
    const char *range = t->s->range[0] ? t->s->range : t->s->scale;
    int64_t beyond = 0;

    if (range[0] == 0) return FERRY_OK;
    FERRY_PASS(parse_range(ctx, range, &r->lo, &r->hi));
    r->ranged = true;
    for (int64_t e = 0; e < r->n; e++) {
        const double x = r->value[e];
        if (isnan(x) || (x >= r->lo && x <= r->hi)) continue;
        r->value[e] = x < r->lo ? r->lo : r->hi;
        beyond++;
    }
    if (beyond > 0)
        ferry_i_log(ctx, FERRY_WARN,
                    "%s: %lld of %lld ratings beyond the range %s were moved to its ends",
                    t->path, (long long)beyond, (long long)r->n, range);
    return FERRY_OK;
}

/* The triples as arrays, and the range that their values span. */
static ferry_status make_ratings(ferry_ctx *ctx, const table *t, ferry_ratings **out)
{
    ferry_status st = FERRY_OK;
    ferry_ratings *r = NULL;

    FERRY_TRY(ferry_i_ratings_new(ctx, t->n, t->users, t->items, &r));
    r->lo = INFINITY;
    r->hi = -INFINITY;
    for (int64_t i = 0; i < t->n; i++) {
        r->user[i] = t->e[i].user;
        r->item[i] = t->e[i].item;
        r->value[i] = t->e[i].value;
        if (isnan(t->e[i].value)) continue;
        r->lo = fmin(r->lo, t->e[i].value);
        r->hi = fmax(r->hi, t->e[i].value);
    }
    if (r->lo > r->hi) r->lo = r->hi = NAN; /* only pairs to be predicted */
    FERRY_TRY(apply_range(ctx, t, r));
    FERRY_MOVE(*out, r);
done:
    ferry_i_ratings_free(r);
    return st;
}

/* Users and items are numbered as they come. If the text for missing is a number, cells are
 * compared with it by value. */
static ferry_status read_ratings(ferry_ctx *ctx, const ferry_input *in, const char *member,
                                 const ferry_read_settings *s, ferry_data_kind as,
                                 ferry_data **out)
{
    ferry_status st = FERRY_OK;
    table t = {.s = s, .path = in->path};
    ferry_utf8 u = {0};
    ferry_data *d = NULL;
    char *points = NULL;

    const ferry_field hole = {s->missing, (int64_t)strlen(s->missing), 0};

    (void)member, (void)as;
    *out = NULL;
    t.has_hole = ferry_i_field_real(&hole, &t.hole);
    FERRY_TRY(ferry_i_check_text(ctx, in));
    if (s->decimal) FERRY_TRY(ferry_i_decimal_points(ctx, s, in->data, in->size, &points));
    FERRY_TRY(ferry_i_utf8_open(ctx, points ? points : in->data, in->size, &u));
    t.users = ferry_i_ids_new();
    t.items = ferry_i_ids_new();
    d = ferry_i_data_new("ratings", in->path, FERRY_DATA_RATINGS);
    FERRY_HAVE(ctx, t.users && t.items && d);
    FERRY_TRY(read_table(ctx, &t, &u));
    FERRY_TRY(make_ratings(ctx, &t, &d->ratings));
    FERRY_MOVE(*out, d);
done:
    ferry_data_free(d);
    ferry_i_ids_free(t.users);
    ferry_i_ids_free(t.items);
    FERRY_FREE(t.e, t.drop);
    ferry_i_utf8_close(&u);
    ferry_i_free(points);
    return st;
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
    .read = read_ratings,
    .write = write_ratings,
};
