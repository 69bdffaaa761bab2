/* Choosing the bridge by trial: fit ttl by every way and ask, without the target's labels,
 * how well the labels it gives the target repeat (repeat.c).
 *
 *   full fit          labels through either half of the target's features
 *   splits, 3 times   the instances of sources and bridges halved, a fit on each half with
 *                     the whole target: two labellings
 *
 * A way whose labels do not repeat has carried nothing. One whose labels do may still have
 * carried the classes under swapped names: a few labels of the target tell. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "core/pool.h"
#include "linalg/blas.h"
#include "methods/ttl/settle.h"
#include "methods/ttl/ttl.h"
#include "select/select.h"

enum { LONGEST = 3, TOP = 3 };
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

const ferry_opt_table *ferry_trial_options(void)
{
    static const ferry_opt_table table = {trial_table, FERRY_COUNT(trial_table)};

    return &table;
}

/* One way and what its fits gave. at: places of its bridges in the task. */
typedef struct way {
    int64_t n, at[LONGEST];
    bool reached;
    int64_t leaks;  /* rows of its bridges that are the target's own */
    int64_t rows;   /* of the target */
    int32_t *y;     /* as select_labels has them */
    int32_t *label; /* the whole fit's, per instance of the target; -1: not asked */
    ttl_watch watch;
    select_repeat repeat;
    int64_t hits;
    double score;
    bool denied; /* by the labels that are shown */
} way;

typedef struct trials {
    const ferry_task *task;     /* resolved, the target without labels */
    const ferry_domain *target; /* with the labels it shows */
    trial_options o;
    ttl_options ttl; /* its texts are the task's */
    way *way;
    int64_t n, cap;
    int64_t from; /* first of those that are tried now */
} trials;

static void trials_clear(trials *t)
{
    for (int64_t i = 0; i < t->n; i++)
        FERRY_FREE(t->way[i].y, t->way[i].label);
    FERRY_FREE(t->way);
}

/* ---- one way ---- */

/* The task with the way's bridges alone. Classes keep their numbers. */
static ferry_status way_task(ferry_ctx *ctx, const trials *t, const way *w,
                             ferry_task **out)
{
    ferry_status st = FERRY_OK;
    ferry_task *sub = NULL;

    FERRY_TRY(ferry_task_new(ctx, t->task->name, t->task->goal, &sub));
    for (int64_t pass = 0; pass < 3; pass++)
        for (int64_t i = 0; i < (pass == 1 ? w->n : t->task->n_domains); i++) {
            ferry_domain *d = t->task->domains[pass == 1 ? w->at[i] : i];
            if (pass == 0 && d->role != FERRY_SOURCE) continue;
            if (pass == 2 && d->role != FERRY_TARGET) continue;
            FERRY_TRY(ferry_task_add_domain(ctx, sub, ferry_i_domain_ref(d)));
        }
    FERRY_HAVE(ctx, sub->names = ferry_i_ids_copy(t->task->names));
    FERRY_MOVE(*out, sub);
done:
    ferry_task_free(sub);
    return st;
}

/* Whether places i and j have an entry in a common column. */
static ferry_status meet(ferry_ctx *ctx, const ttl_bridge *b, int64_t i, int64_t j,
                         bool *yes)
{
    ferry_status st = FERRY_OK;
    uint8_t *one = NULL, *other = NULL;

    FERRY_TRY(ferry_i_bridge_used(ctx, b, i, &one));
    FERRY_TRY(ferry_i_bridge_used(ctx, b, j, &other));
    for (int64_t k = 0; k < b->cols && !*yes; k++)
        *yes = one[k] && other[k];
done:
    FERRY_FREE(one, other);
    return st;
}

