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
 * How a method uses it:
 *
 *   static const ferry_opt opts[] = {FERRY_OPT_SCALE(my_options), ...};     (int scale)
 *   const ferry_wants w = {.method = "mine", .domains = FERRY_SOURCES | FERRY_THE_TARGET,
 *                          .layout = FERRY_JOINED, .scale = o->scale, .shared = true,
 *                          .taught = true};
 *   fits:     return ferry_i_prepare_fits(ctx, task, &w);       (a sentence when it cannot)
 *   fit:      FERRY_TRY(ferry_i_prepare(ctx, task, &w, &m->prepared));
 *             for each of m->prepared->rows[0 .. n_rows): x[0], cls, n, ... (target last)
 *   predict:  FERRY_TRY(ferry_i_prepare_rows(ctx, m->prepared, domain, &rows));
 *             rows.x[0] is rows.n x ferry_i_prepared_width(), rows.instance where they go
 *   file:     ferry_i_prepared_file(io, &m->prepared)
 *   free:     ferry_i_rows_clear(&rows), ferry_i_prepared_free(m->prepared)
 *
 * Once the rows are not needed any more, ferry_i_prepared_forget() keeps only what
 * predicting needs. */
#ifndef FERRY_PREPARE_H
#define FERRY_PREPARE_H

#include "learn/scale.h"
#include "model/io.h"
#include "prepare/links.h"
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
     * data comes in the target's columns alone (ferry_i_prepared_column). */
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
    bool shared;   /* JOINED: only columns that some delivered source has, too; sources that
                      share none with the target are left out, FERRY_ENEEDS if all are */
    bool taught;   /* sources without labels are left out, FERRY_ENEEDS if all are */
    bool labelled; /* only instances with labels, in every domain */
    bool every;    /* all instances, also those without features (rows of 0) */
    bool
        lend; /* JOINED, one view, one domain: where only a shift and a factor would change the values these stay as
                      they are, mostly without a copy (ferry_rows.factor) */
    bool keeps;  /* rows become part of the model: nothing of them is lent by the caller */
    bool embeds; /* APART: new data may be rows of the sources, whose first views follow
                      the target's in the model (ferry_method.embeds_sources) */
} ferry_wants;

/* ---- what it gets ---- */

/* One domain, ready. */
typedef struct ferry_rows {
    const ferry_domain *domain; /* borrowed */
    int64_t n, labelled;        /* rows; of these with a label */
    int64_t
        whole; /* these are one rank's of so many rows (labelled is of all); 0: all there are */
    int64_t *instance; /* n: places in the domain */
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
} ferry_rows;
void ferry_i_rows_clear(ferry_rows *r);

/* One kind of features: views of several domains that are the same thing. */
typedef struct ferry_space {
    const char *name;    /* of its view, in the target if it is there; borrowed */
    int64_t begin, cols; /* PATH: where its columns stand */
    ferry_ids *features; /* names, or NULL */
    ferry_scaler *scale; /* NULL: not asked for */
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
    ferry_links *links;
} ferry_prepared;

/* FERRY_ENEEDS with a sentence when the task does not have what is wanted; reads no
 * values. */
ferry_status ferry_i_prepare_fits(ferry_ctx *ctx, const ferry_task *task,
                                  const ferry_wants *w);
/* The whole of it, from a resolved task. Leaves the diagnostics "scale" (of the target's
 * views) and "links". Cost: a few passes over all cells that are not 0, and a copy of the
 * rows that are delivered, unless there is nothing to be done to them. */
ferry_status ferry_i_prepare(ferry_ctx *ctx, const ferry_task *task, const ferry_wants *w,
                             ferry_prepared **out);
/* New data whose views are those of the model (as ferry_method.predict gets them). out is
 * cleared by the caller in any case. */
ferry_status ferry_i_prepare_rows(ferry_ctx *ctx, const ferry_prepared *p,
                                  const ferry_domain *new_data, ferry_rows *out);
/* The same in fit: where rows are spread over ranks, those of this one. */
ferry_status ferry_i_prepare_part(ferry_ctx *ctx, const ferry_prepared *p,
                                  const ferry_domain *d, ferry_rows *out);
/* The same with `lend`; d is a domain that the scale was learned from. */
ferry_status ferry_i_prepare_part_lent(ferry_ctx *ctx, const ferry_prepared *p,
                                       const ferry_domain *d, ferry_rows *out);
/* Rows and labels of all domains on top of each other (JOINED), moved out of p. */
ferry_status ferry_i_prepared_stack(ferry_ctx *ctx, ferry_prepared *p, ferry_rows *out);
/* Let the rows, spaces and links go. */
void ferry_i_prepared_forget(ferry_prepared *p);
void ferry_i_prepared_free(ferry_prepared *p);

/* Columns of new data (JOINED and PATH). */
int64_t ferry_i_prepared_width(const ferry_prepared *p);
/* PATH: column j of new data in the numbering of all columns. */
int64_t ferry_i_prepared_column(const ferry_prepared *p, int64_t j);
/* The last of the rows, when the target is wanted. */
const ferry_rows *ferry_i_prepared_target(const ferry_prepared *p);
/* "bridge.x = source.x by 60 feature names; ...", for people. */
const char *ferry_i_prepared_links(const ferry_prepared *p);

/* Saves it, or makes one that knows only new data, every size checked as a stranger's. */
void ferry_i_prepared_file(ferry_io *io, ferry_prepared **p);
/* Under another name than "prepare", for a model that has two. */
void ferry_i_prepared_file_as(ferry_io *io, const char *name, ferry_prepared **p);

#endif
