/* Results as a table for people: methods ranked by the deciding metric, what did not run
 * and why, and the outcome in a sentence. At most 100 columns where the names allow:
 * metrics that do not fit beside the rest follow in a second table. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/report.h"

enum { WIDTH = 100, CELL = 300 };

const ferry_result *ferry_i_results_ranked(const ferry_results *rs, int64_t rank)
{
    for (int64_t i = 0; i < ferry_results_count(rs); i++)
        if (ferry_results_at(rs, i)->rank == rank) return ferry_results_at(rs, i);
    return NULL;
}

/* What is laid out: the results that ran, best first. */
typedef struct sheet {
    const ferry_results *rs;
    const ferry_run_info *run;
    int64_t rows, metrics;
} sheet;

/* ---- cells ---- */

/* "+0.052 [+0.031, +0.070]" in the metric's own sign. */
static void versus_cell(const sheet *s, const ferry_result *r, char *buf, size_t n)
{
    const int places = ferry_i_metric_places(s->rs, 0);
    const bool larger = ferry_result_metric_at(r, 0)->larger_is_better;
    const ferry_words d = ferry_i_number_words(places, true, larger ? r->gain : -r->gain);

    if (ferry_results_at(s->rs, s->run->best_baseline) == r)
        (void)snprintf(buf, n, "best baseline");
    else if (isnan(r->low))
        (void)snprintf(buf, n, "%s", d.s);
    else if (isnan(r->p_compare))
        (void)snprintf(buf, n, "equal in every repeat");
    else
        (void)snprintf(buf, n, "%s [%s, %s]", d.s,
                       ferry_i_number_words(places, true, larger ? r->low : -r->high).s,
                       ferry_i_number_words(places, true, larger ? r->high : -r->low).s);
}

static void seconds_cell(const ferry_result *r, char *buf, size_t n)
{
    const double s = ferry_i_mean(r->repeats, r->seconds);

    if (s < 0.01)
        (void)snprintf(buf, n, "<0.01");
    else
        (void)snprintf(buf, n, s < 100 ? "%.2f" : "%.0f", s);
}

/* Columns: the name, the metrics, fit seconds, difference, verdict. Row 0 is the heading. */
static const char *cell(const sheet *s, int64_t row, int64_t col, char *buf)
{
    const ferry_result *r = row > 0 ? ferry_i_results_ranked(s->rs, row) : NULL;

    if (col == 0) return r ? r->name : "method";
    if (col <= s->metrics) {
        const ferry_metric_runs *m =
            ferry_result_metric_at(r ? r : ferry_i_results_ranked(s->rs, 1), col - 1);
        if (!r) return m->name;
        (void)snprintf(buf, CELL, "%s",
                       ferry_i_spread_words(ferry_i_metric_places(s->rs, col - 1), m).s);
    } else if (col == s->metrics + 1) {
        if (!r) return "fit s";
        seconds_cell(r, buf, CELL);
    } else if (col == s->metrics + 2) {
        if (!r) return "vs best baseline [95 % interval]";
        versus_cell(s, r, buf, CELL);
    } else {
        return !r ? "verdict" : r->verdict ? ferry_verdict_name(r->verdict) : "";
    }
    return buf;
}

static int64_t column_width(const sheet *s, int64_t col)
{
    int64_t most = 0;
    char buf[CELL];

    for (int64_t row = 0; row <= s->rows; row++) {
        const int64_t w = ferry_i_utf8_width(cell(s, row, col, buf));
        if (w > most) most = w;
    }
    return most;
}

enum { COLUMNS = 32 }; /* more than there are metrics */

