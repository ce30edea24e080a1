/* Which characters act, and what stands for them. The recorder has this file too, so it has no
 * stdio; foreign_put.c prints.
 */
#include "base/text/foreign.h"

#include <string.h>

#include "base/text/utf8.h"

#include "base/poison.h"

static const struct {
    uint32_t first, last;
} acting[] = {
    {0x0000, 0x001f},   {0x007f, 0x009f},   {0x00ad, 0x00ad},   {0x034f, 0x034f}, {0x061c, 0x061c},
    {0x115f, 0x1160},   {0x17b4, 0x17b5},   {0x180b, 0x180f},   {0x200b, 0x200f}, {0x2028, 0x202e},
    {0x2060, 0x206f},   {0x3164, 0x3164},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0}, {0xfff0, 0xfffb},
    {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
};

bool foreign_acts(uint32_t code)
{
    size_t at = 0;

    while (at < sizeof acting / sizeof *acting && code > acting[at].last)
        at++;
    return at < sizeof acting / sizeof *acting && code >= acting[at].first;
}

/* Length of the printable ASCII that the text begins with: most names are nothing else. */
static size_t plain_length(const char *text, size_t bytes)
{
    size_t length = 0;

    while (length < bytes && text[length] >= ' ' && text[length] < 0x7f)
        length++;
    return length;
}

size_t foreign_harmless(const char *text, size_t bytes)
{
    size_t at = plain_length(text, bytes);

    while (at < bytes) {
        uint32_t code;
        size_t length = utf8_decode(text + at, bytes - at, &code);

        if (!length || foreign_acts(code))
            break;
        at += length;
        at += plain_length(text + at, bytes - at);
    }
    return at;
}

bool foreign_is_harmless(const char *text)
{
    size_t bytes = strlen(text);

    return foreign_harmless(text, bytes) == bytes;
}

size_t foreign_length(const char *text, size_t bytes)
{
    size_t length = utf8_length(text, bytes);

    return length ? length : 1;
}

size_t foreign_hide(char *text, size_t bytes)
{
    size_t kept = 0;

    for (size_t at = 0; at < bytes;) {
        size_t harmless = foreign_harmless(text + at, bytes - at);

        memmove(text + kept, text + at, harmless);
        at += harmless;
        kept += harmless;
        if (at == bytes)
            break;
        at += foreign_length(text + at, bytes - at);
        text[kept++] = '?';
    }
    return kept;
}
