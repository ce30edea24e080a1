/* What `miniprof top` shows: sums of an interval and of all, layers of work that comes before its
 * call or range, time in which devices were busy, iterations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/deps/deps_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reports/live/live.h"
#include "reports/live/print.h"

#define PUSH MP_nvtx_kind_push
#define POP  MP_nvtx_kind_pop
#define US   UINT64_C(1000)

static void put_counter(uint64_t id, uint64_t device, const char *name, uint64_t source)
{
    struct mp_row_counter row = {.id = id,
                                 .device = device,
                                 .name = put_string(name),
                                 .source = source,
                                 .unit = MP_metric_unit_percent};
    double step = 0.1;

    memcpy(&row.step, &step, sizeof step);
    mp_append_counter(scene.writer, &row);
}

/* Value in tenths. */
static void put_sample(uint64_t counter, uint64_t end, uint64_t length, uint64_t value)
{
    mp_append_sample(scene.writer, &(struct mp_row_sample){.counter = counter,
                                                           .time = end * US,
                                                           .length = length * US,
                                                           .value = value});
}

static struct live live;
static struct mp_cursor *cursor;

static void begin(const char *iteration)
{
    const struct live_options options = {.iteration = iteration};

    scene_load();
    assert_int_equal(mp_cursor_open(scene.trace, &cursor, NULL), MP_OK);
    assert_int_equal(live_init(&live, scene.trace, &options), MP_OK);
    live_select(&live, cursor);
}

/* Takes the chunks up to the next one of a table (0: all of them), that one included. */
static void take(unsigned table)
{
    struct mp_batch batch;

    while (mp_cursor_next(cursor, &batch) == MP_OK) {
        assert_int_equal(live_take(&live, &batch), MP_OK);
        if (batch.table->id == table)
            return;
    }
}

static void tick(uint64_t wall, bool last)
{
    live_tick(&live, scene.trace, cursor, wall * US, last);
}

static void end(void)
{
    live_free(&live);
    mp_cursor_close(cursor);
    scene_end(UNSOUND);
}

static const struct live_sum *layer(const char *name)
{
    static const struct live_sum none;

    for (size_t i = 0; i < live.layers.count; i++) {
        const char *text = definitions_text(&live.definitions, live.layers.items[i].name);

        if (text ? name && !strcmp(text, name) : !name)
            return &live.layers.items[i];
    }
    return &none;
}

/* Chunks of one table each, in this order. */
static void flush(void)
{
    assert_int_equal(mp_writer_flush(scene.writer), MP_OK);
}

static void put_work(void)
{
    put_nvtx(PUSH, 1, NULL, "step", 10, 0);
    put_nvtx(PUSH, 1, "lib", "layer", 20, 0);
    put_nvtx(POP, 1, "lib", NULL, 40, 0);
    put_nvtx(POP, 1, NULL, NULL, 60, 0);
    put_launch(1, "a", 25, 100, 130, 1);
    put_launch(1, "b", 50, 130, 140, 2);
    put_launch(1, "a", 70, 150, 160, 3);
    put_kernel(1, "a", 170, 175, 99); /* its call is not in the trace */
}

static void work_belongs_to_the_innermost_range_of_its_launch(void **state)
{
    (void)state;
    scene_begin();
    put_work();
    begin(NULL);
    take(0);
    tick(1000, true);
    assert_int_equal(live.kernels.all.last_count, 4);
    assert_int_equal(live.kernels.all.ns, 55 * US);
    assert_int_equal(layer("layer")->ns, 30 * US);
    assert_int_equal(layer("step")->ns, 10 * US);
    assert_int_equal(layer(NULL)->ns, 10 * US);
    assert_int_equal(live.unlaunched, 1);
    assert_int_equal(live.layers.all.ns, 55 * US); /* with what is in no list */
    assert_int_equal(live.span_ns, 165 * US);
    assert_int_equal(live.interval_ns, 165 * US);
    assert_int_equal(live.devices[0].busy, 55 * US);
    end();
}

