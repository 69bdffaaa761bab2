/* Learners of streams: what they are, and what they are made of: products with one row at a time, running means and
 * deviations, and passive-aggressive steps. All of it gives the same bits on every CPU, so that a log replays, and
 * nothing here fails but for want of memory when something is made. */
#ifndef FERRY_LEARN_ONLINE_H
#define FERRY_LEARN_ONLINE_H

#include "state/table.h"

/* A row of a stream whose label has come. */
typedef struct stream_label {
    ferry_row x;
    int32_t cls;
    const int32_t *votes; /* what see() left for this row; NULL: it was not kept */
    /* The scratch is as the last see() has left it, which was of this row; nothing was learned since. */
    bool seen;
} stream_label;

/* How something learns from a stream, a row at a time (include/ferry/stream.h). Rows are in the model's columns, without
 * missing cells, scaled as at fit. Nothing but the state and the arguments may decide what these do: a log of the calls
 * is replayed to the same bits. Only learn() may fail, and leaves the state as it was: what it needs is had before the
 * first change. Before that the state's table has made the class, if it is new, with zeros. */
typedef struct online {
    const char *
        classes; /* where the state's file has their number: entry 1 of tensor pa is "pa:1" */
    int64_t (*columns)(const void *state);
    /* Whether see() changes the state; NULL: it never does. */
    bool (*watches)(const void *state);
    /* How many numbers see() leaves for learn(); NULL: none. */
    int64_t (*votes)(const void *state);
    /* Memory for rows at work and k classes, of which the state may have one less as yet. learns: of the stream, else
     * only to look; dense: rows have no indices. */
    void *(*scratch)(scope *s, const void *state, int64_t k, bool learns, bool dense);
    /* score (zeroed, one a class) of a row that does not count. */
    void (*look)(const void *state, void *scratch, ferry_row x, double *score);
    /* Likewise of a row that does; votes may be NULL. see NULL: look(). */
    void (*see)(void *state, void *scratch, ferry_row x, double *score, int32_t *votes);
    /* The class of the largest score where scores are not asked for, with what see() would leave in the scratch for
     * learn(); -1: see() is to say it. NULL: always. */
    int32_t (*answer)(void *state, void *scratch, ferry_row x, int32_t *votes);
    void (*learn)(scope *s, scope *keep, void *state, void *scratch, const stream_label *l);
    /* How much each part counts now, into w, with names that live as long as the state; w NULL: how many parts there
     * are. NULL: one. */
    int64_t (*parts)(const void *state, const char **names, double *w);
    /* Likewise what is told of the mistakes at a stream's end, under names that stay; NULL: nothing. */
    int64_t (*counts)(const void *state, const char **names, double *w);
    /* To be saved: `state` is a copy of the struct, whose fields that only a file has are made in s. NULL: all are
     * members. */
    void (*pack)(scope *s, void *state);
} online;

/* ---- rows, dense or sparse ---- */

/* out[i] <- row i of a (rows x d, one after the other) times x. */
void row_scores(int64_t rows, int64_t d, const double *a, ferry_row x, double *out);
double row_norm2(ferry_row x);
/* The n values to length 1; a row of zeros stays. */
void row_unit(int64_t n, double *value);
/* Place of the largest, the first of equals; -1 for n = 0. */
int32_t row_argmax(int64_t n, const double *f);

/* ---- a pass over rows that are all there ---- */

/* Rows by their keys, and a number for each of k classes: that in which it comes first, so that in ties neither the order
 * of a file nor the names of classes decide. Classes without a row come last. */
typedef struct row_pass {
    const int64_t *row;    /* n */
    const int32_t *number; /* k */
} row_pass;
row_pass row_pass_new(scope *s, int64_t n, const uint64_t *key, int64_t k,
                      const int32_t *cls);

/* ---- means and deviations of the features of all rows so far (Welford) ---- */

typedef struct moments {
    int64_t n, d;
    double *mean, *m2; /* d: mean, and sum of squared differences from it */
} moments;
extern const table moments_table;
moments moments_new(scope *keep, int64_t d);
void moments_clear(moments *m);
/* x has no missing cell. */
void moments_add(moments *m, ferry_row x);
/* z (d) <- (x - mean) / sd to unit length, where sd is at least a tenth of the features' mean sd. Zero where nothing
 * varies. */
void moments_scale(const moments *m, ferry_row x, double *z);
/* z (d) <- (x - mean) / sd, within -5 and 5; 0 where a feature has not varied. */
void moments_standardise(const moments *m, ferry_row x, double *z);

/* ---- multi-class passive-aggressive learning ----
 *
 * Crammer, Dekel, Keshet, Shalev-Shwartz and Singer, Online Passive-Aggressive Algorithms, JMLR 2006: one weight row
 * per class. A sample x of class y, with f = W x and r = argmax over k != y of f_k, has the loss
 * l = max(0, 1 - f_y + f_r). When l > 0
 *
 *   W_y += tau x,  W_r -= tau x,     tau = l / (2 x'x)                  PA
 *                                    tau = min(C, l / (2 x'x))          PA-I
 *                                    tau = l / (2 x'x + 1 / (2 C))      PA-II
 *
 * so that PA makes the margin f_y - f_r just 1. `printed` is min(C, l / (f_y - f_r)^2), as the HetOMTL paper has it,
 * kept to compare. */
typedef enum pa_kind { PA, PA1, PA2, PA_PRINTED } pa_kind;
#define PA_KINDS "pa|pa1|pa2|printed"

typedef struct pa {
    int64_t kind;
    int64_t steps; /* samples learned from, with and without a loss */
    int64_t averages;
    double C; /* > 0: the cap of PA-I, the damping of PA-II; PA does not look at it */
    block w;  /* classes x d */
    /* The average of the weights after each of `steps` samples is W - U / steps, where U is the sum of all changes of
     * W, each times the number of samples before it. at NULL: not kept. */
    block u;
} pa;
extern const table pa_table; /* tensors "", C, w and u: what a file of 0.1 has */

typedef struct pa_step {
    int32_t r;        /* the best of the other classes, -1: there is none */
    double loss, tau; /* l before the step, and its size: 0 when W did not move */
} pa_step;

/* All weights are 0. */
pa pa_new(scope *keep, pa_kind kind, double C, int64_t k, int64_t d, bool average);
/* f[0..k) <- W x. */
void pa_scores(const pa *p, ferry_row x, double *f);
/* f <- (W - U / steps) x, given W x in f. */
void pa_average(const pa *p, ferry_row x, double *f);
/* Class c <- number[c], after a pass in these numbers. */
void pa_renumber(scope *s, pa *p, const int32_t *number);
/* One step, from the scores f = W x; x'x = xx. A zero x changes nothing. */
pa_step pa_learn(pa *p, ferry_row x, double xx, int32_t y, const double *f);

#endif
