/* The guard at work: which method to fit on all labels that may be seen. */
#include <math.h>

#include "eval/guard.h"

void ferry_guard_choice_free(ferry_guard_choice *c)
{
    if (!c) return;
    ferry_opts_free((ferry_opts *)c->options);
    FERRY_FREE((char *)c->name, (char *)c->method, (char *)c->baseline, (char *)c->sentence,
               c);
}

/* "0.861", in the metric's own sign, which is known also where nothing is scored by it. */
static ferry_words score_words(const ferry_results *rs, double score)
{
    return ferry_i_number_words(3, false,
                                rs->metrics[0]->info.larger_is_better ? score : -score);
}

/* Why no transfer method is taken: of classes it must be the source that makes the lead (guard.c). */
static const char *why_none(const ferry_results *rs)
{
#define NONE_OF "no transfer method is taken: the task has "
    static const char *const why[] = {
        [FERRY_CARRIES_SOURCE] = "no transfer method leads by enough, and by its source",
        [FERRY_CARRIES_BRIDGE] = NONE_OF "a bridge, but no source to shuffle",
        [FERRY_CARRIES_GRAPH] = NONE_OF "a graph, but no source to shuffle",
        [FERRY_CARRIES_BOTH] = NONE_OF "a bridge and a graph, but no source to shuffle",
        [FERRY_CARRIES_NOTHING] = NONE_OF "no source to shuffle",
    };
    return rs->run.goal == FERRY_CLASSIFY ? why[rs->carries]
                                          : "no transfer method leads by enough";
}

char *ferry_i_guard_reason(const ferry_results *rs, const ferry_pick *p,
                           const double *score, int64_t visible, bool open)
{
    const ferry_entry *e = &rs->result[p->chosen];
    const char *metric = rs->metrics[0]->info.name;
    ferry_text t = {0};

    if (p->baseline < 0) {
        ferry_i_text_addf(&t, "takes %s: %s", e->pub.name,
                          visible < 2 ? "by scores that need no labels, which is a guess"
                                      : "no baseline could be validated");
        goto done;
    }
    ferry_i_text_addf(&t, "takes %s: cross-validated %s %s on %lld labels", e->pub.name,
                      metric, score_words(rs, score[p->chosen]).s, (long long)visible);
    if (p->chosen != p->baseline) {
        ferry_i_text_addf(&t, ", %s of %s, the best baseline",
                          score_words(rs, score[p->baseline]).s,
                          rs->result[p->baseline].pub.name);
        if (open && ferry_i_guard_path(e))
            ferry_i_text_add(&t, "; the source tells more than 9 shuffled ones");
        else if (rs->run.goal == FERRY_CLASSIFY)
            ferry_i_text_add(&t, "; with none of 9 shuffled sources does it do as well");
    } else if (p->transfer >= 0)
        ferry_i_text_addf(&t, "; %s (%s: %s)", why_none(rs),
                          rs->result[p->transfer].pub.name,
                          score_words(rs, score[p->transfer]).s);
done:
    if (t.failed) ferry_i_text_free(&t);
    return t.s;
}

static ferry_status fill(ferry_ctx *ctx, const ferry_results *rs, const ferry_pick *p,
                         const double *score, ferry_guard_choice *c)
{
    ferry_status st = FERRY_OK;
    const ferry_entry *e = &rs->result[p->chosen];
    ferry_opts *options = NULL;

    c->size = sizeof *c;
    c->name = ferry_i_strdup(e->pub.name);
    c->method = ferry_i_strdup(e->pub.method);
    c->score = score[p->chosen];
    c->baseline_score = NAN;
    FERRY_HAVE(ctx, c->name && c->method);
    FERRY_TRY(ferry_opts_new(ctx, &options));
    c->options = options;
    for (int64_t i = 0; e->opts && i < ferry_opts_count(e->opts); i++) {
        const ferry_setting *s = ferry_opts_at(e->opts, i);
        FERRY_TRY(ferry_opts_set(ctx, options, s->key, s->value));
    }
    if (p->baseline < 0) goto done;
    FERRY_HAVE(ctx, c->baseline = ferry_i_strdup(rs->result[p->baseline].pub.name));
    c->baseline_score = score[p->baseline];
done:
    return st;
}

static ferry_status choose(ferry_ctx *ctx, const ferry_task *task, ferry_guard_choice *c)
{
    ferry_status st = FERRY_OK;
    ferry_results *rs = NULL;
    ferry_task *split = NULL;
    double *score = NULL;
    ferry_pick pick;
    bool open = false;

    FERRY_NEED(
        ctx, task->goal & (FERRY_CLASSIFY | FERRY_REGRESS | FERRY_RATE | FERRY_MULTILABEL),
        FERRY_EINVAL, "the guard is for classify, regress, rate and multilabel, not %s",
        ferry_goal_name(task->goal));
    FERRY_TRY(ferry_i_evaluate_begin(ctx, task, &rs, &split));
    FERRY_NEW(ctx, score, rs->n);
    FERRY_TRY(ferry_i_guard_gate(ctx, rs, task, &open));
    FERRY_TRY(ferry_i_guard_pick(ctx, rs, split, open, &pick, score));
    FERRY_NEED(ctx, pick.chosen >= 0, FERRY_ENEEDS,
               "task '%s': no method could be validated on the visible labels", task->name);
    FERRY_TRY(fill(ctx, rs, &pick, score, c));
    c->gate = open;
    FERRY_HAVE(ctx,
               c->sentence = ferry_i_guard_reason(
                   rs, &pick, score,
                   ferry_domain_labels(split->domains[ferry_i_guard_target(split)]), open));
done:
    ferry_i_free(score);
    ferry_task_free(split);
    ferry_results_free(rs);
    return st;
}

ferry_status ferry_guard_choose(ferry_ctx *outer, const ferry_task *task,
                                ferry_guard_choice **out)
{
    FERRY_ARGS_OUT(outer, out, out, task);

    ferry_status st = FERRY_OK;
    ferry_ctx own = ferry_i_child(outer), *ctx = &own;
    ferry_guard_choice *c = NULL;

    *out = NULL;
    FERRY_NEW(ctx, c, 1);
    FERRY_TRY(choose(ctx, task, c));
    FERRY_MOVE(*out, c);
done:
    ferry_guard_choice_free(c);
    return ferry_i_join(outer, ctx, st);
}
