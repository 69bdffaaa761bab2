/* Rows over ranks: the places where ranks meet (ranks.h says what for).
 *
 * A tree over the ranks: those below rank r are r + 1, r + 2, r + 4 ... as far as the lowest bit of r allows. Numbers
 * go up, are added in the order of the tree, and come back down from rank 0. Messages are in pieces, so that a rank
 * needs little space and those on the way up follow each other without waiting.
 *
 * A section is what all ranks enter and leave together. A rank that fails inside of it does not come to the next
 * meeting, so others would wait for ever. Hence:
 *
 *   rank r (failed, or has heard HALT)          rank 0 (failed, or has heard FAIL)
 *   FAIL status, sentence       ->
 *                               <-              HALT
 *                                               ... until all have sent FAIL
 *                               <-              GO status, sentence of the first
 *
 * and until GO everybody takes and drops what still comes, so that nobody is left with a message that is not taken. What
 * comes later than that has the number of an old section in its tag, and is never asked for. */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <xxhash.h>

#include "core/ranks.h"
#include "core/spill.h"

enum { PIECE = 1 << 17 }; /* numbers of a message: a megabyte */

/* For a message that comes in, so that none needs memory: only the thread that joined takes any. */
static double scratch[PIECE];

/* How a section ended, as it is sent. */
typedef struct verdict {
    ferry_status st;
    char why[sizeof((struct ferry_ranks *)0)->why];
} verdict;

bool ferry_i_ranks_split(const ferry_ctx *ctx)
{
    return ctx->ranks && ctx->ranks->rows;
}

/* What is left of an earlier call is of none of the next 4096 sections. */
void ferry_i_ranks_spread(ferry_ctx *ctx)
{
    struct ferry_ranks *r = ctx->ranks;

    r->rows = r->size > 1;
    r->section = r->pool << 12;
    r->broken = r->verdict = FERRY_OK;
    r->heard = false;
    r->left = 0;
}

void ferry_i_ranks_part(const ferry_ctx *ctx, int64_t n, int64_t *from, int64_t *to)
{
    const int64_t size = ferry_i_ranks_split(ctx) ? ctx->ranks->size : 1,
                  rank = size > 1 ? ctx->ranks->rank : 0, each = n / size, more = n % size;

    /* the first `more` ranks have one more */
    *from = each * rank + (rank < more ? rank : more);
    *to = *from + each + (rank < more);
}

/* ---- messages ---- */

static int tag_of(const struct ferry_ranks *r, ferry_tag tag)
{
    return (int)tag + RANK_TAGS * (int)(r->section & 0xfffff);
}

/* Short waits are the rule, since all do the same. */
static void rest(const struct ferry_ranks *r, int64_t turn)
{
    const struct timespec nap = {0, 20000};

    if (r->t->rest)
        r->t->rest(turn);
    else if (turn > 100)
        (void)nanosleep(&nap, NULL);
}

/* The section is over for this rank. */
static ferry_status break_off(ferry_ctx *ctx, ferry_status st)
{
    if (ctx->ranks->broken == FERRY_OK) ctx->ranks->broken = st;
    return st;
}

static ferry_status give(ferry_ctx *ctx, int to, const void *x, int64_t bytes)
{
    struct ferry_ranks *r = ctx->ranks;

    if (r->t->send(to, tag_of(r, RANK_DATA), x, bytes))
        return break_off(ctx,
                         ferry_i_fail(ctx, FERRY_EIO, "MPI: cannot send to rank %d", to));
    r->sent += bytes;
    return FERRY_OK;
}

/* Rank 0: a rank has failed, or knows that one has; the first sentence counts. */
static void record_failure(struct ferry_ranks *r, int from, const verdict *v)
{
    r->left++;
    if (v->st == FERRY_OK || r->verdict != FERRY_OK) return;
    r->verdict = v->st;
    (void)snprintf(r->why, sizeof r->why, "rank %d (%.200s): %.700s", from, r->host[from],
                   v->why);
}

/* A message of that tag, from anybody: whether there was one. What does not hold a verdict leaves *v as if nothing was
 * said. */
static bool look(ferry_ctx *ctx, int tag, int *from, verdict *v)
{
    const ferry_transport *t = ctx->ranks->t;
    int64_t n = 0;

    *from = -1;
    *v = (verdict){FERRY_OK, ""};
    if (t->poll(from, &tag, &n) != 1 || n > (int64_t)sizeof scratch) return false;
    if (t->take(scratch) == 0 && n == sizeof *v) memcpy(v, scratch, sizeof *v);
    v->why[sizeof v->why - 1] = '\0';
    return true;
}

