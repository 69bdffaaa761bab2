/* Several tasks in one table: how methods compare over a benchmark (Demsar, Statistical Comparisons of
 * Classifiers over Multiple Data Sets, JMLR 2006).
 *
 * In each task a method wins, loses or ties against that task's reference (ferry_run_info): it wins when the 95 %
 * interval of the difference is above zero, so a lead that may be chance is a tie. The sign test over
 * the tasks counts the clear ones. Mean ranks are over the methods that every task has numbers for;
 * two of them differ when their mean ranks are a critical difference apart (Nemenyi, .05):
 *
 *   CD = q sqrt(k (k + 1) / (6 N)),   q the .95 quantile of the range of k normals over sqrt(2),
 *
 * and Friedman's test says whether any do. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "show/show.h"

/* One method over all tasks. */
typedef struct line {
    const char *name;
    ferry_kind kind;
    int64_t tasks, wins, ties, losses, best;
    double rank, sign_p; /* NaN: not in all tasks; no clear one */
    int64_t verdicts[FERRY_BEST + 1];
} line;

typedef struct summary {
    int64_t n; /* tasks */
    const ferry_results *const *task;
    line *line;
    int64_t lines, ranked; /* ranked: methods that all tasks have */
    double cd, friedman;   /* NaN: fewer than two tasks or ranked methods */
} summary;

/* ---- distributions ---- */

static double normal_below(double x)
{
    return erfc(-x / sqrt(2)) / 2;
}

/* P(range of k normals <= q) = k int phi(x) (Phi(x) - Phi(x - q))^(k - 1) dx, by Simpson's rule. */
static double range_below(double q, int64_t k)
{
    enum { STEPS = 400 };
    const double from = -8, h = 16.0 / STEPS;
    double sum = 0;

    for (int i = 0; i <= STEPS; i++) {
        const double x = from + h * i, w = i == 0 || i == STEPS ? 1 : i % 2 ? 4 : 2;
        sum += w * exp(-x * x / 2) / sqrt(2 * acos(-1)) *
               pow(normal_below(x) - normal_below(x - q), (double)(k - 1));
    }
    return (double)k * sum * h / 3;
}

static double nemenyi(int64_t k, int64_t n)
{
    double lo = 0, hi = 20;

    if (k < 2 || n < 2) return NAN;
    while (hi - lo > 1e-9) {
        const double q = (lo + hi) / 2;
        *(range_below(q, k) < 0.95 ? &lo : &hi) = q;
    }
    return hi / sqrt(2) * sqrt((double)(k * (k + 1)) / (6 * (double)n));
}

/* Upper tail of the chi-squared distribution: Q(df / 2, x / 2) by its series. */
static double chi2_above(double x, double df)
{
    const double a = df / 2, y = x / 2;
    double term = 1 / a, sum = term;

    if (!(x > 0)) return 1;
    for (int i = 1; i < 10000 && term > 1e-16 * sum; i++)
        sum += term *= y / (a + i);
    return fmax(0, 1 - sum * exp(a * log(y) - y - lgamma(a)));
}

/* Two-sided sign test: so many wins of so many clear ones, were either as likely. */
static double sign_test(int64_t wins, int64_t losses)
{
    const int64_t n = wins + losses, least = wins < losses ? wins : losses;
    double sum = 0;

    if (n == 0) return NAN;
    for (int64_t i = 0; i <= least; i++)
        sum += exp(lgamma((double)n + 1) - lgamma((double)i + 1) -
                   lgamma((double)(n - i) + 1) - (double)n * log(2));
    return fmin(1, 2 * sum);
}

/* ---- counting ---- */

static line *line_of(summary *s, const ferry_result *r)
{
    for (int64_t i = 0; i < s->lines; i++)
        if (strcmp(s->line[i].name, r->name) == 0) return &s->line[i];
    s->line[s->lines] = (line){.name = r->name, .kind = r->kind};
    return &s->line[s->lines++];
}

