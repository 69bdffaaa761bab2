/* ttl, mode ferry: carry, settle, weigh.
 *
 *   pool = the sources, each with weight 1
 *   for each intermediate domain d in turn, then the target:
 *       carry    G = what the pool teaches about d, through the features both have
 *       settle   G = where EM of a mixture of word distributions, or of round Gaussians
 *                where not all views are words, takes it within d
 *       weigh    w_d = kappa of the labels from one half of d's features with those from
 *                the other, on the rows whose label is not known: both halves repeat a
 *                label that they were given. At least w_min; 0 when d shares nothing with
 *                the pool; 1 when every label of d is known, as for a source
 *       pool     = pool and (d, G, w_d)
 *
 * Everything labelled so far teaches the next domain, so that a direct way and one over a
 * bridge are one regression, and where source and target share nothing the source drops out
 * by itself. Labels that are known stay, and teach their own domain, too.
 *
 * Whether labels settle, and among words or where rows crowd: checks.c. */
#include <math.h>
#include <string.h>

#include "methods/ttl/trip.h"

static void trip_clear(trip *t)
{
    for (int64_t i = 0; t->at && i < t->b->n_places; i++) {
        ferry_i_matrix_free(t->at[i].x);
        ferry_i_free(t->at[i].g);
        ferry_i_matrix_free(t->at[i].known_x);
        FERRY_FREE(t->at[i].known_g, t->at[i].half.y, t->at[i].carried);
    }
    FERRY_FREE(t->at, t->pool);
}

ferry_status ferry_i_trip_rows(ferry_ctx *ctx, const ferry_matrix *x, int64_t n,
                               const int64_t *rows, bool lengths, ferry_matrix **out)
{
    FERRY_PASS(ferry_i_matrix_take(ctx, x, n, rows, x->cols, NULL, out));
    FERRY_PASS(ferry_i_rows_like(ctx, x, *out));
    if (lengths) ferry_i_rows_to_unit(*out);
    return FERRY_OK;
}

static ferry_status board(ferry_ctx *ctx, trip *t, int64_t i)
{
    ferry_status st = FERRY_OK;
    const ttl_place *p = &t->b->place[i];
    const bool lengths = ferry_i_bridge_lengths(t->b);
    stop *s = &t->at[i];
    int64_t *rows = ferry_i_calloc(p->n, sizeof *rows), n = 0;

    if (!rows) FERRY_TRY(ferry_i_nomem(ctx));
    for (int64_t r = 0; r < p->n; r++)
        rows[r] = r;
    FERRY_TRY(ferry_i_trip_rows(ctx, p->x, p->n, rows, lengths, &s->x));
    FERRY_TRY(ferry_i_block_new(ctx, p->n, t->b->c, &s->g));
    ferry_i_clamp(s->g, p->known);
    if (i < t->b->n_sources || p->labelled == 0) goto done;
    for (int64_t r = 0; r < p->n; r++)
        if (p->known[r] >= 0) rows[n++] = r;
    FERRY_TRY(ferry_i_trip_rows(ctx, p->x, n, rows, lengths, &s->known_x));
    FERRY_TRY(ferry_i_block_new(ctx, n, t->b->c, &s->known_g));
    for (int64_t r = 0; r < n; r++)
        FERRY_ROW(s->known_g, r)[p->known[rows[r]]] = 1;
done:
    ferry_i_free(rows);
    return st;
}

static ferry_status trip_init(ferry_ctx *ctx, trip *t)
{
    const int64_t n = t->b->n_places;

    t->at = ferry_i_calloc(n, sizeof *t->at);
    t->pool = ferry_i_calloc(n + 1, sizeof *t->pool);
    if (!t->at || !t->pool) return ferry_i_nomem(ctx);
    for (int64_t i = 0; i < n; i++)
        FERRY_PASS(board(ctx, t, i));
    for (int64_t i = 0; i < t->b->n_sources; i++)
        t->pool[t->n_pool++] = (ttl_teacher){t->at[i].x, t->at[i].g, t->at[i].w = 1};
    return FERRY_OK;
}

/* ---- carry, settle, weigh ---- */

