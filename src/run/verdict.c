/* The verdict on each transfer method: one word, from two questions.
 *
 * 1. Is it better or worse than what your labels would choose without the source, for new data of this kind? By its gain over
 *    that reference, with the crossed variance over repeats and instances (crossed.c), corrected for the number of methods (against.c).
 *    Methods that turn out not to use their source get neither claim and take no share of the level: which ones
 *    that are is told by predictions alone, without a hidden label. Better, and better than the best in hindsight: `best`.
 *
 * 2. Is it the source? A randomisation test (controls.c): were the source of no use it would be one
 *    more of the control tasks, and as likely as any of them to be the best or the worst.
 *
 * A method none of whose predictions a control changes ignores its source: it is said neither to
 * help nor to harm, whatever its numbers. Where nothing is shown, it is told how large a difference can still be: if no larger than one that
 * matters, they are the same. Sources left out one by one are judged by question 1, with
 * Holm over all methods and sources. */
#include <math.h>
#include <string.h>

#include "run/run.h"

static const double ALPHA = 0.05;

const char *ferry_verdict_name(ferry_verdict verdict)
{
    static const char *const names[] = {
        "not judged",  "helps",          "open",         "harms", "good learner",
        "source open", "ignores source", "weak learner", "same",  "best"};

    return verdict >= FERRY_UNJUDGED && verdict <= FERRY_BEST ? names[verdict] : "unknown";
}

double ferry_i_results_sign(const ferry_results *rs)
{
    return rs->n_metrics == 0 || rs->metrics[0]->info.larger_is_better ? 1 : -1;
}

bool ferry_i_results_by_policy(const ferry_results *rs)
{
    return rs->by_policy;
}

/* ---- one method ---- */

/* The least difference that matters: as set, or a point of a share, or a hundredth of the baseline. */
static double least_effect(const ferry_results *rs)
{
    if (rs->run.least >= 0) return rs->run.least;
    if (ferry_i_metric_is_share(rs->metrics[0])) return 0.01;
    return rs->run.reference ? 0.01 * fabs(rs->run.reference_mean) : NAN;
}

ferry_verdict ferry_i_verdict_of(const ferry_results *rs, const ferry_entry *r)
{
    const ferry_result *v = &r->pub;

    if (r->unused) return FERRY_IGNORES_SOURCE;
    if (r->better && v->p_high <= ALPHA && r->beats_others)
        return v->p_best < ALPHA ? FERRY_BEST : FERRY_HELPS;
    if (r->better) return v->as_good >= 3 ? FERRY_GOOD_LEARNER : FERRY_SOURCE_OPEN;
    if (r->worse) return v->p_low <= ALPHA ? FERRY_HARMS : FERRY_WEAK_LEARNER;
    if (v->pairs > 0 && v->most <= rs->run.least) return FERRY_SAME;
    return FERRY_OPEN;
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
                                 ? FERRY_SAME
                                 : FERRY_OPEN;
                if (p[n] < ALPHA && e->gain > 0 &&
                    (r->pub.verdict == FERRY_HELPS || r->pub.verdict == FERRY_BEST))
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
        methods += ferry_i_results_in_level(&rs->result[i]);
    for (int64_t i = 0; i < rs->n; i++) {
        ferry_entry *r = &rs->result[i];
        if (!ferry_i_results_judged(r)) continue;
        r->pub.verdict = ferry_i_verdict_of(rs, r);
        if (r->pub.verdict == FERRY_OPEN && r->pub.pairs > 0)
            ferry_i_crossed_needed(
                &r->test, /* at the level that is left for one of so many methods */
                r->primary_one ? ALPHA : ALPHA / methods, &r->pub.needed_repeats,
                &r->pub.needed_rows);
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
