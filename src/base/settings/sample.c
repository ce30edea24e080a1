/* Reads a list of counters with a rate, "default@1kHz", as MINIPROF_SAMPLE takes it. */
#include "base/settings/sample.h"

#include <string.h>

#include "base/text/strings.h"

#include "base/poison.h"

/* "10kHz", "0.5kHz", "100Hz": a number with up to three digits behind a point, in whole hertz. */
static bool parse_rate(const char *text, uint32_t *hertz)
{
    size_t bytes = strlen(text);
    uint64_t unit = 1, scale = 1000, whole, fraction = 0;
    char digits[16];
    char *point;

    if (bytes < 3 || bytes >= sizeof(digits) || strcmp(text + bytes - 2, "Hz") != 0)
        return false;
    bytes -= 2;
    if (text[bytes - 1] == 'k') {
        unit = 1000;
        bytes--;
    }
    memcpy(digits, text, bytes);
    digits[bytes] = '\0';
    point = strchr(digits, '.');
    if (point) {
        size_t behind = strlen(point + 1);

        *point = '\0';
        if (!behind || behind > 3 || !mp_text_to_u64(point + 1, 0, 999, &fraction))
            return false;
        while (behind--)
            scale /= 10;
    }
    if (!mp_text_to_u64(digits, 0, MP_SAMPLE_MAX_HZ, &whole))
        return false;
    whole = whole * unit + fraction * (point ? scale : 0) * unit / 1000;
    *hertz = (uint32_t)whole;
    return whole >= MP_SAMPLE_MIN_HZ && whole <= MP_SAMPLE_MAX_HZ;
}

bool mp_sample_parse(const char *text, struct mp_sample *sample)
{
    const char *at = strrchr(text, '@');
    size_t bytes = at ? (size_t)(at - text) : strlen(text);

    sample->hertz = MP_SAMPLE_PRESET_HZ;
    if (bytes == 0 || bytes >= sizeof(sample->names) || strspn(text, ", ") >= bytes)
        return false;
    memcpy(sample->names, text, bytes);
    sample->names[bytes] = '\0';
    return !at || parse_rate(at + 1, &sample->hertz);
}

bool mp_sample_check(const char *text)
{
    struct mp_sample sample;

    return mp_sample_parse(text, &sample);
}
