/* The table of one instruction set's kernels. */
#include "linalg/host/kernels/kernel.h"

#define ENTRY(name, type) .name = KERNEL(name),
const ferry_kernels KERNEL(kernels) = {FERRY_KERNELS(ENTRY)};
