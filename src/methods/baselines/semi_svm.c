/* semi-svm: a linear support vector machine with self-training (learn/self_training.c). */
#include "learn/linear.h"
#include "learn/self_training.h"
#include "model/seam.h"

extern const learner learner_svm;

typedef struct semi_svm_options {
    svm_options svm;
    self_training self;
} semi_svm_options;

static const ferry_opt semi_svm_opts[] = {
    FERRY_OPT_AS(semi_svm_options, "C", REAL, svm.C, 1, 1e-9, 1e9,
                 "cost of errors against small weights"),
    FERRY_OPT_AS(semi_svm_options, "eps", REAL, svm.eps, 1e-2, 1e-12, 1,
                 "stopping tolerance"),
    {"balanced", FERRY_OPT_BOOL, offsetof(semi_svm_options, svm.balanced), "no", 0, 0, NULL,
     "weigh classes by n / (k n_c)"},
    SELF_TRAINING_OPTIONS(semi_svm_options),
};

static void semi_svm_fit(scope *s, scope *keep, const problem *p, const void *options,
                         void *state)
{
    const semi_svm_options *o = options;
    const learned m = self_train(s, keep, &learner_svm, &o->svm, &o->self, p);

    *(linear_model *)state = *(const linear_model *)m.state;
}

const method method_semi_svm = {
    .name = "semi-svm",
    .summary =
        "linear support vector machine that labels what it is sure of and learns again",
    .reference = SELF_TRAINING_REFERENCE,
    .kind = FERRY_KIND_BASELINE,
    .family = FERRY_FAMILY_SEMI,
    .goals = FERRY_CLASSIFY,
    .needs = FERRY_NEED_TARGET_VIEW | FERRY_NEED_TARGET_LABELS,
    .wants = {.as = JOINED, .trains = true, .unlabelled = true},
    METHOD_OPTIONS(semi_svm_opts, semi_svm_options),
    .by = &learner_svm,
    .fit = semi_svm_fit,
};
