/* Where memory goes: peaks, what is alive then, what is not freed, churn, iterations, time line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/deps/deps_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/nvtx/open.h"
#include "reports/memory/memory.h"

#define DEVICE  MP_memory_kind_device
#define PINNED  MP_memory_kind_pinned
#define MANAGED MP_memory_kind_managed
#define STATIC  MP_memory_kind_device_static
#define PUSH    MP_nvtx_kind_push
#define POP     MP_nvtx_kind_pop
#define START   MP_nvtx_kind_start
#define END     MP_nvtx_kind_end

static struct mp_row_memory row(unsigned operation, uint64_t address, uint64_t bytes, uint64_t at,
                                uint64_t correlation)
{
    return (struct mp_row_memory){
        .operation = operation,
        .kind = DEVICE,
        .address = address,
        .bytes = bytes,
        .time = at * 1000,
        .correlation = correlation,
    };
}

static void put(struct mp_row_memory memory)
{
    mp_append_memory(scene.writer, &memory);
}

/* A call of 4 us that allocates or frees in its last one. */
static void put_alloc(uint64_t thread, uint64_t address, uint64_t bytes, uint64_t at,
                      uint64_t correlation)
{
    put_call(thread, "cudaMalloc_v3020", at, at + 4, correlation);
    put(row(MP_memory_operation_allocate, address, bytes, at + 3, correlation));
}

static void put_free(uint64_t thread, uint64_t address, uint64_t at, uint64_t correlation)
{
    put_call(thread, "cudaFree_v3020", at, at + 4, correlation);
    put(row(MP_memory_operation_release, address, 0, at + 3, correlation));
}

static struct memory memory;

static void load(const char *iteration, uint64_t range, size_t top)
{
    struct memory_options options = {.range = range, .iteration = iteration, .top = top};

    scene_load();
    assert_int_equal(memory_build(scene.trace, &options, &memory, NULL), MP_OK);
}

static void unload(void)
{
    memory_free(&memory);
    scene_end(UNSOUND);
}

static void expect_totals(const struct memory_totals *totals, uint64_t peak, uint64_t peak_at,
                          uint64_t live)
{
    assert_int_equal(totals->peak, peak);
    assert_int_equal(totals->peak_time, peak_at * 1000);
    assert_int_equal(totals->live, live);
}

/* ---- Peaks ---- */

static void the_peak_is_of_each_device(void **state)
{
    struct mp_row_memory other = row(MP_memory_operation_allocate, 0x9000, 70, 40, 0);
    struct mp_row_memory pinned = row(MP_memory_operation_allocate, 0x5000, 5, 50, 0);

    (void)state;
    scene_begin();
    mp_append_device(scene.writer, &(struct mp_row_device){.id = 1, .name = put_string("right")});
    put_alloc(1, 0x1000, 100, 10, 1);
    put_alloc(1, 0x2000, 50, 20, 2);
    put_free(1, 0x1000, 30, 3);
    other.device = 1;
    put(other);
    pinned.kind = PINNED;
    put(pinned);
    put_alloc(1, 0x3000, 20, 60, 4);
    load(NULL, 0, 10);
    assert_int_equal(memory.device_count, 3);
    expect_totals(&memory.devices[0].totals, 150, 23, 70);
    expect_totals(&memory.devices[1].totals, 70, 40, 70);
    expect_totals(&memory.devices[2].totals, 5, 50, 5);
    assert_string_equal(memory.devices[1].name, "right");
    assert_true(memory.devices[2].device == MEMORY_HOST);
    assert_int_equal(memory.devices[0].totals.allocations, 3);
    assert_int_equal(memory.devices[0].totals.frees, 1);
    assert_int_equal(memory.devices[0].totals.bytes, 170);
    unload();
}

static void kinds_have_peaks_of_their_own(void **state)
{
    struct mp_row_memory managed = row(MP_memory_operation_allocate, 0x7000, 30, 30, 0);

    (void)state;
    scene_begin();
    put_alloc(1, 0x1000, 100, 10, 1);
    put_free(1, 0x1000, 20, 2);
    managed.kind = MANAGED;
    put(managed);
    put_alloc(1, 0x1000, 90, 40, 3);
    load(NULL, 0, 10);
    assert_int_equal(memory.kind_count, 2);
    assert_int_equal(memory.kinds[0].peak, 100);
    assert_int_equal(memory.kinds[0].peak_time, 13000);
    assert_int_equal(memory.kinds[1].peak, 30);
    expect_totals(&memory.devices[0].totals, 120, 43, 120);
    unload();
}

