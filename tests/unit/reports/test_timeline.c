/* The rows of the time line, its level-of-detail pyramid and its busy times: on scenes whose answer
 * stands in the test, and on random ones against brute force.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "page/timeline/timeline.h"
#include "unit/deps/deps_fixture.h"

#define MANY 1000000

static struct timeline line;

static void load(uint64_t max, uint64_t range)
{
    struct timeline_options options = {.max = max};
    struct mp_error error;

    scene_load();
    if (range)
        options.range = ranges_find(&scene.deps.profile->ranges, range);
    assert_int_equal(timeline_build(&line, scene.trace, &scene.deps, &options, &error), MP_OK);
}

static void end(enum scene_soundness soundness)
{
    timeline_free(&line);
    scene_end(soundness);
}

static const char *text_of(uint32_t event)
{
    const struct timeline_kind *kind = &line.kinds[line.events[event].kind];

    return mp_intern_get(&line.texts, line.names[kind->name].text, NULL);
}

/* All tracks: "KIND depth [domain] name begin+duration, ...; ", times in us. */
static const char *tracks(void)
{
    static const char *const kinds[] = {"calls", "ranges", "work"};
    static char text[2048];
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < line.track_count; i++) {
        const struct timeline_track *track = &line.tracks[i];
        const char *domain = mp_intern_get(&line.texts, track->domain, NULL);

        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %u%s%s:", i ? "; " : "",
                                 kinds[track->kind], track->depth, domain ? " " : "",
                                 domain ? domain : "");
        for (uint32_t event = track->first; event < track->first + track->count; event++)
            used += (size_t)snprintf(text + used, sizeof text - used, " %s %d+%d", text_of(event),
                                     (int)(line.events[event].begin / 1000),
                                     (int)(line.events[event].duration / 1000));
    }
    return text;
}

/* ---- Rows ---- */

static void calls_inside_calls_and_ranges_get_rows_of_their_own(void **state)
{
    (void)state;
    scene_begin();
    put_call(1, "outer", 10, 60, 1);
    put_call(1, "inner", 20, 30, 2);
    put_call(1, "inner", 40, 50, 3);
    put_call(1, "next", 60, 70, 4);
    put_nvtx_range("step", 5, 75);
    put_nvtx_range("layer", 10, 40);
    put_nvtx(MP_nvtx_kind_push, 1, "io", "read", 15, 0);
    put_nvtx(MP_nvtx_kind_pop, 1, "io", NULL, 18, 0);
    load(MANY, 0);
    assert_string_equal(tracks(), "ranges 0: step 5+70; ranges 1: layer 10+30; "
                                  "ranges 0 io: read 15+3; calls 0: outer 10+50 next 60+10; "
                                  "calls 1: inner 20+10 inner 40+10");
    assert_int_equal(line.origin, 5000);
    assert_int_equal(line.end, 75000);
    end(UNSOUND);
}

/* Two kernels of a stream that overlap stand in two rows; one after them is in the first again. */
static void overlapping_work_gets_a_second_row(void **state)
{
    (void)state;
    scene_begin();
    put_kernel(7, "a", 10, 30, 1);
    put_kernel(7, "b", 20, 40, 2);
    put_kernel(7, "c", 30, 35, 3);
    put_kernel(8, "d", 10, 20, 4);
    load(MANY, 0);
    assert_string_equal(tracks(), "work 0: a 10+20 c 30+5; work 1: b 20+20; work 0: d 10+10");
    end(UNSOUND);
}

/* 70 open ranges at a time: 64 rows, 6 left out and counted. */
static void what_is_nested_too_deep_is_left_out_and_counted(void **state)
{
    (void)state;
    scene_begin();
    for (uint64_t i = 0; i < 70; i++)
        put_nvtx(MP_nvtx_kind_push, 1, NULL, "deep", 10 + i, 0);
    for (uint64_t i = 0; i < 70; i++)
        put_nvtx(MP_nvtx_kind_pop, 1, NULL, NULL, 200 + i, 0);
    put_kernel(7, "a", 10, 30, 1);
    load(MANY, 0);
    assert_int_equal(line.track_count, TIMELINE_MAX_ROWS + 1);
    assert_int_equal(line.event_count, TIMELINE_MAX_ROWS + 1);
    assert_int_equal(line.left_out_deep, 6);
    end(SOUND);
}

static void a_thread_that_only_has_ranges_has_a_lane(void **state)
{
    (void)state;
    scene_begin();
    put_call(1, "call", 10, 20, 1);
    put_nvtx(MP_nvtx_kind_push, 2, NULL, "other", 5, 0);
    put_nvtx(MP_nvtx_kind_pop, 2, NULL, NULL, 50, 0);
    load(MANY, 0);
    assert_string_equal(tracks(), "calls 0: call 10+10; ranges 0: other 5+45");
    assert_int_equal(line.tracks[0].lane, 0);
    assert_int_equal(line.tracks[1].lane, 1);
    assert_true(line.lanes[1].is_thread);
    end(SOUND);
}

