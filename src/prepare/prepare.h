/* Prepare: the one way from a task to numbers, for every method and baseline alike.
 *
 * A task has domains, these have views, and views are files: with columns in some order,
 * missing cells, counts or shares or centimetres, stored dense or sparse. A method wants
 * matrices in which a column means the same in every domain and values that a learner can
 * work with, the labels that it may see row by row, and the same done to new data when it
 * predicts. That is what is made here:
 *
 *   which views are the same thing  links.h
 *   columns                         the union over the domains that have the view: by name
 *                                   where all have names, else by number; the target's first
 *   missing cells, scaling          learn/scale.h, learned from all rows of all domains of
 *                                   the task that have the view, whatever is delivered:
 *                                   every method gets the same numbers
 *   dense or CSR                    by how many cells are not 0, and by nothing else, so
 *                                   that no method can know how a file stored them
 *   labels                          by row and goal
 *   saving                          what is needed to do it again, in the model's dict
 *
 * Methods see it as a problem (prepare/problem.h). All of it lives in a scope; a model keeps how new data is read
 * (prepared_keep). */
#ifndef FERRY_PREPARE_H
#define FERRY_PREPARE_H

#include "learn/scale.h"
#include "prepare/links.h"
#include "state/dict.h"
#include "task/task.h"

/* ---- what a method asks for ---- */

/* Bits of ferry_wants.domains. A bridge is an intermediate domain. */
enum { FERRY_SOURCES = 1, FERRY_BRIDGES = 2, FERRY_THE_TARGET = 4 };

typedef enum ferry_layout {
    /* Views side by side, in the target's columns: one matrix a domain. A domain that lacks
     * a column or a view has 0 there (which is the mean where values are centred). */
    FERRY_JOINED,
    /* One matrix for each view of the domain, in the view's own columns. */
    FERRY_APART,
    /* One numbering of all columns of all domains: space[s].begin + column. Always CSR;
     * what a domain does not have is not stored. All instances of a domain are rows. New
     * data comes in the target's columns alone (prepared_column). */
    FERRY_PATH
} ferry_layout;

/* For methods that read values as amounts (mixtures of words, non-negative factors). */
typedef enum ferry_positive {
    FERRY_ANY_SIGN,
    FERRY_PLAIN_ROOTS, /* roots are not centred */
    FERRY_POSITIVE     /* and auto takes roots for standard and common where it can: nothing
                          below 0 comes out unless it went in, or the user chose so */
} ferry_positive;

typedef struct ferry_wants {
    const char *method; /* begins messages */
    unsigned domains;   /* whose rows are delivered: FERRY_SOURCES | ... */
    ferry_layout layout;
    int scale;    /* ferry_scale, the user's option */
    bool missing; /* missing cells stay NaN, for trees (dense: also what a domain lacks) */
    bool shift;   /* centring is not applied but returned (ferry_rows.shift), as it is for
                      CSR in any case */
    ferry_positive positive;
    bool
        published; /* where scale is none: that is the method as published, not the user's choice */
    bool shared; /* JOINED: only columns that some delivered source has, too; sources that
                      share none with the target are left out, FERRY_ENEEDS if all are */
    bool
        labelled_sources; /* sources without labels are left out, FERRY_ENEEDS if all are */
    bool labelled;        /* only instances with labels, in every domain */
    bool every;           /* all instances, also those without features (rows of 0) */
    bool
        borrow; /* JOINED, one view, one domain: where only a shift and a factor would change the values these stay as
                      they are, mostly without a copy (ferry_rows.factor) */
    bool
        keeps; /* rows become part of the model: nothing of them is borrowed from the caller */
    bool full; /* PATH: dense where the values are and fill at least half of the columns */
    bool embeds; /* APART: new data may be rows of the sources, whose first views follow
                      the target's in the model (ferry_method.embeds_sources) */
} ferry_wants;

/* ---- what it gets ---- */

