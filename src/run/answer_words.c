/* The answer in words: the head, and the lines Use, Expect, Source and Next. Numbers are rounded to what their
 * intervals allow; positive is better, whatever the metric. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "run/answer.h"

/* ---- numbers ---- */

/* Decimals for a number that is sure to +- half: one digit of half, two if it begins with 1. */
static int places_of(double half)
{
    if (!(half > 0) || !isfinite(half)) return 3;
    const double digits = floor(log10(half));
    const int places = (int)-digits + (half / pow(10, digits) < 2);

    return places < 0 ? 0 : places > 9 ? -1 : places;
}

static bool is_hamming(const ferry_recommendation *a)
{
    return a->metric && strcmp(a->metric, "hamming") == 0;
}

static bool is_share(const ferry_results *rs, const ferry_recommendation *a)
{
    if (a->validated) return a->larger_is_better || is_hamming(a);
    return rs->n_metrics > 0 && ferry_i_metric_is_share(rs->metrics[0]);
}

/* "0.80", no more digits than [low, high] allows. */
static ferry_words value_words(double x, double low, double high)
{
    const int places = isfinite(high - low) ? places_of((high - low) / 2) : 3;

    return ferry_i_number_words(places, false, x);
}

/* A difference as people say it: in points of a hundred where the metric is a share. */
typedef struct difference {
    double scale;
    int places;
    char unit[40];
} difference;

static difference unit_of(const ferry_results *rs, const ferry_recommendation *a)
{
    difference d = {.scale = is_share(rs, a) ? 100 : 1};
    const double half = d.scale * (a->worth_high - a->worth_low) / 2;

    d.places = isfinite(half) ? places_of(half) : d.scale > 1 ? 1 : 3;
    (void)snprintf(d.unit, sizeof d.unit, d.scale > 1 ? "points" : "of %.30s",
                   a->metric ? a->metric : "the metric");
    return d;
}

static ferry_words points(const difference *d, bool sign, double x)
{
    return ferry_i_number_words(d->places, sign, d->scale * x);
}

/* ---- use ---- */

/* "hop 46 %, ttl 54 %", or a name alone. */
static void add_members(ferry_text *t, int64_t n, const ferry_blend_member *m, bool weights)
{
    for (int64_t j = 0; j < n; j++) {
        ferry_i_text_addf(t, "%s%s",
                          j == 0                   ? ""
                          : !weights && j == n - 1 ? " and "
                                                   : ", ",
                          m[j].name);
        if (weights && n > 1) ferry_i_text_addf(t, " %.0f %%", 100 * m[j].weight);
    }
}

/* "source 'a'", "sources 'a', 'b'"; false: the task has none. */
static bool add_role(ferry_text *t, const ferry_task *task, ferry_role role,
                     const char *word, const char *before)
{
    const int64_t n = ferry_i_task_count_role(task, role);

    for (int64_t i = 0; i < n; i++) {
        if (i == 0) ferry_i_text_addf(t, "%s%s%s ", before, word, n > 1 ? "s" : "");
        ferry_i_text_addf(t, "%s'%s'", i > 0 ? ", " : "",
                          ferry_i_task_role(task, role, i)->name);
    }
    return n > 0;
}

static bool uses_source(const ferry_recommendation *a)
{
    for (int64_t j = 0; j < a->members; j++)
        if (a->member[j].uses != FERRY_USES_TARGET_ONLY) return true;
    return false;
}

static void add_use(ferry_text *t, const ferry_task *task, const ferry_recommendation *a)
{
    bool any = false;

    if (a->members == 0) {
        ferry_i_text_add(t, "nothing can be recommended: there is nothing to choose by");
        return;
    }
    if (a->members > 1) ferry_i_text_add(t, "a blend of ");
    add_members(t, a->members, a->member, true);
    if (!uses_source(a)) {
        if (ferry_i_task_count_role(task, FERRY_SOURCE) > 0)
            ferry_i_text_add(t, " (without the source)");
        return;
    }
    ferry_i_text_add(t, " (");
    any = add_role(t, task, FERRY_SOURCE, "source", "");
    const char *bridge = ferry_i_choice_name(task, 0);
    if (bridge)
        ferry_i_text_addf(t, "%sbridge %s, chosen by trial", any ? ", " : "", bridge);
    else if (!add_role(t, task, FERRY_INTERMEDIATE, "bridge", any ? ", " : "") && !any)
        ferry_i_text_add(t, "transfer");
    ferry_i_text_add(t, ")");
}

