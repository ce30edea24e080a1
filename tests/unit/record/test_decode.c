/* CUPTI's records become rows: a buffer of records of our own goes in, and each row comes out as
 * "TABLE COLUMN=VALUE ...", without what is 0. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "record/rows/decode.h"
#include "trace/schema.h"
#include "unit/trace_fixture.h"

enum { WANTED = 3, UNWANTED, THREAD = 77 };

union record {
    uint32_t kind;
    struct record_kernel_10 kernel;
    struct record_copy copy;
    struct record_peer_copy peer_copy;
    struct record_set set;
    struct record_call call;
    struct record_graph graph;
    struct record_device_graph device_graph;
    struct record_memory memory;
    struct record_pool pool;
    struct record_unified unified;
    struct record_overhead overhead;
    struct record_jit jit;
    struct record_context_2 context;
};

static union record records[16];
static size_t record_count, handed_out;
static struct api_set api;
static struct cupti_api cupti;
static struct capture capture;
static struct dictionary dictionary;
static struct decoder decoder;
static struct mp_writer *writer;
static int fd;

static CUptiResult next_record(uint8_t *buffer, size_t bytes, CUpti_Activity **record)
{
    assert_ptr_equal(buffer, records);
    assert_int_equal(bytes, sizeof records);
    *record = handed_out < record_count ? (CUpti_Activity *)(void *)&records[handed_out++] : NULL;
    return *record ? CUPTI_SUCCESS : CUPTI_ERROR_MAX_LIMIT_REACHED;
}

/* All is recorded from 100 on. */
static int open_decoder(void **state)
{
    (void)state;
    memset(&capture, 0, sizeof capture);
    record_count = handed_out = 0;
    cupti = (struct cupti_api){.version = 130000, .next_record = next_record};
    api.flags[MP_api_runtime][WANTED] = api.flags[MP_api_driver][WANTED] = API_RECORD;
    fd = fixture_file(NULL, 0);
    writer = fixture_writer(fd, "", 0);
    assert_int_equal(dictionary_open(&dictionary, writer, &api), MP_OK);
    decoder_open(&decoder, &cupti, &api, &capture, &dictionary, writer);
    assert_int_equal(capture_start(&capture, 100, 1, false), CAPTURE_BEGIN);
    return 0;
}

static int close_decoder(void **state)
{
    (void)state;
    decoder_close(&decoder);
    dictionary_close(&dictionary);
    close(fd);
    return 0;
}

static union record *put(uint32_t kind)
{
    assert_true(record_count < sizeof records / sizeof *records);
    memset(&records[record_count], 0, sizeof *records);
    records[record_count].kind = kind;
    return &records[record_count++];
}

/* ---- What the file has ---- */

static char said[3000];
static size_t used;

static void show_row(const struct mp_batch *batch, uint32_t row)
{
    used += (size_t)snprintf(said + used, sizeof said - used, "%s%s", used ? "; " : "",
                             batch->table->name);
    for (unsigned i = 0; i < batch->table->column_count; i++)
        if (batch->columns[i][row])
            used += (size_t)snprintf(said + used, sizeof said - used, " %s=%llu",
                                     batch->table->columns[i].name,
                                     (unsigned long long)batch->columns[i][row]);
    assert_true(used < sizeof said);
}

static bool is_shown(const struct mp_table_info *table)
{
    return table->kind == MP_TABLE_EVENT || table->id == MP_TABLE_context_info;
}

static void decode(void)
{
    decode_buffer(&decoder, (uint8_t *)records, sizeof records);
    nested_flush(&decoder.nested, true);
}

static void expect(const char *expected)
{
    struct mp_trace *trace;
    struct mp_cursor *cursor;
    struct mp_batch batch;

    decode();
    assert_int_equal(decoder.counts.records, record_count);
    assert_int_equal(mp_writer_close(writer, NULL), MP_OK);
    used = 0;
    said[0] = '\0';
    assert_int_equal(mp_trace_open(fixture_path(fd), &trace, NULL), MP_OK);
    assert_int_equal(mp_cursor_open(trace, &cursor, NULL), MP_OK);
    while (mp_cursor_next(cursor, &batch) == MP_OK)
        for (uint32_t row = 0; is_shown(batch.table) && row < batch.rows; row++)
            show_row(&batch, row);
    mp_cursor_close(cursor);
    mp_trace_close(trace);
    assert_string_equal(said, expected);
}

/* ---- Work on the device ---- */

