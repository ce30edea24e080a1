/* The table of costs: names, texts and built-in values, from costs.def. */
#include "profile/costs.h"

#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/data/storage.h"
#include "base/io.h"
#include "profile/identity.h"

#include "base/poison.h"

/* ---- The table ---- */

static const struct {
    const char *name;
    const char *text;
    size_t offset;
    double builtin;
} table[] = {
#define COST(name, builtin, text) {#name, text, offsetof(struct costs, name), builtin},
#include "profile/costs.def"
#undef COST
};

#define COST_COUNT (sizeof table / sizeof *table)

void costs_built_in(struct costs *costs)
{
#define COST(name, builtin, text) costs->name = (builtin);
#include "profile/costs.def"
#undef COST
    costs->stack = 0;
}

bool costs_at(struct costs *costs, size_t i, const char **name, double **value, const char **text)
{
    if (i >= COST_COUNT)
        return false;
    if (name)
        *name = table[i].name;
    if (value)
        *value = (double *)(void *)((char *)costs + table[i].offset);
    if (text)
        *text = table[i].text;
    return true;
}

/* ---- The text ----
 *
 * The text of a file of costs, block by block.
 *
 *     gpu=NVIDIA H200
 *     driver=13000
 *     cupti=26
 *     launch_in=412.5
 *     ...
 *                                    an empty line between two blocks
 *
 * A trace keeps it in one line of its header, so `;` ends a line as well as a line break does.
 */

#define COSTS_GREATEST 1e7 /* ns */

struct costs_piece {
    const char *begin;
    size_t bytes;
};

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
    if (*at >= end)
        return false;
    const char *stop = line_end(*at, end);
    const char *equals = memchr(*at, '=', (size_t)(stop - *at));
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

/* The next block, without empty lines; false at the end. Start with *cursor at the text. */
static bool costs_next_block(const char **cursor, struct costs_piece *block)
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

/* Whether the block has a key, and in all three parts. */
static bool costs_block_has_key(const struct costs_piece *block)
{
    return value_of(block, "gpu").bytes && value_of(block, "driver").bytes &&
           value_of(block, "cupti").bytes;
}

/* Whether the block is that of `key`. */
static bool costs_block_is_of(const struct costs_piece *block, const struct costs_key *key)
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

/* Reads the costs of a block; those that it lacks keep their values. False, and `costs` unchanged,
 * if a line is not NAME=NUMBER, or a number is not from 0 to COSTS_GREATEST. A name that is not
 * known here is passed over. */
static bool costs_block_read(const struct costs_piece *block, struct costs *costs)
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

/* ---- Finding ----
 *
 * Which costs a trace was recorded with: its own, the user's, or those built in.
 */

bool costs_find(const char *text, const struct costs_key *key, struct costs *costs)
{
    struct costs_piece block;

    while (costs_next_block(&text, &block)) {
        if (costs_block_is_of(&block, key))
            return costs_block_read(&block, costs);
    }
    return false;
}

/* On the H200 of the other built-in costs, at a depth of 30 (docs/stacks.md): Python's stacks, and
 * native ones by libunwind. A trace does not say whether glibc unwound, which takes 4 us more. */
static double cost_of_stack(const struct mp_trace *trace)
{
    const char *kind = mp_trace_property(trace, "MINIPROF_STACKS");

    if (!kind || !strcmp(kind, "off"))
        return 0;
    return !strcmp(kind, "python") ? 500 : 1300;
}

enum costs_source costs_of_trace(const struct mp_trace *trace, const char *gpu, struct costs *costs)
{
    const char *own = mp_trace_property(trace, "recording_costs");
    struct costs_key key = {.gpu = gpu};
    char text[MP_COSTS_BYTES + 1];

    costs_built_in(costs);
    costs->stack = cost_of_stack(trace);
    if (!gpu || !property_number(trace, "driver_version", UINT32_MAX, &key.driver) ||
        !property_number(trace, "cupti_version", UINT32_MAX, &key.cupti))
        return COSTS_BUILT_IN;
    if (own && costs_find(own, &key, costs))
        return COSTS_CALIBRATED_THERE;
    if (mp_costs_read(text) && costs_find(text, &key, costs))
        return COSTS_CALIBRATED_HERE;
    return COSTS_BUILT_IN;
}