/* ---- expect ---- */

static void add_value(ferry_text *t, const ferry_results *rs, const ferry_recommendation *a)
{
    const char *metric = a->metric ? a->metric : "";
    const ferry_words x = value_words(a->value, a->low, a->high);

    (void)rs;
    if (strcmp(metric, "accuracy") == 0)
        ferry_i_text_addf(t, "%s of new rows right", x.s);
    else if (is_hamming(a))
        ferry_i_text_addf(t, "%s of the labels of new rows wrong", x.s);
    else
        ferry_i_text_addf(t, "%s %s", metric, x.s);
    if (isfinite(a->low) && isfinite(a->high) && a->calibrated)
        ferry_i_text_addf(t, " (%s to %s)", value_words(a->low, a->low, a->high).s,
                          value_words(a->high, a->low, a->high).s);
}

static void add_expect(ferry_text *t, const ferry_results *rs,
                       const ferry_recommendation *a)
{
    if (!isfinite(a->value)) {
        ferry_i_text_add(t, a->calibrated
                                ? "unknown: chosen by experience on other tasks, not by "
                                  "your labels"
                                : "not calibrated for this goal");
        return;
    }
    add_value(t, rs, a);
    if (!a->calibrated)
        ferry_i_text_add(t, a->repeats > 0 || a->validated
                                ? " here; not calibrated for this goal"
                                : " here, the best of all on the same rows; not calibrated "
                                  "for this goal");
    else if (a->validated && a->labels < 10)
        ferry_i_text_add(t, "; 10 labels or more are needed for these intervals");
}

/* ---- source ---- */

/* "None of 19 made-up sources does as well." of the heaviest member that was checked. */
static void add_controls(ferry_text *t, const ferry_results *rs,
                         const ferry_recommendation *a)
{
    for (int64_t j = 0; j < a->members; j++) {
        const ferry_result *r = ferry_results_find(rs, a->member[j].name);
        if (!r || r->control_draws < 2) continue;
        if (r->as_good == 0)
            ferry_i_text_addf(t, " None of %lld shuffled sources does as well.",
                              (long long)r->control_draws);
        else
            ferry_i_text_addf(t, " %lld of %lld shuffled sources do%s as well for %s.",
                              (long long)r->as_good, (long long)r->control_draws,
                              r->as_good == 1 ? "es" : "", r->name);
        return;
    }
}

static void add_worth(ferry_text *t, const ferry_results *rs, const ferry_recommendation *a)
{
    const difference d = unit_of(rs, a);

    ferry_i_text_addf(t, "worth %s %s (%s to %s)", points(&d, true, a->worth).s, d.unit,
                      points(&d, false, a->worth_low).s,
                      points(&d, false, a->worth_high).s);
    if (a->without > 0) {
        ferry_i_text_add(t, ": without it ");
        add_members(t, a->without, a->member_without, false);
        ferry_i_text_addf(t, " would be your choice, %s",
                          value_words(a->value_without, a->low, a->high).s);
    }
    ferry_i_text_add(t, ".");
    add_controls(t, rs, a);
}

/* Which of the two is asked for first, and how far it may go. */
static void add_not_worth(ferry_text *t, const ferry_results *rs,
                          const ferry_recommendation *a)
{
    const difference d = unit_of(rs, a);
    const double most = fmax(fabs(a->worth_low), fabs(a->worth_high));

    ferry_i_text_add(t, "not worth it: ");
    if (a->worth == 0 && !(most > 0)) {
        ferry_i_text_add(t, "your labels choose the same without it");
        if (isfinite(a->share) && a->share > 0 && a->share < .4)
            ferry_i_text_addf(t,
                              " (its share of the evidence is %.0f %%, 40 %% are needed)",
                              100 * a->share);
        return;
    }
    ferry_i_text_addf(t, "%s %s", points(&d, true, a->worth).s, d.unit);
    if (isfinite(most))
        ferry_i_text_addf(t, " (%s to %s), no difference larger than %s",
                          points(&d, false, a->worth_low).s,
                          points(&d, false, a->worth_high).s, points(&d, false, most).s);
}

