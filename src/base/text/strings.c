/* Bounded copies, whole-string numbers and comma-separated lists, which replace libc's strcpy, atoi
 * and strtok (poison.h bans them); characters of UTF-8; and the search for a name that somebody
 * mistyped.
 */
#include "base/text/strings.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/poison.h"

bool mp_text_copy(char *buffer, size_t size, const char *text)
{
    size_t length = strlen(text);
    size_t taken = length < size ? length : size - 1;

    memcpy(buffer, text, taken);
    buffer[taken] = '\0';
    return taken == length;
}

void mp_text_add(char *buffer, size_t size, const char *format, ...)
{
    size_t used = strlen(buffer);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(buffer + used, size - used, format, arguments);
    va_end(arguments);
}

bool mp_text_equal(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

bool mp_text_starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool mp_text_ends_with(const char *text, const char *suffix)
{
    size_t length = strlen(text), end = strlen(suffix);

    return length >= end && !strcmp(text + length - end, suffix);
}

bool mp_text_to_u64(const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
    uint64_t result = 0;

    if (!*text)
        return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9')
            return false;
        if (__builtin_mul_overflow(result, (uint64_t)10, &result) ||
            __builtin_add_overflow(result, (uint64_t)(*text - '0'), &result))
            return false;
    }
    if (result < min || result > max)
        return false;
    *value = result;
    return true;
}

bool mp_text_next_item(const char **cursor, const char **item, size_t *bytes)
{
    const char *start = *cursor;

    if (!start)
        return false;
    const char *end = strchr(start, ',');
    *cursor = end ? end + 1 : NULL;
    if (!end)
        end = start + strlen(start);
    while (start < end && *start == ' ')
        start++;
    while (end > start && end[-1] == ' ')
        end--;
    *item = start;
    *bytes = (size_t)(end - start);
    return true;
}

/* ---- UTF-8 ----
 *
 * Finds the characters of text that comes from the profiled program. Each byte that is no UTF-8
 * counts as one character, so that columns stay in line, and is replaced by one.
 */

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

/* ---- What somebody typed ----
 *
 * Approximate search: the typed text against every part of a name at once (the columns of the table
 * of edit distances, whose first row is 0 everywhere), and against whole names.
 */

#define LONGEST            256
#define SHORTEST_BEGINNING 3
#define LENGTH_SCALE                                                                               \
    1024 /* above any length, so that length decides between equal distances only */

static unsigned min(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* How many letters of `typed` do not fit the best part of `name`. */
static unsigned distance_inside(const char *typed, size_t length, const char *name, size_t bytes)
{
    unsigned column[LONGEST + 1];

    for (unsigned i = 0; i <= length; i++)
        column[i] = i;
    unsigned best = column[length];
    for (size_t at = 0; at < bytes; at++) {
        unsigned diagonal = column[0];

        for (size_t i = 1; i <= length; i++) {
            unsigned changed = diagonal + (tolower((unsigned char)typed[i - 1]) !=
                                           tolower((unsigned char)name[at]));

            diagonal = column[i];
            column[i] = min(changed, min(column[i], column[i - 1]) + 1);
        }
        best = min(best, column[length]);
    }
    return best;
}

void mp_nearest_offer(struct mp_nearest *nearest, const char *name)
{
    size_t length = strnlen(nearest->typed, LONGEST);
    size_t bytes = strnlen(name, LONGEST);
    unsigned distance =
        distance_inside(nearest->typed, length, name, bytes) * LENGTH_SCALE + (unsigned)bytes;
    size_t at = nearest->count;

    while (at && nearest->distances[at - 1] > distance)
        at--;
    if (at == MP_NEAREST_MAX)
        return;
    if (nearest->count < MP_NEAREST_MAX)
        nearest->count++;
    for (size_t i = nearest->count - 1; i > at; i--) {
        nearest->items[i] = nearest->items[i - 1];
        nearest->distances[i] = nearest->distances[i - 1];
    }
    nearest->items[at] = name;
    nearest->distances[at] = distance;
}

const char *mp_nearest_list(const struct mp_nearest *nearest, int max, char *text, size_t size)
{
    size_t used = 0;

    *text = '\0';
    for (size_t i = 0; i < nearest->count && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s'%.*s'", i ? ", " : "", max,
                                 nearest->items[i]);
    return text;
}

/* ---- The one that was meant ---- */

static bool same_letter(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Of whole words; `rows` are the last three rows of the table. */
static unsigned distance_of_words(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
    unsigned rows[3][LONGEST + 1];

    for (unsigned j = 0; j <= b_bytes; j++)
        rows[0][j] = j;
    for (unsigned i = 1; i <= a_bytes; i++) {
        unsigned *row = rows[i % 3];
        const unsigned *above = rows[(i + 2) % 3];
        const unsigned *two_above = rows[(i + 1) % 3];

        row[0] = i;
        for (size_t j = 1; j <= b_bytes; j++) {
            row[j] =
                min(above[j - 1] + !same_letter(a[i - 1], b[j - 1]), min(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) &&
                same_letter(a[i - 2], b[j - 1]))
                row[j] = min(row[j], two_above[j - 2] + 1);
        }
    }
    return rows[a_bytes % 3][b_bytes];
}

/* A name that was cut or made longer is far by its letters: cuda-graph-trace, iter. */
static void offer_beginning(struct mp_meant *meant, const char *spelling, const char *name)
{
    size_t typed = strlen(meant->typed), length = strlen(spelling);
    size_t shorter = typed < length ? typed : length;
    size_t apart = typed + length - 2 * shorter;

    if (shorter < SHORTEST_BEGINNING || strncmp(meant->typed, spelling, shorter) != 0 ||
        (typed > length && meant->typed[length] != '-') ||
        (meant->beginning && meant->apart <= apart))
        return;
    meant->beginning = name;
    meant->apart = apart;
}

void mp_meant_offer_as(struct mp_meant *meant, const char *spelling, const char *name)
{
    unsigned distance = distance_of_words(meant->typed, strnlen(meant->typed, LONGEST), spelling,
                                          strnlen(spelling, LONGEST));
    bool equal = meant->name && distance == meant->distance;

    offer_beginning(meant, spelling, name);
    if (meant->name && distance > meant->distance)
        return;
    meant->tie = equal && (meant->tie || strcmp(meant->name, name) != 0);
    meant->name = name;
    meant->distance = distance;
}

void mp_meant_offer(struct mp_meant *meant, const char *name)
{
    mp_meant_offer_as(meant, name, name);
}

const char *mp_meant_name(const struct mp_meant *meant)
{
    size_t length = strnlen(meant->typed, LONGEST);

    if (meant->name && !meant->tie && (size_t)3 * meant->distance <= length)
        return meant->name;
    return meant->beginning;
}
