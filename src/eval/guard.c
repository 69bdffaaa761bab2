/* The guard: which method to take, by what can be seen.
 *
 * Visible target labels alone decide. Each method's predictions are cross-validated on them (5 folds, nested in
 * the split); bb is the baseline that is best by that, p its score, n the visible labels. A transfer method is
 * allowed by its lead over bb:
 *
 *   classes: se = sqrt(max(p (1 - p), .05) / n). A method that goes over a path of domains, when the source
 *     passes the gate (reverse.c), must not be behind: the gate is evidence of its own, from rows without
 *     labels. Any other transfer method needs lead >= max(se, 2 / n), and that its source does it: its
 *     score is above those with 9 sources whose labels (where these do not matter, rows) were shuffled. By
 *     luck of so few labels a smaller lead is there in one split of ten, and lost 4 to 5 points.
 *   numbers, ratings, label sets: lead > se / 2, se the paired standard error of the rows' differences.
 *
 * The best allowed one is taken, a path method where leads are equal, else bb. Nothing that was hidden enters,
 * the verdict neither: what the guard got over repeats is what a deployer gets. With fewer than two visible
 * labels nothing can be validated, and scores without labels decide (a guess, and said so). */
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "core/pool.h"
#include "eval/guard.h"

enum { FOLDS = 5 };

bool ferry_i_guard_path(const ferry_entry *e)
{
    static const char *const names[] = {"hop", "ttl", "triplex", "latentmap", "cotransfer"};

    for (int64_t i = 0; i < FERRY_COUNT(names); i++)
        if (strcmp(e->pub.method, names[i]) == 0) return true;
    return false;
}

/* ---- cross-validation ---- */

/* Places of the visible labels (ratings) of the target, shuffled. */
static ferry_status visible(ferry_ctx *ctx, const ferry_domain *d, int64_t **out,
                            int64_t *n)
{
    const int64_t size = d->ratings ? d->ratings->n : ferry_domain_id_count(d);
    int64_t *at = ferry_i_calloc(size, sizeof *at);
    ferry_rng rng;

    *out = at;
    *n = 0;
    if (!at) return ferry_i_nomem(ctx);
    for (int64_t i = 0; i < size; i++)
        if (d->ratings ? !isnan(d->ratings->value[i]) : ferry_i_labels_has(d->labels, i))
            at[(*n)++] = i;
    ferry_i_rng_for(ctx, &rng, "guard");
    ferry_i_rng_shuffle(&rng, *n, at);
    /* classes in turn, so that every fold has some of each */
    if (d->labels && d->labels->kind == FERRY_LABEL_CLASS && !d->ratings)
        for (int64_t i = 1; i < *n; i++) {
            const int64_t one = at[i];
            int64_t k = i;
            for (; k > 0 && d->labels->cls[at[k - 1]] > d->labels->cls[one]; k--)
                at[k] = at[k - 1];
            at[k] = one;
        }
    return FERRY_OK;
}

/* The split with every folds-th visible label, from `fold` on, hidden; mask marks them. */
static ferry_status hide_fold(ferry_ctx *ctx, const ferry_task *split, int64_t n,
                              const int64_t *at, int64_t folds, int64_t fold, uint8_t *mask,
                              int64_t *count, ferry_task **out)
{
    ferry_status st = FERRY_OK;
    const int64_t place = ferry_i_guard_target(split);
    const ferry_domain *d = split->domains[place];
    ferry_labels *labels = NULL;
    ferry_ratings *ratings = NULL;
    ferry_domain *less = NULL;

    *count = 0;
    memset(mask, 0, (size_t)(d->ratings ? d->ratings->n : ferry_domain_id_count(d)));
    if (d->ratings)
        FERRY_TRY(ferry_i_ratings_copy(ctx, d->ratings, &ratings));
    else
        FERRY_TRY(ferry_i_labels_copy(ctx, d->labels, &labels));
    for (int64_t i = fold; i < n; i += folds) {
        if (ratings)
            ratings->value[at[i]] = NAN;
        else
            ferry_i_labels_hide(labels, at[i]);
        mask[at[i]] = 1;
        ++*count;
    }
    if (ratings) {
        st = ferry_i_domain_with_ratings(ctx, d, ratings, &less);
        ratings = NULL;
    } else {
        st = ferry_i_domain_with_labels(ctx, d, labels, &less);
        labels = NULL;
    }
    FERRY_TRY(st);
    FERRY_TRY(ferry_i_guard_with(ctx, split, place, less, out));
done:
    ferry_i_labels_free(labels);
    ferry_i_ratings_free(ratings);
    return st;
}

