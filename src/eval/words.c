/* Results in words: numbers as people read them, each method's verdict, and the outcome of all.
 * The sentences stand in the table, in results.json and in the report, and programs get them with
 * the numbers: one place makes them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "eval/eval.h"

/* ---- numbers ---- */

int ferry_i_metric_places(const ferry_results *rs, int64_t m)
{
    double most = 0;

    for (int64_t i = 0; i < rs->n; i++)
        if (m < rs->result[i].n_metrics)
            most = fmax(most, fabs(rs->result[i].metrics[m].mean));
    /* three decimals for shares, fewer for larger numbers */
    if (most == 0 || !isfinite(most)) return 3;
    if (most >= 1e6 || most < 1e-4) return -1;
    return most >= 1000 ? 0 : most >= 100 ? 1 : most >= 10 ? 2 : most >= 0.1 ? 3 : 5;
}

ferry_words ferry_i_number_words(int places, bool sign, double x)
{
    ferry_words w;

    if (isnan(x))
        (void)snprintf(w.s, sizeof w.s, "n/a");
    else if (places < 0)
        (void)snprintf(w.s, sizeof w.s, sign ? "%+.2e" : "%.2e", x);
    else {
        if (fabs(x) < 0.5 * pow(10, -places)) x = 0; /* never -0.0 */
        (void)snprintf(w.s, sizeof w.s, sign && x != 0 ? "%+.*f" : "%.*f", places, x);
    }
    return w;
}

ferry_words ferry_i_spread_words(int places, const ferry_metric_runs *m)
{
    const ferry_words mean = ferry_i_number_words(places, false, m->mean);
    ferry_words w;

    if (m->repeats < 2 || !isfinite(m->std)) return mean;
    (void)snprintf(w.s, sizeof w.s, "%.28s \u00b1 %.28s", mean.s,
                   ferry_i_number_words(places, false, m->std).s);
    return w;
}

ferry_words ferry_i_p_words(double p)
{
    ferry_words w;

    if (p < 0.001)
        (void)snprintf(w.s, sizeof w.s, "p<0.001");
    else
        (void)snprintf(w.s, sizeof w.s, "p=%.3f", p);
    return w;
}

/* ---- a verdict ---- */

/* Shares are told in points of a hundred, other metrics as they are. */
static bool in_points(const ferry_results *rs)
{
    return !(rs->metrics[0]->info.goals & (FERRY_REGRESS | FERRY_RATE)) &&
           strcmp(rs->metrics[0]->info.name, "coverage") != 0;
}

/* "1.4", "0.012" */
static ferry_words part(const ferry_results *rs, double x)
{
    if (in_points(rs)) return ferry_i_number_words(1, false, 100 * x);
    return ferry_i_number_words(ferry_i_metric_places(rs, 0), false, x);
}

/* "1.4 points", "0.012" */
static ferry_words amount(const ferry_results *rs, double x)
{
    ferry_words w;

    if (!in_points(rs)) return part(rs, x);
    (void)snprintf(w.s, sizeof w.s, "%.1f points", 100 * x);
    return w;
}

