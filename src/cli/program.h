/* The file of a program to be run. */
#ifndef MP_CLI_PROGRAM_H
#define MP_CLI_PROGRAM_H

#include <limits.h>
#include <stdbool.h>

/* Finds the file for a program's name as nvprof does. A name with a slash is taken as it is; any
 * other name is searched in PATH, then in the current folder. Returns false with errno if there is
 * none. */
bool program_find(const char *name, char path[PATH_MAX]);

/* Whether the file is linked to a shared library whose name begins with `library` ("libasan.so").
 * False for scripts, for files that are no 64-bit ELF of this byte order, and for unreadable files.
 */
bool program_needs(const char *path, const char *library);

/* The loader that the file names (its ELF interpreter), which comes with a C library. False for
 * static programs, and where program_needs says false. */
bool program_interpreter(const char *path, char interpreter[PATH_MAX]);

#endif
