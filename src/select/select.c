/* Training a selector, and ranking with it. Training takes every domain besides the target in turn as source, bridge and
 * target of a triple, since these have labels to judge by. Ranking then puts the real target, whose labels nobody
 * knows, in the place of T. */
#include "select/select.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "linalg/blas.h"

static const ferry_opt select_table[] = {
    FERRY_OPT(select_options, INT, sample, 500, 4, 1e6,
              "instances of each domain, drawn twice without overlap; at most half of it"),
    FERRY_OPT(select_options, REAL, t, 1.03, 0, 1e6,
              "a triple is positive when acc_sit > t acc_st"),
    FERRY_OPT_ONE_OF(select_options, propagation, "rbf|knn", "rbf",
                     "weights of the neighbour graph: rbf of the distance, or all 1"),
    FERRY_OPT(select_options, INT, neighbours, 10, 1, 1000, "neighbours of an instance"),
    FERRY_OPT(select_options, REAL, tail, 0.1, 0, 1,
              "complexity: a feature in less than this share of instances is rare"),
    FERRY_OPT(select_options, REAL, C, 1, 1e-9, 1e9,
              "A-distance: cost of the logistic regression that tells two domains apart"),
    FERRY_OPT_STRING(select_options, view, "", "the view to compare, if there are several"),
};
const ferry_opt_table ferry_i_select_options = {select_table, FERRY_COUNT(select_table)};

/* ---- what all calls share ---- */

ferry_status select_make(ferry_ctx *ctx, void (*body)(scope *s, void *arg),
                         select_making *a)
{
    a->keep = scope_open(ctx);
    const ferry_status st = a->keep ? scope_run(ctx, body, a) : ferry_i_nomem(ctx);
    if (st != FERRY_OK) {
        scope_close(a->keep);
        a->selector = NULL;
        a->selection = NULL;
    }
    return st;
}

void ferry_i_selector_free(ferry_selector *s)
{
    if (s) scope_close(s->keep);
}

void ferry_selection_free(ferry_selection *s)
{
    if (s) scope_close(s->keep);
}

static void free_task(void *task)
{
    ferry_task_free(task);
}

ferry_task *own_task(scope *s, ferry_task *task)
{
    scope_defer(s, free_task, task);
    return task;
}

const ferry_task *select_task(scope *s, const ferry_task *task)
{
    ferry_task *resolved = NULL;

    if (task->goal != FERRY_CLASSIFY)
        scope_fail(s, FERRY_ENEEDS, "select works for goal classify, not %s",
                   ferry_goal_name(task->goal));
    scope_check(s, ferry_i_task_resolved(scope_ctx(s), task, &resolved));
    return own_task(s, resolved);
}

ferry_selection *new_selection(scope *keep, const ferry_task *task)
{
    ferry_selection *to = NEW(keep, ferry_selection, 1);
    const ferry_domain *t = NULL;

    scope_check(keep, ferry_i_task_target(scope_ctx(keep), task, &t));
    *to = (ferry_selection){.keep = keep,
                            .task = scope_text(keep, "%s", task->name),
                            .target = scope_text(keep, "%s", t->name),
                            .candidates = ferry_i_task_count_role(task, FERRY_INTERMEDIATE),
                            .against = -1,
                            .lines = ""};
    if (to->candidates == 0 || ferry_i_task_count_role(task, FERRY_SOURCE) == 0)
        scope_fail(keep, FERRY_ENEEDS,
                   "select needs a source and the candidates as intermediate domains");
    return to;
}

/* ---- training ---- */

/* The gain of a triple: how much better T is reached by way of I. */
static double ratio(const select_triple *t)
{
    return t->sit / fmax(t->st, 1e-9);
}

/* Equation (4)'s label. A margin above 1, since small gains are noise. */
static bool positive(const select_triple *t, double threshold)
{
    return t->sit > threshold * t->st;
}

/* Do the labels repeat? The same triples on instances that training did not use. */
static void compare(int64_t n, const select_triple *a, const select_triple *b, double t,
                    select_trust *trust)
{
    double first = 0, second = 0, both = 0, ma = 0, mb = 0, aa = 0, bb = 0, ab = 0;

    for (int64_t i = 0; i < n; i++) {
        first += positive(&a[i], t);
        second += positive(&b[i], t);
        both += positive(&a[i], t) && positive(&b[i], t);
        ma += ratio(&a[i]) / (double)n;
        mb += ratio(&b[i]) / (double)n;
    }
    for (int64_t i = 0; i < n; i++) {
        aa += pow(ratio(&a[i]) - ma, 2);
        bb += pow(ratio(&b[i]) - mb, 2);
        ab += (ratio(&a[i]) - ma) * (ratio(&b[i]) - mb);
    }
    trust->again = second;
    trust->both = both;
    /* Expected in both if the two samples had nothing to do with each other. */
    trust->chance = first * second / (double)n;
    trust->correlation = aa > 0 && bb > 0 ? ab / sqrt(aa * bb) : NAN;
}

