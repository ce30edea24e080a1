/* The files of marks, and steps in them, from files that the test writes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "reports/recording_cost/marks.h"

#include "base/poison.h"

#define PATH   "test_marks.steps"
#define COUNTS 4u /* of the processor, in a ns */
#define FIRST  UINT64_C(7000000)
#define CHUNKS 4u

static struct steps_header header;
static struct steps_chunk chunks[CHUNKS];
static uint32_t used[CHUNKS];
static struct marks marks;

/* Times are counts: FIRST is 1 ms of the clock. */
static void begin(void)
{
    memset(chunks, 0, sizeof chunks);
    memset(used, 0, sizeof used);
    memset(&header, 0, sizeof header);
    memcpy(header.magic, STEPS_MAGIC, sizeof header.magic);
    header.process = 42;
    header.counts = 1;
    header.first.count = FIRST;
    header.first.ns = 1000000;
    header.last.count = FIRST + 100000000 * UINT64_C(4);
    header.last.ns = 1000000 + 100000000;
}

static void put(uint32_t chunk, uint32_t thread, enum steps_kind kind, uint32_t name,
                uint32_t domain, uint64_t ns)
{
    chunks[chunk].thread = thread;
    chunks[chunk].marks[used[chunk]++] = (struct steps_mark){FIRST + COUNTS * (ns - 1000000), name,
                                                             kind & 0xFFu, domain & 0xFFFFFFu};
    if (header.chunks < chunk + 1)
        header.chunks = chunk + 1;
}

static enum mp_status load(void)
{
    struct mp_error error;
    FILE *file = fopen(PATH, "wb");

    assert_non_null(file);
    fwrite(&header, sizeof header, 1, file);
    fwrite(chunks, sizeof *chunks, CHUNKS, file);
    fclose(file);
    return marks_load(PATH, &marks, &error);
}

static void end(void)
{
    marks_free(&marks);
    remove(PATH);
}

static void counts_become_times_thread_by_thread(void **state)
{
    (void)state;
    begin();
    put(0, 7, STEPS_LAUNCH, 0, 0, 2000000);
    put(1, 5, STEPS_LAUNCH, 0, 0, 3000000);
    put(2, 7, STEPS_WAIT, 0, 0, 4000000);
    put(2, 7, STEPS_ATTACHED, 0, 0, 5000000);
    assert_int_equal(load(), MP_OK);
    assert_int_equal(marks.process, 42);
    assert_int_equal(marks.thread_count, 2);
    assert_int_equal(marks.threads[0].tid, 5);
    assert_int_equal(marks.threads[0].count, 1);
    assert_int_equal(marks.threads[1].tid, 7);
    assert_int_equal(marks.threads[1].count, 3);
    assert_int_equal(marks.threads[1].items[0].time, 2000000);
    assert_int_equal(marks.threads[1].items[1].time, 4000000);
    assert_int_equal(marks.attached, 5000000);
    assert_false(marks.full);
    end();
}

/* Without cudaProfilerStart all is one range; with it, what is outside is none. */
static void ranges_are_of_all_threads(void **state)
{
    (void)state;
    begin();
    put(0, 7, STEPS_LAUNCH, 0, 0, 2000000);
    assert_int_equal(load(), MP_OK);
    assert_int_equal(marks.items[0].range, 1);
    end();
    begin();
    put(0, 7, STEPS_LAUNCH, 0, 0, 2000000);
    put(0, 7, STEPS_START, 0, 0, 3000000);
    put(0, 7, STEPS_STOP, 0, 0, 5000000);
    put(0, 7, STEPS_LAUNCH, 0, 0, 6000000);
    put(0, 7, STEPS_START, 0, 0, 7000000);
    put(1, 8, STEPS_LAUNCH, 0, 0, 4000000);
    put(1, 8, STEPS_LAUNCH, 0, 0, 5500000);
    put(1, 8, STEPS_LAUNCH, 0, 0, 8000000);
    assert_int_equal(load(), MP_OK);
    const struct mark *first = marks.threads[0].items, *second = marks.threads[1].items;
    assert_int_equal(first[0].range, 0);
    assert_int_equal(first[1].range, 1);
    assert_int_equal(first[2].range, 1);
    assert_int_equal(first[3].range, 0);
    assert_int_equal(first[4].range, 2);
    assert_int_equal(second[0].range, 1);
    assert_int_equal(second[1].range, 0);
    assert_int_equal(second[2].range, 2);
    end();
}

static void what_is_no_file_of_marks_is_refused(void **state)
{
    struct mp_error error;

    (void)state;
    begin();
    header.magic[0] = 'X';
    assert_int_equal(load(), MP_ERR_DAMAGED);
    end();
    begin();
    header.last.count = header.first.count; /* killed before its clock was known */
    put(0, 7, STEPS_LAUNCH, 0, 0, 2000000);
    assert_int_equal(load(), MP_ERR_DAMAGED);
    end();
    assert_int_equal(marks_load("no_such_file", &marks, &error), MP_ERR_IO);
    marks_free(&marks);
}

