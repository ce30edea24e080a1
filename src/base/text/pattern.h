/* File names with nvprof's placeholders:
 *
 *     %p        process id
 *     %h        host name
 *     %q{NAME}  environment variable NAME
 *     %r        rank of the process as the usual launchers set it; 0 without a launcher
 *     %%        a percent sign
 *
 * Anything else behind a % is an error.
 */
#ifndef MP_BASE_TEXT_PATTERN_H
#define MP_BASE_TEXT_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/* Whether `pattern` is well formed, whatever the environment holds: MP_OK or MP_ERR_ARGUMENT. */
enum mp_status mp_pattern_check(const char *pattern, struct mp_error *error);

/* Whether `pattern`, which is well formed, has a %p. */
bool mp_pattern_has_pid(const char *pattern);

/* Writes `pattern` with its placeholders filled in to `buffer`, NUL-terminated. MP_ERR_ARGUMENT for
 * a malformed pattern or a variable that is not set, MP_ERR_LIMIT when `size` is too small;
 * `buffer` then holds an empty string. Reads the environment with secure_getenv. */
enum mp_status mp_pattern_expand(const char *pattern, char *buffer, size_t size,
                                 struct mp_error *error);

/* If a trace's name is taken, the trace gets the first free number from 1 to this one; after exec,
 * which keeps the process id, from 2. */
#define MP_PATTERN_LAST_NUMBER 9999u

/* Writes `path` with a number to `buffer`: "a.mpt" becomes "a.2.mpt", any other "a" becomes "a.2".
 * False when `size` is too small. */
bool mp_pattern_number(const char *path, unsigned number, char *buffer, size_t size);

#endif
