/* A model at work: records change it, one after the other, and nothing else does. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "stream/stream.h"

/* Refuse what cannot stream before anything is written to the folder. */
ferry_status ferry_i_worker_open(ferry_ctx *ctx, const char *what, ferry_model *model,
                                 ferry_hash hash, ferry_worker *w)
{
    ferry_status st = FERRY_OK;

    *w = (ferry_worker){.model = model, .hash = hash, .most = INT64_MAX};
    FERRY_NEED(ctx, ferry_i_model_streams(model), FERRY_ENEEDS,
               "%s: is a model of %s for the goal %s, which does not learn from a stream",
               what, model->method->name, ferry_goal_name(model->goal));
    FERRY_NEED(ctx, model->n_views == 1, FERRY_ENEEDS,
               "%s: has %lld views, a stream has one", what, (long long)model->n_views);
    w->votes = ferry_i_model_vote_count(model);
    FERRY_NEW(ctx, w->vote, w->votes);
done:
    return st;
}

void ferry_i_worker_close(ferry_worker *w)
{
    ferry_i_queue_clear(&w->queue);
    ferry_model_free(w->model);
    FERRY_FREE(w->score, w->vote, w->learned.ring, w->learned.slot);
    ferry_i_text_free(&w->name);
    *w = (ferry_worker){0};
}

void ferry_i_worker_free(ferry_worker *w)
{
    if (!w) return;
    ferry_i_worker_close(w);
    ferry_i_free(w);
}

void ferry_i_outcome_free(ferry_outcome *o)
{
    ferry_i_free(o->forgot);
    ferry_i_waiting_free(o->was);
}

/* ---- what fits ---- */

/* How far values may go: products of two, summed over any number of features, stay finite,
 * so that no instance can spoil the model. */
#define VALUE_MOST 1e100

/* Shape, indices and size of the values; NaN is a missing cell, which the model knows how
 * to fill. */
static bool row_fits(const ferry_worker *w, const ferry_record *r, char *why, size_t size)
{
    const int64_t cols = ferry_i_model_columns(w->model);

    if (!r->sparse && r->n != cols) {
        (void)snprintf(why, size, "x has %lld numbers, the model's view '%s' has %lld",
                       (long long)r->n, w->model->views[0]->name, (long long)cols);
        return false;
    }
    for (int64_t e = 0; e < r->n; e++) {
        const int64_t j = r->sparse ? r->index[e] : e;
        if (j < 0 || j >= cols || (r->sparse && e > 0 && j <= r->index[e - 1])) {
            (void)snprintf(why, size,
                           "x has index %lld, expected ascending ones from 0 to %lld",
                           (long long)j, (long long)cols - 1);
            return false;
        }
        if (!(fabs(r->value[e]) <= VALUE_MOST) && !isnan(r->value[e])) {
            (void)snprintf(why, size, "feature %lld of x is %g, expected at most %g",
                           (long long)j, r->value[e], VALUE_MOST);
            return false;
        }
    }
    return true;
}

/* All checks stand here, before the record enters the log: what is logged must be
 * applicable, or a replay would stop where the first run did not. */
bool ferry_i_worker_fits(const ferry_worker *w, const ferry_record *r, char *why,
                         size_t size)
{
    const int shown = r->id_n < 64 ? (int)r->id_n : 64;

    const bool labelled = r->kind == FERRY_RECORD_LABEL || r->kind == FERRY_RECORD_BOTH;
    /* Lines are read so that this holds; a log is untrusted. */
    if (labelled != (r->y_n > 0) || (r->y_n > 0 && memchr(r->y, 0, (size_t)r->y_n)) ||
        (r->id_n > 0 && memchr(r->id, 0, (size_t)r->id_n))) {
        (void)snprintf(why, size, "the id or the label is not a text");
        return false;
    }
    if (r->kind == FERRY_RECORD_SERVE) return true;
    const bool waits = r->id_n > 0 && ferry_i_queue_find(&w->queue, r->id, r->id_n);
    if (r->kind == FERRY_RECORD_RETRACT) {
        if (waits || ferry_i_learned_has(&w->learned, r->id, r->id_n)) return true;
        (void)snprintf(why, size,
                       "nothing is known of '%.*s': it was not seen, or too long ago",
                       shown, r->id);
        return false;
    }
    if (r->kind == FERRY_RECORD_LABEL && !waits && r->value)
        return row_fits(w, r, why, size);
    if (r->kind == FERRY_RECORD_LABEL && !waits) {
        (void)snprintf(why, size,
                       "no instance '%.*s' waits for a label: it was not seen, has one "
                       "already, or was too long ago",
                       shown, r->id);
        return false;
    }
    if (r->kind == FERRY_RECORD_LABEL) return true;
    if (waits) {
        (void)snprintf(why, size, "id '%.*s' is taken: it waits for its label", shown,
                       r->id);
        return false;
    }
    return row_fits(w, r, why, size);
}

