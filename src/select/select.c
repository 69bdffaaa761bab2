/* Training a selector, and ranking with it.
 * Training takes every domain besides the target in turn as source, bridge and target of
 * a triple, since these have labels to judge by. Ranking then puts the real target, whose
 * labels nobody knows, in the place of T. */
#include "select/select.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "linalg/blas.h"

const ferry_opt ferry_i_select_table[] = {
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
const int64_t ferry_i_select_table_n = FERRY_COUNT(ferry_i_select_table);

const ferry_opt_table *ferry_select_options(void)
{
    static const ferry_opt_table table = {ferry_i_select_table, ferry_i_select_table_n};

    return &table;
}

void ferry_selector_free(ferry_selector *s)
{
    if (!s) return;
    FERRY_FREE((char *)s->o.view, s);
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

/* Fit the logistic model on all triples, and note what is needed to judge it: how common
 * positives are, how large gains are, how well held-out triples are told. */
static ferry_status learn(ferry_ctx *ctx, const select_set *set, int64_t n,
                          const select_triple *t, ferry_selector *s)
{
    ferry_status st = FERRY_OK;
    double *c = ferry_i_calloc(n * SELECT_FEATURES, sizeof *c);
    uint8_t *y = ferry_i_calloc(n, sizeof *y);
    int64_t *target = ferry_i_calloc(n, sizeof *target), ones = 0;

    FERRY_HAVE(ctx, c && y && target);
    for (int64_t i = 0; i < n; i++) {
        ferry_i_select_features(set, t[i].s, t[i].i, t[i].t, c + i * SELECT_FEATURES);
        y[i] = positive(&t[i], s->o.t);
        target[i] = t[i].t;
        ones += y[i];
    }
    /* A logistic model of one class has no maximum but "always". */
    const bool all = ones == n;
    FERRY_NEED(
        ctx, ones > 0 && !all, FERRY_EDATA,
        "select: %s of the %lld triples has acc_sit > %g acc_st, so there is nothing to learn; try %s t",
        all ? "every one" : "none", (long long)n, s->o.t, all ? "a larger" : "a smaller");
    for (int64_t i = 0; i < n; i++) {
        s->trust.direct += t[i].st / (double)n;
        s->trust.gain += ratio(&t[i]) / (double)n;
    }
    for (int64_t i = 0; i < n; i++)
        s->trust.gain_sd += pow(ratio(&t[i]) - s->trust.gain, 2) / (double)n;
    s->trust.gain_sd = sqrt(s->trust.gain_sd);
    s->trust.domains = (double)set->n;
    s->trust.triples = (double)n;
    s->trust.positive = (double)ones;
    FERRY_TRY(ferry_i_select_fit(ctx, n, c, y, &s->m));
    FERRY_TRY(ferry_i_select_check(ctx, n, c, y, target, &s->trust));
done:
    FERRY_FREE(c, y, target);
    return st;
}

/* A resolved copy whose goal is to classify. */
static ferry_status resolve(ferry_ctx *ctx, const ferry_task *task, ferry_task **out)
{
    ferry_status st = FERRY_OK;

    *out = NULL;
    FERRY_NEED(ctx, task->goal == FERRY_CLASSIFY, FERRY_ENEEDS,
               "select works for goal classify, not %s", ferry_goal_name(task->goal));
    FERRY_TRY(ferry_i_task_resolved(ctx, task, out));
done:
    return st;
}

/* The first sample of every domain trains, the second only tells whether the same triples
 * come out positive on other instances: a label that does not repeat cannot be learned. */
ferry_status ferry_selector_train(ferry_ctx *ctx, const ferry_task *task,
                                  const ferry_opts *opts, ferry_selector **out)
{
    FERRY_ARGS_OUT(ctx, out, out, task);

    ferry_status st = FERRY_OK;
    ferry_selector *s = ferry_i_calloc(1, sizeof *s);
    ferry_task *resolved = NULL;
    select_set set = {0};
    select_triple *a = NULL, *b = NULL;
    select_options o = {0};
    int64_t n = 0, again = 0, labelled = 0;

    FERRY_TRY(ferry_i_task_call(ctx, "train", task, opts));
    FERRY_TRY(ferry_i_blas_ready(ctx));
    FERRY_HAVE(ctx, s);
    FERRY_TRY(ferry_i_opts_parse(ctx, "select", ferry_i_select_table,
                                 ferry_i_select_table_n, opts, &o));
    s->o = o;
    FERRY_HAVE(ctx, s->o.view = ferry_i_strdup(o.view));
    FERRY_TRY(resolve(ctx, task, &resolved));
    for (int64_t i = 0; i < resolved->n_domains; i++)
        labelled +=
            resolved->domains[i]->role != FERRY_TARGET && resolved->domains[i]->labels;
    FERRY_NEED(
        ctx, labelled >= 2 && resolved->n_domains >= 4, FERRY_ENEEDS,
        "select learns from the domains besides the target: it needs three or more, two "
        "of them with labels; this task has %lld with labels. Or give it a selector "
        "that was trained elsewhere",
        (long long)labelled);
    FERRY_TRY(ferry_i_select_set(ctx, resolved, &s->o, false, &set));
    FERRY_TRY(ferry_i_select_triples(ctx, &set, 0, &s->o, &a, &n));
    FERRY_TRY(learn(ctx, &set, n, a, s));
    /* The second sample. A triple may drop out of one sample (a target without known
     * classes there); then the two lists do not match line by line, and nothing is
     * compared. */
    FERRY_TRY(ferry_i_select_triples(ctx, &set, 1, &s->o, &b, &again));
    s->trust.again = s->trust.both = s->trust.chance = s->trust.correlation = NAN;
    if (again == n) compare(n, a, b, s->o.t, &s->trust);
    FERRY_MOVE(*out, s);
done:
    FERRY_FREE(a, b);
    ferry_i_select_clear(&set);
    ferry_task_free(resolved);
    ferry_selector_free(s);
    ferry_i_task_call_end(ctx, task);
    return st;
}

/* ---- ranking ---- */

/* Chains are kept up to so many of each length. */
enum { KEPT = 20, LONGEST = 3 };

/* Bridges before chains, likelier ones first; equal ones by name, so that the order never
 * depends on chance. */
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

/* What a search along chains carries.
 * source and target are places in the set; longest: most bridges of a chain. */
typedef struct search {
    const select_set *set;
    const select_model *m;
    int64_t source, target, longest;
    ferry_selection *out;
} search;

/* Equation (3) for one triple. */
static double f_of(const search *q, int64_t s, int64_t i, int64_t t)
{
    double c[SELECT_FEATURES];

    ferry_i_select_features(q->set, s, i, t, c);
    return ferry_i_select_f(q->m, c);
}

/* All bridges, but of the chains of each length only the best: there are as many as
 * domains to the power of their length. */
static ferry_status keep(ferry_ctx *ctx, const search *q, int64_t n, const int64_t *path,
                         double p)
{
    ferry_status st = FERRY_OK;
    ferry_selection *s = q->out;
    ferry_way way = {.n = n,
                     .probability = p,
                     .q = NAN,
                     .q_sd = NAN,
                     .boarding = NAN,
                     .crossing = NAN,
                     .landing = NAN};
    int64_t worst = -1, same = 0;

    way.source = ferry_i_ids_at(s->names, q->source);
    way.target = s->target;
    for (int64_t i = 0; i < n && i < LONGEST; i++)
        way.domain[i] = ferry_i_ids_at(s->names, path[i]);
    /* A chain has no six numbers of its own, only those of its triples. */
    if (n == 1) ferry_i_select_features(q->set, q->source, path[0], q->target, way.feature);
    for (int64_t i = 0; n > 1 && i < s->n; i++) {
        if (s->way[i].n != n) continue;
        same++;
        if (worst < 0 || by_rank(&s->way[i], &s->way[worst]) > 0) worst = i;
    }
    if (same >= KEPT) {
        if (by_rank(&way, &s->way[worst]) < 0) s->way[worst] = way;
        goto done;
    }
    FERRY_HAVE(ctx, FERRY_GROW(s->way, s->n, s->cap));
    s->way[s->n++] = way;
done:
    return st;
}

/* Every simple chain that begins with path[0 .. n): the product p of f over the triples
 * (S, D1, D2), (D1, D2, D3) ... so far, closed by the one that ends in T. */
static ferry_status extend(ferry_ctx *ctx, const search *q, int64_t n, int64_t *path,
                           double p)
{
    ferry_status st = FERRY_OK;
    const int64_t before = n >= 2 ? path[n - 2] : q->source;

    if (n > 0)
        FERRY_TRY(keep(ctx, q, n, path, p * f_of(q, before, path[n - 1], q->target)));
    if (n == q->longest || n >= LONGEST) goto done;
    /* Only intermediate domains, each at most once. The first step has no complete triple
     * yet, so its factor is 1. */
    for (int64_t d = 0; d < q->set->n; d++) {
        bool used = q->set->d[d].role != FERRY_INTERMEDIATE;
        for (int64_t i = 0; i < n; i++)
            used = used || path[i] == d;
        if (used) continue;
        path[n] = d;
        FERRY_TRY(
            extend(ctx, q, n + 1, path, n > 0 ? p * f_of(q, before, path[n - 1], d) : 1));
    }
done:
    return st;
}

/* Measure all domains once; then every chain is a product of numbers at hand. */
ferry_status ferry_select(ferry_ctx *ctx, const ferry_selector *selector,
                          const ferry_task *task, int64_t longest, ferry_selection **out)
{
    FERRY_ARGS_OUT(ctx, out, out, selector, task);

    ferry_status st = FERRY_OK;
    ferry_selection *s = ferry_i_calloc(1, sizeof *s);
    ferry_task *resolved = NULL;
    const ferry_domain *t = NULL;
    select_set set = {0};
    int64_t path[LONGEST];
    bool finish = false;

    FERRY_TRY(ferry_i_blas_ready(ctx));
    FERRY_HAVE(ctx, s);
    FERRY_NEED(ctx, longest >= 1 && longest <= LONGEST, FERRY_EINVAL,
               "select: chains of up to %lld domains, expected 1 to 3", (long long)longest);
    FERRY_TRY(resolve(ctx, task, &resolved));
    FERRY_TRY(ferry_i_task_target(ctx, resolved, &t));
    s->candidates = ferry_i_task_count_role(resolved, FERRY_INTERMEDIATE);
    FERRY_NEED(
        ctx, s->candidates > 0 && ferry_i_task_count_role(resolved, FERRY_SOURCE) > 0,
        FERRY_ENEEDS, "select needs a source and the candidates as intermediate domains");
    FERRY_NEED(ctx, pow((double)s->candidates, (double)longest) <= 1e8, FERRY_ENEEDS,
               "select: %lld candidates have too many chains of %lld; look at shorter ones",
               (long long)s->candidates, (long long)longest);
    /* The evidence for the order travels with it, so that no table is shown without. */
    s->trust = selector->trust;
    s->m = selector->m;
    s->t = selector->o.t;
    s->task = ferry_i_strdup(resolved->name);
    s->target = ferry_i_strdup(t->name);
    s->names = ferry_i_ids_new();
    FERRY_HAVE(ctx, s->task && s->target && s->names);
    FERRY_TRY(ferry_i_select_set(ctx, resolved, &selector->o, true, &set));
    /* Names get the numbers of the set, so that a place in one is a place in the other. */
    search q = {.set = &set, .m = &selector->m, .longest = longest, .out = s};
    for (int64_t i = 0; i < set.n; i++) {
        FERRY_HAVE(ctx, ferry_i_ids_add(s->names, set.d[i].name, NULL) >= 0);
        if (set.d[i].role == FERRY_TARGET) q.target = i;
    }
    for (q.source = 0; q.source < set.n; q.source++) {
        if (set.d[q.source].role != FERRY_SOURCE) continue;
        FERRY_TRY(ferry_i_progress(ctx, "chains", q.source + 1, set.n, NAN, &finish));
        FERRY_TRY(extend(ctx, &q, 0, path, 1));
    }
    if (s->n > 1) qsort(s->way, (size_t)s->n, sizeof *s->way, by_rank);
    FERRY_MOVE(*out, s);
done:
    ferry_i_select_clear(&set);
    ferry_task_free(resolved);
    ferry_selection_free(s);
    return st;
}

void ferry_selection_free(ferry_selection *s)
{
    if (!s) return;
    FERRY_FREE(s->task, s->target);
    ferry_i_ids_free(s->names);
    ferry_i_text_free(&s->lines);
    FERRY_FREE(s->way, s);
}

int64_t ferry_selection_count(const ferry_selection *s)
{
    if (!s) return 0;
    return s->n;
}

/* Lent, until the selection is freed. */
const ferry_way *ferry_selection_at(const ferry_selection *s, int64_t i)
{
    if (!s) return NULL;
    return i >= 0 && i < s->n ? &s->way[i] : NULL;
}
