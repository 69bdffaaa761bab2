/* Options of svm, which its self-training shares. */
#ifndef FERRY_SVM_OPTIONS_H
#define FERRY_SVM_OPTIONS_H

#include "methods/baselines/weights.h"

typedef struct svm_options {
    int train, scale;
    double C, eps, tube;
    int bias, balanced;
} svm_options;

/* Options of a struct T with a member `svm`; C has the default c, from `least` on. */
#define SVM_OPTS(T, c, least, help)                                                        \
    FERRY_OPT_ONE_OF_AS(T, "train", svm.train, BASE_TRAIN_CHOICES, "auto",                 \
                        BASE_TRAIN_HELP),                                                  \
        FERRY_OPT_ONE_OF_AS(T, "scale", svm.scale, FERRY_SCALE_CHOICES, "auto",            \
                            FERRY_SCALE_HELP),                                             \
        FERRY_OPT_AS(T, "C", REAL, svm.C, c, least, 1e9,                                   \
                     "cost of errors against small weights" help),                         \
        FERRY_OPT_AS(T, "eps", REAL, svm.eps, 1e-2, 1e-12, 1, "stopping tolerance"),       \
        FERRY_OPT_AS(T, "tube", REAL, svm.tube, 0.1, 0, 1e9,                               \
                     "regress: errors up to this cost nothing"),                           \
        {"bias", FERRY_OPT_BOOL, offsetof(T, svm.bias),  "yes", 0,                         \
         0,      NULL,           "learn a constant term"},                                 \
    {                                                                                      \
        "balanced", FERRY_OPT_BOOL, offsetof(T, svm.balanced), "no", 0, 0, NULL,           \
            "weigh classes by n / (k n_c)"                                                 \
    }

#endif
