/* The plain name inside a demangled C++ name, as people type it:
 *
 *     void ns::gemm<128, float>(float*, int)       ns::gemm, and without scopes gemm
 *     alpha(long long)                             alpha
 */
#ifndef MP_BASE_TEXT_PLAIN_NAME_H
#define MP_BASE_TEXT_PLAIN_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* Writes the name without result type, parameters and template arguments to `plain`, with its
 * scopes if wanted. At most `size` bytes with a NUL. A name of another form is written as it is.
 * Any thread. */
void mp_plain_name(const char *name, bool scopes, char *plain, size_t size);

#endif
