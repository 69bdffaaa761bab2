/* Cross-validation on visible labels (validate.h).
 *
 * Folds are balanced: each hides as many labels of every class (numbers: of their whole range), at most 5, and at most
 * LABELS labels in all: more would cost time and tell nothing new. Every candidate is fitted once a fold, but
 * candidates are dropped on the way (successive halving): after each fold, once SOME labels were predicted, the better
 * half of those that see a source goes on, and of those that see none, LEAST of each at least. A method that is known to be
 * slow comes last, and is dropped as soon as it makes more errors than the median of who is left. Nothing goes by time
 * that was measured, so the same seed gives the same choice. */
#include "run/validate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "methods/method.h"
#include "model/blend.h"

enum { FOLDS = 5, LABELS = 1000, LEAST = 4, SOME = 6 };

/* Only what can be kept as a model is chosen. */
bool validate_may(const ferry_entry *e)
{
    return !e->pub.reason && e->pub.uses != FERRY_USES_CONTROL && e->how &&
           e->how->kind != FERRY_KIND_CONTROL && (e->how->next || e->how->file);
}

ferry_family validate_family(const ferry_entry *e)
{
    switch (e->pub.uses) {
    case FERRY_USES_POOLED: return FERRY_FAMILY_POOLED;
    case FERRY_USES_SOURCE_ONLY: return FERRY_FAMILY_SOURCE;
    case FERRY_USES_TRANSFER:
        return policy_sees_source(e->how->family) ? e->how->family : FERRY_FAMILY_JOINT;
    default: return e->how->family;
    }
}

/* ---- the visible labels ---- */

/* A candidate on the way. */
typedef struct candidate {
    const char *name;
    int64_t place;
    ferry_family family;
    bool slow, alive;
    double errors; /* so far */
} candidate;

typedef struct work {
    const ferry_results *rs;
    const ferry_task *split;
    int64_t target;            /* its place */
    const ferry_domain *d;     /* ... in the split */
    int64_t n, k, entries;     /* labels that are hidden once; rows of the target */
    int64_t *at;               /* n: rows */
    int32_t *fold, *cls;       /* n */
    double *y, variance, mean; /* n x k numbers */
    candidate *c;
    int64_t count;
    int64_t *todo, n_todo, now; /* candidates that are fitted on fold `now` */
    ferry_task *less;           /* the split without that fold's labels */
    uint8_t *mask;              /* entries: which labels these are */
    double *error, *p;          /* count x n; count x n x k: scores, numbers or votes */
    double *score;              /* of sets: count x n x k, what the votes are made of */
    int32_t *said;              /* count x n: classes */
    uint8_t *failed;            /* count */
} work;

static bool has_classes(const work *w)
{
    return w->rs->run.goal == FERRY_CLASSIFY;
}

static uint64_t key_of(const work *w, int64_t row, uint64_t seed)
{
    const ferry_ratings *r = w->d->ratings;
    const char *id =
        r ? ferry_i_ids_at(r->users, r->user[row]) : ferry_i_domain_id_at(w->d, row);
    const char *item = r ? ferry_i_ids_at(r->items, r->item[row]) : "";

    return XXH3_64bits_withSeed(id, strlen(id), seed) ^
           XXH3_64bits_withSeed(item, strlen(item), seed + 1);
}

static double number_at(const work *w, int64_t row, int64_t c)
{
    const ferry_labels *l = w->d->labels;

    if (w->d->ratings) return w->d->ratings->value[row];
    if (l->on) return l->on[row * ferry_i_labels_m(l) + c];
    return l->num[row];
}

/* All that can be seen. */
static void collect(scope *s, work *w)
{
    const ferry_domain *d = w->d;

    w->entries = d->ratings ? d->ratings->n : ferry_i_domain_id_count(d);
    w->at = NEW(s, int64_t, w->entries);
    for (int64_t i = 0; i < w->entries; i++)
        if (d->ratings ? !isnan(d->ratings->value[i]) : ferry_i_labels_has(d->labels, i))
            w->at[w->n++] = i;
    w->k = w->rs->run.goal == FERRY_CLASSIFY || w->rs->run.goal == FERRY_MULTILABEL
               ? ferry_i_ids_count(w->split->names)
               : 1;
}

