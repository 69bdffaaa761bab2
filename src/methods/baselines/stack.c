/* stack: mf, and what the neighbours of the user and the item add to it (shared/near.h), with
 * weights found on ratings that were held out. */
#include "methods/shared/stack.h"

static ferry_status stack_fits(ferry_ctx *ctx, const ferry_task *task, const void *options)
{
    (void)options;
    return ferry_i_rating_fits(ctx, "stack", task);
}

static ferry_status stack_fit(ferry_ctx *ctx, const ferry_task *task, const void *options,
                              void **state, ferry_fit_info *rep)
{
    ferry_status st = FERRY_OK;
    rating_data d = {0};
    rating_model *m = NULL;

    (void)options;
    *state = NULL;
    FERRY_TRY(ferry_i_rating_data(ctx, task, &d));
    FERRY_TRY(ferry_i_stack(ctx, &d, &(stack_sources){.n = 0}, &m, rep));
    FERRY_MOVE(*state, m);
done:
    ferry_i_rating_model_free(m);
    ferry_i_rating_data_clear(&d);
    return st;
}

const ferry_method ferry_i_method_stack = {
    .name = "stack",
    .summary = "mf, and what users and items that were rated together add to it",
    .kind = FERRY_KIND_BASELINE,
    .spreads = true,
    .goals = FERRY_RATE,
    .needs = FERRY_NEED_RATINGS,
    .fits = stack_fits,
    .fit = stack_fit,
    FERRY_RATING_MODEL,
};
