/* Choosing the bridge by trial: fit a method that tells its labels (seam.h, trace) by every way and ask, without the
 * target's labels, how well the labels it gives the target repeat (repeat.c).
 *
 *   full fit          labels through either half of the target's features
 *   splits, 3 times   the instances of sources and bridges halved, a fit on each half with
 *                     the whole target: two labellings
 *
 * A way whose labels do not repeat has brought nothing over. One whose labels do may still have
 * brought the classes under swapped names: a few labels of the target tell. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/ranks.h"
#include "learn/learner.h"
#include "linalg/blas.h"
#include "methods/frame.h"
#include "select/select.h"

enum { LONGEST = SELECT_LONGEST, TOP = 3 };
#define TIED 1.64

typedef struct trial_options {
    int64_t splits, longest;
    int one;
} trial_options;

static const ferry_opt trial_table[] = {
    FERRY_OPT(trial_options, INT, splits, 3, 2, 100,
              "times that the instances of sources and bridges are halved"),
    FERRY_OPT(trial_options, INT, longest, 2, 1, LONGEST,
              "domains of a chain; chains go through one of the three best bridges"),
    FERRY_OPT_YES_NO(
        trial_options, one, "no",
        "recommend the first way alone, not all bridges that are half as good"),
};

const ferry_opt_table ferry_i_trial_options = {trial_table, FERRY_COUNT(trial_table)};

/* What the fits of a way gave. */
typedef struct outcome {
    bool reached;
    int64_t leaks; /* rows of its bridges that are the target's own */
    int64_t rows;  /* of the target */
    double source, bridge,
        kappa; /* of the whole fit: a source's, a bridge's, the target's */
    select_repeat repeat;
    char why[sizeof((ferry_ctx *)0)->message]; /* it could not be tried; "": it could */
} outcome;

/* One way. at: numbers of its bridges in the task. */
typedef struct way {
    int64_t n, at[LONGEST];
    outcome got;
    int32_t *y;     /* as select_labels has them; room for all instances of the target */
    int32_t *label; /* the whole fit's, per instance of the target; -1: not asked */
    int64_t hits;
    double score;
    bool denied; /* by the labels that are shown */
} way;

typedef struct trials {
    const ferry_task *task;     /* resolved, the target without labels */
    const ferry_domain *target; /* with the labels it shows */
    int64_t instances;          /* of the target */
    trial_options o;
    const ferry_method *by; /* what is fitted, */
    void *options;          /* with these; their texts are the task's */
    way *way;
    int64_t n, cap;
    int64_t from; /* first of those that are tried now */
} trials;

/* ---- one way ---- */

/* The task with the way's bridges alone. Classes keep their numbers. */
static const ferry_task *way_task(scope *s, const trials *t, const way *w)
{
    ferry_ctx *ctx = scope_ctx(s);
    ferry_task *sub = NULL;

    scope_check(s, ferry_task_new(ctx, t->task->name, t->task->goal, &sub));
    own_task(s, sub);
    for (int64_t pass = 0; pass < 3; pass++)
        for (int64_t i = 0; i < (pass == 1 ? w->n : t->task->n_domains); i++) {
            ferry_domain *d = t->task->domains[pass == 1 ? w->at[i] : i];
            if (pass == 0 && d->role != FERRY_SOURCE) continue;
            if (pass == 2 && d->role != FERRY_TARGET) continue;
            scope_check(s, ferry_task_add_domain(ctx, sub, ferry_i_domain_ref(d)));
        }
    if (!(sub->names = ferry_i_ids_copy(t->task->names)))
        scope_check(s, ferry_i_nomem(ctx));
    return sub;
}

/* A source shares features with the domain after the sources, each of these with the next. */
static bool is_reached(scope *s, const problem *p)
{
    bool yes = true;

    for (int i = p->n_sources; yes && i < p->n; i++) {
        const uint8_t *mine = columns_used(s, p->d[i].x);
        yes = false;
        for (int j = i == p->n_sources ? 0 : i - 1; j < i && !yes; j++) {
            const uint8_t *other = columns_used(s, p->d[j].x);
            for (int64_t k = 0; k < p->cols && !yes; k++)
                yes = mine[k] && other[k];
        }
    }
    return yes;
}

