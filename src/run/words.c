/* Results in words: numbers as people read them, each method's verdict, and the outcome of all.
 * The sentences stand in the table, in results.json and in the report, and programs get them with
 * the numbers: one place makes them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "run/run.h"

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

ferry_words ferry_i_time_words(double seconds)
{
    ferry_words w;

    if (!(seconds >= 1))
        (void)snprintf(w.s, sizeof w.s, "1 s");
    else if (seconds < 90)
        (void)snprintf(w.s, sizeof w.s, "%.0f s", seconds);
    else if (seconds < 5400)
        (void)snprintf(w.s, sizeof w.s, "%.0f min", seconds / 60);
    else
        (void)snprintf(w.s, sizeof w.s, "%.1f h", seconds / 3600);
    return w;
}

/* ---- a verdict ---- */

/* "1.4", "0.012": shares in points of a hundred, other metrics as they are. */
static ferry_words part(const ferry_results *rs, double x)
{
    if (ferry_i_metric_is_share(rs->metrics[0]))
        return ferry_i_number_words(1, false, 100 * x);
    return ferry_i_number_words(ferry_i_metric_places(rs, 0), false, x);
}

/* "1.4 points", "0.012" */
static ferry_words amount(const ferry_results *rs, double x)
{
    ferry_words w = part(rs, x);

    if (ferry_i_metric_is_share(rs->metrics[0])) {
        const ferry_words n = w;
        (void)snprintf(w.s, sizeof w.s, "%.40s points", n.s);
    }
    return w;
}

/* "+8.1 points (at least 1.0) over svm", "0.05 worse than mf (at least 0.02)"; without a bound the
 * interval; of labels that were the same in every repeat it says so. */
static void add_gain(ferry_text *t, const ferry_results *rs, const ferry_result *r,
                     bool sure)
{
    const bool over = r->gain > 0 && rs->metrics[0]->info.larger_is_better;
    ferry_text paren = {0};

    if (sure && isfinite(r->bound))
        ferry_i_text_addf(&paren, " (at least %s)", part(rs, fabs(r->bound)).s);
    else if (isfinite(r->low))
        ferry_i_text_addf(&paren, " (95 %% interval %s to %s)", part(rs, r->low).s,
                          part(rs, r->high).s);
    if (over)
        ferry_i_text_addf(t, "+%s%s over %s", amount(rs, r->gain).s, paren.s ? paren.s : "",
                          r->baseline);
    else
        ferry_i_text_addf(t, "%s %s than %s%s", amount(rs, fabs(r->gain)).s,
                          r->gain < 0 ? "worse" : "better", r->baseline,
                          paren.s ? paren.s : "");
    if (r->fixed) ferry_i_text_add(t, " with these labels");
    t->failed = t->failed || paren.failed;
    ferry_i_text_free(&paren);
}

/* What may be carried over, and what the controls put in its place, one of them and several. */
static const struct {
    const char *real, *fake, *fakes;
} words[] = {
    [FERRY_CARRIES_SOURCE] = {"source", "shuffled source", "shuffled sources"},
    [FERRY_CARRIES_BRIDGE] = {"bridge", "shuffled bridge", "shuffled bridges"},
    [FERRY_CARRIES_GRAPH] = {"graph", "rewired graph", "rewired graphs"},
    [FERRY_CARRIES_BOTH] = {"bridge or graph", "made-up bridge or graph",
                            "made-up bridges and graphs"},
    [FERRY_CARRIES_NOTHING] = {"source", "shuffled source", "shuffled sources"},
};

/* By the controls that change what a method says: one that sees nothing of the source but uses a graph is
 * judged by rewired graphs. Where none ran, or none changed anything: what the task has. */
static ferry_carries carried(const ferry_results *rs, const ferry_entry *r)
{
    bool bridge = false, graph = false;

    for (int64_t i = 0; i < r->n_trials; i++) {
        const ferry_trial *t = &r->trial[i];
        if (t->pub.source || t->done == 0 || t->pub.same) continue;
        bridge = bridge || t->kind == FERRY_CONTROL_BRIDGE;
        graph = graph || t->kind == FERRY_CONTROL_GRAPH;
        if (t->kind != FERRY_CONTROL_BRIDGE && t->kind != FERRY_CONTROL_GRAPH)
            return FERRY_CARRIES_SOURCE;
    }
    return bridge && graph ? FERRY_CARRIES_BOTH
           : bridge        ? FERRY_CARRIES_BRIDGE
           : graph         ? FERRY_CARRIES_GRAPH
                           : rs->carries;
}

