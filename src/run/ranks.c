/* Ranks for programs: joining the job, and what all but rank 0 do there. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/ranks.h"
#include "ferry/model.h"
#include "ferry/ranks.h"
#include "run/run.h"
#include "select/select.h"

int ferry_ranks_launched(void)
{
    static const char *const size[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};

    for (int i = 0; i < 2; i++)
        if (getenv(size[i])) return atoi(getenv(size[i])) > 1;
    return getenv("PMIX_RANK") != NULL;
}

ferry_status ferry_ranks_join(ferry_ctx *ctx, int *rank)
{
    FERRY_ARGS(ctx, rank);

    char about[128];
    int share = 0;

    (void)snprintf(about, sizeof about, "OpenBLAS's kernels %s", ferry_i_blas_core());
    const ferry_status st = ferry_i_ranks_join(ctx, about, &share);
    if (st == FERRY_OK) ctx->threads = share;
    *rank = ctx->ranks ? ctx->ranks->rank : 0;
    return st;
}

/* Say that the task is there, or why not. */
static ferry_status answer(ferry_ctx *ctx, ferry_status made)
{
    ferry_buffer p = {.writing = true};
    char *sentence = made == FERRY_OK ? (char[]){""} : ctx->message;

    FERRY_PACK(&p, ctx->ranks->pool);
    FERRY_PACK(&p, made);
    ferry_i_buffer_text(&p, &sentence);
    const ferry_status st = ferry_i_ranks_send(ctx, 0, RANK_READY, &p);
    ferry_i_buffer_free(&p);
    return st;
}

/* The same call that rank 0 is in. Its outcome, and what goes wrong, are rank 0's to tell. */
static void take_part(ferry_ctx *ctx, const ferry_called *c)
{
    ferry_results *results = NULL;
    ferry_selection *selection = NULL;
    ferry_selector *selector = NULL;
    ferry_model *model = NULL;
    ferry_status st = FERRY_OK;

    ctx->ranks->calls = 1;
    ctx->part = c->part;
    if (strcmp(ferry_i_ctx_engine(ctx), "mpi") == 0) ferry_i_ranks_spread(ctx);
    if (strcmp(c->verb, "evaluate") == 0)
        st = ferry_i_evaluate(ctx, c->task, NULL, &results);
    else if (strncmp(c->verb, "fit ", 4) == 0)
        st = ferry_fit(ctx, c->task, c->verb + 4, c->opts, &model, NULL);
    else if (strcmp(c->verb, "select") == 0)
        (void)ferry_i_select_trial(ctx, c->task, c->opts, &selection);
    else if (strcmp(c->verb, "train") == 0)
        (void)ferry_i_selector_train(ctx, c->task, c->opts, &selector);
    ctx->part = NULL;
    ctx->ranks->calls = 0;
    ferry_i_ranks_leave_rows(ctx, st);
    ferry_model_free(model);
    ferry_results_free(results);
    ferry_selection_free(selection);
    ferry_i_selector_free(selector);
}

/* Wait until all are ready, or rank 0 has given up. */
static ferry_status wait_for_all(ferry_ctx *ctx, bool *go)
{
    ferry_status st = FERRY_OK;
    const ferry_transport *t = ctx->ranks->t;
    const int ends[] = {RANK_READY, RANK_OVER};
    int64_t n = 0;
    int found = 0, i = 1;

    /* only these: another rank may have begun, and what it sends us is for later */
    while (found == 0) {
        int from = 0, tag = ends[i = !i];
        found = t->poll(&from, &tag, &n);
        if (found == 0 && i) ferry_i_ranks_rest();
    }
    FERRY_NEED(ctx, found == 1 && n == 0 && t->take(NULL) == 0, FERRY_EIO,
               "MPI: cannot receive");
    *go = i == 0;
done:
    return st;
}

/* read: the task that all ranks have read together, which stays for the calls that follow. */
static ferry_status serve_call(ferry_ctx *outer, ferry_buffer *p, ferry_task **read)
{
    ferry_status st = FERRY_OK;
    ferry_ctx own = ferry_i_child(outer), *ctx = &own;
    ferry_called c = {0};
    bool go = false;

    ctx->ranks->over = false;
    FERRY_PACK(p, ctx->ranks->pool);
    FERRY_TRY(answer(ctx, ferry_i_task_called(ctx, p, read, &c)));
    FERRY_TRY(wait_for_all(ctx, &go));
    if (go && !c.task) {
        ferry_task_free(*read); /* another one comes */
        *read = NULL;
        ferry_i_task_read_along(ctx, &c);
        c.kept = true;
    } else if (go) {
        take_part(ctx, &c);
    }
    if (c.kept) FERRY_MOVE(*read, c.task);
done:
    ferry_i_called_free(&c);
    return ferry_i_join(outer, ctx, st);
}

ferry_status ferry_ranks_serve(ferry_ctx *ctx)
{
    FERRY_ARGS(ctx, ctx);

    ferry_status st = FERRY_OK;
    const ferry_buffer bye = {0};
    ferry_buffer p = {0};
    ferry_task *read = NULL;
    ferry_tag tag = 0;
    bool there = false;
    int from = 0;

    FERRY_NEED(ctx, ctx->ranks && ctx->ranks->rank > 0, FERRY_EINVAL,
               "rank 0 has nobody to serve");
    while (tag != RANK_QUIT) {
        FERRY_TRY(ferry_i_ranks_poll(ctx, &there, &from, &tag, &p));
        if (!there) {
            tag = 0;
            ferry_i_ranks_rest();
            continue;
        }
        if (tag == RANK_CALL) st = serve_call(ctx, &p, &read);
        ferry_i_buffer_free(&p);
        FERRY_TRY(st);
    }
    FERRY_TRY(ferry_i_ranks_send(ctx, 0, RANK_BYE, &bye));
done:
    ferry_task_free(read);
    return st;
}