static void put_kernel(uint64_t start, uint64_t end, uint32_t correlation)
{
    struct record_kernel_10 *kernel = &put(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)->kernel;

    kernel->kernel.start = start;
    kernel->kernel.end = end;
    kernel->kernel.correlation = correlation;
    kernel->kernel.stream = 7;
    kernel->kernel.name = "a";
}

static void put_copy(uint32_t kind, uint64_t start, uint64_t end, uint32_t correlation)
{
    struct record_copy *copy = &put(kind)->copy;

    copy->copy_kind = 1;
    copy->source_kind = 2;
    copy->target_kind = 3;
    copy->flags = 1;
    copy->bytes = 4096;
    copy->start = start;
    copy->end = end;
    copy->stream = 7;
    copy->correlation = correlation;
}

static void copies_and_sets(void **state)
{
    struct record_peer_copy *peer;
    struct record_set *set;

    (void)state;
    put_copy(CUPTI_ACTIVITY_KIND_MEMCPY, 200, 230, 5);
    put_copy(CUPTI_ACTIVITY_KIND_MEMCPY, 240, 250, 6);
    records[1].copy.count = 4;
    peer = &put(CUPTI_ACTIVITY_KIND_MEMCPY2)->peer_copy;
    *peer = (struct record_peer_copy){.kind = CUPTI_ACTIVITY_KIND_MEMCPY2,
                                      .copy_kind = 10,
                                      .bytes = 64,
                                      .start = 260,
                                      .end = 261,
                                      .stream = 7,
                                      .source_device = 1,
                                      .source_context = 2,
                                      .target_device = 3,
                                      .target_context = 4,
                                      .correlation = 7};
    set = &put(CUPTI_ACTIVITY_KIND_MEMSET)->set;
    set->value = 255;
    set->bytes = 32;
    set->start = 270;
    set->end = 275;
    set->stream = 7;
    set->correlation = 8;
    set->flags = 1;
    set->memory_kind = 3;
    expect("copy stream=1 kind=1 source=2 target=3 flags=1 bytes=4096 start=200 duration=30 "
           "correlation=5 count=1; "
           "copy stream=1 kind=1 source=2 target=3 flags=1 bytes=4096 start=240 duration=10 "
           "correlation=6 count=4; "
           "copy stream=1 kind=10 bytes=64 start=260 duration=1 correlation=7 source_device=1 "
           "source_context=2 target_device=3 target_context=4 count=1; "
           "set stream=1 bytes=32 value=255 memory=3 flags=1 start=270 duration=5 correlation=8");
}

static void kernels_and_graphs(void **state)
{
    struct record_graph *graph;
    struct record_device_graph *own;

    (void)state;
    put_kernel(200, 230, 5);
    put_kernel(240, 250, 6);
    records[1].kernel.device_launched = 1;
    graph = &put(CUPTI_ACTIVITY_KIND_GRAPH_TRACE)->graph;
    graph->start = 300;
    graph->end = 350;
    graph->graph = 9;
    graph->stream = 8;
    graph->correlation = 7;
    own = &put(MP_CUPTI_KIND_DEVICE_GRAPH_TRACE)->device_graph;
    own->start = 360;
    own->end = 370;
    own->graph = 10;
    own->stream = 7;
    expect("kernel stream=1 shape=1 start=200 duration=30 correlation=5; "
           "kernel stream=1 shape=1 start=240 duration=10 correlation=6; "
           "graph stream=2 graph=9 start=300 duration=50 correlation=7; "
           "graph stream=1 graph=10 start=360 duration=10");
    assert_int_equal(decoder.counts.work, 4);
    assert_int_equal(decoder.counts.device_launches, 2);
    assert_int_equal(decoder.worked, 7);
}

static void what_is_not_of_the_range_is_counted(void **state)
{
    (void)state;
    decoder.earliest = 150;
    decoder.latest = 1000;
    put_kernel(200, 230, 1);  /* launched before it */
    put_kernel(140, 230, 2);  /* of another clock */
    put_kernel(200, 1001, 3); /* the same */
    put_kernel(0, 230, 4);    /* with an unknown time */
    put_kernel(260, 250, 5);  /* reversed */
    put(9999);
    decode();
    assert_int_equal(decoder.counts.outside, 1);
    assert_int_equal(decoder.counts.foreign_times, 2);
    assert_int_equal(decoder.counts.zero_times, 1);
    assert_int_equal(decoder.counts.reversed_times, 1);
    assert_int_equal(decoder.counts.work, 2);
    assert_int_equal(decoder.counts.unknown, 1);
    assert_int_equal(mp_writer_close(writer, NULL), MP_OK);
}

