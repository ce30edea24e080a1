/* The rows of exporters: names, places, filters, NVTX ranges and analyses of known traces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/deps/deps_fixture.h"

#include <stdio.h>
#include <string.h>

#include "export/rows/rows.h"

#define PUSH  MP_nvtx_kind_push
#define POP   MP_nvtx_kind_pop
#define START MP_nvtx_kind_start
#define END   MP_nvtx_kind_end
#define MARK  MP_nvtx_kind_mark

static struct export_rows *rows;

static void open_with(struct export_options options)
{
    struct mp_error error;

    scene_load();
    if (options.style == NAMES_MANGLED)
        options.style = NAMES_READABLE;
    assert_int_equal(export_rows_open(scene.trace, &options, &rows, &error), MP_OK);
}

/* The next row of a kind; false at the end. */
static bool next_of(enum export_kind kind, struct export_row *row)
{
    enum mp_status status;

    while ((status = export_rows_next(rows, row)) == MP_OK) {
        assert_non_null(row->name.text);
        assert_int_equal(strlen(row->name.text), row->name.bytes);
        assert_true(row->name.id != 0);
        if (row->kind == kind)
            return true;
    }
    assert_int_equal(status, MP_END);
    assert_int_equal(export_rows_next(rows, row), MP_END);
    return false;
}

static void done(void)
{
    export_rows_close(rows);
    scene_end(UNSOUND);
}

/* `a 20+30#1, b 60+10#2`: begin, duration in us and correlation of all rows of a kind. */
static const char *all_of(enum export_kind kind)
{
    static char text[1024];
    struct export_row row;
    size_t used = 0;

    text[0] = '\0';
    while (next_of(kind, &row)) {
        int length =
            snprintf(text + used, sizeof text - used, "%s%s %u+%u", used ? ", " : "", row.name.text,
                     (unsigned)(row.start / 1000), (unsigned)(row.duration / 1000));
        assert_true(length > 0 && (size_t)length < sizeof text - used);
        used += (size_t)length;
        if (row.correlation)
            used +=
                (size_t)snprintf(text + used, sizeof text - used, "#%u", (unsigned)row.correlation);
    }
    return text;
}

static void work_has_its_place_and_its_shape(void **state)
{
    struct export_row row;

    (void)state;
    scene_begin();
    put_launch(1, "a", 10, 20, 50, 1);
    put_launch(2, "a", 20, 30, 60, 2);
    put_launch(1, "b", 30, 60, 70, 3);
    put_copy(ON(2, 5), MP_copy_kind_HtoD, ASYNCHRONOUS, 80, 90, 0);
    open_with((struct export_options){.kinds = 0});
    assert_true(next_of(EXPORT_KERNEL, &row));
    struct export_row first = row;
    assert_string_equal(row.name.text, "a");
    assert_int_equal(row.place->stream, 1);
    assert_int_equal(row.place->device, 0);
    assert_int_equal(row.place->id, 1);
    assert_non_null(row.shape);
    assert_int_equal(row.columns[MP_COLUMN_kernel_correlation][row.index], 1);
    assert_null(row.thread);
    assert_int_equal(row.activity, DEPS_NONE);
    assert_true(next_of(EXPORT_KERNEL, &row));
    assert_int_equal(row.name.id, first.name.id);
    assert_int_equal(row.place->id, 2);
    assert_true(next_of(EXPORT_KERNEL, &row));
    assert_true(row.name.id != first.name.id);
    assert_ptr_equal(row.place, first.place);
    assert_true(next_of(EXPORT_COPY, &row));
    assert_string_equal(row.name.text, "[CUDA memcpy HtoD]");
    assert_int_equal(row.place->device, 1);
    assert_int_equal(row.place->context, 2);
    assert_int_equal(row.place->id, 3);
    done();
}

static void calls_have_their_thread_and_no_suffix(void **state)
{
    struct export_row row;

    (void)state;
    scene_begin();
    put_call(7, "cudaLaunchKernel_v7000", 10, 15, 4);
    put_call(8, "cudaMalloc_v3020", 20, 25, 5);
    open_with((struct export_options){.kinds = 1u << EXPORT_CALL});
    assert_true(next_of(EXPORT_CALL, &row));
    assert_string_equal(row.name.text, "cudaLaunchKernel");
    assert_string_equal(row.raw_name.text, "cudaLaunchKernel_v7000");
    assert_int_equal(row.thread->id, 1);
    assert_null(row.place);
    assert_true(next_of(EXPORT_CALL, &row));
    assert_int_equal(row.thread->id, 2);
    assert_false(next_of(EXPORT_CALL, &row));
    done();
}

