/* nvprof's names with placeholders, filled in for a process other than this one.
 *
 *     %p %h %q{NAME} %%   as in base/io.h
 *     %i                  number of a context or stream: only in their names
 */
#ifndef MP_NVPROF_PATTERN_H
#define MP_NVPROF_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/* Whether the pattern is well formed, whatever the environment holds: MP_OK or MP_ERR_ARGUMENT.
 * `naming`: %i is allowed. */
enum mp_status nvprof_pattern_check(const char *pattern, bool naming, struct mp_error *error);

/* The first environment variable of a well-formed pattern that is not set, into `name`; false when
 * there is none. */
bool nvprof_pattern_missing(const char *pattern, char *name, size_t size);

/* Whether the pattern has a %p. */
bool nvprof_pattern_has_pid(const char *pattern);

/* Fills in the placeholders, %p with `pid`. With `naming`, %i and %% stay as they are, and percent
 * signs in inserted texts are doubled, so that the result is a pattern again. MP_ERR_ARGUMENT,
 * MP_ERR_LIMIT when `size` is too small. */
enum mp_status nvprof_pattern_expand(const char *pattern, const char *pid, bool naming,
                                     char *buffer, size_t size, struct mp_error *error);

#endif
