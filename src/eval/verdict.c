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

const char *ferry_i_verdict_name(ferry_verdict verdict)
{
    static const char *const names[] = {"not judged", "helps", "no evidence", "harms"};

    return names[verdict];
}

/* +1 where larger is better, else -1. */
static double sign_of(const ferry_results *rs)
{
    return rs->metrics[0]->larger_is_better ? 1 : -1;
}

/* ---- one control ---- */

static bool complete(const ferry_trial *t)
{
    return !t->unfit && t->done == t->draws * t->repeats;
}

/* Controls that answer question 2. */
static bool counts(const ferry_trial *t)
{
    return complete(t) && t->kind != FERRY_CONTROL_WITHOUT && !t->same;
}

/* What a mean over the first n repeats adds to no transfer. */
static double added(const ferry_results *rs, const double *metric, int64_t n)
{
    const double *base = rs->result[rs->best_baseline].metric;

    return fmax(0, sign_of(rs) * (ferry_i_mean(n, metric) - ferry_i_mean(n, base)));
}

/* Mean, gain, and whether every run equals the method's own. */
static void measure(const ferry_results *rs, const ferry_result *r, ferry_trial *t)
{
    if (!complete(t)) return;
    t->mean = ferry_i_mean(t->draws * t->repeats, t->metric);
    t->gain = sign_of(rs) * (ferry_i_mean(t->repeats, r->metric) - t->mean);
    t->same = true;
    for (int64_t i = 0; i < t->draws * t->repeats; i++)
        t->same = t->same && t->metric[i] == r->metric[i % t->repeats];
}

/* Mean and variance of what the draws add. */
static void spread_of(const ferry_results *rs, const ferry_trial *t, double *mean,
                      double *variance)
{
    const int64_t n = t->repeats;

    *mean = *variance = 0;
    for (int64_t k = 0; k < t->draws; k++)
        *mean += added(rs, t->metric + k * n, n) / (double)t->draws;
    for (int64_t k = 0; k < t->draws; k++) {
        const double d = added(rs, t->metric + k * n, n) - *mean;
        *variance += d * d / (double)(t->draws - 1);
    }
}

/* Variance of the method's lead over the best baseline in one repeat. */
static ferry_status repeat_variance(ferry_ctx *ctx, const ferry_results *rs,
                                    const ferry_result *r, double *out)
{
    const double *base = rs->result[rs->best_baseline].metric;
    double *diff = ferry_i_calloc(rs->repeats, sizeof *diff);

    if (!diff) return ferry_i_nomem(ctx);
    for (int64_t i = 0; i < rs->repeats; i++)
        diff[i] = r->metric[i] - base[i];
    const double std = ferry_i_std(rs->repeats, diff);
    *out = std * std;
    ferry_i_free(diff);
    return FERRY_OK;
}

/* Question 2 for every control of a method. */
static ferry_status test_controls(ferry_ctx *ctx, const ferry_results *rs, ferry_result *r)
{
    ferry_status st = FERRY_OK;
    double pooled = 0, df = 0, repeats = 0, mean = 0, own = 0;

    if (rs->best_baseline < 0) return FERRY_OK;
    FERRY_TRY(repeat_variance(ctx, rs, r, &repeats));
    for (int64_t i = 0; i < r->n_trials; i++) {
        const ferry_trial *t = &r->trial[i];
        if (!counts(t)) continue;
        spread_of(rs, t, &mean, &own);
        pooled += own * (double)(t->draws - 1);
        df += (double)(t->draws - 1);
    }
    for (int64_t i = 0; i < r->n_trials; i++) {
        ferry_trial *t = &r->trial[i];
        if (!counts(t)) continue;
        spread_of(rs, t, &mean, &own);
        const double among = fmax(own, pooled / df) * (1 + 1 / (double)t->draws);
        const double se = sqrt(fmax(among, repeats / (double)rs->repeats));
        const double half = ferry_i_student_t(ALPHA, df) * se;
        t->excess = added(rs, r->metric, t->repeats) - mean;
        t->lo = t->excess - half;
        t->hi = t->excess + half;
        t->p = t->excess == 0 ? 1 : ferry_i_student_p(t->excess / se, df);
    }
done:
    return st;
}

