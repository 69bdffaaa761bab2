/* gbc: several views that lack instances, and graphs; a mixture of learners by cross-validation. The published algorithm,
 * consensus of boosted trees, is gbc-paper (gbc_paper.c: Shi, Heterogeneous Learning and Its Applications, PhD thesis 2013,
 * chapter 3); this one keeps its problem:
 *   answer(x) = sum over the parts of share x power(correct(what the part says of x))
 *
 *   trees      boosted on every view, averaged by the views' skill on held-out labels, or adding up to one score
 *   linear     one score over all views, plain or smoothed over the graphs; the better once more, trained on what it is sure of
 *   labels     no features: labels that propagate over the graphs
 *   nearest    labels that propagate over each instance's nearest rows
 *
 * What graphs do to answers (trees on features cannot say "all films of this director"):
 *   residual   a(x) + sum_g w_g sum_v A_g(x,v) r(v) / (sum_g w_g sum_v A_g(x,v) + kappa) over the labelled neighbours v, with
 *              r = label - what was answered without it; w_g times q (kappa means the same with any q), edges over their mean
 *   smooth     a(x) = (1 - alpha) a0(x) + alpha mean of a over the neighbours, where labels stand fast
 * and an instance without features gets the mean of its neighbours.
 *
 * Everything is decided on the same folds of the labelled instances: number of trees, weights of views, average or sum, costs,
 * corrections, strengths. Taking the learner of least held-out loss cost half a point of error and more with a few dozen labels;
 * the shares of a mixture maximise the held-out likelihood (Yao et al., Using stacking to average Bayesian predictive
 * distributions, Bayesian Analysis 2018). */
#include <math.h>
#include <string.h>

#include "learn/boost_views.h"
#include "learn/near_labels.h"
#include "learn/stacking.h"
#include "model/seam.h"
#include "prepare/problem.h"

enum { ANY_LEARNER, TREE, LINEAR };
enum { COMBINE_AUTO, AVERAGE, ADDITIVE };
enum { TREES, LINE, SMOOTHED, SELF, LABELS, NEAR, KINDS };
static const char *const kind_names[] = {
    "trees", "linear", "smoothed linear", "self-trained linear", "labels", "nearest rows"};
static const char *const correct_names[] = {"auto", "no", "residual", "smooth"};

typedef struct gbc_options {
    int learner, combine, correct;
    double strength;
    int64_t folds, patience;
    boost_settings grow;
} gbc_options;

static const ferry_opt gbc_opts[] = {
    FERRY_OPT_ONE_OF(gbc_options, learner, "auto|tree|linear", "auto",
                     "boosted trees, or linear scores over all views; auto: a mixture of "
                     "these, labels that propagate over graphs, and nearest rows"),
    FERRY_OPT_ONE_OF(gbc_options, combine, "auto|average|additive", "auto",
                     "trees of the views are averaged, or add up to one score; auto: by "
                     "cross-validation"),
    FERRY_OPT_ONE_OF(gbc_options, correct, "auto|no|residual|smooth", "auto",
                     "what graphs do to answers; auto: by cross-validation"),
    FERRY_OPT(gbc_options, REAL, strength, -1, -1, 1e9,
              "of that: kappa of residual, share of the neighbours of smooth (up to 1); "
              "-1: 2, or by cross-validation"),
    FERRY_OPT(gbc_options, INT, folds, 3, 0, 100,
              "of cross-validation; 0: none, so nothing is chosen by it: trees alone"),
    FERRY_OPT(gbc_options, INT, patience, 10, 1, 1e6,
              "stop after this many iterations without a better held-out loss"),
    BOOST_OPTS(gbc_options, grow),
};

/* ---- the model ---- */

typedef struct gbc_part {
    int64_t kind, correct;
    double share, strength;
    double power;   /* of the corrected probabilities */
    double stretch; /* linear: power of the probabilities as they come */
    bool smoothed;  /* linear: on smoothed features */
    int64_t known;  /* labelled instances at fit */
    block residual; /* known x classes: label - what was answered without it */
    learned line;
} gbc_part;
static const field part_fields[] = {
    ARRAY(gbc_part, INT, kind, .lo = 0, .hi = KINDS),
    ARRAY(gbc_part, INT, correct, .lo = CORRECT_NO, .hi = SMOOTH + 1),
    ARRAY(gbc_part, REAL, share, .lo = 0, .hi = 1.01),
    ARRAY(gbc_part, REAL, strength, .lo = 0, .hi = 1e300),
    ARRAY(gbc_part, REAL, power, .lo = 1e-9, .hi = 1e9),
    ARRAY(gbc_part, REAL, stretch, .lo = 1e-9, .hi = 1e9),
    VALUE(gbc_part, FLAG, smoothed),
    ARRAY(gbc_part, BLOCK, residual, .rows = SIZE(gbc_part, known), .cols = CLASSES),
    ARRAY(gbc_part, VARIANT, line, .among = &learners, .optional = true),
};
static const table part_table = TABLE(gbc_part, part_fields);

