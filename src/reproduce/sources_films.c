/* Films of the IMDB 5000 table as sources. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "data/fields.h"
#include "data/lines.h"
#include "reproduce/sources.h"

enum { MOST_TOGETHER = 40 };

/* The columns that are used. */
enum {
    DIRECTOR,
    ACTOR1,
    ACTOR2,
    ACTOR3,
    GENRES,
    KEYWORDS,
    TITLE,
    LINK,
    DURATION,
    COLOR,
    ASPECT,
    BUDGET,
    RATING,
    YEAR,
    LANGUAGE,
    COUNTRY,
    SCORE,
    COLUMNS
};
static const char *const column_names[COLUMNS] = {
    "director_name", "actor_1_name", "actor_2_name",    "actor_3_name", "genres",
    "plot_keywords", "movie_title",  "movie_imdb_link", "duration",     "color",
    "aspect_ratio",  "budget",       "content_rating",  "title_year",   "language",
    "country",       "imdb_score"};

typedef struct film {
    ferry_field cell[COLUMNS];
} film;

typedef struct table {
    ferry_input in;
    film *film;
    int64_t n, cap;
} table;

static ferry_status find_columns(ferry_ctx *ctx, const char *path, const ferry_field *f,
                                 int64_t n, int64_t *at)
{
    ferry_status st = FERRY_OK;

    for (int c = 0; c < COLUMNS; c++) {
        at[c] = -1;
        for (int64_t j = 0; j < n; j++)
            if (ferry_i_field_is(&f[j], column_names[c])) at[c] = j;
        if (at[c] < 0) {
            st = ferry_i_bad(ctx, path, 1, "expected a column %s", column_names[c]);
            goto done;
        }
    }
done:
    return st;
}

/* The films with a score, each link once. */
static ferry_status table_read(ferry_ctx *ctx, ferry_lab *lab, table *t)
{
    ferry_status st = FERRY_OK;
    char *path = NULL;
    ferry_ids *seen = ferry_i_ids_new();
    ferry_field *f = NULL;
    int64_t at[COLUMNS], width = 0;

    *t = (table){0};
    FERRY_NEED(ctx, seen, FERRY_ENOMEM, "no memory for films");
    FERRY_TRY(ferry_i_lab_source(ctx, lab, "imdb/movie_metadata.csv", &path));
    FERRY_TRY(ferry_i_input_open(ctx, path, &t->in));
    ferry_lines l = ferry_i_lines(t->in.data, t->in.size);
    while (ferry_i_full_line(&l, "")) {
        bool added = false;
        double score = 0;
        if (!f) {
            width = ferry_i_fields(l.s, l.e, ",", NULL, 0);
            f = ferry_i_calloc(width, sizeof *f);
            FERRY_NEED(ctx, f, FERRY_ENOMEM, "%s: no memory", path);
            (void)ferry_i_fields(l.s, l.e, ",", f, width);
            FERRY_TRY(find_columns(ctx, path, f, width, at));
            continue;
        }
        if (ferry_i_fields(l.s, l.e, ",", f, width) != width) {
            st = ferry_i_bad(ctx, path, l.line, "expected %lld columns", (long long)width);
            goto done;
        }
        if (!ferry_i_field_real(&f[at[SCORE]], &score)) continue;
        FERRY_NEED(ctx,
                   ferry_i_field_id(seen, &f[at[LINK]], &added) >= 0 &&
                       FERRY_GROW(t->film, t->n, t->cap),
                   FERRY_ENOMEM, "%s: no memory", path);
        if (!added) continue;
        for (int c = 0; c < COLUMNS; c++)
            t->film[t->n].cell[c] = f[at[c]];
        t->n++;
    }
    FERRY_NEED(ctx, t->n > 0, FERRY_EDATA, "%s: expected films with a score", path);
done:
    ferry_i_free(f);
    ferry_i_ids_free(seen);
    ferry_i_free(path);
    return st;
}

static void table_clear(table *t)
{
    ferry_i_free(t->film);
    ferry_i_input_close(&t->in);
}

/* ---- words of cells ---- */

/* The next piece of a cell: between bars, or a run of letters. */
static bool next_piece(const ferry_field *cell, bool letters, int64_t *at, ferry_field *out)
{
    const char *s = cell->s;

    if (letters) {
        while (*at < cell->n && !isalpha((unsigned char)s[*at]))
            ++*at;
    } else {
        while (*at < cell->n && s[*at] == '|')
            ++*at;
    }
    const int64_t from = *at;
    while (*at < cell->n && (letters ? isalpha((unsigned char)s[*at]) != 0 : s[*at] != '|'))
        ++*at;
    *out = (ferry_field){s + from, *at - from, 0};
    return out->n > 0;
}

/* Cells whose pieces make one view of 0/1 columns. */
typedef struct pieces_of {
    int column[4], n;
    bool letters;  /* words, without regard to case */
    int64_t least; /* films with a piece, at least */
} pieces_of;

