/* Which frames are one line to people. A native frame has an id for each address, so a line that
 * makes several calls has several frames.
 */
#ifndef MP_PROFILE_STACKS_ALIKE_H
#define MP_PROFILE_STACKS_ALIKE_H

#include "profile/stacks/call_stacks.h"

/* Numbers by what frames have in common. All zero: none yet. */
struct alike {
    struct mp_intern texts, keys;
};

/* The number, from 1, of frames of this kind, function, file and line. What does not matter is NULL
 * or 0. MP_ERR_MEMORY. */
enum mp_status alike_number(struct alike *alike, uint32_t kind, const struct stack_code *code,
                            uint32_t line, uint32_t *number);
void alike_free(struct alike *alike);

/* For each frame the first one that is the same line: an array of stacks->frames.count + 1 ids,
 * which the caller frees. NULL: out of memory. */
uint32_t *alike_lines(const struct call_stacks *stacks);

#endif