/* "the source changes nothing" */
static void add_nothing(ferry_text *t, const ferry_results *rs)
{
    if (rs->carries == FERRY_CARRIES_NOTHING)
        ferry_i_text_add(t, "the task has no source");
    else if (rs->carries == FERRY_CARRIES_SOURCE)
        ferry_i_text_add(t, "the source changes nothing");
    else if (rs->carries == FERRY_CARRIES_BOTH)
        ferry_i_text_add(
            t, "the task has no source, and neither bridge nor graph changes anything");
    else
        ferry_i_text_addf(t, "the task has no source, and the %s changes nothing",
                          words[rs->carries].real);
}

/* "none of 19 shuffled sources does as well" */
static void add_count(ferry_text *t, ferry_carries c, int64_t count, int64_t of,
                      const char *how)
{
    if (count == 0)
        ferry_i_text_addf(t, "none of %lld %s does as %s", (long long)of, words[c].fakes,
                          how);
    else
        ferry_i_text_addf(t, "%lld of %lld %s do%s as %s", (long long)count, (long long)of,
                          of == 1 ? words[c].fake : words[c].fakes, count == 1 ? "es" : "",
                          how);
}

/* What would tell, where draws were not made. */
static void add_draws(ferry_text *t, const ferry_result *r)
{
    if (r->needed_draws > 0)
        ferry_i_text_addf(t, "; %lld more draws, about %s (controls: full)",
                          (long long)r->needed_draws,
                          ferry_i_time_words(r->needed_seconds).s);
}

/* Better, and the source. */
static void add_better(ferry_text *t, const ferry_results *rs, const ferry_entry *e)
{
    const ferry_result *r = &e->pub;
    const ferry_carries c = carried(rs, e);

    add_gain(t, rs, r, true);
    ferry_i_text_add(t, "; ");
    if (r->worlds == 0) {
        ferry_i_text_addf(t, "no control ran, so whether it is the %s is not known",
                          words[c].real);
        return;
    }
    add_count(t, c, r->as_good, r->worlds, "well");
    if (r->verdict != FERRY_NOT_SHOWN) return;
    if (r->as_good == 0 && r->p_high > 0.05)
        ferry_i_text_addf(t, ", but among so many methods that may be chance (%s)",
                          ferry_i_p_words(r->p_high).s);
    add_draws(t, r);
}

static void add_worse(ferry_text *t, const ferry_results *rs, const ferry_entry *e)
{
    const ferry_result *r = &e->pub;
    const ferry_carries c = carried(rs, e);

    add_gain(t, rs, r, true);
    if (r->verdict == FERRY_HARMS && r->as_bad == 0)
        ferry_i_text_addf(t, ", and worse than with any of %lld %s", (long long)r->worlds,
                          words[c].fakes);
    else if (r->verdict == FERRY_HARMS) /* of another control, or one of full's 39 */
        ferry_i_text_addf(t, ", and worse than with %lld of %lld %s",
                          (long long)(r->worlds - r->as_bad), (long long)r->worlds,
                          words[c].fakes);
    else if (r->worlds == 0)
        ferry_i_text_addf(t, "; no control ran, so whether it is the %s is not known",
                          words[c].real);
    else if (20 * r->as_bad >= 3 * (r->worlds + 1)) { /* 3 of 19, 1 of 2 */
        ferry_i_text_addf(t, ", whatever the %s: ", words[c].real);
        add_count(t, c, r->as_bad, r->worlds, "badly");
    } else if (r->as_bad > 0) {
        ferry_i_text_add(t, "; ");
        add_count(t, c, r->as_bad, r->worlds, "badly");
        add_draws(t, r);
    } else {
        ferry_i_text_addf(t, "; that it is the %s is not shown", words[c].real);
        add_draws(t, r);
    }
}

static void add_unused(ferry_text *t, const ferry_results *rs, const ferry_result *r)
{
    const bool larger = rs->metrics[0]->info.larger_is_better != 0, up = r->gain > 0;
    const double low = up ? r->low : -r->high, high = up ? r->high : -r->low;
    /* "below" would not say whether that is good where smaller is better */
    const char *word =
        larger ? (up ? "above" : "below") : (up ? "better than" : "worse than");

    add_nothing(t, rs);
    ferry_i_text_add(t, "; the learner itself ");
    if (r->pairs == 0)
        ferry_i_text_add(t, "has no baseline to be compared with");
    else if (isnan(r->p_compare))
        ferry_i_text_addf(t, "equals %s in every repeat", r->baseline);
    else
        ferry_i_text_addf(t, "is %s %s %s (95 %% interval %s to %s)%s",
                          amount(rs, fabs(r->gain)).s, word, r->baseline, part(rs, low).s,
                          part(rs, high).s, r->fixed ? " with these labels" : "");
}

