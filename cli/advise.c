/* ferry advise: what fits a task, before it is run. */
#include <math.h>
#include <string.h>

#include "cli.h"

/* "red 60 x 8, knows 120 edges, 900 ratings" */
static void parts_cell(cli_table *t, const ferry_advice_domain *d)
{
    char parts[200] = "";
    size_t n = 0;

    for (int64_t i = 0; i < d->n_views && n < sizeof parts; i++)
        n += (size_t)snprintf(parts + n, sizeof parts - n, "%s%s %lld x %lld",
                              n > 0 ? ", " : "", d->views[i], (long long)d->view_rows[i],
                              (long long)d->view_features[i]);
    for (int64_t i = 0; i < d->n_graphs && n < sizeof parts; i++)
        n +=
            (size_t)snprintf(parts + n, sizeof parts - n, "%s%s %lld edges",
                             n > 0 ? ", " : "", d->graphs[i], (long long)d->graph_edges[i]);
    if (d->ratings > 0 && n < sizeof parts)
        (void)snprintf(parts + n, sizeof parts - n, "%s%lld ratings", n > 0 ? ", " : "",
                       (long long)d->ratings);
    cli_cell(t, "%s", parts);
}

static void print_domains(const ferry_advice *a)
{
    static const char *const roles[] = {"source", "intermediate", "target"};
    cli_table t = {.cols = 5};

    cli_cell(&t, "domain");
    cli_cell(&t, "role");
    cli_cell(&t, "instances");
    cli_cell(&t, "labels");
    cli_cell(&t, "views, graphs, ratings");
    for (int64_t i = 0; ferry_advice_domain_at(a, i); i++) {
        const ferry_advice_domain *d = ferry_advice_domain_at(a, i);
        cli_cell(&t, "%s", d->name);
        cli_cell(&t, "%s", roles[d->role]);
        cli_cell(&t, "%lld", (long long)d->instances);
        cli_cell(&t, "%lld", (long long)d->labels);
        parts_cell(&t, d);
    }
    cli_table_print(&t, stdout, 0);
}

/* Which views are taken for the same features. */
static void print_links(const ferry_advice *a)
{
    if (!ferry_advice_domain_at(a, 1) || a->goal == FERRY_RATE) return;
    printf("the same features: %s\n", a->links[0] ? a->links : "none in two domains");
}

/* "-" for what could not be measured. */
static void real_cell(cli_table *t, const char *format, double x)
{
    char text[32];

    (void)snprintf(text, sizeof text, format, x);
    cli_cell(t, "%s", isnan(x) ? "-" : text);
}

static void print_measures(const ferry_advice *a)
{
    cli_table t = {.cols = 6};

    if (!ferry_advice_domain_at(a, 1)) return; /* only the target */
    putchar('\n');
    cli_cell(&t, "to the target from");
    cli_cell(&t, "A-distance");
    cli_cell(&t, "complexity");
    cli_cell(&t, "shared features");
    cli_cell(&t, "ids");
    cli_cell(&t, "labels");
    for (int64_t i = 0; ferry_advice_domain_at(a, i); i++) {
        const ferry_advice_domain *d = ferry_advice_domain_at(a, i);
        if (d->shared_features < 0) continue;
        cli_cell(&t, "%s", d->name);
        real_cell(&t, "%.2f", d->a_distance);
        real_cell(&t, "%.3f", d->complexity);
        cli_cell(&t, "%lld (%.0f %%)", (long long)d->shared_features,
                 100 * d->feature_overlap);
        real_cell(&t, "%.0f %%", 100 * d->id_overlap);
        real_cell(&t, "%.0f %%", 100 * d->label_overlap);
    }
    cli_table_print(&t, stdout, 0);
    puts("A-distance: 0 cannot be told from the target, 2 always can; - has no features in "
         "common.");
}

/* "0.31 s", "20 s", "3 min" */
static const char *duration(double s, char *text)
{
    (void)snprintf(text, 32,
                   s < 9.5   ? "%.2g s"
                   : s < 120 ? "%.0f s"
                             : "%.0f min",
                   s < 0.01  ? 0.01
                   : s < 120 ? s
                             : s / 60);
    return text;
}

/* What was reckoned from the steps left is the most: many methods stop before the last. */
static void time_cell(cli_table *t, const ferry_advice_method *m, double times)
{
    char text[32];

    if (isnan(m->seconds))
        cli_cell(t, "over %.0f s", times);
    else
        cli_cell(t, "%s%s", m->measured ? "" : "up to ",
                 duration(m->seconds * times, text));
}

static void method_row(cli_table *t, const ferry_advice_method *m, const char *kind,
                       double repeats)
{
    char size[32];

    cli_cell(t, "%s", m->name);
    cli_cell(t, "%s", kind);
    time_cell(t, m, 1);
    time_cell(t, m, repeats);
    if (isnan(m->bytes))
        cli_cell(t, "-");
    else if (m->bytes < 1e6)
        cli_cell(t, "<1 MB");
    else
        cli_cell(t, "%s", cli_bytes(m->bytes, size, sizeof size));
}

/* Best first: transfer methods, then baselines, each in the order of their names. */
static void print_methods(const ferry_advice *a)
{
    static const ferry_kind kinds[] = {FERRY_KIND_TRANSFER, FERRY_KIND_BASELINE,
                                       FERRY_KIND_CONTROL};
    static const char *const names[] = {"transfer", "baseline", "control"};
    cli_table t = {.cols = 5};

    putchar('\n');
    cli_cell(&t, "fits");
    cli_cell(&t, "kind");
    cli_cell(&t, "a fit");
    cli_cell(&t, "%lld repeats", (long long)a->repeats);
    cli_cell(&t, "memory");
    for (int k = 0; k < 3; k++)
        for (int64_t i = 0; ferry_advice_method_at(a, i); i++) {
            const ferry_advice_method *m = ferry_advice_method_at(a, i);
            if (m->kind == kinds[k] && !m->reason)
                method_row(&t, m, names[k], (double)a->repeats);
        }
    cli_table_print(&t, stdout, 0);
}

