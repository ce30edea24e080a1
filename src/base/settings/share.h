/* MINIPROF_BASELINE: which share of the steps runs without being recorded. */
#ifndef MP_BASE_SETTINGS_SHARE_H
#define MP_BASE_SETTINGS_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#define MP_SHARE_MIN 1u
#define MP_SHARE_MAX 75u

/* The percent of "25%" or "25"; 0 when it is none from 1 to 75. */
uint32_t mp_share_percent(const char *text);
bool mp_share_check(const char *text);

#endif