static void add_open(ferry_text *t, const ferry_results *rs, const ferry_recommendation *a)
{
    const difference d = unit_of(rs, a);

    if (isfinite(a->worth_low))
        ferry_i_text_addf(t, "open: between %s and %s %s", points(&d, true, a->worth_low).s,
                          points(&d, true, a->worth_high).s, d.unit);
    else
        ferry_i_text_addf(t, "open: %s %s here, no interval", points(&d, true, a->worth).s,
                          d.unit);
    if (a->needed_repeats > a->repeats)
        ferry_i_text_addf(t,
                          "; 8 in 10 chances to know with about %lld repeats: --set "
                          "evaluate.repeats=%lld",
                          (long long)a->needed_repeats, (long long)a->needed_repeats);
    else if (a->needed_labels > 0)
        ferry_i_text_addf(t, "; 8 in 10 chances to know with about %lld more label%s",
                          (long long)a->needed_labels, a->needed_labels == 1 ? "" : "s");
    else if (isfinite(a->worth_low))
        ferry_i_text_add(t, "; no sensible number of repeats or labels would tell");
    else
        ferry_i_text_add(t, "; more labels of the target would decide");
}

/* What hidden labels say of a method that the visible ones did not find: the choice is by these alone. */
static void add_overruled(ferry_text *t, const ferry_results *rs,
                          const ferry_recommendation *a)
{
    const ferry_result *best = NULL;

    for (int64_t i = 0; i < rs->n; i++) {
        const ferry_result *r = &rs->result[i].pub;
        if ((r->verdict == FERRY_HELPS || r->verdict == FERRY_BEST) &&
            (!best || r->gain > best->gain))
            best = r;
    }
    if (!best || uses_source(a)) return;
    const double half = 50 * (best->high - best->low);
    const difference d = {.scale = is_share(rs, a) ? 100 : 1,
                          .places =
                              is_share(rs, a) && isfinite(half) ? places_of(half) : 3};
    ferry_i_text_addf(
        t, ". On %s %s is better by %s%s",
        rs->hands.folds ? "labels held out of each fold" : "the hidden labels", best->name,
        points(&d, false, best->gain).s, d.scale > 1 ? " points" : "");
    if (isfinite(best->low))
        ferry_i_text_addf(t, " (%s to %s)", points(&d, false, best->low).s,
                          points(&d, false, best->high).s);
    ferry_i_text_addf(t, ", which %lld visible label%s alone could not tell",
                      (long long)a->labels, a->labels == 1 ? "" : "s");
}

static void add_source(ferry_text *t, const ferry_task *task, const ferry_results *rs,
                       const ferry_recommendation *a)
{
    if (rs->transfers == FERRY_TRANSFERS_NOTHING &&
        ferry_i_task_count_role(task, FERRY_SOURCE) == 0)
        ferry_i_text_add(t, "there is none in this task");
    else if ((a->without == 0 || (a->labels == 0 && a->verdict == FERRY_WORTH_UNKNOWN)) &&
             a->members > 0)
        ferry_i_text_add(t, "all there is: without labels of the target nothing can be "
                            "learned but from it");
    else if (a->verdict == FERRY_WORTH_IT)
        add_worth(t, rs, a);
    else if (a->verdict == FERRY_NOT_WORTH_IT)
        add_not_worth(t, rs, a);
    else if (a->verdict == FERRY_WORTH_OPEN)
        add_open(t, rs, a);
    else
        ferry_i_text_add(t, "unknown: there is nothing to tell its worth by");
    if (a->without > 0 && a->verdict != FERRY_WORTH_IT) add_overruled(t, rs, a);
}

/* ---- head and next ---- */

