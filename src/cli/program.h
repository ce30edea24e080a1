/* The file of a program to be run, and a temporary folder for its traces. */
#ifndef MP_CLI_PROGRAM_H
#define MP_CLI_PROGRAM_H

#include <limits.h>
#include <stdbool.h>

#include "base/status.h"

/* ---- Programs ---- */

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

/* ---- A folder for their traces ---- */

#define SCRATCH_BYTES 4096 /* of its path */

/* Makes a folder of a new name in TMPDIR, else in /tmp. Its path is used in MINIPROF_OUTPUT, which
 * is a pattern, so a percent sign in it is refused. After MP_ERR_IO, which says why, the path is
 * empty. The caller removes the folder. */
enum mp_status scratch_make(char folder[SCRATCH_BYTES], struct mp_error *error);

#endif
