/* Papers of Citeseer as sources: their commonest words and a noisy copy of them, or groups
 * of words by what they tell about the class, beside noise. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reproduce/sources.h"

enum { COMMON = 106, COMPANY = 20, LEAST = 5, GROUPS = 5, NOISE = 400 };

/* The archive: words (sparse) with classes, and citations between the papers that are
 * there, each pair once: edge e joins ends[2 e] < ends[2 e + 1]. */
typedef struct citeseer {
    ferry_data *words;
    ferry_source_graph cites;
} citeseer;

static void citeseer_clear(citeseer *c)
{
    ferry_data_free(c->words);
    ferry_i_free(c->cites.ends);
}

static int by_ends(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    if (x[0] != y[0]) return x[0] < y[0] ? -1 : 1;
    return x[1] < y[1] ? -1 : x[1] > y[1];
}

/* Sort the edges and leave out those that repeat. */
static void tidy(ferry_source_graph *g)
{
    int64_t n = 0;

    if (g->n == 0) return;
    qsort(g->ends, (size_t)g->n, 2 * sizeof *g->ends, by_ends);
    for (int64_t e = 0; e < g->n; e++) {
        if (n > 0 && by_ends(&g->ends[2 * e], &g->ends[2 * n - 2]) == 0) continue;
        g->ends[2 * n] = g->ends[2 * e];
        g->ends[2 * n++ + 1] = g->ends[2 * e + 1];
    }
    g->n = n;
}

static ferry_status citeseer_read(ferry_ctx *ctx, ferry_lab *lab, citeseer *c)
{
    ferry_status st = FERRY_OK;
    char *path = NULL;
    ferry_data *g = NULL;

    *c = (citeseer){0};
    FERRY_TRY(ferry_i_lab_source(ctx, lab, SOURCES_CITESEER, &path));
    FERRY_TRY(ferry_read(ctx, path, NULL, &c->words));
    FERRY_TRY(ferry_i_read_as(ctx, path, NULL, FERRY_DATA_GRAPH, &g));
    FERRY_NEED(ctx,
               c->words->x && !c->words->x->dense && c->words->ids && c->words->labels &&
                   c->words->labels->kind == FERRY_LABEL_CLASS,
               FERRY_EDATA, "%s: expected papers with words and classes", path);
    for (int64_t e = 0; e < g->edges; e++) {
        const int64_t a =
            ferry_i_ids_find(c->words->ids, ferry_i_ids_at(g->nodes, g->from[e]));
        const int64_t b =
            ferry_i_ids_find(c->words->ids, ferry_i_ids_at(g->nodes, g->to[e]));
        if (a < 0 || b < 0 || a == b) continue;
        FERRY_TRY(ferry_i_sources_edge(ctx, &c->cites, a < b ? a : b, a < b ? b : a));
    }
    tidy(&c->cites);
done:
    ferry_data_free(g);
    ferry_i_free(path);
    return st;
}

/* A word and what it is ranked by. */
typedef struct ranked {
    double score;
    int64_t word;
} ranked;

static int by_score(const void *a, const void *b)
{
    const ranked *x = a, *y = b;

    if (x->score != y->score) return x->score > y->score ? -1 : 1;
    return x->word < y->word ? -1 : x->word > y->word;
}

/* How many papers have a word. */
static void count_papers(const ferry_matrix *x, int64_t *papers)
{
    for (int64_t e = 0; e < x->nnz; e++)
        papers[x->index[e]]++;
}

/* ---- the commonest words ---- */

/* map[word] is its place among the COMMON commonest, -1: not one of them. */
static ferry_status common_words(ferry_ctx *ctx, const ferry_matrix *x, int32_t *map)
{
    ferry_status st = FERRY_OK;
    ranked *r = ferry_i_calloc(x->cols, sizeof *r);
    int64_t *papers = ferry_i_calloc(x->cols, sizeof *papers);

    FERRY_NEED(ctx, r && papers, FERRY_ENOMEM, "no memory for words");
    count_papers(x, papers);
    for (int64_t w = 0; w < x->cols; w++) {
        r[w] = (ranked){(double)papers[w], w};
        map[w] = -1;
    }
    qsort(r, (size_t)x->cols, sizeof *r, by_score);
    for (int32_t k = 0; k < COMMON && k < x->cols; k++)
        map[r[k].word] = k;
done:
    ferry_i_free(papers);
    ferry_i_free(r);
    return st;
}

