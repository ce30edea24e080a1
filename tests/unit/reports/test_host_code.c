/* Host code of critical paths by line: on scenes whose answer stands in the test, and on random
 * threads against a search from the outermost frame on. Times are us.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reports/stacks/stacks.h"
#include "unit/deps/deps_fixture.h"

static struct stacks_gaps gaps;

static void load(void)
{
    struct mp_error error;

    scene_load();
    assert_int_equal(stacks_gaps_of_paths(scene.trace, &scene.deps, &scene.windows, &gaps, &error),
                     MP_OK);
}

static void end(enum scene_soundness soundness)
{
    stacks_gaps_free(&gaps);
    scene_end(soundness);
}

/* "train:20 15, unknown 4": all rows, times in us. */
static const char *lines(void)
{
    static char text[512];
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < gaps.count; i++) {
        const struct stack_frame *frame =
            gaps.rows[i].frame ? dense_at(&gaps.stacks.frames, gaps.rows[i].frame) : NULL;

        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i ? ", " : "",
                                 frame ? call_stacks_code(&gaps.stacks, frame)->name : "unknown");
        if (frame)
            used += (size_t)snprintf(text + used, sizeof text - used, ":%u", frame->line);
        used +=
            (size_t)snprintf(text + used, sizeof text - used, " %d", (int)(gaps.rows[i].ns / 1000));
    }
    return text;
}

static void call_from(uint64_t stack, uint64_t begin, uint64_t end_, uint64_t correlation)
{
    use_stack(stack);
    put_call(1, "call", begin, end_, correlation);
}

/* main:1 > train:20 > forward:7, > forward:8 of the same frame, and main:1 > train:21 > backward:9.
 * 5 in forward, at the line before; 10 in train; 20 in main, which called train twice. */
static void host_code_lies_where_both_calls_came_from(void **state)
{
    uint64_t main_1, main_2, train;

    (void)state;
    scene_begin();
    main_1 = put_stack(0, "main", 1);
    main_2 = put_stack(0, "main", 2);
    train = put_stack(main_1, "train", 20);
    call_from(put_stack(train, "forward", 7), 10, 20, 1);
    call_from(put_stack(train, "forward", 8), 25, 30, 2);
    call_from(put_stack(put_stack(main_1, "train", 21), "backward", 9), 40, 50, 3);
    call_from(put_stack(main_2, "train", 20), 70, 71, 4);
    load();
    assert_string_equal(lines(), "main:1 20, train:20 10, forward:7 5");
    assert_int_equal(gaps.all, 35000);
    end(SOUND);
}

/* Each frame of main has an id of its own, as those of native code have. From line 1 to 1, from 1
 * to 2, and from 2 to 2. */
static void frames_of_one_line_are_one_row(void **state)
{
    (void)state;
    scene_begin();
    for (uint64_t i = 0; i < 4; i++)
        call_from(put_stack(put_stack(0, "main", 1 + i / 2), "step", i), 10 + 10 * i, 15 + 10 * i,
                  1 + i);
    load();
    assert_string_equal(lines(), "main:1 10, main:2 5");
    end(SOUND);
}

/* 2 and 3 have no stack; nothing is known of what lies outside of the first and the last. */
static void calls_without_a_stack_are_passed_over(void **state)
{
    uint64_t main_line;

    (void)state;
    scene_begin();
    main_line = put_stack(0, "main", 1);
    call_from(0, 5, 6, 1);
    call_from(put_stack(main_line, "a", 3), 10, 20, 2);
    call_from(0, 23, 24, 3);
    call_from(0, 26, 27, 4);
    call_from(put_stack(main_line, "b", 4), 30, 31, 5);
    call_from(0, 41, 42, 6);
    load();
    assert_string_equal(lines(), "unknown 14, main:1 8");
    end(SOUND);
}

/* More than 256 of them are too many. */
static void many_calls_without_a_stack_are_unknown(void **state)
{
    uint64_t main_line;

    (void)state;
    scene_begin();
    main_line = put_stack(0, "main", 1);
    call_from(main_line, 10, 11, 1);
    for (uint64_t i = 0; i < 600; i++)
        call_from(0, 20 + 10 * i, 30 + 10 * i, 2 + i);
    call_from(main_line, 6025, 6030, 700);
    load();
    assert_string_equal(lines(), "unknown 14");
    end(SOUND);
}

/*     thread 1  |10 A 12|   |20 ------ pthread_cond_wait ------ 60|  |64 B 65|
 *     thread 2       |14 C 40|        wakes at 55            |58 D 59|
 *
 * The path is B, 4 of thread 1 before it, 5 of return, 15 of thread 2 behind C, C, and 4 of thread
 * 2 before C, where it had made no call. */
static void each_thread_has_its_own_calls(void **state)
{
    uint64_t main_line, worker;

    (void)state;
    scene_begin();
    main_line = put_stack(0, "main", 1);
    worker = put_stack(0, "worker", 5);
    call_from(main_line, 10, 12, 1);
    use_stack(worker);
    put_call(2, "C", 14, 40, 2);
    put_host_wait(1, MP_wait_kind_condition, 20, 60, 2, 55);
    put_call(2, "D", 58, 59, 3);
    call_from(main_line, 64, 65, 4);
    load();
    assert_string_equal(path(scene.windows.items), "C 26, call 1 | host 23, return 5");
    assert_string_equal(lines(), "worker:5 15, unknown 4, main:1 4");
    end(SOUND);
}

