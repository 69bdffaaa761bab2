/* majority, label-prior and mean: the same prediction for every instance, the shares of the labels or their mean, as
 * the framework has it for instances without features. What any method has to beat. */
#include "model/seam.h"

static void constant_fit(scope *s, scope *keep, const problem *p, const void *options,
                         void *state)
{
    (void)s;
    (void)keep;
    (void)p;
    (void)options;
    (void)state;
}

static const table nothing = {.size = 1};

const method method_majority = {
    .name = "majority",
    .summary = "the most frequent class for every instance; labels by how often they occur",
    .kind = FERRY_KIND_BASELINE,
    .family = FERRY_FAMILY_CONSTANT,
    .goals = FERRY_CLASSIFY | FERRY_MULTILABEL,
    .wants = {.as = NO_FEATURES, .trains = true},
    .state = &nothing,
    .whole = true,
    .fit = constant_fit,
};

/* majority under the name that multi-label papers have for it, as a control. */
const method method_label_prior = {
    .name = "label-prior",
    .summary = "labels by how often they occur, whatever the features",
    .kind = FERRY_KIND_CONTROL,
    .goals = FERRY_MULTILABEL,
    .wants = {.as = NO_FEATURES, .trains = true},
    .state = &nothing,
    .whole = true,
    .fit = constant_fit,
};

const method method_mean = {
    .name = "mean",
    .summary = "the mean of the known numbers for every instance",
    .kind = FERRY_KIND_BASELINE,
    .family = FERRY_FAMILY_CONSTANT,
    .goals = FERRY_REGRESS,
    .wants = {.as = NO_FEATURES, .trains = true},
    .state = &nothing,
    .whole = true,
    .fit = constant_fit,
};
