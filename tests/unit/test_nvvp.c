/* nvprof's files, written and read back: every table and column comes back as it was, nvprof's
 * tables hold what they should, and what fails leaves nothing behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "export/cbid_names.h"
#include "export/nvvp.h"
#include "export/nvvp_schema.h"
#include "unit/trace_fixture.h"

#define HEADER                                                                                     \
    "miniprof=test\npid=4711\nclock=monotonic\nstart_clock_ns=1000\n"                              \
    "start_realtime_ns=1700000000000000000\nempty=\nodd=a=b\tc\n"
#define OFFSET UINT64_C(1699999999999999000)

static char folder[] = "/tmp/test_nvvp.XXXXXX";

static const char *in_folder(const char *name)
{
    static char paths[4][96];
    static unsigned next;
    char *path = paths[next++ % 4];

    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static unsigned files_in_folder(void)
{
    DIR *open = opendir(folder);
    unsigned count = 0;

    assert_non_null(open);
    for (struct dirent *entry; (entry = readdir(open));)
        count += entry->d_name[0] != '.';
    closedir(open);
    return count;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder); /* every test took away what it made */
}

/* ---- Traces as rows ---- */

/* All rows of one table, column by column, texts as where they end in `text`. */
struct rows {
    uint64_t *columns[MP_MAX_COLUMNS];
    uint64_t count;
    char *text;
    size_t text_bytes;
};

/* Room for the rows of all batches of a table. */
static void make_room(struct rows *rows, const struct mp_table_info *table, uint64_t count)
{
    for (unsigned i = 0; i < table->column_count; i++) {
        rows->columns[i] = realloc(rows->columns[i], count * sizeof(uint64_t));
        assert_non_null(rows->columns[i]);
    }
}

static void collect_text(struct rows *rows, unsigned column, const struct mp_batch *batch)
{
    size_t bytes = batch->text_end[batch->rows - 1];

    rows->text = realloc(rows->text, rows->text_bytes + bytes + 1);
    assert_non_null(rows->text);
    memcpy(rows->text + rows->text_bytes, batch->text, bytes);
    for (uint32_t i = 0; i < batch->rows; i++)
        rows->columns[column][rows->count + i] = rows->text_bytes + batch->text_end[i];
    rows->text_bytes += bytes;
}

static void collect(struct rows *rows, const struct mp_batch *batch)
{
    make_room(rows, batch->table, rows->count + batch->rows);
    for (unsigned i = 0; i < batch->table->column_count; i++) {
        if (batch->columns[i])
            memcpy(rows->columns[i] + rows->count, batch->columns[i],
                   batch->rows * sizeof(uint64_t));
        else
            collect_text(rows, i, batch);
    }
    rows->count += batch->rows;
}

static struct mp_trace *open_trace(int fd)
{
    struct mp_error error;
    struct mp_trace *trace;

    if (mp_trace_open(fixture_path(fd), &trace, &error) != MP_OK)
        fail_msg("%s", error.text);
    return trace;
}

static void collect_all(struct mp_trace *trace, struct rows *tables)
{
    struct mp_cursor *cursor;
    struct mp_batch batch;
    struct mp_damage damage;
    char line[256];
    size_t count;

    memset(tables, 0, MP_TABLE_COUNT * sizeof *tables);
    assert_int_equal(mp_cursor_open(trace, &cursor, NULL), MP_OK);
    while (mp_cursor_next(cursor, &batch) == MP_OK)
        collect(&tables[batch.table - mp_tables(&count)], &batch);
    mp_cursor_damage(cursor, &damage);
    assert_false(mp_damage_describe(&damage, line, sizeof line));
    mp_cursor_close(cursor);
}

static void free_rows(struct rows *tables)
{
    for (unsigned t = 0; t < MP_TABLE_COUNT; t++) {
        for (unsigned i = 0; i < MP_MAX_COLUMNS; i++)
            free(tables[t].columns[i]);
        free(tables[t].text);
    }
}

static void expect_same_table(const struct mp_table_info *info, const struct rows *a,
                              const struct rows *b)
{
    if (a->count != b->count)
        fail_msg("%s: %llu rows instead of %llu", info->name, (unsigned long long)b->count,
                 (unsigned long long)a->count);
    for (unsigned i = 0; i < info->column_count; i++)
        for (uint64_t row = 0; row < a->count; row++)
            if (a->columns[i][row] != b->columns[i][row])
                fail_msg("%s.%s, row %llu: %llx instead of %llx", info->name, info->columns[i].name,
                         (unsigned long long)row, (unsigned long long)b->columns[i][row],
                         (unsigned long long)a->columns[i][row]);
    assert_int_equal(a->text_bytes, b->text_bytes);
    if (a->text_bytes)
        assert_memory_equal(a->text, b->text, a->text_bytes);
}