/* ---- Calls ---- */

static void put_call(uint32_t kind, uint32_t cbid, uint64_t start, uint64_t end,
                     uint32_t correlation)
{
    put(kind)->call = (struct record_call){.kind = kind,
                                           .cbid = cbid,
                                           .start = start,
                                           .end = end,
                                           .thread = THREAD,
                                           .correlation = correlation,
                                           .result = cbid == WANTED ? 0 : 2};
}

static void wanted_calls_are_kept_without_those_inside_of_them(void **state)
{
    (void)state;
    put_call(CUPTI_ACTIVITY_KIND_DRIVER, WANTED, 200, 210, 5);
    put_call(CUPTI_ACTIVITY_KIND_DRIVER, WANTED, 302, 305, 6);
    put_call(CUPTI_ACTIVITY_KIND_RUNTIME, WANTED, 300, 310, 7);
    put_call(CUPTI_ACTIVITY_KIND_RUNTIME, UNWANTED, 320, 330, 8);
    put_call(CUPTI_ACTIVITY_KIND_DRIVER, UNWANTED, 340, 350, 9);
    put_call(CUPTI_ACTIVITY_KIND_RUNTIME, WANTED, 90, 95, 2);
    expect("call thread=1 function=1 start=200 duration=10 correlation=5; "
           "call thread=1 function=2 start=300 duration=10 correlation=7");
    assert_int_equal(decoder.counts.outside, 3);
    assert_int_equal(decoder.nested.dropped, 1);
}

/* From then on callbacks log them. */
static void calls_after_the_end_of_calls_are_left_out(void **state)
{
    static const _Atomic uint64_t end = 300;

    (void)state;
    decoder.calls_end = &end;
    put_call(CUPTI_ACTIVITY_KIND_RUNTIME, WANTED, 299, 301, 5);
    put_call(CUPTI_ACTIVITY_KIND_RUNTIME, WANTED, 300, 301, 6);
    expect("call thread=1 function=1 start=299 duration=2 correlation=5");
}

/* ---- Memory ---- */

static void memory_and_pools(void **state)
{
    struct record_memory *memory;
    struct record_pool *pool;

    (void)state;
    for (uint32_t type = 0; type <= 2; type++) { /* of no pool, a local one, an imported one */
        memory = &put(CUPTI_ACTIVITY_KIND_MEMORY2)->memory;
        memory->operation = 1;
        memory->memory_kind = 3;
        memory->bytes = 64;
        memory->address = 4096;
        memory->time = 200 + type;
        memory->stream = 7;
        memory->correlation = 5 + type;
        memory->pool_type = type;
        memory->pool_address = 8192;
        memory->pool_size = 1000;
        memory->pool_used = 64;
    }
    pool = &put(CUPTI_ACTIVITY_KIND_MEMORY_POOL)->pool;
    *pool = (struct record_pool){.kind = CUPTI_ACTIVITY_KIND_MEMORY_POOL,
                                 .operation = 1,
                                 .pool_type = 1,
                                 .address = 8192,
                                 .size = 1000,
                                 .threshold = 10,
                                 .bytes_kept = 20,
                                 .time = 210,
                                 .correlation = 8};
    put(CUPTI_ACTIVITY_KIND_MEMORY_POOL)->pool.time = 99; /* before the range */
    expect("memory operation=1 kind=3 stream=7 bytes=64 address=4096 time=200 correlation=5; "
           "memory operation=1 kind=3 stream=7 bytes=64 address=4096 time=201 correlation=6 "
           "pool_type=1 pool=8192 pool_used=64 pool_size=1000; "
           "memory operation=1 kind=3 stream=7 bytes=64 address=4096 time=202 correlation=7 "
           "pool_type=2 pool=8192 pool_used=64; "
           "pool operation=1 type=1 pool=8192 time=210 size=1000 bytes_kept=20 "
           "release_threshold=10 correlation=8");
    assert_int_equal(decoder.counts.outside, 1);
}

/* A source, a target and an end stand in each record; which of them mean something, its kind says.
 */
