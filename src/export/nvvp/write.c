/* Writes an .nvvp file: one pass over the trace, one transaction. The file has a temporary name
 * until it is complete. */
#include "export/nvvp/write.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/data/storage.h"
#include "base/io.h"
#include "base/text/strings.h"
#include "export/nvvp/nvvp.h"
#include "profile/definitions.h"
#include "profile/identity.h"

#include "base/poison.h"

/* ---- The tables and the statements that fill them ---- */

/* MINIPROF_KERNEL for `kernel`. */
static void append_our_name(struct mp_buffer *sql, const struct mp_table_info *table)
{
    mp_buffer_append_text(sql, "MINIPROF_");
    for (const char *at = table->name; *at; at++)
        mp_buffer_append_byte(sql, (uint8_t)(*at >= 'a' && *at <= 'z' ? *at - 'a' + 'A' : *at));
}

static void append_questions(struct mp_buffer *sql, unsigned count)
{
    mp_buffer_append_text(sql, " VALUES(?");
    while (count--)
        mp_buffer_append_text(sql, ", ?");
    mp_buffer_append(sql, ")", 2); /* with its NUL */
}

/* Runs the CREATE statement in `sql`, then compiles the INSERT for that table. */
static enum mp_status create_and_prepare(struct nvvp_writer *writer, struct mp_buffer *sql,
                                         const char *name, unsigned columns,
                                         sqlite3_stmt **statement)
{
    if (sql->status != MP_OK)
        return mp_error_set(writer->error, sql->status, "no memory for '%.150s'", writer->db.path);
    MP_TRY(export_db_run(&writer->db, (const char *)sql->data, writer->error));
    mp_buffer_clear(sql);
    mp_buffer_append_format(sql, "INSERT INTO %s", name);
    append_questions(sql, columns);
    if (sql->status != MP_OK)
        return mp_error_set(writer->error, sql->status, "no memory for '%.150s'", writer->db.path);
    return export_db_prepare(&writer->db, (const char *)sql->data, statement, writer->error);
}

static enum mp_status make_their_table(struct nvvp_writer *writer, struct mp_buffer *sql,
                                       unsigned index)
{
    const struct nvvp_table *table = &nvvp_tables[index];

    mp_buffer_clear(sql);
    mp_buffer_append_format(sql, "CREATE TABLE %s(_id_ INTEGER PRIMARY KEY AUTOINCREMENT",
                            table->name);
    for (unsigned i = 0; i < table->column_count; i++)
        mp_buffer_append_format(sql, ", %s %s NOT NULL", table->columns[i].name,
                                table->columns[i].blob ? "BLOB" : "INT");
    mp_buffer_append(sql, ")", 2);
    return create_and_prepare(writer, sql, table->name, table->column_count,
                              &writer->theirs[index]);
}

static enum mp_status make_our_table(struct nvvp_writer *writer, struct mp_buffer *sql,
                                     const struct mp_table_info *table, unsigned index)
{
    uint32_t kept = nvvp_mapping_of(index).kept;
    char name[64];
    unsigned columns = 0;

    if (!kept)
        return MP_OK;
    mp_buffer_clear(sql);
    append_our_name(sql, table);
    mp_buffer_append_byte(sql, '\0');
    mp_text_copy(name, sizeof name, sql->status == MP_OK ? (const char *)sql->data : "");
    mp_buffer_clear(sql);
    mp_buffer_append_format(sql, "CREATE TABLE %s(_id_ INTEGER PRIMARY KEY", name);
    for (unsigned i = 0; i < table->column_count; i++)
        if (kept >> i & 1) {
            mp_buffer_append_format(sql, ", \"%s\" INT", table->columns[i].name);
            columns++;
        }
    mp_buffer_append(sql, ")", 2);
    return create_and_prepare(writer, sql, name, columns, &writer->ours[index]);
}

static enum mp_status make_tables(struct nvvp_writer *writer)
{
    struct mp_buffer sql = {.limit = 1 << 20};
    size_t count;
    const struct mp_table_info *tables = mp_tables(&count);
    enum mp_status status = export_db_run(&writer->db, nvvp_other_tables, writer->error);

    for (unsigned i = 0; i < NVVP_TABLE_COUNT && status == MP_OK; i++)
        status = make_their_table(writer, &sql, i);
    for (unsigned i = 0; i < count && status == MP_OK; i++)
        status = make_our_table(writer, &sql, &tables[i], i);
    mp_buffer_free(&sql);
    return status;
}

