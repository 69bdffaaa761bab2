/* Carrying labels (carry.h).
 *
 *   min over V, b   1/2 |V|^2 + C sum_i w_i sum_k G_ik (- log softmax(V x_i + b)_k)
 *
 * over the instances of all teachers, cut to the columns shared with the next place. Soft
 * labels are so many weighted copies of an instance. */
#include "methods/shared/carry.h"

#include <string.h>

enum { LEAST_COPY = 1000 }; /* copies of weight 1/1000 or less are left out */

void ferry_i_carried_clear(ttl_carried *m)
{
    FERRY_FREE(m->keep, m->w);
    *m = (ttl_carried){0};
}

void ferry_i_winners(const ferry_block *g, int32_t *out, int64_t *ties)
{
    if (ties) *ties = 0;
    for (int64_t i = 0; i < g->rows; i++) {
        const double *row = FERRY_ROW(g, i);
        int64_t best = 0, equals = 0;
        for (int64_t k = 1; k < g->k; k++)
            if (row[k] > row[best]) best = k;
        for (int64_t k = 0; k < g->k; k++)
            equals += row[k] == row[best];
        out[i] = (int32_t)best;
        if (ties) *ties += equals > 1;
    }
}

void ferry_i_harden(ferry_block *g)
{
    for (int64_t i = 0; i < g->rows; i++) {
        double *row = FERRY_ROW(g, i);
        int64_t best = 0;
        for (int64_t k = 1; k < g->k; k++)
            if (row[k] > row[best]) best = k;
        for (int64_t k = 0; k < g->k; k++)
            row[k] = (double)(k == best);
    }
}

void ferry_i_clamp(ferry_block *g, const int32_t *known)
{
    for (int64_t i = 0; i < g->rows; i++)
        for (int64_t k = 0; known[i] >= 0 && k < g->k; k++)
            FERRY_ROW(g, i)[k] = (double)(k == known[i]);
}

static ferry_status shared_columns(ferry_ctx *ctx, int64_t n, const ttl_teacher *teacher,
                                   const ferry_matrix *x, const uint8_t *within,
                                   ttl_carried *m)
{
    ferry_status st = FERRY_OK;
    uint8_t *taught = NULL;

    FERRY_NEW(ctx, m->keep, x->cols);
    FERRY_NEW(ctx, taught, x->cols);
    FERRY_TRY(ferry_i_columns_used(ctx, x, m->keep));
    for (int64_t t = 0; t < n; t++)
        if (teacher[t].w > 0) FERRY_TRY(ferry_i_columns_used(ctx, teacher[t].x, taught));
    for (int64_t j = 0; j < x->cols; j++) {
        m->keep[j] = m->keep[j] && taught[j] && (!within || within[j]);
        m->shared += m->keep[j];
    }
done:
    ferry_i_free(taught);
    return st;
}

/* The teachers' instances that have a shared column, on top of each other, and a_ik = w
 * G_ik. */
typedef struct lesson {
    ferry_matrix *x;
    ferry_block *a;
    int64_t *number; /* of each row, when the rows of all ranks are on top of each other */
} lesson;

static ferry_status learn_rows(ferry_ctx *ctx, const ttl_teacher *t, const uint8_t *keep,
                               bool l2, ferry_matrix **out, int64_t **rows)
{
    ferry_status st = FERRY_OK;
    ferry_matrix *cut = NULL;
    int64_t n = 0;

    *rows = ferry_i_calloc(t->x->rows, sizeof **rows);
    if (!*rows) FERRY_TRY(ferry_i_nomem(ctx));
    FERRY_TRY(ferry_i_columns_cut(ctx, t->x, keep, l2, &cut, NULL));
    for (int64_t i = 0; t->w > 0 && i < cut->rows; i++)
        if (cut->start[i + 1] > cut->start[i]) (*rows)[n++] = i;
    FERRY_TRY(ferry_i_matrix_take(ctx, cut, n, *rows, cut->cols, NULL, out));
    FERRY_TRY(ferry_i_rows_like(ctx, cut, *out));
done:
    ferry_i_matrix_free(cut);
    return st;
}