/* Number of a piece in ids, added if `add`. */
static int64_t number_of(ferry_ids *ids, const ferry_field *piece, bool lower, bool add)
{
    char word[256];
    const int64_t n = piece->n < 255 ? piece->n : 255;

    for (int64_t i = 0; i < n; i++)
        word[i] = lower ? (char)tolower((unsigned char)piece->s[i]) : piece->s[i];
    return add ? ferry_i_ids_addn(ids, word, n, NULL) : ferry_i_ids_findn(ids, word, n);
}

/* Call for every piece of film i. */
#define EACH_PIECE(films, i, of, piece)                                                    \
    for (int c_ = 0; c_ < (of)->n; c_++)                                                   \
        for (int64_t at_ = 0; next_piece(&(films)[i].cell[(of)->column[c_]],               \
                                         (of)->letters, &at_, &(piece));)

static ferry_status add_pieces(ferry_ctx *ctx, ferry_sources *s, const film *films,
                               const char *name, const pieces_of *of)
{
    ferry_status st = FERRY_OK;
    ferry_ids *ids = ferry_i_ids_new();
    int64_t *count = NULL, *last = NULL, cols = 0;
    ferry_matrix *x = NULL;
    ferry_field piece;

    FERRY_NEED(ctx, ids, FERRY_ENOMEM, "no memory for films");
    for (int64_t i = 0; i < s->n; i++)
        EACH_PIECE(films, i, of, piece)
    FERRY_NEED(ctx, number_of(ids, &piece, of->letters, true) >= 0, FERRY_ENOMEM,
               "no memory for films");
    const int64_t all = ferry_i_ids_count(ids);
    count = ferry_i_calloc(all, sizeof *count);
    last = ferry_i_calloc(all, sizeof *last);
    FERRY_NEED(ctx, count && last, FERRY_ENOMEM, "no memory for films");
    for (int64_t i = 0; i < s->n; i++)
        EACH_PIECE(films, i, of, piece)
        {
            const int64_t k = number_of(ids, &piece, of->letters, false);
            if (last[k] == i + 1) continue;
            last[k] = i + 1;
            count[k]++;
        }
    for (int64_t k = 0; k < all; k++)
        count[k] = count[k] >= of->least ? cols++ : -1; /* now its column */
    FERRY_TRY(ferry_i_matrix_dense(ctx, s->n, cols, &x));
    for (int64_t i = 0; i < s->n; i++)
        EACH_PIECE(films, i, of, piece)
        {
            const int64_t column = count[number_of(ids, &piece, of->letters, false)];
            if (column >= 0) x->dense[i * cols + column] = 1;
        }
    st = ferry_i_sources_view(ctx, s, name, x);
    x = NULL;
done:
    ferry_i_matrix_free(x);
    ferry_i_free(last);
    ferry_i_free(count);
    ferry_i_ids_free(ids);
    return st;
}

/* ---- columns as they are ---- */

/* A view of numbers (NaN where missing) and, one 0/1 column for each value in three films
 * or more, of names. */
static ferry_status add_columns(ferry_ctx *ctx, ferry_sources *s, const film *films,
                                const char *name, int numbers, const int *number, int named,
                                const int *column)
{
    ferry_status st = FERRY_OK;
    ferry_sources *parts = ferry_i_sources_new("parts");
    const ferry_matrix *part[FERRY_MOST_SOURCES];
    ferry_matrix *x = NULL;

    FERRY_NEED(ctx, parts, FERRY_ENOMEM, "no memory for films");
    parts->n = s->n;
    FERRY_TRY(ferry_i_matrix_dense(ctx, s->n, numbers, &x));
    for (int64_t i = 0; i < s->n; i++)
        for (int j = 0; j < numbers; j++) {
            double *cell = &x->dense[i * numbers + j];
            if (!ferry_i_field_real(&films[i].cell[number[j]], cell)) *cell = NAN;
        }
    st = ferry_i_sources_view(ctx, parts, "numbers", x);
    x = NULL;
    FERRY_TRY(st);
    for (int j = 0; j < named; j++) {
        const pieces_of of = {.column = {column[j]}, .n = 1, .least = 3};
        FERRY_TRY(add_pieces(ctx, parts, films, "names", &of));
    }
    for (int64_t v = 0; v < parts->n_views; v++)
        part[v] = parts->view[v].x;
    FERRY_TRY(ferry_i_matrix_join(ctx, parts->n_views, part, &x));
    st = ferry_i_sources_view(ctx, s, name, x);
    x = NULL;
done:
    ferry_i_matrix_free(x);
    ferry_i_sources_free(parts);
    return st;
}

/* ---- graphs ---- */