static enum mp_status prepare(struct nvvp_writer *writer)
{
    const struct {
        const char *sql;
        sqlite3_stmt **statement;
    } all[] = {
        {"INSERT OR REPLACE INTO StringTable VALUES(?, ?)", &writer->string},
        {"INSERT OR IGNORE INTO StringTable VALUES(?, ?)", &writer->string_if_new},
        {"INSERT INTO MINIPROF_STRING VALUES(?, ?, ?)", &writer->string_exact},
        {"UPDATE CUPTI_ACTIVITY_KIND_MEMORY SET end = ?, freePC = ? WHERE _id_ = ?",
         &writer->release},
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        MP_TRY(export_db_prepare(&writer->db, all[i].sql, all[i].statement, writer->error));
    return MP_OK;
}

/* ---- Strings ---- */

/* Copies a text into `valid`, with U+FFFD for each byte that belongs to no character and for each
 * NUL, because SQLite ends texts there; true if there was no such byte. */
static bool make_valid(const char *text, size_t bytes, struct mp_buffer *valid)
{
    bool was_valid = !(bytes && memchr(text, 0, bytes)) && utf8_is_valid(text, bytes);

    mp_buffer_clear(valid);
    for (size_t at = 0; at < bytes; at++) {
        const char *end = memchr(text + at, 0, bytes - at);
        size_t length = end ? (size_t)(end - text) - at : bytes - at;

        utf8_append_valid(valid, text + at, length);
        at += length;
        if (at < bytes)
            mp_buffer_append_text(valid, "\xef\xbf\xbd");
    }
    mp_buffer_append_byte(valid, '\0');
    return was_valid;
}

static enum mp_status put_text(struct nvvp_writer *writer, sqlite3_stmt *statement, uint64_t id)
{
    sqlite3_bind_int64(statement, 1, (sqlite3_int64)id);
    sqlite3_bind_text(statement, 2, (const char *)writer->string_text.data,
                      (int)writer->string_text.size - 1, SQLITE_STATIC);
    return export_db_put(&writer->db, statement, writer->error);
}

/* StringTable is for other programs: it has only valid text, and each id once. */
static enum mp_status put_string(struct nvvp_writer *writer, const struct mp_batch *batch,
                                 uint32_t row)
{
    uint32_t begin = row ? batch->text_end[row - 1] : 0;
    uint32_t bytes = batch->text_end[row] - begin;
    uint64_t number = writer->rows[MP_INDEX_string];
    uint64_t id = batch->columns[MP_COLUMN_string_id][row];
    bool exact = make_valid(batch->text + begin, bytes, &writer->string_text) && id == number;

    if (writer->string_text.status != MP_OK)
        return mp_error_set(writer->error, MP_ERR_MEMORY, "no memory for '%.150s'",
                            writer->db.path);
    MP_TRY(put_text(writer, exact ? writer->string : writer->string_if_new, id));
    if (exact)
        return MP_OK;
    sqlite3_bind_int64(writer->string_exact, 1, (sqlite3_int64)number);
    sqlite3_bind_int64(writer->string_exact, 2, (sqlite3_int64)id);
    sqlite3_bind_blob(writer->string_exact, 3, bytes ? batch->text + begin : "", (int)bytes,
                      SQLITE_STATIC);
    return export_db_put(&writer->db, writer->string_exact, writer->error);
}

/* ---- Rows ---- */

static enum mp_status put_kept(struct nvvp_writer *writer, const struct mp_batch *batch,
                               uint32_t row, unsigned index)
{
    sqlite3_stmt *statement = writer->ours[index];
    uint32_t kept = nvvp_mapping_of(index).kept;
    int at = 1;

    sqlite3_bind_int64(statement, at, (sqlite3_int64)writer->rows[index]);
    for (unsigned i = 0; i < batch->table->column_count; i++) {
        if (!(kept >> i & 1))
            continue;
        uint64_t value = batch->columns[i][row];
        if (batch->table->columns[i].type == MP_TYPE_TIME)
            value = nvvp_time_out(value, writer->offset);
        sqlite3_bind_int64(statement, ++at, (sqlite3_int64)value);
    }
    return export_db_put(&writer->db, statement, writer->error);
}

static enum mp_status put_batch(struct nvvp_writer *writer, const struct mp_batch *batch)
{
    size_t count;
    unsigned index = (unsigned)(batch->table - mp_tables(&count));

