/* HeMap's model: predicting with it, and its file. A file is a stranger's: all shapes are
 * checked against each other.
 *
 * The file has the tensors form (goal, classes, features), gamma, prior, space.w or
 * space.rows with space.z, own.*, mapped.* and pyv, each only where the model has it. */
#include <string.h>

#include "methods/hemap/hemap.h"

void ferry_i_hemap_free(void *state)
{
    hemap_model *m = state;

    if (!m) return;
    ferry_i_free(m->prior);
    ferry_i_prepared_free(m->prepared);
    ferry_i_hemap_space_clear(&m->space);
    ferry_i_hemap_parts_clear(&m->parts);
    ferry_i_free(m);
}

/* (1 - gamma) own + gamma mapped for prepared rows. The block is new. A part that was not
 * learned leaves zeros, so gamma = 1 without `own` is right. */
static ferry_status mix(ferry_ctx *ctx, const hemap_model *m, const ferry_matrix *x,
                        ferry_block **out)
{
    ferry_status st = FERRY_OK;
    ferry_block *mapped = NULL;
    ferry_matrix *z = NULL;

    FERRY_TRY(ferry_i_block_new(ctx, x->rows, m->k, out));
    FERRY_TRY(ferry_i_block_new(ctx, x->rows, m->k, &mapped));
    FERRY_TRY(ferry_i_hemap_own_scores(ctx, &m->parts, x, *out));
    if (m->gamma == 0) goto done;
    FERRY_TRY(ferry_i_hemap_place(ctx, &m->space, x, &z));
    FERRY_TRY(ferry_i_hemap_mapped_scores(ctx, &m->parts, z, mapped));
    ferry_e(ctx)->axpby(ctx, m->gamma, mapped, 1 - m->gamma, *out);
done:
    ferry_i_matrix_free(z);
    ferry_i_block_free(mapped);
    return st;
}

/* Scores into the prediction of instance i; the largest wins, the first of equals. */
static void decide(const hemap_model *m, const double *score, int64_t i,
                   ferry_prediction *p)
{
    if (m->goal == FERRY_REGRESS) {
        p->value[i] = score[0];
        return;
    }
    memcpy(p->score + i * m->k, score, (size_t)m->k * sizeof *score);
    p->cls[i] = 0;
    for (int64_t c = 1; c < m->k; c++)
        if (score[c] > score[p->cls[i]]) p->cls[i] = (int32_t)c;
}

/* An instance without features gets the prior: of the target's labels, or the source's.
 * First everybody gets the prior, then those that have a row are answered. */
ferry_status ferry_i_hemap_predict(ferry_ctx *ctx, const void *state, const ferry_domain *d,
                                   ferry_prediction *p)
{
    ferry_status st = FERRY_OK;
    const hemap_model *m = state;
    ferry_block *scores = NULL;
    ferry_rows r = {0};

    FERRY_TRY(ferry_i_prepare_rows(ctx, m->prepared, d, &r));
    FERRY_NEED(ctx, p->goal == m->goal && (m->goal == FERRY_REGRESS || p->k == m->k),
               FERRY_EDATA, "the model has %lld classes, not %lld", (long long)m->k,
               (long long)p->k);
    for (int64_t i = 0; i < p->n; i++)
        decide(m, m->prior, i, p);
    if (!m->parts.own && m->gamma == 0) goto done; /* refused, and no labels of its own */
    FERRY_TRY(mix(ctx, m, r.x[0], &scores));
    for (int64_t i = 0; i < r.n; i++)
        decide(m, FERRY_ROW(scores, i), r.instance[i], p);
done:
    ferry_i_rows_clear(&r);
    ferry_i_block_free(scores);
    return st;
}

/* An instance without features has no place: the origin, which is the mean. */
ferry_status ferry_i_hemap_transform(ferry_ctx *ctx, const void *state,
                                     const ferry_domain *d, ferry_prediction *p)
{
    ferry_status st = FERRY_OK;
    const hemap_model *m = state;
    ferry_matrix *z = NULL;
    ferry_rows r = {0};

    FERRY_TRY(ferry_i_prepare_rows(ctx, m->prepared, d, &r));
    FERRY_TRY(ferry_i_hemap_place(ctx, &m->space, r.x[0], &z));
    p->k = m->space.k;
    FERRY_NEW(ctx, p->score, p->n * p->k);
    for (int64_t i = 0; i < z->rows; i++)
        memcpy(p->score + r.instance[i] * p->k, z->dense + i * p->k,
               (size_t)p->k * sizeof *p->score);
done:
    ferry_i_rows_clear(&r);
    ferry_i_matrix_free(z);
    return st;
}

