/* Splits: which of a target's labels (or ratings) a method may see in a repeat.
 *
 * Labels are dealt like cards: within each class all candidates are shuffled once, and as many
 * repeats as this allows take the next ones: hands of one deck share no label. Then all are shuffled
 * anew. Every split alone is the same uniform stratified draw as if it had been drawn for itself, but
 * repeats that share fewer labels tell more together (run/crossed.c). With `labelled: all`, which is what not giving it means,
 * it is the other way round: a repeat hides its hand and shows all others, so that a deck is one
 * cross-validation.
 *
 * The draw depends on the seed, the deck and the ids alone: candidates are put in the
 * order of their ids first, and classes in the order in which these show them, so neither
 * the order of the rows in a file nor the methods that run nor what the classes are called
 * change it, and repeat r does not depend on how many are run. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "task/task.h"

/* ---- decks and hands ---- */

enum { FOLDS = 5 };

typedef struct dealing {
    const ferry_ctx *ctx;
    int64_t repeat;
    int64_t hands, hand; /* of a deck; the one that is this repeat's */
    bool folds;          /* the hand is hidden, not shown */
    ferry_rng rng;       /* the deck's */
} dealing;

/* Decks of so many hands. */
static void cut(dealing *g, int64_t hands)
{
    ferry_ctx deck = *g->ctx;

    g->hands = hands > 1 ? hands : 1;
    g->hand = g->repeat % g->hands;
    deck.repeat = (uint64_t)(g->repeat / g->hands);
    ferry_i_rng_for(&deck, &g->rng, "split");
}

/* Hands of `take` cards that n can be dealt into. */
static int64_t hands_of(int64_t n, int64_t take)
{
    return take > 0 ? n / take : 1;
}

/* Whether card i, when hands have `take` cards each, may be seen. */
static bool shows(const dealing *g, int64_t i, int64_t take)
{
    if (g->folds) return g->hands < 2 || i % g->hands != g->hand;
    return i >= g->hand * take && i < (g->hand + 1) * take;
}

/* ---- order by id ---- */

/* An id and where it stands. */
typedef struct named {
    const char *id;
    int64_t place;
} named;

static int by_id(const void *a, const void *b)
{
    return strcmp(((const named *)a)->id, ((const named *)b)->id);
}

/* order[k]: place of the k-th id by strcmp. */
static ferry_status order_by_id(ferry_ctx *ctx, const ferry_ids *ids, int64_t **out)
{
    ferry_status st = FERRY_OK;
    const int64_t n = ferry_i_ids_count(ids);
    named *list = ferry_i_calloc(n, sizeof *list);
    int64_t *order = ferry_i_calloc(n, sizeof *order);

    *out = NULL;
    FERRY_HAVE(ctx, list && order);
    for (int64_t i = 0; i < n; i++)
        list[i] = (named){ferry_i_ids_at(ids, i), i};
    qsort(list, (size_t)n, sizeof *list, by_id);
    for (int64_t i = 0; i < n; i++)
        order[i] = list[i].place;
    FERRY_MOVE(*out, order);
done:
    FERRY_FREE(list, order);
    return st;
}

/* place[i]: where id number i stands by strcmp. */
static ferry_status places_by_id(ferry_ctx *ctx, const ferry_ids *ids, int64_t **out)
{
    ferry_status st = FERRY_OK;
    const int64_t n = ferry_i_ids_count(ids);
    int64_t *order = NULL, *place = NULL;

    FERRY_NEW(ctx, place, n);
    FERRY_TRY(order_by_id(ctx, ids, &order));
    for (int64_t k = 0; k < n; k++)
        place[order[k]] = k;
    FERRY_MOVE(*out, place);
done:
    FERRY_FREE(order, place);
    return st;
}

/* A rating of a user: the place of its item, and its number. */
typedef struct rated {
    int64_t place, entry;
} rated;

/* Shell's: mostly a hundred or so at a time, millions of times, which takes qsort longer than all else that a split
 * does. */
