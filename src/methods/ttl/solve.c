/* ttl, mode ferry: carry, settle, weigh.
 *
 *   pool = the sources, each with weight 1
 *   for each intermediate domain d in turn, then the target:
 *       carry    G = what the pool teaches about d, through the features both have
 *       settle   G = where EM of a mixture of word distributions takes it within d
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
 * Settling suits words. Views that are not words settle only when a check that uses no
 * label speaks for it: the labels settled in one half of the features must agree better
 * with those carried through the other half than the labels carried through both do. That
 * the settled halves agree with each other says nothing: two halves find the same clusters
 * even where these are not the classes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "methods/ttl/ttl.h"

/* kappa of the labels from two halves of the features: both carried, both settled, and one
 * of each. */
typedef struct halves {
    double carried, settled, crossed;
    int32_t *y; /* the labels themselves, owned: both carried, both settled */
} halves;

/* One domain on the way. */
typedef struct stop {
    ferry_matrix *x; /* all columns, rows to length 1 */
    ferry_block *g;
    double w;
    /* known instances as teachers of their own domain */
    ferry_matrix *known_x;
    ferry_block *known_g;
    double C; /* cost of errors of what taught it; 0: not chosen yet */
    double beta;
    halves half;
    int64_t shared;
    int32_t *carried; /* its labels before settling, where somebody watches */
} stop;

typedef struct trip {
    const ttl_options *o;
    const ttl_bridge *b;
    stop *at; /* one per place */
    ttl_teacher *pool;
    int64_t n_pool;
    bool watched; /* the target's labels are asked for */
} trip;

static void trip_clear(trip *t)
{
    for (int64_t i = 0; t->at && i < t->b->n_places; i++) {
        ferry_i_matrix_free(t->at[i].x);
        ferry_i_block_free(t->at[i].g);
        ferry_i_matrix_free(t->at[i].known_x);
        ferry_i_block_free(t->at[i].known_g);
        FERRY_FREE(t->at[i].half.y, t->at[i].carried);
    }
    FERRY_FREE(t->at, t->pool);
}

/* A copy of x of its own, with rows of length 1 where that is wanted. */
static ferry_status own_rows(ferry_ctx *ctx, const ferry_matrix *x, int64_t n,
                             const int64_t *rows, bool lengths, ferry_matrix **out)
{
    ferry_status st = FERRY_OK;

    FERRY_TRY(ferry_i_matrix_take(ctx, x, n, rows, x->cols, NULL, out));
    if (lengths) ferry_i_rows_to_unit(*out);
done:
    return st;
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
    FERRY_TRY(own_rows(ctx, p->x, p->n, rows, lengths, &s->x));
    FERRY_TRY(ferry_i_block_new(ctx, p->n, t->b->c, &s->g));
    ferry_i_clamp(s->g, p->known);
    if (i < t->b->n_sources || p->labelled == 0) goto done;
    for (int64_t r = 0; r < p->n; r++)
        if (p->known[r] >= 0) rows[n++] = r;
    FERRY_TRY(own_rows(ctx, p->x, n, rows, lengths, &s->known_x));
    FERRY_TRY(ferry_i_block_new(ctx, n, t->b->c, &s->known_g));
    for (int64_t r = 0; r < n; r++)
        FERRY_ROW(s->known_g, r)[p->known[rows[r]]] = 1;
done:
    ferry_i_free(rows);
    return st;
}

static ferry_status trip_init(ferry_ctx *ctx, trip *t)
{
    ferry_status st = FERRY_OK;
    const int64_t n = t->b->n_places;

    t->at = ferry_i_calloc(n, sizeof *t->at);
    t->pool = ferry_i_calloc(n + 1, sizeof *t->pool);
    if (!t->at || !t->pool) FERRY_TRY(ferry_i_nomem(ctx));
    for (int64_t i = 0; i < n; i++)
        FERRY_TRY(board(ctx, t, i));
    for (int64_t i = 0; i < t->b->n_sources; i++)
        t->pool[t->n_pool++] = (ttl_teacher){t->at[i].x, t->at[i].g, t->at[i].w = 1};
done:
    return st;
}

/* ---- carry and settle ---- */

/* How often a word counts in a domain of n instances: sharp labels need many. */
static double usual_beta(const trip *t, int64_t n)
{
    const double beta = t->o->beta > 0 ? t->o->beta : 6;

    return fmin(beta, fmax(fmin(1, beta), beta * (double)n / 800));
}