/* Either w (mode ferry) or the rows with their places (mode paper). */
static ferry_status save_space(ferry_ctx *ctx, const hemap_model *m, ferry_dict *dict)
{
    ferry_status st = FERRY_OK;
    const hemap_space *s = &m->space;

    if (s->w) FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "space.w", s->k, m->d + 1, s->w));
    if (s->rows) FERRY_TRY(ferry_i_dict_put_matrix(ctx, dict, "space.rows", s->rows));
    if (s->z) FERRY_TRY(ferry_i_dict_put_matrix(ctx, dict, "space.z", s->z));
done:
    return st;
}

/* a and c of numbers are not stored: the mapped learner was trained on translated
 * numbers. */
ferry_status ferry_i_hemap_save(ferry_ctx *ctx, const void *state, ferry_dict *dict)
{
    ferry_status st = FERRY_OK;
    const hemap_model *m = state;
    const hemap_parts *p = &m->parts;
    const int64_t form[] = {m->goal, m->k, m->d};

    FERRY_TRY(ferry_i_prepared_save(ctx, m->prepared, dict));
    FERRY_TRY(ferry_i_dict_put_ints(ctx, dict, "form", 3, form));
    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "gamma", 1, 1, &m->gamma));
    if (m->goal != FERRY_EMBED)
        FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "prior", 1, m->k, m->prior));
    if (m->space.k > 0) FERRY_TRY(save_space(ctx, m, dict));
    if (p->own) {
        FERRY_TRY(ferry_i_learner_save(ctx, p->own, "own", dict));
    }
    if (p->mapped) FERRY_TRY(ferry_i_learner_save(ctx, p->mapped, "mapped", dict));
    if (p->pyv)
        FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "pyv", p->pyv->rows, p->pyv->k,
                                         p->pyv->data));
done:
    return st;
}

/* Either the map of mode ferry or the rows of mode paper. m->d is known by now; s->k comes
 * from the file and must be positive. */
static ferry_status load_space(ferry_ctx *ctx, const ferry_dict *dict, hemap_model *m)
{
    ferry_status st = FERRY_OK;
    hemap_space *s = &m->space;
    const double *w = NULL;
    int64_t d1 = m->d + 1;

    if (ferry_i_dict_has(dict, "space.w")) {
        s->k = -1;
        FERRY_TRY(ferry_i_dict_reals(ctx, dict, "space.w", &s->k, &d1, &w));
        FERRY_TRY(ferry_i_dict_reals_copy(ctx, dict, "space.w", s->k, d1, &s->w));
    } else {
        FERRY_TRY(ferry_i_dict_matrix(ctx, dict, "space.rows", &s->rows));
        FERRY_TRY(ferry_i_dict_matrix(ctx, dict, "space.z", &s->z));
        FERRY_NEED(ctx,
                   s->z->dense && s->rows->cols == m->d && s->z->rows == s->rows->rows &&
                       s->z->rows > 0,
                   FERRY_EDATA, "tensor space.rows is %lld x %lld, space.z %lld x %lld",
                   (long long)s->rows->rows, (long long)s->rows->cols,
                   (long long)s->z->rows, (long long)s->z->cols);
        s->k = s->z->cols;
    }
    FERRY_NEED(ctx, s->k > 0, FERRY_EDATA, "the model's space has no dimension");
done:
    return st;
}

/* The learners, whose sizes must be those of the features and of the space. With translated
 * outputs the mapped learner has 2 k classes: the source's labels and the target's
 * (parts.c). */