    for (uint32_t row = 0; row < batch->rows; row++) {
        writer->rows[index]++;
        if (index == MP_INDEX_string) {
            MP_TRY(put_string(writer, batch, row));
            continue;
        }
        if (writer->ours[index])
            MP_TRY(put_kept(writer, batch, row, index));
        MP_TRY(nvvp_write_row(writer, batch, row));
    }
    return MP_OK;
}

/* ---- What stands once in a file ---- */

static enum mp_status put_pair(struct nvvp_writer *writer, sqlite3_stmt *statement,
                               const char *name, const char *text, uint64_t number)
{
    sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
    if (!text)
        sqlite3_bind_int64(statement, 2, (sqlite3_int64)number);
    else if (make_valid(text, strlen(text), &writer->string_text))
        sqlite3_bind_text(statement, 2, text, -1, SQLITE_STATIC);
    else /* as bytes, so that it comes back as it was */
        sqlite3_bind_blob(statement, 2, text, (int)strlen(text), SQLITE_STATIC);
    return export_db_put(&writer->db, statement, writer->error);
}

static enum mp_status put_properties(struct nvvp_writer *writer, const struct mp_trace *trace)
{
    sqlite3_stmt *statement;
    const char *key, *value;

    MP_TRY(export_db_prepare(&writer->db, "INSERT INTO MINIPROF_PROPERTY(key, value) VALUES(?, ?)",
                             &statement, writer->error));
    enum mp_status status = MP_OK;
    for (size_t i = 0; status == MP_OK && mp_trace_property_at(trace, i, &key, &value); i++)
        status = put_pair(writer, statement, key, value, 0);
    sqlite3_finalize(statement);
    return status;
}

/* Records that were lost during recording. Without an index the number comes from the chunks. */
static enum mp_status count_dropped(struct mp_trace *trace, uint64_t *dropped,
                                    struct mp_error *error)
{
    struct mp_index index;
    struct mp_cursor *cursor;
    struct mp_chunk chunk;
    enum mp_status status;

    mp_trace_index(trace, &index);
    *dropped = index.dropped;
    if (index.present)
        return MP_OK;
    MP_TRY(mp_cursor_open(trace, &cursor, error));
    while ((status = mp_cursor_next_chunk(cursor, &chunk, false)) == MP_OK)
        if (chunk.dropped > *dropped)
            *dropped = chunk.dropped;
    mp_cursor_close(cursor);
    return status == MP_END ? MP_OK : mp_error_set(error, status, "cannot read the trace");
}

static enum mp_status put_info(struct nvvp_writer *writer, struct mp_trace *trace,
                               const char *damage)
{
    static const char version[] = "INSERT INTO Version VALUES(12)";
    enum mp_status status = MP_OK;
    sqlite3_stmt *statement;
    uint64_t dropped;

    _Static_assert(NVVP_VERSION == 12, "the statement above");
    MP_TRY(count_dropped(trace, &dropped, writer->error));
    const struct {
        const char *name;
        const char *text;
        uint64_t number;
    } pairs[] = {
        {"format", NULL, NVVP_OUR_FORMAT},
        {"writer", "miniprof " MP_VERSION, 0},
        {"time_offset_ns", NULL, writer->offset},
        {"times",
         writer->offset ? "since 1970: time_offset_ns was added to the recorder's clock"
                        : "of the recorder's clock: the trace does not relate it to 1970",
         0},
        {"strings", NULL, writer->rows[MP_INDEX_string]},
        {"dropped", NULL, dropped},
        {"damage", *damage ? damage : NULL, 0},
    };

    MP_TRY(export_db_run(&writer->db, version, writer->error));
    MP_TRY(export_db_prepare(&writer->db, "INSERT INTO MINIPROF_INFO VALUES(?, ?)", &statement,
                             writer->error));
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs && status == MP_OK; i++)
        if (pairs[i].text || strcmp(pairs[i].name, "damage") != 0)
            status = put_pair(writer, statement, pairs[i].name, pairs[i].text, pairs[i].number);
    sqlite3_finalize(statement);
    return status;
}

/* ---- The whole ---- */

static void init(struct nvvp_writer *writer, const struct mp_trace *trace)
{
    size_t limit = definitions_limit(trace);
    uint64_t clock, wall;

    dense_init(&writer->streams, sizeof(struct mp_row_stream), limit);
    dense_init(&writer->shapes, sizeof(struct mp_row_shape), limit);
    dense_init(&writer->functions, sizeof(struct mp_row_function), limit);
    dense_init(&writer->threads, sizeof(struct mp_row_thread), limit);
    if (property_number(trace, "start_clock_ns", INT64_MAX, &clock) &&
        property_number(trace, "start_realtime_ns", INT64_MAX, &wall))
        writer->offset = wall - clock;
    property_number(trace, "pid", INT64_MAX, &writer->pid);
}

