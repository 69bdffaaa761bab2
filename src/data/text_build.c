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
    int64_t n;
    ferry_data *const *data;
    ferry_read_settings *s; /* of each; the first's decide about the vocabulary */
    ferry_drawn *drawn;
    ferry_ids *words; /* of all pieces */
    int32_t **number; /* per piece: its words' places in words */
    int64_t docs;     /* that stay, of all pieces */
    kept *k;          /* the vocabulary */
    /* words in k */
    int64_t m;
    int64_t *place; /* per word of the vocabulary: its place in a random order */
} pool;

/* Frees what the pool made; data is the caller's. */
static void pool_free(pool *p)
{
    for (int64_t i = 0; i < p->n; i++) {
        if (p->drawn) ferry_i_free(p->drawn[i].rows);
        if (p->number) ferry_i_free(p->number[i]);
    }
    FERRY_FREE(p->s, p->drawn, p->number);
    ferry_i_ids_free(p->words);
    FERRY_FREE(p->k, p->place);
}

/* ---- the vocabulary ---- */

/* The words of all pieces in one numbering: first those of the first. */
static ferry_status join_words(ferry_ctx *ctx, pool *p)
{
    ferry_status st = FERRY_OK;

    p->words = ferry_i_ids_copy(p->data[0]->documents->counts.words);
    FERRY_NEW(ctx, p->number, p->n);
    FERRY_HAVE(ctx, p->words);
    for (int64_t i = 0; i < p->n; i++) {
        const ferry_ids *words = p->data[i]->documents->counts.words;
        const int64_t n = ferry_i_ids_count(words);
        FERRY_HAVE(ctx, p->number[i] = ferry_i_calloc(n, sizeof **p->number));
        for (int64_t w = 0; w < n; w++) {
            const int64_t at =
                i == 0 ? w : ferry_i_ids_add(p->words, ferry_i_ids_at(words, w), NULL);
            FERRY_HAVE(ctx, at >= 0 && at < INT32_MAX);
            p->number[i][w] = (int32_t)at;
        }
    }
done:
    return st;
}

/* By bytes: the same order in every locale. */
static int by_text(const void *a, const void *b)
{
    return strcmp(((const kept *)a)->text, ((const kept *)b)->text);
}

/* The words that stay, sorted. With a vocabulary given, all of it in its order. */
static ferry_status choose(ferry_ctx *ctx, pool *p)
{
    ferry_status st = FERRY_OK;
    const ferry_read_settings *s = &p->s[0];
    const int64_t n = ferry_i_ids_count(p->words);
    /* a share of 1 cannot be told from a count of 1: below 1 it is a share */
    const double docs = (double)p->docs;
    const double least = s->min_df < 1 ? s->min_df * docs : s->min_df;
    const double most = s->max_df < 1 ? s->max_df * docs : s->max_df;
    kept *k = ferry_i_calloc(n, sizeof *k);

    p->k = k;
    FERRY_HAVE(ctx, k);
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
        if (!s->vocabulary && (df < least || df > most || df == 0)) continue;
        /* m <= w always holds, so the words that stay may overwrite those already looked
         * at */
        k[p->m++] = (kept){ferry_i_ids_at(p->words, w), (int32_t)w, df};
    }
    FERRY_NEED(ctx, p->m > 0, FERRY_EDATA,
               "%s: no word is left of %lld in %lld documents (min_df, max_df, stop_words)",
               p->data[0]->path, (long long)n, (long long)p->docs);
    if (!s->vocabulary && p->m > 1) qsort(k, (size_t)p->m, sizeof *k, by_text);
done:
    return st;
}

/* A random order of the vocabulary, from which every piece's part is cut. */
static ferry_status shuffle(ferry_ctx *ctx, uint64_t seed, pool *p)
{
    ferry_status st = FERRY_OK;
    ferry_ctx seeded = *ctx; /* for its stream only */
    ferry_rng rng;

    seeded.seed = seed;
    seeded.repeat = 0;
    ferry_i_rng_for(&seeded, &rng, "text part");
    FERRY_NEW(ctx, p->place, p->m);
    for (int64_t j = 0; j < p->m; j++)
        p->place[j] = j;
    ferry_i_rng_shuffle(&rng, p->m, p->place);
done:
    return st;
}

