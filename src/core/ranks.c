/* Ranks: joining, messages, calls, leaving (ranks.h says how it hangs together). */
#define _GNU_SOURCE /* sched_getaffinity, dladdr */
#include <dlfcn.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/ranks.h"

/* ---- messages ---- */

void ferry_i_ranks_rest(void)
{
    const struct timespec rest = {0, 1000000};

    (void)nanosleep(&rest, NULL);
}

ferry_status ferry_i_ranks_send(ferry_ctx *ctx, int to, ferry_tag tag,
                                const ferry_buffer *p)
{
    const struct ferry_ranks *r = ctx->ranks;

    if (p->failed) return ferry_i_nomem(ctx);
    for (int i = 0; i < r->size; i++)
        if (i != r->rank && (to < 0 || to == i) && r->t->send(i, (int)tag, p->at, p->n))
            return ferry_i_fail(ctx, FERRY_EIO, "MPI: cannot send to rank %d", i);
    return FERRY_OK;
}

ferry_status ferry_i_ranks_poll(ferry_ctx *ctx, bool *there, int *from, ferry_tag *tag,
                                ferry_buffer *p)
{
    ferry_status st = FERRY_OK;
    const ferry_transport *t = ctx->ranks->t;
    int64_t n = 0;
    int as = -1;

    *from = -1;
    const int found = t->poll(from, &as, &n);

    *there = found == 1;
    *tag = (ferry_tag)as;
    *p = (ferry_buffer){0};
    FERRY_NEED(ctx, found >= 0, FERRY_EIO, "MPI: cannot receive");
    if (!found) goto done;
    FERRY_NEW(ctx, p->at, n);
    p->n = p->cap = n;
    FERRY_NEED(ctx, t->take(p->at) == 0, FERRY_EIO, "MPI: cannot receive from rank %d",
               *from);
done:
    if (st != FERRY_OK) ferry_i_buffer_free(p);
    return st;
}

ferry_status ferry_i_ranks_wait(ferry_ctx *ctx, ferry_tag tag, int *from, ferry_buffer *p)
{
    ferry_status st = FERRY_OK;
    ferry_tag got = 0;
    bool there = false;

    for (;;) {
        FERRY_TRY(ferry_i_ranks_poll(ctx, &there, from, &got, p));
        if (there && got == tag) break;
        if (there)
            ferry_i_buffer_free(p);
        else
            ferry_i_ranks_rest();
        if (!there) FERRY_TRY(ferry_i_progress(ctx, "ranks", 0, 0, NAN, NULL));
    }
done:
    return st;
}

/* ---- joining ---- */

static ferry_status load(ferry_ctx *ctx, const ferry_transport **t)
{
    ferry_status st = FERRY_OK;
    const ferry_symbol want[] = {{FERRY_TRANSPORT, (void *)t}};
    static const char here = 0, name[] = "libferry_mpi.so";
    char why[FERRY_LOAD_WHY] = "";
    Dl_info info = {0};
    char *dir = NULL, *path = NULL;

    /* beside the library or program that this code is part of; else where the system looks */
    if (dladdr(&here, &info) && info.dli_fname && strchr(info.dli_fname, '/'))
        FERRY_HAVE(ctx, (dir = ferry_i_path_dir(info.dli_fname)) &&
                            (path = ferry_i_path_join(dir, name)));
    const bool found =
        (path && access(path, R_OK) == 0 && ferry_i_load(path, want, 1, why)) ||
        (!why[0] && ferry_i_load(name, want, 1, why));
    FERRY_NEED(ctx, found, FERRY_ENEEDS,
               "several ranks need %s, which Ferry has where it was built with MPI: %s",
               name, why);
    FERRY_NEED(ctx, strcmp((*t)->version, FERRY_VERSION) == 0, FERRY_ENEEDS,
               "%s is of Ferry %s, the library of %s", name, (*t)->version, FERRY_VERSION);
done:
    FERRY_FREE(dir, path);
    return st;
}

/* The cores of this process, at most its part of the machine's. */
static int share_of_cores(int neighbours)
{
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    cpu_set_t mine;
    int cores = online > neighbours ? (int)(online / neighbours) : 1;

    if (sched_getaffinity(0, sizeof mine, &mine) == 0 && CPU_COUNT(&mine) > 0 &&
        CPU_COUNT(&mine) < cores)
        cores = CPU_COUNT(&mine);
    return cores;
}

/* What the launcher says that it started; 0: it does not say. */
static int launched(void)
{
    const char *ompi = getenv("OMPI_COMM_WORLD_SIZE"), *pmi = getenv("PMI_SIZE");

    return ompi ? atoi(ompi) : pmi ? atoi(pmi) : 0;
}