typedef struct gbc_state {
    outcome to;
    int64_t parts, views, graphs;
    gbc_part *part;
    forest trees;
    double *w, *wg; /* views, graphs */
    double stretch, factor;
    near_model near;
} gbc_state;
static const field gbc_fields[] = {
    ARRAY(gbc_state, STRUCT, to, .of = &outcome_table),
    VALUE(gbc_state, INT, parts),
    ARRAY(gbc_state, LIST, part, .rows = SIZE(gbc_state, parts), .of = &part_table),
    ARRAY(gbc_state, STRUCT, trees, .of = &forest_table),
    ARRAY(gbc_state, REALS, w, .rows = SIZE(gbc_state, views)),
    VALUE(gbc_state, REAL, stretch),
    VALUE(gbc_state, REAL, factor),
    ARRAY(gbc_state, REALS, wg, .rows = SIZE(gbc_state, graphs)),
    ARRAY(gbc_state, STRUCT, near, .of = &near_table, .optional = true),
};

static void gbc_check(scope *s, const void *state)
{
    const gbc_state *m = state;
    bool good = m->trees.k == m->to.k && m->trees.views == m->views && m->parts >= 1;

    for (int64_t i = 0; good && i < m->parts; i++) {
        const gbc_part *p = &m->part[i];
        good = p->share > 0 && (p->correct != SMOOTH || p->strength <= 1) &&
               (p->kind < LINE || p->kind > SELF || p->line.by) &&
               (p->kind != NEAR || (m->near.x.m && m->near.x.n == m->near.n &&
                                    m->near.k >= 1 && m->near.k < m->near.n));
    }
    for (int64_t i = 0; good && i < m->graphs; i++)
        good = m->wg[i] >= 0;
    if (!good) scope_fail(s, FERRY_EDATA, "tensors of parts: not a mixture");
}

static const table gbc_table = {sizeof(gbc_state), gbc_fields, FERRY_COUNT(gbc_fields),
                                gbc_check, NULL};

/* ---- answers and graphs ---- */

static bool has_features(const domain *d, int64_t x)
{
    return !d->there || d->there[x];
}

/* Two steps over the graphs that join what is alike: those of at least half the usual weight. *factor 0: chosen. */
static matrix smooth(scope *s, int q, const graph *g, const double *wg, matrix x,
                     double *factor)
{
    graph *used = NEW(s, graph, q);
    int n = 0;

    for (int i = 0; i < q; i++)
        if (g[i].a.m && wg[i] * q >= 0.5) used[n++] = g[i];
    return smooth_rows(s, n, used, n > 0 ? 2 : 0, take_rows(s, x, -1, NULL, false), factor);
}

/* ---- cross-validation ---- */

typedef struct job {
    const gbc_options *o;
    const domain *t;
    outcome to;
    held_out h;     /* of what follows */
    block y, truth; /* n x k, n x classes: of labelled rows */
    const uint8_t *labelled;
    uint8_t *viewless;
    int folds;
    const int32_t *fold; /* of each row; -1: no label */
    int q;               /* graphs, which near-row parts replace by their own */
    const graph *g;
    double *wg;
    bool unitless; /* weights of given graphs are in any unit, those of near rows are not */
    matrix plain, smoothed;
    double factor;
    bool additive; /* trees: ... */
    int64_t trees;
    double *w, *view_loss, stretch, constant_loss;
    /* parts: what was tried, its held-out answers as they come and as they are mixed */
    gbc_part part[KINDS];
    double loss[KINDS], C[KINDS], mixture_loss;
    block held[KINDS], mixed[KINDS];
    near_model near;
    const int64_t *near_row; /* near.n: numbers of its rows among all */
} job;

static block *fold_answers(scope *s, const job *j)
{
    block *p = NEW(s, block, j->folds);

    for (int i = 0; i < j->folds; i++)
        p[i] = block_new(s, j->t->rows, j->t->n, j->to.classes);
    return p;
}

/* held <- held-out answers with a correction: of each fold by the labels of the others, whose residuals were held out
 * in their own folds. */
static void correct_held(scope *s, const job *j, const block *p, block residual,
                         int64_t how, double strength, block held)
{
    const int64_t mark = scope_mark(s), n = j->t->n;
    uint8_t *known = NEW(s, uint8_t, n);
    const block now = block_like(s, held);
    const correction c = {how,      strength,       j->q,       j->g,
                          j->wg,    !j->to.numbers, known,      j->truth,
                          residual, j->viewless,    j->unitless};

    for (int i = 0; i < j->folds; i++) {
        copy(p[i], now);
        for (int64_t x = 0; x < n; x++)
            known[x] = j->labelled[x] && j->fold[x] != i;
        correct(s, &c, now);
        for (int64_t x = 0; x < n; x++)
            if (j->fold[x] == i)
                memcpy(ROW(held, x), ROW(now, x), (size_t)held.k * sizeof(double));
    }
    scope_release(s, mark);
}

/* The part `kind` with the correction of least held-out loss; none, unless one of them gains a unit of likelihood
 * (Akaike's price of a choice). One that the user asks for is taken whatever its loss. Losses are of the best power: far
 * neighbours make answers alike, which costs certainty, not the answer. */
