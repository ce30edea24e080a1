/* What a view remembers while tables are printed, what follows from its settings, and its names and
 * colours. A name that is too long first loses what says little, a C++ function's `void` and its
 * parameters, and then its middle: the begin of a kernel's name says what it is, and its end tells
 * instances of a template apart.
 */
#include "table/view.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "base/text/foreign.h"
#include "base/text/strings.h"
#include "table/table.h"

#include "base/poison.h"

/* Whether the list has the title as a whole. */
static bool has_title(const struct report_titles *titles, const char *title)
{
    size_t length = strlen(title);

    for (const char *at = titles->text; *at;) {
        size_t bytes = strcspn(at, ",");

        if (bytes == length && !memcmp(at, title, length))
            return true;
        at += bytes;
        at += strspn(at, ", ");
    }
    return false;
}

void report_titles_add(struct report_titles *titles, const char *title)
{
    size_t length = strlen(title);
    size_t comma = titles->bytes ? 2 : 0;

    if (!length || titles->full || has_title(titles, title))
        return;
    if (titles->bytes + comma + length >= sizeof titles->text) {
        titles->full = true;
        return;
    }
    memcpy(titles->text + titles->bytes, ", ", comma);
    memcpy(titles->text + titles->bytes + comma, title, length + 1);
    titles->bytes += comma + length;
}

bool report_view_lays_out(const struct report_view *view)
{
    return view && (view->width || view->name_width || view->colour);
}

unsigned report_view_line(const struct report_view *view, unsigned usual)
{
    return view && view->width ? view->width : usual;
}

/* ---- Names ---- */

#define DOTS "..."

/* Ranges of code points that terminals draw two columns wide (East Asian Width W and F). */
static const struct {
    uint32_t first, last;
} wide[] = {
    {0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0xa4cf},   {0xac00, 0xd7a3},
    {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},
    {0x1f300, 0x1f64f}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd},
};

static size_t columns_of_code(uint32_t code)
{
    if (code < 0x300)
        return 1; /* nearly all */
    if (foreign_acts(code))
        return 1; /* `?` is printed */
    if (code <= 0x36f || (code >= 0xfe00 && code <= 0xfe0f))
        return 0; /* combining */
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++) {
        if (code >= wide[i].first && code <= wide[i].last)
            return 2;
    }
    return 1;
}

/* Bytes and columns of the character at `text`; a byte that belongs to none is shown as one. */
static size_t next_character(const char *text, size_t bytes, size_t *columns)
{
    uint32_t code;
    size_t length = utf8_decode(text, bytes, &code);

    *columns = length ? columns_of_code(code) : 1;
    return length ? length : 1;
}

size_t report_columns_of(const char *text, size_t bytes)
{
    size_t total = 0;
    size_t columns;

    for (size_t at = 0; at < bytes; total += columns)
        at += next_character(text + at, bytes - at, &columns);
    return total;
}

/* Bytes of the longest begin of a text that takes at most `width` columns. */
static size_t head_bytes(const char *text, size_t bytes, size_t width)
{
    size_t used = 0;
    size_t at = 0;

    while (at < bytes) {
        size_t columns;
        size_t length = next_character(text + at, bytes - at, &columns);

        if (used + columns > width)
            break;
        used += columns;
        at += length;
    }
    return at;
}

/* Where the longest end of a text begins that takes at most `width` columns. */
static size_t tail_begin(const char *text, size_t bytes, size_t width)
{
    size_t left = report_columns_of(text, bytes);
    size_t at = 0;

    while (at < bytes && left > width) {
        size_t columns;

        at += next_character(text + at, bytes - at, &columns);
        left -= columns;
    }
    return at;
}

/* Bytes of " [123]" that the text ends with, as the names of nvprof's GPU trace do. */
static size_t number_bytes(const char *text, size_t bytes)
{
    size_t at = bytes;

    if (!at || text[--at] != ']')
        return 0;
    while (at && isdigit((unsigned char)text[at - 1]))
        at--;
    return at > 2 && at + 1 < bytes && text[at - 1] == '[' && text[at - 2] == ' ' ? bytes - at + 2
                                                                                  : 0;
}

