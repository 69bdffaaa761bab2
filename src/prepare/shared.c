/* What the fits of one task share (ferry_i_task_share): the evaluation fits twenty methods to every split, and all of
 * them ask for the same resolved task, the same columns, mostly the same scales, and often for the same rows.
 *
 * Each is made once, by whichever fit comes first, under a lock: the same bits whoever that is, because nothing of it
 * depends on the method. A failure leaves nothing behind, so that each method fails with its own sentence. */
#include "prepare/shared.h"

#include <pthread.h>

#include "linalg/ops.h"
#include "prepare/plan.h"

/* Rows are kept up to so many bytes a task: they save little where they are many, and cost memory. */
static const int64_t ROWS_MOST = (int64_t)1 << 20;

/* One scaler; roots: where nothing may go below 0 its rule differs. */
typedef struct scaled {
    struct scaled *next;
    int64_t g;
    int scale;
    ferry_positive positive;
    ferry_scaler *is;
    ferry_scale_facts facts;
} scaled;

/* The rows that those get who want just this. */
typedef struct delivered {
    struct delivered *next;
    ferry_wants wants;
    int64_t n_sources, n_rows;
    ferry_rows *rows;
} delivered;

struct ferry_shared {
    pthread_mutex_t lock;
    scope *keep; /* bound by who has the lock */
    ferry_task *task;
    ferry_lineup *lineup;
    scaled *scaled;
    delivered *delivered;
    int64_t bytes;
};

static void unshare(ferry_shared *h)
{
    scope_close(h->keep);
    ferry_task_free(h->task);
    (void)pthread_mutex_destroy(&h->lock);
    ferry_i_free(h);
}

ferry_status ferry_i_task_share(ferry_ctx *ctx, ferry_task *task)
{
    if (task->shared) return FERRY_OK;
    ferry_shared *h = ferry_i_calloc(1, sizeof *h);
    if (h && !(h->keep = scope_open(NULL))) {
        ferry_i_free(h);
        h = NULL;
    }
    if (!h) return ferry_i_nomem(ctx);
    (void)pthread_mutex_init(&h->lock, NULL);
    task->unshare = unshare;
    task->shared = h;
    return FERRY_OK;
}

/* body in s, while nobody else is inside; what it makes in h->keep stays, unless it fails. */
static void alone(scope *s, ferry_shared *h, void (*body)(scope *s, void *arg), void *arg)
{
    (void)pthread_mutex_lock(&h->lock);
    scope_bind(h->keep, s);
    const ferry_status st = scope_try(s, h->keep, body, arg);
    (void)pthread_mutex_unlock(&h->lock);
    scope_check(s, st);
}

/* ---- the resolved task ---- */

ferry_split *split_of(scope *s, const ferry_task *task)
{
    ferry_split *split = NEW(s, ferry_split, 1);

    *split = (ferry_split){.task = task, .keep = scope_within(s)};
    return split;
}

typedef struct resolving {
    const ferry_task *from;
    ferry_shared *h;
} resolving;

static void resolve_once(scope *s, void *arg)
{
    const resolving *r = arg;

    if (!r->h->task)
        scope_check(s, ferry_i_task_resolved(scope_ctx(s), r->from, &r->h->task));
}

static void free_task(void *task)
{
    ferry_task_free(task);
}

ferry_split *split_resolved(scope *s, const ferry_task *task)
{
    ferry_task *own = NULL;

    if (task->shared) {
        alone(s, task->shared, resolve_once, &(resolving){task, task->shared});
        ferry_split *split = split_of(s, task->shared->task);
        split->shared = task->shared;
        return split;
    }
    scope_check(s, ferry_i_task_resolved(scope_ctx(s), task, &own));
    scope_defer(s, free_task, own);
    return split_of(s, own);
}

/* ---- where columns stand ---- */

static void line_up_once(scope *s, void *arg)
{
    ferry_shared *h = arg;

    (void)s;
    if (!h->lineup) h->lineup = lineup_find(h->keep, h->task);
}

const ferry_lineup *split_lineup(scope *s, ferry_split *split)
{
    if (split->lineup) return split->lineup;
    if (split->shared) {
        alone(s, split->shared, line_up_once, split->shared);
        split->lineup = split->shared->lineup;
    } else {
        split->lineup = lineup_find(split->keep, split->task);
    }
    return split->lineup;
}

/* ---- scales ---- */

typedef struct scaling {
    const ferry_plan *plan;
    ferry_prepared *p;
    int64_t g;
    scope *keep;
    ferry_shared *h; /* NULL: for this fit alone */
} scaling;

static void scale_it(scope *s, void *arg)
{
    const scaling *a = arg;

    scale_space(s, a->keep, a->plan, a->p, a->g);
}