static void consider(scope *s, job *j, int kind, const block *p, gbc_part part)
{
    static const struct {
        int how;
        double strength;
    } all[] = {{CORRECT_NO, 2}, {RESIDUAL, 2}, {SMOOTH, 0.2},  {SMOOTH, 0.4}, {SMOOTH, 0.6},
               {SMOOTH, 0.8},   {SMOOTH, 0.9}, {SMOOTH, 0.97}, {SMOOTH, 0.99}};
    const int64_t mark = scope_mark(s);
    const int asked = j->q > 0 ? j->o->correct : CORRECT_NO;
    const bool given = j->o->strength >= 0;
    const block held = block_like(s, j->truth), residual = block_like(s, j->truth);
    double none = INFINITY, power = 1;

    take_held(&j->h, p, j->held[kind]);
    copy(j->truth, residual);
    axpby(s, -1, j->held[kind], 1, residual);
    j->loss[kind] = INFINITY;
    part.kind = kind;
    for (int64_t c = 0; c < FERRY_COUNT(all); c++) {
        double strength = given ? j->o->strength : all[c].strength;
        if (asked != CORRECT_AUTO && asked != all[c].how) continue;
        if (given && c > 0 && all[c].how == all[c - 1].how) continue;
        if (all[c].how == SMOOTH) strength = fmin(1, strength);
        correct_held(s, j, p, residual, all[c].how, strength, held);
        const double loss = best_power(s, &j->h, held, &power);
        if (c == 0) none = loss;
        if (c > 0 && likelihood_gain(&j->h, none, loss) < 1) continue;
        if (!(loss < j->loss[kind])) continue;
        j->loss[kind] = loss;
        part.correct = all[c].how;
        part.strength = strength;
        part.power = power;
        copy(held, j->mixed[kind]);
        raise_to(j->to.numbers ? 1 : power, j->mixed[kind]);
    }
    if (part.correct == CORRECT_AUTO)
        scope_fail(s, FERRY_ENUMERIC, "gbc: no answer has a finite held-out loss");
    j->part[kind] = part;
    scope_release(s, mark);
}

/* ---- trees ---- */

static boost_options tree_run(const job *j, bool additive)
{
    boost_options o = {.rows = j->t->rows,
                       .n = j->t->n,
                       .k = j->to.k,
                       .logistic = !j->to.numbers,
                       .y = j->y,
                       .labelled = j->labelled,
                       .follow = j->labelled,
                       .key = j->t->key,
                       .views = j->t->n_views,
                       .view = j->t->view,
                       .additive = additive};

    boost_set(&j->o->grow, o.logistic, &o);
    return o;
}

/* The average always runs: it tells the skill of the views. */
static void try_trees(scope *s, job *j)
{
    const int64_t mark = scope_mark(s), views = j->t->n_views;
    const int combine = j->o->combine;
    const view_folds how = {tree_run(j, false), j->folds,         j->fold,
                            j->h.n_labelled,    j->o->grow.trees, j->o->patience};
    view_trees way[2] = {boost_folds(s, &how, false), {.loss = INFINITY}};

    if (combine != AVERAGE && views > 1) way[1] = boost_folds(s, &how, true);
    j->additive = views > 1 && (combine == ADDITIVE ||
                                (combine == COMBINE_AUTO && way[1].loss < way[0].loss));
    const view_trees *r = &way[j->additive];
    j->constant_loss = way[0].constant;
    j->trees = r->trees;
    j->stretch = r->stretch;
    memcpy(j->w, way[0].w, (size_t)views * sizeof *j->w);
    memcpy(j->view_loss, way[0].view_loss, (size_t)views * sizeof *j->w);
    block *p = fold_answers(s, j);
    for (int i = 0; i < j->folds; i++) {
        forest best;
        forest_copy(s, &r->run[i]->trees, r->trees, &best);
        boost_answers(s, &best, &j->to, j->w, j->stretch, j->t->view, p[i], NULL);
    }
    graphs_by_agreement(s, &j->h, p, j->wg);
    consider(s, j, TREES, p, (gbc_part){.stretch = 1});
    scope_release(s, mark);
}

/* ---- linear scores ---- */

/* One fit on the rows with used >= 0: their class, or any number. */
static learned fit_used(scope *s, scope *keep, const job *j, matrix x, double C,
                        const int32_t *used)
{
    const learner *by = learner_find(j->to.numbers ? "ridge" : "logreg");
    void *with = learner_defaults(s, by);
    const examples all = {.x = x,
                          .y = {.goal = j->t->y.goal,
                                .k = j->to.classes,
                                .cls = j->to.numbers ? NULL : used,
                                .num = j->to.numbers ? j->y.at : NULL},
                          .key = j->t->key};
    int64_t *rows = NEW(s, int64_t, j->t->n), n = 0;

    learner_set(by, with, "C", C);
    learner_set(by, with, "eps", 1e-2);
    learner_set(by, with, "lambda", 10 / C);
    for (int64_t i = 0; i < j->t->n; i++)
        if (used[i] >= 0) rows[n++] = i;
    const examples e = take_examples(s, &all, n, rows);
    return learn(s, keep, by, with, &e);
}

