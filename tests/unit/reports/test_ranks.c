/* Matching across ranks: operations with known begins and ends, shifted, on clocks that are apart,
 * doubled, missing. What must come out follows from how they were made. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/storage.h"
#include "reports/ranks/inside.h"
#include "unit/trace_fixture.h"

enum { MAX_PROCESSES = 8 };

#define BASE     UINT64_C(1700000000000000000)
#define HASH     UINT64_C(0x1122334455667788)
#define TRANSFER UINT64_C(20000) /* ns */
#define STEP     UINT64_C(100000)

/* A job in the making. */
struct job {
    struct trace_process processes[MAX_PROCESSES];
    struct trace_set set;
    struct ranks ranks;
};

static struct job *job_new(size_t processes)
{
    struct job *job = calloc(1, sizeof *job);

    assert_non_null(job);
    job->set.processes = job->processes;
    job->set.count = processes;
    job->set.clock_count = 1;
    job->set.first_time = BASE;
    ranks_init(&job->ranks);
    return job;
}

static void job_free(struct job *job)
{
    ranks_free(&job->ranks);
    free(job);
}

/* Each process has a clock of its own. */
static void job_part_clocks(struct job *job)
{
    for (size_t i = 0; i < job->set.count; i++)
        job->processes[i].clock_number = i;
    job->set.clock_count = job->set.count;
}

static void add(struct job *job, const char *function, const struct op *given)
{
    struct ranks *ranks = &job->ranks;
    struct op op = *given;

    op.hash = op.hash ? op.hash : HASH;
    op.bytes = op.bytes ? op.bytes : 1000;
    op.function = mp_intern_add(&ranks->names, function, strlen(function));
    op.ranks = (uint32_t)job->set.count;
    op.fused = op.fused ? op.fused : 1;
    if (!strcmp(function, "Send") || !strcmp(function, "Recv")) {
        op.root = RANKS_NONE;
    } else {
        op.from = op.to = RANKS_NONE;
    }
    assert_int_equal(
        mp_reserve((void **)&ranks->ops, ranks->op_count, &ranks->op_capacity, sizeof op), MP_OK);
    ranks->ops[ranks->op_count++] = op;
}

/* An all-reduce on one rank, `begin` ns after the base, which ends at `end`. */
static void add_reduce(struct job *job, uint32_t rank, uint64_t number, uint64_t begin,
                       uint64_t end)
{
    add(job, "AllReduce",
        &(struct op){.number = number,
                     .rank = rank,
                     .process = rank,
                     .root = RANKS_NONE,
                     .start = BASE + begin,
                     .end = BASE + end});
}

/* When a rank comes to instance `i`, irregularly: with a period, shifts could not be told apart. */
static uint64_t arrival(uint32_t rank, uint64_t i)
{
    uint64_t state = i * 97 + (uint64_t)rank * 13 + 5;

    return 1000 + i * STEP + fixture_random(&state) % 30000;
}

static uint64_t last_arrival(size_t ranks, uint64_t i)
{
    uint64_t last = 0;

    for (uint32_t rank = 0; rank < ranks; rank++)
        last = arrival(rank, i) > last ? arrival(rank, i) : last;
    return last;
}

/* Instances `first` to `last` of a rank, whose recorder numbers them from `number` on. */
static void add_window(struct job *job, uint32_t rank, uint64_t first, uint64_t last,
                       uint64_t number)
{
    for (uint64_t i = first; i <= last; i++)
        add_reduce(job, rank, number + i - first, arrival(rank, i),
                   last_arrival(job->set.count, i) + TRANSFER);
}

static void finish(struct job *job)
{
    assert_int_equal(ranks_finish(&job->ranks, &job->set), MP_OK);
}

static void nothing_is_unmatched(const struct job *job)
{
    static const struct ranks_unmatched none;

    assert_memory_equal(&job->ranks.unmatched, &none, sizeof none);
}

/* ---- Lateness ---- */