/* Kernels first, then calls, then ranges, with ticks in between. */
static void work_waits_for_its_call_and_for_the_range(void **state)
{
    (void)state;
    scene_begin();
    put_kernel(1, "a", 100, 130, 1);
    flush();
    put_call(1, "cudaLaunchKernel", 25, 28, 1);
    flush();
    put_nvtx(PUSH, 1, NULL, "layer", 20, 0);
    put_nvtx(POP, 1, NULL, NULL, 30, 0);
    begin(NULL);
    take(MP_TABLE_kernel);
    tick(1000, false);
    assert_int_equal(live.layers.all.count, 0);
    live_next(&live);
    take(0);
    assert_int_equal(live.layers.all.count, 1); /* as soon as the range is there */
    tick(1000, false);
    assert_int_equal(live.unlaunched, 0);
    assert_int_equal(layer("layer")->last_ns, 30 * US);
    assert_int_equal(layer("layer")->count, 1);
    end();
}

/* Without a range that comes later nobody knows whether one does: after two ticks there is none. */
static void work_does_not_wait_for_ever(void **state)
{
    (void)state;
    scene_begin();
    put_nvtx(PUSH, 1, NULL, "open", 5, 0);
    put_launch(1, "a", 25, 100, 130, 1);
    put_kernel(1, "a", 170, 175, 99);
    begin(NULL);
    take(0);
    tick(1000, false);
    assert_int_equal(live.layers.all.count, 0);
    live_next(&live);
    tick(1000, false);
    assert_int_equal(layer("open")->last_ns, 30 * US);
    assert_int_equal(live.unlaunched, 1);
    end();
}

static void an_interval_has_what_came_in_it(void **state)
{
    (void)state;
    scene_begin();
    put_launch(1, "a", 25, 100, 130, 1);
    flush();
    put_launch(1, "a", 210, 230, 250, 2);
    begin(NULL);
    take(MP_TABLE_kernel);
    take(MP_TABLE_call);
    tick(1000, false);
    assert_int_equal(live.interval_ns, 105 * US);
    assert_int_equal(live.kernels.all.last_count, 1);
    live_next(&live);
    take(0);
    tick(1000, false);
    assert_int_equal(live.interval_ns, 120 * US); /* from 130 to 250 */
    assert_int_equal(live.kernels.all.last_count, 1);
    assert_int_equal(live.kernels.all.count, 2);
    assert_int_equal(live.kernels.items[0].last_ns, 20 * US);
    assert_int_equal(live.devices[0].last_busy, 20 * US);
    assert_int_equal(live.devices[0].busy, 50 * US);
    live_next(&live);
    tick(77, false); /* nothing has come: by the real clock */
    assert_int_equal(live.interval_ns, 77 * US);
    assert_int_equal(live.kernels.all.last_count, 0);
    assert_int_equal(live.devices[0].last_busy, 0);
    end();
}

/* What was shown as idle is no part of the next interval. */
static void idle_time_is_shown_once(void **state)
{
    (void)state;
    scene_begin();
    put_launch(1, "a", 25, 100, 130, 1);
    flush();
    put_launch(1, "a", 1010, 1030, 1050, 2);
    begin(NULL);
    take(MP_TABLE_kernel);
    take(MP_TABLE_call);
    tick(100, false);
    assert_int_equal(live.elapsed_ns, (130 - 25) * US);
    live_next(&live);
    tick(800, false);
    assert_int_equal(live.elapsed_ns, (130 - 25 + 800) * US);
    live_next(&live);
    take(0);
    tick(100, false);
    assert_int_equal(live.interval_ns, (1050 - 130 - 800) * US);
    assert_int_equal(live.elapsed_ns, (1050 - 25) * US);
    end();
}

/* Of a time that has been shown as idle. */
static void what_comes_late_does_not_turn_time_back(void **state)
{
    (void)state;
    scene_begin();
    put_launch(1, "a", 25, 100, 130, 1);
    flush();
    put_launch(1, "a", 140, 150, 160, 2);
    begin(NULL);
    take(MP_TABLE_kernel);
    take(MP_TABLE_call);
    tick(100, false);
    live_next(&live);
    tick(50, false);
    live_next(&live);
    take(0);
    tick(50, false);
    assert_int_equal(live.span_ns, (160 - 25) * US);
    assert_int_equal(live.elapsed_ns, (130 - 25 + 50) * US);
    end();
}

