/* From words to a sparse view.
 *
 * A word is a feature when it is in at least min_df and at most max_df documents (shares of
 * the documents below 1). Features are sorted by their bytes. With n documents, df of them
 * with the word, and c times in this one, a cell is
 *   counts  c             binary  1             tf  1 + ln c
 *   tfidf   (1 + ln c) idf,  idf = ln((1 + n) / (1 + df)) + 1
 * and rows may then be scaled to length 1 (l1 or l2). scikit-learn's TfidfVectorizer with
 * sublinear_tf gives the same numbers.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/text.h"

enum { COUNTS, BINARY, TF, TFIDF };
enum { NORM_NONE, NORM_L1, NORM_L2 };
enum { WORDS, BIGRAMS, SPACES };

ferry_status ferry_i_counts_open(ferry_ctx *ctx, const ferry_read_settings *s,
                                 const ferry_ids *stop, ferry_counts *c)
{
    ferry_status st = FERRY_OK;

    *c = (ferry_counts){.s = s, .stop = stop};
    c->words = s->vocabulary ? ferry_i_ids_copy(s->vocabulary) : ferry_i_ids_new();
    FERRY_NEED(ctx, c->words && FERRY_GROW(c->start, 0, c->cap_start), FERRY_ENOMEM,
               "no memory for words");
    c->start[0] = 0;
    for (int64_t i = 0; i < ferry_i_ids_count(c->words); i++) {
        FERRY_NEED(ctx, FERRY_GROW(c->seen, i, c->cap_seen), FERRY_ENOMEM,
                   "no memory for words");
        c->seen[i] = 0;
    }
done:
    return st;
}

void ferry_i_counts_close(ferry_counts *c)
{
    ferry_i_ids_free(c->words);
    ferry_i_free(c->start);
    ferry_i_free(c->word);
    ferry_i_free(c->count);
    ferry_i_free(c->seen);
    ferry_i_text_free(&c->pair);
    *c = (ferry_counts){0};
}

/* ---- counting ---- */

static ferry_status count_word(ferry_ctx *ctx, ferry_counts *c, const char *word, int64_t n)
{
    ferry_status st = FERRY_OK;
    bool added = false;
    int64_t w = 0;

    if (c->s->vocabulary) {
        w = ferry_i_ids_findn(c->words, word, n);
        if (w < 0) goto done; /* new words are dropped */
    } else {
        w = ferry_i_ids_addn(c->words, word, n, &added);
        FERRY_NEED(ctx, w >= 0 && w < INT32_MAX, FERRY_ENOMEM, "no memory for words");
        FERRY_NEED(ctx, !added || FERRY_GROW(c->seen, w, c->cap_seen), FERRY_ENOMEM,
                   "no memory for words");
        if (added) c->seen[w] = 0;
    }
    if (c->seen[w] > c->start[c->docs]) {
        c->count[c->seen[w] - 1]++;
        goto done;
    }
    FERRY_NEED(ctx,
               FERRY_GROW(c->word, c->n, c->cap_word) &&
                   FERRY_GROW(c->count, c->n, c->cap_count),
               FERRY_ENOMEM, "no memory for words");
    c->word[c->n] = (int32_t)w;
    c->count[c->n++] = 1;
    c->seen[w] = c->n;
done:
    return st;
}

static ferry_status one_word(ferry_ctx *ctx, void *arg, const char *word, int64_t n)
{
    ferry_status st = FERRY_OK;
    ferry_counts *c = arg;

    if (c->stop && ferry_i_ids_findn(c->stop, word, n) >= 0) goto done;
    FERRY_TRY(count_word(ctx, c, word, n));
    if (c->s->tokens != BIGRAMS) goto done;
    if (c->before > 0) {
        ferry_i_text_addn(&c->pair, " ", 1);
        ferry_i_text_addn(&c->pair, word, n);
        FERRY_NEED(ctx, !c->pair.failed, FERRY_ENOMEM, "no memory for words");
        FERRY_TRY(count_word(ctx, c, c->pair.s, c->pair.len));
    }
    c->pair.len = 0;
    ferry_i_text_addn(&c->pair, word, n);
    FERRY_NEED(ctx, !c->pair.failed, FERRY_ENOMEM, "no memory for words");
    c->before = n;
done:
    return st;
}

