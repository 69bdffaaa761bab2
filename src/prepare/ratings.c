/* Ratings of a domain as numbers (problem.h): users and items in an order by what their ratings are, which neither
 * files nor names decide, and the ratings that have a value as a sparse matrix and its transpose.
 *
 * With --engine mpi every user and every item of the target is one process's to work out, with all its ratings. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "prepare/problem.h"

/* ---- an order that neither the file nor names decide ---- */

/* Of a rating where it is in the range, in so few digits that no unit decides. */
static int64_t in_range(const ferry_ratings *r, double value)
{
    const double wide = r->hi - r->lo;

    return wide > 0 ? llround(ldexp((value - r->lo) / wide, 24)) : 0;
}

/* to[at[e]] of every rating += a hash of it and of what is on its other side (NULL: nothing): sums of whole numbers,
 * which have no order. */
static void add_ratings(const ferry_ratings *r, const int32_t *at, const int32_t *other,
                        const uint64_t *of, uint64_t *to)
{
    for (int64_t e = 0; e < r->n; e++) {
        if (isnan(r->value[e])) continue;
        const struct {
            int64_t value;
            uint64_t of;
        } rating = {in_range(r, r->value[e]), of ? of[other[e]] : 0};
        to[at[e]] += XXH3_64bits(&rating, sizeof rating);
    }
}

/* Of users and items what they are by their ratings: their values, whom they are of, what else these rated and how, who
 * else rated that. Who is alike by all of it may be exchanged for one another. 0: nobody rated it. */
static void contents(const ferry_ratings *r, uint64_t *user, uint64_t *item)
{
    const int64_t users = ferry_i_ids_count(r->users), items = ferry_i_ids_count(r->items);
    enum { TURNS = 2 };

    for (int turn = 0; turn < TURNS; turn++) {
        memset(user, 0, (size_t)users * sizeof *user);
        add_ratings(r, r->user, r->item, turn > 0 ? item : NULL, user);
        memset(item, 0, (size_t)items * sizeof *item);
        add_ratings(r, r->item, r->user, user, item);
    }
}

typedef struct ranked {
    uint64_t key;
    const char *id;
    int32_t at;
} ranked;

/* Those without a rating last, so that they do not count; who is alike by id, by its bytes (which no locale changes). */
static int by_content(const void *a, const void *b)
{
    const ranked *x = a, *y = b;

    if ((x->key == 0) != (y->key == 0)) return x->key == 0 ? 1 : -1;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return strcmp(x->id, y->id);
}

static void free_ids(void *ids)
{
    ferry_i_ids_free(ids);
}

/* The ids in that order (key NULL: by id); number[i] is where the i-th goes. */
static const ferry_ids *sort_ids(scope *s, const ferry_ids *ids, const uint64_t *key,
                                 int32_t *number)
{
    const int64_t n = ferry_i_ids_count(ids);
    ferry_ids *out = ferry_i_ids_new();

    if (!out) scope_check(s, ferry_i_nomem(scope_ctx(s)));
    scope_defer(s, free_ids, out);
    const int64_t mark = scope_mark(s);
    ranked *list = NEW(s, ranked, n);
    for (int64_t i = 0; i < n; i++)
        list[i] = (ranked){key ? key[i] : 1, ferry_i_ids_at(ids, i), (int32_t)i};
    qsort(list, (size_t)n, sizeof *list, by_content);
    for (int64_t i = 0; i < n; i++) {
        if (ferry_i_ids_add(out, list[i].id, NULL) < 0)
            scope_check(s, ferry_i_nomem(scope_ctx(s)));
        number[list[i].at] = (int32_t)i;
    }
    scope_release(s, mark);
    return out;
}

const ferry_ids *ids_sorted(scope *s, const ferry_ids *ids)
{
    int32_t *number = NEW(s, int32_t, ferry_i_ids_count(ids));
    const ferry_ids *out = sort_ids(s, ids, NULL, number);

    scope_drop(s, number);
    return out;
}

