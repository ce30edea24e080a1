/* The documents of a page that analyses fill: what they hold, how long they get, and what stands
 * there instead where a trace has nothing of it. Times in the scenes are us, in documents ns.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/deps/deps_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "page/documents.h"

#define STREAM 7

static struct html_material material;
static char *written;
static size_t written_bytes;

static void load(void)
{
    struct mp_error error;

    scene_load();
    material = (struct html_material){.trace = scene.trace, .deps = scene.deps};
    assert_int_equal(html_iterations_find(&material, &error), MP_OK);
}

static void end(void)
{
    html_iterations_free(&material);
    memory_free(&material.memory);
    scene_end(UNSOUND);
}

typedef enum mp_status print_document(FILE *out, struct html_material *of, struct mp_error *error);

static const char *text_of(print_document *print)
{
    struct mp_error error = {.status = MP_OK};
    FILE *out;

    free(written);
    written = NULL;
    out = open_memstream(&written, &written_bytes);
    assert_int_equal(print(out, &material, &error), MP_OK);
    fclose(out);
    return written;
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;

    for (const char *at = strstr(text, part); at; at = strstr(at + 1, part))
        count++;
    return count;
}

static void expect_in(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("no %s in %s", part, text);
}

/* Every 100 us a range of 50 us with a launch of 5 us at 10 and its kernel from 20 to 45. */
static void put_steps(uint64_t count)
{
    for (uint64_t i = 1; i <= count; i++) {
        put_nvtx_range("step", 100 * i, 100 * i + 50);
        put_launch(STREAM, "work", 100 * i + 10, 100 * i + 20, 100 * i + 45, i);
    }
}

static void iterations_are_columns_and_rows(void **state)
{
    const char *text;

    (void)state;
    scene_begin();
    put_steps(4);
    load();
    text = text_of(html_print_iters);
    expect_in(text, "\"by\": \"nvtx\",");
    expect_in(text, "\"name\": \"step\",");
    expect_in(text, "\"count\": 4,");
    expect_in(text, "\"latency_ns\": {\"mean\": 50000, \"std\": 0, \"min\": 50000,");
    assert_null(strstr(text, "\"iterations\""));
    text = text_of(html_print_iterations);
    expect_in(text, "\"iteration\",\n    \"thread\",\n    \"begin_ns\",\n    \"host_end_ns\",\n"
                    "    \"end_ns\",\n    \"pipelined\",\n    \"latency_ns\",\n");
    expect_in(text, "[2, 1, 200000, 250000, 250000, false, 50000, 50000, 5000, 25000, 25000, ");
    assert_int_equal(count_of(text, ", false, 50000, "), 4);
    assert_int_equal(material.left_out_count, 0);
    end();
}

static void as_many_iterations_as_a_page_holds(void **state)
{
    (void)state;
    scene_begin();
    put_steps(HTML_MAX_ITERATIONS + 5);
    load();
    assert_int_equal(count_of(text_of(html_print_iterations), ", false, 50000, "),
                     HTML_MAX_ITERATIONS);
    expect_in(text_of(html_print_iters), "\"count\": 10005,");
    assert_string_equal(text_of(html_print_left_out),
                        "{\n  \"iterations\": {\"shown\": 10000, \"all\": 10005}\n}\n");
    end();
}

static void as_many_kernels_and_layers_as_a_page_holds(void **state)
{
    char name[32];

    (void)state;
    scene_begin();
    for (uint64_t i = 1; i <= HTML_MAX_KERNELS + 3; i++) {
        snprintf(name, sizeof name, "layer%d", (int)i);
        put_nvtx_range(name, 100 * i, 100 * i + 50);
        snprintf(name, sizeof name, "kernel%d", (int)i);
        put_launch(STREAM, name, 100 * i + 10, 100 * i + 20, 100 * i + 45, i);
    }
    load();
    assert_int_equal(count_of(text_of(html_print_kernels), "\"name\": \"kernel"), HTML_MAX_KERNELS);
    expect_in(written, "\"calls\": 1003,");
    assert_int_equal(count_of(text_of(html_print_layers), "\"depth\": 1,"), HTML_MAX_LAYERS);
    expect_in(written, "\"layer_count\": 1003,");
    assert_string_equal(text_of(html_print_left_out),
                        "{\n  \"kernels\": {\"shown\": 1000, \"all\": 1003},\n"
                        "  \"layers\": {\"shown\": 500, \"all\": 1003}\n}\n");
    end();
}

