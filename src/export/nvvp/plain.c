/* Reads files that nvprof wrote, and others with nvprof's tables: as much of them as a trace can
 * hold. Columns that older versions of the schema do not have read as 0. */
#include "base/text/strings.h"
#include "export/nvvp/read.h"

#include <stdio.h>
#include <string.h>

#include "base/poison.h"

/* ---- The header of the trace ---- */

/* The first number that a statement gives; 0 if it gives none or cannot be run. */
static uint64_t first_number(const struct nvvp_reader *reader, const char *sql)
{
    sqlite3_stmt *statement;
    uint64_t number = 0;

    if (export_db_prepare(&reader->db, sql, &statement, NULL) != MP_OK)
        return 0; /* no such table */
    if (sqlite3_step(statement) == SQLITE_ROW &&
        sqlite3_column_type(statement, 0) == SQLITE_INTEGER)
        number = (uint64_t)sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return number;
}

static bool is_known(const char *table)
{
    static const char *const others[] = {"StringTable", "Version", "CUPTI_ACTIVITY_KIND_KERNEL"};

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(table, others[i]) == 0)
            return true;
    for (size_t i = 0; i < NVVP_TABLE_COUNT; i++)
        if (strcmp(table, nvvp_tables[i].name) == 0)
            return true;
    return false;
}

static bool has_rows(const struct nvvp_reader *reader, const char *table)
{
    char sql[256];

    sqlite3_snprintf(sizeof sql, sql, "SELECT 1 FROM \"%w\" LIMIT 1", table);
    return first_number(reader, sql) != 0;
}

/* Names the tables whose rows are not read, separated by spaces. */
static enum mp_status unknown_tables(const struct nvvp_reader *reader, struct mp_buffer *names,
                                     uint64_t *count)
{
    static const char sql[] = "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage "
                              "> 0 AND name NOT LIKE 'sqlite_%' ORDER BY name";
    sqlite3_stmt *statement;
    enum mp_status status;
    uint64_t rows = 0;

    *count = 0;
    MP_TRY(export_db_prepare(&reader->db, sql, &statement, reader->error));
    while ((status = nvvp_next_row(reader, statement, &rows)) == MP_OK) {
        const char *table = (const char *)sqlite3_column_text(statement, 0);

        if (!table || is_known(table) || !has_rows(reader, table))
            continue;
        ++*count;
        if (names->size < 1024)
            mp_buffer_append_format(names, "%s%s", names->size ? " " : "", table);
    }
    sqlite3_finalize(statement);
    return status == MP_END ? MP_OK : status;
}

/* Begins the trace. Its header says that times are since 1970 and from `earliest` on. *unknown
 * receives the number of tables whose rows are not read. */
static enum mp_status start_trace(struct nvvp_plain *plain, uint64_t earliest, uint64_t *unknown)
{
    const struct nvvp_reader *reader = plain->reader;
    struct mp_buffer header = {.limit = MP_MAX_HEADER_BYTES};
    struct mp_buffer names = {.limit = 1 << 16};
    uint64_t pid =
        first_number(reader, "SELECT processId FROM CUPTI_ACTIVITY_KIND_RUNTIME LIMIT 1");
    unsigned long long time = earliest;
    enum mp_status status = unknown_tables(reader, &names, unknown);

    if (!pid)
        pid = first_number(reader, "SELECT processId FROM CUPTI_ACTIVITY_KIND_DRIVER LIMIT 1");
    mp_buffer_append_text(&header, "miniprof=" MP_VERSION "\n");
    if (pid)
        mp_buffer_append_format(&header, "pid=%llu\n", (unsigned long long)pid);
    mp_buffer_append_format(
        &header, "clock=realtime\nstart_clock_ns=%llu\nstart_realtime_ns=%llu\nnvvp_version=%llu\n",
        time, time, (unsigned long long)first_number(reader, "SELECT version FROM Version"));
    if (names.size)
        nvvp_add_property(&header, "nvvp_tables_unknown", (const char *)names.data, names.size);
    if (status == MP_OK)
        status = nvvp_start_trace(plain->reader, &header);
    mp_buffer_free(&names);
    mp_buffer_free(&header);
    return status;
}

/* Which thread made the call with a correlation id, and when. */
#define CALLERS                                                                                    \
    "(SELECT correlationId AS c, min(threadId) AS thread, min(start) AS start, max(end) AS end "   \
    "FROM %s GROUP BY correlationId)"
