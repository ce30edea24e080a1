/* NVTX ranges as settings name them, NAME[@DOMAIN], and the N of MINIPROF_CAPTURE_END=repeat:N. */
#ifndef MP_BASE_SETTINGS_RANGE_NAME_H
#define MP_BASE_SETTINGS_RANGE_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether the text names a range: if it has an @, there must be a name before the last one. */
bool mp_range_name_check(const char *text);

/* The length of the name in bytes, and where the domain begins. Without an @, or with nothing after
 * it, the domain is "", which means the default domain. So a name that contains an @ is written
 * with another @ at its end. */
size_t mp_range_name_split(const char *text, const char **domain);

/* A number of ranges, from 1; 0 when it is none. */
uint32_t mp_repeat_number(const char *text);
bool mp_repeat_check(const char *text);

#endif