/* A source left out: paired by repeat. */
static ferry_status test_without(ferry_ctx *ctx, const ferry_results *rs,
                                 const ferry_result *r, ferry_trial *t)
{
    ferry_status st = FERRY_OK;
    double *diff = ferry_i_calloc(t->repeats, sizeof *diff);
    ferry_rng rng;

    FERRY_HAVE(ctx, diff);
    for (int64_t i = 0; i < t->repeats; i++)
        diff[i] = sign_of(rs) * (r->metric[i] - t->metric[i]);
    ferry_i_rng_for(ctx, &rng, "bootstrap");
    FERRY_TRY(ferry_i_bootstrap(ctx, t->repeats, diff, DRAWS, 0.95, &rng, &t->lo, &t->hi));
    FERRY_TRY(ferry_i_wilcoxon(ctx, t->repeats, diff, &t->p));
    if (isnan(t->p)) t->p = 1; /* it makes no difference at all */
done:
    ferry_i_free(diff);
    return st;
}

/* ---- no transfer ---- */

/* Of the baselines the one that is best without repeat `but`. */
static const ferry_result *best_without(const ferry_results *rs, int64_t but)
{
    const ferry_result *best = NULL;
    double most = -INFINITY;

    for (int64_t i = 0; i < rs->n; i++) {
        const ferry_result *r = &rs->result[i];
        double sum = 0;
        if (r->unfit || r->kind != FERRY_KIND_BASELINE) continue;
        for (int64_t j = 0; j < rs->repeats; j++)
            if (j != but) sum += sign_of(rs) * r->metric[j];
        if (!(sum > most)) continue;
        most = sum;
        best = r;
    }
    return best;
}

