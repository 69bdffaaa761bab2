/* The host engine: OpenBLAS with its LAPACK, and our own loops in OpenMP.
 *
 * This table is all that the rest of the library sees of the engine. Operations are
 * documented where they are declared, in linalg.h; a new one is a field there, a
 * function here and one in ref/. */
#include "linalg/host/host.h"

const ferry_engine ferry_i_engine_host = {
    .name = "host",
    .summary = "OpenBLAS, LAPACK and OpenMP on this machine's cores",
    .mul = ferry_i_host_mul,
    .tmul = ferry_i_host_tmul,
    .xxt = ferry_i_host_xxt,
    .xtx = ferry_i_host_xtx,
    .sddmm = ferry_i_host_sddmm,
    .masked = ferry_i_host_masked,
    .ridge_rows = ferry_i_host_ridge_rows,
    .sums = ferry_i_host_sums,
    .gram = ferry_i_host_gram,
    .bmul = ferry_i_host_bmul,
    .mulup = ferry_i_host_mulup,
    .bsums = ferry_i_host_bsums,
    .bscale = ferry_i_host_bscale,
    .axpby = ferry_i_host_axpby,
    .dot = ferry_i_host_dot,
    .row_mul = ferry_i_host_row_mul,
    .row_add = ferry_i_host_row_add,
    .pair_steps = ferry_i_host_pair_steps,
    .tiles_step = ferry_i_host_tiles_step,
    .tiles_model = ferry_i_host_tiles_model,
    .consensus_mul = ferry_i_host_consensus_mul,
    .neighbours = ferry_i_host_neighbours,
    .eigs = ferry_i_host_eigs,
    .eigh = ferry_i_host_eigh,
    .eigh2 = ferry_i_host_eigh2,
    .svd = ferry_i_host_svd,
    .qr = ferry_i_host_qr,
    .chol = ferry_i_host_chol,
    .chol_solve = ferry_i_host_chol_solve,
    .chol_solve_block = ferry_i_host_chol_solve_block,
    .solve = ferry_i_host_solve,
    .sylvester = ferry_i_host_sylvester,
    .gemm = ferry_i_host_gemm,
};
