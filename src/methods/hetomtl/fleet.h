/* Mode ferry of hetomtl, the fleet: six experts on the target's rows, mixed by logistic regression.
 *
 * Maps of a row x: r = sign(x) sqrt|x|; u = x / |x|; s = r / |r|; q = unit((r - mean) /
 * max(sd, a tenth of the average sd)), over all rows seen, refreshed when their number has
 * doubled, frozen once the basis is full. Sparse rows are not centred, to stay sparse.
 *
 *   ur sr qr  ridge with kernel exp(-|a - b|^2 / h) on u, s, q; h the median squared distance
 *             of the offline rows (learn/kridge.h: exact up to `basis` labels, then bounded)
 *   s         ridge with kernel a'b + 0.1 on s
 *   ncm       cosine of s to the sum of each class
 *   pavg      averaged passive-aggressive learning on u
 *
 * Mixer: F_e = an expert's scores centred, of unit length; p = softmax(sum_e w_e F_e). With a
 * label: g = F p - F_y, H <- 0.99 H + 0.01 I + sum_c p_c (F_c - F p)(F_c - F p)', w <-
 * max(0, w - H^-1 g): a Newton step on the log loss that forgets. A late label uses the
 * scores noted when the row was seen.
 *
 * Drift: a sentinel outside the mix, sr on the newest 100 labels alone. Once the mixture's
 * mistakes among them have surely become more from some label on (two rates explain them by 8
 * units of log likelihood better than one), the sentinel learns from what came since alone,
 * and only that counts: older labels may hold no longer. When the mixture has made at least
 * 10 mistakes more than the sentinel, and three deviations of a fair coin more, everything
 * begins again from the rows after the change. Both are judged by what they say when the label
 * comes: with late labels what they said earlier would tell of a change too late.
 *
 * The sources give nothing (docs/methods/hetomtl.md) and are not looked at.
 *
 * Files: fleet.c maps, scores, learning; fleet_start.c beginnings; fleet_rows.c rows and
 * their products; fleet_file.c the file. */
#ifndef FERRY_FLEET_H
#define FERRY_FLEET_H

#include "learn/kridge.h"
#include "linalg/ridges.h"
#include "methods/shared/online.h"

enum { FLEET_UR, FLEET_SR, FLEET_QR, FLEET_S, FLEET_NCM, FLEET_PAVG, FLEET };
enum { FLEET_RIDGES = 4, FLEET_MAPS = 3, FLEET_NEW = 100, FLEET_MORE = 8 };
enum { FLEET_LEAST = 10, FLEET_BOTH = 2 }; /* labels to begin again from; see `past` */
enum { FLEET_BASIS = 5000 };               /* the largest basis */
enum { FLEET_SURE = 8 }; /* units of log likelihood that mistakes have become more */
extern const char *const ferry_i_fleet_names[FLEET];

/* A labelled row; the basis and the newest rows share it. Dense rows have no index. Only s is
 * kept, as floats; with S = |r|^2 = sum |x_j| and R = |r|,
 *   u = (S / |x|) s |s|,   q = ((R s - mean) / sd) / |(R s - mean) / sd|. */
typedef struct fleet_row {
    int64_t refs, n;
    int32_t cls;
    int32_t *index;
    float *s;
    double size, u, q;      /* R, S / |x|, 1 / |(R s - mean) / sd| */
    double one[FLEET_MAPS]; /* squared lengths of u, s, q: 1, or 0 of a row of zeros */
} fleet_row;

/* What one look needs, and what it found. */
typedef struct fleet_room {
    ferry_scale_room raw;
    fleet_row row;            /* the row, in memory of the room */
    float *asked[FLEET_MAPS]; /* d each, what the products of u, s, q are made with */
    double w_size, w_mean;    /* of the last: the sum behind q is w_size R b'w - w_mean */
    double *last;             /* d: the row that gram, l, f and near are of, if `valid` */
    bool valid;
    const float **rows; /* m or FLEET_NEW: for the products */
    double *dots;       /* as many x 3 */
    double *value;      /* 2 d: u and s as doubles, their indices the row's */
    double *gram;       /* FLEET_MAPS x m: products with the basis */
    double *near;       /* FLEET_NEW: products of s with the newest rows */
    double *l;          /* FLEET_RIDGES x m, as ferry_i_kridge_scores() leaves it */
    double *f;          /* FLEET x k */
    int64_t k;          /* room in f */
} fleet_room;

typedef struct fleet {
    online_input in; /* fills missing cells, scales nothing */
    bool sparse;
    int64_t k, d, m, n, n0; /* classes, features; basis: rows at most, rows, first ones */
    moments z;              /* of r, over all rows seen */
    double *mean, *sd;      /* of q, frozen; d each */
    double *by;             /* 1 / sd^2 */
    int64_t next;           /* refresh them when so many rows were seen */
    fleet_row **basis;
    ferry_kridge ridge[FLEET_RIDGES];
    double h[FLEET_MAPS]; /* bandwidths */
    double *work, *warm;  /* scratch: m x m; FLEET_RIDGES m + FLEET + 1 a class */
    double *sum, *length; /* k x d: sums of s by class; k: how long they are */
    ferry_pa *pa;
    double w[FLEET], hess[FLEET * FLEET];
    /* the sentinel */
    fleet_row *ring[FLEET_NEW]; /* newest labels, the oldest first */
    int64_t n_ring, n_past, alarms, votes;
    /* mixture wrong - sentinel wrong, FLEET_BOTH where both are; the oldest first */
    int64_t past[FLEET_NEW];
    double nlogn[FLEET_NEW + 1]; /* n log n */
    double *young, *alpha;       /* kernels of the ring, sr's; k x FLEET_NEW coefficients */
    fleet_room room;             /* of the stream */
} fleet;

