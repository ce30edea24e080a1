/* What both ways of reading a file need: the trace that is being written, rows with a limit,
 * messages about a damaged file, and rows of several tables in one order.
 */
#include "export/nvvp/read.h"

#include <fcntl.h>
#include <unistd.h>

#include "export/nvvp/nvvp.h"

#include "base/poison.h"

const char *nvvp_library(void)
{
    return sqlite3_libversion();
}

void nvvp_add_property(struct mp_buffer *header, const char *key, const char *value, size_t bytes)
{
    mp_buffer_append_format(header, "%s=", key);
    for (size_t i = 0; i < bytes; i++) {
        bool breaks = value[i] == '\n' || value[i] == '\0';

        mp_buffer_append_byte(header, breaks ? ' ' : (uint8_t)value[i]);
    }
    mp_buffer_append_byte(header, '\n');
}

enum mp_status nvvp_start_trace(struct nvvp_reader *reader, struct mp_buffer *header)
{
    const struct mp_writer_options options = {.level = 1};

    mp_buffer_append_byte(header, '\0');
    if (header->status == MP_ERR_LIMIT)
        return mp_error_set(reader->error, MP_ERR_DAMAGED,
                            "'%.150s' is damaged: its properties are too long", reader->db.path);
    if (header->status != MP_OK)
        return nvvp_no_memory(reader);
    int fd = fcntl(reader->fd, F_DUPFD_CLOEXEC, 3);
    if (fd < 0 || ftruncate(fd, 0) != 0 || lseek(fd, 0, SEEK_SET) != 0) {
        enum mp_status status = mp_error_set(
            reader->error, MP_ERR_IO, "cannot write what '%.150s' holds: %m", reader->db.path);

        if (fd >= 0)
            close(fd);
        return status;
    }
    return mp_writer_open(fd, (const char *)header->data, &options, &reader->writer, reader->error);
}

enum mp_status nvvp_next_row(const struct nvvp_reader *reader, sqlite3_stmt *statement,
                             uint64_t *rows)
{
    if (++*rows > reader->max_rows)
        return mp_error_set(reader->error, MP_ERR_DAMAGED,
                            "'%.150s' is damaged: a table has more rows than the file has room for",
                            reader->db.path);
    return export_db_step(&reader->db, statement, reader->error);
}

enum mp_status nvvp_bad_value(const struct nvvp_reader *reader, const char *table, uint64_t row,
                              const char *column, const char *what)
{
    return mp_error_set(reader->error, MP_ERR_DAMAGED,
                        "'%.80s' is damaged: %.50s, row %llu: '%s' %s", reader->db.path, table,
                        (unsigned long long)row, column, what);
}

enum mp_status nvvp_check_writer(const struct nvvp_reader *reader)
{
    const struct mp_error *failure = &reader->writer->failure;

    if (failure->status == MP_OK)
        return MP_OK;
    return mp_error_set(reader->error, failure->status, "cannot write what '%.100s' holds: %.100s",
                        reader->db.path, failure->text);
}

enum mp_status nvvp_no_memory(const struct nvvp_reader *reader)
{
    return mp_error_set(reader->error, MP_ERR_MEMORY, "no memory for '%.150s'", reader->db.path);
}

/* ---- Several tables in one order ---- */

/* The row with the earliest time goes next; a table without times is read in the file's order. So
 * the trace does not hold all of one table before all of the next. */

#define MAX_SOURCES 32

struct merge {
    struct nvvp_reader *reader;
    struct nvvp_source *live[MAX_SOURCES]; /* those that are not at their end */
    size_t count;
    enum mp_status (*read)(void *context, struct nvvp_source *);
    void *context;
};

static enum mp_status merge_advance(struct merge *merge, struct nvvp_source *source)
{
    enum mp_status status = nvvp_next_row(merge->reader, source->statement, &source->rows);

    source->at_end = status == MP_END;
    if (source->at_end)
        return MP_OK;
    return status == MP_OK ? merge->read(merge->context, source) : status;
}

static struct nvvp_source *earliest(struct merge *merge)
{
    struct nvvp_source *first = NULL;

    for (size_t i = 0; i < merge->count; i++) {
        while (i < merge->count && merge->live[i]->at_end)
            merge->live[i] = merge->live[--merge->count];
        if (i < merge->count && (!first || merge->live[i]->time < first->time))
            first = merge->live[i];
    }
    return first;
}

static enum mp_status merge_run(struct merge *merge,
                                enum mp_status (*take)(void *context, struct nvvp_source *))
{
    struct nvvp_source *source;

    for (size_t i = 0; i < merge->count; i++)
        MP_TRY(merge_advance(merge, merge->live[i]));
    while ((source = earliest(merge))) {
        MP_TRY(take(merge->context, source));
        MP_TRY(nvvp_check_writer(merge->reader));
        MP_TRY(merge_advance(merge, source));
    }
    return MP_OK;
}

enum mp_status nvvp_merge(struct nvvp_reader *reader, void *sources, size_t count, size_t bytes,
                          enum mp_status (*read)(void *context, struct nvvp_source *),
                          enum mp_status (*take)(void *context, struct nvvp_source *),
                          void *context)
{
    struct merge merge = {.reader = reader, .read = read, .context = context};

    for (size_t i = 0; i < count && i < MAX_SOURCES; i++)
        merge.live[merge.count++] = (struct nvvp_source *)(void *)((char *)sources + i * bytes);
    enum mp_status status = merge_run(&merge, take);
    for (size_t i = 0; i < count; i++) {
        struct nvvp_source *source = (struct nvvp_source *)(void *)((char *)sources + i * bytes);

        sqlite3_finalize(source->statement);
        source->statement = NULL;
    }
    return status;
}
