/* Reads JSON that other programs wrote, and writes JSON to a stream. */
#include "base/text/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/text/foreign.h"
#include "base/text/strings.h"

#include "base/poison.h"

/* ---- Reading ----
 *
 * A strict JSON reader for text that other programs wrote. It walks the text once, keeps no tree
 * and allocates nothing; the caller asks for each value or skips it.
 */

void json_read_begin(struct json_reader *reader, const char *text, size_t bytes)
{
    *reader = (struct json_reader){.at = text, .end = text + bytes};
}

/* ---- Characters ---- */

static bool fail(struct json_reader *reader)
{
    reader->failed = true;
    return false;
}

/* The next character; 0 at the end, which no JSON has outside a string. */
static char peek(const struct json_reader *reader)
{
    return reader->failed || reader->at == reader->end ? '\0' : *reader->at;
}

static bool pass(struct json_reader *reader, char wanted)
{
    if (peek(reader) != wanted || !wanted)
        return false;
    reader->at++;
    return true;
}

static void pass_space(struct json_reader *reader)
{
    while (pass(reader, ' ') || pass(reader, '\t') || pass(reader, '\n') || pass(reader, '\r'))
        ;
}

static bool pass_digits(struct json_reader *reader)
{
    const char *from = reader->at;

    while (peek(reader) >= '0' && peek(reader) <= '9')
        reader->at++;
    return reader->at > from || fail(reader);
}

/* ---- Texts ---- */

/* Where a text goes; `size` 0: nowhere. */
struct target {
    char *text;
    size_t size;
    size_t used;
    bool cut;
};

static void json_read_put(struct target *target, const char *bytes, size_t count)
{
    target->cut |= target->used + count >= target->size;
    if (target->cut)
        return;
    memcpy(target->text + target->used, bytes, count);
    target->used += count;
}

/* Bytes of the UTF-8 character that begins with this one. */
static size_t character_length(unsigned char first)
{
    return first < 0xC0 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
}

/* If a text was cut inside its last character, removes the rest of that character. */
static void put_end(struct target *target)
{
    size_t at = target->used;

    if (!target->size)
        return;
    while (target->cut && at && ((unsigned char)target->text[at - 1] & 0xC0) == 0x80)
        at--;
    if (target->cut && at &&
        character_length((unsigned char)target->text[at - 1]) > target->used - at + 1)
        target->used = at - 1;
    target->text[target->used] = '\0';
}

static void put_code(struct target *target, uint32_t code)
{
    char bytes[4];

    if (!code || (code >= 0xD800 && code < 0xE000))
        code = 0xFFFD;
    if (code < 0x80) {
        json_read_put(target, (char[]){(char)code}, 1);
        return;
    }
    if (code < 0x800) {
        bytes[0] = (char)(0xC0 | code >> 6);
        bytes[1] = (char)(0x80 | (code & 0x3F));
        json_read_put(target, bytes, 2);
        return;
    }
    if (code < 0x10000) {
        bytes[0] = (char)(0xE0 | code >> 12);
        bytes[1] = (char)(0x80 | (code >> 6 & 0x3F));
        bytes[2] = (char)(0x80 | (code & 0x3F));
        json_read_put(target, bytes, 3);
        return;
    }
    bytes[0] = (char)(0xF0 | code >> 18);
    bytes[1] = (char)(0x80 | (code >> 12 & 0x3F));
    bytes[2] = (char)(0x80 | (code >> 6 & 0x3F));
    bytes[3] = (char)(0x80 | (code & 0x3F));
    json_read_put(target, bytes, 4);
}

static bool read_hex(struct json_reader *reader, uint32_t *code)
{
    *code = 0;
    for (int i = 0; i < 4; i++) {
        static const char digits[] = "0123456789abcdef";
        char c = peek(reader);
        const char *digit = strchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c);

        if (!c || !digit)
            return fail(reader);
        *code = *code << 4 | (uint32_t)(digit - digits);
        reader->at++;
    }
    return true;
}

/* Reads what follows `\u`. A high surrogate and the low one that follows it are one character. */
static bool read_unicode(struct json_reader *reader, struct target *target)
{
    uint32_t code, low;

    if (!read_hex(reader, &code))
        return false;
    const char *behind = reader->at;
    if (code >= 0xD800 && code < 0xDC00 && pass(reader, '\\')) {
        if (pass(reader, 'u') && read_hex(reader, &low) && low >= 0xDC00 && low < 0xE000)
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        else
            reader->at = behind; /* another escape: read by itself */
    }
    put_code(target, code);
    return !reader->failed;
}

static bool read_escape(struct json_reader *reader, struct target *target)
{
    static const char names[] = "\"\\/bfnrt";
    static const char meanings[] = "\"\\/\b\f\n\r\t";
    char c = peek(reader);
    const char *name = c ? strchr(names, c) : NULL;

    if (c == 'u') {
        reader->at++;
        return read_unicode(reader, target);
    }
    if (!name)
        return fail(reader);
    reader->at++;
    json_read_put(target, &meanings[name - names], 1);
    return true;
}

