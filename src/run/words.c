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
static ferry_words part(const ferry_results *rs, bool sign, double x)
{
    if (ferry_i_metric_is_share(rs->metrics[0]))
        return ferry_i_number_words(1, sign, 100 * x);
    return ferry_i_number_words(ferry_i_metric_places(rs, 0), sign, x);
}

ferry_words ferry_i_gain_words(const ferry_results *rs, double x)
{
    const ferry_words n = part(rs, true, x);
    const bool share = ferry_i_metric_is_share(rs->metrics[0]);
    ferry_words w;

    (void)snprintf(w.s, sizeof w.s, "%.24s %s%.24s", n.s, share ? "points" : "of ",
                   share ? "" : rs->metrics[0]->info.name);
    return w;
}

/* " (3.6 to 16.5)", or nothing where it is not known; p (NaN: none) of a test that is one-sided is told where the interval, which is
 * not, holds zero all the same. */
static void add_interval(ferry_text *t, const ferry_results *rs, double low, double high,
                         double p)
{
    if (!isfinite(low) || !isfinite(high)) return;
    ferry_i_text_addf(t, " (%s to %s", part(rs, false, low).s, part(rs, false, high).s);
    if (!isnan(p) && low <= 0 && high >= 0)
        ferry_i_text_addf(t, ", one-sided %s", ferry_i_p_words(p).s);
    ferry_i_text_add(t, ")");
}

/* "what your labels choose without the source", or the baseline's name. */
static void add_reference(ferry_text *t, const ferry_results *rs)
{
    if (!rs->by_policy)
        ferry_i_text_add(t, rs->run.reference);
    else if (rs->transfers == FERRY_TRANSFERS_SOURCE)
        ferry_i_text_add(t, "what your labels choose without the source");
    else
        ferry_i_text_add(t, "what your labels choose without transfer");
}

/* "+8.1 points (1.0 to 15.2) against svm": positive is better, whatever the metric; of labels that were the same in every repeat it
 * says so. */
static void add_gain(ferry_text *t, const ferry_results *rs, const ferry_result *r,
                     bool sure)
{
    ferry_i_text_add(t, ferry_i_gain_words(rs, r->gain).s);
    add_interval(t, rs, r->low, r->high, sure ? r->p_holm : NAN);
    ferry_i_text_add(t, " against ");
    add_reference(t, rs);
    if (!rs->metrics[0]->info.larger_is_better) ferry_i_text_add(t, ", positive is better");
    if (r->fixed) ferry_i_text_add(t, ", with these labels");
}

/* How large a difference can be, either way. */
static void add_most(ferry_text *t, const ferry_results *rs, double most)
{
    if (isfinite(most))
        ferry_i_text_addf(t, "; no difference larger than %s", part(rs, false, most).s);
}

/* What would tell, in 8 of 10 cases. */
static void add_needed(ferry_text *t, int64_t repeats, int64_t rows)
{
    if (repeats > 0)
        ferry_i_text_addf(t, "; 8 in 10 chances to know with about %lld repeats",
                          (long long)repeats);
    else if (rows > 0)
        ferry_i_text_addf(t, "; 8 in 10 chances to know with about %lld labelled rows",
                          (long long)rows);
    else
        ferry_i_text_add(t, "; no sensible number of repeats or rows would tell");
}

/* What may transfer, and what the controls put in its place, one of them and several. */
static const struct {
    const char *real, *fake, *fakes;
} words[] = {
    [FERRY_TRANSFERS_SOURCE] = {"source", "shuffled source", "shuffled sources"},
    [FERRY_TRANSFERS_BRIDGE] = {"bridge", "shuffled bridge", "shuffled bridges"},
    [FERRY_TRANSFERS_GRAPH] = {"graph", "rewired graph", "rewired graphs"},
    [FERRY_TRANSFERS_BOTH] = {"bridge or graph", "made-up bridge or graph",
                              "made-up bridges and graphs"},
    [FERRY_TRANSFERS_NOTHING] = {"source", "shuffled source", "shuffled sources"},
};

