/* Why ranks were late, from traces of which each ns is known; and when memory runs out.
 *
 *     first     |AllReduce 1| kernel 1000 |AllReduce 2 .......
 *     second    |AllReduce 1|  the cause, `late` ns  | kernel 1000 |AllReduce 2
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <unistd.h>

#include "reports/ranks/ranks.h"
#include "trace/schema.h"
#include "unit/failing_malloc.h"
#include "unit/trace_fixture.h"

enum { REDUCE = 1, NCCL, SPIN, LAUNCH, STEP, ALLOCATE, STRINGS };
#define US     UINT64_C(1000) /* ns */
#define BEGIN  (100 * US)
#define LENGTH (5 * US)

/* What the second rank does before its second kernel. */
enum plant { NOTHING, HOST, SLOW, WAIT, CALL, COPY, HOST_ALONE };

static const char *const strings[STRINGS] = {
    [REDUCE] = "AllReduce", [NCCL] = "ncclDevKernel_AllReduce_Sum_f32_NVLS_SIMPLE(x)",
    [SPIN] = "spin",        [LAUNCH] = "cudaLaunchKernel",
    [STEP] = "step",        [ALLOCATE] = "cudaMalloc"};

/* The number of thread, stream and communicator of the rank whose rows are written. */
static uint64_t lane = 1;

static void define(struct mp_writer *writer)
{
    for (uint64_t i = 1; i < STRINGS; i++)
        mp_append_string(writer,
                         &(struct mp_row_string){i, {strings[i], (uint32_t)strlen(strings[i])}});
    mp_append_function(writer, &(struct mp_row_function){.id = LAUNCH, .name = LAUNCH});
    mp_append_function(writer, &(struct mp_row_function){.id = ALLOCATE, .name = ALLOCATE});
    for (uint64_t id = 1; id <= 3; id++) {
        mp_append_thread(writer, &(struct mp_row_thread){.id = id, .tid = 4000 + id});
        mp_append_stream(writer, &(struct mp_row_stream){
                                     .id = id, .stream = 7, .context = id, .device = id - 1});
    }
    mp_append_shape(writer, &(struct mp_row_shape){.id = 1, .kernel = NCCL});
    mp_append_shape(writer, &(struct mp_row_shape){.id = 2, .kernel = SPIN});
}

static void put_kernel(struct mp_writer *writer, uint64_t shape, uint64_t launched, uint64_t start,
                       uint64_t length, uint64_t correlation)
{
    mp_append_call(writer, &(struct mp_row_call){.thread = lane,
                                                 .function = LAUNCH,
                                                 .start = launched,
                                                 .duration = US,
                                                 .correlation = correlation});
    mp_append_kernel(writer, &(struct mp_row_kernel){.stream = lane,
                                                     .shape = shape,
                                                     .start = start,
                                                     .duration = length,
                                                     .correlation = correlation});
}

static void put_reduce(struct mp_writer *writer, uint64_t number, uint64_t launched, uint64_t start,
                       uint64_t end)
{
    mp_append_collective(writer, &(struct mp_row_collective){.thread = lane,
                                                             .function = REDUCE,
                                                             .communicator = lane,
                                                             .source = MP_collective_source_nvtx,
                                                             .number = number,
                                                             .bytes = 1024,
                                                             .peer = UINT32_MAX,
                                                             .start = launched,
                                                             .duration = US,
                                                             .correlation = number + 1000 * lane});
    put_kernel(writer, 1, launched, start, end - start, number + 1000 * lane);
}

static void put_range(struct mp_writer *writer, uint64_t begin, uint64_t end)
{
    mp_append_nvtx(writer,
                   &(struct mp_row_nvtx){
                       .thread = lane, .kind = MP_nvtx_kind_push, .name = STEP, .time = begin});
    mp_append_nvtx(writer,
                   &(struct mp_row_nvtx){.thread = lane, .kind = MP_nvtx_kind_pop, .time = end});
}

/* What keeps a rank up from `begin` on, on its thread. */
static void put_plant(struct mp_writer *writer, enum plant plant, uint64_t begin, uint64_t late)
{
    if (plant == HOST)
        put_range(writer, begin - 30 * US, begin + late + US);
    if (plant == CALL)
        mp_append_call(writer, &(struct mp_row_call){.thread = lane,
                                                     .function = ALLOCATE,
                                                     .start = begin,
                                                     .duration = late,
                                                     .correlation = 90});
    if (plant == WAIT)
        mp_append_wait(writer, &(struct mp_row_wait){.thread = lane,
                                                     .kind = MP_wait_kind_condition,
                                                     .start = begin,
                                                     .duration = late,
                                                     .waker = 3,
                                                     .woken = late - 10});
    if (plant == COPY)
        mp_append_copy(writer, &(struct mp_row_copy){.stream = lane,
                                                     .kind = MP_copy_kind_HtoD,
                                                     .bytes = 4096,
                                                     .start = begin + 2 * US,
                                                     .duration = late,
                                                     .correlation = 91});
}

