/* Every rule of `advise` on a loop in which its gain is known by hand, and on one that stays just
 * below its threshold; and a loop that leaves nothing to wish.
 *
 * Times are microseconds from the begin of an iteration, which is an NVTX range "it". `more` makes
 * a kernel longer and everything behind it later: gains stay, their share falls.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "unit/deps_fixture.h"

#include <string.h>

#include "analyze/advise.h"

#define LOOPS 6
#define BEGIN 1000 /* of the first iteration; 0 would be an unknown time */
#define MIB   (1024u * 1024u)

static struct advice advice;
static struct iterations found;

/* ---- Running it ---- */

static void advise_by(enum iterations_way way, const char *name)
{
    const struct iterations_options options = {.way = way, .name = name};
    struct iteration_measures *measures;
    struct iterations_summary summary;
    struct mp_error error = {.text = ""};

    scene_load();
    assert_int_equal(iterations_find(&scene.deps, scene.trace, &options, &found, &error), MP_OK);
    measures = calloc(found.count + 1, sizeof *measures);
    assert_int_equal(iterations_measure(&scene.deps, &found, measures), MP_OK);
    assert_int_equal(iterations_sum_up(&found, measures, &summary), MP_OK);
    assert_int_equal(
        advise_build(&(struct advise_input){&scene.deps, scene.trace, &found, measures, &summary},
                     &advice, &error),
        MP_OK);
    for (size_t i = 0; i < advice.count; i++) {
        assert_true(i == 0 || advice.findings[i - 1].gain >= advice.findings[i].gain);
        assert_true(advice.findings[i].percent >= 1 && *advice.findings[i].evidence);
        assert_non_null(advice.findings[i].assumes);
    }
    iterations_summary_free(&summary);
    free(measures);
}

static void advise_loop(void)
{
    advise_by(ITERATIONS_NVTX, "it");
}

static void done(void)
{
    iterations_free(&found);
    scene_end(UNSOUND);
}

static const struct advise_finding *finding(enum advise_rule_id rule)
{
    for (size_t i = 0; i < advice.count; i++) {
        if (advice.findings[i].rule == rule)
            return &advice.findings[i];
    }
    return NULL;
}

static void expect_gain(enum advise_rule_id rule, uint64_t ns)
{
    assert_int_equal(advice.reasons[rule], ADVISE_TRIED);
    if (!finding(rule))
        fail_msg("no finding of %s", advise_rule_key(rule));
    assert_int_equal(finding(rule)->gain, ns);
}

static void expect_none(enum advise_rule_id rule)
{
    assert_int_equal(advice.reasons[rule], ADVISE_TRIED);
    if (finding(rule))
        fail_msg("%s: %s", advise_rule_key(rule), finding(rule)->evidence);
}

/* A number of the finding's evidence, rounded down. */
static void expect_number(enum advise_rule_id rule, const char *key, uint64_t value)
{
    const struct advise_finding *one = finding(rule);

    assert_non_null(one);
    for (size_t i = 0; i < one->number_count; i++) {
        if (!strcmp(one->numbers[i].key, key)) {
            assert_int_equal((uint64_t)one->numbers[i].value, value);
            return;
        }
    }
    fail_msg("%s has no number %s", advise_rule_key(rule), key);
}

/* Loops an iteration of that length; `put` gets its begin and a fresh correlation id. */
static void put_loop(unsigned count, uint64_t period, uint64_t length, uint64_t more,
                     void (*put)(uint64_t t, uint64_t id, uint64_t more))
{
    scene_begin();
    for (uint64_t i = 0; i < count; i++) {
        uint64_t t = BEGIN + i * (period + more);

        put_nvtx_range("it", t, t + length + more);
        put(t, 100 * (i + 1), more);
    }
}

/* Puts a loop with `more` for which the gain is a percent, and with one more us on top. */
static void expect_limit(enum advise_rule_id rule, uint64_t period, uint64_t length, uint64_t more,
                         void (*put)(uint64_t t, uint64_t id, uint64_t more))
{
    put_loop(LOOPS, period, length, more, put);
    advise_loop();
    assert_non_null(finding(rule));
    done();
    put_loop(LOOPS, period, length, more + 1, put);
    advise_loop();
    expect_none(rule);
    done();
}

