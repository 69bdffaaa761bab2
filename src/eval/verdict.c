/* The verdict on each transfer method and source: helps, no evidence, or harms.
 *
 * Two questions, and `helps` needs a yes to both.
 *
 * 1. Is it better than no transfer? Paired by repeat against the best baseline: signed-rank
 *    test and bootstrap interval. The best of several baselines was chosen on the same
 *    repeats, so its mean is too good by a little: that makes `helps` harder, which is
 * fine, and `harms` easier, which is not. `harms` must hold as well against a baseline
 * chosen without the repeat it is compared on (the best on the others).
 *
 * 2. Is it the knowledge? A control draws a made-up world, in which that knowledge is
 *    chance; draws k = 1 .. K each run on the same splits as the method. If the real source
 *    tells nothing, it is one more such draw: the method's mean over those splits and the
 *    K means of the control are exchangeable, however much the splits overlap. (Repeats
 *    alone would not do: one source of noise may be lucky in every split.) So are
 *        g = max(0, mean - mean of the best baseline),   what each adds to no transfer,
 *    and T = (own g - mean of the K) / (S sqrt(1 + 1 / K)), S the deviation of the K, is
 *    about Student's t with K - 1 degrees of freedom. Below no transfer a control has
 * nothing to offer, and how far below does not matter: hence the max. S is pooled over the
 *    controls of a method, or its own where that is larger, and the denominator no smaller
 *    than what the repeats differ by. A control that changes nothing in any run does not
 *    bear on the method and does not count.
 *
 * The p-values of question 1 are corrected over methods by Holm; a method's p-value is the
 * largest of this and those of its controls, each of which must hold. Sources are judged by
 * leaving each out, with Holm over all methods and sources. */
#include <math.h>

#include "eval/eval.h"

static const double ALPHA = 0.05;
enum { FEW = 5, DRAWS = 10000 }; /* repeats that can show nothing; resamples */

const char *ferry_verdict_name(ferry_verdict verdict)
{
    static const char *const names[] = {"not judged", "helps", "no evidence", "harms"};

    return verdict >= FERRY_UNJUDGED && verdict <= FERRY_HARMS ? names[verdict] : "unknown";
}

/* +1 where larger is better, else -1. */
static double sign_of(const ferry_results *rs)
{
    return rs->metrics[0]->info.larger_is_better ? 1 : -1;
}

/* ---- one control ---- */

static bool complete(const ferry_trial *t)
{
    return !t->pub.reason && t->done == t->pub.draws * t->pub.repeats;
}

/* Controls that answer question 2. */
static bool counts(const ferry_trial *t)
{
    return complete(t) && t->kind != FERRY_CONTROL_WITHOUT && !t->pub.same;
}

/* What a mean over the first n repeats adds to no transfer. */
static double added(const ferry_results *rs, const double *metric, int64_t n)
{
    const double *base = rs->result[rs->run.best_baseline].metric;

    return fmax(0, sign_of(rs) * (ferry_i_mean(n, metric) - ferry_i_mean(n, base)));
}

/* Mean, gain, and whether every run equals the method's own. */
static void measure(const ferry_results *rs, const ferry_entry *r, ferry_trial *t)
{
    if (!complete(t)) return;
    t->pub.runs = t->metric;
    t->pub.mean = ferry_i_mean(t->pub.draws * t->pub.repeats, t->metric);
    t->pub.gain = sign_of(rs) * (ferry_i_mean(t->pub.repeats, r->metric) - t->pub.mean);
    t->pub.same = true;
    for (int64_t i = 0; i < t->pub.draws * t->pub.repeats; i++)
        t->pub.same = t->pub.same && t->metric[i] == r->metric[i % t->pub.repeats];
}

/* Mean and variance of what the draws add. */
static void spread_of(const ferry_results *rs, const ferry_trial *t, double *mean,
                      double *variance)
{
    const int64_t n = t->pub.repeats;

    *mean = *variance = 0;
    for (int64_t k = 0; k < t->pub.draws; k++)
        *mean += added(rs, t->metric + k * n, n) / (double)t->pub.draws;
    for (int64_t k = 0; k < t->pub.draws; k++) {
        const double d = added(rs, t->metric + k * n, n) - *mean;
        *variance += d * d / (double)(t->pub.draws - 1);
    }
}

/* Variance of the method's lead over the best baseline in one repeat. */
static ferry_status repeat_variance(ferry_ctx *ctx, const ferry_results *rs,
                                    const ferry_entry *r, double *out)
{
    const double *base = rs->result[rs->run.best_baseline].metric;
    double *diff = ferry_i_calloc(rs->run.repeats, sizeof *diff);

    if (!diff) return ferry_i_nomem(ctx);
    for (int64_t i = 0; i < rs->run.repeats; i++)
        diff[i] = r->metric[i] - base[i];
    const double std = ferry_i_std(rs->run.repeats, diff);
    *out = std * std;
    ferry_i_free(diff);
    return FERRY_OK;
}

