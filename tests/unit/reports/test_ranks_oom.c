/* Ranks from traces: which call launched which kernel, where CUPTI's rows alone tell it; and when
 * memory runs out: every allocation fails once, in turn. What is left behind, a sanitizer finds
 * (make SAN=address check).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "reports/ranks/ranks.h"
#include "trace/schema.h"
#include "unit/failing_malloc.h"
#include "unit/trace_fixture.h"

enum { WORLD = 1, OTHER = 2, KERNEL = 2, GRAPH = 9, NODE = 77, CARRIER = 5 };

static void put_string(struct mp_writer *writer, uint64_t id, const char *text)
{
    mp_append_string(writer, &(struct mp_row_string){id, {text, (uint32_t)strlen(text)}});
}

static void put_call(struct mp_writer *writer, uint64_t communicator, uint64_t number,
                     uint64_t start)
{
    mp_append_collective(writer, &(struct mp_row_collective){.thread = 1,
                                                             .function = 1,
                                                             .communicator = communicator,
                                                             .source = MP_collective_source_nvtx,
                                                             .number = number,
                                                             .bytes = 1024,
                                                             .peer = UINT32_MAX,
                                                             .start = start,
                                                             .duration = 20});
}

/* A launch, and its kernel. */
static void put_launch(struct mp_writer *writer, uint64_t launched, uint64_t start,
                       uint64_t correlation)
{
    mp_append_call(writer, &(struct mp_row_call){.thread = 1,
                                                 .function = 1,
                                                 .start = launched,
                                                 .duration = 5,
                                                 .correlation = correlation});
    mp_append_kernel(
        writer,
        &(struct mp_row_kernel){
            .stream = 1, .shape = 1, .start = start, .duration = 1000, .correlation = correlation});
}

static void put_replay(struct mp_writer *writer, uint64_t start, uint64_t correlation)
{
    mp_append_kernel(writer, &(struct mp_row_kernel){.stream = 1,
                                                     .shape = 1,
                                                     .node = 1,
                                                     .start = start,
                                                     .duration = 1000,
                                                     .correlation = correlation});
}

static void define(struct mp_writer *writer, uint64_t rank)
{
    put_string(writer, 1, "AllReduce");
    put_string(writer, KERNEL, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)");
    mp_append_thread(writer, &(struct mp_row_thread){.id = 1, .tid = 4001});
    mp_append_stream(writer, &(struct mp_row_stream){.id = 1, .stream = 7, .context = 1});
    mp_append_shape(writer, &(struct mp_row_shape){.id = 1, .kernel = KERNEL});
    mp_append_node(writer, &(struct mp_row_node){.id = 1, .graph = GRAPH, .graph_node = NODE});
    mp_append_communicator(writer, &(struct mp_row_communicator){
                                       .id = WORLD, .hash = 0xabc, .ranks = 2, .rank = rank});
    mp_append_communicator(writer, &(struct mp_row_communicator){
                                       .id = OTHER, .hash = 0xdef, .ranks = 2, .rank = rank});
    mp_append_nccl_node(
        writer, &(struct mp_row_nccl_node){.graph = GRAPH, .graph_node = NODE, .carrier = CARRIER});
}

/* What a rank does; `late` moves its kernels. */
static int write_trace(uint64_t rank, uint64_t late)
{
    int fd = fixture_file("", 0);
    struct mp_writer *writer = fixture_writer(fd, FIXTURE_HEADER, 0);

    define(writer, rank);
    put_call(writer, WORLD, 1, 1000); /* launches its kernel itself */
    put_launch(writer, 1010, 2000 + late, 11);
    put_call(writer, WORLD, 2, 4000); /* a group */
    put_call(writer, WORLD, 3, 4030);
    put_launch(writer, 4060, 5000 + late, 12);
    put_call(writer, WORLD, 4, 7000); /* a group of two communicators */
    put_call(writer, OTHER, 1, 7030);
    put_launch(writer, 7060, 8000 + late, 13);
    put_launch(writer, 7070, 9000 + late, 14);
    mp_append_collective(writer, &(struct mp_row_collective){.thread = 1,
                                                             .function = 1,
                                                             .communicator = WORLD,
                                                             .source = MP_collective_source_nvtx,
                                                             .number = 5,
                                                             .bytes = 1024,
                                                             .peer = UINT32_MAX,
                                                             .captured = true,
                                                             .carrier = CARRIER,
                                                             .start = 9500,
                                                             .duration = 20});
    put_replay(writer, 10000 + late, 20);
    put_replay(writer, 12000 + late, 21);
    assert_int_equal(mp_writer_close(writer, NULL), MP_OK);
    return fd;
}

static enum mp_status add_trace(struct ranks *ranks, struct mp_trace *trace, uint32_t process,
                                struct mp_error *error)
{
    struct quality quality;
    enum mp_status status = ranks_add(ranks, trace, process, process, &quality, error);

    quality_free(&quality);
    return status;
}

static enum mp_status build(struct ranks *ranks, struct mp_trace *const *traces)
{
    struct trace_process processes[2] = {0};
    const struct trace_set set = {.processes = processes, .count = 2, .clock_count = 1};
    struct mp_error error = {.status = MP_OK};
    enum mp_status status = MP_OK;

    ranks_init(ranks);
    for (uint32_t i = 0; i < 2 && status == MP_OK; i++) {
        status = add_trace(ranks, traces[i], i, &error);
        assert_true(status == MP_OK || *error.text != '\0');
    }
    return status == MP_OK ? ranks_finish(ranks, &set) : status;
}