static bool read_string(struct json_reader *reader, struct target *target)
{
    if (!pass(reader, '"'))
        return fail(reader);
    while (reader->at < reader->end && *reader->at != '"') {
        if ((unsigned char)*reader->at < ' ')
            return fail(reader);
        if (pass(reader, '\\')) {
            if (!read_escape(reader, target))
                return false;
            continue;
        }
        json_read_put(target, reader->at++, 1);
    }
    return pass(reader, '"') || fail(reader);
}

static bool pass_number(struct json_reader *reader)
{
    (void)pass(reader, '-');
    if (!pass(reader, '0') && !pass_digits(reader))
        return false;
    if (pass(reader, '.') && !pass_digits(reader))
        return false;
    if (pass(reader, 'e') || pass(reader, 'E')) {
        if (!pass(reader, '+'))
            (void)pass(reader, '-');
        return pass_digits(reader);
    }
    return true;
}

static bool pass_word(struct json_reader *reader)
{
    static const char *const words[] = {"true", "false", "null"};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t length = strlen(words[i]);

        if ((size_t)(reader->end - reader->at) >= length && !memcmp(reader->at, words[i], length)) {
            reader->at += length;
            return true;
        }
    }
    return fail(reader);
}

/* ---- Values ---- */

enum json_read_kind json_read_next(struct json_reader *reader)
{
    pass_space(reader);
    char c = peek(reader);
    if (c == '-' || (c >= '0' && c <= '9'))
        return JSON_READ_NUMBER;
    switch (c) {
    case '{':
        return JSON_READ_OBJECT;
    case '[':
        return JSON_READ_ARRAY;
    case '"':
        return JSON_READ_STRING;
    case 't':
    case 'f':
    case 'n':
        return JSON_READ_WORD;
    default:
        return JSON_READ_NOTHING;
    }
}

bool json_read_open(struct json_reader *reader)
{
    enum json_read_kind kind = json_read_next(reader);

    if ((kind != JSON_READ_OBJECT && kind != JSON_READ_ARRAY) ||
        reader->depth == JSON_READ_MAX_DEPTH)
        return fail(reader);
    reader->objects &= ~(UINT32_C(1) << reader->depth);
    reader->objects |= (uint32_t)(kind == JSON_READ_OBJECT) << reader->depth;
    reader->depth++;
    reader->at++;
    reader->fresh = true;
    return true;
}

static bool in_object(const struct json_reader *reader)
{
    return reader->depth && reader->objects >> (reader->depth - 1) & 1;
}

/* Passes the comma before an item, or leaves the container at its end. */
static bool pass_to_item(struct json_reader *reader, char closing)
{
    pass_space(reader);
    if (pass(reader, closing)) {
        reader->depth--;
        reader->fresh = false;
        return false;
    }
    if (!reader->fresh && !pass(reader, ','))
        return fail(reader);
    reader->fresh = false;
    pass_space(reader);
    return !reader->failed;
}

bool json_read_member(struct json_reader *reader, char *key, size_t size)
{
    struct target target = {.text = key, .size = key ? size : 0};

    if (!in_object(reader))
        return fail(reader);
    if (!pass_to_item(reader, '}') || !read_string(reader, &target))
        return false;
    put_end(&target);
    pass_space(reader);
    return pass(reader, ':') || fail(reader);
}

bool json_read_element(struct json_reader *reader)
{
    if (!reader->depth || in_object(reader))
        return fail(reader);
    return pass_to_item(reader, ']');
}

bool json_read_text(struct json_reader *reader, char *text, size_t size)
{
    struct target target = {.text = text, .size = text ? size : 0};
    enum json_read_kind kind = json_read_next(reader);
    const char *from = reader->at;
    bool fine;

    if (kind == JSON_READ_STRING)
        fine = read_string(reader, &target);
    else if (kind == JSON_READ_NUMBER)
        fine = pass_number(reader);
    else
        fine = kind == JSON_READ_WORD ? pass_word(reader) : fail(reader);
    if (fine && kind != JSON_READ_STRING)
        json_read_put(&target, from, (size_t)(reader->at - from));
    put_end(&target);
    return fine;
}

void json_read_skip(struct json_reader *reader)
{
    const unsigned outside = reader->depth;

    do {
        if (reader->depth > outside &&
            !(in_object(reader) ? json_read_member(reader, NULL, 0) : json_read_element(reader)))
            continue; /* left, or failed */
        enum json_read_kind kind = json_read_next(reader);
        if (kind == JSON_READ_OBJECT || kind == JSON_READ_ARRAY)
            (void)json_read_open(reader);
        else
            (void)json_read_text(reader, NULL, 0);
    } while (!reader->failed && reader->depth > outside);
}

bool json_read_end(struct json_reader *reader)
{
    pass_space(reader);
    return !reader->failed && !reader->depth && reader->at == reader->end;
}

/* ---- Writing ----
 *
 * Writes JSON to a stream. A small state machine knows where a comma or a line break is needed, so
 * that callers only name keys and values.
 */

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
    if (json->depth + 1 < JSON_MAX_DEPTH)
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
