/* What the files about labs share: a run of a study and what came out of it. */
#ifndef FERRY_LAB_H
#define FERRY_LAB_H

#include "reproduce/study.h"

typedef struct lab_cell {
    int64_t row, column; /* places in the table's names */
    ferry_score ours;    /* its reason is owned */
    double paper;        /* NaN: the paper gives none */
} lab_cell;

typedef struct lab_table {
    char *title, *units;
    int digits;
    ferry_ids *rows, *columns;
    lab_cell *cell;
    int64_t n, cap;
} lab_table;

typedef struct lab_claim {
    char *text;
    bool held;
} lab_claim;

/* What came out. */
struct ferry_reproduction {
    const ferry_study *study;
    bool quick;
    uint64_t seed;
    int threads;
    double started, seconds; /* wall clock; how long it took */
    char *build;             /* of the program, or NULL */
    lab_table *table;
    int64_t n_tables, cap_tables;
    lab_claim *claim;
    int64_t n_claims, cap_claims;
    char **note;
    int64_t n_notes, cap_notes;
    struct json_t *runs; /* [{"command": ..., "scores": {method: {metric: mean}}}] */
    char *verdict;
};

struct ferry_lab {
    ferry_reproduction *r; /* owned until it is handed on */
    char *data, *folder;
    int64_t planned, done; /* runs */
    bool no_memory;        /* where a call could not say so */
    ferry_results *results;
    ferry_ids *said; /* warnings, each once: they go to log.txt, not to the caller */
    /* The caller's progress callback, which hears of the study's steps. */
    ferry_progress_fn progress;
    void *progress_user;
};

/* The current table, begun if need be; NULL: no memory. */
lab_table *ferry_i_lab_current(ferry_lab *lab);
/* A cell of a table by the places of its row and column; NULL: none. */
lab_cell *ferry_i_lab_cell_at(const lab_table *t, int64_t row, int64_t column);
/* The verdict from the claims. New string, NULL: no memory. */
char *ferry_i_lab_verdict(const ferry_reproduction *r);

#endif