/* ---- rows (fleet_rows.c) ---- */

ferry_status ferry_i_fleet_room(ferry_ctx *ctx, const fleet *f, fleet_room *room);
void ferry_i_fleet_room_clear(fleet_room *room);
/* room->row <- a row without missing cells. */
void ferry_i_fleet_map(const fleet *f, const ferry_row *x, fleet_room *room);
/* q and `one` of a row from its s, size and u. */
void ferry_i_fleet_lengths(const fleet *f, fleet_row *r);
/* A new row with room for n entries: a copy of `from`, or of zeros (NULL). */
ferry_status ferry_i_fleet_row_new(ferry_ctx *ctx, const fleet *f, int64_t n,
                                   const fleet_row *from, fleet_row **out);
void ferry_i_fleet_drop(fleet_row *r);
/* Products of row r: ask for it, then for its u, s and q with n others, out (FLEET_MAPS rows,
 * ld apart), or its s alone, and have done with it. */
void ferry_i_fleet_ask_for(const fleet *f, const fleet_row *r, fleet_room *room);
void ferry_i_fleet_products(const fleet *f, const fleet_row *r, fleet_room *room, int64_t n,
                            fleet_row *const *others, int64_t ld, double *out);
void ferry_i_fleet_near(const fleet *f, fleet_room *room, int64_t n,
                        fleet_row *const *others, double *out);
void ferry_i_fleet_asked(const fleet *f, const fleet_row *r, fleet_room *room);
/* A row was seen: r counts for the means and deviations. value is scratch, d. */
void ferry_i_fleet_watch(fleet *f, const fleet_row *r, double *value);

/* ---- beginnings (fleet_start.c) ---- */

/* Empty, for k classes and a basis of m rows; f->in, d and sparse are set. */
ferry_status ferry_i_fleet_new(ferry_ctx *ctx, int64_t k, int64_t m, fleet *f);
void ferry_i_fleet_clear(fleet *f);
ferry_status ferry_i_fleet_classes(ferry_ctx *ctx, fleet *f, int64_t k);
/* Begin anew with the n <= m rows of the basis; count: means and deviations too. */
void ferry_i_fleet_start(fleet *f, bool count);
/* The means and deviations of q are new ones: what follows from them. */
void ferry_i_fleet_scaled(fleet *f);
/* Refresh q's means and deviations, and its ridge with them. */
void ferry_i_fleet_refresh(fleet *f);
/* r becomes the newest row, and the sentinel knows it. near: products of its s with the ring's
 * rows, or NULL. */
void ferry_i_fleet_newest(fleet *f, fleet_row *r, const double *near);
/* The kernels of the ring, and the sentinel's coefficients. */
void ferry_i_fleet_ring(fleet *f);
/* Begin anew with the newest rows, `since` of them. */
void ferry_i_fleet_again(fleet *f, int64_t since);

/* ---- working (fleet.c) ---- */

/* k(a, b) of ridge e from their product and squared lengths. */
double ferry_i_fleet_kernel(const fleet *f, int e, double product, double one,
                            double other);
/* total (k) <- mixed scores of a row as it comes; room->f <- the experts'. */
void ferry_i_fleet_look(const fleet *f, const ferry_row *x, fleet_room *room,
                        double *total);
/* Centred, of unit length; zero stays. */
void ferry_i_fleet_unit(int64_t k, double *f);
/* A step of the mixer from scores F (FLEET x k, each of unit length). */
void ferry_i_fleet_mix(fleet *f, const double *scores, int32_t y);
/* A step of ncm and pavg. */
void ferry_i_fleet_linear(fleet *f, const fleet_row *r, double *value, int32_t y);
/* How long the sum of a class is. */
void ferry_i_fleet_length(fleet *f, int64_t c);
/* Add the room's row, whose l is there, to the ridges; `row` becomes part of the basis. */
void ferry_i_fleet_add(fleet *f, const fleet_room *room, fleet_row *row);
void ferry_i_fleet_ask(const fleet *f, fleet_room *room);
/* See a row and learn its label, as ferry_online has it. */
ferry_status ferry_i_fleet_see(ferry_ctx *ctx, fleet *f, const ferry_row *x, int64_t k,
                               double *score, int32_t *votes);
ferry_status ferry_i_fleet_learn(ferry_ctx *ctx, fleet *f, const ferry_row *x, int32_t y,
                                 const int32_t *votes);
/* How many of the newest labels the sentinel learns from: all, or those since the mixture
 * surely errs more often. */
int64_t ferry_i_fleet_since(const fleet *f);
void ferry_i_fleet_file(ferry_io *io, fleet *f); /* fleet_file.c */

#endif
