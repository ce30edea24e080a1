/* Ranks that do not meet are in a job what they are alone: whatever refers to something else still
 * does when it has another number. One trace with threads that wait for each other, copies, graphs,
 * host functions and divided host code stands in for two ranks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "unit/deps/deps_fixture.h"

#include "reports/job/job.h"
#include "reports/replay/replay.h"

static struct trace_process processes[2];
static const struct trace_set set = {.processes = processes, .count = 2, .clock_count = 1};
static struct ranks no_ranks;
static struct job job;
static struct deps_windows windows; /* of the second rank */

static void put_rows(void)
{
    scene_begin_with(FIXTURE_HEADER "cupti_version=130001\n");
    put_stream_flag(7, MP_stream_flag_null);
    put_stream_flag(8, MP_stream_flag_non_blocking);
    put_stream_flag(9, MP_stream_flag_non_blocking);
    put_launch(8, "a", 10, 15, 60, 1);
    put_record(8, 0xe1, 16, 2);
    put_wait(9, 0xe1, 18, 3);
    put_launch(9, "b", 20, 63, 90, 4);
    put_launch(9, "overlaps", 26, 80, 99, 5);
    put_copy(7, MP_copy_kind_HtoD, PAGEABLE, 101, 105, 6);
    put_call(1, "cudaMemcpy", 32, 107, 6);
    put_call(1, "cudaGraphLaunch", 120, 130, 7);
    put_node(9, "n1", 5, 1, 132, 140, 7);
    put_node(10, "n2", 5, 2, 141, 160, 7);
    put_edge(5, 1, 2);
    put_host_function(10, "callback", 3, 162, 170, 8);
    put_call(1, "cudaLaunchHostFunc", 131, 133, 8);
    put_host_wait(2, MP_wait_kind_condition, 100, 175, 3, 168);
    put_call(2, "cudaFree", 180, 190, 9);
    put_host_wait(1, MP_wait_kind_join, 140, 196, 2, 193);
    put_host_time(1, 196, 230, 20, 4);
    put_context_sync(230, 235, 10);
    put_range(1, 5, 98, 1, 7);
    scene_load();
}

static void load(void)
{
    const struct deps_options options = {.fronts = true};
    struct mp_error error = {.text = ""};

    put_rows();
    ranks_init(&no_ranks);
    assert_int_equal(ranks_finish(&no_ranks, &set), MP_OK);
    assert_int_equal(job_init(&job, &set, &no_ranks), MP_OK);
    for (uint32_t i = 0; i < 2; i++) {
        struct quality quality;

        assert_false(job_has(&job, i));
        assert_int_equal(job_add(&job, scene.trace, i, i + 4, &options, &quality, &error), MP_OK);
        quality_free(&quality);
    }
    assert_int_equal(job_link(&job), MP_OK);
    assert_int_equal(job.deps.count, 2 * scene.deps.count);
    windows = (struct deps_windows){.items = calloc(1, sizeof *windows.items), .count = 1};
    scene.windows.items[0] = (struct deps_window){
        .id = 1, .begin = 5000, .end = 235000, .host_end = 235000, .until = 235000};
    scene.windows.items[0].thread = 0;
    windows.items[0] = scene.windows.items[0];
    assert_int_equal(job_place_windows(&job, 1, &windows), MP_OK);
    assert_true(windows.items[0].thread > 0);
}

static void give_back(void)
{
    deps_windows_free(&windows);
    job_free(&job);
    ranks_free(&no_ranks);
    scene_end(UNSOUND);
}

static uint64_t critical_in_job(const struct deps_result *result, const char *name)
{
    char text[128];
    uint32_t id;

    snprintf(text, sizeof text, "rank5:%s", name);
    id = mp_intern_find(&job.deps.names, text, strlen(text));
    assert_int_not_equal(id, 0);
    return result->rows[id].critical;
}

static void the_path_of_a_rank_is_that_of_its_trace(void **state)
{
    struct deps_result alone, joined;

    (void)state;
    load();
    assert_int_equal(deps_result_init(&scene.deps, &alone), MP_OK);
    assert_int_equal(deps_result_init(&job.deps, &joined), MP_OK);
    deps_path(&scene.deps, &scene.windows.items[0], &alone, NULL);
    deps_path(&job.deps, &windows.items[0], &joined, NULL);
    assert_memory_equal(alone.parts, joined.parts, sizeof alone.parts);
    assert_true(alone.parts[DEPS_COMPUTING] > 0);
    for (uint32_t id = 1; id < alone.row_count; id++)
        assert_int_equal(critical_in_job(&joined, mp_intern_get(&scene.deps.names, id, NULL)),
                         alone.rows[id].critical);
    deps_result_free(&alone);
    deps_result_free(&joined);
    give_back();
}

