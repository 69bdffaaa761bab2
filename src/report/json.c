/* Results as JSON (docs/evaluation.md has the schema). What is not a finite number is null:
 * JSON has no NaN. */
#include <jansson.h>
#include <math.h>

#include "report/report.h"

json_t *ferry_i_report_real(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

json_t *ferry_i_report_reals(int64_t n, const double *x)
{
    json_t *array = json_array();

    for (int64_t i = 0; array && i < n; i++)
        if (json_array_append_new(array, ferry_i_report_real(x[i])) != 0) {
            json_decref(array);
            return NULL;
        }
    return array;
}

/* Seeds have 64 bits, JSON's integers 63: the others are texts. */
static json_t *seed_json(uint64_t seed)
{
    return seed <= INT64_MAX ? json_integer((json_int_t)seed)
                             : json_sprintf("%llu", (unsigned long long)seed);
}

static const char *kind_name(ferry_kind kind)
{
    static const char *const names[] = {"baseline", "transfer", "control"};

    return names[kind];
}

/* {name: {"mean", "std", "runs"}} */
static json_t *metrics_json(const ferry_results *rs, const ferry_result *r)
{
    json_t *all = json_object();

    for (int64_t m = 0; all && m < rs->n_metrics; m++) {
        json_t *one = json_pack(
            "{s:o, s:o, s:o}", "mean", ferry_i_report_real(ferry_i_result_mean(rs, r, m)),
            "std", ferry_i_report_real(ferry_i_result_std(rs, r, m)), "runs",
            ferry_i_report_reals(rs->repeats, r->metric + m * rs->planned));
        if (json_object_set_new(all, rs->metrics[m]->name, one) != 0) {
            json_decref(all);
            return NULL;
        }
    }
    return all;
}

static json_t *versus_json(const ferry_results *rs, const ferry_result *r)
{
    const ferry_versus *v = &r->versus;

    if (v->pairs == 0) return json_null();
    return json_pack("{s:o, s:o, s:o, s:o, s:f, s:o, s:I}", "baseline",
                     ferry_i_json_text(rs->result[rs->best_baseline].name), "difference",
                     ferry_i_report_real(v->difference), "low", ferry_i_report_real(v->lo),
                     "high", ferry_i_report_real(v->hi), "level", 0.95, "p",
                     ferry_i_report_real(v->p), "pairs", (json_int_t)v->pairs);
}

/* {"rows": [...], "mean": [...], "std": [...]}: the mistake rate so far; null unless of a
 * stream. */
static json_t *curve_json(const ferry_results *rs, const ferry_result *r)
{
    double rows[FERRY_CURVE], mean[FERRY_CURVE], std[FERRY_CURVE];

    if (!r->curve) return json_null();
    for (int64_t j = 0; j < FERRY_CURVE; j++) {
        rows[j] = (double)ferry_i_curve_rows(rs->rounds, j);
        ferry_i_curve_at(rs, r, j, &mean[j], &std[j]);
    }
    return json_pack("{s:o, s:o, s:o}", "rows", ferry_i_report_reals(FERRY_CURVE, rows),
                     "mean", ferry_i_report_reals(FERRY_CURVE, mean), "std",
                     ferry_i_report_reals(FERRY_CURVE, std));
}

static json_t *result_json(const ferry_results *rs, const ferry_result *r)
{
    const bool scored = rs->n_metrics > 0;

    return json_pack(
        "{s:o, s:s, s:s, s:O, s:o, s:o, s:o, s:o, s:o, s:o, s:O?, s:o, s:o, s:o, s:o}",
        "name", ferry_i_json_text(r->name), "method", r->method, "kind", kind_name(r->kind),
        "options", r->options, "metric",
        scored ? json_string(rs->metrics[0]->name) : json_null(), "mean",
        ferry_i_report_real(scored ? ferry_i_result_mean(rs, r, 0) : NAN), "std",
        ferry_i_report_real(scored ? ferry_i_result_std(rs, r, 0) : NAN), "runs",
        ferry_i_report_reals(scored ? rs->repeats : 0, r->metric), "metrics",
        metrics_json(rs, r), "fit_seconds", ferry_i_report_reals(rs->repeats, r->seconds),
        "diagnostics", r->diagnostics, "curve", curve_json(rs, r), "versus",
        versus_json(rs, r), "verdict", ferry_i_report_verdict(rs, r), "picture",
        ferry_i_report_picture(rs, r));
}

/* Those that ran, best first. */
static json_t *results_json(const ferry_results *rs, const int64_t *order, int64_t n)
{
    json_t *array = json_array();

    for (int64_t i = 0; array && i < n; i++)
        if (json_array_append_new(array, result_json(rs, &rs->result[order[i]])) != 0) {
            json_decref(array);
            return NULL;
        }
    return array;
}

static json_t *skipped_json(const ferry_results *rs)
{
    json_t *array = json_array();

    for (int64_t i = 0; array && i < rs->n; i++) {
        const ferry_result *r = &rs->result[i];
        if (!r->unfit) continue;
        json_t *one =
            json_pack("{s:o, s:s, s:s, s:O, s:o}", "name", ferry_i_json_text(r->name),
                      "method", r->method, "kind", kind_name(r->kind), "options",
                      r->options, "reason", ferry_i_json_text(r->unfit));
        if (json_array_append_new(array, one) != 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

static json_t *verdict_json(const ferry_results *rs, const char *sentence)
{
    static const char *const levels[] = {"none", "quick", "full"};
    const ferry_result *best = rs->best < 0 ? NULL : &rs->result[rs->best];
    const ferry_result *base =
        rs->best_baseline < 0 ? NULL : &rs->result[rs->best_baseline];

    return json_pack("{s:o, s:o, s:o, s:s, s:o}", "best",
                     best ? ferry_i_json_text(best->name) : json_null(), "best_baseline",
                     base ? ferry_i_json_text(base->name) : json_null(), "versus",
                     best ? versus_json(rs, best) : json_null(), "controls",
                     levels[rs->controls], "sentence", ferry_i_json_text(sentence));
}

static int add_bytes(const char *bytes, size_t n, void *text)
{
    ferry_i_text_addn(text, bytes, (int64_t)n);
    return 0;
}

ferry_status ferry_results_json(ferry_ctx *ctx, const ferry_results *rs, char **out)
{
    ferry_status st = FERRY_OK;
    int64_t *order = ferry_i_calloc(rs->n, sizeof *order);
    char *sentence = ferry_i_results_sentence(rs);
    json_t *root = NULL;
    ferry_text t = {0};

    *out = NULL;
    FERRY_HAVE(ctx, order && sentence);
    const int64_t n = ferry_i_results_rank(rs, order);
    root = json_pack(
        "{s:s, s:o, s:s, s:o, s:o, s:I, s:I, s:I, s:s, s:i, s:s, s:o, s:o, s:o, s:o}",
        "ferry", ferry_version(), "task", ferry_i_json_text(rs->task), "goal",
        ferry_goal_name(rs->goal), "target", ferry_i_json_text(rs->target), "seed",
        seed_json(rs->seed), "repeats", (json_int_t)rs->repeats, "planned",
        (json_int_t)rs->planned, "visible", (json_int_t)rs->visible, "engine", rs->engine,
        "threads", rs->threads, "blas_core", rs->blas_core, "results",
        results_json(rs, order, n), "skipped", skipped_json(rs), "verdict",
        verdict_json(rs, sentence), "guard", ferry_i_report_guard(rs));
    FERRY_HAVE(ctx, root);
    /* 15 digits: 0.9 stays 0.9, and no measurement has more. */
    FERRY_HAVE(ctx, json_dump_callback(root, add_bytes, &t,
                                       JSON_INDENT(2) | JSON_REAL_PRECISION(15)) == 0 &&
                        !t.failed);
    ferry_i_text_add(&t, "\n");
    FERRY_HAVE(ctx, !t.failed);
    *out = t.s;
    t.s = NULL;
done:
    json_decref(root);
    ferry_i_text_free(&t);
    ferry_i_free(sentence);
    ferry_i_free(order);
    return st;
}