/* Join the films that have a person in common, unless more than MOST_TOGETHER have. */
static ferry_status join_people(ferry_ctx *ctx, ferry_sources *s, const film *films,
                                const char *name, const pieces_of *of)
{
    ferry_status st = FERRY_OK;
    ferry_source_graph *g = ferry_i_sources_graph(s, name);
    ferry_ids *ids = ferry_i_ids_new();
    int64_t *member = NULL, *count = NULL, all = 0;
    ferry_field piece;

    FERRY_NEED(ctx, ids, FERRY_ENOMEM, "no memory for films");
    for (int64_t i = 0; i < s->n; i++)
        EACH_PIECE(films, i, of, piece)
    FERRY_NEED(ctx, number_of(ids, &piece, false, true) >= 0, FERRY_ENOMEM,
               "no memory for films");
    all = ferry_i_ids_count(ids);
    member = ferry_i_calloc(all * (MOST_TOGETHER + 1), sizeof *member);
    count = ferry_i_calloc(all, sizeof *count);
    FERRY_NEED(ctx, member && count, FERRY_ENOMEM, "no memory for films");
    for (int64_t i = 0; i < s->n; i++)
        EACH_PIECE(films, i, of, piece)
        {
            const int64_t k = number_of(ids, &piece, false, false);
            int64_t *group = member + k * (MOST_TOGETHER + 1);
            if (count[k] > MOST_TOGETHER || (count[k] > 0 && group[count[k] - 1] == i))
                continue;
            group[count[k]++] = i;
        }
    for (int64_t k = 0; k < all; k++)
        if (count[k] <= MOST_TOGETHER)
            FERRY_TRY(
                ferry_i_sources_clique(ctx, g, count[k], member + k * (MOST_TOGETHER + 1)));
done:
    ferry_i_free(count);
    ferry_i_free(member);
    ferry_i_ids_free(ids);
    return st;
}

static ferry_status add_views(ferry_ctx *ctx, ferry_sources *s, const film *films)
{
    static const pieces_of genres = {.column = {GENRES}, .n = 1, .least = 3},
                           keywords = {.column = {KEYWORDS}, .n = 1, .least = 5},
                           title = {{TITLE}, 1, true, 8},
                           cast = {{ACTOR1, ACTOR2, ACTOR3, DIRECTOR}, 4, false, 6};
    static const int technical[] = {DURATION, ASPECT, BUDGET}, color[] = {COLOR},
                     year[] = {YEAR}, release[] = {RATING, LANGUAGE, COUNTRY};
    ferry_status st = FERRY_OK;

    FERRY_TRY(add_pieces(ctx, s, films, "genres", &genres));
    FERRY_TRY(add_pieces(ctx, s, films, "keywords", &keywords));
    FERRY_TRY(add_columns(ctx, s, films, "technical", 3, technical, 1, color));
    FERRY_TRY(add_pieces(ctx, s, films, "title", &title));
    FERRY_TRY(add_columns(ctx, s, films, "release", 1, year, 3, release));
    FERRY_TRY(add_pieces(ctx, s, films, "cast", &cast));
done:
    return st;
}

ferry_status ferry_i_sources_films(ferry_ctx *ctx, ferry_lab *lab, int64_t n,
                                   ferry_sources **out)
{
    static const pieces_of director = {.column = {DIRECTOR}, .n = 1},
                           lead = {.column = {ACTOR1}, .n = 1},
                           actors = {.column = {ACTOR1, ACTOR2, ACTOR3}, .n = 3};
    ferry_status st = FERRY_OK;
    ferry_sources *s = ferry_i_sources_new("films");
    table t = {0};
    int64_t *order = NULL;
    film *films = NULL;
    ferry_rng rng;

    *out = NULL;
    FERRY_NEED(ctx, s, FERRY_ENOMEM, "no memory for films");
    FERRY_TRY(table_read(ctx, lab, &t));
    s->n = n < t.n ? n : t.n;
    order = ferry_i_calloc(t.n, sizeof *order);
    films = ferry_i_calloc(s->n, sizeof *films);
    FERRY_NEED(ctx, order && films, FERRY_ENOMEM, "no memory for films");
    for (int64_t i = 0; i < t.n; i++)
        order[i] = i;
    ferry_i_rng_for(ctx, &rng, "films");
    ferry_i_rng_shuffle(&rng, t.n, order);
    FERRY_TRY(ferry_i_labels_new(ctx, FERRY_LABEL_NUMBER, s->n, NULL, &s->labels));
    for (int64_t i = 0; i < s->n; i++) {
        films[i] = t.film[order[i]];
        (void)ferry_i_field_real(&films[i].cell[SCORE], &s->labels->num[i]);
    }
    FERRY_TRY(add_views(ctx, s, films));
    FERRY_TRY(join_people(ctx, s, films, "director", &director));
    FERRY_TRY(join_people(ctx, s, films, "lead", &lead));
    FERRY_TRY(join_people(ctx, s, films, "actors", &actors));
    *out = s;
    s = NULL;
done:
    ferry_i_free(films);
    ferry_i_free(order);
    table_clear(&t);
    ferry_i_sources_free(s);
    return st;
}
