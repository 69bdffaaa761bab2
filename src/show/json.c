/* Results as JSON (docs/evaluation.md has the schema), written from what programs see of them.
 *
 * Most of it is one struct after the other, so an object is a table: the key, and where the value
 * stands in the struct or which function makes it. What is not a finite number is null: JSON has no
 * NaN. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "show/show.h"

/* ---- objects by table ---- */

typedef enum type { TEXT, WHOLE, SHORT, REAL, YES, REALS, VERDICT, KIND, MADE } type;

typedef struct field {
    const char *key;
    type type;
    size_t at;                                            /* all but MADE: in the struct */
    size_t n;                                             /* REALS: where their number is */
    json_t *(*make)(const ferry_results *, const void *); /* MADE: from the struct */
} field;

#define AT(T, key, type, member)                                                           \
    {                                                                                      \
        key, type, offsetof(T, member), 0, NULL                                            \
    }
#define ALL(T, key, n, member)                                                             \
    {                                                                                      \
        key, REALS, offsetof(T, member), offsetof(T, n), NULL                              \
    }
#define BY(key, make)                                                                      \
    {                                                                                      \
        key, MADE, 0, 0, make                                                              \
    }

static json_t *text(const char *s)
{
    return s ? ferry_i_json_text(s) : json_null();
}

/* The value of one field of the struct at `of`. */
static json_t *value_of(const ferry_results *rs, const char *of, const field *f)
{
    static const char *const kinds[] = {"baseline", "transfer", "control"};
    const void *at = of + f->at;

    switch (f->type) {
    case TEXT: return text(*(const char *const *)at);
    case WHOLE: return json_integer(*(const int64_t *)at);
    case SHORT: return json_integer(*(const int *)at);
    case REAL: return ferry_i_json_real(*(const double *)at);
    case YES: return json_boolean(*(const int *)at);
    case REALS:
        return ferry_i_report_reals(*(const int64_t *)(const void *)(of + f->n),
                                    *(const double *const *)at);
    case VERDICT: return json_string(ferry_verdict_name(*(const ferry_verdict *)at));
    case KIND: return json_string(kinds[*(const ferry_kind *)at]);
    default: return f->make(rs, of);
    }
}

/* {key: value, ...} of a struct; NULL: no memory. */
static json_t *object(const ferry_results *rs, const void *of, const field *f, int64_t n)
{
    json_t *all = json_object();

    for (int64_t i = 0; all && i < n; i++) {
        if (json_object_set_new(all, f[i].key, value_of(rs, of, &f[i])) == 0) continue;
        json_decref(all);
        return NULL;
    }
    return all;
}

#define OBJECT(rs, of, fields) object(rs, of, fields, FERRY_COUNT(fields))

/* Append to an array and take the value; the array becomes NULL when there is no memory. */
static void append(json_t **all, json_t *value)
{
    if (!*all) {
        json_decref(value);
        return;
    }
    if (json_array_append_new(*all, value) == 0) return;
    json_decref(*all);
    *all = NULL;
}

json_t *ferry_i_report_reals(int64_t n, const double *x)
{
    json_t *all = json_array();

    for (int64_t i = 0; x && i < n; i++)
        append(&all, ferry_i_json_real(x[i]));
    return all;
}

static json_t *level(const ferry_results *rs, const void *of)
{
    (void)rs;
    (void)of;
    return json_real(0.95); /* of every interval */
}

/* ---- evidence ---- */

/* [[draw 1 of every repeat], ...] */
static json_t *draws(const ferry_results *rs, const void *of)
{
    const ferry_evidence *e = of;
    json_t *all = json_array();

    (void)rs;
    for (int64_t k = 0; e->runs && k < e->draws; k++)
        append(&all, ferry_i_report_reals(e->repeats, e->runs + k * e->repeats));
    return all;
}

