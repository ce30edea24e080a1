/* NVTX ranges that reach beyond a capture range. Random threads push, pop, start and end, marks of
 * capture ranges come at random moments, and the writer meets the threads in random order. In the
 * file each capture range must stand for itself: the rows of a thread in it, from an empty stack,
 * give the ranges that were open, and leave none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "record/names/dictionary.h"
#include "record/rows/nvtx_ranges.h"
#include "trace/schema.h"
#include "unit/trace_fixture.h"

enum { THREADS = 4, MAX_EVENTS = 400, MAX_ROWS = 100000 };

static const struct api_set api;

struct bench {
    struct dictionary dictionary;
    struct capture capture;
    struct carried carried;
    struct mp_writer *writer;
    int fd;
};

static void bench_open(struct bench *bench)
{
    memset(bench, 0, sizeof *bench);
    bench->fd = fixture_file(NULL, 0);
    bench->writer = fixture_writer(bench->fd, "", 0);
    assert_int_equal(dictionary_open(&bench->dictionary, bench->writer, &api), MP_OK);
    carried_open(&bench->carried, &bench->capture, &bench->dictionary);
}

static void bench_close(struct bench *bench)
{
    carried_close(&bench->carried);
    dictionary_close(&bench->dictionary);
    close(bench->fd);
}

/* What recording.c does with an event. */
static void put(struct bench *bench, const struct mp_nvtx_event *event)
{
    struct open_thread *thread = carried_take(&bench->carried, event);
    uint64_t time;
    bool cut;

    if (!carried_keeps(&bench->carried, thread, event, &time, &cut))
        return;
    mp_append_nvtx(bench->writer,
                   &(struct mp_row_nvtx){
                       .thread = dictionary_thread(&bench->dictionary, event->tid),
                       .kind = event->kind,
                       .domain = dictionary_string(&bench->dictionary, event->domain),
                       .name = dictionary_string(&bench->dictionary, event->name),
                       .time = time,
                       .range = event->range,
                       .payload = event->payload,
                       .cut = cut,
                   });
}

static void begin_range(struct bench *bench, uint64_t time)
{
    capture_start(&bench->capture, time, time, false);
}

static void end_range(struct bench *bench, uint64_t time)
{
    capture_stop(&bench->capture, time, time);
}

static struct mp_nvtx_event push(uint32_t tid, uint64_t time, const char *name)
{
    return (struct mp_nvtx_event){
        .kind = MP_nvtx_kind_push, .tid = tid, .time = time, .name = name};
}

static struct mp_nvtx_event pop(uint32_t tid, uint64_t time)
{
    return (struct mp_nvtx_event){.kind = MP_nvtx_kind_pop, .tid = tid, .time = time};
}

static struct mp_nvtx_event started(uint32_t tid, uint64_t time, const char *name, uint64_t range)
{
    return (struct mp_nvtx_event){
        .kind = MP_nvtx_kind_start, .tid = tid, .time = time, .name = name, .range = range};
}

static struct mp_nvtx_event ended(uint32_t tid, uint64_t time, uint64_t range)
{
    return (struct mp_nvtx_event){
        .kind = MP_nvtx_kind_end, .tid = tid, .time = time, .range = range};
}

/* ---- What the file has ---- */

struct row {
    uint64_t tid, kind, name, time, range, payload;
    bool cut;
};

static struct row rows[MAX_ROWS];
static size_t row_count;
static char names[64][32];
static uint64_t tids[64];

static void keep_batch(const struct mp_batch *batch)
{
#define CELL(table, column) (batch->columns[MP_COLUMN_##table##_##column][row])
    for (uint32_t row = 0; row < batch->rows; row++) {
        if (batch->table->id == MP_TABLE_string && CELL(string, id) < 64) {
            uint32_t begin = row ? batch->text_end[row - 1] : 0;

            snprintf(names[CELL(string, id)], sizeof names[0], "%.*s",
                     (int)(batch->text_end[row] - begin), batch->text + begin);
        }
        if (batch->table->id == MP_TABLE_thread && CELL(thread, id) < 64)
            tids[CELL(thread, id)] = CELL(thread, tid);
        if (batch->table->id == MP_TABLE_nvtx && row_count < MAX_ROWS)
            rows[row_count++] =
                (struct row){tids[CELL(nvtx, thread)], CELL(nvtx, kind),  CELL(nvtx, name),
                             CELL(nvtx, time),         CELL(nvtx, range), CELL(nvtx, payload),
                             CELL(nvtx, cut) != 0};
    }
#undef CELL
}