/* ---- launch_bound ----
 *
 *     thread   10|l0| .. 110|l1| .. 210|l2| .. 310|l3|316|wait         355| 360
 *     stream     20|k 30|  120|k 30|  220|k 30|  320|k 30 + more|350
 *
 * As a graph: kernels from 20 on one behind the other, 4 * 30; return 5, host code 5: 150. Of the
 * 210 us gained 3 nodes take 0.35 each. */
static void put_launches(uint64_t t, uint64_t id, uint64_t more)
{
    for (uint64_t k = 0; k < 4; k++)
        put_launch(7, "k", t + 10 + 100 * k, t + 20 + 100 * k, t + 50 + 100 * k + (k / 3) * more,
                   id + k);
    put_stream_sync(7, t + 316, t + 355 + more, id + 4);
}

static void put_other_launches(uint64_t t, uint64_t id, uint64_t more)
{
    static unsigned number;
    char name[16];

    put_launches(t, id, more);
    snprintf(name, sizeof name, "other %u", number++);
    put_launch(7, name, t + 340, t + 351, t + 353, id + 5);
}

static void launches_become_a_graph(void **state)
{
    (void)state;
    put_loop(LOOPS, 400, 360, 0, put_launches);
    advise_loop();
    expect_gain(ADVISE_LAUNCH_BOUND, 208950);
    expect_number(ADVISE_LAUNCH_BOUND, "kernels", 3);
    expect_number(ADVISE_LAUNCH_BOUND, "calls_ns", 15000);
    expect_number(ADVISE_LAUNCH_BOUND, "host_ns", 285000);
    assert_int_equal(advice.step, 400000);
    done();
}

/* Idle for 20 before the first kernel, 3 * 70 between them and 5 at the end: 235 of 4700 is 5 %. */
static void launches_behind_long_kernels_stay(void **state)
{
    (void)state;
    expect_limit(ADVISE_LAUNCH_BOUND, 400, 360, 4340, put_launches);
}

static void launches_that_differ_stay(void **state)
{
    (void)state;
    put_loop(LOOPS, 400, 360, 0, put_other_launches);
    advise_loop();
    expect_none(ADVISE_LAUNCH_BOUND);
    done();
}

/* ---- pageable_copies ----
 *
 *     thread   10|copy, pageable   217|220|copy|226|l|232|wait             345| 350
 *     stream      12|200 us        212|  230|50 us|280  290|k 50 + more|340
 *
 * Four times as fast, and not awaited: copies at 12 to 62 to 112, kernel 10 later, return and host
 * code 5 each: 182. */
static void put_pageable(uint64_t t, uint64_t id, uint64_t more)
{
    put_call(1, "cudaMemcpyAsync", t + 10, t + 217, id);
    put_copy_of(7, MP_copy_kind_HtoD, PAGEABLE, MIB, t + 12, t + 212, id);
    put_call(1, "cudaMemcpyAsync", t + 220, t + 225, id + 1);
    put_copy_of(7, MP_copy_kind_HtoD, ASYNCHRONOUS, MIB, t + 230, t + 280, id + 1);
    put_launch(7, "k", t + 226, t + 290, t + 340 + more, id + 2);
    put_stream_sync(7, t + 232, t + 345 + more, id + 3);
}

static void pageable_copies_are_slow(void **state)
{
    (void)state;
    put_loop(LOOPS, 400, 350, 0, put_pageable);
    advise_loop();
    expect_gain(ADVISE_PAGEABLE_COPIES, 168000);
    expect_number(ADVISE_PAGEABLE_COPIES, "copies", 1);
    expect_number(ADVISE_PAGEABLE_COPIES, "copied_bytes", MIB);
    expect_number(ADVISE_PAGEABLE_COPIES, "copies_ns", 200000);
    done();
    expect_limit(ADVISE_PAGEABLE_COPIES, 400, 350, 16400, put_pageable);
}

/* ---- synchronous_copies ----
 *
 *     thread   10|copy         115|120|l|126|wait       185| 190
 *     stream      20|90 us  110|        130|k 50 + more|180
 *
 * Not awaited, the kernel is launched in time and begins at 110: 170. */