/* By all labels but those of a fold (-1: by all); self: then five times by the tenth of the other rows that it is surest
 * of, in the classes' proportions, and itself again. */
static learned fit_line(scope *s, scope *keep, const job *j, const gbc_part *part, double C,
                        int out_of)
{
    enum { ROUNDS = 5 };
    const matrix x = part->smoothed ? j->smoothed : j->plain;
    const int64_t n = j->t->n, k = j->to.classes;
    int32_t *used = NEW(s, int32_t, n);
    int64_t *quota = NEW(s, int64_t, k);
    double *count = NEW(s, double, k + 1);

    for (int64_t i = 0; i < n; i++) {
        const bool in = j->labelled[i] && j->fold[i] != out_of;
        used[i] = !in ? -1 : j->to.numbers ? 0 : j->t->known[i];
        if (in) count[used[i]]++;
        count[k] += in;
    }
    sums(s, j->t->rows, k + 1, count);
    for (int64_t c = 0; c < k; c++)
        quota[c] =
            (int64_t)ceil(0.1 * ((double)j->t->rows.n - count[k]) * count[c] / count[k]);
    for (int round = 0; part->kind == SELF && round < ROUNDS; round++) {
        const learned m = fit_used(s, s, j, x, C, used);
        const block g = answer(s, &m, x);
        int32_t *cls = argmax(s, g);
        for (int64_t i = 0; i < n; i++)
            if (used[i] >= 0 || !has_features(j->t, i)) cls[i] = -1;
        const uint8_t *take =
            top_rows(s, j->t->rows, n, cls, margins(s, g), j->t->key, k, quota);
        for (int64_t i = 0; i < n; i++)
            if (take[i]) used[i] = cls[i];
    }
    return fit_used(s, keep, j, x, C, used);
}

/* p <- the answers of the folds, with the stretch of the least held-out loss: a model with a small cost is right more
 * often than it says, and graphs would mix its answers with labels that are sure. That loss. */
static double answer_folds(scope *s, const job *j, gbc_part *part, double C, block *p)
{
    const int64_t mark = scope_mark(s);
    const block held = block_like(s, j->truth);

    for (int i = 0; i < j->folds; i++) {
        const int64_t own = scope_mark(s);
        const learned m = fit_line(s, s, j, part, C, i);
        copy(answer(s, &m, part->smoothed ? j->smoothed : j->plain), p[i]);
        scope_release(s, own);
    }
    take_held(&j->h, p, held);
    const double loss = best_power(s, &j->h, held, &part->stretch);
    for (int i = 0; i < j->folds && !j->to.numbers; i++)
        raise_to(part->stretch, p[i]);
    scope_release(s, mark);
    return loss;
}

/* p <- of the best cost: the usual, 10, unless another is better by a unit of likelihood. */
static void best_line(scope *s, job *j, gbc_part *part, block *p)
{
    static const double costs[] = {10, 1, 0.1, 100};
    double usual = INFINITY, least = INFINITY;
    block *now = fold_answers(s, j);

    for (int64_t c = 0; c < FERRY_COUNT(costs); c++) {
        gbc_part one = *part;
        const double loss = answer_folds(s, j, &one, costs[c], now);
        (void)progress(s, "gbc: linear", c + 1, FERRY_COUNT(costs), NAN);
        if (c == 0) usual = loss;
        if (!(loss < least) || (c > 0 && likelihood_gain(&j->h, usual, loss) < 1)) continue;
        least = loss;
        *part = one;
        j->C[part->kind] = costs[c];
        for (int i = 0; i < j->folds; i++)
            copy(now[i], p[i]);
    }
    if (!isfinite(least))
        scope_fail(s, FERRY_ENUMERIC, "gbc: no linear score has a finite held-out loss");
}

/* Plain features, features smoothed two steps over the graphs, and the better of the two self-trained. */
static void try_lines(scope *s, job *j)
{
    gbc_part part = {.kind = LINE, .stretch = 1, .power = 1};
    block *p = fold_answers(s, j);
    int best = LINE;

    best_line(s, j, &part, p);
    if (j->o->learner == LINEAR) graphs_by_agreement(s, &j->h, p, j->wg);
    consider(s, j, LINE, p, part);
    if (j->q > 0) {
        j->smoothed = smooth(s, j->q, j->g, j->wg, j->plain, &j->factor);
        part = (gbc_part){.kind = SMOOTHED, .stretch = 1, .power = 1, .smoothed = true};
        best_line(s, j, &part, p);
        consider(s, j, SMOOTHED, p, part);
        if (j->loss[SMOOTHED] < j->loss[LINE]) best = SMOOTHED;
    }
    if (j->to.numbers) return;
    part = j->part[best];
    part.kind = SELF;
    part.correct = CORRECT_AUTO;
    j->C[SELF] = j->C[best];
    (void)answer_folds(s, j, &part, j->C[SELF], p);
    consider(s, j, SELF, p, part);
}

