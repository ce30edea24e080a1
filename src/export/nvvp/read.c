/* Reads an .nvvp file into a trace. It decides by the MINIPROF_ tables which of the two ways is
 * right: our own file is restored row for row, and plain.c takes what it can of any other.
 */
#include "export/nvvp/read.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/text/units.h"
#include "export/nvvp/nvvp.h"

#include "base/poison.h"

/* ---- Our own files ---- */

/* A file with MINIPROF_ tables restores, row by row, the trace that it was made from. */

/* One table of ours. */
struct our_source {
    struct nvvp_source source; /* first: nvvp_merge */
    const struct mp_table_info *info;
    unsigned index;
    bool ends;
    uint64_t values[MP_MAX_COLUMNS];
};

struct ours {
    struct nvvp_reader *reader;
    uint64_t offset;
    uint64_t strings;
    uint64_t dropped;
    struct our_source sources[MP_TABLE_COUNT];
};

/* ---- MINIPROF_INFO and MINIPROF_PROPERTY ---- */

/* The number of that name; 0 when it is not there. */
static enum mp_status read_info(const struct ours *ours, const char *name, uint64_t *value)
{
    const struct nvvp_reader *reader = ours->reader;
    sqlite3_stmt *statement;

    *value = 0;
    MP_TRY(export_db_prepare(&reader->db, "SELECT value FROM MINIPROF_INFO WHERE name = ?",
                             &statement, reader->error));
    sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
    enum mp_status status = export_db_step(&reader->db, statement, reader->error);
    if (status == MP_OK && sqlite3_column_type(statement, 0) != SQLITE_INTEGER)
        status = mp_error_set(reader->error, MP_ERR_DAMAGED,
                              "'%.100s' is damaged: MINIPROF_INFO: '%s' is no number",
                              reader->db.path, name);
    if (status == MP_OK)
        *value = (uint64_t)sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return status == MP_END ? MP_OK : status;
}

static enum mp_status read_infos(struct ours *ours)
{
    uint64_t format;

    MP_TRY(read_info(ours, "format", &format));
    if (format > NVVP_OUR_FORMAT)
        return mp_error_set(ours->reader->error, MP_ERR_VERSION,
                            "'%.150s' was written by a newer miniprof: update this one",
                            ours->reader->db.path);
    MP_TRY(read_info(ours, "time_offset_ns", &ours->offset));
    MP_TRY(read_info(ours, "strings", &ours->strings));
    return read_info(ours, "dropped", &ours->dropped);
}

/* Adds key and value of a header line; skips rows that cannot come from a header. */
static void add_line(struct mp_buffer *header, sqlite3_stmt *statement)
{
    const char *key = (const char *)sqlite3_column_text(statement, 0);
    const char *value = sqlite3_column_blob(statement, 1);

    if (key && !strpbrk(key, "=\n"))
        nvvp_add_property(header, key, value ? value : "",
                          (size_t)sqlite3_column_bytes(statement, 1));
}

static enum mp_status read_header(const struct ours *ours, struct mp_buffer *header)
{
    static const char sql[] =
        "SELECT key, value, 0, _id_ FROM MINIPROF_PROPERTY UNION ALL "
        "SELECT 'damage_before_export', value, 1, 0 FROM MINIPROF_INFO WHERE name = 'damage' "
        "ORDER BY 3, 4";
    const struct nvvp_reader *reader = ours->reader;
    sqlite3_stmt *statement;
    enum mp_status status;
    uint64_t rows = 0;

    MP_TRY(export_db_prepare(&reader->db, sql, &statement, reader->error));
    while ((status = nvvp_next_row(reader, statement, &rows)) == MP_OK)
        add_line(header, statement);
    sqlite3_finalize(statement);
    return status == MP_END ? MP_OK : status;
}

/* ---- Strings ---- */

static enum mp_status read_strings(const struct ours *ours)
{
    static const char sql[] =
        "SELECT _id_, _id_, value FROM StringTable WHERE _id_ BETWEEN 1 AND ?1 AND _id_ NOT IN "
        "(SELECT _id_ FROM MINIPROF_STRING) UNION ALL "
        "SELECT _id_, id, value FROM MINIPROF_STRING ORDER BY 1";
    const struct nvvp_reader *reader = ours->reader;
    sqlite3_stmt *statement;
    enum mp_status status;
    uint64_t rows = 0;

    MP_TRY(export_db_prepare(&reader->db, sql, &statement, reader->error));
    sqlite3_bind_int64(statement, 1, (sqlite3_int64)ours->strings);
    while ((status = nvvp_next_row(reader, statement, &rows)) == MP_OK) {
        const char *bytes = sqlite3_column_blob(statement, 2);
        const struct mp_row_string string = {
            .id = (uint64_t)sqlite3_column_int64(statement, 1),
            .text = {bytes ? bytes : "", (uint32_t)sqlite3_column_bytes(statement, 2)},
        };

        mp_append_string(reader->writer, &string);
    }
    sqlite3_finalize(statement);
    return status == MP_END ? MP_OK : status;
}

/* ---- All other tables ---- */

static void select_from(const struct mp_table_info *table, struct nvvp_mapping mapping,
                        struct mp_buffer *sql)
{
    mp_buffer_append_text(sql, "SELECT ");
    if (mapping.select) {
        mp_buffer_append_text(sql, mapping.select);
    } else {
        for (unsigned i = 0; i < table->column_count; i++)
            mp_buffer_append_format(sql, "%s\"%s\"", i ? ", " : "", table->columns[i].name);
        /* SQLite's names are the same in capitals. */
        mp_buffer_append_format(sql, " FROM MINIPROF_%s m", table->name);
    }
    mp_buffer_append(sql, " ORDER BY m._id_", sizeof " ORDER BY m._id_");
}

