/* The verdict on each transfer method: one of eight, from two questions.
 *
 * 1. Is it better or worse than no transfer, for new data of this kind? Its gain over the baseline with
 *    the best mean, with the crossed variance over repeats and instances (crossed.c). `better` is
 *    Holm's correction over the methods of the one-sided p-value below .05. The best of B baselines
 *    was picked on the same numbers, which makes `worse` easier: its p-values count B times. Methods
 *    that turn out not to use their source get neither claim and take no share of the .05: which ones
 *    that are is told by predictions alone, without a hidden label.
 *
 * 2. Is it the source? A randomisation test (controls.c): were the source of no use it would be one
 *    more of the made-up worlds, and as likely as any of them to be the best or the worst.
 *
 * A method none of whose predictions a control changes does not use its source: it is said neither to
 * help nor to harm, whatever its numbers. Sources left out one by one are judged by question 1, with
 * Holm over all methods and sources. */
#include <math.h>
#include <string.h>

#include "run/run.h"

static const double ALPHA = 0.05;

const char *ferry_verdict_name(ferry_verdict verdict)
{
    static const char *const names[] = {"not judged", "helps",      "undecided",
                                        "harms",      "any source", "not shown",
                                        "unused",     "weaker",     "equal"};

    return verdict >= FERRY_UNJUDGED && verdict <= FERRY_EQUAL ? names[verdict] : "unknown";
}

double ferry_i_results_sign(const ferry_results *rs)
{
    return rs->n_metrics == 0 || rs->metrics[0]->info.larger_is_better ? 1 : -1;
}

/* ---- question 1 ---- */

/* Whether every repeat hid the same: then repeats are copies but for the methods' own chance. */
static bool is_fixed(const ferry_results *rs)
{
    const size_t n = (size_t)ferry_i_score_entries(rs);

    for (int64_t r = 1; r < rs->run.repeats; r++)
        if (memcmp(rs->scored[0], rs->scored[r], n) != 0) return false;
    return true;
}

ferry_status ferry_i_results_cross(ferry_ctx *ctx, const ferry_results *rs,
                                   double *const *a, double *const *b, ferry_crossed *out)
{
    ferry_status st = FERRY_OK;
    const int64_t n = ferry_i_score_entries(rs), repeats = rs->run.repeats;
    const double sign = ferry_i_results_sign(rs);
    double *diff = NULL;
    uint8_t *seen = NULL;

    FERRY_NEW(ctx, diff, repeats * n);
    FERRY_NEW(ctx, seen, repeats * n);
    for (int64_t r = 0; r < repeats; r++)
        for (int64_t i = 0, k = 0; i < n; i++) {
            diff[r * n + i] = NAN;
            seen[r * n + i] = !rs->scored[r][i] && ferry_i_score_known(rs, i);
            if (!rs->scored[r][i]) continue;
            if (a[r] && b[r]) diff[r * n + i] = sign * (a[r][k] - b[r][k]);
            k++;
        }
    const ferry_crossing in = {.repeats = repeats,
                               .n = n,
                               .diff = diff,
                               .cluster = {rs->ratings ? rs->ratings->user : NULL,
                                           rs->ratings ? rs->ratings->item : NULL},
                               .seen = seen,
                               .hands = rs->hands.hands,
                               .folds = rs->hands.folds,
                               .fixed = is_fixed(rs),
                               .ordered = rs->run.goal == FERRY_STREAM};
    FERRY_TRY(ferry_i_crossed(ctx, &in, out));
done:
    FERRY_FREE(diff, seen);
    return st;
}

/* Result r against the best baseline b. */
static ferry_status compare(ferry_ctx *ctx, const ferry_results *rs, const ferry_entry *b,
                            ferry_entry *r)
{
    ferry_status st = FERRY_OK;
    ferry_crossed *c = &r->test;
    ferry_result *v = &r->pub;

    FERRY_TRY(ferry_i_results_cross(ctx, rs, r->rows, b->rows, c));
    v->pairs = c->repeats;
    if (c->n == 0) goto done;
    v->baseline = b->pub.name;
    v->gain = c->mu;
    v->low = isfinite(c->low) ? c->low : NAN;
    v->high = isfinite(c->high) ? c->high : NAN;
    v->bound = isfinite(c->bound) ? c->bound : NAN;
    v->se = c->se;
    v->df = c->df;
    v->fixed = is_fixed(rs);
    v->p_compare = c->se > 0 ? fmin(1, 2 * fmin(c->p_better, c->p_worse)) : NAN;
done:
    return st;
}

/* B, which pays for having picked the best of them. */
static double count_baselines(const ferry_results *rs)
{
    double n = 0;

    for (int64_t i = 0; i < rs->n; i++)
        n += rs->result[i].pub.kind == FERRY_KIND_BASELINE && !rs->result[i].pub.reason;
    return n;
}

static bool in_level(const ferry_entry *r, bool used)
{
    return ferry_i_results_judged(r) && !(used && r->unused);
}

/* Holm over the transfer methods, or over those that use their source, on either side. */
static void correct_among(ferry_results *rs, bool used, double *better, double *worse)
{
    const double baselines = count_baselines(rs);
    int64_t n = 0;

    for (int64_t i = 0; i < rs->n; i++) {
        const ferry_entry *r = &rs->result[i];
        if (!in_level(r, used)) continue;
        better[n] = r->pub.pairs > 0 ? r->test.p_better : 1;
        worse[n++] = r->pub.pairs > 0 ? fmin(1, baselines * r->test.p_worse) : 1;
    }
    ferry_i_holm(n, better);
    ferry_i_holm(n, worse);
    n = 0;
    for (int64_t i = 0; i < rs->n; i++) {
        ferry_entry *r = &rs->result[i];
        if (!in_level(r, used)) continue;
        r->better = better[n] < ALPHA;
        r->worse = worse[n] < ALPHA;
        const bool up = r->pub.gain > 0;
        r->pub.p = r->pub.pairs == 0 ? 1
                   : up              ? r->test.p_better
                                     : fmin(1, baselines * r->test.p_worse);
        r->pub.p_holm = up ? better[n] : worse[n];
        n++;
    }
}

