/* The tables of kernels (kernels.h).
 *
 * Without x86 kernels the other two places of the list are NULL, and only the baseline
 * runs. */
#include "linalg/host/kernels.h"

#include "linalg/host/host.h"

/* Each made by kernels/table.c, compiled for its instruction set. */
extern const ferry_kernels ferry_i_kernels_baseline;
#if defined(FERRY_X86_KERNELS)
extern const ferry_kernels ferry_i_kernels_avx2, ferry_i_kernels_avx512;
static const ferry_kernels *const tables[FERRY_ISAS] = {
    &ferry_i_kernels_baseline, &ferry_i_kernels_avx2, &ferry_i_kernels_avx512};
#else
static const ferry_kernels *const tables[FERRY_ISAS] = {&ferry_i_kernels_baseline};
#endif

const ferry_kernels *ferry_i_kernels_of(ferry_isa isa)
{
    return tables[isa];
}

/* Every operation that has a kernel passes here, so this is where a context's log hears
 * once about a slow BLAS or a wrong FERRY_ISA. */
const ferry_kernels *ferry_i_kernels(ferry_ctx *ctx)
{
    ferry_i_check_machine(ctx);
    return tables[ctx->isa];
}
