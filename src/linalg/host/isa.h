/* Instruction sets: what the kernels are compiled for, what this CPU runs.
 *
 * Every file of kernels/ is compiled once for each instruction set below (CMakeLists.txt;
 * other CPUs than x86-64 have the baseline alone, which is portable vector code). A context
 * takes the widest that its CPU has when it is made, or the one that the environment
 * variable FERRY_ISA names, so that one machine can test and measure all it has. */
#ifndef FERRY_LINALG_ISA_H
#define FERRY_LINALG_ISA_H

#include "core/core.h"

typedef enum ferry_isa {
    /* Ascending in width: choosing takes the last that runs. */
    FERRY_ISA_BASELINE, /* 16-byte vectors: SSE2, NEON */
    FERRY_ISA_AVX2,     /* 32, with fused multiply-add */
    FERRY_ISA_AVX512,   /* 64, with F, VL and DQ */
    FERRY_ISAS
} ferry_isa;

const char *ferry_i_isa_name(ferry_isa isa); /* "baseline", "avx2", "avx512" */
/* Whether kernels for it are built in and this CPU can run them. */
bool ferry_i_isa_runs(ferry_isa isa);
/* The widest that runs when `asked` is NULL or empty, else the one of that name. When there
 * is no such name or it does not run here: the widest, and *problem (may be NULL) <- true. */
ferry_isa ferry_i_isa_choose(const char *asked, bool *problem);
/* What to say when FERRY_ISA asks for what cannot be had; false: nothing is wrong. */
bool ferry_i_isa_problem(char *text, size_t size);

#endif
