/* matio, loaded when the first MAT file is read (mat.c): it brings HDF5, and Debian's HDF5 brings libcurl with
 * forty libraries more, 8 ms that every start of a program would pay for. */
#ifndef FERRY_MATIO_H
#define FERRY_MATIO_H

#include <matio.h>

#include "core/core.h"

/* Pointers named after matio's functions, without their Mat_; set once, by the functions below. */
#define FERRY_MATIO(F)                                                                     \
    F(Open)                                                                                \
    F(Close)                                                                               \
    F(VarReadInfo)                                                                         \
    F(VarReadNextInfo) F(VarRead) F(VarFree) F(VarCalloc) F(SizeOf) F(GetLibraryVersion)
typedef struct ferry_matio {
#define FERRY_POINTER(name) __typeof__(Mat_##name) *name;
    FERRY_MATIO(FERRY_POINTER)
#undef FERRY_POINTER
    int (*hdf5_version)(unsigned *major, unsigned *minor, unsigned *patch);
} ferry_matio;

extern ferry_matio ferry_i_matio;
bool ferry_i_matio_load(void); /* false: it is not there */
/* FERRY_ENEEDS, with a sentence about the file, when it is not there. */
ferry_status ferry_i_matio_ready(ferry_ctx *ctx, const char *path);

#endif
