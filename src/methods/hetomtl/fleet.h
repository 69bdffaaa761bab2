/* Mode fleet of hetomtl: six experts on the target's rows, mixed by logistic regression.
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
 * Drift: a sentinel outside the mix, sr on the newest 100 labels alone. When the mixture has
 * made at least 10 mistakes more than it over the last 100 labels, and three deviations of a
 * fair coin more, everything begins again from those 100 rows.
 *
 * The sources give nothing (docs/methods/hetomtl.md) and are not looked at.
 *
 * Files: fleet.c maps, scores, learning; fleet_start.c beginnings; fleet_rows.c rows and
 * their products; fleet_file.c the file. */
#ifndef FERRY_FLEET_H
#define FERRY_FLEET_H

#include "learn/kridge.h"
#include "methods/shared/online.h"

enum { FLEET_UR, FLEET_SR, FLEET_QR, FLEET_S, FLEET_NCM, FLEET_PAVG, FLEET };
enum { FLEET_RIDGES = 4, FLEET_MAPS = 3, FLEET_NEW = 100, FLEET_MORE = 8 };
enum { FLEET_BASIS = 5000 }; /* the largest basis */
extern const char *const ferry_i_fleet_names[FLEET];

/* A labelled row; the basis and the newest rows share it. Dense rows have no index. */
typedef struct fleet_row {
    int64_t refs, n;
    int32_t cls;
    int32_t *index;
    float *map[FLEET_MAPS]; /* u, s, q: n each; one piece of memory */
    double one[FLEET_MAPS]; /* their squared lengths: 1, or 0 of a row of zeros */
    double norm;            /* |x| */
} fleet_row;

/* What one look needs, and what it found. */
typedef struct fleet_room {
    ferry_scale_room raw;
    fleet_row row;           /* the row's maps, in memory of the room */
    float *wide[FLEET_MAPS]; /* sparse: the same, all d of each */
    float *last;             /* u of the row that gram and l are of, if `valid` */
    double last_norm;
    bool valid;
    double *value; /* 2 d: u and s as doubles, their indices the row's */
    double *gram;  /* FLEET_MAPS x m: products with the basis */
    double *l;     /* FLEET_RIDGES x m, as ferry_i_kridge_scores() leaves it */
    double *f;     /* FLEET x k */
    int64_t k;     /* room in f */
} fleet_room;

typedef struct fleet {
    online_input in; /* fills missing cells, scales nothing */
    bool sparse;
    int64_t k, d, m, n, n0; /* classes, features; basis: rows at most, rows, first ones */
    moments z;              /* of r, over all rows seen */
    double *mean, *sd;      /* of q, frozen; d each */
    int64_t next;           /* refresh them when so many rows were seen */
    fleet_row **basis;
    ferry_kridge ridge[FLEET_RIDGES];
    double h[FLEET_MAPS]; /* bandwidths */
    double *work, *warm;  /* scratch: m x m; FLEET_RIDGES m + FLEET + 1 a class */
    double *sum;          /* k x d: sums of s by class */
    ferry_pa *pa;
    double w[FLEET], hess[FLEET * FLEET];
    /* the sentinel */
    fleet_row *ring[FLEET_NEW]; /* newest labels, the oldest first */
    int64_t n_ring, n_past, alarms, votes;
    int64_t past[FLEET_NEW]; /* mixture wrong - sentinel wrong, the oldest first */
    double *young, *alpha;   /* kernels of the ring; k x FLEET_NEW coefficients */
    fleet_room room;         /* of the stream */
} fleet;

/* ---- rows (fleet_rows.c) ---- */

ferry_status ferry_i_fleet_room(ferry_ctx *ctx, const fleet *f, fleet_room *room);
void ferry_i_fleet_room_clear(fleet_room *room);
/* room->row <- the maps of a row without missing cells. */
void ferry_i_fleet_map(const fleet *f, const ferry_row *x, fleet_room *room);
/* s and q of a row from its u and norm. */
void ferry_i_fleet_maps(const fleet *f, fleet_row *r);
/* A new row with room for n entries, of which it has index and u, or neither (NULL). */
ferry_status ferry_i_fleet_row_new(ferry_ctx *ctx, const fleet *f, int64_t n,
                                   const int32_t *index, const float *u, fleet_row **out);
void ferry_i_fleet_drop(fleet_row *r);
/* Products of a map: of the room's row with another, of two rows. */
double ferry_i_fleet_with(const fleet_room *room, const fleet_row *r, int map);
double ferry_i_fleet_between(const fleet_row *a, const fleet_row *b, int map);
/* A row was seen: r counts for the means and deviations. value is scratch, d. */
void ferry_i_fleet_watch(fleet *f, const fleet_row *r, double *value);

/* ---- beginnings (fleet_start.c) ---- */

/* Empty, for k classes and a basis of m rows; f->in, d and sparse are set. */
ferry_status ferry_i_fleet_new(ferry_ctx *ctx, int64_t k, int64_t m, fleet *f);
void ferry_i_fleet_clear(fleet *f);
ferry_status ferry_i_fleet_classes(ferry_ctx *ctx, fleet *f, int64_t k);
/* Begin anew with the n <= m rows of the basis; count: means and deviations too. */
void ferry_i_fleet_start(fleet *f, bool count);
/* Refresh q's means and deviations, and its ridge with them. */
void ferry_i_fleet_refresh(fleet *f);
/* r becomes the newest row, and the sentinel knows it. */
void ferry_i_fleet_newest(fleet *f, fleet_row *r);
/* The sentinel's coefficients from the ring. */
void ferry_i_fleet_sentinel(fleet *f);
/* Begin anew with the newest rows. */
void ferry_i_fleet_again(fleet *f);

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
/* Add the room's row, whose l is there, to the ridges; `row` becomes part of the basis. */
void ferry_i_fleet_add(fleet *f, const fleet_room *room, fleet_row *row);
void ferry_i_fleet_ask(const fleet *f, fleet_room *room);
/* See a row and learn its label, as ferry_online has it. */
ferry_status ferry_i_fleet_see(ferry_ctx *ctx, fleet *f, const ferry_row *x, int64_t k,
                               double *score, int32_t *votes);
ferry_status ferry_i_fleet_learn(ferry_ctx *ctx, fleet *f, const ferry_row *x, int32_t y,
                                 const int32_t *votes);
void ferry_i_fleet_file(ferry_io *io, fleet *f); /* fleet_file.c */

#endif
