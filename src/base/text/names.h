/* Plain names of kernels and of a framework's operators. Nothing is allocated. Any thread. */
#ifndef MP_BASE_TEXT_NAMES_H
#define MP_BASE_TEXT_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* ---- Mangled names ----
 *
 * The function's name inside a mangled C++ name. It does not use libstdc++'s demangler, because the
 * profiled program must not be made to load libstdc++.
 *
 *     _Z6vecAddPKfS0_Pfi                vecAdd
 *     _ZN2ns4gemmILi128EEvPf            gemm, and with its scopes ns::gemm
 *     _ZN12_GLOBAL__N_13addEPf          add, (anonymous namespace)::add
 */

/* Writes the plain name without parameters and template arguments, with its scopes if wanted.
 * Writes `kernel` itself if it is not mangled or has a form that is not read here (local classes,
 * operators). At most `size` bytes with a NUL; nothing is allocated. Any thread. */
void kernel_plain_name(const char *kernel, bool scopes, char *name, size_t size);

/* ---- Demangled names ----
 *
 * The plain name inside a demangled C++ name, as people type it:
 *
 *     void ns::gemm<128, float>(float*, int)       ns::gemm, and without scopes gemm
 *     alpha(long long)                             alpha
 */

/* Writes the name without result type, parameters and template arguments to `plain`, with its
 * scopes if wanted. At most `size` bytes with a NUL. A name of another form is written as it is.
 * Any thread. */
void mp_plain_name(const char *name, bool scopes, char *plain, size_t size);

/* ---- Operators ----
 *
 * Names of a framework's operators, as it tells NVTX.
 *
 *     aten::linear, seq = 7, op_id = 12             PyTorch: aten::linear
 *     Thunk:#name=jit(f)/dot,hlo_op=fusion.3#       XLA, which JAX runs: fusion.3
 */

/* The bytes of a range's name in front of the numbers that PyTorch gives each call. */
size_t mp_operator_plain(const char *name);

/* Whether a range's name is an operator's; which part of it that is. */
bool mp_operator_of(const char *name, const char **begin, size_t *bytes);

#endif