static void put_synchronous(uint64_t t, uint64_t id, uint64_t more)
{
    put_call(1, "cudaMemcpy", t + 10, t + 115, id);
    put_copy(7, MP_copy_kind_HtoD, BLOCKING_COPY, t + 20, t + 110, id);
    put_launch(7, "k", t + 120, t + 130, t + 180 + more, id + 1);
    put_stream_sync(7, t + 126, t + 185 + more, id + 2);
}

static void synchronous_copies_hold_up(void **state)
{
    (void)state;
    put_loop(LOOPS, 200, 190, 0, put_synchronous);
    advise_loop();
    expect_gain(ADVISE_SYNCHRONOUS_COPIES, 20000);
    expect_number(ADVISE_SYNCHRONOUS_COPIES, "calls_ns", 105000);
    done();
    expect_limit(ADVISE_SYNCHRONOUS_COPIES, 200, 190, 1800, put_synchronous);
}

/* ---- needless_wait ----
 *
 *     thread   10|l a|16|wait       75|80|l b|86|copy|92|wait       165| 170
 *     stream     20|a 50 + more|70        90|b 50|140   150|copy|160
 *
 * Without the first wait b begins at 70: 150. */
static void put_needless(uint64_t t, uint64_t id, uint64_t more)
{
    put_launch(7, "a", t + 10, t + 20, t + 70 + more, id);
    put_stream_sync(7, t + 16, t + 75 + more, id + 1);
    put_launch(7, "b", t + 80 + more, t + 90 + more, t + 140 + more, id + 2);
    put_call(1, "cudaMemcpyAsync", t + 86 + more, t + 91 + more, id + 3);
    put_copy(7, MP_copy_kind_DtoH, ASYNCHRONOUS, t + 150 + more, t + 160 + more, id + 3);
    put_stream_sync(7, t + 92 + more, t + 165 + more, id + 4);
}

/* The same, but a result is copied before the first wait. */
static void put_needed(uint64_t t, uint64_t id, uint64_t more)
{
    put_needless(t, id, more);
    put_call(1, "cudaMemcpyAsync", t + 15, t + 16, id + 5);
    put_copy(8, MP_copy_kind_DtoH, ASYNCHRONOUS, t + 30, t + 31, id + 5);
}

static void put_measured(uint64_t t, uint64_t id, uint64_t more)
{
    put_needless(t, id, more);
    put_call(1, "cudaEventElapsedTime", t + 76, t + 77, id + 5);
}

static void waits_that_nothing_needs(void **state)
{
    (void)state;
    put_loop(LOOPS, 200, 170, 0, put_needless);
    advise_loop();
    expect_gain(ADVISE_NEEDLESS_WAIT, 20000);
    expect_number(ADVISE_NEEDLESS_WAIT, "calls", 1);
    expect_number(ADVISE_NEEDLESS_WAIT, "waiting_ns", 54000);
    done();
    expect_limit(ADVISE_NEEDLESS_WAIT, 200, 170, 1800, put_needless);
}

static void waits_for_results_are_needed(void **state)
{
    (void)state;
    put_loop(LOOPS, 200, 170, 0, put_needed);
    advise_loop();
    expect_none(ADVISE_NEEDLESS_WAIT);
    done();
    put_loop(LOOPS, 200, 170, 0, put_measured);
    advise_loop();
    expect_none(ADVISE_NEEDLESS_WAIT);
    done();
}

/* ---- exposed_copies ----
 *
 *     thread   10|in|16|l|22|out|28|wait                                      545| 550
 *     stream      20|in 100|120  130|k 300 + more|430  440|out 100|540
 *
 * Both copies hidden: 350. */
static void put_exposed(uint64_t t, uint64_t id, uint64_t more)
{
    put_call(1, "cudaMemcpyAsync", t + 10, t + 15, id);
    put_copy(7, MP_copy_kind_HtoD, ASYNCHRONOUS, t + 20, t + 120, id);
    put_launch(7, "k", t + 16, t + 130, t + 430 + more, id + 1);
    put_call(1, "cudaMemcpyAsync", t + 22, t + 27, id + 2);
    put_copy(7, MP_copy_kind_DtoH, ASYNCHRONOUS, t + 440 + more, t + 540 + more, id + 2);
    put_stream_sync(7, t + 28, t + 545 + more, id + 3);
}

