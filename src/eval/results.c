/* Results: their parts, order, and each method against the best baseline. */
#include <jansson.h>
#include <math.h>

#include "eval/eval.h"
#include "model/model.h"

enum { DRAWS = 10000 }; /* resamples of the bootstrap: the 2.5 % tails hold 250 each */

static void free_entry(ferry_entry *r)
{
    FERRY_FREE((char *)r->pub.name, (char *)r->pub.method);
    ferry_opts_free((ferry_opts *)r->pub.options);
    FERRY_FREE((char *)r->pub.reason, (char *)r->pub.sentence, r->metric, r->seconds,
               r->curve, r->points, r->metrics);
    ferry_i_diagnostics_free(r->n_list, r->list);
    json_decref(r->diagnostics);
    for (int64_t i = 0; i < r->n_kept; i++) {
        ferry_prediction_free(r->kept[i].given);
        ferry_i_free(r->kept[i].place);
    }
    ferry_i_free(r->kept);
    for (int64_t i = 0; i < r->n_trials; i++) {
        FERRY_FREE((char *)r->trial[i].pub.source, (char *)r->trial[i].pub.reason,
                   r->trial[i].metric);
    }
    ferry_i_free(r->trial);
}

void ferry_results_free(ferry_results *rs)
{
    if (!rs) return;
    for (int64_t i = 0; i < rs->n; i++)
        free_entry(&rs->result[i]);
    for (int64_t i = 0; rs->scored && i < rs->run.planned; i++)
        ferry_i_free(rs->scored[i]);
    FERRY_FREE(rs->scored, rs->result, rs->metrics, (void *)rs->known.names);
    ferry_i_labels_free(rs->truth);
    ferry_i_ratings_free(rs->ratings);
    FERRY_FREE((char *)rs->run.version, (char *)rs->run.task, (char *)rs->run.target,
               (char *)rs->run.engine, (char *)rs->run.blas_core, (char *)rs->run.sentence);
    ferry_i_guard_free(rs->guard);
    json_decref(rs->record);
    json_decref(rs->saved);
    ferry_i_free(rs);
}

ferry_status ferry_i_results_add(ferry_ctx *ctx, ferry_results *rs, const char *name,
                                 const char *method, ferry_kind kind, ferry_entry **out)
{
    ferry_status st = FERRY_OK;
    ferry_entry *r = &rs->result[rs->n++];

    r->pub = (ferry_result){.size = sizeof r->pub,
                            .name = ferry_i_strdup(name),
                            .method = ferry_i_strdup(method),
                            .kind = kind,
                            .mean = NAN,
                            .std = NAN,
                            .gain = NAN,
                            .low = NAN,
                            .high = NAN,
                            .p_compare = NAN,
                            .p = NAN,
                            .p_holm = NAN};
    r->against = -1;
    FERRY_HAVE(ctx, r->pub.name && r->pub.method);
    FERRY_NEW(ctx, r->metric, rs->n_metrics * rs->run.planned);
    FERRY_NEW(ctx, r->seconds, rs->run.planned);
    FERRY_NEW(ctx, r->kept, rs->keep_all ? rs->run.planned : 1);
    if (rs->run.goal == FERRY_STREAM)
        FERRY_NEW(ctx, r->curve, FERRY_CURVE * rs->run.planned);
    *out = r;
done:
    return st;
}

ferry_status ferry_i_results_keep(ferry_ctx *ctx, const ferry_results *rs, ferry_entry *r,
                                  int64_t repeat, ferry_prediction **p)
{
    ferry_status st = FERRY_OK;
    ferry_kept *k = &r->kept[r->n_kept];
    ferry_prediction *given = *p;

    if (given->names && rs->truth && rs->truth->names) {
        FERRY_NEW(ctx, k->place, given->k);
        for (int64_t c = 0; c < given->k; c++)
            k->place[c] = (int32_t)ferry_i_ids_find(rs->truth->names, given->names[c]);
    }
    if (!rs->keep_all && rs->run.goal != FERRY_EMBED) {
        ferry_i_free(given->score);
        given->score = NULL;
    }
    k->given = given;
    k->pub = (ferry_repeat_prediction){.size = sizeof k->pub,
                                       .repeat = repeat,
                                       .given = given,
                                       .place = k->place,
                                       .scored = rs->scored[repeat]};
    r->n_kept++;
    *p = NULL;
done:
    return st;
}

