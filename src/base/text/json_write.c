/* Writes JSON to a stream. A small state machine knows where a comma or a line break is due, so
 * that callers only name keys and values.
 */
#include "base/text/json_write.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/text/foreign.h"
#include "base/text/utf8.h"

#include "base/poison.h"

/* One thread writes, so the stream needs no lock for every byte. */
static void put_byte(FILE *out, int byte)
{
    putc_unlocked(byte, out);
}

static void put_bytes(FILE *out, const char *bytes, size_t count)
{
    fwrite_unlocked(bytes, 1, count, out);
}

void json_begin(struct json_writer *json, FILE *out, unsigned lines)
{
    *json = (struct json_writer){.out = out, .lines = lines};
}

void json_end(struct json_writer *json)
{
    put_byte(json->out, '\n');
}

static void break_line(struct json_writer *json, bool wanted)
{
    if (wanted)
        fprintf(json->out, "\n%*s", (int)json->depth * 2, "");
}

/* Writes what separates the last item of the container from the next one. */
static void separate(struct json_writer *json)
{
    if (json->after_key) {
        json->after_key = false;
        return;
    }
    if (!json->depth)
        return;
    if (json->filled[json->depth])
        put_bytes(json->out, ", ", json->depth <= json->lines ? 1 : 2);
    json->filled[json->depth] = true;
    break_line(json, json->depth <= json->lines);
}

static void open_container(struct json_writer *json, char bracket)
{
    separate(json);
    put_byte(json->out, bracket);
    if (json->depth + 1 < JSON_GREATEST_DEPTH)
        json->depth++;
    json->filled[json->depth] = false;
}

static void close_container(struct json_writer *json, char bracket)
{
    bool lines = json->depth <= json->lines && json->filled[json->depth];

    json->depth--;
    break_line(json, lines);
    put_byte(json->out, bracket);
}

void json_open_object(struct json_writer *json)
{
    open_container(json, '{');
}

void json_close_object(struct json_writer *json)
{
    close_container(json, '}');
}

void json_open_array(struct json_writer *json)
{
    open_container(json, '[');
}

void json_close_array(struct json_writer *json)
{
    close_container(json, ']');
}

/* Those that have a short escape, those that act, and all others. */
static void put_character(FILE *out, const char *text, size_t length, uint32_t code)
{
    static const char escaped[] = "\b\f\n\r\t\"\\";
    static const char letters[] = "bfnrt\"\\";
    const char *at = code && code < 0x80 ? strchr(escaped, (int)code) : NULL;
    char escape[FOREIGN_ESCAPE_BYTES];

    if (at)
        fprintf(out, "\\%c", letters[at - escaped]);
    else if (foreign_acts(code))
        fputs(foreign_escape(code, escape), out);
    else
        put_bytes(out, text, length);
}

/* Length of the characters that stand for themselves, and are ASCII. */
static size_t plain_length(const char *text, size_t bytes)
{
    size_t at = 0;

    while (at < bytes && text[at] >= ' ' && text[at] < 0x7f && text[at] != '"' && text[at] != '\\')
        at++;
    return at;
}

static void put_string(FILE *out, const char *text, size_t bytes)
{
    size_t at = plain_length(text, bytes);

    put_byte(out, '"');
    put_bytes(out, text, at);
    while (at < bytes) {
        uint32_t code;
        size_t length = utf8_decode(text + at, bytes - at, &code);

        if (length == 0)
            fputs("\\ufffd", out);
        else
            put_character(out, text + at, length, code);
        at += length ? length : 1;
        length = plain_length(text + at, bytes - at);
        put_bytes(out, text + at, length);
        at += length;
    }
    put_byte(out, '"');
}

void json_key(struct json_writer *json, const char *key)
{
    separate(json);
    put_string(json->out, key, strlen(key));
    put_bytes(json->out, ": ", 2);
    json->after_key = true;
}

void json_number(struct json_writer *json, uint64_t number)
{
    char digits[20];
    size_t at = sizeof digits;

    separate(json);
    do
        digits[--at] = (char)('0' + number % 10);
    while (number /= 10);
    put_bytes(json->out, digits + at, sizeof digits - at);
}

void json_signed(struct json_writer *json, int64_t number)
{
    separate(json);
    fprintf(json->out, "%" PRId64, number);
}

void json_real(struct json_writer *json, double number)
{
    if (!isfinite(number)) {
        json_null(json);
        return;
    }
    separate(json);
    fprintf(json->out, "%.12g", number);
}

void json_bool(struct json_writer *json, bool value)
{
    separate(json);
    fputs(value ? "true" : "false", json->out);
}

void json_null(struct json_writer *json)
{
    separate(json);
    fputs("null", json->out);
}

void json_text(struct json_writer *json, const char *text)
{
    if (text)
        json_bytes(json, text, strlen(text));
    else
        json_null(json);
}

void json_bytes(struct json_writer *json, const char *text, size_t bytes)
{
    separate(json);
    put_string(json->out, text, bytes);
}

void json_open_document(struct json_writer *json, FILE *out, unsigned lines)
{
    json_begin(json, out, lines);
    json_open_object(json);
}

void json_close_document(struct json_writer *json)
{
    json_close_object(json);
    json_end(json);
}

void json_key_object(struct json_writer *json, const char *key)
{
    json_key(json, key);
    json_open_object(json);
}

void json_key_array(struct json_writer *json, const char *key)
{
    json_key(json, key);
    json_open_array(json);
}

void json_key_numbers(struct json_writer *json, const char *key, const uint64_t *numbers,
                      size_t count)
{
    json_key_array(json, key);
    for (size_t i = 0; i < count; i++)
        json_number(json, numbers[i]);
    json_close_array(json);
}

/* ---- Facts ---- */

struct json_fact json_fact_null(const char *key)
{
    return (struct json_fact){.key = key, .kind = JSON_NULL};
}

struct json_fact json_fact_number(const char *key, uint64_t number)
{
    return (struct json_fact){.key = key, .kind = JSON_NUMBER, .number = number};
}

struct json_fact json_fact_signed(const char *key, int64_t change)
{
    return (struct json_fact){.key = key, .kind = JSON_SIGNED, .change = change};
}

struct json_fact json_fact_real(const char *key, double real)
{
    return (struct json_fact){.key = key, .kind = JSON_REAL, .real = real};
}

struct json_fact json_fact_bool(const char *key, bool flag)
{
    return (struct json_fact){.key = key, .kind = JSON_BOOL, .flag = flag};
}

struct json_fact json_fact_text(const char *key, const char *text)
{
    return (struct json_fact){.key = key, .kind = JSON_TEXT, .text = text};
}

void json_value(struct json_writer *json, const struct json_fact *fact)
{
    switch (fact->kind) {
    case JSON_NULL:
        json_null(json);
        break;
    case JSON_NUMBER:
        json_number(json, fact->number);
        break;
    case JSON_SIGNED:
        json_signed(json, fact->change);
        break;
    case JSON_REAL:
        json_real(json, fact->real);
        break;
    case JSON_BOOL:
        json_bool(json, fact->flag);
        break;
    case JSON_TEXT:
        json_text(json, fact->text);
        break;
    }
}

void json_facts(struct json_writer *json, const struct json_fact *facts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        json_key(json, facts[i].key);
        json_value(json, &facts[i]);
    }
}