static void unified_memory_by_kind(void **state)
{
#define NONE "4294967295"
    static const char *const meaning[] = {
        [MP_unified_kind_bytes_HtoD] = "source=" NONE " target=2 value=9 start=201 duration=10",
        [MP_unified_kind_bytes_DtoH] = "source=1 target=" NONE " value=9 start=202 duration=10",
        [MP_unified_kind_cpu_page_fault] = "source=" NONE " target=" NONE " value=9 start=203",
        [MP_unified_kind_gpu_page_fault] = "source=1 target=" NONE " value=9 start=204 duration=10",
        [MP_unified_kind_thrashing] = "source=1 target=" NONE " value=9 start=205",
        [MP_unified_kind_throttling] = "source=1 target=" NONE " value=9 start=206 duration=10",
        [MP_unified_kind_remote_map] = "source=1 target=2 value=9 start=207",
        [MP_unified_kind_bytes_DtoD] = "source=1 target=2 value=9 start=208 duration=10",
    };
#undef NONE
    char expected[1000] = "";
    size_t length = 0;

    (void)state;
    for (uint32_t kind = 1; kind < sizeof meaning / sizeof *meaning; kind++) {
        put(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER)->unified =
            (struct record_unified){.kind = CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER,
                                    .counter = kind,
                                    .value = 9,
                                    .start = 200 + kind,
                                    .end = 210 + kind,
                                    .source = 1,
                                    .target = 2};
        length += (size_t)snprintf(expected + length, sizeof expected - length,
                                   "%sunified kind=%u %s", length ? "; " : "", kind, meaning[kind]);
    }
    expect(expected);
}

static void overhead_of_threads_and_of_the_process(void **state)
{
    (void)state;
    put(CUPTI_ACTIVITY_KIND_OVERHEAD)->overhead =
        (struct record_overhead){.kind = CUPTI_ACTIVITY_KIND_OVERHEAD,
                                 .overhead_kind = 1,
                                 .object_kind = 2,
                                 .object = {1, THREAD, 0},
                                 .start = 200,
                                 .end = 210,
                                 .correlation = 5};
    put(CUPTI_ACTIVITY_KIND_OVERHEAD)->overhead = records[0].overhead;
    records[1].overhead.object_kind = 1;
    expect("overhead thread=1 kind=1 start=200 duration=10 correlation=5; "
           "overhead kind=1 start=200 duration=10 correlation=5");
}

static void compilations(void **state)
{
    (void)state;
    put(MP_CUPTI_KIND_JIT)->jit = (struct record_jit){.kind = MP_CUPTI_KIND_JIT,
                                                      .entry = 1,
                                                      .operation = 3,
                                                      .device = 2,
                                                      .start = 200,
                                                      .end = 260,
                                                      .correlation = 5,
                                                      .unit = 7,
                                                      .cache_bytes = 4096};
    expect("jit kind=1 operation=3 device=2 start=200 duration=60 correlation=5 unit=7 "
           "cache_bytes=4096");
}

/* CUPTI since 12.4 names the parent, since 12.5 the SMs; before, the bytes belong to the next
 * record. Those of other contexts mean nothing. */
static void put_contexts(void)
{
    put(CUPTI_ACTIVITY_KIND_CONTEXT)->context =
        (struct record_context_2){.context = {.kind = CUPTI_ACTIVITY_KIND_CONTEXT,
                                              .context = 1,
                                              .device = 3,
                                              .null_stream = 7},
                                  .parent = 9,
                                  .multiprocessors = 132};
    put(CUPTI_ACTIVITY_KIND_CONTEXT)->context = records[0].context;
    records[1].context.context.context = 2;
    records[1].context.parent = 1;
    records[1].context.is_green = 1;
    records[1].context.multiprocessors = 16;
}

#define PRIMARY "context_info context=1 device=3 null_stream=7; "
#define GREEN   "context_info context=2 device=3 null_stream=7"

static void green_contexts(void **state)
{
    (void)state;
    put_contexts();
    expect(PRIMARY GREEN " parent=1 multiprocessors=16");
}

static void green_contexts_of_12_4(void **state)
{
    (void)state;
    cupti.version = 22;
    put_contexts();
    expect(PRIMARY GREEN " parent=1");
}

static void contexts_before_12_4(void **state)
{
    (void)state;
    cupti.version = 21;
    put_contexts();
    expect(PRIMARY GREEN);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, open_decoder, close_decoder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(copies_and_sets),
        TEST(kernels_and_graphs),
        TEST(what_is_not_of_the_range_is_counted),
        TEST(wanted_calls_are_kept_without_those_inside_of_them),
        TEST(calls_after_the_end_of_calls_are_left_out),
        TEST(memory_and_pools),
        TEST(unified_memory_by_kind),
        TEST(overhead_of_threads_and_of_the_process),
        TEST(compilations),
        TEST(green_contexts),
        TEST(green_contexts_of_12_4),
        TEST(contexts_before_12_4),
    };

    return cmocka_run_group_tests_name("record/decode", tests, NULL, NULL);
}
