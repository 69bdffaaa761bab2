/* triplex: tri-factorisation with three kinds of concepts (Zhuang, Luo, Du, He and Shi, Triplex Transfer Learning:
 * Exploiting both Shared and Distinct Concepts for Text Classification, WSDM 2013; rebuilt on learn/nmtf.h).
 *
 *   L = sum_v |X_v - H_v G_v'|^2,   H_v = F1 A1 + Fa_v Aa + F2_v A2_v
 *
 * identical concepts share words and meaning (F1 A1), alike ones the meaning only (Fa_v, Aa), distinct ones nothing.
 * One group: the domains that train, with their labels, and the one that is labelled, whose G starts from a logistic
 * regression and stands still until the concepts, which start at random, have learned what it says.
 *
 * path st: the sources train the target. it: the last intermediate domain trains it, with its own labels. sit: the
 * sources label the first intermediate domain, whose likeliest classes then train the next as if they were known,
 * until the target. */
#include "learn/chain.h"
#include "learn/factor_model.h"
#include "learn/simplex_qp.h"
#include "prepare/problem.h"

enum { SIT, ST, IT };

typedef struct triplex_options {
    int path, norm, exponent;
    int64_t identical, alike, distinct, warm, iterations;
    double C, floor, tol;
} triplex_options;

static const ferry_opt triplex_opts[] = {
    FERRY_OPT_ONE_OF(triplex_options, path, "sit|st|it", "sit",
                     "sources, intermediates, target; sources to target; intermediate with "
                     "its labels to target"),
    FERRY_OPT(triplex_options, INT, identical, 20, 0, 10000,
              "concepts with the same words and meaning"),
    FERRY_OPT(triplex_options, INT, alike, 20, 0, 10000,
              "concepts with the same meaning in different words"),
    FERRY_OPT(triplex_options, INT, distinct, 10, 0, 10000, "concepts of one domain"),
    FERRY_OPT(triplex_options, INT, warm, 50, 0, 1e9,
              "iterations that move the concepts alone, with the first labels as they are"),
    FERRY_OPT(triplex_options, INT, iterations, 40, 1, 1e9, "of each factorisation"),
    FERRY_OPT_ONE_OF(triplex_options, norm, "paper|absorb|none|simplex", "paper",
                     "columns of F and rows of G to sum 1, or not (see ttl-paper)"),
    FERRY_OPT_ONE_OF(triplex_options, exponent, "half|one", "half", "of the updates"),
    FERRY_OPT(triplex_options, REAL, floor, 0.02, 0, 1,
              "smallest entry of the first labels"),
    FERRY_OPT(triplex_options, REAL, tol, 0, 0, 1,
              "stop at this relative change of the objective; 0: never"),
    FERRY_OPT(triplex_options, REAL, C, 0, 0, 1e9,
              "cost of errors of a classifier; 0: the best of .3, 1, 3, 10 and 30 by "
              "cross-validation on the labels that train it"),
};

/* One factorisation: the `n` domains from `from` on, with the classes known[], train domain `to`. */
typedef struct stage {
    const problem *p;
    const triplex_options *o;
    int from, n, to;
    const int32_t *const *known;
} stage;

static int member(const stage *t, int v)
{
    return v < t->n ? t->from + v : t->to;
}

/* G of `to` by a logistic regression on what trains it. */
static block first_labels(scope *s, const stage *t)
{
    const problem *p = t->p;
    const classifier_options by = {.C = t->o->C, .unit = p->unit};
    const domain *to = &p->d[t->to];
    const block g = block_new(s, to->rows, to->n, p->classes);
    training_set *e = NEW(s, training_set, t->n);

    for (int v = 0; v < t->n; v++) {
        const domain *d = &p->d[t->from + v];
        e[v] = (training_set){
            d->x, one_hot(s, d->rows, d->n, t->known[t->from + v], p->classes), 1, d->key};
    }
    const classifier m = classifier_fit(s, &by, t->n, e, to->x, NULL);
    if (m.shared == 0)
        warn(s, "'%s' shares no feature with '%s': its classes are a guess", to->name,
             p->d[t->from].name);
    classifier_scores(s, &m, to->x, g);
    return g;
}