/* ---- which users and items are here ---- */

/* A user's or item's own system costs about as much as this many ratings. */
enum { ROW_COST = 8 };

/* Rows are cut so that processes have about as much to do; number[at[e]] is the row of a rating. *n: rows here. */
static layout cut_rows(scope *s, const ferry_ratings *r, const int32_t *at,
                       const int32_t *number, int64_t rows, int64_t *n)
{
    const int64_t mark = scope_mark(s);
    double *work = NEW(s, double, rows);

    for (int64_t i = 0; i < rows; i++)
        work[i] = ROW_COST;
    for (int64_t e = 0; e < r->n; e++)
        if (!isnan(r->value[e])) work[number[at[e]]]++;
    const layout to = rows_by_work(s, rows, work, n);
    scope_release(s, mark);
    return to;
}

/* ---- as a matrix ---- */

/* Ratings, where their users and items go, and the users that are here. */
typedef struct numbered {
    const ferry_ratings *r;
    const int32_t *user, *item;
    int64_t first, users;
} numbered;

/* Whether rating e has a value and a user who is here. */
static bool is_here(const numbered *p, int64_t e)
{
    const int64_t i = p->user[p->r->user[e]];

    return i >= p->first && i < p->first + p->users && !isnan(p->r->value[e]);
}

/* Items x users who are here, by a counting sort: the users of an item in the order of the file. */
static matrix by_item(scope *s, const numbered *p)
{
    const int64_t items = ferry_i_ids_count(p->r->items);
    int64_t n = 0, *next = NEW(s, int64_t, items + 1);
    ferry_matrix *t = NULL;

    for (int64_t e = 0; e < p->r->n; e++)
        if (is_here(p, e)) {
            next[p->item[p->r->item[e]]]++;
            n++;
        }
    scope_check(s, ferry_i_matrix_csr(scope_ctx(s), items, p->users, n, &t));
    const matrix x = matrix_own(s, t);
    for (int64_t j = 0; j < items; j++) {
        t->start[j + 1] = t->start[j] + next[j];
        next[j] = t->start[j];
    }
    for (int64_t e = 0; e < p->r->n; e++) {
        if (!is_here(p, e)) continue;
        const int64_t at = next[p->item[p->r->item[e]]]++;
        t->index[at] = (int32_t)(p->user[p->r->user[e]] - p->first);
        t->value[at] = p->r->value[e];
    }
    return x;
}

static void free_at(void *m)
{
    ferry_i_matrix_free(*(ferry_matrix **)m);
}

/* Users who are here x items: counting by item and transposing sorts the items of a user in O(n), whatever order the
 * file had. last_use: the ratings, where nobody needs their entries any more, or NULL. */
static matrix by_user(scope *s, const numbered *p, layout rows, ferry_ratings *last_use)
{
    ferry_matrix **x = NEW(s, ferry_matrix *, 1);

    scope_defer(s, free_at, x);
    const int64_t mark = scope_mark(s);
    const matrix t = by_item(s, p);
    if (last_use) ferry_i_ratings_forget(last_use);
    scope_check(s, ferry_i_matrix_transpose(scope_ctx(s), t.m, x));
    scope_release(s, mark);
    (*x)->whole = rows.spread ? rows.n : 0;
    return (matrix){rows, (*x)->rows, (*x)->cols, *x};
}