/* The kernel takes 50 us: it can hide no more. */
static void put_exposed_to_little(uint64_t t, uint64_t id, uint64_t more)
{
    put_exposed(t, id, more - 250);
}

static void copies_that_nothing_overlaps(void **state)
{
    (void)state;
    put_loop(LOOPS, 600, 550, 0, put_exposed);
    advise_loop();
    expect_gain(ADVISE_EXPOSED_COPIES, 200000);
    expect_number(ADVISE_EXPOSED_COPIES, "exposed_ns", 200000);
    done();
    put_loop(LOOPS, 600, 550, 0, put_exposed_to_little);
    advise_loop();
    expect_gain(ADVISE_EXPOSED_COPIES, 50000);
    done();
    expect_limit(ADVISE_EXPOSED_COPIES, 600, 550, 19400, put_exposed);
}

/* ---- small_kernels ----
 *
 *     thread   10|l|16|l|22|l|28|l|36|wait                     79| 84
 *     stream              40|k|44  50|k|54  60|k|64  70|k|74
 *
 * As one kernel: 18 us of gaps less. `more` is added to each kernel, and to its gap taken off. */
static void put_small(uint64_t t, uint64_t id, uint64_t more)
{
    for (uint64_t k = 0; k < 4; k++)
        put_launch(7, "k", t + 10 + 6 * k, t + 40 + 10 * k, t + 44 + 10 * k + more, id + k);
    put_stream_sync(7, t + 36, t + 79 + more, id + 4);
}

static void put_two_small(uint64_t t, uint64_t id, uint64_t more)
{
    for (uint64_t k = 0; k < 4; k++)
        put_launch(7, "k", t + 10 + 6 * k, t + 40 + 10 * k, t + 44 + 10 * k + (k == 2 ? 2 : more),
                   id + k);
    put_stream_sync(7, t + 36, t + 79 + more, id + 4);
}

static void small_kernels_could_be_one(void **state)
{
    (void)state;
    put_loop(LOOPS, 100, 84, 0, put_small);
    advise_loop();
    expect_gain(ADVISE_SMALL_KERNELS, 18000);
    expect_number(ADVISE_SMALL_KERNELS, "runs", 1);
    expect_number(ADVISE_SMALL_KERNELS, "kernels", 4);
    expect_number(ADVISE_SMALL_KERNELS, "gaps_ns", 18000);
    done();
    put_loop(LOOPS, 100, 84, 1, put_small); /* 5 us each */
    advise_loop();
    expect_none(ADVISE_SMALL_KERNELS);
    done();
    put_loop(LOOPS, 100, 84, 3, put_two_small); /* one of them alone */
    advise_loop();
    expect_none(ADVISE_SMALL_KERNELS);
    done();
}

/* ---- allocation ----
 *
 *     thread   10|cudaMalloc|60  65|l|71|wait      180|181|cudaFree|191  195
 *     stream                       75|k 100 + more|175
 */
static void put_allocation(uint64_t t, uint64_t id, uint64_t more)
{
    put_call(1, "cudaMalloc", t + 10, t + 60, id);
    put_launch(7, "k", t + 65, t + 75, t + 175 + more, id + 1);
    put_stream_sync(7, t + 71, t + 180 + more, id + 2);
    put_call(1, "cudaFree", t + 181 + more, t + 191 + more, id + 3);
}

static void allocation_in_the_loop(void **state)
{
    (void)state;
    put_loop(LOOPS, 200, 195, 0, put_allocation);
    advise_loop();
    expect_gain(ADVISE_ALLOCATION, 60000);
    expect_number(ADVISE_ALLOCATION, "calls", 2);
    expect_number(ADVISE_ALLOCATION, "calls_ns", 60000);
    done();
    expect_limit(ADVISE_ALLOCATION, 200, 195, 5800, put_allocation);
}

