/* HetOMTL-CDSPP: rows of a target arrive one by one and want a class at once; labels
 * follow late or never. Several sources in feature spaces of their own have labels from
 * the start. (Heterogeneous Online Multi-Source Transfer Learning with Cross-Domain
 * Structure Preserving Projection, 2023.)
 *
 * mode paper  algorithm 1 as published, misprints corrected: a projection and a learner
 * for
 *             each source, a learner of the target, a hedge over each pair and a hedge over
 *             the pairs. It is shared with OMTL-MC: methods/shared/hedge.h has the problem
 *             and the formulas, learn/cdspp.h the projection, learn/pa.h the learner.
 * mode ferry  six experts on the target, four of them ridges with a bounded basis, a mixer
 *             and a sentinel for drift (fleet.h): what the projection takes from a source are
 *             its class counts alone (Pt spans the same space for every source with these
 *             counts, a source of noise included). Better than the published method on each
 *             of ten streams (docs/methods/hetomtl.md).
 * mode experts  four linear experts under one hedge: more mistakes, at a sixth of the cost.
 *
 * Those of mode experts (experts.c), with fixed share (Herbster and Warmuth,
 * Tracking the best expert, 1998):
 *
 *   pa       passive-aggressive on rows of unit length
 *   average  the average of its weights after each sample
 *   causal   passive-aggressive on rows scaled by the means and deviations so far
 *   codes    class codes, solved again as labels accumulate (codes.c)
 *
 *   F = sum_e w_e f_e, each f_e centred and of unit length. When the label comes:
 *   w_e *= rate^[argmax f_e != y], scaled to sum 1, then w_e = (1 - share) w_e + share p_e,
 *   where p is what the weights start from: a third for pa and average together, causal,
 *   codes.
 *
 * Files: hetomtl.c options, fit, descriptor; solve.c the offline part of modes experts and
 * ferry; rounds.c the stream; model.c predictions and the file. */
#ifndef FERRY_HETOMTL_H
#define FERRY_HETOMTL_H

#include "methods/hetomtl/fleet.h"
#include "methods/shared/hedge.h"

typedef struct hetomtl_options {
    hedge_options hedge; /* first: HEDGE_OPTS counts from here */
    int mode;
    double rate, share, grow;
    int64_t keep, basis;
} hetomtl_options;

/* ---- class codes (codes.c) ---- */

/* What CDSPP's projection of the target comes to. With unit rows X (n x d) of classes y,
 * counts c_k and o_k (of the sources), b_k = c_k + o_k / 2, L^-1 = diag(1 / b) + Y
 * diag(2 / (b_k o_k)) Y' and M = X X' + alpha L^-1:
 *
 *   f(x) = Y' M^-1 X x,
 *
 * ridge-regressed class codes (Pt of CDSPP spans the same space). alpha is chosen by
 * leaving each row out, exactly, from one inverse: with H = X X' M^-1
 *
 *   f_-i = (H Y)_i - H_ii (M^-1 Y)_i / (M^-1)_ii.
 *
 * (The textbook residual (M^-1 Y)_i / (M^-1)_ii would leak the label: L^-1 couples a
 * class.) Solving costs O(n^2 d + n^3) for each of five alphas, n <= 3 keep: labels must
 * have grown by `grow` before it is done again, so the cost per label is bounded. */
enum { CODES_MOST = 100000 }; /* rows that may be kept of each kind */

typedef struct codes_row {
    ferry_matrix *x; /* one row */
    int32_t cls;
} codes_row;

/* Owned by the experts. offline and ring hold copies. */
typedef struct codes {
    int64_t k, d;
    bool sparse;          /* rows are kept sparse, or dense */
    double *o;            /* k: counts of the sources; 0: as many as here */
    double *v;            /* k x d: f(x) = V x */
    double alpha;         /* of v */
    double grow;          /* solve again when labels have grown by this factor */
    int64_t labels, next; /* labels so far; solve at so many */
    codes_row *offline;   /* kept for good */
    int64_t n_offline;
    codes_row *ring; /* the newest `keep` of the stream; the oldest at `first` */
    int64_t keep, n_ring, first;
} codes;

/* new: k classes, V = 0, no row. classes: room for k, never fewer. clear: fine after a
 * failure of new. Cost of a solution: five times O(n^3) besides O(n^2 d). */
ferry_status ferry_i_codes_new(ferry_ctx *ctx, int64_t k, int64_t d, bool sparse,
                               int64_t keep, double grow, codes *out);