/* A source shares features with the first stop, each stop with the next. */
static ferry_status is_reached(ferry_ctx *ctx, const ttl_bridge *b, bool *yes)
{
    ferry_status st = FERRY_OK;

    *yes = true;
    for (int64_t i = b->n_sources; *yes && i < b->n_places; i++) {
        const int64_t first = i == b->n_sources ? 0 : i - 1;
        *yes = false;
        for (int64_t j = first; j < i && !*yes; j++)
            FERRY_TRY(meet(ctx, b, i, j, yes));
    }
done:
    return st;
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

/* Rows of p in half h of the split: class by class in an order that ids and `salt` decide,
 * so that neither the order of a file nor a domain's name matters. */
static ferry_status half_rows(ferry_ctx *ctx, const ttl_place *p, int64_t c, uint64_t salt,
                              int64_t h, int64_t *rows, int64_t *n)
{
    ferry_status st = FERRY_OK;
    drawn *all = NULL;
    int64_t next = 0;

    *n = 0;
    FERRY_NEW(ctx, all, p->n);
    for (int64_t i = 0; i < p->n; i++) {
        const char *id = ferry_i_ids_at(p->domain->ids, p->instance[i]);
        all[i] = (drawn){XXH3_64bits_withSeed(id, strlen(id), salt), i};
    }
    if (p->n > 1) qsort(all, (size_t)p->n, sizeof *all, by_key);
    for (int64_t k = -1; k < c; k++)
        for (int64_t i = 0; i < p->n; i++)
            if (p->known[all[i].row] == k && next++ % 2 == h) rows[(*n)++] = all[i].row;
done:
    ferry_i_free(all);
    return st;
}

/* b with half of the instances before the target; prepared as the whole is. */
typedef struct half_bridge {
    ttl_bridge b; /* prepared, notes and the target's place are lent */
} half_bridge;

static void half_clear(half_bridge *h)
{
    for (int64_t i = 0; h->b.place && i < h->b.n_places - 1; i++) {
        ferry_i_matrix_free(h->b.place[i].x);
        FERRY_FREE((int64_t *)h->b.place[i].instance, h->b.place[i].known);
    }
    ferry_i_free(h->b.place);
}

static ferry_status halve(ferry_ctx *ctx, const ttl_bridge *b, uint64_t salt, int64_t half,
                          half_bridge *out)
{
    ferry_status st = FERRY_OK;
    int64_t *rows = NULL, n = 0;

    out->b = *b;
    out->b.place = NULL;
    FERRY_NEW(ctx, out->b.place, b->n_places);
    out->b.place[b->n_places - 1] = b->place[b->n_places - 1];
    for (int64_t i = 0; i < b->n_places - 1; i++) {
        const ttl_place *p = &b->place[i];
        ttl_place *to = &out->b.place[i];
        int64_t *instance = NULL;
        FERRY_NEW(ctx, rows, p->n);
        FERRY_TRY(half_rows(ctx, p, b->c, salt, half, rows, &n));
        *to = (ttl_place){.domain = p->domain, .n = n, .has = p->has};
        FERRY_NEW(ctx, instance, n);
        to->instance = instance;
        FERRY_NEW(ctx, to->known, n);
        for (int64_t r = 0; r < n; r++) {
            instance[r] = p->instance[rows[r]];
            to->known[r] = p->known[rows[r]];
            to->labelled += to->known[r] >= 0;
        }
        FERRY_TRY(ferry_i_matrix_take(ctx, p->x, n, rows, p->x->cols, NULL, &to->x));
        FERRY_FREE(rows);
        rows = NULL;
    }
done:
    ferry_i_free(rows);
    return st;
}

/* The two fits of split r. */
static ferry_status one_split(ferry_ctx *ctx, const trials *t, const ttl_bridge *b, way *w,
                              int64_t n, int64_t r, uint64_t salt)
{
    ferry_status st = FERRY_OK;
    half_bridge half = {0};
    int32_t *to = w->y + (4 + 4 * r) * n;

    for (int64_t h = 0; h < 2; h++) {
        ttl_options o = t->ttl;
        ttl_watch watch = {.label = to + h * n, .carried = to + (2 + h) * n};
        o.trust = false;
        FERRY_TRY(halve(ctx, b, salt, h, &half));
        FERRY_TRY(ferry_i_ttl_watch(ctx, &o, &half.b, &watch));
        half_clear(&half);
        half = (half_bridge){0};
    }
done:
    half_clear(&half);
    return st;
}

/* All fits of one way. What cannot be joined at all is not reached. */
static ferry_status try_way(ferry_ctx *ctx, void *arg, int64_t job)
{
    ferry_status st = FERRY_OK;
    trials *t = arg;
    way *w = &t->way[t->from + job];
    ferry_task *sub = NULL;
    ttl_bridge *b = NULL;
    const ttl_reading how = {t->ttl.scale, t->ttl.leaks, t->ttl.bridge_labels,
                             FERRY_PLAIN_ROOTS};
    ferry_rng rng;

    FERRY_TRY(way_task(ctx, t, w, &sub));
    st = ferry_i_bridge_new(ctx, "ttl", sub, how, &b);
    if (b) w->leaks = b->leaks;
    if (st == FERRY_OK) st = is_reached(ctx, b, &w->reached);
    if (st == FERRY_ENEEDS) st = FERRY_OK;
    if (st != FERRY_OK || !w->reached) goto done;
    const ttl_place *p = ferry_i_bridge_target(b);
    w->rows = p->n;
    FERRY_NEW(ctx, w->y, (4 + 4 * t->o.splits) * p->n);
    FERRY_NEW(ctx, w->label, ferry_domain_id_count(t->target));
    int32_t *carried = w->y + 4 * p->n; /* room that the splits fill later */
    w->watch = (ttl_watch){.carried = carried, .label = carried + p->n, .half = w->y};
    FERRY_TRY(ferry_i_ttl_watch(ctx, &t->ttl, b, &w->watch));
    for (int64_t i = 0; i < ferry_domain_id_count(t->target); i++)
        w->label[i] = -1;
    for (int64_t i = 0; i < p->n; i++)
        w->label[p->instance[i]] = w->watch.label[i];
    ferry_i_rng_for(ctx, &rng, "select.halves");
    for (int64_t r = 0; r < t->o.splits; r++)
        FERRY_TRY(one_split(ctx, t, b, w, p->n, r, ferry_i_rng_u64(&rng)));
    const select_labels l = {p->n, b->c, t->o.splits, w->y};
    FERRY_TRY(ferry_i_select_repeat(ctx, &l, NULL, &w->repeat));
done:
    ferry_i_bridge_free(b);
    ferry_task_free(sub);
    return st;
}

/* All that a way's fits gave, to other ranks or from one; what was watched points into y. */
static ferry_status carry_way(ferry_ctx *ctx, void *arg, int64_t job, ferry_parcel *p)
{
    trials *t = arg;
    way *w = &t->way[t->from + job];

    (void)ctx;
    FERRY_CARRY(p, w->reached);
    FERRY_CARRY(p, w->rows);
    FERRY_CARRY(p, w->leaks);
    if (!w->reached) return FERRY_OK;
    ferry_i_parcel_known(p, (void **)&w->y, (4 + 4 * t->o.splits) * w->rows, sizeof *w->y);
    ferry_i_parcel_known(p, (void **)&w->label, ferry_domain_id_count(t->target),
                         sizeof *w->label);
    FERRY_CARRY(p, w->watch.boarding);
    FERRY_CARRY(p, w->watch.crossing);
    FERRY_CARRY(p, w->watch.landing);
    FERRY_CARRY(p, w->repeat);
    return FERRY_OK;
}

/* ---- all ways ---- */

static ferry_status add_way(ferry_ctx *ctx, trials *t, int64_t n, const int64_t *at)
{
    ferry_status st = FERRY_OK;

    for (int64_t i = 0; i < t->n; i++)
        if (t->way[i].n == n && memcmp(t->way[i].at, at, (size_t)n * sizeof *at) == 0)
            goto done;
    FERRY_HAVE(ctx, FERRY_GROW(t->way, t->n, t->cap));
    t->way[t->n] = (way){.n = n};
    memcpy(t->way[t->n++].at, at, (size_t)n * sizeof *at);
done:
    return st;
}

/* Try what was added since the last time, side by side. */
static ferry_status try_ways(ferry_ctx *ctx, trials *t)
{
    ferry_status st = FERRY_OK;
    const ferry_jobs jobs = {
        .n = t->n - t->from, .run = try_way, .arg = t, .carry = carry_way};
    bool finish = false;

    FERRY_TRY(ferry_i_pool_run(ctx, &jobs, &finish));
    FERRY_NEED(ctx, !finish, FERRY_ECANCELLED,
               "select: stopped before every way was tried");
    for (int64_t i = t->from; i < t->n; i++) {
        way *w = &t->way[i];
        const ferry_labels *known = t->target->labels;
        for (int64_t r = 0; known && w->label && r < known->n; r++)
            w->hits += known->cls[r] >= 0 && w->label[r] == known->cls[r];
    }
    t->from = t->n;
done:
    return st;
}

/* The place of the k-th best way of n bridges that is reached, -1: there are fewer. Equal
 * ones in the order of the task. */
static int64_t best_of(const trials *t, int64_t n, int64_t k)
{
    for (int64_t i = 0; i < t->n; i++) {
        int64_t before = 0;
        if (t->way[i].n != n || !t->way[i].reached) continue;
        for (int64_t j = 0; j < t->n; j++)
            before += t->way[j].n == n && t->way[j].reached &&
                      (t->way[j].repeat.q > t->way[i].repeat.q ||
                       (t->way[j].repeat.q == t->way[i].repeat.q && j < i));
        if (before == k) return i;
    }
    return -1;
}

/* Chains of n: the best of n - 1 with one more domain at either end; pairs of all where no
 * bridge is reached by itself. */
static ferry_status add_chains(ferry_ctx *ctx, trials *t, int64_t n)
{
    ferry_status st = FERRY_OK;
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
            FERRY_TRY(add_way(ctx, t, n, at));
            memcpy(at + 1, base, (size_t)(n - 1) * sizeof *at);
            at[0] = d;
            FERRY_TRY(add_way(ctx, t, n, at));
        }
    }