static void overlapping_work_keeps_a_device_busy_once(void **state)
{
    (void)state;
    scene_begin();
    put_launch(1, "a", 25, 100, 200, 1);
    put_launch(2, "a", 26, 150, 220, 2); /* another stream */
    put_copy(1, MP_copy_kind_HtoD, ASYNCHRONOUS, 210, 230, 3);
    put_set(1, 300, 310, 4);
    put_launch(ON(2, 1), "b", 30, 100, 400, 5); /* another device */
    begin(NULL);
    take(0);
    tick(1, true);
    assert_int_equal(live.device_count, 2);
    assert_int_equal(live.devices[0].busy, 140 * US);
    assert_int_equal(live.devices[1].busy, 300 * US);
    assert_int_equal(live.copies[LIVE_TO_DEVICE].count, 1);
    assert_true(live.copies[LIVE_TO_DEVICE].bytes > 0);
    end();
}

/* More pieces of work in one interval than are kept apart; and the same again in later ones. */
static void a_device_is_busy_however_many_pieces_come(void **state)
{
    enum { MANY = 70000, INTERVALS = 2, ALL = INTERVALS * MANY };

    (void)state;
    scene_begin();
    for (uint64_t i = 0; i < ALL; i++) {
        put_kernel(1, "a", 10 + 2 * i, 11 + 2 * i, i + 1);
        if ((i + 1) % MANY)
            continue;
        put_copy(1, MP_copy_kind_HtoD, ASYNCHRONOUS, 11 + 2 * i, 12 + 2 * i, i + 1);
        flush();
    }
    begin(NULL);
    for (uint64_t i = 1; i <= INTERVALS; i++) {
        take(MP_TABLE_copy);
        tick(1, i == INTERVALS);
        assert_int_equal(live.devices[0].last_busy, (MANY + 1) * US);
        assert_int_equal(live.devices[0].busy, i * (MANY + 1) * US);
        live_next(&live);
    }
    end();
}

static void iterations_are_the_outermost_ranges_or_those_of_a_name(void **state)
{
    const struct live_step *step;

    (void)state;
    for (int named = 0; named < 2; named++) {
        scene_begin();
        for (uint64_t i = 0; i < 4; i++) {
            put_nvtx(PUSH, 1, NULL, "step", 100 * i + 10, 0);
            put_nvtx(PUSH, 1, NULL, "inner", 100 * i + 20, 0);
            put_nvtx(POP, 1, NULL, NULL, 100 * i + 25, 0);
            put_nvtx(PUSH, 1, NULL, "inner", 100 * i + 30, 0);
            put_nvtx(POP, 1, NULL, NULL, 100 * i + 35 + i, 0);
            put_nvtx(POP, 1, NULL, NULL, 100 * i + 50 + i, 0);
        }
        put_nvtx(PUSH, 2, NULL, "rare", 5, 0);
        put_nvtx(POP, 2, NULL, NULL, 6, 0);
        begin(named ? "inner" : NULL);
        take(0);
        tick(1, false);
        step = live_iteration(&live);
        assert_non_null(step);
        assert_int_equal(step->count, named ? 8 : 4);
        assert_int_equal(step->last_sum, (named ? 46 : 166) * US);
        assert_int_equal(step->newest, (named ? 8 : 43) * US);
        live_next(&live);
        assert_int_equal(live_iteration(&live)->last_count, 0);
        assert_int_equal(mp_histogram_count(&live_iteration(&live)->last_lengths), 0);
        assert_int_equal(mp_histogram_count(&live_iteration(&live)->lengths), named ? 8 : 4);
        end();
    }
}

static void lists_are_by_the_interval_then_by_all(void **state)
{
    const struct live_sum *top[3];
    static const char *const names[] = {"c", "b", "a"};

    (void)state;
    scene_begin();
    put_launch(1, "a", 10, 100, 200, 1);
    put_launch(1, "b", 20, 200, 310, 2);
    flush();
    put_launch(1, "c", 400, 410, 411, 3);
    begin(NULL);
    take(MP_TABLE_kernel);
    take(MP_TABLE_call);
    tick(1, false);
    live_next(&live);
    take(0);
    tick(1, false);
    assert_int_equal(live_top(&live.kernels, top, 2), 2);
    assert_int_equal(live_top(&live.kernels, top, 3), 3);
    for (int i = 0; i < 3; i++)
        assert_string_equal(definitions_kernel(&live.definitions, top[i]->shape, NAMES_MANGLED),
                            names[i]);
    assert_int_equal(live_top(&live.kernels, top, 0), 0);
    end();
}