static json_t *evidence(const ferry_evidence *e)
{
    static const field fields[] = {AT(ferry_evidence, "control", TEXT, control),
                                   AT(ferry_evidence, "draws", WHOLE, draws),
                                   AT(ferry_evidence, "repeats", WHOLE, repeats),
                                   AT(ferry_evidence, "mean", REAL, mean),
                                   AT(ferry_evidence, "gain", REAL, gain),
                                   AT(ferry_evidence, "as_good", WHOLE, as_good),
                                   AT(ferry_evidence, "as_bad", WHOLE, as_bad),
                                   AT(ferry_evidence, "primary", YES, primary),
                                   BY("runs", draws)};
    json_t *one = OBJECT(NULL, e, fields);
    int bad = !one;

    if (e->reason) bad |= json_object_set_new(one, "reason", text(e->reason));
    if (e->runs && e->same) bad |= json_object_set_new(one, "same", json_true());
    if (e->source) {
        bad |= json_object_set_new(one, "source", text(e->source));
        bad |= json_object_set_new(one, "low", ferry_i_json_real(e->low));
        bad |= json_object_set_new(one, "high", ferry_i_json_real(e->high));
        bad |= json_object_set_new(one, "p", ferry_i_json_real(e->p));
        bad |= json_object_set_new(one, "p_holm", ferry_i_json_real(e->p_holm));
        bad |= json_object_set_new(one, "verdict",
                                   json_string(ferry_verdict_name(e->verdict)));
    }
    if (!bad) return one;
    json_decref(one);
    return NULL;
}

/* Those of the controls, or the sources left out. */
static json_t *evidences(const ferry_result *r, bool sources)
{
    json_t *all = json_array();

    for (int64_t i = 0; ferry_i_result_evidence_at(r, i); i++) {
        const ferry_evidence *e = ferry_i_result_evidence_at(r, i);
        if ((e->source != NULL) == sources) append(&all, evidence(e));
    }
    return all;
}

static json_t *controls(const ferry_results *rs, const void *of)
{
    (void)rs;
    return evidences(of, false);
}

static json_t *sources(const ferry_results *rs, const void *of)
{
    (void)rs;
    return evidences(of, true);
}

/* ---- a method ---- */

static json_t *options(const ferry_results *rs, const void *of)
{
    (void)rs;
    return ferry_i_settings_json(((const ferry_result *)of)->options);
}

/* {"repeats": 19} and the like: what would decide it; null where nothing is missing or would. */
static json_t *needed(const ferry_results *rs, const void *of)
{
    const ferry_result *r = of;

    (void)rs;
    if (r->needed_repeats > 0)
        return json_pack("{s:I}", "repeats", (json_int_t)r->needed_repeats);
    if (r->needed_rows > 0) return json_pack("{s:I}", "rows", (json_int_t)r->needed_rows);
    if (r->needed_draws > 0)
        return json_pack("{s:I, s:o}", "draws", (json_int_t)r->needed_draws, "seconds",
                         ferry_i_json_real(r->needed_seconds));
    return json_null();
}

static json_t *verdict(const ferry_results *rs, const void *of)
{
    static const field fields[] = {AT(ferry_result, "verdict", VERDICT, verdict),
                                   AT(ferry_result, "gain", REAL, gain),
                                   AT(ferry_result, "low", REAL, low),
                                   AT(ferry_result, "high", REAL, high),
                                   BY("level", level),
                                   AT(ferry_result, "p", REAL, p),
                                   AT(ferry_result, "p_holm", REAL, p_holm),
                                   AT(ferry_result, "repeats", WHOLE, pairs),
                                   AT(ferry_result, "bound", REAL, bound),
                                   AT(ferry_result, "at_most", REAL, most),
                                   AT(ferry_result, "over_best", REAL, over_best),
                                   AT(ferry_result, "over_best_low", REAL, over_best_low),
                                   AT(ferry_result, "over_best_high", REAL, over_best_high),
                                   AT(ferry_result, "p_best", REAL, p_best),
                                   AT(ferry_result, "se", REAL, se),
                                   AT(ferry_result, "df", REAL, df),
                                   AT(ferry_result, "fixed", YES, fixed),
                                   AT(ferry_result, "p_high", REAL, p_high),
                                   AT(ferry_result, "p_low", REAL, p_low),
                                   AT(ferry_result, "control_draws", WHOLE, control_draws),
                                   AT(ferry_result, "as_good", WHOLE, as_good),
                                   AT(ferry_result, "as_bad", WHOLE, as_bad),
                                   AT(ferry_result, "worth", REAL, source_worth),
                                   AT(ferry_result, "worth_low", REAL, source_worth_low),
                                   AT(ferry_result, "worth_high", REAL, source_worth_high),
                                   BY("needed", needed),
                                   BY("controls", controls),
                                   BY("sources", sources),
                                   AT(ferry_result, "sentence", TEXT, sentence)};

    return ((const ferry_result *)of)->verdict ? OBJECT(rs, of, fields) : json_null();
}

