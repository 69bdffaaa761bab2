/* From counted words to sparse views.
 *
 * One or several pieces (the text of one domain each) share their words. A word is a
 * feature when it is in at least min_df and at most max_df of all documents (shares of them
 * below 1). Features are sorted by their bytes. With n documents, df of them with the word,
 * and c times in this one, a cell is
 *   counts  c             binary  1             tf  1 + ln c
 *   tfidf   (1 + ln c) idf,  idf = ln((1 + n) / (1 + df)) + 1
 * and rows may then be scaled to length 1 (l1 or l2). scikit-learn's TfidfVectorizer with
 * sublinear_tf gives the same numbers. A piece may keep only a random part of the words,
 * cut the same way for all; its rows are scaled after that.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/formats.h"
#include "data/text.h"

/* Choices of the options weight and norm, in their order. */
enum { COUNTS, BINARY, TF, TFIDF };
enum { NORM_NONE, NORM_L1, NORM_L2 };

/* A word that stays: its text, its place among all words, in how many documents it is. */
typedef struct kept {
    const char *text;
    int32_t word;
    int32_t df;
} kept;

/* The pieces at work. */
typedef struct pool {
    scope *s;
    int64_t n;
    ferry_data *const *data;
    const ferry_read_settings *set; /* of each; the first's decide about the vocabulary */
    ferry_drawn *drawn;
    const ferry_ids *words; /* of all pieces */
    int32_t **number;       /* per piece: its words' places in words */
    int64_t docs;           /* that stay, of all pieces */
    kept *k;                /* the vocabulary */
    int64_t m;              /* words in k */
    int64_t *place;         /* per word of the vocabulary: its place in a random order */
} pool;

/* ---- the vocabulary ---- */

/* The words of all pieces in one numbering: first those of the first. */
static void join_words(pool *p)
{
    ferry_ids *all = new_ids(p->s);

    p->words = all;
    p->number = NEW(p->s, int32_t *, p->n);
    for (int64_t i = 0; i < p->n; i++) {
        const ferry_ids *words = p->data[i]->documents->counts.words;
        const int64_t n = ferry_i_ids_count(words);
        p->number[i] = NEW(p->s, int32_t, n);
        for (int64_t w = 0; w < n; w++) {
            const char *word = ferry_i_ids_at(words, w);
            const int64_t at = add_id(p->s, all, word, (int64_t)strlen(word), NULL);
            if (at == INT32_MAX) have(p->s, NULL);
            p->number[i][w] = (int32_t)at;
        }
    }
}

/* By bytes: the same order in every locale. */
static int by_text(const void *a, const void *b)
{
    return strcmp(((const kept *)a)->text, ((const kept *)b)->text);
}

/* The words that stay, sorted. With a vocabulary given, all of it in its order. */
static void choose(pool *p)
{
    const ferry_read_settings *set = &p->set[0];
    const int64_t n = ferry_i_ids_count(p->words);
    /* a share of 1 looks like a count of 1: below 1 it is a share */
    const double docs = (double)p->docs;
    const double least = set->min_df < 1 ? set->min_df * docs : set->min_df;
    const double most = set->max_df < 1 ? set->max_df * docs : set->max_df;
    kept *k = p->k = NEW(p->s, kept, n);

    for (int64_t i = 0; i < p->n; i++) {
        const ferry_counts *c = &p->data[i]->documents->counts;
        for (int64_t r = 0; r < p->drawn[i].n; r++) {
            const int64_t row = p->drawn[i].rows[r];
            for (int64_t e = c->start[row]; e < c->start[row + 1]; e++)
                k[p->number[i][c->word[e]]].df++;
        }
    }
    for (int64_t w = 0; w < n; w++) {
        const int32_t df = k[w].df;
        if (!set->vocabulary && (df < least || df > most || df == 0)) continue;
        /* m <= w always holds, so the words that stay may overwrite those already looked
         * at */
        k[p->m++] = (kept){ferry_i_ids_at(p->words, w), (int32_t)w, df};
    }
    if (p->m == 0)
        bad_at(p->s, p->data[0]->path, 0,
               "no word is left of %lld in %lld documents (min_df, max_df, stop_words)",
               (long long)n, (long long)p->docs);
    if (!set->vocabulary && p->m > 1) qsort(k, (size_t)p->m, sizeof *k, by_text);
}

/* A random order of the vocabulary, from which every piece's part is cut. */
static void shuffle(uint64_t seed, pool *p)
{
    ferry_ctx seeded = *scope_ctx(p->s); /* for its stream only */
    ferry_rng rng;

    seeded.seed = seed;
    seeded.repeat = 0;
    ferry_i_rng_for(&seeded, &rng, "text part");
    p->place = NEW(p->s, int64_t, p->m);
    for (int64_t j = 0; j < p->m; j++)
        p->place[j] = j;
    ferry_i_rng_shuffle(&rng, p->m, p->place);
}

