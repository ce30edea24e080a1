/* Copies a trace, with names by somebody who means ill: rename_trace FROM TO
 * [all]. Each text, also of the header (with `all` what looks like a number too), begins as a
 * formula, and ends with what acts on a terminal, turns the order of a line round or hides in it.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/storage.h"
#include "trace/writer.h"

#include <miniprof/trace.h>

#define BEGIN "="
/* ESC, BEL, DEL, line break, tab, U+009B, U+202E, U+2066, U+061C, U+200B, U+2028, U+E0041, and a
 * byte that is no UTF-8. In the header a line break ends a value. */
#define END                                                                                        \
    "\033[31m\a\177\xc2\x9b"                                                                       \
    "2J\xe2\x80\xae\xe2\x81\xa6\xd8\x9c\xe2\x80\x8b\xe2\x80\xa8\xf3\xa0\x81\x81\xff<b>\"'"
#define BREAKS "\n\t\r"

static void fail(const char *what)
{
    fprintf(stderr, "rename_trace: %s\n", what);
    exit(1);
}

/* Numbers of the header stay, since much depends on them. */
static bool is_name(const char *value)
{
    return strspn(value, "0123456789.") != strlen(value);
}

static void copy_header(struct mp_buffer *header, const struct mp_trace *trace, bool all)
{
    const char *key, *value;

    for (size_t i = 0; mp_trace_property_at(trace, i, &key, &value); i++) {
        bool kept = !strcmp(key, "clock") || (!all && !is_name(value));

        mp_buffer_append_format(header, "%s=%s%s%s\n", key, kept ? "" : BEGIN, value,
                                kept ? "" : END);
    }
    mp_buffer_append_byte(header, '\0');
}

static void append_text(struct mp_builder *builder, unsigned column, const char *text, size_t bytes)
{
    struct mp_buffer *into = &builder->text;
    size_t before = into->size;

    mp_buffer_append_text(into, bytes ? BEGIN : "");
    mp_buffer_append(into, text, bytes);
    mp_buffer_append_text(into, bytes ? END BREAKS : "");
    builder->columns[column][builder->rows] = (uint32_t)(into->size - before);
}

static void append_row(struct mp_writer *writer, const struct mp_batch *batch, uint32_t row)
{
    size_t count;
    struct mp_builder *builder = &writer->builders[batch->table - mp_tables(&count)];
    bool room = builder->rows < builder->capacity && builder->rows < builder->limit &&
                builder->text.size < MP_BUILDER_TEXT_BYTES;

    if (!room && !mp_writer_make_room(writer, builder))
        fail("cannot write");
    for (unsigned i = 0; i < batch->table->column_count; i++) {
        uint32_t begin = row && batch->text ? batch->text_end[row - 1] : 0;

        if (batch->table->columns[i].type == MP_TYPE_TEXT)
            append_text(builder, i, batch->text + begin, batch->text_end[row] - begin);
        else
            builder->columns[i][builder->rows] = batch->columns[i][row];
    }
    builder->rows++;
}

/* Each chunk is one again, so that definitions stay in front of what refers to them. */
static void copy_rows(struct mp_writer *writer, struct mp_cursor *cursor)
{
    struct mp_batch batch;

    while (mp_cursor_next(cursor, &batch) == MP_OK) {
        for (uint32_t row = 0; row < batch.rows; row++)
            append_row(writer, &batch, row);
        if (mp_writer_flush(writer) != MP_OK)
            fail("cannot write");
    }
}

int main(int argc, char **argv)
{
    static const struct mp_writer_options options = {.level = 1};
    struct mp_buffer header = {.data = NULL};
    struct mp_trace *trace = NULL;
    struct mp_cursor *cursor = NULL;
    struct mp_writer *writer = NULL;
    int fd;

    if (argc < 3)
        fail("usage: rename_trace FROM TO [all]");
    if (mp_trace_open(argv[1], &trace, NULL) != MP_OK ||
        mp_cursor_open(trace, &cursor, NULL) != MP_OK)
        fail("cannot read");
    copy_header(&header, trace, argc > 3);
    fd = open(argv[2], O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || mp_writer_open(fd, (const char *)header.data, &options, &writer, NULL) != MP_OK)
        fail("cannot write");
    copy_rows(writer, cursor);
    if (mp_writer_close(writer, NULL) != MP_OK)
        fail("cannot write");
    mp_cursor_close(cursor);
    mp_trace_close(trace);
    mp_buffer_free(&header);
    return 0;
}