/* Question 2 for every control of a method. */
static ferry_status test_controls(ferry_ctx *ctx, const ferry_results *rs, ferry_entry *r)
{
    ferry_status st = FERRY_OK;
    double pooled = 0, df = 0, repeats = 0, mean = 0, own = 0;

    if (rs->run.best_baseline < 0) return FERRY_OK;
    FERRY_TRY(repeat_variance(ctx, rs, r, &repeats));
    for (int64_t i = 0; i < r->n_trials; i++) {
        const ferry_trial *t = &r->trial[i];
        if (!counts(t)) continue;
        spread_of(rs, t, &mean, &own);
        pooled += own * (double)(t->pub.draws - 1);
        df += (double)(t->pub.draws - 1);
    }
    for (int64_t i = 0; i < r->n_trials; i++) {
        ferry_trial *t = &r->trial[i];
        if (!counts(t)) continue;
        spread_of(rs, t, &mean, &own);
        const double among = fmax(own, pooled / df) * (1 + 1 / (double)t->pub.draws);
        const double se = sqrt(fmax(among, repeats / (double)rs->run.repeats));
        const double half = ferry_i_student_t(ALPHA, df) * se;
        t->pub.excess = added(rs, r->metric, t->pub.repeats) - mean;
        t->pub.low = t->pub.excess - half;
        t->pub.high = t->pub.excess + half;
        t->pub.p = t->pub.excess == 0 ? 1 : ferry_i_student_p(t->pub.excess / se, df);
    }
done:
    return st;
}

/* A source left out: paired by repeat. */
static ferry_status test_without(ferry_ctx *ctx, const ferry_results *rs,
                                 const ferry_entry *r, ferry_trial *t)
{
    ferry_status st = FERRY_OK;
    double *diff = ferry_i_calloc(t->pub.repeats, sizeof *diff);
    ferry_rng rng;

    FERRY_HAVE(ctx, diff);
    for (int64_t i = 0; i < t->pub.repeats; i++)
        diff[i] = sign_of(rs) * (r->metric[i] - t->metric[i]);
    ferry_i_rng_for(ctx, &rng, "bootstrap");
    FERRY_TRY(ferry_i_bootstrap(ctx, t->pub.repeats, diff, DRAWS, 0.95, &rng, &t->pub.low,
                                &t->pub.high));
    FERRY_TRY(ferry_i_wilcoxon(ctx, t->pub.repeats, diff, &t->pub.p));
    if (isnan(t->pub.p)) t->pub.p = 1; /* it makes no difference at all */
done:
    ferry_i_free(diff);
    return st;
}

/* ---- no transfer ---- */

/* Of the baselines the one that is best without repeat `but`. */
static const ferry_entry *best_without(const ferry_results *rs, int64_t but)
{
    const ferry_entry *best = NULL;
    double most = -INFINITY;

    for (int64_t i = 0; i < rs->n; i++) {
        const ferry_entry *r = &rs->result[i];
        double sum = 0;
        if (r->pub.reason || r->pub.kind != FERRY_KIND_BASELINE) continue;
        for (int64_t j = 0; j < rs->run.repeats; j++)
            if (j != but) sum += sign_of(rs) * r->metric[j];
        if (!(sum > most)) continue;
        most = sum;
        best = r;
    }
    return best;
}

/* p-value against baselines chosen without the repeat; 1 when it is no worse than they. */
static ferry_status harm_p(ferry_ctx *ctx, const ferry_results *rs, const ferry_entry *r,
                           double *p)
{
    ferry_status st = FERRY_OK;
    double *diff = ferry_i_calloc(rs->run.repeats, sizeof *diff);
    int64_t n = 0;

    *p = 1;
    FERRY_HAVE(ctx, diff);
    for (int64_t i = 0; i < rs->run.repeats; i++) {
        const ferry_entry *b = best_without(rs, i);
        const double d = b ? sign_of(rs) * (r->metric[i] - b->metric[i]) : NAN;
        if (isfinite(d)) diff[n++] = d;
    }
    if (n < 2 || ferry_i_mean(n, diff) >= 0) goto done;
    FERRY_TRY(ferry_i_wilcoxon(ctx, n, diff, p));
done:
    ferry_i_free(diff);
    return st;
}

/* ---- one method ---- */

/* The largest p-value of question 2 and whose it is; 1 when the method is not better. */
static double control_p(ferry_entry *r)
{
    double worst = -1;

    r->against = -1;
    for (int64_t i = 0; i < r->n_trials; i++) {
        const ferry_trial *t = &r->trial[i];
        if (!counts(t)) continue;
        const double p = t->pub.excess > 0 ? t->pub.p : 1;
        const bool further = p == worst && t->pub.gain < r->trial[r->against].pub.gain;
        if (p < worst || (p == worst && !further)) continue;
        worst = p;
        r->against = i;
    }
    return worst < 0 ? 1 : worst;
}

static bool any_complete(const ferry_entry *r)
{
    for (int64_t i = 0; i < r->n_trials; i++)
        if (complete(&r->trial[i]) && r->trial[i].kind != FERRY_CONTROL_WITHOUT)
            return true;
    return false;
}

