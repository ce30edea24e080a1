/* The GPU trace and the API trace as text: what the traces of tests/cli do not have: unified
 * memory, NVTX, copies between devices, names of contexts and streams, damage, and memory that is
 * out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reports/trace/trace.h"
#include "unit/trace_fixture.h"

static const char *const strings[] = {
    "TITAN V", "kernel_a", "cuLaunchKernel", "outer",
    "inner",   "library",  "mark",           "cudaGraphLaunch_v10000"};
enum { DEVICE = 1, KERNEL, LAUNCH, OUTER, INNER, LIBRARY, MARK, GRAPH_LAUNCH };

static struct mp_writer *begin(int fd)
{
    struct mp_writer *writer = fixture_writer(fd, "pid=7\n", 0);

    for (uint64_t i = 0; i < sizeof strings / sizeof *strings; i++)
        mp_append_string(
            writer, &(struct mp_row_string){i + 1, {strings[i], (uint32_t)strlen(strings[i])}});
    mp_append_thread(writer, &(struct mp_row_thread){.id = 1, .tid = 99});
    for (uint64_t i = 0; i < 2; i++) {
        mp_append_device(writer, &(struct mp_row_device){.id = i, .name = DEVICE});
        mp_append_stream(writer,
                         &(struct mp_row_stream){
                             .id = i + 1, .stream = 7 * (i + 1), .context = 1 + i, .device = i});
    }
    mp_append_function(writer, &(struct mp_row_function){.id = 1, .name = LAUNCH});
    mp_append_function(writer, &(struct mp_row_function){.id = 2, .name = GRAPH_LAUNCH});
    mp_append_shape(writer, &(struct mp_row_shape){.id = 1,
                                                   .kernel = KERNEL,
                                                   .grid_x = 40,
                                                   .grid_y = 1,
                                                   .grid_z = 1,
                                                   .block_x = 256,
                                                   .block_y = 1,
                                                   .block_z = 1,
                                                   .registers = 26,
                                                   .dynamic_shared_memory = 49152});
    return writer;
}

/* What is printed of the trace, to be freed. */
static char *print(int fd, struct traces_options options, enum report_format format,
                   struct quality *quality)
{
    struct report_out out = {.format = format, .nvprof = true};
    struct mp_trace *trace;
    struct mp_error error;
    char *text = NULL;
    size_t size;

    out.file = open_memstream(&text, &size);
    assert_non_null(out.file);
    assert_int_equal(mp_trace_open(fixture_path(fd), &trace, &error), MP_OK);
    options.style = NAMES_READABLE;
    assert_int_equal(print_traces(&out, trace, &options, quality, &error), MP_OK);
    fclose(out.file);
    mp_trace_close(trace);
    return text;
}

/* Ends the trace and compares what is printed of it. */
static void expect(struct mp_writer *writer, int fd, struct traces_options options,
                   enum report_format format, const char *expected)
{
    struct quality quality;
    char *text;

    assert_int_equal(mp_writer_close(writer, NULL), MP_OK);
    text = print(fd, options, format, &quality);
    assert_string_equal(text, expected);
    assert_true(quality_is_whole(&quality));
    quality_free(&quality);
    free(text);
    close(fd);
}

static void put_unified(struct mp_writer *writer, uint64_t kind, uint64_t start, uint64_t duration,
                        uint64_t value, uint64_t address)
{
    mp_append_unified(writer, &(struct mp_row_unified){.kind = kind,
                                                       /* a set of devices, or a device */
                                                       .source = kind == MP_unified_kind_thrashing,
                                                       .target = 0,
                                                       .value = value,
                                                       .address = address,
                                                       .start = start,
                                                       .duration = duration});
}

/* As nvprof prints it on a Tesla T4, with other numbers. */
static void put_unified_rows(struct mp_writer *writer)
{
    mp_append_kernel(
        writer,
        &(struct mp_row_kernel){
            .stream = 1, .shape = 1, .start = 2000000, .duration = 222810, .correlation = 131});
    put_unified(writer, MP_unified_kind_cpu_page_fault, 1000000, 0, 0x400b82, 0x7612d2000000);
    put_unified(writer, MP_unified_kind_bytes_HtoD, 1500000, 25952, 262144, 0x7612d2000000);
    put_unified(writer, MP_unified_kind_gpu_page_fault, 2000500, 214810, 14, 0x7612d2080000);
    put_unified(writer, MP_unified_kind_bytes_DtoH, 2500000, 1825, 4096, 0x7612d2001000);
    put_unified(writer, MP_unified_kind_thrashing, 2600000, 0, 65536, 0x7612d2001000);
}

#define UNIFIED_HEADER                                                                             \
    "   Start  Duration            Grid Size      Block Size     Regs*    SSMem*    DSMem*"        \
    "           Device   Context    Stream        Unified Memory  Virtual Address  Name\n"
#define NO_SHAPE "                    -               -         -         -         -"

#define SHAPE_NOTES                                                                                \
    "\nRegs: Registers of a thread, with those that driver and tools add.\n"                       \
    "SSMem: Static shared memory of a block.\n"                                                    \
    "DSMem: Dynamic shared memory of a block.\n"

