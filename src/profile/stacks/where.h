/* Where in the program a stack says that it was, and which frames are the same line of it. */
#ifndef MP_PROFILE_STACKS_WHERE_H
#define MP_PROFILE_STACKS_WHERE_H

#include "profile/stacks/call_stacks.h"

/* The innermost Python frame outside of installed packages and of Python's own library, as the
 * stack that ends with it. Without one: the innermost Python frame. Of a stack without Python: the
 * innermost frame of the program's own file, since shared libraries call for it; else the stack. */
uint32_t call_stacks_own(const struct call_stacks *stacks, uint32_t stack);

/* The innermost Python frame of an installed package, inside of call_stacks_own. PyTorch does not
 * count: most work is launched there, whatever it is for. 0: none. */
uint32_t call_stacks_package(const struct call_stacks *stacks, uint32_t stack);

/* Which function a thread was in between two calls: the innermost that both came from, as the
 * earlier stack up to it. 0: none.
 *
 *     earlier   main:12 > train:20 > forward:7
 *     later     main:12 > train:21 > backward:9
 *     between   main:12 > train:20                  train went on from line 20 to line 21
 */
uint32_t call_stacks_between(const struct call_stacks *stacks, uint32_t earlier, uint32_t later);

/* ---- Frames that are one line to people ----
 *
 * A native frame has an id for each address, so a line that makes several calls has several frames.
 */

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
