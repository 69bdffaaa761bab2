/* Results as a table for people: methods ranked by the deciding metric, what did not run
 * and why, and the outcome in a sentence. At most 100 columns where the names allow:
 * metrics that do not fit beside the rest follow in a second table. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/report.h"

enum { WIDTH = 100, CELL = 240 };

/* ---- numbers ---- */

/* Decimals for values of this size: three for shares, fewer for larger numbers; -1: so
 * large or small that only an exponent tells. */
static int decimals(double size)
{
    if (size == 0 || !isfinite(size)) return 3;
    if (size >= 1e6 || size < 1e-4) return -1;
    return size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : size >= 0.1 ? 3 : 5;
}

void ferry_i_report_number(char *buf, size_t n, int places, bool sign, double x)
{
    if (isnan(x))
        (void)snprintf(buf, n, "n/a");
    else if (places < 0)
        (void)snprintf(buf, n, sign ? "%+.2e" : "%.2e", x);
    else {
        if (fabs(x) < 0.5 * pow(10, -places)) x = 0; /* never -0.0 */
        (void)snprintf(buf, n, sign && x != 0 ? "%+.*f" : "%.*f", places, x);
    }
}

static void format_p(char *buf, size_t n, double p)
{
    if (p < 0.001)
        (void)snprintf(buf, n, "p<0.001");
    else
        (void)snprintf(buf, n, "p=%.3f", p);
}

int ferry_i_report_places(const ferry_results *rs, int64_t m)
{
    double most = 0;

    for (int64_t i = 0; i < rs->n; i++)
        if (!rs->result[i].unfit)
            most = fmax(most, fabs(ferry_i_result_mean(rs, &rs->result[i], m)));
    return decimals(most);
}

/* "0.912 ± 0.021"; without the deviation when there is one repeat. */
static void mean_std(const ferry_results *rs, const ferry_result *r, int64_t m, char *buf,
                     size_t n)
{
    const int places = ferry_i_report_places(rs, m);
    char mean[48], std[48];

    ferry_i_report_number(mean, sizeof mean, places, false, ferry_i_result_mean(rs, r, m));
    ferry_i_report_number(std, sizeof std, places, false, ferry_i_result_std(rs, r, m));
    if (rs->repeats > 1 && isfinite(ferry_i_result_std(rs, r, m)))
        (void)snprintf(buf, n, "%s \u00b1 %s", mean, std);
    else
        (void)snprintf(buf, n, "%s", mean);
}

/* ---- cells ---- */

/* "+0.052 [+0.031, +0.070] p=0.002" */
static void versus_cell(const ferry_results *rs, int64_t i, char *buf, size_t n)
{
    const ferry_versus *v = &rs->result[i].versus;
    const int places = ferry_i_report_places(rs, 0);
    char d[48], lo[48], hi[48], p[48];

    if (i == rs->best_baseline) {
        (void)snprintf(buf, n, "best baseline");
        return;
    }
    ferry_i_report_number(d, sizeof d, places, true, v->difference);
    ferry_i_report_number(lo, sizeof lo, places, true, v->lo);
    ferry_i_report_number(hi, sizeof hi, places, true, v->hi);
    format_p(p, sizeof p, v->p);
    if (v->pairs < 2)
        (void)snprintf(buf, n, "%s (test: n/a)", d);
    else if (isnan(v->p))
        (void)snprintf(buf, n, "equal in every repeat");
    else
        (void)snprintf(buf, n, "%s [%s, %s] %s", d, lo, hi, p);
}

static void seconds_cell(const ferry_results *rs, const ferry_result *r, char *buf,
                         size_t n)
{
    const double s = ferry_i_mean(rs->repeats, r->seconds);

    if (s < 0.01)
        (void)snprintf(buf, n, "<0.01");
    else
        (void)snprintf(buf, n, s < 100 ? "%.2f" : "%.0f", s);
}

/* Columns: the name, the metrics, fit seconds, difference. Row -1 is the heading. */
static const char *cell(const ferry_results *rs, const int64_t *order, int64_t row,
                        int64_t col, char *buf)
{
    const ferry_result *r = row < 0 ? NULL : &rs->result[order[row]];

    if (col == 0) return r ? r->name : "method";
    if (col <= rs->n_metrics) {
        if (!r) return rs->metrics[col - 1]->name;
        mean_std(rs, r, col - 1, buf, CELL);
    } else if (col == rs->n_metrics + 1) {
        if (!r) return "fit s";
        seconds_cell(rs, r, buf, CELL);
    } else {
        if (!r) return "vs best baseline [95 % interval]";
        versus_cell(rs, order[row], buf, CELL);
    }
    return buf;
}

