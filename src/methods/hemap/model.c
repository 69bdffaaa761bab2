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
    ferry_i_free(mapped);
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
    ferry_i_free(scores);
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

/* Either the map w of mode ferry, or the rows of mode paper with their places. m->d is known
 * by now; s->k comes from the file and must be positive. */
static void space_file(ferry_io *io, hemap_model *m)
{
    hemap_space *s = &m->space;
    int64_t k = io->to ? s->k : -1, d1 = m->d + 1;

    if (ferry_i_io_has(io, "space.w", s->w != NULL)) {
        ferry_i_io_grid(io, "space.w", &k, &d1, &s->w);
    } else {
        ferry_i_io_matrix(io, "space.rows", &s->rows);
        ferry_i_io_matrix(io, "space.z", &s->z);
        FERRY_IO_NEED(io,
                      s->z->dense && s->rows->cols == m->d && s->z->rows == s->rows->rows &&
                          s->z->rows > 0,
                      "tensor space.rows is %lld x %lld, space.z %lld x %lld",
                      (long long)s->rows->rows, (long long)s->rows->cols,
                      (long long)s->z->rows, (long long)s->z->cols);
        if (ferry_i_io_loading(io)) k = s->z->cols;
    }
    FERRY_IO_NEED(io, k > 0, "the model's space has no dimension");
    if (ferry_i_io_loading(io)) s->k = k;
}

/* The learners, whose sizes must be those of the features and of the space. With translated
 * outputs the mapped learner has 2 k classes: the source's labels and the target's
 * (parts.c). a and c of numbers are not stored: the mapped learner was trained on
 * translated numbers. */
static void parts_file(ferry_io *io, hemap_model *m)
{
    hemap_parts *p = &m->parts;
    const bool numbers = m->goal == FERRY_REGRESS,
               translated = ferry_i_io_has(io, "pyv", p->pyv != NULL);

    if (ferry_i_io_has(io, "own.form", p->own != NULL)) {
        ferry_i_learner_file(io, "own", &p->own);
        FERRY_IO_NEED(io,
                      p->own->k == m->k && p->own->d == m->d && p->own->numbers == numbers,
                      "tensor own.form does not go with tensor form");
    }
    if (ferry_i_io_has(io, "mapped.form", p->mapped != NULL)) {
        ferry_i_learner_file(io, "mapped", &p->mapped);
        FERRY_IO_NEED(io,
                      p->mapped->k == (translated ? 2 * m->k : m->k) &&
                          p->mapped->d == m->space.k && p->mapped->numbers == numbers,
                      "tensor mapped.form does not go with the space");
    }
    if (translated) ferry_i_io_block(io, "pyv", 2 * m->k, m->k, &p->pyv);
}

/* Goal, classes, features, gamma: what all other sizes are checked against. Embedding
 * models may have no classes at all. */
static void form_file(ferry_io *io, hemap_model *m)
{
    int64_t form[] = {m->goal, m->k, m->d};

    ferry_i_io_ints(io, "form", 3, form);
    ferry_i_io_numbers(io, "gamma", 1, &m->gamma);
    FERRY_IO_NEED(io,
                  (form[0] == FERRY_CLASSIFY || form[0] == FERRY_EMBED ||
                   (form[0] == FERRY_REGRESS && form[1] == 1)) &&
                      form[1] >= (form[0] != FERRY_EMBED) && form[2] > 0 &&
                      form[2] < INT32_MAX,
                  "tensor form: goal %lld with %lld classes and %lld features",
                  (long long)form[0], (long long)form[1], (long long)form[2]);
    FERRY_IO_NEED(io, 0 <= m->gamma && m->gamma <= 1, "tensor gamma: %g is outside [0, 1]",
                  m->gamma);
    if (ferry_i_io_loading(io)) {
        m->goal = (ferry_goal)form[0];
        m->k = form[1];
        m->d = form[2];
    }
}

/* Sizes first, then what depends on them, then whether the parts that gamma needs are all
 * there. */
void ferry_i_hemap_file(ferry_io *io, void *state)
{
    hemap_model *m = state;

    form_file(io, m);
    ferry_i_prepared_file(io, &m->prepared);
    FERRY_IO_NEED(io, m->prepared->n_frames == 1 && m->prepared->frame[0].cols == m->d,
                  "tensor prepare does not go with tensor form");
    if (io->st != FERRY_OK) return;
    const bool embeds = m->goal == FERRY_EMBED;
    if (!embeds) ferry_i_io_reals(io, "prior", 1, m->k, &m->prior);
    if (ferry_i_io_has(io, "space.w", m->space.k > 0) ||
        ferry_i_io_has(io, "space.rows", false))
        space_file(io, m);
    parts_file(io, m);
    FERRY_IO_NEED(io, m->space.k > 0 || (!embeds && m->gamma == 0),
                  "tensor space.w is missing");
    FERRY_IO_NEED(io, embeds || m->parts.mapped || m->gamma == 0,
                  "tensor mapped.form is missing");
    FERRY_IO_NEED(io, embeds || m->parts.own || m->gamma == 1 || m->gamma == 0,
                  "tensor own.form is missing");
}
