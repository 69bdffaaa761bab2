/* The four experts of mode experts and their hedge (hetomtl.h).
 *
 * Why four: passive-aggressive steps adapt at once; their average is steady; causal scaling
 * helps where features have different units; codes use all labels at once, and the sources'
 * class counts. Over ten streams four err less than two or three of them do. */
#include "methods/hetomtl/hetomtl.h"

#include <math.h>
#include <string.h>

const char *const ferry_i_expert_names[EXPERTS] = {"pa", "average", "causal", "codes"};

/* Where the weights start and what is dealt out: a third to each kind of learner, pa and
 * average being one learner read in two ways. */
static const double prior[EXPERTS] = {1 / 6., 1 / 6., 1 / 3., 1 / 3.};

/* One room for the stream, others for predictions, so that looking is const. */
ferry_status ferry_i_experts_room(ferry_ctx *ctx, const experts *e, experts_room *room)
{
    ferry_status st = FERRY_OK;

    *room = (experts_room){NULL};
    FERRY_NEW(ctx, room->f, EXPERTS * e->k);
    FERRY_NEW(ctx, room->x, 2 * e->d);
    FERRY_TRY(ferry_i_scale_room_new(ctx, e->d, &room->raw));
done:
    return st;
}

void ferry_i_experts_room_clear(experts_room *room)
{
    FERRY_FREE(room->f, room->x);
    ferry_i_scale_room_clear(&room->raw);
    *room = (experts_room){NULL};
}

/* e->in must be there: it knows d. Codes are made by the caller, who knows whether rows are
 * sparse. */
ferry_status ferry_i_experts_new(ferry_ctx *ctx, int64_t k, const hetomtl_options *o,
                                 experts *e)
{
    ferry_status st = FERRY_OK;
    const ferry_pa_kind kind = (ferry_pa_kind)o->hedge.variant;

    e->d = e->in.d;
    e->rate = o->rate;
    e->share = o->share;
    memcpy(e->w, prior, sizeof prior);
    FERRY_TRY(ferry_i_pa_new(ctx, kind, o->hedge.C, 0, e->d, true, &e->pa));
    FERRY_TRY(ferry_i_pa_new(ctx, kind, o->hedge.C, 0, e->d, false, &e->causal));
    FERRY_TRY(ferry_i_moments_new(ctx, e->d, &e->z));
    FERRY_TRY(ferry_i_experts_room(ctx, e, &e->room));
    FERRY_TRY(ferry_i_experts_classes(ctx, e, k));
done:
    return st;
}

/* Also after a failure half way. */
void ferry_i_experts_clear(experts *e)
{
    ferry_i_online_clear(&e->in);
    ferry_i_pa_free(e->pa);
    ferry_i_pa_free(e->causal);
    ferry_i_moments_clear(&e->z);
    ferry_i_codes_clear(&e->codes);
    ferry_i_experts_room_clear(&e->room);
    *e = (experts){0};
}

/* A class never met before gets a weight row of zeros in both learners and in V. May fail
 * in the middle: the counts are then set back to what all of them have. */
ferry_status ferry_i_experts_classes(ferry_ctx *ctx, experts *e, int64_t k)
{
    ferry_status st = FERRY_OK;
    double *f = NULL;

    if (k <= e->k) return FERRY_OK;
    FERRY_HAVE(ctx, f = ferry_i_realloc(e->room.f, EXPERTS * k, sizeof *f));
    e->room.f = f;
    FERRY_TRY(ferry_i_pa_classes(ctx, e->pa, k));
    FERRY_TRY(ferry_i_pa_classes(ctx, e->causal, k));
    if (e->codes.v) FERRY_TRY(ferry_i_codes_classes(ctx, &e->codes, k));
    e->k = k;
done:
    /* All score as many classes, also when one could not grow. */
    e->pa->k = e->causal->k = e->k;
    if (e->codes.v) e->codes.k = e->k;
    return st;
}