/* Closes the file and reads its rows. */
static void read_rows(struct bench *bench)
{
    struct mp_trace *trace;
    struct mp_cursor *cursor;
    struct mp_batch batch;

    row_count = 0;
    assert_int_equal(mp_writer_close(bench->writer, NULL), MP_OK);
    assert_int_equal(mp_trace_open(fixture_path(bench->fd), &trace, NULL), MP_OK);
    assert_int_equal(mp_cursor_open(trace, &cursor, NULL), MP_OK);
    while (mp_cursor_next(cursor, &batch) == MP_OK)
        keep_batch(&batch);
    mp_cursor_close(cursor);
    mp_trace_close(trace);
}

/* "5~push:a 7pop ...": the rows, with ~ those that are cut. Closes the file. */
static const char *said(struct bench *bench)
{
    static const char *const kinds[] = {"mark", "push", "pop", "start", "end"};
    static char text[2000];
    size_t used = 0;

    read_rows(bench);
    text[0] = '\0';
    for (size_t i = 0; i < row_count; i++)
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "%s%u%s%s%s%s", i ? " " : "",
                             (unsigned)rows[i].time, rows[i].cut ? "~" : "", kinds[rows[i].kind],
                             rows[i].name ? ":" : "", rows[i].name ? names[rows[i].name] : "");
    return text;
}

static void drain(struct bench *bench, const struct mp_nvtx_event *events, size_t count)
{
    carried_begin_drain(&bench->carried);
    for (size_t i = 0; i < count; i++)
        put(bench, &events[i]);
    carried_end_drain(&bench->carried);
}

/* ---- Single cases ---- */

static void a_quiet_thread_gets_its_rows_after_the_drain(void **state)
{
    struct bench bench;
    const struct mp_nvtx_event before[] = {push(7, 10, "a"), push(7, 11, "b")};

    (void)state;
    bench_open(&bench);
    drain(&bench, before, 2);
    begin_range(&bench, 20);
    drain(&bench, NULL, 0);
    end_range(&bench, 30);
    begin_range(&bench, 40);
    end_range(&bench, 50);
    drain(&bench, NULL, 0);
    assert_string_equal(said(&bench), "20~push:a 20~push:b 30~pop 30~pop 40~push:a 40~push:b "
                                      "50~pop 50~pop");
    bench_close(&bench);
}

static void marks_that_come_before_the_events_are_taken_in_their_order(void **state)
{
    struct bench bench;
    const struct mp_nvtx_event events[] = {push(7, 10, "a"), push(7, 25, "b"), pop(7, 35),
                                           pop(7, 45), push(7, 60, "c")};

    (void)state;
    bench_open(&bench);
    begin_range(&bench, 20);
    end_range(&bench, 30);
    begin_range(&bench, 40);
    end_range(&bench, 50);
    drain(&bench, events, 5);
    assert_string_equal(said(&bench), "20~push:a 25push:b 30~pop 30~pop 40~push:a 45pop");
    bench_close(&bench);
}

static void a_thread_in_the_middle_of_its_call_is_late(void **state)
{
    struct bench bench;
    const struct mp_nvtx_event before[] = {push(7, 10, "a")};
    const struct mp_nvtx_event late[] = {push(7, 19, "b"), push(8, 19, "c"), pop(8, 22)};
    const struct mp_nvtx_event later[] = {push(7, 29, "d"), pop(7, 41), pop(7, 42)};

    (void)state;
    bench_open(&bench);
    drain(&bench, before, 1);
    begin_range(&bench, 20);
    drain(&bench, NULL, 0);
    drain(&bench, late, 3);
    end_range(&bench, 30);
    drain(&bench, NULL, 0);
    begin_range(&bench, 40);
    drain(&bench, later, 3);
    assert_string_equal(said(&bench),
                        "20~push:a 20~push:b 20~push:c 22pop 30~pop 30~pop 40~push:a 40~push:b "
                        "40~push:d 41pop 42pop");
    bench_close(&bench);
}