static void the_largest_at_the_peak_come_first_with_who_allocated_them(void **state)
{
    (void)state;
    scene_begin();
    put_nvtx(PUSH, 1, NULL, "setup", 5, 0);
    put_alloc(1, 0x1000, 10, 10, 1);
    put_nvtx(PUSH, 1, "lib", "weights", 15, 0);
    put_alloc(1, 0x2000, 300, 20, 2);
    put_nvtx(POP, 1, "lib", NULL, 25, 0);
    put_alloc(2, 0x3000, 200, 30, 3);
    put_nvtx(POP, 1, NULL, NULL, 35, 0);
    put_alloc(1, 0x4000, 300, 40, 4);
    put_free(1, 0x1000, 50, 5);
    put_free(1, 0x2000, 60, 6);
    load(NULL, 0, 3);

    const struct memory_device *device = &memory.devices[0];
    expect_totals(&device->totals, 810, 43, 500);
    assert_int_equal(device->alive_count, 4);
    assert_int_equal(device->alive_shown, 3);
    assert_int_equal(device->alive[0].address, 0x2000);
    assert_int_equal(device->alive[0].time, 23000);
    assert_int_equal(device->alive[0].correlation, 2);
    assert_string_equal(device->alive[0].source.function, "cudaMalloc_v3020");
    assert_string_equal(device->alive[0].source.range, "weights");
    assert_string_equal(device->alive[0].source.domain, "lib");
    assert_int_equal(device->alive[1].address, 0x4000);
    assert_null(device->alive[1].source.range);
    assert_int_equal(device->alive[2].address, 0x3000);
    assert_null(device->alive[2].source.range); /* the range is another thread's */
    assert_int_equal(device->alive[2].thread, 2);
    unload();
}

static void a_call_is_found_behind_many_of_other_threads(void **state)
{
    (void)state;
    scene_begin();
    put_nvtx(PUSH, 1, NULL, "slow", 1, 0);
    put_call(1, "cudaMalloc_v3020", 10, 90000, 1);
    for (uint64_t i = 0; i < 9000; i++)
        put_call(2, "cudaLaunchKernel", 20 + i, 21 + i, 2 + i);
    put(row(MP_memory_operation_allocate, 0x1000, 10, 89999, 1));
    load(NULL, 0, 3);
    assert_string_equal(memory.devices[0].alive[0].source.function, "cudaMalloc_v3020");
    assert_string_equal(memory.devices[0].alive[0].source.range, "slow");
    assert_int_equal(memory.churn.allocate_ns, 89990000);
    unload();
}

/* Sizes in an order of their own, some twice: the first of these comes first. */
static void the_largest_are_in_order_however_many_are_asked_for(void **state)
{
    enum { ALL = 100 };

    (void)state;
    for (uint64_t top = 0; top <= ALL + 10; top += 10) {
        scene_begin();
        for (uint64_t i = 0; i < ALL; i++)
            put(row(MP_memory_operation_allocate, 0x1000 * (i + 1), 1 + i * 37 % ALL / 2, 10 + i,
                    0));
        load(NULL, 0, top);
        assert_int_equal(memory.devices[0].alive_count, ALL);
        assert_int_equal(memory.devices[0].alive_shown, top < ALL ? top : ALL);
        for (size_t i = 0; i < memory.devices[0].alive_shown; i++) {
            const struct memory_alive *alive = &memory.devices[0].alive[i];

            assert_int_equal(alive->bytes, (ALL - i - 1) / 2 + 1);
            assert_true(i % 2 == 0 || alive[-1].time < alive->time);
        }
        unload();
    }
}

