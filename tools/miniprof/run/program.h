/* The file of a program that is about to be run. */
#ifndef MP_TOOL_RUN_PROGRAM_H
#define MP_TOOL_RUN_PROGRAM_H

#include <limits.h>
#include <stdbool.h>

/* The file to run for a program's name as nvprof takes it: with a slash as it is, else found in
 * PATH or in the current folder. False with errno when there is none. */
bool program_find(const char *name, char path[PATH_MAX]);

/* Whether it is linked to a shared library whose name begins so ("libasan.so"). False for scripts,
 * for what is no 64-bit ELF file of this byte order, and for what cannot be read. */
bool program_needs(const char *path, const char *library);

#endif
