/* The NVTX result: which work and which calls belong to which ranges. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/deps/deps_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reports/nvtx/result.h"

#define PUSH  MP_nvtx_kind_push
#define POP   MP_nvtx_kind_pop
#define START MP_nvtx_kind_start
#define END   MP_nvtx_kind_end
#define MARK  MP_nvtx_kind_mark

static struct nvtx_result result;

static void load_with(struct nvtx_options options)
{
    scene_load();
    assert_int_equal(nvtx_result_build(scene.deps.profile, &options, &result, NULL), MP_OK);
}

static void load(void)
{
    load_with((struct nvtx_options){.style = NAMES_READABLE});
}

static void done(void)
{
    nvtx_result_free(&result);
    scene_end(UNSOUND);
}

static size_t append(char *text, size_t used, size_t size, const struct summary_row *row)
{
    int length = snprintf(text + used, size - used, "%s%s %ux%u", used ? ", " : "", row->name,
                          (unsigned)row->tally.calls, (unsigned)(row->tally.total / 1000));

    assert_true(length > 0 && (size_t)length < size - used);
    return used + (size_t)length;
}

/* "a 2x30, b 1x10 | cudaLaunchKernel 3x15": names with calls and total time in us. */
static const char *inside(size_t index)
{
    static char text[1024];
    char groups[SUMMARY_GROUPS][500] = {"", ""};

    assert_true(index < result.range_count);
    for (int group = 0; group < SUMMARY_GROUPS; group++) {
        const struct nvtx_group *rows = &result.ranges[index].groups[group];
        size_t used = 0;
        for (size_t i = 0; i < rows->row_count; i++)
            used = append(groups[group], used, sizeof groups[group], &rows->rows[i]);
    }
    snprintf(text, sizeof text, "%s | %s", groups[SUMMARY_GPU], groups[SUMMARY_API]);
    return text;
}

static void expect_range(size_t index, const char *name, uint64_t count, uint64_t total)
{
    assert_true(index < result.range_count);
    assert_string_equal(result.ranges[index].name, name);
    assert_int_equal(result.ranges[index].instances.tally.calls, count);
    assert_int_equal(result.ranges[index].instances.tally.total, total * 1000);
}

static void work_belongs_to_the_range_that_launched_it_however_late_it_runs(void **state)
{
    (void)state;
    scene_begin();
    put_nvtx_range("first", 10, 20);
    put_launch(1, "a", 12, 100, 130, 1);
    put_nvtx_range("second", 21, 40);
    put_launch(1, "b", 22, 130, 140, 2);
    put_call(1, "cudaMemcpyAsync", 28, 30, 3);
    put_copy(1, MP_copy_kind_HtoD, ASYNCHRONOUS, 140, 144, 3);
    put_call(1, "cudaMemsetAsync", 30, 31, 4);
    put_set(1, 144, 145, 4);
    put_launch(1, "c", 50, 150, 160, 5);
    load();
    assert_int_equal(result.range_count, 2);
    expect_range(0, "first", 1, 10);
    assert_string_equal(inside(0), "a 1x30 | cudaLaunchKernel 1x5");
    expect_range(1, "second", 1, 19);
    assert_string_equal(inside(1),
                        "b 1x10, [CUDA memcpy HtoD] 1x4, [CUDA memset] 1x1 | "
                        "cudaLaunchKernel 1x5, cudaMemcpyAsync 1x2, cudaMemsetAsync 1x1");
    assert_int_equal(result.ranges[1].groups[SUMMARY_GPU].total, 15000);
    assert_true(result.ranges[1].groups[SUMMARY_GPU].rows[0].percent > 66.6 &&
                result.ranges[1].groups[SUMMARY_GPU].rows[0].percent < 66.7);
    assert_true(result.ranges[1].instances.percent == 100);
    done();
}

static void instances_of_a_name_are_added_up(void **state)
{
    (void)state;
    scene_begin();
    put_nvtx_range("it", 10, 20);
    put_launch(1, "a", 12, 30, 40, 1);
    put_nvtx_range("it", 50, 80);
    put_launch(1, "a", 52, 60, 80, 2);
    load();
    assert_int_equal(result.range_count, 1);
    expect_range(0, "it", 2, 40);
    assert_int_equal(result.ranges[0].instances.tally.min, 10000);
    assert_int_equal(result.ranges[0].instances.tally.max, 30000);
    assert_string_equal(inside(0), "a 2x30 | cudaLaunchKernel 2x10");
    done();
}