static void expect_same_header(const struct mp_trace *a, const struct mp_trace *b)
{
    const char *key_a, *value_a, *key_b, *value_b;
    size_t i = 0;

    for (; mp_trace_property_at(a, i, &key_a, &value_a); i++) {
        assert_true(mp_trace_property_at(b, i, &key_b, &value_b));
        assert_string_equal(key_a, key_b);
        assert_string_equal(value_a, value_b);
    }
    assert_false(mp_trace_property_at(b, i, &key_b, &value_b));
}

static void write_as(int fd, const char *path)
{
    struct mp_trace *trace = open_trace(fd);
    struct mp_error error;

    if (nvvp_write(trace, path, &error) != MP_OK)
        fail_msg("%s", error.text);
    mp_trace_close(trace);
}

static int read_from(const char *path)
{
    struct mp_error error;
    int fd = fixture_file(NULL, 0);

    if (nvvp_read(path, fd, &error) != MP_OK)
        fail_msg("%s", error.text);
    return fd;
}

static void expect_round_trip(int fd)
{
    static struct rows before[MP_TABLE_COUNT], after[MP_TABLE_COUNT];
    const char *path = in_folder("round.nvvp");
    struct mp_trace *a, *b;
    struct mp_index index_a, index_b;
    size_t count;
    const struct mp_table_info *tables = mp_tables(&count);
    int back;

    write_as(fd, path);
    assert_true(nvvp_is(path));
    back = read_from(path);
    a = open_trace(fd);
    b = open_trace(back);
    collect_all(a, before);
    collect_all(b, after);
    for (size_t i = 0; i < count; i++)
        expect_same_table(&tables[i], &before[i], &after[i]);
    expect_same_header(a, b);
    mp_trace_index(a, &index_a);
    mp_trace_index(b, &index_b);
    assert_int_equal(index_a.rows, index_b.rows);
    assert_int_equal(index_a.dropped, index_b.dropped);
    free_rows(before);
    free_rows(after);
    mp_trace_close(a);
    mp_trace_close(b);
    close(back);
    unlink(path);
}

static void write_all_tables(int fd, enum fixture_shape shape, uint32_t rows, uint64_t seed)
{
    struct mp_writer *writer = fixture_writer(fd, HEADER, 0);
    size_t count;
    const struct mp_table_info *tables = mp_tables(&count);

    mp_writer_set_dropped(writer, 7);
    for (size_t i = 0; i < count; i++) {
        struct fixture_rows table;

        fixture_rows_make(&table, &tables[i], rows, shape, seed + i);
        for (uint32_t row = 0; row < rows; row++)
            fixture_append(writer, &table, row);
        fixture_rows_free(&table);
    }
    assert_int_equal(mp_writer_close(writer, NULL), MP_OK);
}

/* Values of all kinds in every column of every table: also such as no recorder writes, with
 * references to nothing, ids twice, texts that are no UTF-8. */
static void every_table_comes_back(void **state)
{
    static const uint32_t rows[] = {1, 40, 700};

    (void)state;
    for (unsigned shape = 0; shape < FIXTURE_SHAPES; shape++)
        for (unsigned i = 0; i < 3; i++) {
            int fd = fixture_file(NULL, 0);

            write_all_tables(fd, shape, rows[i], 1000 * shape + i);
            expect_round_trip(fd);
            close(fd);
        }
}

static void small_and_empty_traces_come_back(void **state)
{
    int small = fixture_file(NULL, 0), empty = fixture_file(NULL, 0);

    (void)state;
    fixture_small_trace(small);
    expect_round_trip(small);
    mp_writer_close(fixture_writer(empty, "", 0), NULL);
    expect_round_trip(empty);
    close(small);
    close(empty);
}

