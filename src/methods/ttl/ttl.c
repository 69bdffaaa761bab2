/* ttl: options and fit (ttl.h has the problem). */
#include "methods/ttl/ttl.h"

static const ferry_opt ttl_opts[] = {
    FERRY_OPT_ONE_OF(ttl_options, mode, "ferry|paper", "ferry",
                     "ferry: carry, settle, weigh; paper: the coupled factorisation"),
    FERRY_OPT_SCALE(ttl_options),
    TTL_OPT_LEAKS(ttl_options),
    TTL_OPT_LABELS(ttl_options),
    TTL_OPT_COST(ttl_options),
    FERRY_OPT_ONE_OF(ttl_options, settle, "auto|yes|no", "auto",
                     "ferry: let labels settle; auto: words always, other views if three "
                     "checks that use no label speak for it"),
    FERRY_OPT_YES_NO(ttl_options, trust, "yes",
                     "ferry: report boarding, crossing and landing"),
    FERRY_OPT(
        ttl_options, REAL, beta, 0, 0, 1e6,
        "ferry: how often a word counts, from 800 instances on, less below; 0: 6, or 1 "
        "where the halves of the features speak for it"),
    FERRY_OPT(ttl_options, REAL, eta, 0.1, 1e-12, 1e6, "ferry: pseudo-counts"),
    FERRY_OPT(ttl_options, INT, settle_steps, 30, 1, 1e9, "ferry: most steps of settling"),
    FERRY_OPT(ttl_options, REAL, settle_tol, 1e-3, 0, 1,
              "ferry: change of a label at which settling ends"),
    FERRY_OPT(ttl_options, REAL, w_min, 0.05, 0, 1,
              "ferry: least weight of an intermediate domain"),
    FERRY_OPT(ttl_options, INT, p1, 20, 0, 10000,
              "paper: feature clusters that are shared"),
    FERRY_OPT(ttl_options, INT, p2, 10, 0, 10000, "paper: feature clusters of each domain"),
    FERRY_OPT(ttl_options, INT, warm, 0, 0, 1e9,
              "paper: iterations that move the clusters alone, before the others"),
    FERRY_OPT(ttl_options, INT, iterations, 100, 0, 1e9, "paper: iterations"),
    FERRY_OPT_ONE_OF(ttl_options, loss, "squared|kl", "squared", "paper: loss"),
    FERRY_OPT_ONE_OF(ttl_options, norm, "paper|absorb|none|simplex", "paper",
                     "paper: what is done to F and G after each iteration"),
    FERRY_OPT_ONE_OF(ttl_options, exponent, "0.5|1", "0.5",
                     "paper: 0.5 is the published square root, 1 takes full steps"),
    FERRY_OPT_ONE_OF(ttl_options, start, "hop|uniform|random", "hop",
                     "paper: first labels of unlabelled instances"),
    FERRY_OPT_STRING(ttl_options, init, "",
                     "paper: start from the factors of this model file instead"),
    FERRY_OPT_STRING(ttl_options, weights, "equal",
                     "paper: of the views: equal, norm (1 / |X|^2) or numbers, a,b,c"),
    FERRY_OPT(ttl_options, REAL, floor, 0.02, 0, 1,
              "paper: smallest entry of the initial labels"),
    FERRY_OPT(ttl_options, REAL, tol, 0, 0, 1,
              "paper: stop at this relative change of the objective; 0: never"),
};

static ferry_status ttl_fits(ferry_ctx *ctx, const ferry_task *task, const void *options)
{
    ferry_status st = FERRY_OK;
    const ttl_options *o = options;
    const int64_t c = ferry_i_ids_count(task->names);

    FERRY_NEED(ctx, o->p1 + o->p2 > 0, FERRY_EINVAL,
               "ttl: p1 = 0 and p2 = 0 leave no cluster");
    FERRY_NEED(ctx, o->norm != FERRY_NMTF_SIMPLEX || o->loss == FERRY_NMTF_SQUARED,
               FERRY_EINVAL,
               "ttl: norm=simplex is least squares: it goes with loss=squared");
    FERRY_NEED(ctx, o->norm != FERRY_NMTF_SIMPLEX || c <= FERRY_SIMPLEX_MOST, FERRY_ENEEDS,
               "ttl: norm=simplex takes at most %d classes, this task has %lld",
               FERRY_SIMPLEX_MOST, (long long)c);
done:
    return st;
}

static ferry_status ttl_fit(ferry_ctx *ctx, const ferry_task *task, const void *options,
                            void **out, ferry_fit_info *rep)
{
    ferry_status st = FERRY_OK;
    const ttl_options *o = options;
    ttl_state *s = NULL;
    ferry_model *init = NULL;
    ttl_bridge *b = NULL;

    *out = NULL;
    FERRY_NEW(ctx, s, 1);
    FERRY_TRY(ferry_i_bridge_new(
        ctx, "ttl", task,
        (ttl_reading){o->scale, o->leaks, o->bridge_labels,
                      o->mode == TTL_MODE_FERRY ? FERRY_ANY_SIGN : FERRY_POSITIVE},
        &b));
    s->mode = o->mode;
    s->f.c = b->c;
    if (o->mode == TTL_MODE_FERRY) {
        FERRY_TRY(ferry_i_ttl_ferry(ctx, o, task, b, s, rep));
    } else {
        if (o->init[0]) FERRY_TRY(ferry_model_load(ctx, o->init, "ttl", &init));
        const ttl_state *from = init ? init->state : NULL;
        FERRY_TRY(ferry_i_ttl_paper(ctx, o, task, b, from ? &from->f : NULL, &s->f, rep));
    }
    s->f.prepared = ferry_i_bridge_release(b);
    FERRY_MOVE(*out, s);
done:
    ferry_i_ttl_free(s);
    ferry_model_free(init);
    ferry_i_bridge_free(b);
    return st;
}

const ferry_method ferry_i_method_ttl = {
    .name = "ttl",
    .summary = "transitive transfer: labels cross intermediate domains to the target",
    .reference = "Tan, Song, Zhong, Yang, Transitive Transfer Learning, KDD 2015",
    .kind = FERRY_KIND_TRANSFER,
    .goals = FERRY_CLASSIFY,
    .needs = FERRY_NEED_SOURCE_LABELS | FERRY_NEED_TARGET_VIEW | FERRY_NEED_PATH,
    FERRY_OPTIONS(ttl_opts, ttl_options),
    .fits = ttl_fits,
    .fit = ttl_fit,
    .spreads = true,
    .predict = ferry_i_ttl_predict,
    FERRY_STATE(ttl_state, ferry_i_ttl_file, ferry_i_ttl_free),
};