static void expect_what_was_written(const struct ranks *ranks)
{
    static const struct ranks_unmatched unmatched = {.without_kernel = 4, .unclaimed_kernels = 4};
    static const uint64_t numbers[] = {1, 2, 3, 5, 5};
    static const uint64_t replays[] = {0, 0, 0, 1, 2};

    assert_memory_equal(&ranks->unmatched, &unmatched, sizeof unmatched);
    assert_int_equal(ranks->instance_count, 5);
    for (size_t i = 0; i < 5; i++) {
        const struct ranks_instance *instance = &ranks->instances[i];

        assert_int_equal(instance->number, numbers[i]);
        assert_int_equal(instance->replay, replays[i]);
        assert_int_equal(instance->last, 1);
        assert_int_equal(instance->late, 300);
        assert_int_equal(ranks->sides[instance->first_side].fused, i == 1 || i == 2 ? 2 : 1);
    }
    assert_float_equal(ranks->members[0].waiting, 4 * 300, 0.01);
}

static void calls_find_their_kernels_and_every_allocation_may_fail(void **state)
{
    const int files[] = {write_trace(0, 0), write_trace(1, 300)};
    enum mp_status status = MP_ERR_MEMORY;
    struct mp_trace *traces[2];
    struct ranks ranks;

    (void)state;
    for (int i = 0; i < 2; i++)
        assert_int_equal(mp_trace_open(fixture_path(files[i]), &traces[i], NULL), MP_OK);
    for (unsigned turn = 1; status != MP_OK; turn++) {
        countdown = turn;
        status = build(&ranks, traces);
        countdown = 0;
        if (status == MP_OK) {
            assert_true(turn > 30);
            expect_what_was_written(&ranks);
        } else {
            assert_int_equal(status, MP_ERR_MEMORY);
        }
        ranks_free(&ranks);
    }
    for (int i = 0; i < 2; i++) {
        mp_trace_close(traces[i]);
        close(files[i]);
    }
}

/* ---- What each kernel carries ---- */

static void expect_sum(const struct ranks_operations *operations, uint64_t correlation,
                       uint64_t node, size_t count, uint64_t number)
{
    struct ranks_operation sum;
    size_t first;

    assert_int_equal(ranks_operations_find(operations, correlation, node ? GRAPH : 0, node, &first),
                     count);
    if (!count)
        return;
    assert_true(ranks_operations_sum(operations, first, count, &sum));
    assert_string_equal(sum.function, "AllReduce");
    assert_int_equal(sum.hash, 0xabc);
    assert_int_equal(sum.number, number);
    assert_int_equal(sum.bytes, count * 1024);
    assert_int_equal(sum.rank, 1);
    assert_int_equal(sum.ranks, 2);
    assert_int_equal(sum.peer, RANKS_NONE);
}

static void expect_operations(const struct ranks_operations *operations)
{
    expect_sum(operations, 11, 0, 1, 1);
    expect_sum(operations, 12, 0, 2, 2);
    expect_sum(operations, 13, 0, 0, 0); /* of two communicators: nobody knows which */
    expect_sum(operations, 20, NODE, 1, 5);
    expect_sum(operations, 21, NODE, 1, 5);
    expect_sum(operations, 21, NODE + 1, 0, 0);
    expect_sum(operations, 0, 0, 0, 0);
    expect_sum(NULL, 11, 0, 0, 0);
}

static void kernels_carry_their_calls_and_every_allocation_may_fail(void **state)
{
    int file = write_trace(1, 0);
    enum mp_status status = MP_ERR_MEMORY;
    struct ranks_operations *operations;
    struct mp_trace *trace;

    (void)state;
    assert_int_equal(mp_trace_open(fixture_path(file), &trace, NULL), MP_OK);
    for (unsigned turn = 1; status != MP_OK; turn++) {
        struct mp_error error = {.status = MP_OK};

        countdown = turn;
        status = ranks_operations_load(trace, &operations, &error);
        countdown = 0;
        if (status == MP_OK) {
            assert_true(turn > 10);
            expect_operations(operations);
        } else {
            assert_int_equal(status, MP_ERR_MEMORY);
            assert_null(operations);
            assert_true(*error.text != '\0');
        }
    }
    ranks_operations_free(operations);
    mp_trace_close(trace);
    close(file);
}

static void a_trace_without_calls_has_no_operations(void **state)
{
    int file = fixture_file("", 0);
    struct mp_writer *writer = fixture_writer(file, FIXTURE_HEADER, 0);
    struct ranks_operations *operations;
    struct mp_trace *trace;
    bool has = true;

    (void)state;
    define(writer, 0);
    put_launch(writer, 1010, 2000, 11);
    assert_int_equal(mp_writer_close(writer, NULL), MP_OK);
    assert_int_equal(mp_trace_open(fixture_path(file), &trace, NULL), MP_OK);
    assert_int_equal(ranks_has_calls(trace, &has, NULL), MP_OK);
    assert_false(has);
    assert_int_equal(ranks_operations_load(trace, &operations, NULL), MP_OK);
    assert_null(operations);
    ranks_operations_free(operations);
    mp_trace_close(trace);
    close(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_carry_their_calls_and_every_allocation_may_fail),
        cmocka_unit_test(a_trace_without_calls_has_no_operations),
        cmocka_unit_test(calls_find_their_kernels_and_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