/* Join the papers that share a neighbour of at most COMPANY neighbours. */
static ferry_status join_company(ferry_ctx *ctx, const ferry_source_graph *cites, int64_t n,
                                 ferry_source_graph *out)
{
    ferry_status st = FERRY_OK;
    int64_t *start = ferry_i_calloc(n + 2, sizeof *start);
    int64_t *near = ferry_i_calloc(2 * cites->n, sizeof *near);

    FERRY_NEED(ctx, start && near, FERRY_ENOMEM, "no memory for citations");
    for (int64_t e = 0; e < 2 * cites->n; e++)
        start[cites->ends[e] + 2]++;
    for (int64_t i = 1; i <= n; i++)
        start[i + 1] += start[i];
    for (int64_t e = 0; e < 2 * cites->n; e++)
        near[start[cites->ends[e] + 1]++] = cites->ends[e ^ 1];
    for (int64_t i = 0; i < n; i++)
        if (start[i + 1] - start[i] <= COMPANY)
            FERRY_TRY(
                ferry_i_sources_clique(ctx, out, start[i + 1] - start[i], near + start[i]));
done:
    ferry_i_free(near);
    ferry_i_free(start);
    return st;
}

/* n papers at random in their old order: row[i] of the whole, place[row[i]] = i, else
 * -1. */
static void draw_papers(ferry_ctx *ctx, int64_t all, int64_t n, int64_t *row,
                        int64_t *place)
{
    int64_t m = 0;
    ferry_rng rng;

    for (int64_t i = 0; i < all; i++)
        row[i] = i;
    ferry_i_rng_for(ctx, &rng, "papers");
    ferry_i_rng_shuffle(&rng, all, row);
    for (int64_t i = 0; i < all; i++)
        place[row[i]] = i < n ? 1 : -1;
    for (int64_t i = 0; i < all; i++)
        if (place[i] > 0) {
            place[i] = m;
            row[m++] = i;
        }
}

ferry_status ferry_i_sources_papers(ferry_ctx *ctx, ferry_lab *lab, int64_t n,
                                    ferry_sources **out)
{
    ferry_status st = FERRY_OK;
    ferry_sources *s = ferry_i_sources_new("papers");
    citeseer c = {0};
    ferry_matrix *x = NULL, *words = NULL, *noisy = NULL;
    int64_t *row = NULL, *place = NULL;
    int32_t *map = NULL;
    ferry_rng rng;

    *out = NULL;
    FERRY_NEED(ctx, s, FERRY_ENOMEM, "no memory for papers");
    FERRY_TRY(citeseer_read(ctx, lab, &c));
    const ferry_matrix *all = c.words->x;
    row = ferry_i_calloc(all->rows, sizeof *row);
    place = ferry_i_calloc(all->rows, sizeof *place);
    map = ferry_i_calloc(all->cols, sizeof *map);
    FERRY_NEED(ctx, row && place && map, FERRY_ENOMEM, "no memory for papers");
    s->n = n > 0 && n < all->rows ? n : all->rows;
    draw_papers(ctx, all->rows, s->n, row, place);

    /* Words, clean and noisy, and classes. */
    FERRY_TRY(common_words(ctx, all, map));
    FERRY_TRY(ferry_i_matrix_take(ctx, all, s->n, row, COMMON, map, &x));
    FERRY_TRY(ferry_i_matrix_densify(ctx, x, &words));
    FERRY_TRY(ferry_i_matrix_densify(ctx, x, &noisy));
    ferry_i_rng_for(ctx, &rng, "noisy words");
    for (int64_t i = 0; i < s->n * COMMON; i++)
        noisy->dense[i] += ferry_i_rng_normal(&rng);
    st = ferry_i_sources_view(ctx, s, "words", words);
    words = NULL;
    FERRY_TRY(st);
    st = ferry_i_sources_view(ctx, s, "noisy", noisy);
    noisy = NULL;
    FERRY_TRY(st);
    FERRY_TRY(ferry_i_labels_new(ctx, FERRY_LABEL_CLASS, s->n, c.words->labels->names,
                                 &s->labels));
    for (int64_t i = 0; i < s->n; i++)
        s->labels->cls[i] = c.words->labels->cls[row[i]];

    /* Citations among the papers drawn, and their company. */
    ferry_source_graph *cites = ferry_i_sources_graph(s, "cites");
    for (int64_t e = 0; e < c.cites.n; e++) {
        const int64_t a = place[c.cites.ends[2 * e]], b = place[c.cites.ends[2 * e + 1]];
        if (a >= 0 && b >= 0) FERRY_TRY(ferry_i_sources_edge(ctx, cites, a, b));
    }
    FERRY_TRY(join_company(ctx, cites, s->n, ferry_i_sources_graph(s, "company")));
    *out = s;
    s = NULL;
done:
    ferry_i_free(map);
    ferry_i_free(place);
    ferry_i_free(row);
    ferry_i_matrix_free(noisy);
    ferry_i_matrix_free(words);
    ferry_i_matrix_free(x);
    citeseer_clear(&c);
    ferry_i_sources_free(s);
    return st;
}

