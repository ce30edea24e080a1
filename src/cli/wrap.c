/* Breaks a line that is longer than the terminal at its last space, as a typesetter would, and not
 * in the middle of a word. Tables never get here: they are fitted before they are printed.
 */
#include "cli/wrap.h"

#include <ctype.h>
#include <string.h>

#include "table/view.h"

#include "base/poison.h"

#define ESCAPE '\033'

/* Bytes of the escape sequence "ESC [ ... m" at `text`; 0: there is none. */
static size_t escape_bytes(const char *text, size_t bytes)
{
    size_t at = 2;

    if (bytes < 3 || text[0] != ESCAPE || text[1] != '[')
        return 0;
    while (at < bytes && (isdigit((unsigned char)text[at]) || text[at] == ';'))
        at++;
    return at < bytes && text[at] == 'm' ? at + 1 : 0;
}

/* Bytes of the character or the escape sequence at `text`, and the columns that it takes. */
static size_t next_piece(const char *text, size_t bytes, size_t *columns)
{
    size_t length = escape_bytes(text, bytes);

    *columns = 0;
    if (length)
        return length;
    length = 1;
    while (length < bytes && ((unsigned char)text[length] & 0xc0) == 0x80)
        length++;
    *columns = report_columns_of(text, length);
    return length;
}

static size_t columns_of(const char *line, size_t bytes)
{
    size_t total = 0;
    size_t columns;

    for (size_t at = 0; at < bytes; total += columns)
        at += next_piece(line + at, bytes - at, &columns);
    return total;
}

/* Bytes of "==123== " or "======== " that the line begins with. */
static size_t prefix_bytes(const char *line, size_t bytes)
{
    size_t at = 0;

    while (at < bytes && (line[at] == '=' || (at > 1 && isdigit((unsigned char)line[at]))))
        at++;
    return at > 4 && at < bytes && line[at] == ' ' ? at + 1 : 0;
}

/* The column at which what continues a line begins: behind the prefix, or at the value of a line
 * such as "key      value", else two more than the line itself. */
static size_t hang_of(const char *line, size_t bytes, size_t width)
{
    size_t prefix = prefix_bytes(line, bytes);
    size_t begin = 0;
    size_t at;

    if (prefix)
        return prefix <= width / 3 ? prefix : 2;
    while (begin < bytes && line[begin] == ' ')
        begin++;
    for (at = begin; at + 1 < bytes && at < width; at++) {
        if (line[at] != ' ' || line[at + 1] != ' ')
            continue;
        while (at < bytes && line[at] == ' ')
            at++;
        return at <= width / 2 ? at : 2;
    }
    return begin + 2 <= width / 3 ? begin + 2 : 2;
}

/* Bytes of the line's begin that fit into `room` columns: up to a space if there is one in the
 * later half. */
static size_t fitting_bytes(const char *line, size_t bytes, size_t room)
{
    size_t at = 0;
    size_t space = 0;
    size_t used = 0;

    while (at < bytes) {
        size_t columns;
        size_t length = next_piece(line + at, bytes - at, &columns);

        if (used + columns > room)
            break;
        if (line[at] == ' ' && used * 2 >= room)
            space = at;
        used += columns;
        at += length;
    }
    if (at == bytes || line[at] == ' ')
        return at;
    return space ? space : at ? at : 1;
}

static bool put_spaces(wrap_put *put, size_t count)
{
    static const char spaces[] = "                                ";

    for (; count >= sizeof spaces; count -= sizeof spaces - 1) {
        if (!put(spaces, sizeof spaces - 1))
            return false;
    }
    return put(spaces, count);
}

static bool put_pieces(const char *line, size_t bytes, size_t width, wrap_put *put)
{
    size_t hang = hang_of(line, bytes, width);
    size_t room = width;

    while (columns_of(line, bytes) > room) {
        size_t piece = fitting_bytes(line, bytes, room);

        if (!put(line, piece) || !put("\n", 1) || !put_spaces(put, hang))
            return false;
        while (piece < bytes && line[piece] == ' ')
            piece++;
        line += piece;
        bytes -= piece;
        room = width - hang;
    }
    return put(line, bytes);
}

static bool begins_with(const char *text, size_t bytes, const char *word)
{
    return bytes >= strlen(word) && !memcmp(text, word, strlen(word));
}

static enum report_tone tone_of(const char *line, size_t bytes)
{
    size_t prefix = prefix_bytes(line, bytes);

    if (!prefix)
        return REPORT_TONE_PLAIN;
    if (begins_with(line + prefix, bytes - prefix, "Warning:"))
        return REPORT_TONE_WARNING;
    if (begins_with(line + prefix, bytes - prefix, "Note:"))
        return REPORT_TONE_QUIET;
    return REPORT_TONE_PLAIN;
}

bool wrap_line(const char *line, size_t bytes, unsigned width, bool colour, wrap_put *put)
{
    enum report_tone tone = colour ? tone_of(line, bytes) : REPORT_TONE_PLAIN;
    const char *begin = report_tone_text(tone);
    const char *end = *begin ? REPORT_TONE_OFF : "";

    return put(begin, strlen(begin)) &&
           (width ? put_pieces(line, bytes, width, put) : put(line, bytes)) &&
           put(end, strlen(end)) && put("\n", 1);
}