/* The validation of one split. */
typedef struct validation {
    const ferry_results *rs;
    const ferry_task *split;
    int64_t n, folds, entries;
    int64_t only;      /* this method, or -1: all */
    const int64_t *at; /* n: places of the visible labels */
    double *row;       /* methods x entries: what each adds to the metric; NaN */
} validation;

static bool is_candidate(const ferry_entry *e)
{
    return !e->pub.reason && e->pub.kind != FERRY_KIND_CONTROL &&
           !(e->how && e->how->asked);
}

/* All methods on what fold f leaves visible; each row is written by one job alone. */
static ferry_status run_fold(ferry_ctx *ctx, void *arg, int64_t f)
{
    ferry_status st = FERRY_OK;
    const validation *v = arg;
    const ferry_results *rs = v->rs;
    ferry_task *less = NULL;
    ferry_prediction *p = NULL;
    uint8_t *mask = NULL;
    double *metric = NULL, *rows = NULL;
    int64_t count = 0;
    bool finish = false;

    FERRY_TRY(ferry_i_score_new_mask(ctx, rs, &mask));
    FERRY_NEW(ctx, metric, rs->n_metrics);
    FERRY_TRY(hide_fold(ctx, v->split, v->n, v->at, v->folds, f, mask, &count, &less));
    for (int64_t m = 0; m < rs->n; m++) {
        if (!is_candidate(&rs->result[m]) || (v->only >= 0 && m != v->only)) continue;
        FERRY_TRY(ferry_i_progress(ctx, "guard", f, v->folds, NAN, &finish));
        FERRY_TRY(ferry_i_guard_predict(ctx, less, &rs->result[m], &p));
        if (p) FERRY_TRY(ferry_i_score(ctx, rs, less, p, mask, count, metric, &rows));
        for (int64_t i = 0, k = 0; rows && i < v->entries; i++)
            if (mask[i]) v->row[m * v->entries + i] = rows[k++];
        ferry_i_free(rows);
        rows = NULL;
        ferry_prediction_free(p);
        p = NULL;
    }
done:
    ferry_prediction_free(p);
    ferry_task_free(less);
    FERRY_FREE(mask, metric, rows);
    return st;
}

/* What a fold's labels add for every method. */
static ferry_status carry_fold(ferry_ctx *ctx, void *arg, int64_t f, ferry_parcel *p)
{
    const validation *v = arg;

    (void)ctx;
    for (int64_t m = 0; m < v->rs->n; m++)
        for (int64_t i = f; i < v->n; i += v->folds)
            FERRY_CARRY(p, v->row[m * v->entries + v->at[i]]);
    return FERRY_OK;
}

