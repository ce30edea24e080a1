/* Which items of two sequences correspond to each other, as in a diff of two files: as many pairs
 * of equal items as possible, in the order of both sequences.
 *
 *     left    a b c   d e          pairs  a-a  b-b  c-  -x  d-d  e-e
 *     right   a b   x d e
 *
 * Items are numbers. Source: E. Myers, An O(ND) Difference Algorithm and Its Variations (1986), in
 * linear space.
 */
#ifndef MP_PROFILE_COMMON_ALIGN_H
#define MP_PROFILE_COMMON_ALIGN_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define ALIGN_NONE     UINT32_MAX
#define ALIGN_MAX      (UINT32_MAX / 4) /* items of both sequences together */
#define ALIGN_PATIENCE 20000            /* differences looked for in one step */

struct align_pair {
    uint32_t left;  /* position, or ALIGN_NONE: added */
    uint32_t right; /* position, or ALIGN_NONE: removed */
};

/* All items of both sequences, each once, in order; *pairs is the caller's to free. If two
 * stretches have more than ALIGN_PATIENCE differences, nothing in them is paired. Time: (items) x
 * (differences). MP_ERR_MEMORY, MP_ERR_LIMIT: more than ALIGN_MAX items. */
enum mp_status align_sequences(const uint32_t *left, size_t left_count, const uint32_t *right,
                               size_t right_count, struct align_pair **pairs, size_t *count);

#endif