static enum mp_status open_source(struct ours *ours, const struct mp_table_info *table,
                                  unsigned index, struct our_source *source)
{
    struct nvvp_mapping mapping = nvvp_mapping_of(index);
    struct mp_buffer sql = {.limit = 1 << 16};
    enum mp_status status;

    *source = (struct our_source){
        .source.table = table->name, .info = table, .index = index, .ends = mapping.ends};
    select_from(table, mapping, &sql);
    if (sql.status != MP_OK)
        status = nvvp_no_memory(ours->reader);
    else
        status = export_db_prepare(&ours->reader->db, (const char *)sql.data,
                                   &source->source.statement, ours->reader->error);
    mp_buffer_free(&sql);
    return status;
}

static enum mp_status read_row(void *context, struct nvvp_source *generic)
{
    struct our_source *source = (struct our_source *)generic;
    const struct ours *ours = context;
    uint64_t begin = 0;

    for (int i = 0; i < source->info->column_count; i++) {
        const struct mp_column_info *column = &source->info->columns[i];
        uint64_t value = (uint64_t)sqlite3_column_int64(generic->statement, i);

        if (sqlite3_column_type(generic->statement, i) != SQLITE_INTEGER)
            return nvvp_bad_value(ours->reader, generic->table, generic->rows, column->name,
                                  "is no number");
        if (column->type == MP_TYPE_TIME) {
            begin = value;
            value = nvvp_time_in(value, ours->offset);
            generic->time = value;
        }
        if (column->type == MP_TYPE_DURATION && source->ends)
            value -= begin;
        source->values[i] = value;
    }
    return MP_OK;
}

static enum mp_status read_ours_take_row(void *context, struct nvvp_source *generic)
{
    const struct our_source *source = (const struct our_source *)generic;
    const struct ours *ours = context;
    struct mp_writer *writer = ours->reader->writer;
    struct mp_builder *builder = &writer->builders[source->index];
    bool room = builder->rows < builder->capacity && builder->rows < builder->limit &&
                !writer->failure.status;

    if (!room && !mp_writer_make_room(writer, builder))
        return MP_OK; /* the writer knows why */
    for (unsigned i = 0; i < source->info->column_count; i++)
        builder->columns[i][builder->rows] = source->values[i];
    builder->rows++;
    return MP_OK;
}

/* Definitions table by table, then all other rows by time. */
static enum mp_status read_tables(struct ours *ours, bool definitions)
{
    size_t tables;
    const struct mp_table_info *table = mp_tables(&tables);
    enum mp_status status = MP_OK;
    size_t count = 0;

    for (unsigned i = 0; i < tables && status == MP_OK; i++)
        if (i != MP_INDEX_string && (table[i].kind == MP_TABLE_DEFINITION) == definitions)
            status = open_source(ours, &table[i], i, &ours->sources[count++]);
    if (status == MP_OK)
        return nvvp_merge(ours->reader, ours->sources, count, sizeof *ours->sources, read_row,
                          read_ours_take_row, ours);
    for (size_t i = 0; i < count; i++)
        sqlite3_finalize(ours->sources[i].source.statement);
    return status;
}

static enum mp_status read_ours(struct nvvp_reader *reader)
{
    struct mp_buffer header = {.limit = MP_MAX_HEADER_BYTES};
    struct ours ours = {.reader = reader};
    enum mp_status status = read_infos(&ours);

    if (status == MP_OK)
        status = read_header(&ours, &header);
    if (status == MP_OK)
        status = nvvp_start_trace(reader, &header);
    mp_buffer_free(&header);
    MP_TRY(status);
    mp_writer_set_dropped(reader->writer, ours.dropped);
    MP_TRY(read_strings(&ours));
    MP_TRY(read_tables(&ours, true));
    return read_tables(&ours, false);
}

static uint32_t big_endian(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* The length in bytes that the file's header states (sqlite.org/fileformat.html, 1.3); 0 if it
 * states none. SQLite itself reads a cut file as far as it goes. */
static uint64_t promised_bytes(int fd)
{
    uint8_t header[100];

    if (mp_pread_exact(fd, header, sizeof header, 0, NULL) != MP_OK ||
        memcmp(header + 24, header + 92, 4) != 0)
        return 0;
    uint64_t page_bytes = (uint64_t)header[16] << 8 | header[17];
    return big_endian(header + 28) * (page_bytes == 1 ? 65536 : page_bytes);
}

/* Reports a file that is no SQLite file, or an incomplete one, in our own words. */
static enum mp_status look_at(struct nvvp_reader *reader, const char *path)
{
    uint64_t bytes;
    int fd;

    MP_TRY(mp_open_file(path, &fd, &bytes, reader->error));
    uint64_t promised = promised_bytes(fd);
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

    MP_TRY(look_at(&reader, path));
    enum mp_status status = export_db_open(&reader.db, path, reader.error);
    if (status == MP_OK)
        status = export_db_has_table(&reader.db, "MINIPROF_INFO") ? read_ours(&reader)
                                                                  : nvvp_read_plain(&reader);
    if (status == MP_OK)
        status = nvvp_check_writer(&reader);
    enum mp_status closed = mp_writer_close(reader.writer, status == MP_OK ? reader.error : NULL);
    export_db_close(&reader.db);
    return status == MP_OK ? closed : status;
}