/* column[w]: the feature that word w of all words is in piece i, -1 for none; the features'
 * names and weights. */
static ferry_status make_features(ferry_ctx *ctx, const pool *p, int64_t i, int32_t *column)
{
    ferry_status st = FERRY_OK;
    ferry_data *d = p->data[i];
    const ferry_read_settings *s = &p->s[0];
    uint64_t in = 1;
    int64_t of = 1, m = 0;

    if (!s->like) FERRY_TRY(ferry_i_text_part(ctx, d->path, p->s[i].part, &in, &of));
    for (int64_t w = 0; w < ferry_i_ids_count(p->words); w++)
        column[w] = -1;
    FERRY_NEED(ctx, s->weight != TFIDF || !s->vocabulary || s->idf, FERRY_EDATA,
               "%s: weight=tfidf, but the vocabulary comes without its weights", d->path);
    d->features = ferry_i_ids_new();
    if (s->weight == TFIDF) d->idf = ferry_i_calloc(p->m, sizeof *d->idf);
    FERRY_HAVE(ctx, d->features && (s->weight != TFIDF || d->idf));
    for (int64_t j = 0; j < p->m; j++) {
        if (!(in >> p->place[j] * of / p->m & 1)) continue;
        FERRY_HAVE(ctx, ferry_i_ids_add(d->features, p->k[j].text, NULL) >= 0);
        if (d->idf)
            d->idf[m] = s->vocabulary ? s->idf[j]
                                      : log((1 + (double)p->docs) / (1 + p->k[j].df)) + 1;
        column[p->k[j].word] = (int32_t)m++;
    }
done:
    return st;
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
static ferry_status make_matrix(ferry_ctx *ctx, const pool *p, int64_t i,
                                const int32_t *column)
{
    ferry_status st = FERRY_OK;
    ferry_data *d = p->data[i];
    const ferry_counts *c = &d->documents->counts;
    const ferry_drawn *drawn = &p->drawn[i];
    cell *cells = NULL;
    int64_t nnz = 0, longest = 0;

    for (int64_t r = 0; r < drawn->n; r++) {
        const int64_t from = c->start[drawn->rows[r]], to = c->start[drawn->rows[r] + 1];
        for (int64_t e = from; e < to; e++)
            nnz += column[p->number[i][c->word[e]]] >= 0;
        longest = to - from > longest ? to - from : longest;
    }
    FERRY_TRY(
        ferry_i_matrix_csr(ctx, drawn->n, ferry_i_ids_count(d->features), nnz, &d->x));
    FERRY_NEW(ctx, cells, longest);
    for (int64_t r = 0; r < drawn->n; r++) {
        /* cells by column, weighed, then the row scaled: in this order */
        const int64_t m = row_cells(p, i, drawn->rows[r], column, cells);
        const int64_t at = d->x->start[r];
        for (int64_t e = 0; e < m; e++) {
            d->x->index[at + e] = cells[e].column;
            d->x->value[at + e] = weigh(p->s[0].weight, d->idf, cells[e]);
        }
        if (p->s[0].norm != NORM_NONE) scale_row(p->s[0].norm, d->x->value + at, m);
        d->x->start[r + 1] = at + m;
        d->empty_rows += m == 0;
    }
done:
    ferry_i_free(cells);
    return st;
}

/* ---- documents ---- */

/* Ids and classes of the documents that stay. */
static ferry_status give_labels(ferry_ctx *ctx, const ferry_drawn *drawn, ferry_data *d)
{
    ferry_status st = FERRY_OK;
    const ferry_documents *docs = d->documents;
    ferry_span *text = ferry_i_calloc(drawn->n, sizeof *text);

    FERRY_HAVE(ctx, text);
    if (docs->ids) {
        FERRY_HAVE(ctx, d->ids = ferry_i_ids_new());
    }
    for (int64_t r = 0; r < drawn->n; r++) {
        const int64_t row = drawn->rows[r], cls = docs->cls[row];
        FERRY_HAVE(ctx, !d->ids || ferry_i_ids_add(d->ids, ferry_i_ids_at(docs->ids, row),
                                                   NULL) >= 0);
        if (cls < 0) continue;
        text[r].s = ferry_i_ids_at(docs->classes, cls);
        text[r].n = (int64_t)strlen(text[r].s);
    }
    if (docs->any_class)
        FERRY_TRY(ferry_i_labels_of_texts(ctx, drawn->n, text, &d->labels));
done:
    ferry_i_free(text);
    return st;
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

/* A row without any feature carries nothing for a method: a few are named in a warning,
 * more than max_empty of them are refused as a sign of wrong options. New data (like) is
 * always taken: a prediction is wanted for it whatever it says. */
static ferry_status check_empty(ferry_ctx *ctx, const ferry_read_settings *s,
                                const ferry_drawn *drawn, const ferry_data *d)
{
    ferry_status st = FERRY_OK;
    const int64_t empty = d->empty_rows, n = drawn->n;
    ferry_text which = {0};

    if (empty == 0) goto done;
    name_empty(d, drawn, &which);
    FERRY_HAVE(ctx, !which.failed);
    FERRY_NEED(
        ctx, s->like || (double)empty <= s->max_empty * (double)n, FERRY_EDATA,
        "%s: %lld of %lld documents have no word left%s, expected at most %g %%: look "
        "at mail_headers, min_df, stop_words and part, or raise max_empty",
        d->path, (long long)empty, (long long)n, which.s, 100 * s->max_empty);
    ferry_i_log(ctx, FERRY_WARN, "%s: %lld of %lld documents have no word left%s", d->path,
                (long long)empty, (long long)n, which.s);
done:
    ferry_i_text_free(&which);
    return st;
}

/* Piece i from counts to a view. Its counts are freed at once, before the next piece's
 * matrix is made. */
static ferry_status make_view(ferry_ctx *ctx, const pool *p, int64_t i)
{
    ferry_status st = FERRY_OK;
    ferry_data *d = p->data[i];
    int32_t *column = ferry_i_calloc(ferry_i_ids_count(p->words), sizeof *column);

    FERRY_HAVE(ctx, column);
    FERRY_TRY(make_features(ctx, p, i, column));
    FERRY_TRY(make_matrix(ctx, p, i, column));
    FERRY_TRY(give_labels(ctx, &p->drawn[i], d));
    FERRY_TRY(check_empty(ctx, &p->s[i], &p->drawn[i], d));
    ferry_i_documents_free(d->documents);
    d->documents = NULL;
done:
    ferry_i_free(column);
    return st;
}

/* Draw documents, then choose words among those that stay: words of documents left out must
 * not decide which are features. With one piece this is what reading a text alone does. */
ferry_status ferry_i_text_views(ferry_ctx *ctx, uint64_t seed, int64_t n,
                                ferry_data *const *data, const ferry_read_settings *s)
{
    ferry_status st = FERRY_OK;
    pool p = {.n = n, .data = data};

    FERRY_NEW(ctx, p.s, n);
    FERRY_NEW(ctx, p.drawn, n);
    memcpy(p.s, s, (size_t)n * sizeof *p.s);
    FERRY_TRY(ferry_i_text_draw(ctx, seed, n, data, p.s, p.drawn));
    for (int64_t i = 0; i < n; i++) {
        FERRY_NEED(ctx, p.drawn[i].n > 0, FERRY_EDATA, "%s: holds no document",
                   data[i]->path);
        p.docs += p.drawn[i].n;
    }
    FERRY_TRY(join_words(ctx, &p));
    FERRY_TRY(choose(ctx, &p));
    FERRY_TRY(shuffle(ctx, seed, &p));
    for (int64_t i = 0; i < n; i++)
        FERRY_TRY(make_view(ctx, &p, i));
done:
    pool_free(&p);
    return st;
}

/* The settings were kept with each piece when it was read and are parsed from there
 * again. */
ferry_status ferry_i_text_weigh(ferry_ctx *ctx, uint64_t seed, int64_t n,
                                ferry_data *const *data)
{
    ferry_status st = FERRY_OK;
    ferry_read_settings *s = ferry_i_calloc(n, sizeof *s);

    FERRY_HAVE(ctx, s);
    for (int64_t i = 0; i < n; i++)
        FERRY_TRY(ferry_i_opts_parse(ctx, "reader", ferry_i_read_table,
                                     ferry_i_read_table_n, data[i]->read, &s[i]));
    FERRY_TRY(ferry_i_text_views(ctx, seed, n, data, s));
done:
    ferry_i_free(s);
    return st;
}
