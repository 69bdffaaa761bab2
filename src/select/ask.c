/* ferry_select(): by trial, or by the paper's model, which is learned or comes from a file. */
#include <string.h>

#include "select/select.h"

/* What the settings of the call are, beside those of a trial or of training, which go to `own`. */
typedef struct asked {
    const char *by, *selector, *save, *longest;
    bool paper;
    ferry_opts *own;
} asked;

static ferry_status ask(ferry_ctx *ctx, const ferry_opts *opts, asked *a)
{
    ferry_status st = FERRY_OK;

    *a = (asked){.by = ferry_opts_get(opts, "by"),
                 .selector = ferry_opts_get(opts, "selector"),
                 .save = ferry_opts_get(opts, "save")};
    a->paper = a->by && strcmp(a->by, "paper") == 0;
    FERRY_NEED(ctx, !a->by || a->paper || strcmp(a->by, "trial") == 0, FERRY_EINVAL,
               "select: by = %s: expected trial or paper", a->by);
    FERRY_NEED(ctx, a->paper || (!a->selector && !a->save), FERRY_EINVAL,
               "select: %s goes with by = paper: a trial learns no selector",
               a->selector ? "selector" : "save");
    if (a->paper) a->longest = ferry_opts_get(opts, "longest");
    FERRY_NEED(ctx,
               !a->longest || (strchr("123", a->longest[0]) && strlen(a->longest) == 1),
               FERRY_EINVAL, "select: longest = %s: expected 1, 2 or 3", a->longest);
    FERRY_TRY(ferry_opts_new(ctx, &a->own));
    for (int64_t i = 0; ferry_opts_at(opts, i); i++) {
        const ferry_setting *s = ferry_opts_at(opts, i);
        if (s->value != a->by && s->value != a->selector && s->value != a->save &&
            s->value != a->longest)
            FERRY_TRY(ferry_opts_set(ctx, a->own, s->key, s->value));
    }
    FERRY_NEED(ctx, !a->selector || !ferry_opts_at(a->own, 0), FERRY_EINVAL,
               "select: the settings of training are those of %s", a->selector);
done:
    return st;
}

static ferry_status by_paper(ferry_ctx *ctx, const ferry_task *task, const asked *a,
                             ferry_selection **out)
{
    ferry_status st = FERRY_OK;
    ferry_selector *s = NULL;

    if (a->selector)
        FERRY_TRY(ferry_i_selector_load(ctx, a->selector, &s));
    else
        FERRY_TRY(ferry_i_selector_train(ctx, task, a->own, &s));
    FERRY_TRY(ferry_i_select(ctx, s, task, a->longest ? a->longest[0] - '0' : 3, out));
    if (a->save) FERRY_TRY(ferry_i_selector_save(ctx, s, a->save));
done:
    ferry_i_selector_free(s);
    return st;
}

ferry_status ferry_select(ferry_ctx *ctx, const ferry_task *task, const ferry_opts *opts,
                          ferry_selection **out)
{
    FERRY_ARGS_OUT(ctx, out, out, task);

    ferry_status st = FERRY_OK;
    const uint64_t seed = ctx->seed;
    asked a = {0};

    FERRY_TRY(ask(ctx, opts, &a));
    FERRY_TRY(ferry_i_task_use_seed(ctx, task));
    st = a.paper ? by_paper(ctx, task, &a, out)
                 : ferry_i_select_trial(ctx, task, a.own, out);
done:
    ctx->seed = seed;
    if (st != FERRY_OK) {
        ferry_selection_free(*out);
        *out = NULL;
    }
    ferry_opts_free(a.own);
    return st;
}