/* Take what there is of this section and drop it, but for what its end is about. *go: that is decided. Nothing else may
 * be taken: who was told earlier is in the next section already. */
static bool take_any(ferry_ctx *ctx, bool *go)
{
    struct ferry_ranks *r = ctx->ranks;
    const ferry_tag all[] = {RANK_DATA, RANK_FAIL, RANK_HALT, RANK_GO, RANK_OVER};
    bool any = false;

    for (int64_t i = 0; i < FERRY_COUNT(all) && !*go; i++) {
        const ferry_tag tag = all[i];
        verdict v;
        int from = 0;
        if (tag == RANK_OVER && r->rank == 0) continue;
        if (!look(ctx, tag == RANK_OVER ? (int)tag : tag_of(r, tag), &from, &v)) continue;
        any = true;
        if (tag == RANK_FAIL) record_failure(r, from, &v);
        if (tag == RANK_OVER) r->over = *go = true;
        if (tag == RANK_GO) {
            r->verdict = v.st;
            (void)snprintf(r->why, sizeof r->why, "%s", v.why);
            *go = true;
        }
    }
    return any;
}

/* Whether somebody has failed, as far as is known here. */
static bool hears_end(ferry_ctx *ctx)
{
    struct ferry_ranks *r = ctx->ranks;
    verdict v;
    int from = 0;

    if (r->rank == 0) {
        r->heard = look(ctx, tag_of(r, RANK_FAIL), &from, &v);
        if (r->heard) record_failure(r, from, &v);
    } else {
        r->over = look(ctx, RANK_OVER, &from, &v);
        r->heard = r->over || look(ctx, tag_of(r, RANK_HALT), &from, &v);
    }
    return r->heard;
}

/* The next piece from that rank. */
static ferry_status await(ferry_ctx *ctx, int from, void *to, int64_t bytes)
{
    struct ferry_ranks *r = ctx->ranks;

    for (int64_t turn = 0;; turn++) {
        int rank = from, tag = tag_of(r, RANK_DATA);
        int64_t n = 0;
        const int there = r->t->poll(&rank, &tag, &n);
        if (there < 0 || (there && (n != bytes || r->t->take(to))))
            return break_off(
                ctx, ferry_i_fail(ctx, FERRY_EIO,
                                  "MPI: rank %d sent %lld bytes where %lld were expected",
                                  from, (long long)n, (long long)bytes));
        if (there) return FERRY_OK;
        if (turn > 20 && hears_end(ctx))
            return break_off(
                ctx, ferry_i_fail(ctx, FERRY_ECANCELLED, "another rank has failed"));
        rest(r, turn);
    }
}

/* ---- up and down the tree ---- */

static ferry_status go_up(ferry_ctx *ctx, int64_t n, double *x, bool most)
{
    ferry_status st = FERRY_OK;
    struct ferry_ranks *r = ctx->ranks;

    for (int step = 1; step < r->size; step *= 2) {
        if (r->rank & step) return give(ctx, r->rank - step, x, n * (int64_t)sizeof *x);
        if (r->rank + step >= r->size) continue;
        FERRY_TRY(await(ctx, r->rank + step, scratch, n * (int64_t)sizeof *x));
        for (int64_t i = 0; i < n; i++)
            x[i] = !most ? x[i] + scratch[i] : x[i] > scratch[i] ? x[i] : scratch[i];
    }
done:
    return st;
}

static ferry_status go_down(ferry_ctx *ctx, void *x, int64_t bytes)
{
    ferry_status st = FERRY_OK;
    const struct ferry_ranks *r = ctx->ranks;
    int step = r->rank & -r->rank;

    if (r->rank > 0) FERRY_TRY(await(ctx, r->rank - step, x, bytes));
    for (step = r->rank > 0 ? step : r->size; (step & (step - 1)) != 0;)
        step++; /* to a power of two */
    for (step /= 2; step > 0; step /= 2)
        if (r->rank + step < r->size) FERRY_TRY(give(ctx, r->rank + step, x, bytes));
done:
    return st;
}