/* A thread's last two calls: at the end of one the next may have begun. Ids come again. */
static void calls_before_the_last_two_of_a_thread_are_forgotten(void **state)
{
    static const uint64_t threads[] = {0, 1, 3, 3};

    (void)state;
    scene_begin();
    put_call(1, "cudaMalloc_v3020", 10, 11, 1);
    put_call(2, "cudaMalloc_v3020", 12, 13, 2);
    put_call(3, "cudaMalloc_v3020", 14, 15, 3);
    put_call(1, "cudaMalloc_v3020", 16, 17, 2);
    put_call(3, "cudaMalloc_v3020", 18, 19, 4);
    put_call(1, "cudaMalloc_v3020", 20, 21, 5); /* 1 is forgotten */
    put_call(2, "cudaMalloc_v3020", 22, 23, 6);
    put_call(2, "cudaMalloc_v3020", 24, 25, 7); /* 2 is, by this thread */
    for (uint64_t i = 0; i < 4; i++)
        put(row(MP_memory_operation_allocate, 0x1000 * (i + 1), 100 - i, 30 + i, i + 1));
    load(NULL, 0, 4);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(memory.devices[0].alive[i].thread, threads[i]);
    unload();
}

static void a_call_counts_once_however_many_rows_it_has(void **state)
{
    (void)state;
    scene_begin();
    put_alloc(1, 0x1000, 10, 10, 1);
    put(row(MP_memory_operation_allocate, 0x2000, 10, 14, 1)); /* as it returns */
    put_call(1, "cuMemAlloc_v2", 11, 12, 1);                   /* the driver's, inside */
    load(NULL, 0, 3);
    assert_int_equal(memory.churn.allocations, 2);
    assert_int_equal(memory.churn.allocate_ns, 4000);
    assert_int_equal(memory.source_count, 1);
    assert_string_equal(memory.sources[0].source.function, "cudaMalloc_v3020");
    unload();
}

static void without_calls_sizes_are_known_all_the_same(void **state)
{
    (void)state;
    scene_begin();
    put(row(MP_memory_operation_allocate, 0x1000, 10, 10, 1));
    put(row(MP_memory_operation_allocate, 0x1000, 30, 20, 2)); /* its release was lost */
    put(row(MP_memory_operation_release, 0x8000, 7, 30, 3));   /* of before the recording */
    load(NULL, 0, 3);
    assert_true(memory.events.no_calls);
    expect_totals(&memory.devices[0].totals, 30, 20, 30);
    assert_int_equal(memory.devices[0].totals.unknown, 1);
    assert_null(memory.sources[0].source.function);
    assert_int_equal(memory.churn.freed_bytes, 7);
    assert_int_equal(memory.churn.pairs, 0);
    unload();
}

static void an_empty_trace_has_nothing(void **state)
{
    (void)state;
    scene_begin();
    put_call(1, "cudaFree_v3020", 10, 20, 1);
    load(NULL, 0, 3);
    assert_int_equal(memory.device_count, 0);
    assert_int_equal(memory.kept_count, 0);
    assert_int_equal(memory.source_count, 0);
    assert_int_equal(memory_each_step(&memory, 5, NULL, NULL), MP_OK);
    assert_int_equal(memory_each_change(&memory, NULL, NULL), MP_OK);
    unload();
}

static void a_capture_range_begins_with_nothing(void **state)
{
    (void)state;
    scene_begin();
    put_alloc(1, 0x1000, 100, 10, 1);
    put_alloc(1, 0x2000, 50, 20, 2);
    put_free(1, 0x1000, 30, 3);
    put_free(1, 0x2000, 40, 4);
    put_range(1, 15, 35, 0, 0);
    load(NULL, 1, 3);
    expect_totals(&memory.devices[0].totals, 50, 23, 50);
    assert_int_equal(memory.devices[0].totals.unknown, 1);
    assert_int_equal(memory.events.first_time, 20000);
    unload();
}

/* ---- Not freed ---- */