/* ---- host_bound ----
 *
 *     thread   0  host code  100|l|106|wait           215| 220 .. 250
 *     stream                     110|k 100 + more|210
 *
 * 100 before the launch and 5 behind the wait, but behind the last wait: (6 * 105 - 5) / 6. */
static void put_host_code(uint64_t t, uint64_t id, uint64_t more)
{
    put_launch(7, "k", t + 100, t + 110, t + 210 + more, id);
    put_stream_sync(7, t + 106, t + 215 + more, id + 1);
}

static void the_gpu_waits_for_the_host(void **state)
{
    (void)state;
    put_loop(LOOPS, 250, 220, 0, put_host_code);
    advise_loop();
    expect_gain(ADVISE_HOST_BOUND, 104166);
    expect_number(ADVISE_HOST_BOUND, "idle_ns", 105000);
    done();
    expect_limit(ADVISE_HOST_BOUND, 250, 220, 10166, put_host_code);
}

/* ---- slow_layer ----
 *
 *     stream   20|a 50 + more|  +10 |b 100|  +10 |c 100|    return 5, host code 5
 */
static void put_slow(uint64_t t, uint64_t id, uint64_t more)
{
    put_launch(7, "a", t + 2, t + 20, t + 70 + more, id);
    put_launch(7, "b", t + 8, t + 80 + more, t + 180 + more, id + 1);
    put_launch(7, "c", t + 14, t + 190 + more, t + 290 + more, id + 2);
    put_stream_sync(7, t + 20, t + 295 + more, id + 3);
}

/* Of 6 * (310 + more) - 10 us 6 * (50 + more). */
static void one_kernel_dominates(void **state)
{
    (void)state;
    put_loop(LOOPS, 310, 300, 150, put_slow);
    advise_loop();
    expect_gain(ADVISE_SLOW_LAYER, 100000);
    expect_number(ADVISE_SLOW_LAYER, "critical_ns", LOOPS * 200000);
    assert_string_equal(finding(ADVISE_SLOW_LAYER)->lines[0].name, "a");
    done();
    put_loop(LOOPS, 310, 300, 80, put_slow); /* 780 of 2330 */
    advise_loop();
    expect_gain(ADVISE_SLOW_LAYER, 65000);
    done();
    put_loop(LOOPS, 310, 300, 79, put_slow); /* 774 of 2324 */
    advise_loop();
    expect_none(ADVISE_SLOW_LAYER);
    done();
}

/* ---- unused_streams ----
 *
 *     thread      10|l a|16|l b|22|wait                      227| 230
 *     stream 8      20|a 100 + more|120
 *     default                          122|b 100 + more|222
 *
 * b could begin 10 us after its launch, as a does: 134. */
static void put_default_stream(uint64_t t, uint64_t id, uint64_t more)
{
    put_launch(8, "a", t + 10, t + 20, t + 120, id);
    put_launch(7, "b", t + 16, t + 122, t + 222 + more, id + 1);
    put_context_sync(t + 22, t + 227 + more, id + 2);
}

static void the_default_stream_orders(void **state)
{
    (void)state;
    put_loop(LOOPS, 250, 230, 0, put_default_stream);
    put_null_stream(1, 7);
    advise_loop();
    expect_gain(ADVISE_UNUSED_STREAMS, 96000);
    expect_number(ADVISE_UNUSED_STREAMS, "by_default_stream", 1);
    done();
    put_loop(LOOPS, 250, 230, 9351, put_default_stream); /* 96 of 9601 */
    put_null_stream(1, 7);
    advise_loop();
    expect_none(ADVISE_UNUSED_STREAMS);
    done();
}

/* Nodes b and c need a only, and c runs behind b; it could begin at 30: 132 + 10. */
static void put_branches(uint64_t t, uint64_t id, uint64_t more)
{
    put_call(1, "cudaGraphLaunch", t + 10, t + 15, id);
    put_node(7, "a", 1, 1, t + 20, t + 30, id);
    put_node(7, "b", 1, 2, t + 32, t + 132, id);
    put_node(7, "c", 1, 3, t + 134, t + 234, id);
    put_stream_sync(7, t + 16, t + 239, id + 1);
    (void)more;
}

