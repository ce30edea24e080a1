/* Iterations: where their time goes, worked out by hand, and in random programs for each
 * microsecond by itself. Times in the scenes are us. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "unit/layers/iterations_fixture.h"

/* ---- Times ---- */

/*     host   |launch a|launch b| host |launch c| sync |    range 10 to 200
 *             20-25    30-35          90-95     95-180
 *     7         a 40-70
 *     8              copy 60-80                              overlap 60-70
 *     7                                 c 100-160, set 165-170 */
static void time_is_split(void **state)
{
    (void)state;
    scene_begin();
    put_launch(7, "a", 20, 40, 70, 1);
    put_call(1, "cudaMemcpyAsync", 30, 35, 2);
    put_copy(8, MP_copy_kind_HtoD, ASYNCHRONOUS, 60, 80, 2);
    put_launch(7, "c", 90, 100, 160, 3);
    put_call(1, "cudaMemsetAsync", 96, 98, 4);
    put_set(7, 165, 170, 4);
    put_stream_sync(7, 100, 180, 5);
    put_nvtx_range("it", 10, 200);
    load(ITERATIONS_NVTX, "it", 0);
    assert_int_equal(found.count, 1);
    expect_window(0, 10, 200, 200);
    expect(0, ITERATION_LATENCY, 190);
    expect(0, ITERATION_HOST, 190);
    expect(0, ITERATION_API, 5 + 5 + 5 + 2 + 80);
    expect(0, ITERATION_BUSY, 40 + 60 + 5);
    expect(0, ITERATION_KERNEL, 30 + 60);
    expect(0, ITERATION_HTOD, 20);
    expect(0, ITERATION_DTOH, 0);
    expect(0, ITERATION_SET, 5);
    expect(0, ITERATION_OVERLAP, 10);
    expect(0, ITERATION_OTHERS, 0);
    expect(0, ITERATION_IDLE, 85);
    /* 10-20 host, 20-40 launch; 80-90 host, 90-100 launch; 160-165 before the set, which was called
     * long before; 170-180 in the synchronising call, 180-200 host. */
    expect(0, ITERATION_IDLE_HOST, 10 + 10 + 20);
    expect(0, ITERATION_IDLE_LAUNCH, 20 + 10);
    expect(0, ITERATION_IDLE_QUEUED, 5);
    expect(0, ITERATION_IDLE_SYNC, 10);
    expect_count(0, ITERATION_LAUNCHES, 4);
    expect_count(0, ITERATION_KERNELS, 2);
    expect_count(0, ITERATION_COPIES, 1);
    done();
}

/*     host   |launch a|launch n|   |launch b|              range 10 to 200
 *             20-25    30-35        90-95
 *     7         a 40-70    n 80-160, of which it waits for its peers 80-130
 *     8                              b 100-110
 */
static void waiting_for_peers_is_idle(void **state)
{
    (void)state;
    scene_begin();
    put_launch(7, "a", 20, 40, 70, 1);
    put_launch(7, "n", 30, 80, 160, 2);
    put_launch(8, "b", 90, 100, 110, 3);
    put_nvtx_range("it", 10, 200);
    scene_load();
    scene.deps.peers = calloc(3, sizeof *scene.deps.peers);
    for (uint32_t i = 0; i < 3; i++)
        if (scene.deps.activities[scene.deps.host_count + i].correlation == 2)
            scene.deps.peers[i] = (uint64_t)50 * US;
    analyse(ITERATIONS_NVTX, "it", 0);
    expect(0, ITERATION_BUSY, 30 + 10 + 30);
    expect(0, ITERATION_KERNEL, 30 + 10 + 30);
    expect(0, ITERATION_IDLE_PEER, 20 + 20); /* 80-100, 110-130 */
    expect(0, ITERATION_IDLE_HOST, 10 + 40);
    expect(0, ITERATION_IDLE_LAUNCH, 20);
    expect(0, ITERATION_IDLE_QUEUED, 10); /* before n began to wait */
    expect_count(0, ITERATION_KERNELS, 3);
    done();
}

/* A copy that its call waits for: idle before it and after it is the copy's. A call that frees
 * memory synchronises. */