/* Fit the logistic model on all triples, and keep what is needed to judge it: how common positives are, how large gains
 * are, how well held-out triples are told. */
static void learn_triples(scope *s, const select_set *set, int64_t n,
                          const select_triple *t, ferry_selector *to)
{
    double *c = NEW(s, double, n *SELECT_FEATURES);
    uint8_t *y = NEW(s, uint8_t, n);
    int64_t *target = NEW(s, int64_t, n), ones = 0;
    select_trust *trust = &to->trust;

    for (int64_t i = 0; i < n; i++) {
        triple_features(set, t[i].s, t[i].i, t[i].t, c + i * SELECT_FEATURES);
        y[i] = positive(&t[i], to->o.t);
        target[i] = t[i].t;
        ones += y[i];
    }
    /* A logistic model of one class has no maximum but "always". */
    const bool all = ones == n;
    if (ones == 0 || all)
        scope_fail(
            s, FERRY_EDATA,
            "select: %s of the %lld triples has acc_sit > %g acc_st, so there is nothing to learn; try %s t",
            all ? "every one" : "none", (long long)n, to->o.t,
            all ? "a larger" : "a smaller");
    for (int64_t i = 0; i < n; i++) {
        trust->direct += t[i].st / (double)n;
        trust->gain += ratio(&t[i]) / (double)n;
    }
    for (int64_t i = 0; i < n; i++)
        trust->gain_sd += pow(ratio(&t[i]) - trust->gain, 2) / (double)n;
    trust->gain_sd = sqrt(trust->gain_sd);
    trust->domains = (double)set->n;
    trust->triples = (double)n;
    trust->positive = (double)ones;
    to->m = select_fit(s, n, c, y);
    select_check(s, n, c, y, target, trust);
}

/* The first sample of every domain trains, the second only tells whether the same triples come out positive on other
 * instances: a label that does not repeat cannot be learned. */
static void train_body(scope *s, void *arg)
{
    select_making *a = arg;
    int64_t n = 0, again = 0, labelled = 0;

    scope_bind(a->keep, s);
    ferry_selector *to = a->selector = NEW(a->keep, ferry_selector, 1);
    to->keep = a->keep;
    scope_check(s, ferry_i_task_call(scope_ctx(s), "train", a->task, a->opts));
    scope_check(s, ferry_i_blas_ready(scope_ctx(s)));
    scope_check(s, ferry_i_opts_parse(scope_ctx(s), "select", select_table,
                                      FERRY_COUNT(select_table), a->opts, &to->o));
    to->o.view = scope_text(a->keep, "%s", to->o.view);
    const ferry_task *task = select_task(s, a->task);
    for (int64_t i = 0; i < task->n_domains; i++)
        labelled += task->domains[i]->role != FERRY_TARGET && task->domains[i]->labels;
    if (labelled < 2 || task->n_domains < 4)
        scope_fail(
            s, FERRY_ENEEDS,
            "select learns from the domains besides the target: it needs three or more, two "
            "of them with labels; this task has %lld with labels. Or give it a selector "
            "that was trained elsewhere",
            (long long)labelled);
    const select_set set = measured_domains(s, task, &to->o, false);
    const select_triple *t = labelled_triples(s, &set, 0, &to->o, &n);
    learn_triples(s, &set, n, t, to);
    /* A triple may drop out of one sample (a target without known classes there); then the two lists do not match line
     * by line, and nothing is compared. */
    const select_triple *second = labelled_triples(s, &set, 1, &to->o, &again);
    to->trust.again = to->trust.both = to->trust.chance = to->trust.correlation = NAN;
    if (again == n) compare(n, t, second, to->o.t, &to->trust);
}

ferry_status ferry_i_selector_train(ferry_ctx *ctx, const ferry_task *task,
                                    const ferry_opts *opts, ferry_selector **out)
{
    FERRY_ARGS_OUT(ctx, out, out, task);

    select_making a = {.task = task, .opts = opts};
    const ferry_status st = select_make(ctx, train_body, &a);
    ferry_i_task_call_end(ctx, task);
    *out = a.selector;
    return st;
}

/* ---- ranking ---- */

/* Chains are kept up to so many of each length. */
enum { KEPT = 20 };

/* Bridges before chains, likelier ones first; equal ones by name, so that the order never depends on chance. */
static int by_rank(const void *a, const void *b)
{
    const ferry_way *x = a, *y = b;

    if (x->n != y->n) return x->n < y->n ? -1 : 1;
    if (x->probability != y->probability) return x->probability > y->probability ? -1 : 1;
    for (int64_t i = 0; i < x->n; i++) {
        const int c = strcmp(x->domain[i], y->domain[i]);
        if (c) return c;
    }
    return strcmp(x->source, y->source);
}

/* A search along chains; source and target are numbers in the set, whose domains are called name[i]; longest: most
 * bridges of a chain. */
typedef struct search {
    const select_set *set;
    const select_model *m;
    int64_t source, target, longest;
    const char **name;
    ferry_selection *out;
} search;

