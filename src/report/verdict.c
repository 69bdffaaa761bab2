/* The verdict in words and as JSON. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/report.h"

/* ---- words ---- */

/* Shares are told in points of a hundred, other metrics as they are. */
static bool in_points(const ferry_results *rs)
{
    const char *name = rs->metrics[0]->name;

    return !(rs->metrics[0]->goals & (FERRY_REGRESS | FERRY_RATE)) &&
           strcmp(name, "coverage") != 0;
}

/* "1.4 points", "0.012" */
static void amount(const ferry_results *rs, double x, char *buf, size_t n)
{
    if (in_points(rs))
        (void)snprintf(buf, n, "%.1f points", 100 * x);
    else
        ferry_i_report_number(buf, n, ferry_i_report_places(rs, 0), false, x);
}

/* "0.3 to 2.5" */
static void interval(const ferry_results *rs, double lo, double hi, char *buf, size_t n)
{
    const double unit = in_points(rs) ? 100 : 1;
    const int places = in_points(rs) ? 1 : ferry_i_report_places(rs, 0);
    char a[48], b[48];

    ferry_i_report_number(a, sizeof a, places, false, unit * lo);
    ferry_i_report_number(b, sizeof b, places, false, unit * hi);
    (void)snprintf(buf, n, "%s to %s", a, b);
}

/* "1.4 points better than no transfer (svm; 95 % interval 0.3 to 2.5, 10 repeats)" */
static void add_gain(ferry_text *t, const ferry_results *rs, const ferry_result *r)
{
    const ferry_judgement *j = &r->judgement;
    char by[64], range[120];

    amount(rs, fabs(j->gain), by, sizeof by);
    interval(rs, j->lo, j->hi, range, sizeof range);
    ferry_i_text_addf(t, "%s %s than no transfer (%s", by, j->gain < 0 ? "worse" : "better",
                      rs->result[rs->best_baseline].name);
    if (isfinite(j->lo)) ferry_i_text_addf(t, "; 95 %% interval %s", range);
    ferry_i_text_addf(t, ", %lld repeat%s)", (long long)r->versus.pairs,
                      r->versus.pairs == 1 ? "" : "s");
}

/* What carried the knowledge that the control took away. */
static const char *carrier(ferry_control kind)
{
    switch (kind) {
    case FERRY_CONTROL_LABELS: return "the source's labels are";
    case FERRY_CONTROL_CODEBOOK: return "the source's pattern is";
    case FERRY_CONTROL_BRIDGE: return "the bridge is";
    case FERRY_CONTROL_GRAPH: return "the graph is";
    default: return "the source is";
    }
}

/* Better than no transfer, but a control may be as good. */
static void add_controlled(ferry_text *t, const ferry_results *rs, const ferry_result *r)
{
    const ferry_trial *c = &r->trial[r->judgement.trial];
    char by[64], range[120];

    if (c->gain <= r->judgement.gain / 4) {
        ferry_i_text_addf(t, ", but %s does as well: %s not what helps",
                          ferry_i_control_plain(c->kind), carrier(c->kind));
        return;
    }
    amount(rs, c->excess, by, sizeof by);
    interval(rs, c->lo, c->hi, range, sizeof range);
    ferry_i_text_addf(t, ", but that %s adds %s less may be chance (95 %% interval %s)",
                      ferry_i_control_plain(c->kind), by, range);
}

static void add_reason(ferry_text *t, const ferry_results *rs, const ferry_result *r)
{
    switch (r->judgement.reason) {
    case FERRY_NO_BASELINE:
        ferry_i_text_add(t, "no method without transfer ran to compare it with");
        return;
    case FERRY_EQUAL:
        ferry_i_text_addf(t, "equal to no transfer (%s) in every repeat",
                          rs->result[rs->best_baseline].name);
        return;
    default: break;
    }
    add_gain(t, rs, r);
    switch (r->judgement.reason) {
    case FERRY_FEW:
        ferry_i_text_add(t,
                         ", but so few repeats can show nothing: set evaluate.repeats to "
                         "10");
        break;
    case FERRY_CHANCE: ferry_i_text_add(t, ", which may be chance"); break;
    case FERRY_CHANCE_OF_ALL:
        ferry_i_text_add(t, ", which may be chance among so many methods");
        break;
    case FERRY_UNCHECKED:
        ferry_i_text_add(t, ", but no control ran, so what helps is not known");
        break;
    case FERRY_UNTOUCHED:
        ferry_i_text_add(t,
                         ", but no control changes its result: it is not the source that "
                         "helps");
        break;
    case FERRY_CONTROLLED: add_controlled(t, rs, r); break;
    default: break;
    }
}

