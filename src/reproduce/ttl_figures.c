/* Figures 4 and 5 of transitive transfer: other bridges for comp-vs-talk, how fast the
 * factorisation converges, and its number of clusters. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "reproduce/ttl.h"

enum { MOST = 8 };

static const ttl_news *comp_vs_talk(void)
{
    return &ferry_i_ttl_news[TTL_N_NEWS - 1];
}

static uint64_t seed_of(const ferry_lab *lab, int64_t run)
{
    return ferry_i_lab_seed(lab) + (uint64_t)run;
}

/* ---- figure 4 ---- */

enum { F_TTL, F_TRIPLEX, F_FERRY, FOUR_ROWS };
static const char *const labelled_rows[FOUR_ROWS] = {"TTL", "TriplexTL_IT",
                                                     "ttl, mode ferry"};
static const char *const removed_rows[FOUR_ROWS] = {"TTL", "TriplexTL_SIT",
                                                    "ttl, mode ferry"};
static const char *const labelled_methods = "  - ttl: {mode: paper}\n"
                                            "    as: TTL\n"
                                            "  - triplex: {mode: it}\n"
                                            "    as: TriplexTL_IT\n"
                                            "  - ttl: {}\n"
                                            "    as: ttl, mode ferry\n";
static const char *const removed_methods = "  - ttl: {mode: paper}\n"
                                           "    as: TTL\n"
                                           "  - triplex: {mode: sit}\n"
                                           "    as: TriplexTL_SIT\n"
                                           "  - ttl: {}\n"
                                           "    as: ttl, mode ferry\n";

/* One bridge, one run: into a column of the grid. */
static ferry_status one_bridge(ferry_ctx *ctx, ferry_lab *lab, ttl_grid *g, int64_t column,
                               int64_t run, int64_t labels, double removed,
                               const char *methods)
{
    ferry_status st = FERRY_OK;
    char bridge[96], task[96];
    const unsigned long long seed = seed_of(lab, run);

    snprintf(bridge, sizeof bridge, "%llu-bridge-%lld-%g.svm", seed, (long long)labels,
             removed);
    snprintf(task, sizeof task, "%llu-%lld-labels-%g-removed.yaml", seed, (long long)labels,
             removed);
    FERRY_TRY(ferry_i_ttl_bridge(ctx, lab, seed, labels, removed, bridge));
    FERRY_TRY(ferry_i_ttl_small_task(ctx, lab, seed, bridge, methods, task));
    FERRY_TRY(ferry_i_lab_run(ctx, lab, task, NULL, seed));
    FERRY_TRY(ferry_i_ttl_take(ctx, lab, g, 0, g->rows, column, run));
done:
    return st;
}

static ferry_status figure4(ferry_ctx *ctx, ferry_lab *lab)
{
    static const int64_t labels[] = {50, 100, 200, 400};
    static const char *const label_names[] = {"50 labels", "100", "200", "400"};
    static const double removed[] = {0, 0.5, 0.8, 0.9, 0.95};
    static const char *const removed_names[] = {"none removed", "50 %", "80 %", "90 %",
                                                "95 %"};
    ferry_status st = FERRY_OK;
    const int64_t runs = ferry_i_lab_quick(lab) ? 2 : 10;
    ttl_grid a = {labelled_rows, label_names, FOUR_ROWS, FERRY_COUNT(labels), runs, NULL};
    ttl_grid b = {removed_rows, removed_names, FOUR_ROWS, FERRY_COUNT(removed), runs, NULL};

    ferry_i_lab_plan(lab, runs * (a.columns + b.columns));
    FERRY_TRY(ferry_i_ttl_grid_new(ctx, &a));
    FERRY_TRY(ferry_i_ttl_grid_new(ctx, &b));
    for (int64_t r = 0; r < runs; r++) {
        FERRY_TRY(ferry_i_ttl_export(ctx, lab, comp_vs_talk(), seed_of(lab, r)));
        for (int64_t j = 0; j < a.columns; j++)
            FERRY_TRY(one_bridge(ctx, lab, &a, j, r, labels[j], 0, labelled_methods));
        for (int64_t j = 0; j < b.columns; j++)
            FERRY_TRY(one_bridge(ctx, lab, &b, j, r, 0, removed[j], removed_methods));
    }
    FERRY_TRY(ferry_i_lab_table(ctx, lab, "figure 4(a): labelled messages of the bridge"));
    ferry_i_lab_units(lab, "accuracy, %", 1);
    FERRY_TRY(ferry_i_ttl_fill(ctx, lab, &a, NULL, false));
    FERRY_TRY(ferry_i_lab_table(ctx, lab, "figure 4(b): words removed from the bridge"));
    ferry_i_lab_units(lab, "accuracy, %", 1);
    FERRY_TRY(ferry_i_ttl_fill(ctx, lab, &b, NULL, false));
    FERRY_TRY(ferry_i_lab_claim(
        ctx, lab, ferry_i_ttl_mean(&a, F_TTL, 0) > ferry_i_ttl_mean(&a, F_TRIPLEX, 0),
        "4(a): with few labels of the bridge (50) TTL beats TriplexTL_IT"));
    FERRY_TRY(ferry_i_lab_claim(
        ctx, lab, ferry_i_ttl_mean(&a, F_TRIPLEX, 3) > ferry_i_ttl_mean(&a, F_TTL, 3),
        "4(a): with many (400) TriplexTL_IT beats TTL"));
    for (int i = F_TTL; i <= F_TRIPLEX; i++)
        FERRY_TRY(ferry_i_lab_claim(
            ctx, lab, ferry_i_ttl_mean(&b, i, 0) - ferry_i_ttl_mean(&b, i, 4) > 1,
            "4(b): %s gets worse (by more than a point) as words are removed",
            removed_rows[i]));
done:
    ferry_i_ttl_grid_free(&a);
    ferry_i_ttl_grid_free(&b);
    return st;
}

