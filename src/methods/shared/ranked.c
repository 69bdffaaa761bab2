/* What methods share that end in a RankSVM. */
#include "methods/shared/ranked.h"

#include <string.h>

ferry_matrix ferry_i_block_matrix(const ferry_block *b)
{
    return (ferry_matrix){
        .rows = b->rows, .cols = b->k, .nnz = b->rows * b->k, .dense = b->data, .refs = 1};
}

ferry_status ferry_i_column_means(ferry_ctx *ctx, const ferry_matrix *x, double *means)
{
    ferry_status st = ferry_e(ctx)->sums(ctx, x, FERRY_COLS, 1, means);

    for (int64_t j = 0; x->rows > 0 && j < x->cols; j++)
        means[j] /= (double)x->rows;
    return st;
}

ferry_status ferry_i_ranked_predict(ferry_ctx *ctx, const ferry_ranksvm *r,
                                    const ferry_matrix *x, const double *mean,
                                    const int64_t *instance, ferry_prediction *p)
{
    ferry_status st = FERRY_OK;
    ferry_block *f = NULL;

    FERRY_TRY(ferry_i_block_new(ctx, x->rows, r->m, &f));
    FERRY_TRY(ferry_i_ranksvm_scores(ctx, r, x, mean, f));
    for (int64_t i = 0; i < x->rows; i++) {
        memcpy(p->score + instance[i] * r->m, FERRY_ROW(f, i),
               (size_t)r->m * sizeof *f->data);
        ferry_i_ranksvm_decide(r, FERRY_ROW(f, i), p->set + instance[i] * r->m);
    }
done:
    ferry_i_block_free(f);
    return st;
}

ferry_status ferry_i_ranked_save(ferry_ctx *ctx, const ferry_ranksvm *r, ferry_dict *dict)
{
    ferry_status st = FERRY_OK;

    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "rank.scale", 1, 1, &r->scale));
    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "rank.w", r->m, r->d + 1, r->w));
    FERRY_TRY(
        ferry_i_dict_put_reals(ctx, dict, "rank.threshold", 1, r->m + 1, r->threshold));
done:
    return st;
}

ferry_status ferry_i_ranked_reals(ferry_ctx *ctx, const ferry_dict *dict, const char *name,
                                  int64_t *rows, int64_t *cols, double **out)
{
    ferry_status st = FERRY_OK;
    const double *data = NULL;

    FERRY_TRY(ferry_i_dict_reals(ctx, dict, name, rows, cols, &data));
    FERRY_NEW(ctx, *out, *rows * *cols);
    if (*rows * *cols > 0) memcpy(*out, data, (size_t)(*rows * *cols) * sizeof **out);
done:
    return st;
}

ferry_status ferry_i_ranked_base_load(ferry_ctx *ctx, const ferry_dict *dict, base *b,
                                      int64_t *d)
{
    ferry_status st = FERRY_OK;

    FERRY_TRY(ferry_i_base_load(ctx, dict, b));
    FERRY_NEED(ctx, b->goal == FERRY_MULTILABEL, FERRY_EDATA,
               "tensor goal: the method predicts sets of labels");
    FERRY_NEED(ctx, b->space, FERRY_EDATA, "tensor space.width is missing");
    *d = ferry_i_space_width(b->space);
done:
    return st;
}

ferry_status ferry_i_ranked_load(ferry_ctx *ctx, const ferry_dict *dict, int64_t m,
                                 int64_t d, ferry_ranksvm **out)
{
    ferry_status st = FERRY_OK;
    const double *scale = NULL;
    int64_t one = 1, d1 = d + 1, m1 = m + 1;
    ferry_ranksvm *r = ferry_i_calloc(1, sizeof *r);

    *out = r; /* the caller's in any case */
    FERRY_HAVE(ctx, r);
    r->m = m;
    r->d = d;
    FERRY_TRY(ferry_i_dict_reals(ctx, dict, "rank.scale", &one, &one, &scale));
    r->scale = scale[0];
    FERRY_TRY(ferry_i_ranked_reals(ctx, dict, "rank.w", &m, &d1, &r->w));
    FERRY_TRY(ferry_i_ranked_reals(ctx, dict, "rank.threshold", &one, &m1, &r->threshold));
done:
    return st;
}

void ferry_i_ranked_report(ferry_ctx *ctx, const ferry_ranksvm *r, bool finish,
                           ferry_report *rep)
{
    ferry_i_diag_real(ctx, "epochs", (double)r->epochs);
    ferry_i_diag_real(ctx, "rank_objective", r->objective);
    rep->objective = r->objective;
    rep->iters = r->epochs;
    rep->stop = finish ? FERRY_STOP_FINISH : FERRY_STOP_DONE;
}