/* column[w]: the feature that word w of all words is in piece i, -1 for none; the features'
 * names and weights. */
static void make_features(const pool *p, int64_t i, int32_t *column)
{
    ferry_data *d = p->data[i];
    const ferry_read_settings *set = &p->set[0];
    uint64_t in = 1;
    int64_t of = 1, m = 0;

    if (!set->like) text_part(p->s, d->path, p->set[i].part, &in, &of);
    for (int64_t w = 0; w < ferry_i_ids_count(p->words); w++)
        column[w] = -1;
    if (set->weight == TFIDF && set->vocabulary && !set->idf)
        bad_at(p->s, d->path, 0,
               "weight=tfidf, but the vocabulary comes without its weights");
    d->features = have(p->s, ferry_i_ids_new());
    if (set->weight == TFIDF) d->idf = have(p->s, ferry_i_calloc(p->m, sizeof *d->idf));
    for (int64_t j = 0; j < p->m; j++) {
        const char *word = p->k[j].text;
        if (!(in >> p->place[j] * of / p->m & 1)) continue;
        (void)add_id(p->s, d->features, word, (int64_t)strlen(word), NULL);
        if (d->idf)
            d->idf[m] = set->vocabulary ? set->idf[j]
                                        : log((1 + (double)p->docs) / (1 + p->k[j].df)) + 1;
        column[p->k[j].word] = (int32_t)m++;
    }
}

/* ---- the matrix ---- */

typedef struct cell {
    int32_t column, count;
} cell;

/* Order of cells within a row of CSR. */
static int by_column(const void *a, const void *b)
{
    const int32_t x = ((const cell *)a)->column, y = ((const cell *)b)->column;

    return (x > y) - (x < y);
}

/* The table of the file's head, for one cell. */
static double weigh(int weight, const double *idf, cell at)
{
    switch (weight) {
    case BINARY: return 1;
    case TF: return 1 + log(at.count);
    case TFIDF: return (1 + log(at.count)) * idf[at.column];
    default: return at.count;
    }
}

/* v / ||v||; a row of zeros stays one. */
static void scale_row(int norm, double *v, int64_t n)
{
    double sum = 0;

    for (int64_t e = 0; e < n; e++)
        sum += norm == NORM_L1 ? fabs(v[e]) : v[e] * v[e];
    if (norm == NORM_L2) sum = sqrt(sum);
    for (int64_t e = 0; sum > 0 && e < n; e++)
        v[e] /= sum;
}

/* The entries of a document whose words stayed, in order of their columns. */
static int64_t row_cells(const pool *p, int64_t i, int64_t row, const int32_t *column,
                         cell *cells)
{
    const ferry_counts *c = &p->data[i]->documents->counts;
    int64_t m = 0;

    for (int64_t e = c->start[row]; e < c->start[row + 1]; e++) {
        const int32_t j = column[p->number[i][c->word[e]]];
        if (j >= 0) cells[m++] = (cell){j, c->count[e]};
    }
    if (m > 1) qsort(cells, (size_t)m, sizeof *cells, by_column);
    return m;
}

/* The documents that stay as CSR, drawn->n x features. Entries are counted first, so that
 * the matrix is made once at its size. cells is scratch for the longest document. */
static void make_matrix(const pool *p, int64_t i, const int32_t *column)
{
    ferry_data *d = p->data[i];
    const ferry_counts *c = &d->documents->counts;
    const ferry_drawn *drawn = &p->drawn[i];
    int64_t nnz = 0, longest = 0;

    for (int64_t r = 0; r < drawn->n; r++) {
        const int64_t from = c->start[drawn->rows[r]], to = c->start[drawn->rows[r] + 1];
        for (int64_t e = from; e < to; e++)
            nnz += column[p->number[i][c->word[e]]] >= 0;
        longest = to - from > longest ? to - from : longest;
    }
    scope_check(p->s, ferry_i_matrix_csr(scope_ctx(p->s), drawn->n,
                                         ferry_i_ids_count(d->features), nnz, &d->x));
    cell *cells = NEW(p->s, cell, longest);
    for (int64_t r = 0; r < drawn->n; r++) {
        /* cells by column, weighed, then the row scaled: in this order */
        const int64_t m = row_cells(p, i, drawn->rows[r], column, cells);
        const int64_t at = d->x->start[r];
        for (int64_t e = 0; e < m; e++) {
            d->x->index[at + e] = cells[e].column;
            d->x->value[at + e] = weigh(p->set[0].weight, d->idf, cells[e]);
        }
        if (p->set[0].norm != NORM_NONE) scale_row(p->set[0].norm, d->x->value + at, m);
        d->x->start[r + 1] = at + m;
        d->empty_rows += m == 0;
    }
}

/* ---- documents ---- */

