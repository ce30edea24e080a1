/* Reads a share in percent, with or without its sign, as MINIPROF_BASELINE takes it. */
#include "base/settings/share.h"

#include <stdio.h>
#include <string.h>

#include "base/text/strings.h"

#include "base/poison.h"

uint32_t mp_share_percent(const char *text)
{
    size_t bytes = strlen(text);
    char digits[4];
    uint64_t percent;

    if (bytes && text[bytes - 1] == '%')
        bytes--;
    if (!bytes || bytes >= sizeof(digits))
        return 0;
    memcpy(digits, text, bytes);
    digits[bytes] = '\0';
    return mp_text_to_u64(digits, MP_SHARE_MIN, MP_SHARE_MAX, &percent) ? (uint32_t)percent : 0;
}

bool mp_share_check(const char *text)
{
    return mp_share_percent(text) != 0;
}
