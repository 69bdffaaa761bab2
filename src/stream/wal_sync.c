/* A batch on its way to the disk: a thread writes and syncs it, so that the next one can be
 * worked on meanwhile. */
#include <pthread.h>
#include <signal.h>

#include "stream/wal_bytes.h"

typedef enum sync_phase { REST, UNDER_WAY, ARRIVED, QUIT } sync_phase;

struct ferry_wal_sync {
    pthread_t thread;
    pthread_mutex_t mutex; /* guards the phase; the rest belongs to the thread under way */
    pthread_cond_t changed;
    sync_phase phase;
    int fd, error;
    const char *doing;
    uint8_t *bytes;
    int64_t n, room;
    wal_mark mark;
};

/* The thread: sleep until a batch comes (UNDER_WAY), write it, say ARRIVED, until QUIT.
 * The mutex is not held while the disk works, so that asking whether it is busy never
 * waits for the disk. */
static void *run(void *arg)
{
    ferry_wal_sync *f = arg;

    (void)pthread_mutex_lock(&f->mutex);
    for (;;) {
        while (f->phase == REST || f->phase == ARRIVED)
            (void)pthread_cond_wait(&f->changed, &f->mutex);
        if (f->phase == QUIT) break;
        (void)pthread_mutex_unlock(&f->mutex);
        f->error = ferry_i_wal_write_batch(f->fd, f->bytes, f->n, f->mark, &f->doing);
        (void)pthread_mutex_lock(&f->mutex);
        f->phase = ARRIVED;
        (void)pthread_cond_broadcast(&f->changed);
    }
    (void)pthread_mutex_unlock(&f->mutex);
    return NULL;
}

/* Signals are blocked while the thread is made, and so in it: Ctrl-C must reach the thread
 * that works, which knows how to stop. */
ferry_wal_sync *ferry_i_wal_sync_new(void)
{
    ferry_wal_sync *f = ferry_i_calloc(1, sizeof *f);
    sigset_t all, before;

    if (!f) return NULL;
    (void)pthread_mutex_init(&f->mutex, NULL);
    (void)pthread_cond_init(&f->changed, NULL);
    (void)sigfillset(&all); /* signals are for the thread that works */
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    const int failed = pthread_create(&f->thread, NULL, run, f);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!failed) return f;
    (void)pthread_cond_destroy(&f->changed);
    (void)pthread_mutex_destroy(&f->mutex);
    ferry_i_free(f);
    return NULL;
}

/* Change the phase and wake whoever waits for it. */
static void set_phase(ferry_wal_sync *f, sync_phase phase)
{
    (void)pthread_mutex_lock(&f->mutex);
    f->phase = phase;
    (void)pthread_cond_broadcast(&f->changed);
    (void)pthread_mutex_unlock(&f->mutex);
}

/* Swap buffers: the full one goes to the thread, the caller gets the one that was written
 * before. No copying, and two buffers in all. */
void ferry_i_wal_sync_begin(ferry_wal_sync *f, ferry_wal *log)
{
    uint8_t *const empty = f->bytes;
    const int64_t room = f->room;

    f->fd = log->fd;
    f->mark = (wal_mark){log->head, log->last, log->last_chain, .sync = true};
    f->n = log->used;
    f->bytes = log->buffer;
    f->room = log->room;
    log->buffer = empty;
    log->room = room;
    log->used = 0;
    set_phase(f, UNDER_WAY);
}

/* Wait until the batch has arrived; its bytes, or 0 when none was under way. error and
 * doing stay as they are unless one had arrived. */
int64_t ferry_i_wal_sync_wait(ferry_wal_sync *f, int *error, const char **doing)
{
    int64_t n = 0;

    (void)pthread_mutex_lock(&f->mutex);
    while (f->phase == UNDER_WAY)
        (void)pthread_cond_wait(&f->changed, &f->mutex);
    if (f->phase == ARRIVED) {
        *error = f->error;
        *doing = f->doing;
        n = f->n;
    }
    f->phase = REST;
    (void)pthread_mutex_unlock(&f->mutex);
    return n;
}

bool ferry_i_wal_sync_busy(ferry_wal_sync *f)
{
    (void)pthread_mutex_lock(&f->mutex);
    const bool busy = f->phase == UNDER_WAY;
    (void)pthread_mutex_unlock(&f->mutex);
    return busy;
}

/* What is under way is finished first: it may have been promised. */
void ferry_i_wal_sync_free(ferry_wal_sync *f)
{
    const char *doing = NULL;
    int error = 0;

    if (!f) return;
    (void)ferry_i_wal_sync_wait(f, &error, &doing);
    set_phase(f, QUIT);
    (void)pthread_join(f->thread, NULL);
    (void)pthread_cond_destroy(&f->changed);
    (void)pthread_mutex_destroy(&f->mutex);
    FERRY_FREE(f->bytes, f);
}