/* With a capture range: calls and ranges by their begin, work by the call that launched it. */
static void a_capture_range_has_its_own_events(void **state)
{
    (void)state;
    scene_begin();
    put_launch(7, "before", 10, 20, 30, 1);
    put_launch(7, "inside", 45, 70, 80, 2);
    put_launch(7, "after", 61, 90, 95, 3);
    put_nvtx_range("early", 5, 50);
    put_nvtx_range("step", 42, 58);
    put_range(1, 40, 60, 2, 3);
    load(MANY, 1);
    assert_string_equal(
        tracks(), "ranges 0: step 42+16; calls 0: cudaLaunchKernel 45+5; work 0: inside 70+10");
    end(SOUND);
}

/* Four launches are eight events; five fit, and the moment that is cut at is before the sixth. */
static void too_many_events_are_cut_off_in_time(void **state)
{
    (void)state;
    scene_begin();
    for (uint64_t i = 0; i < 4; i++)
        put_launch(7, "k", 10 + 20 * i, 16 + 20 * i, 20 + 20 * i, i + 1);
    load(5, 0);
    assert_string_equal(tracks(), "calls 0: cudaLaunchKernel 10+5 cudaLaunchKernel 30+5 "
                                  "cudaLaunchKernel 50+5; work 0: k 16+4 k 36+4");
    assert_int_equal(line.left_out_late, 3);
    end(SOUND);
}

static void a_trace_without_events_has_none(void **state)
{
    (void)state;
    scene_begin();
    load(MANY, 0);
    assert_int_equal(line.event_count, 0);
    assert_int_equal(line.origin, 0);
    assert_int_equal(line.end, 0);
    end(SOUND);
}

/* Copies of one direction differ by their size; equal ones are of one kind. */
static void details_tell_sizes_apart(void **state)
{
    (void)state;
    scene_begin();
    put_copy(7, MP_copy_kind_HtoD, ASYNCHRONOUS, 10, 20, 1);
    put_copy(7, MP_copy_kind_HtoD, PAGEABLE, 30, 40, 2);
    put_copy(7, MP_copy_kind_HtoD, ASYNCHRONOUS, 50, 60, 3);
    load(MANY, 0);
    assert_int_equal(line.events[0].kind, line.events[2].kind);
    assert_int_not_equal(line.events[0].kind, line.events[1].kind);
    assert_int_equal(line.kinds[line.events[0].kind].name, line.kinds[line.events[1].kind].name);
    for (uint32_t i = 0; i < 3; i++)
        assert_non_null(mp_intern_get(&line.texts, line.kinds[line.events[i].kind].detail, NULL));
    end(UNSOUND);
}

/* More than are compared with each other: those that have theirs are passed once. */
static void work_that_begins_at_once_has_details_all_the_same(void **state)
{
    (void)state;
    scene_begin();
    for (uint64_t i = 0; i < 10000; i++)
        put_copy(7, MP_copy_kind_HtoD, ASYNCHRONOUS, 10, 10, 1);
    load(MANY, 0);
    assert_int_equal(line.event_count, 10000);
    for (uint32_t i = 0; i < 10000; i++)
        assert_true(line.kinds[line.events[i].kind].detail);
    end(UNSOUND);
}

/* ---- Links ---- */

static void every_piece_of_a_call_leads_to_its_event(void **state)
{
    (void)state;
    scene_begin();
    put_call(1, "outer", 10, 60, 1);
    put_call(1, "inner", 20, 30, 2);
    load(MANY, 0);
    assert_int_equal(scene.deps.count, 3); /* two pieces and the inner call */
    assert_int_equal(timeline_event_of(&line, &scene.deps, 0), 0);
    assert_int_equal(timeline_event_of(&line, &scene.deps, 1), 1);
    assert_int_equal(timeline_event_of(&line, &scene.deps, 2), 0);
    assert_int_equal(timeline_event_of(&line, &scene.deps, DEPS_NONE), TIMELINE_NONE);
    end(UNSOUND);
}

/* ---- Random scenes against brute force ---- */

#define STREAMS  3
#define GREATEST 6000 /* us */
#define MAX_NAME 5

static void random_scene(uint64_t seed, unsigned kernels)
{
    uint64_t random = seed;
    char name[] = "k0";

    scene_begin();
    for (unsigned i = 0; i < kernels; i++) {
        uint64_t begin = 1 + fixture_random(&random) % (GREATEST - 100);

        name[1] = (char)('0' + fixture_random(&random) % MAX_NAME);
        if (fixture_random(&random) % 4)
            put_kernel(7 + fixture_random(&random) % STREAMS, name, begin,
                       begin + fixture_random(&random) % 100, i + 1);
        else
            put_copy(7 + fixture_random(&random) % STREAMS, MP_copy_kind_HtoD, ASYNCHRONOUS, begin,
                     begin + fixture_random(&random) % 100, i + 1);
    }
    load(MANY, 0);
}