static ferry_status load_parts(ferry_ctx *ctx, const ferry_dict *dict, hemap_model *m)
{
    ferry_status st = FERRY_OK;
    hemap_parts *p = &m->parts;
    const bool numbers = m->goal == FERRY_REGRESS,
               translated = ferry_i_dict_has(dict, "pyv");

    if (ferry_i_dict_has(dict, "own.form")) {
        FERRY_TRY(ferry_i_learner_load(ctx, dict, "own", &p->own));
        FERRY_NEED(ctx,
                   p->own->k == m->k && p->own->d == m->d && p->own->numbers == numbers,
                   FERRY_EDATA, "tensor own.form does not go with tensor form");
    }
    if (ferry_i_dict_has(dict, "mapped.form")) {
        FERRY_TRY(ferry_i_learner_load(ctx, dict, "mapped", &p->mapped));
        FERRY_NEED(ctx,
                   p->mapped->k == (translated ? 2 * m->k : m->k) &&
                       p->mapped->d == m->space.k && p->mapped->numbers == numbers,
                   FERRY_EDATA, "tensor mapped.form does not go with the space");
    }
    if (translated) {
        double *data = NULL;
        FERRY_TRY(ferry_i_dict_reals_copy(ctx, dict, "pyv", 2 * m->k, m->k, &data));
        st = ferry_i_block_new(ctx, 2 * m->k, m->k, &p->pyv);
        if (st == FERRY_OK)
            memcpy(p->pyv->data, data, (size_t)(2 * m->k * m->k) * sizeof *data);
        ferry_i_free(data);
    }
done:
    return st;
}

/* Goal, classes, features, gamma: what all other sizes are checked against. Embedding
 * models may have no classes at all. */
static ferry_status load_form(ferry_ctx *ctx, const ferry_dict *dict, hemap_model *m)
{
    ferry_status st = FERRY_OK;
    const int64_t *form = NULL;
    const double *gamma = NULL;
    int64_t three = 3, one = 1;

    FERRY_TRY(ferry_i_dict_ints(ctx, dict, "form", &three, &form));
    FERRY_TRY(ferry_i_dict_reals(ctx, dict, "gamma", &one, &one, &gamma));
    FERRY_NEED(ctx,
               (form[0] == FERRY_CLASSIFY || form[0] == FERRY_EMBED ||
                (form[0] == FERRY_REGRESS && form[1] == 1)) &&
                   form[1] >= (form[0] != FERRY_EMBED) && form[2] > 0 &&
                   form[2] < INT32_MAX,
               FERRY_EDATA, "tensor form: goal %lld with %lld classes and %lld features",
               (long long)form[0], (long long)form[1], (long long)form[2]);
    FERRY_NEED(ctx, 0 <= gamma[0] && gamma[0] <= 1, FERRY_EDATA,
               "tensor gamma: %g is outside [0, 1]", gamma[0]);
    m->goal = (ferry_goal)form[0];
    m->k = form[1];
    m->d = form[2];
    m->gamma = gamma[0];
done:
    return st;
}

/* Sizes first, then what depends on them, then whether the parts that gamma needs are all
 * there. */
ferry_status ferry_i_hemap_load(ferry_ctx *ctx, const ferry_dict *dict, void **state)
{
    ferry_status st = FERRY_OK;
    hemap_model *m = ferry_i_calloc(1, sizeof *m);

    *state = NULL;
    FERRY_HAVE(ctx, m);
    FERRY_TRY(load_form(ctx, dict, m));
    FERRY_TRY(ferry_i_prepared_load(ctx, dict, &m->prepared));
    FERRY_NEED(ctx, m->prepared->n_frames == 1 && m->prepared->frame[0].cols == m->d,
               FERRY_EDATA, "tensor prepare does not go with tensor form");
    if (m->goal != FERRY_EMBED)
        FERRY_TRY(ferry_i_dict_reals_copy(ctx, dict, "prior", 1, m->k, &m->prior));
    if (ferry_i_dict_has(dict, "space.w") || ferry_i_dict_has(dict, "space.rows"))
        FERRY_TRY(load_space(ctx, dict, m));
    FERRY_TRY(load_parts(ctx, dict, m));
    FERRY_NEED(ctx, m->space.k > 0 || (m->goal != FERRY_EMBED && m->gamma == 0),
               FERRY_EDATA, "tensor space.w is missing");
    FERRY_NEED(ctx, m->goal == FERRY_EMBED || m->parts.mapped || m->gamma == 0, FERRY_EDATA,
               "tensor mapped.form is missing");
    FERRY_NEED(ctx,
               m->goal == FERRY_EMBED || m->parts.own || m->gamma == 1 || m->gamma == 0,
               FERRY_EDATA, "tensor own.form is missing");
    FERRY_MOVE(*state, m);
done:
    ferry_i_hemap_free(m);
    return st;
}