static void sort_rated(int64_t n, rated *list)
{
    int64_t gap = 1;

    while (gap < n / 3)
        gap = 3 * gap + 1;
    for (; gap > 0; gap /= 3)
        for (int64_t i = gap; i < n; i++) {
            const rated one = list[i];
            int64_t to = i;
            for (; to >= gap && list[to - gap].place > one.place; to -= gap)
                list[to] = list[to - gap];
            list[to] = one;
        }
}

/* order <- the ratings that have a value, by the id of the user, then of the item. Counted by users, then each user's sorted: a pair is there once, and a second array of this length would be as large as all values. */
static ferry_status order_ratings(ferry_ctx *ctx, const ferry_ratings *r, int64_t *order)
{
    ferry_status st = FERRY_OK;
    const int64_t users = ferry_i_ids_count(r->users);
    int64_t *user = NULL, *item = NULL, *start = NULL, most = 0;
    rated *list = NULL;

    FERRY_TRY(places_by_id(ctx, r->users, &user));
    FERRY_TRY(places_by_id(ctx, r->items, &item));
    FERRY_NEW(ctx, start, users + 2);
    for (int64_t e = 0; e < r->n; e++)
        if (!isnan(r->value[e])) start[user[r->user[e]] + 2]++;
    for (int64_t k = 0; k < users; k++) {
        most = start[k + 2] > most ? start[k + 2] : most;
        start[k + 2] += start[k + 1];
    }
    FERRY_NEW(ctx, list, most);
    for (int64_t e = 0; e < r->n; e++) /* start[k + 1] becomes the end of user k */
        if (!isnan(r->value[e])) order[start[user[r->user[e]] + 1]++] = e;
    for (int64_t k = 0; k < users; k++) {
        const int64_t from = start[k], count = start[k + 1] - from;
        for (int64_t i = 0; i < count; i++)
            list[i] = (rated){item[r->item[order[from + i]]], order[from + i]};
        sort_rated(count, list);
        for (int64_t i = 0; i < count; i++)
            order[from + i] = list[i].entry;
    }
done:
    FERRY_FREE(user, item, start, list);
    return st;
}

/* ---- how many ---- */

/* Count or fraction of n candidates. */
static ferry_status how_many(ferry_ctx *ctx, const ferry_domain *d, int64_t n,
                             const char *what, int64_t *out)
{
    const ferry_seen *s = &d->seen;

    if (s->kind == FERRY_SEEN_FRACTION) {
        *out = (int64_t)floor(s->value * (double)n + 0.5);
        if (*out == 0 && n > 0) *out = 1;
        return FERRY_OK;
    }
    *out = (int64_t)s->value;
    if (*out <= n) return FERRY_OK;
    return ferry_i_fail(ctx, FERRY_EDATA,
                        "domain '%s': labelled: %lld asked for, but it has "
                        "%lld %s",
                        d->name, (long long)*out, (long long)n, what);
}

/* Share `count` among classes of size[k] in proportion, by largest remainder; at least one
 * of each when the count allows. */
static void share(int64_t m, const int64_t *size, int64_t count, int64_t *take)
{
    int64_t n = 0, classes = 0, sum = 0;

    for (int64_t k = 0; k < m; k++) {
        n += size[k];
        classes += size[k] > 0;
    }
    for (int64_t k = 0; k < m; k++) {
        take[k] = (int64_t)((double)count * (double)size[k] / (double)n);
        if (take[k] == 0 && size[k] > 0 && count >= classes) take[k] = 1;
        sum += take[k];
    }
    while (sum != count) {
        const int64_t step = sum < count ? 1 : -1;
        double furthest = -INFINITY;
        int64_t at = 0;
        for (int64_t k = 0; k < m; k++) {
            const double exact = (double)count * (double)size[k] / (double)n;
            const double off = (double)step * (exact - (double)take[k]);
            if (step > 0 ? take[k] >= size[k] : take[k] <= 1) continue;
            if (off > furthest) {
                furthest = off;
                at = k;
            }
        }
        take[at] += step;
        sum += step;
    }
}

/* ---- labels ---- */

/* Classes as the candidates show them: rank[k] is the place of class k among those that
 * occur, by its first candidate; size[r] how many the r-th has. */
typedef struct groups {
    int64_t m;
    int32_t *rank, *cls; /* cls[r]: the class of rank r */
    int64_t *size, *take, *next, *member;
} groups;