/* Mean over the visible labels for every method, larger is better; NaN for those that cannot. */
static ferry_status cross_validate(ferry_ctx *ctx, validation *v, double *score)
{
    ferry_status st = FERRY_OK;
    const double sign = ferry_i_results_sign(v->rs);
    int64_t *count = NULL, most = 0;

    FERRY_NEW(ctx, count, v->rs->n);
    for (int64_t i = 0; i < v->rs->n * v->entries; i++)
        v->row[i] = NAN;
    FERRY_TRY(ferry_i_pool_run(
        ctx, &(ferry_jobs){.n = v->folds, .run = run_fold, .arg = v, .carry = carry_fold},
        NULL));
    for (int64_t m = 0; m < v->rs->n; m++) {
        double sum = 0;
        int64_t n = 0;
        for (int64_t i = 0; i < v->n; i++) {
            const double x = v->row[m * v->entries + v->at[i]];
            if (isnan(x)) continue; /* a row with nothing to get right, of any method */
            sum += sign * x;
            n++;
        }
        count[m] = is_candidate(&v->rs->result[m]) ? n : 0;
        most = n > most && count[m] > 0 ? n : most;
        score[m] = sum / (double)n;
    }
    for (int64_t m = 0; m < v->rs->n; m++) /* one that failed in a fold is not compared */
        if (count[m] == 0 || count[m] < most) score[m] = NAN;
done:
    ferry_i_free(count);
    return st;
}

/* ---- the choice ---- */

/* Paired standard error of the lead of method m over method b. */
static double paired_error(const validation *v, int64_t m, int64_t b)
{
    double sum = 0, squares = 0, n = 0;

    for (int64_t i = 0; i < v->n; i++) {
        const double d =
            v->row[m * v->entries + v->at[i]] - v->row[b * v->entries + v->at[i]];
        if (isnan(d)) continue;
        sum += d;
        squares += d * d;
        n++;
    }
    return n > 1 ? sqrt(fmax(0, squares - sum * sum / n) / (n - 1) / n) : INFINITY;
}

static bool allowed(const validation *v, const double *score, bool open, int64_t m,
                    int64_t b)
{
    const double lead = score[m] - score[b], n = (double)v->n;
    /* of a metric that is smaller when better the score is turned */
    const double p = fmin(1, fabs(score[b]));

    if (v->rs->run.goal != FERRY_CLASSIFY)
        return lead > 0 && lead > 0.5 * paired_error(v, m, b);
    if (open && ferry_i_guard_path(&v->rs->result[m])) return lead >= 0;
    const double se = sqrt(fmax(p * (1 - p), 0.05) / n);
    return lead > 0 && lead >= fmax(se, 2 / n);
}

/* Of those of a kind the best by score, or -1. */
static int64_t best_of(const ferry_results *rs, const double *score, ferry_kind kind)
{
    int64_t best = -1;

    for (int64_t i = 0; i < rs->n; i++)
        if (rs->result[i].pub.kind == kind && isfinite(score[i]) &&
            (best < 0 || score[i] > score[best]))
            best = i;
    return best;
}

/* Of the transfer methods that may be taken the best, a path method of equals; -1. */
static int64_t best_allowed(const validation *v, const double *score, bool open, int64_t b)
{
    const ferry_results *rs = v->rs;
    int64_t best = -1;

    for (int64_t i = 0; i < rs->n; i++) {
        if (rs->result[i].pub.kind != FERRY_KIND_TRANSFER || !isfinite(score[i]) ||
            !allowed(v, score, open, i, b))
            continue;
        if (best < 0 || score[i] > score[best] ||
            (score[i] == score[best] && ferry_i_guard_path(&rs->result[i]) &&
             !ferry_i_guard_path(&rs->result[best])))
            best = i;
    }
    return best;
}

/* Validate w->only in one draw of a control; changed: some row's score is another than v's. */
static ferry_status try_draw(ferry_ctx *ctx, const validation *v, validation *w,
                             ferry_control kind, int64_t draw, double *score, bool *changed)
{
    ferry_status st = FERRY_OK;
    ferry_task *made = NULL, *world = NULL;
    const int64_t row = w->only * v->entries;

    *changed = false;
    FERRY_TRY(ferry_i_task_control(ctx, v->split, kind, draw, &made));
    FERRY_TRY(ferry_i_task_resolved(ctx, made, &world));
    w->split = world;
    FERRY_TRY(cross_validate(ctx, w, score));
    for (int64_t i = 0; i < v->n; i++)
        *changed = *changed || w->row[row + v->at[i]] != v->row[row + v->at[i]];
done:
    ferry_task_free(world);
    ferry_task_free(made);
    return st;
}