/* Nothing is shown: what would. */
static void add_undecided(ferry_text *t, const ferry_results *rs, const ferry_result *r)
{
    if (r->pairs == 0) {
        ferry_i_text_add(t, "no method without transfer ran to compare it with");
        return;
    }
    add_gain(t, rs, r, false);
    if (r->needed_repeats > r->pairs)
        ferry_i_text_addf(t, ": needs about %lld repeats", (long long)r->needed_repeats);
    else if (r->needed_repeats > 0)
        ferry_i_text_add(t, ", which may be chance among so many methods");
    else if (r->needed_rows > 0)
        ferry_i_text_addf(t, ": needs about %lld labelled rows", (long long)r->needed_rows);
    else
        ferry_i_text_add(t, ": no sensible number of repeats or rows would show it");
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
    const ferry_result *v = &r->pub;
    ferry_text t = {0};

    ferry_i_text_addf(&t, "%s: %s: ", v->name, ferry_verdict_name(v->verdict));
    switch (v->verdict) {
    case FERRY_HELPS:
    case FERRY_ANY_SOURCE:
    case FERRY_NOT_SHOWN: add_better(&t, rs, r); break;
    case FERRY_WEAKER:
    case FERRY_HARMS: add_worse(&t, rs, r); break;
    case FERRY_UNUSED: add_unused(&t, rs, v); break;
    case FERRY_EQUAL:
        if (isnan(v->p_compare))
            ferry_i_text_addf(&t, "equal to %s in every repeat", v->baseline);
        else
            add_gain(&t, rs, v, false);
        break;
    default: add_undecided(&t, rs, v); break;
    }
    add_sources(&t, r);
    ferry_i_text_add(&t, ".");
    if (t.failed) ferry_i_text_free(&t);
    return t.s;
}

/* ---- all ---- */

/* What the verdict column says of a lead that is more than chance. */
static void add_caveat(ferry_text *t, const ferry_results *rs, const ferry_entry *e)
{
    const ferry_verdict v = e->pub.verdict;
    const char *real = words[carried(rs, e)].real;

    if (v == FERRY_UNUSED) {
        ferry_i_text_add(t, ", but ");
        add_nothing(t, rs);
    }
    if (v == FERRY_ANY_SOURCE)
        ferry_i_text_addf(t, ", but a made-up %s does as well", real);
    if (v == FERRY_NOT_SHOWN)
        ferry_i_text_addf(t, ", but that it is the %s is not shown", real);
}

/* The best method is no baseline: is its lead more than chance? In the words of its verdict, whose test
 * is one-sided: where the interval, which is two-sided, holds zero all the same, its bound is told. */
static void add_lead(ferry_text *t, const ferry_results *rs)
{
    const int places = ferry_i_metric_places(rs, 0);
    const ferry_result *r = &rs->result[rs->run.best].pub;
    const ferry_result *b = &rs->result[rs->run.best_baseline].pub;
    const ferry_words lead = ferry_i_number_words(places, false, fabs(r->gain));
    const ferry_words base = ferry_i_number_words(places, false, b->mean);
    const bool better = rs->result[rs->run.best].better, apart = r->low > 0;

    if (isnan(r->p_compare)) { /* no pair differs */
        ferry_i_text_addf(t, " It equals the best baseline, %s, in every repeat.", b->name);
        return;
    }
    if (better || (r->verdict == FERRY_UNJUDGED && apart))
        ferry_i_text_addf(t, " It beats the best baseline, %s (%s), by %s", b->name, base.s,
                          lead.s);
    else if (r->verdict == FERRY_EQUAL)
        ferry_i_text_addf(t, " It is as good as the best baseline, %s (%s)", b->name,
                          base.s);
    else
        ferry_i_text_addf(
            t, " Its lead of %s over the best baseline, %s (%s), may be chance%s", lead.s,
            b->name, base.s, apart ? " among so many methods" : "");
    if (better && !apart)
        ferry_i_text_addf(t, " (at least %s, one-sided %s)",
                          ferry_i_number_words(places, false, r->bound).s,
                          ferry_i_p_words(r->p_holm).s);
    else
        ferry_i_text_addf(t, " (95 %% interval %s to %s, %s)",
                          ferry_i_number_words(places, false, r->low).s,
                          ferry_i_number_words(places, false, r->high).s,
                          ferry_i_p_words(r->p_compare).s);
    if (better) add_caveat(t, rs, &rs->result[rs->run.best]);
    ferry_i_text_add(t, ".");
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
    ferry_i_text_addf(t, " It is a baseline; the best transfer method, %s, is %s %s.",
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
        ferry_i_text_addf(&t, "%lld method%s ran; ", (long long)ran, ran == 1 ? "" : "s");
        if (rs->n_metrics == 0 && rs->run.visible > 0 && rs->run.goal != FERRY_EMBED)
            ferry_i_text_add(&t, "no label is hidden, so there is nothing to score.");
        else
            ferry_i_text_addf(&t, "without labels goal %s has no score.",
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
        ferry_i_text_add(&t, " One repeat covers these labels only: set "
                             "evaluate.repeats to 10.");
done:
    if (t.failed) ferry_i_text_free(&t);
    return t.s;
}