/* ---- applying ---- */

/* The class as a text of its own; a new one that is the same number as another is most likely
 * that other, misspelt. Borrowed; NULL: no memory. */
static const char *class_name(ferry_ctx *ctx, ferry_worker *w, const char *y, int64_t n)
{
    const ferry_ids *names = w->model->names;
    double x = 0;

    w->name.len = 0;
    ferry_i_text_addn(&w->name, y, n);
    if (w->name.failed) return NULL;
    if (ferry_i_ids_findn(names, y, n) >= 0) return w->name.s;
    for (int64_t i = 0; i < ferry_i_ids_count(names); i++)
        if (ferry_i_same_number(ferry_i_ids_at(names, i), w->name.s, &x))
            ferry_i_warn_once(ctx,
                              "label '%s' is a new class, though class '%s' is the same "
                              "number: if they are one, write '%s'",
                              w->name.s, ferry_i_ids_at(names, i),
                              ferry_i_ids_at(names, i));
    return w->name.s;
}

/* Score the row as the model is now. Room for scores doubles, since classes may be added
 * while it runs. */
static ferry_status answer(ferry_ctx *ctx, ferry_worker *w, const ferry_row *x,
                           ferry_outcome *out)
{
    const int64_t k = ferry_i_model_class_count(w->model);

    if (k > w->scores) {
        double *more = ferry_i_realloc(w->score, 2 * k, sizeof *more);
        if (!more) return ferry_i_nomem(ctx);
        w->score = more;
        w->scores = 2 * k;
    }
    if (w->votes > 0) memset(w->vote, 0, (size_t)w->votes * sizeof *w->vote);
    return ferry_model_see(ctx, w->model, x, &out->answer, w->score, w->vote);
}

/* Learn the label; a class that the model does not know yet gets the next number. */
static ferry_status learn(ferry_ctx *ctx, ferry_worker *w, const ferry_row *x,
                          const ferry_record *r, const int32_t *vote, ferry_outcome *out)
{
    const int64_t k = ferry_i_model_class_count(w->model);
    const char *name = class_name(ctx, w, r->y, r->y_n);

    if (!name) return ferry_i_nomem(ctx);
    const int64_t known = ferry_i_ids_find(w->model->names, name);
    out->label = (int32_t)(known >= 0 ? known : k);
    out->new_class = known < 0;
    return ferry_model_learn(ctx, w->model, x, name, vote);
}

/* The instance waits for its label; the oldest goes when there are too many. */
static ferry_status wait_for_label(ferry_ctx *ctx, ferry_worker *w, const ferry_record *r,
                                   const ferry_row *x, ferry_outcome *out)
{
    if (r->id_n == 0 || w->most == 0) return FERRY_OK;
    FERRY_PASS(ferry_i_queue_add(ctx, &w->queue, r->id, r->id_n, x, w->vote, w->votes));
    w->queue.newest->answer = out->answer;
    if (w->queue.n <= w->most) return FERRY_OK;
    if (!(out->forgot = ferry_i_strdup(w->queue.oldest->id))) return ferry_i_nomem(ctx);
    ferry_i_queue_remove(&w->queue, w->queue.oldest);
    return FERRY_OK;
}

/* What waits no longer does; a label that was learned is no longer known by its id. What the
 * model made of it stays. */
static void retract(ferry_worker *w, const ferry_record *r)
{
    ferry_waiting *waits = ferry_i_queue_find(&w->queue, r->id, r->id_n);

    if (waits)
        ferry_i_queue_remove(&w->queue, waits);
    else
        ferry_i_learned_remove(&w->learned, ferry_i_learned_hash(r->id, r->id_n));
}

/* The only place where a record changes the model, at first and in a replay. Nothing but
 * the record and the state goes in, so the same records give the same bits. */