/* ---- Keeping ----
 *
 * Keeps costs in the user's file. The new block comes first; blocks of other GPUs follow as long as
 * there is room, so that the oldest ones are forgotten. A reader finds the old file or the new one,
 * never a part.
 */

/* ---- The text ---- */

static bool is_name(const char *gpu)
{
    if (!*gpu || strlen(gpu) > 256)
        return false;
    for (; *gpu; gpu++) {
        if (*gpu < ' ' || *gpu > '~' || *gpu == ';')
            return false;
    }
    return true;
}

static bool append_new(struct mp_buffer *text, const struct costs_key *key,
                       const struct costs *costs)
{
    struct costs values = *costs;
    const char *name;
    double *value;

    mp_buffer_append_format(text, "gpu=%s\ndriver=%lu\ncupti=%lu\n", key->gpu, key->driver,
                            key->cupti);
    for (size_t i = 0; costs_at(&values, i, &name, &value, NULL); i++) {
        if (!(*value >= 0 && *value <= COSTS_GREATEST))
            return false;
        mp_buffer_append_format(text, "%s=%.1f\n", name, *value);
    }
    return true;
}

static void append_others(struct mp_buffer *text, const char *old, const struct costs_key *key)
{
    struct costs_piece block;

    while (costs_next_block(&old, &block)) {
        if (!costs_block_has_key(&block) || costs_block_is_of(&block, key))
            continue;
        if (text->size + block.bytes + 2 > MP_COSTS_BYTES)
            return;
        mp_buffer_append_byte(text, '\n');
        mp_buffer_append(text, block.begin, block.bytes);
        if (block.begin[block.bytes - 1] != '\n')
            mp_buffer_append_byte(text, '\n');
    }
}

/* ---- The file ---- */

/* mkostemp makes a file of a new name, never through a symbolic link, for the user only. */
static enum mp_status write_file(const char *path, const struct mp_buffer *text,
                                 struct mp_error *error)
{
    char temporary[PATH_MAX + 8];
    struct mp_error cause;

    MP_TRY(mp_make_folders(path, error));
    snprintf(temporary, sizeof temporary, "%s.XXXXXX", path);
    int fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0)
        return mp_error_set(error, MP_ERR_IO, "cannot create '%.150s': %m", path);
    enum mp_status status = mp_write_all(fd, text->data, text->size, &cause);
    if (status != MP_OK)
        mp_error_set(error, status, "'%.150s': %s", path, cause.text);
    if (close(fd) != 0 && status == MP_OK)
        status = mp_error_set(error, MP_ERR_IO, "cannot write '%.150s': %m", path);
    if (status == MP_OK && rename(temporary, path) != 0)
        status = mp_error_set(error, MP_ERR_IO, "cannot replace '%.150s': %m", path);
    if (status != MP_OK)
        unlink(temporary);
    return status;
}

enum mp_status costs_keep(const struct costs_key *key, const struct costs *costs,
                          struct mp_error *error)
{
    struct mp_buffer text = {.limit = MP_COSTS_BYTES};
    char old[MP_COSTS_BYTES + 1];
    char path[PATH_MAX];
    enum mp_status status;

    if (!is_name(key->gpu))
        return mp_error_set(error, MP_ERR_IO, "the GPU's name cannot stand in a file of costs");
    if (!mp_costs_path(path, sizeof path))
        return mp_error_set(error, MP_ERR_IO,
                            "neither XDG_CACHE_HOME nor HOME is the path of a folder");
    if (!append_new(&text, key, costs)) {
        status = mp_error_set(error, MP_ERR_IO, "a cost is not from 0 to 10 ms");
    } else {
        if (mp_costs_read(old))
            append_others(&text, old, key);
        status = text.status ? mp_error_set(error, text.status, "no memory for the costs")
                             : write_file(path, &text, error);
    }
    mp_buffer_free(&text);
    return status;
}
