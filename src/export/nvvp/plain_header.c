/* Makes the header of the trace from what a file without MINIPROF_ tables says about itself. */
#include "export/nvvp/plain.h"

#include <string.h>

#include "base/poison.h"

uint64_t nvvp_first_number(const struct nvvp_reader *reader, const char *sql)
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
    return nvvp_first_number(reader, sql) != 0;
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

enum mp_status nvvp_plain_start(struct nvvp_plain *plain, uint64_t earliest, uint64_t *unknown)
{
    const struct nvvp_reader *reader = plain->reader;
    struct mp_buffer header = {.limit = MP_MAX_HEADER_BYTES};
    struct mp_buffer names = {.limit = 1 << 16};
    uint64_t pid =
        nvvp_first_number(reader, "SELECT processId FROM CUPTI_ACTIVITY_KIND_RUNTIME LIMIT 1");
    unsigned long long time = earliest;
    enum mp_status status = unknown_tables(reader, &names, unknown);

    if (!pid)
        pid = nvvp_first_number(reader, "SELECT processId FROM CUPTI_ACTIVITY_KIND_DRIVER LIMIT 1");
    mp_buffer_append_text(&header, "miniprof=" MP_VERSION "\n");
    if (pid)
        mp_buffer_append_format(&header, "pid=%llu\n", (unsigned long long)pid);
    mp_buffer_append_format(
        &header, "clock=realtime\nstart_clock_ns=%llu\nstart_realtime_ns=%llu\nnvvp_version=%llu\n",
        time, time, (unsigned long long)nvvp_first_number(reader, "SELECT version FROM Version"));
    if (names.size)
        nvvp_add_property(&header, "nvvp_tables_unknown", (const char *)names.data, names.size);
    if (status == MP_OK)
        status = nvvp_start_trace(plain->reader, &header);
    mp_buffer_free(&names);
    mp_buffer_free(&header);
    return status;
}