/* Columns that a text takes on a terminal: UTF-8 characters, not bytes. */
static int64_t width_of(const char *s)
{
    int64_t n = 0;

    for (; *s; s++)
        n += ((unsigned char)*s & 0xc0) != 0x80;
    return n;
}

static int64_t column_width(const ferry_results *rs, const int64_t *order, int64_t rows,
                            int64_t col)
{
    int64_t most = 0;
    char buf[CELL];

    for (int64_t row = -1; row < rows; row++) {
        const int64_t w = width_of(cell(rs, order, row, col, buf));
        if (w > most) most = w;
    }
    return most;
}

enum { COLUMNS = 32 }; /* more than there are metrics */

/* Names and differences to the left, numbers to the right. */
static void add_block(ferry_text *t, const ferry_results *rs, const int64_t *order,
                      int64_t rows, int64_t n, const int64_t *cols)
{
    int64_t width[COLUMNS];

    for (int64_t c = 0; c < n; c++)
        width[c] = column_width(rs, order, rows, cols[c]);
    for (int64_t row = -1; row < rows; row++) {
        for (int64_t c = 0; c < n; c++) {
            char buf[CELL];
            const char *text = cell(rs, order, row, cols[c], buf);
            const bool left = cols[c] == 0 || cols[c] > rs->n_metrics + 1;
            const int pad = (int)(width[c] - width_of(text));
            if (c > 0) ferry_i_text_add(t, "  ");
            if (!left) ferry_i_text_addf(t, "%*s", pad, "");
            ferry_i_text_add(t, text);
            if (left && c + 1 < n) ferry_i_text_addf(t, "%*s", pad, "");
        }
        ferry_i_text_add(t, "\n");
    }
}

/* The first table: name, as many metrics as fit (one at least), seconds, difference. Then
 * the metrics that are left, as many at a time as fit. */
static void add_tables(ferry_text *t, const ferry_results *rs, const int64_t *order,
                       int64_t rows)
{
    int64_t cols[COLUMNS], n = 0, next = 1;
    const int64_t last = rs->n_metrics + (rs->best_baseline >= 0 ? 2 : 1);
    int64_t used = 0;

    for (int64_t c = rs->n_metrics + 1; c <= last; c++)
        used += 2 + column_width(rs, order, rows, c);
    for (bool first = true; first || next <= rs->n_metrics; first = false) {
        n = 0;
        cols[n++] = 0;
        used += column_width(rs, order, rows, 0);
        for (; next <= rs->n_metrics; next++) {
            used += 2 + column_width(rs, order, rows, next);
            if (used > WIDTH && n > 1) break;
            cols[n++] = next;
        }
        for (int64_t c = rs->n_metrics + 1; first && c <= last; c++)
            cols[n++] = c;
        if (!first) ferry_i_text_add(t, "\n");
        add_block(t, rs, order, rows, n, cols);
        used = 0;
    }
}