static void what_is_not_freed_is_grouped_by_size_and_place(void **state)
{
    struct mp_row_memory constant = row(MP_memory_operation_allocate, 0xf000, 4, 2, 0);

    (void)state;
    scene_begin();
    constant.kind = STATIC;
    put(constant);
    put_nvtx(PUSH, 1, NULL, "step", 5, 0);
    for (uint64_t i = 0; i < 4; i++)
        put_alloc(1 + i % 2, 0x1000 * (i + 1), 64, 10 * (i + 1), 1 + i);
    put_alloc(1, 0x8000, 100, 60, 6);
    put_nvtx(POP, 1, NULL, NULL, 70, 0);
    put_alloc(1, 0x9000, 64, 80, 8);
    put_alloc(1, 0xa000, 64, 90, 9);
    put_free(1, 0x1000, 100, 10);
    load(NULL, 0, 2);
    assert_int_equal(memory.kept_count, 6);
    assert_int_equal(memory.kept_bytes, 64 * 5 + 100);
    assert_int_equal(memory.kept_groups, 3);
    assert_int_equal(memory.kept_shown, 2);
    assert_int_equal(memory.kept[0].count, 4); /* outside of any range, thread 1 and 2 */
    assert_int_equal(memory.kept[0].bytes, 256);
    assert_null(memory.kept[0].source.range);
    assert_int_equal(memory.kept[1].bytes, 100);
    assert_int_equal(memory.kept[1].size, 100);
    assert_string_equal(memory.kept[1].source.range, "step");
    assert_false(memory.events.reached_end);
    expect_totals(&memory.devices[0].totals, 64 * 6 + 104, 93, 64 * 5 + 104);
    unload();
}

static void the_end_of_the_process_is_told_apart_from_that_of_the_recording(void **state)
{
    static const unsigned reasons[] = {MP_capture_reason_end_of_process,
                                       MP_capture_reason_profiler_api};

    (void)state;
    for (int i = 0; i < 2; i++) {
        scene_begin();
        put_alloc(1, 0x1000, 100, 10, 1);
        mp_append_capture(
            scene.writer,
            &(struct mp_row_capture){.range = 1, .kind = MP_capture_kind_begin, .time = 1000});
        mp_append_capture(scene.writer, &(struct mp_row_capture){.range = 1,
                                                                 .kind = MP_capture_kind_end,
                                                                 .time = 90000,
                                                                 .reason = reasons[i]});
        load(NULL, 0, 2);
        assert_int_equal(memory.events.reached_end, i == 0);
        unload();
    }
}

/* ---- Churn ---- */

static void pairs_have_lifetimes_and_calls_take_time(void **state)
{
    (void)state;
    scene_begin();
    put_alloc(1, 0x1000, 100, 10, 1);
    put_free(1, 0x1000, 20, 2); /* lived 10 us */
    put_alloc(1, 0x1000, 60, 30, 3);
    put_free(1, 0x1000, 60, 4); /* 30 us */
    put_alloc(1, 0x2000, 7, 70, 5);
    load(NULL, 0, 10);
    assert_int_equal(memory.churn.allocations, 3);
    assert_int_equal(memory.churn.frees, 2);
    assert_int_equal(memory.churn.bytes, 167);
    assert_int_equal(memory.churn.freed_bytes, 160);
    assert_int_equal(memory.churn.pairs, 2);
    assert_true(memory.churn.lifetime == 40000);
    assert_int_equal(memory.churn.allocate_ns, 12000);
    assert_int_equal(memory.churn.free_ns, 8000);
    assert_int_equal(memory.source_count, 2);
    assert_string_equal(memory.sources[0].source.function, "cudaMalloc_v3020");
    assert_int_equal(memory.sources[0].pairs, 2);
    assert_int_equal(memory.sources[1].frees, 2);
    assert_int_equal(memory.sources[1].pairs, 0);
    unload();
}

/* Three iterations of 100 us in thread 1: the first allocates, the second frees that and has a pair
 * of its own, of another thread; the third has nothing. */
static void put_iterations(void)
{
    for (uint64_t i = 0; i < 3; i++) {
        put_nvtx(PUSH, 1, NULL, "step", 100 * i + 100, 0);
        put_nvtx(POP, 1, NULL, NULL, 100 * i + 190, 0);
    }
    put_alloc(1, 0x1000, 11, 50, 1);
    put_alloc(1, 0x2000, 100, 110, 2);
    put_free(1, 0x2000, 210, 3);
    put_alloc(2, 0x3000, 40, 220, 4);
    put_free(2, 0x3000, 230, 5);
    put_free(1, 0x1000, 195, 6); /* between the iterations */
}

