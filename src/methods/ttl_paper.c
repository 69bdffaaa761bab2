/* ttl-paper: transitive transfer learning as published. Sources and target share no feature; intermediate domains
 * share some with each side. Tan, Song, Zhong, Yang: Transitive Transfer Learning, KDD 2015.
 *
 * The sources and the first intermediate domain are one group, each domain and the next another. In group g the views
 * of its domains, on the columns of the views that both sides have, are factorised together (equations 3 to 5):
 *
 *   L = sum_v w_v |X_v - (F1_g A1_g + F2_v A2_v) G_d(v)'|^2,   all >= 0
 *
 *   F1_g, A1_g   p1 feature clusters and what they mean, shared in the group
 *   F2_v, A2_v   p2 clusters of the view alone
 *   G_d          classes of the rows of domain d, which is in up to two groups: so labels go from group to group.
 *                Known rows are one-hot
 *
 *   start    F and A at random; G by a chain of classifiers (hop), equal shares or at random, no entry below `floor`
 *   repeat   each factor by its multiplicative update, to the power 1/2 (algorithm 1), then
 *            columns of F and rows of G to sum 1
 *   answer   G of the target
 *
 * The updates are those of the objective above, with the slips of the printed ones put right, and none of them raises
 * it before the normalisation (learn/nmtf.h, where the other losses and normalisations are). The default of Ferry is
 * another algorithm, ttl (ttl.c). */
#include <math.h>
#include <string.h>

#include "learn/chain.h"
#include "learn/factor_model.h"
#include "learn/simplex_qp.h"
#include "prepare/problem.h"

enum { START_HOP, START_UNIFORM, START_RANDOM };

typedef struct ttl_paper_options {
    int64_t p1, p2, warm, iterations;
    int loss, norm, exponent, start;
    const char *weights;
    double C, floor, tol;
} ttl_paper_options;

static const ferry_opt ttl_paper_opts[] = {
    FERRY_OPT(ttl_paper_options, INT, p1, 20, 0, 10000,
              "feature clusters that are shared in a group"),
    FERRY_OPT(ttl_paper_options, INT, p2, 10, 0, 10000, "feature clusters of each view"),
    FERRY_OPT(ttl_paper_options, INT, warm, 0, 0, 1e9,
              "iterations that move the clusters alone, before the others"),
    FERRY_OPT(ttl_paper_options, INT, iterations, 100, 0, 1e9, "of the factorisation"),
    FERRY_OPT_ONE_OF(ttl_paper_options, loss, "squared|kl", "squared", "loss"),
    FERRY_OPT_ONE_OF(ttl_paper_options, norm, "paper|absorb|none|simplex", "paper",
                     "what is done to F and G after each iteration"),
    FERRY_OPT_ONE_OF(ttl_paper_options, exponent, "0.5|1", "0.5",
                     "0.5 is the published square root, 1 takes full steps"),
    FERRY_OPT_ONE_OF(ttl_paper_options, start, "hop|uniform|random", "hop",
                     "first labels of unlabelled instances"),
    FERRY_OPT(
        ttl_paper_options, REAL, C, 0, 0, 1e9,
        "start hop: cost of errors of a classifier; 0: the best of .3, 1, 3, 10 and 30 "
        "by cross-validation on the labels that train it"),
    FERRY_OPT(ttl_paper_options, REAL, floor, 0.02, 0, 1,
              "smallest entry of the first labels"),
    FERRY_OPT_STRING(ttl_paper_options, weights, "equal",
                     "of the views: equal, norm (1 / |X|^2) or numbers, a,b,c"),
    FERRY_OPT(ttl_paper_options, REAL, tol, 0, 0, 1,
              "stop at this relative change of the objective; 0: never"),
};

/* The factorisation over a chain of domains. */
typedef struct coupled {
    const problem *p;
    int n_groups;
    int64_t n_views;
    uint8_t **keep; /* of each group: the columns it has */
    nmtf_input *view;
    matrix *x; /* of each view */
    nmtf *n;
} coupled;

/* ---- groups and their views ---- */

/* Domains from .. to - 1 train domain `to`. */
static int first_of_group(const problem *p, int g)
{
    return g == 0 ? 0 : p->n_sources + g - 1;
}

static int last_of_group(const problem *p, int g)
{
    return p->n_sources + g;
}