static void each_activity_is_bound_by_what_bound_it_alone(void **state)
{
    const struct deps *one = &scene.deps, *both = &job.deps;

    (void)state;
    load();
    for (uint32_t lane = 0; lane < one->lane_count; lane++) {
        bool thread = one->lanes[lane].is_thread;
        uint32_t moved = thread
                             ? one->thread_count + lane
                             : both->thread_count + lane + one->lane_count - 2 * one->thread_count;

        assert_int_equal(both->lanes[moved].process, 1);
        assert_int_equal(both->lanes[moved].count, one->lanes[lane].count);
        for (uint32_t i = 0; i < one->lanes[lane].count; i++) {
            uint32_t a = one->lanes[lane].first + i, b = both->lanes[moved].first + i;
            uint32_t to = deps_bound_to(one, a), from = deps_bound_to(both, b);

            assert_int_equal(both->activities[b].begin, one->activities[a].begin);
            assert_int_equal(both->activities[b].bound, one->activities[a].bound);
            assert_int_equal(deps_waiting(both, &both->activities[b]),
                             deps_waiting(one, &one->activities[a]));
            assert_int_equal(to == DEPS_NONE, from == DEPS_NONE);
            if (to == DEPS_NONE)
                continue;
            assert_int_equal(both->activities[from].begin, one->activities[to].begin);
            assert_int_equal(both->lanes[both->activities[from].lane].process, 1);
        }
    }
    give_back();
}

static uint64_t length(const struct deps *deps, const struct deps_windows *of, const char *change)
{
    struct deps_changes changes = {.items = NULL};
    uint64_t found;

    assert_int_equal(deps_changes_add(&changes, change, NULL), MP_OK);
    assert_null(deps_changes_unmatched(&changes, deps));
    assert_int_equal(deps_replay(deps, &changes, of, &found), MP_OK);
    deps_changes_free(&changes);
    return found;
}

static void what_if_of_a_rank_is_that_of_its_trace_and_leaves_the_others(void **state)
{
    static const char *const changes[] = {"host=0",   "kernel=0.5x",   "launch_latency=+10us",
                                          "return=0", "*callback*=2x", "b=+20us",
                                          "wait=0"};

    (void)state;
    load();
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        char own[64], other[64];
        uint64_t alone = length(&scene.deps, &scene.windows, changes[i]);

        snprintf(own, sizeof own, "rank5:%s", changes[i]);
        snprintf(other, sizeof other, "rank4:%s", changes[i]);
        assert_int_equal(length(&job.deps, &windows, changes[i]), alone);
        assert_int_equal(length(&job.deps, &windows, own), alone);
        assert_int_equal(length(&job.deps, &windows, other),
                         length(&scene.deps, &scene.windows, "a=1x"));
    }
    give_back();
}

static void values_by_activity_of_the_job_are_those_of_the_ranks(void **state)
{
    uint64_t *values, *own;

    (void)state;
    load();
    values = calloc(job.deps.count, sizeof *values);
    own = calloc(scene.deps.count, sizeof *own);
    assert_non_null(values);
    assert_non_null(own);
    for (uint32_t i = 0; i < job.deps.count; i++)
        values[i] = job.deps.activities[i].correlation * 1000 + job.deps.activities[i].kind;
    for (uint32_t rank = 0; rank < 2; rank++) {
        memset(own, 0, scene.deps.count * sizeof *own);
        job_add_to_own(&job, rank, values, own, scene.deps.count);
        for (uint32_t i = 0; i < scene.deps.count; i++)
            assert_int_equal(own[i], scene.deps.activities[i].correlation * 1000 +
                                         scene.deps.activities[i].kind);
    }
    free(values);
    free(own);
    give_back();
}

static void a_rank_that_is_not_there_has_nothing(void **state)
{
    struct deps_changes changes = {.items = NULL};

    (void)state;
    load();
    assert_int_equal(deps_changes_add(&changes, "rank6:host=0", NULL), MP_OK);
    assert_ptr_equal(job_changes_unmatched(&changes, &job), &changes.items[0]);
    deps_changes_free(&changes);
    assert_int_equal(deps_changes_add(&changes, "rank6:late=0", NULL), MP_OK);
    assert_ptr_equal(job_changes_unmatched(&changes, &job), &changes.items[0]);
    deps_changes_free(&changes);
    assert_int_equal(deps_changes_add(&changes, "rank4:late=0", NULL), MP_OK);
    assert_null(job_changes_unmatched(&changes, &job));
    deps_changes_free(&changes);
    give_back();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_path_of_a_rank_is_that_of_its_trace),
        cmocka_unit_test(each_activity_is_bound_by_what_bound_it_alone),
        cmocka_unit_test(what_if_of_a_rank_is_that_of_its_trace_and_leaves_the_others),
        cmocka_unit_test(values_by_activity_of_the_job_are_those_of_the_ranks),
        cmocka_unit_test(a_rank_that_is_not_there_has_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
