/* UUIDs of GPUs as text. */
#ifndef MP_EXPORT_COMMON_UUID_H
#define MP_EXPORT_COMMON_UUID_H

#include <stdint.h>

#define EXPORT_UUID_BYTES 40

/* `01234567-89ab-cdef-0123-456789abcdef`, in `text`; NULL for a UUID that is not known, all 0. */
const char *export_uuid(uint64_t high, uint64_t low, char text[EXPORT_UUID_BYTES]);

#endif