static void no_events_of_a_track_overlap(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        random_scene(seed, 300);
        for (size_t i = 0; i < line.track_count; i++) {
            const struct timeline_track *track = &line.tracks[i];

            for (uint32_t at = track->first + 1; at < track->first + track->count; at++)
                assert_true(line.events[at - 1].begin + line.events[at - 1].duration <=
                            line.events[at].begin);
        }
        assert_int_equal(line.event_count + line.left_out_deep, 300);
        end(UNSOUND);
    }
}

static void expect_group(const struct timeline_group *group, const struct timeline_track *track,
                         uint32_t first, uint32_t last)
{
    uint64_t sums[64] = {0};
    uint64_t busy = 0;
    uint64_t max = 0;

    assert_true(line.name_count <= 64);
    for (uint32_t i = first; i <= last; i++) {
        uint64_t *sum = &sums[line.kinds[line.events[track->first + i].kind].name];

        busy += line.events[track->first + i].duration;
        *sum += line.events[track->first + i].duration;
        if (*sum > max)
            max = *sum;
    }
    assert_int_equal(group->begin, line.events[track->first + first].begin);
    assert_int_equal(group->end, line.events[track->first + last].begin +
                                     line.events[track->first + last].duration);
    assert_int_equal(group->busy, busy);
    assert_int_equal(sums[group->name], max);
}

static void check_levels(const struct timeline_track *track)
{
    struct timeline_group groups[64];
    uint64_t sums[64] = {0};
    uint32_t span = 1;
    unsigned level = 0;

    for (;;) {
        uint32_t count = (track->count + span - 1) / span;

        assert_int_equal(timeline_groups_at(track->count, level), count);
        if (level) {
            timeline_level_fill(&line, track, level, sums, groups);
            for (uint32_t i = 0; i < count; i++) {
                uint32_t last = (i + 1) * span < track->count ? (i + 1) * span : track->count;
                expect_group(&groups[i], track, i * span, last - 1);
            }
        }
        if (count <= 1)
            break;
        level++;
        span *= TIMELINE_FAN;
    }
    assert_int_equal(timeline_levels_of(track->count), level);
    for (unsigned i = 0; i < 64; i++)
        assert_int_equal(sums[i], 0);
}

static void groups_are_what_a_sum_over_their_events_says(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        random_scene(seed, 20 + 20 * (unsigned)seed);
        for (size_t i = 0; i < line.track_count; i++)
            check_levels(&line.tracks[i]);
        end(UNSOUND);
    }
}

/* Scenes are in us, so every us is busy as a whole or not at all. */
static uint64_t brute_busy(uint64_t device, unsigned categories)
{
    static bool busy[GREATEST + 1];
    uint64_t sum = 0;

    memset(busy, 0, sizeof busy);
    for (size_t i = 0; i < line.track_count; i++) {
        const struct timeline_track *track = &line.tracks[i];

        for (uint32_t at = track->first; at < track->first + track->count; at++) {
            const struct timeline_event *event = &line.events[at];
            unsigned category = line.names[line.kinds[event->kind].name].category;

            if (line.lanes[track->lane].is_thread || line.lanes[track->lane].device != device ||
                !(categories >> category & 1))
                continue;
            for (uint64_t us = 0; us < event->duration / 1000; us++)
                busy[event->begin / 1000 + us] = true;
        }
    }
    for (unsigned us = 0; us <= GREATEST; us++)
        sum += busy[us] ? 1000 : 0;
    return sum;
}

static void busy_time_is_the_union_over_streams(void **state)
{
    static const unsigned wanted[] = {UINT32_MAX, 1u << DEPS_KERNEL, 1u << DEPS_COPY,
                                      1u << DEPS_SET};
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        random_scene(seed, 200);
        for (unsigned i = 0; i < 4; i++) {
            uint64_t busy;

            assert_int_equal(timeline_busy(&line, line.lanes[0].device, wanted[i], &busy), MP_OK);
            assert_int_equal(busy, brute_busy(line.lanes[0].device, wanted[i]));
        }
        end(UNSOUND);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_inside_calls_and_ranges_get_rows_of_their_own),
        cmocka_unit_test(overlapping_work_gets_a_second_row),
        cmocka_unit_test(what_is_nested_too_deep_is_left_out_and_counted),
        cmocka_unit_test(a_thread_that_only_has_ranges_has_a_lane),
        cmocka_unit_test(a_capture_range_has_its_own_events),
        cmocka_unit_test(too_many_events_are_cut_off_in_time),
        cmocka_unit_test(a_trace_without_events_has_none),
        cmocka_unit_test(details_tell_sizes_apart),
        cmocka_unit_test(work_that_begins_at_once_has_details_all_the_same),
        cmocka_unit_test(every_piece_of_a_call_leads_to_its_event),
        cmocka_unit_test(no_events_of_a_track_overlap),
        cmocka_unit_test(groups_are_what_a_sum_over_their_events_says),
        cmocka_unit_test(busy_time_is_the_union_over_streams),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