/* Of streams: the mistake rate so far at each tenth. */
static void add_curves(ferry_text *t, const ferry_results *rs, const int64_t *order,
                       int64_t rows)
{
    const int64_t first = column_width(rs, order, rows, 0);

    if (rows == 0 || !rs->result[order[0]].curve) return;
    ferry_i_text_addf(t, "\nmistake rate so far, after so many rows (labels arriving: %g",
                      rs->arriving);
    if (rs->delay > 0) ferry_i_text_addf(t, ", %lld rows later", (long long)rs->delay);
    ferry_i_text_addf(t, ")\n%-*s", (int)first, "method");
    for (int64_t j = 9; j < FERRY_CURVE; j += 10)
        ferry_i_text_addf(t, " %6lld", (long long)ferry_i_curve_rows(rs->rounds, j));
    for (int64_t i = 0; i < rows; i++) {
        const ferry_result *r = &rs->result[order[i]];
        ferry_i_text_addf(t, "\n%s%*s", r->name, (int)(first - width_of(r->name)), "");
        for (int64_t j = 9; j < FERRY_CURVE; j += 10) {
            double mean, std;
            ferry_i_curve_at(rs, r, j, &mean, &std);
            ferry_i_text_addf(t, " %6.3f", mean);
        }
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
        const int64_t w = len <= WIDTH ? width_of(word) : (int64_t)len;
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

/* Sentences begin with the method's name: it is not said twice. */
static void add_skipped(ferry_text *t, const ferry_results *rs)
{
    bool first = true;

    for (int64_t i = 0; i < rs->n; i++) {
        const ferry_result *r = &rs->result[i];
        ferry_text line = {0};
        if (!r->unfit) continue;
        if (first) ferry_i_text_add(t, "\nno result from:\n");
        first = false;
        if (strncmp(r->unfit, r->name, strlen(r->name)) == 0)
            ferry_i_text_addf(&line, "- %s", r->unfit);
        else
            ferry_i_text_addf(&line, "- %s: %s", r->name, r->unfit);
        if (!line.failed) add_wrapped(t, line.s, 2);
        t->failed = t->failed || line.failed;
        ferry_i_text_free(&line);
    }
}

/* What a method has to say about its result (diagnostics "note", of the last repeat). */
static void add_notes(ferry_text *t, const ferry_results *rs)
{
    bool any = false;

    for (int64_t i = 0; i < rs->n; i++) {
        const ferry_result *r = &rs->result[i];
        const char *note = json_string_value(json_object_get(r->diagnostics, "note"));
        ferry_text line = {0};
        if (!note || r->unfit) continue;
        if (!any) ferry_i_text_add(t, "\nnotes:\n");
        any = true;
        ferry_i_text_addf(&line, "- %s: %s", r->name, note);
        t->failed = t->failed || line.failed;
        if (!line.failed) add_wrapped(t, line.s, 2);
        ferry_i_text_free(&line);
    }
}

/* One line for each transfer method: did it help, and was it the source? */
static void add_verdicts(ferry_text *t, const ferry_results *rs, const int64_t *order,
                         int64_t rows)
{
    bool any = false;

    for (int64_t i = 0; i < rows; i++) {
        const ferry_result *r = &rs->result[order[i]];
        if (!r->judgement.verdict) continue;
        char *sentence = ferry_i_verdict_sentence(rs, r);
        if (!any) ferry_i_text_add(t, "\nverdict:\n");
        any = true;
        t->failed = t->failed || !sentence;
        if (sentence) {
            ferry_text line = {0};
            ferry_i_text_addf(&line, "- %s", sentence);
            t->failed = t->failed || line.failed;
            if (!line.failed) add_wrapped(t, line.s, 2);
            ferry_i_text_free(&line);
        }
        ferry_i_free(sentence);
    }
}

/* "(95 % interval 0.031 to 0.070, p=0.002)" of how much better `r` is than the baseline. */
static void add_evidence(ferry_text *t, const ferry_results *rs, const ferry_versus *v)
{
    const bool larger = rs->metrics[0]->larger_is_better;
    const int places = ferry_i_report_places(rs, 0);
    char lo[48], hi[48], p[48];

    ferry_i_report_number(lo, sizeof lo, places, false, larger ? v->lo : -v->hi);
    ferry_i_report_number(hi, sizeof hi, places, false, larger ? v->hi : -v->lo);
    format_p(p, sizeof p, v->p);
    ferry_i_text_addf(t, " (95 %% interval %s to %s, %s)", lo, hi, p);
}

/* The best method is no baseline: is its lead more than chance? */
static void add_lead(ferry_text *t, const ferry_results *rs)
{
    const ferry_versus *v = &rs->result[rs->best].versus;
    const ferry_result *b = &rs->result[rs->best_baseline];
    const int places = ferry_i_report_places(rs, 0);
    char lead[48], base[48];

    ferry_i_report_number(lead, sizeof lead, places, false, fabs(v->difference));
    ferry_i_report_number(base, sizeof base, places, false, ferry_i_result_mean(rs, b, 0));
    if (v->pairs < 2) {
        ferry_i_text_addf(t, " It leads the best baseline, %s (%s), by %s.", b->name, base,
                          lead);
        return;
    }
    if (isnan(v->p)) { /* no pair differs */
        ferry_i_text_addf(t, " It equals the best baseline, %s, in every repeat.", b->name);
        return;
    }
    if (v->lo > 0 || v->hi < 0)
        ferry_i_text_addf(t, " It beats the best baseline, %s (%s), by %s", b->name, base,
                          lead);
    else
        ferry_i_text_addf(t,
                          " Its lead of %s over the best baseline, %s (%s), may be chance",
                          lead, b->name, base);
    add_evidence(t, rs, v);
    ferry_i_text_add(t, ".");
}

/* The best method is a baseline: how far is transfer behind? */
static void add_behind(ferry_text *t, const ferry_results *rs, const int64_t *order,
                       int64_t rows)
{
    for (int64_t i = 0; i < rows; i++) {
        const ferry_result *r = &rs->result[order[i]];
        const int places = ferry_i_report_places(rs, 0);
        char behind[48];
        if (r->kind != FERRY_KIND_TRANSFER) continue;
        ferry_i_report_number(behind, sizeof behind, places, false,
                              fabs(r->versus.difference));
        ferry_i_text_addf(t,
                          " It is a baseline: transfer does not help here; the best "
                          "transfer method, %s, is %s %s.",
                          r->name, behind,
                          rs->metrics[0]->larger_is_better ? "lower" : "higher");
        return;
    }
    ferry_i_text_add(t, " It is a baseline; no transfer method ran.");
}

char *ferry_i_results_sentence(const ferry_results *rs)
{
    ferry_text t = {0};
    int64_t *order = ferry_i_calloc(rs->n, sizeof *order);
    char score[CELL];

    if (!order) return NULL;
    const int64_t rows = ferry_i_results_rank(rs, order);
    if (rs->best < 0) {
        ferry_i_text_addf(&t, "%lld method%s ran; without labels goal %s has no score.",
                          (long long)rows, rows == 1 ? "" : "s", ferry_goal_name(rs->goal));
        goto done;
    }
    const ferry_result *b = &rs->result[rs->best];
    mean_std(rs, b, 0, score, sizeof score);
    ferry_i_text_addf(&t, "best: %s (%s %s, %lld repeat%s).", b->name, rs->metrics[0]->name,
                      score, (long long)rs->repeats, rs->repeats == 1 ? "" : "s");
    if (rs->best == rs->best_baseline)
        add_behind(&t, rs, order, rows);
    else if (rs->best_baseline >= 0)
        add_lead(&t, rs);
    else
        ferry_i_text_add(&t, " No baseline ran to compare it with.");
    if (rs->repeats == 1)
        ferry_i_text_add(&t, " One repeat cannot tell a lead from chance: set "
                             "evaluate.repeats to 10.");
done:
    ferry_i_free(order);
    if (t.failed) ferry_i_text_free(&t);
    return t.s;
}

/* ---- all of it ---- */

static void add_heading(ferry_text *t, const ferry_results *rs)
{
    ferry_i_text_addf(t, "%s: %s '%s', ", rs->task, ferry_goal_name(rs->goal), rs->target);
    if (rs->repeats < rs->planned)
        ferry_i_text_addf(t, "stopped after %lld of %lld repeats", (long long)rs->repeats,
                          (long long)rs->planned);
    else
        ferry_i_text_addf(t, "%lld repeat%s", (long long)rs->repeats,
                          rs->repeats == 1 ? "" : "s");
    ferry_i_text_addf(t, ", seed %llu", (unsigned long long)rs->seed);
    if (rs->n_metrics > 0)
        ferry_i_text_addf(t, "; ranked by %s (%s is better)", rs->metrics[0]->name,
                          rs->metrics[0]->larger_is_better ? "larger" : "smaller");
    ferry_i_text_add(t, "\n\n");
}

ferry_status ferry_results_table(ferry_ctx *ctx, const ferry_results *rs, char **out)
{
    ferry_status st = FERRY_OK;
    ferry_text t = {0};
    int64_t *order = ferry_i_calloc(rs->n, sizeof *order);
    char *sentence = ferry_i_results_sentence(rs);

    *out = NULL;
    FERRY_HAVE(ctx, order && sentence);
    add_heading(&t, rs);
    const int64_t rows = ferry_i_results_rank(rs, order);
    add_tables(&t, rs, order, rows);
    add_curves(&t, rs, order, rows);
    add_skipped(&t, rs);
    add_notes(&t, rs);
    ferry_i_text_add(&t, "\n");
    add_wrapped(&t, sentence, 0);
    add_verdicts(&t, rs, order, rows);
    if (rs->guard) {
        char *guard = ferry_i_guard_sentence(rs);
        ferry_i_text_add(&t, "\n");
        t.failed = t.failed || !guard;
        if (guard) add_wrapped(&t, guard, 0);
        ferry_i_free(guard);
    }
    FERRY_HAVE(ctx, !t.failed);
    *out = t.s;
    t.s = NULL;
done:
    ferry_i_text_free(&t);
    ferry_i_free(sentence);
    ferry_i_free(order);
    return st;
}
