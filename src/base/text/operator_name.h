/* Names of a framework's operators, as it tells NVTX.
 *
 *     aten::linear, seq = 7, op_id = 12             PyTorch: aten::linear
 *     Thunk:#name=jit(f)/dot,hlo_op=fusion.3#       XLA, which JAX runs: fusion.3
 */
#ifndef MP_BASE_TEXT_OPERATOR_NAME_H
#define MP_BASE_TEXT_OPERATOR_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* The bytes of a range's name in front of the numbers that PyTorch gives each call. */
size_t mp_operator_plain(const char *name);

/* Whether a range's name is an operator's; which part of it that is. */
bool mp_operator_of(const char *name, const char **begin, size_t *bytes);

#endif
