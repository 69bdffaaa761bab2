/* Results explained: what the one screen of table.c leaves out. Of all methods: the verdicts in
 * words, streams as they go, what did not run, notes. Of one: every metric, the comparison, the
 * controls it was held against, its settings, what its fit told. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "show/show.h"

void ferry_i_report_wrap(ferry_text *t, const char *text, int indent)
{
    int64_t at = 0;

    for (const char *s = text; *s;) {
        const size_t len = strcspn(s, " ");
        char word[FERRY_WIDTH + 1];
        (void)snprintf(word, sizeof word, "%.*s", (int)len, s);
        const int64_t w = len <= FERRY_WIDTH ? ferry_i_utf8_width(word) : (int64_t)len;
        if (at > 0 && at + 1 + w > FERRY_WIDTH) {
            ferry_i_text_addf(t, "\n%*s", indent, "");
            at = indent;
        } else if (at > 0) {
            ferry_i_text_add(t, " ");
            at++;
        }
        ferry_i_text_addn(t, s, (int64_t)len);
        at += w;
        s += len;
        s += strspn(s, " ");
    }
    ferry_i_text_add(t, "\n");
}

/* ---- all methods ---- */

/* A list under a title that stands there once: "- before: text", wrapped. */
static void add_item(ferry_text *t, const char *title, bool *any, const char *before,
                     const char *text)
{
    ferry_text line = {0};

    if (!*any) ferry_i_text_addf(t, "%s%s:\n", t->len > 0 ? "\n" : "", title);
    *any = true;
    ferry_i_text_addf(&line, before ? "- %s: %s" : "- %s%s", before ? before : "", text);
    if (!line.failed) ferry_i_report_wrap(t, line.s, 2);
    t->failed = t->failed || line.failed;
    ferry_i_text_free(&line);
}

/* One line for each transfer method: did it help, and was it the source? And what the words mean. */
static void add_verdicts(ferry_text *t, const ferry_sheet *s)
{
    static const ferry_verdict words[] = {
        FERRY_BEST,         FERRY_HELPS,          FERRY_GOOD_LEARNER,
        FERRY_SOURCE_OPEN,  FERRY_IGNORES_SOURCE, FERRY_HARMS,
        FERRY_WEAK_LEARNER, FERRY_SAME,           FERRY_OPEN};
    static const char *const means[] = {
        [FERRY_BEST] = "helps, and is better than the best way without transfer, chosen in "
                       "hindsight",
        [FERRY_HELPS] = "better than what your labels would choose without the source, and "
                        "it is the source",
        [FERRY_GOOD_LEARNER] = "better, but shuffled sources do as well: the learner, not "
                               "the source",
        [FERRY_SOURCE_OPEN] = "better; whether by the source is not shown",
        [FERRY_IGNORES_SOURCE] = "no shuffled source changes a prediction",
        [FERRY_HARMS] = "worse, and by the source: shuffled ones do less harm",
        [FERRY_WEAK_LEARNER] = "worse, not shown to be the source's doing",
        [FERRY_SAME] = "no difference that would matter",
        [FERRY_OPEN] = "better or worse is not shown; no difference larger than the number "
                       "in the table, either way"};
    bool any = false, met[FERRY_BEST + 1] = {false};

    for (int64_t i = 1; i <= s->rows; i++) {
        const ferry_result *r = ferry_i_results_ranked(s->rs, i);
        if (r->sentence) add_item(t, "verdict", &any, NULL, r->sentence);
        if (r->sentence) met[r->verdict] = true;
    }
    any = false;
    for (int64_t i = 0; i < FERRY_COUNT(words); i++)
        if (met[words[i]])
            add_item(t, "in words", &any, ferry_verdict_name(words[i]), means[words[i]]);
}

/* Of streams: the mistake rate so far at each tenth. */
static void add_curves(ferry_text *t, const ferry_sheet *s)
{
    const ferry_result *best = ferry_i_results_ranked(s->rs, 1);
    int64_t first = (int64_t)strlen("method");

    if (!best || best->points == 0) return;
    for (int64_t i = 1; i <= s->rows; i++) {
        const int64_t w = ferry_i_utf8_width(ferry_i_results_ranked(s->rs, i)->name);
        if (w > first) first = w;
    }
    ferry_i_text_addf(t, "%smistake rate so far, by rows seen (labels arriving: %g",
                      t->len > 0 ? "\n" : "", s->run->arriving);
    if (s->run->delay > 0)
        ferry_i_text_addf(t, ", %lld rows later", (long long)s->run->delay);
    ferry_i_text_addf(t, ")\n%-*s", (int)first, "method");
    for (int64_t j = 9; j < best->points; j += 10)
        ferry_i_text_addf(t, " %6.0f", best->curve_rows[j]);
    for (int64_t i = 1; i <= s->rows; i++) {
        const ferry_result *r = ferry_i_results_ranked(s->rs, i);
        ferry_i_text_addf(t, "\n%s%*s", r->name, (int)(first - ferry_i_utf8_width(r->name)),
                          "");
        for (int64_t j = 9; j < r->points; j += 10)
            ferry_i_text_addf(t, " %6.3f", r->curve_mean[j]);
    }
    ferry_i_text_add(t, "\n");
}

