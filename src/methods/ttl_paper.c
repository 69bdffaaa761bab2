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
 * separated: yes solves one group after the other instead, each with G of the domain that it shares with the last held
 * where that left it: what the paper compares coupling with (section 4.2). p: cv chooses the number of clusters by
 * cross-validation on the labels that may be seen (section 5.1 of the paper, which then takes 30).
 *
 * The updates are those of the objective above, with the errors of the printed ones put right, and none of them raises
 * it before the normalisation (learn/nmtf.h, where the other losses and normalisations are). The default of Ferry is
 * another algorithm, ttl (ttl.c). */
#include <math.h>
#include <string.h>

#include "learn/chain.h"
#include "learn/factor_model.h"
#include "learn/learner.h"
#include "learn/simplex_qp.h"
#include "prepare/problem.h"

enum { START_HOP, START_UNIFORM, START_RANDOM };
enum { P_SET, P_CV };

typedef struct ttl_paper_options {
    int64_t p1, p2, warm, iterations;
    int loss, norm, exponent, start, separated, p;
    int64_t folds;
    const char *weights;
    double C, floor, tol;
} ttl_paper_options;

static const ferry_opt ttl_paper_opts[] = {
    FERRY_OPT(ttl_paper_options, INT, p1, 20, 0, 10000,
              "feature clusters that are shared in a group"),
    FERRY_OPT(ttl_paper_options, INT, p2, 10, 0, 10000, "feature clusters of each view"),
    FERRY_OPT_ONE_OF(ttl_paper_options, p, "set|cv", "set",
                     "cv: p = p1 + p2 of 10, 20, 30, 40 and 60, two thirds of it p1, by "
                     "cross-validation on the labels that may be seen"),
    FERRY_OPT(ttl_paper_options, INT, folds, 10, 2, 1000, "p cv: folds"),
    FERRY_OPT_YES_NO(ttl_paper_options, separated, "no",
                     "one group after the other, not all at once"),
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
    return f;
}

/* The factorisation of groups from .. to - 1, whose first domain is number 0 in it. */
static void make_groups(scope *s, const ttl_paper_options *o, coupled *f, int from, int to)
{
    const int first = first_of_group(f->p, from), last = last_of_group(f->p, to - 1);
    nmtf_input *part = NEW(s, nmtf_input, f->n_views);
    int64_t n = 0;

    for (int64_t v = 0; v < f->n_views; v++) {
        if (f->view[v].group < from || f->view[v].group >= to) continue;
        part[n] = f->view[v];
        part[n].group -= from;
        part[n++].domain -= first;
    }
    f->n = nmtf_new(s, f->p->classes, o->p1, 0, o->p2, n, part);
    for (int i = first; i <= last; i++)
        nmtf_know(s, f->n, i - first, f->p->d[i].known);
}

/* ---- start ---- */

/* The first labels of all domains; at NULL: equal shares. */
static block *first_labels(scope *s, const ttl_paper_options *o, const problem *p,
                           ferry_rng *rng)
{
    const classifier_options by = {.C = o->C, .unit = p->unit};
    block *g = NEW(s, block, p->n);

    if (o->start == START_HOP) chain_labels(s, &by, p, false, p->n - 1, g, NULL);
    for (int i = 0; o->start == START_RANDOM && i < p->n; i++) {
        g[i] = block_new(s, p->d[i].rows, p->d[i].n, p->classes);
        fill_by_key(rng, p->d[i].key, 0, 1, g[i]);
    }
    return g;
}

/* What a run of all groups came to; f->n is that of the last groups. */
typedef struct solved {
    nmtf_found found;
    int64_t empty;
    block *g; /* of each domain, as it came out */
} solved;

/* Groups from .. to - 1. `before`: G of their first domain, which then stays; at NULL: it is found like the others. */
static void solve_groups(scope *s, const ttl_paper_options *o, const nmtf_options *how,
                         coupled *f, int from, int to, const block **start, ferry_rng *rng,
                         block before, solved *out)
{
    const int first = first_of_group(f->p, from), last = last_of_group(f->p, to - 1);
    const uint64_t **key = NEW(s, const uint64_t *, to - from);

    make_groups(s, o, f, from, to);
    for (int i = from; i < to; i++)
        key[i - from] = keys_of(s, f->p, f->keep[i]);
    nmtf_random(s, f->n, rng, key);
    if (!*start) *start = first_labels(s, o, f->p, rng);
    for (int i = first; i <= last; i++)
        if ((*start)[i].at) nmtf_start(f->n, i - first, (*start)[i], o->floor);
    if (before.at) {
        nmtf_start(f->n, 0, before, 0);
        f->n->domain[0].fixed = true;
    }
    const nmtf_found found = nmtf_run(s, f->n, how, "ttl-paper");
    for (int i = first; i <= last; i++)
        out->g[i] = f->n->domain[i - first].g;
    out->found.objective += found.objective;
    out->found.converged = found.converged;
    out->found.finish = out->found.finish || found.finish;
    if (found.iterations > out->found.iterations) out->found.iterations = found.iterations;
    out->empty += f->n->empty;
}

