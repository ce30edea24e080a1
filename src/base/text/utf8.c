/* Finds the characters of text that comes from the profiled program. Each byte that is no UTF-8
 * counts as one character, so that columns stay in line, and is replaced by one.
 */
#include "base/text/utf8.h"

#include <string.h>

#include "base/poison.h"

struct utf8_form {
    uint8_t mask; /* of the first byte */
    uint8_t bits; /* its value under the mask */
    uint32_t min; /* code point that needs this form */
};

static const struct utf8_form forms[] = {
    {0x80, 0x00, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};

static bool is_character(uint32_t code, uint32_t min)
{
    return code >= min && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
}

size_t utf8_decode(const char *text, size_t bytes, uint32_t *result)
{
    uint8_t first = (uint8_t)text[0];
    size_t length = 1;

    *result = first;
    if (first < 0x80)
        return 1; /* nearly all */
    while (length <= 4 && (first & forms[length - 1].mask) != forms[length - 1].bits)
        length++;
    if (length > 4 || length > bytes)
        return 0;
    uint32_t code = first & (uint8_t)~forms[length - 1].mask;
    for (size_t i = 1; i < length; i++) {
        if (((uint8_t)text[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | ((uint8_t)text[i] & 0x3f);
    }
    *result = code;
    return is_character(code, forms[length - 1].min) ? length : 0;
}

size_t utf8_length(const char *text, size_t bytes)
{
    uint32_t code;

    return utf8_decode(text, bytes, &code);
}

size_t utf8_count(const char *text, size_t bytes)
{
    size_t count = 0;

    for (size_t at = 0; at < bytes; count++) {
        size_t length = utf8_length(text + at, bytes - at);
        at += length ? length : 1;
    }
    return count;
}

size_t utf8_bytes(const char *text, size_t bytes, size_t characters)
{
    size_t at = 0;

    for (; characters && at < bytes; characters--) {
        size_t length = utf8_length(text + at, bytes - at);

        at += length ? length : 1;
    }
    return at;
}

/* Bytes of ASCII that the text begins with, or a few less: most names are nothing else. */
static size_t ascii_bytes(const char *text, size_t bytes)
{
    size_t at = 0;
    uint64_t eight;

    for (; bytes - at >= sizeof eight; at += sizeof eight) {
        memcpy(&eight, text + at, sizeof eight);
        if (eight & UINT64_C(0x8080808080808080))
            break;
    }
    return at;
}

/* Bytes of the characters that the text begins with. */
static size_t valid_bytes(const char *text, size_t bytes)
{
    size_t at = ascii_bytes(text, bytes);

    while (at < bytes) {
        size_t length = utf8_length(text + at, bytes - at);

        if (!length)
            break;
        at += length;
    }
    return at;
}

bool utf8_is_valid(const char *text, size_t bytes)
{
    return valid_bytes(text, bytes) == bytes;
}

enum mp_status utf8_append_valid(struct mp_buffer *valid, const char *text, size_t bytes)
{
    for (size_t at = 0; at < bytes; at++) {
        size_t length = valid_bytes(text + at, bytes - at);

        mp_buffer_append(valid, text + at, length);
        at += length;
        if (at < bytes)
            mp_buffer_append(valid, "\xef\xbf\xbd", 3);
    }
    return valid->status;
}