/*     outer 10 ( inner 20 ( ) 40  ) 60 */
static void nested_ranges_each_count_what_is_inside(void **state)
{
    (void)state;
    scene_begin();
    put_nvtx(PUSH, 1, NULL, "outer", 10, 0);
    put_launch(1, "a", 12, 100, 101, 1);
    put_nvtx(PUSH, 1, NULL, "inner", 20, 0);
    put_launch(1, "b", 22, 102, 104, 2);
    put_nvtx(POP, 1, NULL, NULL, 40, 0);
    put_launch(1, "c", 42, 105, 109, 3);
    put_nvtx(POP, 1, NULL, NULL, 60, 0);
    load();
    expect_range(0, "inner", 1, 20);
    assert_string_equal(inside(0), "b 1x2 | cudaLaunchKernel 1x5");
    expect_range(1, "outer", 1, 50);
    assert_string_equal(inside(1), "c 1x4, b 1x2, a 1x1 | cudaLaunchKernel 3x15");
    done();
}

static void a_range_inside_its_own_name_counts_twice_as_its_time_does(void **state)
{
    (void)state;
    scene_begin();
    put_nvtx(PUSH, 1, NULL, "f", 10, 0);
    put_nvtx(PUSH, 1, NULL, "f", 20, 0);
    put_launch(1, "a", 22, 100, 103, 1);
    put_nvtx(POP, 1, NULL, NULL, 40, 0);
    put_nvtx(POP, 1, NULL, NULL, 60, 0);
    load();
    assert_int_equal(result.range_count, 1);
    expect_range(0, "f", 2, 70);
    assert_string_equal(inside(0), "a 2x6 | cudaLaunchKernel 2x10");
    done();
}

static void calls_that_are_inside_in_part_do_not_count(void **state)
{
    (void)state;
    scene_begin();
    put_call(1, "cudaLaunchKernel", 8, 12, 1);
    put_kernel(1, "early", 20, 30, 1);
    put_nvtx(START, 1, NULL, "it", 10, 77);
    put_launch(1, "whole", 15, 30, 40, 2);
    put_call(1, "cudaLaunchKernel", 28, 33, 3);
    put_kernel(1, "late", 40, 50, 3);
    put_nvtx(END, 2, NULL, NULL, 30, 77);
    load();
    assert_int_equal(result.range_count, 1);
    assert_int_equal(result.ranges[0].thread, 1);
    expect_range(0, "it", 1, 20);
    assert_string_equal(inside(0), "whole 1x10 | cudaLaunchKernel 1x5");
    done();
}

static void calls_that_launch_nothing_count_on_request(void **state)
{
    struct nvtx_options all = {.all_calls = true};

    (void)state;
    scene_begin();
    put_nvtx_range("it", 10, 100);
    put_launch(1, "a", 12, 30, 40, 1);
    put_call(1, "cudaDeviceSynchronize_v3020", 20, 45, 2);
    load();
    assert_string_equal(inside(0), "a 1x10 | cudaLaunchKernel 1x5");
    nvtx_result_free(&result);
    assert_int_equal(nvtx_result_build(scene.deps.profile, &all, &result, NULL), MP_OK);
    assert_string_equal(inside(0), "a 1x10 | cudaDeviceSynchronize 1x25, cudaLaunchKernel 1x5");
    done();
}

static void calls_of_other_threads_do_not_count(void **state)
{
    (void)state;
    scene_begin();
    put_nvtx_range("it", 10, 20);
    put_call(2, "cudaLaunchKernel", 12, 14, 1);
    put_kernel(1, "a", 20, 30, 1);
    load();
    assert_string_equal(inside(0), " | ");
    assert_false(result.no_calls);
    done();
}

