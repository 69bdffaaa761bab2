/* libferry_mpi.so: messages between ranks by MPI (src/core/ranks.h says what they are for).
 *
 * Linked with MPI, which libferry is not: who has one machine needs none of it. A message is 8 bytes that say how long it
 * is, then its bytes in pieces that an int can count. All on a communicator of our own: a program that uses MPI itself does
 * not meet them.
 *
 * MPI's own waiting spins on a core that a fit could use; with sched_yield() between its looks, a wait takes whole slices
 * of time where cores are busy. So nothing here waits inside of MPI: it looks, and then sleeps until its bell rings. The
 * ranks of a machine have a word each in memory that they share; who has sent something, or taken something long, rings at
 * the other end. A bell that rings early or not at all costs a look or a nap, never a message. */
#define _GNU_SOURCE /* syscall */
#include <mpi.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif
#include <time.h>
#include <unistd.h>

#include "core/ranks.h"

enum { PIECE = 1 << 30, LOOKS = 200 /* before the first sleep */ };

static MPI_Comm all = MPI_COMM_NULL;
static int own_init;                  /* MPI was started here */
static int waiting_from, waiting_tag; /* what poll found */
static int64_t waiting_bytes;

/* ---- bells ---- */

typedef struct bell {
    _Atomic(uint32_t) rung, asleep;
    char line[56]; /* a cache line each */
} bell;

static MPI_Comm here = MPI_COMM_NULL; /* the ranks of this machine */
static MPI_Win shared = MPI_WIN_NULL;
static bell **bells,
    *mine; /* by rank, NULL on other machines; NULL: no memory can be shared */
static uint32_t heard;
static bool crowded; /* more ranks than cores */

#ifdef __linux__
static void futex(bell *b, int op, uint32_t value, const struct timespec *until)
{
    (void)syscall(SYS_futex, &b->rung, op, value, until, NULL, 0);
}

static void ring(int rank)
{
    bell *b = bells ? bells[rank] : NULL;

    if (!b) return;
    atomic_fetch_add(&b->rung, 1);
    if (atomic_load(&b->asleep)) futex(b, FUTEX_WAKE, 1, NULL);
}

static void until_it_rings(const struct timespec *most)
{
    atomic_store(&mine->asleep, 1);
    futex(mine, FUTEX_WAIT, heard, most); /* not if it has rung since `heard` */
    atomic_store(&mine->asleep, 0);
}
#else
static void ring(int rank)
{
    (void)rank;
}
static void until_it_rings(const struct timespec *most)
{
    (void)nanosleep(most, NULL);
}
#endif

static int64_t now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* Sleeping and waking cost some 50 microseconds, as much as hundreds of looks. Where there are more ranks than cores, another
 * rank must have the core to send anything, so a look gives it away; that takes a microsecond among ranks, and a whole slice
 * of time where something else is busy: then sleep for the next thousand waits. */
static void rest(int64_t turn)
{
    const struct timespec nap = {0, turn < LOOKS + 50    ? 20000
                                    : turn < LOOKS + 500 ? 100000
                                                         : 1000000};
    static int dear;

    if (turn == 0 && dear > 0) dear--;
    if (turn < LOOKS && !crowded) return;
    if (turn < LOOKS && !dear) {
        const int64_t before = now();
        (void)sched_yield();
        if (now() - before > 500000) dear = 1000;
        return;
    }
    if (!mine) {
        (void)nanosleep(&nap, NULL);
        return;
    }
    if (atomic_load(&mine->rung) == heard) until_it_rings(&nap);
    heard = atomic_load(&mine->rung);
}

/* Where that cannot be done all sleep by the clock. */
static void hang_bells(int size, int neighbours)
{
    MPI_Group of_all, of_here;
    MPI_Aint bytes = 0;
    int unit = 0;

    if (neighbours < 2 || MPI_Win_allocate_shared(sizeof(bell), 1, MPI_INFO_NULL, here,
                                                  &mine, &shared) != MPI_SUCCESS) {
        mine = NULL;
        return;
    }
    bells = calloc((size_t)size, sizeof(*bells));
    if (!bells || MPI_Comm_group(all, &of_all) != MPI_SUCCESS) return;
    if (MPI_Comm_group(here, &of_here) == MPI_SUCCESS) {
        for (int i = 0; i < neighbours; i++) {
            int rank = -1;
            bell *b = NULL;
            if (MPI_Group_translate_ranks(of_here, 1, &i, of_all, &rank) == MPI_SUCCESS &&
                rank >= 0 &&
                MPI_Win_shared_query(shared, i, &bytes, &unit, &b) == MPI_SUCCESS)
                bells[rank] = b;
        }
        (void)MPI_Group_free(&of_here);
    }
    (void)MPI_Group_free(&of_all);
    (void)MPI_Barrier(here); /* nobody rings before all hang */
}