static void times_convert_both_ways(void **state)
{
    static const uint64_t offsets[] = {0, 1, OFFSET, 0 - OFFSET, UINT64_MAX, UINT64_C(1) << 63};

    (void)state;
    for (unsigned i = 0; i < 6; i++) {
        uint64_t offset = offsets[i];
        const uint64_t times[] = {0, 1, 1234, UINT64_MAX, offset, 0 - offset, offset + 1};

        for (unsigned t = 0; t < 7; t++) {
            uint64_t out = nvvp_time_out(times[t], offset);

            assert_int_equal(nvvp_time_in(out, offset), times[t]);
            assert_int_equal(!out, !times[t]);
        }
    }
    assert_int_equal(nvvp_time_out(5000, OFFSET), UINT64_C(1700000000000004000));
}

/* ---- What stands in nvprof's tables ---- */

static void text(struct mp_writer *writer, uint64_t id, const char *bytes)
{
    mp_append_string(writer, &(struct mp_row_string){id, {bytes, (uint32_t)strlen(bytes)}});
}

/* A value of its own in every column that nvprof has too. */
static void write_known_things(struct mp_writer *writer)
{
    mp_append_device(writer,
                     &(struct mp_row_device){5, 1, UINT64_C(0x0123456789abcdef),
                                             UINT64_C(0xfedcba9876543210), 101, 102, 103, 104, 105,
                                             106, 107, 108, 109, 110, 111, 112, 113, 114, 115});
    mp_append_stream_info(writer, &(struct mp_row_stream_info){201, 202, 0 - UINT64_C(3), 2, 203});
    mp_append_context_info(writer, &(struct mp_row_context_info){211, 212, 213});
    mp_append_copy(writer, &(struct mp_row_copy){1, 10, 2, 3, 1, 301, 0, 5000, 302, 303, 304, 305,
                                                 306, 307, 1});
    mp_append_copy(writer,
                   &(struct mp_row_copy){1, 2, 4, 5, 6, 311, 0, 5000, 312, 313, 0, 0, 0, 0, 1});
    mp_append_set(writer, &(struct mp_row_set){1, 321, 322, 3, 4, 0, 5000, 323, 324});
    mp_append_unified(writer, &(struct mp_row_unified){1, 331, 332, 333, 334, 335, 336, 5000, 337});
    mp_append_overhead(writer, &(struct mp_row_overhead){0, 65536, 5000, 341, 0});
    mp_append_overhead(writer, &(struct mp_row_overhead){1, 1, 5000, 342, 0});
}

/* Numbers 3 to 5: pushes that overlap, in two domains, and a mark with a payload of 1.5. */
static void write_known_ranges(struct mp_writer *writer)
{
    mp_append_nvtx(writer, &(struct mp_row_nvtx){1, MP_nvtx_kind_push, 0, 1, 7000, 0, 0, 0, 0, 0});
    mp_append_nvtx(writer, &(struct mp_row_nvtx){1, MP_nvtx_kind_push, 2, 1, 7001, 0, 0, 0, 0, 0});
    mp_append_nvtx(writer, &(struct mp_row_nvtx){1, MP_nvtx_kind_pop, 0, 0, 7002, 0, 0, 0, 0, 0});
    mp_append_nvtx(writer, &(struct mp_row_nvtx){1, MP_nvtx_kind_pop, 2, 0, 7003, 0, 0, 0, 0, 0});
    mp_append_nvtx(writer, &(struct mp_row_nvtx){1, MP_nvtx_kind_mark, 0, 1, 7004, 0, 0, 0,
                                                 MP_payload_type_float, 0x3fc00000});
}

