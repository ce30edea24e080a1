/* Where in the program a stack says that it was. */
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

#endif
