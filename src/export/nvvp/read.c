/* Reads an .nvvp file into a trace. It decides by the MINIPROF_ tables which of the two ways is
 * right: read_ours.c restores our own file row for row, plain.c takes what it can of any other.
 */
#include "export/nvvp/read.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "export/nvvp/nvvp.h"

#include "base/poison.h"

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
    int fd;

    mp_buffer_append_byte(header, '\0');
    if (header->status == MP_ERR_LIMIT)
        return mp_error_set(reader->error, MP_ERR_DAMAGED,
                            "'%.150s' is damaged: its properties are too long", reader->db.path);
    if (header->status != MP_OK)
        return nvvp_no_memory(reader);
    fd = fcntl(reader->fd, F_DUPFD_CLOEXEC, 3);
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
    if (++*rows > reader->most_rows)
        return mp_error_set(reader->error, MP_ERR_DAMAGED,
                            "'%.150s' is damaged: a table has more rows than the file has room for",
                            reader->db.path);
    return nvvp_db_step(&reader->db, statement, reader->error);
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

static uint32_t big_endian(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* How many bytes the file should have by its header (sqlite.org/fileformat.html, 1.3); 0 when it
 * does not say. SQLite itself reads a file that was cut as far as it goes. */
static uint64_t promised_bytes(int fd)
{
    uint8_t header[100];
    uint64_t page_bytes;

    if (mp_pread_exact(fd, header, sizeof header, 0, NULL) != MP_OK ||
        memcmp(header + 24, header + 92, 4) != 0)
        return 0;
    page_bytes = (uint64_t)header[16] << 8 | header[17];
    return big_endian(header + 28) * (page_bytes == 1 ? 65536 : page_bytes);
}

/* What is no SQLite file, or not a whole one, is told in words of ours. */
static enum mp_status look_at(struct nvvp_reader *reader, const char *path)
{
    uint64_t bytes, promised;
    int fd;

    MP_TRY(mp_open_file(path, &fd, &bytes, reader->error));
    promised = promised_bytes(fd);
    close(fd);
    reader->most_rows = bytes;
    if (!bytes)
        return mp_error_set(reader->error, MP_ERR_FORMAT, "'%.150s' is empty", path);
    if (!nvvp_is(path))
        return mp_error_set(reader->error, MP_ERR_FORMAT,
                            "'%.150s' is no file of nvprof's: it is not an SQLite database", path);
    if (bytes < promised)
        return mp_error_set(reader->error, MP_ERR_DAMAGED,
                            "'%.150s' is damaged: only %llu of its %llu bytes are there", path,
                            (unsigned long long)bytes, (unsigned long long)promised);
    return MP_OK;
}

enum mp_status nvvp_read(const char *path, int fd, struct mp_error *error)
{
    struct mp_error own;
    struct nvvp_reader reader = {.error = error ? error : &own, .fd = fd};
    enum mp_status status, closed;

    MP_TRY(look_at(&reader, path));
    status = nvvp_db_open(&reader.db, path, reader.error);
    if (status == MP_OK)
        status = nvvp_db_has_table(&reader.db, "MINIPROF_INFO") ? nvvp_read_ours(&reader)
                                                                : nvvp_read_plain(&reader);
    if (status == MP_OK)
        status = nvvp_check_writer(&reader);
    closed = mp_writer_close(reader.writer, status == MP_OK ? reader.error : NULL);
    nvvp_db_close(&reader.db);
    return status == MP_OK ? closed : status;
}