/* p <- the mean of the labels that the fold may see (-1: of all). */
static void put_prior(scope *s, const job *j, int out_of, block p)
{
    double *prior = NEW(s, double, p.k + 1);

    for (int64_t x = 0; x < p.n; x++) {
        if (!j->labelled[x] || j->fold[x] == out_of) continue;
        prior[p.k]++;
        for (int64_t c = 0; c < p.k; c++)
            prior[c] += ROW(j->truth, x)[c];
    }
    sums(s, p.rows, p.k + 1, prior);
    for (int64_t e = 0; e < p.n * p.k; e++)
        p.at[e] = prior[e % p.k] / fmax(prior[p.k], 1);
    scope_drop(s, prior);
}

static void try_labels(scope *s, job *j, int kind)
{
    const int64_t mark = scope_mark(s);
    block *p = fold_answers(s, j);

    for (int i = 0; i < j->folds; i++)
        put_prior(s, j, i, p[i]);
    consider(s, j, kind, p, (gbc_part){.stretch = 1});
    scope_release(s, mark);
}

/* ---- nearest rows ---- */

enum { MOST_ROWS = 10000, MOST_CELLS = 10000000, MOST_NEAR = 20 };

/* The rows with features of all processes; false: too few, or more than a model should keep. */
static bool near_rows(scope *s, job *j)
{
    int64_t *rows = NEW(s, int64_t, j->t->n), *number = NEW(s, int64_t, j->t->n), n = 0;

    for (int64_t i = 0; i < j->t->n; i++)
        if (has_features(j->t, i)) {
            number[n] = j->t->rows.first + i;
            rows[n++] = i;
        }
    const double all = sum(s, j->t->rows, (double)n),
                 cells = sum(s, j->t->rows, (double)stored(j->plain));
    if (all < 3 || all > MOST_ROWS || cells > MOST_CELLS) return false;
    const layout these = {.n = (int64_t)all, .spread = j->t->rows.spread};
    j->near_row = replicate_items(s, these, n, sizeof *number, number);
    j->near.x = replicate_rows(s, take_rows(s, j->plain, n, rows, false));
    j->near.n = (int64_t)all;
    j->near.cols = j->plain.cols;
    return true;
}

/* Answers of all rows from the mean of the labels, over the graph; kept for the near rows. */
static void keep_near(scope *s, job *j, int64_t k, const double *dist)
{
    const gbc_part *part = &j->part[NEAR];
    const block all = block_like(s, j->truth), residual = block_like(s, j->truth);
    const correction c = {part->correct, part->strength, j->q,        j->g,
                          j->wg,         !j->to.numbers, j->labelled, j->truth,
                          residual,      j->viewless,    j->unitless};

    put_prior(s, j, -2, all);
    copy(j->truth, residual);
    axpby(s, -1, all, 1, residual);
    correct(s, &c, all);
    const block here = replicate(s, all);
    j->near.answers = block_new(s, HERE(j->near.n), j->near.n, all.k);
    j->near.scale = NEW(s, double, j->near.n);
    for (int64_t i = 0; i < j->near.n; i++) {
        memcpy(ROW(j->near.answers, i), ROW(here, j->near_row[i]),
               (size_t)all.k * sizeof(double));
        j->near.scale[i] = dist[i * k + j->near.k - 1];
    }
}

/* 20, 5 or 10 neighbours, by held-out loss (a part is kept as it was tried last). */
static void try_near(scope *s, job *j)
{
    static const int64_t counts[] = {20, 5, 10};
    job own = *j;
    double least = INFINITY, one = 1;
    int64_t best = 0, last = 0;

    if (!near_rows(s, &own)) return;
    const int64_t k = own.near.n - 1 < MOST_NEAR ? own.near.n - 1 : MOST_NEAR;
    int64_t *index = NEW(s, int64_t, own.near.n * k);
    double *dist = NEW(s, double, own.near.n *k);
    find_near(s, own.near.x, k, index, dist);
    own.q = 1;
    own.wg = &one;
    own.unitless = false;
    for (int t = 0; t < 4; t++) {
        const int64_t use = t == 3 ? best : counts[t] < k ? counts[t] : k;
        if (t == 3 && last == best) break;
        const graph g = near_graph(s, own.near.n, own.near_row, j->t->rows, j->t->n, k, use,
                                   index, dist);
        own.g = &g;
        try_labels(s, &own, NEAR);
        own.near.k = last = use;
        if (t < 3 && own.loss[NEAR] <= least) {
            least = own.loss[NEAR];
            best = use;
        }
        if (t == 3 || (t == 2 && last == best)) keep_near(s, &own, k, dist);
    }
    j->near = own.near;
    j->near_row = own.near_row;
    j->part[NEAR] = own.part[NEAR];
    j->loss[NEAR] = own.loss[NEAR];
}

/* ---- the mixture ---- */

