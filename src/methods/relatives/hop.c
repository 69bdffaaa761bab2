/* hop: a chain of classifiers. The sources teach a classifier that labels the first
 * intermediate domain, which teaches the next, until the target; each sees the features
 * that both sides share. What a method that crosses a bridge has to beat.
 *
 * learner gp replaces the last classifier by kernel regression on the soft labels of the
 * last intermediate domain, and gate lets the labelled instances of the target correct it
 * or overrule it (gp.c). Otherwise labels of the target are not used. */
#include <math.h>
#include <string.h>

#include "core/ranks.h"
#include "methods/shared/carry.h"
#include "methods/shared/linear_state.h"

enum { LOGREG, SVM, GP };
enum { TARGETS_AUTO, SOFT, HARD };

typedef struct hop_options {
    int learner, targets, gate, scale, leaks, bridge_labels;
    double C;
} hop_options;

static const ferry_opt hop_opts[] = {
    FERRY_OPT_ONE_OF(hop_options, learner, "logreg|svm|gp", "logreg",
                     "classifier of each hop; gp: kernel regression for the last"),
    FERRY_OPT_ONE_OF(hop_options, targets, "auto|soft|hard", "auto",
                     "pass probabilities on, or classes; auto: classes with svm"),
    TTL_OPT_COST(hop_options),
    FERRY_OPT_YES_NO(hop_options, gate, "no",
                     "gp: let labels of the target correct the bridge or overrule it"),
    FERRY_OPT_SCALE(hop_options),
    TTL_OPT_LEAKS(hop_options),
    TTL_OPT_LABELS(hop_options),
};

static ferry_status hop_fits(ferry_ctx *ctx, const ferry_task *task, const void *options)
{
    ferry_status st = FERRY_OK;
    const hop_options *o = options;

    (void)task;
    FERRY_NEED(ctx, o->learner != SVM || o->targets != SOFT, FERRY_EINVAL,
               "hop: learner=svm has no probabilities: it goes with targets=hard");
    FERRY_NEED(ctx, !o->gate || o->learner == GP, FERRY_EINVAL,
               "hop: gate=yes goes with learner=gp");
    FERRY_NEED(ctx, o->learner != GP || !ferry_i_ranks_split(ctx), FERRY_ENEEDS,
               "hop: learner=gp compares all rows with each other, which --engine mpi does "
               "not; logreg and svm run with it");
done:
    return st;
}

static ferry_status tell_weights(ferry_ctx *ctx, const ferry_task *task,
                                 const ttl_bridge *b, const ttl_carried *m)
{
    double *score = ferry_i_calloc(b->cols * b->c, sizeof *score);

    if (!score) return ferry_i_nomem(ctx);
    for (int64_t k = 0; m->w && k < b->c; k++)
        for (int64_t j = 0; j < b->cols; j++)
            score[j * b->c + k] =
                b->c == 2 && k == 0 ? -m->w[b->cols + 1 + j] : m->w[k * (b->cols + 1) + j];
    ferry_i_bridge_tell_top(ctx, "top_features", b, task->names, b->c, score);
    ferry_i_free(score);
    return FERRY_OK;
}

/* Columns of the target in spaces that place i has, too. */
static ferry_status kernel_columns(ferry_ctx *ctx, const ttl_bridge *b, int64_t i,
                                   uint8_t **keep)
{
    ferry_status st = FERRY_OK;
    const ferry_prepared *p = b->prepared;

    FERRY_NEW(ctx, *keep, b->cols);
    for (int64_t v = 0; v < p->n_frames; v++)
        for (int64_t j = 0; j < p->frame[v].cols; j++)
            (*keep)[p->space[v].begin + j] = b->place[i].has[v];
done:
    return st;
}

/* Rows of a place that count for the kernel: with features in keep and, `labelled`, a known
 * class. */
static ferry_status kernel_rows(ferry_ctx *ctx, const ttl_place *p, const uint8_t *keep,
                                bool labelled, int64_t **rows, int64_t *n)
{
    *n = 0;
    *rows = ferry_i_calloc(p->n, sizeof **rows);
    if (!*rows) return ferry_i_nomem(ctx);
    for (int64_t i = 0; i < p->n; i++) {
        bool any = false;
        for (int64_t e = p->x->start[i]; e < p->x->start[i + 1]; e++)
            any = any || keep[p->x->index[e]];
        if (any && (!labelled || p->known[i] >= 0)) (*rows)[(*n)++] = i;
    }
    return FERRY_OK;
}