static void another_threads_end_finds_the_begin_written(void **state)
{
    struct bench bench;
    const struct mp_nvtx_event before[] = {started(7, 10, "a", 3)};
    const struct mp_nvtx_event inside[] = {ended(5, 25, 3)};

    (void)state;
    bench_open(&bench);
    drain(&bench, before, 1);
    begin_range(&bench, 20);
    drain(&bench, inside, 1);
    end_range(&bench, 30);
    drain(&bench, NULL, 0);
    assert_string_equal(said(&bench), "20~start:a 25end");
    bench_close(&bench);
}

static void a_cut_file_begins_anew(void **state)
{
    struct bench bench;
    const struct mp_nvtx_event before[] = {push(7, 10, "a")};

    (void)state;
    bench_open(&bench);
    capture_open(&bench.capture, MP_CAPTURE_AUTO, true);
    drain(&bench, before, 1);
    carried_begin_drain(&bench.carried);
    assert_int_equal(capture_start(&bench.capture, 20, 20, true), CAPTURE_CUT);
    carried_restart(&bench.carried);
    carried_end_drain(&bench.carried);
    drain(&bench, NULL, 0);
    assert_string_equal(said(&bench), "10push:a 20~push:a");
    bench_close(&bench);
}

static void pushes_without_room_are_counted(void **state)
{
    struct bench bench;

    (void)state;
    bench_open(&bench);
    for (uint64_t i = 0; i < OPEN_MAX + 5; i++) {
        const struct mp_nvtx_event event = push(7, 10 + i, "a");

        put(&bench, &event);
    }
    begin_range(&bench, 5000);
    drain(&bench, NULL, 0);
    assert_int_equal(bench.carried.lost, 5);
    read_rows(&bench);
    assert_int_equal(row_count, OPEN_MAX);
    bench_close(&bench);
}

static void a_dead_thread_takes_its_pushes_along(void **state)
{
    struct bench bench;
    const struct mp_nvtx_event before[] = {push(7, 10, "a"), started(7, 11, "b", 9)};

    (void)state;
    bench_open(&bench);
    drain(&bench, before, 2);
    open_ranges_end_thread(&bench.carried.open, 7);
    open_ranges_end_thread(&bench.carried.open, 8); /* never heard of */
    begin_range(&bench, 20);
    drain(&bench, NULL, 0);
    assert_string_equal(said(&bench), "20~start:b");
    bench_close(&bench);
}

/* ---- At random ---- */

static uint32_t seed;

static uint32_t any(uint32_t below)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % below;
}

/* Pushes carry a number of their own in the payload, by which the check knows them. */
struct story {
    struct mp_nvtx_event events[THREADS][MAX_EVENTS];
    size_t counts[THREADS], delivered[THREADS];
    uint64_t begins[MAX_EVENTS], ends[MAX_EVENTS];
    size_t ranges;
    uint64_t now;
};

static void deliver(struct bench *bench, struct story *story)
{
    uint32_t first = any(THREADS);

    carried_begin_drain(&bench->carried);
    for (uint32_t i = 0; i < THREADS; i++) {
        uint32_t thread = (first + i) % THREADS;

        while (story->delivered[thread] < story->counts[thread])
            put(bench, &story->events[thread][story->delivered[thread]++]);
    }
    carried_end_drain(&bench->carried);
}