/* "1.4 points better than no transfer (svm; 95 % interval 0.3 to 2.5, 10 repeats)" */
static void add_gain(ferry_text *t, const ferry_results *rs, const ferry_result *r)
{
    ferry_i_text_addf(t, "%s %s than no transfer (%s", amount(rs, fabs(r->gain)).s,
                      r->gain < 0 ? "worse" : "better", r->baseline);
    if (isfinite(r->low))
        ferry_i_text_addf(t, "; 95 %% interval %s to %s", part(rs, r->low).s,
                          part(rs, r->high).s);
    ferry_i_text_addf(t, ", %lld repeat%s)", (long long)r->pairs, r->pairs == 1 ? "" : "s");
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
static void add_controlled(ferry_text *t, const ferry_results *rs, const ferry_entry *r)
{
    const ferry_trial *c = &r->trial[r->against];

    if (c->pub.gain <= r->pub.gain / 4) { /* the control keeps most of the gain */
        ferry_i_text_addf(t, ", but %s does as well: %s not what helps",
                          ferry_i_control_plain(c->kind), carrier(c->kind));
        return;
    }
    ferry_i_text_addf(t,
                      ", but that %s adds %s less may be chance (95 %% interval %s to %s)",
                      ferry_i_control_plain(c->kind), amount(rs, c->pub.excess).s,
                      part(rs, c->pub.low).s, part(rs, c->pub.high).s);
}

/* Why nothing is shown. */
static void add_reason(ferry_text *t, const ferry_results *rs, const ferry_entry *r)
{
    static const char *const after[] = {
        [FERRY_FEW] = ", but so few repeats can show nothing: set evaluate.repeats to 10",
        [FERRY_CHANCE] = ", which may be chance",
        [FERRY_CHANCE_OF_ALL] = ", which may be chance among so many methods",
        [FERRY_UNCHECKED] = ", but no control ran, so what helps is not known",
        [FERRY_UNTOUCHED] =
            ", but no control changes its result: it is not the source that helps",
        [FERRY_CONTROLLED] = NULL};

    if (r->why == FERRY_NO_BASELINE) {
        ferry_i_text_add(t, "no method without transfer ran to compare it with");
    } else if (r->why == FERRY_EQUAL) {
        ferry_i_text_addf(t, "equal to no transfer (%s) in every repeat", r->pub.baseline);
    } else {
        add_gain(t, rs, &r->pub);
        if (r->why == FERRY_CONTROLLED) add_controlled(t, rs, r);
        if (after[r->why]) ferry_i_text_add(t, after[r->why]);
    }
}

/* "; 14.1 points better than a noise source, 16.0 points than ..." */
static void add_over_controls(ferry_text *t, const ferry_results *rs, const ferry_entry *r)
{
    bool any = false;

    for (int64_t i = 0; i < r->n_trials; i++) {
        const ferry_evidence *c = &r->trial[i].pub;
        if (c->source || c->same || !isfinite(c->p)) continue;
        ferry_i_text_addf(t, "%s %s%s than %s", any ? "," : ";", amount(rs, c->gain).s,
                          any ? "" : " better", ferry_i_control_plain(r->trial[i].kind));
        any = true;
    }
}

/* Sources that were judged for themselves. */
static void add_sources(ferry_text *t, const ferry_entry *r)
{
    bool any = false;

    for (int64_t i = 0; i < r->n_trials; i++) {
        const ferry_evidence *c = &r->trial[i].pub;
        if (!c->source || !c->verdict) continue;
        ferry_i_text_addf(t, "%s source %s: %s", any ? "," : ";", c->source,
                          ferry_verdict_name(c->verdict));
        any = true;
    }
}

char *ferry_i_verdict_sentence(const ferry_results *rs, const ferry_entry *r)
{
    ferry_text t = {0};

    ferry_i_text_addf(&t, "%s: %s: ", r->pub.name, ferry_verdict_name(r->pub.verdict));
    if (r->pub.verdict == FERRY_NO_EVIDENCE)
        add_reason(&t, rs, r);
    else
        add_gain(&t, rs, &r->pub);
    if (r->pub.verdict == FERRY_HELPS) add_over_controls(&t, rs, r);
    add_sources(&t, r);
    ferry_i_text_add(&t, ".");
    if (t.failed) ferry_i_text_free(&t);
    return t.s;
}

/* ---- the guard ---- */

/* The method that most repeats chose, or -1; *count says how many. */
static int64_t usual_choice(const ferry_guard *g, int64_t *count)
{
    int64_t best = -1;

    *count = 0;
    for (int64_t i = 0; i < g->count; i++) {
        int64_t n = 0;
        for (int64_t r = 0; r < g->repeats; r++)
            n += g->chosen[r] == i;
        if (n <= *count) continue;
        *count = n;
        best = i;
    }
    return best;
}

char *ferry_i_guard_sentence(const ferry_results *rs)
{
    const ferry_guard *g = rs->guard;
    const bool blind = strcmp(g->by, "label-free") == 0;
    ferry_text t = {0};
    int64_t count = 0;
    const int64_t most = usual_choice(g, &count);

    if (most < 0) {
        ferry_i_text_add(&t, "guard: no method could be taken.");
        return t.s;
    }
    ferry_i_text_addf(&t, "guard: takes %s (%lld of %lld repeats), by %s; %s %s.",
                      rs->result[most].pub.name, (long long)count, (long long)g->repeats,
                      blind ? "label-free scores" : "cross-validation on visible labels",
                      rs->metrics[0]->info.name,
                      ferry_i_number_words(ferry_i_metric_places(rs, 0), false, g->mean).s);
    if (blind)
        ferry_i_text_add(&t,
                         " Without target labels this is a guess: reverse validation and "
                         "agreement over seeds know nothing of the target's truth.");
    if (isfinite(g->trust))
        ferry_i_text_addf(&t,
                          " Here its scores order the methods as the truth does with rank "
                          "correlation %.2f.",
                          g->trust);
    if (t.failed) ferry_i_text_free(&t);
    return t.s;
}

/* ---- all ---- */

/* The best method is no baseline: is its lead more than chance? */
static void add_lead(ferry_text *t, const ferry_results *rs)
{
    const int places = ferry_i_metric_places(rs, 0);
    const ferry_result *r = &rs->result[rs->run.best].pub;
    const ferry_result *b = &rs->result[rs->run.best_baseline].pub;
    const ferry_words lead = ferry_i_number_words(places, false, fabs(r->gain));
    const ferry_words base = ferry_i_number_words(places, false, b->mean);

    if (r->pairs < 2) {
        ferry_i_text_addf(t, " It leads the best baseline, %s (%s), by %s.", b->name,
                          base.s, lead.s);
        return;
    }
    if (isnan(r->p_compare)) { /* no pair differs */
        ferry_i_text_addf(t, " It equals the best baseline, %s, in every repeat.", b->name);
        return;
    }
    if (r->low > 0 || r->high < 0)
        ferry_i_text_addf(t, " It beats the best baseline, %s (%s), by %s", b->name, base.s,
                          lead.s);
    else
        ferry_i_text_addf(t,
                          " Its lead of %s over the best baseline, %s (%s), may be chance",
                          lead.s, b->name, base.s);
    ferry_i_text_addf(
        t, " (95 %% interval %s to %s, %s).", ferry_i_number_words(places, false, r->low).s,
        ferry_i_number_words(places, false, r->high).s, ferry_i_p_words(r->p_compare).s);
}

/* The best method is a baseline: how far is transfer behind? */
static void add_behind(ferry_text *t, const ferry_results *rs)
{
    const ferry_result *next = NULL;

    for (int64_t i = 0; i < rs->n; i++) {
        const ferry_result *r = &rs->result[i].pub;
        if (r->rank > 0 && r->kind == FERRY_KIND_TRANSFER &&
            (!next || r->rank < next->rank))
            next = r;
    }
    if (!next) {
        ferry_i_text_add(t, " It is a baseline; no transfer method ran.");
        return;
    }
    const int places = ferry_i_metric_places(rs, 0);
    ferry_i_text_addf(t,
                      " It is a baseline: transfer does not help here; the best transfer "
                      "method, %s, is %s %s.",
                      next->name, ferry_i_number_words(places, false, fabs(next->gain)).s,
                      rs->metrics[0]->info.larger_is_better ? "lower" : "higher");
}

char *ferry_i_results_sentence(const ferry_results *rs)
{
    ferry_text t = {0};
    const int64_t repeats = rs->run.repeats;

    if (rs->run.best < 0) {
        int64_t ran = 0;
        for (int64_t i = 0; i < rs->n; i++)
            ran += rs->result[i].pub.rank > 0;
        ferry_i_text_addf(&t, "%lld method%s ran; without labels goal %s has no score.",
                          (long long)ran, ran == 1 ? "" : "s",
                          ferry_goal_name(rs->run.goal));
        goto done;
    }
    const ferry_entry *b = &rs->result[rs->run.best];
    ferry_i_text_addf(&t, "best: %s (%s %s, %lld repeat%s).", b->pub.name,
                      rs->metrics[0]->info.name,
                      ferry_i_spread_words(ferry_i_metric_places(rs, 0), b->metrics).s,
                      (long long)repeats, repeats == 1 ? "" : "s");
    if (rs->run.best == rs->run.best_baseline)
        add_behind(&t, rs);
    else if (rs->run.best_baseline >= 0)
        add_lead(&t, rs);
    else
        ferry_i_text_add(&t, " No baseline ran to compare it with.");
    if (repeats == 1)
        ferry_i_text_add(&t, " One repeat cannot tell a lead from chance: set "
                             "evaluate.repeats to 10.");
done:
    if (t.failed) ferry_i_text_free(&t);
    return t.s;
}
