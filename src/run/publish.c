/* What programs see of results (ferry/results.h): made once, when all numbers are there, so that
 * every reader, the table and the JSON among them, looks at the same. */
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "model/model.h"
#include "run/run.h"

/* ---- making ---- */

/* Mean and deviation of every metric over the repeats that all methods completed. */
static ferry_status publish_metrics(ferry_ctx *ctx, const ferry_results *rs, ferry_entry *r)
{
    ferry_status st = FERRY_OK;

    FERRY_NEW(ctx, r->metrics, rs->n_metrics);
    r->n_metrics = rs->n_metrics;
    for (int64_t m = 0; m < rs->n_metrics; m++)
        r->metrics[m] =
            (ferry_metric_runs){.size = sizeof r->metrics[m],
                                .name = rs->metrics[m]->info.name,
                                .larger_is_better = rs->metrics[m]->info.larger_is_better,
                                .repeats = rs->run.repeats,
                                .runs = r->metric + m * rs->run.planned,
                                .mean = ferry_i_result_mean(rs, r, m),
                                .std = ferry_i_result_std(rs, r, m)};
    if (rs->n_metrics == 0) goto done;
    r->pub.runs = r->metrics[0].runs;
    r->pub.mean = r->metrics[0].mean;
    r->pub.std = r->metrics[0].std;
done:
    return st;
}

static ferry_status publish_curve(ferry_ctx *ctx, const ferry_results *rs, ferry_entry *r)
{
    ferry_status st = FERRY_OK;

    if (!r->curve) return FERRY_OK;
    FERRY_NEW(ctx, r->points, 3 * FERRY_CURVE);
    double *rows = r->points, *mean = rows + FERRY_CURVE, *std = mean + FERRY_CURVE;
    for (int64_t j = 0; j < FERRY_CURVE; j++) {
        rows[j] = (double)ferry_i_curve_rows(rs->rounds, j);
        ferry_i_curve_at(rs, r, j, &mean[j], &std[j]);
    }
    r->pub.points = FERRY_CURVE;
    r->pub.curve_rows = rows;
    r->pub.curve_mean = mean;
    r->pub.curve_std = std;
done:
    return st;
}

ferry_status ferry_i_results_publish_entry(ferry_ctx *ctx, const ferry_results *rs,
                                           ferry_entry *r)
{
    ferry_status st = FERRY_OK;

    r->pub.repeats = rs->run.repeats;
    r->pub.seconds = r->seconds;
    if (r->n_kept > rs->run.repeats) { /* stopped within a repeat: its predictions go too */
        for (int64_t i = rs->run.repeats; i < r->n_kept; i++) {
            ferry_prediction_free(r->kept[i].given);
            ferry_i_free(r->kept[i].place);
        }
        r->n_kept = rs->run.repeats;
    }
    for (int64_t i = 0; i < r->n_kept && !rs->keep_all && rs->run.goal != FERRY_EMBED;
         i++) {
        ferry_i_free(r->kept[i].given->score);
        r->kept[i].given->score = NULL;
    }
    for (int64_t i = 0; i < r->n_trials; i++) {
        ferry_evidence *e = &r->trial[i].pub;
        if (isfinite(e->mean)) continue;
        e->runs = NULL;
        if (!e->reason) e->reason = ferry_i_strdup("not run: stopped before its turn");
        FERRY_HAVE(ctx, e->reason);
    }
    FERRY_TRY(publish_metrics(ctx, rs, r));
    FERRY_TRY(publish_curve(ctx, rs, r));
    FERRY_TRY(ferry_i_diagnostics_list(ctx, r->diagnostics, &r->list, &r->n_list));
    for (int64_t i = 0; i < r->n_list; i++)
        if (strcmp(r->list[i].name, "note") == 0 && r->list[i].texts)
            r->pub.note = r->list[i].texts[0];
done:
    return st;
}

