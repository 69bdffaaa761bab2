/* The host engine: OpenBLAS with its LAPACK, and our own loops in OpenMP.
 *
 * This table is all that the rest of the library sees of the engine. Operations are
 * documented where they are declared, in linalg.h; a new one is a field there, a
 * function here and one in ref/. */
#include "linalg/host/host.h"

const ferry_engine ferry_i_engine_host = {
    .name = "host",
    .summary = "OpenBLAS, LAPACK and OpenMP on this machine's cores",
    FERRY_HOST_ROW_BY_ROW,
    .tmul = ferry_i_host_tmul,
    .xxt = ferry_i_host_xxt,
    .xtx = ferry_i_host_xtx,
    .sums = ferry_i_host_sums,
    .consensus_mul = ferry_i_host_consensus_mul,
};