static void unified_memory_has_columns_of_its_own(void **state)
{
    int fd = fixture_file("", 0);
    struct mp_writer *writer = begin(fd);

    (void)state;
    put_unified_rows(writer);
    expect(writer, fd, (struct traces_options){.gpu = true}, REPORT_TEXT,
           "==7== Profiling result:\n" UNIFIED_HEADER "     0ns         -" NO_SHAPE
           "                -         -         -           PC 0x400b82   0x7612d2000000"
           "  [Unified Memory CPU page faults]\n"
           "500.00us  25.952us" NO_SHAPE
           "      TITAN V (0)         -         -          256.000000KB   0x7612d2000000"
           "  [Unified Memory Memcpy HtoD]\n"
           "1.0000ms  222.81us             (40 1 1)       (256 1 1)        26        0B  48.000KB"
           "      TITAN V (0)         1         7                     -                -"
           "  kernel_a [131]\n"
           "1.0005ms  214.81us" NO_SHAPE
           "      TITAN V (0)         -         -                    14   0x7612d2080000"
           "  [Unified Memory GPU page faults]\n"
           "1.5000ms  1.8250us" NO_SHAPE
           "      TITAN V (0)         -         -            4.000000KB   0x7612d2001000"
           "  [Unified Memory Memcpy DtoH]\n"
           "1.6000ms         -" NO_SHAPE
           "      TITAN V (0)         -         -           64.000000KB   0x7612d2001000"
           "  [Unified Memory thrashing]\n" SHAPE_NOTES);
}

static void unified_memory_in_csv(void **state)
{
    int fd = fixture_file("", 0);
    struct mp_writer *writer = begin(fd);

    (void)state;
    put_unified(writer, MP_unified_kind_cpu_page_fault, 1000000, 0, 0x400b82, 0x7612d2000000);
    put_unified(writer, MP_unified_kind_bytes_HtoD, 1500000, 25952, 262144, 0x7612d2000000);
    expect(writer, fd, (struct traces_options){.gpu = true}, REPORT_CSV,
           "==7== Profiling result:\n"
           "\"Start\",\"Duration\",\"Device\",\"Unified Memory\",\"Virtual Address\",\"Name\","
           "\"Correlation_ID\"\n"
           "us,us,,,,,\n"
           "0.000000,,,\"PC 0x400b82\",0x7612d2000000,\"[Unified Memory CPU page faults]\",\n"
           "500.000000,25.952000,\"TITAN V (0)\",\"256.000000KB\",0x7612d2000000,"
           "\"[Unified Memory Memcpy HtoD]\",\n");
}

static void put_nvtx(struct mp_writer *writer, uint64_t kind, uint64_t domain, uint64_t name,
                     uint64_t time, uint64_t range)
{
    mp_append_nvtx(writer, &(struct mp_row_nvtx){.thread = 1,
                                                 .kind = kind,
                                                 .domain = domain,
                                                 .name = name,
                                                 .time = time,
                                                 .range = range});
}

static void put_call(struct mp_writer *writer, uint64_t function, uint64_t start,
                     uint64_t correlation)
{
    mp_append_call(writer, &(struct mp_row_call){.thread = 1,
                                                 .function = function,
                                                 .start = start,
                                                 .duration = 900,
                                                 .correlation = correlation});
}

/* A launch whose kernel begins long after it, one without a kernel, and one of a graph. */
static void put_host_rows(struct mp_writer *writer)
{
    put_nvtx(writer, MP_nvtx_kind_push, 0, OUTER, 1000, 0);
    put_call(writer, 1, 1600, 1004);
    put_nvtx(writer, MP_nvtx_kind_start, LIBRARY, INNER, 3000, 5);
    put_call(writer, 1, 3100, 1005);
    put_nvtx(writer, MP_nvtx_kind_mark, 0, MARK, 4100, 0);
    put_nvtx(writer, MP_nvtx_kind_pop, 0, 0, 5000, 0);
    put_nvtx(writer, MP_nvtx_kind_end, LIBRARY, 0, 5500, 5);
    put_nvtx(writer, MP_nvtx_kind_pop, 0, 0, 6000, 0);
    put_call(writer, 2, 6100, 1006);
    mp_append_kernel(
        writer,
        &(struct mp_row_kernel){
            .stream = 1, .shape = 1, .start = 90000000, .duration = 10, .correlation = 1004});
    mp_append_kernel(writer, &(struct mp_row_kernel){.stream = 1,
                                                     .shape = 1,
                                                     .node = 3,
                                                     .start = 90000100,
                                                     .duration = 10,
                                                     .correlation = 1006});
}

