/* What stands in nvprof's tables of a trace whose rows are written down here. */
#include "unit/export/nvvp_fixture.h"

#include "export/nvvp/schema.h"

#define HEADER                                                                                     \
    "miniprof=test\npid=4711\nclock=monotonic\nstart_clock_ns=1000\n"                              \
    "start_realtime_ns=1700000000000000000\nempty=\nodd=a=b\tc\n"

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
    mp_append_context_info(
        writer, &(struct mp_row_context_info){.context = 211, .device = 212, .null_stream = 213});
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
    mp_append_nvtx(writer, &(struct mp_row_nvtx){
                               .thread = 1, .kind = MP_nvtx_kind_push, .name = 1, .time = 7000});
    mp_append_nvtx(
        writer, &(struct mp_row_nvtx){
                    .thread = 1, .kind = MP_nvtx_kind_push, .domain = 2, .name = 1, .time = 7001});
    mp_append_nvtx(writer,
                   &(struct mp_row_nvtx){.thread = 1, .kind = MP_nvtx_kind_pop, .time = 7002});
    mp_append_nvtx(writer, &(struct mp_row_nvtx){
                               .thread = 1, .kind = MP_nvtx_kind_pop, .domain = 2, .time = 7003});
    mp_append_nvtx(writer, &(struct mp_row_nvtx){.thread = 1,
                                                 .kind = MP_nvtx_kind_mark,
                                                 .name = 1,
                                                 .time = 7004,
                                                 .payload_type = MP_payload_type_float,
                                                 .payload = 0x3fc00000});
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
    mp_append_call(writer, &(struct mp_row_call){1, 1, 4000, 100, 77, 0, 0});
    mp_append_call(writer, &(struct mp_row_call){1, 2, 4010, 50, 77, 2, 0});
    mp_append_nvtx(writer, &(struct mp_row_nvtx){.thread = 1,
                                                 .kind = MP_nvtx_kind_push,
                                                 .name = 2,
                                                 .time = 3000,
                                                 .category = 5,
                                                 .color = 0xff00ff00,
                                                 .payload_type = MP_payload_type_int32,
                                                 .payload = 0xffffffff});
    mp_append_nvtx(writer,
                   &(struct mp_row_nvtx){.thread = 1, .kind = MP_nvtx_kind_pop, .time = 6000});
    mp_append_nvtx(writer, &(struct mp_row_nvtx){.thread = 1,
                                                 .kind = MP_nvtx_kind_start,
                                                 .domain = 2,
                                                 .name = 1,
                                                 .time = 3100,
                                                 .range = 9,
                                                 .payload_type = MP_payload_type_uint64,
                                                 .payload = 1234});
    mp_append_nvtx(
        writer, &(struct mp_row_nvtx){
                    .thread = 1, .kind = MP_nvtx_kind_end, .domain = 2, .time = 6100, .range = 9});
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
    {"SELECT payloadKind || ' ' || hex(payload) FROM CUPTI_ACTIVITY_KIND_MARKER_DATA WHERE id = 2",
     "1 D204000000000000"},
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
    int fd = fixture_file(NULL, 0);
    struct mp_error error;
    struct mp_trace *trace;
    sqlite3 *db;

    (void)state;
    write_known(fd);
    assert_int_equal(mp_trace_open(fixture_path(fd), &trace, NULL), MP_OK);
    if (nvvp_write(trace, nvvp_path, &error) != MP_OK)
        fail_msg("%s", error.text);
    mp_trace_close(trace);
    assert_int_equal(sqlite3_open_v2(nvvp_path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    for (size_t i = 0; i < sizeof known_queries / sizeof *known_queries; i++)
        expect_query(db, known_queries[i].sql, known_queries[i].expected);
    sqlite3_close(db);
    close(fd);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nvprof_tables_hold_the_rows),
        cmocka_unit_test(names_by_callback_id),
    };
    return cmocka_run_group_tests(tests, nvvp_make_folder, nvvp_remove_folder);
}