/* Ids and classes of the documents that stay. */
static void give_labels(scope *s, const ferry_drawn *drawn, ferry_data *d)
{
    const ferry_documents *docs = d->documents;
    ferry_span *text = NEW(s, ferry_span, drawn->n);

    if (docs->ids) d->ids = have(s, ferry_i_ids_new());
    for (int64_t r = 0; r < drawn->n; r++) {
        const int64_t row = drawn->rows[r], cls = docs->cls[row];
        if (d->ids) {
            const char *id = ferry_i_ids_at(docs->ids, row);
            (void)add_id(s, d->ids, id, (int64_t)strlen(id), NULL);
        }
        if (cls < 0) continue;
        text[r].s = ferry_i_ids_at(docs->classes, cls);
        text[r].n = (int64_t)strlen(text[r].s);
    }
    if (docs->any_class)
        scope_check(s, ferry_i_labels_of_texts(scope_ctx(s), drawn->n, text, &d->labels));
}

/* Up to three documents without words, as " (such as a, b, c)". */
static void name_empty(const ferry_data *d, const ferry_drawn *drawn, ferry_text *t)
{
    int64_t named = 0;

    for (int64_t r = 0; r < drawn->n && named < 3; r++) {
        if (d->x->start[r + 1] > d->x->start[r]) continue;
        ferry_i_text_add(t, named++ ? ", " : " (such as ");
        if (d->documents->ids)
            ferry_i_text_add(t, ferry_i_ids_at(d->documents->ids, drawn->rows[r]));
        else
            ferry_i_text_addf(t, "number %lld", (long long)drawn->rows[r] + 1);
    }
    ferry_i_text_add(t, ")");
}

/* A row without any feature has nothing for a method: a few are named in a warning,
 * more than max_empty of them are refused as a sign of wrong options. New data (like) is
 * always taken: a prediction is wanted for it whatever it holds. */
static void check_empty(scope *s, const ferry_read_settings *set, const ferry_drawn *drawn,
                        const ferry_data *d)
{
    const int64_t empty = d->empty_rows, n = drawn->n;
    ferry_text *which = new_text(s);

    if (empty == 0) return;
    name_empty(d, drawn, which);
    const char *such = text_of(s, which);
    if (!set->like && (double)empty > set->max_empty * (double)n)
        bad_at(s, d->path, 0,
               "%lld of %lld documents have no word left%s, expected at most %g %%: look "
               "at mail_headers, min_df, stop_words and part, or raise max_empty",
               (long long)empty, (long long)n, such, 100 * set->max_empty);
    ferry_i_log(scope_ctx(s), FERRY_WARN, "%s: %lld of %lld documents have no word left%s",
                d->path, (long long)empty, (long long)n, such);
}

/* Piece i from counts to a view. Its counts are freed at once, before the next piece's
 * matrix is made. */
static void make_view(const pool *p, int64_t i)
{
    ferry_data *d = p->data[i];
    const int64_t mark = scope_mark(p->s);
    int32_t *column = NEW(p->s, int32_t, ferry_i_ids_count(p->words));

    make_features(p, i, column);
    make_matrix(p, i, column);
    give_labels(p->s, &p->drawn[i], d);
    check_empty(p->s, &p->set[i], &p->drawn[i], d);
    scope_release(p->s, mark);
    ferry_i_documents_free(d->documents);
    d->documents = NULL;
}

/* Draw documents, then choose words among those that stay: words of documents left out must
 * not decide which are features. With one piece this is what reading a text alone does. */
void text_views(scope *s, uint64_t seed, int64_t n, ferry_data *const *data,
                const ferry_read_settings *set)
{
    pool p = {.s = s, .n = n, .data = data, .set = set, .drawn = NEW(s, ferry_drawn, n)};

    text_draw(s, seed, n, data, set, p.drawn);
    for (int64_t i = 0; i < n; i++) {
        if (p.drawn[i].n == 0) bad_at(s, data[i]->path, 0, "holds no document");
        p.docs += p.drawn[i].n;
    }
    join_words(&p);
    choose(&p);
    shuffle(seed, &p);
    for (int64_t i = 0; i < n; i++)
        make_view(&p, i);
}

typedef struct weighing {
    uint64_t seed;
    int64_t n;
    ferry_data *const *data;
} weighing;

/* The settings were kept with each piece when it was read and are parsed from there
 * again. */
static void weigh_all(scope *s, void *arg)
{
    const weighing *w = arg;
    ferry_read_settings *set = NEW(s, ferry_read_settings, w->n);

    for (int64_t i = 0; i < w->n; i++)
        scope_check(s, ferry_i_opts_parse(scope_ctx(s), "reader", ferry_i_read_table,
                                          ferry_i_read_table_n, w->data[i]->read, &set[i]));
    text_views(s, w->seed, w->n, w->data, set);
}

ferry_status ferry_i_text_weigh(ferry_ctx *ctx, uint64_t seed, int64_t n,
                                ferry_data *const *data)
{
    return scope_run(ctx, weigh_all, &(weighing){seed, n, data});
}
