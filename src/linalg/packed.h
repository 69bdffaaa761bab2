/* Data laid out for one operation of the engine, where the general types of linalg.h would
 * be read several times or cost more bytes than they need. Whoever needs the operation fills
 * the struct (and says in its file why it pays); the engine only runs over it. */
#ifndef FERRY_LINALG_PACKED_H
#define FERRY_LINALG_PACKED_H

#include "core/core.h"

/* ---- coupled factors in tiles: tiles_step, tiles_model; learn/nmtf_tiles.c ---- */

/* Features (rows of F) to a tile; the most views and classes that a tile takes; numbers of
 * room to a sum. */
enum {
    FERRY_TILE = 32,
    FERRY_TILE_VIEWS = 16,
    FERRY_TILE_CLASSES = 16,
    FERRY_TILE_ROOM = 8
};
enum { FERRY_TILE_PARTS = 1 + 2 * FERRY_TILE_VIEWS };

/* A group of a coupled tri-factorisation (learn/nmtf.h has the letters): views v with weight
 * w_v, H_v = F1 A1 + Fa_v Aa + F2_v A2_v (m x c), P_v = X_v G, Q_v = H_v K_v, K_v = G'G.
 *
 * F1 and the Fa and F2 of all views, the `parts`, stand side by side as `width` columns.
 * A tile has FERRY_TILE features; a column's numbers of a tile are next to each other, so
 * that a lane of a vector is a feature and nothing is added across lanes. */
typedef struct ferry_tiles {
    int64_t n, width, c; /* tiles; columns; classes */
    int64_t n_views, n_parts;
    bool root;     /* exponent 1/2, else 1 */
    double tiny;   /* entries below become 0 */
    int32_t *row;  /* n x FERRY_TILE: the feature, or -1 */
    uint32_t *has; /* n: a bit for each view that has one of the features */
    uint8_t *dead; /* n x n_parts: all 0, and so for ever: left out */
    double *f;     /* n x width x FERRY_TILE, on lines of the cache */
    /* width x (3 c + 1): what a column l of F meets. c numbers A s, for H and the numerators;
     * c of A / s (not root: A), for the denominators; c of A, for H once F has moved; and the
     * floor of the denominators. s is a factor that the column is still to be multiplied by,
     * which so costs no pass of its own: f s sqrt(u / d) = f sqrt(u s / (d / s)). */
    double *a;
    int64_t at[FERRY_TILE_PARTS], p[FERRY_TILE_PARTS]; /* parts: first column, columns */
    const double *pv[FERRY_TILE_VIEWS];                /* P_v, m x c */
    double *hv[FERRY_TILE_VIEWS];                      /* H_v, m x c */
    const double *kv[FERRY_TILE_VIEWS];                /* K_v, c x c, symmetric */
    /* weights of the views in the loss */
    double w[FERRY_TILE_VIEWS];
    /* Sums in pieces of tiles that do not depend on the number of threads: room for pieces x
     * FERRY_TILE_ROOM times ferry_i_tiles_sums() of them. */
    int64_t pieces;
    double *sums;
} ferry_tiles;
/* What tiles_step leaves at the beginning of `sums`: sum_v w_v <P_v, H_v>, sum_v w_v <Q_v,
 * H_v> before the step; then for every column l of F after it: c of F'P, c of F'Q, the sum
 * of the column. Of F1, P and Q are sum_v w_v P_v and sum_v w_v Q_v. */
static inline int64_t ferry_i_tiles_sums(const ferry_tiles *t)
{
    return 2 + t->width * (2 * t->c + 1);
}

/* ---- views and graphs: consensus_mul; methods/coca/packed.c ---- */

enum { FERRY_CONSENSUS_VIEWS = 8, FERRY_CONSENSUS_PIECES = 8, FERRY_PATTERN_AHEAD = 32 };

/* A sparse pattern: columns in 16 bits where they fit, values only where they differ. */
typedef struct ferry_pattern {
    const int64_t *start; /* rows + 1; borrowed */
    uint16_t *narrow;     /* one of the two, with room for FERRY_PATTERN_AHEAD more */
    int32_t *wide;
    double *value; /* NULL: all 1 */
} ferry_pattern;

typedef struct ferry_consensus_view {
    ferry_pattern x;
    int64_t cols, at;      /* its columns begin here in u and y */
    double *factor;        /* cols: of each column */
    const double *shift;   /* cols, or NULL; borrowed: what is taken off, times f */
    const double *present; /* m, or NULL; borrowed: 0 where the view lacks the instance */
    /* scale of the whole view, which is in factor too */
    double f;
} ferry_consensus_view;

/* H u = y, y_j = X_j'((a_j - b) t_j + b s + W t_j), t_j = X_j u_j, s = sum_j t_j, over p
 * views and q graphs, W = sum_g G_g M_g G_g with patterns M_g and diagonals G_g. */
typedef struct ferry_consensus {
    int64_t m, p, q, size; /* instances; views; graphs; all columns */
    int64_t
        whole; /* the m are one rank's of so many, as in ferry_matrix; 0: all there are */
    double own[FERRY_CONSENSUS_VIEWS], b; /* a_j - b; b */
    ferry_consensus_view view[FERRY_CONSENSUS_VIEWS];
    ferry_pattern *graph; /* q */
    double **node;        /* q: G, or NULL where values are kept */
    /* work */
    struct ferry_block **gt;   /* q: G T, m x 8; where values are kept T itself is used */
    struct ferry_block *t, *r; /* m x 8: the t_j of an instance side by side, one line */
    double *scaled;            /* size: u times the factors */
    double *y;                 /* FERRY_CONSENSUS_PIECES x size */
    /* what a view's shift takes off every t of it: f shift'u */
    double less[FERRY_CONSENSUS_VIEWS];
    /* sums of r over the instances of a piece, for the shift of X'r */
    double sum[FERRY_CONSENSUS_PIECES][FERRY_CONSENSUS_VIEWS];
} ferry_consensus;

/* ---- pairs of labels of one instance: pair_steps; learn/ranksvm.c ---- */

typedef struct ferry_label_pairs {
    int64_t n;    /* labels that the instance lacks */
    double s;     /* the score of the label that it has */
    double norm2; /* of the instance */
    double most;  /* bound of a */
} ferry_label_pairs;

#endif