/* Names and differences to the left, numbers to the right. */
static void add_block(ferry_text *t, const sheet *s, int64_t n, const int64_t *cols)
{
    int64_t width[COLUMNS];

    for (int64_t c = 0; c < n; c++)
        width[c] = column_width(s, cols[c]);
    for (int64_t row = 0; row <= s->rows; row++) {
        int left_over = 0;
        for (int64_t c = 0; c < n; c++) {
            char buf[CELL];
            const char *text = cell(s, row, cols[c], buf);
            const bool left = cols[c] == 0 || cols[c] > s->metrics + 1;
            const int pad = (int)(width[c] - ferry_i_utf8_width(text));
            if (!*text)
                continue; /* the verdict of a baseline: no blanks at the end of a line */
            if (c > 0) ferry_i_text_addf(t, "%*s", left_over + 2, "");
            if (!left) ferry_i_text_addf(t, "%*s", pad, "");
            ferry_i_text_add(t, text);
            left_over = left ? pad : 0;
        }
        ferry_i_text_add(t, "\n");
    }
}

/* The first table: name, as many metrics as fit (one at least), seconds, difference. Then
 * the metrics that are left, as many at a time as fit. */
static void add_tables(ferry_text *t, const sheet *s)
{
    int64_t cols[COLUMNS], n = 0, next = 1;
    int64_t last = s->metrics + (s->run->best_baseline >= 0 ? 2 : 1), used = 0;
    bool judged = false;

    for (int64_t i = 1; i <= s->rows; i++)
        judged = judged || ferry_i_results_ranked(s->rs, i)->verdict;
    last += judged && s->run->best_baseline >= 0;
    for (int64_t c = s->metrics + 1; c <= last; c++)
        used += 2 + column_width(s, c);
    for (bool first = true; first || next <= s->metrics; first = false) {
        n = 0;
        cols[n++] = 0;
        used += column_width(s, 0);
        for (; next <= s->metrics; next++) {
            used += 2 + column_width(s, next);
            if (used > WIDTH && n > 1) break;
            cols[n++] = next;
        }
        for (int64_t c = s->metrics + 1; first && c <= last; c++)
            cols[n++] = c;
        if (!first) ferry_i_text_add(t, "\n");
        add_block(t, s, n, cols);
        used = 0;
    }
}

/* Of streams: the mistake rate so far at each tenth. */
static void add_curves(ferry_text *t, const sheet *s)
{
    const int first = (int)column_width(s, 0);
    const ferry_result *best = ferry_i_results_ranked(s->rs, 1);

    if (!best || best->points == 0) return;
    ferry_i_text_addf(t, "\nmistake rate so far, after so many rows (labels arriving: %g",
                      s->run->arriving);
    if (s->run->delay > 0)
        ferry_i_text_addf(t, ", %lld rows later", (long long)s->run->delay);
    ferry_i_text_addf(t, ")\n%-*s", first, "method");
    for (int64_t j = 9; j < best->points; j += 10)
        ferry_i_text_addf(t, " %6.0f", best->curve_rows[j]);
    for (int64_t i = 1; i <= s->rows; i++) {
        const ferry_result *r = ferry_i_results_ranked(s->rs, i);
        ferry_i_text_addf(t, "\n%s%*s", r->name, first - (int)ferry_i_utf8_width(r->name),
                          "");
        for (int64_t j = 9; j < r->points; j += 10)
            ferry_i_text_addf(t, " %6.3f", r->curve_mean[j]);
    }
    ferry_i_text_add(t, "\n");
}

/* ---- words ---- */