static void print_unfit(const ferry_advice *a)
{
    int any = 0;

    for (int64_t i = 0; ferry_advice_method_at(a, i); i++) {
        const ferry_advice_method *m = ferry_advice_method_at(a, i);
        if (!m->reason) continue;
        if (any++ == 0) puts("\ndo not fit:");
        /* most reasons begin with the name */
        const bool named = strncmp(m->reason, m->name, strlen(m->name)) == 0;
        printf("- %s%s%s\n", named ? "" : m->name, named ? "" : ": ", m->reason);
    }
    if (a->of_other_goals > 0)
        printf("%s%lld more methods serve other goals than %s.\n", any ? "" : "\n",
               (long long)a->of_other_goals, ferry_goal_name(a->goal));
}

/* What each would use; methods that use the same are told together. */
static void print_uses(const ferry_advice *a)
{
    int any = 0;

    for (int64_t i = 0; ferry_advice_method_at(a, i); i++) {
        const ferry_advice_method *m = ferry_advice_method_at(a, i);
        bool told = m->reason || !m->uses[0];
        for (int64_t j = 0; j < i && !told; j++)
            told = strcmp(ferry_advice_method_at(a, j)->uses, m->uses) == 0;
        if (told) continue;
        printf("%s- %s", any++ ? "" : "\nwhat they would use:\n", m->name);
        for (int64_t j = i + 1; ferry_advice_method_at(a, j); j++) {
            const ferry_advice_method *o = ferry_advice_method_at(a, j);
            if (!o->reason && strcmp(o->uses, m->uses) == 0) printf(", %s", o->name);
        }
        printf(": %s\n", m->uses);
    }
}

/* What to do next, from what is there. */
static void print_hints(const ferry_advice *a, const char *path)
{
    int transfer = 0, baseline = 0;
    bool most = false;
    char text[3][32], word[4096];

    for (int64_t i = 0; ferry_advice_method_at(a, i); i++) {
        const ferry_advice_method *m = ferry_advice_method_at(a, i);
        transfer += !m->reason && m->kind == FERRY_KIND_TRANSFER;
        baseline += !m->reason && m->kind == FERRY_KIND_BASELINE;
        most = most || (!m->reason && !m->measured);
    }
    path = cli_word(path, word, sizeof word);
    putchar('\n');
    if (transfer == 0)
        puts("No transfer method fits: the reasons above say what is missing.");
    if (baseline == 0)
        puts("No baseline fits: without one nothing tells whether transfer helps.");
    if (a->visible == 0)
        puts(
            "No target label is visible: nothing can be checked on the target itself. A few "
            "labels\n(labelled: 20) make every verdict better founded.");
    if (isfinite(a->power[0])) {
        const bool errors = a->goal & (FERRY_REGRESS | FERRY_RATE);
        printf(
            "What it can show: with %lld scored %s and %lld repeat%s, where %s,\na gain of "
            "2 %s is found in %.0f %% of cases, of 5 in %.0f %%, of 10 in %.0f %%%s.\n",
            (long long)a->scored, a->goal == FERRY_RATE ? "ratings" : "rows",
            (long long)a->repeats, a->repeats == 1 ? "" : "s",
            errors ? "two methods' errors correlate by 0.9"
                   : "two methods differ on a fifth of the rows",
            errors ? "% of the error" : "points", 100 * a->power[0], 100 * a->power[1],
            100 * a->power[2], a->goal == FERRY_RATE ? " at best" : "");
    }
    printf(
        "In all %s %s for the repeats on one core, up to %s more for controls, and %s more "
        "for the answer.\n",
        most ? "at most" : "about", duration(a->seconds_repeats, text[0]),
        duration(a->seconds_controls, text[1]), duration(a->seconds_answer, text[2]));
    if (transfer + baseline == 0)
        printf("Next: add what is missing to %s; nothing can run as it is.\n", path);
    else if (a->scored > 0 || a->goal == FERRY_EMBED)
        printf("Next: ferry run %s; it says whether transfer helps here.\n", path);
    else
        printf(
            "Next: ferry run %s; no label is hidden, so cross-validation says what to use and "
            "what to expect.\n",
            path);
}

static void print(const ferry_advice *a, const char *path)
{
    printf("%s: %s '%s', %lld labels visible\n\n", a->task, ferry_goal_name(a->goal),
           a->target, (long long)a->visible);
    print_domains(a);
    print_links(a);
    print_measures(a);
    print_methods(a);
    print_uses(a);
    print_unfit(a);
    print_hints(a, path);
}

int cli_advise(cli *c)
{
    ferry_task *task = NULL;
    ferry_advice *advice = NULL;
    ferry_status st = FERRY_OK;

    if (c->value[KEY_SEED])
        st = ferry_opts_set(c->ctx, c->sets, "evaluate.seed", c->value[KEY_SEED]);
    if (st == FERRY_OK) st = ferry_task_load(c->ctx, c->args[0], c->sets, &task);
    cli_ask_before_stopping();
    if (st == FERRY_OK) st = ferry_advise(c->ctx, task, &advice);
    cli_progress_end();
    const int code = st == FERRY_OK ? EXIT_DONE : cli_failed(c, st);
    if (code == EXIT_DONE && c->value[KEY_JSON]) puts(advice->json);
    if (code == EXIT_DONE && !c->value[KEY_JSON]) print(advice, c->args[0]);
    ferry_advice_free(advice);
    ferry_task_free(task);
    return code;
}
