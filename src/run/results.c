/* Results: their parts and their order. */
#include <jansson.h>
#include <math.h>

#include "model/model.h"
#include "run/run.h"

/* What instances add, of n repeats. */
static void free_rows(int64_t n, double ***rows)
{
    for (int64_t i = 0; *rows && i < n; i++)
        ferry_i_free((*rows)[i]);
    ferry_i_free((void *)*rows);
    *rows = NULL;
}

static void free_trial(ferry_trial *t)
{
    free_rows(t->slots, &t->rows);
    for (int64_t i = 0; t->why && i < t->slots; i++)
        ferry_i_free(t->why[i]);
    FERRY_FREE((char *)t->pub.source, (char *)t->pub.reason, t->metric, t->state,
               (void *)t->why);
}

void ferry_i_results_free_rows(ferry_results *rs)
{
    for (int64_t i = 0; i < rs->n; i++) {
        free_rows(rs->run.planned, &rs->result[i].rows);
        for (int64_t k = 0; k < rs->result[i].n_trials; k++)
            free_rows(rs->result[i].trial[k].slots, &rs->result[i].trial[k].rows);
    }
}

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
    for (int64_t i = 0; i < r->n_trials; i++)
        free_trial(&r->trial[i]);
    ferry_i_free(r->trial);
}

void ferry_results_free(ferry_results *rs)
{
    if (!rs) return;
    ferry_i_results_free_rows(rs);
    for (int64_t i = 0; i < rs->n; i++)
        free_entry(&rs->result[i]);
    for (int64_t i = 0; rs->scored && i < rs->run.planned; i++)
        ferry_i_free(rs->scored[i]);
    FERRY_FREE(rs->scored, rs->count, rs->result, rs->metrics, (void *)rs->known.names);
    ferry_i_labels_free(rs->truth);
    ferry_i_ratings_free(rs->ratings);
    FERRY_FREE((char *)rs->run.version, (char *)rs->run.task, (char *)rs->run.target,
               (char *)rs->run.engine, (char *)rs->run.blas_core, (char *)rs->run.sentence,
               (char *)rs->run.bridge, (char *)rs->run.reference,
               (ferry_primary *)rs->run.primary, rs->law[0], rs->law[1]);
    ferry_i_policy_runs_free(rs->policy);
    ferry_i_answer_free(rs->answer);
    ferry_i_defaults_free(rs->defaults, rs->n_defaults);
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
                            .p_holm = NAN,
                            .bound = NAN,
                            .se = NAN,
                            .df = NAN,
                            .p_high = NAN,
                            .p_low = NAN,
                            .most = NAN,
                            .over_best = NAN,
                            .over_best_low = NAN,
                            .over_best_high = NAN,
                            .p_best = NAN,
                            .source_worth = NAN,
                            .source_worth_low = NAN,
                            .source_worth_high = NAN,
                            .needed_seconds = NAN};
    r->primary = -1;
    FERRY_HAVE(ctx, r->pub.name && r->pub.method);
    FERRY_NEW(ctx, r->metric, rs->n_metrics * rs->run.planned);
    FERRY_NEW(ctx, r->seconds, rs->run.planned);
    FERRY_NEW(ctx, r->rows, rs->run.planned);
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