static ttl_settle_options settle_options(const trip *t, double beta)
{
    return (ttl_settle_options){.beta = beta,
                                .eta = t->o->eta,
                                .iterations = t->o->settle_steps,
                                .tol = t->o->settle_tol};
}

/* Carry to place i through the columns of `within` (NULL: all); g gets the labels. */
static ferry_status carry_to(ferry_ctx *ctx, const trip *t, int64_t i,
                             const uint8_t *within, ttl_carried *m, ferry_block *g)
{
    ferry_status st = FERRY_OK;
    const stop *s = &t->at[i];
    const ttl_carry_options co = {.C = s->C, .l2 = ferry_i_bridge_lengths(t->b)};
    int64_t n = t->n_pool;

    if (s->known_x) t->pool[n++] = (ttl_teacher){s->known_x, s->known_g, 1};
    FERRY_TRY(ferry_i_carry(ctx, &co, n, t->pool, s->x, t->b->c, within, m));
    FERRY_TRY(ferry_i_carried_apply(ctx, m, s->x, g));
    ferry_i_clamp(g, t->b->place[i].known);
done:
    return st;
}

/* Whether place i has views that can settle at all, and whether all of them are words. */
static void kinds(const trip *t, int64_t i, bool *can, bool *words)
{
    *can = *words = true;
    for (int64_t s = 0; s < t->b->prepared->n_spaces; s++) {
        if (!t->b->place[i].has[s]) continue;
        *can = *can && ferry_i_space_positive(&t->b->prepared->space[s]);
        *words = *words && ferry_i_space_wordlike(&t->b->prepared->space[s]);
    }
}

/* The labels of place i from the columns of one half alone: carried, and settled from
 * there. */
static ferry_status half_labels(ferry_ctx *ctx, const trip *t, int64_t i, double beta,
                                const uint8_t *within, int32_t *carried, int32_t *settled)
{
    ferry_status st = FERRY_OK;
    const ttl_place *p = &t->b->place[i];
    const ttl_settle_options so = settle_options(t, beta);
    ttl_carried m = {0};
    ferry_matrix *x = NULL;
    ferry_block *g = NULL;

    FERRY_TRY(ferry_i_block_new(ctx, p->n, t->b->c, &g));
    FERRY_TRY(carry_to(ctx, t, i, within, &m, g));
    ferry_i_winners(g, carried, NULL);
    if (beta == 0) goto done;
    FERRY_TRY(ferry_i_columns_cut(ctx, t->at[i].x, within, ferry_i_bridge_lengths(t->b), &x,
                                  NULL));
    FERRY_TRY(ferry_i_settle(ctx, &so, x, p->known, g, NULL, NULL, NULL));
    ferry_i_winners(g, settled, NULL);
done:
    ferry_i_carried_clear(&m);
    ferry_i_matrix_free(x);
    ferry_i_block_free(g);
    return st;
}

/* Of `parts` labellings of p's n rows, one after the other, keep the rows without a known
 * label; returns how many these are. */
static int64_t unknown_rows(const ttl_place *p, int64_t parts, int32_t *y)
{
    const int64_t m = p->n - p->labelled;
    int64_t to = 0;

    for (int64_t i = 0; i < parts * p->n; i++)
        if (p->known[i % p->n] < 0) y[to++] = y[i];
    return m;
}

/* kappa of two labellings of m rows of place i; 0 where it is within two deviations of what
 * chance gives so few rows, when known ones were left out. */
static ferry_status agreement(ferry_ctx *ctx, const trip *t, int64_t i, int64_t m,
                              const int32_t *a, const int32_t *b, double *kappa)
{
    const ferry_status st = ferry_i_kappa(ctx, m, a, b, t->b->c, kappa);

    if (m < t->b->place[i].n && *kappa < 2 / sqrt((double)m)) *kappa = 0;
    return st;
}

/* How far the two halves of place i's features agree when settled with beta (0: not at
 * all). Where every label is known there is nothing to ask: they agree. */
