/* Unified memory and allocations: which row counts where. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/deps/deps_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reports/memory/memory.h"
#include "reports/memory/print.h"
#include "reports/summary/print.h"
#include "reports/summary/summary.h"
#include "reports/summary/unified.h"

#define HOST  UINT32_MAX /* CUPTI's id of the CPU */
#define KB(n) (UINT64_C(1024) * (n))

static void put_device(uint64_t id, const char *name)
{
    mp_append_device(scene.writer, &(struct mp_row_device){.id = id, .name = put_string(name)});
}

static void put_unified(uint64_t kind, uint64_t source, uint64_t target, uint64_t value,
                        uint64_t begin, uint64_t duration)
{
    mp_append_unified(scene.writer, &(struct mp_row_unified){.kind = kind,
                                                             .source = source,
                                                             .target = target,
                                                             .value = value,
                                                             .start = begin * 1000,
                                                             .duration = duration});
}

/* The example of nvprof's output in the reference, and a second device. */
static void put_example(void)
{
    put_device(0, "GPU0");
    put_device(1, "GPU1");
    put_unified(MP_unified_kind_bytes_HtoD, HOST, 0, KB(64), 10, 1000);
    put_unified(MP_unified_kind_bytes_HtoD, HOST, 0, KB(128), 20, 2000);
    put_unified(MP_unified_kind_gpu_page_fault, 0, 0, 7, 30, 1000);
    put_unified(MP_unified_kind_cpu_page_fault, HOST, HOST, 0x46b98d, 35, 0);
    put_unified(MP_unified_kind_bytes_DtoH, 1, HOST, 4096, 40, 500);
    put_unified(MP_unified_kind_bytes_DtoD, 0, 1, 8192, 50, 700);
    put_unified(MP_unified_kind_thrashing, 1u << 1, 0, 65536, 60, 0);
    put_unified(MP_unified_kind_throttling, 1, 0, 0, 70, 900);
    put_unified(MP_unified_kind_remote_map, HOST, 1, 4096, 80, 0);
    put_unified(99, 0, 1, 1, 90, 1);
}

static struct unified unified;

static void load_range(uint64_t range)
{
    struct unified_options options = {.range = range};

    scene_load();
    assert_int_equal(unified_build(scene.trace, &options, &unified, NULL), MP_OK);
}

static void expect_row(size_t device, enum unified_row_index index, uint64_t count, uint64_t total,
                       uint64_t time)
{
    const struct unified_row *row = &unified.devices[device].rows[index];

    assert_int_equal(row->count, count);
    assert_int_equal(row->total, total);
    assert_int_equal(row->time, time);
}

static void rows_belong_to_the_device_that_they_concern(void **state)
{
    (void)state;
    scene_begin();
    put_example();
    load_range(0);
    assert_int_equal(unified.device_count, 2);
    assert_int_equal(unified.devices[0].device, 0);
    assert_string_equal(unified.devices[1].name, "GPU1");
    expect_row(0, UNIFIED_TO_DEVICE, 2, KB(192), 3000);
    assert_int_equal(unified.devices[0].rows[UNIFIED_TO_DEVICE].min, KB(64));
    assert_int_equal(unified.devices[0].rows[UNIFIED_TO_DEVICE].max, KB(128));
    assert_true(unified.devices[0].rows[UNIFIED_TO_DEVICE].mean == KB(96));
    expect_row(0, UNIFIED_GPU_FAULTS, 1, 7, 1000);
    expect_row(0, UNIFIED_TO_HOST, 0, 0, 0);
    expect_row(1, UNIFIED_TO_HOST, 1, 4096, 500);
    expect_row(1, UNIFIED_DEVICE_TO_DEVICE, 1, 8192, 700);
    expect_row(1, UNIFIED_THRASHES, 1, 65536, 0);
    expect_row(1, UNIFIED_THROTTLES, 1, 0, 900);
    expect_row(1, UNIFIED_REMOTE_MAPS, 1, 4096, 0);
    assert_int_equal(unified.cpu_faults, 1);
    unified_free(&unified);
    scene_end(UNSOUND);
}