static void all_nodes_of_a_graph_launch_count(void **state)
{
    (void)state;
    scene_begin();
    put_nvtx_range("it", 10, 20);
    put_call(1, "cudaGraphLaunch_v10000", 12, 15, 1);
    put_node(1, "a", 7, 1, 20, 30, 1);
    put_node(2, "b", 7, 2, 30, 32, 1);
    put_node(1, "a", 7, 3, 32, 42, 1);
    put_call(1, "cudaGraphLaunch_v10000", 16, 18, 2);
    put_graph(1, 9, 50, 90, 2);
    load();
    assert_string_equal(inside(0), "[CUDA graph 9] 1x40, a 2x20, b 1x2 | cudaGraphLaunch 2x5");
    done();
}

/* A runtime call and the driver call inside it have one correlation id. */
static void work_counts_once_for_nested_calls(void **state)
{
    (void)state;
    scene_begin();
    put_nvtx_range("it", 10, 20);
    put_call(1, "cuLaunchKernel", 13, 15, 1);
    put_call(1, "cudaLaunchKernel", 12, 16, 1);
    put_kernel(1, "a", 20, 30, 1);
    load();
    assert_string_equal(inside(0), "a 1x10 | cudaLaunchKernel 1x4, cuLaunchKernel 1x2");
    done();
}

/*     one 10 ------------ 30
 *             two 20 ------------ 40 */
static void ranges_that_overlap_in_part_each_count_their_own(void **state)
{
    (void)state;
    scene_begin();
    put_nvtx(START, 1, NULL, "one", 10, 5);
    put_launch(1, "a", 12, 50, 51, 1);
    put_nvtx(START, 1, NULL, "two", 20, 6);
    put_launch(1, "b", 22, 52, 54, 2);
    put_nvtx(END, 1, NULL, NULL, 30, 5);
    put_launch(1, "c", 32, 55, 59, 3);
    put_nvtx(END, 1, NULL, NULL, 40, 6);
    load();
    expect_range(0, "one", 1, 20);
    assert_string_equal(inside(0), "b 1x2, a 1x1 | cudaLaunchKernel 2x10");
    expect_range(1, "two", 1, 20);
    assert_string_equal(inside(1), "c 1x4, b 1x2 | cudaLaunchKernel 2x10");
    done();
}

/* Each thread's events are written by themselves. */
static void an_end_may_stand_before_its_start_in_the_file(void **state)
{
    (void)state;
    scene_begin();
    put_nvtx(END, 2, NULL, NULL, 30, 5);
    put_nvtx(START, 1, NULL, "it", 10, 5);
    load();
    expect_range(0, "it", 1, 20);
    assert_int_equal(result.unfinished, 0);
    done();
}

static void what_does_not_end_lasts_to_the_end_of_the_trace(void **state)
{
    (void)state;
    scene_begin();
    put_nvtx(POP, 1, NULL, NULL, 5, 0); /* pushed before the recording */
    put_nvtx(PUSH, 1, NULL, "open", 10, 0);
    put_launch(1, "a", 12, 50, 60, 1);
    put_nvtx(START, 1, NULL, "started", 20, 9);
    put_nvtx(END, 1, NULL, NULL, 30, 8); /* of nothing that is known */
    put_nvtx(MARK, 1, NULL, "mark", 90, 0);
    load();
    assert_int_equal(result.range_count, 2);
    expect_range(0, "open", 1, 80);
    expect_range(1, "started", 1, 70);
    assert_int_equal(result.ranges[0].unfinished, 1);
    assert_int_equal(result.unfinished, 2);
    assert_string_equal(inside(0), "a 1x10 | cudaLaunchKernel 1x5");
    done();
}

static void ranges_come_by_thread_then_domain_then_name(void **state)
{
    static const struct {
        uint64_t thread;
        const char *domain;
        const char *name;
    } order[] = {{1, "b", "y"}, {1, NULL, "a"}, {1, NULL, "z"}, {2, "a", "x"}, {2, "b", "x"}};

    (void)state;
    scene_begin();
    put_call(1, "cudaFree", 1, 2, 90); /* thread 1 appears first */
    for (int i = 4; i >= 0; i--) {
        uint64_t at = 10 * (5 - (uint64_t)i);
        put_nvtx(PUSH, order[i].thread, order[i].domain, order[i].name, at, 0);
        put_nvtx(POP, order[i].thread, order[i].domain, NULL, at + 1, 0);
    }
    load();
    assert_int_equal(result.range_count, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(result.ranges[i].thread, order[i].thread);
        assert_int_equal(result.ranges[i].domain == NULL, order[i].domain == NULL);
        if (order[i].domain)
            assert_string_equal(result.ranges[i].domain, order[i].domain);
        assert_string_equal(result.ranges[i].name, order[i].name);
    }
    done();
}