/* Centred, of unit length; zero stays. Only the order and the distances of scores matter to
 * a vote; the common part would add up. */
static void unit(int64_t k, double *f)
{
    double mean = 0;

    for (int64_t c = 0; c < k; c++)
        mean += f[c];
    mean /= (double)k;
    for (int64_t c = 0; c < k; c++)
        f[c] -= mean;
    ferry_i_row_unit(k, f);
}

/* A row in the forms that the learners want; they stand in room. */
typedef struct forms {
    ferry_row l2; /* of unit length */
    ferry_row z;  /* scaled by the means and deviations so far; dense */
} forms;

/* Both from the same filled row, so that no expert sees a missing cell. */
static forms forms_of(const experts *e, const ferry_row *raw, const experts_room *room)
{
    double *l2 = room->x, *z = room->x + e->d;

    memcpy(l2, raw->value, (size_t)raw->n * sizeof *l2);
    ferry_i_row_unit(raw->n, l2);
    ferry_i_moments_z(&e->z, raw, z);
    return (forms){{raw->n, raw->index, l2}, {e->d, NULL, z}};
}

/* Missing cells are filled by the preparation's values, in room->raw. */
static forms prepare(const experts *e, const ferry_row *x, const experts_room *room)
{
    const ferry_row raw = ferry_i_online_row(&e->in, x, &room->raw);

    return forms_of(e, &raw, room);
}

/* f (EXPERTS x k) <- the experts' own scores. The two readings of pa share its scores: the
 * average is computed from them. */
static void ask(const experts *e, const forms *x, double *f)
{
    const int64_t k = e->k;

    ferry_i_pa_scores(e->pa, &x->l2, f);
    memcpy(f + EXPERT_AVERAGE * k, f, (size_t)k * sizeof *f);
    ferry_i_pa_average(e->pa, &x->l2, f + EXPERT_AVERAGE * k);
    ferry_i_pa_scores(e->causal, &x->z, f + EXPERT_CAUSAL * k);
    ferry_i_row_scores(k, e->d, e->codes.v, &x->l2, f + EXPERT_CODES * k); /* V x */
}

/* Scores are centred and brought to unit length before they are mixed: those of the four
 * learners have different sizes, and a weight should mean the same for each.
 *
 * room->f holds the experts' unit scores afterwards: see() takes the votes from there. */
void ferry_i_experts_look(const experts *e, const ferry_row *x, const experts_room *room,
                          double *total)
{
    if (e->k == 0) return;
    const forms in = prepare(e, x, room);
    ask(e, &in, room->f);
    memset(total, 0, (size_t)e->k * sizeof *total);
    for (int i = 0; i < EXPERTS; i++) {
        double *f = room->f + i * e->k;
        unit(e->k, f);
        for (int64_t c = 0; c < e->k; c++)
            total[c] += e->w[i] * f[c]; /* F = sum_e w_e f_e */
    }
}

/* Means and deviations over every row so far, labelled or not. Deviations need no label, so
 * every row of the stream counts. */
void ferry_i_experts_watch_offline(experts *e, const ferry_row *raw)
{
    ferry_i_moments_add(&e->z, raw);
}

/* Filled first, so that a missing cell counts as its filling value. */
void ferry_i_experts_watch(experts *e, const ferry_row *x)
{
    const ferry_row raw = ferry_i_online_row(&e->in, x, &e->room.raw);

    ferry_i_moments_add(&e->z, &raw);
}

/* One PA step of the learner on unit rows (pa and average share it) and of the causal
 * one. */
static void step(experts *e, const forms *x, int32_t y)
{
    double *f = e->room.f;

    ferry_i_pa_scores(e->pa, &x->l2, f);
    (void)ferry_i_pa_learn(e->pa, &x->l2, ferry_i_row_norm2(&x->l2), y, f);
    ferry_i_pa_scores(e->causal, &x->z, f);
    (void)ferry_i_pa_learn(e->causal, &x->z, ferry_i_row_norm2(&x->z), y, f);
}

