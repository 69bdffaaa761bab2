/* Labelled instances and priors, for learners on features side by side (base.h). */
#include "methods/shared/base.h"

#include <math.h>
#include <string.h>

void ferry_i_base_clear(base *b)
{
    ferry_i_prepared_free(b->prepared);
    ferry_i_free(b->prior);
    *b = (base){0};
}

void ferry_i_examples_clear(examples *e)
{
    ferry_i_matrix_free(e->x);
    FERRY_FREE(e->cls, e->num, e->on, e->factor, e->shift);
    *e = (examples){0};
}

int64_t ferry_i_base_width(const base *b)
{
    return ferry_i_prepared_width(b->prepared);
}

/* ---- what to learn from ---- */

static const char *train_name(ferry_train train)
{
    static const char *const names[] = {"auto", "source", "target", "both"};

    return names[train];
}

static bool has_labels(const ferry_domain *d)
{
    for (int64_t i = 0; d->labels && i < d->labels->n; i++)
        if (ferry_i_labels_has(d->labels, i)) return true;
    return false;
}

/* The domains to learn from: auto decided, or a sentence about labels that are missing. */
static ferry_status choose(ferry_ctx *ctx, const ferry_task *task, const base_wants *w,
                           ferry_train *train)
{
    ferry_status st = FERRY_OK;
    const ferry_domain *d = NULL;
    bool taught = false;

    FERRY_TRY(ferry_i_task_target(ctx, task, &d));
    const bool seen = has_labels(d);
    *train = (ferry_train)w->train;
    if (*train == TRAIN_AUTO) *train = seen ? TRAIN_TARGET : TRAIN_SOURCE;
    FERRY_NEED(ctx, seen || *train == TRAIN_SOURCE, FERRY_ENEEDS,
               "%s train=%s needs labels of target '%s' that may be seen", w->method,
               train_name(*train), d->name);
    for (int64_t i = 0; (d = ferry_i_task_role(task, FERRY_SOURCE, i)); i++)
        taught = taught || has_labels(d);
    FERRY_NEED(ctx, taught || *train == TRAIN_TARGET, FERRY_ENEEDS,
               "%s train=%s needs a source with labels", w->method, train_name(*train));
done:
    return st;
}

static ferry_wants wants_of(const base_wants *w, ferry_train train)
{
    return (ferry_wants){.method = w->method,
                         .domains = (train != TRAIN_TARGET ? FERRY_SOURCES : 0) |
                                    (train != TRAIN_SOURCE ? FERRY_THE_TARGET : 0),
                         .layout = FERRY_JOINED,
                         .scale = w->scale,
                         .missing = w->missing,
                         .shared = train != TRAIN_TARGET,
                         .taught = true,
                         .labelled = true,
                         .keeps = w->keeps,
                         .lend = w->lend};
}

/* ---- labels alone ---- */

/* Append the labels of d; e has room for them. */
static void append(const base *b, const ferry_labels *l, examples *e)
{
    for (int64_t i = 0; l && i < l->n; i++) {
        if (!ferry_i_labels_has(l, i)) continue;
        if (e->cls) e->cls[e->n] = l->cls[i];
        if (e->num) e->num[e->n] = l->num[i];
        if (e->on) memcpy(e->on + e->n * b->k, l->on + i * b->k, (size_t)b->k);
        e->n++;
    }
}

static bool counts(const ferry_domain *d, ferry_train train)
{
    if (d->role == FERRY_TARGET) return train != TRAIN_SOURCE;
    return d->role == FERRY_SOURCE && train != TRAIN_TARGET;
}