static ferry_status split_halves(ferry_ctx *ctx, const trip *t, int64_t i, double beta,
                                 halves *out)
{
    ferry_status st = FERRY_OK;
    const ttl_place *p = &t->b->place[i];
    const int64_t n = p->n, cols = t->b->cols;
    const ferry_matrix *x = t->at[i].x;
    int32_t *y = ferry_i_calloc(4 * n, sizeof *y);
    uint8_t *half = ferry_i_calloc(2 * cols, sizeof *half), *within = half + cols;
    double one = 0, other = 0;

    *out =
        p->labelled == n ? (halves){.carried = 1, .settled = 1, .crossed = 1} : (halves){0};
    if (!y || !half) FERRY_TRY(ferry_i_nomem(ctx));
    if (p->labelled == n) goto done;
    FERRY_TRY(ferry_i_halves(ctx, 1, &x, cols, half));
    for (int h = 0; h < 2; h++) {
        for (int64_t j = 0; j < cols; j++)
            within[j] = half[j] == h + 1;
        FERRY_TRY(half_labels(ctx, t, i, beta, within, y + h * n, y + (2 + h) * n));
    }
    const int64_t m = unknown_rows(p, 4, y);
    FERRY_TRY(agreement(ctx, t, i, m, y, y + m, &out->carried));
    if (beta == 0) goto done;
    FERRY_TRY(agreement(ctx, t, i, m, y + 2 * m, y + 3 * m, &out->settled));
    FERRY_TRY(agreement(ctx, t, i, m, y + 2 * m, y + m, &one));
    FERRY_TRY(agreement(ctx, t, i, m, y + 3 * m, y, &other));
    out->crossed = 0.5 * (one + other);
done:
    if (st == FERRY_OK) FERRY_MOVE(out->y, y);
    FERRY_FREE(y, half);
    return st;
}

/* Whether and how sharply place i settles, by the agreement of its halves. beta = 1 is
 * taken where its halves agree better and the crossed agreement is not clearly worse: it
 * suits topics, also in unequal classes, and would lose opinions. */
static ferry_status decide(ferry_ctx *ctx, const trip *t, int64_t i, stop *s)
{
    ferry_status st = FERRY_OK;
    const ttl_options *o = t->o;
    const int64_t n = t->b->place[i].n;
    const bool last = i == t->b->n_places - 1;
    bool can, words, choose;
    halves mild = {0};

    kinds(t, i, &can, &words);
    s->beta = can && o->settle != TTL_SETTLE_NO ? usual_beta(t, n) : 0;
    choose = o->beta == 0 && s->beta > 1;
    if (last && !o->trust && !choose && (words || o->settle != TTL_SETTLE_AUTO)) goto done;
    FERRY_TRY(split_halves(ctx, t, i, s->beta, &s->half));
    if (choose) FERRY_TRY(split_halves(ctx, t, i, 1, &mild));
    if (choose && mild.settled > s->half.settled &&
        mild.crossed > s->half.crossed - 2 / sqrt((double)(n - t->b->place[i].labelled))) {
        s->beta = 1;
        ferry_i_free(s->half.y);
        s->half = mild;
        mild.y = NULL;
    }
    if (!words && o->settle == TTL_SETTLE_AUTO && s->half.crossed <= s->half.carried)
        s->beta = 0;
    if (s->beta == 0) s->half.settled = s->half.carried;
done:
    ferry_i_free(mild.y);
    return st;
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
    FERRY_TRY(carry_to(ctx, t, i, NULL, carried, s->g));
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
    FERRY_TRY(decide(ctx, t, i, s));
    if (s->beta > 0) {
        const ttl_settle_options so = settle_options(t, s->beta);
        FERRY_TRY(ferry_i_settle(ctx, &so, s->x, p->known, s->g, mixture, NULL, NULL));
    }
    s->w = fmax(t->o->w_min, s->half.settled);
    if (i < t->b->n_places - 1) t->pool[t->n_pool++] = (ttl_teacher){s->x, s->g, s->w};
done:
    return st;
}

/* ---- the trust report ---- */

typedef struct drawn {
    uint64_t key;
    int64_t row;
} drawn;

static int by_key(const void *a, const void *b)
{
    const drawn *x = a, *y = b;

    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return x->row < y->row ? -1 : 1;
}

/* Fold 0..4 of each instance by its id, so that the order of rows does not matter. */
static ferry_status folds(ferry_ctx *ctx, const ttl_place *p, int32_t *fold)
{
    drawn *all = ferry_i_calloc(p->n, sizeof *all);

    if (!all) return ferry_i_nomem(ctx);
    for (int64_t i = 0; i < p->n; i++) {
        const char *id = ferry_i_ids_at(p->domain->ids, p->instance[i]);
        all[i] = (drawn){XXH3_64bits(id, strlen(id)), i};
    }
    qsort(all, (size_t)p->n, sizeof *all, by_key);
    for (int64_t i = 0; i < p->n; i++)
        fold[all[i].row] = (int32_t)(i % 5);
    ferry_i_free(all);
    return FERRY_OK;
}