ferry_status ferry_i_ranks_broadcast(ferry_ctx *ctx, void *x, int64_t bytes)
{
    ferry_status st = FERRY_OK;

    if (!ferry_i_ranks_split(ctx)) return st;
    FERRY_TRY(ctx->ranks->broken);
    for (int64_t at = 0; at < bytes; at += 8 * PIECE)
        FERRY_TRY(
            go_down(ctx, (char *)x + at, bytes - at < 8 * PIECE ? bytes - at : 8 * PIECE));
done:
    return st;
}

static ferry_status combine(ferry_ctx *ctx, int64_t n, double *x, bool most)
{
    ferry_status st = FERRY_OK;

    if (!ferry_i_ranks_split(ctx)) return st;
    FERRY_TRY(ctx->ranks->broken);
    for (int64_t at = 0; at < n; at += PIECE)
        FERRY_TRY(go_up(ctx, n - at < PIECE ? n - at : PIECE, x + at, most));
    FERRY_TRY(ferry_i_ranks_broadcast(ctx, x, n * (int64_t)sizeof *x));
done:
    return st;
}

ferry_status ferry_i_ranks_sum(ferry_ctx *ctx, int64_t n, double *x)
{
    return combine(ctx, n, x, false);
}

ferry_status ferry_i_ranks_most(ferry_ctx *ctx, int64_t n, double *x)
{
    return combine(ctx, n, x, true);
}

ferry_status ferry_i_ranks_count(ferry_ctx *ctx, int64_t *n)
{
    double sum = (double)*n;
    const ferry_status st = combine(ctx, 1, &sum, false);

    *n = (int64_t)sum;
    return st;
}

/* Where the part of another rank is. */
static void part_of(const struct ferry_ranks *r, int rank, int64_t n, int64_t *from,
                    int64_t *to)
{
    struct ferry_ranks other = *r;
    const ferry_ctx ctx = {.ranks = &other};

    other.rank = rank;
    ferry_i_ranks_part(&ctx, n, from, to);
}

void ferry_i_ranks_cuts(const ferry_ctx *ctx, int64_t n, int64_t *cut)
{
    int64_t to = 0;

    for (int i = 0; i < ctx->ranks->size; i++)
        part_of(ctx->ranks, i, n, &cut[i], &to);
    cut[ctx->ranks->size] = n;
}

/* Every rank's bytes, [from, to) of them, go to rank 0 and all of them to all. */
static ferry_status bring(ferry_ctx *ctx, int rank, int64_t from, int64_t to, char *bytes)
{
    ferry_status st = FERRY_OK;
    const struct ferry_ranks *r = ctx->ranks;

    for (int64_t at = from; at < to; at += 8 * PIECE) {
        const int64_t n = to - at < 8 * PIECE ? to - at : 8 * PIECE;
        if (r->rank == 0) FERRY_TRY(await(ctx, rank, bytes + at, n));
        if (r->rank == rank) FERRY_TRY(give(ctx, 0, bytes + at, n));
    }
done:
    return st;
}

ferry_status ferry_i_ranks_gather(ferry_ctx *ctx, int64_t n, size_t size, void *items)
{
    ferry_status st = FERRY_OK;
    const int64_t each = (int64_t)size;

    if (!ferry_i_ranks_split(ctx)) return st;
    FERRY_TRY(ctx->ranks->broken);
    for (int rank = 1; rank < ctx->ranks->size; rank++) {
        int64_t from = 0, to = 0;
        part_of(ctx->ranks, rank, n, &from, &to);
        FERRY_TRY(bring(ctx, rank, from * each, to * each, items));
    }
    FERRY_TRY(ferry_i_ranks_broadcast(ctx, items, n * each));
done:
    return st;
}

/* count[i] <- n of rank i. */
static ferry_status counts(ferry_ctx *ctx, int64_t n, double **count)
{
    ferry_status st = FERRY_OK;
    const bool split = ferry_i_ranks_split(ctx);

    FERRY_NEW(ctx, *count, split ? ctx->ranks->size : 1);
    (*count)[split ? ctx->ranks->rank : 0] = (double)n;
    if (split) FERRY_TRY(ferry_i_ranks_sum(ctx, ctx->ranks->size, *count));
done:
    return st;
}