/* Mean and variance of the visible numbers; those of a set's labels on average. */
static void spread_of_numbers(work *w)
{
    double sum = 0, squares = 0, n = (double)w->n;

    for (int64_t c = 0; c < w->k; c++) {
        double one = 0;
        for (int64_t i = 0; i < w->n; i++)
            one += number_at(w, w->at[i], c) / n;
        sum += one / (double)w->k;
        for (int64_t i = 0; i < w->n; i++) {
            const double x = number_at(w, w->at[i], c) - one;
            squares += x * x / n / (double)w->k;
        }
    }
    w->mean = sum;
    w->variance = squares > 0 ? squares : 1;
}

/* Labels of a fold beyond its share of LABELS, by key, and those that cannot be hidden leave w. */
static void keep_some(scope *s, work *w, int64_t folds)
{
    int64_t *left = NEW(s, int64_t, folds), n = 0;

    for (int64_t f = 0; f < folds; f++)
        left[f] = LABELS / folds;
    for (int64_t i = 0; i < w->n; i++) {
        const int32_t f = w->fold[i];
        if (f < 0 || left[f] == 0) continue;
        left[f]--;
        w->at[n] = w->at[i];
        w->fold[n++] = f;
    }
    w->n = n;
}

typedef struct shuffled {
    uint64_t key;
    int64_t at;
} shuffled;