/* Whether it is the source that makes method m's score: 9 shuffled ones do worse. Rows of noise are asked
 * where shuffled labels change nothing. What cannot be told (no control, no score with one) is a no. */
static ferry_status by_source(ferry_ctx *ctx, const validation *v, const double *own,
                              int64_t m, bool *does)
{
    static const ferry_control kinds[] = {FERRY_CONTROL_LABELS, FERRY_CONTROL_NOISE};
    ferry_status st = FERRY_OK;
    validation w = *v;
    double *score = NULL;
    bool changed = false, any = false;

    w.only = m;
    w.row = NULL;
    FERRY_NEW(ctx, w.row, v->rs->n * v->entries);
    FERRY_NEW(ctx, score, v->rs->n);
    *does = false;
    for (int k = 0; k < FERRY_COUNT(kinds) && !any; k++) {
        if (!ferry_i_task_has_control(v->split, kinds[k])) continue;
        *does = true;
        for (int64_t draw = 0; draw < FERRY_GUARD_SHUFFLED && *does; draw++) {
            FERRY_TRY(try_draw(ctx, v, &w, kinds[k], draw, score, &changed));
            *does = score[m] < own[m];
            any = any || changed;
        }
    }
done:
    FERRY_FREE(w.row, score);
    return st;
}

static ferry_status choose(ferry_ctx *ctx, const validation *v, const double *score,
                           bool open, ferry_pick *pick)
{
    ferry_status st = FERRY_OK;
    const ferry_results *rs = v->rs;
    double *left = NULL;
    int64_t best = -1;
    bool does = false;

    pick->baseline = best_of(rs, score, FERRY_KIND_BASELINE);
    pick->transfer = best_of(rs, score, FERRY_KIND_TRANSFER);
    pick->chosen = pick->baseline >= 0 ? pick->baseline : pick->transfer;
    if (pick->baseline < 0) goto done;
    FERRY_NEW(ctx, left, rs->n);
    memcpy(left, score, (size_t)rs->n * sizeof *left);
    while (!does && (best = best_allowed(v, left, open, pick->baseline)) >= 0) {
        does = rs->run.goal != FERRY_CLASSIFY ||
               (open && ferry_i_guard_path(&rs->result[best]));
        if (!does) FERRY_TRY(by_source(ctx, v, score, best, &does));
        if (does) pick->chosen = best;
        left[best] = NAN;
    }
done:
    ferry_i_free(left);
    return st;
}

ferry_status ferry_i_guard_pick(ferry_ctx *ctx, const ferry_results *rs,
                                const ferry_task *split, bool open, ferry_pick *pick,
                                double *score)
{
    ferry_status st = FERRY_OK;
    validation v = {
        .rs = rs, .split = split, .entries = ferry_i_score_entries(rs), .only = -1};
    int64_t *at = NULL;

    *pick = (ferry_pick){-1, -1, -1};
    FERRY_TRY(visible(ctx, split->domains[ferry_i_guard_target(split)], &at, &v.n));
    v.at = at;
    v.folds = v.n < FOLDS ? v.n : FOLDS;
    if (v.n < 2) { /* nothing to validate on */
        FERRY_TRY(ferry_i_guard_label_free(ctx, rs, split, score));
        for (int64_t i = 0; i < rs->n; i++)
            if (isfinite(score[i]) && (pick->chosen < 0 || score[i] > score[pick->chosen]))
                pick->chosen = i;
        goto done;
    }
    FERRY_NEW(ctx, v.row, rs->n * v.entries);
    FERRY_TRY(cross_validate(ctx, &v, score));
    FERRY_TRY(choose(ctx, &v, score, open, pick));
done:
    FERRY_FREE(at, v.row);
    return st;
}

/* ---- all repeats ---- */

/* Spearman's correlation of the guard's scores with the true means; NaN for fewer than
 * 3. */