/* Labels of the fold's instances from the others, through the columns of `within`; *n grows
 * with what is answered. */
static ferry_status one_fold(ferry_ctx *ctx, const trip *t, int64_t i, const int32_t *fold,
                             int32_t f, const uint8_t *within, int32_t *truth,
                             int32_t *answer, int64_t *n)
{
    ferry_status st = FERRY_OK;
    const ttl_place *p = &t->b->place[i];
    const ttl_carry_options co = {.C = t->at[t->b->n_sources].C,
                                  .l2 = ferry_i_bridge_lengths(t->b)};
    int64_t *in = ferry_i_calloc(p->n, sizeof *in),
            *out = ferry_i_calloc(p->n, sizeof *out);
    int64_t n_in = 0, n_out = 0;
    ferry_matrix *train = NULL, *test = NULL;
    ferry_block *g = NULL, *scores = NULL;
    ttl_carried m = {0};

    if (!in || !out) FERRY_TRY(ferry_i_nomem(ctx));
    for (int64_t r = 0; r < p->n; r++) {
        if (p->known[r] < 0) continue;
        if (fold[r] == f)
            out[n_out++] = r;
        else
            in[n_in++] = r;
    }
    FERRY_TRY(own_rows(ctx, t->at[i].x, n_in, in, false, &train));
    FERRY_TRY(own_rows(ctx, t->at[i].x, n_out, out, false, &test));
    FERRY_TRY(ferry_i_block_new(ctx, n_in, t->b->c, &g));
    FERRY_TRY(ferry_i_block_new(ctx, n_out, t->b->c, &scores));
    for (int64_t r = 0; r < n_in; r++)
        FERRY_ROW(g, r)[p->known[in[r]]] = 1;
    {
        const ttl_teacher teacher = {train, g, 1};
        FERRY_TRY(ferry_i_carry(ctx, &co, 1, &teacher, test, t->b->c, within, &m));
    }
    FERRY_TRY(ferry_i_carried_apply(ctx, &m, test, scores));
    ferry_i_winners(scores, answer + *n, NULL);
    for (int64_t r = 0; r < n_out; r++)
        truth[(*n)++] = p->known[out[r]];
done:
    FERRY_FREE(in, out);
    ferry_i_matrix_free(train);
    ferry_i_matrix_free(test);
    ferry_i_block_free(g);
    ferry_i_block_free(scores);
    ferry_i_carried_clear(&m);
    return st;
}

/* kappa of five-fold cross-validation inside source i, on the features that the next domain
 * has. */
static ferry_status boarding(ferry_ctx *ctx, const trip *t, int64_t i, double *kappa,
                             int64_t *n)
{
    ferry_status st = FERRY_OK;
    const ttl_place *p = &t->b->place[i];
    int32_t *fold = ferry_i_calloc(3 * p->n, sizeof *fold);
    uint8_t *within = NULL;

    *n = 0;
    if (!fold) FERRY_TRY(ferry_i_nomem(ctx));
    FERRY_TRY(ferry_i_bridge_used(ctx, t->b, t->b->n_sources, &within));
    FERRY_TRY(folds(ctx, p, fold));
    for (int32_t f = 0; f < 5; f++)
        FERRY_TRY(one_fold(ctx, t, i, fold, f, within, fold + p->n, fold + 2 * p->n, n));
    FERRY_TRY(ferry_i_kappa(ctx, *n, fold + p->n, fold + 2 * p->n, t->b->c, kappa));
done:
    FERRY_FREE(fold, within);
    return st;
}

static void note_low(ferry_ctx *ctx, const ttl_bridge *b, const char *what,
                     const char *where, double kappa, int64_t n, const char *meaning)
{
    if (kappa < 4 / sqrt((double)(n > 0 ? n : 1)))
        ferry_i_bridge_note(ctx, b, "%s %.2f of '%s' is no more than chance: %s", what,
                            kappa, where, meaning);
}

