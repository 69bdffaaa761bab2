/* gbdt, and what methods that grow trees have in common: options. */
#ifndef FERRY_GBDT_H
#define FERRY_GBDT_H

#include "methods/baselines/base.h"
#include "methods/gbc/gbc.h"

/* How trees are grown; -1: by the loss, see ferry_i_gbdt_settings. */
typedef struct gbdt_growing {
    int64_t trees, depth;
    double rate;
    int64_t min_leaf;
    double min_child, reg;
    int64_t bins;
    int learner;
} gbdt_growing;

/* Options of a struct T with a member `grow`. */
#define GBDT_OPTS(T) GBDT_OPTS_AT(T, grow)
#define GBDT_OPTS_AT(T, at)                                                                \
    FERRY_OPT_AS(T, "trees", INT, at.trees, 100, 1, 1e6, "iterations, at most"),           \
        FERRY_OPT_AS(T, "depth", INT, at.depth, 3, 1, 30, "splits from root to leaf"),     \
        FERRY_OPT_AS(T, "rate", REAL, at.rate, 0.1, 1e-6, 1,                               \
                     "nu: how much of each step is taken"),                                \
        FERRY_OPT_AS(T, "min_leaf", INT, at.min_leaf, 3, 1, 1e9,                           \
                     "instances in a leaf, at least (exact trees)"),                       \
        FERRY_OPT_AS(T, "min_child", REAL, at.min_child, -1, -1, 1e9,                      \
                     "curvature in a leaf, at least; -1: 0.5 for classes, 4 for numbers"), \
        FERRY_OPT_AS(T, "reg", REAL, at.reg, -1, -1, 1e9,                                  \
                     "added to a leaf's curvature; -1: 0.25 for classes, 1 for numbers"),  \
        FERRY_OPT_AS(T, "bins", INT, at.bins, 64, 2, 65536,                                \
                     "thresholds to try a feature (XGBoost)"),                             \
    {                                                                                      \
        "learner", FERRY_OPT_CHOICE, offsetof(T, at.learner), "auto", 0, 0,                \
            FERRY_GROWINGS, "trees; auto: exact for up to 131072 cells, else XGBoost"      \
    }
/* All options of gbdt, of a struct T with a member `gbdt`. */
#define GBDT_ALL_OPTS(T)                                                                   \
    {"train",                                                                              \
     FERRY_OPT_CHOICE,                                                                     \
     offsetof(T, gbdt.train),                                                              \
     "auto",                                                                               \
     0,                                                                                    \
     0,                                                                                    \
     "auto|source|target|both",                                                            \
     "learn from these labels; auto: the target's if it has some"},                        \
        {"missing",                                                                        \
         FERRY_OPT_CHOICE,                                                                 \
         offsetof(T, gbdt.missing),                                                        \
         "mean",                                                                           \
         0,                                                                                \
         0,                                                                                \
         "mean|tree",                                                                      \
         "cells that are missing: by the mean, or each split decides"},                    \
        GBDT_OPTS_AT(T, gbdt.grow)

typedef struct gbdt_options {
    int train, missing;
    gbdt_growing grow;
} gbdt_options;

typedef struct gbdt {
    base b;
    gbc_goal goal;
    gbc_forest *forest;
} gbdt;

gbc_settings ferry_i_gbdt_settings(const gbdt_growing *o, bool logistic);
ferry_status ferry_i_gbdt_predict(ferry_ctx *ctx, const void *state, const ferry_domain *d,
                                  ferry_prediction *p);
ferry_status ferry_i_gbdt_save(ferry_ctx *ctx, const void *state, ferry_dict *dict);
ferry_status ferry_i_gbdt_load(ferry_ctx *ctx, const ferry_dict *dict, void **state);
void ferry_i_gbdt_free(void *state);

#endif