/* The comparison: positive is better, whatever the metric. */
static json_t *versus(const ferry_results *rs, const void *of)
{
    static const field fields[] = {AT(ferry_result, "baseline", TEXT, baseline),
                                   AT(ferry_result, "difference", REAL, gain),
                                   AT(ferry_result, "low", REAL, low),
                                   AT(ferry_result, "high", REAL, high),
                                   AT(ferry_result, "at_most", REAL, most),
                                   BY("level", level),
                                   AT(ferry_result, "p", REAL, p_compare),
                                   AT(ferry_result, "pairs", WHOLE, pairs)};
    const ferry_result *r = of;

    return r->pairs > 0 ? OBJECT(rs, r, fields) : json_null();
}

/* {name: {"mean", "std", "runs"}} */
static json_t *metrics(const ferry_results *rs, const void *of)
{
    static const field fields[] = {AT(ferry_metric_runs, "mean", REAL, mean),
                                   AT(ferry_metric_runs, "std", REAL, std),
                                   ALL(ferry_metric_runs, "runs", repeats, runs)};
    json_t *all = json_object();

    for (int64_t i = 0; all && ferry_result_metric_at(of, i); i++) {
        const ferry_metric_runs *m = ferry_result_metric_at(of, i);
        if (json_object_set_new(all, m->name, OBJECT(rs, m, fields)) == 0) continue;
        json_decref(all);
        return NULL;
    }
    return all;
}

static json_t *metric(const ferry_results *rs, const void *of)
{
    const ferry_metric_runs *m = ferry_result_metric_at(of, 0);

    (void)rs;
    return text(m ? m->name : NULL);
}

/* As the fit left them, which nests where the typed list is flat. */
static json_t *diagnostics(const ferry_results *rs, const void *of)
{
    json_t *d = ((const ferry_entry *)of)->diagnostics;

    (void)rs;
    return d ? json_incref(d) : json_null();
}

/* {"rows": [...], "mean": [...], "std": [...]}: the mistake rate so far; null unless of a
 * stream. */
static json_t *curve(const ferry_results *rs, const void *of)
{
    const ferry_result *r = of;

    (void)rs;
    if (r->points == 0) return json_null();
    return json_pack("{s:o, s:o, s:o}", "rows",
                     ferry_i_report_reals(r->points, r->curve_rows), "mean",
                     ferry_i_report_reals(r->points, r->curve_mean), "std",
                     ferry_i_report_reals(r->points, r->curve_std));
}

static json_t *picture(const ferry_results *rs, const void *of)
{
    return ferry_i_report_picture(rs, of);
}

/* ---- all of it ---- */

/* Those that ran, best first. */
static json_t *uses_of(const ferry_results *rs, const void *of)
{
    (void)rs;
    return json_string(ferry_i_uses_name(((const ferry_result *)of)->uses));
}

static json_t *results(const ferry_results *rs, const void *of)
{
    static const field fields[] = {AT(ferry_result, "name", TEXT, name),
                                   AT(ferry_result, "method", TEXT, method),
                                   AT(ferry_result, "kind", KIND, kind),
                                   BY("uses", uses_of),
                                   BY("options", options),
                                   BY("metric", metric),
                                   AT(ferry_result, "mean", REAL, mean),
                                   AT(ferry_result, "std", REAL, std),
                                   ALL(ferry_result, "runs", repeats, runs),
                                   BY("metrics", metrics),
                                   ALL(ferry_result, "fit_seconds", repeats, seconds),
                                   BY("diagnostics", diagnostics),
                                   BY("curve", curve),
                                   BY("versus", versus),
                                   BY("verdict", verdict),
                                   BY("picture", picture)};
    json_t *all = json_array();

    (void)of;
    for (int64_t rank = 1; ferry_i_results_ranked(rs, rank); rank++)
        append(&all, OBJECT(rs, ferry_i_results_ranked(rs, rank), fields));
    return all;
}