static ferry_status tell_trust(ferry_ctx *ctx, const trip *t)
{
    ferry_status st = FERRY_OK;
    const ttl_bridge *b = t->b;
    const int64_t last = b->n_places - 1;
    double *list = ferry_i_calloc(3 * b->n_places, sizeof *list);
    double *carried = list + b->n_places, *crossed = carried + b->n_places;

    if (!list) FERRY_TRY(ferry_i_nomem(ctx));
    for (int64_t i = 0; i < b->n_sources; i++) {
        int64_t n = 0;
        FERRY_TRY(boarding(ctx, t, i, &list[i], &n));
        note_low(ctx, b, "boarding", b->place[i].domain->name, list[i], n,
                 "its labels cannot be learned from the features that the next domain has");
    }
    ferry_i_diag_reals(ctx, "boarding", b->n_sources, list);
    for (int64_t i = b->n_sources; i <= last; i++) {
        list[i] = i < last ? t->at[i].w : t->at[i].half.settled;
        carried[i] = t->at[i].half.carried;
        crossed[i] = t->at[i].half.crossed;
    }
    ferry_i_diag_reals(ctx, "crossing", last - b->n_sources, list + b->n_sources);
    ferry_i_diag_real(ctx, "landing", list[last]);
    ferry_i_diag_reals(ctx, "carried_agreement", last - b->n_sources + 1,
                       carried + b->n_sources);
    ferry_i_diag_reals(ctx, "crossed_agreement", last - b->n_sources + 1,
                       crossed + b->n_sources);
    note_low(ctx, b, "landing", b->place[last].domain->name, list[last],
             b->place[last].n - b->place[last].labelled,
             "two halves of its features give labels that do not agree");
done:
    ferry_i_free(list);
    return st;
}

/* ---- all of it ---- */

/* A mixture on the target's columns. */
static ferry_status on_target(ferry_ctx *ctx, const ttl_bridge *b, const ttl_mixture *m,
                              ttl_state *s)
{
    ferry_status st = FERRY_OK;

    FERRY_TRY(
        ferry_i_block_new(ctx, ferry_i_prepared_width(b->prepared), s->f.c, &s->mixture.l));
    s->mixture.log_pi = ferry_i_calloc(s->f.c, sizeof *s->mixture.log_pi);
    if (!s->mixture.log_pi) FERRY_TRY(ferry_i_nomem(ctx));
    memcpy(s->mixture.log_pi, m->log_pi, (size_t)s->f.c * sizeof(double));
    for (int64_t j = 0; j < s->mixture.l->rows; j++)
        memcpy(FERRY_ROW(s->mixture.l, j),
               FERRY_ROW(m->l, ferry_i_prepared_column(b->prepared, j)),
               (size_t)s->f.c * sizeof(double));
done:
    return st;
}

/* How much each feature says in all about a class. */
static ferry_status tell_features(ferry_ctx *ctx, const ferry_task *task, const trip *t,
                                  const ttl_mixture *m, const ttl_carried *carried)
{
    const ttl_bridge *b = t->b;
    const ferry_matrix *x = t->at[b->n_places - 1].x;
    double *score = ferry_i_calloc(b->cols * b->c, sizeof *score);

    if (!score) return ferry_i_nomem(ctx);
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
    ferry_i_bridge_tell_top(ctx, "top_features", b, task->names, b->c, score);
    ferry_i_free(score);
    return FERRY_OK;
}

/* From the sources to the target; the last two are left as the target's. */
static ferry_status travel(ferry_ctx *ctx, trip *t, ttl_carried *carried,
                           ttl_mixture *mixture)
{
    ferry_status st = FERRY_OK;
    const ttl_bridge *b = t->b;
    bool finish = false;

    FERRY_TRY(trip_init(ctx, t));
    for (int64_t i = b->n_sources; i < b->n_places; i++) {
        ferry_i_carried_clear(carried);
        ferry_i_mixture_clear(mixture);
        FERRY_TRY(visit(ctx, t, i, carried, mixture));
        FERRY_TRY(ferry_i_progress(ctx, "ttl", i - b->n_sources + 1,
                                   b->n_places - b->n_sources, NAN, &finish));
    }
done:
    return st;
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
    if (s->beta == 0) memcpy(w->half + 2 * n, s->half.y, 2 * size);
    w->landing = s->half.settled;
    w->boarding = w->crossing = 1;
    for (int64_t i = 0; i < b->n_sources; i++) {
        double kappa = 0;
        int64_t rows = 0;
        FERRY_TRY(boarding(ctx, &t, i, &kappa, &rows));
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
    if (o->trust) FERRY_TRY(tell_trust(ctx, &t));
    ferry_i_diag_text(ctx, "settled", mixture.l ? "yes" : "no");
    ferry_i_diag_real(ctx, "beta", t.at[b->n_places - 1].beta);
    FERRY_TRY(tell_features(ctx, task, &t, &mixture, &carried));
    rep->objective = NAN;
done:
    ferry_i_carried_clear(&carried);
    ferry_i_mixture_clear(&mixture);
    trip_clear(&t);
    return st;
}
