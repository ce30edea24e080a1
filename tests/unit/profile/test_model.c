/* What reports know of a trace beyond its rows: names, definitions, capture ranges, quality. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/definitions.h"
#include "profile/dense.h"
#include "profile/names/names.h"
#include "profile/quality.h"
#include "profile/ranges.h"
#include "profile/reading.h"
#include "tools/known_trace.h"

/* ---- Arrays by id ---- */

static void dense_grows_to_its_limit_and_not_beyond(void **state)
{
    struct dense array;

    (void)state;
    dense_init(&array, sizeof(uint64_t), 1000);
    assert_null(dense_at(&array, 0));
    assert_int_equal(dense_reach(&array, 5), MP_OK);
    *(uint64_t *)dense_at(&array, 5) = 55;
    assert_int_equal(dense_reach(&array, 999), MP_OK);
    assert_int_equal(*(uint64_t *)dense_at(&array, 5), 55);
    for (uint64_t i = 6; i < 1000; i++)
        assert_int_equal(*(uint64_t *)dense_at(&array, i), 0);
    assert_int_equal(dense_reach(&array, 1000), MP_ERR_LIMIT);
    assert_int_equal(dense_reach(&array, UINT64_MAX), MP_ERR_LIMIT);
    assert_null(dense_at(&array, 1000));
    assert_int_equal(array.count, 1000);
    assert_true(array.capacity <= 1000);
    dense_free(&array);
}

/* ---- Names ---- */

static void api_names_lose_versions_and_nothing_else(void **state)
{
    static const struct {
        const char *name;
        const char *plain;
    } cases[] = {
        {"cudaLaunchKernel_v7000", "cudaLaunchKernel"},
        {"cudaMemcpyAsync_ptsz_v7000", "cudaMemcpyAsync"},
        {"cudaGetDeviceProperties_v2_v12000", "cudaGetDeviceProperties"},
        {"cuMemcpyHtoDAsync_v2_ptsz", "cuMemcpyHtoDAsync"},
        {"cuMemcpy_ptds", "cuMemcpy"},
        {"cuStreamGetCaptureInfo_v3_ptsz", "cuStreamGetCaptureInfo"},
        {"cuLaunchKernel", "cuLaunchKernel"},
        {"cudaMemcpy2D", "cudaMemcpy2D"},
        {"cudaMemcpy3DAsync_v3020", "cudaMemcpy3DAsync"},
        {"cuD3D11GetDevice", "cuD3D11GetDevice"},
        {"cudaThing_v", "cudaThing_v"},
        {"cudaThing_version2", "cudaThing_version2"},
        {"cudaThing_2", "cudaThing_2"},
        {"cu_v2", "cu"},
        {"my_function_v2", "my_function_v2"},
        {"_v2", "_v2"},
        {"", ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t length = names_api_length(cases[i].name);
        assert_int_equal(length, strlen(cases[i].plain));
        assert_memory_equal(cases[i].name, cases[i].plain, length);
    }
}

static void kernel_names_are_demangled_where_they_can_be(void **state)
{
    static const char *const unchanged[] = {"volta_sgemm_128x64", "_Znothing_of_the_kind", "_Z",
                                            "main", ""};
    struct mp_arena arena = {.head = NULL};
    char *longest = malloc(200001);

    (void)state;
    assert_string_equal(names_demangle(KNOWN_VECADD_MANGLED, NAMES_READABLE, &arena), KNOWN_VECADD);
    assert_string_equal(names_demangle(KNOWN_GEMM_MANGLED, NAMES_READABLE, &arena), KNOWN_GEMM);
    for (size_t i = 0; i < sizeof unchanged / sizeof *unchanged; i++)
        assert_ptr_equal(names_demangle(unchanged[i], NAMES_READABLE, &arena), unchanged[i]);
    /* A name that would cost the demangler a deep recursion is left alone. */
    assert_non_null(longest);
    memset(longest, 'P', 200000);
    memcpy(longest, "_Z1fP", 5);
    longest[200000] = '\0';
    assert_ptr_equal(names_demangle(longest, NAMES_READABLE, &arena), longest);
    free(longest);
    mp_arena_free(&arena);
}

static void copies_are_named_as_nvprof_names_them(void **state)
{
    char text[NAMES_BYTES];

    (void)state;
    assert_string_equal(names_copy(1, text, sizeof text), "[CUDA memcpy HtoD]");
    assert_string_equal(names_copy(10, text, sizeof text), "[CUDA memcpy PtoP]");
    assert_string_equal(names_copy(99, text, sizeof text), "[CUDA memcpy 99]");
    assert_string_equal(names_graph(7, text, sizeof text), "[CUDA graph 7]");
}

/* ---- Capture ranges ---- */

static void work_belongs_to_the_range_that_launched_it(void **state)
{
    const struct capture_range range = {1, 1000, 2000, 10, 20, false};
    const struct capture_range no_ids = {1, 1000, 2000, 0, 0, false};
    const struct capture_range not_ended = {1, 1000, UINT64_MAX, 10, 0, false};

    (void)state;
    assert_true(range_has_work(&range, 10, 1500));
    assert_true(range_has_work(&range, 19, 99999)); /* runs long after the end */
    assert_false(range_has_work(&range, 20, 1500));
    assert_false(range_has_work(&range, 9, 1500));
    assert_true(range_has_work(&range, 0, 1500)); /* without an id: by time */
    assert_false(range_has_work(&range, 0, 2000));
    assert_true(range_has_work(&no_ids, 5, 1000));
    assert_false(range_has_work(&no_ids, 5, 999));
    assert_true(range_has_work(&not_ended, 4000000, UINT64_MAX - 1));
    assert_true(range_has_call(&range, 1000));
    assert_false(range_has_call(&range, 2000));
}

static struct mp_trace *open_known(const struct known_options *options, char path[64])
{
    struct mp_trace *trace;

    snprintf(path, 64, "/tmp/test_model.%d.mpt", (int)getpid());
    unlink(path);
    assert_true(known_write(path, options));
    assert_int_equal(mp_trace_open(path, &trace, NULL), MP_OK);
    unlink(path);
    return trace;
}

static void ranges_of_a_trace_are_found_by_their_ids(void **state)
{
    struct known_options options = {.header = NULL};
    char path[64];
    struct mp_trace *trace = open_known(&options, path);
    struct capture_ranges ranges;

    (void)state;
    ranges_init(&ranges, trace);
    assert_int_equal(ranges_load(&ranges, trace, NULL), MP_OK);
    assert_int_equal(ranges_count(&ranges), 2);
    assert_null(ranges_find(&ranges, 0));
    assert_null(ranges_find(&ranges, 3));
    const struct capture_range *second = ranges_find(&ranges, 2);
    assert_non_null(second);
    assert_int_equal(second->begin_time, 2000000);
    assert_int_equal(second->end_time, 3500000);
    assert_int_equal(second->begin_correlation, 200);
    assert_int_equal(second->end_correlation, 300);
    ranges_free(&ranges);
    mp_trace_close(trace);
}

static void a_range_is_chosen_or_missing(void **state)
{
    struct known_options options = {.header = NULL};
    char path[64];
    struct mp_trace *trace = open_known(&options, path);
    const struct capture_range *range;
    struct capture_ranges ranges;
    struct mp_error error = {.text = ""};

    (void)state;
    assert_int_equal(ranges_open(&ranges, trace, 2, &range, &error), MP_OK);
    assert_ptr_equal(range, ranges_find(&ranges, 2));
    ranges_free(&ranges);
    assert_int_equal(ranges_open(&ranges, trace, 0, &range, &error), MP_OK);
    assert_null(range);
    assert_int_equal(ranges_count(&ranges), 2);
    ranges_free(&ranges);
    assert_int_equal(ranges_open(&ranges, trace, 3, &range, &error), MP_ERR_ARGUMENT);
    assert_string_equal(error.text, "there is no capture range 3; the trace has 2");
    ranges_free(&ranges);
    mp_trace_close(trace);
}

/* ---- Definitions and labels ---- */

static void load_definitions(struct definitions *definitions, struct mp_trace *trace)
{
    const struct reading reading = {.trace = trace,
                                    .what = "the definitions",
                                    .definitions = definitions,
                                    .kept = DEFINITIONS_ALL};

    definitions_init(definitions, trace);
    assert_int_equal(reading_run(&reading, NULL), MP_OK);
}

static void references_are_explained_in_words(void **state)
{
    static const struct {
        const char *table;
        uint64_t id;
        const char *label;
    } cases[] = {
        {"string", 8, "Tested GPU"},
        {"thread", 1, "worker, \"main\" (77)"},
        {"device", 0, "Tested GPU (0)"},
        {"stream", 1, "0:1:13"},
        {"function", 4, "cudaStreamSynchronize_v3020"},
        {"shape", 3, KNOWN_GEMM},
        {"shape", 0, NULL},
        {"shape", 4, NULL},
        {"string", UINT64_MAX, NULL},
        {"device", 1, NULL},
        {"no such table", 1, NULL},
    };
    struct known_options options = {.header = NULL};
    char path[64];
    struct mp_trace *trace = open_known(&options, path);
    struct definitions definitions;
    char text[128];

    (void)state;
    load_definitions(&definitions, trace);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *label =
            definitions_label(&definitions, cases[i].table, cases[i].id, text, sizeof text);
        if (cases[i].label)
            assert_string_equal(label, cases[i].label);
        else
            assert_null(label);
    }
    assert_string_equal(definitions_kernel(&definitions, 1, false), KNOWN_VECADD_MANGLED);
    definitions_free(&definitions);
    mp_trace_close(trace);
}

