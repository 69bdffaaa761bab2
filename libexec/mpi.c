/* libferry_mpi.so: messages between ranks by MPI (src/core/ranks.h says what they are for).
 *
 * Linked with MPI, which libferry is not: who has one machine needs none of it. MPI's own waiting spins on
 * a core that a fit could use, so nothing here waits inside of MPI: it asks, and sleeps a little between.
 * A message is 8 bytes that say how long it is, then its bytes in pieces that an int can count. All on a
 * communicator of our own: a program that uses MPI itself does not meet them. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/ranks.h"

enum { PIECE = 1 << 30 };

static MPI_Comm all = MPI_COMM_NULL;
static int own_init;                  /* MPI was started here */
static int waiting_from, waiting_tag; /* what poll found */
static int64_t waiting_bytes;

/* Until the request is done. Short ones mostly are by then; long ones cost no core. */
static int finish(MPI_Request *request)
{
    const struct timespec rest = {0, 100000};
    int done = 0;

    for (int turn = 0; !done; turn++) {
        if (MPI_Test(request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return 1;
        if (!done && turn > 100) (void)nanosleep(&rest, NULL);
    }
    return 0;
}

static int open_mpi(int *rank, int *size, int *neighbours, char *name, int room)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int started = 0, level = 0, length = 0;
    MPI_Comm here = MPI_COMM_NULL;

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
        (void)MPI_Comm_size(here, neighbours);
        (void)MPI_Comm_free(&here);
    }
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
    return 0;
}

static void close_mpi(void)
{
    if (all != MPI_COMM_NULL) (void)MPI_Comm_free(&all);
    if (own_init) (void)MPI_Finalize();
}

FERRY_API extern const ferry_transport ferry_mpi_transport;
const ferry_transport ferry_mpi_transport = {FERRY_VERSION, open_mpi,   send_bytes,
                                             poll_bytes,    take_bytes, close_mpi};