static void release(struct nvvp_writer *writer)
{
    for (unsigned i = 0; i < NVVP_TABLE_COUNT; i++)
        sqlite3_finalize(writer->theirs[i]);
    for (unsigned i = 0; i < MP_TABLE_COUNT; i++)
        sqlite3_finalize(writer->ours[i]);
    sqlite3_finalize(writer->string);
    sqlite3_finalize(writer->string_if_new);
    sqlite3_finalize(writer->string_exact);
    sqlite3_finalize(writer->release);
    export_db_close(&writer->db);
    dense_free(&writer->streams);
    dense_free(&writer->shapes);
    dense_free(&writer->functions);
    dense_free(&writer->threads);
    nvtx_match_free(&writer->markers.match);
    mp_map_free(&writer->live);
    mp_buffer_free(&writer->string_text);
}

static enum mp_status put_trace(struct nvvp_writer *writer, struct mp_trace *trace, char *damage,
                                size_t damage_bytes)
{
    struct mp_cursor *cursor;
    struct mp_batch batch;
    struct mp_damage found;
    enum mp_status status;

    MP_TRY(mp_cursor_open(trace, &cursor, writer->error));
    while ((status = mp_cursor_next(cursor, &batch)) == MP_OK)
        if ((status = put_batch(writer, &batch)) != MP_OK)
            break;
    if (status == MP_ERR_IO || status == MP_ERR_MEMORY)
        if (writer->error && !writer->error->text[0])
            mp_error_set(writer->error, status, "cannot read the trace on");
    mp_cursor_damage(cursor, &found);
    mp_damage_describe(&found, damage, damage_bytes);
    mp_cursor_close(cursor);
    return status == MP_END ? MP_OK : status;
}

static enum mp_status nvvp_write_fill(struct nvvp_writer *writer, struct mp_trace *trace,
                                      const char *path, const char *file)
{
    char damage[512];

    MP_TRY(export_db_create(&writer->db, path, file, writer->error));
    MP_TRY(make_tables(writer));
    MP_TRY(prepare(writer));
    MP_TRY(put_properties(writer, trace));
    MP_TRY(put_trace(writer, trace, damage, sizeof damage));
    MP_TRY(put_info(writer, trace, damage));
    return export_db_run(&writer->db, "COMMIT", writer->error);
}

/* Gives the finished file its name, but never replaces another file. */
static enum mp_status give_name(const char *file, const char *path, struct mp_error *error)
{
    if (renameat2(AT_FDCWD, file, AT_FDCWD, path, RENAME_NOREPLACE) == 0)
        return MP_OK;
    if ((errno == EINVAL || errno == ENOSYS) && access(path, F_OK) != 0 && rename(file, path) == 0)
        return MP_OK;
    return mp_error_set(error, MP_ERR_IO, "cannot create '%.150s': %m", path);
}

/* Creates an empty file in the folder of `path`, and puts its name into `file`. */
static enum mp_status create_beside(const char *path, char *file, size_t size,
                                    struct mp_error *error)
{
    int length = snprintf(file, size, "%s.%d.part", path, (int)getpid());
    struct stat about;
    int fd;

    if (length < 0 || (size_t)length >= size)
        errno = ENAMETOOLONG;
    else if (lstat(path, &about) == 0)
        errno = EEXIST;
    else if (errno == ENOENT && mp_create_exclusive(file, &fd, NULL) == MP_OK)
        return close(fd) == 0 ? MP_OK : MP_ERR_IO;
    return mp_error_set(error, MP_ERR_IO, "cannot create '%.150s': %m", path);
}

enum mp_status nvvp_write(struct mp_trace *trace, const char *path, struct mp_error *error)
{
    struct mp_error own = {.status = MP_OK};
    struct nvvp_writer *writer;
    char file[PATH_MAX];

    MP_TRY(create_beside(path, file, sizeof file, error));
    writer = calloc(1, sizeof *writer);
    if (!writer) {
        unlink(file);
        return mp_error_set(error, MP_ERR_MEMORY, "no memory for '%.150s'", path);
    }
    writer->error = &own;
    init(writer, trace);
    enum mp_status status = nvvp_write_fill(writer, trace, path, file);
    release(writer);
    free(writer);
    if (status == MP_OK)
        status = give_name(file, path, &own);
    if (status != MP_OK) {
        unlink(file);
        return mp_error_set(error, status, "%s", own.text);
    }
    return MP_OK;
}
