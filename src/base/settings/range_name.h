/* NVTX ranges as settings name them, NAME[@DOMAIN], and the N of MINIPROF_CAPTURE_END=repeat:N. */
#ifndef MP_BASE_SETTINGS_RANGE_NAME_H
#define MP_BASE_SETTINGS_RANGE_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether the text names a range: with a name before the last @, if there is one. */
bool mp_range_name_check(const char *text);

/* The bytes of the name, and where the domain's begins. Without an @, or with nothing after it, the
 * default domain is meant, and the domain is "". So a name with an @ in it gets one at its end. */
size_t mp_range_name_split(const char *text, const char **domain);

/* A number of ranges, from 1; 0 when it is none. */
uint32_t mp_repeat_number(const char *text);
bool mp_repeat_check(const char *text);

#endif
