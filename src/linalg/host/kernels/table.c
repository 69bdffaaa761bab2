/* The table of one instruction set's kernels.
 * Compiled once for each instruction set, like the kernels, whose names it fills in. */
#include "linalg/host/kernels/kernel.h"

#define ENTRY(name, type) .name = KERNEL(name),
const ferry_kernels KERNEL(kernels) = {FERRY_KERNELS(ENTRY)};