done:
    return st;
}

static ferry_status try_all(ferry_ctx *ctx, trials *t)
{
    ferry_status st = FERRY_OK;
    const int64_t none[LONGEST] = {0};

    for (int64_t i = 0; i < t->task->n_domains; i++)
        if (t->task->domains[i]->role == FERRY_INTERMEDIATE)
            FERRY_TRY(add_way(ctx, t, 1, &i));
    FERRY_TRY(add_way(ctx, t, 0, none));
    FERRY_TRY(try_ways(ctx, t));
    for (int64_t n = 2; n <= t->o.longest || (n == 2 && best_of(t, 1, 0) < 0); n++) {
        FERRY_TRY(add_chains(ctx, t, n));
        FERRY_TRY(try_ways(ctx, t));
    }
done:
    return st;
}

/* ---- the outcome ---- */

/* Whether way i comes before way j. */
static bool precedes(const way *w, int64_t i, int64_t j)
{
    if (w[i].reached != w[j].reached) return w[i].reached;
    if (w[i].score != w[j].score) return w[i].score > w[j].score;
    return i < j;
}

static void publish(const ferry_selection *s, const trials *t, const char *source,
                    const way *w, ferry_way *out)
{
    *out = (ferry_way){.source = source,
                       .target = s->target,
                       .n = w->n,
                       .q = w->repeat.q,
                       .q_sd = w->repeat.sd,
                       .boarding = w->reached ? w->watch.boarding : NAN,
                       .crossing = w->reached && w->n > 0 ? w->watch.crossing : NAN,
                       .landing = w->reached ? w->watch.landing : NAN,
                       .hits = w->hits,
                       .leaks = w->leaks,
                       .reached = w->reached,
                       .below = w->repeat.q < s->floor,
                       .probability = NAN};
    for (int j = 0; j < SELECT_FEATURES; j++)
        out->feature[j] = NAN;
    for (int64_t i = 0; i < w->n; i++) {
        const char *name = t->task->domains[w->at[i]]->name;
        out->domain[i] = ferry_i_ids_at(s->names, ferry_i_ids_find(s->names, name));
    }
}