static ferry_status gather(ferry_ctx *ctx, int64_t n, const ttl_teacher *teacher, int64_t c,
                           const uint8_t *keep, bool l2, lesson *out)
{
    ferry_status st = FERRY_OK;
    ferry_matrix **part = ferry_i_calloc(n, sizeof(ferry_matrix *));
    int64_t **rows = ferry_i_calloc(n, sizeof *rows), at = 0, before = 0, first = 0;

    if (!part || !rows) FERRY_TRY(ferry_i_nomem(ctx));
    for (int64_t t = 0; t < n; t++)
        FERRY_TRY(learn_rows(ctx, &teacher[t], keep, l2, &part[t], &rows[t]));
    FERRY_TRY(ferry_i_matrix_stack(ctx, n, (const ferry_matrix *const *)part, &out->x));
    FERRY_TRY(ferry_i_matrix_index(ctx, out->x));
    FERRY_TRY(ferry_i_block_new(ctx, out->x->rows, c, &out->a));
    FERRY_NEW(ctx, out->number, out->x->rows);
    for (int64_t t = 0; t < n; before += ferry_i_all_rows(part[t++])) {
        FERRY_TRY(ferry_i_first_row(ctx, part[t], &first));
        for (int64_t i = 0; i < part[t]->rows; i++, at++) {
            out->number[at] = before + first + i;
            for (int64_t k = 0; k < c; k++) {
                const double a = teacher[t].w * FERRY_ROW(teacher[t].g, rows[t][i])[k];
                FERRY_ROW(out->a, at)[k] = LEAST_COPY * a > 1 ? a : 0;
            }
        }
    }
done:
    for (int64_t t = 0; t < n; t++) {
        if (part) ferry_i_matrix_free(part[t]);
        if (rows) ferry_i_free(rows[t]);
    }
    FERRY_FREE(part, rows);
    return st;
}

/* A support vector machine on the likeliest classes; classes that are nobody's never
 * win. */
static ferry_status fit_svm(ferry_ctx *ctx, double C, const lesson *l, double **w)
{
    ferry_status st = FERRY_OK;
    const ferry_linear_options lo = {
        .kind = FERRY_LINEAR_SVM, .C = C, .eps = 1e-3, .bias = true};
    const int64_t c = l->a->k, wide = l->x->cols + 1;
    ferry_linear *m = NULL;
    int32_t *y = ferry_i_calloc(l->x->rows, sizeof *y);

    if (!y) FERRY_TRY(ferry_i_nomem(ctx));
    ferry_i_winners(l->a, y, NULL);
    FERRY_TRY(ferry_i_linear_fit(ctx, &lo, l->x, c, y, NULL, &m));
    *w = ferry_i_calloc(c * wide, sizeof **w);
    if (!*w) FERRY_TRY(ferry_i_nomem(ctx));
    memcpy(*w, m->w, (size_t)(c * wide) * sizeof **w);
    for (int64_t k = 0; k < c; k++)
        if (!m->seen[k]) (*w)[k * wide + wide - 1] = -1e300;
done:
    ferry_i_linear_free(m);
    ferry_i_free(y);
    return st;
}

ferry_status ferry_i_carry(ferry_ctx *ctx, const ttl_carry_options *o, int64_t n,
                           const ttl_teacher *teacher, const ferry_matrix *x, int64_t c,
                           const uint8_t *within, ttl_carried *out)
{
    ferry_status st = FERRY_OK;
    lesson l = {0};
    int64_t *kept = NULL, cut = 0;

    *out = (ttl_carried){.c = c, .cols = x->cols, .svm = o->svm, .l2 = o->l2};
    FERRY_TRY(shared_columns(ctx, n, teacher, x, within, out));
    if (out->shared > 0) FERRY_TRY(gather(ctx, n, teacher, c, out->keep, o->l2, &l));
    if (out->shared == 0 || ferry_i_all_rows(l.x) == 0) {
        ferry_i_free(out->keep);
        out->keep = NULL;
        out->shared = 0;
        goto done;
    }
    out->C = o->C > 0 ? o->C : 1;
    if (o->C == 0 && !o->svm)
        FERRY_TRY(ferry_i_softmax_cost(ctx, l.x, l.a, l.number, &out->C));
    if (o->svm)
        FERRY_TRY(fit_svm(ctx, out->C, &l, &out->w));
    else
        FERRY_TRY(ferry_i_softmax_fit(ctx, out->C, 1e-6, l.x, l.a, &out->w));
    kept = ferry_i_calloc(out->shared, sizeof *kept);
    if (!kept) FERRY_TRY(ferry_i_nomem(ctx));
    for (int64_t j = 0; j < x->cols; j++)
        if (out->keep[j]) kept[cut++] = j;
    FERRY_TRY(ferry_i_columns_spread(ctx, c, x->cols, cut, kept, &out->w));
done:
    ferry_i_matrix_free(l.x);
    FERRY_FREE(kept, l.a, l.number);
    return st;
}

ferry_status ferry_i_carried_apply(ferry_ctx *ctx, const ttl_carried *m,
                                   const ferry_matrix *x, ferry_block *g)
{
    ferry_status st = FERRY_OK;
    ferry_matrix *cut = NULL;
    double *w = NULL;
    const int64_t wide = m->shared + 1;

    for (int64_t e = 0; !m->w && e < g->rows * g->k; e++)
        g->data[e] = 1 / (double)g->k;
    if (!m->w) goto done;
    FERRY_TRY(ferry_i_columns_cut(ctx, x, m->keep, m->l2, &cut, NULL));
    w = ferry_i_calloc(m->c * wide, sizeof *w);
    if (!w) FERRY_TRY(ferry_i_nomem(ctx));
    for (int64_t k = 0; k < m->c; k++) {
        int64_t at = k * wide;
        for (int64_t j = 0; j < m->cols; j++)
            if (m->keep[j]) w[at++] = m->w[k * (m->cols + 1) + j];
        w[at] = m->w[k * (m->cols + 1) + m->cols];
    }
    FERRY_TRY(m->svm ? ferry_i_linear_apply(ctx, cut, m->c, w, g)
                     : ferry_i_softmax_scores(ctx, cut, m->c, w, g));
done:
    ferry_i_free(w);
    ferry_i_matrix_free(cut);
    return st;
}