/* ---- groups of words, and noise ---- */

/* Of "the word occurs" and the class, in nats: inside[c] papers of class c have the word,
 * count[c] papers are of the class, n there are. */
static double mutual_information(int64_t classes, const int64_t *inside,
                                 const int64_t *count, double n)
{
    double total = 0, papers = 0;

    for (int64_t k = 0; k < classes; k++)
        papers += (double)inside[k];
    for (int64_t k = 0; k < classes; k++) {
        const double all = (double)count[k], in = (double)inside[k], outside = all - in;
        if (in > 0) total += in / n * log(in * n / (all * papers));
        if (outside > 0) total += outside / n * log(outside * n / (all * (n - papers)));
    }
    return total;
}

/* The words in LEAST papers or more by descending mutual information. New memory. */
static ferry_status rank_words(ferry_ctx *ctx, const ferry_data *d, ranked **out,
                               int64_t *n)
{
    ferry_status st = FERRY_OK;
    const ferry_matrix *x = d->x;
    const int64_t classes = ferry_i_labels_m(d->labels);
    int64_t *inside = ferry_i_calloc(x->cols * classes, sizeof *inside);
    int64_t *count = ferry_i_calloc(classes, sizeof *count);
    int64_t *papers = ferry_i_calloc(x->cols, sizeof *papers);

    *n = 0;
    *out = ferry_i_calloc(x->cols, sizeof **out);
    FERRY_NEED(ctx, inside && count && papers && *out, FERRY_ENOMEM, "no memory for words");
    count_papers(x, papers);
    for (int64_t i = 0; i < x->rows; i++) {
        count[d->labels->cls[i]]++;
        for (int64_t e = x->start[i]; e < x->start[i + 1]; e++)
            inside[x->index[e] * classes + d->labels->cls[i]]++;
    }
    for (int64_t w = 0; w < x->cols; w++)
        if (papers[w] >= LEAST)
            (*out)[(*n)++] = (ranked){
                mutual_information(classes, inside + w * classes, count, (double)x->rows),
                w};
    qsort(*out, (size_t)*n, sizeof **out, by_score);
done:
    ferry_i_free(papers);
    ferry_i_free(count);
    ferry_i_free(inside);
    return st;
}

static ferry_status add_groups(ferry_ctx *ctx, ferry_sources *s, const ferry_matrix *x,
                               const ranked *word, int64_t n)
{
    static const char *const names[GROUPS] = {"words1", "words2", "words3", "words4",
                                              "words5"};
    ferry_status st = FERRY_OK;
    int64_t *row = ferry_i_calloc(x->rows, sizeof *row);
    int32_t *map = ferry_i_calloc(x->cols, sizeof *map);
    ferry_matrix *part = NULL;

    FERRY_NEED(ctx, row && map, FERRY_ENOMEM, "no memory for words");
    for (int64_t i = 0; i < x->rows; i++)
        row[i] = i;
    for (int64_t g = 0; g < GROUPS; g++) {
        const int64_t from = g * n / GROUPS, to = (g + 1) * n / GROUPS;
        for (int64_t w = 0; w < x->cols; w++)
            map[w] = -1;
        for (int64_t k = from; k < to; k++)
            map[word[k].word] = (int32_t)(k - from);
        FERRY_TRY(ferry_i_matrix_take(ctx, x, x->rows, row, to - from, map, &part));
        st = ferry_i_sources_view(ctx, s, names[g], part);
        part = NULL;
        FERRY_TRY(st);
    }
done:
    ferry_i_free(map);
    ferry_i_free(row);
    return st;
}

