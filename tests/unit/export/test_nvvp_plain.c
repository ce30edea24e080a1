/* Files with nvprof's tables only: what a trace gets of each of their columns. */
#include "unit/export/nvvp_fixture.h"

static void missing_columns_read_as_0(void **state)
{
    (void)state;
    nvvp_put_database("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INT, end INT, gridX INT);"
                      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(100, 150, 7), (200, 207, 7), "
                      "(300, 301, 8)");
    nvvp_expect_column("kernel", "start", "100 200 300");
    nvvp_expect_column("kernel", "duration", "50 7 1");
    nvvp_expect_column("kernel", "correlation", "0 0 0");
    nvvp_expect_column("kernel", "shape", "1 1 2");
    nvvp_expect_column("shape", "grid_x", "7 8");
    nvvp_expect_column("shape", "kernel", "0 0");
}

static void names_that_are_missing_are_counted(void **state)
{
    (void)state;
    nvvp_put_database(STRINGS MARKERS
                      "INSERT INTO CUPTI_ACTIVITY_KIND_MARKER VALUES(1, 1, 10, 1, 2, x'', 5, 0), "
                      "(2, 1, 20, 2, 2, x'', 77, 0), (3, 1, 30, 3, 0, 'text', 0, 9)");
    nvvp_expect_column("nvtx", "name", "1 0 0");
    nvvp_expect_column("nvtx", "domain", "0 0 2");
    nvvp_expect_column("quality", "value", "1");
}

static void tables_without_use_are_counted(void **state)
{
    (void)state;
    nvvp_put_database(RUNTIME CALL "(1, 211, 1, 2, 3, 4, 5, 6);"
                                   "CREATE TABLE CUPTI_ACTIVITY_KIND_EVENT(id); CREATE TABLE "
                                   "\"odd \"\" name\"(id); CREATE TABLE unused(id);"
                                   "INSERT INTO CUPTI_ACTIVITY_KIND_EVENT VALUES(1);"
                                   "INSERT INTO \"odd \"\" name\" VALUES(1)");
    nvvp_expect_column("quality", "value", "2");
}

/* Pushed: a, and b inside of it. Started: c, which ends in another thread, and d, which overlaps e.
 * Only begun: f. Only ended: g. */
static void ranges_are_told_apart(void **state)
{
#define T1 "2, x'0100000002000000'"
#define T2 "2, x'0100000003000000'"
    (void)state;
    nvvp_put_database(STRINGS MARKERS "INSERT INTO CUPTI_ACTIVITY_KIND_MARKER VALUES"
                                      "(1, 2, 10, 1, " T1 ", 5, 9), (2, 2, 20, 2, " T1 ", 5, 0),"
                                      "(3, 4, 30, 2, " T1 ", 0, 0), (4, 4, 40, 1, " T1 ", 0, 0),"
                                      "(5, 2, 50, 3, " T1 ", 5, 0), (6, 4, 60, 3, " T2 ", 0, 0),"
                                      "(7, 2, 70, 4, " T1 ", 5, 0), (8, 2, 80, 5, " T1 ", 5, 0),"
                                      "(9, 4, 90, 4, " T1 ", 0, 0), (10, 4, 100, 5, " T1 ", 0, 0),"
                                      "(11, 2, 110, 6, " T1 ", 5, 0), (12, 4, 120, 7, " T1
                                      ", 0, 0)");
    nvvp_expect_column("nvtx", "time", "10 20 30 40 50 60 70 80 90 100 110 120");
    nvvp_expect_column("nvtx", "kind", "1 1 2 2 3 4 3 1 4 2 1 4");
    nvvp_expect_column("nvtx", "range", "0 0 0 0 3 3 4 0 4 0 0 7");
    nvvp_expect_column("nvtx", "domain", "2 0 0 2 0 0 0 0 0 0 0 0");
    nvvp_expect_column("nvtx", "thread", "1 1 1 1 1 2 1 1 1 1 1 1");
    nvvp_expect_column("thread", "tid", "2 3");
}

static void waits_find_their_thread(void **state)
{
    (void)state;
    nvvp_put_database(
        RUNTIME CALL
        "(1, 131, 100, 150, 1, 44, 7, 0), (2, 135, 200, 250, 1, 55, 8, 0);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION(type, start, end, "
        "correlationId, contextId, streamId, cudaEventId);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT(correlationId, contextId, streamId, "
        "eventId);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES(3, 110, 140, 7, 1, 14, "
        "-1), (4, 300, 310, 999, 1, 4294967295, 4294967295);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES(8, 1, 14, 3), (9, 1, 14, 4)");
    nvvp_expect_column("sync", "start", "110 200 300");
    nvvp_expect_column("sync", "kind", "3 5 4");
    nvvp_expect_column("sync", "thread", "1 2 0");
    nvvp_expect_column("sync", "event", "0 3 0");
    nvvp_expect_column("sync", "stream", "14 14 4294967295");
    nvvp_expect_column("sync", "duration", "30 50 10");
}