/* ---- in the model ---- */

static ferry_status carried_room(ferry_ctx *ctx, ttl_carried *m)
{
    m->keep = ferry_i_calloc(m->cols, sizeof *m->keep);
    m->w = ferry_i_calloc(m->c * (m->cols + 1), sizeof *m->w);
    return m->keep && m->w ? FERRY_OK : ferry_i_nomem(ctx);
}

ferry_status ferry_i_carried_on_target(ferry_ctx *ctx, const ttl_carried *m,
                                       const ttl_bridge *b, ttl_carried *out)
{
    const int64_t cols = ferry_i_prepared_width(b->prepared);

    *out = (ttl_carried){.c = m->c, .cols = cols, .svm = m->svm, .l2 = m->l2};
    if (!m->w) return FERRY_OK;
    FERRY_PASS(carried_room(ctx, out));
    for (int64_t j = 0; j < cols; j++) {
        const int64_t from = ferry_i_prepared_column(b->prepared, j);
        out->keep[j] = m->keep[from];
        out->shared += m->keep[from];
        for (int64_t k = 0; k < m->c; k++)
            out->w[k * (cols + 1) + j] = m->w[k * (m->cols + 1) + from];
    }
    for (int64_t k = 0; k < m->c; k++)
        out->w[k * (cols + 1) + cols] = m->w[k * (m->cols + 1) + m->cols];
    return FERRY_OK;
}

void ferry_i_carried_file(ferry_io *io, int64_t c, int64_t cols, ttl_carried *m)
{
    int64_t facts[] = {m->svm, m->l2};

    ferry_i_io_ints(io, "carried", 2, facts);
    if (ferry_i_io_loading(io))
        *m = (ttl_carried){.c = c, .cols = cols, .svm = facts[0] != 0, .l2 = facts[1] != 0};
    if (!ferry_i_io_has(io, "carried.w", m->w != NULL)) return;
    ferry_i_io_flags(io, "carried.keep", cols, &m->keep);
    ferry_i_io_reals(io, "carried.w", c, cols + 1, &m->w);
    for (int64_t j = 0; j < cols && ferry_i_io_loading(io); j++)
        m->shared += m->keep[j];
}

/* ---- the chain ---- */

ferry_status ferry_i_chain_hop(ferry_ctx *ctx, const ttl_bridge *b, double C, bool svm,
                               int64_t i, ferry_block *const *g, ttl_carried *out)
{
    ferry_status st = FERRY_OK;
    const ttl_carry_options o = {.C = C, .svm = svm, .l2 = ferry_i_bridge_lengths(b)};
    const bool first = i == b->n_sources;
    const int64_t n = first ? b->n_sources : 1, from = first ? 0 : i - 1;
    ttl_teacher *teacher = ferry_i_calloc(n, sizeof *teacher);

    *out = (ttl_carried){0};
    if (!teacher) FERRY_TRY(ferry_i_nomem(ctx));
    for (int64_t t = 0; t < n; t++)
        teacher[t] = (ttl_teacher){b->place[from + t].x, g[from + t], 1};
    FERRY_TRY(ferry_i_carry(ctx, &o, n, teacher, b->place[i].x, b->c, NULL, out));
    if (out->shared == 0)
        ferry_i_bridge_note(ctx, b,
                            "'%s' shares no feature with '%s': its labels are a guess",
                            b->place[i].domain->name, b->place[i - 1].domain->name);
done:
    ferry_i_free(teacher);
    return st;
}

ferry_status ferry_i_chain(ferry_ctx *ctx, const ttl_bridge *b, double C, bool svm,
                           bool hard, int64_t upto, ferry_block **g, double *shared)
{
    ferry_status st = FERRY_OK;
    ttl_carried carried = {0};

    for (int64_t i = 0; i <= upto; i++) {
        FERRY_TRY(ferry_i_block_new(ctx, b->place[i].n, b->c, &g[i]));
        if (i >= b->n_sources) {
            ferry_i_carried_clear(&carried);
            FERRY_TRY(ferry_i_chain_hop(ctx, b, C, svm, i, g, &carried));
            FERRY_TRY(ferry_i_carried_apply(ctx, &carried, b->place[i].x, g[i]));
            if (hard && carried.shared > 0) ferry_i_harden(g[i]);
            if (shared) shared[i] = (double)carried.shared;
        }
        ferry_i_clamp(g[i], b->place[i].known);
    }
done:
    ferry_i_carried_clear(&carried);
    return st;
}