static void pushes_and_pops_become_ranges(void **state)
{
    struct export_row row;

    (void)state;
    scene_begin();
    put_call(1, "cudaMalloc", 1, 2, 1);
    put_nvtx(PUSH, 1, NULL, "outer", 10, 0);
    put_nvtx(PUSH, 1, "other", "beside", 15, 0);
    put_nvtx(PUSH, 1, NULL, "inner", 20, 0);
    put_nvtx(MARK, 1, NULL, "mark", 25, 0);
    put_nvtx(POP, 1, NULL, NULL, 30, 0);
    put_nvtx(POP, 1, NULL, NULL, 50, 0);
    put_nvtx(POP, 1, NULL, NULL, 55, 0); /* of nothing */
    put_nvtx(START, 1, NULL, "open", 60, 9);
    put_call(1, "cudaMalloc", 100, 110, 2);
    open_with((struct export_options){.kinds = 0});
    assert_true(next_of(EXPORT_MARK, &row));
    assert_string_equal(row.name.text, "mark");
    assert_true(next_of(EXPORT_RANGE, &row));
    assert_string_equal(row.name.text, "inner");
    assert_int_equal(row.start, 20000);
    assert_int_equal(row.duration, 10000);
    assert_int_equal(row.depth, 1);
    assert_true(row.pushed && !row.open);
    assert_int_equal(row.columns[MP_COLUMN_nvtx_kind][row.index], PUSH);
    assert_true(next_of(EXPORT_RANGE, &row));
    assert_string_equal(row.name.text, "outer");
    assert_int_equal(row.depth, 0);
    assert_true(next_of(EXPORT_RANGE, &row));
    assert_string_equal(row.name.text, "beside");
    assert_string_equal(row.domain.text, "other");
    assert_int_equal(row.depth, 0);
    assert_true(row.open);
    assert_true(next_of(EXPORT_RANGE, &row));
    assert_string_equal(row.name.text, "open");
    assert_true(row.open && !row.pushed);
    assert_int_equal(row.duration % 1000, 0);
    assert_false(next_of(EXPORT_RANGE, &row));
    done();
}

static void an_end_may_stand_before_its_start(void **state)
{
    (void)state;
    scene_begin();
    put_nvtx(END, 2, NULL, NULL, 40, 5);
    put_nvtx(START, 1, NULL, "request", 10, 5);
    open_with((struct export_options){.kinds = 0});
    assert_string_equal(all_of(EXPORT_RANGE), "request 10+30");
    done();
}

static void two_ranges(void)
{
    scene_begin();
    put_range(1, 5, 45, 1, 3);
    put_range(2, 45, 100, 3, 9);
    put_launch(1, "a", 10, 20, 30, 1);
    put_launch(1, "late", 40, 60, 70, 2); /* launched in range 1, runs in range 2 */
    put_launch(1, "b", 50, 80, 90, 3);
}

static void a_capture_range_has_what_it_launched(void **state)
{
    struct export_row row;

    (void)state;
    two_ranges();
    open_with((struct export_options){.range = 1});
    assert_string_equal(all_of(EXPORT_KERNEL), "a 20+10#1, late 60+10#2");
    done();
    two_ranges();
    open_with((struct export_options){.range = 2});
    assert_string_equal(all_of(EXPORT_KERNEL), "b 80+10#3");
    done();
    two_ranges();
    open_with((struct export_options){.range = 2});
    assert_string_equal(all_of(EXPORT_CALL), "cudaLaunchKernel 50+5#3");
    done();
    two_ranges();
    open_with((struct export_options){.kinds = 1u << EXPORT_KERNEL});
    for (unsigned i = 0; i < 3; i++) {
        assert_true(next_of(EXPORT_KERNEL, &row));
        assert_int_equal(row.capture_range, i < 2 ? 1 : 2);
    }
    done();
}