static ferry_status collect_labels(ferry_ctx *ctx, const ferry_task *task,
                                   ferry_train train, const base *b, examples *e)
{
    ferry_status st = FERRY_OK;
    int64_t room = 0;

    for (int64_t i = 0; i < task->n_domains; i++)
        room += task->domains[i]->labels ? task->domains[i]->labels->n : 0;
    if (b->goal == FERRY_REGRESS)
        FERRY_NEW(ctx, e->num, room);
    else if (b->goal == FERRY_MULTILABEL)
        FERRY_NEW(ctx, e->on, room * b->k);
    else
        FERRY_NEW(ctx, e->cls, room);
    for (int64_t i = 0; i < task->n_domains; i++)
        if (counts(task->domains[i], train)) append(b, task->domains[i]->labels, e);
done:
    return st;
}

/* ---- with features ---- */

static ferry_status collect_rows(ferry_ctx *ctx, const ferry_task *task,
                                 const base_wants *w, ferry_train train, base *b,
                                 examples *e)
{
    ferry_status st = FERRY_OK;
    const ferry_wants wants = wants_of(w, train);
    ferry_rows r = {0};
    int64_t sources = 0;

    FERRY_TRY(ferry_i_prepare(ctx, task, &wants, &b->prepared));
    for (int64_t i = 0; i < b->prepared->n_sources; i++)
        sources += b->prepared->rows[i].n;
    FERRY_TRY(ferry_i_prepared_stack(ctx, b->prepared, &r));
    ferry_i_prepared_forget(b->prepared);
    FERRY_NEED(ctx, ferry_i_all_rows(r.x[0]) > 0, FERRY_ENEEDS,
               "%s needs labelled instances with features; train=%s has none", w->method,
               train_name(train));
    *e = (examples){r.n, r.x[0], r.cls, r.num, r.on, sources, NULL, NULL};
    if (r.factor) {
        FERRY_MOVE(e->factor, r.factor);
        FERRY_MOVE(e->shift, r.shift[0]);
    }
    r.x[0] = NULL;
    r.cls = NULL;
    r.num = NULL;
    r.on = NULL;
done:
    ferry_i_rows_clear(&r);
    return st;
}

static ferry_status count_prior(ferry_ctx *ctx, const examples *e, base *b)
{
    ferry_status st = FERRY_OK;
    const int64_t all = e->x ? ferry_i_all_rows(e->x) : e->n;

    FERRY_NEW(ctx, b->prior, b->k);
    for (int64_t i = 0; i < e->n; i++) {
        if (b->goal == FERRY_CLASSIFY)
            b->prior[e->cls[i]] += 1;
        else if (b->goal == FERRY_REGRESS)
            b->prior[0] += e->num[i];
        else
            for (int64_t c = 0; c < b->k; c++)
                b->prior[c] += e->on[i * b->k + c];
    }
    if (e->x) FERRY_TRY(ferry_i_sum_rows(ctx, e->x, b->k, b->prior));
    for (int64_t c = 0; c < b->k; c++) {
        b->prior[c] /= (double)all;
        FERRY_NEED(ctx, isfinite(b->prior[c]), FERRY_ENUMERIC,
                   "the numbers to predict are too large to add up");
    }
done:
    return st;
}

static void tell(ferry_ctx *ctx, const base_wants *w, ferry_train train, const base *b,
                 const examples *e)
{
    const int64_t all = e->x ? ferry_i_all_rows(e->x) : e->n;

    ferry_i_diag_text(ctx, "train", train_name(train));
    ferry_i_diag_real(ctx, "instances", (double)all);
    ferry_i_log(ctx, FERRY_INFO, "%s: train=%s, %lld labelled instances", w->method,
                train_name(train), (long long)all);
    if (b->prepared) ferry_i_diag_real(ctx, "features", (double)ferry_i_base_width(b));
}

ferry_status ferry_i_base_fit(ferry_ctx *ctx, const ferry_task *task, const base_wants *w,
                              base *out, examples *e)
{
    ferry_status st = FERRY_OK;
    ferry_train train = TRAIN_AUTO;

    *e = (examples){0};
    *out = (base){.goal = task->goal, .k = 1};
    if (task->goal != FERRY_REGRESS) out->k = ferry_i_ids_count(task->names);
    FERRY_TRY(choose(ctx, task, w, &train));
    if (w->no_features)
        FERRY_TRY(collect_labels(ctx, task, train, out, e));
    else
        FERRY_TRY(collect_rows(ctx, task, w, train, out, e));
    FERRY_TRY(count_prior(ctx, e, out));
    tell(ctx, w, train, out, e);
done:
    return st;
}