/* More ranges in a thread than its history holds, and more work than can wait. */
static void tables_of_fixed_size_forget_the_oldest(void **state)
{
    (void)state;
    scene_begin();
    for (uint64_t i = 0; i < 70000; i++) {
        put_nvtx(PUSH, 1, NULL, "r", 10 + 2 * i, 0);
        put_nvtx(POP, 1, NULL, NULL, 11 + 2 * i, 0);
        put_kernel(1, "a", 1000000 + i, 1000001 + i, 5000000 + i); /* no call */
    }
    put_call(1, "cudaLaunchKernel", 140000, 140001, 3);
    put_kernel(1, "b", 2000000, 2000002, 3);
    begin(NULL);
    take(0);
    tick(1, true);
    assert_int_equal(live.kernels.all.count, 70001);
    assert_int_equal(live.layers.all.count, 70001);
    assert_int_equal(live.unlaunched, 70000);
    assert_int_equal(layer("r")->count, 1);
    assert_int_equal(live.devices[0].busy, 70002 * US);
    end();
}

/* What a history has forgotten may have been a range. */
static void work_before_what_is_remembered_is_given_up(void **state)
{
    (void)state;
    scene_begin();
    put_nvtx(PUSH, 1, NULL, "early", 10, 0);
    put_call(1, "cudaLaunchKernel", 11, 12, 1);
    put_nvtx(POP, 1, NULL, NULL, 20, 0);
    for (uint64_t i = 0; i < 70000; i++) {
        put_nvtx(PUSH, 1, NULL, "r", 30 + 2 * i, 0);
        put_nvtx(POP, 1, NULL, NULL, 31 + 2 * i, 0);
    }
    put_nvtx(PUSH, 2, NULL, "late", 200000, 0);
    put_call(2, "cudaLaunchKernel", 100, 101, 2); /* before the first range of its thread */
    flush();
    put_kernel(1, "a", 300000, 300007, 1);
    put_kernel(1, "a", 300010, 300015, 2);
    begin(NULL);
    take(0);
    tick(1, true);
    assert_int_equal(live.unlaunched, 1);
    assert_int_equal(layer(NULL)->ns, 5 * US);
    assert_int_equal(layer("early")->ns, 0);
    assert_int_equal(live.layers.all.ns, 12 * US);
    end();
}

static void work_without_a_correlation_id_has_no_launch(void **state)
{
    (void)state;
    scene_begin();
    put_launch(1, "a", 25, 100, 130, 1);
    put_kernel(1, "a", 140, 144, 0);
    begin(NULL);
    take(0);
    tick(1, true);
    assert_int_equal(live.unlaunched, 1);
    assert_int_equal(layer(NULL)->ns, 30 * US);
    assert_int_equal(live.layers.all.ns, 34 * US);
    end();
}

/* Threads of which nothing can be remembered are given up; they do not take what others have. */
static void very_many_threads_take_little_memory(void **state)
{
    const uint64_t threads = 70000;
    const uint64_t launching[] = {1, 65000, 70000, 70001};

    (void)state;
    scene_begin();
    for (uint64_t i = 1; i <= threads; i++)
        put_nvtx(PUSH, i, NULL, "r", 10 + i, 0);
    for (uint64_t i = 0; i < 4; i++)
        put_call(launching[i], "cudaLaunchKernel", 100000, 100001, 1 + i);
    for (uint64_t i = 1; i <= threads; i++)
        put_nvtx(POP, i, NULL, NULL, 200000 + i, 0);
    for (uint64_t i = 0; i < 4; i++)
        put_kernel(1, "a", 300000 + 10 * i, 300001 + 10 * i, 1 + i);
    begin(NULL);
    take(0);
    tick(1, true);
    assert_int_equal(live.history_count, 65536);
    assert_int_equal(live.history_items, 4 * 65536);
    assert_int_equal(live.open.thread_count, threads);
    assert_true(live.open.threads[0].capacity <= 4);
    assert_int_equal(layer("r")->count, 2);
    assert_int_equal(live.unlaunched, 1);
    assert_int_equal(layer(NULL)->count, 1); /* of the one that has no ranges */
    end();
}