/* The stack of a domain is its own. */
static void pops_of_one_domain_leave_the_others_open(void **state)
{
    (void)state;
    scene_begin();
    put_nvtx(PUSH, 1, "left", "a", 10, 0);
    put_nvtx(PUSH, 1, "right", "b", 20, 0);
    put_nvtx(POP, 1, "left", NULL, 30, 0);
    put_nvtx(POP, 1, "right", NULL, 40, 0);
    load();
    expect_range(0, "a", 1, 20);
    expect_range(1, "b", 1, 20);
    done();
}

static void a_capture_range_holds_what_begins_in_it(void **state)
{
    (void)state;
    scene_begin();
    put_range(1, 5, 100, 1, 10);
    put_range(2, 200, 300, 10, 0);
    put_nvtx_range("it", 10, 20);
    put_launch(1, "a", 12, 250, 260, 1);
    put_nvtx_range("it", 210, 230);
    put_launch(1, "b", 212, 260, 262, 11);
    load_with((struct nvtx_options){.range = 1});
    expect_range(0, "it", 1, 10);
    assert_string_equal(inside(0), "a 1x10 | cudaLaunchKernel 1x5");
    assert_int_equal(ranges_count(&result.profile->ranges), 2);
    done();
}

static void a_capture_range_that_does_not_exist_is_an_error(void **state)
{
    struct nvtx_options options = {.range = 3};
    struct mp_error error;

    (void)state;
    scene_begin();
    put_nvtx_range("it", 10, 20);
    scene_load();
    assert_int_equal(nvtx_result_build(scene.deps.profile, &options, &result, &error),
                     MP_ERR_ARGUMENT);
    assert_string_equal(error.text, "there is no capture range 3; the trace has 0");
    scene_end(UNSOUND);
}

static void a_trace_without_ranges_has_none(void **state)
{
    (void)state;
    scene_begin();
    put_launch(1, "a", 12, 30, 40, 1);
    load();
    assert_int_equal(result.range_count, 0);
    done();
}

static void without_calls_the_work_is_nobodys(void **state)
{
    (void)state;
    scene_begin();
    put_nvtx_range("it", 10, 20);
    put_kernel(1, "a", 12, 15, 1);
    load();
    assert_string_equal(inside(0), " | ");
    assert_true(result.no_calls);
    done();
}

/* ---- Against a sum over all pairs of ranges and calls ---- */

enum { RANDOM_RANGES = 60, RANDOM_CALLS = 120, NAMES = 4, THREADS = 2, LONGEST = 40 };

struct random_range {
    uint64_t thread, begin, end;
    int name;
};

struct random_call {
    uint64_t thread, begin, end, work;
    bool launches;
};

static const char *const names[NAMES] = {"w", "x", "y", "z"};

static uint64_t below(uint64_t *seed, uint64_t limit)
{
    return fixture_random(seed) % limit;
}

static void put_random(uint64_t seed, struct random_range *ranges, struct random_call *calls)
{
    for (uint64_t i = 0; i < RANDOM_RANGES; i++) {
        struct random_range *range = &ranges[i];
        range->thread = 1 + below(&seed, THREADS);
        range->begin = 10 + below(&seed, 300);
        range->end = range->begin + below(&seed, LONGEST);
        range->name = (int)below(&seed, NAMES);
        put_nvtx(START, range->thread, NULL, names[range->name], range->begin, i + 1);
        put_nvtx(END, 1 + below(&seed, THREADS), NULL, NULL, range->end, i + 1);
    }
    for (uint64_t i = 0; i < RANDOM_CALLS; i++) {
        struct random_call *call = &calls[i];
        call->thread = 1 + below(&seed, THREADS);
        call->begin = 10 + below(&seed, 330);
        call->end = call->begin + 1 + below(&seed, 8);
        call->work = 1 + below(&seed, 9);
        call->launches = below(&seed, 4) != 0;
        put_call(call->thread, "cudaLaunchKernel", call->begin, call->end, i + 1);
        if (call->launches)
            put_kernel(1, "k", 1000 + 10 * i, 1000 + 10 * i + call->work, i + 1);
    }
}