/* By the controls that change what a method says: one that sees nothing of the source but uses a graph is
 * judged by rewired graphs. Where none ran, or none changed anything: what the task has. */
static ferry_transfers transferred(const ferry_results *rs, const ferry_entry *r)
{
    bool bridge = false, graph = false;

    for (int64_t i = 0; i < r->n_trials; i++) {
        const ferry_trial *t = &r->trial[i];
        if (t->pub.source || t->done == 0 || t->pub.same) continue;
        bridge = bridge || t->kind == FERRY_CONTROL_BRIDGE;
        graph = graph || t->kind == FERRY_CONTROL_GRAPH;
        if (t->kind != FERRY_CONTROL_BRIDGE && t->kind != FERRY_CONTROL_GRAPH)
            return FERRY_TRANSFERS_SOURCE;
    }
    return bridge && graph ? FERRY_TRANSFERS_BOTH
           : bridge        ? FERRY_TRANSFERS_BRIDGE
           : graph         ? FERRY_TRANSFERS_GRAPH
                           : rs->transfers;
}

/* "the source changes nothing" */
static void add_nothing(ferry_text *t, const ferry_results *rs)
{
    if (rs->transfers == FERRY_TRANSFERS_NOTHING)
        ferry_i_text_add(t, "the task has no source");
    else if (rs->transfers == FERRY_TRANSFERS_SOURCE)
        ferry_i_text_add(t, "the source changes nothing");
    else if (rs->transfers == FERRY_TRANSFERS_BOTH)
        ferry_i_text_add(
            t, "the task has no source, and neither bridge nor graph changes anything");
    else
        ferry_i_text_addf(t, "the task has no source, and the %s changes nothing",
                          words[rs->transfers].real);
}

/* "none of 19 shuffled sources does as well" */
static void add_count(ferry_text *t, ferry_transfers c, int64_t count, int64_t of,
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
        ferry_i_text_addf(t, "; %lld more draws (about %s) will tell: controls: full",
                          (long long)r->needed_draws,
                          ferry_i_time_words(r->needed_seconds).s);
}

/* "against shuffled sources +8.3 points (6.0 to 10.6)": not what the source is worth, since without one something else
 * would be used, which is better than this method with a wrong source. */
static void add_worth(ferry_text *t, const ferry_results *rs, const ferry_entry *e)
{
    if (!isfinite(e->pub.source_worth)) return;
    ferry_i_text_addf(t, "against %s %s", words[transferred(rs, e)].fakes,
                      ferry_i_gain_words(rs, e->pub.source_worth).s);
    add_interval(t, rs, e->pub.source_worth_low, e->pub.source_worth_high, NAN);
    ferry_i_text_add(t, ": ");
}

/* Better, and the source. */
static void add_better(ferry_text *t, const ferry_results *rs, const ferry_entry *e)
{
    const ferry_result *r = &e->pub;
    const ferry_transfers c = transferred(rs, e);

    add_gain(t, rs, r, true);
    if (r->verdict == FERRY_BEST && rs->by_policy) {
        ferry_i_text_addf(t, ", and %s", part(rs, true, r->over_best).s);
        add_interval(t, rs, r->over_best_low, r->over_best_high, r->p_best);
        ferry_i_text_addf(t, " against %s, the best without transfer in hindsight",
                          rs->result[rs->run.best_baseline].pub.name);
    }
    if (r->control_draws == 0) {
        ferry_i_text_addf(t, "; no control ran, so whether it is the %s is not known",
                          words[c].real);
        return;
    }
    if (r->verdict == FERRY_GOOD_LEARNER)
        ferry_i_text_addf(t, ", but not by the %s: ", words[c].real);
    else {
        ferry_i_text_add(t, "; ");
        add_worth(t, rs, e);
    }
    add_count(t, c, r->as_good, r->control_draws, "well");
    if (r->verdict != FERRY_SOURCE_OPEN) return;
    if (r->as_good == 0 && r->p_high > 0.05)
        ferry_i_text_addf(t, ", but among so many methods that may be chance (%s)",
                          ferry_i_p_words(r->p_high).s);
    add_draws(t, r);
}