/* The first rank whose version is another, as a sentence; "" for none. Rank 0, with all that was said. */
static char *find_other_version(int size, char *const *version, char *const *host)
{
    for (int i = 1; i < size; i++)
        if (strcmp(version[i], FERRY_VERSION) != 0)
            return ferry_i_sprintf(
                "rank %d (%s) runs Ferry %s, rank 0 (%s) runs " FERRY_VERSION
                ": all ranks must run the same version",
                i, host[i], version[i], host[0]);
    return ferry_i_strdup("");
}

/* Rank 0 hears who the others are, and answers. The version comes first in the message: whatever else
 * another version would say, it says that. */
static ferry_status welcome(ferry_ctx *ctx, struct ferry_ranks *r, char *host,
                            const char *about)
{
    ferry_status st = FERRY_OK;
    ferry_buffer in = {0}, out = {.writing = true};
    char **version = NULL, *theirs = NULL, *sentence = NULL;
    int from = 0;

    FERRY_NEW(ctx, version, r->size);
    FERRY_NEW(ctx, r->host, r->size);
    FERRY_HAVE(ctx, r->host[0] = ferry_i_strdup(host));
    for (int i = 1; i < r->size; i++) {
        FERRY_TRY(ferry_i_ranks_wait(ctx, RANK_HELLO, &from, &in));
        ferry_i_buffer_text(&in, &version[from]);
        ferry_i_buffer_text(&in, &r->host[from]);
        ferry_i_buffer_text(&in, &theirs);
        FERRY_HAVE(ctx, version[from] && r->host[from] && theirs);
        if (strcmp(version[from], FERRY_VERSION) == 0 && strcmp(theirs, about) != 0)
            ferry_i_log(
                ctx, FERRY_WARN,
                "rank %d (%s) computes with %s, rank 0 with %s: last digits may differ "
                "from those of one process",
                from, r->host[from], theirs, about);
        ferry_i_buffer_free(&in);
        ferry_i_free(theirs);
        theirs = NULL;
    }
    FERRY_HAVE(ctx, sentence = find_other_version(r->size, version, r->host));
    ferry_i_buffer_text(&out, &sentence);
    FERRY_TRY(ferry_i_ranks_send(ctx, -1, RANK_HELLO, &out));
    FERRY_NEED(ctx, !sentence[0], FERRY_ENEEDS, "%s", sentence);
done:
    for (int i = 0; version && i < r->size; i++)
        ferry_i_free(version[i]);
    FERRY_FREE(version, theirs, sentence);
    ferry_i_buffer_free(&in);
    ferry_i_buffer_free(&out);
    return st;
}

static ferry_status greet(ferry_ctx *ctx, char *host, const char *about)
{
    ferry_status st = FERRY_OK;
    ferry_buffer in = {0}, out = {.writing = true};
    char *version = (char *)(uintptr_t)FERRY_VERSION, *sentence = NULL,
         *own = (char *)(uintptr_t)about;
    int from = 0;

    ferry_i_buffer_text(&out, &version);
    ferry_i_buffer_text(&out, &host);
    ferry_i_buffer_text(&out, &own);
    FERRY_TRY(ferry_i_ranks_send(ctx, 0, RANK_HELLO, &out));
    FERRY_TRY(ferry_i_ranks_wait(ctx, RANK_HELLO, &from, &in));
    ferry_i_buffer_text(&in, &sentence);
    FERRY_HAVE(ctx, sentence);
    FERRY_NEED(ctx, !sentence[0], FERRY_ENEEDS, "%s", sentence);
done:
    ferry_i_free(sentence);
    ferry_i_buffer_free(&in);
    ferry_i_buffer_free(&out);
    return st;
}

static void free_hosts(struct ferry_ranks *r)
{
    for (int i = 0; r->host && i < r->size; i++)
        ferry_i_free(r->host[i]);
    ferry_i_free(r->host);
    r->host = NULL;
}