static double trust(const ferry_results *rs, const double *score, double sign)
{
    double n = 0, sum = 0;

    for (int64_t i = 0; i < rs->n; i++) {
        n += isfinite(score[i]);
        /* nothing was hidden, so there is no truth to compare with */
        if (isfinite(score[i]) && isnan(ferry_i_result_mean(rs, &rs->result[i], 0)))
            return NAN;
    }
    if (n < 3) return NAN;
    for (int64_t i = 0; i < rs->n; i++) {
        double a = 0, b = 0;
        if (!isfinite(score[i])) continue;
        for (int64_t j = 0; j < rs->n; j++) { /* ranks; equals share theirs */
            if (!isfinite(score[j])) continue;
            const double x = sign * ferry_i_result_mean(rs, &rs->result[i], 0);
            const double y = sign * ferry_i_result_mean(rs, &rs->result[j], 0);
            a += score[j] < score[i] ? 1 : score[j] == score[i] ? 0.5 : 0;
            b += y < x ? 1 : y == x ? 0.5 : 0;
        }
        sum += (a - b) * (a - b);
    }
    return 1 - 6 * sum / (n * (n * n - 1));
}

void ferry_i_guard_free(ferry_guard *g)
{
    if (!g) return;
    FERRY_FREE((int64_t *)g->chosen, (int64_t *)g->baseline, (int64_t *)g->transfer,
               (double *)g->runs, (double *)g->scores, (char *)g->sentence, g);
}

ferry_status ferry_i_guard_run(ferry_ctx *ctx, const ferry_task *task, ferry_results *rs)
{
    ferry_status st = FERRY_OK;
    const int64_t repeats = rs->run.repeats;
    int64_t *chosen = ferry_i_calloc(repeats, sizeof *chosen);
    int64_t *baseline = ferry_i_calloc(repeats, sizeof *baseline);
    int64_t *transfer = ferry_i_calloc(repeats, sizeof *transfer);
    double *runs = ferry_i_calloc(repeats, sizeof *runs);
    double *mean = ferry_i_calloc(rs->n, sizeof *mean);
    double *score = ferry_i_calloc(rs->n, sizeof *score);
    ferry_guard *g = ferry_i_calloc(1, sizeof *g);
    ferry_task *split = NULL;
    ferry_pick pick;
    bool open = false;

    FERRY_HAVE(ctx, g && chosen && baseline && transfer && runs && mean && score);
    ctx->repeat = 0; /* the gate sees no target label, so it is the same in every repeat */
    FERRY_TRY(ferry_i_guard_gate(ctx, rs, task, &open));
    for (int64_t r = 0; r < repeats; r++) {
        ctx->repeat = (uint64_t)r;
        FERRY_TRY(ferry_i_task_split(ctx, task, r, &split));
        FERRY_TRY(ferry_i_guard_pick(ctx, rs, split, open, &pick, score));
        for (int64_t i = 0; i < rs->n; i++)
            mean[i] += score[i] / (double)repeats;
        chosen[r] = pick.chosen;
        baseline[r] = pick.baseline;
        transfer[r] = pick.transfer;
        runs[r] = chosen[r] < 0 ? NAN : rs->result[chosen[r]].metric[r];
        ferry_task_free(split);
        split = NULL;
    }
    *g = (ferry_guard){.size = sizeof *g,
                       .by = rs->run.visible < 2 ? "label-free" : "cross-validation",
                       .repeats = repeats,
                       .mean = ferry_i_mean(repeats, runs),
                       .count = rs->n,
                       .trust = trust(rs, mean, ferry_i_results_sign(rs)),
                       .gate = open};
    FERRY_MOVE(g->chosen, chosen);
    FERRY_MOVE(g->baseline, baseline);
    FERRY_MOVE(g->transfer, transfer);
    FERRY_MOVE(g->runs, runs);
    FERRY_MOVE(g->scores, mean);
    FERRY_MOVE(rs->guard, g);
done:
    ferry_task_free(split);
    FERRY_FREE(score, mean, runs, transfer, baseline, chosen, g);
    return st;
}