/* Threads with many ranges cannot take what another one needs. */
static void large_histories_leave_room_for_small_ones(void **state)
{
    (void)state;
    scene_begin();
    for (uint64_t thread = 1; thread <= 40; thread++) { /* each gets about half of what is left */
        for (uint64_t i = 0; i < (thread <= 8 ? 66000 : 16400); i++) {
            put_nvtx(PUSH, thread, NULL, "r", 10 + 2 * i, 0);
            put_nvtx(POP, thread, NULL, NULL, 11 + 2 * i, 0);
        }
    }
    for (uint64_t i = 0; i < 20; i++) {
        put_nvtx(PUSH, 99, NULL, i == 10 ? "late" : "other", 200000 + 10 * i, 0);
        put_nvtx(POP, 99, NULL, NULL, 200005 + 10 * i, 0);
    }
    put_call(99, "cudaLaunchKernel", 200102, 200103, 1);
    put_kernel(1, "a", 300000, 300001, 1);
    begin(NULL);
    take(0);
    tick(1, true);
    assert_true(live.history_items <= 1u << 20);
    assert_int_equal(layer("late")->count, 1);
    assert_int_equal(live.unlaunched, 0);
    end();
}

static void names_cannot_move_the_cursor(void **state)
{
    char *text = NULL;
    size_t size;
    FILE *out;

    (void)state;
    scene_begin();
    put_nvtx(PUSH, 1, NULL, "lay\033[2Jer", 5, 0);
    put_launch(1, "ker\033]0;nel", 10, 100, 200, 1);
    put_nvtx(POP, 1, NULL, NULL, 300, 0);
    begin(NULL);
    take(0);
    tick(1, true);
    out = open_memstream(&text, &size);
    assert_non_null(out);
    print_live(out, "ti\033tle", "state", &live, 5);
    fclose(out);
    assert_null(strchr(text, '\033'));
    assert_non_null(strstr(text, "100.0%"));
    free(text);
    end();
}

/* Rows of CSV after one more refresh, with the head above those of the first. */
static char *csv_of(const char *state, struct report_table *table, bool first)
{
    static struct report_sheet sheet;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    if (first)
        sheet = (struct report_sheet){.file = out};
    sheet.file = out;
    if (first)
        print_live_csv_begin(table, &sheet);
    print_live_csv(table, state, &live);
    fclose(out);
    return text;
}

static void csv_has_a_row_for_each_device(void **state)
{
    static const char *const wanted[] = {
        "time_ns,interval_ns,state,records_read,dropped,kernels_per_second,htod_bytes_per_second,"
        "dtoh_bytes_per_second,other_copies_bytes_per_second,iterations,mean_ns,p50_ns,p99_ns,"
        "device,busy_percent\n",
        "400000,400000,\"recording\",7,0,5000.000000,2500000.000000,0.000000,0.000000,1,400000,",
        ",27.500000\n400000,400000,\"recording\",7,0,5000.000000,",
        ",75.000000\n",
    };
    struct report_table table;
    const char *at;
    char *text;

    (void)state;
    scene_begin();
    put_nvtx(PUSH, 1, NULL, "step", 10, 0);
    put_launch(1, "a", 25, 100, 200, 1);
    put_copy_of(1, MP_copy_kind_HtoD, ASYNCHRONOUS, 1000, 300, 310, 3);
    put_launch(ON(2, 1), "b", 30, 100, 400, 5);
    put_nvtx(POP, 1, NULL, NULL, 410, 0);
    begin(NULL);
    take(0);
    tick(1, false);
    text = csv_of("recording", &table, true);
    at = text;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        at = strstr(at, wanted[i]);
        assert_non_null(at);
        at += strlen(wanted[i]);
    }
    assert_string_equal(at, "");
    free(text);
    live_next(&live);
    tick(600, true); /* nothing comes any more: no length of an iteration, no head */
    text = csv_of("ended", &table, false);
    assert_ptr_equal(strstr(text, "1000000,600000,\"ended\",7,0,0.000000,"), text);
    assert_non_null(strstr(text, ",0,,,,"));
    free(text);
    end();
}