static void count_task(summary *s, const ferry_results *rs)
{
    const ferry_result *best = ferry_results_at(rs, ferry_results_info(rs)->best_baseline);

    for (int64_t i = 0; ferry_results_at(rs, i); i++) {
        const ferry_result *r = ferry_results_at(rs, i);
        if (r->reason || !r->runs) continue;
        line *l = line_of(s, r);
        l->tasks++;
        l->best += r == best;
        l->verdicts[r->verdict]++;
        if (r->pairs == 0) continue;
        l->wins += r->low > 0;
        l->losses += r->high < 0;
        l->ties += !(r->low > 0) && !(r->high < 0);
    }
}

/* Rank of a method in a task among the ranked ones; equals share theirs. */
static double rank_in(const summary *s, const ferry_results *rs, const line *of)
{
    const ferry_result *own = ferry_results_find(rs, of->name);
    const double sign = ferry_result_metric_at(own, 0)->larger_is_better ? 1 : -1;
    double rank = 0.5;

    for (int64_t i = 0; i < s->lines; i++) {
        if (s->line[i].tasks < s->n) continue;
        const double x = sign * ferry_results_find(rs, s->line[i].name)->mean,
                     y = sign * own->mean;
        rank += x > y ? 1 : x == y || isnan(y) ? 0.5 : 0;
    }
    return rank;
}

