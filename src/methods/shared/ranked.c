/* What methods share that end in a RankSVM (ranked.h): a learner that puts an instance's
 * labels before the others and learns apart how many of them are on. Where a method has
 * latent features, these take the place of the features, in training and after. */
#include "methods/shared/ranked.h"

#include <string.h>

/* Of stored cells and zeros alike, without making a sparse x dense: sums, then a
 * division. */
ferry_status ferry_i_column_means(ferry_ctx *ctx, const ferry_matrix *x, double *means)
{
    ferry_status st = ferry_e(ctx)->sums(ctx, x, FERRY_COLS, 1, means);

    for (int64_t j = 0; x->rows > 0 && j < x->cols; j++)
        means[j] /= (double)x->rows;
    return st;
}

void ferry_i_ranked_clear(ranked *s)
{
    ferry_i_block_free(s->u);
    FERRY_FREE(s->mean, s->inv_sd);
    ferry_i_ranksvm_free(s->r);
    ferry_i_base_clear(&s->b);
}

void ferry_i_ranked_free(void *model)
{
    if (!model) return;
    ferry_i_ranked_clear(model);
    ferry_i_free(model);
}

/* The report is the RankSVM's: it is the last step of the method. A FINISH from the user
 * in an earlier step still says that the fit was cut short. */
ferry_status ferry_i_ranked_fit(ferry_ctx *ctx, const ferry_ranksvm_options *o,
                                const ferry_matrix *z, const double *mean,
                                const uint8_t *on, bool stopped, ranked *s,
                                ferry_fit_info *rep)
{
    ferry_status st = FERRY_OK;
    bool finish = false;

    FERRY_TRY(ferry_i_ranksvm_fit(ctx, o, z, mean, s->b.k, on, &s->r, &finish));
    ferry_i_diag_real(ctx, "epochs", (double)s->r->epochs);
    ferry_i_diag_real(ctx, "rank_objective", s->r->objective);
    rep->objective = s->r->objective;
    rep->iters = s->r->epochs;
    rep->stop = finish || stopped ? FERRY_STOP_FINISH : FERRY_STOP_DONE;
done:
    return st;
}

/* ---- new instances ---- */

/* Latent features come out in units of the projection. The RankSVM's one constant C would
 * weigh them by these units. */
void ferry_i_ranked_standardise(const ranked *s, ferry_block *z)
{
    for (int64_t i = 0; s->inv_sd && i < z->rows; i++)
        for (int64_t j = 0; j < z->k; j++)
            FERRY_ROW(z, i)[j] = (FERRY_ROW(z, i)[j] - s->mean[j]) * s->inv_sd[j];
}

/* Scores f (rows x m) go to the instances' places; the set is those labels whose score is
 * above the threshold that the RankSVM predicts for this instance. */
ferry_status ferry_i_ranked_label(ferry_ctx *ctx, const ranked *s, const ferry_matrix *z,
                                  const double *mean, const int64_t *instance,
                                  ferry_prediction *p)
{
    ferry_status st = FERRY_OK;
    const int64_t m = s->r->m;
    ferry_block *f = NULL;

    FERRY_TRY(ferry_i_block_new(ctx, z->rows, m, &f));
    FERRY_TRY(ferry_i_ranksvm_scores(ctx, s->r, z, mean, f));
    for (int64_t i = 0; i < z->rows; i++) {
        memcpy(p->score + instance[i] * m, FERRY_ROW(f, i), (size_t)m * sizeof *f->data);
        ferry_i_ranksvm_decide(s->r, FERRY_ROW(f, i), p->set + instance[i] * m);
    }
done:
    ferry_i_block_free(f);
    return st;
}

/* The prior first, for every instance; then those that have features are overwritten. */
ferry_status ferry_i_ranked_predict(ferry_ctx *ctx, const void *model,
                                    const ferry_domain *d, ferry_prediction *p)
{
    ferry_status st = FERRY_OK;
    const ranked *s = model;
    ferry_matrix *x = NULL, zm;
    ferry_block *z = NULL;
    int64_t *instance = NULL;

    FERRY_TRY(ferry_i_base_predict_prior(ctx, &s->b, p)); /* where there are no features */
    FERRY_TRY(ferry_i_base_query(ctx, &s->b, d, &x, &instance));
    if (s->u) {
        FERRY_TRY(ferry_i_block_new(ctx, x->rows, s->u->k, &z));
        ferry_e(ctx)->mul(ctx, 1, x, s->u, 0, z);
        ferry_i_ranked_standardise(s, z);
        zm = ferry_i_block_matrix(z);
        FERRY_TRY(ferry_i_ranked_label(ctx, s, &zm, NULL, instance, p));
    } else { /* x may be sparse: its mean comes off in the products */
        FERRY_TRY(ferry_i_ranked_label(ctx, s, x, s->mean, instance, p));
    }
done:
    ferry_i_free(instance);
    ferry_i_block_free(z);
    ferry_i_matrix_free(x);
    return st;
}

