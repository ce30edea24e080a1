/* The traces when memory is out, at each allocation in turn: an error, or the whole table; nothing
 * is lost and nothing is read that is not there. malloc and its kin are wrapped (tests/tests.mk).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "reports/trace/trace.h"
#include "unit/failing_malloc.h"
#include "unit/trace_fixture.h"

#define MAX_ALLOCATIONS 3000

static const char *const names[] = {"TITAN V", "_Z6vecAddPKfS0_Pfi", "cuLaunchKernel", "range"};
enum { DEVICE = 1, KERNEL, LAUNCH, RANGE };

static void define(struct mp_writer *writer)
{
    for (uint64_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct mp_text text = {names[i], (uint32_t)strlen(names[i])};
        mp_append_string(writer, &(struct mp_row_string){i + 1, text});
    }
    mp_append_thread(writer, &(struct mp_row_thread){.id = 1, .tid = 99});
    mp_append_device(writer, &(struct mp_row_device){.id = 0, .name = DEVICE});
    mp_append_stream(writer, &(struct mp_row_stream){.id = 1, .stream = 7, .context = 1});
    mp_append_function(writer, &(struct mp_row_function){.id = 1, .name = LAUNCH});
    mp_append_shape(writer, &(struct mp_row_shape){.id = 1, .kernel = KERNEL});
    mp_append_node(writer, &(struct mp_row_node){.id = 1, .graph = 2, .graph_node = 3});
    mp_append_path(writer, &(struct mp_row_path){.id = 1, .name = RANGE});
    mp_append_captured(
        writer, &(struct mp_row_captured){.graph = 2, .graph_node = 3, .path = 1, .thread = 1});
}

static void write_trace(int fd)
{
    struct mp_writer *writer = fixture_writer(fd, FIXTURE_HEADER, 0);

    define(writer);
    for (uint64_t i = 1; i <= 40; i++) {
        bool begins = i % 2;
        mp_append_nvtx(writer,
                       &(struct mp_row_nvtx){.thread = 1,
                                             .kind = begins ? MP_nvtx_kind_push : MP_nvtx_kind_pop,
                                             .name = begins ? RANGE : 0,
                                             .time = 1000 * i});
        mp_append_call(writer, &(struct mp_row_call){.thread = 1,
                                                     .function = 1,
                                                     .start = 1000 * i + 100,
                                                     .duration = 50,
                                                     .correlation = i});
        mp_append_kernel(writer, &(struct mp_row_kernel){.stream = 1,
                                                         .shape = 1,
                                                         .node = i % 2,
                                                         .start = 1000 * i + 300,
                                                         .duration = 50,
                                                         .correlation = i});
        mp_append_unified(writer, &(struct mp_row_unified){.kind = MP_unified_kind_bytes_HtoD,
                                                           .value = 4096,
                                                           .start = 1000 * i + 400,
                                                           .duration = 50});
    }
    mp_writer_close(writer, NULL);
}

static void each_allocation_may_fail(void **state)
{
    static const enum report_format formats[] = {REPORT_TEXT, REPORT_CSV, REPORT_JSON};
    int fd = fixture_file("", 0);
    struct mp_trace *trace;

    (void)state;
    write_trace(fd);
    assert_int_equal(mp_trace_open(fixture_path(fd), &trace, NULL), MP_OK);
    for (size_t format = 0; format < 3; format++) {
        enum mp_status status = MP_ERR_MEMORY;
        unsigned failing = 0;

        while (status == MP_ERR_MEMORY && ++failing < MAX_ALLOCATIONS) {
            struct traces_options options = {
                .gpu = true, .api = true, .head = true, .captured = true, .style = NAMES_MANGLED};
            struct report_out out = {.file = tmpfile(), .format = formats[format]};
            struct quality quality;
            struct mp_error error;

            countdown = failing;
            status = print_traces(&out, trace, &options, &quality, &error);
            countdown = 0;
            quality_free(&quality);
            assert_true(status == MP_OK || *error.text);
            assert_true(status != MP_OK || ftell(out.file) > 1600);
            fclose(out.file);
        }
        assert_int_equal(status, MP_OK);
        assert_true(failing > 30);
    }
    mp_trace_close(trace);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
