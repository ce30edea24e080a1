/* nvprof's --devices: `all` or ordinals, `0,2`. */
#ifndef MP_BASE_SETTINGS_DEVICE_LIST_H
#define MP_BASE_SETTINGS_DEVICE_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

#define DEVICE_LIST_MAX 64 /* ordinals stay below it */

struct device_list {
    uint64_t chosen; /* bit n: device n */
};

/* Reads `text`; empty, NULL and `all` choose every device. MP_ERR_ARGUMENT with one line. */
enum mp_status device_list_parse(const char *text, struct device_list *list,
                                 struct mp_error *error);

bool device_list_has(const struct device_list *list, uint64_t device);

#endif