/* Random 0/1 columns, half of them 1. */
static ferry_status add_noise(ferry_ctx *ctx, ferry_sources *s, ferry_rng *rng)
{
    ferry_status st = FERRY_OK;
    ferry_matrix *x = NULL;
    int64_t nnz = 0;

    FERRY_TRY(ferry_i_matrix_csr(ctx, s->n, NOISE, s->n * NOISE, &x));
    for (int64_t i = 0; i < s->n; i++) {
        for (int32_t j = 0; j < NOISE; j++)
            if (ferry_i_rng_real(rng) < 0.5) {
                x->index[nnz] = j;
                x->value[nnz++] = 1;
            }
        x->start[i + 1] = nnz;
    }
    x->nnz = nnz;
    FERRY_TRY(ferry_i_sources_view(ctx, s, "noise", x));
done:
    return st;
}

/* The graph's adjacency as a view. */
static ferry_status add_columns(ferry_ctx *ctx, ferry_sources *s,
                                const ferry_source_graph *g, const char *name)
{
    ferry_status st = FERRY_OK;
    ferry_source_graph both = {0};
    ferry_matrix *x = NULL;

    for (int64_t e = 0; e < g->n; e++) {
        FERRY_TRY(ferry_i_sources_edge(ctx, &both, g->ends[2 * e], g->ends[2 * e + 1]));
        FERRY_TRY(ferry_i_sources_edge(ctx, &both, g->ends[2 * e + 1], g->ends[2 * e]));
    }
    tidy(&both);
    FERRY_TRY(ferry_i_matrix_csr(ctx, s->n, s->n, both.n, &x));
    for (int64_t e = 0; e < both.n; e++) {
        x->start[both.ends[2 * e] + 1] = e + 1;
        x->index[e] = (int32_t)both.ends[2 * e + 1];
        x->value[e] = 1;
    }
    for (int64_t i = 0; i < s->n; i++)
        if (x->start[i + 1] < x->start[i]) x->start[i + 1] = x->start[i];
    FERRY_TRY(ferry_i_sources_view(ctx, s, name, x));
done:
    ferry_i_free(both.ends);
    return st;
}

ferry_status ferry_i_sources_words(ferry_ctx *ctx, ferry_lab *lab, bool columns,
                                   ferry_sources **out)
{
    ferry_status st = FERRY_OK;
    ferry_sources *s = ferry_i_sources_new("papers");
    citeseer c = {0};
    ranked *word = NULL;
    int64_t n = 0;
    ferry_rng rng;

    *out = NULL;
    FERRY_NEED(ctx, s, FERRY_ENOMEM, "no memory for papers");
    FERRY_TRY(citeseer_read(ctx, lab, &c));
    s->n = c.words->x->rows;
    FERRY_TRY(ferry_i_labels_copy(ctx, c.words->labels, &s->labels));
    FERRY_TRY(rank_words(ctx, c.words, &word, &n));
    FERRY_TRY(add_groups(ctx, s, c.words->x, word, n));
    ferry_i_rng_for(ctx, &rng, "random columns");
    FERRY_TRY(add_noise(ctx, s, &rng));

    ferry_source_graph *cites = ferry_i_sources_graph(s, "cites");
    *cites = (ferry_source_graph){"cites", c.cites.n, c.cites.cap, c.cites.ends};
    c.cites.ends = NULL;
    ferry_source_graph *random = ferry_i_sources_graph(s, "random");
    ferry_i_rng_for(ctx, &rng, "random edges");
    while (random->n < cites->n) {
        const int64_t a = (int64_t)ferry_i_rng_below(&rng, (uint64_t)s->n);
        const int64_t b = (int64_t)ferry_i_rng_below(&rng, (uint64_t)s->n);
        if (a != b) FERRY_TRY(ferry_i_sources_edge(ctx, random, a, b));
    }
    if (columns) {
        FERRY_TRY(add_columns(ctx, s, cites, "cites-columns"));
        FERRY_TRY(add_columns(ctx, s, random, "random-columns"));
    }
    *out = s;
    s = NULL;
done:
    ferry_i_free(word);
    citeseer_clear(&c);
    ferry_i_sources_free(s);
    return st;
}
