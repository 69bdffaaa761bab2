/* TTL: transitive transfer learning. Sources and target share nothing; intermediate domains
 * share features with both, or have views of both kinds.
 *
 *   mode ferry   carry labels by regression, let them settle in each domain, weigh the
 *                domain by how far its halves agree (ferry.c)
 *   mode paper   the coupled tri-factorisation as published, with its formulas put right
 *                (paper.c, nmtf.h)
 *
 * Tan, Song, Zhong, Yang: Transitive Transfer Learning, KDD 2015. */
#include "methods/ttl/ttl.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "methods/method.h"
#include "methods/shared/bridge_prepare.h"

static const ferry_opt ttl_opts[] = {
    FERRY_OPT_ONE_OF(ttl_options, mode, "ferry|paper", "ferry",
                     "ferry: carry, settle, weigh; paper: the coupled factorisation"),
    TTL_OPT_SCALE(ttl_options),
    TTL_OPT_LEAKS(ttl_options),
    TTL_OPT_LABELS(ttl_options),
    TTL_OPT_COST(ttl_options),
    FERRY_OPT_ONE_OF(ttl_options, settle, "auto|yes|no", "auto",
                     "ferry: let labels settle; auto: words always, other views if their "
                     "halves then agree better"),
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
              "paper: least entry of the first labels"),
    FERRY_OPT(ttl_options, REAL, tol, 0, 0, 1,
              "paper: stop at this relative change of the objective; 0: never"),
};

static void ttl_free(void *model)
{
    ttl_state *s = model;

    if (!s) return;
    ferry_i_frame_free(s->frame);
    ferry_i_mixture_clear(&s->mixture);
    ferry_i_carried_clear(&s->carried);
    ferry_i_block_free(s->h);
    ferry_i_ids_free(s->ids);
    ferry_i_free(s->hash);
    ferry_i_block_free(s->g);
    for (int64_t t = 0; s->tensor && t < s->n_tensors; t++)
        ferry_i_free(s->tensor[t].data);
    ferry_i_free(s->tensor);
    ferry_i_free(s);
}

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
                            void **out, ferry_report *rep)
{
    ferry_status st = FERRY_OK;
    const ttl_options *o = options;
    ttl_state *s = ferry_i_calloc(1, sizeof *s);
    ferry_model *init = NULL;
    ttl_bridge *b = NULL;

    *out = NULL;
    if (!s) FERRY_TRY(ferry_i_nomem(ctx));
    FERRY_TRY(ferry_i_bridge_new(ctx, "ttl", task,
                                 (ttl_reading){o->scale, o->leaks, o->bridge_labels}, &b));
    s->mode = o->mode;
    s->c = b->c;
    FERRY_TRY(ferry_i_frame_new(ctx, b, &s->frame));
    if (o->mode == TTL_MODE_FERRY) {
        FERRY_TRY(ferry_i_ttl_ferry(ctx, o, task, b, s, rep));
    } else {
        if (o->init[0]) FERRY_TRY(ferry_model_load(ctx, o->init, "ttl", &init));
        FERRY_TRY(ferry_i_ttl_paper(ctx, o, task, b, init ? init->state : NULL, s, rep));
    }
    *out = s;
    s = NULL;
done:
    ttl_free(s);
    ferry_model_free(init);
    ferry_i_bridge_free(b);
    return st;
}

/* ---- predict ---- */

/* Instances that were seen in fit and still look the same keep their classes. */
static void recall(const ttl_state *s, const ferry_domain *d, const ferry_matrix *x,
                   ferry_block *g)
{
    for (int64_t i = 0; i < x->rows; i++) {
        const int64_t at = ferry_i_ids_find(s->ids, ferry_i_ids_at(d->ids, i));
        if (at < 0 || s->hash[at] != (int64_t)ferry_i_row_hash(x, i)) continue;
        memcpy(FERRY_ROW(g, i), FERRY_ROW(s->g, at), (size_t)s->c * sizeof(double));
    }
}

static ferry_status ttl_predict(ferry_ctx *ctx, const void *model, const ferry_domain *d,
                                ferry_prediction *p)
{
    ferry_status st = FERRY_OK;
    const ttl_state *s = model;
    ferry_matrix *x = NULL;
    ferry_block g = {p->n, p->k, p->score};

    FERRY_NEED(ctx, p->k == s->c, FERRY_EDATA, "the model has %lld classes, not %lld",
               (long long)s->c, (long long)p->k);
    FERRY_TRY(ferry_i_frame_rows(ctx, s->frame, d, &x));
    if (s->mode == TTL_MODE_PAPER) {
        FERRY_TRY(ferry_i_ttl_fold(ctx, s, x, &g));
        recall(s, d, x, &g);
    } else {
        if (s->lengths) ferry_i_rows_to_length_1(x);
        if (s->mixture.l)
            ferry_i_mixture_apply(ctx, &s->mixture, x, &g);
        else
            FERRY_TRY(ferry_i_carried_apply(ctx, &s->carried, x, &g));
    }
    ferry_i_winners(&g, p->cls, NULL);
done:
    ferry_i_matrix_free(x);
    return st;
}

