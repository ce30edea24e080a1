/* The function's name inside a mangled C++ name. It does not use libstdc++'s demangler, because the
 * profiled program must not be made to load libstdc++.
 *
 *     _Z6vecAddPKfS0_Pfi                vecAdd
 *     _ZN2ns4gemmILi128EEvPf            gemm, and with its scopes ns::gemm
 *     _ZN12_GLOBAL__N_13addEPf          add, (anonymous namespace)::add
 */
#ifndef MP_BASE_TEXT_KERNEL_NAME_H
#define MP_BASE_TEXT_KERNEL_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* Writes the plain name without parameters and template arguments, with its scopes if wanted.
 * Writes `kernel` itself if it is not mangled or has a form that is not read here (local classes,
 * operators). At most `size` bytes with a NUL; nothing is allocated. Any thread. */
void kernel_plain_name(const char *kernel, bool scopes, char *name, size_t size);

#endif