static json_t *skipped(const ferry_results *rs, const void *of)
{
    static const field fields[] = {AT(ferry_result, "name", TEXT, name),
                                   AT(ferry_result, "method", TEXT, method),
                                   AT(ferry_result, "kind", KIND, kind),
                                   BY("uses", uses_of),
                                   BY("options", options),
                                   AT(ferry_result, "reason", TEXT, reason),
                                   AT(ferry_result, "unasked", YES, unasked)};
    json_t *all = json_array();

    (void)of;
    for (int64_t i = 0; ferry_results_at(rs, i); i++) {
        const ferry_result *r = ferry_results_at(rs, i);
        if (r->reason) append(&all, OBJECT(rs, r, fields));
    }
    return all;
}

static json_t *needed_by_primary(const ferry_results *rs, const void *of)
{
    const ferry_primary *p = of;

    (void)rs;
    if (p->needed_repeats > 0)
        return json_pack("{s:I}", "repeats", (json_int_t)p->needed_repeats);
    if (p->needed_rows > 0) return json_pack("{s:I}", "rows", (json_int_t)p->needed_rows);
    return json_null();
}

static json_t *primary(const ferry_results *rs, const ferry_primary *p)
{
    static const field fields[] = {AT(ferry_primary, "name", TEXT, name),
                                   AT(ferry_primary, "share", REAL, share),
                                   AT(ferry_primary, "named", YES, named),
                                   AT(ferry_primary, "difference", REAL, gain),
                                   AT(ferry_primary, "low", REAL, low),
                                   AT(ferry_primary, "high", REAL, high),
                                   AT(ferry_primary, "at_most", REAL, most),
                                   AT(ferry_primary, "p", REAL, p),
                                   AT(ferry_primary, "level", REAL, level),
                                   AT(ferry_primary, "decided", YES, decided),
                                   AT(ferry_primary, "repeats", WHOLE, repeats),
                                   BY("needed", needed_by_primary)};

    return p ? OBJECT(rs, p, fields) : json_null();
}

static json_t *outcome(const ferry_results *rs, const void *of)
{
    const ferry_run_info *run = of;
    const ferry_result *best = ferry_results_at(rs, run->best);
    const ferry_result *base = ferry_results_at(rs, run->best_baseline);

    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:o, s:o}", "best",
                     text(best ? best->name : NULL), "best_baseline",
                     text(base ? base->name : NULL), "reference", text(run->reference),
                     "reference_mean", ferry_i_json_real(run->reference_mean), "versus",
                     best ? versus(rs, best) : json_null(), "primary",
                     primary(rs, run->primary), "controls", run->controls, "least",
                     ferry_i_json_real(run->least), "sentence", text(run->sentence));
}

/* [{"name": ..., "uses": ..., "weight": ...}, ...] */
static json_t *members(int64_t n, const ferry_blend_member *m)
{
    json_t *all = json_array();

    for (int64_t i = 0; i < n; i++)
        append(&all, json_pack("{s:o, s:s, s:f}", "name", text(m[i].name), "uses",
                               ferry_i_uses_name(m[i].uses), "weight", m[i].weight));
    return all;
}

static json_t *members_with(const ferry_results *rs, const void *of)
{
    const ferry_recommendation *a = of;

    (void)rs;
    return members(a->members, a->member);
}

static json_t *members_without(const ferry_results *rs, const void *of)
{
    const ferry_recommendation *a = of;

    (void)rs;
    return members(a->without, a->member_without);
}

static json_t *worth_word(const ferry_results *rs, const void *of)
{
    (void)rs;
    return json_string(ferry_i_worth_name(((const ferry_recommendation *)of)->verdict));
}