static void nvtx_events_stand_among_the_calls(void **state)
{
    int fd = fixture_file("", 0);
    struct mp_writer *writer = begin(fd);

    (void)state;
    put_host_rows(writer);
    expect(writer, fd, (struct traces_options){.api = true}, REPORT_TEXT,
           "==7== Profiling result:\n"
           "   Start  Duration  Name\n"
           "     0ns         -  [Range start] outer (Domain: <unnamed>)\n"
           "   600ns     900ns  cuLaunchKernel (kernel_a [1004])\n"
           "2.0000us         -  [Range start] inner (Domain: library)\n"
           "2.1000us     900ns  cuLaunchKernel\n"
           "3.1000us         -  [Marker] mark (Domain: <unnamed>)\n"
           "4.0000us         -  [Range end] outer (Domain: <unnamed>)\n"
           "4.5000us         -  [Range end] inner (Domain: library)\n"
           "5.0000us         -  [Range end] <unnamed> (Domain: <unnamed>)\n"
           "5.1000us     900ns  cudaGraphLaunch\n");
}

static void put_peer_copy(struct mp_writer *writer)
{
    mp_append_copy(writer, &(struct mp_row_copy){.stream = 2,
                                                 .kind = MP_copy_kind_PtoP,
                                                 .source = MP_memory_kind_device,
                                                 .target = MP_memory_kind_managed,
                                                 .bytes = 64 << 20,
                                                 .start = 5000,
                                                 .duration = 6710800,
                                                 .correlation = 3,
                                                 .source_device = 0,
                                                 .source_context = 1,
                                                 .target_device = 1,
                                                 .target_context = 2});
}

/* 64 MB in 6.7108 ms are 9.3133 GB/s, as nvprof prints it for such a copy. */
static void copies_between_devices_name_both(void **state)
{
    static const struct names_patterns patterns = {.context = "ctx-%i", .stream = "%i/%i%"};
    int fd = fixture_file("", 0);
    struct mp_writer *writer = begin(fd);

    (void)state;
    put_peer_copy(writer);
    expect(writer, fd, (struct traces_options){.gpu = true, .patterns = &patterns}, REPORT_TEXT,
           "==7== Profiling result:\n"
           "   Start  Duration      Size  Throughput  SrcMemType  DstMemType           Device"
           "   Context    Stream          Src Dev   Src Ctx          Dst Dev   Dst Ctx  Name\n"
           "     0ns  6.7108ms  64.000MB  9.3133GB/s      Device     Managed      TITAN V (1)"
           "     ctx-2    14/14%      TITAN V (0)         1      TITAN V (1)         2"
           "  [CUDA memcpy PtoP]\n"
           "\nSrcMemType: Kind of memory that a copy reads, or that a memset writes.\n"
           "DstMemType: Kind of memory that a copy writes.\n");
}

/* A range that is unknown is an argument that is wrong; nothing is printed. */
static void a_range_that_is_not_there_prints_nothing(void **state)
{
    struct traces_options options = {.gpu = true, .range = 4};
    int fd = fixture_file("", 0);
    struct report_out out = {.file = tmpfile()};
    struct mp_trace *trace;
    struct quality quality;
    struct mp_error error;

    (void)state;
    assert_int_equal(mp_writer_close(begin(fd), NULL), MP_OK);
    assert_int_equal(mp_trace_open(fixture_path(fd), &trace, NULL), MP_OK);
    assert_int_equal(print_traces(&out, trace, &options, &quality, &error), MP_ERR_ARGUMENT);
    assert_string_equal(error.text, "there is no capture range 4; the trace has 0");
    assert_int_equal(ftell(out.file), 0);
    quality_free(&quality);
    mp_trace_close(trace);
    fclose(out.file);
    close(fd);
}

/* Whatever byte of a small trace is wrong, something is printed, and told of as damage at most
 * once. */
static void damaged_traces_are_printed_as_far_as_they_go(void **state)
{
    int fd = fixture_file("", 0);
    struct mp_writer *writer = begin(fd);
    uint8_t *bytes;
    size_t size;

    (void)state;
    put_unified_rows(writer);
    put_host_rows(writer);
    put_peer_copy(writer);
    assert_int_equal(mp_writer_close(writer, NULL), MP_OK);
    bytes = fixture_file_bytes(fd, &size);
    for (size_t at = 0; at < size; at += 3) {
        struct mp_trace *trace;
        struct quality quality;

        bytes[at] ^= 0x41;
        fixture_file_set(fd, bytes, size);
        bytes[at] ^= 0x41;
        if (mp_trace_open(fixture_path(fd), &trace, NULL) != MP_OK)
            continue;
        mp_trace_close(trace);
        char *text = print(fd, (struct traces_options){.gpu = true, .api = true, .head = true},
                           at % 2 ? REPORT_CSV : REPORT_TEXT, &quality);
        assert_non_null(strstr(text, " Profiling result:\n"));
        assert_true(quality.damage.chunks_damaged <= 1);
        quality_free(&quality);
        free(text);
    }
    free(bytes);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unified_memory_has_columns_of_its_own),
        cmocka_unit_test(unified_memory_in_csv),
        cmocka_unit_test(nvtx_events_stand_among_the_calls),
        cmocka_unit_test(copies_between_devices_name_both),
        cmocka_unit_test(a_range_that_is_not_there_prints_nothing),
        cmocka_unit_test(damaged_traces_are_printed_as_far_as_they_go),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