static nmtf *factorise(scope *s, const stage *t, const uint8_t *keep,
                       const nmtf_options *how, nmtf_found *found)
{
    const problem *p = t->p;
    const triplex_options *o = t->o;
    const uint64_t *key = keys_of(s, p, keep);
    nmtf_input *views = NEW(s, nmtf_input, t->n + 1);

    for (int v = 0; v <= t->n; v++)
        views[v] =
            (nmtf_input){take_columns(s, p->d[member(t, v)].x, keep, false), 0, v, 1};
    nmtf *n = nmtf_new(s, p->classes, o->identical, o->alike, o->distinct, t->n + 1, views);
    for (int v = 0; v < t->n; v++)
        nmtf_know(s, n, v, t->known[t->from + v]);
    nmtf_know(s, n, t->n, p->d[t->to].known);
    nmtf_random(s, n, scope_rng(s, "triplex"), &key);
    nmtf_start(n, t->n, first_labels(s, t), o->floor);
    *found = nmtf_run(s, n, how, "triplex");
    return n;
}

static void triplex_fits(scope *s, const problem *shape, const void *options)
{
    const triplex_options *o = options;
    const int bridges = shape->n - shape->n_sources - 1;

    if (o->identical + o->alike + o->distinct == 0)
        scope_fail(s, FERRY_EINVAL,
                   "triplex: identical, alike and distinct are all 0: no concept is left");
    if (o->path == IT && (bridges < 1 || shape->d[shape->n - 2].labelled == 0))
        scope_fail(s, FERRY_ENEEDS,
                   "triplex path=it needs an intermediate domain with labels");
    if (o->norm == NMTF_SIMPLEX && shape->classes > SIMPLEX_MOST)
        scope_fail(s, FERRY_ENEEDS, "triplex: norm=simplex takes at most %d classes",
                   SIMPLEX_MOST);
}

static void triplex_fit(scope *s, scope *keep, const problem *p, const void *options,
                        void *state)
{
    const triplex_options *o = options;
    const nmtf_options how = {.loss = NMTF_SQUARED,
                              .norm = (nmtf_norm)o->norm,
                              .exponent = o->exponent == 0 ? 0.5 : 1,
                              .warm = o->warm,
                              .iterations = o->iterations,
                              .tol = o->tol};
    const int last = p->n - 1;
    const int32_t **known = NEW(s, const int32_t *, p->n);
    int64_t iterations = 0;

    if (o->path == IT && p->d[last - 1].labelled == 0)
        scope_fail(s, FERRY_EINVAL,
                   "triplex: path=it trains with the labels of the intermediate domain: it "
                   "goes with bridge_labels=use");
    for (int i = 0; i < p->n; i++)
        known[i] = p->d[i].known;
    for (int to = o->path == SIT ? p->n_sources : last; to <= last; to++) {
        const bool first = o->path == ST || to == p->n_sources;
        const stage t = {p, o, first ? 0 : to - 1, first ? p->n_sources : 1, to, known};
        nmtf_found found;
        const uint8_t *columns = shared_amounts(s, p, t.from, t.n, to);
        const nmtf *n = factorise(s, &t, columns, &how, &found);
        const block g = n->domain[t.n].g, h = n->view[t.n].h;
        known[to] = argmax(s, g);
        iterations += found.iterations;
        report_fit(s, iterations, found.objective, why_stopped(&found));
        if (to == last) factor_model(s, keep, p, columns, &how, h, g, state);
    }
}

const method method_triplex = {
    .name = "triplex",
    .summary =
        "tri-factorisation with identical, alike and distinct concepts, step by step",
    .reference =
        "Zhuang, Luo, Du, He, Shi, Triplex Transfer Learning: Exploiting both Shared "
        "and Distinct Concepts for Text Classification, WSDM 2013",
    .kind = FERRY_KIND_TRANSFER,
    .family = FERRY_FAMILY_PATH,
    .goals = FERRY_CLASSIFY,
    .needs = FERRY_NEED_SOURCE_LABELS | FERRY_NEED_TARGET_VIEW | FERRY_NEED_PATH,
    .wants = {.as = CHAIN,
              .domains = WANT_SOURCES | WANT_BRIDGES | WANT_TARGET,
              .sign = AMOUNTS},
    METHOD_OPTIONS(triplex_opts, triplex_options),
    .state = &factor_table,
    .fits = triplex_fits,
    .fit = triplex_fit,
    .scores = factor_scores,
};