static void add_worse(ferry_text *t, const ferry_results *rs, const ferry_entry *e)
{
    const ferry_result *r = &e->pub;
    const ferry_transfers c = transferred(rs, e);

    add_gain(t, rs, r, true);
    if (r->verdict == FERRY_HARMS && r->as_bad == 0)
        ferry_i_text_addf(t, ", and worse than with any of %lld %s",
                          (long long)r->control_draws, words[c].fakes);
    else if (r->verdict == FERRY_HARMS) /* of another control, or one of full's 39 */
        ferry_i_text_addf(t, ", and worse than with %lld of %lld %s",
                          (long long)(r->control_draws - r->as_bad),
                          (long long)r->control_draws, words[c].fakes);
    else if (r->control_draws == 0)
        ferry_i_text_addf(t, "; no control ran, so whether it is the %s is not known",
                          words[c].real);
    else if (20 * r->as_bad >= 3 * (r->control_draws + 1)) { /* 3 of 19, 1 of 2 */
        ferry_i_text_addf(t, ", whatever the %s: ", words[c].real);
        add_count(t, c, r->as_bad, r->control_draws, "badly");
    } else if (r->as_bad > 0) {
        ferry_i_text_add(t, "; ");
        add_count(t, c, r->as_bad, r->control_draws, "badly");
        add_draws(t, r);
    } else {
        ferry_i_text_addf(t, "; that it is the %s is not shown", words[c].real);
        add_draws(t, r);
    }
}

static void add_ignored(ferry_text *t, const ferry_results *rs, const ferry_result *r)
{
    add_nothing(t, rs);
    ferry_i_text_add(t, "; the learner itself ");
    if (r->pairs == 0)
        ferry_i_text_add(t, "has no baseline to be compared with");
    else if (isnan(r->p_compare)) {
        ferry_i_text_add(t, "equals ");
        add_reference(t, rs);
        ferry_i_text_add(t, " in every repeat");
    } else {
        ferry_i_text_add(t, "has ");
        add_gain(t, rs, r, false);
        add_most(t, rs, r->most);
    }
}

/* Nothing is shown: how large it can be, and what would tell. */
static void add_open(ferry_text *t, const ferry_results *rs, const ferry_entry *e)
{
    const ferry_result *r = &e->pub;

    if (r->pairs == 0) {
        ferry_i_text_add(t, "no method without transfer ran to compare it with");
        return;
    }
    add_gain(t, rs, r, false);
    add_most(t, rs, r->most);
    add_needed(t, r->needed_repeats, r->needed_rows);
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
    case FERRY_BEST:
    case FERRY_HELPS:
    case FERRY_GOOD_LEARNER:
    case FERRY_SOURCE_OPEN: add_better(&t, rs, r); break;
    case FERRY_WEAK_LEARNER:
    case FERRY_HARMS: add_worse(&t, rs, r); break;
    case FERRY_IGNORES_SOURCE: add_ignored(&t, rs, v); break;
    case FERRY_SAME:
        if (isnan(v->p_compare)) {
            ferry_i_text_add(&t, "equal to ");
            add_reference(&t, rs);
            ferry_i_text_add(&t, " in every repeat");
        } else {
            add_gain(&t, rs, v, false);
            add_most(&t, rs, v->most);
        }
        break;
    default: add_open(&t, rs, r); break;
    }
    add_sources(&t, r);
    ferry_i_text_add(&t, ".");
    if (t.failed) ferry_i_text_free(&t);
    return t.s;
}

/* ---- all ---- */

/* " (0.845)" of an entry. */
static void add_mean(ferry_text *t, const ferry_results *rs, const ferry_result *r)
{
    ferry_i_text_addf(t, " (%s)",
                      ferry_i_number_words(ferry_i_metric_places(rs, 0), false, r->mean).s);
}