ferry_status ferry_i_counts_add(ferry_ctx *ctx, ferry_counts *c, const char *path,
                                const char *s, int64_t n)
{
    ferry_status st = FERRY_OK;
    ferry_utf8 u = {0};
    ferry_text mail = {0};

    if (c->s->mail_headers == 1) {
        ferry_i_strip_mail(s, n, &mail);
        FERRY_NEED(ctx, !mail.failed, FERRY_ENOMEM, "%s: no memory for its text", path);
        s = mail.s ? mail.s : "";
        n = mail.len;
    }
    FERRY_TRY(ferry_i_utf8_open(ctx, path, s, n, &u));
    c->before = 0;
    FERRY_TRY(ferry_i_words(ctx, u.s, u.n, c->s->tokens == SPACES, c->s->lower,
                            c->s->min_len, one_word, c));
    FERRY_NEED(ctx, FERRY_GROW(c->start, c->docs + 1, c->cap_start), FERRY_ENOMEM,
               "%s: no memory for its text", path);
    c->start[++c->docs] = c->n;
done:
    ferry_i_utf8_close(&u);
    ferry_i_text_free(&mail);
    return st;
}

/* ---- the vocabulary ---- */

/* A word that stays: its text, its place among all words, in how many documents it is. */
typedef struct kept {
    const char *text;
    int32_t word;
    int32_t df;
} kept;

static int by_text(const void *a, const void *b)
{
    return strcmp(((const kept *)a)->text, ((const kept *)b)->text);
}

/* The words that stay, sorted. With a vocabulary given, all of it in its order. */
static ferry_status choose(ferry_ctx *ctx, const ferry_counts *c, kept **out,
                           int64_t *n_out)
{
    ferry_status st = FERRY_OK;
    const int64_t n = ferry_i_ids_count(c->words);
    const double docs = (double)c->docs;
    const double least = c->s->min_df < 1 ? c->s->min_df * docs : c->s->min_df;
    const double most = c->s->max_df < 1 ? c->s->max_df * docs : c->s->max_df;
    kept *k = ferry_i_calloc(n, sizeof *k);
    int64_t m = 0;

    FERRY_NEED(ctx, k, FERRY_ENOMEM, "no memory for %lld words", (long long)n);
    for (int64_t e = 0; e < c->n; e++)
        k[c->word[e]].df++;
    for (int64_t w = 0; w < n; w++) {
        const int32_t df = k[w].df;
        if (!c->s->vocabulary && (df < least || df > most)) continue;
        k[m++] = (kept){ferry_i_ids_at(c->words, w), (int32_t)w, df};
    }
    if (!c->s->vocabulary && m > 1) qsort(k, (size_t)m, sizeof *k, by_text);
    *out = k;
    *n_out = m;
    k = NULL;
done:
    ferry_i_free(k);
    return st;
}

static ferry_status make_features(ferry_ctx *ctx, const ferry_counts *c, const kept *k,
                                  int64_t m, ferry_data *d)
{
    ferry_status st = FERRY_OK;

    d->features = ferry_i_ids_new();
    FERRY_NEED(ctx, d->features, FERRY_ENOMEM, "no memory for words");
    for (int64_t j = 0; j < m; j++)
        FERRY_NEED(ctx, ferry_i_ids_add(d->features, k[j].text, NULL) >= 0, FERRY_ENOMEM,
                   "no memory for words");
    if (c->s->weight != TFIDF) goto done;
    FERRY_NEED(ctx, !c->s->vocabulary || c->s->idf, FERRY_EDATA,
               "%s: weight=tfidf, but the vocabulary comes without its weights", d->path);
    d->idf = ferry_i_calloc(m, sizeof *d->idf);
    FERRY_NEED(ctx, d->idf, FERRY_ENOMEM, "no memory for words");
    for (int64_t j = 0; j < m; j++)
        d->idf[j] = c->s->vocabulary ? c->s->idf[j]
                                     : log((1 + (double)c->docs) / (1 + k[j].df)) + 1;
done:
    return st;
}

/* ---- the matrix ---- */

typedef struct cell {
    int32_t column, count;
} cell;

static int by_column(const void *a, const void *b)
{
    const int32_t x = ((const cell *)a)->column, y = ((const cell *)b)->column;

    return (x > y) - (x < y);
}