/* The share of the largest class among the labels that the target shows. */
static double largest_share(const trials *t, int64_t m)
{
    const ferry_labels *l = t->target->labels;
    const int64_t c = ferry_i_ids_count(t->task->names);
    int64_t most = 0;

    for (int64_t k = 0; l && k < c; k++) {
        int64_t n = 0;
        for (int64_t i = 0; i < l->n; i++)
            n += l->cls[i] == k;
        most = n > most ? n : most;
    }
    return m > 0 ? (double)most / (double)m : 0;
}

/* Kappa of what two ways say of the target, where both say something. */
static ferry_status kappa_of(ferry_ctx *ctx, const trials *t, const way *a, const way *b,
                             int64_t c, double *kappa)
{
    ferry_status st = FERRY_OK;
    const int64_t n = ferry_domain_id_count(t->target);
    int32_t *one = NULL, *other = NULL;
    int64_t both = 0;

    FERRY_NEW(ctx, one, n);
    FERRY_NEW(ctx, other, n);
    for (int64_t i = 0; i < n; i++)
        if (a->label[i] >= 0 && b->label[i] >= 0) {
            one[both] = a->label[i];
            other[both++] = b->label[i];
        }
    FERRY_TRY(ferry_i_kappa(ctx, both, one, other, c, kappa));
done:
    FERRY_FREE(one, other);
    return st;
}

