/* mindtl: what crosses between domains that share neither users nor items is how much each kind of evidence about a
 * rating is worth. Rating patterns, which the published method transfers (mindtl-paper), were worth less than a good
 * model of the target alone on all data that we have (docs/methods/mindtl.md).
 *
 *   source   plays the target: as many ratings a user as the target has, and its weights w_s of the seven features of a
 *            pair (learn/corated.h) are those that are best then. Ratings may have any range: features are free of units
 *   target   mf plus the features, whose weights begin at sum_s c_s w_s, c >= 0 by least squares on ratings held out,
 *            and are corrected by the target's own (learn/stack.h)
 *
 * The problem is that of He et al., Robust Transfer Learning for Cross-domain Collaborative Filtering Using Multiple
 * Rating Patterns Approximation, WSDM 2018.
 *
 * Two controls are the same fit after the sources' knowledge is gone. shuffled-codebook: their ratings change places.
 * random-codebook: their weights are random numbers of the size of those that were learned. */
#include <math.h>

#include "learn/stack.h"
#include "model/seam.h"
#include "prepare/problem.h"

typedef struct mindtl_options {
    int64_t use;
} mindtl_options;

static const ferry_opt mindtl_opts[] = {
    FERRY_OPT(mindtl_options, INT, use, 0, 0, 1000,
              "sources used, the first of the task; 0: all"),
};

typedef enum knowledge { AS_IT_IS, SHUFFLED, RANDOM } knowledge;

static int64_t sources_used(const problem *p, const void *options)
{
    const int64_t use = ((const mindtl_options *)options)->use;

    return use > 0 && use < p->n_sources ? use : p->n_sources;
}

static void mindtl_fits(scope *s, const problem *p, const void *options)
{
    const int64_t n = sources_used(p, options);

    if (n > STACK_MOST_SOURCES)
        scope_fail(s, FERRY_ENEEDS, "%s takes at most %d sources; this task has %lld",
                   scope_ctx(s)->fitting, STACK_MOST_SOURCES, (long long)n);
}

/* The same values, given to the ratings anew. */
static ratings shuffled(scope *s, const ratings *r, ferry_rng *rng)
{
    const int64_t n = stored(r->x);
    double *value = COPY(s, r->x.m->value, n);

    for (int64_t e = n - 1; e > 0; e--) {
        const int64_t at = (int64_t)ferry_i_rng_below(rng, (uint64_t)e + 1);
        const double moved = value[e];
        value[e] = value[at];
        value[at] = moved;
    }
    return with_ratings(s, r, value);
}

static void draw_weights(ferry_rng *rng, double *w)
{
    double size = 0;

    for (int c = 0; c < CORATED; c++)
        size += fabs(w[c]) / CORATED;
    for (int c = 0; c < CORATED; c++)
        w[c] = size * ferry_i_rng_normal(rng);
}

/* Ratings of the target's users who have some, on average. */
static int64_t ratings_each(scope *s, const ratings *r)
{
    double rated = 0;

    for (int64_t i = 0; i < r->x.n; i++)
        rated += row_at(r->x, i).n > 0;
    const int64_t users = (int64_t)sum(s, r->x.rows, rated);
    return (entries(s, r->x) + users / 2) / (users > 0 ? users : 1);
}

/* The weights of source i, whose random numbers depend on its number alone. */
static void learn_source(scope *s, const problem *p, int i, knowledge k, int64_t each,
                         double *w)
{
    const int64_t mark = scope_mark(s);
    ratings r = source_ratings(s, p, i);
    ferry_rng *rng = scope_rng(s, scope_text(s, "mindtl/replay/%d", i));

    if (k == SHUFFLED) r = shuffled(s, &r, rng);
    stack_replay(s, &r, each, rng, w);
    if (k == RANDOM) draw_weights(rng, w);
    scope_release(s, mark);
}

static void learn_all(scope *s, scope *keep, const problem *p, const void *options,
                      knowledge k, void *state)
{
    const ratings *r = target(p)->r;
    const int64_t each = ratings_each(s, r);
    stack_sources from = {.n = sources_used(p, options)};
    const char *names[STACK_MOST_SOURCES];
    bool finish = false;

    for (int i = 0; i < from.n; i++) {
        names[i] = p->d[i].name;
        learn_source(s, p, i, k, each, from.w + i * CORATED);
    }
    stack_learn(s, keep, r, &from, state, &finish);
    report_named(s, "weights", from.n, names, from.c);
    report_text(s, "note",
                "most of what this gains over mf it gains from the target's own "
                "neighbours; the method stack has that without sources");
    report_fit(s, 10, NAN, finish ? FERRY_STOP_FINISH : FERRY_STOP_MAX_ITER);
}

static void mindtl_fit(scope *s, scope *keep, const problem *p, const void *options,
                       void *state)
{
    learn_all(s, keep, p, options, AS_IT_IS, state);
}

static void shuffled_fit(scope *s, scope *keep, const problem *p, const void *options,
                         void *state)
{
    learn_all(s, keep, p, options, SHUFFLED, state);
}

static void random_fit(scope *s, scope *keep, const problem *p, const void *options,
                       void *state)
{
    learn_all(s, keep, p, options, RANDOM, state);
}

/* What the three have in common. */
#define MINDTL(fit_)                                                                       \
    .goals = FERRY_RATE, .needs = FERRY_NEED_RATINGS | FERRY_NEED_SOURCE,                  \
    .wants = {.as = RATINGS}, METHOD_OPTIONS(mindtl_opts, mindtl_options),                 \
    .state = &stack_table, .fits = mindtl_fits, .fit = (fit_), .scores = stack_scores,     \
    .fold_in = stack_fold_in

const method method_mindtl = {
    .name = "mindtl",
    .summary = "what several incomplete sources know about ratings, for the target",
    .reference =
        "He et al., Robust Transfer Learning for Cross-domain Collaborative Filtering "
        "Using Multiple Rating Patterns Approximation, WSDM 2018",
    .kind = FERRY_KIND_TRANSFER,
    .control = "shuffled-codebook",
    MINDTL(mindtl_fit),
};

const method method_shuffled_codebook = {
    .name = "shuffled-codebook",
    .summary = "mindtl with the ratings of its sources shuffled",
    .kind = FERRY_KIND_CONTROL,
    MINDTL(shuffled_fit),
};

const method method_random_codebook = {
    .name = "random-codebook",
    .summary = "mindtl with random numbers as the weights of its sources",
    .kind = FERRY_KIND_CONTROL,
    MINDTL(random_fit),
};