/* Equation (3) for one triple. */
static double f_of(const search *q, int64_t s, int64_t i, int64_t t)
{
    double c[SELECT_FEATURES];

    triple_features(q->set, s, i, t, c);
    return select_f(q->m, c);
}

/* All bridges, but of the chains of each length only the best: there are as many as domains to the power of their
 * length. A chain has no six numbers of its own, only those of its triples. */
static void keep_way(const search *q, int64_t n, const int64_t *path, double p)
{
    ferry_selection *to = q->out;
    ferry_way way = {.source = q->name[q->source],
                     .target = to->target,
                     .n = n,
                     .probability = p,
                     .q = NAN,
                     .q_sd = NAN,
                     .source_kappa = NAN,
                     .bridge_reliability = NAN,
                     .reliability = NAN};
    int64_t worst = -1, same = 0;

    for (int64_t i = 0; i < n && i < SELECT_LONGEST; i++)
        way.domain[i] = q->name[path[i]];
    if (n == 1) triple_features(q->set, q->source, path[0], q->target, way.feature);
    for (int64_t i = 0; n > 1 && i < to->n; i++) {
        if (to->way[i].n != n) continue;
        same++;
        if (worst < 0 || by_rank(&to->way[i], &to->way[worst]) > 0) worst = i;
    }
    if (same >= KEPT) {
        if (by_rank(&way, &to->way[worst]) < 0) to->way[worst] = way;
        return;
    }
    if (to->n == to->cap)
        to->way = scope_grow(to->keep, to->way, to->cap = 2 * to->cap + 8, sizeof way);
    to->way[to->n++] = way;
}

/* Every simple chain that begins with path[0 .. n): the product p of f over the triples (S, D1, D2), (D1, D2, D3) ... so
 * far, closed by the one that ends in T. Only intermediate domains, each at most once. The first step has no complete
 * triple yet, so its factor is 1. */
static void extend(const search *q, int64_t n, int64_t *path, double p)
{
    const int64_t before = n >= 2 ? path[n - 2] : q->source;

    if (n > 0) keep_way(q, n, path, p * f_of(q, before, path[n - 1], q->target));
    if (n == q->longest || n >= SELECT_LONGEST) return;
    for (int64_t d = 0; d < q->set->n; d++) {
        bool used = q->set->d[d].role != FERRY_INTERMEDIATE;
        for (int64_t i = 0; i < n; i++)
            used = used || path[i] == d;
        if (used) continue;
        path[n] = d;
        extend(q, n + 1, path, n > 0 ? p * f_of(q, before, path[n - 1], d) : 1);
    }
}

/* Measure all domains once; then every chain is a product of numbers at hand. */
static void select_body(scope *s, void *arg)
{
    select_making *a = arg;
    int64_t path[SELECT_LONGEST];

    scope_bind(a->keep, s);
    scope_check(s, ferry_i_blas_ready(scope_ctx(s)));
    if (a->longest < 1 || a->longest > SELECT_LONGEST)
        scope_fail(s, FERRY_EINVAL, "select: chains of up to %lld domains, expected 1 to 3",
                   (long long)a->longest);
    const ferry_task *task = select_task(s, a->task);
    ferry_selection *to = a->selection = new_selection(a->keep, task);
    if (pow((double)to->candidates, (double)a->longest) > 1e8)
        scope_fail(s, FERRY_ENEEDS,
                   "select: %lld candidates have too many chains of %lld; look at shorter "
                   "ones",
                   (long long)to->candidates, (long long)a->longest);
    /* The evidence for the order goes with it, so that no table is shown without. */
    to->trust = a->by->trust;
    to->m = a->by->m;
    to->t = a->by->o.t;
    const select_set set = measured_domains(s, task, &a->by->o, true);
    search q = {.set = &set,
                .m = &a->by->m,
                .longest = a->longest,
                .name = NEW(a->keep, const char *, set.n),
                .out = to};
    for (int64_t i = 0; i < set.n; i++) {
        q.name[i] = scope_text(a->keep, "%s", set.d[i].name);
        if (set.d[i].role == FERRY_TARGET) q.target = i;
    }
    for (q.source = 0; q.source < set.n; q.source++) {
        if (set.d[q.source].role != FERRY_SOURCE) continue;
        (void)progress(s, "chains", q.source + 1, set.n, NAN);
        extend(&q, 0, path, 1);
    }
    if (to->n > 1) qsort(to->way, (size_t)to->n, sizeof *to->way, by_rank);
}

ferry_status ferry_i_select(ferry_ctx *ctx, const ferry_selector *selector,
                            const ferry_task *task, int64_t longest, ferry_selection **out)
{
    FERRY_ARGS_OUT(ctx, out, out, selector, task);

    select_making a = {.task = task, .by = selector, .longest = longest};
    const ferry_status st = select_make(ctx, select_body, &a);
    *out = a.selection;
    return st;
}

/* Borrowed, until the selection is freed. */
const ferry_way *ferry_selection_at(const ferry_selection *s, int64_t i)
{
    return s && i >= 0 && i < s->n ? &s->way[i] : NULL;
}