static void expect_random(const struct nvtx_named_range *range, const struct random_range *ranges,
                          const struct random_call *calls)
{
    uint64_t instances = 0;
    uint64_t count = 0;
    uint64_t work = 0;
    uint64_t time = 0;

    for (int i = 0; i < RANDOM_RANGES; i++) {
        if (ranges[i].thread != range->thread || strcmp(names[ranges[i].name], range->name) != 0)
            continue;
        instances++;
        for (int j = 0; j < RANDOM_CALLS; j++) {
            if (!calls[j].launches || calls[j].thread != range->thread ||
                calls[j].begin < ranges[i].begin || calls[j].end > ranges[i].end)
                continue;
            count++;
            work += calls[j].work * 1000;
            time += (calls[j].end - calls[j].begin) * 1000;
        }
    }
    assert_int_equal(range->instances.tally.calls, instances);
    assert_int_equal(range->groups[SUMMARY_GPU].total, work);
    assert_int_equal(range->groups[SUMMARY_API].total, time);
    assert_int_equal(range->groups[SUMMARY_GPU].row_count, count != 0);
    if (count) {
        assert_int_equal(range->groups[SUMMARY_GPU].rows[0].tally.calls, count);
        assert_int_equal(range->groups[SUMMARY_API].rows[0].tally.calls, count);
    }
}

static void random_ranges_hold_what_a_sum_over_all_pairs_finds(void **state)
{
    static struct random_range ranges[RANDOM_RANGES];
    static struct random_call calls[RANDOM_CALLS];

    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        scene_begin();
        put_random(seed, ranges, calls);
        load();
        for (size_t i = 0; i < result.range_count; i++)
            expect_random(&result.ranges[i], ranges, calls);
        assert_true(result.range_count > THREADS);
        done();
    }
}

/* Kernels of a shape that the trace does not define. */
static void a_name_that_is_missing_counts_once(void **state)
{
    (void)state;
    scene_begin();
    put_nvtx_range("it", 10, 40);
    for (uint64_t i = 1; i <= 3; i++) {
        put_call(1, "cudaLaunchKernel", 10 + 5 * i, 12 + 5 * i, i);
        mp_append_kernel(scene.writer, &(struct mp_row_kernel){.stream = 1,
                                                               .shape = 5,
                                                               .start = (50 + 2 * i) * 1000,
                                                               .duration = 1000,
                                                               .correlation = i});
    }
    load();
    assert_string_equal(inside(0), "[unnamed kernel] 3x3 | cudaLaunchKernel 3x6");
    assert_int_equal(result.quality.undefined, 1);
    done();
}

/* The chunk of a table in the file. */
static struct mp_chunk chunk_of(int fd, unsigned table)
{
    struct mp_trace *trace;
    struct mp_cursor *cursor;
    struct mp_chunk chunk = {.table_id = 0};

    assert_int_equal(mp_trace_open(fixture_path(fd), &trace, NULL), MP_OK);
    assert_int_equal(mp_cursor_open(trace, &cursor, NULL), MP_OK);
    while (chunk.table_id != table)
        assert_int_equal(mp_cursor_next_chunk(cursor, &chunk, false), MP_OK);
    mp_cursor_close(cursor);
    mp_trace_close(trace);
    return chunk;
}

/* What the result says of a file in which the last bytes of these chunks were changed. */
static struct mp_damage damage_of(int fd, const struct mp_chunk *chunks, size_t count)
{
    const struct nvtx_options options = {.style = NAMES_READABLE};
    struct mp_damage damage;
    struct mp_trace *trace;
    struct profile profile;
    size_t size;
    uint8_t *bytes = fixture_file_bytes(fd, &size);
    int damaged = fixture_file(bytes, size);