static void write_known(int fd)
{
    struct mp_writer *writer = fixture_writer(fd, HEADER, 0);

    text(writer, 1, "_Z3addv");
    text(writer, 2, "range \xff\xed\xa0\x80"); /* no UTF-8: a stray byte, half of a pair */
    mp_append_thread(writer, &(struct mp_row_thread){1, 4712, 1});
    mp_append_stream(writer, &(struct mp_row_stream){1, 17, 3, 2});
    mp_append_function(writer, &(struct mp_row_function){1, 1, 211, 1});
    mp_append_function(writer, &(struct mp_row_function){2, 2, 307, 1});
    mp_append_shape(writer, &(struct mp_row_shape){.id = 1,
                                                   .kernel = 1,
                                                   .grid_x = 11,
                                                   .grid_y = 12,
                                                   .grid_z = 13,
                                                   .block_x = 14,
                                                   .block_y = 15,
                                                   .block_z = 16,
                                                   .registers = 32,
                                                   .static_shared_memory = 1024,
                                                   .dynamic_shared_memory = 2048,
                                                   .shared_memory_executed = 4096,
                                                   .local_memory = 8,
                                                   .launch_type = 1});
    mp_append_kernel(writer, &(struct mp_row_kernel){1, 1, 0, 5000, 300, 77});
    mp_append_call(writer, &(struct mp_row_call){1, 1, 4000, 100, 77, 0});
    mp_append_call(writer, &(struct mp_row_call){1, 2, 4010, 50, 77, 2});
    mp_append_nvtx(writer, &(struct mp_row_nvtx){1, MP_nvtx_kind_push, 0, 2, 3000, 0, 5, 0xff00ff00,
                                                 MP_payload_type_int32, 0xffffffff});
    mp_append_nvtx(writer, &(struct mp_row_nvtx){1, MP_nvtx_kind_pop, 0, 0, 6000, 0, 0, 0, 0, 0});
    mp_append_nvtx(writer, &(struct mp_row_nvtx){1, MP_nvtx_kind_start, 2, 1, 3100, 9, 0, 0, 0, 0});
    mp_append_nvtx(writer, &(struct mp_row_nvtx){1, MP_nvtx_kind_end, 2, 0, 6100, 9, 0, 0, 0, 0});
    mp_append_memory(
        writer,
        &(struct mp_row_memory){
            .operation = 1, .kind = 3, .bytes = 512, .address = 0x7000, .time = 2000, .pc = 21});
    mp_append_memory(
        writer,
        &(struct mp_row_memory){
            .operation = 2, .kind = 3, .bytes = 512, .address = 0x7000, .time = 2500, .pc = 22});
    mp_append_sync(writer, &(struct mp_row_sync){1, 1, 3, 17, 0xabc, 5500, 10, 78, 0});
    mp_append_sync(writer, &(struct mp_row_sync){1, 5, 3, 17, 0xabc, 5400, 10, 79, 0});
    mp_append_sync(writer, &(struct mp_row_sync){1, 9, 3, 17, 0, 5600, 10, 80, 0});
    write_known_things(writer);
    write_known_ranges(writer);
    assert_int_equal(mp_writer_close(writer, NULL), MP_OK);
}

/* The first column of the only row of a query, as text. */
static void expect_query(sqlite3 *db, const char *sql, const char *expected)
{
    sqlite3_stmt *statement;
    const char *got;

    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    got = (const char *)sqlite3_column_text(statement, 0);
    if (strcmp(got ? got : "NULL", expected) != 0)
        fail_msg("%s: %s instead of %s", sql, got, expected);
    sqlite3_finalize(statement);
}