static void the_host_is_what_is_no_device(void **state)
{
    static const uint64_t hosts[] = {UINT32_MAX, UINT64_MAX, 77};

    (void)state;
    scene_begin();
    put_device(0, "GPU0");
    for (int i = 0; i < 3; i++) {
        put_unified(MP_unified_kind_bytes_HtoD, hosts[i], 0, 10, 10, 1);
        put_unified(MP_unified_kind_bytes_DtoH, 0, hosts[i], 10, 10, 1);
    }
    put_unified(MP_unified_kind_bytes_DtoH, 77, HOST, 10, 10, 1);
    load_range(0);
    assert_int_equal(unified.device_count, 2);
    expect_row(0, UNIFIED_TO_DEVICE, 3, 30, 3);
    expect_row(0, UNIFIED_TO_HOST, 3, 30, 3);
    assert_int_equal(unified.devices[1].device, UINT64_MAX);
    expect_row(1, UNIFIED_TO_HOST, 1, 10, 1);
    unified_free(&unified);
    scene_end(UNSOUND);
}

static void a_capture_range_holds_what_begins_in_it(void **state)
{
    struct unified_options missing = {.range = 2};
    struct mp_error error;

    (void)state;
    scene_begin();
    put_example();
    put_range(1, 15, 32, 0, 0);
    load_range(1);
    assert_int_equal(unified.device_count, 1);
    expect_row(0, UNIFIED_TO_DEVICE, 1, KB(128), 2000);
    assert_int_equal(unified.cpu_faults, 0);
    unified_free(&unified);
    assert_int_equal(unified_build(scene.trace, &missing, &unified, &error), MP_ERR_ARGUMENT);
    assert_string_equal(error.text, "there is no capture range 2; the trace has 1");
    scene_end(UNSOUND);
}

static void times_that_cannot_be_are_counted_and_left_out(void **state)
{
    (void)state;
    scene_begin();
    put_device(0, "GPU0");
    put_unified(MP_unified_kind_bytes_HtoD, HOST, 0, 10, 0, 1);
    put_unified(MP_unified_kind_bytes_HtoD, HOST, 0, 10, 10, (uint64_t)-5);
    load_range(0);
    assert_int_equal(unified.device_count, 0);
    assert_int_equal(unified.quality.unknown_times, 1);
    assert_int_equal(unified.quality.reversed_times, 1);
    unified_free(&unified);
    scene_end(UNSOUND);
}

/* ---- What is printed ---- */

/* What `print` writes, to be freed. */
#define PRINTED(out, print)                                                                        \
    do {                                                                                           \
        (out).file = open_memstream(&text, &size);                                                 \
        assert_non_null((out).file);                                                               \
        print;                                                                                     \
        fclose((out).file);                                                                        \
    } while (0)

static void unified_memory_is_printed_as_nvprof_does(void **state)
{
    static const char expected[] =
        "======== Unified Memory profiling result:\n"
        "Device \"GPU0 (0)\"\n"
        "   Count  Avg Size  Min Size  Max Size  Total Size  Total Time  Name\n"
        "       2  96.000KB  64.000KB  128.00KB  192.0000KB  3.000000us  Host To Device\n"
        "       1         -         -         -           -  1.000000us  Gpu page fault groups\n"
        "Device \"GPU1 (1)\"\n"
        "   Count  Avg Size  Min Size  Max Size  Total Size  Total Time  Name\n"
        "       1  4.0000KB  4.0000KB  4.0000KB  4.000000KB       500ns  Device To Host\n"
        "       1  8.0000KB  8.0000KB  8.0000KB  8.000000KB       700ns  Device To Device\n"
        "       1         -         -         -           -           -  Thrashes\n"
        "       1         -         -         -           -       900ns  Throttles\n"
        "       1         -         -         -           -           -  Remote mapping\n"
        "Total CPU Page faults: 1\n";
    struct report_out out = {.imported = true, .nvprof = true};
    char *text = NULL;
    size_t size;

    (void)state;
    scene_begin();
    put_example();
    load_range(0);
    PRINTED(out, print_unified(&out, scene.trace, &unified));
    assert_string_equal(text, expected);
    free(text);
    out.format = REPORT_CSV;
    PRINTED(out, print_unified(&out, scene.trace, &unified));
    assert_non_null(strstr(text,
                           "\n\"Count\",\"Avg Size\",\"Min Size\",\"Max Size\",\"Total Size\","
                           "\"Total Time\",\"Name\"\n,KB,KB,KB,KB,us,\n2,96.000000,64.000000,"
                           "128.000000,192.000000,3.000000,\"Host To Device\"\n"));
    free(text);
    unified_free(&unified);
    scene_end(UNSOUND);
}