static int by_rank(const void *a, const void *b)
{
    const line *x = a, *y = b;

    if (isnan(x->rank) || isnan(y->rank)) return isnan(x->rank) - isnan(y->rank);
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static void rank_all(summary *s)
{
    const double n = (double)s->n;
    double squares = 0;

    for (int64_t i = 0; i < s->lines; i++) {
        line *l = &s->line[i];
        l->rank = l->tasks < s->n ? NAN : 0;
        l->sign_p = sign_test(l->wins, l->losses);
        s->ranked += l->tasks == s->n;
        for (int64_t t = 0; t < s->n && l->tasks == s->n; t++)
            l->rank += rank_in(s, s->task[t], l) / n;
        if (l->tasks == s->n) squares += l->rank * l->rank;
    }
    const double k = (double)s->ranked;
    s->cd = nemenyi(s->ranked, s->n);
    s->friedman =
        isnan(s->cd)
            ? NAN
            : chi2_above(12 * n / (k * (k + 1)) * (squares - k * (k + 1) * (k + 1) / 4),
                         k - 1);
    qsort(s->line, (size_t)s->lines, sizeof *s->line, by_rank);
}

static ferry_status count_all(ferry_ctx *ctx, int64_t n, const ferry_results *const *task,
                              summary *s)
{
    ferry_status st = FERRY_OK;
    int64_t most = 0;

    FERRY_NEED(ctx, n > 0, FERRY_EINVAL, "a summary needs results");
    *s = (summary){.n = n, .task = task};
    for (int64_t t = 0; t < n; t++)
        most += task[t]->n;
    FERRY_NEW(ctx, s->line, most);
    for (int64_t t = 0; t < n; t++)
        count_task(s, task[t]);
    rank_all(s);
done:
    return st;
}

/* ---- for people ---- */

/* Sign test and verdicts, where there are any: no blanks at a line's end. */
static void add_judged(ferry_text *t, const line *l)
{
    const bool tested = !isnan(l->sign_p);
    bool any = false;

    if (tested) ferry_i_text_addf(t, "  %6s", ferry_i_number_words(3, false, l->sign_p).s);
    for (int v = FERRY_HELPS; v <= FERRY_BEST; v++) {
        if (l->verdicts[v] == 0) continue;
        ferry_i_text_addf(t, "%*s%lld %s",
                          any      ? 0
                          : tested ? 2
                                   : 10,
                          any ? ", " : "", (long long)l->verdicts[v],
                          ferry_verdict_name((ferry_verdict)v));
        any = true;
    }
}

static ferry_status summary_table(ferry_ctx *ctx, int64_t n,
                                  const ferry_results *const *results, char **out)
{
    FERRY_ARGS_OUT(ctx, out, out, results);

    ferry_status st = FERRY_OK;
    summary s = {0};
    ferry_text t = {0};
    int width = 6;

    *out = NULL;
    FERRY_TRY(count_all(ctx, n, results, &s));
    for (int64_t i = 0; i < s.lines; i++)
        if (ferry_i_utf8_width(s.line[i].name) > width)
            width = (int)ferry_i_utf8_width(s.line[i].name);
    ferry_i_text_addf(
        &t,
        "%lld tasks; wins, ties and losses against what each one's labels "
        "choose without a source (95 %% interval)\n\n%-*s  mean rank  tasks  win  tie  "
        "loss  best baseline  sign p  verdicts\n",
        (long long)n, width, "method");
    for (int64_t i = 0; i < s.lines; i++) {
        const line *l = &s.line[i];
        ferry_i_text_addf(&t, "%s%*s  %9s  %5lld  %3lld  %3lld  %4lld  %13lld", l->name,
                          width - (int)ferry_i_utf8_width(l->name), "",
                          isnan(l->rank) ? "" : ferry_i_number_words(2, false, l->rank).s,
                          (long long)l->tasks, (long long)l->wins, (long long)l->ties,
                          (long long)l->losses, (long long)l->best);
        add_judged(&t, l);
        ferry_i_text_add(&t, "\n");
    }
    if (isfinite(s.cd))
        ferry_i_text_addf(
            &t,
            "\nMean ranks are over the %lld methods that ran in every task; "
            "those that differ by %.2f or more\ndiffer (Nemenyi, .05; Friedman "
            "%s).\n",
            (long long)s.ranked, s.cd, ferry_i_p_words(s.friedman).s);
    FERRY_HAVE(ctx, !t.failed);
    FERRY_HAVE(ctx, *out = ferry_i_strdup(t.s));
done:
    ferry_i_text_free(&t);
    ferry_i_free(s.line);
    return st;
}

/* ---- as JSON ---- */

static json_t *line_json(const line *l)
{
    json_t *verdicts = json_object();

    for (int v = FERRY_HELPS; v <= FERRY_BEST; v++)
        if (l->verdicts[v] > 0)
            (void)json_object_set_new(verdicts, ferry_verdict_name((ferry_verdict)v),
                                      json_integer((json_int_t)l->verdicts[v]));
    return json_pack("{s:o, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o}", "name",
                     ferry_i_json_text(l->name), "tasks", (json_int_t)l->tasks, "wins",
                     (json_int_t)l->wins, "ties", (json_int_t)l->ties, "losses",
                     (json_int_t)l->losses, "best_baseline", (json_int_t)l->best,
                     "mean_rank", ferry_i_json_real(l->rank), "sign_p",
                     ferry_i_json_real(l->sign_p), "verdicts", verdicts);
}

static ferry_status summary_json(ferry_ctx *ctx, int64_t n,
                                 const ferry_results *const *results, char **out)
{
    FERRY_ARGS_OUT(ctx, out, out, results);

    ferry_status st = FERRY_OK;
    summary s = {0};
    json_t *tasks = json_array(), *methods = json_array();

    *out = NULL;
    FERRY_HAVE(ctx, tasks && methods);
    FERRY_TRY(count_all(ctx, n, results, &s));
    for (int64_t i = 0; i < n; i++)
        (void)json_array_append_new(
            tasks, ferry_i_json_text(ferry_results_info(results[i])->task));
    for (int64_t i = 0; i < s.lines; i++)
        (void)json_array_append_new(methods, line_json(&s.line[i]));
    FERRY_TRY(ferry_i_report_dump(ctx,
                                  json_pack("{s:s, s:O, s:O, s:I, s:o, s:o}", "ferry",
                                            ferry_version(), "tasks", tasks, "methods",
                                            methods, "ranked", (json_int_t)s.ranked,
                                            "critical_difference", ferry_i_json_real(s.cd),
                                            "friedman_p", ferry_i_json_real(s.friedman)),
                                  out));
done:
    json_decref(tasks);
    json_decref(methods);
    ferry_i_free(s.line);
    return st;
}

ferry_status ferry_summary_table(ferry_ctx *ctx, int64_t n,
                                 const ferry_results *const *results, const char *format,
                                 char **out)
{
    FERRY_ARGS_OUT(ctx, out, out, results);

    for (int64_t i = 0; i < n; i++)
        if (!results[i])
            return ferry_i_fail(ctx, FERRY_EINVAL, "results %lld is NULL",
                                (long long)i + 1);
    if (!format) return summary_table(ctx, n, results, out);
    if (strcmp(format, "json") == 0) return summary_json(ctx, n, results, out);
    return ferry_i_fail(ctx, FERRY_EINVAL, "unknown format %s (json)", format);
}
