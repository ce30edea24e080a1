/* Measures, clips and copies the messages of NVTX calls. On Linux wchar_t holds one code point.
 * What is no code point becomes U+FFFD, as Unicode asks (The Unicode Standard, section 3.9, U+FFFD
 * substitution).
 */
#include "record/nvtx/text.h"

#include "base/poison.h"

_Static_assert(sizeof(wchar_t) == 4, "wide characters are code points");

static uint32_t code_point(wchar_t character)
{
    const uint32_t code = (uint32_t)character;
    return code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? 0xfffd : code;
}

static uint32_t code_bytes(uint32_t code)
{
    return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
}

static char *code_put(char *to, uint32_t code)
{
    static const uint8_t lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    const uint32_t bytes = code_bytes(code);

    for (uint32_t i = bytes - 1; i > 0; i--) {
        to[i] = (char)(0x80 | (code & 0x3f));
        code >>= 6;
    }
    to[0] = (char)(lead[bytes] | code);
    return to + bytes;
}

uint32_t nvtx_text_clip(const char *string, uint32_t limit)
{
    /* A character has at most three bytes after its first. If more follow, the text is not UTF-8.
     */
    for (int i = 0; i < 3 && ((unsigned char)string[limit] & 0xc0) == 0x80; i++)
        limit--;
    return limit;
}

struct nvtx_text nvtx_text_wide(const wchar_t *string, uint32_t limit)
{
    struct nvtx_text text = {.form = NVTX_NO_TEXT};

    if (!string)
        return text;
    text.form = NVTX_WIDE;
    text.at.wide = string;
    for (const wchar_t *character = string; *character; character++) {
        const uint32_t bytes = code_bytes(code_point(*character));
        if (bytes > limit - text.bytes)
            break;
        text.bytes += bytes;
    }
    return text;
}

struct nvtx_text nvtx_text_registered(const struct nvtx_string *string)
{
    return (struct nvtx_text){.form = string ? NVTX_REGISTERED : NVTX_NO_TEXT,
                              .at.registered = string};
}

void nvtx_text_copy_wide(char *to, struct nvtx_text text)
{
    char *const end = to + text.bytes;

    for (const wchar_t *character = text.at.wide; to < end; character++)
        to = code_put(to, code_point(*character));
    *end = '\0';
}