/* A way that repeats half as well as the best and gives the target's rows the opposite
 * classes of the first: names were swapped on one of the two, and nothing but labels tells
 * on which. */
static ferry_status opposed(ferry_ctx *ctx, const trials *t, const int64_t *order,
                            ferry_selection *s)
{
    ferry_status st = FERRY_OK;
    const double least = fmax(s->floor, s->best / 2);
    const way *first = &t->way[order[0]];

    for (int64_t i = 1; i < t->n && s->against < 0; i++) {
        const way *w = &t->way[order[i]];
        double kappa = 0;
        if (!w->reached || w->repeat.q < s->best / 2) continue;
        FERRY_TRY(kappa_of(ctx, t, first, w, s->classes, &kappa));
        if (kappa >= -least) continue;
        s->against = i;
        s->opposite = kappa;
    }
done:
    return st;
}

/* Which of the ordered ways to take, if any: what repeats and is not denied; where nothing
 * repeats, the first if the labels confirm it. */
static ferry_status advise(ferry_ctx *ctx, const trials *t, const int64_t *order,
                           ferry_selection *s)
{
    ferry_status st = FERRY_OK;
    const way *first = &t->way[order[0]];
    int64_t reached = 0, n = 0;

    s->best = 0;
    for (int64_t i = 0; i < t->n; i++) {
        reached += t->way[i].reached;
        if (!t->way[i].denied) s->best = fmax(s->best, t->way[i].repeat.q);
    }
    if (s->best >= s->floor && s->labels < SELECT_FEW && first->reached)
        FERRY_TRY(opposed(ctx, t, order, s));
    s->told = s->best >= s->floor && s->against < 0;
    s->confirmed = !s->told && s->against < 0 && first->reached &&
                   ferry_i_select_confirmed(reached, s->labels, first->hits,
                                            largest_share(t, s->labels));
    s->told = s->told || s->confirmed;
    for (int64_t i = 0; s->told && !t->o.one && !s->confirmed && i < t->n; i++) {
        const way *w = &t->way[order[i]];
        s->way[i].recommended =
            w->reached && !w->denied && w->n == 1 && w->repeat.q >= s->best / 2;
        n += s->way[i].recommended;
    }
    /* One way alone, or no single bridge is worth it. */
    for (int64_t i = 0; s->told && n == 0 && i < t->n; i++)
        if (!t->way[order[i]].denied) s->way[i].recommended = n++ == 0;
done:
    return st;
}

