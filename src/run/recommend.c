/* ferry_fit_answer(): a model of what W chooses from the labels that may be seen, with the evidence in it. */
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "core/json.h"
#include "methods/method.h"
#include "model/blend.h"
#include "run/answer.h"

typedef struct work {
    const ferry_task *task, *split;
    ferry_results *rs;
    ferry_recommendation *a;
    bool single;
    ferry_model *model;
} work;

static json_t *members_json(int64_t n, const ferry_blend_member *m)
{
    json_t *all = json_object();

    for (int64_t j = 0; all && j < n; j++)
        if (json_object_set_new(all, m[j].name, json_real(m[j].weight)) != 0) {
            json_decref(all);
            return NULL;
        }
    return all;
}

static json_t *three(double at, double low, double high)
{
    return json_pack("[o, o, o]", ferry_i_json_real(at), ferry_i_json_real(low),
                     ferry_i_json_real(high));
}

/* Every candidate: its weight, the mean of its errors on labels that its fits did not see (null: none were hidden),
 * whether it sees a source, and the scale that makes probabilities of its scores. */
static json_t *candidates_json(const ferry_results *rs, const choice *c)
{
    const held_out *e = &c->v.e;
    json_t *all = json_object();

    for (int64_t j = 0; all && j < e->candidates; j++) {
        const ferry_result *r = &rs->result[c->v.place[j]].pub;
        double error = e->error && e->n > 0 ? 0 : NAN;
        for (int64_t i = 0; e->error && i < e->n; i++)
            error += e->error[j * e->n + i] / (double)e->n;
        json_t *one = json_pack(
            "[o, o, b, o]", ferry_i_json_real(c->p.w[j]), ferry_i_json_real(error),
            (int)(r->uses != FERRY_USES_TARGET_ONLY), ferry_i_json_real(c->v.scale[j]));
        if (json_object_set_new(all, r->name, one) != 0) {
            json_decref(all);
            return NULL;
        }
    }
    return all;
}

/* The evidence as a diagnostic of the model; takes the candidates. */
static ferry_status keep_evidence(ferry_ctx *ctx, const ferry_recommendation *a,
                                  json_t *candidates, ferry_model *m)
{
    ferry_status st = FERRY_OK;
    const char *told = m->diagnostics;
    json_t *all = NULL, *own = NULL;

    FERRY_HAVE(ctx, candidates);
    FERRY_TRY(ferry_i_json_parse(ctx, told, (int64_t)strlen(told), 0, NULL, &all));
    own = json_pack(
        "{s:s, s:s, s:s, s:o, s:o, s:s, s:o, s:o, s:o, s:s, s:I, s:f}", "use", a->use,
        "expect", a->expect, "source", a->source, "members",
        members_json(a->members, a->member), "without",
        members_json(a->without, a->member_without), "metric", a->metric ? a->metric : "",
        "value", three(a->value, a->low, a->high), "value_without",
        three(a->value_without, a->low_without, a->high_without), "worth",
        three(a->worth, a->worth_low, a->worth_high), "verdict",
        ferry_i_worth_name(a->verdict), "labels", (json_int_t)a->labels, "level", a->level);
    FERRY_HAVE(ctx, own && json_object_set(own, "candidates", candidates) == 0 &&
                        json_object_set(all, "answer", own) == 0);
    FERRY_TRY(ferry_i_model_set_diagnostics(ctx, m, all));
done:
    json_decref(candidates);
    json_decref(own);
    json_decref(all);
    return st;
}

/* Nobody was validated, so nobody was fitted: members that cannot be are no candidates. Whether there were such. */
static bool drop_members(scope *s, work *w, const choice *c)
{
    ferry_ctx *ctx = scope_ctx(s);
    bool any = false;

    for (int64_t j = 0; j < c->w.n; j++) {
        ferry_entry *e = &w->rs->result[c->w.place[j]];
        ferry_model *m = NULL;
        const ferry_status st = ferry_i_fit(ctx, w->split, e->how, e->opts, &m, NULL);
        ferry_model_free(m);
        if (st == FERRY_OK) continue;
        if (!ferry_i_skips(st)) scope_check(s, st);
        if (!(e->pub.reason = ferry_i_strdup(ferry_message(ctx))))
            scope_check(s, ferry_i_nomem(ctx));
        any = true;
    }
    return any;
}

static void body(scope *s, void *arg)
{
    work *w = arg;
    ferry_ctx *ctx = scope_ctx(s);
    choice c = answer_choose(s, w->rs, w->split, w->single);

    while (!c.by_labels && c.w.n > 0 && drop_members(s, w, &c))
        c = answer_choose(s, w->rs, w->split, w->single);
    if (c.w.n == 0)
        scope_fail(s, FERRY_ENEEDS, "task '%s': no method can be recommended: %s",
                   w->task->name,
                   c.v.visible < 2 ? "the target shows no labels, and no way does without"
                                   : "none could be validated on the visible labels");
    ferry_blend_part *parts = NEW(s, ferry_blend_part, c.w.n);
    for (int64_t j = 0; j < c.w.n; j++) {
        const ferry_entry *e = &w->rs->result[c.w.place[j]];
        parts[j] = (ferry_blend_part){e->how, e->opts, c.w.weight[j], c.w.scale[j]};
    }
    answer_members(s, w->rs, &c, w->a);
    answer_promise(s, &c, w->a);
    scope_check(s, ferry_i_answer_words(ctx, w->task, w->rs, w->a));
    scope_check(s, ferry_i_fit_blend(ctx, w->split, c.w.n, parts, &w->model));
    scope_check(s, keep_evidence(ctx, w->a, candidates_json(w->rs, &c), w->model));
}

ferry_status ferry_fit_answer(ferry_ctx *outer, const ferry_task *task, int single,
                              ferry_model **out)
{
    FERRY_ARGS_OUT(outer, out, out, task);

    ferry_status st = FERRY_OK;
    ferry_ctx own = ferry_i_child(outer), *ctx = &own;
    ferry_task *split = NULL;
    work w = {.task = task, .single = single != 0};

    *out = NULL;
    FERRY_NEED(
        ctx, task->goal & (FERRY_CLASSIFY | FERRY_REGRESS | FERRY_RATE | FERRY_MULTILABEL),
        FERRY_EINVAL,
        "goal %s has no labels to choose a method by: ferry run ranks them, and -m METHOD "
        "fits one",
        ferry_goal_name(task->goal));
    FERRY_NEW(ctx, w.a, 1);
    w.a->size = sizeof *w.a;
    w.a->value = w.a->low = w.a->high = w.a->value_without = w.a->low_without =
        w.a->high_without = w.a->worth = w.a->worth_low = w.a->worth_high = NAN;
    FERRY_TRY(ferry_i_evaluate_begin(ctx, task, &w.rs, &split));
    w.split = split;
    FERRY_TRY(scope_run(ctx, body, &w));
    FERRY_MOVE(*out, w.model);
done:
    ferry_i_answer_free(w.a);
    ferry_model_free(w.model);
    ferry_task_free(split);
    ferry_results_free(w.rs);
    return ferry_i_join(outer, ctx, st);
}