/* ---- save and load ---- */

/* "rank.w" is m x (d + 1), one row a label; "rank.threshold" has the m + 1 weights that
 * give the threshold from [f; 1]. */
ferry_status ferry_i_ranked_put(ferry_ctx *ctx, const ranked *s, ferry_dict *dict)
{
    ferry_status st = FERRY_OK;
    const ferry_ranksvm *r = s->r;

    FERRY_TRY(ferry_i_base_save(ctx, &s->b, dict));
    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "rank.scale", 1, 1, &r->scale));
    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "rank.w", r->m, r->d + 1, r->w));
    FERRY_TRY(
        ferry_i_dict_put_reals(ctx, dict, "rank.threshold", 1, r->m + 1, r->threshold));
    if (s->u)
        FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "u", s->u->rows, s->u->k, s->u->data));
    if (s->mean) FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "mean", 1, r->d, s->mean));
    if (s->inv_sd)
        FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "inv_sd", 1, r->d, s->inv_sd));
done:
    return st;
}

/* A file of another goal, or of a model that saw no features, has nothing to rank by. */
ferry_status ferry_i_ranked_base_load(ferry_ctx *ctx, const ferry_dict *dict, base *b,
                                      int64_t *d)
{
    ferry_status st = FERRY_OK;

    FERRY_TRY(ferry_i_base_load(ctx, dict, true, b));
    FERRY_NEED(ctx, b->goal == FERRY_MULTILABEL, FERRY_EDATA,
               "tensor goal: the method predicts sets of labels");
    *d = ferry_i_base_width(b);
done:
    return st;
}

/* u decides the number of features that everything after it must have. s is the caller's
 * to clear when this fails. */
ferry_status ferry_i_ranked_get(ferry_ctx *ctx, const ferry_dict *dict, int64_t rows,
                                ranked *s)
{
    ferry_status st = FERRY_OK;
    const double *u = NULL, *scale = NULL;
    int64_t d = 0, one = 1, m;

    FERRY_TRY(ferry_i_ranked_base_load(ctx, dict, &s->b, &d));
    if (ferry_i_dict_has(dict, "u")) {
        int64_t g = -1;
        if (rows < 0) rows = d;
        FERRY_TRY(ferry_i_dict_reals(ctx, dict, "u", &rows, &g, &u));
        FERRY_TRY(ferry_i_dict_block(ctx, dict, "u", rows, g, &s->u));
        d = g; /* the RankSVM's features are the latent ones */
    }
    if (ferry_i_dict_has(dict, "mean"))
        FERRY_TRY(ferry_i_dict_reals_copy(ctx, dict, "mean", 1, d, &s->mean));
    if (ferry_i_dict_has(dict, "inv_sd")) {
        FERRY_NEED(ctx, s->mean, FERRY_EDATA, "tensor mean is missing");
        FERRY_TRY(ferry_i_dict_reals_copy(ctx, dict, "inv_sd", 1, d, &s->inv_sd));
    }
    m = s->b.k;
    FERRY_NEW(ctx, s->r, 1);
    s->r->m = m;
    s->r->d = d;
    FERRY_TRY(ferry_i_dict_reals(ctx, dict, "rank.scale", &one, &one, &scale));
    s->r->scale = scale[0];
    FERRY_TRY(ferry_i_dict_reals_copy(ctx, dict, "rank.w", m, d + 1, &s->r->w));
    FERRY_TRY(
        ferry_i_dict_reals_copy(ctx, dict, "rank.threshold", 1, m + 1, &s->r->threshold));
done:
    return st;
}

ferry_status ferry_i_ranked_save(ferry_ctx *ctx, const void *model, ferry_dict *dict)
{
    return ferry_i_ranked_put(ctx, model, dict);
}

/* U has as many rows as there are features (-1). */
ferry_status ferry_i_ranked_load(ferry_ctx *ctx, const ferry_dict *dict, void **out)
{
    ferry_status st = FERRY_OK;
    ranked *s = NULL;

    *out = NULL;
    FERRY_NEW(ctx, s, 1);
    FERRY_TRY(ferry_i_ranked_get(ctx, dict, -1, s));
    FERRY_MOVE(*out, s);
done:
    ferry_i_ranked_free(s);
    return st;
}