static void without_rows_nothing_is_printed(void **state)
{
    struct allocations_options options = {.range = 0};
    struct allocations allocations;
    struct report_out out = {.imported = true, .nvprof = true};
    char *text = NULL;
    size_t size;

    (void)state;
    scene_begin();
    put_launch(1, "a", 10, 20, 30, 1);
    load_range(0);
    assert_int_equal(allocations_build(scene.trace, &options, &allocations, NULL), MP_OK);
    PRINTED(out, (print_unified(&out, scene.trace, &unified),
                  print_allocations(&out, scene.trace, &allocations)));
    assert_string_equal(text, "");
    free(text);
    allocations_free(&allocations);
    unified_free(&unified);
    scene_end(UNSOUND);
}

/* ---- In the summary ---- */

static void the_summary_lists_what_took_time_on_the_device(void **state)
{
    static const char *const names[] = {
        "[Unified Memory Memcpy HtoD]", "[Unified Memory GPU page faults]",
        "[Unified Memory Memcpy DtoD]", "[Unified Memory Memcpy DtoH]"};
    static const uint64_t totals[] = {3000, 1000, 700, 500};
    struct summary_options options = {.parts = SUMMARY_PART_GPU | SUMMARY_PART_PER_GPU};
    struct summary summary;

    (void)state;
    scene_begin();
    put_example();
    scene_load();
    assert_int_equal(summary_build(scene.trace, &options, &summary, NULL), MP_OK);
    assert_int_equal(summary.groups[SUMMARY_GPU].row_count, 4);
    for (int i = 0; i < 4; i++) {
        assert_string_equal(summary.groups[SUMMARY_GPU].rows[i].name, names[i]);
        assert_int_equal(summary.groups[SUMMARY_GPU].rows[i].tally.total, totals[i]);
    }
    assert_int_equal(summary.device_count, 2);
    assert_int_equal(summary.devices[0].group.total, 4000);
    assert_int_equal(summary.devices[1].group.total, 1200);
    assert_int_equal(summary.quality.undefined, 0);
    summary_free(&summary);
    scene_end(UNSOUND);
}

/* Kernels of contexts 1 and 2, which the scene has on devices 0 and 1. */
static void each_device_has_its_own_summary(void **state)
{
    static const char expected[] = "======== Profiling result:\n"
                                   "\n"
                                   "======== Device \"left (0)\"\n"
                                   "            Type  Time(%)      Time     Calls       Avg       "
                                   "Min       Max  Name\n"
                                   " GPU activities:  100.00%  30.000us         2  15.000us  "
                                   "10.000us  20.000us     a\n"
                                   "\n"
                                   "======== Device \"right (1)\"\n"
                                   "            Type  Time(%)      Time     Calls       Avg       "
                                   "Min       Max  Name\n"
                                   " GPU activities:   87.50%  7.0000us         1  7.0000us  "
                                   "7.0000us  7.0000us     a\n"
                                   "                   12.50%  1.0000us         1  1.0000us  "
                                   "1.0000us  1.0000us     b\n";
    struct summary_options options = {.parts = SUMMARY_PART_PER_GPU};
    struct report_out out = {.imported = true, .nvprof = true};
    struct summary summary;
    char *text = NULL;
    size_t size;

    (void)state;
    scene_begin();
    put_device(1, "right");
    put_device(0, "left");
    put_launch(ON(2, 1), "b", 10, 20, 21, 1);
    put_launch(1, "a", 20, 30, 40, 2);
    put_launch(ON(2, 1), "a", 30, 40, 47, 3);
    put_launch(2, "a", 40, 50, 70, 4);
    scene_load();
    assert_int_equal(summary_build(scene.trace, &options, &summary, NULL), MP_OK);
    assert_int_equal(summary.groups[SUMMARY_API].row_count, 0);
    PRINTED(out, print_summary_sections(&out, scene.trace, &summary, options.parts));
    assert_string_equal(text, expected);
    free(text);
    summary_free(&summary);
    scene_end(UNSOUND);
}

/* ---- Allocations ---- */

#define ALLOCATE MP_memory_operation_allocate
#define RELEASE  MP_memory_operation_release

static void put_memory(unsigned operation, unsigned kind, uint64_t device, uint64_t address,
                       uint64_t bytes, uint64_t at)
{
    mp_append_memory(scene.writer, &(struct mp_row_memory){.operation = operation,
                                                           .kind = kind,
                                                           .device = device,
                                                           .address = address,
                                                           .bytes = bytes,
                                                           .time = at * 1000});
}