/* Sentences begin with the method's name: it is not said twice. */
static void add_skipped(ferry_text *t, const ferry_sheet *s)
{
    bool any = false;

    for (int64_t i = 0; ferry_results_at(s->rs, i); i++) {
        const ferry_result *r = ferry_results_at(s->rs, i);
        if (!r->reason) continue;
        const bool named = strncmp(r->reason, r->name, strlen(r->name)) == 0;
        add_item(t, "no result from", &any, named ? NULL : r->name, r->reason);
    }
}

/* What methods have to say about their results. */
static void add_notes(ferry_text *t, const ferry_sheet *s)
{
    bool any = false;

    for (int64_t i = 0; ferry_results_at(s->rs, i); i++) {
        const ferry_result *r = ferry_results_at(s->rs, i);
        if (r->note && !r->reason) add_item(t, "notes", &any, r->name, r->note);
    }
}

static void explain_all(ferry_text *t, const ferry_sheet *s)
{
    ferry_i_report_answer(t, s->rs);
    const int64_t before = t->len;
    add_verdicts(t, s);
    add_curves(t, s);
    add_skipped(t, s);
    add_notes(t, s);
    if (t->len == before) ferry_i_text_add(t, "every method ran, and none was judged\n");
}

/* ---- one method ---- */

static void add_metrics(ferry_text *t, const ferry_sheet *s, const ferry_result *r)
{
    ferry_i_text_addf(t, "\nrank %lld of %lld, mean over %lld repeat%s \u00b1 deviation\n",
                      (long long)r->rank, (long long)s->rows, (long long)r->repeats,
                      r->repeats == 1 ? "" : "s");
    for (int64_t m = 0; ferry_result_metric_at(r, m); m++) {
        const ferry_metric_runs *x = ferry_result_metric_at(r, m);
        ferry_i_text_addf(t, "  %-20s %s (%s is better)\n", x->name,
                          ferry_i_spread_words(ferry_i_metric_places(s->rs, m), x).s,
                          x->larger_is_better ? "larger" : "smaller");
    }
    ferry_i_text_addf(t, "  %-20s %.3g s\n", "fit", ferry_i_mean(r->repeats, r->seconds));
}

static void add_versus(ferry_text *t, const ferry_sheet *s, const ferry_result *r)
{
    const int places = ferry_i_metric_places(s->rs, 0);

    if (!r->baseline || r->pairs == 0) return;
    if (ferry_i_results_by_policy(s->rs))
        ferry_i_text_add(t, "\nagainst what your labels choose without the source "
                            "(positive is better)\n");
    else
        ferry_i_text_addf(t,
                          "\nagainst %s, the best without transfer (positive is better)\n",
                          r->baseline);
    ferry_i_text_addf(t, "  %-20s %s\n", "difference",
                      ferry_i_number_words(places, true, r->gain).s);
    if (!isnan(r->low))
        ferry_i_text_addf(t, "  %-20s %s to %s\n", "95 % interval",
                          ferry_i_number_words(places, true, r->low).s,
                          ferry_i_number_words(places, true, r->high).s);
    if (!isnan(r->most))
        ferry_i_text_addf(t, "  %-20s %s\n", "no difference above",
                          ferry_i_number_words(places, false, r->most).s);
    if (!isnan(r->p_compare))
        ferry_i_text_addf(t, "  %-20s %s\n", "p-value", ferry_i_p_words(r->p_compare).s);
}