static void the_last_rank_is_who_begins_last_and_late_by_the_gap_to_the_one_before(void **state)
{
    struct job *job = job_new(3);
    const struct ranks_instance *instance;
    const struct ranks_side *sides;

    (void)state;
    add_reduce(job, 0, 1, 1000, 9000);
    add_reduce(job, 1, 1, 5000, 9000);
    add_reduce(job, 2, 1, 3000, 9100);
    finish(job);
    nothing_is_unmatched(job);
    assert_int_equal(job->ranks.instance_count, 1);
    instance = &job->ranks.instances[0];
    sides = &job->ranks.sides[instance->first_side];
    assert_int_equal(instance->last, 1);
    assert_int_equal(instance->late, 2000);
    assert_int_equal(instance->skew, 4000);
    assert_int_equal(instance->transfer, 4100);
    assert_int_equal(sides[0].waiting, 4000);
    assert_int_equal(sides[1].waiting, 0);
    assert_int_equal(sides[2].waiting, 2000);
    assert_int_equal(job->ranks.members[1].last, 1);
    assert_int_equal(job->ranks.members[1].late, 2000);
    job_free(job);
}

/* Four ranks, of which rank r waits for 1000 (3 - r) of the 4000 that each operation takes. */
static void each_member_has_its_own_sums(void **state)
{
    struct job *job = job_new(4);

    (void)state;
    for (uint64_t i = 0; i < 3; i++)
        for (uint32_t rank = 0; rank < 4; rank++)
            add_reduce(job, rank, i + 1, i * STEP + 1000 + UINT64_C(1000) * rank, i * STEP + 5000);
    finish(job);
    assert_int_equal(job->ranks.member_count, 4);
    for (uint32_t rank = 0; rank < 4; rank++) {
        const struct ranks_member *member = &job->ranks.members[rank];

        assert_int_equal(member->rank, rank);
        assert_int_equal(member->instances, 3);
        assert_true(member->waiting == 3000.0 * (3 - rank));
        assert_true(member->transfer == 3000.0);
        assert_int_equal(member->last, rank == 3 ? 3 : 0);
        assert_int_equal(member->late, rank == 3 ? 3000 : 0);
    }
    job_free(job);
}

static void of_a_tie_nobody_is_last(void **state)
{
    struct job *job = job_new(3);

    (void)state;
    add_reduce(job, 0, 1, 1000, 9000);
    add_reduce(job, 1, 1, 5000, 9000);
    add_reduce(job, 2, 1, 5000, 9000);
    finish(job);
    assert_int_equal(job->ranks.instances[0].last, RANKS_NONE);
    assert_int_equal(job->ranks.instances[0].late, 0);
    assert_int_equal(job->ranks.sides[0].waiting, 4000);
    job_free(job);
}

/* Begins of three ranks in an operation with root 0, and who is last then. */
static void expect_rooted(const char *function, const uint64_t begins[3], uint32_t last,
                          const uint64_t waiting[3])
{
    struct job *job = job_new(3);

    for (uint32_t rank = 0; rank < 3; rank++)
        add(job, function,
            &(struct op){.number = 1,
                         .rank = rank,
                         .process = rank,
                         .root = 0,
                         .start = BASE + begins[rank],
                         .end = BASE + 9000});
    finish(job);
    assert_int_equal(job->ranks.instance_count, 1);
    assert_int_equal(job->ranks.instances[0].last, last);
    for (int i = 0; i < 3; i++)
        assert_int_equal(job->ranks.sides[i].waiting, waiting[i]);
    job_free(job);
}

static void a_broadcast_waits_for_its_root_and_a_reduce_is_awaited_by_it(void **state)
{
    (void)state;
    expect_rooted("Broadcast", (const uint64_t[]){5000, 1000, 2000}, 0,
                  (const uint64_t[]){0, 4000, 3000});
    expect_rooted("Broadcast", (const uint64_t[]){1000, 5000, 2000}, RANKS_NONE,
                  (const uint64_t[]){0, 0, 0});
    expect_rooted("Reduce", (const uint64_t[]){1000, 5000, 2000}, 1,
                  (const uint64_t[]){4000, 0, 0});
    expect_rooted("Reduce", (const uint64_t[]){6000, 5000, 2000}, RANKS_NONE,
                  (const uint64_t[]){0, 0, 0});
}