static void iterations_are_told_apart(void **state)
{
    (void)state;
    scene_begin();
    put_iterations();
    load("step", 0, 10);

    const struct memory_iterations *iterations = &memory.iterations;
    assert_int_equal(iterations->count, 3);
    assert_int_equal(iterations->busy, 2);
    assert_int_equal(iterations->allocations.max, 1);
    assert_int_equal(iterations->allocations.min, 0);
    assert_int_equal(iterations->frees.max, 2);
    assert_int_equal(iterations->bytes.max, 100);
    assert_int_equal(iterations->bytes.p50, 40);
    assert_int_equal(iterations->freed_bytes.max, 140);
    assert_int_equal(iterations->call_ns.max, 12000);
    assert_true(iterations->call_ns.mean == 16000. / 3);
    assert_int_equal(memory.churn.allocations, 2);
    assert_int_equal(memory.churn.frees, 2);
    assert_int_equal(memory.churn.pairs, 1); /* the other one began in another iteration */
    assert_true(memory.churn.lifetime == 10000);
    assert_int_equal(memory.devices[0].totals.allocations, 3);
    unload();
}

/* A thread that has iterations of its own does not count in those of another one; of two that
 * overlap the later one counts. */
static void an_event_belongs_to_one_iteration(void **state)
{
    (void)state;
    scene_begin();
    put_nvtx(PUSH, 1, NULL, "step", 100, 0);
    put_nvtx(POP, 1, NULL, NULL, 200, 0);
    put_nvtx(PUSH, 2, NULL, "step", 150, 0);
    put_nvtx(POP, 2, NULL, NULL, 250, 0);
    put_nvtx(PUSH, 2, NULL, "step", 300, 0);
    put_alloc(2, 0x1000, 1, 110, 1);    /* before its thread's own: none */
    put_alloc(1, 0x2000, 10, 160, 2);   /* the first one */
    put_alloc(3, 0x3000, 100, 170, 3);  /* the second one, which began later */
    put_alloc(3, 0x4000, 1000, 230, 4); /* the second one, the only one */
    load("step", 0, 10);
    assert_int_equal(memory.iterations.count, 2);
    assert_int_equal(memory.iterations.unfinished, 1);
    assert_int_equal(memory.iterations.bytes.min, 10);
    assert_int_equal(memory.iterations.bytes.max, 1100);
    assert_int_equal(memory.churn.allocations, 3);
    unload();
}

static void an_unknown_iteration_is_an_error_that_names_others(void **state)
{
    struct memory_options options = {.iteration = "stop", .top = 1};
    struct mp_error error;

    (void)state;
    scene_begin();
    put_iterations();
    scene_load();
    assert_int_equal(memory_build(scene.trace, &options, &memory, &error), MP_ERR_ARGUMENT);
    assert_non_null(strstr(error.text, "'stop'"));
    assert_non_null(strstr(error.text, "step"));
    assert_null(memory.devices);
    scene_end(UNSOUND);
}

/* ---- Pools ---- */

static void put_pool(unsigned operation, uint64_t size, uint64_t at)
{
    mp_append_pool(scene.writer, &(struct mp_row_pool){.operation = operation,
                                                       .type = 1,
                                                       .pool = 0xabc,
                                                       .time = at * 1000,
                                                       .size = size,
                                                       .release_threshold = 99});
}

static void put_pooled(unsigned operation, uint64_t address, uint64_t bytes, uint64_t at,
                       uint64_t used, uint64_t size)
{
    struct mp_row_memory memory_row = row(operation, address, bytes, at, 0);

    memory_row.pool_type = 1;
    memory_row.pool = 0xabc;
    memory_row.pool_used = used;
    memory_row.pool_size = size;
    memory_row.asynchronous = 1;
    put(memory_row);
}

static void put_pool_story(void)
{
    put_pool(MP_pool_operation_created, 0, 10);
    put_pooled(MP_memory_operation_allocate, 0x1000, 100, 20, 128, 1024);
    put_pooled(MP_memory_operation_allocate, 0x2000, 50, 30, 192, 2048);
    put_pooled(MP_memory_operation_release, 0x1000, 100, 40, 64, 2048);
    put(row(MP_memory_operation_allocate, 0x9000, 1000, 45, 0)); /* in no pool */
    put_pool(MP_pool_operation_trimmed, 512, 50);
}