static const struct {
    const char *sql;
    const char *expected;
} known_queries[] = {
    {"SELECT version FROM Version", "12"},
    {"SELECT value FROM StringTable WHERE _id_ = 0", "-- null --"},
    {"SELECT group_concat(value, '|') FROM StringTable WHERE _id_ > 0",
     "_Z3addv|range \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
    {"SELECT concat FROM (SELECT start || ' ' || end || ' ' || completed || ' ' || deviceId || "
     "' ' || contextId || ' ' || streamId AS concat FROM "
     "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)",
     "1700000000000004000 1700000000000004300 1700000000000004300 2 3 17"},
    {"SELECT gridX || ' ' || gridY || ' ' || gridZ || ' ' || blockX || ' ' || blockY || ' ' || "
     "blockZ || ' ' || registersPerThread || ' ' || staticSharedMemory || ' ' || "
     "dynamicSharedMemory || ' ' || sharedMemoryExecuted || ' ' || localMemoryPerThread || ' ' "
     "|| launchType || ' ' || correlationId || ' ' || name FROM "
     "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL",
     "11 12 13 14 15 16 32 1024 2048 4096 8 1 77 1"},
    {"SELECT cbid || ' ' || start || ' ' || end || ' ' || processId || ' ' || threadId || ' ' "
     "|| correlationId || ' ' || returnValue FROM CUPTI_ACTIVITY_KIND_RUNTIME",
     "211 1700000000000003000 1700000000000003100 4711 4712 77 0"},
    {"SELECT cbid || ' ' || returnValue FROM CUPTI_ACTIVITY_KIND_DRIVER", "307 2"},
    {"SELECT group_concat(flags || ' ' || id || ' ' || name || ' ' || domain, '|') FROM "
     "CUPTI_ACTIVITY_KIND_MARKER",
     "2 1 2 0|4 1 0 0|2 2 1 2|4 2 0 2|2 3 1 0|2 4 1 2|4 3 0 0|4 4 0 2|1 5 1 0"},
    {"SELECT hex(objectId) FROM CUPTI_ACTIVITY_KIND_MARKER LIMIT 1", "671200006812000000000000"},
    {"SELECT flags || ' ' || payloadKind || ' ' || hex(payload) || ' ' || color || ' ' || "
     "category FROM CUPTI_ACTIVITY_KIND_MARKER_DATA WHERE id = 1",
     "2 4 FFFFFFFFFFFFFFFF 4278255360 5"},
    {"SELECT payloadKind || ' ' || hex(payload) FROM CUPTI_ACTIVITY_KIND_MARKER_DATA WHERE id "
     "= 5",
     "0 000000000000F83F"},
    {"SELECT id || ' ' || name || ' ' || hex(uuid) || ' ' || computeCapabilityMajor || ' ' || "
     "computeCapabilityMinor || ' ' || numMultiprocessors || ' ' || coreClockRate || ' ' || "
     "globalMemorySize || ' ' || globalMemoryBandwidth || ' ' || l2CacheSize || ' ' || "
     "numThreadsPerWarp || ' ' || maxWarpsPerMultiprocessor || ' ' || "
     "maxBlocksPerMultiprocessor || ' ' || maxSharedMemoryPerMultiprocessor || ' ' || "
     "maxRegistersPerMultiprocessor || ' ' || maxSharedMemoryPerBlock || ' ' || "
     "maxRegistersPerBlock || ' ' || maxThreadsPerBlock FROM CUPTI_ACTIVITY_KIND_DEVICE",
     "5 1 0123456789ABCDEFFEDCBA9876543210 101 102 103 104 105 106 107 108 109 110 111 112 113 "
     "114 115"},
    {"SELECT streamId || ' ' || contextId || ' ' || priority || ' ' || flag || ' ' || "
     "correlationId FROM CUPTI_ACTIVITY_KIND_STREAM",
     "201 202 -3 2 203"},
    {"SELECT contextId || ' ' || deviceId || ' ' || nullStreamId FROM "
     "CUPTI_ACTIVITY_KIND_CONTEXT",
     "211 212 213"},
    {"SELECT copyKind || ' ' || srcKind || ' ' || dstKind || ' ' || flags || ' ' || bytes || "
     "' ' || (end - start) || ' ' || correlationId || ' ' || srcDeviceId || ' ' || "
     "srcContextId || ' ' || dstDeviceId || ' ' || dstContextId || ' ' || deviceId || ' ' || "
     "contextId || ' ' || streamId FROM CUPTI_ACTIVITY_KIND_MEMCPY2",
     "10 2 3 1 301 302 303 304 305 306 307 2 3 17"},
    {"SELECT copyKind || ' ' || srcKind || ' ' || dstKind || ' ' || flags || ' ' || bytes || "
     "' ' || (end - start) || ' ' || correlationId FROM CUPTI_ACTIVITY_KIND_MEMCPY",
     "2 4 5 6 311 312 313"},
    {"SELECT bytes || ' ' || value || ' ' || memoryKind || ' ' || flags || ' ' || (end - "
     "start) || ' ' || correlationId FROM CUPTI_ACTIVITY_KIND_MEMSET",
     "321 322 3 4 323 324"},
    {"SELECT counterKind || ' ' || srcId || ' ' || dstId || ' ' || streamId || ' ' || value || "
     "' ' || address || ' ' || flags || ' ' || (end - start) || ' ' || processId FROM "
     "CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER",
     "1 331 332 333 334 335 336 337 4711"},
    {"SELECT group_concat(overheadKind || ' ' || objectKind || ' ' || (end - start) || ' ' || "
     "hex(objectId), '|') FROM CUPTI_ACTIVITY_KIND_OVERHEAD",
     "65536 1 341 671200000000000000000000|1 2 342 671200006812000000000000"},
    {"SELECT objectKind || ' ' || name FROM CUPTI_ACTIVITY_KIND_NAME", "2 1"},
    {"SELECT memoryKind || ' ' || address || ' ' || bytes || ' ' || start || ' ' || end || ' ' "
     "|| allocPC || ' ' || freePC FROM CUPTI_ACTIVITY_KIND_MEMORY",
     "3 28672 512 1700000000000001000 1700000000000001500 21 22"},
    {"SELECT type || ' ' || streamId || ' ' || cudaEventId FROM "
     "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
     "1 17 2748"},
    {"SELECT correlationId || ' ' || eventId FROM CUPTI_ACTIVITY_KIND_CUDA_EVENT", "79 2748"},
    {"SELECT count(*) FROM MINIPROF_SYNC", "3"},
    {"SELECT value FROM MINIPROF_INFO WHERE name = 'time_offset_ns'", "1699999999999999000"},
    {"PRAGMA integrity_check", "ok"},
};

static void nvprof_tables_hold_the_rows(void **state)
{
    const char *path = in_folder("known.nvvp");
    int fd = fixture_file(NULL, 0);
    sqlite3 *db;

    (void)state;
    write_known(fd);
    write_as(fd, path);
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    for (size_t i = 0; i < sizeof known_queries / sizeof *known_queries; i++)
        expect_query(db, known_queries[i].sql, known_queries[i].expected);
    sqlite3_close(db);
    close(fd);
    unlink(path);
}

static void names_by_callback_id(void **state)
{
    size_t bytes;
    const char *name = cbid_name(false, 211, &bytes);

    (void)state;
    assert_int_equal(bytes, strlen("cudaLaunchKernel_v7000"));
    assert_memory_equal(name, "cudaLaunchKernel_v7000", bytes);
    name = cbid_name(true, 307, &bytes);
    assert_int_equal(bytes, strlen("cuLaunchKernel"));
    assert_memory_equal(name, "cuLaunchKernel", bytes);
    assert_null(cbid_name(false, 0, &bytes));
    assert_null(cbid_name(true, 100000, &bytes));
    assert_null(cbid_name(true, UINT64_MAX, &bytes));
}

/* ---- Failures ---- */

/* A trace whose file has some 5 MB. */
static struct mp_trace *large_trace(int *fd)
{
    *fd = fixture_file(NULL, 0);
    write_all_tables(*fd, FIXTURE_NOISE, 2000, 3);
    return open_trace(*fd);
}

static void expect_refusal(const char *path, const char *words)
{
    struct mp_error error = {.status = MP_OK};
    int fd;
    struct mp_trace *trace = large_trace(&fd);

    assert_int_equal(nvvp_write(trace, path, &error), MP_ERR_IO);
    if (!strstr(error.text, words) || strchr(error.text, '\n'))
        fail_msg("'%s' lacks '%s'", error.text, words);
    assert_int_equal(nvvp_write(trace, path, NULL), MP_ERR_IO);
    mp_trace_close(trace);
    close(fd);
}

static void a_file_in_the_way_stays(void **state)
{
    const char *there = in_folder("there.nvvp");
    struct stat about;
    FILE *file = fopen(there, "w");

    (void)state;
    assert_non_null(file);
    fputs("mine", file);
    fclose(file);
    expect_refusal(there, "there.nvvp': File exists");
    assert_int_equal(stat(there, &about), 0);
    assert_int_equal(about.st_size, 4);
    unlink(there);
    assert_int_equal(files_in_folder(), 0);
}

static void a_failure_leaves_nothing_behind(void **state)
{
    struct rlimit before, small;
    struct mp_error error;
    int fd;
    struct mp_trace *trace = large_trace(&fd);

    (void)state;
    expect_refusal(in_folder("no/folder.nvvp"), "folder.nvvp': No such file or directory");
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 1 << 19; /* as a full disk, but for the words */
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(nvvp_write(trace, in_folder("full.nvvp"), &error), MP_ERR_IO);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    if (!strstr(error.text, "full.nvvp': File too large"))
        fail_msg("%s", error.text);
    assert_int_equal(files_in_folder(), 0);
    mp_trace_close(trace);
    close(fd);
}

static void only_the_owner_may_read(void **state)
{
    const char *path = in_folder("private.nvvp");
    int fd = fixture_file(NULL, 0);
    struct stat about;

    (void)state;
    fixture_small_trace(fd);
    write_as(fd, path);
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0600);
    unlink(path);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_table_comes_back),
        cmocka_unit_test(small_and_empty_traces_come_back),
        cmocka_unit_test(times_convert_both_ways),
        cmocka_unit_test(nvprof_tables_hold_the_rows),
        cmocka_unit_test(names_by_callback_id),
        cmocka_unit_test(a_file_in_the_way_stays),
        cmocka_unit_test(only_the_owner_may_read),
        cmocka_unit_test(a_failure_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