static void copies_that_wait(void **state)
{
    (void)state;
    scene_begin();
    put_launch(7, "a", 20, 30, 50, 1);
    put_call(1, "cudaMemcpy", 40, 80, 2);
    put_copy(7, MP_copy_kind_DtoH, BLOCKING_COPY, 55, 70, 2);
    put_call(1, "cudaFree", 90, 95, 3);
    put_call(1, "cudaEventRecord", 96, 98, 4);
    put_nvtx_range("it", 20, 100);
    load(ITERATIONS_NVTX, "it", 0);
    expect(0, ITERATION_DTOH, 15);
    expect(0, ITERATION_IDLE_COPY, 5 + 10);     /* 50-55, 70-80 */
    expect(0, ITERATION_IDLE_HOST, 10 + 1 + 2); /* 80-90, 95-96, 98-100 */
    expect(0, ITERATION_IDLE_SYNC, 5);
    expect(0, ITERATION_IDLE_LAUNCH, 10 + 2); /* 20-30, 96-98 */
    done();
}

/* An asynchronous copy of pageable memory waits too, one of pinned memory does not. */
static void pageable_copies_wait(void **state)
{
    (void)state;
    scene_begin();
    put_call(1, "cudaMemcpyAsync", 20, 60, 1);
    put_copy(7, MP_copy_kind_HtoD, PAGEABLE, 50, 55, 1);
    put_call(1, "cudaMemcpyAsync", 70, 80, 2);
    put_copy(7, MP_copy_kind_DtoD, ASYNCHRONOUS, 90, 95, 2);
    put_nvtx_range("it", 20, 95);
    load(ITERATIONS_NVTX, "it", 0);
    expect(0, ITERATION_IDLE_COPY, 30 + 5); /* 20-50, 55-60 */
    expect(0, ITERATION_IDLE_HOST, 10);     /* 60-70 */
    expect(0, ITERATION_IDLE_LAUNCH, 20);   /* 70-90 */
    expect(0, ITERATION_COPY_OTHER, 5);
    done();
}

/* Between the nodes of a graph nobody waits for the launch, even while its call has not returned.
 */
static void nodes_are_queued(void **state)
{
    (void)state;
    scene_begin();
    put_call(1, "cudaGraphLaunch", 20, 60, 1);
    put_node(7, "x", 5, 1, 30, 40, 1);
    put_node(7, "y", 5, 2, 43, 50, 1);
    put_launch(7, "a", 65, 80, 90, 2);
    put_nvtx_range("it", 20, 90);
    load(ITERATIONS_NVTX, "it", 0);
    expect(0, ITERATION_IDLE_LAUNCH, 10 + 10 + 15); /* 20-30, 50-60, 65-80 */
    expect(0, ITERATION_IDLE_QUEUED, 3);
    expect(0, ITERATION_IDLE_HOST, 5);
    done();
}

/* Idle time has the cause of the thread that ended it, not of the iteration's own. */
static void other_threads_end_gaps(void **state)
{
    (void)state;
    scene_begin();
    put_launch(7, "a", 20, 30, 40, 1);
    put_call(1, "cudaDeviceSynchronize", 26, 100, 2);
    put_call(2, "cudaEventQuery", 50, 60, 3);
    put_call(2, "cudaLaunchKernel", 70, 75, 4);
    put_kernel(8, "b", 80, 90, 4);
    put_nvtx_range("it", 20, 100);
    load(ITERATIONS_NVTX, "it", 0);
    expect(0, ITERATION_IDLE_LAUNCH, 10 + 10 + 10); /* 20-30, 50-60, 70-80 */
    expect(0, ITERATION_IDLE_HOST, 10 + 10);        /* 40-50, 60-70 */
    expect(0, ITERATION_IDLE_SYNC, 10);             /* 90-100 */
    expect_count(0, ITERATION_KERNELS, 2);          /* thread 2 has no iteration of its own */
    done();
}

/*     it 1  10-40, its work 20-60     it 2  40-70, its work 60-90    it 3  70-100, 95-130 */
static void pipelined_iterations(void **state)
{
    (void)state;
    scene_begin();
    put_launch(7, "a", 11, 20, 60, 1);
    put_launch(7, "b", 41, 60, 90, 2);
    put_launch(7, "c", 71, 95, 130, 3);
    put_nvtx_range("it", 10, 40);
    put_nvtx_range("it", 40, 70);
    put_nvtx_range("it", 70, 100);
    load(ITERATIONS_AUTO, NULL, 0);
    assert_int_equal(found.way, ITERATIONS_NVTX);
    assert_string_equal(found.name, "it");
    assert_int_equal(found.count, 3);
    assert_int_equal(found.pipelined, 2);
    assert_false(found.items[2].pipelined);
    expect_window(1, 40, 70, 90);
    expect(1, ITERATION_BUSY, 30);
    expect(1, ITERATION_OTHERS, 20); /* 40-60: work of the first */
    expect(1, ITERATION_IDLE, 0);
    expect(2, ITERATION_OTHERS, 20);
    expect(2, ITERATION_BUSY, 35);
    expect(2, ITERATION_IDLE_QUEUED, 5);
    assert_true(summary.throughput == 3e9 / 120e3);
    assert_true(summary.period == 30e3);
    done();
}