/* The last hop by kernel regression, from place b->n_places - 2 with labels g. */
static ferry_status last_by_kernel(ferry_ctx *ctx, const ttl_bridge *b, bool gate,
                                   const ferry_block *g, ttl_linear *s)
{
    ferry_status st = FERRY_OK;
    const int64_t from = b->n_places - 2;
    const ttl_place *p = &b->place[from], *t = ferry_i_bridge_target(b);
    ferry_matrix *xp = NULL, *xl = NULL;
    ferry_block *gp = NULL;
    int64_t *rows = NULL, *labelled = NULL, n = 0, nl = 0;
    int32_t *y = NULL;
    uint8_t *keep = NULL;

    FERRY_TRY(kernel_columns(ctx, b, from, &keep));
    FERRY_TRY(kernel_rows(ctx, p, keep, false, &rows, &n));
    FERRY_NEED(ctx, n > 0, FERRY_ENEEDS,
               "hop learner=gp needs features that '%s' and '%s' share", p->domain->name,
               t->domain->name);
    FERRY_TRY(ferry_i_bridge_on_target(ctx, b, p->x, keep, n, rows, &xp));
    FERRY_TRY(ferry_i_block_new(ctx, n, b->c, &gp));
    for (int64_t i = 0; i < n; i++)
        memcpy(FERRY_ROW(gp, i), FERRY_ROW(g, rows[i]), (size_t)b->c * sizeof(double));
    if (gate) FERRY_TRY(kernel_rows(ctx, t, keep, true, &labelled, &nl));
    if (nl > 0) {
        y = ferry_i_calloc(nl, sizeof *y);
        if (!y) FERRY_TRY(ferry_i_nomem(ctx));
        for (int64_t i = 0; i < nl; i++)
            y[i] = t->known[labelled[i]];
        FERRY_TRY(ferry_i_bridge_on_target(ctx, b, t->x, keep, nl, labelled, &xl));
    }
    FERRY_TRY(ferry_i_gp_fit(ctx, xp, gp, xl, y, &s->gp));
done:
    FERRY_FREE(keep, rows, labelled, y, gp);
    ferry_i_matrix_free(xp);
    ferry_i_matrix_free(xl);
    return st;
}

static ferry_status chain(ferry_ctx *ctx, const ferry_task *task, const hop_options *o,
                          const ttl_bridge *b, ttl_linear *s)
{
    ferry_status st = FERRY_OK;
    const bool svm = o->learner == SVM, hard = o->targets == HARD || svm;
    const int64_t last = b->n_places - 1;
    ferry_block **g = ferry_i_calloc(b->n_places, sizeof(ferry_block *));
    double *shared = ferry_i_calloc(b->n_places, sizeof *shared);
    ttl_carried carried = {0};

    if (!g || !shared) FERRY_TRY(ferry_i_nomem(ctx));
    FERRY_TRY(ferry_i_chain(ctx, b, o->C, svm, hard, last - 1, g, shared));
    if (o->learner == GP) {
        FERRY_TRY(last_by_kernel(ctx, b, o->gate, g[last - 1], s));
    } else {
        FERRY_TRY(ferry_i_chain_hop(ctx, b, o->C, svm, last, g, &carried));
        shared[last] = (double)carried.shared;
        FERRY_TRY(tell_weights(ctx, task, b, &carried));
        FERRY_TRY(ferry_i_carried_on_target(ctx, &carried, b, &s->last));
    }
    ferry_i_diag_reals(ctx, "shared_features", last - b->n_sources + (o->learner != GP),
                       shared + b->n_sources);
done:
    for (int64_t i = 0; g && i < b->n_places; i++)
        ferry_i_free(g[i]);
    FERRY_FREE(g, shared);
    ferry_i_carried_clear(&carried);
    return st;
}

static ferry_status hop_fit(ferry_ctx *ctx, const ferry_task *task, const void *options,
                            void **out, ferry_fit_info *rep)
{
    ferry_status st = FERRY_OK;
    const hop_options *o = options;
    ttl_linear *s = ferry_i_calloc(1, sizeof *s);
    ttl_bridge *b = NULL;

    *out = NULL;
    if (!s) FERRY_TRY(ferry_i_nomem(ctx));
    FERRY_TRY(ferry_i_bridge_new(ctx, "hop", task,
                                 (ttl_reading){.scale = o->scale,
                                               .leaks = o->leaks,
                                               .bridge_labels = o->bridge_labels},
                                 &b));
    s->c = b->c;
    FERRY_TRY(chain(ctx, task, o, b, s));
    s->prepared = ferry_i_bridge_release(b);
    rep->objective = NAN;
    FERRY_MOVE(*out, s);
done:
    ferry_i_ttl_linear_free(s);
    ferry_i_bridge_free(b);
    return st;
}

const ferry_method ferry_i_method_hop = {
    .name = "hop",
    .summary = "a chain of classifiers over the bridge, each taught by the one before",
    .kind = FERRY_KIND_TRANSFER,
    .goals = FERRY_CLASSIFY,
    .needs = FERRY_NEED_SOURCE_LABELS | FERRY_NEED_TARGET_VIEW | FERRY_NEED_PATH,
    FERRY_OPTIONS(hop_opts, hop_options),
    .fits = hop_fits,
    .fit = hop_fit,
    .spreads = true,
    .predict = ferry_i_ttl_linear_predict,
    FERRY_STATE(ttl_linear, ferry_i_ttl_linear_file, ferry_i_ttl_linear_free),
};