/* The same method where the knowledge is made up, or without one of its sources. */
static void add_evidence(ferry_text *t, const ferry_sheet *s, const ferry_result *r)
{
    const int places = ferry_i_metric_places(s->rs, 0);

    for (int64_t i = 0; ferry_i_result_evidence_at(r, i); i++) {
        const ferry_evidence *e = ferry_i_result_evidence_at(r, i);
        char what[64];
        if (i == 0)
            ferry_i_text_add(
                t,
                "\nthe same method where the knowledge is made up, or a source left out\n");
        (void)snprintf(what, sizeof what, "%s%s%s", e->control, e->source ? " " : "",
                       e->source ? e->source : "");
        ferry_i_text_addf(t, "  %-20s ", what);
        if (e->reason) {
            ferry_i_text_addf(t, "%s\n", e->reason);
            continue;
        }
        ferry_i_text_addf(t, "%s, so the real one gives %s",
                          ferry_i_number_words(places, false, e->mean).s,
                          ferry_i_number_words(places, true, e->gain).s);
        ferry_i_text_addf(t, " (%lld draw%s, %lld split%s)%s\n", (long long)e->draws,
                          e->draws == 1 ? "" : "s", (long long)e->repeats,
                          e->repeats == 1 ? "" : "s", e->same ? ": the same answers" : "");
    }
}

static void add_settings(ferry_text *t, const ferry_result *r)
{
    const int64_t n = ferry_i_opts_count(r->options);

    if (n > 0) ferry_i_text_add(t, "\nsettings\n");
    for (int64_t i = 0; i < n; i++) {
        const ferry_setting *o = ferry_opts_at(r->options, i);
        ferry_i_text_addf(t, "  %-20s %s\n", o->key, o->value);
    }
}

/* Single numbers and texts; of lists how long they are; parts of parts are counted. */
static void add_diagnostics(ferry_text *t, const ferry_result *r)
{
    int64_t parts = 0;

    for (int64_t i = 0; ferry_result_diagnostic_at(r, i); i++) {
        const ferry_diagnostic *d = ferry_result_diagnostic_at(r, i);
        if (i == 0) ferry_i_text_add(t, "\nrecorded by the last fit\n");
        if (strchr(d->name, '.')) {
            parts++;
            continue;
        }
        ferry_i_text_addf(t, "  %-20s ", d->name);
        if (d->count != 1)
            ferry_i_text_addf(t, "%lld values, in results.json\n", (long long)d->count);
        else if (d->texts)
            ferry_i_text_addf(t, "%s\n", d->texts[0]);
        else
            ferry_i_text_addf(t, "%.6g\n", d->numbers ? d->numbers[0] : NAN);
    }
    if (parts > 0) ferry_i_text_addf(t, "  %lld more, in results.json\n", (long long)parts);
}

static void explain_one(ferry_text *t, const ferry_sheet *s, const ferry_result *r)
{
    const ferry_method_info *m = ferry_method_find(r->method);

    ferry_i_text_addf(t, "%s%s%s\n", r->name, m ? ": " : "", m ? m->summary : "");
    if (m && m->reference) ferry_i_text_addf(t, "%s\n", m->reference);
    if (r->reason) {
        ferry_i_text_add(t, "\n");
        ferry_i_report_wrap(t, r->reason, 0);
        return;
    }
    if (r->sentence) {
        ferry_i_text_add(t, "\n");
        ferry_i_report_wrap(t, r->sentence, 0);
    }
    if (r->note) {
        ferry_i_text_add(t, "\n");
        ferry_i_report_wrap(t, r->note, 0);
    }
    add_metrics(t, s, r);
    add_versus(t, s, r);
    add_evidence(t, s, r);
    add_settings(t, r);
    add_diagnostics(t, r);
}

ferry_status ferry_results_explain(ferry_ctx *ctx, const ferry_results *rs,
                                   const char *method, char **out)
{
    FERRY_ARGS_OUT(ctx, out, out, rs);

    ferry_status st = FERRY_OK;
    const ferry_sheet s = ferry_i_sheet(rs, false);
    const ferry_result *r = method ? ferry_results_find(rs, method) : NULL;
    ferry_text t = {0};

    *out = NULL;
    if (method && !r) {
        for (int64_t i = 0; ferry_results_at(rs, i); i++)
            ferry_i_text_addf(&t, "%s%s", i > 0 ? ", " : "", ferry_results_at(rs, i)->name);
        FERRY_HAVE(ctx, !t.failed);
        st =
            ferry_i_fail(ctx, FERRY_EINVAL, "no method '%s' in these results; there are %s",
                         method, t.s ? t.s : "none");
        goto done;
    }
    if (r)
        explain_one(&t, &s, r);
    else
        explain_all(&t, &s);
    FERRY_HAVE(ctx, !t.failed);
    FERRY_MOVE(*out, t.s);
done:
    ferry_i_text_free(&t);
    return st;
}
