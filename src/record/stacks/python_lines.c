/* Three formats of line tables: CPython's Objects/lnotab_notes.txt and locations.md say what they
 * are.
 */
#include "record/stacks/python_lines.h"

#include "base/poison.h"

/* A byte of a table as a number from -128 to 127. */
static int signed_byte(uint8_t byte)
{
    return byte < 128 ? byte : byte - 256;
}

static uint32_t line_or_none(int64_t line)
{
    return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

/* Pairs: by how many bytes, and then by how many lines, it goes on. */
static uint32_t line_by_pairs(const uint8_t *table, size_t bytes, int64_t line, uint32_t at)
{
    uint64_t address = 0;

    for (size_t i = 0; i + 1 < bytes; i += 2) {
        address += table[i];
        if (address > at)
            break;
        line += signed_byte(table[i + 1]);
    }
    return line_or_none(line);
}

#define NO_LINE (-128)

/* Pairs: how many bytes the next lines take, and by how many lines they begin later. */
static uint32_t line_by_ranges(const uint8_t *table, size_t bytes, int64_t line, uint32_t at)
{
    uint64_t end = 0;

    for (size_t i = 0; i + 1 < bytes; i += 2) {
        int change = signed_byte(table[i + 1]);

        end += table[i];
        if (change != NO_LINE)
            line += change;
        if (end > at)
            return change == NO_LINE ? 0 : line_or_none(line);
    }
    return 0;
}

/* ---- Since 3.11 ---- */

enum location_code {
    LOCATION_ONE_LINE = 10, /* to 12: the difference is the code less 10 */
    LOCATION_NO_COLUMN = 13,
    LOCATION_LONG = 14,
    LOCATION_NONE = 15
};

/* Six bits a byte; the seventh says that more follow. */
static int64_t signed_number(const uint8_t *table, size_t bytes, size_t at)
{
    uint64_t value = 0;

    for (unsigned shift = 0; at < bytes && shift < 36; at++, shift += 6) {
        value |= (uint64_t)(table[at] & 63) << shift;
        if (!(table[at] & 64))
            break;
    }
    return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

static uint32_t line_by_locations(const uint8_t *table, size_t bytes, int64_t line, uint32_t at)
{
    uint64_t end = 0;
    size_t i = 0;

    while (i < bytes) {
        unsigned code = table[i] >> 3 & 15;

        end += 2 * (uint64_t)((table[i] & 7u) + 1);
        if (code == LOCATION_LONG || code == LOCATION_NO_COLUMN)
            line += signed_number(table, bytes, i + 1);
        else if (code >= LOCATION_ONE_LINE && code < LOCATION_NO_COLUMN)
            line += code - LOCATION_ONE_LINE;
        if (end > at)
            return code == LOCATION_NONE ? 0 : line_or_none(line);
        do
            i++;
        while (i < bytes && !(table[i] & 128));
    }
    return 0;
}

uint32_t lines_of(enum line_table kind, const uint8_t *table, size_t bytes, uint32_t first_line,
                  uint32_t at)
{
    switch (kind) {
    case LINE_TABLE_PAIRS:
        return line_by_pairs(table, bytes, first_line, at);
    case LINE_TABLE_RANGES:
        return line_by_ranges(table, bytes, first_line, at);
    case LINE_TABLE_LOCATIONS:
        return line_by_locations(table, bytes, first_line, at);
    case LINE_TABLE_NONE:
    default:
        return 0;
    }
}
