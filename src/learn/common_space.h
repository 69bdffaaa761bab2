/* Learning in a common space of a source and a target, and what a source's labels mean in the target
 * (common_space.c). */
#ifndef FERRY_COMMON_SPACE_H
#define FERRY_COMMON_SPACE_H

#include "learn/learner.h"

typedef struct space_options {
    int learner, base, rows; /* base: on the target's own features */
    int64_t neighbours, self_training;
    double lambda, C;
    double weight; /* of a source row; 0: 1 */
} space_options;
enum { ROWS_OF_BOTH, ROWS_OF_SOURCE, ROWS_OF_TARGET };

/* The learners that take classes. */
#define SPACE_LEARNERS "auto|knn|logreg|ridge|svm|gbdt"
/* Options of a struct T with a member `space`. */
#define SPACE_OPTIONS(T)                                                                   \
    FERRY_OPT_ONE_OF_AS(T, "learner", space.learner, SPACE_LEARNERS, "auto",               \
                        "learner on the space; auto: knn for classes, ridge for numbers"), \
        FERRY_OPT_ONE_OF_AS(                                                               \
            T, "base", space.base, SPACE_LEARNERS, "auto",                                 \
            "learner on the target's own features; auto: logreg or ridge"),                \
        FERRY_OPT_AS(T, "neighbours", INT, space.neighbours, 10, 1, 1e6,                   \
                     "knn: neighbours that vote"),                                         \
        FERRY_OPT_AS(T, "lambda", REAL, space.lambda, 1, 1e-12, 1e12,                      \
                     "ridge: weight of |W|^2"),                                            \
        FERRY_OPT_AS(T, "C", REAL, space.C, 3, 1e-9, 1e9,                                  \
                     "logreg, svm: cost of errors against small weights"),                 \
        FERRY_OPT_ONE_OF_AS(T, "rows", space.rows, "both|source|target", "both",           \
                            "labelled rows that the learner on the space learns from"),    \
        FERRY_OPT_AS(T, "self_training", INT, space.self_training, 0, 0, 1000,             \
                     "classify: times that the learner on the space labels a tenth of "    \
                     "the target's instances, those that it is surest of")
/* Fails where they do not go together. */
void space_fits(scope *s, const char *method, const space_options *o, ferry_goal goal);

/* ---- rows in the space: all of them, on every process ---- */

typedef struct placed {
    block z; /* n x dimensions */
    labels y;
    const uint64_t *key;
} placed;
placed placed_rows(scope *s, const domain *d, block z);
/* Labels of the rows of all processes; those where known[] is 0 as if there were none; how many there are. */
labels replicate_labels(scope *s, layout rows, int64_t n, const labels *y);
labels known_labels_of(scope *s, int64_t n, const labels *y, const uint8_t *known);
int64_t count_known(int64_t n, const labels *y);
/* The target has a class that the source lacks. (One that only the source shows may be one of which no target label is
 * visible.) */
bool labels_differ(const placed *from, const placed *to);
/* Numbers into g groups of equal size by rank, the key deciding between equal ones; NaN to none (-1). */
int32_t *quantile_groups(scope *s, int64_t n, const double *y, const uint64_t *key,
                         int64_t g);

/* ---- what is learned ---- */

typedef struct space_model {
    learned own;    /* on the target's own features; by NULL: no target labels */
    learned mapped; /* on the space; by NULL: not used */
    int64_t labels; /* 2 classes, where outputs are translated */
    block pyv;      /* p(y|v); at NULL: labels of the source mean what they are called */
    double gamma;   /* share of the mapped prediction */
} space_model;
extern const table space_table;

/* The target alone. */
learned learn_own(scope *s, scope *keep, const space_options *o, const examples *e);
/* On the places of both; translate: source labels as what a target learner calls them. False: nothing to learn from.
 * line (2): a source number v counts as line[0] + line[1] v. */
bool learn_mapped(scope *s, scope *keep, const space_options *o, const placed *from,
                  const placed *to, bool translate, space_model *m, double *line);
/* Shares of k classes, or numbers, of one of the two. */
block learned_shares(scope *s, const learned *m, matrix x, int64_t k);
block mapped_shares(scope *s, const space_model *m, matrix z, int64_t k);
/* out <- (1 - gamma) own + gamma mapped of the rows of d; z: their places, not looked at where gamma is 0. */
void space_scores(scope *s, const space_model *m, const domain *d, matrix z, block out);

/* Diagnostic "scatter": the first two dimensions of up to 500 rows of both. */
void report_places(scope *s, const placed *from, const placed *to);

/* ---- its formulas, for tests ---- */

/* (5.20): p(y|v) is the mean of p(y|s) over the rows with label v (-1: not known); uniform for a label without rows. */
void label_meanings(block pys, const int32_t *v, block out);
/* (5.19): p(y|x) = sum_v p(v|x) p(y|v). */
void translate_labels(block pvx, block pyv, block pyx);
/* y = a + c v by least squares over the rows with finite v; c = 0 where v is constant. */
void translate_numbers(int64_t n, const double *v, block y, double *a, double *c);

#endif
