/* Splits NAME@DOMAIN, and reads the N of repeat:N. The last @ divides, because names of NVTX
 * ranges may contain one.
 */
#include "base/settings/range_name.h"

#include <string.h>

#include "base/text/strings.h"

#include "base/poison.h"

#define MAX_RANGES 4000000000u

size_t mp_range_name_split(const char *text, const char **domain)
{
    const char *at = strrchr(text, '@');

    *domain = at ? at + 1 : "";
    return at ? (size_t)(at - text) : strlen(text);
}

bool mp_range_name_check(const char *text)
{
    const char *domain;

    return mp_range_name_split(text, &domain) > 0;
}

uint32_t mp_repeat_number(const char *text)
{
    uint64_t number;

    return mp_text_to_u64(text, 1, MAX_RANGES, &number) ? (uint32_t)number : 0;
}

bool mp_repeat_check(const char *text)
{
    return mp_repeat_number(text) != 0;
}