static void a_send_meets_its_receive(void **state)
{
    struct job *job = job_new(3);

    (void)state;
    for (uint64_t number = 1; number <= 2; number++) {
        add(job, "Send",
            &(struct op){.number = number,
                         .rank = 2,
                         .process = 2,
                         .from = 2,
                         .to = 0,
                         .start = BASE + number * 10000,
                         .end = BASE + number * 10000 + 5000});
        add(job, "Recv",
            &(struct op){.number = number,
                         .rank = 0,
                         .process = 0,
                         .from = 2,
                         .to = 0,
                         .start = BASE + number * 10000 + 700,
                         .end = BASE + number * 10000 + 5000});
    }
    finish(job);
    nothing_is_unmatched(job);
    assert_int_equal(job->ranks.instance_count, 2);
    assert_string_equal(ranks_function(&job->ranks, job->ranks.instances[0].function), "Send");
    assert_int_equal(job->ranks.instances[1].late, 700);
    assert_int_equal(job->ranks.sides[job->ranks.instances[1].first_side].rank, 0);
    assert_int_equal(job->ranks.instances[1].last, 0);
    job_free(job);
}

/* ---- Shifts ---- */

/* Expects instances `first` to `last` of the made ones, each with all ranks. */
static void expect_instances(const struct job *job, uint64_t first, uint64_t last)
{
    assert_int_equal(job->ranks.instance_count, last - first + 1);
    for (uint64_t i = first; i <= last; i++) {
        const struct ranks_instance *instance = &job->ranks.instances[i - first];

        assert_int_equal(instance->side_count, job->set.count);
        for (uint32_t rank = 0; rank < job->set.count; rank++)
            assert_int_equal(job->ranks.sides[instance->first_side + rank].start,
                             BASE + arrival(rank, i));
    }
}

static void windows_that_count_from_one_are_shifted_until_they_overlap(void **state)
{
    struct job *job = job_new(3);

    (void)state;
    add_window(job, 0, 0, 60, 1);
    add_window(job, 1, 20, 90, 1);
    add_window(job, 2, 7, 50, 1);
    finish(job);
    expect_instances(job, 20, 50);
    assert_int_equal(job->ranks.unmatched.shifted, 0);
    assert_int_equal(job->ranks.unmatched.partial, 91 - 31);
    job_free(job);
}

static void one_bad_pair_among_many_leaves_the_others(void **state)
{
    struct job *job = job_new(2);

    (void)state;
    add_window(job, 0, 0, 19, 1);
    add_window(job, 1, 0, 19, 1);
    job->ranks.ops[19].end = job->ranks.ops[19].start;
    job->ranks.ops[39].start = job->ranks.ops[39].end;
    finish(job);
    expect_instances(job, 0, 18);
    assert_int_equal(job->ranks.unmatched.different, 1);
    job_free(job);
}

static void what_overlaps_nothing_is_counted_and_not_guessed(void **state)
{
    struct job *job = job_new(2);

    (void)state;
    add_window(job, 0, 0, 19, 1);
    add_window(job, 1, 500, 519, 1);
    finish(job);
    assert_int_equal(job->ranks.instance_count, 0);
    assert_int_equal(job->ranks.unmatched.shifted, 20);
    job_free(job);
}

/* Instances in exact time, on clocks that nothing is known of: every shift would fit. */
static void add_period(struct job *job, uint32_t rank, uint64_t first, uint64_t last)
{
    for (uint64_t i = first; i <= last; i++) {
        add_reduce(job, rank, 1 + i - first, i * STEP, i * STEP + TRANSFER);
        job->ranks.ops[job->ranks.op_count - 1].sequence = i + 1;
    }
}

static void between_hosts_the_number_of_nccl_decides(void **state)
{
    struct job *job = job_new(2);

    (void)state;
    job_part_clocks(job);
    add_period(job, 0, 0, 19);
    add_period(job, 1, 10, 29);
    finish(job);
    assert_int_equal(job->ranks.instance_count, 10);
    assert_int_equal(job->ranks.sides[0].start, BASE + 10 * STEP);
    assert_int_equal(job->ranks.instances[0].number, 11);
    job_free(job);
}