/* Domain i in group g; where an earlier group has the same, that one: nmtf reads a matrix of two groups once. */
static matrix group_matrix(scope *s, const coupled *f, int g, int i)
{
    for (int64_t v = 0; v < f->n_views; v++)
        if (f->view[v].domain == i &&
            memcmp(f->keep[f->view[v].group], f->keep[g], (size_t)f->p->cols) == 0)
            return f->x[v];
    for (int64_t j = 0; j < f->p->cols; j++)
        if (!f->keep[g][j]) return take_columns(s, f->p->d[i].x, f->keep[g], false);
    return f->p->d[i].x;
}

/* "equal", "norm" or numbers with commas between, one for each view. */
static void set_weights(scope *s, const char *text, const coupled *f)
{
    const char *at = text, *end = text + strlen(text);
    const bool norm = strcmp(text, "norm") == 0;

    for (int64_t v = 0; v < f->n_views; v++) {
        const double length = norm ? norm2(s, f->x[v]) : 1;
        f->view[v].w = length > 0 ? 1 / length : 1;
    }
    if (norm || strcmp(text, "equal") == 0) return;
    for (int64_t v = 0; v < f->n_views; v++) {
        double *w = &f->view[v].w;
        const char *next = ferry_i_parse_real(at, end, w);
        const bool last = v == f->n_views - 1;
        if (!(next && *w > 0 && isfinite(*w) &&
              (last ? next == end : next < end && *next == ',')))
            scope_fail(
                s, FERRY_EINVAL,
                "ttl-paper: weights = %s: expected equal, norm or %lld numbers above "
                "0 with commas between, one for each view of each group",
                text, (long long)f->n_views);
        at = next + 1;
    }
}

static coupled couple(scope *s, const problem *p, const ttl_paper_options *o)
{
    coupled f = {.p = p, .n_groups = p->n - p->n_sources};

    f.keep = NEW(s, uint8_t *, f.n_groups);
    f.view = NEW(s, nmtf_input, 2 * p->n);
    f.x = NEW(s, matrix, 2 * p->n);
    for (int g = 0; g < f.n_groups; g++) {
        const int first = first_of_group(p, g), last = last_of_group(p, g);
        f.keep[g] = shared_amounts(s, p, first, last - first, last);
        for (int i = first; i <= last; i++) {
            f.x[f.n_views] = group_matrix(s, &f, g, i);
            f.view[f.n_views] = (nmtf_input){f.x[f.n_views], g, i, 1};
            f.n_views++;
        }
    }
    set_weights(s, o->weights, &f);
    f.n = nmtf_new(s, p->classes, o->p1, 0, o->p2, f.n_views, f.view);
    for (int i = 0; i < p->n; i++)
        nmtf_know(s, f.n, i, p->d[i].known);
    return f;
}

/* ---- start ---- */

static void start(scope *s, const ttl_paper_options *o, const coupled *f)
{
    const problem *p = f->p;
    const classifier_options by = {.C = o->C, .unit = p->unit};
    ferry_rng *rng = scope_rng(s, "ttl");
    const uint64_t **key = NEW(s, const uint64_t *, f->n_groups);
    block *g = NEW(s, block, p->n);

    for (int i = 0; i < f->n_groups; i++)
        key[i] = keys_of(s, p, f->keep[i]);
    nmtf_random(s, f->n, rng, key);
    if (o->start == START_UNIFORM) return;
    if (o->start == START_HOP) chain_labels(s, &by, p, false, p->n - 1, g, NULL);
    for (int i = 0; i < p->n; i++) {
        if (o->start == START_RANDOM) {
            g[i] = block_new(s, p->d[i].rows, p->d[i].n, p->classes);
            fill_by_key(rng, p->d[i].key, 0, 1, g[i]);
        }
        nmtf_start(f->n, i, g[i], o->floor);
    }
}

/* ---- the report ---- */