/* "; 14.1 points better than a noise source, 16.0 points than ..." */
static void add_over_controls(ferry_text *t, const ferry_results *rs, const ferry_result *r)
{
    bool any = false;

    for (int64_t i = 0; i < r->n_trials; i++) {
        const ferry_trial *c = &r->trial[i];
        char by[64];
        if (c->kind == FERRY_CONTROL_WITHOUT || c->same || !isfinite(c->p)) continue;
        amount(rs, c->gain, by, sizeof by);
        ferry_i_text_addf(t, "%s %s%s than %s", any ? "," : ";", by, any ? "" : " better",
                          ferry_i_control_plain(c->kind));
        any = true;
    }
}

/* Sources that were judged for themselves. */
static void add_sources(ferry_text *t, const ferry_result *r)
{
    bool any = false;

    for (int64_t i = 0; i < r->n_trials; i++) {
        const ferry_trial *c = &r->trial[i];
        if (c->kind != FERRY_CONTROL_WITHOUT || !c->verdict) continue;
        ferry_i_text_addf(t, "%s source %s: %s", any ? "," : ";", c->source,
                          ferry_i_verdict_name((ferry_verdict)c->verdict));
        any = true;
    }
}

char *ferry_i_verdict_sentence(const ferry_results *rs, const ferry_result *r)
{
    ferry_text t = {0};

    ferry_i_text_addf(&t, "%s: %s: ", r->name, ferry_i_verdict_name(r->judgement.verdict));
    if (r->judgement.verdict == FERRY_NO_EVIDENCE) {
        add_reason(&t, rs, r);
    } else {
        add_gain(&t, rs, r);
        if (r->judgement.verdict == FERRY_HELPS) add_over_controls(&t, rs, r);
    }
    add_sources(&t, r);
    ferry_i_text_add(&t, ".");
    if (t.failed) ferry_i_text_free(&t);
    return t.s;
}

/* ---- JSON ---- */

/* [[draw 1 of every repeat], ...] */
static json_t *runs_json(const ferry_trial *t)
{
    json_t *all = json_array();

    for (int64_t k = 0; all && k < t->draws; k++)
        if (json_array_append_new(
                all, ferry_i_report_reals(t->repeats, t->metric + k * t->repeats)) != 0) {
            json_decref(all);
            return NULL;
        }
    return all;
}

static json_t *trial_json(const ferry_trial *t)
{
    const bool ran = isfinite(t->mean);
    json_t *one = json_pack(
        "{s:s, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "control",
        ferry_i_control_name(t->kind), "draws", (json_int_t)t->draws, "repeats",
        (json_int_t)t->repeats, "mean", ferry_i_report_real(t->mean), "gain",
        ferry_i_report_real(t->gain), "excess", ferry_i_report_real(t->excess), "low",
        ferry_i_report_real(t->lo), "high", ferry_i_report_real(t->hi), "p",
        ferry_i_report_real(t->p), "runs", ran ? runs_json(t) : json_array());
    int bad = !one;

    if (t->unfit || !ran)
        bad |= json_object_set_new(
            one, "reason",
            ferry_i_json_text(t->unfit ? t->unfit : "not run: stopped before its turn"));
    if (ran && t->same) bad |= json_object_set_new(one, "same", json_true());
    if (t->source) {
        bad |= json_object_set_new(one, "source", ferry_i_json_text(t->source));
        bad |= json_object_set_new(one, "p_holm", ferry_i_report_real(t->p_holm));
        bad |= json_object_set_new(
            one, "verdict", json_string(ferry_i_verdict_name((ferry_verdict)t->verdict)));
    }
    if (!bad) return one;
    json_decref(one);
    return NULL;
}

/* Those of the draws (`sources` false) or the sources left out. */
static json_t *trials_json(const ferry_result *r, bool sources)
{
    json_t *all = json_array();

    for (int64_t i = 0; all && i < r->n_trials; i++) {
        const ferry_trial *t = &r->trial[i];
        if ((t->kind == FERRY_CONTROL_WITHOUT) != sources) continue;
        if (json_array_append_new(all, trial_json(t)) != 0) {
            json_decref(all);
            return NULL;
        }
    }
    return all;
}