/* One domain, ready. */
typedef struct ferry_rows {
    const ferry_domain *domain; /* borrowed */
    int64_t n, labelled;        /* rows; of these with a label */
    layout of;                  /* which rows of how many these are (labelled is of all) */
    int64_t *instance;          /* n: places in the domain */
    int64_t n_x;
    ferry_matrix **x; /* one, or (APART) one a view; n rows each */
    double **shift;   /* one a matrix: what centring would still take off each column, for
                         rows that are there; NULL: nothing */
    double *
        factor; /* of x[0], where its values are as they were: the prepared values are x_ij factor_j - shift_j; NULL: x itself,
                         less the shift */
    uint8_t **there; /* one a matrix: n, whether the instance has a row; NULL: all have */
    uint8_t *has;    /* one a space: whether the domain has such a view; not for new data */
    /* by goal, NULL for new data: class (-1: hidden), number (NaN), n x k of 0, 1 (255) */
    int32_t *cls;
    double *num;
    uint8_t *on;
    double *weight; /* n; NULL: 1, also for new data */
} ferry_rows;

/* One kind of features: views of several domains that are the same thing. */
typedef struct ferry_space {
    const char *name;          /* of its view, in the target if it is there; borrowed */
    int64_t begin, cols;       /* PATH: where its columns stand */
    ferry_ids *features;       /* names, or NULL */
    const ferry_scaler *scale; /* NULL: not asked for */
    bool forced;               /* roots for the method's sake, not by the rule */
    ferry_scale_facts facts;
} ferry_space;

/* A view as new data brings it. All that is saved is here. */
typedef struct ferry_frame {
    int64_t width;       /* its columns */
    int64_t begin, cols; /* where they go, and how many */
    int32_t *map;        /* width: column - begin, or -1: left out; NULL: all, in order */
    ferry_scaler *scale; /* in the view's own columns */
} ferry_frame;

typedef struct ferry_prepared {
    ferry_wants wants; /* method: until it is saved */
    ferry_goal goal;
    int64_t k; /* classes or labels; 1 for numbers */
    /* sources, intermediate domains, target, in the order of the task; those wanted */
    int64_t n_sources, n_rows;
    ferry_rows *rows;
    /* those of the target's views first, in their order */
    int64_t n_spaces, cols; /* cols: of all of them */
    ferry_space *space;
    int64_t n_frames; /* the target's views (and, `embeds`, the sources' first) */
    ferry_frame *frame;
    bool dense; /* JOINED: how x is stored */
    const ferry_links *links;
} ferry_prepared;

/* ---- a task whose columns are lined up once, for all methods ---- */

typedef struct ferry_split {
    const ferry_task *task;      /* resolved; borrowed */
    struct ferry_lineup *lineup; /* NULL until somebody asks */
    scope *keep;                 /* of what is prepared */
} ferry_split;
/* For this scope's use alone. */
ferry_split *split_of(scope *s, const ferry_task *task);
const struct ferry_lineup *split_lineup(scope *s, ferry_split *split);

/* Fails with a sentence (FERRY_ENEEDS) when the task does not have what is wanted; reads no
 * values. */
void prepare_fits(scope *s, ferry_split *split, const ferry_wants *w);
/* The whole of it, as long as the split. Leaves the diagnostics "scale" (of the target's views) and "links". Cost: a
 * few passes over all cells that are not 0, and a copy of the rows that are delivered, unless
 * there is nothing to be done to them. */
ferry_prepared *prepare(scope *s, ferry_split *split, const ferry_wants *w);
/* What new data needs of it, for a model: the columns of views, no rows, spaces nor links. */
ferry_prepared *prepared_keep(scope *keep, const ferry_prepared *p);

/* New data whose views are those of the model. spread: where rows are spread over processes, those of this one;
 * borrow: as in ferry_wants, d being a domain that the scale was learned from. */
ferry_rows prepare_rows(scope *s, const ferry_prepared *p, const ferry_domain *d,
                        bool spread, bool borrow);

/* Columns of new data (JOINED and PATH). */
int64_t prepared_width(const ferry_prepared *p);
/* PATH: column j of new data in the numbering of all columns. */
int64_t prepared_column(const ferry_prepared *p, int64_t j);
/* The last of the rows, when the target is wanted. */
const ferry_rows *prepared_target(const ferry_prepared *p);

/* Its tensors begin with the name. What is loaded knows only new data, and every size is checked as of an untrusted
 * file. */
void prepared_save(scope *s, const ferry_prepared *p, const char *name, ferry_dict *to);
ferry_prepared *prepared_load(scope *s, scope *keep, const char *name,
                              const ferry_dict *from);

#endif
