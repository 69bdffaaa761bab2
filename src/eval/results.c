/* Results: their parts, order, and each method against the best baseline. */
#include <jansson.h>
#include <math.h>

#include "eval/eval.h"

enum { DRAWS = 10000 }; /* resamples of the bootstrap: the 2.5 % tails hold 250 each */

static void free_result(ferry_result *r)
{
    ferry_i_free(r->name);
    json_decref(r->options);
    ferry_i_free(r->unfit);
    ferry_i_free(r->metric);
    ferry_i_free(r->seconds);
    ferry_i_free(r->curve);
    json_decref(r->diagnostics);
    ferry_prediction_free(r->prediction);
    for (int64_t i = 0; i < r->n_trials; i++) {
        ferry_i_free(r->trial[i].source);
        ferry_i_free(r->trial[i].metric);
        ferry_i_free(r->trial[i].unfit);
    }
    ferry_i_free(r->trial);
}

void ferry_results_free(ferry_results *rs)
{
    if (!rs) return;
    for (int64_t i = 0; i < rs->n; i++)
        free_result(&rs->result[i]);
    ferry_i_free(rs->result);
    ferry_i_free(rs->metrics);
    ferry_i_labels_free(rs->truth);
    ferry_i_ratings_free(rs->ratings);
    ferry_i_free(rs->scored);
    ferry_i_free(rs->task);
    ferry_i_free(rs->target);
    ferry_i_free(rs->engine);
    ferry_i_free(rs->blas_core);
    ferry_i_guard_free(rs->guard);
    json_decref(rs->record);
    ferry_i_free(rs);
}

double ferry_i_result_mean(const ferry_results *rs, const ferry_result *r, int64_t m)
{
    return ferry_i_mean(rs->repeats, r->metric + m * rs->planned);
}

double ferry_i_result_std(const ferry_results *rs, const ferry_result *r, int64_t m)
{
    return ferry_i_std(rs->repeats, r->metric + m * rs->planned);
}

/* Whether a beats b in the deciding metric; what is undefined comes last. */
static bool beats(const ferry_results *rs, int64_t a, int64_t b)
{
    if (rs->n_metrics == 0) return false;
    const double x = ferry_i_result_mean(rs, &rs->result[a], 0);
    const double y = ferry_i_result_mean(rs, &rs->result[b], 0);
    if (isnan(x) || isnan(y)) return isnan(y) && !isnan(x);
    return rs->metrics[0]->larger_is_better ? x > y : x < y;
}

int64_t ferry_i_results_rank(const ferry_results *rs, int64_t *order)
{
    int64_t n = 0;

    /* Insertion: a handful of methods, and equals keep the task's order. */
    for (int64_t i = 0; i < rs->n; i++) {
        int64_t at = n;
        if (rs->result[i].unfit) continue;
        for (; at > 0 && beats(rs, i, order[at - 1]); at--)
            order[at] = order[at - 1];
        order[at] = i;
        n++;
    }
    return n;
}

/* Result r against the best baseline b, over the repeats where both are defined. */
static ferry_status compare(ferry_ctx *ctx, const ferry_results *rs, const ferry_result *b,
                            double *diff, ferry_result *r)
{
    ferry_status st = FERRY_OK;
    ferry_versus *v = &r->versus;
    ferry_rng rng;

    for (int64_t i = 0; i < rs->repeats; i++) {
        const double d = r->metric[i] - b->metric[i];
        if (isfinite(d)) diff[v->pairs++] = d;
    }
    v->difference = ferry_i_mean(v->pairs, diff);
    v->lo = v->hi = v->p = NAN;
    if (v->pairs < 2) goto done;
    /* The same stream for every method, so none depends on which others there are. */
    ferry_i_rng_for(ctx, &rng, "bootstrap");
    FERRY_TRY(ferry_i_bootstrap(ctx, v->pairs, diff, DRAWS, 0.95, &rng, &v->lo, &v->hi));
    FERRY_TRY(ferry_i_wilcoxon(ctx, v->pairs, diff, &v->p));
done:
    return st;
}

ferry_status ferry_i_results_compare(ferry_ctx *ctx, ferry_results *rs)
{
    ferry_status st = FERRY_OK;
    int64_t *order = ferry_i_calloc(rs->n, sizeof *order);
    double *diff = ferry_i_calloc(rs->repeats, sizeof *diff);

    rs->best = rs->best_baseline = -1;
    FERRY_HAVE(ctx, order && diff);
    const int64_t n = ferry_i_results_rank(rs, order);
    if (rs->n_metrics == 0 || n == 0) goto done;
    rs->best = order[0];
    for (int64_t i = n - 1; i >= 0; i--)
        if (rs->result[order[i]].kind == FERRY_KIND_BASELINE) rs->best_baseline = order[i];
    if (rs->best_baseline < 0) goto done;
    for (int64_t i = 0; i < n; i++)
        if (order[i] != rs->best_baseline)
            FERRY_TRY(compare(ctx, rs, &rs->result[rs->best_baseline], diff,
                              &rs->result[order[i]]));
done:
    ferry_i_free(order);
    ferry_i_free(diff);
    return st;
}