/* Parts of less than a twentieth are not worth their fit. */
static void mix(scope *s, job *j)
{
    double share[KINDS], before[KINDS], loss[KINDS], total = 0, power = 1;
    block p[KINDS];
    int parts = 0, kind[KINDS];
    const block held = block_like(s, j->truth);

    for (int k = 0; k < KINDS; k++)
        if (isfinite(j->loss[k])) kind[parts++] = k;
    for (int k = 0; k < parts; k++)
        share[k] = 1 / (double)parts;
    /* what is believed beforehand: 16 for a plain linear score, 4 for it self-trained */
    for (int k = 0; k < parts; k++) {
        p[k] = j->mixed[kind[k]];
        loss[k] = j->loss[kind[k]];
        before[k] = kind[k] == LINE ? 16 : kind[k] == SELF ? 4 : 1;
    }
    if (j->to.numbers)
        mix_numbers(s, &j->h, parts, p, share);
    else
        mix_classes(s, &j->h, parts, p, before, loss, share);
    for (int k = 0; k < parts; k++)
        total += share[k] >= 0.05 ? share[k] : 0;
    for (int k = 0; k < parts; k++) {
        if (share[k] < 0.05) continue;
        j->part[kind[k]].share = share[k] / total;
        axpby(s, share[k] / total, j->mixed[kind[k]], 1, held);
    }
    j->mixture_loss = best_power(s, &j->h, held, &power);
}

/* ---- fit ---- */

static void begin(scope *s, const domain *t, const gbc_options *o, job *j)
{
    int32_t *cls = NEW(s, int32_t, t->n);
    const double *weight = NULL;

    *j = (job){
        .o = o, .t = t, .q = t->n_graphs, .g = t->graph, .unitless = true, .stretch = 1};
    j->to = outcome_of(s, t->rows, t->n, &t->y, &weight, &j->y, &j->labelled);
    j->truth = block_new(s, t->rows, t->n, j->to.classes);
    j->viewless = NEW(s, uint8_t, t->n);
    j->w = NEW(s, double, t->n_views);
    j->view_loss = NEW(s, double, t->n_views);
    j->wg = NEW(s, double, t->n_graphs);
    j->trees = o->grow.trees;
    j->mixture_loss = j->constant_loss = NAN;
    j->additive = o->combine == ADDITIVE && t->n_views > 1;
    for (int64_t x = 0; x < t->n; x++) {
        if (j->labelled[x]) outcome_truth(&j->to, ROW(j->y, x), ROW(j->truth, x));
        j->viewless[x] = !has_features(t, x);
        cls[x] = !j->labelled[x] ? -1 : j->to.numbers ? 0 : t->known[x];
    }
    for (int v = 0; v < t->n_views; v++)
        j->w[v] = 1 / (double)t->n_views;
    for (int g = 0; g < t->n_graphs; g++)
        j->wg[g] = 1 / (double)t->n_graphs;
    for (int k = 0; k < KINDS; k++) {
        j->loss[k] = INFINITY;
        j->held[k] = block_like(s, j->truth);
        j->mixed[k] = block_like(s, j->truth);
    }
    if (o->folds >= 2 && t->labelled >= o->folds) j->folds = (int)o->folds;
    j->fold = stratified_folds(s, t->rows, t->n, cls, t->key, j->folds ? j->folds : 1);
    j->h = (held_out){.numbers = j->to.numbers,
                      .truth = j->truth,
                      .labelled = j->labelled,
                      .n_labelled = (double)t->labelled,
                      .q = j->q,
                      .g = j->g,
                      .folds = j->folds,
                      .fold = j->fold};
    if (j->folds > 0 || o->learner == LINEAR) j->plain = side_by_side(s, t);
}

/* Without cross-validation. */
static void as_asked(job *j)
{
    const int kind = j->o->learner == LINEAR ? LINE : TREES;
    const int how = j->o->correct == CORRECT_AUTO ? CORRECT_NO : j->o->correct;
    const double usual = how == SMOOTH ? 0.5 : 2;
    const double strength = j->o->strength >= 0 ? j->o->strength : usual;

    j->C[kind] = 10;
    j->part[kind] = (gbc_part){.kind = kind,
                               .correct = how,
                               .share = 1,
                               .strength = how == SMOOTH ? fmin(1, strength) : strength,
                               .power = 1,
                               .stretch = 1};
}

static void decide_parts(scope *s, job *j)
{
    const int learner_of = j->o->learner;

    if (j->folds == 0) {
        as_asked(j);
        return;
    }
    if (learner_of != LINEAR) try_trees(s, j);
    if (learner_of != TREE) try_lines(s, j);
    if (learner_of == ANY_LEARNER && j->o->correct != CORRECT_NO) {
        if (j->q > 0) try_labels(s, j, LABELS);
        try_near(s, j);
    }
    mix(s, j);
}

static void fit_trees(scope *s, scope *keep, const job *j, gbc_state *m)
{
    const boost_options o = tree_run(j, j->additive);
    boost *b = boost_new(s, &o);
    double objective = NAN;
    bool finish = false;

    for (int64_t t = 0; t < j->trees && !finish; t++) {
        boost_step(s, b);
        objective = 0;
        for (int64_t v = 0; v < b->owners; v++)
            if (!isnan(b->loss[v])) objective += (j->additive ? 1 : j->w[v]) * b->loss[v];
        finish = progress(s, "gbc", t + 1, j->trees, objective);
    }
    forest_copy(keep, &b->trees, b->trees.n, &m->trees);
    report_fit(s, b->trees.n, objective,
               finish                        ? FERRY_STOP_FINISH
               : j->trees < j->o->grow.trees ? FERRY_STOP_TOL
                                             : FERRY_STOP_MAX_ITER);
}

