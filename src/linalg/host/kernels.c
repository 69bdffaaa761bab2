/* The tables of kernels (kernels.h). */
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

const ferry_kernels *ferry_i_kernels(ferry_ctx *ctx)
{
    ferry_i_check_machine(ctx);
    return tables[ctx->isa];
}
