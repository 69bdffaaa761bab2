/* What the controls of codebook transfer put into a codebook.
 *
 * A codebook_control is called for each codebook after it is made and may change its
 * numbers in place, not its size: mode, the target's ratings (range), the codebook's
 * number. */
#ifndef FERRY_CONTROL_CODEBOOKS_H
#define FERRY_CONTROL_CODEBOOKS_H

#include "methods/shared/codebook.h"

/* The codebook's own numbers in a random order: right values in wrong places. */
codebook_control ferry_i_codebook_shuffle;
/* Random numbers: of the target's range (paper), or normal with the deviation that the
 * codebook had (ferry). */
codebook_control ferry_i_codebook_random;
/* lo + range (0.625 + (q_c + q_d) / 4), q from -1.2 to 1.2: 3.5 + q_c + q_d on a range of 1
 * to 5. A bias model that has seen no source at all. */
codebook_control ferry_i_codebook_grid;

#endif