#define RUNTIME "CUPTI_ACTIVITY_KIND_RUNTIME"
#define DRIVER  "CUPTI_ACTIVITY_KIND_DRIVER"
#define BOTH                                                                                       \
    "(SELECT correlationId, threadId, start, end FROM " RUNTIME                                    \
    " UNION ALL SELECT correlationId, threadId, start, end FROM " DRIVER ")"
/* One row for each id, whatever the file holds. */
#define MARKER_DATA                                                                                \
    "(SELECT id, flags, payloadKind, payload, color, category, min(rowid) FROM "                   \
    "CUPTI_ACTIVITY_KIND_MARKER_DATA GROUP BY id)"

struct nvvp_plain_kind {
    const char *name;  /* of the table, if it is not `like` */
    const char *time;  /* column that rows are merged by; NULL: extra[1], or no time */
    const char *needs; /* a further column that the table must have to be usable, or NULL */
    const char *extra; /* expressions after the columns, or NULL */
    const char *join;  /* the tables that rows are joined with; %s in it is the calls, if `calls` */
    const char *order; /* conditions and order, if not the file's */
    nvvp_take *take;
    uint8_t like; /* enum nvvp_table_index: whose columns it has */
    bool calls;   /* `join` needs RUNTIME or DRIVER; without both it is left out */
};

static const struct nvvp_plain_kind definitions[] = {
    {.like = NVVP_NAME, .needs = "objectId", .take = nvvp_take_name},
    {.like = NVVP_DEVICE, .needs = "id", .take = nvvp_take_device},
    {.like = NVVP_CONTEXT, .needs = "contextId", .take = nvvp_take_context},
    {.like = NVVP_STREAM, .needs = "streamId", .take = nvvp_take_stream},
};

static const struct nvvp_plain_kind events[] = {
    {.like = NVVP_CONCURRENT_KERNEL, .time = "start", .needs = "end", .take = nvvp_take_kernel},
    {.name = "CUPTI_ACTIVITY_KIND_KERNEL",
     .like = NVVP_CONCURRENT_KERNEL,
     .time = "start",
     .needs = "end",
     .take = nvvp_take_kernel},
    {.like = NVVP_MEMCPY, .time = "start", .needs = "end", .take = nvvp_take_copy},
    {.like = NVVP_MEMCPY2, .time = "start", .needs = "end", .take = nvvp_take_peer_copy},
    {.like = NVVP_MEMSET, .time = "start", .needs = "end", .take = nvvp_take_set},
    {.like = NVVP_RUNTIME, .time = "start", .needs = "end", .take = nvvp_take_runtime},
    {.like = NVVP_DRIVER, .time = "start", .needs = "end", .take = nvvp_take_driver},
    {.like = NVVP_SYNCHRONIZATION,
     .time = "start",
     .needs = "end",
     .extra = "t.thread",
     .join = "LEFT JOIN " CALLERS " t ON t.c = n.correlationId",
     .calls = true,
     .take = nvvp_take_wait},
    {.like = NVVP_CUDA_EVENT,
     .needs = "eventId",
     .extra = "t.thread, t.start, t.end",
     /* CROSS: SQLite must not swap the two tables, or the time is the product of their sizes. */
     .join = "CROSS JOIN " CALLERS " t ON t.c = n.correlationId",
     .order = "ORDER BY t.start, n.rowid",
     .calls = true,
     .take = nvvp_take_event},
    {.like = NVVP_OVERHEAD, .time = "start", .needs = "end", .take = nvvp_take_overhead},
    {.like = NVVP_UNIFIED_MEMORY_COUNTER,
     .time = "start",
     .needs = "end",
     .take = nvvp_take_unified},
    {.like = NVVP_MEMORY,
     .time = "start",
     .needs = "address",
     .order = "WHERE n.start != 0 ORDER BY n.rowid",
     .take = nvvp_take_allocation},
    {.like = NVVP_MEMORY,
     .time = "end",
     .needs = "address",
     .order = "WHERE n.end != 0 ORDER BY n.end, n.rowid",
     .take = nvvp_take_release},
};

