/* OpenBLAS, LAPACKE, ARPACK, OpenMP. */
#include "linalg/linalg.h"

const ferry_engine ferry_i_engine_host = {.name = "host", .summary = "OpenBLAS"};
