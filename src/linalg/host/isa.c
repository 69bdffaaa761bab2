/* Which instruction set runs (isa.h).
 *
 * Asked when a context is made. Names are also the suffixes of the compiled kernels and
 * the values of FERRY_ISA. */
#include "linalg/host/isa.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "linalg/host/kernels.h"

static const char *const names[FERRY_ISAS] = {"baseline", "avx2", "avx512"};

const char *ferry_i_isa_name(ferry_isa isa)
{
    return names[isa];
}

/* The same features as the compiler flags in CMakeLists.txt: what is compiled for
 * AVX-512 may use any of F, VL and DQ. */
bool ferry_i_isa_runs(ferry_isa isa)
{
    if (!ferry_i_kernels_of(isa)) return false;
#if defined(__x86_64__)
    if (isa == FERRY_ISA_AVX2)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (isa == FERRY_ISA_AVX512)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
               __builtin_cpu_supports("avx512dq");
#endif
    return isa == FERRY_ISA_BASELINE;
}

/* The enum ascends in width, so the last that runs is the widest. */
ferry_isa ferry_i_isa_choose(const char *asked, bool *problem)
{
    ferry_isa best = FERRY_ISA_BASELINE;

    if (problem) *problem = false;
    for (int isa = 0; isa < FERRY_ISAS; isa++)
        if (ferry_i_isa_runs((ferry_isa)isa)) best = (ferry_isa)isa;
    if (!asked || !asked[0]) return best;
    for (int isa = 0; isa < FERRY_ISAS; isa++)
        if (strcmp(asked, names[isa]) == 0 && ferry_i_isa_runs((ferry_isa)isa))
            return (ferry_isa)isa;
    if (problem) *problem = true;
    return best;
}

/* Says what was asked for, what there is, and what is used instead: a wrong name must
 * not stop a program. */
bool ferry_i_isa_problem(char *text, size_t size)
{
    const char *asked = getenv("FERRY_ISA");
    bool problem = false;
    const ferry_isa isa = ferry_i_isa_choose(asked, &problem);

    if (!problem) return false;
    (void)snprintf(text, size,
                   "FERRY_ISA=%.20s is not an instruction set that this machine runs "
                   "(baseline, avx2, avx512): %s is used",
                   asked, names[isa]);
    return true;
}