static double weigh(const ferry_counts *c, const ferry_data *d, cell at)
{
    switch (c->s->weight) {
    case BINARY: return 1;
    case TF: return 1 + log(at.count);
    case TFIDF: return (1 + log(at.count)) * d->idf[at.column];
    default: return at.count;
    }
}

static void scale_row(int norm, double *v, int64_t n)
{
    double sum = 0;

    for (int64_t e = 0; e < n; e++)
        sum += norm == NORM_L1 ? fabs(v[e]) : v[e] * v[e];
    if (norm == NORM_L2) sum = sqrt(sum);
    for (int64_t e = 0; sum > 0 && e < n; e++)
        v[e] /= sum;
}

/* Row i: the entries of document i whose words stayed, in order of their columns. */
static void fill_row(const ferry_counts *c, const ferry_data *d, const int32_t *column,
                     int64_t i, cell *scratch)
{
    ferry_matrix *x = d->x;
    int64_t m = 0, at = x->start[i];

    for (int64_t e = c->start[i]; e < c->start[i + 1]; e++)
        if (column[c->word[e]] >= 0) scratch[m++] = (cell){column[c->word[e]], c->count[e]};
    if (m > 1) qsort(scratch, (size_t)m, sizeof *scratch, by_column);
    for (int64_t e = 0; e < m; e++, at++) {
        x->index[at] = scratch[e].column;
        x->value[at] = weigh(c, d, scratch[e]);
    }
    if (c->s->norm != NORM_NONE) scale_row(c->s->norm, x->value + x->start[i], m);
}

static ferry_status make_matrix(ferry_ctx *ctx, const ferry_counts *c, const kept *k,
                                int64_t m, ferry_data *d)
{
    ferry_status st = FERRY_OK;
    const int64_t words = ferry_i_ids_count(c->words);
    int32_t *column = ferry_i_calloc(words, sizeof *column);
    cell *scratch = NULL;
    int64_t nnz = 0, longest = 0;

    FERRY_NEED(ctx, column, FERRY_ENOMEM, "no memory for words");
    for (int64_t w = 0; w < words; w++)
        column[w] = -1;
    for (int64_t j = 0; j < m; j++)
        column[k[j].word] = (int32_t)j;
    for (int64_t e = 0; e < c->n; e++)
        nnz += column[c->word[e]] >= 0;
    FERRY_TRY(ferry_i_matrix_csr(ctx, c->docs, m, nnz, &d->x));
    for (int64_t i = 0; i < c->docs; i++) {
        int64_t row = 0;
        for (int64_t e = c->start[i]; e < c->start[i + 1]; e++)
            row += column[c->word[e]] >= 0;
        d->x->start[i + 1] = d->x->start[i] + row;
        d->empty_rows += row == 0;
        longest = row > longest ? row : longest;
    }
    scratch = ferry_i_calloc(longest, sizeof *scratch);
    FERRY_NEED(ctx, scratch, FERRY_ENOMEM, "no memory for words");
    for (int64_t i = 0; i < c->docs; i++)
        fill_row(c, d, column, i, scratch);
done:
    ferry_i_free(column);
    ferry_i_free(scratch);
    return st;
}

ferry_status ferry_i_counts_give(ferry_ctx *ctx, ferry_counts *c, ferry_data *d)
{
    ferry_status st = FERRY_OK;
    kept *k = NULL;
    int64_t m = 0;

    FERRY_NEED(ctx, c->docs > 0, FERRY_EDATA, "%s: holds no document", d->path);
    FERRY_TRY(choose(ctx, c, &k, &m));
    FERRY_NEED(ctx, m > 0, FERRY_EDATA,
               "%s: no word is left of %lld in %lld documents (min_df, max_df, stop_words)",
               d->path, (long long)ferry_i_ids_count(c->words), (long long)c->docs);
    FERRY_TRY(make_features(ctx, c, k, m, d));
    FERRY_TRY(make_matrix(ctx, c, k, m, d));
    if (d->empty_rows > 0)
        ferry_i_log(ctx, FERRY_WARN, "%s: %lld of %lld documents have no word left",
                    d->path, (long long)d->empty_rows, (long long)c->docs);
done:
    ferry_i_free(k);
    return st;
}