/* What speaks for a class against the others, by H of the target; what a shared cluster is about, by F1. */
static void report_features(scope *s, const coupled *f, block h)
{
    const problem *p = f->p;
    const nmtf_group *last = &f->n->group[f->n_groups - 1];
    const int64_t p1 = f->n->p1, c = h.k;
    double *classes = NEW(s, double, p->cols *c), *clusters = NEW(s, double, p->cols *p1);

    for (int64_t j = 0, row = 0; j < p->cols; j++) {
        double all = 0;
        if (!f->keep[f->n_groups - 1][j]) continue;
        for (int64_t k = 0; k < c; k++)
            all += ROW(h, row)[k];
        for (int64_t k = 0; k < c; k++)
            classes[j * c + k] = ROW(h, row)[k] - (all - ROW(h, row)[k]) / (double)(c - 1);
        for (int64_t l = 0; l < p1; l++)
            clusters[j * p1 + l] = ROW(last->f1, row)[l];
        row++;
    }
    report_top_columns(s, p, "top_features", p->names, c, classes);
    report_top_columns(s, p, "top_clusters", NULL, p1, clusters);
}

/* Ties go to the first class and look like knowledge: report how many there are. */
static void report_ties(scope *s, block g)
{
    const int32_t *best = argmax(s, g);
    double ties = 0;

    for (int64_t i = 0; i < g.n; i++) {
        int64_t equal = 0;
        for (int64_t k = 0; k < g.k; k++)
            equal += ROW(g, i)[k] == ROW(g, i)[best[i]];
        ties += equal > 1;
    }
    ties = sum(s, g.rows, ties);
    report_real(s, "ties", ties);
    if (50 * ties > (double)g.rows.n)
        warn(
            s,
            "%.0f of %lld instances of the target could be in any class; they are put into "
            "the first",
            ties, (long long)g.rows.n);
}

/* ---- all of it ---- */

static void ttl_paper_fits(scope *s, const problem *shape, const void *options)
{
    const ttl_paper_options *o = options;

    if (o->p1 + o->p2 == 0)
        scope_fail(s, FERRY_EINVAL, "ttl-paper: p1 = 0 and p2 = 0 leave no cluster");
    if (o->norm != NMTF_SIMPLEX) return;
    if (o->loss != NMTF_SQUARED)
        scope_fail(s, FERRY_EINVAL,
                   "ttl-paper: norm=simplex is least squares: it goes with loss=squared");
    if (shape->classes > SIMPLEX_MOST)
        scope_fail(s, FERRY_ENEEDS,
                   "ttl-paper: norm=simplex takes at most %d classes, this task has %lld",
                   SIMPLEX_MOST, (long long)shape->classes);
}

static void ttl_paper_fit(scope *s, scope *keep, const problem *p, const void *options,
                          void *state)
{
    const ttl_paper_options *o = options;
    const nmtf_options how = {.loss = (nmtf_loss)o->loss,
                              .norm = (nmtf_norm)o->norm,
                              .exponent = o->exponent == 0 ? 0.5 : 1,
                              .warm = o->warm,
                              .iterations = o->iterations,
                              .tol = o->tol};
    const coupled f = couple(s, p, o);

    start(s, o, &f);
    const nmtf_found found = nmtf_run(s, f.n, &how, "ttl-paper");
    const block h = f.n->view[f.n_views - 1].h, g = f.n->domain[p->n - 1].g;
    factor_model(s, keep, p, f.keep[f.n_groups - 1], &how, h, g, state);
    report_features(s, &f, h);
    report_ties(s, g);
    report_real(s, "final_objective", found.objective);
    report_real(s, "iterations", (double)found.iterations);
    report_real(s, "empty", sum(s, target(p)->rows, (double)f.n->empty));
    report_fit(s, found.iterations, found.objective, why_stopped(&found));
}

const method method_ttl_paper = {
    .name = "ttl-paper",
    .summary = "transitive transfer as published: a coupled tri-factorisation",
    .reference = "Tan, Song, Zhong, Yang, Transitive Transfer Learning, KDD 2015",
    .kind = FERRY_KIND_TRANSFER,
    .family = FERRY_FAMILY_PATH,
    .asked = true,
    .goals = FERRY_CLASSIFY,
    .needs = FERRY_NEED_SOURCE_LABELS | FERRY_NEED_TARGET_VIEW | FERRY_NEED_PATH,
    .wants = {.as = CHAIN,
              .domains = WANT_SOURCES | WANT_BRIDGES | WANT_TARGET,
              .sign = AMOUNTS},
    METHOD_OPTIONS(ttl_paper_opts, ttl_paper_options),
    .state = &factor_table,
    .fits = ttl_paper_fits,
    .fit = ttl_paper_fit,
    .scores = factor_scores,
};
