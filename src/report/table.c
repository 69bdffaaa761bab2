/* Results as a table for people, on one screen: methods ranked by the deciding metric with the
 * verdict on each, and the outcome in a sentence. Everything else is in explain.c. At most 100
 * columns where the names allow: metrics that do not fit beside the rest follow in a second table. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/report.h"

const ferry_result *ferry_i_results_ranked(const ferry_results *rs, int64_t rank)
{
    for (int64_t i = 0; i < ferry_results_count(rs); i++)
        if (ferry_results_at(rs, i)->rank == rank) return ferry_results_at(rs, i);
    return NULL;
}

ferry_sheet ferry_i_sheet(const ferry_results *rs)
{
    ferry_sheet s = {.rs = rs, .run = ferry_results_info(rs)};

    while (ferry_i_results_ranked(rs, s.rows + 1))
        s.rows++;
    if (s.rows > 0) s.metrics = ferry_result_metric_count(ferry_i_results_ranked(rs, 1));
    s.versus = s.run->best_baseline >= 0 && s.metrics > 0;
    for (int64_t i = 1; i <= s.rows; i++)
        s.judged = s.judged || ferry_i_results_ranked(rs, i)->verdict;
    s.cols = s.metrics + 2 + s.versus + s.judged;
    return s;
}

/* ---- cells ---- */

/* "+0.052 [+0.031, +0.070]" in the metric's own sign. */
static void versus_cell(const ferry_sheet *s, const ferry_result *r, char *buf, size_t n)
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

const char *ferry_i_sheet_cell(const ferry_sheet *s, int64_t row, int64_t col,
                               char buf[FERRY_CELL])
{
    const ferry_result *r = row > 0 ? ferry_i_results_ranked(s->rs, row) : NULL;

    if (col == 0) return r ? r->name : "method";
    if (col <= s->metrics) {
        const ferry_metric_runs *m =
            ferry_result_metric_at(r ? r : ferry_i_results_ranked(s->rs, 1), col - 1);
        if (!r) return m->name;
        (void)snprintf(buf, FERRY_CELL, "%s",
                       ferry_i_spread_words(ferry_i_metric_places(s->rs, col - 1), m).s);
    } else if (col == s->metrics + 1) {
        if (!r) return "fit s";
        seconds_cell(r, buf, FERRY_CELL);
    } else if (s->versus && col == s->metrics + 2) {
        if (!r) return "vs best baseline [95 %]";
        versus_cell(s, r, buf, FERRY_CELL);
    } else {
        if (!r) return "verdict";
        return r->verdict ? ferry_verdict_name(r->verdict) : "";
    }
    return buf;
}

bool ferry_i_sheet_left(const ferry_sheet *s, int64_t col)
{
    return col == 0 || col > s->metrics + 1;
}

static int64_t column_width(const ferry_sheet *s, int64_t col)
{
    int64_t most = 0;
    char buf[FERRY_CELL];

    for (int64_t row = 0; row <= s->rows; row++) {
        const int64_t w = ferry_i_utf8_width(ferry_i_sheet_cell(s, row, col, buf));
        if (w > most) most = w;
    }
    return most;
}

enum { COLUMNS = 64 }; /* more than there are metrics */

/* Names, differences and verdicts to the left, numbers to the right; no blanks at a line's end. */
static void add_block(ferry_text *t, const ferry_sheet *s, int64_t n, const int64_t *cols)
{
    int64_t width[COLUMNS];

    for (int64_t c = 0; c < n; c++)
        width[c] = column_width(s, cols[c]);
    for (int64_t row = 0; row <= s->rows; row++) {
        int64_t blanks = 0;
        for (int64_t c = 0; c < n; c++) {
            char buf[FERRY_CELL];
            const char *text = ferry_i_sheet_cell(s, row, cols[c], buf);
            const bool left = ferry_i_sheet_left(s, cols[c]);
            const int64_t pad = width[c] - ferry_i_utf8_width(text);
            blanks += (c > 0 ? 2 : 0) + (left ? 0 : pad);
            if (text[0]) {
                ferry_i_text_addf(t, "%*s%s", (int)blanks, "", text);
                blanks = 0;
            }
            blanks += left ? pad : 0;
        }
        ferry_i_text_add(t, "\n");
    }
}

/* The first table: name, as many metrics as fit (one at least), seconds, difference, verdict. Then
 * the metrics that are left, as many at a time as fit. */
static void add_tables(ferry_text *t, const ferry_sheet *s)
{
    int64_t cols[COLUMNS], n = 0, next = 1;
    int64_t used = 0;

    for (int64_t c = s->metrics + 1; c < s->cols; c++)
        used += 2 + column_width(s, c);
    for (bool first = true; first || next <= s->metrics; first = false) {
        n = 0;
        cols[n++] = 0;
        used += column_width(s, 0);
        for (; next <= s->metrics; next++) {
            used += 2 + column_width(s, next);
            if (used > FERRY_WIDTH && n > 1) break;
            cols[n++] = next;
        }
        for (int64_t c = s->metrics + 1; first && c < s->cols; c++)
            cols[n++] = c;
        if (!first) ferry_i_text_add(t, "\n");
        add_block(t, s, n, cols);
        used = 0;
    }
}

/* ---- all of it ---- */

static void add_heading(ferry_text *t, const ferry_sheet *s)
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

/* Why one or two did not run; where more did not, how many, and where their reasons are. */
static void add_skipped(ferry_text *t, const ferry_sheet *s)
{
    const int64_t n = ferry_results_count(s->rs) - s->rows;

    for (int64_t i = 0; n <= 2 && i < ferry_results_count(s->rs); i++) {
        const ferry_result *r = ferry_results_at(s->rs, i);
        ferry_text one = {0};
        if (!r->reason) continue;
        /* most sentences begin with the method's name */
        const bool named = strncmp(r->reason, r->name, strlen(r->name)) == 0;
        ferry_i_text_addf(&one, "no result: %s%s%s", named ? "" : r->name,
                          named ? "" : ": ", r->reason);
        if (one.s) ferry_i_report_wrap(t, one.s, 0);
        t->failed = t->failed || one.failed;
        ferry_i_text_free(&one);
    }
    if (n > 2)
        ferry_i_text_addf(t, "%lld method%s no result (ferry explain says why).\n",
                          (long long)n, n == 1 ? " has" : "s have");
}

ferry_status ferry_results_table(ferry_ctx *ctx, const ferry_results *rs, char **out)
{
    FERRY_ARGS_OUT(ctx, out, out, rs);

    ferry_status st = FERRY_OK;
    const ferry_sheet s = ferry_i_sheet(rs);
    ferry_text t = {0};

    add_heading(&t, &s);
    add_tables(&t, &s);
    ferry_i_text_add(&t, "\n");
    add_skipped(&t, &s);
    ferry_i_report_wrap(&t, s.run->sentence, 0);
    if (ferry_results_guard(rs)) {
        ferry_i_text_add(&t, "\n");
        ferry_i_report_wrap(&t, ferry_results_guard(rs)->sentence, 0);
    }
    FERRY_HAVE(ctx, !t.failed);
    FERRY_MOVE(*out, t.s);
done:
    ferry_i_text_free(&t);
    return st;
}