/* Thread 1 was there at that moment, us, and had computed for so long. */
static void put_sample(uint64_t stack, uint64_t at, uint64_t computing)
{
    mp_append_host_sample(scene.writer, &(struct mp_row_host_sample){.thread = 1,
                                                                     .time = at * 1000,
                                                                     .computing = computing * 1000,
                                                                     .stack = stack});
}

/* One line more than the page holds calls, from a function each; the last one's kernel is the
 * longest. All are called from one line, which stays. */
static void as_many_stacks_as_a_page_holds(void **state)
{
    uint64_t count = HTML_MAX_NODES;
    uint64_t main_line;
    char name[32];

    (void)state;
    scene_begin();
    main_line = put_stack(0, "main", 3);
    for (uint64_t i = 1; i <= count; i++) {
        snprintf(name, sizeof name, "step%d", (int)i);
        use_stack(put_stack(main_line, name, 7));
        put_launch(STREAM, "work", 100 * i, 100 * i + 10, 100 * i + 20 + (i == count), i);
    }
    load();
    assert_int_equal(count_of(text_of(html_print_stacks), "\"depth\": 2,"), HTML_MAX_NODES - 1);
    assert_int_equal(count_of(written, "\"depth\": 1,"), 1);
    assert_int_equal(count_of(written, "\"depth\": null,"), HTML_MAX_CALLERS);
    expect_in(written, "\"function\": \"step2000\"");
    expect_in(written, "\"function\": \"step1998\"");
    assert_null(strstr(written, "\"function\": \"step1999\""));
    assert_string_equal(text_of(html_print_left_out),
                        "{\n  \"lines\": {\"shown\": 500, \"all\": 2001},\n"
                        "  \"stacks\": {\"shown\": 2000, \"all\": 2001}\n}\n");
    end();
}

/* As many functions as the page holds launch something, and one more only computes: for a quarter
 * of all sampled time, which is more than any of the others has of anything. */
static void a_function_that_only_computes_stays(void **state)
{
    uint64_t count = HTML_MAX_NODES;
    uint64_t main_line, compute;
    char name[32];

    (void)state;
    scene_begin();
    main_line = put_stack(0, "main", 3);
    compute = put_stack(main_line, "compute", 5);
    for (uint64_t i = 1; i <= count; i++) {
        snprintf(name, sizeof name, "step%d", (int)i);
        use_stack(put_stack(main_line, name, 7));
        put_launch(STREAM, "work", 100 * i, 100 * i + 10, 100 * i + 20, i);
    }
    put_sample(main_line, 150, 3);
    put_sample(compute, 160, 1);
    load();
    assert_int_equal(count_of(text_of(html_print_stacks), "\"depth\": 2,"), HTML_MAX_NODES - 1);
    expect_in(written, "\"function\": \"compute\"");
    end();
}

/* All kernels are in one range; the page names those with most time, which are the last ones. */
static void a_layer_has_the_names_with_most_time(void **state)
{
    char name[32];

    (void)state;
    scene_begin();
    put_nvtx_range("all", 1, 5000);
    for (uint64_t i = 1; i <= HTML_MAX_WORK + 2; i++) {
        snprintf(name, sizeof name, "kernel%c", (char)('a' + i));
        put_launch(STREAM, name, 100 * i, 100 * i + 10, 100 * i + 20 + i, i);
    }
    load();
    assert_int_equal(count_of(text_of(html_print_layers), "{\"name\": \"kernel"), HTML_MAX_WORK);
    assert_null(strstr(written, "\"kernelb\""));
    assert_null(strstr(written, "\"kernelc\""));
    expect_in(text_of(html_print_left_out), "\"layer_work\": {\"shown\": 10, \"all\": 12}");
    end();
}

static void put_memory(unsigned operation, uint64_t address, uint64_t bytes, uint64_t at)
{
    mp_append_memory(scene.writer, &(struct mp_row_memory){.operation = operation,
                                                           .kind = MP_memory_kind_device,
                                                           .address = address,
                                                           .bytes = bytes,
                                                           .time = at * 1000});
}