ferry_status ferry_i_worker_apply(ferry_ctx *ctx, ferry_worker *w, const ferry_record *r,
                                  ferry_outcome *out)
{
    ferry_row x = {r->n, r->sparse ? r->index : NULL, r->value};

    *out = (ferry_outcome){.answer = -1, .label = -1};
    if (r->kind == FERRY_RECORD_SESSION) {
        w->most = r->n;
        while (w->queue.n > w->most)
            ferry_i_queue_remove(&w->queue, w->queue.oldest);
        return FERRY_OK;
    }
    w->seq = r->seq;
    if (r->kind == FERRY_RECORD_SERVE) return FERRY_OK;
    if (r->kind == FERRY_RECORD_RETRACT) {
        retract(w, r);
        out->retracted = true;
        return FERRY_OK;
    }
    ferry_waiting *was = r->kind == FERRY_RECORD_LABEL
                             ? ferry_i_queue_find(&w->queue, r->id, r->id_n)
                             : NULL;
    if (was) {
        x = (ferry_row){was->n, was->index, was->value};
        FERRY_PASS(learn(ctx, w, &x, r, was->vote, out));
        ferry_i_queue_take(&w->queue, was);
        out->was = was;
    } else {
        FERRY_PASS(answer(ctx, w, &x, out));
        if (r->kind != FERRY_RECORD_OBSERVE)
            FERRY_PASS(learn(ctx, w, &x, r, w->vote, out));
        else
            FERRY_PASS(wait_for_label(ctx, w, r, &x, out));
    }
    out->again = out->label >= 0 && ferry_i_learned_has(&w->learned, r->id, r->id_n);
    if (out->label >= 0 && r->id_n > 0)
        ferry_i_learned_add(&w->learned, ferry_i_learned_hash(r->id, r->id_n));
    return FERRY_OK;
}

/* ---- following ---- */

ferry_status ferry_i_worker_follow(ferry_ctx *ctx, ferry_worker *w, const ferry_record *r,
                                   int64_t serves, ferry_outcome *out)
{
    const bool label = r->kind == FERRY_RECORD_LABEL || r->kind == FERRY_RECORD_BOTH;
    char why[256];

    *out = (ferry_outcome){.answer = -1, .label = -1};
    if (w->following == FERRY_LEFT) return FERRY_OK;
    if (r->kind == FERRY_RECORD_SESSION) return ferry_i_worker_apply(ctx, w, r, out);
    if (r->kind == FERRY_RECORD_SERVE && serves == w->version && r->n != w->version)
        w->following = FERRY_LEFT;
    const bool mine = w->following != FERRY_REPLAYS || label;
    /* How many ids are remembered may have changed since something was retracted. */
    if (mine &&
        (r->kind == FERRY_RECORD_RETRACT || ferry_i_worker_fits(w, r, why, sizeof why)))
        return ferry_i_worker_apply(ctx, w, r, out);
    w->seq = r->seq;
    return FERRY_OK;
}

/* One that waits there, with the answer that was given. One whose columns are not ours does
 * not wait here. */
static ferry_status take_waiting(ferry_ctx *ctx, ferry_worker *w, const ferry_worker *from,
                                 const ferry_waiting *q)
{
    const ferry_record r = {.kind = FERRY_RECORD_OBSERVE,
                            .id = q->id,
                            .id_n = (int64_t)strlen(q->id),
                            .sparse = q->index != NULL,
                            .n = q->n,
                            .value = q->value,
                            .index = q->index};
    const ferry_row x = {q->n, q->index, q->value};
    const char *said = ferry_model_class_at(from->model, q->answer);
    ferry_outcome out = {.answer = -1};
    char why[256];

    if (!ferry_i_worker_fits(w, &r, why, sizeof why)) return FERRY_OK;
    FERRY_PASS(answer(ctx, w, &x, &out));
    FERRY_PASS(ferry_i_queue_add(ctx, &w->queue, r.id, r.id_n, &x, w->vote, w->votes));
    w->queue.newest->answer = said ? (int32_t)ferry_i_ids_find(w->model->names, said) : -1;
    return FERRY_OK;
}

ferry_status ferry_i_worker_inherit(ferry_ctx *ctx, ferry_worker *w,
                                    const ferry_worker *from)
{
    const ferry_learned *l = &from->learned;

    ferry_i_queue_clear(&w->queue);
    for (const ferry_waiting *q = from->queue.oldest; q; q = q->newer)
        FERRY_PASS(take_waiting(ctx, w, from, q));
    FERRY_FREE(w->learned.ring, w->learned.slot);
    w->learned = (ferry_learned){0};
    if (!ferry_i_learned_resize(&w->learned, l->most)) return ferry_i_nomem(ctx);
    for (int64_t i = 0; i < l->n; i++)
        ferry_i_learned_add(&w->learned, l->ring[(l->next + l->most - l->n + i) % l->most]);
    w->most = from->most;
    w->seq = from->seq;
    w->following = FERRY_FOLLOWS;
    return FERRY_OK;
}