ferry_status ferry_i_results_correct(ferry_ctx *ctx, ferry_results *rs)
{
    ferry_status st = FERRY_OK;
    double *better = ferry_i_calloc(rs->n, sizeof *better);
    double *worse = ferry_i_calloc(rs->n, sizeof *worse);

    FERRY_HAVE(ctx, better && worse);
    correct_among(rs, false, better, worse); /* what stays of unused ones */
    correct_among(rs, true, better, worse);
done:
    FERRY_FREE(better, worse);
    return st;
}

bool ferry_i_results_judged(const ferry_entry *r)
{
    return !r->pub.reason && r->pub.kind == FERRY_KIND_TRANSFER;
}

ferry_status ferry_i_results_compare(ferry_ctx *ctx, ferry_results *rs)
{
    ferry_status st = FERRY_OK;
    int64_t *order = ferry_i_calloc(rs->n, sizeof *order);

    rs->run.best = rs->run.best_baseline = -1;
    FERRY_HAVE(ctx, order);
    const int64_t n = ferry_i_results_rank(rs, order);
    if (rs->n_metrics == 0 || n == 0) goto done;
    rs->run.best = order[0];
    for (int64_t i = n - 1; i >= 0; i--)
        if (rs->result[order[i]].pub.kind == FERRY_KIND_BASELINE)
            rs->run.best_baseline = order[i];
    if (rs->run.best_baseline >= 0)
        for (int64_t i = 0; i < n; i++)
            if (order[i] != rs->run.best_baseline)
                FERRY_TRY(compare(ctx, rs, &rs->result[rs->run.best_baseline],
                                  &rs->result[order[i]]));
    FERRY_TRY(ferry_i_results_correct(ctx, rs));
done:
    ferry_i_free(order);
    return st;
}

/* ---- one method ---- */

/* The least difference that matters: as set, or a point of a share, or a hundredth of the baseline. */
static double least_effect(const ferry_results *rs)
{
    if (rs->run.least >= 0) return rs->run.least;
    if (ferry_i_metric_is_share(rs->metrics[0])) return 0.01;
    if (rs->run.best_baseline < 0) return NAN;
    return 0.01 * fabs(ferry_i_result_mean(rs, &rs->result[rs->run.best_baseline], 0));
}

static ferry_verdict decide(const ferry_results *rs, const ferry_entry *r)
{
    const ferry_result *v = &r->pub;

    if (r->unused) return FERRY_UNUSED;
    if (r->better)
        return v->p_high <= ALPHA && r->beats_others ? FERRY_HELPS
               : v->as_good >= 3                     ? FERRY_ANY_SOURCE
                                                     : FERRY_NOT_SHOWN;
    if (r->worse) return v->p_low <= ALPHA ? FERRY_HARMS : FERRY_WEAKER;
    if (v->pairs > 0 && v->low >= -rs->run.least && v->high <= rs->run.least)
        return FERRY_EQUAL;
    return FERRY_UNDECIDED;
}

/* ---- sources ---- */

/* Every source left out that ran in all repeats; p collects, or (judge) brings back what is corrected. */
static int64_t each_source(ferry_results *rs, double *p, bool judge)
{
    int64_t n = 0;

    for (int64_t i = 0; i < rs->n; i++)
        for (int64_t k = 0; k < rs->result[i].n_trials; k++) {
            ferry_entry *r = &rs->result[i];
            ferry_evidence *e = &r->trial[k].pub;
            if (!e->source || !isfinite(e->p)) continue;
            if (judge) {
                e->p_holm = p[n];
                e->verdict = e->low >= -rs->run.least && e->high <= rs->run.least
                                 ? FERRY_EQUAL
                                 : FERRY_UNDECIDED;
                if (p[n] < ALPHA && e->gain > 0 && r->pub.verdict == FERRY_HELPS)
                    e->verdict = FERRY_HELPS;
                if (p[n] < ALPHA && e->gain < 0) e->verdict = FERRY_HARMS;
            } else if (p)
                p[n] = e->p;
            n++;
        }
    return n;
}

ferry_status ferry_i_results_judge(ferry_ctx *ctx, ferry_results *rs)
{
    ferry_status st = FERRY_OK;
    double *p = NULL, methods = 0;

    if (rs->n_metrics == 0) return FERRY_OK;
    rs->run.least = least_effect(rs);
    for (int64_t i = 0; i < rs->n; i++)
        methods += in_level(&rs->result[i], true);
    for (int64_t i = 0; i < rs->n; i++) {
        ferry_entry *r = &rs->result[i];
        if (!ferry_i_results_judged(r)) continue;
        r->pub.verdict = decide(rs, r);
        if (r->pub.verdict == FERRY_UNDECIDED && r->pub.pairs > 0)
            ferry_i_crossed_needed(
                &r->test, /* at the level that is left for one of so many methods */
                ALPHA / methods / (r->pub.gain < 0 ? fmax(1, count_baselines(rs)) : 1),
                &r->pub.needed_repeats, &r->pub.needed_rows);
    }
    const int64_t n = each_source(rs, NULL, false);
    FERRY_NEW(ctx, p, n);
    (void)each_source(rs, p, false);
    ferry_i_holm(n, p);
    (void)each_source(rs, p, true);
done:
    ferry_i_free(p);
    return st;
}