static void between_hosts_sizes_decide_if_one_shift_alone_fits(void **state)
{
    struct job *job = job_new(2);

    (void)state;
    job_part_clocks(job);
    for (uint64_t i = 0; i < 20; i++) {
        add_reduce(job, 0, 1 + i, i * STEP, i * STEP + TRANSFER);
        job->ranks.ops[job->ranks.op_count - 1].bytes = 1000 + i * i;
    }
    for (uint64_t i = 10; i < 30; i++) {
        add_reduce(job, 1, 1 + i - 10, i * STEP, i * STEP + TRANSFER);
        job->ranks.ops[job->ranks.op_count - 1].bytes = 1000 + i * i;
    }
    finish(job);
    assert_int_equal(job->ranks.instance_count, 10);
    assert_int_equal(job->ranks.instances[0].bytes, 1100);
    job_free(job);
}

static void replays_of_a_graph_are_shifted_by_themselves(void **state)
{
    struct job *job = job_new(2);

    (void)state;
    add_window(job, 0, 0, 30, 1);
    add_window(job, 1, 8, 40, 1);
    for (size_t i = 0; i < job->ranks.op_count; i++) {
        job->ranks.ops[i].replay = job->ranks.ops[i].number;
        job->ranks.ops[i].number = 4;
    }
    finish(job);
    expect_instances(job, 8, 30);
    assert_int_equal(job->ranks.instances[0].number, 4);
    assert_int_equal(job->ranks.instances[0].replay, 9);
    job_free(job);
}

/* ---- Who takes part ---- */

static void of_two_processes_with_one_rank_the_first_stays(void **state)
{
    struct job *job = job_new(3);

    (void)state;
    add_window(job, 0, 0, 9, 1);
    add_window(job, 1, 0, 9, 1);
    add_window(job, 1, 0, 4, 1);
    for (size_t i = 20; i < 25; i++)
        job->ranks.ops[i].process = 2;
    finish(job);
    assert_int_equal(job->ranks.unmatched.duplicate_ranks, 5);
    assert_int_equal(job->ranks.instance_count, 10);
    assert_int_equal(job->ranks.member_count, 2);
    assert_int_equal(ranks_missing(&job->ranks.communicators[0]), 1);
    job_free(job);
}

static void communicators_are_apart(void **state)
{
    struct job *job = job_new(2);

    (void)state;
    add_window(job, 0, 0, 9, 1);
    add_window(job, 1, 0, 9, 1);
    for (size_t i = 0; i < 20; i++) {
        struct op op = job->ranks.ops[i];

        op.hash = HASH + 1;
        add(job, "AllGather", &op);
    }
    finish(job);
    nothing_is_unmatched(job);
    assert_int_equal(job->ranks.communicator_count, 2);
    assert_int_equal(job->ranks.instance_count, 20);
    assert_int_equal(job->ranks.group_count, 2);
    job_free(job);
}

/* ---- Bandwidth ---- */

static void expect_bandwidth(const char *function, double bytes, double factor)
{
    struct job *job = job_new(4);

    for (uint32_t rank = 0; rank < 4; rank++)
        add(job, function,
            &(struct op){.number = 1,
                         .rank = rank,
                         .process = rank,
                         .root = 0,
                         .bytes = 1000,
                         .start = BASE,
                         .end = BASE + 1000});
    finish(job);
    assert_int_equal(job->ranks.group_count, 1);
    assert_float_equal(job->ranks.groups[0].algorithm_bandwidth, bytes * 1e6, 1);
    assert_float_equal(job->ranks.groups[0].bus_bandwidth, bytes * 1e6 * factor, 1);
    job_free(job);
}

