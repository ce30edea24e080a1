/* Reads an .nvvp file into a trace. It decides by the MINIPROF_ tables which of the two ways is
 * right: read_ours.c restores our own file row for row, plain.c takes what it can of any other.
 */
#include "export/nvvp/read.h"

#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/text/units.h"
#include "export/nvvp/nvvp.h"

#include "base/poison.h"

static uint32_t big_endian(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* The length in bytes that the file's header states (sqlite.org/fileformat.html, 1.3); 0 if it
 * states none. SQLite itself reads a cut file as far as it goes. */
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

/* Reports a file that is no SQLite file, or an incomplete one, in our own words. */
static enum mp_status look_at(struct nvvp_reader *reader, const char *path)
{
    uint64_t bytes, promised;
    int fd;

    MP_TRY(mp_open_file(path, &fd, &bytes, reader->error));
    promised = promised_bytes(fd);
    close(fd);
    reader->max_rows = bytes;
    if (!bytes)
        return mp_error_set(reader->error, MP_ERR_FORMAT, "'%.150s' is empty", path);
    if (!nvvp_is(path))
        return mp_error_set(reader->error, MP_ERR_FORMAT,
                            "'%.150s' is no file of nvprof's: it is not an SQLite database", path);
    if (bytes < promised)
        return mp_error_set(reader->error, MP_ERR_DAMAGED,
                            "'%.150s' is damaged: only %s of its %s bytes are there", path,
                            mp_count(bytes).text, mp_count(promised).text);
    return MP_OK;
}

enum mp_status nvvp_read(const char *path, int fd, struct mp_error *error)
{
    struct mp_error own;
    struct nvvp_reader reader = {.error = error ? error : &own, .fd = fd};
    enum mp_status status, closed;

    MP_TRY(look_at(&reader, path));
    status = export_db_open(&reader.db, path, reader.error);
    if (status == MP_OK)
        status = export_db_has_table(&reader.db, "MINIPROF_INFO") ? nvvp_read_ours(&reader)
                                                                  : nvvp_read_plain(&reader);
    if (status == MP_OK)
        status = nvvp_check_writer(&reader);
    closed = mp_writer_close(reader.writer, status == MP_OK ? reader.error : NULL);
    export_db_close(&reader.db);
    return status == MP_OK ? closed : status;
}