static ferry_status publish_truth(ferry_ctx *ctx, ferry_results *rs)
{
    ferry_status st = FERRY_OK;
    const ferry_labels *t = rs->truth;
    ferry_truth *k = &rs->known;
    const char **names = NULL;

    *k = (ferry_truth){.size = sizeof *k, .n = t ? t->n : 0};
    if (rs->ratings) {
        k->n = rs->ratings->n;
        k->value = rs->ratings->value;
    }
    if (!t) goto done;
    k->cls = t->cls;
    k->value = t->num;
    k->set = t->on;
    k->known = t->known;
    if (!t->names) goto done;
    k->k = ferry_i_labels_m(t);
    FERRY_NEW(ctx, names, k->k);
    for (int64_t i = 0; i < k->k; i++)
        names[i] = ferry_i_ids_at(t->names, i);
    k->names = names;
done:
    return st;
}

ferry_status ferry_i_results_publish(ferry_ctx *ctx, ferry_results *rs)
{
    ferry_status st = FERRY_OK;
    int64_t *order = NULL;

    FERRY_NEW(ctx, order, rs->n);
    for (int64_t i = 0; i < rs->n; i++)
        if (!rs->result[i].pub.reason)
            FERRY_TRY(ferry_i_results_publish_entry(ctx, rs, &rs->result[i]));
    const int64_t n = ferry_i_results_rank(rs, order);
    for (int64_t i = 0; i < n; i++)
        rs->result[order[i]].pub.rank = i + 1;
    FERRY_TRY(publish_truth(ctx, rs));
    rs->run.truth = ferry_i_results_truth(rs);
    for (int64_t i = 0; i < rs->n; i++) {
        ferry_entry *r = &rs->result[i];
        if (!r->pub.verdict) continue;
        FERRY_HAVE(ctx, r->pub.sentence = ferry_i_verdict_sentence(rs, r));
    }
    FERRY_HAVE(ctx, rs->run.sentence = ferry_i_results_sentence(rs));
done:
    ferry_i_free(order);
    return st;
}

/* ---- lending ---- */

const ferry_run_info *ferry_results_info(const ferry_results *rs)
{
    if (!rs) return NULL;
    return &rs->run;
}

const ferry_result *ferry_results_at(const ferry_results *rs, int64_t i)
{
    if (!rs) return NULL;
    return i >= 0 && i < rs->n ? &rs->result[i].pub : NULL;
}

const ferry_result *ferry_results_find(const ferry_results *rs, const char *name)
{
    if (!rs || !name) return NULL;
    for (int64_t i = 0; i < rs->n; i++)
        if (strcmp(rs->result[i].pub.name, name) == 0) return &rs->result[i].pub;
    return NULL;
}

const ferry_truth *ferry_i_results_truth(const ferry_results *rs)
{
    if (!rs) return NULL;
    return rs->known.n > 0 ? &rs->known : NULL;
}

const ferry_recommendation *ferry_results_answer(const ferry_results *rs)
{
    if (!rs) return NULL;
    return rs->answer;
}

/* The public part is an entry's first member. */
static const ferry_entry *entry_of(const ferry_result *r)
{
    return (const ferry_entry *)r;
}

const ferry_metric_runs *ferry_result_metric_at(const ferry_result *r, int64_t i)
{
    if (!r) return NULL;
    return i >= 0 && i < entry_of(r)->n_metrics ? &entry_of(r)->metrics[i] : NULL;
}

const ferry_evidence *ferry_i_result_evidence_at(const ferry_result *r, int64_t i)
{
    if (!r) return NULL;
    return i >= 0 && i < entry_of(r)->n_trials ? &entry_of(r)->trial[i].pub : NULL;
}

const ferry_diagnostic *ferry_result_diagnostic_at(const ferry_result *r, int64_t i)
{
    if (!r) return NULL;
    return i >= 0 && i < entry_of(r)->n_list ? &entry_of(r)->list[i] : NULL;
}

const ferry_repeat_prediction *ferry_result_prediction_at(const ferry_result *r, int64_t i)
{
    if (!r) return NULL;
    return i >= 0 && i < entry_of(r)->n_kept ? &entry_of(r)->kept[i].pub : NULL;
}