/* 4096 bytes from 100 us to 500 us, 1024 of them more from 300 us on: steps of 1 us. */
static void memory_is_a_line_over_time(void **state)
{
    const char *text;

    (void)state;
    scene_begin();
    put_memory(MP_memory_operation_allocate, 0x1000, 4096, 100);
    put_memory(MP_memory_operation_allocate, 0x8000, 1024, 300);
    put_memory(MP_memory_operation_release, 0x1000, 0, 500);
    load();
    expect_in(text_of(html_print_memory), "\"peak_bytes\": 5120,");
    text = text_of(html_print_memory_lines);
    expect_in(text, "\"start_ns\": 100000,\n  \"time_ns\": [0, 1000, 2000, ");
    expect_in(text, "\"max_bytes\": [4096, 4096, ");
    assert_int_equal(count_of(text, "5120"), 200 + 199); /* the last one ends with less */
    assert_int_equal(count_of(text, "[4096"), 2);
    assert_int_equal(count_of(text, "1024]"), 1);
    end();
}

static void as_many_devices_as_a_page_holds(void **state)
{
    const struct timeline_options options = {.max = 1000};
    struct mp_error error;
    const char *text;

    (void)state;
    scene_begin();
    for (uint64_t i = 0; i < HTML_MAX_DEVICES + 7; i++)
        put_launch(ON(i + 1, STREAM), "work", 10 + 10 * i, 1000 + i, 1010 + i, i + 1);
    load();
    assert_int_equal(
        timeline_build(&material.timeline, scene.trace, &material.deps, &options, &error), MP_OK);
    text = text_of(html_print_overview);
    assert_int_equal(count_of(text, "\"device\": "), HTML_MAX_DEVICES);
    assert_int_equal(count_of(text, "\"busy_ns\": 10000"), HTML_MAX_DEVICES);
    assert_string_equal(text_of(html_print_left_out),
                        "{\n  \"overview\": {\"shown\": 64, \"all\": 71}\n}\n");
    timeline_free(&material.timeline);
    end();
}

static void notes_stand_where_there_is_nothing(void **state)
{
    static const struct {
        print_document *print;
        const char *note;
    } notes[] = {
        {html_print_layers, "No kernels in the trace: neither layers nor positions."},
        {html_print_kernels, "No kernels in the trace."},
        {html_print_overlap, "No work of a GPU in the trace, so nothing that overlaps."},
        {html_print_memory, "No allocations in the trace: none was made while it was recorded."},
        {html_print_memory_lines, "No allocations in the trace."},
    };

    (void)state;
    scene_begin();
    put_call(1, "cudaFree_v3020", 10, 20, 1);
    load();
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++) {
        char wanted[256];

        snprintf(wanted, sizeof wanted, "{\n  \"note\": \"%s\"\n}\n", notes[i].note);
        assert_string_equal(text_of(notes[i].print), wanted);
    }
    expect_in(text_of(html_print_iters), "\"by\": \"whole\",");
    expect_in(text_of(html_print_advise), "\"findings\": [],");
    assert_string_equal(text_of(html_print_stacks), "{\"stacks\": false}\n");
    assert_string_equal(text_of(html_print_left_out), "{}\n");
    end();
}

static void a_document_that_failed_says_why(void **state)
{
    struct mp_error error = {.status = MP_OK};

    (void)state;
    scene_begin();
    put_steps(4);
    load();
    mp_error_set(&material.no_advice, MP_ERR_MEMORY, "no room");
    assert_int_equal(html_print_advise(stderr, &material, &error), MP_ERR_MEMORY);
    assert_string_equal(error.text, "no room");
    material.range = 99; /* there is none */
    assert_int_not_equal(html_print_memory(stderr, &material, &error), MP_OK);
    error = (struct mp_error){.status = MP_OK};
    assert_int_not_equal(html_print_memory_lines(stderr, &material, &error), MP_OK);
    assert_true(*error.text);
    end();
}

static int free_written(void **state)
{
    (void)state;
    free(written);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(iterations_are_columns_and_rows),
        cmocka_unit_test(as_many_iterations_as_a_page_holds),
        cmocka_unit_test(as_many_kernels_and_layers_as_a_page_holds),
        cmocka_unit_test(as_many_stacks_as_a_page_holds),
        cmocka_unit_test(a_function_that_only_computes_stays),
        cmocka_unit_test(a_layer_has_the_names_with_most_time),
        cmocka_unit_test(memory_is_a_line_over_time),
        cmocka_unit_test(as_many_devices_as_a_page_holds),
        cmocka_unit_test(notes_stand_where_there_is_nothing),
        cmocka_unit_test(a_document_that_failed_says_why),
    };
    return cmocka_run_group_tests(tests, NULL, free_written);
}
