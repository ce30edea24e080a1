/* Writes a trace of the rows that standard input names: write_trace FILE.
 *
 *     header KEY=VALUE...                lines of the header, before any row
 *     TABLE COLUMN=VALUE COLUMN=VALUE    a row; columns that are not named are 0 or empty
 *
 * Tables and columns are those of docs/trace-format.md, enumerations their numbers; values have no
 * spaces. A row may say what no recorder would: nothing is checked here.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/writer.h"

struct cell {
    const char *name;
    size_t offset;
    bool is_text;
};

/* clang-format off */
#define IS_TEXT_UINT        false
#define IS_TEXT_INT         false
#define IS_TEXT_TIME        false
#define IS_TEXT_DURATION    false
#define IS_TEXT_HEX         false
#define IS_TEXT_BOOL        false
#define IS_TEXT_TEXT        true
#define IS_TEXT_ENUM(names) false
#define IS_TEXT_REF(table)  false
#define CELL(table, id, name, type, unit, codec, doc)                                              \
    {#name, offsetof(struct mp_row_##table, name), IS_TEXT_##type},
#define CELLS(id, name, kind, since, doc)                                                          \
    static const struct cell cells_##name[] = {MP_COLUMNS_##name(CELL) {NULL, 0, false}};
MP_TABLES(CELLS)

#define APPEND(id, name, kind, since, doc)                                                         \
    static void append_##name(struct mp_writer *writer, const void *row)                           \
    {                                                                                              \
        mp_append_##name(writer, row);                                                             \
    }
MP_TABLES(APPEND)

union any_row {
#define MEMBER(id, name, kind, since, doc) struct mp_row_##name name;
    MP_TABLES(MEMBER)
};

static const struct table {
    const char *name;
    const struct cell *cells;
    void (*append)(struct mp_writer *writer, const void *row);
} tables[] = {
#define TABLE(id, name, kind, since, doc) {#name, cells_##name, append_##name},
    MP_TABLES(TABLE)
};
/* clang-format on */

static void fail(const char *what, const char *name)
{
    fprintf(stderr, "write_trace: %s '%s'\n", what, name);
    exit(1);
}

static const struct table *find_table(const char *name)
{
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (strcmp(tables[i].name, name) == 0)
            return &tables[i];
    fail("no table", name);
    return NULL;
}

static void set_cell(union any_row *row, const struct cell *cell, char *value)
{
    char *place = (char *)row + cell->offset;
    char *end = value;
    uint64_t number;

    if (cell->is_text) {
        struct mp_text text = {value, (uint32_t)strlen(value)};
        memcpy(place, &text, sizeof text);
        return;
    }
    errno = 0;
    number = strtoull(value, &end, 0); /* "-5" is what it is in 64 bits */
    if (errno || !*value || *end)
        fail("no number", value);
    memcpy(place, &number, sizeof number);
}

static void set_named(union any_row *row, const struct table *table, char *pair)
{
    char *value = strchr(pair, '=');

    if (!value)
        fail("no value", pair);
    *value++ = 0;
    for (const struct cell *cell = table->cells; cell->name; cell++)
        if (strcmp(cell->name, pair) == 0) {
            set_cell(row, cell, value);
            return;
        }
    fail("no column", pair);
}

/* The next one at *at, which moves behind it; NULL at the end. */
static char *next_word(char **at)
{
    char *word;

    while ((word = strsep(at, " \n")))
        if (*word)
            return word;
    return NULL;
}

static void append_line(struct mp_writer *writer, char *line)
{
    char *word = next_word(&line);
    const struct table *table;
    union any_row row;

    if (!word)
        return;
    table = find_table(word);
    memset(&row, 0, sizeof row);
    while ((word = next_word(&line)))
        set_named(&row, table, word);
    table->append(writer, &row);
}

/* Adds the line's pairs, each as a line. */
static void add_header(char *header, size_t size, char *line)
{
    size_t used = strlen(header);
    const char *word;

    while ((word = next_word(&line))) {
        used += (size_t)snprintf(header + used, size - used, "%s\n", word);
        if (used >= size)
            fail("too long:", "header");
    }
}

static struct mp_writer *open_writer(const char *path, const char *header)
{
    struct mp_writer_options how = {.level = 3};
    struct mp_writer *writer = NULL;
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);

    if (fd < 0 || mp_writer_open(fd, header, &how, &writer, NULL))
        fail("cannot write", path);
    return writer;
}

int main(int argc, char **argv)
{
    static const char header_word[] = "header ";
    struct mp_writer *writer = NULL;
    char header[4096] = "miniprof=write_trace\npid=4242\nclock=monotonic\n";
    char *line = NULL;
    size_t size = 0;

    if (argc != 2) {
        fprintf(stderr, "usage: write_trace FILE, with rows on standard input\n");
        return 2;
    }
    while (getline(&line, &size, stdin) > 0) {
        if (strncmp(line, header_word, sizeof header_word - 1) == 0) {
            add_header(header, sizeof header, line + sizeof header_word - 1);
            continue;
        }
        if (!writer)
            writer = open_writer(argv[1], header);
        append_line(writer, line);
    }
    free(line);
    if (!writer)
        writer = open_writer(argv[1], header);
    if (mp_writer_close(writer, NULL) != MP_OK)
        fail("cannot write", argv[1]);
    return 0;
}