/* ---- messages ---- */

/* Until the request is done. */
static int finish(MPI_Request *request)
{
    int done = 0;

    for (int64_t turn = 0; !done; turn++) {
        if (MPI_Test(request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return 1;
        if (!done) rest(turn);
    }
    return 0;
}

static int open_mpi(int *rank, int *size, int *neighbours, char *name, int room)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int started = 0, level = 0, length = 0;

    if (MPI_Initialized(&started) != MPI_SUCCESS) return 1;
    own_init = !started;
    /* Open MPI's polling would yield where ranks outnumber cores, and wait a slice of time for each of our questions */
    if (!started) (void)setenv("OMPI_MCA_mpi_yield_when_idle", "0", 1);
    if (!started && MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS)
        return 1;
    (void)MPI_Get_library_version(text, &length);
    text[strcspn(text, ",\n")] = 0;
    (void)snprintf(name, (size_t)room, "%s", text);
    if (MPI_Comm_dup(MPI_COMM_WORLD, &all) != MPI_SUCCESS) return 1;
    (void)MPI_Comm_set_errhandler(all, MPI_ERRORS_RETURN);
    if (MPI_Comm_rank(all, rank) != MPI_SUCCESS || MPI_Comm_size(all, size) != MPI_SUCCESS)
        return 1;
    *neighbours = 1;
    if (MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here) ==
        MPI_SUCCESS) {
        (void)MPI_Comm_set_errhandler(here, MPI_ERRORS_RETURN);
        (void)MPI_Comm_size(here, neighbours);
        crowded = *neighbours > sysconf(_SC_NPROCESSORS_ONLN);
        hang_bells(*size, *neighbours);
    }
#ifdef __linux__
    (void)prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL,
                0UL); /* naps end when they should, not 50 microseconds later */
#endif
    return 0;
}

static int send_bytes(int to, int tag, const void *data, int64_t n)
{
    MPI_Request request;

    if (MPI_Isend(&n, (int)sizeof n, MPI_BYTE, to, tag, all, &request) != MPI_SUCCESS ||
        finish(&request))
        return 1;
    for (int64_t at = 0; at < n; at += PIECE) {
        const int piece = n - at < PIECE ? (int)(n - at) : PIECE;
        if (MPI_Isend((const char *)data + at, piece, MPI_BYTE, to, tag, all, &request) !=
                MPI_SUCCESS ||
            finish(&request))
            return 1;
    }
    ring(to);
    return 0;
}

static int receive(void *to, int n)
{
    MPI_Request request;

    return MPI_Irecv(to, n, MPI_BYTE, waiting_from, waiting_tag, all, &request) !=
               MPI_SUCCESS ||
           finish(&request);
}

static int poll_bytes(int *from, int *tag, int64_t *n)
{
    MPI_Status status;
    int there = 0;

    if (MPI_Iprobe(*from < 0 ? MPI_ANY_SOURCE : *from, *tag < 0 ? MPI_ANY_TAG : *tag, all,
                   &there, &status) != MPI_SUCCESS)
        return -1;
    if (!there) return 0;
    *from = waiting_from = status.MPI_SOURCE;
    *tag = waiting_tag = status.MPI_TAG;
    if (receive(&waiting_bytes, (int)sizeof waiting_bytes)) return -1;
    *n = waiting_bytes;
    return 1;
}

static int take_bytes(void *to)
{
    for (int64_t at = 0; at < waiting_bytes; at += PIECE) {
        const int64_t left = waiting_bytes - at;
        if (receive((char *)to + at, left < PIECE ? (int)left : PIECE)) return 1;
    }
    ring(waiting_from); /* who may wait until a long message is taken */
    return 0;
}

static void close_mpi(void)
{
    free(bells);
    bells = NULL;
    mine = NULL;
    if (shared != MPI_WIN_NULL) (void)MPI_Win_free(&shared);
    if (here != MPI_COMM_NULL) (void)MPI_Comm_free(&here);
    if (all != MPI_COMM_NULL) (void)MPI_Comm_free(&all);
    if (own_init) (void)MPI_Finalize();
}

FERRY_API extern const ferry_transport ferry_mpi_transport;
const ferry_transport ferry_mpi_transport = {
    FERRY_VERSION, open_mpi, send_bytes, poll_bytes, take_bytes, rest, close_mpi};