static void pools_have_sizes_of_their_own(void **state)
{
    (void)state;
    scene_begin();
    put_pool_story();
    put_pool(MP_pool_operation_destroyed, 0, 60);
    put_pool(MP_pool_operation_created, 0, 70);
    load(NULL, 0, 3);
    assert_int_equal(memory.pool_count, 2);

    const struct memory_pool *pool = memory.pools[0].pool;
    assert_int_equal(pool->created, 10000);
    assert_int_equal(pool->destroyed, 60000);
    assert_int_equal(pool->trims, 1);
    assert_int_equal(pool->reserved, 512);
    assert_int_equal(pool->max_reserved, 2048);
    assert_int_equal(pool->used, 64);
    assert_int_equal(pool->max_used, 192);
    assert_int_equal(pool->threshold, 99);
    expect_totals(&memory.pools[0].totals, 150, 30, 50);
    expect_totals(&memory.devices[0].totals, 1050, 45, 1050);
    assert_int_equal(memory.pools[1].pool->created, 70000); /* another one at its address */
    assert_int_equal(memory.pools[1].totals.allocations, 0);
    unload();
}

/* ---- Time line ---- */

static struct memory_point points[32];
static size_t point_count;

static void take(void *context, const struct memory_point *point)
{
    (void)context;
    assert_true(point_count < 32);
    points[point_count++] = *point;
}

static void the_time_line_has_each_change(void **state)
{
    static const int64_t changes[] = {100, 50, -100, 1000, -50, 7};
    static const uint64_t live[] = {100, 150, 50, 1050, 1000, 1007};
    static const uint64_t times[] = {20, 30, 40, 45, 70, 70};

    (void)state;
    scene_begin();
    put_pool_story();
    put(row(MP_memory_operation_release, 0x7000, 9, 65, 0));  /* of before: no change */
    put(row(MP_memory_operation_allocate, 0x2000, 7, 70, 0)); /* its release was lost */
    load(NULL, 0, 3);
    point_count = 0;
    assert_int_equal(memory_each_change(&memory, take, NULL), MP_OK);
    assert_int_equal(point_count, 6);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(points[i].time, times[i] * 1000);
        assert_true(points[i].change == changes[i]);
        assert_int_equal(points[i].live, live[i]);
    }
    assert_int_equal(points[1].pool_live, 150);
    assert_int_equal(points[4].pool_live, 0);
    assert_null(points[3].pool);
    unload();
}

static void steps_have_the_least_and_the_greatest(void **state)
{
    /* At 0 +100, 10 +50, 20 -100, 45 +1000, 100 -50: four steps of 25 us. */
    static const uint64_t min[] = {0, 50, 1050, 1000};
    static const uint64_t max[] = {150, 1050, 1050, 1050};
    static const uint64_t end[] = {50, 1050, 1050, 1000};

    (void)state;
    scene_begin();
    put(row(MP_memory_operation_allocate, 0x1000, 100, 1000, 0));
    put(row(MP_memory_operation_allocate, 0x2000, 50, 1010, 0));
    put(row(MP_memory_operation_release, 0x1000, 0, 1020, 0));
    put(row(MP_memory_operation_allocate, 0x3000, 1000, 1045, 0));
    put(row(MP_memory_operation_release, 0x2000, 0, 1100, 0));
    load(NULL, 0, 3);
    point_count = 0;
    assert_int_equal(memory_each_step(&memory, 4, take, NULL), MP_OK);
    assert_int_equal(point_count, 4);
    for (uint64_t i = 0; i < 4; i++) {
        assert_int_equal(points[i].time, (1000 + 25 * i) * 1000);
        assert_int_equal(points[i].min, min[i]);
        assert_int_equal(points[i].max, max[i]);
        assert_int_equal(points[i].live, end[i]);
    }
    unload();
}

/* ---- Ranges that are open ---- */

static struct nvtx_open open_ranges;