static void a_device_has_its_work_and_what_launched_it(void **state)
{
    for (unsigned call = 0; call < 2; call++) {
        (void)state;
        scene_begin();
        put_call(1, "cudaLaunchKernel", 10, 15, 1);
        put_call(1, "cudaMalloc", 20, 25, 11);
        put_call(2, "cudaLaunchKernel", 10, 15, 2);
        put_call(2, "cudaFree", 20, 25, 12);
        put_kernel(ON(1, 7), "zero", 30, 40, 1);
        put_kernel(ON(2, 7), "one", 30, 40, 2);
        open_with((struct export_options){.devices = 2});
        if (call)
            assert_string_equal(all_of(EXPORT_CALL), "cudaLaunchKernel 10+5#2, cudaFree 20+5#12");
        else
            assert_string_equal(all_of(EXPORT_KERNEL), "one 30+10#2");
        done();
    }
}

static void put_steps(void)
{
    scene_begin();
    for (unsigned i = 0; i < 3; i++) {
        put_nvtx(PUSH, 1, NULL, "step", 100 * i + 10, 0);
        put_launch(1, "a", 100 * i + 20, 100 * i + 30, 100 * i + 60, 2 * i + 1);
        put_stream_sync(1, 100 * i + 30, 100 * i + 70, 2 * i + 2);
        put_nvtx(POP, 1, NULL, NULL, 100 * i + 80, 0);
    }
}

static void rows_know_their_iteration_and_critical_time(void **state)
{
    const struct iterations_options how = {.way = ITERATIONS_NVTX, .name = "step"};
    const struct export_analyses *analyses;
    struct export_row row;

    (void)state;
    put_steps();
    open_with((struct export_options){.analyses = true, .how = &how});
    analyses = export_rows_analyses(rows);
    assert_true(analyses->known);
    for (unsigned i = 0; i < 3; i++) {
        assert_true(next_of(EXPORT_KERNEL, &row));
        assert_int_equal(row.iteration, i + 1);
        assert_int_equal(analyses->deps.activities[row.activity].begin, row.start);
        assert_int_equal(analyses->critical[row.activity], 30000); /* the host waits for it */
    }
    done();
    put_steps();
    open_with((struct export_options){
        .analyses = true, .how = &how, .iterations_from = 2, .iterations_until = 3});
    assert_string_equal(all_of(EXPORT_RANGE), "step 110+70, step 210+70");
    done();
}

static void expect_refusal(struct export_options options, const char *message)
{
    struct mp_error error;

    scene_load();
    assert_int_equal(export_rows_open(scene.trace, &options, &rows, &error), MP_ERR_ARGUMENT);
    assert_null(rows);
    assert_string_equal(error.text, message);
    scene_end(UNSOUND);
}

static void what_does_not_exist_is_refused(void **state)
{
    (void)state;
    put_steps();
    expect_refusal((struct export_options){.devices = 4}, "there is no device 2; the trace has: 0");
    put_steps();
    expect_refusal(
        (struct export_options){.analyses = true, .iterations_from = 4, .iterations_until = 4},
        "there is no iteration 4; there are 3");
    put_steps();
    expect_refusal((struct export_options){.iterations_from = 1, .iterations_until = 1},
                   "iterations are not known: the analyses are off");
}

static void texts_are_valid_and_numbered(void **state)
{
    struct export_row row;
    uint32_t id;

    (void)state;
    scene_begin();
    put_nvtx(MARK, 1, NULL, "a\xff z", 10, 0);
    put_nvtx(MARK, 1, NULL, NULL, 20, 0);
    open_with((struct export_options){.kinds = 0});
    assert_true(next_of(EXPORT_MARK, &row));
    assert_string_equal(row.name.text, "a\xef\xbf\xbd z");
    id = row.name.id;
    assert_int_equal(export_rows_intern(rows, "a\xfe z", 4), id);
    assert_true(next_of(EXPORT_MARK, &row));
    assert_string_equal(row.name.text, "<unnamed>");
    done();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_has_its_place_and_its_shape),
        cmocka_unit_test(calls_have_their_thread_and_no_suffix),
        cmocka_unit_test(pushes_and_pops_become_ranges),
        cmocka_unit_test(an_end_may_stand_before_its_start),
        cmocka_unit_test(a_capture_range_has_what_it_launched),
        cmocka_unit_test(a_device_has_its_work_and_what_launched_it),
        cmocka_unit_test(rows_know_their_iteration_and_critical_time),
        cmocka_unit_test(what_does_not_exist_is_refused),
        cmocka_unit_test(texts_are_valid_and_numbered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
