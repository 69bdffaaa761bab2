/* What the M-MLTL studies share: pictures with label sets, pairs of domains made of them,
 * and their task files. ESPGame and the SIFT features of Corel5k's training pictures are
 * not to be had, so pairs of domains are cut from what is. */
#ifndef FERRY_REPRODUCE_MMLTL_H
#define FERRY_REPRODUCE_MMLTL_H

#include "reproduce/study.h"

typedef struct mmltl_pictures {
    int64_t n, d, m;
    double *x;         /* n x d, as in the file */
    uint8_t *y;        /* n x m */
    int64_t *group;    /* n: number of the photo CD; NULL: no groups */
    double *z;         /* n: place along the first principal component */
    ferry_ids *labels; /* m */
    ferry_ids *groups; /* names of the CDs */
} mmltl_pictures;

/* Corel5k with these features ("DenseHue", "DenseSift"); whole: training and test pictures,
 * else the test ones alone. Zero-initialise out. */
ferry_status ferry_i_mmltl_corel(ferry_ctx *ctx, ferry_lab *lab, const char *features,
                                 bool whole, mmltl_pictures *out);
/* Mulan's scene. */
ferry_status ferry_i_mmltl_scene(ferry_ctx *ctx, ferry_lab *lab, mmltl_pictures *out);
void ferry_i_mmltl_free(mmltl_pictures *p);

/* How two domains are cut:
 * NUISANCE  25 CDs against 25 at random; every histogram of the target is 0.4 its own and
 *           0.6 one random background: features shift, labels do not
 * RANDOM    the same without the background
 * SORTED    the CDs in the order of their mean along the first principal component:
 *           features and labels both shift
 * BIASED    pictures drawn with probability 1 / (1 + exp(-1.5 z)), z as above: mostly
 *           labels shift */
typedef enum mmltl_kind { NUISANCE, RANDOM, SORTED, BIASED, MMLTL_KINDS } mmltl_kind;
extern const char *const ferry_i_mmltl_kinds[MMLTL_KINDS];

/* One cut: the rows of both sides and the labels that count. */
typedef struct mmltl_cut {
    mmltl_kind kind;
    int64_t repeat;
    int64_t *row[2], n[2];
    int64_t *label, m;  /* at most 10: the most frequent on both sides */
    double *background; /* NUISANCE: d */
} mmltl_cut;
ferry_status ferry_i_mmltl_cut(ferry_ctx *ctx, const ferry_lab *lab,
                               const mmltl_pictures *p, mmltl_kind kind, int64_t repeat,
                               mmltl_cut *out);
void ferry_i_mmltl_cut_free(mmltl_cut *c);
/* Write the files and the task of side `from` as the source (its first `most` rows; 0: all)
 * and the other as the target. methods: entries in YAML, a line each. *task: its file's
 * name; new string. */
ferry_status ferry_i_mmltl_task(ferry_ctx *ctx, ferry_lab *lab, const mmltl_pictures *p,
                                const mmltl_cut *c, int from, int64_t most,
                                const char *methods, char **task);
/* Write and run it. */
ferry_status ferry_i_mmltl_run(ferry_ctx *ctx, ferry_lab *lab, const mmltl_pictures *p,
                               const mmltl_cut *c, int from, int64_t most,
                               const char *methods);

#define MMLTL_PAPER                                                                        \
    "Jiang, Liu, Shu, Xu, Wu and Guo, Multi-label Transfer Learning via Maximum Mean "     \
    "Discrepancy, Information and Control 2016"
#define MMLTL_NEEDS                                                                        \
    "corel5k/corel5k_train_DenseHue.hvecs\ncorel5k/corel5k_test_DenseHue.hvecs\n"          \
    "corel5k/corel5k_train_annot.hvecs\ncorel5k/corel5k_test_annot.hvecs\n"                \
    "corel5k/corel5k_train_list.txt\ncorel5k/corel5k_test_list.txt\n"                      \
    "corel5k/corel5k_dictionary.txt"
#define MMLTL_STANDIN                                                                      \
    "The paper's domains are Corel5k and ESPGame with SIFT histograms; neither ESPGame "   \
    "nor those features of Corel5k are to be had. Stand-in: Corel5k with DenseHue "        \
    "histograms (100 bins, square roots), 25 photo CDs against the other 25, drawn at "    \
    "random, where every histogram of the target is 0.4 its own and 0.6 one random "       \
    "background, so that features shift and labels do not; the 10 labels most frequent "   \
    "on both sides, at most 1200 pictures a side. So only the order can be compared, not " \
    "the numbers. "

#endif