static int by_key(const void *a, const void *b)
{
    const shuffled *x = a, *y = b;

    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

/* The labels in the order of their keys, which no file decides, and their folds. */
static int64_t deal(scope *s, work *w)
{
    const uint64_t seed = scope_ctx(s)->seed ^ (scope_ctx(s)->repeat << 32);
    shuffled *deck = NEW(s, shuffled, w->n);
    uint64_t *key = NEW(s, uint64_t, w->n);
    int32_t *cls = NEW(s, int32_t, w->n);
    double *y = NEW(s, double, w->n);
    int64_t folds = 0;

    for (int64_t i = 0; i < w->n; i++)
        deck[i] = (shuffled){key_of(w, w->at[i], seed), w->at[i]};
    qsort(deck, (size_t)w->n, sizeof *deck, by_key);
    for (int64_t i = 0; i < w->n; i++) {
        w->at[i] = deck[i].at;
        key[i] = deck[i].key;
        if (has_classes(w))
            cls[i] = w->d->labels->cls[w->at[i]];
        else
            for (int64_t c = 0; c < w->k; c++) /* of a set: how many labels are on */
                y[i] += number_at(w, w->at[i], c);
    }
    w->fold = NEW(s, int32_t, w->n);
    folds = has_classes(w) ? balanced_folds(s, w->n, cls, key, FOLDS, w->fold)
                           : ordered_folds(s, w->n, y, key, FOLDS, w->fold);
    if (folds > 0) keep_some(s, w, folds);
    return folds;
}

static void take_labels(scope *s, work *w)
{
    w->cls = NEW(s, int32_t, w->n);
    w->y = NEW(s, double, w->n * w->k);
    for (int64_t i = 0; i < w->n; i++) {
        if (has_classes(w)) w->cls[i] = w->d->labels->cls[w->at[i]];
        for (int64_t c = 0; !has_classes(w) && c < w->k; c++)
            w->y[i * w->k + c] = number_at(w, w->at[i], c);
    }
}

/* ---- one fold ---- */

static void free_task(void *task)
{
    ferry_task_free(task);
}

/* A copy of the target without the labels of fold f. */
static ferry_domain *without_fold(scope *s, work *w, int64_t f)
{
    ferry_ctx *ctx = scope_ctx(s);
    ferry_labels *labels = NULL;
    ferry_ratings *ratings = NULL;
    ferry_domain *less = NULL;

    memset(w->mask, 0, (size_t)w->entries);
    if (w->d->ratings)
        scope_check(s, ferry_i_ratings_copy(ctx, w->d->ratings, &ratings));
    else
        scope_check(s, ferry_i_labels_copy(ctx, w->d->labels, &labels));
    for (int64_t i = 0; i < w->n; i++) {
        if (w->fold[i] != f) continue;
        w->mask[w->at[i]] = 1;
        if (ratings)
            ratings->value[w->at[i]] = NAN;
        else
            ferry_i_labels_hide(labels, w->at[i]);
    }
    scope_check(s, ratings ? ferry_i_domain_with_ratings(ctx, w->d, ratings, &less)
                           : ferry_i_domain_with_labels(ctx, w->d, labels, &less));
    return less;
}

static void hide_fold(scope *s, work *w, int64_t f)
{
    ferry_domain *less = without_fold(s, w, f);
    const ferry_status st = ferry_i_task_resolved(scope_ctx(s), w->split, &w->less);

    if (st != FERRY_OK) ferry_domain_free(less);
    scope_check(s, st);
    ferry_domain_free(w->less->domains[w->target]);
    w->less->domains[w->target] = less;
    scope_defer(s, free_task, w->less);
    w->now = f;
}

/* Where the classes of a prediction stand in the task's; -1: nowhere. */
static int32_t *places_of(scope *s, const work *w, const ferry_prediction *p)
{
    int32_t *at = NEW(s, int32_t, p->k);

    for (int64_t c = 0; c < p->k; c++)
        at[c] = (int32_t)ferry_i_ids_find(w->split->names, p->names[c]);
    return at;
}

/* What candidate j said about label i: classes and scores, or numbers, and the error. */
static void take_row(const work *w, const ferry_prediction *p, const int32_t *at, int64_t j,
                     int64_t i)
{
    const int64_t row = w->at[i], k = w->k;
    double *to = w->p + (j * w->n + i) * k, *error = &w->error[j * w->n + i];

    if (has_classes(w)) {
        const int32_t cls = p->cls[row];
        w->said[j * w->n + i] = cls < 0 ? -1 : at[cls];
        for (int64_t c = 0; c < k; c++)
            to[c] = NAN;
        for (int64_t c = 0; p->score && c < p->k; c++)
            if (at[c] >= 0) to[at[c]] = p->score[row * p->k + c];
        *error = w->said[j * w->n + i] != w->cls[i];
        return;
    }
    for (int64_t c = 0; c < (p->set ? p->k : 1); c++)
        if (!p->set)
            to[0] = isfinite(p->value[row]) ? p->value[row] : w->mean;
        else if (at[c] >= 0) {
            to[at[c]] = p->set[row * p->k + c];
            w->score[(j * w->n + i) * k + at[c]] =
                p->score ? p->score[row * p->k + c] : NAN;
        }
    *error = 0;
    for (int64_t c = 0; c < k; c++) {
        const double x = to[c] - w->y[i * k + c];
        *error += x * x / (double)k / w->variance;
    }
}

static void clear_cell(void *cell)
{
    ferry_i_cell_clear(cell);
}

/* One candidate on fold w->now. A method that cannot do it is no candidate. */
static void fit_one(scope *s, void *arg, int64_t i)
{
    work *w = arg;
    const int64_t j = w->todo[i];
    const ferry_entry *e = &w->rs->result[w->c[j].place];
    ferry_run_cell *cell = NEW(s, ferry_run_cell, 1);
    char name[96];

    *cell =
        (ferry_run_cell){.how = e->how, .opts = e->opts, .split = w->less, .mask = w->mask};
    scope_defer(s, clear_cell, cell);
    /* The number of labels tells the folds of a repeat from those of all labels. */
    (void)snprintf(name, sizeof name, "fold-%lld-%lld-%lld-%lld", (long long)w->c[j].place,
                   (long long)scope_ctx(s)->repeat, (long long)w->n, (long long)w->now);
    const ferry_status st = ferry_i_cell_run(scope_ctx(s), w->rs, name, cell);
    w->failed[j] = ferry_i_skips(st);
    if (w->failed[j]) return;
    scope_check(s, st);
    const ferry_prediction *p = cell->answer;
    const int32_t *at = p->names ? places_of(s, w, p) : NULL;
    for (int64_t r = 0; r < w->n; r++)
        if (w->fold[r] == w->now) take_row(w, p, at, j, r);
}

/* Those that are alive and slow or not on one fold. */
static int64_t run_fold(scope *s, work *w, int64_t f, bool slow)
{
    const int64_t mark = scope_mark(s);

    hide_fold(s, w, f);
    w->n_todo = 0;
    for (int64_t j = 0; j < w->count; j++)
        if (w->c[j].alive && w->c[j].slow == slow) w->todo[w->n_todo++] = j;
    scope_jobs(s, w->n_todo, fit_one, NULL, w);
    for (int64_t t = 0; t < w->n_todo; t++) {
        candidate *c = &w->c[w->todo[t]];
        c->alive = !w->failed[w->todo[t]];
        for (int64_t i = 0; c->alive && i < w->n; i++)
            if (w->fold[i] == f) c->errors += w->error[w->todo[t] * w->n + i];
    }
    const int64_t fits = w->n_todo;
    scope_release(s, mark);
    return fits;
}

/* ---- who goes on ---- */

static int by_errors(const void *a, const void *b)
{
    const candidate *x = *(candidate *const *)a, *y = *(candidate *const *)b;

    if (x->errors != y->errors) return x->errors < y->errors ? -1 : 1;
    if (x->family != y->family) return x->family < y->family ? -1 : 1;
    return (x > y) - (x < y);
}

/* The better half of those that see a source, or of those that see none. */
static void halve(scope *s, work *w, bool source)
{
    const int64_t mark = scope_mark(s);
    candidate **order = NEW(s, candidate *, w->count);
    int64_t n = 0;

    for (int64_t j = 0; j < w->count; j++)
        if (w->c[j].alive && !w->c[j].slow && policy_sees_source(w->c[j].family) == source)
            order[n++] = &w->c[j];
    qsort((void *)order, (size_t)n, sizeof *order, by_errors);
    const int64_t keep = (n + 1) / 2 > LEAST ? (n + 1) / 2 : LEAST;
    for (int64_t j = keep; j < n; j++)
        order[j]->alive = false;
    scope_release(s, mark);
}

static int by_number(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Median over who is left and not slow of the errors on folds up to f; INFINITY: nobody is. */
static double median_errors(scope *s, const work *w, int64_t f)
{
    double *x = NEW(s, double, w->count);
    int64_t n = 0;

    for (int64_t j = 0; j < w->count; j++) {
        if (!w->c[j].alive || w->c[j].slow) continue;
        for (int64_t i = 0; i < w->n; i++)
            if (w->fold[i] <= f) x[n] += w->error[j * w->n + i];
        n++;
    }
    qsort(x, (size_t)n, sizeof *x, by_number);
    return n > 0 ? x[n / 2] : INFINITY;
}

static void run_folds(scope *s, work *w, validation *out)
{
    int64_t seen = 0;

    for (int64_t f = 0; f < out->folds; f++) {
        out->fits += run_fold(s, w, f, false);
        for (int64_t i = 0; i < w->n; i++)
            seen += w->fold[i] == f;
        if (f + 1 == out->folds || seen < SOME) continue;
        halve(s, w, false);
        halve(s, w, true);
    }
    for (int64_t f = 0; f < out->folds; f++) {
        out->fits += run_fold(s, w, f, true);
        const double most = median_errors(s, w, f);
        for (int64_t j = 0; j < w->count; j++)
            if (w->c[j].slow && w->c[j].errors > most) w->c[j].alive = false;
    }
}

/* ---- all of it ---- */

static int by_name(const void *a, const void *b)
{
    const candidate *x = a, *y = b;

    return strcmp(x->name, y->name);
}

static void list_candidates(scope *s, work *w)
{
    w->c = NEW(s, candidate, w->rs->n);
    for (int64_t i = 0; i < w->rs->n; i++) {
        const ferry_entry *e = &w->rs->result[i];
        if (!validate_may(e)) continue;
        w->c[w->count++] = (candidate){.name = e->pub.name,
                                       .place = i,
                                       .family = validate_family(e),
                                       .slow = e->how->slow,
                                       .alive = true};
    }
    qsort(w->c, (size_t)w->count, sizeof *w->c, by_name);
}

/* Scores of candidate j as probabilities, with the scale that all of them have. */
static void as_probabilities(const work *w, int64_t j, double scale, double *to)
{
    for (int64_t i = 0; i < w->n; i++) {
        const double *score = w->p + (j * w->n + i) * w->k;
        if (!ferry_i_blend_row(w->k, score, w->said[j * w->n + i], scale, to + i * w->k))
            for (int64_t c = 0; c < w->k; c++)
                to[i * w->k + c] = 1 / (double)w->k;
    }
}

/* Values of 1e200 have no squares that could be compared. */
static bool can_compare(int64_t n, const double *error)
{
    double squares = 0;

    for (int64_t i = 0; i < n; i++)
        squares += error[i] * error[i];
    return isfinite(squares);
}

/* Those that were not dropped. */
static void conclude(scope *s, const work *w, validation *out)
{
    held_out *e = &out->e;
    const int64_t cells = w->n * w->k;
    ferry_family *family = NEW(s, ferry_family, w->count);
    double *error = NEW(s, double, w->count * w->n), *p = NEW(s, double, w->count *cells);

    out->place = NEW(s, int64_t, w->count);
    out->scale = NEW(s, double, w->count);
    for (int64_t j = 0; j < w->count; j++) {
        const int64_t to = e->candidates;
        if (!w->c[j].alive || !can_compare(w->n, w->error + j * w->n)) continue;
        out->place[to] = w->c[j].place;
        family[to] = w->c[j].family;
        memcpy(error + to * w->n, w->error + j * w->n, (size_t)w->n * sizeof *error);
        if (has_classes(w)) {
            out->scale[to] = ferry_i_blend_scale(w->n, w->k, w->p + j * cells);
            as_probabilities(w, j, out->scale[to], p + to * cells);
        } else {
            if (w->score)
                out->scale[to] = ferry_i_blend_scale(w->n, w->k, w->score + j * cells);
            memcpy(p + to * cells, w->p + j * cells, (size_t)cells * sizeof *p);
        }
        e->candidates++;
    }
    out->dropped = w->count - e->candidates;
    e->n = w->n;
    e->k = w->k;
    e->classes = has_classes(w);
    e->sets = w->score != NULL;
    e->flat = e->sets || w->rs->run.goal == FERRY_RATE;
    e->family = family;
    e->error = error;
    e->p = p;
    e->cls = w->cls;
    e->y = w->y;
    e->variance = w->variance;
    e->share = 1 - (double)w->n / (double)out->folds / (double)out->visible;
    out->fold = w->fold;
}

validation validate(scope *s, const ferry_results *rs, const ferry_task *split)
{
    work *w = NEW(s, work, 1);
    validation out = {0};

    *w = (work){.rs = rs, .split = split};
    while (split->domains[w->target]->role != FERRY_TARGET)
        w->target++;
    w->d = split->domains[w->target];
    collect(s, w);
    list_candidates(s, w);
    out.visible = w->n;
    if (w->n < 2 || w->count == 0) return out;
    if (!has_classes(w)) spread_of_numbers(w);
    out.folds = deal(s, w);
    if (out.folds == 0) return out;
    take_labels(s, w);
    w->mask = NEW(s, uint8_t, w->entries);
    w->todo = NEW(s, int64_t, w->count);
    w->failed = NEW(s, uint8_t, w->count);
    w->error = NEW(s, double, w->count * w->n);
    w->p = NEW(s, double, w->count * w->n * w->k);
    w->said = NEW(s, int32_t, w->count * w->n);
    if (rs->run.goal == FERRY_MULTILABEL) w->score = NEW(s, double, w->count * w->n * w->k);
    run_folds(s, w, &out);
    conclude(s, w, &out);
    return out;
}