ferry_status ferry_i_trip_carry(ferry_ctx *ctx, const trip *t, int64_t i,
                                const uint8_t *within, ttl_carried *m, ferry_block *g)
{
    const stop *s = &t->at[i];
    const ttl_carry_options co = {.C = s->C, .l2 = ferry_i_bridge_lengths(t->b)};
    int64_t n = t->n_pool;

    if (s->known_x) t->pool[n++] = (ttl_teacher){s->known_x, s->known_g, 1};
    FERRY_PASS(ferry_i_carry(ctx, &co, n, t->pool, s->x, t->b->c, within, m));
    FERRY_PASS(ferry_i_carried_apply(ctx, m, s->x, g));
    ferry_i_clamp(g, t->b->place[i].known);
    return FERRY_OK;
}

/* Carry, decide, settle, weigh for place i; the last two fill the model when it is the
 * target. */
static ferry_status visit(ferry_ctx *ctx, trip *t, int64_t i, ttl_carried *carried,
                          ttl_mixture *mixture)
{
    ferry_status st = FERRY_OK;
    const ttl_place *p = &t->b->place[i];
    stop *s = &t->at[i];

    s->C = t->o->C;
    FERRY_TRY(ferry_i_trip_carry(ctx, t, i, NULL, carried, s->g));
    s->C = carried->C; /* its halves are learned alike */
    s->shared = carried->shared;
    if (t->watched && i == t->b->n_places - 1) {
        FERRY_NEW(ctx, s->carried, p->n);
        ferry_i_winners(s->g, s->carried, NULL);
    }
    if (s->shared == 0) {
        ferry_i_bridge_note(ctx, t->b,
                            "'%s' shares no feature with what came before: its labels are "
                            "a guess",
                            p->domain->name);
        goto done;
    }
    FERRY_TRY(ferry_i_trip_settle(ctx, t, i, mixture));
    s->w = fmax(t->o->w_min, s->half.settled);
    if (i < t->b->n_places - 1) t->pool[t->n_pool++] = (ttl_teacher){s->x, s->g, s->w};
done:
    return st;
}

/* ---- all of it ---- */

/* A mixture on the target's columns. */
static ferry_status on_target(ferry_ctx *ctx, const ttl_bridge *b, const ttl_mixture *m,
                              ttl_state *s)
{
    FERRY_PASS(
        ferry_i_block_new(ctx, ferry_i_prepared_width(b->prepared), s->f.c, &s->mixture.l));
    s->mixture.log_pi = ferry_i_calloc(s->f.c, sizeof *s->mixture.log_pi);
    if (!s->mixture.log_pi) return ferry_i_nomem(ctx);
    memcpy(s->mixture.log_pi, m->log_pi, (size_t)s->f.c * sizeof(double));
    for (int64_t j = 0; j < s->mixture.l->rows; j++)
        memcpy(FERRY_ROW(s->mixture.l, j),
               FERRY_ROW(m->l, ferry_i_prepared_column(b->prepared, j)),
               (size_t)s->f.c * sizeof(double));
    return FERRY_OK;
}

/* How much each feature says in all about a class. */
static ferry_status tell_features(ferry_ctx *ctx, const ferry_task *task, const trip *t,
                                  const ttl_mixture *m, const ttl_carried *carried)
{
    ferry_status st = FERRY_OK;
    const ttl_bridge *b = t->b;
    const ferry_matrix *x = t->at[b->n_places - 1].x;
    double *score = NULL;

    FERRY_NEW(ctx, score, b->cols * b->c);
    for (int64_t e = 0; e < x->nnz; e++)
        for (int64_t k = 0; k < b->c; k++) {
            const int64_t j = x->index[e];
            double w = 0;
            if (m->l)
                w = FERRY_ROW(m->l, j)[k];
            else if (carried->w)
                w = b->c == 2 && k == 0 ? -carried->w[b->cols + 1 + j]
                                        : carried->w[k * (b->cols + 1) + j];
            score[j * b->c + k] += x->value[e] * w;
        }
    FERRY_TRY(ferry_i_sum_rows(ctx, x, b->cols * b->c, score));
    ferry_i_bridge_tell_top(ctx, "top_features", b, task->names, b->c, score);
done:
    ferry_i_free(score);
    return st;
}