static void groups_clear(groups *g)
{
    FERRY_FREE(g->rank, g->cls, g->size, g->take, g->next, g->member);
}

static ferry_status groups_find(ferry_ctx *ctx, const ferry_labels *l, int64_t n,
                                const int64_t *candidate, groups *g)
{
    ferry_status st = FERRY_OK;
    const int64_t m = ferry_i_labels_m(l);

    FERRY_NEW(ctx, g->rank, m);
    FERRY_NEW(ctx, g->cls, m);
    FERRY_NEW(ctx, g->size, m);
    FERRY_NEW(ctx, g->take, m);
    FERRY_NEW(ctx, g->next, m);
    FERRY_NEW(ctx, g->member, n);
    for (int64_t k = 0; k < m; k++)
        g->rank[k] = -1;
    for (int64_t i = 0; i < n; i++) {
        const int32_t k = l->cls[candidate[i]];
        if (g->rank[k] < 0) {
            g->cls[g->m] = k;
            g->rank[k] = (int32_t)g->m++;
        }
        g->size[g->rank[k]]++;
    }
done:
    return st;
}

/* Which classes have labels at all, when not all do: take[r] becomes 1 for `want` of them.
 * Drawn from the classes in the order of their names, so that the draw is of names. */
static ferry_status draw_seen(ferry_ctx *ctx, const ferry_domain *d, groups *g,
                              dealing *deal)
{
    ferry_status st = FERRY_OK;
    const int64_t want = d->seen.classes;
    named *list = NULL;
    int64_t *order = NULL;

    FERRY_NEED(ctx, want <= g->m, FERRY_EDATA,
               "domain '%s': labelled: classes: %lld asked for, but it has %lld", d->name,
               (long long)want, (long long)g->m);
    FERRY_NEW(ctx, list, g->m);
    FERRY_NEW(ctx, order, g->m);
    for (int64_t r = 0; r < g->m; r++) {
        list[r] = (named){ferry_i_ids_at(d->labels->names, g->cls[r]), r};
        order[r] = r;
    }
    qsort(list, (size_t)g->m, sizeof *list, by_id);
    cut(deal, 1); /* every repeat draws other classes */
    ferry_i_rng_shuffle(&deal->rng, g->m, order);
    for (int64_t i = 0; i < g->m; i++)
        g->take[list[order[i]].place] = i < want;
done:
    FERRY_FREE(list, order);
    return st;
}

/* The same number of each class that occurs (of those that were drawn); a class with fewer
 * is refused, since a silent shortfall would make repeats differ in size. */
static ferry_status per_class(ferry_ctx *ctx, const ferry_domain *d, groups *g,
                              dealing *deal)
{
    ferry_status st = FERRY_OK;
    const int64_t want = (int64_t)d->seen.value;

    if (d->seen.classes > 0) FERRY_TRY(draw_seen(ctx, d, g, deal));
    for (int64_t r = 0; r < g->m; r++) {
        if (d->seen.classes > 0 && g->take[r] == 0) continue;
        FERRY_NEED(ctx, g->size[r] >= want, FERRY_EDATA,
                   "domain '%s': labelled: class '%s' has %lld labelled instances, "
                   "per_class asks for %lld",
                   d->name, ferry_i_ids_at(d->labels->names, g->cls[r]),
                   (long long)g->size[r], (long long)want);
        g->take[r] = want;
    }
done:
    return st;
}

/* The hands that all classes can be dealt into; of folds, so many that the class in which the middle label lies has one in each:
 * with two labels a class, a fold that hides one of them must hide one of every class. */
static int64_t class_hands(const groups *g, bool folds)
{
    int64_t hands = folds ? FOLDS : INT64_MAX, most = 0, n = 0, above = 0;

    for (int64_t r = 0; r < g->m; r++) {
        n += g->size[r];
        if (!folds && g->take[r] > 0 && hands_of(g->size[r], g->take[r]) < hands)
            hands = hands_of(g->size[r], g->take[r]);
        most = g->size[r] > most ? g->size[r] : most;
    }
    if (!folds) return hands < INT64_MAX ? hands : 1;
    for (; most > 2; most--) { /* half the labels are in classes at least as large */
        above = 0;
        for (int64_t r = 0; r < g->m; r++)
            above += g->size[r] >= most ? g->size[r] : 0;
        if (2 * above >= n) break;
    }
    return most < hands ? most : hands;
}

