/* Plain C: slow and obvious, the oracle that tests compare with. */
#include "linalg/linalg.h"

const ferry_engine ferry_i_engine_ref = {.name = "ref", .summary = "plain C, the oracle"};