/* Order, ties, advice. */
static ferry_status conclude(ferry_ctx *ctx, const trials *t, const char *source,
                             ferry_selection *s)
{
    ferry_status st = FERRY_OK;
    const int64_t m = s->labels;
    select_labels *l = NULL;
    double *q = NULL;
    int64_t *order = NULL;

    FERRY_NEW(ctx, l, t->n);
    FERRY_NEW(ctx, order, t->n);
    FERRY_NEW(ctx, q, t->n * ferry_i_select_bootstraps());
    FERRY_NEW(ctx, s->way, t->n);
    for (int64_t i = 0; i < t->n; i++) {
        way *w = &t->way[i];
        l[i] = (select_labels){w->rows, s->classes, t->o.splits, w->y};
        w->score = m > 0 ? ferry_i_select_score(w->repeat.q, m, w->hits) : w->repeat.q;
        w->denied = w->reached && ferry_i_select_denied(s->classes, m, w->hits);
    }
    for (int64_t i = 0; i < t->n; i++) {
        int64_t at = 0;
        for (int64_t j = 0; j < t->n; j++)
            at += j != i && precedes(t->way, j, i);
        order[at] = i;
    }
    FERRY_TRY(ferry_i_select_bootstrap(ctx, s->rows, t->n, l, q));
    for (s->n = 0; s->n < t->n; s->n++) {
        const way *w = &t->way[order[s->n]], *top = &t->way[order[0]];
        ferry_way *to = &s->way[s->n];
        publish(s, t, source, w, to);
        const double se =
            ferry_i_select_error(q, order[s->n], order[0], w->repeat.sd, top->repeat.sd);
        to->tied = s->n > 0 && w->reached && top->repeat.q - w->repeat.q <= TIED * se;
    }
    FERRY_TRY(advise(ctx, t, order, s));
done:
    FERRY_FREE(l, order, q);
    return st;
}

/* The lines of the recommended domains, each once, in order. */
static ferry_status task_lines(ferry_ctx *ctx, const ferry_task *task, ferry_selection *s)
{
    ferry_status st = FERRY_OK;

    for (int64_t i = 0; task->text && i < s->n; i++)
        for (int64_t k = 0; s->way[i].recommended && k < s->way[i].n; k++)
            FERRY_TRY(
                ferry_i_select_lines(ctx, task->text, s->way[i].domain[k], &s->lines));
    FERRY_HAVE(ctx, !s->lines.failed);
done:
    return st;
}

/* ---- the task ---- */

/* The settings of the task's own entry for ttl, if it has one. */
static ferry_status read_options(ferry_ctx *ctx, const ferry_task *task,
                                 const ferry_opts *opts, trials *t)
{
    ferry_status st = FERRY_OK;
    const ferry_method *ttl = ferry_i_method_find("ttl");
    const ferry_opts *own = NULL;

    FERRY_TRY(ferry_i_opts_parse(ctx, "select", trial_table, FERRY_COUNT(trial_table), opts,
                                 &t->o));
    for (int64_t i = 0; i < task->n_methods && !own; i++)
        if (strcmp(task->methods[i].method, "ttl") == 0) own = task->methods[i].opts;
    FERRY_TRY(ferry_i_opts_parse(ctx, "ttl", ttl->options, ttl->n_options, own, &t->ttl));
    t->ttl.trust = true;
done:
    return st;
}