ferry_status ferry_i_ranks_join(ferry_ctx *ctx, const char *about, int *share)
{
    ferry_status st = FERRY_OK;
    struct ferry_ranks *r = NULL;
    char host[256] = "", name[128] = "";
    int neighbours = 1;

    FERRY_NEED(ctx, !ctx->ranks, FERRY_EINVAL, "this context has joined already");
    FERRY_NEW(ctx, r, 1);
    FERRY_TRY(load(ctx, &r->t));
    const int opened = r->t->open(&r->rank, &r->size, &neighbours, name, sizeof name);
    FERRY_NEED(ctx, opened == 0, FERRY_EIO, "MPI (%s) could not be started", name);
    ctx->ranks = r;
    FERRY_NEED(
        ctx, r->size > 1 || launched() <= 1, FERRY_ENEEDS,
        "the launcher started %d ranks, but %s, which Ferry was built with, sees only "
        "this one: start them by the mpirun of the same MPI",
        launched(), name);
    (void)gethostname(host, sizeof host - 1);
    *share = share_of_cores(neighbours);
    FERRY_TRY(r->rank == 0 ? welcome(ctx, r, host, about) : greet(ctx, host, about));
done:
    if (st != FERRY_OK && ctx->ranks == r &&
        r) { /* all were refused: nobody waits for us */
        free_hosts(r);
        r->size = 1;
    } else if (st != FERRY_OK) {
        ferry_i_free(r);
    }
    return st;
}

/* Rank 0 tells the others, and takes what is still under way until each has said goodbye. */
void ferry_i_ranks_free(struct ferry_ranks *r)
{
    if (!r) return;
    ferry_ctx own = {.ranks = r};
    ferry_buffer p = {0};
    int from = 0;
    if (r->rank == 0 && ferry_i_ranks_send(&own, -1, RANK_QUIT, &p) == FERRY_OK)
        for (int i = 1; i < r->size; i++) {
            if (ferry_i_ranks_wait(&own, RANK_BYE, &from, &p) != FERRY_OK) break;
            ferry_i_buffer_free(&p);
        }
    r->t->close();
    free_hosts(r);
    ferry_i_free(r);
}

/* ---- calls ---- */

bool ferry_i_ranks_dispatching(const ferry_ctx *ctx)
{
    return ctx->ranks && ctx->ranks->size > 1 && ctx->ranks->calls > 0 &&
           !ctx->ranks->over && !ctx->ranks->rows && !ctx->ranks->reading;
}

/* What a rank says before it takes part: rank 0 speaks for it. */
static ferry_status hear_ready(ferry_ctx *ctx)
{
    ferry_status st = FERRY_OK, theirs = FERRY_OK;
    ferry_buffer p = {0};
    char *sentence = NULL;
    int64_t call = -1;
    int from = 0;

    while (call != ctx->ranks->pool) { /* one that was given up may still be answered */
        ferry_i_buffer_free(&p);
        FERRY_TRY(ferry_i_ranks_wait(ctx, RANK_READY, &from, &p));
        FERRY_PACK(&p, call);
    }
    FERRY_PACK(&p, theirs);
    ferry_i_buffer_text(&p, &sentence);
    FERRY_HAVE(ctx, sentence);
    FERRY_NEED(ctx, theirs == FERRY_OK, theirs, "rank %d (%s): %s", from,
               ctx->ranks->host[from], sentence);
done:
    ferry_i_free(sentence);
    ferry_i_buffer_free(&p);
    return st;
}

ferry_status ferry_i_ranks_begin(ferry_ctx *ctx, ferry_buffer *call)
{
    ferry_status st = FERRY_OK;
    struct ferry_ranks *r = ctx->ranks;
    ferry_buffer p = {.writing = true};

    r->pool++; /* which also numbers the call */
    FERRY_PACK(&p, r->pool);
    ferry_i_buffer_bytes(&p, call->at, call->n);
    p.failed = p.failed || call->failed;
    FERRY_TRY(ferry_i_ranks_send(ctx, -1, RANK_CALL, &p));
    for (int i = 1; i < r->size; i++) { /* all are heard, the first failure is told */
        ferry_ctx own = ferry_i_child(ctx);
        const ferry_status one = hear_ready(&own);
        if (one != FERRY_OK && st == FERRY_OK) st = ferry_i_join(ctx, &own, one);
        if (one == FERRY_ECANCELLED) break;
    }
    FERRY_TRY(st);
    p.n = 0;
    FERRY_TRY(
        ferry_i_ranks_send(ctx, -1, RANK_READY, &p)); /* all begin: nobody asks too early */
done:
    ferry_i_buffer_free(&p);
    return st;
}

void ferry_i_ranks_end(ferry_ctx *ctx)
{
    const ferry_buffer nothing = {0};
    ferry_ctx own = ferry_i_child(ctx); /* the call's message stays */

    if (--ctx->ranks->calls > 0) return;
    ctx->ranks->rows = false;
    (void)ferry_i_ranks_send(&own, -1, RANK_OVER, &nothing);
}