/* Work on a device that the iteration does not use is not there for it. */
static void other_devices_do_not_count(void **state)
{
    (void)state;
    scene_begin();
    put_launch(7, "a", 20, 30, 50, 1);
    put_call(2, "cudaLaunchKernel", 5, 8, 2);
    put_kernel(ON(2, 7), "other", 10, 100, 2);
    put_nvtx_range("it", 20, 60);
    load(ITERATIONS_NVTX, "it", 0);
    expect(0, ITERATION_OTHERS, 0);
    expect(0, ITERATION_IDLE, 20);
    assert_int_equal(found.outside, 1);
    done();
}

static void work_outside_of_iterations_is_others(void **state)
{
    (void)state;
    scene_begin();
    put_launch(7, "before", 5, 10, 30, 1);
    put_launch(8, "a", 20, 40, 50, 2);
    put_nvtx_range("it", 20, 60);
    load(ITERATIONS_NVTX, "it", 0);
    expect(0, ITERATION_OTHERS, 10);
    expect(0, ITERATION_BUSY, 10);
    expect(0, ITERATION_IDLE, 20);
    done();
}

/* ---- Statistics ---- */

/* 20 iterations of 10 us but for number 7 of 30, whose kernel is later by 20: the MAD is 0, so 5
 * percent count. */
static void outliers(void **state)
{
    (void)state;
    scene_begin();
    for (uint64_t i = 0; i < 20; i++) {
        uint64_t at = 1000 + i * 100;
        uint64_t more = i == 6 ? 20 : 0;

        put_launch(7, "a", at, at + 5 + more, at + 10 + more, i + 1);
        put_nvtx_range("it", at, at + 10 + more);
    }
    load(ITERATIONS_AUTO, NULL, 0);
    assert_int_equal(summary.outlier_count, 1);
    assert_int_equal(summary.outliers[0].iteration, 6);
    assert_int_equal(summary.outliers[0].grew, ITERATION_IDLE_LAUNCH);
    assert_int_equal(summary.outliers[0].by, 20 * US);
    assert_int_equal(summary.limit, 10500);
    assert_int_equal(summary.statistics[ITERATION_LATENCY].p50, 10 * US);
    assert_int_equal(summary.statistics[ITERATION_LATENCY].max, 30 * US);
    assert_int_equal(summary.median, 0);
    done();
}

/* The median is 28 us, and from it the others are 32, 4, 2, 2, 8 and 22 away: the MAD is 4, so the
 * limit is 28 + 3 x 1.4826 x 4. */
static void outliers_lie_beyond_three_deviations(void **state)
{
    static const uint64_t latencies[] = {60, 24, 30, 26, 20, 50, 28};

    (void)state;
    scene_begin();
    for (uint64_t i = 0; i < sizeof(latencies) / sizeof(latencies[0]); i++) {
        uint64_t at = 1000 + i * 100;

        put_launch(7, "a", at, at + 5, at + latencies[i], i + 1);
        put_nvtx_range("it", at, at + latencies[i]);
    }
    load(ITERATIONS_AUTO, NULL, 0);
    assert_int_equal(summary.statistics[ITERATION_LATENCY].p50, 28 * US);
    assert_int_equal(summary.median, 6);
    assert_int_equal(summary.limit, 45791);
    assert_int_equal(summary.outlier_count, 2);
    assert_int_equal(summary.outliers[0].iteration, 0);
    assert_int_equal(summary.outliers[1].iteration, 5);
    assert_int_equal(summary.outliers[1].grew, ITERATION_KERNEL);
    assert_int_equal(summary.outliers[1].by, 22 * US);
    done();
}

/* ---- Random programs, against every microsecond by itself ---- */

#define END_US   400u
#define REQUESTS 6u

struct made {
    uint64_t begin, end;
    uint64_t wait;    /* of a kernel, for its peers, from its begin on */
    uint32_t request; /* REQUESTS: none */
    bool copy;
};

static struct made made[64];
static uint64_t request_begin[REQUESTS], request_end[REQUESTS];

static void make_requests(uint64_t *random)
{
    uint64_t at = 10;

    for (uint32_t i = 0; i < REQUESTS; i++) {
        at += 5 + fixture_random(random) % 30;
        request_begin[i] = at;
        at += 5 + fixture_random(random) % 30;
        request_end[i] = at;
        put_nvtx_range("it", request_begin[i], request_end[i]);
    }
}