ferry_status ferry_i_ranks_before(ferry_ctx *ctx, int64_t n, int64_t *before)
{
    double *count = NULL;

    *before = 0;
    const ferry_status st = counts(ctx, n, &count);
    for (int i = 0; st == FERRY_OK && ferry_i_ranks_split(ctx) && i < ctx->ranks->rank; i++)
        *before += (int64_t)count[i];
    ferry_i_free(count);
    return st;
}

ferry_status ferry_i_ranks_collect(ferry_ctx *ctx, int64_t n, size_t size, const void *mine,
                                   int64_t *from, int64_t *all, void **out)
{
    ferry_status st = FERRY_OK;
    const int ranks = ferry_i_ranks_split(ctx) ? ctx->ranks->size : 1,
              rank = ranks > 1 ? ctx->ranks->rank : 0;
    const int64_t each = (int64_t)size;
    double *count = NULL;
    char *items = NULL;

    *out = NULL;
    *from = *all = 0;
    FERRY_TRY(counts(ctx, n, &count));
    for (int i = 0; i < ranks; *all += (int64_t)count[i++])
        if (i < rank) *from += (int64_t)count[i];
    FERRY_HAVE(ctx, items = ferry_i_calloc(*all, size));
    if (n > 0) memcpy(items + *from * each, mine, (size_t)(n * each));
    for (int64_t i = 1, at = (int64_t)count[0] * each; i < ranks; i++) {
        const int64_t to = at + (int64_t)count[i] * each;
        FERRY_TRY(bring(ctx, (int)i, at, to, items));
        at = to;
    }
    FERRY_TRY(ferry_i_ranks_broadcast(ctx, items, *all * each));
    FERRY_MOVE(*out, items);
done:
    FERRY_FREE(count, items);
    return st;
}

/* ---- the end of a section ---- */

/* To one rank, or with -1 to all others. */
static void send_verdict(ferry_ctx *ctx, int to, ferry_tag tag, ferry_status st,
                         const char *why)
{
    const struct ferry_ranks *r = ctx->ranks;
    verdict v = {st, ""};

    (void)snprintf(v.why, sizeof v.why, "%s", why);
    for (int i = 0; i < r->size; i++)
        if (i != r->rank && (to < 0 || i == to))
            (void)r->t->send(i, tag_of(r, tag), &v, sizeof v);
}

static ferry_status end_section(ferry_ctx *ctx, ferry_status st)
{
    struct ferry_ranks *r = ctx->ranks;
    bool go = r->over;

    if (r->rank == 0) {
        if (!r->heard) {
            r->verdict = st;
            (void)snprintf(r->why, sizeof r->why, "%s", ctx->message);
        }
        send_verdict(ctx, -1, RANK_HALT, FERRY_OK, "");
    } else if (!go) {
        send_verdict(ctx, 0, RANK_FAIL, r->heard ? FERRY_OK : st, ctx->message);
    }
    for (int64_t turn = 0; r->rank ? !go : r->left < r->size - 1; turn++) {
        if (take_any(ctx, &go)) turn = 0;
        rest(r, turn);
    }
    if (r->over) return ferry_i_fail(ctx, FERRY_ECANCELLED, "rank 0 has ended the call");
    if (r->verdict == FERRY_OK) r->verdict = FERRY_EIO; /* nobody could say why */
    if (r->rank == 0) send_verdict(ctx, -1, RANK_GO, r->verdict, r->why);
    return ferry_i_fail(ctx, r->verdict, "%s", r->why);
}

/* What all were well until here is known when the sum of nothing has come back. */
ferry_status ferry_i_ranks_agree(ferry_ctx *ctx, ferry_status st)
{
    struct ferry_ranks *r = ctx->ranks;
    double nothing = 0;

    if (!ferry_i_ranks_split(ctx)) return st;
    if (st == FERRY_OK) st = ferry_i_ranks_sum(ctx, 1, &nothing);
    if (st != FERRY_OK) st = end_section(ctx, st);
    r->broken = r->verdict = FERRY_OK;
    r->heard = false;
    r->left = 0;
    r->section++;
    return st;
}

void ferry_i_ranks_leave_rows(ferry_ctx *ctx, ferry_status st)
{
    struct ferry_ranks *r = ctx->ranks;

    if (!ferry_i_ranks_split(ctx)) return;
    r->rows = false;
    if (st == FERRY_OK || st == FERRY_ECANCELLED || r->over) return;
    send_verdict(ctx, 0, RANK_FAIL, FERRY_EIO, ctx->message);
}

/* ---- reading together ---- */

