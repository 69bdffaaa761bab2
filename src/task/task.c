/* Tasks: domains, a goal, methods and how to evaluate them. */
#include <stdio.h>
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
    FERRY_OPT(ferry_evaluate_settings, INT, seed, -1, -1, 9007199254740992.0,
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
        "a share, else a hundredth of the reference's"),
    FERRY_OPT_STRING(
        ferry_evaluate_settings, primary, "",
        "the transfer method that the primary comparison is about; empty: what "
        "the visible labels choose"),
    FERRY_OPT_ONE_OF(ferry_evaluate_settings, answer, "yes|single|no", "yes",
                     "say what to use, what to expect and what the source is worth; "
                     "single: of one method, not of an average of several"),
    FERRY_OPT_YES_NO(ferry_evaluate_settings, guard, "no",
                     "of older task files; does nothing: the answer is there without"),
    FERRY_OPT_ONE_OF(ferry_evaluate_settings, predictions, "first|all", "first",
                     "predictions that are kept: of the first repeat, or of all with their "
                     "scores"),
    FERRY_OPT_YES_NO(
        ferry_evaluate_settings, splits, "no",
        "keep which target labels were visible and which scored in each repeat"),
};
const int64_t ferry_i_evaluate_table_n = FERRY_COUNT(ferry_i_evaluate_table);
const ferry_opt_table ferry_i_evaluate_options = {ferry_i_evaluate_table,
                                                  FERRY_COUNT(ferry_i_evaluate_table)};

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
    FERRY_FREE(t->file, t->text, t->chosen);
    ferry_i_choices_free(t->choices);
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

static bool has_option(const ferry_method_info *m, const char *name)
{
    for (int64_t i = 0; i < m->options->n; i++)
        if (strcmp(m->options->opt[i].name, name) == 0) return true;
    return false;
}

const ferry_method_info *ferry_i_task_pooled(const char *name, const char **train)
{
    static const char suffix[] = "source";
    const size_t n = strlen(name), most = sizeof suffix; /* and + or - */
    char base[128];

    if (n <= most || n - most >= sizeof base || strcmp(name + n - most + 1, suffix) != 0)
        return NULL;
    const char sign = name[n - most];
    if (sign != '+' && sign != '-') return NULL;
    (void)snprintf(base, sizeof base, "%.*s", (int)(n - most), name);
    const ferry_method_info *m = ferry_method_find(base);
    *train = sign == '+' ? "both" : "source";
    return m && has_option(m, "train") ? m : NULL;
}

/* The method's name plus the options that differ from its defaults; a learner that is given rows of sources is
 * NAME+source, given these alone NAME-source. NULL: no memory. */
static char *name_entry(ferry_ctx *ctx, const char *method, const ferry_opts *opts)
{
    const ferry_method_info *m = ferry_method_find(method);
    const char *train = m && has_option(m, "train") ? ferry_opts_get(opts, "train") : NULL;
    const char *how = !train                         ? ""
                      : strcmp(train, "both") == 0   ? "+source"
                      : strcmp(train, "source") == 0 ? "-source"
                                                     : "";
    char *differing = NULL, *name = NULL;
    ferry_opts *rest = NULL;

    if (ferry_opts_new(ctx, &rest) != FERRY_OK) return NULL;
    for (int64_t i = 0; ferry_opts_at(opts, i); i++) {
        const ferry_setting *o = ferry_opts_at(opts, i);
        if (*how && strcmp(o->key, "train") == 0) continue;
        if (ferry_opts_set(ctx, rest, o->key, o->value) != FERRY_OK) goto done;
    }
    differing = m ? ferry_i_opts_differing(m->options->opt, m->options->n, rest)
                  : ferry_i_strdup("");
    if (differing)
        name = ferry_i_sprintf("%s%s%s%s", method, how, differing[0] ? " " : "", differing);
done:
    ferry_opts_free(rest);
    ferry_i_free(differing);
    return name;
}

bool ferry_i_task_has_mode(const ferry_method_info *m)
{
    return has_option(m, "mode");
}

const ferry_method_info *ferry_i_task_mode(const ferry_method_info *m, const char *mode)
{
    char name[128];

    if (strcmp(mode, "ferry") == 0) return m;
    (void)snprintf(name, sizeof name, "%s-%s", m->name, mode);
    return ferry_method_find(name);
}

/* NAME+source, NAME-source: the learner and what it is trained on. */
static ferry_status spell_pooled(ferry_ctx *ctx, const char *name, const ferry_opts *opts,
                                 const char **real, ferry_opts **less)
{
    ferry_status st = FERRY_OK;
    const char *train = NULL;
    const ferry_method_info *m = ferry_i_task_pooled(name, &train);
    ferry_opts *own = NULL;

    if (!m) return FERRY_OK;
    FERRY_TRY(ferry_opts_new(ctx, &own));
    for (int64_t i = 0; ferry_opts_at(opts, i); i++)
        FERRY_TRY(ferry_opts_set(ctx, own, ferry_opts_at(opts, i)->key,
                                 ferry_opts_at(opts, i)->value));
    FERRY_TRY(ferry_opts_set(ctx, own, "train", train));
    *real = m->name;
    FERRY_MOVE(*less, own);
done:
    ferry_opts_free(own);
    return st;
}

ferry_status ferry_i_task_spelling(ferry_ctx *ctx, const char *name, const ferry_opts *opts,
                                   const char **real, ferry_opts **less)
{
    ferry_status st = FERRY_OK;
    const ferry_method_info *m = ferry_method_find(name), *found = NULL;
    const char *mode = opts ? ferry_opts_get(opts, "mode") : NULL;
    ferry_opts *own = NULL;

    *real = name;
    *less = NULL;
    if (!m) return spell_pooled(ctx, name, opts, real, less);
    if (!mode || ferry_i_task_has_mode(m)) return FERRY_OK;
    found = ferry_i_task_mode(m, mode);
    FERRY_NEED(ctx, found, FERRY_EINVAL, "%s has no mode '%s'", name, mode);
    FERRY_TRY(ferry_opts_new(ctx, &own));
    for (int64_t i = 0; ferry_opts_at(opts, i); i++) {
        const ferry_setting *s = ferry_opts_at(opts, i);
        if (strcmp(s->key, "mode") != 0)
            FERRY_TRY(ferry_opts_set(ctx, own, s->key, s->value));
    }
    *real = found->name;
    FERRY_MOVE(*less, own);
done:
    ferry_opts_free(own);
    return st;
}

/* `as` names the row of the results: the same method may stand there several times with
 * other options. */
ferry_status ferry_task_add_method(ferry_ctx *ctx, ferry_task *t, const char *method,
                                   const char *as, const ferry_opts *opts)
{
    FERRY_ARGS(ctx, t, method);

    ferry_status st = FERRY_OK;
    ferry_task_method m = {0};
    ferry_opts *copy = NULL, *less = NULL;

    FERRY_NEED(ctx, method && method[0] && (!as || as[0]), FERRY_EINVAL,
               "task '%s': a method needs a name", t->name);
    FERRY_TRY(ferry_i_task_spelling(ctx, method, opts, &method, &less));
    if (less) opts = less;
    m.method = ferry_i_strdup(method);
    m.as = as ? ferry_i_strdup(as) : name_entry(ctx, method, opts);
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
    ferry_opts_free(less);
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