/* ---- Steps ---- */

static void steps_are(const struct marks_pattern *pattern, bool before, const uint64_t *expected,
                      size_t count)
{
    struct marks_steps steps = {.items = NULL};

    assert_int_equal(load(), MP_OK);
    assert_int_equal(marks_find_steps(&marks, pattern, before, &steps), MP_OK);
    assert_int_equal(steps.count, count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(steps.items[i], expected[i]);
    free(steps.items);
    end();
}

/* A pop ends the last push of its domain; a range of another name is passed over. */
static void ranges_are_nested_by_domain(void **state)
{
    const struct marks_pattern pattern = {.by_name = true, .name = steps_hash("step"), .domain = 9};

    (void)state;
    begin();
    put(0, 7, STEPS_PUSH, steps_hash("step"), 9, 2000000);
    put(0, 7, STEPS_PUSH, steps_hash("inner"), 9, 2000100);
    put(0, 7, STEPS_PUSH, steps_hash("step"), 0, 2000200);
    put(0, 7, STEPS_POP, 0, 9, 2000300);
    put(0, 7, STEPS_POP, 0, 9, 2000450);
    put(0, 7, STEPS_POP, 0, 0, 2000500);
    put(1, 8, STEPS_BEGIN, steps_hash("step"), 9, 3000000);
    put(1, 8, STEPS_ID, 5, 0, 3000000);
    put(2, 9, STEPS_END, 5, 0, 3000700);
    steps_are(&pattern, false, (const uint64_t[]){450, 700}, 2);
}

/* The sequence LLW, after a wait; a third launch is another sequence. */
static void sequences_are_found_where_they_come_again(void **state)
{
    uint8_t kinds[] = {STEPS_LAUNCH, STEPS_LAUNCH, STEPS_WAIT};
    const struct marks_pattern pattern = {.kinds = kinds, .count = 3, .before = STEPS_WAIT};
    static const enum steps_kind marked[] = {STEPS_LAUNCH, STEPS_LAUNCH, STEPS_WAIT, STEPS_LAUNCH,
                                             STEPS_LAUNCH, STEPS_LAUNCH, STEPS_WAIT, STEPS_LAUNCH,
                                             STEPS_PUSH,   STEPS_LAUNCH, STEPS_WAIT};

    (void)state;
    begin();
    for (size_t i = 0; i < sizeof marked / sizeof *marked; i++)
        put(0, 7, marked[i], 0, 0, 2000000 + 100 * i);
    steps_are(&pattern, false, (const uint64_t[]){200, 300}, 2);
}

static void before_cupti_came_ranges_do_not_count(void **state)
{
    uint8_t kinds[] = {STEPS_LAUNCH, STEPS_WAIT};
    const struct marks_pattern pattern = {.kinds = kinds, .count = 2};

    (void)state;
    begin();
    put(0, 7, STEPS_LAUNCH, 0, 0, 2000000);
    put(0, 7, STEPS_WAIT, 0, 0, 2000100);
    put(0, 7, STEPS_START, 0, 0, 3000000);
    put(0, 7, STEPS_ATTACHED, 0, 0, 3000100);
    put(0, 7, STEPS_LAUNCH, 0, 0, 4000000);
    put(0, 7, STEPS_WAIT, 0, 0, 4000300);
    steps_are(&pattern, true, (const uint64_t[]){100}, 1);
    begin();
    put(0, 7, STEPS_LAUNCH, 0, 0, 2000000);
    put(0, 7, STEPS_WAIT, 0, 0, 2000100);
    put(0, 7, STEPS_START, 0, 0, 3000000);
    put(0, 7, STEPS_LAUNCH, 0, 0, 4000000);
    put(0, 7, STEPS_WAIT, 0, 0, 4000300);
    steps_are(&pattern, false, (const uint64_t[]){300}, 1);
}

/* A text counts up to 63 bytes, and its hash is the same in both processes. */
static void names_are_hashed_by_their_first_bytes(void **state)
{
    char one[128], other[128];

    (void)state;
    memset(one, 'a', sizeof one);
    memcpy(other, one, sizeof one);
    one[100] = other[70] = '\0';
    assert_int_equal(steps_hash(one), steps_hash(other));
    other[60] = 'b';
    assert_int_not_equal(steps_hash(one), steps_hash(other));
    assert_int_equal(steps_hash(""), 0);
    assert_int_not_equal(steps_hash("12345678"), steps_hash("123456780"));
    assert_int_not_equal(steps_hash("a"), steps_hash("b"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_become_times_thread_by_thread),
        cmocka_unit_test(ranges_are_of_all_threads),
        cmocka_unit_test(what_is_no_file_of_marks_is_refused),
        cmocka_unit_test(ranges_are_nested_by_domain),
        cmocka_unit_test(sequences_are_found_where_they_come_again),
        cmocka_unit_test(before_cupti_came_ranges_do_not_count),
        cmocka_unit_test(names_are_hashed_by_their_first_bytes),
    };

    return cmocka_run_group_tests_name("reports/marks", tests, NULL, NULL);
}