/* The p-value of the gain's direction; the verdict waits for Holm. */
static ferry_status examine(ferry_ctx *ctx, const ferry_results *rs, ferry_entry *r)
{
    ferry_status st = FERRY_OK;
    ferry_result *v = &r->pub;
    double more = 1;

    v->verdict = FERRY_NO_EVIDENCE;
    r->against = -1;
    for (int64_t i = 0; i < r->n_trials; i++) {
        measure(rs, r, &r->trial[i]);
        if (r->trial[i].kind == FERRY_CONTROL_WITHOUT && complete(&r->trial[i]))
            FERRY_TRY(test_without(ctx, rs, r, &r->trial[i]));
    }
    FERRY_TRY(test_controls(ctx, rs, r));
    v->p = 1;
    if (isnan(v->p_compare)) goto done;
    if (v->gain > 0) v->p = v->p_compare;
    if (v->gain < 0) {
        FERRY_TRY(harm_p(ctx, rs, r, &more));
        v->p = fmax(v->p_compare, more);
    }
done:
    return st;
}

/* Why a method is neither shown to help nor to harm: the first hurdle that it does not take. */
static ferry_reason why(const ferry_results *rs, const ferry_entry *r)
{
    const ferry_result *v = &r->pub;

    if (rs->run.best_baseline < 0 || v->pairs == 0) return FERRY_NO_BASELINE;
    if (v->pairs > 1 && isnan(v->p_compare)) return FERRY_EQUAL;
    if (v->pairs <= FEW) return FERRY_FEW;
    if (!(v->p_compare < ALPHA) || !(v->low > 0 || v->high < 0)) return FERRY_CHANCE;
    if (v->gain < 0) return v->p < ALPHA ? FERRY_CHANCE_OF_ALL : FERRY_CHANCE;
    if (!any_complete(r)) return FERRY_UNCHECKED;
    if (r->against < 0) return FERRY_UNTOUCHED;
    return v->p < ALPHA ? FERRY_CHANCE_OF_ALL : FERRY_CONTROLLED;
}

static void decide(const ferry_results *rs, ferry_entry *r)
{
    ferry_result *v = &r->pub;

    r->why = FERRY_BECAUSE;
    if (v->gain > 0) {
        const double controls = control_p(r);
        v->p = fmax(v->p, controls);
        v->p_holm = fmax(v->p_holm, controls);
    }
    if (v->p_holm < ALPHA && v->low > 0)
        v->verdict = FERRY_HELPS;
    else if (v->p_holm < ALPHA && v->high < 0)
        v->verdict = FERRY_HARMS;
    else
        r->why = why(rs, r);
}

/* ---- sources ---- */

/* Every leave-one-out that ran; fn 0 collects p, 1 gives it back and judges. */
static int64_t each_source(ferry_results *rs, double *p, bool judge)
{
    int64_t n = 0;

    for (int64_t i = 0; i < rs->n; i++) {
        ferry_entry *r = &rs->result[i];
        for (int64_t k = 0; k < r->n_trials; k++) {
            ferry_trial *t = &r->trial[k];
            if (t->kind != FERRY_CONTROL_WITHOUT || !complete(t)) continue;
            if (p && !judge) p[n] = t->pub.p;
            if (judge) {
                const bool sure = p[n] < ALPHA;
                t->pub.p_holm = p[n];
                t->pub.verdict = FERRY_NO_EVIDENCE;
                if (sure && t->pub.low > 0 && r->pub.verdict == FERRY_HELPS)
                    t->pub.verdict = FERRY_HELPS;
                if (sure && t->pub.high < 0) t->pub.verdict = FERRY_HARMS;
            }
            n++;
        }
    }
    return n;
}

ferry_status ferry_i_results_judge(ferry_ctx *ctx, ferry_results *rs)
{
    ferry_status st = FERRY_OK;
    double *p = NULL;
    int64_t n = 0;

    if (rs->n_metrics == 0) return FERRY_OK;
    for (int64_t i = 0; i < rs->n; i++) {
        ferry_entry *r = &rs->result[i];
        if (r->pub.reason || r->pub.kind != FERRY_KIND_TRANSFER) continue;
        FERRY_TRY(examine(ctx, rs, r));
        n++;
    }
    const int64_t sources = each_source(rs, NULL, false);
    FERRY_NEW(ctx, p, n > sources ? n : sources);
    for (int64_t i = 0, k = 0; i < rs->n; i++)
        if (rs->result[i].pub.verdict) p[k++] = rs->result[i].pub.p;
    ferry_i_holm(n, p);
    for (int64_t i = 0, k = 0; i < rs->n; i++) {
        ferry_entry *r = &rs->result[i];
        if (!r->pub.verdict) continue;
        r->pub.p_holm = p[k++];
        decide(rs, r);
    }
    (void)each_source(rs, p, false);
    ferry_i_holm(sources, p);
    (void)each_source(rs, p, true);
done:
    ferry_i_free(p);
    return st;
}