/* by_key: not by id; `spread`: over the processes, if there are several. */
static ratings sorted(scope *s, const ferry_ratings *from, bool by_key, bool spread,
                      ferry_ratings *last_use)
{
    const int64_t users = ferry_i_ids_count(from->users),
                  items = ferry_i_ids_count(from->items);
    int32_t *user = NEW(s, int32_t, users), *item = NEW(s, int32_t, items);
    uint64_t *user_key = by_key ? NEW(s, uint64_t, users) : NULL,
             *item_key = by_key ? NEW(s, uint64_t, items) : NULL;
    ratings r = {.users = users, .items = items, .lo = from->lo, .hi = from->hi};
    layout user_rows = HERE(users), item_rows = HERE(items);
    int64_t n_users = users, n_items = items;

    if (by_key) contents(from, user_key, item_key);
    r.user_id = sort_ids(s, from->users, user_key, user);
    r.item_id = sort_ids(s, from->items, item_key, item);
    scope_drop(s, user_key);
    scope_drop(s, item_key);
    if (spread && rows_spread(s)) {
        user_rows = cut_rows(s, from, from->user, user, users, &n_users);
        item_rows = cut_rows(s, from, from->item, item, items, &n_items);
    }
    r.x = by_user(s, &(numbered){from, user, item, user_rows.first, n_users}, user_rows,
                  last_use);
    r.xt = transpose(s, r.x, item_rows, n_items);
    scope_drop(s, user);
    scope_drop(s, item);
    return r;
}

ratings ratings_sorted(scope *s, const ferry_ratings *from)
{
    return sorted(s, from, false, false, NULL);
}

/* ---- a task ---- */

/* A split hides values but leaves the pairs, so counting entries is not enough. */
static void need_ratings(scope *s, const char *name, const ferry_domain *d)
{
    int64_t e = 0;

    while (d->ratings && e < d->ratings->n && isnan(d->ratings->value[e]))
        e++;
    if (!d->ratings || e == d->ratings->n)
        scope_fail(
            s, FERRY_ENEEDS,
            "%s needs some ratings of the target; target '%s' has none that it may see",
            name, d->name);
}

/* Sources first; of each the range and how many users and items there are. */
static problem *describe(scope *s, const ferry_task *task, const method *m, domain *d)
{
    problem *p = NEW(s, problem, 1);
    const ferry_domain *from = NULL, *target_of = NULL;

    scope_check(s, ferry_i_task_target(scope_ctx(s), task, &target_of));
    need_ratings(s, m->name, target_of);
    *p = (problem){.goal = FERRY_RATE, .classes = 1, .d = d, .task = task};
    while ((from = ferry_i_task_role(task, FERRY_SOURCE, p->n)))
        d[p->n++].name = from->name;
    p->n_sources = p->n;
    d[p->n++].name = target_of->name;
    for (int i = 0; i < p->n; i++) {
        from = i < p->n_sources ? ferry_i_task_role(task, FERRY_SOURCE, i) : target_of;
        ratings *r = NEW(s, ratings, 1);
        d[i].r = r;
        if (!from->ratings) continue; /* the method does without */
        *r = (ratings){.users = ferry_i_ids_count(from->ratings->users),
                       .items = ferry_i_ids_count(from->ratings->items),
                       .lo = from->ratings->lo,
                       .hi = from->ratings->hi};
    }
    return p;
}

problem *ratings_shape(scope *s, const ferry_task *task, const method *m)
{
    return describe(s, task, m, NEW(s, domain, task->n_domains));
}

/* Ratings that the task has for this fit alone are gone afterwards. */
problem *ratings_problem(scope *s, const ferry_task *task, const method *m)
{
    domain *of = NEW(s, domain, task->n_domains);
    problem *p = describe(s, task, m, of);
    const ferry_domain *d = NULL;
    ratings *r = NEW(s, ratings, 1);

    scope_check(s, ferry_i_task_target(scope_ctx(s), task, &d));
    const bool own = task->passing && d->base && d->ratings != d->base->ratings;
    *r = sorted(s, d->ratings, true, true, own ? d->ratings : NULL);
    of[p->n - 1].r = r;
    return p;
}

ratings source_ratings(scope *s, const problem *p, int i)
{
    const ferry_domain *d = ferry_i_task_role(p->task, FERRY_SOURCE, i);

    if (!isfinite(d->ratings->lo))
        scope_fail(s, FERRY_ENEEDS,
                   "%s needs ratings in every source; source '%s' has none with a value",
                   scope_ctx(s)->fitting, d->name);
    return sorted(s, d->ratings, true, false, NULL);
}