static void scale_once(scope *s, void *arg)
{
    const scaling *a = arg;
    const ferry_wants *w = &a->p->wants;
    ferry_space *to = &a->p->space[a->g];
    scaled *c = a->h->scaled;

    while (c && (c->g != a->g || c->scale != w->scale || c->positive != w->positive))
        c = c->next;
    if (!c) {
        scale_it(s, arg);
        c = NEW(a->keep, scaled, 1);
        *c = (scaled){a->h->scaled, a->g, w->scale, w->positive, (ferry_scaler *)to->scale,
                      to->facts};
        a->h->scaled = c;
    }
    to->scale = c->is;
    to->facts = c->facts;
}

/* Rows of many processes: all of them come to the same sums, in the same order; so nothing is looked up. */
static ferry_shared *shared_by(const scope *s, const ferry_split *split)
{
    return rows_spread(s) ? NULL : split->shared;
}

ferry_status split_scale(scope *s, ferry_split *split, const ferry_plan *plan,
                         ferry_prepared *p, int64_t g)
{
    ferry_shared *h = shared_by(s, split);
    scaling a = {plan, p, g, h ? h->keep : split->keep, h};

    if (!h) return scope_try(s, split->keep, scale_it, &a);
    (void)pthread_mutex_lock(&h->lock);
    scope_bind(h->keep, s);
    const ferry_status st = scope_try(s, h->keep, scale_once, &a);
    (void)pthread_mutex_unlock(&h->lock);
    return st;
}

/* ---- rows ---- */

static bool wants_same(const ferry_wants *a, const ferry_wants *b)
{
    return a->domains == b->domains && a->layout == b->layout && a->scale == b->scale &&
           a->missing == b->missing && a->shift == b->shift && a->positive == b->positive &&
           a->shared == b->shared && a->taught == b->taught && a->labelled == b->labelled &&
           a->every == b->every && a->borrow == b->borrow && a->keeps == b->keeps &&
           a->full == b->full && a->embeds == b->embeds;
}

/* No less than what its rows take. */
static int64_t bytes_of(const ferry_plan *plan, const ferry_prepared *p)
{
    const ferry_lineup *l = plan->of;
    int64_t bytes = 0;

    for (int64_t d = 0; d < l->n; d++) {
        if (!plan->wanted[d]) continue;
        const ferry_domain *of = l->domain[d];
        int64_t cells = p->dense ? prepared_width(p) * ferry_i_domain_id_count(of) * 8 : 0;
        for (int64_t v = 0; v < of->n_views; v++) {
            const ferry_matrix *x = of->views[v]->x;
            const ferry_scaler *by = p->space[l->links->group[d][v]].scale;
            cells += x->dense || (by && by->dense) ? x->rows * x->cols * 8 : x->nnz * 12;
        }
        bytes += cells;
    }
    return bytes;
}

typedef struct delivering {
    const ferry_plan *plan;
    ferry_prepared *p;
    ferry_shared *h;
    int64_t bytes;
} delivering;

static void free_matrix(void *x)
{
    ferry_i_matrix_free(x);
}

/* One user more than there are: whoever changes rows that are its own alone (learn/views.c) takes a copy. */
static void hold(scope *keep, const ferry_prepared *p)
{
    for (int64_t i = 0; i < p->n_rows; i++)
        for (int64_t v = 0; v < p->rows[i].n_x; v++)
            scope_defer(keep, free_matrix, ferry_i_matrix_ref(p->rows[i].x[v]));
}

static void deliver_once(scope *s, void *arg)
{
    const delivering *a = arg;
    ferry_shared *h = a->h;
    ferry_prepared *p = a->p;
    delivered *c = h->delivered;

    while (c && !wants_same(&c->wants, &p->wants))
        c = c->next;
    if (!c) {
        if (a->bytes > ROWS_MOST - h->bytes) return;
        all_rows(s, h->keep, a->plan, p);
        hold(h->keep, p);
        c = NEW(h->keep, delivered, 1);
        *c = (delivered){h->delivered, p->wants, p->n_sources, p->n_rows, p->rows};
        c->wants.method = NULL;
        h->delivered = c;
        h->bytes += a->bytes;
    }
    p->n_sources = c->n_sources;
    p->n_rows = c->n_rows;
    p->rows = c->rows;
}

void split_rows(scope *s, ferry_split *split, const ferry_plan *plan, ferry_prepared *p)
{
    ferry_shared *h = shared_by(s, split);

    if (h) alone(s, h, deliver_once, &(delivering){plan, p, h, bytes_of(plan, p)});
    if (!p->rows) all_rows(s, split->keep, plan, p);
}