static void put_allocations(void)
{
    put_device(0, "GPU0");
    put_memory(ALLOCATE, MP_memory_kind_device, 0, 0x1000, 100, 10);
    put_memory(ALLOCATE, MP_memory_kind_device, 0, 0x2000, 50, 20);
    put_memory(ALLOCATE, MP_memory_kind_device, 0, 0x1000, 30, 40); /* again, after its release */
    put_memory(RELEASE, MP_memory_kind_device, 0, 0x1000, 100, 30); /* read late */
    put_memory(RELEASE, MP_memory_kind_device, 0, 0x9000, 8, 45);   /* allocated before the trace */
    put_memory(ALLOCATE, MP_memory_kind_pinned, 0, 0x5000, 4096, 50);
    put_memory(RELEASE, MP_memory_kind_pinned, 0, 0x5000, 0, 60);
    put_memory(ALLOCATE, MP_memory_kind_managed, 0, 0x6000, 7, 70);
    put_memory(ALLOCATE, MP_memory_kind_managed, 0, 0x6000, 5, 80); /* its release was lost */
}

static void expect_allocations(const struct allocations_row *row, uint64_t kind,
                               const uint64_t counts[2], const uint64_t bytes[3])
{
    assert_int_equal(row->kind, kind);
    assert_int_equal(row->allocations, counts[0]);
    assert_int_equal(row->frees, counts[1]);
    assert_int_equal(row->bytes, bytes[0]);
    assert_int_equal(row->peak, bytes[1]);
    assert_int_equal(row->kept, bytes[2]);
}

static void allocations_are_replayed_in_order_of_time(void **state)
{
    static const char expected[] =
        "======== Memory allocation result:\n"
        "  Allocs     Frees  Total Size  Peak Size  Not Freed          Memory  Device\n"
        "       3         2        180B       150B        80B          device  GPU0 (0)\n"
        "       2         0         12B         7B         5B         managed  GPU0 (0)\n"
        "       1         1    4.0000KB   4.0000KB         0B          pinned  -\n";
    struct allocations_options options = {.range = 0};
    struct report_out out = {.imported = true, .nvprof = true};
    struct allocations allocations;
    char *text = NULL;
    size_t size;

    (void)state;
    scene_begin();
    put_allocations();
    scene_load();
    assert_int_equal(allocations_build(scene.trace, &options, &allocations, NULL), MP_OK);
    assert_int_equal(allocations.row_count, 3);
    expect_allocations(&allocations.rows[0], MP_memory_kind_device, (uint64_t[]){3, 2},
                       (uint64_t[]){180, 150, 80});
    assert_int_equal(allocations.rows[0].unknown, 1);
    expect_allocations(&allocations.rows[1], MP_memory_kind_managed, (uint64_t[]){2, 0},
                       (uint64_t[]){12, 7, 5});
    expect_allocations(&allocations.rows[2], MP_memory_kind_pinned, (uint64_t[]){1, 1},
                       (uint64_t[]){4096, 4096, 0});
    assert_int_equal(allocations.rows[2].device, UINT64_MAX);
    PRINTED(out, print_allocations(&out, scene.trace, &allocations));
    assert_string_equal(text, expected);
    free(text);
    allocations_free(&allocations);
    scene_end(UNSOUND);
}

static void allocations_outside_a_capture_range_are_not_counted(void **state)
{
    struct allocations_options options = {.range = 1};
    struct allocations allocations;

    (void)state;
    scene_begin();
    put_allocations();
    put_range(1, 15, 35, 0, 0);
    scene_load();
    assert_int_equal(allocations_build(scene.trace, &options, &allocations, NULL), MP_OK);
    assert_int_equal(allocations.row_count, 1);
    expect_allocations(&allocations.rows[0], MP_memory_kind_device, (uint64_t[]){1, 1},
                       (uint64_t[]){50, 50, 50});
    assert_int_equal(allocations.rows[0].unknown, 1);
    allocations_free(&allocations);
    scene_end(UNSOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_belong_to_the_device_that_they_concern),
        cmocka_unit_test(the_host_is_what_is_no_device),
        cmocka_unit_test(a_capture_range_holds_what_begins_in_it),
        cmocka_unit_test(times_that_cannot_be_are_counted_and_left_out),
        cmocka_unit_test(unified_memory_is_printed_as_nvprof_does),
        cmocka_unit_test(without_rows_nothing_is_printed),
        cmocka_unit_test(the_summary_lists_what_took_time_on_the_device),
        cmocka_unit_test(each_device_has_its_own_summary),
        cmocka_unit_test(allocations_are_replayed_in_order_of_time),
        cmocka_unit_test(allocations_outside_a_capture_range_are_not_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
