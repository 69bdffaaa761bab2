/* The trust report of ttl's mode ferry: boarding, crossing, landing (trip.h). */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "core/ranks.h"
#include "methods/ttl/trip.h"

enum { FOLDS = 5 };

uint64_t ferry_i_trip_hash(const trip *t, int64_t i, int64_t row)
{
    const ttl_place *p = &t->b->place[i];
    const char *id = ferry_i_ids_at(p->domain->ids, p->instance[row]);

    return XXH3_64bits(id, strlen(id));
}

typedef struct drawn {
    int32_t y;
    uint64_t key;
    int64_t row; /* among those of all ranks */
} drawn;

static int by_key(const void *a, const void *b)
{
    const drawn *x = a, *y = b;

    if (x->y != y->y) return x->y < y->y ? -1 : 1;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return x->row < y->row ? -1 : 1;
}

/* rows[0 .. *n) <- those with a label that are here; of all in the order of their keys fold f has f, f + FOLDS, ... */
static ferry_status deal(ferry_ctx *ctx, const trip *t, int64_t i, const int32_t *y,
                         int64_t *rows, int32_t *fold, int64_t *n)
{
    ferry_status st = FERRY_OK;
    const ttl_place *p = &t->b->place[i];
    drawn *mine = NULL, *all = NULL;
    void *collected = NULL;
    int64_t labelled = 0, first = 0, from = 0, m = 0;

    *n = 0;
    FERRY_NEW(ctx, mine, p->n);
    FERRY_TRY(ferry_i_first_row(ctx, p->x, &first));
    for (int64_t r = 0; r < p->n; r++)
        if (y[r] >= 0)
            mine[labelled++] = (drawn){y[r], ferry_i_trip_hash(t, i, r), first + r};
    FERRY_TRY(
        ferry_i_ranks_collect(ctx, labelled, sizeof *mine, mine, &from, &m, &collected));
    all = collected;
    if (m > 0) qsort(all, (size_t)m, sizeof *all, by_key);
    for (int64_t r = 0; r < m; r++) {
        if (all[r].row < first || all[r].row >= first + p->n) continue;
        fold[*n] = (int32_t)(r % FOLDS);
        rows[(*n)++] = all[r].row - first;
    }
done:
    FERRY_FREE(mine, collected);
    return st;
}

/* Rows of fold f of g from what the others teach. */
static ferry_status one_fold(ferry_ctx *ctx, const trip *t, int64_t i, const int32_t *y,
                             int64_t n, const int64_t *rows, const int32_t *fold, int32_t f,
                             const uint8_t *within, double C, ferry_block *g)
{
    ferry_status st = FERRY_OK;
    const ttl_carry_options co = {.C = C, .l2 = ferry_i_bridge_lengths(t->b)};
    int64_t *in = NULL, n_in = 0, *out = NULL, n_out = 0;
    ferry_matrix *train = NULL, *test = NULL;
    ferry_block *a = NULL, *scores = NULL;
    ttl_carried m = {0};

    FERRY_NEW(ctx, in, n);
    FERRY_NEW(ctx, out, n);
    for (int64_t r = 0; r < n; r++) {
        if (fold[r] == f)
            out[n_out++] = rows[r];
        else
            in[n_in++] = rows[r];
    }
    FERRY_TRY(ferry_i_trip_rows(ctx, t->at[i].x, n_in, in, false, &train));
    FERRY_TRY(ferry_i_trip_rows(ctx, t->at[i].x, n_out, out, false, &test));
    FERRY_TRY(ferry_i_block_new(ctx, n_in, t->b->c, &a));
    FERRY_TRY(ferry_i_block_new(ctx, n_out, t->b->c, &scores));
    for (int64_t r = 0; r < n_in; r++)
        FERRY_ROW(a, r)[y[in[r]]] = 1;
    const ttl_teacher teacher = {train, a, 1};
    FERRY_TRY(ferry_i_carry(ctx, &co, 1, &teacher, test, t->b->c, within, &m));
    FERRY_TRY(ferry_i_carried_apply(ctx, &m, test, scores));
    for (int64_t r = 0; r < n_out; r++)
        memcpy(FERRY_ROW(g, out[r]), FERRY_ROW(scores, r), (size_t)g->k * sizeof(double));
done:
    ferry_i_matrix_free(train);
    ferry_i_matrix_free(test);
    FERRY_FREE(in, out, a, scores);
    ferry_i_carried_clear(&m);
    return st;
}

ferry_status ferry_i_trip_folds(ferry_ctx *ctx, const trip *t, int64_t i, const int32_t *y,
                                const uint8_t *within, double C, ferry_block *g)
{
    ferry_status st = FERRY_OK;
    int64_t *rows = NULL, n = 0;
    int32_t *fold = NULL;

    FERRY_NEW(ctx, rows, t->b->place[i].n);
    FERRY_NEW(ctx, fold, t->b->place[i].n);
    FERRY_TRY(deal(ctx, t, i, y, rows, fold, &n));
    for (int32_t f = 0; f < FOLDS; f++)
        FERRY_TRY(one_fold(ctx, t, i, y, n, rows, fold, f, within, C, g));
done:
    FERRY_FREE(rows, fold);
    return st;
}

ferry_status ferry_i_trip_boarding(ferry_ctx *ctx, const trip *t, int64_t i, double *kappa,
                                   int64_t *n)
{
    ferry_status st = FERRY_OK;
    const ttl_place *p = &t->b->place[i];
    int32_t *y = NULL;
    uint8_t *within = NULL;
    ferry_block *g = NULL;

    *n = 0;
    FERRY_NEW(ctx, y, 2 * p->n);
    FERRY_TRY(ferry_i_block_new(ctx, p->n, t->b->c, &g));
    FERRY_TRY(ferry_i_bridge_used(ctx, t->b, t->b->n_sources, &within));
    FERRY_TRY(ferry_i_trip_folds(ctx, t, i, p->known, within, t->at[t->b->n_sources].C, g));
    ferry_i_winners(g, y, NULL);
    for (int64_t r = 0; r < p->n; r++) {
        if (p->known[r] < 0) continue;
        y[p->n + *n] = p->known[r];
        y[(*n)++] = y[r];
    }
    FERRY_TRY(ferry_i_kappa(ctx, *n, y, y + p->n, t->b->c, kappa));
    *n = p->labelled;
done:
    FERRY_FREE(y, within, g);
    return st;
}

static void note_low(ferry_ctx *ctx, const ttl_bridge *b, const char *what,
                     const char *where, double kappa, int64_t n, const char *meaning)
{
    if (kappa < 4 / sqrt((double)(n > 0 ? n : 1)))
        ferry_i_bridge_note(ctx, b, "%s %.2f of '%s' is no more than chance: %s", what,
                            kappa, where, meaning);
}

ferry_status ferry_i_trip_trust(ferry_ctx *ctx, const trip *t)
{
    ferry_status st = FERRY_OK;
    const ttl_bridge *b = t->b;
    const int64_t last = b->n_places - 1;
    double *list = ferry_i_calloc(3 * b->n_places, sizeof *list);
    double *carried = list + b->n_places, *crossed = carried + b->n_places;

    if (!list) FERRY_TRY(ferry_i_nomem(ctx));
    for (int64_t i = 0; i < b->n_sources; i++) {
        int64_t n = 0;
        FERRY_TRY(ferry_i_trip_boarding(ctx, t, i, &list[i], &n));
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
             b->place[last].all - b->place[last].labelled,
             "two halves of its features give labels that do not agree");
done:
    ferry_i_free(list);
    return st;
}