void ferry_i_codes_clear(codes *c);
ferry_status ferry_i_codes_classes(ferry_ctx *ctx, codes *c, int64_t k);
/* Add a row of the offline part; x has unit length. */
ferry_status ferry_i_codes_offline(ferry_ctx *ctx, codes *c, const ferry_row *x,
                                   int32_t cls);
/* Solve with this alpha (0: leave one out decides). */
ferry_status ferry_i_codes_solve(ferry_ctx *ctx, codes *c, double alpha);

/* Learn in two steps: prepare may fail and changes nothing; commit cannot. */
typedef struct codes_step {
    codes_row row;
    double *v; /* NULL: not solved again */
    double alpha;
} codes_step;
ferry_status ferry_i_codes_prepare(ferry_ctx *ctx, codes *c, const ferry_row *x,
                                   int32_t cls, codes_step *step);
void ferry_i_codes_commit(codes *c, codes_step *step);
void ferry_i_codes_drop(codes_step *step);

void ferry_i_codes_file(ferry_io *io, int64_t k, int64_t d, codes *c);

/* ---- experts (experts.c) ---- */

enum { EXPERT_PA, EXPERT_AVERAGE, EXPERT_CAUSAL, EXPERT_CODES, EXPERTS };
extern const char *const ferry_i_expert_names[EXPERTS];

/* What one look needs. */
typedef struct experts_room {
    double *f;            /* EXPERTS x k: the experts' scores */
    double *x;            /* 2 d: the row of unit length, and scaled causally */
    ferry_scale_room raw; /* the row without missing cells */
} experts_room;

/* All of mode experts' state; saved but for the room. */
typedef struct experts {
    int64_t k, d;
    online_input in; /* fills missing cells, scales nothing */
    ferry_pa *pa, *causal;
    moments z;
    codes codes;
    double w[EXPERTS], rate, share;
    experts_room room; /* of the stream */
} experts;

/* k classes, all weights as they start; e->in is set, codes are not. */
ferry_status ferry_i_experts_new(ferry_ctx *ctx, int64_t k, const hetomtl_options *o,
                                 experts *e);
void ferry_i_experts_clear(experts *e);
ferry_status ferry_i_experts_room(ferry_ctx *ctx, const experts *e, experts_room *room);
void ferry_i_experts_room_clear(experts_room *room);
ferry_status ferry_i_experts_classes(ferry_ctx *ctx, experts *e, int64_t k);
/* In all that follows x is a row as it comes, with its missing cells; _offline: one that
 * the preparation has made already.
 *
 * total (k) <- F, room->f <- the experts' scores. */
void ferry_i_experts_look(const experts *e, const ferry_row *x, const experts_room *room,
                          double *total);
/* A row that was seen: counts for the means and deviations. */
void ferry_i_experts_watch(experts *e, const ferry_row *x);
void ferry_i_experts_watch_offline(experts *e, const ferry_row *raw);
/* votes: EXPERTS classes, or NULL. Nothing changes when it fails. */
ferry_status ferry_i_experts_learn(ferry_ctx *ctx, experts *e, const ferry_row *x,
                                   int32_t y, const int32_t *votes);
/* One PA step of both learners, nothing else: the offline part. The row of unit length is
 * lent until the next call. */
ferry_row ferry_i_experts_step_offline(experts *e, const ferry_row *raw, int32_t y);

void ferry_i_experts_file(ferry_io *io, experts *e);

/* ---- the method ---- */

enum { MODE_EXPERTS, MODE_PAPER, MODE_FERRY }; /* as the file has them */

/* One of the three is in use. */
typedef struct hetomtl {
    int mode;
    hedge_model *paper;
    experts e;
    fleet f;
} hetomtl;

/* Mode ferry's offline part (solve.c): the fleet begins with the target's labelled rows. */
ferry_status ferry_i_hetomtl_fleet(ferry_ctx *ctx, const ferry_task *task,
                                   const hetomtl_options *o, fleet *f, bool *finish);
/* Mode experts' (solve.c): a PA pass over the target's labelled rows, class codes from them
 * and the class counts of the sources. */
ferry_status ferry_i_hetomtl_solve(ferry_ctx *ctx, const ferry_task *task,
                                   const hetomtl_options *o, experts *e, bool *finish);
extern const ferry_online ferry_i_hetomtl_rounds; /* rounds.c */
/* model.c */
void ferry_i_hetomtl_free(void *state);
ferry_status ferry_i_hetomtl_predict(ferry_ctx *ctx, const void *state,
                                     const ferry_domain *d, ferry_prediction *p);
void ferry_i_hetomtl_file(ferry_io *io, void *state);

#endif