ferry_status ferry_i_base_fits(ferry_ctx *ctx, const ferry_task *task, const base_wants *w)
{
    ferry_status st = FERRY_OK;
    ferry_train train = TRAIN_AUTO;

    FERRY_TRY(choose(ctx, task, w, &train));
    if (!w->no_features) {
        const ferry_wants wants = wants_of(w, train);
        FERRY_TRY(ferry_i_prepare_fits(ctx, task, &wants));
    }
done:
    return st;
}

/* ---- predict ---- */

ferry_status ferry_i_base_query(ferry_ctx *ctx, const base *b, const ferry_domain *d,
                                ferry_matrix **x, int64_t **instance)
{
    ferry_status st = FERRY_OK;
    ferry_rows r = {0};

    *x = NULL;
    *instance = NULL;
    FERRY_TRY(ferry_i_prepare_rows(ctx, b->prepared, d, &r));
    *x = r.x[0];
    *instance = r.instance;
    r.x[0] = NULL;
    r.instance = NULL;
done:
    ferry_i_rows_clear(&r);
    return st;
}

/* Decide instance i from its k scores. */
static void decide(const base *b, const double *score, double least, int64_t i,
                   ferry_prediction *p)
{
    if (b->goal == FERRY_REGRESS) {
        p->value[i] = score[0];
        return;
    }
    memcpy(p->score + i * b->k, score, (size_t)b->k * sizeof *score);
    if (b->goal == FERRY_CLASSIFY) p->cls[i] = 0;
    for (int64_t c = 0; c < b->k; c++) {
        if (b->goal == FERRY_MULTILABEL)
            p->set[i * b->k + c] = score[c] > least;
        else if (score[c] > score[p->cls[i]])
            p->cls[i] = (int32_t)c;
    }
}

ferry_status ferry_i_base_predict_prior(ferry_ctx *ctx, const base *b, ferry_prediction *p)
{
    ferry_status st = FERRY_OK;

    FERRY_NEED(ctx, p->goal == b->goal && (b->goal == FERRY_REGRESS || p->k == b->k),
               FERRY_EDATA, "the model has %lld classes, not %lld", (long long)b->k,
               (long long)p->k);
    for (int64_t i = 0; i < p->n; i++)
        decide(b, b->prior, 0.5, i, p);
done:
    return st;
}

void ferry_i_base_predict_scores(const base *b, const ferry_block *scores,
                                 const int64_t *instance, double least, ferry_prediction *p)
{
    for (int64_t i = 0; i < scores->rows; i++)
        decide(b, FERRY_ROW(scores, i), least, instance[i], p);
}

/* ---- save and load ---- */

void ferry_i_base_file(ferry_io *io, bool features, base *b)
{
    int64_t goal = b->goal, one = 1, k = io->to ? b->k : -1;

    ferry_i_io_ints(io, "goal", 1, &goal);
    ferry_i_io_grid(io, "prior", &one, &k, &b->prior);
    FERRY_IO_NEED(io,
                  goal == FERRY_CLASSIFY || goal == FERRY_MULTILABEL ||
                      (goal == FERRY_REGRESS && k == 1),
                  "tensor goal: %lld does not go with %lld classes", (long long)goal,
                  (long long)k);
    FERRY_IO_NEED(io, k > 0, "tensor prior is empty");
    if (ferry_i_io_loading(io)) {
        b->goal = (ferry_goal)goal;
        b->k = k;
    }
    if (!features) return;
    ferry_i_prepared_file(io, &b->prepared);
    FERRY_IO_NEED(io, b->prepared->wants.layout == FERRY_JOINED,
                  "tensor prepare: layout %d", (int)b->prepared->wants.layout);
}