/* Resolved, with the labels it shows; and again with none of the target's. */
static ferry_status read_task(ferry_ctx *ctx, const ferry_task *task, ferry_task **shown,
                              ferry_task **blank)
{
    ferry_status st = FERRY_OK;
    ferry_task *resolved = NULL;

    FERRY_NEED(ctx, task->goal == FERRY_CLASSIFY, FERRY_ENEEDS,
               "select works for goal classify, not %s", ferry_goal_name(task->goal));
    FERRY_TRY(ferry_i_task_resolved(ctx, task, &resolved));
    FERRY_TRY(ferry_i_task_split(ctx, resolved, 0, shown));
    FERRY_TRY(ferry_task_new(ctx, task->name, task->goal, blank));
    for (int64_t i = 0; i < resolved->n_domains; i++) {
        ferry_domain *d = resolved->domains[i], *bare = NULL;
        if (d->role == FERRY_TARGET)
            FERRY_TRY(ferry_i_domain_with_labels(ctx, d, NULL, &bare));
        else
            bare = ferry_i_domain_ref(d);
        FERRY_TRY(ferry_task_add_domain(ctx, *blank, bare));
    }
    FERRY_HAVE(ctx, (*blank)->names = ferry_i_ids_copy(resolved->names));
done:
    ferry_task_free(resolved);
    return st;
}

/* "dvd", "dvd + books" */
static ferry_status source_names(ferry_ctx *ctx, const ferry_task *task, ferry_text *o)
{
    ferry_status st = FERRY_OK;

    for (int64_t i = 0; i < ferry_i_task_count_role(task, FERRY_SOURCE); i++)
        ferry_i_text_addf(o, "%s%s", i ? " + " : "",
                          ferry_i_task_role(task, FERRY_SOURCE, i)->name);
    FERRY_HAVE(ctx, !o->failed);
done:
    return st;
}

ferry_status ferry_select_trial(ferry_ctx *ctx, const ferry_task *task,
                                const ferry_opts *opts, ferry_selection **out)
{
    FERRY_ARGS_OUT(ctx, out, out, task);

    ferry_status st = FERRY_OK;
    ferry_selection *s = NULL;
    ferry_task *shown = NULL, *blank = NULL;
    ferry_text source = {0};
    trials t = {0};

    FERRY_TRY(ferry_i_task_call(ctx, "select", task, opts));
    FERRY_TRY(ferry_i_blas_ready(ctx));
    FERRY_TRY(read_options(ctx, task, opts, &t));
    FERRY_TRY(read_task(ctx, task, &shown, &blank));
    t.task = blank;
    FERRY_TRY(ferry_i_task_target(ctx, shown, &t.target));
    FERRY_NEW(ctx, s, 1);
    s->trial = true;
    s->candidates = ferry_i_task_count_role(blank, FERRY_INTERMEDIATE);
    FERRY_NEED(ctx, s->candidates > 0 && ferry_i_task_count_role(blank, FERRY_SOURCE) > 0,
               FERRY_ENEEDS,
               "select needs a source and the candidates as intermediate domains");
    s->task = ferry_i_strdup(task->name);
    s->target = ferry_i_strdup(t.target->name);
    s->names = ferry_i_ids_new();
    FERRY_HAVE(ctx, s->task && s->target && s->names);
    /* All names before the first is looked up: adding one moves the others. */
    FERRY_TRY(source_names(ctx, blank, &source));
    for (int64_t i = 0; i < blank->n_domains; i++)
        FERRY_HAVE(ctx, ferry_i_ids_add(s->names, blank->domains[i]->name, NULL) >= 0);
    FERRY_HAVE(ctx, ferry_i_ids_add(s->names, source.s, NULL) >= 0);
    s->labels = ferry_domain_labels(t.target);
    s->classes = ferry_i_ids_count(blank->names);
    s->against = -1;
    FERRY_TRY(try_all(ctx, &t));
    for (int64_t i = 0; i < t.n; i++)
        if (t.way[i].reached) s->rows = t.way[i].rows;
    s->floor = s->rows > 0 ? 4 / sqrt((double)s->rows) : 1;
    FERRY_TRY(conclude(ctx, &t,
                       ferry_i_ids_at(s->names, ferry_i_ids_find(s->names, source.s)), s));
    FERRY_TRY(task_lines(ctx, task, s));
    FERRY_MOVE(*out, s);
done:
    trials_clear(&t);
    ferry_i_text_free(&source);
    ferry_task_free(shown);
    ferry_task_free(blank);
    ferry_selection_free(s);
    ferry_i_task_call_end(ctx, task);
    return st;
}