typedef struct drawn {
    uint64_t key;
    int64_t row;
} drawn;

static int by_key(const void *a, const void *b)
{
    const drawn *x = a, *y = b;

    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* Half h of the rows of d: class by class in an order that their keys and `salt` decide, so that neither the order of
 * a file nor a domain's name matters. */
static domain half_of(scope *s, const domain *d, int64_t classes, uint64_t salt, int64_t h)
{
    drawn *all = NEW(s, drawn, d->n);
    int64_t *rows = NEW(s, int64_t, d->n), next = 0, n = 0;
    domain to = *d;

    for (int64_t i = 0; i < d->n; i++) {
        ferry_rng order;
        ferry_i_rng_seed(&order, salt, d->key[i]);
        all[i] = (drawn){ferry_i_rng_u64(&order), i};
    }
    if (d->n > 1) qsort(all, (size_t)d->n, sizeof *all, by_key);
    for (int64_t k = -1; k < classes; k++)
        for (int64_t i = 0; i < d->n; i++)
            if (d->known[all[i].row] == k && next++ % 2 == h) rows[n++] = all[i].row;
    int32_t *cls = NEW(s, int32_t, n);
    uint64_t *key = NEW(s, uint64_t, n);
    int64_t *instance = NEW(s, int64_t, n);
    to.labelled = 0;
    for (int64_t i = 0; i < n; i++) {
        cls[i] = d->known[rows[i]];
        key[i] = d->key[rows[i]];
        instance[i] = d->instance[rows[i]];
        to.labelled += cls[i] >= 0;
    }
    to.x = take_rows(s, d->x, n, rows, false);
    to.rows = to.x.rows;
    to.n = n;
    to.known = to.y.cls = cls;
    to.key = key;
    to.instance = instance;
    return to;
}

/* The two fits of split r: half of the instances before the target, prepared as the whole is. */
static void one_split(scope *s, const trials *t, const problem *p, way *w, int64_t r,
                      uint64_t salt)
{
    const int64_t n = target(p)->n;
    int32_t *to = w->y + (4 + 4 * r) * n;

    for (int64_t h = 0; h < 2; h++) {
        const int64_t mark = scope_mark(s);
        domain *d = NEW(s, domain, p->n);
        problem half = *p;
        label_trace traced = {.label = to + h * n, .propagated = to + (2 + h) * n};
        for (int i = 0; i < p->n; i++)
            d[i] = i < p->n - 1 ? half_of(s, &p->d[i], p->classes, salt, h) : p->d[i];
        half.d = d;
        t->by->next->trace(s, &half, t->options, &traced);
        scope_release(s, mark);
    }
}

typedef struct fitting {
    const trials *t;
    way *w;
} fitting;

/* All fits of one way. */
static void fit_way(scope *s, void *arg)
{
    const trials *t = ((const fitting *)arg)->t;
    way *w = ((const fitting *)arg)->w;
    outcome *got = &w->got;
    ferry_rng *rng = scope_rng(s, "select.halves");

    const ferry_task *sub = way_task(s, t, w);
    const problem *p = frame_problem(s, t->by->next, split_of(s, sub), t->options);
    got->leaks = p->leaks;
    if (!is_reached(s, p)) return;
    got->reached = true;
    got->rows = target(p)->n;
    int32_t *label = w->y + 4 * got->rows; /* room that the splits fill later */
    label_trace traced = {.propagated = label + got->rows, .label = label, .half = w->y};
    t->by->next->trace(s, p, t->options, &traced);
    got->source = traced.source;
    got->bridge = traced.bridge;
    got->kappa = traced.target;
    for (int64_t i = 0; i < got->rows; i++)
        w->label[target(p)->instance[i]] = label[i];
    for (int64_t r = 0; r < t->o.splits; r++)
        one_split(s, t, p, w, r, ferry_i_rng_u64(rng));
    got->repeat = repeat_of(s, &(select_labels){got->rows, p->classes, t->o.splits, w->y});
}

/* What cannot be joined at all is not reached; a way that breaks down is none of the others' business. */
static void try_way(scope *s, void *arg, int64_t job)
{
    trials *t = arg;
    fitting f = {t, &t->way[t->from + job]};
    ferry_ctx *ctx = scope_ctx(s);
    const char *outer = ctx->fitting;

    ctx->fitting = t->by->name;
    const ferry_status st = scope_try(s, NULL, fit_way, &f);
    ctx->fitting = outer;
    if (st == FERRY_ENEEDS && !f.w->got.reached) return;
    if (!ferry_i_skips(st)) {
        scope_check(s, st);
        return;
    }
    f.w->got.reached = false;
    memcpy(f.w->got.why, ctx->message, sizeof ctx->message);
}

/* All that a way's fits gave, to other processes or from one. */
static void exchange_way(void *arg, int64_t job, ferry_buffer *p)
{
    const trials *t = arg;
    way *w = &t->way[t->from + job];

    FERRY_PACK(p, w->got);
    if (!w->got.reached) return;
    ferry_i_buffer_bytes(p, w->y,
                         (4 + 4 * t->o.splits) * w->got.rows * (int64_t)sizeof *w->y);
    ferry_i_buffer_bytes(p, w->label, t->instances * (int64_t)sizeof *w->label);
}

/* ---- all ways ---- */

static void add_way(scope *s, trials *t, int64_t n, const int64_t *at)
{
    for (int64_t i = 0; i < t->n; i++)
        if (t->way[i].n == n && memcmp(t->way[i].at, at, (size_t)n * sizeof *at) == 0)
            return;
    if (t->n == t->cap)
        t->way = scope_grow(s, t->way, t->cap = 2 * t->cap + 8, sizeof *t->way);
    way *w = &t->way[t->n++];
    *w = (way){.n = n,
               .y = NEW(s, int32_t, (4 + 4 * t->o.splits) * t->instances),
               .label = NEW(s, int32_t, t->instances)};
    memcpy(w->at, at, (size_t)n * sizeof *at);
    memset(w->label, 0xff, (size_t)t->instances * sizeof *w->label); /* -1 */
}

/* Try what was added since the last time, side by side. */
static void try_ways(scope *s, trials *t)
{
    const ferry_labels *known = t->target->labels;

    if (scope_jobs_shared(s, t->n - t->from, try_way, exchange_way, t))
        scope_fail(s, FERRY_ECANCELLED, "select: stopped before every way was tried");
    for (; t->from < t->n; t->from++) {
        way *w = &t->way[t->from];
        for (int64_t r = 0; known && w->got.reached && r < known->n; r++)
            w->hits += known->cls[r] >= 0 && w->label[r] == known->cls[r];
    }
}

/* The number of the k-th best way of n bridges that is reached, -1: there are fewer. Equal ones in the order of the
 * task. */
static int64_t best_of(const trials *t, int64_t n, int64_t k)
{
    for (int64_t i = 0; i < t->n; i++) {
        const outcome *a = &t->way[i].got;
        int64_t before = 0;
        if (t->way[i].n != n || !a->reached) continue;
        for (int64_t j = 0; j < t->n; j++) {
            const outcome *b = &t->way[j].got;
            before += t->way[j].n == n && b->reached &&
                      (b->repeat.q > a->repeat.q || (b->repeat.q == a->repeat.q && j < i));
        }
        if (before == k) return i;
    }
    return -1;
}

/* Chains of n: the best of n - 1 with one more domain at either end; pairs of all where no bridge is reached by
 * itself. */
static void add_chains(scope *s, trials *t, int64_t n)
{
    const int64_t domains = t->task->n_domains;
    const bool all = n == 2 && best_of(t, 1, 0) < 0;

    for (int64_t k = 0; k < (all ? domains : TOP); k++) {
        const int64_t from = all ? -1 : best_of(t, n - 1, k);
        int64_t base[LONGEST] = {k}, at[LONGEST];
        if (!all && from < 0) break;
        if (all && t->task->domains[k]->role != FERRY_INTERMEDIATE) continue;
        if (!all) memcpy(base, t->way[from].at, sizeof base);
        for (int64_t d = 0; d < domains; d++) {
            bool used = t->task->domains[d]->role != FERRY_INTERMEDIATE;
            for (int64_t i = 0; i < n - 1; i++)
                used = used || base[i] == d;
            if (used) continue;
            memcpy(at, base, sizeof at);
            at[n - 1] = d;
            add_way(s, t, n, at);
            memcpy(at + 1, base, (size_t)(n - 1) * sizeof *at);
            at[0] = d;
            add_way(s, t, n, at);
        }
    }
}

static void try_all(scope *s, trials *t)
{
    for (int64_t i = 0; i < t->task->n_domains; i++)
        if (t->task->domains[i]->role == FERRY_INTERMEDIATE) add_way(s, t, 1, &i);
    add_way(s, t, 0, (const int64_t[LONGEST]){0});
    try_ways(s, t);
    for (int64_t n = 2; n <= t->o.longest || (n == 2 && best_of(t, 1, 0) < 0); n++) {
        add_chains(s, t, n);
        try_ways(s, t);
    }
}

/* ---- the outcome ---- */

/* Whether way i comes before way j. */
static bool precedes(const way *w, int64_t i, int64_t j)
{
    if (w[i].got.reached != w[j].got.reached) return w[i].got.reached;
    if (w[i].score != w[j].score) return w[i].score > w[j].score;
    return i < j;
}

/* The ways by rank. */
static int64_t *order_of(scope *s, const trials *t)
{
    int64_t *order = NEW(s, int64_t, t->n);

    for (int64_t i = 0; i < t->n; i++) {
        int64_t at = 0;
        for (int64_t j = 0; j < t->n; j++)
            at += j != i && precedes(t->way, j, i);
        order[at] = i;
    }
    return order;
}

static ferry_way published(const ferry_selection *to, const trials *t, const char *source,
                           const way *w)
{
    const outcome *got = &w->got;
    ferry_way p = {.source = source,
                   .target = to->target,
                   .n = w->n,
                   .q = got->repeat.q,
                   .q_sd = got->repeat.sd,
                   .source_kappa = got->reached ? got->source : NAN,
                   .bridge_reliability = got->reached && w->n > 0 ? got->bridge : NAN,
                   .reliability = got->reached ? got->kappa : NAN,
                   .hits = w->hits,
                   .leaks = got->leaks,
                   .reached = got->reached,
                   .below = got->repeat.q < to->floor,
                   .probability = NAN,
                   .reason = got->why[0] ? scope_text(to->keep, "%s", got->why) : NULL};

    for (int j = 0; j < SELECT_FEATURES; j++)
        p.feature[j] = NAN;
    for (int64_t i = 0; i < w->n; i++)
        p.domain[i] = scope_text(to->keep, "%s", t->task->domains[w->at[i]]->name);
    return p;
}

/* The share of the largest class among the labels that the target shows. */
static double largest_share(scope *s, const trials *t, const ferry_selection *to)
{
    const ferry_labels *l = t->target->labels;
    double *count = NEW(s, double, to->classes), most = 0;

    for (int64_t i = 0; l && i < l->n; i++)
        if (l->cls[i] >= 0) most = fmax(most, ++count[l->cls[i]]);
    return to->labels > 0 ? most / (double)to->labels : 0;
}

/* Kappa of what two ways say of the target, where both say something. */
static double kappa_of(scope *s, const trials *t, const way *a, const way *b,
                       int64_t classes)
{
    int32_t *one = NEW(s, int32_t, t->instances), *other = NEW(s, int32_t, t->instances);
    int64_t both = 0;

    for (int64_t i = 0; i < t->instances; i++)
        if (a->label[i] >= 0 && b->label[i] >= 0) {
            one[both] = a->label[i];
            other[both++] = b->label[i];
        }
    return cohen_kappa(s, HERE(both), both, one, other, classes);
}

/* A way that repeats half as well as the best and gives the target's rows the opposite classes of the first: names
 * were swapped on one of the two, and nothing but labels tells on which. */
static void find_opposed(scope *s, const trials *t, const int64_t *order,
                         ferry_selection *to)
{
    for (int64_t i = 1; i < t->n && to->against < 0; i++) {
        const way *w = &t->way[order[i]];
        if (!w->got.reached || w->got.repeat.q < to->best / 2) continue;
        const double kappa = kappa_of(s, t, &t->way[order[0]], w, to->classes);
        if (kappa >= -fmax(to->floor, to->best / 2)) continue;
        to->against = i;
        to->opposite = kappa;
    }
}

/* Which of the ordered ways to take, if any: what repeats and is not denied; where nothing repeats, the first if the
 * labels confirm it. */
static void advise(scope *s, const trials *t, const int64_t *order, ferry_selection *to)
{
    const way *first = &t->way[order[0]];
    int64_t reached = 0, n = 0;

    for (int64_t i = 0; i < t->n; i++) {
        reached += t->way[i].got.reached;
        if (!t->way[i].denied) to->best = fmax(to->best, t->way[i].got.repeat.q);
    }
    if (to->best >= to->floor && to->labels < SELECT_FEW && first->got.reached)
        find_opposed(s, t, order, to);
    to->told = to->best >= to->floor && to->against < 0;
    to->confirmed =
        !to->told && to->against < 0 && first->got.reached &&
        labels_confirm(reached, to->labels, first->hits, largest_share(s, t, to));
    to->told = to->told || to->confirmed;
    for (int64_t i = 0; to->told && !t->o.one && !to->confirmed && i < t->n; i++) {
        const way *w = &t->way[order[i]];
        to->way[i].recommended =
            w->got.reached && !w->denied && w->n == 1 && w->got.repeat.q >= to->best / 2;
        n += to->way[i].recommended;
    }
    /* One way alone, or no single bridge is worth it. */
    for (int64_t i = 0; to->told && n == 0 && i < t->n; i++)
        if (!t->way[order[i]].denied) to->way[i].recommended = n++ == 0;
}

/* Order, ties, advice. */
static void conclude(scope *s, const trials *t, const char *source, ferry_selection *to)
{
    const int64_t m = to->labels;
    select_labels *l = NEW(s, select_labels, t->n);

    for (int64_t i = 0; i < t->n; i++) {
        way *w = &t->way[i];
        l[i] = (select_labels){w->got.rows, to->classes, t->o.splits,
                               w->got.reached ? w->y : NULL};
        w->score = m > 0 ? repeat_score(w->got.repeat.q, m, w->hits) : w->got.repeat.q;
        w->denied = w->got.reached && labels_deny(to->classes, m, w->hits);
    }
    const int64_t *order = order_of(s, t);
    const double *q = repeat_bootstrap(s, to->rows, t->n, l);
    to->way = NEW(to->keep, ferry_way, t->n);
    for (; to->n < t->n; to->n++) {
        const outcome *got = &t->way[order[to->n]].got, *top = &t->way[order[0]].got;
        ferry_way *p = &to->way[to->n];
        *p = published(to, t, source, &t->way[order[to->n]]);
        p->tied = to->n > 0 && got->reached &&
                  top->repeat.q - got->repeat.q <=
                      TIED * repeat_error(q, order[to->n], order[0], got->repeat.sd,
                                          top->repeat.sd);
    }
    advise(s, t, order, to);
}

/* The lines of the recommended domains, each once, in order. */
static const char *task_lines(scope *s, const ferry_task *task, const ferry_selection *of)
{
    const char *all = "";

    for (int64_t i = 0; task->text && i < of->n; i++)
        for (int64_t k = 0; of->way[i].recommended && k < of->way[i].n; k++)
            all = scope_text(s, "%s%s", all,
                             domain_lines(s, task->text, of->way[i].domain[k]));
    return scope_text(of->keep, "%s", all);
}

/* ---- the task ---- */

/* The method that tells its labels, with the settings of the task's own entry for it, if it has one. */
static void read_options(scope *s, const ferry_task *task, const ferry_opts *opts,
                         trials *t)
{
    ferry_ctx *ctx = scope_ctx(s);
    const ferry_opts *own = NULL;

    scope_check(s, ferry_i_opts_parse(ctx, "select", trial_table, FERRY_COUNT(trial_table),
                                      opts, &t->o));
    for (int64_t i = 0; i < ferry_i_method_count() && !t->by; i++) {
        const ferry_method *m = ferry_i_method_at(i);
        if (m->next && m->next->trace) t->by = m;
    }
    if (!t->by)
        scope_fail(s, FERRY_ENEEDS, "select: no method tells the labels of its fits");
    for (int64_t i = 0; i < task->n_methods && !own; i++)
        if (strcmp(task->methods[i].method, t->by->name) == 0) own = task->methods[i].opts;
    t->options = scope_new(s, 1, t->by->options_size);
    scope_check(s, ferry_i_opts_parse(ctx, t->by->name, t->by->options, t->by->n_options,
                                      own, t->options));
}

/* The target with the labels it shows; the task with none of the target's. */
static void read_task(scope *s, const ferry_task *task, bool split, trials *t)
{
    const ferry_task *resolved = select_task(s, task);
    ferry_ctx *ctx = scope_ctx(s);
    ferry_task *shown = NULL, *blank = NULL;

    if (!split) {
        scope_check(s, ferry_i_task_split(ctx, resolved, FERRY_DEPLOYED, &shown));
        own_task(s, shown);
    }
    scope_check(s, ferry_i_task_target(ctx, split ? resolved : shown, &t->target));
    scope_check(s, ferry_task_new(ctx, task->name, task->goal, &blank));
    t->task = own_task(s, blank);
    t->instances = ferry_i_ids_count(t->target->ids);
    for (int64_t i = 0; i < resolved->n_domains; i++) {
        ferry_domain *d = resolved->domains[i], *bare = NULL;
        if (d->role == FERRY_TARGET)
            scope_check(s, ferry_i_domain_with_labels(ctx, d, NULL, &bare));
        else
            bare = ferry_i_domain_ref(d);
        scope_check(s, ferry_task_add_domain(ctx, blank, bare));
    }
    if (!(blank->names = ferry_i_ids_copy(resolved->names)))
        scope_check(s, ferry_i_nomem(ctx));
}

/* "dvd", "dvd + books" */
static const char *source_names(scope *s, const ferry_task *task)
{
    const ferry_domain *d = NULL;
    const char *all = "";

    for (int64_t i = 0; (d = ferry_i_task_role(task, FERRY_SOURCE, i)); i++)
        all = scope_text(s, "%s%s%s", all, i ? " + " : "", d->name);
    return all;
}

static void trial_body(scope *s, void *arg)
{
    select_making *a = arg;
    trials t = {.n = 0};

    scope_bind(a->keep, s);
    if (!a->origin)
        scope_check(s, ferry_i_task_call(scope_ctx(s), "select", a->task, a->opts));
    scope_check(s, ferry_i_blas_ready(scope_ctx(s)));
    read_options(s, a->origin ? a->origin : a->task, a->opts, &t);
    read_task(s, a->task, a->origin, &t);
    ferry_selection *to = a->selection = new_selection(a->keep, t.task);
    to->trial = true;
    to->labels = ferry_domain_labels(t.target);
    to->classes = ferry_i_ids_count(t.task->names);
    try_all(s, &t);
    for (int64_t i = 0; i < t.n; i++)
        if (t.way[i].got.reached) to->rows = t.way[i].got.rows;
    to->floor = to->rows > 0 ? 4 / sqrt((double)to->rows) : 1;
    conclude(s, &t, source_names(a->keep, t.task), to);
    to->lines = task_lines(s, a->task, to);
}

ferry_status ferry_i_select_trial(ferry_ctx *ctx, const ferry_task *task,
                                  const ferry_opts *opts, ferry_selection **out)
{
    FERRY_ARGS_OUT(ctx, out, out, task);

    select_making a = {.task = task, .opts = opts};
    const ferry_status st = select_make(ctx, trial_body, &a);
    ferry_i_task_call_end(ctx, task);
    *out = a.selection;
    return st;
}

ferry_status ferry_i_select_shown(ferry_ctx *ctx, const ferry_task *origin,
                                  const ferry_task *split, ferry_selection **out)
{
    select_making a = {.task = split, .origin = origin};
    const ferry_status st = select_make(ctx, trial_body, &a);

    *out = a.selection;
    return st;
}