/* ---- Quality ---- */

static void what_is_missing_is_said_in_one_line(void **state)
{
    struct quality quality = {.dropped = 0};
    char text[QUALITY_TEXT_BYTES];
    char short_text[12];

    (void)state;
    assert_string_equal(quality_describe(&quality, text, sizeof text), "");
    assert_true(quality_is_whole(&quality));
    quality.dropped = 1;
    assert_string_equal(quality_describe(&quality, text, sizeof text), "1 record was dropped");
    quality.dropped = 5;
    quality.reversed_times = 2;
    quality.forced_exits = 1;
    assert_string_equal(quality_describe(&quality, text, sizeof text),
                        "5 records were dropped; the program ended before all of its records were "
                        "written; 2 rows that end before they begin are left out");
    assert_false(quality_is_whole(&quality));
    quality_describe(&quality, short_text, sizeof short_text);
    assert_int_equal(strlen(short_text), sizeof short_text - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dense_grows_to_its_limit_and_not_beyond),
        cmocka_unit_test(api_names_lose_versions_and_nothing_else),
        cmocka_unit_test(kernel_names_are_demangled_where_they_can_be),
        cmocka_unit_test(copies_are_named_as_nvprof_names_them),
        cmocka_unit_test(work_belongs_to_the_range_that_launched_it),
        cmocka_unit_test(ranges_of_a_trace_are_found_by_their_ids),
        cmocka_unit_test(a_range_is_chosen_or_missing),
        cmocka_unit_test(references_are_explained_in_words),
        cmocka_unit_test(what_is_missing_is_said_in_one_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