/* Add text, broken at spaces to WIDTH columns; later lines begin with `indent` spaces. */
static void add_wrapped(ferry_text *t, const char *text, int indent)
{
    int64_t at = 0;

    for (const char *s = text; *s;) {
        const size_t len = strcspn(s, " ");
        char word[WIDTH + 1];
        (void)snprintf(word, sizeof word, "%.*s", (int)len, s);
        const int64_t w = len <= WIDTH ? ferry_i_utf8_width(word) : (int64_t)len;
        if (at > 0 && at + 1 + w > WIDTH) {
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

/* A list under a title that stands there once: "- before: text", wrapped. */
static void add_item(ferry_text *t, const char *title, bool *any, const char *before,
                     const char *text)
{
    ferry_text line = {0};

    if (!*any) ferry_i_text_addf(t, "\n%s:\n", title);
    *any = true;
    ferry_i_text_addf(&line, before ? "- %s: %s" : "- %s%s", before ? before : "", text);
    if (!line.failed) add_wrapped(t, line.s, 2);
    t->failed = t->failed || line.failed;
    ferry_i_text_free(&line);
}

/* Sentences begin with the method's name: it is not said twice. */
static void add_skipped(ferry_text *t, const sheet *s)
{
    bool any = false;

    for (int64_t i = 0; i < ferry_results_count(s->rs); i++) {
        const ferry_result *r = ferry_results_at(s->rs, i);
        if (!r->reason) continue;
        const bool named = strncmp(r->reason, r->name, strlen(r->name)) == 0;
        add_item(t, "no result from", &any, named ? NULL : r->name, r->reason);
    }
}

/* What methods have to say about their results. */
static void add_notes(ferry_text *t, const sheet *s)
{
    bool any = false;

    for (int64_t i = 0; i < ferry_results_count(s->rs); i++) {
        const ferry_result *r = ferry_results_at(s->rs, i);
        if (r->note && !r->reason) add_item(t, "notes", &any, r->name, r->note);
    }
}

/* One line for each transfer method: did it help, and was it the source? */
static void add_verdicts(ferry_text *t, const sheet *s)
{
    bool any = false;

    for (int64_t i = 1; i <= s->rows; i++) {
        const ferry_result *r = ferry_i_results_ranked(s->rs, i);
        if (r->sentence) add_item(t, "verdict", &any, NULL, r->sentence);
    }
}

/* ---- all of it ---- */

static void add_heading(ferry_text *t, const sheet *s)
{
    const ferry_run_info *run = s->run;
    const ferry_result *best = ferry_i_results_ranked(s->rs, 1);
    const ferry_metric_runs *m = best ? ferry_result_metric_at(best, 0) : NULL;

    ferry_i_text_addf(t, "%s: %s '%s', ", run->task, ferry_goal_name(run->goal),
                      run->target);
    if (run->repeats < run->planned)
        ferry_i_text_addf(t, "stopped after %lld of %lld repeats", (long long)run->repeats,
                          (long long)run->planned);
    else
        ferry_i_text_addf(t, "%lld repeat%s", (long long)run->repeats,
                          run->repeats == 1 ? "" : "s");
    ferry_i_text_addf(t, ", seed %llu", (unsigned long long)run->seed);
    if (m)
        ferry_i_text_addf(t, "; ranked by %s (%s is better)", m->name,
                          m->larger_is_better ? "larger" : "smaller");
    ferry_i_text_add(t, "\n\n");
}

ferry_status ferry_results_table(ferry_ctx *ctx, const ferry_results *rs, char **out)
{
    FERRY_ARGS_OUT(ctx, out, out, rs);

    ferry_status st = FERRY_OK;
    sheet s = {.rs = rs, .run = ferry_results_info(rs)};
    ferry_text t = {0};

    while (ferry_i_results_ranked(rs, s.rows + 1))
        s.rows++;
    if (s.rows > 0) s.metrics = ferry_result_metric_count(ferry_i_results_ranked(rs, 1));
    add_heading(&t, &s);
    add_tables(&t, &s);
    add_curves(&t, &s);
    add_skipped(&t, &s);
    add_notes(&t, &s);
    ferry_i_text_add(&t, "\n");
    add_wrapped(&t, s.run->sentence, 0);
    add_verdicts(&t, &s);
    if (ferry_results_guard(rs)) {
        ferry_i_text_add(&t, "\n");
        add_wrapped(&t, ferry_results_guard(rs)->sentence, 0);
    }
    FERRY_HAVE(ctx, !t.failed);
    FERRY_MOVE(*out, t.s);
done:
    ferry_i_text_free(&t);
    return st;
}