void ferry_i_ranks_read(ferry_ctx *ctx)
{
    ferry_i_ranks_spread(ctx);
    ctx->ranks->rows = false;
    ctx->ranks->reading = true;
    ferry_i_spill_all(true);
}

ferry_status ferry_i_ranks_read_end(ferry_ctx *ctx, ferry_status st)
{
    if (!ctx->ranks || !ctx->ranks->reading) return st;
    ferry_i_spill_all(false);
    ctx->ranks->reading = false;
    ctx->ranks->rows = true;
    st = ferry_i_ranks_agree(ctx, st);
    ctx->ranks->rows = false;
    return st;
}

void ferry_i_ranks_file(ferry_ctx *ctx, bool begins)
{
    if (ctx->ranks && ctx->ranks->reading) ctx->ranks->rows = begins;
}

/* Nobody waits here but for rank 0, which goes on to the next meeting and hears of a difference there. */
ferry_status ferry_i_ranks_same(ferry_ctx *ctx, const char *name, const void *bytes,
                                int64_t n)
{
    if (!ferry_i_ranks_split(ctx)) return FERRY_OK;

    const uint64_t mine[] = {(uint64_t)n, XXH3_64bits(bytes, (size_t)n)};
    uint64_t first[] = {mine[0], mine[1]};

    FERRY_PASS(ferry_i_ranks_broadcast(ctx, first, sizeof first));
    if (memcmp(first, mine, sizeof mine) != 0)
        return ferry_i_fail(ctx, FERRY_EDATA, "%s: it is not what rank 0 has read", name);
    return FERRY_OK;
}

/* ---- from everybody to everybody ---- */

/* The lower rank speaks first: nobody waits for one that waits for him. */
static ferry_status trade_with(ferry_ctx *ctx, int other, const char *out, int64_t n_out,
                               char *in, int64_t n_in)
{
    ferry_status st = FERRY_OK;

    for (int turn = 0; turn < 2; turn++) {
        const bool speak = (turn == 0) == (ctx->ranks->rank < other);
        const int64_t n = speak ? n_out : n_in;
        for (int64_t at = 0; at < n; at += 8 * PIECE) {
            const int64_t bytes = n - at < 8 * PIECE ? n - at : 8 * PIECE;
            FERRY_TRY(speak ? give(ctx, other, out + at, bytes)
                            : await(ctx, other, in + at, bytes));
        }
    }
done:
    return st;
}

/* In turn `step` rank r meets rank r xor step, so that all pairs meet once and every rank has one partner at a time. */
ferry_status ferry_i_ranks_trade(ferry_ctx *ctx, const void *const *out,
                                 const int64_t *n_out, void *const *in, const int64_t *n_in)
{
    ferry_status st = FERRY_OK;
    const int rank = ctx->ranks->rank, size = ctx->ranks->size;
    int steps = 1;

    FERRY_TRY(ctx->ranks->broken);
    while (steps < size)
        steps *= 2;
    if (n_out[rank] > 0 && in[rank] != out[rank])
        memcpy(in[rank], out[rank], (size_t)n_out[rank]);
    for (int step = 1; step < steps; step++) {
        const int other = rank ^ step;
        if (other < size)
            FERRY_TRY(
                trade_with(ctx, other, out[other], n_out[other], in[other], n_in[other]));
    }
done:
    return st;
}

ferry_status ferry_i_ranks_share(ferry_ctx *ctx, const int64_t *cut, size_t size,
                                 void *items)
{
    ferry_status st = FERRY_OK;
    const int ranks = ctx->ranks->size, rank = ctx->ranks->rank;
    const void **out = NULL;
    void **in = NULL;
    int64_t *n = NULL;

    FERRY_NEW(ctx, out, ranks);
    FERRY_NEW(ctx, in, ranks);
    FERRY_NEW(ctx, n, 2 * ranks);
    for (int i = 0; i < ranks; i++) {
        in[i] = (char *)items + cut[i] * (int64_t)size;
        out[i] = (char *)items + cut[rank] * (int64_t)size;
        n[i] = (cut[rank + 1] - cut[rank]) * (int64_t)size;
        n[ranks + i] = (cut[i + 1] - cut[i]) * (int64_t)size;
    }
    FERRY_TRY(ferry_i_ranks_trade(ctx, out, n, in, n + ranks));
done:
    FERRY_FREE(out, in, n);
    return st;
}