/* ---- save and load ---- */

enum { MODE, CLASSES, LENGTHS, LOSS, NORM, TENSORS, FACTS };

static ferry_status save_paper(ferry_ctx *ctx, const ttl_state *s, ferry_dict *dict)
{
    ferry_status st = FERRY_OK;

    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "H", s->h->rows, s->c, s->h->data));
    FERRY_TRY(ferry_i_dict_put_ids(ctx, dict, "seen", s->ids));
    FERRY_TRY(ferry_i_dict_put_ints(ctx, dict, "seen.hash", s->g->rows, s->hash));
    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "seen.G", s->g->rows, s->c, s->g->data));
    for (int64_t t = 0; t < s->n_tensors; t++)
        FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, s->tensor[t].name, s->tensor[t].rows,
                                         s->tensor[t].cols, s->tensor[t].data));
    {
        ferry_text names = {0};
        for (int64_t t = 0; t < s->n_tensors; t++)
            ferry_i_text_addf(&names, "%s%s", t ? " " : "", s->tensor[t].name);
        if (names.failed)
            st = ferry_i_nomem(ctx);
        else
            st = ferry_i_dict_put_text(ctx, dict, "factors", names.s ? names.s : "");
        ferry_i_text_free(&names);
    }
done:
    return st;
}

static ferry_status ttl_save(ferry_ctx *ctx, const void *model, ferry_dict *dict)
{
    ferry_status st = FERRY_OK;
    const ttl_state *s = model;
    const int64_t facts[FACTS] = {s->mode, s->c,    s->lengths,
                                  s->loss, s->norm, s->n_tensors};

    FERRY_TRY(ferry_i_dict_put_ints(ctx, dict, "ttl", FACTS, facts));
    FERRY_TRY(ferry_i_frame_save(ctx, s->frame, dict));
    if (s->mode == TTL_MODE_PAPER) {
        FERRY_TRY(save_paper(ctx, s, dict));
    } else if (s->mixture.l) {
        FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "mixture.l", s->mixture.l->rows, s->c,
                                         s->mixture.l->data));
        /* A class that has died out has -inf here, which is no number for a file. */
        {
            double *pi = ferry_i_calloc(s->c, sizeof *pi);
            if (!pi) FERRY_TRY(ferry_i_nomem(ctx));
            for (int64_t k = 0; k < s->c; k++)
                pi[k] = fmax(s->mixture.log_pi[k], -DBL_MAX);
            st = ferry_i_dict_put_reals(ctx, dict, "mixture.log_pi", 1, s->c, pi);
            ferry_i_free(pi);
        }
    } else {
        FERRY_TRY(ferry_i_carried_save(ctx, &s->carried, dict));
    }
done:
    return st;
}

static ferry_status load_tensor(ferry_ctx *ctx, const ferry_dict *dict, ttl_tensor *t)
{
    ferry_status st = FERRY_OK;
    const double *data = NULL;

    t->rows = t->cols = -1;
    FERRY_TRY(ferry_i_dict_reals(ctx, dict, t->name, &t->rows, &t->cols, &data));
    t->data = ferry_i_calloc(t->rows * t->cols, sizeof *t->data);
    if (!t->data) FERRY_TRY(ferry_i_nomem(ctx));
    memcpy(t->data, data, (size_t)(t->rows * t->cols) * sizeof *data);
done:
    return st;
}