const ferry_study ferry_i_study_ttl_figure4 = {
    .name = "ttl-figure4",
    .paper = TTL_PAPER,
    .shows = "figure 4: other intermediate domains for comp-vs-talk",
    .needs = TTL_NEWS,
    .protocol =
        "comp-vs-talk as in ttl-table5, 10 seeds (quick: 2), each with other halves of the "
        "words. (a) 50 to 400 messages of the bridge, drawn at random, keep their class; "
        "(b) "
        "a random share of the bridge's words is removed (the paper's numbers of words are "
        "not in the text). TTL is mode paper with its defaults; TriplexTL_IT learns from "
        "the "
        "bridge's labels alone, TriplexTL_SIT goes hop by hop. ttl, mode ferry is ours. "
        "The "
        "figure's numbers are not in the text.",
    .run = figure4,
};

/* ---- figure 5 ---- */

static const int64_t steps[] = {1, 5, 10, 20, 40, 60, 80, 100};
static const char *const step_names[] = {"1 iteration", "5",  "10", "20",
                                         "40",          "60", "80", "100"};
static const int64_t clusters[] = {5, 10, 20, 30, 40, 60, 80, 100};
static const char *const cluster_names[] = {"p = 5", "10", "20", "30",
                                            "40",    "60", "80", "100"};

/* Methods of one task: TTL with so many iterations, and with so many clusters, two thirds
 * of them shared as in p = 30. */
static char *figure5_methods(void)
{
    ferry_text t = {0};

    for (int64_t j = 0; j < FERRY_COUNT(steps); j++)
        ferry_i_text_addf(&t, "  - ttl: {mode: paper, iterations: %lld}\n    as: i%lld\n",
                          (long long)steps[j], (long long)steps[j]);
    for (int64_t j = 0; j < FERRY_COUNT(clusters); j++) {
        const int64_t shared = llround(2 * (double)clusters[j] / 3);
        ferry_i_text_addf(&t, "  - ttl: {mode: paper, p1: %lld, p2: %lld}\n    as: p%lld\n",
                          (long long)shared, (long long)(clusters[j] - shared),
                          (long long)clusters[j]);
    }
    if (t.failed) ferry_i_text_free(&t);
    return t.s;
}

/* Objective after iteration `step` of a method in the last run; NaN: not recorded. */
static double objective_at(const ferry_lab *lab, const char *name, int64_t step)
{
    const ferry_entry *r = ferry_i_lab_result(lab, name);
    const json_t *all = r ? json_object_get(r->diagnostics, "objective") : NULL;
    const json_t *one = json_array_get(all, (size_t)(step - 1));

    return one ? json_number_value(one) : NAN;
}