/* Scores of before the step decide how large it is; they are not told to anybody. */
ferry_row ferry_i_experts_step_offline(experts *e, const ferry_row *raw, int32_t y)
{
    const forms in = forms_of(e, raw, &e->room);

    step(e, &in, y);
    return in.l2;
}

/* w_e *= rate^[wrong], to sum 1, then fixed share: no expert's weight falls so far that
 * it could not come back when the stream changes. A third of the prior goes to each kind of
 * learner, also when it comes back. */
static void weigh(experts *e, int32_t y, const int32_t *votes)
{
    double sum = 0;

    for (int i = 0; i < EXPERTS; i++) {
        if (votes[i] != y) e->w[i] *= e->rate;
        sum += e->w[i];
    }
    for (int i = 0; i < EXPERTS; i++)
        e->w[i] = (1 - e->share) * (e->w[i] / sum) + e->share * prior[i];
}

/* First what may fail (room for the class, the codes), then what cannot: on failure
 * nothing has changed, as a log that is replayed wants it. Experts are judged by what
 * they said when they were asked (votes); the steps use the weights of now. */
ferry_status ferry_i_experts_learn(ferry_ctx *ctx, experts *e, const ferry_row *x,
                                   int32_t y, const int32_t *votes)
{
    ferry_status st = FERRY_OK;
    int32_t said[EXPERTS];
    codes_step next = {.v = NULL};

    FERRY_TRY(ferry_i_experts_classes(ctx, e, (int64_t)y + 1));
    const forms in = prepare(e, x, &e->room);
    FERRY_TRY(ferry_i_codes_prepare(ctx, &e->codes, &in.l2, y, &next));
    if (!votes) { /* each by its scores of now */
        ask(e, &in, e->room.f);
        for (int i = 0; i < EXPERTS; i++)
            said[i] = ferry_i_argmax(e->k, e->room.f + i * e->k);
        votes = said;
    }
    weigh(e, y, votes);
    ferry_i_codes_commit(&e->codes, &next);
    step(e, &in, y);
done:
    return st;
}

/* ---- save and load ---- */

/* room is not saved: it is made again for the loaded k and d. Weights may be 0 (an expert
 * that has lost for good when share is 0), never more than 1. */
void ferry_i_experts_file(ferry_io *io, experts *e)
{
    int64_t k = e->k;
    double how[] = {e->rate, e->share};

    ferry_i_online_file(io, &e->in);
    const int64_t d = e->in.d;
    ferry_i_io_ints(io, "experts", 1, &k);
    ferry_i_io_numbers(io, "experts.w", EXPERTS, e->w);
    ferry_i_io_numbers(io, "experts.how", 2, how);
    FERRY_IO_NEED(io,
                  0 <= k && k <= INT32_MAX / EXPERTS && how[0] > 0 && how[0] <= 1 &&
                      how[1] >= 0 && how[1] <= 1,
                  "tensor experts: %lld classes, rate %g, share %g", (long long)k, how[0],
                  how[1]);
    for (int i = 0; i < EXPERTS; i++)
        FERRY_IO_NEED(io, e->w[i] >= 0 && e->w[i] <= 1, "tensor experts.w: entry %d is %g",
                      i, e->w[i]);
    ferry_i_pa_file(io, "pa", k, d, &e->pa);
    FERRY_IO_NEED(io, e->pa->u, "tensor pa.u is missing");
    ferry_i_pa_file(io, "causal", k, d, &e->causal);
    ferry_i_moments_file(io, d, &e->z);
    ferry_i_codes_file(io, k, d, &e->codes);
    if (!ferry_i_io_loading(io)) return;
    e->rate = how[0];
    e->share = how[1];
    e->k = k;
    e->d = d;
    ferry_i_io_fail(io, ferry_i_experts_room(io->ctx, e, &e->room));
}