static json_t *answer(const ferry_results *rs, const void *of)
{
#define A(key, type, member) AT(ferry_recommendation, key, type, member)
    static const field fields[] = {
        A("head", TEXT, head),
        A("use", TEXT, use),
        A("expect", TEXT, expect),
        A("source", TEXT, source),
        A("next", TEXT, next),
        A("remark", TEXT, remark),
        BY("members", members_with),
        BY("without", members_without),
        A("metric", TEXT, metric),
        A("larger_is_better", YES, larger_is_better),
        A("validated", YES, validated),
        A("calibrated", YES, calibrated),
        A("level", REAL, level),
        A("labels", WHOLE, labels),
        A("value", REAL, value),
        A("low", REAL, low),
        A("high", REAL, high),
        A("value_without", REAL, value_without),
        A("low_without", REAL, low_without),
        A("high_without", REAL, high_without),
        A("worth", REAL, worth),
        A("worth_low", REAL, worth_low),
        A("worth_high", REAL, worth_high),
        BY("verdict", worth_word),
        A("share", REAL, share),
        A("needed_repeats", WHOLE, needed_repeats),
        A("needed_labels", WHOLE, needed_labels),
        ALL(ferry_recommendation, "runs", repeats, runs),
        ALL(ferry_recommendation, "runs_without", repeats, runs_without)};
#undef A
    (void)of;
    return rs->answer ? OBJECT(rs, rs->answer, fields) : json_null();
}

static json_t *goal(const ferry_results *rs, const void *of)
{
    (void)rs;
    return json_string(ferry_goal_name(((const ferry_run_info *)of)->goal));
}

/* Seeds have 64 bits, JSON's integers 63: the others are texts. */
static json_t *seed(const ferry_results *rs, const void *of)
{
    const uint64_t s = ((const ferry_run_info *)of)->seed;

    (void)rs;
    return s <= INT64_MAX ? json_integer((json_int_t)s)
                          : json_sprintf("%llu", (unsigned long long)s);
}

static json_t *schema(const ferry_results *rs, const void *of)
{
    (void)rs;
    (void)of;
    return json_integer(FERRY_RESULTS_SCHEMA);
}

ferry_status ferry_i_report_dump(ferry_ctx *ctx, json_t *root, char **out)
{
    ferry_status st = FERRY_OK;
    char *dumped = NULL;

    /* 15 digits: 0.9 stays 0.9, and no measurement has more. */
    FERRY_TRY(
        ferry_i_json_dump(ctx, root, JSON_INDENT(2) | JSON_REAL_PRECISION(15), &dumped));
    FERRY_HAVE(ctx, *out = ferry_i_sprintf("%s\n", dumped));
done:
    ferry_i_free(dumped);
    json_decref(root);
    return st;
}

ferry_status ferry_i_results_json(ferry_ctx *ctx, const ferry_results *rs, char **out)
{
    FERRY_ARGS_OUT(ctx, out, out, rs);

    static const field fields[] = {AT(ferry_run_info, "ferry", TEXT, version),
                                   BY("schema", schema),
                                   AT(ferry_run_info, "task", TEXT, task),
                                   BY("goal", goal),
                                   AT(ferry_run_info, "target", TEXT, target),
                                   BY("seed", seed),
                                   AT(ferry_run_info, "repeats", WHOLE, repeats),
                                   AT(ferry_run_info, "planned", WHOLE, planned),
                                   AT(ferry_run_info, "visible", WHOLE, visible),
                                   AT(ferry_run_info, "bridge", TEXT, bridge),
                                   AT(ferry_run_info, "folds", WHOLE, folds),
                                   AT(ferry_run_info, "arriving", REAL, arriving),
                                   AT(ferry_run_info, "delay", WHOLE, delay),
                                   AT(ferry_run_info, "engine", TEXT, engine),
                                   AT(ferry_run_info, "threads", SHORT, threads),
                                   AT(ferry_run_info, "blas_core", TEXT, blas_core),
                                   BY("results", results),
                                   BY("skipped", skipped),
                                   BY("verdict", outcome),
                                   BY("answer", answer)};

    if (rs->saved) return ferry_i_report_dump(ctx, json_incref(rs->saved), out);
    return ferry_i_report_dump(ctx, OBJECT(rs, ferry_results_info(rs), fields), out);
}