static void put_chain(uint64_t t, uint64_t id, uint64_t more)
{
    put_branches(t, id, more);
}

static void branches_of_a_graph_in_one_stream(void **state)
{
    (void)state;
    put_loop(LOOPS, 250, 244, 0, put_branches);
    put_edge(1, 1, 2);
    put_edge(1, 1, 3);
    advise_loop();
    expect_gain(ADVISE_UNUSED_STREAMS, 102000);
    expect_number(ADVISE_UNUSED_STREAMS, "by_graph", 1);
    done();
    put_loop(LOOPS, 250, 244, 0, put_chain);
    put_edge(1, 1, 2);
    put_edge(1, 2, 3);
    advise_loop();
    expect_none(ADVISE_UNUSED_STREAMS);
    done();
}

/* ---- tail ---- */

#define MANY 20

static uint64_t slow_one, longer;

static void put_tail(uint64_t t, uint64_t id, uint64_t more)
{
    uint64_t end = t + 90 + (id / 100 == slow_one ? longer : 0);

    (void)more;
    put_launch(7, "k", t + 2, t + 10, end, id);
    put_stream_sync(7, t + 8, end + 5, id + 1);
}

static void load_tail(uint64_t which, uint64_t by)
{
    slow_one = which;
    longer = by;
    scene_begin();
    for (uint64_t i = 1; i <= MANY; i++) {
        uint64_t t = BEGIN + i * 200;

        put_nvtx_range("it", t, t + 100 + (i == which ? by : 0));
        put_tail(t, 100 * i, 0);
    }
    advise_loop();
}

static void one_of_twenty_is_slow(void **state)
{
    (void)state;
    load_tail(7, 80);
    expect_gain(ADVISE_TAIL, 4000);
    expect_number(ADVISE_TAIL, "outliers", 1);
    expect_number(ADVISE_TAIL, "excess_ns", 80000);
    assert_int_equal(advice.judged, MANY - 1);
    assert_string_equal(finding(ADVISE_TAIL)->lines[1].name, "k");
    done();
    load_tail(7, 39); /* 1.95 us of 200 */
    expect_none(ADVISE_TAIL);
    done();
    load_tail(1, 80); /* warm-up */
    expect_none(ADVISE_TAIL);
    done();
}

/* ---- page_faults ---- */

static void put_unified(unsigned kind, uint64_t value, uint64_t begin, uint64_t end)
{
    mp_append_unified(scene.writer, &(struct mp_row_unified){.kind = kind,
                                                             .value = value,
                                                             .start = begin * 1000,
                                                             .duration = (end - begin) * 1000});
}

/* 10 us of faults and 10 us of a migration, half of them at once: 15. */
static void put_faults(uint64_t t, uint64_t id, uint64_t more)
{
    put_host_code(t, id, more);
    put_unified(MP_unified_kind_gpu_page_fault, 4, t + 110, t + 120);
    put_unified(MP_unified_kind_bytes_HtoD, 65536, t + 115, t + 125);
    put_unified(MP_unified_kind_bytes_DtoH, 65536, t + 230 + more, t + 240 + more); /* outside */
}

static void pages_that_move(void **state)
{
    (void)state;
    put_loop(LOOPS, 250, 220, 0, put_faults);
    advise_loop();
    expect_gain(ADVISE_PAGE_FAULTS, 15000);
    expect_number(ADVISE_PAGE_FAULTS, "migrations", 1);
    expect_number(ADVISE_PAGE_FAULTS, "migrated_bytes", 65536);
    expect_number(ADVISE_PAGE_FAULTS, "gpu_fault_groups", 1);
    done();
    expect_limit(ADVISE_PAGE_FAULTS, 250, 220, 1250, put_faults);
}

/* ---- Nothing to find ----
 *
 * A graph that keeps the GPU busy, launched while the one before it runs; copies on streams of
 * their own meanwhile, and the host waits for the result before. */