/* The rank's two operations: the first ends at BEGIN; the second ends when both have come to it. */
static void put_rank(struct mp_writer *writer, uint64_t rank, enum plant plant, uint64_t late)
{
    bool is_late = rank == 1;
    uint64_t own = is_late ? late : 0;
    uint64_t length = is_late && plant == SLOW ? LENGTH + late : LENGTH;
    bool on_host =
        is_late && (plant == HOST || plant == HOST_ALONE || plant == WAIT || plant == CALL);
    uint64_t launched = BEGIN + US + (on_host ? own : 0);
    uint64_t start = launched + 2 * US + (is_late && plant == COPY ? own : 0);

    mp_append_communicator(
        writer, &(struct mp_row_communicator){.id = lane, .hash = 0xabc, .ranks = 2, .rank = rank});
    put_reduce(writer, 1, BEGIN - 20 * US, BEGIN - 10 * US, BEGIN);
    if (is_late)
        put_plant(writer, plant, BEGIN + US, late);
    put_kernel(writer, 2, launched, start, length, 50 + 1000 * lane);
    put_reduce(writer, 2, launched + US, start + length,
               BEGIN + US + 2 * US + LENGTH + late + 10 * US);
}

static int write_trace(uint64_t rank, enum plant plant, uint64_t late)
{
    int fd = fixture_file("", 0);
    struct mp_writer *writer = fixture_writer(fd, FIXTURE_HEADER, 0);

    define(writer);
    put_rank(writer, rank, plant, late);
    assert_int_equal(mp_writer_close(writer, NULL), MP_OK);
    return fd;
}

struct pair {
    int files[2];
    struct mp_trace *traces[2];
};

static void pair_open(struct pair *pair, enum plant plant, uint64_t late)
{
    for (int i = 0; i < 2; i++) {
        pair->files[i] = write_trace((uint64_t)i, plant, late);
        assert_int_equal(mp_trace_open(fixture_path(pair->files[i]), &pair->traces[i], NULL),
                         MP_OK);
    }
}

static void pair_close(struct pair *pair)
{
    for (int i = 0; i < 2; i++) {
        mp_trace_close(pair->traces[i]);
        close(pair->files[i]);
    }
}

static void match(const struct pair *pair, struct ranks *ranks)
{
    struct trace_process processes[2] = {{.offset = 5}, {.offset = 5}};
    const struct trace_set set = {.processes = processes, .count = 2, .clock_count = 1};

    ranks_init(ranks);
    for (uint32_t i = 0; i < 2; i++) {
        struct quality quality;

        assert_int_equal(ranks_add(ranks, pair->traces[i], i, i, &quality, NULL), MP_OK);
        quality_free(&quality);
    }
    assert_int_equal(ranks_finish(ranks, &set), MP_OK);
    assert_int_equal(ranks->instance_count, 2);
}

static enum mp_status explain(const struct pair *pair, const struct ranks *ranks,
                              struct lateness *lateness)
{
    enum mp_status status = lateness_init(lateness, ranks, 2);

    for (size_t i = 0; i < 2 && !status; i++) {
        struct mp_error error = {.status = MP_OK};

        assert_true(lateness_asks(lateness, i));
        status = lateness_add(lateness, pair->traces[i], i, &error);
        assert_true(status == MP_OK || *error.text != '\0');
    }
    return status ? status : lateness_finish(lateness);
}

static void expect(enum plant plant, uint64_t late, enum lateness_cause cause, const char *activity)
{
    struct lateness lateness;
    struct ranks ranks;
    struct pair pair;

    pair_open(&pair, plant, late);
    match(&pair, &ranks);
    assert_int_equal(explain(&pair, &ranks, &lateness), MP_OK);
    assert_int_equal(lateness.reasons[0].last, RANKS_NONE); /* both came at once */
    assert_int_equal(lateness.reasons[1].last, 1);
    assert_int_equal(lateness.reasons[1].behind, late);
    assert_int_equal(lateness.reasons[1].since, BEGIN - 10 * US + 5);
    assert_int_equal(lateness.reasons[1].cause, cause);
    assert_true(lateness.reasons[1].share * 10 >= late * 9 && lateness.reasons[1].share <= late);
    if (activity)
        assert_string_equal(lateness_name(&lateness, lateness.reasons[1].activity), activity);
    else
        assert_null(lateness_name(&lateness, lateness.reasons[1].activity));
    assert_int_equal(lateness.row_count, 1);
    assert_int_equal(lateness.rows[0].rank, 1);
    assert_int_equal(lateness.rows[0].behind, late);
    assert_int_equal(ranks.instances[1].late, late);
    /* The kernel's name is no evidence. */
    assert_string_equal(ranks_function(&ranks, ranks.instances[1].algorithm), "");
    assert_string_equal(ranks_function(&ranks, ranks.instances[1].protocol), "");
    lateness_free(&lateness);
    ranks_free(&ranks);
    pair_close(&pair);
}

