/* Writes the one HTML file. Data of a trace becomes escaped JSON or base64 and nothing else, so
 * that no name in a trace can become markup or script. A page is for people, so its names are as
 * foreign_put shows them.
 */
#include "page/page.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/storage.h"
#include "base/status.h"
#include "base/text/foreign.h"

#include "base/poison.h"

/* 10^15 < 2^53: whole numbers with this many digits are exact in a double. */
#define MAX_DIGITS 15

#define ESCAPE_LENGTH 6 /* of \uXXXX */

static const char hexadecimal[] = "0123456789abcdef";

static enum mp_status put_asset(FILE *out, const unsigned char *frame, size_t frame_bytes,
                                struct mp_error *error)
{
    size_t bytes;
    char *content = mp_frame_unpack(frame, frame_bytes, &bytes);

    if (!content)
        return mp_error_set(error, MP_ERR_MEMORY, "no memory for the page's own parts");
    fwrite(content, 1, bytes, out);
    free(content);
    return MP_OK;
}

enum mp_status html_page_begin(struct html_page *page, FILE *out, struct mp_error *error)
{
    page->out = out;
    return put_asset(out, html_assets_head, html_assets_head_bytes, error);
}

enum mp_status html_page_end(struct html_page *page, struct mp_error *error)
{
    return put_asset(page->out, html_assets_tail, html_assets_tail_bytes, error);
}

/* ---- JSON ---- */

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

/* A character outside of strings, or of one that is plain. */
static void put_byte(FILE *out, char byte)
{
    if (byte == '<' || byte == '>' || byte == '&')
        fprintf(out, "\\u%04x", (unsigned char)byte);
    else
        fputc(byte, out);
}

/* The number in `\uXXXX`; false: this is something else. */
static bool read_escape(const char *text, size_t bytes, uint32_t *code)
{
    *code = 0;
    if (bytes < ESCAPE_LENGTH || text[0] != '\\' || text[1] != 'u')
        return false;
    for (size_t i = 2; i < ESCAPE_LENGTH; i++) {
        const char *digit = text[i] ? strchr(hexadecimal, tolower((unsigned char)text[i])) : NULL;

        if (!digit)
            return false;
        *code = *code << 4 | (uint32_t)(digit - hexadecimal);
    }
    return true;
}

/* Length of the escapes of the character at `text`, and its code; 0: it has none. */
static size_t escaped_length(const char *text, size_t bytes, uint32_t *code)
{
    uint32_t low;

    if (!read_escape(text, bytes, code))
        return 0;
    if (*code >> 10 != 0xd800 >> 10 ||
        !read_escape(text + ESCAPE_LENGTH, bytes - ESCAPE_LENGTH, &low) ||
        low >> 10 != 0xdc00 >> 10)
        return ESCAPE_LENGTH;
    *code = 0x10000 + ((*code & 0x3ff) << 10) + (low & 0x3ff);
    return (size_t)2 * ESCAPE_LENGTH;
}

/* A character of a string, `?` if it acts on who looks at the page; returns its length. */
static size_t put_in_string(FILE *out, const char *text, size_t bytes)
{
    uint32_t code;
    size_t length = escaped_length(text, bytes, &code);
    bool acts = length && foreign_acts(code);

    if (!length && *text == '\\' && bytes > 1) {
        fputc('\\', out);
        put_byte(out, text[1]);
        return 2;
    }
    if (!length) {
        length = foreign_length(text, bytes);
        acts = foreign_harmless(text, length) < length;
    }
    if (acts)
        fputc('?', out);
    for (size_t i = 0; i < length && !acts; i++)
        put_byte(out, text[i]);
    return length;
}

/* A string with its quotes; returns its length. */
static size_t put_string(FILE *out, const char *text, size_t bytes)
{
    size_t at = 1;

    fputc('"', out);
    while (at < bytes && text[at] != '"')
        at += put_in_string(out, text + at, bytes - at);
    fputc('"', out);
    return at < bytes ? at + 1 : at;
}

/* A whole number, as a string if it is too long; returns its length. */
static size_t put_digits(FILE *out, const char *text, size_t bytes)
{
    size_t length = 0;
    bool quoted;

    while (length < bytes && is_digit(text[length]))
        length++;
    quoted =
        length > MAX_DIGITS && (length == bytes || !memchr(".eE", text[length], strlen(".eE")));
    fprintf(out, quoted ? "\"%.*s\"" : "%.*s", (int)length, text);
    return length;
}

/* A number with a sign, fraction or exponent, which stays as it is; returns its length. */
static size_t put_number(FILE *out, const char *text, size_t bytes)
{
    size_t length = 0;

    if (is_digit(*text)) {
        size_t digits = put_digits(out, text, bytes);

        if (digits == bytes || !memchr(".eE", text[digits], strlen(".eE")))
            return digits;
        length = digits;
        text += digits;
        bytes -= digits;
    }
    for (size_t i = 0;
         i < bytes && (is_digit(text[i]) || memchr("+-.eE", text[i], strlen("+-.eE")));
         i++, length++)
        fputc(text[i], out);
    return length;
}

void html_put_json(FILE *out, const char *text, size_t bytes)
{
    size_t at = 0;

    while (at < bytes) {
        if (text[at] == '"')
            at += put_string(out, text + at, bytes - at);
        else if (is_digit(text[at]) || text[at] == '-')
            at += put_number(out, text + at, bytes - at);
        else if (text[at] == ' ' && at && text[at - 1] == ' ')
            at++; /* of the indentation */
        else
            put_byte(out, text[at++]);
    }
}

void html_page_json(struct html_page *page, const char *id, const char *title, const char *text,
                    size_t bytes)
{
    fprintf(page->out, "<script type=\"application/json\" id=\"doc-%s\" data-title=\"%s\">", id,
            title);
    html_put_json(page->out, text, bytes);
    fputs("</script>\n", page->out);
}

/* ---- Bytes ---- */

void html_put_base64(FILE *out, const uint8_t *data, size_t size)
{
    static const char base64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (size_t at = 0; at < size; at += 3) {
        size_t count = size - at < 3 ? size - at : 3;
        uint32_t bits = 0;

        for (size_t i = 0; i < 3; i++)
            bits = bits << 8 | (i < count ? data[at + i] : 0u);
        fputc(base64[bits >> 18], out);
        fputc(base64[bits >> 12 & 63], out);
        fputc(count > 1 ? base64[bits >> 6 & 63] : '=', out);
        fputc(count > 2 ? base64[bits & 63] : '=', out);
    }
}

enum mp_status html_page_print(struct html_page *page, const char *prefix, const char *id,
                               const char *title, html_print *print, void *context)
{
    char full_id[HTML_ID_BYTES];
    char *text = NULL;
    size_t bytes = 0;
    FILE *memory = memory_file_open(&text, &bytes);

    if (!memory)
        return MP_ERR_MEMORY;
    enum mp_status status = print(memory, context);
    if (fclose(memory) != 0) /* its errors stay until then */
        status = MP_ERR_MEMORY;
    snprintf(full_id, sizeof full_id, "%s%s", prefix, id);
    if (!status)
        html_page_json(page, full_id, title, text, bytes);
    free(text);
    return status;
}

void html_page_blob(struct html_page *page, const char *id, const uint8_t *data, size_t size)
{
    fprintf(page->out, "<script type=\"text/plain\" id=\"blob-%s\">", id);
    html_put_base64(page->out, data, size);
    fputs("</script>\n", page->out);
}