static ferry_status load_paper(ferry_ctx *ctx, const ferry_dict *dict, int64_t n_tensors,
                               ttl_state *s)
{
    ferry_status st = FERRY_OK;
    const char *names = ferry_i_dict_text(dict, "factors");
    const int64_t *hash = NULL;
    int64_t n;
    int used = 0;

    FERRY_TRY(ferry_i_dict_block(ctx, dict, "H", s->frame->cols, s->c, &s->h));
    FERRY_TRY(ferry_i_dict_ids(ctx, dict, "seen", &s->ids));
    n = ferry_i_ids_count(s->ids);
    FERRY_TRY(ferry_i_dict_block(ctx, dict, "seen.G", n, s->c, &s->g));
    FERRY_TRY(ferry_i_dict_ints(ctx, dict, "seen.hash", &n, &hash));
    s->hash = ferry_i_calloc(n, sizeof *s->hash);
    FERRY_NEED(ctx, names && n_tensors >= 0 && n_tensors < 100000, FERRY_EDATA,
               "text factors is missing");
    s->tensor = ferry_i_calloc(n_tensors, sizeof *s->tensor);
    if (!s->hash || !s->tensor) FERRY_TRY(ferry_i_nomem(ctx));
    memcpy(s->hash, hash, (size_t)n * sizeof *hash);
    for (; s->n_tensors < n_tensors; names += used) {
        ttl_tensor *t = &s->tensor[s->n_tensors];
        FERRY_NEED(ctx, sscanf(names, "%23s%n", t->name, &used) == 1, FERRY_EDATA,
                   "text factors has %lld names, expected %lld", (long long)s->n_tensors,
                   (long long)n_tensors);
        s->n_tensors++;
        FERRY_TRY(load_tensor(ctx, dict, t));
    }
done:
    return st;
}

static ferry_status load_mixture(ferry_ctx *ctx, const ferry_dict *dict, ttl_state *s)
{
    ferry_status st = FERRY_OK;
    const double *pi = NULL;
    int64_t one = 1;

    FERRY_TRY(
        ferry_i_dict_block(ctx, dict, "mixture.l", s->frame->cols, s->c, &s->mixture.l));
    FERRY_TRY(ferry_i_dict_reals(ctx, dict, "mixture.log_pi", &one, &s->c, &pi));
    s->mixture.log_pi = ferry_i_calloc(s->c, sizeof *pi);
    if (!s->mixture.log_pi) FERRY_TRY(ferry_i_nomem(ctx));
    for (int64_t k = 0; k < s->c; k++)
        s->mixture.log_pi[k] = pi[k] > -1e300 ? pi[k] : -INFINITY;
done:
    return st;
}

static ferry_status ttl_load(ferry_ctx *ctx, const ferry_dict *dict, void **out)
{
    ferry_status st = FERRY_OK;
    ttl_state *s = ferry_i_calloc(1, sizeof *s);
    const int64_t *facts = NULL;
    int64_t n = FACTS;

    *out = NULL;
    if (!s) FERRY_TRY(ferry_i_nomem(ctx));
    FERRY_TRY(ferry_i_dict_ints(ctx, dict, "ttl", &n, &facts));
    FERRY_NEED(ctx,
               (facts[MODE] == TTL_MODE_FERRY || facts[MODE] == TTL_MODE_PAPER) &&
                   facts[CLASSES] >= 2 && facts[CLASSES] < INT32_MAX && facts[LOSS] >= 0 &&
                   facts[LOSS] <= FERRY_NMTF_KL && facts[NORM] >= 0 &&
                   facts[NORM] <= FERRY_NMTF_SIMPLEX,
               FERRY_EDATA, "tensor ttl: mode %lld, %lld classes", (long long)facts[MODE],
               (long long)facts[CLASSES]);
    s->mode = (int)facts[MODE];
    s->c = facts[CLASSES];
    s->lengths = facts[LENGTHS] != 0;
    s->loss = (ferry_nmtf_loss)facts[LOSS];
    s->norm = (ferry_nmtf_norm)facts[NORM];
    FERRY_TRY(ferry_i_frame_load(ctx, dict, &s->frame));
    if (s->mode == TTL_MODE_PAPER)
        FERRY_TRY(load_paper(ctx, dict, facts[TENSORS], s));
    else if (ferry_i_dict_has(dict, "mixture.l"))
        FERRY_TRY(load_mixture(ctx, dict, s));
    else
        FERRY_TRY(ferry_i_carried_load(ctx, dict, s->c, s->frame->cols, &s->carried));
    *out = s;
    s = NULL;
done:
    ttl_free(s);
    return st;
}

const ferry_method ferry_i_method_ttl = {
    .name = "ttl",
    .summary = "transitive transfer: labels cross intermediate domains to the target",
    .reference = "Tan, Song, Zhong, Yang, Transitive Transfer Learning, KDD 2015",
    .kind = FERRY_KIND_TRANSFER,
    .goals = FERRY_CLASSIFY,
    .needs = FERRY_NEED_SOURCE_LABELS | FERRY_NEED_TARGET_VIEW,
    .options = ttl_opts,
    .n_options = FERRY_COUNT(ttl_opts),
    .options_size = sizeof(ttl_options),
    .fits = ttl_fits,
    .fit = ttl_fit,
    .predict = ttl_predict,
    .save = ttl_save,
    .load = ttl_load,
    .free = ttl_free,
};
