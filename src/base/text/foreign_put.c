/* Prints foreign text: as it is, but for the characters that act. */
#include <stdlib.h>
#include <string.h>

#include "base/text/foreign.h"

#include "base/poison.h"

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
    int length;

    va_copy(again, arguments);
    length = vsnprintf(line, sizeof line, format, arguments);
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
