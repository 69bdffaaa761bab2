/* Several processes, on one machine or on many, that work together: the ranks of an MPI job.
 *
 * Every rank joins. Rank 0 goes on as a program by itself would; the others serve it. Evaluations
 * (ferry_evaluate) and selections (ferry_select) of a task that was read from a
 * file are then shared: their independent fits go to whichever rank is free, and the outcome is, bit for bit,
 * that of one process. With the engine "mpi" evaluations and fits (ferry_fit) are shared otherwise: every rank has its own
 * rows, all work on one fit at a time, and the outcome is that of one process up to rounding. All other calls concern the
 * rank that makes them. Needs libferry_mpi.so. */
#ifndef FERRY_RANKS_PUBLIC_H
#define FERRY_RANKS_PUBLIC_H

#include "ferry/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Whether this process was started as one of several by an MPI launcher (mpirun, mpiexec, srun --mpi), by
 * the launcher's own variables: 1 or 0. That it runs under a batch system says nothing. */
FERRY_API int ferry_ranks_launched(void);
/**
 * Join the other ranks, which starts MPI; once in a process, by the thread that makes all later calls with
 * this context. The context's threads become this rank's part of its machine's cores: those that it is bound
 * to, at most the machine's divided by the ranks there. FERRY_ENEEDS when there is no libferry_mpi.so, when
 * another MPI's launcher started the ranks, and on every rank when their versions differ.
 * @param rank  which one this is, from 0; 0 where it is alone. Also when the call fails, as far as known
 */
FERRY_API ferry_status ferry_ranks_join(ferry_ctx *ctx, int *rank);
/** All but rank 0: take part in what rank 0 does, until it leaves. Freeing the context leaves, which ends MPI; when rank
 * 0 does, the others may go. */
FERRY_API ferry_status ferry_ranks_serve(ferry_ctx *ctx);

#ifdef __cplusplus
}
#endif
#endif
