/* Which characters act, what stands for them, and how such text is printed. The recorder uses the
 * part without stdio.
 */
#include "base/text/foreign.h"

#include <stdlib.h>
#include <string.h>

#include "base/text/strings.h"

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

/* ---- Printing ---- */

void foreign_put(FILE *out, const char *text, size_t bytes)
{
    for (size_t at = 0; at < bytes;) {
        size_t harmless = foreign_harmless(text + at, bytes - at);

        fwrite(text + at, 1, harmless, out);
        at += harmless;
        if (at == bytes)
            break;
        fputc('?', out);
        at += foreign_length(text + at, bytes - at);
    }
}

void foreign_put_text(FILE *out, const char *text)
{
    foreign_put(out, text, strlen(text));
}

void foreign_print(FILE *out, const char *format, va_list arguments)
{
    char line[FOREIGN_LINE_BYTES];
    char *text = line;
    va_list again;

    va_copy(again, arguments);
    int length = vsnprintf(line, sizeof line, format, arguments);
    if (length >= (int)sizeof line && vasprintf(&text, format, again) < 0) {
        fputs("out of memory: ", out);
        text = line;
    }
    va_end(again);
    foreign_put_text(out, text);
    if (text != line)
        free(text);
}

/* A tab and a carriage return begin formulas too, but they act and so become `?`. */
static bool is_formula(const char *text, size_t bytes)
{
    size_t at = 0;

    while (at < bytes && text[at] == '\'')
        at++;
    return at < bytes && strchr("=+-@", text[at]) && text[at];
}

void foreign_put_csv(FILE *out, const char *text, size_t bytes)
{
    const char *end = text + bytes;

    fputc('"', out);
    if (is_formula(text, bytes))
        fputc('\'', out);
    while (text < end) {
        const char *quote = memchr(text, '"', (size_t)(end - text));
        const char *until = quote ? quote + 1 : end;

        foreign_put(out, text, (size_t)(until - text));
        if (quote)
            fputc('"', out);
        text = until;
    }
    fputc('"', out);
}

void foreign_put_csv_text(FILE *out, const char *text)
{
    foreign_put_csv(out, text ? text : "", text ? strlen(text) : 0);
}

const char *foreign_escape(uint32_t code, char escape[FOREIGN_ESCAPE_BYTES])
{
    uint32_t beyond = code - 0x10000;

    if (code < 0x10000)
        snprintf(escape, FOREIGN_ESCAPE_BYTES, "\\u%04x", (unsigned)code & 0xffff);
    else
        snprintf(escape, FOREIGN_ESCAPE_BYTES, "\\u%04x\\u%04x", 0xd800 + (beyond >> 10 & 0x3ff),
                 0xdc00 + (beyond & 0x3ff));
    return escape;
}
