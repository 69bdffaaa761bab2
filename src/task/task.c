/* Tasks: domains, a goal, methods and how to evaluate them. */
#include <string.h>

#include "ferry/method.h" /* the tables that name an entry; see file.c */
#include "task/task.h"

static const struct {
    ferry_goal goal;
    const char *name;
} goals[] = {
    {FERRY_CLASSIFY, "classify"},     {FERRY_REGRESS, "regress"},
    {FERRY_MULTILABEL, "multilabel"}, {FERRY_RATE, "rate"},
    {FERRY_EMBED, "embed"},           {FERRY_STREAM, "stream"},
};

const ferry_opt ferry_i_evaluate_table[] = {
    FERRY_OPT(ferry_evaluate_settings, INT, repeats, 10, 1, 1e6,
              "how often to draw the labelled part of the target and score all methods"),
    FERRY_OPT(ferry_evaluate_settings, REAL, seed, -1, -1, 9007199254740992.0,
              "seed of every random choice; -1: the context's (--seed)"),
    FERRY_OPT_STRING(
        ferry_evaluate_settings, metrics, "",
        "what to measure, the deciding one first; empty: what is usual for the "
        "goal"),
    FERRY_OPT_ONE_OF(ferry_evaluate_settings, ties, "worst|mean|index", "worst",
                     "how equal scores count in multi-label metrics"),
    FERRY_OPT(ferry_evaluate_settings, REAL, arriving, 1, 0, 1,
              "goal stream: share of the labels that ever arrive, drawn at random"),
    FERRY_OPT(ferry_evaluate_settings, INT, delay, 0, 0, 1e9,
              "goal stream: a label arrives after this many more rows"),
    FERRY_OPT_ONE_OF(ferry_evaluate_settings, controls, "none|quick|full", "quick",
                     "what transfer is checked against on the first split: 2 draws of each "
                     "control, and 19 of one if that can show something (quick), or 39, "
                     "and each source left out (full)"),
    FERRY_OPT(
        ferry_evaluate_settings, REAL, least, -1, -1, 1e300,
        "the least difference that matters, in units of the first metric; -1: 0.01 of "
        "a share, else a hundredth of the best baseline's"),
    FERRY_OPT_YES_NO(
        ferry_evaluate_settings, guard, "no",
        "choose in every repeat the method to take, by cross-validation on the "
        "visible target labels"),
    FERRY_OPT_ONE_OF(ferry_evaluate_settings, predictions, "first|all", "first",
                     "predictions that are kept: of the first repeat, or of all with their "
                     "scores"),
    FERRY_OPT_YES_NO(
        ferry_evaluate_settings, splits, "no",
        "keep which target labels were visible and which scored in each repeat"),
};
const int64_t ferry_i_evaluate_table_n = FERRY_COUNT(ferry_i_evaluate_table);

const ferry_opt_table *ferry_evaluate_options(void)
{
    static const ferry_opt_table table = {ferry_i_evaluate_table, ferry_i_evaluate_table_n};

    return &table;
}

const char *ferry_goal_name(ferry_goal goal)
{
    for (int64_t i = 0; i < FERRY_COUNT(goals); i++)
        if (goals[i].goal == goal) return goals[i].name;
    return "unknown";
}

/* Name and goal are what a task cannot be without. */
ferry_status ferry_task_new(ferry_ctx *ctx, const char *name, ferry_goal goal,
                            ferry_task **out)
{
    FERRY_ARGS_OUT(ctx, out, out, name);

    ferry_status st = FERRY_OK;
    ferry_task *t = NULL;

    FERRY_NEED(ctx, name && name[0], FERRY_EINVAL, "a task needs a name");
    FERRY_NEED(ctx, strcmp(ferry_goal_name(goal), "unknown") != 0, FERRY_EINVAL,
               "task '%s': unknown goal %d", name, (int)goal);
    FERRY_NEW(ctx, t, 1);
    t->goal = goal;
    FERRY_HAVE(ctx, t->name = ferry_i_strdup(name));
    FERRY_MOVE(*out, t);
done:
    ferry_task_free(t);
    return st;
}

void ferry_task_free(ferry_task *t)
{
    if (!t) return;
    for (int64_t i = 0; i < t->n_domains; i++)
        ferry_domain_free(t->domains[i]);
    for (int64_t i = 0; i < t->n_methods; i++) {
        FERRY_FREE((char *)t->methods[i].method, (char *)t->methods[i].as);
        ferry_opts_free((ferry_opts *)t->methods[i].opts);
    }
    FERRY_FREE(t->domains, t->methods);
    ferry_opts_free(t->evaluate);
    ferry_i_ids_free(t->names);
    FERRY_FREE(t->file, t->text);
    ferry_opts_free(t->sets);
    FERRY_FREE(t->name, t);
}

/* Takes the domain in any case, so that a caller never has to ask whose it is now. */
ferry_status ferry_task_add_domain(ferry_ctx *ctx, ferry_task *t, ferry_domain *d)
{
    FERRY_ARGS(ctx, t, d);

    ferry_status st = FERRY_OK;

    FERRY_NEED(ctx, d, FERRY_EINVAL, "task '%s': no domain given", t->name);
    for (int64_t i = 0; i < t->n_domains; i++)
        FERRY_NEED(ctx, strcmp(t->domains[i]->name, d->name) != 0, FERRY_EINVAL,
                   "task '%s' has a domain '%s' already", t->name, d->name);
    ferry_domain **domains = ferry_i_realloc(t->domains, t->n_domains + 1, sizeof *domains);
    FERRY_HAVE(ctx, domains);
    t->domains = domains;
    t->domains[t->n_domains++] = d;
    d->of_task = true;
    if (d->ratings && d->ratings->line) { /* what is learned from is not asked about */
        ferry_i_ratings_tell(ctx, d);
        ferry_i_free(d->ratings->line);
        d->ratings->line = NULL;
    }
    d = NULL;
done:
    ferry_domain_free(d);
    return st;
}