/* Where the parameters of a C++ function begin that the text ends with; `bytes`: it has none. */
static size_t parameters_begin(const char *text, size_t bytes)
{
    size_t depth = 0;

    if (!bytes || text[bytes - 1] != ')')
        return bytes;
    for (size_t at = bytes; at-- > 0;) {
        depth += text[at] == ')';
        depth -= text[at] == '(';
        if (!depth)
            return at && text[at - 1] != ' ' ? at : bytes;
    }
    return bytes;
}

/* The text without `void` and without parameters, in `buffer`, and its bytes. */
static size_t trim(const char *text, size_t bytes, char *buffer, size_t buffer_bytes)
{
    size_t number = number_bytes(text, bytes);
    size_t end = parameters_begin(text, bytes - number);
    size_t begin = end > 5 && end < bytes - number && !memcmp(text, "void ", 5) ? 5 : 0;

    if (end - begin + number > buffer_bytes)
        return 0;
    memcpy(buffer, text + begin, end - begin);
    memcpy(buffer + end - begin, text + bytes - number, number);
    return end - begin + number;
}

const char *report_shorten(const char *text, size_t *bytes, size_t width, char *buffer,
                           size_t buffer_bytes)
{
    const size_t dots = sizeof DOTS - 1;
    size_t kept = width > dots ? width - dots : 1;
    size_t tail = kept / 2;
    char trimmed[REPORT_SHORTENED_BYTES];

    if (report_columns_of(text, *bytes) <= width)
        return text;
    size_t trimmed_bytes = trim(text, *bytes, trimmed, sizeof trimmed);
    if (trimmed_bytes) {
        text = trimmed;
        *bytes = trimmed_bytes;
    }
    if (trimmed_bytes && trimmed_bytes <= buffer_bytes &&
        report_columns_of(trimmed, trimmed_bytes) <= width)
        return memcpy(buffer, trimmed, trimmed_bytes);
    size_t head = head_bytes(text, *bytes, kept - tail);
    size_t from = tail_begin(text, *bytes, tail);
    if (head > buffer_bytes / 2 - dots)
        head = buffer_bytes / 2 - dots; /* characters that take no column */
    if (*bytes - from > buffer_bytes / 2)
        from = *bytes - buffer_bytes / 2;
    memcpy(buffer, text, head);
    memcpy(buffer + head, DOTS, dots);
    memcpy(buffer + head + dots, text + from, *bytes - from);
    *bytes = head + dots + (*bytes - from);
    return buffer;
}

void report_put_name(FILE *out, const struct report_view *view, size_t taken, const char *name)
{
    size_t width = view && !view->whole_names ? view->width ? view->width : view->name_width : 0;
    size_t bytes = strlen(name);
    char buffer[REPORT_SHORTENED_BYTES];

    if (view && view->width)
        width = width > taken + REPORT_MIN_NAME ? width - taken : width ? REPORT_MIN_NAME : 0;
    if (width)
        name = report_shorten(name, &bytes, width, buffer, sizeof buffer);
    foreign_put(out, name, bytes);
}

/* ---- Colours ---- */

const char *report_tone_text(enum report_tone tone)
{
    static const char *const texts[] = {
        [REPORT_TONE_PLAIN] = "",           [REPORT_TONE_TITLE] = "\033[1m",
        [REPORT_TONE_STRONG] = "\033[1m",   [REPORT_TONE_QUIET] = "\033[2m",
        [REPORT_TONE_BAD] = "\033[31m",     [REPORT_TONE_GOOD] = "\033[32m",
        [REPORT_TONE_WARNING] = "\033[33m",
    };

    return texts[tone];
}

void report_tone_begin(FILE *out, const struct report_view *view, enum report_tone tone)
{
    if (view && view->colour)
        fputs(report_tone_text(tone), out);
}

void report_tone_end(FILE *out, const struct report_view *view, enum report_tone tone)
{
    if (view && view->colour && tone != REPORT_TONE_PLAIN)
        fputs(REPORT_TONE_OFF, out);
}

enum report_tone report_tone_of_word(const char *word, size_t bytes)
{
    static const struct {
        const char *word;
        enum report_tone tone;
    } words[] = {
        {"slower", REPORT_TONE_BAD},
        {"more", REPORT_TONE_BAD},
        {"faster", REPORT_TONE_GOOD},
        {"less", REPORT_TONE_GOOD},
    };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strlen(words[i].word) == bytes && !memcmp(words[i].word, word, bytes))
            return words[i].tone;
    }
    return REPORT_TONE_PLAIN;
}