/* Residuals of held-out answers, or of the fit itself where nothing was held out; of labelled rows in their order. */
static void keep_residuals(scope *s, scope *keep, const job *j, const gbc_state *m,
                           gbc_part *part)
{
    const int64_t c = j->to.classes;
    block from = j->held[part->kind];

    part->known = j->t->labelled;
    part->residual = block_new(keep, HERE(part->known), part->known, c);
    if (part->correct != RESIDUAL || part->kind == NEAR) return;
    if (j->folds == 0 && part->line.by) from = answer(s, &part->line, j->plain);
    if (j->folds == 0 && !part->line.by) {
        from = block_like(s, j->truth);
        boost_answers(s, &m->trees, &j->to, j->w, 1, j->t->view, from, NULL);
    }
    for (int64_t x = 0; x < j->t->n; x++)
        for (int64_t k = 0; j->labelled[x] && k < c; k++)
            ROW(part->residual, j->t->at[x])[k] = ROW(j->truth, x)[k] - ROW(from, x)[k];
    sums(s, j->t->rows, part->known * c, part->residual.at);
}

/* Diagnostic "importance": the ten features with the largest share of the gain of all splits. */
static void report_importance(scope *s, const problem *p, const forest *f)
{
    enum { TOP = 10 };
    int64_t feature[TOP];
    const char *name[TOP];
    double share[TOP];
    const int n = top_features(s, f, TOP, feature, share);

    for (int i = 0; i < n; i++)
        name[i] = column_name(s, p, feature[i]);
    if (n > 0) report_named(s, "importance", n, name, share);
}

static void report_model(scope *s, const job *j, const gbc_state *m)
{
    const domain *t = j->t;
    const char **name = NEW(s, const char *, KINDS + t->n_views + t->n_graphs);
    double share[KINDS];
    char *text = scope_text(s, "%s", "");

    for (int64_t i = 0; i < m->parts; i++) {
        const gbc_part *p = &m->part[i];
        name[i] = kind_names[p->kind];
        share[i] = p->share;
        text = scope_text(s, "%s%s%.2f %s", text, i ? ", " : "", p->share, name[i]);
        if (p->correct > CORRECT_NO)
            text =
                scope_text(s, "%s (%s %.2g)", text, correct_names[p->correct], p->strength);
    }
    report_named(s, "parts", m->parts, name, share);
    for (int v = 0; v < t->n_views; v++) {
        name[v] = t->view[v].name;
        if (m->trees.n > 0 && !j->additive)
            text = scope_text(s, "%s%s%s %.2f", text, v ? ", " : "; weights of views ",
                              name[v], j->w[v]);
    }
    if (j->additive) text = scope_text(s, "%s; views add up to one score", text);
    report_named(s, "weights", t->n_views, name, j->w);
    if (isfinite(j->constant_loss))
        report_named(s, "held_out_loss", t->n_views, name, j->view_loss);
    for (int g = 0; g < t->n_graphs; g++) {
        name[g] = t->graph[g].name;
        if (g < 8)
            text = scope_text(s, "%s%s%s %.2f", text, g ? ", " : "; of graphs ", name[g],
                              j->wg[g]);
    }
    if (t->n_graphs > 0) report_named(s, "graph_weights", t->n_graphs, name, j->wg);
    if (m->trees.n > 0)
        text = scope_text(s, "%s; %lld trees a view", text, (long long)m->trees.n);
    report_text(s, "note", text);
    report_text(s, "combine", j->additive ? "additive" : "average");
    report_real(s, "trees", (double)m->trees.n);
    if (isfinite(j->mixture_loss)) report_real(s, "loss", j->mixture_loss);
    if (isfinite(j->constant_loss)) report_real(s, "constant_loss", j->constant_loss);
}

static void gbc_fit(scope *s, scope *keep, const problem *p, const void *options,
                    void *state)
{
    const domain *t = target(p);
    gbc_state *m = state;
    job *j = NEW(s, job, 1);

    begin(s, t, options, j);
    decide_parts(s, j);
    *m = (gbc_state){.to = j->to,
                     .views = t->n_views,
                     .graphs = t->n_graphs,
                     .w = COPY(keep, j->w, t->n_views),
                     .wg = COPY(keep, j->wg, t->n_graphs),
                     .stretch = j->stretch,
                     .factor = j->factor};
    m->part = NEW(keep, gbc_part, KINDS);
    forest_new(keep, t->n_views, j->to.k, &m->trees);
    for (int v = 0; v < t->n_views; v++)
        m->trees.cols[v] = t->view[v].x.cols;
    for (int k = 0; k < KINDS; k++) {
        if (!(j->part[k].share > 0)) continue;
        gbc_part *part = &m->part[m->parts++];
        *part = j->part[k];
        if (k == TREES) fit_trees(s, keep, j, m);
        if (k >= LINE && k <= SELF) part->line = fit_line(s, keep, j, part, j->C[k], -2);
        if (k == NEAR) {
            m->near = j->near;
            m->near.x = matrix_keep(keep, j->near.x);
            m->near.answers = block_new(keep, HERE(j->near.n), j->near.n, j->to.classes);
            copy(j->near.answers, m->near.answers);
            m->near.scale = COPY(keep, j->near.scale, j->near.n);
        }
        keep_residuals(s, keep, j, m, part);
    }
    report_model(s, j, m);
    report_importance(s, p, &m->trees);
}

