/* What the studies of GBC share: tables of methods by the share of instances for training,
 * and what their protocols say of the data. */
#ifndef FERRY_GBC_STUDIES_H
#define FERRY_GBC_STUDIES_H

#include "reproduce/sources.h"

#define PAPER                                                                              \
    "Shi, Heterogeneous Learning and Its Applications, thesis, Chicago 2013, ch. 3"
#define FILMS                                                                              \
    "Films: 3000 of the IMDB 5000 table with genres, plot keywords, technical data, "      \
    "title "                                                                               \
    "words, release and cast, joined by director, lead and actors; the paper crawled "     \
    "IMDB "                                                                                \
    "itself (quotes, plots, technologies, sound, running times, genres; actor, actress, "  \
    "director and writer graphs). "
#define DIGITS                                                                             \
    "Digits: the paper's 2000, five views and two graphs of the ten nearest in "           \
    "morphology, "                                                                         \
    "one with noise. "
#define PAPERS                                                                             \
    "Papers: the terror attacks are not among the data; 1293 Citeseer papers with 106 "    \
    "common words, the same words with N(0, 1) noise, citations and common neighbours "    \
    "take "                                                                                \
    "their place. "
#define VERSIONS                                                                           \
    "GBC as published: mode thesis with 40 trees; lambda0 = lambda1 = 0.3 labelled / "     \
    "unlabelled, where the paper cross-validates them; steps shrunk by 0.1, which the "    \
    "paper does not do and which helped it on splits that are not among these. "

enum { MOST_SHARES = 5, MOST_COLUMNS = 6 };

/* A table of scores: share of the instances for training x methods. */
typedef struct ferry_panel {
    const char *title, *goal, *metric, *units;
    double factor;
    int digits;
    int64_t shares, columns;
    const char *share[MOST_SHARES];
    const char *as[MOST_COLUMNS], *column[MOST_COLUMNS]; /* in the task; in the table */
    ferry_score score[MOST_SHARES][MOST_COLUMNS];
} ferry_panel;

/* A share as a row's name. */
void ferry_i_panel_row(const char *share, char *to, size_t size);
void ferry_i_panel_shares(ferry_panel *p, int64_t n, const char *const *share);
/* Evaluate the methods on what was written as `folder`, at every share. */
ferry_status ferry_i_panel_run(ferry_ctx *ctx, ferry_lab *lab, const ferry_sources *s,
                               const char *folder, const char *methods, int64_t repeats,
                               ferry_panel *p);
/* A table of it. */
ferry_status ferry_i_panel_show(ferry_ctx *ctx, ferry_lab *lab, const ferry_panel *p);

#endif