static void add_head(ferry_text *t, const ferry_task *task, const ferry_results *rs)
{
    const ferry_run_info *run = &rs->run;
    const ferry_domain *target = NULL;
    const char *what = run->goal == FERRY_RATE ? "rating" : "label";
    int64_t rows = rs->count && !rs->run.folds ? rs->count[0] : 0;

    for (int64_t i = 0; i < task->n_domains; i++)
        if (task->domains[i]->role == FERRY_TARGET) target = task->domains[i];
    if (rows == 0 && target && run->goal != FERRY_RATE)
        rows = ferry_i_domain_id_count(target) - ferry_domain_labels(target);
    ferry_i_text_addf(t, "%s: %s '%s', ", run->task, ferry_goal_name(run->goal),
                      run->target ? run->target
                      : target    ? target->name
                                  : "");
    if (run->visible > 0)
        ferry_i_text_addf(t, "%lld %s%s of your own", (long long)run->visible, what,
                          run->visible == 1 ? "" : "s");
    else
        ferry_i_text_addf(t, "no %ss of your own", what);
    if (rows > 0)
        ferry_i_text_addf(t, ", %lld %s%s to predict", (long long)rows,
                          run->goal == FERRY_RATE ? "rating" : "row", rows == 1 ? "" : "s");
}

/* A word of a command: in quotes where a shell would see more than one in it. */
static void add_word(ferry_text *t, const char *before, const char *s)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_./-=:,+@%";

    ferry_i_text_add(t, before);
    if (s[0] && !s[strspn(s, plain)]) {
        ferry_i_text_add(t, s);
        return;
    }
    ferry_i_text_add(t, "'");
    for (; *s; s++)
        ferry_i_text_addf(t, *s == '\'' ? "'\\''" : "%c", *s);
    ferry_i_text_add(t, "'");
}

static void add_setting(ferry_text *t, const ferry_setting *o)
{
    char *word = ferry_i_sprintf("%s=%s", o->key, o->value);

    if (!word) {
        t->failed = 1;
        return;
    }
    add_word(t, " --set ", word);
    ferry_i_free(word);
}

/* The command that makes the model, with the settings that changed the task. */
static void add_next(ferry_text *t, const ferry_task *task, const ferry_results *rs,
                     const ferry_recommendation *a)
{
    const bool one = rs->run.goal == FERRY_STREAM || rs->run.goal == FERRY_EMBED;
    const char *file = task->file ? strrchr(task->file, '/') : NULL;

    add_word(t, "ferry fit ", file ? file + 1 : "TASK");
    if (one && a->members > 0) add_word(t, " -m ", a->member[0].name);
    for (int64_t i = 0; task->sets && i < ferry_i_opts_count(task->sets); i++) {
        const ferry_setting *o = ferry_opts_at(task->sets, i);
        if (strncmp(o->key, "evaluate.", 9) != 0 || strcmp(o->key, "evaluate.seed") == 0)
            add_setting(t, o);
    }
    ferry_i_text_add(t, " -o model.ferry");
}

static ferry_status keep(ferry_ctx *ctx, ferry_text *t, const char **to)
{
    const bool failed = t->failed || !t->s;

    if (failed) ferry_i_text_free(t);
    *to = t->s;
    *t = (ferry_text){0};
    return failed ? ferry_i_nomem(ctx) : FERRY_OK;
}

ferry_status ferry_i_answer_words(ferry_ctx *ctx, const ferry_task *task,
                                  const ferry_results *rs, ferry_recommendation *a)
{
    ferry_status st = FERRY_OK;
    ferry_text t = {0};

    add_head(&t, task, rs);
    FERRY_TRY(keep(ctx, &t, &a->head));
    add_use(&t, task, a);
    FERRY_TRY(keep(ctx, &t, &a->use));
    add_expect(&t, rs, a);
    FERRY_TRY(keep(ctx, &t, &a->expect));
    add_source(&t, task, rs, a);
    FERRY_TRY(keep(ctx, &t, &a->source));
    add_next(&t, task, rs, a);
    FERRY_TRY(keep(ctx, &t, &a->next));
done:
    ferry_i_text_free(&t);
    return st;
}