/* Mark each class's share of the hand, dealt class after class. A class's only label is never hidden; folds go on where the
 * class before ended, so that they are as large as each other. */
static void deal_classes(const ferry_labels *l, int64_t n, const int64_t *candidate,
                         groups *g, dealing *deal, uint8_t *seen)
{
    int64_t *member = g->member, start = 0, place = 0;

    for (int64_t r = 0; r < g->m; start += g->size[r++])
        g->next[r] = start;
    for (int64_t i = 0; i < n; i++)
        member[g->next[g->rank[l->cls[candidate[i]]]]++] = candidate[i];
    for (int64_t r = 0; r < g->m; member += g->size[r++]) {
        const bool alone = deal->folds && g->size[r] < 2;
        ferry_i_rng_shuffle(&deal->rng, g->size[r], member);
        for (int64_t i = 0; i < g->size[r]; i++)
            seen[member[i]] = alone || shows(deal, place + i, g->take[r]);
        if (deal->folds && !alone) place += g->size[r];
    }
}

/* Stratified: few labels drawn without regard to classes would often miss one altogether,
 * and methods would be compared on luck. */
static ferry_status sample_classes(ferry_ctx *ctx, const ferry_domain *d, int64_t n,
                                   const int64_t *candidate, dealing *deal, uint8_t *seen)
{
    ferry_status st = FERRY_OK;
    groups g = {0};
    int64_t count = 0;

    FERRY_TRY(groups_find(ctx, d->labels, n, candidate, &g));
    if (d->seen.kind == FERRY_SEEN_PER_CLASS) {
        FERRY_TRY(per_class(ctx, d, &g, deal));
    } else if (!deal->folds) {
        FERRY_TRY(how_many(ctx, d, n, "labelled instances", &count));
        if (count > 0) share(g.m, g.size, count, g.take);
    }
    if (d->seen.classes == 0) cut(deal, class_hands(&g, deal->folds));
    deal_classes(d->labels, n, candidate, &g, deal, seen);
done:
    groups_clear(&g);
    return st;
}

/* Mark those that the file of ids names. */
static ferry_status take_ids(ferry_ctx *ctx, const ferry_domain *d, uint8_t *seen)
{
    for (int64_t i = 0; i < ferry_i_ids_count(d->seen.ids); i++) {
        const char *id = ferry_i_ids_at(d->seen.ids, i);
        const int64_t at = ferry_i_ids_find(d->ids, id);
        if (at < 0)
            return ferry_i_fail(ctx, FERRY_EDATA,
                                "domain '%s': labelled: id '%s' is no instance", d->name,
                                id);
        seen[at] = 1;
    }
    return FERRY_OK;
}

/* A number and where it stands. */
typedef struct valued {
    double value;
    int64_t place;
} valued;