    for (size_t i = 0; i < count; i++) {
        uint64_t last = chunks[i].offset + chunks[i].file_bytes - 1;

        bytes[last] ^= 1;
        assert_int_equal(pwrite(damaged, &bytes[last], 1, (off_t)last), 1);
    }
    assert_int_equal(mp_trace_open(fixture_path(damaged), &trace, NULL), MP_OK);
    assert_int_equal(profile_load(&profile, trace, DEFINITIONS_USUAL, NULL), MP_OK);
    assert_int_equal(nvtx_result_build(&profile, &options, &result, NULL), MP_OK);
    damage = result.quality.damage;
    nvtx_result_free(&result);
    profile_free(&profile);
    mp_trace_close(trace);
    close(damaged);
    free(bytes);
    return damage;
}

/* The file is read in several passes. One that meets no damage takes none back. */
static void what_the_recorder_lost_is_known(void **state)
{
    const struct quality_counter *counter;
    uint64_t name;

    (void)state;
    scene_begin();
    put_nvtx_range("it", 10, 40);
    name = put_string("dropped_nvtx");
    mp_append_quality(scene.writer, &(struct mp_row_quality){.name = name, .time = 1, .value = 7});
    load();
    counter = dense_at(&result.quality.counters, name);
    assert_non_null(counter);
    assert_int_equal(counter->value, 7);
    done();
}

static void damage_of_all_passes_is_told(void **state)
{
    int fd = fixture_file(NULL, 0);
    struct mp_chunk chunks[2];

    (void)state;
    scene_begin();
    put_nvtx_range("it", 10, 40);
    put_launch(1, "a", 12, 30, 40, 1);
    assert_int_equal(mp_writer_flush(scene.writer), MP_OK);
    put_launch(1, "a", 20, 50, 60, 2); /* whole: without any call no work is read */
    scene_write(fd);
    chunks[0] = chunk_of(fd, MP_TABLE_kernel);
    chunks[1] = chunk_of(fd, MP_TABLE_call);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(damage_of(fd, &chunks[i], 1).chunks_damaged, 1);
        assert_int_equal(damage_of(fd, &chunks[i], 1).first_offset, chunks[i].offset);
    }
    assert_int_equal(damage_of(fd, chunks, 2).chunks_damaged, 2);
    assert_int_equal(damage_of(fd, chunks, 2).first_offset,
                     chunks[chunks[1].offset < chunks[0].offset].offset);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_belongs_to_the_range_that_launched_it_however_late_it_runs),
        cmocka_unit_test(instances_of_a_name_are_added_up),
        cmocka_unit_test(nested_ranges_each_count_what_is_inside),
        cmocka_unit_test(a_range_inside_its_own_name_counts_twice_as_its_time_does),
        cmocka_unit_test(calls_that_are_inside_in_part_do_not_count),
        cmocka_unit_test(calls_that_launch_nothing_count_on_request),
        cmocka_unit_test(calls_of_other_threads_do_not_count),
        cmocka_unit_test(all_nodes_of_a_graph_launch_count),
        cmocka_unit_test(work_counts_once_for_nested_calls),
        cmocka_unit_test(ranges_that_overlap_in_part_each_count_their_own),
        cmocka_unit_test(an_end_may_stand_before_its_start_in_the_file),
        cmocka_unit_test(what_does_not_end_lasts_to_the_end_of_the_trace),
        cmocka_unit_test(ranges_come_by_thread_then_domain_then_name),
        cmocka_unit_test(pops_of_one_domain_leave_the_others_open),
        cmocka_unit_test(a_capture_range_holds_what_begins_in_it),
        cmocka_unit_test(a_capture_range_that_does_not_exist_is_an_error),
        cmocka_unit_test(a_trace_without_ranges_has_none),
        cmocka_unit_test(without_calls_the_work_is_nobodys),
        cmocka_unit_test(a_name_that_is_missing_counts_once),
        cmocka_unit_test(what_the_recorder_lost_is_known),
        cmocka_unit_test(damage_of_all_passes_is_told),
        cmocka_unit_test(random_ranges_hold_what_a_sum_over_all_pairs_finds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
