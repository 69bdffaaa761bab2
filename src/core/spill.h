/* Large arrays in files: what memory.c needs of spill.c. */
#ifndef FERRY_CORE_SPILL_H
#define FERRY_CORE_SPILL_H

#include "core/core.h"

/* Whether a new array of so many bytes is one for a file, `less` bytes of the heap being given up for it. */
bool ferry_i_spill_due(size_t bytes, size_t less);
/* From here on every large array is one for a file, if there is space for it; or no longer. As often off as on. */
void ferry_i_spill_all(bool all);
/* Whether one that finds no space there may be taken from the heap. */
bool ferry_i_spill_forgives(size_t bytes, size_t less);
/* Zeroed pages of a file; NULL: there is no space, as ferry_i_spill_why() then says. */
void *ferry_i_spill_new(size_t bytes);
/* How many bytes p has there; 0: it is not one of them. */
size_t ferry_i_spill_size(const void *p);
/* Give it back; false: it is not one of them. */
bool ferry_i_spill_free(void *p);
/* p, of malloc, joins (1) or leaves (-1) the heap. */
void ferry_i_spill_count(void *p, int sign);
/* Why this thread last got NULL above; "": it did not. */
const char *ferry_i_spill_why(void);

#endif