/* p-value against baselines chosen without the repeat; 1 when it is no worse than they. */
static ferry_status harm_p(ferry_ctx *ctx, const ferry_results *rs, const ferry_result *r,
                           double *p)
{
    ferry_status st = FERRY_OK;
    double *diff = ferry_i_calloc(rs->repeats, sizeof *diff);
    int64_t n = 0;

    *p = 1;
    FERRY_HAVE(ctx, diff);
    for (int64_t i = 0; i < rs->repeats; i++) {
        const ferry_result *b = best_without(rs, i);
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
static double control_p(ferry_result *r)
{
    double worst = -1;

    r->judgement.trial = -1;
    for (int64_t i = 0; i < r->n_trials; i++) {
        const ferry_trial *t = &r->trial[i];
        if (!counts(t)) continue;
        const double p = t->excess > 0 ? t->p : 1;
        const bool further = p == worst && t->gain < r->trial[r->judgement.trial].gain;
        if (p < worst || (p == worst && !further)) continue;
        worst = p;
        r->judgement.trial = i;
    }
    return worst < 0 ? 1 : worst;
}

static bool any_complete(const ferry_result *r)
{
    for (int64_t i = 0; i < r->n_trials; i++)
        if (complete(&r->trial[i]) && r->trial[i].kind != FERRY_CONTROL_WITHOUT)
            return true;
    return false;
}

/* Gain and p-value of its direction; the verdict waits for Holm. */
static ferry_status examine(ferry_ctx *ctx, const ferry_results *rs, ferry_result *r)
{
    ferry_status st = FERRY_OK;
    ferry_judgement *j = &r->judgement;
    const ferry_versus *v = &r->versus;
    const bool larger = sign_of(rs) > 0;
    double more = 1;

    *j = (ferry_judgement){.verdict = FERRY_NO_EVIDENCE, .trial = -1};
    for (int64_t i = 0; i < r->n_trials; i++) {
        measure(rs, r, &r->trial[i]);
        if (r->trial[i].kind == FERRY_CONTROL_WITHOUT && complete(&r->trial[i]))
            FERRY_TRY(test_without(ctx, rs, r, &r->trial[i]));
    }
    FERRY_TRY(test_controls(ctx, rs, r));
    j->gain = sign_of(rs) * v->difference;
    j->lo = larger ? v->lo : -v->hi;
    j->hi = larger ? v->hi : -v->lo;
    j->p = 1;
    if (v->pairs == 0)
        j->gain = j->lo = j->hi = NAN;
    else if (isnan(v->p))
        goto done;
    else if (j->gain > 0)
        j->p = v->p;
    else if (j->gain < 0) {
        FERRY_TRY(harm_p(ctx, rs, r, &more));
        j->p = fmax(v->p, more);
    }
done:
    return st;
}

/* Why a method is neither shown to help nor to harm. */
static ferry_reason why(const ferry_results *rs, const ferry_result *r)
{
    const ferry_judgement *j = &r->judgement;
    const ferry_versus *v = &r->versus;

    if (rs->best_baseline < 0 || v->pairs == 0) return FERRY_NO_BASELINE;
    if (v->pairs > 1 && isnan(v->p)) return FERRY_EQUAL;
    if (v->pairs <= FEW) return FERRY_FEW;
    if (!(v->p < ALPHA) || !(j->lo > 0 || j->hi < 0)) return FERRY_CHANCE;
    if (j->gain < 0) return j->p < ALPHA ? FERRY_CHANCE_OF_ALL : FERRY_CHANCE;
    if (!any_complete(r)) return FERRY_UNCHECKED;
    if (j->trial < 0) return FERRY_UNTOUCHED;
    if (j->p < ALPHA) return FERRY_CHANCE_OF_ALL;
    return FERRY_CONTROLLED;
}

static void decide(const ferry_results *rs, ferry_result *r)
{
    ferry_judgement *j = &r->judgement;

    j->reason = FERRY_BECAUSE;
    if (j->gain > 0) {
        const double controls = control_p(r);
        j->p = fmax(j->p, controls);
        j->p_holm = fmax(j->p_holm, controls);
    }
    if (j->p_holm < ALPHA && j->lo > 0)
        j->verdict = FERRY_HELPS;
    else if (j->p_holm < ALPHA && j->hi < 0)
        j->verdict = FERRY_HARMS;
    else
        j->reason = why(rs, r);
}

/* ---- sources ---- */

/* Every leave-one-out that ran; fn 0 collects p, 1 gives it back and judges. */
static int64_t each_source(ferry_results *rs, double *p, bool judge)
{
    int64_t n = 0;

    for (int64_t i = 0; i < rs->n; i++) {
        ferry_result *r = &rs->result[i];
        for (int64_t k = 0; k < r->n_trials; k++) {
            ferry_trial *t = &r->trial[k];
            if (t->kind != FERRY_CONTROL_WITHOUT || !complete(t)) continue;
            if (p && !judge) p[n] = t->p;
            if (judge) {
                const bool sure = p[n] < ALPHA;
                t->p_holm = p[n];
                t->verdict = FERRY_NO_EVIDENCE;
                if (sure && t->lo > 0 && r->judgement.verdict == FERRY_HELPS)
                    t->verdict = FERRY_HELPS;
                if (sure && t->hi < 0) t->verdict = FERRY_HARMS;
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
        ferry_result *r = &rs->result[i];
        if (r->unfit || r->kind != FERRY_KIND_TRANSFER) continue;
        FERRY_TRY(examine(ctx, rs, r));
        n++;
    }
    const int64_t sources = each_source(rs, NULL, false);
    FERRY_NEW(ctx, p, n > sources ? n : sources);
    for (int64_t i = 0, k = 0; i < rs->n; i++)
        if (rs->result[i].judgement.verdict) p[k++] = rs->result[i].judgement.p;
    ferry_i_holm(n, p);
    for (int64_t i = 0, k = 0; i < rs->n; i++) {
        ferry_result *r = &rs->result[i];
        if (!r->judgement.verdict) continue;
        r->judgement.p_holm = p[k++];
        decide(rs, r);
    }
    (void)each_source(rs, p, false);
    ferry_i_holm(sources, p);
    (void)each_source(rs, p, true);
done:
    ferry_i_free(p);
    return st;
}