static void tell(struct bench *bench, struct story *story)
{
    uint32_t depth[THREADS] = {0};
    bool open = false;

    memset(story, 0, sizeof *story);
    for (uint64_t step = 0; step < MAX_EVENTS; step++) {
        uint32_t thread = any(THREADS);
        struct mp_nvtx_event *event = &story->events[thread][story->counts[thread]];

        story->now += 1 + any(3);
        switch (any(8)) {
        case 0:
            if (open)
                end_range(bench, story->ends[story->ranges - 1] = story->now);
            else
                begin_range(bench, story->begins[story->ranges++] = story->now);
            open = !open;
            break;
        case 1:
            deliver(bench, story);
            break;
        default:
            if (depth[thread] && any(2)) {
                *event = pop(thread + 1, story->now);
                depth[thread]--;
            } else {
                *event = push(thread + 1, story->now, "x");
                event->payload = step + 1;
                depth[thread]++;
            }
            story->counts[thread]++;
        }
    }
    if (open)
        end_range(bench, story->ends[story->ranges - 1] = ++story->now);
    deliver(bench, story);
    deliver(bench, story);
}

/* The stack of a thread just before `time`, from the story. */
static uint32_t stack_at(const struct story *story, uint32_t thread, uint64_t time, uint64_t *stack)
{
    uint32_t count = 0;

    for (size_t i = 0; i < story->counts[thread] && story->events[thread][i].time < time; i++) {
        if (story->events[thread][i].kind == MP_nvtx_kind_pop)
            count--;
        else
            stack[count++] = story->events[thread][i].payload;
    }
    return count;
}

/* The same from the rows of one capture range alone: those at its begin count. */
static uint32_t stack_from_rows(uint32_t thread, uint64_t begin, uint64_t time, uint64_t *stack)
{
    uint32_t count = 0;

    for (size_t i = 0; i < row_count; i++) {
        if (rows[i].tid != thread + 1 || rows[i].time < begin ||
            (rows[i].time >= time && !(rows[i].cut && rows[i].time == begin)))
            continue;
        if (rows[i].kind == MP_nvtx_kind_pop) {
            assert_true(count > 0);
            count--;
        } else {
            stack[count++] = rows[i].payload;
        }
    }
    return count;
}

static void check_moment(const struct story *story, uint32_t thread, uint64_t begin, uint64_t time)
{
    uint64_t true_stack[MAX_EVENTS];
    uint64_t stack[MAX_EVENTS];
    uint32_t count = stack_at(story, thread, time, true_stack);

    assert_int_equal(stack_from_rows(thread, begin, time, stack), count);
    assert_memory_equal(stack, true_stack, count * sizeof stack[0]);
}

static void check_range(const struct story *story, uint32_t thread, size_t range)
{
    uint64_t stack[MAX_EVENTS];
    uint64_t begin = story->begins[range];
    uint64_t end = story->ends[range];

    for (uint64_t time = begin; time <= end; time++)
        check_moment(story, thread, begin, time);
    assert_int_equal(stack_from_rows(thread, begin, end + 1, stack), 0);
}

static void each_capture_range_stands_for_itself(void **state)
{
    static struct story story;

    (void)state;
    for (seed = 1; seed < 300000000u; seed = seed * 3 + 1) {
        uint32_t kept = seed;
        struct bench bench;

        bench_open(&bench);
        tell(&bench, &story);
        read_rows(&bench);
        for (uint32_t thread = 0; thread < THREADS; thread++)
            for (size_t range = 0; range < story.ranges; range++)
                check_range(&story, thread, range);
        for (size_t i = 0; i < row_count; i++)
            assert_true(rows[i].kind != MP_nvtx_kind_push || rows[i].payload);
        bench_close(&bench);
        seed = kept;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_quiet_thread_gets_its_rows_after_the_drain),
        cmocka_unit_test(marks_that_come_before_the_events_are_taken_in_their_order),
        cmocka_unit_test(a_thread_in_the_middle_of_its_call_is_late),
        cmocka_unit_test(another_threads_end_finds_the_begin_written),
        cmocka_unit_test(a_cut_file_begins_anew),
        cmocka_unit_test(pushes_without_room_are_counted),
        cmocka_unit_test(a_dead_thread_takes_its_pushes_along),
        cmocka_unit_test(each_capture_range_stands_for_itself),
    };

    return cmocka_run_group_tests_name("record/carried", tests, NULL, NULL);
}