static void allocations_become_two_rows(void **state)
{
    (void)state;
    nvvp_put_database(
        "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMORY(memoryKind, address, bytes, start, end, "
        "allocPC, freePC, deviceId);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_MEMORY VALUES(3, 4096, 64, 10, 90, 1, 2, 0), "
        "(3, 8192, 32, 20, 50, 3, 4, 0), (3, 9000, 8, 30, 0, 5, 0, 0)");
    nvvp_expect_column("memory", "time", "10 20 30 50 90");
    nvvp_expect_column("memory", "operation", "1 1 1 2 2");
    nvvp_expect_column("memory", "bytes", "64 32 8 32 64");
    nvvp_expect_column("memory", "pc", "1 3 5 4 2");
}

static const struct {
    const char *table, *column, *expected;
} every_column[] = {
    {"shape", "grid_x", "11"},
    {"shape", "grid_y", "12"},
    {"shape", "grid_z", "13"},
    {"shape", "block_x", "14"},
    {"shape", "block_y", "15"},
    {"shape", "block_z", "16"},
    {"shape", "registers", "17"},
    {"shape", "static_shared_memory", "18"},
    {"shape", "launch_type", "1"},
    {"shape", "dynamic_shared_memory", "19"},
    {"shape", "local_memory", "20"},
    {"shape", "shared_memory_executed", "21"},
    {"shape", "kernel", "1"},
    {"kernel", "correlation", "22"},
    {"kernel", "start", "1000"},
    {"kernel", "duration", "30"},
    {"stream", "device", "3 42 62"},
    {"stream", "context", "4 43 63"},
    {"stream", "stream", "5 44 64"},
    {"copy", "stream", "2"},
    {"copy", "kind", "10"},
    {"copy", "source", "31"},
    {"copy", "target", "32"},
    {"copy", "flags", "33"},
    {"copy", "bytes", "34"},
    {"copy", "source_device", "35"},
    {"copy", "source_context", "36"},
    {"copy", "target_device", "37"},
    {"copy", "target_context", "38"},
    {"copy", "correlation", "39"},
    {"copy", "duration", "40"},
    {"copy", "count", "1"},
    {"set", "stream", "3"},
    {"set", "value", "51"},
    {"set", "bytes", "52"},
    {"set", "memory", "53"},
    {"set", "flags", "54"},
    {"set", "correlation", "55"},
    {"set", "duration", "56"},
    {"call", "function", "1"},
    {"call", "result", "71"},
    {"call", "correlation", "72"},
    {"call", "duration", "73"},
    {"function", "cbid", "307"},
    {"function", "api", "2"},
    {"thread", "tid", "74 95"},
    {"unified", "kind", "1"},
    {"unified", "source", "81"},
    {"unified", "target", "82"},
    {"unified", "stream", "83"},
    {"unified", "value", "84"},
    {"unified", "address", "85"},
    {"unified", "flags", "86"},
    {"unified", "duration", "87"},
    {"overhead", "kind", "65536"},
    {"overhead", "thread", "2"},
    {"overhead", "duration", "91"},
    {"device", "id", "3"},
    {"device", "name", "1"},
    {"device", "uuid_high", "81985529216486895"},
    {"device", "compute_major", "101"},
    {"device", "uuid_low", "18364758544493064720"},
    {"device", "compute_minor", "102"},
    {"device", "multiprocessors", "103"},
    {"device", "core_clock", "104"},
    {"device", "memory", "105"},
    {"device", "l2_cache", "107"},
    {"device", "memory_bandwidth", "106"},
    {"device", "warp_threads", "108"},
    {"device", "sm_warps", "109"},
    {"device", "sm_blocks", "110"},
    {"device", "sm_shared_memory", "111"},
    {"device", "sm_registers", "112"},
    {"device", "block_shared_memory", "113"},
    {"device", "block_threads", "115"},
    {"device", "block_registers", "114"},
    {"stream_info", "stream", "121"},
    {"stream_info", "context", "122"},
    {"stream_info", "flag", "2"},
    {"stream_info", "priority", "18446744073709551613"},
    {"context_info", "device", "132"},
    {"stream_info", "correlation", "123"},
    {"context_info", "context", "131"},
    {"context_info", "null_stream", "133"},
};