/* What a part counts in the mixture. Labels alone say nothing where no graph spreads them. */
static double share_of(const gbc_state *m, const gbc_part *part, bool graphs)
{
    double alone = 0;

    for (int64_t i = 0; i < m->parts; i++)
        if (m->part[i].kind == LABELS) alone = m->part[i].share;
    if (graphs || alone == 0 || m->parts == 1) return part->share;
    return part->kind == LABELS ? 0 : part->share / (1 - alone);
}

/* What the part says of each row, before graphs correct it. */
static void part_answers(scope *s, const gbc_state *m, const gbc_part *part,
                         const domain *d, matrix plain, block to)
{
    for (int64_t x = 0; x < d->n; x++)
        for (int64_t c = 0; c < to.k; c++)
            ROW(to, x)
    [c] = m->to.numbers ? (d->prior[0] - m->to.mean) / m->to.sd : d->prior[c];
    if (part->kind == TREES)
        boost_answers(s, &m->trees, &m->to, m->w, m->stretch, d->view, to, NULL);
    if (part->kind == NEAR) near_answers(s, &m->near, d->there, plain, to);
    if (part->kind < LINE || part->kind > SELF) return;
    double factor = m->factor;
    const matrix x =
        part->smoothed ? smooth(s, d->n_graphs, d->graph, m->wg, plain, &factor) : plain;
    learned_scores(s, &part->line, x, to);
    raise_to(m->to.numbers ? 1 : part->stretch, to);
}

static void gbc_scores(scope *s, const void *state, const domain *d, block out)
{
    const gbc_state *m = state;
    const matrix plain = side_by_side(s, d);
    const block truth = block_like(s, out), residual = block_like(s, out),
                answers = block_like(s, out);
    uint8_t *known = NEW(s, uint8_t, d->n), *viewless = NEW(s, uint8_t, d->n);
    bool graphs = false;

    forest_serves(s, &m->trees, d);
    if (d->n_graphs != m->graphs)
        scope_fail(s, FERRY_EDATA, "tensor wg: %lld graphs, not %d", (long long)m->graphs,
                   d->n_graphs);
    for (int g = 0; g < d->n_graphs; g++)
        graphs = graphs || d->graph[g].a.m;
    for (int64_t x = 0; x < d->n; x++) {
        known[x] = d->at[x] >= 0;
        viewless[x] = !has_features(d, x);
        for (int64_t c = 0; known[x] && c < out.k; c++)
            ROW(truth, x)
        [c] = m->to.numbers ? (d->y.num[x] - m->to.mean) / m->to.sd : d->known[x] == c;
    }
    for (int64_t i = 0; i < m->parts; i++) {
        const gbc_part *part = &m->part[i];
        const double share = share_of(m, part, graphs);
        /* nearest rows were corrected in the fit, over a graph of their own */
        const int64_t how = part->kind == NEAR ? CORRECT_NO : part->correct;
        const correction c = {how,      part->strength, d->n_graphs, d->graph,
                              m->wg,    !m->to.numbers, known,       truth,
                              residual, viewless,       true};
        part_answers(s, m, part, d, plain, answers);
        for (int64_t x = 0; x < d->n; x++)
            if (known[x] && d->at[x] < part->known)
                memcpy(ROW(residual, x), ROW(part->residual, d->at[x]),
                       (size_t)out.k * sizeof(double));
        correct(s, &c, answers);
        /* the power makes up for what graphs flatten: without them there is nothing of that */
        if (!m->to.numbers && (graphs || how == CORRECT_NO)) raise_to(part->power, answers);
        axpby(s, share, answers, 1, out);
    }
    outcome_rescale(&m->to, out);
}

static void gbc_fits(scope *s, const problem *shape, const void *options)
{
    const domain *t = target(shape);

    (void)options;
    if (t->n_views + t->n_graphs < 2)
        scope_fail(s, FERRY_ENEEDS,
                   "gbc needs several views, or a view and a graph; target '%s' "
                   "has one view (gbdt does that)",
                   t->name);
}

const method method_gbc = {
    .name = "gbc",
    .summary = "gradient boosting consensus over views that lack instances, and graphs",
    .reference = "Shi, Heterogeneous Learning and Its Applications, PhD thesis 2013, "
                 "chapter 3",
    .kind = FERRY_KIND_TRANSFER,
    .basis = true,
    .goals = FERRY_CLASSIFY | FERRY_REGRESS,
    .needs = FERRY_NEED_TARGET_VIEW | FERRY_NEED_TARGET_LABELS,
    .wants = {.as = VIEWS_APART,
              .domains = WANT_TARGET,
              .graphs = ANY_GRAPHS,
              .missing = true},
    METHOD_OPTIONS(gbc_opts, gbc_options),
    .state = &gbc_table,
    .fits = gbc_fits,
    .fit = gbc_fit,
    .scores = gbc_scores,
};