static void what_a_rank_did_more_than_the_other_is_why_it_was_late(void **state)
{
    (void)state;
    expect(HOST, 700 * US, LATENESS_HOST, "step");
    expect(HOST_ALONE, 700 * US, LATENESS_HOST, NULL);
    expect(SLOW, 700 * US, LATENESS_KERNEL, "spin");
    expect(WAIT, 700 * US, LATENESS_BLOCKED, "pthread_cond_wait");
    expect(CALL, 700 * US, LATENESS_CALL, "cudaMalloc");
    expect(COPY, 700 * US, LATENESS_COPY, "[CUDA memcpy HtoD]");
}

/* The kernel in which both paths end is longer than the lateness, and not why. */
static void a_short_lateness_is_not_blamed_on_the_kernel_before_it(void **state)
{
    (void)state;
    expect(HOST, 3 * US, LATENESS_HOST, "step");
    expect(CALL, 3 * US, LATENESS_CALL, "cudaMalloc");
    expect(SLOW, 3 * US, LATENESS_KERNEL, "spin");
}

/* A process with two GPUs, each a rank of its own: both paths are in one trace. */
static void two_ranks_of_one_process_are_told_apart(void **state)
{
    struct trace_process process = {.offset = 0};
    const struct trace_set set = {.processes = &process, .count = 1, .clock_count = 1};
    int fd = fixture_file("", 0);
    struct mp_writer *writer = fixture_writer(fd, FIXTURE_HEADER, 0);
    struct mp_trace *trace;
    struct lateness lateness;
    struct quality quality;
    struct ranks ranks;

    (void)state;
    define(writer);
    for (lane = 1; lane <= 2; lane++)
        put_rank(writer, lane - 1, HOST, 700 * US);
    lane = 1;
    assert_int_equal(mp_writer_close(writer, NULL), MP_OK);
    assert_int_equal(mp_trace_open(fixture_path(fd), &trace, NULL), MP_OK);
    ranks_init(&ranks);
    assert_int_equal(ranks_add(&ranks, trace, 0, 0, &quality, NULL), MP_OK);
    assert_int_equal(ranks_finish(&ranks, &set), MP_OK);
    assert_int_equal(ranks.instance_count, 2);
    assert_int_equal(lateness_init(&lateness, &ranks, 1), MP_OK);
    assert_int_equal(lateness_add(&lateness, trace, 0, NULL), MP_OK);
    assert_int_equal(lateness_finish(&lateness), MP_OK);
    assert_int_equal(lateness.reasons[1].last, 1);
    assert_int_equal(lateness.reasons[1].behind, 700 * US);
    assert_int_equal(lateness.reasons[1].cause, LATENESS_HOST);
    assert_string_equal(lateness_name(&lateness, lateness.reasons[1].activity), "step");
    lateness_free(&lateness);
    ranks_free(&ranks);
    quality_free(&quality);
    mp_trace_close(trace);
    close(fd);
}

static void every_allocation_may_fail(void **state)
{
    enum mp_status status = MP_ERR_MEMORY;
    struct ranks ranks;
    struct pair pair;

    (void)state;
    pair_open(&pair, HOST, 700 * US);
    match(&pair, &ranks);
    for (unsigned turn = 1; status != MP_OK; turn++) {
        struct lateness lateness;

        countdown = turn;
        status = explain(&pair, &ranks, &lateness);
        countdown = 0;
        if (status == MP_OK)
            assert_true(turn > 30 && lateness.reasons[1].cause == LATENESS_HOST);
        else
            assert_int_equal(status, MP_ERR_MEMORY);
        lateness_free(&lateness);
    }
    ranks_free(&ranks);
    pair_close(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_rank_did_more_than_the_other_is_why_it_was_late),
        cmocka_unit_test(a_short_lateness_is_not_blamed_on_the_kernel_before_it),
        cmocka_unit_test(two_ranks_of_one_process_are_told_apart),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