/* The factors: nccl-tests, doc/PERFORMANCE.md. */
static void bandwidths_are_those_of_nccl_tests(void **state)
{
    (void)state;
    expect_bandwidth("AllReduce", 1000, 1.5);
    expect_bandwidth("AllGather", 4000, 0.75);
    expect_bandwidth("ReduceScatter", 4000, 0.75);
    expect_bandwidth("AlltoAll", 4000, 0.75);
    expect_bandwidth("Broadcast", 1000, 1);
    expect_bandwidth("Reduce", 1000, 1);
}

/* ---- Clocks ---- */

/* A job of two hosts: what the second one's clock shows is off by this line. */
static void play_hosts(struct job *job, double offset, double drift, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        for (uint32_t rank = 0; rank < 2; rank++) {
            double begin = (double)arrival(rank, i);
            double end = (double)(last_arrival(2, i) + TRANSFER);

            if (rank == 1) { /* offset and drift are what brings its times back */
                begin = (begin - offset) / (1 + drift);
                end = (end - offset) / (1 + drift);
            }
            add_reduce(job, rank, i + 1, (uint64_t)(int64_t)llround(begin),
                       (uint64_t)(int64_t)llround(end));
        }
    }
}

static void offset_and_drift_are_right_within_their_bound(void **state)
{
    uint64_t random = 11;

    (void)state;
    for (int round = 0; round < 30; round++) {
        struct job *job = job_new(2);
        double offset = (double)(int64_t)(fixture_random(&random) % 20000000) - 10000000;
        double drift = ((double)(fixture_random(&random) % 100000) - 50000) * 1e-9;
        uint64_t count = 20 + fixture_random(&random) % 200;
        double end = (double)(count * STEP) - offset;
        const struct ranks_clock *clock;

        job_part_clocks(job);
        play_hosts(job, offset, drift, count);
        finish(job);
        assert_int_equal(job->ranks.instance_count, count);
        clock = &job->ranks.clocks[1];
        assert_true(clock->known && clock->possible);
        assert_int_equal(clock->instances, count);
        assert_true(clock->bound < 2 * TRANSFER);
        assert_true(fabs(clock->offset + clock->drift * end - offset - drift * end) <=
                    clock->bound + 2);
        job_free(job);
    }
}

static void without_a_collective_in_common_a_clock_is_unknown(void **state)
{
    struct job *job = job_new(2);

    (void)state;
    job_part_clocks(job);
    add_window(job, 0, 0, 9, 1);
    finish(job);
    assert_false(job->ranks.clocks[1].known);
    assert_int_equal(job->ranks.unmatched.partial, 10);
    job_free(job);
}

static void no_operations_give_no_instances(void **state)
{
    struct job *job = job_new(2);

    (void)state;
    finish(job);
    nothing_is_unmatched(job);
    assert_int_equal(job->ranks.instance_count, 0);
    job_free(job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_rank_is_who_begins_last_and_late_by_the_gap_to_the_one_before),
        cmocka_unit_test(each_member_has_its_own_sums),
        cmocka_unit_test(of_a_tie_nobody_is_last),
        cmocka_unit_test(a_broadcast_waits_for_its_root_and_a_reduce_is_awaited_by_it),
        cmocka_unit_test(a_send_meets_its_receive),
        cmocka_unit_test(windows_that_count_from_one_are_shifted_until_they_overlap),
        cmocka_unit_test(one_bad_pair_among_many_leaves_the_others),
        cmocka_unit_test(what_overlaps_nothing_is_counted_and_not_guessed),
        cmocka_unit_test(between_hosts_the_number_of_nccl_decides),
        cmocka_unit_test(between_hosts_sizes_decide_if_one_shift_alone_fits),
        cmocka_unit_test(replays_of_a_graph_are_shifted_by_themselves),
        cmocka_unit_test(of_two_processes_with_one_rank_the_first_stays),
        cmocka_unit_test(communicators_are_apart),
        cmocka_unit_test(bandwidths_are_those_of_nccl_tests),
        cmocka_unit_test(offset_and_drift_are_right_within_their_bound),
        cmocka_unit_test(without_a_collective_in_common_a_clock_is_unknown),
        cmocka_unit_test(no_operations_give_no_instances),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
