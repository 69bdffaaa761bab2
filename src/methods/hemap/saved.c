/* HeMap's model to and from a file. A file is a stranger's: all shapes are checked against
 * each other. */
#include <string.h>

#include "methods/hemap/fit.h"

void ferry_i_hemap_free(void *state)
{
    hemap_model *m = state;

    if (!m) return;
    ferry_i_free(m->prior);
    ferry_i_prep_free(m->prep);
    ferry_i_hemap_space_clear(&m->space);
    ferry_i_hemap_parts_clear(&m->parts);
    ferry_i_free(m);
}

/* ---- save ---- */

static ferry_status save_space(ferry_ctx *ctx, const hemap_model *m, ferry_dict *dict)
{
    ferry_status st = FERRY_OK;
    const hemap_space *s = &m->space;

    FERRY_TRY(ferry_i_prep_save(ctx, m->prep, "prep", dict));
    if (s->w) FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "space.w", s->k, m->d + 1, s->w));
    if (s->rows) FERRY_TRY(ferry_i_dict_put_matrix(ctx, dict, "space.rows", s->rows));
    if (s->z) FERRY_TRY(ferry_i_dict_put_matrix(ctx, dict, "space.z", s->z));
done:
    return st;
}

ferry_status ferry_i_hemap_save(ferry_ctx *ctx, const void *state, ferry_dict *dict)
{
    ferry_status st = FERRY_OK;
    const hemap_model *m = state;
    const hemap_parts *p = &m->parts;
    const int64_t form[] = {m->goal, m->k, m->d};

    FERRY_TRY(ferry_i_dict_put_ints(ctx, dict, "form", 3, form));
    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "gamma", 1, 1, &m->gamma));
    if (m->goal != FERRY_EMBED)
        FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "prior", 1, m->k, m->prior));
    if (m->space.k > 0) FERRY_TRY(save_space(ctx, m, dict));
    if (p->own) {
        FERRY_TRY(ferry_i_prep_save(ctx, p->prep_own, "own.prep", dict));
        FERRY_TRY(ferry_i_learner_save(ctx, p->own, "own", dict));
    }
    if (p->mapped) FERRY_TRY(ferry_i_learner_save(ctx, p->mapped, "mapped", dict));
    if (p->pyv)
        FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "pyv", p->pyv->rows, p->pyv->k,
                                         p->pyv->data));
done:
    return st;
}

/* ---- load ---- */

static ferry_status load_space(ferry_ctx *ctx, const ferry_dict *dict, hemap_model *m)
{
    ferry_status st = FERRY_OK;
    hemap_space *s = &m->space;
    const double *w = NULL;
    int64_t d1 = m->d + 1;

    FERRY_TRY(ferry_i_prep_load(ctx, dict, "prep", m->d, &m->prep));
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

static ferry_status load_parts(ferry_ctx *ctx, const ferry_dict *dict, hemap_model *m)
{
    ferry_status st = FERRY_OK;
    hemap_parts *p = &m->parts;
    const bool numbers = m->goal == FERRY_REGRESS, bridged = ferry_i_dict_has(dict, "pyv");

    if (ferry_i_dict_has(dict, "own.form")) {
        FERRY_TRY(ferry_i_prep_load(ctx, dict, "own.prep", m->d, &p->prep_own));
        FERRY_TRY(ferry_i_learner_load(ctx, dict, "own", &p->own));
        FERRY_NEED(ctx,
                   p->own->k == m->k && p->own->d == m->d && p->own->numbers == numbers,
                   FERRY_EDATA, "tensor own.form does not go with tensor form");
    }
    if (ferry_i_dict_has(dict, "mapped.form")) {
        FERRY_TRY(ferry_i_learner_load(ctx, dict, "mapped", &p->mapped));
        FERRY_NEED(ctx,
                   p->mapped->k == (bridged ? 2 * m->k : m->k) &&
                       p->mapped->d == m->space.k && p->mapped->numbers == numbers,
                   FERRY_EDATA, "tensor mapped.form does not go with the space");
    }
    if (bridged) {
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

ferry_status ferry_i_hemap_load(ferry_ctx *ctx, const ferry_dict *dict, void **state)
{
    ferry_status st = FERRY_OK;
    hemap_model *m = ferry_i_calloc(1, sizeof *m);

    *state = NULL;
    FERRY_HAVE(ctx, m);
    FERRY_TRY(load_form(ctx, dict, m));
    if (m->goal != FERRY_EMBED)
        FERRY_TRY(ferry_i_dict_reals_copy(ctx, dict, "prior", 1, m->k, &m->prior));
    if (ferry_i_dict_has(dict, "prep")) FERRY_TRY(load_space(ctx, dict, m));
    FERRY_TRY(load_parts(ctx, dict, m));
    FERRY_NEED(ctx, m->space.k > 0 || (m->goal != FERRY_EMBED && m->gamma == 0),
               FERRY_EDATA, "tensor prep is missing");
    FERRY_NEED(ctx, m->goal == FERRY_EMBED || m->parts.mapped || m->gamma == 0, FERRY_EDATA,
               "tensor mapped.form is missing");
    FERRY_NEED(ctx,
               m->goal == FERRY_EMBED || m->parts.own || m->gamma == 1 || m->gamma == 0,
               FERRY_EDATA, "tensor own.form is missing");
    *state = m;
    m = NULL;
done:
    ferry_i_hemap_free(m);
    return st;
}
