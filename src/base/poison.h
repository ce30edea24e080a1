/* Names that this code does not use. Include it last in every .c file: system headers may mention
 * them.
 *
 * Unbounded writes (sprintf, strcpy, strcat, stpcpy, gets), no error reporting (atoi and friends),
 * hidden static state (strtok), unbounded stack (alloca), truncation without a terminator
 * (strncpy), and output that is lost without an error where memory is out (open_memstream:
 * memory_file_open).
 */
#ifndef MP_BASE_POISON_H
#define MP_BASE_POISON_H

#undef alloca
#undef strcpy
#undef strcat
#undef strncpy
#undef strncat
#undef stpcpy
#undef sprintf
#undef vsprintf

#pragma GCC poison sprintf vsprintf strcpy strcat stpcpy strncpy strncat gets
#pragma GCC poison strtok atoi atol atoll atof alloca open_memstream

#endif