/* Whether the target settled, and the numbers of its checks. */
static void tell_settled(ferry_ctx *ctx, const trip *t)
{
    const stop *s = &t->at[t->b->n_places - 1];

    ferry_i_diag_text(ctx, "settled", s->settled ? "yes" : "no");
    ferry_i_diag_real(ctx, "beta", s->beta);
    if (s->words) return;
    ferry_i_diag_real(ctx, "stable", s->stable);
    ferry_i_diag_real(ctx, "names", s->names);
    ferry_i_diag_real(ctx, "clusters", s->fid);
    if (s->settled && t->o->trust)
        ferry_i_bridge_note(
            ctx, t->b,
            "'%s' settled: its clusters were found without labels and are "
            "called what the carried labels call them; were those worse than "
            "chance, the result is worse still, and no check sees it",
            t->b->place[t->b->n_places - 1].domain->name);
}

/* From the sources to the target; the last two are left as the target's. */
static ferry_status travel(ferry_ctx *ctx, trip *t, ttl_carried *carried,
                           ttl_mixture *mixture)
{
    const ttl_bridge *b = t->b;
    bool finish = false;

    FERRY_PASS(trip_init(ctx, t));
    for (int64_t i = b->n_sources; i < b->n_places; i++) {
        ferry_i_carried_clear(carried);
        ferry_i_mixture_clear(mixture);
        FERRY_PASS(visit(ctx, t, i, carried, mixture));
        FERRY_PASS(ferry_i_progress(ctx, "ttl", i - b->n_sources + 1,
                                    b->n_places - b->n_sources, NAN, &finish));
    }
    return FERRY_OK;
}

/* What was not settled counts as settled where it was carried to. */
ferry_status ferry_i_ttl_watch(ferry_ctx *ctx, const ttl_options *o, const ttl_bridge *b,
                               ttl_watch *w)
{
    ferry_status st = FERRY_OK;
    trip t = {.o = o, .b = b, .watched = true};
    ttl_carried carried = {0};
    ttl_mixture mixture = {0};
    const int64_t last = b->n_places - 1, n = b->place[last].n;
    const size_t size = (size_t)n * sizeof(int32_t);

    FERRY_TRY(travel(ctx, &t, &carried, &mixture));
    const stop *s = &t.at[last];
    memcpy(w->carried, s->carried, size);
    ferry_i_winners(s->g, w->label, NULL);
    if (!w->half || !s->half.y) goto done;
    memcpy(w->half, s->half.y, 4 * size);
    if (!s->settled) memcpy(w->half + 2 * n, s->half.y, 2 * size);
    w->landing = s->half.settled;
    w->boarding = w->crossing = 1;
    for (int64_t i = 0; i < b->n_sources; i++) {
        double kappa = 0;
        int64_t rows = 0;
        FERRY_TRY(ferry_i_trip_boarding(ctx, &t, i, &kappa, &rows));
        w->boarding = fmin(w->boarding, kappa);
    }
    for (int64_t i = b->n_sources; i < last; i++)
        w->crossing = fmin(w->crossing, t.at[i].w);
done:
    ferry_i_carried_clear(&carried);
    ferry_i_mixture_clear(&mixture);
    trip_clear(&t);
    return st;
}

ferry_status ferry_i_ttl_ferry(ferry_ctx *ctx, const ttl_options *o, const ferry_task *task,
                               const ttl_bridge *b, ttl_state *s, ferry_fit_info *rep)
{
    ferry_status st = FERRY_OK;
    trip t = {.o = o, .b = b};
    ttl_carried carried = {0};
    ttl_mixture mixture = {0};

    FERRY_TRY(travel(ctx, &t, &carried, &mixture));
    s->lengths = ferry_i_bridge_lengths(b);
    if (mixture.l)
        FERRY_TRY(on_target(ctx, b, &mixture, s));
    else
        FERRY_TRY(ferry_i_carried_on_target(ctx, &carried, b, &s->carried));
    if (o->trust) FERRY_TRY(ferry_i_trip_trust(ctx, &t));
    tell_settled(ctx, &t);
    FERRY_TRY(tell_features(ctx, task, &t, &mixture, &carried));
    rep->objective = NAN;
done:
    ferry_i_carried_clear(&carried);
    ferry_i_mixture_clear(&mixture);
    trip_clear(&t);
    return st;
}