static const char every_column_sql[] = STRINGS
    "CREATE TABLE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL(start, end, deviceId, contextId, "
    "streamId, gridX, gridY, gridZ, blockX, blockY, blockZ, registersPerThread, "
    "staticSharedMemory, dynamicSharedMemory, localMemoryPerThread, sharedMemoryExecuted, "
    "correlationId, launchType, name);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL VALUES(1000, 1030, 3, 4, 5, 11, 12, 13, "
    "14, 15, 16, 17, 18, 19, 20, 21, 22, 1, 5);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY2(copyKind, srcKind, dstKind, flags, bytes, "
    "srcDeviceId, srcContextId, dstDeviceId, dstContextId, correlationId, start, end, "
    "deviceId, "
    "contextId, streamId);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY2 VALUES(10, 31, 32, 33, 34, 35, 36, 37, 38, 39, "
    "2000, 2040, 42, 43, 44);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET(value, bytes, memoryKind, flags, correlationId, "
    "start, end, deviceId, contextId, streamId);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES(51, 52, 53, 54, 55, 3000, 3056, 62, 63, 64);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_DRIVER(cbid, returnValue, correlationId, start, end, "
    "threadId);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_DRIVER VALUES(307, 71, 72, 500, 573, 74);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER(counterKind, srcId, dstId, "
    "streamId, value, address, flags, start, end);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER VALUES(1, 81, 82, 83, 84, 85, 86, "
    "5000, 5087);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_OVERHEAD(overheadKind, objectKind, objectId, start, end);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_OVERHEAD VALUES(65536, 2, x'010000005f00000000000000', "
    "6000, 6091);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_DEVICE(id, name, uuid, computeCapabilityMajor, "
    "computeCapabilityMinor, numMultiprocessors, coreClockRate, globalMemorySize, "
    "globalMemoryBandwidth, l2CacheSize, numThreadsPerWarp, maxWarpsPerMultiprocessor, "
    "maxBlocksPerMultiprocessor, maxSharedMemoryPerMultiprocessor, "
    "maxRegistersPerMultiprocessor, maxSharedMemoryPerBlock, maxRegistersPerBlock, "
    "maxThreadsPerBlock);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_DEVICE VALUES(3, 5, x'0123456789abcdeffedcba9876543210', "
    "101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111, 112, 113, 114, 115);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_STREAM(streamId, contextId, priority, flag, "
    "correlationId); INSERT INTO CUPTI_ACTIVITY_KIND_STREAM VALUES(121, 122, 4294967293, 2, "
    "123);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_CONTEXT(contextId, deviceId, nullStreamId);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_CONTEXT VALUES(131, 132, 133)";

static void every_column_is_read(void **state)
{
    (void)state;
    nvvp_put_database(every_column_sql);
    for (size_t i = 0; i < sizeof every_column / sizeof *every_column; i++)
        nvvp_expect_column(every_column[i].table, every_column[i].column, every_column[i].expected);
}

/* The header relates the times of such a file to 1970: they are. */
static void the_header_has_the_earliest_time(void **state)
{
    int fd = fixture_file(NULL, 0);
    struct mp_trace *trace;

    (void)state;
    nvvp_put_database(RUNTIME CALL
                      "(1, 211, 900, 950, 33, 4, 5, 6), (2, 211, 700, 750, 33, 4, 6, 6);"
                      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start, end);"
                      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(0, 5), (800, 850)");
    assert_int_equal(nvvp_read(nvvp_path, fd, NULL), MP_OK);
    assert_int_equal(mp_trace_open(fixture_path(fd), &trace, NULL), MP_OK);
    assert_string_equal(mp_trace_property(trace, "start_clock_ns"), "700");
    assert_string_equal(mp_trace_property(trace, "start_realtime_ns"), "700");
    assert_string_equal(mp_trace_property(trace, "pid"), "33");
    mp_trace_close(trace);
    close(fd);
}

/* Of several rows of attributes for one range the first counts, and the range stays one. */
static void attributes_do_not_multiply_ranges(void **state)
{
    (void)state;
    nvvp_put_database(
        STRINGS MARKERS
        "INSERT INTO CUPTI_ACTIVITY_KIND_MARKER VALUES(1, 1, 10, 1, 2, x'', 5, 0);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_MARKER_DATA(flags, id, payloadKind, payload, "
        "color, category); INSERT INTO CUPTI_ACTIVITY_KIND_MARKER_DATA VALUES"
        "(2, 1, 0, x'000000000000f83f', 7, 8), (2, 1, 1, x'0000000000000001', 9, 10)");
    nvvp_expect_column("nvtx", "category", "8");
    nvvp_expect_column("nvtx", "color", "7");
    nvvp_expect_column("nvtx", "payload_type", "3");
    nvvp_expect_column("nvtx", "payload", "4609434218613702656");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_columns_read_as_0),
        cmocka_unit_test(names_that_are_missing_are_counted),
        cmocka_unit_test(tables_without_use_are_counted),
        cmocka_unit_test(ranges_are_told_apart),
        cmocka_unit_test(waits_find_their_thread),
        cmocka_unit_test(allocations_become_two_rows),
        cmocka_unit_test(every_column_is_read),
        cmocka_unit_test(the_header_has_the_earliest_time),
        cmocka_unit_test(attributes_do_not_multiply_ranges),
    };
    return cmocka_run_group_tests(tests, nvvp_make_folder, nvvp_remove_folder);
}