static solved solve(scope *s, const ttl_paper_options *o, const nmtf_options *how,
                    coupled *f)
{
    ferry_rng *rng = scope_rng(s, "ttl");
    solved out = {.g = NEW(s, block, f->p->n)};
    const block none = {.at = NULL};

    const block *start = NULL;
    for (int g = 0; o->separated && g < f->n_groups; g++)
        solve_groups(s, o, how, f, g, g + 1, &start, rng,
                     g > 0 ? out.g[first_of_group(f->p, g)] : none, &out);
    if (!o->separated) solve_groups(s, o, how, f, 0, f->n_groups, &start, rng, none, &out);
    return out;
}

/* ---- the report ---- */

/* What speaks for a class against the others, by H of the target; what a shared cluster is about, by F1. */
static void report_features(scope *s, const coupled *f, block h)
{
    const problem *p = f->p;
    const nmtf_group *last = &f->n->group[f->n->n_groups - 1];
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

/* ---- p by cross-validation ---- */

static const int64_t sizes[] = {10, 20, 30, 40, 60};

static void set_size(ttl_paper_options *o, int64_t p)
{
    o->p1 = (2 * p + 1) / 3;
    o->p2 = p - o->p1;
}

/* p with the labels of one fold hidden. */
static problem without_fold(scope *s, const problem *p, int32_t *const *fold, int f)
{
    problem less = *p;
    domain *d = NEW(s, domain, p->n);

    for (int i = 0; i < p->n; i++) {
        d[i] = p->d[i];
        if (!fold[i]) continue;
        int32_t *known = NEW(s, int32_t, d[i].n);
        int64_t count = 0;
        for (int64_t r = 0; r < d[i].n; r++) {
            known[r] = fold[i][r] == f ? -1 : d[i].known[r];
            count += known[r] >= 0;
        }
        d[i].known = d[i].y.cls = known;
        d[i].labelled = (int64_t)sum(s, d[i].rows, (double)count);
    }
    less.d = d;
    return less;
}

/* How many labels of the fold are found again. */
static double found_again(scope *s, const ttl_paper_options *o, const nmtf_options *how,
                          const problem *p, int32_t *const *fold, int f)
{
    const int64_t mark = scope_mark(s);
    const problem less = without_fold(s, p, fold, f);
    coupled c = couple(s, &less, o);
    const solved out = solve(s, o, how, &c);
    double right = 0;

    for (int i = 0; i < p->n; i++) {
        if (!fold[i]) continue;
        const int32_t *best = argmax(s, out.g[i]);
        double here = 0;
        for (int64_t r = 0; r < p->d[i].n; r++)
            here += fold[i][r] == f && best[r] == p->d[i].known[r];
        right += sum(s, p->d[i].rows, here);
    }
    scope_release(s, mark);
    return right;
}

/* The p that finds most labels again; of equals the smallest. */
static void choose_size(scope *s, const problem *p, const nmtf_options *how,
                        ttl_paper_options *o)
{
    int32_t **fold = NEW(s, int32_t *, p->n);
    double all = 0, most = -1, *share = NEW(s, double, FERRY_COUNT(sizes));
    int64_t best = 0;

    for (int i = 0; i < p->n; i++) {
        const domain *d = &p->d[i];
        all += (double)d->labelled;
        if (d->labelled > 0)
            fold[i] = stratified_folds(s, d->rows, d->n, d->known, d->key, (int)o->folds);
    }
    for (int64_t k = 0; k < FERRY_COUNT(sizes); k++) {
        ttl_paper_options one = *o;
        set_size(&one, sizes[k]);
        for (int f = 0; f < o->folds; f++)
            share[k] += found_again(s, &one, how, p, fold, f) / all;
        if (share[k] > most) {
            most = share[k];
            best = k;
        }
    }
    set_size(o, sizes[best]);
    report_real(s, "p", (double)sizes[best]);
    report_reals(s, "p_accuracy", FERRY_COUNT(sizes), share);
}

static void ttl_paper_fit(scope *s, scope *keep, const problem *p, const void *options,
                          void *state)
{
    ttl_paper_options own = *(const ttl_paper_options *)options, *o = &own;
    const nmtf_options how = {.loss = (nmtf_loss)o->loss,
                              .norm = (nmtf_norm)o->norm,
                              .exponent = o->exponent == 0 ? 0.5 : 1,
                              .warm = o->warm,
                              .iterations = o->iterations,
                              .tol = o->tol};

    if (o->p == P_CV) choose_size(s, p, &how, o);
    coupled f = couple(s, p, o);
    const solved out = solve(s, o, &how, &f);
    const nmtf_found found = out.found;
    const block h = f.n->view[f.n->n_views - 1].h, g = out.g[p->n - 1];
    factor_model(s, keep, p, f.keep[f.n_groups - 1], &how, h, g, state);
    report_features(s, &f, h);
    report_ties(s, g);
    report_real(s, "final_objective", found.objective);
    report_real(s, "iterations", (double)found.iterations);
    report_real(s, "empty", sum(s, target(p)->rows, (double)out.empty));
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
