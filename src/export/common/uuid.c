/* UUIDs of GPUs, which a trace holds as two numbers, as text. */
#include "export/common/uuid.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

#include "base/poison.h"

const char *export_uuid(uint64_t high, uint64_t low, char text[EXPORT_UUID_BYTES])
{
    if (!high && !low)
        return NULL;
    snprintf(text, EXPORT_UUID_BYTES, "%08x-%04x-%04x-%04x-%012" PRIx64, (unsigned)(high >> 32),
             (unsigned)(high >> 16 & 0xffff), (unsigned)(high & 0xffff), (unsigned)(low >> 48),
             low & 0xffffffffffff);
    return text;
}
