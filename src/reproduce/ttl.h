/* What the studies of transitive transfer share: their tasks, and grids of results. */
#ifndef FERRY_REPRODUCE_TTL_H
#define FERRY_REPRODUCE_TTL_H

#include "reproduce/study.h"

#define TTL_PAPER "Tan, Song, Zhong, Yang: Transitive Transfer Learning, KDD 2015"
/* Packed as in our own copies, or as ferry fetch gets them. */
#define TTL_NEWS "20newsgroups/20news-bydate.tar.xz|20newsgroups/20news-bydate.tar.gz"
#define TTL_AMAZON "amazon_sentiment/fdu-mtl.tar.xz|amazon_sentiment/fdu-mtl"

/* One of the six tasks of table 4: folders of 20 Newsgroups by class. */
typedef struct ttl_news {
    const char *name, *one, *other; /* "comp-vs-talk", "comp", "talk" */
    const char *source[2], *bridge[2], *target[2];
} ttl_news;
enum { TTL_N_NEWS = 6 };
extern const ttl_news ferry_i_ttl_news[TTL_N_NEWS];

/* Where a file of the data folder is, for between single quotes of a task file. */
ferry_status ferry_i_ttl_source(ferry_ctx *ctx, ferry_lab *lab, const char *name,
                                ferry_text *out);
/* Write NAME.yaml: the raw messages, source and target with different halves of the words.
 * methods: a block of lines under "methods:". */
ferry_status ferry_i_ttl_news_task(ferry_ctx *ctx, ferry_lab *lab, const ttl_news *task,
                                   const char *methods, const char *name);
/* Read such a task under a seed and write its three domains as SEED-source.svm,
 * SEED-bridge.svm and SEED-target.svm into the folder, with names of words. `labels` is how
 * many documents of the bridge keep their class, drawn under the seed; `removed` the share
 * of its words that it loses. */
ferry_status ferry_i_ttl_export(ferry_ctx *ctx, ferry_lab *lab, const ttl_news *task,
                                uint64_t seed);
ferry_status ferry_i_ttl_bridge(ferry_ctx *ctx, ferry_lab *lab, uint64_t seed,
                                int64_t labels, double removed, const char *name);
/* Write name: a task over exported files. */
ferry_status ferry_i_ttl_small_task(ferry_ctx *ctx, ferry_lab *lab, uint64_t seed,
                                    const char *bridge, const char *methods,
                                    const char *name);

/* Accuracies of methods (rows) on tasks or settings (columns) over runs: the table's cells
 * are means over runs. */
typedef struct ttl_grid {
    const char *const *row;
    const char *const *column;
    int64_t rows, columns, runs;
    double *x; /* rows x columns x runs, per cent; NaN: none */
} ttl_grid;
ferry_status ferry_i_ttl_grid_new(ferry_ctx *ctx, ttl_grid *g);
void ferry_i_ttl_grid_free(ttl_grid *g);
/* Take rows first .. first + n - 1 from the last run of the lab. */
ferry_status ferry_i_ttl_take(ferry_ctx *ctx, ferry_lab *lab, ttl_grid *g, int64_t first,
                              int64_t n, int64_t column, int64_t run);
/* Put the grid into the lab's table. paper: rows x columns, or NULL; `mean` adds a column
 * of means over the columns. */
ferry_status ferry_i_ttl_fill(ferry_ctx *ctx, ferry_lab *lab, const ttl_grid *g,
                              const double *paper, bool mean);
/* Mean over runs of a cell; over all columns for column -1. */
double ferry_i_ttl_mean(const ttl_grid *g, int64_t row, int64_t column);

#endif
