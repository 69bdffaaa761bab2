/* semi-gbdt: boosted trees with self-training (learn/self_training.c). */
#include <string.h>

#include "learn/boost.h"
#include "learn/self_training.h"
#include "model/seam.h"

extern const learner learner_gbdt;

typedef struct semi_gbdt_options {
    boost_settings grow; /* first: the learner's options */
    self_training self;
} semi_gbdt_options;

static const ferry_opt semi_gbdt_opts[] = {
    BOOST_OPTS(semi_gbdt_options, grow),
    SELF_TRAINING_OPTIONS(semi_gbdt_options),
};

static void semi_gbdt_fit(scope *s, scope *keep, const problem *p, const void *options,
                          void *state)
{
    const semi_gbdt_options *o = options;
    const learned m = self_train(s, keep, &learner_gbdt, &o->grow, &o->self, p);

    memcpy(state, m.state, learner_gbdt.state->size);
}

const method method_semi_gbdt = {
    .name = "semi-gbdt",
    .summary = "boosted trees that label what they are sure of and learn again",
    .reference = SELF_TRAINING_REFERENCE,
    .kind = FERRY_KIND_BASELINE,
    .family = FERRY_FAMILY_TREES,
    .slow = true,
    .goals = FERRY_CLASSIFY,
    .needs = FERRY_NEED_TARGET_VIEW | FERRY_NEED_TARGET_LABELS,
    .wants = {.as = JOINED,
              .trains = true,
              .unlabelled = true,
              .unscaled = true,
              .missing = true},
    .asked = true, /* six fits: 18 s on 2000 x 200 cells and ten classes */
    METHOD_OPTIONS(semi_gbdt_opts, semi_gbdt_options),
    .by = &learner_gbdt,
    .fit = semi_gbdt_fit,
};