/* The method's name plus the options that differ from its defaults. */
static char *name_entry(const char *method, const ferry_opts *opts)
{
    const ferry_method_info *m = ferry_method_find(method);
    char *differing = m ? ferry_i_opts_differing(m->options->opt, m->options->n, opts)
                        : ferry_i_strdup("");
    char *name = NULL;

    if (differing)
        name = ferry_i_sprintf("%s%s%s", method, differing[0] ? " " : "", differing);
    ferry_i_free(differing);
    return name;
}

/* `as` names the row of the results: the same method may stand there several times with
 * other options. */
ferry_status ferry_task_add_method(ferry_ctx *ctx, ferry_task *t, const char *method,
                                   const char *as, const ferry_opts *opts)
{
    FERRY_ARGS(ctx, t, method);

    ferry_status st = FERRY_OK;
    ferry_task_method m = {0};
    ferry_opts *copy = NULL;

    FERRY_NEED(ctx, method && method[0] && (!as || as[0]), FERRY_EINVAL,
               "task '%s': a method needs a name", t->name);
    m.method = ferry_i_strdup(method);
    m.as = as ? ferry_i_strdup(as) : name_entry(method, opts);
    FERRY_HAVE(ctx, m.method && m.as);
    for (int64_t i = 0; i < t->n_methods; i++)
        FERRY_NEED(
            ctx, strcmp(t->methods[i].as, m.as) != 0, FERRY_EINVAL,
            "task '%s' has a method named '%s' already; give one another name by as:",
            t->name, m.as);
    if (opts) FERRY_TRY(ferry_i_opts_copy(ctx, opts, &copy));
    m.opts = copy;
    ferry_task_method *methods =
        ferry_i_realloc(t->methods, t->n_methods + 1, sizeof *methods);
    FERRY_HAVE(ctx, methods);
    t->methods = methods;
    t->methods[t->n_methods++] = m;
    m = (ferry_task_method){0};
    copy = NULL;
done:
    FERRY_FREE((char *)m.method, (char *)m.as);
    ferry_opts_free(copy);
    return st;
}

/* Settings are kept as text and parsed when used: a task can be written out as it was
 * given. */
static ferry_status parse_evaluate(ferry_ctx *ctx, const ferry_opts *opts,
                                   ferry_evaluate_settings *out)
{
    return ferry_i_opts_parse(ctx, "evaluate", ferry_i_evaluate_table,
                              ferry_i_evaluate_table_n, opts, out);
}

/* Parsed once here, so that a mistake is reported by the call that made it. */
ferry_status ferry_task_set_evaluate(ferry_ctx *ctx, ferry_task *t, const ferry_opts *opts)
{
    FERRY_ARGS(ctx, t);

    ferry_evaluate_settings settings;
    ferry_opts *copy = NULL;

    FERRY_PASS(parse_evaluate(ctx, opts, &settings));
    FERRY_PASS(ferry_i_opts_copy(ctx, opts, &copy));
    ferry_opts_free(t->evaluate);
    t->evaluate = copy;
    return FERRY_OK;
}

ferry_status ferry_i_task_evaluate(ferry_ctx *ctx, const ferry_task *t,
                                   ferry_evaluate_settings *out)
{
    return parse_evaluate(ctx, t->evaluate, out);
}

const char *ferry_task_name(const ferry_task *t)
{
    if (!t) return NULL;
    return t->name;
}

ferry_goal ferry_task_goal(const ferry_task *t)
{
    if (!t) return (ferry_goal)0;
    return t->goal;
}

int64_t ferry_task_domain_count(const ferry_task *t)
{
    if (!t) return 0;
    return t->n_domains;
}

const ferry_domain *ferry_task_domain_at(const ferry_task *t, int64_t i)
{
    if (!t) return NULL;
    return i >= 0 && i < t->n_domains ? t->domains[i] : NULL;
}

const ferry_domain *ferry_i_task_role(const ferry_task *t, ferry_role role, int64_t i)
{
    for (int64_t j = 0; j < t->n_domains; j++)
        if (t->domains[j]->role == role && i-- == 0) return t->domains[j];
    return NULL;
}

int64_t ferry_i_task_count_role(const ferry_task *t, ferry_role role)
{
    int64_t n = 0;

    for (int64_t j = 0; j < t->n_domains; j++)
        n += t->domains[j]->role == role;
    return n;
}

/* Methods know one target; a task without one, or with two, is told apart here. */
ferry_status ferry_i_task_target(ferry_ctx *ctx, const ferry_task *t,
                                 const ferry_domain **out)
{
    const int64_t n = ferry_i_task_count_role(t, FERRY_TARGET);

    *out = NULL;
    if (n != 1)
        return ferry_i_fail(ctx, FERRY_ENEEDS, "task '%s' has %lld targets, expected one",
                            t->name, (long long)n);
    *out = ferry_i_task_role(t, FERRY_TARGET, 0);
    return FERRY_OK;
}