json_t *ferry_i_report_verdict(const ferry_results *rs, const ferry_result *r)
{
    const ferry_judgement *j = &r->judgement;
    char *sentence = NULL;
    json_t *one = NULL;

    if (!j->verdict) return json_null();
    sentence = ferry_i_verdict_sentence(rs, r);
    if (!sentence) return NULL;
    one = json_pack("{s:s, s:o, s:o, s:o, s:f, s:o, s:o, s:I, s:o, s:o, s:o}", "verdict",
                    ferry_i_verdict_name(j->verdict), "gain", ferry_i_report_real(j->gain),
                    "low", ferry_i_report_real(j->lo), "high", ferry_i_report_real(j->hi),
                    "level", 0.95, "p", ferry_i_report_real(j->p), "p_holm",
                    ferry_i_report_real(j->p_holm), "repeats", (json_int_t)r->versus.pairs,
                    "controls", trials_json(r, false), "sources", trials_json(r, true),
                    "sentence", ferry_i_json_text(sentence));
    ferry_i_free(sentence);
    return one;
}

/* ---- the guard ---- */

/* The method that most repeats chose, or -1; *count says how many. */
static int64_t usual_choice(const ferry_results *rs, int64_t *count)
{
    int64_t best = -1;

    *count = 0;
    for (int64_t i = 0; i < rs->n; i++) {
        int64_t n = 0;
        for (int64_t r = 0; r < rs->repeats; r++)
            n += rs->guard->chosen[r] == i;
        if (n > *count) {
            *count = n;
            best = i;
        }
    }
    return best;
}

char *ferry_i_guard_sentence(const ferry_results *rs)
{
    const ferry_guard *g = rs->guard;
    ferry_text t = {0};
    int64_t count = 0;
    char score[48];
    const int64_t most = usual_choice(rs, &count);

    if (most < 0) {
        ferry_i_text_add(&t, "guard: no method could be taken.");
        return t.s;
    }
    ferry_i_report_number(score, sizeof score, ferry_i_report_places(rs, 0), false,
                          ferry_i_mean(rs->repeats, g->runs));
    ferry_i_text_addf(&t, "guard: takes %s (%lld of %lld repeats), by %s; %s %s.",
                      rs->result[most].name, (long long)count, (long long)rs->repeats,
                      g->blind ? "label-free scores" : "cross-validation on visible labels",
                      rs->metrics[0]->name, score);
    if (g->blind)
        ferry_i_text_add(&t,
                         " Without target labels this is a guess: reverse validation "
                         "and agreement over seeds know nothing of the target's truth.");
    if (isfinite(g->trust))
        ferry_i_text_addf(&t,
                          " Here its scores order the methods as the truth does with "
                          "rank correlation %.2f.",
                          g->trust);
    if (t.failed) ferry_i_text_free(&t);
    return t.s;
}

json_t *ferry_i_report_guard(const ferry_results *rs)
{
    const ferry_guard *g = rs->guard;
    json_t *chosen = NULL, *scores = NULL;
    char *sentence = NULL;

    if (!g) return json_null();
    sentence = ferry_i_guard_sentence(rs);
    if (!sentence) return NULL;
    chosen = json_array();
    scores = json_object();
    for (int64_t r = 0; r < rs->repeats; r++)
        (void)json_array_append_new(
            chosen, g->chosen[r] < 0 ? json_null()
                                     : ferry_i_json_text(rs->result[g->chosen[r]].name));
    for (int64_t i = 0; i < rs->n; i++)
        if (isfinite(g->score[i]))
            (void)json_object_set_new(scores, rs->result[i].name, json_real(g->score[i]));
    json_t *one =
        json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "by",
                  g->blind ? "label-free" : "cross-validation", "chosen", chosen, "mean",
                  ferry_i_report_real(ferry_i_mean(rs->repeats, g->runs)), "runs",
                  ferry_i_report_reals(rs->repeats, g->runs), "scores", scores, "trust",
                  ferry_i_report_real(g->trust), "sentence", ferry_i_json_text(sentence));
    ferry_i_free(sentence);
    return one;
}
