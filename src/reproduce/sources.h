/* Things that several sources describe (views, which may lack things, and graphs), as the
 * studies of GBC and CoCA use them: made from the distributed data sets, written into the
 * lab's folder, named in task files. Instances are called 1, 2, ... */
#ifndef FERRY_SOURCES_H
#define FERRY_SOURCES_H

#include "data/data.h"
#include "reproduce/study.h"

/* Files, for `needs`: Citeseer as distributed, or as ferry fetch unpacks it; mfeat. */
#define SOURCES_CITESEER "linqs/citeseer.tgz|linqs/citeseer"
#define SOURCES_MFEAT                                                                      \
    "mfeat/mfeat-fac.csv\nmfeat/mfeat-fou.csv\nmfeat/mfeat-kar.csv\nmfeat/mfeat-pix.csv\n" \
    "mfeat/mfeat-zer.csv\nmfeat/mfeat-mor.csv"

enum { FERRY_MOST_SOURCES = 8 };

typedef struct ferry_source_view {
    const char *name; /* static */
    ferry_matrix *x;  /* one row an instance; NaN: a missing cell */
} ferry_source_view;

typedef struct ferry_source_graph {
    const char *name;
    int64_t n, cap;
    int64_t *ends; /* 2 n instances from 0: edge e joins ends[2 e] and ends[2 e + 1] */
} ferry_source_graph;

typedef struct ferry_sources {
    const char *name;     /* static */
    int64_t n;            /* instances */
    ferry_labels *labels; /* classes, or numbers */
    ferry_source_view view[FERRY_MOST_SOURCES];
    ferry_source_graph graph[FERRY_MOST_SOURCES];
    int64_t n_views, n_graphs;
} ferry_sources;

ferry_sources *ferry_i_sources_new(const char *name); /* NULL: no memory */
void ferry_i_sources_free(ferry_sources *s);
/* The view is the set's from now on, also when the call fails. */
ferry_status ferry_i_sources_view(ferry_ctx *ctx, ferry_sources *s, const char *name,
                                  ferry_matrix *x);
/* A graph without edges, to be filled with ferry_i_sources_edge(). Lent. */
ferry_source_graph *ferry_i_sources_graph(ferry_sources *s, const char *name);
ferry_status ferry_i_sources_edge(ferry_ctx *ctx, ferry_source_graph *g, int64_t a,
                                  int64_t b);
/* Join all of a group by an edge each. */
ferry_status ferry_i_sources_clique(ferry_ctx *ctx, ferry_source_graph *g, int64_t n,
                                    const int64_t *members);

/* Digits of UCI mfeat, the first per_class of each class: six views; when `graphs`, five
 * views and two graphs of the ten nearest in morphology, in the second of which each
 * standardised feature of it got N(0, 1) noise. */
ferry_status ferry_i_sources_digits(ferry_ctx *ctx, ferry_lab *lab, int64_t per_class,
                                    bool graphs, ferry_sources **out);
/* Papers of Citeseer, stand-in for the terror attacks: the 106 commonest words; the same
 * with N(0, 1) noise; citations; papers that cite one another's company (that have a
 * neighbour of at most 20 citations in common). n of them at random, 0: all. */
ferry_status ferry_i_sources_papers(ferry_ctx *ctx, ferry_lab *lab, int64_t n,
                                    ferry_sources **out);
/* Citeseer with noise: words in at least 5 papers in five views by descending mutual
 * information with the class, a view of 400 random 0/1 columns; citations and as many
 * random edges. With `columns` also the graphs' adjacency as views. */
ferry_status ferry_i_sources_words(ferry_ctx *ctx, ferry_lab *lab, bool columns,
                                   ferry_sources **out);
/* n films of the IMDB table at random: six views, three graphs, the score to predict. */
ferry_status ferry_i_sources_films(ferry_ctx *ctx, ferry_lab *lab, int64_t n,
                                   ferry_sources **out);

/* Write all into folder/name. Of a share `lacking` of the instances, drawn at random, half
 * of the views are left out (dense views only). */
ferry_status ferry_i_sources_write(ferry_ctx *ctx, ferry_lab *lab, const ferry_sources *s,
                                   const char *name, double lacking);

/* A task about what was written as `name`: of it the views and graphs whose bits are
 * set. */
typedef struct ferry_sources_task {
    const char *file, *folder, *goal, *labelled, *methods, *metric;
    unsigned views, graphs;
    int64_t repeats;
} ferry_sources_task;
ferry_status ferry_i_sources_task(ferry_ctx *ctx, ferry_lab *lab, const ferry_sources *s,
                                  const ferry_sources_task *t);

/* The deciding metric of a method in the last run, times a factor; unlike
 * ferry_i_lab_score() it may be kept while other tasks run. */
ferry_status ferry_i_sources_score(ferry_ctx *ctx, ferry_lab *lab, const char *method,
                                   double factor, ferry_score *out);
/* A claim of the paper about its method as published; the same check on Ferry's version of
 * it (`ours`) is no claim of the paper's and stands among the notes. */
ferry_status ferry_i_sources_claim(ferry_ctx *ctx, ferry_lab *lab, bool ours, bool held,
                                   const char *format, ...) FERRY_PRINTF(5, 6);

#endif
