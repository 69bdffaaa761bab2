/* Results as a table for people, on one screen: methods ranked by the deciding metric with the
 * verdict on each, and the outcome in a sentence. Everything else is in explain.c. At most 100
 * columns where the names allow: metrics that do not fit beside the rest follow in a second table. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "show/show.h"

const ferry_result *ferry_i_results_ranked(const ferry_results *rs, int64_t rank)
{
    for (int64_t i = 0; ferry_results_at(rs, i); i++)
        if (ferry_results_at(rs, i)->rank == rank) return ferry_results_at(rs, i);
    return NULL;
}

/* Show the result of that rank, unless it is there or there is no space. */
static void show(ferry_sheet *s, int64_t *n, const ferry_result *r)
{
    if (!r || r->rank == 0 || *n == FERRY_SHOWN) return;
    for (int64_t i = 0; i < *n; i++)
        if (s->rank[i] == r->rank) return;
    s->rank[(*n)++] = r->rank;
}

static int by_rank(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* The recommended ones, the best of each kind, and then who follows; controls are for `--all`. */
static void choose_rows(ferry_sheet *s)
{
    const ferry_recommendation *a = ferry_results_answer(s->rs);
    int64_t n = 0;

    for (int64_t i = 0; a && i < a->members; i++)
        show(s, &n, ferry_results_find(s->rs, a->member[i].name));
    for (int kind = FERRY_USES_TARGET_ONLY; kind <= FERRY_USES_TRANSFER; kind++)
        for (int64_t i = 1; i <= s->rows; i++)
            if (ferry_i_results_ranked(s->rs, i)->uses == (ferry_uses)kind) {
                show(s, &n, ferry_i_results_ranked(s->rs, i));
                break;
            }
    show(s, &n, ferry_results_at(s->rs, s->run->best_baseline));
    if (s->run->primary) show(s, &n, ferry_results_find(s->rs, s->run->primary->name));
    for (int64_t i = 1; i <= s->rows; i++)
        if (ferry_i_results_ranked(s->rs, i)->uses != FERRY_USES_CONTROL)
            show(s, &n, ferry_i_results_ranked(s->rs, i));
    qsort(s->rank, (size_t)n, sizeof *s->rank, by_rank);
    s->rows = n;
    s->few = true;
}

ferry_sheet ferry_i_sheet(const ferry_results *rs, bool few)
{
    ferry_sheet s = {.rs = rs, .run = ferry_results_info(rs)};

    while (ferry_i_results_ranked(rs, s.rows + 1))
        s.rows++;
    if (s.rows > 0)
        s.metrics = ((const ferry_entry *)ferry_i_results_ranked(rs, 1))->n_metrics;
    s.versus = s.run->best_baseline >= 0 && s.metrics > 0;
    for (int64_t i = 1; i <= s.rows; i++)
        s.judged = s.judged || ferry_i_results_ranked(rs, i)->verdict;
    s.cols = s.metrics + 3 + s.versus + s.judged;
    if (few && s.rows > FERRY_SHOWN) choose_rows(&s);
    return s;
}

/* ---- cells ---- */

/* "+0.052 (0.031 to 0.070)": positive is better, whatever the metric. */
static void versus_cell(const ferry_sheet *s, const ferry_result *r, char *buf, size_t n)
{
    const int places = ferry_i_metric_places(s->rs, 0);
    const ferry_words d = ferry_i_number_words(places, true, r->gain);

    if (r->pairs == 0 && ferry_results_at(s->rs, s->run->best_baseline) == r)
        (void)snprintf(buf, n, "best baseline");
    else if (isnan(r->low))
        (void)snprintf(buf, n, "%s", d.s);
    else if (isnan(r->p_compare))
        (void)snprintf(buf, n, "equal in every repeat");
    else
        (void)snprintf(buf, n, "%s (%s to %s)", d.s,
                       ferry_i_number_words(places, false, r->low).s,
                       ferry_i_number_words(places, false, r->high).s);
}

/* "open (at most +0.061)": either way, no larger difference. */
static void verdict_cell(const ferry_sheet *s, const ferry_result *r, char *buf, size_t n)
{
    const char *word = r->verdict ? ferry_verdict_name(r->verdict) : "";

    if (r->verdict == FERRY_OPEN && isfinite(r->most))
        (void)snprintf(
            buf, n, "%s (at most %s)", word,
            ferry_i_number_words(ferry_i_metric_places(s->rs, 0), true, r->most).s);
    else
        (void)snprintf(buf, n, "%s", word);
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
    const int64_t rank = s->few && row > 0 ? s->rank[row - 1] : row;
    const ferry_result *r = row > 0 ? ferry_i_results_ranked(s->rs, rank) : NULL;

    if (col == 0) return r ? r->name : "method";
    if (col == 1) return r ? ferry_i_uses_name(r->uses) : "uses";
    if (col <= s->metrics + 1) {
        const ferry_metric_runs *m =
            ferry_result_metric_at(r ? r : ferry_i_results_ranked(s->rs, 1), col - 2);
        if (!r) return m->name;
        (void)snprintf(buf, FERRY_CELL, "%s",
                       ferry_i_spread_words(ferry_i_metric_places(s->rs, col - 2), m).s);
    } else if (col == s->metrics + 2) {
        if (!r) return "fit s";
        seconds_cell(r, buf, FERRY_CELL);
    } else if (s->versus && col == s->metrics + 3) {
        if (!r && ferry_i_results_by_policy(s->rs)) return "vs target only [95 %]";
        if (!r) return "vs best baseline [95 %]";
        versus_cell(s, r, buf, FERRY_CELL);
    } else {
        if (!r) return "verdict";
        verdict_cell(s, r, buf, FERRY_CELL);
    }
    return buf;
}

bool ferry_i_sheet_left(const ferry_sheet *s, int64_t col)
{
    return col <= 1 || col > s->metrics + 2;
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
    int64_t cols[COLUMNS], n = 0, next = 2;
    int64_t used = 2 + column_width(s, 1);

    for (int64_t c = s->metrics + 2; c < s->cols; c++)
        used += 2 + column_width(s, c);
    for (bool first = true; first || next <= s->metrics + 1; first = false) {
        n = 0;
        cols[n++] = 0;
        if (first) cols[n++] = 1;
        used += column_width(s, 0);
        for (const int64_t names = n; next <= s->metrics + 1; next++) {
            used += 2 + column_width(s, next);
            if (used > FERRY_WIDTH && n > names) break;
            cols[n++] = next;
        }
        for (int64_t c = s->metrics + 2; first && c < s->cols; c++)
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
    else if (run->folds > 1 && run->repeats % run->folds == 0)
        ferry_i_text_addf(t, "%lld x %lld-fold cross-validation",
                          (long long)(run->repeats / run->folds), (long long)run->folds);
    else if (run->folds > 1)
        ferry_i_text_addf(t, "%lld folds of %lld", (long long)run->repeats,
                          (long long)run->folds);
    else
        ferry_i_text_addf(t, "%lld repeat%s", (long long)run->repeats,
                          run->repeats == 1 ? "" : "s");
    ferry_i_text_addf(t, ", seed %llu", (unsigned long long)run->seed);
    if (m)
        ferry_i_text_addf(t, "; ranked by %s (%s is better)", m->name,
                          m->larger_is_better ? "larger" : "smaller");
    ferry_i_text_add(t, "\n\n");
    if (!run->bridge) return;
    ferry_i_report_wrap(t, run->bridge, 0);
    ferry_i_text_add(t, "\n");
}

/* Why a method that was asked for, or broke down, has no result. Of the others, which just do not fit the
 * task: why, where they are one or two; else how many, and where their reasons are. */
static void add_skipped(ferry_text *t, const ferry_sheet *s)
{
    int64_t n = 0;

    for (int64_t i = 0; ferry_results_at(s->rs, i); i++)
        n += ferry_results_at(s->rs, i)->unasked;
    for (int64_t i = 0; ferry_results_at(s->rs, i); i++) {
        const ferry_result *r = ferry_results_at(s->rs, i);
        ferry_text one = {0};
        if (!r->reason || (r->unasked && n > 2)) continue;
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

/* What "vs target only" is: T is no row of the table. */
static void add_reference(ferry_text *t, const ferry_sheet *s)
{
    if (s->versus && ferry_i_results_by_policy(s->rs))
        ferry_i_text_addf(t, "target only: what your labels choose without transfer, %s.\n",
                          ferry_i_number_words(ferry_i_metric_places(s->rs, 0), false,
                                               s->run->reference_mean)
                              .s);
}

/* "  Use      text", broken so that texts stand below each other. */
static void add_line(ferry_text *t, const char *word, const char *text)
{
    enum { INDENT = 11 };
    ferry_text line = {0}, broken = {0};

    /* a word as long as the indent stands for it while lines are broken */
    ferry_i_text_addf(&line, "%.*s %s", INDENT - 1, "-----------", text);
    if (line.s) ferry_i_report_wrap(&broken, line.s, INDENT);
    ferry_i_text_addf(t, "  %-*s", INDENT - 2, word);
    if (broken.len >= INDENT) ferry_i_text_add(t, broken.s + INDENT);
    t->failed = t->failed || line.failed || broken.failed;
    ferry_i_text_free(&line);
    ferry_i_text_free(&broken);
}

void ferry_i_report_answer(ferry_text *t, const ferry_results *rs)
{
    const ferry_recommendation *a = ferry_results_answer(rs);

    if (!a) return;
    ferry_i_text_addf(t, "%s\n\n", a->head);
    add_line(t, "Use", a->use);
    add_line(t, "Expect", a->expect);
    add_line(t, "Source", a->source);
    ferry_i_text_addf(t, "  %-9s%s\n", "Next", a->next);
    if (a->remark) {
        ferry_i_text_add(t, "\n");
        ferry_i_report_wrap(t, a->remark, 0);
    }
    ferry_i_text_add(t, "\n");
}

ferry_status ferry_i_results_table(ferry_ctx *ctx, const ferry_results *rs, bool few,
                                   char **out)
{
    ferry_status st = FERRY_OK;
    const ferry_sheet s = ferry_i_sheet(rs, few);
    ferry_text t = {0};
    int64_t ran = 0;

    while (ferry_i_results_ranked(rs, ran + 1))
        ran++;
    ferry_i_report_answer(&t, rs);
    add_heading(&t, &s);
    add_tables(&t, &s);
    ferry_i_text_add(&t, "\n");
    if (ran > s.rows)
        ferry_i_text_addf(&t, "%lld more method%s: ferry table DIR --all.\n",
                          (long long)(ran - s.rows), ran - s.rows == 1 ? "" : "s");
    add_skipped(&t, &s);
    add_reference(&t, &s);
    ferry_i_report_wrap(&t, s.run->sentence, 0);
    FERRY_HAVE(ctx, !t.failed);
    FERRY_MOVE(*out, t.s);
done:
    ferry_i_text_free(&t);
    return st;
}
