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
    FERRY_FREE(s->u, s->mean, s->inv_sd);
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
    bool finish = false;

    FERRY_PASS(ferry_i_ranksvm_fit(ctx, o, z, mean, s->b.k, on, &s->r, &finish));
    ferry_i_diag_real(ctx, "epochs", (double)s->r->epochs);
    ferry_i_diag_real(ctx, "rank_objective", s->r->objective);
    ferry_i_diag_real(ctx, "rank_gap", s->r->gap);
    rep->objective = s->r->objective;
    rep->iters = s->r->epochs;
    rep->stop = finish || stopped ? FERRY_STOP_FINISH : FERRY_STOP_DONE;
    return FERRY_OK;
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
    ferry_i_free(f);
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
    FERRY_FREE(instance, z);
    ferry_i_matrix_free(x);
    return st;
}

/* ---- save and load ---- */

/* A file of another goal, or of a model that saw no features, has nothing to rank by. */
void ferry_i_ranked_base(ferry_io *io, base *b)
{
    ferry_i_base_file(io, true, b);
    FERRY_IO_NEED(io, b->goal == FERRY_MULTILABEL,
                  "tensor goal: the method predicts sets of labels");
}

/* "rank.w" is m x (d + 1), one row a label; "rank.threshold" has the m + 1 weights that
 * give the threshold from [f; 1]. u decides the number of features that everything after
 * it must have. */
void ferry_i_ranked_parts(ferry_io *io, int64_t rows, ranked *s)
{
    ferry_i_ranked_base(io, &s->b);
    if (ferry_i_io_loading(io)) FERRY_IO_NEW(io, s->r, 1);
    if (io->st != FERRY_OK) return;
    const int64_t width = ferry_i_base_width(&s->b), m = s->b.k;
    if (ferry_i_io_has(io, "u", s->u != NULL))
        ferry_i_io_block(io, "u", rows < 0 ? width : rows, -1, &s->u);
    /* the RankSVM's features are the latent ones */
    const int64_t d = s->u ? s->u->k : width;
    if (ferry_i_io_has(io, "mean", s->mean != NULL))
        ferry_i_io_reals(io, "mean", 1, d, &s->mean);
    if (ferry_i_io_has(io, "inv_sd", s->inv_sd != NULL)) {
        FERRY_IO_NEED(io, s->mean, "tensor mean is missing");
        ferry_i_io_reals(io, "inv_sd", 1, d, &s->inv_sd);
    }
    if (ferry_i_io_loading(io)) {
        s->r->m = m;
        s->r->d = d;
    }
    ferry_i_io_numbers(io, "rank.scale", 1, &s->r->scale);
    ferry_i_io_reals(io, "rank.w", m, d + 1, &s->r->w);
    ferry_i_io_reals(io, "rank.threshold", 1, m + 1, &s->r->threshold);
}

/* U has as many rows as there are features (-1). */
void ferry_i_ranked_file(ferry_io *io, void *model)
{
    ferry_i_ranked_parts(io, -1, model);
}