static ferry_status run5(ferry_ctx *ctx, ferry_lab *lab, int64_t runs, double *objective,
                         double *by_step, double *by_p)
{
    ferry_status st = FERRY_OK;
    char *methods = figure5_methods(), bridge[64], task[64], name[16];
    ferry_score s;

    FERRY_NEED(ctx, methods, FERRY_ENOMEM, "no memory for a task file");
    ferry_i_lab_plan(lab, runs);
    for (int64_t r = 0; r < runs; r++) {
        const unsigned long long seed = seed_of(lab, r);
        snprintf(bridge, sizeof bridge, "%llu-unlabelled.svm", seed);
        snprintf(task, sizeof task, "%llu.yaml", seed);
        FERRY_TRY(ferry_i_ttl_export(ctx, lab, comp_vs_talk(), seed));
        FERRY_TRY(ferry_i_ttl_bridge(ctx, lab, seed, 0, 0, bridge));
        FERRY_TRY(ferry_i_ttl_small_task(ctx, lab, seed, bridge, methods, task));
        FERRY_TRY(ferry_i_lab_run(ctx, lab, task, NULL, seed));
        for (int64_t j = 0; j < MOST; j++) {
            objective[j * runs + r] = objective_at(lab, "i100", steps[j]);
            snprintf(name, sizeof name, "i%lld", (long long)steps[j]);
            FERRY_TRY(ferry_i_lab_score(ctx, lab, name, "accuracy", &s));
            by_step[j * runs + r] = 100 * s.mean;
            snprintf(name, sizeof name, "p%lld", (long long)clusters[j]);
            FERRY_TRY(ferry_i_lab_score(ctx, lab, name, "accuracy", &s));
            by_p[j * runs + r] = 100 * s.mean;
        }
    }
done:
    ferry_i_free(methods);
    return st;
}

static double mean_of(const double *x, int64_t j, int64_t runs)
{
    return ferry_i_score_of(runs, x + j * runs).mean;
}

static ferry_status figure5(ferry_ctx *ctx, ferry_lab *lab)
{
    ferry_status st = FERRY_OK;
    const int64_t runs = ferry_i_lab_quick(lab) ? 2 : 10;
    double *x = ferry_i_calloc(3 * MOST * runs, sizeof *x), inside = 0;
    bool peak = true;

    FERRY_NEED(ctx, x, FERRY_ENOMEM, "no memory for a study's table");
    double *objective = x, *by_step = x + MOST * runs, *by_p = x + 2 * MOST * runs;
    FERRY_TRY(run5(ctx, lab, runs, objective, by_step, by_p));
    FERRY_TRY(ferry_i_lab_table(ctx, lab, "figure 5(a): after so many iterations"));
    ferry_i_lab_units(lab, "", 1);
    for (int64_t j = 0; j < MOST; j++) {
        FERRY_TRY(ferry_i_lab_cell(ctx, lab, "objective", step_names[j],
                                   ferry_i_score_of(runs, objective + j * runs), NAN));
        FERRY_TRY(ferry_i_lab_cell(ctx, lab, "accuracy, %", step_names[j],
                                   ferry_i_score_of(runs, by_step + j * runs), NAN));
    }
    FERRY_TRY(ferry_i_lab_table(ctx, lab, "figure 5(b): number of clusters p"));
    ferry_i_lab_units(lab, "", 1);
    for (int64_t j = 0; j < MOST; j++)
        FERRY_TRY(ferry_i_lab_cell(ctx, lab, "accuracy, %", cluster_names[j],
                                   ferry_i_score_of(runs, by_p + j * runs), NAN));

    const double first = mean_of(objective, 0, runs), last = mean_of(objective, 7, runs);
    FERRY_TRY(ferry_i_lab_claim(
        ctx, lab, mean_of(objective, 2, runs) - last < 0.1 * (first - last),
        "5(a): after 10 iterations the objective hardly changes (a tenth of its fall is "
        "left, or less)"));
    FERRY_TRY(ferry_i_lab_claim(
        ctx, lab, fabs(mean_of(by_step, 6, runs) - mean_of(by_step, 7, runs)) < 0.2,
        "5(a): after 80 iterations the accuracy does not change (by 0.2 points)"));
    for (int64_t j = 2; j <= 4; j++)
        inside += mean_of(by_p, j, runs) / 3;
    for (int64_t j = 0; j < MOST; j++)
        if (j < 2 || j > 4) peak &= inside > mean_of(by_p, j, runs);
    FERRY_TRY(ferry_i_lab_claim(ctx, lab, peak,
                                "5(b): p between 20 and 40 is better than fewer and more"));
    FERRY_TRY(ferry_i_lab_note(
        ctx, lab,
        "F A G' has rank c (here 2) whatever p is, so p cannot matter much for this model; "
        "docs/methods/ttl.md says more."));
done:
    ferry_i_free(x);
    return st;
}

const ferry_study ferry_i_study_ttl_figure5 = {
    .name = "ttl-figure5",
    .paper = TTL_PAPER,
    .shows = "figure 5: convergence, and the number of clusters p",
    .needs = TTL_NEWS,
    .protocol =
        "comp-vs-talk as in ttl-table5, 10 seeds (quick: 2), each with other halves of the "
        "words. TTL in mode paper, p = 30 of which 20 are shared (the paper gives only p); "
        "in (b) two thirds of p are shared, 100 iterations. The figure's numbers are not "
        "in "
        "the text.",
    .run = figure5,
};