/* What a transfer method has against the best without transfer. */
static void add_over_best(ferry_text *t, const ferry_results *rs, const ferry_result *r)
{
    const ferry_result *b = &rs->result[rs->run.best_baseline].pub;

    if (r->pairs > 0 && r->over_best == 0 && r->over_best_low == 0 &&
        r->over_best_high == 0) {
        ferry_i_text_addf(t, "it equals %s, the best without transfer, in every repeat",
                          b->name);
        return;
    }
    ferry_i_text_add(t, ferry_i_gain_words(rs, r->over_best).s);
    add_interval(t, rs, r->over_best_low, r->over_best_high, NAN);
    ferry_i_text_addf(t, " against %s, the best without transfer in hindsight", b->name);
    add_mean(t, rs, b);
}

/* The best transfer method, or NULL. */
static const ferry_result *best_transfer(const ferry_results *rs)
{
    const ferry_result *best = NULL;

    for (int64_t i = 0; i < rs->n; i++) {
        const ferry_result *r = &rs->result[i].pub;
        if (r->rank > 0 && r->kind == FERRY_KIND_TRANSFER &&
            (!best || r->rank < best->rank))
            best = r;
    }
    return best;
}

/* The best method is one without transfer: how far is transfer behind? */
static void add_behind(ferry_text *t, const ferry_results *rs)
{
    const ferry_result *next = best_transfer(rs);

    ferry_i_text_addf(t, ". It is %s; ",
                      ferry_i_uses_name(rs->result[rs->run.best].pub.uses));
    if (!next) {
        ferry_i_text_add(t, "no transfer method ran");
        return;
    }
    if (isnan(next->over_best)) {
        ferry_i_text_addf(t, "%s has no score", next->name);
        return;
    }
    ferry_i_text_addf(t, "the best transfer method, %s, has %s", next->name,
                      ferry_i_gain_words(rs, next->over_best).s);
    add_interval(t, rs, next->over_best_low, next->over_best_high, NAN);
}

/* "Primary comparison: hop, which your labels choose: +6.5 points (1.0 to 12.0) against ..." */
static void add_primary(ferry_text *t, const ferry_results *rs)
{
    const ferry_primary *p = rs->run.primary;

    if (!p) return;
    ferry_i_text_addf(t, " Primary comparison: %s", p->name);
    if (p->named)
        ferry_i_text_add(t, ", as the task says: ");
    else if (p->share < 1)
        ferry_i_text_addf(
            t, " and others, the transfer methods that your labels choose (%.0f %% %s): ",
            100 * p->share, p->name);
    else
        ferry_i_text_add(t, ", the transfer method that your labels choose: ");
    ferry_i_text_add(t, ferry_i_gain_words(rs, p->gain).s);
    add_interval(t, rs, p->low, p->high, NAN);
    ferry_i_text_addf(t, " against %s, %s%s", rs->result[rs->run.best_baseline].pub.name,
                      p->decided ? "shown, " : "open, ", ferry_i_p_words(p->p).s);
    if (!p->decided) {
        add_most(t, rs, p->most);
        add_needed(t, p->needed_repeats, p->needed_rows);
    }
    ferry_i_text_add(t, ".");
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
    ferry_i_text_addf(&t, "best: %s (%s %s, %lld repeat%s)", b->pub.name,
                      rs->metrics[0]->info.name,
                      ferry_i_spread_words(ferry_i_metric_places(rs, 0), b->metrics).s,
                      (long long)repeats, repeats == 1 ? "" : "s");
    if (b->pub.kind == FERRY_KIND_BASELINE)
        add_behind(&t, rs);
    else if (rs->run.best_baseline >= 0) {
        ferry_i_text_add(&t, ": ");
        add_over_best(&t, rs, &b->pub);
    } else
        ferry_i_text_add(&t, ". No baseline ran to compare it with");
    ferry_i_text_add(&t, ".");
    add_primary(&t, rs);
    if (repeats == 1)
        ferry_i_text_add(&t, " One repeat covers these labels only: set "
                             "evaluate.repeats to 10.");
done:
    if (t.failed) ferry_i_text_free(&t);
    return t.s;
}