double ferry_i_result_mean(const ferry_results *rs, const ferry_entry *r, int64_t m)
{
    return ferry_i_mean(rs->run.repeats, r->metric + m * rs->run.planned);
}

double ferry_i_result_std(const ferry_results *rs, const ferry_entry *r, int64_t m)
{
    return ferry_i_std(rs->run.repeats, r->metric + m * rs->run.planned);
}

/* Whether a beats b in the deciding metric; what is undefined comes last. */
static bool beats(const ferry_results *rs, int64_t a, int64_t b)
{
    if (rs->n_metrics == 0) return false;
    const double x = ferry_i_result_mean(rs, &rs->result[a], 0);
    const double y = ferry_i_result_mean(rs, &rs->result[b], 0);
    if (isnan(x) || isnan(y)) return isnan(y) && !isnan(x);
    return rs->metrics[0]->info.larger_is_better ? x > y : x < y;
}

int64_t ferry_i_results_rank(const ferry_results *rs, int64_t *order)
{
    int64_t n = 0;

    /* Insertion: a handful of methods, and equals keep the task's order. */
    for (int64_t i = 0; i < rs->n; i++) {
        int64_t at = n;
        if (rs->result[i].pub.reason) continue;
        for (; at > 0 && beats(rs, i, order[at - 1]); at--)
            order[at] = order[at - 1];
        order[at] = i;
        n++;
    }
    return n;
}

/* Result r against the best baseline b, over the repeats where both are defined. The interval is
 * drawn on the metric's own differences, then turned so that larger is better. */
static ferry_status compare(ferry_ctx *ctx, const ferry_results *rs, const ferry_entry *b,
                            double *diff, ferry_entry *r)
{
    ferry_status st = FERRY_OK;
    const bool larger = rs->metrics[0]->info.larger_is_better;
    ferry_result *v = &r->pub;
    ferry_rng rng;
    double lo = NAN, hi = NAN;

    v->pairs = 0;
    for (int64_t i = 0; i < rs->run.repeats; i++) {
        const double d = r->metric[i] - b->metric[i];
        if (isfinite(d)) diff[v->pairs++] = d;
    }
    if (v->pairs == 0) goto done;
    v->baseline = b->pub.name;
    v->gain = (larger ? 1 : -1) * ferry_i_mean(v->pairs, diff);
    if (v->pairs < 2) goto done;
    /* The same stream for every method, so none depends on which others there are. */
    ferry_i_rng_for(ctx, &rng, "bootstrap");
    FERRY_TRY(ferry_i_bootstrap(ctx, v->pairs, diff, DRAWS, 0.95, &rng, &lo, &hi));
    v->low = larger ? lo : -hi;
    v->high = larger ? hi : -lo;
    FERRY_TRY(ferry_i_wilcoxon(ctx, v->pairs, diff, &v->p_compare));
done:
    return st;
}

ferry_status ferry_i_results_compare(ferry_ctx *ctx, ferry_results *rs)
{
    ferry_status st = FERRY_OK;
    int64_t *order = ferry_i_calloc(rs->n, sizeof *order);
    double *diff = ferry_i_calloc(rs->run.repeats, sizeof *diff);

    rs->run.best = rs->run.best_baseline = -1;
    FERRY_HAVE(ctx, order && diff);
    const int64_t n = ferry_i_results_rank(rs, order);
    if (rs->n_metrics == 0 || n == 0) goto done;
    rs->run.best = order[0];
    for (int64_t i = n - 1; i >= 0; i--)
        if (rs->result[order[i]].pub.kind == FERRY_KIND_BASELINE)
            rs->run.best_baseline = order[i];
    if (rs->run.best_baseline < 0) goto done;
    for (int64_t i = 0; i < n; i++)
        if (order[i] != rs->run.best_baseline)
            FERRY_TRY(compare(ctx, rs, &rs->result[rs->run.best_baseline], diff,
                              &rs->result[order[i]]));
done:
    FERRY_FREE(order, diff);
    return st;
}