/* Host code whose kind is known is host code too: 10 of it, 4 blocked. */
static void divided_host_code_counts_as_a_whole(void **state)
{
    uint64_t main_line;

    (void)state;
    scene_begin();
    main_line = put_stack(0, "main", 1);
    call_from(main_line, 10, 20, 1);
    call_from(main_line, 30, 31, 2);
    put_host_time(1, 10, 31, 6, 0);
    load();
    assert_string_equal(lines(), "main:1 10");
    end(UNSOUND);
}

static void a_trace_without_stacks_has_no_lines(void **state)
{
    (void)state;
    scene_begin();
    call_from(0, 10, 20, 1);
    call_from(0, 30, 31, 2);
    load();
    assert_int_equal(gaps.count, 0);
    end(SOUND);
}

/* ---- Random ones ---- */

#define CALLS  60
#define NODES  400
#define DEPTH  5
#define CHOICE 3 /* functions, and lines of each */

/* A tree of frames: what the trace has as stacks, by their ids. */
static struct {
    uint64_t parent, function, line;
} nodes[NODES];
static uint64_t node_count;

static uint64_t reach_node(uint64_t parent, uint64_t function, uint64_t line)
{
    static const char *const names[CHOICE] = {"f", "g", "h"};

    for (uint64_t id = 1; id <= node_count; id++)
        if (nodes[id].parent == parent && nodes[id].function == function && nodes[id].line == line)
            return id;
    node_count++;
    nodes[node_count].parent = parent;
    nodes[node_count].function = function;
    nodes[node_count].line = line;
    assert_int_equal(put_stack(parent, names[function], line), node_count);
    return node_count;
}

struct frames {
    uint64_t ids[DEPTH]; /* the outermost first */
    size_t count;
};

static struct frames random_frames(uint64_t *random)
{
    struct frames frames = {.count = 1 + fixture_random(random) % DEPTH};

    for (size_t i = 0; i < frames.count; i++)
        frames.ids[i] = reach_node(i ? frames.ids[i - 1] : 0, fixture_random(random) % CHOICE,
                                   1 + fixture_random(random) % CHOICE);
    return frames;
}

/* From the outermost frame on: as long as both are the same, and one more if only its line is not.
 */
static uint64_t common(const struct frames *a, const struct frames *b)
{
    uint64_t last = 0;

    for (size_t i = 0; i < a->count && i < b->count; i++) {
        if (nodes[a->ids[i]].function != nodes[b->ids[i]].function)
            break;
        last = a->ids[i];
        if (a->ids[i] != b->ids[i])
            break;
    }
    return last;
}

/* The first node of the same line, wherever it was called from. */
static uint64_t line_of(uint64_t node)
{
    for (uint64_t id = 1; id < node; id++)
        if (nodes[id].function == nodes[node].function && nodes[id].line == nodes[node].line)
            return id;
    return node;
}

/* One thread: all of its host code is on the path. One call in four has no stack. */
static void put_random_thread(uint64_t seed, uint64_t expected[NODES])
{
    struct frames before = {.count = 0};
    uint64_t random = seed;
    uint64_t time = 10;
    uint64_t pending = 0; /* host code since the last call with a stack */

    for (uint64_t i = 1; i <= CALLS; i++) {
        struct frames frames = {.count = 0};
        uint64_t gap = i > 1 ? 1 + fixture_random(&random) % 30 : 0;

        if (fixture_random(&random) % 4)
            frames = random_frames(&random);
        time += gap;
        pending += gap;
        call_from(frames.count ? frames.ids[frames.count - 1] : 0, time, time + 3, i);
        time += 3;
        if (!frames.count)
            continue;
        expected[before.count ? line_of(common(&before, &frames)) : 0] += pending;
        before = frames;
        pending = 0;
    }
    expected[0] += pending;
}

static void random_threads_split_as_brute_force_does(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        uint64_t expected[NODES] = {0};
        size_t rows = 0;

        scene_begin();
        node_count = 0;
        put_random_thread(seed, expected);
        load();
        for (size_t i = 0; i < NODES; i++)
            rows += expected[i] != 0;
        assert_int_equal(gaps.count, rows);
        for (size_t i = 0; i < gaps.count; i++)
            assert_int_equal(gaps.rows[i].ns, expected[gaps.rows[i].frame] * 1000);
        end(SOUND);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_code_lies_where_both_calls_came_from),
        cmocka_unit_test(frames_of_one_line_are_one_row),
        cmocka_unit_test(calls_without_a_stack_are_passed_over),
        cmocka_unit_test(many_calls_without_a_stack_are_unknown),
        cmocka_unit_test(each_thread_has_its_own_calls),
        cmocka_unit_test(divided_host_code_counts_as_a_whole),
        cmocka_unit_test(a_trace_without_stacks_has_no_lines),
        cmocka_unit_test(random_threads_split_as_brute_force_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