static void an_empty_trace_has_nothing(void **state)
{
    struct report_table table;
    char *text = NULL;
    size_t size;
    FILE *out;

    (void)state;
    scene_begin();
    begin(NULL);
    take(0);
    tick(0, true);
    out = open_memstream(&text, &size);
    assert_non_null(out);
    print_live(out, "title", NULL, &live, 5);
    print_live_json(out, scene.trace, "ended", &live, 5);
    fclose(out);
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "inf"));
    free(text);
    text = csv_of("ended", &table, true);
    assert_non_null(strstr(text, "_percent\n0,0,\"ended\",0,0,0.000000,0.000000,0.000000,"
                                 "0.000000,0,,,,,\n"));
    free(text);
    assert_null(live_iteration(&live));
    end();
}

/* Samples of 10 us at 20 % and of 30 us at 40 %, then of 50 %; another GPU; what is not there. */
static void counters_have_the_mean_of_the_interval(void **state)
{
    const struct live_counter *counter;
    size_t position = 0;
    char *text;
    size_t bytes;
    FILE *out;

    (void)state;
    scene_begin();
    put_counter(1, 0, "sm_active", MP_counter_source_cupti);
    put_counter(2, 0, "dram_active", MP_counter_source_cupti);
    put_counter(3, 1, "sm_active", MP_counter_source_cupti);
    put_counter(4, 2, "pcie_rx", MP_counter_source_nobody);
    put_counter(5000, 0, "power", MP_counter_source_nvml);
    put_sample(1, 110, 10, 200);
    put_sample(1, 140, 30, 400);
    put_sample(9, 140, 30, 400);
    put_sample(5000, 140, 30, 400);
    flush();
    put_launch(1, "a", 25, 100, 130, 1);
    put_sample(1, 150, 10, 500);
    put_sample(3, 150, 10, SAMPLED_UNKNOWN);
    begin(NULL);
    take(MP_TABLE_sample);
    tick(1000, false);
    counter = live_next_counter(&live, 0, &position);
    assert_non_null(counter);
    assert_true(counter->mean > 34.999 && counter->mean < 35.001);
    assert_null(live_next_counter(&live, 0, &position)); /* dram_active has no samples */
    assert_int_equal(live.device_count, 2);
    out = open_memstream(&text, &bytes);
    assert_non_null(out);
    print_live(out, "title", NULL, &live, 5);
    assert_int_equal(fclose(out), 0);
    assert_non_null(strstr(text, "\n        sm_active 35.0%\n"));
    free(text);
    live_next(&live);
    tick(1000, false); /* nothing came */
    position = 0;
    assert_true(live_next_counter(&live, 0, &position)->mean > 34.999);
    live_next(&live);
    take(0);
    tick(1000, true);
    position = 0;
    counter = live_next_counter(&live, 0, &position);
    assert_true(counter->mean > 49.999 && counter->mean < 50.001);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counters_have_the_mean_of_the_interval),
        cmocka_unit_test(work_belongs_to_the_innermost_range_of_its_launch),
        cmocka_unit_test(work_waits_for_its_call_and_for_the_range),
        cmocka_unit_test(work_does_not_wait_for_ever),
        cmocka_unit_test(an_interval_has_what_came_in_it),
        cmocka_unit_test(idle_time_is_shown_once),
        cmocka_unit_test(what_comes_late_does_not_turn_time_back),
        cmocka_unit_test(overlapping_work_keeps_a_device_busy_once),
        cmocka_unit_test(a_device_is_busy_however_many_pieces_come),
        cmocka_unit_test(iterations_are_the_outermost_ranges_or_those_of_a_name),
        cmocka_unit_test(lists_are_by_the_interval_then_by_all),
        cmocka_unit_test(tables_of_fixed_size_forget_the_oldest),
        cmocka_unit_test(work_before_what_is_remembered_is_given_up),
        cmocka_unit_test(work_without_a_correlation_id_has_no_launch),
        cmocka_unit_test(very_many_threads_take_little_memory),
        cmocka_unit_test(large_histories_leave_room_for_small_ones),
        cmocka_unit_test(names_cannot_move_the_cursor),
        cmocka_unit_test(csv_has_a_row_for_each_device),
        cmocka_unit_test(an_empty_trace_has_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