static uint64_t take_nvtx(unsigned kind, uint64_t thread, uint64_t domain, uint64_t name,
                          uint64_t range)
{
    const struct nvtx_event event = {kind, thread, domain, name, range, 1, false};
    const struct nvtx_open_range *innermost;

    assert_int_equal(nvtx_open_take(&open_ranges, &event, NULL), MP_OK);
    innermost = nvtx_open_innermost(&open_ranges, thread);
    return innermost ? innermost->name : 0;
}

static void the_innermost_range_is_the_last_one_that_is_open(void **state)
{
    (void)state;
    assert_null(nvtx_open_innermost(&open_ranges, 1));
    assert_int_equal(take_nvtx(POP, 1, 0, 0, 0), 0); /* pushed before the recording */
    assert_int_equal(take_nvtx(PUSH, 1, 0, 10, 0), 10);
    assert_int_equal(take_nvtx(PUSH, 1, 5, 11, 0), 11); /* another domain */
    assert_int_equal(take_nvtx(PUSH, 1, 0, 12, 0), 12);
    assert_int_equal(take_nvtx(START, 1, 0, 13, 700), 13);
    assert_int_equal(take_nvtx(PUSH, 2, 0, 20, 0), 20); /* another thread */
    assert_int_equal(take_nvtx(POP, 1, 5, 0, 0), 13);   /* from the middle */
    assert_int_equal(take_nvtx(END, 2, 0, 0, 700), 20); /* ended by another thread */
    assert_int_equal(nvtx_open_innermost(&open_ranges, 1)->name, 12);
    assert_int_equal(take_nvtx(POP, 1, 0, 0, 0), 10); /* 11 is over, too */
    assert_int_equal(nvtx_open_depth(&open_ranges, 1), 1);
    assert_int_equal(take_nvtx(POP, 1, 5, 0, 0), 10); /* nothing is open there */
    assert_int_equal(take_nvtx(END, 1, 0, 0, 700), 10);
    assert_int_equal(take_nvtx(POP, 1, 0, 0, 0), 0);
    nvtx_open_free(&open_ranges);
}

static void places_of_started_ranges_are_used_again(void **state)
{
    (void)state;
    take_nvtx(START, 1, 0, 1, 1);
    for (uint64_t i = 2; i < 1000; i++) {
        take_nvtx(START, 1, 0, i, i);
        take_nvtx(END, 1, 0, 0, i - 1);
        assert_int_equal(nvtx_open_innermost(&open_ranges, 1)->name, i);
    }
    assert_true(open_ranges.match.count <= 2);
    nvtx_open_free(&open_ranges);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_peak_is_of_each_device),
        cmocka_unit_test(kinds_have_peaks_of_their_own),
        cmocka_unit_test(the_largest_at_the_peak_come_first_with_who_allocated_them),
        cmocka_unit_test(a_call_is_found_behind_many_of_other_threads),
        cmocka_unit_test(the_largest_are_in_order_however_many_are_asked_for),
        cmocka_unit_test(calls_before_the_last_two_of_a_thread_are_forgotten),
        cmocka_unit_test(a_call_counts_once_however_many_rows_it_has),
        cmocka_unit_test(without_calls_sizes_are_known_all_the_same),
        cmocka_unit_test(an_empty_trace_has_nothing),
        cmocka_unit_test(a_capture_range_begins_with_nothing),
        cmocka_unit_test(what_is_not_freed_is_grouped_by_size_and_place),
        cmocka_unit_test(the_end_of_the_process_is_told_apart_from_that_of_the_recording),
        cmocka_unit_test(pairs_have_lifetimes_and_calls_take_time),
        cmocka_unit_test(iterations_are_told_apart),
        cmocka_unit_test(an_event_belongs_to_one_iteration),
        cmocka_unit_test(an_unknown_iteration_is_an_error_that_names_others),
        cmocka_unit_test(pools_have_sizes_of_their_own),
        cmocka_unit_test(the_time_line_has_each_change),
        cmocka_unit_test(steps_have_the_least_and_the_greatest),
        cmocka_unit_test(the_innermost_range_is_the_last_one_that_is_open),
        cmocka_unit_test(places_of_started_ranges_are_used_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
