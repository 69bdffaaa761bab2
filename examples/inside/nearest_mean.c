/* nearest-mean: every class is the mean of its rows in source and target; a row has the class of the nearest mean. */
#include "prepare/problem.h"

typedef struct { double own; } nearest_options; /* an option is a member, and a line of the table */
static const ferry_opt nearest_opts[] = {
    FERRY_OPT(nearest_options, REAL, own, 3, 0, 1000, "weight of a row of the target"),
};

/* What was learned: its table saves, loads and checks it. */
typedef struct {
    block mean;     /* columns of new data x classes */
    double *square; /* classes: |mean|^2 */
} nearest_state;
static const field nearest_fields[] = {
    ARRAY(nearest_state, BLOCK, mean, .rows = WIDTH, .cols = CLASSES),
    ARRAY(nearest_state, REALS, square, .rows = CLASSES),
};
static const table nearest_table = TABLE(nearest_state, nearest_fields);

/* s: memory until the fit ends; keep: as long as the model. Nothing is freed by hand, nothing returns a status. */
static void nearest_fit(scope *s, scope *keep, const problem *p, const void *options, void *state)
{
    nearest_state *m = state;
    double *n = NEW(s, double, p->classes), *count = NEW(s, double, p->classes);
    m->mean = block_new(keep, HERE(p->width), p->width, p->classes);
    m->square = NEW(keep, double, p->classes);
    for (int i = 0; i < p->n; i++) {
        const domain *d = &p->d[i];
        const block y = one_hot(s, d->rows, d->n, d->known, p->classes), sum = block_like(s, m->mean);
        const double weight = d == target(p) ? ((const nearest_options *)options)->own : 1;
        tmul(s, d->x, y, sum); /* X'Y, over the rows of all processes */
        axpby(s, weight, sum, 1, m->mean);
        column_sums(s, y, count);
        for (int64_t k = 0; k < p->classes; k++)
            n[k] += weight * count[k];
    }
    for (int64_t j = 0; j < p->width; j++)
        for (int64_t k = 0; k < p->classes; k++) {
            const double x = ROW(m->mean, j)[k] /= n[k] > 0 ? n[k] : 1;
            m->square[k] += x * x;
        }
}

/* x'm - |m|^2 / 2 is largest for the nearest mean. */
static void nearest_scores(scope *s, const void *state, const domain *d, block out)
{
    const nearest_state *m = state;
    mul(s, d->x, m->mean, out);
    for (int64_t i = 0; i < out.n; i++)
        for (int64_t k = 0; k < out.k; k++)
            ROW(out, i)[k] -= m->square[k] / 2;
}

const method method_nearest_mean = {
    .name = "nearest-mean", .summary = "the class whose mean is nearest", .kind = FERRY_KIND_TRANSFER,
    .goals = FERRY_CLASSIFY, .needs = FERRY_NEED_SOURCE_LABELS | FERRY_NEED_TARGET_VIEW,
    .wants = {.as = JOINED, .domains = WANT_SOURCES | WANT_TARGET},
    METHOD_OPTIONS(nearest_opts, nearest_options), .state = &nearest_table,
    .fit = nearest_fit, .scores = nearest_scores,
};