static void put_clean(uint64_t t, uint64_t id, uint64_t more)
{
    static const char *const names[] = {"a", "b", "c", "d", "e"};

    (void)more;
    put_call(1, "cudaMemcpyAsync", t + 1, t + 5, id);
    put_copy_of(8, MP_copy_kind_HtoD, ASYNCHRONOUS, MIB, t + 120, t + 220, id);
    put_call(1, "cudaGraphLaunch", t + 10, t + 20, id + 1);
    for (uint64_t k = 0; k < 5; k++)
        put_node(7, names[k], 1, k + 1, t + 100 + 200 * k, t + 299 + 200 * k + (k != 4), id + 1);
    put_call(1, "cudaMemcpyAsync", t + 30, t + 35, id + 2);
    put_copy(9, MP_copy_kind_DtoH, ASYNCHRONOUS, t + 110, t + 160, id + 2);
    put_stream_sync(9, t + 40, t + 165, id + 3);
}

static void nothing_to_find(void **state)
{
    (void)state;
    put_loop(12, 1000, 1000, 0, put_clean);
    for (uint64_t k = 1; k < 5; k++)
        put_edge(1, k, k + 1);
    for (uint64_t stream = 7; stream <= 9; stream++)
        put_stream_flag(stream, MP_stream_flag_non_blocking);
    advise_loop();
    for (int rule = 0; rule < ADVISE_RULES; rule++)
        expect_none((enum advise_rule_id)rule);
    done();
}

/* ---- What cannot be judged ---- */

static void without_calls(void **state)
{
    (void)state;
    scene_begin();
    for (uint64_t i = 1; i <= 12; i++)
        put_kernel(7, "k", 100 * i, 100 * i + 50, i);
    advise_by(ITERATIONS_AUTO, NULL);
    assert_int_equal(advice.reasons[ADVISE_LAUNCH_BOUND], ADVISE_NO_CALLS);
    assert_int_equal(advice.reasons[ADVISE_NEEDLESS_WAIT], ADVISE_NO_CALLS);
    assert_int_equal(advice.reasons[ADVISE_SMALL_KERNELS], ADVISE_TRIED);
    done();
}

static void a_single_iteration(void **state)
{
    (void)state;
    put_loop(1, 200, 195, 0, put_allocation);
    advise_loop();
    assert_int_equal(advice.reasons[ADVISE_ALLOCATION], ADVISE_NO_LOOP);
    assert_int_equal(advice.reasons[ADVISE_TAIL], ADVISE_NO_LOOP);
    assert_int_equal(advice.reasons[ADVISE_SLOW_LAYER], ADVISE_TRIED);
    done();
    put_loop(9, 200, 195, 0, put_allocation);
    advise_loop();
    assert_int_equal(advice.reasons[ADVISE_TAIL], ADVISE_FEW);
    done();
}

static void no_work_at_all(void **state)
{
    (void)state;
    scene_begin();
    put_call(1, "cudaMalloc", 10, 20, 1);
    advise_by(ITERATIONS_AUTO, NULL);
    assert_int_equal(advice.count, 0);
    for (int rule = 0; rule < ADVISE_RULES; rule++)
        assert_int_equal(advice.reasons[rule], ADVISE_NO_WORK);
    done();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launches_become_a_graph),
        cmocka_unit_test(launches_behind_long_kernels_stay),
        cmocka_unit_test(launches_that_differ_stay),
        cmocka_unit_test(pageable_copies_are_slow),
        cmocka_unit_test(synchronous_copies_hold_up),
        cmocka_unit_test(waits_that_nothing_needs),
        cmocka_unit_test(waits_for_results_are_needed),
        cmocka_unit_test(copies_that_nothing_overlaps),
        cmocka_unit_test(small_kernels_could_be_one),
        cmocka_unit_test(allocation_in_the_loop),
        cmocka_unit_test(the_gpu_waits_for_the_host),
        cmocka_unit_test(one_kernel_dominates),
        cmocka_unit_test(the_default_stream_orders),
        cmocka_unit_test(branches_of_a_graph_in_one_stream),
        cmocka_unit_test(one_of_twenty_is_slow),
        cmocka_unit_test(pages_that_move),
        cmocka_unit_test(nothing_to_find),
        cmocka_unit_test(without_calls),
        cmocka_unit_test(a_single_iteration),
        cmocka_unit_test(no_work_at_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
