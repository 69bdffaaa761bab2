/* bridge: auto of a task file: the candidates are tried on what a split shows, and the split keeps those that are
 * recommended (trial.c). The other side of a split is never asked: its labels are not in it. Where the trial cannot tell,
 * all stay, which loses less than the first way alone (docs/select.md). */
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "core/json.h"
#include "select/select.h"

/* What a choice is made of, before it is written. */
typedef struct taken {
    json_t *names;
    double q;
    const char *why;
} taken;

static void take(taken *t, const char *name)
{
    for (size_t i = 0; i < json_array_size(t->names); i++)
        if (strcmp(json_string_value(json_array_get(t->names, i)), name) == 0) return;
    json_array_append_new(t->names, json_string(name));
}

static void take_all(const ferry_task *split, taken *t)
{
    for (int64_t i = 0; i < split->n_domains; i++)
        if (split->domains[i]->role == FERRY_INTERMEDIATE) take(t, split->domains[i]->name);
}

/* The bridges of the recommended ways in their order; all where there is none. */
static void take_recommended(const ferry_task *split, const ferry_selection *of, taken *t)
{
    for (int64_t i = 0; i < of->n; i++) {
        const ferry_way *w = &of->way[i];
        if (!w->recommended) continue;
        if (json_array_size(t->names) == 0) t->q = w->q;
        for (int64_t k = 0; k < w->n; k++)
            take(t, w->domain[k]);
    }
    t->why = "the labels that arrive that way repeat best";
    if (json_array_size(t->names) > 0) return;
    t->q = NAN;
    take_all(split, t);
    t->why = of->told ? "no bridge is as good as none"
             : of->against >= 0
                 ? "two ways give opposite classes, and too few labels tell which is right"
                 : "no candidate's labels repeat more than chance gives";
}

/* "a", "a and b", "a, b and c" */
static char *name_of(const taken *t)
{
    ferry_text text = {0};
    const size_t n = json_array_size(t->names);

    for (size_t i = 0; i < n; i++) {
        const char *between = i == 0 ? "" : i == n - 1 ? " and " : ", ";
        ferry_i_text_addf(&text, "%s%s", between,
                          json_string_value(json_array_get(t->names, i)));
    }
    if (text.failed) ferry_i_text_free(&text);
    return text.s;
}

static ferry_status choose(ferry_ctx *ctx, const ferry_task *origin,
                           const ferry_task *split, ferry_choice *c)
{
    ferry_status st = FERRY_OK;
    ferry_selection *of = NULL;
    taken t = {.names = json_array(), .q = NAN, .why = "there is no other"};
    json_t *told = NULL;

    FERRY_HAVE(ctx, t.names);
    FERRY_NEED(ctx, strcmp(ferry_i_ctx_engine(ctx), "mpi") != 0, FERRY_ENEEDS,
               "bridge: auto does not run with --engine mpi; ferry select says which "
               "bridges to keep");
    if (ferry_i_task_count_role(split, FERRY_INTERMEDIATE) < 2) {
        take_all(split, &t);
    } else {
        FERRY_TRY(ferry_i_select_shown(ctx, origin, split, &of));
        take_recommended(split, of, &t);
    }
    told = json_pack("{s:O, s:o, s:s}", "chosen", t.names, "q", ferry_i_json_real(t.q),
                     "why", t.why);
    FERRY_HAVE(ctx, told && !ferry_i_memory_lost());
    FERRY_TRY(ferry_i_json_dump(ctx, told, JSON_COMPACT, &c->told));
    c->name = name_of(&t);
    c->why = isnan(t.q) ? ferry_i_strdup(t.why)
                        : ferry_i_sprintf("%s (q %.2f of at most 1)", t.why, t.q);
    FERRY_HAVE(ctx, c->name && c->why);
done:
    json_decref(told);
    json_decref(t.names);
    ferry_selection_free(of);
    return st;
}

/* A control has the choice of what it is a control of: its question is what the knowledge in these bridges is worth. */
static ferry_status remembered(ferry_ctx *ctx, const ferry_task *origin, int64_t repeat,
                               ferry_task *split)
{
    ferry_status st = FERRY_OK;
    ferry_choice c = {.seed = ctx->seed, .repeat = repeat};
    bool known = false;

    if (origin->choices)
        FERRY_TRY(ferry_i_choice_recall(ctx, origin->choices, repeat, split, &known));
    if (known) goto done;
    FERRY_TRY(choose(ctx, origin, split, &c));
    FERRY_TRY(ferry_i_choice_apply(ctx, &c, split));
    if (origin->choices) FERRY_TRY(ferry_i_choice_keep(ctx, origin->choices, &c));
done:
    ferry_i_choice_clear(&c);
    return st;
}

ferry_status ferry_i_task_bridges(ferry_ctx *ctx, const ferry_task *origin, int64_t repeat,
                                  ferry_task *split)
{
    if (!split->choose) return FERRY_OK;
    ferry_ctx own = ferry_i_child(ctx);
    own.repeat = (uint64_t)repeat; /* the halves are those of this repeat, whoever asks */
    return ferry_i_join(ctx, &own, remembered(&own, origin, repeat, split));
}

ferry_status ferry_i_split_chosen(ferry_ctx *ctx, const ferry_task *task,
                                  const ferry_task *origin, int64_t repeat,
                                  ferry_task **out)
{
    ferry_status st = ferry_i_task_split(ctx, task, repeat, out);

    if (st == FERRY_OK) st = ferry_i_task_bridges(ctx, origin, repeat, *out);
    if (st == FERRY_OK) return st;
    ferry_task_free(*out);
    *out = NULL;
    return st;
}
