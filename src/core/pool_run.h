/* A pool under way: what its threads (pool.c) and its ranks (dispatch.c) share. */
#ifndef FERRY_POOL_RUN_H
#define FERRY_POOL_RUN_H

#include <pthread.h>

#include "core/pool.h"
#include "core/ranks.h"

typedef struct slot {
    bool done;
    int where;         /* the rank that ran it */
    ferry_later lines; /* what the job logged, for its turn */
    /* over ranks: what it left, packed; the files that it wants kept; how it ended, for rank 0 */
    ferry_buffer body, kept;
    ferry_status st;
    char *message;
} slot;

typedef struct pool {
    const ferry_jobs *jobs;
    ferry_ctx *ctx;  /* the caller's */
    ferry_ctx model; /* what a job's context begins as */
    bool threaded;
    pthread_mutex_t mutex;
    pthread_cond_t wake, answered; /* for the caller; for a worker that asked */
    slot *slot;                    /* n, where threaded */
    int64_t next, end;             /* the job to begin next; none begins from `end` on */
    int running;                   /* workers */
    /* the failure with the lowest number, or n */
    int64_t failed;
    ferry_status st;
    char message[sizeof((ferry_ctx *)0)->message];
    /* the callback's last word, for all; what a worker asks it */
    ferry_answer answer;
    const ferry_progress *asked;
    double last; /* when it was asked last */
    /* over ranks (dispatch.c) */
    bool dispatched;
    int64_t number;        /* of the pool */
    int64_t away;          /* rank 0: jobs that others have */
    ferry_answer reported; /* rank 0: what the others were told last */
    int64_t sent_failed;   /* likewise */
    pthread_cond_t given;  /* others: for a worker that waits for a job */
    int64_t *queue, n_queue, *finished, n_finished,
        n_sent;       /* n each: to do; done, in order */
    int idle, asking; /* workers that wait; those that rank 0 was asked for */
    bool closed;      /* no more jobs */
} pool;

/* pool.c: under the lock */
void ferry_i_pool_answer(pool *p, ferry_answer answer);
void ferry_i_pool_fail(pool *p, int64_t job, ferry_status st, const char *message);
/* Hand a worker's question to the callback, if there is one. */
bool ferry_i_pool_hear(pool *p);

/* dispatch.c. A worker's next job, -1: none; and that it is done. Under the lock. */
int64_t ferry_i_dispatch_take(pool *p);
void ferry_i_dispatch_done(pool *p, int64_t job, ferry_status st, const char *message);
/* What a job left becomes slot->body, before it is joined. */
void ferry_i_dispatch_pack(pool *p, int64_t job);
/* Rank 0, while it waits: dispatch, take what comes back. The lock is held, and let go meanwhile. */
void ferry_i_dispatch_serve(pool *p);
/* Rank 0: everybody gets the outcome. */
ferry_status ferry_i_dispatch_end(pool *p);
/* All others: work until the outcome comes, and take it. */
ferry_status ferry_i_dispatch_follow(pool *p);
void ferry_i_dispatch_clear(pool *p);

#endif
