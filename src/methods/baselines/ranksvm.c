/* ranksvm: RankSVM on the features as they are (the BL of the M-MLTL paper). With center: per-domain every domain's
 * own mean is taken off first, the plainest way to undo a shift between the domains. */
#include "methods/shared/rank.h"
#include "model/seam.h"

enum { CENTER_NONE, CENTER_DOMAIN };

typedef struct ranksvm_options {
    int center;
    double C, rank_tol;
    int64_t epochs;
} ranksvm_options;

static const ferry_opt ranksvm_opts[] = {
    FERRY_OPT_ONE_OF(ranksvm_options, center, "none|per-domain", "none",
                     "take off the mean of the instances learned from, and the target's"),
    RANK_OPTIONS(ranksvm_options),
};

/* The target's mean is that of all its instances. */
static void ranksvm_adapt(const void *options, wants *w)
{
    w->unlabelled = ((const ranksvm_options *)options)->center == CENTER_DOMAIN;
}

static double *mean_of(scope *s, matrix x)
{
    double *mean = mass(s, x, NULL);

    for (int64_t j = 0; x.rows.n > 0 && j < x.cols; j++)
        mean[j] /= (double)x.rows.n;
    return mean;
}

static void ranksvm_fit(scope *s, scope *keep, const problem *p, const void *options,
                        void *state)
{
    const ranksvm_options *o = options;
    const ranker_options how = RANK_SETTINGS(o);
    ranked *m = state;
    const examples e = training_examples(s, p);
    double *mean = NULL;

    if (o->center == CENTER_DOMAIN) {
        if (p->n_sources > 0 && target(p)->labelled > 0)
            scope_fail(
                s, FERRY_ENEEDS,
                "ranksvm center=per-domain learns from the source or the target, not "
                "train=both");
        mean = mean_of(s, e.x);
        m->mean = COPY(keep, mean_of(s, target(p)->x), p->cols);
    }
    ranked_fit(s, keep, &how, &e, mean, false, m);
}

const method method_ranksvm = {
    .name = "ranksvm",
    .summary = "linear scores that put an instance's labels before the others",
    .reference = "Elisseeff and Weston, A Kernel Method for Multi-Labelled Classification, "
                 "NIPS 2001",
    .kind = FERRY_KIND_BASELINE,
    .goals = FERRY_MULTILABEL,
    .needs = FERRY_NEED_TARGET_VIEW,
    .wants = {.as = JOINED, .trains = true},
    METHOD_OPTIONS(ranksvm_opts, ranksvm_options),
    .state = &ranked_table,
    .whole = true,
    .adapt = ranksvm_adapt,
    .fit = ranksvm_fit,
    .scores = ranked_scores,
    .decide = ranked_decide,
};