/* Separate, because it is read twice. */
static const struct nvvp_plain_kind marker = {
    .like = NVVP_MARKER,
    .time = "timestamp",
    .needs = "flags",
    .order = "ORDER BY n.timestamp, n.rowid",
    .take = nvvp_take_marker,
};
static const struct nvvp_plain_kind marker_with_data = {
    .like = NVVP_MARKER,
    .time = "timestamp",
    .needs = "flags",
    .extra = "d.flags, d.payloadKind, d.payload, d.color, d.category",
    .join = "LEFT JOIN " MARKER_DATA " d ON d.id = n.id",
    .order = "ORDER BY n.timestamp, n.rowid",
    .take = nvvp_take_marker,
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

#define MAX_SOURCES 16
_Static_assert(COUNT(events) < MAX_SOURCES && COUNT(definitions) < MAX_SOURCES, "and markers");

/* ---- Statements ---- */

static const char *table_name(const struct nvvp_plain_kind *kind)
{
    return kind->name ? kind->name : nvvp_tables[kind->like].name;
}

/* A SELECT over all calls; NULL if the file has none. */
static const char *calls_of(const struct export_db *db)
{
    bool runtime = export_db_has_table(db, RUNTIME);
    bool driver = export_db_has_table(db, DRIVER);

    if (runtime && driver)
        return BOTH;
    return runtime ? RUNTIME : driver ? DRIVER : NULL;
}

static enum mp_status need_column(const struct nvvp_reader *reader, const char *table,
                                  const char *column)
{
    if (!column || export_db_has_column(&reader->db, table, column))
        return MP_OK;
    return mp_error_set(reader->error, MP_ERR_FORMAT,
                        "'%.100s' is no file of nvprof's: %s has no column '%s'", reader->db.path,
                        table, column);
}

static void append_columns(const struct export_db *db, const struct nvvp_plain_kind *kind,
                           struct mp_buffer *sql)
{
    const struct nvvp_table *like = &nvvp_tables[kind->like];

    for (unsigned i = 0; i < like->column_count; i++) {
        const char *column = like->columns[i].name;
        bool there = export_db_has_column(db, table_name(kind), column);

        mp_buffer_append_format(sql, "%s%s%s", i ? ", " : "", there ? "n." : "",
                                there ? column : "0");
    }
}

/* A statement for the rows of one table; none when the file has no such table. */
static enum mp_status compile(const struct nvvp_reader *reader, const struct nvvp_plain_kind *kind,
                              sqlite3_stmt **statement)
{
    const char *calls = kind->calls ? calls_of(&reader->db) : NULL;
    bool joins = kind->join && (!kind->calls || calls);
    struct mp_buffer sql = {.limit = 1 << 16};

    mp_buffer_append_text(&sql, "SELECT ");
    append_columns(&reader->db, kind, &sql);
    if (joins)
        mp_buffer_append_format(&sql, ", %s", kind->extra);
    mp_buffer_append_format(&sql, " FROM %s n ", table_name(kind));
    for (const char *at = joins ? kind->join : ""; *at; at++) {
        if (*at == '%')
            mp_buffer_append_text(&sql, calls ? calls : ""), at++;
        else
            mp_buffer_append_byte(&sql, (uint8_t)*at);
    }
    mp_buffer_append_format(&sql, " %s", kind->order ? kind->order : "ORDER BY n.rowid");
    mp_buffer_append_byte(&sql, '\0');
    enum mp_status status =
        sql.status == MP_OK
            ? export_db_prepare(&reader->db, (const char *)sql.data, statement, reader->error)
            : nvvp_no_memory(reader);
    mp_buffer_free(&sql);
    return status;
}

/* Makes a source of a table, and adds 1 to *count if the table exists. */
static enum mp_status add_source(const struct nvvp_plain *plain, const struct nvvp_plain_kind *kind,
                                 struct nvvp_plain_source *sources, size_t *count)
{
    const struct nvvp_reader *reader = plain->reader;
    const char *table = table_name(kind);
    struct nvvp_plain_source *source = &sources[*count];

    if (!export_db_has_table(&reader->db, table))
        return MP_OK;
    if (kind->calls && !kind->time && !calls_of(&reader->db))
        return MP_OK; /* nobody knows when it was */
    MP_TRY(need_column(reader, table, kind->time));
    MP_TRY(need_column(reader, table, kind->needs));
    *source = (struct nvvp_plain_source){.source.table = table, .kind = kind};
    MP_TRY(compile(reader, kind, &source->source.statement));
    ++*count;
    return MP_OK;
}

/* ---- Values ---- */

/* Whether a number below 0 is allowed: a 32-bit id stored as signed, or a column that may be
 * negative. */
static bool may_be_negative(const char *column, uint64_t *value)
{
    static const char *const signed_columns[] = {"address", "value",       "flags",   "priority",
                                                 "gridId",  "returnValue", "allocPC", "freePC"};

    for (size_t i = 0; i < COUNT(signed_columns); i++)
        if (strcmp(column, signed_columns[i]) == 0)
            return true;
    if (!mp_text_ends_with(column, "Id") || (int64_t)*value < INT32_MIN)
        return false;
    *value = (uint32_t)*value;
    return true;
}

static enum mp_status read_number(const struct nvvp_plain *plain,
                                  const struct nvvp_plain_source *source, int at,
                                  const char *column, uint64_t *value)
{
    const struct nvvp_source *generic = &source->source;

    if (sqlite3_column_type(generic->statement, at) != SQLITE_INTEGER)
        return nvvp_bad_value(plain->reader, generic->table, generic->rows, column, "is no number");
    *value = (uint64_t)sqlite3_column_int64(generic->statement, at);
    if ((int64_t)*value < 0 && !may_be_negative(column, value))
        return nvvp_bad_value(plain->reader, generic->table, generic->rows, column, "is below 0");
    return MP_OK;
}

/* A value that is no BLOB, or a too large one, counts as none. */
static struct nvvp_blob read_blob(sqlite3_stmt *statement, int at)
{
    struct nvvp_blob blob = {.size = 0};
    int size =
        sqlite3_column_type(statement, at) == SQLITE_BLOB ? sqlite3_column_bytes(statement, at) : 0;

    if (size <= 0 || (size_t)size > sizeof blob.bytes)
        return blob;
    memcpy(blob.bytes, sqlite3_column_blob(statement, at), (size_t)size);
    blob.size = (uint8_t)size;
    return blob;
}

/* Values of joined tables. A missing row gives NULL; a payload is a BLOB of 8 bytes. */
static enum mp_status read_extra(const struct nvvp_plain *plain, struct nvvp_plain_source *source)
{
    sqlite3_stmt *statement = source->source.statement;
    int columns = sqlite3_column_count(statement);
    int first = (int)nvvp_tables[source->kind->like].column_count;

    for (int i = 0; i < columns - first; i++) {
        int type = sqlite3_column_type(statement, first + i);
        struct nvvp_blob blob = read_blob(statement, first + i);

        source->extra[i] = 0;
        if (type == SQLITE_INTEGER)
            source->extra[i] = (uint64_t)sqlite3_column_int64(statement, first + i);
        else if (blob.size == sizeof source->extra[i])
            memcpy(&source->extra[i], blob.bytes, blob.size);
        else if (type != SQLITE_NULL && type != SQLITE_BLOB)
            return nvvp_bad_value(plain->reader, source->source.table, source->source.rows,
                                  sqlite3_column_name(statement, first + i), "is no number");
    }
    return MP_OK;
}

static enum mp_status read_row(void *context, struct nvvp_source *generic)
{
    struct nvvp_plain_source *source = (struct nvvp_plain_source *)generic;
    const struct nvvp_plain *plain = context;
    const struct nvvp_table *like = &nvvp_tables[source->kind->like];

    for (unsigned i = 0; i < like->column_count; i++) {
        const struct nvvp_column *column = &like->columns[i];
        char *cell = (char *)&source->row + column->offset;
        struct nvvp_blob blob;
        uint64_t value = 0;

        if (column->blob) {
            blob = read_blob(generic->statement, (int)i);
            memcpy(cell, &blob, sizeof blob);
            continue;
        }
        MP_TRY(read_number(plain, source, (int)i, column->name, &value));
        memcpy(cell, &value, sizeof value);
        if (source->kind->time && strcmp(column->name, source->kind->time) == 0)
            generic->time = value;
    }
    MP_TRY(read_extra(plain, source));
    if (!source->kind->time)
        generic->time = source->extra[1];
    return MP_OK;
}

static enum mp_status plain_take_row(void *context, struct nvvp_source *generic)
{
    const struct nvvp_plain_source *source = (const struct nvvp_plain_source *)generic;

    return source->kind->take(context, source);
}

static enum mp_status look_at_row(void *context, struct nvvp_source *generic)
{
    return nvvp_look_at_marker(context, (const struct nvvp_plain_source *)generic);
}

/* ---- StringTable ---- */

static enum mp_status read_strings(struct nvvp_plain *plain)
{
    const struct nvvp_reader *reader = plain->reader;
    sqlite3_stmt *statement;
    enum mp_status status;
    uint64_t rows = 0;

    if (!export_db_has_table(&reader->db, "StringTable"))
        return MP_OK;
    MP_TRY(need_column(reader, "StringTable", "_id_"));
    MP_TRY(need_column(reader, "StringTable", "value"));
    MP_TRY(export_db_prepare(&reader->db, "SELECT _id_, value FROM StringTable WHERE _id_ != 0",
                             &statement, reader->error));
    while ((status = nvvp_next_row(reader, statement, &rows)) == MP_OK) {
        const char *text = sqlite3_column_blob(statement, 1);
        uint32_t string =
            nvvp_define_string(plain, text ? text : "", (size_t)sqlite3_column_bytes(statement, 1));

        if (mp_map_put(&plain->strings, (uint64_t)sqlite3_column_int64(statement, 0), string)) {
            status = nvvp_no_memory(reader);
            break;
        }
    }
    sqlite3_finalize(statement);
    return status == MP_END ? MP_OK : status;
}

/* ---- The whole ---- */

/* The earliest begin in the file, ns since 1970. */
static uint64_t earliest_time(const struct nvvp_reader *reader)
{
    uint64_t earliest = 0;
    char sql[160];

    for (size_t i = 0; i <= COUNT(events); i++) {
        const struct nvvp_plain_kind *kind = i < COUNT(events) ? &events[i] : &marker;

        if (!kind->time || !export_db_has_table(&reader->db, table_name(kind)))
            continue;
        snprintf(sql, sizeof sql, "SELECT min(%s) FROM %s WHERE %s > 0", kind->time,
                 table_name(kind), kind->time);
        uint64_t time = first_number(reader, sql);
        if (time && (!earliest || time < earliest))
            earliest = time;
    }
    return earliest;
}

static void put_counter(struct nvvp_plain *plain, const char *name, uint64_t value)
{
    const struct mp_row_quality quality = {
        .name = value ? nvvp_define_string(plain, name, strlen(name)) : 0, .value = value};

    if (value)
        mp_append_quality(plain->reader->writer, &quality);
}

static bool is_of_nvprof(const struct export_db *db)
{
    for (size_t i = 0; i < NVVP_TABLE_COUNT; i++)
        if (export_db_has_table(db, nvvp_tables[i].name))
            return true;
    return export_db_has_table(db, "CUPTI_ACTIVITY_KIND_KERNEL");
}

static enum mp_status check_origin(const struct nvvp_reader *reader)
{
    if (export_db_has_table(&reader->db, "StringIds"))
        return mp_error_set(reader->error, MP_ERR_FORMAT,
                            "'%.150s' was exported by Nsight Systems, not by nvprof or miniprof",
                            reader->db.path);
    if (!is_of_nvprof(&reader->db))
        return mp_error_set(reader->error, MP_ERR_FORMAT,
                            "'%.150s' is no file of nvprof's: it has none of its tables",
                            reader->db.path);
    return MP_OK;
}

static enum mp_status merge(struct nvvp_plain *plain, const struct nvvp_plain_kind *kinds,
                            size_t kind_count, bool with_markers)
{
    struct nvvp_plain_source sources[MAX_SOURCES];
    bool data = export_db_has_table(&plain->reader->db, "CUPTI_ACTIVITY_KIND_MARKER_DATA");
    enum mp_status status = MP_OK;
    size_t count = 0;

    for (size_t i = 0; i < kind_count && status == MP_OK; i++)
        status = add_source(plain, &kinds[i], sources, &count);
    if (with_markers && status == MP_OK)
        status = add_source(plain, data ? &marker_with_data : &marker, sources, &count);
    if (status == MP_OK)
        return nvvp_merge(plain->reader, sources, count, sizeof *sources, read_row, plain_take_row,
                          plain);
    for (size_t i = 0; i < count; i++)
        sqlite3_finalize(sources[i].source.statement);
    return status;
}

static enum mp_status look_at_markers(struct nvvp_plain *plain)
{
    struct nvvp_plain_source source;
    size_t count = 0;

    MP_TRY(add_source(plain, &marker, &source, &count));
    return nvvp_merge(plain->reader, &source, count, sizeof source, read_row, look_at_row, plain);
}

static enum mp_status read_all(struct nvvp_plain *plain)
{
    uint64_t unknown;

    MP_TRY(check_origin(plain->reader));
    MP_TRY(start_trace(plain, earliest_time(plain->reader), &unknown));
    MP_TRY(read_strings(plain));
    MP_TRY(merge(plain, definitions, COUNT(definitions), false));
    MP_TRY(look_at_markers(plain));
    MP_TRY(merge(plain, events, COUNT(events), true));
    put_counter(plain, "nvvp_tables_unknown", unknown);
    put_counter(plain, "nvvp_names_missing", plain->names_missing);
    return MP_OK;
}

enum mp_status nvvp_read_plain(struct nvvp_reader *reader)
{
    struct nvvp_plain plain = {.reader = reader};
    enum mp_status status = read_all(&plain);

    mp_map_free(&plain.strings);
    mp_intern_free(&plain.streams);
    mp_intern_free(&plain.shapes);
    mp_intern_free(&plain.functions);
    mp_intern_free(&plain.threads);
    mp_map_free(&plain.thread_names);
    mp_map_free(&plain.domains);
    nvvp_marker_kinds_free(&plain.markers);
    return status;
}