static int by_value(const void *a, const void *b)
{
    const valued *x = a, *y = b;

    if (x->value != y->value) return x->value < y->value ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

/* Folds of numbers: neighbours by value go to different ones, so that each spans the range. */
static ferry_status shuffle_neighbours(ferry_ctx *ctx, const double *num, int64_t n,
                                       int64_t *candidate, dealing *deal)
{
    ferry_status st = FERRY_OK;
    valued *list = NULL;
    int64_t *order = NULL;

    FERRY_NEW(ctx, list, n);
    FERRY_NEW(ctx, order, n);
    for (int64_t i = 0; i < n; i++)
        list[i] = (valued){num[candidate[i]], i};
    qsort(list, (size_t)n, sizeof *list, by_value);
    for (int64_t i = 0; i < n; i++)
        order[i] = candidate[list[i].place];
    for (int64_t i = 0; i < n; i += deal->hands)
        ferry_i_rng_shuffle(&deal->rng, n - i < deal->hands ? n - i : deal->hands,
                            order + i);
    memcpy(candidate, order, (size_t)n * sizeof *order);
done:
    FERRY_FREE(list, order);
    return st;
}

/* Mark the instances whose labels may be seen. */
static ferry_status sample(ferry_ctx *ctx, const ferry_domain *d, dealing *deal,
                           uint8_t *seen)
{
    ferry_status st = FERRY_OK;
    const int64_t size = ferry_i_domain_id_count(d);
    int64_t *candidate = NULL, n = 0, count = 0;

    if (d->seen.kind == FERRY_SEEN_IDS) return take_ids(ctx, d, seen);
    if (d->seen.kind == FERRY_SEEN_NONE || (d->seen.kind == FERRY_SEEN_ALL && !deal->folds))
        return FERRY_OK; /* embed, stream: none */
    FERRY_TRY(order_by_id(ctx, d->ids, &candidate));
    for (int64_t i = 0; i < size; i++)
        if (ferry_i_labels_has(d->labels, candidate[i])) candidate[n++] = candidate[i];
    if (d->labels->kind == FERRY_LABEL_CLASS) {
        FERRY_TRY(sample_classes(ctx, d, n, candidate, deal, seen));
        goto done;
    }
    FERRY_NEED(ctx, d->seen.kind != FERRY_SEEN_PER_CLASS, FERRY_EDATA,
               "domain '%s': labelled: per_class needs classes", d->name);
    if (!deal->folds) FERRY_TRY(how_many(ctx, d, n, "labelled instances", &count));
    cut(deal, !deal->folds ? hands_of(n, count) : n < FOLDS ? n : FOLDS);
    if (deal->folds && d->labels->num)
        FERRY_TRY(shuffle_neighbours(ctx, d->labels->num, n, candidate, deal));
    else
        ferry_i_rng_shuffle(&deal->rng, n, candidate);
    for (int64_t i = 0; i < n; i++)
        seen[candidate[i]] = shows(deal, i, count);
done:
    ferry_i_free(candidate);
    return st;
}

/* A copy of the labels with the others gone, not marked: a method cannot read what is not
 * there. */
static ferry_status hide_labels(ferry_ctx *ctx, const ferry_domain *d, dealing *deal,
                                ferry_domain **out)
{
    ferry_status st = FERRY_OK;
    const int64_t n = ferry_i_domain_id_count(d);
    ferry_labels *labels = NULL;
    uint8_t *seen = ferry_i_calloc(n, sizeof *seen);

    FERRY_HAVE(ctx, seen);
    FERRY_TRY(sample(ctx, d, deal, seen));
    FERRY_TRY(ferry_i_labels_copy(ctx, d->labels, &labels));
    for (int64_t i = 0; i < n; i++)
        if (!seen[i]) ferry_i_labels_hide(labels, i);
    FERRY_TRY(ferry_i_domain_with_labels(ctx, d, labels, out));
done:
    ferry_i_free(seen);
    return st;
}

/* ---- ratings ---- */

/* Hidden ratings stay as pairs to be predicted. lo and hi, unless they were given, become
 * those of what is seen: the greatest rating may be a hidden one. */
static ferry_status hide_ratings(ferry_ctx *ctx, const ferry_domain *d, dealing *deal,
                                 ferry_domain **out)
{
    ferry_status st = FERRY_OK;
    const ferry_ratings *all = d->ratings;
    ferry_ratings *r = NULL;
    int64_t *order = NULL, n = 0, count = 0;
    uint8_t *hide = NULL;

    ferry_i_task_whole(ctx, true);
    FERRY_NEED(ctx, d->seen.kind != FERRY_SEEN_PER_CLASS && d->seen.kind != FERRY_SEEN_IDS,
               FERRY_EDATA, "domain '%s': labelled: ratings take a count or a fraction",
               d->name);
    for (int64_t e = 0; e < all->n; e++)
        n += !isnan(all->value[e]);
    if (d->seen.kind == FERRY_SEEN_COUNT || d->seen.kind == FERRY_SEEN_FRACTION)
        FERRY_TRY(how_many(ctx, d, n, "ratings", &count));
    cut(deal, !deal->folds ? hands_of(n, count) : n < FOLDS ? n : FOLDS);
    if (deal->folds ? n < 2 : count == n) { /* all may be seen */
        *out = ferry_i_domain_ref((ferry_domain *)d);
        goto done;
    }
    FERRY_NEW(ctx, order, all->n);
    FERRY_TRY(order_ratings(ctx, all, order));
    ferry_i_rng_shuffle(&deal->rng, n, order);
    FERRY_NEW(ctx, hide, all->n);
    for (int64_t i = 0; i < n; i++)
        hide[order[i]] = !shows(deal, i, count);
    ferry_i_free(order); /* room for the copy */
    order = NULL;
    FERRY_TRY(ferry_i_ratings_copy(ctx, all, &r));
    for (int64_t e = 0; e < r->n; e++)
        if (hide[e]) r->value[e] = NAN;
    ferry_i_ratings_range(r);
    st = ferry_i_domain_with_ratings(ctx, d, r, out);
    r = NULL;
done:
    ferry_i_task_whole(ctx, false);
    ferry_i_ratings_free(r);
    FERRY_FREE(order, hide);
    return st;
}

/* The goal decides what is hidden: ratings for goal rate, labels for all others. */
ferry_status ferry_i_task_hide(ferry_ctx *ctx, ferry_goal goal, const ferry_domain *d,
                               int64_t r, ferry_hands *hands, ferry_domain **out)
{
    ferry_status st = FERRY_OK;
    dealing deal = {.ctx = ctx,
                    .repeat = r < 0 ? 0 : r,
                    .hands = 1,
                    .folds = ferry_i_shows_all(goal, d)};

    *out = NULL;
    if (deal.folds && r < 0)
        *out = ferry_i_domain_ref((ferry_domain *)d);
    else if (goal == FERRY_RATE && d->ratings)
        st = hide_ratings(ctx, d, &deal, out);
    else if (goal != FERRY_RATE && d->labels)
        st = hide_labels(ctx, d, &deal, out);
    else if (d->seen.kind != FERRY_SEEN_ALL && d->seen.kind != FERRY_SEEN_NONE)
        st = ferry_i_fail(ctx, FERRY_EDATA, "domain '%s': labelled: it has no %s", d->name,
                          goal == FERRY_RATE ? "ratings (ratings: FILE gives them)"
                                             : "labels (label: COLUMN says which column "
                                               "of its table holds them, y: FILE reads "
                                               "them from a file)");
    else
        *out = ferry_i_domain_ref((ferry_domain *)d); /* only the count changes */
    if (hands) *hands = (ferry_hands){deal.hands, deal.folds};
    return st;
}

bool ferry_i_shows_all(ferry_goal goal, const ferry_domain *d)
{
    return d->seen.kind == FERRY_SEEN_ALL && goal != FERRY_STREAM && goal != FERRY_EMBED;
}

/* The stream of random numbers belongs to the use "split" and the deck alone, so neither
 * the methods that run nor their order change who is seen. */
ferry_status ferry_i_task_split_hands(ferry_ctx *ctx, const ferry_task *task, int64_t r,
                                      ferry_hands *hands, ferry_task **out)
{
    ferry_status st = FERRY_OK;
    ferry_task *t = NULL;

    *out = NULL;
    FERRY_TRY(ferry_i_task_resolved(ctx, task, &t));
    for (int64_t i = 0; i < t->n_domains; i++) {
        ferry_domain *seen = NULL, *near = NULL;
        if (t->domains[i]->role != FERRY_TARGET) continue;
        FERRY_TRY(ferry_i_task_hide(ctx, t->goal, t->domains[i], r, hands, &seen));
        ferry_domain_free(t->domains[i]);
        t->domains[i] = seen;
        FERRY_TRY(ferry_i_domain_choose_near(ctx, seen, &near));
        ferry_domain_free(seen);
        t->domains[i] = near;
    }
    FERRY_MOVE(*out, t);
done:
    ferry_task_free(t);
    return st;
}

ferry_status ferry_i_task_split(ferry_ctx *ctx, const ferry_task *task, int64_t r,
                                ferry_task **out)
{
    return ferry_i_task_split_hands(ctx, task, r, NULL, out);
}
