/* Reads the text of a file of costs: each line is NAME=VALUE, and nothing but plain decimal numbers
 * is a cost. strtod is not used, because it takes signs, exponents, `nan`, and the locale's point.
 */
#include "profile/costs/text.h"

#include <stdint.h>
#include <string.h>

#include "base/poison.h"

#define LINE_ENDS "\n;"

/* ---- Lines ---- */

struct line {
    struct costs_piece name;
    struct costs_piece value;
};

/* Where the line at `at` ends, at most at `end`. */
static const char *line_end(const char *at, const char *end)
{
    while (at < end && !strchr(LINE_ENDS, *at))
        at++;
    return at;
}

/* The next line from *at on, which moves behind it; false at the end. A line without `=` has a
 * value without a begin. */
static bool next_line(const char **at, const char *end, struct line *line)
{
    const char *stop;
    const char *equals;

    if (*at >= end)
        return false;
    stop = line_end(*at, end);
    equals = memchr(*at, '=', (size_t)(stop - *at));
    line->name = (struct costs_piece){*at, (size_t)((equals ? equals : stop) - *at)};
    line->value =
        (struct costs_piece){equals ? equals + 1 : NULL, equals ? (size_t)(stop - equals - 1) : 0};
    *at = stop < end ? stop + 1 : stop;
    return true;
}

static bool piece_is(const struct costs_piece *piece, const char *text)
{
    return piece->bytes == strlen(text) && !memcmp(piece->begin, text, piece->bytes);
}

/* ---- Numbers ---- */

/* Digits, and optionally a point and more digits. */
static bool read_number(const struct costs_piece *piece, double *number)
{
    double value = 0;
    double unit = 1;
    bool fraction = false;

    if (!piece->bytes || piece->bytes > 24 || piece->begin[0] == '.')
        return false;
    for (size_t i = 0; i < piece->bytes; i++) {
        char c = piece->begin[i];
        if (c == '.' && !fraction) {
            fraction = true;
            continue;
        }
        if (c < '0' || c > '9')
            return false;
        value = value * 10 + (c - '0');
        unit = fraction ? unit * 10 : unit;
    }
    *number = value / unit;
    return true;
}

static bool is_number(const struct costs_piece *piece, unsigned long wanted)
{
    double number;

    return read_number(piece, &number) && number == (double)wanted;
}

/* ---- Blocks ---- */

bool costs_next_block(const char **cursor, struct costs_piece *block)
{
    const char *begin = *cursor + strspn(*cursor, LINE_ENDS);
    const char *end = begin + strlen(begin);
    const char *at = begin;

    if (!*begin)
        return false;
    while (at < end && !strchr(LINE_ENDS, *at)) {
        at = line_end(at, end);
        at += at < end;
    }
    *block = (struct costs_piece){begin, (size_t)(at - begin)};
    *cursor = at;
    return true;
}

/* The value of the first line that has the name; an empty one if there is none. */
static struct costs_piece value_of(const struct costs_piece *block, const char *name)
{
    const char *at = block->begin;
    struct line line;

    while (next_line(&at, block->begin + block->bytes, &line)) {
        if (line.value.begin && piece_is(&line.name, name))
            return line.value;
    }
    return (struct costs_piece){block->begin, 0};
}

bool costs_block_has_key(const struct costs_piece *block)
{
    return value_of(block, "gpu").bytes && value_of(block, "driver").bytes &&
           value_of(block, "cupti").bytes;
}

bool costs_block_is_of(const struct costs_piece *block, const struct costs_key *key)
{
    struct costs_piece gpu = value_of(block, "gpu");
    struct costs_piece driver = value_of(block, "driver");
    struct costs_piece cupti = value_of(block, "cupti");

    return piece_is(&gpu, key->gpu) && is_number(&driver, key->driver) &&
           is_number(&cupti, key->cupti);
}

static bool is_key(const struct costs_piece *name)
{
    return piece_is(name, "gpu") || piece_is(name, "driver") || piece_is(name, "cupti");
}

static void set_cost(struct costs *costs, const struct costs_piece *name, double number)
{
    const char *known;
    double *value;

    for (size_t i = 0; costs_at(costs, i, &known, &value, NULL); i++) {
        if (piece_is(name, known))
            *value = number;
    }
}

bool costs_block_read(const struct costs_piece *block, struct costs *costs)
{
    struct costs found = *costs;
    const char *at = block->begin;
    struct line line;
    double number;

    while (next_line(&at, block->begin + block->bytes, &line)) {
        if (is_key(&line.name))
            continue;
        if (!line.value.begin || !read_number(&line.value, &number) || number > COSTS_GREATEST)
            return false;
        set_cost(&found, &line.name, number);
    }
    *costs = found;
    return true;
}