static uint32_t request_at(uint64_t time)
{
    for (uint32_t i = 0; i < REQUESTS; i++) {
        if (time >= request_begin[i] && time < request_end[i])
            return i;
    }
    return REQUESTS;
}

/* Calls one after the other, each with a kernel or copy on one of two streams. */
static uint32_t make_work(uint64_t *random, bool waits)
{
    uint64_t free_from[2] = {0, 0};
    uint64_t at = 5;
    uint32_t count = 0;
    char name[8];

    while (at < END_US - 120 && count < 64) {
        unsigned stream = (unsigned)(fixture_random(random) % 2);
        uint64_t begin = at + 2 + fixture_random(random) % 20;
        struct made *one = &made[count++];

        if (begin < free_from[stream])
            begin = free_from[stream];
        one->begin = begin;
        one->end = begin + 1 + fixture_random(random) % 15;
        one->request = request_at(at);
        one->copy = fixture_random(random) % 3 == 0;
        one->wait = 0;
        if (waits && !one->copy && fixture_random(random) % 2)
            one->wait = 1 + fixture_random(random) % (one->end - begin);
        free_from[stream] = one->end;
        snprintf(name, sizeof name, "k%u", count);
        put_call(1, one->copy ? "cudaMemcpyAsync" : "cudaLaunchKernel", at, at + 2, count);
        if (one->copy)
            put_copy(7 + stream, MP_copy_kind_HtoD, ASYNCHRONOUS, begin, one->end, count);
        else
            put_kernel(7 + stream, name, begin, one->end, count);
        at += 2 + fixture_random(random) % 12;
    }
    return count;
}

/* The graph learns how long its kernels wait. */
static void lay_waits(uint32_t count)
{
    struct deps *deps = &scene.deps;

    deps->peers = calloc(deps->count - deps->host_count + 1, sizeof *deps->peers);
    assert_non_null(deps->peers);
    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        uint64_t number = deps->activities[i].correlation;

        assert_true(number && number <= count);
        deps->peers[i - deps->host_count] = made[number - 1].wait * US;
    }
}

/* Counts the microseconds of a request in which its work, other work, or nothing runs, and those in
 * which kernels only wait. */
static void check_request(uint32_t request, uint32_t count)
{
    uint64_t end = request_end[request];
    uint64_t busy = 0;
    uint64_t others = 0;
    uint64_t overlap = 0;
    uint64_t peers = 0;

    for (uint32_t i = 0; i < count; i++) {
        if (made[i].request == request && made[i].end > end)
            end = made[i].end;
    }
    for (uint64_t time = request_begin[request]; time < end; time++) {
        unsigned own[2] = {0, 0};
        unsigned all = 0, waiting = 0;

        for (uint32_t i = 0; i < count; i++) {
            uint64_t works = made[i].begin + made[i].wait;
            bool runs = time >= works && time < made[i].end;

            waiting += time >= made[i].begin && time < works;
            all += runs;
            own[made[i].copy] += runs && made[i].request == request;
        }
        busy += own[0] || own[1];
        overlap += own[0] && own[1];
        others += all && !own[0] && !own[1];
        peers += waiting && !all;
    }
    expect_window(request, request_begin[request], request_end[request], end);
    expect(request, ITERATION_BUSY, busy);
    expect(request, ITERATION_OTHERS, others);
    expect(request, ITERATION_OVERLAP, overlap);
    expect(request, ITERATION_IDLE, end - request_begin[request] - busy - others);
    expect(request, ITERATION_IDLE_PEER, peers);
}

static void random_programs(void **state)
{
    uint64_t random = 7;

    (void)state;
    for (int round = 0; round < 150; round++) {
        uint32_t count;

        scene_begin();
        make_requests(&random);
        count = make_work(&random, round % 2);
        scene_load();
        if (round % 2)
            lay_waits(count);
        analyse(ITERATIONS_NVTX, "it", 0);
        assert_int_equal(found.count, REQUESTS);
        for (uint32_t i = 0; i < REQUESTS; i++)
            check_request(i, count);
        done();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_is_split),
        cmocka_unit_test(waiting_for_peers_is_idle),
        cmocka_unit_test(copies_that_wait),
        cmocka_unit_test(pageable_copies_wait),
        cmocka_unit_test(nodes_are_queued),
        cmocka_unit_test(other_threads_end_gaps),
        cmocka_unit_test(pipelined_iterations),
        cmocka_unit_test(other_devices_do_not_count),
        cmocka_unit_test(work_outside_of_iterations_is_others),
        cmocka_unit_test(outliers),
        cmocka_unit_test(outliers_lie_beyond_three_deviations),
        cmocka_unit_test(random_programs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
